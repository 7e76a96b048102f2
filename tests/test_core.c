/* Sections loss, est, calib: the path from a Gram matrix to a proof.  Statistical
 * checks have fixed seeds and a false-alarm rate below 1e-9 each (6.2 standard
 * errors, or an exact binomial tail).                                             */
#define MCAMP_STATIC
#define MCAMP_PTHREADS
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"

static mcamp_ctx ctx;

/* exact values, from tests/vectors (bib_identity, bib_corr) */
static const double i2_sigma = 2.724044547496204;       /* b = 2, E = 1, (1, 1e-5) */
static const double sq8_sigma = 12.300898090575043;     /* sqrt, n = 8, b = 2      */

static void gram_of(mcamp_mech_kind kind, size_t bands, size_t n, size_t b, mcamp_gram *g)
{
    mcamp_mech_desc d;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    d.kind = kind; d.n = n; d.bands = bands;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, g), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
}

/* ---- tallies ------------------------------------------------------------------- */

static mcamp_tally new_tally(void)
{
    mcamp_tally t;
    memset(&t, 0, sizeof t);
    return t;                   /* scale 1, range 1 */
}

TEST(tallies_round_up_and_carry)
{
    mcamp_tally t = new_tally();
    uint64_t hi, lo;
    mcamp__to_fixed(1.0, &hi, &lo);
    CHECK(hi == 1 && lo == 0);
    mcamp__to_fixed(0.75, &hi, &lo);
    CHECK(hi == 0 && lo == UINT64_C(3) << 62);
    mcamp__to_fixed(ldexp(1.0, -70), &hi, &lo);
    CHECK(hi == 0 && lo == 1);
    mcamp__to_fixed(ldexp(1.0 + DBL_EPSILON, -40), &hi, &lo);
    CHECK(lo == (UINT64_C(1) << 24) + 1);
    mcamp__to_fixed(DBL_MIN / 8, &hi, &lo);
    CHECK(lo == 1);
    hi = 0; lo = UINT64_MAX;
    CHECK(mcamp__u128_add(&hi, &lo, 0, 1) && hi == 1 && lo == 0);
    hi = UINT64_MAX; lo = UINT64_MAX;
    CHECK(!mcamp__u128_add(&hi, &lo, 0, 1));
    mcamp__tally_add(&t, 0);            /* one sample tells nothing, a full sum even less */
    CHECK(mcamp_tally_std_error(&t) > DBL_MAX && mcamp_tally_upper(&t, 0.01) >= 1);
    for (size_t i = 0; i < MCAMP_TALLY_BINS; i++) t.hi[i] = t.lo[i] = UINT64_MAX;
    mcamp__tally_add(&t, 0);
    CHECK(t.poisoned == 1 && mcamp_tally_upper(&t, 0.01) >= 1);
    t = new_tally();
    for (int i = 0; i < 1000; i++) mcamp__tally_add(&t, log(0.3));
    CHECK_NEAR(mcamp_tally_mean(&t), 0.3, 1e-15, 0);
    CHECK_LE(mcamp_tally_std_error(&t), 0.3 * 0.1 / sqrt(1000.0));
    for (size_t i = 1; i < MCAMP_TALLY_BINS; i++)
        CHECK_NEAR(mcamp__bin_high(i - 1), mcamp__bin_low(i), 0, 0);
}

TEST(what_is_not_a_value_poisons_and_proves_nothing)
{
    double bad[4];
    bad[0] = mcamp__nan(); bad[1] = mcamp__inf(); bad[2] = 1e-6; bad[3] = 800;
    for (int i = 0; i < 4; i++) {
        mcamp_tally t = new_tally();
        for (int j = 0; j < 100; j++) mcamp__tally_add(&t, -5);
        CHECK_LE(mcamp_tally_upper(&t, 1e-3), 0.5);
        mcamp__tally_add(&t, bad[i]);
        CHECK(t.poisoned == 1);
        CHECK_NEAR(mcamp_tally_upper(&t, 1e-3), 1, 0, 0);
        CHECK_NEAR(mcamp_tally_lower(&t, 1e-3), 0, 0, 0);
        CHECK(mcamp__isnan(mcamp_tally_mean(&t)));
    }
}

/* x in [0, 1]: mostly small, sometimes large. */
static double skewed(mcamp_rng *r)
{
    double u = mcamp_rng_uniform(r);
    return u < 0.9 ? 0.01 * mcamp_rng_uniform(r) : mcamp_rng_uniform(r);
}

TEST(wealth_from_bins_is_below_the_exact_wealth)
{
    mcamp_rng r;
    mcamp_rng_seed(&r, 3);
    for (int trial = 0; trial < 200; trial++) {
        mcamp_tally t = new_tally();
        double m = 0.02 + 0.2 * mcamp_rng_uniform(&r), exact_up = 0, exact_down = 0;
        double s = ldexp(1, -(trial % 8));
        for (int i = 0; i < 500; i++) {
            double x = skewed(&r);
            mcamp__tally_add(&t, log(x));
            exact_up += log1p(-s * (x - m));
            exact_down += log1p(0.5 * s / m * (x - m));
        }
        CHECK_LE(mcamp__log_wealth(&t, -s, m), exact_up + 1e-9);
        CHECK_LE(exact_up - 4, mcamp__log_wealth(&t, -s, m));
        CHECK_LE(mcamp__log_wealth(&t, 0.5 * s / m, m), exact_down + 1e-9);
    }
}

