/* Banded factorisations that several papers' figures share: optimal matrices, their errors,
 * noise multipliers under cyclic Poisson sampling.                                     */
#ifndef REPRODUCE_BANDS_H
#define REPRODUCE_BANDS_H

#include "reproduce_frame.h"

typedef struct band_of {
    size_t n, b, bands;         /* bands 0: all                                 */
    bool equal;                 /* columns of one norm                          */
    double tolerance;
    size_t steps;               /* at most; 0: until it stops                   */
    mcamp_mech m;               /* if `keep`                                    */
    bool keep;
    const mcamp_mech *start;    /* NULL: chosen                                 */
    double error;               /* |A C^-1|_F/sqrt(n) at sensitivity 1 ((n/b, b)) */
    double unit;                /* the same at largest column norm 1            */
    double least;               /* no such C has a smaller error; 0: not known  */
    size_t done;                /* steps                                        */
} band_of;

/* Minimises the error of prefix sums without amplification. */
TOOL_FN void solve_bands(report *r, mcamp_ctx *ctx, band_of *o)
{
    mcamp_opt_desc d;
    mcamp_opt_result res;
    mcamp_mech m;
    double norm = 1;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    memset(&res, 0, sizeof res);
    d.family = o->bands == 1 ? MCAMP_OPT_IDENTITY : MCAMP_OPT_BANDED;
    d.amplification = MCAMP_AMPLIFY_NONE;
    d.rounds = o->n;
    d.batches = o->b;
    d.bands = o->bands == 1 ? 0 : o->bands;
    d.equal_norms = o->equal && o->bands != 1;
    d.eps = 1;
    d.delta = 1e-6;
    d.tolerance = o->tolerance;
    d.max_iterations = o->steps;
    d.start = o->start;
    if (!did(r, ctx, mcamp_opt_run(ctx, &d, &m, &res)) ||
        !did(r, ctx, mcamp_mech_max_norm(ctx, &m, &norm))) return;
    o->error = res.unit.rmse * res.sensitivity;
    o->unit = res.unit.rmse * norm;
    o->least = res.least > 0 ? res.least * o->error / res.rmse : 0;
    o->done = res.iterations;
    if (o->keep) o->m = m;
    else mcamp_mech_free(ctx, &m);
}

/* ---- from few rounds to many ---------------------------------------------------------------
 * An optimum for n/f rounds, b/f apart, tells nearly what that for n and b is: beside the
 * diagonals at multiples of b, where it does not change with n, C falls off as the square-root
 * matrix does, s_|d| in distance d; its quotient by s is smooth, and is interpolated.       */

typedef struct grid_of { const double *c, *s; size_t n, b; } grid_of;

/* The quotient in row `row`, at distance d from the diagonal m b below the first. */
TOOL_FN double quotient_at(const grid_of *g, long row, long m, long d)
{
    long n = (long)g->n, b = (long)g->b, lag = labs(m * b + d);
    if (row < lag) row = lag;
    if (row >= n) row = n - 1;
    if (lag > row) lag = row;
    return g->c[(size_t)(row * n + row - lag)] / g->s[labs(lag - m * b)];
}

TOOL_FN double grown_entry(const grid_of *g, size_t f, size_t i, size_t lag)
{
    long b = (long)(g->b * f), m = ((long)lag + b / 2) / b, d = (long)lag - m * b;
    double row = ((double)i + 0.5) / (double)f - 0.5, at = (double)d / (double)f;
    double r0 = floor(row), d0 = floor(at), x = row - r0, y = at - d0;
    return g->s[labs(d)] *
           ((1 - x) * ((1 - y) * quotient_at(g, (long)r0, m, (long)d0) +
                       y * quotient_at(g, (long)r0, m, (long)d0 + 1)) +
            x * ((1 - y) * quotient_at(g, (long)r0 + 1, m, (long)d0) +
                 y * quotient_at(g, (long)r0 + 1, m, (long)d0 + 1)));
}

/* `from`, of n/f rounds, for n; free it. */
TOOL_FN void grow_bands(report *r, mcamp_ctx *ctx, const band_of *o, size_t f,
                        const mcamp_mech *from, mcamp_mech *out)
{
    size_t n = o->n, small = n / f;
    double *s = numbers_of(n), *c = numbers_of(small * small), *fine = numbers_of(n * n);
    grid_of g = { c, s, small, o->b / f };
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    for (size_t k = 0; k < n; k++)
        s[k] = k ? s[k - 1] * (2 * (double)k - 1) / (2 * (double)k) : 1;
    for (size_t j = 0; j < small && did(r, ctx, mcamp_mech_column(ctx, from, j, fine)); j++)
        for (size_t i = j; i < small; i++) c[i * small + j] = fine[i];
    memset(fine, 0, small * sizeof *fine);
    for (size_t i = 0; i < n; i++)
        for (size_t lag = 0; lag <= i && (!o->bands || lag < o->bands); lag++)
            fine[i * n + i - lag] = grown_entry(&g, f, i, lag);
    d.kind = MCAMP_MECH_DENSE;
    d.n = n;
    d.coef = fine;
    d.count = n * n;
    if (!r->failed) did(r, ctx, mcamp_mech_init(ctx, &d, out));
    free(s);
    free(c);
    free(fine);
}

/* The factor by which a coarser run has fewer rounds: the least prime of b, which divides n; 0
 * where bins would be too few to interpolate between.                                     */
TOOL_FN size_t coarser(const band_of *o)
{
    for (size_t f = 2; o->b / f >= 8; f++)
        if (o->b % f == 0) return f;
    return 0;
}

/* solve_bands by way of runs of fewer rounds, `levels` deep at most. */
TOOL_FN void solve_grown(report *r, mcamp_ctx *ctx, band_of *o, int levels)
{
    size_t f = levels ? coarser(o) : 0;
    band_of small;
    mcamp_mech start;
    memset(&start, 0, sizeof start);
    if (f) {
        small = *o;
        small.n = o->n / f;
        small.b = o->b / f;
        small.bands = (o->bands + f - 1) / f;
        small.keep = true;
        small.tolerance = 1e-5;
        small.steps = levels > 1 ? 50 : 150;
        solve_grown(r, ctx, &small, levels - 1);
        if (!r->failed) grow_bands(r, ctx, o, f, &small.m, &start);
        mcamp_mech_free(ctx, &small.m);
        o->start = &start;
    }
    if (!r->failed) solve_bands(r, ctx, o);
    o->start = NULL;
    mcamp_mech_free(ctx, &start);
}

TOOL_FN void bands_task(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    solve_bands(r, ctx, (band_of *)arg + i);
}

/* sigma for columns of norm 1: ceil(n/bands) mechanisms, each sampled with q = bands/b; the
 * Gaussian mechanism of that many where q is 1.                                        */
TOOL_FN double cyclic_sigma(report *r, mcamp_ctx *ctx, size_t n, double q, size_t bands,
                            double eps, double delta)
{
    mcamp_event e;
    double sigma = NONE, count = ceil((double)n / (double)bands);
    if (q >= 1) {
        did(r, ctx, mcamp_gauss_sigma(ctx, sqrt(count), eps, delta, &sigma));
        return sigma;
    }
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.count = (uint64_t)count;
    e.q = q;
    did(r, ctx, mcamp_exact_calibrate(ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, eps, delta, &sigma,
                                      NULL));
    return sigma;
}

#endif
