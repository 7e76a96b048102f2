/* Section session: guarantees, binding, rounds, the privacy statement. */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "stream.h"
#include "mcamp_fault.h"
#include "machine.h"
#if defined(__unix__) || defined(__APPLE__)
#  include <signal.h>
#  include <sys/types.h>
#  include <sys/wait.h>
#  include <unistd.h>
#  include "kill_loop.h"
#endif

enum { N = 8, B = 4, M = 40, D = 30 };

static mcamp_ctx ctx;
static mcamp_mech mech;
static mcamp_guarantee verified;

static mcamp_mech make(mcamp_mech_kind kind, size_t bands)
{
    mcamp_mech_desc d;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.kind = kind;
    d.n = N;
    d.bands = bands;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    return m;
}

/* A certified sigma for square-root C of three bands, made once. */
static void start(void)
{
    mcamp_gram g;
    mcamp_claim c;
    if (verified.accepted) return;
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    mech = make(MCAMP_MECH_SQRT, 3);
    memset(&c, 0, sizeof c);
    c.eps = 2;
    c.delta = 1e-3;
    c.beta = 1e-4;
    CHECK_STATUS(mcamp_gram_init(&ctx, &mech, B, &g), MCAMP_OK);
    CHECK(mcamp_calibrate_certified(&ctx, &g, &c, &verified) >= 0);
    CHECK(verified.accepted);
    mcamp_gram_free(&ctx, &g);
}

/* ---- guarantees ------------------------------------------------------------ */

TEST(verified_guarantees_say_what_was_proved)
{
    const mcamp_guarantee *g = &verified;
    start();
    CHECK(g->kind == MCAMP_KIND_VERIFIED && g->law == MCAMP_BATCH_BINS);
    CHECK(g->rounds == N && g->batches == B && g->epochs == 2 && g->unit == 1);
    CHECK(g->strategy_digest == mech.digest && g->adjacency == MCAMP_ADJACENT_ADD_REMOVE);
    CHECK(g->version == MCAMP_VERSION && g->points == 1 && !g->interrupted);
    CHECK_NEAR(g->eps, 2, 0, 0);
    CHECK_NEAR(g->delta, 1e-3, 0, 0);
}

TEST(poisson_guarantees_are_the_exact_accountants)
{
    mcamp_guarantee g;
    mcamp_event e;
    mcamp_interval eps;
    double norm;
    start();
    CHECK_STATUS(mcamp_mech_max_norm(&ctx, &mech, &norm), MCAMP_OK);
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.count = 2;
    e.sigma = 1.5;
    e.sensitivity = norm;
    e.q = 0.2;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-5, &eps, NULL), MCAMP_OK);
    CHECK(eps.upper > eps.lower * (1 + 1e-9));
    for (uint64_t batches = 4; batches < 8; batches += 3) {     /* 8 rounds: the second epoch */
        CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, batches, 0.2, 1.5, 1e-5, &g), MCAMP_OK);
        CHECK_NEAR(g.eps, eps.upper, 1e-10, 0);                 /* may be of one round         */
        CHECK_NEAR(g.upper, eps.upper, 1e-10, 0);
        CHECK_NEAR(g.lower, eps.lower, 1e-10, 0);
        CHECK(g.kind == MCAMP_KIND_INTERVAL && g.law == MCAMP_BATCH_POISSON);
    }
    /* three bands overlap in a cycle of two */
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 2, 0.2, 1.5, 1e-5, &g), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 0, 0.2, 1.5, 1e-5, &g), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0, 1.5, 1e-5, &g), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 1.5, 1.5, 1e-5, &g), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0.2, 0, 1e-5, &g), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0.2, 1.5, 1, &g), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, NULL, 4, 0.2, 1.5, 1e-5, &g), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0.2, 1.5, 1e-5, NULL),
                 MCAMP_E_REQUIRED);
}

TEST(unamplified_guarantees_are_the_gaussian_mechanisms)
{
    mcamp_guarantee g;
    mcamp_sens fixed, apart;
    double eps;
    start();
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &mech, 2, 4, &fixed), MCAMP_OK);
    CHECK_STATUS(mcamp_sens_minsep(&ctx, &mech, 2, 4, &apart), MCAMP_OK);
    for (int law = 1; law <= 5; law++) {
        double s = law == 1 || law == 5 ? fixed.value : apart.value;
        CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, (mcamp_batch_law)law, 4, 3,
                                                 1e-5, &g), MCAMP_OK);
        CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 3, s, 1e-5, &eps), MCAMP_OK);
        CHECK_LE(eps, g.eps);
        CHECK_LE(g.eps, eps * (1 + 1e-9));
        CHECK(g.law == (mcamp_batch_law)law && g.kind == MCAMP_KIND_CLOSED);
    }
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_UNSET, 4, 3, 1e-5, &g),
                 MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, (mcamp_batch_law)7, 4, 3, 1e-5, &g),
                 MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, 0, 3, 1e-5, &g),
                 MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, 4, 1e-200, 1e-5, &g),
                 MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, 4, 3,
                                             mcamp__nan(), &g), MCAMP_E_NONFINITE);
}

/* The square of |sum of columns| of C, rows of `take` set; C of n rounds, row-major. */
static double patterns_norm(const double *c, size_t n, unsigned take)
{
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        double x = 0;
        for (size_t j = 0; j <= i; j++) x += take >> j & 1 ? c[i * n + j] : 0;
        norm += x * x;
    }
    return norm;
}

/* The largest over the patterns of a law: r, r + b, r + 2b, ..; or any at least b apart. */
static double brute_sensitivity(const double *c, size_t n, size_t b, int fixed)
{
    double most = 0;
    for (unsigned take = 1; take < 1u << n; take++) {
        size_t last = n, ok = 1;
        for (size_t t = 0; t < n; t++) {
            if (!(take >> t & 1)) continue;
            if (last < n) ok &= fixed ? t - last == b : t - last >= b;
            last = t;
        }
        if (ok) most = fmax(most, patterns_norm(c, n, take));
    }
    return sqrt(most);
}

/* eps at delta of the Gaussian mechanism of sensitivity s, by halving. */
static double brute_epsilon(double sigma, double s, double delta)
{
    double lo = 0, hi = 1000, a = s / (2 * sigma);
    for (int i = 0; i < 200; i++) {
        double e = (lo + hi) / 2, x = e * sigma / s;
        double d = 0.5 * erfc((x - a) / sqrt(2.0)) - exp(e) * 0.5 * erfc((x + a) / sqrt(2.0));
        if (d > delta) lo = e; else hi = e;
    }
    return hi;
}

/* Every law; whole cycles, one round more, cycles of 1 and of n; C that rises late, so that
 * the first pattern is not the worst and irregular ones are worse than regular ones.  */
TEST(unamplified_guarantees_by_brute_force)
{
    static const struct { size_t n, b; } shape[] = { { 9, 4 }, { 8, 4 }, { 10, 3 }, { 7, 1 },
                                                     { 7, 7 }, { 5, 9 }, { 10, 9 } };
    static const double late[6] = { 1, 0.2, 0.1, 0.1, 0.3, 0.9 };
    int apart = 0;
    start();
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        size_t n = shape[i].n, b = shape[i].b;
        for (int kind = 0; kind < 3; kind++) {      /* 2: with columns that grow */
            double c[100] = { 0 }, grow[10], s[2];
            mcamp_mech_desc d;
            mcamp_mech m;
            memset(&d, 0, sizeof d);
            for (size_t j = 0; j < n; j++) grow[j] = kind == 2 ? 0.5 + 0.1 * (double)j : 1;
            for (size_t t = 0; t < n; t++)
                for (size_t j = 0; j <= t; j++)
                    c[t * n + j] = kind == 1 ? (t == j ? 1 : 0.1 + 0.05 * (double)(t * j % 7))
                                 : t - j < 6 ? grow[j] * late[t - j] : 0;
            d.kind = kind == 1 ? MCAMP_MECH_DENSE : MCAMP_MECH_TOEPLITZ;
            d.n = n;
            d.coef = kind == 1 ? c : late;
            d.count = kind == 1 ? n * n : n < 6 ? n : 6;
            d.scale = kind == 2 ? grow : NULL;
            CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
            s[0] = brute_sensitivity(c, n, b, 0);
            s[1] = brute_sensitivity(c, n, b, 1);
            apart += s[0] > s[1] * 1.001;
            for (int law = 1; law <= 6; law++) {
                int fixed = law == MCAMP_BATCH_BINS || law == MCAMP_BATCH_SHUFFLE;
                double want = brute_epsilon(3, s[fixed], 1e-5);
                mcamp_guarantee g;
                CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &m, (mcamp_batch_law)law, b, 3,
                                                         1e-5, &g), MCAMP_OK);
                CHECK_LE(s[fixed], g.sensitivity);
                CHECK_LE(want * (1 - 1e-12), g.eps);
                CHECK_LE(g.eps, want * (1 + (fixed ? 1e-6 : 0.3)));
                CHECK(g.adjacency == (law == MCAMP_BATCH_BINS || law == MCAMP_BATCH_MINSEP ||
                                      law == MCAMP_BATCH_POISSON || law == MCAMP_BATCH_MINSEP_WARM
                                          ? MCAMP_ADJACENT_ADD_REMOVE : MCAMP_ADJACENT_ZERO_OUT));
                CHECK(g.accepted && g.kind == MCAMP_KIND_CLOSED && g.rounds == n);
            }
            mcamp_mech_free(&ctx, &m);
        }
    }
    CHECK(apart >= 2);
}

/* What plans choose, under every sampling that can be offered. */
TEST(plans_come_with_their_guarantee)
{
    static const unsigned offer[3] = { 0, MCAMP_PLAN_BINS, MCAMP_PLAN_POISSON };
    static const mcamp_batch_law law[3] = { MCAMP_BATCH_SHUFFLE, MCAMP_BATCH_BINS,
                                            MCAMP_BATCH_POISSON };
    start();
    for (int i = 0; i < (int)mt_few(3, 1); i++) {   /* valgrind: one will do */
        mcamp_plan_desc d;
        mcamp_plan_result r;
        mcamp_mech m;
        const mcamp_guarantee *g = &r.guarantee;
        memset(&d, 0, sizeof d);
        d.rounds = 24;
        d.batches = 6;
        d.eps = 4;
        d.delta = 1e-3;
        d.sampling = offer[i];
        CHECK(mcamp_plan(&ctx, &d, &m, &r) >= 0);
        CHECK(g->law == law[i] || (i && g->law == MCAMP_BATCH_SHUFFLE));
        CHECK(g->rounds == 24 && g->strategy_digest == m.digest && g->accepted);
        CHECK_NEAR(g->sigma, r.sigma, 0, 0);
        CHECK_NEAR(g->eps, 4, 0, 0);
        CHECK_NEAR(g->delta, 1e-3, 0, 0);
        mcamp_mech_free(&ctx, &m);
    }
}

/* ---- a run ---------------------------------------------------------------------- */

typedef struct parts {
    mcamp_batch_desc bd;
    mcamp_noise_desc nd;
    mcamp_clip_desc cd;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    uint64_t run;
    mcamp_arithmetic arithmetic;
    mcamp_ledger ledger;
    double sum[D];
    int64_t grid_sum[D];
} parts;

static void plan_parts(parts *p, const mcamp_guarantee *g)
{
    memset(p, 0, sizeof *p);
    p->bd.law = g->law;
    p->bd.examples = M;
    p->bd.rounds = N;
    p->bd.batches = g->batches;
    p->bd.q = g->q;
    mcamp_key_insecure_test(5, &p->bd.key);
    p->nd.mech = &mech;
    p->nd.sigma = g->sigma;
    p->nd.clip_norm = 0.5;
    p->nd.unit = MCAMP_NOISE_MEAN;
    p->nd.batch = 10;
    p->nd.dim = D;
    p->nd.key = p->bd.key;
    p->cd.norm = 0.5;
    p->cd.dim = D;
    p->cd.max_examples = M;
    p->run = 1;
}