/* With the stake (m - base)/(m (1 - m)) the betting test accepts whenever
 * Hoeffding-KL does: log(1 - s(x - m)) lies above its chord on [0, 1].          */
TEST(betting_dominates_hoeffding)
{
    mcamp_rng r;
    int both = 0;
    mcamp_rng_seed(&r, 4);
    for (int trial = 0; trial < (int)mt_scale(2000); trial++) {
        int n = 200 + (int)(2000 * mcamp_rng_uniform(&r));
        double m = 0.01 + 0.3 * mcamp_rng_uniform(&r), mean = 0, wealth = 0, kl, stake;
        double base = m * (0.3 + 0.6 * mcamp_rng_uniform(&r)), x[2200];
        for (int i = 0; i < n; i++) mean += (x[i] = m * 6 * skewed(&r) / 2) / n;
        for (int i = 0; i < n; i++) x[i] = mcamp__dmin(x[i], 1);
        if (!(mean <= base)) continue;
        kl = n * (base * log(base / m) + (1 - base) * log1p((m - base) / (1 - m)));
        stake = (m - base) / (m * (1 - m));
        for (int i = 0; i < n; i++) wealth += log1p(-stake * (x[i] - m));
        CHECK_LE(kl, wealth + 1e-9);
        both++;
    }
    CHECK(both > (int)mt_scale(300));
}

/* P(Bin(n, p) >= k) */
static double binomial_tail(int n, int k, double p)
{
    double s = 0;
    for (int i = k; i <= n; i++)
        s += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) +
                 i * log(p) + (n - i) * log1p(-p));
    return s;
}

TEST(bounds_cover)
{
    mcamp_rng r;
    int n = (int)mt_scale(3000), miss[2] = { 0, 0 };
    const double truth = 0.9 * 0.005 + 0.1 * 0.5, beta = 0.05;
    mcamp_rng_seed(&r, 5);
    for (int trial = 0; trial < n; trial++) {
        mcamp_tally t = new_tally();
        for (int i = 0; i < 200; i++) mcamp__tally_add(&t, log(skewed(&r)));
        miss[0] += mcamp_tally_upper(&t, beta) < truth;
        miss[1] += mcamp_tally_lower(&t, beta) > truth;
        CHECK_LE(mcamp_tally_mean(&t), mcamp_tally_upper(&t, beta));
    }
    for (int i = 0; i < 2; i++) CHECK(binomial_tail(n, miss[i], beta) > 1e-9);
}

/* ---- samplers ------------------------------------------------------------------- */

/* So many blocks of a law. */
static void blocks_of(const mcamp_gram *g, double sigma, double eps, mcamp_direction dir,
                      mcamp_method method, size_t k, uint64_t blocks, mcamp_tally *t)
{
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__workers w;
    CHECK_STATUS(mcamp__factor_init(&ctx, g, &f), MCAMP_OK);
    CHECK_STATUS(mcamp__sampler_build(&ctx, &f, sigma, eps, dir, method, k, 0,
                 method == MCAMP_METHOD_MODE ? mcamp__loose_scale(&f, sigma, eps) : 0,
                 &p), MCAMP_OK);
    if (method == MCAMP_METHOD_MODE) p.tile = mcamp__tile_mode;
    CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
    mcamp__tally_init(&p, t);
    CHECK_STATUS(mcamp__run_blocks(&ctx, &p, &w, 11,
                 ((uint32_t)MCAMP__STREAM_TEST << 16) | (uint32_t)(k << 4) |
                 (uint32_t)dir, 0, blocks, t),
                 MCAMP_OK);
    CHECK(t->poisoned == 0);
    mcamp__workers_free(&ctx, &w);
    mcamp__sampler_free(&ctx, &p);
    mcamp__factor_free(&ctx, &f);
}

/* Mean of a sampler in standard errors from a truth. */
static double z_score(const mcamp_gram *g, double sigma, double eps, mcamp_direction dir,
                      mcamp_method method, size_t k, double truth)
{
    mcamp_tally *t = (mcamp_tally *)calloc(1, sizeof *t);
    double z;
    blocks_of(g, sigma, eps, dir, method, k, 12, t);
    z = (mcamp_tally_mean(t) - truth) / (mcamp_tally_std_error(t) + 1e-12 * truth);
    free(t);
    return z;
}

/* The worst row of every factor by powers; what overflows is infinite, but not times odds of 0. */
TEST(range_of_the_worst_index)
{
    static const double base[2] = { 0.3, 0.7 }, none[2] = { 0, 1 };
    double ea[6] = { 5, 0.1, 0, 3, 3, 0 }, own[3 * (200 + 4)], total = 0;
    mcamp__tuple t;
    mcamp__max_z q = { base, &t, 1, 1, own, 0 };
    memset(&t, 0, sizeof t);
    t.b = t.kinds = 2; t.stride = 3; t.ea = ea;
    for (size_t k = 1; k <= 5; k++) {
        q.k = k;
        for (q.tasks = 1; q.tasks <= 3; q.tasks++)
            CHECK_NEAR(mcamp__log_max_z(&ctx, &q), total, 1e-14, 1e-14);
        q.tasks = 2;
        total += log(fmax(0.3 * pow(5, (double)k) + 0.7 * pow(0.1, (double)k),
                          pow(3, (double)k)));
    }
    ea[0] = 1e300;
    q.k = 3;
    CHECK(!(mcamp__log_max_z(&ctx, &q) <= DBL_MAX));
    q.base = none;
    CHECK_NEAR(mcamp__log_max_z(&ctx, &q), 2 * log(3.0) + log(3.0), 1e-14, 0);
    ea[0] = mcamp__inf();
    CHECK(!(mcamp__log_max_z(&ctx, &q) <= DBL_MAX));
}

