/* What needs training: 000's figures 6 and 7, 001's four attempts, 004's figures 10 and 11. */
#ifndef REPRODUCE_TRAINING_H
#define REPRODUCE_TRAINING_H

#include "reproduce_001.h"
#include "reproduce_train.h"

enum { MOST_EPS_TRAIN = 5 };

typedef struct shape_train { size_t epochs, batches; } shape_train;

/* One line of accuracy for each arm. */
TOOL_FN void accuracy_lines(report *r, const char *title, const arm *a, size_t n, int line[])
{
    int c = add_chart(r, title, "mean and 95% interval over runs", "epsilon", "test accuracy, %");
    r->chart[c].log_x = r->chart[c].legend_low = true;
    for (size_t i = 0; i < n; i++) line[i] = add_line(r, c, "%s", a[i].name);
}

/* The arm once more.  A C that is made without amplification does not depend on eps. */
TOOL_FN void next_arm(report *r, arm *a, const arm *from, shape_train shape)
{
    mcamp_mech m = a->mech;
    double unit = a->unit;
    *a = *from;
    a->batches = shape.batches;
    a->rounds = shape.epochs * shape.batches;
    if (unit > 0 && a->by == DRAW_SHUFFLE) {
        a->mech = m;
        a->unit = unit;
    } else mcamp_mech_free(&r->ctx, &m);
}

/* Without privacy, at the same number of rounds: what the arms would reach at best. */
TOOL_FN void ceiling(report *r, const pictures *data, size_t rounds, size_t batches, double late,
                     double momentum, arm *a)
{
    contest k = { data, ENDLESS, 0, late, a, 1, 0 };
    memset(a, 0, sizeof *a);
    a->name = "without privacy";
    a->by = DRAW_OPEN;
    a->rounds = rounds;
    a->batches = batches;
    a->momentum = momentum;
    hold_contest(r, &k, 0, 0.05);
}

/* Contests of the same arms at each eps; `sayings` compare two arms. */
typedef struct heard { saying s; size_t a, b; double from, to; } heard;

TOOL_FN void contests(report *r, const arm *arms, size_t n, const double *eps, size_t neps,
                      shape_train shape, double late, heard *said, size_t nsaid,
                      void (*more)(report *r, const contest *k))
{
    static arm a[MOST_ARM], top;
    pictures data;
    int line[MOST_ARM];
    if (!open_pictures(r, 2000, &data)) return;
    accuracy_lines(r, "Test accuracy at equal (epsilon, delta)", arms, n, line);
    for (size_t i = 0; i < nsaid; i++) {
        said[i].s.low = said[i].s.high = NONE;
        for (size_t e = 0; e < neps; e++)
            said[i].s.contests += said[i].from <= eps[e] && eps[e] <= said[i].to;
    }
    ceiling(r, &data, shape.epochs * shape.batches, shape.batches, late, arms[n - 1].momentum,
            &top);
    for (size_t e = 0; e < neps && !r->failed && !tool_interrupted; e++) {
        contest k = { &data, eps[e], 1e-5, late, a, n, 0 };
        for (size_t i = 0; i < n; i++) next_arm(r, &a[i], &arms[i], shape);
        if (hold_contest(r, &k, ((double)e + 0.05) / (double)neps, 0.95 / (double)neps)) {
            if (e == 0) {
                int l = add_line(r, 0, "%s", top.name);
                r->line[l].dashed = true;
                accuracy_point(r, l, eps[0], &top);
                accuracy_point(r, l, eps[neps - 1], &top);
            }
            for (size_t i = 0; i < n; i++) accuracy_point(r, line[i], eps[e], &a[i]);
            for (size_t i = 0; i < nsaid; i++)
                if (said[i].from <= eps[e] && eps[e] <= said[i].to)
                    hear(&said[i].s, &a[said[i].a], &a[said[i].b]);
            curves(r, &k);
            if (more) more(r, &k);
        }
    }
    for (size_t i = 0; i < n; i++) {
        mcamp_mech_free(&r->ctx, &a[i].mech);
        a[i].unit = 0;
    }
    close_pictures(&data);
    if (r->failed || tool_interrupted) return;
    for (size_t i = 0; i < nsaid; i++)
        if (!isnan(said[i].s.low) || said[i].s.open) judge(r, &said[i].s);
    set(r, "rounds, batches of an epoch", "%lu, %lu", (unsigned long)(shape.epochs * shape.batches),
        (unsigned long)shape.batches);
    set(r, "delta", "1e-5");
    set(r, "runs of an arm", "%lu", (unsigned long)a->runs);
    note(r, "A network of %d rectified units stands for the paper's, and %s for CIFAR-10, which "
         "is not to be had without a network: numbers of accuracy are not compared, only what is "
         "said of the order of methods, and only where 95%% intervals (Student's, differences "
         "taken run by run) decide it. Every run is bound to its certified session; the rate is "
         "that of an average of clipped gradients over their norm, x (1 - momentum).", HIDDEN,
         data.name);
    note(r, "Lines \"tuning\" of the CSV: validation accuracy (y) by rate (x) and clipping norm "
         "(bands); \"chosen\": the best of them, among equals the first; \"runs\": each run. "
         "Intervals are of runs with the choice that was made: tuning once more may choose "
         "otherwise, and %lu images test.", (unsigned long)data.test.count);
}

