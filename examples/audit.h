/* Lower bounds on epsilon from what was observed: of any pipeline, from scores of canaries
 * that were in it or not, and of the library's own sessions, from runs on neighbouring data.
 *
 * A lower bound can contradict a certificate; it can never replace one: that nothing was
 * found says nothing about what another observer would find.
 *
 * Include mcamp.h, with its implementation or not, before this file.                */
#ifndef AUDIT_H
#define AUDIT_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#  define AUDIT_FN __attribute__((unused)) static
#else
#  define AUDIT_FN static
#endif

/* ---- binomial distributions ------------------------------------------------------ */

AUDIT_FN double audit_log_pmf(uint64_t k, uint64_t n, double p)
{
    double x = (double)k, m = (double)n;
    if (p <= 0) return k ? -HUGE_VAL : 0;
    if (p >= 1) return k < n ? -HUGE_VAL : 0;
    return lgamma(m + 1) - lgamma(x + 1) - lgamma(m - x + 1) + x * log(p) + (m - x) * log1p(-p);
}

/* P(X >= k) of Binomial(n, p), from above: a sum of terms that fall from the first on, or one
 * less such a sum; lgamma errs by a few units in the last place of n log n.         */
AUDIT_FN double audit_tail(uint64_t k, uint64_t n, double p)
{
    double sum = 0, term, odds = p / (1 - p), slack = 1e-9 + 1e-14 * (double)n;
    bool upper = (double)k > (double)n * p;
    uint64_t i = upper ? k : k - 1;
    if (!k || p >= 1) return 1;
    if (k > n || p <= 0) return 0;
    term = exp(audit_log_pmf(i, n, p));
    while (term > 1e-18 * sum && term > 0) {
        sum += term;
        if (upper ? i == n : i == 0) break;
        if (upper) { term *= odds * (double)(n - i) / (double)(i + 1); i++; }
        else       { term *= (double)i / ((double)(n - i + 1) * odds); i--; }
    }
    return upper ? fmin(sum * (1 + slack), 1) : fmin(1 - sum * (1 - slack), 1);
}

/* Clopper and Pearson: the probability of an event seen k times in n is below this with
 * probability at most beta, whatever it is.                                          */
AUDIT_FN double audit_lower(uint64_t k, uint64_t n, double beta)
{
    double lo = 0, hi = n ? (double)k / (double)n : 0;
    if (!k) return 0;
    for (int i = 0; i < 100 && hi - lo > 1e-13 * hi; i++) {
        double mid = lo > 0 ? 0.5 * (lo + hi) : hi > 1e-300 ? 1e-3 * hi : 0;
        if (!(mid > 0)) break;
        if (audit_tail(k, n, mid) <= beta) lo = mid;
        else hi = mid;
    }
    return lo;
}

AUDIT_FN double audit_upper(uint64_t k, uint64_t n, double beta)
{
    double lo = 0, hi = 1;          /* of the other event, whose bounds are these, turned */
    if (k >= n) return 1;
    lo = audit_lower(n - k, n, beta);
    hi = 1 - lo * (1 - 1e-12);
    return hi;
}

/* ---- what an event tells ---------------------------------------------------------- */

/* (eps, delta)-DP: P(S) <= e^eps Q(S) + delta.  Seen hits of n, and misses of m: eps is at
 * least this, but with probability beta (half of it for each end).  0: nothing.      */
AUDIT_FN double audit_epsilon(uint64_t hits, uint64_t n, uint64_t false_hits, uint64_t m,
                              double delta, double beta)
{
    double p = audit_lower(hits, n, 0.5 * beta), q = audit_upper(false_hits, m, 0.5 * beta);
    if (!(p - delta > q)) return 0;
    return log((p - delta) / q) * (1 - 1e-12);
}

/* An event: a score at least, or at most, some threshold, in one world rather than in the
 * other.                                                                             */
typedef struct audit_event {
    double threshold;
    bool below;                 /* scores <= threshold, else >= threshold              */
    bool without;               /* rather without the example than with it             */
} audit_event;

typedef struct audit_bound {
    audit_event event;
    uint64_t hits, n;           /* of the world where the event is likelier            */
    uint64_t false_hits, m;     /* of the other                                        */
    double epsilon;             /* at least, at confidence 1 - beta                    */
    double delta, beta;
} audit_bound;

AUDIT_FN uint64_t audit_count(const double *x, size_t n, const audit_event *e)
{
    uint64_t k = 0;
    for (size_t i = 0; i < n; i++)
        k += e->below ? x[i] <= e->threshold : x[i] >= e->threshold;
    return k;
}

AUDIT_FN int audit_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A rough bound, to choose by: two standard deviations from what was seen, and as many false
 * hits more as even none would leave open at the end (expected is their share there). */
AUDIT_FN double audit_promise(uint64_t hits, size_t n, uint64_t false_hits, size_t m,
                              double delta, double open, double scale)
{
    double k = (double)hits * scale, f = (double)false_hits * scale;
    double p = (k - sqrt(2 * open * k)) / ((double)n * scale);
    double q = (f + open + sqrt(2 * open * f)) / ((double)m * scale);
    return p - delta > q ? log((p - delta) / q) : 0;
}

/* The most promising event for these sorted scores; `open` is log(1/beta), `scale` how many
 * times more scores there will be.                                                  */
