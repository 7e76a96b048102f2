/* Section modes: G against brute force for every family and every b, reference
 * cases, structure, refusals, sizes that only closed forms can handle.        */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mech_common.h"

/* m_i by its definition, and G in long double. */
static void brute_modes(const family *f, size_t n, size_t b, double *mode, double *g)
{
    memset(mode, 0, b * n * sizeof *mode);
    for (size_t j = 0; j < n; j++)
        for (size_t r = j; r < n; r++)
            mode[(j % b) * n + r] += fabs(f->c[r * n + j]);
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++) {
            long double s = 0;
            for (size_t r = 0; r < n; r++)
                s += (long double)mode[i * n + r] * (long double)mode[j * n + r];
            g[i * b + j] = (double)s;
        }
}

static void check_structure(const mcamp_gram *q)
{
    double top = 0;
    size_t b = q->b;
    for (size_t i = 0; i < b; i++) {
        top = mcamp__dmax(top, mcamp__gram_at(q, i, i));
        for (size_t j = 0; j < b; j++) {
            size_t d = i > j ? i - j : j - i, around = d < b - d ? d : b - d;
            if (q->kind == MCAMP_GRAM_DIAGONAL && i != j)
                CHECK(mcamp__eq(mcamp__gram_at(q, i, j), 0));
            if (around > q->width) CHECK(mcamp__eq(mcamp__gram_at(q, i, j), 0));
            CHECK(mcamp__eq(mcamp__gram_at(q, i, j), mcamp__gram_at(q, j, i)));
        }
    }
    CHECK_NEAR(q->max_norm, sqrt(top), 0, 0);
    CHECK(q->count == (q->kind == MCAMP_GRAM_DIAGONAL ? b : b * b));
    CHECK((q->kind == MCAMP_GRAM_DIAGONAL) == (q->width == 0));
    CHECK((q->kind == MCAMP_GRAM_BANDED) == (q->width > 0 && 2 * q->width + 1 < b));
}

TEST(gram_agrees_with_brute_force_for_every_b)
{
    static const size_t sizes[] = { 1, 2, 5, 12, 23 };
    family *f = (family *)malloc(sizeof *f);
    double *mode = (double *)malloc(NMAX * NMAX * 2 * sizeof *mode);
    double *g = (double *)malloc(NMAX * NMAX * sizeof *g);
    setup();
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int k = 0; k < NFAMILY; k++) {
            size_t n = sizes[s];
            mcamp_mech m;
            family_make(f, k, n);
            CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
            for (size_t b = 1; b <= n + 3; b++) {
                mcamp_gram q;
                brute_modes(f, n, b, mode, g);
                CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, &q), MCAMP_OK);
                CHECK(q.b == b && q.n == n && q.negative == m.negative);
                check_structure(&q);
                for (size_t i = 0; i < b; i++)
                    for (size_t j = 0; j < b; j++)
                        CHECK_NEAR(mcamp__gram_at(&q, i, j), g[i * b + j], 1e-14, 0);
                mcamp_gram_free(&ctx, &q);
                mcamp_gram_free(&ctx, &q);
            }
            mcamp_mech_free(&ctx, &m);
        }
    free(f); free(mode); free(g);
}

/* ---- reference cases: {|m_0|, |m_{b-1}|, max |m_i|, G_01, sum G} ---------- */

static void check_reference(const mcamp_mech_desc *d, size_t b, const double *want)
{
    mcamp_mech m;
    mcamp_gram q;
    double sum = 0;
    CHECK_STATUS(mcamp_mech_init(&ctx, d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, &q), MCAMP_OK);
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++) sum += mcamp__gram_at(&q, i, j);
    CHECK_NEAR(sqrt(mcamp__gram_at(&q, 0, 0)), want[0], 1e-12, 0);
    CHECK_NEAR(sqrt(mcamp__gram_at(&q, b - 1, b - 1)), want[1], 1e-12, 0);
    CHECK_NEAR(q.max_norm, want[2], 1e-12, 0);
    CHECK_NEAR(mcamp__gram_at(&q, 0, 1), want[3], 1e-12, 0);
    CHECK_NEAR(sum, want[4], 1e-12, 0);
    mcamp_gram_free(&ctx, &q);
    mcamp_mech_free(&ctx, &m);
}

TEST(reference_square_root)
{
    static const struct { size_t n, bands, b; double want[5]; } ref[] = {
        { 8, 0, 2, { 3.571932869456594, 3.339268185283211, 3.571932869456594,
                     9.749284267425537, 43.40798497200012 } },
        { 64, 16, 4, { 8.862600960934566, 8.706929175673563, 8.862600960934566,
                       69.94217362460317, 1130.9026722208637 } },
        { 64, 16, 8, { 4.804230136641945, 4.632515955250939, 4.804230136641945,
                       18.75621934218469, 1130.9026722208641 } },
        { 2048, 64, 128, { 6.182359560291438, 6.06899675600766, 6.182359560291438,
                           27.995472713223975, 163668.7417290095 } },
        { 2048, 0, 128, { 14.028169642709798, 13.290663101813493, 14.028169642709798,
                          186.5487455494399, 2670829.093558787 } } };
    mcamp_mech_desc d;
    setup();
    for (size_t i = 0; i < sizeof ref / sizeof ref[0]; i++) {
        memset(&d, 0, sizeof d);
        d.kind = MCAMP_MECH_SQRT; d.n = ref[i].n; d.bands = ref[i].bands;
        check_reference(&d, ref[i].b, ref[i].want);
    }
}

