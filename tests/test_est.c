/* Section est: tallies and the bounds read off them, proven ranges, samplers.
 * Statistical checks have fixed seeds and false-alarm rates below 1e-9 each: 6.2
 * standard errors, or an exact binomial tail.                                   */
#define MCAMP_STATIC
#ifndef __wasi__
#  define MCAMP_PTHREADS
#endif
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "core_common.h"
#include "reference.h"

#define SIX 6.2
enum { TILE = 64 };     /* samples in a tile */
#define TEST_PURPOSE ((uint32_t)MCAMP__STREAM_TEST << 16)

static mcamp_tally *tally_new(void)
{
    return (mcamp_tally *)calloc(1, sizeof(mcamp_tally));   /* scale 1, range 1 */
}

/* ---- tallies ------------------------------------------------------------------ */

/* x 2^64 rounded up, by halving and doubling one bit at a time. */
static void fixed_by_bits(double x, uint64_t *hi, uint64_t *lo)
{
    int e, lost = 0;
    uint64_t m = (uint64_t)ldexp(frexp(x, &e), 53);     /* x = m 2^(e-53) */
    *hi = 0; *lo = m;
    for (int sh = e - 53 + 64; sh > 0; sh--) {
        *hi = *hi << 1 | *lo >> 63;
        *lo <<= 1;
    }
    for (int sh = e - 53 + 64; sh < 0; sh++) {
        lost |= (int)(*lo & 1);
        *lo >>= 1;
    }
    *lo += (uint64_t)lost;
}

TEST(fixed_point_is_rounded_up)
{
    static const double edge[] = { 5e-324, 2.2250738585072014e-308, 5.421010862427522e-20,
        5.4210108624275234e-20, 1, 0.9999999999999999, 1.0000000000000002, 2, 68719476735.0 };
    setup();
    for (int i = 0; i < 20000; i++) {
        double x = i < 9 ? edge[i] : ldexp(0.5 + test_rand() / 2, (int)(test_rand() * 150) - 113);
        uint64_t hi, lo, want_hi, want_lo;
        mcamp__to_fixed(x, &hi, &lo);
        fixed_by_bits(x, &want_hi, &want_lo);
        if (hi != want_hi || lo != want_lo) { CHECK(!"to_fixed"); break; }
    }
}

TEST(sums_carry_and_overflow_is_seen)
{
    uint64_t hi = 0, lo = UINT64_MAX;
    CHECK(mcamp__u128_add(&hi, &lo, 0, 1) && hi == 1 && lo == 0);
    CHECK(mcamp__u128_add(&hi, &lo, 5, UINT64_MAX) && hi == 6 && lo == UINT64_MAX);
    CHECK(mcamp__u128_add(&hi, &lo, 0, UINT64_MAX) && hi == 7 && lo == UINT64_MAX - 1);
    hi = UINT64_MAX; lo = 7;
    CHECK(mcamp__u128_add(&hi, &lo, 0, 1) && hi == UINT64_MAX && lo == 8);
    CHECK(!mcamp__u128_add(&hi, &lo, 0, UINT64_MAX) && hi == UINT64_MAX && lo == 8);
    CHECK(!mcamp__u128_add(&hi, &lo, 1, 0) && hi == UINT64_MAX && lo == 8);
}

/* The bin that one value fell in, MCAMP_TALLY_BINS if it was refused. */
static size_t bin_of(double log_v, uint64_t *hi, uint64_t *lo)
{
    mcamp_tally *t = tally_new();
    size_t bin = 0;
    t->log_range = mcamp__inf();
    mcamp__tally_add(t, log_v);
    CHECK(t->count == 1);
    while (bin < MCAMP_TALLY_BINS && !t->n[bin]) bin++;
    if (bin < MCAMP_TALLY_BINS) { *hi = t->hi[bin]; *lo = t->lo[bin]; }
    CHECK((bin == MCAMP_TALLY_BINS) == (t->poisoned == 1));
    free(t);
    return bin;
}

TEST(values_fall_in_their_bins)
{
    uint64_t hi, lo, want_hi, want_lo;
    CHECK_NEAR(mcamp__bin_low(1), ldexp(1, -64), 0, 0);
    CHECK_NEAR(mcamp__bin_high(MCAMP_TALLY_BINS - 1), ldexp(1.75, 35), 0, 0);
    for (size_t i = 0; i < MCAMP_TALLY_BINS; i++) {
        CHECK_LE(mcamp__bin_high(i), (i ? 1.25 : 1e300) * mcamp__bin_low(i) +
                 (i ? 0 : ldexp(1, -64)));
        if (i) CHECK(mcamp__eq(mcamp__bin_low(i), mcamp__bin_high(i - 1)));
    }
    for (int i = 0; i < 3000; i++) {
        double v = -60 + 86 * test_rand(), x = exp(v);
        size_t bin = bin_of(v, &hi, &lo);
        if (x >= mcamp__bin_high(MCAMP_TALLY_BINS - 1)) {
            CHECK(bin == MCAMP_TALLY_BINS);
            continue;
        }
        CHECK(bin < MCAMP_TALLY_BINS && x >= mcamp__bin_low(bin) && x < mcamp__bin_high(bin));
        fixed_by_bits(x, &want_hi, &want_lo);
        CHECK(hi == want_hi && lo == want_lo);
    }
    CHECK(bin_of(0, &hi, &lo) == 257 && hi == 1 && lo == 0);      /* 1 opens its bin */
    CHECK(bin_of(-mcamp__inf(), &hi, &lo) == 0 && hi == 0 && lo == 0);
    CHECK(bin_of(-1000, &hi, &lo) == 0 && lo == 0);               /* underflows to 0 */
    CHECK(bin_of(-720, &hi, &lo) == 0 && lo == 1);                /* denormal        */
}

TEST(what_proves_nothing_says_so)
{
    double bad[4];
    setup();
    bad[0] = mcamp__nan(); bad[1] = mcamp__inf(); bad[2] = 2e-9; bad[3] = 709;
    for (int i = 0; i < 6; i++) {
        mcamp_tally *t = tally_new();
        for (int j = 0; j < 1000; j++) mcamp__tally_add(t, -9);
        CHECK_LE(mcamp_tally_upper(t, 0.01), 0.02);
        CHECK(mcamp_tally_lower(t, 0.01) > 0);
        for (int j = -1; j < 3; j++)                /* no level */
            CHECK(mcamp_tally_upper(t, j) >= 1 && mcamp_tally_lower(t, j) <= 0);
        if (i < 4) mcamp__tally_add(t, bad[i]);
        if (i == 4) t->log_range = mcamp__inf();
        if (i == 5) t->log_range = 1;               /* counted in another unit */
        CHECK(t->poisoned == (i < 4));
        CHECK_NEAR(mcamp_tally_upper(t, 0.01), 1, 0, 0);
        if (i < 4) {
            CHECK_NEAR(mcamp_tally_lower(t, 0.01), 0, 0, 0);
            CHECK(mcamp__isnan(mcamp_tally_mean(t)) && mcamp__isnan(mcamp_tally_std_error(t)));
        }
        free(t);
    }
}

TEST(merging_refuses_strangers)
{
    mcamp_tally *a = tally_new(), *b = tally_new(), *before = tally_new();
    setup();
    mcamp__tally_add(a, -1);
    for (int i = 0; i < 8; i++) {
        memset(b, 0, sizeof *b);
        mcamp__tally_add(b, -1);
        switch (i) {
        case 0: b->direction = MCAMP_ADD; break;
        case 1: b->method = MCAMP_METHOD_MODE; break;
        case 2: b->order = 3; break;
        case 3: b->sigma = 1e-300; break;
        case 4: b->eps = 1e-300; break;
        case 5: b->log_scale = -1e-12; break;
        case 6: b->log_range = mcamp__inf(); break;
        default: b->eps = mcamp__nan(); break;
        }
        *before = *a;
        CHECK_STATUS(mcamp_tally_merge(&ctx, a, b), MCAMP_E_MISMATCH);
        CHECK(!memcmp(a, before, sizeof *a));
    }
    memset(b, 0, sizeof *b);
    mcamp__tally_add(b, mcamp__nan());
    CHECK_STATUS(mcamp_tally_merge(&ctx, a, b), MCAMP_OK);      /* poison is catching */
    CHECK(a->poisoned == 1 && a->count == 2);
    memset(b, 0, sizeof *b);
    b->count = 1; b->hi[3] = UINT64_MAX; b->n[3] = 1;
    a->hi[3] = 1;
    CHECK_STATUS(mcamp_tally_merge(&ctx, a, b), MCAMP_OK);      /* overflow too */
    CHECK(a->poisoned == 2);
    free(a); free(b); free(before);
}

/* ---- bounds -------------------------------------------------------------------- */

/* A value in [0, 1]: five laws, from coin flips to many magnitudes. */
static double law(int kind, double p)
{
    double u = test_rand();
    switch (kind) {
    case 0: return u < p;                               /* the worst for Hoeffding */
    case 1: return u < p ? 0.5 + 0.5 * test_rand() : 0;
    case 2: return exp(-u * log(1 / p) * 4);
    case 3: return u < 0.5 ? 0 : 2 * p * (u - 0.5) / 0.5;
    default: return u < 0.02 ? 1 : p * test_rand();
    }
}

static double law_mean(int kind, double p)
{
    switch (kind) {
    case 0: return p;
    case 1: return 0.75 * p;
    case 2: return (1 - pow(p, 4)) / (4 * log(1 / p));
    case 3: return 0.5 * p;
    default: return 0.02 + 0.98 * 0.5 * p;
    }
}

/* The binned wealth is below the exact one, by no more than the sagitta of the chord
 * in each bin: (h - l)^2/8 times the largest curvature, d^2/(1 + d(x - m))^2.        */
/* What a sampler draws goes into no tally of another question. */
TEST(a_tally_is_of_its_sampler)
{
    mcamp__sampler p;
    mcamp_tally *a = tally_new(), *b = tally_new();
    setup();
    for (int i = 0; i < 8; i++) {
        memset(&p, 0, sizeof p);
        p.dir = MCAMP_REMOVE; p.method = MCAMP_METHOD_COMMON; p.k = 2; p.m.sigma = 3;
        p.eps = 1; p.log_scale = -2; p.log_range = -1; p.split = 0.5;
        mcamp__tally_init(&p, a);
        switch (i) {
        case 0: p.dir = MCAMP_ADD; break;
        case 1: p.method = MCAMP_METHOD_MODE; break;
        case 2: p.k = 3; break;
        case 3: p.m.sigma = 3.1; break;
        case 4: p.eps = 1.1; break;
        case 5: p.log_scale = -3; break;
        case 6: p.log_range = -1.5; break;
        default: p.split = 0.25; break;
        }
        mcamp__tally_init(&p, b);
        a->count = b->count = 1;
        CHECK_STATUS(mcamp_tally_merge(&ctx, a, b), MCAMP_E_MISMATCH);
    }
    free(a); free(b);
}

TEST(binned_wealth_is_a_sharp_lower_bound)
{
    for (int trial = 0; trial < 400; trial++) {
        mcamp_tally *t = tally_new();
        double p = 0.02 + 0.3 * test_rand(), m = law_mean(trial % 5, p) * (0.5 + 2 * test_rand());
        double d = trial % 2 ? -ldexp(1, -(trial % 9)) : ldexp(0.5, -(trial % 9)) / m;
        double got;
        long double exact = 0, sag = 0;
        m = fmin(m, 0.9);
        for (int i = 0; i < 300; i++) {
            double v = log(law(trial % 5, p)), x = exp(v), l, h, f;
            size_t bin = 0;
            mcamp__tally_add(t, v);
            exact += log1pl((long double)d * ((long double)x - m));
            while (x >= mcamp__bin_high(bin)) bin++;
            l = mcamp__bin_low(bin); h = mcamp__bin_high(bin);
            if (d < 0) { l = fmin(l, 1); h = fmin(h, 1); }
            f = d / (1 + d * ((d < 0 ? h : l) - m));
            sag += (h - l) * (h - l) / 8 * f * f;
        }
        got = mcamp__log_wealth(t, d, m);
        CHECK_LE(got, (double)exact + 1e-11 * (1 + fabs((double)exact)));
        CHECK_LE((double)(exact - sag), got + 1e-11 * (1 + fabs((double)exact)));
        free(t);
    }
}

/* Hoeffding-KL accepts mean < m at level exp(-N KL(mean, m)).  With the stake
 * (m - mean)/(m (1 - m)) the exact wealth is never below that, and the binned one
 * lacks at most the chords' sagitta: each bin's part of the sum of f.               */
TEST(betting_is_never_weaker_than_hoeffding)
{
    int sets = 0;
    for (int trial = 0; trial < (int)mt_scale(2500); trial++) {
        mcamp_tally *t = tally_new();
        int n = 50 + (int)(500 * test_rand());
        double x[600], mean = 0, m, kl, stake, exact = 0, sag = 0;
        double p = 0.002 + 0.4 * test_rand();
        for (int i = 0; i < n; i++) {
            x[i] = law(trial % 5, p);
            mcamp__tally_add(t, log(x[i]));
            mean += x[i] / n;
        }
        m = mean + (0.9 - mean) * pow(test_rand(), 3);
        if (!(mean > 0) || !(mean < m)) { free(t); continue; }
        kl = mean * log(mean / m) + (1 - mean) * log1p((m - mean) / (1 - m));
        stake = (m - mean) / (m * (1 - m));
        for (int i = 0; i < n; i++) {
            double f = stake / (1 - stake * (fmin(1.25 * x[i], 1) - m));
            exact += log1p(-stake * (x[i] - m));
            sag += x[i] * x[i] * f * f / 128;       /* (h - l) <= x/4 */
        }
        CHECK_LE(n * kl, exact + 1e-10 * (1 + n * kl));
        CHECK_LE(n * kl - sag, mcamp__log_wealth(t, -stake, m) + 1e-10 * (1 + n * kl));
        sets++;
        free(t);
    }
    CHECK(sets > (int)mt_scale(2000));
}

/* Each bound misses the true mean with probability at most beta: an upper bound is
 * below it exactly if the test at it passes.                                       */
TEST(bounds_hold_with_their_probability)
{
    static const double beta[] = { 0.3, 0.02 };
    int n = (int)mt_scale(4000);
    for (int kind = 0; kind < 5; kind++)
        for (int k = 0; k < 2; k++) {
            size_t miss[2] = { 0, 0 };
            double p = kind == 2 ? 0.01 : 0.05, mean = law_mean(kind, p);
            for (int trial = 0; trial < n; trial++) {
                mcamp_tally *t = tally_new();
                for (int i = 0; i < 150; i++) mcamp__tally_add(t, log(law(kind, p)));
                for (int test = 0; test < 2; test++)
                    miss[test] += mcamp__tally_test(t, test, mean, log(1 / beta[k])) >= 0;
                if (trial < 20) {       /* the bounds themselves are on their sides */
                    double up = mcamp_tally_upper(t, beta[k]);
                    CHECK_LE(mcamp_tally_mean(t), up);
                    CHECK_LE(mcamp_tally_lower(t, beta[k]), mcamp_tally_mean(t));
                    CHECK((up < mean) == (mcamp__tally_test(t, 0, mean, log(1 / beta[k])) >= 0));
                    CHECK((mcamp_tally_lower(t, beta[k]) > mean) ==
                          (mcamp__tally_test(t, 1, mean, log(1 / beta[k])) >= 0));
                }
                free(t);
            }
            for (int test = 0; test < 2; test++)
                CHECK(miss[test] <= binomial_limit((size_t)n, beta[k], 1e-9));
        }
}

/* Mean, variance and error of a tally against the samples it was made of. */
TEST(moments_are_those_of_the_samples)
{
    for (int trial = 0; trial < 100; trial++) {
        mcamp_tally *t = tally_new();
        double p = 0.01 + 0.3 * test_rand(), x[400], mean = 0, var = 0, square = 0, err;
        for (int i = 0; i < 400; i++) {
            x[i] = law(trial % 5, p);
            mcamp__tally_add(t, log(x[i]));
            mean += x[i] / 400;
            square += x[i] * x[i] / 400;
        }
        for (int i = 0; i < 400; i++) var += (x[i] - mean) * (x[i] - mean) / 399;
        err = mcamp_tally_std_error(t);
        CHECK_NEAR(mcamp_tally_mean(t), mean, 1e-13, 1e-18);
        CHECK_LE(sqrt(var / 400), err * (1 + 1e-12));       /* never too small */
        CHECK_LE(err * err * 400, var + square / 16 * ldexp(1, -23) + 1e-15);
        memset(t->bent, 0, sizeof t->bent);                 /* not kept: by the chords */
        CHECK_LE(err, mcamp_tally_std_error(t));
        err = mcamp_tally_std_error(t);
        CHECK_LE(err * err * 400, var + 0.016 * square + 1e-15);
        free(t);
    }
}

/* ---- samplers: unbiased, and all of one mind --------------------------------------- */

