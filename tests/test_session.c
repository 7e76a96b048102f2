/* Section session: guarantees, binding, rounds, the privacy statement. */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"
#if defined(__unix__) || defined(__APPLE__)
#  include <signal.h>
#  include <sys/types.h>
#  include <sys/wait.h>
#  include <unistd.h>
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
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0.2, 1.5, 1e-5, &g), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_max_norm(&ctx, &mech, &norm), MCAMP_OK);
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.count = 2;
    e.sigma = 1.5;
    e.sensitivity = norm;
    e.q = 0.2;
    CHECK_STATUS(mcamp_exact_epsilon(&ctx, &e, 1, NULL, 1e-5, &eps, NULL), MCAMP_OK);
    CHECK_LE(eps.lower, g.eps);
    CHECK_LE(g.eps, eps.upper * (1 + 1e-4));
    CHECK(g.kind == MCAMP_KIND_INTERVAL && g.law == MCAMP_BATCH_POISSON);
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
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, (mcamp_batch_law)6, 4, 3, 1e-5, &g),
                 MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, 0, 3, 1e-5, &g),
                 MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, 4, 3,
                                             mcamp__nan(), &g), MCAMP_E_NONFINITE);
}

/* What plans choose, under every sampling that can be offered. */
TEST(plans_come_with_their_guarantee)
{
    static const unsigned offer[3] = { 0, MCAMP_PLAN_BINS, MCAMP_PLAN_POISSON };
    static const mcamp_batch_law law[3] = { MCAMP_BATCH_SHUFFLE, MCAMP_BATCH_BINS,
                                            MCAMP_BATCH_POISSON };
    start();
    for (int i = 0; i < (mt_scale(100) < 100 ? 1 : 3); i++) {   /* valgrind: one will do */
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
}

static mcamp_status open_parts(parts *p, const mcamp_guarantee *g, mcamp_session *s)
{
    mcamp_session_desc d;
    CHECK_STATUS(mcamp_batch_init(&ctx, &p->bd, &p->batch), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_init(&ctx, &p->nd, &p->noise), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_init(&ctx, &p->cd, &p->clip), MCAMP_OK);
    memset(&d, 0, sizeof d);
    d.guarantee = g;
    d.batch = &p->batch;
    d.noise = &p->noise;
    d.clip = &p->clip;
    if (p->nd.grid > 0) d.grid_sum = p->grid_sum;
    else                d.sum = p->sum;
    return mcamp_session_init(&ctx, &d, s);
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
    CHECK_STATUS(mcamp_session_add(&ctx, s, 0, &piece, 1), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_session_end(&ctx, s, out), MCAMP_OK);
}

TEST(a_round_is_the_clipped_sum_with_its_noise)
{
    start();
    for (int grid = 0; grid <= 1; grid++) {
        mcamp_guarantee g = verified;
        parts p;
        mcamp_session s;
        plan_parts(&p, &g);
        if (grid) p.nd.grid = p.cd.grid = ldexp(1, -16);
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        CHECK_NEAR(mcamp_session_delta(&s), 1e-3, 0, 0);
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
    for (size_t i = 0; i < size.kept; i++)
        CHECK_STATUS(mcamp_session_add(&ctx, &s, index[i], NULL, 0), MCAMP_OK);
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
    REFUSE(p.nd.count = D - 1, "dim");
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
    REFUSE(g.gram_digest ^= 1, "gram");
    REFUSE(g.strategy_digest ^= 1, "mech");
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, 4, 0.2, 1.5, 1e-5, &g), MCAMP_OK);
    REFUSE(p.bd.q = 0.21, "q");
#undef REFUSE
    memset(&none, 0, sizeof none);
    plan_parts(&p, &g);
    CHECK_STATUS(open_parts(&p, &none, &s), MCAMP_E_REQUIRED);
    close_parts(&p);
    mcamp_mech_free(&ctx, &other);
}

TEST(cuts_add_their_price_to_delta)
{
    mcamp_guarantee g;
    parts p;
    mcamp_session s;
    double cut;
    start();
    g = verified;
    plan_parts(&p, &g);
    p.bd.limit = 25;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_batch_cut_delta(&ctx, &p.batch, g.eps, &cut), MCAMP_OK);
    CHECK(cut > 0);
    CHECK_NEAR(mcamp_session_delta(&s), 1e-3 + cut, 1e-14, 0);
    close_parts(&p);
    CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &mech, MCAMP_BATCH_BINS, B, 2, 1e-3, &g),
                 MCAMP_OK);
    plan_parts(&p, &g);
    p.bd.limit = 10;
    CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
    CHECK_NEAR(mcamp_session_delta(&s), 1e-3, 0, 0);
    close_parts(&p);
    CHECK_NEAR(mcamp_session_delta(NULL), 1, 0, 0);
}

