/* How long does one sample take?  n = 2048 rounds, b = 128, square-root Toeplitz
 * matrix cut to 1 (C = I), 16 and 64 bands.
 * Baseline: Algorithm 2 of arXiv:2410.06266 as it is written: n normals, b inner
 * products of length n, log-sum-exp.  The library draws from the same law in b
 * dimensions.  Then the library's other samplers, where the time goes, and how far
 * the triangular product is from what fused multiply-adds can reach here.        */
#include "bench_common.h"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

#define N 2048u
#define B 128u
#define EPS 1.0
#define TILE 64u        /* samples in a tile: the header undefines its MCAMP__S */

typedef struct plan {
    size_t bands;
    double sigma;       /* about delta = 1e-5 at eps = 1 */
    mcamp_gram gram;
    double baseline;    /* seconds per sample */
} plan;

static plan plans[3];
static mcamp_ctx ctx;

/* ---- the baseline ---------------------------------------------------------- */

typedef struct naive {
    double *mode;               /* b x n */
    double x[N], half[B], sum[B];
    double sigma;
    int exchanged;              /* loops over rounds outside; mode is n x b */
    mcamp_rng rng;
    size_t count;
    double total, total_sq;     /* of the values */
} naive;

static void naive_init(naive *v, size_t bands, double sigma, int exchanged)
{
    double c[N], norm = 0;
    memset(v, 0, sizeof *v);
    mcamp_rng_seed(&v->rng, 7);
    v->sigma = sigma;
    v->exchanged = exchanged;
    v->mode = (double *)calloc((size_t)N * B, sizeof(double));
    if (!v->mode) exit(1);
    c[0] = 1;
    for (size_t k = 1; k < N; k++)
        c[k] = k < bands ? c[k - 1] * (double)(2 * k - 1) / (double)(2 * k) : 0;
    for (size_t i = 0; i < B; i++) {
        norm = 0;
        for (size_t t = 0; t < N; t++) {
            double m = 0;
            for (size_t j = i; j <= t; j += B) m += c[t - j];
            v->mode[exchanged ? t * B + i : i * N + t] = m;
            norm += m * m;
        }
        v->half[i] = norm / (2 * sigma * sigma);
    }
}

static void naive_normals(naive *v)
{
    for (size_t t = 0; t < N; t += 2) {
        double r = sqrt(-2 * log(mcamp_rng_uniform(&v->rng)));
        double a = 6.283185307179586 * mcamp_rng_uniform(&v->rng);
        v->x[t] = v->sigma * r * cos(a);
        v->x[t + 1] = v->sigma * r * sin(a);
    }
}

static void naive_products(naive *v)
{
    if (v->exchanged) {
        for (size_t i = 0; i < B; i++) v->sum[i] = 0;
        for (size_t t = 0; t < N; t++)
            for (size_t i = 0; i < B; i++) v->sum[i] += v->mode[t * B + i] * v->x[t];
        return;
    }
    for (size_t i = 0; i < B; i++) {
        double s = 0;
        for (size_t t = 0; t < N; t++) s += v->mode[i * N + t] * v->x[t];
        v->sum[i] = s;
    }
}

/* One sample of P and its value (1 - e^(eps - Y))_+. */
static void naive_sample(void *arg)
{
    naive *v = (naive *)arg;
    size_t j = (size_t)(mcamp_rng_uniform(&v->rng) * B);
    double top = -1e300, rho = 0, y;
    naive_normals(v);
    for (size_t t = 0; t < N; t++)
        v->x[t] += v->mode[v->exchanged ? t * B + j : j * N + t];
    naive_products(v);
    for (size_t i = 0; i < B; i++) {
        v->sum[i] = v->sum[i] / (v->sigma * v->sigma) - v->half[i];
        if (v->sum[i] > top) top = v->sum[i];
    }
    for (size_t i = 0; i < B; i++) rho += exp(v->sum[i] - top);
    y = top + log(rho / B);
    y = y > EPS ? 1 - exp(EPS - y) : 0;
    v->total += y;
    v->total_sq += y * y;
    v->count++;
}

/* The baseline and the library's plain sampler estimate the same: where delta is
 * large enough for the baseline to see it.                                        */
