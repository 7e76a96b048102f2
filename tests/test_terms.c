/* Section exact: every term of a certified interval where it is the whole error: coarse
 * cells, few frequencies, short periods, much smoothing, tails of 1e-2.                */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

static mcamp_ctx ctx;

/* The same numbers on every machine. */
static uint64_t state = 4321;
static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static mcamp_event poisson(double q, double sigma, uint64_t count)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.q = q; e.sigma = sigma; e.count = count;
    return e;
}

/* ---- inversion ------------------------------------------------------------------------- */

/* E(1 - e^{eps - S})_+ or, kernel 1, E(S - eps)_+, S the sum of `uses` from the law. */
static double enumerate(const mcamp__law *a, int uses, int kernel, double eps, double s, double w)
{
    double t = 0;
    if (!uses) return s <= eps ? 0 : w * (kernel ? s - eps : -expm1(eps - s));
    for (size_t i = 0; i < a->n; i++)
        t += enumerate(a, uses - 1, kernel, eps, s + a->l[i], w * a->w[i]);
    return t;
}

/* A small law, each use with mass beyond the finite losses. */
static void small_law(mcamp__law *a, double *l, double *w, int uses, double pinf)
{
    double sum = 0;
    memset(a, 0, sizeof *a);
    a->l = l; a->w = w;
    a->n = a->cap = 4;
    a->count = uses;
    a->pinf = pinf;
    for (int i = 0; i < 4; i++) {
        l[i] = 3 * uniform() - 1.2;
        sum += w[i] = 0.02 + uniform();
    }
    for (int i = 0; i < 4; i++) w[i] *= (1 - pinf) / sum;
}

enum { ALL, ALIAS, TAIL, SMOOTH, GAUSS, SKIP };

/* One setting of the inversion; what is inside is known.  `tight`: how often the interval
 * was narrower than 1% of the truth, to show that it says something.                     */
static void invert(int what, int kernel, int *tight)
{
    double l[4], w[4], work = 0, lambda, tau, r, eps, truth = 0, sd, level = -60;
    int uses = 1 + (int)(5 * uniform());
    size_t n;
    mcamp__law a;
    mcamp__sum_law s;
    mcamp__spec spec;
    mcamp_interval v;
    memset(&s, 0, sizeof s);
    memset(&spec, 0, sizeof spec);
    small_law(&a, l, w, uses, what == ALIAS && !kernel ? 1e-3 : 0);
    s.law = &a; s.n = 1; s.kernel = kernel;
    if (what == GAUSS) s.g2 = 0.3 * uniform();
    for (int i = 0; i < 4; i++) s.plus += uses * w[i] * (l[i] > 0 ? l[i] : 0);
    s.plus *= 1 + 1e-12;
    sd = sqrt(mcamp__sum_cum(&s, 0).k2);
    lambda = (0.5 + 2 * uniform()) / sd;
    eps = what == ALIAS ? 2 * uniform() : uses * (1.5 * uniform() - 0.3);
    if (eps < 0 && !kernel) eps = 0;
    r = what == SMOOTH ? 0.02 + 0.3 * uniform() : what == ALIAS || what == SKIP ? 0.05 : 0.1;
    tau = 6.283 / (what == ALIAS ? sd * (1 + 3 * uniform()) : 40 + 10 * uses);
    n = (size_t)(what == TAIL ? 3 + 60 * uniform() : 12 / ((r + sqrt(s.g2)) * tau) + 8);
    if (what == SKIP) level = -4 - 8 * uniform();
    CHECK_STATUS(mcamp__spec_build(&ctx, &spec, &s, lambda, tau, r, n, level), MCAMP_OK);
    v = mcamp__spec_eval(&spec, eps, &work);
    if (what == GAUSS) {        /* the same with the Gaussian as an average over it */
        double h = 0.05, mu = sqrt(s.g2);
        for (double x = -9; x <= 9; x += h)
            truth += h * mcamp__gauss_pdf(x) *
                     enumerate(&a, uses, kernel, eps - mu * x - 0.5 * s.g2, 0, 1);
        CHECK_LE(v.lower, truth * (1 + 1e-3));
        CHECK_LE(truth * (1 - 1e-3), v.upper);
    } else {
        truth = enumerate(&a, uses, kernel, eps, 0, 1);
        if (!kernel) truth += 1 - pow(1 - a.pinf, uses);
        CHECK_LE(v.lower, truth * (1 + 1e-12) + 1e-300);
        CHECK_LE(truth * (1 - 1e-12), v.upper);
    }
    *tight += v.upper - v.lower < 0.01 * truth;
    mcamp__spec_free(&ctx, &spec);
}

TEST(inverted_transforms_hold_the_sum)
{
    for (int what = ALIAS; what <= SKIP; what++)
        for (int kernel = 0; kernel < 2; kernel++) {
            int tight = 0;
            if (what == GAUSS && kernel) continue;
            for (int round = 0; round < 400; round++) invert(what, kernel, &tight);
            if (what == SKIP || what == TAIL) CHECK(tight < 400);
        }
}

/* Frequencies that are left out have no more than what is counted for them, sums of moduli by all
 * of them; blocks of strides are several, and some have to be cut short.                  */
TEST(frequencies_that_are_skipped_are_counted)
{
    int skipped = 0, close = 0;
    for (int round = 0; round < 1000; round++) {
        double l[4], w[4], a = 0, b = 0, sd, lambda, tau, level = -4 - 20 * uniform();
        size_t n = 400 + (size_t)(3000 * uniform());
        mcamp__law law[2];
        mcamp__sum_law s;
        mcamp__spec all, some;
        memset(&s, 0, sizeof s); memset(&all, 0, sizeof all); memset(&some, 0, sizeof some);
        small_law(&law[0], l, w, 2 + (int)(20 * uniform()), 0);
        law[1] = law[0];
        law[1].count = 1 + round % 3;
        s.law = law; s.n = 1 + (size_t)(round % 2); s.kernel = round / 2 % 3;
        sd = sqrt(mcamp__sum_cum(&s, 0).k2);
        lambda = (0.5 + 2 * uniform()) / sd;
        tau = 0.02 / sd;
        CHECK_STATUS(mcamp__spec_build(&ctx, &all, &s, lambda, tau, 1e-2, n, -1000), MCAMP_OK);
        CHECK_STATUS(mcamp__spec_build(&ctx, &some, &s, lambda, tau, 1e-2, n, level), MCAMP_OK);
        CHECK_LE((double)n, (double)all.n);
        for (size_t k = some.n; k < n; k++) {
            b += tau / 3.141592653589793 * hypot(all.br[k], all.bi[k]);
            a += tau / 3.141592653589793 * hypot(all.ar[k], all.ai[k]);
        }
        CHECK_LE(a, some.tail_a - all.tail_a * (1 - 1e-14));
        CHECK_LE(b, some.tail_b - all.tail_b * (1 - 1e-14));
        skipped += some.n < n;
        close += b > 0.1 * (some.tail_b - all.tail_b);
        mcamp__spec_free(&ctx, &all);
        mcamp__spec_free(&ctx, &some);
    }
    CHECK_LE(100, skipped);
    CHECK_LE(50, close);
}

