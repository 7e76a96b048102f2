/* Section clip: norms from above, clipped sums. */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

static mcamp_ctx ctx;

static void start(void) { CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK); }

static mcamp_tensor doubles(const double *x, size_t n)
{
    mcamp_tensor t = { NULL, NULL, 0 };
    t.d = x;
    t.n = n;
    return t;
}

static mcamp_tensor floats(const float *x, size_t n)
{
    mcamp_tensor t = { NULL, NULL, 0 };
    t.f = x;
    t.n = n;
    return t;
}

static mcamp_clip open_clip(double norm, size_t dim, uint64_t max, double grid, bool zero)
{
    mcamp_clip_desc d;
    mcamp_clip c;
    memset(&d, 0, sizeof d);
    memset(&c, 0, sizeof c);
    d.norm = norm; d.dim = dim; d.max_examples = max; d.grid = grid; d.zero_bad = zero;
    CHECK_STATUS(mcamp_clip_init(&ctx, &d, &c), MCAMP_OK);
    return c;
}

/* Numbers of about 106 bits, hi + lo, from exact sums and products of doubles (Knuth,
 * Dekker): 2^-100 is far below what the checks look for.                       */
typedef struct twice { double hi, lo; } twice;

static twice two_sum(double a, double b)
{
    twice s;
    double t;
    s.hi = a + b;
    t = s.hi - a;
    s.lo = (a - (s.hi - t)) + (b - t);
    return s;
}

static double upper_half(double a)
{
    volatile double t = 134217729.0 * a;    /* 2^27 + 1; volatile: not to be fused */
    return t - (t - a);
}

static twice square_of(double a)
{
    twice s;
    double h = upper_half(a), l = a - h;
    volatile double p = a * a;
    s.hi = p;
    s.lo = ((h * h - s.hi) + 2 * h * l) + l * l;
    return s;
}

static twice plus(twice a, twice b)
{
    twice s = two_sum(a.hi, b.hi);
    return two_sum(s.hi, s.lo + a.lo + b.lo);
}

static int at_most(twice a, twice b)
{
    return a.hi < b.hi || (a.hi <= b.hi && a.lo <= b.lo);
}

/* The square of the norm of x 2^e. */
static twice squares(const double *x, size_t n, int e)
{
    twice s = { 0, 0 };
    for (size_t i = 0; i < n; i++) s = plus(s, square_of(ldexp(x[i], e)));
    return s;
}

/* norm(x 2^e) <= limit, or without one part in 10^12 of it. */
static int norm_at_most(const double *x, size_t n, int e, double limit)
{
    return at_most(squares(x, n, e), square_of(limit));
}

static int norm_nearly(const double *x, size_t n, int e, double limit)
{
    return at_most(square_of(limit * (1 - 1e-12)), squares(x, n, e));
}

TEST(norms_are_bounded_from_above_and_closely)
{
    static double x[5000];
    static const int scale[] = { 0, 900, -900, 1000, -1000, -1040 };
    uint64_t seed = 1;
    start();
    for (size_t q = 0; q < 6; q++) {
        for (size_t n = 1; n <= 5000; n = n * 3 + 1) {
            mcamp_tensor t = doubles(x, n);
            double got = 0;
            for (size_t i = 0; i < n; i++)
                x[i] = ldexp(mcamp__to_uniform(mcamp__splitmix(&seed)) - 0.5, scale[q]);
            got = mcamp__pieces_norm(&t, 1, mcamp__pieces_max(&t, 1));
            CHECK(norm_at_most(x, n, -scale[q], ldexp(got, -scale[q])));
            CHECK(norm_nearly(x, n, -scale[q], ldexp(got, -scale[q])) || got <= DBL_MIN);
        }
    }
    x[0] = x[1] = 0;
    {
        mcamp_tensor t = doubles(x, 2);
        double got = 1;
        got = mcamp__pieces_norm(&t, 1, mcamp__pieces_max(&t, 1));
        CHECK_NEAR(got, 0, 0, 0);
    }
}

