/* Rounds of a session in several processes: members and coordinates split in any way give the
 * bits of one process; nobody counts twice; the types of what is released.          */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

enum { N = 5, M = 13, D = 11, PARTS = 4, SHARDS = 5 };

static mcamp_ctx ctx;

/* One process: a session with parts of its own. */
typedef struct process {
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    int64_t grid_sum[D];
    double sum[D];
} process;

typedef struct setting {
    const mcamp_mech *mech;
    mcamp_batch_law law;
    uint64_t run;
    mcamp_noise_type type;
    mcamp_arithmetic arithmetic;
    double norm;
} setting;

static void start(void)
{
    static int started;
    if (!started++) CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
}

static mcamp_mech make(mcamp_mech_kind kind)
{
    static const double coef[3] = { 1, 0.5, -0.25 }, theta[2] = { 0.9, 0.3 },
                        omega[2] = { 0.2, 0.1 };
    static const double band[2 * N - 1] = { 1, 0.5, 1, 0.4, 1.1, -0.3, 1, 0.2, 0.9 };
    static double rows[N * N];
    mcamp_mech_desc d;
    mcamp_mech m;
    start();
    memset(&d, 0, sizeof d);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++)
            rows[i * N + j] = 1.0 / (double)(1 + i - j) + 0.1 * (double)j;
    d.kind = kind;
    d.n = N;
    if (kind == MCAMP_MECH_TOEPLITZ || kind == MCAMP_MECH_INVERSE) { d.coef = coef; d.count = 3; }
    if (kind == MCAMP_MECH_BANDED) { d.coef = band; d.bands = 2; d.count = 2 * N - 1; }
    if (kind == MCAMP_MECH_DENSE) { d.coef = rows; d.count = N * N; }
    if (kind == MCAMP_MECH_BLT) { d.theta = theta; d.omega = omega; d.buffers = 2; }
    if (kind == MCAMP_MECH_SQRT || kind == MCAMP_MECH_INVERSE_SQRT) d.bands = 3;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    return m;
}

/* Coordinates first .. first+count-1; count 0: all. */
static mcamp_status open_process(process *p, const setting *s, uint64_t first, size_t count)
{
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    mcamp_session_desc d;
    mcamp_guarantee g;
    memset(p, 0, sizeof *p);
    memset(&b, 0, sizeof b); memset(&z, 0, sizeof z);
    memset(&c, 0, sizeof c); memset(&d, 0, sizeof d);
    b.law = s->law;
    b.examples = M;
    b.rounds = N;
    b.batches = 2;
    b.q = s->law == MCAMP_BATCH_POISSON || s->law == MCAMP_BATCH_MINSEP ? 0.7 : 0;
    b.size = s->law == MCAMP_BATCH_FIXED ? 5 : 0;
    mcamp_key_insecure_test(3, &b.key);
    z.mech = s->mech;
    z.sigma = 2;
    z.clip_norm = c.norm = s->norm > 0 ? s->norm : 0.5;
    z.unit = MCAMP_NOISE_MEAN;
    z.batch = 6;
    z.dim = c.dim = D;
    z.first = first;
    z.count = count;
    z.type = s->type;
    z.key = b.key;
    c.max_examples = M;
    d.guarantee = &g; d.batch = &p->batch; d.noise = &p->noise; d.clip = &p->clip;
    d.run = s->run ? s->run : 1;
    d.arithmetic = s->arithmetic;
    d.grid_sum = p->grid_sum;
    d.sum = p->sum;
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, s->mech, s->law, 2, 2, 1e-5, &g), MCAMP_OK);
    CHECK_STATUS(mcamp_batch_init(&ctx, &b, &p->batch), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_init(&ctx, &z, &p->noise), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_init(&ctx, &c, &p->clip), MCAMP_OK);
    return mcamp_session_init(&ctx, &d, &p->session);
}

static void close_process(process *p)
{
    mcamp_noise_free(&ctx, &p->noise);
    mcamp_batch_free(&ctx, &p->batch);
}

static size_t begin(process *p, uint64_t t, size_t *member)
{
    mcamp_batch_size n = { 0, 0 };
    CHECK_STATUS(mcamp_session_begin(&ctx, &p->session, t, member, M, &n), MCAMP_OK);
    return n.kept;
}

