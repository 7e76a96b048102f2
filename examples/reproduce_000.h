/* "Near Exact Privacy Amplification for Matrix Mechanisms". */
#ifndef REPRODUCE_000_H
#define REPRODUCE_000_H

#include "reproduce_000_open.h"

/* ---- figure 1: who takes part when ----------------------------------------------------- */

enum { ROUNDS_F1 = 6, BINS_F1 = 3, EXAMPLES_F1 = 12 };

/* taken[e][t] = 1 where example e takes part in round t, by the library's own batches. */
TOOL_FN bool schedule_f1(report *r, mcamp_batch_law law, double *taken)
{
    mcamp_batch_desc d;
    mcamp_batch b;
    memset(&d, 0, sizeof d);
    d.law = law;
    d.examples = EXAMPLES_F1;
    d.rounds = ROUNDS_F1;
    d.batches = law == MCAMP_BATCH_POISSON ? 1 : BINS_F1;
    d.q = law == MCAMP_BATCH_POISSON ? 1.0 / BINS_F1 : 0;
    mcamp_key_insecure_test(r->f->seed, &d.key);        /* a picture: nothing is released */
    if (!did(r, &r->ctx, mcamp_batch_init(&r->ctx, &d, &b))) return false;
    memset(taken, 0, EXAMPLES_F1 * ROUNDS_F1 * sizeof *taken);
    for (size_t t = 0; t < ROUNDS_F1; t++) {
        size_t who[EXAMPLES_F1];
        mcamp_batch_size size;
        if (!did(r, &r->ctx, mcamp_batch_round(&r->ctx, &b, t, who, EXAMPLES_F1, &size))) break;
        for (size_t k = 0; k < size.kept; k++) taken[who[k] * ROUNDS_F1 + t] = 1;
    }
    mcamp_batch_free(&r->ctx, &b);
    return !r->failed;
}

/* Everyone exactly once an epoch; and in the same round of each. */
TOOL_FN void count_f1(const double *taken, bool *once, bool *periodic)
{
    *once = *periodic = true;
    for (size_t e = 0; e < EXAMPLES_F1; e++) {
        const double *row = taken + e * ROUNDS_F1;
        for (size_t t = 0; t < ROUNDS_F1; t += BINS_F1) {
            double sum = 0;
            for (size_t k = 0; k < BINS_F1; k++) {
                sum += row[t + k];
                if (row[t + k] > row[k] || row[t + k] < row[k]) *periodic = false;
            }
            if (sum > 1.5 || sum < 0.5) *once = false;
        }
    }
}

TOOL_FN void run_000_f1(report *r)
{
    static const mcamp_batch_law law[] = { MCAMP_BATCH_SHUFFLE, MCAMP_BATCH_BINS,
                                           MCAMP_BATCH_POISSON };
    static const char *const name[] = { "shuffled", "balls in bins", "Poisson, q = 1/3" };
    double taken[EXAMPLES_F1 * ROUNDS_F1];
    bool once[3] = { false }, periodic[3] = { false };
    put_text(r->maps_title, sizeof r->maps_title, "Who takes part when: 12 examples, 6 rounds, "
             "2 epochs of 3 batches");
    for (int k = 0; k < 3; k++) {
        if (!schedule_f1(r, law[k], taken)) return;
        svg_map *m = add_map(r, name[k], taken, EXAMPLES_F1, ROUNDS_F1);
        m->most = 1;
        put_text(r->map[r->nmap - 1].xlabel, 80, "across: rounds; down: examples");
        count_f1(taken, &once[k], &periodic[k]);
    }
    for (size_t e = 0; e < EXAMPLES_F1; e++)            /* cyclic: by its number */
        for (size_t t = 0; t < ROUNDS_F1; t++)
            taken[e * ROUNDS_F1 + t] = t % BINS_F1 == e % BINS_F1;
    add_map(r, "cyclic: any fixed order", taken, EXAMPLES_F1, ROUNDS_F1)->most = 1;
    set(r, "rounds, batches of an epoch, examples", "6, 3, 12");
    trend(r, "balls in bins: one bin per example, used in every epoch", "000, section 1.1",
          once[1] && periodic[1], "every example once an epoch, in the same round");
    trend(r, "shuffling as well, with batches of one size", "000, section 1.2",
          once[0] && periodic[0], "every example once an epoch, in the same round");
    trend(r, "Poisson: independently in every round", "000, section 1.2", !periodic[2],
          "not the same rounds in each epoch");
}

#define ITEMS_000 \
    { "000-f1", "Batch schedules", "000, figure 1", 1, 1, run_000_f1, "the library's own batches " \
      "with a key made from the seed; cyclic by number" }, \
    RMSE_ITEMS_000 OPEN_ITEMS_000

#endif