TEST(largest_magnitudes_are_found_wherever_they_are)
{
    double x[40], bad[3];
    float f[40];
    bad[0] = mcamp__nan(); bad[1] = mcamp__inf(); bad[2] = -mcamp__inf();
    start();
    for (size_t n = 1; n <= 40; n++) {
        for (size_t at = 0; at < n; at++) {
            mcamp_tensor d = doubles(x, n), s = floats(f, n);
            for (size_t i = 0; i < n; i++) {
                x[i] = i == at ? -3.25 : (i % 3 ? 3 : -3);
                f[i] = (float)x[i];
            }
            CHECK_NEAR(mcamp__pieces_max(&d, 1), 3.25, 0, 0);
            CHECK_NEAR(mcamp__pieces_max(&s, 1), 3.25, 0, 0);
            for (int k = 0; k < 3; k++) {
                x[at] = bad[k];
                f[at] = (float)bad[k];
                CHECK(!mcamp__finite(mcamp__pieces_max(&d, 1)));
                CHECK(!mcamp__finite(mcamp__pieces_max(&s, 1)));
            }
        }
    }
}

TEST(clipped_gradients_are_within_the_norm)
{
    enum { D = 300 };
    static double x[D], sum[D];
    uint64_t seed = 2;
    start();
    for (int trial = 0; trial < 2000; trial++) {
        double c = pow(10, (double)(trial % 21) - 10);
        mcamp_clip k = open_clip(c, D, 1, 0, false);
        mcamp_tensor t = doubles(x, D);
        for (size_t i = 0; i < D; i++) {
            x[i] = c * (mcamp__to_uniform(mcamp__splitmix(&seed)) - 0.5) * (1 + trial % 7) / 6;
            sum[i] = 0;
        }
        CHECK_STATUS(mcamp_clip_add(&ctx, &k, &t, 1, sum), MCAMP_OK);
        CHECK(norm_at_most(sum, D, 0, c));
        CHECK(norm_nearly(sum, D, 0, c) || !memcmp(x, sum, sizeof x));
        CHECK(k.clipped == (memcmp(x, sum, sizeof x) != 0) && k.added == 1);
    }
}

TEST(magnitudes_at_the_ends_are_clipped_too)
{
    double x[3] = { 1e308, -1e308, 1e300 }, y[3] = { 5e-324, 1e-310, 0 }, sum[3] = { 0, 0, 0 };
    mcamp_clip k;
    mcamp_tensor t = doubles(x, 3), u = doubles(y, 3);
    start();
    k = open_clip(2, 3, 10, 0, false);
    CHECK_STATUS(mcamp_clip_add(&ctx, &k, &t, 1, sum), MCAMP_OK);
    CHECK(norm_at_most(sum, 3, 0, 2) && norm_nearly(sum, 3, 0, 2));
    CHECK_STATUS(mcamp_clip_add(&ctx, &k, &u, 1, sum), MCAMP_OK);
    CHECK(norm_at_most(sum, 3, 0, 2));
    x[0] = x[1] = x[2] = DBL_MAX;           /* a norm beyond the range: left out */
    memset(sum, 0, sizeof sum);
    CHECK_STATUS(mcamp_clip_add(&ctx, &k, &t, 1, sum), MCAMP_OK);
    CHECK(norm_at_most(sum, 3, 0, 2));
}

/* limit/norm may be denormal, with few digits of its own. */
TEST(factors_without_digits_are_rounded_down)
{
    uint64_t seed = 9;
    start();
    for (int trial = 0; trial < 20000; trial++) {
        double u = 1 + mcamp__to_uniform(mcamp__splitmix(&seed));
        double norm = ldexp(u, 1000), f = 1;
        double limit = ldexp(1 + mcamp__to_uniform(mcamp__splitmix(&seed)), -20 - trial % 60);
        f = mcamp__clip_factor(norm, limit);
        /* f norm <= limit, both in units of 2^-80: f has at most 53 digits */
        {
            twice p;
            double a = ldexp(f, 1000), b = ldexp(norm, -920), h = upper_half(a), k = upper_half(b);
            volatile double product = a * b;
            p.hi = product;
            p.lo = ((h * k - p.hi) + h * (b - k) + (a - h) * k) + (a - h) * (b - k);
            CHECK(p.hi < ldexp(limit, 80) || (p.hi <= ldexp(limit, 80) && p.lo <= 0));
        }
        if (trial % 60 < 2) CHECK(f > 0);
    }
}

