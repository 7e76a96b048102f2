/* Section vec: every kernel in every vector set that this machine has, against
 * long double, at its stated bound.                                          */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

#ifdef __clang__        /* references in long double mix with doubles on purpose */
#  pragma clang diagnostic ignored "-Wdouble-promotion"
#endif

#define S 64
#define BMAX 129
#define U (DBL_EPSILON / 2)

static mcamp_ctx ctx;
static const size_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                16, 17, 18, 19, 20, 64, 127, 128, 129 };
#define NSIZES (sizeof sizes / sizeof sizes[0])

#define FOR_EACH_SET(vs) \
    for (mcamp_vecset vs = MCAMP_VEC_SCALAR; vs <= MCAMP_VEC_AVX512; \
         vs = (mcamp_vecset)(vs + 1)) \
        if (mcamp__vecset_available(vs))

static mcamp_rng test_rng(uint64_t block)
{
    mcamp_rng r;
    mcamp_rng_stream(&r, 1, MCAMP__STREAM_TEST, block);
    return r;
}

static double between(mcamp_rng *r, double lo, double hi)
{
    return lo + (hi - lo) * mcamp_rng_uniform(r);
}

/* |got - want| in units of the last place of a double near want */
static double ulps(double got, long double want)
{
    int e;
    frexp((double)want, &e);
    return (double)(fabsl((long double)got - want) / ldexpl(1, (e < -1021 ? -1021 : e) - 53));
}

/* ---- exp and log ---------------------------------------------------------- */

#define NX 100000
static double xs[NX], ys[NX];

static void exp_inputs(void)
{
    mcamp_rng r = test_rng(1);
    for (size_t i = 0; i < NX; i++) {
        if (i % 4 == 0) xs[i] = between(&r, -708, 709.78);
        else if (i % 4 == 1) xs[i] = between(&r, -40, 1);
        else if (i % 4 == 2) xs[i] = between(&r, -1, 1) * ldexp(1, -(int)(i % 60));
        /* just beside the odd multiples of ln(2)/2, where reduction switches */
        else xs[i] = ((double)(i % 1000) - 500 + 0.5) * log(2.0) *
                     (1 + ((double)(i % 7) - 3) * DBL_EPSILON);
    }
}

TEST(exp_is_within_2_ulp)
{
    exp_inputs();
    FOR_EACH_SET(vs) {
        double worst = 0;
        memcpy(ys, xs, sizeof xs);
        mcamp__vec_exp(vs, ys, NX);
        for (size_t i = 0; i < NX; i++)
            worst = fmax(worst, ulps(ys[i], expl((long double)xs[i])));
        CHECK_LE(worst, 2.0);
    }
}

TEST(exp_at_the_edges)
{
    const double inf = mcamp__inf(), nan = mcamp__nan();
    const double payload = mcamp__from_bits(UINT64_C(0xfff8123456789abc));
    const double in[] = { 0, -0.0, inf, -inf, nan, 709.78271289338397, 709.79, 1e308,
                          -708.0, -708.0000001, -745, -1e308, payload, 5e-324, -5e-324 };
    const double want[] = { 1, 1, inf, 0, nan, exp(709.78271289338397), inf, inf,
                            exp(-708.0), 0, 0, 0, nan, 1, 1 };
    FOR_EACH_SET(vs) {
        double x[15];
        memcpy(x, in, sizeof in);
        mcamp__vec_exp(vs, x, 15);
        for (int i = 0; i < 15; i++) {
            if (mcamp__isnan(want[i])) CHECK(mcamp__isnan(x[i]));
            else CHECK_NEAR(x[i], want[i], 4 * U, 0);
        }
        for (double far_out = 710; far_out < 1e308; far_out *= 1.3) {
            x[0] = far_out;
            x[1] = -far_out;
            mcamp__vec_exp(vs, x, 2);
            CHECK_NEAR(x[0], inf, 0, 0);
            CHECK_NEAR(x[1], 0, 0, 0);
        }
    }
}

TEST(maps_touch_exactly_n_elements_at_any_address)
{
    FOR_EACH_SET(vs) {
        for (size_t n = 0; n <= 40; n++) {
            double x[48];
            for (size_t i = 0; i < 48; i++) x[i] = 0.25 * (double)i;
            mcamp__vec_exp(vs, x + 3, n);
            for (size_t i = 0; i < 48; i++)
                CHECK_NEAR(x[i], i >= 3 && i < 3 + n ? exp(0.25 * (double)i)
                                                     : 0.25 * (double)i, 4 * U, 0);
        }
    }
}

/* ---- random numbers --------------------------------------------------------- */

/* The words of the lanes, made one by one: out[8 i + l] is output i of lane l. */
static void lane_words(mcamp__rng8 *r, uint64_t *out, size_t count)
{
    for (size_t l = 0; l < 8; l++) {
        uint64_t s[4] = { r->s[0][l], r->s[1][l], r->s[2][l], r->s[3][l] };
        for (size_t i = l; i < count; i += 8) out[i] = mcamp__rng_step(s);
        for (int i = 0; i < 4; i++) r->s[i][l] = s[i];
    }
}

/* The documented map from words to normals, in long double. */
static void reference_pair(uint64_t x, uint64_t y, long double *p, long double *q,
                           long double *radius)
{
    double xd = (double)x + 0.5;
    long double t = (long double)(y & UINT64_C(0xfffffffffffff)) / 4503599627370496.0L
                    - 0.5L;
    long double pi = 3.14159265358979323846264338327950288L, r;
    r = sqrtl(-2 * logl(ldexpl((long double)xd, -64)));
    *radius = r;
    *p = (y >> 63 ? -r : r) * cosl(pi * t);
    *q = r * sinl(pi * t);
}

#define NN 16000
TEST(normals_are_the_documented_map_in_every_set)
{
    static uint64_t words[NN];
    static double out[NN];
    FOR_EACH_SET(vs) {
        mcamp__rng8 r8, copy;
        double worst = 0;
        mcamp__rng8_stream(&r8, 3, MCAMP__STREAM_TEST, 11);
        copy = r8;
        lane_words(&copy, words, NN);
        mcamp__vec_normals(vs, &r8, out, 16);
        mcamp__vec_normals(vs, &r8, out + 16, NN - 16);
        CHECK(!memcmp(&r8, &copy, sizeof copy));
        for (size_t i = 0; i < NN; i += 16) {
            for (size_t l = 0; l < 8; l++) {
                long double p, q, r;
                reference_pair(words[i + l], words[i + 8 + l], &p, &q, &r);
                worst = fmax(worst, (double)(fabsl((long double)out[i + l] - p) / r));
                worst = fmax(worst, (double)(fabsl((long double)out[i + 8 + l] - q) / r));
            }
        }
        CHECK_LE(worst, 8 * U);
    }
}

/* A generator whose next words are x and y in every lane: out = s[0] + s[3]
 * rotated, plus s[0]; with s[0] = 0 the first word is rotl(s[3], 23), and the
 * second is then steered by s[1] and s[2].                                    */
static void rig(mcamp__rng8 *r, uint64_t x, uint64_t other)
{
    for (int l = 0; l < 8; l++) {
        r->s[0][l] = 0;
        r->s[1][l] = other;
        r->s[2][l] = 0;
        r->s[3][l] = (x >> 23) | (x << 41);
    }
}

TEST(normals_at_the_extreme_words)
{
    static const uint64_t xs_[] = { 0, 1, 2, UINT64_MAX, UINT64_MAX - 1,
                                    UINT64_C(1) << 63, UINT64_C(0xfffffffffffffc00) };
    FOR_EACH_SET(vs) {
        for (int i = 0; i < 7; i++) {
            mcamp__rng8 r, copy;
            uint64_t w[16];
            double out[16], want, got;
            rig(&r, xs_[i], 77);
            copy = r;
            lane_words(&copy, w, 16);
            CHECK(w[0] == xs_[i]);
            mcamp__vec_normals(vs, &r, out, 16);
            got = hypot(out[0], out[8]);
            want = (double)sqrtl(-2 * (logl((long double)xs_[i] + 0.5L) -
                                       64 * 0.693147180559945309417232121458L));
            CHECK(mcamp__finite(out[0]) && mcamp__finite(out[8]));
            CHECK_NEAR(got, want, 1e-15, 2e-8);     /* u near 1: grid of 2^-53 */
            if (xs_[i] < 3) CHECK_NEAR(got, want, 1e-15, 0);
        }
    }
}

