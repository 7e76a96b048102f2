/* Which sigma makes this training run (1, 1e-5)-DP, and the proof of it. */
#include <stdio.h>
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"

static int print(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, (FILE *)user) != n;
}

int main(void)
{
    mcamp_ctx ctx;
    mcamp_problem p = { 0 };
    mcamp_guarantee proof;
    mcamp_writer out = { print, stdout };
    p.strategy.kind = MCAMP_MECH_SQRT;      /* square-root C, 64 bands */
    p.strategy.bands = 64;
    p.epochs = 16;
    p.batches = 128;
    p.eps = 1;
    p.delta = 1e-5;
    if (mcamp_ctx_init(&ctx, NULL) < 0 || mcamp_problem_certify(&ctx, &p, &proof) < 0)
        return 1;
    return mcamp_report_guarantee(&proof, MCAMP_REPORT_TEXT, &out) != MCAMP_OK;
}
