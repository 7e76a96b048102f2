/* Runs whose processes are killed at any time, 20000 of them: no round is released twice with
 * different sums (tests/kill_loop.h).  The same without a ledger: many are.          */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "../mcamp_test.h"
#include "../kill_loop.h"

TEST(killed_at_any_time_no_round_has_two_releases)
{
    mcamp_ctx ctx;
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    for (uint64_t most = 400000; most <= 25600000; most *= 4) {
        kill_result k = kill_loop(&ctx, mt_scale(5000), most, most, 1);
        printf("%zu killed, %zu refused, %zu finished: %zu releases, %zu of them again, %zu "
               "different\n", k.killed, k.refused, k.finished, k.releases, k.twice, k.differ);
        CHECK(k.differ == 0);
    }
}

TEST(without_a_ledger_they_do)
{
    mcamp_ctx ctx;
    kill_result k;
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    k = kill_loop(&ctx, mt_scale(5000), 6400000, 1, 0);
    printf("%zu of %zu releases differ\n", k.differ, k.releases);
    CHECK(k.differ > 0);
}

TEST_MAIN("kills", T(killed_at_any_time_no_round_has_two_releases), T(without_a_ledger_they_do))
