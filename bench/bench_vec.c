/* Vector kernels: nanoseconds per element in every vector set that this machine
 * has, and how many times faster than the scalar set.  For the triangular
 * product also the share of the peak that fused multiply-adds reach here.
 *     cc -O2 bench/bench_vec.c -o build/bench_vec -lm && build/bench_vec
 * -DMCAMP_CBLAS_HEADER='<cblas.h>' -lopenblas: large matrices beside that library's.  */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include <stdio.h>
#include <time.h>

#define S 64
#define ROWS 128
#define LD 136        /* of a Gram matrix of so many rows */
#define N (ROWS * S)

static double *z, *g, *off, *slope, *tt, *out, *dout;
static mcamp__tri dense, band, diagonal;
static mcamp__tuple tuples;
static double *rows;
static mcamp_rng indices;
static uint32_t *js;
#define K 13
static mcamp__rng8 rng;
static mcamp_vecset vs;

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* In place: after a few rounds only infinities and NaN are left, which take the
 * same time (no branch looks at the values).                                 */
static void run_exp(void) { mcamp__vec_exp(vs, g, N); }
static void run_normals(void) { mcamp__vec_normals(vs, &rng, g, N); }
static void run_dense(void) { mcamp__vec_trmm(vs, &dense, z, S, g); }
static void run_band(void) { mcamp__vec_trmm(vs, &band, z, S, g); }
static void run_diagonal(void) { mcamp__vec_trmm(vs, &diagonal, z, S, g); }
static void run_lse(void) { mcamp__vec_lse(vs, z, ROWS, off, NULL, NULL, out, NULL); }
static void run_dlse(void) { mcamp__vec_lse(vs, z, ROWS, off, slope, tt, out, dout); }
static void run_phi(void) { mcamp__vec_phi_sum(vs, z, ROWS, off, slope, z, out); }
static void run_windows(void) { mcamp__vec_windows(vs, z, ROWS, 7, off, slope, g, tt); }
static void run_colsum(void) { mcamp__vec_colsum(vs, z, ROWS, off, out); }
static void run_rank1(void) { mcamp__vec_rank1(vs, g, ROWS, off, tt); }
static void run_draws(void)
{
    mcamp__vec_draw_tuples(vs, &tuples, &indices, out, js, dout);
}
static void run_add(void) { mcamp__vec_add_rows(vs, rows, LD, ROWS, ROWS, 1, js, K, g); }
static void run_shifts(void) { mcamp__vec_add_shifts(vs, g, ROWS, z); }

static const struct { const char *name; void (*run)(void); double per; } jobs[] = {
    { "exp", run_exp, N },
    { "Box-Muller", run_normals, N },
    { "trmm dense, per sample", run_dense, S },
    { "trmm band 16, per sample", run_band, S },
    { "trmm diagonal, per sample", run_diagonal, S },
    { "log-sum-exp", run_lse, N }, { "log-sum-exp + slope", run_dlse, N },
    { "log-sum of e^x Phi", run_phi, N },
    { "sums of windows, e^(k sum)", run_windows, N },
    { "index draw, per draw", run_draws, S * K },
    { "shifts of 13 draws, per draw", run_add, S * K },
    { "add shifts", run_shifts, N },
    { "column sum", run_colsum, N }, { "rank-1 update", run_rank1, N },
};

/* The fastest of many repetitions, so that other load does not matter; clock()
 * counts microseconds, hence batches of at least a thousand of them.          */
static double best_time(void (*run)(void))
{
    double best = 1e9, start = seconds();
    int batch = 1;
    for (;;) {
        double t = seconds();
        for (int i = 0; i < batch; i++) run();
        t = seconds() - t;
        if (t < 1e-3) { batch *= 2; continue; }
        if (t / batch < best) best = t / batch;
        if (seconds() - start > 0.15) return best;
    }
}

static void fill(double *L, size_t w)
{
    memset(L, 0, ROWS * ROWS * sizeof(double));
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j <= i; j++)
            if (i - j <= w || (w && i >= ROWS - w))
                L[i * ROWS + j] = 1.0 / (double)(1 + i - j);
}

