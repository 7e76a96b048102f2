/* 000, section 5.1 and appendix B: RMSE of prefix sums under balls in bins and under Poisson
 * sampling, relative to no amplification.  delta = 1e-5 throughout.                       */
#ifndef REPRODUCE_000_RMSE_H
#define REPRODUCE_000_RMSE_H

#include "reproduce_bands.h"

#define DELTA_000 1e-5
enum { NEPS_000 = 6, NBAND_000 = 9, NOPT_000 = 4 };

static const double EPS_000[NEPS_000] = { 0.5, 1, 2, 4, 8, 16 };

TOOL_FN double gain_of(double error, double base) { return 100 * (1 - error / base); }

/* sigma of balls in bins with this C. */
TOOL_FN double bins_sigma(report *r, mcamp_ctx *ctx, const mcamp_mech *m, size_t b, double eps,
                          double *samples)
{
    mcamp_gram g;
    mcamp_budget budget;
    mcamp_answer a;
    double sigma = NONE;
    memset(&g, 0, sizeof g);
    memset(&budget, 0, sizeof budget);
    memset(&a, 0, sizeof a);
    budget.seed = r->f->seed;
    budget.rel_error = r->f->quick ? 0.05 : 0.02;
    if (did(r, ctx, mcamp_gram_init(ctx, m, b, &g)) &&
        did(r, ctx, mcamp_sigma(ctx, &g, eps, DELTA_000, &budget, &a))) {
        sigma = a.sigma;
        *samples = (double)a.samples;
    }
    mcamp_gram_free(ctx, &g);
    return sigma;
}

/* ---- figure 2: a fixed C ------------------------------------------------------------------ */

enum { NEPS_F2 = 9 };

typedef struct fixed_000 {
    size_t bands;
    band_of c;
    double none[NEPS_F2], bins[NEPS_F2], poisson[NEPS_F2], samples[NEPS_F2];
} fixed_000;

TOOL_FN double eps_f2(size_t i) { return pow(2, (double)i - 3); }

TOOL_FN void f2_task(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    fixed_000 *f = (fixed_000 *)arg;
    double eps = eps_f2(i);
    mcamp_event e;
    did(r, ctx, mcamp_gauss_sigma(ctx, 4, eps, DELTA_000, &f->none[i]));
    f->poisson[i] = cyclic_sigma(r, ctx, 2048, (double)f->bands / 128, f->bands, eps, DELTA_000);
    f->samples[i] = NONE;
    if (f->bands > 1) {
        f->bins[i] = bins_sigma(r, ctx, &f->c.m, 128, eps, &f->samples[i]);
        return;
    }
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_BINS;
    e.count = 1;
    e.bins = 128;
    e.rounds = 16;
    did(r, ctx, mcamp_exact_calibrate(ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, eps, DELTA_000,
                                      &f->bins[i], NULL));
}

TOOL_FN bool make_f2(report *r, fixed_000 *f, size_t bands)
{
    int c = add_chart(r, bands > 1 ? "64 bands, columns of equal norm" : "C = I: DP-SGD",
                      "improvement in RMSE over no amplification; 2048 rounds, 16 epochs, "
                      "delta 1e-5", "epsilon", "%"), l[2];
    memset(f, 0, sizeof *f);
    f->bands = bands;
    if (bands > 1) {
        f->c.n = 2048;
        f->c.b = 128;
        f->c.bands = bands;
        f->c.equal = f->c.keep = true;
        f->c.tolerance = 1e-4;
        solve_bands(r, &r->ctx, &f->c);
    }
    if (!r->failed) each(r, NEPS_F2, f2_task, f);
    mcamp_mech_free(&r->ctx, &f->c.m);
    r->chart[c].log_x = true;
    l[0] = add_line(r, c, "balls in bins");
    l[1] = add_line(r, c, "Poisson");
    for (size_t i = 0; i < NEPS_F2; i++) {
        point *p = add_point(r, l[0], eps_f2(i), gain_of(f->bins[i], f->none[i]));
        p->sigma = f->bins[i];
        p->samples = f->samples[i];
        add_point(r, l[1], eps_f2(i), gain_of(f->poisson[i], f->none[i]))->sigma = f->poisson[i];
    }
    set(r, "n, epochs, b", "2048, 16, 128");
    set(r, "delta", "1e-5 (assumed)");
    return !r->failed && !tool_interrupted;
}

