/* All sequences of calls of a session, up to a length, against a model of eight numbers.  The
 * whole of the run (session, parts, their memory, C, the saved state) lies in one struct, so
 * that it can be put back after a branch, and so that a branch is cut where the same bytes
 * have been seen with as many calls to come: what follows depends on them alone.  Hence a
 * thousand states stand for all 14^12 sequences.  For test_session.                  */
#ifndef MCAMP_MACHINE_H
#define MCAMP_MACHINE_H

enum { SM_N = 3, SM_M = 4, SM_D = 2, SM_ARENA = 1 << 12, SM_BLOB = 1 << 10, SM_SEEN = 1 << 17 };

/* What a session is: the round, whether it has begun, and who is due (a bit each); whether C
 * is the right one; what was saved and how many saves there are; what the ledger says. */
typedef struct sm_model { uint64_t round; int open, noisy, wrong, saved, refusing; unsigned due; }
    sm_model;

typedef struct sm_world {
    mcamp_ctx ctx;
    mcamp_mech mech;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    double sum[SM_D];
    int64_t grid_sum[SM_D];
    double arena[SM_ARENA / sizeof(double)];
    size_t used, size;
    unsigned char blob[SM_BLOB];
    sm_model model;
} sm_world;

static sm_world sm;
static uint64_t sm_seen[SM_SEEN];
static size_t sm_states, sm_calls, sm_released;
static unsigned sm_members[SM_N];

/* Nothing is given back: all is freed by forgetting the struct. */
static void *sm_alloc(void *user, size_t size)
{
    sm_world *w = (sm_world *)user;
    size_t n = (size + 7) / 8;
    if (n > SM_ARENA / 8 - w->used) return NULL;
    w->used += n;
    return w->arena + w->used - n;
}

static void sm_free(void *user, void *p, size_t size) { (void)user; (void)p; (void)size; }

static int sm_ledger(void *user, const mcamp_ledger_entry *e)
{
    const sm_world *w = (const sm_world *)user;
    CHECK(e->round == w->model.round && w->model.open);
    return w->model.refusing;
}

static void sm_open(mcamp_batch_law law, mcamp_arithmetic how)
{
    static const double coef[2] = { 1, 0.5 };
    mcamp_ctx_desc x;
    mcamp_mech_desc m;
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    mcamp_session_desc d;
    mcamp_guarantee g;
    size_t member[SM_M];
    mcamp_batch_size size;
    memset(&sm, 0, sizeof sm);
    memset(&x, 0, sizeof x); memset(&m, 0, sizeof m); memset(&b, 0, sizeof b);
    memset(&z, 0, sizeof z); memset(&c, 0, sizeof c); memset(&d, 0, sizeof d);
    x.alloc.alloc = sm_alloc; x.alloc.free = sm_free; x.alloc.user = &sm;
    m.kind = MCAMP_MECH_TOEPLITZ;
    m.n = b.rounds = SM_N;
    m.coef = coef;
    m.count = 2;
    b.law = law;
    b.examples = c.max_examples = SM_M;
    b.batches = 2;
    if (law == MCAMP_BATCH_MINSEP) b.q = 0.6;
    mcamp_key_insecure_test(9, &b.key);
    z.key = b.key;
    z.mech = &sm.mech;
    z.sigma = 2;
    z.clip_norm = c.norm = 1;
    z.unit = MCAMP_NOISE_SUM;
    z.dim = c.dim = SM_D;
    CHECK_STATUS(mcamp_ctx_init(&sm.ctx, &x), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_init(&sm.ctx, &m, &sm.mech), MCAMP_OK);
    CHECK_STATUS(mcamp_guarantee_unamplified(&sm.ctx, &sm.mech, law, 2, 2, 1e-5, &g), MCAMP_OK);
    CHECK_STATUS(mcamp_batch_init(&sm.ctx, &b, &sm.batch), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_init(&sm.ctx, &z, &sm.noise), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_init(&sm.ctx, &c, &sm.clip), MCAMP_OK);
    d.guarantee = &g; d.batch = &sm.batch; d.noise = &sm.noise; d.clip = &sm.clip;
    d.run = 1; d.arithmetic = how; d.sum = sm.sum; d.grid_sum = sm.grid_sum;
    d.ledger.record = sm_ledger; d.ledger.user = &sm;
    CHECK_STATUS(mcamp_session_init(&sm.ctx, &d, &sm.session), MCAMP_OK);
    for (uint64_t t = 0; t < SM_N; t++) {
        CHECK_STATUS(mcamp_batch_round(&sm.ctx, &sm.batch, t, member, SM_M, &size), MCAMP_OK);
        sm_members[t] = 0;
        for (size_t i = 0; i < size.kept; i++) sm_members[t] |= 1u << member[i];
    }
    CHECK_STATUS(mcamp_session_save(&sm.ctx, &sm.session, NULL, 0, &sm.size), MCAMP_OK);
    CHECK(sm.size <= SM_BLOB);
    CHECK_STATUS(mcamp_session_save(&sm.ctx, &sm.session, sm.blob, SM_BLOB, &sm.size), MCAMP_OK);
}