/* The tuples' matrix and its exponentials, whole or by kinds of rows, the order and the range,
 * for any number of threads and where another sampler has left its memory.                */
static void check_tuples(const mcamp__factor *f, size_t kinds)
{
    double range[4] = { 0 }, whole[80];
    size_t order[4] = { 0 }, b = f->b;
    for (size_t n = 0; n < 4; n++) {
        mcamp_ctx_desc d;
        mcamp_ctx own;
        mcamp__sampler p;
        int common = n < 3 || (f->reach < b / 4 && f->reach > 2);   /* clusters: no tuples */
        mcamp_method how = common ? MCAMP_METHOD_COMMON : MCAMP_METHOD_TILTED;
        memset(&d, 0, sizeof d);
        if (n) d.parallel = mcamp_parallel_threads(n + 1);
        CHECK_STATUS(mcamp_ctx_init(&own, &d), MCAMP_OK);
        CHECK(!n == !f->lent->tuples.p);
        CHECK_STATUS(mcamp__sampler_build(&own, f, 1.5, 0.7, MCAMP_REMOVE, how,
                                          n < 3 ? 0 : kinds < b ? 60 : 4, 0,
                                          mcamp__inf(), &p), MCAMP_OK);
        CHECK(p.tuple.b == b && p.k > 1 && p.tuple.k == p.k);
        CHECK(!f->lent->tuples.p || (!common && kinds < b));    /* far too large for few kinds */
        for (size_t i = 0; i < p.tuple.kinds + 3; i++)
            for (size_t j = b; j < p.tuple.stride; j++)
                CHECK(mcamp__bits(p.tuple.base[i * p.tuple.stride + j]) == 0);
        CHECK(p.tuple.kinds == (16 * f->reach < b ? common ? kinds : 1 : b));
        range[n] = p.log_range;
        order[n] = p.k;
        for (size_t i = 0; i < b; i++) {
            const double *row = mcamp__tuple_row(&p.tuple, i, whole);
            for (size_t j = 0; j < b; j++) {
                double a = mcamp__model_a(&p.m, i, j) - (common ? p.m.c[i] * p.m.c[j] : 0);
                CHECK_NEAR(row[j], exp(a), 1e-14, 0);
            }
        }
        mcamp__sampler_free(&own, &p);
        for (size_t i = 3; i < f->lent->tuples.count; i++) f->lent->tuples.p[i] = mcamp__nan();
    }
    for (int n = 1; n < 3; n++) CHECK(range[n] <= range[0] && range[n] >= range[0]);
    CHECK(order[1] == order[0] && order[2] == order[0]);
}

