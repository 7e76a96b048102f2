/* Normals and noise streams: normals a second on one core against two ways that libc
 * offers; steps of banded and BLT streams of floats as a share of the memory bandwidth
 * that this machine shows in the same run, the generation of z taken off; how cost grows
 * with dimension and bands; memory used against memory announced; what the lattice costs.
 *     cc -O2 bench/bench_noise.c -o build/bench_noise -lm && build/bench_noise [BYTES]
 * A stream whose stored rows would take more than BYTES (1e9) is measured on a slice of
 * its coordinates: streams are made slice by slice anyhow.                       */
#define _XOPEN_SOURCE 700
#include "bench_common.h"
#ifdef BENCH_OPENSSL    /* -DBENCH_OPENSSL -lcrypto: a keystream to compare with */
#  include <openssl/evp.h>
#endif

enum { BLOCK = 1 << 14 };

static mcamp_ctx ctx;
static int missed;

static void claim(const char *what, double got, double want, const char *unit)
{
    int ok = got >= want;
    printf("    %-62s %7.2f%s (at least %g: %s)\n", what, got, unit, want, ok ? "yes" : "NO");
    missed += !ok;
}

/* ---- normals ---------------------------------------------------------------- */

static double out[BLOCK];
static mcamp_rng rng;
static mcamp_key key;
static uint64_t round_number;

static void run_simulation(void *arg)
{
    (void)arg;
    mcamp__rng8 r;
    mcamp__rng8_stream(&r, 1, MCAMP__STREAM_TEST, round_number++);
    mcamp__vec_normals(ctx.vec, &r, out, BLOCK);
}

static void run_secure(void *arg)
{
    (void)arg;
    mcamp__stream s;
    mcamp__subkey(&key, 1, s.noise);
    mcamp__subkey(&key, 2, s.tail);
    mcamp__stream_normals(ctx.vec, &s, round_number++, 0, BLOCK, out);
}

static void run_libm(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < BLOCK; i += 2) {
        double r = sqrt(-2 * log(mcamp_rng_uniform(&rng)));
        double t = 2 * 3.14159265358979323846 * mcamp_rng_uniform(&rng);
        out[i] = r * cos(t);
        out[i + 1] = r * sin(t);
    }
}

static void run_polar(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < BLOCK; i += 2) {
        double x, y, s;
        do {
            x = 2 * drand48() - 1;
            y = 2 * drand48() - 1;
            s = x * x + y * y;
        } while (s >= 1 || s <= 0);
        s = sqrt(-2 * log(s) / s);
        out[i] = x * s;
        out[i + 1] = y * s;
    }
}

/* ---- the keystream ------------------------------------------------------------ */

static void run_keystream(void *arg)
{
    static uint32_t block[256], words[8] = { 1, 2, 3 };
    (void)arg;
    for (uint64_t i = 0; i < 16; i++)
        mcamp__chacha_16(ctx.vec, words, 16 * i, round_number, block);
    round_number++;
}

#ifdef BENCH_OPENSSL
static void run_openssl(void *arg)
{
    static unsigned char zero[BLOCK], stream[BLOCK];
    int n = 0;
    EVP_EncryptUpdate((EVP_CIPHER_CTX *)arg, stream, &n, zero, BLOCK);
}
#endif

static void keystream(void)
{
    double ours = bench_best(run_keystream, NULL, 0.3) / BLOCK * 1e9;
    printf("keystream: %.3f nanoseconds a byte\n", ours);
#ifdef BENCH_OPENSSL
    {
        static const unsigned char zero[32];
        EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
        double theirs;
        EVP_EncryptInit_ex(c, EVP_chacha20(), NULL, zero, zero);
        theirs = bench_best(run_openssl, c, 0.3) / BLOCK * 1e9;
        EVP_CIPHER_CTX_free(c);
        printf("    OpenSSL's: %.3f\n", theirs);
        claim("the keystream takes at most 1.3 times OpenSSL's time", 1.3 * theirs / ours, 1, "x");
    }
#endif
}

/* Normals in the AVX2 set, where there is one. */
static void narrow_normals(double polar)
{
    mcamp_vecset best = ctx.vec;
    if (!mcamp__vecset_available(MCAMP_VEC_AVX2)) return;
    ctx.vec = MCAMP_VEC_AVX2;
    claim("ChaCha20 with AVX2, times drand48 and polar",
          polar / (bench_best(run_secure, NULL, 0.3) / BLOCK * 1e9), 3, "x");
    ctx.vec = best;
}

