/* Section mech: every family against its definition, and every refusal. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mech_common.h"

static const size_t sizes[] = { 1, 2, 3, 4, 5, 9, 17, 33, 40 };
#define NSIZES (sizeof sizes / sizeof sizes[0])

static double dense_norm(const family *f, size_t n, size_t j)
{
    double s = 0;
    for (size_t i = j; i < n; i++) s += f->c[i * n + j] * f->c[i * n + j];
    return sqrt(s);
}

enum { SOLVE = 1, TRANSPOSE = 2 };     /* what mcamp__mech_apply does, as bits */

static void check_transpose(const family *f, const mcamp_mech *m, const double *v)
{
    size_t n = m->n;
    double x[NMAX], y[NMAX];
    memcpy(y, v, n * sizeof *y);
    mcamp__mech_apply(m, y, n, TRANSPOSE);
    for (size_t j = 0; j < n; j++) {
        x[j] = 0;
        for (size_t i = j; i < n; i++) x[j] += f->c[i * n + j] * v[i];
        CHECK_NEAR(y[j], x[j], 1e-13, 1e-14);
    }
    mcamp__mech_apply(m, y, n, TRANSPOSE | SOLVE);
    for (size_t j = 0; j < n; j++) {
        double r = 0, scale = 0;
        for (size_t i = j; i < n; i++) {
            r += f->c[i * n + j] * y[i];
            scale += fabs(f->c[i * n + j] * y[i]);
        }
        CHECK_NEAR(r, x[j], 0, 1e-13 * (1 + scale));
    }
}

static void check_against_definition(const family *f, const mcamp_mech *m)
{
    size_t n = m->n;
    double col[NMAX], norm[NMAX], v[NMAX], x[NMAX], y[NMAX], best = 0, got = 0;
    bool negative = false;
    CHECK_STATUS(mcamp__mech_norms(&ctx, m, norm, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_max_norm(&ctx, m, &got), MCAMP_OK);
    for (size_t j = 0; j < n; j++) {
        CHECK_STATUS(mcamp_mech_column(&ctx, m, j, col), MCAMP_OK);
        for (size_t i = 0; i < n; i++) {
            CHECK_NEAR(col[i], f->c[i * n + j], 1e-14, 1e-15);
            if (f->c[i * n + j] < 0) negative = true;
        }
        CHECK_NEAR(norm[j], dense_norm(f, n, j), 1e-14, 0);
        best = mcamp__dmax(best, dense_norm(f, n, j));
        v[j] = test_rand() - 0.5;
    }
    CHECK_NEAR(got, best, 1e-14, 0);
    if (m->form != MCAMP_FORM_ROWS) mcamp__mech_coefs(m, 0, n, v);
    for (size_t k = 0; m->form != MCAMP_FORM_ROWS && k < n; k++)
        CHECK_NEAR(v[k] * (m->scale ? m->scale[0] : 1), f->c[k * n], 1e-14, 1e-15);
    for (size_t j = 0; j < n; j++) v[j] = test_rand() - 0.5;
    CHECK(negative == m->negative);
    for (size_t i = 0; i < n; i++) {
        x[i] = 0;
        for (size_t j = 0; j <= i; j++) x[i] += f->c[i * n + j] * v[j];
    }
    CHECK_STATUS(mcamp_mech_mul(&ctx, m, v, y), MCAMP_OK);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(y[i], x[i], 1e-13, 1e-14);
    CHECK_STATUS(mcamp_mech_solve(&ctx, m, y, y), MCAMP_OK);       /* in place */
    for (size_t i = 0; i < n; i++) {                /* residual, not the error */
        double r = 0, scale = 0;
        for (size_t j = 0; j <= i; j++) {
            r += f->c[i * n + j] * y[j];
            scale += fabs(f->c[i * n + j] * y[j]);
        }
        CHECK_NEAR(r, x[i], 0, 1e-13 * (1 + scale));
    }
    memcpy(y, v, n * sizeof *y);
    CHECK_STATUS(mcamp_mech_mul(&ctx, m, y, y), MCAMP_OK);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(y[i], x[i], 1e-13, 1e-14);
    check_transpose(f, m, v);
}

TEST(families_agree_with_their_definition)
{
    family *f = (family *)malloc(sizeof *f);
    setup();
    for (size_t s = 0; s < NSIZES; s++)
        for (int k = 0; k < NFAMILY; k++) {
            mcamp_mech m;
            family_make(f, k, sizes[s]);
            CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
            check_against_definition(f, &m);
            mcamp_mech_free(&ctx, &m);
            mcamp_mech_free(&ctx, &m);
        }
    free(f);
}

TEST(normalize_divides_by_the_largest_column_norm)
{
    family *f = (family *)malloc(sizeof *f);
    setup();
    for (int k = 0; k < NFAMILY; k++) {
        mcamp_mech m, p;
        double a[NMAX], b[NMAX], norm = 0, one = 0;
        family_make(f, k, 19);
        CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &p), MCAMP_OK);
        CHECK_STATUS(mcamp_mech_max_norm(&ctx, &p, &norm), MCAMP_OK);
        f->d.normalize = true;
        CHECK_STATUS(mcamp_mech_init(&ctx, &f->d, &m), MCAMP_OK);
        CHECK_STATUS(mcamp_mech_max_norm(&ctx, &m, &one), MCAMP_OK);
        CHECK_NEAR(one, 1.0, 1e-14, 0);
        CHECK_STATUS(mcamp_mech_column(&ctx, &m, 3, a), MCAMP_OK);
        CHECK_STATUS(mcamp_mech_column(&ctx, &p, 3, b), MCAMP_OK);
        for (size_t i = 0; i < 19; i++) CHECK_NEAR(a[i] * norm, b[i], 1e-14, 1e-16);
        for (size_t i = 0; i < 19; i++) b[i] = i == 3;
        CHECK_STATUS(mcamp_mech_mul(&ctx, &m, b, b), MCAMP_OK);
        for (size_t i = 0; i < 19; i++) CHECK_NEAR(b[i], a[i], 1e-13, 1e-14);
        mcamp_mech_free(&ctx, &m);
        mcamp_mech_free(&ctx, &p);
    }
    free(f);
}

