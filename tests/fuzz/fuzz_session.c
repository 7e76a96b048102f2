/* Calls of a session in any order, against what the promise says: a round is released only
 * with each of its members added once, in order, with its own noise; a refused call writes
 * nothing; and a session that is handled as it should be gets through.             */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "fuzz.h"

enum { FUZZ_D = 3, FUZZ_M = 6, FUZZ_N = 5 };

typedef struct run {
    mcamp_ctx ctx;
    mcamp_mech mech;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    double sum[FUZZ_D];
    int64_t grid_sum[FUZZ_D];
    uint64_t round, released;
    int open;                   /* a round was begun and nothing has happened to it */
    int refuse, waiting;        /* the ledger does not write; a round waits for it  */
    int due[FUZZ_M];            /* how often each may still be added               */
} run;

/* Each round once, in order; a round that it was asked for in vain comes with the same sum. */
static int record(void *user, const mcamp_ledger_entry *e)
{
    static mcamp_ledger_entry asked;
    run *r = (run *)user;
    FUZZ_CHECK(e->round == r->released && e->run == r->session.guarantee.run);
    FUZZ_CHECK(!r->waiting || !memcmp(asked.digest, e->digest, sizeof e->digest));
    asked = *e;
    return r->refuse;
}

/* Parts of the law, limit, grid and numbers that the input names; 0: they were refused. */
static int open_run(run *r, fuzz_bytes *in)
{
    static const double coef[3] = { 1, 0.5, -0.25 };
    mcamp_mech_desc md;
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    mcamp_session_desc s;
    mcamp_guarantee g;
    memset(r, 0, sizeof *r);
    memset(&md, 0, sizeof md); memset(&b, 0, sizeof b); memset(&z, 0, sizeof z);
    memset(&c, 0, sizeof c); memset(&s, 0, sizeof s);
    md.kind = MCAMP_MECH_TOEPLITZ;
    md.n = b.rounds = FUZZ_N;
    md.coef = coef;
    md.count = 3;
    b.law = (mcamp_batch_law)(1 + fuzz_bits(in, 1) % 5);
    b.examples = FUZZ_M;
    b.batches = 1 + fuzz_bits(in, 1) % 3;
    b.limit = fuzz_bits(in, 1) % 8;
    if (b.law == MCAMP_BATCH_POISSON || b.law == MCAMP_BATCH_MINSEP) b.q = 0.6;
    if (b.law == MCAMP_BATCH_FIXED) b.size = 1;
    mcamp_key_insecure_test(fuzz_bits(in, 1), &b.key);
    z.mech = &r->mech;
    z.sigma = 2;
    z.clip_norm = c.norm = 1;
    z.unit = MCAMP_NOISE_SUM;
    z.dim = c.dim = FUZZ_D;
    z.key = b.key;
    c.max_examples = 3 + fuzz_bits(in, 1) % 8;
    if (fuzz_bits(in, 1) & 1) z.grid = c.grid = ldexp(1, -(int)(fuzz_bits(in, 1) % 48));
    FUZZ_CHECK(mcamp_ctx_init(&r->ctx, NULL) == MCAMP_OK);
    FUZZ_CHECK(mcamp_mech_init(&r->ctx, &md, &r->mech) == MCAMP_OK);
    FUZZ_CHECK(mcamp_guarantee_unamplified(&r->ctx, &r->mech, b.law, b.batches, 2, 1e-5, &g) ==
               MCAMP_OK);
    s.guarantee = &g; s.batch = &r->batch; s.noise = &r->noise; s.clip = &r->clip;
    s.run = 1 + fuzz_bits(in, 1);
    s.grid_sum = r->grid_sum;
    s.sum = r->sum;
    if (fuzz_bits(in, 1) & 1) s.arithmetic = MCAMP_ARITHMETIC_FLOATING;
    if (fuzz_bits(in, 1) & 1) s.ledger.record = record;
    s.ledger.user = r;
    return mcamp_batch_init(&r->ctx, &b, &r->batch) == MCAMP_OK &&
           mcamp_noise_init(&r->ctx, &z, &r->noise) == MCAMP_OK &&
           mcamp_clip_init(&r->ctx, &c, &r->clip) == MCAMP_OK &&
           mcamp_session_init(&r->ctx, &s, &r->session) == MCAMP_OK;
}