/* ---- the calls: what the model says, then what happens ------------------------ */

enum { SM_BEGIN, SM_BEGIN_NEXT, SM_BEGIN_SMALL, SM_ADD, SM_SKIP, SM_STRANGER, SM_OUTSIDE, SM_NAN,
       SM_END, SM_SAVE, SM_LOAD, SM_TORN, SM_C, SM_LEDGER, SM_LETTERS };

/* Refused before anything else is looked at; else open says whether a round must be. */
static mcamp_status sm_ready(const sm_model *m, int open)
{
    if (m->wrong) return MCAMP_E_MISMATCH;
    return open && (!m->open || m->noisy) ? MCAMP_E_STEP : MCAMP_OK;
}

static void sm_begin(sm_model *m, uint64_t round, size_t capacity)
{
    size_t member[SM_M];
    mcamp_batch_size size = { 77, 77 };
    unsigned who = 0;
    mcamp_status want = sm_ready(m, 0);
    if (want == MCAMP_OK && (m->noisy || round != m->round || round >= SM_N)) want = MCAMP_E_STEP;
    else if (want == MCAMP_OK && !capacity && sm_members[round]) {
        want = MCAMP_E_SIZE;
        m->open = 0;
    }
    CHECK_STATUS(mcamp_session_begin(&sm.ctx, &sm.session, round, member, capacity, &size), want);
    CHECK(want == MCAMP_OK || size.kept == 77);
    if (want != MCAMP_OK) return;
    for (size_t i = 0; i < size.kept; i++) who |= 1u << member[i];
    CHECK(who == sm_members[round]);
    m->open = 1;
    m->due = who;
}

/* letter SKIP, ADD, NAN: the first who is due, or 0 if nobody is. */
static void sm_add(sm_model *m, int letter, uint64_t who)
{
    double x[SM_D] = { 0.5, -0.25 };
    mcamp_tensor whole = { NULL, NULL, SM_D };
    mcamp_status want = sm_ready(m, 1), st;
    whole.d = x;
    if (letter == SM_NAN) x[1] = mcamp__nan();
    if (want == MCAMP_OK && (who >= SM_M || !(m->due >> who & 1))) want = MCAMP_E_MISMATCH;
    if (want == MCAMP_OK && letter == SM_NAN) want = MCAMP_E_NONFINITE;
    st = letter == SM_SKIP ? mcamp_session_skip(&sm.ctx, &sm.session, who)
                           : mcamp_session_add(&sm.ctx, &sm.session, who, &whole, 1);
    CHECK_STATUS(st, want);
    if (want == MCAMP_OK) m->due &= ~(1u << who);
}

static void sm_end(sm_model *m)
{
    double out[SM_D] = { 77, 77 };
    mcamp_status want = sm_ready(m, 0);
    if (want == MCAMP_OK && !m->open) want = MCAMP_E_STEP;
    else if (want == MCAMP_OK && m->due) want = MCAMP_E_MISMATCH;
    else if (want == MCAMP_OK && m->refusing) {
        want = MCAMP_E_LEDGER;
        m->noisy = 1;
    }
    CHECK_STATUS(mcamp_session_end(&sm.ctx, &sm.session, out), want);
    for (int i = 0; i < SM_D; i++) CHECK((out[i] >= 77 && out[i] <= 77) == (want != MCAMP_OK));
    if (want != MCAMP_OK) return;
    sm_released++;
    m->open = m->noisy = 0;
    m->round++;
}

static void sm_save(sm_model *m)
{
    size_t size = 0;
    mcamp_status want = sm_ready(m, 0);
    if (want == MCAMP_OK && m->noisy) want = MCAMP_E_STEP;
    CHECK_STATUS(mcamp_session_save(&sm.ctx, &sm.session, sm.blob, SM_BLOB, &size), want);
    if (want == MCAMP_OK) m->saved = (int)m->round;
}

