/* Section train, on a small stack: with the smallest tile. */
#define _POSIX_C_SOURCE 200809L
#ifndef MCAMP_TILE
#  define MCAMP_TILE 16
#endif
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"
#include "stack_scan.h"

enum { M = 103, B = 9, E = 3, D = 77, BANDS = 4 };

static mcamp_ctx ctx;
static mcamp_mech mech;
static mcamp_guarantee promise;

/* sigma as given: the same digits with every set of kernels. */
static void start(void)
{
    mcamp_mech_desc d;
    if (promise.accepted) return;
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_SQRT; d.n = B * E; d.bands = BANDS;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &mech), MCAMP_OK);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, B, 6, 1e-5, &promise),
                 MCAMP_OK);
}

static mcamp_train_desc desc_of_data(void)
{
    mcamp_train_desc d;
    memset(&d, 0, sizeof d);
    d.examples = M; d.dim = D; d.clip_norm = 0.75;
    mcamp_key_insecure_test(5, &d.key);
    return d;
}

static mcamp_train_desc desc_of_promise(void)
{
    mcamp_train_desc d = desc_of_data();
    d.guarantee = &promise; d.mech = &mech;
    return d;
}

static mcamp_train_desc desc_of_question(void)
{
    mcamp_train_desc d = desc_of_data();
    d.eps = 3; d.delta = 1e-4; d.batches = B; d.epochs = E;
    d.strategy.kind = MCAMP_MECH_SQRT; d.strategy.bands = BANDS;
    return d;
}

static void gradient(size_t e, uint64_t t, double *g)
{
    for (size_t i = 0; i < D; i++) g[i] = sin((double)(e * 7 + i * 3 + t)) / 3;
}

/* One round of whatever session: members from `who`, the release to out. */
static void add_all(mcamp_session *s, const size_t *who, size_t count, double *out)
{
    double g[D];
    mcamp_tensor whole = { NULL, g, D };
    for (size_t i = 0; i < count; i++) {
        gradient(who[i], s->round, g);
        CHECK_STATUS(mcamp_session_add(&ctx, s, who[i], &whole, 1), MCAMP_OK);
    }
    CHECK_STATUS(mcamp_session_end(&ctx, s, out), MCAMP_OK);
}

static size_t train_round(mcamp_train *t, double *out)
{
    const size_t *who = NULL;
    size_t count = 0;
    CHECK_STATUS(mcamp_train_begin(&ctx, t, &who, &count), MCAMP_OK);
    add_all(&t->session, who, count, out);
    return count;
}

/* The same run with every part set up by hand. */
typedef struct hand {
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    int64_t sum[D];
} hand;

static void hand_open(hand *h, const mcamp_mech *c, const mcamp_guarantee *g, double mean)
{
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc k;
    mcamp_session_desc s;
    memset(h, 0, sizeof *h);
    memset(&b, 0, sizeof b);
    memset(&z, 0, sizeof z);
    memset(&k, 0, sizeof k);
    memset(&s, 0, sizeof s);
    mcamp_key_insecure_test(5, &b.key);
    z.key = b.key;
    b.law = g->law; b.examples = M; b.rounds = g->rounds; b.batches = g->batches; b.q = g->q;
    z.mech = c; z.sigma = g->sigma; z.clip_norm = k.norm = 0.75; z.dim = k.dim = D;
    z.unit = MCAMP_NOISE_MEAN; z.batch = mean;
    k.max_examples = M;
    s.guarantee = g; s.batch = &h->batch; s.noise = &h->noise; s.clip = &h->clip;
    s.grid_sum = h->sum; s.run = 1;
    CHECK_STATUS(mcamp_batch_init(&ctx, &b, &h->batch), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_init(&ctx, &z, &h->noise), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_init(&ctx, &k, &h->clip), MCAMP_OK);
    CHECK_STATUS(mcamp_session_init(&ctx, &s, &h->session), MCAMP_OK);
}

static void hand_round(hand *h, double *out)
{
    size_t who[M];
    mcamp_batch_size size = { 0, 0 };
    CHECK_STATUS(mcamp_session_begin(&ctx, &h->session, h->session.round, who, M, &size),
                 MCAMP_OK);
    add_all(&h->session, who, size.kept, out);
}

static void hand_close(hand *h)
{
    mcamp_noise_free(&ctx, &h->noise);
    mcamp_batch_free(&ctx, &h->batch);
}