/* Weights that only the last row, or slopes, let overflow are refused. */
TEST(tuples_of_any_number_of_threads)
{
    static const size_t bands[] = { 3, 7, 60 }, kinds[] = { 5, 80, 80 };
    for (size_t i = 0; i < 3; i++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        size_t b = 80;
        gram_of(MCAMP_MECH_SQRT, bands[i], 160, b, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        check_tuples(&f, kinds[i]);
        f.g[(b - 1) * f.ld + b - 1] = 4000;
        f.trace_max = 4000;
        CHECK_STATUS(mcamp__sampler_build(&ctx, &f, 2, 0.7, MCAMP_REMOVE, MCAMP_METHOD_COMMON, 3, 0,
                                          mcamp__inf(), &p), MCAMP_E_NONFINITE);
        f.g[(b - 1) * f.ld + b - 1] = f.g[0];
        CHECK_STATUS(mcamp__sampler_build(&ctx, &f, 3, 0.7, MCAMP_REMOVE, MCAMP_METHOD_COMMON, 3, 0,
                                          mcamp__inf(), &p), MCAMP_OK);
        mcamp__sampler_free(&ctx, &p);
        for (size_t j = 0; j < b; j++) f.row[j] = 20 * 3 * sqrt(f.total);
        for (size_t x = 0; x < b && f.reach < 4; x++)       /* the band hides it from its rows */
            for (size_t y = 0; (y = mcamp__band_next(b, f.reach, x, y)) < b; y++)
                f.g[x * f.ld + y] = 3600;
        CHECK_STATUS(mcamp__sampler_build(&ctx, &f, 3, 0.7, MCAMP_REMOVE, MCAMP_METHOD_COMMON, 3, 0,
                                          mcamp__inf(), &p), MCAMP_E_NONFINITE);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* (rho - e^eps)_+ at eps = -60 has mean E_Q[rho] = 1: every law must say so. */
TEST(every_law_integrates_rho_to_one)
{
    static const size_t bands[3] = { 1, 4, 0 };
    for (int c = 0; c < 3; c++) {
        mcamp_gram g;
        gram_of(bands[c] == 1 ? MCAMP_MECH_IDENTITY : MCAMP_MECH_SQRT, bands[c], 26, 6, &g);
        for (size_t k = 1; k <= 8; k++) {
            double sigma = (bands[c] ? 3.0 : 6.0) * sqrt((double)k);
            CHECK_LE(fabs(z_score(&g, sigma, -60, MCAMP_REMOVE, MCAMP_METHOD_TILTED, k, 1)),
                     6.2);
            if (bands[c] != 1)
                CHECK_LE(fabs(z_score(&g, sigma, -60, MCAMP_REMOVE, MCAMP_METHOD_COMMON, k,
                                      1)), 6.2);
        }
        CHECK_LE(fabs(z_score(&g, 3, -60, MCAMP_REMOVE, MCAMP_METHOD_PLAIN, 1, 1)), 6.2);
        CHECK_LE(fabs(z_score(&g, 3, -60, MCAMP_REMOVE, MCAMP_METHOD_MODE, 0, 1)), 6.2);
        mcamp_gram_free(&ctx, &g);
    }
}

TEST(every_law_agrees_with_the_exact_value)
{
    mcamp_gram g;
    gram_of(MCAMP_MECH_SQRT, 0, 8, 2, &g);
    for (size_t k = 1; k <= 20; k += 3)
        CHECK_LE(fabs(z_score(&g, 12.3, 1, MCAMP_REMOVE, MCAMP_METHOD_COMMON, k,
                              1.001213320574855e-05)), 6.2);
    CHECK_LE(fabs(z_score(&g, 12.3, 1, MCAMP_REMOVE, MCAMP_METHOD_TILTED, 14,
                          1.001213320574855e-05)), 6.2);
    CHECK_LE(fabs(z_score(&g, 12.3, 0.5, MCAMP_REMOVE, MCAMP_METHOD_PLAIN, 1,
                          0.004124848554169436)), 6.2);
    CHECK_LE(fabs(z_score(&g, 2.03, 8, MCAMP_REMOVE, MCAMP_METHOD_MODE, 0,
                          7.612797479293299e-06)), 6.2);
    CHECK_LE(fabs(z_score(&g, 12.3, 1, MCAMP_ADD, MCAMP_METHOD_COMMON, 0,
                          9.782524609700284e-06)), 6.2);
    CHECK_LE(fabs(z_score(&g, 12.3, 0.5, MCAMP_ADD, MCAMP_METHOD_PLAIN, 0,
                          0.004108336745009725)), 6.2);
    mcamp_gram_free(&ctx, &g);
    gram_of(MCAMP_MECH_IDENTITY, 0, 64, 16, &g);
    CHECK_LE(fabs(z_score(&g, 2, 2, MCAMP_REMOVE, MCAMP_METHOD_MODE, 0,
                          3.3040519932420914e-06)), 6.2);
    CHECK_LE(fabs(z_score(&g, 2, 1, MCAMP_REMOVE, MCAMP_METHOD_TILTED, 4,
                          0.0006876251911838333)), 6.2);
    CHECK_LE(fabs(z_score(&g, 2, 1, MCAMP_ADD, MCAMP_METHOD_COMMON, 0,
                          2.993017993023158e-05)), 6.2);
    mcamp_gram_free(&ctx, &g);
}

/* Modes that are one: every value of add is J, the Gaussian mechanism's delta.  However large
 * sigma is, samples are within rounding's bound of it, none is out of range, and both ends
 * of their interval are where they should be.                                       */
TEST(rounding_of_quiet_modes_is_within_its_bound)
{
    static const size_t size[2] = { 2, 40 };
    mcamp_tally *t = (mcamp_tally *)calloc(1, sizeof *t);
    double one[40 * 40];
    for (int i = 0; i < 40 * 40; i++) one[i] = 1;
    for (int i = 0; i < 2 * 8 * 3; i++) {
        double sigma = pow(10, i / 2 % 8), eps = (1 + 4.5 * (i / 16)) / sigma, log_j;
        mcamp_gram g;
        log_j = mcamp__gauss_logdelta(1 / sigma, eps);
        CHECK_STATUS(mcamp_gram_from_matrix(&ctx, one, size[i % 2], &g), MCAMP_OK);
        blocks_of(&g, sigma, eps, MCAMP_ADD, MCAMP_METHOD_COMMON, 0, 2, t);
        CHECK(t->split > 0);
        CHECK_LE(fabs(mcamp_tally_mean(t) - exp(log_j)), t->split + 1e-12 * exp(log_j));
        CHECK_LE(t->split, exp(log_j) * 1e-9 * fmax(sigma, 1));
        CHECK_LE(mcamp_tally_lower(t, 1e-3), exp(log_j));
        CHECK(mcamp_tally_upper(t, 1e-3) >= exp(log_j));
        mcamp_gram_free(&ctx, &g);
    }
    free(t);
}

/* What rounding may have added comes off the lower bound of add. */
TEST(what_rounding_adds_comes_off)
{
    mcamp_rng r;
    mcamp_tally t = new_tally();
    double low;
    mcamp_rng_seed(&r, 6);
    for (int i = 0; i < 2000; i++) mcamp__tally_add(&t, log(skewed(&r)));
    low = mcamp_tally_lower(&t, 0.01);
    t.split = low / 4;
    for (int add = 0; add < 2; add++) {
        t.direction = add ? MCAMP_ADD : MCAMP_REMOVE;
        CHECK_NEAR(mcamp_tally_lower(&t, 0.01), low * (1 - 0.25 * add), 1e-12, 0);
    }
    t.split = 2 * low;
    CHECK_NEAR(mcamp_tally_lower(&t, 0.01), 0, 0, 0);
}

/* S_k(c) is a maximum: no point of a fine grid is above it, and one is close. */
TEST(range_constant_is_the_maximum)
{
    double T = 0;
    for (double c = 0.02; c < 1.6; c *= 1.7) {
        for (size_t k = 2; k < 40; k += 5) {
            double s = mcamp__common_log_sup(c, k, &T), top = -1e300;
            for (double lr = -120; lr < 40; lr += 0.01)
                top = mcamp__dmax(top, lr + mcamp__gauss_logdelta(c, -lr) - (double)k * lr);
            CHECK_LE(top, s + 1e-9);
            CHECK_LE(s, top + 0.01);
        }
    }
}

/* No value leaves the proven range, on Gram matrices of all kinds. */
TEST(values_stay_within_the_range)
{
    for (int trial = 0; trial < 12; trial++) {
        mcamp_gram g;
        mcamp_rng r;
        double m[36], a[36];
        size_t b = 2 + (size_t)trial % 5;
        memset(&g, 0, sizeof g);
        CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
        mcamp_rng_seed(&r, (uint64_t)trial);
        for (size_t i = 0; i < b * b; i++) m[i] = 3 * pow(mcamp_rng_uniform(&r), 3);
        for (size_t i = 0; i < b; i++)
            for (size_t j = 0; j < b; j++) {
                a[i * b + j] = 0;
                for (size_t l = 0; l < b; l++) a[i * b + j] += m[i * b + l] * m[j * b + l];
            }
        if (trial % 3 == 0)             /* a mode that never takes part */
            for (size_t i = 0; i < b; i++) a[i] = a[i * b] = 0;
        CHECK_STATUS(mcamp_gram_from_matrix(&ctx, a, b, &g), MCAMP_OK);
        for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
            mcamp_sampler_desc d;
            mcamp_sampler s;
            mcamp_tally *t = (mcamp_tally *)calloc(1, sizeof *t);
            memset(&d, 0, sizeof d);
            d.direction = (mcamp_direction)dir;
            d.sigma = 0.5 + trial % 4; d.eps = 0.5 * (trial % 5);
            CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &d, &s), MCAMP_OK);
            CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 1, 0, 40, t), MCAMP_OK);
            CHECK(t->poisoned == 0);
            mcamp_sampler_free(&ctx, &s);
            free(t);
        }
        mcamp_gram_free(&ctx, &g);
    }
}