/* Upper tail of the number of successes in n trials of probability p, as a
 * bound: Chernoff's.  Stated false-alarm rates are at most these.            */
static int plausible(double count, double n, double p)
{
    double q = count / n, kl;
    kl = (q > 0 ? q * log(q / p) : 0) + (1 - q) * log1p((p - q) / (1 - p));
    return exp(-n * kl) > 0.5e-9;
}

static double phi(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

#define NSTAT 4000000
TEST(normals_have_the_normal_law)
{
    static double z[4096];
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, cross = 0, cross2 = 0, chi = 0, n = 0;
    double bins[200] = { 0 }, tail[8] = { 0 };
    mcamp__rng8 r;
    mcamp__rng8_stream(&r, 2024, MCAMP__STREAM_TEST, 5);
    while (n < NSTAT) {
        mcamp__vec_normals(ctx.vec, &r, z, 4096);
        for (int i = 0; i < 4096; i++) {
            double x = z[i], y = z[i ^ 8], a = fabs(x);
            int k = (int)(200 * phi(x));
            m1 += x; m2 += x * x; m3 += x * x * x; m4 += x * x * x * x;
            if (!(i & 8)) { cross += x * y; cross2 += (x * x - 1) * (y * y - 1); }
            bins[k < 200 ? k : 199]++;
            for (int t = 1; t < 8; t++) tail[t] += a > t;
        }
        n += 4096;
    }
    /* 6.11 standard deviations: 1e-9 each */
    CHECK_LE(fabs(m1), 6.11 * sqrt(n));
    CHECK_LE(fabs(m2 - n), 6.11 * sqrt(2 * n));
    CHECK_LE(fabs(m3), 6.11 * sqrt(15 * n));
    CHECK_LE(fabs(m4 - 3 * n), 6.11 * sqrt(96 * n));
    CHECK_LE(fabs(cross), 6.11 * sqrt(n / 2));
    CHECK_LE(fabs(cross2), 6.11 * sqrt(4 * n / 2));
    for (int i = 0; i < 200; i++) chi += (bins[i] - n / 200) * (bins[i] - n / 200);
    CHECK_LE(chi / (n / 200), 342.9);       /* 199 d.f., 1e-9 */
    for (int t = 1; t < 8; t++) CHECK(plausible(tail[t], n, 2 * phi(-t)));
}

/* ---- triangular product ------------------------------------------------------ */

static double L[BMAX * BMAX], zt[BMAX * S], gt[BMAX * S + S], left[BMAX * S];

/* kinds: 0 dense, 1 diagonal, 2 band of 3, 3 periodic band of 3, 4 random zeros */
static void fill_lower(size_t b, int kind, mcamp_rng *r)
{
    for (size_t i = 0; i < b; i++) {
        for (size_t j = 0; j < b; j++) {
            int on = j <= i;
            if (kind == 1) on = i == j;
            if (kind == 2 || kind == 3) on = j <= i && i - j <= 3;
            if (kind == 3 && i + 3 >= b) on = j <= i;
            if (kind == 4) on = j <= i && mcamp_rng_next(r) % 5 == 0;
            L[i * b + j] = on ? between(r, -1, 1) : 0;
        }
    }
}

static double trmm_excess(size_t b)
{
    double worst = 0;
    for (size_t i = 0; i < b; i++) {
        for (size_t s = 0; s < S; s++) {
            long double sum = 0, mag = 0;
            for (size_t j = 0; j <= i; j++) {
                long double prod = (long double)L[i * b + j] *
                                   (long double)zt[j * S + s];
                sum += prod;
                mag += fabsl(prod);
            }
            worst = fmax(worst, (double)(fabsl(gt[i * S + s] - sum) /
                                         ((double)(i + 6) * U * mag + 1e-300L)));
        }
    }
    return worst;
}

/* Half of the columns: they are what they were, and of others nothing is touched but where L is
 * diagonal.                                                                             */
static void check_half(mcamp_vecset vs, const mcamp__tri *t, size_t b)
{
    for (size_t i = 0; i < b * S; i++) left[i] = 123.0;
    mcamp__vec_trmm(vs, t, zt, S / 2, left);
    for (size_t i = 0; i < b * S; i++) {
        int in = i % S < S / 2;
        if (in || !t->diagonal) CHECK_NEAR(left[i], in ? gt[i] : 123.0, 0, 0);
    }
}

TEST(triangular_product_of_every_shape)
{
    mcamp_rng r = test_rng(3);
    for (size_t i = 0; i < BMAX * S; i++) zt[i] = between(&r, -3, 3);
    for (size_t k = 0; k < NSIZES; k++) {
        for (int kind = 0; kind < 5; kind++) {
            size_t b = sizes[k];
            mcamp__tri t;
            fill_lower(b, kind, &r);
            CHECK_STATUS(mcamp__tri_pack(&ctx, L, b, b, &t), MCAMP_OK);
            if (kind == 1) CHECK(t.diagonal && t.buf.count == b);
            if (kind == 2) CHECK(t.buf.count <= 6 * 9 * t.groups);
            if (kind == 3) CHECK(t.buf.count <= 6 * (9 * t.groups + 2 * b));
            FOR_EACH_SET(vs) {
                for (size_t i = 0; i < (b + 1) * S; i++) gt[i] = 123.0;
                mcamp__vec_trmm(vs, &t, zt, S, gt);
                CHECK_LE(trmm_excess(b), 1.0);
                for (size_t s = 0; s < S; s++) CHECK_NEAR(gt[b * S + s], 123.0, 0, 0);
                check_half(vs, &t, b);
            }
            mcamp__tri_free(&ctx, &t);
            CHECK(!t.start && !t.buf.mem);
        }
    }
}

/* Rows that begin in any block of 1024 columns: what blocks add up to is the product. */
TEST(triangular_product_beyond_a_block)
{
    enum { B = 2 * 1024 + 37 };
    double *of = (double *)calloc((size_t)B * B, sizeof *of);
    double *x = (double *)malloc(B * S * sizeof *x), *y = (double *)malloc(B * S * sizeof *y);
    mcamp_rng r = test_rng(4);
    mcamp__tri t;
    CHECK(of && x && y);
    if (!of || !x || !y) return;
    for (size_t i = 0; i < (size_t)B * S; i++) x[i] = between(&r, -3, 3);
    for (size_t i = 0; i < B; i++)
        for (size_t j = i / 6 % 5 * (i / 5); j <= i; j++) of[i * B + j] = between(&r, -1, 1);
    CHECK_STATUS(mcamp__tri_pack(&ctx, of, B, B, &t), MCAMP_OK);
    t.scale = 0.5;
    FOR_EACH_SET(vs) {
        double worst = 0;
        mcamp__vec_trmm(vs, &t, x, S, y);
        for (size_t i = 0; i < B; i++) {
            size_t s = i * 7 % S;
            long double sum = 0, mag = 0;
            for (size_t j = 0; j <= i; j++) {
                long double prod = 0.5L * (long double)of[i * B + j] * (long double)x[j * S + s];
                sum += prod;
                mag += fabsl(prod);
            }
            worst = fmax(worst, (double)(fabsl(y[i * S + s] - sum) /
                                         ((double)(i + 7) * U * mag + 1e-300L)));
        }
        CHECK_LE(worst, 1.0);
    }
    mcamp__tri_free(&ctx, &t);
    free(of); free(x); free(y);
}

TEST(what_lies_above_the_diagonal_is_not_read)
{
    double a[4] = { 2, mcamp__nan(), 3, 4 };
    mcamp__tri t;
    for (size_t i = 0; i < 2 * S; i++) zt[i] = 1;
    CHECK_STATUS(mcamp__tri_pack(&ctx, a, 2, 2, &t), MCAMP_OK);
    mcamp__vec_trmm(MCAMP_VEC_SCALAR, &t, zt, S, gt);
    CHECK_NEAR(gt[0], 2.0, 0, 0);
    CHECK_NEAR(gt[S], 7.0, 0, 0);
    mcamp__tri_free(&ctx, &t);
}

/* An allocator that fails from its k-th call on, and counts what is live. */
static struct { int calls, fail_at; long live; } meter;

static void *meter_alloc(void *user, size_t size)
{
    (void)user;
    if (++meter.calls >= meter.fail_at) return NULL;
    meter.live += (long)size;
    return malloc(size);
}

static void meter_free(void *user, void *p, size_t size)
{
    (void)user;
    meter.live -= (long)size;
    free(p);
}

static void meter_init(mcamp_ctx *c, int fail_at)
{
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    d.alloc.alloc = meter_alloc;
    d.alloc.free = meter_free;
    mcamp_ctx_init(c, &d);
    meter.calls = 0; meter.live = 0; meter.fail_at = fail_at;
}

TEST(packing_survives_failing_allocations)
{
    mcamp_ctx c;
    mcamp__tri t;
    mcamp_rng r = test_rng(4);
    fill_lower(20, 0, &r);
    for (int k = 1; k <= 3; k++) {
        memset(&t, 0x5a, sizeof t);
        meter_init(&c, k);
        if (k < 3) {
            CHECK_STATUS(mcamp__tri_pack(&c, L, 20, 20, &t), MCAMP_E_MEMORY);
            CHECK(*(unsigned char *)&t == 0x5a);
        } else {
            CHECK_STATUS(mcamp__tri_pack(&c, L, 20, 20, &t), MCAMP_OK);
            mcamp__tri_free(&c, &t);
        }
        CHECK(meter.live == 0);
    }
    CHECK_STATUS(mcamp__tri_pack(&ctx, L, 0, 0, &t), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp__tri_pack(&ctx, L, SIZE_MAX / 2, 0, &t), MCAMP_E_SIZE);
}

/* ---- sums over the modes ------------------------------------------------------ */

static double off[BMAX], slope[BMAX], tt[S], out[S], dout[S];

/* Checks out[] and dout[] (if sloped) against long double, at the bound. */
static void check_lse(const double *x, size_t b, int sloped, const double *dgot)
{
    double worst = 0, dworst = 0;
    for (size_t s = 0; s < S; s++) {
        long double m = -HUGE_VALL, sum = 0, dsum = 0, y[BMAX];
        double big = 0, steep = 0, tol;
        for (size_t i = 0; i < b; i++) {
            long double st = sloped ? (long double)slope[i] * tt[s] : 0;
            y[i] = (long double)x[i * S + s] + off[i] + st;
            big = fmax(big, fabs(x[i * S + s]) + fabs(off[i]) + (double)fabsl(st));
            steep = fmax(steep, fabs(slope[i]));
            m = y[i] > m ? y[i] : m;
        }
        for (size_t i = 0; i < b; i++) {
            sum += expl(y[i] - m);
            dsum += slope[i] * expl(y[i] - m);
        }
        tol = (2 * (double)b + 10) * U + 3 * U * big;
        worst = fmax(worst, (double)fabsl(out[s] - (m + logl(sum))) /
                            (tol + U * fabs(out[s])));
        if (dgot) dworst = fmax(dworst, (double)fabsl(dgot[s] - dsum / sum) /
                                        (2 * tol * steep));
    }
    CHECK_LE(worst, 1.0);
    CHECK_LE(dworst, 1.0);
}

TEST(log_sum_exp_of_any_magnitude)
{
    static const double scale[] = { 1e-3, 1, 30, 700, 1e5, 1e300 };
    mcamp_rng r = test_rng(5);
    for (size_t k = 0; k < NSIZES; k++) {
        for (int m = 0; m < 6; m++) {
            size_t b = sizes[k];
            double c = scale[m];
            for (size_t i = 0; i < b * S; i++) zt[i] = between(&r, -c, c);
            for (size_t i = 0; i < b; i++) off[i] = between(&r, -c, c);
            for (size_t i = 0; i < b; i++) slope[i] = between(&r, -2, 2);
            for (size_t s = 0; s < S; s++) tt[s] = between(&r, -c, c);
            FOR_EACH_SET(vs) {
                mcamp__vec_lse(vs, zt, b, off, NULL, NULL, out, NULL);
                check_lse(zt, b, 0, NULL);
                mcamp__vec_lse(vs, zt, b, off, slope, tt, out, dout);
                check_lse(zt, b, 1, dout);
            }
        }
    }
}

TEST(log_sum_exp_of_things_that_are_not_finite)
{
    const double inf = mcamp__inf(), nan = mcamp__nan();
    FOR_EACH_SET(vs) {
        for (size_t i = 0; i < 3 * S; i++) zt[i] = 1;
        for (size_t i = 0; i < 3; i++) off[i] = slope[i] = 0;
        for (size_t i = 0; i < 3; i++) zt[i * S] = -inf;        /* all -inf */
        zt[S + 1] = inf;                                        /* one +inf */
        zt[S + 2] = inf; zt[2] = -inf;                          /* both     */
        zt[3] = nan;                                            /* NaN      */
        zt[S + 4] = nan; zt[4] = inf;                           /* NaN wins */
        zt[5] = -inf;                                           /* one -inf */
        zt[6] = -inf; zt[2 * S + 6] = nan;
        mcamp__vec_lse(vs, zt, 3, off, slope, NULL, out, dout);
        CHECK_NEAR(out[0], -inf, 0, 0);
        CHECK_NEAR(out[1], inf, 0, 0);
        CHECK_NEAR(out[2], inf, 0, 0);
        CHECK(mcamp__isnan(out[3]) && mcamp__isnan(out[4]) && mcamp__isnan(out[6]));
        CHECK_NEAR(out[5], 1 + log(2.0), 4 * U, 0);
        CHECK_NEAR(out[7], 1 + log(3.0), 4 * U, 0);
        CHECK(mcamp__isnan(dout[0]) && mcamp__isnan(dout[1]) && mcamp__isnan(dout[3]));
        CHECK_NEAR(dout[5], 0.0, 0, 0);
    }
}

/* Phi(v) for the reference: its own tail keeps all digits. */
static long double phil(long double v) { return 0.5L * erfcl(-v / sqrtl(2.0L)); }

/* Worst error of out[], as a multiple of what is stated. */
static double phi_sum_excess(const double *x, size_t b, const double *alpha)
{
    double worst = 0;
    for (size_t s = 0; s < S; s++) {
        long double top = -HUGE_VALL, sum = 0, l[BMAX], ref;
        for (size_t i = 0; i < b; i++) {
            double y = x[i * S + s] + off[i], v = alpha[i] - tt[s];
            l[i] = y + (v > -100 ? logl(phil(v)) : -HUGE_VALL);
            top = l[i] > top ? l[i] : top;
        }
        for (size_t i = 0; i < b; i++) {
            double y = x[i * S + s] + off[i], v = alpha[i] - tt[s];
            /* not through l: its logarithm has fewer digits than the product */
            sum += expl((long double)y - top) * (v > -100 ? phil(v) : 0);
        }
        ref = top + logl(sum);
        worst = fmax(worst, (double)fabsl(out[s] - ref) /
                            (1e-14 + 2 * (double)b * U + 2 * U * fabs(out[s])));
    }
    return worst;
}

TEST(sum_of_weighted_tails)
{
    static const double reach[] = { 1, 10, 40, 90 };
    mcamp_rng r = test_rng(13);
    for (size_t k = 0; k < NSIZES; k++) {
        for (int m = 0; m < 8; m++) {
            size_t b = sizes[k];
            double c = reach[m % 4], sx = m < 4 ? 5 : 600;
            for (size_t i = 0; i < b * S; i++) zt[i] = between(&r, -sx, sx);
            for (size_t i = 0; i < b; i++) off[i] = between(&r, -sx, sx);
            for (size_t i = 0; i < b; i++) slope[i] = between(&r, -c, m % 2 ? c : 0);
            for (size_t s = 0; s < S; s++) tt[s] = between(&r, 0, c / 10);
            FOR_EACH_SET(vs) {
                mcamp__vec_phi_sum(vs, zt, b, off, slope, tt, out);
                CHECK_LE(phi_sum_excess(zt, b, slope), 1.0);
            }
        }
    }
}

/* A slope of each sample's own: the same as one slope for all where they agree,
 * and as each sample alone where they do not.                                 */
TEST(slopes_of_each_sample)
{
    static double st[BMAX * S], alone[S], dalone[S], phi_alone[S], one[BMAX];
    mcamp_rng r = test_rng(15);
    size_t b = 37;
    for (size_t i = 0; i < b * S; i++) zt[i] = between(&r, -5, 5);
    for (size_t i = 0; i < b * S; i++) st[i] = between(&r, -3, 3);
    for (size_t i = 0; i < b; i++) off[i] = between(&r, -2, 2);
    for (size_t s = 0; s < S; s++) tt[s] = between(&r, -4, 4);
    FOR_EACH_SET(vs) {
        double worst = 0;
        for (size_t s = 0; s < S; s++) {
            for (size_t i = 0; i < b; i++) one[i] = st[i * S + s];
            mcamp__vec_lse(vs, zt, b, off, one, tt, out, dout);
            alone[s] = out[s]; dalone[s] = dout[s];
            mcamp__vec_phi_sum(vs, zt, b, off, one, tt, out);
            phi_alone[s] = out[s];
        }
        mcamp__vec_lse_tile(vs, zt, b, off, st, tt, out, dout);
        for (size_t s = 0; s < S; s++)
            worst = fmax(worst, fmax(fabs(out[s] - alone[s]), fabs(dout[s] - dalone[s])));
        mcamp__vec_phi_sum_tile(vs, zt, b, off, st, tt, out);
        for (size_t s = 0; s < S; s++) worst = fmax(worst, fabs(out[s] - phi_alone[s]));
        CHECK_LE(worst, 1e-13);
    }
}

/* x chosen so that every exponent is near 0: the cancellation of y with v^2/2
 * must cost nothing.                                                          */
TEST(tails_that_make_up_for_large_weights)
{
    mcamp_rng r = test_rng(14);
    for (size_t i = 0; i < 20; i++) slope[i] = -2.0 * (double)i - between(&r, 0, 1);
    for (size_t s = 0; s < S; s++) tt[s] = between(&r, 0, 1);
    for (size_t i = 0; i < 20; i++) {
        off[i] = 0.5 * slope[i] * slope[i];
        for (size_t s = 0; s < S; s++) zt[i * S + s] = between(&r, -1, 40);
    }
    FOR_EACH_SET(vs) {
        mcamp__vec_phi_sum(vs, zt, 20, off, slope, tt, out);
        CHECK_LE(phi_sum_excess(zt, 20, slope), 1.0);
    }
}

TEST(sum_of_tails_of_things_that_are_not_finite)
{
    const double inf = mcamp__inf(), nan = mcamp__nan();
    FOR_EACH_SET(vs) {
        for (size_t i = 0; i < 2 * S; i++) zt[i] = 0;
        for (size_t s = 0; s < S; s++) tt[s] = 0;
        off[0] = off[1] = slope[0] = 0; slope[1] = inf;
        zt[0] = zt[S] = -inf;
        zt[1] = inf;
        zt[2] = nan;
        tt[3] = nan;
        zt[4] = -inf;
        mcamp__vec_phi_sum(vs, zt, 2, off, slope, tt, out);
        CHECK_NEAR(out[0], -inf, 0, 0);
        CHECK_NEAR(out[1], inf, 0, 0);
        CHECK(mcamp__isnan(out[2]) && mcamp__isnan(out[3]));
        CHECK_NEAR(out[4], 0.0, 0, 1e-15);
        CHECK_NEAR(out[5], log(1.5), 1e-14, 0);
        slope[1] = -inf;
        mcamp__vec_phi_sum(vs, zt, 2, off, slope, tt, out);
        CHECK_NEAR(out[5], log(0.5), 1e-14, 0);
    }
}

/* ---- lines, outer products ---------------------------------------------------------- */

/* Where line i is the largest, by the definition: of equal ones the first counts. */
static void own_interval(const double *level, const double *steep, size_t b, size_t i,
                         double *lo, double *hi)
{
    *lo = -mcamp__inf();
    *hi = mcamp__inf();
    for (size_t j = 0; j < b; j++) {
        double d = steep[i] - steep[j], gap = level[j] - level[i];
        if (d > 0) *lo = fmax(*lo, gap / d);
        else if (d < 0) *hi = fmin(*hi, gap / d);
        else if (gap > 0 || (!(gap < 0) && j < i)) *lo = mcamp__inf();
    }
}

/* Small integers, so that lines meet in a point and coincide, and nothing is rounded. */
TEST(lines_are_largest_where_they_are)
{
    static double level[BMAX * S], steep[BMAX * S], own[3 * S], lo[S], hi[S];
    mcamp_rng r = test_rng(31);
    for (size_t b = 1; b <= 9; b += 2) {
        size_t empty = 0, ends = 0;
        for (size_t i = 0; i < b; i++) off[i] = floor(between(&r, 0, 4));
        for (size_t i = 0; i < b * S; i++) {
            steep[i] = floor(between(&r, 0, 3));
            zt[i] = floor(between(&r, 0, 4));
            level[i] = zt[i] - off[i / S];
        }
        for (size_t s = 0; s < S; s++) {
            size_t i = s % b;
            own[s] = (double)i;
            own[S + s] = steep[i * S + s];
            own[2 * S + s] = level[i * S + s];
        }
        FOR_EACH_SET(vs) {
            mcamp__vec_mode_interval(vs, zt, b, off, steep, own, lo, hi);
            for (size_t s = 0; s < S; s++) {
                double l[9], c[9], want_lo, want_hi;
                for (size_t i = 0; i < b; i++) l[i] = level[i * S + s], c[i] = steep[i * S + s];
                own_interval(l, c, b, s % b, &want_lo, &want_hi);
                CHECK_NEAR(lo[s], want_lo, 0, 0);
                CHECK_NEAR(hi[s], want_hi, 0, 0);
                empty += want_lo > DBL_MAX;
                ends += mcamp__finite(want_hi) != 0;
            }
        }
        CHECK(b < 3 || (empty > 0 && ends > 0));
    }
}

TEST(outer_products_have_every_row)
{
    static const size_t shapes[][4] = { { 32, 32, 32, 32 }, { 64, 64, 64, 64 }, { 160, 160, 0, 96 },
                                        { 160, 150, 5, 96 }, { 256, 131, 61, 128 } };
    static double p[7 * 256], d[256 * 256];
    mcamp_rng r = test_rng(32);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        size_t ld = shapes[k][0], rows = shapes[k][1], reach = shapes[k][2], ldd = shapes[k][3];
        for (size_t i = 0; i < 7 * ld; i++) p[i] = between(&r, -1, 1);
        FOR_EACH_SET(vs) {
            double worst = 0;
            for (size_t i = 0; i < 256 * 256; i++) d[i] = 0.5;
            mcamp__vec_outer(vs, p, ld, 7, rows, reach, d, ldd);
            for (size_t i = 0; i < rows; i++) {
                for (size_t j = i; j < ld && j <= i + reach; j++) {
                    long double sum = 0.5L;
                    for (const double *row = p; row < p + 7 * ld; row += ld)
                        sum += (long double)row[i] * row[j];
                    worst = fmax(worst, (double)fabsl(d[i * ldd + j - i / 32 * 32] - sum));
                }
            }
            CHECK_LE(worst, 16 * U);
            CHECK_NEAR(d[(rows + 3) / 4 * 4 * ldd], 0.5, 0, 0);     /* nothing beyond */
        }
    }
}