static void normals(void)
{
    double libm, polar, simulation, secure;
    mcamp_rng_seed(&rng, 1);
    mcamp_key_insecure_test(1, &key);
    libm = bench_best(run_libm, NULL, 0.3) / BLOCK * 1e9;
    polar = bench_best(run_polar, NULL, 0.3) / BLOCK * 1e9;
    simulation = bench_best(run_simulation, NULL, 0.3) / BLOCK * 1e9;
    secure = bench_best(run_secure, NULL, 0.3) / BLOCK * 1e9;
    printf("nanoseconds a normal: xoshiro + libm Box-Muller %.2f, drand48 + polar %.2f,\n"
           "    simulation (xoshiro256++) %.2f, released noise (ChaCha20) %.2f\n", libm, polar,
           simulation, secure);
    claim("simulation, times libm's Box-Muller", libm / simulation, 8, "x");
    claim("simulation, times drand48 and polar", polar / simulation, 8, "x");
    claim("ChaCha20, times libm's Box-Muller", libm / secure, 3, "x");
    claim("ChaCha20, times drand48 and polar", polar / secure, 3, "x");
    narrow_normals(polar);
    keystream();
}

/* ---- bandwidth ------------------------------------------------------------------ */

typedef struct memory { float *x; size_t n; double sum; } memory;

/* Reads all; sixteen sums are more than a core needs to wait for memory alone. */
static void run_read(void *arg)
{
    memory *m = (memory *)arg;
    uint64_t s[16] = { 0 }, v[16];
    for (size_t i = 0; i + 32 <= m->n; i += 32) {
        memcpy(v, m->x + i, sizeof v);
        for (int j = 0; j < 16; j++) s[j] ^= v[j];
    }
    for (int j = 0; j < 16; j++) m->sum += (double)(s[j] & 1);
}

/* Reads and writes all in place. */
static void run_update(void *arg)
{
    memory *m = (memory *)arg;
    uint64_t v[16];
    for (size_t i = 0; i + 32 <= m->n; i += 32) {
        memcpy(v, m->x + i, sizeof v);
        for (int j = 0; j < 16; j++) v[j] ^= 1;
        memcpy(m->x + i, v, sizeof v);
    }
}

/* ---- steps -------------------------------------------------------------------------- */

typedef struct stream {
    mcamp_mech mech;
    mcamp_noise noise;
    float *out;
    uint64_t dim;
    size_t count, rows, announced, used;
    double traffic;             /* bytes that a coordinate's step must move       */
} stream;

static void *counted_alloc(void *user, size_t size)
{
    *(size_t *)user += size;
    return malloc(size);
}

static void counted_free(void *user, void *p, size_t size) { (void)user; (void)size; free(p); }

static const uint64_t DIM[3] = { 10000, 1000000, 100000000 };
static const double THETA[4] = { 0.99, 0.9, 0.6, 0.1 }, OMEGA[4] = { 0.05, 0.1, 0.15, 0.2 };

/* bands rows of a Toeplitz C, or with 0 a BLT of four buffers. */
static void open_stream(stream *s, size_t bands, uint64_t dim, double most)
{
    mcamp_mech_desc d;
    mcamp_noise_desc n;
    mcamp_alloc standard = ctx.alloc;
    mcamp_noise_out o = { NULL, NULL, NULL, false };
    size_t need = 0;
    memset(s, 0, sizeof *s);
    memset(&d, 0, sizeof d);
    memset(&n, 0, sizeof n);
    d.kind = bands ? MCAMP_MECH_SQRT : MCAMP_MECH_BLT;
    d.n = 100000;
    d.bands = bands;
    d.theta = bands ? NULL : THETA;
    d.omega = bands ? NULL : OMEGA;
    d.buffers = bands ? 0 : 4;
    bench_check(&ctx, "strategy", mcamp_mech_init(&ctx, &d, &s->mech));
    s->rows = bands ? bands - 1 : 4;
    s->dim = dim;
    s->count = (double)s->rows * 4 * (double)dim > most
                   ? (size_t)(most / (4 * (double)s->rows)) : (size_t)dim;
    s->traffic = bands ? 4 * ((double)s->rows + 2) : 4 * (2 * (double)s->rows + 1);
    n.mech = &s->mech;
    n.sigma = 1;
    n.clip_norm = 1;
    n.unit = MCAMP_NOISE_SUM;
    n.dim = dim;
    n.count = s->count;
    n.type = MCAMP_NOISE_FLOAT;
    n.key = key;
    bench_check(&ctx, "size", mcamp_noise_bytes(&ctx, &n, &need));
    s->announced = need;
    ctx.alloc.alloc = counted_alloc;
    ctx.alloc.free = counted_free;
    ctx.alloc.user = &s->used;
    bench_check(&ctx, "stream", mcamp_noise_init(&ctx, &n, &s->noise));
    s->out = (float *)malloc(s->count * sizeof *s->out);
    if (!s->out) { printf("out of memory\n"); exit(1); }
    o.f = s->out;
    for (size_t t = 0; t < s->rows + 1 && (bands || t < 2); t++)   /* until all rows are there */
        bench_check(&ctx, "step", mcamp_noise_next(&ctx, &s->noise, t, s->count, &o));
    if (s->used != s->announced) { printf("NO: %zu bytes used, %zu announced\n", s->used,
                                          s->announced); missed++; }
    ctx.alloc = standard;
}