/* Same bits for any number of threads, any split, any order of merging. */
TEST(splits_and_threads_do_not_matter)
{
    mcamp_gram g;
    mcamp_sampler_desc d;
    mcamp_sampler s;
    mcamp_tally t[4], part;
    mcamp_ctx_desc cd;
    gram_of(MCAMP_MECH_SQRT, 4, 40, 8, &g);
    memset(t, 0, sizeof t);
    memset(&d, 0, sizeof d);
    d.direction = MCAMP_REMOVE; d.sigma = 4; d.eps = 1;
    CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &d, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 9, 0, 21, &t[0]), MCAMP_OK);
    for (int i = 2; i >= 0; i--) {
        memset(&part, 0, sizeof part);
        CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 9, (uint64_t)i * 7, 7, &part), MCAMP_OK);
        CHECK_STATUS(mcamp_tally_merge(&ctx, &t[1], &part), MCAMP_OK);
    }
    for (int i = 0; i < 2; i++) {
        mcamp_ctx threaded;
        memset(&cd, 0, sizeof cd);
        cd.parallel = mcamp_parallel_threads(i ? 8 : 3);
        CHECK_STATUS(mcamp_ctx_init(&threaded, &cd), MCAMP_OK);
        CHECK_STATUS(mcamp_sampler_run(&threaded, &s, 9, 0, 21, &t[2 + i]), MCAMP_OK);
    }
    for (int i = 1; i < 4; i++) CHECK(!memcmp(&t[0], &t[i], sizeof t[0]));
    part.eps = 2;
    CHECK_STATUS(mcamp_tally_merge(&ctx, &t[1], &part), MCAMP_E_MISMATCH);
    mcamp_sampler_free(&ctx, &s);
    mcamp_gram_free(&ctx, &g);
}

/* ---- questions --------------------------------------------------------------------- */

TEST(sigma_epsilon_and_delta_answer_each_other)
{
    mcamp_gram g;
    mcamp_answer a, e;
    gram_of(MCAMP_MECH_SQRT, 0, 8, 2, &g);
    CHECK_STATUS(mcamp_sigma(&ctx, &g, 1, 1e-5, NULL, &a), MCAMP_OK);
    CHECK_LE(fabs(a.sigma - sq8_sigma), 6.2 * a.std_error);
    CHECK_LE(1e-5 * (1 - 0.05), a.delta_upper);
    CHECK(a.remove.trusted && a.add.trusted && a.remove.value > a.add.value);
    CHECK_STATUS(mcamp_epsilon(&ctx, &g, sq8_sigma, 1e-5, NULL, &e), MCAMP_OK);
    CHECK_LE(fabs(e.eps - 1), 6.2 * e.std_error);
    CHECK_LE(sq8_sigma, a.unamplified);
    CHECK_LE(1, e.unamplified);
    mcamp_gram_free(&ctx, &g);
}

