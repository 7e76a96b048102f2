/* Section noise: streams of C^-1 z, lattice mode, saved states. */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#ifndef __wasi__
#  define MCAMP_PTHREADS
#endif
#include "../mcamp.h"
#include "mcamp_test.h"
#include "stream.h"
#include "stack_scan.h"
#include "mcamp_fault.h"

static mcamp_ctx ctx;

static void start(void) { CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK); }

/* ---- strategies of every family ----------------------------------------------- */

#define N 13        /* rounds */
#define KINDS 15
#define LONG 400     /* rounds of longer runs */

static mcamp_mech_desc strategy(int i)
{
    static const double coef[4] = { 1.25, 0.5, -0.25, 0.125 };
    static const double theta[3] = { 0.5, 0.9, 0.99 }, omega[3] = { 0.25, 0.12, 0.05 };
    static double scale[N], band[3 * N], dense[N * N];
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    for (int j = 0; j < N; j++) {
        scale[j] = 1.3 - 0.05 * j;
        for (int k = 0; k <= j; k++)
            dense[j * N + k] = k == j ? 1 + 0.1 * j : 0.5 / (1 + j - k);
    }
    for (int j = 0; j < 3 * N; j++) band[j] = 1 + 0.03 * (j % 7);
    d.n = N;
    if (i % 5 == 4) d.scale = scale;        /* 4, 9, 14 */
    switch (i) {
    case 0: d.kind = MCAMP_MECH_IDENTITY; break;
    case 1: case 4: d.kind = MCAMP_MECH_TOEPLITZ; d.coef = coef; d.count = 4; break;
    case 2: d.kind = MCAMP_MECH_SQRT; break;
    case 3: d.kind = MCAMP_MECH_SQRT; d.bands = 6; d.normalize = true; break;
    case 5: d.kind = MCAMP_MECH_BANDED; d.bands = 3; d.coef = band; d.count = 3 * N - 3; break;
    case 6: d.kind = MCAMP_MECH_BLT; d.theta = theta; d.omega = omega; d.buffers = 3; break;
    case 7: d.kind = MCAMP_MECH_DENSE; d.coef = dense; d.count = N * N; break;
    case 8: d.kind = MCAMP_MECH_INVERSE; d.coef = coef; d.count = 4; break;
    case 9: d.kind = MCAMP_MECH_BLT; d.theta = theta; d.omega = omega; d.buffers = 2;
            d.normalize = true; break;
    case 10: d.kind = MCAMP_MECH_INVERSE_SQRT; d.bands = 5; d.normalize = true; break;
    case 11: d.kind = MCAMP_MECH_TREE; break;
    case 12: d.kind = MCAMP_MECH_TREE_PADDED; break;
    case 13: d.kind = MCAMP_MECH_INVERSE_SQRT; break;
    default: d.kind = MCAMP_MECH_INVERSE_SQRT; d.bands = 4; break;
    }
    return d;
}

static mcamp_mech make(int i)
{
    mcamp_mech_desc d = strategy(i);
    mcamp_mech m;
    memset(&m, 0, sizeof m);
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    return m;
}

static mcamp_noise_desc desc_of(const mcamp_mech *m, uint64_t dim)
{
    mcamp_noise_desc d;
    memset(&d, 0, sizeof d);
    d.mech = m;
    d.sigma = 0.75;
    d.clip_norm = 2;
    d.unit = MCAMP_NOISE_SUM;
    d.dim = dim;
    mcamp_key_insecure_test(42, &d.key);
    return d;
}

static mcamp_noise open_noise(const mcamp_noise_desc *d)
{
    mcamp_noise m;
    memset(&m, 0, sizeof m);
    CHECK_STATUS(mcamp_noise_init(&ctx, d, &m), MCAMP_OK);
    return m;
}

/* All rounds of the stream, out[n][count]; on a lattice, of the noise that is rounded. */
static void run_all(const mcamp_noise_desc *d, double *out, size_t count)
{
    mcamp_noise_desc plain = *d;
    mcamp_noise m, keys = open_noise(d);
    plain.grid = 0;
    m = open_noise(&plain);
    memcpy(m.keys, keys.keys, sizeof m.keys);
    mcamp_noise_free(&ctx, &keys);
    for (size_t t = 0; t < d->mech->n; t++)
        CHECK_STATUS(mt_next(&ctx, &m, t, count, out + t * count), MCAMP_OK);
    CHECK(mcamp_noise_step(&m) == d->mech->n);
    CHECK_STATUS(mt_next(&ctx, &m, d->mech->n, count, out), MCAMP_E_STEP);
    mcamp_noise_free(&ctx, &m);
}

/* ---- what is streamed ---------------------------------------------------- */

/* Unit impulses: coordinate j gets z = e_j.  What comes out is column j of C^-1, so
 * that the covariance is C^-1 C^-T exactly. */
TEST(impulses_give_the_columns_of_the_inverse)
{
    start();
    for (int i = 0; i < KINDS; i++) {
        mcamp_mech c = make(i);
        for (int store = 1; store <= 2; store++) {
            mcamp_noise_desc d = desc_of(&c, N);
            mcamp_noise m;
            double y[N][N], w[N], e[N];
            d.store = (mcamp_noise_store)store;
            m = open_noise(&d);
            for (size_t t = 0; t < N; t++, m.step++) {
                mcamp__part p = mcamp__noise_part(&m, 0, N);
                for (size_t j = 0; j < N; j++) y[t][j] = j == t;
                if (m.weights) {
                    mcamp__noise_weights(&c, t, w);
                    for (size_t j = 0; j < N; j++) y[t][j] = j <= t ? w[t - j] : 0;
                } else {
                    mcamp__noise_mix(ctx.vec, &m, &p, y[t]);
                }
                for (size_t j = 0; j < N; j++) y[t][j] *= mcamp__noise_factor(&m, t, 0) / 1.5;
            }
            for (size_t j = 0; j < N; j++) {
                for (size_t t = 0; t < N; t++) e[t] = t == j;
                CHECK_STATUS(mcamp_mech_solve(&ctx, &c, e, e), MCAMP_OK);
                for (size_t t = 0; t < N; t++) CHECK_NEAR(y[t][j], e[t], 1e-12, 1e-13);
            }
            mcamp_noise_free(&ctx, &m);
        }
        mcamp_mech_free(&ctx, &c);
    }
}

/* The whole stream against z from section secure and the block solver. */
TEST(streams_are_the_inverse_times_z)
{
    enum { D = 777 };
    static double z[N * D], y[N * D];
    start();
    for (int i = 0; i < KINDS; i++) {
        mcamp_mech c = make(i);
        mcamp_noise_desc d = desc_of(&c, D);
        for (size_t t = 0; t < N; t++)
            mt_noise_normals(&ctx, &d, t, 0, D, z + t * D);
        for (size_t k = 0; k < D; k++) {
            double v[N];
            for (size_t t = 0; t < N; t++) v[t] = z[t * D + k];
            CHECK_STATUS(mcamp_mech_solve(&ctx, &c, v, v), MCAMP_OK);
            for (size_t t = 0; t < N; t++) z[t * D + k] = v[t];
        }
        for (int how = 0; how < 6; how++) {
            double factor = 1.5, tol = how & 1 ? 2e-6 : 1e-12;
            d.store = (mcamp_noise_store)(how / 2);
            d.type = how & 1 ? MCAMP_NOISE_FLOAT : MCAMP_NOISE_DOUBLE;
            d.unit = how < 4 ? MCAMP_NOISE_SUM : MCAMP_NOISE_MEAN;
            d.batch = how < 4 ? 0 : 50;
            if (how >= 4) factor /= 50;
            run_all(&d, y, D);
            for (size_t k = 0; k < N * D; k++)
                CHECK_NEAR(y[k], factor * z[k], tol, factor * tol * 10);
        }
        mcamp_mech_free(&ctx, &c);
    }
}

TEST(bits_do_not_depend_on_chunks_threads_slices_or_sets)
{
    enum { D = 70001 };
    static double a[4 * D], b[4 * D];
    static const int kind[] = { 1, 2, 6, 10, 5 };
    start();
    for (size_t q = 0; q < sizeof kind / sizeof kind[0]; q++) {
        for (int type = 1; type <= 2; type++) {
            mcamp_mech c = make(kind[q]);
            mcamp_noise_desc d = desc_of(&c, D);
            mcamp_ctx other;
            mcamp_ctx_desc od;
            mcamp_noise m = open_noise(&d);
            mcamp_noise part[3];
            uint64_t seed = 3;
            static const uint64_t cut[4] = { 0, 1000, 40000, D };
            d.type = (mcamp_noise_type)type;
            mcamp_noise_free(&ctx, &m);
            m = open_noise(&d);
            for (size_t t = 0; t < 4; t++)
                CHECK_STATUS(mt_next(&ctx, &m, t, D, a + t * D), MCAMP_OK);
            mcamp_noise_free(&ctx, &m);
            /* chunks, on threads, in every set in turn */
            m = open_noise(&d);
            for (size_t t = 0; t < 4; t++) {
                size_t at = 0;
                memset(&od, 0, sizeof od);
                od.parallel = mcamp_parallel_threads(t + 1);
                od.vec = (mcamp_vecset)(1 + t % 3);
                if (!mcamp__vecset_available(od.vec)) od.vec = MCAMP_VEC_SCALAR;
                CHECK_STATUS(mcamp_ctx_init(&other, &od), MCAMP_OK);
                while (at < D) {
                    size_t len = (size_t)(1 + mcamp__splitmix(&seed) % 50000);
                    len = mcamp__zmin(len, D - at);
                    CHECK_STATUS(mt_next(&other, &m, t, len, b + t * D + at), MCAMP_OK);
                    at += len;
                }
            }
            mcamp_noise_free(&ctx, &m);
            CHECK(!memcmp(a, b, sizeof a));
            /* three shards of their own */
            memset(b, 0, sizeof b);
            for (int s = 0; s < 3; s++) {
                d.first = cut[s];
                d.count = (size_t)(cut[s + 1] - cut[s]);
                part[s] = open_noise(&d);
            }
            for (size_t t = 0; t < 4; t++)
                for (int s = 0; s < 3; s++)
                    CHECK_STATUS(mt_next(&ctx, &part[s], t,
                        (size_t)(cut[s + 1] - cut[s]), b + t * D + cut[s]), MCAMP_OK);
            for (int s = 0; s < 3; s++) mcamp_noise_free(&ctx, &part[s]);
            CHECK(!memcmp(a, b, sizeof a));
            mcamp_mech_free(&ctx, &c);
        }
    }
}

TEST(floats_and_sums_are_the_doubles_rounded)
{
    enum { D = 1003 };
    static double y[N * D], x[D];
    static float f[D];
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise a, b, e;
    mcamp_noise_out both = { NULL, NULL, NULL, false };
    start();
    c = make(1);
    d = desc_of(&c, D);
    run_all(&d, y, D);
    a = open_noise(&d); b = open_noise(&d); e = open_noise(&d);
    for (size_t t = 0; t < N; t++) {
        CHECK_STATUS(mt_next_float(&ctx, &a, t, D, f), MCAMP_OK);
        for (size_t i = 0; i < D; i++) CHECK_NEAR((double)f[i], (double)(float)y[t * D + i], 0, 0);
        for (size_t i = 0; i < D; i++) { x[i] = (double)i; f[i] = (float)i; }
        CHECK_STATUS(mt_add(&ctx, &b, t, D, x), MCAMP_OK);
        CHECK_STATUS(mt_add_float(&ctx, &e, t, D, f), MCAMP_OK);
        for (size_t i = 0; i < D; i++) {
            CHECK_NEAR(x[i], (double)i + y[t * D + i], 0, 0);
            CHECK_NEAR((double)f[i], (double)(float)((double)i + y[t * D + i]), 0, 0);
        }
    }
    for (int set = 1; set <= 3; set++) {        /* sums of floats in every set */
        mcamp_ctx other = ctx;
        other.vec = (mcamp_vecset)set;
        if (!mcamp__vecset_available(other.vec)) continue;
        mcamp_noise_free(&ctx, &a);
        mcamp_noise_free(&ctx, &e);
        a = open_noise(&d);
        e = open_noise(&d);
        CHECK_STATUS(mt_next_float(&other, &a, 0, D, f), MCAMP_OK);
        for (size_t i = 0; i < D; i++) CHECK_NEAR((double)f[i], (double)(float)y[i], 0, 0);
        for (size_t i = 0; i < D; i++) f[i] = 1;
        CHECK_STATUS(mt_add_float(&other, &e, 0, D, f), MCAMP_OK);
        for (size_t i = 0; i < D; i++) CHECK_NEAR((double)f[i], (double)(float)(1 + y[i]), 0, 0);
    }
    both.d = x;
    both.f = f;
    mcamp_noise_free(&ctx, &a);
    a = open_noise(&d);
    CHECK_STATUS(mcamp_noise_next(&ctx, &a, 0, D, &both), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_noise_next(&ctx, &a, 0, D, NULL), MCAMP_E_REQUIRED);
    mcamp_noise_free(&ctx, &a); mcamp_noise_free(&ctx, &b); mcamp_noise_free(&ctx, &e);
    mcamp_mech_free(&ctx, &c);
}

