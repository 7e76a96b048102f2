/* Exact accountants: seconds, accuracy and memory, and how many times faster than a
 * straightforward accountant, which is kept here: the privacy loss of one step on a
 * uniform grid, every mass split between its two neighbours so that e^-loss keeps its
 * mean (the sharper of the usual roundings), self-composition by repeated squaring
 * with direct convolutions, tails below 1e-16 cut into infinite loss.
 *     cc -O2 bench/bench_exact.c -o build/bench_exact -lm && build/bench_exact       */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include <stdio.h>
#include <time.h>

static mcamp_ctx ctx;

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* ---- the baseline ------------------------------------------------------------------ */

typedef struct grid { double *p, step, inf; long lo, n; size_t bytes; } grid;

static double cdf(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

/* One step of the Poisson-sampled Gaussian, remove direction: losses k*step. */
static grid one_step(double q, double sigma, double step)
{
    grid g;
    double a = 1 / sigma, top = log1p(q * expm1(a * (a + 9) - a * a / 2));
    g.step = step;
    g.lo = (long)floor(log1p(-q) / step);
    g.n = (long)ceil(top / step) - g.lo + 2;
    g.p = (double *)calloc((size_t)g.n, sizeof(double));
    g.inf = 0;
    g.bytes = (size_t)g.n * sizeof(double);
    double p0 = 0, q0 = 0;
    for (long k = 0; k + 1 < g.n; k++) {        /* cell of losses (lo+k, lo+k+1] * step */
        double l0 = (double)(g.lo + k) * step, l1 = l0 + step, x, p1, q1, P, Q, f;
        double y = (expm1(l1) + q) / q;
        x = y > 0 ? log(y) / a + a / 2 : -40;
        q1 = cdf(x);
        p1 = (1 - q) * q1 + q * cdf(x - a);
        P = p1 - p0; Q = q1 - q0;
        p0 = p1; q0 = q1;
        f = (P - Q * exp(l0)) / -expm1(-step);
        if (f < 0) f = 0;
        if (f > P) f = P;
        g.p[k + 1] += f;
        g.p[k] += P - f;
    }
    g.inf = 1 - p0;
    return g;
}

static void trim(grid *g)
{
    double s = 0;
    long a = 0, b = g->n;
    while (b > 1 && s + g->p[b - 1] < 1e-16) s += g->p[--b];
    g->inf += s;
    s = 0;
    while (a + 1 < b && s + g->p[a] < 1e-16) s += g->p[a++];
    g->p[a] += s;                               /* small losses are rounded up */
    memmove(g->p, g->p + a, (size_t)(b - a) * sizeof(double));
    g->lo += a;
    g->n = b - a;
}

static grid convolve(const grid *x, const grid *y)
{
    grid r;
    r.step = x->step; r.lo = x->lo + y->lo; r.n = x->n + y->n - 1;
    r.inf = 1 - (1 - x->inf) * (1 - y->inf);
    r.p = (double *)calloc((size_t)r.n, sizeof(double));
    r.bytes = x->bytes > (size_t)r.n * 8 ? x->bytes : (size_t)r.n * 8;
    for (long i = 0; i < x->n; i++)
        for (long j = 0; j < y->n; j++) r.p[i + j] += x->p[i] * y->p[j];
    trim(&r);
    return r;
}

static grid power(grid g, uint64_t count)
{
    grid r = { NULL, 0, 0, 0, 0, 0 }, t;
    for (; count; count >>= 1) {
        if (count & 1) {
            if (!r.p) {
                r = g;
                r.p = (double *)malloc((size_t)g.n * 8);
                memcpy(r.p, g.p, (size_t)g.n * 8);
            } else {
                t = convolve(&r, &g);
                free(r.p);
                r = t;
            }
        }
        if (count > 1) { t = convolve(&g, &g); free(g.p); g = t; }
    }
    free(g.p);
    return r;
}

static double grid_epsilon(const grid *g, double delta)
{
    double lo = 0, hi = 1000;
    for (int i = 0; i < 60; i++) {
        double e = 0.5 * (lo + hi), d = g->inf;
        for (long k = 0; k < g->n; k++) {
            double l = (double)(g->lo + k) * g->step;
            if (l > e) d -= g->p[k] * expm1(e - l);
        }
        if (d > delta) lo = e; else hi = e;
    }
    return hi;
}

/* ---- the comparison --------------------------------------------------------------------- */

static mcamp_event poisson(double q, double sigma, double count)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.q = q; e.sigma = sigma; e.count = (uint64_t)count;
    return e;
}

