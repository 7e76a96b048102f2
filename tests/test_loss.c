/* Section loss: the loss of a point against n-dimensional densities, extreme
 * magnitudes, refusals; the factor and the model that samplers are built from.  */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "core_common.h"

/* log dP/dQ at X by the n-dimensional densities themselves:
 * log (1/b) sum_i exp(-|X - m_i|^2/(2 s^2)) + |X|^2/(2 s^2), in long double.    */
static long double brute_loss(const double *modes, size_t n, size_t b, double sigma,
                              const double *X)
{
    long double term[16], hi = -1e4000L, sum = 0, v = 2.0L * sigma * sigma, q = 0;
    for (size_t t = 0; t < n; t++) q += (long double)X[t] * X[t];
    for (size_t i = 0; i < b; i++) {
        long double d = 0;
        for (size_t t = 0; t < n; t++) {
            long double u = (long double)X[t] - modes[i * n + t];
            d += u * u;
        }
        term[i] = (q - d) / v;
        if (term[i] > hi) hi = term[i];
    }
    for (size_t i = 0; i < b; i++) sum += expl(term[i] - hi);
    return hi + logl(sum / (long double)b);
}

/* out[n] = mode i: the sum of the columns i, b + i, .. of |C|. */
static void mode_of(const mcamp_mech *m, size_t b, size_t i, double *out)
{
    double column[16];
    for (size_t r = 0; r < m->n; r++) out[r] = 0;
    for (size_t j = i; j < m->n; j += b) {
        CHECK_STATUS(mcamp_mech_column(&ctx, m, j, column), MCAMP_OK);
        for (size_t r = 0; r < m->n; r++) out[r] += fabs(column[r]);
    }
}

/* One point near a mode (or near 0) of a strategy, in units of sigma. */
static void check_point(const mcamp_mech *m, size_t n, size_t b, double sigma, double far_out)
{
    double modes[16 * 16], X[16], g[16], y, z, top = 0;
    mcamp_gram gram;
    long double want;
    size_t near_mode = (size_t)(test_rand() * (double)(b + 1));
    CHECK_STATUS(mcamp_gram_init(&ctx, m, b, &gram), MCAMP_OK);
    for (size_t i = 0; i < b; i++)
        mode_of(m, b, i, modes + i * n);
    for (size_t t = 0; t < n; t++) {
        X[t] = sigma * far_out * (2 * test_rand() - 1);
        if (near_mode < b) X[t] += modes[near_mode * n + t];
    }
    for (size_t i = 0; i < b; i++) {
        long double s = 0;
        for (size_t t = 0; t < n; t++) s += (long double)modes[i * n + t] * X[t];
        g[i] = (double)(s / ((long double)sigma * sigma));
    }
    want = brute_loss(modes, n, b, sigma, X);
    CHECK_STATUS(mcamp_loss_point(&ctx, &gram, sigma, g, MCAMP_REMOVE, &y), MCAMP_OK);
    CHECK_STATUS(mcamp_loss_point(&ctx, &gram, sigma, g, MCAMP_ADD, &z), MCAMP_OK);
    CHECK(mcamp__eq(z, -y));
    for (size_t i = 0; i < b; i++)
        top = fmax(top, fabs(g[i]) + mcamp__gram_at(&gram, i, i) / (sigma * sigma));
    CHECK_NEAR(y, (double)want, 1e-14, 4e-15 * (1 + top));  /* g_i - a_ii/2 may cancel */
    mcamp_gram_free(&ctx, &gram);
}

TEST(loss_agrees_with_densities)
{
    static const char *const name[] = { "identity", "sqrt:0", "sqrt:3", "ones",
        "blt:0.7:0.3,0.98:0.1", "rational:4", "toeplitz:1,-0.5,0.25" };
    static const double sigma[] = { 0.02, 0.3, 1, 7, 300 };
    setup();
    for (size_t k = 0; k < sizeof name / sizeof *name; k++)
        for (size_t n = 5; n <= 12; n += 7)
            for (size_t b = 1; b <= n + 3; b += 1 + b / 3) {
                mcamp_mech m;
                CHECK(strategy_make(name[k], "raw", n, &m));
                for (int i = 0; i < 5; i++) {
                    check_point(&m, n, b, sigma[i], 1);
                    check_point(&m, n, b, sigma[i], 30);
                }
                mcamp_mech_free(&ctx, &m);
            }
}