/* Sample covariance over 2^20 coordinates; two-sided 6.11 sigma, 1e-9 for each entry.
 * Catches a variance off by 0.9% with power .999. */
TEST(sampled_covariance_is_that_of_the_inverse)
{
    enum { R = 5 };
    size_t dim = mt_scale((size_t)1 << 20);
    double *y = (double *)malloc(R * dim * sizeof *y), inv[R][R];
    mcamp_mech c;
    mcamp_mech_desc md;
    mcamp_noise_desc d;
    start();
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_SQRT; md.n = R; md.bands = 3;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
    d = desc_of(&c, dim);
    run_all(&d, y, dim);
    for (size_t j = 0; j < R; j++) {
        double e[R];
        for (size_t t = 0; t < R; t++) e[t] = t == j;
        CHECK_STATUS(mcamp_mech_solve(&ctx, &c, e, e), MCAMP_OK);
        for (size_t t = 0; t < R; t++) inv[t][j] = e[t];
    }
    for (size_t s = 0; s < R; s++) {
        for (size_t t = 0; t <= s; t++) {
            double want = 0, vs = 0, vt = 0, got = 0;
            for (size_t j = 0; j < R; j++) {
                want += inv[s][j] * inv[t][j];
                vs += inv[s][j] * inv[s][j];
                vt += inv[t][j] * inv[t][j];
            }
            for (size_t i = 0; i < dim; i++) got += y[s * dim + i] * y[t * dim + i];
            got /= 2.25 * (double)dim;
            CHECK_LE(fabs(got - want), 6.11 * sqrt((vs * vt + want * want) / (double)dim));
        }
    }
    free(y);
    mcamp_mech_free(&ctx, &c);
}

TEST(replay_makes_released_rounds_again_and_no_others)
{
    enum { D = 1100 };
    static double y[N * D], x[D];
    start();
    for (int i = 0; i < KINDS; i++) {
        mcamp_mech c = make(i);
        mcamp_noise_desc d = desc_of(&c, D);
        mcamp_noise m = open_noise(&d);
        for (size_t t = 0; t < 7; t++)
            CHECK_STATUS(mt_next(&ctx, &m, t, D, y + t * D), MCAMP_OK);
        for (size_t t = 0; t < 7; t++) {
            CHECK_STATUS(mcamp_noise_replay(&ctx, &m, t, 9, D - 9, x), MCAMP_OK);
            for (size_t k = 0; k < D - 9; k++) CHECK_NEAR(x[k], y[t * D + 9 + k], 0, 0);
        }
        CHECK_STATUS(mcamp_noise_replay(&ctx, &m, 7, 0, D, x), MCAMP_E_STEP);
        CHECK_STATUS(mcamp_noise_replay(&ctx, &m, 0, 9, D, x), MCAMP_E_SIZE);
        CHECK_STATUS(mcamp_noise_replay(&ctx, &m, 0, D + 1, 0, x), MCAMP_E_SIZE);
        CHECK_STATUS(mcamp_noise_replay(&ctx, &m, 0, 0, D, NULL), MCAMP_E_REQUIRED);
        CHECK_STATUS(mcamp_noise_replay(&ctx, &m, 0, 0, 0, NULL), MCAMP_OK);
        mcamp_noise_free(&ctx, &m);
        mcamp_mech_free(&ctx, &c);
    }
}

/* C^-1 of one band is a number: there is nothing to keep, in any store. */
TEST(an_inverse_of_one_band_keeps_nothing)
{
    enum { D = 70 };
    static const double quarter = 0.25;
    double y[D], z[D];
    mcamp_mech_desc md;
    mcamp_mech c;
    start();
    memset(&md, 0, sizeof md);
    memset(&c, 0, sizeof c);
    md.kind = MCAMP_MECH_INVERSE; md.n = 5; md.coef = &quarter; md.count = 1;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
    for (int store = 0; store < 3; store++) {
        mcamp_noise_desc d = desc_of(&c, D);
        mcamp_noise m;
        d.store = (mcamp_noise_store)store;
        m = open_noise(&d);
        for (uint64_t t = 0; t < 5; t++) {
            mcamp__stream_normals(ctx.vec, mcamp__noise_stream(&m), t, 0, D, z);
            CHECK_STATUS(mt_next(&ctx, &m, t, D, y), MCAMP_OK);
            for (int i = 0; i < D; i++) CHECK_NEAR(y[i], 0.25 * 0.75 * 2 * z[i], 1e-13, 0);
        }
        mcamp_noise_free(&ctx, &m);
    }
    mcamp_mech_free(&ctx, &c);
}

/* Tails, with their more digits, come through as section secure makes them: a stream of
 * C = I over 2^16 coordinates holds about 16.                                     */
TEST(tails_are_those_of_the_key)
{
    enum { D = 1 << 16 };
    static double z[D], y[D];
    size_t tails = 0;
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    start();
    c = make(0);
    d = desc_of(&c, D);
    d.sigma = d.clip_norm = 1;
    m = open_noise(&d);
    mt_noise_normals(&ctx, &d, 0, 0, D, z);
    CHECK_STATUS(mt_next(&ctx, &m, 0, D, y), MCAMP_OK);
    for (size_t i = 0; i < D; i++) {
        tails += fabs(z[i]) > 4.0786;
        CHECK_NEAR(y[i], z[i] * (1 + 8 * DBL_EPSILON), 0, 0);   /* to the last bit */
    }
    CHECK(tails > 0);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

/* factor batch scale >= sigma clip_norm, in the arithmetic of exact products. */
TEST(noise_is_never_less_than_sigma_says)
{
    uint64_t seed = 8;
    mcamp_mech c, s;
    start();
    c = make(0);
    s = make(4);
    for (int i = 0; i < 3000; i++) {
        mcamp_noise_desc d = desc_of(i & 1 ? &s : &c, 3);
        mcamp_noise m;
        double f, want, err, low;
        uint64_t t = mcamp__splitmix(&seed) % N;
        d.sigma = exp(6 * mcamp__to_uniform(mcamp__splitmix(&seed)) - 3);
        d.clip_norm = exp(6 * mcamp__to_uniform(mcamp__splitmix(&seed)) - 3);
        d.unit = i & 2 ? MCAMP_NOISE_MEAN : MCAMP_NOISE_SUM;
        d.batch = i & 2 ? 1 + (double)(mcamp__splitmix(&seed) % 1000) : 0;
        m = open_noise(&d);
        f = mcamp__noise_factor(&m, t, 0);
        if (i & 2) { low = fma(f, d.batch, -(f * d.batch)); f *= d.batch; f += low; }
        if (i & 1) f *= s.scale[t] * (1 + DBL_EPSILON);
        want = d.sigma * d.clip_norm;
        err = fma(d.sigma, d.clip_norm, -want);
        CHECK(f > want || (f >= want && err <= 0));
        CHECK_NEAR(f, want, 1e-14, 0);
        mcamp_noise_free(&ctx, &m);
    }
    mcamp_mech_free(&ctx, &c);
    mcamp_mech_free(&ctx, &s);
}

/* A stream whose C was freed, made anew in the same place, or changed value by value. */
TEST(another_c_in_its_place_is_refused)
{
    double out[10] = { 5 };
    size_t size = 7;
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m, other;
    start();
    c = make(1);
    d = desc_of(&c, 10);
    m = open_noise(&d);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 10, out), MCAMP_OK);
    mcamp_mech_free(&ctx, &c);
    out[0] = 5;
    CHECK_STATUS(mt_next(&ctx, &m, 1, 10, out), MCAMP_E_MISMATCH);
    c = make(2);
    CHECK_STATUS(mt_next(&ctx, &m, 1, 10, out), MCAMP_E_MISMATCH);
    CHECK_STATUS(mt_add(&ctx, &m, 1, 10, out), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_noise_replay(&ctx, &m, 0, 0, 10, out), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_noise_save(&ctx, &m, NULL, 0, &size), MCAMP_E_MISMATCH);
    CHECK(out[0] >= 5 && out[0] <= 5 && size == 7);
    mcamp_mech_free(&ctx, &c);
    c = make(1);
    CHECK_STATUS(mt_next(&ctx, &m, 1, 10, out), MCAMP_OK);
    mcamp_noise_free(&ctx, &m);
    c.coef[1] *= 1.5;
    memset(&other, 0, sizeof other);
    CHECK_STATUS(mcamp_noise_init(&ctx, &d, &other), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_noise_bytes(&ctx, &d, &size), MCAMP_E_MISMATCH);
    CHECK(!other.magic && size == 7);
    mcamp_mech_free(&ctx, &c);
}

static mcamp_noise left_noise;
static double left_out[600];
static uint64_t left_step;
static unsigned char left_blob[1 << 16];

static void makes_a_round(void)
{
    mt_next(&ctx, &left_noise, left_step, 600, left_out);
}

static void saves_a_state(void)
{
    size_t size;
    mcamp_noise_save(&ctx, &left_noise, left_blob, sizeof left_blob, &size);
}

/* Of noise, of z, of the mask of a blob: two neighbours of each row, or of its end.  */
TEST(nothing_secret_stays_on_the_stack)
{
    static const int kind[] = { 0, 1, 6, 8, 13 };
    start();
    for (size_t q = 0; q < sizeof kind / sizeof kind[0]; q++) {
        mcamp_mech c = make(kind[q]);
        mcamp_noise_desc d = desc_of(&c, 600);
        static double z[600];
        uint64_t mask[128], head[20];
        uint32_t hide[8], seal[8];
        d.sigma = 1; d.clip_norm = 1;
        left_noise = open_noise(&d);
        for (left_step = 0; left_step < 3; left_step++) {
            if (left_step) stack_after(makes_a_round);
            else CHECK_LE((double)stack_used(makes_a_round), 40960);
            for (uint64_t t = 0; t <= left_step; t++) {
                mt_noise_normals(&ctx, &d, t, 0, 600, z);
                for (size_t i = 0; i < 600; i += 29) CHECK(!stack_holds(z + i, 16));
                CHECK(!stack_holds(z + 596, 16));
            }
            for (size_t i = 0; i < 600; i += 29) CHECK(!stack_holds(left_out + i, 16));
        }
        if (left_noise.rows) {
            stack_after(saves_a_state);
            mcamp__blob_header(&left_noise, 3, head);
            mcamp__blob_keys(&left_noise, head, hide, seal);
            mcamp__word_group(ctx.vec, hide, 0, (left_noise.rows * 600 - 1) / 128, mask);
            for (int i = 0; i < 128; i += 13) CHECK(!stack_holds(mask + i, 16));
            mcamp_wipe(mask, sizeof mask);
            stack_after(saves_a_state);
            CHECK(!stack_holds(hide, 16) && !stack_holds(hide + 4, 16));
            CHECK(!stack_holds(seal, 16) && !stack_holds(seal + 4, 16));
        }
        mcamp_noise_free(&ctx, &left_noise);
        mcamp_mech_free(&ctx, &c);
    }
}

/* ---- steps and arguments ------------------------------------------------- */

TEST(no_round_is_made_twice_or_skipped)
{
    double out[10] = { 0 };
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    start();
    c = make(1);
    d = desc_of(&c, 10);
    m = open_noise(&d);
    CHECK_STATUS(mt_next(&ctx, &m, 1, 10, out), MCAMP_E_STEP);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 11, out), MCAMP_E_SIZE);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 0, out), MCAMP_E_SIZE);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 10, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 4, out), MCAMP_OK);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 7, out), MCAMP_E_SIZE);
    CHECK_STATUS(mt_next(&ctx, &m, 1, 4, out), MCAMP_E_STEP);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 6, out), MCAMP_OK);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 10, out), MCAMP_E_STEP);
    CHECK_STATUS(mt_next(&ctx, &m, 1, 10, out), MCAMP_OK);
    CHECK(mcamp_noise_step(&m) == 2 && mcamp_noise_step(NULL) == 0);
    mcamp_noise_free(&ctx, &m);
    CHECK_STATUS(mt_next(&ctx, &m, 2, 10, out), MCAMP_E_ARG);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

