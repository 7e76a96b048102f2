/* Section grid: the transform, laws on a lattice, compositions of everything. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"

static mcamp_ctx ctx;

/* Sanitizers and valgrind: less of everything. */
static int quick(void) { return mt_scale(10) < 10; }

/* The same numbers on every machine. */
static uint64_t state = 12345;
static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static mcamp_grid_desc wanted(double delta, double uses)
{
    mcamp_grid_desc d;
    memset(&d, 0, sizeof d);
    d.delta = delta;
    d.uses = uses;
    return d;
}

static mcamp_event simple(mcamp_event_kind kind, double sigma, uint64_t count)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = kind; e.sigma = sigma; e.count = count;
    return e;
}

static mcamp_event poisson(double q, double sigma, uint64_t count)
{
    mcamp_event e = simple(MCAMP_EVENT_POISSON, sigma, count);
    e.q = q;
    return e;
}

static mcamp_event response(double eps, double delta, uint64_t count)
{
    mcamp_event e = simple(MCAMP_EVENT_RESPONSE, 0, count);
    e.eps = eps; e.delta = delta;
    return e;
}

static void check_interval(mcamp_interval v, double truth, double err, double width)
{
    CHECK_LE(v.lower, truth * (1 + err));
    CHECK_LE(truth * (1 - err), v.upper);
    CHECK_LE(v.upper - v.lower, width * v.upper);
}

/* ---- the transform --------------------------------------------------------------- */

static size_t reversed(size_t k, size_t n)
{
    size_t r = 0;
    for (; n > 1; n /= 2, k /= 2) r = 2 * r + k % 2;
    return r;
}

/* Against the definition, in long double; error within what is stated beside the code;
 * frequencies and their negatives where they are said to be; the inverse undoes it.       */
TEST(transform_against_its_definition)
{
    static double x[2 * 4096], y[2 * 4096], tw[2 * 4096];
    for (size_t n = 4; n <= 4096; n *= n < 256 ? 2 : 16) {
        double sum = 0, bits = 0, bound;
        size_t step = n > 256 ? 97 : 1;
        for (size_t k = n; k > 1; k /= 2) bits++;
        for (size_t k = 0; k < 2 * n; k++) x[k] = y[k] = uniform() - (k % 3 ? 0 : 0.9);
        for (size_t k = 0; k < n; k++)
            sum += sqrt(x[2 * k] * x[2 * k] + x[2 * k + 1] * x[2 * k + 1]);
        bound = 8 * DBL_EPSILON * bits * sum;
        mcamp__fft_table(tw, n);
        mcamp__fft_forward(y, n, tw);
        for (size_t f = 0; f < n; f += step) {
            long double re = 0, im = 0;
            long double turn = 6.283185307179586476925286766559005768L / (long double)n;
            size_t p = reversed(f, n), q = reversed((n - f) % n, n), high = 1;
            for (size_t k = 0; k < n; k++) {
                long double t = turn * (long double)(f * k % n), c = cosl(t), s = -sinl(t);
                re += (long double)x[2 * k] * c - (long double)x[2 * k + 1] * s;
                im += (long double)x[2 * k] * s + (long double)x[2 * k + 1] * c;
            }
            CHECK_NEAR(y[2 * p], (double)re, 0, bound);
            CHECK_NEAR(y[2 * p + 1], (double)im, 0, bound);
            while (2 * high <= p) high *= 2;
            CHECK(q == (p ? p ^ (high - 1) : 0));
        }
        mcamp__fft_inverse(y, n, tw);
        for (size_t k = 0; k < 2 * n; k++) CHECK_NEAR(y[k] / (double)n, x[k], 0, 2 * bound);
    }
}

TEST(every_frequency_is_visited_once)
{
    static int seen[1024];
    for (size_t n = 4; n <= 1024; n *= 4) {
        memset(seen, 0, sizeof seen);
        for (size_t c = 0; c <= n / 2; c++) {
            size_t p, q;
            mcamp__spectrum_pair(c, n, &p, &q);
            CHECK(p < n && q < n);
            seen[p]++;
            if (p != q) seen[q]++;
        }
        for (size_t k = 0; k < n; k++) CHECK(seen[k] == 1);
    }
}

/* ---- laws on a lattice --------------------------------------------------------------- */

static double law_delta(const mcamp__law *a, double origin, double eps)
{
    double d = a->pinf;
    for (size_t j = 0; j < a->n; j++)
        if (a->l[j] + origin > eps) d -= a->w[j] * expm1(eps - a->l[j] - origin);
    return d;
}

static double law_mass(const mcamp__law *a, double origin, double power)
{
    double s = 0;
    for (size_t j = 0; j < a->n; j++) s += a->w[j] * exp(-power * (a->l[j] + origin));
    return s;
}

/* Random laws, dense and sparse, in one run or two, on lattices coarse and fine: mass is
 * conserved, E e^-loss kept or raised (lower side), and delta is on its side everywhere;
 * the same after composing two of them by hand.                                            */