TEST(column_sums_and_rank_one_updates)
{
    mcamp_rng r = test_rng(6);
    for (size_t k = 0; k < NSIZES; k++) {
        size_t b = sizes[k];
        for (size_t i = 0; i < b * S; i++) zt[i] = between(&r, -1, 1);
        for (size_t i = 0; i < b; i++) off[i] = between(&r, -2, 2);
        for (size_t s = 0; s < S; s++) tt[s] = between(&r, -3, 3);
        FOR_EACH_SET(vs) {
            double worst = 0;
            mcamp__vec_colsum(vs, zt, b, off, out);
            mcamp__vec_colsum(vs, zt, b, NULL, dout);
            memcpy(gt, zt, b * S * sizeof(double));
            mcamp__vec_rank1(vs, gt, b, off, tt);
            for (size_t s = 0; s < S; s++) {
                long double w = 0, p = 0, wm = 0, pm = 0;
                for (size_t i = 0; i < b; i++) {
                    long double x = zt[i * S + s], c = (long double)off[i] * tt[s];
                    w += off[i] * x; wm += fabsl(off[i] * x);
                    p += x; pm += fabsl(x);
                    worst = fmax(worst, (double)(fabsl(gt[i * S + s] - (x - c)) /
                                                 (2 * U * (fabsl(x) + fabsl(c)))));
                }
                worst = fmax(worst, (double)(fabsl(out[s] - w) / (((double)b + 1) * U * wm)));
                worst = fmax(worst, (double)(fabsl(dout[s] - p) / (((double)b + 1) * U * pm)));
            }
            CHECK_LE(worst, 1.0);
        }
    }
}