static void compare(naive *v)
{
    mcamp_gram g;
    mcamp_sampler s;
    mcamp_sampler_desc d;
    mcamp_tally *t = (mcamp_tally *)calloc(1, sizeof *t);
    double n, mean, err, lib, z;
    memset(&d, 0, sizeof d);
    d.direction = MCAMP_REMOVE; d.method = MCAMP_METHOD_PLAIN;
    d.sigma = v->sigma; d.eps = EPS;
    bench_gram(&ctx, 64, N / B, B, &g);
    bench_check(&ctx, "sampler", mcamp_sampler_init(&ctx, &g, &d, &s));
    bench_check(&ctx, "run", mcamp_sampler_run(&ctx, &s, 1, 0, 64, t));
    while (v->count < 1000) naive_sample(v);
    n = (double)v->count;
    mean = v->total / n;
    err = sqrt((v->total_sq / n - mean * mean) / n);
    lib = mcamp_tally_mean(t);
    z = (lib - mean) / sqrt(err * err + mcamp_tally_std_error(t) * mcamp_tally_std_error(t));
    printf("Both at sigma = %g, 64 bands: baseline delta %.4f +- %.4f, library %.4f "
           "(%+.1f standard errors)\n\n", v->sigma, mean, err, lib, z);
    mcamp_sampler_free(&ctx, &s);
    mcamp_gram_free(&ctx, &g);
    free(t);
}

/* ---- the library's samplers -------------------------------------------------- */

/* A sampler opened up: the samplers' own parts are timed one by one. */
typedef struct rig {
    mcamp__sampler p;
    mcamp__scratch w;
    mcamp__rng8 normals;
    mcamp_rng rng;
    mcamp_tally tally;
    mcamp_vecset vs;
    uint64_t block;
    double *x, t[TILE];     /* copies: the tile and t as a stage finds them */
} rig;

static void rig_open(rig *r, const plan *pl, mcamp_direction dir, mcamp_method method,
                     mcamp_vecset vs)
{
    mcamp__factor f;
    int loose = method == MCAMP_METHOD_MODE;
    memset(r, 0, sizeof *r);
    r->vs = vs;
    bench_check(&ctx, "factor", mcamp__factor_init(&ctx, &pl->gram, &f));
    bench_check(&ctx, "sampler",
                mcamp__sampler_build(&ctx, &f, pl->sigma, EPS, dir, method, 0, 0,
                                     loose ? mcamp__loose_scale(&f, pl->sigma, EPS)
                                           : mcamp__inf(), &r->p));
    if (loose) r->p.tile = mcamp__tile_mode;
    r->p.own = f;
    bench_check(&ctx, "scratch", mcamp__scratch_init(&ctx, &r->p, &r->w));
    mcamp__rng8_stream(&r->normals, 1, 70000, 0);
    mcamp_rng_stream(&r->rng, 1, 70000, 0);
    mcamp__tally_init(&r->p, &r->tally);
    r->x = (double *)calloc(B * TILE, sizeof(double));
    if (!r->x) exit(1);
}

static void rig_close(rig *r)
{
    mcamp__scratch_free(&ctx, &r->w);
    mcamp__sampler_free(&ctx, &r->p);
    free(r->x);
}

static void run_block(void *arg)
{
    rig *r = (rig *)arg;
    mcamp__sample_part(r->vs, &r->p, 1, 70000, r->block++, &r->w, &r->tally);   /* of B < 512 */
}

static double sample_time(const plan *pl, mcamp_direction dir, mcamp_method method,
                          mcamp_vecset vs, size_t *k)
{
    rig *r = (rig *)malloc(sizeof *r);
    double t;
    if (!r) exit(1);
    rig_open(r, pl, dir, method, vs);
    t = bench_best(run_block, r, vs == MCAMP_VEC_SCALAR ? 0.1 : 0.25) / MCAMP_BLOCK;
    *k = r->p.k;
    rig_close(r);
    free(r);
    return t;
}

static void print_plain(void)
{
    static const char *const sets[] = { "", "scalar", "AVX2", "AVX-512" };
    printf("Plain b-dimensional sampling against the baseline in n dimensions, one sample\n"
           "%-10s %16s |", "C", "baseline");
    for (int v = 1; v <= 3; v++) printf(" %17s %5s |", sets[v], "");
    printf("\n");
    for (int i = 2; i >= 0; i--) {
        printf("%3zu band%s  %13.1f us |", plans[i].bands, plans[i].bands > 1 ? "s" : " ",
               plans[i].baseline * 1e6);
        for (int v = 1; v <= 3; v++) {
            size_t k;
            double t;
            if (!mcamp__vecset_available((mcamp_vecset)v)) { printf("%25s |", "-"); continue; }
            t = sample_time(&plans[i], MCAMP_REMOVE, MCAMP_METHOD_PLAIN, (mcamp_vecset)v, &k);
            printf(" %8.3f us %6.0f times |", t * 1e6, plans[i].baseline / t);
        }
        printf("\n");
    }
    printf("Wanted with 64 bands: 150 times with AVX2, 250 times with AVX-512.\n\n");
}