static void close_stream(stream *s)
{
    ctx.alloc.alloc = counted_alloc;
    ctx.alloc.free = counted_free;
    ctx.alloc.user = &s->used;
    mcamp_noise_free(&ctx, &s->noise);
    memset(&ctx.alloc, 0, sizeof ctx.alloc);
    mcamp_mech_free(&ctx, &s->mech);
    free(s->out);
}

static void run_step(void *arg)
{
    stream *s = (stream *)arg;
    mcamp_noise_out o = { NULL, NULL, NULL, false };
    o.f = s->out;
    bench_check(&ctx, "step", mcamp_noise_next(&ctx, &s->noise, mcamp_noise_step(&s->noise),
                                               s->count, &o));
}

/* What a step spends on z: tile by tile, as there. */
static void run_z(void *arg)
{
    stream *s = (stream *)arg;
    double z[512];
    for (size_t i = 0; i < s->count; i += 512)
        mcamp__stream_normals(ctx.vec, (const mcamp__stream *)s->noise.keys, s->noise.step, i,
                              mcamp__zmin(512, s->count - i), z);
}

/* Nanoseconds a coordinate, z taken off. */
static double step(size_t bands, uint64_t dim, double most, double bandwidth)
{
    stream s;
    double all, z, mix, share;
    open_stream(&s, bands, dim, most);
    all = bench_best(run_step, &s, 0.5) / (double)s.count * 1e9;
    z = bench_best(run_z, &s, 0.3) / (double)s.count * 1e9;
    mix = all - z;
    share = 100 * s.traffic / mix / bandwidth;
    printf("%-6s %3zu  d = %-8.0e%-9s %9.3f GB %8.2f %8.2f %8.2f %8.1f GB/s %6.0f%%\n",
           bands ? "banded" : "BLT", bands ? bands : 4, (double)dim,
           s.count < dim ? " (slice)" : "", (double)s.used * 1e-9, all, z, mix, s.traffic / mix,
           share);
    close_stream(&s);
    return mix;
}

/* ---- what lattice and ledger cost ---------------------------------------------------- */

enum { ROUND_DIM = 1000000, ROUND_N = 2000 };

typedef struct rounds {
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
} rounds;

static double round_sum[ROUND_DIM];
static int64_t round_grid_sum[ROUND_DIM];
static float round_out[ROUND_DIM];

static int no_disk(void *user, const mcamp_ledger_entry *entry)
{
    (void)user; (void)entry;
    return 0;
}

/* Rounds of one example; how 0: sums of doubles, 1: the lattice, 2: and a ledger.     */
static void open_rounds(rounds *r, const mcamp_mech *mech, int how)
{
    mcamp_batch_desc b;
    mcamp_noise_desc n;
    mcamp_clip_desc c;
    mcamp_session_desc s;
    mcamp_guarantee g;
    memset(r, 0, sizeof *r); memset(&b, 0, sizeof b); memset(&n, 0, sizeof n);
    memset(&c, 0, sizeof c); memset(&s, 0, sizeof s);
    b.law = MCAMP_BATCH_BINS;
    b.examples = c.max_examples = 1;
    b.batches = b.rounds = ROUND_N;
    b.key = n.key = key;
    n.mech = mech;
    n.sigma = n.clip_norm = c.norm = 1;
    n.unit = MCAMP_NOISE_SUM;
    n.dim = c.dim = ROUND_DIM;
    bench_check(&ctx, "guarantee", mcamp_guarantee_unamplified(&ctx, mech, b.law, ROUND_N, 1, 1e-6,
                                                               &g));
    bench_check(&ctx, "batches", mcamp_batch_init(&ctx, &b, &r->batch));
    bench_check(&ctx, "stream", mcamp_noise_init(&ctx, &n, &r->noise));
    bench_check(&ctx, "clipping", mcamp_clip_init(&ctx, &c, &r->clip));
    s.guarantee = &g; s.batch = &r->batch; s.noise = &r->noise; s.clip = &r->clip;
    s.run = 1;
    s.sum = round_sum;
    s.grid_sum = round_grid_sum;
    if (!how) s.arithmetic = MCAMP_ARITHMETIC_FLOATING;
    if (how == 2) s.ledger.record = no_disk;
    bench_check(&ctx, "session", mcamp_session_init(&ctx, &s, &r->session));
}