TOOL_FN void run_000_f2a(report *r)
{
    fixed_000 f;
    double bins[2], poisson[2];
    if (!make_f2(r, &f, 1)) return;
    for (size_t i = 0; i < 2; i++) {
        bins[i] = gain_of(f.bins[i], f.none[i]);
        poisson[i] = gain_of(f.poisson[i], f.none[i]);
    }
    trend(r, "\"the improvement from the two sampling schemes is similar for smaller epsilon\"",
          "000, figure 2(a)", fabs(bins[0] - poisson[0]) < 2 &&
          fabs(bins[1] - poisson[1]) < 2, "eps 1/8: %.4g%% and %.4g%%; 1/4: %.4g%% and %.4g%%",
          bins[0], poisson[0], bins[1], poisson[1]);
    trend(r, "\"Poisson performs substantially better [...] for larger epsilon\"",
          "000, figure 2(a)", f.poisson[8] < 0.9 * f.bins[8], "eps 32: %.3g%%, balls in bins "
          "%.3g%%", gain_of(f.poisson[8], f.none[8]), gain_of(f.bins[8], f.none[8]));
}

TOOL_FN void run_000_f2b(report *r)
{
    fixed_000 f;
    bool below = true;
    if (!make_f2(r, &f, 64)) return;
    for (size_t i = 0; i < NEPS_F2 && eps_f2(i) < 16; i++)
        below = below && f.bins[i] < f.poisson[i];
    trend(r, "\"balls-in-bins consistently outperforms Poisson sampling until epsilon = 16\"",
          "000, figure 2(b)", below, "for eps 1/8 to 8; eps 2: sigma %.4g, Poisson %.4g", f.bins[4],
          f.poisson[4]);
}

/* ---- figure 3 and appendix B: a C for each epsilon ----------------------------------------- */

/* One setting: best bands, and optimised C. */
typedef struct setting_000 {
    bool made, quick, free_entries, optimise;
    size_t nopt;                /* of the four: 2: without column factors             */
    size_t n, b, nband, neps;
    band_of band[NBAND_000];
    double bins[NEPS_000][NBAND_000], poisson[NEPS_000][NBAND_000];
    double unamplified[NEPS_000][NBAND_000], none[NEPS_000];    /* none: the least of them */
    double rmse[NEPS_000][NOPT_000], sigma[NEPS_000][NOPT_000];
} setting_000;

TOOL_FN double eps_of(const setting_000 *s, size_t i) { return EPS_000[s->quick ? 2 * i : i]; }

/* Optimal Toeplitz coefficients without amplification, for appendix B. */
TOOL_FN void toeplitz_bands(report *r, mcamp_ctx *ctx, band_of *o)
{
    mcamp_opt_desc d;
    mcamp_opt_result res;
    double norm = 1;
    memset(&d, 0, sizeof d);
    memset(&res, 0, sizeof res);
    d.family = o->bands == 1 ? MCAMP_OPT_IDENTITY : MCAMP_OPT_TOEPLITZ;
    d.amplification = MCAMP_AMPLIFY_NONE;
    d.rounds = o->n;
    d.batches = o->b;
    d.bands = o->bands == 1 ? 0 : o->bands;
    d.eps = 1;
    d.delta = DELTA_000;
    d.tolerance = 1e-5;
    if (!did(r, ctx, mcamp_opt_run(ctx, &d, &o->m, &res)) ||
        !did(r, ctx, mcamp_mech_max_norm(ctx, &o->m, &norm))) return;
    o->unit = res.unit.rmse * norm;
    o->error = res.unit.rmse * res.sensitivity;
}

/* The largest first; afterwards its largest column has norm 1 in effect: `unit`. */
TOOL_FN void setting_solve(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    setting_000 *s = (setting_000 *)arg;
    band_of *o = &s->band[s->nband - 1 - i];
    if (s->free_entries) solve_bands(r, ctx, o);
    else toeplitz_bands(r, ctx, o);
}

