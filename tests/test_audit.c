/* The auditor: its bounds hold as often as they say and come near the truth; it finds nothing
 * to hold against the library, and every planted fault of tests/mutants/audit.rules.  */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "../examples/audit_self.h"
#include "mcamp_test.h"

static mcamp_ctx ctx;

static double normal(mcamp_rng *r)
{
    double u = mcamp_rng_uniform(r), v = mcamp_rng_uniform(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

TEST(binomial_bounds_are_those_of_the_tables)
{
    CHECK_NEAR(audit_lower(5, 10, 0.025), 0.18708603, 1e-7, 0);
    CHECK_NEAR(audit_upper(5, 10, 0.025), 0.81291397, 1e-7, 0);
    CHECK_NEAR(audit_upper(0, 10, 0.05), 1 - pow(0.05, 0.1), 1e-9, 0);
    CHECK_NEAR(audit_lower(10, 10, 0.05), pow(0.05, 0.1), 1e-9, 0);
    CHECK_NEAR(audit_upper(0, 1000000, 1e-9), -expm1(log(1e-9) / 1e6), 1e-7, 0);
    CHECK_NEAR(audit_lower(1, 1000, 0.05), -expm1(log1p(-0.05) / 1000), 1e-7, 0);
    CHECK_LE(audit_lower(0, 10, 0.05), 0);
    CHECK_LE(1, audit_upper(10, 10, 0.05));
    CHECK_NEAR(audit_tail(500000, 1000000, 0.5),
               0.5 + 0.5 * exp(audit_log_pmf(500000, 1000000, 0.5)), 1e-6, 0);
}

/* All outcomes of n trials with probability p: those whose bound is wrong are rare. */
TEST(binomial_bounds_cover)
{
    const uint64_t n = 23;
    for (int i = 1; i < 40; i++) {
        double p = i / 40.0, below = 0, above = 0;
        for (uint64_t k = 0; k <= n; k++) {
            double mass = exp(audit_log_pmf(k, n, p));
            below += audit_lower(k, n, 0.04) > p ? mass : 0;
            above += audit_upper(k, n, 0.04) < p ? mass : 0;
        }
        CHECK_LE(below, 0.04);
        CHECK_LE(above, 0.04);
        CHECK(below + above > 0.01);    /* nor are they wider than they need be */
    }
}

/* The bound of a pair of counts, over all outcomes, where eps is exactly log(p / q). */
TEST(epsilon_from_counts_covers)
{
    const uint64_t n = 30, m = 25;
    const double p = 0.8, q = 0.2, delta = 0.1, eps = log((p - delta) / q);
    double wrong = 0;
    for (uint64_t i = 0; i <= n; i++) {
        for (uint64_t j = 0; j <= m; j++)
            if (audit_epsilon(i, n, j, m, delta, 0.2) > eps)
                wrong += exp(audit_log_pmf(i, n, p) + audit_log_pmf(j, m, q));
    }
    CHECK_LE(wrong, 0.2);
    CHECK(wrong > 0.001);
}

/* Scores of the Gaussian mechanism: eps of its trade-off curve is known. */
static audit_bound gaussian(mcamp_rng *r, size_t n, double mu, double delta, double beta,
                            double sign)
{
    double *with = (double *)malloc(2 * n * sizeof *with), *without = with + n;
    audit_bound b;
    for (size_t i = 0; i < n; i++) {
        with[i] = sign * (mu + normal(r));
        without[i] = sign * normal(r);
    }
    b = audit_scores(with, n, without, n, delta, beta);
    free(with);
    return b;
}

TEST(bounds_of_the_gaussian_mechanism_hold)
{
    const int runs = 400;
    int wrong = 0;
    double eps;
    mcamp_rng r;
    mcamp_rng_seed(&r, 11);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, 0.5, 0.1, &eps), MCAMP_OK);
    for (int i = 0; i < runs; i++)
        wrong += gaussian(&r, 200, 0.5, 0.1, 0.3, i % 2 ? 1 : -1).epsilon > eps;
    CHECK(audit_tail((uint64_t)wrong, (uint64_t)runs, 0.3) > 1e-9);
}

TEST(bounds_of_the_gaussian_mechanism_come_near)
{
    static const double delta[3] = { 0.2, 0.05, 0.02 }, mu[3] = { 1, 1, 0.7 };
    mcamp_rng r;
    mcamp_rng_seed(&r, 12);
    for (int i = 0; i < 3; i++) {
        audit_bound b = gaussian(&r, 120000, mu[i], delta[i], 0.05, i % 2 ? -1 : 1);
        double eps;
        CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, mu[i], delta[i], &eps), MCAMP_OK);
        CHECK_LE(b.epsilon, eps);
        CHECK_LE(0.9 * eps, b.epsilon);
    }
}

/* Randomised response is the worst case of (eps, 0): the guesses are right with probability
 * e^eps / (1 + e^eps), independently; with delta, m coins more may tell all.         */