/* Some are left out by name; gradients are longer and shorter than the norm. */
static mcamp_status add(process *p, uint64_t t, size_t e)
{
    double x[D];
    mcamp_tensor g = { NULL, NULL, D };
    g.d = x;
    for (size_t i = 0; i < D; i++)
        x[i] = sin((double)(1 + e + 17 * t + 5 * i)) / (double)(1 + e % 4);
    return (e + t) % 5 ? mcamp_session_add(&ctx, &p->session, e, &g, 1)
                       : mcamp_session_skip(&ctx, &p->session, e);
}

static void add_all(process *p, uint64_t t)
{
    size_t member[M], n = begin(p, t, member);
    for (size_t i = 0; i < n; i++) CHECK_STATUS(add(p, t, member[i]), MCAMP_OK);
}

/* ---- sums and shares on their way ------------------------------------------------- */

typedef struct message { unsigned char share[128]; size_t size; int64_t sum[D]; } message;

static void take_share(const process *p, message *m)
{
    size_t size = 0;
    CHECK_STATUS(mcamp_session_share(&ctx, &p->session, NULL, 0, &size), MCAMP_OK);
    CHECK(size <= sizeof m->share);
    CHECK_STATUS(mcamp_session_share(&ctx, &p->session, m->share, size - 1, &m->size),
                 MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_session_share(&ctx, &p->session, m->share, size, &m->size), MCAMP_OK);
    memcpy(m->sum, p->grid_sum, sizeof m->sum);
}

static mcamp_status merge(process *p, const message *m)
{
    return mcamp_session_merge(&ctx, &p->session, m->sum + p->noise.first, m->share, m->size);
}

/* `parts` processes that share members and make all the noise, `shards` that add nobody and
 * make some of it: all as `want`.                                                   */
static void split_round(process *part, int parts, process *shard, int shards, uint64_t t,
                        const double want[D])
{
    message m[PARTS];
    double out[D];
    size_t member[M];
    for (int k = 0; k < parts; k++) {
        size_t n = begin(&part[k], t, member);
        for (size_t i = n; i-- > 0; )
            if ((int)((member[i] + t) % (uint64_t)parts) == k)
                CHECK_STATUS(add(&part[k], t, member[i]), MCAMP_OK);
        take_share(&part[k], &m[k]);
    }
    for (int k = 0; k < parts; k++) {
        for (int j = parts; j-- > 0; )
            if (j != k) CHECK_STATUS(merge(&part[k], &m[j]), MCAMP_OK);
        CHECK_STATUS(mcamp_session_end(&ctx, &part[k].session, out), MCAMP_OK);
        CHECK(!memcmp(out, want, sizeof out));
    }
    for (int k = 0; k < shards; k++) {
        size_t first = (size_t)shard[k].noise.first, count = shard[k].noise.count;
        begin(&shard[k], t, member);
        for (int j = 0; j < parts; j++) CHECK_STATUS(merge(&shard[k], &m[j]), MCAMP_OK);
        CHECK_STATUS(mcamp_session_end(&ctx, &shard[k].session, out), MCAMP_OK);
        CHECK(!memcmp(out, want + first, count * sizeof *out));
    }
}

static void split_run(const setting *s, int parts, int shards)
{
    static process one, part[PARTS], shard[SHARDS];
    double want[D];
    CHECK_STATUS(open_process(&one, s, 0, 0), MCAMP_OK);
    for (int k = 0; k < parts; k++) CHECK_STATUS(open_process(&part[k], s, 0, 0), MCAMP_OK);
    for (int k = 0; k < shards; k++) {
        size_t first = (size_t)(D * k / shards), end = (size_t)(D * (k + 1) / shards);
        CHECK_STATUS(open_process(&shard[k], s, first, end - first), MCAMP_OK);
    }
    for (uint64_t t = 0; t < N; t++) {
        add_all(&one, t);
        CHECK_STATUS(mcamp_session_end(&ctx, &one.session, want), MCAMP_OK);
        split_round(part, parts, shard, shards, t, want);
    }
    close_process(&one);
    for (int k = 0; k < parts; k++) close_process(&part[k]);
    for (int k = 0; k < shards; k++) close_process(&shard[k]);
}