TOOL_FN void setting_sigma(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    setting_000 *s = (setting_000 *)arg;
    size_t e = i / s->nband, w = i % s->nband, bands = s->band[w].bands;
    double eps = eps_of(s, e), norm = 1, samples, sigma = 0;
    const mcamp_mech *m = &s->band[w].m;
    mcamp_gram g;
    if (!did(r, ctx, mcamp_mech_max_norm(ctx, m, &norm))) return;
    s->bins[e][w] = bins_sigma(r, ctx, m, s->b, eps, &samples) / norm * s->band[w].unit;
    s->poisson[e][w] = NONE;
    if (2 * bands <= s->b)
        s->poisson[e][w] = s->band[w].unit * cyclic_sigma(r, ctx, s->n, (double)bands /
                                                          (double)s->b, bands, eps, DELTA_000);
    if (!did(r, ctx, mcamp_gram_init(ctx, m, s->b, &g))) return;
    did(r, ctx, mcamp_gauss_sigma(ctx, g.max_norm / norm, eps, DELTA_000, &sigma));
    s->unamplified[e][w] = sigma * s->band[w].unit;
    mcamp_gram_free(ctx, &g);
}

/* C made for this epsilon: Toeplitz, a BLT of 3 buffers; both with column factors. */
TOOL_FN void setting_optimise(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    setting_000 *s = (setting_000 *)arg;
    size_t e = i / s->nopt, k = i % s->nopt;
    mcamp_opt_desc d;
    mcamp_opt_result res;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    memset(&res, 0, sizeof res);
    d.family = k % 2 ? MCAMP_OPT_BLT : MCAMP_OPT_TOEPLITZ;
    d.buffers = k % 2 ? 3 : 0;
    d.scale_degree = k < 2 ? 0 : 3;
    d.amplification = MCAMP_AMPLIFY_BINS;
    d.rounds = s->n;
    d.batches = s->b;
    d.eps = eps_of(s, e);
    d.delta = DELTA_000;
    d.budget.seed = r->f->seed;
    d.budget.rel_error = r->f->quick ? 0.05 : 0.02;
    if (!did(r, ctx, mcamp_opt_run(ctx, &d, &m, &res))) return;
    s->rmse[e][k] = res.rmse;
    s->sigma[e][k] = res.sigma;
    mcamp_mech_free(ctx, &m);
}

TOOL_FN size_t best_of(const setting_000 *s, double v[][NBAND_000], size_t e)
{
    size_t best = 0;
    for (size_t w = 1; w < s->nband; w++) if (v[e][w] < v[e][best]) best = w;
    return best;
}

TOOL_FN void setting_make(report *r, setting_000 *s, size_t epochs, size_t b, bool free_entries,
                          bool optimise)
{
    bool bands = !s->made || s->quick != r->f->quick;
    if (bands) {
        memset(s, 0, sizeof *s);
        s->quick = r->f->quick;
        s->free_entries = free_entries;
        s->nopt = free_entries ? NOPT_000 : 2;
        s->n = epochs * b;
        s->b = b;
        s->neps = s->quick ? 3 : NEPS_000;
        for (size_t w = 1; w <= 256 && w <= s->n; w *= s->quick ? 4 : 2) {
            band_of *o = &s->band[s->nband++];
            o->n = s->n;
            o->b = free_entries && w > b ? s->n : b;
            o->bands = w;
            o->equal = o->keep = true;
            o->tolerance = 1e-4;
            o->steps = 150;
        }
        each(r, s->nband, setting_solve, s);
        if (!r->failed) each(r, s->neps * s->nband, setting_sigma, s);
        for (size_t e = 0; e < s->neps; e++)
            s->none[e] = s->unamplified[e][best_of(s, s->unamplified, e)];
        for (size_t w = 0; w < s->nband; w++) mcamp_mech_free(&r->ctx, &s->band[w].m);
    }
    if (optimise && !s->optimise && !r->failed && !tool_interrupted)
        each(r, s->neps * s->nopt, setting_optimise, s);
    s->made = !r->failed && !tool_interrupted;
    s->optimise = s->made && (s->optimise || optimise);
}

