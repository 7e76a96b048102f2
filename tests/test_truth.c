/* What decides, against answers that share no code with the header (reference.h):
 * quadrature for two and three modes, conditional sampling in long double for up to
 * 64.  Bounds must hold as bounds, verdicts must be true; estimates agree.
 * False alarms: every statistical check has probability below 1e-9.               */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "reference.h"

enum { N_MAX = 150 };

/* The long version is tests/stat/truth.c. */
#ifndef TRUTH_SAMPLES
#  define TRUTH_SAMPLES 200000
#  define TRUTH_CASES   6
#endif

static mcamp_ctx ctx;
static double C[N_MAX * N_MAX];
static ref_matrix a;

static uint64_t state = 77;
static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / 9007199254740992.0;
}

/* ---- strategies ------------------------------------------------------------------- */

typedef enum kind { IDENTITY, FEW, SIGNED, LATE, ROOT, BLT, RANDOM, INVERSE, SCALED, KINDS } kind;

static const double few[2] = { 1, 0.5 };
static const double signs[4] = { 1, -0.4, 0, 0.7 };
static const double late[5] = { 1, 0.1, 0.1, 0.1, 0.6 };    /* rises again */
static const double inverse[3] = { 1, -0.6, 0.2 };
static const double theta[2] = { 0.9, 0.3 }, omega[2] = { 0.2, 0.25 };
static double scale[N_MAX];      /* SCALED: of SIGNED's columns */

static double toeplitz(kind k, size_t d)
{
    double c = 1;
    switch (k) {
    case IDENTITY: return d == 0;
    case FEW:      return d < 2 ? few[d] : 0;
    case SCALED:
    case SIGNED:   return d < 4 ? signs[d] : 0;
    case LATE:     return d < 5 ? late[d] : 0;
    case BLT:
        return !d ? 1 : omega[0] * pow(theta[0], (double)d - 1) +
                        omega[1] * pow(theta[1], (double)d - 1);
    default:
        for (size_t i = 1; i <= d; i++) c *= (2 * (double)i - 1) / (2 * (double)i);
        return c;
    }
}

/* Dense C by its definition, and the header's own object. */
static mcamp_mech make(kind k, size_t n)
{
    mcamp_mech m;
    mcamp_mech_desc d;
    memset(&m, 0, sizeof m);
    memset(&d, 0, sizeof d);
    memset(C, 0, sizeof C);
    for (size_t j = 0; j < n; j++) scale[j] = k == SCALED ? 1.3 + cos((double)j) : 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            C[i * n + j] = k == RANDOM ? 2 * uniform() - 1 + 2 * (i == j)
                                       : toeplitz(k, i - j) * scale[j];
    for (size_t i = 0; k == INVERSE && i < n; i++)          /* row by row, from C T = I */
        for (size_t j = 0; j <= i; j++) {
            double s = i == j;
            for (size_t p = 1; p < 3 && p <= i - j; p++) s -= inverse[p] * C[(i - p) * n + j];
            C[i * n + j] = s;
        }
    d.n = n;
    d.kind = k == ROOT ? MCAMP_MECH_SQRT : k == BLT ? MCAMP_MECH_BLT
           : k == RANDOM ? MCAMP_MECH_DENSE : k == INVERSE ? MCAMP_MECH_INVERSE
           : k == IDENTITY ? MCAMP_MECH_IDENTITY : MCAMP_MECH_TOEPLITZ;
    d.coef = k == FEW ? few : k == SIGNED || k == SCALED ? signs
           : k == LATE ? late : k == RANDOM ? C : k == INVERSE ? inverse : NULL;
    d.count = k == FEW ? 2 : k == SIGNED || k == SCALED ? 4 : k == LATE ? 5 : k == RANDOM ? n * n
            : k == INVERSE ? 3 : 0;
    if (k == SCALED) d.scale = scale;
    if (k == BLT) { d.theta = theta; d.omega = omega; d.buffers = 2; }
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    return m;
}

static mcamp_gram gram_of(kind k, size_t n, size_t b)
{
    mcamp_mech m = make(k, n);
    mcamp_gram g;
    memset(&g, 0, sizeof g);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, &g), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
    return g;
}

static double entry(const mcamp_gram *g, size_t i, size_t j)
{
    if (g->kind == MCAMP_GRAM_DIAGONAL) return i == j ? g->g[i] : 0;
    return g->g[i * g->b + j];
}

