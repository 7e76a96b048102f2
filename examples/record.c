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

/* Everything that the run needs comes from the record. */
static mcamp_status run(mcamp_ctx *ctx, const char *text, size_t size)
{
    static mcamp_train train;
    mcamp_train_desc d = { 0 };
    mcamp_writer out = { print, stdout };
    mcamp_status st = mcamp_key_random(ctx, NULL, &d.key);
    d.record = text; d.record_size = size;
    d.examples = EXAMPLES; d.dim = DIM; d.clip_norm = 1; d.unit = MCAMP_NOISE_SUM;
    if (st >= 0) st = mcamp_train_init(ctx, &d, &train);
    mcamp_key_wipe(&d.key);
    if (st >= 0) st = mcamp_report_session(&train.session, MCAMP_REPORT_LEGAL, &out);
    mcamp_train_free(ctx, &train);
    return st;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "run.record.txt";
    static char text[1 << 16];
    size_t size = 0;
    FILE *f;
    mcamp_ctx ctx;
    mcamp_status st = mcamp_ctx_init(&ctx, NULL);
    if (st >= 0) st = prove(&ctx, path);
    if (st >= 0 && (f = fopen(path, "rb")) != NULL) {
        size = fread(text, 1, sizeof text, f);
        fclose(f);
    }
    if (st >= 0) st = run(&ctx, text, size);
    if (st < 0) fprintf(stderr, "%s (%s)\n", mcamp_strerror(st), mcamp_last_error(&ctx).argument);
    return st < 0;
}
