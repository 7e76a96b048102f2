/* Section exact, compositions: against an independent accountant (a lattice and a Fourier
 * transform), enumeration, simulation; levels of what is known from samples.            */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"
#include "fft_reference.h"

static mcamp_ctx ctx;

/* The same numbers on every machine. */
static uint64_t state = 12345;
static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
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

static mcamp_event bins(uint64_t b, uint64_t epochs, double sigma, uint64_t count)
{
    mcamp_event e = simple(MCAMP_EVENT_BINS, sigma, count);
    e.bins = b; e.rounds = epochs;
    return e;
}

static mcamp_event allocate(uint64_t t, uint64_t k, double sigma, uint64_t count)
{
    mcamp_event e = simple(MCAMP_EVENT_ALLOCATE, sigma, count);
    e.bins = t; e.picks = k;
    return e;
}

static mcamp_event pair(const double *p, const double *q, size_t n, uint64_t count)
{
    mcamp_event e = simple(MCAMP_EVENT_PAIR, 0, count);
    e.n = n; e.prob = p; e.prob2 = q;
    return e;
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
    static const double p[3][4] = { { 0.5, 0.3, 0.15, 0.05 }, { 0.5, 0.3, 0.2, 0 },
                                    { 0.7, 0.3, 0, 0 } };
    static const double q[3][4] = { { 0.4, 0.35, 0.05, 0.2 }, { 0.4, 0.3, 0, 0.3 },
                                    { 0.3, 0.7, 0, 0 } };
    for (int k = 0; k < 3; k++)
        for (int uses = 1; uses <= 7; uses += 2)
            for (double eps = 0; eps < 4; eps += 0.4) {
                mcamp_event e = pair(p[k], q[k], 4, (uint64_t)uses);
                mcamp_exact_info info;
                mcamp_interval v;
                double rem = enumerate(p[k], q[k], 4, uses, eps, 1, 1);
                double add = enumerate(q[k], p[k], 4, uses, eps, 1, 1);
                CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, &info) >= 0);
                CHECK_LE(info.remove.lower, rem * (1 + 1e-12) + 1e-300);
                CHECK_LE(rem * (1 - 1e-12), info.remove.upper);
                CHECK_LE(info.add.lower, add * (1 + 1e-12) + 1e-300);
                CHECK_LE(add * (1 - 1e-12), info.add.upper);
                if (uses == 1) CHECK_LE(v.upper - v.lower, 1e-9 * v.upper + 1e-300);
                CHECK_NEAR(info.infinite, k == 1 ? -expm1(uses * log1p(-0.3)) : 0, 1e-9, 0);
            }
}

/* Randomised response as a pair and as an event; equal distributions; no common outcome. */
TEST(pairs_of_two_outcomes)
{
    double one[2] = { 1, 0 }, other[2] = { 0, 1 }, near[2] = { 0.5, 0.5 + 1e-10 };
    mcamp_interval v, w;
    mcamp_event e;
    for (uint64_t k = 1; k < 30000; k = 5 * k + 1) {
        double eps = 1.5 / sqrt((double)k), a = 1 / (1 + exp(-eps)), p[2], q[2];
        mcamp_event r = simple(MCAMP_EVENT_RESPONSE, 0, k);
        p[0] = q[1] = a; p[1] = q[0] = 1 - a;
        r.eps = eps;
        e = pair(p, q, 2, k);
        for (double x = 0.1; x < 4; x += 1.3) {
            double t = mcamp__response_delta(eps, (double)k, x);
            CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, x, &v, NULL) >= 0);
            CHECK(mcamp_exact_delta(&ctx, &r, 1, NULL, x, &w, NULL) >= 0);
            CHECK_LE(v.lower, t * (1 + 1e-9) + 1e-300);
            CHECK_LE(t * (1 - 1e-9), v.upper);
            CHECK_LE(v.lower, w.upper);
            CHECK_LE(w.lower, v.upper);
        }
    }
    e = pair(one, one, 2, 9);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_LE(v.upper, 0);
    e = pair(one, other, 2, 1);
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 5, &v, NULL), MCAMP_OK);
    CHECK_NEAR(v.lower, 1, 1e-9, 0);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 0.5, &v, NULL), MCAMP_E_INFEASIBLE);
    e = pair(near, near, 2, 3);             /* sums off by less than 1e-9 are proportions */
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 0, &v, NULL), MCAMP_OK);
    CHECK_LE(v.upper, 1e-300);
}

/* ---- against the reference --------------------------------------------------------------- */

/* An event of a random kind, and the same for the reference; small losses. */
static void random_event(mcamp_event *e, ref_mechanism *m, double *x)
{
    int kind = (int)(7 * uniform());
    double q = uniform(), s = 3 + 3 * uniform(), t;
    memset(m, 0, sizeof *m);
    m->cdf = ref_mixture_cdf;
    m->uses = 1 + (int)(8 * uniform());
    *e = simple(MCAMP_EVENT_GAUSSIAN, s, (uint64_t)m->uses);
    m->n = 2; m->a[1] = 1 / s; m->p[0] = 1 - q; m->p[1] = q;
    if (kind == 0) { m->p[0] = 0; m->p[1] = 1; return; }
    if (kind == 1) { e->kind = MCAMP_EVENT_POISSON; e->q = q; return; }
    if (kind == 2) {
        e->kind = MCAMP_EVENT_LAPLACE;
        m->cdf = ref_laplace_cdf;
        e->sigma = 2 * s; m->a[0] = 0.5 / s; e->q = m->q = q;
        return;
    }
    if (kind == 3) {                    /* a shift of 0 in the middle, one of odds 0 */
        double p[4] = { 0.2, 0.5, 0, 0.3 }, shift[4] = { 1, 0, 40, 1.5 };
        e->kind = MCAMP_EVENT_MIXTURE;
        e->n = m->n = 4; e->shift = x; e->prob = x + 4;
        for (int i = 0; i < 4; i++) {
            x[i] = shift[i]; m->a[i] = shift[i] / s;
            x[4 + i] = m->p[i] = p[i];
        }
        return;
    }
    if (kind == 4) {
        e->kind = MCAMP_EVENT_GROUP_POISSON;
        e->group = 3; e->q = q; e->sigma = 2 * s; m->n = 4;
        for (int i = 0; i < 4; i++) {
            m->a[i] = i / (2 * s);
            m->p[i] = (i % 3 ? 3 : 1) * pow(q, i) * pow(1 - q, 3 - i);
        }
        return;
    }
    m->cdf = ref_atoms_cdf;
    if (kind == 5) {
        e->kind = MCAMP_EVENT_RESPONSE;
        e->eps = 0.3 * q; e->delta = 1e-5;
        m->infinite = m->none = e->delta;
        m->a[0] = e->eps; m->a[1] = -e->eps;
        m->p[0] = (1 - e->delta) / (1 + exp(-e->eps)); m->p[1] = 1 - e->delta - m->p[0];
        return;
    }
    e->kind = MCAMP_EVENT_PAIR;
    e->n = m->n = 3; e->prob = x; e->prob2 = x + 3;
    x[0] = 0.2 + 0.1 * q; x[1] = 0.5; x[2] = 0.3 - 0.1 * q;
    t = 0.02 * uniform();
    x[3] = x[0] - t; x[4] = 0.5 + 2 * t; x[5] = x[2] - t;
    for (int i = 0; i < 3; i++) { m->p[i] = x[i]; m->a[i] = log(x[i] / x[3 + i]); }
}

TEST(random_compositions_against_a_lattice)
{
    static ref_account ref;
    for (size_t round = 0; round < mt_scale(14); round++) {
        mcamp_event e[3];
        ref_mechanism m;
        double mem[3][8];
        size_t n = 1 + (size_t)(3 * uniform());
        int atoms = 0;
        ref_start(&ref, 2e-3);
        for (size_t i = 0; i < n; i++) {
            random_event(&e[i], &m, mem[i]);
            atoms |= m.cdf == ref_atoms_cdf || m.cdf == ref_laplace_cdf;
            ref_add(&ref, &m);
        }
        for (double eps = 0.05; eps < 2.5; eps *= 2.3) {
            mcamp_exact_info info;
            mcamp_interval v;
            mcamp_status st = mcamp_exact_delta(&ctx, e, n, NULL, eps, &v, &info);
            CHECK(st >= 0);
            for (int add = 0; add < 2; add++) {
                double lo = 0, up = 0;
                mcamp_interval w = add ? info.add : info.remove;
                ref_delta(&ref, add, eps, &lo, &up);
                CHECK_LE(w.lower, up * (1 + 1e-9) + 1e-12);
                CHECK_LE(lo * (1 - 1e-9) - 1e-12, w.upper);
                if (w.upper > 1e-5 && !atoms) CHECK_LE(up - lo, 0.1 * up);  /* it can tell */
                if (atoms) CHECK_LE(up - lo, 0.1 * up + 3e-3);
            }
        }
    }
}

/* ---- what must not matter --------------------------------------------------------------- */

/* Order of events and of a mixture's parts, parts of odds 0, parts that are split, events
 * that do nothing, and how uses are counted.                                            */
TEST(equal_questions_have_equal_answers)
{
    static const double s1[3] = { 0, 1, 2.5 }, p1[3] = { 0.9, 0.08, 0.02 };
    static const double s2[6] = { 2.5, 1e70, 1, 0, 1, 0 };
    static const double p2[6] = { 0.02, 0, 0.03, 0.6, 0.05, 0.3 };
    static const double zero[2] = { 0, 3 }, none[2] = { 1, 0 };
    mcamp_event a[4], b[8];
    for (int single = 0; single < 2; single++) {
        size_t n = single ? 1 : 4, m = single ? 3 : 8;
        a[0] = simple(MCAMP_EVENT_MIXTURE, 2, single ? 1 : 30);
        a[0].n = 3; a[0].shift = s1; a[0].prob = p1;
        a[1] = poisson(0.02, 1.1, 60);
        a[2] = simple(MCAMP_EVENT_GAUSSIAN, 9, 2);
        a[3] = simple(MCAMP_EVENT_LAPLACE, 12, 4);
        b[0] = simple(MCAMP_EVENT_RESPONSE, 0, 7);              /* eps = 0 */
        b[1] = simple(MCAMP_EVENT_MIXTURE, 0.1, 3);
        b[1].n = 2; b[1].shift = zero; b[1].prob = none;
        b[2] = a[0];
        b[2].n = 6; b[2].shift = s2; b[2].prob = p2;
        b[3] = a[3]; b[4] = a[2]; b[5] = b[6] = a[1];
        b[5].count = 50; b[6].count = 10;
        b[7] = b[4];
        b[4].count = b[7].count = 1;
        for (double eps = 0.3; eps < 5; eps *= 3) {
            mcamp_interval v, w;
            double r, t;
            CHECK_STATUS(mcamp_exact_delta(&ctx, a, n, NULL, eps, &v, NULL), MCAMP_OK);
            CHECK_STATUS(mcamp_exact_delta(&ctx, b, m, NULL, eps, &w, NULL), MCAMP_OK);
            CHECK_NEAR(w.upper, v.upper, single ? 1e-10 : 1e-3, 0);
            CHECK_NEAR(w.lower, v.lower, single ? 1e-10 : 1e-3, 0);
            CHECK_LE(v.lower, w.upper);
            CHECK_LE(w.lower, v.upper);
            CHECK_STATUS(mcamp_exact_rdp(&ctx, a, n, 1 + eps, &r), MCAMP_OK);
            CHECK_STATUS(mcamp_exact_rdp(&ctx, b, m, 1 + eps, &t), MCAMP_OK);
            CHECK_NEAR(t, r, 1e-11, 0);
        }
    }
    /* Gaussians stay in closed form with an idle event beside them */
    b[1] = simple(MCAMP_EVENT_GAUSSIAN, 2, 3);
    {
        mcamp_interval v, w;
        CHECK_STATUS(mcamp_exact_delta(&ctx, &b[1], 1, NULL, 1, &v, NULL), MCAMP_OK);
        CHECK_STATUS(mcamp_exact_delta(&ctx, b, 2, NULL, 1, &w, NULL), MCAMP_OK);
        CHECK_NEAR(v.upper, w.upper, 0, 0);
        CHECK_NEAR(v.lower, w.lower, 0, 0);
    }
}

/* ---- levels ---------------------------------------------------------------------------------- */

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

/* The band's arithmetic from the definition: ranks and their number J from the rule said
 * there, every bound at level beta/J.                                                   */
TEST(a_band_of_a_sampled_law)
{
    double x[400], beta = 1e-3, below = 0, J = 0;
    mcamp__law a;
    size_t at;
    CHECK(mcamp__law_alloc(&ctx, &a, 400));
    for (size_t i = 0; i < 400; i++) a.l[i] = x[i] = (double)i;
    a.n = 400;
    mcamp__law_band(&a, beta);
    for (double i = 1; i <= 400; i += floor(1 + i / 30)) J++;
    CHECK_NEAR((double)a.n, J, 0, 0);
    at = a.n;
    for (double i = 1; i <= 400; i += floor(1 + i / 30)) {
        /* P(more than i - 1 of 400 above a level of mass b) at most beta/J */
        double b = mcamp__binomial_upper(400, i - 1, log(J / beta)), tail = 0, w;
        for (double k = 0; k < i; k++) tail += exp(mcamp__log_binomial(400, k, b, 1 - b));
        CHECK_LE(tail, beta / J * (1 + 1e-9));
        if (b > 1) b = 1;
        if (b < below) b = below;
        w = at == a.n ? a.pinf : a.w[at];
        CHECK_NEAR(w, b - below, 1e-9, 1e-12);
        below = b;
        CHECK_NEAR(a.l[--at], x[400 - (size_t)i], 0, 0);
    }
    CHECK_NEAR(a.w[0], 1 - below, 1e-9, 1e-12);
    mcamp__law_free(&ctx, &a);
}

/* The Gaussian mechanism known from samples only: above the truth (error rate 1e-9), and
 * of use, also mixed with another mechanism.                                               */
TEST(samples_bound_a_known_mechanism)
{
    size_t n = 100000;
    double *x = (double *)malloc(2 * n * sizeof *x), mu = 0.8, t;
    mcamp_event e[2];
    mcamp_exact_info info;
    mcamp_interval v, w;
    for (size_t i = 0; i < 2 * n; i++)
        x[i] = 0.5 * mu * mu + mu * mcamp__gauss_quantile_log(log(uniform()));
    e[0] = simple(MCAMP_EVENT_SAMPLED, 0, 1);
    e[0].n = n; e[0].shift = x; e[0].prob = x + n; e[0].beta = 1e-9;
    e[1] = poisson(0.01, 1, 500);
    for (double eps = 0; eps < 3; eps += 0.5) {
        t = exp(mcamp__gauss_logdelta(mu, eps));
        CHECK_STATUS(mcamp_exact_delta(&ctx, e, 1, NULL, eps, &v, &info), MCAMP_Q_MAX_ITER);
        CHECK_LE(t, info.remove.upper);
        CHECK_LE(t, info.add.upper);
        CHECK_LE(v.upper, 1.1 * t + 4e-3);
        CHECK_NEAR(v.lower, 0, 0, 0);
        CHECK_NEAR(info.beta, 1e-9, 0, 0);
    }
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 2, NULL, 1e-3, &v, NULL), MCAMP_Q_MAX_ITER);
    e[0] = simple(MCAMP_EVENT_GAUSSIAN, 1 / mu, 1);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 2, NULL, 1e-3, &w, NULL), MCAMP_OK);
    CHECK_LE(w.lower, v.upper);
    CHECK_LE(v.upper, 1.5 * w.upper);
    CHECK_LE(v.lower, w.upper);             /* what is sampled only is not in it */
    free(x);
}

/* beta: half for each direction's band; added to every delta, once however often the
 * mechanism is used, for both directions and for curves; summed over events; taken off the
 * target of eps; no finite eps at or below it.                                          */
TEST(levels_are_carried_into_every_answer)
{
    double eps[3] = { 0, 1, 2 }, up[3] = { 0.1, 0.01, 1e-3 };
    mcamp_event e[3], s;
    mcamp_exact_desc d;
    mcamp_exact_info info;
    mcamp_interval v, w, rem[2], add[2];
    double betas[3] = { 1e-4, 2e-5, 0 };
    memset(&d, 0, sizeof d);
    for (int i = 0; i < 3; i++) {
        e[i] = simple(MCAMP_EVENT_CURVE, 0, 2);
        e[i].n = 3; e[i].shift = eps; e[i].prob = e[i].prob2 = up;
    }
    CHECK_STATUS(mcamp_exact_delta(&ctx, e, 1, NULL, 9, &v, NULL), MCAMP_Q_MAX_ITER);
    for (int dir = MCAMP_BOTH; dir <= MCAMP_ADD; dir++) {
        d.direction = (mcamp_direction)dir;
        for (int i = 0; i < 3; i++) e[i].beta = 0;
        CHECK(mcamp_exact_delta(&ctx, e, 3, &d, 1.5, &v, &info) >= 0);
        CHECK_NEAR(info.beta, 0, 0, 0);
        for (int i = 0; i < 3; i++) e[i].beta = betas[i];
        CHECK_STATUS(mcamp_exact_delta(&ctx, e, 3, &d, 1.5, &w, &info), MCAMP_Q_MAX_ITER);
        CHECK_NEAR(info.beta, 1.2e-4, 1e-14, 0);
        CHECK_NEAR(w.upper, v.upper + 1.2e-4, 1e-9, 0);
        if (dir != MCAMP_ADD) CHECK_LE(v.upper * (1 - 1e-3) + 1.2e-4, info.remove.upper);
        if (dir != MCAMP_REMOVE) CHECK_LE(v.upper * (1 - 1e-3) + 1.2e-4, info.add.upper);
        /* eps: the same as without, at a target that is smaller */
        CHECK(mcamp_exact_epsilon(&ctx, e, 3, &d, 0.05 + 1.2e-4, &w, NULL) >= 0);
        for (int i = 0; i < 3; i++) e[i].beta = 0;
        CHECK(mcamp_exact_epsilon(&ctx, e, 3, &d, 0.05, &v, NULL) >= 0);
        CHECK_NEAR(w.upper, v.upper, 2e-5, 0);
    }
    for (int i = 0; i < 3; i++) e[i].beta = betas[i];
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 3, NULL, 1.2e-4, &v, NULL), MCAMP_E_INFEASIBLE);
    CHECK_STATUS(mcamp_exact_curve(&ctx, e, 3, NULL, eps, 2, rem, add), MCAMP_Q_MAX_ITER);
    CHECK(mcamp_exact_delta(&ctx, e, 3, NULL, eps[1], &v, &info) >= 0);
    CHECK_NEAR(rem[1].upper, info.remove.upper, 1e-12, 0);
    CHECK_NEAR(add[1].upper, info.add.upper, 1e-12, 0);
    /* a large beta beside a mechanism that is known: wide, and it says so */
    e[1] = simple(MCAMP_EVENT_GAUSSIAN, 1, 1);
    up[0] = up[1] = up[2] = 1e-14;
    CHECK_STATUS(mcamp_exact_delta(&ctx, e, 2, NULL, 0.5, &v, &info), MCAMP_Q_MAX_ITER);
    CHECK_LE(v.lower + 1e-4, v.upper);
    /* calibrated with it: the target is met with beta in it */
    e[1].sigma = 0;
    {
        double sigma = 0;
        CHECK(mcamp_exact_calibrate(&ctx, e, 2, NULL, 1, MCAMP_PARAM_SIGMA, 1, 1.1e-4, &sigma,
                                    NULL) >= 0);
        CHECK_LE(exp(mcamp__gauss_logdelta(1 / sigma, 1)), 1.001e-5);
        CHECK_LE(0.9e-5, exp(mcamp__gauss_logdelta(1 / sigma, 1)));
    }
    /* a sampled law's band: half of its beta for each direction */
    s = simple(MCAMP_EVENT_SAMPLED, 0, 1);
    s.n = 3; s.shift = s.prob = eps; s.beta = 0.5;
    {
        mcamp__law law;
        CHECK(mcamp__law_alloc(&ctx, &law, 3));
        memcpy(law.l, eps, sizeof eps);
        law.n = 3;
        mcamp__law_band(&law, 0.25);
        CHECK_STATUS(mcamp_exact_delta(&ctx, &s, 1, NULL, 5, &v, &info), MCAMP_Q_MAX_ITER);
        CHECK_NEAR(info.infinite, law.pinf, 1e-12, 0);
        mcamp__law_free(&ctx, &law);
    }
}