/* ---- 000, figure 6 ------------------------------------------------------------------------- */

TOOL_FN void run_000_f6(report *r)
{
    static const arm arms[] = {
        { .name = "DP-SGD, Poisson", .family = MCAMP_OPT_IDENTITY, .bands = 1, .momentum = 0.95 },
        { .name = "banded, Poisson", .family = MCAMP_OPT_TOEPLITZ, .momentum = 0.95 },
        { .name = "banded, balls in bins", .family = MCAMP_OPT_TOEPLITZ, .by = DRAW_BINS,
          .bands = 2, .momentum = 0.95 },
        { .name = "Toeplitz, balls in bins", .family = MCAMP_OPT_TOEPLITZ, .by = DRAW_BINS,
          .momentum = 0.95 },
        { .name = "BLT, balls in bins", .family = MCAMP_OPT_BLT, .by = DRAW_BINS, .buffers = 4,
          .momentum = 0.95 },
        { .name = "BLT, no amplification", .family = MCAMP_OPT_BLT, .by = DRAW_SHUFFLE,
          .buffers = 4, .momentum = 0.95 },
    };
    static const double eps[] = { 0.5, 1, 2, 4, 8 }, few[] = { 1, 8 };
    heard said[] = {
        { { "banded C with balls in bins \"is always at least as good as the baseline\" (within "
            "a point)", "000, figure 6", -1, 0, 0, false, false, 0 }, 2, 1, 0, 100 },
        { { "BLT \"always at least as good as the baseline\" (within a point)", "000, figure 6",
            -1, 0, 0, false, false, 0 }, 4, 1, 0, 100 },
        { { "banded C with Poisson sampling better than DP-SGD at epsilon 2 and more",
            "000, figure 6", 0, 0, 0, false, false, 0 }, 1, 0, 2, 100 },
        { { "balls in bins better than no amplification, for the same family, up to epsilon 2",
            "000, section 5.1", 0, 0, 0, false, false, 0 }, 4, 5, 0, 2 },
    };
    shape_train full = { 20, 20 }, small = { 5, 8 };
    contests(r, arms, 6, r->f->quick ? few : eps, r->f->quick ? 2 : 5, r->f->quick ? small : full,
             0.25, said, 4, NULL);
    set(r, "momentum, cool-down", "0.95; to a twentieth over the last three quarters");
}

/* ---- 000, figure 7 ------------------------------------------------------------------------- */

