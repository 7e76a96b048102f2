/* Section work: errors against dense products, gradients against central
 * differences, sensitivities against the enumeration of all patterns, and the
 * reference numbers in tests/vectors.                                         */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mech_common.h"

/* ---- workloads ------------------------------------------------------------ */

#define NWORK 8

typedef struct workload {
    mcamp_work_desc d;
    double coef[NMAX * NMAX], lr[NMAX];
    double a[NMAX * NMAX];      /* A by definition, dense */
} workload;

static void workload_lr(workload *w, size_t n)
{
    for (size_t i = 0; i < n; i++) w->lr[i] = 0.2 + test_rand();
    w->d.lr = w->lr;
}

static void workload_make(workload *w, int which, size_t n)
{
    memset(w, 0, sizeof *w);
    w->d.n = n;
    for (size_t i = 0; i < n; i++) w->lr[i] = 1;
    if (which == 1 || which == 3) workload_lr(w, n);
    if (which >= 2 && which <= 4) w->d.beta = 0.85;
    w->d.kind = which == 0 ? MCAMP_WORK_DEFAULT : which == 1 ? MCAMP_WORK_PREFIX
              : which <= 3 ? MCAMP_WORK_MOMENTUM : which == 4 ? MCAMP_WORK_EMA
              : which <= 6 ? MCAMP_WORK_TOEPLITZ : MCAMP_WORK_DENSE;
    if (which >= 5) w->d.coef = w->coef;
    w->d.count = which == 5 ? n : which == 6 ? (n < 3 ? n : 3) : which == 7 ? n * n : 0;
    for (size_t k = 0; k < w->d.count; k++) w->coef[k] = test_rand() - 0.3;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double x = 0;
            if (j > i) { if (which == 7) w->coef[i * n + j] = 0; continue; }
            if (which <= 3)
                for (size_t s = j; s <= i; s++)
                    x += w->lr[s] * (which < 2 ? (s == j || which < 0 ? 1.0 : 0.0)
                                               : pow(w->d.beta, (double)(s - j)));
            else if (which == 4) x = (1 - w->d.beta) * pow(w->d.beta, (double)(i - j));
            else if (which == 7) x = w->coef[i * n + j];
            else x = i - j < w->d.count ? w->coef[i - j] : 0.0;
            w->a[i * n + j] = x;
        }
}

/* b = A C^-1 by forward substitution, column by column, in long double. */
static void dense_quotient(const double *a, const double *c, size_t n, double *b)
{
    long double x[NMAX];
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++) {
            long double s = i == j ? 1 : 0;
            for (size_t k = j; k < i; k++) s -= c[i * n + k] * x[k];
            x[i] = i < j ? 0 : s / c[i * n + i];
        }
        for (size_t i = 0; i < n; i++) {
            long double s = 0;
            for (size_t k = j; k <= i; k++) s += a[i * n + k] * x[k];
            b[i * n + j] = (double)s;
        }
    }
}

TEST(workloads_agree_with_their_definition)
{
    static workload w;
    setup();
    for (size_t n = 1; n <= NMAX; n += 13)
        for (int k = 0; k < NWORK; k++) {
            mcamp_work q;
            double v[NMAX], x[NMAX], y[NMAX];
            workload_make(&w, k, n);
            CHECK_STATUS(mcamp_work_init(&ctx, &w.d, &q), MCAMP_OK);
            for (size_t i = 0; i < n; i++) v[i] = test_rand() - 0.5;
            memcpy(x, v, n * sizeof *x);
            memcpy(y, v, n * sizeof *y);
            mcamp__work_apply(&q, x, 0);
            mcamp__work_apply_t(&q, y, 0);
            for (size_t i = 0; i < n; i++) {
                double p = 0, r = 0;
                for (size_t j = 0; j < n; j++) {
                    p += w.a[i * n + j] * v[j];
                    r += w.a[j * n + i] * v[j];
                }
                CHECK_NEAR(x[i], p, 1e-13, 1e-13);
                CHECK_NEAR(y[i], r, 1e-13, 1e-13);
            }
            mcamp_work_free(&ctx, &q);
            mcamp_work_free(&ctx, &q);
        }
}

/* ---- error ---------------------------------------------------------------- */

static void check_error(const workload *w, const family *f, size_t n)
{
    static double b[NMAX * NMAX];
    mcamp_work q;
    mcamp_mech m;
    mcamp_error_info info;
    double rows[NMAX], all = 0, top = 0;
    CHECK_STATUS(mcamp_work_init(&ctx, &w->d, &q), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_work_error(&ctx, &q, &m, rows, &info), MCAMP_OK);
    dense_quotient(w->a, f->c, n, b);
    for (size_t i = 0; i < n; i++) {
        double s = 0;
        for (size_t j = 0; j <= i; j++) s += b[i * n + j] * b[i * n + j];
        CHECK_NEAR(rows[i], sqrt(s), 1e-11, 1e-13);
        all += s;
        top = mcamp__dmax(top, sqrt(s));
    }
    CHECK_NEAR(info.rmse, sqrt(all / (double)n), 1e-11, 0);
    CHECK_NEAR(info.max, top, 1e-11, 0);
    CHECK_NEAR(rows[info.max_row], info.max, 0, 0);
    CHECK_STATUS(mcamp_work_error(&ctx, &q, &m, NULL, &info), MCAMP_OK);
    mcamp_work_free(&ctx, &q);
    mcamp_mech_free(&ctx, &m);
}

TEST(errors_agree_with_dense_products)
{
    static const size_t sizes[] = { 1, 2, 7, 20 };
    static workload w;
    family *f = (family *)malloc(sizeof *f);
    setup();
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int i = 0; i < NWORK; i++)
            for (int k = 0; k < NFAMILY; k++) {
                workload_make(&w, i, sizes[s]);
                family_make(f, k, sizes[s]);
                check_error(&w, f, sizes[s]);
            }
    free(f);
}

/* One entry of 1e8 in each row and many of 1: a plain sum of squares loses them. */
TEST(sums_of_squares_are_compensated)
{
    enum { N = 1001 };
    double s[N], rows[N];
    mcamp_work_desc wd;
    mcamp_mech_desc md;
    mcamp_work w;
    mcamp_mech m;
    setup();
    for (size_t j = 0; j < N; j++) s[j] = j ? 1 : 1.0 / (1 << 27);
    memset(&wd, 0, sizeof wd);
    memset(&md, 0, sizeof md);
    wd.n = md.n = N;
    md.kind = MCAMP_MECH_IDENTITY; md.scale = s;
    CHECK_STATUS(mcamp_work_init(&ctx, &wd, &w), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    CHECK_STATUS(mcamp__error_columns(&ctx, &w, &m, rows), MCAMP_OK);
    for (size_t i = 0; i < N; i += 100)
        CHECK_NEAR(rows[i] - 18014398509481984.0, (double)i, 0, 4);     /* 2^54 */
    mcamp_mech_free(&ctx, &m);
    mcamp_work_free(&ctx, &w);
}

/* A BLT by columns (the reference) and as one machine, at length. */
TEST(machine_agrees_with_columns_at_length)
{
    enum { N = 1500 };
    double th[3] = { 0.5, 0.95, 0.999 }, om[3] = { 0.25, 0.12, 0.05 };
    double *s = (double *)malloc(4 * N * sizeof *s), *lr = s + N, *x = lr + N, *y = x + N;
    mcamp_work_desc wd;
    mcamp_mech_desc md;
    setup();
    for (size_t i = 0; i < N; i++) {
        s[i] = exp(0.3 - 0.7 * (double)i / N);
        lr[i] = i < 100 ? 0.01 * (double)(i + 1) : 1 - 0.5 * (double)i / N;
    }
    for (int k = 0; k < 4; k++) {
        mcamp_work w;
        mcamp_mech m;
        memset(&wd, 0, sizeof wd);
        memset(&md, 0, sizeof md);
        wd.n = md.n = N;
        md.kind = MCAMP_MECH_BLT; md.theta = th; md.omega = om; md.buffers = 3;
        if (k != 1) md.scale = s;
        wd.kind = k == 2 ? MCAMP_WORK_MOMENTUM : k == 3 ? MCAMP_WORK_EMA : MCAMP_WORK_PREFIX;
        wd.beta = 0.9;
        if (k == 1 || k == 2) wd.lr = lr;
        CHECK_STATUS(mcamp_work_init(&ctx, &wd, &w), MCAMP_OK);
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
        CHECK_STATUS(mcamp__error_columns(&ctx, &w, &m, x), MCAMP_OK);
        CHECK_STATUS(mcamp__error_machine(&ctx, &w, &m, y), MCAMP_OK);
        for (size_t i = 0; i < N; i++) CHECK_NEAR(y[i], x[i], 1e-11, 0);
        mcamp_work_free(&ctx, &w);
        mcamp_mech_free(&ctx, &m);
    }
    free(s);
}

TEST(a_million_rounds)
{
    enum { N = 1000000 };
    double th[4] = { 0.5, 0.9, 0.99, 0.9999 }, om[4] = { 0.2, 0.1, 0.05, 0.01 };
    double *s = (double *)malloc(N * sizeof *s);
    mcamp_work_desc wd;
    mcamp_mech_desc md;
    mcamp_work w;
    mcamp_mech m;
    mcamp_error_info a, b, c;
    setup();
    for (size_t i = 0; i < N; i++) s[i] = 1;
    memset(&wd, 0, sizeof wd);
    memset(&md, 0, sizeof md);
    wd.n = md.n = N;
    md.kind = MCAMP_MECH_BLT; md.theta = th; md.omega = om; md.buffers = 4;
    CHECK_STATUS(mcamp_work_init(&ctx, &wd, &w), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_work_error(&ctx, &w, &m, NULL, &a), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
    md.scale = s;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_work_error(&ctx, &w, &m, NULL, &b), MCAMP_OK);
    CHECK_NEAR(b.rmse, a.rmse, 1e-9, 0);
    CHECK_NEAR(b.max, a.max, 1e-9, 0);
    mcamp_mech_free(&ctx, &m);
    md.scale = NULL;
    md.kind = MCAMP_MECH_SQRT; md.bands = 32;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_work_error(&ctx, &w, &m, NULL, &c), MCAMP_OK);
    CHECK(c.rmse > a.rmse);
    mcamp_mech_free(&ctx, &m);
    mcamp_work_free(&ctx, &w);
    free(s);
}