static void print_methods(mcamp_vecset vs)
{
    static const struct { mcamp_direction d; mcamp_method m; } all[] = {
        { MCAMP_REMOVE, MCAMP_METHOD_PLAIN }, { MCAMP_ADD, MCAMP_METHOD_PLAIN },
        { MCAMP_REMOVE, MCAMP_METHOD_TILTED }, { MCAMP_REMOVE, MCAMP_METHOD_COMMON },
        { MCAMP_ADD, MCAMP_METHOD_COMMON }, { MCAMP_REMOVE, MCAMP_METHOD_MODE } };
    printf("All samplers, microseconds per sample (k: order; samples per second)\n%-16s", "");
    for (int i = 2; i >= 0; i--) printf("| %8zu band%s             ", plans[i].bands,
                                        plans[i].bands > 1 ? "s" : " ");
    printf("\n");
    for (size_t a = 0; a < sizeof all / sizeof all[0]; a++) {
        printf("%-8s %-7s", bench_method(all[a].m), all[a].d == MCAMP_ADD ? "add" : "remove");
        for (int i = 2; i >= 0; i--) {
            size_t k;
            double t;
            int diagonal = plans[i].gram.kind == MCAMP_GRAM_DIAGONAL;
            if (all[a].m == MCAMP_METHOD_COMMON && all[a].d == MCAMP_REMOVE && diagonal) {
                printf("| %26s ", "-");
                continue;
            }
            t = sample_time(&plans[i], all[a].d, all[a].m, vs, &k);
            printf("| %7.3f  k %2zu  %8.0f/s ", t * 1e6, k, 1 / t);
        }
        printf("\n");
    }
    printf("\n");
}

/* ---- stages -------------------------------------------------------------------- */

static void st_normals(void *a)
{
    rig *r = (rig *)a;
    mcamp__vec_normals(r->vs, &r->normals, r->w.z, B * TILE);
}
static void st_product(void *a)
{
    rig *r = (rig *)a;
    mcamp__vec_trmm(r->vs, &r->p.m.L, r->w.z, TILE, r->w.x);
}
static void st_copy(void *a)
{
    rig *r = (rig *)a;
    memcpy(r->w.x, r->x, B * TILE * sizeof(double));
}
static void st_draws(void *a)
{
    rig *r = (rig *)a;
    mcamp__vec_draw_tuples(r->vs, &r->p.tuple, &r->rng, r->w.work, r->w.index,
                           r->w.log_z);
}
static void st_clusters(void *a)   /* those draws add their rows to x */
{
    rig *r = (rig *)a;
    st_copy(a);
    for (size_t s = 0; s < TILE; s++)
        r->w.log_z[s] = mcamp__clusters_draw(&r->p.clusters, &r->p.m, &r->rng, s, r->w.index,
                                             r->w.x);
}
static void st_shifts(void *a)     /* into another tile: x stays what it is */
{
    rig *r = (rig *)a;
    mcamp__vec_add_rows(r->vs, r->p.m.g, r->p.m.ld, B, r->p.m.reach, r->p.m.over, r->w.index,
                        r->p.k, r->w.slope);
}
static void st_project(void *a)
{
    rig *r = (rig *)a;
    mcamp__tile_project(r->vs, &r->p, r->p.k, &r->w);
}
static void st_lse(void *a)
{
    rig *r = (rig *)a;
    mcamp__vec_lse(r->vs, r->w.x, B, r->p.off_loss, NULL, NULL, r->w.r, NULL);
}
static void st_root(void *a)
{
    rig *r = (rig *)a;
    memcpy(r->w.t, r->t, sizeof r->t);
    mcamp__solve_tile(r->vs, r->w.x, B, r->p.off_loss, r->p.m.c, 0, EPS, &r->w);
}
static void st_phi(void *a)
{
    rig *r = (rig *)a;
    mcamp__vec_phi_sum(r->vs, r->w.x, B, r->p.off_w, r->p.m.c, r->w.t, r->w.ls);
}
static void st_own_mode(void *a)
{
    rig *r = (rig *)a;
    st_copy(a);
    mcamp__tile_mode_slopes(r->vs, &r->p, &r->rng, &r->w);
    mcamp__tile_mode_interval(r->vs, &r->p, &r->w);
}
static void st_own_root(void *a)
{
    rig *r = (rig *)a;
    mcamp__tile_mode_interval(r->vs, &r->p, &r->w);
    mcamp__tile_mode_start(r->vs, &r->p, &r->w);
}
static void st_own_interval(void *a)
{
    rig *r = (rig *)a;
    mcamp__tile_mode_interval(r->vs, &r->p, &r->w);
}
static void st_own_phi(void *a)
{
    rig *r = (rig *)a;
    mcamp__tile_mode_tail(r->vs, &r->p, &r->w);
}

