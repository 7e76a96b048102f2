/* Section base: statuses, sizes, sums, log space, root finding. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include <fenv.h>
#if defined(__x86_64__)
#  include <xmmintrin.h>
#endif

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
    mcamp_ctx c;
    mcamp_error e;
    double out;
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
    /* a context that was good before is not afterwards */
    CHECK_STATUS(mcamp_ctx_init(&c, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_gauss_delta(&c, 1.0, 1.0, 1.0, &out), MCAMP_OK);
    CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gauss_delta(&c, 1.0, 1.0, 1.0, &out), MCAMP_E_ARG);
}

/* ---- the floating-point environment ------------------------------------------------ */

/* What guards cannot mend, where there are none, is told with its cause. */
static const char *told_when_rounding(int mode)
{
    int before = fegetround();
    const char *why;
    if (fesetround(mode)) return "not here";
    why = mcamp__self_check();
    fesetround(before);
    return why;
}

TEST(other_roundings_are_told)
{
#if defined(FE_UPWARD) && defined(FE_DOWNWARD) && defined(FE_TOWARDZERO)
    static const int mode[3] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    for (int i = 0; i < 3; i++) {
        const char *why = told_when_rounding(mode[i]);
        CHECK(why && (strstr(why, "FE_TONEAREST") || strstr(why, "not here")));
    }
#endif
    CHECK(!told_when_rounding(fegetround()));
}

/* 0x8000 flushes results, 0x0040 reads denormals as zero. */
TEST(flushed_denormals_are_told)
{
#if defined(__x86_64__)
    static const unsigned flag[3] = { 0x8000, 0x0040, 0x8040 };
    unsigned before = _mm_getcsr();
    for (int i = 0; i < 3; i++) {
        const char *why;
        mcamp_ctx c;
        mcamp_status st;
        _mm_setcsr(before | flag[i]);
        why = mcamp__self_check();
        st = mcamp_ctx_init(&c, NULL);
        _mm_setcsr(before);
        CHECK(why && strstr(why, "-Ofast"));
        CHECK_STATUS(st, MCAMP_OK);
    }
#endif
}

/* ---- ranges --------------------------------------------------------------------------- */