/* ---- gradients ------------------------------------------------------------ */

static double value_of(const mcamp_work *w, const mcamp_mech_desc *d, const double *wt)
{
    mcamp_mech m;
    mcamp__mech_grad none;
    double v = 0;
    memset(&none, 0, sizeof none);
    CHECK_STATUS(mcamp_mech_init(&ctx, d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp__work_gradient(&ctx, w, &m, wt, &v, &none), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
    return v;
}

/* Central differences, twice, extrapolated: error of order h^4. */
static double slope(const mcamp_work *w, const mcamp_mech_desc *d, const double *wt,
                    double *p, double h)
{
    double x = *p, s[2];
    for (int k = 0; k < 2; k++) {
        double step = k ? h : 2 * h, up, down;
        *p = x + step; up = value_of(w, d, wt);
        *p = x - step; down = value_of(w, d, wt);
        s[k] = (up - down) / (2 * step);
    }
    *p = x;
    return (4 * s[1] - s[0]) / 3;
}

/* Every derivative within 1e-6 of the largest of its kind. */
static void compare_slopes(const double *got, const double *want, size_t n)
{
    double top = 0;
    for (size_t i = 0; i < n; i++) top = mcamp__dmax(top, fabs(want[i]));
    for (size_t i = 0; i < n; i++) CHECK_NEAR(got[i], want[i], 0, 1e-6 * top + 1e-9);
}

static void check_gradient(const workload *wl, family *f, const double *wt)
{
    static double coef[NMAX * NMAX], want[NMAX * NMAX], ls[NMAX];
    double th[3], om[3], v = 0;
    size_t n = f->d.n, count;
    mcamp_mech_desc d = f->d;
    mcamp__mech_grad g;
    mcamp_mech m;
    mcamp_work w;
    int rows, raw;
    CHECK_STATUS(mcamp_work_init(&ctx, &wl->d, &w), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    rows = m.form == MCAMP_FORM_ROWS;
    /* with rows the factors are in coef, and any parameter of the kind too: make
       the same C again as a general band matrix whose entries can be moved.    */
    if (rows) {
        d.kind = MCAMP_MECH_BANDED; d.bands = m.bands; d.count = m.count;
        memcpy(f->coef, m.coef, m.count * sizeof *f->coef);
        d.coef = f->coef;
        d.scale = NULL;
    } else if (d.kind == MCAMP_MECH_SQRT || d.kind == MCAMP_MECH_IDENTITY) {
        memcpy(f->coef, m.coef, m.count * sizeof *f->coef);
        d.kind = MCAMP_MECH_TOEPLITZ; d.count = m.count;
    } else if (d.kind == MCAMP_MECH_INVERSE_SQRT) {
        memcpy(f->coef, m.inverse, m.inverse_bands * sizeof *f->coef);
        d.kind = MCAMP_MECH_INVERSE; d.count = m.inverse_bands;
    }
    mcamp_mech_free(&ctx, &m);
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    raw = m.form == MCAMP_FORM_BLT;
    count = m.inverse ? m.inverse_bands : m.count;
    for (int pass = 0; pass < 2; pass++) {      /* pass 1: with column factors */
        memset(&g, 0, sizeof g);
        g.coef = raw ? NULL : coef;
        if (raw) { g.theta = th; g.omega = om; }
        if (pass) g.log_scale = ls;
        CHECK_STATUS(mcamp__work_gradient(&ctx, &w, &m, wt, &v, &g), MCAMP_OK);
        if (raw) {
            for (size_t j = 0; j < m.buffers; j++)
                want[j] = slope(&w, &d, wt, f->theta + j, 1e-4 * f->theta[j]);
            compare_slopes(th, want, m.buffers);
            for (size_t j = 0; j < m.buffers; j++)
                want[j] = slope(&w, &d, wt, f->omega + j, 1e-4 * fabs(f->omega[j]));
            compare_slopes(om, want, m.buffers);
        } else {
            for (size_t k = 0; k < count; k++)
                want[k] = slope(&w, &d, wt, f->coef + k, 1e-4);
            compare_slopes(coef, want, count);
        }
    }
    if (!d.scale) for (size_t j = 0; j < n; j++) f->scale[j] = 1;
    d.scale = f->scale;
    for (size_t j = 0; j < n; j++) {            /* d/d log s = s d/ds */
        want[j] = slope(&w, &d, wt, f->scale + j, 1e-4 * f->scale[j]) * f->scale[j];
    }
    compare_slopes(ls, want, n);
    mcamp_mech_free(&ctx, &m);
    mcamp_work_free(&ctx, &w);
}

TEST(gradients_agree_with_differences)
{
    enum { N = 8 };
    static workload w;
    family *f = (family *)malloc(sizeof *f);
    double wt[N], last[N] = { 0 };
    setup();
    for (size_t i = 0; i < N; i++) wt[i] = test_rand();
    last[N - 1] = 1;
    for (int i = 0; i < NWORK; i++)
        for (int k = 0; k < NFAMILY; k++) {
            workload_make(&w, i, N);
            family_make(f, k, N);
            check_gradient(&w, f, (i + k) % 3 == 0 ? NULL : (i + k) % 3 == 1 ? wt : last);
        }
    free(f);
}

/* The three routes of a BLT at length: Toeplitz operators, a machine backwards,
 * column by column; n not a multiple of the tape's blocks.                    */
TEST(gradient_routes_agree)
{
    enum { N = 611 };
    double th[3] = { 0.4, 0.9, 0.995 }, om[3] = { 0.2, 0.1, 0.05 };
    static double s[N], lr[N], wt[N], ls[2][N];
    mcamp_work_desc wd;
    mcamp_mech_desc md;
    setup();
    for (size_t i = 0; i < N; i++) {
        s[i] = 0.7 + test_rand(); lr[i] = 0.5 + test_rand(); wt[i] = test_rand();
    }
    for (int kind = 1; kind <= 3; kind++)
        for (int k = 0; k < 3; k++) {
            double v[3], t[3][3], w[3][3];
            mcamp_work work;
            mcamp_mech m;
            mcamp__mech_grad g;
            memset(&wd, 0, sizeof wd);
            memset(&md, 0, sizeof md);
            wd.n = md.n = N;
            wd.kind = (mcamp_work_kind)kind;
            wd.beta = 0.9;
            if (k == 1 && kind < 3) wd.lr = lr;
            md.kind = MCAMP_MECH_BLT; md.theta = th; md.omega = om; md.buffers = 3;
            if (k) md.scale = s;
            CHECK_STATUS(mcamp_work_init(&ctx, &wd, &work), MCAMP_OK);
            CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
            for (int i = 0; i < 2; i++) {
                memset(&g, 0, sizeof g);
                g.theta = t[i]; g.omega = w[i]; g.log_scale = ls[i];
                CHECK_STATUS((i ? mcamp__grad_passes : mcamp__grad_columns)
                             (&ctx, &work, &m, k == 2 ? NULL : wt, &v[i], &g), MCAMP_OK);
            }
            CHECK_NEAR(v[1], v[0], 1e-11, 0);
            for (int j = 0; j < 3; j++) {
                CHECK_NEAR(t[1][j], t[0][j], 1e-9, 0);
                CHECK_NEAR(w[1][j], w[0][j], 1e-9, 0);
            }
            for (size_t i = 0; i < N; i++)
                CHECK_NEAR(ls[1][i], ls[0][i], 1e-9, 1e-9 * fabs(ls[0][0]));
            if (k == 0) {
                memset(&g, 0, sizeof g);
                g.theta = t[2]; g.omega = w[2];
                CHECK_STATUS(mcamp__work_gradient(&ctx, &work, &m, wt, &v[2], &g), MCAMP_OK);
                CHECK_NEAR(v[2], v[0], 1e-11, 0);
                for (int j = 0; j < 3; j++) {
                    CHECK_NEAR(t[2][j], t[0][j], 1e-9, 0);
                    CHECK_NEAR(w[2][j], w[0][j], 1e-9, 0);
                }
            }
            mcamp_work_free(&ctx, &work);
            mcamp_mech_free(&ctx, &m);
        }
}

/* The inverse of a band and how it moves, row by row and in blocks, against elimination: one
 * block, two, several, the last one short; two panels of columns. */
static void band_inverse(size_t n, size_t h)
{
    double *y = (double *)calloc(n * n, sizeof *y), *z = (double *)calloc(n * n, sizeof *z);
    double *rows[2], *w = (double *)malloc(n * sizeof *w), top = 0;
    size_t tasks = 0;
    mcamp__ladder q[2];
    for (size_t i = 0; i < n; i++) {
        double *row = y + i * n;
        w[i] = test_rand();
        for (size_t k = i > h ? i - h : 0; k <= i; k++)
            row[k] = i == k ? 1 : 0.4 * (test_rand() - 0.5);
    }
    for (size_t i = 0; i < n; i++)              /* z := y y', a band of the same width */
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k <= i && k <= j; k++) z[i * n + j] += y[i * n + k] * y[j * n + k];
    for (int v = 0; v < 2; v++) {
        mcamp_ctx x = ctx;
        if (v) { x.parallel.run = mt_backwards; x.parallel.user = &tasks; }
        rows[v] = (double *)malloc(n * sizeof **rows);
        CHECK_STATUS(mcamp__ladder_init(&x, n, h, &q[v]), MCAMP_OK);
        CHECK((q[v].s > 0) == (h >= 48));
        q[v].rows = rows[v]; q[v].weights = w;
        for (size_t i = 0; i < n; i++)
            for (size_t k = i > h ? i - h : 0; k <= i; k++)
                mcamp__ladder_low(&q[v], q[v].y, i)[k] = z[i * n + k];
        CHECK(mcamp__ladder_value(&q[v]));
        mcamp__ladder_gradient(&q[v]);
    }
    CHECK((tasks > 0) == (h >= 48));
    for (size_t p = 0; p < n; p++) {            /* z := z^-1, in place */
        double d = z[p * n + p];
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n && i != p; j++)
                if (j != p) z[i * n + j] -= z[i * n + p] * z[p * n + j] / d;
        for (size_t i = 0; i < n; i++) {
            if (i == p) continue;
            z[i * n + p] /= -d;
            z[p * n + i] /= d;
        }
        z[p * n + p] = 1 / d;
    }
    for (size_t i = 0; i < n; i++) top = mcamp__dmax(top, z[i * n + i]);
    for (size_t i = 0; i < n; i++) {
        CHECK_NEAR(rows[0][i], z[i * n + i], 0, 1e-11 * top);
        CHECK(!memcmp(rows[0] + i, rows[1] + i, sizeof **rows));
        for (size_t j = i > h ? i - h : 0; j < n && j <= i + h; j++) {
            double want = 0, *got = mcamp__ladder_sym(&q[0], q[0].v, i) + j;
            for (size_t k = 0; k < n; k++) want -= z[i * n + k] * w[k] * z[k * n + j];
            CHECK_NEAR(*got, want, 0, 1e-11 * top * top);
            CHECK(!memcmp(got, mcamp__ladder_sym(&q[1], q[1].v, i) + j, sizeof *got));
        }
    }
    for (int v = 0; v < 2; v++) { mcamp__ladder_free(&ctx, &q[v]); free(rows[v]); }
    free(y); free(z); free(w);
}

TEST(band_inverse_and_how_it_moves)
{
    static const size_t shapes[][2] = { { 9, 1 }, { 40, 7 }, { 90, 47 }, { 49, 48 }, { 96, 48 },
                                        { 97, 48 }, { 150, 60 }, { 330, 48 }, { 260, 70 } };
    setup();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        band_inverse(shapes[i][0], shapes[i][1]);
}

/* A pivot that is not positive, wherever it is. */
TEST(bands_that_have_no_inverse)
{
    static const size_t hs[] = { 3, 50 };
    double rows[260], w[260];
    setup();
    for (int v = 0; v < 2; v++)
        for (size_t bad = 0; bad <= 260; bad += 13) {
            mcamp__ladder q;
            CHECK_STATUS(mcamp__ladder_init(&ctx, 260, hs[v], &q), MCAMP_OK);
            q.rows = rows; q.weights = w;
            for (size_t i = 0; i < 260; i++)
                mcamp__ladder_low(&q, q.y, i)[i] = i == bad ? -1 : 1;
            CHECK(mcamp__ladder_value(&q) == (bad == 260));
            mcamp__ladder_free(&ctx, &q);
        }
}

/* Every workload that A^-1 is a band of, of n rounds, from k on; then two that it is not of. */
static void band_work(int k, size_t n, mcamp_work *w)
{
    static double lr[600];
    mcamp_work_desc d;
    for (size_t i = 0; i < n; i++) lr[i] = 0.5 + test_rand();
    memset(&d, 0, sizeof d);
    d.n = n;
    d.kind = k < 2 ? MCAMP_WORK_PREFIX : k == 2 ? MCAMP_WORK_EMA
           : k < 5 ? MCAMP_WORK_MOMENTUM : MCAMP_WORK_TOEPLITZ;
    d.beta = k < 2 || k > 4 ? 0 : 0.8;
    if (k == 1 || k == 4) d.lr = lr;
    if (k > 4) { d.coef = lr; d.count = 9; }
    CHECK_STATUS(mcamp_work_init(&ctx, &d, w), MCAMP_OK);
}

/* C of any signs by rows, or Toeplitz with column factors (1) or without (2). */
static void band_mech(int form, size_t n, size_t bands, mcamp_mech *m)
{
    static double coef[600 * 300], s[600];
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.kind = form ? MCAMP_MECH_TOEPLITZ : MCAMP_MECH_BANDED;
    d.n = n; d.bands = bands; d.coef = coef;
    d.count = bands;
    if (!form) CHECK(mcamp__rows_count(n, bands, &d.count));
    if (form) d.bands = 0;
    for (size_t i = 0, e = 0; e < d.count; i++)
        for (size_t len = form || i + 1 > bands ? bands : i + 1; len-- > 0; e++) {
            size_t lag = form ? bands - 1 - len : len;
            coef[e] = lag ? 0.5 / (1 + (double)(lag * lag)) * (test_rand() - 0.2)
                          : 1.3 + test_rand();
        }
    for (size_t i = 0; i < n; i++) s[i] = 0.5 + test_rand();
    if (form == 1) d.scale = s;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, m), MCAMP_OK);
}