/* The computed transform is off by no more than is said, at many uses, where that is much;
 * against long doubles; and so is the cumulant function at lambda.                       */
TEST(errors_of_the_transform_are_within_their_bound)
{
    double l[4], w[4], lambda = 1.3, tau = 0.011, worst = 0;
    mcamp__law a;
    mcamp__sum_law s;
    mcamp__spec spec;
    const double uses = 3e7;
    memset(&s, 0, sizeof s);
    memset(&spec, 0, sizeof spec);
    small_law(&a, l, w, 1, 0);
    for (int i = 0; i < 4; i++) l[i] = 1e-4 * l[i] + 1e-4;
    a.count = uses;
    s.law = &a; s.n = 1;
    CHECK_STATUS(mcamp__spec_build(&ctx, &spec, &s, lambda, tau, 1e-9, 300, -1000), MCAMP_OK);
    {
        long double k0 = 0;
        for (int i = 0; i < 4; i++) k0 += (long double)w[i] * expl((long double)lambda * l[i]);
        k0 = (long double)uses * logl(k0);
        CHECK_LE(fabs((double)(k0 - (long double)spec.k0)), spec.kerr);
        for (size_t k = 0; k < 300; k++) {
            long double re = 0, im = 0, m = 0, t = (long double)((double)k * tau), mod, arg, d;
            for (int i = 0; i < 4; i++) {
                long double e = (long double)w[i] * expl((long double)lambda * l[i]);
                re += e * cosl(t * l[i]);
                im += e * sinl(t * l[i]);
                m += e;
            }
            mod = expl((long double)uses * logl(sqrtl(re * re + im * im) / m));
            arg = (long double)uses * atan2l(im, re);
            d = hypotl(mod * cosl(arg) - spec.br[k], mod * sinl(arg) - spec.bi[k]);
            CHECK_LE((double)d, spec.er[k]);
            if ((double)d > worst) worst = (double)d;
        }
    }
    CHECK_LE(1e-12, worst);             /* rounding is to be seen here */
    mcamp__spec_free(&ctx, &spec);
}

/* ---- cells and laws ------------------------------------------------------------------------ */

static double law_delta(const mcamp__law *a, double eps)
{
    double d = a->pinf;
    for (size_t j = 0; j < a->n; j++)
        if (a->l[j] > eps) d -= a->w[j] * expm1(eps - a->l[j]);
    return d;
}

/* Poisson sampling of a Gaussian in closed form, by direction. */
static double poisson_delta(double q, double s, double eps, int add)
{
    double y = expm1(add ? -eps : eps) / q, t, p, u;
    if (!(y > -1)) return add ? 0 : 1;
    t = s * log1p(y) + 0.5 / s;
    if (!add) {
        p = 0.5 * erfc(t / sqrt(2.0)); u = 0.5 * erfc((t - 1 / s) / sqrt(2.0));
        return (1 - q) * p + q * u - exp(eps) * p;
    }
    p = 0.5 * erfc(-t / sqrt(2.0)); u = 0.5 * erfc(-(t - 1 / s) / sqrt(2.0));
    return p - exp(eps) * ((1 - q) * p + q * u);
}

/* Pilots that end after 2 or 3 standard deviations and have coarse cells: the laws made of
 * them lie on their sides, each event's in both directions.                             */
TEST(laws_of_coarse_cells_lie_on_their_sides)
{
    for (int round = 0; round < 200; round++) {
        double q = uniform(), s = 0.4 + 2 * uniform(), z = 1 + 2 * uniform();
        mcamp_event e = poisson(q, s, 1);
        for (int add = 0; add < 2; add++) {
            mcamp__pair p;
            mcamp__law a[2];
            double *share, gap = 0, least = mcamp__inf(), mass[2] = { 0, 0 };
            CHECK_STATUS(mcamp__pair_init(&ctx, &e, &p), MCAMP_OK);
            CHECK_STATUS(mcamp__pair_pilot(&ctx, &p, z, add), MCAMP_OK);
            for (size_t k = 8; k + 8 < p.npilot; k++)       /* one wide cell in the middle */
                if (p.pilot[k].x1 > -0.5 && p.pilot[k].x2 < 0.8 && p.pilot[k + 1].x2 < 1 &&
                    p.pilot[k].x1 < p.pilot[k].x2 && p.pilot[k + 1].x1 < p.pilot[k + 1].x2) {
                    double x1 = p.pilot[k].x1, x2 = p.pilot[k + 1].x2;
                    p.pilot[k].p = p.pilot[k].q = 0;
                    p.pilot[k + 1] = mcamp__branch_cell(&p.br[0], 0, x1, x2);
                }
            share = mcamp__new_doubles(&ctx, p.npilot);
            for (size_t k = 0; k < p.npilot; k++)
                share[k] = round % 3 || !(p.pilot[k].x2 - p.pilot[k].x1 < 1e300) ? 1 : 2;
            for (int side = 0; side < 2; side++) {
                CHECK(mcamp__law_alloc(&ctx, &a[side], 6 * p.npilot + 4));
                mcamp__law_fill(&a[side], &p, share, side ? MCAMP__LOWER : MCAMP__UPPER, add);
                for (size_t k = 0; k < a[side].n; k++) mass[side] += a[side].w[k];
            }
            CHECK_NEAR(mass[0] + a[0].pinf, 1, 1e-12, 0);
            CHECK_LE(mass[1] + a[1].pinf, 1 + 1e-12);
            for (double eps = 0; eps < 4; eps += 0.1) {
                double d = poisson_delta(q, s, eps, add), up = law_delta(&a[0], eps);
                double low = law_delta(&a[1], eps);
                CHECK_LE(low, d + 1e-14);
                CHECK_LE(d, up + 1e-14);
                if (up - low > gap) gap = up - low;
                if (up - low < least) least = up - low;
            }
            CHECK_LE(1e-7, gap);                /* coarse indeed */
            CHECK_LE(least, 0.1);
            for (int side = 0; side < 2; side++) mcamp__law_free(&ctx, &a[side]);
            mcamp__delete_doubles(&ctx, share, p.npilot);
            mcamp__pair_free(&ctx, &p);
        }
    }
}