TEST(pieces_are_clipped_as_one_vector)
{
    enum { D = 1500 };
    static double x[D], flat[D], parts[D];
    static float f[D];
    mcamp_tensor p[4], t;
    mcamp_clip a, b;
    double one = 0, many = 0;
    start();
    for (size_t i = 0; i < D; i++) { f[i] = (float)sin((double)i); x[i] = (double)f[i]; }
    a = open_clip(3, D, 2, 0, false);
    b = open_clip(3, D, 2, 0, false);
    t = doubles(x, D);
    p[0] = floats(f, 700); p[1] = doubles(x + 700, 1);
    p[2] = floats(NULL, 0); p[3] = floats(f + 701, D - 701);
    one = mcamp__pieces_norm(&t, 1, mcamp__pieces_max(&t, 1));
    many = mcamp__pieces_norm(p, 4, mcamp__pieces_max(p, 4));
    CHECK_NEAR(one, many, 1e-12, 0);
    CHECK_STATUS(mcamp_clip_add(&ctx, &a, &t, 1, flat), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_add(&ctx, &b, p, 4, parts), MCAMP_OK);
    for (size_t i = 0; i < D; i++) CHECK_NEAR(parts[i], flat[i], 1e-12, 0);
}

/* With and without one example, in random order and of random sizes, among gradients
 * that all point one way and make the sum large. */
TEST(one_example_moves_a_sum_of_doubles_by_at_most_the_norm)
{
    enum { D = 20, M = 3000 };
    static double g[M][D], with[D], without[D];
    uint64_t seed = 3;
    start();
    for (int trial = 0; trial < 30; trial++) {
        size_t odd = (size_t)(mcamp__splitmix(&seed) % M);
        mcamp_clip a = open_clip(1, D, M, 0, false), b = open_clip(1, D, M, 0, false);
        twice n = { 0, 0 }, one = { 1, 0 }, below = { 1 - 2e-8, 0 };
        memset(with, 0, sizeof with);
        memset(without, 0, sizeof without);
        for (size_t e = 0; e < M; e++) {
            mcamp_tensor t = doubles(g[e], D);
            for (size_t i = 0; i < D; i++) g[e][i] = mcamp__to_uniform(mcamp__splitmix(&seed));
            CHECK_STATUS(mcamp_clip_add(&ctx, &a, &t, 1, with), MCAMP_OK);
            if (e != odd) CHECK_STATUS(mcamp_clip_add(&ctx, &b, &t, 1, without), MCAMP_OK);
        }
        for (size_t i = 0; i < D; i++) {
            twice d = two_sum(with[i], -without[i]);
            twice cross = { 2 * d.hi * d.lo, 0 };
            n = plus(n, plus(square_of(d.hi), cross));
        }
        CHECK(at_most(n, one) && at_most(below, n));
        {
            mcamp_tensor t = doubles(g[0], D);
            CHECK_STATUS(mcamp_clip_add(&ctx, &a, &t, 1, with), MCAMP_E_SIZE);
        }
        CHECK_STATUS(mcamp_clip_begin(&ctx, &a), MCAMP_OK);
        CHECK(a.added == 0 && a.clipped == M);
    }
}

/* The worst that is known: the sum with the example lies just above a power of two, the one
 * without just below, where the last place is worth half as much, and the others' last
 * digits are such that the two drift apart at every step.                         */
TEST(roundings_that_drift_apart_are_within_the_norm)
{
    enum { M = 3000 };
    double with = 0, without = 0, u = ldexp(1, -43), g[2] = { 0, 0 };
    mcamp_clip a, b;
    mcamp_tensor t = doubles(g, 1);
    size_t e;
    start();
    a = open_clip(1, 1, M, 0, false);
    b = open_clip(1, 1, M, 0, false);
    for (e = 0; e < M - 1; e++) {
        g[0] = e < 2047 ? 0.5 : e == 2047 ? 0.25 : e & 1 ? -0.125 - 0.75 * u : 0.125 + 1.25 * u;
        CHECK_STATUS(mcamp_clip_add(&ctx, &b, &t, 1, &without), MCAMP_OK);
        CHECK_STATUS(mcamp_clip_add(&ctx, &a, &t, 1, &with), MCAMP_OK);
        if (e != 2047) continue;
        g[0] = 7;
        CHECK_STATUS(mcamp_clip_add(&ctx, &a, &t, 1, &with), MCAMP_OK);
    }
    CHECK(with > 1024 && without < 1024 && a.clipped == 1 && !b.clipped);
    CHECK_LE(with - without, 1);
    CHECK_LE(a.target + 900 * u, with - without);       /* they did */
}