TEST(ranges_are_open_where_they_say_so)
{
    mcamp_ctx c;
    const double inf = mcamp__inf();
    CHECK_STATUS(mcamp_ctx_init(&c, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp__check(&c, "x", mcamp__nan(), -inf, 1, inf, 1), MCAMP_E_NONFINITE);
    CHECK(!strcmp(mcamp_last_error(&c).argument, "x") && mcamp_last_error(&c).status < 0);
    CHECK_STATUS(mcamp__check(&c, "x", inf, -inf, 1, inf, 1), MCAMP_E_NONFINITE);
    for (int closed = 0; closed < 2; closed++) {
        mcamp_status end = closed ? MCAMP_OK : MCAMP_E_ARG;
        CHECK_STATUS(mcamp__check(&c, "y", 1, 1, closed, 2, 1), end);
        CHECK_STATUS(mcamp__check(&c, "y", 2, 1, 1, 2, closed), end);
        CHECK_STATUS(mcamp__check(&c, "y", 0.5, 1, closed, 2, 1), MCAMP_E_ARG);
        CHECK_STATUS(mcamp__check(&c, "y", 2.5, 1, 1, 2, closed), MCAMP_E_ARG);
        CHECK_STATUS(mcamp__check(&c, "y", 1.5, 1, closed, 2, closed), MCAMP_OK);
    }
    CHECK_STATUS(mcamp__check_prob(&c, "p", 0), MCAMP_E_ARG);
    CHECK_STATUS(mcamp__check_prob(&c, "p", 1), MCAMP_E_ARG);
    CHECK_STATUS(mcamp__check_eps(&c, "eps", 0), MCAMP_OK);
    CHECK_STATUS(mcamp__check_eps(&c, "eps", -1e-300), MCAMP_E_ARG);
    CHECK_STATUS(mcamp__check_sigma(&c, "sigma", 0), MCAMP_E_ARG);
    CHECK_STATUS(mcamp__check_sigma(&c, "sigma", 9e-101), MCAMP_E_ARG);
    CHECK(mcamp__eq(mcamp_last_error(&c).value, 9e-101));
}

/* ---- memory ------------------------------------------------------------------------------ */

typedef struct ledger { size_t blocks, bytes, most; } ledger;

/* Dirty memory, and the size kept before it for the one who frees. */
static void *keep(void *user, size_t size)
{
    ledger *l = (ledger *)user;
    size_t *p;
    l->most = mcamp__zmax(l->most, size);
    if (!size || size > 1 << 20) return NULL;
    p = (size_t *)malloc(size + 64);
    CHECK(p != NULL);
    memset(p, 0x5a, size + 64);
    *p = size;
    l->blocks++;
    l->bytes += size;
    return (char *)p + 64;
}

static void give_back(void *user, void *p, size_t size)
{
    ledger *l = (ledger *)user;
    CHECK(*(size_t *)((char *)p - 64) == size);
    l->blocks--;
    l->bytes -= size;
    free((char *)p - 64);
}

TEST(memory_is_zero_and_given_back_whole)
{
    static const size_t count[] = { 0, 1, 7, 1000 };
    ledger l = { 0, 0, 0 };
    mcamp_ctx_desc d;
    mcamp_ctx c;
    memset(&d, 0, sizeof d);
    d.alloc.alloc = keep; d.alloc.free = give_back; d.alloc.user = &l;
    CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_OK);
    for (size_t i = 0; i < 4; i++) {
        double *p = mcamp__new_doubles(&c, count[i]);
        CHECK(p != NULL);
        for (size_t j = 0; p && j < count[i]; j++) CHECK(mcamp__bits(p[j]) == 0);
        mcamp__delete_doubles(&c, p, count[i]);
    }
    mcamp__delete_doubles(&c, NULL, 5);
    CHECK(!l.blocks && !l.bytes && l.most == 8000);
    CHECK(!mcamp__new(&c, SIZE_MAX / 2, 1));        /* asked for: most is that */
    CHECK(l.most == SIZE_MAX / 2);
    CHECK(!mcamp__new(&c, SIZE_MAX / 2 + 1, 1));    /* above PTRDIFF_MAX, and overflow */
    CHECK(!mcamp__new(&c, SIZE_MAX / 8 + 1, 8));
    CHECK(l.most == SIZE_MAX / 2);
}

/* What is left goes to whoever it fits, the last first; what is too small, or more than four times
 * too large, is left there.                                                             */
TEST(spare_memory_is_used_where_it_fits)
{
    ledger l = { 0, 0, 0 };
    mcamp_ctx_desc d;
    mcamp_ctx c;
    mcamp__buf spare, b[3], got;
    memset(&d, 0, sizeof d);
    memset(&spare, 0, sizeof spare);
    d.alloc.alloc = keep; d.alloc.free = give_back; d.alloc.user = &l;
    CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_OK);
    for (size_t i = 0; i < 3; i++)
        CHECK_STATUS(mcamp__spare_take(&c, i ? &spare : NULL, 100 + i, &b[i]), MCAMP_OK);
    for (size_t i = 0; i < 3; i++) mcamp__spare_give(&c, &spare, &b[i]);
    CHECK(l.blocks == 3 && spare.count == 102 && !b[2].p);
    CHECK_STATUS(mcamp__spare_take(&c, &spare, 26, &b[2]), MCAMP_OK);
    CHECK(l.blocks == 3 && b[2].count == 102 && spare.count == 101);
    CHECK_STATUS(mcamp__spare_take(&c, &spare, 101, &b[1]), MCAMP_OK);
    CHECK(l.blocks == 3 && b[1].count == 101 && spare.count == 100);
    CHECK_STATUS(mcamp__spare_take(&c, &spare, 130, &got), MCAMP_OK);
    CHECK(l.blocks == 4 && got.count == 130 && spare.count == 100);
    mcamp__spare_give(&c, &spare, &got);
    CHECK_STATUS(mcamp__spare_take(&c, &spare, 25, &b[0]), MCAMP_OK);      /* below the top */
    CHECK(l.blocks == 4 && b[0].count == 100 && spare.count == 130);
    CHECK_STATUS(mcamp__spare_take(&c, &spare, 31, &got), MCAMP_OK);
    CHECK(l.blocks == 5 && got.count == 31 && spare.count == 130);
    mcamp__spare_give(&c, NULL, &got);
    CHECK(l.blocks == 4 && !got.p);
    for (size_t i = 0; i < 3; i++) mcamp__spare_give(&c, &spare, &b[i]);
    mcamp__spare_free(&c, &spare);
    CHECK(!l.blocks && !l.bytes && !spare.p);
}

