/* Closed forms of the literature beside what this library computes: sigma of one Gaussian
 * mechanism, eps of many by Renyi orders and exactly, composition, groups, Laplace noise on
 * a sample; and a training run with correlated noise (by simulation) composed with another
 * release.  Privacy numbers are printed by the library, rounded up.          */
#include <math.h>
#include <stdio.h>
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"

static mcamp_ctx ctx;

static void check(mcamp_status st)
{
    mcamp_error e = mcamp_last_error(&ctx);
    if (st >= 0) return;
    fprintf(stderr, "formulas: %s (%s)\n", mcamp_strerror(st), e.argument ? e.argument : "");
    exit(1);
}

static int print(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, (FILE *)user) != n;
}

/* One line: a privacy number leaves as a guarantee's, rounded up. */
static void line(const char *name, mcamp_quantity what, double x)
{
    mcamp_interval of;
    mcamp_guarantee g;
    mcamp_writer w = { print, stdout };
    of.lower = of.upper = x;
    check(mcamp_guarantee_interval(what, MCAMP_BOTH, of, x, 0, 0, 0, &g));
    printf("  %-56s ", name);
    mcamp_report_guarantee(&g, MCAMP_REPORT_VALUE, &w);
    printf("\n");
}

/* What is known from section exact, with the level that it rests on. */
static void certified(const char *name, const mcamp_event *e, size_t n, double delta)
{
    mcamp_interval eps;
    mcamp_exact_info info;
    mcamp_guarantee g;
    mcamp_writer w = { print, stdout };
    check(mcamp_exact_epsilon(&ctx, e, n, NULL, delta, &eps, &info));
    check(mcamp_guarantee_interval(MCAMP_ASK_EPS, MCAMP_BOTH, eps, 0, 0, delta, info.beta, &g));
    printf("  %s: ", name);
    mcamp_report_guarantee(&g, MCAMP_REPORT_TEXT, &w);
}

static void gaussian(double eps, double delta)
{
    static const char *const name[] = { "best of the formulas", "sqrt(2 log(1/delta) + 2 eps)/eps",
        "sqrt(2 log(1.25/delta))/eps", "refined, 1", "refined, 2", "refined, 3", "refined, 4" };
    double s = 0;
    printf("sigma of a Gaussian mechanism for (%g, %g)-DP\n", eps, delta);
    for (int f = MCAMP_FORMULA_DEFAULT; f <= MCAMP_FORMULA_REFINED_4; f++)
        if (mcamp_exact_classical_sigma(&ctx, (mcamp_formula)f, 1, eps, delta, &s) >= 0)
            line(name[f], MCAMP_ASK_SIGMA, s);
    check(mcamp_gauss_sigma(&ctx, 1, eps, delta, &s));
    line("by its curve", MCAMP_ASK_SIGMA, s);
}

static void sampled(double q, double sigma, uint64_t count, double delta)
{
    mcamp_event e = { 0 };
    double rdp = 0, eps = 0, order = 0;
    e.kind = MCAMP_EVENT_POISSON;
    e.q = q; e.sigma = sigma; e.count = count;
    printf("eps at delta = %g: %.0f steps, sampled with %g, sigma %g\n", delta, (double)count, q,
           sigma);
    check(mcamp_exact_rdp_epsilon(&ctx, &e, 1, NULL, 0, delta, &eps, &order));
    line("by the best Renyi order", MCAMP_ASK_EPS, eps);
    check(mcamp_exact_rdp(&ctx, &e, 1, order, &rdp));
    rdp += log1p(-1 / order) - (log(delta) + log(order)) / (order - 1);
    line("  the same by hand, from the divergence of that order", MCAMP_ASK_EPS, rdp);
    certified("certified", &e, 1, delta);
}

