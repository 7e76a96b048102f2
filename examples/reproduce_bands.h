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
