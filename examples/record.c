/* A run's record: one program proves a sigma and writes it down, another starts the run
 * from the file, with nothing else to keep in step. */
#include <stdio.h>
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"

enum { DIM = 10, EXAMPLES = 500 };

static int print(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, (FILE *)user) != n;
}

static mcamp_status prove(mcamp_ctx *ctx, const char *path)
{
    mcamp_mech_desc d = { 0 };
    mcamp_mech c;
    mcamp_gram gram;
    mcamp_claim claim = { 0 };
    mcamp_guarantee g;
    FILE *f = fopen(path, "wb");
    mcamp_writer out = { print, f };
    mcamp_status st = f ? MCAMP_OK : MCAMP_E_REQUIRED;
    d.kind = MCAMP_MECH_SQRT;
    d.n = 40;
    d.bands = 4;
    claim.eps = 2;
    claim.delta = claim.beta = 1e-3;
    if (st < 0 || (st = mcamp_mech_init(ctx, &d, &c)) < 0) return st;
    st = mcamp_gram_init(ctx, &c, 10, &gram);
    if (st >= 0) st = mcamp_calibrate_certified(ctx, &gram, &claim, &g);
    if (st >= 0) st = mcamp_record_write(&g, &c, &out);
    mcamp_gram_free(ctx, &gram);
    mcamp_mech_free(ctx, &c);
    return fclose(f) ? MCAMP_Q_INTERRUPTED : st;
}

/* C and the guarantee from the file; free c. */
static mcamp_status load(mcamp_ctx *ctx, const char *path, mcamp_mech *c, mcamp_guarantee *g)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    return mcamp_record_read(ctx, text, n, c, g);
}

/* Everything that the run needs comes from the guarantee. */
static mcamp_status run(mcamp_ctx *ctx, const mcamp_mech *c, const mcamp_guarantee *g)
{
    static int64_t sum[DIM];
    mcamp_batch_desc b = { 0 };
    mcamp_noise_desc z = { 0 };
    mcamp_clip_desc k = { 0 };
    mcamp_session_desc s = { 0 };
    mcamp_batch batch = { 0 };
    mcamp_noise noise = { 0 };
    mcamp_clip clip = { 0 };
    mcamp_session session;
    mcamp_writer out = { print, stdout };
    mcamp_status st = mcamp_key_random(ctx, NULL, &b.key);
    b.law = g->law; b.rounds = g->rounds; b.batches = g->batches; b.q = g->q;
    b.examples = EXAMPLES;
    z.mech = c; z.sigma = g->sigma; z.clip_norm = k.norm = 1; z.unit = MCAMP_NOISE_SUM;
    z.dim = k.dim = DIM; z.key = b.key;
    k.max_examples = EXAMPLES;
    if (st >= 0) st = mcamp_batch_init(ctx, &b, &batch);
    if (st >= 0) st = mcamp_noise_init(ctx, &z, &noise);
    if (st >= 0) st = mcamp_clip_init(ctx, &k, &clip);
    s.guarantee = g; s.batch = &batch; s.noise = &noise; s.clip = &clip; s.grid_sum = sum;
    s.run = 1;
    if (st >= 0) st = mcamp_session_init(ctx, &s, &session);
    if (st >= 0) st = mcamp_report_session(&session, MCAMP_REPORT_LEGAL, &out);
    mcamp_key_wipe(&b.key);
    mcamp_key_wipe(&z.key);
    mcamp_noise_free(ctx, &noise);
    mcamp_batch_free(ctx, &batch);
    return st;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "run.record.txt";
    mcamp_ctx ctx;
    mcamp_mech c = { 0 };
    mcamp_guarantee g;
    mcamp_status st = mcamp_ctx_init(&ctx, NULL);
    if (st >= 0) st = prove(&ctx, path);
    if (st >= 0) st = load(&ctx, path, &c, &g);
    if (st >= 0) st = run(&ctx, &c, &g);
    if (st < 0) fprintf(stderr, "%s (%s)\n", mcamp_strerror(st), mcamp_last_error(&ctx).argument);
    mcamp_mech_free(&ctx, &c);
    return st < 0;
}