static void begin(run *r, uint64_t t)
{
    size_t index[FUZZ_M];
    mcamp_batch_size size = { 0, 0 };
    mcamp_status st = mcamp_session_begin(&r->ctx, &r->session, t, index, FUZZ_M, &size);
    if (st == MCAMP_E_SIZE) r->open = 0;    /* a fuller batch than the clipping allows */
    if (st < 0) return;
    FUZZ_CHECK(!r->waiting && t == mcamp_noise_step(&r->noise) && t < FUZZ_N);
    FUZZ_CHECK(size.kept <= FUZZ_M);
    memset(r->due, 0, sizeof r->due);
    for (size_t i = 0; i < size.kept; i++) r->due[index[i]]++;
    r->round = t;
    r->open = 1;
}

static void add(run *r, fuzz_bytes *in, size_t e)
{
    double x[FUZZ_D];
    mcamp_tensor t = { NULL, NULL, FUZZ_D };
    t.d = x;
    for (int i = 0; i < FUZZ_D; i++) x[i] = fuzz_double(in);
    if (mcamp_session_add(&r->ctx, &r->session, e, &t, 1) < 0) return;
    FUZZ_CHECK(r->open && r->due[e] > 0);
    r->due[e]--;
}

static void skip(run *r, size_t e)
{
    mcamp_status st = mcamp_session_skip(&r->ctx, &r->session, e);
    FUZZ_CHECK((st == MCAMP_OK) == (r->open && r->due[e] > 0));
    if (st == MCAMP_OK) r->due[e]--;
}

/* A state of the session into itself: an open round has to begin again. */
static void reload(run *r)
{
    unsigned char blob[1 << 12];
    size_t size = 0;
    if (r->waiting) {
        FUZZ_CHECK(mcamp_session_save(&r->ctx, &r->session, blob, sizeof blob, &size) ==
                   MCAMP_E_STEP);
        return;
    }
    FUZZ_CHECK(mcamp_session_save(&r->ctx, &r->session, blob, sizeof blob, &size) == MCAMP_OK);
    blob[r->round % size] ^= 1;
    FUZZ_CHECK(mcamp_session_load(&r->ctx, &r->session, blob, size) < 0);
    blob[r->round % size] ^= 1;
    FUZZ_CHECK(mcamp_session_load(&r->ctx, &r->session, blob, size) == MCAMP_OK);
    r->open = 0;
}

static void end(run *r, int refuse)
{
    double out[FUZZ_D] = { 77, 77, 77 };
    int full = r->open && r->round == mcamp_noise_step(&r->noise) && !r->noise.done;
    mcamp_status st;
    r->refuse = refuse && r->session.ledger.record;
    st = mcamp_session_end(&r->ctx, &r->session, out);
    for (int e = 0; e < FUZZ_M; e++) full &= !r->due[e];
    if (full) r->open = 0;
    full |= r->waiting;
    r->waiting = full && r->refuse;
    FUZZ_CHECK((st == MCAMP_E_LEDGER) == r->waiting);
    full &= !r->refuse;
    FUZZ_CHECK((st == MCAMP_OK) == full);
    for (int i = 0; i < FUZZ_D; i++) {
        int same = out[i] >= 77 && out[i] <= 77;
        FUZZ_CHECK(full ? fabs(out[i]) < 1e6 : same);
    }
    r->released += (uint64_t)full;
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_bytes in;
    static run r;
    in.p = data;
    in.left = size;
    if (open_run(&r, &in)) {
        while (in.left) {
            uint64_t what = fuzz_bits(&in, 1);
            double none[FUZZ_D];
            mcamp_noise_out o = { none, NULL, NULL, false };
            if (what < 40) begin(&r, what % (FUZZ_N + 1));
            else if (what < 90) begin(&r, mcamp_noise_step(&r.noise));
            else if (what < 130) end(&r, what < 100);
            else if (what < 134)        /* a session's noise is nobody else's */
                FUZZ_CHECK(mcamp_noise_next(&r.ctx, &r.noise, mcamp_noise_step(&r.noise), 1, &o)
                           == MCAMP_E_MISMATCH);
            else if (what < 140) reload(&r);
            else if (what < 160) skip(&r, what % FUZZ_M);
            else add(&r, &in, what % FUZZ_M);
        }
        FUZZ_CHECK(r.released <= FUZZ_N);
    }
    mcamp_noise_free(&r.ctx, &r.noise);
    mcamp_batch_free(&r.ctx, &r.batch);
    mcamp_mech_free(&r.ctx, &r.mech);
}
