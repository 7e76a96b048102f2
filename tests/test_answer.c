/* Answers of section calib: what is known without samples, that each meets its question
 * or says that it does not, what an interruption leaves, bounds of curves for all eps at
 * once, error bars that are true over seeds, streams that differ.  The truth is
 * quadrature for two modes (core_common.h), or in two dimensions here.                */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "core_common.h"

static const mcamp_direction directions[3] = { MCAMP_REMOVE, MCAMP_ADD, MCAMP_BOTH };

/* A quarter of the cases where time is short. */
static int some(int n) { return getenv("MCAMP_TEST_QUICK") ? (n + 3) / 4 : n; }

static mcamp_budget budget_of(mcamp_direction dir, double rel_error, uint64_t seed)
{
    mcamp_budget b;
    memset(&b, 0, sizeof b);
    b.direction = dir; b.rel_error = rel_error; b.seed = seed;
    return b;
}

static double truth2(const mcamp_gram *g, double sigma, double eps, mcamp_direction dir)
{
    double r = delta2(g, sigma, eps, MCAMP_REMOVE), a = delta2(g, sigma, eps, MCAMP_ADD);
    return dir == MCAMP_REMOVE ? r : dir == MCAMP_ADD ? a : fmax(r, a);
}

/* 1 if delta2 crosses the target between lo and hi, sigma or (sigma given) eps. */
static int crosses(const mcamp_gram *g, double sigma, double eps, double delta,
                   mcamp_direction dir, double lo, double hi)
{
    double dl = sigma > 0 ? truth2(g, sigma, lo, dir) : truth2(g, lo, eps, dir);
    double dh = sigma > 0 ? truth2(g, sigma, hi, dir) : truth2(g, hi, eps, dir);
    return dl >= delta * (1 - 1e-9) && dh <= delta * (1 + 1e-9);
}

/* ---- without samples ---------------------------------------------------------------- */

/* A close interval without samples. */
static void check_interval(const mcamp_answer *a, double width)
{
    CHECK_STATUS(a->status, MCAMP_OK);
    CHECK(a->kind == MCAMP_KIND_INTERVAL && a->samples == 0);
    CHECK_LE(a->upper, a->lower * (1 + width));
    CHECK_NEAR(a->std_error, a->upper - a->lower, 1e-6, 1e-15);
}

static mcamp_status verify_at(const mcamp_gram *g, double sigma, double eps, double delta,
                              mcamp_direction dir, mcamp_guarantee *s)
{
    mcamp_claim c;
    memset(&c, 0, sizeof c);
    c.sigma = sigma; c.eps = eps; c.delta = delta; c.direction = dir;
    c.beta = 1e-300; c.max_samples = 1024;          /* nothing can be proved by samples */
    return mcamp_verify(&ctx, g, &c, s);
}

/* eps from far below to far above the noise's; sigma from 0.6 to 600 modes. */
TEST(two_equal_bins_are_known_without_samples)
{
    static const double eps[] = { 0.003, 0.1, 1, 4 }, delta[] = { 1e-6, 1e-5, 1e-3, 1e-10 };
    mcamp_gram g;
    setup();
    gram_make("identity", "raw", 6, 2, &g);
    for (int i = 0; i < some(7); i++) {
        mcamp_direction dir = directions[i % 3];
        double e = eps[(i + 2) % 4], d = delta[(i / 3 + i + 1) % 4];
        mcamp_budget bud = budget_of(dir, 0, 1);
        mcamp_guarantee s;
        mcamp_answer a, b;
        CHECK_STATUS(mcamp_sigma(&ctx, &g, e, d, &bud, &a), MCAMP_OK);
        check_interval(&a, 1e-3);
        CHECK(crosses(&g, 0, e, d, dir, a.lower, a.upper));
        CHECK_NEAR(a.sigma, a.upper, 0, 0);
        CHECK_LE(a.delta_upper, d);
        CHECK_LE(d, a.delta_upper * 1.01);
        for (double up = 1; up < 1.001; up += 1.7e-5 + 5 * (up - 1)) {
            CHECK_STATUS(verify_at(&g, a.sigma * up, e, d, dir, &s), MCAMP_OK);
            CHECK(s.accepted && s.samples == 0);
        }
        CHECK(verify_at(&g, a.lower, e, d, dir, &s) > 0 && !s.accepted);
        CHECK_STATUS(mcamp_delta(&ctx, &g, a.sigma, e, &bud, &b), MCAMP_OK);
        check_interval(&b, 1e-3);
        CHECK_LE(b.lower, truth2(&g, a.sigma, e, dir) * (1 + 1e-9));
        CHECK_LE(truth2(&g, a.sigma, e, dir) * (1 - 1e-9), b.upper);
        CHECK_STATUS(verify_at(&g, a.sigma, e, b.delta, dir, &s), MCAMP_OK);
        CHECK_STATUS(mcamp_epsilon(&ctx, &g, a.sigma, d, &bud, &b), MCAMP_OK);
        check_interval(&b, 1e-3);
        CHECK(crosses(&g, a.sigma, 0, d, dir, b.lower, b.upper));
        CHECK_STATUS(verify_at(&g, a.sigma, b.eps, d, dir, &s), MCAMP_OK);
    }
    mcamp_gram_free(&ctx, &g);
}

/* Many bins and a small eps, where the unamplified sigma is 5.7 times too large, and far
 * ones that need little amplification; certified at the same sigma, without samples.   */
TEST(many_equal_bins_are_known_without_samples)
{
    static const struct { size_t b; double eps, delta, lo, hi; } c[] = {
        { 32, 0.003, 1e-6, 161.74, 161.78 }, { 128, 1, 1e-5, 0.83834, 0.83848 },
        { 1024, 0.5, 1e-8, 0.5, 3 }, { 16, 8, 1e-5, 0.2, 0.6 } };
    setup();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_gram g;
        mcamp_answer a;
        mcamp_claim claim;
        mcamp_guarantee s;
        gram_make("identity", "raw", c[i].b, c[i].b, &g);
        CHECK_STATUS(mcamp_sigma(&ctx, &g, c[i].eps, c[i].delta, NULL, &a), MCAMP_OK);
        check_interval(&a, 1e-3);
        CHECK_LE(c[i].lo, a.sigma);
        CHECK_LE(a.sigma, c[i].hi);
        memset(&claim, 0, sizeof claim);
        claim.eps = c[i].eps; claim.delta = claim.beta = c[i].delta;
        CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &claim, &s), MCAMP_OK);
        CHECK(s.accepted && s.samples == 0);
        CHECK_LE(a.sigma, s.sigma);
        CHECK_NEAR(s.sigma, a.sigma, 1e-6, 0);
        mcamp_gram_free(&ctx, &g);
    }
}