TOOL_FN void run_000_f7(report *r)
{
    static const arm arms[] = {
        { .name = "BLT, balls in bins (padding is free)", .family = MCAMP_OPT_BLT,
          .by = DRAW_BINS, .buffers = 4, .momentum = 0.95 },
        { .name = "the same, at most 2 deviations above the mean",
          .family = MCAMP_OPT_BLT, .by = DRAW_BINS_LIMIT, .buffers = 4, .momentum = 0.95 },
        { .name = "BLT, shuffled (no amplification)", .family = MCAMP_OPT_BLT,
          .by = DRAW_SHUFFLE, .buffers = 4, .momentum = 0.95 },
        { .name = "MF [15], shuffled (no amplification)", .family = MCAMP_OPT_BANDED,
          .by = DRAW_SHUFFLE, .momentum = 0.95 },
    };
    static const double eps[] = { 1, 4 }, one[] = { 1 };
    heard said[] = {
        { { "batches of one size cost no accuracy (within a point)", "000, figure 7", -1, 0, 0,
            false, false, 0 }, 1, 0, 0, 100 },
        { { "balls in bins, of one size, better than multi-epoch MF without amplification at "
            "epsilon 1", "000, figures 3 and 7", 0, 0, 0, false, false, 0 }, 1, 3, 0, 1 },
    };
    shape_train full = { 20, 20 }, small = { 5, 8 };
    contests(r, arms, 4, r->f->quick ? one : eps, r->f->quick ? 1 : 2,
             r->f->quick ? small : full, 0.25, said, 2, NULL);
    set(r, "momentum, cool-down", "0.95; to a twentieth over the last three quarters");
}

/* ---- 001: four attempts ---------------------------------------------------------------------- */

/* Norms of all gradients of a model trained without privacy, by full batches. */
TOOL_FN void norms_001(report *r, const pictures *p, size_t rounds, double *quantile)
{
    const images *d = &p->train;
    enum { BIN = 40 };
    double width = 0.5, count[BIN + 1] = { 0 }, all = 0, below = 0;
    int c = add_chart(r, "Norms of gradients without privacy", "all rounds of full-batch descent",
                      "norm", "share, %"), l = add_line(r, c, "share");
    model m;
    model_start(&m, d->pixels, r->f->seed);
    for (size_t t = 0; t < rounds && !tool_interrupted; t++) {
        for (size_t j = 0; j < m.dim; j++) m.f[j] = (float)m.w[j];
        memset(m.step, 0, m.dim * sizeof *m.step);
        for (size_t i = 0; i < d->count; i++) {
            double square = 0;
            size_t at;
            net_gradient(m.f, d->pixels, d->x + i * d->pixels, d->label[i], m.gradient);
            for (size_t j = 0; j < m.dim; j++) {
                square += (double)m.gradient[j] * (double)m.gradient[j];
                m.step[j] += (double)m.gradient[j];
            }
            at = (size_t)fmin(sqrt(square) / width, BIN);
            count[at]++;
            all++;
        }
        for (size_t j = 0; j < m.dim; j++) m.w[j] -= 0.25 * m.step[j] / (double)d->count;
    }
    *quantile = NONE;
    for (size_t k = 0; k <= BIN; k++) {
        add_point(r, l, width * ((double)k + 0.5), 100 * count[k] / all);
        below += count[k];
        if (isnan(*quantile) && below >= 0.95 * all) *quantile = width * ((double)k + 1);
    }
    model_free(&m);
}

