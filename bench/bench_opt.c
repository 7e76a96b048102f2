/* How long do 300 gradient steps of log sigma + log error take?  Balls in bins, eps = 1,
 * delta = 1e-5, prefix sums, E epochs of b batches: the nine settings for which [1]
 * reports 312 to 3595 seconds on a V100 (quoted, not measured here).  C is a BLT of 4
 * buffers.  One step: sigma to a standard error of about half a percent (5% of delta;
 * 2^17 plain samples, of which 1.3 are decisive, give 87%), the edge matrix, error and
 * both gradients.  Second table: time and error of whole optimisations, sigma to 1% of
 * delta and its bounds included.                                                       */
#include "bench_common.h"

static mcamp_ctx ctx;

static mcamp_opt_desc setting(size_t epochs, size_t b, double eps)
{
    mcamp_opt_desc d;
    memset(&d, 0, sizeof d);
    d.family = MCAMP_OPT_BLT;
    d.buffers = 4;
    d.amplification = MCAMP_AMPLIFY_BINS;
    d.n = epochs * b;
    d.batches = b;
    d.eps = eps;
    d.delta = 1e-5;
    return d;
}

/* 300 evaluations at points around the start, as a line search would ask for. */
static double steps(size_t epochs, size_t b)
{
    mcamp_opt_desc d = setting(epochs, b, 1), r;
    mcamp_work_desc wd;
    mcamp_work work;
    mcamp__opt o;
    double x[8], y[8], g[8], f, start;
    memset(&wd, 0, sizeof wd);
    wd.n = d.n;
    bench_check(&ctx, "workload", mcamp_work_init(&ctx, &wd, &work));
    bench_check(&ctx, "arguments", mcamp__opt_resolve(&ctx, &d, &r));
    bench_check(&ctx, "memory", mcamp__opt_init(&ctx, &r, &work, &o));
    bench_check(&ctx, "start", mcamp__opt_start(&ctx, &o, x));
    o.noise.bud.rel_error = 0.05;
    start = bench_seconds();
    for (int k = 0; k < 300; k++) {
        for (size_t i = 0; i < 8; i++) y[i] = x[i] + 0.05 * sin((double)k * (double)(i + 1));
        bench_check(&ctx, "step", mcamp__opt_eval(&o, y, &f, g));
    }
    start = bench_seconds() - start;
    mcamp__opt_free(&ctx, &o);
    mcamp_work_free(&ctx, &work);
    return start;
}

static void whole(double eps, size_t buffers, size_t degree)
{
    mcamp_opt_desc d = setting(16, 128, eps);
    mcamp_opt_result r;
    mcamp_mech m;
    double t = bench_seconds();
    d.family = buffers ? MCAMP_OPT_BLT : MCAMP_OPT_TOEPLITZ;
    d.buffers = buffers;
    d.scale_degree = degree;
    bench_check(&ctx, "optimum", mcamp_opt_run(&ctx, &d, &m, &r));
    t = bench_seconds() - t;
    printf("%4g  %-12s %-8s  %8.3f  %8.2f  %4d\n", eps, buffers ? "BLT 2" : "Toeplitz",
           degree ? "cubic" : "none", r.rmse, t, (int)r.evaluations);
    mcamp_mech_free(&ctx, &m);
}

int main(void)
{
    static const double eps[3] = { 0.5, 2, 8 };
    bench_start(&ctx);
    printf("300 gradient steps, processor seconds of one core\n   E     b   seconds\n");
    for (size_t e = 16; e <= 64; e *= 2)
        for (size_t b = 32; b <= 128; b *= 2)
            printf("%4d  %4d  %8.2f\n", (int)e, (int)b, steps(e, b));
    printf("\noptima at E = 16, b = 128\n eps  family       factors      rmse   seconds  "
           "evaluations\n");
    for (int i = 0; i < 3; i++) {
        whole(eps[i], 2, 0);
        whole(eps[i], 2, 3);
    }
    whole(2, 0, 0);
    return 0;
}
