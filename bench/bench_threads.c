/* What do threads give?  sigma and certificates with their Gram matrix, shapes of a thousand
 * batches and more, delta to a fifth of a percent, C of small error and plans, by the clock on the
 * wall: one thread, several, and as many processes of one thread each in turn, and the ratios'
 * medians, the threads' least and most.  Both answers must be the same to the last bit.  The
 * processes share nothing but the machine: what they give together is about what its cores,
 * caches and memory can give threads.  An idle machine is needed: what else runs counts.
 *     bench_threads [THREADS [PAIRS [ROW]]]     (2, 3 and all, counted from 0)              */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_PTHREADS
#include "bench_common.h"
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 15 };

typedef enum question { SIGMA, CERTIFY, DELTA, OPTIMIZE, PLAN } question;

/* bands: 0 = all; OPTIMIZE: of family, with such amplification; DELTA: at noise `sigma`. */
typedef struct shape {
    question q;
    size_t b, bands, epochs;
    double eps, delta;
    mcamp_opt_family family;
    mcamp_amplification with;
    double sigma;
} shape;

static double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double optimize(mcamp_ctx *ctx, const shape *s)
{
    mcamp_opt_desc d;
    mcamp_opt_result r;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    d.family = s->family; d.amplification = s->with;
    d.rounds = s->b * s->epochs; d.batches = s->b;
    d.eps = s->eps; d.delta = s->delta;
    if (s->family == MCAMP_OPT_BLT) d.buffers = 2; else d.bands = s->bands;
    bench_check(ctx, "optimize", mcamp_opt_run(ctx, &d, &m, &r));
    mcamp_mech_free(ctx, &m);
    return r.rmse;
}

/* With balls in bins, all families that keep four vectors. */
static double plan(mcamp_ctx *ctx, const shape *s)
{
    mcamp_plan_desc d;
    mcamp_plan_result r;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    d.rounds = s->b * s->epochs; d.batches = s->b;
    d.eps = s->eps; d.delta = s->delta;
    d.sampling = MCAMP_PLAN_BINS;
    bench_check(ctx, "plan", mcamp_plan(ctx, &d, &m, &r));
    mcamp_mech_free(ctx, &m);
    return r.sigma;
}

static double ask(mcamp_ctx *ctx, const shape *s)
{
    mcamp_gram g;
    mcamp_answer a;
    mcamp_claim c;
    mcamp_guarantee proof;
    mcamp_budget bud;
    memset(&bud, 0, sizeof bud);
    bench_gram(ctx, s->bands, s->epochs, s->b, &g);
    if (s->q == CERTIFY) {
        memset(&c, 0, sizeof c);
        c.eps = s->eps; c.delta = c.beta = s->delta; c.seed = 1;
        bench_check(ctx, "certify", mcamp_calibrate_certified(ctx, &g, &c, &proof));
        a.sigma = proof.sigma;
    } else if (s->q == DELTA) {
        bud.rel_error = 2e-3;
        bench_check(ctx, "delta", mcamp_delta(ctx, &g, s->sigma, s->eps, &bud, &a));
        a.sigma = a.delta;
    } else {
        bench_check(ctx, "sigma", mcamp_sigma(ctx, &g, s->eps, s->delta, NULL, &a));
    }
    mcamp_gram_free(ctx, &g);
    return a.sigma;
}

static double once(const shape *s, size_t threads, double *answer)
{
    double t = wall();
    mcamp_ctx ctx;
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    if (threads > 1) d.parallel = mcamp_parallel_threads(threads);
    bench_check(&ctx, "context", mcamp_ctx_init(&ctx, &d));
    *answer = s->q == OPTIMIZE ? optimize(&ctx, s) : s->q == PLAN ? plan(&ctx, s) : ask(&ctx, s);
    return wall() - t;
}

/* `count` processes side by side, each with the whole of the work. */
static double apart(const shape *s, size_t count)
{
    double t = wall(), sigma;
    for (size_t i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0) { perror("fork"); exit(1); }
        if (!child) { once(s, 1, &sigma); _exit(0); }
    }
    for (size_t i = 0; i < count; i++) {
        int status;
        if (wait(&status) < 0 || status) { printf("a process failed\n"); exit(1); }
    }
    return wall() - t;
}