/* ---- tasks, progress -------------------------------------------------------------------- */

static void count_task(void *arg, size_t i) { ((unsigned char *)arg)[i]++; }

static void backwards(void *user, size_t ntask, void (*task)(void *arg, size_t i), void *arg)
{
    ++*(size_t *)user;
    for (size_t i = ntask; i-- > 0; ) task(arg, i);
}

/* In a loop, or by the hook; one task is not worth it. */
TEST(every_task_is_run_once)
{
    for (int hook = 0; hook < 3; hook++) {
        mcamp_ctx c;
        size_t calls = 0;
        CHECK_STATUS(mcamp_ctx_init(&c, NULL), MCAMP_OK);
        if (hook) { c.parallel.run = backwards; c.parallel.user = &calls; }
        for (size_t n = 0; n < 9; n++) {
            unsigned char done[9] = { 0 };
            mcamp__run(hook == 2 ? NULL : &c, n, count_task, done);
            for (size_t i = 0; i < sizeof done; i++) CHECK(done[i] == (i < n));
        }
        CHECK(calls == (hook == 1 ? 7 : 0));
    }
}

/* Where a dispatch is cheap less work is worth one, and the more rows the more tasks. */
TEST(what_is_worth_a_dispatch)
{
    mcamp_ctx c;
    CHECK_STATUS(mcamp_ctx_init(&c, NULL), MCAMP_OK);
    CHECK(!mcamp__worth(&c, 4e6) && mcamp__worth(&c, 6e6) == &c);
    CHECK(mcamp__square_tasks(&c, 4096) == 4 && mcamp__square_tasks(&c, 499) == 1);
    c.parallel.run = backwards; c.parallel.width = 3;
    CHECK(mcamp__square_tasks(&c, 499) == 1 && mcamp__square_tasks(&c, 512) == 12);
    c.brisk = true;
    CHECK(!mcamp__worth(&c, 1.9e5) && mcamp__worth(&c, 2.1e5) == &c);
    CHECK(mcamp__square_tasks(&c, 99) == 1 && mcamp__square_tasks(&c, 128) == 12);
}

static int answer(void *user, double fraction, double best)
{
    (void)fraction; (void)best;
    return *(int *)user;
}

TEST(any_answer_but_zero_stops)
{
    int say = 0;
    mcamp_ctx c;
    CHECK_STATUS(mcamp_ctx_init(&c, NULL), MCAMP_OK);
    CHECK(!mcamp__progress(&c, 0.5, 1));
    c.progress.fn = answer;
    c.progress.user = &say;
    CHECK(!mcamp__progress(&c, 0.5, 1));
    say = 1; CHECK(mcamp__progress(&c, 0.5, 1));
    say = -1; CHECK(mcamp__progress(&c, 0.5, 1));
}

