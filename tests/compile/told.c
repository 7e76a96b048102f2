/* With -DTOLD: succeeds if contexts are refused with a reason; without: if they are made
 * and a claim comes out as it should.                                               */
#ifdef TOLD
#  define MCAMP_IMPLEMENTATION
#endif
#include "../../mcamp.h"
#include <stdio.h>
#include <string.h>

int main(void)
{
    mcamp_ctx ctx;
    mcamp_status st = mcamp_ctx_init(&ctx, NULL);
#ifdef TOLD
    const char *why = mcamp_last_error(&ctx).argument;
    if (why) puts(why);
    return !(st == MCAMP_E_FPENV && why && strstr(why, "-fno-fast-math"));
#else
    double delta = 1;
    if (st != MCAMP_OK || mcamp_gauss_delta(&ctx, 1, 1, 30, &delta) != MCAMP_OK) return 1;
    return !(delta > 1e-200 && delta < 1e-180);
#endif
}