/* A cell's probabilities, and their ratio where one or both underflow. */
TEST(masses_of_cells)
{
    for (double x = -9; x < 9; x += 0.37)
        for (double w = 1e-6; w < 20; w *= 7) {
            double s = 0, h = w / 2000;
            for (int i = 0; i < 2000; i++) {            /* Simpson */
                double a = x + i * h;
                s += h / 6 * (mcamp__gauss_pdf(a) + 4 * mcamp__gauss_pdf(a + h / 2) +
                              mcamp__gauss_pdf(a + h));
            }
            CHECK_NEAR(mcamp__gauss_mass(x, x + w), s, 1e-9, 1e-300);
            CHECK_NEAR(mcamp__gauss_logmass(x, x + w), log(s), 1e-8, 1e-9);
        }
    for (double x = 31; x < 200; x += 13) {     /* far out: phi(x)/x (1 - 1/x^2), times parts */
        double t = -0.5 * x * x - 0.91893853320467274 - log(x) + log1p(-1 / (x * x));
        CHECK_NEAR(mcamp__gauss_logmass(x, x + 30), t, 1e-8, 1e-5);
        CHECK_NEAR(mcamp__gauss_logmass(x, x + 1e-3 / x), t + log(-expm1(-1e-3)), 1e-7, 3e-3);
        CHECK_NEAR(mcamp__gauss_logmass(-x - 30, -x), t, 1e-8, 1e-5);
    }
}

TEST(binomial_probabilities_and_cuts)
{
    static const double c[][3] = { { 6, 3, 0.2 }, { 40, 9, 0.2 }, { 40, 20, 0.2 }, { 0, 1, 0.5 },
                                   { 1, 1, 0.9 }, { 300, 2, 0.5 }, { 5, 9, 0.5 } };
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        double n = c[i][0], B = c[i][1], q = c[i][2], over = 0, more = 0, cut = 0;
        mcamp__cut_odds o = mcamp__odds_of_cut(n, B, q);
        for (double k = 0; k <= n + 1; k++) {
            double t = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(q) +
                           (n - k) * log1p(-q));
            double u = exp(lgamma(n + 2) - lgamma(k + 1) - lgamma(n - k + 2) + k * log(q) +
                           (n + 1 - k) * log1p(-q));
            if (k <= n) CHECK_NEAR(mcamp__log_binomial(n, k, q, 1 - q), log(t), 1e-10, 1e-10);
            if (k <= n && k >= B) { over += t; cut += t * (1 - B / (k + 1)); }
            if (k >= B) more += u;
        }
        CHECK_NEAR(o.over, over, 1e-11, 1e-300);
        CHECK_NEAR(o.over + o.edge, more, 1e-11, 1e-300);
        CHECK_NEAR(o.cut, cut, 1e-11, 1e-300);
        {   /* population n + 1, with the example: cuts by n others, and by n + 1 */
            mcamp_event e = poisson(q, 1, 1);
            mcamp__pair p;
            e.kind = MCAMP_EVENT_TRUNCATED;
            e.population = (uint64_t)n + 1; e.batch = (uint64_t)B;
            CHECK_STATUS(mcamp__pair_init(&ctx, &e, &p), MCAMP_OK);
            CHECK_LE(p.br[1].weight, over);
            CHECK_LE(p.br[0].weight, 1 - more + 1e-15);
            CHECK_NEAR(p.br[0].weight + p.br[1].weight + p.br[2].weight, 1, 1e-14, 0);
            CHECK_NEAR(p.br[1].mog.amax, 2, 1e-14, 0);
            CHECK_NEAR(p.br[2].mog.amax, 2, 1e-14, 0);
            mcamp__pair_free(&ctx, &p);
        }
    }
}

/* Infinite mass of a composition of laws. */
TEST(infinite_masses_add_up)
{
    mcamp__law law[2];
    mcamp__sum_law s;
    memset(law, 0, sizeof law);
    memset(&s, 0, sizeof s);
    law[0].pinf = 1e-3; law[0].count = 7;
    law[1].pinf = 1e-20; law[1].count = 1e6;
    s.law = law; s.n = 2;
    CHECK_NEAR(mcamp__sum_pinf(&s), -expm1(7 * log1p(-1e-3) - 1e-14), 1e-15, 0);
    law[0].pinf = 0;
    CHECK_NEAR(mcamp__sum_pinf(&s), 1e-14, 1e-12, 0);
}

/* ---- balls in bins -------------------------------------------------------------------------- */

/* b = 2 by quadrature over one X, in closed form over the other. */
static double two_bins(double c, double eps, int add)
{
    double s = 0, h = 1e-3, k = 2 * exp(add ? -eps : eps);
    for (double t = -11; t < c + 11; t += h) {
        double x = exp(c * t - c * c / 2), rest = k - x, v;
        /* E(X - rest)_+ or E(rest - X)_+ */
        if (rest <= 0) v = add ? 0 : 1 - rest;
        else {
            double d = log(rest) / c + c / 2, p = 0.5 * erfc(d / sqrt(2.0));
            double m = 0.5 * erfc((d - c) / sqrt(2.0));
            v = add ? rest * (1 - p) - (1 - m) : m - rest * p;
        }
        s += h * mcamp__gauss_pdf(t) * v;
    }
    return s * (add ? exp(eps) : 1) / 2;
}

TEST(two_bins_by_quadrature)
{
    static const double c[] = { 0.02, 0.1, 0.5, 1, 2.5 };
    for (int i = 0; i < 5; i++)
        for (double eps = 0.02; eps < 6 * c[i] && eps < 3; eps *= 2.2) {
            mcamp_event e;
            mcamp_exact_info info;
            mcamp_interval v;
            double rem = two_bins(c[i], eps, 0), add = two_bins(c[i], eps, 1);
            memset(&e, 0, sizeof e);
            e.kind = MCAMP_EVENT_BINS;
            e.count = e.rounds = 1; e.bins = 2; e.sigma = 1 / c[i];
            CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, &info) >= 0);
            CHECK_LE(info.remove.lower, rem * (1 + 1e-6) + 1e-13);
            CHECK_LE(rem * (1 - 1e-6) - 1e-13, info.remove.upper);
            CHECK_LE(info.add.lower, add * (1 + 1e-6) + 1e-13);
            CHECK_LE(add * (1 - 1e-6) - 1e-13, info.add.upper);
            if (rem > 1e-8) CHECK_LE(info.remove.upper - info.remove.lower, 1e-3 * rem);
            if (add > 1e-8 && add > rem) CHECK_LE(info.add.upper - info.add.lower, 1e-3 * add);
        }
}

static void open_bins(mcamp__acc *a, uint64_t b, double c);

