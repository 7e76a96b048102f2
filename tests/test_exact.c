/* Section exact: Renyi, formulas of the papers, certified accountants. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

static mcamp_ctx ctx;

/* Calls fn for every line "kind number number ..." of the given kind. */
typedef struct reader {
    const char *kind;
    void (*fn)(const double *v, int n);
    int count;
} reader;

static void read_line(const char *line, void *user)
{
    reader *r = (reader *)user;
    size_t length = strlen(r->kind);
    const char *p = line + length;
    double v[80];
    int n = 0;
    if (strncmp(line, r->kind, length) || *p != ' ') return;
    for (; n < 80; n++) {
        char *end;
        v[n] = strtod(p, &end);
        if (end == p) break;
        p = end;
    }
    r->fn(v, n);
    r->count++;
}

static int for_vectors(const char *kind, void (*fn)(const double *v, int n))
{
    reader r;
    r.kind = kind; r.fn = fn; r.count = 0;
    mt_vectors("exact.txt", read_line, &r);
    return r.count;
}

static mcamp_event poisson(double q, double sigma, uint64_t count)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.q = q; e.sigma = sigma; e.count = count;
    return e;
}

static mcamp_event simple(mcamp_event_kind kind, double sigma, uint64_t count)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = kind; e.sigma = sigma; e.count = count;
    return e;
}

static mcamp_event response(double eps, double delta, uint64_t count)
{
    mcamp_event e = simple(MCAMP_EVENT_RESPONSE, 0, count);
    e.eps = eps; e.delta = delta;
    return e;
}



/* ---- Renyi ---------------------------------------------------------------- */

static void rdp_case(const double *v, int n)    /* q sigma alpha value */
{
    mcamp_event e = poisson(v[0], v[1], 1);
    double r = -1;
    CHECK(n == 4);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, v[2], &r), MCAMP_OK);
    CHECK_NEAR(r, v[3], 2e-13, 0);
}
TEST(renyi_of_the_sampled_gaussian) { CHECK(for_vectors("rdp", rdp_case) > 40); }

static void rdp_eps_case(const double *v, int n)    /* q T sigma delta value */
{
    static const double orders[] = { 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24,
                                     32, 48, 64, 128, 256 };
    mcamp_event e = poisson(v[0], v[2], (uint64_t)v[1]);
    double eps = -1, best = -1, order = 0;
    CHECK(n == 5);
    CHECK_STATUS(mcamp_exact_rdp_epsilon(&ctx, &e, 1, orders, 18, v[3], &eps, NULL), MCAMP_OK);
    CHECK_NEAR(eps, v[4], 1e-12, 0);
    CHECK_STATUS(mcamp_exact_rdp_epsilon(&ctx, &e, 1, NULL, 0, v[3], &best, &order), MCAMP_OK);
    CHECK_LE(best, eps);
    CHECK_LE(0.8 * eps, best);
    CHECK(order > 1);
}
TEST(renyi_conversion_with_given_and_automatic_orders)
{
    CHECK(for_vectors("rdp_eps", rdp_eps_case) == 3);
}

/* Quadrature and closed sum agree; fractional orders interpolate. */
TEST(renyi_by_quadrature_and_by_sum_agree)
{
    for (double s = 0.4; s < 9; s *= 2.1)
        for (double q = 1e-5; q < 0.9; q *= 11)
            for (double alpha = 2; alpha < 40; alpha = floor(alpha * 1.7)) {
                mcamp_event e = poisson(q, s, 1);
                mcamp__mog m;
                double a, b;
                CHECK_STATUS(mcamp__mog_init(&ctx, &e, &m), MCAMP_OK);
                a = mcamp__poisson_log_moment(1 / s, q, alpha);
                b = mcamp__mog_log_moment(&m, alpha);
                CHECK_NEAR(b, a, 1e-12, 0);
                CHECK_LE(mcamp__mog_log_moment(&m, 1 - alpha), a * (1 + 1e-12));
                mcamp__mog_free(&ctx, &m);
            }
}

TEST(renyi_of_gaussian_laplace_and_response)
{
    mcamp_event e[3];
    double r, s, a = 0.7, al = 3.5;
    e[0] = simple(MCAMP_EVENT_GAUSSIAN, 2, 3);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, e, 1, 5, &r), MCAMP_OK);
    CHECK_NEAR(r, 3 * 5 / 8.0, 1e-15, 0);
    e[1] = simple(MCAMP_EVENT_LAPLACE, 1 / a, 1);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, e + 1, 1, al, &s), MCAMP_OK);
    CHECK_NEAR(s, log(al / (2 * al - 1) * exp((al - 1) * a) +
                      (al - 1) / (2 * al - 1) * exp(-al * a)) / (al - 1), 1e-13, 0);
    e[1].sigma = 1e5;       /* tiny loss: RDP is about alpha a^2/2 */
    CHECK_STATUS(mcamp_exact_rdp(&ctx, e + 1, 1, al, &s), MCAMP_OK);
    CHECK_NEAR(s, al * 0.5e-10, 1e-4, 0);
    e[2] = response(0.8, 0, 2);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, e + 2, 1, 4, &r), MCAMP_OK);
    a = exp(0.8) / (1 + exp(0.8));
    CHECK_NEAR(r, 2 * log(pow(a, 4) * pow(1 - a, -3) + pow(1 - a, 4) * pow(a, -3)) / 3,
               1e-13, 0);
    e[2].delta = 0.1;
    CHECK_STATUS(mcamp_exact_rdp(&ctx, e, 3, 4, &r), MCAMP_E_ARG);
}

/* ---- formulas -------------------------------------------------------------- */

static double classical(mcamp_formula f, double eps, double delta)
{
    double s = -1;
    CHECK_STATUS(mcamp_exact_classical_sigma(&ctx, f, 100, eps, delta, &s), MCAMP_OK);
    return s;
}

TEST(salary_example)        /* mean of 10000 salaries up to 1e6: sensitivity 100 */
{
    double s;
    CHECK_NEAR(classical(MCAMP_FORMULA_SIMPLE, 0.5, 1e-6), 1070, 5e-4, 0);
    CHECK_NEAR(classical(MCAMP_FORMULA_DEFAULT, 0.5, 1e-6), 1026, 5e-4, 0);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, 100, 0.5, 1e-6, &s), MCAMP_OK);
    CHECK_NEAR(s, 806, 5e-4, 0);
}

TEST(classical_formulas_never_promise_too_much)
{
    int refused = 0;
    for (double eps = 0.01; eps < 100; eps *= 2.3)
        for (double delta = 1e-2; delta > 1e-14; delta *= 0.01)
            for (int f = MCAMP_FORMULA_DEFAULT; f <= MCAMP_FORMULA_REFINED_4; f++) {
                double s, c = 0;
                mcamp_status st = mcamp_exact_classical_sigma(&ctx, (mcamp_formula)f,
                                                              100, eps, delta, &c);
                CHECK_STATUS(mcamp_gauss_sigma(&ctx, 100, eps, delta, &s), MCAMP_OK);
                if (st < 0) { refused++; CHECK_STATUS(st, MCAMP_E_ARG); continue; }
                CHECK_LE(s, c * (1 + 1e-13));
                CHECK_LE(classical(MCAMP_FORMULA_DEFAULT, eps, delta), c);
            }
    CHECK(refused > 5);     /* refined 1 and 2 are too small for large eps */
}

static void zcdp_case(const double *v, int n)   /* rho delta simple tight gauss */
{
    double e;
    CHECK(n == 5);
    CHECK_STATUS(mcamp_exact_zcdp_epsilon_simple(&ctx, v[0], v[1], &e), MCAMP_OK);
    if (v[2] > 0) CHECK_NEAR(e, v[2], 1e-14, 0);
    CHECK_STATUS(mcamp_exact_zcdp_epsilon(&ctx, v[0], v[1], &e), MCAMP_OK);
    if (v[3] > 0) CHECK_NEAR(e, v[3], 1e-13, 0);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, sqrt(2 * v[0]), v[1], &e), MCAMP_OK);
    if (v[4] > 0) CHECK_NEAR(e, v[4], 1e-5, 0);
}
TEST(zcdp_conversions) { CHECK(for_vectors("zcdp", zcdp_case) == 2); }

/* The printed pairs rho and eps at delta = 1e-10, through the Gaussian mechanism's curve;
 * the closed forms in log space, out to where nothing else reaches.                        */
TEST(printed_zcdp_pairs_and_log_space)
{
    double e, s, d;
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1 / sqrt(2 * 0.52), 1, 1e-10, &e), MCAMP_OK);
    CHECK_NEAR(e, 6.6904, 0, 5e-5);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1 / sqrt(2 * 0.24), 1, 1e-10, &e), MCAMP_OK);
    CHECK_NEAR(e, 4.3945, 0, 5e-5);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, 1, 1e-300, &e), MCAMP_OK);
    CHECK_NEAR(mcamp__gauss_logdelta(1, e), log(1e-300), 1e-9, 0);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, 1, e, 1e-300, &s), MCAMP_OK);
    CHECK_NEAR(s, 1, 1e-6, 0);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, 1, 1e6, 1e-12, &s), MCAMP_OK);
    CHECK_LE(mcamp__gauss_logdelta(1 / s, 1e6), log(1e-12));
    CHECK_STATUS(mcamp_gauss_delta(&ctx, s, 1, 1e6, &d), MCAMP_OK);
    CHECK_LE(d, 1e-12);
    CHECK_LE(0.9e-12, d);
}