TEST(buffers_are_aligned_and_freed)
{
    mcamp_ctx c;
    mcamp__buf buf;
    meter_init(&c, 100);
    for (size_t n = 0; n < 20; n++) {
        CHECK_STATUS(mcamp__buf_new(&c, n, &buf), MCAMP_OK);
        CHECK(((uintptr_t)buf.p & 63) == 0);
        for (size_t i = 0; i < n; i++) CHECK(mcamp__eq(buf.p[i], 0));
        mcamp__buf_free(&c, &buf);
        CHECK(meter.live == 0);
    }
    CHECK_STATUS(mcamp__buf_new(&c, SIZE_MAX - 3, &buf), MCAMP_E_MEMORY);
    CHECK_STATUS(mcamp__buf_new(&c, SIZE_MAX / 8, &buf), MCAMP_E_MEMORY);
}

/* ---- shifts and tuples --------------------------------------------------------- */

TEST(shifts_are_added_transposed)
{
    static double shift[S * BMAX];
    mcamp_rng r = test_rng(7);
    for (size_t i = 0; i < S * BMAX; i++) shift[i] = between(&r, -1, 1);
    for (size_t i = 0; i < BMAX * S; i++) zt[i] = between(&r, -1, 1);
    for (size_t k = 0; k < NSIZES; k++) {
        size_t b = sizes[k], bad = 0;
        FOR_EACH_SET(vs) {
            memcpy(gt, zt, sizeof zt);
            mcamp__vec_add_shifts(vs, gt, b, shift);
            for (size_t i = 0; i < BMAX; i++)
                for (size_t q = 0; q < S; q++) {
                    double want = zt[i * S + q] + (i < b ? shift[q * b + i] : 0);
                    bad += !mcamp__eq(gt[i * S + q], want);
                }
        }
        CHECK(!bad);
    }
}