TEST(reference_toeplitz_and_blt)
{
    static const struct { size_t b; double want[5]; } ref[] = {
        { 2, { 8.544003745317536, 8.526774440135101, 8.544003745317536,
               57.90588235294112, 261.51764705882357 } },
        { 10, { 3.1622776601683786, 3.1229699288450705, 3.1622776601683786,
                4.941176470588233, 261.5176470588234 } },
        { 100, { 0.9999999999999999, 0.8677218312746247, 0.9999999999999999,
                 0.4941176470588235, 261.5176470588235 } } };
    static const double want_columns[5] = { 3.1622776601683786, 3.1622776601683786,
        3.1622776601683786, 4.941176470588233, 262.13021522679384 };
    static const double want_ones[5] = { 3.1622776601683795, 2.449489742783178,
        3.1622776601683795, 7.0, 30.0 };
    static const double want_blt[5] = { 5.197453479444603, 5.131939747746664,
        5.197453479444603, 15.996671450828837, 97470.45438271803 };
    double c[4] = { 1, 0.5, 0.25, 0.125 }, ones[4] = { 1, 1, 1, 1 }, s[100];
    double th[2] = { 0.7, 0.98 }, om[2] = { 0.3, 0.1 };
    mcamp_mech m;
    mcamp_mech_desc d;
    setup();
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_TOEPLITZ; d.n = 100; d.coef = c; d.count = 4;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp__mech_norms(&ctx, &m, s, NULL), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
    d.normalize = true;
    for (size_t i = 0; i < 3; i++) check_reference(&d, ref[i].b, ref[i].want);
    for (size_t j = 0; j < 100; j++) s[j] = 1 / s[j];
    d.normalize = false; d.scale = s;               /* each column by its norm */
    check_reference(&d, 10, want_columns);
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_TOEPLITZ; d.n = 4; d.coef = ones; d.count = 4;
    check_reference(&d, 2, want_ones);
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_BLT; d.n = 2048; d.theta = th; d.omega = om; d.buffers = 2;
    check_reference(&d, 128, want_blt);
}

/* The same matrix through the lag sums, the slabs, and as a BLT. */
static void compare(const mcamp_mech_desc *x, const mcamp_mech_desc *y, size_t b)
{
    mcamp_mech m[2];
    mcamp_gram q[2];
    double worst = 0;
    CHECK_STATUS(mcamp_mech_init(&ctx, x, &m[0]), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_init(&ctx, y, &m[1]), MCAMP_OK);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(mcamp_gram_init(&ctx, &m[i], b, &q[i]), MCAMP_OK);
    CHECK(q[0].kind == q[1].kind && q[0].width == q[1].width);
    CHECK(q[0].digest != q[1].digest);
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++) {
            double u = mcamp__gram_at(&q[0], i, j), v = mcamp__gram_at(&q[1], i, j);
            if (!mcamp__eq(u, v)) worst = mcamp__dmax(worst, fabs(u - v) / u);
        }
    CHECK_LE(worst, 3e-14);
    for (int i = 0; i < 2; i++) {
        mcamp_gram_free(&ctx, &q[i]);
        mcamp_mech_free(&ctx, &m[i]);
    }
}

TEST(lag_sums_agree_with_slabs)
{
    static const struct { size_t n, w, b; } cs[] = {
        { 2048, 64, 128 }, { 2048, 2048, 128 }, { 3001, 70, 50 }, { 3001, 33, 700 },
        { 500, 499, 3 }, { 1000, 16, 1 }, { 700, 300, 299 }, { 100, 7, 1000 },
        { 1500, 300, 1100 }, { 1300, 400, 700 } };
    double *c = (double *)malloc(3001 * sizeof *c), *s = (double *)malloc(3001 * sizeof *s);
    mcamp_mech_desc x, y;
    setup();
    for (size_t k = 0; k < 3001; k++) { c[k] = test_rand() - 0.3; s[k] = 1; }
    c[0] = 1;
    memset(&x, 0, sizeof x);
    x.kind = MCAMP_MECH_TOEPLITZ; x.coef = c;
    for (size_t i = 0; i < sizeof cs / sizeof cs[0]; i++) {
        x.n = cs[i].n; x.count = cs[i].w;
        y = x; y.scale = s;
        compare(&x, &y, cs[i].b);
    }
    free(c); free(s);
}

/* 2^54 and then 0.1 twenty thousand times, less than half a unit in each slab. */
TEST(slabs_are_compensated)
{
    enum { N = 20001 };
    double *c = (double *)calloc(2 * N, sizeof *c);
    mcamp_mech_desc d;
    mcamp_mech m;
    mcamp_gram q;
    setup();
    for (size_t i = 1; i < N; i++) c[2 * i] = 0.1;
    c[0] = 134217728;
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_BANDED; d.n = N; d.bands = 2; d.coef = c; d.count = 2 * N - 1;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, 1, &q), MCAMP_OK);
    CHECK_NEAR(mcamp__gram_at(&q, 0, 0) - 18014398509481984.0 / 1, 200, 0, 8);
    CHECK_LE(c[0] * c[0], 18014398509481984.0);
    mcamp_gram_free(&ctx, &q);
    mcamp_mech_free(&ctx, &m);
    free(c);
}