/* ---- balls in bins --------------------------------------------------------------------------- */

/* Two bins: dP/dQ = (X1 + X2)/2, one of the modes shifted under P.  The sum is below K where one X
 * is below K/2 and the other one below the rest, either way; by Gauss's rule, 16 times 8 points. */
static double ref_bins_cdf(const ref_mechanism *m, double l, int of_q)
{
    static const double node[4] = { 0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                                    0.9602898564975363 };
    static const double weight[4] = { 0.3626837833783620, 0.3137066458778873,
                                      0.2223810344533745, 0.1012285362903763 };
    double c = m->a[0], K = 2 * exp(l), mid = l / c + 0.5 * c, f = of_q ? 0 : c, s;
    s = -ref_phi(mid) * ref_phi(mid - f);
    for (int k = 0; k < 2; k++) {
        double a = k ? f : 0, from = a - 9, to = mid < a + 9 ? mid : a + 9, h = (to - from) / 32;
        for (int i = 0; i < 128 && to > from; i++) {
            double x = i % 8 < 4 ? node[i % 4] : -node[i % 4], t = from + h * (2 * (i / 8) + 1 + x);
            s += weight[i % 4] * h * exp(-0.5 * (t - a) * (t - a)) / sqrt(8 * atan(1.0)) *
                 ref_phi(log(K - exp(c * t - 0.5 * c * c)) / c + 0.5 * c - (f - a));
        }
    }
    return s;
}

/* Composed bins by the curve of one use, which is what there is where its law is not had. */
static mcamp_status by_curves(mcamp_event *e, size_t n, double x, int want_eps, double rel,
                              mcamp_direction dir, mcamp_interval *v)
{
    mcamp_exact_desc d;
    mcamp_exact_info info;
    memset(&d, 0, sizeof d);
    d.rel_error = rel; d.max_bytes = 200000000; d.direction = dir;
    return mcamp__exact_run(&ctx, e, n, &d, x, want_eps, (want_eps ? 1e-6 * x : 1e-14) /
                            (double)e->count, NULL, v, &info);
}

/* An atom that has next to no mass, but is far out, leaves the others where they are. */
TEST(atom_far_out_of_no_mass)
{
    double l[2] = { 0, 20 }, w[2] = { 1, 1e-305 };
    mcamp__law a;
    memset(&a, 0, sizeof a);
    a.l = l; a.w = w; a.n = a.cap = 2; a.count = 1;
    for (double x = 30; x < 45; x += 0.7) {
        mcamp__cum c = mcamp__law_cum(&a, x);
        double truth = log1p(exp(20 * x - 305 * log(10.0)));
        CHECK_LE(fabs(c.k0 - truth), 1e-11 * (1 + truth) + c.err);
    }
}

/* A delta whose ends are apart, where that is much of eps, is not called as near as wanted. */
TEST(composed_bins_that_are_wide_say_so)
{
    static const struct { size_t bins; double sigma; size_t uses; } c[] = {
        { 1000, 0.667, 2 }, { 1000, 1, 10 }, { 10000, 0.667, 10 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_event e;
        mcamp_exact_desc d;
        mcamp_interval v = { 0, 1 }, w = { 0, 1 };
        mcamp_status st;
        memset(&e, 0, sizeof e); memset(&d, 0, sizeof d);
        e.kind = MCAMP_EVENT_BINS; e.rounds = 1; e.count = c[i].uses; e.bins = c[i].bins;
        e.sigma = c[i].sigma;
        d.direction = MCAMP_ADD; d.rel_error = 0.01;
        st = mcamp_exact_delta(&ctx, &e, 1, &d, 0.3, &v, NULL);
        CHECK(st >= 0 && v.lower <= v.upper);
        if (st == MCAMP_Q_MAX_ITER || v.upper <= 1.01 * v.lower) continue;
        /* or it is not much of eps: delta falls by more than that from 0.3 to 1.01 times 0.3 */
        CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, 0.303, &w, NULL) >= 0);
        CHECK_LE(v.upper / v.lower, 1.002 * v.upper / w.upper);
    }
}

/* What a law gives for one use. */
static double law_delta(const mcamp__law *a, double eps)
{
    double s = a->pinf;
    for (size_t i = 0; i < a->n; i++) if (a->l[i] > eps) s -= a->w[i] * expm1(eps - a->l[i]);
    return s;
}

/* Both laws by sums of one use, `gap` apart in log delta on that line. */
static mcamp_status far_laws_by(const mcamp_event *e, int add, double lambda, double tail, int even,
                                double gap, mcamp__law *law)
{
    mcamp__wish wish;
    memset(&wish, 0, sizeof wish);
    memset(law, 0, 2 * sizeof *law);
    wish.lambda = lambda; wish.tail = tail; wish.spread = 1; wish.even = even;
    return mcamp__sums_law(&ctx, e, add, &wish, gap, law);
}

static mcamp_status far_laws(const mcamp_event *e, int add, double lambda, double tail,
                             mcamp__law *law)
{
    return far_laws_by(e, add, lambda, tail, 0, 1e-5, law);
}

/* Laws of bins of which a few are far: one above, one below the curve of one use, which is found
 * by other means, at every eps, and close; and they say what they have let go.            */
TEST(laws_of_far_bins_against_one_use)
{
    static const struct { size_t b; double sigma, lambda, tail, slack; } c[] = {
        { 16, 1.3, 8, -25, 4e-3 }, { 128, 1, 20, -25, 0.02 }, { 1000, 0.667, 8, -30, 0.02 },
        { 20000, 0.5, 3, -12, 0.02 }, { 300, 0.3, 1, -25, 0.12 }, { 100000, 0.2, 0.6, -25, 0.02 },
        { 1000, 0.667, 8, -5, 0.02 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        for (int add = 0; add < 2; add++) {
            mcamp_event e = bins(c[i].b, 1, c[i].sigma, 1);
            mcamp__law law[2];
            mcamp_exact_desc d;
            double far = log(mcamp__bins_x(1 / c[i].sigma, 5) / (double)c[i].b), last = 1;
            memset(&d, 0, sizeof d);
            d.direction = add ? MCAMP_ADD : MCAMP_REMOVE;
            d.rel_error = 1e-4;
            if (far_laws(&e, add, c[i].lambda, c[i].tail, law) < 0) {
                CHECK(add && c[i].sigma < 0.4);     /* S near 0, which these do not reach */
                continue;
            }
            for (int k = 0; k < 6; k++) {
                mcamp_interval v = { 0, 1 };
                double eps = k * mcamp__dmax(0.06, 0.15 * far), lo, up, gap;
                if (mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL) < 0 || v.upper < 1e-7) break;
                lo = law_delta(&law[1], eps);
                up = law_delta(&law[0], eps);
                CHECK_LE(lo, v.upper * (1 + 1e-9));
                CHECK_LE(v.lower * (1 - 1e-9), up);
                gap = c[i].slack * v.upper + 20 * exp(c[i].tail);
                CHECK_LE(up - lo, gap + (v.upper - v.lower));
                CHECK_LE(lo, last);
                last = lo;
            }
            for (int s = 0; s < 2; s++) mcamp__law_free(&ctx, &law[s]);
        }
}

/* The same where sums stand on points that are equally far apart, coarse and fine, tails that lose
 * nothing and much; and where these would be too many, none.                              */
TEST(laws_on_equal_points_against_one_use)
{
    static const struct { size_t b; double sigma, lambda; } c[] = {
        { 16, 2.5, 20 }, { 32, 2, 15 }, { 128, 1.4, 20 }, { 1000, 1.4, 70 }, { 20000, 1, 40 } };
    static const double tails[] = { -45, -30, -12, -5 };
    mcamp__law none[2];
    mcamp_event wide = bins(10000, 1, 0.667, 1);
    size_t close = 0, all = 0;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        for (int k = 0; k < 16; k++) {
            int add = k & 1;
            double gap = k & 2 ? 0.03 : 1e-3, tail = tails[k / 4];
            mcamp_event e = bins(c[i].b, 1, c[i].sigma, 1);
            mcamp__law law[2];
            mcamp_exact_desc d;
            memset(&d, 0, sizeof d);
            d.direction = add ? MCAMP_ADD : MCAMP_REMOVE;
            d.rel_error = 1e-4;
            CHECK(far_laws_by(&e, add, c[i].lambda, tail, 1, gap, law) >= 0);
            for (double eps = 0; eps < 40 / c[i].lambda; eps += 4 / c[i].lambda) {
                mcamp_interval v = { 0, 1 };
                double lo = law_delta(&law[1], eps), up = law_delta(&law[0], eps);
                if (mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL) < 0 || v.upper < 1e-20) break;
                CHECK_LE(lo, v.upper * (1 + 1e-9));
                CHECK_LE(v.lower * (1 - 1e-9), up);
                if (k & 2 || v.upper < 1e4 * exp(tail)) continue;
                close += up - lo < 0.03 * v.upper;
                all++;
            }
            for (int s = 0; s < 2; s++) mcamp__law_free(&ctx, &law[s]);
        }
    CHECK(all > 60 && close > all - all / 10);
    CHECK(far_laws_by(&wide, 0, 6.8, -45, 1, 0.015, none) == MCAMP_E_SIZE);
}

/* Hundreds of uses multiply what a law has too much, wherever that is: not much of one is errors,
 * nor Chernoff's bound of what is beyond the points.                                       */
TEST(laws_on_equal_points_have_no_more_than_all)
{
    static const struct { size_t b; double sigma, lambda; int add; } c[] = {
        { 1000000, 0.6667, 13, 0 }, { 1000000, 1, 1758, 1 }, { 100000, 0.8, 30, 0 },
        { 1000, 1.4, 70, 1 }, { 1000, 1.4, 70, 0 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_event e = bins(c[i].b, 1, c[i].sigma, 1);
        mcamp__law law[2];
        CHECK(far_laws_by(&e, c[i].add, c[i].lambda, -48, 1, 1e-4, law) >= 0);
        for (int s = 0; s < 2; s++) {
            double all = 0;
            for (size_t k = 0; k < law[s].n; k++) all += law[s].w[k];
            CHECK_LE(all, s ? 1 : 1 + 2e-5);
            CHECK_LE(s ? 1 - 1e-5 : 1, all);
            mcamp__law_free(&ctx, &law[s]);
        }
    }
}

/* Modes of 16 and 22 sigma: what is not far is two points, and far ones are alone. */
TEST(laws_of_far_bins_of_long_modes)
{
    static const struct { size_t b; double c; } k[] = { { 2, 16 }, { 1000, 16 }, { 100000, 22 } };
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
        mcamp_event e = bins(k[i].b, 1, 1 / k[i].c, 1);
        mcamp__law law[2];
        mcamp_exact_desc d;
        size_t met = 0;
        memset(&d, 0, sizeof d);
        d.direction = MCAMP_REMOVE;
        d.rel_error = 1e-3;
        CHECK(far_laws(&e, 0, 0.3, -45, law) >= 0);
        for (double t = -1; t < 8; t += 0.5) {
            double mean = 0.5 * k[i].c * k[i].c - log((double)k[i].b), eps = mean + t * k[i].c;
            double lo = law_delta(&law[1], eps), up = law_delta(&law[0], eps);
            mcamp_interval v = { 0, 1 };
            CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL) >= 0);
            CHECK_LE(lo, v.upper * (1 + 1e-9));
            CHECK_LE(v.lower * (1 - 1e-9), up);
            met += up - lo < 0.02 * up;
        }
        CHECK(met > 15);
        for (int s = 0; s < 2; s++) mcamp__law_free(&ctx, &law[s]);
    }
}

/* E(1 - e^{eps - S})_+ of T uses of a law, atom by atom. */
static double brute_delta(const mcamp__law *a, int T, double sum, double odds, double eps)
{
    double d = 0;
    if (!T) return sum > eps ? -odds * expm1(eps - sum) : 0;
    for (size_t i = 0; i < a->n; i++)
        d += brute_delta(a, T - 1, sum + a->l[i], odds * a->w[i], eps);
    return d;
}

/* The same of two laws, T[i] uses of each. */
static double brute_two(const mcamp__law *a, int k, const int *T, double sum, double odds,
                        double eps)
{
    double d = 0;
    int left[2] = { T[0], T[1] };
    if (k == 2) return sum > eps ? -odds * expm1(eps - sum) : 0;
    if (!T[k]) return brute_two(a, k + 1, T, sum, odds, eps);
    left[k]--;
    for (size_t i = 0; i < a[k].n; i++)
        d += brute_two(a, k, left, sum + a[k].l[i], odds * a[k].w[i], eps);
    return d;
}

/* Uses of two laws on a grid, from none to six of each, rare and common far losses, some mass of
 * infinite loss: delta of all sums is between both ends, wherever points of the grid lie, and as
 * close as cells are.                                                                    */
TEST(uses_on_a_grid)
{
    static const int uses[][2] = { { 2, 0 }, { 3, 0 }, { 6, 0 }, { 1, 1 }, { 2, 1 }, { 3, 2 } };
    static const double odds[3] = { 1e-14, 1e-4, 0.3 };
    size_t close = 0, all = 0;
    for (size_t u = 0; u < sizeof uses / sizeof *uses; u++)
        for (int far_odds = 0; far_odds < 3; far_odds++)
            for (double h = 0.1; h > 0.0005; h *= 0.1) {
                double l[2][5] = { { -0.05, -0.01, 0.03, 0.9, 1.3 }, { -0.21, 0, 0.1, 0.5, 2 } };
                double w[2][5] = { { 0.3, 0.4, 0.3, 0.6, 0.4 }, { 0.5, 0.2, 0.3, 0.1, 0.9 } };
                double lost = far_odds == 1 ? 1e-9 : 0, tol = 1e-3;
                mcamp__law law[2];
                mcamp__sum_law s;
                mcamp__fold f[2];
                memset(law, 0, sizeof law); memset(&s, 0, sizeof s); memset(f, 0, sizeof f);
                for (int k = 0; k < 2; k++) {
                    for (int i = 0; i < 5; i++)
                        w[k][i] *= i < 3 ? 1 - odds[far_odds] : odds[far_odds];
                    law[k].l = l[k]; law[k].w = w[k]; law[k].n = law[k].cap = 5;
                    law[k].count = uses[u][k];
                    law[k].pinf = k ? 0 : lost;
                }
                s.law = law;
                s.n = uses[u][1] ? 2 : 1;
                for (int up = 0; up < 2; up++)
                    CHECK(mcamp__fold_side(&ctx, &s, up, h, tol, -46, &f[up]) >= 0);
                for (double eps = 0.04; eps < 4; eps *= 1.7) {
                    double sure = brute_two(law, 0, uses[u], 0, 1, eps);
                    double top = sure - expm1(uses[u][0] * log1p(-lost));
                    double lo = mcamp__fold_bound(&f[0], 0, eps);
                    double up = mcamp__fold_bound(&f[1], 1, eps);
                    double n = (double)(uses[u][0] + uses[u][1]);
                    CHECK_LE(top * (1 - 1e-6), up);
                    CHECK_LE(lo, sure * (1 + 1e-12));
                    CHECK_LE(mcamp__fold_event(&f[0], 0, ceil(eps / h) - 1, eps), lo);
                    /* a loss is moved by h at most, or dropped where next to nothing is */
                    CHECK_LE(up, brute_two(law, 0, uses[u], n * h, 1, eps) * (1 + tol) +
                                 n * lost * (1 + 1e-9) + 1e-20);
                    CHECK_LE(brute_two(law, 0, uses[u], -n * h, 1, eps) * (1 - tol) - 1e-20, lo);
                    close += up - top <= 0.02 * sure && lo >= 0.98 * sure;
                    all++;
                }
                for (double k = 1; k < 9; k += 3) {      /* eps on a point */
                    double eps = k * h, sure = brute_two(law, 0, uses[u], 0, 1, eps);
                    CHECK_LE(sure * (1 - 1e-12), mcamp__fold_bound(&f[1], 1, eps));
                    CHECK_LE(mcamp__fold_bound(&f[0], 0, eps), sure * (1 + 1e-12));
                }
                for (int up = 0; up < 2; up++) mcamp__fold_free(&ctx, &f[up]);
            }
    CHECK(close > all / 2);
}

/* Ends that are taken off: with a tolerance of much, far losses that are next to never, and delta
 * that is much larger than was thought, ends are still ends.                              */
TEST(ends_of_a_grid_are_on_the_safe_side)
{
    double l[6] = { -3, -1, -0.1, 0.1, 2, 4 }, w[6] = { 1e-4, 0.02, 0.5, 0.4799, 1e-9, 1e-12 };
    for (int T = 2; T <= 5; T++)
        for (double logd = -40; logd < 0; logd += 4) {
            mcamp__law law;
            mcamp__sum_law s;
            mcamp__fold f[2];
            memset(&law, 0, sizeof law); memset(&s, 0, sizeof s); memset(f, 0, sizeof f);
            law.l = l; law.w = w; law.n = law.cap = 6; law.count = T;
            s.law = &law; s.n = 1;
            for (int up = 0; up < 2; up++)
                CHECK(mcamp__fold_side(&ctx, &s, up, 0.037, 30, logd, &f[up]) >= 0);
            for (double eps = -1; eps < 9; eps += 0.3) {
                double sure = brute_delta(&law, T, 0, 1, eps);
                CHECK_LE(sure * (1 - 1e-12), mcamp__fold_bound(&f[1], 1, eps));
                CHECK_LE(mcamp__fold_bound(&f[0], 0, eps), sure * (1 + 1e-12));
            }
            for (int up = 0; up < 2; up++) mcamp__fold_free(&ctx, &f[up]);
        }
}

/* Sums of products against themselves, short and long, by the machine's set of vectors and by none;
 * they are added.                                                                        */