TEST(one_bin_is_a_formula)
{
    double one = 2.25;
    mcamp_gram g;
    mcamp_answer a;
    setup();
    gram_user(&one, 1, &g);
    CHECK_STATUS(mcamp_sigma(&ctx, &g, 1, 1e-5, NULL, &a), MCAMP_OK);
    CHECK(a.kind == MCAMP_KIND_CLOSED && a.samples == 0);
    CHECK_STATUS(mcamp_delta(&ctx, &g, a.sigma, 1, NULL, &a), MCAMP_OK);
    CHECK(a.kind == MCAMP_KIND_CLOSED);
    CHECK_NEAR(a.delta, 1e-5, 1e-9, 0);
    CHECK_STATUS(mcamp_epsilon(&ctx, &g, a.sigma, 1e-5, NULL, &a), MCAMP_OK);
    CHECK(a.kind == MCAMP_KIND_CLOSED);
    CHECK_NEAR(a.eps, 1, 1e-9, 0);
    mcamp_gram_free(&ctx, &g);
}

/* A method that is asked for is used, and is an estimate. */
TEST(samples_are_drawn_where_they_are_asked_for)
{
    mcamp_gram g;
    mcamp_answer a;
    mcamp_budget bud = budget_of(MCAMP_REMOVE, 0.05, 1);
    setup();
    gram_make("identity", "raw", 6, 2, &g);
    bud.method = MCAMP_METHOD_TILTED;
    CHECK_STATUS(mcamp_delta(&ctx, &g, 3, 1, &bud, &a), MCAMP_OK);
    CHECK(a.kind == MCAMP_KIND_ESTIMATE && a.samples > 0);
    CHECK(a.remove.method == MCAMP_METHOD_TILTED);
    CHECK_LE(fabs(a.delta - truth2(&g, 3, 1, MCAMP_REMOVE)), 6 * a.std_error);
    mcamp_gram_free(&ctx, &g);
}

/* ---- checked against the question ------------------------------------------------------ */

/* delta_remove of two modes and an idle one, E_P (1 - e^{eps - Y})_+ on a grid under each
 * mode's law: about 1e-3.                                                             */
static double idle_truth(const mcamp_gram *g, double sigma, double eps)
{
    double v = sigma * sigma, a11 = mcamp__gram_at(g, 0, 0) / v, a22 = mcamp__gram_at(g, 1, 1) / v;
    double a12 = mcamp__gram_at(g, 0, 1) / v, l = sqrt(a11), k = a12 / l, m = sqrt(a22 - k * k);
    double sum = 0, h = 0.03;
    for (int j = 0; j < 2; j++)
        for (double x = -9; x < 9; x += h)
            for (double y = -9; y < 9; y += h) {
                double g1 = l * x + (j ? a12 : a11), g2 = k * x + m * y + (j ? a22 : a12);
                double Y = log((exp(g1 - a11 / 2) + exp(g2 - a22 / 2) + 1) / 3);
                if (Y > eps) sum += -expm1(eps - Y) * exp(-(x * x + y * y) / 2) * h * h;
            }
    return sum / (3 * 2 * 3.14159265358979323846);
}

/* Three bins in two rounds, C = (0.791, 0.828): the unamplified 0.907 is no answer. */
TEST(a_bin_that_never_comes_misleads_nobody)
{
    mcamp_gram g;
    mcamp_answer a;
    mcamp_budget bud = budget_of(MCAMP_BOTH, 0.05, 1);
    double truth;
    setup();
    gram_make("toeplitz:0.791,0.828", "raw", 2, 3, &g);
    for (double sigma = 0.5; sigma < 0.95; sigma += 0.1) {
        truth = idle_truth(&g, sigma, 8);
        CHECK(mcamp_delta(&ctx, &g, sigma, 8, &bud, &a) >= 0);
        CHECK_LE(truth * 0.99, a.delta_upper);
        CHECK_LE(a.remove.lower, truth * 1.01);
        CHECK_LE(fabs(a.delta - truth), 6 * a.std_error + 5e-3 * truth);
    }
    CHECK_STATUS(mcamp_sigma(&ctx, &g, 8, 1e-9, &bud, &a), MCAMP_Q_UNTRUSTED);
    truth = idle_truth(&g, a.sigma, 8);
    CHECK_NEAR(truth, 1e-9, 0.3, 0);
    mcamp_gram_free(&ctx, &g);
}

/* sigma and eps of correlated modes at small deltas: near the truth, or not trusted. */
TEST(roots_are_right_or_not_trusted)
{
    static const double delta[] = { 1e-2, 1e-5, 1e-9, 1e-14 };
    int trusted = 0;
    setup();
    for (int i = 0; i < 16; i++) {
        mcamp_budget bud = budget_of(directions[i % 3], 0.05, (uint64_t)i);
        mcamp_gram g;
        mcamp_answer a;
        double e = i % 2 ? 0.3 : 3, d = delta[i / 4], off;
        gram_random(2, i % 3, &g);
        bud.max_samples = 100000;
        CHECK(mcamp_sigma(&ctx, &g, e, d, &bud, &a) >= 0);
        off = 6 * a.std_error + 1e-3 * a.sigma;
        trusted += a.status == MCAMP_OK;
        if (a.status == MCAMP_OK)
            CHECK(crosses(&g, 0, e, d, bud.direction, a.sigma - off, a.sigma + off));
        CHECK(mcamp_epsilon(&ctx, &g, a.sigma, d, &bud, &a) >= 0);
        off = 6 * a.std_error + 3e-3 * a.eps;
        trusted += a.status == MCAMP_OK;
        if (a.status == MCAMP_OK)
            CHECK(crosses(&g, a.sigma, 0, d, bud.direction, fmax(a.eps - off, 0), a.eps + off));
        mcamp_gram_free(&ctx, &g);
    }
    CHECK(trusted >= 16);
}

/* The check itself: a delta elsewhere than at the target fails it, in all forms. */
TEST(an_answer_that_misses_its_target_is_seen)
{
    mcamp_budget bud = budget_of(MCAMP_BOTH, 0.01, 1);
    mcamp__solve s;
    mcamp_answer a, b;
    mcamp__solve_start(NULL, &bud, 1, 1, 1e-5, &s);
    mcamp__answer_start(&bud, 3, 1, &a);
    a.kind = MCAMP_KIND_ESTIMATE;
    a.delta = 1.01e-5; a.std_error = 1e-7; a.delta_upper = 2e-5;
    CHECK(mcamp__solve_meets(&s, &a, 0));
    b = a; b.delta = 2e-5;
    CHECK(!mcamp__solve_meets(&s, &b, 0) && !mcamp__solve_meets(&s, &b, 1));
    b = a; b.delta = 5e-6;                      /* fine only where no smaller x is left */
    CHECK(!mcamp__solve_meets(&s, &b, 0) && mcamp__solve_meets(&s, &b, 1));
    b = a; b.add.lower = 1.5e-5;                /* a bound says that it is not met */
    CHECK(!mcamp__solve_meets(&s, &b, 0));
    b = a; b.delta = 0; b.std_error = 1;        /* no error bar excuses it */
    CHECK(!mcamp__solve_meets(&s, &b, 0));
    b = a; b.delta = 1e-300; b.std_error = 1e-5;
    CHECK(!mcamp__solve_meets(&s, &b, 0));
    b = a; b.kind = MCAMP_KIND_INTERVAL; b.delta = b.delta_upper = 1e-5;
    CHECK(mcamp__solve_meets(&s, &b, 0));
    b.delta = b.delta_upper = 2e-5;
    CHECK(!mcamp__solve_meets(&s, &b, 0));
}