TEST(composition_bounds)
{
    double adv, opt, d;
    CHECK_STATUS(mcamp_exact_compose_advanced(&ctx, 0.1, 100, 1e-6, &adv), MCAMP_OK);
    CHECK_NEAR(adv, 0.1 * sqrt(200 * log(1e6)) + 10 * expm1(0.1), 1e-14, 0);
    CHECK_STATUS(mcamp_exact_compose_optimal(&ctx, 0.1, 0, 100, 1e-6, &opt), MCAMP_OK);
    CHECK_LE(opt, adv);
    CHECK_LE(mcamp__response_delta(0.1, 100, opt), 1e-6);
    CHECK_LE(1e-6, mcamp__response_delta(0.1, 100, opt * (1 - 1e-9)));
    /* one use: delta at eps' < eps is (e^eps - e^eps')/(1 + e^eps) */
    CHECK_STATUS(mcamp_exact_compose_optimal(&ctx, 1, 0, 1, 0.1, &opt), MCAMP_OK);
    CHECK_NEAR(opt, log(exp(1.0) - 0.1 * (1 + exp(1.0))), 1e-9, 0);
    CHECK_STATUS(mcamp_exact_compose_optimal(&ctx, 0.1, 1.1e-8, 100, 1e-6, &opt),
                 MCAMP_E_INFEASIBLE);
    CHECK_STATUS(mcamp_exact_compose_optimal(&ctx, 0.1, 1e-9, 100, 1e-6, &opt), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_group_convert(&ctx, 0.5, 1e-9, 8, &opt, &d), MCAMP_OK);
    CHECK_NEAR(opt, 4, 1e-15, 0);
    CHECK_NEAR(d, 1e-9 * expm1(4.0) / expm1(0.5), 1e-14, 0);
    CHECK_STATUS(mcamp_exact_group_convert(&ctx, 50, 1e-9, 32, &opt, &d), MCAMP_OK);
    CHECK_NEAR(d, 1, 0, 0);
}

TEST(laplace_amplification)
{
    double e, r;
    for (double p = 1e-6; p <= 1; p *= 10)
        for (double eps = 1e-7; eps < 2000; eps *= 10) {
            CHECK_STATUS(mcamp_exact_laplace_amplified(&ctx, eps, p, &e, &r), MCAMP_OK);
            CHECK_LE(r, 1 + 1e-15);
            CHECK_LE(p / (p + eps), r * (1 + 1e-15));
            if (eps < 600) CHECK_NEAR(log1p(p * expm1(e)), eps, 1e-12, 0);
        }
    CHECK_STATUS(mcamp_exact_laplace_amplified(&ctx, 0.02, 0.01, &e, &r), MCAMP_OK);
    CHECK_LE(0.5, r);                                   /* eps <= 2p: half or better */
    CHECK_STATUS(mcamp_exact_laplace_errors(&ctx, 0.5, 1, 100, &e, &r), MCAMP_OK);
    CHECK_NEAR(e, 8e-4, 1e-14, 0);                      /* p = 1: the same noise */
    CHECK_NEAR(r, 1e-2 + 8e-4, 1e-14, 0);
    CHECK_STATUS(mcamp_exact_laplace_errors(&ctx, 1, 0.1, 1000, &e, &r), MCAMP_OK);
    CHECK_NEAR(e, 2e-6, 1e-14, 0);
    CHECK_NEAR(r, 0.01 + 2e-4 / pow(log(1 + (exp(1) - 1) / 0.1), 2), 1e-12, 0);
    CHECK_STATUS(mcamp_exact_laplace_errors(&ctx, 1, 0.1, 0.5, &e, &r), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_exact_laplace_errors(&ctx, 1e-200, 0.1, 10, &e, &r), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_exact_laplace_errors(&ctx, 1, 0.1, 10, &e, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_exact_laplace_amplified(&ctx, 1, 0, &e, &r), MCAMP_E_ARG);
}

/* ---- certified intervals --------------------------------------------------------- */

/* The truth (relative error err) is inside and the interval as narrow as asked for;
 * delta may be as uncertain as 1e-4 of eps makes it.                                  */
static void check_interval(mcamp_interval v, double truth, double err, double width)
{
    CHECK_LE(v.lower, truth * (1 + err));
    CHECK_LE(truth * (1 - err), v.upper);
    CHECK_LE(v.upper - v.lower, width * v.upper);
}

static void check_event(const mcamp_event *e, int want_eps, double x, double truth)
{
    mcamp_interval v = { -1, -1 };
    if (want_eps) {
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 1, NULL, x, &v, NULL), MCAMP_OK);
        check_interval(v, truth, 2e-9, 1e-4);
    } else {
        CHECK_STATUS(mcamp_exact_delta(&ctx, e, 1, NULL, x, &v, NULL), MCAMP_OK);
        check_interval(v, truth, 1e-9, 0.02);
    }
}

static void dpsgd_eps_case(const double *v, int n)
{
    mcamp_event e = poisson(v[0], v[2], (uint64_t)v[1]);
    CHECK(n == 5);
    check_event(&e, 1, v[3], v[4]);
}
static void dpsgd_delta_case(const double *v, int n)
{
    mcamp_event e = poisson(v[0], v[2], (uint64_t)v[1]);
    CHECK(n == 5);
    check_event(&e, 0, v[3], v[4]);
}
static void dpsgd_sigma_case(const double *v, int n)
{
    mcamp_event e = poisson(v[0], v[4], (uint64_t)v[1]);
    CHECK(n == 5);
    check_event(&e, 1, v[3], v[2]);
}
TEST(dpsgd_intervals_hold_the_truth)
{
    CHECK(for_vectors("dpsgd_eps", dpsgd_eps_case) == 15);
    CHECK(for_vectors("dpsgd_delta", dpsgd_delta_case) == 13);
    CHECK(for_vectors("dpsgd_sigma", dpsgd_sigma_case) == 20);
}

static mcamp_event group_event(const double *v)
{
    mcamp_event e = simple(v[0] > 0 ? MCAMP_EVENT_GROUP_FIXED : MCAMP_EVENT_GROUP_POISSON,
                           v[3], (uint64_t)v[1]);
    e.group = (uint64_t)v[2];
    if (v[0] > 0) { e.population = (uint64_t)v[7]; e.batch = (uint64_t)v[8]; }
    else e.q = v[6];
    return e;
}
static void group_eps_case(const double *v, int n)
{
    mcamp_event e = group_event(v);
    CHECK(n == 9);
    check_event(&e, 1, v[4], v[5]);
}
static void group_delta_case(const double *v, int n)
{
    mcamp_event e = group_event(v);
    CHECK(n == 9);
    check_event(&e, 0, v[4], v[5]);
}
TEST(group_privacy_intervals_hold_the_truth)
{
    CHECK(for_vectors("group_eps", group_eps_case) == 13);
    CHECK(for_vectors("group_delta", group_delta_case) == 30);
}

/* Groups up to 32 at the noise where converting the single-example guarantee fails:
 * the direct answer is finite and grows nearly linearly.                               */
TEST(large_groups_where_conversion_gives_nothing)
{
    double one = 0, eg, dg;
    for (uint64_t k = 1; k <= 32; k *= 2)
        for (double sigma = 1; sigma <= 4; sigma *= 2) {
            mcamp_event e = simple(MCAMP_EVENT_GROUP_POISSON, sigma, 2000);
            mcamp_interval v = { 0, 0 };
            e.q = 0.01; e.group = k;
            CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
            CHECK_LE(v.upper - v.lower, 1e-4 * v.upper);
            if (sigma < 2) {
                if (k == 1) one = v.lower;
                CHECK_LE((double)k * one, v.upper);             /* the linear lower bound */
            }
        }
    /* group of 32 from one example: (32 eps, delta e^{31 eps}..) needs delta < 1e-50 */
    CHECK_STATUS(mcamp_exact_group_convert(&ctx, 3.0, 1e-10, 32, &eg, &dg), MCAMP_OK);
    CHECK_NEAR(dg, 1, 0, 0);
}

TEST(gaussians_compose_in_closed_form)
{
    mcamp_event e[2];
    mcamp_interval v, w;
    double d;
    e[0] = simple(MCAMP_EVENT_GAUSSIAN, 5, 9);
    e[1] = simple(MCAMP_EVENT_GAUSSIAN, 20, 64);    /* mu^2 = 9/25 + 64/400 = 0.52 */
    CHECK_STATUS(mcamp_exact_delta(&ctx, e, 2, NULL, 2, &v, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 1, sqrt(0.52), 2, &d), MCAMP_OK);
    check_interval(v, d, 1e-12, 1e-9);
    /* the same as mixtures: the numerical path must agree */
    {
        double s[1] = { 1 }, p[1] = { 1 };
        e[0] = simple(MCAMP_EVENT_MIXTURE, 5, 9);
        e[0].n = 1; e[0].shift = s; e[0].prob = p;
        CHECK_STATUS(mcamp_exact_delta(&ctx, e, 2, NULL, 2, &w, NULL), MCAMP_OK);
        check_interval(w, d, 1e-12, 1e-3);
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 1, NULL, 1e-12, &w, NULL), MCAMP_OK);
        CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 5, 3, 1e-12, &d), MCAMP_OK);
        check_interval(w, d, 1e-12, 1e-4);
    }
}

/* delta of one use of Laplace noise is 1 - e^{(eps - a)/2}; composed against the
 * binomial and against itself with the events split up.                                */
TEST(laplace_and_response_against_closed_forms)
{
    mcamp_event e[3];
    mcamp_interval v, w;
    double a = 1.3;
    e[0] = simple(MCAMP_EVENT_LAPLACE, 1 / a, 1);
    for (double eps = 0; eps < 1.2; eps += 0.3) {
        CHECK_STATUS(mcamp_exact_delta(&ctx, e, 1, NULL, eps, &v, NULL), MCAMP_OK);
        check_interval(v, -expm1((eps - a) / 2), 1e-12, 2e-4);
    }
    CHECK_STATUS(mcamp_exact_delta(&ctx, e, 1, NULL, 1.5, &v, NULL), MCAMP_OK);
    CHECK_LE(v.upper, 1e-300);
    for (uint64_t k = 1; k < 3000; k = 3 * k + 1) {
        double eps = 1.5 / sqrt((double)k), x = 1.5;
        e[0] = response(eps, 0, k);
        CHECK_STATUS(mcamp_exact_delta(&ctx, e, 1, NULL, x * 0.999, &v, NULL), MCAMP_OK);
        check_interval(v, mcamp__response_delta(eps, (double)k, x * 0.999), 1e-9,
                       k == 1 ? 0.05 : 2e-3);
        e[0] = response(eps, 1e-7, k);
        CHECK_STATUS(mcamp_exact_delta(&ctx, e, 1, NULL, x * 0.999, &w, NULL), MCAMP_OK);
        CHECK_LE(v.lower, w.upper);
        CHECK_LE(-expm1((double)k * log1p(-1e-7)), w.upper);
    }
    e[0] = response(0.3, 1e-6, 10);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 1, NULL, 1e-6, &v, NULL), MCAMP_E_INFEASIBLE);
    e[0] = response(0, 1e-6, 10);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 1, NULL, 1e-4, &v, NULL), MCAMP_OK);
    CHECK_NEAR(v.upper, 0, 0, 0);
}