/* a, b: value, d/dC and d/dlog scale by two ways. */
static void same_slopes(const mcamp_mech *m, const double *va, const double *vb,
                        const double *ga, const double *gb, const double *la, const double *lb,
                        double share)
{
    double top = 0;
    CHECK_NEAR(*va, *vb, share, 0);
    for (size_t i = 0; i < m->count; i++) top = mcamp__dmax(top, fabs(gb[i]));
    for (size_t i = 0; i < m->count; i++) CHECK_NEAR(ga[i], gb[i], 0, share * top);
    top = 0;
    for (size_t i = 0; i < m->n; i++) top = mcamp__dmax(top, fabs(lb[i]));
    for (size_t i = 0; i < m->n; i++) CHECK_NEAR(la[i], lb[i], 0, share * top);
}

/* Errors and gradients by a window of C's bands against column by column: one band, few, more
 * rounds than bands and fewer; every form; learning rates. */
TEST(errors_of_bands_by_a_window)
{
    static const size_t bands[] = { 1, 2, 9, 50, 140 };
    static double wt[230], x[230], y[230], ls[2][230], g[2][230 * 140];
    setup();
    for (int k = 0; k < 5; k++)
        for (int form = 0; form < 3; form++)
            for (size_t h = 0; h < sizeof bands / sizeof *bands; h++) {
                const size_t n = bands[h] == 140 ? 120 : 230;
                double v[2], top = 0;
                mcamp_work work;
                mcamp_mech m;
                if (bands[h] > n) continue;
                for (size_t i = 0; i < n; i++) wt[i] = test_rand();
                band_work(k, n, &work);
                band_mech(form, n, bands[h], &m);
                CHECK_STATUS(mcamp__error_columns(&ctx, &work, &m, x), MCAMP_OK);
                CHECK_STATUS(mcamp__error_band(&ctx, &work, &m, y), MCAMP_OK);
                for (size_t i = 0; i < n; i++) top = mcamp__dmax(top, x[i]);
                for (size_t i = 0; i < n; i++) CHECK_NEAR(y[i], x[i], 1e-11, 1e-13 * top);
                for (int i = 0; i < 2; i++) {
                    mcamp__mech_grad to;
                    memset(&to, 0, sizeof to);
                    to.coef = g[i]; to.log_scale = ls[i];
                    CHECK_STATUS((i ? mcamp__grad_columns : mcamp__grad_passes)
                                 (&ctx, &work, &m, h % 2 ? wt : NULL, &v[i], &to), MCAMP_OK);
                }
                same_slopes(&m, &v[0], &v[1], g[0], g[1], ls[0], ls[1], 1e-10);
                mcamp_work_free(&ctx, &work);
                mcamp_mech_free(&ctx, &m);
            }
}

