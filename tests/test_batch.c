/* Section batch: laws of participation, cuts. */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "stack_scan.h"
#include "mcamp_fault.h"

static mcamp_ctx ctx;

static void start(void) { CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK); }

static mcamp_batch_desc desc_of(mcamp_batch_law law, uint64_t m, uint64_t n, uint64_t b)
{
    mcamp_batch_desc d;
    memset(&d, 0, sizeof d);
    d.law = law;
    d.examples = m;
    d.rounds = n;
    d.batches = b;
    if (law == MCAMP_BATCH_POISSON || law == MCAMP_BATCH_MINSEP) d.q = 0.3;
    if (law == MCAMP_BATCH_FIXED) d.size = m / b / 2;
    if (law >= MCAMP_BATCH_ALLOCATE) d.picks = (b + 1) / 2;
    mcamp_key_insecure_test(7, &d.key);
    return d;
}

static mcamp_batch open_batch(const mcamp_batch_desc *d)
{
    mcamp_batch b;
    memset(&b, 0, sizeof b);
    CHECK_STATUS(mcamp_batch_init(&ctx, d, &b), MCAMP_OK);
    return b;
}

static size_t round_of(mcamp_batch *b, uint64_t t, size_t *out, size_t capacity)
{
    mcamp_batch_size s = { 0, 0 };
    CHECK_STATUS(mcamp_batch_round(&ctx, b, t, out, capacity, &s), MCAMP_OK);
    return s.kept;
}