/* Values from Gamma(k + 1/2) / (sqrt(pi) Gamma(k + 1)) at 60 digits. */
TEST(square_root_coefficients_do_not_drift)
{
    static const struct { size_t k; double c; } ref[] = {
        { 0, 1.0 },
        { 1, 0.5 },
        { 2, 0.375 },
        { 10, 0.176197052001953125 },
        { 27, 0.10807684889525059901 },
        { 28, 0.10614690516497826689 },
        { 29, 0.10431678611040967608 },
        { 30, 0.10257817300856951481 },
        { 31, 0.10092368634714097425 },
        { 40, 0.088927878773907224925 },
        { 63, 0.070940313368204227294 },
        { 64, 0.070386092170015131768 },
        { 65, 0.069844660691784246139 },
        { 100, 0.056348479009256422247 },
        { 1000, 0.01783901114585432073 },
        { 100000, 0.0017841218859990197793 },
        { 20480000, 0.00012466946186452570108 }
    };
    for (size_t i = 0; i < sizeof ref / sizeof ref[0]; i++)
        CHECK_NEAR(mcamp__sqrt_coef(ref[i].k), ref[i].c, 6e-16, 0);
}

/* omega theta^(k-1) at 60 digits for theta = 1 - 2^-20, 0.9, 0.5 - 2^-30,
 * omega = 0.25, 0.5, 1.                                                       */
TEST(blt_coefficients_do_not_drift)
{
    static const struct { size_t k; double c; } ref[] = {
        { 2, 1.1999997606500983349 },
        { 3, 0.90499952223174661679 },
        { 33, 0.26716079005253822325 },
        { 34, 0.26544370961467339943 },
        { 65, 0.25057425089820072553 },
        { 1000, 0.24976193314956702087 },
        { 123456, 0.22223269286524289878 },
        { 1000000, 0.096330703559666898445 },
        { 7654321, 0.00016892998218989741787 },
        { 20479998, 8.2342321466205922563e-10 }
    };
    double theta[3] = { 1 - 1.0 / 1048576, 0.9, 0.5 - 1.0 / 1073741824 };
    double omega[3] = { 0.25, 0.5, 1.0 }, c[256];
    mcamp_mech_desc d;
    mcamp_mech m;
    setup();
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_BLT; d.n = 20480000;
    d.theta = theta; d.omega = omega; d.buffers = 3;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    for (size_t i = 0; i < sizeof ref / sizeof ref[0]; i++) {
        size_t k = ref[i].k, k0 = k > 255 ? k - 255 : 0;
        mcamp__blt_coefs(&m, k0, k - k0 + 1, c);
        CHECK_NEAR(c[k - k0], ref[i].c, 1e-14, 0);
    }
    mcamp_mech_free(&ctx, &m);
}