TOOL_FN void run_001_train(report *r)
{
    arm arms[] = {
        { .name = "T = 100, advanced composition", .family = MCAMP_OPT_IDENTITY,
          .by = DRAW_SHUFFLE, .rounds = 100, .batches = 1 },
        { .name = "T = 200, RDP", .family = MCAMP_OPT_IDENTITY, .by = DRAW_SHUFFLE,
          .rounds = 200, .batches = 1 },
        { .name = "T = 200, RDP, sampled with q = 0.05", .family = MCAMP_OPT_IDENTITY,
          .bands = 1, .rounds = 200, .batches = 20 },
        { .name = "T = 200, matrix factorisation", .family = MCAMP_OPT_BANDED,
          .by = DRAW_SHUFFLE, .rounds = 200 },
    };
    saying less = { "\"We need a way smaller noise\": T = 200 with RDP better than T = 100 with "
                    "advanced composition", "001, second try", 0, NONE, NONE, false, false,
                    1 };
    saying mf = { "correlated noise better than subsampling", "001, fourth try", 0, NONE, NONE,
                  false, false, 1 };
    pictures data;
    contest k = { &data, 1, DELTA_001, 1, arms, 4, 0 };
    static arm top;
    double quantile = NONE;
    int line;
    if (!open_pictures(r, 5000, &data)) return;
    if (r->f->quick) for (size_t i = 0; i < 4; i++) arms[i].rounds /= 2;
    arms[3].batches = arms[3].rounds;           /* once through the images */
    norms_001(r, &data, r->f->quick ? 20 : 100, &quantile);
    arms[0].sigma = composed_sigma_001(r, &r->ctx, (double)arms[0].rounds, false);
    arms[1].sigma = rdp_sigma_001(r, &r->ctx, 1, (double)arms[1].rounds);
    arms[2].sigma = rdp_sigma_001(r, &r->ctx, 0.05, (double)arms[2].rounds);
    if (!r->failed) ceiling(r, &data, arms[2].rounds, 20, 1, 0, &top);
    if (!r->failed && !tool_interrupted && hold_contest(r, &k, 0.1, 0.9)) {
        line = add_line(r, -1, "final test accuracy (x: attempt)");
        for (size_t i = 0; i < 4; i++) accuracy_point(r, line, (double)i + 1, &arms[i]);
        line = add_line(r, -1, "%s", top.name);
        accuracy_point(r, line, 5, &top);
        curves(r, &k);
        number(r, "sigma of the matrix factorisation, T = 200", "001, fourth try", "4",
               arms[3].promise.sigma, EQUAL_ONLY);
        hear(&less, &arms[1], &arms[0]);
        hear(&mf, &arms[3], &arms[2]);
        judge(r, &less);
        judge(r, &mf);
        note(r, "Each attempt takes the sigma of its accountant (%.4g, %.4g, %.4g; matrix: %.4g); "
             "the session is bound to what that sigma guarantees, which is more: epsilon %.3g, "
             "%.3g, %.3g, %.3g. 95%% of all gradients have a norm below %.3g (there: about 32, by "
             "another network's initial weights); clipping is tuned here.", arms[0].promise.sigma,
             arms[1].promise.sigma, arms[2].promise.sigma, arms[3].promise.sigma,
             arms[0].promise.eps, arms[1].promise.eps, arms[2].promise.eps, arms[3].promise.eps,
             quantile);
        note(r, "The fourth goes once through the images, as there (batches of 25 of 5000 images "
             "of MNIST); here there are %lu.", (unsigned long)data.train.count);
    }
    free_arms(r, &k);
    close_pictures(&data);
    set(r, "epsilon, delta", "1, 1e-6");
    set(r, "runs of an arm", "%lu", (unsigned long)k.runs);
}

/* ---- 004, figures 10 and 11 ---------------------------------------------------------------- */

static const arm ARMS_F10[] = {
    { .name = "DP-SGD, Poisson", .family = MCAMP_OPT_IDENTITY, .bands = 1 },
    { .name = "banded, Poisson", .family = MCAMP_OPT_TOEPLITZ, .momentum = 0.95 },
    { .name = "MF [15], no amplification", .family = MCAMP_OPT_BANDED, .by = DRAW_SHUFFLE,
      .momentum = 0.95 },
};
static const double EPS_F10[] = { 0.5, 1, 2, 4, 8 };

TOOL_FN shape_train shape_f10(const report *r)
{
    shape_train full = { 20, 100 }, small = { 5, 8 };
    return r->f->quick ? small : full;
}

TOOL_FN void run_004_f10(report *r)
{
    heard said[] = {
        { { "\"consistently perform at least as well as the best prior method\": DP-SGD (within a "
            "point)", "004, figure 10", -1, 0, 0, false, false, 0 }, 1, 0, 0, 100 },
        { { "the same: multi-epoch MF, up to epsilon 2 (within a point)", "004, figure 10", -1, 0,
            0, false, false, 0 }, 1, 2, 0, 2 },
    };
    contests(r, ARMS_F10, 3, EPS_F10, 5, shape_f10(r), 0.75, said, 2, NULL);
    set(r, "momentum, cool-down", "0.95, DP-SGD none; to a twentieth over the last quarter");
}