TEST(one_batch_is_the_gaussian_mechanism)
{
    mcamp_gram g;
    mcamp_answer a;
    double want = 0;
    gram_of(MCAMP_MECH_SQRT, 0, 8, 1, &g);
    CHECK_STATUS(mcamp_sigma(&ctx, &g, 1, 1e-5, NULL, &a), MCAMP_OK);
    CHECK_NEAR(a.sigma, 24.579168205511, 1e-12, 0);
    CHECK_STATUS(mcamp_delta(&ctx, &g, 10, 4, NULL, &a), MCAMP_OK);
    CHECK_NEAR(a.delta, 4.600708002231559e-10, 1e-12, 0);
    CHECK(a.remove.exact && a.add.exact);
    {   /* nor is there anything to sample */
        mcamp_guarantee s;
        mcamp_claim c;
        memset(&c, 0, sizeof c);
        c.sigma = 24.579168205511 * (1 - 1e-9); c.eps = 1; c.delta = 1e-5; c.beta = 0.01;
        CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_Q_REFUSED);
        CHECK(!s.accepted && !s.samples);
        c.sigma = 24.579168205511 * (1 + 1e-9);
        CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_OK);
        CHECK(s.accepted && !s.samples);
    }
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 30, g.max_norm, 1e-15, &want), MCAMP_OK);
    CHECK_STATUS(mcamp_epsilon(&ctx, &g, 30, 1e-15, NULL, &a), MCAMP_OK);
    CHECK_NEAR(a.eps, want, 1e-12, 0);
    mcamp_gram_free(&ctx, &g);
}

TEST(curve_falls_and_is_bracketed)
{
    mcamp_gram g;
    mcamp_answer a[9];
    double eps[9];
    mcamp_budget bud;
    gram_of(MCAMP_MECH_SQRT, 4, 64, 8, &g);
    memset(&bud, 0, sizeof bud);
    bud.rel_error = 0.05;
    for (int i = 0; i < 9; i++) eps[i] = 0.4 * i;
    CHECK_STATUS(mcamp_curve(&ctx, &g, 4, eps, 9, &bud, a), MCAMP_OK);
    for (int i = 0; i < 9; i++) {
        CHECK_LE(a[i].remove.lower, a[i].remove.value);
        CHECK_LE(a[i].remove.value, a[i].remove.upper);
        CHECK_LE(a[i].delta, a[i].unamplified);
        if (i) CHECK_LE(a[i].delta, a[i - 1].delta);
    }
    mcamp_gram_free(&ctx, &g);
}

/* ---- proofs -------------------------------------------------------------------------- */

static mcamp_claim claim_of(double sigma, double delta, double beta, uint64_t seed)
{
    mcamp_claim c;
    memset(&c, 0, sizeof c);
    c.sigma = sigma; c.eps = 1; c.delta = delta; c.beta = beta; c.seed = seed;
    return c;
}

TEST(true_claims_are_accepted_and_false_ones_refused)
{
    mcamp_gram g;
    mcamp_guarantee s;
    gram_of(MCAMP_MECH_SQRT, 0, 8, 2, &g);
    for (uint64_t seed = 0; seed < (uint64_t)mt_scale(20); seed++) {
        mcamp_claim c = claim_of(sq8_sigma, 1e-5 / 0.9, 1e-6, seed);
        CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_OK);
        CHECK(s.accepted && s.remove.accepted && s.add.accepted);
        CHECK(s.remove.log_wealth >= log(2e6));
        CHECK(s.samples == s.remove.samples + s.add.samples && s.gram_digest == g.digest);
        c.delta = 1e-5 / 1.1;
        CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &s), MCAMP_Q_REFUSED);
        CHECK(!s.accepted);
    }
    mcamp_gram_free(&ctx, &g);
}

/* At the exact null a test of level beta accepts with probability at most beta. */
TEST(false_acceptance_is_rarer_than_beta)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__workers w;
    mcamp_tally *t = (mcamp_tally *)calloc(1, sizeof *t);
    mcamp_claim c = claim_of(sq8_sigma, 1e-5, 0.01, 0);
    mcamp__choice choice;
    mcamp__question q;
    int accepted = 0, n = (int)mt_scale(3000);      /* `make campaign` makes 1e5 */
    double range = 0, m;
    gram_of(MCAMP_MECH_SQRT, 0, 8, 2, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    q = mcamp__ask(&f, sq8_sigma, 1, MCAMP_REMOVE, 0);
    CHECK_STATUS(mcamp__proof_choice(&ctx, &q, 0, &choice, &range, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp__question_sampler(&ctx, &q, &choice, &p), MCAMP_OK);
    CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
    m = mcamp__claim_mean(&p, 1e-5 * (1 + 1e-8));
    c.max_samples = 3072;               /* several looks at the wealth */
    for (int i = 0; i < n; i++) {
        mcamp_proof out;
        memset(&out, 0, sizeof out);
        out.stake = 1;
        c.seed = (uint64_t)i;
        CHECK(mcamp__verify_run(&ctx, &p, &w, &c, 0, m, 0.01, &out, t) >= 0);
        accepted += out.accepted;
    }
    CHECK(binomial_tail(n, accepted, 0.01) > 1e-9);
    mcamp__workers_free(&ctx, &w);
    mcamp__sampler_free(&ctx, &p);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
    free(t);
}

TEST(certified_sigma_is_never_too_small)
{
    mcamp_gram g;
    mcamp_guarantee s;
    for (uint64_t seed = 0; seed < (uint64_t)mt_scale(40); seed++) {
        mcamp_claim c = claim_of(0, 1e-5, 1e-5, seed);
        double truth = seed % 2 ? i2_sigma : sq8_sigma;
        if (seed % 2) gram_of(MCAMP_MECH_IDENTITY, 0, 2, 2, &g);
        else          gram_of(MCAMP_MECH_SQRT, 0, 8, 2, &g);
        CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &c, &s), MCAMP_OK);
        CHECK(s.accepted);
        CHECK_LE(truth, s.sigma);
        CHECK_LE(s.sigma, truth * 1.02);
        mcamp_gram_free(&ctx, &g);
    }
}