/* A search for the sigma, near 12.3, of two modes at eps = 1, delta = 1e-5. */
typedef struct two_modes {
    mcamp_budget bud;
    mcamp_gram g;
    mcamp__factor f;
    mcamp__solve s;
} two_modes;

static void two_modes_init(two_modes *m, double rel_error)
{
    mcamp_budget given = budget_of(MCAMP_REMOVE, rel_error, 3);
    setup();
    CHECK_STATUS(mcamp__budget_resolve(&ctx, &given, &m->bud), MCAMP_OK);
    gram_make("sqrt:0", "raw", 8, 2, &m->g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &m->g, &m->f), MCAMP_OK);
    mcamp__solve_start(&m->f, &m->bud, 1, 1, 1e-5, &m->s);
}

static void two_modes_free(two_modes *m)
{
    mcamp__factor_free(&ctx, &m->f);
    mcamp_gram_free(&ctx, &m->g);
}

/* The slow search finds the root alone. */
TEST(the_slow_search_finds_the_root)
{
    two_modes m;
    double x = 0, err = 0;
    two_modes_init(&m, 0.02);
    CHECK_STATUS(mcamp__solve_slowly(&ctx, &m.s, log(2), log(40), &x, &err), MCAMP_OK);
    CHECK_NEAR(exp(x), 12.300898090575043, 0.01, 0);
    CHECK_LE(1e-4, err);
    CHECK_LE(err, 0.02);
    two_modes_free(&m);
}

/* A root that is wrong is looked for again; where there is none, that is said. */
TEST(a_wrong_root_is_mended_or_said)
{
    two_modes m;
    mcamp_answer a;
    double x = log(20), err = 0;
    two_modes_init(&m, 0.02);
    CHECK_STATUS(mcamp__solve_answer(&ctx, &m.s, log(2), log(40), &x, &err, &a), MCAMP_OK);
    CHECK_STATUS(a.status, MCAMP_OK);
    CHECK_NEAR(a.sigma, 12.300898090575043, 0.01, 0);
    x = log(25);
    CHECK_STATUS(mcamp__solve_answer(&ctx, &m.s, log(20), log(40), &x, &err, &a), MCAMP_OK);
    CHECK_STATUS(a.status, MCAMP_Q_UNTRUSTED);
    two_modes_free(&m);
}

/* ---- error bars -------------------------------------------------------------------------- */

/* Both directions far out: the add direction's value may be 1e-8 of remove's and less. */
TEST(error_bars_of_the_smaller_direction_are_true)
{
    int far = 0;
    setup();
    for (int i = 0; i < 40; i++) {
        mcamp_budget bud = budget_of(MCAMP_BOTH, 0.05, (uint64_t)i);
        mcamp_gram g;
        mcamp_answer a;
        double sigma, eps, truth[2];
        gram_random(2, i % 3 ? 1 : 4, &g);
        sigma = g.max_norm * (0.15 + 0.5 * test_rand());
        eps = (0.7 + test_rand()) * g.max_norm / sigma + 0.3;
        bud.max_samples = 50000;
        truth[0] = delta2(&g, sigma, eps, MCAMP_REMOVE);
        truth[1] = delta2(&g, sigma, eps, MCAMP_ADD);
        CHECK(mcamp_delta(&ctx, &g, sigma, eps, &bud, &a) >= 0);
        for (int d = 0; d < 2; d++) {
            const mcamp_estimate *e = d ? &a.add : &a.remove;
            CHECK_LE(truth[d] * (1 - 1e-6), e->upper);
            CHECK_LE(e->lower, fmax(truth[d] * (1 + 1e-6), 1e-100));
            if (e->trusted && (truth[d] > 0 || e->value > 1e-150))  /* as far as grids reach */
                CHECK_LE(fabs(e->value - truth[d]), 6 * e->std_error + 1e-6 * truth[d]);
        }
        far += truth[1] < 1e-3 * truth[0];
        mcamp_gram_free(&ctx, &g);
    }
    CHECK(far > 3);
}

/* It is told as well as it matters: its samples are no more than the larger one's. */
TEST(the_smaller_direction_is_not_what_costs)
{
    mcamp_budget bud = budget_of(MCAMP_BOTH, 0.01, 1);
    mcamp_gram g;
    mcamp_answer a;
    setup();
    gram_make("sqrt:4", "raw", 512, 512, &g);
    CHECK(mcamp_delta(&ctx, &g, 1.3055724, 0.5, &bud, &a) >= 0);
    CHECK(a.add.value < 0.01 * a.remove.value);
    CHECK_LE(fabs(a.add.value - 1.041e-11), 6 * a.add.std_error);
    CHECK_LE((double)a.add.samples, (double)a.remove.samples);
    CHECK_LE(fabs(a.delta - 9.99e-9), 6.2 * a.std_error);
    CHECK_LE(a.std_error, 0.012 * a.delta);
    mcamp_gram_free(&ctx, &g);
}

/* Sum of squares of (value - truth)/error over seeds: chi-square of n, 1e-9 either side. */
TEST(errors_over_seeds_are_as_long_as_stated)
{
    static const struct { const char *name; size_t n; double sigma, eps; } c[] = {
        { "sqrt:0", 8, 12.3, 1 }, { "sqrt:0", 8, 2.03, 8 }, { "ones", 4, 1.76, 8 },
        { "sqrt:2", 5, 2, 0.5 } };
    setup();
    for (int i = 0; i < 4; i++)
        for (int dir = 0; dir < 2; dir++) {
            const int n = 60;
            mcamp_gram g;
            double sum = 0, truth, spread = 1;
            gram_make(c[i].name, "raw", c[i].n, 2, &g);
            truth = delta2(&g, c[i].sigma, c[i].eps, directions[dir]);
            for (int k = 0; k < n; k++) {
                mcamp_budget bud = budget_of(directions[dir], 0.05, (uint64_t)(100 * i + k));
                mcamp_answer a;
                CHECK(mcamp_delta(&ctx, &g, c[i].sigma, c[i].eps, &bud, &a) >= 0);
                sum += (a.delta - truth) * (a.delta - truth) / (a.std_error * a.std_error);
                spread = fmin(spread, a.std_error / a.delta * sqrt((double)a.samples));
                CHECK_LE(truth, a.delta_upper);
            }
            CHECK_LE(sum, 150);         /* of a mean of 60; squares are up to 0.8% long */
            if (spread > 0.5) CHECK_LE(8, sum);
            mcamp_gram_free(&ctx, &g);
        }
}

