/* "Building Blocks of Differentially Private Training". */
#ifndef REPRODUCE_001_H
#define REPRODUCE_001_H

#include "reproduce_frame.h"

#define DELTA_001 1e-6

/* ---- a private mean: sigma of one Gaussian mechanism ---------------------------------- */

TOOL_FN double formula_001(report *r, mcamp_formula f, double eps)
{
    double s = NONE;
    if (mcamp_exact_classical_sigma(&r->ctx, f, 1, eps, DELTA_001, &s) < 0) return NONE;
    return s;
}

TOOL_FN void numbers_001_mean(report *r)
{
    double exact = 0, simple = formula_001(r, MCAMP_FORMULA_SIMPLE, 0.5);
    double refined = ENDLESS, short_form = sqrt(2 * log(1 / DELTA_001)) / 0.5;
    for (int f = MCAMP_FORMULA_REFINED_1; f <= MCAMP_FORMULA_REFINED_4; f++) {
        double s = formula_001(r, (mcamp_formula)f, 0.5);
        if (s < refined) refined = s;
    }
    if (!did(r, &r->ctx, mcamp_gauss_sigma(&r->ctx, 1, 0.5, DELTA_001, &exact))) return;
    number(r, "deviation of the mean, analytic", "001, \"sigma ~ 806\"", "806", 100 * exact,
           LESS_IS_BETTER);
    number(r, "two deviations", "001, \"within 1,612\"", "1612", 2 * floor(100 * exact + 0.5),
           LESS_IS_BETTER);
    number(r, "best of the four refinements", "001, \"sigma ~ 1026\"", "1026", 100 * refined,
           LESS_IS_BETTER);
    because(number(r, "the simple formula", "001, \"sigma ~ 1051\"", "1051", 100 * simple,
                   LESS_IS_BETTER),
            fabs(100 * short_form - 1051) <= 0.5, "the formula in the text, sqrt(2 log(1/delta) + "
            "2 eps)/eps, gives %.1f; without its 2 eps it gives %.1f, which is what is printed",
            100 * simple, 100 * short_form);
}

TOOL_FN void run_001_mean(report *r)
{
    static const char *const name[] = { "", "simple", "", "refined, 1", "refined, 2",
                                        "refined, 3", "refined, 4" };
    int c = add_chart(r, "Noise of a private mean salary", "10 000 employees, at most 1 000 000 "
                      "each, delta 1e-6", "epsilon", "deviation of the mean"), l;
    r->chart[c].log_x = r->chart[c].log_y = true;
    for (int f = MCAMP_FORMULA_SIMPLE; f <= MCAMP_FORMULA_REFINED_4; f++) {
        if (!name[f][0]) continue;
        l = add_line(r, c, "%s", name[f]);
        r->line[l].dashed = true;
        for (int i = -20; i <= 20; i++) {
            double eps = pow(10, 0.05 * i), s = formula_001(r, (mcamp_formula)f, eps);
            add_point(r, l, eps, 100 * s)->sigma = s;
        }
    }
    l = add_line(r, c, "analytic");
    for (int i = -20; i <= 20; i++) {
        double eps = pow(10, 0.05 * i), s = 0;
        if (!did(r, &r->ctx, mcamp_gauss_sigma(&r->ctx, 1, eps, DELTA_001, &s))) return;
        add_point(r, l, eps, 100 * s)->sigma = s;
    }
    l = add_line(r, c, "printed: 806, 1026, 1051");
    r->line[l].dots = true;
    add_point(r, l, 0.5, 806);
    add_point(r, l, 0.5, 1026);
    add_point(r, l, 0.5, 1051);
    set(r, "delta", "1e-6");
    set(r, "B/n", "1000000/10000 = 100");
    note(r, "Refinements are drawn where they are valid: a formula that gives less noise than the "
         "exact curve needs is left out there.");
    numbers_001_mean(r);
}

/* ---- sigma against the number of steps -------------------------------------------------- */

typedef struct steps_001 {
    size_t n;
    double T[24], advanced[24], optimal[24], rdp[24], sampled_rdp[24], exact[24], sampled[24];
} steps_001;

