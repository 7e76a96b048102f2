/* Section base: statuses, sizes, sums, log space, root finding. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

TEST(every_status_has_its_own_text)
{
#define X(name, value, text) CHECK(!strcmp(mcamp_strerror(name), text));
    MCAMP_STATUS_LIST(X)
#undef X
    CHECK(!strcmp(mcamp_strerror((mcamp_status)12345), "unknown status"));
}

static void *half_allocator(void *user, size_t size)
{
    (void)user; (void)size;
    return NULL;
}

TEST(context_refuses_bad_descriptors)
{
    mcamp_ctx c;
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    CHECK_STATUS(mcamp_ctx_init(&c, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_OK);
    CHECK_STATUS(mcamp_ctx_init(NULL, &d), MCAMP_E_ARG);
    d.start_canary = 1;
    CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_E_CANARY);
    d.start_canary = 0; d.end_canary = 7;
    CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_E_CANARY);
    d.end_canary = 0; d.vec = (mcamp_vecset)99;
    CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_E_ARG);
}

static mcamp_error failed_init(const mcamp_ctx_desc *d, mcamp_status want)
{
    mcamp_ctx c;
    double out;
    memset(&c, 0xa5, sizeof c);
    CHECK_STATUS(mcamp_ctx_init(&c, d), want);
    CHECK_STATUS(mcamp_gauss_delta(&c, 1.0, 1.0, 1.0, &out), MCAMP_E_ARG);
    return mcamp_last_error(&c);
}

/* On a stack full of something else the error is told, and nothing else is believed. */
TEST(a_failed_context_is_defined)
{
    mcamp_ctx_desc d, z;
    mcamp_error e;
    memset(&z, 0, sizeof z);
    d = z; d.start_canary = 3;
    e = failed_init(&d, MCAMP_E_CANARY);
    CHECK(e.status == MCAMP_E_CANARY && !strcmp(e.argument, "desc") && mcamp__eq(e.value, 0));
    d = z; d.vec = (mcamp_vecset)77;
    e = failed_init(&d, MCAMP_E_ARG);
    CHECK(e.status == MCAMP_E_ARG && !strcmp(e.argument, "vec") && mcamp__eq(e.value, 77));
    d = z; d.alloc.alloc = half_allocator;
    e = failed_init(&d, MCAMP_E_ARG);
    CHECK(e.status == MCAMP_E_ARG && !strcmp(e.argument, "alloc"));
}

TEST(finiteness_is_read_off_the_bits)
{
    double inf = mcamp__inf(), nan = mcamp__nan();
    CHECK(mcamp__finite(0.0) && mcamp__finite(-1e308) && mcamp__finite(5e-324));
    CHECK(!mcamp__finite(inf) && !mcamp__finite(-inf) && !mcamp__finite(nan));
    CHECK(mcamp__isnan(nan) && mcamp__isnan(-nan) && !mcamp__isnan(inf));
}

TEST(sizes_are_checked)
{
    size_t r = 7;
    CHECK(mcamp__mul_size(3, 5, &r) && r == 15);
    CHECK(!mcamp__mul_size(SIZE_MAX, 2, &r) && r == 15);
    CHECK(!mcamp__mul_size(SIZE_MAX / 8 + 1, 8, &r) && r == 15);
    CHECK(mcamp__mul_size(0, SIZE_MAX, &r) && r == 0);
    CHECK(!mcamp__add_size(SIZE_MAX, 1, &r) && r == 0);
    CHECK(mcamp__add_size(SIZE_MAX - 1, 1, &r) && r == SIZE_MAX);
}

TEST(compensated_sum_keeps_what_a_plain_sum_loses)
{
    mcamp__sum s = { 0, 0 };
    mcamp__sum_add(&s, 1e16);
    for (int i = 0; i < 1000; i++) mcamp__sum_add(&s, 1.0);
    mcamp__sum_add(&s, -1e16);
    CHECK_NEAR(mcamp__sum_get(&s), 1000.0, 0, 0);
    mcamp__sum_add(&s, mcamp__inf());
    CHECK(mcamp__sum_get(&s) > DBL_MAX);
    mcamp__sum_add(&s, mcamp__nan());
    CHECK(mcamp__isnan(mcamp__sum_get(&s)));
}

TEST(log_space_helpers_at_their_edges)
{
    double inf = mcamp__inf();
    CHECK_NEAR(mcamp__log_add(log(2.0), log(3.0)), log(5.0), 1e-15, 0);
    CHECK_NEAR(mcamp__log_add(-inf, -inf), -inf, 0, 0);
    CHECK_NEAR(mcamp__log_add(inf, inf), inf, 0, 0);
    CHECK_NEAR(mcamp__log_add(-inf, 3.0), 3.0, 0, 0);
    CHECK(mcamp__isnan(mcamp__log_add(mcamp__nan(), 1.0)));
    CHECK_NEAR(mcamp__log1mexp(-1e-20), log(1e-20), 1e-15, 0);
    CHECK_NEAR(mcamp__log1mexp(-50.0), -exp(-50.0), 1e-15, 0);
    CHECK_NEAR(mcamp__log1mexp(0.0), -inf, 0, 0);
    CHECK(mcamp__isnan(mcamp__log1mexp(1e-9)));
    CHECK_NEAR(mcamp__log_sub(log(5.0), log(3.0)), log(2.0), 1e-15, 0);
    CHECK_NEAR(mcamp__log_sub(1.0, -inf), 1.0, 0, 0);
}

TEST(root_finder_converges_from_any_bracket)
{
    mcamp__root r;
    mcamp__root_init(&r, 0.0, -1.0, 100.0, pow(100.0, 9) - 1);
    while (r.hi - r.lo > 1e-12 && r.steps < 200) {
        double x = mcamp__root_next(&r);
        mcamp__root_update(&r, x, pow(x, 9) - 1);
    }
    CHECK_NEAR(r.lo, 1.0, 1e-11, 0);
    CHECK(r.steps < 60);
    mcamp__root_init(&r, -3.0, mcamp__inf(), 5.0, -mcamp__inf());
    while (r.hi - r.lo > 1e-9 && r.steps < 200) {
        double x = mcamp__root_next(&r);
        mcamp__root_update(&r, x, x > 2 ? -mcamp__inf() : mcamp__inf());
    }
    CHECK_NEAR(r.hi, 2.0, 1e-8, 0);
}

TEST_MAIN("base",
    T(every_status_has_its_own_text),
    T(context_refuses_bad_descriptors),
    T(a_failed_context_is_defined),
    T(finiteness_is_read_off_the_bits),
    T(sizes_are_checked),
    T(compensated_sum_keeps_what_a_plain_sum_loses),
    T(log_space_helpers_at_their_edges),
    T(root_finder_converges_from_any_bracket))