/* log delta near a root, by the parabola through three values. */
typedef struct near_root { double root, h, at[3]; } near_root;

static near_root near_root_of(const mcamp_gram *g, double sigma, double eps, int by_sigma)
{
    near_root r;
    r.root = by_sigma ? sigma : eps;
    r.h = 0.02 * r.root;
    for (int i = 0; i < 3; i++) {
        double x = r.root + (i - 1) * r.h;
        r.at[i] = log(delta2(g, by_sigma ? x : sigma, by_sigma ? eps : x, MCAMP_REMOVE));
    }
    return r;
}

static double near_root_delta(const near_root *r, double x)
{
    double u = (x - r->root) / r->h;
    return exp(r->at[1] + 0.5 * u * (r->at[2] - r->at[0]) +
               0.5 * u * u * (r->at[2] - 2 * r->at[1] + r->at[0]));
}

/* The same of sigma and eps, whose delta is a mean over the search's samples and new ones: the
 * value at the answer against the truth there, and the answer against the root, by the slope.  */
TEST(errors_of_a_search_over_seeds_are_as_long_as_stated)
{
    static const struct { const char *name; size_t n; double sigma, eps; } c[] = {
        { "sqrt:0", 8, 12.3, 1 }, { "sqrt:0", 8, 2.03, 8 }, { "sqrt:2", 5, 2, 0.5 } };
    setup();
    for (int i = 0; i < 3; i++)
        for (int by_sigma = 0; by_sigma < 2; by_sigma++) {
            const int n = 30;
            double values = 0, roots = 0, target, slope;
            near_root r;
            mcamp_gram g;
            gram_make(c[i].name, "raw", c[i].n, 2, &g);
            r = near_root_of(&g, c[i].sigma, c[i].eps, by_sigma);
            target = exp(r.at[1]);
            slope = 0.5 * (r.at[2] - r.at[0]) / r.h * target;
            for (int k = 0; k < n; k++) {
                mcamp_budget bud = budget_of(MCAMP_REMOVE, 0.05, (uint64_t)(100 * i + k));
                mcamp_answer a;
                double x, truth, z;
                CHECK((by_sigma ? mcamp_sigma(&ctx, &g, c[i].eps, target, &bud, &a)
                                : mcamp_epsilon(&ctx, &g, c[i].sigma, target, &bud, &a)) >= 0);
                x = by_sigma ? a.sigma : a.eps;
                truth = near_root_delta(&r, x);
                z = (a.delta - truth) / a.remove.std_error;
                values += z * z;
                z = (truth - target) / (slope * a.std_error);
                roots += z * z;
                CHECK_LE(a.remove.std_error, 0.06 * a.delta);
                CHECK_LE(truth, a.delta_upper);
            }
            CHECK_LE(values, 110);
            CHECK_LE(2, values);
            CHECK_LE(roots, 110);
            CHECK_LE(2, roots);
            mcamp_gram_free(&ctx, &g);
        }
}

/* New samples agree with what a search saw, and count for a fifth; or they do not, and the
 * search's count for nothing.                                                             */
TEST(samples_of_a_search_count_where_new_ones_agree)
{
    mcamp__prior p = { 1e-5, 0.01, 8192 };
    mcamp_estimate e;
    memset(&e, 0, sizeof e);
    e.value = 1.05e-5; e.std_error = 2e-7;
    CHECK(mcamp__estimate_join(&p, &e));
    CHECK_NEAR(e.value, 1.01e-5, 1e-12, 0);
    CHECK_NEAR(e.std_error, sqrt(0.64e-14 + 0.16e-14), 1e-9, 0);
    e.value = 1.14e-5; e.std_error = 2e-7;          /* 6 of their errors: 1.342e-6 */
    CHECK(!mcamp__estimate_join(&p, &e));
    CHECK_NEAR(e.value, 1.14e-5, 1e-12, 0);
    CHECK_NEAR(e.std_error, 2e-7, 1e-12, 0);
    e.value = 0.86e-5;
    CHECK(!mcamp__estimate_join(&p, &e));
    e.value = mcamp__nan();
    CHECK(!mcamp__estimate_join(&p, &e));
}

static void answer_with(const two_modes *m, const mcamp__hint *h, mcamp_answer *a)
{
    CHECK(mcamp__answer_at(&ctx, &m->f, 12.3, 1, 1, h, 0, &m->bud, a) >= 0);
}

/* An answer with a hint: a quarter of the search's samples, and all where the search was
 * wrong, or knew too little.                                                              */
TEST(what_a_search_saw_is_not_drawn_again)
{
    two_modes m;
    mcamp__question q;
    mcamp__hint h;
    mcamp__prior *p = &h.prior[MCAMP_REMOVE];
    mcamp_answer a, plain;
    double range, truth;
    two_modes_init(&m, 0.01);
    truth = delta2(&m.g, 12.3, 1, MCAMP_REMOVE);
    memset(&h, 0, sizeof h);
    q = mcamp__ask(&m.f, 12.3, 1, MCAMP_REMOVE, 3);
    CHECK_STATUS(mcamp__proof_choice(&ctx, &q, 0, h.choice[MCAMP_REMOVE], &range, NULL), MCAMP_OK);
    h.choice[MCAMP_REMOVE][0].rel_var = 2;
    answer_with(&m, &h, &plain);
    p->value = 1.002 * truth; p->rel = 0.009; p->samples = 32768;
    answer_with(&m, &h, &a);
    CHECK(a.remove.samples == 8192 && plain.remove.samples > 8192);
    CHECK_LE(fabs(a.delta - truth), 6 * a.std_error);
    CHECK_LE(a.std_error, 0.012 * truth);
    CHECK(fabs(a.delta - plain.delta) > 1e-6 * truth);
    p->rel = 0.013;                                 /* not what is asked for */
    answer_with(&m, &h, &a);
    CHECK(a.remove.samples == plain.remove.samples);
    CHECK_NEAR(a.delta, plain.delta, 1e-12, 0);
    p->value = 0.5 * truth; p->rel = 0.009;         /* wrong */
    answer_with(&m, &h, &a);
    CHECK(a.remove.samples == plain.remove.samples);
    CHECK_NEAR(a.delta, plain.delta, 1e-12, 0);
    CHECK(a.samples >= plain.samples + 8192);
    two_modes_free(&m);
}