/* 1e16 and then 0.9 in each later column of one row, less than half a unit, all one mode. */
TEST(rows_that_fold_are_compensated)
{
    enum { N = 300 };
    double *c = (double *)calloc(N * N, sizeof *c);
    mcamp_mech_desc d;
    mcamp_mech m;
    mcamp_gram q;
    setup();
    for (size_t i = 0; i < N; i++) c[i * N + i] = 1;
    for (size_t i = 0; i < N; i++) c[(N - 1) * N + i] = i ? 0.9 : 1e16;
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_DENSE; d.n = N; d.coef = c; d.count = N * N;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, 1, &q), MCAMP_OK);
    CHECK_NEAR(sqrt(mcamp__gram_at(&q, 0, 0)) - 1e16, 0.9 * (N - 1), 0, 4);
    mcamp_gram_free(&ctx, &q);
    mcamp_mech_free(&ctx, &m);
    free(c);
}

TEST(scaled_blt_by_pairs_agrees_with_slabs)
{
    static const struct { size_t n, b; } cs[] = {
        { 3000, 50 }, { 2999, 128 }, { 700, 699 }, { 500, 500 }, { 500, 600 }, { 900, 1 } };
    double th[4] = { 0, 0.9, 1 - 1.0 / 4096, 1 }, om[4] = { 0.2, 0.1, 0.05, 0.01 };
    double *s = (double *)malloc(3000 * sizeof *s);
    double *g = (double *)malloc(2 * 700 * 700 * sizeof *g), *h = g + 700 * 700;
    size_t tasks = 0;
    mcamp_mech_desc d;
    setup();
    for (size_t j = 0; j < 3000; j++) s[j] = 0.5 + test_rand();
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_BLT; d.theta = th; d.omega = om; d.buffers = 4; d.scale = s;
    for (size_t i = 0; i < sizeof cs / sizeof cs[0]; i++) {
        size_t b = cs[i].b;
        double worst = 0;
        mcamp_mech m;
        d.n = cs[i].n;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
        memset(g, 0, b * b * sizeof *g);
        memset(h, 0, b * b * sizeof *h);
        CHECK_STATUS(mcamp__gram_pairs(&ctx, &m, b, g), MCAMP_OK);
        CHECK_STATUS(mcamp__gram_rows(&ctx, &m, b, h), MCAMP_OK);
        for (size_t k = 0; k < b * b; k++)
            if (!mcamp__eq(g[k], h[k]))
                worst = mcamp__dmax(worst, fabs(g[k] - h[k]) / h[k]);
        CHECK_LE(worst, 3e-14);
        ctx.parallel.run = mt_backwards; ctx.parallel.user = &tasks;    /* by tasks the same */
        ctx.brisk = true;
        memset(h, 0, b * b * sizeof *h);
        CHECK_STATUS(mcamp__gram_pairs(&ctx, &m, b, h), MCAMP_OK);
        CHECK(!memcmp(g, h, b * b * sizeof *g));
        setup();
        mcamp_mech_free(&ctx, &m);
    }
    CHECK(tasks > 50);
    free(s); free(g);
}

/* ---- gradient ------------------------------------------------------------- */

static double value_of(const mcamp_mech_desc *md, size_t b, const double *d)
{
    mcamp_mech m;
    mcamp_gram q;
    double v = 0;
    CHECK_STATUS(mcamp_mech_init(&ctx, md, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, &q), MCAMP_OK);
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++) v += d[i * b + j] * mcamp__gram_at(&q, i, j);
    mcamp_gram_free(&ctx, &q);
    mcamp_mech_free(&ctx, &m);
    return v;
}

/* <D, G> is quadratic in every entry of C: central differences are exact but for
 * the BLT's decays and the inverse's coefficients, where they are extrapolated. */
static double slope(const mcamp_mech_desc *md, size_t b, const double *d, double *p,
                    double h)
{
    double x = *p, s[2];
    for (int k = 0; k < 2; k++) {
        double step = k ? h : 2 * h, up, down;
        *p = x + step; up = value_of(md, b, d);
        *p = x - step; down = value_of(md, b, d);
        s[k] = (up - down) / (2 * step);
    }
    *p = x;
    return (4 * s[1] - s[0]) / 3;
}

static void compare_slopes(const double *got, const double *want, size_t n)
{
    double top = 0;
    for (size_t i = 0; i < n; i++) top = mcamp__dmax(top, fabs(want[i]));
    for (size_t i = 0; i < n; i++) CHECK_NEAR(got[i], want[i], 0, 1e-7 * top + 1e-9);
}

