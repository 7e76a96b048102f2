/* How long until delta = 1e-5 is known to 1%?  E = 16 epochs, b = 128, square-root
 * Toeplitz matrix cut to 1, 16, 64 and 256 bands, eps = 1 and 8, remove direction.
 * Library: mcamp_delta with all that belongs to it (factor, choice of method, samples
 * of the value and of its rigorous bound).
 * Baselines: plain sampling in three ways, each the measured time of a sample times the
 * samples that the variance asks for: the library's own in b dimensions; in b dimensions with
 * the Cholesky factor of the Gram matrix row by row from its first entry that is not 0; and in
 * n dimensions with a product of matrices for 64 samples at once.  That is EXTRAPOLATED, since
 * it would take hours; ratios are to the fastest of the three.  The variance comes from the
 * tilted law, which reaches the samples that plain sampling meets once in 1/delta.        */
#include "bench_common.h"

#define WANT 0.01
#define DELTA 1e-5

static mcamp_ctx ctx;

typedef struct plain {
    mcamp_sampler s;
    mcamp_tally tally;
    uint64_t block;
} plain;

static void plain_block(void *arg)
{
    plain *p = (plain *)arg;
    mcamp_sampler_run(&ctx, &p->s, 1, p->block, 4, &p->tally);
    p->block += 4;
}

/* Seconds per plain sample. */
static double plain_time(const mcamp_gram *g, double sigma, double eps)
{
    plain *p = (plain *)calloc(1, sizeof *p);
    mcamp_sampler_desc d;
    double t;
    if (!p) exit(1);
    memset(&d, 0, sizeof d);
    d.direction = MCAMP_REMOVE; d.method = MCAMP_METHOD_PLAIN;
    d.sigma = sigma; d.eps = eps;
    bench_check(&ctx, "sampler", mcamp_sampler_init(&ctx, g, &d, &p->s));
    t = bench_best(plain_block, p, 0.2) / (4 * MCAMP_BLOCK);
    mcamp_sampler_free(&ctx, &p->s);
    free(p);
    return t;
}

/* ---- plain sampling by others' ways ------------------------------------------------- */

#define LANES 64u               /* samples at a time, as mcamp__vec_lse takes them */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#  define FAST __attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default")))
#else
#  define FAST
#endif

typedef struct way {
    size_t b, n;                /* x = m z: b rows of n                              */
    size_t *first, *end;        /* what of a row is not 0                            */
    double *m, *z, *x, *off, *shift, y[LANES], seen;
    mcamp__rng8 normals;
    mcamp_rng rng;
} way;

FAST static void way_product(size_t b, size_t n, const double *m, const size_t *first,
                             const size_t *end, const double *z, double *x)
{
    for (size_t i = 0; i < b; i++) {
        double sum[LANES] = { 0 };
        for (size_t t = first[i]; t < end[i]; t++)
            for (size_t s = 0; s < LANES; s++) sum[s] += m[i * n + t] * z[t * LANES + s];
        for (size_t s = 0; s < LANES; s++) x[i * LANES + s] = sum[s];
    }
}

/* LANES samples of P, each moved by the mode of a bin, and their Y. */
static void way_samples(void *arg)
{
    way *w = (way *)arg;
    mcamp__vec_normals(ctx.vec, &w->normals, w->z, w->n * LANES);
    way_product(w->b, w->n, w->m, w->first, w->end, w->z, w->x);
    for (size_t s = 0; s < LANES; s++) {
        const double *row = w->shift + w->b * (size_t)(mcamp_rng_uniform(&w->rng) * (double)w->b);
        for (size_t i = 0; i < w->b; i++) w->x[i * LANES + s] += row[i];
    }
    mcamp__vec_lse(ctx.vec, w->x, w->b, w->off, NULL, NULL, w->y, NULL);
    for (size_t s = 0; s < LANES; s++) w->seen += w->y[s] > 0;
}

static double *doubles(size_t n)
{
    double *p = (double *)calloc(n, sizeof *p);
    if (!p) exit(1);
    return p;
}

