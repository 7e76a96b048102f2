/* How long do 300 gradient steps of log sigma + log error take?  Balls in bins, eps = 1,
 * delta = 1e-5, prefix sums, E epochs of b batches: the nine settings for which [1],
 * Figure 4, reports 312 to 3595 seconds on a V100 (quoted, not measured here).  C is a BLT
 * of 4 buffers.  One step: sigma, the edge matrix, error and both gradients.
 *   Second table: how exact sigma is in such a step, as the spread over 16 seeds, and what
 * 2^17 plain samples give: the relative standard error of delta from 2^21 of them, times
 * 4, over the slope of log delta.
 *   Third: time and error of whole optimisations, sigma to 1% of delta and its bounds
 * included, and the time to within 0.5% of the best known error.  With the argument
 * "large" also 100 epochs of 1000 batches: minutes.
 *   With the argument "bands" instead: errors of banded C and their gradients, by a window of
 * C's bands and column by column, with momentum and, where C is Toeplitz, column factors.
 *   With the argument "dense" instead: dense C without amplification from its dual, and by X as
 * banded C is, with "dense large" also of 1024 and 2048 rounds, from its dual alone.
 *   With the argument "near" instead: how far above the least possible error banded and
 * dense C without amplification are, in per cent; with "worst" the same of the worst round's
 * error, up to 512 rounds (three minutes); after either "momentum": with momentum 0.9 (a
 * quarter of an hour or more).  With "families": errors of families of
 * which some contain others, and where the larger one is worse, by more than 1e-5; with
 * "families bins" those under balls in bins, by more than 5e-4.                         */
#if defined(__unix__) || defined(__APPLE__)
#  define _DEFAULT_SOURCE       /* getrusage */
#  include <sys/resource.h>
#  define BENCH_RUSAGE
#endif
#include "bench_common.h"

static mcamp_ctx ctx;

static mcamp_opt_desc setting(size_t epochs, size_t b, double eps)
{
    mcamp_opt_desc d;
    memset(&d, 0, sizeof d);
    d.family = MCAMP_OPT_BLT;
    d.buffers = 4;
    d.amplification = MCAMP_AMPLIFY_BINS;
    d.rounds = epochs * b;
    d.batches = b;
    d.eps = eps;
    d.delta = 1e-5;
    return d;
}

/* ---- steps --------------------------------------------------------------------- */