/* A mean that is no double is not taken for 0: the put's square is below both paying half. */
TEST(two_bins_far_below)
{
    mcamp_interval v = { 0, 1 };
    mcamp__bet bet;
    mcamp__acc a;
    open_bins(&a, 2, 16);
    a.add = true;
    mcamp__bins_choose(&a, 500);
    bet = mcamp__bins_bet(&a, 500);
    mcamp__bins_pair(&a, &bet, &v);
    CHECK_LE(v.lower, exp(2 * mcamp__gauss_logcdf(bet.cut / 16 + 8)));  /* both below kappa */
    CHECK_LE(v.lower, 3.006e-239);
    CHECK_LE(3.0059e-239, v.upper);
    mcamp__acc_free(&a);
}

/* Two bins on cells: as near as is asked for, wherever the strike is. */
TEST(two_bins_on_cells)
{
    static const double c[] = { 0.06, 0.1, 0.5, 1.2, 3, 6 };
    for (int i = 0; i < 6; i++)
        for (double eps = 1e-4; eps < 12; eps *= 3)
            for (int add = 0; add < 2; add++) {
                double truth = two_bins(c[i], eps, add);
                mcamp_interval v = { 0, 1 };
                mcamp__bet bet;
                mcamp__acc a;
                open_bins(&a, 2, c[i]);
                CHECK(mcamp__bins_are_two(&a));
                a.tol = 1e-5;
                a.add = add;
                mcamp__bins_choose(&a, eps);
                bet = mcamp__bins_bet(&a, eps);
                mcamp__bins_pair(&a, &bet, &v);
                CHECK_LE(v.lower, truth * (1 + 1e-6) + 1e-13);
                CHECK_LE(truth * (1 - 1e-6) - 1e-13, v.upper);
                if (v.upper > 1e-250) CHECK_LE(v.upper, (1 + 1e-5) * v.lower);
                mcamp__acc_free(&a);
            }
}

static void open_bins(mcamp__acc *a, uint64_t b, double c)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_BINS;
    e.count = e.rounds = 1; e.bins = b; e.sigma = 1 / c;
    CHECK_STATUS(mcamp__acc_init(a, &ctx, &e, 1, 1e-4, 200000000, 0), MCAMP_OK);
}

/* E e^{(l + iy)P} over t from `from` to `to`, by a rule of three points on many cells. */
static void phi_by_cells(const mcamp__rule *q, double from, double to, double l, double y,
                         double *re, double *im)
{
    const int n = 15000;
    const double h = (to - from) / n, x[3] = { -0.7745966692414834, 0, 0.7745966692414834 };
    const double w[3] = { 5.0 / 18, 8.0 / 18, 5.0 / 18 };
    *re = *im = 0;
    for (int i = 0; i < 3 * n; i++) {
        double t = from + h * (i / 3 + 0.5 + 0.5 * x[i % 3]);
        double p = q->sign * (exp(q->c * t - 0.5 * q->c * q->c - q->scale) - q->shift);
        double f = h * w[i % 3] * mcamp__gauss_pdf(t) * exp(l * p);
        *re += f * cos(y * p);
        *im += f * sin(y * p);
    }
}

static double far_from(const mcamp__law *a, double l, double y, double re, double im)
{
    for (size_t i = 0; i < a->n; i++) {
        re -= a->w[i] * exp(l * a->l[i]) * cos(y * a->l[i]);
        im -= a->w[i] * exp(l * a->l[i]) * sin(y * a->l[i]);
    }
    return sqrt(re * re + im * im);
}

static void rule_of(mcamp__rule *q, double c, int put, int raw)
{
    memset(q, 0, sizeof *q);
    q->c = c;
    q->sign = put ? -1 : 1;
    q->open = put;
    q->shift = !raw;
    q->scale = raw ? -3 : 0;
    q->from = -9.5;
    q->to = put ? 9.5 : 4 + c;
}

/* What atoms make of E e^{zP}, with fine pieces and with rough ones, with ends far out and with
 * near ones, is as far from it as is said, at most; and that is little where it is meant to be.  */
TEST(atoms_of_bins_by_quadrature)
{
    for (int kind = 0; kind < 3; kind++)            /* call, put, put in a unit */
        for (double c = 0.02; c < 7; c *= 6)
            for (int how = 0; how < 3; how++) {     /* fine, rough, cut short */
                mcamp__rule q;
                mcamp__law a;
                double l = kind ? 1 / c : 3 / exp(c * (4 + 0.5 * c)), y = 9 * l;
                memset(&a, 0, sizeof a);
                a.count = 1;
                rule_of(&q, c, kind > 0, kind == 2);
                if (kind == 2) l = 0.3, y = 9 * l;
                if (how == 2) { q.from = -2.5; if (kind) q.to = 2; }
                CHECK_STATUS(mcamp__rule_fill(&ctx, &q, l, y, how == 1 ? -4 : -46, &a), MCAMP_OK);
                for (double z = 0; z <= y; z += 0.45 * y) {
                    double re, im, at, none, said = mcamp__rule_error(&a, l, z), off;
                    phi_by_cells(&q, -12, kind ? 12 : q.to, l, z, &re, &im);
                    phi_by_cells(&q, -12, kind ? 12 : q.to, l, 0, &at, &none);
                    off = far_from(&a, l, z, re, im) / at;
                    CHECK_LE(off, said + 1e-12);
                    if (!how) CHECK_LE(said, 1e-12);
                    if (how == 2 && kind) CHECK_LE(1e-4, said);
                    off = fabs(mcamp__law_cum(&a, l).k0 - log(at));
                    CHECK_LE(off, 1e-11 + mcamp__law_cum(&a, l).err);
                }
                mcamp__law_free(&ctx, &a);
            }
}

/* The largest modulus of phi(t) e^{zP} on an ellipse is no larger than is said. */
TEST(moduli_on_ellipses)
{
    for (int kind = 0; kind < 3; kind++)
        for (double c = 0.05; c < 6; c *= 4)
            for (double mid = -6; mid < 7; mid += 2.3)
                for (int i = 0; i < 8; i++) {
                    mcamp__rule q;
                    double rho = 1.4 * pow(1.7, i % 4), said, most = -1e300;
                    double half = mcamp__dmin(0.8, 2.8 / (c * (rho - 1 / rho)));
                    double l = kind ? 2 : 0.5 / exp(c * (mid + 0.5)), y = i < 4 ? 3 * l : 0;
                    rule_of(&q, c, kind > 0, kind == 2);
                    for (int j = 0; j < 64; j++) {
                        double a = j * 0.098174770424681035, u, v, x, re, im;
                        u = mid + 0.5 * half * (rho + 1 / rho) * cos(a);
                        v = 0.5 * half * (rho - 1 / rho) * sin(a);
                        x = exp(c * u - 0.5 * c * c - q.scale);
                        re = q.sign * (x * cos(c * v) - q.shift);
                        im = q.sign * x * sin(c * v);
                        most = mcamp__dmax(most, 0.5 * (v * v - u * u) + l * re - y * im);
                    }
                    said = mcamp__rule_piece(&q, mid, half, rho, l, y) + 32 * log(rho);
                    said -= log(4 * half / (1 - 1 / (rho * rho))) - 0.91893853320467274;
                    CHECK_LE(most, said);
                }
}