static void run_round(void *arg)
{
    rounds *r = (rounds *)arg;
    size_t member[1];
    mcamp_batch_size size = { 0, 0 };
    uint64_t round = mcamp_noise_step(&r->noise);
    bench_check(&ctx, "begin", mcamp_session_begin(&ctx, &r->session, round, member, 1, &size));
    if (size.kept) bench_check(&ctx, "skip", mcamp_session_skip(&ctx, &r->session, 0));
    bench_check(&ctx, "end", mcamp_session_end_float(&ctx, &r->session, round_out));
}

/* Rounds at d = 1e6 without gradients, by turns; rows of doubles in all.            */
static void secured(size_t bands)
{
    mcamp_mech mech;
    mcamp_mech_desc d;
    rounds r[3];
    double ns[3] = { 1e9, 1e9, 1e9 };
    memset(&d, 0, sizeof d);
    d.kind = bands ? MCAMP_MECH_SQRT : MCAMP_MECH_BLT;
    d.n = ROUND_N;
    d.bands = bands;
    d.theta = bands ? NULL : THETA;
    d.omega = bands ? NULL : OMEGA;
    d.buffers = bands ? 0 : 4;
    bench_check(&ctx, "strategy", mcamp_mech_init(&ctx, &d, &mech));
    for (int how = 0; how < 3; how++) {
        open_rounds(&r[how], &mech, how);
        for (size_t t = 0; t < bands + 1; t++) run_round(&r[how]);
    }
    for (int turn = 0; turn < 30; turn++) {
        double t = bench_best(run_round, &r[turn % 3], 0.1) / ROUND_DIM * 1e9;
        if (t < ns[turn % 3]) ns[turn % 3] = t;
    }
    printf("%-6s %3zu  d = 1e6, %zu rounds: numerics add %.1e to delta at eps = 1\n",
           bands ? "banded" : "BLT", bands ? bands : 4, mech.n, mcamp_noise_delta(&r[1].noise, 1));
    printf("    a round in doubles %.2f, on the lattice %.2f, with a ledger's digest %.2f ns a "
           "coordinate\n", ns[0], ns[1], ns[2]);
    claim("lattice and digest cost at most 25% of a step", 1.25 * ns[0] / ns[2], 1, "x");
    for (int how = 0; how < 3; how++) {
        mcamp_noise_free(&ctx, &r[how].noise);
        mcamp_batch_free(&ctx, &r[how].batch);
    }
    mcamp_mech_free(&ctx, &mech);
}

int main(int argc, char **argv)
{
    double most = argc > 1 ? strtod(argv[1], NULL) : 1e9, read, update, mix[5], share, linear;
    memory m;
    bench_start(&ctx);
    normals();
    m.n = (size_t)(most / 4);
    m.sum = 0;
    m.x = (float *)calloc(m.n, sizeof *m.x);
    if (!m.x) { printf("out of memory\n"); return 1; }
    for (size_t i = 0; i < m.n; i++) m.x[i] = (float)i;
    read = 4e-9 * (double)m.n / bench_best(run_read, &m, 0.6);
    update = 8e-9 * (double)m.n / bench_best(run_update, &m, 0.6);
    free(m.x);
    printf("\nmemory: reads %.1f GB/s, updates %.1f GB/s (read + written) on one core\n\n", read,
           update);
    printf("%-29s %12s %8s %8s %8s %13s %7s\n", "one step of a stream of floats", "memory",
           "ns", "z", "rest", "rest moves", "share");
    for (int i = 0; i < 3; i++)
        mix[i] = step(64, DIM[i], most, read);
    share = 100 * 4 * 65 / mix[2] / read;
    linear = 1.5 * mix[1] / mix[2];
    for (int i = 0; i < 3; i++)
        mix[i] = step(0, DIM[i], 2e9, update);
    claim("banded 64 at 1e8, share of what reading reaches", share, 60, "%");
    claim("BLT 4 at 1e8, share of what updating reaches", 100 * 4 * 9 / mix[2] / update, 60, "%");
    claim("banded 64: a coordinate at 1e8 costs at most 1.5 times one at 1e6", linear, 1, "x");
    mix[3] = step(16, 100000000, most, read);
    mix[4] = step(256, 100000000, most, read);
    claim("256 bands cost at most 16 times 16 bands, 20% left", 1.2 * 256 / 16 * mix[3] / mix[4], 1,
          "x");
    printf("\n");
    secured(64);
    secured(0);
    printf("%s\n", missed ? "bench: some goals were missed" : "bench: all goals were reached");
    return 0;
}
