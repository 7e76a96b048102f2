/* A user's translation unit, linked with impl.c. */
#include "../../mcamp.h"

int main(void)
{
    mcamp_ctx ctx;
    if (mcamp_ctx_init(&ctx, 0) != MCAMP_OK) return 1;
    if (mcamp_version() != MCAMP_VERSION) return 1;
    return mcamp_strerror(MCAMP_OK)[0] != 'd';
}