TEST(gradients_that_are_not_finite_are_refused_untouched)
{
    enum { D = 600 };
    double x[D], y[D];
    float f[D];
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    start();
    c = make(6);
    d = desc_of(&c, D);
    m = open_noise(&d);
    for (int bad = 0; bad < 3; bad++) {
        for (size_t at = 0; at < D; at += 37) {
            double v = bad == 0 ? mcamp__nan() : bad == 1 ? mcamp__inf() : -mcamp__inf();
            for (size_t i = 0; i < D; i++) { x[i] = 1; f[i] = 1; }
            x[at] = v;
            f[at] = (float)v;
            memcpy(y, x, sizeof y);
            CHECK_STATUS(mt_add(&ctx, &m, 0, D, x), MCAMP_E_NONFINITE);
            CHECK_STATUS(mt_add_float(&ctx, &m, 0, D, f), MCAMP_E_NONFINITE);
            CHECK(!memcmp(x, y, sizeof y) && f[(at + 1) % D] >= 1 && f[(at + 1) % D] <= 1);
        }
    }
    CHECK(mcamp_noise_step(&m) == 0 && m.done == 0);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

TEST(bad_descriptors_are_refused)
{
    mcamp_mech c, zero;
    mcamp_noise_desc good, d;
    mcamp_noise m;
    size_t bytes = 7;
    double nan = mcamp__nan(), inf = mcamp__inf();
    start();
    memset(&zero, 0, sizeof zero);
    memset(&m, 0, sizeof m);
    c = make(1);
    good = desc_of(&c, 100);
#define REFUSE(change, status) \
    do { d = good; change; CHECK_STATUS(mcamp_noise_init(&ctx, &d, &m), status); \
         CHECK(!m.magic); } while (0)
    REFUSE(d.start_canary = 1, MCAMP_E_CANARY);
    REFUSE(d.end_canary = 1, MCAMP_E_CANARY);
    REFUSE(d.mech = NULL, MCAMP_E_REQUIRED);
    REFUSE(d.mech = &zero, MCAMP_E_ARG);
    REFUSE(d.sigma = 0, MCAMP_E_REQUIRED);
    REFUSE(d.sigma = -1, MCAMP_E_ARG);
    REFUSE(d.sigma = nan, MCAMP_E_NONFINITE);
    REFUSE(d.sigma = inf, MCAMP_E_NONFINITE);
    REFUSE(d.sigma = 1e-310, MCAMP_E_ARG);
    REFUSE(d.clip_norm = 0, MCAMP_E_REQUIRED);
    REFUSE(d.clip_norm = nan, MCAMP_E_NONFINITE);
    REFUSE(d.clip_norm = 1e200, MCAMP_E_ARG);
    REFUSE((d.clip_norm = 1e90, d.sigma = 1e90), MCAMP_E_ARG);
    REFUSE(d.unit = MCAMP_NOISE_UNSET, MCAMP_E_REQUIRED);
    REFUSE(d.unit = (mcamp_noise_unit)9, MCAMP_E_ARG);
    REFUSE(d.batch = 5, MCAMP_E_ARG);
    REFUSE(d.unit = MCAMP_NOISE_MEAN, MCAMP_E_REQUIRED);
    REFUSE((d.unit = MCAMP_NOISE_MEAN, d.batch = -3), MCAMP_E_ARG);
    REFUSE((d.unit = MCAMP_NOISE_MEAN, d.batch = nan), MCAMP_E_NONFINITE);
    REFUSE((d.unit = MCAMP_NOISE_MEAN, d.batch = 1e-305), MCAMP_E_ARG);
    REFUSE(d.dim = 0, MCAMP_E_SIZE);
    REFUSE(d.dim = ~UINT64_C(0), MCAMP_E_SIZE);
    REFUSE(d.first = 100, MCAMP_E_SIZE);
    REFUSE(d.count = 101, MCAMP_E_SIZE);
    REFUSE((d.first = 50, d.count = 51), MCAMP_E_SIZE);
    REFUSE(d.dim = UINT64_C(1) << 60, MCAMP_E_SIZE);
    REFUSE(memset(&d.key, 0, sizeof d.key), MCAMP_E_REQUIRED);
    REFUSE(d.store = (mcamp_noise_store)3, MCAMP_E_ARG);
    REFUSE(d.type = (mcamp_noise_type)3, MCAMP_E_ARG);
    REFUSE(d.grid = nan, MCAMP_E_NONFINITE);
    REFUSE(d.grid = -0.25, MCAMP_E_ARG);
    REFUSE(d.grid = 0.3, MCAMP_E_ARG);
    REFUSE(d.grid = 2, MCAMP_E_ARG);
    REFUSE(d.grid = ldexp(1, -60), MCAMP_E_ARG);
    REFUSE((d.memory = &bytes, d.memory_size = sizeof bytes), MCAMP_E_SIZE);
    REFUSE((d.dim = (UINT64_C(1) << 60) + 1, d.count = 1), MCAMP_E_SIZE);
    REFUSE((d.dim = (UINT64_C(1) << 60) + 1, d.first = d.dim - 1), MCAMP_E_SIZE);
#undef REFUSE
    CHECK_STATUS(mcamp_noise_init(&ctx, NULL, &m), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_noise_init(&ctx, &good, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_noise_init(NULL, &good, &m), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_noise_bytes(&ctx, &good, NULL), MCAMP_E_REQUIRED);
    d = good;
    d.sigma = 0;
    CHECK_STATUS(mcamp_noise_bytes(&ctx, &d, &bytes), MCAMP_E_REQUIRED);
    CHECK(bytes == 7);
    mcamp_noise_free(&ctx, NULL);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

/* ---- memory -------------------------------------------------------------- */

TEST(memory_is_what_was_announced_and_may_be_the_callers)
{
    enum { D = 1234 };
    static double y[D], x[D];
    start();
    for (int i = 0; i < KINDS; i++) {
        mcamp_mech c = make(i);
        mcamp_noise_desc d = desc_of(&c, D);
        mcamp_noise m, mine;
        mcamp_ctx fc;
        mt_fault f;
        size_t bytes = 99;
        unsigned char *mem;
        memset(&f, 0, sizeof f);
        CHECK_STATUS(mt_fault_ctx(&f, NULL, &fc), MCAMP_OK);
        CHECK_STATUS(mcamp_noise_bytes(&ctx, &d, &bytes), MCAMP_OK);
        CHECK_STATUS(mcamp_noise_init(&fc, &d, &m), MCAMP_OK);
        CHECK(f.peak == bytes);
        mem = (unsigned char *)malloc(bytes + 10);
        memset(mem, 0x77, bytes + 10);
        d.memory = mem + 5;                 /* at any address */
        d.memory_size = bytes ? bytes - 1 : 0;
        CHECK_STATUS(mcamp_noise_init(&ctx, &d, &mine), bytes ? MCAMP_E_SIZE : MCAMP_OK);
        d.memory_size = bytes;
        mine = open_noise(&d);
        for (size_t t = 0; t < N; t++) {
            size_t calls = f.calls;
            CHECK_STATUS(mt_next(&fc, &m, t, D, y), MCAMP_OK);
            CHECK(f.calls == calls);
            CHECK_STATUS(mt_next(&ctx, &mine, t, D, x), MCAMP_OK);
            CHECK(!memcmp(x, y, sizeof x));
        }
        CHECK(mem[4] == 0x77 && mem[5 + bytes] == 0x77);
        mcamp_noise_free(&ctx, &mine);
        for (size_t k = 0; k < bytes; k++) CHECK(mem[5 + k] == 0);
        mcamp_noise_free(&fc, &m);
        CHECK(f.live == 0 && f.misuse == 0);
        CHECK(!memcmp(&m, &mine, sizeof m));        /* wiped */
        free(mem);
        mcamp_mech_free(&ctx, &c);
    }
}

static mcamp_status noise_work(mcamp_ctx *c, void *user)
{
    const mcamp_noise_desc *d = (const mcamp_noise_desc *)user;
    mcamp_noise m;
    double out[20];
    mcamp_status st = mcamp_noise_init(c, d, &m);
    if (st < 0) return st;
    st = mt_next(c, &m, 0, 20, out);
    if (st == MCAMP_OK) st = mcamp_noise_replay(c, &m, 0, 0, 20, out);
    mcamp_noise_free(c, &m);
    return st;
}

static double bound_of_all;      /* what the undisturbed run says; 0: there was none yet */

static mcamp_status lattice_work(mcamp_ctx *c, void *user)
{
    mcamp_noise m;
    int64_t out[20] = { 0 };
    mcamp_status st = mcamp_noise_init(c, (const mcamp_noise_desc *)user, &m);
    if (st < 0) return st;
    if (!(bound_of_all > 0)) bound_of_all = mcamp_noise_delta(&m, 0);
    CHECK(mcamp__eq(mcamp_noise_delta(&m, 0), bound_of_all));
    st = mt_add_grid(c, &m, 0, 20, out);
    mcamp_noise_free(c, &m);
    return st;
}

TEST(failed_allocations_leave_nothing_behind)
{
    start();
    for (int i = 0; i < 3; i++) {
        mcamp_mech c = make(i);
        mcamp_noise_desc d = desc_of(&c, 20);
        CHECK(mt_all_faults("noise", noise_work, &d) == (i ? 2 : 1));
        d.grid = 0.25;                  /* n doubles more during init */
        bound_of_all = 0;
        CHECK(mt_all_faults("lattice", lattice_work, &d) == (i ? 2 : 1));
        d.store = MCAMP_NOISE_REGENERATED;
        bound_of_all = 0;
        CHECK(mt_all_faults("made again", lattice_work, &d) >= 1);
        mcamp_mech_free(&ctx, &c);
    }
    for (int i = 5; i <= 9; i += 4) {   /* the norms of C's columns too */
        mcamp_mech c = make(i);
        mcamp_noise_desc d = desc_of(&c, 20);
        d.store = MCAMP_NOISE_REGENERATED;
        d.grid = ldexp(1, -12);
        bound_of_all = 0;
        CHECK(mt_all_faults("made again, norms", lattice_work, &d) >= 2);
        mcamp_mech_free(&ctx, &c);
    }
}

/* One key for streams that differ in one number: their noise has nothing in common, so that
 * no combination of two releases is without noise.  (The correlation of independent normals
 * is N(0, 1/D), 0.14 is six standard deviations.)  Parts of one stream have theirs.  */
TEST(one_key_gives_unrelated_streams_unrelated_noise)
{
    enum { D = 2000 };
    static double y[8][D];
    mcamp_mech c[2];
    mcamp_noise_desc d;
    start();
    c[0] = make(1);
    c[1] = make(4);
    for (int i = 0; i < 8; i++) {
        mcamp_noise m;
        d = desc_of(&c[i == 1], D);
        if (i == 2) d.sigma = 50;
        if (i == 3) d.clip_norm = 3;
        if (i == 4) d.grid = ldexp(1, -20);
        if (i == 5) d.dim = D + 1;
        if (i == 6) mcamp_key_insecure_test(43, &d.key);
        if (i == 7) d.first = 1;
        m = open_noise(&d);
        mcamp__stream_normals(ctx.vec, mcamp__noise_stream(&m), 0, 0, D, y[i]);
        mcamp_noise_free(&ctx, &m);
    }
    for (int i = 0; i < 7; i++) {
        for (int j = 0; j < i; j++) {
            double dot = 0;
            for (int k = 0; k < D; k++) dot += y[i][k] * y[j][k] / D;
            CHECK(fabs(dot) < 0.14);
        }
    }
    CHECK(!memcmp(y[0], y[7], sizeof y[0]));
    mt_normals(&ctx, &d.key, 0, 0, D, y[7]);    /* nor that of the key's own subkeys */
    CHECK(memcmp(y[0], y[7], sizeof y[0]) != 0);
    mcamp_mech_free(&ctx, &c[0]);
    mcamp_mech_free(&ctx, &c[1]);
}

/* ---- lattice ------------------------------------------------------------- */

/* Rows made again are rounded after the recursion. */
TEST(regenerated_lattice_noise_is_the_noise_rounded_half_up)
{
    enum { D = 900 };
    static double y[N * D], back[D];
    static int64_t q[D];
    double g = ldexp(1, -12);
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    start();
    c = make(1);
    d = desc_of(&c, D);
    d.store = MCAMP_NOISE_REGENERATED;
    d.grid = g;
    run_all(&d, y, D);
    d.unit = MCAMP_NOISE_MEAN; d.batch = 10;
    m = open_noise(&d);
    for (size_t t = 0; t < N; t++) {
        for (size_t i = 0; i < D; i++) q[i] = (int64_t)i - 7;
        CHECK_STATUS(mt_next(&ctx, &m, t, D, back), MCAMP_E_MISMATCH);
        CHECK_STATUS(mt_add_grid(&ctx, &m, t, D, q), MCAMP_OK);
        for (size_t i = 0; i < D; i++)
            CHECK(q[i] - ((int64_t)i - 7) == (int64_t)floor(y[t * D + i] / g + 0.5));
        CHECK_STATUS(mcamp_noise_from_grid(&ctx, &m, q, D, back), MCAMP_OK);
        for (size_t i = 0; i < D; i++) CHECK_NEAR(back[i], (double)q[i] * g / 10, 1e-15, 0);
        CHECK_STATUS(mcamp_noise_replay(&ctx, &m, t, 0, D, back), MCAMP_OK);
        for (size_t i = 0; i < D; i++)
            CHECK_NEAR(back[i], (double)(q[i] - (int64_t)i + 7) * g, 0, 0);
    }
    mcamp_noise_free(&ctx, &m);
    m = open_noise(&d);
    CHECK_STATUS(mt_add_grid(&ctx, &m, 0, D, NULL), MCAMP_E_REQUIRED);
    CHECK(mcamp_noise_step(&m) == 0);
    mcamp_noise_free(&ctx, &m);
    d.grid = 0; d.unit = MCAMP_NOISE_SUM; d.batch = 0;
    m = open_noise(&d);
    q[5] = 0;
    CHECK_STATUS(mt_add_grid(&ctx, &m, 0, D, q), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_noise_from_grid(&ctx, &m, q, D, back), MCAMP_E_MISMATCH);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

/* z from the words of the stream, the tail's included, in long double: within 2^-58. */
static long double long_z(const mcamp__stream *s, uint64_t step, uint64_t index)
{
    const long double pi = 3.14159265358979323846264338327950288L, e = 5.42101086242752217004e-20L;
    uint64_t in = index % 128, block = 16 * (index / 128) + index % 16, m = in / 32;
    uint64_t pair = 64 * (index / 128) + 16 * m + index % 16;
    uint64_t x = mcamp__one_word(s->noise, step, 8 * block + 2 * m);
    uint64_t y = mcamp__one_word(s->noise, step, 8 * block + 2 * m + 1);
    long double more = (long double)mcamp__one_word(s->tail, step, pair) * e;
    long double low = (long double)mcamp__one_word(s->tail, step, pair + (UINT64_C(1) << 62)) * e;
    long double t = (((long double)(y & UINT64_C(0xfffffffffffff)) + low) /
                     4503599627370496.0L - 0.5L) * pi;
    long double r = x >> 63 ? -2 * log1pl(-((long double)~x + (1 - more)) * e)
                            : -2 * logl(((long double)x + more) * e);
    if (in % 32 >= 16) return sqrtl(r) * sinl(t);
    return y >> 63 ? -sqrtl(r) * cosl(t) : sqrtl(r) * cosl(t);
}

/* The dense C, row after row. */
static void dense_of(const mcamp_mech *c, double *a)
{
    double column[LONG];
    for (size_t j = 0; j < c->n; j++) {
        CHECK_STATUS(mcamp_mech_column(&ctx, c, j, column), MCAMP_OK);
        for (size_t t = 0; t < c->n; t++) a[t * c->n + j] = t < j ? 0 : column[t];
    }
}

/* -A of a round from all earlier integers, in long double. */
static long double long_past(const double *a, size_t n, size_t t, const int64_t *y, size_t d,
                             size_t i)
{
    long double sum = 0;
    for (size_t j = 0; j < t; j++) sum -= (long double)a[t * n + j] * (long double)y[j * d + i];
    return sum / (long double)a[t * n + t];
}

/* Every kind of C, both types of rows, grids from coarse to the finest, where nearly all
 * coordinates are decided exactly: round by round floor(f z - A + 1/2), but where long double
 * can't tell.  Rounding after the recursion, or any formula of it changed, is noticed. */
TEST(lattice_noise_is_rounded_within_the_recursion)
{
    enum { D = 100 };
    static const int fine[3] = { 2, 20, 39 };
    static double a[N * N];
    static int64_t y[N * D];
    size_t unclear = 0, all = 0;
    start();
    for (int i = 0; i < 6 * KINDS; i++) {
        mcamp_mech c = make(i / 6);
        mcamp_noise_desc d = desc_of(&c, D + 40);
        mcamp_noise m;
        int e = fine[i % 3];
        d.store = MCAMP_NOISE_STORED;
        d.type = i % 6 < 3 ? MCAMP_NOISE_DOUBLE : MCAMP_NOISE_FLOAT;
        d.grid = ldexp(1, i % 6 == 5 ? -23 : -e);       /* 32 bits */
        d.first = 40;
        dense_of(&c, a);
        m = open_noise(&d);
        memset(y, 0, sizeof y);
        for (size_t t = 0; t < N; t++) {
            double f = mcamp__noise_factor(&m, t, 0);
            CHECK_NEAR(f * d.grid * a[t * N + t], 1.5, 1e-14, 0);
            CHECK(f * d.grid * a[t * N + t] >= 1.5);
            CHECK_STATUS(mt_add_grid(&ctx, &m, t, D, y + t * D), MCAMP_OK);
            for (size_t k = 0; k < D; k++, all++) {
                long double q = (long double)f * long_z(mcamp__noise_stream(&m), t, 40 + k) +
                                long_past(a, N, t, y, D, k);
                long double off = fabsl(q + 0.5L - floorl(q + 0.5L) - 0.5L);
                if (off > 0.5L - (long double)f * 2e-14L - 1e-13L) {
                    unclear++;      /* the last place of A, or of long double */
                    CHECK(fabsl(q - (long double)y[t * D + k]) < 0.51L + (long double)f * 1e-13L);
                    continue;
                }
                CHECK(y[t * D + k] == (int64_t)floorl(q + 0.5L));
            }
        }
        mcamp_noise_free(&ctx, &m);
        mcamp_mech_free(&ctx, &c);
    }
    CHECK_LE((double)unclear, 0.02 * (double)all);
}

/* C = I on the finest grid, where nothing but z is computed: doubles alone would round about
 * ten of these the wrong way.                                                     */
TEST(fine_grids_round_the_true_normal)
{
    enum { D = 1500 };
    static int64_t y[D];
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    size_t unclear = 0;
    start();
    c = make(0);
    d = desc_of(&c, D);
    d.grid = 0x1p-39;
    m = open_noise(&d);
    for (size_t t = 0; t < N; t++) {
        double f = mcamp__noise_factor(&m, t, 0);
        memset(y, 0, sizeof y);
        CHECK_STATUS(mt_add_grid(&ctx, &m, t, D, y), MCAMP_OK);
        for (size_t k = 0; k < D; k++) {
            long double q = (long double)f * long_z(mcamp__noise_stream(&m), t, k) + 0.5L;
            long double off = fabsl(q - floorl(q) - 0.5L);
            if (off > 0.5L - (long double)f * 0x1p-57L) unclear++;
            else CHECK(y[k] == (int64_t)floorl(q));
        }
    }
    CHECK_LE((double)unclear, 10);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

/* Where f z + acc crosses a bound, from tests/gen/exact_normals.py with 150 digits: between
 * two neighbouring doubles acc.  z in six parts of its distribution, a tail and a small
 * radius among them; a double z decides none of them.                             */
TEST(bounds_are_decided_to_the_last_digit)
{
    static const struct { uint64_t step, index; double f, bound, below, above; } v[6] = {
        { 0, 0, 1099511627776.0, -1023484088037.5, -0x1.9cb276ae7180ep-2, -0x1.9cb276ae7180dp-2 },
        { 3, 17, 1300000000000.0, 361155023237.5, 0x1.9f770898c4941p-4, 0x1.9f770898c4942p-4 },
        { 5, 100, 3.0, 4.5, 0x1.f81d7474aa384p-2, 0x1.f81d7474aa385p-2 },
        { 9, 45, 770000000.0, -707567084.5, 0x1.c75e89ee92da2p-4, 0x1.c75e89ee92da3p-4 },
        { 27, 232, 1099511627776.0, -4307425382016.5, 0x1.e82cf133f531ep-2, 0x1.e82cf133f531fp-2 },
        { 17, 443, 1100000000000.0, -13273668851.5, -0x1.ab6a11ed8a972p-7, -0x1.ab6a11ed8a971p-7 }
    };
    mcamp__stream s;
    for (uint32_t i = 0; i < 8; i++) { s.noise[i] = i + 1; s.tail[i] = i + 11; }
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        mcamp__exact z;
        mcamp__exact_square(&s, v[i].step, v[i].index, &z);
        CHECK(!mcamp__exact_reaches(&z, v[i].f, v[i].below, v[i].bound));
        CHECK(mcamp__exact_reaches(&z, v[i].f, v[i].above, v[i].bound));
        for (int k = -3; k <= 3; k++)       /* and bounds further away */
            if (k) CHECK(mcamp__exact_reaches(&z, v[i].f, v[i].above, v[i].bound + k) == (k < 0));
        CHECK(mcamp__exact_reaches(&z, v[i].f, 0.5, z.sign < 0 ? 1.5 : -0.5) == (z.sign >= 0));
    }
}

/* A double z of 2^-18 or more is within 2^-44 of every z that its digits of u and t allow. */
static void check_cell(uint64_t x, uint64_t y)
{
    const long double pi = 3.14159265358979323846264338327950288L, e = 5.42101086242752217004e-20L;
    double p, q;
    mcamp__normal_pair(x, 0, y, &p, &q);
    for (int corner = 0; corner < 4; corner++) {
        long double t = ((long double)((y & UINT64_C(0xfffffffffffff)) + (uint64_t)(corner & 1)) /
                         4503599627370496.0L - 0.5L) * pi;
        long double more = corner & 2 ? 1 : 0x1p-12L;
        long double r = x >> 63 ? -2 * log1pl(-((long double)~x + (1 - more)) * e)
                                : -2 * logl(((long double)x + more) * e);
        long double c = sqrtl(r) * cosl(t);
        CHECK_LE(fabs(q - (double)(sqrtl(r) * sinl(t))), 0x1p-30);
        CHECK_LE(fabs(p - (double)(y >> 63 ? -c : c)), 0x1p-30);
        if (fabs(q) >= 0x1p-18) CHECK_LE(fabs(q - (double)(sqrtl(r) * sinl(t))), 0x1p-44);
        if (fabs(p) >= 0x1p-18) CHECK_LE(fabs(p - (double)(y >> 63 ? -c : c)), 0x1p-44);
    }
}

TEST(normals_in_doubles_are_within_their_bound)
{
    uint64_t seed = 5;
    for (int i = 0; i < 20000; i++) {
        uint64_t x = mcamp__splitmix(&seed), y = mcamp__splitmix(&seed);
        int down = i % 13;
        if (i % 3 == 1) x >>= down < 12 ? down : 11;            /* down to 2^52 */
        if (i % 3 == 2) x = ~(x >> (5 * down));                 /* up to 1 */
        if (x < UINT64_C(1) << 52) x |= UINT64_C(1) << 52;
        check_cell(x, i % 5 ? y : y | UINT64_C(0xffffffffff));
    }
}

/* The coefficients of a Toeplitz T, in long double from what defines them. */
static void long_coefs(const mcamp_mech *c, long double *a)
{
    for (size_t i = 0; i < LONG; i++) {
        a[i] = c->form == MCAMP_FORM_TOEPLITZ && !c->inverse && i < c->bands
                   ? (long double)c->coef[i] : 0;
        if (c->form == MCAMP_FORM_BLT && !i) a[i] = (long double)c->diag;
        for (size_t j = 0; c->form == MCAMP_FORM_BLT && i && j < c->buffers; j++)
            a[i] += (long double)c->omega[j] * powl((long double)c->theta[j], (long double)(i - 1));
        if (!c->inverse) continue;
        a[i] = i ? 0 : 1;
        for (size_t j = 1; j <= i && j < c->inverse_bands; j++)
            a[i] -= (long double)c->inverse[j] * a[i - j];
        a[i] /= (long double)c->inverse[0];
    }
}

/* Row t of C. */
static void long_row(const mcamp_mech *c, const long double *a, size_t t, long double *row)
{
    size_t len = c->form == MCAMP_FORM_ROWS ? mcamp__row_len(c, t) : LONG;
    for (size_t j = 0; j <= t; j++) {
        row[j] = c->form != MCAMP_FORM_ROWS ? a[t - j]
               : t - j < len ? (long double)c->coef[mcamp__row_start(c, t) + len - 1 - (t - j)] : 0;
        if (c->scale) row[j] *= (long double)c->scale[j];
    }
}

static mcamp_mech_desc longer(int i)
{
    static const double theta[3] = { 0.5, 0.9, 1 }, omega[3] = { 0.25, 0.12, 0.05 };
    static double scale[LONG], band[7 * LONG];
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    for (int j = 0; j < LONG; j++) scale[j] = 1.3 - 0.0017 * j;
    for (int j = 0; j < 7 * LONG; j++) band[j] = 0.3 + 0.03 * (j % 11);
    for (int j = 0; j < 7; j++) band[j * (j + 3) / 2] = 2.5;
    for (int j = 7; j < LONG; j++) band[7 * j - 21 + 6] = 2.5;
    d.n = LONG;
    if (i & 1) d.scale = scale;
    switch (i / 2) {
    case 0: d.kind = MCAMP_MECH_SQRT; d.bands = 21; d.normalize = true; break;
    case 1: d.kind = MCAMP_MECH_BLT; d.theta = theta; d.omega = omega; d.buffers = 3;
            d.normalize = true; break;
    case 2: d.kind = MCAMP_MECH_INVERSE_SQRT; d.bands = 9; break;
    default: d.kind = MCAMP_MECH_BANDED; d.bands = 7; d.coef = band; d.count = 7 * LONG - 21; break;
    }
    return d;
}

/* e_t/f_t of "the lattice" against long double: its mean square in every round is within the
 * bound, and the bound within 2^13 of it.  Rows of floats, say, would be 2^20 beyond.  */
TEST(computed_sums_of_the_past_are_within_their_bound)
{
    enum { D = 24 };
    static int64_t y[LONG * D];
    static double w[LONG];
    static long double a[LONG], row[LONG];
    start();
    for (int i = 0; i < 16; i += (int)mt_few(1, 5)) {
        mcamp_mech_desc md = longer(i / 2);
        mcamp_mech c;
        mcamp_noise_desc d;
        mcamp_noise m;
        mcamp__reach r;
        double bound, worst = 0;
        memset(&c, 0, sizeof c);
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
        d = desc_of(&c, D);
        d.store = MCAMP_NOISE_STORED;
        d.type = i & 1 ? MCAMP_NOISE_FLOAT : MCAMP_NOISE_DOUBLE;
        d.grid = ldexp(1, -22);
        m = open_noise(&d);
        r = mcamp__inverse_reach(&c, w);
        bound = mcamp__lattice_error(&m, &r, w) * 0x1p-53;
        memset(y, 0, sizeof y);
        long_coefs(&c, a);
        for (size_t t = 0; t < LONG; t++) {
            mcamp__part p = mcamp__noise_part(&m, 0, D);
            mcamp__chunk k;
            double acc[512], square = 0;
            memset(&k, 0, sizeof k);
            k.m = &m; k.vs = ctx.vec; k.count = D;
            mcamp__lattice_past(&k, &p, acc);
            long_row(&c, a, t, row);
            for (size_t j = 0; j < D; j++) {
                long double sum = 0, e;
                for (size_t u = 0; u < t; u++) sum += row[u] * (long double)y[u * D + j];
                e = (long double)acc[j] + sum / row[t];
                e /= (long double)mcamp__noise_factor(&m, t, 1);
                square += (double)(e * e) / D;
            }
            worst = mcamp__dmax(worst, sqrt(square));
            CHECK_STATUS(mt_add_grid(&ctx, &m, t, D, y + t * D), MCAMP_OK);
        }
        CHECK_LE(worst, bound);
        CHECK_LE(bound, 8192 * worst);
        mcamp_noise_free(&ctx, &m);
        mcamp_mech_free(&ctx, &c);
    }
}

/* The distance that a run's numerics are bounded by, from its parts. */
TEST(numerics_are_counted_for_all_rounds_and_coordinates)
{
    mcamp_mech c[3];
    mcamp_noise_desc d;
    mcamp_noise m;
    double w[N], law, one;
    mcamp__reach r;
    start();
    c[0] = make(0);
    c[1] = make(1);
    c[2] = make(9);
    for (int i = 0; i < 3; i++) {
        d = desc_of(&c[i], 1000);
        CHECK(!(mcamp_noise_delta(NULL, 1) < mcamp__inf()));
        m = open_noise(&d);                 /* without a lattice */
        CHECK(!(mcamp_noise_delta(&m, 1) < mcamp__inf()));
        mcamp_noise_free(&ctx, &m);
        d.grid = ldexp(1, -16);
        m = open_noise(&d);
        r = mcamp__inverse_reach(&c[i], w);
        law = i ? 0.5 * sqrt(1000.0 * N) * mcamp__lattice_error(&m, &r, w) * 0x1p-53 : 0;
        one = 0;                            /* the largest factor */
        for (size_t t = 0; t < N; t++) one = mcamp__dmax(one, mcamp__noise_factor(&m, t, 1));
        law += 1000.0 * N * (one + 2) * 0x1p-96;
        CHECK_NEAR(mcamp_noise_delta(&m, 2), (1 + exp(2)) * law, 2e-6, 0);
        CHECK(mcamp_noise_delta(&m, 2) >= (1 + exp(2)) * law);
        CHECK(!(mcamp_noise_delta(&m, mcamp__inf()) < mcamp__inf()));
        CHECK(!(mcamp_noise_delta(&m, -1) < mcamp__inf()));
        {
            int64_t whole = 3;
            CHECK_STATUS(mcamp_noise_from_grid(&ctx, &m, NULL, 1, w), MCAMP_E_REQUIRED);
            CHECK_STATUS(mcamp_noise_from_grid(&ctx, &m, &whole, 1, NULL), MCAMP_E_REQUIRED);
            CHECK_STATUS(mcamp_noise_from_grid(&ctx, &m, NULL, 0, NULL), MCAMP_OK);
            CHECK_STATUS(mcamp_noise_from_grid(&ctx, &m, &whole, 1, w), MCAMP_OK);
            CHECK_NEAR(w[0], ldexp(3, -16), 0, 0);
        }
        CHECK(!(mcamp_noise_delta(&m, mcamp__nan()) < mcamp__inf()));
        one = mcamp_noise_delta(&m, 0);
        mcamp_noise_free(&ctx, &m);
        d.dim = 100000;
        d.first = 1;                        /* of all coordinates, in every part of them */
        d.count = 5;
        m = open_noise(&d);
        CHECK_NEAR(mcamp_noise_delta(&m, 0), one * (i ? 10 : 100), 1e-4, 0);
        mcamp_noise_free(&ctx, &m);
    }
    for (int i = 1; i < 3; i++) {           /* a grid that comes later */
        d = desc_of(&c[i], 1000);
        d.type = MCAMP_NOISE_FLOAT;
        m = open_noise(&d);
        CHECK_STATUS(mcamp__noise_set_grid(&ctx, &m, ldexp(1, -16)),
                     i == 1 ? MCAMP_OK : MCAMP_E_MISMATCH);
        CHECK(i == 2 || mcamp_noise_delta(&m, 1) < 1e-10);
        CHECK_STATUS(mcamp__noise_set_grid(&ctx, &m, ldexp(1, -36)),
                     i == 1 ? MCAMP_E_ARG : MCAMP_E_MISMATCH);
        m.type = MCAMP_NOISE_DOUBLE;        /* too coarse: hardly any noise is not rounded to 0 */
        CHECK_STATUS(mcamp__noise_set_grid(&ctx, &m, 4096), MCAMP_E_ARG);
        CHECK(!(mcamp_noise_delta(&m, 1) < mcamp__inf()));
        mcamp_noise_free(&ctx, &m);
    }
    for (int i = 0; i < 3; i++) mcamp_mech_free(&ctx, &c[i]);
}

/* z with all its digits, for a sum in long double. */
static long double long_normal(const mcamp__stream *s, uint64_t t, uint64_t i)
{
    mcamp__exact z;
    long double x = 0;
    mcamp__exact_square(s, t, i, &z);
    for (int k = 9; k >= 0; k--) x = x * 4294967296.0L + z.w[k];
    return z.sign * sqrtl(ldexpl(x, -256));
}

/* Weights for which f sum w_k z_{t-k} lies 2^-23 of a half: where doubles are at a loss, the
 * sum with all digits is on the side that long double says.                        */
TEST(sums_of_normals_are_decided_to_the_last_digit)
{
    enum { T = 5 };
    mcamp__stream s;
    uint64_t seed = 9;
    size_t otherwise = 0, decided = 0;
    for (uint32_t i = 0; i < 8; i++) { s.noise[i] = i + 1; s.tail[i] = i + 11; }
    for (uint64_t i = 0; i < 300; i++) {
        double f = ldexp(1.37, 30), w[T + 1], plain = 0, bound;
        long double z[T + 1], rest = 0;
        mcamp__exact sum;
        for (uint64_t k = 0; k <= T; k++) {
            z[k] = long_normal(&s, T - k, i);
            w[k] = ldexp((double)(mcamp__splitmix(&seed) >> 11), -53) - 0.4;
            if (k == 3) w[k] = 0;
            if (k) rest += (long double)w[k] * z[k];
        }
        bound = floor((double)(f * (rest + (long double)w[0] * z[0]))) + 0.5;
        w[0] = (double)(((long double)bound / f - rest) / z[0]);
        rest = f * (rest + (long double)w[0] * z[0]) - bound;
        for (uint64_t k = 0; k <= T; k++) plain += w[k] * (double)z[k];
        if (fabsl(rest) < 0x1p-31L || !(fabs(w[0]) < 4)) continue;
        mcamp__exact_sum(&s, T, i, w, &sum);
        CHECK(mcamp__exact_above(&sum, f, bound) == (rest >= 0));
        CHECK(mcamp__exact_above(&sum, f, bound - 1) && !mcamp__exact_above(&sum, f, bound + 1));
        decided++;
        otherwise += (f * plain >= bound) != (rest >= 0);
    }
    CHECK(decided > 200 && otherwise > 5);
}

/* Noise made again on the finest grid that is settled, where one number in a few hundred is
 * summed with all its digits: its integers, and by how much those of doubles may be off. */
TEST(noise_made_again_is_rounded_as_if_there_were_no_errors)
{
    enum { D = 100 };
    static int64_t y[D];
    static const int kind[3] = { 1, 2, 7 };
    static double w[N], z[D], off[D];
    int64_t whole[D];
    bool clear[D];
    size_t settled = 0;
    mcamp__chunk k;
    mcamp__part p;
    start();
    for (int q = 0; q < 3; q++) {
        mcamp_mech c = make(kind[q]);
        mcamp_noise_desc d = desc_of(&c, D);
        mcamp_noise m;
        d.store = MCAMP_NOISE_REGENERATED;
        d.grid = ldexp(d.sigma, -33);
        for (d.grid = ldexp(1, (int)floor(log2(d.grid)));; d.grid *= 2) {
            m = open_noise(&d);
            if (mcamp_noise_delta(&m, 1) < mcamp__inf()) break;
            mcamp_noise_free(&ctx, &m);
        }
        for (uint64_t t = 0; t < N; t++) {
            double f = mcamp__noise_factor(&m, t, 1);
            memset(y, 0, sizeof y);
            CHECK_STATUS(mt_add_grid(&ctx, &m, t, D, y), MCAMP_OK);
            mcamp__noise_weights(&c, t, w);
            mcamp__noise_again(ctx.vec, &m, t, w, 0, D, z, off);
            for (size_t i = 0; i < D; i++) {
                long double v = 0, to, exact, most = 0;
                for (uint64_t j = 0; j <= t; j++) {
                    exact = long_normal(mcamp__noise_stream(&m), t - j, i);
                    v += (long double)w[j] * exact;
                    most += fabsl((long double)w[j] * exact) * (long double)(t + 4) * 0x1p-53L +
                            fabsl((long double)w[j]) * 0x1.ffp-45L;
                }
                CHECK(fabsl(v - (long double)z[i]) <= (long double)off[i]);
                CHECK((long double)off[i] >= most);
                v *= f;
                to = floorl(v + 0.5L);
                settled += 0.5L - fabsl(v - to) < 0.9L * (long double)(f * off[i]);
                if (0.5L - fabsl(v - to) > 1e-7L) CHECK(y[i] == (int64_t)to);
                /* doubles as far off as they may be, and over the edge where it is near */
                whole[i] = (int64_t)to;
                clear[i] = 0.5L - fabsl(v - to) > 1e-7L;
                z[i] = (double)(v / f) + (v > to ? 0.95 : -0.95) * off[i];
            }
            memset(&k, 0, sizeof k);
            memset(&p, 0, sizeof p);
            k.m = &m;
            k.factor = f;
            p.len = D;
            m.step = t;
            mcamp__again_settle(&k, &p, off, z);
            m.step = t + 1;
            for (size_t i = 0; i < D; i++) CHECK(!clear[i] || (int64_t)z[i] == whole[i]);
        }
        mcamp_noise_free(&ctx, &m);
        mcamp_mech_free(&ctx, &c);
    }
    CHECK(settled > 3);
}

/* Rows of the inverse are as near as the bound takes them to be: |W T - I| <= g |W||T|. */
TEST(rows_of_the_inverse_are_within_their_bound)
{
    static double w[LONG];
    static long double a[LONG], row[LONG], off[LONG], most[LONG];
    start();
    for (int i = 0; i < 8; i++) {
        mcamp_mech_desc md = longer(i);
        mcamp_mech c;
        memset(&c, 0, sizeof c);
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
        long_coefs(&c, a);
        mcamp__noise_weights(&c, LONG - 1, w);
        memset(off, 0, sizeof off);
        memset(most, 0, sizeof most);
        off[LONG - 1] = -1;
        for (size_t k = 0; k < LONG; k++) {
            long_row(&c, a, k, row);
            for (size_t j = 0; j <= k; j++) {
                long double x = w[LONG - 1 - k] * (c.scale ? row[j] / c.scale[j] : row[j]);
                off[j] += x;
                most[j] += fabsl(x);
            }
        }
        for (size_t j = 0; j < LONG; j++)
            CHECK(fabsl(off[j]) <= most[j] * 0x1p-53L *
                  (long double)((c.form == MCAMP_FORM_BLT ? 2 * LONG : c.bands) + 80));
        mcamp_mech_free(&ctx, &c);
    }
}

/* Near 0 the table knows a normal less well: the first one of a stream that is below 2^-17. */
TEST(tiny_normals_count_for_more_doubt)
{
    enum { D = 512 };
    double z[D], acc, off, w = 1;
    uint64_t at = 0;
    size_t i = D;
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    start();
    c = make(1);
    d = desc_of(&c, D);
    m = open_noise(&d);
    for (; i == D && at < 40000 * D; at += i < D ? 0 : D) {
        mcamp__stream_normals(ctx.vec, mcamp__noise_stream(&m), 0, at, D, z);
        for (i = 0; i < D && fabs(z[i]) > 2.0 / 262144.0; i++) {}
    }
    CHECK(i < D);
    mcamp__noise_again(ctx.vec, &m, 0, &w, at + i, 1, &acc, &off);
    CHECK(mcamp__eq(acc, z[i]) && off >= 0x1p-30);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

/* Squares of normals that are 0 have a root. */
TEST(the_root_of_nothing_is_nothing)
{
    mcamp__exact a, none;
    memset(&a, 0, sizeof a);
    memset(&none, 0, sizeof none);
    mcamp__fix_root(a.w);
    CHECK(!memcmp(&a, &none, sizeof a));
}

/* An inverse that grows like 2^n: no bound, although the grid is coarse enough to settle. */
TEST(no_bound_for_an_inverse_that_is_not_known)
{
    static const double two[2] = { 1, 2 };
    mcamp_mech_desc md;
    mcamp_mech c;
    start();
    for (size_t n = 10; n <= 34; n += 24) {
        mcamp_noise_desc d;
        mcamp_noise m;
        memset(&md, 0, sizeof md);
        memset(&c, 0, sizeof c);
        md.kind = MCAMP_MECH_TOEPLITZ;
        md.n = n;
        md.coef = two;
        md.count = 2;
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
        d = desc_of(&c, 8);
        d.store = MCAMP_NOISE_REGENERATED;
        d.grid = 1;
        m = open_noise(&d);
        CHECK((mcamp_noise_delta(&m, 1) < mcamp__inf()) == (n < 34));
        mcamp_noise_free(&ctx, &m);
        mcamp_mech_free(&ctx, &c);
    }
}

/* The bound for it, from its parts; and where there is none: rounded as doubles say. */
TEST(numerics_of_noise_made_again)
{
    enum { TILE = 100 };
    start();
    for (int i = 0; i < 8; i++) {
        mcamp_mech_desc md = longer(i);
        mcamp_mech c;
        mcamp_noise_desc d;
        mcamp_noise m;
        double norm, least = 1, root = 0, sum = 0, diag = 0, f = 0, r, law, half, n = LONG;
        static double w[LONG], z[TILE];
        static int64_t y[1000];
        memset(&c, 0, sizeof c);
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
        CHECK_STATUS(mcamp_mech_max_norm(&ctx, &c, &norm), MCAMP_OK);
        d = desc_of(&c, 1000);
        d.store = MCAMP_NOISE_REGENERATED;
        d.grid = ldexp(1, -18);
        m = open_noise(&d);
        for (uint64_t t = 0; t < LONG; t++) {
            double one = 0, two = 0, s = c.scale ? c.scale[t] : 1;
            mcamp__noise_weights(&c, t, w);
            for (uint64_t k = 0; k <= t; k++) { one += fabs(w[k]); two += w[k] * w[k]; }
            sum = fmax(sum, one);
            root = fmax(root, sqrt(two));
            diag = fmax(diag, s * mcamp__mech_diag(&c, (size_t)t));
            least = t ? fmin(least, s) : s;
            f = fmax(f, mcamp__noise_factor(&m, t, 1));
        }
        r = (double)((c.form == MCAMP_FORM_BLT ? 2 * LONG : c.bands) + 80) * 0x1p-53;
        r *= (c.form == MCAMP_FORM_ROWS ? sqrt(n) * root : sum) / least * norm * sqrt(n);
        r += 24 * 0x1p-53;
        half = 0.5 * d.grid / (d.sigma * d.clip_norm) * diag;
        law = 0.5 * r * norm * n / d.sigma + 1000 * n * 0x1p-95 +
              1000 * n * 0x1p-97 * f * sum * (1 + half);
        CHECK_LE(law * (1 - 1e-9), mcamp_noise_delta(&m, 0) / 2);
        CHECK_LE(mcamp_noise_delta(&m, 0) / 2, law * 1.1);
        CHECK(law < 1e-8);
        mcamp_noise_free(&ctx, &m);
        if (c.inverse || c.form == MCAMP_FORM_BLT) { mcamp_mech_free(&ctx, &c); continue; }
        d.grid = ldexp(1, -36);             /* too fine to be settled */
        m = open_noise(&d);
        CHECK(!(mcamp_noise_delta(&m, 0) < mcamp__inf()));
        mcamp__noise_weights(&c, 0, w);
        mcamp__noise_again(ctx.vec, &m, 0, w, 0, TILE, z, NULL);
        memset(y, 0, sizeof y);
        CHECK_STATUS(mt_add_grid(&ctx, &m, 0, 1000, y), MCAMP_OK);
        for (size_t j = 0; j < TILE; j++)
            CHECK(y[j] == mcamp__to_grid(z[j] * mcamp__noise_factor(&m, 0, 1)));
        mcamp_noise_free(&ctx, &m);
        mcamp_mech_free(&ctx, &c);
    }
}

/* One buffer, two rounds, by hand: C^-1 z = z_1 - z_0/4, the buffer holds z_0.  Its error,
 * 2 + 3 roundings, stays for two rounds; five more for the sum; a quarter of all.   */
TEST(errors_of_buffers_add_up)
{
    static const double theta = 0.5, omega = 0.25, w[2] = { 1, -0.25 };
    mcamp_mech_desc md;
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    start();
    memset(&md, 0, sizeof md);
    memset(&c, 0, sizeof c);
    md.kind = MCAMP_MECH_BLT; md.n = 2; md.buffers = 1;
    md.theta = &theta; md.omega = &omega;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
    d = desc_of(&c, 5);
    m = open_noise(&d);
    CHECK_NEAR(mcamp__blt_error(&m, w, 3, 0), 0.25 * (2 * (2 + 3) + 5), 1e-15, 0);
    CHECK_NEAR(mcamp__blt_error(&m, w, 3, 1), 0.25 * (2 * (4 + 3) + 10), 1e-15, 0);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

/* Rows of 32 bits are exact, whole rows of doubles half the memory: the same integers; on any
 * threads, in any chunks and vector sets.  Where they are not exact, doubles are taken. */
TEST(lattice_integers_depend_on_nothing_else)
{
    enum { D = 40000 };
    static int64_t a[3 * D], b[3 * D];
    static const int kind[] = { 0, 1, 3, 5, 9, 10 };
    start();
    for (size_t q = 0; q < sizeof kind / sizeof kind[0]; q++) {
        mcamp_mech c = make(kind[q]);
        mcamp_noise_desc d = desc_of(&c, D);
        size_t whole = 0, half = 0;
        uint64_t seed = 3;
        mcamp_noise m;
        d.grid = ldexp(1, -20);
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
        CHECK_STATUS(mcamp_noise_bytes(&ctx, &d, &whole), MCAMP_OK);
        m = open_noise(&d);
        for (size_t t = 0; t < 3; t++)
            CHECK_STATUS(mt_add_grid(&ctx, &m, t, D, a + t * D), MCAMP_OK);
        mcamp_noise_free(&ctx, &m);
        d.type = MCAMP_NOISE_FLOAT;
        CHECK_STATUS(mcamp_noise_bytes(&ctx, &d, &half), MCAMP_OK);
        CHECK(kind[q] > 8 || !whole ? half == whole : 2 * half < whole + 100);
        m = open_noise(&d);
        for (size_t t = 0; t < 3; t++) {
            mcamp_ctx other;
            mcamp_ctx_desc od;
            memset(&od, 0, sizeof od);
            od.parallel = mcamp_parallel_threads(t + 1);
            od.vec = (mcamp_vecset)(1 + t % 3);
            if (!mcamp__vecset_available(od.vec)) od.vec = MCAMP_VEC_SCALAR;
            CHECK_STATUS(mcamp_ctx_init(&other, &od), MCAMP_OK);
            for (size_t at = 0, len; at < D; at += len) {
                len = (size_t)(1 + mcamp__splitmix(&seed) % 30000);
                len = mcamp__zmin(len, D - at);
                CHECK_STATUS(mt_add_grid(&other, &m, t, len, b + t * D + at), MCAMP_OK);
            }
        }
        CHECK(!memcmp(a, b, sizeof a));
        mcamp_noise_free(&ctx, &m);
        mcamp_mech_free(&ctx, &c);
    }
}

/* Rows that are not what they should be, by a fault: no integer comes of them.   */
TEST(lattice_noise_that_is_no_number_is_not_added)
{
    static const double bad[3] = { NAN, INFINITY, 1e16 };
    start();
    for (int i = 0; i < 3; i++) {
        int64_t sum[4] = { 5, 6, 7, 8 };
        mcamp_mech c = make(1);
        mcamp_noise_desc d = desc_of(&c, 4);
        mcamp_noise m;
        d.grid = ldexp(1, -10);
        m = open_noise(&d);
        CHECK_STATUS(mt_add_grid(&ctx, &m, 0, 4, sum), MCAMP_OK);
        ((double *)m.state)[2] = bad[i];
        CHECK_STATUS(mt_add_grid(&ctx, &m, 1, 4, sum), MCAMP_E_NONFINITE);
        CHECK(!sum[0] && !sum[1] && !sum[2] && !sum[3] && mcamp_noise_step(&m) == N);
        mcamp_noise_free(&ctx, &m);
        mcamp_mech_free(&ctx, &c);
    }
}

/* Of a chunk that ends soon after a task begins, with a fault only there. */
TEST(the_last_task_of_a_chunk_is_looked_at)
{
    enum { TASK = 64 * 512, D = TASK + 3 };
    static int64_t sum[D];
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    start();
    c = make(1);
    d = desc_of(&c, D);
    d.grid = ldexp(1, -10);
    for (int fault = 0; fault < 2; fault++) {
        mcamp__part p;
        m = open_noise(&d);
        CHECK_STATUS(mt_add_grid(&ctx, &m, 0, D, sum), MCAMP_OK);
        p = mcamp__noise_part(&m, TASK + 1, 1);
        if (fault) ((double *)m.state)[p.offset] = NAN;
        CHECK_STATUS(mt_add_grid(&ctx, &m, 1, TASK - 2, sum), MCAMP_OK);
        CHECK_STATUS(mt_add_grid(&ctx, &m, 1, 5, sum + TASK - 2),
                     fault ? MCAMP_E_NONFINITE : MCAMP_OK);
        mcamp_noise_free(&ctx, &m);
    }
    mcamp_mech_free(&ctx, &c);
}

/* The integer is the same wherever the search for it begins. */
TEST(exact_rounding_does_not_depend_on_the_guess)
{
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    mcamp__chunk k;
    start();
    c = make(0);
    d = desc_of(&c, 40);
    d.grid = ldexp(1, -4);
    m = open_noise(&d);
    memset(&k, 0, sizeof k);
    k.m = &m;
    k.factor = mcamp__noise_factor(&m, 0, 1);
    for (uint64_t i = 0; i < 40; i++) {
        double z, y;
        mcamp__stream_normals(ctx.vec, mcamp__noise_stream(&m), 0, i, 1, &z);
        y = floor(k.factor * z + 0.25 + 0.5);
        for (int from = -3; from <= 3; from++)
            CHECK_NEAR(mcamp__lattice_exact(&k, i, 0.25, y + from), y, 0, 0);
    }
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

TEST(rounding_is_half_up)
{
    CHECK(mcamp__to_grid(0.5) == 1 && mcamp__to_grid(-0.5) == 0);
    CHECK(mcamp__to_grid(1.5) == 2 && mcamp__to_grid(-1.5) == -1);
    CHECK(mcamp__to_grid(0.49999999999999994) == 0);        /* x + 1/2 rounds to 1 */
    CHECK(mcamp__to_grid(1125899906842623.5) == INT64_C(1) << 50);
}

/* The largest |row of C^-1|_1, from its columns. */
static double reach(const mcamp_mech *c)
{
    static double y[N][N];
    double most = 0;
    for (size_t j = 0; j < N; j++) {
        for (size_t t = 0; t < N; t++) y[j][t] = t == j;
        CHECK_STATUS(mcamp_mech_solve(&ctx, c, y[j], y[j]), MCAMP_OK);
    }
    for (size_t t = 0; t < N; t++) {
        double sum = 0;
        for (size_t j = 0; j < N; j++) sum += fabs(y[j][t]);
        if (sum > most) most = sum;
    }
    return most;
}

/* Noise that left the integers would be stopped, or wrap around with no low bits: the sum
 * would be released as it is.  No accepted grid lets it.                        */
TEST(grids_that_noise_could_leave_are_refused)
{
    static const double small = 1e-6, growing[2] = { 1, 2 };
    mcamp_mech_desc md;
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    int tried = 0;
    int64_t x[4] = { INT64_C(1) << 62, -(INT64_C(1) << 62), 0, 0 };
    start();
    for (int i = 0; i < 2 * KINDS; i++) {
        static double coef[N * N];
        md = strategy(i % KINDS);       /* and with inverses a thousand times larger */
        for (size_t j = 0; j < md.count && md.coef; j++)
            coef[j] = md.coef[j] * (md.kind == MCAMP_MECH_INVERSE ? 1e3 : 1e-3);
        if (md.coef && i >= KINDS) md.coef = coef;
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
        d = desc_of(&c, 4);
        for (int e = 44; e > 0; e--) {
            double most, half, s, w[N];
            d.grid = ldexp(1, -e);
            d.sigma = 0.75;
            most = reach(&c);
            half = 0.5 * d.grid * mcamp__inverse_reach(&c, w).diag;
            s = (ldexp(d.grid, 50) / most - half) / (13.38 * 2);    /* the largest sigma */
            d.sigma = s * (1 - 1e-9);
            if (d.sigma * 2 < d.grid || d.sigma * 2 > ldexp(d.grid, 40)) continue;
            tried++;
            m = open_noise(&d);
            mcamp_noise_free(&ctx, &m);
            d.sigma = s * (1 + 1e-9);
            CHECK_STATUS(mcamp_noise_init(&ctx, &d, &m), MCAMP_E_ARG);
            CHECK(!strcmp(mcamp_last_error(&ctx).argument, "grid"));
        }
        mcamp_mech_free(&ctx, &c);
    }
    CHECK(tried > 100);
    for (int k = 0; k < 2; k++) {
        memset(&md, 0, sizeof md);
        md.kind = MCAMP_MECH_TOEPLITZ; md.n = k ? 1200 : 20;
        md.coef = k ? growing : &small; md.count = k ? 2 : 1;
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
        d = desc_of(&c, 4);
        d.clip_norm = 1;
        d.sigma = k ? 8 : 4e-6;
        d.grid = k ? 1 : ldexp(1, -61);
        CHECK_STATUS(mcamp_noise_init(&ctx, &d, &m), MCAMP_E_ARG);
        mcamp_mech_free(&ctx, &c);
    }
    c = make(1);                /* the largest sums that are taken, with noise */
    d = desc_of(&c, 4);
    d.grid = ldexp(1, -20);
    m = open_noise(&d);
    CHECK_STATUS(mt_add_grid(&ctx, &m, 0, 4, x), MCAMP_OK);
    CHECK(x[0] != INT64_C(1) << 62 && llabs(x[0] - (INT64_C(1) << 62)) < 1 << 26);
    CHECK(x[1] != -(INT64_C(1) << 62) && llabs(x[1] + (INT64_C(1) << 62)) < 1 << 26);
    x[0] = x[1] = 0;
    x[3] = (INT64_C(1) << 62) + 1;
    CHECK_STATUS(mt_add_grid(&ctx, &m, 1, 4, x), MCAMP_E_ARG);
    x[3] = -x[3];
    CHECK_STATUS(mt_add_grid(&ctx, &m, 1, 4, x), MCAMP_E_ARG);
    CHECK(!x[0] && !x[1] && mcamp_noise_step(&m) == 1);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

/* In floating point noise that overflows is an error, and the stream's end. */
TEST(infinite_noise_is_not_done)
{
    enum { D = 3 };
    static const double growing[2] = { 1, 2 };
    double out[D], big[D] = { 0 };
    float f[D];
    size_t t = 0;
    mcamp_status st = MCAMP_OK;
    mcamp_mech_desc md;
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m, n;
    start();
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_TOEPLITZ; md.n = 1200;
    md.coef = growing; md.count = 2;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
    d = desc_of(&c, D);
    m = open_noise(&d);
    n = open_noise(&d);
    for (; t < 1200 && st == MCAMP_OK; t++) {
        st = mt_next(&ctx, &m, t, D, out);
        if (st == MCAMP_OK) memcpy(big, out, sizeof big);
    }
    CHECK_STATUS(st, MCAMP_E_NONFINITE);
    CHECK(t > 1000 && fabs(big[0]) < mcamp__inf() && fabs(big[2]) > 1e290);
    for (size_t i = 0; i < D; i++) CHECK_NEAR(out[i], 0, 0, 0);
    CHECK_STATUS(mt_next(&ctx, &m, t - 1, D, out), MCAMP_E_STEP);
    CHECK_STATUS(mt_next(&ctx, &m, t, D, out), MCAMP_E_STEP);
    for (t = 0, st = MCAMP_OK; t < 1200 && st == MCAMP_OK; t++)
        st = mt_next_float(&ctx, &n, t, D, f);
    CHECK_STATUS(st, MCAMP_E_NONFINITE);
    CHECK(t > 100 && t < 140);              /* 2^127 */
    for (size_t i = 0; i < D; i++) CHECK_NEAR((double)f[i], 0, 0, 0);
    mcamp_noise_free(&ctx, &m);
    mcamp_noise_free(&ctx, &n);
    mcamp_mech_free(&ctx, &c);
}

/* The attack on floating-point noise (Mironov 2012; Haney et al. 2022): the sum x + z
 * of doubles is a multiple of the last place of the larger one, so that a small release
 * whose bits reach below 2^-53 can't have come from x = 1.  The adversary sees one
 * release, knows that the sum is 0 or 1 with equal odds, and guesses; trials in which
 * |release| >= 1/2 are left out, as he may.  He must win against plain addition, and
 * do no better than chance (two-sided 6.11 sigma) on the lattice. */
static int guess(double release)
{
    double scaled = release * 9007199254740992.0;      /* 2^53 */
    return mcamp__eq(scaled, floor(scaled));           /* 1: may have come from x = 1 */
}

TEST(low_bits_betray_plain_addition_but_not_the_lattice)
{
    enum { D = 4096, R = 64 };
    double naive_right = 0, naive_seen = 0, ours_right = 0, ours_seen = 0;
    static double x[D], real[D];
    static int64_t q[D];
    static int secret[D];
    uint64_t seed = 77;
    mcamp_mech c;
    mcamp_mech_desc md;
    mcamp_noise_desc d;
    mcamp_noise naive, ours;
    start();
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_IDENTITY; md.n = R;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
    d = desc_of(&c, D);
    d.sigma = 1; d.clip_norm = 1;
    naive = open_noise(&d);
    d.grid = ldexp(1, -20);
    ours = open_noise(&d);
    for (size_t t = 0; t < R; t++) {
        for (size_t i = 0; i < D; i++) {
            secret[i] = (int)(mcamp__splitmix(&seed) >> 63);
            x[i] = secret[i];
            q[i] = (int64_t)secret[i] << 20;
        }
        CHECK_STATUS(mt_add(&ctx, &naive, t, D, x), MCAMP_OK);
        CHECK_STATUS(mt_add_grid(&ctx, &ours, t, D, q), MCAMP_OK);
        CHECK_STATUS(mcamp_noise_from_grid(&ctx, &ours, q, D, real), MCAMP_OK);
        for (size_t i = 0; i < D; i++) {
            int s;
            if (fabs(x[i]) < 0.5) {
                naive_seen++;
                naive_right += guess(x[i]) == secret[i];
                if (!guess(x[i])) CHECK(secret[i] == 0);
            }
            /* supports must coincide: he can but toss a coin, here by the parity */
            if (fabs(real[i]) >= 0.5) continue;
            CHECK(guess(real[i]) == 1);
            s = (int)(q[i] & 1);
            ours_seen++;
            ours_right += s == secret[i];
        }
    }
    CHECK_LE(0.75, naive_right / naive_seen);       /* and "not 1" is never wrong */
    CHECK_LE(fabs(ours_right - ours_seen / 2), 6.11 * sqrt(ours_seen / 4));
    mcamp_noise_free(&ctx, &naive);
    mcamp_noise_free(&ctx, &ours);
    mcamp_mech_free(&ctx, &c);
}

/* ---- saved states -------------------------------------------------------- */

static unsigned char *save(const mcamp_noise *m, size_t *size)
{
    unsigned char *p;
    size_t again = 0;
    CHECK_STATUS(mcamp_noise_save(&ctx, m, NULL, 0, size), MCAMP_OK);
    p = (unsigned char *)malloc(*size);
    CHECK_STATUS(mcamp_noise_save(&ctx, m, p, *size - 1, &again), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_noise_save(&ctx, m, p, *size, &again), MCAMP_OK);
    CHECK(again == *size);
    return p;
}

TEST(resume_at_every_round_continues_byte_for_byte)
{
    enum { D = 531 };
    static double all[N * D], rest[D];
    start();
    for (int i = 0; i < KINDS; i++) {
        for (int type = 1; type <= 2; type++) {
            mcamp_mech c = make(i);
            mcamp_noise_desc d = desc_of(&c, D);
            mcamp_noise m;
            d.type = (mcamp_noise_type)type;
            run_all(&d, all, D);
            m = open_noise(&d);
            for (size_t t = 0; t <= N; t++) {
                size_t size;
                unsigned char *blob = save(&m, &size);
                mcamp_noise r = open_noise(&d);
                CHECK_STATUS(mcamp_noise_load(&ctx, &r, blob, size), MCAMP_OK);
                for (size_t s = t; s < N; s++) {
                    CHECK_STATUS(mt_next(&ctx, &r, s, D, rest), MCAMP_OK);
                    CHECK(!memcmp(rest, all + s * D, sizeof rest));
                }
                mcamp_noise_free(&ctx, &r);
                free(blob);
                if (t < N) CHECK_STATUS(mt_next(&ctx, &m, t, D, rest), MCAMP_OK);
            }
            mcamp_noise_free(&ctx, &m);
            mcamp_mech_free(&ctx, &c);
        }
    }
}

TEST(every_truncation_and_every_flipped_bit_is_refused)
{
    enum { D = 21 };
    double out[D];
    start();
    for (int type = 1; type <= 2; type++) {
        mcamp_mech c = make(1);
        mcamp_noise_desc d = desc_of(&c, D);
        mcamp_noise m, r, before;
        unsigned char *blob, *more;
        size_t size;
        d.type = (mcamp_noise_type)type;
        m = open_noise(&d);
        for (size_t t = 0; t < 5; t++)
            CHECK_STATUS(mt_next(&ctx, &m, t, D, out), MCAMP_OK);
        blob = save(&m, &size);
        more = (unsigned char *)malloc(size + 8);
        memcpy(more, blob, size);
        memset(more + size, 0, 8);
        r = open_noise(&d);
        before = r;
        for (size_t len = 0; len < size; len++) {
            unsigned char *cut = (unsigned char *)malloc(len ? len : 1);
            memcpy(cut, blob, len);
            CHECK_STATUS(mcamp_noise_load(&ctx, &r, cut, len), MCAMP_E_BLOB);
            CHECK(!strcmp(mcamp_last_error(&ctx).argument, "size"));
            free(cut);
        }
        for (size_t len = size + 1; len <= size + 8; len += 7) {
            CHECK_STATUS(mcamp_noise_load(&ctx, &r, more, len), MCAMP_E_BLOB);
            CHECK(!strcmp(mcamp_last_error(&ctx).argument, "size"));
        }
        for (size_t bit = 0; bit < 8 * size; bit++) {
            blob[bit / 8] ^= (unsigned char)(1 << bit % 8);
            CHECK(mcamp_noise_load(&ctx, &r, blob, size) == MCAMP_E_BLOB);
            blob[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        CHECK(!memcmp(&before, &r, sizeof r));
        for (size_t k = 0; k < r.rows * D && type == 1; k++)
            CHECK_NEAR(((double *)r.state)[k], 0, 0, 0);
        CHECK_STATUS(mcamp_noise_load(&ctx, &r, NULL, size), MCAMP_E_REQUIRED);
        CHECK_STATUS(mcamp_noise_load(&ctx, &r, blob, size), MCAMP_OK);
        free(blob);
        free(more);
        mcamp_noise_free(&ctx, &m);
        mcamp_noise_free(&ctx, &r);
        mcamp_mech_free(&ctx, &c);
    }
}

TEST(states_of_another_stream_are_refused_by_name)
{
    double out[40];
    mcamp_mech c, c2;
    mcamp_noise_desc d, o;
    mcamp_noise m, r;
    unsigned char *blob;
    size_t size;
    start();
    c = make(1);
    c2 = make(4);
    d = desc_of(&c, 40);
    m = open_noise(&d);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 40, out), MCAMP_OK);
    blob = save(&m, &size);
#define OTHER(change, name) \
    do { o = d; change; r = open_noise(&o); \
         CHECK_STATUS(mcamp_noise_load(&ctx, &r, blob, size), MCAMP_E_MISMATCH); \
         CHECK(!strcmp(mcamp_last_error(&ctx).argument, name)); \
         CHECK(mcamp_noise_step(&r) == 0); mcamp_noise_free(&ctx, &r); } while (0)
    OTHER(o.mech = &c2, "mech");
    OTHER(o.sigma = 0.76, "sigma");
    OTHER(o.clip_norm = 3, "clip_norm");
    OTHER((o.unit = MCAMP_NOISE_MEAN, o.batch = 4), "unit");
    OTHER(o.dim = 41, "dim");
    OTHER((o.first = 1, o.count = 39), "first");
    OTHER(o.count = 20, "count");
    OTHER(o.store = MCAMP_NOISE_REGENERATED, "store");
    OTHER(o.type = MCAMP_NOISE_FLOAT, "type");
    OTHER(o.grid = 0.25, "grid");
    OTHER(mcamp_key_insecure_test(43, &o.key), "key");
#undef OTHER
    free(blob);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
    mcamp_mech_free(&ctx, &c2);
}

TEST(there_is_no_going_back)
{
    double a[30];
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m;
    unsigned char *blob;
    size_t size;
    start();
    c = make(6);
    d = desc_of(&c, 30);
    m = open_noise(&d);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 30, a), MCAMP_OK);
    blob = save(&m, &size);
    CHECK_STATUS(mcamp_noise_load(&ctx, &m, blob, size), MCAMP_OK);     /* same round */
    CHECK_STATUS(mt_next(&ctx, &m, 1, 10, a), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_load(&ctx, &m, blob, size), MCAMP_E_STEP); /* half released */
    CHECK_STATUS(mcamp_noise_save(&ctx, &m, NULL, 0, &size), MCAMP_E_STEP);
    CHECK_STATUS(mt_next(&ctx, &m, 1, 20, a + 10), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_load(&ctx, &m, blob, size), MCAMP_E_STEP);
    CHECK(mcamp_noise_step(&m) == 2);
    free(blob);
    mcamp_noise_free(&ctx, &m);
    mcamp_mech_free(&ctx, &c);
}

static void set_word(unsigned char *blob, size_t i, uint64_t x)
{
    mcamp__put64(blob + 8 * i, x);
}

/* Headers with one word changed and a right checksum: the field is named, or it is no
 * blob at all.                                                                   */
TEST(forged_headers_are_refused_word_by_word)
{
    static const char *const name[19] = { "version", "version", "size", "mech", "mech",
        "sigma", "clip_norm", "unit", "batch", "dim", "first", "count", "store", "store",
        "type", "grid", "blob", "key", "blob" };
    double out[40];
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m, r;
    unsigned char *blob;
    size_t size;
    start();
    c = make(1);
    d = desc_of(&c, 40);
    d.unit = MCAMP_NOISE_MEAN;
    d.batch = 4;
    m = open_noise(&d);
    r = open_noise(&d);
    for (size_t t = 0; t < 5; t++)
        CHECK_STATUS(mt_next(&ctx, &m, t, 40, out), MCAMP_OK);
    for (size_t i = 0; i < 19; i++) {
        uint64_t sum = 0, w;
        blob = save(&m, &size);
        set_word(blob, i, mcamp__get64(blob + 8 * i) + 1);
        for (size_t k = 0; k < 19; k++) {
            w = mcamp__get64(blob + 8 * k);
            sum = mcamp__hash_word(sum, w);
        }
        set_word(blob, 19, sum);
        CHECK_STATUS(mcamp_noise_load(&ctx, &r, blob, size),
                     i < 2 || i == 18 ? MCAMP_E_BLOB : MCAMP_E_MISMATCH);
        if (i != 2) CHECK(!strcmp(mcamp_last_error(&ctx).argument, name[i]));
        CHECK(mcamp_noise_step(&r) == 0);
        free(blob);
    }
    d.batch = 5;                /* nor is one of another mean */
    mcamp_noise_free(&ctx, &r);
    r = open_noise(&d);
    blob = save(&m, &size);
    CHECK_STATUS(mcamp_noise_load(&ctx, &r, blob, size), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "batch"));
    free(blob);
    d.batch = 4;
    mcamp_noise_free(&ctx, &r);
    r = open_noise(&d);
    /* a state of the right key that stands beyond the last round; a byte too long */
    m.step = N + 1;
    blob = save(&m, &size);
    CHECK_STATUS(mcamp_noise_load(&ctx, &r, blob, size), MCAMP_E_BLOB);
    free(blob);
    m.step = N;
    blob = save(&m, &size);
    blob = (unsigned char *)realloc(blob, size + 1);
    blob[size] = 0;
    CHECK_STATUS(mcamp_noise_load(&ctx, &r, blob, size + 1), MCAMP_E_BLOB);
    CHECK_STATUS(mcamp_noise_load(&ctx, &r, blob, size), MCAMP_OK);
    CHECK(mcamp_noise_step(&r) == N);
    free(blob);
    mcamp_noise_free(&ctx, &m);
    mcamp_noise_free(&ctx, &r);
    mcamp_mech_free(&ctx, &c);
}

/* Two streams at one (key, round) must not hide their rows under the same mask. */
TEST(blobs_hide_what_they_hold)
{
    double out[64];
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m, r;
    unsigned char *a, *b;
    size_t size, same = 0;
    start();
    c = make(1);
    d = desc_of(&c, 128);
    d.count = 64;
    m = open_noise(&d);
    d.sigma = 0.8;          /* the same rows */
    r = open_noise(&d);
    CHECK_STATUS(mt_next(&ctx, &m, 0, 64, out), MCAMP_OK);
    CHECK_STATUS(mt_next(&ctx, &r, 0, 64, out), MCAMP_OK);
    a = save(&m, &size);
    b = save(&r, &size);
    for (size_t i = 160; i < size; i++) same += a[i] == b[i];
    CHECK(same < size / 16);
    free(a); free(b);
    mcamp_noise_free(&ctx, &m);
    mcamp_noise_free(&ctx, &r);
    mcamp_mech_free(&ctx, &c);
}

/* Blobs of version 2, kept for ever: tests/vectors/noise_blob.txt holds them in hex,
 * "name kind type step hex". */
static void golden_line(const char *line, void *user)
{
    enum { D = 3 };
    int kind, type;
    unsigned long step;
    static char hex[1000];
    unsigned char blob[500];
    size_t size = 0;
    double want[D], got[D];
    mcamp_mech c;
    mcamp_noise_desc d;
    mcamp_noise m, r;
    (void)user;
    CHECK(sscanf(line, "%*s %d %d %lu %999s", &kind, &type, &step, hex) == 4);
    for (; hex[2 * size]; size++) {
        unsigned byte;
        sscanf(hex + 2 * size, "%2x", &byte);
        blob[size] = (unsigned char)byte;
    }
    c = make(kind);
    d = desc_of(&c, D);
    d.type = (mcamp_noise_type)type;
    m = open_noise(&d);
    r = open_noise(&d);
    CHECK_STATUS(mcamp_noise_load(&ctx, &r, blob, size), MCAMP_OK);
    CHECK(mcamp_noise_step(&r) == step);
    for (size_t t = 0; t < step; t++)
        CHECK_STATUS(mt_next(&ctx, &m, t, D, want), MCAMP_OK);
    CHECK_STATUS(mt_next(&ctx, &m, step, D, want), MCAMP_OK);
    CHECK_STATUS(mt_next(&ctx, &r, step, D, got), MCAMP_OK);
    CHECK(!memcmp(want, got, sizeof want));
    mcamp_noise_free(&ctx, &m);
    mcamp_noise_free(&ctx, &r);
    mcamp_mech_free(&ctx, &c);
}

TEST(golden_blobs_still_load)
{
    start();
    if (getenv("MCAMP_WRITE_GOLDEN")) {     /* how they were made */
        static const int kind[] = { 0, 1, 6, 8, 2 };
        for (int q = 0; q < 10; q++) {
            mcamp_mech c = make(kind[q / 2]);
            mcamp_noise_desc d = desc_of(&c, 3);
            mcamp_noise m;
            double out[3];
            unsigned char *blob;
            size_t size;
            d.type = (mcamp_noise_type)(1 + q % 2);
            m = open_noise(&d);
            for (size_t t = 0; t < 5; t++)
                CHECK_STATUS(mt_next(&ctx, &m, t, 3, out), MCAMP_OK);
            blob = save(&m, &size);
            printf("v2 %d %d 5 ", kind[q / 2], 1 + q % 2);
            for (size_t i = 0; i < size; i++) printf("%02x", blob[i]);
            printf("\n");
            free(blob);
            mcamp_noise_free(&ctx, &m);
            mcamp_mech_free(&ctx, &c);
        }
        return;
    }
    CHECK(mt_vectors("noise_blob.txt", golden_line, NULL) == 10);
}

TEST_MAIN("noise",
    T(impulses_give_the_columns_of_the_inverse),
    T(streams_are_the_inverse_times_z),
    T(bits_do_not_depend_on_chunks_threads_slices_or_sets),
    T(floats_and_sums_are_the_doubles_rounded),
    T(sampled_covariance_is_that_of_the_inverse),
    T(replay_makes_released_rounds_again_and_no_others),
    T(an_inverse_of_one_band_keeps_nothing),
    T(tails_are_those_of_the_key),
    T(noise_is_never_less_than_sigma_says),
    T(another_c_in_its_place_is_refused),
    T(nothing_secret_stays_on_the_stack),
    T(no_round_is_made_twice_or_skipped),
    T(gradients_that_are_not_finite_are_refused_untouched),
    T(bad_descriptors_are_refused),
    T(memory_is_what_was_announced_and_may_be_the_callers),
    T(failed_allocations_leave_nothing_behind),
    T(one_key_gives_unrelated_streams_unrelated_noise),
    T(regenerated_lattice_noise_is_the_noise_rounded_half_up),
    T(lattice_noise_is_rounded_within_the_recursion),
    T(fine_grids_round_the_true_normal),
    T(bounds_are_decided_to_the_last_digit),
    T(normals_in_doubles_are_within_their_bound),
    T(computed_sums_of_the_past_are_within_their_bound),
    T(numerics_are_counted_for_all_rounds_and_coordinates),
    T(sums_of_normals_are_decided_to_the_last_digit),
    T(noise_made_again_is_rounded_as_if_there_were_no_errors),
    T(rows_of_the_inverse_are_within_their_bound),
    T(tiny_normals_count_for_more_doubt),
    T(the_root_of_nothing_is_nothing),
    T(no_bound_for_an_inverse_that_is_not_known),
    T(numerics_of_noise_made_again),
    T(errors_of_buffers_add_up),
    T(lattice_integers_depend_on_nothing_else),
    T(lattice_noise_that_is_no_number_is_not_added),
    T(the_last_task_of_a_chunk_is_looked_at),
    T(exact_rounding_does_not_depend_on_the_guess),
    T(rounding_is_half_up),
    T(grids_that_noise_could_leave_are_refused),
    T(infinite_noise_is_not_done),
    T(low_bits_betray_plain_addition_but_not_the_lattice),
    T(resume_at_every_round_continues_byte_for_byte),
    T(every_truncation_and_every_flipped_bit_is_refused),
    T(states_of_another_stream_are_refused_by_name),
    T(forged_headers_are_refused_word_by_word),
    T(there_is_no_going_back),
    T(blobs_hide_what_they_hold),
    T(golden_blobs_still_load))