TOOL_FN void lines_f3a(report *r, setting_000 *s, const char *title)
{
    int c = add_chart(r, title, "improvement in RMSE over no amplification; each with its best "
                      "number of bands", "epsilon", "%"), l[2];
    r->chart[c].log_x = true;
    l[0] = add_line(r, c, "balls in bins");
    l[1] = add_line(r, c, "Poisson");
    for (size_t e = 0; e < s->neps; e++) {
        size_t w = best_of(s, s->bins, e), v = best_of(s, s->poisson, e);
        point *p = add_point(r, l[0], eps_of(s, e), gain_of(s->bins[e][w], s->none[e]));
        p->bands = (double)s->band[w].bands;
        p->error = s->bins[e][w];
        p = add_point(r, l[1], eps_of(s, e), gain_of(s->poisson[e][v], s->none[e]));
        p->bands = (double)s->band[v].bands;
        p->error = s->poisson[e][v];
    }
}

TOOL_FN void lines_f3b(report *r, setting_000 *s, const char *title)
{
    static const char *const name[] = { "Toeplitz", "BLT, 3 buffers", "Toeplitz, column factors",
                                        "BLT, 3 buffers, column factors" };
    int c = add_chart(r, title, "improvement in RMSE over the best banded C under Poisson sampling",
                      "epsilon", "%");
    r->chart[c].log_x = true;
    for (size_t k = 0; k < s->nopt; k++) {
        int l = add_line(r, c, "%s", name[k]);
        r->line[l].dashed = k > 1;
        for (size_t e = 0; e < s->neps; e++) {
            double base = s->poisson[e][best_of(s, s->poisson, e)];
            point *p = add_point(r, l, eps_of(s, e), gain_of(s->rmse[e][k], base));
            p->sigma = s->sigma[e][k];
            p->error = s->rmse[e][k];
        }
    }
}

static setting_000 SETTING_F3;

TOOL_FN void set_f3(report *r, const setting_000 *s)
{
    set(r, "n, b", "%lu, %lu", (unsigned long)s->n, (unsigned long)s->b);
    set(r, "delta", "1e-5 (assumed)");
    set(r, "bands", "1 to %lu; Poisson: at most b/2", (unsigned long)s->band[s->nband - 1].bands);
}

TOOL_FN void run_000_f3a(report *r)
{
    setting_000 *s = &SETTING_F3;
    bool close = true, better = true, worse = false;
    double at4 = 0;
    setting_make(r, s, 16, r->f->quick ? 32 : 128, true, false);
    if (!s->made) return;
    set_f3(r, s);
    lines_f3a(r, s, "The best number of bands");
    for (size_t e = 0; e < s->neps; e++) {
        double eps = eps_of(s, e), bins = s->bins[e][best_of(s, s->bins, e)];
        double poisson = s->poisson[e][best_of(s, s->poisson, e)];
        better = better && bins < s->none[e];
        if (eps < 4) close = close && poisson < bins && bins < 1.2 * poisson;
        if (eps > 3 && eps < 5) at4 = gain_of(bins, poisson);
        if (eps >= 8 && eps_of(s, s->neps - 1) <= eps) worse = poisson > bins;
    }
    trend(r, "balls in bins \"always strictly improves over the unamplified baseline\"",
          "000, figure 3(a)", better, "at every epsilon");
    trend(r, "\"For epsilon <= 4, the best RMSE under Poisson sampling slightly outperforms "
          "balls-in-bins\": below 4", "000, figure 3(a)", close, "by less than 20%%");
    if (!s->quick) {
        double none = s->none[5], poisson = s->poisson[5][best_of(s, s->poisson, 5)];
        because(trend(r, "the same at epsilon 4", "000, figure 3(a)", at4 < 0, "balls in bins is "
                      "%.2g%% %s", fabs(at4), at4 > 0 ? "better" : "worse"), at4 > 0 && at4 < 6,
                "the two curves cross between 2 and 4 here; matrices with freely optimised "
                "entries and columns of equal norm");
        trend(r, "\"At epsilon = 16 [...] it is better to forgo the amplification scheme\"",
              "000, figure 3(a)", poisson > none, "Poisson %.4g, without amplification %.4g",
              poisson, none);
    }
    trend(r, "deterioration of Poisson from 8 on", "000, figure 3(a)", worse, "balls in bins is "
          "better at epsilon %g", eps_of(s, s->neps - 1));
}