static void check_gradient(family *f, size_t b, const double *d)
{
    static double coef[NMAX * NMAX], want[NMAX * NMAX];
    double th[3], om[3], ls[NMAX], v = 0;
    size_t n = f->d.n, count;
    mcamp_mech_desc md = f->d;
    mcamp__mech_grad g;
    mcamp_mech m;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    if (m.form == MCAMP_FORM_ROWS) {    /* the same C with entries that can move */
        md.kind = MCAMP_MECH_BANDED; md.bands = m.bands; md.count = m.count;
        md.scale = NULL;
        memcpy(f->coef, m.coef, m.count * sizeof *f->coef);
        for (size_t k = 0; k < m.count; k++)    /* |x| has no slope at 0 */
            if (fabs(f->coef[k]) < 1e-3) f->coef[k] = 0.01;
    } else if (m.inverse) {
        md.kind = MCAMP_MECH_INVERSE; md.count = m.inverse_bands;
        memcpy(f->coef, m.inverse, m.inverse_bands * sizeof *f->coef);
    } else if (m.form == MCAMP_FORM_TOEPLITZ) {
        md.kind = MCAMP_MECH_TOEPLITZ; md.count = m.count;
        memcpy(f->coef, m.coef, m.count * sizeof *f->coef);
    }
    md.coef = f->coef;
    mcamp_mech_free(&ctx, &m);
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    count = m.inverse ? m.inverse_bands : m.count;
    for (int pass = 0; pass < 2; pass++) {
        memset(&g, 0, sizeof g);
        if (m.form == MCAMP_FORM_BLT) { g.theta = th; g.omega = om; }
        else g.coef = coef;
        if (pass) g.log_scale = ls;
        CHECK_STATUS(mcamp__modes_gradient(&ctx, &m, b, d, &v, &g), MCAMP_OK);
        CHECK_NEAR(v, value_of(&md, b, d), 1e-12, 1e-12);
        for (size_t k = 0; k < m.buffers; k++)
            want[k] = slope(&md, b, d, f->theta + k, 1e-3 * f->theta[k]);
        compare_slopes(th, want, m.buffers);
        for (size_t k = 0; k < m.buffers; k++)
            want[k] = slope(&md, b, d, f->omega + k, 1e-3 * fabs(f->omega[k]));
        compare_slopes(om, want, m.buffers);
        for (size_t k = 0; k < count; k++)
            want[k] = slope(&md, b, d, f->coef + k, 1e-4);
        compare_slopes(coef, want, count);
    }
    if (!md.scale) for (size_t j = 0; j < n; j++) f->scale[j] = 1;
    md.scale = f->scale;
    for (size_t j = 0; j < n; j++)
        want[j] = slope(&md, b, d, f->scale + j, 1e-3) * f->scale[j];
    compare_slopes(ls, want, n);
    mcamp_mech_free(&ctx, &m);
}

TEST(gradient_agrees_with_differences)
{
    enum { N = 9 };
    static const size_t bs[] = { 1, 2, 3, 4, 8, 9, 11 };
    family *f = (family *)malloc(sizeof *f);
    double d[11 * 11];
    setup();
    for (int k = 0; k < NFAMILY; k++)
        for (size_t i = 0; i < sizeof bs / sizeof bs[0]; i++) {
            size_t b = bs[i];
            for (size_t r = 0; r < b; r++)
                for (size_t c = 0; c <= r; c++)
                    d[r * b + c] = d[c * b + r] = test_rand() - 0.3;
            family_make(f, k, N);
            check_gradient(f, b, d);
        }
    free(f);
}

/* The three routes at length: lag filter, epochs of a BLT, row by row. */
TEST(gradient_routes_agree)
{
    enum { N = 700, B = 60 };
    double th[2] = { 0.9, 0.995 }, om[2] = { 0.2, 0.05 }, v[3], t[3][2], w[3][2];
    double *d = (double *)malloc(B * B * sizeof *d), *c = (double *)malloc(N * sizeof *c);
    double *y[3], *s[3];
    mcamp_mech_desc md;
    mcamp_mech m;
    mcamp__mech_grad g;
    setup();
    for (int k = 0; k < 3; k++) {
        y[k] = (double *)malloc(N * sizeof **y);
        s[k] = (double *)malloc(N * sizeof **s);
    }
    for (size_t i = 0; i < B * B; i++) d[i] = 0;
    for (size_t i = 0; i < B; i++)
        for (size_t j = 0; j <= i; j++) d[i * B + j] = d[j * B + i] = test_rand();
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_BLT; md.n = N; md.theta = th; md.omega = om; md.buffers = 2;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    for (int k = 0; k < 3; k++) {
        memset(&g, 0, sizeof g);
        g.theta = t[k]; g.omega = w[k];
        if (k) g.log_scale = s[k];
        CHECK_STATUS((k == 0 ? mcamp__modes_grad_toeplitz : k == 1 ? mcamp__modes_grad_blt
                      : mcamp__modes_grad_rows)(&ctx, &m, B, d, &v[k], &g), MCAMP_OK);
    }
    for (int k = 1; k < 3; k++) {
        CHECK_NEAR(v[k], v[0], 1e-12, 0);
        for (int j = 0; j < 2; j++) {
            CHECK_NEAR(t[k][j], t[0][j], 1e-11, 0);
            CHECK_NEAR(w[k][j], w[0][j], 1e-11, 0);
        }
    }
    for (size_t i = 0; i < N; i++) CHECK_NEAR(s[1][i], s[2][i], 1e-11, 0);
    mcamp_mech_free(&ctx, &m);
    md.kind = MCAMP_MECH_SQRT; md.bands = 0;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    for (int k = 0; k < 2; k++) {
        memset(&g, 0, sizeof g);
        g.coef = y[k];
        CHECK_STATUS((k == 0 ? mcamp__modes_grad_toeplitz : mcamp__modes_grad_rows)
                     (&ctx, &m, B, d, &v[k], &g), MCAMP_OK);
    }
    CHECK_NEAR(v[1], v[0], 1e-12, 0);
    for (size_t i = 0; i < N; i++) CHECK_NEAR(y[1][i], y[0][i], 1e-11, 0);
    mcamp_mech_free(&ctx, &m);
    for (int k = 0; k < 3; k++) { free(y[k]); free(s[k]); }
    free(d); free(c);
}

/* Blocks of rows and windows of modes, narrow, folded, as wide as the circle, against
 * M and D as they are defined; tasks in any order. */
