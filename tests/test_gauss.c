/* Section gauss: normal distribution and Gaussian mechanism. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

static mcamp_ctx ctx;

/* Calls fn for every line "kind a b c d" of the given kind; missing ones are 0. */
typedef struct wanted { const char *kind; void (*fn)(const double *v); int n; } wanted;

static void one_line(const char *line, void *user)
{
    wanted *w = (wanted *)user;
    char kind[40];
    double v[4] = { 0, 0, 0, 0 };
    if (sscanf(line, "%39s %lf %lf %lf %lf", kind, v, v + 1, v + 2, v + 3) < 2) return;
    if (strcmp(kind, w->kind)) return;
    w->fn(v);
    w->n++;
}

static int for_vectors(const char *kind, void (*fn)(const double *v))
{
    wanted w = { kind, fn, 0 };
    mt_vectors("gauss.txt", one_line, &w);
    return w.n;
}

static void logcdf_case(const double *v)
{
    CHECK_NEAR(mcamp__gauss_logcdf(v[0]), v[1], 2e-15, 0);
    CHECK_NEAR(mcamp__gauss_logsf(-v[0]), v[1], 2e-15, 0);
}
TEST(logcdf_keeps_relative_accuracy_in_both_tails)
{
    CHECK(for_vectors("logcdf", logcdf_case) >= 20);
    CHECK_NEAR(mcamp__gauss_logcdf(-mcamp__inf()), -mcamp__inf(), 0, 0);
    CHECK_NEAR(mcamp__gauss_logcdf(mcamp__inf()), 0.0, 0, 0);
    CHECK(mcamp__isnan(mcamp__gauss_logcdf(mcamp__nan())));
    for (double x = -45; x < 45; x += 0.01)
        CHECK_LE(mcamp__gauss_logcdf(x), mcamp__gauss_logcdf(x + 0.01));
}

static void quantile_case(const double *v)
{
    CHECK_NEAR(mcamp__gauss_quantile_log(v[0]), v[1], 4e-15, 1e-15);
}
TEST(quantile_inverts_the_distribution)
{
    CHECK(for_vectors("quantile", quantile_case) >= 15);
    CHECK_NEAR(mcamp__gauss_quantile_log(0), mcamp__inf(), 0, 0);
    CHECK(mcamp__isnan(mcamp__gauss_quantile_log(1e-9)));
    CHECK(mcamp__isnan(mcamp__gauss_quantile_log(mcamp__nan())));
    for (double p = 1e-4; p < 1; p += 1e-4) {
        double x = mcamp__gauss_quantile_log(log(p));
        CHECK_NEAR(mt_phi(x), p, 1e-14, 0);
        CHECK_NEAR(mcamp__gauss_quantile_log(log1p(-p)), -x, 1e-11, 1e-15);
    }
    for (double l = -1; l > -1e12; l *= 1.7)
        CHECK_NEAR(mcamp__gauss_logcdf(mcamp__gauss_quantile_log(l)), l, 4e-15, 0);
}

static void curve_case(const double *v)
{
    CHECK_NEAR(mcamp__gauss_logdelta(v[0], v[1]), v[2], 5e-16, 3e-15);
}
static void delta_case(const double *v)
{
    double d, l = mcamp__gauss_logdelta(v[0] / v[1], v[2]);
    CHECK_NEAR(l, v[3], 5e-16, 3e-15);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, v[1], v[0], v[2], &d), MCAMP_OK);
    if (v[3] < -700) { CHECK_LE(mcamp__dmax(exp(v[3]), DBL_MIN), d); return; }
    CHECK_LE(exp(v[3]), d);
    CHECK_LE(d, exp(v[3]) * (1 + (v[3] > -60 ? 1e-13 : 2e-12)));
}
TEST(delta_agrees_with_60_digits)
{
    CHECK(for_vectors("delta", delta_case) > 30);
    CHECK(for_vectors("curve", curve_case) > 80);
}

static void eps_case(const double *v)
{
    double e = -1;
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, v[1], v[0], v[2], &e), MCAMP_OK);
    CHECK_LE(v[3] * (1 - 2e-16), e);
    CHECK_LE(e, v[3] * (1 + 1e-13));
    CHECK_LE(mcamp__gauss_logdelta(v[0] / v[1], e), log(v[2]));
}
static void sigma_case(const double *v)
{
    double s = -1;
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, v[0], v[1], v[2], &s), MCAMP_OK);
    CHECK_LE(v[3] * (1 - 2e-16), s);
    CHECK_LE(s, v[3] * (1 + 1e-13));
    CHECK_LE(mcamp__gauss_logdelta(v[0] / s, v[1]), log(v[2]));
}
TEST(epsilon_and_sigma_round_to_the_safe_side)
{
    CHECK(for_vectors("eps", eps_case) > 15);
    CHECK(for_vectors("sigma", sigma_case) > 20);
}