/* C^-1 grows like a cube and A C^-1 has what is left of it: columns keep its digits, the window
 * does not and sees that. */
TEST(the_window_sees_what_it_loses)
{
    static const double c[5] = { 1, -4, 6, -4, 1 }, plain[5] = { 1, 0.5, 0.4, 0.3, 0.2 };
    double x[500], y[500];
    setup();
    for (int k = 0; k < 2; k++) {
        mcamp_mech_desc d;
        mcamp_work w;
        mcamp_mech m;
        memset(&d, 0, sizeof d);
        d.kind = MCAMP_MECH_TOEPLITZ; d.n = 500; d.coef = k ? c : plain; d.count = 5;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
        band_work(4, 500, &w);
        CHECK_STATUS(mcamp__error_columns(&ctx, &w, &m, x), MCAMP_OK);
        CHECK(mcamp__by_band(&w, &m, 3));
        CHECK_STATUS(mcamp__error_band(&ctx, &w, &m, y), MCAMP_OK);
        for (size_t i = 0; i < 500; i++) CHECK_NEAR(y[i], x[i], 1e-10, 0);
        CHECK(k || mcamp__error_agrees(&w, &m, x, y));
        for (size_t i = 0; i < 4 && !k; i++) {
            double keep = x[125 * i + 124];
            x[125 * i + 124] *= 1 + 3e-10;
            CHECK(!mcamp__error_agrees(&w, &m, x, y));
            x[125 * i + 124] = keep;
        }
        mcamp_mech_free(&ctx, &m);
        mcamp_work_free(&ctx, &w);
    }
}

/* Which way is taken; not the window where A^-1 is no band, or C a series. */
TEST(the_window_is_for_bands)
{
    double th = 0.5, om = 0.2, inverse[3] = { 1, -0.5, 0.1 };
    mcamp_mech_desc d;
    mcamp_work w;
    mcamp_mech m;
    setup();
    for (int k = 0; k < 7; k++) {
        band_work(k % 6, 400, &w);
        band_mech(k == 6 ? 0 : k % 3, 400, k == 6 ? 100 : 9, &m);
        CHECK(mcamp__by_band(&w, &m, 1) == (k < 5));
        mcamp_mech_free(&ctx, &m);
        mcamp_work_free(&ctx, &w);
    }
    band_work(1, 400, &w);
    band_mech(1, 400, 41, &m);                      /* columns of Toeplitz C take less */
    CHECK(!mcamp__by_band(&w, &m, 2) && mcamp__by_band(&w, &m, 2.1));
    mcamp_mech_free(&ctx, &m);
    for (int k = 0; k < 2; k++) {
        memset(&d, 0, sizeof d);
        d.n = 400;
        d.kind = k ? MCAMP_MECH_BLT : MCAMP_MECH_INVERSE;
        if (k) { d.theta = &th; d.omega = &om; d.buffers = 1; }
        else   { d.coef = inverse; d.count = 3; }
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
        CHECK(!mcamp__by_band(&w, &m, 100));
        mcamp_mech_free(&ctx, &m);
    }
    mcamp_work_free(&ctx, &w);
}

/* x := the band of C'C, packed as C is. */
static void band_square(const mcamp_mech *m, double *x)
{
    for (size_t i = 0; i < m->n; i++) {
        size_t first, at = mcamp__band_row(i, m->bands, &first);
        for (size_t j = first; j <= i; j++, at++) {
            x[at] = 0;
            for (size_t r = i; r < m->n && r < j + m->bands; r++)
                x[at] += mcamp__band_entry(m, r, i) * mcamp__band_entry(m, r, j);
        }
    }
}

/* Rows' squares and their gradient by X = C'C, its band being factored row by row and in blocks,
 * in parts and not, against column by column; tasks in any order. */
TEST(errors_by_the_square_of_c)
{
    static const size_t bands[] = { 1, 2, 9, 50, 60 };
    static double wt[530], rows[530], want[530], x[530 * 60], dx[2][530 * 60], g[530 * 60];
    setup();
    for (int k = 0; k < 25; k++) {
        const size_t n = k % 5 == 4 ? 530 : 230, h = bands[k % 5];
        size_t tasks = 0, lags = k / 5 > 2 ? 3 : 2, first, c0;
        double v, top = 0;
        mcamp_work work;
        mcamp_mech m;
        mcamp__mech_grad to;
        for (size_t i = 0; i < n; i++) wt[i] = test_rand();
        band_work(k / 5, n, &work);
        band_mech(0, n, h, &m);
        band_square(&m, x);
        CHECK(mcamp__errors_lags(&work, n, h) == lags);
        memset(&to, 0, sizeof to);
        to.coef = g;
        CHECK_STATUS(mcamp__grad_columns(&ctx, &work, &m, wt, &v, &to), MCAMP_OK);
        CHECK_STATUS(mcamp__error_columns(&ctx, &work, &m, want), MCAMP_OK);
        for (int i = 0; i < 2; i++) {
            mcamp_ctx back = ctx;
            mcamp__errors e;
            if (i) { back.parallel.run = mt_backwards; back.parallel.user = &tasks; }
            CHECK_STATUS(mcamp__errors_init(&back, &work, h, lags, &e), MCAMP_OK);
            e.rows = rows; e.weights = wt; e.x = x;
            CHECK(mcamp__errors_value(&e));
            mcamp__errors_gradient(&e, dx[i]);
            for (size_t r = 0; r < n; r++)          /* X has the square of C's condition */
                CHECK_NEAR(rows[r], want[r], 1e-8, 0);
            mcamp__errors_free(&back, &e);
        }
        CHECK(!memcmp(dx[0], dx[1], m.count * sizeof **dx));
        for (size_t i = 0; i < m.count; i++) top = mcamp__dmax(top, fabs(g[i]));
        for (size_t r = 0; r < n; r++)              /* d/dC = 2 C (d/dX) */
            for (size_t at = mcamp__band_row(r, h, &first), j = first; j <= r; j++, at++) {
                double sum = 0;
                for (size_t i = first; i <= r; i++) {
                    size_t hi = i > j ? i : j, row = mcamp__band_row(hi, h, &c0);
                    sum += mcamp__band_entry(&m, r, i) * dx[0][row + (i + j - hi) - c0];
                }
                CHECK_NEAR(2 * sum, g[at], 0, 1e-6 * top);
            }
        mcamp_work_free(&ctx, &work);
        mcamp_mech_free(&ctx, &m);
    }
}