/* E_Q[rho] = 1 and E_P = E_Q[rho .]: a point's loss averaged over Q by quadrature. */
TEST(loss_is_a_density_ratio)
{
    mcamp_gram g;
    double sum = 0, kl = 0, x[2], y, r1, h = 0.05;
    pair2 p;
    setup();
    gram_make("sqrt:0", "raw", 8, 2, &g);
    p = pair2_make(&g, 4);
    r1 = sqrt(p.a11);
    for (int i = -200; i <= 200; i++)
        for (int j = -200; j <= 200; j++) {
            double u = i * h, v = j * h, w = exp(-(u * u + v * v) / 2) * h * h;
            x[0] = r1 * u;
            x[1] = p.a12 / r1 * u + sqrt(p.a22 - p.a12 * p.a12 / p.a11) * v;
            CHECK_STATUS(mcamp_loss_point(&ctx, &g, 4, x, MCAMP_REMOVE, &y), MCAMP_OK);
            w /= 2 * 3.14159265358979323846;
            sum += w * exp(y);
            kl += w * exp(y) * y;
        }
    CHECK_NEAR(sum, 1, 1e-12, 0);
    CHECK(kl > 0);
    mcamp_gram_free(&ctx, &g);
}

TEST(extreme_points_stay_finite)
{
    double g[4] = { 1e300, -1e300, 5, 0 }, y = 0, G[16], one = 1e100;
    mcamp_gram gram;
    setup();
    gram_make("identity", "raw", 8, 4, &gram);
    CHECK_STATUS(mcamp_loss_point(&ctx, &gram, 1, g, MCAMP_REMOVE, &y), MCAMP_OK);
    CHECK_NEAR(y, 1e300, 1e-15, 0);
    for (int i = 0; i < 4; i++) g[i] = -1e300;
    CHECK_STATUS(mcamp_loss_point(&ctx, &gram, 1, g, MCAMP_REMOVE, &y), MCAMP_OK);
    CHECK_NEAR(y, -1e300, 1e-15, 0);
    for (int i = 0; i < 4; i++) g[i] = 0;
    CHECK_STATUS(mcamp_loss_point(&ctx, &gram, 1e100, g, MCAMP_REMOVE, &y), MCAMP_OK);
    CHECK_NEAR(y, 0, 0, 1e-100);
    CHECK_STATUS(mcamp_loss_point(&ctx, &gram, 1e-100, g, MCAMP_REMOVE, &y), MCAMP_OK);
    CHECK_NEAR(y, -1e200, 1e-15, 0);
    CHECK_STATUS(mcamp_loss_point(&ctx, &gram, 1e-100, g, MCAMP_ADD, &y), MCAMP_OK);
    CHECK_NEAR(y, 1e200, 1e-15, 0);
    mcamp_gram_free(&ctx, &gram);
    /* entries as large as any that are taken: finite, or refused with y as it was */
    memset(G, 0, sizeof G);
    for (int i = 0; i < 4; i++) G[5 * i] = one;
    gram_user(G, 4, &gram);
    for (double s = 1e-100; s < 1e101; s *= 1e10) {
        mcamp_status st;
        y = 77;
        st = mcamp_loss_point(&ctx, &gram, s, g, MCAMP_REMOVE, &y);
        CHECK(st == MCAMP_OK ? mcamp__finite(y) && y <= 0 : st == MCAMP_E_ARG && y > 76);
    }
    mcamp_gram_free(&ctx, &gram);
}

/* ---- the factor and the model ------------------------------------------------ */

/* L L' - a: zero off the diagonal and not below zero on it, up to rounding; the
 * shift on a's diagonal is tiny.                                                */