TEST(any_split_gives_the_bits_of_one_process)
{
    static const mcamp_mech_kind kind[] = { MCAMP_MECH_IDENTITY, MCAMP_MECH_TOEPLITZ,
        MCAMP_MECH_SQRT, MCAMP_MECH_BLT, MCAMP_MECH_DENSE, MCAMP_MECH_INVERSE,
        MCAMP_MECH_INVERSE_SQRT, MCAMP_MECH_BANDED, MCAMP_MECH_TREE, MCAMP_MECH_TREE_PADDED };
    for (size_t k = 0; k < sizeof kind / sizeof kind[0]; k++) {
        mcamp_mech m = make(kind[k]);
        for (int law = 1; law <= 5; law++) {
            setting s = { NULL, MCAMP_BATCH_BINS, 0, MCAMP_NOISE_DOUBLE,
                          MCAMP_ARITHMETIC_LATTICE, 0 };
            s.mech = &m;
            s.law = (mcamp_batch_law)law;
            for (int parts = 1; parts <= PARTS; parts++)
                split_run(&s, parts, 1 + (parts + law) % 5);
            for (int shards = 1; law == 1 && shards <= SHARDS; shards++)
                split_run(&s, 2, shards);
        }
        mcamp_mech_free(&ctx, &m);
    }
}

/* Shares of shares: a tree of processes, the root ends the round. */
TEST(merged_parts_are_parts)
{
    static process one, part[4];
    mcamp_mech mech = make(MCAMP_MECH_SQRT);
    setting s = { NULL, MCAMP_BATCH_BINS, 0, MCAMP_NOISE_DOUBLE, MCAMP_ARITHMETIC_LATTICE, 0 };
    message m;
    double want[D], out[D];
    size_t member[M], n = 0;
    s.mech = &mech;
    CHECK_STATUS(open_process(&one, &s, 0, 0), MCAMP_OK);
    add_all(&one, 0);
    CHECK_STATUS(mcamp_session_end(&ctx, &one.session, want), MCAMP_OK);
    for (int k = 0; k < 4; k++) {
        CHECK_STATUS(open_process(&part[k], &s, 0, 0), MCAMP_OK);
        n = begin(&part[k], 0, member);
        for (size_t i = (size_t)k; i < n; i += 4)
            CHECK_STATUS(add(&part[k], 0, member[i]), MCAMP_OK);
    }
    for (int k = 1; k < 4; k += 2) {
        take_share(&part[k], &m);
        CHECK_STATUS(merge(&part[k - 1], &m), MCAMP_OK);
        CHECK_STATUS(merge(&part[k - 1], &m), n > (size_t)k ? MCAMP_E_MISMATCH : MCAMP_OK);
    }
    take_share(&part[2], &m);
    CHECK_STATUS(mcamp_session_end(&ctx, &part[0].session, out), MCAMP_E_MISMATCH);
    CHECK_STATUS(merge(&part[0], &m), MCAMP_OK);
    CHECK_STATUS(mcamp_session_end(&ctx, &part[0].session, out), MCAMP_OK);
    CHECK(!memcmp(out, want, sizeof out));
    for (int k = 0; k < 4; k++) close_process(&part[k]);
    close_process(&one);
    mcamp_mech_free(&ctx, &mech);
}

/* ---- what is refused, and leaves everything as it was -------------------------------- */

static void refused(process *p, const message *m, mcamp_status want, const char *name)
{
    int64_t before[D];
    uint64_t due = p->session.due;
    memcpy(before, p->grid_sum, sizeof before);
    CHECK_STATUS(merge(p, m), want);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, name));
    CHECK(!memcmp(before, p->grid_sum, sizeof before) && due == p->session.due);
}