TOOL_FN void run_000_f3b(report *r)
{
    setting_000 *s = &SETTING_F3;
    size_t gains = 0;
    double top = 0, scaled = 0;
    bool blt = false;
    setting_make(r, s, 16, r->f->quick ? 32 : 128, true, true);
    if (!s->made) return;
    set_f3(r, s);
    lines_f3b(r, s, "C optimised under balls in bins");
    for (size_t e = 0; e < s->neps; e++) {
        double base = s->poisson[e][best_of(s, s->poisson, e)];
        double plain = fmin(s->rmse[e][0], s->rmse[e][1]);
        gains += plain < base;
        top = fmax(top, gain_of(plain, base));
        scaled = fmax(scaled, gain_of(fmin(s->rmse[e][2], s->rmse[e][3]), plain));
        blt = blt || s->rmse[e][1] < s->rmse[e][0];
    }
    trend(r, "\"for most epsilon values, our optimization procedure can give a reduction in RMSE\"",
          "000, figure 3(b)", 2 * gains >= s->neps, "%lu of %lu, at most %.3g%%",
          (unsigned long)gains, (unsigned long)s->neps, top);
    because(trend(r, "\"optimized BLTs sometimes outperform our optimized Toeplitz matrices\"",
                  "000, figure 3(b)", blt, "%s", blt ? "they do here as well" : "never here"),
            !blt, "Toeplitz C contain the BLTs, and this optimiser finds them: the paper supposes "
            "that its own did not");
    trend(r, "column factors (not in the paper) gain more", "here", scaled > 0, "up to %.3g%%",
          scaled);
}

TOOL_FN void run_000_f8(report *r)
{
    static const size_t epochs[] = { 8, 16, 32 }, batches[] = { 32, 64, 128 };
    size_t most = r->f->quick ? 1 : 3, better = 0, optimal = 0, all = 0;
    for (size_t i = 0; i < most; i++) {
        for (size_t j = 0; j < most && !r->failed && !tool_interrupted; j++) {
            setting_000 s;
            char title[80];
            s.made = false;
            setting_make(r, &s, epochs[i], batches[j], false, true);
            if (!s.made) return;
            put_text(title, sizeof title, "%lu epochs of %lu rounds", (unsigned long)epochs[i],
                     (unsigned long)batches[j]);
            lines_f3a(r, &s, title);
            lines_f3b(r, &s, title);
            for (size_t e = 0; e < s.neps; e++) {
                double poisson = s.poisson[e][best_of(&s, s.poisson, e)];
                better += s.bins[e][best_of(&s, s.bins, e)] < s.none[e];
                optimal += fmin(s.rmse[e][0], s.rmse[e][1]) < poisson;
                all++;
            }
        }
    }
    trend(r, "\"the high-level conclusions hold in all settings\": balls in bins improves over no "
          "amplification", "000, appendix B", better == all, "%lu of %lu points",
          (unsigned long)better, (unsigned long)all);
    trend(r, "optimised C improves over banded C with Poisson at most epsilon", "000, appendix B",
          2 * optimal > all, "%lu of %lu points", (unsigned long)optimal, (unsigned long)all);
    set(r, "epochs", r->f->quick ? "8" : "8, 16, 32");
    set(r, "b", r->f->quick ? "32" : "32, 64, 128");
    set(r, "delta", "1e-5 (assumed)");
    note(r, "Banded C are Toeplitz here, optimised without amplification. Column factors, which "
         "the paper has not: 000-f3b.");
}

/* ---- figure 4: how long the optimisation takes ------------------------------------------ */

TOOL_FN void optimise_f4(report *r, size_t epochs, size_t b, size_t steps, double *rmse,
                         double *done, double *seconds)
{
    mcamp_opt_desc d;
    mcamp_opt_result res;
    mcamp_mech m;
    double start = wall_seconds();
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    memset(&res, 0, sizeof res);
    d.family = MCAMP_OPT_TOEPLITZ;
    d.amplification = MCAMP_AMPLIFY_BINS;
    d.rounds = epochs * b;
    d.batches = b;
    d.eps = 1;
    d.delta = DELTA_000;
    d.budget.seed = r->f->seed;
    d.max_iterations = steps;
    if (steps) d.tolerance = 1e-15;
    if (!did(r, &r->ctx, mcamp_opt_run(&r->ctx, &d, &m, &res))) return;
    *rmse = res.rmse;
    *done = (double)res.iterations;
    *seconds = wall_seconds() - start;
    timed(r, *seconds, "E = %lu, b = %lu, %s", (unsigned long)epochs, (unsigned long)b,
          steps ? "300 steps" : "to convergence");
    mcamp_mech_free(&r->ctx, &m);
}

