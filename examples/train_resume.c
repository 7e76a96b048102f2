/* Private linear regression that may be killed at any time and started again: what it needs
 * lies in a directory, and no round is ever released with two different sums.
 *
 *     train_resume DIR          goes on from what is in DIR, or begins
 *     train_resume DIR 5        is killed, as by a power cut, when 5 rounds have been released
 *
 *     DIR/key      32 bytes: the secret.  Made once; who reads it can subtract the noise
 *     DIR/ledger   a line for each round before it was released (ledger_file.h)
 *     DIR/state    after each round: the model, then the session, sealed
 *
 * Killed between the ledger and the state, a round is computed once more: with the same data
 * it is the same release, and the ledger lets it pass; with other data it is refused.    */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "ledger_file.h"
#include <signal.h>

enum { EXAMPLES = 400, DIM = 8, ROUNDS = 40, BATCHES = 8, STATE = 1 << 14 };

typedef struct run {
    mcamp_ctx ctx;
    mcamp_mech c;
    mcamp_guarantee promise;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    ledger_file book;
    int64_t sum[DIM];
    double model[DIM];
    char key[512], ledger[512], state[512], fresh[512];
} run;

/* Writes a file that is there whole or not at all, also after a power cut. */
static int put(const char *fresh, const char *path, const void *data, size_t n)
{
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int bad = fd < 0 || write(fd, data, n) != (ssize_t)n || fsync(fd) != 0;
    if (fd >= 0 && close(fd)) bad = 1;
    return bad || rename(fresh, path) != 0 || ledger_sync_directory(path);
}

static size_t get(const char *path, void *data, size_t most)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(data, 1, most, f) : 0;
    if (f) fclose(f);
    return n;
}

/* The key of the directory, made by the first who comes. */
static mcamp_status find_key(run *r, mcamp_key *key)
{
    mcamp_status st = MCAMP_OK;
    if (get(r->key, key, sizeof *key) == sizeof *key) return st;
    st = mcamp_key_random(&r->ctx, NULL, key);
    return st == MCAMP_OK && put(r->fresh, r->key, key, sizeof *key) ? MCAMP_E_ENTROPY : st;
}

static mcamp_status prove(run *r)
{
    mcamp_mech_desc d = { 0 };
    mcamp_status st;
    d.kind = MCAMP_MECH_SQRT;
    d.n = ROUNDS;
    d.bands = 4;
    st = mcamp_mech_init(&r->ctx, &d, &r->c);
    return st < 0 ? st : mcamp_guarantee_unamplified(&r->ctx, &r->c, MCAMP_BATCH_BINS, BATCHES, 6,
                                                     1e-5, &r->promise);
}

static mcamp_status bind(run *r)
{
    mcamp_batch_desc b = { 0 };
    mcamp_noise_desc z = { 0 };
    mcamp_clip_desc k = { 0 };
    mcamp_session_desc s = { 0 };
    mcamp_status st = find_key(r, &b.key);
    b.law = MCAMP_BATCH_BINS; b.examples = EXAMPLES; b.rounds = ROUNDS; b.batches = BATCHES;
    z.mech = &r->c; z.sigma = r->promise.sigma; z.clip_norm = k.norm = 1;
    z.unit = MCAMP_NOISE_MEAN; z.batch = (double)EXAMPLES / BATCHES;
    z.dim = k.dim = DIM; z.key = b.key;
    k.max_examples = EXAMPLES;
    if (st >= 0) st = mcamp_batch_init(&r->ctx, &b, &r->batch);
    if (st >= 0) st = mcamp_noise_init(&r->ctx, &z, &r->noise);
    if (st >= 0) st = mcamp_clip_init(&r->ctx, &k, &r->clip);
    s.guarantee = &r->promise; s.batch = &r->batch; s.noise = &r->noise; s.clip = &r->clip;
    s.run = 1; s.grid_sum = r->sum;
    s.ledger.record = ledger_record; s.ledger.user = &r->book;
    mcamp_key_wipe(&b.key);
    mcamp_key_wipe(&z.key);
    return st < 0 ? st : mcamp_session_init(&r->ctx, &s, &r->session);
}