/* Floating point, a grid of one's own, the library's. */
static void plan_numbers(parts *p, int how)
{
    if (how == 0) p->arithmetic = MCAMP_ARITHMETIC_FLOATING;
    if (how == 1) p->nd.grid = p->cd.grid = ldexp(1, -16);
}

static mcamp_status bind_parts(parts *p, const mcamp_guarantee *g, mcamp_session *s)
{
    mcamp_session_desc d;
    memset(&d, 0, sizeof d);
    d.guarantee = g;
    d.batch = &p->batch;
    d.noise = &p->noise;
    d.clip = &p->clip;
    d.run = p->run;
    d.arithmetic = p->arithmetic;
    d.ledger = p->ledger;
    d.sum = p->sum;
    d.grid_sum = p->grid_sum;
    return mcamp_session_init(&ctx, &d, s);
}

static mcamp_status open_parts(parts *p, const mcamp_guarantee *g, mcamp_session *s)
{
    CHECK_STATUS(mcamp_batch_init(&ctx, &p->bd, &p->batch), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_init(&ctx, &p->nd, &p->noise), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_init(&ctx, &p->cd, &p->clip), MCAMP_OK);
    return bind_parts(p, g, s);
}

static void close_parts(parts *p)
{
    mcamp_batch_free(&ctx, &p->batch);
    mcamp_noise_free(&ctx, &p->noise);
}

static void gradient(size_t example, uint64_t round, double *out)
{
    for (size_t i = 0; i < D; i++)
        out[i] = sin((double)(example * 31 + i * 7 + (size_t)round)) * 0.3;
}

/* One round through the session; out = what is released. */
static void one_round(mcamp_session *s, uint64_t t, double *out)
{
    size_t index[M];
    mcamp_batch_size size = { 0, 0 };
    double g[D];
    mcamp_tensor piece = { NULL, NULL, D };
    CHECK_STATUS(mcamp_session_begin(&ctx, s, t, index, M, &size), MCAMP_OK);
    gradient(0, t, g);
    piece.d = g;
    for (size_t i = 0; i < size.kept; i++) {
        gradient(index[i], t, g);
        CHECK_STATUS(mcamp_session_add(&ctx, s, index[i], &piece, 1), MCAMP_OK);
    }
    CHECK_STATUS(mcamp_session_add(&ctx, s, 0, &piece, 1), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_session_end(&ctx, s, out), MCAMP_OK);
}

TEST(a_round_is_the_clipped_sum_with_its_noise)
{
    start();
    for (int grid = 0; grid <= 2; grid++) {
        mcamp_guarantee g = verified;
        parts p;
        mcamp_session s;
        plan_parts(&p, &g);
        plan_numbers(&p, grid);
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        CHECK_NEAR(mcamp_session_delta(&s),
                   1e-3 + (grid > 0 ? s.guarantee.delta_num : 0), 1e-15, 0);
        for (uint64_t t = 0; t < N; t++) {
            size_t index[M];
            mcamp_batch_size size;
            double out[D], want[D] = { 0 }, noise[D], x[D], f;
            one_round(&s, t, out);
            CHECK_STATUS(mcamp_batch_round(&ctx, &p.batch, t, index, M, &size), MCAMP_OK);
            for (size_t e = 0; e < size.kept; e++) {
                double n = 0;
                gradient(index[e], t, x);
                for (size_t i = 0; i < D; i++) n += x[i] * x[i];
                f = n > 0.25 ? 0.5 / sqrt(n) : 1;
                for (size_t i = 0; i < D; i++) want[i] += f * x[i];
            }
            CHECK_STATUS(mcamp_noise_replay(&ctx, &p.noise, t, 0, D, noise), MCAMP_OK);
            for (size_t i = 0; i < D; i++)
                CHECK_NEAR(out[i], want[i] / 10 + (grid ? noise[i] / 10 : noise[i]), 1e-10,
                           grid ? 20 * ldexp(1, -16) / 10 : 1e-12);
        }
        {
            mcamp_batch_size size;
            CHECK_STATUS(mcamp_session_begin(&ctx, &s, N, NULL, 0, &size), MCAMP_E_STEP);
            CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, NULL, 0, NULL), MCAMP_E_REQUIRED);
        }
        close_parts(&p);
    }
}

TEST(rounds_come_in_order_and_once)
{
    mcamp_guarantee g;
    parts p;
    mcamp_session s, none;
    size_t index[M];
    mcamp_batch_size size;
    double out[D], grad[D];
    mcamp_tensor piece = { NULL, NULL, D };
    start();
    g = verified;
    plan_parts(&p, &g);
    plan_numbers(&p, 0);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    memset(&none, 0, sizeof none);
    gradient(0, 0, grad);
    piece.d = grad;
    CHECK_STATUS(mcamp_session_begin(&ctx, &none, 0, index, M, &size), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 1, index, M, &size), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_session_add(&ctx, &s, 0, &piece, 1), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, 0, &size), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
    CHECK_STATUS(mcamp_session_add(&ctx, &s, index[0], NULL, 1), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_session_add(&ctx, &s, index[0], NULL, 0), MCAMP_E_REQUIRED);
    for (size_t i = 0; i < size.kept; i++)
        CHECK_STATUS(mcamp_session_skip(&ctx, &s, index[i]), MCAMP_OK);
    CHECK_STATUS(mcamp_session_end(&ctx, &s, NULL), MCAMP_E_REQUIRED);
    p.sum[3] = mcamp__nan();
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_NONFINITE);
    p.sum[3] = 0;
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_E_STEP);
    /* a part changed behind its back */
    p.clip.norm = 1;
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 1, index, M, &size), MCAMP_E_MISMATCH);
    p.clip.norm = 0.5;
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 1, index, M, &size), MCAMP_OK);
    close_parts(&p);
    CHECK_STATUS(mcamp_session_add(&ctx, &s, 0, &piece, 1), MCAMP_E_ARG);
}

/* Bytes that nobody writes, to see that nobody did. */
static void paint(double out[D]) { memset(out, 0x5a, D * sizeof *out); }
static int painted(const double out[D])
{
    const unsigned char *p = (const unsigned char *)out;
    for (size_t i = 0; i < D * sizeof *out; i++) if (p[i] != 0x5a) return 0;
    return 1;
}

static void add_all(mcamp_session *s, uint64_t t, const size_t *index, size_t n)
{
    double g[D];
    mcamp_tensor piece = { NULL, NULL, D };
    piece.d = g;
    for (size_t i = 0; i < n; i++) {
        gradient(index[i], t, g);
        CHECK_STATUS(mcamp_session_add(&ctx, s, index[i], &piece, 1), MCAMP_OK);
    }
}

/* Of `wrong`, who is a member is added once; the others are refused. */
static void add_some(mcamp_session *s, uint64_t t, const size_t *index, size_t members,
                     const size_t *wrong, size_t n)
{
    double g[D];
    mcamp_tensor piece = { NULL, NULL, D };
    piece.d = g;
    for (size_t i = 0; i < n; i++) {
        int due = 0, i_th = 0;
        for (size_t k = 0; k < members; k++) due |= index[k] == wrong[i];
        for (size_t k = 0; k < i; k++) i_th += wrong[k] == wrong[i];
        gradient(wrong[i], t, g);
        CHECK_STATUS(mcamp_session_add(&ctx, s, wrong[i], &piece, 1),
                     due && !i_th ? MCAMP_OK : MCAMP_E_MISMATCH);
        if (!due || i_th) CHECK(!strcmp(mcamp_last_error(&ctx).argument, "example"));
    }
}

/* With one missing, one twice, a stranger, two who are neither; then as it should be. */
TEST(rounds_are_released_with_all_their_members_and_nobody_else)
{
    start();
    for (int grid = 0; grid <= 2; grid++) {
        mcamp_guarantee g = verified;
        parts p;
        mcamp_session s;
        size_t index[M], wrong[M];
        mcamp_batch_size size;
        double out[D], want[D];
        plan_parts(&p, &g);
        plan_numbers(&p, grid);
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        one_round(&s, 0, want);
        close_parts(&p);
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        for (int fault = 0; fault < 6; fault++) {
            CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
            CHECK(size.kept > 3);
            memcpy(wrong, index, sizeof wrong);
            if (fault == 1) wrong[2] = wrong[0];                    /* twice */
            if (fault == 2) wrong[size.kept - 1] = M + 5;           /* a stranger */
            if (fault == 3) wrong[0] = wrong[1] = wrong[2];
            for (size_t e = 0, k = 0; fault == 4 && k < 2; e++) {   /* two who are not due */
                int due = 0;
                for (size_t i = 0; i < size.kept; i++) due |= index[i] == e;
                if (!due) wrong[k++] = e;
            }
            paint(out);
            add_some(&s, 0, index, size.kept, wrong,
                     fault == 0 ? size.kept - 1 : fault == 5 ? 0 : size.kept);
            CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_MISMATCH);
            CHECK(!strcmp(mcamp_last_error(&ctx).argument, "members"));
            CHECK(painted(out) && mcamp_noise_step(&p.noise) == 0);
        }
        CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
        add_all(&s, 0, index, size.kept);
        CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_OK);
        CHECK(!memcmp(out, want, sizeof out));
        CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_STEP);
        CHECK(!memcmp(out, want, sizeof out));
        for (int i = 0; i < D; i++)     /* nothing is left of the raw sum */
            CHECK_NEAR(grid ? (double)p.grid_sum[i] * p.noise.grid / 10 : p.sum[i] / 10, out[i],
                       1e-12, 1e-14);
        close_parts(&p);
    }
}

/* One who is left out counts as zero: no more is released, and no less noise. */
TEST(members_may_be_left_out_by_name)
{
    mcamp_guarantee g;
    parts p;
    mcamp_session s;
    size_t index[M];
    mcamp_batch_size size;
    double out[D], noise[D];
    start();
    g = verified;
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
    for (size_t i = 0; i < size.kept; i++)
        CHECK_STATUS(mcamp_session_skip(&ctx, &s, index[i]), MCAMP_OK);
    CHECK_STATUS(mcamp_session_skip(&ctx, &s, index[0]), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_replay(&ctx, &p.noise, 0, 0, D, noise), MCAMP_OK);
    for (int i = 0; i < D; i++) CHECK_NEAR(out[i], noise[i] / 10, 1e-12, 0);
    close_parts(&p);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, B, 2, 1e-3, &g),
                 MCAMP_OK);
    plan_parts(&p, &g);                 /* more than the clipping was made for */
    p.bd.limit = 30;
    p.cd.max_examples = 1;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_batch_round(&ctx, &p.batch, 0, index, M, &size), MCAMP_OK);
    CHECK(size.kept > 1);
    size.kept = 77;
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_E_SIZE);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "max_examples") && size.kept == 77);
    paint(out);
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_STEP);
    CHECK(painted(out));
    close_parts(&p);
}

/* A state that was loaded, noise wanted by others, another session, a copy: the round that
 * was begun gets no other round's noise, and no round two releases.                */
