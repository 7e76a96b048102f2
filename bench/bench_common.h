/* Shared by the benchmarks: processor time, strategies, a row of a table.
 * Times are processor time of one core, so that other load does not count.   */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include <stdio.h>
#include <time.h>

/* For qsort: numbers from the least up. */
static inline int bench_up(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double bench_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Ends the program on anything but success or a qualified success. */
static inline mcamp_status bench_check(const mcamp_ctx *ctx, const char *what,
                                       mcamp_status st)
{
    if (st < 0) {
        mcamp_error e = mcamp_last_error(ctx);
        printf("%s: %s (%s = %g)\n", what, mcamp_strerror(st),
               e.argument ? e.argument : "?", e.value);
        exit(1);
    }
    return st;
}

/* Rows appear as they are measured. */
static inline void bench_start(mcamp_ctx *ctx)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    bench_check(ctx, "context", mcamp_ctx_init(ctx, NULL));
}

/* The square-root Toeplitz matrix cut to `bands` (1: C = I), n = epochs * b. */
static inline void bench_gram(mcamp_ctx *ctx, size_t bands, size_t epochs, size_t b,
                              mcamp_gram *gram)
{
    mcamp_mech_desc d;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    d.kind = bands == 1 ? MCAMP_MECH_IDENTITY : MCAMP_MECH_SQRT;
    d.n = epochs * b;
    d.bands = bands == 1 ? 0 : bands;
    bench_check(ctx, "strategy", mcamp_mech_init(ctx, &d, &m));
    bench_check(ctx, "Gram matrix", mcamp_gram_init(ctx, &m, b, gram));
    mcamp_mech_free(ctx, &m);
}

static inline const char *bench_method(mcamp_method m)
{
    return mcamp__method_names[m];
}

/* The fastest of many runs within `budget` seconds, so that other load does not
 * matter much.                                                                  */
static inline double bench_best(void (*run)(void *), void *arg, double budget)
{
    double best = 1e9, start = bench_seconds();
    int batch = 1;
    for (;;) {
        double t = bench_seconds();
        for (int i = 0; i < batch; i++) run(arg);
        t = bench_seconds() - t;
        if (t / batch < best) best = t / batch;
        if (t < 5e-4) batch *= 2;
        if (bench_seconds() - start > budget) return best;
    }
}

#endif