TEST(optimal_composition_agrees_with_the_accountant)
{
    double opt;
    mcamp_event e = response(0.1, 1e-9, 100);
    mcamp_interval v;
    CHECK_STATUS(mcamp_exact_compose_optimal(&ctx, 0.1, 1e-9, 100, 1e-6, &opt), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
    check_interval(v, opt, 1e-9, 1e-4);
}

/* Splitting, merging and reordering events changes nothing beyond the intervals. */
TEST(composition_is_associative_and_commutative)
{
    mcamp_event e[4];
    mcamp_interval v, w;
    e[0] = poisson(0.01, 1.2, 700);
    e[1] = simple(MCAMP_EVENT_LAPLACE, 12, 30);
    e[2] = simple(MCAMP_EVENT_GAUSSIAN, 9, 5);
    e[3] = poisson(0.01, 1.2, 300);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 4, NULL, 1e-7, &v, NULL), MCAMP_OK);
    e[3] = e[2];
    e[2] = poisson(0.01, 1.2, 1000);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e + 1, 3, NULL, 1e-7, &w, NULL), MCAMP_OK);
    CHECK_LE(v.lower, w.upper);
    CHECK_LE(w.lower, v.upper);
    CHECK_LE(v.upper - v.lower, 1e-4 * v.upper);
    CHECK_LE(w.upper - w.lower, 1e-4 * w.upper);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 1, NULL, 1e-7, &w, NULL), MCAMP_OK);
    CHECK_LE(w.upper, v.lower);                         /* fewer events, less loss */
}

TEST(renyi_bounds_lie_above)
{
    for (double s = 0.6; s < 5; s *= 2)
        for (double d = 1e-3; d > 1e-14; d *= 1e-4) {
            mcamp_event e = poisson(0.02, s, 300);
            mcamp_interval v;
            double r;
            CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, d, &v, NULL), MCAMP_OK);
            CHECK_STATUS(mcamp_exact_rdp_epsilon(&ctx, &e, 1, NULL, 0, d, &r, NULL), MCAMP_OK);
            CHECK_LE(v.upper, r);
        }
}

TEST(delta_and_epsilon_are_monotone_and_inverse)
{
    mcamp_interval v, w, last = { 0, 2 };
    for (double eps = 0.25; eps < 6; eps += 0.5) {
        mcamp_event e = poisson(0.01, 1, 1000);
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, NULL), MCAMP_OK);
        CHECK_LE(v.upper, last.upper);
        last = v;
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, v.upper, &w, NULL), MCAMP_OK);
        CHECK_LE(w.lower, eps);
        if (!(eps > 0)) continue;       /* the interval of eps is relative */
        CHECK(mcamp_exact_epsilon(&ctx, &e, 1, NULL, v.lower, &w, NULL) >= 0);
        CHECK_LE(eps, w.upper);
    }
    last.upper = 0;
    for (double q = 1e-4; q < 1; q *= 3) {
        mcamp_event e = poisson(q, 2, 100);
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
        CHECK_LE(last.upper, v.upper);
        last = v;
    }
    for (double s = 0.5; s < 100; s *= 1.8) {
        mcamp_event e = poisson(0.01, s, 100);
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
        CHECK_LE(v.upper, last.upper);
        last = v;
    }
    last.upper = 0;
    for (uint64_t t = 1; t < 2000000; t *= 7) {
        mcamp_event e = poisson(0.01, 1.5, t);
        mcamp_exact_info info;
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, &info), MCAMP_OK);
        CHECK_LE(last.upper, v.upper);
        CHECK(info.bytes < 100000000);
        last = v;
    }
}

TEST(extremes)
{
    static const double cases[][4] = {      /* q, T, sigma, delta */
        { 1e-4, 1e6, 100, 1e-6 }, { 0.01, 1e7, 50, 1e-15 }, { 0.02, 3000, 0.2, 1e-6 },
        { 1e-3, 1e7, 20, 1e-10 }, { 0.5, 1, 1, 1e-15 }, { 0.9999999, 3, 0.02, 1e-6 },
        { 0.1, 2, 0.02, 1e-6 }, { 1e-5, 1e7, 1, 1e-6 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double *c = cases[i];
        mcamp_event e = poisson(c[0], c[2], (uint64_t)c[1]);
        mcamp_interval v;
        double r;
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, c[3], &v, NULL), MCAMP_OK);
        CHECK_LE(v.upper - v.lower, 1e-4 * v.upper);
        CHECK_STATUS(mcamp_exact_rdp_epsilon(&ctx, &e, 1, NULL, 0, c[3], &r, NULL), MCAMP_OK);
        CHECK_LE(v.upper, r * (1 + 1e-12));
    }
}

/* Laws conserve mass; E_Q[e^L] = E_P[1] <= 1 and E_P[e^-L] <= 1, with the infinite
 * mass accounted for; spreading keeps E e^{-L}, merging too.                           */
TEST(laws_conserve_mass)
{
    for (int kind = 0; kind < 4; kind++)
        for (int add = 0; add < 2; add++)
            for (int side = 0; side < 2; side++) {
                mcamp_event e = poisson(0.3, 0.7, 1);
                mcamp__pair p;
                mcamp__law l;
                double w = 0, y = 0;
                if (kind == 1) { e = simple(MCAMP_EVENT_LAPLACE, 0.3, 1); e.q = 0.2; }
                if (kind == 2) { e = response(1, 0.01, 1); e.q = 0.5; }
                if (kind == 3) {
                    e.kind = MCAMP_EVENT_TRUNCATED;
                    e.population = 100; e.batch = 35;
                }
                CHECK_STATUS(mcamp__pair_init(&ctx, &e, &p), MCAMP_OK);
                CHECK_STATUS(mcamp__pair_pilot(&ctx, &p, 9, add), MCAMP_OK);
                CHECK(mcamp__law_alloc(&ctx, &l, 2 * p.npilot + 4));
                mcamp__law_fill(&l, &p, NULL, side ? MCAMP__LOWER : MCAMP__UPPER, add);
                for (size_t j = 0; j < l.n; j++) { w += l.w[j]; y += l.w[j] * exp(-l.l[j]); }
                CHECK_NEAR(w + l.pinf, 1, 1e-12, 0);
                CHECK_LE(y, 1 + 1e-12);
                if (kind < 2 || kind == 3) CHECK_LE(1 - 1e-7, y);
                mcamp__law_free(&ctx, &l);
                mcamp__pair_free(&ctx, &p);
            }
}

/* One use needs no composition: the interval is as narrow as rounding, however rarely an
 * example is sampled.  Poisson sampling of a Gaussian in closed form: with t where the loss
 * is eps, delta = (1-q) Phi(-t) + q Phi(1/s - t) - e^eps Phi(-t), or exchanged.            */
TEST(single_uses_are_exact)
{
    for (double q = 1e-6; q < 1; q *= 31)
        for (double s = 0.3; s < 10; s *= 3)
            for (double eps = 1e-3; eps < 8; eps *= 3) {
                mcamp_event e = poisson(q, s, 1);
                mcamp_exact_info info;
                mcamp_interval v;
                double t = s * log1p(expm1(eps) / q) + 0.5 / s, p, y = expm1(-eps) / q, u;
                mcamp_status st = mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, &info);
                p = q * (mt_phi(1 / s - t) - mt_phi(-t)) -
                    expm1(eps) * mt_phi(-t);
                CHECK_LE(info.remove.lower, p * (1 + 1e-7) + 1e-15);
                CHECK_LE(p * (1 - 1e-7) - 1e-15, info.remove.upper);
                CHECK(st >= 0);
                if (p > 1e-13) {
                    CHECK_STATUS(st, MCAMP_OK);
                    CHECK_LE(info.remove.upper - info.remove.lower, 1e-6 * p);
                }
                if (!(y > -1)) { CHECK_LE(info.add.upper, 1e-300); continue; }
                t = s * log1p(y) + 0.5 / s;
                u = mt_phi(t) - exp(eps) * ((1 - q) * mt_phi(t) +
                                                     q * mt_phi(t - 1 / s));
                CHECK_LE(info.add.lower, u * (1 + 1e-7) + 1e-15);
                CHECK_LE(u * (1 - 1e-7) - 1e-15, info.add.upper);
            }
}

/* A curve of a known mechanism, given at some points: its upper bound lies above the
 * mechanism, and not far.                                                              */