static void setup(mcamp_ctx *ctx)
{
    mcamp__buf b[7];
    double *L = (double *)malloc(ROWS * LD * sizeof(double));
    mcamp_ctx_init(ctx, NULL);
    for (int i = 0; i < 7; i++) mcamp__buf_new(ctx, N, &b[i]);
    z = b[0].p; g = b[1].p; off = b[2].p; slope = b[3].p;
    tt = b[4].p; out = b[5].p; dout = b[6].p;
    fill(L, ROWS); mcamp__tri_pack(ctx, L, ROWS, ROWS, &dense);
    fill(L, 16); mcamp__tri_pack(ctx, L, ROWS, ROWS, &band);
    fill(L, 0); mcamp__tri_pack(ctx, L, ROWS, ROWS, &diagonal);
    for (size_t i = 0; i < ROWS; i++) off[i] = 1.0 / ROWS, slope[i] = 0.2;
    for (size_t i = 0; i < ROWS * LD; i++) L[i] = 0.1;
    rows = L;
    mcamp__tuple_alloc(ctx, ROWS, ROWS, 0, NULL, &tuples);
    for (size_t i = 0; i < ROWS * ROWS; i++) {
        size_t at = i / ROWS * tuples.stride + i % ROWS;
        tuples.ea[at] = exp(L[i]);
    }
    mcamp__tuple_init(ctx, off, K, 0.1, &tuples);
    js = (uint32_t *)calloc(S * K, sizeof *js);
    mcamp_rng_seed(&indices, 1);
    mcamp__rng8_stream(&rng, 1, MCAMP__STREAM_TEST, 0);
    mcamp__vec_normals(MCAMP_VEC_SCALAR, &rng, z, N);
    for (size_t i = 0; i < N; i++) off[i] = 0.01 + 1e-4 * (double)i, slope[i] = 0.5;
}

/* Fused multiply-adds per nanosecond that twelve independent chains reach, the
 * yardstick for the triangular product.                                       */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#include <immintrin.h>
#define PEAK(name, bytes, isa, fma) \
    __attribute__((noinline, target(isa))) static double name(void) \
    { \
        typedef double vec __attribute__((vector_size(bytes))); \
        vec a[12], x, y; \
        double t, sum = 0; \
        for (size_t j = 0; j < bytes / 8; j++) x[j] = 1 + 1e-12, y[j] = 1e-9 * slope[0]; \
        for (int i = 0; i < 12; i++) a[i] = y; \
        t = seconds(); \
        for (long n = 0; n < 20000000; n++) { \
            a[0] = fma(a[0], x, y); a[1] = fma(a[1], x, y); a[2] = fma(a[2], x, y); \
            a[3] = fma(a[3], x, y); a[4] = fma(a[4], x, y); a[5] = fma(a[5], x, y); \
            a[6] = fma(a[6], x, y); a[7] = fma(a[7], x, y); a[8] = fma(a[8], x, y); \
            a[9] = fma(a[9], x, y); a[10] = fma(a[10], x, y); a[11] = fma(a[11], x, y); \
        } \
        t = seconds() - t; \
        for (int i = 0; i < 12; i++) sum += a[i][0]; \
        out[0] = sum;               /* so that the loop is not removed */ \
        return 20000000.0 * 12 * (bytes / 8) / (t * 1e9); \
    }
PEAK(peak_avx2, 32, "avx2,fma", _mm256_fmadd_pd)
PEAK(peak_avx512, 64, "avx512f,fma", _mm512_fmadd_pd)

static void print_rate(const char *what, double t, double products, double peak)
{
    double rate = products / t * 1e-9;
    printf("%s %.3f s, %.1f/ns, %.0f%%", what, t, rate, 100 * rate / peak);
}

/* The aim at b = 4096. */
static void half(size_t b, double products, double t, double peak)
{
    if (b >= 4096)
        printf(" (at least 50: %s)", products / t * 1e-9 < 0.5 * peak ? "NO" : "yes");
}

#ifdef MCAMP_CBLAS_HEADER   /* what a BLAS does alone, which LAPACK's factor rests on */
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

