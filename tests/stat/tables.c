/* The published tables of banded strategies ([2], Tables 2 and 3), by way of the
 * optimiser: prefix sums, mean error over rounds.                                     */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "../mcamp_test.h"

static mcamp_ctx ctx;

static void setup(void) { CHECK_STATUS(mt_ctx_init(&ctx, NULL), MCAMP_OK); }

static mcamp_opt_desc banded(mcamp_amplification amp, size_t n, size_t batches, size_t bands)
{
    mcamp_opt_desc d;
    memset(&d, 0, sizeof d);
    d.family = MCAMP_OPT_BANDED;
    d.amplification = amp;
    d.rounds = n; d.batches = batches; d.bands = bands;
    d.eps = 1; d.delta = 1e-6;
    return d;
}

/* ---- Table 2: n = 2052, six epochs of 342 ------------------------------------------- */

typedef struct row2 {
    const char *name;
    mcamp_mech_kind kind;       /* or UNSET: optimised                                 */
    size_t bands;
    bool equal;
    double once, fixed, apart;  /* sensitivity: one use, fixed, at least 342 apart     */
    double error_fixed, error_apart;    /* relative, under these two                    */
} row2;

/* Columns of the table; `apart` of the tree is an upper bound of ours, see below. */
static const row2 table2[6] = {
    { "tree, best decoder", MCAMP_MECH_TREE, 0, false, 0.32, 1.00, 1.00, 1.53, 1.53 },
    { "DP-SGD", MCAMP_MECH_IDENTITY, 1, true, 0.41, 1.00, 1.00, 9.63, 9.63 },
    { "128 bands", MCAMP_MECH_UNSET, 128, false, 0.52, 1.00, 1.04, 1.23, 1.29 },
    { "128 bands, equal", MCAMP_MECH_UNSET, 128, true, 0.41, 1.00, 1.00, 1.27, 1.27 },
    { "342 bands", MCAMP_MECH_UNSET, 342, false, 0.52, 1.00, 1.04, 1.04, 1.08 },
    { "342 bands, equal", MCAMP_MECH_UNSET, 342, true, 0.41, 1.00, 1.00, 1.05, 1.05 }
};

static void make2(const row2 *r, mcamp_mech *m)
{
    mcamp_mech_desc d;
    mcamp_opt_desc o = banded(MCAMP_AMPLIFY_NONE, 2052, 342, r->bands);
    if (r->kind) {
        memset(&d, 0, sizeof d);
        d.kind = r->kind;
        d.n = 2052;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, m), MCAMP_OK);
        return;
    }
    o.equal_norms = r->equal;
    o.tolerance = r->equal ? 1e-4 : 2e-4;
    CHECK_STATUS(mcamp_opt_run(&ctx, &o, m, NULL), MCAMP_OK);
}

/* The table's unit: the error of the best matrix without bands, which is DP-SGD's
 * 78.4793 / 9.63.  Figures to the printed digits; the last column, a product of two, to
 * one in the last.                                                                      */
static void check2(const row2 *r, const mcamp_work *w)
{
    mcamp_mech m;
    mcamp_error_info e;
    mcamp_sens once, fixed, apart;
    double unit = 78.4793 / 9.63, error, ratio;
    make2(r, &m);
    CHECK_STATUS(mcamp_work_error(&ctx, w, &m, NULL, &e), MCAMP_OK);
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, 1, 342, &once), MCAMP_OK);
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, 6, 342, &fixed), MCAMP_OK);
    CHECK_STATUS(mcamp_sens_minsep(&ctx, &m, 6, 342, &apart), MCAMP_OK);
    error = e.rmse * fixed.value / unit;
    ratio = apart.value / fixed.value;
    printf("%-20s %6.3f (%4.2f)  %6.3f%s (%4.2f)  %7.4f (%4.2f)  %7.4f (%4.2f)\n", r->name,
           once.value / fixed.value, r->once, ratio, apart.exact ? " " : "*", r->apart, error,
           r->error_fixed, error * ratio, r->error_apart);
    fflush(stdout);
    CHECK(fixed.exact);
    CHECK_NEAR(once.value / fixed.value, r->once, 0, 0.005);
    CHECK_NEAR(ratio, r->apart, 0, 0.005);
    CHECK_NEAR(error, r->error_fixed, 0, 0.005);
    if (apart.exact) CHECK_NEAR(error * ratio, r->error_apart, 0, 0.01);
    mcamp_mech_free(&ctx, &m);
}