TEST(lattice_sums_round_towards_zero_and_are_exact)
{
    enum { D = 200 };
    static double x[D];
    static int64_t q[D];
    uint64_t seed = 4;
    double g = ldexp(1, -12);
    mcamp_tensor t = doubles(x, D);
    start();
    for (int trial = 0; trial < 500; trial++) {
        mcamp_clip k = open_clip(1, D, 4, g, false);
        uint64_t n = 0;
        memset(q, 0, sizeof q);
        for (size_t i = 0; i < D; i++)
            x[i] = (mcamp__to_uniform(mcamp__splitmix(&seed)) - 0.5) * (1 + trial % 3) / 10;
        CHECK_STATUS(mcamp_clip_add_grid(&ctx, &k, &t, 1, q), MCAMP_OK);
        for (size_t i = 0; i < D; i++) {
            n += (uint64_t)(q[i] * q[i]);
            CHECK(q[i] == 0 || (q[i] > 0) == (x[i] > 0));
            if (!k.clipped)
                CHECK(fabs((double)q[i] * g) <= fabs(x[i]) &&
                      fabs(x[i]) - fabs((double)q[i] * g) < g);
        }
        CHECK(n <= UINT64_C(1) << 24);
    }
    {
        double y[2] = { -1, 0 };
        int64_t s[2] = { 5, 5 };
        mcamp_tensor u = doubles(y, 2);
        mcamp_clip k = open_clip(1, 2, 4, g, false);
        CHECK_STATUS(mcamp_clip_add_grid(&ctx, &k, &u, 1, s), MCAMP_OK);
        CHECK(s[0] == 5 - 4095 && s[1] == 5);   /* 1, rounded up, is above the norm */
        CHECK_STATUS(mcamp_clip_add(&ctx, &k, &u, 1, y), MCAMP_E_MISMATCH);
        k = open_clip(1, 2, 4, 0, false);
        CHECK_STATUS(mcamp_clip_add_grid(&ctx, &k, &u, 1, s), MCAMP_E_MISMATCH);
    }
}

TEST(gradients_that_are_not_finite_are_refused_or_zeroed_and_counted)
{
    enum { D = 700 };
    static double x[D], sum[D];
    static float f[D];
    double bad[3];
    mcamp_tensor t = doubles(x, D), u = floats(f, D);
    start();
    bad[0] = mcamp__nan(); bad[1] = mcamp__inf(); bad[2] = -mcamp__inf();
    for (int q = 0; q < 3; q++) {
        for (size_t at = 0; at < D; at += 41) {
            mcamp_clip strict = open_clip(1, D, 9, 0, false);
            mcamp_clip kind = open_clip(1, D, 9, 0, true);
            for (size_t i = 0; i < D; i++) { x[i] = 1; f[i] = 1; sum[i] = 3; }
            x[at] = bad[q];
            f[at] = (float)bad[q];
            CHECK_STATUS(mcamp_clip_add(&ctx, &strict, &t, 1, sum), MCAMP_E_NONFINITE);
            CHECK_STATUS(mcamp_clip_add(&ctx, &strict, &u, 1, sum), MCAMP_E_NONFINITE);
            CHECK(strict.added == 0 && strict.zeroed == 0);
            CHECK_STATUS(mcamp_clip_add(&ctx, &kind, &t, 1, sum), MCAMP_OK);
            CHECK_STATUS(mcamp_clip_add(&ctx, &kind, &u, 1, sum), MCAMP_OK);
            CHECK(kind.added == 2 && kind.zeroed == 2 && kind.clipped == 0);
            for (size_t i = 0; i < D; i++) CHECK_NEAR(sum[i], 3, 0, 0);
        }
    }
}

/* A NaN or an infinity at any place of any piece of a list, floats and doubles mixed, with
 * good pieces before and behind it: never added, whatever the others hold.         */