TEST(nobody_counts_twice)
{
    static process a, b;
    mcamp_mech mech = make(MCAMP_MECH_TOEPLITZ);
    setting s = { NULL, MCAMP_BATCH_POISSON, 0, MCAMP_NOISE_DOUBLE, MCAMP_ARITHMETIC_LATTICE, 0 };
    message m, own;
    double out[D];
    size_t member[M], n;
    s.mech = &mech;
    CHECK_STATUS(open_process(&a, &s, 0, 0), MCAMP_OK);
    CHECK_STATUS(open_process(&b, &s, 0, 0), MCAMP_OK);
    begin(&a, 0, member);
    n = begin(&b, 0, member);
    CHECK(n >= 3);
    CHECK_STATUS(add(&a, 0, member[0]), MCAMP_OK);
    CHECK_STATUS(add(&a, 0, member[1]), MCAMP_OK);
    for (size_t i = 1; i < n; i++) CHECK_STATUS(add(&b, 0, member[i]), MCAMP_OK);
    take_share(&b, &m);
    refused(&a, &m, MCAMP_E_MISMATCH, "example");       /* member[1] here and there */
    take_share(&a, &own);
    refused(&a, &own, MCAMP_E_MISMATCH, "example");     /* its own */
    CHECK_STATUS(mcamp_session_end(&ctx, &a.session, out), MCAMP_E_MISMATCH);
    begin(&a, 0, member);
    CHECK_STATUS(add(&a, 0, member[0]), MCAMP_OK);
    CHECK_STATUS(merge(&a, &m), MCAMP_OK);
    refused(&a, &m, MCAMP_E_MISMATCH, "example");       /* the same once more */
    CHECK_STATUS(add(&a, 0, member[1]), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_session_end(&ctx, &a.session, out), MCAMP_OK);
    begin(&a, 1, member);
    refused(&a, &m, MCAMP_E_STEP, "share");             /* of an earlier round */
    close_process(&a);
    close_process(&b);
    mcamp_mech_free(&ctx, &mech);
}

TEST(shares_are_sealed)
{
    static process a, b;
    mcamp_mech mech = make(MCAMP_MECH_TOEPLITZ);
    setting s = { NULL, MCAMP_BATCH_BINS, 0, MCAMP_NOISE_DOUBLE, MCAMP_ARITHMETIC_LATTICE, 0 };
    message m, bad;
    size_t member[M], n;
    s.mech = &mech;
    CHECK_STATUS(open_process(&a, &s, 0, 0), MCAMP_OK);
    CHECK_STATUS(open_process(&b, &s, 0, 0), MCAMP_OK);
    begin(&a, 0, member);
    n = begin(&b, 0, member);
    for (size_t i = 0; i < n; i++) CHECK_STATUS(add(&b, 0, member[i]), MCAMP_OK);
    take_share(&b, &m);
    for (size_t bit = 0; bit < 8 * m.size; bit++) {
        bad = m;
        bad.share[bit / 8] ^= (unsigned char)(1 << bit % 8);
        refused(&a, &bad, MCAMP_E_BLOB, "share");
    }
    bad = m;
    bad.size--;
    refused(&a, &bad, MCAMP_E_BLOB, "size");
    CHECK_STATUS(mcamp_session_share(&ctx, &b.session, bad.share, sizeof bad.share, NULL),
                 MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_session_merge(&ctx, &a.session, NULL, m.share, m.size), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_session_merge(&ctx, &a.session, m.sum, NULL, m.size), MCAMP_E_REQUIRED);
    for (int sign = -1; sign <= 1; sign += 2) {
        bad = m;                            /* n members, each at most the norm */
        bad.sum[D - 1] = sign * ((int64_t)((double)n * 0.5 / a.clip.grid) + 1);
        refused(&a, &bad, MCAMP_E_ARG, "sum");
        bad.sum[D - 1] = sign < 0 ? INT64_MIN : INT64_MAX;
        refused(&a, &bad, MCAMP_E_ARG, "sum");
    }
    close_process(&b);
    s.run = 2;
    CHECK_STATUS(open_process(&b, &s, 0, 0), MCAMP_OK);
    begin(&b, 0, member);
    take_share(&b, &bad);
    refused(&a, &bad, MCAMP_E_BLOB, "share");           /* of another run */
    CHECK_STATUS(merge(&a, &m), MCAMP_OK);
    close_process(&a);
    close_process(&b);
    mcamp_mech_free(&ctx, &mech);
}