TEST(lattice_laws_bound_from_both_sides)
{
    for (int round = 0; round < 60; round++) {
        size_t n = 3 + (size_t)(uniform() * (round % 2 ? 400 : 8));
        double h = exp(3 * uniform() - 5), total = 0, y, width = 0.2 + 3 * uniform();
        double origin[2] = { 0, 0 }, lost = 0;
        mcamp__law in, out[2];
        CHECK(mcamp__law_alloc(&ctx, &in, n));
        in.count = 1;
        for (size_t j = 0; j < n; j++) {
            in.l[in.n] = width * (uniform() + uniform() + uniform() - 1.3);
            in.w[in.n] = uniform();
            total += in.w[in.n++];
        }
        mcamp__law_sort(&in);
        if (round % 5 == 4) {                   /* two runs */
            double t = in.l[0];
            in.l[0] = in.l[n / 2];
            in.l[n / 2] = t;
        }
        for (size_t j = 0; j < n; j++) in.w[j] *= 0.99 / total;
        in.pinf = 0.01;
        origin[1] = round % 3 ? mcamp__nan() : 0.37 * h;
        for (int side = 1; side >= 0; side--) {
            if (!side) origin[0] = origin[1];
            CHECK_STATUS(mcamp__lattice_law(&ctx, &out[side], &in, h, &origin[side], side,
                                            round % 4 ? 2 : -1, &lost), MCAMP_OK);
            CHECK_NEAR(law_mass(&out[side], 0, 0), 0.99, 1e-12, 0);
            CHECK_NEAR(out[side].pinf, 0.01, 0, 0);
            for (size_t j = 0; j < out[side].n; j++)
                CHECK_NEAR(out[side].l[j] / h, floor(out[side].l[j] / h + 0.5), 1e-14, 1e-14);
        }
        y = law_mass(&in, 0, 1);
        CHECK_NEAR(law_mass(&out[0], origin[0], 1), y, 1e-12, 0);
        CHECK_LE(y, law_mass(&out[1], origin[1], 1) * (1 + 1e-12));
        for (double eps = -3; eps < 8; eps += 0.037) {
            double d = law_delta(&in, 0, eps);
            CHECK_LE(d, law_delta(&out[0], origin[0], eps) + 1e-13);
            CHECK_LE(law_delta(&out[1], origin[1], eps), d + 1e-13);
        }
        mcamp__law_free(&ctx, &in);
        mcamp__law_free(&ctx, &out[0]);
        mcamp__law_free(&ctx, &out[1]);
    }
}

/* ---- finite pairs ---------------------------------------------------------------------- */

/* delta of `uses` of (p, q) by enumerating outcomes. */
static double enumerate(const double *p, const double *q, size_t n, int uses, double eps,
                        double P, double Q)
{
    double s = 0;
    if (!uses) return P > exp(eps) * Q ? P - exp(eps) * Q : 0;
    for (size_t i = 0; i < n; i++) s += enumerate(p, q, n, uses - 1, eps, P * p[i], Q * q[i]);
    return s;
}

TEST(finite_pairs_against_enumeration)
{
    static const double p[4] = { 0.5, 0.3, 0.15, 0.05 }, q[4] = { 0.4, 0.35, 0.05, 0.2 };
    for (int uses = 1; uses <= 7; uses += 2)
        for (double eps = 0; eps < 4; eps += 0.5) {
            mcamp_grid_desc d = wanted(1e-3, (double)uses);
            mcamp_pld one, all;
            mcamp_interval v;
            double rem = enumerate(p, q, 4, uses, eps, 1, 1);
            double add = enumerate(q, p, 4, uses, eps, 1, 1);
            CHECK_STATUS(mcamp_grid_pmf(&ctx, p, q, 4, &d, &one), MCAMP_OK);
            CHECK_STATUS(mcamp_grid_compose(&ctx, &one, (uint64_t)uses, &one, 0, &all), MCAMP_OK);
            CHECK_STATUS(mcamp_grid_delta(&ctx, &all, MCAMP_REMOVE, eps, &v, NULL), MCAMP_OK);
            CHECK_LE(v.lower, rem * (1 + 1e-12));
            CHECK_LE(rem * (1 - 1e-12), v.upper);
            CHECK_LE(v.upper - v.lower, 0.05 * rem + 1e-4);
            CHECK_STATUS(mcamp_grid_delta(&ctx, &all, MCAMP_ADD, eps, &v, NULL), MCAMP_OK);
            CHECK_LE(v.lower, add * (1 + 1e-12));
            CHECK_LE(add * (1 - 1e-12), v.upper);
            mcamp_grid_free(&ctx, &one);
            mcamp_grid_free(&ctx, &all);
        }
}

/* Randomised response, two values: exactly on the lattice; against binomial sums, and
 * its infinite losses kept and reported.                                                   */
