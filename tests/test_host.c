/* Hostile hosts: with unmasked traps, another rounding mode or flushed denormals every
 * answer has the bits that it has elsewhere, also on the threads of a host that sets the
 * same there, and the host finds its environment as it left it.                       */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

/* ---- the processor's word for it --------------------------------------------------- */

#if defined(__x86_64__) || (defined(__i386__) && defined(__SSE2__))
#  define HOSTILE { 0x1f80 | 0x8000, 0x1f80 | 0x0040, 0x1f80 | 0x2000, \
                    0x1f80 | 0x4000, 0x1f80 | 0x6000, 0, 0x8040 | 0x4000 }
#  define CONTROL 0xffffffc0u
static unsigned long host_get(void) { return _mm_getcsr(); }
static void host_set(unsigned long w) { _mm_setcsr((unsigned)w); }
#elif defined(__aarch64__)
#  define HOSTILE { 1ul << 24, 1ul << 22, 2ul << 22, 3ul << 22, 0x1f00, 0x9f00 | 1ul << 24 }
#  define CONTROL (~0ul)
static unsigned long host_get(void)
{
    unsigned long w;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(w));
    return w;
}
static void host_set(unsigned long w) { __asm__ __volatile__("msr fpcr, %0" : : "r"(w)); }
#else
#  define HOSTILE { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO }
#  define CONTROL (~0ul)
static unsigned long host_get(void) { return (unsigned long)fegetround(); }
static void host_set(unsigned long w) { fesetround((int)w); }
#endif

static const unsigned long hostile[] = HOSTILE;
enum { NHOST = sizeof hostile / sizeof hostile[0] };

/* A hook whose threads have the host's setting, whatever the library has. */
static unsigned long setting;

static void hostile_run(void *user, size_t n, void (*task)(void *arg, size_t i), void *arg)
{
    (void)user;
    for (size_t i = n; i-- > 0;) {
        unsigned long was = host_get();
        host_set(setting);
        task(arg, i);
        host_set(was);
    }
}

/* ---- everything that decides, as bytes ---------------------------------------------- */

typedef struct answers { unsigned char byte[1 << 16]; size_t n; } answers;

static void keep(answers *a, const void *p, size_t size)
{
    CHECK(a->n + size <= sizeof a->byte);
    if (a->n + size > sizeof a->byte) return;
    memcpy(a->byte + a->n, p, size);
    a->n += size;
}

static int keep_text(void *user, const char *text, size_t n)
{
    keep((answers *)user, text, n);
    return 0;
}

static const double coef[3] = { 1, 0.5, 0.375 };
enum { ROUNDS = 19, BATCHES = 8, EXAMPLES = 24, DIM = 5 };

static void problem_of(mcamp_problem *p)
{
    memset(p, 0, sizeof *p);
    p->strategy.kind = MCAMP_MECH_TOEPLITZ;
    p->strategy.coef = coef;
    p->strategy.count = 3;
    p->rounds = ROUNDS;
    p->batches = BATCHES;
    p->eps = 1;
    p->delta = 1e-2;
    p->sigma = 2.25;
}

static void ask_formulas(mcamp_ctx *ctx, answers *a)
{
    mcamp_event e[2];
    mcamp_interval v;
    double x = 0;
    memset(e, 0, sizeof e);
    memset(&v, 0, sizeof v);
    CHECK_STATUS(mcamp_gauss_sigma(ctx, 1, 1, 1e-300, &x), MCAMP_OK);
    keep(a, &x, sizeof x);
    CHECK_STATUS(mcamp_gauss_delta(ctx, 2.5, 1, 60, &x), MCAMP_OK);
    keep(a, &x, sizeof x);
    e[0].kind = MCAMP_EVENT_POISSON;
    e[0].q = 0.01;
    e[0].sigma = 0.9;
    e[0].count = 100;
    e[1].kind = MCAMP_EVENT_GAUSSIAN;
    e[1].sigma = 4;
    e[1].count = 3;
    CHECK(mcamp_exact_delta(ctx, e, 2, NULL, 1, &v, NULL) >= 0);
    keep(a, &v.lower, sizeof v.lower);
    keep(a, &v.upper, sizeof v.upper);
    CHECK(mcamp_exact_epsilon(ctx, e, 2, NULL, 1e-7, &v, NULL) >= 0);
    keep(a, &v.lower, sizeof v.lower);
    keep(a, &v.upper, sizeof v.upper);
}

static void ask_problem(mcamp_ctx *ctx, answers *a, mcamp_guarantee *proof)
{
    mcamp_writer w = { keep_text, NULL };
    mcamp_problem p;
    mcamp_answer r;
    problem_of(&p);
    w.user = a;
    memset(&r, 0, sizeof r);
    CHECK(mcamp_problem_sigma(ctx, &p, &r) >= 0);
    keep(a, &r.sigma, sizeof r.sigma);
    CHECK(mcamp_problem_epsilon(ctx, &p, &r) >= 0);
    keep(a, &r.eps, sizeof r.eps);
    CHECK_STATUS(mcamp_problem_verify(ctx, &p, proof), MCAMP_OK);
    CHECK(proof->accepted);
    CHECK_STATUS(mcamp_report_guarantee(proof, MCAMP_REPORT_JSON, &w), MCAMP_OK);
    p.sigma = 0.9;
    {
        mcamp_guarantee refused;
        CHECK(mcamp_problem_verify(ctx, &p, &refused) > 0 && !refused.accepted);
    }
}