TEST(a_round_ends_with_its_own_noise_or_not_at_all)
{
    mcamp_guarantee g;
    parts p, q;
    mcamp_session s, second, copy;
    size_t index[M], size_of_blob = 0;
    mcamp_batch_size size;
    static unsigned char blob[8192];
    double out[D], none[D];
    int64_t nothing[D] = { 0 };
    start();
    g = verified;
    plan_parts(&p, &g);
    plan_parts(&q, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    one_round(&s, 0, out);
    CHECK_STATUS(mcamp_session_save(&ctx, &s, blob, sizeof blob, &size_of_blob), MCAMP_OK);
    CHECK_STATUS(open_parts(&q, &g, &second), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &second, 0, index, M, &size), MCAMP_OK);
    add_all(&second, 0, index, size.kept);
    CHECK_STATUS(mcamp_session_load(&ctx, &second, blob, size_of_blob), MCAMP_OK);
    CHECK(!memcmp(q.grid_sum, nothing, sizeof nothing));    /* nor does its sum stay */
    paint(out);
    CHECK_STATUS(mcamp_session_end(&ctx, &second, out), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_session_skip(&ctx, &second, index[0]), MCAMP_E_STEP);
    CHECK(painted(out));
    one_round(&second, 1, out);         /* goes on where the state stands */
    CHECK_STATUS(mcamp_session_begin(&ctx, &second, 2, index, M, &size), MCAMP_OK);
    add_all(&second, 2, index, size.kept);
    /* the stream is the session's */
    CHECK_STATUS(mt_next(&ctx, &q.noise, 2, 7, none), MCAMP_E_MISMATCH);
    CHECK_STATUS(mt_add_grid(&ctx, &q.noise, 2, 7, nothing), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_noise_save(&ctx, &q.noise, NULL, 0, &size_of_blob), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_noise_load(&ctx, &q.noise, blob, size_of_blob), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "session") && !nothing[0]);
    CHECK_STATUS(mcamp_session_end(&ctx, &second, out), MCAMP_OK);
    CHECK_STATUS(bind_parts(&q, &g, &copy), MCAMP_E_STEP);      /* has begun */
    /* copies are no sessions */
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 1, index, M, &size), MCAMP_OK);
    add_all(&s, 1, index, size.kept);
    copy = s;
    paint(out);
    CHECK_STATUS(mcamp_session_end(&ctx, &copy, out), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "session") && painted(out));
    CHECK_STATUS(mcamp_session_save(&ctx, &copy, NULL, 0, &size_of_blob), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_OK);
    close_parts(&p);
    close_parts(&q);
    /* a second one on a stream that has not begun ends the first */
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
    CHECK_STATUS(bind_parts(&p, &g, &second), MCAMP_OK);
    CHECK_STATUS(mcamp_session_skip(&ctx, &s, index[0]), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "session"));
    one_round(&second, 0, out);
    {   /* a stream that was put back; the one that belongs there goes on */
        mcamp_noise old = p.noise, now;
        one_round(&second, 1, out);
        now = p.noise;
        p.noise = old;
        CHECK_STATUS(mcamp_session_begin(&ctx, &second, 1, index, M, &size), MCAMP_E_STEP);
        CHECK_STATUS(mcamp_session_begin(&ctx, &second, 2, index, M, &size), MCAMP_E_STEP);
        p.noise = now;
        p.noise.done = 1;               /* half drawn, by whatever means */
        CHECK_STATUS(mcamp_session_begin(&ctx, &second, 2, index, M, &size), MCAMP_E_STEP);
        p.noise.done = 0;
        one_round(&second, 2, out);
    }
    close_parts(&p);
}

/* Parts that were made anew in the same place, with another population or limit; C changed
 * value by value, before the session and under it.                                 */
TEST(parts_cannot_change_under_a_session)
{
    mcamp_guarantee g;
    parts p;
    mcamp_session s;
    size_t index[M];
    mcamp_batch_size size;
    double keep;
    start();
    g = verified;
#define CHANGED(change, name) \
    do { plan_parts(&p, &g); \
         CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK); \
         mcamp_batch_free(&ctx, &p.batch); change; \
         CHECK_STATUS(mcamp_batch_init(&ctx, &p.bd, &p.batch), MCAMP_OK); \
         CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_E_MISMATCH); \
         CHECK(!strcmp(mcamp_last_error(&ctx).argument, name)); close_parts(&p); } while (0)
    CHANGED(p.bd.examples = M - 1, "examples");
    CHANGED(p.bd.limit = 30, "limit");
    CHANGED(mcamp_key_insecure_test(6, &p.bd.key), "key");
    CHANGED(p.bd.batches = 2, "batches");
    CHANGED((p.bd.law = MCAMP_BATCH_SHUFFLE, p.bd.batches = B), "law");
#undef CHANGED
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    p.noise.grid *= 2;
    p.clip.grid *= 2;
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "grid"));
    p.noise.grid /= 2;
    p.clip.grid /= 2;
    {   /* batches made anew have nobody to look for */
        uint32_t *due = p.batch.due;
        p.batch.due = NULL;
        CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_E_MISMATCH);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "batch"));
        p.batch.due = due;
    }
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
    close_parts(&p);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0.2, 1.5, 1e-5, &g), MCAMP_OK);
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    p.batch.limit = 30;
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "limit"));
    close_parts(&p);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_POISSON, 1, 3, 1e-5, &g),
                 MCAMP_OK);
    plan_parts(&p, &g);                 /* one group: no example moves another */
    p.bd.q = 0.25;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK(s.guarantee.adjacency == MCAMP_ADJACENT_ADD_REMOVE);
    close_parts(&p);
    g = verified;
    g.examples = M + 1;                 /* a guarantee for another population */
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "examples"));
    close_parts(&p);
    g.examples = M;
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    keep = mech.coef[1];
    mech.coef[1] = 0.25;
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "mech"));
    CHECK_STATUS(bind_parts(&p, &g, &s), MCAMP_E_MISMATCH);
    mech.coef[1] = keep;
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
    close_parts(&p);
}

/* Noise that overflows: an error, and nothing of the sum in out. */
TEST(infinite_noise_releases_nothing)
{
    static const double growing[2] = { 1, 2 };
    enum { R = 1100 };
    mcamp_mech_desc md;
    mcamp_mech c;
    mcamp_guarantee g;
    mcamp_status st = MCAMP_OK;
    parts p;
    mcamp_session s;
    size_t index[M];
    mcamp_batch_size size;
    double out[D];
    start();
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_TOEPLITZ;
    md.n = R;
    md.coef = growing;
    md.count = 2;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &c, MCAMP_BATCH_BINS, B, 900, 1e-3, &g),
                 MCAMP_OK);
    plan_parts(&p, &g);
    p.bd.rounds = R;
    p.nd.mech = &c;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_E_MISMATCH);     /* no lattice has room */
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "grid"));
    close_parts(&p);
    plan_numbers(&p, 0);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    for (uint64_t t = 0; t < R && st == MCAMP_OK; t++) {
        CHECK_STATUS(mcamp_session_begin(&ctx, &s, t, index, M, &size), MCAMP_OK);
        add_all(&s, t, index, size.kept);
        paint(out);
        st = mcamp_session_end(&ctx, &s, out);
        CHECK(painted(out) == (st != MCAMP_OK));
    }
    CHECK_STATUS(st, MCAMP_E_NONFINITE);
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_STEP);
    CHECK(painted(out) && mcamp_noise_step(&p.noise) == R);
    close_parts(&p);
    mcamp_mech_free(&ctx, &c);
}

/* Every sequence of up to twelve calls out of fourteen (tests/machine.h), of three laws. */
TEST(all_short_sequences_do_what_the_model_does)
{
    static const mcamp_batch_law law[3] = { MCAMP_BATCH_BINS, MCAMP_BATCH_SHUFFLE,
                                            MCAMP_BATCH_MINSEP };
    start();
    for (int i = 0; i < 3; i++) {
        sm_all(law[i], i == 1 ? MCAMP_ARITHMETIC_FLOATING : MCAMP_ARITHMETIC_DEFAULT, 12);
        CHECK(sm_states > 900 && sm_released > 50);
    }
}

TEST(random_calls_do_what_the_model_does)
{
    start();
    for (int law = 1; law <= 5; law += 4) {
        sm_random((mcamp_batch_law)law, MCAMP_ARITHMETIC_DEFAULT, mt_scale(100000), 21);
        CHECK(sm_released > sm_calls / 50);
    }
}

TEST(anything_but_what_was_guaranteed_is_refused_by_name)
{
    mcamp_guarantee g, none;
    parts p;
    mcamp_session s;
    mcamp_mech other;
    mcamp_key key;
    start();
    g = verified;
    other = make(MCAMP_MECH_SQRT, 4);
    mcamp_key_insecure_test(6, &key);
    memset(&s, 0, sizeof s);
#define REFUSE(change, name) \
    do { mcamp_guarantee whole = g; plan_parts(&p, &g); change; \
         CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_E_MISMATCH); \
         CHECK(!strcmp(mcamp_last_error(&ctx).argument, name)); \
         CHECK(!s.magic); close_parts(&p); g = whole; } while (0)
    REFUSE(p.bd.law = MCAMP_BATCH_SHUFFLE, "law");
    REFUSE((p.bd.law = MCAMP_BATCH_POISSON, p.bd.q = 0.25), "law");
    REFUSE(p.bd.rounds = N + 1, "rounds");
    REFUSE(p.bd.batches = B + 1, "batches");
    REFUSE(p.bd.key = key, "key");
    REFUSE(p.nd.mech = &other, "mech");
    REFUSE(p.nd.sigma *= 0.99, "sigma");
    REFUSE(p.nd.clip_norm = 0.4, "clip_norm");
    REFUSE(p.cd.norm = 1, "clip_norm");
    REFUSE(p.cd.grid = 0.0625, "grid");
    REFUSE((p.nd.first = 1, p.cd.dim = D - 1), "dim");
    REFUSE((p.arithmetic = MCAMP_ARITHMETIC_FLOATING, p.nd.grid = p.cd.grid = 0.0625), "grid");
    REFUSE(p.nd.grid = 0.0625, "grid");
    REFUSE((p.bd.rounds = g.rounds = N + 1), "rounds");
    REFUSE(p.bd.limit = 10, "limit");       /* the mean: the cut costs everything */
    REFUSE(g.accepted = false, "accepted");
    REFUSE(g.kind = MCAMP_KIND_NONE, "accepted");
    REFUSE(g.kind = MCAMP_KIND_ESTIMATE, "accepted");
    REFUSE(g.interrupted = true, "accepted");
    REFUSE(g.direction = MCAMP_REMOVE, "direction");
    REFUSE(g.direction = MCAMP_ADD, "direction");
    REFUSE(g.unit = 2, "unit");
    REFUSE(g.law = MCAMP_BATCH_UNSET, "law");
    REFUSE(g.law = MCAMP_BATCH_SHUFFLE, "law");
    REFUSE(g.gram_digest = 0, "law");
    REFUSE((g.law = p.bd.law = MCAMP_BATCH_MINSEP, p.bd.q = 0.25), "law");
    REFUSE(g.gram_digest ^= 1, "gram");
    REFUSE(g.strategy_digest ^= 1, "mech");
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0.2, 1.5, 1e-5, &g), MCAMP_OK);
    REFUSE(p.bd.q = 0.21, "q");
    REFUSE(p.bd.q = 0.19, "q");
    REFUSE(p.bd.limit = 1, "limit");        /* a cut that costs everything */
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_SHUFFLE, B, 2, 1e-3, &g),
                 MCAMP_OK);
    REFUSE(g.adjacency = MCAMP_ADJACENT_ADD_REMOVE, "adjacency");
#undef REFUSE
    memset(&none, 0, sizeof none);
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &none, &s), MCAMP_E_REQUIRED);
    CHECK(!mcamp_session_guarantee(&s) && !mcamp_session_guarantee(NULL));
    close_parts(&p);
    for (int i = 0; i < 4; i++) {
        g = verified;
        plan_parts(&p, &g);
        if (i == 0) g.delta = 1.5;
        if (i == 1) g.beta = 1.5;
        if (i == 2) g.eps = -1;
        if (i == 3) g.sigma = -1;
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_E_ARG);
        close_parts(&p);
    }
    mcamp_mech_free(&ctx, &other);
}