TEST(randomised_response_against_binomial_sums)
{
    for (uint64_t k = 1; k < 30000; k = 5 * k + 1) {
        double eps = 1.5 / sqrt((double)k), a = 1 / (1 + exp(-eps)), p[3], q[3], t;
        mcamp_grid_desc d = wanted(1e-6, (double)k);
        mcamp_grid_info info;
        mcamp_pld one, all;
        mcamp_interval v;
        p[0] = q[1] = a; p[1] = q[0] = 1 - a;
        CHECK_STATUS(mcamp_grid_pmf(&ctx, p, q, 2, &d, &one), MCAMP_OK);
        CHECK_STATUS(mcamp_grid_compose(&ctx, &one, k, &one, 0, &all), MCAMP_OK);
        for (double x = 0.1; x < 6; x += 1.1) {
            t = mcamp__response_delta(eps, (double)k, x);
            CHECK_STATUS(mcamp_grid_delta(&ctx, &all, MCAMP_BOTH, x, &v, &info), MCAMP_OK);
            if (t > 0) check_interval(v, t, 1e-9, 1e-6);
            else CHECK_LE(v.upper, 1e-12);
            CHECK_LE(info.infinite, 0);
        }
        mcamp_grid_free(&ctx, &one);
        mcamp_grid_free(&ctx, &all);
        p[0] = a * 0.999; p[1] = (1 - a) * 0.999; p[2] = 0.001;
        q[0] = 1 - a; q[1] = a; q[2] = 0;
        CHECK_STATUS(mcamp_grid_pmf(&ctx, p, q, 3, &d, &one), MCAMP_OK);
        CHECK_STATUS(mcamp_grid_compose(&ctx, &one, k, &one, k, &all), MCAMP_OK);
        t = -expm1(2 * (double)k * log1p(-0.001));
        CHECK_STATUS(mcamp_grid_delta(&ctx, &all, MCAMP_REMOVE, 2, &v, &info), MCAMP_OK);
        CHECK_NEAR(info.infinite, t, 1e-9, 0);
        CHECK_LE(t * (1 - 1e-9), v.lower);
        CHECK_STATUS(mcamp_grid_epsilon(&ctx, &all, MCAMP_REMOVE, t * 0.9, &v, NULL),
                     MCAMP_E_INFEASIBLE);
        mcamp_grid_free(&ctx, &one);
        mcamp_grid_free(&ctx, &all);
    }
}

/* ---- against section exact and the reference numbers --------------------------------------- */

static void check_epsilon(const mcamp_event *e, size_t n, double delta, double truth, double width)
{
    mcamp_grid_desc d = wanted(delta, 1);
    mcamp_interval v = { -1, -1 };
    mcamp_grid_info info;
    mcamp_pld p;
    memset(&info, 0, sizeof info);
    CHECK_STATUS(mcamp_grid_init(&ctx, e, n, &d, &p), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &p, MCAMP_BOTH, delta, &v, &info), MCAMP_OK);
    check_interval(v, truth, 2e-9, width);
    CHECK_LE((double)info.bytes, 2e8);
    mcamp_grid_free(&ctx, &p);
}

static void reference_case(const char *line, void *user)
{
    double v[5];
    mcamp_event e;
    int *seen = (int *)user;
    if (sscanf(line, "dpsgd_eps %lf %lf %lf %lf %lf", v, v + 1, v + 2, v + 3, v + 4) != 5) return;
    e = poisson(v[0], v[2], (uint64_t)v[1]);
    if (!quick() || *seen < 2) check_epsilon(&e, 1, v[3], v[4], 1e-4);
    ++*seen;
}
TEST(reference_numbers_of_dpsgd)
{
    int seen = 0;
    mt_vectors("exact.txt", reference_case, &seen);
    CHECK(seen == 15);
}

/* Every kind of event, alone and all together: the intervals of both ways meet, and each
 * contains the other's middle to within both widths.                                        */
static void compare(const mcamp_event *e, size_t n, double delta, double width)
{
    mcamp_grid_desc d = wanted(delta, 1);
    mcamp_exact_info x;
    mcamp_grid_info g;
    mcamp_interval v, w;
    mcamp_pld p;
    CHECK_STATUS(mcamp_grid_init(&ctx, e, n, &d, &p), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &p, MCAMP_BOTH, delta, &v, &g), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, n, NULL, delta, &w, NULL), MCAMP_OK);
    CHECK_LE(v.lower, w.upper);
    CHECK_LE(w.lower, v.upper);
    CHECK_LE(v.upper - v.lower, width * v.upper);
    CHECK_STATUS(mcamp_exact_delta(&ctx, e, n, NULL, 0.7 * v.upper, &w, &x), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_delta(&ctx, &p, MCAMP_BOTH, 0.7 * v.upper, &v, &g), MCAMP_OK);
    CHECK_LE(v.lower, w.upper);
    CHECK_LE(w.lower, v.upper);
    CHECK_LE(g.remove.lower, x.remove.upper);
    CHECK_LE(x.remove.lower, g.remove.upper);
    CHECK_LE(g.add.lower, x.add.upper);
    CHECK_LE(x.add.lower, g.add.upper);
    mcamp_grid_free(&ctx, &p);
}

