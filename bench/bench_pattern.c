/* b-min-sep Poisson sampling, n = 2048, b = 64, 32 bands, q = 1/64, eps = 1: samples at
 * sigma = 5 against a straightforward one (n normals, a product for each round, one
 * exponential and logarithm a round), estimates there and where delta is 1e-8, and proofs
 * with a tenth to spare at both.  Then random groups (cyclic Poisson sampling) and b-min-sep, few
 * uses and many, few bands and many: sigma to 2% of delta = 1e-5, beside the time that plain
 * samples would take for delta to 2% there.                                            */
#include "bench_common.h"

enum { N = 2048, B = 64, BANDS = 32 };
static const double EPS = 1, Q = 1.0 / B;

static mcamp_ctx ctx;

/* ---- the baseline ---------------------------------------------------------- */

typedef struct naive {
    double c[BANDS], half, sigma;       /* coefficients of C; |c|^2 / (2 sigma^2) */
    double x[N + BANDS], f[N + B];      /* X, and 0 after it; the recursion, and 0 */
    mcamp_rng rng;
    double count, total, total_sq;      /* of the values */
} naive;

/* The square root's coefficients, of norm 1: also those of the last, shorter columns. */
static void naive_init(naive *v, double sigma)
{
    double norm = 0;
    memset(v, 0, sizeof *v);
    mcamp_rng_seed(&v->rng, 7);
    v->sigma = sigma;
    v->c[0] = 1;
    for (int k = 1; k < BANDS; k++) v->c[k] = v->c[k - 1] * (2 * k - 1) / (2 * k);
    for (int k = 0; k < BANDS; k++) norm += v->c[k] * v->c[k];
    for (int k = 0; k < BANDS; k++) v->c[k] /= sqrt(norm);
}

static void naive_observe(naive *v)
{
    for (int t = 0; t < N; t += 2) {
        double r = v->sigma * sqrt(-2 * log(mcamp_rng_uniform(&v->rng)));
        double a = 6.283185307179586 * mcamp_rng_uniform(&v->rng);
        v->x[t] = r * cos(a);
        v->x[t + 1] = r * sin(a);
    }
    for (int t = 0; t < N; ) {
        if (mcamp_rng_uniform(&v->rng) >= Q) { t++; continue; }
        for (int k = 0; k < BANDS && t + k < N; k++) v->x[t + k] += v->c[k];
        t += B;
    }
}

/* One sample of P and its value (1 - e^(eps - log rho))_+. */
static void naive_sample(void *arg)
{
    naive *v = (naive *)arg;
    double y;
    naive_observe(v);
    for (int t = N - 1; t >= 0; t--) {
        double h = 0, norm = 0, take, skip = log(1 - Q) + v->f[t + 1], top;
        for (int k = 0; k < BANDS && t + k < N; k++) {
            h += v->c[k] * v->x[t + k];
            norm += v->c[k] * v->c[k];
        }
        take = log(Q) + (h - norm / 2) / (v->sigma * v->sigma) + v->f[t + B];
        top = take > skip ? take : skip;
        v->f[t] = top + log(exp(take - top) + exp(skip - top));
    }
    y = v->f[0] > EPS ? 1 - exp(EPS - v->f[0]) : 0;
    v->total += y;
    v->total_sq += y * y;
    v->count++;
}

/* ---- the library ----------------------------------------------------------- */

typedef struct run { mcamp_sampler s; mcamp_tally *tally; } run;

static void library_blocks(void *arg)
{
    run *r = (run *)arg;
    bench_check(&ctx, "run", mcamp_sampler_run(&ctx, &r->s, 1, 0, 1, r->tally));
}

/* Seconds a sample of order k, 0 for the plain one; its estimate to *mean and *err. */
static double library_sample(const mcamp_gram *g, size_t k, double sigma, uint64_t blocks,
                             double *mean, double *err)
{
    mcamp_sampler_desc d;
    run r;
    double each;
    memset(&d, 0, sizeof d);
    r.tally = (mcamp_tally *)calloc(1, sizeof *r.tally);
    if (!r.tally) exit(1);
    d.direction = MCAMP_REMOVE;
    d.method = k ? MCAMP_METHOD_TILTED : MCAMP_METHOD_PLAIN;
    d.sigma = sigma; d.eps = EPS; d.order = k;
    bench_check(&ctx, "sampler", mcamp_sampler_init(&ctx, g, &d, &r.s));
    each = bench_best(library_blocks, &r, 0.3) / MCAMP_BLOCK;
    memset(r.tally, 0, sizeof *r.tally);
    bench_check(&ctx, "run", mcamp_sampler_run(&ctx, &r.s, 1, 0, blocks, r.tally));
    *mean = mcamp_tally_mean(r.tally);
    *err = mcamp_tally_std_error(r.tally);
    mcamp_sampler_free(&ctx, &r.s);
    free(r.tally);
    return each;
}

/* The two estimate the same, where delta is large enough for the baseline to see it. */
static void compare(const mcamp_gram *g, double sigma)
{
    naive *v = (naive *)malloc(sizeof *v);
    double mean, err, other, off;
    if (!v) exit(1);
    naive_init(v, sigma);
    while (v->count < 2000) naive_sample(v);
    mean = v->total / v->count;
    err = sqrt((v->total_sq / v->count - mean * mean) / v->count);
    library_sample(g, 0, sigma, 32, &other, &off);
    printf("Both at sigma = %g: baseline delta %.4f +- %.4f, library %.4f (%+.1f standard "
           "errors)\n", sigma, mean, err, other, (other - mean) / sqrt(err * err + off * off));
    free(v);
}