TOOL_FN mcamp_event event_001(double q, double sigma, double T)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = q < 1 ? MCAMP_EVENT_POISSON : MCAMP_EVENT_GAUSSIAN;
    e.q = q < 1 ? q : 0;
    e.sigma = sigma;
    e.count = (uint64_t)T;
    return e;
}

/* The smallest sigma, to 1e-4, at which the best Renyi order gives eps 1. */
TOOL_FN double rdp_sigma_001(report *r, mcamp_ctx *ctx, double q, double T)
{
    double lo = 0.3, hi = 1e4, eps = 0;
    while (hi > 1.0001 * lo && !r->failed) {
        double mid = sqrt(lo * hi);
        mcamp_event e = event_001(q, mid, T);
        did(r, ctx, mcamp_exact_rdp_epsilon(ctx, &e, 1, NULL, 0, DELTA_001, &eps, NULL));
        if (eps <= 1) hi = mid; else lo = mid;
    }
    return hi;
}

/* Per step (eps0, delta/(2T)): eps0 as the text splits it, or the largest whose optimal
 * composition keeps (1, delta).                                                       */
TOOL_FN double composed_sigma_001(report *r, mcamp_ctx *ctx, double T, bool optimal)
{
    double eps0 = 1 / (2 * sqrt(T * log(exp(1) + 1 / DELTA_001))), sigma = 0, total = 0;
    double lo = eps0, hi = 1;
    while (optimal && hi > 1.0001 * lo && !r->failed) {
        double mid = sqrt(lo * hi);
        if (mcamp_exact_compose_optimal(ctx, mid, DELTA_001 / (2 * T), (uint64_t)T, DELTA_001,
                                        &total) >= 0 && total <= 1) lo = mid;
        else hi = mid;
    }
    did(r, ctx, mcamp_gauss_sigma(ctx, 1, optimal ? lo : eps0, DELTA_001 / (2 * T), &sigma));
    return sigma;
}

TOOL_FN void step_task(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    steps_001 *s = (steps_001 *)arg;
    mcamp_event e = event_001(1, 1, s->T[i]), p = event_001(0.05, 1, s->T[i]);
    s->advanced[i] = composed_sigma_001(r, ctx, s->T[i], false);
    s->optimal[i] = composed_sigma_001(r, ctx, s->T[i], true);
    s->rdp[i] = rdp_sigma_001(r, ctx, 1, s->T[i]);
    s->sampled_rdp[i] = rdp_sigma_001(r, ctx, 0.05, s->T[i]);
    did(r, ctx, mcamp_exact_calibrate(ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, 1, DELTA_001,
                                      &s->exact[i], NULL));
    did(r, ctx, mcamp_exact_calibrate(ctx, &p, 1, NULL, 0, MCAMP_PARAM_SIGMA, 1, DELTA_001,
                                      &s->sampled[i], NULL));
}

TOOL_FN void findings_001_T(report *r, const steps_001 *s)
{
    bool order = true, close = true, less = true;
    double widest = 1, gain_first = 0, gain_last = 0, sigma = 0;
    for (size_t i = 0; i < s->n; i++) {
        double ratio = s->sampled_rdp[i] / 0.05 / s->rdp[i];
        order = order && s->rdp[i] < s->advanced[i] && s->exact[i] <= s->rdp[i] * 1.0002 &&
                (s->T[i] < 2 || s->optimal[i] < s->advanced[i]);
        less = less && s->sampled[i] / 0.05 < s->exact[i] * 20.0001 &&
               s->sampled[i] <= s->sampled_rdp[i] * 1.0002;
        if (s->T[i] >= 100 && ratio > widest) widest = ratio;
        if (s->T[i] >= 100) close = close && ratio < 1.5;
        if (!i) gain_first = s->sampled_rdp[i] / s->sampled[i] - 1;
        gain_last = s->sampled_rdp[i] / s->sampled[i] - 1;
    }
    trend(r, "\"We need a way smaller noise for the same exact privacy guarantees\": RDP below "
          "advanced composition", "001, second try", order, "at T = %g: %.4g instead of %.4g",
          s->T[s->n - 1], s->rdp[s->n - 1], s->advanced[s->n - 1]);
    trend(r, "\"Using subsampling, we get a basically the same noise levels for SGD as GD\"",
          "001, third try", close, "sigma/q at most %.3g times sigma of full batches (T >= 100)",
          widest);
    trend(r, "\"Using tighter numerical solvers [...] subsampling allows us to add less noise, "
          "especially at smaller values of T\"", "001, third try", less && gain_first > gain_last,
          "exact below RDP by %.2g%% at T = 1, %.2g%% at T = %g", 100 * gain_first,
          100 * gain_last, s->T[s->n - 1]);
    if (!did(r, &r->ctx, mcamp_gauss_sigma(&r->ctx, 1, 1, DELTA_001, &sigma))) return;
    number(r, "sigma of the matrix factorisation, T = 200", "001, fourth try: \"sigma ~ 4\"", "4",
           sigma, LESS_IS_BETTER);
}

