/* Correlated noise on a small machine: all memory static and sized beforehand, no
 * malloc, no stdio, vectors of floats only.  A banded and a BLT stream add their noise
 * to ROUNDS vectors of DIM floats.  (Inside, single coordinates are made in double.)
 * It prints what it takes, and fails unless memory is what was announced, noise of 1
 * keeps a single use of an example (5, 1e-6)-private, and sums over rounds are less
 * noisy than independent noise of equal privacy would make them.
 * The key would come from the machine's own source: mcamp_key_random takes a hook.   */
#define MCAMP_STATIC
#define MCAMP_NO_STDLIB
#define MCAMP_VECTOR 0          /* one set of kernels, in plain C */
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include <unistd.h>

enum { DIM = 4096, ROUNDS = 64, BANDS = 8, BUFFERS = 3 };
enum { BANDED_BYTES = (BANDS - 1) * DIM * 4 + 63, BLT_BYTES = BUFFERS * DIM * 4 + 63 };

static unsigned char banded_memory[BANDED_BYTES], blt_memory[BLT_BYTES];
static float vector[DIM], sum[DIM];
static struct { size_t used; double byte[1024 / sizeof(double)]; } arena;

/* Coefficients of C, once; never given back. */
static void *arena_alloc(void *user, size_t size)
{
    size_t at = arena.used;
    (void)user;
    size = (size + 15) / 16 * 16;
    if (size > sizeof arena.byte - at) return NULL;
    arena.used = at + size;
    return (unsigned char *)arena.byte + at;
}

static void arena_free(void *user, void *p, size_t size) { (void)user; (void)p; (void)size; }

/* ---- printing without stdio --------------------------------------------------- */

static void put(const char *text)
{
    if (write(1, text, strlen(text)) < 0) _exit(1);
}

static void put_number(unsigned long x)
{
    char digits[24], *p = digits + sizeof digits - 1;
    *p = 0;
    do { *--p = (char)('0' + x % 10); x /= 10; } while (x);
    put(p);
}

static void put_line(const char *name, unsigned long x, const char *unit)
{
    put(name);
    put_number(x);
    put(unit);
}

/* ---- streams --------------------------------------------------------------------- */

/* Adds every round's noise to a vector of zeros and sums the rounds: the mean square of
 * the sum, which for independent noise would be ROUNDS sigma^2.  Negative: failed.     */
static double run(mcamp_ctx *ctx, const mcamp_mech_desc *d, void *memory, size_t size)
{
    mcamp_mech mech;
    mcamp_noise_desc nd;
    mcamp_noise noise;
    mcamp_noise_out out = { NULL, vector, NULL, true };
    double square = 0;
    size_t need = 0;
    if (mcamp_mech_init(ctx, d, &mech) < 0) return -1;
    memset(&nd, 0, sizeof nd);
    nd.mech = &mech;
    nd.sigma = 1;
    nd.clip_norm = 1;
    nd.unit = MCAMP_NOISE_SUM;
    nd.dim = DIM;
    nd.type = MCAMP_NOISE_FLOAT;
    nd.memory = memory;
    nd.memory_size = size;
    mcamp_key_insecure_test(1, &nd.key);
    if (mcamp_noise_bytes(ctx, &nd, &need) < 0 || need != size) return -1;
    if (mcamp_noise_init(ctx, &nd, &noise) < 0) return -1;
    memset(sum, 0, sizeof sum);
    for (uint64_t t = 0; t < ROUNDS; t++) {
        memset(vector, 0, sizeof vector);       /* the gradient would be here */
        if (mcamp_noise_next(ctx, &noise, t, DIM, &out) < 0) return -1;
        for (int i = 0; i < DIM; i++) sum[i] += vector[i];
    }
    mcamp_noise_free(ctx, &noise);
    mcamp_mech_free(ctx, &mech);
    for (int i = 0; i < DIM; i++) square += (double)(sum[i] * sum[i]) / DIM;
    return square;
}

#if defined(__linux__) && defined(__GNUC__)
extern const char __executable_start, etext, edata, end;
static void put_sizes(void)
{
    put_line("program: code and constants ", (unsigned long)(&etext - &__executable_start),
             " bytes, ");
    put_line("data ", (unsigned long)(&end - &edata), " bytes of zeros\n");
}
#else
static void put_sizes(void) { }
#endif

int main(void)
{
    static const double theta[BUFFERS] = { 0.97, 0.8, 0.3 }, omega[BUFFERS] = { 0.06, 0.17, 0.25 };
    mcamp_ctx ctx;
    mcamp_ctx_desc cd;
    mcamp_mech_desc banded, blt;
    double a, b, delta;
    memset(&cd, 0, sizeof cd);
    memset(&banded, 0, sizeof banded);
    memset(&blt, 0, sizeof blt);
    cd.alloc.alloc = arena_alloc;
    cd.alloc.free = arena_free;
    if (mcamp_ctx_init(&ctx, &cd) < 0) return 1;
    banded.kind = MCAMP_MECH_SQRT;
    banded.bands = BANDS;
    blt.kind = MCAMP_MECH_BLT;
    blt.theta = theta;
    blt.omega = omega;
    blt.buffers = BUFFERS;
    banded.n = blt.n = ROUNDS;
    banded.normalize = blt.normalize = true;
    a = run(&ctx, &banded, banded_memory, sizeof banded_memory);
    b = run(&ctx, &blt, blt_memory, sizeof blt_memory);
    if (mcamp_gauss_delta(&ctx, 1, 1, 5, &delta) < 0 || delta > 1e-6) return 1;
    if (!(a > 0) || !(b > 0)) { put("embedded: failed\n"); return 1; }
    put_line("banded: ", sizeof banded_memory, " bytes; ");
    put_line("variance of the sum of all rounds ", (unsigned long)(100 * a / ROUNDS),
             "% of independent noise\n");
    put_line("BLT: ", sizeof blt_memory, " bytes; ");
    put_line("variance of the sum of all rounds ", (unsigned long)(100 * b / ROUNDS),
             "% of independent noise\n");
    put_line("stream object ", sizeof(mcamp_noise), " bytes, ");
    put_line("coefficients ", (unsigned long)arena.used, " bytes\n");
    put_sizes();
    return a < ROUNDS && b < ROUNDS ? 0 : 1;
}