static void library(size_t b, const double *gram, const double *c, double cube, double peak)
{
    double *x = (double *)malloc(b * b * sizeof *x), t = seconds();
    int n = (int)b, info = 0;
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, n, n, 1, c, n, 0, x, n);
    t = seconds() - t;
    print_rate("    the library's dsyrk", t, cube / 2, peak);
    memcpy(x, gram, b * b * sizeof *x);
    t = seconds();
    dpotrf_("U", &n, x, &n, &info);
    t = seconds() - t;
    print_rate("; dpotrf", t, cube / 6, peak);
    printf("\n");
    free(x);
}
#endif

/* The Gram matrix of a dense C, b rounds, and its factor: products a nanosecond of terms
 * that are not zero, b^3/6 for both, the folding of C and the error sums of G included in
 * the time; the peak is what the same vector set reaches.                        */
static void large(int v, size_t b, double peak)
{
    mcamp_ctx ctx;
    mcamp_ctx_desc cd;
    mcamp_mech_desc d;
    mcamp_mech m;
    mcamp_gram gram;
    double *c = (double *)calloc(b * b, sizeof *c), *l = (double *)calloc(b * b, sizeof *l);
    double shift, t;
    double cube = (double)b * (double)b * (double)b;
    memset(&cd, 0, sizeof cd);
    memset(&d, 0, sizeof d);
    cd.vec = (mcamp_vecset)v;
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j <= i; j++) c[i * b + j] = 1 / (1.0 + (double)(i - j));
    d.kind = MCAMP_MECH_DENSE; d.n = b; d.count = b * b; d.coef = c;
    if (mcamp_ctx_init(&ctx, &cd) < 0 || mcamp_mech_init(&ctx, &d, &m) < 0) return;
    t = seconds();
    if (mcamp_gram_init(&ctx, &m, b, &gram) < 0) return;
    t = seconds() - t;
    printf("b = %d: ", (int)b);
    print_rate("Gram matrix", t, cube / 6, peak);
    printf(" (%.0f%% with the zeros, as a product of full matrices)", 50 * cube / t * 1e-9 / peak);
    half(b, cube / 6, t, peak);
    t = seconds();
    if (mcamp__cholesky(&ctx, gram.g, b, b, l, &shift) < 0) return;
    t = seconds() - t;
    print_rate("; its factor", t, cube / 6, peak);
    half(b, cube / 6, t, peak);
    printf("\n");
#ifdef MCAMP_CBLAS_HEADER
    library(b, gram.g, c, cube, peak);
#endif
    mcamp_gram_free(&ctx, &gram);
    mcamp_mech_free(&ctx, &m);
    free(c);
    free(l);
}

/* A periodic band of half-width w: its factor, and for a tile the product L z and the systems
 * L'x = z and L x = z; a nanosecond, of terms under the factor's skyline.          */
static void periodic(int v, size_t b, size_t w)
{
    mcamp_ctx ctx;
    mcamp__tri L;
    mcamp__buf in, to;
    double *a = (double *)calloc(b * b, sizeof *a), *l = (double *)calloc(b * b, sizeof *l);
    double shift, t, terms = 0;
    if (mcamp_ctx_init(&ctx, NULL) < 0) return;
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++) {
            size_t d = i > j ? i - j : j - i;
            if (d > b - d) d = b - d;
            if (d < w) a[i * b + j] = (d ? 0.0 : 1.0) + 0.4 * (double)(w - d) / (double)(w * w);
        }
    t = seconds();
    if (mcamp__cholesky(&ctx, a, b, w - 1, l, &shift) < 0) return;
    t = seconds() - t;
    printf("b = %d, a periodic band of %d: factor %.3f s", (int)b, (int)w, t);
    if (mcamp__tri_pack(&ctx, l, b, w - 1, &L) < 0 || mcamp__buf_new(&ctx, b * S, &in) < 0 ||
        mcamp__buf_new(&ctx, b * S, &to) < 0) return;
    for (size_t r = 0; r < L.groups; r++)
        terms += 6.0 * (double)(L.head + 6 * r - L.start[r]) * S;
    for (size_t i = 0; i < b * S; i++) in.p[i] = 1e-3 * (double)(i % 97);
    for (int what = 0; what < 3; what++) {
        t = seconds();
        for (int k = 0; k < 10; k++)
            if (!what) mcamp__vec_trmm((mcamp_vecset)v, &L, in.p, S, to.p);
            else       mcamp__vec_solve((mcamp_vecset)v, &L, what == 1, in.p);
        t = (seconds() - t) / 10;
        printf("; %s %.4f s, %.1f/ns", !what ? "L z" : what == 1 ? "L'x = z" : "L x = z", t,
               terms / t * 1e-9);
    }
    printf("\n");
    mcamp__buf_free(&ctx, &to);
    mcamp__buf_free(&ctx, &in);
    mcamp__tri_free(&ctx, &L);
    free(a);
    free(l);
}