/* ---- numbers ---------------------------------------------------------------------------- */

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
    CHECK(!mcamp__mul_size(SIZE_MAX / 2 + 1, 2, &r) && r == 15);
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
    s.s = s.c = 0;
    for (int i = 0; i < 3; i++) mcamp__sum_add(&s, i == 1 ? 1e16 : 0.75);
    mcamp__sum_add(&s, -1e16);
    CHECK_NEAR(mcamp__sum_get(&s), 1.5, 0, 0);
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
    CHECK(mcamp__isnan(mcamp__log_add(1.0, mcamp__nan())));
    CHECK_NEAR(mcamp__log1mexp(-1e-20), log(1e-20), 1e-15, 0);
    CHECK_NEAR(mcamp__log1mexp(-50.0), -exp(-50.0), 1e-15, 0);
    CHECK_NEAR(mcamp__log1mexp(0.0), -inf, 0, 0);
    CHECK(mcamp__isnan(mcamp__log1mexp(1e-9)));
    CHECK_NEAR(mcamp__log_sub(log(5.0), log(3.0)), log(2.0), 1e-15, 0);
    CHECK_NEAR(mcamp__log_sub(1.0, -inf), 1.0, 0, 0);
    CHECK_NEAR(mcamp__log_sub(1.0, -1.0), log(exp(1.0) - exp(-1.0)), 1e-15, 0);
    CHECK(mcamp__isnan(mcamp__log_sub(1.0, 1.5)));
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
    CHECK(r.steps < 40);        /* log2(8e9) = 33 */
}

/* ---- objects that are none ----------------------------------------------------------- */

#undef mcamp_ctx_init           /* the header's own, which takes no descriptor */

#define REFUSED(c, call, status, name) do { \
        CHECK_STATUS(call, status); \
        if (mcamp__ctx_ok(c)) CHECK(!strcmp(mcamp_last_error(c).argument, name)); \
    } while (0)

/* What every function of the core says to a context (c), and to objects, that were never
 * made.  none: E_ARG without a context, otherwise the first object is missing.     */