static void check_model(const mcamp_gram *gram, double sigma)
{
    mcamp__factor f;
    mcamp__model m;
    size_t b = gram->b;
    double total = 0, tol, shift, top = gram->max_norm * gram->max_norm / (sigma * sigma);
    CHECK_STATUS(mcamp__factor_init(&ctx, gram, &f), MCAMP_OK);
    CHECK_STATUS(mcamp__model_init(&ctx, &f, sigma, &m), MCAMP_OK);
    tol = 4e-16 * (double)b * top;
    for (size_t i = 0; i < b; i++) {
        for (size_t j = 0; j < b; j++) {
            double aij = mcamp__model_a(&m, i, j), want = mcamp__gram_at(gram, i, j), s = 0;
            want /= sigma * sigma;
            total += aij;
            if (i != j) CHECK_NEAR(aij, want, 1e-14, 0);
            if (f.diagonal) continue;
            for (size_t k = 0; k <= (i < j ? i : j); k++)
                s += f.root[i * b + k] * f.root[j * b + k] / (sigma * sigma);
            CHECK_NEAR(s, aij, 0, tol);
            if (j > i) CHECK_NEAR(f.root[i * b + j], 0, 0, 0);
        }
        shift = mcamp__model_a(&m, i, i) - mcamp__gram_at(gram, i, i) / (sigma * sigma);
        CHECK_LE(-1e-15 * top, shift);          /* never below: that could lower delta */
        CHECK_LE(shift, 1e-12 * top * (double)b);
        CHECK_NEAR(m.half[i], 0.5 * mcamp__model_a(&m, i, i), 1e-15, 0);
    }
    CHECK_NEAR(m.root_total, sqrt(total), 1e-12, 0);
    CHECK_NEAR(f.trace_max, gram->max_norm * gram->max_norm, 1e-11, 0);
    for (size_t i = 0; i < b; i++) {
        double row = 0;
        for (size_t j = 0; j < b; j++) row += mcamp__model_a(&m, i, j);
        CHECK_NEAR(m.c[i] * m.root_total, row, 1e-12, 0);
        CHECK_LE(m.c[i] * m.c[i], mcamp__model_a(&m, i, i) * (1 + 1e-12));
    }
    mcamp__model_free(&ctx, &m);
    mcamp__factor_free(&ctx, &f);
}

TEST(model_is_on_the_safe_side)
{
    mcamp_gram g;
    setup();
    for (int kind = 0; kind <= 4; kind++)
        for (size_t b = 2; b <= 9; b++) {
            gram_random(b, kind, &g);
            check_model(&g, 1);
            check_model(&g, 0.07);
            check_model(&g, 1e60);
            mcamp_gram_free(&ctx, &g);
        }
    gram_make("identity", "raw", 64, 16, &g); check_model(&g, 2); mcamp_gram_free(&ctx, &g);
    gram_make("ones", "raw", 300, 100, &g); check_model(&g, 100); mcamp_gram_free(&ctx, &g);
    gram_make("sqrt:0", "raw", 512, 128, &g); check_model(&g, 9); mcamp_gram_free(&ctx, &g);
    gram_make("sqrt:5", "raw", 20, 33, &g); check_model(&g, 9); mcamp_gram_free(&ctx, &g);
}

/* A larger diagonal can only raise delta, so the shift is a safe rounding. */
TEST(a_shift_of_the_diagonal_raises_delta)
{
    double G[4] = { 2, 1.2, 1.2, 1 };
    setup();
    for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
        double last = 0;
        for (int i = 0; i < 8; i++) {
            double H[4], d;
            mcamp_gram g;
            memcpy(H, G, sizeof H);
            H[0] += 0.1 * i; H[3] += 0.1 * i;
            gram_user(H, 2, &g);
            d = delta2(&g, 1, 1, (mcamp_direction)dir);
            CHECK(d > last);
            last = d;
            mcamp_gram_free(&ctx, &g);
        }
    }
}

TEST(sigma_out_of_reach_is_refused)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__model m;
    setup();
    gram_make("sqrt:0", "raw", 8, 2, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    CHECK_STATUS(mcamp__model_init(&ctx, &f, g.max_norm / 999, &m), MCAMP_OK);
    mcamp__model_free(&ctx, &m);
    CHECK_STATUS(mcamp__model_init(&ctx, &f, g.max_norm / 1001, &m), MCAMP_E_ARG);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "sigma") && !m.a && !m.has_L);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

TEST_MAIN("loss",
    T(loss_agrees_with_densities),
    T(loss_is_a_density_ratio),
    T(extreme_points_stay_finite),
    T(model_is_on_the_safe_side),
    T(a_shift_of_the_diagonal_raises_delta),
    T(sigma_out_of_reach_is_refused))