/* How many of n entries of to are not those of from less 0.7 times the drawn rows of a, where
 * what is NaN counts for 0.                                                          */
static size_t rows_wrong(size_t n, const double *from, const double *to, const double *a,
                         size_t lda, size_t b, const uint32_t *j, size_t k)
{
    size_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        double want = from[i];
        for (size_t l = 0; i / S < b && l < k; l++) {
            double v = a[j[i % S * k + l] * lda + i / S];
            want -= mcamp__isnan(v) ? 0 : 0.7 * v;
        }
        bad += !(fabs(to[i] - want) <= 16 * U * 5);
    }
    return bad;
}

/* Rows of a that were drawn, added to each sample: whole ones, and of few bands with corners
 * only what is not 0 (the rest is poison here).                                    */
TEST(drawn_rows_are_added)
{
    static const size_t widths[4] = { 0, 1, 3, BMAX };
    static double a[BMAX * (BMAX + 2)];
    static uint32_t j[S * 5];
    size_t sparse = 0;
    mcamp_rng r = test_rng(10);
    for (size_t i = 0; i < BMAX * S; i++) zt[i] = between(&r, -1, 1);
    for (size_t n = 0; n < NSIZES * 4; n++) {
        size_t b = sizes[n / 4], w = widths[n % 4], k = 1 + 2 * (n % 3), lda = b + n % 3, bad = 0;
        int few = 16 * (2 * w + 1) < b;
        sparse += (size_t)few;
        for (size_t i = 0; i < b * lda; i++) a[i] = few || i % lda >= b ? mcamp__nan() : 0;
        for (size_t i = 0; i < b; i++)
            for (size_t d = 0; d <= 2 * w && d < b; d++)
                a[i * lda + (i + b - w % b + d) % b] = between(&r, -1, 1);
        for (size_t i = 0; i < S * k; i++) j[i] = (uint32_t)(between(&r, 0, 0.999) * (double)b);
        FOR_EACH_SET(vs) {
            memcpy(gt, zt, sizeof zt);
            mcamp__vec_add_rows(vs, a, lda, b, w, -0.7, j, k, gt);
            bad += rows_wrong(BMAX * S, zt, gt, a, lda, b, j, k);
        }
        CHECK(!bad);
    }
    CHECK(sparse > 2);
}

/* The same of bands that go round, over panels: of what is not in the band a step of vectors
 * beside it may be read, where 0 is added; the rest is poison.                       */
TEST(drawn_rows_with_bands_are_added)
{
    enum { B = 600, STEP = 16 };
    static const size_t of[][2] = { { 600, 149 }, { 600, 20 }, { 523, 130 }, { 523, 60 },
                                    { 255, 63 }, { 256, 31 }, { 259, 8 }, { 272, 67 } };
    static double a[B * (B + 8)], from[B * S], to[B * S];
    static uint32_t j[S * 5];
    mcamp_rng r = test_rng(13);
    for (size_t i = 0; i < B * S; i++) from[i] = between(&r, -1, 1);
    for (size_t n = 0; n < sizeof of / sizeof of[0]; n++) {
        size_t b = of[n][0], w = of[n][1], k = 1 + 2 * (n % 3), lda = b + 8 * (n % 2), bad = 0;
        CHECK(4 * w < b && 16 * (2 * w + 1) >= b);
        for (size_t i = 0; i < b; i++)
            for (size_t c = 0; c < b; c++) {
                size_t d = i < c ? c - i : i - c, away = d < b - d ? d : b - d;
                a[i * lda + c] = away <= w ? between(&r, -1, 1)
                                 : away < w + STEP ? 0 : mcamp__nan();
            }
        for (size_t i = 0; i < S * k; i++) j[i] = (uint32_t)(between(&r, 0, 0.999) * (double)b);
        j[0] = 0;
        j[k] = (uint32_t)b - 1;
        j[2 * k] = (uint32_t)w;
        FOR_EACH_SET(vs) {
            memcpy(to, from, sizeof to);
            mcamp__vec_add_rows(vs, a, lda, b, w, -0.7, j, k, to);
            bad += rows_wrong(B * S, from, to, a, lda, b, j, k);
        }
        CHECK(!bad);
    }
}

/* a = c^|i-j| plus a diagonal, symmetric; base uneven unless `even`. */
static void tuple_problem(size_t b, double c, double scale, int even, double *base,
                          double *a)
{
    double sum = 0;
    for (size_t i = 0; i < b; i++) sum += base[i] = even ? 1 : 1 + (double)(i % 5);
    for (size_t i = 0; i < b; i++) base[i] /= sum;
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++)
            a[i * b + j] = scale * (c > 0 ? pow(c, fabs((double)i - (double)j))
                                          : (double)(i == j)) *
                           (i == j ? 1 + 0.1 * (double)i : 1);
}

/* Probability of the tuple, and the weight prod z, straight from the definition. */
static double tuple_law(size_t b, size_t k, const double *base, const double *a,
                        const uint32_t *j, double *log_weight)
{
    double prob = 1;
    *log_weight = 0;
    for (size_t l = 0; l < k; l++) {
        long double z = 0, top = -HUGE_VALL, mine = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < b; i++) {
                long double e = 0;
                for (size_t m = 0; m < l; m++) e += a[i * b + j[m]];
                if (!pass) { if (e > top) top = e; continue; }
                z += base[i] * expl(e - top);
                if (i == j[l]) mine = base[i] * expl(e - top);
            }
        prob *= (double)(mine / z);
        *log_weight += (double)(logl(z) + top);
    }
    return prob;
}

static mcamp_status tuple_of(mcamp_ctx *of, size_t b, size_t k, const double *base,
                             const double *a, mcamp__tuple *t)
{
    mcamp_status st = mcamp__tuple_alloc(of, b, b, 0, NULL, t);
    if (st < 0) return st;
    for (size_t i = 0; i < b * b; i++) {
        size_t at = i / b * t->stride + i % b;
        t->ea[at] = exp(a[i]);
    }
    st = mcamp__tuple_init(of, base, k, mcamp__tuple_range(a, b * b), t);
    if (st < 0) mcamp__tuple_free(of, t);
    return st;
}

/* b = 3, k = 3: the 27 tuples against enumeration, chi-squared with 26 degrees
 * of freedom at 1e-9; and the mean weight against its own, 6.11 sigma.        */
