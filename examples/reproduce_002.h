/* "Limits of Privacy Amplification by Subsampling": Laplace noise on a Poisson sample.    */
#ifndef REPRODUCE_002_H
#define REPRODUCE_002_H

#include "reproduce_frame.h"

static const double P_002[] = { 1, 0.5, 0.1, 0.01, 0.001 };
enum { NP_002 = sizeof P_002 / sizeof P_002[0] };

/* p eps_p / eps, the noise without sampling over the noise on a sample. */
TOOL_FN double saving(report *r, double eps, double p)
{
    double on_sample, ratio = 1;
    if (eps > 0)
        did(r, &r->ctx, mcamp_exact_laplace_amplified(&r->ctx, eps, p, &on_sample, &ratio));
    return ratio;
}

TOOL_FN void run_002_f1(report *r)
{
    size_t points = r->f->quick ? 21 : 101;
    bool bounded = true, fewer = true;
    double worst = 1, series = 0, gap = 0;
    int c = add_chart(r, "Noise of the whole over noise on a sample", "1: sampling costs nothing",
                      "epsilon", "ratio of noise scales");
    for (size_t k = 0; k < NP_002; k++) {
        double p = P_002[k], before = 2;
        int l = add_line(r, c, "p = %g", p);
        for (size_t i = 0; i < points; i++) {
            double eps = (double)i / (double)(points - 1), ratio = saving(r, eps, p);
            point *q = add_point(r, l, eps, ratio);
            q->lower = p / (p + eps);
            q->upper = 1;
            bounded = bounded && ratio >= q->lower * (1 - 1e-12) && ratio <= 1 + 1e-12;
            fewer = fewer && ratio <= before + 1e-12;
            before = ratio;
            if (ratio < worst) worst = ratio;
        }
    }
    for (size_t k = 0; k < NP_002; k++) {       /* equation 5 at eps = p/100 */
        double p = P_002[k], e = p / 100, ours = saving(r, e, p) * e / p;
        series = e / p - (1 - p) * e * e / (2 * p * p) +
                 (2 - p) * (1 - p) * e * e * e / (6 * p * p * p);
        if (fabs(series / ours - 1) > gap) gap = fabs(series / ours - 1);
    }
    set(r, "p", "1, 0.5, 0.1, 0.01, 0.001");
    set(r, "epsilon", "0 to 1, %lu points", (unsigned long)points);
    trend(r, "p/(p + eps) <= ratio <= 1 (equation 6)", "002, equations 6 and 7", bounded && fewer,
          "at all %lu points, falling in eps; least %.4g", (unsigned long)(NP_002 * points), worst);
    trend(r, "eps_p = eps/p - (1-p) eps^2/(2 p^2) + (2-p)(1-p) eps^3/(6 p^3) +- ...",
          "002, equation 5", gap < 1e-5, "at eps = p/100 to %.1e, relatively", gap);
    trend(r, "\"This doesn't look so good!\": far from 1 where p is small", "002, figure 1",
          saving(r, 1, 0.001) < 0.1 && saving(r, 0.1, 0.5) > 0.9,
          "eps = 1, p = 0.001: %.4g; eps = 0.1, p = 0.5: %.4g", saving(r, 1, 0.001),
          saving(r, 0.1, 0.5));
}

TOOL_FN void run_002_f2(report *r)
{
    static const double slope[] = { 0.1, 0.5, 1, 2, 5, 10 };
    size_t points = r->f->quick ? 20 : 100;
    double half = 2;
    bool above = true;
    int c = add_chart(r, "The same with epsilon = c p", "dashed: the bound log(1 + c)/c", "p",
                      "ratio of noise scales");
    for (size_t k = 0; k < sizeof slope / sizeof slope[0]; k++) {
        double s = slope[k], bound = log1p(s) / s;
        int l = add_line(r, c, "c = %g", s), b = add_line(r, c, "bound, c = %g", s);
        r->line[b].dashed = true;
        for (size_t i = 1; i <= points; i++) {
            double p = (double)i / (double)points, ratio = saving(r, s * p, p);
            add_point(r, l, p, ratio)->lower = bound;
            add_point(r, b, p, bound);
            above = above && ratio >= bound * (1 - 1e-12);
            if (s <= 2 && ratio < half) half = ratio;
        }
    }
    set(r, "c", "0.1, 0.5, 1, 2, 5, 10");
    set(r, "p", "1/%lu to 1", (unsigned long)points);
    trend(r, "the ratio is at least log(1 + c)/c (equation 8)", "002, equation 8", above,
          "at all points");
    trend(r, "for eps <= 2 p the ratio is at least 1/2", "002, below figure 2", half >= 0.5,
          "least %.4g", half);
}