TEST(cuts_add_their_price_to_delta)
{
    mcamp_guarantee g, drawn;
    parts p;
    mcamp_session s;
    double cut;
    start();
    g = verified;
    g.beta = 0.01;                      /* a proof at a level above delta */
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_NEAR(mcamp_session_delta(&s), 0.01 + s.guarantee.delta_num, 1e-15, 0);
    CHECK(s.guarantee.delta_num > 1e-16 && s.guarantee.delta_num < 1e-9);
    CHECK_NEAR(s.guarantee.delta_num, mcamp_noise_delta(&p.noise, g.eps), 1e-15, 0);
    close_parts(&p);
    for (int i = 0; i < 3; i++) {       /* samples of one direction, or of none */
        g.remove.samples = i == 0;
        g.add.samples = i == 1;
        CHECK_NEAR(mcamp__guarantee_delta(&g), i < 2 ? 0.01 : 1e-3, 0, 0);
    }
    g.remove = verified.remove;
    g.add = verified.add;
    g.beta = verified.beta;
    plan_parts(&p, &g);
    p.bd.limit = 25;                    /* of balls in bins: paid for in the guarantee */
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "limit"));
    close_parts(&p);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, B, 2, 1e-3, &g),
                 MCAMP_OK);
    plan_parts(&p, &g);
    p.bd.limit = 10;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_NEAR(mcamp_session_delta(&s), 1e-3 + s.guarantee.delta_num, 1e-15, 0);
    close_parts(&p);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0.25, 1.5, 1e-3, &drawn), MCAMP_OK);
    for (int how = 0; how < 4; how++) {         /* no room is as a limit, the lower one counts */
        const mcamp_guarantee *h = how == 3 ? &drawn : how ? &g : &verified;
        plan_parts(&p, h);
        p.cd.max_examples = how == 3 ? 9 : 25;
        p.bd.limit = how == 2 ? 26 : how == 3 ? 8 : 0;
        CHECK_STATUS(open_parts(&p, h, &s), MCAMP_OK);
        p.batch.limit = how == 3 ? 8 : 25;
        CHECK_STATUS(mcamp_batch_cut_delta(&ctx, &p.batch, h->eps, &cut), MCAMP_OK);
        CHECK_NEAR(mcamp_session_delta(&s), 1e-3 + (how == 2 ? 0 : cut) + s.guarantee.delta_num,
                   1e-15, 0);
        close_parts(&p);
    }
    {   /* a limit that is paid for, and less room than that */
        mcamp_guarantee paid = verified;
        paid.limit = 25;
        plan_parts(&p, &paid);
        p.bd.limit = 25;
        p.cd.max_examples = 24;
        CHECK_STATUS(open_parts(&p, &paid, &s), MCAMP_OK);
        p.batch.limit = 24;
        CHECK_STATUS(mcamp_batch_cut_delta(&ctx, &p.batch, paid.eps, &cut), MCAMP_OK);
        CHECK(cut > 1e-6);
        CHECK_NEAR(mcamp_session_delta(&s), 1e-3 + cut + s.guarantee.delta_num, 1e-15, 0);
        close_parts(&p);
    }
    plan_parts(&p, &g);
    p.cd.max_examples = 10;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "max_examples"));
    close_parts(&p);
    CHECK_NEAR(mcamp_session_delta(NULL), 1, 0, 0);
}

/* Killed between rounds: a new process has the key and the run's blob. */
TEST(a_killed_run_resumes_with_the_same_bits)
{
    mcamp_guarantee g;
    double want[N][D], got[D];
    parts p, q;
    mcamp_session s;
    start();
    g = verified;
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    for (uint64_t t = 0; t < N; t++) one_round(&s, t, want[t]);
    close_parts(&p);
    for (uint64_t at = 0; at <= N; at++) {
        static unsigned char blob[8192];
        size_t size = 0;
        plan_parts(&p, &g);
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        for (uint64_t t = 0; t < at; t++) one_round(&s, t, got);
        CHECK_STATUS(mcamp_session_save(&ctx, &s, blob, sizeof blob, &size), MCAMP_OK);
        close_parts(&p);
        plan_parts(&q, &g);
        CHECK_STATUS(open_parts(&q, &g, &s), MCAMP_OK);
        CHECK_STATUS(mcamp_session_load(&ctx, &s, blob, size), MCAMP_OK);
        for (uint64_t t = at; t < N; t++) {
            one_round(&s, t, got);
            CHECK(!memcmp(got, want[t], sizeof got));
        }
        close_parts(&q);
    }
}

#if defined(__unix__) || defined(__APPLE__)
typedef struct journal { char state[64], temporary[80], released[80]; } journal;

/* Process `life` dies at its own place: before anything of a round is kept, between the
 * release and the saved state, or with half a state written.                    */
enum { LIVES = 3 * N };

static void die(int life, uint64_t round, int place)
{
    if (life == (int)(3 * round) + place) kill(getpid(), SIGKILL);
}

static void keep_state(const mcamp_session *s, const journal *j, int life, uint64_t t)
{
    static unsigned char blob[8192];
    size_t size = 0;
    FILE *f = fopen(j->temporary, "wb");
    if (!f || mcamp_session_save(&ctx, s, blob, sizeof blob, &size) != MCAMP_OK) _exit(2);
    if (fwrite(blob, 1, size / 2, f) != size / 2 || fflush(f)) _exit(2);
    die(life, t, 2);
    if (fwrite(blob + size / 2, 1, size - size / 2, f) != size - size / 2 || fclose(f)) _exit(2);
    if (rename(j->temporary, j->state)) _exit(2);
}

/* A process: resumes from what is on disk and goes on to the end, or dies; at the end by
 * another signal, since an exit would have a checker of leaks look at its heap.    */
static void live(const mcamp_guarantee *g, const journal *j, int life)
{
    static unsigned char blob[8192];
    double out[D];
    mcamp_session s;
    parts p;
    FILE *f = fopen(j->state, "rb"), *to = fopen(j->released, "r+b");
    plan_parts(&p, g);
    if (open_parts(&p, g, &s) != MCAMP_OK || !to) _exit(2);
    if (f) {
        size_t size = fread(blob, 1, sizeof blob, f);
        if (mcamp_session_load(&ctx, &s, blob, size) != MCAMP_OK) _exit(2);
        fclose(f);
    }
    for (uint64_t t = mcamp_noise_step(&p.noise); t < N; t++) {
        one_round(&s, t, out);
        die(life, t, 0);
        if (fseek(to, (long)(t * sizeof out), SEEK_SET) ||
            fwrite(out, sizeof out, 1, to) != 1 || fflush(to)) _exit(2);
        die(life, t, 1);
        keep_state(&s, j, life, t);
    }
    if (!mt_failed_checks) kill(getpid(), SIGTERM);
    _exit(2);
}

TEST(killed_processes_leave_what_the_next_needs)
{
    mcamp_guarantee g;
    journal j;
    double want[N][D], got[N][D];
    parts p;
    mcamp_session s;
    FILE *f;
    const char *dir = getenv("TMPDIR");
    int killed = 0;
    start();
    g = verified;
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    for (uint64_t t = 0; t < N; t++) one_round(&s, t, want[t]);
    close_parts(&p);
    snprintf(j.state, sizeof j.state, "%s/mcamp_state.%ld", dir ? dir : "/tmp", (long)getpid());
    snprintf(j.temporary, sizeof j.temporary, "%s.new", j.state);
    snprintf(j.released, sizeof j.released, "%s.out", j.state);
    f = fopen(j.released, "wb");
    CHECK(f && fclose(f) == 0);
    fflush(stdout);
    for (int life = 0; life <= LIVES; life++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) live(&g, &j, life);
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) killed++;
        else CHECK(WTERMSIG(status) == SIGTERM && life == LIVES);
    }
    CHECK(killed == LIVES);
    f = fopen(j.released, "rb");
    CHECK(f && fread(got, sizeof got, 1, f) == 1 && !memcmp(got, want, sizeof got));
    if (f) fclose(f);
    remove(j.state);
    remove(j.temporary);
    remove(j.released);
}
#else
TEST(killed_processes_leave_what_the_next_needs) { start(); }
#endif

/* ---- low bits -------------------------------------------------------------------- */

enum { BITS = 20000 };

/* How often |out| < 1/4 is a multiple of 2^-53, in BITS coordinates of one release of a sum
 * that is x in each, sigma 5.                                                     */
static size_t low_bits(mcamp_arithmetic how, double x)
{
    static double grad[BITS], out[BITS], sum[BITS];
    static int64_t grid_sum[BITS];
    mcamp_mech_desc md;
    mcamp_mech c;
    mcamp_guarantee g;
    mcamp_session_desc d;
    mcamp_session s;
    mcamp_tensor whole = { NULL, NULL, BITS };
    size_t index[1], hits = 0;
    mcamp_batch_size size;
    parts p;
    memset(&md, 0, sizeof md);
    memset(&d, 0, sizeof d);
    md.kind = MCAMP_MECH_IDENTITY;
    md.n = 1;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &c, MCAMP_BATCH_BINS, 1, 5.0 / 256, 1e-5, &g),
                 MCAMP_OK);
    plan_parts(&p, &g);
    p.nd.mech = &c;
    p.nd.unit = MCAMP_NOISE_SUM;
    p.nd.batch = 0;
    p.nd.clip_norm = p.cd.norm = 256;   /* more than the gradient has: it is added as it is */
    p.nd.dim = p.cd.dim = BITS;
    p.bd.rounds = p.bd.examples = p.cd.max_examples = 1;
    CHECK_STATUS(mcamp_batch_init(&ctx, &p.bd, &p.batch), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_init(&ctx, &p.nd, &p.noise), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_init(&ctx, &p.cd, &p.clip), MCAMP_OK);
    d.guarantee = &g; d.batch = &p.batch; d.noise = &p.noise; d.clip = &p.clip;
    d.run = 1; d.arithmetic = how; d.sum = sum; d.grid_sum = grid_sum;
    CHECK_STATUS(mcamp_session_init(&ctx, &d, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, 1, &size), MCAMP_OK);
    for (size_t i = 0; i < BITS; i++) grad[i] = x;
    whole.d = grad;
    CHECK_STATUS(mcamp_session_add(&ctx, &s, 0, &whole, 1), MCAMP_OK);
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_OK);
    for (size_t i = 0; i < BITS; i++) {
        double units = ldexp(out[i], 53), steps = out[i] / p.noise.grid;
        hits += fabs(out[i]) < 0.25 && units <= floor(units);
        if (how == MCAMP_ARITHMETIC_DEFAULT) CHECK(steps <= floor(steps));
    }
    close_parts(&p);
    mcamp_mech_free(&ctx, &c);
    return hits;
}

/* A sum of 1 plus noise near -1 has the low bits of the noise, which numbers near 0 have
 * not: with the example 1 it is seen six times as often as with 0, where the law of the
 * noise lets it be e^0.05 times.  On the lattice it is seen as often.               */
TEST(low_bits_tell_nothing_unless_asked_for)
{
    size_t with, without;
    start();
    with = low_bits(MCAMP_ARITHMETIC_FLOATING, 1);
    without = low_bits(MCAMP_ARITHMETIC_FLOATING, 0);
    CHECK(without > 60 && with > 4 * without);
    with = low_bits(MCAMP_ARITHMETIC_DEFAULT, 1);
    without = low_bits(MCAMP_ARITHMETIC_DEFAULT, 0);
    CHECK(without > 500 && with < without + without / 4 && without < with + with / 4);
}

/* The library's grid: a power of two, about 2^-20 of the noise; coarser where noise or sums
 * need room, finer never; in the guarantee of the run.                            */
