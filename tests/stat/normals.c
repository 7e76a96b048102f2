/* The law of normals over 2^30 draws of each generator: that of released noise and that
 * of simulations.  Moments, a chi-squared over 4000 cells, the tails beyond 4, 5 and 6,
 * and the correlation of neighbours.  Fixed seeds; every check has a false alarm rate of
 * 1e-9 or less.  A relative error of 2e-4 in the variance would be seen, and one part in
 * 10^5 of the mass in a wrong place.                                              */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "../mcamp_test.h"
#include "../stream.h"

enum { CELLS = 4000, CHUNK = 1 << 14 };
#define TOP 8.0             /* cells of width 1/250 from -8 to 8 */

typedef struct law {
    double n, s1, s2, s3, s4, lag, last;
    uint64_t cell[CELLS], beyond[2][3];
} law;

static mcamp_ctx ctx;
static double x[CHUNK];

static void law_add(law *l)
{
    double s1 = 0, s2 = 0, s3 = 0, s4 = 0, lag = 0, last = l->last;
    for (int i = 0; i < CHUNK; i++) {
        double y = x[i], y2 = y * y, place = (y + TOP) * (CELLS / (2 * TOP));
        s1 += y; s2 += y2 - 1; s3 += y * y2; s4 += y2 * y2 - 3;
        lag += last * y;
        last = y;
        l->cell[place < 0 ? 0 : place >= CELLS ? CELLS - 1 : (size_t)place]++;
        if (y2 < 16) continue;
        for (int k = 0; k < 3; k++) l->beyond[y > 0][k] += fabs(y) > 4 + k;
    }
    l->n += CHUNK;
    l->s1 += s1; l->s2 += s2; l->s3 += s3; l->s4 += s4;
    l->lag += lag;
    l->last = last;
}

/* Chi-squared over cells joined until each has 50 expected; two sides of the normal
 * approximation of its cube root (Wilson and Hilferty) at 6.2.                  */
static void check_cells(const law *l)
{
    double chi = 0, expected = 0, seen = 0, z, d, free_cells = -1;
    for (int i = 0; i < CELLS; i++) {
        double a = i ? -TOP + i * (2 * TOP / CELLS) : -40, b = -TOP + (i + 1) * (2 * TOP / CELLS);
        if (i == CELLS - 1) b = 40;
        expected += l->n * (a < 0 ? mt_phi(b) - mt_phi(a)
                                  : mt_phi(-a) - mt_phi(-b));
        seen += (double)l->cell[i];
        if (expected < 50 && i < CELLS - 1) continue;
        if (expected < 50) break;               /* the last few join nothing: tails below */
        d = seen - expected;
        chi += d * d / expected;
        free_cells++;
        expected = seen = 0;
    }
    z = (pow(chi / free_cells, 1.0 / 3) - (1 - 2 / (9 * free_cells))) / sqrt(2 / (9 * free_cells));
    printf("  chi-squared %.0f of %.0f cells: %.2f standard deviations\n", chi, free_cells + 1, z);
    CHECK(free_cells > 2000);
    CHECK_LE(fabs(z), 6.2);
}

/* A Poisson count of mean m is off by more than 7 sqrt(m) + 16 with probability below
 * 1e-9, whatever m: Bennett's inequality gives exp(-x^2/(2 (m + x/3))) a side.    */
static void check_tails(const law *l)
{
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 3; k++) {
            double m = l->n * mt_phi(-4 - k);
            printf("  %s %d: %llu, expected %.2f\n", side ? "above" : "below -", 4 + k,
                   (unsigned long long)l->beyond[side][k], m);
            CHECK_LE(fabs((double)l->beyond[side][k] - m), 7 * sqrt(m) + 16);
        }
    }
}

static void check_law(const law *l)
{
    double root = sqrt(l->n);
    printf("  %.0f draws; mean %.2f, variance %.2f, third %.2f, fourth %.2f, neighbours %.2f "
           "standard errors off\n", l->n, l->s1 / root, l->s2 / root / sqrt(2.0),
           l->s3 / root / sqrt(15.0), l->s4 / root / sqrt(96.0), l->lag / root);
    CHECK_LE(fabs(l->s1) / root, 6.11);
    CHECK_LE(fabs(l->s2) / root / sqrt(2.0), 6.11);
    CHECK_LE(fabs(l->s3) / root / sqrt(15.0), 6.11);
    CHECK_LE(fabs(l->s4) / root / sqrt(96.0), 6.11);
    CHECK_LE(fabs(l->lag) / root, 6.11);
    check_cells(l);
    check_tails(l);
}

/* A thousand steps of a million coordinates, and a little more. */
TEST(released_noise)
{
    static law l;
    mcamp_key key;
    size_t rounds = mt_scale((size_t)1 << 10);
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    mcamp_key_insecure_test(2024, &key);
    for (size_t t = 0; t < rounds; t++) {
        for (uint64_t i = 0; i < 64; i++) {
            mt_normals(&ctx, &key, t, i * CHUNK, CHUNK, x);
            law_add(&l);
        }
    }
    check_law(&l);
}

TEST(simulation)
{
    static law l;
    mcamp__rng8 r;
    size_t rounds = mt_scale((size_t)1 << 16);
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    mcamp__rng8_stream(&r, 2024, 70000, 1);
    for (size_t i = 0; i < rounds; i++) {
        mcamp__vec_normals(ctx.vec, &r, x, CHUNK);
        law_add(&l);
    }
    check_law(&l);
}

TEST_MAIN("stat_normals", T(released_noise), T(simulation))
