/* Known answers, by methods other than the library's own: the Gaussian mechanism,
 * zCDP, and delta and sigma of balls in bins; see tests/vectors/README.md.
 * Estimates must be within 5 combined standard errors; seeds are fixed, so that a
 * failure is not chance.  All cases with correlated noise, every third with C = I
 * (tests/stat/oracle.c has them all, as a table).                              */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "core_common.h"
#include "oracle_common.h"

/* id sensitivity sigma eps delta solved rel_err: one mode of that length. */
static void gaussian_case(const char *line, void *user)
{
    char id[64], solved[8];
    double sens, sigma, eps, delta, rel, g;
    mcamp_gram gram;
    mcamp_answer a;
    (void)user;
    if (sscanf(line, "%63s %lf %lf %lf %lf %7s %lf", id, &sens, &sigma, &eps, &delta,
               solved, &rel) != 7) { CHECK(!"case is readable"); return; }
    g = sens * sens;
    gram_user(&g, 1, &gram);
    rel += 1e-12;
    if (!strcmp(solved, "delta")) {
        CHECK_STATUS(mcamp_delta(&ctx, &gram, sigma, eps, NULL, &a), MCAMP_OK);
        CHECK_NEAR(a.delta, delta, rel, 0);
        CHECK(a.remove.exact && a.add.exact && a.delta_upper >= delta * (1 - rel));
    } else if (!strcmp(solved, "sigma")) {
        CHECK_STATUS(mcamp_sigma(&ctx, &gram, eps, delta, NULL, &a), MCAMP_OK);
        CHECK_NEAR(a.sigma, sigma, rel, 0);
        CHECK_LE(sigma * (1 - rel), a.sigma);
    } else {
        CHECK_STATUS(mcamp_epsilon(&ctx, &gram, sigma, delta, NULL, &a), MCAMP_OK);
        CHECK_NEAR(a.eps, eps, rel, 0);
    }
    mcamp_gram_free(&ctx, &gram);
}

TEST(gaussian_mechanism_as_one_mode)
{
    setup();
    mt_vectors("gaussian.txt", gaussian_case, NULL);
}

/* id rho delta eps conversion rel_err */
static void zcdp_case(const char *line, void *user)
{
    char id[64], how[8];
    double rho, delta, want, rel, got;
    (void)user;
    if (sscanf(line, "%63s %lf %lf %lf %7s %lf", id, &rho, &delta, &want, how, &rel) != 6) {
        CHECK(!"case is readable");
        return;
    }
    CHECK_STATUS(!strcmp(how, "simple")
                     ? mcamp_exact_zcdp_epsilon_simple(&ctx, rho, delta, &got)
                     : mcamp_exact_zcdp_epsilon(&ctx, rho, delta, &got), MCAMP_OK);
    CHECK_NEAR(got, want, rel + 1e-10, 0);
}

TEST(zcdp_conversions)
{
    setup();
    mt_vectors("zcdp.txt", zcdp_case, NULL);
}

/* id strategy norm n b E norm_first norm_last norm_max g01 sum rel_err */
static void gram_case(const char *line, void *user)
{
    char id[64], name[200], norm[16];
    unsigned long n, b, epochs;
    double first, last, top, g01, sum, rel, got = 0;
    mcamp_gram g;
    (void)user;
    if (sscanf(line, "%63s %199s %15s %lu %lu %lu %lf %lf %lf %lf %lf %lf", id, name, norm,
               &n, &b, &epochs, &first, &last, &top, &g01, &sum, &rel) != 12) {
        CHECK(!"case is readable");
        return;
    }
    gram_make(name, norm, n, b, &g);
    CHECK_NEAR(sqrt(mcamp__gram_at(&g, 0, 0)), first, rel, 0);
    CHECK_NEAR(sqrt(mcamp__gram_at(&g, b - 1, b - 1)), last, rel, 0);
    CHECK_NEAR(g.max_norm, top, rel, 0);
    CHECK_NEAR(mcamp__gram_at(&g, 0, 1), g01, rel, 0);
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++) got += mcamp__gram_at(&g, i, j);
    CHECK_NEAR(got, sum, 1e-12, 0);
    mcamp_gram_free(&ctx, &g);
}

TEST(gram_matrices)
{
    setup();
    mt_vectors("bib_gram.txt", gram_case, NULL);
}

/* The quadrature that other tests use as a reference is itself right. */
TEST(quadrature_for_two_bins)
{
    mcamp_gram g;
    setup();
    gram_make("sqrt:0", "raw", 8, 2, &g);
    CHECK_NEAR(delta2(&g, 12.3, 1, MCAMP_REMOVE), 1.001213320574855e-05, 1e-11, 0);
    CHECK_NEAR(delta2(&g, 12.3, 1, MCAMP_ADD), 9.782524609700284e-06, 1e-11, 0);
    CHECK_NEAR(delta2(&g, 2.03, 8, MCAMP_ADD), 5.127956986880338e-06, 1e-11, 0);
    mcamp_gram_free(&ctx, &g);
    gram_make("ones", "raw", 4, 2, &g);
    CHECK_NEAR(delta2(&g, 1.76, 8, MCAMP_ADD), 3.194272748345825e-07, 1e-11, 0);
    mcamp_gram_free(&ctx, &g);
    gram_make("identity", "raw", 2, 2, &g);
    CHECK_NEAR(delta2(&g, 0.5, 1, MCAMP_REMOVE), 0.40457750037785358, 1e-11, 0);
    mcamp_gram_free(&ctx, &g);
}

static void run(const char *file, void (*fn)(const char *, void *), size_t skip)
{
    oracle_run r;
    memset(&r, 0, sizeof r);
    r.skip = getenv("MCAMP_TEST_QUICK") ? 10 * skip : skip;
    setup();
    mt_vectors(file, fn, &r);
    CHECK(r.cases > 4);
    oracle_end(&r);
}

TEST(balls_in_bins_with_correlated_noise) { run("bib_corr.txt", oracle_corr, 1); }
TEST(balls_in_bins_with_independent_noise) { run("bib_identity.txt", oracle_identity, 3); }

TEST_MAIN("oracle",
    T(gaussian_mechanism_as_one_mode),
    T(zcdp_conversions),
    T(gram_matrices),
    T(quadrature_for_two_bins),
    T(balls_in_bins_with_correlated_noise),
    T(balls_in_bins_with_independent_noise))