static void check_law(double c, double scale)
{
    double base[3], a[9], p[27], w[27], hits[27] = { 0 }, work[2048];
    double chi = 0, total = 0, mean = 0, second = 0, got = 0, n = 0, off_by = 0;
    static uint32_t j[S * 3];
    static double lz[S];
    mcamp__tuple t;
    mcamp_rng r = test_rng(8);
    tuple_problem(3, c, scale, 0, base, a);
    for (uint32_t q = 0; q < 27; q++) {
        uint32_t x[3] = { q / 9, q / 3 % 3, q % 3 };
        double lw, e = 0;
        p[q] = tuple_law(3, 3, base, a, x, &lw);
        w[q] = exp(lw);
        e = a[3 * x[0] + x[1]] + a[3 * x[0] + x[2]] + a[3 * x[1] + x[2]];
        CHECK_NEAR(p[q] * w[q], base[x[0]] * base[x[1]] * base[x[2]] * exp(e), 1e-13, 0);
        total += p[q]; mean += p[q] * w[q]; second += p[q] * w[q] * w[q];
    }
    CHECK_NEAR(total, 1.0, 1e-14, 0);
    CHECK_STATUS(tuple_of(&ctx, 3, 3, base, a, &t), MCAMP_OK);
    CHECK(mcamp__tuple_work(&t) <= 2048);
    for (int tile = 0; tile < 4000; tile++) {
        mcamp__vec_draw_tuples(ctx.vec, &t, &r, work, j, lz);
        for (size_t s = 0; s < S; s++) {
            const uint32_t *x = j + 3 * s;
            size_t q = 9 * x[0] + 3 * x[1] + x[2];
            hits[q]++; n++;
            off_by = fmax(off_by, fabs(exp(lz[s]) / w[q] - 1));
            got += exp(lz[s]);
        }
    }
    for (int q = 0; q < 27; q++)
        chi += (hits[q] - n * p[q]) * (hits[q] - n * p[q]) / (n * p[q]);
    CHECK_LE(off_by, 1e-13);
    CHECK_LE(chi, 94.6);
    CHECK_LE(fabs(got / n - mean), 6.11 * sqrt((second - mean * mean) / n));
    mcamp__tuple_free(&ctx, &t);
}

TEST(tuples_follow_their_law)
{
    check_law(0.5, 0.4);
    check_law(0, 0.7);
}

/* Weights of every range: log_z and shift of what was drawn, indices the same in every
 * set.                                                                          */
static void check_tuples(size_t b, size_t k, double c, double scale)
{
    static double base[BMAX], a[BMAX * BMAX], lz[S];
    static uint32_t j[S * 40], first[S * 40];
    mcamp__tuple t;
    mcamp__buf work;
    tuple_problem(b, c, scale, b % 2 == 0, base, a);
    CHECK_STATUS(tuple_of(&ctx, b, k, base, a, &t), MCAMP_OK);
    mcamp__buf_new(&ctx, mcamp__tuple_work(&t), &work);
    FOR_EACH_SET(vs) {
        mcamp_rng r = test_rng(9);
        double worst = 0, sworst = 0;
        mcamp__vec_draw_tuples(vs, &t, &r, work.p, j, lz);
        if (vs == MCAMP_VEC_SCALAR) memcpy(first, j, sizeof j);
        CHECK(!memcmp(first, j, S * k * sizeof j[0]));
        for (size_t i = 0; i < BMAX * S; i++) gt[i] = 0;
        mcamp__vec_add_rows(vs, a, b, b, b, 1, j, k, gt);
        for (size_t s = 0; s < S; s++) {
            double want;
            for (size_t l = 0; l < k; l++) CHECK(j[s * k + l] < b);
            (void)tuple_law(b, k, base, a, j + s * k, &want);
            worst = fmax(worst, fabs(lz[s] - want) /
                                ((double)(k * (b + 20)) * U + 4 * U * fabs(want)));
            for (size_t i = 0; i < b; i++) {
                double sum = 0, mag = 0;
                for (size_t l = 0; l < k; l++) {
                    sum += a[i * b + j[s * k + l]];
                    mag += fabs(a[i * b + j[s * k + l]]);
                }
                sworst = fmax(sworst, fabs(gt[i * S + s] - sum) /
                                      (2 * (double)k * U * mag + 1e-300));
            }
        }
        CHECK_LE(worst, 1.0);
        CHECK_LE(sworst, 1.0);
        for (size_t i = b * S; i < BMAX * S; i++) CHECK_NEAR(gt[i], 0, 0, 0);
    }
    mcamp__buf_free(&ctx, &work);
    mcamp__tuple_free(&ctx, &t);
}

TEST(tuples_of_every_size_and_range)
{
    for (size_t q = 0; q < NSIZES; q++) {
        check_tuples(sizes[q], 5, 0.8, 0.3);
        check_tuples(sizes[q], 1, 0.8, 0.3);
        check_tuples(sizes[q], 5, 0, 1.2);
        check_tuples(sizes[q], 3, 0.8, 300 / (1 + 0.1 * (double)sizes[q]));
    }
    check_tuples(64, 40, 0.9, 0.2);
    check_tuples(64, 40, 0, 0.2);
}

/* Rows by kinds, which share what is outside of a band, draw what whole ones draw. */
TEST(tuples_by_kinds_of_rows)
{
    enum { B = 45, K = 6, R = 2 };
    static double base[B], a[B * B], lz[2][S], row[B];
    static uint32_t j[2][S * K];
    mcamp__tuple t[2];
    mcamp__buf work;
    for (size_t i = 0; i < B; i++) base[i] = (1 + (double)(i % 4)) / 111;
    for (size_t i = 0; i < B * B; i++) {
        size_t x = i / B, y = i % B, d = x < y ? y - x : x - y;
        a[i] = d <= R || B - d <= R ? 0.1 * (double)(1 + x * y % 7)
                                    : -0.02 * (double)((1 + x % 3) * (1 + y % 3));
    }
    CHECK_STATUS(tuple_of(&ctx, B, K, base, a, &t[0]), MCAMP_OK);
    CHECK_STATUS(mcamp__tuple_alloc(&ctx, B, 3, R, NULL, &t[1]), MCAMP_OK);
    for (size_t x = 0; x < B; x++) {
        size_t n = 0;
        t[1].kind[x] = (double)(x % 3);
        for (size_t y = 0; y < B; y++) {
            t[1].ea[x % 3 * t[1].stride + y] = exp(-0.02 * (double)((1 + x % 3) * (1 + y % 3)));
            if (mcamp__band_next(B, R, x, y) == y)
                t[1].band[x * t[1].span + n++] = exp(a[x * B + y]);
        }
        CHECK(n == t[1].span);
        CHECK(!memcmp(mcamp__tuple_row(&t[1], x, row), t[0].ea + x * t[0].stride, sizeof row));
        CHECK(mcamp__tuple_row(&t[0], x, row) == t[0].ea + x * t[0].stride);
    }
    CHECK_STATUS(mcamp__tuple_init(&ctx, base, K, 0.7, &t[1]), MCAMP_OK);
    FOR_EACH_SET(vs) {
        for (int q = 0; q < 2; q++) {
            mcamp_rng r = test_rng(11);
            CHECK_STATUS(mcamp__buf_new(&ctx, mcamp__tuple_work(&t[q]), &work), MCAMP_OK);
            mcamp__vec_draw_tuples(vs, &t[q], &r, work.p, j[q], lz[q]);
            mcamp__buf_free(&ctx, &work);
        }
        CHECK(!memcmp(j[0], j[1], sizeof j[0]) && !memcmp(lz[0], lz[1], sizeof lz[0]));
    }
    for (int q = 0; q < 2; q++) mcamp__tuple_free(&ctx, &t[q]);
}

TEST(tuples_refuse_what_cannot_be_drawn)
{
    mcamp_ctx c;
    mcamp__tuple t;
    double base[2] = { 0.5, 0.5 }, a[4] = { 1, 0, 0, 1 };
    meter_init(&c, 1);
    CHECK_STATUS(tuple_of(&c, 2, 2, base, a, &t), MCAMP_E_MEMORY);
    CHECK(meter.live == 0);
    CHECK_STATUS(tuple_of(&ctx, 0, 2, base, a, &t), MCAMP_E_SIZE);
    CHECK_STATUS(tuple_of(&ctx, 2, 0, base, a, &t), MCAMP_E_SIZE);
    CHECK_STATUS(tuple_of(&ctx, 2, (size_t)UINT32_MAX / 2 + 1, base, a, &t),
                 MCAMP_E_SIZE);
    a[1] = mcamp__nan();
    CHECK_STATUS(tuple_of(&ctx, 2, 2, base, a, &t), MCAMP_E_NONFINITE);
    a[1] = 0; a[3] = 360;
    CHECK_STATUS(tuple_of(&ctx, 2, 3, base, a, &t), MCAMP_E_NONFINITE);
}