TOOL_FN void run_000_f4(report *r)
{
    static const size_t epochs[] = { 16, 32, 64 }, batches[] = { 32, 64, 128 };
    static const double paper[3][3] = { { 376.88, 384.44, 311.55 }, { 383.19, 323.56, 658.95 },
                                        { 389.37, 770.18, 3594.55 } };
    size_t most = r->f->quick ? 1 : 3, faster = 0, all = 0;
    int c = add_chart(r, "RMSE that the optimisation ends with", "Toeplitz C, epsilon 1, "
                      "delta 1e-5", "rounds of an epoch", "RMSE"), l[2];
    double worst = 0;
    for (size_t i = 0; i < most; i++) {
        l[0] = add_line(r, c, "%lu epochs, converged", (unsigned long)epochs[i]);
        l[1] = add_line(r, c, "%lu epochs, 300 steps", (unsigned long)epochs[i]);
        r->line[l[1]].dots = true;
        for (size_t j = 0; j < most; j++) {
            double rmse[2] = { 0 }, done[2] = { 0 }, seconds[2] = { 0 };
            for (int k = 0; k < 2 && !r->failed; k++) {
                optimise_f4(r, epochs[i], batches[j], k ? 300 : 0, &rmse[k], &done[k], &seconds[k]);
                add_point(r, l[k], (double)batches[j], rmse[k])->error = rmse[k];
            }
            if (r->failed) return;
            show_progress(r, (double)(most * i + j + 1) / (double)(most * most));
            timed(r, paper[j][i], "E = %lu, b = %lu, the paper's 300 steps on a V100, 131072 "
                  "samples", (unsigned long)epochs[i], (unsigned long)batches[j]);
            worst = fmax(worst, fabs(rmse[1] / rmse[0] - 1));
            faster += seconds[1] < paper[j][i];
            all++;
        }
    }
    trend(r, "300 steps take less time than in the paper (a V100)", "000, figure 4", faster == all,
          "in %lu of %lu settings; seconds in 000-f4.seconds.csv", (unsigned long)faster,
          (unsigned long)all);
    trend(r, "converged before the 300 steps are over", "here", worst < 0.02,
          "error within %.2g%% of that after 300", 100 * worst);
    set(r, "epochs", r->f->quick ? "16" : "16, 32, 64");
    set(r, "b", r->f->quick ? "32" : "32, 64, 128");
    set(r, "epsilon, delta", "1, 1e-5");
    note(r, "Seconds depend on the machine: they are not in these files but in 000-f4.seconds.csv, "
         "the only one that need not have the same bytes. Steps here are those of a "
         "quasi-Newton method with closed gradients; where the paper ran out of memory (64 epochs "
         "of 128, 1048576 samples), it ends here.");
}

/* ---- figure 5: few samples for each step ------------------------------------------------- */

enum { NEPS_F5 = 4, NINNER_F5 = 8 };

static const int INNER_F5[NINNER_F5] = { 6, 7, 8, 9, 10, 12, 13, 14 };

typedef struct inner_f5 {
    size_t n, b, ninner;
    double rmse[NEPS_F5][NINNER_F5], steps[NEPS_F5][NINNER_F5];
} inner_f5;

/* One optimisation, most samples first.  It may fail for want of samples: NONE.  The final
 * sigma, and with it the RMSE, has a budget of its own.                                */
TOOL_FN void f5_task(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    inner_f5 *f = (inner_f5 *)arg;
    size_t e = i % NEPS_F5, k = f->ninner - 1 - i / NEPS_F5;
    mcamp_opt_desc d;
    mcamp_opt_result res;
    mcamp_mech m;
    mcamp_status st;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    memset(&res, 0, sizeof res);
    d.family = MCAMP_OPT_TOEPLITZ;
    d.amplification = MCAMP_AMPLIFY_BINS;
    d.rounds = f->n;
    d.batches = f->b;
    d.eps = EPS_000[e];
    d.delta = DELTA_000;
    d.inner_samples = (uint64_t)1 << INNER_F5[k];
    d.max_iterations = 40;
    d.budget.seed = r->f->seed;
    d.budget.rel_error = 0.01;
    st = mcamp_opt_run(ctx, &d, &m, &res);
    f->rmse[e][k] = f->steps[e][k] = NONE;
    if (st == MCAMP_E_SAMPLE || !did(r, ctx, st)) return;
    f->rmse[e][k] = res.rmse;
    f->steps[e][k] = (double)res.iterations;
    mcamp_mech_free(ctx, &m);
}