/* log delta in long double, where the difference of the two tails loses less than two
 * digits and both are in range: 0 there, else its error is below 1e-17 |log delta|.  */
static int long_logdelta(double mu, double eps, long double *l)
{
    const long double root = 0.70710678118654752440084436210484904L;
    long double m = (long double)eps / mu, h = 0.5L * mu, p, q;
    if (m + h > 140 || eps > 11000) return 0;
    p = 0.5L * erfcl((m - h) * root);
    q = 0.5L * expl(eps) * erfcl((m + h) * root);
    if (!(q > 0) || p - q < 0.01L * p) return 0;
    *l = m < h ? log1pl(-(0.5L * erfcl((h - m) * root) + q)) : logl(p - q);
    return 1;
}

/* At thousands of points: rounded up, and by no more than is said. */
TEST(rounded_up_everywhere_and_by_little)
{
    uint64_t state = 5;
    int checked = 0, margin_needed = 0;
    for (int i = 0; i < 40000; i++) {
        double u[3], mu, eps, d, e, s;
        long double l;
        for (int k = 0; k < 3; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            u[k] = (double)(state >> 11) / 9007199254740992.0;
        }
        mu = exp(-2 + 6 * u[0]);
        eps = mu * (0.5 * mu + (u[1] < 0.3 ? 6 * u[2] - 3 : 60 * u[2]));
        if (eps < 0 || !long_logdelta(mu, eps, &l)) continue;
        e = mcamp__gauss_logdelta_up(mu, eps);
        CHECK((long double)e >= l);
        CHECK_LE(e - (double)l, 2e-14 - 3e-15 * (double)l);
        margin_needed += (long double)mcamp__gauss_logdelta(mu, eps) < l;
        checked++;
        if (l < -700 || l > -1e-3 || i % 8) continue;
        s = 1 / mu;                     /* as the formula has it: 1/s may be below mu */
        CHECK_STATUS(mcamp_gauss_delta(&ctx, s, 1, eps, &d), MCAMP_OK);
        if (long_logdelta(mcamp__gauss_mu_up(s, 1), eps, &l)) CHECK((long double)d >= expl(l));
    }
    CHECK(checked > 15000 && margin_needed > 1000);
}

TEST(calibration_round_trips_from_extreme_to_extreme)
{
    for (double eps = 1e-6; eps < 2e6; eps *= 30)
        for (double ld = -0.5; ld > -700; ld *= 2.2) {
            double s, e, d, delta = exp(ld);
            CHECK_STATUS(mcamp_gauss_sigma(&ctx, 3.0, eps, delta, &s), MCAMP_OK);
            CHECK_STATUS(mcamp_gauss_delta(&ctx, s, 3.0, eps, &d), MCAMP_OK);
            CHECK_LE(d, delta * (1 + 1e-13));
            CHECK_LE(delta, d * (1 + 1e-9));
            CHECK_STATUS(mcamp_gauss_epsilon(&ctx, s, 3.0, delta, &e), MCAMP_OK);
            CHECK_LE(e, eps * (1 + 1e-9) + 1e-14);
            CHECK_LE(mcamp__gauss_logdelta(3.0 / s, e), ld);
        }
}

TEST(delta_is_monotone_and_symmetric_under_reflection)
{
    for (double mu = 1e-5; mu < 100; mu *= 1.9)
        for (double eps = -30; eps < 30; eps += 0.37) {
            double l = mcamp__gauss_logdelta(mu, eps);
            CHECK_LE(mcamp__gauss_logdelta(mu, eps + 0.01), l + 1e-14);
            CHECK_LE(l, mcamp__gauss_logdelta(mu * 1.01, eps) + 1e-14);
            CHECK_LE(l, 0);
            CHECK(!mcamp__isnan(l));
        }
    CHECK_NEAR(mcamp__gauss_logdelta(0, 1), -mcamp__inf(), 0, 0);
    CHECK_NEAR(mcamp__gauss_logdelta(0, -1), log1p(-exp(-1.0)), 2e-15, 0);
    CHECK_NEAR(mcamp__gauss_logdelta(1e-200, 0), log(1e-200 * 0.3989422804014327), 2e-15, 0);
    CHECK_NEAR(mcamp__gauss_logdelta(1e-200, 1), -mcamp__inf(), 0, 0);
    CHECK_NEAR(mcamp__gauss_logdelta(1e200, 1), 0, 0, 0);
    CHECK(mcamp__isnan(mcamp__gauss_logdelta(-1, 1)));
    CHECK(mcamp__isnan(mcamp__gauss_logdelta(mcamp__nan(), 1)));
    CHECK(mcamp__isnan(mcamp__gauss_logdelta(1, mcamp__nan())));
}