TEST(the_grid_is_fine_and_has_room)
{
    static const double growing[2] = { 1, 1.25 };
    mcamp_guarantee g;
    mcamp_mech_desc md;
    parts p;
    mcamp_session s;
    const mcamp_guarantee *run;
    int e;
    start();
    for (double sigma = 0.37; sigma < 1e9; sigma *= 177) {
        double noise = sigma * 0.5;
        CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, B, sigma, 1e-5,
                                                 &g), MCAMP_OK);
        plan_parts(&p, &g);
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        run = mcamp_session_guarantee(&s);
        CHECK(run->arithmetic == MCAMP_ARITHMETIC_LATTICE && frexp(run->grid, &e) <= 0.5);
        CHECK(run->grid <= ldexp(noise, -20) && run->grid > ldexp(noise, -22));
        CHECK_NEAR(p.noise.grid, run->grid, 0, 0);
        CHECK_NEAR(p.clip.grid, run->grid, 0, 0);
        close_parts(&p);
    }
    /* clipping norms far above the noise: sums */
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, B, ldexp(1, -22), 0.9,
                                             &g), MCAMP_OK);
    g.eps = 1e8;                /* it would be more; sessions take no more than 1e9 */
    plan_parts(&p, &g);
    p.cd.max_examples = UINT64_C(1) << 22;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    run = mcamp_session_guarantee(&s);
    CHECK_NEAR(run->grid, ldexp(1, -40), 0, 0);
    close_parts(&p);
    g.sigma = p.nd.sigma = ldexp(1, -45);       /* no grid up to the noise has room */
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "grid"));
    close_parts(&p);
    /* C^-1 that grows, here to 1.25^110: noise */
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_TOEPLITZ;
    md.n = 110;
    md.coef = growing;
    md.count = 2;
    {
        mcamp_mech c;
        double w[110], most = 0, sum = 0;
        CHECK_STATUS(mcamp_mech_init(&ctx, &md, &c), MCAMP_OK);
        CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &c, MCAMP_BATCH_BINS, B, 2, 1e-5, &g),
                     MCAMP_OK);
        for (int i = 0; i < 110; i++) { w[i] = pow(1.25, i); sum += w[i]; most = sum; }
        plan_parts(&p, &g);
        p.bd.rounds = 110;
        p.nd.mech = &c;
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        run = mcamp_session_guarantee(&s);
        CHECK(13.38 * most <= ldexp(run->grid, 50) && 13.38 * most > ldexp(run->grid, 49));
        close_parts(&p);
        mcamp_mech_free(&ctx, &c);
    }
    /* what is required and what is refused */
    {
        mcamp_session_desc d;
        plan_parts(&p, &verified);
        CHECK_STATUS(open_parts(&p, &verified, &s), MCAMP_OK);
        memset(&d, 0, sizeof d);
        d.guarantee = &verified; d.batch = &p.batch; d.noise = &p.noise; d.clip = &p.clip;
        d.sum = p.sum;
        CHECK_STATUS(mcamp_session_init(&ctx, &d, &s), MCAMP_E_REQUIRED);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "run"));
        d.run = 1;
        CHECK_STATUS(mcamp_session_init(&ctx, &d, &s), MCAMP_E_REQUIRED);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "grid_sum"));
        d.arithmetic = (mcamp_arithmetic)3;
        CHECK_STATUS(mcamp_session_init(&ctx, &d, &s), MCAMP_E_ARG);
        d.arithmetic = MCAMP_ARITHMETIC_DEFAULT;
        d.grid_sum = p.grid_sum;
        CHECK_STATUS(mcamp_session_init(&ctx, &d, NULL), MCAMP_E_REQUIRED);
        d.guarantee = NULL;
        CHECK_STATUS(mcamp_session_init(&ctx, &d, &s), MCAMP_E_REQUIRED);
        d.guarantee = &verified;
        d.start_canary = 1;
        CHECK_STATUS(mcamp_session_init(&ctx, &d, &s), MCAMP_E_CANARY);
        d.start_canary = 0;
        d.end_canary = 1;
        CHECK_STATUS(mcamp_session_init(&ctx, &d, &s), MCAMP_E_CANARY);
        d.end_canary = 0;
        for (int i = 0; i < 2; i++) {           /* noise that has been drawn */
            if (i) p.noise.step = 1; else p.noise.done = 1;
            CHECK_STATUS(mcamp_session_init(&ctx, &d, &s), MCAMP_E_STEP);
            p.noise.step = 0;
            p.noise.done = 0;
        }
        close_parts(&p);
        plan_parts(&p, &verified);
        plan_numbers(&p, 0);
        CHECK_STATUS(open_parts(&p, &verified, &s), MCAMP_OK);
        CHECK(mcamp_session_guarantee(&s)->arithmetic == MCAMP_ARITHMETIC_FLOATING);
        CHECK(!(mcamp_session_guarantee(&s)->grid > 0) && !mcamp_session_guarantee(NULL));
        d.sum = NULL; d.grid_sum = p.grid_sum; d.arithmetic = MCAMP_ARITHMETIC_FLOATING;
        CHECK_STATUS(mcamp_session_init(&ctx, &d, &s), MCAMP_E_REQUIRED);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "sum"));
        close_parts(&p);
    }
}

/* ---- keys of a run ------------------------------------------------------------------ */

typedef struct run_keys { uint32_t noise[24], batch[16]; double z[D]; } run_keys;

static void keys_of(parts *p, const mcamp_guarantee *g, run_keys *k)
{
    mcamp_session s;
    CHECK_STATUS(open_parts(p, g, &s), MCAMP_OK);
    memcpy(k->noise, p->noise.keys, sizeof k->noise);
    memcpy(k->batch, p->batch.keys, sizeof k->batch);
    mcamp__stream_normals(ctx.vec, mcamp__noise_stream(&p->noise), 0, 0, D, k->z);
    close_parts(p);
}

/* One key for runs that differ in one number, whichever, and for a stream without a
 * session: no two of all their streams are alike, nor two of one run.             */
TEST(no_two_runs_of_a_key_share_a_stream)
{
    enum { RUNS = 16 };
    static run_keys k[RUNS + 1];
    mcamp_guarantee base, g;
    mcamp_key key;
    mcamp_mech other;
    parts p;
    size_t streams = 0;
    static uint32_t all[5 * RUNS + 8][8];
    start();
    other = make(MCAMP_MECH_SQRT, 2);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, B, 5, 1e-5, &base),
                 MCAMP_OK);
    for (int i = 0; i < RUNS; i++) {
        g = base;
        if (i == 1 || i == 2)
            CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, i == 1 ? &mech : &other,
                                                     MCAMP_BATCH_BINS, B, i == 1 ? 50 : 5, 1e-5,
                                                     &g), MCAMP_OK);
        if (i == 3)
            CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_SHUFFLE, B, 5, 1e-5,
                                                     &g), MCAMP_OK);
        plan_parts(&p, &g);
        if (i == 2) p.nd.mech = &other;
        if (i == 4) p.run = 2;
        if (i == 5) p.bd.examples = M - 1;
        if (i == 6) g.limit = p.bd.limit = 20;
        if (i == 7) p.nd.clip_norm = p.cd.norm = 0.25;
        if (i == 8) p.nd.grid = p.cd.grid = ldexp(1, -16);
        if (i == 9) p.arithmetic = MCAMP_ARITHMETIC_FLOATING;
        if (i == 10) p.nd.dim = p.cd.dim = D - 1;
        if (i == 11) p.nd.batch = 11;
        if (i == 12) p.cd.max_examples = M + 1;
        if (i == 13) p.nd.type = MCAMP_NOISE_FLOAT;
        if (i == 14) { mcamp_key_insecure_test(6, &key); p.bd.key = p.nd.key = key; }
        if (i == 15) { p.nd.unit = MCAMP_NOISE_SUM; p.nd.batch = 0; }
        keys_of(&p, &g, &k[i]);
        for (int j = 0; j < 5; j++)
            memcpy(all[streams++], j < 3 ? k[i].noise + 8 * j : k[i].batch + 8 * (j - 3), 32);
        for (int j = 0; j < i; j++)
            for (int c = 0; c < D; c++)
                CHECK(fabs(k[i].z[c] - k[j].z[c]) > 1e-9 && fabs(k[i].z[c] + k[j].z[c]) > 1e-9);
    }
    plan_parts(&p, &base);              /* streams that belong to no session */
    CHECK_STATUS(mcamp_noise_init(&ctx, &p.nd, &p.noise), MCAMP_OK);
    CHECK_STATUS(mcamp_batch_init(&ctx, &p.bd, &p.batch), MCAMP_OK);
    for (int j = 0; j < 4; j++) memcpy(all[streams++], p.noise.keys + 8 * j, 32);
    for (int j = 0; j < 2; j++) memcpy(all[streams++], p.batch.keys + 8 * j, 32);
    close_parts(&p);
    for (size_t i = 0; i < streams; i++)
        for (size_t j = 0; j < i; j++) CHECK(memcmp(all[i], all[j], 32) != 0);
    plan_parts(&p, &base);              /* the same run has them once more */
    keys_of(&p, &base, &k[RUNS]);
    CHECK(!memcmp(&k[RUNS], &k[0], sizeof k[0]));
    mcamp_mech_free(&ctx, &other);
}

/* ---- saved runs --------------------------------------------------------------------- */