TEST(every_event_as_in_section_exact)
{
    static const double shift[3] = { 0, 1, 2.5 }, prob[3] = { 0.98, 0.015, 0.005 };
    mcamp_event e[8];
    e[0] = poisson(0.02, 1.1, 300);
    e[1] = simple(MCAMP_EVENT_LAPLACE, 10, 50);
    e[2] = response(0.1, 1e-9, 40);
    e[3] = simple(MCAMP_EVENT_MIXTURE, 1.5, 100);
    e[3].n = 3; e[3].shift = shift; e[3].prob = prob;
    e[4] = simple(MCAMP_EVENT_GROUP_POISSON, 4, 200);
    e[4].q = 0.01; e[4].group = 8;
    e[5] = simple(MCAMP_EVENT_GROUP_FIXED, 4, 100);
    e[5].population = 2000; e[5].batch = 20; e[5].group = 4;
    e[6] = poisson(0.01, 1.5, 400);
    e[6].kind = MCAMP_EVENT_TRUNCATED;
    e[6].population = 50000; e[6].batch = 500;
    e[7] = simple(MCAMP_EVENT_GAUSSIAN, 5, 3);
    for (int i = 0; i < 8; i++) compare(&e[i], 1, 1e-6, 1e-4);
    e[1].q = e[2].q = 0.2;
    compare(&e[1], 1, 1e-5, 1e-4);
    compare(&e[2], 1, 1e-5, 1e-4);
    e[1].q = e[2].q = 0;
    compare(e, 8, 1e-7, 5e-4);
}

TEST(extremes)
{
    static const double cases[][4] = {      /* q, T, sigma, delta */
        { 1e-4, 1e6, 100, 1e-6 }, { 0.01, 1e7, 50, 1e-15 }, { 0.02, 3000, 0.2, 1e-6 },
        { 1e-3, 1e7, 20, 1e-10 }, { 0.5, 1, 1, 1e-15 }, { 1e-5, 1e7, 1, 1e-6 },
        { 0.3, 1, 3000, 1e-6 }, { 0.01, 2000, 200, 1e-6 } };
    for (size_t i = quick() ? 6 : 0; i < sizeof cases / sizeof cases[0]; i++) {
        mcamp_event e = poisson(cases[i][0], cases[i][2], (uint64_t)cases[i][1]);
        mcamp_interval v, w;
        mcamp_grid_desc d = wanted(cases[i][3], 1);
        mcamp_pld p;
        CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, &p), MCAMP_OK);
        CHECK_STATUS(mcamp_grid_epsilon(&ctx, &p, MCAMP_BOTH, d.delta, &v, NULL), MCAMP_OK);
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, d.delta, &w, NULL), MCAMP_OK);
        CHECK_LE(v.lower, w.upper);
        CHECK_LE(w.lower, v.upper);
        CHECK_LE(v.upper - v.lower, 2e-3 * v.upper);
        mcamp_grid_free(&ctx, &p);
    }
}

/* ---- composition ------------------------------------------------------------------------- */

/* (a b) c = a (b c) = all at once, to rounding; more uses lose more; conserved mass. */
TEST(composition_is_associative_and_monotone)
{
    mcamp_event e[3], all[3];
    mcamp_pld p[3], x, y, z, w;
    mcamp_grid_desc d = wanted(1e-6, 20);
    mcamp_interval u, v, last = { 0, 0 };
    e[0] = poisson(0.01, 1, 30);
    e[1] = simple(MCAMP_EVENT_LAPLACE, 20, 2);
    e[2] = response(0.05, 1e-10, 1);
    d.step = 1.0 / 4096;
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(mcamp_grid_init(&ctx, &e[i], 1, &d, &p[i]), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_compose(&ctx, &p[0], 3, &p[1], 2, &x), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_compose(&ctx, &x, 4, &p[2], 9, &y), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_compose(&ctx, &p[1], 8, &p[2], 9, &z), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_compose(&ctx, &p[0], 12, &z, 1, &w), MCAMP_OK);
    for (double eps = 0.5; eps < 6; eps += 0.5) {
        CHECK_STATUS(mcamp_grid_delta(&ctx, &y, MCAMP_BOTH, eps, &u, NULL), MCAMP_OK);
        CHECK_STATUS(mcamp_grid_delta(&ctx, &w, MCAMP_BOTH, eps, &v, NULL), MCAMP_OK);
        CHECK_NEAR(u.upper, v.upper, 1e-8, 0);
        CHECK_NEAR(u.lower, v.lower, 1e-6, 1e-12);
        CHECK_LE(u.lower, u.upper);
    }
    memcpy(all, e, sizeof all);
    all[0].count *= 12; all[1].count *= 8; all[2].count *= 9;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, all, 3, NULL, 1e-6, &u, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &w, MCAMP_BOTH, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_LE(u.lower, v.upper);
    CHECK_LE(v.lower, u.upper);
    mcamp_grid_free(&ctx, &w);
    for (uint64_t k = 1; k < 2000; k *= 3) {
        CHECK_STATUS(mcamp_grid_compose(&ctx, &p[0], k, &p[1], 1, &w), MCAMP_OK);
        CHECK_STATUS(mcamp_grid_epsilon(&ctx, &w, MCAMP_BOTH, 1e-6, &v, NULL), MCAMP_OK);
        CHECK_LE(last.upper, v.upper);
        CHECK_LE(last.lower, v.lower);
        last = v;
        mcamp_grid_free(&ctx, &w);
    }
    mcamp_grid_free(&ctx, &x);
    mcamp_grid_free(&ctx, &y);
    mcamp_grid_free(&ctx, &z);
    for (int i = 0; i < 3; i++) mcamp_grid_free(&ctx, &p[i]);
}