TEST(products_of_masses)
{
    static const size_t sizes[] = { 1, 2, 7, 8, 9, 63, 64, 65, 130, 257, 700 };
    enum { N = sizeof sizes / sizeof *sizes, MOST = 700 };
    static double x[MOST], y[MOST], out[2 * MOST];
    mcamp_ctx plain;
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    d.vec = MCAMP_VEC_SCALAR;
    CHECK(mcamp_ctx_init(&plain, &d) >= 0);
    for (size_t i = 0; i < MOST; i++) {
        x[i] = exp(-0.05 * (double)i) * (1 + 0.5 * sin((double)i));
        y[i] = exp(-0.03 * (double)(MOST - i)) * (1 + 0.5 * cos(1.3 * (double)i));
    }
    for (size_t a = 0; a < 2 * N; a++)
        for (size_t b = 0; b < N; b++) {
            size_t n = sizes[a / 2], m = sizes[b];
            for (size_t k = 0; k < n + m; k++) out[k] = (double)k;
            CHECK(mcamp__grid_product(a % 2 ? &plain : &ctx, x, n, y, m, out));
            for (size_t k = 0; k < n + m - 1; k++) {
                double sum = (double)k;
                for (size_t i = 0; i < n; i++) if (k >= i && k - i < m) sum += x[i] * y[k - i];
                CHECK_LE(fabs(out[k] - sum), 1e-13 * sum);
            }
            CHECK_LE(fabs(out[n + m - 1] - (double)(n + m - 1)), 0);
        }
}

/* Squares by halves, of even and odd numbers of masses, are products with themselves. */
TEST(squares_of_masses)
{
    static const size_t sizes[] = { 1, 9, 511, 512, 513, 1025, 1151 };
    enum { MOST = 1151 };
    static double x[MOST], out[2 * MOST];
    for (size_t i = 0; i < MOST; i++) x[i] = exp(-0.01 * (double)i) * (1 + 0.5 * sin((double)i));
    for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++) {
        size_t n = sizes[a];
        for (size_t k = 0; k < 2 * n; k++) out[k] = (double)k;
        CHECK(mcamp__grid_square(&ctx, x, n, out));
        for (size_t k = 0; k < 2 * n - 1; k++) {
            double sum = (double)k;
            for (size_t i = 0; i < n; i++) if (k >= i && k - i < n) sum += x[i] * x[k - i];
            CHECK_LE(fabs(out[k] - sum), 1e-13 * sum);
        }
        CHECK_LE(fabs(out[2 * n - 1] - (double)(2 * n - 1)), 0);
    }
}

/* Direction add far out, where R next to never is: next to nothing of what holds is given away. */
TEST(laws_of_far_bins_where_sums_are_small)
{
    static const struct { size_t b; double sigma; } c[] = { { 16, 1.3 }, { 128, 1 }, { 20, 0.8 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_event e = bins(c[i].b, 1, c[i].sigma, 1);
        mcamp__law law[2];
        mcamp_exact_desc d;
        int met = 0;
        memset(&d, 0, sizeof d);
        d.direction = MCAMP_ADD;
        d.rel_error = 1e-3;
        CHECK(far_laws(&e, 1, 3, -60, law) >= 0);
        for (double eps = 0.2; eps < 3; eps += 0.1) {
            mcamp_interval v = { 0, 1 };
            double up = law_delta(&law[0], eps);
            CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL) >= 0);
            if (v.upper > 1e-8 || v.lower < 1e-22) continue;
            CHECK_LE(v.lower, up);
            CHECK_LE(law_delta(&law[1], eps), v.upper * (1 + 1e-9));
            met += up < 1e-3;
        }
        CHECK(met > 3);
        for (int s = 0; s < 2; s++) mcamp__law_free(&ctx, &law[s]);
    }
}

static size_t asked_for;

static void *counted(void *user, size_t size)
{
    (void)user;
    asked_for++;
    return malloc(size);
}

static void uncounted(void *user, void *p, size_t size)
{
    (void)user; (void)size;
    free(p);
}

static void acc_of(mcamp__acc *a, mcamp_ctx *c, mcamp_event *e, int add, double below)
{
    CHECK(mcamp__acc_init(a, c, e, 1, 5e-3, 200000000, below) >= 0);
    a->add = add;
    a->eps = -1;
    a->more = 1;
    a->brief = mcamp__acc_brief(a);
}

/* What others do with less is left to them: a grid of so many cells that its first pass foretells
 * it, unless losses have humps; lattices of more products than a brief look has; and a line that
 * goes to and fro is not followed.  What was found until then stands.                      */
TEST(what_would_take_long_is_left)
{
    mcamp_event many = bins(100000, 1, 2.5, 150), hump = bins(1000000, 1, 0.8, 20);
    mcamp_event few = bins(10000, 1, 0.6, 5), fro = bins(100000, 1, 0.8, 50);
    mcamp_interval v = { 0, 1 };
    mcamp_ctx_desc d;
    mcamp_ctx own;
    mcamp__acc a;
    mcamp__wish wish;
    mcamp__law law;
    acc_of(&a, &ctx, &many, 0, -1);
    CHECK_STATUS(mcamp__fold_ask(&a, 0.115352, 0, 0, &v), MCAMP_E_SIZE);
    CHECK(a.info.passes <= 2 && v.lower < 9.9672e-16 && v.upper > 1.0051e-15 && v.lower > 8e-16);
    mcamp__acc_free(&a);
    v.lower = 0; v.upper = 1;
    acc_of(&a, &ctx, &hump, 0, -1);
    CHECK_STATUS(mcamp__fold_ask(&a, 0.0622838, 0, 0, &v), MCAMP_OK);
    CHECK(v.lower < 9.522e-16 && v.upper > 9.458e-16 && v.upper < 1.01 * v.lower);
    mcamp__acc_free(&a);
    memset(&wish, 0, sizeof wish);
    memset(&law, 0, sizeof law);
    wish.lambda = 5; wish.spread = 0.5; wish.more = 1; wish.products = 1e5;
    CHECK_STATUS(mcamp__mellin_law(&ctx, &few, 0, &wish, &law), MCAMP_E_SIZE);
    wish.products = 4e8;
    CHECK_STATUS(mcamp__mellin_law(&ctx, &few, 0, &wish, &law), MCAMP_OK);
    mcamp__law_free(&ctx, &law);
    memset(&d, 0, sizeof d);
    d.alloc.alloc = counted; d.alloc.free = uncounted;
    CHECK_STATUS(mcamp_ctx_init(&own, &d), MCAMP_OK);
    v.lower = v.upper = 0;
    acc_of(&a, &own, &fro, 1, 0);
    asked_for = 0;
    CHECK(mcamp__acc_epsilon(&a, 1e-15, 0.22, &v) >= 0 && v.lower < 0.34);
    CHECK_LE((double)asked_for, 60);
    mcamp__acc_free(&a);
}

/* The least delta that direction add is said to be below without a law is above its lower end. */
TEST(hopeless_directions_are_below_what_is_said)
{
    static const struct { size_t b; double sigma, uses, eps; } c[] = {
        { 2, 1, 4, 14 }, { 2, 0.5, 2, 20 }, { 3, 1.5, 10, 12 }, { 16, 2, 3, 3 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_event e = bins(c[i].b, 1, c[i].sigma, (uint64_t)c[i].uses);
        double lo = -200, hi = 0;
        mcamp_interval v = { 0, 1 };
        mcamp_exact_desc d;
        mcamp__acc a;
        memset(&d, 0, sizeof d);
        d.direction = MCAMP_ADD;
        d.rel_error = 5e-3;
        CHECK(mcamp__acc_init(&a, &ctx, &e, 1, 5e-3, 200000000, 0) >= 0);
        CHECK(!mcamp__acc_hopeless(&a, c[i].eps, 0.5));     /* nothing of remove */
        a.add = 1;
        CHECK(mcamp__acc_hopeless(&a, c[i].eps, 0.5));
        CHECK(!mcamp__acc_hopeless(&a, 0.1, 0.5));
        for (int k = 0; k < 60; k++) {
            double x = 0.5 * (lo + hi);
            if (mcamp__acc_hopeless(&a, c[i].eps, exp(x))) hi = x; else lo = x;
        }
        mcamp__acc_free(&a);
        CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, c[i].eps, &v, NULL) >= 0);
        CHECK_LE(log(v.lower), hi);
        CHECK_LE(hi, log(v.lower) + 24);        /* it can tell */
    }
}

/* The same laws composed: the curves of each use, wide as they are, say nothing else. */
TEST(laws_of_far_bins_against_curves)
{
    static const struct { size_t b; double sigma, uses, eps; } c[] = {
        { 128, 1, 2, 0.886 }, { 10000, 0.5, 10, 2.87 }, { 32, 2.5, 2, 0.417 },
        { 100000, 0.167, 2, 52.5 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i += mt_few(1, 2)) {
        mcamp_event e = bins(c[i].b, 1, c[i].sigma, (uint64_t)c[i].uses);
        mcamp_interval v = { 0, 0 }, w = { 0, 0 }, x = { 0, 0 };
        mcamp__start first[2];
        mcamp_exact_desc d;
        mcamp_exact_info info;
        memset(&d, 0, sizeof d);
        memset(first, 0, sizeof first);
        d.rel_error = 5e-3; d.max_bytes = 200000000; d.direction = MCAMP_REMOVE;
        CHECK(mcamp__exact_run(&ctx, &e, 1, &d, c[i].eps, 0, -1, first, &v, &info) >= 0);
        CHECK(by_curves(&e, 1, c[i].eps, 0, 5e-3, MCAMP_REMOVE, &w) >= 0);
        CHECK_LE(v.lower, w.upper);
        CHECK_LE(w.lower, v.upper);
        CHECK_LE(v.upper - v.lower, 0.01 * v.upper);
        CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, c[i].eps, &x, NULL) >= 0);
        CHECK_LE(x.upper - x.lower, 0.01 * x.upper);
        CHECK_LE(v.lower, x.upper);
        CHECK_LE(x.lower, v.upper);
        d.direction = MCAMP_BOTH;
        CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, c[i].eps, &w, &info) >= 0);
        CHECK_LE(x.lower, w.upper);
        CHECK_LE(w.upper - w.lower, 0.01 * w.upper);
        CHECK_LE(info.add.upper, w.upper);
        CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, &d, w.upper, &x, NULL), MCAMP_OK);
        CHECK_LE(x.lower, c[i].eps);
        CHECK_LE(c[i].eps * (1 - 0.01), x.upper);
    }
}

/* A law above that of S/b in convex order, from E(S/b - k)_+ of one use alone: its chord through
 * points k is that of a law on these points, whose masses are what the slopes differ by.  At and
 * above 1 v is E(S/b - k)_+, below E(k - S/b)_+, which is 1 - k less; both ends of each.    */
typedef struct chord { double k[250], v[2][250]; size_t n; } chord;

/* Points e^(dj) from e^-low on, from e^high on ever farther apart; delta of one use does not pass
 * through any law of composed bins.                                                       */
static void chord_make(chord *c, mcamp_event e, double d, double low, double high, double last)
{
    double s = -d * floor(low / d + 0.5), step = d;
    mcamp_exact_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.rel_error = 1e-3;
    e.count = 1;
    c->k[0] = c->v[0][0] = c->v[1][0] = 0;
    for (c->n = 1; c->n < 250 && (s < high || c->n % 2 || c->v[1][c->n - 1] > last); c->n++) {
        mcamp_interval v = { 0, 1 };
        if (fabs(s) < 1e-9) s = 0;
        desc.direction = s < 0 ? MCAMP_ADD : MCAMP_REMOVE;
        CHECK(mcamp_exact_delta(&ctx, &e, 1, &desc, fabs(s), &v, NULL) >= 0);
        c->k[c->n] = exp(s);
        c->v[0][c->n] = v.lower * (s < 0 ? exp(s) : 1);
        c->v[1][c->n] = v.upper * (s < 0 ? exp(s) : 1);
        if (s > high && c->n % 4 == 0) step *= 2;
        s += step;
    }
}

/* delta of two uses of that law, of every point or every other.  Beyond the last point no chord is
 * drawn: E(S/b - k)_+ of each use there is added.                                         */
static double chord_delta(const chord *c, int upper, size_t every, double eps, int add)
{
    double w[250] = { 0 }, slope = -1, sum = 0, k0 = exp(add ? -eps : eps);
    const double *k = c->k, *v = c->v[upper];
    for (size_t i = 0; i + 1 < c->n; ) {
        size_t next = i ? i + every : 1;
        double s = (v[next] - v[i]) / (k[next] - k[i]) - (k[next] <= 1);
        w[i] = s - slope;
        slope = s;
        i = next;
    }
    w[c->n - 1] = -slope;
    for (size_t i = 0; i < c->n; i++)
        for (size_t j = 0; j < c->n; j++) {
            double x = k[i] * k[j] - k0;
            if (add ? x < 0 : x > 0) sum += w[i] * w[j] * fabs(x);
        }
    return add ? sum / k0 : sum + 2 * v[c->n - 1];
}

/* Two uses, by the curve of one.  The chord is above; what it is too high by goes with the squared
 * distance of the points: of what comes on top if every other is left out, where k0 stays a product
 * of points, it is 0.32 to 0.41 (measured with points half as far apart).  Half is taken off.  */
TEST(laws_of_far_bins_against_chords)
{
    static const struct { size_t b; double sigma, d, low, high, last, eps[2]; } c[] = {
        { 1000, 1, 0.02, 0.16, 0.94, 1e-15, { 0.4, 0.92 } },
        { 10000, 0.67, 0.005, 0.16, 0.28, 1e-10, { 0.26, -0.12 } },
        { 100000, 0.5, 0.04, 0.16, 3.1, 1e-14, { 0.56, 3.04 } } };
    static chord law;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_event e = bins(c[i].b, 1, c[i].sigma, 2);
        chord_make(&law, e, c[i].d, c[i].low, c[i].high, c[i].last);
        CHECK_LE((double)law.n, 249);
        for (int j = 0; j < 2; j++) {
            int add = c[i].eps[j] < 0;
            double eps = fabs(c[i].eps[j]), up = chord_delta(&law, 1, 1, eps, add);
            double lo = chord_delta(&law, 0, 1, eps, add);
            mcamp_exact_desc d;
            mcamp_exact_info info;
            mcamp__start first[2];
            mcamp_interval v = { 0, 0 };
            memset(first, 0, sizeof first);
            lo -= 0.5 * (chord_delta(&law, 0, 2, eps, add) - lo);
            CHECK_LE(up - lo, 0.04 * up);                   /* it can tell */
            memset(&d, 0, sizeof d);
            d.rel_error = 5e-3; d.max_bytes = 200000000;
            d.direction = add ? MCAMP_ADD : MCAMP_REMOVE;
            CHECK(mcamp__exact_run(&ctx, &e, 1, &d, eps, 0, -1, first, &v, &info) >= 0);
            CHECK_LE(v.lower, up);
            CHECK_LE(lo, v.upper);
            if (i != 1) continue;
            CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL) >= 0);
            CHECK_LE(v.lower, up);
            CHECK_LE(lo, v.upper);
        }
    }
}

/* What frequencies beyond the last one have at most: above the transform itself, a sum over t. */
TEST(transform_of_bins_beyond_the_last_frequency)
{
    static const struct { double c, tau, eta; } k[] = {
        { 0.4, 3.2, 1 }, { 1, 4, 0.02 }, { 1.5, 4.5, 0 }, { 3, 4, 1e-4 }, { 0.7, 3.5, -0.5 } };
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
        mcamp__sums s;
        double one = 0, h = 2e-4, norm;
        memset(&s, 0, sizeof s);
        s.c = k[i].c; s.tau = k[i].tau; s.eta = k[i].eta;
        for (double t = s.tau - 0.5 * h; t > -9; t -= h)
            one += h * exp(s.eta * (mcamp__bins_x(s.c, t) - 1) - 0.5 * t * t);
        norm = log(one);
        s.k = norm - 0.5 * log(8 * atan(1.0));
        s.peak = mcamp__sums_peak(&s);
        for (double om = 0.05; om < 20; om *= 2.3) {
            double re = 0, im = 0;
            for (double t = s.tau - 0.5 * h; t > -9; t -= h) {
                double x = mcamp__bins_x(s.c, t);
                double w = h * exp(s.eta * (x - 1) - 0.5 * t * t - norm);
                re += w * cos(om * x);
                im += w * sin(om * x);
            }
            if (om * mcamp__bins_x(s.c, s.tau) > 200) continue;     /* not by this sum */
            CHECK_LE(0.5 * log(re * re + im * im), mcamp__sums_decay(&s, om) + 1e-6);
            CHECK_LE(mcamp__sums_decay(&s, om), 0);
        }
    }
}

/* Where curves let go of more than delta, what laws said before stands; an error writes nothing.
 * The ends: of earlier releases at a fifth of the width.                                  */
TEST(what_is_known_outlives_a_run_that_fails)
{
    mcamp_event e[2];
    mcamp_exact_desc d;
    mcamp_interval v = { 7, 8 };
    memset(e, 0, sizeof e); memset(&d, 0, sizeof d);
    for (int i = 0; i < 2; i++) {
        e[i].kind = MCAMP_EVENT_BINS;
        e[i].bins = i ? 425597 : 25990; e[i].rounds = i ? 15 : 1;
        e[i].count = i ? 437 : 154; e[i].sigma = i ? 0.52879126078259719 : 0.3310105147992865;
    }
    d.direction = MCAMP_ADD;
    d.rel_error = 5e-3;
    CHECK(mcamp_exact_epsilon(&ctx, e, 2, &d, 2.7884947987398015e-11, &v, NULL) >= 0);
    CHECK_LE(v.lower, 2227.8651);
    CHECK_LE(2226.7599, v.upper);
    CHECK_LE(v.upper - v.lower, 0.02 * v.upper);
    v.lower = 7; v.upper = 8;
    d.max_bytes = 3000;
    CHECK(mcamp_exact_epsilon(&ctx, e, 2, &d, 1e-11, &v, NULL) < 0);
    CHECK_LE(fabs(v.lower - 7) + fabs(v.upper - 8), 0);
    CHECK(mcamp__reach_failed(MCAMP_E_SIZE) && mcamp__reach_failed(MCAMP_E_INTERNAL));
    CHECK(mcamp__reach_failed(MCAMP_E_INFEASIBLE));     /* more than delta was let go */
    CHECK(!mcamp__reach_failed(MCAMP_E_MEMORY) && !mcamp__reach_failed(MCAMP_E_ARG));
}

/* Modes of 12 to 22 sigma: delta is at least that of a Gaussian mechanism at eps + uses log b, as
 * S is at least one X, and next to it; curves, where they say something, agree.            */