/* The model and the session, together. */
static mcamp_status keep(run *r)
{
    static unsigned char blob[STATE];
    size_t n = 0;
    mcamp_status st = mcamp_session_save(&r->ctx, &r->session, blob + sizeof r->model,
                                         sizeof blob - sizeof r->model, &n);
    memcpy(blob, r->model, sizeof r->model);
    return st == MCAMP_OK && put(r->fresh, r->state, blob, n + sizeof r->model) ? MCAMP_E_BLOB : st;
}

static mcamp_status resume(run *r)
{
    static unsigned char blob[STATE];
    size_t n = get(r->state, blob, sizeof blob);
    if (n <= sizeof r->model) return MCAMP_OK;
    memcpy(r->model, blob, sizeof r->model);
    return mcamp_session_load(&r->ctx, &r->session, blob + sizeof r->model, n - sizeof r->model);
}

/* The gradient of (w x - y)^2 / 2 for example e, whose y is x_1 - x_2 / 2 and a little. */
static void gradient(const double *w, uint64_t e, double *g)
{
    double x[DIM], error = 0.1 * sin((double)e * 5);
    for (int i = 0; i < DIM; i++) x[i] = sin((double)(e * (uint64_t)(2 * i + 3)) + i) / 2;
    for (int i = 0; i < DIM; i++) error += (w[i] - (i == 0) + 0.5 * (i == 1)) * x[i];
    for (int i = 0; i < DIM; i++) g[i] = error * x[i];
}

static mcamp_status one_round(run *r, uint64_t t, int die)
{
    size_t member[EXAMPLES];
    double g[DIM], step[DIM];
    mcamp_tensor whole = { NULL, g, DIM };
    mcamp_batch_size size = { 0, 0 };
    mcamp_status st = mcamp_session_begin(&r->ctx, &r->session, t, member, EXAMPLES, &size);
    for (size_t i = 0; i < size.kept && st == MCAMP_OK; i++) {
        gradient(r->model, member[i], g);
        st = mcamp_session_add(&r->ctx, &r->session, member[i], &whole, 1);
    }
    if (st == MCAMP_OK) st = mcamp_session_end(&r->ctx, &r->session, step);
    if (st == MCAMP_OK && die) kill(getpid(), SIGKILL);
    for (int i = 0; i < DIM && st == MCAMP_OK; i++) r->model[i] -= 2 * step[i];
    return st < 0 ? st : keep(r);
}

int main(int argc, char **argv)
{
    static run r;
    uint64_t stop = argc > 2 ? (uint64_t)atoi(argv[2]) : ROUNDS + 1, t;
    mcamp_status st;
    if (argc < 2 || strlen(argv[1]) > 400) return 2;
    snprintf(r.key, sizeof r.key, "%s/key", argv[1]);
    snprintf(r.ledger, sizeof r.ledger, "%s/ledger", argv[1]);
    snprintf(r.state, sizeof r.state, "%s/state", argv[1]);
    snprintf(r.fresh, sizeof r.fresh, "%s/fresh", argv[1]);
    st = mcamp_ctx_init(&r.ctx, NULL);
    if (st >= 0 && ledger_open(&r.book, r.ledger)) st = MCAMP_E_LEDGER;
    if (st >= 0) st = prove(&r);
    if (st >= 0) st = bind(&r);
    if (st >= 0) st = resume(&r);
    for (t = mcamp_noise_step(&r.noise); st >= 0 && t < ROUNDS; t++)
        st = one_round(&r, t, t + 1 == stop);
    if (st < 0) fprintf(stderr, "%s (%s)\n", mcamp_strerror(st), mcamp_last_error(&r.ctx).argument);
    for (int i = 0; i < DIM && st >= 0; i++) printf("%.17g\n", r.model[i]);
    ledger_close(&r.book);
    mcamp_noise_free(&r.ctx, &r.noise);
    mcamp_batch_free(&r.ctx, &r.batch);
    mcamp_mech_free(&r.ctx, &r.c);
    return st < 0;
}