/* Seconds per sample of one stage. */
static double stage(rig *r, void (*run)(void *)) { return bench_best(run, r, 0.05) / TILE; }

enum { NORMALS, PRODUCT, DRAWS, SHIFTS, LSE, PROJECT, ROOT, PHI, STAGES };

static void common_stages(rig *r, double *t)
{
    double slope = r->p.m.root_total / B;
    t[PROJECT] = stage(r, st_project);
    mcamp__tile_tuples(r->vs, &r->p, &r->w);
    mcamp__vec_lse(r->vs, r->w.x, B, r->p.off_base, NULL, NULL, r->w.r, NULL);
    for (size_t s = 0; s < TILE; s++)
        r->t[s] = (EPS - r->w.r[s]) / slope + 0.5 * slope;
    t[ROOT] = stage(r, st_root);
    t[PHI] = stage(r, st_phi);
}

static void mode_stages(rig *r, double *t)
{
    t[PROJECT] = stage(r, st_own_mode) - stage(r, st_copy);
    t[ROOT] = stage(r, st_own_root) - stage(r, st_own_interval);
    t[PHI] = stage(r, st_own_phi);
}

static void stages_of(const plan *pl, mcamp_method method, mcamp_vecset vs, double *t,
                      double *total)
{
    rig *r = (rig *)malloc(sizeof *r);
    if (!r) exit(1);
    for (int i = 0; i < STAGES; i++) t[i] = 0;
    rig_open(r, pl, MCAMP_REMOVE, method, vs);
    *total = bench_best(run_block, r, 0.2) / MCAMP_BLOCK;
    t[NORMALS] = stage(r, st_normals);
    t[PRODUCT] = stage(r, st_product);
    memcpy(r->x, r->w.x, B * TILE * sizeof(double));
    if (method == MCAMP_METHOD_MODE) {
        mode_stages(r, t);
    } else {
        if (r->p.clusters.k) {
            t[DRAWS] = stage(r, st_clusters) - stage(r, st_copy);
        } else {
            t[DRAWS] = stage(r, st_draws);
            t[SHIFTS] = stage(r, st_shifts);
        }
        t[LSE] = stage(r, st_lse);
        if (method == MCAMP_METHOD_COMMON) common_stages(r, t);
    }
    rig_close(r);
    free(r);
}

static void print_stages(mcamp_vecset vs, double *plain, double *product)
{
    static const struct { int plan; mcamp_method m; } all[] = {
        { 2, MCAMP_METHOD_PLAIN }, { 1, MCAMP_METHOD_PLAIN }, { 0, MCAMP_METHOD_PLAIN },
        { 2, MCAMP_METHOD_TILTED }, { 2, MCAMP_METHOD_COMMON }, { 1, MCAMP_METHOD_COMMON },
        { 2, MCAMP_METHOD_MODE }, { 0, MCAMP_METHOD_MODE } };
    printf("Where the time goes, percent of one sample (remove)\n"
           "%-18s %8s %8s %8s %8s %8s %8s %8s %8s %8s %6s\n", "", "us", "normals", "product",
           "tuples", "shifts", "lse", "project", "root", "Phi sums", "rest");
    for (size_t a = 0; a < sizeof all / sizeof all[0]; a++) {
        double t[STAGES], total, rest = 1;
        stages_of(&plans[all[a].plan], all[a].m, vs, t, &total);
        printf("%-8s %3zu band%s ", bench_method(all[a].m), plans[all[a].plan].bands,
               plans[all[a].plan].bands > 1 ? "s" : " ");
        printf("%8.3f", total * 1e6);
        for (int i = 0; i < STAGES; i++) {
            rest -= t[i] / total;
            printf(" %8.1f", 100 * t[i] / total);
        }
        printf(" %6.1f\n", 100 * rest);
        if (a == 0) { *plain = total; *product = t[PRODUCT]; }
    }
    printf("(rest: the tail of each sample and the tally; stages are timed apart, so their\n"
           "sum may miss the total by a few percent)\n\n");
}