static void ask_for_nothing(mcamp_ctx *c, mcamp_status none, mcamp_status empty)
{
    mcamp_mech m;
    mcamp_gram g;
    mcamp_sampler s;
    mcamp_noise z;
    mcamp_batch b;
    mcamp_clip k;
    mcamp_session r;
    mcamp_key key;
    mcamp_sens sens;
    double x = 7;
    size_t n = 7;
    static mcamp_tally t;
    memset(&m, 0, sizeof m); memset(&g, 0, sizeof g); memset(&s, 0, sizeof s);
    memset(&z, 0, sizeof z); memset(&b, 0, sizeof b); memset(&k, 0, sizeof k);
    memset(&r, 0, sizeof r); memset(&key, 0, sizeof key);
    REFUSED(c, mcamp_gauss_delta(c, 1, 1, 1, NULL), none, "delta");
    REFUSED(c, mcamp_gauss_epsilon(c, 1, 1, 1e-5, NULL), none, "eps");
    REFUSED(c, mcamp_gauss_sigma(c, 1, 1, 1e-5, NULL), none, "sigma");
    REFUSED(c, mcamp_mech_init(c, NULL, &m), none, "desc");
    REFUSED(c, mcamp_mech_column(c, &m, 0, &x), empty, "mech");
    REFUSED(c, mcamp_mech_mul(c, &m, &x, &x), empty, "mech");
    REFUSED(c, mcamp_mech_solve(c, &m, &x, &x), empty, "mech");
    REFUSED(c, mcamp_mech_max_norm(c, &m, &x), empty, "mech");
    REFUSED(c, mcamp_sens_fixed(c, &m, 1, 1, &sens), empty, "mech");
    REFUSED(c, mcamp_sens_minsep(c, NULL, 1, 1, &sens), empty, "mech");
    REFUSED(c, mcamp_gram_init(c, &m, 1, &g), empty, "mech");
    REFUSED(c, mcamp_gram_from_matrix(c, NULL, 1, &g), none, "g");
    REFUSED(c, mcamp_gram_limit(c, &g, 5, 5), none, "gram");
    REFUSED(c, mcamp_sampler_init(c, &g, NULL, &s), none, "gram");
    REFUSED(c, mcamp_sampler_run(c, &s, 1, 0, 1, &t), none, "sampler");
    REFUSED(c, mcamp_sampler_run(c, NULL, 1, 0, 1, &t), none, "sampler");
    REFUSED(c, mcamp_tally_merge(c, NULL, &t), none, "tally");
    REFUSED(c, mcamp_tally_merge(c, &t, NULL), none, "tally");
    REFUSED(c, mcamp_verify_sampled(c, &g, NULL, NULL), none, "gram");
    REFUSED(c, mcamp_key_random(c, NULL, NULL), none, "key");
    REFUSED(c, mcamp_key_init(c, NULL, 32, &key), none, "bytes");
    REFUSED(c, mcamp_key_derive(c, NULL, 1, &key), none, "key");
    REFUSED(c, mcamp_noise_bytes(c, NULL, &n), none, "desc");
    REFUSED(c, mcamp_noise_init(c, NULL, &z), none, "desc");
    REFUSED(c, mcamp_noise_next(c, &z, 0, 1, NULL), empty, "noise");
    REFUSED(c, mcamp_noise_from_grid(c, NULL, NULL, 1, &x), empty, "noise");
    REFUSED(c, mcamp_noise_replay(c, &z, 0, 0, 1, &x), empty, "noise");
    REFUSED(c, mcamp_noise_save(c, &z, NULL, 0, &n), empty, "noise");
    REFUSED(c, mcamp_noise_load(c, NULL, &x, 8), empty, "noise");
    REFUSED(c, mcamp_batch_init(c, NULL, &b), none, "desc");
    REFUSED(c, mcamp_batch_round(c, &b, 0, &n, 1, NULL), empty, "batch");
    REFUSED(c, mcamp_batch_cut_probability(c, NULL, &x), empty, "batch");
    REFUSED(c, mcamp_batch_cut_delta(c, &b, 1, &x), empty, "batch");
    REFUSED(c, mcamp_clip_init(c, NULL, &k), none, "desc");
    REFUSED(c, mcamp_clip_begin(c, &k), empty, "clip");
    REFUSED(c, mcamp_clip_add(c, NULL, NULL, 1, &x), none, "pieces");
    REFUSED(c, mcamp_clip_add_grid(c, NULL, NULL, 1, NULL), none, "pieces");
    REFUSED(c, mcamp_guarantee_unamplified(c, NULL, MCAMP_BATCH_BINS, 1, 1, 1e-5, NULL), none,
            "mech");
    REFUSED(c, mcamp_guarantee_unamplified(c, &m, MCAMP_BATCH_BINS, 1, 1, 1e-5, NULL), empty,
            "mech");
    REFUSED(c, mcamp_session_init(c, NULL, &r), none, "desc");
    REFUSED(c, mcamp_session_begin(c, &r, 0, &n, 1, NULL), empty, "session");
    REFUSED(c, mcamp_session_add(c, NULL, 0, NULL, 1), empty, "session");
    REFUSED(c, mcamp_session_add(c, &r, MCAMP_NOBODY, NULL, 1), empty, "session");
    REFUSED(c, mcamp_session_skip(c, &r, 0), empty, "session");
    REFUSED(c, mcamp_session_end(c, &r, &x), empty, "session");
    REFUSED(c, mcamp_session_end_float(c, NULL, NULL), empty, "session");
    REFUSED(c, mcamp_session_end_bf16(c, &r, NULL), empty, "session");
    REFUSED(c, mcamp_session_share(c, &r, NULL, 0, &n), empty, "session");
    REFUSED(c, mcamp_session_merge(c, &r, NULL, NULL, 0), empty, "session");
    REFUSED(c, mcamp_session_save(c, NULL, NULL, 0, &n), empty, "session");
    REFUSED(c, mcamp_session_load(c, &r, NULL, 0), empty, "session");
    CHECK(x >= 7 && x <= 7 && n == 7 && !m.magic && !g.magic && !s.impl && !z.magic && !b.magic);
    CHECK(!k.magic && !r.magic && !mcamp_key_id(&key));
    mcamp_mech_free(c, &m); mcamp_mech_free(c, NULL);
    mcamp_gram_free(c, &g); mcamp_gram_free(c, NULL);
    mcamp_sampler_free(c, &s); mcamp_sampler_free(c, NULL);
    mcamp_noise_free(c, &z); mcamp_noise_free(c, NULL);
    mcamp_batch_free(c, &b); mcamp_batch_free(c, NULL);
}