TEST(a_curve_event_bounds_the_mechanism_it_came_from)
{
    double eps[200], d[200];
    mcamp_event e = simple(MCAMP_EVENT_CURVE, 0, 4), g = simple(MCAMP_EVENT_MIXTURE, 2, 4);
    double one = 1;
    mcamp_interval v, w;
    for (int i = 0; i < 200; i++) {
        eps[i] = 0.02 * i;
        d[i] = exp(mcamp__gauss_logdelta(0.5, eps[i]));
    }
    e.n = 200; e.shift = eps; e.prob = e.prob2 = d;
    g.n = 1; g.shift = &one; g.prob = &one;
    for (double x = 0.5; x < 4; x *= 1.5) {     /* no lower end: wider than wanted */
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, x, &v, NULL), MCAMP_Q_MAX_ITER);
        CHECK_STATUS(mcamp_exact_delta(&ctx, &g, 1, NULL, x, &w, NULL), MCAMP_OK);
        CHECK_NEAR(v.lower, 0, 0, 0);
        CHECK_LE(w.lower, v.upper);
        CHECK_LE(v.upper, w.upper * 1.02);
    }
    e.count = 1;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, eps[50], &v, NULL), MCAMP_Q_MAX_ITER);
    CHECK_NEAR(v.upper, d[50], 1e-9, 0);
    /* far out, where 1 - e^-eps is 1, in both directions */
    for (int i = 0; i < 200; i++) {
        eps[i] = 0.25 * i;
        d[i] = exp(mcamp__gauss_logdelta(4, eps[i]));
    }
    for (int i = 0; i < 200; i += 7)
        for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
            mcamp_exact_desc x;
            memset(&x, 0, sizeof x);
            x.direction = (mcamp_direction)dir;
            CHECK(mcamp_exact_delta(&ctx, &e, 1, &x, eps[i], &v, NULL) >= 0);
            CHECK_LE(d[i] * (1 - 1e-9), v.upper);
            CHECK_LE(v.upper, d[i] * (1 + 1e-9));
        }
}

/* Truncation costs little when it hardly ever happens, and never nothing. */
TEST(truncated_batches)
{
    mcamp_event e = poisson(0.01, 1, 1000), t;
    mcamp_interval v, w;
    t = e;
    t.kind = MCAMP_EVENT_TRUNCATED;
    t.population = 50000; t.batch = 700;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &t, 1, NULL, 1e-6, &w, NULL), MCAMP_OK);
    CHECK_LE(v.lower, w.upper);
    CHECK_LE(w.lower, v.upper);
    t.batch = 500;              /* half of all batches are cut */
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &t, 1, NULL, 1e-6, &w, NULL), MCAMP_Q_MAX_ITER);
    CHECK_LE(v.upper, w.upper);
    CHECK_LE(w.lower, v.upper);
    CHECK_LE(0.5 * v.lower, w.lower);
    e.sigma = 0.5;              /* every batch truncated, shift 2: worse than 2/sigma */
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_LE(w.upper, v.upper);
}

static int bits_of(unsigned x) { int n = 0; for (; x; x &= x - 1) n++; return n; }

/* The law of a cut batch's sum, by enumeration: n others, of whom `minus` give -1 and the
 * rest 0, and the example, if it is there, 1.  law[k + 8]: the sum is k.                */
static void enumerate_cut(int n, int minus, int example, double q, int B, double *law)
{
    unsigned all = 1u << (n + example);
    memset(law, 0, 17 * sizeof *law);
    for (unsigned S = 0; S < all; S++) {
        int size = bits_of(S), keep = size < B ? size : B;
        double odds = pow(q, size) * pow(1 - q, n + example - size), ways = 0;
        for (unsigned K = 0; K <= S; K++)
            if (!(K & ~S) && bits_of(K) == keep) ways++;
        for (unsigned K = 0; K <= S; K++)
            if (!(K & ~S) && bits_of(K) == keep)
                law[8 - bits_of(K & ((1u << minus) - 1)) + (int)(K >> n & 1)] += odds / ways;
    }
}

/* E(p - e^eps q)_+ for mixtures of N(k, sigma^2), by the trapezoid rule. */
static double mixture_delta(const double *p, const double *q, double sigma, double eps)
{
    double s = 0, h = sigma / 400, u = exp(eps);
    for (double x = -8 - 9 * sigma; x < 8 + 9 * sigma; x += h) {
        double d = 0;
        for (int k = 0; k < 17; k++)
            if (p[k] > 0 || q[k] > 0) {
                double t = (x - (k - 8)) / sigma;
                d += (p[k] - u * q[k]) * exp(-0.5 * t * t);
            }
        if (d > 0) s += d;
    }
    return s * h / sigma / sqrt(8 * atan(1.0));
}

/* Small data sets, every mix of -1 and 0 among the others, of both sizes that neighbours
 * can have: none is above the interval, and the worst one is not below it.             */
TEST(truncated_batches_against_enumeration)
{
    static const double c[][5] = {      /* q, sigma, batch, population, eps */
        { 0.3237, 0.767, 2, 5, 0.3 }, { 0.5, 1, 1, 3, 0.2 }, { 0.9, 1.5, 2, 4, 0.5 },
        { 0.2, 0.6, 3, 5, 1 }, { 0.6, 2, 1, 1, 0.1 }, { 0.4, 0.5, 4, 5, 0 } };
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        mcamp_event e = poisson(c[i][0], c[i][1], 1);
        mcamp_exact_info info;
        mcamp_interval v;
        double p[17], q[17], d, rem = 0, add = 0;
        e.kind = MCAMP_EVENT_TRUNCATED;
        e.batch = (uint64_t)c[i][2]; e.population = (uint64_t)c[i][3];
        CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, c[i][4], &v, &info) >= 0);
        for (int n = (int)c[i][3] - 1; n <= (int)c[i][3]; n++)
            for (int minus = 0; minus <= n; minus++) {
                enumerate_cut(n, minus, 0, c[i][0], (int)c[i][2], q);
                enumerate_cut(n, minus, 1, c[i][0], (int)c[i][2], p);
                d = mixture_delta(p, q, c[i][1], c[i][4]);
                CHECK_LE(d * (1 - 1e-5), info.remove.upper);
                if (d > rem) rem = d;
                d = mixture_delta(q, p, c[i][1], c[i][4]);
                CHECK_LE(d * (1 - 1e-5), info.add.upper);
                if (d > add) add = d;
            }
        CHECK_LE(info.remove.lower, rem * (1 + 1e-5));
        CHECK_LE(info.add.lower, add * (1 + 1e-5));
        CHECK(info.remove.lower > 0);
        if (!i) CHECK_LE(0.006979, info.add.upper);     /* sizes of batches seen as well */
    }
}

static mcamp_event bandmf(double sigma, uint64_t bands)
{
    mcamp_event e = simple(MCAMP_EVENT_BANDMF, sigma, 1);
    e.batch = 1000; e.population = 342477; e.rounds = 2052; e.bands = bands;
    return e;
}
TEST(amplified_banded_matrix_factorisation)
{
    mcamp_event e = bandmf(1.9364356663772706, 9);
    check_event(&e, 1, 1e-6, 1.0);
    e = bandmf(1.583875289934561, 18);
    check_event(&e, 1, 1e-6, 2.0);
    e = bandmf(1.064678602112301, 64);
    check_event(&e, 1, 1e-6, 8.0);
    e.bands = 400;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6,
                                     (mcamp_interval *)NULL, NULL), MCAMP_E_ARG);
}

/* delta in both directions of k examples in the groups at[] of a cycle of b <= 3 rounds and
 * bands, lower triangular C, gradients u along one line: enumeration of who is drawn, the
 * trapezoid rule in b dimensions.  E over N(0, 1) of (L - e^eps)_+ and (1 - e^eps L)_+.   */
static void placed_delta(const double c[3][3], int b, const int *at, int k, double q, double sigma,
                         double eps, double out[2])
{
    double m[8][3], w[8], e = exp(eps), h = b > 2 ? 0.25 : 0.1, x[3] = { 0, 0, 0 };
    int steps = (int)(18 / h) + 1, all = b > 2 ? steps * steps * steps : steps * steps;
    for (int s = 0; s < 1 << k; s++) {
        w[s] = 1;
        m[s][0] = m[s][1] = m[s][2] = 0;
        for (int j = 0; j < k; j++) {
            w[s] *= s >> j & 1 ? q : 1 - q;
            for (int r = 0; r < b && s >> j & 1; r++) m[s][r] += c[r][at[j]] / sigma;
        }
    }
    out[0] = out[1] = 0;
    for (int i = 0; i < all; i++) {
        double L = 0, p = 1;
        for (int r = 0, rest = i; r < b; r++, rest /= steps) {
            x[r] = -9 + h * (rest % steps);
            p *= h * exp(-0.5 * x[r] * x[r]) / sqrt(8 * atan(1.0));
        }
        for (int s = 0; s < 1 << k; s++) {
            double t = 0;
            for (int r = 0; r < b; r++) t += m[s][r] * (x[r] - 0.5 * m[s][r]);
            L += w[s] * exp(t);
        }
        if (L > e) out[0] += p * (L - e);
        if (e * L < 1) out[1] += p * (1 - e * L);
    }
}

/* k examples of amplified BandMF: together they reach the lower end, no placement is above the
 * upper one; one example is what it was, and with one band, or always drawn, nobody is apart. */
