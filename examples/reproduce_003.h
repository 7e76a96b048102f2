/* "Tight Group-Level DP Guarantees for DP-SGD with Sampling via Mixture of Gaussians
 * Mechanisms".  The note prints no numbers beside its plots; delta and sigma are assumed.  */
#ifndef REPRODUCE_003_H
#define REPRODUCE_003_H

#include "reproduce_frame.h"

static const double SIGMA_003[] = { 0.5, 1, 2, 4 };
static const size_t GROUP_003[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 };
enum { NSIGMA_003 = 4, NGROUP_003 = 10 };

#define DELTA_003 1e-6

typedef struct groups_003 {
    bool fixed;                 /* batches of one size, and twice the noise     */
    size_t groups;
    double tight[NSIGMA_003][NGROUP_003], converted[NSIGMA_003][NGROUP_003];
} groups_003;

TOOL_FN mcamp_event event_003(const groups_003 *g, double sigma, size_t group)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.count = 2000;
    e.group = group;
    e.sigma = g->fixed ? 2 * sigma : sigma;
    if (g->fixed) {
        e.kind = MCAMP_EVENT_GROUP_FIXED;
        e.population = 50000;
        e.batch = 500;
    } else {
        e.kind = MCAMP_EVENT_GROUP_POISSON;
        e.q = 0.01;
    }
    return e;
}

/* log of what Vadhan's conversion makes of delta at e: (e, delta_1) for one example gives
 * (k e, delta_1 (e^{k e} - 1)/(e^e - 1)) for groups of k.  -infinity: delta underflows.   */
TOOL_FN double log_delta_003(report *r, mcamp_ctx *ctx, const mcamp_event *one, double e, size_t k)
{
    mcamp_interval d = { 0, 1 };
    did(r, ctx, mcamp_exact_delta(ctx, one, 1, NULL, e, &d, NULL));
    if (d.upper < 1e-300) return -ENDLESS;
    return log(d.upper) + (double)(k - 1) * e + log(-expm1(-(double)k * e)) - log(-expm1(-e));
}

/* k e for the smallest e, to 0.1%, that meets delta; infinity where doubles end before. */
TOOL_FN double converted_003(report *r, mcamp_ctx *ctx, const mcamp_event *one, double from,
                             size_t k)
{
    double lo = from, hi = 40 * from;
    while (hi > 1.001 * lo && !r->failed) {
        double mid = sqrt(lo * hi);
        if (log_delta_003(r, ctx, one, mid, k) <= log(DELTA_003)) hi = mid;
        else lo = mid;
    }
    return log_delta_003(r, ctx, one, hi, k) > -1e300 ? (double)k * hi : ENDLESS;
}

/* One sigma and one size of groups. */
TOOL_FN void task_003(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    groups_003 *g = (groups_003 *)arg;
    size_t s = i / g->groups, k = i % g->groups;
    mcamp_event e = event_003(g, SIGMA_003[s], GROUP_003[k]), one = event_003(g, SIGMA_003[s], 1);
    mcamp_interval v = { 0, 0 }, first = { 0, 0 };
    if (!did(r, ctx, mcamp_exact_epsilon(ctx, &e, 1, NULL, DELTA_003, &v, NULL)) ||
        !did(r, ctx, mcamp_exact_epsilon(ctx, &one, 1, NULL, DELTA_003, &first, NULL))) return;
    g->tight[s][k] = v.upper;
    g->converted[s][k] = k ? converted_003(r, ctx, &one, first.upper, GROUP_003[k]) : v.upper;
}