/* Rows of many bands by X = C'C, the dense way, against column by column; tasks in any order. */
TEST(gradients_of_rows_by_both_ways)
{
    static const size_t bands[] = { 230, 230, 60, 60, 8 };
    static double wt[530], ls[3][530], g[3][230 * 231];
    setup();
    for (int k = 0; k < 5; k++) {
        const size_t n = k == 4 ? 530 : 230;
        double v[3];
        size_t tasks = 0;
        mcamp_work work;
        mcamp_mech m;
        for (size_t i = 0; i < n; i++) wt[i] = test_rand();
        band_work(k < 2 ? 3 * k : 5, n, &work);
        band_mech(0, n, bands[k], &m);
        for (int i = 0; i < 3; i++) {
            mcamp_ctx x = ctx;
            mcamp__mech_grad to;
            memset(&to, 0, sizeof to);
            to.coef = g[i]; to.log_scale = ls[i];
            if (i == 1) {
                x.parallel.run = mt_backwards; x.parallel.user = &tasks; x.parallel.width = 3;
            }
            CHECK_STATUS((i < 2 ? mcamp__work_gradient : mcamp__grad_columns)
                         (&x, &work, &m, k % 3 ? wt : NULL, &v[i], &to), MCAMP_OK);
        }
        same_slopes(&m, &v[0], &v[2], g[0], g[2], ls[0], ls[2], 1e-8);
        CHECK(!memcmp(g[0], g[1], m.count * sizeof **g) && !memcmp(ls[0], ls[1], n * sizeof **ls));
        mcamp_work_free(&ctx, &work);
        mcamp_mech_free(&ctx, &m);
    }
}

TEST(value_of_the_gradient_is_the_mean_square)
{
    static workload w;
    family *f = (family *)malloc(sizeof *f);
    setup();
    for (int k = 0; k < NFAMILY; k++) {
        mcamp_work q;
        mcamp_mech m;
        mcamp_error_info e;
        workload_make(&w, k % NWORK, 21);
        family_make(f, k, 21);
        CHECK_STATUS(mcamp_work_init(&ctx, &w.d, &q), MCAMP_OK);
        CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
        CHECK_STATUS(mcamp_work_error(&ctx, &q, &m, NULL, &e), MCAMP_OK);
        CHECK_NEAR(value_of(&q, &f->d, NULL), e.rmse * e.rmse, 1e-12, 0);
        mcamp_work_free(&ctx, &q);
        mcamp_mech_free(&ctx, &m);
    }
    free(f);
}

/* ---- sensitivity ---------------------------------------------------------- */

typedef struct patterns { double minsep, fixed, vec; } patterns;

/* The largest sums over all sets of at most k rounds with gaps >= b (== b). */
static patterns brute_patterns(const double *x, const double *v, size_t n, size_t k,
                               size_t b)
{
    patterns best = { 0, 0, 0 };
    for (unsigned set = 1; set < 1u << n; set++) {
        size_t at[16], count = 0;
        int sep = 1, fixed = 1;
        double s = 0, sv = 0;
        for (size_t i = 0; i < n; i++) if (set >> i & 1) at[count++] = i;
        if (count > k) continue;
        for (size_t i = 1; i < count; i++) {
            if (at[i] - at[i - 1] < b) sep = 0;
            if (at[i] - at[i - 1] != b) fixed = 0;
        }
        if (!sep) continue;
        for (size_t i = 0; i < count; i++) {
            sv += v[at[i]];
            for (size_t j = 0; j < count; j++) s += fabs(x[at[i] * n + at[j]]);
        }
        best.minsep = mcamp__dmax(best.minsep, s);
        best.vec = mcamp__dmax(best.vec, sv);
        if (fixed) best.fixed = mcamp__dmax(best.fixed, s);
    }
    return best;
}

static void check_sensitivity(const family *f, size_t n, size_t k, size_t b)
{
    static double x[NMAX * NMAX];
    double v[NMAX], f2[2 * NMAX];
    mcamp_mech m;
    mcamp_sens s, t;
    patterns want;
    CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
    for (size_t i = 0; i < n; i++) {
        v[i] = test_rand();
        for (size_t j = 0; j < n; j++) {
            x[i * n + j] = 0;
            for (size_t r = 0; r < n; r++) x[i * n + j] += f->c[r * n + i] * f->c[r * n + j];
        }
    }
    want = brute_patterns(x, v, n, k, b);
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, k, b, &s), MCAMP_OK);
    CHECK_NEAR(s.value, sqrt(want.fixed), 1e-12, 0);
    CHECK_STATUS(mcamp_sens_minsep(&ctx, &m, k, b, &t), MCAMP_OK);
    if (t.exact) CHECK_NEAR(t.value, sqrt(want.minsep), 1e-12, 0);
    CHECK_LE(sqrt(want.minsep) * (1 - 1e-12), t.value);
    if (b >= m.bands || k == 1) CHECK(s.exact && t.exact);
    if (!m.negative) CHECK(s.exact);
    if (m.bands > b) {          /* exact if no entry that counts is below 0 */
        bool clash = false;
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + b; j < n && j - i < k * b; j += b)
                if (x[i * n + j] < -1e-12) clash = true;
        CHECK(s.exact == !clash || m.negative);
        if (clash) CHECK(!s.exact);
    }
    CHECK_NEAR(mcamp__sens_vector(v, n, k, b, f2), want.vec, 1e-13, 0);
    mcamp_mech_free(&ctx, &m);
}

TEST(sensitivities_agree_with_enumeration)
{
    static const size_t sizes[] = { 1, 2, 6, 11 }, ks[] = { 1, 2, 3, 5, 40 };
    family *f = (family *)malloc(sizeof *f);
    setup();
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int i = 0; i < NFAMILY; i++) {
            family_make(f, i, sizes[s]);
            for (size_t k = 0; k < sizeof ks / sizeof ks[0]; k++)
                for (size_t b = 1; b <= sizes[s] + 1; b++)
                    check_sensitivity(f, sizes[s], ks[k], b);
        }
    free(f);
}

/* Coefficients that rise up to c_b only, and beyond it: where the claim ends. */
/* C >= 0 whose columns rise late, n = 1 mod b: a BLT with a weight below 0, Toeplitz C with
 * and without rising factors, rows.  A claim of exactness is tested by check_sensitivity. */
TEST(columns_that_rise_late)
{
    enum { N = 11 };
    family *f = (family *)malloc(sizeof *f);
    setup();
    for (int kind = 0; kind < 5; kind++) {
        double c[N];
        memset(f, 0, sizeof *f);
        f->d.n = N;
        f->d.coef = f->coef;
        for (size_t k = 0; k < N; k++)
            c[k] = kind ? (k == 7 ? 3.0 : 1.0 / (double)(k + 1))
                 : k ? 0.5 * pow(0.9, (double)k - 1) - 0.4 * pow(0.3, (double)k - 1) : 1;
        f->d.kind = kind == 0 ? MCAMP_MECH_BLT : kind < 3 ? MCAMP_MECH_TOEPLITZ : MCAMP_MECH_DENSE;
        f->theta[0] = 0.9; f->theta[1] = 0.3; f->omega[0] = 0.5; f->omega[1] = -0.4;
        f->d.theta = f->theta; f->d.omega = f->omega; f->d.buffers = kind ? 0 : 2;
        family_toeplitz(f, N, c, N);
        f->d.count = kind < 3 ? N : N * N;
        for (size_t j = 0; kind > 2 && j < N; j++)      /* the last columns are the largest */
            for (size_t i = j; i < N; i++) f->c[i * N + j] *= kind == 3 ? 1 + (double)j : 1;
        memcpy(f->coef, kind < 3 ? c : f->c, f->d.count * sizeof *c);
        for (size_t j = 0; j < N; j++) f->scale[j] = exp(0.2 * (double)j);
        if (kind == 2) {
            f->d.scale = f->scale;
            for (size_t i = 0; i < N; i++)
                for (size_t j = 0; j <= i; j++) f->c[i * N + j] *= f->scale[j];
        }
        for (size_t b = 1; b <= N; b++)
            for (size_t k = 1; k <= N; k++) check_sensitivity(f, N, k, b);
    }
    free(f);
}