TOOL_FN void run_001_T(report *r)
{
    static const double T[] = { 1, 2, 3, 5, 10, 20, 30, 50, 100, 150, 200, 300, 500, 700, 1000,
                                1500, 2000, 3000 };
    static const double few[] = { 1, 10, 100, 200, 1000, 3000 };
    static const char *const name[] = { "advanced composition, the text's split",
        "optimal composition", "RDP", "RDP, sampled with q = 0.05 (sigma/q)", "exact",
        "exact, sampled with q = 0.05 (sigma/q)" };
    steps_001 s;
    int c = add_chart(r, "Noise per step against the number of steps", "epsilon 1, delta 1e-6",
                      "T", "sigma");
    const double *of[] = { s.advanced, s.optimal, s.rdp, s.sampled_rdp, s.exact, s.sampled };
    memset(&s, 0, sizeof s);
    s.n = r->f->quick ? sizeof few / sizeof few[0] : sizeof T / sizeof T[0];
    memcpy(s.T, r->f->quick ? few : T, s.n * sizeof *T);
    each(r, s.n, step_task, &s);
    r->chart[c].log_x = r->chart[c].log_y = true;
    for (int k = 0; k < 6; k++) {
        int l = add_line(r, c, "%s", name[k]);
        bool sampled = k == 3 || k == 5;
        r->line[l].dashed = sampled;
        for (size_t i = 0; i < s.n; i++)
            add_point(r, l, s.T[i], of[k][i] / (sampled ? 0.05 : 1))->sigma = of[k][i];
    }
    set(r, "epsilon, delta", "1, 1e-6");
    set(r, "q", "0.05; sigma of sampled steps is divided by it, as noise on a mean");
    note(r, "The plots' numbers are not printed. Clipping (30) only scales the axis. The text's "
         "\"batchsize of 25\" is read as a participation every 25 rounds, without sampling; sigma "
         "is then that of one Gaussian mechanism of the matrix's sensitivity.");
    findings_001_T(r, &s);
}

/* ---- structure of a factorisation --------------------------------------------------------- */

enum { N_MF = 200, B_MF = 25 };

/* Rows of C, C^-1 and A C^-1, A = prefix sums. */
TOOL_FN void matrices_001(report *r, const mcamp_mech *m, double *c, double *inverse, double *b)
{
    size_t n = m->n;
    double *column = numbers_of(n), *unit = numbers_of(n);
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        memset(unit, 0, n * sizeof *unit);
        unit[j] = 1;
        if (!did(r, &r->ctx, mcamp_mech_column(&r->ctx, m, j, column))) break;
        for (size_t i = 0; i < n; i++) c[i * n + j] = column[i];
        if (!did(r, &r->ctx, mcamp_mech_solve(&r->ctx, m, unit, column))) break;
        for (size_t i = 0; i < n; i++) {
            inverse[i * n + j] = column[i];
            b[i * n + j] = sum += column[i];
        }
    }
    free(column);
    free(unit);
}