static void zcdp(double rho, double delta)
{
    double eps = 0;
    printf("eps at delta = %g of %g-zCDP\n", delta, rho);
    check(mcamp_exact_zcdp_epsilon_simple(&ctx, rho, delta, &eps));
    line("rho + 2 sqrt(rho log(1/delta))", MCAMP_ASK_EPS, eps);
    check(mcamp_exact_zcdp_epsilon(&ctx, rho, delta, &eps));
    line("through every Renyi order", MCAMP_ASK_EPS, eps);
    check(mcamp_gauss_epsilon(&ctx, 1, sqrt(2 * rho), delta, &eps));
    line("if it is a Gaussian mechanism", MCAMP_ASK_EPS, eps);
}

static void composed(double eps, uint64_t uses, double delta)
{
    double total = 0, d = 0;
    printf("eps at delta = %g of %.0f uses of a (%g, 0)-DP mechanism\n", delta, (double)uses, eps);
    line("basic", MCAMP_ASK_EPS, (double)uses * eps);
    check(mcamp_exact_compose_advanced(&ctx, eps, (double)uses, delta, &total));
    line("advanced", MCAMP_ASK_EPS, total);
    check(mcamp_exact_compose_optimal(&ctx, eps, 0, uses, delta, &total));
    line("optimal", MCAMP_ASK_EPS, total);
    check(mcamp_exact_group_convert(&ctx, eps, delta, 4, &total, &d));
    line("one use, four examples that differ", MCAMP_ASK_EPS, total);
    line("  at a delta of", MCAMP_ASK_DELTA, d);
}

static void laplace(double eps, double p, double n)
{
    double sample = 0, ratio = 0, full = 0, on_sample = 0;
    static const char form[] = "  %-56s %.5g\n";
    printf("mean of %g numbers by Laplace noise, %g-DP, on a sample of %g of them\n", n, eps, p);
    check(mcamp_exact_laplace_amplified(&ctx, eps, p, &sample, &ratio));
    printf(form, "noise without sampling over noise on the sample, ratio", ratio);
    check(mcamp_exact_laplace_errors(&ctx, eps, p, n, &full, &on_sample));
    printf(form, "mean squared error without sampling", full);
    printf(form, "  on the sample, at most", on_sample);
}

/* Balls in bins with a banded C, whose curve is only known by simulation, at a level that is
 * carried on, and 50 sampled releases of something else.                                */
static void training_and_more(double delta)
{
    mcamp_mech_desc d = { 0 };
    mcamp_mech c;
    mcamp_gram g;
    mcamp_event e[2];
    double eps[16], up[16], down[16];
    memset(e, 0, sizeof e);
    d.kind = MCAMP_MECH_SQRT;
    d.n = 64;
    d.bands = 8;
    for (int i = 0; i < 16; i++) eps[i] = 0.02 * i * i;
    check(mcamp_mech_init(&ctx, &d, &c));
    check(mcamp_gram_init(&ctx, &c, 32, &g));
    check(mcamp_simulated_curve(&ctx, &g, 6, eps, 16, 1, 16, 1e-9, up, down));
    e[0].kind = MCAMP_EVENT_CURVE;
    e[0].count = 1;
    e[0].n = 16; e[0].shift = eps; e[0].prob = up; e[0].prob2 = down; e[0].beta = 1e-9;
    e[1].kind = MCAMP_EVENT_POISSON;
    e[1].count = 50; e[1].q = 0.02; e[1].sigma = 2;
    printf("eps at delta = %g of a run with correlated noise, and with other releases\n", delta);
    certified("the run, from its simulated curve", e, 1, delta);
    certified("the run and 50 sampled releases", e, 2, delta);
    mcamp_gram_free(&ctx, &g);
    mcamp_mech_free(&ctx, &c);
}

int main(void)
{
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 1;
    gaussian(0.5, 1e-6);
    sampled(0.01, 1, 2000, 1e-6);
    zcdp(0.1, 1e-6);
    composed(0.1, 100, 1e-6);
    laplace(0.5, 0.1, 1000);
    training_and_more(1e-5);
    return 0;
}