TEST(no_piece_hides_what_is_not_finite)
{
    enum { P = 5 };
    static const size_t len[P] = { 13, 1, 8, 0, 21 };
    static double x[P][24], sum[43];
    static float f[P][24];
    int64_t grid_sum[43];
    double bad[3];
    start();
    bad[0] = mcamp__nan(); bad[1] = mcamp__inf(); bad[2] = -mcamp__inf();
    for (int kinds = 0; kinds < 4; kinds++) {
        mcamp_tensor t[P];
        for (size_t p = 0; p < P; p++)
            t[p] = (kinds + (int)p * (1 + kinds / 2)) & 1 ? floats(f[p], len[p])
                                                         : doubles(x[p], len[p]);
        for (size_t q = 0; q < P; q++) {
            for (size_t at = 0; at < len[q]; at++) {
                for (int b = 0; b < 3; b++) {
                    mcamp_clip strict = open_clip(1, 43, 9, 0, false);
                    mcamp_clip kind = open_clip(1, 43, 9, 0, true);
                    mcamp_clip lattice = open_clip(1, 43, 9, ldexp(1, -20), true);
                    for (size_t p = 0; p < P; p++)
                        for (size_t i = 0; i < 24; i++)
                            x[p][i] = f[p][i] = (float)(i + p) * 0.25f;
                    x[q][at] = bad[b];
                    f[q][at] = (float)bad[b];
                    for (int i = 0; i < 43; i++) { sum[i] = 3; grid_sum[i] = 3; }
                    CHECK_STATUS(mcamp_clip_add(&ctx, &strict, t, P, sum), MCAMP_E_NONFINITE);
                    CHECK_STATUS(mcamp_clip_add(&ctx, &kind, t, P, sum), MCAMP_OK);
                    CHECK_STATUS(mcamp_clip_add_grid(&ctx, &lattice, t, P, grid_sum), MCAMP_OK);
                    CHECK(strict.added == 0 && kind.added == 1 && lattice.added == 1);
                    CHECK(kind.zeroed == 1 && lattice.zeroed == 1 && !strict.zeroed);
                    for (int i = 0; i < 43; i++)
                        CHECK(grid_sum[i] == 3 && sum[i] <= 3 && sum[i] >= 3);
                }
            }
        }
    }
}

/* Coordinate by coordinate, floats and doubles, inside the norm and clipped: the integer
 * nearest to zero of the two, where the value is known exactly. */
TEST(lattice_rounding_is_towards_zero_for_both_types)
{
    enum { D = 64 };
    double x[D], g = ldexp(1, -10);
    float f[D];
    uint64_t seed = 12;
    start();
    for (int trial = 0; trial < 200; trial++) {
        mcamp_tensor t[2];
        mcamp_clip k = open_clip(1, 2 * D, 3, g, false);
        int64_t q[2 * D] = { 0 };
        double norm = 0;
        for (size_t i = 0; i < D; i++) {
            f[i] = (float)((mcamp__to_uniform(mcamp__splitmix(&seed)) - 0.5) / 5);
            x[i] = i % 2 ? (double)f[i] : (double)((int)(f[i] * 999)) * g;  /* whole ones too */
        }
        t[0] = floats(f, D);
        t[1] = doubles(x, D);
        CHECK_STATUS(mcamp_clip_add_grid(&ctx, &k, t, 2, q), MCAMP_OK);
        CHECK(!k.clipped);
        for (size_t i = 0; i < D; i++) {
            CHECK(q[i] == (int64_t)trunc((double)f[i] / g));
            CHECK(q[D + i] == (int64_t)trunc(x[i] / g));
        }
        for (size_t i = 0; i < D; i++) { f[i] *= 40; x[i] *= 40; }
        memset(q, 0, sizeof q);
        CHECK_STATUS(mcamp_clip_add_grid(&ctx, &k, t, 2, q), MCAMP_OK);
        CHECK(k.clipped == 1);
        for (size_t i = 0; i < D; i++) norm += (double)f[i] * (double)f[i] + x[i] * x[i];
        norm = sqrt(norm) * (1 + 1e-12);
        for (size_t i = 0; i < D; i++) {
            CHECK_LE(fabs((double)q[i]), fabs((double)f[i]) / norm / g * (1 + 2e-12));
            CHECK_LE(fabs((double)q[D + i]), fabs(x[i]) / norm / g * (1 + 2e-12));
            CHECK_LE(fabs((double)f[i]) / norm / g - 1 - 1e-6, fabs((double)q[i]));
            CHECK_LE(fabs(x[i]) / norm / g - 1 - 1e-6, fabs((double)q[D + i]));
        }
    }
}

