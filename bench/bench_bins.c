/* C = I (balls in bins with one band): how wide the intervals are and how long they take,
 * over a grid of batches, eps, sigma and uses.  Each row prints the worst and the median
 * cell of its question; cells beyond 1% or 50 ms are listed with -v.  -q: fewer cells, -c:
 * those in composition alone, -s: other sigma, uses and deltas in composition, alone.
 *     cc -O2 bench/bench_bins.c -o build/bench_bins -lm && build/bench_bins [-v] [-q] [-c] [-s] */
#include "bench_common.h"
#include <string.h>

#define MOST 4096

typedef struct row {
    const char *name;
    double width[MOST], time[MOST];
    char worst[120], slowest[120];
    size_t n, wide, slow;
} row;

static mcamp_ctx ctx;
static int verbose, quick, alone, scan;

/* width: upper/lower - 1. */
static void cell(row *r, const char *what, double width, double time)
{
    double w = 0, t = 0;
    if (r->n == MOST) return;
    for (size_t i = 0; i < r->n; i++) {
        w = r->width[i] > w ? r->width[i] : w;
        t = r->time[i] > t ? r->time[i] : t;
    }
    if (!(width <= w) || !r->n) snprintf(r->worst, sizeof r->worst, "%s", what);
    if (!(time <= t) || !r->n) snprintf(r->slowest, sizeof r->slowest, "%s", what);
    if (!(width <= 1e30)) width = 1e30;
    r->wide += width > 0.01;
    r->slow += time > 0.05;
    if (verbose && (width > 0.01 || time > 0.05))
        printf("    %s: width %.2g, %.1f ms\n", what, width, 1e3 * time);
    r->width[r->n] = width;
    r->time[r->n++] = time;
}

static void finish(row *r)
{
    if (!r->n) return;
    qsort(r->width, r->n, sizeof(double), bench_up);
    qsort(r->time, r->n, sizeof(double), bench_up);
    printf("%-34s %4zu cells, wider than 1%%: %zu, slower than 50 ms: %zu\n", r->name, r->n,
           r->wide, r->slow);
    printf("    width %.1e, worst %.1e (%s)\n", r->width[r->n / 2], r->width[r->n - 1], r->worst);
    printf("    ms %.2f, worst %.2f (%s)\n", 1e3 * r->time[r->n / 2], 1e3 * r->time[r->n - 1],
           r->slowest);
    r->n = r->wide = r->slow = 0;
}

static const double bins[] = { 2, 3, 10, 32, 128, 1000, 1e4, 1e5, 1e6 };
static const double epss[] = { 1e-4, 1e-3, 0.01, 0.1, 0.5, 1, 2, 4, 8, 16, 50, 200, 700 };
static const double deltas[] = { 1e-3, 1e-5, 1e-8, 1e-15, 1e-25 };
#define COUNT(a) (sizeof(a) / sizeof *(a))

static mcamp_event event(double b, double sigma, double uses)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_BINS;
    e.bins = (uint64_t)b;
    e.rounds = 1;
    e.count = (uint64_t)uses;
    e.sigma = sigma;
    return e;
}

/* delta, direction by direction, and eps at that delta. */
static void questions(row *r, double b, double eps, double sigma)
{
    static const mcamp_direction dirs[3] = { MCAMP_BOTH, MCAMP_REMOVE, MCAMP_ADD };
    mcamp_event e = event(b, sigma, 1);
    mcamp_interval v = { 0, 1 }, w = { 0, 0 };
    mcamp_exact_desc d;
    char what[120];
    double t;
    memset(&d, 0, sizeof d);
    d.rel_error = 5e-3;
    for (int i = 0; i < 3; i++) {
        d.direction = dirs[i];
        t = bench_seconds();
        bench_check(&ctx, "delta", mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL));
        t = bench_seconds() - t;
        snprintf(what, sizeof what, "b %g, eps %g, sigma %g: delta %.3g .. %.3g", b, eps, sigma,
                 v.lower, v.upper);
        if (v.upper < 1e-40) { if (!i) return; continue; }
        cell(&r[i], what, v.upper / v.lower - 1, t);
        if (i) continue;
        t = bench_seconds();
        if (mcamp_exact_epsilon(&ctx, &e, 1, &d, 0.999 * v.upper, &w, NULL) < 0) continue;
        t = bench_seconds() - t;
        snprintf(what, sizeof what, "b %g, sigma %g, delta %.3g: eps %.6g .. %.6g", b, sigma,
                 v.upper, w.lower, w.upper);
        if (v.upper < 0.99) cell(&r[3], what, w.upper / w.lower - 1, t);
    }
}

/* sigma: what the first call says against delta's lower end a little below it. */
static void sigmas(row *r, double b, double eps, double delta)
{
    mcamp_event e = event(b, 1, 1);
    mcamp_interval v = { 0, 0 };
    mcamp_exact_desc d;
    char what[120];
    double s = 0, t = bench_seconds();
    mcamp_status st;
    memset(&d, 0, sizeof d);
    d.rel_error = 2e-3;
    st = mcamp_exact_calibrate(&ctx, &e, 1, &d, 0, MCAMP_PARAM_SIGMA, eps, delta, &s, NULL);
    t = bench_seconds() - t;
    snprintf(what, sizeof what, "b %g, eps %g, delta %g: sigma %.6g (%d)", b, eps, delta, s,
             (int)st);
    if (st < 0) { cell(&r[4], what, 1e30, t); return; }
    e.sigma = 0.99 * s;
    bench_check(&ctx, "delta", mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL));
    cell(&r[4], what, v.lower > delta ? 5e-3 : 1, t);
}