TEST(without_samples_there_is_still_the_unamplified_bound)
{
    mcamp_gram g;
    mcamp_guarantee s;
    mcamp_claim c = claim_of(0, 1e-5, 1e-300, 1);   /* no sample size reaches that beta */
    double su = 0;
    gram_of(MCAMP_MECH_SQRT, 2, 64, 16, &g);
    c.max_samples = 1024;
    CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &c, &s), MCAMP_Q_UNAMPLIFIED);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, g.max_norm, 1, 1e-5, &su), MCAMP_OK);
    CHECK(s.accepted && s.remove.method == MCAMP_METHOD_EXACT);
    CHECK_LE(su, s.sigma);
    CHECK_LE(s.sigma, su * (1 + 1e-7));         /* it is rounded up to be printed */
    mcamp_gram_free(&ctx, &g);
}

/* ---- faults ---------------------------------------------------------------------------- */

TEST(bad_arguments_are_named_and_touch_nothing)
{
    mcamp_gram g;
    mcamp_answer a, before;
    mcamp_guarantee s, s0;
    mcamp_claim c;
    double bad[5];
    gram_of(MCAMP_MECH_SQRT, 0, 8, 2, &g);
    bad[0] = mcamp__nan(); bad[1] = mcamp__inf(); bad[2] = -mcamp__inf(); bad[3] = -1; bad[4] = 0;
    memset(&a, 0x5a, sizeof a); before = a;
    memset(&s, 0x5a, sizeof s); s0 = s;
    for (int i = 0; i < 5; i++) {
        CHECK(mcamp_delta(&ctx, &g, bad[i], 1, NULL, &a) < 0);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "sigma"));
        if (i < 4) {
            CHECK(mcamp_delta(&ctx, &g, 1, bad[i], NULL, &a) < 0);
            CHECK(!strcmp(mcamp_last_error(&ctx).argument, "eps"));
        }
        CHECK(mcamp_sigma(&ctx, &g, 1, bad[i], NULL, &a) < 0);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "delta"));
        CHECK(mcamp_epsilon(&ctx, &g, bad[i], 1e-5, NULL, &a) < 0);
        c = claim_of(bad[i], 1e-5, 1e-5, 1);
        CHECK(mcamp_verify(&ctx, &g, &c, &s) < 0);
        c = claim_of(1, bad[i], 1e-5, 1);
        CHECK(mcamp_verify(&ctx, &g, &c, &s) < 0);
        c = claim_of(1, 1e-5, bad[i], 1);
        CHECK(mcamp_verify(&ctx, &g, &c, &s) < 0);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "beta"));
        c = claim_of(1, 1e-5, 1e-5, 1); c.end_canary = 3;
        CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &s), MCAMP_E_CANARY);
    }
    CHECK(mcamp_delta(&ctx, &g, DBL_MIN / 4, 1, NULL, &a) < 0);
    CHECK(mcamp_sigma(&ctx, &g, 1, 1.0, NULL, &a) < 0);
    CHECK_STATUS(mcamp_delta(&ctx, NULL, 1, 1, NULL, &a), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_delta(&ctx, &g, 1, 1, NULL, NULL), MCAMP_E_REQUIRED);
    CHECK(!memcmp(&a, &before, sizeof a));
    CHECK(!memcmp(&s, &s0, sizeof s));
    mcamp_gram_free(&ctx, &g);
}

TEST(samplers_refuse_by_name)
{
    static mcamp_tally t;
    mcamp_gram g;
    mcamp_sampler_desc good, d;
    mcamp_sampler s;
    gram_of(MCAMP_MECH_IDENTITY, 0, 4, 2, &g);
    memset(&good, 0, sizeof good);
    memset(&s, 0, sizeof s);
    good.sigma = good.eps = 1;
    good.direction = MCAMP_REMOVE;
#define REFUSE(change, status, name) \
    do { d = good; change; CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &d, &s), status); \
         CHECK(!strcmp(mcamp_last_error(&ctx).argument, name) && !s.impl); } while (0)
    REFUSE(d.start_canary = 1, MCAMP_E_CANARY, "desc");
    REFUSE(d.end_canary = 1, MCAMP_E_CANARY, "desc");
    REFUSE(d.sigma = 0, MCAMP_E_ARG, "sigma");
    REFUSE(d.sigma = mcamp__nan(), MCAMP_E_NONFINITE, "sigma");
    REFUSE(d.eps = -1, MCAMP_E_ARG, "eps");
    REFUSE(d.direction = MCAMP_BOTH, MCAMP_E_REQUIRED, "direction");
    REFUSE(d.direction = (mcamp_direction)3, MCAMP_E_REQUIRED, "direction");
    REFUSE(d.order = (size_t)1 << 40, MCAMP_E_ARG, "order");
    REFUSE(d.method = MCAMP_METHOD_EXACT, MCAMP_E_ARG, "method");
    REFUSE(d.method = (mcamp_method)77, MCAMP_E_ARG, "method");
    REFUSE((d.direction = MCAMP_ADD, d.method = MCAMP_METHOD_TILTED), MCAMP_E_ARG, "method");