/* E(kappa - S)_+ of two bins by few frequencies: what is wrong by that is said.  And so is what the
 * transform is off by where t is cut short.                                              */
TEST(sums_of_few_frequencies_hold_the_put)
{
    int off = 0, wrong = 0;
    for (double c = 0.2; c < 1; c *= 2)
        for (double n = 6; n < 200; n *= 1.5)
            for (int cut = 0; cut < 2; cut++) {
                double eps = 0.3 * c, l = 1.5 / c, tau = 0.05 / c, truth = two_bins(c, eps, 1), f;
                mcamp__rule q;
                mcamp__law a;
                mcamp__sum_law s;
                mcamp__spec x;
                mcamp_interval v;
                memset(&a, 0, sizeof a); memset(&s, 0, sizeof s); memset(&x, 0, sizeof x);
                a.count = 2;
                rule_of(&q, c, 1, 0);
                if (cut) q.from = -5.5;
                CHECK_STATUS(mcamp__rule_fill(&ctx, &q, l, n * tau, -46, &a), MCAMP_OK);
                q.angle = 0.2;
                mcamp__falling_init(&q, &a, l, n * tau);
                mcamp__rule_fall(&q, n * tau);
                s.law = &a; s.n = 1; s.kernel = 1; s.plus = 2;
                CHECK_STATUS(mcamp__spec_build(&ctx, &x, &s, l, tau, 0, (size_t)n, -40), MCAMP_OK);
                v = mcamp__spec_eval(&x, -2 * expm1(-eps), NULL);
                f = 0.5 * exp(eps);
                CHECK_LE(f * v.lower, truth * (1 + 1e-10));
                CHECK_LE(truth * (1 - 1e-10), f * v.upper);
                off += v.upper > v.lower * (1 + 1e-3);
                if (n > 150 && !cut && c < 0.3) CHECK_LE(v.upper, v.lower * (1 + 1e-6));
                if (cut && n < 40) {
                    double re, im, y = (double)(x.n - 1) * tau, dr, di;
                    phi_by_cells(&q, -12, 12, l, y, &re, &im);
                    dr = (re * re - im * im) * exp(-x.k0) - x.br[x.n - 1];
                    di = 2 * re * im * exp(-x.k0) - x.bi[x.n - 1];
                    dr = sqrt(dr * dr + di * di);
                    CHECK_LE(dr, x.er[x.n - 1] + 1e-11);
                    wrong += dr > 1e-9;
                }
                mcamp__spec_free(&ctx, &x);
                mcamp__law_free(&ctx, &a);
            }
    CHECK_LE(10, off);
    CHECK_LE(3, wrong);
}

/* Frequencies beyond one have no more than is said there, which is not far from what they have. */
TEST(atoms_of_bins_fall_as_said)
{
    for (int put = 0; put < 2; put++)
        for (double c = 0.1; c < 3; c *= 3) {
            mcamp__rule q;
            mcamp__law a;
            double x = exp(c * (4 + 0.5 * c)), l = put ? 1 / c : 3 / x, worst = -1e300, k;
            double y = put ? 12 / c : mcamp__dmin(12 / c, 1000 / x);
            memset(&a, 0, sizeof a);
            a.count = 1;
            rule_of(&q, c, put, 0);
            CHECK_STATUS(mcamp__rule_fill(&ctx, &q, l, y, -46, &a), MCAMP_OK);
            mcamp__falling_init(&q, &a, l, 0.02 * y);
            k = mcamp__law_cum(&a, l).k0;
            for (double z = y; z > 0.02 * y; z *= 0.93) {
                double said, guess, is = far_from(&a, l, z, 0, 0);
                worst = mcamp__dmax(worst, is > 1e-11 ? log(is) : -1e300);
                q.angle = mcamp__dmin(0.5, z * c * c);
                guess = mcamp__rule_fall(&q, z) + k;
                said = mcamp__rule_turned(&a, l, z, q.angle);
                CHECK_LE(fabs(guess - said), 0.05 + 0.01 * fabs(said - k));
                CHECK_LE(worst, said + 1e-9);
                if (worst > -20) CHECK_LE(said, worst + (put ? 3 : 8));
                for (double b = 0.05; b < 1.5; b *= 2)      /* any angle is valid */
                    CHECK_LE(worst, mcamp__rule_turned(&a, l, z, b) + 1e-9);
            }
            mcamp__law_free(&ctx, &a);
        }
}

TEST(what_a_call_does_not_reach)
{
    {       /* E(S; some X >= x) for b = 2: 2 E(X; X >= x) + 2 E X' P(X >= x) less both */
        double c = 1, t = 0.7, pH = 0.5 * erfc(t / sqrt(2.0)), mH = 0.5 * erfc((t - c) / sqrt(2.0));
        mcamp__acc a;
        open_bins(&a, 2, c);
        a.pair[0].reach = t;
        CHECK_LE(mcamp__bins_beyond(&a), 2 * (mH + pH) * (1 + 1e-9));
        CHECK_LE(2 * (mH + (1 - mH) * pH), mcamp__bins_beyond(&a));
        mcamp__acc_free(&a);
    }
}

/* Both parts of a call by enumeration over which of two are huge: quadrature in the plane,
 * for modes alike, two kinds of them, and one that is 0 beside them.                    */
TEST(huge_and_tame_parts_of_a_call)
{
    static const double norm[3][3] = { { 0.8, 0.8, 0 }, { 1.1, 0.5, 0 }, { 0.9, 0.6, 0 } };
    static const double count[3] = { 1, 1, 1 };
    for (size_t i = 0; i < 3; i++) {
        double eps = 0.4, b = i == 2 ? 3 : 2, k = b * exp(eps) - (i == 2), huge = 0, h = 0.02;
        double c = norm[i][0], d = norm[i][1];
        mcamp_interval v = { 0, 0 };
        mcamp_event e;
        mcamp__bet bet;
        mcamp__acc a;
        memset(&e, 0, sizeof e);
        e.kind = MCAMP_EVENT_BINS;
        e.count = e.rounds = 1; e.bins = (uint64_t)b; e.sigma = 1;
        e.n = e.bins; e.shift = norm[i]; e.prob = count;
        for (double s = -8; s < 10; s += h)
            for (double t = -8; t < 10; t += h) {
                double x = exp(c * s - c * c / 2), y = exp(d * t - d * d / 2);
                if (x >= k || y >= k)
                    huge += h * h * mcamp__gauss_pdf(s) * mcamp__gauss_pdf(t) * (x + y - k);
            }
        CHECK_STATUS(mcamp__acc_init(&a, &ctx, &e, 1, 1e-4, 200000000, 0), MCAMP_OK);
        CHECK_NEAR(mcamp__bins_bet(&a, eps).cut, log(k), 1e-14, 0);
        bet = mcamp__bins_bet(&a, eps);
        mcamp__bins_huge(&a, &bet, &v);
        CHECK_NEAR(v.upper, huge, 3e-2, 0);
        CHECK_NEAR(v.lower, v.upper, 1e-10, 0);
        CHECK_LE(v.lower, v.upper);
        mcamp__acc_free(&a);
    }
}

