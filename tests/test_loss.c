/* Section loss: the factor and the model that samplers are built from. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "core_common.h"

/* ---- the factor and the model ------------------------------------------------ */

/* Normals times the scaled factor, in every set: row by row as its entries say. */
static void check_product(const mcamp__model *m)
{
    mcamp__buf z, x;
    const size_t lanes = 64;
    CHECK_STATUS(mcamp__buf_new(&ctx, m->b * lanes, &z), MCAMP_OK);
    CHECK_STATUS(mcamp__buf_new(&ctx, m->b * lanes, &x), MCAMP_OK);
    for (size_t i = 0; i < z.count; i++) z.p[i] = (double)(i * i % 17) - 8;
    for (int v = MCAMP_VEC_SCALAR; v <= MCAMP_VEC_AVX512; v++) {
        if (!mcamp__vecset_available((mcamp_vecset)v)) continue;
        mcamp__vec_trmm((mcamp_vecset)v, &m->L, z.p, lanes, x.p);
        for (size_t i = 0; i < x.count; i++) {
            double s = 0, size = 0;
            for (size_t k = 0; k <= i / lanes; k++) {
                double l = mcamp__tri_at(&m->L, i / lanes, k) / m->sigma;
                s += l * z.p[k * lanes + i % lanes];
                size += fabs(l * z.p[k * lanes + i % lanes]);
            }
            CHECK_NEAR(x.p[i], s, 0, 1e-15 * (double)(m->b + 7) * size);
        }
    }
    mcamp__buf_free(&ctx, &z);
    mcamp__buf_free(&ctx, &x);
}

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
                s += mcamp__tri_at(&m.L, i, k) * mcamp__tri_at(&m.L, j, k) / (sigma * sigma);
            CHECK_NEAR(s, aij, 0, tol);
            if (j > i) CHECK_NEAR(mcamp__tri_at(&m.L, i, j), 0, 0, 0);
        }
        shift = mcamp__model_a(&m, i, i) - mcamp__gram_at(gram, i, i) / (sigma * sigma);
        CHECK_LE(-1e-15 * top, shift);          /* never below: that could lower delta */
        CHECK_LE(shift, 1e-12 * top * (double)b);
        CHECK_NEAR(m.half[i], 0.5 * mcamp__model_a(&m, i, i), 1e-15, 0);
    }
    check_product(&m);
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
    gram_make("sqrt:5", "raw", 60, 20, &g); check_model(&g, 9); mcamp_gram_free(&ctx, &g);
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
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "sigma") && !m.half && !m.L.data);
    f.trace_max = mcamp__nan();
    CHECK_STATUS(mcamp__model_init(&ctx, &f, g.max_norm, &m), MCAMP_E_ARG);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* Products of weights of any size; the heaviest index where rounding led to none. */
TEST(draws_do_not_leave_the_numbers)
{
    double w[5] = { 0, 2, 7, 0, 3 };
    mcamp__tuple p;
    mcamp__draw d;
    memset(&p, 0, sizeof p);
    memset(&d, 0, sizeof d);
    for (int sign = -1; sign <= 1; sign += 2) {
        d.acc = 0;
        d.prod = 1;
        for (int i = 0; i < 40; i++) mcamp__draw_factor(&d, sign < 0 ? 1e-30 : 1e30);
        CHECK_NEAR(d.acc + log(d.prod), sign * 1200 * log(10.0), 1e-13, 0);
    }
    p.b = 5;
    d.w = w;
    CHECK(mcamp__tuple_repair(&p, &d) == 2);
    w[4] = 8;
    CHECK(mcamp__tuple_repair(&p, &d) == 4);
    w[0] = 9;
    CHECK(mcamp__tuple_repair(&p, &d) == 0);
}

/* What a factor keeps of G, and that it is one: by its diagonal and some other entries. */
static void check_sums(const mcamp_gram *g, const mcamp__factor *f)
{
    size_t b = f->b;
    for (size_t i = 0; i < b; i++) {
        double row = f->idle;
        for (size_t j = 0; j < b; j++) row += g->g[i * b + j];
        CHECK_NEAR(f->row[i], row, 1e-13, 0);
        for (size_t j = i % 7; j <= i; j += 7 + i % 5) {
            double s = 0;
            for (size_t k = 0; k <= j; k++)
                s += mcamp__tri_at(&f->L, i, k) * mcamp__tri_at(&f->L, j, k);
            CHECK_NEAR(s, f->g[i * f->ld + j], 1e-12, 1e-12 * f->trace_max);
        }
    }
}

/* Where there are so many modes that rows are tasks: G, its sums and its factor. */
TEST(rows_of_many_modes_in_any_order)
{
    static const struct { size_t bands, n, b; } c[] = {
        { 600, 1200, 600 }, { 5, 1300, 601 }, { 100, 3001, 520 }, { 1500, 2000, 515 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_gram g[2];
        mcamp__factor f[2];
        char name[32];
        size_t tasks = 0, b = c[i].b;
        setup();
        snprintf(name, sizeof name, "sqrt:%u", (unsigned)c[i].bands);
        for (int k = 0; k < 2; k++) {
            if (k) { ctx.parallel.run = mt_backwards; ctx.parallel.user = &tasks; }
            ctx.parallel.width = k ? 7 : 0;
            gram_make(name, "raw", c[i].n, b, &g[k]);
            CHECK_STATUS(mcamp__factor_init(&ctx, &g[k], &f[k]), MCAMP_OK);
        }
        CHECK(tasks >= 21);
        CHECK(!memcmp(g[0].g, g[1].g, b * b * sizeof(double)));
        CHECK(!memcmp(f[0].g, f[1].g, b * b * sizeof(double)));
        CHECK(!memcmp(f[0].row, f[1].row, b * sizeof(double)));
        CHECK(f[0].L.buf.count == f[1].L.buf.count);
        CHECK(!memcmp(f[0].L.data, f[1].L.data, f[0].L.buf.count * sizeof(double)));
        check_sums(&g[1], &f[1]);
        for (int k = 0; k < 2; k++) {
            mcamp__factor_free(&ctx, &f[k]);
            mcamp_gram_free(&ctx, &g[k]);
        }
    }
    setup();
}

TEST_MAIN("loss",
    T(model_is_on_the_safe_side),
    T(a_shift_of_the_diagonal_raises_delta),
    T(sigma_out_of_reach_is_refused),
    T(draws_do_not_leave_the_numbers), T(rows_of_many_modes_in_any_order))