TEST(groups_under_amplified_banded_factorisation)
{
    static const double c[3][3] = { { 0.7, 0, 0 }, { 0.7, 0.9, 0 }, { 0.14, 0.4, 1 } };
    static const int at[5][3] = { { 0, 0, 0 }, { 0, 1, 1 }, { 1, 0, 0 }, { 0, 1, 2 }, { 2, 2, 2 } };
    for (int i = 0; i < 12; i++) {
        int b = 2 + i % 2, k = 2 + i / 6;
        double sigma = i % 3 ? 0.8 : 2, eps = 0.1 + 0.3 * (i % 4), worst[2] = { 0, 0 }, norm = 0;
        mcamp_event e = simple(MCAMP_EVENT_BANDMF, sigma, 1);
        mcamp_exact_info info;
        mcamp_interval v;
        if (b > 2 && k > 2 && mt_quick()) continue;
        e.batch = 4; e.population = (uint64_t)(b * 13); e.rounds = e.bands = (uint64_t)b;
        e.group = (uint64_t)k;
        for (int j = 0; j < b; j++) {
            double t = 0;
            for (int r = 0; r < b; r++) t += c[r][j] * c[r][j];
            if (sqrt(t) > norm) norm = sqrt(t);
        }
        e.sensitivity = norm;
        CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, &info) >= 0);
        for (int j = 0; j < 5; j++) {
            double d[2];
            if (b < 3 && (at[j][0] > 1 || at[j][2] > 1)) continue;
            placed_delta(c, b, at[j], k, 4.0 / 13, sigma, eps, d);
            for (int s = 0; s < 2; s++) if (d[s] > worst[s]) worst[s] = d[s];
            CHECK_LE(d[0], info.remove.upper);
            CHECK_LE(d[1], info.add.upper);
        }
        CHECK_LE(info.remove.lower, worst[0] * 1.01 + 1e-6);
        CHECK_LE(worst[0] * 0.5, info.remove.lower + 1e-6);
        CHECK_LE(info.add.lower, worst[1] * 1.01 + 1e-6);
    }
}
TEST(groups_of_banded_factorisation_agree_with_what_they_were)
{
    mcamp_event e = bandmf(1.5, 9), f;
    mcamp_interval v, w;
    double x, y, k;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
    e.group = 1;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &w, NULL), MCAMP_OK);
    CHECK(v.upper <= w.upper && v.upper >= w.upper && v.lower <= w.lower && v.lower >= w.lower);
    e.group = 3;                        /* ends: three at a third of the variance, together */
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_Q_MAX_ITER);
    CHECK(mcamp_exact_rdp(&ctx, &e, 1, 5, &x) == MCAMP_OK);
    f = poisson(9000.0 / 342477, 1.5 / sqrt(3), 3 * 228);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &f, 1, NULL, 1e-6, &w, NULL), MCAMP_OK);
    CHECK(mcamp_exact_rdp(&ctx, &f, 1, 5, &y) == MCAMP_OK);
    CHECK_NEAR(v.upper, w.upper, 1e-3, 0);
    CHECK_NEAR(x, y, 1e-9, 0);
    f = simple(MCAMP_EVENT_GROUP_POISSON, 1.5, 228);
    f.q = 9000.0 / 342477; f.group = 3;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &f, 1, NULL, 1e-6, &w, NULL), MCAMP_OK);
    CHECK_LE(v.lower, w.upper);
    CHECK_NEAR(v.lower, w.lower, 0.01, 0);
    CHECK(mcamp_exact_calibrate(&ctx, &e, 1, NULL, 0, MCAMP_PARAM_GROUP, 8, 1e-6, &k, NULL) >= 0);
    e.group = (uint64_t)k;
    CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, 8, &v, NULL) >= 0 && v.upper <= 1e-6);
    e.group++;
    CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, 8, &v, NULL) >= 0 && v.upper > 1e-6);
    e = bandmf(1.5, 1);
    e.group = 3;                        /* one band: together */
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
    f.q = 1000.0 / 342477; f.count = 2052;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &f, 1, NULL, 1e-6, &w, NULL), MCAMP_OK);
    CHECK_NEAR(v.upper, w.upper, 1e-6, 0);
    e.bands = 2; e.batch = 1; e.population = 2; e.rounds = 8;   /* always drawn */
    CHECK(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL) >= 0);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1.5, 3 * 2, 1e-6, &x), MCAMP_OK);
    CHECK_NEAR(v.upper, x, 1e-3, 0);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1.5, 2, 1e-6, &x), MCAMP_OK);
    CHECK_LE(v.lower, x);               /* their place has one member */
    e.group = 1 << 17;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_E_ARG);
}

/* ---- balls in bins, C = I ------------------------------------------------------------ */

static mcamp_event bins(double b, double epochs, double sigma)
{
    mcamp_event e = simple(MCAMP_EVENT_BINS, sigma, 1);
    e.bins = (uint64_t)b; e.rounds = (uint64_t)epochs;
    return e;
}

static void bins_case(const double *v, int n)   /* b E sigma eps remove? value err */
{
    mcamp_event e = bins(v[0], v[1], v[2]);
    mcamp_exact_desc d;
    mcamp_interval r = { -1, -1 };
    memset(&d, 0, sizeof d);
    static int seen;
    d.direction = v[4] > 0 ? MCAMP_REMOVE : MCAMP_ADD;
    CHECK(n == 7);
    if (seen++ % 5 && mt_quick()) return;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &d, v[3], &r, NULL), MCAMP_OK);
    check_interval(r, v[5], v[6] + 1e-13, 5e-4);
}
TEST(bins_intervals_hold_the_truth) { CHECK(for_vectors("bins", bins_case) == 234); }

static void bins_sigma_case(const double *v, int n)     /* b E eps delta sigma */
{
    mcamp_event e = bins(v[0], v[1], v[4]);
    mcamp_interval r = { -1, -1 };
    CHECK(n == 5);
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, v[2], &r, NULL), MCAMP_OK);
    check_interval(r, v[3], 1e-6, 5e-4);
}
TEST(bins_at_calibrated_sigma) { CHECK(for_vectors("bins_sigma", bins_sigma_case) == 23); }

TEST(one_bin_is_the_gaussian_mechanism)
{
    mcamp_event e = bins(1, 16, 8);
    mcamp_interval v;
    double d;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 1, &v, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 8, 4, 1, &d), MCAMP_OK);
    check_interval(v, d, 1e-12, 1e-9);
}

/* Where delta is next to that of eps = 0, eps still has an upper end of its size. */
/* Of the direction that loses the bounds hold as well. */
TEST(bins_epsilon_of_both_directions)
{
    for (double b = 2; b < 1e5; b *= 20)
        for (double sigma = 0.25; sigma < 3; sigma *= 3) {
            mcamp_event e;
            mcamp_exact_desc d;
            mcamp_exact_info info;
            mcamp_interval both = { 0, 0 }, add = { 0, 0 };
            memset(&e, 0, sizeof e); memset(&d, 0, sizeof d);
            e.kind = MCAMP_EVENT_BINS;
            e.count = e.rounds = 1; e.bins = (uint64_t)b; e.sigma = sigma;
            d.rel_error = 5e-3;
            CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, &d, 1e-7, &both, &info), MCAMP_OK);
            d.direction = MCAMP_ADD;
            CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, &d, 1e-7, &add, NULL), MCAMP_OK);
            CHECK_LE(add.lower, info.add.upper);
            CHECK_LE(info.add.lower, add.upper);
            CHECK_LE(info.add.upper, both.upper);
        }
}

TEST(bins_epsilon_next_to_nothing)
{
    static const double c[][3] = { { 2, 10, 0.0282 }, { 10000, 1, 0.00519 } };
    for (int i = 0; i < 2; i++) {
        mcamp_event e = bins(c[i][0], 1, c[i][1]);
        mcamp_exact_desc d;
        mcamp_interval w;
        memset(&d, 0, sizeof d);
        d.rel_error = 2e-3;
        CHECK(mcamp_exact_epsilon(&ctx, &e, 1, &d, c[i][2], &w, NULL) >= 0);
        CHECK_LE(w.lower, w.upper);
        CHECK_LE(w.upper, 4e-4);
        CHECK_LE(3e-5, w.upper);
    }
}

TEST(bins_epsilon_and_composition)
{
    mcamp_event e = bins(64, 4, 1.5), c[2];
    double eps[40], up[2][40];
    mcamp_interval v, w, rem[40], add[40];
    mcamp_exact_desc d;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_LE(v.upper - v.lower, 2e-4 * v.upper);
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, v.upper, &w, NULL), MCAMP_OK);
    CHECK_LE(w.lower, 1e-6);
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, v.lower, &w, NULL), MCAMP_OK);
    CHECK_LE(1e-6, w.upper);
    for (int i = 0; i < 40; i++) eps[i] = 0.1 * i;
    memset(&d, 0, sizeof d);
    d.rel_error = 0.003;
    CHECK_STATUS(mcamp_exact_curve(&ctx, &e, 1, &d, eps, 40, rem, add), MCAMP_OK);
    for (int i = 0; i < 40; i++) { up[0][i] = rem[i].upper; up[1][i] = add[i].upper; }
    memset(c, 0, sizeof c);
    c[0] = simple(MCAMP_EVENT_CURVE, 0, 1);
    c[0].n = 40; c[0].shift = eps; c[0].prob = up[0]; c[0].prob2 = up[1];
    c[1] = simple(MCAMP_EVENT_GAUSSIAN, 10, 1);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, c, 2, NULL, 1e-6, &w, NULL), MCAMP_Q_MAX_ITER);
    CHECK_LE(v.lower, w.upper);
    CHECK_LE(w.upper, v.upper + 0.5);
}

/* Bounds stay close together far out, in both directions, and delta falls ever faster.  (A
 * put on a sum of many large numbers of which next to nothing is left once cancelled.)     */
TEST(bins_curve_far_out)
{
    mcamp_event e = bins(100, 20, 1);
    double eps[20], slope = 0;
    mcamp_interval rem[20], add[20];
    for (int i = 0; i < 20; i++) eps[i] = 6 + 2 * i;
    CHECK_STATUS(mcamp_exact_curve(&ctx, &e, 1, NULL, eps, 20, rem, add), MCAMP_OK);
    for (int i = 0; i < 20; i++) {
        check_interval(rem[i], rem[i].lower, 0, 5e-4);
        CHECK_LE(add[i].upper, rem[i].upper);
        if (add[i].upper > 1e-275) check_interval(add[i], add[i].lower, 0, 5e-4);
        else CHECK_LE(add[i].upper, 1e-275);
        if (!i) continue;
        CHECK_LE(log(rem[i].upper / rem[i - 1].upper), slope + 1e-3);
        slope = log(rem[i].upper / rem[i - 1].upper);
    }
}

/* Sums of 2^k modes on a lattice, each spread over the two points next to it, which is above, or
 * put at the mean of its cell, below: E(S - K)_+ between the two.  Of positive numbers alone. */