/* A step moves what was seen, at the price of a tenth of the step, of the smaller direction of a
 * half; a long one loses it.                                                              */
TEST(what_a_search_saw_moves_with_its_last_step)
{
    mcamp_budget bud = budget_of(MCAMP_BOTH, 0.01, 1);
    mcamp__solve s;
    mcamp__solve_start(NULL, &bud, 1, 1, 1e-5, &s);
    for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
        s.hint.prior[d].value = d * 1e-5;
        s.hint.prior[d].rel = 0.003 * d;
    }
    mcamp__solve_move(&s, -0.08);
    for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
        CHECK_NEAR(s.hint.prior[d].value, d * 1e-5 * exp(-0.08), 1e-12, 0);
        CHECK_NEAR(s.hint.prior[d].rel,
                   sqrt(9e-6 * d * d + (d == MCAMP_ADD ? 6.4e-5 : 1.6e-3)), 1e-9, 0);
    }
    mcamp__solve_move(&s, 0.2);
    CHECK(s.hint.prior[MCAMP_REMOVE].rel <= 0 && s.hint.prior[MCAMP_ADD].rel <= 0);
}

/* At the end of its bracket a search has not been. */
TEST(nothing_is_known_where_a_search_did_not_go)
{
    two_modes m;
    const mcamp__prior *p = &m.s.hint.prior[MCAMP_REMOVE];
    double x, err;
    two_modes_init(&m, 0.02);
    CHECK_STATUS(mcamp__solve_for(&ctx, &m.s, log(10), log(20), &x, &err), MCAMP_OK);
    CHECK_NEAR(exp(x), 12.3, 0.05, 0);
    CHECK(p->rel > 0 && p->samples > 0);
    CHECK_STATUS(mcamp__solve_for(&ctx, &m.s, log(10), log(12.25), &x, &err), MCAMP_OK);
    CHECK_NEAR(exp(x), 12.25, 1e-9, 0);
    CHECK(p->rel <= 0);
    two_modes_free(&m);
}

/* A search in which a pilot saw one large value is not as long as that. */
TEST(the_sizes_of_a_search_are_its_own)
{
    static mcamp_tally t;
    uint64_t all[3] = { 0, 6400, 0 };
    two_modes m;
    mcamp__question q;
    mcamp__choice *c = &m.s.hint.choice[MCAMP_REMOVE][0];
    double range;
    two_modes_init(&m, 0.01);
    m.s.t = &t;
    q = mcamp__ask(&m.f, 12.3, 1, MCAMP_REMOVE, 3);
    CHECK_STATUS(mcamp__proof_choice(&ctx, &q, 0, c, &range, NULL), MCAMP_OK);
    c->log_scale = mcamp__estimate_scale(&q, range);
    CHECK_STATUS(mcamp__solve_sizes(&ctx, &m.s, log(12.3), all), MCAMP_OK);
    CHECK(m.s.blocks[1] >= 1 && m.s.blocks[1] < 200);
    all[1] = 16;
    CHECK_STATUS(mcamp__solve_sizes(&ctx, &m.s, log(12.3), all), MCAMP_OK);
    CHECK(m.s.blocks[1] == 1);
    two_modes_free(&m);
}

/* What is drawn stays within the budget, or one block; what does not suffice is said. */
TEST(budgets_are_kept_or_spoken_of)
{
    static const uint64_t most[] = { 1, 1024, 5000, 65536 };
    mcamp_gram g;
    setup();
    gram_make("sqrt:2", "raw", 40, 10, &g);
    for (int i = 0; i < 4; i++) {
        mcamp_budget bud = budget_of(MCAMP_BOTH, 1e-4, 1);
        mcamp_answer a;
        uint64_t block = most[i] < 1024 ? 1024 : most[i] / 1024 * 1024;
        bud.max_samples = most[i];
        CHECK(mcamp_delta(&ctx, &g, 3, 1, &bud, &a) > 0);
        CHECK(a.status == MCAMP_Q_BUDGET || a.status == MCAMP_Q_UNTRUSTED);
        CHECK(a.remove.samples <= block && a.add.samples <= block);
        if (i < 3) CHECK(a.remove.proof_samples + a.remove.pilot_samples <= block &&
                         a.add.proof_samples + a.add.pilot_samples <= block);
        CHECK(a.samples == a.remove.samples + a.remove.pilot_samples + a.remove.proof_samples +
                           a.add.samples + a.add.pilot_samples + a.add.proof_samples);
    }
    mcamp_gram_free(&ctx, &g);
}

/* ---- streams ---------------------------------------------------------------------------- */

/* The purpose of a stream: what for, which rung or candidate, which direction. */
static uint32_t stream_of(int what, int rung, int dir)
{
    return ((uint32_t)what << 16) | ((uint32_t)rung << 4) | (uint32_t)dir;
}

static double mean_on(const mcamp__question *q, const mcamp__choice *c, uint32_t purpose,
                      uint64_t blocks, double *upper)
{
    static mcamp_tally t;
    CHECK_STATUS(mcamp__question_run(&ctx, q, c, purpose, blocks, 1, &t), MCAMP_OK);
    *upper = mcamp_tally_upper(&t, 1e-6);
    return mcamp_tally_mean(&t);
}