typedef struct sampled { double mean, err; uint64_t poisoned; size_t k; } sampled;

static sampled sample(const mcamp_gram *g, double sigma, double eps, mcamp_direction dir,
                      mcamp_method method, size_t k, uint64_t blocks)
{
    mcamp__choice c;
    mcamp__question q;
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__workers w;
    mcamp_tally *t = tally_new();
    sampled s;
    double scale = method == MCAMP_METHOD_MODE || eps < 0 ? 0 : mcamp__inf();
    if (method == MCAMP_METHOD_MODE && eps > 0) scale = -20;
    CHECK_STATUS(mcamp__factor_init(&ctx, g, &f), MCAMP_OK);
    q = mcamp__ask(&f, sigma, eps, dir, 1);
    memset(&c, 0, sizeof c);
    c.method = method; c.k = k; c.log_scale = scale;
    CHECK_STATUS(mcamp__choice_open(&ctx, &q, &c, &p), MCAMP_OK);
    CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
    mcamp__tally_init(&p, t);
    CHECK_STATUS(mcamp__run_blocks(&ctx, &p, &w, (uint64_t)(test_rand() * 1e9),
                 TEST_PURPOSE | (uint32_t)(method << 4) | (uint32_t)dir, 0, blocks, t), MCAMP_OK);
    s.mean = mcamp_tally_mean(t);
    s.err = mcamp_tally_std_error(t);
    s.poisoned = t->poisoned;
    s.k = p.k;
    mcamp__workers_free(&ctx, &w);
    mcamp__choice_close(&ctx, &p);
    mcamp__factor_free(&ctx, &f);
    free(t);
    return s;
}

static void check_mean(const mcamp_gram *g, double sigma, double eps, mcamp_direction dir,
                       mcamp_method method, size_t k, uint64_t blocks,
                       double want, double want_err)
{
    sampled s = sample(g, sigma, eps, dir, method, k, blocks);
    double err = sqrt(s.err * s.err + want_err * want_err) + 1e-9 * fabs(want);
    char text[400];
    snprintf(text, sizeof text, "b %lu, sigma %g, eps %g, direction %d, method %d, k %lu, "
             "%g +- %g instead of %g +- %g, %lu poisoned", (unsigned long)g->b,
             sigma, eps, (int)dir, (int)method, (unsigned long)k, s.mean, s.err, want,
             want_err, (unsigned long)s.poisoned);
    mt_check(fabs(s.mean - want) <= SIX * err && s.poisoned == 0, __FILE__, __LINE__, text);
}

/* (rho - e^eps)_+ at eps = -50 is rho but for 2e-22, and E_Q[rho] = 1.  Norms of the
 * modes are about sigma, so that weights are moderate at any order.  With a zero mode
 * rho stays above 1/b: no root for COMMON, and MODE leaves that mode out.            */
TEST(every_law_integrates_rho_to_one)
{
    mcamp_gram g;
    setup();
    for (int kind = 0; kind <= 4; kind++) {
        gram_random(5, kind, &g);
        for (size_t k = 1; k <= 12; k += k > 5 ? 3 : 1) {
            double sigma = g.max_norm * sqrt((double)k) * 1.2;
            check_mean(&g, sigma, -50, MCAMP_REMOVE, MCAMP_METHOD_TILTED, k, 6, 1, 0);
        }
        for (size_t k = 1; kind < 3 && k <= 20; k += k > 5 ? 5 : 2) {
            double sigma = g.max_norm * sqrt((double)k);
            check_mean(&g, sigma, -50, MCAMP_REMOVE, MCAMP_METHOD_COMMON, k, 6, 1, 0);
        }
        check_mean(&g, g.max_norm, -50, MCAMP_REMOVE, MCAMP_METHOD_PLAIN, 1, 12, 1, 0);
        check_mean(&g, g.max_norm, -50, MCAMP_REMOVE, MCAMP_METHOD_SHIFTS, 0, 12, 1, 0);
        if (kind != 3)
            check_mean(&g, g.max_norm, -50, MCAMP_REMOVE, MCAMP_METHOD_MODE, 0, 12, 1, 0);
        mcamp_gram_free(&ctx, &g);
    }
}

/* All methods at the same question, against the plain one; and across the two
 * directions: delta_add(-eps) = e^-eps delta_remove(eps) + 1 - e^-eps, and the other
 * way round.  Orders: the best, and one more (at orders that are much too large the
 * decisive samples are not drawn).                                                   */
static void all_agree(const mcamp_gram *g, double sigma, double eps, int idle)
{
    int diagonal = g->kind == MCAMP_GRAM_DIAGONAL;
    sampled r = sample(g, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_PLAIN, 1, 40);
    sampled a = sample(g, sigma, eps, MCAMP_ADD, MCAMP_METHOD_PLAIN, 0, 40);
    const double one = 1.0 / (40 * MCAMP_BLOCK);    /* a value that was not drawn */
    double e = exp(-eps);
    r.err += one; a.err += one;
    for (int m = MCAMP_METHOD_TILTED; m <= (diagonal ? 2 : 3); m++) {
        sampled best = sample(g, sigma, eps, MCAMP_REMOVE, (mcamp_method)m, 0, 10);
        CHECK_LE(fabs(best.mean - r.mean), SIX * sqrt(best.err * best.err + r.err * r.err));
        check_mean(g, sigma, eps, MCAMP_REMOVE, (mcamp_method)m, best.k + 1, 10, r.mean, r.err);
    }
    check_mean(g, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_MODE, 0, 10, r.mean, r.err);
    check_mean(g, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_SHIFTS, 0, 10, r.mean, r.err);
    if (!idle)
        check_mean(g, sigma, -eps, MCAMP_REMOVE, MCAMP_METHOD_MODE, 0, 10,
                   e * a.mean + 1 - e, e * a.err);
    if (!idle || e > 0.5)   /* else rho never falls to e^-eps and nothing is to be seen */
        check_mean(g, sigma, eps, MCAMP_ADD, MCAMP_METHOD_COMMON, 0, 10, a.mean, a.err);
    check_mean(g, sigma, -eps, MCAMP_ADD, MCAMP_METHOD_COMMON, 0, 10, e * r.mean + 1 - e,
               e * r.err);
}

TEST(all_methods_agree_on_random_modes)
{
    mcamp_gram g;
    setup();
    for (size_t b = 1; b <= 8; b++)
        for (int kind = 0; kind <= 4; kind++) {
            double sigma;
            if (b == 1 && kind >= 2) continue;
            if (kind == 3 && b < 3) continue;
            gram_random(b, kind, &g);
            sigma = g.max_norm * (0.6 + test_rand());
            all_agree(&g, sigma, 0.2 + 0.6 * test_rand(), kind == 3);
            mcamp_gram_free(&ctx, &g);
        }
}

TEST(all_methods_agree_on_strategies)
{
    static const struct { const char *name; size_t n, b; int idle; } c[] = {
        { "sqrt:4", 5, 7, 1 },              /* b > n: modes that never take part */
        { "sqrt:0", 23, 5, 0 },             /* b does not divide n               */
        { "sqrt:3", 61, 30, 0 },            /* far modes are orthogonal          */
        { "sqrt:2", 47, 20, 0 },
        { "blt:0.7:0.3,0.98:0.1", 20, 4, 0 },
        { "toeplitz:1,-0.5,0.25", 17, 6, 0 },
        { "rational:3", 18, 4, 0 },
        { "identity", 17, 5, 0 }, { "identity", 6, 9, 1 }, { "ones", 12, 3, 0 } };
    setup();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_gram g;
        gram_make(c[i].name, "raw", c[i].n, c[i].b, &g);
        all_agree(&g, g.max_norm * 0.9, 0.3, c[i].idle);
        mcamp_gram_free(&ctx, &g);
    }
}

/* Pick (q, c) moves mode i by s sum_j a_ij over its window, to row[b]. */
static void moved_by(const mcamp__sampler *p, size_t q, size_t c, double *row)
{
    const mcamp__mixture *m = p->mix;
    size_t b = p->m.b;
    for (size_t i = 0; i < b; i++) {
        row[i] = 0;
        for (size_t j = c; j < c + m->width[q / 3]; j++)
            row[i] += m->s[q * b + c] *
                      mcamp__model_a(&p->m, i, j % b);
    }
}

/* The factors of one component after one pick, against sums over whole windows. */
static void check_factors(const mcamp__sampler *p, const double *row, size_t q, size_t lo,
                          size_t len, const double *cum)
{
    enum { MOST = 40 };
    size_t b = p->m.b, h = p->mix->width[q / 3], n, first;
    double f[MOST], room[2 * MOST], got[MOST] = { 0 };
    first = mcamp__mix_factors(ctx.vec, p, q, lo, len, cum, room, f, &n);
    CHECK(n >= 1 && n <= b);
    for (size_t j = 0; j < n; j++) got[(first + j) % b] += f[j];
    for (size_t c = 0; c < (h == b ? 1 : b); c++) {
        double sum = 0, want;
        for (size_t i = c; i < c + h; i++) sum += row[i % b];
        want = expm1(p->mix->s[q * b + c] * sum);
        CHECK_NEAR(got[c], want, 1e-9, 1e-12);
    }
}

/* A pick changes the densities of all components at every window that it touches: before it,
 * after it, round the end of the epoch, and where one pick touches all.             */