static mcamp_interval bins_by_lattice(double c, int log_b, double K, double h, size_t n)
{
    double *w = (double *)calloc(4 * n, sizeof(double));
    double *z = w + n, *m = z + n, *y = m + n, up = 0, low = 0;
    mcamp_interval v;
    for (size_t i = 0; i + 1 < n; i++) {
        double t = log((double)i * h + DBL_MIN) / c + c / 2;
        double u = log((double)(i + 1) * h) / c + c / 2;
        double q = mcamp__gauss_mass(t, u), x = mcamp__gauss_mass(t - c, u - c);
        double f = q > 0 ? (x / q - (double)i * h) / h : 0;
        w[i] += q * (1 - f);
        w[i + 1] += q * f;
        z[i] = q;           /* sums of cells by their first points, and of what is above these */
        m[i] = q * f * h;
    }
    for (int k = 0; k < log_b; k++) {
        for (int what = 0; what < 3; what++) {      /* w w, 2 m z, z z */
            double *p = what ? z : w, *q = what == 1 ? m : p, *out = what == 1 ? m : p;
            for (size_t i = 0; i < n; i++) {
                y[i] = 0;
                for (size_t j = 0; j <= i; j++) y[i] += p[j] * q[i - j];
            }
            for (size_t i = 0; i < n; i++) out[i] = what == 1 ? 2 * y[i] : y[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        double x = (double)i * h;
        up += mcamp__dmax(0, x - K) * w[i];
        if (z[i] > 0) low += mcamp__dmax(0, z[i] * (x - K) + m[i]);
    }
    free(w);
    v.lower = low; v.upper = up;
    return v;
}

/* One far bin and many moderate ones make delta together: no line sees both. */
TEST(bins_far_beside_many)
{
    mcamp_event e = bins(128, 1, 2.5);
    mcamp_exact_desc d;
    mcamp_exact_info info;
    mcamp_interval v = { 0, 0 }, w;
    memset(&d, 0, sizeof d);
    d.rel_error = 5e-3;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &d, 0.5, &v, NULL), MCAMP_OK);
    w = bins_by_lattice(0.4, 7, 128 * exp(0.5), 0.25, 1400);
    CHECK_LE(w.lower / 128, v.upper);
    CHECK_LE(v.lower, w.upper / 128);
    CHECK_LE(w.upper, 1.2 * w.lower);
    CHECK_LE(v.upper, 1.005 * v.lower);
    /* where a lattice is too long what is known is that it is near, and how dear it is */
    static const double c[][4] = { { 1e4, 0.1, 1 / 0.7, 600 }, { 1e6, 0.01, 1 / 0.7, 600 },
                                   { 1e6, 0.01, 1, 600 }, { 10, 4, 1.661, 1500 },
                                   { 128, 4, 1.195, 1500 }, { 1e5, 50, 0.25, 1500 } };
    for (int i = 0; i < 6; i++) {
        e = bins(c[i][0], 1, c[i][2]);
        d.rel_error = 1e-4;
        d.direction = MCAMP_REMOVE;
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &d, c[i][1], &v, &info), MCAMP_OK);
        CHECK_LE(v.upper, (1 + 1e-4) * v.lower);
        CHECK_LE((double)info.frequencies, c[i][3]);
    }
    e = bins(1000, 1, 1 / 0.15);            /* next to nothing is known to be that */
    CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, 0.5, &v, NULL) >= 0);
    CHECK_LE(v.upper, 1e-250);
    for (int i = 0; i < 4; i++) {           /* and eps of such a delta */
        static const double q[][4] = { { 128, 2.5, 1.077e-28, 0.5 },
                                       { 1e4, 1 / 0.7, 5.5594e-23, 0.1 },
                                       { 1e6, 1 / 0.7, 1.2645e-38, 0.01 },
                                       { 1e6, 1, 2.7403e-18, 0.01 } };
        e = bins(q[i][0], 1, q[i][1]);
        d.rel_error = 5e-3;
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, &d, q[i][2], &v, NULL), MCAMP_OK);
        CHECK_LE(v.upper, 1.01 * v.lower);
        CHECK_LE(v.lower, q[i][3] * 1.001);
        CHECK_LE(q[i][3] * 0.999, v.upper);
    }
}

/* ---- calibration ------------------------------------------------------------------------ */

static void check_sigma(mcamp_event e, double eps, double delta, double truth)
{
    double s = -1;
    mcamp_interval v;
    e.sigma = 0;
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, eps, delta,
                                       &s, NULL), MCAMP_OK);
    CHECK_LE(truth * (1 - 1e-9), s);
    CHECK_LE(s, truth * (1 + 1e-4));
    e.sigma = s;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, NULL), MCAMP_OK);
    CHECK_LE(v.lower, delta);
}

static void calibrate_case(const double *v, int n)
{
    CHECK(n == 5);
    check_sigma(poisson(v[0], 1, (uint64_t)v[1]), v[2], v[3], v[4]);
}
TEST(calibrated_sigma_of_dpsgd)
{
    CHECK(for_vectors("dpsgd_sigma", calibrate_case) == 20);
    check_sigma(bins(16, 4, 1), 1, 1e-6, 2.851863628469179);
    check_sigma(bandmf(1, 18), 2, 1e-6, 1.583875289934561);
}

/* Multi-epoch noise multipliers at delta = 1e-6: one Gaussian mechanism. */
TEST(multi_epoch_table)
{
    mcamp_event e = simple(MCAMP_EVENT_GAUSSIAN, 1, 20);
    check_sigma(e, 1, 1e-6, 18.893338359286229);
    check_sigma(e, 4, 1e-6, 5.3375773865895249);
}

TEST(calibration_of_the_other_parameters)
{
    mcamp_event e[2];
    mcamp_interval v;
    double x = -1;
    e[0] = poisson(0, 1, 2000);
    e[1] = simple(MCAMP_EVENT_GAUSSIAN, 20, 1);
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, e, 2, NULL, 0, MCAMP_PARAM_Q, 2, 1e-6, &x, NULL),
                 MCAMP_OK);
    e[0].q = x;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 2, NULL, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_LE(v.lower, 2);
    CHECK_LE(2 * (1 - 1e-3), v.upper);
    e[0] = poisson(0.01, 1, 0);
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, e, 1, NULL, 0, MCAMP_PARAM_COUNT,
                                       2.9552459109439457, 1e-6, &x, NULL), MCAMP_OK);
    CHECK_LE(1990, x);
    CHECK_LE(x, 2000);
    e[0] = simple(MCAMP_EVENT_GROUP_POISSON, 2, 2000);
    e[0].q = 0.01;
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, e, 1, NULL, 0, MCAMP_PARAM_GROUP, 5, 1e-6,
                                       &x, NULL), MCAMP_OK);
    CHECK_NEAR(x, 4, 0, 0);             /* 4.768 at 4, more at 5 */
    x = 77;
    e[0] = poisson(0.01, 0, 1000);
    e[1] = response(0.1, 1e-5, 1);
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, e, 2, NULL, 0, MCAMP_PARAM_SIGMA, 1, 1e-6, &x,
                                       NULL), MCAMP_E_INFEASIBLE);
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, e, 2, NULL, 2, MCAMP_PARAM_SIGMA, 1, 1e-6, &x,
                                       NULL), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, e, 2, NULL, 0, MCAMP_PARAM_NONE, 1, 1e-6, &x,
                                       NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, e, 2, NULL, 0, MCAMP_PARAM_GROUP, 1, 1e-6, &x,
                                       NULL), MCAMP_E_ARG);
    CHECK_NEAR(x, 77, 0, 0);
}

/* Whatever is calibrated meets its target when put back in, checked with another accuracy
 * than it was found with; and not by much: the next value of a whole number, or 0.1% more of
 * a real one, misses it.                                                                    */
TEST(calibrated_values_meet_their_targets)
{
    for (double eps = 0.3; eps < 9; eps *= 5)
        for (double delta = 1e-4; delta > 1e-11; delta *= mt_quick() ? 1e-9 : 1e-5) {
            mcamp_event e[4];
            e[0] = poisson(0.01, 0, 1500);
            e[1] = poisson(0, 1.2, 800);
            e[2] = poisson(0.01, 1.2, 0);
            e[3] = simple(MCAMP_EVENT_GROUP_POISSON, 4, 300);
            e[3].q = 0.01;
            for (int k = 0; k < 4; k++) {
                mcamp_event_param p = k == 0 ? MCAMP_PARAM_SIGMA : k == 1 ? MCAMP_PARAM_Q
                                    : k == 2 ? MCAMP_PARAM_COUNT : MCAMP_PARAM_GROUP;
                mcamp_exact_desc d;
                mcamp_interval v;
                double x = 0;
                mcamp_status st = mcamp_exact_calibrate(&ctx, &e[k], 1, NULL, 0, p, eps, delta,
                                                        &x, NULL);
                if (st == MCAMP_E_INFEASIBLE && k > 1) continue;    /* not even one */
                CHECK_STATUS(st, MCAMP_OK);
                memset(&d, 0, sizeof d);
                d.rel_error = 2e-5;
                for (int more = 0; more < 2; more++) {
                    if (k == 0) e[k].sigma = x * (more ? 0.999 : 1);
                    if (k == 1) e[k].q = x * (more ? 1.001 : 1);
                    if (k == 2) e[k].count = (uint64_t)(x * (more ? 1.002 : 1)) + (uint64_t)more;
                    if (k == 3) e[k].group = (uint64_t)x + (uint64_t)more;
                    CHECK(mcamp_exact_delta(&ctx, &e[k], 1, &d, eps, &v, NULL) >= 0);
                    if (more) CHECK_LE(delta, v.upper); else CHECK_LE(v.lower, delta);
                }
            }
        }
}

/* Noise multipliers printed for the StackOverflow experiments at delta = 1e-6: the
 * unamplified ones to the printed digits, the amplified ones within 1e-3.             */