TEST(modes_by_brute_force)
{
    static const size_t size[4][2] = { { 7, 3 }, { 30, 13 }, { 41, 64 }, { 100, 32 } };
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    for (int k = 0; k < KINDS; k++)
        for (int s = 0; s < 4; s++) {
            size_t n = size[s][0], b = size[s][1];
            mcamp_gram g = gram_of((kind)k, n, b);
            ref_modes(C, n, b, 1, a);
            for (size_t i = 0; i < b; i++)
                for (size_t j = 0; j < b; j++)
                    CHECK_NEAR(entry(&g, i, j), (double)a[i][j], 2e-13, 0);
            mcamp_gram_free(&ctx, &g);
        }
}

/* ---- estimates, bounds, verdicts ----------------------------------------------------- */

/* truth: within err, which counts for nothing where it is a quadrature's. */
static void check_estimate(const mcamp_estimate *e, double truth, double err)
{
    CHECK_LE(fabs(e->value - truth), 6.5 * hypot(e->std_error, err) + 1e-7 * truth);
    CHECK_LE(e->lower, truth + 6.5 * err);
    CHECK_LE(truth - 6.5 * err, e->upper);
    CHECK_LE(e->upper, 1.5 * truth);
    CHECK_LE(e->std_error, 0.03 * truth);
}

static void check_verdict(const mcamp_gram *g, double sigma, double eps, double delta,
                          mcamp_direction d, int accepted)
{
    mcamp_claim c;
    mcamp_guarantee out;
    mcamp_status st;
    memset(&c, 0, sizeof c);
    c.sigma = sigma; c.eps = eps; c.delta = delta; c.direction = d;
    c.beta = 1e-10;
    c.seed = 5;
    c.max_samples = UINT64_C(1) << 20;
    st = mcamp_verify_sampled(&ctx, g, &c, &out);
    CHECK(st >= 0 && out.accepted == accepted && (st == MCAMP_OK) == accepted);
    CHECK(out.direction == d);
}

/* One pair: both directions' estimates and verdicts against remove and add, each known
 * within its error.                                                                 */
static void check_pair(const mcamp_gram *g, double sigma, double eps, double remove,
                       double add, double remove_err, double add_err)
{
    const double most[3] = { 0, remove + 6.5 * remove_err, add + 6.5 * add_err };
    const double least[3] = { 0, remove - 6.5 * remove_err, add - 6.5 * add_err };
    const double worse = fmax(least[MCAMP_REMOVE], least[MCAMP_ADD]);
    const double better = fmin(most[MCAMP_REMOVE], most[MCAMP_ADD]);
    mcamp_budget bud;
    mcamp_answer v;
    memset(&bud, 0, sizeof bud);
    bud.beta = 1e-10;
    bud.seed = 3;
    bud.rel_error = 0.02;
    CHECK(mcamp_delta(&ctx, g, sigma, eps, &bud, &v) >= 0);
    check_estimate(&v.remove, remove, remove_err);
    check_estimate(&v.add, add, add_err);
    for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
        check_verdict(g, sigma, eps, 1.3 * most[d], (mcamp_direction)d, 1);
        check_verdict(g, sigma, eps, least[d] / 1.1, (mcamp_direction)d, 0);
    }
    check_verdict(g, sigma, eps, 1.3 * fmax(most[MCAMP_REMOVE], most[MCAMP_ADD]), MCAMP_BOTH, 1);
    /* one direction alone may be true */
    check_verdict(g, sigma, eps, worse / 1.1, MCAMP_BOTH, 0);
    if (better < 0.7 * worse)
        check_verdict(g, sigma, eps, sqrt(better * worse), MCAMP_BOTH, 0);
}

static void check_quadrature(kind k, size_t n, size_t b, double sigma, double eps)
{
    mcamp_gram g = gram_of(k, n, b);
    double remove, add;
    ref_modes(C, n, b, sigma, a);
    remove = ref_quadrature(a, b, eps, 0, 1e-8);
    add = ref_quadrature(a, b, eps, 1, 1e-8);
    CHECK(remove > 0 && add > 0);
    check_pair(&g, sigma, eps, remove, add, 0, 0);
    mcamp_gram_free(&ctx, &g);
}