/* Killed between rounds: a new process has the key and the noise's blob. */
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
        unsigned char blob[4096];
        size_t size = 0;
        plan_parts(&p, &g);
        CHECK_STATUS(open_parts(&p, &g, &s), MCAMP_OK);
        for (uint64_t t = 0; t < at; t++) one_round(&s, t, got);
        CHECK_STATUS(mcamp_noise_save(&ctx, &p.noise, blob, sizeof blob, &size), MCAMP_OK);
        close_parts(&p);
        plan_parts(&q, &g);
        CHECK_STATUS(open_parts(&q, &g, &s), MCAMP_OK);
        CHECK_STATUS(mcamp_noise_load(&ctx, &q.noise, blob, size), MCAMP_OK);
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

static void keep_state(const parts *p, const journal *j, int life, uint64_t t)
{
    unsigned char blob[4096];
    size_t size = 0;
    FILE *f = fopen(j->temporary, "wb");
    if (!f || mcamp_noise_save(&ctx, &p->noise, blob, sizeof blob, &size) != MCAMP_OK) _exit(2);
    if (fwrite(blob, 1, size / 2, f) != size / 2 || fflush(f)) _exit(2);
    die(life, t, 2);
    if (fwrite(blob + size / 2, 1, size - size / 2, f) != size - size / 2 || fclose(f)) _exit(2);
    if (rename(j->temporary, j->state)) _exit(2);
}

/* A process: resumes from what is on disk and goes on to the end, or dies; at the end by
 * another signal, since an exit would have a checker of leaks look at its heap.    */
static void live(const mcamp_guarantee *g, const journal *j, int life)
{
    unsigned char blob[4096];
    double out[D];
    mcamp_session s;
    parts p;
    FILE *f = fopen(j->state, "rb"), *to = fopen(j->released, "r+b");
    plan_parts(&p, g);
    if (open_parts(&p, g, &s) != MCAMP_OK || !to) _exit(2);
    if (f) {
        size_t size = fread(blob, 1, sizeof blob, f);
        if (mcamp_noise_load(&ctx, &p.noise, blob, size) != MCAMP_OK) _exit(2);
        fclose(f);
    }
    for (uint64_t t = mcamp_noise_step(&p.noise); t < N; t++) {
        one_round(&s, t, out);
        die(life, t, 0);
        if (fseek(to, (long)(t * sizeof out), SEEK_SET) ||
            fwrite(out, sizeof out, 1, to) != 1 || fflush(to)) _exit(2);
        die(life, t, 1);
        keep_state(&p, j, life, t);
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
        if (i == 0) p.nd.grid = p.cd.grid = ldexp(1, -16);
        if (i == 2) p.bd.limit = 10;
        CHECK_STATUS(open_parts(&p, &g[i], &s), MCAMP_OK);
        text[0] = 0;
        CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_LEGAL, &w), MCAMP_OK);
        CHECK(strstr(text, basis[i]) && strstr(text, law[i]));
        CHECK(strstr(text, "Setting: central") && strstr(text, "Unit: one example"));
        CHECK((strstr(text, "lattice; integer sums") != NULL) == (i == 0));
        CHECK((strstr(text, "add or remove") != NULL) == (i == 0));
        CHECK((strstr(text, "-zCDP") != NULL) == (i == 2));
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
        CHECK_STATUS(mcamp_report_session(NULL, MCAMP_REPORT_JSON, &w), MCAMP_E_REQUIRED);
        CHECK_STATUS(mcamp_report_session(&s, MCAMP_REPORT_LEGAL, NULL), MCAMP_E_REQUIRED);
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
                  (!cut && (l == MCAMP_BATCH_BINS || l == MCAMP_BATCH_MINSEP)));
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

TEST(failed_allocations_leave_nothing_behind)
{
    start();
    CHECK(mt_all_faults("guarantee", guarantee_work, NULL) > 2);
    mcamp_mech_free(&ctx, &mech);
}

TEST_MAIN("session",
    T(verified_guarantees_say_what_was_proved),
    T(poisson_guarantees_are_the_exact_accountants),
    T(unamplified_guarantees_are_the_gaussian_mechanisms),
    T(plans_come_with_their_guarantee),
    T(a_round_is_the_clipped_sum_with_its_noise),
    T(rounds_come_in_order_and_once),
    T(anything_but_what_was_guaranteed_is_refused_by_name),
    T(cuts_add_their_price_to_delta),
    T(a_killed_run_resumes_with_the_same_bits),
    T(killed_processes_leave_what_the_next_needs),
    T(statements_name_what_they_rest_on),
    T(failed_allocations_leave_nothing_behind))