TOOL_FN void histogram_001(report *r, const double *inverse, size_t n)
{
    int c = add_chart(r, "Entries of C^-1 that are not 0", "on and below the diagonal",
                      "value", "how many (logarithmic)"), l;
    double count[81] = { 0 }, zero = 0, negative = 0, positive = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double v = inverse[i * n + j];
            int k = (int)floor(v / 0.025 + 40.5);
            all++;
            if (fabs(v) < 0.0125) { zero++; continue; }
            if (k >= 0 && k <= 80) count[k]++;
            if (v < 0) negative++; else positive++;
        }
    }
    r->chart[c].log_y = true;
    r->chart[c].floor = 0.5;
    l = add_line(r, c, "entries");
    for (int k = 0; k <= 80; k++)
        if (count[k] > 0) add_point(r, l, 0.025 * (k - 40), count[k]);
    r->line[l].dots = true;
    trend(r, "\"most elements are zero, we can observe a positive and a negative cluster\"",
          "001, distribution of C^-1", zero > 0.5 * all && negative > 0 && positive > 0,
          "%.0f%% within 0.0125 of 0, %.0f below, %.0f above", 100 * zero / all, negative,
          positive);
}

TOOL_FN void rows_001(report *r, const double *b, size_t n)
{
    int c = add_chart(r, "Noise that has accumulated by each step", "norms of the rows",
                      "step", "norm"), plain, ours;
    double last = 0;
    plain = add_line(r, c, "A: independent noise");
    ours = add_line(r, c, "A C^-1: correlated noise");
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j <= i; j++) sum += b[i * n + j] * b[i * n + j];
        last = sqrt(sum);
        add_point(r, plain, (double)i + 1, sqrt((double)i + 1));
        add_point(r, ours, (double)i + 1, last);
    }
    trend(r, "\"A[i,:] increases at a much higher rate\"", "001, noise accumulation",
          last < 0.5 * sqrt((double)n), "at step %lu: %.3g instead of %.3g (unit noise, equal "
          "column norms)", (unsigned long)n, last, sqrt((double)n));
}

TOOL_FN void run_001_mf(report *r)
{
    mcamp_opt_desc d;
    mcamp_opt_result res;
    mcamp_mech m;
    size_t n = N_MF;
    double *c = numbers_of(n * n), *inverse = numbers_of(n * n), *b = numbers_of(n * n);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.family = MCAMP_OPT_BANDED;
    d.amplification = MCAMP_AMPLIFY_NONE;
    d.rounds = n;
    d.batches = d.bands = B_MF;
    d.equal_norms = true;
    d.eps = 1;
    d.delta = DELTA_001;
    if (did(r, &r->ctx, mcamp_opt_run(&r->ctx, &d, &m, &res))) {
        matrices_001(r, &m, c, inverse, b);
        put_text(r->maps_title, sizeof r->maps_title, "n = 200, 25 bands, equal column norms; "
                 "colours by the square root");
        add_map(r, "B = A C^-1", b, n, n)->root = true;
        add_map(r, "C", c, n, n)->root = true;
        add_map(r, "C^-1", inverse, n, n)->root = true;
        histogram_001(r, inverse, n);
        rows_001(r, b, n);
    }
    set(r, "n, b, bands", "200, 25, 25");
    note(r, "The post draws the matrices that the authors of 004 released; these are made by the "
         "same optimisation.");
    mcamp_mech_free(&r->ctx, &m);
    free(c);
    free(inverse);
    free(b);
}

#define ITEMS_001 \
    { "001-mean", "Noise of a private mean by five analyses", "001, first_salary_plot, " \
      "three_sigma", 1, 1, run_001_mean, "closed formulas, and the Gaussian mechanism's curve" }, \
    { "001-T", "Noise against the number of steps by five analyses", "001, advanced_comp_sigma, " \
      "rdp_comp_sigma, subsampled_rdp_comp", 3, 2, run_001_T, "smallest sigma by each analysis; " \
      "exact: the certified accountant" }, \
    { "001-mf", "Structure of a banded factorisation", "001, matrix_structure, " \
      "distribution_c_inv, noise_acc", 2, 2, run_001_mf, "minimises the error of prefix sums " \
      "over banded C with columns of equal norm" },

#endif