#undef REFUSE
    CHECK_STATUS(mcamp_sampler_init(&ctx, &g, NULL, &s), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &good, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &good, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 1, 0, 1, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 1, 0, 0, &t), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 1, 0, UINT64_MAX / 2, &t), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 1, UINT64_MAX, 1, &t), MCAMP_E_SIZE);
    CHECK(!t.count);
    ctx.parallel = mcamp_parallel_threads(2);
    ctx.parallel.width = 0;             /* of no threads: one */
    CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 1, 0, 2, &t), MCAMP_OK);
    CHECK(t.count == 2 * MCAMP_BLOCK && !t.poisoned);
    mcamp_sampler_free(&ctx, &s);
    mcamp_gram_free(&ctx, &g);
}

typedef struct fault_case {
    mcamp_gram *g;
    mcamp_answer a;
    mcamp_guarantee s;
    int which;
} fault_case;

static mcamp_status fault_run(mcamp_ctx *c, void *user)
{
    fault_case *f = (fault_case *)user;
    mcamp_claim claim = claim_of(sq8_sigma * 1.01, 1e-5, 1e-3, 2);
    return f->which ? mcamp_verify(c, f->g, &claim, &f->s)
                    : mcamp_delta(c, f->g, 12.3, 1, NULL, &f->a);
}

static mcamp_status sampler_work(mcamp_ctx *c, void *user)
{
    static mcamp_tally t;
    mcamp_sampler s;
    mcamp_sampler_desc d;
    mcamp_status st;
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    d.sigma = d.eps = 1;
    d.direction = MCAMP_REMOVE;
    st = mcamp_sampler_init(c, (const mcamp_gram *)user, &d, &s);
    if (st < 0) return st;
    st = mcamp_sampler_run(c, &s, 1, 0, 1, &t);
    CHECK(st == MCAMP_OK ? t.count == MCAMP_BLOCK : !t.count);
    mcamp_sampler_free(c, &s);
    return st;
}

TEST(every_allocation_may_fail)
{
    mcamp_gram g;
    gram_of(MCAMP_MECH_SQRT, 0, 8, 2, &g);
    for (int which = mt_quick(); which < 2; which++) {
        fault_case f;
        memset(&f, 0, sizeof f);
        f.g = &g; f.which = which;
        mt_all_faults("core", fault_run, &f);
    }
    mt_all_faults("sampler", sampler_work, &g);
    mcamp_gram_free(&ctx, &g);
    gram_of(MCAMP_MECH_IDENTITY, 0, 4, 2, &g);
    mt_all_faults("sampler of C = I", sampler_work, &g);
    mcamp_gram_free(&ctx, &g);
}

static int stop_at_once(void *user, double fraction, double best)
{
    (void)fraction; (void)best;
    ++*(int *)user;
    return 1;
}

TEST(the_user_can_stop_it)
{
    mcamp_gram g;
    mcamp_ctx stopping;
    mcamp_ctx_desc d;
    mcamp_guarantee s;
    mcamp_claim c = claim_of(sq8_sigma * 1.0005, 1e-5, 1e-9, 1);
    int calls = 0;
    gram_of(MCAMP_MECH_SQRT, 0, 8, 2, &g);
    memset(&d, 0, sizeof d);
    d.progress.fn = stop_at_once; d.progress.user = &calls;
    CHECK_STATUS(mcamp_ctx_init(&stopping, &d), MCAMP_OK);
    CHECK_STATUS(mcamp_verify(&stopping, &g, &c, &s), MCAMP_Q_INTERRUPTED);
    CHECK(!s.accepted && calls > 0);
    mcamp_gram_free(&ctx, &g);
}

TEST_MAIN("core",
    T(tallies_round_up_and_carry),
    T(what_is_not_a_value_poisons_and_proves_nothing),
    T(wealth_from_bins_is_below_the_exact_wealth),
    T(betting_dominates_hoeffding),
    T(bounds_cover),
    T(range_of_the_worst_index),
    T(every_law_integrates_rho_to_one),
    T(every_law_agrees_with_the_exact_value),
    T(range_constant_is_the_maximum),
    T(values_stay_within_the_range),
    T(splits_and_threads_do_not_matter), T(tuples_of_any_number_of_threads),
    T(rounding_of_quiet_modes_is_within_its_bound), T(what_rounding_adds_comes_off),
    T(sigma_epsilon_and_delta_answer_each_other),
    T(one_batch_is_the_gaussian_mechanism),
    T(curve_falls_and_is_bracketed),
    T(true_claims_are_accepted_and_false_ones_refused),
    T(false_acceptance_is_rarer_than_beta),
    T(certified_sigma_is_never_too_small),
    T(without_samples_there_is_still_the_unamplified_bound),
    T(bad_arguments_are_named_and_touch_nothing),
    T(samplers_refuse_by_name),
    T(every_allocation_may_fail),
    T(the_user_can_stop_it))