/* Value, bound, pilots and calibration each draw from a stream of their own. */
TEST(values_bounds_and_pilots_draw_from_streams_of_their_own)
{
    static mcamp_tally t;
    mcamp_budget bud = budget_of(MCAMP_REMOVE, 0.3, 7);
    mcamp_gram g;
    mcamp__factor f;
    mcamp__question q;
    mcamp__choice c, pilot;
    mcamp__solve s;
    mcamp_answer a;
    double range, upper, other, err, log_mean;
    setup();
    gram_make("sqrt:0", "raw", 8, 2, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    q = mcamp__ask(&f, 12.3, 1, MCAMP_REMOVE, 7);
    CHECK_STATUS(mcamp__proof_choice(&ctx, &q, 0, &c, &range, NULL), MCAMP_OK);
    bud.method = c.method; bud.order = c.k; bud.max_samples = 1024;
    CHECK(mcamp_delta(&ctx, &g, 12.3, 1, &bud, &a) >= 0);
    CHECK(a.remove.samples == 1024 && a.remove.proof_samples == 1024);
    CHECK_NEAR(a.delta, mean_on(&q, &c, stream_of(MCAMP__STREAM_ESTIMATE, 0, MCAMP_REMOVE),
                                1, &other), 1e-9, 0);
    mean_on(&q, &c, stream_of(MCAMP__STREAM_ESTIMATE, 1, MCAMP_REMOVE), 1, &upper);
    CHECK_NEAR(a.remove.upper, upper, 1e-9, 0);
    CHECK(fabs(upper - other) > 1e-6 * upper);
    pilot = c;
    CHECK_STATUS(mcamp__pilot_run(&ctx, &q, &pilot, 0, 1, &err, &t), MCAMP_OK);
    CHECK(fabs(pilot.mean - a.delta) > 1e-9 * a.delta);
    CHECK_NEAR(pilot.mean, mean_on(&q, &c, stream_of(MCAMP__STREAM_PILOT, 0, MCAMP_REMOVE),
                                   1, &other), 1e-9, 0);
    mcamp__solve_start(&f, &bud, 1, 1, 1e-5, &s);
    s.t = &t;
    CHECK_STATUS(mcamp__solve_run(&ctx, &s, &q, &c, 8, 1, &log_mean), MCAMP_OK);
    CHECK_NEAR(exp(log_mean), mean_on(&q, &c, stream_of(MCAMP__STREAM_CALIBRATE, 8,
                                                             MCAMP_REMOVE), 1, &other), 1e-9, 0);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* ---- interruptions ------------------------------------------------------------------------ */

typedef struct stopper { int calls, stop_at; } stopper;

static int stop_later(void *user, double fraction, double best)
{
    stopper *s = (stopper *)user;
    (void)fraction; (void)best;
    return s->calls++ >= s->stop_at;
}

static void check_nothing(const mcamp_answer *a)
{
    CHECK_STATUS(a->status, MCAMP_Q_INTERRUPTED);
    CHECK(a->kind == MCAMP_KIND_NONE);
    CHECK(mcamp__isnan(a->delta) && mcamp__isnan(a->std_error));
    CHECK_NEAR(a->delta_upper, 1, 0, 0);
}

/* Stopped at its k-th report, k = 0, 1, ...: every question says so and claims nothing,
 * until one is not stopped any more.                                                   */
TEST(what_was_interrupted_claims_nothing)
{
    static const double eps[4] = { 0.2, 0.5, 1, 1.5 };
    static const char *const name[] = { "sqrt:3", "identity" };
    static mcamp_estimate none;
    setup();
    for (int q = 0; q < 10; q++) {
        mcamp_gram g;
        int stopped = 0, ended = 0;
        gram_make(name[q % 2], "raw", 24, 6, &g);
        for (int k = 0; k < 60 && !ended; k += k < some(6) ? 1 : 17) {
            mcamp_ctx c;
            mcamp_ctx_desc d;
            stopper s = { 0, 0 };
            mcamp_budget bud = budget_of(MCAMP_BOTH, 0.02, 1);
            mcamp_answer a[4];
            mcamp_claim claim;
            mcamp_guarantee out;
            mcamp_status st;
            s.stop_at = k;
            memset(&d, 0, sizeof d);
            memset(a, 0x5a, sizeof a);
            memset(&out, 0x5a, sizeof out);
            memset(&claim, 0, sizeof claim);
            claim.eps = 1; claim.delta = 1e-4; claim.beta = 1e-4;
            d.progress.fn = stop_later; d.progress.user = &s;
            CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_OK);
            st = q < 2 ? mcamp_sigma(&c, &g, 1, 1e-4, &bud, a)
               : q < 4 ? mcamp_epsilon(&c, &g, 3, 1e-4, &bud, a)
               : q < 6 ? mcamp_delta(&c, &g, 3, 1, &bud, a)
               : q < 8 ? mcamp_curve(&c, &g, 3, eps, 4, &bud, a)
                       : mcamp_calibrate_certified(&c, &g, &claim, &out);
            if (st != MCAMP_Q_INTERRUPTED) {
                CHECK(st >= 0);
                if (q < 8) CHECK(!mcamp__isnan(a[0].delta) && a[0].kind != MCAMP_KIND_NONE);
                ended = 1;
                break;
            }
            stopped++;
            if (q < 6) check_nothing(&a[0]);
            if (q < 2) CHECK(mcamp__isnan(a[0].sigma) && a[0].remove.method == 0);
            if (q == 2 || q == 3) CHECK(mcamp__isnan(a[0].eps) && a[0].add.method == 0);
            if (q == 4 || q == 5) CHECK(!memcmp(&a[0].add, &none, sizeof none) &&
                (a[0].remove.value > 0 || !memcmp(&a[0].remove, &none, sizeof none)));
            if (q == 6 || q == 7) {
                check_nothing(&a[3]);
                for (int i = 0; i < 3; i++)
                    CHECK(a[i].status != MCAMP_Q_INTERRUPTED ||
                          a[i + 1].status == MCAMP_Q_INTERRUPTED);
            }
            if (q >= 8) CHECK(!out.accepted && out.interrupted && !out.remove.accepted &&
                              !out.add.accepted && out.kind == MCAMP_KIND_NONE);
        }
        CHECK(ended);
        CHECK(stopped > 0 || q == 5);           /* one interval is not interrupted */
        mcamp_gram_free(&ctx, &g);
    }
}

/* ---- by the clock ------------------------------------------------------------------------- */

/* Every look costs a second. */
static double tick(void *user) { return (*(double *)user)++; }

static double last_fraction;

static int watch_fraction(void *user, double fraction, double best)
{
    (void)user; (void)best;
    CHECK(fraction >= 0 && fraction <= 1);
    CHECK(fraction > last_fraction - 0.5);      /* (a goal may turn out to be farther) */
    last_fraction = fraction;
    return 0;
}

static char said[6000];

static int keep_words(void *user, const char *text, size_t n)
{
    size_t at = strlen(said);
    (void)user;
    if (at + n + 1 < sizeof said) { memcpy(said + at, text, n); said[at + n] = '\0'; }
    return 0;
}

/* What is said of an answer that the clock stopped, or did not. */
static void check_words(const mcamp_guarantee *g)
{
    mcamp_writer w = { keep_words, NULL };
    said[0] = '\0';
    CHECK_STATUS(mcamp_report_guarantee(g, MCAMP_REPORT_TEXT, &w), MCAMP_OK);
    CHECK(!strstr(said, "by the time given") == !g->late);
    CHECK(!strstr(said, "More time: ") == !g->late);
    CHECK(!strstr(said, "at least") == !(g->late && g->kind == MCAMP_KIND_ESTIMATE &&
                                         g->lower > 0));
    CHECK(!strstr(said, "too early to tell") == !(g->late && !g->needed));
    said[0] = '\0';
    CHECK_STATUS(mcamp_report_guarantee(g, MCAMP_REPORT_JSON, &w), MCAMP_OK);
    CHECK(!strstr(said, "\"stopped_by\": \"time\"") == !g->late);
}

static void timed_ctx(mcamp_ctx *c, double *now)
{
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    d.clock.now = tick; d.clock.user = now;
    d.progress.fn = watch_fraction;
    last_fraction = 0;
    *now = -3;
    CHECK_STATUS(mcamp_ctx_init(c, &d), MCAMP_OK);
}

static mcamp_status ask_timed(mcamp_ctx *c, const mcamp_gram *g, int q, double seconds,
                              mcamp_answer *a)
{
    mcamp_budget bud = budget_of(MCAMP_BOTH, 0.004, 1);
    bud.seconds = seconds;
    return q == 0 ? mcamp_delta(c, g, 3, 1, &bud, a)
         : q == 1 ? mcamp_epsilon(c, g, 3, 1e-4, &bud, a) : mcamp_sigma(c, g, 1, 1e-4, &bud, a);
}

/* Whatever the time: an answer whose bounds hold (against the answer without a clock), that
 * says if it was stopped, and how much more it takes; the same once more by the same clock; and
 * with time enough what it is without.                                                  */
TEST(what_the_clock_stopped_is_what_was_known)
{
    static const double seconds[] = { 0.5, 3.5, 9.5, 18.5, 40.5, 90.5, 1e6 };
    mcamp_gram g;
    setup();
    gram_make("sqrt:3", "raw", 24, 6, &g);
    for (int q = 0; q < 3; q++) {
        mcamp_answer all;
        int late = 0;
        CHECK(ask_timed(&ctx, &g, q, 0, &all) >= 0);
        for (int i = 0; i < 7; i++) {
            double now, found, want = q == 0 ? all.delta : q == 1 ? all.eps : all.sigma;
            mcamp_ctx c;
            mcamp_answer a, again;
            mcamp_guarantee out;
            mcamp_status st;
            timed_ctx(&c, &now);
            st = ask_timed(&c, &g, q, seconds[i], &a);
            CHECK(st == MCAMP_Q_TIME || (st == all.status && i > 2));
            CHECK_STATUS(a.status, st);
            CHECK(!c.timed && !(c.to > 0));
            if (i < 6) CHECK_LE(now, seconds[i] + 12);      /* stages leave time for the next */
            late += st == MCAMP_Q_TIME;
            found = q == 0 ? a.delta : q == 1 ? a.eps : a.sigma;
            CHECK(a.kind == MCAMP_KIND_ESTIMATE && found > 0);
            CHECK_LE(fabs(found - want), 6.2 * sqrt(a.std_error * a.std_error +
                                                    all.std_error * all.std_error) + 1e-3 * want);
            CHECK(a.remove.lower <= a.delta && a.delta <= a.delta_upper * 1.01);
            if (q == 0) CHECK_LE(a.remove.lower, all.remove.value + 5 * all.remove.std_error);
            if (q == 0) CHECK_LE(all.remove.value - 5 * all.remove.std_error, a.remove.upper);
            if (q == 0) CHECK_LE(all.add.value - 5 * all.add.std_error, a.add.upper);
            CHECK(st == MCAMP_Q_TIME ? !a.needed || a.needed > a.samples / 2 : a.needed == 0);
            CHECK_STATUS(mcamp_guarantee_answer(&a, &out), MCAMP_OK);
            CHECK(out.late == (st == MCAMP_Q_TIME) && out.interrupted == out.late);
            CHECK(!out.accepted && out.needed == a.needed);
            check_words(&out);
            if (i == 6) {                       /* the bounds had more samples */
                CHECK_NEAR(found, want, 0, 0);
                CHECK_NEAR(a.std_error, all.std_error, 0, 0);
            }
            timed_ctx(&c, &now);
            CHECK_STATUS(ask_timed(&c, &g, q, seconds[i], &again), st);
            CHECK(again.samples == a.samples && again.needed == a.needed);
            CHECK_NEAR(again.delta, a.delta, 0, 0);
            CHECK_NEAR(again.delta_upper, a.delta_upper, 0, 0);
        }
        CHECK(late >= 3);
    }
    mcamp_gram_free(&ctx, &g);
}

/* A sigma that was proved in time stays proved, and is what a proof without a clock meets on
 * its way down; a claim that was not decided is not accepted.                            */
TEST(proofs_that_the_clock_stopped_claim_what_was_proved)
{
    static const double seconds[] = { 2.5, 10.5, 13.5, 25.5, 40.5, 1e6 };
    mcamp_gram g;
    mcamp_claim c;
    mcamp_guarantee all, out, again;
    int proved = 0, undecided = 0;
    setup();
    gram_make("sqrt:3", "raw", 24, 6, &g);
    memset(&c, 0, sizeof c);
    c.eps = 1; c.delta = c.beta = 1e-6; c.seed = 2;
    CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &c, &all), MCAMP_OK);
    for (int i = 0; i < 6; i++) {
        double now;
        mcamp_ctx t;
        mcamp_status st;
        timed_ctx(&t, &now);
        c.seconds = seconds[i];
        st = mcamp_calibrate_certified(&t, &g, &c, &out);
        CHECK(st == (i < 5 && out.late ? MCAMP_Q_TIME : MCAMP_OK) && !t.timed);
        CHECK(out.accepted && out.kind == MCAMP_KIND_VERIFIED && !out.interrupted);
        CHECK(out.late ? out.sigma >= all.sigma : mcamp__eq(out.sigma, all.sigma));
        check_words(&out);
        proved += out.late && out.rung > 0;
        c.sigma = out.sigma; c.rung = out.rung; c.seconds = 0;
        CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &again), MCAMP_OK);
        CHECK(again.accepted && again.remove.samples == out.remove.samples);
        c.sigma = all.sigma * 0.999; c.rung = 7; c.seconds = i < 5 ? 0.1 * seconds[i] : 1e6;
        timed_ctx(&t, &now);
        st = mcamp_verify(&t, &g, &c, &out);
        CHECK((st == MCAMP_Q_TIME) == out.late && out.late == out.interrupted && !t.timed);
        CHECK(out.accepted == (st == MCAMP_OK) && (i < 5 || !out.late));
        if (out.late) CHECK(out.kind == MCAMP_KIND_NONE);
        if (out.late) CHECK(!out.needed || out.needed > out.samples);
        if (out.late) check_words(&out);
        undecided += out.late;
        c.rung = 0;
    }
    CHECK(proved > 0 && undecided > 0);
    mcamp_gram_free(&ctx, &g);
}