TEST(table_2)
{
    mcamp_work_desc wd;
    mcamp_work work;
    setup();
    memset(&wd, 0, sizeof wd);
    wd.n = 2052;
    CHECK_STATUS(mcamp_work_init(&ctx, &wd, &work), MCAMP_OK);
    printf("n = 2052, 6 x 342: ours (table)\n%-20s %-14s %-15s %-15s error, apart\n", "matrix",
           "one use", "342 apart", "error, fixed");
    for (size_t i = 0; i < 6; i++) check2(&table2[i], &work);
    printf("* an upper bound\n");
    mcamp_work_free(&ctx, &work);
}

/* ---- Table 3: the best number of bands, n = 1024, delta = 1e-6 -------------------------- */

enum { EPS = 10, EPOCHS = 11 };

static const int table3[EPS][EPOCHS] = {
    { 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
    { 4, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
    { 8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1 },
    { 8, 4, 4, 2, 1, 1, 1, 1, 1, 1, 1 },
    { 16, 8, 4, 4, 2, 1, 1, 1, 1, 1, 1 },
    { 32, 16, 8, 4, 2, 2, 1, 1, 1, 1, 1 },
    { 64, 32, 16, 8, 4, 2, 2, 1, 1, 1, 1 },
    { 128, 64, 32, 16, 8, 4, 2, 2, 1, 1, 1 },
    { 1024, 512, 256, 32, 16, 8, 4, 2, 2, 1, 1 },
    { 1024, 512, 256, 128, 64, 32, 8, 4, 4, 2, 1 }
};

/* Error for unit noise of column-normalised C with 2^i bands: it depends on neither eps
 * nor the number of epochs.                                                             */
static double unit_error(size_t i)
{
    mcamp_opt_desc d = banded(MCAMP_AMPLIFY_NONE, 1024, 1024, (size_t)1 << i);
    mcamp_opt_result r;
    mcamp_mech m;
    memset(&r, 0, sizeof r);
    d.equal_norms = true;
    d.tolerance = 1e-4;
    CHECK_STATUS(mcamp_opt_run(&ctx, &d, &m, &r), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
    return r.unit.rmse * r.sensitivity;
}

static void check3(const double *unit, int row, int k)
{
    mcamp_opt_desc d = banded(MCAMP_AMPLIFY_POISSON, 1024, (size_t)1024 >> k, 0);
    double error[EPOCHS], best = mcamp__inf(), theirs;
    int ours = 0, count = EPOCHS - k, idle = 0;
    size_t want = 0;
    d.eps = ldexp(1, row - 5);
    while ((1 << want) < table3[row][k]) want++;
    for (int i = 0; i < count; i++) {
        double sigma = mcamp__inf();
        error[i] = mcamp__inf();
        if (idle > 2 && i != (int)want && i + 1 != count) continue;
        CHECK_STATUS(mcamp__opt_poisson_sigma(&ctx, &d, (size_t)1 << i, 1, &sigma), MCAMP_OK);
        error[i] = sigma * unit[i];
        idle = error[i] < best ? 0 : idle + 1;
        if (error[i] < best) { best = error[i]; ours = i; }
    }
    theirs = error[want];
    if (ours != (int)want)
        printf("eps %-8g k %-5d table: %4d bands, error %.5g;  ours: %4d bands, error %.5g "
               "(%.2f%% less)\n", d.eps, 1 << k, table3[row][k], theirs, 1 << ours, best,
               100 * (theirs / best - 1));
    fflush(stdout);
    CHECK_LE(theirs, best * 1.005);
}

TEST(table_3)
{
    double unit[EPOCHS];
    setup();
    printf("n = 1024: bands and error for unit noise\n");
    for (size_t i = 0; i < EPOCHS; i++) {
        unit[i] = unit_error(i);
        printf("%5d %9.5f\n", 1 << i, unit[i]);
        fflush(stdout);
    }
    for (int row = 0; row < EPS; row++)
        for (int k = 0; k < EPOCHS; k++) check3(unit, row, k);
}

TEST_MAIN("stat_tables", T(table_2), T(table_3))
