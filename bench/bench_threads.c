/* What do threads give?  mcamp_sigma with its Gram matrix, shapes of a thousand batches and
 * more, by the clock on the wall: one thread, several, and as many processes of one thread each
 * in turn, and the ratios' medians, the threads' least and most.  Both answers must be the same
 * to the last bit.  The processes share nothing but the machine: what they give together is
 * about what its cores, caches and memory can give threads.  An idle machine is needed: what
 * else runs counts.
 *     bench_threads [THREADS [PAIRS]]     (2 and 3)                                           */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_PTHREADS
#include "bench_common.h"
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 15 };

typedef struct shape { size_t b, bands, epochs; double eps, delta; } shape;

static double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double once(const shape *s, size_t threads, double *sigma)
{
    double t = wall();
    mcamp_ctx ctx;
    mcamp_ctx_desc d;
    mcamp_gram g;
    mcamp_answer a;
    memset(&d, 0, sizeof d);
    if (threads > 1) d.parallel = mcamp_parallel_threads(threads);
    bench_check(&ctx, "context", mcamp_ctx_init(&ctx, &d));
    bench_gram(&ctx, s->bands, s->epochs, s->b, &g);
    bench_check(&ctx, "sigma", mcamp_sigma(&ctx, &g, s->eps, s->delta, NULL, &a));
    mcamp_gram_free(&ctx, &g);
    *sigma = a.sigma;
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
    printf("| %zu | %zu | %zu | %g | %g | %.2f | %.2f | %.2f (%.2f to %.2f) | %.2f |\n", s->b,
           s->bands, s->epochs, s->eps, s->delta, one[pairs / 2], many[pairs / 2],
           ratio[pairs / 2], ratio[0], ratio[pairs - 1], most[pairs / 2]);
}

int main(int argc, char **argv)
{
    static const shape shapes[] = {
        { 1000, 64, 4, 8, 1e-6 }, { 1000, 64, 16, 1, 1e-6 }, { 4096, 4, 4, 1, 1e-6 },
        { 4096, 64, 4, 1, 1e-6 }, { 4096, 0, 1, 1, 1e-6 }, { 4096, 0, 1, 8, 1e-5 } };
    size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 2;
    size_t pairs = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (!threads || !pairs || pairs > PAIRS) {
        fprintf(stderr, "usage: bench_threads [THREADS [PAIRS]], at most %d pairs\n", PAIRS);
        return 2;
    }
    printf("| b | bands (0: all) | epochs | eps | delta | one thread, s | %zu | times | "
           "%zu processes |\n", threads, threads);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) row(&shapes[i], threads, pairs);
    return 0;
}