/* ---- the arithmetic limit ---------------------------------------------------------- */

#define FMA_STEPS 4096
#define FMA_LANES 10    /* independent chains: more than latency times units */
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)

#if defined(__x86_64__) && defined(__GNUC__)
#define START(i) a##i = _mm512_set1_pd(i);
#define STEP(i) a##i = _mm512_fmadd_pd(a##i, m, c);
#define SUM(i) s = _mm512_fmadd_pd(s, m, a##i);
__attribute__((target("avx512f"))) static void fma_512(void *arg)
{
    __m512d a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, s = _mm512_set1_pd(0);
    __m512d m = _mm512_set1_pd(1 - 1e-9), c = _mm512_set1_pd(1e-9);
    double out[8];
    EACH(START)
    for (int n = 0; n < FMA_STEPS; n++) { EACH(STEP) }
    EACH(SUM)
    _mm512_storeu_pd(out, s);
    *(double *)arg += out[0];
}
#undef START
#undef STEP
#undef SUM

#define START(i) a##i = _mm256_set1_pd(i);
#define STEP(i) a##i = _mm256_fmadd_pd(a##i, m, c);
#define SUM(i) s = _mm256_fmadd_pd(s, m, a##i);
__attribute__((target("avx2,fma"))) static void fma_256(void *arg)
{
    __m256d a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, s = _mm256_set1_pd(0);
    __m256d m = _mm256_set1_pd(1 - 1e-9), c = _mm256_set1_pd(1e-9);
    double out[4];
    EACH(START)
    for (int n = 0; n < FMA_STEPS; n++) { EACH(STEP) }
    EACH(SUM)
    _mm256_storeu_pd(out, s);
    *(double *)arg += out[0];
}
#endif

/* Multiply-adds a second, on doubles. */
static double fma_peak(mcamp_vecset vs)
{
#if defined(__x86_64__) && defined(__GNUC__)
    double sink = 0;
    if (vs == MCAMP_VEC_AVX512)
        return FMA_LANES * 8 * FMA_STEPS / bench_best(fma_512, &sink, 0.2);
    if (vs == MCAMP_VEC_AVX2)
        return FMA_LANES * 4 * FMA_STEPS / bench_best(fma_256, &sink, 0.2);
#endif
    (void)vs;
    return 0;
}

int main(void)
{
    static const size_t bands[3] = { 1, 16, 64 };
    static const double sigmas[3] = { 3.35, 6.65, 11.9 };
    naive *v = (naive *)malloc(sizeof *v);
    double exchanged, plain = 0, product = 0, peak;
    mcamp_vecset vs;
    if (!v) return 1;
    bench_start(&ctx);
    vs = ctx.vec;
    for (int i = 0; i < 3; i++) {
        plans[i].bands = bands[i];
        plans[i].sigma = sigmas[i];
        bench_gram(&ctx, bands[i], N / B, B, &plans[i].gram);
        naive_init(v, bands[i], sigmas[i], 0);
        plans[i].baseline = bench_best(naive_sample, v, 0.5);
        free(v->mode);
    }
    naive_init(v, 64, 11.9, 1);
    exchanged = bench_best(naive_sample, v, 0.5);
    free(v->mode);
    printf("TIME PER SAMPLE: n = %u, b = %u\n\n", N, B);
    print_plain();
    printf("The baseline with its loops exchanged (rounds outside, modes inside): %.1f us\n",
           exchanged * 1e6);
    naive_init(v, 64, 2.5, 1);
    compare(v);
    free(v->mode);
    print_methods(vs);
    print_stages(vs, &plain, &product);
    peak = fma_peak(vs);
    if (peak > 0)
        printf("Fused multiply-adds: %.1f G/s at best here.  A sample with 64 bands has\n"
               "b(b+1)/2 = %u of them in its triangular product, which takes %.2f times as\n"
               "long as at that rate; the whole plain sample %.2f times.\n\n", peak * 1e-9,
               B * (B + 1) / 2, product * peak / (B * (B + 1) / 2),
               plain * peak / (B * (B + 1) / 2));
    for (int i = 0; i < 3; i++) mcamp_gram_free(&ctx, &plans[i].gram);
    free(v);
    return 0;
}
