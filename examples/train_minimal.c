/* Private training in one page: softmax regression on the digits, (4, 1e-5)-private, each
 * example in one of 15 random batches an epoch, noise correlated over rounds.
 *     train_minimal DIR [ROUNDS]    goes on from DIR, or begins; stops after so many rounds
 * DIR/key is the secret, DIR/state the model and the run.  (A run that may be killed in the
 * midst of a round, or rolled back, needs a ledger too: train_resume.c.)                  */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "train_data.h"

enum { TRAIN = 1500, PIXELS = 64, CLASSES = 10, DIM = CLASSES * (PIXELS + 1) };
static struct { double w[DIM]; size_t size; unsigned char run[1 << 16]; } state;

static int file(const char *dir, const char *name, const char *mode, void *data, size_t n)
{
    char path[600];
    FILE *f = snprintf(path, sizeof path, "%.500s/%s", dir, name) > 0 ? fopen(path, mode) : NULL;
    size_t done = !f ? 0 : *mode == 'r' ? fread(data, 1, n, f) : fwrite(data, 1, n, f);
    return f && !fclose(f) && done == n;
}

/* Of -log p[label]; returns the class that was most likely. */
static int gradient(const float *x, int label, double *g)
{
    double p[CLASSES], sum = 0;
    int best = 0;
    for (int c = 0; c < CLASSES; c++) {
        const double *w = state.w + c * (PIXELS + 1);
        double s = w[PIXELS];
        for (int i = 0; i < PIXELS; i++) s += w[i] * (double)x[i];
        sum += p[c] = exp(s);
        best = p[c] > p[best] ? c : best;
    }
    for (int k = 0; k < DIM; k++) {
        int c = k / (PIXELS + 1), i = k % (PIXELS + 1);
        g[k] = (p[c] / sum - (c == label)) * (i < PIXELS ? (double)x[i] : 1);
    }
    return best;
}

int main(int argc, char **argv)
{
    static mcamp_train run;
    static double g[DIM];
    int left = argc > 2 ? atoi(argv[2]) : -1, right = 0;
    mcamp_tensor whole = { NULL, g, DIM };
    mcamp_session *s = &run.session;
    mcamp_train_desc d = { 0 };
    const size_t *who;
    size_t count;
    mcamp_ctx ctx;
    images all;
    mcamp_status st = mcamp_ctx_init(&ctx, NULL);
    if (argc < 2 || st < 0 || !images_digits(&all)) return 2;
    if (!file(argv[1], "key", "rb", &d.key, sizeof d.key) &&
        (mcamp_key_random(&ctx, NULL, &d.key) || !file(argv[1], "key", "wb", &d.key, 32))) return 2;
    d.examples = TRAIN; d.batch_size = 100; d.epochs = 8; d.clip_norm = 1; d.dim = DIM;
    d.strategy.kind = MCAMP_MECH_SQRT; d.strategy.bands = 8; d.eps = 4; d.delta = 1e-5;
    st = mcamp_train_init(&ctx, &d, &run);
    mcamp_key_wipe(&d.key);
    if (st >= 0 && file(argv[1], "state", "rb", &state, sizeof state))
        st = mcamp_session_load(&ctx, s, state.run, state.size);
    for (; st >= 0 && left && s->round < run.guarantee.rounds; left--) {
        st = mcamp_train_begin(&ctx, &run, &who, &count);
        for (size_t i = 0; st >= 0 && i < count; i++) {
            gradient(all.x + who[i] * PIXELS, all.label[who[i]], g);
            st = mcamp_session_add(&ctx, s, who[i], &whole, 1);
        }
        if (st >= 0) st = mcamp_session_end(&ctx, s, g);     /* the noisy mean */
        for (int k = 0; st >= 0 && k < DIM; k++) state.w[k] -= 0.5 * g[k];
        if (st >= 0) st = mcamp_session_save(&ctx, s, state.run, sizeof state.run, &state.size);
        if (st >= 0 && !file(argv[1], "state", "wb", &state, sizeof state)) return 2;
    }
    if (st < 0) fprintf(stderr, "%s (%s)\n", mcamp_strerror(st), mcamp_last_error(&ctx).argument);
    for (size_t e = TRAIN; e < all.count; e++)
        right += gradient(all.x + e * PIXELS, 0, g) == all.label[e];
    printf("round %d of %d: %d of 297 right\n", (int)s->round, (int)run.guarantee.rounds, right);
    mcamp_train_free(&ctx, &run);
    return st < 0;
}