/* The window's tilted masses sum to one, none of them negative beyond what is stated. */
TEST(windows_conserve_mass)
{
    mcamp_event e = poisson(0.01, 0.8, 1500);
    mcamp_grid_desc d = wanted(1e-8, 1);
    mcamp_pld p;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, &p), MCAMP_OK);
    for (int add = 0; add < 2; add++) {
        mcamp__window w;
        double points, s[2] = { 0, 0 };
        CHECK_STATUS(mcamp__window_open(&ctx, p.impl, add, 2, 0, 0, &points, &w, 1), MCAMP_OK);
        for (size_t k = 0; k < 2 * w.n; k++) {
            s[k % 2] += w.bin[k];
            CHECK_LE(-w.bin[k], w.noise[k % 2]);
        }
        CHECK_NEAR(s[0], 1, 1e-9, 0);
        CHECK_NEAR(s[1], 1, 1e-9, 0);
        CHECK_LE(w.noise[0], 1e-11);
        mcamp__window_free(&ctx, &w);
    }
    mcamp_grid_free(&ctx, &p);
}

/* ---- samples and simulations ---------------------------------------------------------------- */

/* b bounds the binomial tail: checked against the sum. */
TEST(binomial_bounds_hold)
{
    for (double n = 10; n < 2000; n *= 7)
        for (double i = 0; i < n; i = 2 * i + 1)
            for (double t = 2; t < 30; t *= 3) {
                double b = mcamp__binomial_upper(n, i, t), tail = 0;
                for (double k = 0; k <= i; k++) tail += exp(mcamp__log_binomial(n, k, b, 1 - b));
                CHECK_LE(tail, exp(-t) * (1 + 1e-9));
                CHECK_LE(i / n, b);
            }
}

/* The Gaussian mechanism known from samples only: above the truth (error rate 1e-9), and
 * of use, also mixed with another mechanism.                                               */
TEST(samples_bound_a_known_mechanism)
{
    size_t n = 200000;
    double *x = (double *)malloc(2 * n * sizeof *x), mu = 0.8, t;
    mcamp_grid_desc d = wanted(1e-3, 1);
    mcamp_event e[2];
    mcamp_pld p, q, both;
    mcamp_grid_info info;
    mcamp_interval v, w;
    for (size_t i = 0; i < 2 * n; i++)
        x[i] = 0.5 * mu * mu + mu * mcamp__gauss_quantile_log(log(uniform()));
    d.step = 1.0 / 2048;
    CHECK_STATUS(mcamp_grid_samples(&ctx, x, n, x + n, n, 1e-9, &d, &p), MCAMP_OK);
    for (double eps = 0; eps < 3; eps += 0.25) {
        t = exp(mcamp__gauss_logdelta(mu, eps));
        CHECK_STATUS(mcamp_grid_delta(&ctx, &p, MCAMP_BOTH, eps, &v, &info), MCAMP_OK);
        CHECK_LE(t, v.upper);
        CHECK_LE(v.upper, 1.1 * t + 2e-3);
        CHECK_NEAR(v.lower, 0, 0, 0);
        CHECK_NEAR(info.beta, 1e-9, 0, 0);
    }
    e[0] = poisson(0.01, 1, 500);
    e[1] = simple(MCAMP_EVENT_GAUSSIAN, 1 / mu, 1);
    CHECK_STATUS(mcamp_grid_init(&ctx, e, 1, &d, &q), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_compose(&ctx, &p, 1, &q, 1, &both), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &both, MCAMP_BOTH, 1e-3, &v, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 2, NULL, 1e-3, &w, NULL), MCAMP_OK);
    CHECK_LE(w.lower, v.upper);
    CHECK_LE(v.upper, 1.3 * w.upper);
    /* beta counts in full */
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &both, MCAMP_BOTH, 0.9e-9, &v, NULL),
                 MCAMP_E_INFEASIBLE);
    mcamp_grid_free(&ctx, &p);
    mcamp_grid_free(&ctx, &q);
    mcamp_grid_free(&ctx, &both);
    free(x);
}