/* Split below k: what some X >= K pays of a call, two modes, by quadrature in the plane. */
TEST(calls_that_are_split_early)
{
    for (double c = 0.3; c < 1; c += 0.3)
        for (double K = 1.7; K < 2.4; K += 0.2) {
            double k = 2.5, h = 0.01, truth = 0;
            mcamp_interval v = { 0, 0 };
            mcamp__bet bet;
            mcamp__acc a;
            open_bins(&a, 2, c);
            bet = mcamp__bins_bet(&a, log(k / 2));
            bet.top = log(K);
            mcamp__bins_huge(&a, &bet, &v);
            for (double s = -8; s < 8 + c; s += h)
                for (double t = (log(K) / c + c / 2) + h / 2; t < 8 + c; t += h) {
                    double x = exp(c * s - c * c / 2), z = exp(c * t - c * c / 2);
                    double f = h * h * mcamp__gauss_pdf(s) * mcamp__gauss_pdf(t);
                    if (x + z > k) truth += (x < K ? 2 : 1) * f * (x + z - k);
                }
            CHECK_LE(v.lower, truth * (1 + 2e-3));
            CHECK_LE(truth * (1 - 2e-3), v.upper);
            mcamp__acc_free(&a);
        }
}

/* Three modes by midpoints in space, cut at K and two ends that are cells' ends: what is said of
 * one of them beyond K, of two, and of none.                                              */
typedef struct apart_truth { double two, one, none, sure, over, thin, rest; } apart_truth;

static apart_truth apart_by_cells(double c, double k, double K, double F1, double F2, double y)
{
    enum { N = 200 };
    const double h = 0.08;
    double x[N], w[N];
    apart_truth r;
    memset(&r, 0, sizeof r);
    for (int i = 0; i < N; i++) {
        double t = -8 + h * (i + 0.5);
        x[i] = exp(c * t - c * c / 2);
        w[i] = h * mcamp__gauss_pdf(t);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double pair = x[i] + x[j], f = w[i] * w[j];
            int other = (x[i] < K) + (x[j] < K);
            if (other == 2 && pair - 2 > y) r.rest += f * (pair - 2 - y);
            for (int l = 0; l < N; l++) {
                double pay = pair + x[l] - k, v = f * w[l] * pay;
                int low = other + (x[l] < K);
                if (!(pay > 0) && x[l] < F2) continue;
                if (pay > 0 && low < 2) r.two += v;
                if (pay > 0 && low == 2) r.one += v;
                if (pay > 0 && low == 3) r.none += v;
                if (pay > 0 && other == 2 && x[l] >= F2) r.sure += 3 * v;
                if (pay > 0 && x[l] >= F2) r.over += 3 * v;
                if (pay > 0 && x[l] >= F1 && x[l] < F2) r.thin += v;
            }
        }
    return r;
}

TEST(one_bin_apart_of_three)
{
    for (double c = 0.5; c < 1.2; c += 0.3)
        for (int i = 0; i < 4; i++) {
            double tK = 1.6 + 0.16 * i, tF1 = tK + 0.4, tF2 = tK + 0.56, K, F1, F2, k = 3.9 + i, x;
            mcamp_interval v, sum = { 0, 0 };
            apart_truth r;
            mcamp__bet bet;
            mcamp__acc a;
            K = exp(c * tK - c * c / 2);
            F1 = exp(c * tF1 - c * c / 2);
            F2 = exp(c * tF2 - c * c / 2);
            r = apart_by_cells(c, k, K, F1, F2, k - 1 - F1);
            open_bins(&a, 3, c);
            bet = mcamp__bins_bet(&a, log(k / 3));
            a.apart.on = 1; a.apart.K = tK; a.apart.from = tF1; a.apart.to = tF2;
            CHECK_LE(r.two, mcamp__apart_two(&a, tK) * (1 + 2e-3));
            CHECK_LE(mcamp__apart_two(&a, tK), 20 * r.two);
            if (F2 < k) {
                v = mcamp__apart_sure(&a, &bet, tF2);
                CHECK_LE(v.lower, r.sure * (1 + 2e-3));
                CHECK_LE(r.sure, v.upper * (1 + 2e-3));
            }
            v = mcamp__apart_sure(&a, &bet, bet.cut / c + c / 2);
            CHECK_NEAR(v.lower, v.upper, 1e-9, 0);
            CHECK_LE(r.over, mcamp__apart_over(&a, &bet, tF2) * (1 + 2e-3));
            CHECK_LE(mcamp__apart_over(&a, &bet, tF2), 6 * r.over);
            CHECK_LE(r.thin, mcamp__apart_thin(&a, &bet) * (1 + 2e-3));
            CHECK_LE(mcamp__apart_thin(&a, &bet), 6 * r.thin + 0.1);
            CHECK_STATUS(mcamp__bins_pilot(&a, &bet, -30), MCAMP_OK);
            for (x = 0.3; x < 4; x *= 1.5) {
                CHECK_STATUS(mcamp__apart_law(&a, x), MCAMP_OK);
                CHECK_LE(r.rest, 1.002 * exp(mcamp__apart_rest(&a.law[0][0], 2, x, k - 1 - F1)));
            }
            CHECK(mcamp__apart_none(&a, &bet, 0, &sum) >= 0);
            CHECK_NEAR(0.5 * (sum.lower + sum.upper), r.none, 1e-2, 5e-8);
            a.apart.K = tK;
            CHECK(mcamp__apart_one(&a, &bet, 1e-5, &sum) >= 0);
            CHECK_NEAR(0.5 * (sum.lower + sum.upper), r.one, 1e-2, 5e-8);
            mcamp__acc_free(&a);
        }
}