TEST(long_modes_in_composition)
{
    static const struct { double b, c, uses, eps; } k[] = { { 128, 12, 2, 300 },
        { 128, 15, 2, 383.8 }, { 128, 15, 10, 1455 }, { 1e5, 14, 2, 330 }, { 3, 14, 10, 1300 },
        { 16, 18, 10, 2040 }, { 1000, 22, 100, 25300 }, { 1e5, 22, 10, 2864 },
        { 32, 22, 2, 625.7 }, { 10, 22, 2, 628 }, { 1e6, 18, 2, 499 }, { 1e5, 15, 2, 370 } };
    size_t near_all = 0;
    mcamp__mellin plan;
    for (size_t i = 0; i < sizeof k / sizeof *k; i += mt_few(1, 4)) {
        mcamp_event e = bins((uint64_t)k[i].b, 1, 1 / k[i].c, (uint64_t)k[i].uses);
        mcamp_interval v = { 0, 0 }, w = { 0, 0 };
        mcamp_exact_desc d;
        double mu = k[i].c * sqrt(k[i].uses), least;
        least = exp(mcamp__gauss_logdelta(mu, k[i].eps + k[i].uses * log(k[i].b)));
        memset(&d, 0, sizeof d);
        d.rel_error = 5e-3;
        CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, k[i].eps, &v, NULL) >= 0);
        CHECK(by_curves(&e, 1, k[i].eps, 0, 0.01, MCAMP_REMOVE, &w) >= 0);
        CHECK_LE(v.lower, w.upper);
        CHECK_LE(w.lower, v.upper);
        CHECK_LE(least * (1 - 1e-9), v.upper);
        if (!(v.upper <= 1.01 * v.lower)) continue;
        CHECK_LE(v.lower, 1.001 * least);
        near_all++;
    }
    CHECK(near_all >= mt_few(11, 3));
    for (int far_out = 0; far_out < 2; far_out++) {     /* odds that would vanish are not made */
        mcamp_event e = bins(2, 1, 1.0 / 20, 2);
        mcamp__lattice q;
        mcamp__mellin t;
        memset(&t, 0, sizeof t);
        t.bins = 2; t.c = t.thin = 20; t.sign = -1; t.m = 5; t.top = 0.5;
        t.step = t.h = 0.25; t.hi = 200; t.lo = -40;
        t.z = far_out ? 27 : 20;
        CHECK((mcamp__lattice_init(&q, &e, &t) > 1e299) == far_out);
    }
    memset(&plan, 0, sizeof plan);
    plan.c = plan.thin = 5; plan.bins = 3; plan.sign = -1; plan.g2 = 25.0 / 3;
    CHECK_LE(fabs(mcamp__mellin_least(&plan, 1) - (25 - log(3.0))), 1e-12);
    CHECK_LE(mcamp__mellin_least(&plan, 0.01), 0.12);
    plan.thin = 1;                      /* of another kind there may be one mode */
    CHECK_LE(mcamp__mellin_least(&plan, 1), 0);
    plan.thin = 5; plan.g2 = 0;         /* some are 0 */
    CHECK_LE(mcamp__mellin_least(&plan, 1), 0);
    plan.g2 = 25.0 / 3; plan.sign = 1;
    CHECK_LE(mcamp__mellin_least(&plan, 1), 0);
}

/* A direction whose infinite mass is more than what would do is not called beaten. */
TEST(infinite_mass_is_not_beaten)
{
    double l[1] = { -5 }, w[1] = { 1 };
    mcamp__law law;
    mcamp__pair p;
    mcamp__acc a;
    memset(&law, 0, sizeof law); memset(&p, 0, sizeof p); memset(&a, 0, sizeof a);
    law.l = l; law.w = w; law.n = law.cap = 1; law.count = 1;
    p.mellin = 1;
    p.band[0].t.lambda = 1;
    a.pair = &p; a.n = 1;
    a.sum[MCAMP__UPPER].law = &law; a.sum[MCAMP__UPPER].n = 1;
    CHECK(mcamp__acc_beaten(&a, 1, 0.3));
    law.pinf = 0.2;
    CHECK(mcamp__acc_beaten(&a, 1, 0.3));
    law.pinf = 0.5;
    CHECK(!mcamp__acc_beaten(&a, 1, 0.3));
}

/* E(S - k)_+ of a pile; of one below, whose masses stand at their means. */
static double pile_call(const mcamp__pile *p, int upper, double k)
{
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        double x = upper ? p->x[i] : p->m[i] / mcamp__dmax(1e-300, p->q[i]);
        sum += p->q[i] * mcamp__dmax(0, x - k);
    }
    return sum;
}

/* R of a million bins on equal points, as a law has it, but tilted by so many of its standard
 * deviations.                                                                            */
static int sums_tilted_by(mcamp__sums *s, int add, double tilt, double *mem)
{
    mcamp_event e = bins(1000000, 1, 4, 1);
    double mean, var;
    memset(s, 0, sizeof *s);
    s->vec = ctx.vec; s->add = add; s->even = 1;
    s->b = 1e6; s->c = 0.25; s->lambda = 15000; s->tail = -45; s->h = 4; s->often = 0.02;
    s->reach = mcamp__many_reach(&e, add, s->tail);
    if (!mcamp__sums_tilt(s, s->reach - 0.01) || !mcamp__sums_most(s)) return 0;
    mcamp__sums_tilted(s->c, s->tau, 0, &mean, &var);
    s->eta = (add ? -tilt : tilt) / sqrt(s->b * var);
    if (!mcamp__sums_places(s, mem)) return 0;
    s->f = (double *)calloc(7 * (size_t)s->nf, sizeof(double));
    if (!s->f) return 0;
    mcamp__sums_spectrum(s);
    return 1;
}

/* Whatever odds and means are within their errors, what a pile below has is a part of them. */
static void check_parts(const mcamp__sums *s, const mcamp__pile *R, double *work)
{
    size_t n = (size_t)s->n;
    double *w = work, *g = w + n, ew[2], eg[2], sgn = s->add ? -1 : 1;
    mcamp__sums_bulk(s, 0, w, g, g + n, ew, eg);
    for (size_t i = 0; i < n; i++) {
        double y = s->y0 + (double)i * s->h, x = R->m[i] / R->q[i];
        double f = exp(s->b * (s->eta + s->k) - s->eta * y - s->kerr);
        for (int k = 0; k < 4 && R->q[i] > 0; k++) {
            double W = k % 2 ? w[i] + ew[0] : w[i] - ew[0] - ew[1];
            double G = g[i] + (k / 2 ? 1 : -1) * (eg[0] + eg[1]);
            G = fmax(-s->h * W, fmin(s->h * W, G));
            CHECK_LE(R->q[i], f * W * (1 + 1e-12));
            CHECK_LE(sgn * (x - y), sgn * G / W + 1e-8);
        }
    }
}

/* Far out the masses of R are mostly errors where it is tilted little, and known where it is tilted
 * as far.  By these: what the former has below is a part of them, with means where the loss counts
 * less, by next to nothing of a point's length where it is not all errors; and what it has above
 * from any point on outwards is more.                                                     */
TEST(sums_far_out_against_a_stronger_tilt)
{
    enum { ROOM = 4000, WORDS = 200000 };
    double *mem = (double *)malloc(2 * WORDS * sizeof *mem), *at;
    double *room = (double *)malloc(5 * 3 * ROOM * sizeof *room);
    for (int add = 0; add < 2; add++) {
        mcamp__sums s[2];
        mcamp__pile R[2][2];
        double *work = (double *)calloc(400000, sizeof *work), tail[2] = { 0, 0 }, most = 0;
        size_t met = 0, last = 0;
        at = room;
        for (int i = 0; i < 2; i++) {
            CHECK(sums_tilted_by(&s[i], add, i ? 7 : 2, mem + (size_t)i * WORDS));
            for (int up = 0; up < 2; up++) {
                R[i][up] = mcamp__pile_at(&at, ROOM);
                CHECK(s[i].n + 8 < ROOM);
                mcamp__sums_pile(&s[i], 0, 1, up, 1, work, &R[i][up]);
            }
        }
        for (double z = 9; z > 4; z -= 0.002) {     /* from outside, in standard deviations */
            double y = 1e6 + (add ? -z : z) * 254, j = floor((y - s[0].y0) / s[0].h), x, m, d;
            size_t a = (size_t)j, b = (size_t)floor((y - s[1].y0) / s[1].h);
            if (!(j >= 0 && j < s[0].n && y >= s[1].y0 && (double)b < s[1].n)) continue;
            if (fabs(R[0][0].x[a] - R[1][0].x[b]) > 0.5) b++;
            if (!(fabs(R[0][0].x[a] - R[1][0].x[b]) < 0.5) || !(R[1][0].q[b] > 0)) continue;
            if (met && last == a) continue;
            last = a; met++;
            tail[0] += R[0][1].q[a];
            tail[1] += R[1][0].q[b];
            CHECK_LE(tail[1], tail[0] * (1 + 1e-9));
            if (z < 8) most = fmax(most, tail[0] / tail[1]);
            if (!(R[0][0].q[a] > 0)) continue;
            CHECK_LE(R[0][0].q[a], R[1][0].q[b] * (1 + 1e-5));
            x = R[0][0].m[a] / R[0][0].q[a];
            m = R[1][0].m[b] / R[1][0].q[b];
            d = add ? x - m : m - x;
            CHECK_LE(-1e-8 * s[0].h, d);
            CHECK_LE(d, (z < 7 ? 1e-5 : 0.01) * s[0].h);
        }
        CHECK(met > 250);
        CHECK_LE(most, 1.1);
        check_parts(&s[0], &R[0][0], work);
        for (int i = 0; i < 2; i++) free(s[i].f);
        free(work);
    }
    free(mem); free(room);
}

/* Fewer and fewer points, odd and even numbers of them: mass and mean stay, calls rise above and
 * fall below, and by no more than the spacing allows.                                     */
TEST(piles_on_fewer_points_hold_the_old_ones)
{
    for (int upper = 0; upper < 2; upper++)
        for (size_t n = 60; n < 66; n++) {
            double mem[3][300], *at, width = 1;
            mcamp__pile a[3];
            for (int i = 0; i < 3; i++) { at = mem[i]; a[i] = mcamp__pile_at(&at, 70); }
            a[0].n = n;
            for (size_t i = 0; i < n; i++) {
                a[0].x[i] = 3 + (double)i;
                a[0].q[i] = 1 / (double)n + (i == 20 ? 0.3 : 0);
                a[0].m[i] = a[0].q[i] * (a[0].x[i] + 0.3);
            }
            for (int l = 0; l < 2; l++) {
                double mass[2] = { 0, 0 }, mean[2] = { 0, 0 };
                mcamp__pile_halve(&a[l], upper, &a[l + 1]);
                CHECK(a[l + 1].n <= a[l].n / 2 + 1);
                for (int k = 0; k < 2; k++)
                    for (size_t i = 0; i < a[l + k].n; i++) {
                        mass[k] += a[l + k].q[i];
                        mean[k] += upper ? a[l + k].q[i] * a[l + k].x[i] : a[l + k].m[i];
                    }
                CHECK_LE(fabs(mass[1] - mass[0]), 1e-13);
                CHECK_LE(fabs(mean[1] - mean[0]), 1e-11);
                for (double k = 2; k < 70; k += 0.37) {
                    double d = pile_call(&a[l + 1], upper, k) - pile_call(&a[l], upper, k);
                    if (!upper) d = -d;
                    CHECK_LE(-1e-12, d);
                    CHECK_LE(d, 0.45 * width);      /* of 0.3 at a place, and little else */
                }
                width *= 2;
            }
        }
}

/* A pile and two masses: of its versions on fewer points those are taken that are as close together
 * as the points that sums go to, so that nearly as little is given away.                  */
TEST(piles_are_added_as_closely_as_points_lie)
{
    for (int upper = 0; upper < 2; upper++) {
        static double mem[7][4000];
        double *at, sure, v;
        mcamp__pile a[4], f, out[2];
        for (int i = 0; i < 4; i++) { at = mem[i]; a[i] = mcamp__pile_at(&at, 300); }
        at = mem[4]; f = mcamp__pile_at(&at, 4);
        a[0].n = 257;
        for (size_t i = 0; i < a[0].n; i++) {
            a[0].x[i] = 10 + 0.01 * (double)i;
            a[0].q[i] = 1 / 257.0;
            a[0].m[i] = a[0].q[i] * a[0].x[i];
        }
        for (int l = 0; l < 3; l++) mcamp__pile_halve(&a[l], upper, &a[l + 1]);
        f.n = 2;
        for (size_t i = 0; i < 2; i++) {
            f.x[i] = i ? 40 : 2;
            f.q[i] = 0.5;
            f.m[i] = f.q[i] * f.x[i];
        }
        for (int k = 0; k < 2; k++) {
            at = mem[5 + k];
            out[k] = mcamp__pile_at(&at, 900);
            out[k].n = 801;
            for (size_t i = 0; i < out[k].n; i++) out[k].x[i] = 11.5 * pow(5, (double)i / 800);
            for (size_t i = 0; upper && i + 1 < out[k].n; i++)
                out[k].m[i] = 1 / (out[k].x[i + 1] - out[k].x[i]);
            CHECK(mcamp__pile_add(a, k ? 4 : 1, &f, upper, &out[k]));
        }
        for (double k = 11; k < 46; k += 0.1) {
            sure = 0;
            for (size_t i = 0; i < a[0].n; i++)
                for (size_t j = 0; j < 2; j++)
                    sure += a[0].q[i] * f.q[j] * mcamp__dmax(0, a[0].x[i] + f.x[j] - k);
            for (int l = 0; l < 2; l++) {
                /* cells w wide give away w^2/8 of a density, both or pairs across a cell more */
                double w = 0.00202 * (k + 1), most = 0.5 / 2.57 * w * w / 8;
                v = pile_call(&out[l], upper, k) - sure;
                if (!upper) v = -v;
                CHECK_LE(-1e-12, v);
                CHECK_LE(v, most * (l ? upper ? 2.3 : 4.5 : 1.2) + 1e-12);
            }
        }
    }
}

/* Deltas far below what a grid's first guess reaches: what is lost there says nothing of the slope,
 * and where a grid gets no nearer, transforms do (intervals of the version before, which had no
 * grid).                                                                                 */
TEST(deltas_far_below_the_first_guess)
{
    static const struct { size_t b; double sigma; size_t uses; mcamp_direction dir;
                          double eps, lower, upper; } c[] = {
        { 627, 2.25986, 2, MCAMP_ADD, 0.26, 4.05e-26, 4.071e-26 },
        { 17911, 1.15, 32, MCAMP_REMOVE, 0.4988, 1.9996e-24, 2.0042e-24 },
        /* steps that lead beyond it and back; slopes beyond 1e4 */
        { 1000000, 0.6, 2, MCAMP_REMOVE, 1.03112, 9.310e-16, 1.0032e-15 },
        { 1000000, 4, 2, MCAMP_REMOVE, 0.0017, 7.744e-11, 7.799e-11 },
        { 1000000, 4, 3, MCAMP_REMOVE, 0.0021, 7.600e-11, 7.870e-11 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_event e = bins(c[i].b, 1, c[i].sigma, c[i].uses);
        mcamp_interval v = { 0, 1 };
        mcamp_exact_desc d;
        memset(&d, 0, sizeof d);
        d.rel_error = 5e-3;
        d.direction = c[i].dir;
        CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, c[i].eps, &v, NULL) >= 0);
        CHECK_LE(v.lower, c[i].upper);
        CHECK_LE(c[i].lower, v.upper);
        CHECK_LE(v.upper - v.lower, 0.0101 * v.upper);
    }
}

/* Each direction's eps by itself where laws by Mellin are led to a slope of next to nothing, whose
 * cells would be so long that losses vanish beside them: at each end delta is told by itself. */
TEST(an_epsilon_that_moments_do_not_find)
{
    static const struct { size_t b; double sigma; size_t uses; double delta; } c[] = {
        { 1000000, 0.9, 150, 1e-10 }, { 1000000, 0.8, 150, 1e-10 }, { 1000000, 4, 2, 1e-10 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        for (int dir = 0; dir < 2; dir++) {
            mcamp_event e = bins(c[i].b, 1, c[i].sigma, c[i].uses);
            mcamp_interval v = { 0, 0 }, w = { 0, 0 };
            mcamp_exact_desc d;
            memset(&d, 0, sizeof d);
            d.rel_error = 5e-3;
            d.direction = dir ? MCAMP_ADD : MCAMP_REMOVE;
            CHECK(mcamp_exact_epsilon(&ctx, &e, 1, &d, c[i].delta, &v, NULL) >= 0);
            CHECK_LE(v.upper - v.lower, 0.0101 * v.upper);
            CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, v.upper, &w, NULL) >= 0);
            CHECK_LE(w.lower, c[i].delta);
            CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, v.lower, &w, NULL) >= 0);
            CHECK_LE(c[i].delta, w.upper);
        }
}

/* Losses beside cells that would be as long as 1e20 are not lost. */
TEST(a_grid_of_cells_that_swallow_losses)
{
    double l[4] = { -0.05, -0.01, 0.03, 0.9 }, w[4] = { 0.3, 0.4, 0.2, 0.1 };
    mcamp__law law;
    mcamp__sum_law s;
    mcamp__fold f;
    memset(&law, 0, sizeof law); memset(&s, 0, sizeof s);
    law.l = l; law.w = w; law.n = law.cap = 4; law.count = 4;
    s.law = &law;
    s.n = 1;
    for (double h = 1e-3; h < 1e21; h *= 30) {
        memset(&f, 0, sizeof f);
        CHECK(mcamp__fold_side(&ctx, &s, 1, h, 1e-3, -40, &f) >= 0);
        for (double eps = 0; eps < 2; eps += 0.3)
            CHECK_LE(brute_delta(&law, 4, 0, 1, eps) * (1 - 1e-6), mcamp__fold_bound(&f, 1, eps));
        mcamp__fold_free(&ctx, &f);
        memset(&f, 0, sizeof f);
        CHECK(mcamp__fold_side(&ctx, &s, 0, h, 1e-3, -40, &f) >= 0);
        for (double eps = 0; eps < 2; eps += 0.3)
            CHECK_LE(mcamp__fold_bound(&f, 0, eps), brute_delta(&law, 4, 0, 1, eps) * (1 + 1e-12));
        mcamp__fold_free(&ctx, &f);
    }
}

/* Two uses of which bins are far beside a Gaussian mechanism of next to no privacy loss, which no
 * grid takes: cells as close as would be needed are too much work, so less of that is done; R is
 * known so well that small odds of it count.                                             */
TEST(bins_that_are_far_together_by_transforms)
{
    mcamp_event e[2];
    mcamp_interval v = { 0, 1 };
    mcamp_exact_desc d;
    memset(&d, 0, sizeof d);
    memset(&e[1], 0, sizeof e[1]);
    e[0] = bins(32, 1, 2.5, 2);
    e[1].kind = MCAMP_EVENT_GAUSSIAN;
    e[1].count = 1;
    e[1].sigma = 1e9;
    d.direction = MCAMP_REMOVE;
    d.rel_error = 5e-3;
    CHECK(mcamp_exact_delta(&ctx, e, 2, &d, 0.790032, &v, NULL) >= 0);
    CHECK_LE(v.lower, 8.82e-16);
    CHECK_LE(8.57e-16, v.upper);
    CHECK_LE(v.upper - v.lower, 0.033 * v.upper);
}

