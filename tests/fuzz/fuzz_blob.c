/* The reader of saved noise states: a good blob that was changed or cut short
 * anywhere is refused, and the stream stays as it was; random bytes too.        */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "fuzz.h"

#define FUZZ_D 5

static void describe(mcamp_mech *m, mcamp_noise_desc *d)
{
    memset(d, 0, sizeof *d);
    d->mech = m;
    d->sigma = 2;
    d->clip_norm = 1;
    d->unit = MCAMP_NOISE_SUM;
    d->dim = FUZZ_D;
    mcamp_key_insecure_test(7, &d->key);
}

/* Changes the blob as the input says: pairs of place and flip, then its length. */
static size_t damage(fuzz_bytes *in, unsigned char *blob, size_t size)
{
    size_t n = size;
    while (in->left > 2) {
        size_t at = (size_t)fuzz_bits(in, 2) % size;
        unsigned char flip = (unsigned char)fuzz_bits(in, 1);
        blob[at] = (unsigned char)(blob[at] ^ flip);
    }
    if (in->left && (fuzz_bits(in, 1) & 3) == 0) n = (size_t)fuzz_bits(in, 1) % (size + 1);
    return n;
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_bytes in;
    mcamp_ctx ctx;
    mcamp_mech_desc md;
    mcamp_mech mech;
    mcamp_noise_desc nd;
    mcamp_noise noise;
    unsigned char blob[4096], good[4096];
    double row[FUZZ_D];
    mcamp_noise_out out = { row, NULL, NULL, false };
    size_t need = 0, n;
    int same;
    in.p = data;
    in.left = size;
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_SQRT;
    md.n = 8;
    md.bands = 3;
    FUZZ_CHECK(mcamp_ctx_init(&ctx, NULL) == MCAMP_OK);
    FUZZ_CHECK(mcamp_mech_init(&ctx, &md, &mech) == MCAMP_OK);
    describe(&mech, &nd);
    FUZZ_CHECK(mcamp_noise_init(&ctx, &nd, &noise) == MCAMP_OK);
    FUZZ_CHECK(mcamp_noise_next(&ctx, &noise, 0, FUZZ_D, &out) == MCAMP_OK);
    FUZZ_CHECK(mcamp_noise_save(&ctx, &noise, good, sizeof good, &need) == MCAMP_OK);
    FUZZ_CHECK(need <= sizeof good);
    memcpy(blob, good, need);
    n = damage(&in, blob, need);
    same = n == need && !memcmp(blob, good, need);
    FUZZ_CHECK((mcamp_noise_load(&ctx, &noise, blob, n) >= 0) == same);
    FUZZ_CHECK(mcamp_noise_load(&ctx, &noise, data, size) < 0);
    FUZZ_CHECK(mcamp_noise_step(&noise) == 1);
    FUZZ_CHECK(mcamp_noise_next(&ctx, &noise, 1, FUZZ_D, &out) == MCAMP_OK);
    mcamp_noise_free(&ctx, &noise);
    mcamp_mech_free(&ctx, &mech);
}