/* Lower triangular m with m m' = a + 1e-12, in place of a. */
static void way_cholesky(way *w)
{
    size_t b = w->b;
    for (size_t j = 0; j < b; j++) {
        double d = w->m[j * b + j] + 1e-12;
        for (size_t k = 0; k < j; k++) d -= w->m[j * b + k] * w->m[j * b + k];
        w->m[j * b + j] = sqrt(d);
        for (size_t i = j + 1; i < b; i++) {
            double v = w->m[i * b + j];
            for (size_t k = 0; k < j; k++) v -= w->m[i * b + k] * w->m[j * b + k];
            w->m[i * b + j] = v / w->m[j * b + j];
            w->m[j * b + i] = 0;
        }
    }
}

/* Seconds per sample; in n dimensions if n is not 0.  (A product with a matrix of ones takes as
 * long as with the modes.)                                                                */
static double way_time(const mcamp_gram *g, size_t n, double sigma, double *seen)
{
    way *w = (way *)calloc(1, sizeof *w);
    size_t b = g->b;
    double t;
    if (!w) exit(1);
    w->b = b; w->n = n ? n : b;
    w->m = doubles(b * w->n); w->z = doubles(w->n * LANES); w->x = doubles(b * LANES);
    w->off = doubles(b); w->shift = doubles(b * b);
    w->first = (size_t *)calloc(2 * b, sizeof *w->first);
    if (!w->first) exit(1);
    w->end = w->first + b;
    for (size_t i = 0; i < b * b; i++) {
        double v = g->kind != MCAMP_GRAM_DIAGONAL ? g->g[i] : i % (b + 1) ? 0 : g->g[i / b];
        w->shift[i] = v / (sigma * sigma);
        if (!n) w->m[i] = w->shift[i];
    }
    if (!n) way_cholesky(w);
    for (size_t i = 0; n && i < b * n; i++) w->m[i] = 1 / sigma;
    for (size_t i = 0; i < b; i++) {
        w->off[i] = -0.5 * w->shift[i * b + i] - log((double)b);
        w->end[i] = n ? n : i + 1;
        while (!n && w->first[i] < i && fabs(w->m[i * b + w->first[i]]) < 1e-300) w->first[i]++;
    }
    mcamp__rng8_stream(&w->normals, 1, 70002, 0);
    mcamp_rng_stream(&w->rng, 1, 70002, 0);
    t = bench_best(way_samples, w, 0.2) / LANES;
    *seen += w->seen;
    free(w->m); free(w->z); free(w->x); free(w->off); free(w->shift); free(w->first);
    free(w);
    return t;
}

typedef struct moments { double delta, rel_err, rel_var; } moments;

/* Mean and relative variance of plain sampling's value u = (1 - e^(eps - Y))_+ under P.
 * A tilted sample has E[v] = delta with v = w u, so E[u^2] under P is E[v u].         */
static moments plain_moments(const mcamp_gram *g, double sigma, double eps)
{
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__scratch w;
    mcamp__rng8 normals;
    mcamp_rng r;
    moments m;
    double s1 = 0, s2 = 0, sq = 0, n = 0;
    size_t row = MCAMP_BLOCK / 16;
    bench_check(&ctx, "factor", mcamp__factor_init(&ctx, g, &f));
    bench_check(&ctx, "sampler",
                mcamp__sampler_build(&ctx, &f, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_TILTED,
                                     0, 0, mcamp__inf(), &p));
    bench_check(&ctx, "scratch", mcamp__scratch_init(&ctx, &p, &w));
    mcamp__rng8_stream(&normals, 1, 70001, 0);
    mcamp_rng_stream(&r, 1, 70001, 0);
    for (int tile = 0; tile < 8192; tile++) {
        mcamp__tile(ctx.vec, &p, &normals, &r, &w);
        for (size_t s = 0; s < row; s++, n++) {
            double v = exp(w.v[s]), u = w.r[s] > eps ? -expm1(eps - w.r[s]) : 0;
            s1 += v; s2 += v * u; sq += v * v;
        }
    }
    m.delta = s1 / n;
    m.rel_err = sqrt((sq / n - m.delta * m.delta) / n) / m.delta;
    m.rel_var = s2 / n / (m.delta * m.delta) - 1;
    mcamp__scratch_free(&ctx, &w);
    mcamp__sampler_free(&ctx, &p);
    mcamp__factor_free(&ctx, &f);
    return m;
}