TEST(first_rounds_are_claimed_no_further)
{
    double c[6] = { 1, 0.5, 2, 1.5, 0.5, 0.1 };
    family *f = (family *)malloc(sizeof *f);
    mcamp_mech m;
    mcamp_sens s;
    setup();
    memset(f, 0, sizeof *f);
    f->d.n = 12; f->d.kind = MCAMP_MECH_TOEPLITZ; f->d.coef = c; f->d.count = 6;
    family_toeplitz(f, 12, c, 6);
    CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
    for (size_t b = 1; b <= 6; b++) {
        CHECK_STATUS(mcamp_sens_minsep(&ctx, &m, 3, b, &s), MCAMP_OK);
        CHECK(s.exact == (b >= 2));
        check_sensitivity(f, 12, 3, b);
    }
    mcamp_mech_free(&ctx, &m);
    free(f);
}

/* Columns 0, b, 2b are claimed the worst: by enumeration at n = 14. */
TEST(first_rounds_are_the_worst_for_monotone_toeplitz)
{
    enum { N = 14 };
    family *f = (family *)malloc(sizeof *f);
    setup();
    for (int kind = 0; kind < 4; kind++) {
        double w = kind == 3 ? 4 : 1;           /* c_0 may be below c_1 */
        memset(f, 0, sizeof *f);
        f->d.n = N;
        f->d.kind = kind == 0 ? MCAMP_MECH_TOEPLITZ : MCAMP_MECH_BLT;
        f->d.coef = f->coef; f->d.count = 9;
        f->theta[0] = 0.7; f->theta[1] = 1; f->omega[0] = 0.5 * w; f->omega[1] = 0.3 * w;
        f->d.theta = f->theta; f->d.omega = f->omega; f->d.buffers = 2;
        for (size_t k = 0; k < 9; k++)
            f->coef[k] = k == 0 ? 1 : f->coef[k - 1] * test_rand();
        if (kind != 0) {
            double c[N];
            for (size_t k = 0; k < N; k++)
                c[k] = k ? w * (0.5 * pow(0.7, (double)k - 1) + 0.3) : 1;
            family_toeplitz(f, N, c, N);
        } else {
            family_toeplitz(f, N, f->coef, 9);
        }
        if (kind == 2) {
            for (size_t j = 0; j < N; j++) f->scale[j] = exp(-0.05 * (double)j);
            f->d.scale = f->scale;
            for (size_t i = 0; i < N; i++)
                for (size_t j = 0; j <= i; j++) f->c[i * N + j] *= f->scale[j];
        }
        for (size_t b = 1; b <= N; b++)
            for (size_t k = 1; k <= N; k += 2) {
                mcamp_mech m;
                mcamp_sens s;
                CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
                CHECK_STATUS(mcamp_sens_minsep(&ctx, &m, k, b, &s), MCAMP_OK);
                CHECK(s.exact);
                mcamp_mech_free(&ctx, &m);
                check_sensitivity(f, N, k, b);
            }
    }
    free(f);
}

/* ---- trees ---------------------------------------------------------------- */

/* The largest sum over complete nodes of (uses)^2, for c = 0 .. k uses at least b apart: by
 * going through all patterns, counting in every node. */
typedef struct forest { size_t n, b, k, used; unsigned in[8][64]; double best[64]; } forest;

static void forest_walk(forest *f, size_t from, double sum)
{
    f->best[f->used] = mcamp__dmax(f->best[f->used], sum);
    if (f->used == f->k) return;
    for (size_t p = from; p < f->n; p++) {
        double more = 0;
        for (int h = 0; h < 8; h++)
            if (((p >> h) + 1) << h <= f->n) more += 2 * f->in[h][p >> h]++ + 1;
        f->used++;
        forest_walk(f, p + f->b, sum + more);
        f->used--;
        for (int h = 0; h < 8; h++)
            if (((p >> h) + 1) << h <= f->n) f->in[h][p >> h]--;
    }
}

static void check_trees(size_t n, size_t b, const mcamp_mech *m, size_t trees, double factor)
{
    forest *f = (forest *)calloc(1, sizeof *f);
    double most = 0;
    f->n = n; f->b = b; f->k = (n - 1) / b + 1;
    forest_walk(f, 0, 0);
    for (size_t k = 1; k <= f->k + 1; k++) {
        if (k <= f->k) most = mcamp__dmax(most, f->best[k]);
        for (size_t i = 0; i < trees; i++) {
            mcamp_sens s;
            CHECK_STATUS(mcamp_sens_minsep(&ctx, &m[i], k, b, &s), MCAMP_OK);
            CHECK(s.exact);
            CHECK_NEAR(s.value, (i ? factor : 1) * sqrt(most), 1e-12, 0);
        }
    }
    free(f);
}

/* The tree, the same as a dense C with all columns times 0.7, and, where it is the same, the
 * padded one: that patterns need not begin at a node, nor end at one, shows at odd n and b. */
TEST(trees_are_exact_under_min_sep)
{
    static const size_t n[] = { 2, 3, 5, 7, 8, 13, 16, 23, 37, 64 };
    double *c = (double *)calloc(64 * 64, sizeof *c), scale[64];
    setup();
    for (size_t i = 0; i < 64; i++) scale[i] = 0.7;
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        mcamp_mech_desc d;
        mcamp_mech m[3];
        size_t trees = (n[i] & (n[i] - 1)) ? 2 : 3;
        memset(&d, 0, sizeof d);
        d.n = n[i]; d.kind = MCAMP_MECH_TREE;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, m), MCAMP_OK);
        for (size_t r = 0; r < n[i]; r++)
            for (size_t j = 0; j < n[i]; j++)
                c[r * n[i] + j] = j <= r ? m[0].coef[r * (r + 1) / 2 + j] : 0;
        d.kind = MCAMP_MECH_DENSE; d.coef = c; d.count = n[i] * n[i]; d.scale = scale;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, m + 1), MCAMP_OK);
        d.kind = MCAMP_MECH_TREE_PADDED;
        if (trees > 2) CHECK_STATUS(mcamp_mech_init(&ctx, &d, m + 2), MCAMP_OK);
        for (size_t b = n[i] / 8 + 1; b < n[i]; b++)
            if (n[i] < 17 || b < 9 || b % 5 == 1) check_trees(n[i], b, m, trees, 0.7);
        for (size_t k = 0; k < trees; k++) mcamp_mech_free(&ctx, m + k);
    }
    free(c);
}

/* What is no tree is not taken for one: column factors that differ, cut nodes, the decoder from
 * below, one entry that is larger, whatever kind the strategy says that it is of. */
TEST(what_is_no_tree_is_bounded)
{
    enum { N = 13 };
    static const mcamp_mech_kind kind[] = { MCAMP_MECH_TREE, MCAMP_MECH_TREE_PADDED,
                                            MCAMP_MECH_TREE_ONLINE, MCAMP_MECH_TREE };
    double scale[N];
    setup();
    for (int i = 0; i < 4; i++) {
        family *f = (family *)calloc(1, sizeof *f);
        double x[N * N], v[N] = { 0 };
        mcamp_mech m;
        memset(x, 0, sizeof x);
        for (size_t j = 0; j < N; j++) scale[j] = i ? 1 : 1 + 0.01 * (double)(j % 3);
        f->d.n = N; f->d.kind = kind[i]; f->d.scale = scale;
        CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
        if (i == 3) m.coef[70] += 0.5;
        for (size_t r = 0; r < N; r++)
            for (size_t p = 0; p <= r; p++)
                for (size_t q = 0; q <= r; q++)
                    x[p * N + q] += m.coef[r * (r + 1) / 2 + p] * m.coef[r * (r + 1) / 2 + q];
        for (size_t b = 2; b < N; b++)
            for (size_t k = 2; k <= N; k++) {
                mcamp_sens s;
                CHECK_STATUS(mcamp_sens_minsep(&ctx, &m, k, b, &s), MCAMP_OK);
                CHECK(!s.exact);
                CHECK_LE(sqrt(brute_patterns(x, v, N, k, b).minsep) * (1 - 1e-12), s.value);
            }
        mcamp_mech_free(&ctx, &m);
        free(f);
    }
}