TEST(high_words_of_products)
{
    CHECK(mcamp__mulhi(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    CHECK(mcamp__mulhi(UINT64_C(1) << 63, 6) == 3);
    CHECK(mcamp__mulhi(UINT64_C(0xffffffff), UINT64_C(0x100000001)) == 0);
    CHECK(mcamp__mulhi(UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9)) ==
          UINT64_C(0x7641f3080ff92329));
}

/* Numbers below n where a rejection is likely: n = 3 2^62 rejects one word in four. */
TEST(bounded_numbers_are_even_where_rejection_is_likely)
{
    uint64_t n = UINT64_C(3) << 62;
    size_t third[3] = { 0, 0, 0 }, rest[3] = { 0, 0, 0 }, all = 30000;
    uint32_t key[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    mcamp__words w;
    mcamp__words_open(&w, MCAMP_VEC_SCALAR, key, 9);
    for (uint64_t i = 0; i < all; i++) {
        uint64_t x = mcamp__below(&w, i, n);
        CHECK(x < n);
        third[x >> 62]++;
        rest[x % 3]++;          /* without rejection: a half, a quarter, a quarter */
    }
    for (int i = 0; i < 3; i++) {   /* 1e-9 each */
        CHECK_LE(fabs((double)third[i] - 10000), 6.11 * sqrt(30000 * 2 / 9.0));
        CHECK_LE(fabs((double)rest[i] - 10000), 6.11 * sqrt(30000 * 2 / 9.0));
    }
}

/* ---- laws against exact probabilities ------------------------------------------ */

/* Chi-squared of counts against probabilities, as a normal deviate (Wilson and
 * Hilferty); the tests allow 6.2: 1e-9.                                        */
static double chi(const size_t *count, const double *p, size_t cells, size_t total)
{
    double sum = 0, df = 0;
    for (size_t i = 0; i < cells; i++) {
        double e = p[i] * (double)total, d = (double)count[i] - e;
        if (!(p[i] > 0)) { CHECK(count[i] == 0); continue; }
        sum += d * d / e;
        df++;
    }
    df--;
    return (pow(sum / df, 1.0 / 3) - (1 - 2 / (9 * df))) / sqrt(2 / (9 * df));
}

#define TRIALS 20000

/* Runs the law at key after key; cell(batch) says what was seen. */
static void check_law(mcamp_batch_desc d, size_t (*cell)(mcamp_batch *b), const double *p,
                      size_t cells)
{
    static size_t count[64];
    mcamp_key root = d.key;
    size_t trials = mt_scale(TRIALS);
    start();
    memset(count, 0, sizeof count);
    for (size_t i = 0; i < trials; i++) {
        mcamp_batch b;
        size_t c;
        CHECK_STATUS(mcamp_key_derive(&ctx, &root, i, &d.key), MCAMP_OK);
        b = open_batch(&d);
        c = cell(&b);
        CHECK(c < cells);
        count[c < cells ? c : 0]++;
        mcamp_batch_free(&ctx, &b);
    }
    CHECK_LE(chi(count, p, cells, trials), 6.2);
}

/* Base-b digits: the bin of each of three examples. */
static size_t bins_cell(mcamp_batch *b)
{
    size_t out[3], code[3] = { 9, 9, 9 };
    for (size_t t = 0; t < 3; t++) {
        size_t n = round_of(b, t, out, 3);
        for (size_t i = 0; i < n; i++) code[out[i]] = t;
    }
    return code[0] * 9 + code[1] * 3 + code[2];
}

TEST(bins_are_uniform_and_independent)
{
    double p[27];
    for (int i = 0; i < 27; i++) p[i] = 1 / 27.0;
    check_law(desc_of(MCAMP_BATCH_BINS, 3, 3, 3), bins_cell, p, 27);
}

/* Two of five examples in two groups: the rounds, of three, in which each takes part. */
static size_t poisson_cell(mcamp_batch *b)
{
    size_t out[5], code = 0;
    for (size_t t = 0; t < 3; t++) {
        size_t n = round_of(b, t, out, 5);
        for (size_t i = 0; i < n; i++) {
            if (out[i] == 1) code |= (size_t)1 << t;
            if (out[i] == 4) code |= (size_t)8 << t;
        }
    }
    return code;
}

/* Group 0 has rounds 0 and 2, group 1 round 1. */
TEST(poisson_groups_and_coins_are_independent)
{
    double one[8] = { 0.5 * 0.7 * 0.7 + 0.5 * 0.7, 0.5 * 0.3 * 0.7, 0.5 * 0.3, 0, 0.5 * 0.3 * 0.7,
                      0.5 * 0.3 * 0.3, 0, 0 }, p[64];
    mcamp_batch_desc d = desc_of(MCAMP_BATCH_POISSON, 5, 3, 2);
    for (int i = 0; i < 64; i++) p[i] = one[i / 8] * one[i % 8];
    check_law(d, poisson_cell, p, 64);
    d.scan = true;
    d.key.byte[0]++;
    check_law(d, poisson_cell, p, 64);
}

static size_t set_cell(mcamp_batch *b)
{
    size_t out[16], code = 0, n = round_of(b, 0, out, 16);
    for (size_t i = 0; i < n; i++) {
        CHECK(!(code >> out[i] & 1));
        code |= (size_t)1 << out[i];
    }
    return code;
}

static size_t pair_cell(mcamp_batch *b)     /* of group 1 of nine in two */
{
    size_t out[4], n = round_of(b, 1, out, 4);
    CHECK(n == 2 && out[0] % 2 == 1 && out[1] % 2 == 1 && out[0] < out[1]);
    return (out[0] / 2) * 4 + out[1] / 2;
}

TEST(fixed_batches_are_uniform_subsets)
{
    double p[16] = { 0 };
    for (int i = 0; i < 4; i++) for (int j = i + 1; j < 4; j++) p[4 * i + j] = 1 / 6.0;
    check_law(desc_of(MCAMP_BATCH_FIXED, 9, 2, 2), pair_cell, p, 16);
}

static size_t pattern_cell(mcamp_batch *b)
{
    size_t out[1], code = 0;
    for (size_t t = 0; t < 5; t++) code |= round_of(b, t, out, 1) << t;
    return code;
}

TEST(minsep_patterns_have_the_stated_law)
{
    double p[32];
    for (int i = 0; i < 32; i++) {
        int rest = 0;
        p[i] = 1;
        for (int t = 0; t < 5; t++) {
            int in = i >> t & 1;
            p[i] *= rest ? (in ? 0 : 1) : (in ? 0.3 : 0.7);
            rest = in ? 2 : rest ? rest - 1 : 0;
        }
    }
    check_law(desc_of(MCAMP_BATCH_MINSEP, 1, 5, 3), pattern_cell, p, 32);
}

/* Which two of four rounds: example 0 in epoch 0, and whichever else the law leaves free. */
static size_t allocate_cell(mcamp_batch *b)
{
    static const size_t rank[16] = { 9, 9, 9, 0, 9, 1, 3, 9, 9, 2, 4, 9, 5, 9, 9, 9 };
    size_t out[2], code[3][2] = { { 0, 0 }, { 0, 0 }, { 0, 0 } }, two;
    for (size_t t = 0; t < 10; t++) {
        size_t n = round_of(b, t, out, 2);
        for (size_t i = 0; i < n; i++) code[t / 4][out[i]] |= (size_t)1 << t % 4;
    }
    if (b->law == MCAMP_BATCH_ALLOCATE) {
        for (size_t e = 0; e < 2; e++)
            CHECK(code[0][e] == code[1][e] && code[2][e] == (code[0][e] & 3));
        two = code[0][1];
    } else {
        two = code[1][0];
    }
    return 6 * rank[code[0][0]] + rank[two];
}

TEST(allocations_are_uniform_and_independent)
{
    double p[36];
    for (int i = 0; i < 36; i++) p[i] = 1 / 36.0;
    check_law(desc_of(MCAMP_BATCH_ALLOCATE, 2, 10, 4), allocate_cell, p, 36);
    check_law(desc_of(MCAMP_BATCH_ALLOCATE_ANEW, 1, 10, 4), allocate_cell, p, 36);
}

/* So many rounds of every whole epoch, from one to all. */
TEST(allocations_have_their_number)
{
    enum { M = 60, R = 23 };
    size_t out[M];
    start();
    for (int anew = 0; anew < 2; anew++)
        for (uint64_t b = 1; b <= 7; b += 3)
            for (uint64_t k = 1; k <= b; k++) {
                mcamp_batch_desc d = desc_of(anew ? MCAMP_BATCH_ALLOCATE_ANEW
                                                  : MCAMP_BATCH_ALLOCATE, M, R, b);
                size_t seen[M] = { 0 };
                mcamp_batch q;
                d.picks = k;
                q = open_batch(&d);
                CHECK(mcamp_batch_largest(&q) == M);
                for (size_t t = 0; t < R; t++) {
                    size_t n = round_of(&q, t, out, M);
                    for (size_t i = 0; i < n; i++) seen[out[i]]++;
                    if (k == b) CHECK(n == M);
                    for (size_t e = 0; e < M && t % b == b - 1; e++) {
                        CHECK(seen[e] == k);
                        seen[e] = 0;
                    }
                }
                mcamp_batch_free(&ctx, &q);
            }
}

static size_t order_cell(mcamp_batch *b)
{
    size_t out[1], x[4], code = 0;
    for (size_t t = 0; t < 4; t++) { round_of(b, t, out, 1); x[t] = out[0]; }
    for (int i = 0; i < 3; i++) {       /* rank of the permutation */
        size_t less = 0;
        for (int j = i + 1; j < 4; j++) less += x[j] < x[i];
        code = code * (size_t)(4 - i) + less;
    }
    return code;
}

TEST(shuffles_are_uniform)
{
    double p[24];
    for (int i = 0; i < 24; i++) p[i] = 1 / 24.0;
    check_law(desc_of(MCAMP_BATCH_SHUFFLE, 4, 4, 4), order_cell, p, 24);
}

TEST(cuts_choose_uniformly)
{
    double p[32] = { 0 };
    mcamp_batch_desc d = desc_of(MCAMP_BATCH_BINS, 5, 1, 1);
    d.limit = 3;
    for (int i = 0; i < 32; i++) {
        int bits = 0;
        for (int k = 0; k < 5; k++) bits += i >> k & 1;
        if (bits == 3) p[i] = 0.1;
    }
    check_law(d, set_cell, p, 32);
}

/* ---- forms agree ------------------------------------- */

/* Word i of a step of subkey `purpose`: a block of ChaCha20 holds eight. */
static uint64_t word_of(const mcamp_key *key, uint64_t purpose, uint64_t step, uint64_t i)
{
    uint32_t sub[8], in[16], out[16];
    mcamp__subkey(key, purpose, sub);
    mcamp__chacha_input(in, sub, i / 8, step);
    mcamp__chacha_block(in, out);
    return out[2 * (i % 8)] | (uint64_t)out[2 * (i % 8) + 1] << 32;
}

/* The bin of e by the high word of a product, whose rejections are too rare to be met. */
static uint64_t bin_of(const mcamp_batch_desc *d, uint64_t step, uint64_t e)
{
    return (uint64_t)((double)word_of(&d->key, 5, step, e) * ldexp((double)d->batches, -64));
}

/* Does e take part in round t, before any cut?  From the law's definition and the words
 * of subkey 5; groups of POISSON are those of step 2^55, and coins are counted in them. */
static int takes_part(const mcamp_batch_desc *d, uint64_t t, uint64_t e)
{
    uint64_t below = (uint64_t)ldexp(d->q, 64), free_at = 0, before = 0;
    int in = 0;
    switch (d->law) {
    case MCAMP_BATCH_BINS:
        return bin_of(d, 0, e) == t % d->batches;
    case MCAMP_BATCH_POISSON:
        if (bin_of(d, UINT64_C(1) << 55, e) != t % d->batches) return 0;
        for (uint64_t i = 0; i < e; i++)
            before += bin_of(d, UINT64_C(1) << 55, i) == t % d->batches;
        return word_of(&d->key, 5, t, before) < below;
    case MCAMP_BATCH_ALLOCATE:
    case MCAMP_BATCH_ALLOCATE_ANEW:
        for (uint64_t i = 0; i <= t % d->batches; i++) {
            uint64_t step = d->law == MCAMP_BATCH_ALLOCATE ? i : t - t % d->batches + i;
            double left = (double)(d->batches - i);
            in = floor((double)word_of(&d->key, 5, step, e) * ldexp(left, -64)) <
                 (double)(d->picks - before);
            before += (uint64_t)in;
        }
        return in;
    default:
        for (uint64_t s = 0; s <= t; s++) {
            in = s >= free_at && word_of(&d->key, 5, s, e) < below;
            if (in) free_at = s + d->batches;
        }
        return in;
    }
}

TEST(list_scan_and_the_definition_agree)
{
    enum { M = 1000, R = 23, B = 7, CLOSELY = 200 };
    start();
    for (int law = 1; law <= 2; law++) {
        mcamp_batch_desc d = desc_of((mcamp_batch_law)law, law == 1 ? M : CLOSELY, R, B);
        mcamp_batch list, scan;
        size_t a[M], c[M], seen[M] = { 0 }, largest = 0;
        list = open_batch(&d);
        d.scan = true;
        scan = open_batch(&d);
        CHECK(!scan.list && !scan.start);
        for (size_t t = 0; t < R; t++) {
            size_t n = round_of(&list, t, a, M), k = 0;
            CHECK(n == round_of(&scan, t, c, M) && !memcmp(a, c, n * sizeof *a));
            if (n > largest) largest = n;
            for (size_t e = 0; e < d.examples; e++) {
                int in = takes_part(&d, t, e);
                CHECK(in == (k < n && a[k] == e));
                k += (size_t)in;
                seen[e] += (size_t)in;
            }
        }
        for (size_t e = 0; e < d.examples; e++)         /* 23 = 3 7 + 2 */
            CHECK(law == 1 ? seen[e] == 3 || seen[e] == 4 : seen[e] <= 4);
        CHECK(law == 1 ? mcamp_batch_largest(&list) == largest
                       : mcamp_batch_largest(&list) >= largest);
        CHECK(mcamp_batch_largest(&scan) == d.examples);
        mcamp_batch_free(&ctx, &list);
        mcamp_batch_free(&ctx, &scan);
    }
}

/* With the last example and without it: nobody else is drawn otherwise, but where sizes
 * are fixed.  (Whose place is elsewhere is no other case: others' draws are alike.)  */
TEST(one_example_moves_no_other)
{
    enum { M = 61, R = 24, B = 4 };
    start();
    for (int i = 0; i < 8; i++) {
        static const mcamp_batch_law laws[] = { MCAMP_BATCH_BINS, MCAMP_BATCH_POISSON,
            MCAMP_BATCH_POISSON, MCAMP_BATCH_MINSEP, MCAMP_BATCH_ALLOCATE,
            MCAMP_BATCH_ALLOCATE_ANEW, MCAMP_BATCH_FIXED, MCAMP_BATCH_SHUFFLE };
        mcamp_batch_desc d = desc_of(laws[i], M, R, B);
        size_t a[M], c[M], moved = 0, took = 0;
        mcamp_batch with, without;
        d.scan = i == 2;
        if (d.size) d.size = 15;
        with = open_batch(&d);
        d.examples--;
        without = open_batch(&d);
        for (size_t t = 0; t < R; t++) {
            size_t n = round_of(&with, t, a, M), m = round_of(&without, t, c, M), k = 0;
            for (size_t e = 0; e < n; e++) {
                if (a[e] == M - 1) took++;
                else               a[k++] = a[e];
            }
            moved += k != m || memcmp(a, c, m * sizeof *a);
        }
        CHECK(i < 6 ? moved == 0 && took > 0 : moved > 0);
        mcamp_batch_free(&ctx, &with);
        mcamp_batch_free(&ctx, &without);
    }
}

TEST(laws_agree_with_the_definition_in_any_order)
{
    enum { M = 90, R = 40 };
    static const uint64_t order[] = { 0, 1, 2, 2, 1, 10, 39, 5, 38, 37, 6, 0, 39 };
    start();
    for (int i = 0; i < 12; i++) {          /* distances 4, 1, 39 */
        static const uint64_t apart[] = { 4, 1, 39 };
        static const mcamp_batch_law laws[] = { MCAMP_BATCH_POISSON, MCAMP_BATCH_MINSEP,
            MCAMP_BATCH_ALLOCATE, MCAMP_BATCH_ALLOCATE_ANEW };
        mcamp_batch_desc d = desc_of(laws[i % 4], M, R, apart[i / 4]);
        mcamp_batch b = open_batch(&d);
        size_t out[M];
        for (size_t q = 0; q < sizeof order / sizeof order[0]; q++) {
            size_t n = round_of(&b, order[q], out, M), k = 0;
            for (size_t e = 0; e < M; e++) {
                int in = takes_part(&d, order[q], e);
                CHECK(in == (k < n && out[k] == e));
                k += (size_t)in;
            }
        }
        mcamp_batch_free(&ctx, &b);
    }
}

TEST(minsep_keeps_its_distance)
{
    enum { M = 300, R = 60, B = 5 };
    mcamp_batch_desc d = desc_of(MCAMP_BATCH_MINSEP, M, R, B);
    mcamp_batch b;
    size_t out[M], last[M] = { 0 };
    start();
    b = open_batch(&d);
    for (size_t t = 0; t < R; t++) {
        size_t n = round_of(&b, t, out, M);
        for (size_t i = 0; i < n; i++) {
            CHECK(!last[out[i]] || t + 1 - last[out[i]] >= B);
            last[out[i]] = t + 1;
        }
    }
    mcamp_batch_free(&ctx, &b);
}

TEST(shuffled_batches_partition_each_epoch)
{
    mcamp_batch_desc d = desc_of(MCAMP_BATCH_SHUFFLE, 103, 20, 10);
    mcamp_batch b;
    size_t out[20], seen[103] = { 0 };
    start();
    b = open_batch(&d);
    for (size_t t = 0; t < 20; t++) {
        size_t n = round_of(&b, t, out, 20);
        CHECK(n == (t % 10 < 3 ? 11u : 10u));
        for (size_t i = 0; i < n; i++) CHECK(++seen[out[i]] == (t < 10 ? 1u : 2u));
    }
    CHECK(mcamp_batch_largest(&b) == 11);
    mcamp_batch_free(&ctx, &b);
    CHECK(mcamp_batch_largest(&b) == 0);
}

/* One example, one batch, as many batches as examples or more, probability 1, all of a
 * group, an epoch of one round at the end: what is drawn is what the law says.     */
TEST(laws_hold_at_their_edges)
{
    static const struct { uint64_t m, n, b; } shape[] = { { 1, 1, 1 }, { 1, 5, 2 }, { 9, 4, 1 },
        { 6, 13, 6 }, { 5, 12, 7 }, { 20, 9, 4 }, { 21, 5, 4 } };
    size_t out[32];
    start();
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        for (int law = 1; law <= 5; law++) {
            mcamp_batch_desc d = desc_of((mcamp_batch_law)law, shape[i].m, shape[i].n, shape[i].b);
            size_t seen[32] = { 0 }, largest = 0, k;
            mcamp_batch b;
            if (law == MCAMP_BATCH_FIXED && !(d.size = d.examples / d.batches)) continue;
            if (d.q > 0) d.q = 1;
            b = open_batch(&d);
            CHECK(b.key_id == mcamp_key_id(&d.key));
            for (uint64_t t = 0; t < d.rounds; t++) {
                size_t n = round_of(&b, t, out, 32);
                uint64_t place = t % d.batches, group = d.examples / d.batches +
                                                        (place < d.examples % d.batches);
                if (n > largest) largest = n;
                for (k = 0; k < n; k++) {
                    CHECK(out[k] < d.examples);
                    seen[out[k]]++;
                    if (law == 3) CHECK(out[k] % d.batches == place);
                }
                if (law == 5) CHECK(n == group);
                if (law == 3) CHECK(n == d.size);
                if (law == 4) CHECK(n == (place ? 0 : d.examples));
                if (law < 3 && d.batches == 1) CHECK(n == d.examples);
                if (law == 1 || law == 5) continue;
                for (k = 1; k < n; k++) CHECK(out[k - 1] < out[k]);
            }
            for (k = 0; k < d.examples && law != 3; k++) {
                size_t whole = (size_t)(d.rounds / d.batches);
                CHECK(seen[k] == whole || seen[k] == whole + (d.rounds % d.batches != 0));
            }
            CHECK_LE((double)largest, (double)mcamp_batch_largest(&b));
            if (law != 4 || d.batches <= d.rounds)
                CHECK(mcamp_batch_largest(&b) == largest || (b.start && d.rounds < d.batches));
            mcamp_batch_free(&ctx, &b);
        }
    }
}

/* Batches of one fewer than the limit, of the limit, of one more: only the last is cut,
 * and who is left out changes from round to round. */
TEST(limits_cut_what_is_above_them_and_nothing_else)
{
    size_t out[8], gone[7] = { 0 };
    start();
    for (uint64_t limit = 5; limit <= 8; limit++) {
        mcamp_batch_desc d = desc_of(MCAMP_BATCH_POISSON, 7, 60, 1);
        mcamp_batch b;
        d.q = 1;
        d.limit = limit;
        b = open_batch(&d);
        CHECK(mcamp_batch_largest(&b) == (limit < 7 ? limit : 7));
        for (uint64_t t = 0; t < 60; t++) {
            mcamp_batch_size s;
            int in = 0;
            CHECK_STATUS(mcamp_batch_round(&ctx, &b, t, out, 8, &s), MCAMP_OK);
            CHECK(s.drawn == 7 && s.kept == (limit < 7 ? limit : 7));
            for (size_t k = 0; k < s.kept; k++) {
                CHECK(out[k] < 7 && !(in >> out[k] & 1));
                in |= 1 << out[k];
                if (limit >= 7) CHECK(out[k] == k);
            }
            for (size_t e = 0; e < 7; e++) gone[e] += !(in >> e & 1) && limit == 6;
            if (s.kept) {
                CHECK_STATUS(mcamp_batch_round(&ctx, &b, t, out, s.kept - 1, &s), MCAMP_E_SIZE);
                CHECK_STATUS(mcamp_batch_round(&ctx, &b, t, out, s.kept, &s), MCAMP_OK);
            }
        }
        mcamp_batch_free(&ctx, &b);
    }
    for (size_t e = 0; e < 7; e++) CHECK(gone[e] > 0 && gone[e] < 60);
}

/* Frees must find nothing but zeros.  A free that looks at what is left. */
static size_t dirty;
static void *plain_alloc(void *user, size_t size) { (void)user; return calloc(1, size); }
static void looking_free(void *user, void *p, size_t size)
{
    (void)user;
    for (size_t i = 0; i < size; i++) dirty += ((unsigned char *)p)[i] != 0;
    free(p);
}

static mcamp_batch_desc left_desc;
static mcamp_batch left_batch;
static size_t left_out[500];
static void makes_a_batch(void) { mcamp_batch_init(&ctx, &left_desc, &left_batch); }
static void draws_a_batch(void)
{
    mcamp_batch_size s;
    mcamp_batch_round(&ctx, &left_batch, 3, left_out, 500, &s);
}

/* Keys, words: all eight of a key's words, more than half of the 128 of a group (compilers
 * may spill some). */
TEST(nothing_secret_is_left_behind)
{
    start();
    for (int law = 1; law <= 5; law++) {
        mcamp_ctx c;
        mcamp_ctx_desc cd;
        mcamp_batch b, zero;
        uint32_t sub[8];
        uint64_t word[128];
        int found = 0;
        memset(&cd, 0, sizeof cd);
        memset(&zero, 0, sizeof zero);
        cd.alloc.alloc = plain_alloc;
        cd.alloc.free = looking_free;
        CHECK_STATUS(mcamp_ctx_init(&c, &cd), MCAMP_OK);
        left_desc = desc_of((mcamp_batch_law)law, 500, 10, 4);
        left_desc.limit = 60;
        CHECK_STATUS(mcamp_batch_init(&c, &left_desc, &b), MCAMP_OK);
        dirty = 0;
        mcamp_batch_free(&c, &b);
        CHECK(dirty == 0 && !memcmp(&b, &zero, sizeof b));
        left_desc.scan = law == 1;
        stack_after(makes_a_batch);
        for (uint64_t purpose = 5; purpose <= 6; purpose++) {
            mcamp__subkey(&left_desc.key, purpose, sub);
            CHECK(!stack_holds(sub, 16) && !stack_holds(sub + 4, 16));
        }
        stack_after(draws_a_batch);
        mcamp__word_group(ctx.vec, left_batch.keys + 8, 3, 0, word);
        for (int i = 0; i < 128; i += 2) found += stack_holds(word + i, 16);
        if (law != 2) {                     /* the cut's last group, or the law's */
            mcamp__word_group(ctx.vec, left_batch.keys, law == 1 ? 0 : 3, law == 3 ? 0 : 3, word);
            for (int i = 0; i < 128; i += 2) found += stack_holds(word + i, 16);
        }
        CHECK(!found);
        mcamp_batch_free(&ctx, &left_batch);
    }
}

/* Every set, and a number that holds on every machine. */
TEST(batches_are_the_same_everywhere)
{
    enum { M = 2000, R = 12 };
    static size_t out[M];
    uint64_t first = 0;
    start();
    for (int v = MCAMP_VEC_SCALAR; v <= MCAMP_VEC_AVX512; v++) {
        mcamp_ctx_desc cd;
        uint64_t hash = 0;
        memset(&cd, 0, sizeof cd);
        cd.vec = (mcamp_vecset)v;
        if (!mcamp__vecset_available(cd.vec)) continue;
        CHECK_STATUS(mcamp_ctx_init(&ctx, &cd), MCAMP_OK);
        for (int law = 1; law <= 5; law++) {
            for (int limit = 0; limit <= 1; limit++) {
                mcamp_batch_desc d = desc_of((mcamp_batch_law)law, M, R, 5);
                mcamp_batch b;
                if (limit) d.limit = 90;
                b = open_batch(&d);
                for (size_t t = 0; t < R; t++) {
                    size_t n = round_of(&b, t, out, M);
                    for (size_t i = 0; i < n; i++) hash = mcamp__hash_word(hash, out[i]);
                }
                mcamp_batch_free(&ctx, &b);
            }
        }
        if (!first) first = hash;
        CHECK(hash == first);
    }
    CHECK(first == UINT64_C(0xb21c820fabe989c7));
}

/* ---- cuts ------------------------------------- */

static double tail(double m, double p, double a)    /* directly, in the test */
{
    double s = 0;
    for (double k = m; k >= a; k--)
        s += exp(lgamma(m + 1) - lgamma(k + 1) - lgamma(m - k + 1) + k * log(p) +
                 (m - k) * log1p(-p));
    return s;
}

TEST(odds_of_a_cut_are_bounded_from_above_and_closely)
{
    static const double c[][3] = { { 10, 0.3, 9 }, { 10, 0.3, 10 }, { 100, 0.1, 25 },
        { 1000, 0.01, 20 }, { 1000, 0.25, 300 }, { 50000, 0.01, 650 }, { 7, 0.5, 4 } };
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        double exact = tail(c[i][0], c[i][1], c[i][2]);
        double bound = exp(mcamp__log_tail(c[i][0], c[i][1], c[i][2]));
        CHECK_LE(exact * (1 - 1e-9), bound);
        CHECK_LE(bound, exact * 1.6);
    }
    CHECK(mcamp__log_tail(10, 0.3, 3) >= 0 && mcamp__log_tail(10, 0.3, 11) < -1e300);
    CHECK_LE(mcamp__log_tail(1e12, 1e-3, 1.001e9), -400);
    for (double a = 1; a <= 30; a++)                    /* below the mean */
        CHECK(mcamp__log_tail(100, 0.3, a) >= 0);
}