/* log of the error of the sums over a batch, and of the best rate. */
typedef struct fit_f11 { double x[32], y[32]; size_t n; bool edge; } fit_f11;
static fit_f11 FIT_F11;

TOOL_FN void fit_more(report *r, const contest *k)
{
    (void)r;
    for (size_t i = 0; i < k->arms; i++) {
        const arm *a = &k->arm[i];
        double batch = (double)k->data->train.count / (double)a->batches;
        FIT_F11.edge = FIT_F11.edge || a->edge;
        FIT_F11.x[FIT_F11.n] = log(a->rmse / batch);
        FIT_F11.y[FIT_F11.n++] = log(a->rate[a->best]);
    }
}

TOOL_FN void run_004_f11(report *r)
{
    fit_f11 *f = &FIT_F11;
    double mx = 0, my = 0, xx = 0, xy = 0, rest = 0, slope, half;
    int c, l;
    f->n = 0;
    f->edge = false;
    contests(r, ARMS_F10, 3, EPS_F10, 5, shape_f10(r), 0.75, NULL, 0, fit_more);
    if (r->failed || tool_interrupted) return;
    for (size_t i = 0; i < f->n; i++) {
        mx += f->x[i] / (double)f->n;
        my += f->y[i] / (double)f->n;
    }
    for (size_t i = 0; i < f->n; i++) {
        xx += (f->x[i] - mx) * (f->x[i] - mx);
        xy += (f->x[i] - mx) * (f->y[i] - my);
    }
    slope = xy / xx;
    for (size_t i = 0; i < f->n; i++)
        rest += pow(f->y[i] - my - slope * (f->x[i] - mx), 2) / ((double)f->n - 2);
    half = student(f->n - 2, 0.95) * sqrt(rest / xx);
    c = add_chart(r, "Best rate against the error of the sums", "every arm at every epsilon",
                  "RMSE sigma / batch", "rate");
    r->chart[c].log_x = r->chart[c].log_y = true;
    l = add_line(r, c, "best of the rates tried");
    r->line[l].dots = true;
    for (size_t i = 0; i < f->n; i++) add_point(r, l, exp(f->x[i]), exp(f->y[i]));
    if (slope + half < 0 && half < 0.3 && !f->edge && !r->f->quick)
        because(trend(r, "\"strong linear correlation\" of the logarithms of error and best rate, "
                      "slope -0.95", "004, figure 11", fabs(slope + 0.95) <= half,
                      "slope %.3g, 95%% interval %.3g to %.3g", slope, slope - half, slope + half),
                true, "rates in steps of 2 (quick: 4), one run each, other images");
    else
        note(r, "Not decided (004, figure 11, slope -0.95): slope %.3g, 95%% interval %.3g to "
             "%.3g.", slope, slope - half, slope + half);
}

#define TRAINED_BY "every arm tuned by itself on images of its own, then runs with keys of their " \
    "own; sessions bound to the certified guarantee"
enum { NTRAINING = 5 };
#define ITEMS_TRAINING \
    { "000-f6", "Accuracy of six methods", "000, figure 6", 400, 8, run_000_f6, TRAINED_BY }, \
    { "000-f7", "Accuracy of practical forms", "000, figure 7", 90, 3, run_000_f7, \
      TRAINED_BY }, \
    { "001-train", "Four attempts to train", "001, sections 3 and 4", 180, 6, run_001_train, \
      TRAINED_BY }, \
    { "004-f10", "Accuracy of banded MF and its rivals", "004, figure 10", 1500, 5, run_004_f10, \
      TRAINED_BY }, \
    { "004-f11", "The best rate against the error", "004, figure 11", 1500, 5, run_004_f11, \
      TRAINED_BY },

#endif
