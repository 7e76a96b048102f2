/* Descriptors of batches, noise and clipping, claims, events, from arbitrary values: never a
 * crash, what is refused leaves outputs alone, what is accepted keeps its word.     */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "fuzz.h"

enum { FUZZ_N = 12, FUZZ_M = 40, FUZZ_D = 6 };

static int small(double x, double lo, double hi) { return x >= lo && x <= hi; }

static void batches(mcamp_ctx *ctx, fuzz_bytes *in)
{
    mcamp_batch_desc d;
    mcamp_batch b;
    size_t out[FUZZ_M];
    double p = -1, delta = -1;
    memset(&d, 0, sizeof d);
    d.law = (mcamp_batch_law)(fuzz_bits(in, 1) % 8);
    d.examples = fuzz_bits(in, 1) % (FUZZ_M + 1);
    d.rounds = fuzz_bits(in, 1) % 32;
    d.batches = fuzz_bits(in, 1) % 32;
    d.q = fuzz_double(in);
    d.size = fuzz_bits(in, 1) % 48;
    d.limit = fuzz_bits(in, 1) % 48;
    d.scan = fuzz_bits(in, 1) & 1;
    mcamp_key_insecure_test(fuzz_bits(in, 1), &d.key);
    if (mcamp_batch_init(ctx, &d, &b) < 0) return;
    for (uint64_t t = 0; t < d.rounds + 1; t++) {
        mcamp_batch_size s = { 99, 99 };
        if (mcamp_batch_round(ctx, &b, t, out, FUZZ_M, &s) < 0) {
            FUZZ_CHECK(t == d.rounds);
            continue;
        }
        FUZZ_CHECK(t < d.rounds && s.kept <= s.drawn && s.drawn <= d.examples);
        FUZZ_CHECK(s.kept <= mcamp_batch_largest(&b) && (!d.limit || s.kept <= d.limit));
        for (size_t i = 0; i < s.kept; i++) FUZZ_CHECK(out[i] < d.examples);
    }
    if (mcamp_batch_cut_probability(ctx, &b, &p) >= 0) FUZZ_CHECK(small(p, 0, 1));
    if (mcamp_batch_cut_delta(ctx, &b, fuzz_double(in), &delta) >= 0) FUZZ_CHECK(delta >= 0);
    mcamp_batch_free(ctx, &b);
}

static void clipping(mcamp_ctx *ctx, fuzz_bytes *in)
{
    mcamp_clip_desc d;
    mcamp_clip c;
    mcamp_tensor t = { NULL, NULL, FUZZ_D };
    double x[FUZZ_D], sum[FUZZ_D] = { 0 }, norm = 0;
    int64_t grid[FUZZ_D] = { 0 };
    memset(&d, 0, sizeof d);
    d.norm = fuzz_double(in);
    d.dim = FUZZ_D;
    d.max_examples = fuzz_bits(in, 1);
    d.grid = fuzz_bits(in, 1) & 1 ? ldexp(1, (int)fuzz_bits(in, 1) - 200) : 0;
    if (fuzz_bits(in, 1) == 7) d.grid = fuzz_double(in);
    d.zero_bad = fuzz_bits(in, 1) & 1;
    if (mcamp_clip_init(ctx, &d, &c) < 0) return;
    for (int i = 0; i < FUZZ_D; i++) x[i] = fuzz_double(in);
    t.d = x;
    if ((d.grid > 0 ? mcamp_clip_add_grid(ctx, &c, &t, 1, grid)
                    : mcamp_clip_add(ctx, &c, &t, 1, sum)) < 0) return;
    for (int i = 0; i < FUZZ_D; i++) {
        double v = (d.grid > 0 ? (double)grid[i] * d.grid : sum[i]) / d.norm;
        norm += v * v;
    }
    FUZZ_CHECK(norm <= 1 + 1e-12);
}

static void noises(mcamp_ctx *ctx, fuzz_bytes *in)
{
    mcamp_mech_desc md;
    mcamp_mech m;
    mcamp_noise_desc d;
    mcamp_noise z;
    size_t bytes = 0;
    double coef[3];
    memset(&md, 0, sizeof md);
    memset(&d, 0, sizeof d);
    for (int i = 0; i < 3; i++) coef[i] = fuzz_double(in);
    md.kind = MCAMP_MECH_TOEPLITZ;
    md.n = FUZZ_N;
    md.coef = coef;
    md.count = 3;
    if (mcamp_mech_init(ctx, &md, &m) < 0) return;
    d.mech = &m;
    d.sigma = fuzz_double(in);
    d.clip_norm = fuzz_double(in);
    d.unit = (mcamp_noise_unit)(fuzz_bits(in, 1) % 4);
    d.batch = fuzz_bits(in, 1) & 1 ? fuzz_double(in) : 0;
    d.dim = fuzz_bits(in, 1) == 9 ? fuzz_bits(in, 8) : FUZZ_D;
    d.first = fuzz_bits(in, 1) == 9 ? fuzz_bits(in, 8) : fuzz_bits(in, 1) % 8;
    d.count = (size_t)(fuzz_bits(in, 1) % 8);
    d.store = (mcamp_noise_store)(fuzz_bits(in, 1) % 4);
    d.type = (mcamp_noise_type)(fuzz_bits(in, 1) % 4);
    if (fuzz_bits(in, 1) & 1) d.grid = ldexp(1, (int)fuzz_bits(in, 1) - 200);
    mcamp_key_insecure_test(fuzz_bits(in, 1), &d.key);
    if (mcamp_noise_bytes(ctx, &d, &bytes) >= 0 && bytes < 1 << 20 &&
        mcamp_noise_init(ctx, &d, &z) >= 0) {
        FUZZ_CHECK(z.count >= 1 && mcamp_noise_step(&z) == 0);
        mcamp_noise_free(ctx, &z);
    }
    mcamp_mech_free(ctx, &m);
}

static void numbers(mcamp_ctx *ctx, fuzz_bytes *in)
{
    double a = fuzz_double(in), b = fuzz_double(in), c = fuzz_double(in), x = -1, y = -1;
    if (mcamp_gauss_delta(ctx, a, b, c, &x) >= 0) FUZZ_CHECK(small(x, 0, 1));
    else FUZZ_CHECK(x <= -1);
    if (mcamp_gauss_epsilon(ctx, a, b, c, &y) >= 0) FUZZ_CHECK(y >= 0);
    else FUZZ_CHECK(y <= -1);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_bytes in;
    mcamp_ctx ctx;
    in.p = data;
    in.left = size;
    FUZZ_CHECK(mcamp_ctx_init(&ctx, NULL) == MCAMP_OK);
    switch (fuzz_bits(&in, 1) % 4) {
    case 0: batches(&ctx, &in); break;
    case 1: clipping(&ctx, &in); break;
    case 2: noises(&ctx, &in); break;
    default: numbers(&ctx, &in); break;
    }
}