AUDIT_FN audit_event audit_choose(const double *with, size_t n, const double *without, size_t m,
                                  double delta, double open, double scale)
{
    audit_event best = { 0, false, false };
    double most = -1;
    size_t i = 0, j = 0;
    while (i < n || j < m) {            /* i, j: how many are below x */
        double x = j == m || (i < n && with[i] <= without[j]) ? with[i] : without[j];
        size_t i1 = i, j1 = j;
        while (i1 < n && with[i1] <= x) i1++;
        while (j1 < m && without[j1] <= x) j1++;
        for (int way = 0; way < 4; way++) {
            bool below = way & 1, other = way & 2;
            uint64_t a = below ? i1 : n - i, b = below ? j1 : m - j;
            double e = other ? audit_promise(b, m, a, n, delta, open, scale)
                             : audit_promise(a, n, b, m, delta, open, scale);
            if (!(e > most)) continue;
            most = e;
            best.threshold = x;
            best.below = below;
            best.without = other;
        }
        i = i1;
        j = j1;
    }
    return best;
}

/* One quarter of the scores, in random order, chooses the event; the rest bound eps by it.
 * The arrays are left in another order: the first quarter, sorted, first.            */
AUDIT_FN audit_bound audit_scores(double *with, size_t n, double *without, size_t m,
                                  double delta, double beta)
{
    audit_bound r;
    size_t n1 = n / 4, m1 = m / 4;
    memset(&r, 0, sizeof r);
    r.delta = delta;
    r.beta = beta;
    qsort(with, n1, sizeof *with, audit_order);
    qsort(without, m1, sizeof *without, audit_order);
    r.event = audit_choose(with, n1, without, m1, delta, log(2 / beta), 3);
    r.hits = audit_count(with + n1, n - n1, &r.event);
    r.false_hits = audit_count(without + m1, m - m1, &r.event);
    r.n = n - n1;
    r.m = m - m1;
    if (r.event.without) {
        uint64_t h = r.hits, k = r.n;
        r.hits = r.false_hits;
        r.n = r.m;
        r.false_hits = h;
        r.m = k;
    }
    r.epsilon = audit_epsilon(r.hits, r.n, r.false_hits, r.m, delta, beta);
    return r;
}

/* ---- one run with many canaries ---------------------------------------------------- */

/* The probability, from above, of at least `right` of `guesses` right about m canaries, each
 * of which was in by a fair coin, under (eps, delta)-DP: Steinke, Nasr, Jagielski, Privacy
 * auditing with one (1) training run, 2023, Theorem 5.2.  W ~ Binomial(guesses, q) with
 * q = e^eps / (1 + e^eps): P(W >= right) + 2 m delta max_i P(right - i <= W < right) / i. */
AUDIT_FN double audit_one_run_tail(uint64_t right, uint64_t guesses, uint64_t m, double eps,
                                   double delta)
{
    double q = 1 / (1 + exp(-eps)), p = audit_tail(right, guesses, q), most = 0, sum = 0;
    if (!(delta > 0)) return p;
    for (uint64_t i = 1; i <= right; i++) {
        double term = exp(audit_log_pmf(right - i, guesses, q));
        sum += term;
        most = fmax(most, sum / (double)i);
        if (term < 1e-18 * sum && (double)(right - i) < (double)guesses * q) break;
    }
    return p + 2 * (double)m * delta * most * (1 + 1e-9 + 1e-14 * (double)guesses);
}

AUDIT_FN double audit_one_run_epsilon(uint64_t right, uint64_t guesses, uint64_t m, double delta,
                                      double beta)
{
    double lo = 0, hi = 64;
    if (!(audit_one_run_tail(right, guesses, m, 0, delta) <= beta)) return 0;
    for (int i = 0; i < 60; i++) {
        double mid = 0.5 * (lo + hi);
        if (audit_one_run_tail(right, guesses, m, mid, delta) <= beta) lo = mid;
        else hi = mid;
    }
    return lo;
}

typedef struct audit_canary { double score; bool in; } audit_canary;

AUDIT_FN int audit_canary_order(const void *a, const void *b)
{
    return audit_order(&((const audit_canary *)a)->score, &((const audit_canary *)b)->score);
}

typedef struct audit_one_run {
    uint64_t right, guesses, m; /* the best of the numbers of guesses that were tried  */
    int tried;                  /* the level is divided by it                          */
    double epsilon, delta, beta;
} audit_one_run;

/* Guesses "in" for the g/2 highest scores and "out" for as many lowest ones: which those are
 * must not depend on who is in but through the scores, hence canaries in random order
 * (ties).  g = m, m/2, m/4, ...: each at its share of beta.                          */
AUDIT_FN audit_one_run audit_canaries(audit_canary *c, size_t m, double delta, double beta)
{
    audit_one_run best;
    memset(&best, 0, sizeof best);
    best.m = m;
    best.delta = delta;
    best.beta = beta;
    qsort(c, m, sizeof *c, audit_canary_order);
    for (size_t h = m / 2; h >= 8; h /= 2) best.tried++;
    for (size_t h = m / 2; h >= 8; h /= 2) {
        uint64_t right = 0;
        double e;
        for (size_t i = 0; i < h; i++) right += (uint64_t)!c[i].in + (uint64_t)c[m - 1 - i].in;
        e = audit_one_run_epsilon(right, 2 * h, m, delta, beta / best.tried);
        if (best.guesses && !(e > best.epsilon)) continue;
        best.epsilon = e;
        best.right = right;
        best.guesses = 2 * h;
    }
    return best;
}

#endif