static void print_peak(int v)
{
    double peak = 0, rate;
    vs = (mcamp_vecset)v;
    for (int i = 0; i < 3; i++) {
        double p = v == 2 ? peak_avx2() : peak_avx512();
        if (p > peak) peak = p;
    }
    rate = 0.5 * ROWS * (ROWS + 1) * S / (best_time(run_dense) * 1e9);
    printf("trmm dense, %s: %.1f fused multiply-adds/ns, %.0f%% of the measured peak of %.1f\n",
           v == 2 ? "AVX2" : "AVX-512", rate, 100 * rate / peak, peak);
    for (size_t b = 512; b <= 4096; b *= 2) large(v, b, peak);
    periodic(v, 4096, 4);
    periodic(v, 4096, 256);
    periodic(v, 4096, 4096);
}
#else
static void print_peak(int v) { (void)v; }
#endif

/* Shifts of 13 rows of a Gram matrix of 2048 modes with 256 bands: of rows taken for full, as
 * they were before, and of their band; other rows each time, as samples draw them.       */
enum { MODES = 2048, LONG = MODES + 8, BAND = 255 };
static double *band_rows, *band_sums;
static size_t band_half;

static void run_band_rows(void)
{
    for (size_t i = 0; i < S * K; i++) js[i] = (uint32_t)(mcamp_rng_uniform(&indices) * MODES);
    mcamp__vec_add_rows(vs, band_rows, LONG, MODES, band_half, 1, js, K, band_sums);
}

static void print_band_rows(int set)
{
    double t[2];
    band_rows = (double *)calloc(MODES * LONG, sizeof(double));
    band_sums = (double *)calloc(MODES * S, sizeof(double));
    if (!band_rows || !band_sums) exit(1);
    for (size_t i = 0; i < MODES; i++)
        for (size_t d = 0; d <= 2 * BAND; d++)
            band_rows[i * LONG + (i + MODES - BAND + d) % MODES] = 0.1;
    vs = (mcamp_vecset)set;
    for (int i = 0; i < 2; i++) {
        band_half = i ? BAND : MODES;
        t[i] = best_time(run_band_rows) / S * 1e6;
    }
    printf("%s: %d rows of %d drawn, 256 bands: full rows %.2f us, bands %.2f, %.2f times\n",
           set == 2 ? "AVX2" : "AVX-512", K, (int)MODES, t[0], t[1], t[0] / t[1]);
    free(band_rows);
    free(band_sums);
}

int main(void)
{
    static const char *const names[] = { "", "scalar", "AVX2", "AVX-512" };
    mcamp_ctx ctx;
    setup(&ctx);
    printf("%-28s", "ns");
    for (int v = 1; v <= 3; v++) printf("%10s  ratio", names[v]);
    printf("\n");
    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
        double scalar = 0;
        printf("%-28s", jobs[j].name);
        for (int v = 1; v <= 3; v++) {
            double t;
            vs = (mcamp_vecset)v;
            if (!mcamp__vecset_available(vs)) { printf("%17s", "-"); continue; }
            t = best_time(jobs[j].run) / jobs[j].per * 1e9;
            if (v == 1) scalar = t;
            printf("%10.3f %6.2f", t, scalar / t);
        }
        printf("\n");
    }
    for (int v = 2; v <= 3; v++)
        if (mcamp__vecset_available((mcamp_vecset)v)) { print_peak(v); print_band_rows(v); }
    return 0;
}