TEST(gradient_of_rows_at_length)
{
    enum { N = 330 };
    static const size_t shapes[][2] = { { 100, 5 }, { 67, 5 }, { 40, 30 }, { 150, 88 }, { 7, 330 },
                                        { 330, 2 }, { 331, 330 } };
    static double ls[2][N], m1[N * 331], w[N * 331];
    double *d = (double *)malloc(331 * 331 * sizeof *d);
    double *c = (double *)malloc(N * N * sizeof *c), *g[2];
    setup();
    for (int k = 0; k < 2; k++) g[k] = (double *)malloc(N * N * sizeof **g);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        size_t b = shapes[i][0], tasks = 0, e = 0;
        double v[2], value = 0, want[N] = { 0 };
        mcamp_mech_desc md;
        mcamp_mech m;
        memset(&md, 0, sizeof md);
        md.kind = MCAMP_MECH_BANDED; md.n = N; md.bands = shapes[i][1]; md.coef = c;
        CHECK(mcamp__rows_count(N, md.bands, &md.count));
        for (size_t r = 0; r < b; r++)
            for (size_t q = 0; q <= r; q++) d[r * b + q] = d[q * b + r] = test_rand() - 0.3;
        memset(m1, 0, N * b * sizeof *m1);
        memset(w, 0, N * b * sizeof *w);
        for (size_t r = 0; r < N; r++)
            for (size_t q = r + 1 > md.bands ? r + 1 - md.bands : 0; q <= r; q++, e++) {
                c[e] = q == r ? 1 : test_rand() - 0.3;
                m1[r * b + q % b] += fabs(c[e]);
            }
        for (size_t r = 0; r < N; r++)
            for (size_t p = 0; p < b; p++) {
                for (size_t q = 0; q < b; q++) w[r * b + p] += m1[r * b + q] * d[q * b + p];
                value += w[r * b + p] * m1[r * b + p];
            }
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
        for (int k = 0; k < 2; k++) {
            mcamp_ctx x = ctx;
            mcamp__mech_grad to;
            memset(&to, 0, sizeof to);
            to.coef = g[k]; to.log_scale = ls[k];
            if (k) { x.parallel.run = mt_backwards; x.parallel.user = &tasks; }
            CHECK_STATUS(mcamp__modes_gradient(&x, &m, b, d, &v[k], &to), MCAMP_OK);
        }
        CHECK(tasks > 1);
        CHECK_NEAR(v[0], value, 1e-11, 0);
        e = 0;
        for (size_t r = 0; r < N; r++)
            for (size_t q = r + 1 > md.bands ? r + 1 - md.bands : 0; q <= r; q++, e++) {
                double slope = (c[e] < 0 ? -2 : 2) * w[r * b + q % b];
                CHECK_NEAR(g[0][e], slope, 1e-11, 1e-11);
                want[q] += slope * c[e];
            }
        compare_slopes(ls[0], want, N);
        CHECK(!memcmp(g[0], g[1], e * sizeof **g) && !memcmp(ls[0], ls[1], sizeof *ls));
        CHECK(!memcmp(&v[0], &v[1], sizeof *v));
        mcamp_mech_free(&ctx, &m);
    }
    for (int k = 0; k < 2; k++) free(g[k]);
    free(d); free(c);
}

/* S is periodic: n = 20 480 000 costs what n = 2048 does, and the difference of
 * two lengths is a number of whole periods that can be counted by hand.       */
TEST(twenty_million_rounds)
{
    enum { W = 16, B = 128 };
    const size_t n = 20480000, small = 2048;
    failing mem;
    mcamp_mech_desc d;
    mcamp_mech m;
    mcamp_gram q, p;
    double c[W];
    setup_failing(&mem, 0);
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_SQRT; d.bands = W;
    d.n = n;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, B, &q), MCAMP_OK);
    mcamp__mech_coefs(&m, 0, W, c);
    mcamp_mech_free(&ctx, &m);
    d.n = small;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, B, &p), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
    CHECK(q.kind == MCAMP_GRAM_BANDED && q.width == W - 1);
    for (size_t i = 0; i < B; i++)
        for (size_t j = 0; j < B; j++) {
            size_t lag = i > j ? i - j : j - i, around = lag < B - lag ? lag : B - lag;
            double period = 0, want;
            for (size_t k = 0; k + around < W; k++) period += c[k] * c[k + around];
            want = mcamp__gram_at(&p, i, j) + (double)((n - small) / B) * period;
            CHECK_NEAR(mcamp__gram_at(&q, i, j), want, 1e-14, 0);
        }
    mcamp_gram_free(&ctx, &q);
    mcamp_gram_free(&ctx, &p);
    CHECK(mem.live == 0);
    CHECK(mem.peak < 1000000);
}

static void big(const mcamp_mech_desc *d, size_t b, size_t limit)
{
    failing mem;
    mcamp_mech m;
    mcamp_gram q;
    setup_failing(&mem, 0);
    CHECK_STATUS(mcamp_mech_init(&ctx, d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, &q), MCAMP_OK);
    for (size_t i = 1; i < b; i++)      /* later modes are cut earlier */
        CHECK_LE(mcamp__gram_at(&q, i, i), mcamp__gram_at(&q, i - 1, i - 1));
    mcamp_gram_free(&ctx, &q);
    mcamp_mech_free(&ctx, &m);
    CHECK(mem.peak < limit);
}

TEST(big_sizes_stay_small)
{
    double th[4] = { 0.5, 0.9, 0.99, 0.9999 }, om[4] = { 0.2, 0.1, 0.05, 0.01 };
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.n = 100000;
    d.kind = MCAMP_MECH_SQRT;
    d.bands = 64; big(&d, 1000, 20000000);
    d.bands = 0; big(&d, 1000, 20000000);
    d.kind = MCAMP_MECH_BLT; d.theta = th; d.omega = om; d.buffers = 4;
    big(&d, 1000, 20000000);
    d.kind = MCAMP_MECH_IDENTITY; d.n = 20480000;
    big(&d, 1000000, 10000000);
}