TEST(two_and_three_modes_by_quadrature)
{
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    check_quadrature(IDENTITY, 6, 2, 2, 0.5);
    check_quadrature(FEW, 7, 2, 4, 0.3);
    check_quadrature(ROOT, 5, 2, 6, 0.2);
    check_quadrature(IDENTITY, 7, 3, 2.5, 0.5);     /* one mode longer than the others */
    check_quadrature(FEW, 8, 3, 3, 0.7);
    check_quadrature(SIGNED, 7, 3, 4, 0.5);
    check_quadrature(LATE, 10, 3, 6, 0.25);
    check_quadrature(RANDOM, 8, 3, 9, 0.4);
    check_quadrature(ROOT, 11, 3, 7, 0.6);
    check_quadrature(FEW, 3, 3, 1.5, 1.5);
}

/* Returns 0 if the reference is too rough to tell. */
static int check_sampled(kind k, size_t n, size_t b, double sigma, double eps)
{
    mcamp_gram g = gram_of(k, n, b);
    double remove, add, re, ae;
    size_t samples = mt_scale(TRUTH_SAMPLES / b);
    int told;
    ref_modes(C, n, b, sigma, a);
    remove = ref_sampled(a, b, eps, 0, 11, samples, &re);
    add = ref_sampled(a, b, eps, 1, 12, samples, &ae);
    told = fmax(re / remove, ae / add) < (samples < TRUTH_SAMPLES / b ? 0.25 : 0.05);
    if (told) check_pair(&g, sigma, eps, remove, add, re, ae);
    mcamp_gram_free(&ctx, &g);
    return told;
}

TEST(many_modes_by_conditional_sampling)
{
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    CHECK(check_sampled(FEW, 11, 4, 2, 0.5));
    CHECK(check_sampled(SIGNED, 23, 8, 3, 0.5));
    CHECK(check_sampled(LATE, 50, 16, 3, 0.5));
    CHECK(check_sampled(SCALED, 25, 6, 5, 0.5));
    CHECK(check_sampled(RANDOM, 30, 7, 15, 0.5));
    CHECK(check_sampled(ROOT, 70, 32, 3, 0.7));
    CHECK(check_sampled(BLT, 100, 32, 2, 0.7));
    CHECK(check_sampled(INVERSE, 100, 48, 1.4, 0.4));
    CHECK(check_sampled(FEW, 150, 64, 1.2, 0.4));
}

TEST(random_strategies)
{
    int told = 0;
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    for (int c = 0; c < TRUTH_CASES; c++) {
        kind k = (kind)(1 + (int)(uniform() * (KINDS - 1)));
        size_t b = 2 + (size_t)(uniform() * (c % 2 ? 62 : 10));
        size_t n = 5 + b / 2 + (size_t)(uniform() * (double)(b + b / 2));
        double sigma = 2, eps = 0.1 + uniform(), e;
        uint64_t seed = state;
        for (int i = 0; i < 40; i++) {          /* delta from 0.02 to 0.3 */
            mcamp_mech m = make(k, n);          /* the same random C each time */
            double d;
            state = seed;
            mcamp_mech_free(&ctx, &m);
            ref_modes(C, n, b, sigma, a);
            d = ref_sampled(a, b, eps, 1, 5, 300, &e);
            if (d > 0.02 && d < 0.3) break;
            sigma *= d < 0.02 ? 1 / 1.2 : 1.2;
        }
        told += check_sampled(k, n, b, sigma, eps);
    }
    CHECK(2 * told >= TRUTH_CASES);
}

/* The two references agree with each other. */
TEST(references_agree)
{
    double q, s, e;
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    for (int add = 0; add < 2; add++)
        for (size_t b = 2; b < 4; b++) {
            mcamp_gram g = gram_of(LATE, 8, b);
            ref_modes(C, 8, b, 4, a);
            q = ref_quadrature(a, b, 0.5, add, 1e-9);
            s = ref_sampled(a, b, 0.5, add, 21, 20000, &e);
            CHECK_LE(fabs(q - s), 6.5 * e);
            CHECK_LE(e, 0.01 * q);
            mcamp_gram_free(&ctx, &g);
        }
}

TEST_MAIN("truth", T(modes_by_brute_force), T(references_agree),
          T(two_and_three_modes_by_quadrature), T(many_modes_by_conditional_sampling),
          T(random_strategies))