/* Sums in floating point depend on the order: parts of the coordinates only. */
TEST(floating_sums_are_not_merged)
{
    static process one, a, b;
    mcamp_mech mech = make(MCAMP_MECH_BLT);
    setting s = { NULL, MCAMP_BATCH_BINS, 0, MCAMP_NOISE_FLOAT, MCAMP_ARITHMETIC_FLOATING, 0 };
    message m;
    double want[D], out[D];
    memset(&m, 0, sizeof m);
    s.mech = &mech;
    CHECK_STATUS(open_process(&one, &s, 0, 0), MCAMP_OK);
    CHECK_STATUS(open_process(&a, &s, 0, 4), MCAMP_OK);
    CHECK_STATUS(open_process(&b, &s, 4, 0), MCAMP_OK);
    for (uint64_t t = 0; t < N; t++) {
        add_all(&one, t);
        add_all(&a, t);
        add_all(&b, t);
        refused(&a, &m, MCAMP_E_MISMATCH, "arithmetic");
        CHECK_STATUS(mcamp_session_share(&ctx, &a.session, m.share, sizeof m.share, &m.size),
                     MCAMP_E_MISMATCH);
        CHECK_STATUS(mcamp_session_end(&ctx, &one.session, want), MCAMP_OK);
        CHECK_STATUS(mcamp_session_end(&ctx, &a.session, out), MCAMP_OK);
        CHECK_STATUS(mcamp_session_end(&ctx, &b.session, out + 4), MCAMP_OK);
        CHECK(!memcmp(out, want, sizeof out));
    }
    close_process(&one);
    close_process(&a);
    close_process(&b);
    mcamp_mech_free(&ctx, &mech);
}

/* What is left where this process makes no noise is nothing. */
TEST(sums_without_noise_are_not_left_behind)
{
    static process a;
    mcamp_mech mech = make(MCAMP_MECH_IDENTITY);
    setting s = { NULL, MCAMP_BATCH_BINS, 0, MCAMP_NOISE_DOUBLE, MCAMP_ARITHMETIC_LATTICE, 0 };
    double out[D];
    s.mech = &mech;
    for (int how = 1; how <= 2; how++) {
        s.arithmetic = (mcamp_arithmetic)how;
        CHECK_STATUS(open_process(&a, &s, 3, 4), MCAMP_OK);
        add_all(&a, 0);
        CHECK_STATUS(mcamp_session_end(&ctx, &a.session, out), MCAMP_OK);
        for (int i = 0; i < D; i++)
            CHECK((i >= 3 && i < 7) ||
                  (how == 1 ? !a.grid_sum[i] : a.sum[i] >= 0 && a.sum[i] <= 0));
        close_process(&a);
    }
    mcamp_mech_free(&ctx, &mech);
}

/* ---- padding, types -------------------------------------------------------------------- */

TEST(batches_are_filled_up_with_nobody)
{
    static process one, a;
    mcamp_mech mech = make(MCAMP_MECH_SQRT);
    setting s = { NULL, MCAMP_BATCH_POISSON, 0, MCAMP_NOISE_DOUBLE, MCAMP_ARITHMETIC_LATTICE, 0 };
    double want[D], out[D], x[D];
    mcamp_tensor g = { NULL, NULL, D };
    size_t member[M];
    s.mech = &mech;
    g.d = x;
    for (int i = 0; i < D; i++) x[i] = 1e6;
    CHECK_STATUS(open_process(&one, &s, 0, 0), MCAMP_OK);
    CHECK_STATUS(open_process(&a, &s, 0, 0), MCAMP_OK);
    CHECK_STATUS(mcamp_session_add(&ctx, &a.session, MCAMP_NOBODY, &g, 1), MCAMP_E_STEP);
    for (uint64_t t = 0; t < N; t++) {
        size_t n = begin(&a, t, member);
        add_all(&one, t);
        for (size_t i = 0; i < M; i++) {            /* a batch of one size, in micro-batches */
            CHECK((member[i] == MCAMP_NOBODY) == (i >= n));
            CHECK_STATUS(i < n ? add(&a, t, member[i])
                               : mcamp_session_add(&ctx, &a.session, member[i], &g, 1), MCAMP_OK);
        }
        CHECK_STATUS(mcamp_session_end(&ctx, &one.session, want), MCAMP_OK);
        CHECK_STATUS(mcamp_session_end(&ctx, &a.session, out), MCAMP_OK);
        CHECK(!memcmp(out, want, sizeof out));
    }
    close_process(&one);
    close_process(&a);
    mcamp_mech_free(&ctx, &mech);
}