TEST(general_bands_at_length)
{
    enum { N = 100000, W = 16, B = 1000 };
    size_t count = (size_t)N * W - W * (W - 1) / 2;
    double *c = (double *)malloc(count * sizeof *c);
    mcamp_mech_desc d, t;
    setup();
    memset(&t, 0, sizeof t);
    t.kind = MCAMP_MECH_SQRT; t.n = N; t.bands = W;
    d = t;
    d.kind = MCAMP_MECH_BANDED; d.coef = c; d.count = count;
    count = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t j = i + 1 > W ? i + 1 - W : 0; j <= i; j++)
            c[count++] = mcamp__sqrt_coef(i - j);
    compare(&d, &t, B);
    free(c);
}

/* ---- a user's matrix ------------------------------------------------------ */

static void refuse(const double *g, size_t b, mcamp_status want)
{
    mcamp_gram q, before;
    memset(&q, 0x5a, sizeof q);
    memcpy(&before, &q, sizeof q);
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, g, b, &q), want);
    CHECK(!memcmp(&q, &before, sizeof q));
}

TEST(user_matrices_are_checked)
{
    double g[9] = { 2, 1, 0.5, 1, 2, 1, 0.5, 1, 2 }, d[4] = { 3, 0, 0, 5 };
    mcamp_gram q, r;
    setup();
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, g, 3, &q), MCAMP_OK);
    CHECK(q.kind == MCAMP_GRAM_DENSE && q.b == 3 && q.n == 0 && !q.negative);
    CHECK_NEAR(q.max_norm, sqrt(2.0), 1e-15, 0);
    g[1] *= 1 + 1e-13;
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, g, 3, &r), MCAMP_OK);
    CHECK(q.digest != r.digest);
    mcamp_gram_free(&ctx, &q);
    mcamp_gram_free(&ctx, &r);
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, d, 2, &q), MCAMP_OK);
    CHECK(q.kind == MCAMP_GRAM_DIAGONAL && q.count == 2);
    CHECK_NEAR(mcamp__gram_at(&q, 1, 1), 5, 0, 0);
    CHECK_NEAR(mcamp__gram_at(&q, 1, 0), 0, 0, 0);
    mcamp_gram_free(&ctx, &q);
    g[1] = 1 + 1e-11; refuse(g, 3, MCAMP_E_ARG);
    g[1] = mcamp__nan(); refuse(g, 3, MCAMP_E_NONFINITE);
    g[1] = mcamp__inf(); refuse(g, 3, MCAMP_E_NONFINITE);
    g[1] = g[3] = -0.1; refuse(g, 3, MCAMP_E_ARG);
    g[1] = g[3] = -1e-12; refuse(g, 3, MCAMP_E_ARG);
    g[1] = g[3] = 2.1; refuse(g, 3, MCAMP_E_NOT_PSD);
    g[1] = g[3] = 1; g[2] = g[6] = 0; g[5] = g[7] = 1.9;   /* every 2 x 2 is fine */
    refuse(g, 3, MCAMP_E_NOT_PSD);
    memset(g, 0, sizeof g); refuse(g, 3, MCAMP_E_NOT_PSD);
    refuse(g, 0, MCAMP_E_SIZE);
    refuse(NULL, 3, MCAMP_E_REQUIRED);
    refuse(g, SIZE_MAX / 2, MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_gram_from_matrix(NULL, g, 3, &q), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, g, 3, NULL), MCAMP_E_REQUIRED);
}

TEST(bad_calls_are_refused)
{
    mcamp_mech_desc d;
    mcamp_mech m, none;
    mcamp_gram q;
    mcamp__mech_grad g;
    double out[3], d4[4] = { 1, 1, 1, 1 }, v;
    setup();
    memset(&none, 0, sizeof none);
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_SQRT; d.n = 3;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, 2, &q), MCAMP_OK);
    CHECK_STATUS(mcamp__check_gram(&ctx, &q), MCAMP_OK);
    mcamp_gram_free(&ctx, &q);
    CHECK_STATUS(mcamp__check_gram(&ctx, &q), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_gram_init(NULL, &m, 2, &q), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gram_init(&ctx, &none, 2, &q), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gram_init(&ctx, NULL, 2, &q), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, 2, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, 0, &q), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, SIZE_MAX, &q), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, (size_t)1 << 40, &q), MCAMP_E_SIZE);
    memset(&g, 0, sizeof g);
    CHECK_STATUS(mcamp__modes_gradient(&ctx, &none, 2, d4, &v, &g), MCAMP_E_ARG);
    CHECK_STATUS(mcamp__modes_gradient(&ctx, &m, 0, d4, &v, &g), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp__modes_gradient(&ctx, &m, SIZE_MAX, d4, &v, &g), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp__modes_gradient(&ctx, &m, 2, NULL, &v, &g), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp__modes_gradient(&ctx, &m, 2, d4, NULL, &g), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp__modes_gradient(&ctx, &m, 2, d4, &v, NULL), MCAMP_E_REQUIRED);
    d4[1] = mcamp__nan();
    CHECK_STATUS(mcamp__modes_gradient(&ctx, &m, 2, d4, &v, &g), MCAMP_E_NONFINITE);
    g.omega = out;
    CHECK_STATUS(mcamp__modes_gradient(&ctx, &m, 2, d4, &v, &g), MCAMP_E_ARG);
    mcamp_mech_free(&ctx, &m);
}