/* All rounds of both, bit by bit; frees the train. */
static void same_as_by_hand(mcamp_train *t, const mcamp_mech *c, double mean)
{
    static hand h;
    double a[D], b[D];
    size_t members = 0;
    const size_t *who = NULL;
    size_t count = 3;
    hand_open(&h, c, &t->guarantee, mean);
    for (uint64_t r = 0; r < t->guarantee.rounds; r++) {
        CHECK(t->session.round == r);
        members += train_round(t, a);
        hand_round(&h, b);
        CHECK(!memcmp(a, b, sizeof a));
    }
    CHECK(t->guarantee.law == MCAMP_BATCH_POISSON || members == (size_t)(M * E));
    CHECK_STATUS(mcamp_train_begin(&ctx, t, &who, &count), MCAMP_E_STEP);
    CHECK(count == 3 && !who);
    hand_close(&h);
    mcamp_train_free(&ctx, t);
    mcamp_train_free(&ctx, t);
}

TEST(a_promise_runs_as_by_hand)
{
    mcamp_train_desc d;
    mcamp_train t;
    start();
    d = desc_of_promise();
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
    same_as_by_hand(&t, &mech, (double)M / B);
}

TEST(a_question_is_proved_and_runs)
{
    mcamp_train_desc d;
    mcamp_train t;
    mcamp_problem p;
    mcamp_guarantee want;
    start();
    d = desc_of_question();
    memset(&p, 0, sizeof p);
    p.strategy = d.strategy;
    p.batches = B; p.epochs = E; p.eps = d.eps; p.delta = d.delta;
    CHECK_STATUS(mcamp_problem_certify(&ctx, &p, &want), MCAMP_OK);
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
    CHECK(!memcmp(&t.guarantee.sigma, &want.sigma, sizeof want.sigma));
    CHECK(t.guarantee.kind == MCAMP_KIND_VERIFIED && t.guarantee.beta <= d.delta);
    CHECK(t.session.guarantee.run == 1 && t.session.guarantee.law == MCAMP_BATCH_BINS);
    CHECK(mcamp_session_delta(&t.session) >= d.delta);
    same_as_by_hand(&t, &mech, (double)M / B);
}

TEST(batch_sizes_are_rounded_to_batches)
{
    static const size_t size[] = { 11, 12, 10, 103, 300, 69, 68 };
    static const size_t batches[] = { 9, 9, 10, 1, 1, 1, 2 };
    mcamp_train_desc d;
    mcamp_train t;
    start();
    d = desc_of_question();
    d.batches = 0;
    d.law = MCAMP_BATCH_SHUFFLE;        /* no samples */
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        d.batch_size = size[i];
        CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
        CHECK(t.guarantee.batches == batches[i] && t.guarantee.rounds == batches[i] * E);
        CHECK_NEAR(t.noise.batch, (double)M / (double)batches[i], 0, 0);
        mcamp_train_free(&ctx, &t);
    }
    d.batches = 9;
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_E_SIZE);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "batch_size"));
}

/* The least sigma that keeps (eps, delta), by the guarantee itself. */
TEST(laws_without_samples_are_calibrated_too)
{
    mcamp_train_desc d;
    mcamp_train t;
    mcamp_guarantee less;
    start();
    d = desc_of_question();
    d.law = MCAMP_BATCH_SHUFFLE;
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
    CHECK(t.guarantee.law == MCAMP_BATCH_SHUFFLE && t.guarantee.kind == MCAMP_KIND_CLOSED);
    CHECK_LE(t.guarantee.eps, d.eps);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, d.law, B, t.guarantee.sigma * (1 - 1e-7),
                                             d.delta, &less), MCAMP_OK);
    CHECK_LE(d.eps, less.eps);
    same_as_by_hand(&t, &mech, (double)M / B);
    d.law = MCAMP_BATCH_POISSON;
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
    CHECK(t.guarantee.law == MCAMP_BATCH_POISSON && t.guarantee.batches == BANDS);
    CHECK_NEAR(t.guarantee.q, (double)BANDS / B, 0, 0);
    CHECK_LE(t.guarantee.eps, d.eps);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, BANDS, t.guarantee.q,
                                         t.guarantee.sigma * 0.98, d.delta, &less), MCAMP_OK);
    CHECK_LE(d.eps, less.eps);
    same_as_by_hand(&t, &mech, (double)M / B);      /* b/cycle groups less, q more */
    d.strategy.kind = MCAMP_MECH_IDENTITY;          /* here the guess is too small */
    d.strategy.bands = 0;
    d.batches = 64; d.epochs = 1; d.eps = 0.9;
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
    CHECK_LE(t.guarantee.eps, d.eps);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &t.own, 1, t.guarantee.q, t.guarantee.sigma * 0.98,
                                         d.delta, &less), MCAMP_OK);
    CHECK_LE(d.eps, less.eps);
    mcamp_train_free(&ctx, &t);
}

static char text[1 << 14];
static size_t length;

static int keep(void *user, const char *s, size_t n)
{
    (void)user;
    if (n > sizeof text - length) return 1;
    memcpy(text + length, s, n);
    length += n;
    return 0;
}