TEST(printed_noise_multipliers)
{
    static const double plain[5] = { 4.22468, 2.23048, 1.19352, 0.65294, 0.36861 };
    static const double dpsgd[5] = { 0.37313, 0.30481, 0.25136, 0.20567, 0.16876 };
    static const double banded[4] = { 0.79118, 0.64708, 0.52224, 0.43490 };
    static const uint64_t bands[4] = { 9, 18, 32, 64 };
    double eps = 1, s;
    for (int i = 0; i < 5; i++, eps *= 2) {
        mcamp_event e = poisson(1000 / 342477.0, 0, 2052);
        CHECK_STATUS(mcamp_gauss_sigma(&ctx, 1, eps, 1e-6, &s), MCAMP_OK);
        CHECK_NEAR(s, plain[i], 0, 1e-5);
        CHECK_STATUS(mcamp_exact_calibrate(&ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, eps, 1e-6,
                                           &s, NULL), MCAMP_OK);
        CHECK_NEAR(s / sqrt(6.0), dpsgd[i], 1e-3, 0);
        if (i == 4) break;
        e = bandmf(0, bands[i]);
        CHECK_STATUS(mcamp_exact_calibrate(&ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, eps, 1e-6,
                                           &s, NULL), MCAMP_OK);
        CHECK_NEAR(s / sqrt(6.0), banded[i], 1e-3, 0);
    }
}

/* The same numbers on every machine. */
static uint64_t state = 777;
static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* log E_Q (dP/dQ)^s / (alpha - 1), straight from the definition, on a fine grid. */
static double renyi_by_hand(const mcamp_event *e, double alpha, int add)
{
    double s = add ? 1 - alpha : alpha, sum = 0, h = 0.02, total = 0;
    for (size_t i = 0; i < e->n; i++) total += e->prob[i];
    for (double x = -60; x < 80; x += h) {
        double rho = 0;
        for (size_t i = 0; i < e->n; i++) {
            double a = e->shift[i] / e->sigma;
            rho += e->prob[i] / total * exp(a * x - a * a / 2);
        }
        sum += h * exp(s * log(rho) - x * x / 2) / sqrt(8 * atan(1.0));
    }
    return log(sum) / (alpha - 1);
}

TEST(renyi_of_any_mixture)
{
    static const double fixed[2][4] = { { 2, 1, 0.1, 0.9 }, { 2, 0, 0.3, 0.7 } };
    for (size_t round = 0; round < 2 + mt_scale(30); round++) {
        double shift[4], prob[4], sum = 0, r = 0, a, b;
        mcamp_event e = simple(MCAMP_EVENT_MIXTURE, round < 2 ? 1 : 0.7 + 2 * uniform(), 1);
        e.n = round < 2 ? 2 : 1 + (size_t)(4 * uniform());
        for (size_t i = 0; i < e.n; i++) {
            shift[i] = round < 2 ? fixed[round][i] : 3 * uniform();
            sum += prob[i] = round < 2 ? fixed[round][2 + i] : uniform();
        }
        for (size_t i = 0; i < e.n; i++) prob[i] /= sum;
        if (round % 3 == 2) shift[0] = 0;
        e.shift = shift; e.prob = prob;
        for (double alpha = 1.5; alpha < 7; alpha += 0.75) {
            CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, alpha, &r), MCAMP_OK);
            a = renyi_by_hand(&e, alpha, 0);
            b = renyi_by_hand(&e, alpha, 1);
            CHECK_NEAR(r, a > b ? a : b, 1e-8, 1e-12);
        }
        if (!round) {
            mcamp_interval v;
            CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 3, &r), MCAMP_OK);
            CHECK_NEAR(r, 2.842, 1e-3, 0);
            CHECK_STATUS(mcamp_exact_rdp_epsilon(&ctx, &e, 1, NULL, 0, 1e-5, &r, NULL), MCAMP_OK);
            CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-5, &v, NULL), MCAMP_OK);
            CHECK_LE(v.upper, r);
            CHECK_LE(6.7, r);
        }
    }
}

/* Formulas against each other and against the accountant, at random. */
TEST(conversions_bound_what_they_convert)
{
    for (size_t round = 0; round < mt_scale(60); round++) {
        double rho = exp(6 * uniform() - 5), delta = exp(-3 - 30 * uniform()), a = 0, b = 0, c = 0;
        double eps = exp(3 * uniform() - 4);
        uint64_t k = 1 + (uint64_t)(300 * uniform());
        mcamp_event e = response(eps, 0, k);
        mcamp_interval v;
        CHECK_STATUS(mcamp_exact_zcdp_epsilon_simple(&ctx, rho, delta, &a), MCAMP_OK);
        CHECK_STATUS(mcamp_exact_zcdp_epsilon(&ctx, rho, delta, &b), MCAMP_OK);
        CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, sqrt(2 * rho), delta, &c), MCAMP_OK);
        CHECK_LE(b, a * (1 + 1e-12));
        CHECK_LE(c, b * (1 + 1e-12));
        /* every order is an upper bound, the best one what is returned */
        for (double x = 1.5; x < 40; x *= 1.3)
            CHECK_LE(b, rho * x + log1p(-1 / x) - (log(delta) + log(x)) / (x - 1) + 1e-9);
        CHECK_STATUS(mcamp_exact_compose_advanced(&ctx, eps, (double)k, delta, &a), MCAMP_OK);
        CHECK_STATUS(mcamp_exact_compose_optimal(&ctx, eps, 0, k, delta, &b), MCAMP_OK);
        CHECK_NEAR(a, eps * sqrt(2 * (double)k * log(1 / delta)) + (double)k * eps * expm1(eps) <
                   (double)k * eps ? eps * sqrt(2 * (double)k * log(1 / delta)) +
                   (double)k * eps * expm1(eps) : (double)k * eps, 1e-12, 0);
        CHECK_LE(b, a * (1 + 1e-12));
        CHECK(mcamp_exact_epsilon(&ctx, &e, 1, NULL, delta, &v, NULL) >= 0);
        CHECK_LE(v.lower, b * (1 + 1e-9));
        CHECK_LE(b * (1 - 1e-9), v.upper + 1e-12);
        e.delta = delta / (4 * (double)k);
        CHECK_STATUS(mcamp_exact_compose_optimal(&ctx, eps, e.delta, k, delta, &c), MCAMP_OK);
        CHECK_LE(b, c * (1 + 1e-12));
        CHECK(mcamp_exact_epsilon(&ctx, &e, 1, NULL, delta, &v, NULL) >= 0);
        CHECK_LE(v.lower, c * (1 + 1e-9));
        CHECK_LE(c * (1 - 1e-9), v.upper + 1e-12);
    }
}

/* Groups by adding up k terms, delta e^{i eps}; also where the factor alone overflows. */
TEST(group_conversion)
{
    double e = 0, d = 0;
    for (size_t round = 0; round < 200; round++) {
        double eps = 0.5 * uniform(), delta = exp(-40 * uniform() - 20), sum = 0;
        uint64_t k = 1 + (uint64_t)(40 * uniform());
        for (uint64_t i = 0; i < k; i++) sum += delta * exp((double)i * eps);
        CHECK_STATUS(mcamp_exact_group_convert(&ctx, eps, delta, k, &e, &d), MCAMP_OK);
        CHECK_NEAR(e, (double)k * eps, 1e-15, 0);
        CHECK_NEAR(d, sum < 1 ? sum : 1, 1e-11, 0);
        CHECK_LE(sum < 1 ? sum * (1 - 1e-14) : 1, d);
    }
    CHECK_STATUS(mcamp_exact_group_convert(&ctx, 0.01, 1e-310, 70500, &e, &d), MCAMP_OK);
    CHECK_NEAR(log(d), log(1e-310) + 0.01 * 70499 - log(-expm1(-0.01)), 1e-9, 1e-9);
    CHECK_STATUS(mcamp_exact_group_convert(&ctx, 0, 1e-9, 7, &e, &d), MCAMP_OK);
    CHECK_NEAR(d, 7e-9, 1e-12, 0);
    CHECK_STATUS(mcamp_exact_group_convert(&ctx, 1, 0, 7, &e, &d), MCAMP_OK);
    CHECK_NEAR(d, 0, 0, 0);
}

/* Rarely sampled uses, one or few of them: whatever the width is, the status says whether it
 * is what was wanted; and upper ends are never 0.                                        */
TEST(widths_are_what_the_status_says)
{
    mcamp_exact_desc d;
    memset(&d, 0, sizeof d);
    d.rel_error = 1e-3;
    d.max_bytes = 4000000;
    for (size_t round = 0; round < mt_scale(30); round++) {
        mcamp_event e = poisson(exp(-14 * uniform()), 0.5 + 2 * uniform(),
                                1 + (uint64_t)(9 * uniform() * uniform()));
        double eps = 3 * uniform(), delta = exp(-25 * uniform() - 2);
        mcamp_interval v = { -1, -1 };
        mcamp_status st = mcamp_exact_epsilon(&ctx, &e, 1, &d, delta, &v, NULL);
        CHECK(st == MCAMP_OK || st == MCAMP_Q_MAX_ITER);
        CHECK_LE(v.lower, v.upper);
        if (st == MCAMP_OK) CHECK_LE(v.upper - v.lower, 1.1e-3 * v.upper + 1e-5);
        else CHECK_LE(1e-5 * v.upper, v.upper - v.lower);
        st = mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL);
        CHECK(st == MCAMP_OK || st == MCAMP_Q_MAX_ITER);
        CHECK(v.upper > 0);
        if (st == MCAMP_OK && v.upper > 1e-250) CHECK_LE(v.upper, v.lower * 1.2);
    }
    {       /* one of them, which is wide */
        mcamp_event e = poisson(1e-5, 0.3, 3);
        mcamp_interval v;
        mcamp_status st = mcamp_exact_delta(&ctx, &e, 1, NULL, 2, &v, NULL);
        CHECK(st == MCAMP_Q_MAX_ITER || v.upper < 1.01 * v.lower);
    }
}