/* Families that coincide: 1/(1-x)^(1/2) by its own coefficients and through its
 * inverse; an inverse that cannot be inverted is refused.                     */
TEST(inverse_kinds_at_their_edges)
{
    enum { N = 3000 };
    double *x = (double *)malloc(N * sizeof *x), c[2] = { 1, -1e6 };
    mcamp_mech_desc d;
    mcamp_mech m;
    setup();
    memset(&d, 0, sizeof d);
    d.n = N; d.kind = MCAMP_MECH_INVERSE_SQRT;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    for (size_t k = 0; k < N; k++) CHECK_NEAR(m.coef[k], mcamp__sqrt_coef(k), 2e-13, 0);
    mcamp_mech_free(&ctx, &m);
    d.kind = MCAMP_MECH_INVERSE; d.coef = c; d.count = 2;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_E_STRATEGY);  /* 1e6^k */
    c[1] = -1;                                          /* prefix sums */
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    for (size_t k = 0; k < N; k++) CHECK_NEAR(m.coef[k], 1, 0, 0);
    for (size_t k = 0; k < N; k++) x[k] = 1;
    CHECK_STATUS(mcamp_mech_solve(&ctx, &m, x, x), MCAMP_OK);
    CHECK_NEAR(x[0], 1, 0, 0);
    CHECK_NEAR(x[N - 1], 0, 0, 0);
    mcamp_mech_free(&ctx, &m);
    c[0] = 0;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_E_STRATEGY);
    d.count = N + 1;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_E_SIZE);
    d.count = 0;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_E_SIZE);
    free(x);
}

TEST(digests_tell_everything_apart)
{
    enum { MAX = 64 };
    uint64_t seen[MAX];
    size_t count = 0;
    double c[4] = { 1, 0.5, 0.25, 0.125 }, r[7] = { 1, .5, 1, .5, 1, .5, 1 };
    double th[2] = { 0.5, 0.9 }, om[2] = { 0.25, 0.125 }, s[4] = { 1, 1, 1, 1 };
    double full[16] = { 1,0,0,0, .5,1,0,0, 0,.5,1,0, 0,0,.5,1 };
    mcamp_mech_desc d;
    mcamp_mech m;
    setup();
#define ADD() do { CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK); \
        seen[count++] = m.digest; mcamp_mech_free(&ctx, &m); } while (0)
    memset(&d, 0, sizeof d);
    d.n = 4; d.kind = MCAMP_MECH_IDENTITY; ADD();
    d.n = 5; ADD();
    d.n = 4; d.scale = s; ADD();
    s[2] = 2; ADD();
    s[2] = 1; d.scale = NULL;
    d.kind = MCAMP_MECH_SQRT; ADD();
    d.bands = 2; ADD();
    d.kind = MCAMP_MECH_TOEPLITZ; d.coef = c; d.count = 2; ADD();
    d.count = 4; ADD();
    d.normalize = true; ADD();
    d.normalize = false;
    for (size_t i = 0; i < 4; i++) { c[i] *= 1 + DBL_EPSILON; ADD(); }
    c[1] = -0.5; ADD();
    d.kind = MCAMP_MECH_BANDED; d.bands = 2; d.coef = r; d.count = 7; ADD();
    for (size_t i = 0; i < 7; i++) { r[i] = r[i] * (1 + DBL_EPSILON); ADD(); }
    d.kind = MCAMP_MECH_DENSE; d.coef = full; d.count = 16; ADD();
    d.kind = MCAMP_MECH_BLT; d.theta = th; d.omega = om; d.buffers = 1; ADD();
    d.buffers = 2; ADD();
    th[1] = 0.90625; ADD();
    om[1] = 0.5; ADD();
    th[0] = 0.90625; th[1] = 0.5; ADD();
    d.kind = MCAMP_MECH_INVERSE; d.coef = c; d.count = 3; ADD();
    d.kind = MCAMP_MECH_INVERSE_SQRT; d.bands = 2; ADD();
    d.bands = 0; ADD();
    d.kind = MCAMP_MECH_TREE; ADD();
    d.kind = MCAMP_MECH_TREE_PADDED; ADD();
    d.kind = MCAMP_MECH_TREE_ONLINE; ADD();