TOOL_FN void run_002_f3(report *r)
{
    double worst = 0, at_two;
    int c = add_chart(r, "The bound log(1 + c)/c", "and the smallest ratio found, at p = 1e-6",
                      "c", "ratio of noise scales");
    int l = add_line(r, c, "log(1 + c)/c"), m = add_line(r, c, "smallest ratio over p, eps <= c p");
    r->line[m].dots = true;
    for (int i = 1; i <= 100; i++) {
        double s = 0.1 * i, bound = log1p(s) / s, least = 2;
        add_point(r, l, s, bound);
        if (i % 5) continue;
        for (int k = 0; k <= 24; k++) {
            double p = pow(10, -0.25 * k), ratio = saving(r, s * p, p);
            if (ratio < least) least = ratio;
        }
        add_point(r, m, s, least);
        if (fabs(least / bound - 1) > worst) worst = fabs(least / bound - 1);
    }
    at_two = log1p(2) / 2;
    set(r, "c", "0.1 to 10");
    set(r, "p", "1 to 1e-6, logarithmic");
    trend(r, "log(1 + c)/c is the infimum (equation 8)", "002, equation 8", worst < 1e-4,
          "the smallest ratio found is within %.1e of it", worst);
    trend(r, "c = 2 costs at most twice the noise", "002, below figure 2", at_two > 0.5,
          "log(3)/2 = %.4f, %.3f times the noise", at_two, 1 / at_two);
}

TOOL_FN void run_002_eq(report *r)
{
    double n = 1000;
    bool above = true;
    int c = add_chart(r, "Mean squared errors of the mean of 1000 numbers",
                      "equation 1 (all of them) and equation 2 (on a sample)", "epsilon",
                      "mean squared error");
    r->chart[c].log_x = r->chart[c].log_y = true;
    for (size_t k = 0; k < NP_002; k++) {
        double p = P_002[k];
        int l = add_line(r, c, k ? "on a sample, p = %g" : "all of them, p = %g", p);
        for (int i = -16; i <= 4; i++) {
            double eps = pow(10, 0.25 * i), full = 0, sampled = 0;
            if (!did(r, &r->ctx, mcamp_exact_laplace_errors(&r->ctx, eps, p, n, &full, &sampled)))
                return;
            add_point(r, l, eps, k ? sampled : full)->lower = full;
            above = above && sampled >= full;
        }
    }
    set(r, "n", "1000 numbers in [0, 1]");
    set(r, "p", "1, 0.5, 0.1, 0.01, 0.001");
    trend(r, "equation 2 is at least equation 1: 1/(p n) and the approximation of eps_p",
          "002, equations 1 and 2", above, "at all points");
}

typedef struct batches_002 { report *r; double sigma[16]; size_t n; uint64_t rounds; } batches_002;

TOOL_FN void batch_task(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    batches_002 *b = (batches_002 *)arg;
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.count = b->rounds;
    e.q = pow(2, -(double)i);
    did(r, ctx, mcamp_exact_calibrate(ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, 1, 1e-6, &b->sigma[i],
                                      NULL));
}

TOOL_FN void run_002_gauss(report *r)
{
    batches_002 b = { r, { 0 }, 14, 1000 };
    double n = 50000, least = 0;
    bool falls = true;
    int c = add_chart(r, "Gaussian noise: noise on the mean against the size of batches",
                      "50 000 examples, 1000 rounds, epsilon 1, delta 1e-6", "batch size",
                      "deviation of the noise on a batch's mean"), l;
    r->chart[c].log_x = r->chart[c].log_y = true;
    if (r->f->quick) b.n = 10;
    each(r, b.n, batch_task, &b);
    l = add_line(r, c, "Poisson sampling");
    for (size_t i = b.n; i-- > 0; ) {
        double batch = n * pow(2, -(double)i);
        add_point(r, l, batch, b.sigma[i] / batch)->sigma = b.sigma[i];
        falls = falls && (i + 1 == b.n || b.sigma[i] / batch < least);
        least = b.sigma[i] / batch;
    }
    l = add_line(r, c, "as the whole data");
    r->line[l].dashed = true;
    add_point(r, l, n * pow(2, 1 - (double)b.n), b.sigma[0] / n);
    add_point(r, l, n, b.sigma[0] / n);
    set(r, "examples", "50000");
    set(r, "rounds", "1000");
    set(r, "epsilon, delta", "1, 1e-6");
    note(r, "The post plots no Gaussian case; sizes, rounds, epsilon and delta are chosen here.");
    trend(r, "\"larger batch sizes yield better results\"", "002, conclusion", falls,
          "the noise falls with every doubling: %.3g times at the smallest batch",
          b.sigma[b.n - 1] * pow(2, (double)b.n - 1) / b.sigma[0]);
}

#define LAPLACE_BY "closed forms: eps_p = log(1 + (e^eps - 1)/p), ratio p eps_p/eps"
#define ITEMS_002 \
    { "002-f1", "Laplace noise on a sample: ratio against epsilon", "002, figure 1", 1, 1, \
      run_002_f1, LAPLACE_BY }, \
    { "002-f2", "The ratio where epsilon = c p", "002, figure 2", 1, 1, run_002_f2, LAPLACE_BY }, \
    { "002-f3", "The bound log(1 + c)/c", "002, figure 3", 1, 1, run_002_f3, LAPLACE_BY }, \
    { "002-eq", "Errors of equations 1 and 2", "002, equations 1 and 2", 1, 1, run_002_eq, \
      LAPLACE_BY }, \
    { "002-gauss", "The Gaussian analogue: noise against batch size", "002, conclusion", 3, 2, \
      run_002_gauss, "smallest certified sigma by the exact accountant at each batch size" },

#endif