TEST(a_record_is_the_whole_promise)
{
    mcamp_writer w = { keep, NULL };
    mcamp_train_desc d;
    mcamp_train t;
    start();
    d = desc_of_data();
    length = 0;
    CHECK_STATUS(mcamp_record_write(&promise, &mech, &w), MCAMP_OK);
    d.record = text; d.record_size = length;
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
    same_as_by_hand(&t, &mech, (double)M / B);
    text[length / 2] ^= 1;
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_E_BLOB);
    CHECK(!t.own.magic && !t.sum);
}

TEST(a_run_goes_on_where_it_was_saved)
{
    static unsigned char blob[1 << 16];
    mcamp_train_desc d;
    mcamp_train t, u;
    double a[D], b[D];
    size_t size = 0;
    start();
    d = desc_of_promise();
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
    for (int r = 0; r < 5; r++) train_round(&t, a);
    CHECK_STATUS(mcamp_session_save(&ctx, &t.session, blob, sizeof blob, &size), MCAMP_OK);
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &u), MCAMP_OK);
    CHECK_STATUS(mcamp_session_load(&ctx, &u.session, blob, size), MCAMP_OK);
    CHECK(u.session.round == 5);
    for (int r = 0; r < 4; r++) {
        train_round(&t, a);
        train_round(&u, b);
        CHECK(!memcmp(a, b, sizeof a));
    }
    mcamp_train_free(&ctx, &u);
    d.run = 2;                                  /* nothing in common */
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &u), MCAMP_OK);
    CHECK_STATUS(mcamp_session_load(&ctx, &u.session, blob, size), MCAMP_E_MISMATCH);
    mcamp_train_free(&ctx, &u);
    mcamp_train_free(&ctx, &t);
}

static void refused(const mcamp_train_desc *d, mcamp_status want, const char *name)
{
    mcamp_train t;
    CHECK_STATUS(mcamp_train_init(&ctx, d, &t), want);
    if (strcmp(mcamp_last_error(&ctx).argument, name))
        mt_fail(__FILE__, __LINE__, mcamp_last_error(&ctx).argument);
}

static int no_ledger(void *user, const mcamp_ledger_entry *e) { (void)user; (void)e; return 1; }