/* log E[(w e^{ct - c^2/2} - e^eps)_+] for t ~ N(0,1): the curve at mu = c and eps - log w,
 * which may be negative, times w.                                                */
static double log_gauss_hs(double c, double logw, double eps)
{
    return logw + mcamp__gauss_logdelta(c, eps - logw);
}

/* The hockey stick of w e^{ct - c^2/2} against the trapezoid rule. */
TEST(weighted_hockey_stick)
{
    for (double c = 0.05; c < 4; c *= 2.3)
        for (double lw = -3; lw < 3; lw += 0.7) {
            double s = 0, h = 1e-3, eps = 0.4;
            for (double t = -12; t < 14 + c; t += h) {
                double v = exp(lw + c * t - 0.5 * c * c) - exp(eps);
                if (v > 0) s += h * v * exp(-0.5 * t * t) * 0.3989422804014327;
            }
            if (s > 1e-12)
                CHECK_NEAR(log_gauss_hs(c, lw, eps), log(s), 0, 2e-4);
        }
    CHECK_NEAR(log_gauss_hs(0, 1, 0.5), log(exp(1.0) - exp(0.5)), 0, 1e-15);
    CHECK_NEAR(log_gauss_hs(1e-300, 1, 0.5), log(exp(1.0) - exp(0.5)), 0, 1e-15);
    CHECK_NEAR(log_gauss_hs(0, 0.2, 0.5), -mcamp__inf(), 0, 0);
    CHECK_NEAR(log_gauss_hs(0.5, 800, 1), 800, 1e-14, 0);
    CHECK_NEAR(log_gauss_hs(2, 900, 903), 903 + mcamp__gauss_logdelta(2, 3) - 3, 1e-14, 0);
}

TEST(bad_arguments_are_refused_and_outputs_kept)
{
    double x = 77, nan = mcamp__nan(), inf = mcamp__inf();
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 0, 1, 1, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, -1, 1, 1, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, nan, 1, 1, &x), MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 1, inf, 1, &x), MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 1, -1, 1, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 1, 1, -0.1, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 1, 1, 1, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_gauss_delta(NULL, 1, 1, 1, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, 1, 0, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, 1, 1, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1e-320, 1, 0.1, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, 1, nan, &x), MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, 0, 1, 1e-5, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, 1, inf, 1e-5, &x), MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, 1, 1, 2, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1e-80, 1e80, 0.1, &x), MCAMP_E_INFEASIBLE);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, 1e-100, 700, 1e-3, &x), MCAMP_E_INFEASIBLE);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, 1e100, 0, 1e-3, &x), MCAMP_E_INFEASIBLE);
    CHECK_STATUS(mcamp_gauss_sigma(&ctx, 1, 1, 2, &x), MCAMP_E_ARG);
    CHECK_NEAR(x, 77, 0, 0);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "delta"));
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 1, 0, 1, &x), MCAMP_OK);
    CHECK_NEAR(x, 0, 0, 0);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, 0, 1e-5, &x), MCAMP_OK);
    CHECK_NEAR(x, 0, 0, 0);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 10, 1, 0.5, &x), MCAMP_OK);
    CHECK_NEAR(x, 0, 0, 0);
    for (double d = 1e-9; d < 1; d *= 7) {      /* eps = 0: delta = 2 Phi(mu/2) - 1 */
        CHECK_STATUS(mcamp_gauss_sigma(&ctx, 1, 0, d, &x), MCAMP_OK);
        CHECK_NEAR(erf(0.5 / x * 0.70710678118654752440), d, 1e-12, 0);
    }
}

static const mt_case cases[] = {
    T(logcdf_keeps_relative_accuracy_in_both_tails),
    T(quantile_inverts_the_distribution),
    T(delta_agrees_with_60_digits),
    T(epsilon_and_sigma_round_to_the_safe_side),
    T(rounded_up_everywhere_and_by_little),
    T(calibration_round_trips_from_extreme_to_extreme),
    T(delta_is_monotone_and_symmetric_under_reflection),
    T(weighted_hockey_stick),
    T(bad_arguments_are_refused_and_outputs_kept)
};

int main(int argc, char **argv)
{
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 1;
    return mt_run("gauss", cases, sizeof cases / sizeof cases[0], argc, argv);
}
