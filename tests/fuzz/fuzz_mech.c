/* Strategies from arbitrary values: never a crash, and what is accepted has a
 * finite C, a solve that undoes the product, and a positive Gram diagonal.    */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "fuzz.h"

#define FUZZ_N 24

static void check_gram(mcamp_ctx *ctx, const mcamp_mech *m, size_t b)
{
    mcamp_gram g;
    if (mcamp_gram_init(ctx, m, b, &g) < 0) return;
    FUZZ_CHECK(g.b == b && mcamp__finite(g.max_norm) && g.max_norm > 0);
    for (size_t i = 0; i < b; i++)
        FUZZ_CHECK(mcamp__gram_at(&g, i, i) >= 0 &&
                   mcamp__gram_at(&g, i, 0) <= g.max_norm * g.max_norm * (1 + 1e-12));
    mcamp_gram_free(ctx, &g);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_bytes in;
    double coef[FUZZ_N * FUZZ_N], theta[8], omega[8], scale[FUZZ_N], v[FUZZ_N];
    mcamp_ctx ctx;
    mcamp_mech_desc d;
    mcamp_mech m;
    in.p = data;
    in.left = size;
    memset(&d, 0, sizeof d);
    FUZZ_CHECK(mcamp_ctx_init(&ctx, NULL) == MCAMP_OK);
    d.kind = (mcamp_mech_kind)(fuzz_bits(&in, 1) % 8);
    d.n = (size_t)fuzz_bits(&in, 1) % (FUZZ_N + 1);
    d.bands = (size_t)fuzz_bits(&in, 1) % (FUZZ_N + 1);
    d.buffers = (size_t)fuzz_bits(&in, 1) % 8;
    d.normalize = fuzz_bits(&in, 1) & 1;
    d.count = (size_t)fuzz_bits(&in, 2) % (FUZZ_N * FUZZ_N + 1);
    if (d.kind == MCAMP_MECH_DENSE && fuzz_bits(&in, 1) & 1) d.count = d.n * d.n;
    if (fuzz_bits(&in, 1) & 1) d.scale = scale;
    for (size_t i = 0; i < 8; i++) {
        theta[i] = fuzz_double(&in);
        omega[i] = fuzz_double(&in);
    }
    for (size_t i = 0; i < d.count; i++) coef[i] = fuzz_double(&in);
    for (size_t i = 0; i < FUZZ_N; i++) scale[i] = 1 + fuzz_double(&in) / 64;
    d.coef = coef;
    d.theta = theta;
    d.omega = omega;
    if (mcamp_mech_init(&ctx, &d, &m) < 0) return;
    FUZZ_CHECK(m.n == d.n && m.bands >= 1 && m.bands <= m.n);
    for (size_t j = 0; j < m.n; j++)
        if (mcamp_mech_column(&ctx, &m, j, v) >= 0) {
            FUZZ_CHECK(v[j] > 0);
            for (size_t i = 0; i < m.n; i++) FUZZ_CHECK(mcamp__finite(v[i]));
        }
    check_gram(&ctx, &m, 1 + (size_t)fuzz_bits(&in, 1) % (FUZZ_N + 4));
    mcamp_mech_free(&ctx, &m);
}