TEST(bad_arguments_are_refused)
{
    mcamp_clip_desc good, d;
    mcamp_clip c, k;
    double x[2] = { 1, 2 }, sum[2] = { 0, 0 }, f = 9;
    mcamp_tensor t = doubles(x, 2), both = doubles(x, 2), huge = doubles(x, SIZE_MAX);
    mcamp_tensor two[2];
    float y[2] = { 1, 2 };
    start();
    memset(&good, 0, sizeof good);
    memset(&c, 0, sizeof c);
    good.norm = 1; good.dim = 2; good.max_examples = 5;
#define REFUSE(change, status) \
    do { d = good; change; CHECK_STATUS(mcamp_clip_init(&ctx, &d, &c), status); \
         CHECK(!c.magic); } while (0)
    REFUSE(d.start_canary = 1, MCAMP_E_CANARY);
    REFUSE(d.end_canary = 1, MCAMP_E_CANARY);
    REFUSE(d.norm = 0, MCAMP_E_REQUIRED);
    REFUSE(d.norm = -1, MCAMP_E_ARG);
    REFUSE(d.norm = mcamp__nan(), MCAMP_E_NONFINITE);
    REFUSE(d.norm = 1e-300, MCAMP_E_ARG);
    REFUSE(d.dim = 0, MCAMP_E_REQUIRED);
    REFUSE(d.max_examples = 0, MCAMP_E_REQUIRED);
    REFUSE(d.max_examples = UINT64_C(1) << 40, MCAMP_E_SIZE);
    REFUSE(d.grid = 0.3, MCAMP_E_ARG);
    REFUSE((d.grid = ldexp(1, -61), d.max_examples = 3), MCAMP_E_ARG);
    REFUSE(d.grid = -0.5, MCAMP_E_ARG);
    REFUSE(d.grid = mcamp__inf(), MCAMP_E_NONFINITE);
    REFUSE(d.grid = ldexp(1, -61), MCAMP_E_ARG);
    REFUSE((d.norm = ldexp(1, -910), d.grid = ldexp(1, -910)), MCAMP_E_ARG);
    REFUSE((d.norm = 1e-100, d.grid = ldexp(1, -901)), MCAMP_E_ARG);
#undef REFUSE
    CHECK_STATUS(mcamp_clip_init(&ctx, NULL, &c), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_clip_init(&ctx, &good, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_clip_init(NULL, &good, &c), MCAMP_E_ARG);
    k = open_clip(1, 2, 5, 0, false);
    both.f = y;
    two[0] = huge; two[1] = huge;
    CHECK_STATUS(mcamp_clip_add(&ctx, &c, &t, 1, sum), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_clip_add(&ctx, NULL, &t, 1, sum), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_clip_add(&ctx, &k, NULL, 1, sum), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_clip_add(&ctx, &k, &t, 0, sum), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_clip_add(&ctx, &k, &t, 1, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_clip_add(&ctx, &k, &both, 1, sum), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_clip_add(&ctx, &k, two, 2, sum), MCAMP_E_SIZE);
    t.n = 1;
    CHECK_STATUS(mcamp_clip_add(&ctx, &k, &t, 1, sum), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_clip_begin(&ctx, NULL), MCAMP_E_ARG);
    {   /* a factor without digits, on a grid: nothing is added */
        double far = 1.7e308;
        int64_t whole = 3;
        mcamp_tensor one = doubles(&far, 1);
        mcamp_clip coarse = open_clip(2, 1, 5, 1, false);
        CHECK_STATUS(mcamp_clip_add_grid(&ctx, &coarse, &one, 1, &whole), MCAMP_OK);
        CHECK(whole == 3 && coarse.added == 1 && coarse.clipped == 1);
    }
    f = mcamp__clip_factor(2, 1);
    CHECK_LE(f, 0.5);
    CHECK_LE(0.5 - 1e-15, f);
    CHECK_NEAR(mcamp__clip_factor(0.5, 1), 1, 0, 0);
    CHECK(k.added == 0 && sum[0] <= 0 && sum[0] >= 0);
}

TEST_MAIN("clip",
    T(norms_are_bounded_from_above_and_closely),
    T(largest_magnitudes_are_found_wherever_they_are),
    T(clipped_gradients_are_within_the_norm),
    T(magnitudes_at_the_ends_are_clipped_too),
    T(factors_without_digits_are_rounded_down),
    T(pieces_are_clipped_as_one_vector),
    T(one_example_moves_a_sum_of_doubles_by_at_most_the_norm),
    T(roundings_that_drift_apart_are_within_the_norm),
    T(lattice_sums_round_towards_zero_and_are_exact),
    T(gradients_that_are_not_finite_are_refused_or_zeroed_and_counted),
    T(no_piece_hides_what_is_not_finite),
    T(lattice_rounding_is_towards_zero_for_both_types),
    T(bad_arguments_are_refused))