TEST(a_time_needs_a_clock)
{
    mcamp_gram g;
    mcamp_answer a;
    mcamp_claim c;
    mcamp_guarantee out;
    mcamp_budget bud = budget_of(MCAMP_BOTH, 0.02, 1);
    double eps = 1;
    setup();
    gram_make("sqrt:3", "raw", 24, 6, &g);
    bud.seconds = 1;
    CHECK_STATUS(mcamp_delta(&ctx, &g, 3, 1, &bud, &a), MCAMP_E_REQUIRED);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "clock") && !ctx.timed);
    CHECK_STATUS(mcamp_curve(&ctx, &g, 3, &eps, 1, &bud, &a), MCAMP_E_ARG);
    bud.seconds = -1;
    CHECK_STATUS(mcamp_sigma(&ctx, &g, 1, 1e-4, &bud, &a), MCAMP_E_ARG);
    bud.seconds = mcamp__nan();
    CHECK_STATUS(mcamp_epsilon(&ctx, &g, 3, 1e-4, &bud, &a), MCAMP_E_NONFINITE);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "seconds"));
    memset(&c, 0, sizeof c);
    c.sigma = 3; c.eps = 1; c.delta = c.beta = 1e-4; c.seconds = 1;
    CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &out), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &out), MCAMP_E_ARG);
    mcamp_gram_free(&ctx, &g);
}

