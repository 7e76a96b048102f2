/* The fault-injecting allocator itself, and the objects that it is used on. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"

TEST(counts_fails_and_notices_misuse)
{
    mt_fault f;
    mcamp_ctx c;
    unsigned char *p, *q;
    memset(&f, 0, sizeof f);
    f.fail_at = 2;
    CHECK_STATUS(mt_fault_ctx(&f, NULL, &c), MCAMP_OK);
    p = (unsigned char *)mcamp__new(&c, 3, 5);
    CHECK(p && f.live == 1 && f.bytes == 15);
    CHECK(!mcamp__new(&c, 1, 1) && f.failed == 1);
    q = (unsigned char *)mcamp__new(&c, 1, 100);
    CHECK(q && f.peak == 115);
    mcamp__delete(&c, p, 3, 5);
    CHECK(f.live == 1 && f.misuse == 0);
    q[100] = 1;
    mcamp__delete(&c, q, 1, 99);
    CHECK(f.live == 0 && f.bytes == 0 && f.misuse == 2);
}

static mcamp_status gram_of(mcamp_ctx *c, void *user)
{
    const mcamp_mech_desc *d = (const mcamp_mech_desc *)user;
    mcamp_mech m;
    mcamp_gram g;
    mcamp_status st = mcamp_mech_init(c, d, &m);
    if (st < 0) return st;
    st = mcamp_gram_init(c, &m, 5, &g);
    if (st >= 0) mcamp_gram_free(c, &g);
    mcamp_mech_free(c, &m);
    return st;
}

TEST(strategies_and_grams_survive_every_failed_allocation)
{
    static const double coef[6] = { 1, 0.5, 1, 0.25, 0.5, 1 };
    static const double theta[2] = { 0.7, 0.98 }, omega[2] = { 0.3, 0.1 };
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.n = 23;
    d.kind = MCAMP_MECH_IDENTITY;
    CHECK(mt_all_faults("identity", gram_of, &d) > 0);
    d.kind = MCAMP_MECH_SQRT;
    d.bands = 4;
    d.normalize = true;
    CHECK(mt_all_faults("sqrt", gram_of, &d) > 0);
    d.kind = MCAMP_MECH_BLT;
    d.bands = 0;
    d.theta = theta; d.omega = omega; d.buffers = 2;
    CHECK(mt_all_faults("blt", gram_of, &d) > 0);
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_BANDED;
    d.n = 3; d.bands = 3; d.coef = coef; d.count = 6;
    CHECK(mt_all_faults("banded", gram_of, &d) > 0);
}

static mcamp_status factor_of(mcamp_ctx *c, void *user)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp_status st = mcamp_gram_from_matrix(c, (const double *)user, 70, &g);
    if (st < 0) return st;
    st = mcamp__factor_init(c, &g, &f);
    if (st >= 0) mcamp__factor_free(c, &f);
    mcamp_gram_free(c, &g);
    return st;
}

/* A root in blocks has memory of its own. */
TEST(roots_of_large_grams_survive_every_failed_allocation)
{
    static double g[70 * 70];
    for (int i = 0; i < 70; i++)
        for (int j = 0; j < 70; j++) g[70 * i + j] = i == j ? 2 : 1.0 / (1 + abs(i - j));
    CHECK(mt_all_faults("root", factor_of, g) > 0);
}

TEST_MAIN("fault",
    T(counts_fails_and_notices_misuse),
    T(strategies_and_grams_survive_every_failed_allocation),
    T(roots_of_large_grams_survive_every_failed_allocation))