/* Time of one call, repeated until it is measurable. */
static double time_epsilon(const mcamp_event *e, double delta, double tol,
                           mcamp_interval *v, mcamp_exact_info *info)
{
    mcamp_exact_desc d;
    double t = seconds();
    int n = 0;
    memset(&d, 0, sizeof d);
    d.rel_error = tol;
    d.max_bytes = 4000000000u;
    do {
        mcamp_exact_epsilon(&ctx, e, 1, &d, delta, v, info);
        n++;
    } while (seconds() - t < 0.1);
    return (seconds() - t) / n;
}

static void compare(double q, double sigma, double count, double delta, double step)
{
    mcamp_event e = poisson(q, sigma, count);
    mcamp_interval v, exact;
    mcamp_exact_info info;
    double t, tb, eb, err;
    grid g;
    time_epsilon(&e, delta, 1e-6, &exact, &info);
    t = seconds();
    g = power(one_step(q, sigma, step), (uint64_t)count);
    eb = grid_epsilon(&g, delta);
    tb = seconds() - t;
    err = eb / exact.upper - 1;
    /* ours: both directions, upper and lower bound, at 1e-4 */
    t = time_epsilon(&e, delta, 1e-4, &v, &info);
    printf("q %-7g sigma %-4g T %-6g | direct: eps %.6f, %.1e above, %7.3f s, %8.1f KB | "
           "interval %.1e wide, %.4f s, %6.1f KB | %6.0f times faster\n", q, sigma, count, eb,
           err, tb, (double)g.bytes / 1e3, (v.upper - v.lower) / v.upper, t,
           (double)info.bytes / 1e3, tb / t);
    free(g.p);
}

static void show(const char *name, const mcamp_event *e, double delta)
{
    mcamp_interval v = { 0, 0 };
    mcamp_exact_info info;
    double t = time_epsilon(e, delta, 1e-4, &v, &info);
    printf("%-44s eps in [%.7g, %.7g], %.4f s, %8.3f MB\n", name, v.lower, v.upper, t,
           (double)info.bytes / 1e6);
}

static void calibrate(const char *name, mcamp_event e, double eps, double delta)
{
    double s = 0, t = seconds();
    int n = 0;
    do {
        mcamp_exact_calibrate(&ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, eps, delta, &s, NULL);
        n++;
    } while (seconds() - t < 0.2);
    printf("%-44s sigma %.7g (certified to 1e-4), %.4f s\n", name, s, (seconds() - t) / n);
}

int main(void)
{
    mcamp_event e;
    mcamp_ctx_init(&ctx, NULL);
    printf("-- against direct convolution (one direction, upper bound only) --\n");
    compare(0.01, 1.0, 1000, 1e-6, 2e-3);
    compare(0.01, 1.0, 1000, 1e-6, 5e-4);
    compare(0.01, 2.0, 2000, 1e-6, 5e-4);
    compare(0.1, 3.0, 200, 1e-6, 1e-3);
    printf("-- calibration, eps = 1 .. 8, delta = 1e-6 --\n");
    for (double eps = 1; eps <= 8; eps *= 2) {
        char name[60];
        snprintf(name, sizeof name, "DP-SGD q = 1000/342477, T = 2052, eps = %g", eps);
        calibrate(name, poisson(1000 / 342477.0, 1, 2052), eps, 1e-6);
    }
    printf("-- size --\n");
    e = poisson(1e-3, 1, 1e6);
    show("1e6 compositions, q = 1e-3, sigma = 1", &e, 1e-6);
    e = poisson(1e-3, 20, 1e7);
    show("1e7 compositions, q = 1e-3, sigma = 20", &e, 1e-10);
    e = poisson(0.01, 136, 2000);
    show("eps = 0.01: q = 0.01, sigma = 136, T = 2000", &e, 1e-6);
    e = poisson(0.01, 1e4, 2000);
    show("eps = 1e-4: q = 0.01, sigma = 1e4, T = 2000", &e, 1e-6);
    e = poisson(0.01, 1, 2000);
    e.kind = MCAMP_EVENT_GROUP_POISSON;
    e.group = 32;
    show("group of 32, q = 0.01, sigma = 1, T = 2000", &e, 1e-6);
    e.sigma = 4;
    show("group of 32, q = 0.01, sigma = 4, T = 2000", &e, 1e-6);
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_BINS;
    e.count = 1; e.bins = 128; e.rounds = 16; e.sigma = 3.353695956162738;
    show("balls in bins, C = I, b = 128, 16 epochs", &e, 1e-5);
    e.count = 4;
    show("the same four times", &e, 1e-5);
    return 0;
}