/* A curve is delta at each of its points, in each direction. */
TEST(curves_are_delta_at_their_points)
{
    mcamp_event e[2];
    double eps[4] = { 0, 0.3, 1, 2.5 };
    e[0] = poisson(0.02, 1.3, 200);
    e[1] = simple(MCAMP_EVENT_LAPLACE, 5, 3);
    for (size_t n = 1; n <= 2; n++) {
        mcamp_interval rem[4], add[4], v;
        CHECK_STATUS(mcamp_exact_curve(&ctx, e, n, NULL, eps, 4, rem, add), MCAMP_OK);
        for (int i = 0; i < 4; i++)
            for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
                mcamp_interval w = dir == MCAMP_ADD ? add[i] : rem[i];
                mcamp_exact_desc d;
                memset(&d, 0, sizeof d);
                d.direction = (mcamp_direction)dir;
                CHECK_STATUS(mcamp_exact_delta(&ctx, e, n, &d, eps[i], &v, NULL), MCAMP_OK);
                CHECK_NEAR(w.upper, v.upper, 0, 0);
                CHECK_NEAR(w.lower, v.lower, 0, 0);
            }
    }
}

/* Balls in bins where eps is small: both directions near each other, and sigma is found
 * within its tolerance or says that it was not.                                         */
TEST(bins_at_small_eps)
{
    static const double c[][3] = { { 32, 0.003, 1e-6 }, { 2, 0.1, 1e-6 }, { 2, 0.01, 1e-5 },
                                   { 128, 0.001, 1e-6 }, { 4, 1e-4, 1e-7 } };
    for (int i = 0; i < 5; i++) {
        mcamp_event e = bins(c[i][0], 1, 0);
        mcamp_exact_info info;
        mcamp_interval v;
        double s = 0;
        CHECK_STATUS(mcamp_exact_calibrate(&ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, c[i][1],
                                           c[i][2], &s, NULL), MCAMP_OK);
        e.sigma = s;
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, c[i][1], &v, &info), MCAMP_OK);
        CHECK_LE(v.lower, c[i][2]);
        CHECK_LE(c[i][2] * 0.99, v.upper);
        CHECK_NEAR(info.add.upper, info.remove.upper, 0.02, 0);
        if (!i) CHECK_LE(s, 165);
    }
    {       /* what cannot be decided says so: nothing is known from below of a curve */
        double eps[2] = { 0, 1 }, up[2] = { 1e-9, 1e-12 }, s = 0;
        mcamp_event e[2];
        mcamp_interval v;
        e[0] = poisson(0.01, 0, 100);
        e[1] = simple(MCAMP_EVENT_CURVE, 0, 1);
        e[1].n = 2; e[1].shift = eps; e[1].prob = e[1].prob2 = up;
        e[1].beta = 5e-7;
        CHECK_STATUS(mcamp_exact_calibrate(&ctx, e, 2, NULL, 0, MCAMP_PARAM_SIGMA, 1, 1e-6, &s,
                                           NULL), MCAMP_Q_MAX_ITER);
        e[0].sigma = s;
        CHECK(mcamp_exact_delta(&ctx, e, 2, NULL, 1, &v, NULL) >= 0);
        CHECK_LE(v.upper, 1e-6);
    }
}

/* ---- memory ------------------------------------------------------------------------------ */

typedef struct mem { long live, calls, fail_from; } mem;
static void *mem_alloc(void *user, size_t n)
{
    mem *m = (mem *)user;
    if (++m->calls >= m->fail_from) return NULL;
    m->live++;
    return malloc(n);
}
static void mem_free(void *user, void *p, size_t n)
{
    (void)n;
    if (p) ((mem *)user)->live--;
    free(p);
}

/* Every allocation in turn fails, and all after it: a typed error, nothing leaks, the
 * output is untouched.                                                                  */
TEST(allocation_failure_is_survived_everywhere)
{
    for (int what = 0; what < 5; what++) {
        mem m = { 0, 0, 1000000 };
        mcamp_ctx_desc d;
        mcamp_exact_desc x10;
        mcamp_ctx c;
        long n = 1;
        memset(&d, 0, sizeof d);
        memset(&x10, 0, sizeof x10);
        x10.rel_error = 0.03;
        d.alloc.alloc = mem_alloc; d.alloc.free = mem_free; d.alloc.user = &m;
        CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_OK);
        for (long k = 1; k <= n; k++) {
            mcamp_event e[3];
            mcamp_interval v = { 7, 7 };
            double x = 7, grid[2] = { 0.5, 1 }, prob[2] = { 0.1, 0.01 };
            mcamp_status st;
            e[0] = poisson(0.01, 1, 100);
            e[1] = simple(MCAMP_EVENT_LAPLACE, 10, 3);
            e[2] = simple(MCAMP_EVENT_CURVE, 0, 1);
            e[2].n = 2; e[2].shift = grid; e[2].prob = e[2].prob2 = prob;
            if (what == 4) e[0] = bins(8, 1, 1);
            m.calls = 0; m.fail_from = k; m.live = 0;
            if (what == 0) st = mcamp_exact_epsilon(&c, e, 2, &x10, 1e-5, &v, NULL);
            else if (what == 1) st = mcamp_exact_delta(&c, e, 3, &x10, 1, &v, NULL);
            else if (what == 2) st = mcamp_exact_rdp_epsilon(&c, e, 2, NULL, 0, 1e-5, &x, NULL);
            else if (what == 3) st = mcamp_exact_calibrate(&c, e, 1, &x10, 0, MCAMP_PARAM_SIGMA,
                                                           4, 1e-5, &x, NULL);
            else st = mcamp_exact_curve(&c, e, 1, &x10, grid, 1, &v, NULL);
            CHECK(m.live == 0);
            if (m.calls < k) { CHECK(st >= 0); break; }
            CHECK_STATUS(st, MCAMP_E_MEMORY);
            CHECK(x > 6.9 && x < 7.1 && v.lower > 6.9 && v.lower < 7.1);
            n = k + 1;
        }
        CHECK(n > 3);
    }
}

/* ---- bad input --------------------------------------------------------------- */

TEST(bad_events_are_refused)
{
    mcamp_event e = poisson(0.01, 1, 10);
    double r = 77, s[2] = { 0, 1 }, p[2] = { 0.5, 0.4 };
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 0, 2, &r), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, NULL, 1, 2, &r), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_exact_rdp(NULL, &e, 1, 2, &r), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 1, &r), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, mcamp__nan(), &r), MCAMP_E_NONFINITE);
    e.q = 1.5;
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_ARG);
    e.q = -0.5;
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_ARG);
    e.q = 0;
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_ARG);
    e.q = mcamp__nan();
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_NONFINITE);
    e = poisson(0.01, 0, 10);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_REQUIRED);
    e = poisson(0.01, mcamp__nan(), 10);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_NONFINITE);
    e = poisson(0.01, 1, 0);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_REQUIRED);
    e = simple(MCAMP_EVENT_NONE, 1, 1);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_REQUIRED);
    e = simple(MCAMP_EVENT_MIXTURE, 1, 1);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_SIZE);
    e.n = 2; e.shift = s;
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_REQUIRED);
    e.prob = p;
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_ARG);
    p[1] = 0.5; s[0] = -1;
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_E_ARG);
    CHECK_NEAR(r, 77, 0, 0);
    s[0] = 0;
    CHECK_STATUS(mcamp_exact_rdp(&ctx, &e, 1, 2, &r), MCAMP_OK);
    CHECK_NEAR(r, log1p(0.25 * expm1(1.0)), 1e-13, 0);
    e = bins(3, 1, 2);      /* kinds of bins: whole numbers, all of them, none negative */
    e.n = 2; e.shift = s; e.prob = p;
    for (int i = 0; i < 6; i++) {
        static const double norm[6] = { 1, 1, 1, -1, 1, 0 }, count[6] = { 1, 1.5, 0, 2, 2, 2 };
        mcamp_interval v = { 0, 1 };
        s[0] = 1; s[1] = norm[i];
        p[0] = 1; p[1] = count[i];
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 1, &v, NULL),
                     i < 4 ? MCAMP_E_ARG : MCAMP_OK);
    }
}

static const mt_case cases[] = {

    T(renyi_of_the_sampled_gaussian),
    T(renyi_conversion_with_given_and_automatic_orders),
    T(renyi_by_quadrature_and_by_sum_agree),
    T(renyi_of_gaussian_laplace_and_response),
    T(salary_example),
    T(classical_formulas_never_promise_too_much),
    T(zcdp_conversions),
    T(printed_zcdp_pairs_and_log_space),
    T(composition_bounds),
    T(laplace_amplification),
    T(dpsgd_intervals_hold_the_truth),
    T(group_privacy_intervals_hold_the_truth),
    T(large_groups_where_conversion_gives_nothing),
    T(gaussians_compose_in_closed_form),
    T(laplace_and_response_against_closed_forms),
    T(optimal_composition_agrees_with_the_accountant),
    T(composition_is_associative_and_commutative),
    T(renyi_bounds_lie_above),
    T(delta_and_epsilon_are_monotone_and_inverse),
    T(extremes),
    T(laws_conserve_mass),
    T(single_uses_are_exact),
    T(a_curve_event_bounds_the_mechanism_it_came_from),
    T(truncated_batches),
    T(truncated_batches_against_enumeration),
    T(amplified_banded_matrix_factorisation),
    T(groups_under_amplified_banded_factorisation),
    T(groups_of_banded_factorisation_agree_with_what_they_were),
    T(bins_intervals_hold_the_truth),
    T(bins_at_calibrated_sigma),
    T(one_bin_is_the_gaussian_mechanism),
    T(bins_epsilon_of_both_directions),
    T(bins_epsilon_next_to_nothing),
    T(bins_epsilon_and_composition),
    T(bins_curve_far_out),
    T(bins_far_beside_many),
    T(calibrated_sigma_of_dpsgd),
    T(multi_epoch_table),
    T(calibration_of_the_other_parameters),
    T(calibrated_values_meet_their_targets),
    T(printed_noise_multipliers),
    T(renyi_of_any_mixture),
    T(conversions_bound_what_they_convert),
    T(group_conversion),
    T(widths_are_what_the_status_says),
    T(curves_are_delta_at_their_points),
    T(bins_at_small_eps),
    T(allocation_failure_is_survived_everywhere),
    T(bad_events_are_refused)
};

int main(int argc, char **argv)
{
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 1;
    return mt_run("exact", cases, sizeof cases / sizeof cases[0], argc, argv);
}