TEST(what_a_pick_moves_is_moved_in_every_window)
{
    static const struct { const char *name; size_t n, b; } c[] = {
        { "sqrt:3", 90, 30 }, { "identity", 62, 31 }, { "sqrt:16", 61, 20 }, { "sqrt:2", 40, 40 },
        { "sqrt:7", 100, 40 }, { "sqrt:7", 16, 16 } };
    double row[40], cum[41];
    setup();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__question ask;
        mcamp__choice how;
        mcamp__sampler p;
        mcamp__picked to;
        gram_make(c[i].name, "raw", c[i].n, c[i].b, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        ask = mcamp__ask(&f, 1.5 * g.max_norm, 1, MCAMP_REMOVE, 3);
        memset(&how, 0, sizeof how);
        how.method = MCAMP_METHOD_SHIFTS;
        CHECK_STATUS(mcamp__choice_open(&ctx, &ask, &how, &p), MCAMP_OK);
        to.cum = cum;
        for (size_t q = 0; q < p.mix->count; q++)
            for (size_t w = 0; w < (p.mix->width[q / 3] < c[i].b ? c[i].b : 1); w++) {
                size_t local = 0;
                mcamp__mix_move(&p, q, w, 0, &to);
                moved_by(&p, q, w, row);
                for (size_t j = 0; j < c[i].b; j++) {
                    size_t at = (j + c[i].b - to.lo[0]) % c[i].b;
                    double by = at < to.len[0] ? cum[at + 1] - cum[at] : 0;
                    CHECK_NEAR(by, row[j], 1e-9, 1e-12);
                    local += at < to.len[0];
                }
                CHECK(local == to.len[0]);
                for (size_t r = 0; r < p.mix->count; r++)
                    check_factors(&p, row, r, to.lo[0], to.len[0], cum);
            }
        mcamp__choice_close(&ctx, &p);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* Sums of rows in strips, as tasks in any order, and by one table for every sigma. */
TEST(sums_of_the_mixture_are_the_factors)
{
    enum { B = 600 };
    size_t tasks = 0, count;
    mcamp_ctx own;
    mcamp__factor f;
    mcamp__lent lent;
    mcamp__mixture m;
    setup();
    memset(&lent, 0, sizeof lent);
    own = ctx;
    own.parallel.run = mt_backwards; own.parallel.user = &tasks;
    memset(&f, 0, sizeof f);
    memset(&m, 0, sizeof m);
    f.b = f.ld = B; f.reach = B / 2; f.lent = &lent;
    m.windows = 3;
    f.g = (double *)calloc(B * B, sizeof *f.g);
    for (size_t i = 0; i < B * B; i++) f.g[i] = test_rand();
    CHECK_STATUS(mcamp__mix_sums(&own, &f, &m), MCAMP_OK);
    CHECK(m.whole && m.sums == lent.sums.p && tasks == 2);
    for (size_t i = 0; i < B; i++) {
        double sum = 0;
        for (size_t c = 0; c <= B; c++) {
            CHECK(mcamp__eq(lent.sums.p[c * B + i], sum));
            if (c < B) sum += f.g[c * B + i];
        }
    }
    count = tasks;
    CHECK_STATUS(mcamp__mix_sums(&own, &f, &m), MCAMP_OK);
    CHECK(m.sums == lent.sums.p && tasks == count);
    mcamp__buf_free(&ctx, &lent.sums);
    free(f.g);
}

/* The mixture's sampler of a question, with its tilt and tuples. */
static void mixture_open(const char *name, size_t n, size_t b, double sigma, double eps,
                         mcamp_gram *g, mcamp__factor *f, mcamp__sampler *p)
{
    mcamp__question q;
    mcamp__choice c;
    gram_make(name, "raw", n, b, g);
    CHECK_STATUS(mcamp__factor_init(&ctx, g, f), MCAMP_OK);
    q = mcamp__ask(f, sigma, eps, MCAMP_REMOVE, 5);
    memset(&c, 0, sizeof c);
    c.method = MCAMP_METHOD_SHIFTS;
    CHECK_STATUS(mcamp__choice_open(&ctx, &q, &c, p), MCAMP_OK);
}

static void mixture_close(mcamp_gram *g, mcamp__factor *f, mcamp__sampler *p)
{
    mcamp__choice_close(&ctx, p);
    mcamp__factor_free(&ctx, f);
    mcamp_gram_free(&ctx, g);
}

/* Two hundred seeds of the mixture where modes overlap and where they do not, where the values
 * vary by less than a bin is wide, and where samples come in pairs: the spread agrees with the
 * stated errors.  The sum of squares is chi-square of 199, but for some more since 32 values
 * tell the error to an eighth: below 101 with odds of 1e-9, as above 343 if the errors were
 * certain.  Errors twice too long make it 50 or so, half as long 800.                     */
TEST(the_mixtures_errors_are_honest)
{
    static const struct { const char *name; size_t n, b; double sigma, eps; int mirror; } c[] = {
        { "sqrt:4", 80, 20, 2, 1, 0 }, { "identity", 1024, 64, 3.5, 2, 0 },
        { "sqrt:0", 30, 30, 1, 6, 1 }, { "sqrt:4", 80, 20, 2, 1, 1 } };
    enum { SEEDS = 200 };
    mcamp_tally *t = tally_new();
    setup();
    for (size_t i = 0; i < sizeof c / sizeof *c; i += mt_few(1, 3)) {
        double value[SEEDS], err[SEEDS], mean = 0, chi = 0;
        mcamp__workers w;
        mcamp__sampler p;
        mcamp__factor f;
        mcamp_gram g;
        mixture_open(c[i].name, c[i].n, c[i].b, c[i].sigma, c[i].eps, &g, &f, &p);
        p.mirror = c[i].mirror;
        CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
        for (int k = 0; k < SEEDS; k++) {
            mcamp__tally_init(&p, t);
            CHECK_STATUS(mcamp__run_blocks(&ctx, &p, &w, (uint64_t)k, TEST_PURPOSE, 0, 2, t),
                         MCAMP_OK);
            value[k] = mcamp_tally_mean(t);
            err[k] = mcamp_tally_std_error(t);
            mean += value[k] / SEEDS;
        }
        for (int k = 0; k < SEEDS; k++) chi += pow((value[k] - mean) / err[k], 2);
        CHECK_LE(101, chi);
        CHECK_LE(chi, 400);
        mcamp__workers_free(&ctx, &w);
        mixture_close(&g, &f, &p);
    }
    free(t);
}

/* Long rows of L: the noise of half a tile is the other half's, turned round, and a product for
 * itself, so that each sample has the law it had; short ones, or none but the diagonal: all of
 * it is drawn.  Either way means are the same.                                          */
TEST(pairs_of_samples_have_their_law)
{
    static const struct { const char *name; size_t n, b; double sigma, eps; int mirror; } c[] = {
        { "sqrt:0", 520, 520, 1, 8, 1 }, { "sqrt:16", 520, 520, 1.5, 1, 0 },
        { "identity", 520, 520, 0.8, 1, 0 }, { "sqrt:0", 40, 20, 1.6, 2, 0 },
        { "sqrt:5", 61, 20, 1.6, 1, 0 } };
    mcamp_tally *t = tally_new();
    setup();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        double *y = (double *)malloc(c[i].b * TILE * sizeof *y), value[2], err[2];
        mcamp__rng8 normals;
        mcamp__workers w;
        mcamp__sampler p;
        mcamp__factor f;
        mcamp_gram g;
        size_t same = 0, opposite = 0, half = TILE / 2;
        mixture_open(c[i].name, c[i].n, c[i].b, c[i].sigma, c[i].eps, &g, &f, &p);
        CHECK(p.mirror == c[i].mirror);
        CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
        mcamp__rng8_stream(&normals, 9, TEST_PURPOSE, i);
        for (size_t k = 0; k < c[i].b * TILE; k++) w.scratch->z[k] = mcamp__nan();
        mcamp__tile_noise(ctx.vec, &p, &normals, w.scratch);
        memcpy(y, w.scratch->x, c[i].b * TILE * sizeof *y);
        mcamp__tile_noise(ctx.vec, &p, &normals, w.scratch);
        for (size_t k = 0; k < c[i].b * TILE; k++) {
            size_t s = k % TILE, by = k - s + (s + half) % TILE;
            if (mcamp__eq(y[k], -y[by])) opposite++;
            for (size_t j = 0; j < TILE; j++) {     /* of no other column, nor the next tile's */
                if (j != s && mcamp__eq(fabs(y[k]), fabs(y[k - s + j]))) same++;
                if (mcamp__eq(fabs(y[k]), fabs(w.scratch->x[k - s + j]))) same++;
            }
        }
        CHECK(opposite == (c[i].mirror ? c[i].b * TILE : 0));
        CHECK(same == opposite);
        mcamp__vec_trmm(ctx.vec, &p.m.L, w.scratch->z, half, y);
        for (size_t k = 0; k < c[i].b * TILE; k++)
            if (k % TILE < half) CHECK(mcamp__eq(y[k], w.scratch->x[k]));
        for (int m = 0; m < 2 && c[i].b < 100; m++) {
            p.mirror = m;
            mcamp__tally_init(&p, t);
            CHECK_STATUS(mcamp__run_blocks(&ctx, &p, &w, 3, TEST_PURPOSE, 0, 200, t), MCAMP_OK);
            value[m] = mcamp_tally_mean(t);
            err[m] = mcamp_tally_std_error(t);
            CHECK_LE(err[m], 0.01 * value[m]);
            if (m) CHECK_LE(fabs(value[1] - value[0]), SIX * hypot(err[0], err[1]));
        }
        mcamp__workers_free(&ctx, &w);
        mixture_close(&g, &f, &p);
        free(y);
    }
    free(t);
}

/* What all picks of one g share would be most of the variance: of a sample over the squared mean,
 * by tuples and the tilt and without the one or the other.  Above all it is what few bands and a
 * small eps cost.                                                                       */
TEST(tuples_and_the_tilt_pay)
{
    static const struct { const char *name; size_t n, b; double sigma, eps, most; } c[] = {
        { "sqrt:4", 100, 100, 1.7, 0.5, 1.1 },      /* 0.8; 13 without either           */
        { "sqrt:4", 128, 128, 2.05, 0.5, 2.5 },     /* 1.7; 3.5 untilted, 6.3 at three  */
        { "sqrt:16", 512, 128, 4.35, 1, 1.2 },      /* 1.0; 1.4 tilted; 3.9 a third of it */
        { "sqrt:0", 200, 100, 12, 0.5, 2.1 } };     /* 1.8; a tilt of 1 made it 2.6     */
    mcamp_tally *t = tally_new();
    setup();
    for (size_t i = 0; i < 4; i++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__question q;
        mcamp__choice how;
        uint64_t spent = 0;
        double err;
        gram_make(c[i].name, "raw", c[i].n, c[i].b, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        q = mcamp__ask(&f, c[i].sigma, c[i].eps, MCAMP_REMOVE, 5);
        memset(&how, 0, sizeof how);
        how.method = MCAMP_METHOD_SHIFTS;
        CHECK_STATUS(mcamp__mix_pilot(&ctx, &q, &how, &err, &spent), MCAMP_OK);
        CHECK_STATUS(mcamp__question_run(&ctx, &q, &how, TEST_PURPOSE | MCAMP_REMOVE, 60, 0, t),
                     MCAMP_OK);
        CHECK_LE(mcamp__tally_rel_var(t) * mcamp__tally_lump(t), c[i].most);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
    free(t);
}

/* What a pilot asks for holds as far as the run agrees, each by its number of blocks. */
TEST(a_pilot_of_few_blocks_does_not_set_the_cost)
{
    static const double few[] = { 0, 4, 1e6 };
    mcamp_gram g;
    mcamp__factor f;
    mcamp__question q;
    mcamp__choice c[2];
    mcamp_budget bud;
    mcamp_tally *t = tally_new();
    uint64_t spent = 0, blocks[3];
    double err;
    int used;
    setup();
    gram_make("sqrt:4", "raw", 100, 100, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    q = mcamp__ask(&f, 1.7, 0.5, MCAMP_REMOVE, 5);
    memset(c, 0, sizeof c);
    memset(&bud, 0, sizeof bud);
    c[0].method = MCAMP_METHOD_SHIFTS;
    CHECK_STATUS(mcamp__mix_pilot(&ctx, &q, c, &err, &spent), MCAMP_OK);
    CHECK(spent == (2 + 4) * MCAMP_BLOCK);
    CHECK_NEAR(c[0].blocks, 4, 0, 0);
    CHECK_STATUS(mcamp__budget_resolve(&ctx, NULL, &bud), MCAMP_OK);
    c[0].rel_var = 30;
    for (int i = 0; i < 3; i++) {
        c[0].blocks = few[i];
        CHECK_STATUS(mcamp__run_to_error(&ctx, &q, c, &bud, TEST_PURPOSE | MCAMP_REMOVE, t, &used,
                                         &spent), MCAMP_OK);
        CHECK(mcamp__tally_settled(t, bud.rel_error, 0));
        blocks[i] = t->count * (uint64_t)mcamp__tally_lump(t) / MCAMP_BLOCK;
    }
    CHECK(blocks[0] == mcamp__choice_blocks(&q, c, &bud) && blocks[2] == blocks[0]);
    CHECK(blocks[1] >= 40 && 2 * blocks[1] < blocks[0]);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    free(t);
}

/* Tuples of three indices: with w = prod z_l, the means of w and of w times what each mode is
 * moved by, against sums over all tuples.  The base is far from uniform.               */
static void tuples_one_by_one(const char *name, size_t reach)
{
    enum { B = 8, DRAWS = 40000 };
    double e[4 * B], ones[B], x[B], base[B], want[B + 1] = { 0 };   /* e: and three indices' */
    double *upto;
    mcamp__sampler p;
    mcamp__factor f;
    mcamp_gram g;
    mcamp_rng r;
    setup();
    mixture_open(name, 16, B, 1.5, 0.5, &g, &f, &p);
    CHECK(p.mix->around.p && p.mix->reach == reach);
    p.mix->order = 3;
    upto = p.mix->upto + (p.mix->count - 1) * B;
    for (size_t i = 0; i < B; i++) base[i] = (double)(1 + i * i % 5);
    for (size_t i = 0; i < B; i++) upto[i] = base[i] + (i ? upto[i - 1] : 0);
    for (size_t i = 0; i < B; i++) p.mix->base[i] = base[i] / upto[B - 1];
    for (size_t t = 0; t < B * B * B; t++) {
        size_t j[3] = { t % B, t / B % B, t / B / B };
        double w = exp(mcamp__model_a(&p.m, j[0], j[1]) + mcamp__model_a(&p.m, j[0], j[2]) +
                       mcamp__model_a(&p.m, j[1], j[2]));
        for (int l = 0; l < 3; l++) w *= base[j[l]] / upto[B - 1];
        want[B] += w;
        for (size_t i = 0; i < B; i++)
            for (int l = 0; l < 3; l++) want[i] += w * mcamp__model_a(&p.m, i, j[l]);
    }
    for (size_t i = 0; i < B; i++) ones[i] = 1;
    for (int set = MCAMP_VEC_SCALAR; set <= MCAMP_VEC_AVX512; set++) {
        double got[B + 1] = { 0 }, square[B + 1] = { 0 };
        if (!mcamp__vecset_available((mcamp_vecset)set)) continue;
        mcamp_rng_seed(&r, 8);
        for (int n = 0; n < DRAWS; n++) {
            double w;
            memset(x, 0, sizeof x);
            w = exp(mcamp__mix_tuple((mcamp_vecset)set, &p, &r, ones, e, x));
            for (size_t i = 0; i <= B; i++) {
                double v = i < B ? w * x[i] : w;
                got[i] += v / DRAWS;
                square[i] += v * v / DRAWS;
            }
        }
        for (size_t i = 0; i <= B; i++)
            CHECK_LE(fabs(got[i] - want[i]), SIX * sqrt((square[i] - got[i] * got[i]) / DRAWS));
    }
    mixture_close(&g, &f, &p);
}

TEST(tuples_by_enumeration)
{
    tuples_one_by_one("sqrt:2", 1);
    tuples_one_by_one("toeplitz:1,0.05,0.0025,0.000125,0.00000625", 4);     /* all modes meet */
}

/* Modes that have a hundredth of their square in common are alike; where these are at most half
 * of all there are tuples, however little others meet, too. */
TEST(tuples_where_few_modes_are_alike)
{
    static const struct { const char *name; size_t n, b, alike; int tuples; } c[] = {
        { "identity", 64, 64, 1, 1 }, { "sqrt:2", 128, 64, 3, 1 }, { "sqrt:8", 64, 64, 15, 1 },
        { "blt:0.6:0.4", 192, 64, 17, 1 }, { "blt:0.6:0.4", 93, 31, 17, 0 },
        { "blt:0.9:0.2,0.5:0.1", 512, 256, 69, 1 }, { "sqrt:0", 64, 64, 64, 0 } };
    setup();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp__sampler p;
        mcamp__factor f;
        mcamp_gram g;
        mixture_open(c[i].name, c[i].n, c[i].b, 2, 0.5, &g, &f, &p);
        CHECK(mcamp__factor_alike(&f) == c[i].alike);
        CHECK((p.mix->around.p != NULL) == c[i].tuples);
        for (size_t w = 0; w + 1 < p.mix->windows; w++)
            CHECK(4 * p.mix->width[w] <= 3 * c[i].alike + 3);
        mixture_close(&g, &f, &p);
    }
}

/* What tuples are weighed by is what they are drawn by: P's component, tilted. */
TEST(tuples_are_drawn_by_their_base)
{
    mcamp__sampler p;
    mcamp__factor f;
    mcamp_gram g;
    double all = 0, most = 0;
    setup();
    mixture_open("sqrt:4", 100, 100, 1.7, 0.5, &g, &f, &p);
    CHECK(p.mix->order > 0 && p.mix->tilt > 0);
    for (size_t i = 0; i < 100; i++) {
        const double *upto = p.mix->upto + (p.mix->count - 1) * 100;
        double drawn = (upto[i] - (i ? upto[i - 1] : 0)) / upto[99];
        CHECK_NEAR(p.mix->base[i], drawn, 1e-12, 0);
        most = fmax(most, fabs(100 * drawn - 1));
        all += p.mix->base[i];
    }
    CHECK_NEAR(all, 1, 1e-12, 0);
    CHECK(most > 0.01);                         /* not uniform */
    mixture_close(&g, &f, &p);
}

/* Where tuples and the tilt move Q, and one sample in eight goes back: unbiased.  C = I against
 * the exact law; four bands and a BLT against 5 million samples and more of laws without either
 * (0.2%). */
TEST(tuples_and_the_way_back)
{
    static const struct { const char *name; size_t n, b; double sigma, delta; } c[] = {
        { "identity", 400, 100, 2.2, 5.7458e-6 }, { "sqrt:4", 100, 100, 1.7, 1.0363e-5 },
        { "sqrt:4", 128, 128, 2.05, 1.0064e-8 }, { "blt:0.6:0.4", 100, 100, 1.6, 4.2834e-6 } };
    mcamp_tally *t = tally_new();
    setup();
    for (size_t i = 0; i < sizeof c / sizeof *c; i += mt_few(1, 2)) {
        mcamp__question q;
        mcamp__choice how;
        mcamp__sampler p;
        mcamp__factor f;
        mcamp_gram g;
        uint64_t spent = 0;
        double err;
        mixture_open(c[i].name, c[i].n, c[i].b, c[i].sigma, 0.5, &g, &f, &p);
        CHECK(p.mix->order >= 10 && (p.mix->tilt > 0.4 || !i));
        q = mcamp__ask(&f, c[i].sigma, 0.5, MCAMP_REMOVE, 5);
        memset(&how, 0, sizeof how);
        how.method = MCAMP_METHOD_SHIFTS;
        CHECK_STATUS(mcamp__mix_pilot(&ctx, &q, &how, &err, &spent), MCAMP_OK);
        CHECK_STATUS(mcamp__question_run(&ctx, &q, &how, TEST_PURPOSE | MCAMP_REMOVE, 100, 0, t),
                     MCAMP_OK);
        err = hypot(mcamp_tally_std_error(t), 2e-3 * c[i].delta);
        CHECK_LE(err, 0.012 * c[i].delta);
        CHECK_LE(fabs(mcamp_tally_mean(t) - c[i].delta), SIX * err);
        mixture_close(&g, &f, &p);
    }
    free(t);
}

/* A first mode that is zero gets nowhere: its window is not the likeliest one. */
TEST(a_window_of_idle_modes_is_not_the_likeliest)
{
    mcamp__sampler p;
    mcamp__factor f;
    mcamp_gram g;
    double row[200], var = 0;
    setup();
    mixture_open("sqrt:4", 100, 100, 1.7, 0.5, &g, &f, &p);
    CHECK(p.mix->windows == 3 && mcamp__mix_likeliest(&p, row, &var) == 1 && var > 0);
    f.g[0] = 0;
    CHECK(mcamp__mix_likeliest(&p, row, &var) == 1 && var > 0);
    mixture_close(&g, &f, &p);
}

/* The density of P's component, tilted, where most samples come from it: unbiased, against a law
 * without tuples or a tilt.                                                             */
TEST(the_tilted_P_has_its_density)
{
    mcamp__question q;
    mcamp__choice how;
    mcamp__sampler p;
    mcamp__factor f;
    mcamp_gram g;
    mcamp_tally *t = tally_new();
    sampled want;
    double err;
    setup();
    mixture_open("sqrt:4", 100, 100, 1.2, 0.5, &g, &f, &p);
    CHECK(p.mix->order > 1 && p.mix->tilt > 0.9 && p.mix->windows == 3);
    q = mcamp__ask(&f, 1.2, 0.5, MCAMP_REMOVE, 5);
    memset(&how, 0, sizeof how);
    how.method = MCAMP_METHOD_SHIFTS;
    for (size_t i = 0; i < p.mix->count; i++) how.share[i] = i < 6 ? 0.05 : i < 9 ? 0 : 0.7;
    CHECK_STATUS(mcamp__question_run(&ctx, &q, &how, TEST_PURPOSE | MCAMP_REMOVE, 100, 0, t),
                 MCAMP_OK);
    want = sample(&g, 1.2, 0.5, MCAMP_REMOVE, MCAMP_METHOD_COMMON, 0, 400);
    err = hypot(want.err, mcamp_tally_std_error(t));
    CHECK_LE(err, 0.01 * want.mean);
    CHECK_LE(fabs(mcamp_tally_mean(t) - want.mean), SIX * err);
    mixture_close(&g, &f, &p);
    free(t);
}

/* Small delta, b = 2, where quadrature knows the answer.  (Add, COMMON wants modes that
 * are alike: else its samples miss what matters, and the estimate is not trusted.)   */
TEST(small_deltas_agree_with_quadrature)
{
    setup();
    for (int trial = 0; trial < 12; trial++) {
        mcamp_gram g;
        double sigma, eps, r, a;
        gram_random(2, trial % 3 == 2 ? 4 : 0, &g);
        sigma = g.max_norm * (0.2 + 0.6 * test_rand());
        eps = 1.5 * g.max_norm / sigma + 1;
        r = delta2(&g, sigma, eps, MCAMP_REMOVE);
        a = delta2(&g, sigma, eps, MCAMP_ADD);
        check_mean(&g, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_MODE, 0, 8, r, 0);
        check_mean(&g, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_SHIFTS, 0, 8, r, 0);
        if (trial % 3 != 2)
            check_mean(&g, sigma, eps, MCAMP_ADD, MCAMP_METHOD_COMMON, 0, 8, a, 0);
        if (trial % 3 != 2)
            check_mean(&g, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_COMMON, 0, 8, r, 0);
        mcamp_gram_free(&ctx, &g);
    }
}

/* ---- ranges ------------------------------------------------------------------------ */

/* S_k(c) = sup over r of r^-k G(c, r), G = r Phi(c - T) - Phi(-T), T = c/2 - log(r)/c:
 * by a fine search with the definition itself, in long double.                      */
static double brute_sup(double c, size_t k)
{
    long double best = -1e4000L;
    for (double T = c / 2 - 3 / c; T < 18; T += 0.002) {
        long double lr = (long double)c * (c / 2 - T);
        long double g = expl(lr) * erfcl((T - c) / sqrtl(2)) / 2 - erfcl(T / sqrtl(2)) / 2;
        if (g > 0) best = fmaxl(best, logl(g) - (long double)k * lr);
    }
    return (double)best;
}

TEST(supremum_along_the_common_direction)
{
    static const double c[] = { 0.05, 0.2, 0.5, 1, 2, 4 };
    static const size_t k[] = { 2, 3, 5, 9, 17 };
    double T = 0;
    for (size_t i = 0; i < 6; i += mt_few(1, 2))
        for (size_t j = 0; j < 5; j++) {
            double got = mcamp__common_log_sup(c[i], k[j], &T), want = brute_sup(c[i], k[j]);
            if (c[i] * (double)k[j] > 12) continue;     /* beyond the search's end */
            CHECK_LE(want, got + 1e-9);
            CHECK_LE(got, want + 1e-4);
        }
    for (size_t k1 = 2; k1 < 200; k1 += mt_few(13, 52))  /* increasing in c: safe if raised */
        for (double x = 1e-7; x < 30; x *= 1.5) {
            double T1 = 0, T2 = 5;
            CHECK_LE(mcamp__common_log_sup(x, k1, &T1),
                     mcamp__common_log_sup(1.5 * x, k1, &T2) + 1e-9);
        }
}

/* log prod z_l of a tuple, by the definition. */
static double tuple_weight(const mcamp__sampler *p, const double *a, const size_t *j)
{
    double total = 0;
    for (size_t l = 1; l < p->k; l++) {
        double z = 0;
        for (size_t i = 0; i < p->m.b; i++) {
            double e = 0;
            for (size_t q = 0; q < l; q++) e += a[i * p->m.b + j[q]];
            z += p->base[i] * exp(e);
        }
        total += log(z);
    }
    return total;
}

/* The largest log weight over all b^k tuples. */
static double worst_tuple(const mcamp__sampler *p, int common)
{
    double a[9], worst = -1e300;
    size_t b = p->m.b, count = 1, j[8];
    for (size_t i = 0; i < b; i++)
        for (size_t q = 0; q < b; q++)
            a[i * b + q] = mcamp__model_a(&p->m, i, q) - (common ? p->m.c[i] * p->m.c[q] : 0);
    for (size_t l = 0; l < p->k; l++) count *= b;
    for (size_t n = 0; n < count; n++) {
        size_t rest = n;
        for (size_t l = 0; l < p->k; l++) { j[l] = rest % b; rest /= b; }
        worst = fmax(worst, tuple_weight(p, a, j));
    }
    return worst;
}

/* log of F / rho_B^k at the point whose off-direction coordinates give w_i = e^{x_i}/b
 * along the curve, F = sum w_i Phi(c_i - T) - e^eps Phi(-T), for COMMON.             */
static double common_value(const mcamp__sampler *p, const double *x)
{
    double lo = -1e4, hi = 1e4, lw[3], base = -mcamp__inf(), up = -mcamp__inf(), lb;
    size_t b = p->m.b;
    lb = log((double)b);
    for (size_t i = 0; i < b; i++) {
        lw[i] = x[i] - lb;
        base = mcamp__log_add(base, log(p->base[i]) + x[i]);
    }
    for (int s = 0; s < 100; s++) {
        double t = 0.5 * (lo + hi), sum = -mcamp__inf();
        for (size_t i = 0; i < b; i++)
            sum = mcamp__log_add(sum, lw[i] + p->m.c[i] * t - p->m.c[i] * p->m.c[i] / 2);
        if (sum < p->eps) lo = t; else hi = t;
    }
    for (size_t i = 0; i < b; i++)
        up = mcamp__log_add(up, lw[i] + mcamp__gauss_logsf(lo - p->m.c[i]));
    return mcamp__log_gap(up, p->eps + mcamp__gauss_logsf(lo)) - (double)p->k * base;
}

/* The largest value over points: all w >= 0 are tried, which contains what X can make
 * of them; vertices (all but one w zero) are where the bound is attained.            */
static double worst_point(const mcamp__sampler *p)
{
    double worst = -1e300, x[3];
    size_t b = p->m.b;
    for (double u = -8; u < 8; u += b == 2 ? 0.05 : 0.2)
        for (size_t at = 0; at < b; at++)
            for (double v = -40; v < 12; v += b == 2 ? 0.5 : 2) {
                for (size_t i = 0; i < b; i++) x[i] = i == at ? u : v;
                if (b == 3) x[(at + 1) % b] = v - 3;
                worst = fmax(worst, common_value(p, x));
            }
    return worst;
}

TEST(small_deltas_of_unlike_modes_are_right_or_not_trusted)
{
    size_t trusted = 0;
    setup();
    for (int trial = 0; trial < 12; trial++) {
        mcamp_gram g;
        mcamp_answer a;
        mcamp_budget bud;
        double sigma, eps, r, d;
        memset(&bud, 0, sizeof bud);
        bud.rel_error = 0.05; bud.max_samples = 200000;
        gram_random(2, 1, &g);
        sigma = g.max_norm * (0.2 + 0.6 * test_rand());
        eps = 1.5 * g.max_norm / sigma + 1;
        r = delta2(&g, sigma, eps, MCAMP_REMOVE);
        d = delta2(&g, sigma, eps, MCAMP_ADD);
        CHECK(mcamp_delta(&ctx, &g, sigma, eps, &bud, &a) >= 0);
        trusted += a.remove.trusted + a.add.trusted;
        if (a.remove.trusted) CHECK_LE(fabs(a.remove.value - r), SIX * a.remove.std_error);
        if (a.add.trusted) CHECK_LE(fabs(a.add.value - d), SIX * a.add.std_error);
        CHECK_LE(r, a.remove.upper);
        CHECK_LE(d, a.add.upper);
        CHECK_LE(a.remove.lower, r);
        CHECK_LE(a.add.lower, d);
        mcamp_gram_free(&ctx, &g);
    }
    CHECK(trusted >= 8);
}

TEST(ranges_are_not_exceeded_and_nearly_attained)
{
    setup();
    for (int trial = 0; trial < 24; trial++) {
        size_t b = 2 + (size_t)trial % 2, k = 2 + (size_t)trial % 4;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        int common = trial % 3 != 0;
        double eps = 0.2 + test_rand(), tuple, point;
        gram_random(b, trial % 2, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        CHECK_STATUS(mcamp__sampler_build(&ctx, &f, g.max_norm, eps, MCAMP_REMOVE,
                     common ? MCAMP_METHOD_COMMON : MCAMP_METHOD_TILTED, k, 0, mcamp__inf(),
                     &p), MCAMP_OK);
        tuple = worst_tuple(&p, common);
        if (common) {
            point = worst_point(&p);
        } else {
            point = -1e300;
            for (double y = eps + 1e-4; y < eps + 8; y += 1e-3)     /* (rho - e^eps) rho^-k */
                point = fmax(point, (1 - (double)k) * y + mcamp__log1mexp(eps - y));
        }
        CHECK_LE(tuple + point, p.log_range);
        /* z_l are largest for equal draws, but not all for the same index; vertices
         * of w are limits of points, the grid is finite */
        CHECK_LE(p.log_range, tuple + point + (common || trial % 2 ? 0.1 : 1e-5));
        mcamp__sampler_free(&ctx, &p);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* A million samples of all laws on all kinds of modes: none beyond its range. */
TEST(no_sample_leaves_its_range)
{
    setup();
    for (int trial = 0; trial < (int)mt_scale(110); trial++) {
        mcamp_gram g;
        double sigma, eps = 3 * test_rand() * test_rand();
        int kind = trial % 5, diagonal;
        gram_random(2 + (size_t)trial % 7, kind, &g);
        diagonal = g.kind == MCAMP_GRAM_DIAGONAL;
        sigma = g.max_norm * exp(2.5 * test_rand() - 1.5);
        for (int m = MCAMP_METHOD_PLAIN; m <= MCAMP_METHOD_MODE; m++) {
            size_t k = trial % 4 ? 0 : 2 + (size_t)(test_rand() * 10);
            if (m == MCAMP_METHOD_MODE) continue;
            if (m == MCAMP_METHOD_COMMON && diagonal) continue;
            CHECK(sample(&g, sigma, eps, MCAMP_REMOVE, (mcamp_method)m, k, 3)
                      .poisoned == 0);
            if (m == MCAMP_METHOD_TILTED) continue;
            if (kind == 3 && eps < 0.7) continue;   /* rho stays above e^-eps with idle modes */
            CHECK(sample(&g, sigma, eps, MCAMP_ADD, (mcamp_method)m, 0, 3).poisoned == 0);
        }
        mcamp_gram_free(&ctx, &g);
    }
}

/* ---- tuples in clusters ---------------------------------------------------------------- */

static void gram_toeplitz(const double *coef, size_t bands, size_t n, size_t b, mcamp_gram *g)
{
    mcamp_mech m;
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_TOEPLITZ;
    d.n = n; d.coef = coef; d.count = bands;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, g), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
}

/* All tuples of k modes as counts, what they move X by, and what the law has to make of them. */
enum { COUNTS_MOST = 1820, SITES_MOST = 13 };
typedef struct counted {
    double n[SITES_MOST], x[SITES_MOST];
    double share;               /* of all tuples */
    double s, weight, hits;     /* S; what a draw said of log Z e^(S - U) */
} counted;

static size_t count_all(const mcamp__model *m, size_t k, counted *all)
{
    double n[SITES_MOST] = { 0 };
    size_t b = m->b, count = 0, i;
    n[0] = (double)k;
    for (;;) {
        counted *t = &all[count++];
        memset(t, 0, sizeof *t);
        memcpy(t->n, n, sizeof n);
        t->share = lgamma((double)k + 1) - (double)k * log((double)b);
        for (i = 0; i < b; i++) {
            t->share -= lgamma(n[i] + 1);
            for (size_t j = 0; j < b; j++) {
                t->x[i] += n[j] * mcamp__model_a(m, i, j);
                t->s += 0.5 * n[i] * (n[j] - (i == j)) * mcamp__model_a(m, i, j);
            }
        }
        t->share = exp(t->share);
        for (i = 0; i + 1 < b && !(n[i] > 0); i++) { }
        if (i + 1 == b) return count;
        double first = n[i];            /* the next one */
        n[i] = 0;
        n[0] = first - 1;
        n[i + 1]++;
    }
}

/* Every tuple with the probability that its weight says, by chi-squared; Z against the sum. */
static void check_clusters(const double *coef, size_t bands, size_t n, size_t b, size_t k,
                           int tight)
{
    static counted all[COUNTS_MOST];
    static double x[SITES_MOST * TILE];
    uint32_t index[3 * 8];
    mcamp_gram g;
    mcamp__factor f;
    mcamp__model m;
    mcamp__clusters c;
    mcamp_rng r;
    double draws = 0, none = 0, moment = 0, sum = 0, chi = 0, cells = 0;
    size_t count;
    gram_toeplitz(coef, bands, n, b, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    CHECK_STATUS(mcamp__model_init(&ctx, &f, g.max_norm * 1.1, &m), MCAMP_OK);
    CHECK_STATUS(mcamp__clusters_init(&ctx, &m, 0.7, k, &c), MCAMP_OK);
    CHECK(c.k == k && f.reach == bands - 1);
    if (bands > 1 && b % f.reach == 0) {        /* as many as could go round */
        mcamp__clusters round;
        CHECK_STATUS(mcamp__clusters_init(&ctx, &m, 0.7, b / f.reach, &round), MCAMP_OK);
        CHECK(!round.k && !round.mem);
    }
    CHECK_NEAR(c.log_range, c.log_z + mcamp__tilted_log_sup(k) - 0.7 * (double)(k - 1), 0, 1e-12);
    count = count_all(&m, k, all);
    for (size_t i = 0; i < count; i++) moment += all[i].share * exp(all[i].s);
    CHECK_LE(moment, exp(c.log_z) * (1 + 1e-12));
    if (tight) CHECK_NEAR(exp(c.log_z), moment, 1e-10, 0);
    mcamp_rng_stream(&r, 17, TEST_PURPOSE, b);
    for (int tile = 0; tile < 900; tile++) {
        memset(x, 0, sizeof x);
        for (size_t s = 0; s < TILE; s++, draws++) {
            double w = mcamp__clusters_draw(&c, &m, &r, s, index, x);
            size_t i = 0, j;
            if (w < -DBL_MAX) { none++; continue; }
            CHECK_LE(w, c.log_z + 1e-12);
            for (; i < count; i++) {
                for (j = 0; j < b && fabs(x[j * TILE + s] - all[i].x[j]) < 1e-9; j++) { }
                if (j == b) break;
            }
            if (i == count) { CHECK(i < count); continue; }
            if (all[i].hits++ > 0) CHECK_NEAR(all[i].weight, w, 0, 1e-12);
            all[i].weight = w;
        }
    }
    for (size_t i = 0; i < count; i++) {
        double least = draws * all[i].share * exp(all[i].s - c.log_z);
        double want = draws * all[i].share * exp(all[i].s - all[i].weight);
        if (!(all[i].hits > 0)) { CHECK_LE(least, 25); sum += least; continue; }
        sum += want;
        if (want < 5) continue;
        chi += (all[i].hits - want) * (all[i].hits - want) / want;
        cells++;
    }
    CHECK_LE(chi, cells + 6 * sqrt(2 * cells) + 20);
    CHECK_LE(fabs(draws - none - sum), SIX * sqrt(draws) * 0.5 + 1e-9 * draws);
    if (tight) CHECK(!(none > 0));
    mcamp__clusters_free(&ctx, &c);
    mcamp__model_free(&ctx, &m);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

TEST(clusters_are_drawn_by_their_law)
{
    static const double one[1] = { 1 }, two[2] = { 1, 0.8 }, three[3] = { 1, 0.6, 0.3 },
        odd[4] = { 1, 0.1, 0.1, 0.9 };
    setup();
    check_clusters(one, 1, 12, 4, 5, 1);
    check_clusters(one, 1, 8, 3, 4, 0);         /* one mode shorter */
    check_clusters(two, 2, 12, 6, 5, 0);
    check_clusters(three, 3, 31, 9, 4, 0);      /* corners of the circle that differ */
    check_clusters(odd, 4, 37, 13, 4, 0);       /* farther modes meet more */
}

/* Values of both laws against quadrature and section exact, bounds as bounds. */
TEST(values_by_clusters)
{
    static const double two[2] = { 1, 0.7 }, one[1] = { 1 };
    setup();
    for (int i = 0; i < 3; i++) {
        static double C[64];
        static ref_matrix a;
        size_t b = i ? 9 : 3, n = i == 1 ? 27 : i ? 22 : 7, missed = 0;
        double eps = 0.6, low, high, sigma;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        mcamp__workers w;
        mcamp_tally *t = tally_new();
        sampled s;
        gram_toeplitz(i ? one : two, i ? 1 : 2, n, b, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        sigma = g.max_norm * (i ? 0.6 : 0.8);
        if (!i) {
            for (size_t r = 0; r < n; r++)
                for (size_t q = 0; q < n; q++) C[r * n + q] = r >= q && r - q < 2 ? two[r - q] : 0;
            ref_modes(C, n, b, sigma, a);
            low = high = ref_quadrature(a, b, eps, 0, 1e-7);
        } else {
            mcamp_interval v;
            CHECK_STATUS(mcamp__exact_interval(&ctx, &f, sigma, eps, MCAMP_REMOVE, 1, &v),
                         MCAMP_OK);
            low = v.lower; high = v.upper;
        }
        s = sample(&g, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_TILTED, 2, 40);
        CHECK(s.mean >= low - SIX * s.err && s.mean <= high + SIX * s.err && !s.poisoned);
        CHECK_STATUS(mcamp__sampler_build(&ctx, &f, sigma, eps, MCAMP_REMOVE, MCAMP_METHOD_TILTED,
                                          2, 0, mcamp__inf(), &p), MCAMP_OK);
        CHECK(p.clusters.k == 2);
        CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
        for (uint64_t trial = 0; trial < 150; trial++) {
            mcamp__tally_init(&p, t);
            CHECK_STATUS(mcamp__run_blocks(&ctx, &p, &w, 5, TEST_PURPOSE, trial, 1, t), MCAMP_OK);
            missed += mcamp_tally_upper(t, 0.1) < low;
        }
        mcamp__workers_free(&ctx, &w);
        mcamp__sampler_free(&ctx, &p);
        free(t);
        CHECK(missed <= binomial_limit(150, 0.1, 1e-9));
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* The law for a proof: in clusters where its range is well below that of COMMON. */
TEST(few_bands_are_proved_by_clusters)
{
    static const struct {
        const char *c;
        size_t n, b;
        double sigma;
        mcamp_method method;
    } cases[] = {
        { "sqrt:2", 256, 64, 2.5, MCAMP_METHOD_TILTED },
        { "sqrt:4", 197, 50, 3.4, MCAMP_METHOD_TILTED },
        { "sqrt:4", 64, 16, 12, MCAMP_METHOD_COMMON },
        { "sqrt:0", 64, 16, 9, MCAMP_METHOD_COMMON },
        { "identity", 64, 16, 2, MCAMP_METHOD_TILTED },
        { "sqrt:8", 100, 50, 2, MCAMP_METHOD_COMMON },
    };
    setup();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p, other;
        gram_make(cases[i].c, "raw", cases[i].n, cases[i].b, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        CHECK_STATUS(mcamp__sampler_build(&ctx, &f, cases[i].sigma, 1, MCAMP_REMOVE,
                                          MCAMP_METHOD_DEFAULT, 0, 0, mcamp__inf(), &p), MCAMP_OK);
        CHECK(p.method == cases[i].method);
        if (i == 2) {                   /* orders that do not fit round the circle would do */
            mcamp__clusters c;
            CHECK_STATUS(mcamp__clusters_init(&ctx, &p.m, 1, 0, &c), MCAMP_OK);
            CHECK(!c.k && !c.mem);
        }
        if (p.clusters.k) CHECK_NEAR(p.log_range, p.clusters.log_range, 0, 2e-9);
        for (size_t k = p.k - 1; k < p.k + 2; k++) {    /* of smallest range, nearly */
            if (!k || !p.clusters.k) continue;
            CHECK_STATUS(mcamp__sampler_build(&ctx, &f, cases[i].sigma, 1, MCAMP_REMOVE,
                                              p.method, k, 0, mcamp__inf(), &other), MCAMP_OK);
            CHECK_LE(p.log_range, other.log_range);
            CHECK(other.clusters.k == k);
            mcamp__sampler_free(&ctx, &other);
        }
        if (f.diagonal)                 /* tables that overflow */
            CHECK_STATUS(mcamp__sampler_build(&ctx, &f, 0.01, 1, MCAMP_REMOVE, p.method, 3, 0,
                                              mcamp__inf(), &other), MCAMP_E_ARG);
        mcamp__sampler_free(&ctx, &p);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* A tile in which one sample has a loss that is no number. */
static int spoilt_values(const mcamp__sampler *p)
{
    mcamp__scratch w;
    mcamp__rng8 normals;
    mcamp_rng r;
    int bad = 0;
    CHECK_STATUS(mcamp__scratch_init(&ctx, p, &w), MCAMP_OK);
    mcamp__rng8_stream(&normals, 5, TEST_PURPOSE, 0);
    mcamp_rng_stream(&r, 5, TEST_PURPOSE, 0);
    mcamp__vec_normals(ctx.vec, &normals, w.z, p->m.b * TILE);
    mcamp__vec_trmm(ctx.vec, &p->m.L, w.z, TILE, w.x);
    w.x[7] = w.x[TILE + 7] = mcamp__nan();
    if (p->tuple.b) mcamp__vec_draw_tuples(ctx.vec, &p->tuple, &r, w.work, w.index, w.log_z);
    if (p->dir == MCAMP_REMOVE && p->method == MCAMP_METHOD_COMMON)
        mcamp__tile_common(ctx.vec, p, &w);
    else if (p->dir == MCAMP_REMOVE) mcamp__tile_tilted(ctx.vec, p, &w);
    else if (p->method == MCAMP_METHOD_PLAIN) mcamp__tile_plain_add(ctx.vec, p, &w);
    else mcamp__tile_common_add(ctx.vec, p, &w);
    CHECK(mcamp__isnan(w.v[7]));
    for (size_t s = 0; s < TILE; s++) bad += mcamp__isnan(w.v[s]);
    mcamp__scratch_free(&ctx, &w);
    return bad;
}

TEST(what_is_no_number_is_not_counted_as_nothing)
{
    static const mcamp_method method[] = { MCAMP_METHOD_PLAIN, MCAMP_METHOD_TILTED,
        MCAMP_METHOD_COMMON };
    mcamp_gram g;
    setup();
    for (int i = 0; i < 6; i++) {
        mcamp_direction dir = i % 2 ? MCAMP_ADD : MCAMP_REMOVE;
        mcamp_method m = method[i / 2];
        mcamp__factor f;
        mcamp__sampler p;
        gram_random(4, 1, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        if (mcamp__method_fits(&f, dir, m)) {
            CHECK_STATUS(mcamp__sampler_build(&ctx, &f, 1.5 * g.max_norm, 0.5, dir, m, 0, 0,
                                              mcamp__inf(), &p), MCAMP_OK);
            if (m == MCAMP_METHOD_MODE) p.tile = mcamp__tile_mode;
            CHECK(spoilt_values(&p) == 1);
            mcamp__sampler_free(&ctx, &p);
        }
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
    CHECK(mcamp__isnan(mcamp__log_gap(mcamp__nan(), 0)));
    CHECK(mcamp__isnan(mcamp__log_gap(0, mcamp__nan())));
}

/* The root is farther off than sixty steps go. */
TEST(a_root_that_was_not_found_is_no_number)
{
    static const double off[2] = { 0, 0 }, slope[2] = { 1e-3, 1e-3 };
    mcamp_gram g;
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__scratch w;
    setup();
    gram_random(2, 1, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    CHECK_STATUS(mcamp__sampler_build(&ctx, &f, g.max_norm, 1, MCAMP_ADD, MCAMP_METHOD_COMMON, 0, 0,
                                      mcamp__inf(), &p), MCAMP_OK);
    CHECK_STATUS(mcamp__scratch_init(&ctx, &p, &w), MCAMP_OK);
    for (int far = 0; far < 2; far++) {
        memset(w.x, 0, 2 * TILE * sizeof *w.x);
        for (size_t s = 0; s < TILE; s++) w.t[s] = w.skip[s] = 0;
        mcamp__solve_tile(ctx.vec, w.x, 2, off, slope, 0, far ? 1e4 : 2, &w);
        for (size_t s = 0; s < TILE; s++) CHECK(mcamp__isnan(w.t[s]) == far);
    }
    mcamp__scratch_free(&ctx, &w);
    mcamp__sampler_free(&ctx, &p);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* The bound of the add direction without samples is above the exact value. */
/* With idle modes rho is at least their share: add is 0 once that is e^-eps, not before. */
TEST(add_is_nothing_only_where_enough_modes_are_idle)
{
    double entries[25];
    mcamp_gram g;
    mcamp__factor f;
    mcamp__question q;
    mcamp__choice c;
    mcamp__sampler p;
    setup();
    memset(&c, 0, sizeof c);
    c.method = MCAMP_METHOD_COMMON;
    for (size_t idle = 1; idle < 5; idle++)
        for (int above = 0; above < 2; above++) {
            double eps = log(5 / (double)idle) + (above ? 1e-6 : -1e-6);
            memset(entries, 0, sizeof entries);
            for (size_t i = idle; i < 5; i++) entries[6 * i] = 0.5 + (double)i;
            gram_user(entries, 5, &g);
            CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
            q = mcamp__ask(&f, 1, eps, MCAMP_ADD, 1);
            CHECK_STATUS(mcamp__choice_open(&ctx, &q, &c, &p), MCAMP_OK);
            CHECK(p.never == above);
            mcamp__choice_close(&ctx, &p);
            mcamp__factor_free(&ctx, &f);
            mcamp_gram_free(&ctx, &g);
        }
}

TEST(bound_without_samples_is_a_bound)
{
    setup();
    for (int trial = 0; trial < 30; trial++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__model m;
        double sigma, eps = 3 * test_rand(), exact;
        gram_random(2, trial % 3 == 2 ? 4 : trial % 2, &g);
        sigma = g.max_norm * (0.2 + test_rand());
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        CHECK_STATUS(mcamp__model_init(&ctx, &f, sigma, &m), MCAMP_OK);
        exact = delta2(&g, sigma, eps, MCAMP_ADD);
        CHECK_LE(exact * (1 - 1e-9), exp(mcamp__add_log_bound(&m, eps)));
        mcamp__model_free(&ctx, &m);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* ---- the same bits --------------------------------------------------------------- */

static void run_split(const mcamp_sampler *s, const int *order, int parts, mcamp_tally *t)
{
    memset(t, 0, sizeof *t);
    for (int i = 0; i < parts; i++) {
        uint64_t first = (uint64_t)order[i] * 42 / (uint64_t)parts;
        uint64_t end = (uint64_t)(order[i] + 1) * 42 / (uint64_t)parts;
        mcamp_tally *one = tally_new();
        CHECK_STATUS(mcamp_sampler_run(&ctx, s, 5, first, end - first, one), MCAMP_OK);
        CHECK_STATUS(mcamp_tally_merge(&ctx, t, one), MCAMP_OK);
        free(one);
    }
}

/* Public samplers draw the stream of estimates, whatever else shares their seed. */
static void check_stream(const mcamp_sampler *s, int dir, mcamp_tally *a, mcamp_tally *b)
{
    mcamp__workers w;
    uint32_t purpose = (uint32_t)MCAMP__STREAM_ESTIMATE << 16 | (uint32_t)dir;
    memset(a, 0, sizeof *a);
    CHECK_STATUS(mcamp_sampler_run(&ctx, s, 5, 3, 2, a), MCAMP_OK);
    mcamp__tally_init(s->impl, b);
    CHECK_STATUS(mcamp__workers_init(&ctx, s->impl, &w), MCAMP_OK);
    CHECK_STATUS(mcamp__run_blocks(&ctx, s->impl, &w, 5, purpose, 3, 2, b), MCAMP_OK);
    mcamp__workers_free(&ctx, &w);
    CHECK(!memcmp(a, b, sizeof *a));
}

TEST(any_split_in_any_order_gives_the_same_bytes)
{
    static const int count[] = { 2, 3, 7 };
    mcamp_tally *whole = tally_new(), *t = tally_new();
    setup();
    for (int m = MCAMP_METHOD_PLAIN; m <= MCAMP_METHOD_MODE; m++)
        for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
            mcamp_sampler_desc d;
            mcamp_sampler s;
            mcamp_gram g;
            memset(&d, 0, sizeof d);
            d.direction = (mcamp_direction)dir;
            d.method = (mcamp_method)m;
            d.eps = 0.5;
            gram_make(m == MCAMP_METHOD_TILTED ? "identity" : "sqrt:3", "raw", 24, 6, &g);
            d.sigma = g.max_norm;
            memset(&s, 0, sizeof s);
            if (mcamp_sampler_init(&ctx, &g, &d, &s) == MCAMP_OK) {
                memset(whole, 0, sizeof *whole);
                CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 5, 0, 42, whole), MCAMP_OK);
                CHECK(whole->count == 42 * MCAMP_BLOCK && !whole->poisoned);
                for (int c = 0; c < 3; c++) {
                    int order[7] = { 0, 1, 2, 3, 4, 5, 6 };
                    for (int i = count[c] - 1; i > 0; i--) {
                        int j = (int)(test_rand() * (i + 1)), swap = order[i];
                        order[i] = order[j]; order[j] = swap;
                    }
                    run_split(&s, order, count[c], t);
                    CHECK(!memcmp(whole, t, sizeof *t));
                }
                check_stream(&s, dir, whole, t);
                mcamp_sampler_free(&ctx, &s);
            }
            mcamp_gram_free(&ctx, &g);
        }
    free(whole); free(t);
}

static double run_with(const mcamp_ctx_desc *desc, const mcamp_gram *g, mcamp_method m,
                       mcamp_direction dir, mcamp_tally *t)
{
    mcamp_ctx c;
    mcamp_sampler_desc d;
    mcamp_sampler s;
    memset(&d, 0, sizeof d);
    memset(t, 0, sizeof *t);
    d.direction = dir; d.method = m; d.eps = 0.7; d.sigma = g->max_norm;
    CHECK_STATUS(mcamp_ctx_init(&c, desc), MCAMP_OK);
    if (mcamp_sampler_init(&c, g, &d, &s) < 0) return 0;    /* does not fit this matrix */
    CHECK_STATUS(mcamp_sampler_run(&c, &s, 77, 0, 11, t), MCAMP_OK);
    CHECK(!t->poisoned);
    mcamp_sampler_free(&c, &s);
    return mcamp_tally_mean(t);
}

TEST(threads_change_nothing_and_vector_sets_next_to_nothing)
{
    static const size_t width[] = { 2, 3, 8 };
    mcamp_tally *one = tally_new(), *t = tally_new();
    setup();
    for (int q = 0; q < 2; q++) {
        mcamp_gram g;
        gram_make(q ? "identity" : "sqrt:0", "raw", 30, 10, &g);
        for (int m = MCAMP_METHOD_PLAIN; m <= MCAMP_METHOD_MODE; m++)
            for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
                mcamp_ctx_desc d;
                double mean;
                memset(&d, 0, sizeof d);
                mean = run_with(&d, &g, (mcamp_method)m, (mcamp_direction)dir, one);
                for (int i = 0; i < 3; i++) {
                    d.parallel = mcamp_parallel_threads(width[i]);
                    run_with(&d, &g, (mcamp_method)m, (mcamp_direction)dir, t);
                    CHECK(!memcmp(one, t, sizeof *t));
                }
                memset(&d, 0, sizeof d);
                for (int set = MCAMP_VEC_SCALAR; set <= MCAMP_VEC_AVX512; set++) {
                    d.vec = (mcamp_vecset)set;
                    if (!mcamp__vecset_available(d.vec)) continue;
                    CHECK_NEAR(run_with(&d, &g, (mcamp_method)m, (mcamp_direction)dir, t), mean,
                               1e-10, 0);
                }
            }
        mcamp_gram_free(&ctx, &g);
    }
    free(one); free(t);
}

/* ---- draws that are kept ------------------------------------------------------------ */

static void kept_into(size_t threads, const mcamp__question *q, const mcamp__choice *c,
                      uint64_t blocks, mcamp__kept *k, mcamp_tally *t)
{
    mcamp_ctx_desc d;
    mcamp_ctx own;
    memset(&d, 0, sizeof d);
    if (threads > 1) d.parallel = mcamp_parallel_threads(threads);
    CHECK_STATUS(mcamp_ctx_init(&own, &d), MCAMP_OK);
    memset(t, 0, sizeof *t);
    CHECK_STATUS(mcamp__kept_run(&own, q, c, TEST_PURPOSE | (uint32_t)q->dir, blocks, k, t),
                 MCAMP_OK);
    CHECK(!t->poisoned);
    CHECK(t->count * (uint64_t)mcamp__tally_lump(t) == blocks * MCAMP_BLOCK);
}

/* At every sigma what is kept gives what drawing anew would, whichever law and direction drew
 * it, for any number of threads; and the means are those of other draws.               */
TEST(kept_draws_are_those_of_each_sigma)
{
    static const mcamp_method method[3] = { MCAMP_METHOD_COMMON, MCAMP_METHOD_MODE,
                                            MCAMP_METHOD_SHIFTS };
    mcamp_tally *t = tally_new(), *u = tally_new();
    mcamp_gram g;
    mcamp__factor f;
    mcamp__kept kept, fresh;
    setup();
    gram_make("sqrt:0", "raw", 40, 20, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    memset(&kept, 0, sizeof kept);
    for (int i = 0; i < 8; i++) {
        mcamp_direction dir = i % 4 < 3 ? MCAMP_REMOVE : MCAMP_ADD;
        mcamp__question q = mcamp__ask(&f, g.max_norm * (0.8 + 0.1 * i), 0.5, dir, 5);
        uint64_t blocks = i == 2 ? 1 : i < 5 ? 3 : 7;   /* there is less, enough, more */
        double err;
        mcamp__choice c;
        memset(&c, 0, sizeof c);
        memset(&fresh, 0, sizeof fresh);
        c.method = method[i % 4 % 3];
        c.log_scale = mcamp__estimate_scale(&q, mcamp__inf());
        CHECK(mcamp__kept_fits(&q, blocks));
        kept_into((size_t)(i % 3 + 1), &q, &c, blocks, &kept, t);
        kept_into(1, &q, &c, blocks, &fresh, u);
        CHECK(!memcmp(t, u, sizeof *t));
        CHECK_STATUS(mcamp__question_run(&ctx, &q, &c, TEST_PURPOSE | (uint32_t)dir, 8, 0, u),
                     MCAMP_OK);
        err = sqrt(pow(mcamp_tally_std_error(t), 2) + pow(mcamp_tally_std_error(u), 2));
        CHECK_LE(fabs(mcamp_tally_mean(t) - mcamp_tally_mean(u)), SIX * err);
        CHECK_LE(err, 0.3 * mcamp_tally_mean(u));
        mcamp__buf_free(&ctx, &fresh.x);
    }
    {
        mcamp__question q = mcamp__ask(&f, 1, 1, MCAMP_REMOVE, 5);
        uint64_t most = (UINT64_C(1) << 23) / MCAMP_BLOCK / f.b;      /* 64 MB */
        CHECK(mcamp__kept_fits(&q, most) && !mcamp__kept_fits(&q, most + 1));
    }
    mcamp__buf_free(&ctx, &kept.x);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    free(t); free(u);
}

/* A mixture's pilot tells the same whatever the number of threads, of each block its own. */
TEST(threads_do_not_move_a_pilot)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__question q;
    mcamp__choice c;
    mcamp__sampler p;
    double *rec[2];
    size_t each, bytes;
    setup();
    gram_make("sqrt:4", "raw", 40, 40, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    q = mcamp__ask(&f, 1, 1, MCAMP_REMOVE, 5);
    memset(&c, 0, sizeof c);
    c.method = MCAMP_METHOD_SHIFTS;
    CHECK_STATUS(mcamp__choice_open(&ctx, &q, &c, &p), MCAMP_OK);
    each = MCAMP_BLOCK / 16 * p.mix->picks * (p.mix->count + 2);
    bytes = 5 * each * sizeof(double);
    for (int i = 0; i < 2; i++) {
        mcamp_ctx_desc d;
        mcamp_ctx own;
        memset(&d, 0, sizeof d);
        if (i) d.parallel = mcamp_parallel_threads(3);
        CHECK_STATUS(mcamp_ctx_init(&own, &d), MCAMP_OK);
        rec[i] = (double *)malloc(bytes);
        memset(rec[i], 0xff, bytes);            /* NaNs */
        CHECK_STATUS(mcamp__mix_run(&own, &q, &p, 0, 0, 5, rec[i], 5 * each), MCAMP_OK);
    }
    for (size_t i = 0; i < 5 * each; i++) CHECK(!mcamp__isnan(rec[0][i]));
    CHECK(!memcmp(rec[0], rec[1], bytes));
    for (size_t i = 1; i < 5; i++)
        CHECK(memcmp(rec[0], rec[0] + i * each, each * sizeof(double)));
    mcamp__choice_close(&ctx, &p);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    free(rec[0]); free(rec[1]);
}

/* A block of many modes is the work of all threads, and the same bits for any number of them;
 * no two blocks have samples in common. */
/* Whether this machine's processors count together. */
#if defined(MCAMP_PTHREADS) && defined(__GCC_ATOMIC_LLONG_LOCK_FREE)
#  define PARTS_ARE_TAKEN (__GCC_ATOMIC_LLONG_LOCK_FREE > 1)
#else
#  define PARTS_ARE_TAKEN 0
#endif

TEST(parts_of_a_block_are_tasks)
{
    mcamp_gram g;
    mcamp_sampler_desc d;
    mcamp_sampler s;
    mcamp_tally *t[5];
    setup();
    for (int i = 0; i < 5; i++) t[i] = tally_new();
    gram_make("identity", "raw", 512, 512, &g);
    memset(&d, 0, sizeof d);
    d.direction = MCAMP_ADD; d.method = MCAMP_METHOD_PLAIN; d.sigma = 1; d.eps = 0.01;
    CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &d, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 5, 0, 2, t[0]), MCAMP_OK);
    for (uint64_t k = 0; k < 2; k++)
        CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 5, k, 1, t[1 + k]), MCAMP_OK);
    CHECK(memcmp(t[1]->n, t[2]->n, sizeof t[1]->n));
    CHECK_STATUS(mcamp_tally_merge(&ctx, t[1], t[2]), MCAMP_OK);
    CHECK(!memcmp(t[0], t[1], sizeof *t[0]));
    CHECK(t[0]->count == 2 * MCAMP_BLOCK && !t[0]->poisoned);
    CHECK(t[0]->n[0] < 1800);
    {
        mcamp_ctx_desc of;
        mcamp_ctx own;
        mcamp__workers w;
        memset(&of, 0, sizeof of);
        of.parallel = mcamp_parallel_threads(3);
        CHECK_STATUS(mcamp_ctx_init(&own, &of), MCAMP_OK);
        CHECK_STATUS(mcamp_sampler_run(&own, &s, 5, 0, 2, t[3]), MCAMP_OK);
        CHECK(!memcmp(t[0], t[3], sizeof *t[0]));
        CHECK_STATUS(mcamp__workers_init(&own, s.impl, &w), MCAMP_OK);
        mcamp__tally_init(s.impl, t[4]);
        CHECK_STATUS(mcamp__run_blocks(&own, s.impl, &w, 5, TEST_PURPOSE, 0, 1, t[4]), MCAMP_OK);
        for (size_t i = 0, sum = 0; i < 3 && own.parallel.run; i++) {
            CHECK(w.tally[i].count >= TILE);    /* not every machine has threads */
            sum += (size_t)w.tally[i].count;
            CHECK(i < 2 || sum == MCAMP_BLOCK);
        }
        own.parallel.run = mt_backwards; own.parallel.user = NULL; own.parallel.width = w.count;
        CHECK_STATUS(mcamp__run_blocks(&own, s.impl, &w, 5, TEST_PURPOSE, 0, 1, t[4]), MCAMP_OK);
        if (w.count == 3) {     /* the task that begins takes all but what others begin with */
            CHECK(w.tally[0].count == (PARTS_ARE_TAKEN ? 1u : 6u) * TILE);
            CHECK(w.tally[1].count == (PARTS_ARE_TAKEN ? 1u : 5u) * TILE);
            CHECK(w.tally[2].count == (PARTS_ARE_TAKEN ? 14u : 5u) * TILE);
        }
        mcamp__workers_free(&own, &w);
        CHECK(mcamp_sampler_run(&own, &s, 5, UINT64_MAX / MCAMP_BLOCK, 1, t[4]) == MCAMP_E_SIZE);
    }
    mcamp_sampler_free(&ctx, &s);
    mcamp_gram_free(&ctx, &g);
    for (int i = 0; i < 5; i++) free(t[i]);
}

static void spoil(mcamp__buf *stack)
{
    mcamp__buf at = *stack, next;
    for (; at.p; at = next) {
        memcpy(&next, at.p, sizeof next);
        for (size_t i = sizeof next / sizeof(double); i < at.count; i++) at.p[i] = mcamp__nan();
    }
}

/* Every law twice, the second time where the first and others have left their memory with
 * something in it: the same samples.                                                   */
TEST(memory_left_by_others_is_not_read)
{
    static const struct { const char *c; size_t n, b; } shapes[] = {
        { "sqrt:4", 100, 100 }, { "sqrt:0", 60, 30 }, { "sqrt:3", 130, 45 },
        { "sqrt:2", 100, 100 } };       /* rows of few kinds */
    static const struct { mcamp_direction dir; mcamp_method how; size_t k; double log_scale; }
    laws[] = {
        { MCAMP_REMOVE, MCAMP_METHOD_SHIFTS, 0, 0 }, { MCAMP_REMOVE, MCAMP_METHOD_COMMON, 5, 0 },
        { MCAMP_REMOVE, MCAMP_METHOD_TILTED, 3, 0 }, { MCAMP_REMOVE, MCAMP_METHOD_SHIFTS, 12, 0 },
        { MCAMP_REMOVE, MCAMP_METHOD_COMMON, 0, 0 }, { MCAMP_REMOVE, MCAMP_METHOD_MODE, 0, -20 },
        { MCAMP_REMOVE, MCAMP_METHOD_PLAIN, 0, 0 }, { MCAMP_ADD, MCAMP_METHOD_COMMON, 0, 0 },
        { MCAMP_ADD, MCAMP_METHOD_MODE, 0, -20 } };
    enum { LAWS = sizeof laws / sizeof *laws };
    setup();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        mcamp_tally *t = (mcamp_tally *)calloc(2 * LAWS, sizeof *t);
        mcamp_gram g;
        mcamp__factor f;
        CHECK(t != NULL);
        if (!t) return;
        gram_make(shapes[i].c, "raw", shapes[i].n, shapes[i].b, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        for (size_t k = 0; k < 2 * LAWS; k++) {
            mcamp__question q = mcamp__ask(&f, 1.4, 0.5, laws[k / 2].dir, 5);
            double share[sizeof ((mcamp__mixture *)0)->share / sizeof(double)];
            mcamp__choice c;
            mcamp__sampler p;
            mcamp__workers w;
            memset(&c, 0, sizeof c);
            c.method = laws[k / 2].how;
            c.k = laws[k / 2].k;
            c.log_scale = laws[k / 2].log_scale;
            CHECK_STATUS(mcamp__choice_open(&ctx, &q, &c, &p), MCAMP_OK);
            if (p.mix && p.mix->count > 4) {        /* one left out */
                memcpy(share, p.mix->share, sizeof share);
                share[1] = 0;
                mcamp__mix_share(&p, share);
            }
            CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
            mcamp__tally_init(&p, &t[k]);
            CHECK_STATUS(mcamp__run_blocks(&ctx, &p, &w, 5, TEST_PURPOSE, 0, 2, &t[k]), MCAMP_OK);
            mcamp__workers_free(&ctx, &w);
            mcamp__choice_close(&ctx, &p);
            spoil(&f.lent->tiles);
            spoil(&f.lent->around);
            spoil(&f.lent->tuples);
            CHECK(!t[k].poisoned && t[k].count && mcamp_tally_mean(&t[k]) >= 0);
            CHECK(k % 2 == 0 || !memcmp(&t[k], &t[k - 1], sizeof *t));
        }
        CHECK(f.lent->tiles.p && (f.lent->around.p || i == 1));
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
        free(t);
    }
}

/* Ranges are proved for orders up to 200; a range that is far above the values is not what their
 * tally's digits are counted from.                                                        */
TEST(orders_and_scales_have_an_end)
{
    mcamp_gram g;
    mcamp_sampler_desc d;
    mcamp_sampler s;
    mcamp__factor f;
    mcamp__question q;
    setup();
    gram_make("sqrt:2", "raw", 16, 8, &g);
    memset(&d, 0, sizeof d);
    d.direction = MCAMP_REMOVE; d.method = MCAMP_METHOD_TILTED; d.sigma = g.max_norm; d.eps = 1;
    d.order = 201;
    CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &d, &s), MCAMP_E_ARG);
    d.order = 200;
    CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &d, &s), MCAMP_OK);
    mcamp_sampler_free(&ctx, &s);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    q = mcamp__ask(&f, g.max_norm, 1, MCAMP_REMOVE, 1);
    CHECK_NEAR(mcamp__estimate_scale(&q, 1e4), mcamp__loose_scale(&f, q.sigma, 1) + 30, 1e-12, 0);
    CHECK_NEAR(mcamp__estimate_scale(&q, -20), -20, 0, 0);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* A whole search has the same bits for any number of threads: pilots and kept draws, too. */
TEST(threads_do_not_move_a_search)
{
    mcamp_gram g;
    mcamp_answer one, a;
    mcamp_budget bud;
    setup();
    memset(&bud, 0, sizeof bud);
    bud.rel_error = 0.05; bud.seed = 3;
    gram_make("sqrt:4", "raw", 40, 40, &g);
    for (size_t n = 1; n <= 3; n += 2) {
        mcamp_ctx_desc d;
        mcamp_ctx own;
        memset(&d, 0, sizeof d);
        if (n > 1) d.parallel = mcamp_parallel_threads(n);
        CHECK_STATUS(mcamp_ctx_init(&own, &d), MCAMP_OK);
        CHECK(mcamp_sigma(&own, &g, 2, 1e-4, &bud, n > 1 ? &a : &one) >= 0);
    }
    CHECK(!memcmp(&one.sigma, &a.sigma, sizeof a.sigma));
    CHECK(!memcmp(&one.delta, &a.delta, sizeof a.delta) && one.samples == a.samples);
    mcamp_gram_free(&ctx, &g);
}

/* ---- estimates ---------------------------------------------------------------------- */

/* An estimate that its samples cannot carry says so, a value of 0 included. */
TEST(estimates_without_decisive_samples_are_not_trusted)
{
    static const mcamp_method m[] = { MCAMP_METHOD_PLAIN, MCAMP_METHOD_TILTED };
    mcamp_gram g;
    mcamp_answer a;
    mcamp_budget bud;
    setup();
    gram_make("identity", "raw", 2048, 128, &g);
    for (int i = 0; i < 2; i++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            memset(&bud, 0, sizeof bud);
            bud.method = m[i]; bud.max_samples = 4096; bud.seed = seed;
            CHECK_STATUS(mcamp_delta(&ctx, &g, 4.6, 1, &bud, &a), MCAMP_Q_UNTRUSTED);
            CHECK(!a.remove.trusted);
            CHECK_LE(5.3305e-10, a.delta_upper);
            CHECK_LE(a.remove.lower, 5.3306e-10);
        }
    memset(&bud, 0, sizeof bud);            /* the default finds it: [1e-7 case] */
    bud.rel_error = 0.02;
    CHECK(mcamp_delta(&ctx, &g, 3.9, 1, &bud, &a) >= 0);
    CHECK_LE(fabs(a.delta - 1.8455e-7), SIX * a.std_error + 1e-11);
    mcamp_gram_free(&ctx, &g);
}

/* eps from 0 to where e^eps overflows, modes from short to 900 sigma: bounds are in
 * order, nothing is NaN, and delta does not exceed the unamplified one.              */
TEST(far_out_questions_have_answers)
{
    static const double eps[] = { 0, 1e-9, 0.5, 8, 120, 550, 750, 1e5 };
    static const double length[] = { 1e-9, 1e-5, 0.05, 1, 30, 900 };
    mcamp_budget bud;
    setup();
    memset(&bud, 0, sizeof bud);
    bud.max_samples = 2048;
    for (int q = 0; q < 4; q++) {
        mcamp_gram g;
        gram_make(q % 2 ? "identity" : "sqrt:4", "raw", 12, q < 2 ? 4 : 15, &g);
        for (int i = 0; i < 48; i++) {
            mcamp_answer a;
            mcamp_status st = mcamp_delta(&ctx, &g, g.max_norm / length[i / 8], eps[i % 8], &bud,
                                          &a);
            char text[80];
            int ok = st == MCAMP_OK || st == MCAMP_Q_UNTRUSTED || st == MCAMP_Q_BUDGET;
            snprintf(text, sizeof text, "case %d, length %g, eps %g: status %d %s", q,
                     length[i / 8], eps[i % 8], (int)st,
                     st < 0 ? mcamp_last_error(&ctx).argument : "");
            mt_check(ok, __FILE__, __LINE__, text);
            if (!ok) continue;
            CHECK(mcamp__finite(a.delta) && a.delta >= 0 && a.delta_upper <= 1);
            CHECK_LE(a.delta_upper, fmax(a.unamplified * (1 + 1e-6), DBL_MIN));
            CHECK_LE(a.remove.lower, a.remove.upper);
            CHECK_LE(a.add.lower, a.add.upper);
            CHECK_LE(a.remove.lower, fmax(a.delta_upper, 0));
        }
        mcamp_gram_free(&ctx, &g);
    }
}

/* What is certain, against an estimate, case by case. */
TEST(what_is_certain_rules_an_estimate)
{
    mcamp_estimate e;
    mcamp__question q;
    mcamp__factor f;
    mcamp__choice proof;
    mcamp_budget bud;
    mcamp_tally t;
    memset(&q, 0, sizeof q); memset(&e, 0, sizeof e); memset(&bud, 0, sizeof bud);
    memset(&proof, 0, sizeof proof); memset(&t, 0, sizeof t);
    memset(&f, 0, sizeof f);
    q.f = &f;
    q.dir = MCAMP_ADD;
    q.low = 0.5; e.upper = 0.50001;
    CHECK(mcamp__question_known(&q, 0.01, &e) && e.direction == MCAMP_ADD);
    CHECK_NEAR(e.std_error, 1e-5, 1e-9, 0);
    q.low = 0.1; q.high = 0.2;
    e.value = 0.3; e.std_error = 0.01;          /* ten errors beyond: moved, not believed */
    CHECK(!mcamp__estimate_agrees(&q, 0.3, &e));
    CHECK_NEAR(e.value, 0.2, 0, 0);
    e.value = 0.05; e.std_error = 0.001;
    CHECK(!mcamp__estimate_agrees(&q, 0.1, &e));
    CHECK_NEAR(e.value, 0.1, 0, 0);
    e.value = 0.15; e.std_error = 0.01;
    CHECK(mcamp__estimate_agrees(&q, 0.15, &e));
    e.value = 0.15; e.std_error = 0.09;         /* an error that says nothing */
    CHECK(!mcamp__estimate_agrees(&q, 0.15, &e));
    memset(&e, 0, sizeof e);                    /* far below the floor */
    q.low = 0; q.high = e.upper = 0.5; q.floor = 1;
    e.value = 0.01; e.std_error = 1e-6;
    CHECK_STATUS(mcamp__prove_estimate(&ctx, &q, &proof, 0, &bud, &t, &e), MCAMP_OK);
    CHECK_LE(0.49, e.std_error);
}

/* The samples of the proof, against a value that claims to be better known than it is. */
TEST(a_value_that_its_proof_contradicts_is_not_trusted)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__question q;
    mcamp__choice proof;
    mcamp__sampler ready;
    mcamp_budget bud;
    mcamp_tally *t = tally_new();
    double truth = 0, log_range = 0;
    setup();
    gram_make("sqrt:4", "raw", 12, 4, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    q = mcamp__ask(&f, 2, 1, MCAMP_REMOVE, 11);
    CHECK_STATUS(mcamp__budget_resolve(&ctx, NULL, &bud), MCAMP_OK);
    CHECK_STATUS(mcamp__proof_choice(&ctx, &q, 0, &proof, &log_range, &ready), MCAMP_OK);
    q.ready = &ready;
    for (int i = 0; i < 3; i++) {
        mcamp_estimate e;
        memset(&e, 0, sizeof e);
        e.upper = q.high = 1;
        e.value = i == 0 ? 0.01 : i == 1 ? truth : 1.1 * truth;
        e.std_error = 1e-3 * e.value;
        e.samples = 1 << 22;
        CHECK_STATUS(mcamp__prove_estimate(&ctx, &q, &proof, log_range, &bud, t, &e), MCAMP_OK);
        truth = mcamp_tally_mean(t);
        CHECK_LE(6 * mcamp_tally_std_error(t), 0.05 * truth);
        CHECK(i == 0 || e.trusted == (i == 1));
        e.value = 0.45 * truth;         /* so vague that nothing contradicts it: still wrong */
        e.std_error = 0.2 * truth;
        e.upper = 1;
        CHECK_STATUS(mcamp__prove_estimate(&ctx, &q, &proof, log_range, &bud, t, &e), MCAMP_OK);
        CHECK(mcamp__proof_agrees(t, &e) && !e.trusted);
    }
    mcamp__sampler_free(&ctx, &ready);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    free(t);
}

/* A law of heavy tail whose pilot, of so many blocks, promised too much, and the mixture, tuned. */
static void lucky_open(double rel_var, double blocks, mcamp_gram *g, mcamp__factor *f,
                       mcamp__question *q, mcamp__choice c[2], mcamp_budget *bud)
{
    uint64_t spent = 0;
    double err;
    gram_make("sqrt:4", "raw", 12, 4, g);
    CHECK_STATUS(mcamp__factor_init(&ctx, g, f), MCAMP_OK);
    *q = mcamp__ask(f, 1, 6, MCAMP_REMOVE, 11);
    memset(c, 0, 2 * sizeof *c);
    c[0].method = MCAMP_METHOD_COMMON; c[0].k = 9;
    c[0].rel_var = rel_var; c[0].blocks = blocks;
    c[1].method = MCAMP_METHOD_SHIFTS;
    c[0].log_scale = c[1].log_scale = 0;
    CHECK_STATUS(mcamp__budget_resolve(&ctx, NULL, bud), MCAMP_OK);
    bud->rel_error = 0.02;
    bud->max_samples = 1 << 22;
    CHECK_STATUS(mcamp__mix_pilot(&ctx, q, &c[1], &err, &spent), MCAMP_OK);
}

/* The other law takes over, and the mean is right; its shares are tuned, so not alike. */
TEST(a_lucky_pilot_costs_little)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__choice c[2];
    mcamp_budget bud;
    mcamp_tally *t = tally_new();
    sampled mode;
    uint64_t spent = 0;
    int used = 0;
    mcamp__question q;
    setup();
    lucky_open(1, 0, &g, &f, &q, c, &bud);
    CHECK_LE(c[1].share[0], 0.9 * c[1].share[1]);
    CHECK_STATUS(mcamp__run_to_error(&ctx, &q, c, &bud, TEST_PURPOSE | MCAMP_REMOVE, t, &used,
                                     &spent), MCAMP_OK);
    CHECK(used == 1 && spent > 0 && t->method == MCAMP_METHOD_SHIFTS);
    CHECK_LE((double)spent + (double)t->count * mcamp__tally_lump(t),
             400000 - 6 * MCAMP_BLOCK);     /* its pilot is not in it */
    CHECK_NEAR(mcamp__tally_lump(t), TILE, 0, 0);
    mode = sample(&g, 1, 6, MCAMP_REMOVE, MCAMP_METHOD_MODE, 0, 20);
    CHECK_LE(fabs(mcamp_tally_mean(t) - mode.mean),
             6.2 * sqrt(mode.err * mode.err + pow(mcamp_tally_std_error(t), 2)));
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    free(t);
}

/* The same where the pilot asked for much: the law's first look tells, and what it then has before
 * it is what it needs by its own samples, however far its next step goes.                */
TEST(a_lucky_pilot_is_seen_at_the_first_look)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__choice c[2];
    mcamp_budget bud;
    mcamp_tally *t = tally_new();
    mcamp__runner r;
    uint64_t spent = 0;
    double cost;
    int used = 0;
    mcamp__question q;
    setup();
    lucky_open(50, 2, &g, &f, &q, c, &bud);
    CHECK(mcamp__choice_blocks(&q, c, &bud) == 135);
    CHECK_STATUS(mcamp__run_to_error(&ctx, &q, c, &bud, TEST_PURPOSE | MCAMP_REMOVE, t, &used,
                                     &spent), MCAMP_OK);
    CHECK(used == 1 && spent == 33 * MCAMP_BLOCK);

    memset(&r, 0, sizeof r);
    mcamp__runner_start(&q, &c[0], &bud, &r);
    CHECK_NEAR(r.need, 135, 0, 0);
    cost = mcamp__choice_cost(&f, &c[0]);
    CHECK_NEAR(mcamp__runner_rest(&q, &r), 135 * cost, 1e-12, 0);
    r.t = t;
    r.done = 33;
    bud.rel_error = 1e-4;
    mcamp__runner_aim(&q, &bud, 1 << 20, &r);
    CHECK_NEAR(r.need, mcamp__tally_need(t, 1e-4, 0), 1e-12, 0);
    CHECK(r.need > 1000 && r.goal == 2 * 33 + 1);
    CHECK_NEAR(mcamp__runner_rest(&q, &r), (r.need - 33) * cost, 1e-12, 0);
    bud.rel_error = 0.9;
    mcamp__runner_aim(&q, &bud, 1 << 20, &r);
    CHECK_NEAR(r.need, 1.25 * 33, 1e-12, 0);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    free(t);
}

/* A law is picked by its variance, by what that counts as where it is skew, and by its cost; the
 * other one is of another kind.                                                          */
TEST(a_skew_pilot_counts_for_more)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__choice c[3], best[2], more;
    mcamp__question q;
    mcamp_tally *t = tally_new();
    double err[3] = { 0.1, 0.1, 0.1 }, cost;
    setup();
    gram_make("sqrt:6", "raw", 40, 20, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    memset(c, 0, sizeof c);
    for (int i = 0; i < 3; i++) {
        c[i].method = i == 2 ? MCAMP_METHOD_SHIFTS : MCAMP_METHOD_COMMON;
        c[i].k = i == 2 ? 24 : 5;
        c[i].mean = c[i].doubt = 1;
    }
    for (size_t i = 0; i < 7; i++) c[2].share[i] = 1.0 / 7;
    cost = mcamp__choice_cost(&f, &c[0]) / mcamp__choice_cost(&f, &c[2]);
    c[0].rel_var = 1; c[1].rel_var = 1.1; c[2].rel_var = 1.5 * cost;
    mcamp__pilot_pick(&f, c, err, 3, best);
    CHECK(best[0].method == MCAMP_METHOD_COMMON && best[1].method == MCAMP_METHOD_SHIFTS);
    CHECK_NEAR(best[0].rel_var, 1, 0, 0);
    c[0].doubt = 1.3;
    mcamp__pilot_pick(&f, c, err, 3, best);
    CHECK_NEAR(best[0].rel_var, 1.1, 0, 0);
    c[0].doubt = c[1].doubt = 1.6;
    mcamp__pilot_pick(&f, c, err, 3, best);
    CHECK(best[0].method == MCAMP_METHOD_SHIFTS && best[1].method == MCAMP_METHOD_COMMON);
    more = c[2]; more.k = 36;
    CHECK_LE(mcamp__choice_cost(&f, &c[2]) + 3, mcamp__choice_cost(&f, &more));
    more = c[2]; more.k = 0;                        /* all of them: 24 */
    CHECK_NEAR(mcamp__choice_cost(&f, &c[2]), mcamp__choice_cost(&f, &more), 1e-12, 0);
    more.tuple = 4;
    CHECK_LE(1.1 * mcamp__choice_cost(&f, &c[2]), mcamp__choice_cost(&f, &more));
    more = c[2]; more.share[7] = 0.1;
    CHECK_LE(1.05 * mcamp__choice_cost(&f, &c[2]), mcamp__choice_cost(&f, &more));
    q = mcamp__ask(&f, 1, 4, MCAMP_REMOVE, 7);
    CHECK_STATUS(mcamp__pilot_run(&ctx, &q, &c[0], 0, 1, err, t), MCAMP_OK);
    CHECK_LE(1.1, mcamp__tally_skew_factor(t));
    CHECK_NEAR(c[0].doubt, pow(mcamp__tally_skew_factor(t), 2), 1e-12, 0);
    free(t);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* Where skewness alone speaks against the cheapest law its pilot is drawn again, from a stream of
 * its own and longer; not where that law wins all the same, where little is to be drawn, where
 * another is cheaper without it, nor the mixture's.  A question asks for that.           */
TEST(a_doubted_pilot_is_drawn_again)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__choice c[2], was, twin, proof;
    mcamp__question q;
    mcamp_tally *t = tally_new();
    double err[2] = { 0.1, 0.1 }, cost, e;
    size_t again = 0;
    setup();
    gram_make("sqrt:6", "raw", 40, 20, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    q = mcamp__ask(&f, 1, 4, MCAMP_REMOVE, 7);
    for (int k = 0; k < 5; k++) {
        static const double doubt[5] = { 1.6, 1.2, 1.6, 3, 1.6 };
        static const double other[5] = { 1.3, 1.3, 1.3, 0.5, 2 };
        static const double rel[5] = { 1e-3, 1e-3, 0.1, 1e-3, 1e-3 };
        uint64_t spent = 5;
        memset(c, 0, sizeof c);
        c[0].method = MCAMP_METHOD_COMMON; c[0].k = 5;
        c[1].method = MCAMP_METHOD_SHIFTS; c[1].k = 24;
        for (size_t i = 0; i < 7; i++) c[1].share[i] = 1.0 / 7;
        c[0].mean = c[1].mean = c[1].doubt = c[0].rel_var = 1;
        cost = mcamp__choice_cost(&f, &c[0]) / mcamp__choice_cost(&f, &c[1]);
        c[0].doubt = doubt[k];
        c[1].rel_var = other[k] * cost;
        was = twin = c[0];
        CHECK_STATUS(mcamp__pilot_again(&ctx, &q, c, err, 2, rel[k], t, &spent), MCAMP_OK);
        CHECK_NEAR(c[1].rel_var, other[k] * cost, 0, 0);
        if (k) {
            CHECK(spent == 5 && !memcmp(&was, &c[0], sizeof was));
            continue;
        }
        CHECK(spent == 5 + 6 * MCAMP_BLOCK);
        CHECK_STATUS(mcamp__pilot_run(&ctx, &q, &twin, 8, 6, &e, t), MCAMP_OK);
        CHECK_NEAR(c[0].rel_var, twin.rel_var, 0, 0);
        CHECK_NEAR(err[0], e, 0, 0);
        CHECK_NEAR(c[0].doubt, twin.doubt, 0, 0);
        err[0] = 0.1;
    }
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    gram_make("sqrt:8", "raw", 24, 24, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    memset(&proof, 0, sizeof proof);
    proof.method = MCAMP_METHOD_COMMON;
    proof.k = 18;
    for (uint64_t seed = 1; seed < 13; seed++) {
        uint64_t spent = 0;
        q = mcamp__ask(&f, 2.95491, 1.26, MCAMP_REMOVE, seed);
        CHECK_STATUS(mcamp__pilot(&ctx, &q, &proof, 30, 0.01, c, &spent), MCAMP_OK);
        CHECK(spent == 9 * MCAMP_BLOCK || spent == 15 * MCAMP_BLOCK);
        again += spent > 9 * MCAMP_BLOCK;
    }
    CHECK(again > 0 && again < 12);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    free(t);
}

/* Values of every second, third, .. pick of a tile are values of fewer picks.            */
TEST(fewer_picks_are_told_by_all_of_them)
{
    static const size_t part[5] = { 1, 2, 3, 4, 6 };
    static const double square[5] = { 1e-6, 1, 1e-6, 1, 1 };    /* of 0, 2, 0, 2, .. */
    enum { TILES = 32, PICKS = 12 };
    double rec[TILES * PICKS], v[TILES * PICKS], n, mean, skew;
    mcamp__choice c;
    mcamp_rng r;
    memset(&c, 0, sizeof c);
    for (size_t i = 0; i < TILES * PICKS; i++) rec[i] = 2.0 * (double)(i % 2);
    for (size_t j = 0; j < 5; j++) {
        mcamp__mix_thin(rec, TILES, PICKS, part[j], &c);
        CHECK(c.k == PICKS / part[j]);
        CHECK_NEAR(c.rel_var, square[j] * TILE, 1e-12, 0);
        CHECK_NEAR(c.doubt, 1, 1e-12, 0);
    }
    mcamp_rng_seed(&r, 3);
    for (size_t i = 0; i < TILES * PICKS; i++) rec[i] = 1e-90 * exp(6 * mcamp_rng_uniform(&r));
    for (size_t j = 0; j < 5; j++) {
        size_t count = 0;
        double two = 0, three = 0;
        mean = 0;
        for (size_t t = 0; t < TILES; t++)
            for (size_t from = 0; from < part[j]; from++) {
                v[count] = 0;
                for (size_t k = 0; k < PICKS / part[j]; k++)
                    v[count] += rec[t * PICKS + from + k * part[j]] * 1e90;
                mean += v[count++];
            }
        n = (double)count;
        mean /= n;
        for (size_t i = 0; i < count; i++) {
            two += pow(v[i] - mean, 2);
            three += pow(v[i] - mean, 3);
        }
        skew = three / n / pow(two / n, 1.5) / sqrt(n);
        mcamp__mix_thin(rec, TILES, PICKS, part[j], &c);
        CHECK_NEAR(c.rel_var, TILE * two / n / (mean * mean), 1e-10, 0);
        CHECK_NEAR(c.doubt, skew > 0.1 ? pow(1 + (skew - 0.1) / 0.3, 2) : 1, 1e-10, 0);
    }
    memset(rec, 0, sizeof rec);                 /* all of it in one tile */
    for (size_t k = 0; k < PICKS; k++) rec[k] = 1;
    mcamp__mix_thin(rec, TILES, PICKS, 1, &c);
    n = TILES;
    skew = (pow(n - 1, 3) - (n - 1)) / n / pow(n - 1, 1.5) / sqrt(n);
    CHECK_NEAR(c.rel_var, (n - 1) * TILE, 1e-12, 0);
    CHECK(skew > 0.1);
    CHECK_NEAR(c.doubt, pow(1 + (skew - 0.1) / 0.3, 2), 1e-12, 0);
}

/* A floor under fading correlations makes all picks of one g alike: some are enough.  Where
 * few modes overlap, and g tells little, all of them are wanted.  By either number the mean is
 * the same.                                                                            */
TEST(as_many_picks_as_pay)
{
    static const struct { const char *name; size_t n, b; double sigma, eps; size_t k, tuple; }
        c[] = { { "blt:0.97:0.08,0.8:0.25", 512, 128, 2.2, 2, 12, 0 },
                { "sqrt:8", 400, 200, 1.6, 1, 60, 4 } };
    mcamp_tally *t = tally_new();
    setup();
    for (size_t i = 0; i < 2; i++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__question q;
        mcamp__choice how;
        uint64_t spent = 0;
        double err, mean[2], var[2];
        gram_make(c[i].name, "raw", c[i].n, c[i].b, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        q = mcamp__ask(&f, c[i].sigma, c[i].eps, MCAMP_REMOVE, 5);
        memset(&how, 0, sizeof how);
        how.method = MCAMP_METHOD_SHIFTS;
        CHECK_STATUS(mcamp__mix_pilot(&ctx, &q, &how, &err, &spent), MCAMP_OK);
        CHECK(how.k > 0 && (i ? how.k == c[i].k : how.k <= c[i].k));
        CHECK(how.tuple == c[i].tuple);
        if (i) CHECK_NEAR(err * err * 4 * MCAMP_BLOCK, how.rel_var * how.mean * how.mean, 1e-9, 0);
        for (int all = 0; all < 2; all++) {
            CHECK_STATUS(mcamp__question_run(&ctx, &q, &how, TEST_PURPOSE | MCAMP_REMOVE,
                                             mt_few(60, 30), 0, t), MCAMP_OK);
            mean[all] = mcamp_tally_mean(t);
            var[all] = pow(mcamp_tally_std_error(t), 2);
            how.k = all ? how.k : how.k > 12 ? 6 : 0;
        }
        CHECK_LE(fabs(mean[0] - mean[1]), SIX * sqrt(var[0] + var[1]));
        CHECK_LE(fabs(mean[0] - how.mean), SIX * sqrt(var[0] + err * err));
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
    free(t);
}

/* A bound takes no more samples than its answer took for all else, but where there is a time to
 * be spent.  By this beta it takes a block for each hundred that the range is times `large`, and
 * a tenth more, to refuse twice that; where values are mostly 0 none is begun if not half as
 * many again may be drawn.                                                                   */
TEST(a_bound_takes_no_more_than_all_else)
{
    mcamp_budget bud;
    mcamp_estimate e;
    mcamp__sampler p;
    mcamp__factor f;
    mcamp__question q;
    uint64_t most = 0;
    memset(&bud, 0, sizeof bud);
    memset(&e, 0, sizeof e);
    memset(&f, 0, sizeof f);
    q = mcamp__ask(&f, 1, 1, MCAMP_REMOVE, 1);
    memset(&p, 0, sizeof p);
    bud.rel_error = 0.01; bud.beta = exp(-10.24); bud.max_samples = 1 << 28;
    p.method = MCAMP_METHOD_COMMON;
    q.ready = &p;
    e.value = 1e-4;
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-4, 1e-4, &most) == 0 && most == 0);
    q.credit = 30 * MCAMP_BLOCK; e.samples = 20 * MCAMP_BLOCK; e.pilot_samples = 14 * MCAMP_BLOCK;
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 63, 1e-4, &most) == 64 && most == 64);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 65, 1e-4, &most) == 0);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1.05e-2, 1e-4, &most) == 7 && most == 64);
    p.method = MCAMP_METHOD_TILTED;             /* mostly 0 */
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 42, 1e-4, &most) == 47 && most == 64);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 43, 1e-4, &most) == 0);
    f.patterns = (const mcamp_gram *)&q;
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 43, 1e-4, &most) == 48);
    f.patterns = NULL;
    p.method = MCAMP_METHOD_COMMON;
    p.special = &q;
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 43, 1e-4, &most) == 0);
    p.special = NULL;
    /* Within a fifth for what the value took, else twice; no time for the former far out. */
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 3.1e-2, 1e-4, &most) == 19);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 9, 1e-4, &most) == 21);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 40, 1e-4, &most) == 45);
    q.prior.samples = 80 * MCAMP_BLOCK;
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 9, 1e-4, &most) == 55);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-1, 1e-4 + 1e-9, &most) == 60);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-1 + 1e-3, 1e-4, &most) == 12);
    bud.beta = exp(-20.48);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 20, 1e-4, &most) == 45);
    bud.beta = exp(-10.24);
    bud.seconds = 1;                            /* as far as that leads */
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1, 1e-4, &most) == 111);
    bud.max_samples = 8 * MCAMP_BLOCK;
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1, 1e-4, &most) == 8);
    bud.seconds = 0;
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 3, 1e-4, &most) == 8 && most == 8);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1, 1e-4, &most) == 0);
    bud.max_samples = 1 << 28;
    e.value = 1e-12; q.other = 1e-4;            /* the other one's value decides, not this */
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2 * 60, 1e-8, &most) == 34);
    f.b = 10; f.L.buf.count = 2560;             /* values in pairs count less than others */
    CHECK(mcamp__proof_credit(&q, &e) == 64 * MCAMP_BLOCK);
    e.method = MCAMP_METHOD_SHIFTS;
    CHECK(mcamp__proof_credit(&q, &e) == 56 * MCAMP_BLOCK);
    CHECK(mcamp__proof_blocks(&q, &bud, &e, 1e-2, 1e-8, &most) && most == 56);
    f.L.buf.count = 2559;
    CHECK(mcamp__proof_credit(&q, &e) == 64 * MCAMP_BLOCK);
    p.k = 200;                                  /* many orders cost more */
    CHECK(mcamp__proof_credit(&q, &e) == 64 * MCAMP_BLOCK);
    p.k = 256;
    CHECK(mcamp__proof_credit(&q, &e) == 4 * MCAMP_BLOCK);
    p.k = 4097;
    CHECK(mcamp__proof_credit(&q, &e) == MCAMP_BLOCK);
    q.credit = e.pilot_samples = 0; e.samples = 100;
    CHECK(mcamp__proof_credit(&q, &e) == 100);
    q.ready = NULL;
    CHECK(mcamp__proof_credit(&q, &e) == 100);
}