TEST(allocation_failures_leak_nothing)
{
    family *f = (family *)malloc(sizeof *f);
    for (int k = 0; k < NFAMILY; k++)
        for (long at = 1; ; at++) {
            failing a;
            mcamp_mech m;
            mcamp_gram q;
            mcamp_status st;
            mcamp__mech_grad none;
            double zero[25] = { 0 }, ls[12], v;
            memset(&none, 0, sizeof none);
            family_make(f, k, 12);
            setup_failing(&a, 0);
            CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
            a.fail_at = at;
            memset(&q, 0, sizeof q);
            st = mcamp_gram_init(&ctx, &m, 5, &q);
            if (st == MCAMP_OK) st = mcamp__modes_gradient(&ctx, &m, 5, zero, &v, &none);
            if (st == MCAMP_OK && m.form == MCAMP_FORM_BLT) {
                none.log_scale = ls;
                st = mcamp__modes_gradient(&ctx, &m, 5, zero, &v, &none);
            }
            mcamp_gram_free(&ctx, &q);
            mcamp_mech_free(&ctx, &m);
            CHECK(a.live == 0 && a.bytes == 0);
            if (st == MCAMP_OK) break;
            CHECK_STATUS(st, MCAMP_E_MEMORY);
            CHECK(at < 20);
        }
    for (long at = 1; ; at++) {
        double g[4] = { 2, 0, 0, 2 };
        failing a;
        mcamp_gram q;
        mcamp_status st;
        setup_failing(&a, at);
        memset(&q, 0, sizeof q);
        st = mcamp_gram_from_matrix(&ctx, g, 2, &q);
        mcamp_gram_free(&ctx, &q);
        CHECK(a.live == 0 && a.bytes == 0);
        if (st == MCAMP_OK) break;
        CHECK_STATUS(st, MCAMP_E_MEMORY);
    }
    free(f);
}

TEST(digests_tell_C_and_b_apart)
{
    uint64_t seen[64];
    size_t count = 0;
    mcamp_mech_desc d;
    setup();
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_SQRT;
    for (d.n = 7; d.n < 9; d.n++)
        for (d.bands = 1; d.bands < 4; d.bands++)
            for (size_t b = 1; b < 10; b++) {
                mcamp_mech m;
                mcamp_gram q;
                CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
                CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, &q), MCAMP_OK);
                seen[count++] = q.digest;
                mcamp_gram_free(&ctx, &q);
                mcamp_mech_free(&ctx, &m);
            }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) CHECK(seen[i] != seen[j]);
}

/* ---- dense kernels -------------------------------------------------------- */

/* max |L L^T - (a + shift I)| over the entries, relative to the diagonal. */
static double factor_error(const double *a, size_t b, const double *l, double shift)
{
    double worst = 0, top = 0;
    for (size_t i = 0; i < b; i++) top = mcamp__dmax(top, a[i * b + i]);
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j <= i; j++) {
            double s = 0;
            for (size_t k = 0; k <= j; k++) s += l[i * b + k] * l[j * b + k];
            s -= a[i * b + j] + (i == j ? shift : 0.0);
            worst = mcamp__dmax(worst, fabs(s));
        }
    return worst / top;
}

TEST(cholesky_of_every_kind_of_gram)
{
    double th[2] = { 0.9, 1.0 }, om[2] = { 0.2, 0.5 };
    static const size_t bs[] = { 1, 2, 7, 128, 300 };
    mcamp_mech_desc d[4];
    setup();
    memset(d, 0, sizeof d);
    for (int k = 0; k < 4; k++) { d[k].n = 1000; d[k].kind = MCAMP_MECH_SQRT; }
    d[0].bands = 0; d[1].bands = 10; d[2].bands = 200;
    d[3].kind = MCAMP_MECH_BLT;     /* long memory: numerically singular */
    d[3].theta = th; d[3].omega = om; d[3].buffers = 2;
    for (int k = 0; k < 4; k++)
        for (size_t i = 0; i < sizeof bs / sizeof bs[0]; i++) {
            size_t b = bs[i];
            mcamp_mech m;
            mcamp_gram q;
            double *l = (double *)calloc(b * b, sizeof *l), shift = -1;
            CHECK_STATUS(mcamp_mech_init(&ctx, &d[k], &m), MCAMP_OK);
            CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, &q), MCAMP_OK);
            CHECK_STATUS(mcamp__cholesky(&ctx, q.g, b, b, l, &shift), MCAMP_OK);
            CHECK(shift > 0 && shift < 1e-12 * q.max_norm * q.max_norm);
            CHECK_LE(factor_error(q.g, b, l, shift), 1e-15 * (double)(b + 2));
            for (size_t r = 0; r < b; r++)
                for (size_t s = r + 1; s < b; s++) CHECK(mcamp__eq(l[r * b + s], 0));
            free(l);
            mcamp_gram_free(&ctx, &q);
            mcamp_mech_free(&ctx, &m);
        }
}

static mcamp_status factored(const double *g, size_t b, double *l, double *shift)
{
    memset(l, 0, b * b * sizeof *l);
    return mcamp__cholesky(&ctx, g, b, b, l, shift);
}