static void sm_load(sm_model *m, int torn)
{
    mcamp_status want = sm_ready(m, 0);
    if (want == MCAMP_OK && torn) want = MCAMP_E_BLOB;
    else if (want == MCAMP_OK && (uint64_t)m->saved < m->round + (uint64_t)m->noisy)
        want = MCAMP_E_STEP;
    sm.blob[sm.size - 1] ^= (unsigned char)torn;
    CHECK_STATUS(mcamp_session_load(&sm.ctx, &sm.session, sm.blob, sm.size), want);
    sm.blob[sm.size - 1] ^= (unsigned char)torn;
    if (want != MCAMP_OK) return;
    m->round = (uint64_t)m->saved;
    m->open = m->noisy = 0;
}

static void sm_call(int letter)
{
    sm_model *m = &sm.model;
    uint64_t who = 0, stranger = 0;
    for (; who < SM_M - 1 && !(m->due >> who & 1); who++) { }
    for (; stranger < SM_M - 1 && m->due >> stranger & 1; stranger++) { }
    sm_calls++;
    switch (letter) {
    case SM_BEGIN:       sm_begin(m, m->round, SM_M); break;
    case SM_BEGIN_NEXT:  sm_begin(m, m->round + 1, SM_M); break;
    case SM_BEGIN_SMALL: sm_begin(m, m->round, 0); break;
    case SM_ADD: case SM_SKIP: case SM_NAN: sm_add(m, letter, who); break;
    case SM_STRANGER:    sm_add(m, SM_ADD, stranger); break;
    case SM_OUTSIDE:     sm_add(m, SM_ADD, SM_M + who); break;
    case SM_END:         sm_end(m); break;
    case SM_SAVE:        sm_save(m); break;
    case SM_LOAD:        sm_load(m, 0); break;
    case SM_TORN:        sm_load(m, 1); break;
    case SM_C:           m->wrong ^= 1; sm.mech.digest ^= 1; break;
    default:             m->refusing ^= 1; break;
    }
    CHECK(mcamp_noise_step(&sm.noise) == m->round + (uint64_t)m->noisy);
}

/* ---- the walk ------------------------------------------------------------------- */

/* Of all bytes but the last error's. */
static uint64_t sm_hash(int depth)
{
    uint64_t h = (uint64_t)depth, w;
    memset(&sm.ctx.err, 0, sizeof sm.ctx.err);
    for (size_t i = 0; i + 8 <= sizeof sm; i += 8) {
        memcpy(&w, (const unsigned char *)&sm + i, sizeof w);
        h = (h ^ w) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return h ? h : 1;
}

/* 1 if these bytes have been here with so many calls to come. */
static int sm_known(int depth)
{
    uint64_t h = sm_hash(depth);
    size_t i = (size_t)(h % SM_SEEN);
    while (sm_seen[i] && sm_seen[i] != h) i = (i + 1) % SM_SEEN;
    if (sm_seen[i]) return 1;
    sm_seen[i] = h;
    sm_states++;
    CHECK(sm_states < SM_SEEN / 2);
    return sm_states >= SM_SEEN / 2;
}

static void sm_walk(int depth)
{
    sm_world here = sm;
    if (!depth || sm_known(depth)) return;
    for (int letter = 0; letter < SM_LETTERS && !mt_failed_checks; letter++) {
        sm_call(letter);
        sm_walk(depth - 1);
        memcpy(&sm, &here, sizeof sm);
    }
}

static void sm_all(mcamp_batch_law law, mcamp_arithmetic how, int depth)
{
    memset(sm_seen, 0, sizeof sm_seen);
    sm_states = sm_calls = sm_released = 0;
    sm_open(law, how);
    if (!mt_failed_checks) sm_walk(depth);
}

/* `calls` at random, from new runs again and again. */
static void sm_random(mcamp_batch_law law, mcamp_arithmetic how, size_t calls, uint64_t seed)
{
    sm_calls = sm_released = 0;
    while (sm_calls < calls && !mt_failed_checks) {
        sm_open(law, how);
        for (int i = 0; i < 60; i++) {
            uint64_t r = mcamp__splitmix(&seed) >> 32;
            sm_call(r & 1 ? (int)(r / 2 % SM_LETTERS)
                          : sm.model.wrong ? SM_C : sm.model.refusing ? SM_LEDGER
                          : !sm.model.open ? SM_BEGIN : sm.model.due ? SM_ADD : SM_END);
        }
    }
}

#endif
