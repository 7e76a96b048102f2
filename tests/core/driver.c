/* Part I of the header, compiled alone: claims are decided by samples, and what was
 * accepted becomes a guarantee and a run.  (tests/check/core.sh makes mcamp_core.h.) */
#define MCAMP_IMPLEMENTATION
#include "mcamp_core.h"

enum { ROUNDS = 19, BATCHES = 8, EXAMPLES = 40, DIM = 6 };

static int failed;

static void check(int ok, int line, const char *what)
{
    if (!ok) printf("tests/core/driver.c:%d: %s\n", line, what);
    failed |= !ok;
}
#define CHECK(x) check(x, __LINE__, #x)

static const double coef[3] = { 1, 0.5, 0.375 };

static mcamp_mech strategy(mcamp_ctx *ctx)
{
    mcamp_mech m;
    mcamp_mech_desc d;
    memset(&m, 0, sizeof m);
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_TOEPLITZ;
    d.n = ROUNDS;
    d.coef = coef;
    d.count = 3;
    CHECK(mcamp_mech_init(ctx, &d, &m) == MCAMP_OK);
    return m;
}

/* Decides "C with this sigma is (1, 1e-2)-DP". */
static mcamp_status decide(mcamp_ctx *ctx, const mcamp_mech *m, double sigma,
                           mcamp_guarantee *out)
{
    mcamp_gram g;
    mcamp_claim c;
    mcamp_status st;
    memset(&c, 0, sizeof c);
    c.sigma = sigma;
    c.eps = 1;
    c.delta = c.beta = 1e-2;
    c.max_samples = UINT64_C(1) << 20;
    CHECK(mcamp_gram_init(ctx, m, BATCHES, &g) == MCAMP_OK);
    st = mcamp_verify_sampled(ctx, &g, &c, out);
    mcamp_gram_free(ctx, &g);
    return st;
}

typedef struct parts {
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    int64_t sum[DIM];
} parts;

static void assemble(mcamp_ctx *ctx, const mcamp_mech *m, double sigma, parts *p)
{
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    memset(&b, 0, sizeof b);
    memset(&z, 0, sizeof z);
    memset(&c, 0, sizeof c);
    mcamp_key_insecure_test(7, &z.key);
    b.key = z.key;
    b.law = MCAMP_BATCH_BINS;
    b.examples = EXAMPLES;
    b.rounds = ROUNDS;
    b.batches = BATCHES;
    z.mech = m;
    z.sigma = sigma;
    z.clip_norm = c.norm = 0.5;
    z.unit = MCAMP_NOISE_SUM;
    z.dim = c.dim = DIM;
    c.max_examples = EXAMPLES;
    CHECK(mcamp_batch_init(ctx, &b, &p->batch) == MCAMP_OK);
    CHECK(mcamp_noise_init(ctx, &z, &p->noise) == MCAMP_OK);
    CHECK(mcamp_clip_init(ctx, &c, &p->clip) == MCAMP_OK);
}

/* Every example's gradient is (i, -i, 0, ..), which is cut to norm 1/2; its bin is that of
 * all its rounds.                                                                  */
static void one_round(mcamp_ctx *ctx, mcamp_session *s, parts *p, uint64_t round)
{
    double grad[DIM] = { 0 }, noise[DIM], out[DIM], want[DIM] = { 0 };
    size_t index[EXAMPLES];
    mcamp_batch_size size;
    mcamp_tensor piece = { NULL, grad, DIM };
    CHECK(mcamp_session_begin(ctx, s, round, index, EXAMPLES, &size) == MCAMP_OK);
    CHECK(size.drawn == size.kept);
    for (size_t i = 0; i < size.kept; i++) {
        static uint64_t bin[EXAMPLES];      /* + 1 */
        if (!bin[index[i]]) bin[index[i]] = 1 + round % BATCHES;
        CHECK(bin[index[i]] == 1 + round % BATCHES);
        grad[0] = 1 + (double)index[i];
        grad[1] = -grad[0];
        CHECK(mcamp_session_add(ctx, s, index[i], &piece, 1) == MCAMP_OK);
        want[0] += sqrt(0.125);
        want[1] -= sqrt(0.125);
    }
    CHECK(mcamp_session_end(ctx, s, out) == MCAMP_OK);
    CHECK(mcamp_noise_replay(ctx, &p->noise, round, 0, DIM, noise) == MCAMP_OK);
    for (int k = 0; k < DIM; k++) CHECK(fabs(out[k] - want[k] - noise[k]) < 1e-4);
}

int main(void)
{
    mcamp_ctx ctx;
    mcamp_guarantee proof, refused;
    mcamp_session s;
    mcamp_session_desc d;
    static parts p;
    mcamp_mech m;
    CHECK(mcamp_ctx_init(&ctx, NULL) == MCAMP_OK);
    m = strategy(&ctx);
    memset(&d, 0, sizeof d);
    CHECK(decide(&ctx, &m, 0.9, &refused) > 0 && !refused.accepted);
    CHECK(decide(&ctx, &m, 2.25, &proof) == MCAMP_OK && proof.accepted);
    CHECK(proof.samples > 0);
    assemble(&ctx, &m, proof.sigma, &p);
    d.batch = &p.batch;
    d.noise = &p.noise;
    d.clip = &p.clip;
    d.grid_sum = p.sum;
    d.run = 1;
    d.guarantee = &refused;
    CHECK(mcamp_session_init(&ctx, &d, &s) == MCAMP_E_MISMATCH);
    d.guarantee = &proof;
    CHECK(mcamp_session_init(&ctx, &d, &s) == MCAMP_OK);
    for (uint64_t t = 0; t < ROUNDS; t++) one_round(&ctx, &s, &p, t);
    CHECK(mcamp_session_delta(&s) > 1e-2 && mcamp_session_delta(&s) < 1.0001e-2);
    mcamp_noise_free(&ctx, &p.noise);
    mcamp_batch_free(&ctx, &p.batch);
    mcamp_mech_free(&ctx, &m);
    return failed;
}