/* Balls in bins by simulation (error rate 1e-9), where C = I has an answer without. */
TEST(simulated_bins_bound_the_exact_ones)
{
    mcamp_mech mech;
    mcamp_mech_desc md;
    mcamp_gram g;
    mcamp_pld p, q, both;
    mcamp_grid_desc d = wanted(1e-5, 1);
    mcamp_event e = simple(MCAMP_EVENT_BINS, 2, 1), f[2];
    mcamp_grid_info info;
    mcamp_interval v, w;
    double eps[24];
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_IDENTITY; md.n = 64;
    for (int i = 0; i < 24; i++) eps[i] = 0.15 * i;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &mech), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &mech, 16, &g), MCAMP_OK);
    e.bins = 16; e.rounds = 4;
    d.step = 1.0 / 4096;
    CHECK_STATUS(mcamp_grid_bins(&ctx, &g, 2, eps, 24, 1, 20, 1e-9, &d, &p), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-5, &w, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &p, MCAMP_BOTH, 1e-5, &v, &info), MCAMP_OK);
    CHECK_LE(w.lower, v.upper);
    CHECK_LE(v.upper, 1.25 * w.upper);
    CHECK_NEAR(info.beta, 1e-9, 0, 0);
    f[0] = poisson(0.01, 1.5, 300);
    f[1] = e;
    CHECK_STATUS(mcamp_grid_init(&ctx, f, 1, &d, &q), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_compose(&ctx, &p, 1, &q, 1, &both), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &both, MCAMP_BOTH, 1e-5, &v, NULL), MCAMP_OK);
    mcamp_grid_free(&ctx, &q);
    CHECK_STATUS(mcamp_grid_init(&ctx, f, 2, &d, &q), MCAMP_OK);    /* without simulation */
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &q, MCAMP_BOTH, 1e-5, &w, NULL), MCAMP_OK);
    CHECK_LE(w.upper, v.upper * (1 + 1e-3));
    CHECK_LE(v.upper, 1.25 * w.upper);
    CHECK_STATUS(mcamp_grid_bins(&ctx, &g, 2, eps, 24, 1, 0, 1e-9, &d, &p), MCAMP_E_REQUIRED);
    mcamp_grid_free(&ctx, &p);
    mcamp_grid_free(&ctx, &q);
    mcamp_grid_free(&ctx, &both);
    mcamp_gram_free(&ctx, &g);
    mcamp_mech_free(&ctx, &mech);
}

/* C = I: several uses, which section exact refuses; more than one, less than in sequence. */
TEST(bins_compose)
{
    mcamp_event e = simple(MCAMP_EVENT_BINS, 2, 1), g = simple(MCAMP_EVENT_GAUSSIAN, 1, 3);
    mcamp_grid_desc d = wanted(1e-6, 1);
    mcamp_interval one, three, gauss;
    mcamp_pld p;
    e.bins = 32; e.rounds = 2;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &one, NULL), MCAMP_OK);
    e.count = 3;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &three, NULL), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, &p), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &p, MCAMP_BOTH, 1e-6, &three, NULL), MCAMP_OK);
    g.sigma = 2 / sqrt(2.0);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &g, 1, NULL, 1e-6, &gauss, NULL), MCAMP_OK);
    CHECK_LE(one.lower, three.upper);
    CHECK_LE(three.upper, 3 * one.upper);
    CHECK_LE(three.upper, gauss.upper);
    mcamp_grid_free(&ctx, &p);
    e.count = 1;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, &p), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &p, MCAMP_BOTH, 1e-6, &three, NULL), MCAMP_OK);
    CHECK_LE(one.lower, three.upper);
    CHECK_LE(three.upper, 1.01 * one.upper);
    mcamp_grid_free(&ctx, &p);
}

/* ---- memory ---------------------------------------------------------------------- */

TEST(memory_is_announced_and_refused)
{
    mt_fault f;
    mcamp_ctx c;
    mcamp_event e = poisson(0.01, 1, 2000);
    mcamp_grid_desc d = wanted(1e-6, 1);
    mcamp_grid_info info;
    mcamp_interval v = { 7, 7 };
    mcamp_pld p;
    size_t bytes = 0, live;
    memset(&f, 0, sizeof f);
    CHECK_STATUS(mt_fault_ctx(&f, NULL, &c), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_init(&c, &e, 1, &d, &p), MCAMP_OK);
    CHECK_LE((double)f.peak, 2e8);
    CHECK_STATUS(mcamp_grid_bytes(&c, &p, 1e-6, &bytes), MCAMP_OK);
    live = f.bytes;
    CHECK(live < bytes);
    f.peak = 0;
    CHECK_STATUS(mcamp_grid_epsilon(&c, &p, MCAMP_BOTH, 1e-6, &v, &info), MCAMP_OK);
    CHECK_LE((double)f.peak, (double)bytes + 5000);
    CHECK_LE((double)info.bytes, (double)bytes);
    CHECK(f.bytes == live);
    mcamp_grid_free(&c, &p);
    CHECK(f.live == 0 && f.misuse == 0);
    d.max_bytes = 1000000;
    CHECK_STATUS(mcamp_grid_init(&c, &e, 1, &d, &p), MCAMP_E_SIZE);
    CHECK(f.live == 0);
    d.max_bytes = 0;
    d.step = 1e-7;                  /* fine enough for 1e8 points */
    e = simple(MCAMP_EVENT_RESPONSE, 0, 1000);
    e.eps = 0.1;
    CHECK_STATUS(mcamp_grid_init(&c, &e, 1, &d, &p), MCAMP_OK);
    f.peak = f.bytes;
    v.lower = v.upper = 7;
    CHECK_STATUS(mcamp_grid_delta(&c, &p, MCAMP_BOTH, 1, &v, NULL), MCAMP_E_SIZE);
    CHECK(!strcmp(mcamp_last_error(&c).argument, "max_bytes"));
    CHECK_LE((double)f.peak, (double)f.bytes + 5000);
    CHECK_NEAR(v.upper, 7, 0, 0);
    mcamp_grid_free(&c, &p);
}