/* Rank one, equal modes, zero modes: singular, yet factored after the shift. */
TEST(cholesky_of_singular_matrices)
{
    static double g[200 * 200], l[200 * 200];
    double shift = 0;
    setup();
    for (size_t i = 0; i < 200 * 200; i++) g[i] = 3.7;
    CHECK_STATUS(factored(g, 200, l, &shift), MCAMP_OK);
    CHECK_LE(factor_error(g, 200, l, shift), 1e-13);
    memset(g, 0, sizeof g);
    g[0] = 1;
    CHECK_STATUS(factored(g, 200, l, &shift), MCAMP_OK);
    g[5 * 200 + 5] = -1e-10;
    CHECK_STATUS(factored(g, 200, l, &shift), MCAMP_E_NOT_PSD);
    g[5 * 200 + 5] = mcamp__nan();
    CHECK_STATUS(factored(g, 200, l, &shift), MCAMP_E_NOT_PSD);
    for (int last = 0; last < 3; last++) {      /* in blocks: a pivot, or a row below one */
        static const size_t at[3] = { 70 * 200 + 70, 199 * 200 + 199, 199 * 200 + 3 };
        for (size_t i = 0; i < 200 * 200; i++) g[i] = i % 201 ? 1 : 3;
        g[at[last]] = mcamp__nan();
        CHECK_STATUS(factored(g, 200, l, &shift), MCAMP_E_NOT_PSD);
        if (last < 2) g[at[last]] = 0.9;
        CHECK_STATUS(factored(g, 200, l, &shift), MCAMP_E_NOT_PSD);
    }
}

/* Runs tasks from the last to the first: what they share would show. */
/* l = factor, t = its inverse's transpose, for blocks that are full and not. */
TEST(blocked_factor_and_inverse)
{
    static const size_t bs[] = { 1, 63, 64, 65, 130, 300 };
    setup();
    for (size_t i = 0; i < sizeof bs / sizeof bs[0]; i++) {
        size_t b = bs[i], bad;
        double *a = (double *)calloc(b * b, sizeof *a), *l = (double *)calloc(b * b, sizeof *l);
        double *t = (double *)calloc(b * b, sizeof *t);
        double *work = (double *)malloc(64 * (b + 64) * sizeof *work);
        for (size_t r = 0; r < b; r++)
            for (size_t c = 0; c <= r; c++)
                a[r * b + c] = l[r * b + c] = r == c ? 3 : 1 / (1.0 + (double)(r - c));
        for (size_t r = 0; r < b; r++) t[r * b + r] = 1;
        CHECK(mcamp__cholesky_blocks(&ctx, b, l, NULL, t, work) == b);
        CHECK_LE(factor_error(a, b, l, 0), 1e-15 * (double)(b + 2));
        for (size_t r = 0; r < b; r++)
            for (size_t c = 0; c < b; c++) {    /* L^-1 L, by rows of t */
                double s = 0;
                for (size_t k = c; k <= r; k++) s += t[k * b + r] * l[k * b + c];
                CHECK_NEAR(s, r == c ? 1.0 : 0.0, 0, 1e-14);
                if (c < r) CHECK(mcamp__eq(t[r * b + c], 0) && mcamp__eq(l[c * b + r], 0));
            }
        memcpy(l, a, b * b * sizeof *l);
        bad = b / 2;
        l[bad * b + bad] = -1;
        CHECK(mcamp__cholesky_blocks(&ctx, b, l, NULL, NULL, work) == bad);
        free(a); free(l); free(t); free(work);
    }
}

TEST(dense_kernels_do_not_see_the_order_of_tasks)
{
    enum { N = 700 };
    double *c = (double *)calloc(N * N, sizeof *c), *l[2], shift;
    mcamp_gram g[2];
    mcamp_mech_desc d;
    mcamp_mech m;
    size_t tasks = 0;
    setup();
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_DENSE; d.n = N; d.count = N * N; d.coef = c;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) c[i * N + j] = i == j ? 2 : test_rand();
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    for (int k = 0; k < 2; k++) {
        mcamp_ctx x = ctx;
        if (k) { x.parallel.run = mt_backwards; x.parallel.user = &tasks; }
        l[k] = (double *)calloc(N * N, sizeof *c);
        CHECK_STATUS(mcamp_gram_init(&x, &m, N, &g[k]), MCAMP_OK);
        CHECK_STATUS(mcamp__cholesky(&x, g[k].g, N, N, l[k], &shift), MCAMP_OK);
    }
    CHECK(tasks > 12);
    CHECK(!memcmp(g[0].g, g[1].g, N * N * sizeof *c));
    CHECK(!memcmp(l[0], l[1], N * N * sizeof *c));
    for (int k = 0; k < 2; k++) { free(l[k]); mcamp_gram_free(&ctx, &g[k]); }
    mcamp_mech_free(&ctx, &m);
    free(c);
}

TEST_MAIN("modes",
    T(gram_agrees_with_brute_force_for_every_b),
    T(reference_square_root),
    T(reference_toeplitz_and_blt),
    T(lag_sums_agree_with_slabs),
    T(slabs_are_compensated),
    T(rows_that_fold_are_compensated),
    T(scaled_blt_by_pairs_agrees_with_slabs),
    T(gradient_agrees_with_differences),
    T(gradient_of_rows_at_length), T(gradient_routes_agree),
    T(twenty_million_rounds),
    T(big_sizes_stay_small),
    T(general_bands_at_length),
    T(user_matrices_are_checked),
    T(bad_calls_are_refused),
    T(allocation_failures_leak_nothing),
    T(digests_tell_C_and_b_apart),
    T(cholesky_of_every_kind_of_gram),
    T(cholesky_of_singular_matrices),
    T(blocked_factor_and_inverse),
    T(dense_kernels_do_not_see_the_order_of_tasks))