#undef ADD
    for (size_t i = 0; i < count; i++) {
        CHECK(seen[i] != 0);
        for (size_t j = 0; j < i; j++) CHECK(seen[i] != seen[j]);
    }
    CHECK(count > 25 && count <= MAX);
    CHECK(m.digest == 0);              /* freed */
}

/* A column of 1 and hundreds of entries whose squares are each less than half a unit. */
TEST(column_norms_are_compensated)
{
    enum { N = 600 };
    static double rows[N * (N + 1) / 2];
    mcamp_mech_desc d;
    mcamp_mech m;
    double norm = 0;
    setup();
    memset(&d, 0, sizeof d);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) rows[i * (i + 1) / 2 + j] = i == j ? 1 : j ? 0 : 1e-8;
    d.kind = MCAMP_MECH_BANDED; d.n = d.bands = N; d.coef = rows; d.count = N * (N + 1) / 2;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_max_norm(&ctx, &m, &norm), MCAMP_OK);
    CHECK_NEAR(norm - 1, 0.5 * (N - 1) * 1e-16, 0, 5e-15);
    mcamp_mech_free(&ctx, &m);
}

/* In exact arithmetic a tree has no entry below 0; one made by rounding would say that it
 * has, and cost the exact sensitivity.                                                 */
TEST(trees_are_not_negative)
{
    mcamp_mech_desc d;
    mcamp_mech m;
    setup();
    memset(&d, 0, sizeof d);
    for (d.n = 1; d.n < 400; d.n += 1 + d.n / 7)
        for (int kind = MCAMP_MECH_TREE; kind <= MCAMP_MECH_TREE_ONLINE; kind++) {
            d.kind = (mcamp_mech_kind)kind;
            CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
            CHECK(!m.negative);
            mcamp_mech_free(&ctx, &m);
        }
}

/* w[k]: weight of node k, the sum of its leaves with unit noise, in the estimate of all leaves
 * before t of least variance from the nodes that are complete by then; nodes by their ends. */
enum { NODES = 41 };
static size_t nodes_and_weights(size_t t, double w[])
{
    static double g[NODES][NODES], y[NODES];
    static size_t lo[2 * NODES], hi[2 * NODES];
    size_t count = 0;
    for (size_t end = 1; end <= t; end++)
        for (size_t width = 1; end % width == 0 && width <= end; width *= 2, count++) {
            lo[count] = end - width;
            hi[count] = end;
        }
    memset(g, 0, sizeof g);
    for (size_t i = 0; i < t; i++) y[i] = 1;
    for (size_t k = 0; k < count; k++)
        for (size_t i = lo[k]; i < hi[k]; i++)
            for (size_t j = lo[k]; j < hi[k]; j++) g[i][j] += 1;
    for (size_t k = 0; k < t; k++)                      /* (N'N) y = 1 */
        for (size_t i = 0; i < t; i++) {
            double f = g[i][k] / g[k][k];
            if (i == k) continue;
            for (size_t j = k; j < t; j++) g[i][j] -= f * g[k][j];
            y[i] -= f * y[k];
        }
    for (size_t k = 0; k < count; k++) {
        w[k] = 0;
        for (size_t i = lo[k]; i < hi[k]; i++) w[k] += y[i] / g[i][i];
    }
    return count;
}