static double of_bf16(uint16_t b)
{
    uint32_t u = (uint32_t)b << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

/* No neighbour among the numbers of the type is nearer. */
static void nearest(double x, uint16_t b)
{
    double d = fabs(of_bf16(b) - x);
    CHECK_LE(d, fabs(of_bf16((uint16_t)(b + 1)) - x) * (1 + 1e-6));
    if (b & 0x7fff) CHECK_LE(d, fabs(of_bf16((uint16_t)(b - 1)) - x) * (1 + 1e-6));
}

TEST(results_are_also_floats_and_bfloat16)
{
    static process p[3];
    static const double halves[4][2] = { { 1 + 1 / 256.0, 1 }, { 1 + 3 / 256.0, 1 + 1 / 64.0 },
                                         { -1 - 1 / 256.0, -1 }, { 3.0, 3.0 } };
    mcamp_mech mech = make(MCAMP_MECH_TOEPLITZ);
    setting s = { NULL, MCAMP_BATCH_BINS, 0, MCAMP_NOISE_DOUBLE, MCAMP_ARITHMETIC_LATTICE, 0 };
    double d[D];
    float f[D];
    uint16_t b[D];
    s.mech = &mech;
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(of_bf16(mcamp__to_bf16(halves[i][0])), halves[i][1], 0, 0);
    for (int how = 1; how <= 2; how++) {
        s.arithmetic = (mcamp_arithmetic)how;
        for (int k = 0; k < 3; k++) CHECK_STATUS(open_process(&p[k], &s, 0, 0), MCAMP_OK);
        for (uint64_t t = 0; t < N; t++) {
            for (int k = 0; k < 3; k++) add_all(&p[k], t);
            CHECK_STATUS(mcamp_session_end(&ctx, &p[0].session, d), MCAMP_OK);
            CHECK_STATUS(mcamp_session_end_float(&ctx, &p[1].session, f), MCAMP_OK);
            CHECK_STATUS(mcamp_session_end_bf16(&ctx, &p[2].session, b), MCAMP_OK);
            for (int i = 0; i < D; i++) {
                CHECK_NEAR(f[i], (double)(float)d[i], 0, 0);
                nearest(d[i], b[i]);
            }
        }
        CHECK_STATUS(mcamp_session_end_float(&ctx, &p[1].session, f), MCAMP_E_STEP);
        for (int k = 0; k < 3; k++) close_process(&p[k]);
    }
    mcamp_mech_free(&ctx, &mech);
}

/* Beyond the floats nothing is released, until somebody takes doubles. */
static void wait_for_doubles(mcamp_arithmetic arithmetic)
{
    static process p;
    mcamp_mech mech = make(MCAMP_MECH_IDENTITY);
    setting s = { NULL, MCAMP_BATCH_BINS, 0, MCAMP_NOISE_DOUBLE, arithmetic, 1e60 };
    double d[D];
    float f[D];
    uint16_t b[D];
    s.mech = &mech;
    memset(f, 0x5a, sizeof f);
    memset(b, 0x5a, sizeof b);
    CHECK_STATUS(open_process(&p, &s, 0, 0), MCAMP_OK);
    add_all(&p, 0);
    CHECK_STATUS(mcamp_session_end_float(&ctx, &p.session, f), MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_session_end_bf16(&ctx, &p.session, b), MCAMP_E_NONFINITE);
    for (size_t i = 0; i < sizeof f; i++) CHECK(((unsigned char *)f)[i] == 0x5a);
    for (size_t i = 0; i < sizeof b; i++) CHECK(((unsigned char *)b)[i] == 0x5a);
    CHECK_STATUS(mcamp_session_end_float(&ctx, &p.session, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_session_end(&ctx, &p.session, d), MCAMP_OK);
    CHECK(fabs(d[0]) > 1e50);
    close_process(&p);
    mcamp_mech_free(&ctx, &mech);
}

TEST(what_a_float_cannot_hold_waits_for_doubles)
{
    wait_for_doubles(MCAMP_ARITHMETIC_FLOATING);
    wait_for_doubles(MCAMP_ARITHMETIC_LATTICE);
}

TEST_MAIN("parts",
    T(any_split_gives_the_bits_of_one_process), T(merged_parts_are_parts),
    T(nobody_counts_twice), T(shares_are_sealed), T(floating_sums_are_not_merged),
    T(sums_without_noise_are_not_left_behind), T(batches_are_filled_up_with_nobody),
    T(results_are_also_floats_and_bfloat16), T(what_a_float_cannot_hold_waits_for_doubles))