/* Without a context, with one of zeros, with one that failed; and with a good one. */
TEST(nothing_is_made_of_nothing)
{
    mcamp_ctx c;
    mcamp_ctx_desc d;
    memset(&c, 0, sizeof c);
    ask_for_nothing(NULL, MCAMP_E_ARG, MCAMP_E_ARG);
    ask_for_nothing(&c, MCAMP_E_ARG, MCAMP_E_ARG);
    memset(&d, 0, sizeof d);
    d.end_canary = 1;
    CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_E_CANARY);
    ask_for_nothing(&c, MCAMP_E_ARG, MCAMP_E_ARG);
    CHECK_STATUS(mcamp_ctx_init(&c, NULL), MCAMP_OK);
    ask_for_nothing(&c, MCAMP_E_REQUIRED, MCAMP_E_ARG);
}

/* What has no status answers with what claims nothing. */
TEST(answers_about_nothing_claim_nothing)
{
    static mcamp_tally t;
    mcamp_noise z;
    mcamp_batch b;
    mcamp_session s;
    memset(&z, 0, sizeof z); memset(&b, 0, sizeof b); memset(&s, 0, sizeof s);
    CHECK(mcamp__isnan(mcamp_tally_mean(NULL)) && mcamp__isnan(mcamp_tally_mean(&t)));
    CHECK(mcamp__isnan(mcamp_tally_std_error(NULL)) && mcamp__isnan(mcamp_tally_std_error(&t)));
    CHECK(mcamp_tally_upper(NULL, 0.1) >= 1 && mcamp_tally_upper(&t, 0.1) >= 1);
    CHECK(mcamp_tally_lower(NULL, 0.1) <= 0 && mcamp_tally_lower(&t, 0.1) <= 0);
    CHECK(mcamp_noise_delta(NULL, 1) > DBL_MAX && mcamp_noise_delta(&z, 1) > DBL_MAX);
    CHECK(!mcamp_noise_step(NULL) && !mcamp_noise_step(&z));
    CHECK(!mcamp_batch_largest(NULL) && !mcamp_batch_largest(&b));
    CHECK(mcamp_session_delta(NULL) >= 1 && mcamp_session_delta(&s) >= 1);
    CHECK(!mcamp_session_guarantee(NULL) && !mcamp_session_guarantee(&s));
    CHECK(!mcamp_key_id(NULL) && !mcamp_last_error(NULL).argument);
    mcamp_key_insecure_test(1, NULL);
    mcamp_key_wipe(NULL);
}

TEST_MAIN("base",
    T(every_status_has_its_own_text),
    T(context_refuses_bad_descriptors),
    T(a_failed_context_is_defined),
    T(other_roundings_are_told),
    T(flushed_denormals_are_told),
    T(ranges_are_open_where_they_say_so),
    T(memory_is_zero_and_given_back_whole),
    T(spare_memory_is_used_where_it_fits),
    T(every_task_is_run_once),
    T(what_is_worth_a_dispatch),
    T(any_answer_but_zero_stops),
    T(finiteness_is_read_off_the_bits),
    T(sizes_are_checked),
    T(compensated_sum_keeps_what_a_plain_sum_loses),
    T(log_space_helpers_at_their_edges),
    T(root_finder_converges_from_any_bracket),
    T(nothing_is_made_of_nothing),
    T(answers_about_nothing_claim_nothing))