/* The tree of three rounds, {0, 1} and {2}, but that columns 0 and 2 are not orthogonal. */
TEST(trees_that_touch_are_none)
{
    double c[9] = { 0 };
    mcamp_mech_desc d;
    mcamp_mech m;
    mcamp_sens s;
    setup();
    c[0] = sqrt(1.41); c[3] = sqrt(0.5); c[4] = sqrt(2); c[6] = 0.3; c[8] = 1;
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_DENSE; d.n = 3; d.coef = c; d.count = 9;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_sens_minsep(&ctx, &m, 2, 2, &s), MCAMP_OK);
    CHECK(!s.exact);
    CHECK_LE(sqrt(3.6) * (1 - 1e-14), s.value);
    mcamp_mech_free(&ctx, &m);
}

/* ---- reference numbers ---------------------------------------------------- */

/* The strategy of a reference line; 0 if it has to be optimised first. */
static int reference_mech(const char *name, const char *norm, size_t n, mcamp_mech *m)
{
    double *c = (double *)calloc(n * n + 64, sizeof *c), theta[4], omega[4];
    mcamp_mech_desc d;
    size_t count = 0;
    memset(&d, 0, sizeof d);
    d.n = n;
    d.coef = c;
    d.normalize = !strcmp(norm, "unit");
    if (!strcmp(name, "identity")) d.kind = MCAMP_MECH_IDENTITY;
    else if (!strncmp(name, "sqrt:", 5)) {
        d.kind = MCAMP_MECH_SQRT;
        d.bands = (size_t)atol(name + 5);
    } else if (!strncmp(name, "toeplitz:", 9)) {
        char *p = (char *)(size_t)(name + 8);
        d.kind = MCAMP_MECH_TOEPLITZ;
        for (; *p == ':' || *p == ','; count++) c[count] = strtod(p + 1, &p);
        d.count = count < n ? count : n;
    } else if (!strncmp(name, "blt:", 4)) {
        char *p = (char *)(size_t)(name + 3);
        d.kind = MCAMP_MECH_BLT;
        for (; *p == ':' || *p == ','; count++) {
            theta[count] = strtod(p + 1, &p);
            omega[count] = strtod(p + 1, &p);
        }
        d.theta = theta; d.omega = omega; d.buffers = count;
    } else if (!strcmp(name, "ones")) {
        d.kind = MCAMP_MECH_TOEPLITZ; d.count = n;
        for (size_t k = 0; k < n; k++) c[k] = 1;
    } else if (!strcmp(name, "isqrt")) {
        d.kind = MCAMP_MECH_INVERSE; d.count = n;
        for (size_t k = 0; k < n; k++) c[k] = mcamp__sqrt_coef(k);
    } else if (!strncmp(name, "rational:", 9) || !strcmp(name, "neg")) {
        size_t bands = name[0] == 'r' ? (size_t)atol(name + 9) : n;
        d.kind = MCAMP_MECH_DENSE; d.count = n * n;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                if (name[0] == 'n')
                    c[i * n + j] = i == j ? 1 : ((double)((3 * i + 5 * j) % 7) - 3) / 3;
                else if (i - j < bands)
                    c[i * n + j] = (1 + 0.1 * (double)((7 * i + 3 * j) % 5)) /
                                   (double)(1 + i - j);
    } else if (!strncmp(name, "tree:", 5)) {
        d.kind = !strcmp(name + 5, "pad") ? MCAMP_MECH_TREE_PADDED : MCAMP_MECH_TREE;
    } else {
        free(c);
        return 0;
    }
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, m), MCAMP_OK);
    if (!strcmp(norm, "columns")) {
        double *s = (double *)malloc(n * sizeof *s);
        CHECK_STATUS(mcamp__mech_norms(&ctx, m, s, NULL), MCAMP_OK);
        mcamp_mech_free(&ctx, m);
        for (size_t j = 0; j < n; j++) s[j] = 1 / s[j];
        d.scale = s;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, m), MCAMP_OK);
        free(s);
    }
    free(c);
    return 1;
}

static size_t cases_used;

static void sensitivity_case(const char *line, void *user)
{
    char id[64], name[80], norm[16], what[16];
    size_t n, b, k;
    double want, err, *work;
    mcamp_mech m;
    mcamp_sens s;
    (void)user;
    if (sscanf(line, "%63s %79s %15s %zu %zu %zu %15s %lf %lf", id, name, norm, &n, &b,
               &k, what, &want, &err) != 9) { CHECK(!"line understood"); return; }
    if (!reference_mech(name, norm, n, &m)) { CHECK(!"strategy known"); return; }
    CHECK_STATUS(strcmp(what, "kb") ? mcamp_sens_minsep(&ctx, &m, k, b, &s)
                                    : mcamp_sens_fixed(&ctx, &m, k, b, &s), MCAMP_OK);
    work = (double *)calloc(4 * n, sizeof *work);
    if (!strcmp(what, "alg4"))
        s.value = sqrt(mcamp__sens_rows(&m, k, b, work));
    if (!strcmp(what, "alg5")) CHECK(s.exact);
    if (!strcmp(what, "minsep") && !s.exact) CHECK_LE(want * (1 - 1e-12), s.value);
    else CHECK_NEAR(s.value, want, 1e-12, 0);
    free(work);
    mcamp_mech_free(&ctx, &m);
    cases_used++;
}

TEST(reference_sensitivities)
{
    setup();
    cases_used = 0;
    CHECK(mt_vectors("sensitivity.txt", sensitivity_case, NULL) > 200);
    CHECK(cases_used > 200);
}

static void vecsens_case(const char *line, void *user)
{
    char id[64], list[300], *p = list;
    double v[64], f[128], want;
    size_t b, k, n = 0;
    (void)user;
    if (sscanf(line, "%63s %zu %zu %299s %lf", id, &b, &k, list, &want) != 5) {
        CHECK(!"line understood");
        return;
    }
    for (;;) {
        v[n++] = strtod(p, &p);
        if (*p++ != ',') break;
    }
    CHECK_NEAR(mcamp__sens_vector(v, n, k, b, f), want, 1e-14, 0);
}

TEST(reference_vectors)
{
    setup();
    CHECK(mt_vectors("vecsens.txt", vecsens_case, NULL) >= 4);
}

/* Lines of one strategy follow one another: its error is computed once. */
typedef struct last_error { char key[200]; mcamp_error_info e; } last_error;

static void rmse_case(const char *line, void *user)
{
    last_error *last = (last_error *)user;
    char key[200];
    char id[64], name[80], norm[16], what[16];
    size_t n, b, k;
    double want, err, got;
    mcamp_mech m;
    mcamp_sens s;
    mcamp_work_desc wd;
    mcamp_work w;
    if (sscanf(line, "%63s %79s %15s %zu %zu %zu %15s %lf %lf", id, name, norm, &n, &k,
               &b, what, &want, &err) != 9) { CHECK(!"line understood"); return; }
    if (n > mt_scale(2500)) return;     /* trees are slow under sanitizers */
    if (!reference_mech(name, norm, n, &m)) return;
    memset(&wd, 0, sizeof wd);
    wd.n = n;
    CHECK_STATUS(mcamp_work_init(&ctx, &wd, &w), MCAMP_OK);
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, k, b, &s), MCAMP_OK);
    snprintf(key, sizeof key, "%s %s %zu", name, norm, n);
    if (strcmp(what, "sens") && strcmp(key, last->key)) {
        CHECK_STATUS(mcamp_work_error(&ctx, &w, &m, NULL, &last->e), MCAMP_OK);
        strcpy(last->key, key);
    }
    got = !strcmp(what, "sens") ? s.value : !strcmp(what, "rmse") ? last->e.rmse
        : !strcmp(what, "max") ? last->e.max : s.value * last->e.rmse;
    CHECK_NEAR(got, want, mcamp__dmax(err, 1e-12), 0);
    mcamp_work_free(&ctx, &w);
    mcamp_mech_free(&ctx, &m);
    cases_used++;
}