/* The noise of its prefix sums has the covariance of least-squares estimates by the nodes. */
TEST(online_tree_releases_what_complete_nodes_tell)
{
    static double w[NODES][2 * NODES], sums[NODES][NODES];
    for (size_t n = 1; n <= NODES; n += n < 9 ? 1 : 8) {
        mcamp_mech_desc d;
        mcamp_mech m, tree;
        mcamp_sens s, nodes;
        setup();
        memset(&d, 0, sizeof d);
        memset(w, 0, sizeof w);
        d.n = n;
        d.kind = MCAMP_MECH_TREE_ONLINE;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
        d.kind = MCAMP_MECH_TREE;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, &tree), MCAMP_OK);
        for (size_t j = 0; j < n; j++) {                /* column j of A C^-1 */
            double unit[NODES] = { 0 };
            unit[j] = 1;
            nodes_and_weights(j + 1, w[j]);
            CHECK_STATUS(mcamp_mech_solve(&ctx, &m, unit, unit), MCAMP_OK);
            for (size_t t = 0; t < n; t++) sums[t][j] = unit[t] + (t ? sums[t - 1][j] : 0);
        }
        for (size_t t = 0; t < n; t++)
            for (size_t u = 0; u <= t; u++) {
                double want = 0, got = 0;
                for (size_t k = 0; k < 2 * n; k++) want += w[t][k] * w[u][k];
                for (size_t j = 0; j < n; j++) got += sums[t][j] * sums[u][j];
                CHECK_NEAR(got, want, 1e-12, 1e-12);
            }
        for (size_t b = 1; b <= n; b *= 3) {            /* released: no more than the nodes */
            CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, (n - 1) / b + 1, b, &s), MCAMP_OK);
            CHECK_STATUS(mcamp_sens_fixed(&ctx, &tree, (n - 1) / b + 1, b, &nodes), MCAMP_OK);
            CHECK(s.value <= nodes.value * (1 + 1e-12));
        }
        mcamp_mech_free(&ctx, &m);
        mcamp_mech_free(&ctx, &tree);
    }
}

/* The digest goes into statements that outlive a machine: it may not change. */
TEST(digest_is_pinned)
{
    double c[2] = { 1, -0.0 };
    mcamp_mech_desc d;
    mcamp_mech m;
    setup();
    memset(&d, 0, sizeof d);
    d.n = 3; d.kind = MCAMP_MECH_TOEPLITZ; d.coef = c; d.count = 2;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK(m.digest == UINT64_C(0x8f685957c4706b8f));
    mcamp_mech_free(&ctx, &m);
    c[1] = 0;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK(m.digest == UINT64_C(0x8f685957c4706b8f));
    mcamp_mech_free(&ctx, &m);
}

static void refuse(const mcamp_mech_desc *d, mcamp_status want, const char *argument)
{
    mcamp_mech m, before;
    memset(&m, 0x5a, sizeof m);
    memcpy(&before, &m, sizeof m);
    CHECK_STATUS(mcamp_mech_init(&ctx, d, &m), want);
    CHECK(!memcmp(&m, &before, sizeof m));
    CHECK(mcamp_last_error(&ctx).status == want);
    CHECK(mcamp_last_error(&ctx).argument &&
          !strcmp(mcamp_last_error(&ctx).argument, argument));
}