/* Where many are large K is beyond where S > k for certain: no X counts twice. */
TEST(ends_of_the_bin_that_is_apart)
{
    for (double K = 4; K < 9; K += 0.5) {
        mcamp__acc a;
        mcamp__bet bet;
        open_bins(&a, 1000, 1.2);
        bet = mcamp__bins_bet(&a, 0.5);
        a.apart.on = 1; a.apart.K = K;
        CHECK_STATUS(mcamp__bins_pilot(&a, &bet, -30), MCAMP_OK);
        CHECK_LE(0, mcamp__apart_ends(&a, &bet, 1e-6));
        CHECK_LE(K, a.apart.from);
        CHECK_LE(a.apart.from, a.apart.to);
        mcamp__acc_free(&a);
    }
}

/* Bins of two kinds, some idle, some not: one integral over the sum's last mode and sums
 * over what the others are, for both directions.                                        */
static double mixed_bins(const double *c, int n, double b, double idle, double eps, int add)
{
    double k = b * exp(add ? -eps : eps) - idle, s = 0, h = n > 2 ? 0.05 : 2e-3;
    double t1 = n > 2 ? -9 : 0, t2 = n > 2 ? 9 + c[2] : 0;
    for (double u = t1; u <= t2; u += h)
        for (double t = -10; t < c[0] + 10; t += h) {
            double y = n > 2 ? exp(c[2] * u - c[2] * c[2] / 2) : 0;
            double rest = k - exp(c[0] * t - c[0] * c[0] / 2) - y, v;
            double d = rest > 0 ? log(rest) / c[1] + c[1] / 2 : 0;
            if (rest <= 0) v = add ? 0 : 1 - rest;
            else v = add ? rest * 0.5 * erfc(-d / sqrt(2.0)) - 0.5 * erfc((c[1] - d) / sqrt(2.0))
                         : 0.5 * erfc((d - c[1]) / sqrt(2.0)) - rest * 0.5 * erfc(d / sqrt(2.0));
            s += h * (n > 2 ? h * mcamp__gauss_pdf(u) : 1) * mcamp__gauss_pdf(t) * v;
        }
    return s * (add ? exp(eps) : 1) / b;
}

TEST(bins_of_several_kinds_by_quadrature)
{
    static const double norm[6][3] = { { 1, 0.5, 0 }, { 2, 1.4142135623730951, 0 },
                                       { 0.3, 0.2, 0 }, { 1, 1, 0.5 }, { 1.5, 0.7, 1 },
                                       { 0.6, 0.6, 0 } };
    static const double idle[6] = { 0, 0, 3, 0, 1, 1 };
    for (int i = 0; i < 6; i++)
        for (double eps = 0.05; eps < 2.4; eps *= 3) {
            int n = norm[i][2] > 0 ? 3 : 2;
            double b = n + idle[i], shift[4], count[4], truth[2];
            mcamp_event e;
            mcamp_exact_info info;
            mcamp_interval v;
            memset(&e, 0, sizeof e);
            e.kind = MCAMP_EVENT_BINS;
            e.count = 1; e.rounds = 4; e.bins = (uint64_t)b; e.sigma = 2; e.sensitivity = 1;
            for (int j = 0; j < n; j++) { shift[j] = norm[i][j]; count[j] = 1; }
            e.n = (size_t)n;
            if (idle[i] > 0) { shift[n] = 0; count[n] = idle[i]; e.n++; }
            e.shift = shift; e.prob = count;
            for (int add = 0; add < 2; add++)
                truth[add] = mixed_bins(norm[i], n, b, idle[i], eps, add);
            CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, &info) >= 0);
            for (int add = 0; add < 2; add++) {
                mcamp_interval r = add ? info.add : info.remove;
                double t = truth[add], slack = (n > 2 ? 1e-4 : 1e-6) * t + 1e-12;
                CHECK_LE(r.lower, t + slack);
                CHECK_LE(t - slack, r.upper);
                if (!add && t > 1e-9) CHECK_LE(r.upper - r.lower, 1e-3 * t);
                if (b * exp(-eps) <= idle[i]) CHECK_LE(info.add.upper, 2 * DBL_MIN);
            }
        }
}

/* The bounds without sums hold what all X < k pay, for two modes: the whole less the huge
 * part, or all of a put; and decide where modes are long.                              */
/* What holds without sums is above the truth, and small where that is far below all numbers. */
TEST(crude_bounds_of_bins)
{
    for (double c = 0.25; c < 5; c *= 1.5)
        for (double eps = 0.1; eps < 8; eps *= 1.6) {
            mcamp__acc a;
            open_bins(&a, 2, c);
            for (a.add = 0; a.add < 2; a.add++)
                CHECK_LE(two_bins(c, eps, a.add), mcamp__bins_crude(&a, eps) * (1 + 1e-9) + 1e-16);
            mcamp__acc_free(&a);
        }
    for (int i = 0; i < 2; i++) {
        mcamp__acc a;
        open_bins(&a, i ? 1000000 : 10000, 0.2);
        CHECK_LE(mcamp__bins_crude(&a, 0.5), 1e-90);
        a.add = 1;
        CHECK_LE(mcamp__bins_crude(&a, 0.5), 1e-250);
        mcamp__acc_free(&a);
    }
}

TEST(quick_bounds_of_two_bins)
{
    static const double c[] = { 0.5, 1.5, 3, 6, 9 };
    int near = 0;
    for (int i = 0; i < 5; i++)
        for (double eps = 0.05; eps < 9; eps *= 2.5)
            for (int add = 0; add < 2; add++) {
                double truth = two_bins(c[i], eps, add);
                mcamp_interval v, huge = { 0, 0 };
                mcamp__acc a;
                mcamp__bet bet;
                open_bins(&a, 2, c[i]);
                a.add = add;
                bet = mcamp__bins_bet(&a, eps);
                if (!add) mcamp__bins_huge(&a, &bet, &huge);
                v = mcamp__bins_quick(&a, &bet);
                huge.lower *= 0.5;      /* (a call: remove) */
                huge.upper *= 0.5;
                CHECK_LE(v.lower + huge.lower, truth * (1 + 1e-6) + 1e-12);
                CHECK_LE(truth * (1 - 1e-6) - 1e-12, v.upper + huge.upper);
                CHECK_LE(v.lower, v.upper);
                near += v.upper - v.lower < 1e-3 * (huge.lower + v.lower);
                mcamp__acc_free(&a);
            }
    CHECK_LE(8, near);
}

/* Puts so far out that kappa times the odds of all X < kappa is no double: both below e^-1
 * kappa is enough for 1 - 1/e of delta.                                                */
