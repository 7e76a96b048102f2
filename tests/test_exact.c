/* Section exact: Renyi, formulas of the papers, certified accountants. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

static mcamp_ctx ctx;

static FILE *open_vectors(const char *name)
{
    char path[600];
    const char *slash = strrchr(__FILE__, '/');
    int dir = slash ? (int)(slash - __FILE__ + 1) : 0;
    FILE *f;
    snprintf(path, sizeof path, "%.*svectors/%s", dir, __FILE__, name);
    f = fopen(path, "r");
    if (!f) printf("  cannot open %s\n", path);
    CHECK(f != NULL);
    return f;
}

/* Calls fn for every line "kind number number ..." of the given kind. */
static int for_vectors(const char *kind, void (*fn)(const double *v, int n))
{
    char line[2000];
    int count = 0;
    FILE *f = open_vectors("exact.txt");
    if (!f) return 0;
    while (fgets(line, sizeof line, f)) {
        double v[80];
        char *p = line + strlen(kind), *end;
        int n = 0;
        if (strncmp(line, kind, strlen(kind)) || *p != ' ') continue;
        for (; n < 80; n++) {
            v[n] = strtod(p, &end);
            if (end == p) break;
            p = end;
        }
        fn(v, n);
        count++;
    }
    fclose(f);
    return count;
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

TEST(a_context_starts) { CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK); }

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
    CHECK_STATUS(mcamp_exact_laplace_amplified(&ctx, 1, 0, &e, &r), MCAMP_E_ARG);
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
}

TEST_MAIN("exact",
    T(a_context_starts),
    T(renyi_of_the_sampled_gaussian),
    T(renyi_conversion_with_given_and_automatic_orders),
    T(renyi_by_quadrature_and_by_sum_agree),
    T(renyi_of_gaussian_laplace_and_response),
    T(salary_example),
    T(classical_formulas_never_promise_too_much),
    T(zcdp_conversions),
    T(composition_bounds),
    T(laplace_amplification),
    T(bad_events_are_refused))