/* Every length but the right one, every bit; of both kinds of rows. */
TEST(no_changed_state_of_a_run_is_loaded)
{
    start();
    for (int type = 1; type <= 2; type++) {
        static unsigned char blob[8192];
        mcamp_guarantee g = verified;
        mcamp_session s, r;
        mcamp_batch_size drawn;
        double out[D], want[D];
        size_t size = 0, index[M];
        parts p, q;
        plan_parts(&p, &g);
        p.nd.type = (mcamp_noise_type)type;
        q = p;
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        CHECK_STATUS(open_parts(&q, &g, &r), MCAMP_OK);
        for (uint64_t t = 0; t < 3; t++) one_round(&s, t, out);
        CHECK_STATUS(mcamp_session_save(&ctx, &s, NULL, 0, &size), MCAMP_OK);
        CHECK_STATUS(mcamp_session_save(&ctx, &s, blob, size - 1, &size), MCAMP_E_SIZE);
        CHECK_STATUS(mcamp_session_save(&ctx, &s, blob, sizeof blob, NULL), MCAMP_E_REQUIRED);
        CHECK_STATUS(mcamp_session_save(&ctx, &s, blob, size, &size), MCAMP_OK);
        one_round(&s, 3, want);
        for (size_t len = 0; len < size + 9; len++)
            if (len != size) CHECK_STATUS(mcamp_session_load(&ctx, &r, blob, len), MCAMP_E_BLOB);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            blob[bit / 8] ^= (unsigned char)(1 << bit % 8);
            CHECK(mcamp_session_load(&ctx, &r, blob, size) < 0);
            blob[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        CHECK(mcamp_noise_step(&q.noise) == 0);
        CHECK_STATUS(mcamp_session_load(&ctx, &r, NULL, size), MCAMP_E_REQUIRED);
        CHECK_STATUS(mcamp_session_begin(&ctx, &r, 0, index, M, &drawn), MCAMP_OK);
        CHECK_STATUS(mcamp_session_load(&ctx, &r, blob, size), MCAMP_OK);
        one_round(&r, 3, out);
        CHECK(!memcmp(out, want, sizeof out));
        CHECK_STATUS(mcamp_session_load(&ctx, &r, blob, size), MCAMP_E_STEP);   /* back */
        close_parts(&p);
        close_parts(&q);
    }
}

/* A run that differs in anything gets nothing of it, and hears why. */
TEST(states_of_another_run_are_refused_by_name)
{
    static unsigned char blob[8192];
    mcamp_guarantee base, g;
    mcamp_session s, r;
    size_t size = 0;
    double out[D];
    parts p, q;
    start();
    base = verified;
    plan_parts(&p, &base);
    CHECK_STATUS(open_parts(&p, &base, &s), MCAMP_OK);
    one_round(&s, 0, out);
    CHECK_STATUS(mcamp_session_save(&ctx, &s, blob, sizeof blob, &size), MCAMP_OK);
#define OTHER(change, name) \
    do { g = base; plan_parts(&q, &g); change; \
         CHECK_STATUS(open_parts(&q, &g, &r), MCAMP_OK); \
         CHECK_STATUS(mcamp_session_load(&ctx, &r, blob, size), MCAMP_E_MISMATCH); \
         CHECK(!strcmp(mcamp_last_error(&ctx).argument, name)); \
         CHECK(mcamp_noise_step(&q.noise) == 0); close_parts(&q); } while (0)
    OTHER(q.run = 2, "run");
    OTHER(g.eps *= 1.5, "eps");
    OTHER(g.delta *= 2, "delta");
    OTHER(g.beta /= 2, "beta");
    OTHER(q.bd.examples = M + 1, "examples");
    OTHER((g.limit = q.bd.limit = 30), "limit");
    OTHER(q.nd.clip_norm = q.cd.norm = 0.25, "clip_norm");
    OTHER(q.nd.grid = q.cd.grid = ldexp(1, -16), "grid");
    OTHER((q.nd.unit = MCAMP_NOISE_SUM, q.nd.batch = 0), "unit");
    OTHER(q.nd.batch = 11, "batch");
    OTHER(q.nd.dim = q.cd.dim = D - 1, "dim");
    OTHER(q.nd.type = MCAMP_NOISE_FLOAT, "type");
    OTHER(q.cd.max_examples = M + 1, "max_examples");
    OTHER(q.cd.zero_bad = true, "zero_bad");
    OTHER((mcamp_key_insecure_test(6, &q.bd.key), q.nd.key = q.bd.key), "key");
    OTHER(q.arithmetic = MCAMP_ARITHMETIC_FLOATING, "grid");
#undef OTHER
    plan_parts(&q, &base);
    q.nd.store = MCAMP_NOISE_REGENERATED;       /* another length */
    CHECK_STATUS(open_parts(&q, &base, &r), MCAMP_OK);
    CHECK_STATUS(mcamp_session_load(&ctx, &r, blob, size), MCAMP_E_BLOB);
    close_parts(&q);
    close_parts(&p);
}

/* ---- the ledger --------------------------------------------------------------------- */

typedef struct memory_ledger {
    mcamp_ledger_entry last;
    int calls, refuse;
} memory_ledger;

static int remember(void *user, const mcamp_ledger_entry *e)
{
    memory_ledger *m = (memory_ledger *)user;
    m->calls++;
    m->last = *e;
    return m->refuse;
}

/* Nothing is released before the ledger has it; after that, the same as without one. */
TEST(a_ledger_is_asked_before_each_release)
{
    start();
    for (int how = 0; how <= 2; how++) {
        memory_ledger book = { { 0, 0, { 0 } }, 0, 0 };
        mcamp_guarantee g = verified;
        mcamp_session s;
        mcamp_batch_size size;
        mcamp_ledger_entry first;
        size_t index[M], bytes;
        double out[D], want[2][D];
        parts p;
        plan_parts(&p, &g);
        plan_numbers(&p, how);
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        CHECK(!mcamp_session_guarantee(&s)->ledger);
        for (uint64_t t = 0; t < 2; t++) one_round(&s, t, want[t]);
        close_parts(&p);
        p.ledger.record = remember;
        p.ledger.user = &book;
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        CHECK(mcamp_session_guarantee(&s)->ledger && mcamp_session_guarantee(&s)->run == 1);
        CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
        add_all(&s, 0, index, size.kept - 1);
        paint(out);
        CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_MISMATCH);
        CHECK(book.calls == 0);         /* not a round to be released */
        add_all(&s, 0, index + size.kept - 1, 1);
        for (book.refuse = 1; book.refuse < 4; book.refuse++) {
            CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_LEDGER);
            CHECK(painted(out) && book.calls == book.refuse);
            CHECK(book.last.run == 1 && book.last.round == 0);
            if (book.refuse == 1) first = book.last;
            CHECK(!memcmp(first.digest, book.last.digest, sizeof first.digest));
            CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_E_STEP);
            CHECK_STATUS(mcamp_session_begin(&ctx, &s, 1, index, M, &size), MCAMP_E_STEP);
            CHECK_STATUS(mcamp_session_skip(&ctx, &s, index[0]), MCAMP_E_STEP);
            CHECK_STATUS(mcamp_session_save(&ctx, &s, NULL, 0, &bytes), MCAMP_E_STEP);
            CHECK_STATUS(mcamp_session_end(&ctx, &s, NULL), MCAMP_E_REQUIRED);
        }
        book.refuse = 0;
        for (int i = 0; i < D; i += D - 1) {    /* what waits is not what was asked for */
            const double kept = p.sum[i];
            const int64_t kept_grid = p.grid_sum[i];
            p.sum[i] += 1;
            p.grid_sum[i] = 0;
            CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_MISMATCH);
            CHECK(painted(out) && book.calls == 3);
            p.sum[i] = kept;
            p.grid_sum[i] = kept_grid;
        }
        CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_OK);
        CHECK(!memcmp(out, want[0], sizeof out));
        one_round(&s, 1, out);
        CHECK(!memcmp(out, want[1], sizeof out) && book.last.round == 1);
        CHECK(memcmp(first.digest, book.last.digest, sizeof first.digest) != 0);
        close_parts(&p);
    }
}

/* A ledger that goes on with the session instead of answering. */
static int meddle(void *user, const mcamp_ledger_entry *e)
{
    mcamp_session *s = (mcamp_session *)user;
    mcamp_batch_size size = { 0, 0 };
    size_t index[M], bytes;
    double out[D];
    CHECK_STATUS(mcamp_session_end(&ctx, s, out), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_session_begin(&ctx, s, e->round, index, M, &size), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_session_begin(&ctx, s, e->round + 1, index, M, &size), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_session_skip(&ctx, s, 0), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_session_share(&ctx, s, NULL, 0, &bytes), MCAMP_E_STEP);
    CHECK_STATUS(mcamp_session_save(&ctx, s, NULL, 0, &bytes), MCAMP_E_STEP);
    return 0;
}

TEST(a_session_is_closed_while_its_ledger_is_asked)
{
    mcamp_guarantee g = verified;
    mcamp_session s;
    double want[D], out[D];
    parts p;
    start();
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    one_round(&s, 0, want);
    close_parts(&p);
    p.ledger.record = meddle;
    p.ledger.user = &s;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    one_round(&s, 0, out);
    CHECK(!memcmp(out, want, sizeof out));
    close_parts(&p);
}

typedef struct mover {
    mcamp_session *session;
    unsigned char blob[8192];
    size_t size;
    int wait;
} mover;

/* A ledger that moves the session on to a later state, and then agrees. */
static int move_on(void *user, const mcamp_ledger_entry *e)
{
    mover *b = (mover *)user;
    (void)e;
    if (b->wait) return 0;
    CHECK_STATUS(mcamp_session_load(&ctx, b->session, b->blob, b->size), MCAMP_OK);
    return 0;
}

TEST(a_round_that_its_ledger_moved_on_from_is_not_released)
{
    mcamp_guarantee g = verified;
    static mover on;
    mcamp_session s;
    mcamp_batch_size size = { 0, 0 };
    size_t index[M];
    double want[D], out[D], x[D];
    mcamp_tensor piece = { NULL, NULL, D };
    parts p;
    start();
    plan_parts(&p, &g);
    piece.d = x;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    one_round(&s, 0, want);
    one_round(&s, 1, want);
    CHECK_STATUS(mcamp_session_save(&ctx, &s, on.blob, sizeof on.blob, &on.size), MCAMP_OK);
    one_round(&s, 2, want);
    close_parts(&p);
    p.ledger.record = move_on;
    p.ledger.user = &on;
    on.session = &s;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, index, M, &size), MCAMP_OK);
    for (size_t i = 0; i < size.kept; i++) {
        gradient(index[i], 0, x);
        CHECK_STATUS(mcamp_session_add(&ctx, &s, index[i], &piece, 1), MCAMP_OK);
    }
    for (size_t i = 0; i < D; i++) out[i] = 7;
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_LEDGER);
    for (size_t i = 0; i < D; i++) CHECK_NEAR(out[i], 7, 0, 0);
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_STEP);
    on.wait = 1;
    one_round(&s, 2, out);
    CHECK(!memcmp(out, want, sizeof out));
    close_parts(&p);
}

/* A changed C is noticed at the round's beginning, unless looking would cost more than the
 * round: then only when the session is saved, loaded or begun.                          */
TEST(a_large_c_is_not_looked_at_every_round)
{
    static double coef[(1 << 14) + 1];
    mcamp_session s;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_mech c;
    memset(&s, 0, sizeof s);
    memset(&noise, 0, sizeof noise);
    memset(&clip, 0, sizeof clip);
    memset(&c, 0, sizeof c);
    s.noise = &noise; s.clip = &clip; noise.mech = &c;
    c.coef = coef;
    for (int i = 0; i < 8; i++) {
        int many = i & 1, longer = i >> 1 & 1;
        c.count = ((size_t)1 << 14) + (size_t)many;
        c.n = ((size_t)1 << 14) + (size_t)longer;
        clip.dim = ((size_t)1 << 14) + (size_t)(i >> 2);
        coef[5] = 0;
        noise.digest = mcamp__mech_hash(&c);
        CHECK(!mcamp__session_stale(&s));
        coef[5] = 1;
        CHECK(mcamp__session_stale(&s) == ((!many && !longer) || i >> 2));
    }
}

/* Batches get keys of their session: another one on them would draw anew in the middle. */
TEST(batches_have_one_session)
{
    mcamp_guarantee g = verified;
    mcamp_session s, r, u;
    mcamp_session_desc d;
    mcamp_batch_size size = { 0, 0 };
    size_t index[M];
    double out[D];
    parts p, q;
    start();
    plan_parts(&p, &g);
    plan_parts(&q, &g);
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_STATUS(open_parts(&q, &g, &r), MCAMP_OK);
    one_round(&s, 0, out);
    memset(&d, 0, sizeof d);
    d.guarantee = &g;
    d.batch = &p.batch;
    d.noise = &q.noise;
    d.clip = &q.clip;
    d.run = 2;
    d.grid_sum = q.grid_sum;
    CHECK_STATUS(mcamp_session_init(&ctx, &d, &u), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 1, index, M, &size), MCAMP_E_MISMATCH);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "session"));
    CHECK_STATUS(mcamp_session_begin(&ctx, &r, 0, index, M, &size), MCAMP_E_MISMATCH);
    one_round(&u, 0, out);
    close_parts(&p);
    close_parts(&q);
}

#if defined(__unix__) || defined(__APPLE__)

/* Gradients of another data set, or of the same. */
static mcamp_status variant_round(mcamp_session *s, uint64_t t, int variant, double *out)
{
    size_t index[M];
    mcamp_batch_size size = { 0, 0 };
    double g[D];
    mcamp_tensor piece = { NULL, NULL, D };
    piece.d = g;
    CHECK_STATUS(mcamp_session_begin(&ctx, s, t, index, M, &size), MCAMP_OK);
    for (size_t i = 0; i < size.kept; i++) {
        gradient(index[i] + 1000 * (size_t)variant, t, g);
        CHECK_STATUS(mcamp_session_add(&ctx, s, index[i], &piece, 1), MCAMP_OK);
    }
    return mcamp_session_end(&ctx, s, out);
}

static const char *temporary(const char *what)
{
    static char name[4][200];
    static int at;
    const char *dir = getenv("TMPDIR");
    at = (at + 1) % 4;
    snprintf(name[at], sizeof name[at], "%s/mcamp_%s.%ld", dir ? dir : "/tmp", what,
             (long)getpid());
    return name[at];
}

/* Restart, rollback, fork, a copy of everything: with other data they are refused, with the
 * same they give the same bits; a ledger that was taken back or cut, or of another run,
 * accepts nothing.                                                                  */
