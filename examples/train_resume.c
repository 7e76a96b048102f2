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
    mcamp_train train;
    ledger_file book;
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

/* sigma is as given, so that its digits are the same everywhere. */
static mcamp_status bind(run *r)
{
    mcamp_mech_desc c = { 0 };
    mcamp_train_desc d = { 0 };
    mcamp_status st = find_key(r, &d.key);
    c.kind = MCAMP_MECH_SQRT; c.n = ROUNDS; c.bands = 4;
    if (st >= 0) st = mcamp_mech_init(&r->ctx, &c, &r->c);
    if (st >= 0) st = mcamp_guarantee_unamplified(&r->ctx, &r->c, MCAMP_BATCH_BINS, BATCHES, 6,
                                                  1e-5, &r->promise);
    d.guarantee = &r->promise; d.mech = &r->c;
    d.examples = EXAMPLES; d.dim = DIM; d.clip_norm = 1;
    d.ledger.record = ledger_record; d.ledger.user = &r->book;
    if (st >= 0) st = mcamp_train_init(&r->ctx, &d, &r->train);
    mcamp_key_wipe(&d.key);
    return st;
}

/* The model and the session, together. */
static mcamp_status keep(run *r)
{
    static unsigned char blob[STATE];
    size_t n = 0;
    mcamp_status st = mcamp_session_save(&r->ctx, &r->train.session, blob + sizeof r->model,
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
    return mcamp_session_load(&r->ctx, &r->train.session, blob + sizeof r->model,
                              n - sizeof r->model);
}

/* The gradient of (w x - y)^2 / 2 for example e, whose y is x_1 - x_2 / 2 and a little. */
static void gradient(const double *w, uint64_t e, double *g)
{
    double x[DIM], error = 0.1 * sin((double)e * 5);
    for (int i = 0; i < DIM; i++) x[i] = sin((double)(e * (uint64_t)(2 * i + 3)) + i) / 2;
    for (int i = 0; i < DIM; i++) error += (w[i] - (i == 0) + 0.5 * (i == 1)) * x[i];
    for (int i = 0; i < DIM; i++) g[i] = error * x[i];
}

static mcamp_status one_round(run *r, int die)
{
    const size_t *member = NULL;
    size_t count = 0;
    double g[DIM], step[DIM];
    mcamp_tensor whole = { NULL, g, DIM };
    mcamp_status st = mcamp_train_begin(&r->ctx, &r->train, &member, &count);
    for (size_t i = 0; i < count && st == MCAMP_OK; i++) {
        gradient(r->model, member[i], g);
        st = mcamp_session_add(&r->ctx, &r->train.session, member[i], &whole, 1);
    }
    if (st == MCAMP_OK) st = mcamp_session_end(&r->ctx, &r->train.session, step);
    if (st == MCAMP_OK && die) kill(getpid(), SIGKILL);
    for (int i = 0; i < DIM && st == MCAMP_OK; i++) r->model[i] -= 2 * step[i];
    return st < 0 ? st : keep(r);
}

int main(int argc, char **argv)
{
    static run r;
    uint64_t stop = argc > 2 ? (uint64_t)atoi(argv[2]) : ROUNDS + 1;
    mcamp_status st;
    if (argc < 2 || strlen(argv[1]) > 400) return 2;
    snprintf(r.key, sizeof r.key, "%s/key", argv[1]);
    snprintf(r.ledger, sizeof r.ledger, "%s/ledger", argv[1]);
    snprintf(r.state, sizeof r.state, "%s/state", argv[1]);
    snprintf(r.fresh, sizeof r.fresh, "%s/fresh", argv[1]);
    st = mcamp_ctx_init(&r.ctx, NULL);
    if (st >= 0 && ledger_open(&r.book, r.ledger)) st = MCAMP_E_LEDGER;
    if (st >= 0) st = bind(&r);
    if (st >= 0) st = resume(&r);
    while (st >= 0 && r.train.session.round < ROUNDS)
        st = one_round(&r, r.train.session.round + 1 == stop);
    if (st < 0) fprintf(stderr, "%s (%s)\n", mcamp_strerror(st), mcamp_last_error(&r.ctx).argument);
    for (int i = 0; i < DIM && st >= 0; i++) printf("%.17g\n", r.model[i]);
    ledger_close(&r.book);
    mcamp_train_free(&r.ctx, &r.train);
    mcamp_mech_free(&r.ctx, &r.c);
    return st < 0;
}