/* Where bins that are far make delta, alone and with others: delta as laws by sums and transforms
 * of them have said it (by versions before, from 0.6% to 1% wide; no grid in them), and eps there.
 * Two events of one use each are one of two.                                              */
TEST(bins_that_are_far_together)
{
    static const struct { size_t b; double sigma; size_t uses; double eps, lower, upper; } c[] = {
        { 32, 2.5, 2, 0.789676, 8.863e-16, 8.941e-16 },
        { 1000, 1.42857, 2, 0.280422, 9.548e-16, 9.606e-16 },
        { 100000, 1, 10, 0.0936817, 9.569e-16, 9.655e-16 },
        { 100000, 1, 2, 0.0428201, 9.404e-16, 9.950e-16 },
        { 1000000, 0.666667, 2, 0.315187, 9.857e-16, 9.956e-16 },
        { 1000000, 0.666667, 10, 0.405113, 9.881e-16, 9.976e-16 },
        { 1000000, 0.666667, 100, 0.568215, 9.880e-16, 9.940e-16 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i += mt_few(1, 3)) {
        mcamp_event e[2];
        mcamp_interval v = { 0, 1 }, w = { 0, 1 };
        mcamp_exact_desc d;
        memset(&d, 0, sizeof d);
        e[0] = bins(c[i].b, 1, c[i].sigma, c[i].uses);
        d.rel_error = 5e-3;
        CHECK(mcamp_exact_delta(&ctx, e, 1, &d, c[i].eps, &v, NULL) >= 0);
        CHECK_LE(v.lower, c[i].upper);
        CHECK_LE(c[i].lower, v.upper);
        CHECK_LE(v.upper - v.lower, 0.0101 * v.upper);
        CHECK(mcamp_exact_epsilon(&ctx, e, 1, &d, v.upper, &w, NULL) >= 0);
        CHECK_LE(w.lower, c[i].eps);
        CHECK_LE(c[i].eps * (1 - 0.01), w.upper);
        CHECK_LE(w.upper - w.lower, 0.0101 * w.upper);
        if (c[i].uses > 2) continue;
        e[0].count = 1;
        e[1] = e[0];
        CHECK(mcamp_exact_delta(&ctx, e, 2, &d, c[i].eps, &w, NULL) >= 0);
        CHECK(w.lower <= v.upper && v.lower <= w.upper);
        CHECK_LE(w.upper - w.lower, 0.0101 * w.upper);
    }
}

/* Sums that have no place are refused, from above; there are none that would be moved for it. */
TEST(piles_that_reach_too_far_are_refused)
{
    double mem[3][40], *p = mem[0], *q = mem[1], *r = mem[2];
    mcamp__pile a = mcamp__pile_at(&p, 4), f = mcamp__pile_at(&q, 4), out = mcamp__pile_at(&r, 10);
    a.n = 1; a.x[0] = 1; a.q[0] = 1;
    f.n = 2; f.x[0] = 1; f.q[0] = 0.5; f.x[1] = 2; f.q[1] = 0.5;
    mcamp__pile_grid(NULL, 1.9, 0.1, 8, 1, &out);
    CHECK(mcamp__pile_add(&a, 1, &f, 1, &out));
    {
        double mass = 0, mean = 0;
        for (size_t i = 0; i < out.n; i++) { mass += out.q[i]; mean += out.q[i] * out.x[i]; }
        CHECK_LE(fabs(mass - 1), 1e-14);
        CHECK_LE(fabs(mean - 2.5), 1e-14);
    }
    f.x[1] = 3;
    CHECK(!mcamp__pile_add(&a, 1, &f, 1, &out));
    f.x[0] = 0.5; f.x[1] = 2;
    CHECK(!mcamp__pile_add(&a, 1, &f, 1, &out));
}

/* C = I, several times: against the reference, both ends near it. */
TEST(composed_bins_against_the_fft)
{
    static const double c[] = { 0.4, 1 };
    static const int uses[] = { 8, 3 };
    static ref_account ref;
    for (int i = 0; i < 2; i++) {
        ref_mechanism m;
        mcamp_event e = bins(2, 4, 2 / c[i], (uint64_t)uses[i]);
        memset(&m, 0, sizeof m);
        m.cdf = ref_bins_cdf;
        m.a[0] = c[i];
        m.uses = uses[i];
        ref_start(&ref, 2.5e-3);
        ref_add(&ref, &m);
        for (int add = 0; add < 2; add++)
            for (double eps = 0.1; eps < 8; eps *= 4) {
                double lo, up;
                mcamp_interval v, w;
                mcamp_exact_desc d;
                memset(&d, 0, sizeof d);
                d.direction = add ? MCAMP_ADD : MCAMP_REMOVE;
                d.rel_error = 1e-2;
                CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL) >= 0);
                ref_delta(&ref, add, eps, &lo, &up);
                if (up < 1e-8) continue;
                up += 3e-10;        /* beyond the lattice's 10 it comes back: 1.2e-10 below the
                                     * quadrature's delta at c = 1, eps = 6.4 */
                CHECK_LE(v.lower, up * (1 + 1e-6) + 1e-13);
                CHECK_LE(lo * (1 - 1e-6) - 1e-13, v.upper);
                CHECK_LE(v.upper - v.lower, 1e-6 * v.upper);
                CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, &d, v.upper, &w, NULL), MCAMP_OK);
                CHECK_LE(w.upper - w.lower, 1e-2 * w.upper);
                CHECK_LE(w.lower, eps);
                CHECK_LE((1 - 1e-2) * eps, w.upper);
                CHECK(by_curves(&e, 1, eps, 0, 1e-2, d.direction, &v) >= 0);
                CHECK_LE(v.lower, up * (1 + 1e-6) + 1e-13);
                CHECK_LE(lo * (1 - 1e-6) - 1e-13, v.upper);
                CHECK(by_curves(&e, 1, v.upper, 1, 1e-2, d.direction, &w) >= 0);
                CHECK_LE(w.upper - w.lower, (eps > 0.5 ? 0.01 : 0.03) * w.upper);
                CHECK_LE(w.lower, eps);
                CHECK_LE(0.98 * eps, w.upper);
            }
    }
}

/* delta of a Gaussian mechanism of mu k whose loss is moved by w, under Q: E(e^L - e^eps)_+ with
 * the example removed, E(1 - e^(eps + L))_+ added.                                        */
static double moved_delta(double k, double w, double eps, int add)
{
    double a = add ? -(eps + w) / k : (w + k * k - eps) / k, r[2];
    if (a > 8) return add ? ref_phi(a) - exp(eps + w + 0.5 * k * k) * ref_phi(a - k)
                          : exp(w + 0.5 * k * k) * ref_phi(a) - exp(eps) * ref_phi(a - k);
    for (int i = 0; i < 2; i++)     /* Pr/density, so that next to nothing cancels */
        r[i] = ref_phi(a - i * k) * exp(0.5 * (a - i * k) * (a - i * k));
    return add ? exp(-0.5 * a * a) * (r[0] - r[1])
               : exp(eps - 0.5 * (a - k) * (a - k)) * (r[0] - r[1]);
}

/* Two bins of norms c, `uses` times, by the rule of equal steps, whose error falls faster than any
 * power: the loss is kappa r + log of the sum of modes along the line across d ~ 1/c_i.  */
static double two_bins_by_quadrature(const double *c, int uses, double eps, int add, int per)
{
    double norm = hypot(1 / c[0], 1 / c[1]), kappa = 1 / norm, step = 1.0 / per, sum = 0;
    int n = 32 * per + 1, at[3] = { 0, 0, 0 };
    static double loss[1025], odds[1025];
    for (int i = 0; i < n; i++) {
        double v = (i - 16 * per) * step, t0 = v / c[1] / norm, t1 = -v / c[0] / norm;
        loss[i] = log(0.5 * exp(c[0] * t0 - 0.5 * c[0] * c[0]) +
                      0.5 * exp(c[1] * t1 - 0.5 * c[1] * c[1]));
        odds[i] = step * exp(-0.5 * v * v) / sqrt(8 * atan(1.0));
    }
    for (;;) {
        double p = 1, l = 0;
        int k = 0;
        for (int i = 0; i < uses; i++) { p *= odds[at[i]]; l += loss[at[i]]; }
        sum += p * moved_delta(kappa * sqrt((double)uses), l, eps, add);
        while (k < uses && ++at[k] == n) at[k++] = 0;
        if (k == uses) return sum;
    }
}

/* Two bins, alike or not, used twice: the truth to twelve digits lies within the ends, which are
 * next to each other, in either direction, from large deltas down to 1e-60.              */
TEST(composed_bins_against_a_quadrature)
{
    static const double norms[4][2] = { { 0.5, 0.5 }, { 1.3, 1.3 }, { 1, 0.6 }, { 2.5, 2.5 } };
    static const double one[2] = { 1, 1 };
    int far = 0;
    for (int i = 0; i < 4; i++)
        for (int add = 0; add < 2; add++)
            for (double eps = 0; eps < 25; eps = 3.4 * eps + 0.35) {
                mcamp_event e = bins(2, 1, 1, 2);
                mcamp_interval v, w;
                mcamp_exact_desc d;
                double truth = two_bins_by_quadrature(norms[i], 2, eps, add, 8), off;
                memset(&d, 0, sizeof d);
                d.direction = add ? MCAMP_ADD : MCAMP_REMOVE;
                d.rel_error = 1e-4;
                e.n = 2; e.shift = norms[i]; e.prob = one;
                if (!(truth > 1e-60)) continue;
                far += truth < 1e-12;
                CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL) >= 0);
                off = 1e-11 * truth;
                CHECK_LE(v.lower, truth + off);
                CHECK_LE(truth - off, v.upper);
                if (truth > 1e-25) CHECK_LE(v.upper - v.lower, 1e-6 * v.upper);
                if (!(eps > 0)) continue;
                CHECK(mcamp_exact_epsilon(&ctx, &e, 1, &d, truth, &w, NULL) >= 0);
                CHECK_LE(w.lower, eps * (1 + 1e-10));
                CHECK_LE(eps * (1 - 1e-10), w.upper);
            }
    CHECK_LE(3, far);
}

/* Modes so long that losses are in the hundreds: the rule in finer steps, as the loss bends at once
 * where one bin takes over from the other.  What less smoothing can give of delta is tried.    */
TEST(composed_bins_of_long_modes)
{
    static const double norms[2] = { 10, 10 };
    mcamp_exact_desc d, few;
    memset(&few, 0, sizeof few);
    few.rel_error = 5e-3;
    for (int add = 0; add < 2; add++) {
        mcamp_event e = bins(2, 1, 0.1, 2);
        mcamp_interval v;
        double eps = add ? 140 : 165, truth = two_bins_by_quadrature(norms, 2, eps, add, 32);
        d = few;
        d.direction = add ? MCAMP_ADD : MCAMP_REMOVE;
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL), MCAMP_OK);
        CHECK_LE(v.lower, truth * (1 + 1e-11));
        CHECK_LE(truth * (1 - 1e-11), v.upper);
        CHECK_LE(v.upper - v.lower, 5e-3 * v.upper);
        CHECK_LE(1e-30, truth);
    }
    for (int c = 4; c < 7; c += 2) {        /* next to no Gaussian part: smoothed */
        mcamp_event e = bins(10000, 1, 1.0 / c, 100);
        mcamp_interval v;
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &few, c < 5 ? 207 : 1167, &v, NULL), MCAMP_OK);
        CHECK_LE(v.upper - v.lower, 5e-3 * v.upper);
    }
}

/* log of the second or third moment of S/b: those of X are e^{c^2} and e^{3c^2}. */
static double log_moment(const mcamp_event *e, int order)
{
    double b = (double)e->bins, k2 = 0, k3 = 0;
    for (size_t i = 0; i < (e->n ? e->n : 1); i++) {
        double c = (e->n ? e->shift[i] : 1) / e->sigma, n = e->n ? e->prob[i] : b;
        k2 += n * expm1(c * c);
        k3 += n * (expm1(3 * c * c) - 3 * expm1(c * c));
    }
    return order == 2 ? log1p(k2 / b / b) : log1p(3 * k2 / b / b + k3 / b / b / b);
}

/* The law of BINS for lines about lambda, after its plan has been spoilt: 1 atoms far apart, 2
 * points of X far apart, 3 few of X, 4 and 5 too few atoms to the right and to the left, 6 points
 * of X as far apart as the atoms, which thin X do not bear.                                 */
static int spoilt_law(mcamp_event *e, int add, double lambda, int how, mcamp__law *a)
{
    mcamp__lattice q;
    mcamp__mellin t;
    double words, *mem;
    memset(&t, 0, sizeof t);
    t.left = t.right = -mcamp__inf();
    CHECK_STATUS(mcamp__mellin_plan(&ctx, e, add, lambda, 0.5, 1, &t), MCAMP_OK);
    if (how == 1) t.h *= 3;
    if (how == 2) t.h = t.step *= 2.5;
    if (how == 3) t.z = 5.5;
    if (how == 4) t.hi *= 0.35;
    if (how == 5) t.lo *= 0.45;
    if (how == 6) t.step = t.h;
    words = mcamp__lattice_init(&q, e, &t);
    CHECK(words < 4e6);
    mem = mcamp__new_doubles(&ctx, (size_t)words);
    if (!mem || !mcamp__law_alloc(&ctx, a, q.nk)) return 0;
    mcamp__lattice_place(&q, mem);
    a->count = 1; a->t = t;
    mcamp__mellin_atoms(ctx.vec, &q, e, a);
    mcamp__delete_doubles(&ctx, mem, (size_t)words);
    return 1;
}

/* Whole moments are known: E(S/b)^2 and ^3, and 1 where nothing is tilted.  The law's lie within
 * what it says of its error, which is next to nothing, for many bins, few, and several kinds,
 * of which the Gaussian part makes up the rest; and with a plan spoilt in any way, still.   */
TEST(laws_of_bins_have_the_moments_of_bins)
{
    static const double shift[3] = { 1, 0.6, 0 }, prob[3] = { 3, 4, 2 }, thin[2] = { 1, 0.08 };
    double worst[7] = { 0, 0, 0, 0, 0, 0, 0 };
    for (int i = 0; i < 7; i++)
        for (int how = 0; how < 7; how++) {
            mcamp_event e = bins(i == 0 ? 2 : i == 1 ? 10 : i == 2 ? 30000 : i > 4 ? 7 : 9, 1,
                                 i == 0 ? 0.7 : i == 2 ? 2 : 1, 1);
            mcamp__law a;
            mcamp__pair p;
            double g2 = 0;
            if (i > 3) { e.n = i > 4 ? 2 : 3; e.shift = i > 5 ? thin : shift; e.prob = prob; }
            CHECK_STATUS(mcamp__pair_mellin(&e, &p, &g2), MCAMP_OK);
            CHECK((g2 > 0) == (i != 4));
            if (!spoilt_law(&e, 0, 1.3, how, &a)) continue;
            for (int k = 1; k < 3; k++) {
                mcamp__cum c = mcamp__law_cum(&a, k);
                double x = c.k0 + 0.5 * g2 * k * (k + 1), off = fabs(x - log_moment(&e, k + 1));
                CHECK_LE(off, c.err + 1e-13);
                CHECK_LE(mcamp__mellin_least(&a.t, k), log_moment(&e, k + 1));
                if (!how) CHECK_LE(c.err, 1e-9);
                if (mcamp__finite(c.err) && off > 1e-11) worst[how] = off;
            }
            mcamp__law_free(&ctx, &a);
            if (!spoilt_law(&e, 1, 1.3, how, &a)) continue;
            /* above 1 by Jensen */
            CHECK_LE(-1e-9, mcamp__law_cum(&a, 1).k0 + g2 + mcamp__law_cum(&a, 1).err);
            mcamp__law_free(&ctx, &a);
        }
    for (int how = 1; how < 7; how++) CHECK_LE(1e-11, worst[how]);      /* and it was spoilt */
}

/* The law of many bins: as chosen, 1 with few frequencies, 2 with X cut so early that it shows. */
static int many_law(mcamp_event *e, int add, double lambda, int how, mcamp__law *a)
{
    mcamp__mellin t;
    mcamp__many m;
    mcamp__wish wish = { 0, 0, 1, 0, -60, 4e6, 0, 0 };
    double lost, *mem = mcamp__new_doubles(&ctx, 9 * 4096);
    mcamp_status st = MCAMP_E_SIZE;
    memset(&t, 0, sizeof t);
    t.left = t.right = -mcamp__inf();
    wish.lambda = lambda;
    wish.spread = wish.bulk = 4 * mcamp__bins_model(e, 1, 1);
    if (!mem) return 0;
    CHECK(mcamp__many_plan(e, add, &wish, &t, &lost));
    if (how == 2) t.z = 5.5 + 2 * t.xi;
    CHECK(mcamp__many_places(&t, &m, mem));
    CHECK(mcamp__many_steps(&t, wish.work, &m));
    if (how == 1) m.nf = ceil(0.25 * m.nf);
    st = mcamp__many_fill(&ctx, &t, &m, a);
    mcamp__delete_doubles(&ctx, mem, 9 * 4096);
    CHECK_STATUS(st, MCAMP_OK);
    return st >= 0;
}

/* Whole moments of many bins, too, within what is said of them; next to nothing as it is. */
TEST(laws_of_many_bins_have_the_moments_of_bins)
{
    static const double many[3][2] = { { 1000, 2.5 }, { 300, 1.5 }, { 1e6, 2.5 } };
    double worst[3] = { 0, 0, 0 };
    for (int i = 0; i < 3; i++)
        for (int how = 0; how < 3; how++) {
            mcamp_event e = bins((uint64_t)many[i][0], 1, many[i][1], 1);
            double g2 = 1 / many[i][0] / many[i][1] / many[i][1];
            mcamp__law a;
            if (!many_law(&e, 0, 6, how, &a)) continue;
            for (int k = 1; k < 3; k++) {
                mcamp__cum c = mcamp__law_cum(&a, k);
                double x = c.k0 + 0.5 * g2 * k * (k + 1), off = fabs(x - log_moment(&e, k + 1));
                if (how && !mcamp__finite(c.err)) continue;
                CHECK_LE(off, c.err + 1e-13);
                if (!how) CHECK_LE(c.err, i < 2 ? 1e-9 : 1e-6);
                worst[how] = off > worst[how] ? off : worst[how];
            }
            mcamp__law_free(&ctx, &a);
            if (how || !many_law(&e, 1, 6, how, &a)) continue;
            CHECK_LE(-1e-9, mcamp__law_cum(&a, 1).k0 + g2 + mcamp__law_cum(&a, 1).err);
            CHECK_LE(mcamp__law_cum(&a, 1).err, i < 2 ? 1e-7 : 1e-6);
            mcamp__law_free(&ctx, &a);
        }
    CHECK_LE(1e-9, worst[2]);       /* and it was spoilt; 1: nothing is said to be known */
}

/* Bins that are many for 10 uses, few for 20: twice ten is twenty, in either direction, where
 * series of positive terms say what it is to 1e-6.                                        */