static const char *const QUESTION[] = { "sigma", "certificate", "delta", "optimize",
                                        "plan" };

static void row(const shape *s, size_t threads, size_t pairs)
{
    double one[PAIRS], many[PAIRS], ratio[PAIRS], most[PAIRS], sigma, same;
    for (size_t i = 0; i < pairs; i++) {
        one[i] = once(s, 1, &sigma);
        many[i] = once(s, threads, &same);
        if (memcmp(&sigma, &same, sizeof same)) { printf("answers differ\n"); exit(1); }
        ratio[i] = one[i] / many[i];
        most[i] = (double)threads * one[i] / apart(s, threads);
    }
    qsort(one, pairs, sizeof *one, bench_up);
    qsort(many, pairs, sizeof *many, bench_up);
    qsort(ratio, pairs, sizeof *ratio, bench_up);
    qsort(most, pairs, sizeof *most, bench_up);
    printf("| %s%s | %zu | %zu | %zu | %g | %g | %.2f | %.2f | %.2f (%.2f to %.2f) | %.2f |\n",
           QUESTION[s->q], s->q != OPTIMIZE ? "" : s->with == MCAMP_AMPLIFY_NONE ? " none"
           : s->family == MCAMP_OPT_BLT ? " blt:2 bnb" : " bnb", s->b,
           s->bands, s->epochs, s->eps, s->delta, one[pairs / 2], many[pairs / 2],
           ratio[pairs / 2], ratio[0], ratio[pairs - 1], most[pairs / 2]);
}

int main(int argc, char **argv)
{
#define OPT(family, with) MCAMP_OPT_##family, MCAMP_AMPLIFY_##with, 0
#define ASK MCAMP_OPT_UNSET, MCAMP_AMPLIFY_UNSET
    static const shape shapes[] = {
        { SIGMA, 1000, 64, 4, 8, 1e-6, ASK, 0 }, { SIGMA, 1000, 64, 16, 1, 1e-6, ASK, 0 },
        { SIGMA, 4096, 4, 4, 1, 1e-6, ASK, 0 }, { SIGMA, 4096, 64, 4, 1, 1e-6, ASK, 0 },
        { SIGMA, 4096, 0, 1, 1, 1e-6, ASK, 0 }, { SIGMA, 4096, 0, 1, 8, 1e-5, ASK, 0 },
        { CERTIFY, 1024, 64, 4, 1, 1e-8, ASK, 0 }, { CERTIFY, 1024, 0, 1, 1, 1e-5, ASK, 0 },
        { CERTIFY, 4096, 16, 4, 1, 1e-5, ASK, 0 }, { DELTA, 1000, 64, 4, 4, 0, ASK, 1.2 },
        { OPTIMIZE, 128, 64, 16, 1, 1e-6, OPT(BANDED, NONE) },
        { OPTIMIZE, 32, 0, 16, 1, 1e-6, OPT(BANDED, NONE) },
        { OPTIMIZE, 128, 64, 16, 1, 1e-6, OPT(BANDED, BINS) },
        { OPTIMIZE, 512, 0, 4, 1, 1e-6, OPT(BLT, BINS) },
        { PLAN, 128, 0, 16, 1, 1e-6, ASK, 0 } };
#undef OPT
#undef ASK
    const size_t count = sizeof shapes / sizeof *shapes;
    size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 2;
    size_t pairs = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
    size_t only = argc > 3 ? strtoul(argv[3], NULL, 10) : count;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (!threads || !pairs || pairs > PAIRS || (argc > 3 && only >= count)) {
        fprintf(stderr, "usage: bench_threads [THREADS [PAIRS [ROW]]], at most %d pairs\n", PAIRS);
        return 2;
    }
    printf("| question | b | bands (0: all) | epochs | eps | delta | one thread, s | %zu | times | "
           "%zu processes |\n", threads, threads);
    for (size_t i = 0; i < count; i++)
        if (only == count || only == i) row(&shapes[i], threads, pairs);
    return 0;
}