TOOL_FN void run_000_f5(report *r)
{
    inner_f5 f;
    double few = 0, more[NEPS_F5] = { 0 };
    int c = add_chart(r, "Error against samples of a gradient step", "Toeplitz C under balls in "
                      "bins, delta 1e-5", "samples", "RMSE above that of the most samples, %");
    memset(&f, 0, sizeof f);
    f.ninner = r->f->quick ? 6 : NINNER_F5;
    f.b = r->f->quick ? 8 : 32;
    f.n = (r->f->quick ? 4 : 16) * f.b;
    each(r, NEPS_F5 * f.ninner, f5_task, &f);
    if (r->failed || tool_interrupted) return;
    r->chart[c].log_x = true;
    for (size_t e = 0; e < NEPS_F5; e++) {
        double base = f.rmse[e][f.ninner - 1];
        int l = add_line(r, c, "epsilon %g", EPS_000[e]);
        for (size_t k = 0; k < f.ninner; k++) {
            double above = 100 * (f.rmse[e][k] / base - 1);
            point *p = add_point(r, l, pow(2, INNER_F5[k]), above);
            p->error = f.rmse[e][k];
            p->samples = pow(2, INNER_F5[k]);
            if (INNER_F5[k] == 9) more[e] = above;
        }
        if (e < 3) few = more[e] > few || isnan(more[e]) ? more[e] : few;
    }
    trend(r, "at epsilon 0.5, 1, 2 about 2^9 samples suffice for \"similar RMSE as 2^20\"",
          "000, figure 5", few < 2, "at most %.2g%% above 2^%d samples", few,
          INNER_F5[f.ninner - 1]);
    number(r, "increase at epsilon 4 with 2^9 samples, %", "000, figure 5: \"~ 10%\"", "10",
           more[3], LESS_IS_BETTER);
    set(r, "n, b", "%lu, %lu (chosen here)", (unsigned long)f.n, (unsigned long)f.b);
    set(r, "epsilon", "0.5, 1, 2, 4");
    set(r, "delta", "1e-5");
    set(r, "samples", "2^6 to 2^%d; 40 steps at most", INNER_F5[f.ninner - 1]);
    note(r, "Compared with 2^%d samples instead of 2^20: tilted samples, of which so many know "
         "delta to a percent or two, while 2^20 plain ones see it ten times (to 30%%). Plain "
         "samples below 1/delta see nothing, so that there is no curve of theirs here.",
         INNER_F5[f.ninner - 1]);
}

#define RMSE_BY "RMSE = sigma |A C^-1|_F/sqrt(n); balls in bins: mcamp_sigma; Poisson: the exact " \
    "accountant"
#define RMSE_ITEMS_000 \
    { "000-f2a", "Amplification of DP-SGD", "000, figure 2(a)", 3, 3, run_000_f2a, \
      "exact accountant, all three" }, \
    { "000-f2b", "Amplification of 64 bands", "000, figure 2(b)", 25, 12, run_000_f2b, RMSE_BY }, \
    { "000-f3a", "Best numbers of bands", "000, figure 3(a)", 140, 10, run_000_f3a, RMSE_BY }, \
    { "000-f3b", "C optimised under balls in bins", "000, figure 3(b)", 135, 6, run_000_f3b, \
      RMSE_BY }, \
    { "000-f4", "Time to optimise", "000, figure 4", 120, 3, run_000_f4, "the library's " \
      "optimiser, to convergence and for 300 steps" }, \
    { "000-f8-25", "Appendix B: nine settings", "000, figures 8 to 25", 220, 6, run_000_f8, \
      RMSE_BY }, \
    { "000-f5", "Error against samples per gradient step", "000, figure 5", 30, 5, run_000_f5, \
      "the library's optimiser with so many samples for each value and gradient; sigma of " \
      "what it finds anew, to 1%" },

#endif