static mcamp_status everything(mcamp_ctx *c, void *user)
{
    static const double p[2] = { 0.6, 0.4 }, q[2] = { 0.4, 0.6 };
    mcamp_event e[2];
    mcamp_gram g;
    double gram[4] = { 1, 0.5, 0.5, 1 }, eps[2] = { 0, 1 };
    mcamp_grid_desc d = wanted(1e-3, 1);
    mcamp_interval v;
    mcamp_pld x = { NULL }, y = { NULL }, z = { NULL };
    mcamp_status st;
    (void)user;
    d.rel_error = 0.05;
    d.step = 1.0 / 64;
    e[0] = poisson(0.1, 1, 10);
    e[1] = simple(MCAMP_EVENT_GAUSSIAN, 3, 1);
    st = mcamp_grid_init(c, e, 2, &d, &x);
    if (st >= 0) st = mcamp_grid_pmf(c, p, q, 2, &d, &y);
    if (st >= 0) st = mcamp_grid_compose(c, &x, 1, &y, 3, &z);
    if (st >= 0) st = mcamp_grid_epsilon(c, &z, MCAMP_BOTH, 1e-3, &v, NULL);
    mcamp_grid_free(c, &x);
    mcamp_grid_free(c, &y);
    mcamp_grid_free(c, &z);
    if (st >= 0) st = mcamp_grid_samples(c, p, 2, q, 2, 0.5, &d, &y);
    mcamp_grid_free(c, &y);
    if (st < 0) return st;
    if ((st = mcamp_gram_from_matrix(c, gram, 2, &g)) < 0) return st;
    st = mcamp_grid_bins(c, &g, 2, eps, 2, 1, 1, 0.01, &d, &y);
    mcamp_grid_free(c, &y);
    mcamp_gram_free(c, &g);
    return st > 0 ? MCAMP_OK : st;
}
TEST(every_failed_allocation_is_survived)
{
    if (!quick()) CHECK(mt_all_faults("grid", everything, NULL) > 10);
}

/* ---- bad input -------------------------------------------------------------------- */