TEST(a_ledger_on_disk_lets_no_round_go_twice)
{
    static unsigned char blob[8192];
    const char *path = temporary("ledger");
    mcamp_guarantee g;
    mcamp_session s, r;
    parts p, q;
    ledger_file book, again;
    double out[D], want[4][D];
    size_t size = 0;
    start();
    g = verified;
    remove(path);
    CHECK(!ledger_open(&book, path) && !ledger_open(&again, path));
    plan_parts(&p, &g);
    p.ledger.record = ledger_record;
    p.ledger.user = &book;
    q = p;
    q.ledger.user = &again;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    for (uint64_t t = 0; t < 4; t++) {
        if (t == 2)
            CHECK_STATUS(mcamp_session_save(&ctx, &s, blob, sizeof blob, &size), MCAMP_OK);
        CHECK_STATUS(variant_round(&s, t, 0, want[t]), MCAMP_OK);
    }
    for (int variant = 1; variant >= 0; variant--) {
        for (uint64_t from = 0; from <= 2; from += 2) {     /* restart; rollback */
            mcamp_status st = MCAMP_OK;
            CHECK_STATUS(open_parts(&q, &g, &r), MCAMP_OK);
            if (from) CHECK_STATUS(mcamp_session_load(&ctx, &r, blob, size), MCAMP_OK);
            for (uint64_t t = from; t < 4 && st == MCAMP_OK; t++) {
                paint(out);
                st = variant_round(&r, t, variant, out);
                if (variant) CHECK(st == MCAMP_E_LEDGER && painted(out));
                else CHECK(st == MCAMP_OK && !memcmp(out, want[t], sizeof out));
            }
            if (variant || !from) close_parts(&q);
        }
    }
    /* q has gone on from the copy as far as p: who is second is refused */
    CHECK_STATUS(variant_round(&r, 4, 0, out), MCAMP_OK);
    paint(out);
    CHECK_STATUS(variant_round(&s, 4, 1, out), MCAMP_E_LEDGER);
    CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_E_LEDGER);
    CHECK(painted(out));
    /* a line that was cut short; lines that are missing; another run in the file */
    CHECK(ftruncate(book.fd, 5 * LEDGER_LINE + 40) == 0);
    CHECK_STATUS(variant_round(&r, 5, 0, out), MCAMP_OK);
    CHECK(lseek(book.fd, 0, SEEK_END) == 6 * LEDGER_LINE);
    CHECK(ftruncate(book.fd, 5 * LEDGER_LINE) == 0);
    paint(out);
    CHECK_STATUS(variant_round(&r, 6, 0, out), MCAMP_E_LEDGER);
    CHECK(painted(out));
    close_parts(&p);
    close_parts(&q);
    CHECK(ftruncate(book.fd, LEDGER_LINE) == 0);
    p.run = 2;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_STATUS(variant_round(&s, 0, 0, out), MCAMP_E_LEDGER);
    close_parts(&p);
    ledger_close(&book);
    p.run = 1;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_STATUS(variant_round(&s, 0, 0, out), MCAMP_E_LEDGER);    /* closed */
    close_parts(&p);
    ledger_close(&again);
    remove(path);
}

/* More of them, and the same without a ledger: tests/stat/kills.c. */
TEST(killed_at_any_time_no_round_has_two_releases)
{
    start();
    CHECK(kill_loop(&ctx, mt_scale(80), 3000000, 1, 1).differ == 0);
}
#else
TEST(killed_at_any_time_no_round_has_two_releases) { start(); }
TEST(a_ledger_on_disk_lets_no_round_go_twice) { start(); }
#endif

/* ---- the statement ---------------------------------------------------------------- */

static int collect(void *user, const char *text, size_t n)
{
    char *out = (char *)user;
    size_t have = strlen(out);
    if (have + n + 1 > 8000) return 1;
    memcpy(out + have, text, n);
    out[have + n] = 0;
    return 0;
}

static int refuse(void *user, const char *text, size_t n)
{
    (void)user; (void)text; (void)n;
    return 1;
}

TEST(statements_name_what_they_rest_on)
{
    mcamp_guarantee g[3];
    parts p;
    mcamp_session s;
    mcamp_writer w;
    char text[8000];
    static const char *const basis[3] = { "Monte Carlo with a proof", "Poisson-sampled",
                                          "nothing gained from sampling" };
    static const char *const law[3] = { "balls in bins", "cyclic Poisson",
                                        "not amplified" };
    start();
    g[0] = verified;
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0.2, 1.5, 1e-5, &g[1]), MCAMP_OK);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_SHUFFLE, B, 2, 1e-3,
                                             &g[2]), MCAMP_OK);
    w.write = collect;
    w.user = text;
    for (int i = 0; i < 3; i++) {
        plan_parts(&p, &g[i]);
        if (i == 1) p.arithmetic = MCAMP_ARITHMETIC_FLOATING;
        if (i == 2) p.bd.limit = 10;
        CHECK_STATUS(open_parts(&p, &g[i], &s), MCAMP_OK);
        text[0] = 0;
        CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_LEGAL, &w), MCAMP_OK);
        CHECK(strstr(text, basis[i]) && strstr(text, law[i]));
        CHECK(strstr(text, "Setting: central") && strstr(text, "Unit: one example"));
        CHECK((strstr(text, "lattice; integer sums") != NULL) == (i != 1));
        CHECK((strstr(text, "holds up to rounding only") != NULL) == (i == 1));
        CHECK(strstr(text, "No ledger: that each round is released once") != NULL);
        CHECK((strstr(text, "add or remove") != NULL) == (i != 2));
        CHECK((strstr(text, "-zCDP") != NULL) == (i == 2));
        CHECK((strstr(text, "attacks on shuffled batches") != NULL) == (i == 2));
        {   /* every item of [2], appendix K.1, in its order */
            static const char *const item[] = { "1. Setting", "2. Definition", "(a) Data covered",
                "(b) Output", "(c) Unit", "(d) Adjacency", "3. Accounting", "(a) Type",
                "(b) Assumptions", "(c) Statement", "(d) Verifiability" };
            const char *at = text;
            for (size_t k = 0; k < sizeof item / sizeof item[0]; k++) {
                const char *next = strstr(at, item[k]);
                CHECK(next != NULL);
                if (next) at = next;
            }
        }
        text[0] = 0;
        CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_JSON, &w), MCAMP_OK);
        CHECK(text[0] == '{' && strstr(text, "\"epsilon\": ") && strstr(text, law[i]));
        CHECK((strstr(text, "floating point, up to rounding: not covered") != NULL) == (i == 1));
        CHECK(strstr(text, "\"ledger\": \"none\"") && strstr(text, "\"run\": 1"));
        text[0] = 0;
        CHECK_STATUS(mcamp_report_guarantee(mcamp_session_guarantee(&s), MCAMP_REPORT_TEXT, &w),
                     MCAMP_OK);
        CHECK((strstr(text, "up to rounding; that low bits may tell more") != NULL) == (i == 1));
        CHECK(strstr(text, "No ledger: that each round is released once is up to who") != NULL);
        text[0] = 0;
        CHECK_STATUS(mcamp_report_guarantee(&g[i], MCAMP_REPORT_TEXT, &w), MCAMP_OK);
        CHECK(!strstr(text, "rounding") && !strstr(text, "ledger"));
        text[0] = 0;
        CHECK_STATUS(mcamp_report_guarantee(&g[i], MCAMP_REPORT_JSON, &w), MCAMP_OK);
        CHECK(!strstr(text, "rounding") && !strstr(text, "ledger"));
        CHECK_STATUS(mcamp_report_session(NULL, MCAMP_REPORT_JSON, &w), MCAMP_E_REQUIRED);
        CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_LEGAL, NULL), MCAMP_E_REQUIRED);
        close_parts(&p);
    }
    for (int how = 0; how < 3; how++) {     /* where no bound on rounding is known, and why */
        mcamp_guarantee h = g[2];
        plan_parts(&p, &h);
        if (how >= 1) p.nd.store = MCAMP_NOISE_REGENERATED;
        if (how == 2) h.eps = 60;
        CHECK_STATUS(open_parts(&p, &h, &s), MCAMP_OK);
        CHECK(mcamp__finite(s.guarantee.delta_num) == (how < 2));
        text[0] = 0;
        CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_LEGAL, &w), MCAMP_OK);
        CHECK((strstr(text, "differ from ideal noise is covered") != NULL) == (how < 2));
        CHECK((strstr(text, "about ideal\n") != NULL) == (how == 2));
        CHECK((strstr(text, "exceeds all of delta") != NULL) == (how == 2));
        text[0] = 0;
        CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_JSON, &w), MCAMP_OK);
        CHECK((strstr(text, "lattice, ideal arithmetic") != NULL) == (how == 2));
        close_parts(&p);
    }
    /* without amplification: laws under which an example moves others, or a cut does */
    for (int l = 1; l <= 5; l++) {
        for (int cut = 0; cut <= 1; cut++) {
            CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, (mcamp_batch_law)l, B, 2,
                                                     1e-3, &g[2]), MCAMP_OK);
            plan_parts(&p, &g[2]);
            p.bd.q = l == MCAMP_BATCH_POISSON || l == MCAMP_BATCH_MINSEP ? 0.25 : 0;
            p.bd.size = l == MCAMP_BATCH_FIXED ? 5 : 0;
            p.bd.limit = cut ? 8 : 0;
            CHECK_STATUS(open_parts(&p, &g[2], &s), MCAMP_OK);
            text[0] = 0;
            CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_LEGAL, &w), MCAMP_OK);
            CHECK((strstr(text, "add or remove") != NULL) ==
                  (!cut && l != MCAMP_BATCH_FIXED && l != MCAMP_BATCH_SHUFFLE));
            CHECK((strstr(text, "no smaller epsilon") != NULL) == (l == MCAMP_BATCH_SHUFFLE));
            close_parts(&p);
        }
    }
    plan_parts(&p, &g[0]);
    CHECK_STATUS(open_parts(&p, &g[0], &s), MCAMP_OK);
    w.write = refuse;
    CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_JSON, &w), MCAMP_Q_INTERRUPTED);
    CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_LEGAL, &w), MCAMP_Q_INTERRUPTED);
    close_parts(&p);
    memset(&s, 0, sizeof s);
    CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_JSON, &w), MCAMP_E_ARG);
}

static mcamp_status guarantee_work(mcamp_ctx *c, void *user)
{
    mcamp_guarantee g;
    mcamp_status st = MCAMP_OK;
    (void)user;
    if (st == MCAMP_OK) st = mcamp_guarantee_poisson(c, &mech, 4, 0.2, 3, 1e-5, &g);
    if (st == MCAMP_OK)
        st = mcamp_guarantee_unamplified(c, &mech, MCAMP_BATCH_MINSEP, 4, 3, 1e-5, &g);
    return st;
}

/* On the library's grid, which is looked for with memory. */
static mcamp_status session_work(mcamp_ctx *c, void *user)
{
    parts p;
    mcamp_session_desc d;
    mcamp_session s;
    mcamp_status st;
    plan_parts(&p, (const mcamp_guarantee *)user);
    memset(&d, 0, sizeof d);
    d.guarantee = (const mcamp_guarantee *)user;
    d.batch = &p.batch; d.noise = &p.noise; d.clip = &p.clip;
    d.run = 1;
    d.grid_sum = p.grid_sum;
    st = mcamp_batch_init(c, &p.bd, &p.batch);
    if (st < 0) return st;
    st = mcamp_noise_init(c, &p.nd, &p.noise);
    if (st >= 0) {
        st = mcamp_clip_init(c, &p.cd, &p.clip);
        if (st >= 0) st = mcamp_session_init(c, &d, &s);
        CHECK((st == MCAMP_OK) == (p.noise.user != NULL));
        mcamp_noise_free(c, &p.noise);
    }
    mcamp_batch_free(c, &p.batch);
    return st;
}

TEST(failed_allocations_leave_nothing_behind)
{
    start();
    CHECK(mt_all_faults("session", session_work, &verified) > 4);
    CHECK(mt_all_faults("guarantee", guarantee_work, NULL) > 2);
    mcamp_mech_free(&ctx, &mech);
}

/* A round that was begun leaves nothing behind for the one that is loaded. */
TEST(members_of_a_round_that_was_left_are_strangers)
{
    static unsigned char blob[8192];
    parts p, q;
    mcamp_session s, t;
    mcamp_batch_size size = { 0, 0 };
    size_t first[M], second[M], bytes = 0, n;
    double out[D], zero[D] = { 0 };
    mcamp_tensor piece = { NULL, NULL, D };
    start();
    piece.d = zero;
    plan_parts(&p, &verified);
    plan_parts(&q, &verified);
    CHECK_STATUS(open_parts(&p, &verified, &s), MCAMP_OK);
    CHECK_STATUS(open_parts(&q, &verified, &t), MCAMP_OK);
    one_round(&t, 0, out);
    CHECK_STATUS(mcamp_session_save(&ctx, &t, blob, sizeof blob, &bytes), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 0, first, M, &size), MCAMP_OK);
    n = size.kept;
    CHECK_STATUS(mcamp_session_load(&ctx, &s, blob, bytes), MCAMP_OK);
    CHECK_STATUS(mcamp_session_begin(&ctx, &s, 1, second, M, &size), MCAMP_OK);
    CHECK(n > 0);
    for (size_t i = 0; i < n; i++)
        CHECK_STATUS(mcamp_session_add(&ctx, &s, first[i], &piece, 1), MCAMP_E_MISMATCH);
    close_parts(&p);
    close_parts(&q);
}