TEST(bounds_of_puts_do_not_underflow)
{
    static const double c[] = { 14, 16, 18, 22 }, eps[] = { 450, 500, 560 };
    int far = 0;
    for (int i = 0; i < 12; i++) {
        double norm = c[i / 3], e = eps[i % 3], least;
        mcamp_interval v;
        mcamp__acc a;
        open_bins(&a, 2, norm);
        a.add = true;
        least = (1 - exp(-1)) * exp(2 * mcamp__gauss_logcdf((-e - 1) / norm + 0.5 * norm));
        CHECK(mcamp__bins_delta(&a, e, 0, &v) >= 0);
        CHECK_LE(least, v.upper);
        CHECK_LE(v.lower, v.upper);
        far += least > 1e-300 && least < 1e-150;
        mcamp__acc_free(&a);
    }
    CHECK_LE(3, far);
}

/* eps where delta is within a thousandth of what it is at 0: quadrature knows delta that well. */
TEST(eps_of_two_bins_next_to_none)
{
    static const double c[] = { 0.01, 0.1, 0.4, 1, 3 };
    for (int i = 0; i < 5; i++)
        for (double eps = 1e-4; eps < 3e-3; eps *= 20) {
            double truth[2], delta;
            mcamp_exact_desc d;
            mcamp_event e;
            mcamp_interval v = { 0, 0 };
            memset(&e, 0, sizeof e); memset(&d, 0, sizeof d);
            e.kind = MCAMP_EVENT_BINS;
            e.count = e.rounds = 1; e.bins = 2; e.sigma = 1 / c[i];
            for (int add = 0; add < 2; add++) {
                d.direction = add ? MCAMP_ADD : MCAMP_REMOVE;
                d.rel_error = 1e-6;
                truth[add] = two_bins(c[i], eps, add);
                CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL) >= 0);
                CHECK_LE(v.lower, truth[add] * (1 + 1e-11));
                CHECK_LE(truth[add] * (1 - 1e-11), v.upper);
                CHECK_LE(v.upper, v.lower * (1 + (c[i] > 2 ? 1e-4 : 1e-6)));
            }
            d.direction = MCAMP_REMOVE;
            d.rel_error = 5e-3;
            delta = truth[0];
            CHECK(mcamp_exact_epsilon(&ctx, &e, 1, &d, delta, &v, NULL) >= 0);
            CHECK_LE(v.lower, eps * (1 + 1e-5));
            CHECK_LE(eps * (1 - 1e-5), v.upper);
            if (c[i] < 2) CHECK_LE(v.upper, 1.01 * v.lower);
        }
}

/* e^eps E(kappa - S)_+/2 in units of kappa, which is no number without. */
TEST(puts_at_eps_700)
{
    static const double c[] = { 29, 30, 33 };
    for (int i = 0; i < 3; i++) {
        double cut = log(2.0) - 700, s = 0, h = 1e-4, end = cut / c[i] + 0.5 * c[i];
        mcamp_exact_desc d;
        mcamp_event e;
        mcamp_interval v = { 0, 0 };
        memset(&e, 0, sizeof e); memset(&d, 0, sizeof d);
        e.kind = MCAMP_EVENT_BINS;
        e.count = e.rounds = 1; e.bins = 2; e.sigma = 1 / c[i];
        d.direction = MCAMP_ADD;
        d.rel_error = 2e-3;
        for (int j = 0; j < 120000; j++) {
            double t = end - 12 + (j + 0.5) * h, rest = 1 - exp(c[i] * (t - end));
            double x = (log(rest) + cut) / c[i] + c[i] / 2;
            s += h * mcamp__gauss_pdf(t) *
                 (rest * exp(mcamp__gauss_logcdf(x)) - exp(mcamp__gauss_logcdf(x - c[i]) - cut));
        }
        CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, 700, &v, NULL) >= 0);
        CHECK_LE(v.lower, s * (1 + 1e-5));
        CHECK_LE(s * (1 - 1e-5), v.upper);
        CHECK_LE(v.upper, 1.005 * v.lower);
    }
}

/* Beside an event that says next to nothing bins are met through their moments: another method. */
TEST(bins_once_by_both_methods)
{
    static const double c[][4] = { { 32, 1.5, 2, 0 }, { 3, 2, 1, 1 }, { 1000, 1.5, 0.2, 0 },
                                   { 10000, 1, 0.1, 0 }, { 10000, 1, 0.05, 1 }, { 100, 2, 3, 0 } };
    for (int i = 0; i < 6; i++) {
        mcamp_event e[2];
        mcamp_exact_desc d;
        mcamp_interval v = { 0, 0 }, w = { 0, 0 };
        memset(e, 0, sizeof e); memset(&d, 0, sizeof d);
        e[0].kind = MCAMP_EVENT_BINS;
        e[0].count = e[0].rounds = 1; e[0].bins = (uint64_t)c[i][0]; e[0].sigma = 1 / c[i][1];
        e[1].kind = MCAMP_EVENT_GAUSSIAN;
        e[1].count = 1; e[1].sigma = 1e13;
        d.direction = c[i][3] > 0 ? MCAMP_ADD : MCAMP_REMOVE;
        CHECK(mcamp_exact_delta(&ctx, e, 1, &d, c[i][2], &v, NULL) >= 0);
        CHECK(mcamp_exact_delta(&ctx, e, 2, &d, c[i][2], &w, NULL) >= 0);
        CHECK_LE(v.lower, w.upper * (1 + 1e-10));
        CHECK_LE(w.lower * (1 - 1e-10), v.upper);
        CHECK_LE(v.upper, v.lower * (1 + 1e-3));
    }
}

static const mt_case cases[] = {
    T(inverted_transforms_hold_the_sum),
    T(frequencies_that_are_skipped_are_counted),
    T(errors_of_the_transform_are_within_their_bound),
    T(laws_of_coarse_cells_lie_on_their_sides),
    T(masses_of_cells),
    T(binomial_probabilities_and_cuts),
    T(infinite_masses_add_up),
    T(two_bins_by_quadrature),
    T(two_bins_on_cells),
    T(two_bins_far_below),
    T(atoms_of_bins_by_quadrature),
    T(moduli_on_ellipses),
    T(atoms_of_bins_fall_as_said),
    T(sums_of_few_frequencies_hold_the_put),
    T(what_a_call_does_not_reach),
    T(calls_that_are_split_early),
    T(eps_of_two_bins_next_to_none),
    T(puts_at_eps_700),
    T(bins_once_by_both_methods),
    T(huge_and_tame_parts_of_a_call),
    T(one_bin_apart_of_three),
    T(ends_of_the_bin_that_is_apart),
    T(bins_of_several_kinds_by_quadrature),
    T(crude_bounds_of_bins),
    T(quick_bounds_of_two_bins),
    T(bounds_of_puts_do_not_underflow)
};

int main(int argc, char **argv)
{
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 1;
    return mt_run("terms", cases, sizeof cases / sizeof cases[0], argc, argv);
}
