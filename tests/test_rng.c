/* Section rng: golden vectors, streams, uniforms. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

/* Published outputs of the reference generators. */
TEST(xoshiro_from_state_1_2_3_4)
{
    static const uint64_t want[] = {
        UINT64_C(41943041), UINT64_C(58720359), UINT64_C(3588806011781223),
        UINT64_C(3591011842654386), UINT64_C(9228616714210784205),
        UINT64_C(9973669472204895162), UINT64_C(14011001112246962877),
        UINT64_C(12406186145184390807), UINT64_C(15849039046786891736),
        UINT64_C(10450023813501588000)
    };
    mcamp_rng r = { { 1, 2, 3, 4 } };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        CHECK(mcamp_rng_next(&r) == want[i]);
}

TEST(splitmix_seeds_0_and_1234567)
{
    static const uint64_t zero[] = {
        UINT64_C(0xE220A8397B1DCDAF), UINT64_C(0x6E789E6AA1B965F4),
        UINT64_C(0x06C45D188009454F), UINT64_C(0xF88BB8A8724C81EC)
    };
    static const uint64_t other[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431)
    };
    mcamp_rng r;
    mcamp_rng_seed(&r, 0);
    for (int i = 0; i < 4; i++) CHECK(r.s[i] == zero[i]);
    mcamp_rng_seed(&r, 1234567);
    for (int i = 0; i < 4; i++) CHECK(r.s[i] == other[i]);
}

TEST(null_generators_do_nothing)
{
    mcamp_rng_seed(NULL, 1);
    mcamp_rng_stream(NULL, 1, 2, 3);
    CHECK(mcamp_rng_next(NULL) == 0);
    CHECK_NEAR(mcamp_rng_uniform(NULL), 0.0, 0, 0);
}

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* 6 seeds x 9 purposes x 12 blocks x 9 lanes: no word of any state twice
 * (23328 words; odds of a false alarm 1.5e-11), none zero.                    */
TEST(streams_differ_in_every_argument)
{
    static const uint64_t seeds[] = { 0, 1, 2, UINT64_MAX, 0x9e3779b97f4a7c15u,
                                      UINT64_C(1) << 63 };
    static const uint32_t purposes[] = { MCAMP__STREAM_PILOT, MCAMP__STREAM_ESTIMATE,
        MCAMP__STREAM_CALIBRATE, MCAMP__STREAM_VERIFY, MCAMP__STREAM_GRADIENT,
        MCAMP__STREAM_BATCH, MCAMP__STREAM_TEST, 65536, UINT32_MAX };
    static const uint64_t blocks[] = { 0, 1, 2, 3, 4, 5, 6, 7, UINT64_C(1) << 32,
        UINT64_C(1) << 52, UINT64_C(1) << 63, UINT64_MAX };
    static uint64_t w[6 * 9 * 12 * 9 * 4];
    size_t n = 0, same = 0;
    for (int s = 0; s < 6; s++)
        for (int q = 0; q < 9; q++)
            for (int k = 0; k < 12; k++) {
                uint32_t p = purposes[q];
                uint64_t b = blocks[k];
                mcamp__rng8 r8;
                mcamp_rng r;
                mcamp__rng8_stream(&r8, seeds[s], p, b);
                memcpy(w + n, r8.s, sizeof r8.s);
                n += 32;
                mcamp_rng_stream(&r, seeds[s], p, b);
                memcpy(w + n, r.s, sizeof r.s);
                n += 4;
            }
    qsort(w, n, sizeof w[0], compare_words);
    for (size_t i = 1; i < n; i++) same += w[i] == w[i - 1];
    CHECK(n == sizeof w / sizeof w[0]);
    CHECK(!same);
    CHECK(w[0] != 0);
}

/* Streams are part of what reproduces a result: they must never change. */
TEST(streams_are_frozen)
{
    mcamp_rng r;
    mcamp__rng8 r8;
    mcamp_rng_stream(&r, 42, MCAMP__STREAM_VERIFY, 7);
    mcamp__rng8_stream(&r8, 42, MCAMP__STREAM_VERIFY, 7);
    CHECK(mcamp_rng_next(&r) == UINT64_C(0xb9345741fbf5cc5a));
    CHECK(r8.s[3][5] == UINT64_C(0xafcc2eec51307795));
}

/* Bits of neighbouring streams agree half of the time: 4096 pairs x 64 bits,
 * 6.11 standard deviations (false alarm 1e-9).                               */
TEST(neighbouring_streams_are_uncorrelated)
{
    const int pairs = 4096;
    for (int kind = 0; kind < 3; kind++) {
        double agree = 0, n = 64.0 * pairs;
        for (uint64_t i = 0; i < (uint64_t)pairs; i++) {
            mcamp_rng a, b;
            uint64_t x;
            mcamp_rng_stream(&a, kind == 0 ? i : 1, kind == 1 ? (uint32_t)i : 1,
                             kind == 2 ? i : 1);
            mcamp_rng_stream(&b, kind == 0 ? i + 1 : 1,
                             kind == 1 ? (uint32_t)i + 1 : 1,
                             kind == 2 ? i + 1 : 1);
            x = mcamp_rng_next(&a) ^ mcamp_rng_next(&b);
            for (int bit = 0; bit < 64; bit++) agree += (double)(x >> bit & 1);
        }
        CHECK_LE(fabs(agree - n / 2), 6.11 * sqrt(n / 4));
    }
}

TEST(uniforms_fill_the_open_interval)
{
    mcamp_rng r;
    double lo = 1, hi = 0, sum = 0, n = 1e6, chi = 0, bins[100] = { 0 };
    CHECK(mcamp__to_uniform(0) > 0 && mcamp__to_uniform(UINT64_MAX) < 1);
    CHECK_NEAR(mcamp__to_uniform(0), 1 - mcamp__to_uniform(UINT64_MAX), 0, 0);
    mcamp_rng_stream(&r, 5, MCAMP__STREAM_TEST, 0);
    for (int i = 0; i < 1000000; i++) {
        double u = mcamp_rng_uniform(&r);
        lo = mcamp__dmin(lo, u); hi = mcamp__dmax(hi, u); sum += u;
        bins[(int)(u * 100)]++;
    }
    CHECK(lo > 0 && hi < 1);
    CHECK_LE(fabs(sum / n - 0.5), 6.11 / sqrt(12 * n));
    for (int i = 0; i < 100; i++) chi += (bins[i] - n / 100) * (bins[i] - n / 100);
    CHECK_LE(chi / (n / 100), 207.9);       /* chi-squared, 99 d.f., at 1e-9 */
}

TEST_MAIN("rng", T(xoshiro_from_state_1_2_3_4),
          T(splitmix_seeds_0_and_1234567), T(null_generators_do_nothing),
          T(streams_differ_in_every_argument), T(streams_are_frozen),
          T(neighbouring_streams_are_uncorrelated),
          T(uniforms_fill_the_open_interval))