TEST(many_bins_against_few)
{
    static const double what[4][4] = { { 128, 2.5, 0.3, 0 }, { 128, 2.5, 0.3, 1 },
                                       { 128, 2.5, 0.685, 1 }, { 1000, 1, 1, 1 } };
    for (int i = 0; i < 4; i++) {
        mcamp_event e = bins((uint64_t)what[i][0], 1, what[i][1], 20), two[2];
        double eps = what[i][2];
        mcamp_interval v, w;
        mcamp_exact_info info;
        mcamp_exact_desc d;
        memset(&d, 0, sizeof d);
        d.direction = what[i][3] > 0 ? MCAMP_ADD : MCAMP_REMOVE;
        d.rel_error = 5e-3;
        two[0] = two[1] = e;
        two[0].count = two[1].count = 10;
        CHECK(!mcamp__many_fit(&e) && mcamp__many_fit(two));
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL), MCAMP_OK);
        CHECK_LE(v.upper - v.lower, 1e-6 * v.upper);
        CHECK(mcamp_exact_delta(&ctx, two, 2, &d, eps, &w, &info) >= 0);
        if (i < 3) CHECK_LE(1e-12 * w.upper, info.infinite);    /* what was let go */
        CHECK_LE(w.lower, v.upper);
        CHECK_LE(v.lower, w.upper);
        CHECK_LE(w.upper - w.lower, (i < 3 ? 1e-3 : 0.15) * w.upper);
    }
}

/* Gamma against its product formula: |Gamma(n + iy)|^2 = pi y/sinh(pi y) prod (k^2 + y^2), and its
 * angle by the recursion from afar.                                                      */
TEST(complex_gamma)
{
    for (double y = 0.1; y < 40; y *= 1.7)
        for (int n = 1; n < 30; n += 4) {
            double t = 8 * atan(1.0) * y, s = log(t) - 0.5 * t - log1p(-exp(-t)), re, im;
            double x, z, a = 0;
            for (int k = 1; k < n; k++) s += log((double)k * k + y * y);
            mcamp__log_gamma(n, y, &re, &im);
            CHECK_NEAR(re, 0.5 * s, 1e-12, 1e-12);
            for (int k = 0; k < 20; k++) a += atan2(y, n + k);
            mcamp__log_gamma(n + 20, y, &x, &z);
            CHECK_NEAR(cos(im - z + a), 1, 1e-12, 0);
        }
}

/* C = I, several times and with others: more than once, less than without amplification. */
TEST(bins_compose)
{
    mcamp_event e = bins(32, 2, 2, 1), g = simple(MCAMP_EVENT_GAUSSIAN, 2 / sqrt(2.0), 3), f[2];
    mcamp_event one = poisson(1 / 32.0, 2 / sqrt(2.0), 3);
    mcamp_exact_desc fine;
    mcamp_interval v, three, gauss, low;
    memset(&fine, 0, sizeof fine);
    fine.rel_error = 1e-2;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
    e.count = 3;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, &fine, 1e-6, &three, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &g, 1, NULL, 1e-6, &gauss, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &one, 1, NULL, 1e-6, &low, NULL), MCAMP_OK);
    CHECK_LE(v.lower, three.lower);
    CHECK_LE(three.upper, 3 * v.upper);
    CHECK_LE(three.upper, gauss.lower);
    CHECK_LE(low.lower, three.lower);           /* one bin alone, the others not looked at */
    /* with next to nothing beside it: as alone; by curves, within what their points cost */
    e.count = 1;
    f[0] = e;
    f[1] = simple(MCAMP_EVENT_GAUSSIAN, 1e6, 1);
    CHECK_STATUS(by_curves(f, 2, 1e-6, 1, 1e-2, MCAMP_BOTH, &three), MCAMP_OK);
    CHECK_LE(v.lower, three.upper);
    CHECK_LE(three.upper, 1.01 * v.upper);
    CHECK_LE(three.lower, v.upper);
    CHECK_LE(0.99 * v.upper, three.lower);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, f, 2, &fine, 1e-6, &three, NULL), MCAMP_OK);
    CHECK_LE(v.lower, three.upper * (1 + 1e-9));
    CHECK_LE(three.lower, v.upper * (1 + 1e-4));
    CHECK_LE(three.upper, v.upper * (1 + 1e-2));
    for (double eps = 0.2; eps < 1; eps *= 2.5) {
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, NULL), MCAMP_OK);
        CHECK_STATUS(mcamp_exact_delta(&ctx, f, 2, NULL, eps, &three, NULL), MCAMP_OK);
        CHECK_LE(v.lower, three.upper * (1 + 1e-3));
        CHECK_LE(three.lower, v.upper * (1 + 1e-4));
        CHECK_LE(three.upper, three.lower * (1 + 2e-3));
    }
    /* many of them: by their law, and by curves, far out where the first choice of a range would
     * not do                                                                             */
    f[0].bins = e.bins = 2000;
    for (double eps = 0.03; eps < 0.1; eps *= 2.5) {
        CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, NULL) >= 0);
        CHECK(mcamp_exact_delta(&ctx, f, 2, &fine, eps, &three, NULL) >= 0);
        CHECK_LE(v.lower, three.upper);
        CHECK_LE(three.lower, v.upper * (1 + 1e-4));
        CHECK_LE(three.upper, three.lower * (1 + 1e-2));
        CHECK(by_curves(f, 2, eps, 0, 1e-2, MCAMP_BOTH, &low) >= 0);
        CHECK_LE(low.lower, three.upper);
        CHECK_LE(three.lower, low.upper);
        CHECK_LE(log(low.upper / v.upper), 0.1 + 0.03 * fabs(log(v.upper)));
    }
    /* one bin is a Gaussian mechanism, in composition too */
    f[0] = bins(1, 3, 2, 2);
    f[1] = poisson(0.01, 1, 100);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, f, 2, NULL, 1e-6, &v, NULL), MCAMP_OK);
    f[0] = simple(MCAMP_EVENT_GAUSSIAN, 2, 6);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, f, 2, NULL, 1e-6, &three, NULL), MCAMP_OK);
    CHECK_NEAR(v.upper, three.upper, 1e-9, 0);
}

/* ---- one example replaced by another ---- */

static mcamp_event replacing(mcamp_event e)
{
    e.replace = true;
    return e;
}

/* H of (1 - q) N(0) + q N(u) over (1 - q) N(0) + q N(v) in the plane, by the trapezoid rule. */
static double replaced(double q, const double *u, const double *v, double eps)
{
    double s = 0, h = 0.15, e = exp(eps);
    for (double x = -8; x < 8; x += h)
        for (double y = -8; y < 8; y += h) {
            double a = exp(u[0] * x + u[1] * y - 0.5 * (u[0] * u[0] + u[1] * u[1]));
            double b = exp(v[0] * x + v[1] * y - 0.5 * (v[0] * v[0] + v[1] * v[1]));
            double d = 1 - q + q * a - e * (1 - q + q * b);
            if (d > 0) s += d * exp(-0.5 * (x * x + y * y));
        }
    return s * h * h / (8 * atan(1.0));
}

/* Two rounds of the worst pair. */
static double replaced_twice(double q, double c, double eps)
{
    double s = 0, h = 0.1, e = exp(eps);
    for (double x = -9; x < 9; x += h)
        for (double y = -9; y < 9; y += h) {
            double p = (1 - q + q * exp(c * (x - 0.5 * c))) * (1 - q + q * exp(c * (y - 0.5 * c)));
            double r = (1 - q + q * exp(-c * (x + 0.5 * c))) *
                       (1 - q + q * exp(-c * (y + 0.5 * c)));
            if (p > e * r) s += (p - e * r) * exp(-0.5 * (x * x + y * y));
        }
    return s * h * h / (8 * atan(1.0));
}

TEST(replaced_examples_by_quadrature)
{
    static const double q[] = { 0.05, 0.3, 0.9 }, eps[] = { 0, 0.3, 1 };
    mcamp_rng rng;
    mcamp_rng_seed(&rng, 4);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double c = 0.5 + 0.5 * i, u[2] = { 0, 0 }, v[2] = { 0, 0 }, one, two;
            mcamp_event e = replacing(poisson(q[i], 1 / c, 1));
            mcamp_exact_info info;
            mcamp_interval w;
            u[0] = c; v[0] = -c;
            one = replaced(q[i], u, v, eps[j]);
            CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, eps[j], &w, &info), MCAMP_OK);
            CHECK_LE(w.lower, one * 1.01 + 1e-4);
            CHECK_LE(one * 0.99 - 1e-4, w.upper);
            CHECK_NEAR(info.remove.upper, info.add.upper, 1e-3, 1e-12);
            for (int k = 0; k < 12; k++) {      /* nobody else is worse */
                double r = k < 6 ? c : c * mcamp_rng_uniform(&rng);
                double f = 6.3 * mcamp_rng_uniform(&rng), g = 6.3 * mcamp_rng_uniform(&rng);
                u[0] = r * cos(f); u[1] = r * sin(f);
                v[0] = c * cos(g); v[1] = c * sin(g);
                CHECK_LE(replaced(q[i], u, v, eps[j]), w.upper + 1e-4);
            }
            e.count = 2;
            two = replaced_twice(q[i], c, eps[j]);
            CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, eps[j], &w, NULL) >= 0);
            CHECK_LE(w.lower, two * 1.005 + 1e-5);
            CHECK_LE(two * 0.995 - 1e-5, w.upper);
            CHECK_LE(w.upper, 1.01 * w.lower + 1e-9);
        }
}

/* Many rounds: no more than by the conversion for two examples; sampling with probability 1 and
 * the Gaussian mechanism are one of twice the sensitivity; mixed lists and others are refused. */
TEST(replaced_examples_compose)
{
    mcamp_event e[2], g = simple(MCAMP_EVENT_GAUSSIAN, 3, 5);
    mcamp_interval v, w;
    double eps, delta, order;
    e[0] = poisson(0.01, 1, 500);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 1, NULL, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_group_convert(&ctx, v.upper, 1e-6, 2, &eps, &delta), MCAMP_OK);
    e[0] = replacing(e[0]);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 1, NULL, delta, &w, NULL), MCAMP_OK);
    CHECK(w.upper < eps && w.lower > v.upper && w.upper < w.lower * (1 + 1e-3));
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 1, NULL, 1e-6, &w, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, e, 1, NULL, 0, MCAMP_PARAM_SIGMA, w.upper, 1e-6, &eps,
                                       NULL), MCAMP_OK);
    CHECK_NEAR(eps, 1, 1e-3, 0);
    e[0] = replacing(g);
    e[1] = replacing(poisson(1, 3, 2));
    g.sensitivity = 2; g.count = 7;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 2, NULL, 1e-6, &v, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &g, 1, NULL, 1e-6, &w, NULL), MCAMP_OK);
    CHECK_NEAR(v.upper, w.upper, 1e-9, 0);
    e[1].replace = false;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, e, 2, NULL, 1e-6, &v, NULL), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_exact_rdp_epsilon(&ctx, e, 1, NULL, 0, 1e-6, &eps, &order), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_exact_rdp(&ctx, e, 1, 2, &eps), MCAMP_E_ARG);
    for (int k = 1; k < 4; k++) {
        e[0] = replacing(k == 1 ? simple(MCAMP_EVENT_LAPLACE, 1, 1)
                         : k == 2 ? allocate(4, 2, 1, 1) : simple(MCAMP_EVENT_RESPONSE, 0, 1));
        if (k == 3) e[0].eps = 1;
        CHECK_STATUS(mcamp_exact_delta(&ctx, e, 1, NULL, 1, &v, NULL), MCAMP_E_ARG);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "replace"));
    }
}

/* Two bins: modes c e_i against -c e_i, in the plane. */
static double replaced_bins(double c, double eps)
{
    double s = 0, h = 0.1, e = exp(eps);
    for (double x = -9; x < 9; x += h)
        for (double y = -9; y < 9; y += h) {
            double p = exp(c * (x - 0.5 * c)) + exp(c * (y - 0.5 * c));
            double r = exp(-c * (x + 0.5 * c)) + exp(-c * (y + 0.5 * c));
            if (p > e * r) s += 0.5 * (p - e * r) * exp(-0.5 * (x * x + y * y));
        }
    return s * h * h / (8 * atan(1.0));
}

/* The bound by conversion over a grid of splits. */
static double converted(mcamp_event e, double eps)
{
    mcamp_interval r[21], a[21];
    double x[21], best = 1;
    mcamp_exact_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.rel_error = 5e-3;
    e.replace = false;
    for (int i = 0; i <= 20; i++) x[i] = eps * i / 20;
    CHECK(mcamp_exact_curve(&ctx, &e, 1, &desc, x, 21, r, a) >= 0);
    for (int i = 2; i <= 18; i++) {
        double d = r[i].upper + exp(x[i]) * a[20 - i].upper;
        if (d < best) best = d;
    }
    return best;
}

/* Balls in bins with an example replaced: the truth, where it can be integrated, is inside; the
 * upper end is that of the best split, or without amplification; eps and sigma fit delta.  */
TEST(replaced_in_bins_by_conversion)
{
    for (int i = 0; i < 9; i += 2) {
        double c = 0.3 + 0.5 * (i % 3), eps = 0.2 + 0.9 * (i / 3), truth = replaced_bins(c, eps);
        double none, best, sigma;
        mcamp_event e = replacing(bins(2, 4, 2 / c, 1)), list[2];
        mcamp_exact_info info;
        mcamp_interval v, w;
        CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, &info) >= 0);
        CHECK_LE(truth, v.upper);
        CHECK_LE(v.lower, truth * 1.005 + 1e-9);
        CHECK(info.add.upper >= v.upper && info.remove.upper >= v.upper);
        CHECK_STATUS(mcamp_gauss_delta(&ctx, 1, 2 * c, eps, &none), MCAMP_OK);
        best = fmin(none, converted(e, eps));
        CHECK_LE(v.upper, best * 1.06);
        CHECK_LE(best, v.upper * 1.06);
        if (i % 3) continue;
        CHECK(mcamp_exact_epsilon(&ctx, &e, 1, NULL, v.upper, &w, NULL) >= 0);
        CHECK_LE(eps, w.upper * 1.02);
        CHECK_LE(replaced_bins(c, w.upper), v.upper);
        CHECK_LE(w.upper, eps * 1.6);
        CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, w.upper, &w, NULL) >= 0);
        CHECK_LE(w.upper, v.upper * 1.1);
        if (i) continue;
        CHECK(mcamp_exact_calibrate(&ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, eps, v.upper, &sigma,
                                    NULL) >= 0);
        CHECK_NEAR(sigma, 2 / c, 0.02, 0);
        list[0] = replacing(bins(2, 4, 2 / c, 3));      /* a list goes as a whole */
        list[1] = replacing(poisson(0.2, 1, 2));
        CHECK(mcamp_exact_delta(&ctx, list, 2, NULL, eps, &w, NULL) >= 0);
        CHECK(w.upper > v.upper && w.lower > v.lower && w.upper <= 1);
        CHECK_STATUS(mcamp_gauss_delta(&ctx, 1, 2 * sqrt(3 * c * c + 2), eps, &none), MCAMP_OK);
        CHECK_LE(w.upper, none * (1 + 1e-9));
    }
}

/* ---- k of t rounds ------------------------------------------------------------------------ */

/* dP/dQ: the elementary symmetric mean of the e^{c x - c^2/2}. */
static double picked_ratio(const double *x, size_t t, size_t k, double c)
{
    double e[8] = { 1, 0, 0, 0, 0, 0, 0, 0 }, all = 1;
    for (size_t i = 0; i < t; i++)
        for (size_t j = k; j > 0; j--) e[j] += e[j - 1] * exp(c * x[i] - 0.5 * c * c);
    for (size_t j = 0; j < k; j++) all *= (double)(t - j) / (double)(j + 1);
    return e[k] / all;
}

/* delta of 2 of 3 by the trapezoid rule. */
static double two_of_three(double c, double eps, int add)
{
    double s = 0, h = 0.22, x[3];
    for (x[0] = -5.9; x[0] < 6 + c; x[0] += h)
        for (x[1] = -5.9; x[1] < 6 + c; x[1] += h)
            for (x[2] = x[1]; x[2] < 6 + c; x[2] += h) {
                double r = picked_ratio(x, 3, 2, c), v = add ? 1 - exp(eps) * r : r - exp(eps);
                double r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
                if (v > 0) s += (x[2] > x[1] ? 2 : 1) * v * exp(-0.5 * r2);
            }
    return s * h * h * h / pow(8 * atan(1.0), 1.5);
}

TEST(picks_by_quadrature)
{
    static const double c[] = { 0.5, 1, 2 };
    for (int i = 0; i < 3; i++)
        for (double eps = 0.1; eps < 3; eps *= 4) {
            mcamp_exact_info info;
            mcamp_interval v;
            mcamp_event e = allocate(3, 2, 1 / c[i], 1);
            CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, eps, &v, &info) >= 0);
            for (int add = 0; add < 2; add++) {
                mcamp_interval w = add ? info.add : info.remove;
                double t = two_of_three(c[i], eps, add);
                CHECK_LE(w.lower, t * 1.002 + 1e-9);
                CHECK_LE(t * 0.998 - 1e-9, w.upper);
                if (t > 1e-4) CHECK_LE(0.4 * t, w.lower);
            }
        }
}

/* Many rounds, by simulation: 5 of 40, both directions, at an error rate of 1e-9. */
TEST(picks_by_simulation)
{
    enum { T = 40, K = 5, N = 20000 };
    const double c = 0.8, eps[2] = { 0.5, 1.5 };
    mcamp_rng rng;
    mcamp_event e = allocate(T, K, 1 / c, 1);
    mcamp_rng_seed(&rng, 5);
    for (int add = 0; add < 2; add++) {
        double s[2] = { 0, 0 }, s2[2] = { 0, 0 };
        for (int n = 0; n < N; n++) {
            double x[T], r;
            for (int i = 0; i < T; i++) {
                double u = sqrt(-2 * log(mcamp_rng_uniform(&rng)));
                x[i] = u * cos(8 * atan(1.0) * mcamp_rng_uniform(&rng)) + (!add && i < K ? c : 0);
            }
            r = picked_ratio(x, T, K, c);
            for (int j = 0; j < 2; j++) {
                double v = add ? 1 - exp(eps[j]) * r : 1 - exp(eps[j]) / r;
                v = v > 0 ? v : 0;
                s[j] += v; s2[j] += v * v;
            }
        }
        for (int j = 0; j < 2; j++) {
            double m = s[j] / N, err = 6.1 * sqrt((s2[j] / N - m * m) / N);
            mcamp_exact_info info;
            mcamp_interval v;
            CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, eps[j], &v, &info) >= 0);
            v = add ? info.add : info.remove;
            CHECK_LE(v.lower, m + err);
            CHECK_LE(m - err, v.upper);
            CHECK_LE(v.upper, 1.4 * v.lower);
        }
    }
}

/* One of t is balls in bins, all of them a Gaussian mechanism; more picks, or uses, are not
 * better; bad ones are refused.                                                         */