static void ask_optimum(mcamp_ctx *ctx, answers *a)
{
    mcamp_opt_desc d;
    mcamp_opt_result r;
    mcamp_mech mech;
    memset(&d, 0, sizeof d);
    d.family = MCAMP_OPT_TOEPLITZ;
    d.amplification = MCAMP_AMPLIFY_NONE;
    d.rounds = 16;
    d.batches = 8;
    d.eps = 1;
    d.delta = 1e-5;
    CHECK(mcamp_opt_run(ctx, &d, &mech, &r) >= 0);
    keep(a, &r.rmse, sizeof r.rmse);
    mcamp_mech_free(ctx, &mech);
}

/* A run of a few rounds, from the record of its proof. */
static void ask_session(mcamp_ctx *ctx, answers *a, const mcamp_guarantee *proof)
{
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    mcamp_session_desc d;
    mcamp_mech_desc m;
    mcamp_mech mech;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session s;
    int64_t sum[DIM];
    memset(&b, 0, sizeof b);
    memset(&z, 0, sizeof z);
    memset(&c, 0, sizeof c);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    m.kind = MCAMP_MECH_TOEPLITZ;
    m.n = ROUNDS;
    m.coef = coef;
    m.count = 3;
    CHECK_STATUS(mcamp_mech_init(ctx, &m, &mech), MCAMP_OK);
    mcamp_key_insecure_test(7, &z.key);
    b.key = z.key;
    b.law = MCAMP_BATCH_BINS;
    b.examples = EXAMPLES;
    b.rounds = ROUNDS;
    b.batches = BATCHES;
    z.mech = &mech;
    z.sigma = proof->sigma;
    z.clip_norm = c.norm = 0.5;
    z.unit = MCAMP_NOISE_SUM;
    z.dim = c.dim = DIM;
    c.max_examples = EXAMPLES;
    CHECK_STATUS(mcamp_batch_init(ctx, &b, &batch), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_init(ctx, &z, &noise), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_init(ctx, &c, &clip), MCAMP_OK);
    d.batch = &batch;
    d.noise = &noise;
    d.clip = &clip;
    d.grid_sum = sum;
    d.run = 1;
    d.guarantee = proof;
    CHECK_STATUS(mcamp_session_init(ctx, &d, &s), MCAMP_OK);
    for (uint64_t t = 0; t < 4; t++) {
        double grad[DIM] = { 1e-310, -0.3, 1e300, 0.1, -7 }, out[DIM] = { 0 };
        size_t index[EXAMPLES];
        mcamp_batch_size size;
        mcamp_tensor piece = { NULL, NULL, DIM };
        piece.d = grad;
        CHECK_STATUS(mcamp_session_begin(ctx, &s, t, index, EXAMPLES, &size), MCAMP_OK);
        for (size_t i = 0; i < size.kept; i++)
            CHECK_STATUS(mcamp_session_add(ctx, &s, index[i], &piece, 1), MCAMP_OK);
        CHECK_STATUS(mcamp_session_end(ctx, &s, out), MCAMP_OK);
        keep(a, out, sizeof out);
    }
    mcamp_noise_free(ctx, &noise);
    mcamp_batch_free(ctx, &batch);
    mcamp_mech_free(ctx, &mech);
}

static void ask(answers *a, int threads)
{
    mcamp_ctx ctx;
    mcamp_ctx_desc d;
    mcamp_guarantee proof;
    memset(&d, 0, sizeof d);
    memset(a, 0, sizeof *a);
    if (threads) {
        d.parallel.run = hostile_run;
        d.parallel.width = 2;
    }
    CHECK_STATUS(mcamp_ctx_init(&ctx, &d), MCAMP_OK);
    ask_formulas(&ctx, a);
    ask_problem(&ctx, a, &proof);
    ask_optimum(&ctx, a);
    ask_session(&ctx, a, &proof);
}

static answers calm, angry;

static void same_answers(int threads)
{
    unsigned long before = host_get();
    setting = before;
    ask(&calm, threads);
    CHECK(calm.n > 1000);
    for (int i = 0; i < NHOST; i++) {
        unsigned long left;
        setting = hostile[i];
        if (!threads) host_set(setting);
        ask(&angry, threads);
        left = threads ? setting : host_get();
        host_set(before);
        CHECK((left & CONTROL) == (setting & CONTROL));
        CHECK(angry.n == calm.n && !memcmp(angry.byte, calm.byte, calm.n));
    }
}

TEST(a_host_with_another_environment) { same_answers(0); }
TEST(threads_with_another_environment) { same_answers(1); }

/* Public functions that are called while the environment is hostile, then in the library's
 * own callbacks: those run in the library's setting.                                  */
static unsigned long seen;

static int note(void *user, const char *text, size_t n)
{
    (void)user; (void)text; (void)n;
    seen = host_get();
    return 0;
}

TEST(callbacks_run_in_the_setting_of_the_library)
{
    unsigned long before = host_get();
    mcamp_writer w = { note, NULL };
    mcamp_problem p;
    mcamp_guarantee g;
    mcamp_ctx ctx;
    problem_of(&p);
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_problem_verify(&ctx, &p, &g), MCAMP_OK);
    host_set(hostile[0]);
    mcamp_report_guarantee(&g, MCAMP_REPORT_TEXT, &w);
    host_set(before);
    CHECK((seen & CONTROL) == (before & CONTROL));
}

TEST_MAIN("host", T(a_host_with_another_environment), T(threads_with_another_environment),
          T(callbacks_run_in_the_setting_of_the_library))
