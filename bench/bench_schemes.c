/* What is the error of training under each way to form batches, at equal (eps, delta), equal
 * expected batches and equal memory?  n = 2048 rounds, batches of 1/128 of the data set, delta
 * = 1e-5, prefix sums, at most 31 past noise vectors, C optimised under the sampling itself,
 * with column factors, sigma to 1% of delta or 2^18 samples; rmse of a round.  In all but
 * balls in bins C has at most 32 bands, and cycles and separations are of 32 rounds:
 *     none             every example once in 128 rounds, in any fixed order; BLT of 4 buffers
 *     balls in bins    a random batch for each example, kept; BLT of 4 buffers (4 vectors)
 *     cyclic, fixed    groups that take turns are given; the best number of bands, no factors
 *     cyclic, random   each example's group is drawn, 32 groups, q = 1/4
 *     b-min-sep        stationary start, q = 1/97: a use at least 32 rounds after the last
 * Arguments: the eps wanted (0.5 1 2 4 8).  A minute or two each, of one core.            */
#include "bench_common.h"

enum { ROUNDS = 2048, BATCHES = 128, BANDS = 32, SCHEMES = 5 };

typedef struct scheme {
    const char *name;
    mcamp_amplification how;
    mcamp_opt_family family;
    mcamp_batch_law law;
    size_t batches;
    double q;
} scheme;

static const scheme SCHEME[SCHEMES] = {
    { "none", MCAMP_AMPLIFY_NONE, MCAMP_OPT_BLT, MCAMP_BATCH_UNSET, BATCHES, 0 },
    { "balls in bins", MCAMP_AMPLIFY_BINS, MCAMP_OPT_BLT, MCAMP_BATCH_UNSET, BATCHES, 0 },
    { "cyclic, fixed", MCAMP_AMPLIFY_POISSON, MCAMP_OPT_TOEPLITZ, MCAMP_BATCH_UNSET, BATCHES, 0 },
    { "cyclic, random", MCAMP_AMPLIFY_LAW, MCAMP_OPT_TOEPLITZ, MCAMP_BATCH_POISSON, BANDS,
      (double)BANDS / BATCHES },
    { "b-min-sep", MCAMP_AMPLIFY_LAW, MCAMP_OPT_TOEPLITZ, MCAMP_BATCH_MINSEP_WARM, BANDS,
      1.0 / (BATCHES - BANDS + 1) }
};

static double measure(mcamp_ctx *ctx, const scheme *s, double eps)
{
    mcamp_opt_desc d;
    mcamp_opt_result r;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    d.family = s->family;
    d.amplification = s->how;
    d.law = s->law;
    d.q = s->q;
    d.rounds = ROUNDS;
    d.batches = s->batches;
    if (s->family == MCAMP_OPT_BLT) d.buffers = 4;
    if (s->how == MCAMP_AMPLIFY_POISSON) d.max_bands = BANDS;
    else d.scale_degree = 3;
    if (s->how == MCAMP_AMPLIFY_LAW) { d.bands = BANDS; d.max_iterations = 10; }
    d.eps = eps;
    d.delta = 1e-5;
    d.budget.max_samples = 1 << 18;
    bench_check(ctx, s->name, mcamp_opt_run(ctx, &d, &m, &r));
    mcamp_mech_free(ctx, &m);
    return r.rmse;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "0.5", "1", "2", "4", "8" };
    mcamp_ctx ctx;
    bench_start(&ctx);
    printf("%-8s", "eps");
    for (size_t i = 0; i < SCHEMES; i++) printf("%16s", SCHEME[i].name);
    printf("%12s\n", "seconds");
    for (int k = 0; k < (argc > 1 ? argc - 1 : 5); k++) {
        const char *eps = argc > 1 ? argv[k + 1] : usual[k];
        double start = bench_seconds();
        printf("%-8s", eps);
        for (size_t i = 0; i < SCHEMES; i++) {
            printf("%16.4g", measure(&ctx, &SCHEME[i], atof(eps)));
            fflush(stdout);
        }
        printf("%12.1f\n", bench_seconds() - start);
    }
    return 0;
}