TEST(picks_from_one_to_all)
{
    mcamp_event e = allocate(12, 1, 2, 1), f = bins(12, 1, 2, 1), g;
    mcamp_interval v, w, last = { 0, 0 };
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 0.3, &v, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_delta(&ctx, &f, 1, NULL, 0.3, &w, NULL), MCAMP_OK);
    CHECK(mcamp__eq(v.lower, w.lower) && mcamp__eq(v.upper, w.upper));
    e = allocate(12, 12, 2, 2);
    e.rounds = 3;
    g = simple(MCAMP_EVENT_GAUSSIAN, 2, 72);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-5, &v, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &g, 1, NULL, 1e-5, &w, NULL), MCAMP_OK);
    CHECK_NEAR(v.upper, w.upper, 1e-12, 0);
    for (uint64_t k = 1; k <= 12; k += k < 4 ? 1 : 4) {
        e = allocate(12, k, 2, 2);
        CHECK(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-5, &v, NULL) >= 0);
        CHECK_LE(v.lower, v.upper);
        CHECK_LE(last.upper, v.upper * (1 + 1e-3));
        CHECK_LE(last.lower, v.lower * (1 + 1e-3) + (k > 6 ? v.upper : 0));
        CHECK(v.lower > 0.5 * v.upper || k > 4);
        last = v;
    }
    e.picks = 13;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-5, &v, NULL), MCAMP_E_ARG);
    e.picks = 0;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-5, &v, NULL), MCAMP_E_REQUIRED);
}

/* ---- guarantees and sessions of k of t rounds ---- */

#include "run_common.h"

enum { MANY = 40 };

static mcamp_mech identity(size_t n, const double *scale, size_t bands)
{
    mcamp_mech_desc d;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.kind = bands ? MCAMP_MECH_SQRT : MCAMP_MECH_IDENTITY;
    d.n = n; d.bands = bands; d.scale = scale;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    return m;
}

static int append(void *user, const char *text, size_t n)
{
    char *out = (char *)user;
    size_t at = strlen(out);
    if (at + n + 1 > 8192) return 1;
    memcpy(out + at, text, n);
    out[at + n] = '\0';
    return 0;
}

/* A round in which nobody's gradient is added; counts of who was drawn, and the noise. */
static void allocated_round(run *r, uint64_t t, size_t *seen, double *out)
{
    size_t who[MANY];
    mcamp_batch_size size = { 0, 0 };
    CHECK_STATUS(mcamp_session_begin(&ctx, &r->session, t, who, MANY, &size), MCAMP_OK);
    for (size_t i = 0; i < size.kept; i++) {
        if (seen) seen[who[i]]++;
        CHECK_STATUS(mcamp_session_skip(&ctx, &r->session, who[i]), MCAMP_OK);
    }
    CHECK_STATUS(mcamp_session_end(&ctx, &r->session, out), MCAMP_OK);
}

TEST(allocated_guarantees_are_the_events)
{
    static const double up[10] = { 1, 1, 1, 1, 1, 2, 1, 1, 1, 1 };
    mcamp_mech one = identity(10, NULL, 0), scaled = identity(10, up, 0);
    mcamp_mech two = identity(10, NULL, 2);
    mcamp_claim c;
    mcamp_guarantee g, h;
    memset(&c, 0, sizeof c);
    c.sigma = 2; c.eps = 1.25; c.delta = 1e-4;
    for (int anew = 0; anew < 2; anew++) {
        mcamp_batch_law law = anew ? MCAMP_BATCH_ALLOCATE_ANEW : MCAMP_BATCH_ALLOCATE;
        mcamp_event e = allocate(4, 2, 2, anew ? 3 : 1);    /* the third epoch has two rounds */
        mcamp_interval v;
        double sigma;
        e.rounds = anew ? 1 : 3;
        CHECK(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-4, &v, NULL) >= 0);
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &one, law, 4, 2, MCAMP_ASK_EPS, &c, &g),
                     MCAMP_OK);
        CHECK_NEAR(g.eps, v.upper, 1e-9, 0);
        CHECK(g.accepted && g.kind == MCAMP_KIND_INTERVAL && g.law == law && g.picks == 2);
        CHECK(g.batches == 4 && g.rounds == 10 && g.epochs == 3 && g.lower <= 0);
        CHECK(g.adjacency == MCAMP_ADJACENT_ADD_REMOVE && g.unit == 1);
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &one, law, 5, 2, MCAMP_ASK_DELTA, &c, &g),
                     MCAMP_OK);
        CHECK(g.lower > 0 && g.lower <= g.upper && g.epochs == 2);
        CHECK_NEAR(g.delta, g.upper, 0, 0);
        CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &one, &g, &h), MCAMP_OK);
        g.delta *= 0.99;
        CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &one, &g, &h), MCAMP_Q_REFUSED);
        CHECK(!h.accepted && h.kind == MCAMP_KIND_NONE);
        /* all four of four: a Gaussian mechanism; a little less noise is a claim that fails */
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &one, law, 4, 4, MCAMP_ASK_SIGMA, &c, &g),
                     MCAMP_OK);
        CHECK_STATUS(mcamp_gauss_sigma(&ctx, sqrt(12.0), 1.25, 1e-4, &sigma), MCAMP_OK);
        CHECK_NEAR(g.sigma, sigma, 1e-4, 0);
        CHECK_NEAR(g.unamplified, sigma, 1e-9, 0);
        c.sigma = g.sigma;
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &one, law, 4, 4, MCAMP_ASK_NONE, &c, &h),
                     MCAMP_OK);
        CHECK(h.accepted && h.remove.accepted && h.add.accepted && h.remove.bound <= 1e-4);
        c.sigma *= 0.99;
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &one, law, 4, 4, MCAMP_ASK_NONE, &c, &h),
                     MCAMP_Q_REFUSED);
        CHECK(!h.accepted && h.kind == MCAMP_KIND_NONE && !h.remove.accepted && !h.add.accepted);
        c.direction = MCAMP_ADD;
        c.sigma = 1; c.eps = 1.5;       /* of one round alone the add direction is the easier */
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &one, law, 10, 1, MCAMP_ASK_NONE, &c, &h),
                     MCAMP_OK);
        CHECK(!h.remove.method && h.direction == MCAMP_ADD);
        c.direction = MCAMP_BOTH;
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &one, law, 10, 1, MCAMP_ASK_NONE, &c, &h),
                     MCAMP_Q_REFUSED);
        CHECK(h.add.accepted && !h.remove.accepted);
        c.sigma = 2; c.eps = 1.25;
        /* the largest column counts */
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &scaled, law, 10, 1, MCAMP_ASK_EPS, &c, &g),
                     MCAMP_OK);
        c.sigma = 1;
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &one, law, 10, 1, MCAMP_ASK_EPS, &c, &h),
                     MCAMP_OK);
        CHECK_NEAR(g.eps, h.eps, 1e-9, 0);
        CHECK(g.lower <= 0 && h.lower > 0);
        c.sigma = 2;
    }
#define REFUSE(m, law, b, k, asked, change, st) \
    do { mcamp_claim keep = c; change; \
         CHECK_STATUS(mcamp_guarantee_allocate(&ctx, m, law, b, k, asked, &c, &g), st); \
         c = keep; } while (0)
    REFUSE(&two, MCAMP_BATCH_ALLOCATE, 5, 2, MCAMP_ASK_EPS, (void)0, MCAMP_E_ARG);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "bands"));
    REFUSE(&one, MCAMP_BATCH_BINS, 5, 2, MCAMP_ASK_EPS, (void)0, MCAMP_E_ARG);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 5, 6, MCAMP_ASK_EPS, (void)0, MCAMP_E_ARG);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 5, 0, MCAMP_ASK_EPS, (void)0, MCAMP_E_REQUIRED);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 0, 2, MCAMP_ASK_EPS, (void)0, MCAMP_E_SIZE);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 5, 2, MCAMP_ASK_Q, (void)0, MCAMP_E_ARG);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 5, 2, MCAMP_ASK_EPS, c.sigma = 0, MCAMP_E_REQUIRED);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 5, 2, MCAMP_ASK_EPS, c.delta = 1, MCAMP_E_ARG);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 5, 2, MCAMP_ASK_DELTA, c.eps = -1, MCAMP_E_ARG);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 5, 2, MCAMP_ASK_NONE, c.eps = mcamp__nan(),
           MCAMP_E_NONFINITE);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 5, 2, MCAMP_ASK_EPS, c.direction = (mcamp_direction)3,
           MCAMP_E_ARG);
    REFUSE(&one, MCAMP_BATCH_ALLOCATE, 5, 2, MCAMP_ASK_EPS, c.end_canary = 1, MCAMP_E_CANARY);
    CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &one, MCAMP_BATCH_ALLOCATE, 5, 2, MCAMP_ASK_EPS,
                                          NULL, &g), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &one, MCAMP_BATCH_ALLOCATE, 5, 2, 1e-5, &g),
                 MCAMP_E_ARG);
    mcamp_mech_free(&ctx, &one);
    mcamp_mech_free(&ctx, &scaled);
    mcamp_mech_free(&ctx, &two);
}

/* A run draws what was accounted for and nothing else, goes on from a saved state to the bit,
 * and says so; records bring it back.                                                */
TEST(allocated_sessions_keep_to_their_guarantee)
{
    static char text[8192];
    static unsigned char blob[4096];
    mcamp_mech mech = identity(8, NULL, 0), back;
    mcamp_claim c;
    mcamp_guarantee proof, again;
    memset(&c, 0, sizeof c);
    c.sigma = 3; c.delta = 1e-4;
    for (int anew = 0; anew < 2; anew++) {
        run r, s;
        double a[8][RUN_DIM], b[RUN_DIM];
        size_t seen[MANY] = { 0 }, early[MANY], size = 0;
        mcamp_writer w;
        text[0] = '\0';
        w.write = append;
        w.user = text;
        CHECK_STATUS(mcamp_guarantee_allocate(&ctx, &mech, anew ? MCAMP_BATCH_ALLOCATE_ANEW
                     : MCAMP_BATCH_ALLOCATE, 4, 3, MCAMP_ASK_EPS, &c, &proof), MCAMP_OK);
        plan_run(&r, &proof, MANY);
        CHECK_STATUS(open_run(&r, &proof, &mech), MCAMP_OK);
        plan_run(&s, &proof, MANY);
        CHECK_STATUS(open_run(&s, &proof, &mech), MCAMP_OK);
        CHECK(mcamp_session_delta(&r.session) >= proof.delta);
        for (uint64_t t = 0; t < 8; t++) {
            allocated_round(&r, t, seen, a[t]);
            if (t == 3) memcpy(early, seen, sizeof seen);
            if (t == 5) CHECK_STATUS(mcamp_session_save(&ctx, &r.session, blob, sizeof blob, &size),
                                     MCAMP_OK);
        }
        for (size_t e = 0; e < MANY; e++) CHECK(early[e] == 3 && seen[e] == 6);
        CHECK_STATUS(mcamp_session_load(&ctx, &s.session, blob, size), MCAMP_OK);
        for (uint64_t t = 6; t < 8; t++) {
            allocated_round(&s, t, NULL, b);
            CHECK(!memcmp(a[t], b, sizeof b));
        }
        CHECK_STATUS(mcamp_report_session(&r.session, MCAMP_REPORT_LEGAL, &w), MCAMP_OK);
        CHECK(strstr(text, "random allocation: every example takes part in 3 of the 4 rounds"));
        CHECK(strstr(text, anew ? "anew in every epoch" : "the same in all epochs"));
        CHECK(strstr(text, "random allocation as balls in bins, composed"));
        close_run(&r);
        close_run(&s);
        text[0] = '\0';
        CHECK_STATUS(mcamp_record_write(&proof, &mech, &w), MCAMP_OK);
        CHECK(strstr(text, "\npicks: 3\n"));
        CHECK_STATUS(mcamp_record_read(&ctx, text, strlen(text), &back, &again), MCAMP_OK);
        CHECK(again.picks == 3 && again.law == proof.law && mcamp__eq(again.sigma, proof.sigma));
        mcamp_mech_free(&ctx, &back);
#define UNLIKE(change, name) \
        do { mcamp_guarantee g = proof; plan_run(&r, &g, MANY); change; \
             CHECK_STATUS(open_run(&r, &g, &mech), MCAMP_E_MISMATCH); \
             CHECK(!strcmp(mcamp_last_error(&ctx).argument, name)); close_run(&r); } while (0)
        UNLIKE(r.bd.picks = 2, "picks");
        UNLIKE(r.bd.picks = 4, "picks");
        UNLIKE(r.bd.law = anew ? MCAMP_BATCH_ALLOCATE : MCAMP_BATCH_ALLOCATE_ANEW, "law");
        UNLIKE((r.bd.law = MCAMP_BATCH_BINS, r.bd.picks = 0), "law");
        UNLIKE((r.bd.law = MCAMP_BATCH_POISSON, r.bd.picks = 0, r.bd.q = 0.75), "law");
        UNLIKE(r.bd.batches = 5, "batches");
        UNLIKE(g.kind = MCAMP_KIND_VERIFIED, "law");
        UNLIKE(r.bd.limit = 1, "limit");
        UNLIKE(g.adjacency = MCAMP_ADJACENT_REPLACE, "adjacency");
#undef UNLIKE
        /* a saved run of another number of rounds */
        again = proof;
        again.picks = 2;
        plan_run(&r, &again, MANY);
        CHECK_STATUS(open_run(&r, &again, &mech), MCAMP_OK);
        CHECK_STATUS(mcamp_session_load(&ctx, &r.session, blob, size), MCAMP_E_MISMATCH);
        close_run(&r);
    }
    mcamp_mech_free(&ctx, &mech);
}

/* ---- bounds for any C -------------------------------------------------------------------- */

/* Of a curve that is known at some points, closely or only from above by far too much, what is made
 * from below is below the curve everywhere; where it is known closely it is close.         */
TEST(loose_points_of_a_curve_are_no_harm)
{
    size_t close = 0;
    for (int loose = 0; loose < 24; loose++) {
        enum { N = 61 };
        mcamp__pair p;
        memset(&p, 0, sizeof p);
        p.missing = 1 + MCAMP__UPPER;
        p.count = 1;
        p.err = 1e-12;
        CHECK(mcamp__pair_curve(&ctx, N, &p) >= 0);
        for (size_t i = 0; i < N; i++) {
            double x = ((double)i - 30) * 0.35, d = exp(mcamp__gauss_logdelta_up(1.3, fabs(x)));
            int far = loose && i % 24 == (size_t)loose;
            p.curve[i] = x;
            p.curve[N + i] = d * (far ? 1e5 : 1.01);
            p.curve[2 * N + i] = d * 0.99;
        }
        CHECK(mcamp__pair_pilot(&ctx, &p, 5, 0) >= 0);
        for (double x = 0; x < 12; x += 0.07) {
            double d = exp(mcamp__gauss_logdelta_up(1.3, x)), got = 0;
            for (size_t i = 0; i < p.npilot; i++)
                if (p.pilot[i].v > x) got += p.pilot[i].p - exp(x) * p.pilot[i].q;
            CHECK_LE(got, d * (1 + 1e-9));
            close += got > 0.8 * d;
            got = 0;                /* and of the other direction */
            for (size_t i = 0; i < p.npilot; i++)
                if (p.pilot[i].v < -x) got += p.pilot[i].q - exp(x) * p.pilot[i].p;
            CHECK_LE(got, d * (1 + 1e-9));
        }
        mcamp__pair_free(&ctx, &p);
    }
    CHECK(close > 1000);
}

/* A bin used once, from below by its curve, whose points go so far out that delta's lower end is 0
 * there: what it has beyond each point is not more than delta is at most.                  */
TEST(what_a_curve_has_far_out_is_no_more_than_delta)
{
    static const double what[4][2] = { { 11, 0.058120548873056926 }, { 5, 0.1 }, { 100, 0.08 },
                                       { 2, 0.05 } };
    size_t none = 0;
    for (int i = 0; i < 4; i++) {
        mcamp_event e = bins((uint64_t)what[i][0], 1, what[i][1], 1);
        mcamp__pair up, p;
        CHECK(mcamp__pair_bins(&ctx, &e, 1e-20, 200000000, &up) >= 0);
        CHECK(mcamp__pair_under(&ctx, &up, &p) >= 0);
        CHECK(mcamp__pair_pilot(&ctx, &p, 5, 0) >= 0);
        for (size_t k = 0; k < p.ncurve; k++) {
            double x = p.curve[k], d = p.curve[p.ncurve + k], got = 0;
            for (size_t j = 0; j < p.npilot; j++) {
                const mcamp__cell *c = &p.pilot[j];
                if (x < 0 && c->v < x) got += c->q - exp(c->v - x) * c->q;
                if (x > 0 && c->v > x) got += c->p - exp(x - c->v) * c->p;
            }
            CHECK_LE(got, d * (1 + 1e-9) + 1e-290);
            none += !(p.curve[2 * p.ncurve + k] > 0);
        }
        mcamp__pair_free(&ctx, &p);
        mcamp__pair_free(&ctx, &up);
    }
    CHECK(none > 20);
}

/* Where delta is 1 but for what no digit shows, what is certain is below 1: laws from curves. */
TEST(no_law_from_below_has_more_than_all)
{
    static const struct { uint64_t bins, count, rounds; double sigma; } c[3] = {
        { 213, 21, 8, 0.229882 }, { 30, 2, 13, 0.17306 }, { 15398, 10, 11, 0.193034 } };
    for (int i = 0; i < 6; i++) {
        mcamp_event e;
        mcamp_exact_desc d;
        mcamp_interval v;
        memset(&e, 0, sizeof e);
        memset(&d, 0, sizeof d);
        e.kind = MCAMP_EVENT_BINS;
        e.bins = c[i / 2].bins; e.count = c[i / 2].count; e.rounds = c[i / 2].rounds;
        e.sigma = c[i / 2].sigma;
        d.rel_error = 5e-3;
        d.direction = i % 2 ? MCAMP_ADD : MCAMP_REMOVE;
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &d, 10, &v, NULL), MCAMP_OK);
        CHECK(v.lower > 0.999 && v.lower < 1 && v.lower <= v.upper && v.upper <= 1);
    }
    for (double more = -0.1; more < 0.2; more += 0.05) {        /* and what does so */
        mcamp__cell cell[3];
        mcamp__cells a;
        memset(cell, 0, sizeof cell); memset(&a, 0, sizeof a);
        for (size_t i = 0; i < 3; i++) {
            cell[i].p = (1 + more) / 3;
            cell[i].q = (1 + 2 * more) / 3;
        }
        a.c = cell;
        a.n = 3;
        mcamp__cells_cap(&a);
        CHECK_LE(cell[0].p + cell[1].p + cell[2].p, 1 + 1e-14);
        CHECK_LE(cell[0].q + cell[1].q + cell[2].q, 1 + 1e-14);
        CHECK_LE((1 + more) / (1 + 2 * mcamp__dmax(0, more)) / 3 * (1 - 1e-14), cell[1].p);
    }
}

/* At the sigma of each bound an estimate is below delta; for C = I the split is exact; alpha
 * and gamma have G as a part, and less of gamma has not.                                */
