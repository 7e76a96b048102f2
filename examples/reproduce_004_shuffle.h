/* 004's corollary F.2 and example F.3: shuffled batches. */
#ifndef REPRODUCE_004_SHUFFLE_H
#define REPRODUCE_004_SHUFFLE_H

#include "reproduce_frame.h"

#define DELTA_SHUFFLE 1e-6

/* The smallest eps, to 0.1%, at which the bound (or what an attack reaches) is below delta. */
TOOL_FN double shuffled_eps(report *r, mcamp_ctx *ctx, double sigma, uint64_t rounds,
                            uint64_t batch, bool upper)
{
    double lo = 1e-6, hi = 0;
    did(r, ctx, mcamp_gauss_epsilon(ctx, sigma, 1, DELTA_SHUFFLE, &hi));
    hi *= 1.001;
    while (hi > 1.001 * lo && !r->failed) {
        double mid = sqrt(lo * hi);
        mcamp_interval d = { 0, 1 };
        did(r, ctx, mcamp_exact_shuffled(ctx, sigma, rounds, batch, 1, mid, &d));
        if ((upper ? d.upper : d.lower) <= DELTA_SHUFFLE) hi = mid;
        else lo = mid;
    }
    return hi;
}

enum { NROUND_SHUFFLE = 5 };

typedef struct shuffle_004 { double upper[2][NROUND_SHUFFLE], lower[2][NROUND_SHUFFLE]; }
    shuffle_004;

static const uint64_t BATCH_SHUFFLE[2] = { 1, 500 };

TOOL_FN void shuffle_task(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    shuffle_004 *s = (shuffle_004 *)arg;
    size_t k = i / NROUND_SHUFFLE, j = i % NROUND_SHUFFLE;
    uint64_t rounds = (uint64_t)pow(10, (double)j + 1);
    s->upper[k][j] = shuffled_eps(r, ctx, 8, rounds, BATCH_SHUFFLE[k], true);
    s->lower[k][j] = shuffled_eps(r, ctx, 8, rounds, BATCH_SHUFFLE[k], false);
}

TOOL_FN void run_004_f2(report *r)
{
    shuffle_004 s;
    double alone = 0, fall;
    bool order = true;
    int c = add_chart(r, "Epsilon of one shuffled epoch", "sigma 8 over the largest column norm, "
                      "delta 1e-6", "n/bands: batches of an epoch", "epsilon"), l;
    memset(&s, 0, sizeof s);
    r->chart[c].log_x = r->chart[c].log_y = true;
    each(r, 2 * NROUND_SHUFFLE, shuffle_task, &s);
    if (!did(r, &r->ctx, mcamp_gauss_epsilon(&r->ctx, 8, 1, DELTA_SHUFFLE, &alone))) return;
    for (size_t k = 0; k < 2; k++) {
        for (int upper = 1; upper >= 0; upper--) {
            l = add_line(r, c, "batches of %lu: %s", (unsigned long)BATCH_SHUFFLE[k],
                         upper ? "proved" : "an attack reaches");
            r->line[l].dashed = !upper;
            for (size_t j = 0; j < NROUND_SHUFFLE; j++)
                add_point(r, l, pow(10, (double)j + 1), upper ? s.upper[k][j] : s.lower[k][j])
                    ->sigma = 8;
        }
        for (size_t j = 0; j < NROUND_SHUFFLE; j++)
            order = order && s.lower[k][j] <= s.upper[k][j] * 1.002 &&
                    s.upper[k][j] <= alone * 1.002;
    }
    l = add_line(r, c, "without amplification");
    r->line[l].dashed = true;
    add_point(r, l, 10, alone);
    add_point(r, l, 1e5, alone);
    fall = s.upper[0][2] / s.upper[0][4];
    trend(r, "batches of 1: epsilon falls as the root of bands/n, up to logarithms",
          "004, example F.3", fall > 5 && fall < 20, "from 1000 to 100 000 by a factor %.3g "
          "(root: 10)", fall);
    trend(r, "what an attack reaches is below what is proved, and that at most the unamplified",
          "here", order, "at all points; unamplified %.4g", alone);
    because(trend(r, "the same for batches of size B (corollary F.2)", "004, corollary F.2",
                  s.upper[1][4] < 0.99 * alone, "batches of 500: %.4g proved with 100 000 batches, "
                  "%.4g without amplification", s.upper[1][4], alone),
            s.upper[1][4] >= 0.99 * alone, "sums of 500 gradients can lie 1000 apart, so that an "
            "order hides little; an attack reaches %.4g there", s.lower[1][4]);
    set(r, "sigma", "8");
    set(r, "delta", "1e-6");
    set(r, "batches", "1 and 500 examples; 10 to 100000 of them");
    note(r, "One example's gradients zeroed out. Training on shuffled batches may claim what is "
         "proved here, never what Poisson sampling gives.");
}

#define SHUFFLE_ITEMS_004 \
    { "004-f2", "Shuffled batches", "004, corollary F.2, example F.3", 2, 2, run_004_f2, \
      "mcamp_exact_shuffled: clones from above, an attack from below" },

#endif
