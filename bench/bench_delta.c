/* How long until delta = 1e-5 is known to 1%?  E = 16 epochs, b = 128, square-root
 * Toeplitz matrix cut to 1, 16, 64 and 256 bands, eps = 1 and 8, remove direction.
 * Library: mcamp_delta with all that belongs to it (factor, choice of method, samples
 * of the value and of its rigorous bound).
 * Baseline: plain b-dimensional sampling, the library's own: its measured time per
 * sample times the samples that its variance asks for.  That is EXTRAPOLATED, since it
 * would take hours.  Its variance comes from the tilted law, which reaches the samples
 * that plain sampling meets once in 1/delta.                                          */
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
    double s1 = 0, s2 = 0, sq = 0, n = 0, sticky = g->width < 32 ? 2 : 0;
    size_t row = MCAMP_BLOCK / 16;
    bench_check(&ctx, "factor", mcamp__factor_init(&ctx, g, &f));
    bench_check(&ctx, "sampler",
                mcamp__sampler_build(&ctx, &f, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_TILTED,
                                     0, sticky, mcamp__inf(), &p));
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
    double sigma, t_sigma, t_one, t_both, t_sample, t_plain, off;
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
    t_plain = t_sample * m.rel_var / (WANT * WANT);
    off = fabs(m.delta - a.delta) / sqrt(m.rel_err * m.rel_err * m.delta * m.delta +
                                         a.std_error * a.std_error);
    printf("%5zu %3g %7.4f | %9.3e %5.2f %-6s %3zu %8.0f %8.4f | %8.3f %8.2e %9.1f%s |%9.0f "
           "| %7.4f %7.3f\n", bands, eps, sigma, a.delta, 100 * a.std_error / a.delta,
           bench_method(a.remove.method), a.remove.order, (double)a.samples, t_one,
           t_sample * 1e6, m.rel_var, t_plain, off < 5 ? " " : "?", t_plain / t_one, t_both,
           t_sigma);
    mcamp_gram_free(&ctx, &g);
}

int main(void)
{
    static const size_t bands[4] = { 1, 16, 64, 256 };
    bench_start(&ctx);
    printf("TIME TO 1%% STANDARD ERROR on delta = 1e-5: n = 2048, b = 128, remove direction\n\n"
           "%18s| %46s | %28s |%9s | %s\n"
           "%5s %3s %7s | %9s %5s %-6s %3s %8s %8s | %8s %8s %9s  |%9s | %7s %7s\n",
           "", "mcamp_delta", "plain sampling, extrapolated", "", "other seconds",
           "bands", "eps", "sigma", "delta", "s.e.%", "method", "k", "samples", "seconds",
           "us each", "rel.var", "seconds", "times", "both", "sigma");
    for (int e = 0; e < 2; e++)
        for (int i = 0; i < 4; i++) row(bands[i], e ? 8 : 1);
    printf("Wanted: 5000 times with 64 and 256 bands, 50 times everywhere.  Other seconds: delta\n"
           "in both directions, sigma by mcamp_sigma.  A ? marks a variance whose samples do not\n"
           "reproduce delta.\n\n");
    return 0;
}
