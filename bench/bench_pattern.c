/* CPU time of samples and a proof for b-min-sep Poisson sampling: n = 2048, b = 64, 32 bands,
 * q = 1/64, eps = 1, sigma = 5.                                                       */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"

#include <stdio.h>
#include <time.h>

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

int main(void)
{
    mcamp_ctx ctx;
    mcamp_mech_desc d;
    mcamp_mech m;
    mcamp_participation part;
    mcamp_gram g;
    mcamp_claim c;
    mcamp_guarantee proof;
    double t, plain = 0;
    memset(&d, 0, sizeof d);
    memset(&part, 0, sizeof part);
    memset(&c, 0, sizeof c);
    d.kind = MCAMP_MECH_SQRT; d.n = 2048; d.bands = 32; d.normalize = true;
    part.law = MCAMP_BATCH_MINSEP; part.batches = 64; part.q = 1.0 / 64;
    if (mcamp_ctx_init(&ctx, NULL) < 0 || mcamp_mech_init(&ctx, &d, &m) < 0 ||
        mcamp_gram_pattern(&ctx, &m, &part, &g) < 0) return 1;
    for (size_t k = 1; k <= 9; k += 4) {
        mcamp_sampler s;
        mcamp_sampler_desc sd;
        mcamp_tally tally;
        double each;
        memset(&sd, 0, sizeof sd);
        memset(&tally, 0, sizeof tally);
        sd.direction = MCAMP_REMOVE; sd.method = MCAMP_METHOD_TILTED;
        sd.sigma = 5; sd.eps = 1; sd.order = k;
        if (mcamp_sampler_init(&ctx, &g, &sd, &s) < 0) return 1;
        t = seconds();
        if (mcamp_sampler_run(&ctx, &s, 1, 0, 8, &tally) < 0) return 1;
        each = 1e6 * (seconds() - t) / (double)tally.count;
        if (k == 1) plain = each;
        printf("order %lu: %.1f us a sample", (unsigned long)k, each);
        if (k > 1) printf(", %.1f us an order more", (each - plain) / (double)(k - 1));
        printf("\n");
        mcamp_sampler_free(&ctx, &s);
    }
    c.sigma = 5; c.eps = 1; c.delta = c.beta = 1.1 * 9.4e-5;
    t = seconds();
    if (mcamp_verify(&ctx, &g, &c, &proof) < 0) return 1;
    printf("proof with a tenth to spare: %s, %.1f s, %lu samples of order %lu\n",
           proof.accepted ? "accepted" : "not accepted", seconds() - t,
           (unsigned long)proof.samples, (unsigned long)proof.remove.order);
    mcamp_gram_free(&ctx, &g);
    mcamp_mech_free(&ctx, &m);
    return 0;
}