/* sum of (lo x + lo k mod 2^32)(hi x + hi k mod 2^32) over 128 words, four times with keys of
 * their own, then BLAKE2b; x: the coordinates from `first` on, zeros behind them.  */
static void digest_by_hand(const mcamp_session *s, const int64_t *sum, size_t first, size_t count,
                           unsigned char out[32])
{
    uint64_t w[31];
    uint32_t key[8], pairs[8];
    mcamp__blake h;
    mcamp__run_words(s, w);
    mcamp__bound_key(s->noise->keys + 24, 10, w, 31, key);
    mcamp__bound_key(s->noise->keys + 24, 12, w, 31, pairs);
    mcamp__blake_start(&h, key, 32);
    mcamp__blake_word(&h, s->round);
    mcamp__blake_word(&h, first);
    mcamp__blake_word(&h, count);
    for (size_t at = 0; at < count; at += 128) {
        for (uint64_t k = 0; k < 4; k++) {
            uint64_t all = 0;
            for (uint64_t i = 0; i < 128; i++) {
                uint64_t x = at + i < count ? (uint64_t)sum[first + at + i] : 0;
                uint64_t y = mcamp__one_word(pairs, s->round, 128 * k + i);
                all += (uint64_t)((uint32_t)x + (uint32_t)y) *
                       ((uint32_t)(x >> 32) + (uint32_t)(y >> 32));
            }
            mcamp__blake_word(&h, all);
        }
    }
    mcamp__blake_end(&h, out, 32);
}

/* The digest is the keyed hash of round and coordinates, each of which changes it. */
TEST(every_bit_of_a_release_is_in_its_entry)
{
    enum { MANY = 300 };
    static const size_t counts[4] = { 1, 128, 129, 293 };
    parts p;
    mcamp_session s;
    mcamp_ledger_entry e, other;
    int64_t sum[MANY], *own;
    unsigned char digest[sizeof e.digest];
    uint64_t seed = 3;
    start();
    plan_parts(&p, &verified);
    CHECK_STATUS(open_parts(&p, &verified, &s), MCAMP_OK);
    own = s.grid_sum;
    s.grid_sum = sum;
    s.round = 2;
    for (size_t c = 0; c < 4; c++) {
        for (int i = 0; i < MANY; i++) sum[i] = (int64_t)mcamp__splitmix(&seed);
        s.noise->count = counts[c];
        s.noise->first = c == 3 ? 7 : 0;
        digest_by_hand(&s, sum, c == 3 ? 7 : 0, counts[c], digest);
        for (int v = MCAMP_VEC_SCALAR; v <= MCAMP_VEC_AVX512; v++) {
            if (!mcamp__vecset_available((mcamp_vecset)v)) continue;
            mcamp__session_entry((mcamp_vecset)v, &s, &e);
            CHECK(!memcmp(digest, e.digest, sizeof digest) && e.round == 2 && e.run == 1);
        }
    }
    for (int i = 0; i <= MANY; i++) {
        const int in = i >= 7;
        int64_t bit = i < MANY ? (int64_t)(UINT64_C(1) << (7 * i % 64)) : 0;
        if (i < MANY) sum[i] ^= bit; else s.round = 3;
        mcamp__session_entry(ctx.vec, &s, &other);
        CHECK(!memcmp(other.digest, e.digest, sizeof digest) == !in);
        if (i < MANY) sum[i] ^= bit;
    }
    s.grid_sum = own;
    s.noise->count = D;
    s.noise->first = 0;
    close_parts(&p);
}

/* Of the noise and of the largest sum, whatever the number of examples. */
TEST(grids_hold_what_is_added_on_them)
{
    parts p;
    mcamp_session s;
    start();
    plan_parts(&p, &verified);
    CHECK_STATUS(open_parts(&p, &verified, &s), MCAMP_OK);
    for (int bits = 1; bits < 64; bits += 2) {
        double grid = 0;
        mcamp_clip c = p.clip;
        mcamp_status st;
        c.max_examples = UINT64_C(1) << bits;
        st = mcamp__session_grid(&ctx, &p.noise, &c, &grid);
        CHECK(st == (bits < 61 ? MCAMP_OK : MCAMP_E_MISMATCH) || bits > 55);
        if (st == MCAMP_OK) CHECK_LE(c.norm / grid * (double)c.max_examples, ldexp(1, 61));
    }
    close_parts(&p);
}

/* The members of all rounds of this run: a bit for each round; with q of 1 in the laws with
 * coins, so that only bins, groups and places differ.                               */
static void members_of_run(const mcamp_guarantee *g, uint64_t run, bool scan, unsigned mask[M])
{
    parts p;
    mcamp_session s;
    mcamp_batch_size size;
    size_t index[M];
    plan_parts(&p, g);
    p.run = run;
    p.bd.scan = scan;
    p.bd.q = g->law == MCAMP_BATCH_POISSON ? 1 : 0;
    memset(mask, 0, M * sizeof *mask);
    CHECK_STATUS(open_parts(&p, g, &s), MCAMP_OK);
    for (uint64_t t = 0; t < N; t++) {
        CHECK_STATUS(mcamp_session_begin(&ctx, &s, t, index, M, &size), MCAMP_OK);
        for (size_t i = 0; i < size.kept; i++) mask[index[i]] |= 1u << t;
        add_all(&s, t, index, size.kept);
        {
            double out[D];
            CHECK_STATUS(mcamp_session_end(&ctx, &s, out), MCAMP_OK);
        }
    }
    close_parts(&p);
}

/* Who has seen the batches of one run of a key knows nothing of those of another. */
TEST(batches_are_drawn_anew_for_each_run)
{
    static const mcamp_batch_law law[3] = { MCAMP_BATCH_BINS, MCAMP_BATCH_POISSON,
                                            MCAMP_BATCH_SHUFFLE };
    unsigned one[M], two[M];
    start();
    for (int i = 0; i < 3; i++) {
        mcamp_guarantee g;
        size_t same = 0;
        CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, law[i], B, 3, 1e-5, &g), MCAMP_OK);
        members_of_run(&g, 1, false, one);
        members_of_run(&g, 2, false, two);
        for (size_t e = 0; e < M; e++) same += one[e] == two[e];
        CHECK(same < M - 8);            /* of 40 about 10, 32 with odds below 1e-12 */
        members_of_run(&g, 1, law[i] != MCAMP_BATCH_SHUFFLE, two);
        CHECK(!memcmp(one, two, sizeof one));
    }
}

/* ---- what the keys depend on ------------------------------------------------------ */

enum { WORDS = 31 };

static mcamp_session agreed;
static mcamp_batch agreed_batch;
static mcamp_noise agreed_noise;
static mcamp_clip agreed_clip;

static void words_of_nothing(uint64_t w[WORDS])
{
    memset(&agreed, 0, sizeof agreed);
    memset(&agreed_batch, 0, sizeof agreed_batch);
    memset(&agreed_noise, 0, sizeof agreed_noise);
    memset(&agreed_clip, 0, sizeof agreed_clip);
    agreed.batch = &agreed_batch;
    agreed.noise = &agreed_noise;
    agreed.clip = &agreed_clip;
    mcamp__run_words(&agreed, w);
}

/* Each thing that a run has agreed on changes its own word, and every word its keys. */
TEST(everything_agreed_on_is_in_the_keys)
{
    uint64_t none[WORDS], w[WORDS];
    uint32_t root[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, key[8], other[8];
    unsigned seen = 0;
#define WORD(i, change) do { \
        words_of_nothing(none); change; mcamp__run_words(&agreed, w); seen |= 1u << (i); \
        for (int j = 0; j < WORDS; j++) CHECK((w[j] != none[j]) == (j == (i))); \
        mcamp__bound_key(root, 1, none, WORDS, key); \
        mcamp__bound_key(root, 1, w, WORDS, other); \
        CHECK(memcmp(key, other, sizeof key)); \
    } while (0)
    WORD(0, agreed.guarantee.run = 1);
    WORD(1, agreed.guarantee.kind = MCAMP_KIND_CLOSED);
    WORD(2, agreed.guarantee.law = MCAMP_BATCH_FIXED);
    WORD(3, agreed.guarantee.rounds = 1);
    WORD(4, agreed.guarantee.batches = 1);
    WORD(5, agreed.guarantee.sigma = 1);
    WORD(6, agreed.guarantee.eps = 1);
    WORD(7, agreed.guarantee.delta = 1);
    WORD(8, agreed.guarantee.beta = 1);
    WORD(9, agreed.guarantee.strategy_digest = 1);
    WORD(10, agreed.guarantee.gram_digest = 1);
    WORD(11, agreed.examples = 1);
    WORD(12, agreed_batch.batches = 1);
    WORD(13, agreed_batch.q = 1);
    WORD(14, agreed_batch.size = 1);
    WORD(15, agreed.limit = 1);
    WORD(16, agreed_noise.digest = 1);
    WORD(17, agreed_noise.sigma = 1);
    WORD(18, agreed_noise.clip_norm = 1);
    WORD(19, agreed_noise.grid = 1);
    WORD(20, agreed_noise.unit = MCAMP_NOISE_MEAN);
    WORD(21, agreed_noise.batch = 1);
    WORD(22, agreed_noise.dim = 1);
    WORD(23, agreed_noise.type = MCAMP_NOISE_FLOAT);
    WORD(24, agreed_clip.norm = 1);
    WORD(25, agreed_clip.max_examples = 1);
    WORD(26, agreed_clip.zero_bad = true);
    WORD(27, agreed.guarantee.adjacency = (mcamp_adjacency)1);
    WORD(28, agreed_noise.key_id = 1);
    WORD(29, agreed_batch.rounds = 1);
    WORD(30, agreed.guarantee.arithmetic = MCAMP_ARITHMETIC_FLOATING);
#undef WORD
    CHECK(seen == (1u << WORDS) - 1);
}

TEST_MAIN("session",
    T(verified_guarantees_say_what_was_proved),
    T(poisson_guarantees_are_the_exact_accountants),
    T(unamplified_guarantees_are_the_gaussian_mechanisms),
    T(unamplified_guarantees_by_brute_force),
    T(plans_come_with_their_guarantee),
    T(a_round_is_the_clipped_sum_with_its_noise),
    T(rounds_come_in_order_and_once),
    T(rounds_are_released_with_all_their_members_and_nobody_else),
    T(members_may_be_left_out_by_name),
    T(a_round_ends_with_its_own_noise_or_not_at_all),
    T(parts_cannot_change_under_a_session),
    T(infinite_noise_releases_nothing),
    T(all_short_sequences_do_what_the_model_does),
    T(random_calls_do_what_the_model_does),
    T(anything_but_what_was_guaranteed_is_refused_by_name),
    T(cuts_add_their_price_to_delta),
    T(a_killed_run_resumes_with_the_same_bits),
    T(killed_processes_leave_what_the_next_needs),
    T(low_bits_tell_nothing_unless_asked_for),
    T(the_grid_is_fine_and_has_room),
    T(no_two_runs_of_a_key_share_a_stream),
    T(no_changed_state_of_a_run_is_loaded),
    T(states_of_another_run_are_refused_by_name),
    T(a_ledger_is_asked_before_each_release),
    T(a_session_is_closed_while_its_ledger_is_asked),
    T(a_round_that_its_ledger_moved_on_from_is_not_released),
    T(a_large_c_is_not_looked_at_every_round),
    T(batches_have_one_session),
    T(a_ledger_on_disk_lets_no_round_go_twice),
    T(killed_at_any_time_no_round_has_two_releases),
    T(statements_name_what_they_rest_on),
    T(everything_agreed_on_is_in_the_keys),
    T(batches_are_drawn_anew_for_each_run),
    T(members_of_a_round_that_was_left_are_strangers),
    T(every_bit_of_a_release_is_in_its_entry),
    T(grids_hold_what_is_added_on_them),
    T(failed_allocations_leave_nothing_behind))