TEST(bad_descriptors_are_refused)
{
    double c[4] = { 1, 0.5, 0.25, 0.125 }, r[7] = { 1, .5, 1, .5, 1, .5, 1 };
    double full[16] = { 1,0,0,0, .5,1,0,0, 0,.5,1,0, 0,0,.5,1 };
    double bad[3], s[4] = { 1, 1, 1, 1 }, th[1] = { 0.5 }, om[1] = { 0.25 };
    mcamp_mech_desc d, z;
    mcamp_mech m;
    bad[0] = mcamp__nan(); bad[1] = mcamp__inf(); bad[2] = -mcamp__inf();
    setup();
    memset(&z, 0, sizeof z);
    z.n = 4;
    refuse(NULL, MCAMP_E_REQUIRED, "desc");
    CHECK_STATUS(mcamp_mech_init(&ctx, &z, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_mech_init(NULL, &z, &m), MCAMP_E_ARG);
    d = z; refuse(&d, MCAMP_E_REQUIRED, "kind");
    d.kind = (mcamp_mech_kind)77; refuse(&d, MCAMP_E_ARG, "kind");
    d.kind = MCAMP_MECH_IDENTITY; d.n = 0; refuse(&d, MCAMP_E_SIZE, "n");
    d.n = SIZE_MAX; refuse(&d, MCAMP_E_SIZE, "n");
    d.n = 4; d.start_canary = 1; refuse(&d, MCAMP_E_CANARY, "desc");
    d.start_canary = 0; d.end_canary = 1; refuse(&d, MCAMP_E_CANARY, "desc");

    d = z; d.kind = MCAMP_MECH_TOEPLITZ; d.count = 3;
    refuse(&d, MCAMP_E_REQUIRED, "coef");
    d.coef = c; d.count = 0; refuse(&d, MCAMP_E_SIZE, "count");
    d.count = 5; refuse(&d, MCAMP_E_SIZE, "count");
    d.count = 3;
    for (int i = 0; i < 3; i++) {
        c[2] = bad[i];
        refuse(&d, MCAMP_E_NONFINITE, "coef");
    }
    c[2] = 1e101; refuse(&d, MCAMP_E_ARG, "coef");
    c[2] = 0.25; c[0] = 0; refuse(&d, MCAMP_E_STRATEGY, "coef");
    c[0] = -1; refuse(&d, MCAMP_E_STRATEGY, "coef");
    c[0] = 1e-200; refuse(&d, MCAMP_E_STRATEGY, "coef");
    c[0] = 1; d.scale = s; s[3] = 0;
    refuse(&d, MCAMP_E_STRATEGY, "scale");
    s[3] = -1; refuse(&d, MCAMP_E_STRATEGY, "scale");
    s[3] = bad[0]; refuse(&d, MCAMP_E_NONFINITE, "scale");
    s[3] = 1e100; c[1] = 2; refuse(&d, MCAMP_E_ARG, "scale");
    s[3] = 1;

    d = z; d.kind = MCAMP_MECH_BANDED; d.coef = r; d.count = 7;
    refuse(&d, MCAMP_E_SIZE, "bands");
    d.bands = 5; refuse(&d, MCAMP_E_SIZE, "bands");
    d.bands = 3; refuse(&d, MCAMP_E_SIZE, "count");
    d.bands = 2; d.count = 6; refuse(&d, MCAMP_E_SIZE, "count");
    d.count = 8; refuse(&d, MCAMP_E_SIZE, "count");
    d.count = 7; r[4] = 0; refuse(&d, MCAMP_E_STRATEGY, "coef");
    r[4] = bad[1]; refuse(&d, MCAMP_E_NONFINITE, "coef");
    d.n = (size_t)1 << 48; d.bands = (size_t)1 << 40;
    refuse(&d, MCAMP_E_SIZE, "count");

    d = z; d.kind = MCAMP_MECH_DENSE; d.coef = full; d.count = 15;
    refuse(&d, MCAMP_E_SIZE, "count");
    d.count = 16; full[3] = 1e-300; refuse(&d, MCAMP_E_STRATEGY, "coef");
    full[3] = bad[0]; refuse(&d, MCAMP_E_NONFINITE, "coef");
    full[3] = 0; full[10] = -2; refuse(&d, MCAMP_E_STRATEGY, "coef");
    d.coef = NULL; refuse(&d, MCAMP_E_REQUIRED, "coef");
    d.n = (size_t)1 << 40; refuse(&d, MCAMP_E_SIZE, "count");

    d = z; d.kind = MCAMP_MECH_BLT; d.theta = th; d.omega = om;
    refuse(&d, MCAMP_E_SIZE, "buffers");
    d.buffers = MCAMP_MAX_BUFFERS + 1;
    refuse(&d, MCAMP_E_SIZE, "buffers");
    d.buffers = 1; th[0] = 1.0000001; refuse(&d, MCAMP_E_STRATEGY, "theta");
    th[0] = -1e-9; refuse(&d, MCAMP_E_STRATEGY, "theta");
    th[0] = bad[0]; refuse(&d, MCAMP_E_NONFINITE, "theta");
    th[0] = 0.5; om[0] = bad[2]; refuse(&d, MCAMP_E_NONFINITE, "omega");
    d.omega = NULL; refuse(&d, MCAMP_E_REQUIRED, "omega");
    d.theta = NULL; refuse(&d, MCAMP_E_REQUIRED, "theta");
}

TEST(bad_calls_are_refused)
{
    mcamp_mech_desc d;
    mcamp_mech m, none;
    double v[3] = { 1, 2, 3 }, out[3] = { 7, 7, 7 };
    setup();
    memset(&none, 0, sizeof none);
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_SQRT; d.n = 3;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_mul(NULL, &m, v, out), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_mech_mul(&ctx, NULL, v, out), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_mech_solve(&ctx, &none, v, out), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_mech_solve(&ctx, &m, NULL, out), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_mech_solve(&ctx, &m, v, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_mech_column(&ctx, &m, 3, out), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_mech_max_norm(&ctx, &m, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_mech_max_norm(&ctx, &none, out), MCAMP_E_ARG);
    none = m;
    none.magic++;
    CHECK_STATUS(mcamp_mech_max_norm(&ctx, &none, out), MCAMP_E_ARG);
    v[1] = mcamp__nan();
    CHECK_STATUS(mcamp_mech_mul(&ctx, &m, v, out), MCAMP_E_NONFINITE);
    CHECK_NEAR(out[0], 7, 0, 0);
    v[1] = 1e308; v[0] = 1.7e308; v[2] = 1.7e308;
    CHECK_STATUS(mcamp_mech_mul(&ctx, &m, v, out), MCAMP_E_NONFINITE);
    mcamp_mech_free(&ctx, &m);
    mcamp_mech_free(&ctx, NULL);
    mcamp_mech_free(NULL, &m);
}

TEST(allocation_failures_leak_nothing)
{
    family *f = (family *)malloc(sizeof *f);
    for (int k = 0; k < NFAMILY; k++) {
        family_make(f, k, 12);
        f->d.normalize = true;
        for (long at = 1; ; at++) {
            failing a;
            mcamp_mech m;
            mcamp_status st;
            double norm[12];
            setup_failing(&a, at);
            memset(&m, 0, sizeof m);
            st = mcamp_mech_init(&ctx, &f->d, &m);
            if (st == MCAMP_OK) st = mcamp__mech_norms(&ctx, &m, norm, NULL);
            mcamp_mech_free(&ctx, &m);
            CHECK(a.live == 0 && a.bytes == 0);
            if (st == MCAMP_OK) break;
            CHECK_STATUS(st, MCAMP_E_MEMORY);
            CHECK(at < 20);
        }
    }
    free(f);
}

TEST(a_million_rounds)
{
    enum { N = 1000000 };
    double *v = (double *)malloc(N * sizeof *v), *x = (double *)malloc(N * sizeof *x);
    double th[4] = { 0.5, 0.9, 0.99, 0.9999 }, om[4] = { 0.2, 0.1, 0.05, 0.01 };
    mcamp_mech_desc d[2];
    setup();
    memset(d, 0, sizeof d);
    d[0].kind = MCAMP_MECH_SQRT; d[0].n = N; d[0].bands = 32;
    d[1].kind = MCAMP_MECH_BLT; d[1].n = N; d[1].theta = th; d[1].omega = om;
    d[1].buffers = 4;
    for (int k = 0; k < 2; k++) {
        mcamp_mech m;
        double worst = 0;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d[k], &m), MCAMP_OK);
        for (size_t i = 0; i < N; i++) v[i] = test_rand() - 0.5;
        CHECK_STATUS(mcamp_mech_solve(&ctx, &m, v, x), MCAMP_OK);
        CHECK_STATUS(mcamp_mech_mul(&ctx, &m, x, x), MCAMP_OK);
        for (size_t i = 0; i < N; i++) worst = mcamp__dmax(worst, fabs(x[i] - v[i]));
        CHECK_LE(worst, 1e-12);
        CHECK_STATUS(mcamp__mech_norms(&ctx, &m, x, NULL), MCAMP_OK);
        CHECK_STATUS(mcamp_mech_column(&ctx, &m, N / 2, x), MCAMP_OK);
        mcamp_mech_free(&ctx, &m);
    }
    free(v); free(x);
}

TEST_MAIN("mech",
    T(families_agree_with_their_definition),
    T(normalize_divides_by_the_largest_column_norm),
    T(square_root_coefficients_do_not_drift),
    T(blt_coefficients_do_not_drift),
    T(inverse_kinds_at_their_edges),
    T(digests_tell_everything_apart),
    T(digest_is_pinned),
    T(column_norms_are_compensated),
    T(trees_are_not_negative),
    T(online_tree_releases_what_complete_nodes_tell),
    T(bad_descriptors_are_refused),
    T(bad_calls_are_refused),
    T(allocation_failures_leak_nothing),
    T(a_million_rounds))
