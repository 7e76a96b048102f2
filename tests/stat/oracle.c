/* Every reference case of balls in bins, as a table: the same comparisons as in
 * tests/test_oracle.c, which takes a sample of the identity cases.             */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "../mcamp_test.h"
#include "../core_common.h"
#include "../oracle_common.h"

static void run(const char *file, void (*fn)(const char *, void *))
{
    oracle_run r;
    memset(&r, 0, sizeof r);
    r.table = 1;
    setup();
    mt_vectors(file, fn, &r);
    oracle_end(&r);
}

TEST(correlated_noise) { run("bib_corr.txt", oracle_corr); }
TEST(identity) { run("bib_identity.txt", oracle_identity); }

TEST_MAIN("stat_oracle", T(correlated_noise), T(identity))