TEST(one_run_covers_randomised_response)
{
    const double eps = 1.2, q = 1 / (1 + exp(-eps)), beta = 0.1;
    const uint64_t n = 40;
    double wrong = 0, leaky = 0;
    for (uint64_t k = 0; k <= n; k++) {
        double mass = exp(audit_log_pmf(k, n, q));
        wrong += audit_one_run_epsilon(k, n, n, 0, beta) > eps ? mass : 0;
        leaky += audit_one_run_epsilon(k, n, n, 0.01, beta) > eps ? mass : 0;
        CHECK_LE(audit_one_run_epsilon(k, n, n, 0.01, beta),
                 audit_one_run_epsilon(k, n, n, 0, beta));
    }
    CHECK_LE(wrong, beta);
    CHECK(wrong > 0.02);
    CHECK_LE(leaky, 0.5 * wrong);
    CHECK_NEAR(audit_one_run_tail(30, 40, 40, eps, 0), audit_tail(30, 40, q), 1e-12, 0);
}

/* Every canary's row is told with probability delta: the guess about it is right for certain. */
TEST(one_run_pays_for_delta)
{
    const double eps = 0.5, q = 1 / (1 + exp(-eps)), beta = 0.2, delta = 0.2;
    const int runs = 2000;
    const uint64_t n = 60;
    int wrong = 0, unpaid = 0;
    mcamp_rng r;
    mcamp_rng_seed(&r, 13);
    for (int i = 0; i < runs; i++) {
        uint64_t right = 0;
        for (uint64_t k = 0; k < n; k++)
            right += mcamp_rng_uniform(&r) < delta || mcamp_rng_uniform(&r) < q;
        wrong += audit_one_run_tail(right, n, n, eps, delta) <= beta;
        unpaid += audit_one_run_tail(right, n, n, eps, 0) <= beta;
    }
    CHECK(audit_tail((uint64_t)wrong, (uint64_t)runs, beta) > 1e-9);
    CHECK(audit_tail((uint64_t)unpaid, (uint64_t)runs, beta) < 1e-3);
}

TEST(one_run_of_the_gaussian_mechanism)
{
    const size_t m = 20000;
    audit_canary *c = (audit_canary *)malloc(m * sizeof *c);
    audit_one_run b;
    double eps;
    mcamp_rng r;
    mcamp_rng_seed(&r, 14);
    for (size_t i = 0; i < m; i++) {
        c[i].in = mcamp_rng_uniform(&r) < 0.5;
        c[i].score = 2 * (double)c[i].in + normal(&r);
    }
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, 2, 1e-6, &eps), MCAMP_OK);
    b = audit_canaries(c, m, 1e-6, 0.05);
    CHECK_LE(b.epsilon, eps);
    CHECK_LE(0.4 * eps, b.epsilon);
    for (size_t i = 0; i < m; i++) c[i].score = normal(&r);     /* of nobody */
    CHECK_LE(audit_canaries(c, m, 1e-6, 1e-9).epsilon, 0);
    free(c);
}

/* ---- the library's sessions -------------------------------------------------------- */

TEST(no_case_contradicts_the_certificate)
{
    for (int i = 0; i < AUDIT_NCASE; i++) {
        const audit_case *c = &AUDIT_CASES[i];
        audit_result r;
        CHECK(audit_one(&ctx, c, 5, 1000, 1e-6, &r));
        if (r.verdict == AUDIT_CONTRADICTED)
            printf("  %s: %g of %g, %g taken\n", c->name, r.bound.epsilon, r.certified,
                   r.violations);
        CHECK(r.verdict != AUDIT_CONTRADICTED);
        CHECK(!c->uncovered || r.verdict == AUDIT_UNCOVERED);
    }
}

/* A plain run's bound must come near, or nothing that the auditor says means much. */
TEST(the_auditor_sees_what_there_is)
{
    audit_result r;
    CHECK(audit_one(&ctx, &AUDIT_CASES[0], 6, mt_scale(6000), 1e-6, &r));
    CHECK(r.verdict == AUDIT_HOLDS);
    CHECK_LE((mt_scale(10) < 10 ? 0.1 : 0.5) * r.certified, r.bound.epsilon);
}

int main(int argc, char **argv)
{
    static const mt_case cases[] = {
        T(binomial_bounds_are_those_of_the_tables), T(binomial_bounds_cover),
        T(epsilon_from_counts_covers), T(bounds_of_the_gaussian_mechanism_hold),
        T(bounds_of_the_gaussian_mechanism_come_near), T(one_run_covers_randomised_response),
        T(one_run_pays_for_delta), T(one_run_of_the_gaussian_mechanism),
        T(no_case_contradicts_the_certificate), T(the_auditor_sees_what_there_is)
    };
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 1;
    return mt_run("audit", cases, sizeof cases / sizeof cases[0], argc, argv);
}