TEST(bad_input_is_refused)
{
    double p[2] = { 0.5, 0.5 }, q[2] = { 0.5, 0.4 };
    mcamp_event e = poisson(0.01, 1, 10);
    mcamp_grid_desc d = wanted(1e-6, 1), bad;
    mcamp_interval v = { 7, 7 };
    mcamp_pld x = { NULL }, y = { NULL }, z = { NULL };
    CHECK_STATUS(mcamp_grid_init(NULL, &e, 1, &d, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 0, &d, &x), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, NULL, &x), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, NULL), MCAMP_E_REQUIRED);
    bad = d; bad.delta = 0;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &bad, &x), MCAMP_E_REQUIRED);
    bad.delta = 1;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &bad, &x), MCAMP_E_ARG);
    bad.delta = mcamp__nan();
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &bad, &x), MCAMP_E_NONFINITE);
    bad = d; bad.rel_error = 0.5;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &bad, &x), MCAMP_E_ARG);
    bad = d; bad.uses = 0.5;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &bad, &x), MCAMP_E_ARG);
    bad = d; bad.step = -1;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &bad, &x), MCAMP_E_ARG);
    bad = d; bad.step = 1e-300;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &bad, &x), MCAMP_E_ARG);
    bad = d; bad.end_canary = 1;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &bad, &x), MCAMP_E_CANARY);
    e.q = 1.5;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_grid_pmf(&ctx, p, q, 2, &d, &x), MCAMP_E_ARG);
    q[1] = 0.5; p[0] = -0.5;
    CHECK_STATUS(mcamp_grid_pmf(&ctx, p, q, 2, &d, &x), MCAMP_E_ARG);
    p[0] = mcamp__nan();
    CHECK_STATUS(mcamp_grid_pmf(&ctx, p, q, 2, &d, &x), MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_grid_pmf(&ctx, NULL, q, 2, &d, &x), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_grid_pmf(&ctx, q, q, 0, &d, &x), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_grid_samples(&ctx, p, 2, q, 2, 0.1, &d, &x), MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_grid_samples(&ctx, q, 2, q, 2, 0, &d, &x), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_grid_samples(&ctx, q, 2, NULL, 2, 0.1, &d, &x), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_grid_bins(&ctx, NULL, 1, q, 2, 1, 1, 0.1, &d, &x), MCAMP_E_REQUIRED);
    CHECK(!x.impl);
    CHECK_STATUS(mcamp_grid_delta(&ctx, &x, MCAMP_BOTH, 1, &v, NULL), MCAMP_E_REQUIRED);
    e.q = 0.01;
    d.step = 0.01;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, &x), MCAMP_OK);
    d.step = 0.02;
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, &y), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_compose(&ctx, &x, 1, &y, 1, &z), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_grid_compose(&ctx, &x, 0, &x, 0, &z), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_grid_compose(&ctx, &x, UINT64_MAX, &x, 1, &z), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_grid_delta(&ctx, &x, MCAMP_BOTH, -1, &v, NULL), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_grid_delta(&ctx, &x, (mcamp_direction)9, 1, &v, NULL), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_grid_delta(&ctx, &x, MCAMP_BOTH, mcamp__nan(), &v, NULL),
                 MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &x, MCAMP_BOTH, 0, &v, NULL), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &x, MCAMP_BOTH, 1e-3, NULL, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_grid_bytes(&ctx, &x, 1e-3, NULL), MCAMP_E_REQUIRED);
    CHECK_NEAR(v.upper, 7, 0, 0);
    mcamp_grid_free(&ctx, &x);
    mcamp_grid_free(&ctx, &y);
    mcamp_grid_free(&ctx, &y);          /* twice does no harm */
    mcamp_grid_free(&ctx, NULL);
}

/* Distributions that are equal, or share no outcome; no loss at all. */
TEST(degenerate_mechanisms)
{
    double p[2] = { 1, 0 }, q[2] = { 0, 1 };
    mcamp_grid_desc d = wanted(1e-6, 10);
    mcamp_event e = response(0, 1e-6, 10);
    mcamp_interval v;
    mcamp_pld x;
    CHECK_STATUS(mcamp_grid_pmf(&ctx, p, p, 2, &d, &x), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_delta(&ctx, &x, MCAMP_BOTH, 0, &v, NULL), MCAMP_OK);
    CHECK_LE(v.upper, 1e-6);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &x, MCAMP_BOTH, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_LE(v.upper, 1e-6);
    mcamp_grid_free(&ctx, &x);
    CHECK_STATUS(mcamp_grid_pmf(&ctx, p, q, 2, &d, &x), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_delta(&ctx, &x, MCAMP_BOTH, 5, &v, NULL), MCAMP_OK);
    CHECK_NEAR(v.upper, 1, 1e-12, 0);
    CHECK_NEAR(v.lower, 1, 1e-9, 0);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &x, MCAMP_BOTH, 0.5, &v, NULL), MCAMP_E_INFEASIBLE);
    mcamp_grid_free(&ctx, &x);
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, &x), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_delta(&ctx, &x, MCAMP_BOTH, 1, &v, NULL), MCAMP_OK);
    check_interval(v, -expm1(10 * log1p(-1e-6)), 1e-9, 1e-3);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &x, MCAMP_BOTH, 1e-4, &v, NULL), MCAMP_OK);
    CHECK_LE(v.upper, 1e-6);
    mcamp_grid_free(&ctx, &x);
    e = poisson(0.01, 1e9, 5);          /* next to no loss */
    CHECK_STATUS(mcamp_grid_init(&ctx, &e, 1, &d, &x), MCAMP_OK);
    CHECK_STATUS(mcamp_grid_epsilon(&ctx, &x, MCAMP_BOTH, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_LE(v.upper, 1e-6);
    mcamp_grid_free(&ctx, &x);
}

static const mt_case cases[] = {
    T(transform_against_its_definition),
    T(every_frequency_is_visited_once),
    T(lattice_laws_bound_from_both_sides),
    T(finite_pairs_against_enumeration),
    T(randomised_response_against_binomial_sums),
    T(reference_numbers_of_dpsgd),
    T(every_event_as_in_section_exact),
    T(extremes),
    T(composition_is_associative_and_monotone),
    T(windows_conserve_mass),
    T(binomial_bounds_hold),
    T(samples_bound_a_known_mechanism),
    T(simulated_bins_bound_the_exact_ones),
    T(bins_compose),
    T(memory_is_announced_and_refused),
    T(every_failed_allocation_is_survived),
    T(bad_input_is_refused),
    T(degenerate_mechanisms)
};

int main(int argc, char **argv)
{
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 1;
    return mt_run("grid", cases, sizeof cases / sizeof cases[0], argc, argv);
}