TEST(what_is_missing_or_contradicts_is_refused_by_name)
{
    mcamp_train_desc d;
    mcamp_train t;
    mcamp_guarantee g;
    double out[D], g0[D] = { 0 };
    const size_t *who;
    size_t count;
    mcamp_tensor whole = { NULL, g0, D };
    start();
#define REFUSED(make, change, status, name) \
    do { d = make(); change; refused(&d, status, name); } while (0)
    REFUSED(desc_of_promise, d.start_canary = 1, MCAMP_E_CANARY, "desc");
    REFUSED(desc_of_promise, d.end_canary = 1, MCAMP_E_CANARY, "desc");
    REFUSED(desc_of_promise, d.examples = 0, MCAMP_E_REQUIRED, "examples");
    REFUSED(desc_of_promise, d.dim = 0, MCAMP_E_SIZE, "dim");
    REFUSED(desc_of_promise, d.clip_norm = 0, MCAMP_E_REQUIRED, "clip_norm");
    REFUSED(desc_of_promise, mcamp_key_wipe(&d.key), MCAMP_E_REQUIRED, "key");
    REFUSED(desc_of_promise, d.mech = NULL, MCAMP_E_ARG, "guarantee");
    REFUSED(desc_of_promise, d.guarantee = NULL, MCAMP_E_ARG, "guarantee");
    REFUSED(desc_of_promise, d.eps = 1, MCAMP_E_ARG, "guarantee");
    REFUSED(desc_of_promise, d.record = text, MCAMP_E_ARG, "record");
    REFUSED(desc_of_question, d.record = text, MCAMP_E_ARG, "record");
    REFUSED(desc_of_question, d.delta = 0, MCAMP_E_ARG, "delta");
    REFUSED(desc_of_question, d.epochs = 0, MCAMP_E_REQUIRED, "rounds");
    REFUSED(desc_of_question, d.strategy.n = 7, MCAMP_E_SIZE, "n");
    REFUSED(desc_of_question, d.law = MCAMP_BATCH_MINSEP, MCAMP_E_ARG, "law");
    REFUSED(desc_of_question, d.clip_norm = mcamp__nan(), MCAMP_E_NONFINITE, "clip_norm");
#undef REFUSED
    g = promise;
    d = desc_of_promise();
    d.guarantee = &g;
    g.accepted = false;
    refused(&d, MCAMP_E_MISMATCH, "accepted");
    g = promise;
    g.sigma *= 0.5;                 /* not what was proved for eps, but consistent: as given */
    g.law = MCAMP_BATCH_FIXED;
    refused(&d, MCAMP_E_ARG, "law");
    CHECK_STATUS(mcamp_train_init(&ctx, NULL, &t), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_train_init(&ctx, &d, NULL), MCAMP_E_REQUIRED);
    d = desc_of_promise();
    d.ledger.record = no_ledger;
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
    CHECK_STATUS(mcamp_train_begin(&ctx, NULL, &who, &count), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_train_begin(&ctx, &t, NULL, &count), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_train_begin(&ctx, &t, &who, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_train_begin(&ctx, &t, &who, &count), MCAMP_OK);
    for (size_t i = 0; i < count; i++)
        CHECK_STATUS(mcamp_session_add(&ctx, &t.session, who[i], &whole, 1), MCAMP_OK);
    CHECK_STATUS(mcamp_session_end(&ctx, &t.session, out), MCAMP_E_LEDGER);
    mcamp_train_free(&ctx, &t);
}

static mcamp_status make_and_free(mcamp_ctx *c, void *user)
{
    mcamp_train t;
    mcamp_status st = mcamp_train_init(c, (const mcamp_train_desc *)user, &t);
    if (st >= 0) mcamp_train_free(c, &t);
    return st;
}

TEST(failed_allocations_leave_nothing_behind)
{
    mcamp_train_desc d;
    start();
    d = desc_of_question();
    d.law = MCAMP_BATCH_SHUFFLE;
    CHECK(mt_all_faults("train", make_and_free, &d) > 5);
}

/* ---- small stacks ---------------------------------------------------------------- */

static mcamp_train small;
static double small_out[D];

static void small_round(void) { train_round(&small, small_out); }

static void small_noise(void)
{
    mcamp_noise_out o = { small_out, NULL, NULL, false };
    CHECK_STATUS(mcamp_noise_next(&ctx, &small.noise, small.noise.step, D, &o), MCAMP_OK);
}

/* What a round takes is what the header says, and z leaves the stack. */
TEST(a_small_tile_takes_a_small_stack_and_leaves_nothing_there)
{
    mcamp_train_desc d;
    mcamp_noise_desc nd;
    double z[D];
    size_t seen = 0;
    start();
    d = desc_of_promise();
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &small), MCAMP_OK);
    small_round();
    CHECK_LE((double)stack_used(small_round), 48.0 * MCAMP_TILE + 12288 + 4096);
    mcamp_train_free(&ctx, &small);
    memset(&nd, 0, sizeof nd);
    mcamp_key_insecure_test(6, &nd.key);
    nd.mech = &mech; nd.sigma = nd.clip_norm = 1; nd.dim = D;
    nd.unit = MCAMP_NOISE_SUM;
    CHECK_STATUS(mcamp_noise_init(&ctx, &nd, &small.noise), MCAMP_OK);
    mcamp__stream_normals(ctx.vec, mcamp__noise_stream(&small.noise), 0, 0, D, z);
    stack_after(small_noise);
    for (size_t i = 0; i + 1 < D; i++) seen += (size_t)stack_holds(z + i, 16);
    CHECK(!seen);
    mcamp_noise_free(&ctx, &small.noise);
}

/* What is released does not depend on the tile: this number is that of tiles of 512
 * (CFLAGS=-DMCAMP_TILE=512).                                                         */
TEST(bits_do_not_depend_on_the_tile)
{
    mcamp_train_desc d;
    mcamp_train t;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    double out[D];
    start();
    d = desc_of_promise();
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &t), MCAMP_OK);
    for (int r = 0; r < 6; r++) {
        train_round(&t, out);
        for (size_t i = 0; i < D; i++)
            h = (h ^ (uint64_t)t.sum[i]) * UINT64_C(0x100000001b3);
    }
    if (getenv("MCAMP_WRITE_GOLDEN")) printf("  %016llx\n", (unsigned long long)h);
    CHECK(h == UINT64_C(0x881962767ae5adac));
    mcamp_train_free(&ctx, &t);
    mcamp_mech_free(&ctx, &mech);       /* the last test: what start() made */
    promise.accepted = false;
}

TEST_MAIN("train",
    T(a_promise_runs_as_by_hand),
    T(a_question_is_proved_and_runs),
    T(batch_sizes_are_rounded_to_batches),
    T(laws_without_samples_are_calibrated_too),
    T(a_record_is_the_whole_promise),
    T(a_run_goes_on_where_it_was_saved),
    T(what_is_missing_or_contradicts_is_refused_by_name),
    T(failed_allocations_leave_nothing_behind),
    T(a_small_tile_takes_a_small_stack_and_leaves_nothing_there),
    T(bits_do_not_depend_on_the_tile))