/* Whole answers of shapes whose bounds are dear: what both directions' bounds took is no more
 * than all the rest, a search included; most have one all the same.                     */
TEST(no_answer_spends_more_on_its_bounds)
{
    static const struct { const char *name; size_t n, b; double eps, delta; } c[] = {
        { "sqrt:2", 128, 64, 0.5, 1e-7 }, { "sqrt:4", 203, 50, 2, 1e-8 },
        { "sqrt:16", 128, 128, 0.5, 1e-8 }, { "sqrt:0", 80, 40, 1, 1e-5 } };
    size_t with = 0, beyond = 0;
    setup();
    for (size_t i = 0; i < 4 * sizeof c / sizeof *c; i += mt_few(1, 5)) {
        size_t k = i / 4;
        mcamp_budget bud;
        mcamp_answer a[3];
        mcamp_gram g;
        gram_make(c[k].name, "raw", c[k].n, c[k].b, &g);
        CHECK_STATUS(mcamp__budget_resolve(&ctx, NULL, &bud), MCAMP_OK);
        bud.seed = i + 1;
        CHECK(mcamp_sigma(&ctx, &g, c[k].eps, c[k].delta, &bud, &a[0]) >= 0);
        CHECK(mcamp_delta(&ctx, &g, a[0].sigma, c[k].eps, &bud, &a[1]) >= 0);
        bud.direction = i % 2 ? MCAMP_ADD : MCAMP_REMOVE;
        CHECK(mcamp_delta(&ctx, &g, a[0].sigma, c[k].eps, &bud, &a[2]) >= 0);
        for (int j = 0; j < 3; j++) {
            const mcamp_estimate *r = &a[j].remove, *d = &a[j].add;
            uint64_t bounds = r->proof_samples + d->proof_samples;
            uint64_t values = r->samples + r->pilot_samples + d->samples + d->pilot_samples;
            CHECK(j ? a[j].samples == bounds + values : a[j].samples > bounds + values);
            CHECK(bounds <= a[j].samples - bounds);
            with += bounds > 0;
            beyond += bounds > values;          /* of the search's samples */
        }
        mcamp_gram_free(&ctx, &g);
    }
    CHECK(with >= mt_few(24, 6));
    CHECK(beyond >= mt_few(4, 1));
}