/* ---- curves ------------------------------------------------------------------------------- */

/* Each bound of a curve is that of the same question asked alone at beta/(4 count), or
 * beta/(2 count) in one direction: so they hold all at once.                           */
TEST(bounds_of_a_curve_hold_at_once)
{
    static const double eps[5] = { 0, 0.3, 0.6, 1.1, 1.4 };
    mcamp_gram g;
    setup();
    gram_make("sqrt:0", "raw", 8, 2, &g);
    for (int dir = 0; dir < 3; dir++) {
        mcamp_budget bud = budget_of(directions[dir], 0.05, 2), one;
        mcamp_answer a[5], b;
        bud.beta = 1e-3;
        one = bud;
        one.beta = bud.beta / (dir == 2 ? 20 : 10);
        CHECK(mcamp_curve(&ctx, &g, 12.3, eps, 5, &bud, a) >= 0);
        for (int i = 0; i < 5; i++) {
            CHECK(mcamp_delta(&ctx, &g, 12.3, eps[i], &one, &b) >= 0);
            CHECK_NEAR(a[i].delta_upper, b.delta_upper, 1e-12, 0);
            CHECK_NEAR(a[i].remove.lower, b.remove.lower, 1e-12, 0);
            CHECK_NEAR(a[i].add.lower, b.add.lower, 1e-12, 0);
            CHECK(a[i].points == 5);
            CHECK_NEAR(a[i].beta, 1e-3, 0, 0);
        }
    }
    mcamp_gram_free(&ctx, &g);
}

/* Between and beyond the points, closely so where the points are known. */
TEST(bounds_of_a_curve_hold_between_its_points)
{
    setup();
    for (int q = 0; q < 3; q++) {
        static const char *const name[3] = { "identity", "sqrt:0", "ones" };
        double eps[12], sigma[3] = { 2, 12.3, 1.76 }, span[3] = { 1.5, 1.3, 9 };
        mcamp_budget bud = budget_of(MCAMP_BOTH, 0.05, 2);
        mcamp_answer a[12];
        mcamp_gram g;
        gram_make(name[q], "raw", q == 1 ? 8 : 4, 2, &g);
        for (int i = 0; i < 12; i++) eps[i] = span[q] * pow((i + 1) / 12.0, 1.3);
        CHECK(mcamp_curve(&ctx, &g, sigma[q], eps, 12, &bud, a) >= 0);
        for (int i = 0; i < some(90); i++) {
            double x = 1.1 * span[q] * i / some(90);
            mcamp_direction dir = directions[i % 3];
            double truth = truth2(&g, sigma[q], x, dir);
            mcamp_interval v = mcamp_curve_bounds(a, 12, x, dir);
            CHECK_LE(truth * (1 - 1e-9), v.upper);
            CHECK_LE(v.lower, truth * (1 + 1e-9));
            if (q == 0 && x > eps[1] && x < eps[10]) CHECK_LE(v.upper, 1.6 * v.lower);
        }
        CHECK_NEAR(mcamp_curve_bounds(a, 12, eps[4], MCAMP_ADD).upper, a[4].add.upper, 0, 0);
        a[5].status = MCAMP_Q_INTERRUPTED;      /* then it says nothing */
        CHECK_NEAR(mcamp_curve_bounds(a, 12, eps[5], MCAMP_BOTH).upper, 1, 0, 0);
        CHECK_NEAR(mcamp_curve_bounds(a, 12, eps[5], MCAMP_BOTH).lower, 0, 0, 0);
        CHECK_NEAR(mcamp_curve_bounds(a, 12, mcamp__nan(), MCAMP_BOTH).upper, 1, 0, 0);
        mcamp_gram_free(&ctx, &g);
    }
}

/* Few points far apart where delta is not convex in eps: the chord is one in e^eps. */
TEST(a_curve_of_two_points_bounds_what_is_between)
{
    static const double eps[2] = { 0, 4 };
    mcamp_answer a[2];
    mcamp_gram g;
    setup();
    gram_make("identity", "raw", 2, 2, &g);
    CHECK(mcamp_curve(&ctx, &g, 0.25, eps, 2, NULL, a) >= 0);
    for (double x = 0.25; x < 4; x += 0.25)
        CHECK_LE(truth2(&g, 0.25, x, MCAMP_BOTH) * (1 - 1e-9),
                 mcamp_curve_bounds(a, 2, x, MCAMP_BOTH).upper);
    mcamp_gram_free(&ctx, &g);
}

TEST_MAIN("answer",
    T(two_equal_bins_are_known_without_samples),
    T(many_equal_bins_are_known_without_samples),
    T(one_bin_is_a_formula),
    T(samples_are_drawn_where_they_are_asked_for),
    T(a_bin_that_never_comes_misleads_nobody),
    T(roots_are_right_or_not_trusted),
    T(an_answer_that_misses_its_target_is_seen),
    T(the_slow_search_finds_the_root),
    T(a_wrong_root_is_mended_or_said),
    T(error_bars_of_the_smaller_direction_are_true), T(the_smaller_direction_is_not_what_costs),
    T(errors_over_seeds_are_as_long_as_stated),
    T(errors_of_a_search_over_seeds_are_as_long_as_stated),
    T(samples_of_a_search_count_where_new_ones_agree), T(what_a_search_saw_is_not_drawn_again),
    T(what_a_search_saw_moves_with_its_last_step),
    T(nothing_is_known_where_a_search_did_not_go), T(the_sizes_of_a_search_are_its_own),
    T(budgets_are_kept_or_spoken_of),
    T(values_bounds_and_pilots_draw_from_streams_of_their_own),
    T(what_was_interrupted_claims_nothing),
    T(what_the_clock_stopped_is_what_was_known),
    T(proofs_that_the_clock_stopped_claim_what_was_proved), T(a_time_needs_a_clock),
    T(bounds_of_a_curve_hold_at_once),
    T(bounds_of_a_curve_hold_between_its_points),
    T(a_curve_of_two_points_bounds_what_is_between))