/* A weight of zero is never drawn, in any position. */
TEST(impossible_indices_are_never_drawn)
{
    static double base[40], a[40 * 40];
    static uint32_t j[S * 4];
    static double lz[S], work[4096];
    mcamp__tuple t;
    for (size_t i = 0; i < 40; i++) base[i] = i % 3 == 1 ? 1.0 / 13 : 0;
    for (size_t i = 0; i < 1600; i++) a[i] = 0.01;
    mcamp_rng r = test_rng(10);
    CHECK_STATUS(tuple_of(&ctx, 40, 4, base, a, &t), MCAMP_OK);
    CHECK(mcamp__tuple_work(&t) <= 4096);
    for (int tile = 0; tile < 200; tile++) {
        mcamp__vec_draw_tuples(ctx.vec, &t, &r, work, j, lz);
        for (size_t i = 0; i < S * 4; i++) if (j[i] % 3 != 1) CHECK(j[i] % 3 == 1);
    }
    mcamp__tuple_free(&ctx, &t);
}

TEST(a_context_exists) { CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK); }

/* Any shape, any sign; columns that are not asked for stay as they are. */
TEST(products_of_rows)
{
    enum { LD = 700, ROWS = 14, LDO = 80 };
    static const size_t lens[] = { 1, 5, 64, 257, 600 }, cols[] = { 1, 63, 64 };
    double *a = (double *)malloc(ROWS * LD * sizeof *a), *b = (double *)malloc(64 * LD * sizeof *b);
    double *z = (double *)malloc(64 * LD * sizeof *z), prod[ROWS * LDO];
    mcamp_rng r = test_rng(20);
    for (size_t i = 0; i < ROWS * LD; i++) a[i] = mcamp_rng_uniform(&r) - 0.5;
    for (size_t i = 0; i < 64 * LD; i++) b[i] = mcamp_rng_uniform(&r) - 0.5;
    FOR_EACH_SET(vs)
        for (size_t l = 0; l < 5; l++)
            for (size_t c = 0; c < 3; c++) {
                size_t rows = 1 + (5 * l + c) % ROWS, len = lens[l];
                double alpha = c == 1 ? -1 : 0.5;
                for (size_t i = 0; i < ROWS * LDO; i++) prod[i] = 3;
                mcamp__nt_pack(b, LD, cols[c], len, z);
                mcamp__vec_nt(vs, a, LD, rows, z, len, alpha, prod, LDO, cols[c]);
                for (size_t i = 0; i < ROWS; i++)
                    for (size_t j = 0; j < LDO; j++) {
                        double s = 0;
                        for (size_t k = 0; k < len && i < rows && j < cols[c]; k++)
                            s += a[i * LD + k] * b[j * LD + k];
                        CHECK_NEAR(prod[i * LDO + j], 3 + alpha * s, 0, 1e-13);
                    }
            }
    free(a); free(b); free(z);
}

TEST(rows_divided_by_a_triangle)
{
    enum { W = 37, ROWS = 31, LD = 50 };
    double u[64 * 64] = { 0 }, e[ROWS * LD], x[ROWS * LD];
    mcamp_rng r = test_rng(21);
    for (size_t k = 0; k < W; k++)
        for (size_t c = k; c < W; c++)
            u[k * 64 + c] = c == k ? 1 / (2 + mcamp_rng_uniform(&r)) : mcamp_rng_uniform(&r) - 0.5;
    FOR_EACH_SET(vs) {
        for (size_t i = 0; i < ROWS * LD; i++) x[i] = e[i] = mcamp_rng_uniform(&r);
        mcamp__vec_trsm(vs, u, W, e, LD, ROWS);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t c = 0; c < LD; c++) {
                double s = c < W ? 0 : e[i * LD + c];
                for (size_t k = 0; c < W && k <= c; k++)
                    s += e[i * LD + k] * (k == c ? 1 / u[k * 64 + k] : u[k * 64 + c]);
                CHECK_NEAR(s, x[i * LD + c], 0, 1e-13);
            }
    }
}

/* By L and by its transpose, entry by entry; what is above the diagonal, or before the row's
 * first, is not read.                                                                  */
TEST(triangular_systems_of_every_shape)
{
    static double x[BMAX * S + S];
    size_t from[BMAX];
    mcamp__tri t;
    for (size_t n = 0; n < NSIZES; n++)
        for (int kind = 0; kind < 5; kind++) {
            size_t b = sizes[n];
            mcamp_rng r = test_rng(200 + 8 * n + (uint64_t)kind);
            fill_lower(b, kind, &r);
            for (size_t i = 0; i < b; i++) {
                from[i] = 0;
                while (from[i] < i && !(fabs(L[i * b + from[i]]) > 0)) from[i]++;
                for (size_t j = 0; j < b; j++) {
                    if (j > i) L[i * b + j] = mcamp__nan();
                    else if (j < i) L[i * b + j] *= 1.5 / (1 + sqrt((double)b));
                }
                L[i * b + i] = between(&r, 0.8, 1.5);
            }
            for (size_t i = 0; i < b * S; i++) zt[i] = between(&r, -3, 3);
            CHECK_STATUS(mcamp__tri_pack(&ctx, L, b, b, &t), MCAMP_OK);
            for (int up = 0; up < 2; up++) {
                for (size_t s = 0; s < S; s++)
                    for (size_t k = 0; k < b; k++) {
                        size_t i = up ? b - 1 - k : k;
                        long double sum = zt[i * S + s];
                        for (size_t j = 0; j < b; j++)
                            if (up ? j > i && from[j] <= i : j < i && from[i] <= j)
                                sum -= (long double)(up ? L[j * b + i] : L[i * b + j]) *
                                       gt[j * S + s];
                        gt[i * S + s] = (double)(sum / L[i * b + i]);
                    }
                FOR_EACH_SET(vs) {
                    memcpy(x, zt, b * S * sizeof *x);
                    for (size_t s = 0; s < S; s++) x[b * S + s] = 123;
                    mcamp__vec_solve(vs, &t, up, x);
                    for (size_t i = 0; i < b * S; i++)
                        CHECK_NEAR(x[i], gt[i], 1e-12, 1e-12);
                    for (size_t s = 0; s < S; s++) CHECK_NEAR(x[b * S + s], 123, 0, 0);
                }
            }
            mcamp__tri_free(&ctx, &t);
        }
}

TEST(weights_attract_in_every_length)
{
    enum { N = 45 };
    mcamp_rng r = test_rng(23);
    FOR_EACH_SET(vs) {
        for (size_t n = 0; n <= N - 4; n++) {
            double f[N], g[N], base[N], e[N], to[N], e0[N], to0[N], over = between(&r, 0.1, 2), got;
            double gain[N];
            long double want = 0, size = 0;
            for (size_t i = 0; i < N; i++) {
                f[i] = between(&r, 0.5, 3);
                g[i] = between(&r, -2, 2);
                base[i] = between(&r, 0, 1);
                e[i] = e0[i] = between(&r, 0.5, 2);
                to[i] = to0[i] = between(&r, -1, 1);
                gain[i] = 7;
            }
            got = mcamp__vec_attract(vs, f + 1, g + 2, over, base + 3, n, e + 1, to + 2, gain + 2);
            for (size_t i = 0; i < n; i++) {
                long double more = (long double)base[3 + i] * e0[1 + i] * (f[1 + i] - 1.0L);
                want += more;
                size += fabsl(more) + base[3 + i] * e0[1 + i];
                CHECK_NEAR(gain[2 + i], (double)more, 0, 4 * U * base[3 + i] * e0[1 + i] *
                                                             (1 + f[1 + i]));
            }
            CHECK_NEAR(got, (double)want, 0, (double)(n + 4) * U * (double)size);
            CHECK_NEAR(gain[1], 7, 0, 0);
            CHECK_NEAR(gain[2 + n], 7, 0, 0);
            for (size_t i = 0; i < N; i++) {
                int in_e = i >= 1 && i < 1 + n, in_to = i >= 2 && i < 2 + n;
                CHECK_NEAR(e[i], in_e ? e0[i] * f[i] : e0[i], 2 * U, 0);
                CHECK_NEAR(to[i], in_to ? to0[i] + over * g[i] : to0[i], 0, in_to ? 12 * U : 0);
            }
        }
    }
}