/* Of the smaller direction no more need be refused than twice the larger one's value: its bar is
 * then as long as that.  By so few samples twice its own would not be refused, but 4.4 times
 * it is; by more it is, long before a bound says so.  What is certain may say so without any. */
TEST(the_smaller_direction_is_known_by_the_larger)
{
    static const double other[] = { 0, 0.9, 2.2, 2.2, 1.9 }, bar[] = { 0.02, 0.02, 3.4, 1.1, 0.02 };
    mcamp_gram g;
    mcamp__factor f;
    mcamp__question q;
    mcamp__choice proof;
    mcamp__sampler ready;
    mcamp_budget bud;
    mcamp_estimate e;
    mcamp_tally *t = tally_new();
    double truth, log_range = 0, ratio;
    setup();
    gram_make("sqrt:2", "raw", 32, 32, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    truth = sample(&g, 2.707, 0.5, MCAMP_REMOVE, MCAMP_METHOD_COMMON, 0, 100).mean;
    q = mcamp__ask(&f, 2.707, 0.5, MCAMP_REMOVE, 11);
    CHECK_STATUS(mcamp__budget_resolve(&ctx, NULL, &bud), MCAMP_OK);
    CHECK_STATUS(mcamp__proof_choice(&ctx, &q, 0, &proof, &log_range, &ready), MCAMP_OK);
    ratio = exp(log_range) / truth;
    q.ready = &ready;
    CHECK(ready.method == MCAMP_METHOD_COMMON && ratio > 1000 && ratio < 10000);
    for (int i = 0; i < 5; i++) {
        bud.max_samples = (i < 4 ? 16 : 100) * MCAMP_BLOCK;
        bud.beta = i < 4 ? exp(-2 * 16 * MCAMP_BLOCK / ratio) : exp(-11.0);
        memset(&e, 0, sizeof e);
        q.credit = bud.max_samples;
        e.upper = q.high = i == 3 ? 2.1 * truth : 1;
        e.value = truth;
        e.std_error = 0.02 * truth;
        q.other = other[i] * truth;
        CHECK_STATUS(mcamp__prove_estimate(&ctx, &q, &proof, log_range, &bud, t, &e), MCAMP_OK);
        CHECK(e.trusted == (i > 1));
        CHECK_NEAR(e.std_error, bar[i] * truth, 1e-9, 0);
        CHECK((e.proof_samples > 0) == (i == 2 || i == 4));
        CHECK(i != 4 || (e.upper > 2 * truth && e.upper < 3 * truth));
    }
    e.beta = 1e-6;
    mcamp__estimate_from(t, &e);
    CHECK_NEAR(e.lower, mcamp_tally_lower(t, 1e-6), 0, 0);
    CHECK_LE(e.lower, 0.99 * mcamp_tally_lower(t, 0.5));
    mcamp__sampler_free(&ctx, &ready);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    free(t);
}

/* What is refused could not have been missed: n values of v, all alike as if nothing were left
 * to come, while an atom at the end of the range would make the mean 2 v.  All n miss that with
 * probability (1 - v)^n, which has to be below beta before 2 v is refused.  What was left out
 * of the values counts; a tally without a range, or poisoned, refuses nothing.          */
TEST(what_is_refused_could_not_have_been_missed)
{
    static const double value[] = { 1e-4, 1e-3, 1e-2 }, beta[] = { 1e-2, 1e-6 };
    mcamp_tally *t = tally_new();
    for (int i = 0; i < 6; i++) {
        double v = value[i % 3], b = beta[i / 3], need = log(b) / log1p(-v);
        uint64_t n = 0;
        memset(t, 0, sizeof *t);
        while (!mcamp__tally_refuses(t, 2 * v, b) && (double)n < 3 * need) {
            for (int k = 0; k < 20; k++) mcamp__tally_add(t, log(v));
            n += 20;
        }
        CHECK_LE(need, (double)n);
        CHECK_LE((double)n, 2 * need + 40);
        CHECK(!mcamp__tally_refuses(t, v, b) && mcamp__tally_refuses(t, 3 * v, b));
        t->split = v;
        CHECK(!mcamp__tally_refuses(t, 2 * v, b) && mcamp__tally_refuses(t, 3 * v, b));
        t->split = 0;
        t->poisoned = 1;
        CHECK(!mcamp__tally_refuses(t, 3 * v, b));
        t->poisoned = 0;
        t->log_scale = -1;
        CHECK(!mcamp__tally_refuses(t, 3 * v, b));
    }
    free(t);
}

/* Of values 0 or 1 with the mean that is asked about, looked at block by block, a bet at level
 * 1/20 refuses once in 20 times at most.                                                */
TEST(what_is_true_is_seldom_refused)
{
    enum { TRIALS = 2000 };
    mcamp_tally *t = tally_new();
    int wrong = 0;
    for (int i = 0; i < TRIALS; i++) {
        int refused = 0;
        memset(t, 0, sizeof *t);
        for (int k = 0; k < 40 && !refused; k++) {
            for (int j = 0; j < 10; j++)
                mcamp__tally_add(t, test_rand() < 0.05 ? 0 : -mcamp__inf());
            refused = mcamp__tally_refuses(t, 0.05, 0.05);
        }
        wrong += refused;
    }
    CHECK_LE(wrong, 0.05 * TRIALS + SIX * sqrt(0.05 * 0.95 * TRIALS));
    CHECK_LE(10, wrong);
    free(t);
}

/* delta = 1e-8 of few bands: the few samples that a value takes are too few for a bound, but
 * with more of them twice the value is refused, and the error bar is backed. */
TEST(small_deltas_of_few_bands_are_backed)
{
    mcamp_gram g;
    mcamp_answer a;
    mcamp_budget bud;
    setup();
    memset(&bud, 0, sizeof bud);
    bud.rel_error = 0.05; bud.direction = MCAMP_REMOVE;
    gram_make("sqrt:2", "raw", 64, 64, &g);
    for (bud.seed = 1; bud.seed <= 4; bud.seed++) {
        CHECK_STATUS(mcamp_delta(&ctx, &g, 2, 0.5, &bud, &a), MCAMP_OK);
        CHECK(a.remove.trusted && a.remove.value > 9e-9 && a.remove.value < 1.4e-8);
        CHECK_LE((double)a.remove.proof_samples, 9.0 * MCAMP_BLOCK);   /* no more once it is */
        CHECK_STATUS(mcamp_delta(&ctx, &g, 1.4, 1, &bud, &a), MCAMP_OK);
        CHECK(a.remove.trusted);
        CHECK_LE((double)a.remove.proof_samples, 45.0 * MCAMP_BLOCK);
    }
    mcamp_gram_free(&ctx, &g);
    gram_make("sqrt:2", "raw", 1024, 1024, &g);                 /* by modes that are far out */
    CHECK_STATUS(mcamp_delta(&ctx, &g, 1.0177, 0.5, &bud, &a), MCAMP_OK);
    CHECK(a.remove.trusted && a.remove.value > 9e-9 && a.remove.value < 1.2e-8);
    CHECK_LE((double)a.remove.proof_samples, 64.0 * MCAMP_BLOCK);
    mcamp_gram_free(&ctx, &g);
    gram_make("sqrt:4", "raw", 128, 128, &g);                   /* a third may be left out */
    CHECK_STATUS(mcamp_delta(&ctx, &g, 2.2, 0.45, &bud, &a), MCAMP_OK);
    CHECK(a.remove.trusted && a.remove.value > 1.3e-8 && a.remove.value < 1.7e-8);
    mcamp_gram_free(&ctx, &g);
    gram_make("sqrt:2", "raw", 32, 32, &g);                     /* no such law, and few bins */
    bud.rel_error = 0.01;
    CHECK_STATUS(mcamp_delta(&ctx, &g, 2.707, 0.5, &bud, &a), MCAMP_OK);
    CHECK(a.remove.trusted && a.remove.value > 9.5e-9 && a.remove.value < 1.05e-8);
    mcamp_gram_free(&ctx, &g);
}

TEST_MAIN("est",
    T(fixed_point_is_rounded_up),
    T(sums_carry_and_overflow_is_seen),
    T(values_fall_in_their_bins),
    T(what_proves_nothing_says_so),
    T(merging_refuses_strangers),
    T(a_tally_is_of_its_sampler),
    T(binned_wealth_is_a_sharp_lower_bound),
    T(betting_is_never_weaker_than_hoeffding),
    T(bounds_hold_with_their_probability),
    T(moments_are_those_of_the_samples),
    T(every_law_integrates_rho_to_one),
    T(all_methods_agree_on_random_modes),
    T(all_methods_agree_on_strategies),
    T(what_a_pick_moves_is_moved_in_every_window), T(sums_of_the_mixture_are_the_factors),
    T(the_mixtures_errors_are_honest), T(pairs_of_samples_have_their_law),
    T(tuples_and_the_tilt_pay),
    T(a_pilot_of_few_blocks_does_not_set_the_cost),
    T(tuples_by_enumeration), T(tuples_where_few_modes_are_alike),
    T(tuples_are_drawn_by_their_base), T(tuples_and_the_way_back),
    T(the_tilted_P_has_its_density), T(a_window_of_idle_modes_is_not_the_likeliest),
    T(small_deltas_agree_with_quadrature),
    T(small_deltas_of_unlike_modes_are_right_or_not_trusted),
    T(supremum_along_the_common_direction),
    T(ranges_are_not_exceeded_and_nearly_attained),
    T(no_sample_leaves_its_range),
    T(clusters_are_drawn_by_their_law),
    T(values_by_clusters),
    T(few_bands_are_proved_by_clusters),
    T(what_is_no_number_is_not_counted_as_nothing),
    T(a_root_that_was_not_found_is_no_number),
    T(add_is_nothing_only_where_enough_modes_are_idle),
    T(bound_without_samples_is_a_bound),
    T(any_split_in_any_order_gives_the_same_bytes),
    T(threads_change_nothing_and_vector_sets_next_to_nothing),
    T(kept_draws_are_those_of_each_sigma), T(threads_do_not_move_a_pilot),
    T(parts_of_a_block_are_tasks), T(memory_left_by_others_is_not_read),
    T(orders_and_scales_have_an_end),
    T(threads_do_not_move_a_search),
    T(estimates_without_decisive_samples_are_not_trusted),
    T(far_out_questions_have_answers),
    T(what_is_certain_rules_an_estimate),
    T(a_value_that_its_proof_contradicts_is_not_trusted),
    T(a_lucky_pilot_costs_little), T(a_lucky_pilot_is_seen_at_the_first_look),
    T(a_skew_pilot_counts_for_more), T(a_doubted_pilot_is_drawn_again),
    T(fewer_picks_are_told_by_all_of_them),
    T(as_many_picks_as_pay),
    T(a_bound_takes_no_more_than_all_else), T(no_answer_spends_more_on_its_bounds),
    T(the_smaller_direction_is_known_by_the_larger),
    T(what_is_refused_could_not_have_been_missed),
    T(what_is_true_is_seldom_refused),
    T(small_deltas_of_few_bands_are_backed))