static void samples(const mcamp_gram *g)
{
    naive *v = (naive *)malloc(sizeof *v);
    double base, plain, mean, err, first = 0;
    if (!v) exit(1);
    naive_init(v, 5);
    base = bench_best(naive_sample, v, 0.3);
    plain = library_sample(g, 0, 5, 8, &mean, &err);
    printf("plain sample: %.1f us, baseline %.1f us, %.1f times\n", 1e6 * plain, 1e6 * base,
           base / plain);
    for (size_t k = 1; k <= 9; k += 4) {
        double each = library_sample(g, k, 5, 8, &mean, &err);
        if (k == 1) first = each;
        printf("order %lu: %.1f us", (unsigned long)k, 1e6 * each);
        if (k > 1) printf(", %.1f us an order more", 1e6 * (each - first) / (double)(k - 1));
        printf("; delta %.3g +- %.2g\n", mean, err);
    }
    free(v);
}

/* An estimate to 1%, both directions. */
static void estimate(const mcamp_gram *g, double sigma)
{
    mcamp_answer a;
    double t = bench_seconds();
    bench_check(&ctx, "delta", mcamp_delta(&ctx, g, sigma, EPS, NULL, &a));
    printf("delta at sigma %.4f: %.3g +- %.2g, %.1f s\n", sigma, a.delta, a.std_error,
           bench_seconds() - t);
}

static void proof(const mcamp_gram *g, double sigma, double delta)
{
    mcamp_claim c;
    mcamp_guarantee out;
    double t = bench_seconds();
    memset(&c, 0, sizeof c);
    c.sigma = sigma; c.eps = EPS; c.delta = c.beta = 1.1 * delta;
    bench_check(&ctx, "verify", mcamp_verify(&ctx, g, &c, &out));
    printf("proof of delta %.3g at sigma %.4f: %s, %.1f s, %lu samples, of order %lu and %lu\n",
           c.delta, sigma, out.accepted ? "accepted" : "not accepted", bench_seconds() - t,
           (unsigned long)out.samples, (unsigned long)out.remove.order,
           (unsigned long)out.add.order);
}

static void patterns(size_t n, size_t bands, mcamp_batch_law law, double q, mcamp_mech *m,
                     mcamp_gram *g)
{
    mcamp_mech_desc d;
    mcamp_participation part;
    memset(&d, 0, sizeof d);
    memset(&part, 0, sizeof part);
    d.kind = MCAMP_MECH_SQRT; d.n = n; d.bands = bands; d.normalize = true;
    part.law = law; part.batches = B; part.q = q;
    bench_check(&ctx, "strategy", mcamp_mech_init(&ctx, &d, m));
    bench_check(&ctx, "patterns", mcamp_gram_pattern(&ctx, m, &part, g));
}

static void sigmas(mcamp_batch_law law, size_t n, double q, size_t bands)
{
    mcamp_mech m;
    mcamp_gram g;
    mcamp_budget bud;
    mcamp_answer a;
    double t, took, each, mean, err, need;
    uint64_t blocks = 512;
    patterns(n, bands, law, q, &m, &g);
    memset(&bud, 0, sizeof bud);
    bud.rel_error = 0.02;
    t = bench_seconds();
    bench_check(&ctx, "sigma", mcamp_sigma(&ctx, &g, EPS, 1e-5, &bud, &a));
    took = bench_seconds() - t;
    each = library_sample(&g, 0, a.sigma, blocks, &mean, &err);
    need = mean > 0 ? pow(err / mean / 0.02, 2) * (double)(blocks * MCAMP_BLOCK) * each : 0;
    printf("%-9s n %4d, q %-7.4g %2d bands: sigma %.4f +- %.2g in %5.1f s, %.2g samples; plain "
           "samples: delta %.1g +- %.1g, to 2%% in %.0f s, %.1f times\n",
           law == MCAMP_BATCH_MINSEP ? "b-min-sep" : "groups", (int)n, q, (int)bands, a.sigma,
           a.std_error, took, (double)a.samples, mean, err, need, need / took);
    fflush(stdout);
    mcamp_gram_free(&ctx, &g);
    mcamp_mech_free(&ctx, &m);
}

int main(void)
{
    static const double q[4] = { 0.02, 0.1, 0.5, 0.9 }, less[4] = { 0.002, 0.01, 1.0 / B, 0.1 };
    static const size_t bands[3] = { 1, 8, 48 }, fewer[3] = { 1, 4, 32 };
    mcamp_mech m;
    mcamp_gram g;
    bench_start(&ctx);
    patterns(N, BANDS, MCAMP_BATCH_MINSEP, Q, &m, &g);
    compare(&g, 1.5);
    samples(&g);
    estimate(&g, 5);
    estimate(&g, 7.945);
    proof(&g, 5, 9.4e-5);
    proof(&g, 7.945, 1e-8);
    mcamp_gram_free(&ctx, &g);
    mcamp_mech_free(&ctx, &m);
    for (int k = 0; k < 12; k++) sigmas(MCAMP_BATCH_POISSON, 1024, q[k / 3], bands[k % 3]);
    for (int k = 0; k < 12; k++) sigmas(MCAMP_BATCH_MINSEP, N, less[k / 3], fewer[k % 3]);
    return 0;
}