TEST(reference_errors)
{
    last_error last;
    memset(&last, 0, sizeof last);
    setup();
    cases_used = 0;
    mt_vectors("rmse.txt", rmse_case, &last);
    CHECK(cases_used > mt_few(70, 20));
}

/* ---- refusals ------------------------------------------------------------- */

static void refuse(const mcamp_work_desc *d, mcamp_status want, const char *argument)
{
    mcamp_work w, before;
    memset(&w, 0x5a, sizeof w);
    memcpy(&before, &w, sizeof w);
    CHECK_STATUS(mcamp_work_init(&ctx, d, &w), want);
    CHECK(!memcmp(&w, &before, sizeof w));
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, argument));
}

TEST(bad_workloads_are_refused)
{
    double c[9] = { 1, 0, 0, 1, 1, 0, 1, 1, 1 }, lr[3] = { 1, 1, 1 };
    mcamp_work_desc z, d;
    mcamp_work w;
    setup();
    memset(&z, 0, sizeof z);
    z.n = 3;
    refuse(NULL, MCAMP_E_REQUIRED, "desc");
    CHECK_STATUS(mcamp_work_init(&ctx, &z, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_work_init(NULL, &z, &w), MCAMP_E_ARG);
    d = z; d.n = 0; refuse(&d, MCAMP_E_SIZE, "n");
    d = z; d.end_canary = 1; refuse(&d, MCAMP_E_CANARY, "desc");
    d = z; d.kind = (mcamp_work_kind)9; refuse(&d, MCAMP_E_ARG, "kind");
    d.kind = (mcamp_work_kind)-1; refuse(&d, MCAMP_E_ARG, "kind");
    d = z; d.kind = MCAMP_WORK_MOMENTUM; d.beta = 1;
    refuse(&d, MCAMP_E_ARG, "beta");
    d.beta = mcamp__nan(); refuse(&d, MCAMP_E_NONFINITE, "beta");
    d.kind = MCAMP_WORK_EMA; d.beta = -0.1; refuse(&d, MCAMP_E_ARG, "beta");
    d.beta = 0.5; d.lr = lr; refuse(&d, MCAMP_E_ARG, "lr");
    d.kind = MCAMP_WORK_PREFIX; lr[1] = 0; refuse(&d, MCAMP_E_ARG, "lr");
    lr[1] = mcamp__inf(); refuse(&d, MCAMP_E_NONFINITE, "lr");
    d = z; d.kind = MCAMP_WORK_DENSE; d.coef = c; d.count = 8;
    refuse(&d, MCAMP_E_SIZE, "count");
    d.count = 9; c[4] = 0; refuse(&d, MCAMP_E_ARG, "coef");
    c[4] = 1; c[1] = 1; refuse(&d, MCAMP_E_STRATEGY, "coef");
    c[1] = 0; c[4] = -2;
    CHECK_STATUS(mcamp_work_init(&ctx, &d, &w), MCAMP_OK);      /* any sign but 0 */
    mcamp_work_free(&ctx, &w);
}

TEST(bad_calls_are_refused)
{
    mcamp_work_desc wd;
    mcamp_mech_desc md;
    mcamp_work w, none;
    mcamp_mech m, other;
    mcamp_error_info e;
    mcamp__mech_grad g;
    mcamp_sens s;
    double v[4] = { 1, 1, 1, 1 }, wt[4] = { 1, 1, -1, 1 }, x = 7;
    setup();
    memset(&none, 0, sizeof none);
    memset(&g, 0, sizeof g);
    memset(&wd, 0, sizeof wd);
    memset(&md, 0, sizeof md);
    wd.n = md.n = 4;
    md.kind = MCAMP_MECH_SQRT;
    CHECK_STATUS(mcamp_work_init(&ctx, &wd, &w), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    md.n = 5;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &other), MCAMP_OK);
    CHECK_STATUS(mcamp_work_error(NULL, &w, &m, NULL, &e), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_work_error(&ctx, &none, &m, NULL, &e), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_work_error(&ctx, &w, &m, NULL, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_work_error(&ctx, &w, &other, NULL, &e), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp__work_gradient(&ctx, &w, &m, wt, &x, &g), MCAMP_E_ARG);
    wt[2] = mcamp__nan();
    CHECK_STATUS(mcamp__work_gradient(&ctx, &w, &m, wt, &x, &g), MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp__work_gradient(&ctx, &w, &m, NULL, NULL, &g), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp__work_gradient(&ctx, &w, &m, NULL, &x, NULL), MCAMP_E_REQUIRED);
    g.theta = v;
    CHECK_STATUS(mcamp__work_gradient(&ctx, &w, &m, NULL, &x, &g), MCAMP_E_ARG);
    CHECK_NEAR(x, 7, 0, 0);
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, 0, 1, &s), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, 1, 0, &s), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, 1, 1, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_sens_minsep(&ctx, NULL, 1, 1, &s), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_sens_minsep(NULL, &m, 1, 1, &s), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, SIZE_MAX, SIZE_MAX, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_sens_minsep(&ctx, &m, SIZE_MAX, 1, &s), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
    mcamp_mech_free(&ctx, &other);
    mcamp_work_free(&ctx, &w);
}

TEST(allocation_failures_leak_nothing)
{
    static workload wl;
    family *f = (family *)malloc(sizeof *f);
    for (int k = 0; k < NFAMILY; k++)
        for (long at = 1; ; at++) {
            failing a;
            mcamp_mech m;
            mcamp_work w;
            mcamp_error_info e;
            mcamp__mech_grad g;
            mcamp_sens s;
            mcamp_status st;
            double v;
            memset(&g, 0, sizeof g);
            memset(&w, 0, sizeof w);
            workload_make(&wl, (k * 3) % NWORK, 12);
            family_make(f, k, 12);
            setup_failing(&a, 0);
            CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
            a.fail_at = at;
            st = mcamp_work_init(&ctx, &wl.d, &w);
            if (st == MCAMP_OK) st = mcamp_work_error(&ctx, &w, &m, NULL, &e);
            if (st == MCAMP_OK) st = mcamp__work_gradient(&ctx, &w, &m, NULL, &v, &g);
            if (st == MCAMP_OK) st = mcamp_sens_fixed(&ctx, &m, 2, 3, &s);
            if (st == MCAMP_OK) st = mcamp_sens_minsep(&ctx, &m, 2, 5, &s);
            mcamp_work_free(&ctx, &w);
            mcamp_mech_free(&ctx, &m);
            CHECK(a.live == 0 && a.bytes == 0);
            if (st == MCAMP_OK) break;
            CHECK_STATUS(st, MCAMP_E_MEMORY);
            CHECK(at < 30);
        }
    free(f);
}

TEST_MAIN("work",
    T(workloads_agree_with_their_definition),
    T(errors_agree_with_dense_products),
    T(sums_of_squares_are_compensated),
    T(machine_agrees_with_columns_at_length),
    T(a_million_rounds),
    T(gradients_agree_with_differences),
    T(gradient_routes_agree),
    T(band_inverse_and_how_it_moves),
    T(bands_that_have_no_inverse),
    T(errors_of_bands_by_a_window), T(the_window_is_for_bands), T(the_window_sees_what_it_loses),
    T(errors_by_the_square_of_c), T(gradients_of_rows_by_both_ways),
    T(value_of_the_gradient_is_the_mean_square),
    T(sensitivities_agree_with_enumeration),
    T(columns_that_rise_late),
    T(first_rounds_are_claimed_no_further),
    T(first_rounds_are_the_worst_for_monotone_toeplitz),
    T(trees_are_exact_under_min_sep),
    T(what_is_no_tree_is_bounded),
    T(trees_that_touch_are_none),
    T(reference_sensitivities),
    T(reference_vectors),
    T(reference_errors),
    T(bad_workloads_are_refused),
    T(bad_calls_are_refused),
    T(allocation_failures_leak_nothing))