/* 300 evaluations at points around the start, as a line search would ask for. */
static double steps(size_t epochs, size_t b)
{
    mcamp_opt_desc d = setting(epochs, b, 1), r;
    mcamp_work_desc wd;
    mcamp_work work;
    mcamp__opt o;
    double x[8], y[8], g[8], f, start;
    memset(&wd, 0, sizeof wd);
    wd.n = d.rounds;
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

/* Standard error of log delta from 2^17 plain samples, the worse direction's. */
static double plain_error(const mcamp_gram *g, double sigma, double eps)
{
    mcamp_sampler_desc sd;
    mcamp_sampler s;
    mcamp_tally *t = (mcamp_tally *)calloc(1, sizeof *t);
    double e;
    memset(&sd, 0, sizeof sd);
    sd.direction = MCAMP_REMOVE;
    sd.method = MCAMP_METHOD_PLAIN;
    sd.sigma = sigma; sd.eps = eps;
    bench_check(&ctx, "sampler", mcamp_sampler_init(&ctx, g, &sd, &s));
    bench_check(&ctx, "samples", mcamp_sampler_run(&ctx, &s, 1, 0, (1u << 21) / MCAMP_BLOCK, t));
    e = 4 * mcamp_tally_std_error(t) / mcamp_tally_mean(t);
    mcamp_sampler_free(&ctx, &s);
    free(t);
    return e;
}

static void accuracy(size_t b)
{
    mcamp_opt_desc d = setting(16, b, 1), r;
    mcamp__opt o;
    mcamp_mech m;
    mcamp_gram g;
    double x[8], v = 0, sum = 0, sq = 0, plain, slope = 0;
    size_t blocks = 0;
    bench_check(&ctx, "arguments", mcamp__opt_resolve(&ctx, &d, &r));
    bench_check(&ctx, "memory", mcamp__opt_init(&ctx, &r, NULL, &o));
    bench_check(&ctx, "start", mcamp__opt_start(&ctx, &o, x));
    mcamp__opt_set(&ctx, &o.m, x);
    bench_check(&ctx, "strategy", mcamp__opt_mech(&ctx, &o.m, &m));
    bench_check(&ctx, "Gram matrix", mcamp_gram_init(&ctx, &m, b, &g));
    for (int seed = 0; seed < 16; seed++) {
        mcamp__opt_noise n = o.noise;
        n.bud.rel_error = 0.05;
        n.bud.seed = (uint64_t)seed;
        bench_check(&ctx, "sigma", mcamp__noise_eval(&ctx, &n, &g, &v, NULL));
        sum += v / 16; sq += v * v / 16;
        slope += n.slope / 16;
        blocks = (size_t)(n.s.blocks[1] + n.s.blocks[2]);
    }
    plain = plain_error(&g, exp(sum), 1) / fabs(slope);
    printf("%4d  %9.2f%%  %6d  %12.2f%%\n", (int)b, 100 * sqrt(mcamp__dmax(sq - sum * sum, 0)),
           (int)(blocks * MCAMP_BLOCK), 100 * plain);
    mcamp_gram_free(&ctx, &g);
    mcamp_mech_free(&ctx, &m);
    mcamp__opt_free(&ctx, &o);
}

/* ---- whole optimisations --------------------------------------------------------- */

typedef struct watch { double start, best, reached; } watch;

static int watching(void *user, double fraction, double value)
{
    watch *w = (watch *)user;
    (void)fraction;
    if (w->reached < 0 && value <= 1.005 * w->best) w->reached = bench_seconds() - w->start;
    return 0;
}

/* family, with the best error known (0: none). */
static void whole(mcamp_opt_desc d, size_t degree, double best)
{
    mcamp_opt_result r;
    mcamp_mech m;
    mcamp_ctx c = ctx;
    watch w;
    double t;
    w.start = bench_seconds(); w.best = best; w.reached = -1;
    c.progress.fn = watching;
    c.progress.user = &w;
    d.scale_degree = degree;
    bench_check(&c, "optimum", mcamp_opt_run(&c, &d, &m, &r));
    t = bench_seconds() - w.start;
    printf("%4g  %-9s %3d  %-6s  %9.3f  %8.2f  ", d.eps,
           d.family == MCAMP_OPT_BLT ? "BLT" : d.family == MCAMP_OPT_TOEPLITZ ? "Toeplitz"
           : "dense", (int)(d.buffers ? d.buffers : m.bands), degree ? "cubic" : "none",
           r.rmse, t);
    if (best > 0 && w.reached >= 0) printf("%8.2f", w.reached); else printf("%8s", "-");
    printf("  %6d\n", (int)r.evaluations);
    mcamp_mech_free(&ctx, &m);
}

static void table_of_families(void)
{
    static const double eps[3] = { 0.5, 2, 8 };
    static const double best[4][3] = {      /* BLT, Toeplitz, the same with factors */
        { 81.52, 24.21, 8.221 }, { 81.50, 24.08, 7.986 },
        { 77.22, 23.11, 7.974 }, { 77.22, 23.08, 7.771 }
    };
    printf("\noptima at E = 16, b = 128 (dense: E = 8, b = 32)\n eps  family         factors    "
           "rmse   seconds  to 0.5%%  evaluations\n");
    for (int i = 0; i < 3; i++)
        for (int f = 0; f < 4; f++) {
            mcamp_opt_desc d = setting(16, 128, eps[i]);
            d.buffers = f & 1 ? 0 : 2;
            if (f & 1) d.family = MCAMP_OPT_TOEPLITZ;
            whole(d, f & 2 ? 3 : 0, best[f][i]);
        }
    {
        mcamp_opt_desc d = setting(8, 32, 2);
        d.family = MCAMP_OPT_BANDED;
        d.buffers = 0;
        whole(d, 0, 11.73);
    }
}

static void large(void)
{
    mcamp_opt_desc d = setting(100, 1000, 1);
    printf("\nE = 100, b = 1000\n");
    whole(d, 0, 0);
    d.family = MCAMP_OPT_TOEPLITZ;
    d.buffers = 0;
    d.bands = 32;
    whole(d, 0, 0);
}

/* ---- errors of banded C ------------------------------------------------------------- */

/* Seconds of the error (0) or of value and gradient (1), by columns or by the window; answers to
 * rows[n]. */
static double one_way(int gradient, int window, const mcamp_work *work, const mcamp_mech *m,
                      double *rows)
{
    double start = bench_seconds();
    mcamp__mech_grad g;
    memset(&g, 0, sizeof g);
    g.coef = rows;
    if (gradient)
        bench_check(&ctx, "gradient", (window ? mcamp__grad_passes : mcamp__grad_columns)
                                      (&ctx, work, m, NULL, rows + m->count, &g));
    else
        bench_check(&ctx, "error", (window ? mcamp__error_band : mcamp__error_columns)
                                   (&ctx, work, m, rows));
    return bench_seconds() - start;
}

static void window_table(int toeplitz, size_t n, size_t bands)
{
    size_t count = n * bands + n;
    double *c = (double *)calloc(3 * count + n, sizeof *c), *a = c + count, *b = a + count;
    double *scale = b + count, by[2][2], top = 0, apart = 0;
    mcamp_mech_desc d;
    mcamp_work_desc wd;
    mcamp_work work;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    memset(&wd, 0, sizeof wd);
    wd.n = d.n = n;
    wd.kind = MCAMP_WORK_MOMENTUM; wd.beta = 0.9;
    d.kind = toeplitz ? MCAMP_MECH_SQRT : MCAMP_MECH_BANDED;
    d.bands = bands;
    for (size_t i = 0; i < n; i++) scale[i] = 1 + 0.5 * cos(0.01 * (double)i);
    if (toeplitz) d.scale = scale;
    for (size_t i = 0; !toeplitz && i < n; i++)
        for (size_t j = i + 1 > bands ? i + 1 - bands : 0; j <= i; j++)
            c[d.count++] = scale[j] / sqrt(1 + (double)(i - j));
    if (!toeplitz) d.coef = c;
    bench_check(&ctx, "workload", mcamp_work_init(&ctx, &wd, &work));
    bench_check(&ctx, "C", mcamp_mech_init(&ctx, &d, &m));
    for (int g = 0; g < 2; g++)
        for (int w = 0; w < 2; w++) by[g][w] = one_way(g, w, &work, &m, w ? a : b);
    for (size_t i = 0; i < m.count; i++) top = mcamp__dmax(top, fabs(b[i]));
    for (size_t i = 0; i < m.count; i++) apart = mcamp__dmax(apart, fabs(a[i] - b[i]));
    if (!(apart <= 1e-8 * top)) { printf("gradients differ\n"); exit(1); }
    printf("| %s | %zu | %zu | %.4f | %.4f | %.1f | %.4f | %.4f | %.1f |\n",
           toeplitz ? "Toeplitz" : "rows", n, bands, by[0][0], by[0][1], by[0][0] / by[0][1],
           by[1][0], by[1][1], by[1][0] / by[1][1]);
    mcamp_mech_free(&ctx, &m);
    mcamp_work_free(&ctx, &work);
    free(c);
}

static void windows(void)
{
    printf("| C | rounds | bands | error, columns, s | window | times | gradient, columns, s | "
           "window | times |\n|---|---|---|---|---|---|---|---|---|\n");
    for (int toeplitz = 0; toeplitz < 2; toeplitz++)
        for (size_t n = 2000; n <= 8000; n *= 4)
            for (size_t bands = 8; bands <= 64; bands *= 8) window_table(toeplitz, n, bands);
}

/* ---- how near the optimum, and families in families ----------------------------------- */

static double error_of(mcamp_opt_desc d, mcamp_opt_result *r)
{
    mcamp_mech m;
    mcamp_status st = mcamp_opt_run(&ctx, &d, &m, r);
    if (st < 0) bench_check(&ctx, "optimum", st);
    mcamp_mech_free(&ctx, &m);
    return r->rmse;
}

static void near_optimum(mcamp_error_kind kind, double beta)
{
    enum { B = 1000, TWICE, THIRD, ALL };
    static const size_t bands[7] = { 2, 4, 8, B, TWICE, THIRD, ALL };
    double worst = 0, start = bench_seconds();
    size_t most = kind == MCAMP_ERROR_MAX ? 512 : 1024;
    mcamp_work_desc wd;
    memset(&wd, 0, sizeof wd);
    wd.kind = beta > 0 ? MCAMP_WORK_MOMENTUM : MCAMP_WORK_PREFIX;
    wd.beta = beta;
    printf("%% above the least %s%s, without amplification, n <= %zu\n   E     b"
           "         2         4         8         b        2b       n/3     dense\n",
           kind == MCAMP_ERROR_MAX ? "error of the worst round" : "error",
           beta > 0 ? " with momentum" : "", most);
    for (size_t e = 1; e <= 16; e *= 2)
        for (size_t b = 4; b <= 128 && e * b <= most; b *= 2) {
            printf("%4d  %4d", (int)e, (int)b);
            for (int k = 0; k < 7; k++) {
                mcamp_opt_desc d = setting(e, b, 1);
                mcamp_opt_result r;
                mcamp_work work;
                double far;
                d.family = MCAMP_OPT_BANDED;
                d.amplification = MCAMP_AMPLIFY_NONE;
                d.buffers = 0;
                d.error = kind;
                d.bands = bands[k] == ALL ? 0 : bands[k] == B ? b : bands[k] == TWICE ? 2 * b
                        : bands[k] == THIRD ? e * b / 3 : bands[k];
                if (bands[k] > B && bands[k] < ALL ? d.bands <= b || d.bands >= e * b
                                                   : d.bands > e * b) {
                    printf("  %8s", "-");
                    continue;
                }
                wd.n = d.rounds;
                bench_check(&ctx, "workload", mcamp_work_init(&ctx, &wd, &work));
                d.work = &work;
                error_of(d, &r);
                mcamp_work_free(&ctx, &work);
                far = 100 * (mcamp__opt_wanted(&d, &r) / r.least - 1);
                worst = mcamp__dmax(worst, far);
                printf("  %8.5f", far);
            }
            printf("\n");
            fflush(stdout);
        }
    printf("worst %.5f, %.1f s\n", worst, bench_seconds() - start);
}

/* The optimum by X: what is done for banded C. */
static mcamp_status by_x(mcamp__opt *o, mcamp_mech *m, mcamp_opt_result *out)
{
    mcamp__lbfgs l;
    mcamp_status st = mcamp__lbfgs_init(&ctx, o->m.count, false, &l);
    if (st < 0) return st;
    st = mcamp__opt_start(&ctx, o, l.x);
    if (st >= 0) st = o->desc->error == MCAMP_ERROR_MAX ? mcamp__orth_worst(&ctx, o, &l, out)
                                                        : mcamp__opt_rounds(&ctx, o, &l, out);
    if (st >= 0) {
        mcamp__opt_set(&o->inner, &o->m, l.x);
        st = mcamp__opt_mech(&o->inner, &o->m, m);
    }
    if (st >= 0) st = mcamp__opt_final(o, m, out);
    if (st >= 0) st = mcamp__opt_bound(o, l.x, out);
    out->iterations = l.steps;
    mcamp__lbfgs_free(&ctx, &l);
    return st;
}

/* One optimum; how far above the least error, in per cent, and its steps. */
static double descent(const mcamp_opt_desc *d, const mcamp_work *work, bool dual, size_t *steps,
                      double *far)
{
    double t = bench_seconds();
    mcamp_opt_desc r;
    mcamp_opt_result out;
    mcamp_mech m;
    mcamp__opt o;
    mcamp_status st;
    memset(&out, 0, sizeof out);
    bench_check(&ctx, "arguments", mcamp__opt_resolve(&ctx, d, &r));
    bench_check(&ctx, "memory", mcamp__opt_init(&ctx, &r, work, &o));
    st = dual ? mcamp__opt_drive(&ctx, &o, 1, &m, &out) : by_x(&o, &m, &out);
    if (st < 0) bench_check(&ctx, "optimum", st);
    mcamp__opt_free(&ctx, &o);
    mcamp_mech_free(&ctx, &m);
    *steps = out.iterations;
    *far = 100 * (mcamp__opt_wanted(d, &out) / out.least - 1);
    return bench_seconds() - t;
}

static void dense_table(bool large)
{
    static const struct { size_t n, b; double beta; mcamp_error_kind error; } shape[] = {
        { 128, 32, 0, MCAMP_ERROR_RMSE }, { 256, 16, 0, MCAMP_ERROR_RMSE },
        { 256, 256, 0, MCAMP_ERROR_RMSE }, { 256, 32, 0.9, MCAMP_ERROR_RMSE },
        { 256, 16, 0, MCAMP_ERROR_MAX }, { 256, 16, 0.9, MCAMP_ERROR_MAX },
        { 512, 2, 0, MCAMP_ERROR_RMSE }, { 512, 32, 0, MCAMP_ERROR_RMSE },
        { 512, 512, 0, MCAMP_ERROR_RMSE }, { 512, 8, 0.9, MCAMP_ERROR_RMSE },
        { 512, 32, 0, MCAMP_ERROR_MAX }, { 512, 32, 0.9, MCAMP_ERROR_MAX },
        { 1024, 32, 0, MCAMP_ERROR_RMSE }, { 2048, 128, 0, MCAMP_ERROR_RMSE } };
    printf("    n    b  workload, error    by X, s  steps  %% above    dual s  steps  %% above"
           "  times\n");
    for (size_t i = 0; i < sizeof shape / sizeof *shape && (large || shape[i].n < 1024); i++) {
        mcamp_opt_desc d = setting(1, 2, 1);
        mcamp_work_desc wd;
        mcamp_work work;
        size_t steps[2] = { 0, 0 };
        double t[2] = { 0, 0 }, far[2] = { 0, 0 };
        memset(&wd, 0, sizeof wd);
        wd.n = d.rounds = shape[i].n;
        wd.beta = shape[i].beta;
        if (wd.beta > 0) wd.kind = MCAMP_WORK_MOMENTUM;
        bench_check(&ctx, "workload", mcamp_work_init(&ctx, &wd, &work));
        d.family = MCAMP_OPT_BANDED;
        d.amplification = MCAMP_AMPLIFY_NONE;
        d.buffers = 0;
        d.batches = shape[i].b;
        d.error = shape[i].error;
        for (int dual = d.rounds > 256; dual < 2; dual++)       /* by X: minutes */
            t[dual] = descent(&d, &work, dual, &steps[dual], &far[dual]);
        printf("%5d %4d  %-16s  ", (int)d.rounds, (int)d.batches,
               d.error == MCAMP_ERROR_MAX ? wd.beta > 0 ? "momentum, worst" : "prefix, worst"
               : wd.beta > 0 ? "momentum, mean" : "prefix, mean");
        if (steps[0]) printf("%8.2f  %5d  %7.4f", t[0], (int)steps[0], far[0]);
        else          printf("%8s  %5s  %7s", "-", "-", "-");
        printf("    %8.2f  %5d  %7.4f", t[1], (int)steps[1], far[1]);
        if (steps[0]) printf("  %5.1f\n", t[0] / t[1]);
        else          printf("  %5s\n", "-");
        fflush(stdout);
        mcamp_work_free(&ctx, &work);
    }
}

/* bands 1: all, 2: b, 3: 2b.  holds: letters of those that it contains. */
typedef struct family {
    const char *name;
    int kind;
    size_t buffers, bands, degree;
    const char *holds;
} family;

static const family families[] = {
    { "BLT 1", MCAMP_OPT_BLT, 1, 1, 0, "" },
    { "BLT 2", MCAMP_OPT_BLT, 2, 1, 0, "a" },
    { "BLT 3", MCAMP_OPT_BLT, 3, 1, 0, "b" },
    { "BLT 4", MCAMP_OPT_BLT, 4, 1, 0, "c" },
    { "BLT 1 cubic", MCAMP_OPT_BLT, 1, 1, 3, "a" },
    { "BLT 2 cubic", MCAMP_OPT_BLT, 2, 1, 3, "be" },
    { "BLT 3 cubic", MCAMP_OPT_BLT, 3, 1, 3, "cf" },
    { "BLT 4 cubic", MCAMP_OPT_BLT, 4, 1, 3, "dg" },
    { "Toeplitz 4", MCAMP_OPT_TOEPLITZ, 0, 4, 0, "" },
    { "Toeplitz 8", MCAMP_OPT_TOEPLITZ, 0, 8, 0, "i" },
    { "Toeplitz b", MCAMP_OPT_TOEPLITZ, 0, 2, 0, "ij" },
    { "Toeplitz", MCAMP_OPT_TOEPLITZ, 0, 1, 0, "abcdk" },
    { "Toeplitz b cubic", MCAMP_OPT_TOEPLITZ, 0, 2, 3, "k" },
    { "Toeplitz cubic", MCAMP_OPT_TOEPLITZ, 0, 1, 3, "efghlm" },
    { "banded 4", MCAMP_OPT_BANDED, 0, 4, 0, "i" },
    { "banded 8", MCAMP_OPT_BANDED, 0, 8, 0, "jo" },
    { "banded b", MCAMP_OPT_BANDED, 0, 2, 0, "kmop" },
    { "banded 2b", MCAMP_OPT_BANDED, 0, 3, 0, "q" },
    { "dense", MCAMP_OPT_BANDED, 0, 1, 0, "lnr" }
};

enum { FAMILIES = sizeof families / sizeof families[0] };

static int contained(mcamp_amplification how, size_t e, size_t b, double eps)
{
    double error[FAMILIES], most = how == MCAMP_AMPLIFY_BINS ? 1.0005 : 1.00001;
    size_t bands[FAMILIES];
    int bad = 0;
    for (int k = 0; k < (int)FAMILIES; k++) {
        const family *f = &families[k];
        mcamp_opt_desc d = setting(e, b, eps);
        mcamp_opt_result r;
        double t = bench_seconds();
        d.amplification = how;
        d.family = (mcamp_opt_family)f->kind;
        d.buffers = f->buffers;
        d.bands = f->bands == 1 ? 0 : f->bands == 2 ? b : f->bands == 3 ? 2 * b : f->bands;
        error[k] = mcamp__inf();
        bands[k] = d.bands ? d.bands : d.rounds;
        if (d.bands > d.rounds) continue;
        d.scale_degree = f->degree;
        d.budget.rel_error = 0.002;
        error[k] = error_of(d, &r);
        printf("%4d %4d %4g  %-16s %10.5f %6.2f s", (int)e, (int)b, eps, f->name, error[k],
               bench_seconds() - t);
        for (const char *c = f->holds; *c; c++)
            if ((!d.bands || bands[*c - 'a'] <= d.bands) && error[k] > most * error[*c - 'a']) {
                printf("  worse than %s by %.4f%%", families[*c - 'a'].name,
                       100 * (error[k] / error[*c - 'a'] - 1));
                bad++;
            }
        printf("\n");
        fflush(stdout);
    }
    return bad;
}

static void all_families(int bins)
{
    static const size_t shape[8][2] = { { 4, 16 }, { 1, 64 }, { 2, 48 }, { 32, 2 }, { 16, 4 },
                                        { 16, 16 }, { 8, 32 }, { 16, 32 } };
    int bad = 0;
    for (int i = 0; i < 8; i++)
        for (double eps = bins ? 0.5 : 1; eps <= (bins ? 8 : 1); eps *= 4)
            bad += contained(bins ? MCAMP_AMPLIFY_BINS : MCAMP_AMPLIFY_NONE, shape[i][0],
                             shape[i][1], eps);
    printf("%d worse than one that they contain\n", bad);
}

int main(int argc, char **argv)
{
    double beta = argc > 2 && !strcmp(argv[2], "momentum") ? 0.9 : 0;
    bench_start(&ctx);
    if (argc > 1 && !strcmp(argv[1], "bands")) { windows(); return 0; }
    if (argc > 1 && !strcmp(argv[1], "near")) { near_optimum(MCAMP_ERROR_RMSE, beta); return 0; }
    if (argc > 1 && !strcmp(argv[1], "worst")) { near_optimum(MCAMP_ERROR_MAX, beta); return 0; }
    if (argc > 1 && !strcmp(argv[1], "dense")) { dense_table(argc > 2); return 0; }
    if (argc > 1 && !strcmp(argv[1], "families")) {
        all_families(argc > 2 && !strcmp(argv[2], "bins"));
        return 0;
    }
    printf("300 gradient steps, processor seconds of one core\n   E     b   seconds\n");
    for (size_t e = 16; e <= 64; e *= 2)
        for (size_t b = 32; b <= 128; b *= 2)
            printf("%4d  %4d  %8.2f\n", (int)e, (int)b, steps(e, b));
    printf("\nstandard error of sigma in a step\n   b       ours  samples  2^17 plain\n");
    for (size_t b = 32; b <= 128; b *= 2) accuracy(b);
    table_of_families();
    if (argc > 1 && !strcmp(argv[1], "large")) large();
#ifdef BENCH_RUSAGE
    {
        struct rusage u;
        if (!getrusage(RUSAGE_SELF, &u))
            printf("\nmost memory: %.0f MB\n", (double)u.ru_maxrss / 1024);
    }
#endif
    return 0;
}