TEST(cuts_are_priced)
{
    mcamp_batch_desc d = desc_of(MCAMP_BATCH_BINS, 1000, 30, 10);
    mcamp_batch b;
    double p = -1, delta = -1;
    start();
    b = open_batch(&d);
    CHECK_STATUS(mcamp_batch_cut_probability(&ctx, &b, &p), MCAMP_OK);
    CHECK_STATUS(mcamp_batch_cut_delta(&ctx, &b, 1, &delta), MCAMP_OK);
    CHECK_NEAR(p + delta, 0, 0, 0);
    mcamp_batch_free(&ctx, &b);
    d.limit = 150;
    b = open_batch(&d);
    CHECK_STATUS(mcamp_batch_cut_probability(&ctx, &b, &p), MCAMP_OK);
    CHECK_LE(10 * tail(1001, 0.1, 151), p);             /* the larger neighbour's */
    CHECK_LE(p, 16 * tail(1001, 0.1, 151));
    CHECK_STATUS(mcamp_batch_cut_delta(&ctx, &b, 1, &delta), MCAMP_OK);
    CHECK_NEAR(delta, (1 + exp(1.0)) * p, 1e-11, 0);
    CHECK_STATUS(mcamp_batch_cut_delta(&ctx, &b, mcamp__nan(), &delta), MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_batch_cut_delta(&ctx, &b, -1, &delta), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_batch_cut_delta(&ctx, &b, 1, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_batch_cut_probability(&ctx, &b, NULL), MCAMP_E_REQUIRED);
    mcamp_batch_free(&ctx, &b);
    d.limit = 100;                      /* the mean: nothing is left */
    b = open_batch(&d);
    CHECK_STATUS(mcamp_batch_cut_probability(&ctx, &b, &p), MCAMP_OK);
    CHECK_NEAR(p, 1, 0, 0);
    mcamp_batch_free(&ctx, &b);
    d = desc_of(MCAMP_BATCH_SHUFFLE, 100, 5, 10);
    for (int more = 0; more < 2; more++) {      /* of 101 examples one batch has 11 */
        d.limit = 10 + (uint64_t)more;
        b = open_batch(&d);
        CHECK_STATUS(mcamp_batch_cut_probability(&ctx, &b, &p), MCAMP_OK);
        CHECK_NEAR(p, more ? 0 : 1, 0, 0);
        mcamp_batch_free(&ctx, &b);
    }
    d = desc_of(MCAMP_BATCH_BINS, 12, 5, 3);
    for (int more = 0; more < 2; more++) {      /* 13 may all be in one batch */
        d.limit = 12 + (uint64_t)more;
        b = open_batch(&d);
        CHECK_STATUS(mcamp_batch_cut_probability(&ctx, &b, &p), MCAMP_OK);
        if (more) CHECK_NEAR(p, 0, 0, 0); else CHECK_NEAR(p, 3 * pow(3, -13), 1e-10, 0);
        mcamp_batch_free(&ctx, &b);
    }
    d = desc_of(MCAMP_BATCH_BINS, 5000, 5, 100);
    d.limit = 4999;                     /* e^-23000: not 0 */
    b = open_batch(&d);
    CHECK_STATUS(mcamp_batch_cut_probability(&ctx, &b, &p), MCAMP_OK);
    CHECK(p > 0);
    mcamp_batch_free(&ctx, &b);
    for (int i = 0; i < 3; i++) {
        static const struct { mcamp_batch_law law; uint64_t picks, limit; } c[3] = {
            { MCAMP_BATCH_POISSON, 0, 70 }, { MCAMP_BATCH_MINSEP, 0, 600 },
            { MCAMP_BATCH_ALLOCATE, 3, 380 } };
        double rate;
        d = desc_of(c[i].law, 1000, 30, 10);
        d.picks = c[i].picks;
        d.limit = c[i].limit;
        rate = i == 0 ? 0.03 : i == 1 ? d.q : 0.3;      /* MINSEP: of all, not of a group */
        b = open_batch(&d);
        CHECK_STATUS(mcamp_batch_cut_probability(&ctx, &b, &p), MCAMP_OK);
        CHECK_LE(30 * tail(1001, rate, (double)c[i].limit + 1), p);
        CHECK_LE(p, 48 * tail(1001, rate, (double)c[i].limit + 1));
        mcamp_batch_free(&ctx, &b);
    }
    for (int more = 0; more < 2; more++) {      /* a size that is known */
        d = desc_of(MCAMP_BATCH_FIXED, 100, 20, 5);
        d.limit = d.size - 1 + (uint64_t)more;
        b = open_batch(&d);
        CHECK_STATUS(mcamp_batch_cut_probability(&ctx, &b, &p), MCAMP_OK);
        CHECK_NEAR(p, more ? 0 : 1, 0, 0);
        mcamp_batch_free(&ctx, &b);
    }
}

/* H_{e^eps} of (N(s,0) + N(0,s))/2 over (N(t,0) + N(0,t))/2, variances 1, on a grid. */
static double divergence(double s, double t, double eps)
{
    double h = 0.05, sum = 0, e = exp(eps);
    for (double x = -7; x < 9; x += h) {
        for (double y = -7; y < 9; y += h) {
            double a = x - s, b = y - s, c = x - t, d = y - t;
            double p = exp(-(a * a + y * y) / 2) + exp(-(x * x + b * b) / 2);
            double q = exp(-(c * c + y * y) / 2) + exp(-(x * x + d * d) / 2);
            if (p > e * q) sum += p - e * q;
        }
    }
    return sum * h * h / (4 * 3.14159265358979323846);
}

/* Why a cut has a price under zero-out too: two full bins, an example d that pushes out
 * another one, whose gradient is -d's, wherever it falls.  Against the run without the
 * other's gradient: d zeroed out leaves a shift of 1 in d's bin, d itself one of 2.
 * That pair is easier to tell apart than the pair (1, 0) that is accounted for. */
TEST(cutting_is_not_free_even_under_zero_out)
{
    CHECK_LE(1.5 * divergence(1, 0, 1), divergence(2, 1, 1));
    CHECK_LE(3 * divergence(1, 0, 2), divergence(2, 1, 2));
}

/* ---- bad input, memory ------------------------------------- */

TEST(bad_descriptors_are_refused)
{
    mcamp_batch_desc good = desc_of(MCAMP_BATCH_BINS, 100, 20, 5), d;
    mcamp_batch b;
    start();
    memset(&b, 0, sizeof b);
#define REFUSE(change, status) \
    do { d = good; change; CHECK_STATUS(mcamp_batch_init(&ctx, &d, &b), status); \
         CHECK(!b.magic); } while (0)
    REFUSE(d.start_canary = 1, MCAMP_E_CANARY);
    REFUSE(d.end_canary = 1, MCAMP_E_CANARY);
    REFUSE(d.law = MCAMP_BATCH_UNSET, MCAMP_E_REQUIRED);
    REFUSE(d.law = (mcamp_batch_law)9, MCAMP_E_ARG);
    REFUSE(d.picks = 1, MCAMP_E_ARG);
    REFUSE(d.examples = 0, MCAMP_E_SIZE);
    REFUSE(d.examples = UINT64_MAX, MCAMP_E_SIZE);
    REFUSE(d.examples = UINT64_C(1) << 32, MCAMP_E_SIZE);
    REFUSE(d.rounds = 0, MCAMP_E_SIZE);
    REFUSE(d.rounds = UINT64_MAX, MCAMP_E_SIZE);
    REFUSE(d.batches = 0, MCAMP_E_SIZE);
    REFUSE(d.batches = UINT64_C(1) << 40, MCAMP_E_SIZE);
    REFUSE(d.q = 0.5, MCAMP_E_ARG);
    REFUSE(d.size = 5, MCAMP_E_ARG);
    REFUSE(memset(&d.key, 0, sizeof d.key), MCAMP_E_REQUIRED);
    good = desc_of(MCAMP_BATCH_POISSON, 100, 20, 5);
    REFUSE(d.q = 0, MCAMP_E_REQUIRED);
    REFUSE(d.q = -0.1, MCAMP_E_ARG);
    REFUSE(d.q = 1.0001, MCAMP_E_ARG);
    REFUSE(d.q = mcamp__nan(), MCAMP_E_NONFINITE);
    REFUSE(d.examples = UINT64_C(1) << 32, MCAMP_E_SIZE);
    good = desc_of(MCAMP_BATCH_FIXED, 100, 20, 5);
    REFUSE(d.scan = true, MCAMP_E_ARG);
    REFUSE(d.size = 0, MCAMP_E_REQUIRED);
    REFUSE(d.size = 21, MCAMP_E_ARG);
    REFUSE((d.examples = 103, d.size = 21), MCAMP_E_ARG);
    for (int law = MCAMP_BATCH_ALLOCATE; law <= MCAMP_BATCH_ALLOCATE_ANEW; law++) {
        good = desc_of((mcamp_batch_law)law, 100, 20, 5);
        REFUSE(d.picks = 0, MCAMP_E_REQUIRED);
        REFUSE(d.picks = 6, MCAMP_E_ARG);
        REFUSE(d.size = 1, MCAMP_E_ARG);
        REFUSE(d.q = 0.5, MCAMP_E_ARG);
        REFUSE(d.scan = true, MCAMP_E_ARG);
        REFUSE(d.examples = UINT64_C(1) << 32, MCAMP_E_SIZE);
        REFUSE(d.batches = UINT64_C(1) << 33, MCAMP_E_SIZE);
        REFUSE((d.batches = UINT64_C(0xfffffff0), d.picks = d.batches), MCAMP_E_ARG);
    }
    good = desc_of(MCAMP_BATCH_MINSEP, 100, 20, 5);
    REFUSE(d.rounds = UINT64_C(1) << 33, MCAMP_E_SIZE);
    REFUSE(d.batches = UINT64_C(0xfffffffe), MCAMP_E_SIZE);
    good = desc_of(MCAMP_BATCH_BINS, 100, 20, 5);
    REFUSE(d.batches = UINT64_MAX, MCAMP_E_SIZE);
#undef REFUSE
    CHECK_STATUS(mcamp_batch_init(&ctx, NULL, &b), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_batch_init(&ctx, &good, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_batch_init(NULL, &good, &b), MCAMP_E_ARG);
}

TEST(bad_questions_are_refused)
{
    mcamp_batch_desc d = desc_of(MCAMP_BATCH_BINS, 100, 20, 5);
    mcamp_batch b, none;
    mcamp_batch_size s = { 77, 77 };
    size_t out[100];
    start();
    memset(&none, 0, sizeof none);
    b = open_batch(&d);
    CHECK_STATUS(mcamp_batch_round(&ctx, &b, 20, out, 100, &s), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_batch_round(&ctx, &b, 0, NULL, 100, &s), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_batch_round(&ctx, &b, 0, out, 100, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_batch_round(&ctx, &none, 0, out, 100, &s), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_batch_round(&ctx, NULL, 0, out, 100, &s), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_batch_round(NULL, &b, 0, out, 100, &s), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_batch_round(&ctx, &b, 0, out, 3, &s), MCAMP_E_SIZE);
    CHECK(s.kept == 77 && mcamp_last_error(&ctx).value > 3);
    CHECK_STATUS(mcamp_batch_round(&ctx, &b, 0, NULL, 0, &s), MCAMP_E_SIZE);
    b.magic++;                              /* a struct that nothing was made in */
    CHECK_STATUS(mcamp_batch_round(&ctx, &b, 0, out, 100, &s), MCAMP_E_ARG);
    b.magic--;
    mcamp_batch_free(&ctx, &b);
    mcamp_batch_free(&ctx, &b);
    mcamp_batch_free(&ctx, NULL);
}

static mcamp_status batch_work(mcamp_ctx *c, void *user)
{
    const mcamp_batch_desc *d = (const mcamp_batch_desc *)user;
    mcamp_batch b;
    mcamp_batch_size s;
    size_t out[100];
    mcamp_status st = mcamp_batch_init(c, d, &b);
    if (st < 0) return st;
    st = mcamp_batch_round(c, &b, 3, out, 100, &s);
    mcamp_batch_free(c, &b);
    return st;
}

TEST(memory_is_what_was_announced)
{
    const size_t list = 4 * (100 + 5 + 1);
    const size_t want[9] = { 0, list, list, 0, 400, list, 400, 400, 400 };
    for (int law = 1; law <= 8; law++) {
        mcamp_batch_desc d = desc_of((mcamp_batch_law)law, 100, 20, 5);
        mcamp_ctx c;
        mt_fault f;
        if (law == MCAMP_BATCH_MINSEP_WARM) d.q = 0.3;
        memset(&f, 0, sizeof f);
        CHECK_STATUS(mt_fault_ctx(&f, NULL, &c), MCAMP_OK);
        CHECK_STATUS(batch_work(&c, &d), MCAMP_OK);
        CHECK(f.peak == want[law] && !f.live && !f.misuse);
        mt_all_faults("batch", batch_work, &d);
    }
}

TEST_MAIN("batch",
    T(high_words_of_products),
    T(bounded_numbers_are_even_where_rejection_is_likely),
    T(bins_are_uniform_and_independent),
    T(poisson_groups_and_coins_are_independent),
    T(fixed_batches_are_uniform_subsets),
    T(minsep_patterns_have_the_stated_law),
    T(allocations_are_uniform_and_independent),
    T(allocations_have_their_number),
    T(shuffles_are_uniform),
    T(cuts_choose_uniformly),
    T(list_scan_and_the_definition_agree),
    T(one_example_moves_no_other),
    T(laws_agree_with_the_definition_in_any_order),
    T(minsep_keeps_its_distance),
    T(shuffled_batches_partition_each_epoch),
    T(laws_hold_at_their_edges),
    T(limits_cut_what_is_above_them_and_nothing_else),
    T(nothing_secret_is_left_behind),
    T(batches_are_the_same_everywhere),
    T(odds_of_a_cut_are_bounded_from_above_and_closely),
    T(cuts_are_priced),
    T(cutting_is_not_free_even_under_zero_out),
    T(bad_descriptors_are_refused),
    T(bad_questions_are_refused),
    T(memory_is_what_was_announced))