/* Sums over windows that go round, across more than one stretch of rows, and of all rows. */
TEST(windows_go_round)
{
    static const size_t shape[][2] = { { 1, 1 }, { 5, 2 }, { 16, 16 }, { 17, 1 }, { 33, 7 },
                                       { 40, 29 }, { 45, 45 }, { 45, 44 } };
    enum { N = 45 };
    mcamp_rng r = test_rng(25);
    static double x[N * S], terms[N * S];
    FOR_EACH_SET(vs) {
        for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
            size_t b = shape[i][0], h = shape[i][1], count = h < b ? b : 1;
            double k[N], shift[N], sum[S];
            for (size_t j = 0; j < b * S; j++) x[j] = between(&r, -1, 1);
            for (size_t j = 0; j < b; j++) {
                k[j] = between(&r, 0, 2);
                shift[j] = between(&r, -3, 1);
            }
            mcamp__vec_windows(vs, x, b, h, k, shift, terms, sum);
            for (size_t s = 0; s < S; s++) {
                long double all = 0;
                for (size_t c = 0; c < count; c++) {
                    long double z = 0, y;
                    for (size_t j = c; j < c + h; j++) z += x[j % b * S + s];
                    y = expl(k[c] * z + shift[c]);
                    all += y;
                    CHECK_NEAR(terms[c * S + s], (double)y, 1e-13, 0);
                }
                CHECK_NEAR(sum[s], (double)all, 1e-13, 0);
            }
        }
    }
}

/* e^(k (hi - lo)) - 1 in every length, of sums that lie beside each other in one row. */
TEST(moves_in_every_length)
{
    enum { N = 45, H = 5 };
    mcamp_rng r = test_rng(24);
    FOR_EACH_SET(vs) {
        for (size_t n = 0; n + H + 1 <= N; n++) {
            double sums[N], k[N], f[N];
            for (size_t i = 0; i < N; i++) {
                sums[i] = between(&r, -3, 3);
                k[i] = between(&r, 0, 4);
                f[i] = 7;
            }
            mcamp__vec_moves(vs, sums + H, sums, k + 1, n, f + 1);
            for (size_t i = 0; i < n; i++) {
                long double y = expl((long double)k[1 + i] * ((long double)sums[H + i] - sums[i]));
                CHECK_NEAR(f[1 + i], (double)(y - 1), 0, 100 * U * (double)(y + 1));
            }
            CHECK_NEAR(f[0], 7, 0, 0);
            CHECK_NEAR(f[1 + n], 7, 0, 0);
        }
    }
}

/* ---- what is left behind in the registers ----------------------------------- */

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define UPPER(i) __asm__ volatile("vextractf128 $1, %%ymm" #i ", %0" : "=m"(upper[i]))
typedef struct half { unsigned char byte[16]; } half;

/* The upper halves of the vector registers as the last call left them. */
__attribute__((noinline, target("avx"))) static void upper_halves(half upper[16])
{
    UPPER(0); UPPER(1); UPPER(2); UPPER(3); UPPER(4); UPPER(5); UPPER(6); UPPER(7);
    UPPER(8); UPPER(9); UPPER(10); UPPER(11); UPPER(12); UPPER(13); UPPER(14); UPPER(15);
}

/* Sums of w (e^{ikt} - 1) and of rotations z e^{ikt}, two blocks of them: a term is within 2 eps of
 * the largest modulus that it may have for each step, a block's counted once, and its start; sums
 * are of a strip in four lanes at least.  So the first ones are known far below 1 as well.  */
TEST(rotations_are_summed)
{
    enum { MOST = 544 };
    static double l[MOST], mem[7 * MOST], zx[MOST], zy[MOST], re[2][64], im[2][64];
    static const size_t of[] = { 1, 31, 32, 33, 255, 256, 300, MOST };
    mcamp_rng r = test_rng(15);
    for (size_t n = 0; n < 3 * sizeof of / sizeof of[0]; n++) {
        size_t m = of[n / 3];
        int whole = n % 3 == 2;
        double step = n % 3 == 1 ? 1e-7 : 1;
        FOR_EACH_SET(vs) {
            mcamp__turns t = mcamp__turns_at(mem, m);
            double worst = 0;
            CHECK(t.m % 32 == 0 && t.m >= m && t.m < m + 32);
            for (size_t j = 0; j < m; j++) {
                l[j] = between(&r, -3.1, 3.1);
                if (j % 5 == 0) l[j] *= 1e-3;
                t.w[j] = whole ? 0 : between(&r, 0, 1);
            }
            mcamp__turns_step(&t, l, m, step);
            mcamp__turns_start(&t, l, m, 0);
            for (size_t j = 0; whole && j < m; j++) {
                t.x[j] = between(&r, -1, 1);
                t.y[j] = between(&r, -1, 1);
            }
            memcpy(zx, t.x, m * sizeof *zx);
            memcpy(zy, t.y, m * sizeof *zy);
            for (int part = 0; part < 2; part++) {
                long double x[64], y[64], size[64];
                for (int k = 0; k < 64; k++) x[k] = y[k] = size[k] = 0;
                for (size_t j = 0; j < m; j++)
                    for (int k = 0; k < 64; k++) {
                        long double a = (long double)step * l[j] * (k + 64 * part), s = sinl(a / 2);
                        long double c = -2 * s * s, d = 2 * s * cosl(a / 2), w = t.w[j];
                        long double zr = zx[j], zi = zy[j], z = sqrtl(zr * zr + zi * zi);
                        x[k] += zr + (zr + w) * c - zi * d;
                        y[k] += zi + (zr + w) * d + zi * c;
                        size[k] += whole ? z : z + w * fminl(2, fabsl(a));
                    }
                mcamp__vec_spin(vs, &t, re[part], im[part]);
                for (int k = 0; k < 64; k++) {
                    long double e = hypotl(re[part][k] - x[k], im[part][k] - y[k]);
                    long double most = DBL_EPSILON * size[k] * (2 * (k + part + 1) + 64 + 3);
                    worst = fmax(worst, (double)(e / (most + 1e-300L)));
                }
            }
            CHECK_LE(worst, 1.0);
            CHECK(whole || !(fabs(re[0][0]) + fabs(im[0][0]) > 0));
        }
    }
}

/* Fails only where the compiler leaves it to us, as gcc does at -O0, -O1 and -Os. */
TEST(upper_halves_are_left_empty)
{
    static half upper[16];
    const half none = { { 0 } };
    mcamp_rng r = test_rng(19);
    FOR_EACH_SET(vs) {
        if (vs == MCAMP_VEC_SCALAR) continue;
        for (size_t i = 0; i < 1000; i++) xs[i] = between(&r, -1, 1);
        for (int kernel = 0; kernel < 3; kernel++) {
            if (kernel == 0) mcamp__vec_exp(vs, xs, 1000);
            if (kernel == 1) mcamp__vec_colsum(vs, ys, 8, xs, xs + 8);
            if (kernel == 2) mcamp__vec_rank1(vs, ys, 8, xs, xs + 8);
            upper_halves(upper);
            for (int i = 0; i < 16; i++) CHECK(memcmp(&upper[i], &none, sizeof none) == 0);
        }
    }
}
#define UPPER_HALVES , T(upper_halves_are_left_empty)
#else
#define UPPER_HALVES
#endif

TEST_MAIN("vec", T(a_context_exists), T(exp_is_within_2_ulp), T(exp_at_the_edges),
          T(maps_touch_exactly_n_elements_at_any_address),
          T(normals_are_the_documented_map_in_every_set),
          T(normals_at_the_extreme_words), T(normals_have_the_normal_law),
          T(triangular_product_of_every_shape), T(triangular_product_beyond_a_block),
          T(what_lies_above_the_diagonal_is_not_read),
          T(packing_survives_failing_allocations),
          T(log_sum_exp_of_any_magnitude),
          T(log_sum_exp_of_things_that_are_not_finite),
          T(sum_of_weighted_tails),
          T(slopes_of_each_sample), T(tails_that_make_up_for_large_weights),
          T(sum_of_tails_of_things_that_are_not_finite),
          T(lines_are_largest_where_they_are), T(outer_products_have_every_row),
          T(column_sums_and_rank_one_updates), T(buffers_are_aligned_and_freed),
          T(shifts_are_added_transposed), T(drawn_rows_are_added),
          T(drawn_rows_with_bands_are_added), T(tuples_follow_their_law),
          T(tuples_of_every_size_and_range), T(tuples_by_kinds_of_rows),
          T(tuples_refuse_what_cannot_be_drawn),
          T(impossible_indices_are_never_drawn), T(products_of_rows),
          T(rows_divided_by_a_triangle), T(triangular_systems_of_every_shape),
          T(weights_attract_in_every_length), T(windows_go_round), T(moves_in_every_length),
          T(rotations_are_summed)
          UPPER_HALVES)