TOOL_FN void lines_003(report *r, const groups_003 *g, size_t i)
{
    char title[120];
    int c, l[3];
    put_text(title, sizeof title, "sigma = %g: epsilon of groups", (g->fixed ? 2 : 1) *
             SIGMA_003[i]);
    c = add_chart(r, title, g->fixed ? "batches of 500 of 50 000, 2000 rounds, delta 1e-6"
                  : "Poisson sampling, q = 0.01, 2000 rounds, delta 1e-6",
                  "group size", "epsilon");
    r->chart[c].log_x = r->chart[c].log_y = true;
    l[0] = add_line(r, c, "mixture of Gaussians");
    l[1] = add_line(r, c, "converted from one example");
    l[2] = add_line(r, c, "k times epsilon of one example");
    r->line[l[2]].dashed = true;
    for (size_t k = 0; k < g->groups; k++) {
        double x = (double)GROUP_003[k];
        add_point(r, l[0], x, g->tight[i][k])->sigma = SIGMA_003[i];
        add_point(r, l[1], x, g->converted[i][k])->sigma = SIGMA_003[i];
        add_point(r, l[2], x, x * g->tight[i][0])->sigma = SIGMA_003[i];
    }
}

TOOL_FN void findings_003(report *r, const groups_003 *g)
{
    bool below = true, by_group = true, by_sigma = true, above = true;
    double linear = 0;
    size_t infinite = 0, first = 0, last = g->groups - 1;
    for (size_t i = 0; i < NSIGMA_003; i++) {
        for (size_t k = 1; k < g->groups; k++) {
            double gain = g->converted[i][k] / g->tight[i][k];
            double slope = g->tight[i][k] / ((double)GROUP_003[k] * g->tight[i][0]);
            below = below && gain > 1;
            by_group = by_group && (k < 2 || !(gain < g->converted[i][k - 1] / g->tight[i][k - 1]));
            by_sigma = by_sigma && (!i || !(gain > g->converted[i - 1][k] / g->tight[i - 1][k]));
            above = above && slope > 1 - 1e-3;
            if (slope > linear) linear = slope;
            if (gain > 1e300) {
                infinite++;
                if (!first || GROUP_003[k] < first) first = GROUP_003[k];
            }
        }
    }
    trend(r, "\"it consistently improves over using 1.1\"", "003, section 4", below,
          "at all %lu sizes and sigmas", (unsigned long)(NSIGMA_003 * last));
    trend(r, "\"the relative improvement becomes larger as k increases and as sigma decreases\"",
          "003, section 4", by_group && by_sigma, "%s in k, %s in sigma",
          by_group ? "monotone" : "not monotone", by_sigma ? "monotone" : "not monotone");
    trend(r, "the growth in k stays close to linear", "003, section 4", linear < 3 && above,
          "at most %.3g times k epsilon_1", linear);
    trend(r, "conversion becomes infinite where delta underflows", "003, section 4", infinite > 0,
          "%lu points, from groups of %lu on", (unsigned long)infinite, (unsigned long)first);
}

TOOL_FN void run_003(report *r, bool fixed)
{
    groups_003 g;
    memset(&g, 0, sizeof g);
    g.fixed = fixed;
    g.groups = NGROUP_003;
    each(r, NSIGMA_003 * g.groups, task_003, &g);
    for (size_t i = 0; i < NSIGMA_003; i++) lines_003(r, &g, i);
    set(r, "rounds", "2000");
    if (fixed) set(r, "batches", "500 of 50000, sigma doubled");
    else set(r, "q", "0.01");
    set(r, "delta", "1e-6 (assumed)");
    set(r, "sigma", "0.5, 1, 2, 4 (assumed)%s", fixed ? ", doubled" : "");
    note(r, "The plots' numbers are not printed; delta and sigma are assumptions of ours.");
    findings_003(r, &g);
}

TOOL_FN void run_003_f1(report *r) { run_003(r, false); }
TOOL_FN void run_003_f2(report *r) { run_003(r, true); }

#define MIXTURE_BY "tight: upper end of the exact accountant's interval; converted: the smallest " \
    "epsilon of one example (0.1%, upper ends) at which Vadhan's conversion meets delta"
#define ITEMS_003 \
    { "003-f1", "Epsilon against group size, Poisson sampling", "003, figure 1", 10, 10, \
      run_003_f1, MIXTURE_BY }, \
    { "003-f2", "Epsilon against group size, batches of one size", "003, figure 2", 10, 10, \
      run_003_f2, MIXTURE_BY },

#endif