TEST(certain_sigmas_are_enough)
{
    static const size_t bands[] = { 1, 3, 20 };
    for (int i = 0; i < 3; i++) {
        mcamp_mech mech;
        mcamp_mech_desc md;
        mcamp_gram g;
        double s[6] = { 0, 0, 0, 0, 0, 0 }, truth;
        memset(&md, 0, sizeof md);
        md.kind = bands[i] > 1 ? MCAMP_MECH_SQRT : MCAMP_MECH_IDENTITY;
        md.n = 27; md.bands = bands[i] > 1 ? bands[i] : 0;
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &mech), MCAMP_OK);
        CHECK_STATUS(mcamp_gram_init(&ctx, &mech, 9, &g), MCAMP_OK);
        for (int how = 1; how < 6; how++) {
            mcamp_answer a;
            mcamp_budget bud;
            memset(&bud, 0, sizeof bud);
            bud.rel_error = 0.05;
            CHECK_STATUS(mcamp_certain_sigma(&ctx, &g, (mcamp_certain)how, 1, 1e-4, &s[how]),
                         MCAMP_OK);
            CHECK(mcamp_delta(&ctx, &g, s[how], 1, &bud, &a) >= 0);
            CHECK_LE(a.delta - 6.5 * a.std_error, 1e-4);
            if (how == 1 || how == MCAMP_CERTAIN_CONDITIONAL) continue;
            if (how == MCAMP_CERTAIN_SPLIT && i != 1) continue;
            CHECK_LE(s[how], s[1] * (1 + 1e-3));
        }
        if (i == 2) CHECK_LE(s[MCAMP_CERTAIN_QUIET], 0.98 * s[MCAMP_CERTAIN_RENYI]);
        if (!i) {
            mcamp_event e = bins(9, 3, 1, 1);
            CHECK_STATUS(mcamp_exact_calibrate(&ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, 1, 1e-4,
                                               &truth, NULL), MCAMP_OK);
            CHECK_NEAR(s[MCAMP_CERTAIN_SPLIT], truth, 2e-3, 0);
        }
        CHECK_STATUS(mcamp_certain_sigma(&ctx, &g, MCAMP_CERTAIN_NONE, 1, 1e-4, &s[0]),
                     MCAMP_E_ARG);
        g.limit = 5;                    /* another pair: not what these bounds are about */
        CHECK_STATUS(mcamp_certain_sigma(&ctx, &g, MCAMP_CERTAIN_RENYI, 1, 1e-4, &s[0]),
                     MCAMP_E_ARG);
        g.limit = 0;
        mcamp_gram_free(&ctx, &g);
        mcamp_mech_free(&ctx, &mech);
    }
}

TEST(a_split_has_the_modes_as_a_part)
{
    enum { B = 7 };
    double m[B][B], a[B * B], l[2 * B * B + B], root[B * B], shift, gamma = -1;
    mcamp_rng rng;
    mcamp__factor f;
    mcamp_rng_seed(&rng, 3);
    memset(&f, 0, sizeof f);
    f.b = f.ld = B; f.g = a;
    for (int i = 0; i < B; i++)
        for (int j = 0; j < B; j++) m[i][j] = mcamp_rng_uniform(&rng);
    for (int i = 0; i < B; i++)
        for (int j = 0; j < B; j++) {
            double s = i == j ? 0.05 : 0;
            for (int k = 0; k < B; k++) s += m[i][k] * m[j][k];
            a[i * B + j] = s;
            f.total += s;
        }
    CHECK_STATUS(mcamp__split_gamma(&ctx, &f, 3, l, &gamma), MCAMP_OK);
    for (int less = 0; less < 2; less++) {
        double part = less ? 0.999 : 1 + 1e-6;
        for (int i = 0; i < B * B; i++) root[i] = 0;
        for (int i = 0; i < B * B; i++)
            l[i] = (i % (B + 1) ? 0 : 3) + part * gamma - a[i];
        CHECK_STATUS(mcamp__cholesky(&ctx, l, B, B, root, &shift),
                     less ? MCAMP_E_NOT_PSD : MCAMP_OK);
    }
    CHECK_STATUS(mcamp__split_gamma(&ctx, &f, 0.01, l, &gamma), MCAMP_E_NOT_PSD);
}

/* Conditional composition: how often odds of a mode, given what was seen, are above their
 * bound, under the mixture and under Q; shifts and odds of each coordinate from above.   */
TEST(odds_on_the_way_are_bounded)
{
    enum { B = 5, N = 6000 };
    static const double level = 0.02;
    for (int kind = 0; kind < 3; kind++) {      /* modes apart, alike, far */
        double m[B][B], a[B * B], odds[B][B] = { { 0 } }, far[2][B][B] = { { { 0 } } };
        mcamp_rng rng;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__path p;
        mcamp_rng_seed(&rng, 8);
        for (int i = 0; i < B; i++)
            for (int j = 0; j < B; j++)
                m[i][j] = (i == j ? 0.3 + 0.3 * kind : 0) + (kind != 1 && j > i ? 0 : 0.2) *
                          mcamp_rng_uniform(&rng);
        for (int i = 0; i < B * B; i++) {
            a[i] = 0;
            for (int k = 0; k < B; k++) a[i] += m[i / B][k] * m[i % B][k];
        }
        CHECK_STATUS(mcamp_gram_from_matrix(&ctx, a, B, &g), MCAMP_OK);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        CHECK_STATUS(mcamp__path_init(&ctx, &f, 1, log(level), &p), MCAMP_OK);
        for (int t = 0; t < B; t++) {
            mcamp_event e;
            double sum = 0;
            for (int i = t; i < B; i++) odds[t][i] = mcamp__path_odds(&p, (size_t)i);
            mcamp__path_event(&p, &e);
            for (size_t k = 0; k < e.n; k++) sum += e.prob[k];
            CHECK_NEAR(sum, 1, 1e-12, 0);
            for (int i = t; i < B; i++) {       /* modes of a shift as large together */
                double some = 0, all = 0, x = p.l[i * B + t];
                for (int j = t; j < B; j++) if (p.l[j * B + t] >= x) some += odds[t][j];
                for (size_t k = 0; k < e.n; k++) if (e.shift[k] >= x) all += e.prob[k];
                CHECK_LE(some < 1 ? some : 1, all * (1 + 1e-9));
            }
            mcamp__path_next(&p);
        }
        for (int n = 0; n < N * (B + 1); n++) {
            int truth = n % (B + 1);            /* B: Q */
            double like[B], y[B];
            for (int j = 0; j < B; j++) like[j] = 0;
            for (int t = 0; t < B; t++) {
                double all = 0, u = sqrt(-2 * log(mcamp_rng_uniform(&rng)));
                for (int j = 0; j < B; j++) all += exp(like[j]);
                for (int i = t; i < B; i++)
                    far[truth == B][t][i] += exp(like[i]) > all * odds[t][i];
                y[t] = u * cos(8 * atan(1.0) * mcamp_rng_uniform(&rng)) +
                       (truth < B ? p.l[truth * B + t] : 0);
                for (int j = t; j < B; j++)
                    like[j] += p.l[j * B + t] * (y[t] - 0.5 * p.l[j * B + t]);
            }
        }
        for (int q = 0; q < 2; q++)
            for (int t = 0; t < B; t++)
                for (int i = t; i < B; i++) {
                    double n = N * (q ? 1 : B);
                    CHECK_LE(far[q][t][i] / n, level + 6.1 * sqrt(level / n));
                    if (!t) CHECK_NEAR(odds[t][i], 0.2, 1e-6, 0);
                    else    CHECK(odds[t][i] < 1 || kind);
                }
        mcamp__delete_doubles(&ctx, p.l, p.words);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* Any C by simulation (error rate 1e-9), where C = I has an answer without. */
TEST(simulated_curves_bound_the_exact_ones)
{
    mcamp_mech mech;
    mcamp_mech_desc md;
    mcamp_gram g;
    mcamp_event e = bins(16, 4, 2, 1), f[2];
    mcamp_exact_info info;
    mcamp_interval v, w, rem[24], add[24];
    double eps[24], up[2][24], one[2];
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_IDENTITY; md.n = 64;
    for (int i = 0; i < 24; i++) eps[i] = 0.15 * i;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &mech), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &mech, 16, &g), MCAMP_OK);
    CHECK_STATUS(mcamp_simulated_curve(&ctx, &g, 2, eps, 24, 1, 10, 1e-9, up[0], up[1]),
                 MCAMP_OK);
    CHECK_STATUS(mcamp_exact_curve(&ctx, &e, 1, NULL, eps, 24, rem, add), MCAMP_OK);
    for (int i = 0; i < 24; i++) {
        CHECK_LE(rem[i].lower, up[0][i]);
        CHECK_LE(add[i].lower, up[1][i]);
        if (rem[i].upper > 1e-6) CHECK_LE(up[0][i], 2 * rem[i].upper);
        if (add[i].upper > 1e-6) CHECK_LE(up[1][i], 2 * add[i].upper);
    }
    f[0] = simple(MCAMP_EVENT_CURVE, 0, 1);
    f[0].n = 24; f[0].shift = eps; f[0].prob = up[0]; f[0].prob2 = up[1]; f[0].beta = 1e-9;
    f[1] = poisson(0.01, 1.5, 300);
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, f, 2, NULL, 1e-5, &v, &info), MCAMP_Q_MAX_ITER);
    CHECK_NEAR(info.beta, 1e-9, 0, 0);
    f[0] = e;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, f, 2, NULL, 1e-5, &w, NULL), MCAMP_OK);
    CHECK_LE(w.lower, v.upper);
    CHECK_LE(w.upper, v.upper * (1 + 5e-3));
    CHECK_LE(v.upper, 1.25 * w.upper);
    /* the level: one point alone is bounded at beta/2, of 24 each at a 24th of that; and the
     * stream is nobody else's                                                             */
    CHECK_STATUS(mcamp_simulated_curve(&ctx, &g, 2, eps + 4, 1, 1, 10, 1e-9 / 24, one, one + 1),
                 MCAMP_OK);
    CHECK_NEAR(one[0], up[0][4], 1e-12, 0);
    CHECK_NEAR(one[1], up[1][4], 1e-12, 0);
    {
        mcamp_sampler_desc d;
        mcamp_sampler s;
        mcamp_tally t;
        memset(&d, 0, sizeof d);
        memset(&t, 0, sizeof t);
        d.direction = MCAMP_REMOVE; d.sigma = 2; d.eps = eps[4];
        CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &d, &s), MCAMP_OK);
        CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 1, 0, 10, &t), MCAMP_OK);
        CHECK(fabs(mcamp_tally_upper(&t, 1e-9 / 48) / up[0][4] - 1) > 1e-9);
        memset(&t, 0, sizeof t);
        {                                   /* the same sampler on the curve's stream */
            mcamp__workers w1;
            CHECK_STATUS(mcamp__workers_init(&ctx, s.impl, &w1), MCAMP_OK);
            mcamp__tally_init(s.impl, &t);
            CHECK_STATUS(mcamp__run_blocks(&ctx, s.impl, &w1, 1,
                ((uint32_t)MCAMP__STREAM_CURVE << 16) | (uint32_t)s.impl->dir, 0, 10, &t),
                MCAMP_OK);
            CHECK_NEAR(mcamp_tally_upper(&t, 1e-9 / 48), up[0][4], 0, 0);
            mcamp__workers_free(&ctx, &w1);
        }
        mcamp_sampler_free(&ctx, &s);
    }
    up[0][0] = up[1][0] = 7;
    CHECK_STATUS(mcamp_simulated_curve(&ctx, &g, 2, eps, 24, 1, 0, 1e-9, up[0], up[1]),
                 MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_simulated_curve(&ctx, &g, 2, eps, 24, 1, 1, 0, up[0], up[1]), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_simulated_curve(&ctx, &g, 2, NULL, 24, 1, 1, 0.1, up[0], up[1]),
                 MCAMP_E_REQUIRED);
    CHECK_NEAR(up[0][0], 7, 0, 0);
    CHECK_STATUS(mcamp_simulated_curve(&ctx, NULL, 2, eps, 24, 1, 1, 0.1, up[0], up[1]),
                 MCAMP_E_REQUIRED);
    CHECK_NEAR(up[0][0], 1, 0, 0);
    mcamp_gram_free(&ctx, &g);
    mcamp_mech_free(&ctx, &mech);
}

/* ---- memory and bad input -------------------------------------------------------------------- */

static mcamp_status everything(mcamp_ctx *c, void *user)
{
    static const double p[2] = { 0.6, 0.4 }, q[2] = { 0.4, 0.6 };
    double gram[4] = { 1, 0.5, 0.5, 1 }, eps[2] = { 0, 1 }, up[2], down[2];
    mcamp_event e[5];
    mcamp_exact_desc d;
    mcamp_interval v;
    mcamp_gram g;
    mcamp_status st;
    (void)user;
    if ((st = mcamp_gram_from_matrix(c, gram, 2, &g)) < 0) return st;
    st = mcamp_simulated_curve(c, &g, 1, eps, 2, 1, 1, 0.01, up, down);
    mcamp_gram_free(c, &g);
    if (st < 0) return st;
    memset(&d, 0, sizeof d);
    d.rel_error = 0.1;
    d.direction = MCAMP_REMOVE;
    e[0] = poisson(0.1, 3, 10);
    e[0].kind = MCAMP_EVENT_TRUNCATED; e[0].batch = 3; e[0].population = 20;
    e[1] = pair(p, q, 2, 3);
    e[2] = simple(MCAMP_EVENT_SAMPLED, 0, 1);
    e[2].n = 2; e[2].shift = p; e[2].prob = q; e[2].beta = 0.5;
    e[3] = simple(MCAMP_EVENT_CURVE, 0, 1);
    e[3].n = 2; e[3].shift = eps; e[3].prob = up; e[3].prob2 = down;
    e[4] = bins(4, 1, 3, 2);
    st = mcamp_exact_delta(c, e, 4, &d, 1, &v, NULL);
    return st > 0 ? MCAMP_OK : st;
}
TEST(every_failed_allocation_is_survived)
{
    if (!mt_quick()) CHECK(mt_all_faults("compose", everything, NULL) > 10);
}

TEST(bad_input_is_refused)
{
    double p[2] = { 0.5, 0.5 }, q[2] = { 0.5, 0.4 };
    mcamp_interval v = { 7, 7 };
    mcamp_event e = pair(p, q, 2, 1), s;
    double x = 7;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 1, &v, NULL), MCAMP_E_ARG);
    q[1] = 0.5; p[0] = -0.5;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 1, &v, NULL), MCAMP_E_ARG);
    p[0] = mcamp__nan();
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 1, &v, NULL), MCAMP_E_NONFINITE);
    e.prob = NULL;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 1, &v, NULL), MCAMP_E_REQUIRED);
    e = pair(q, q, 0, 1);
    CHECK(mcamp_exact_delta(&ctx, &e, 1, NULL, 1, &v, NULL) < 0);
    s = simple(MCAMP_EVENT_SAMPLED, 0, 1);
    s.n = 2; s.shift = p; s.prob = q; s.beta = 0.1;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &s, 1, NULL, 1, &v, NULL), MCAMP_E_NONFINITE);
    p[0] = 1e10;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &s, 1, NULL, 1, &v, NULL), MCAMP_E_ARG);
    p[0] = 0;
    s.prob = NULL;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &s, 1, NULL, 1, &v, NULL), MCAMP_E_REQUIRED);
    s.prob = q; s.n = 0;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &s, 1, NULL, 1, &v, NULL), MCAMP_E_SIZE);
    s.n = 2; s.beta = 0;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &s, 1, NULL, 1, &v, NULL), MCAMP_E_ARG);
    s = simple(MCAMP_EVENT_CURVE, 0, 1);
    s.n = 1; s.shift = s.prob = s.prob2 = q; s.beta = 1;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &s, 1, NULL, 1, &v, NULL), MCAMP_E_ARG);
    s.beta = -0.1;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &s, 1, NULL, 1, &v, NULL), MCAMP_E_ARG);
    s.beta = 0.1;
    CHECK_STATUS(mcamp_exact_calibrate(&ctx, &s, 1, NULL, 0, MCAMP_PARAM_SIGMA, 1, 0.2, &x, NULL),
                 MCAMP_E_ARG);
    CHECK_NEAR(v.upper, 7, 0, 0);
    CHECK_NEAR(x, 7, 0, 0);
}

static const mt_case cases[] = {
    T(finite_pairs_against_enumeration),
    T(pairs_of_two_outcomes),
    T(random_compositions_against_a_lattice),
    T(equal_questions_have_equal_answers),
    T(binomial_bounds_hold),
    T(a_band_of_a_sampled_law),
    T(samples_bound_a_known_mechanism),
    T(levels_are_carried_into_every_answer),
    T(laws_of_bins_have_the_moments_of_bins), T(complex_gamma),
    T(atom_far_out_of_no_mass), T(composed_bins_that_are_wide_say_so),
    T(laws_of_far_bins_against_one_use), T(laws_of_far_bins_where_sums_are_small),
    T(hopeless_directions_are_below_what_is_said), T(what_would_take_long_is_left),
    T(sums_far_out_against_a_stronger_tilt),
    T(laws_of_far_bins_against_curves),
    T(laws_of_far_bins_against_chords),
    T(transform_of_bins_beyond_the_last_frequency), T(piles_that_reach_too_far_are_refused),
    T(piles_on_fewer_points_hold_the_old_ones), T(piles_are_added_as_closely_as_points_lie),
    T(bins_that_are_far_together), T(deltas_far_below_the_first_guess),
    T(an_epsilon_that_moments_do_not_find), T(a_grid_of_cells_that_swallow_losses),
    T(bins_that_are_far_together_by_transforms),
    T(laws_on_equal_points_against_one_use), T(laws_on_equal_points_have_no_more_than_all),
    T(laws_of_far_bins_of_long_modes),
    T(uses_on_a_grid), T(ends_of_a_grid_are_on_the_safe_side),
    T(products_of_masses), T(squares_of_masses),
    T(what_is_known_outlives_a_run_that_fails), T(long_modes_in_composition),
    T(infinite_mass_is_not_beaten),
    T(composed_bins_against_the_fft),
    T(laws_of_many_bins_have_the_moments_of_bins), T(many_bins_against_few),
    T(composed_bins_against_a_quadrature), T(composed_bins_of_long_modes),
    T(bins_compose),
    T(replaced_examples_by_quadrature),
    T(replaced_examples_compose),
    T(replaced_in_bins_by_conversion),
    T(picks_by_quadrature),
    T(picks_by_simulation),
    T(picks_from_one_to_all),
    T(allocated_guarantees_are_the_events),
    T(allocated_sessions_keep_to_their_guarantee),
    T(certain_sigmas_are_enough),
    T(loose_points_of_a_curve_are_no_harm), T(what_a_curve_has_far_out_is_no_more_than_delta),
    T(no_law_from_below_has_more_than_all),
    T(a_split_has_the_modes_as_a_part),
    T(odds_on_the_way_are_bounded),
    T(simulated_curves_bound_the_exact_ones),
    T(every_failed_allocation_is_survived),
    T(bad_input_is_refused)
};

int main(int argc, char **argv)
{
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 1;
    return mt_run("compose", cases, sizeof cases / sizeof cases[0], argc, argv);
}