/* mcamp_delta: mean seconds over three seeds, each the best of two. */
static double delta_time(const mcamp_gram *g, double sigma, double eps, mcamp_direction dir,
                         mcamp_answer *a)
{
    mcamp_budget bud;
    double total = 0;
    memset(&bud, 0, sizeof bud);
    bud.rel_error = WANT; bud.direction = dir;
    for (bud.seed = 1; bud.seed <= 3; bud.seed++) {
        double best = 1e9;
        for (int i = 0; i < 2; i++) {
            double t = bench_seconds();
            bench_check(&ctx, "delta", mcamp_delta(&ctx, g, sigma, eps, &bud, a));
            t = bench_seconds() - t;
            if (t < best) best = t;
        }
        total += best;
    }
    return total / 3;
}

static void row(size_t bands, double eps)
{
    mcamp_gram g;
    mcamp_budget bud;
    mcamp_answer a;
    moments m;
    double sigma, t_sigma, t_one, t_both, t_sample, t_banded, t_product, t_plain, off, seen = 0;
    memset(&bud, 0, sizeof bud);
    bench_gram(&ctx, bands, 16, 128, &g);
    t_sigma = bench_seconds();
    bench_check(&ctx, "sigma", mcamp_sigma(&ctx, &g, eps, DELTA, &bud, &a));
    t_sigma = bench_seconds() - t_sigma;
    sigma = a.sigma;
    t_both = delta_time(&g, sigma, eps, MCAMP_BOTH, &a);
    t_one = delta_time(&g, sigma, eps, MCAMP_REMOVE, &a);
    m = plain_moments(&g, sigma, eps);
    t_sample = plain_time(&g, sigma, eps);
    t_banded = way_time(&g, 0, sigma, &seen);
    t_product = way_time(&g, 2048, sigma, &seen);
    t_plain = fmin(fmin(t_sample, t_banded), t_product) * m.rel_var / (WANT * WANT);
    off = fabs(m.delta - a.delta) / sqrt(m.rel_err * m.rel_err * m.delta * m.delta +
                                         a.std_error * a.std_error);
    printf("%5zu %3g %7.4f | %9.3e %5.2f %-6s %3zu %8.0f %8.4f | %6.3f %6.3f %6.2f %8.2e %9.1f%s "
           "|%9.0f | %7.4f %7.3f\n", bands, eps, sigma, a.delta, 100 * a.std_error / a.delta,
           bench_method(a.remove.method), a.remove.order, (double)a.samples, t_one,
           t_sample * 1e6, t_banded * 1e6, t_product * 1e6, m.rel_var, t_plain,
           off < 5 ? " " : "?", t_plain / t_one, t_both, t_sigma);
    mcamp_gram_free(&ctx, &g);
}

int main(void)
{
    static const size_t bands[4] = { 1, 16, 64, 256 };
    bench_start(&ctx);
    printf("TIME TO 1%% STANDARD ERROR on delta = 1e-5: n = 2048, b = 128, remove direction\n\n"
           "%18s| %46s | %40s |%9s | %s\n"
           "%5s %3s %7s | %9s %5s %-6s %3s %8s %8s | %6s %6s %6s %8s %9s  |%9s | %7s %7s\n",
           "", "mcamp_delta", "plain sampling, extrapolated", "", "other seconds",
           "bands", "eps", "sigma", "delta", "s.e.%", "method", "k", "samples", "seconds",
           "us own", "banded", "n-dim", "rel.var", "seconds", "times", "both", "sigma");
    for (int e = 0; e < 2; e++)
        for (int i = 0; i < 4; i++) row(bands[i], e ? 8 : 1);
    printf("Wanted: 5000 times with 64 and 256 bands, 50 times everywhere.  Other seconds: delta\n"
           "in both directions, sigma by mcamp_sigma.  A ? marks a variance whose samples do not\n"
           "reproduce delta.\n\n");
    return 0;
}