/* Through a Gram matrix: mcamp_sigma and the certificate. */
static void grams(row *r, double b, double eps, double delta)
{
    mcamp_gram g;
    mcamp_answer a;
    mcamp_claim c;
    mcamp_guarantee p;
    char what[120];
    double t;
    memset(&g, 0, sizeof g);
    memset(&c, 0, sizeof c);
    bench_gram(&ctx, 1, 4, (size_t)b, &g);
    t = bench_seconds();
    bench_check(&ctx, "sigma", mcamp_sigma(&ctx, &g, eps, delta, NULL, &a));
    t = bench_seconds() - t;
    snprintf(what, sizeof what, "b %g, eps %g, delta %g: sigma %.6g (%s)", b, eps, delta, a.sigma,
             mcamp_strerror(a.status));
    cell(&r[5], what, a.status ? 1 : a.std_error / a.sigma, t);
    c.eps = eps; c.delta = delta; c.beta = delta < 1e-3 ? delta : 1e-3;
    t = bench_seconds();
    bench_check(&ctx, "certify", mcamp_calibrate_certified(&ctx, &g, &c, &p));
    t = bench_seconds() - t;
    cell(&r[6], what, p.samples ? 1 : p.sigma / a.sigma - 1 + a.std_error / a.sigma, t);
    mcamp_gram_free(&ctx, &g);
}

/* eps at delta, and delta there; none beyond an eps of 700. */
static void composed(row *r, double b, double sigma, double uses, double delta)
{
    mcamp_event e = event(b, sigma, uses);
    mcamp_interval v = { 0, 0 };
    mcamp_exact_desc d;
    char what[120];
    double t = bench_seconds(), eps;
    mcamp_status st;
    memset(&d, 0, sizeof d);
    d.rel_error = 5e-3;
    st = mcamp_exact_epsilon(&ctx, &e, 1, &d, delta, &v, NULL);
    t = bench_seconds() - t;
    snprintf(what, sizeof what, "b %g, sigma %g, %g uses, delta %g: eps %.6g .. %.6g", b, sigma,
             uses, delta, v.lower, v.upper);
    if (v.upper > 700) return;
    if (st < 0 && mcamp_exact_delta(&ctx, &e, 1, &d, 700, &v, NULL) >= 0 && v.lower > delta) return;
    if (st < 0 || v.upper > 0.02) cell(&r[0], what, st < 0 ? 1e30 : v.upper / v.lower - 1, t);
    if (st < 0) return;
    eps = v.upper;
    t = bench_seconds();
    st = mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL);
    t = bench_seconds() - t;
    snprintf(what, sizeof what, "b %g, sigma %g, %g uses, eps %g: delta %.6g .. %.6g", b, sigma,
             uses, eps, v.lower, v.upper);
    cell(&r[1], what, st < 0 ? 1e30 : v.upper / v.lower - 1, t);
}

int main(int argc, char **argv)
{
    static row r[13];
    static const char *names[13] = { "delta, both", "delta, remove", "delta, add", "eps",
                                    "sigma, exact", "sigma, Gram matrix", "certificate",
                                    "composed, delta 1e-6: eps", "its delta",
                                    "composed, delta 1e-15: eps", "its delta",
                                    "composed, other cells: eps", "its delta" };
    static const double mus[] = { 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1, 1.5, 2, 3, 4, 6, 10, 15, 18,
                                  22, 30, 40, 60 };
    static const double uses[] = { 2, 10, 100 }, others[] = { 2, 3, 5, 20, 50, 150 };
    static const double sigma[] = { 4, 2.5, 1.8, 1.2, 0.9, 0.8, 0.6, 0.45, 0.35, 0.28, 0.22, 0.18,
                                    0.14, 0.12 };
    static const double rare[] = { 1e-6, 1e-10, 1e-15 };
    for (int i = 1; i < argc; i++) {
        verbose |= !strcmp(argv[i], "-v");
        quick |= !strcmp(argv[i], "-q");
        alone |= !strcmp(argv[i], "-c");
        scan |= !strcmp(argv[i], "-s");
    }
    bench_start(&ctx);
    for (int i = 0; i < 13; i++) r[i].name = names[i];
    for (size_t i = 0; i < COUNT(bins) && !alone && !scan; i += quick ? 3 : 1)
        for (size_t j = 0; j < COUNT(epss); j += quick ? 2 : 1) {
            for (size_t k = 0; k < COUNT(mus); k += quick ? 2 : 1)
                questions(r, bins[i], epss[j], 1 / mus[k]);
            for (size_t k = 0; k < COUNT(deltas); k += quick ? 2 : 1) {
                sigmas(r, bins[i], epss[j], deltas[k]);
                if (bins[i] <= 1e5) grams(r, bins[i], epss[j], deltas[k]);
            }
        }
    for (size_t i = 0; i < COUNT(bins) && !scan; i += quick ? 3 : 1)
        for (size_t k = 4; k < COUNT(mus) - 2; k += quick ? 3 : 1)
            for (size_t j = 0; j < COUNT(uses); j++) {
                composed(r + 7, bins[i], 1 / mus[k], uses[j], 1e-6);
                composed(r + 9, bins[i], 1 / mus[k], uses[j], 1e-15);
            }
    for (size_t i = 0; i < COUNT(bins) && scan; i += quick ? 3 : 1)
        for (size_t k = 0; k < COUNT(sigma); k += quick ? 3 : 1)
            for (size_t j = 0; j < COUNT(others); j++)
                for (size_t l = 0; l < COUNT(rare); l++)
                    composed(r + 11, bins[i], sigma[k], others[j], rare[l]);
    for (int i = 0; i < 13; i++) finish(&r[i]);
    return 0;
}
