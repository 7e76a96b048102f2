/* Section verify, and the ladder of certified calibration: the arithmetic that decides.
 * The context's parallel hook sees every run of blocks, so that tests know which streams
 * are drawn and can put other values in their place: a law of zeros and ones, for which
 * Ville's inequality is nearly tight, or one value too many.  Statistical checks have
 * fixed seeds and a false-alarm rate of 1e-9 each.                                      */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"
#include "core_common.h"

/* ---- a context that sees, and may replace, every run of blocks ------------------- */

typedef struct drawn {
    uint32_t purpose;
    uint64_t seed, first, blocks;
    double sigma, log_range;
} drawn;

static drawn record[20000];
static size_t recorded;
static int (*inject)(mcamp__job *job);      /* 1: the tallies are filled; NULL: never */

static void watch(void *user, size_t n, void (*task)(void *arg, size_t i), void *arg)
{
    (void)user;
    if (task == mcamp__run_guarded) {
        const mcamp__guarded *g = (const mcamp__guarded *)arg;
        task = g->task;
        arg = g->arg;
    }
    if (task == mcamp__job_task) {
        mcamp__job *j = (mcamp__job *)arg;
        if (recorded < sizeof record / sizeof record[0]) {
            drawn d = { j->purpose, j->seed, j->first, j->blocks, j->sampler->m.sigma,
                        j->sampler->log_range };
            record[recorded++] = d;
        }
        if (inject && inject(j)) return;
    } else if (task == mcamp__kept_task) {      /* a search that keeps its products */
        const mcamp__kept_job *j = (const mcamp__kept_job *)arg;
        if (recorded < sizeof record / sizeof record[0]) {
            drawn d = { j->purpose, j->seed, 0, 1, j->p->m.sigma, j->p->log_range };
            record[recorded++] = d;
        }
    }
    for (size_t i = 0; i < n; i++) task(arg, i);
}

static void watched(int (*how)(mcamp__job *job))
{
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    d.parallel.run = watch;
    d.parallel.width = 2;
    CHECK_STATUS(mcamp_ctx_init(&ctx, &d), MCAMP_OK);
    recorded = 0;
    inject = how;
}

static uint32_t purpose_base(uint32_t p) { return p >> 16; }
static uint32_t purpose_rung(uint32_t p) { return p >> 4 & 0xfff; }
static mcamp_direction purpose_dir(uint32_t p) { return (mcamp_direction)(p & 15); }
static int is_proof(const mcamp__job *j)
{
    return purpose_base(j->purpose) == MCAMP__STREAM_VERIFY;
}


/* n values that are 0, and `ones` that are the range itself. */
static void fill(mcamp__job *j, uint64_t n, uint64_t ones)
{
    mcamp_tally *t = &j->tally[1];      /* the second worker's: both must be merged */
    t->count += n;
    t->n[0] += n;
    if (!ones) return;
    mcamp__tally_add(t, t->log_range);
    t->count += ones - 1;
    t->n[257] += ones - 1;              /* the bin of 1, in quarter octaves from 2^-64 */
    t->hi[257] += ones - 1;
}

/* Every value of a proof is 0: all that can be said for a claim. */
static int all_zero(mcamp__job *j)
{
    if (is_proof(j)) fill(j, j->blocks * MCAMP_BLOCK, 0);
    return is_proof(j);
}

/* Tallies of everything but VERIFY are drawn once and remembered: the same questions are
 * asked many times below.                                                              */
typedef struct memo { drawn key; mcamp_method method; double eps; mcamp_tally t; } memo;
static memo *memos;
static size_t memo_count;
enum { MEMOS = 1500 };

static int same_run(const memo *m, const drawn *d, const mcamp__sampler *p)
{
    return m->key.purpose == d->purpose && m->key.seed == d->seed && m->key.first == d->first &&
           m->key.blocks == d->blocks && !memcmp(&m->key.sigma, &d->sigma, sizeof d->sigma) &&
           !memcmp(&m->key.log_range, &d->log_range, sizeof d->log_range) &&
           m->method == p->method && m->t.order == p->k &&
           !memcmp(&m->eps, &p->eps, sizeof p->eps) &&
           !memcmp(&m->t.log_scale, &p->log_scale, sizeof p->log_scale);
}

static int remembered(mcamp__job *j)
{
    const drawn *d = &record[recorded - 1];
    if (!memos) memos = (memo *)calloc(MEMOS, sizeof *memos);
    for (size_t i = 0; i < memo_count; i++)
        if (same_run(&memos[i], d, j->sampler)) { j->tally[0] = memos[i].t; return 1; }
    for (size_t i = 0; i < j->tasks; i++) mcamp__job_task(j, i);
    if (memos && memo_count < MEMOS) {
        memo *m = &memos[memo_count++];
        m->key = *d;
        m->method = j->sampler->method;
        m->eps = j->sampler->eps;
        m->t = j->tally[0];
        CHECK_STATUS(mcamp_tally_merge(&ctx, &m->t, &j->tally[1]), MCAMP_OK);
    }
    return 1;
}

static mcamp_claim claim_of(double sigma, double eps, double delta, double beta,
                            mcamp_direction dir, uint64_t seed)
{
    mcamp_claim c;
    memset(&c, 0, sizeof c);
    c.sigma = sigma; c.eps = eps; c.delta = delta; c.beta = beta;
    c.direction = dir; c.seed = seed;
    return c;
}

/* A claim about g that is true, and whose proof gains about `gain` of log wealth from every
 * block of samples.                                                                     */
static mcamp_claim near_claim(const mcamp_gram *g, double eps, double gain, double beta,
                              mcamp_direction dir, uint64_t seed)
{
    mcamp_budget bud;
    mcamp_answer a;
    double sigma = g->max_norm * 1.2, spare = 0;
    int (*before)(mcamp__job *job) = inject;
    memset(&bud, 0, sizeof bud);
    bud.rel_error = 0.001;
    bud.direction = dir;
    inject = remembered;
    CHECK(mcamp_delta(&ctx, g, sigma, eps, &bud, &a) >= 0);
    inject = before;
    for (int d = 0; d < 2; d++) {
        const mcamp_estimate *e = d ? &a.add : &a.remove;
        double rel = e->samples ? e->std_error / e->value : 0;
        spare = fmax(spare, sqrt(2 * rel * rel * (double)e->samples * gain / MCAMP_BLOCK));
    }
    return claim_of(sigma, eps, a.delta * (1 + spare), beta, dir, seed);
}

/* A claim that needs many values, even if all of them are 0. */
static mcamp_claim rare_claim(const mcamp_gram *g, double beta, mcamp_direction dir)
{
    mcamp_claim c = near_claim(g, 1, 1, beta, dir, 5);
    c.delta *= 0.005;
    return c;
}

/* ---- levels --------------------------------------------------------------------- */

/* log of (W_stake + mean of W over stakes 2^0 .. 2^-13)/2, W the product of 1 - s (x - m)
 * over zeros, ones and the values x[0..n-1].  binned: the values between the ends of a
 * quarter octave are put at those ends, with the same sum.                             */
static long double mixture(double stake, long double m, double zeros, double ones,
                           const double *x, size_t n, int binned)
{
    long double w[15], top = -1e300L, sum = 0;
    for (int j = 0; j < 15; j++) {
        long double s = j < 14 ? ldexpl(1, -j) : (long double)stake;
        w[j] = zeros * log1pl(s * m) + (ones > 0 ? ones * log1pl(-s * (1 - m)) : 0);
        for (size_t i = 0; i < n && !binned; i++) w[j] += log1pl(-s * (x[i] - m));
        for (size_t i = 0; i < n && binned; i++) {
            int e;
            double l = floor(frexp(x[i], &e) * 8) / 8, h = fmin(ldexp(l + 0.125, e), 1);
            l = ldexp(l, e);
            if (x[i] < ldexp(1, -64)) l = 0, h = ldexp(1, -64);
            if (h > l) {
                double share = (x[i] - l) / (h - l);
                w[j] += (1 - share) * log1p((double)(-s * (l - m))) +
                        share * log1p((double)(-s * (h - m)));
            } else {
                w[j] += log1pl(-s * (x[i] - m));
            }
        }
        if (w[j] > top) top = w[j];
    }
    for (int j = 0; j < 15; j++) sum += expl(w[j] - top) / (j < 14 ? 28 : 2);
    return top + logl(sum);
}

/* The values that a proof of c's direction dir has drawn, anew: returns how many. */
static size_t draw_again(const mcamp_gram *g, const mcamp_claim *c, mcamp_direction dir,
                         const mcamp_proof *proof, double *x, size_t cap, double *range)
{
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__workers w;
    const size_t lanes = 64;            /* samples in a tile */
    size_t n = 0;
    CHECK_STATUS(mcamp__factor_init(&ctx, g, &f), MCAMP_OK);
    CHECK_STATUS(mcamp__sampler_build(&ctx, &f, c->sigma, c->eps, dir, proof->method,
                                      (size_t)proof->order, 0, mcamp__inf(), &p), MCAMP_OK);
    CHECK_NEAR(exp(p.log_range), proof->range, 1e-13, 0);
    CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
    for (uint64_t block = 0; n < proof->samples && n + MCAMP_BLOCK <= cap; block++) {
        uint32_t purpose = 4u << 16 | (uint32_t)c->rung << 4 | (uint32_t)dir;
        mcamp__rng8 normals;
        mcamp_rng r;
        mcamp__rng8_stream(&normals, c->seed, purpose, block);
        mcamp_rng_stream(&r, c->seed, purpose, block);
        for (size_t i = 0; i < MCAMP_BLOCK / lanes; i++) {
            mcamp__tile(ctx.vec, &p, &normals, &r, &w.scratch[0]);
            for (size_t s = 0; s < lanes; s++)
                x[n++] = exp(w.scratch[0].v[s] - p.log_range);
        }
    }
    *range = exp(p.log_range);
    mcamp__workers_free(&ctx, &w);
    mcamp__sampler_free(&ctx, &p);
    mcamp__factor_free(&ctx, &f);
    return n;
}

/* One direction of a decided claim: the wealth is that of the values drawn from VERIFY
 * blocks 0, 1, .., against delta itself, and was enough if and only if accepted.  Returns
 * the wealth beyond what was needed.                                                  */
static double check_proof(const mcamp_gram *g, const mcamp_claim *c, mcamp_direction dir,
                          const mcamp_proof *p, double level)
{
    static double x[1 << 19];
    double range, need = log(1 / level), most;
    size_t n = draw_again(g, c, dir, p, x, sizeof x / sizeof x[0], &range);
    CHECK(n == p->samples);
    if (n <= 8 * MCAMP_BLOCK) {
        most = (double)mixture(p->stake, (long double)c->delta / range, 0, 0, x, n, 0);
        CHECK_LE(p->log_wealth, most);
    }
    most = (double)mixture(p->stake, (long double)c->delta / range, 0, 0, x, n, 1);
    CHECK_NEAR(p->log_wealth, most, 1e-3, 1e-3);
    if (p->accepted) CHECK_LE(need, p->log_wealth);
    else CHECK(p->log_wealth < need);
    CHECK(p->stake > 0 && p->stake <= 1);
    return p->log_wealth - need;
}

/* Claims so close that every block adds little, at many levels: some are accepted with
 * less than log 2 to spare, which a level twice as large would have accepted earlier.  */
TEST(acceptance_needs_the_wealth_of_its_direction)
{
    static const char *const name[3] = { "sqrt:0", "toeplitz:1,0.5,0.7", "sqrt:2" };
    static const size_t rounds[3] = { 13, 10, 7 }, batches[3] = { 4, 3, 2 };
    double least = 1e9;
    watched(NULL);
    for (int i = 0; i < 3; i++) {
        mcamp_gram g;
        gram_make(name[i], "raw", rounds[i], batches[i], &g);
        for (int k = 0; k < 12; k++) {
            mcamp_direction dir = k % 3 == 0 ? MCAMP_BOTH : k % 3 == 1 ? MCAMP_REMOVE : MCAMP_ADD;
            double beta = 1e-5 * exp(0.19 * k), level = dir == MCAMP_BOTH ? beta / 2 : beta;
            mcamp_claim c = near_claim(&g, 1, 1.2, beta, dir, (uint64_t)k);
            mcamp_guarantee s;
            mcamp_status st = mcamp_verify_sampled(&ctx, &g, &c, &s);
            CHECK(st == (s.accepted ? MCAMP_OK : MCAMP_Q_BUDGET) || st == MCAMP_Q_REFUSED);
            if (s.remove.samples) {
                double spare = check_proof(&g, &c, MCAMP_REMOVE, &s.remove, level);
                if (s.remove.accepted) least = fmin(least, spare);
            }
            if (s.add.samples) {
                double spare = check_proof(&g, &c, MCAMP_ADD, &s.add, level);
                if (s.add.accepted) least = fmin(least, spare);
            }
            CHECK(s.samples == s.remove.samples + s.add.samples);
            CHECK_NEAR(s.sigma, c.sigma, 0, 0);
            CHECK_NEAR(s.eps, c.eps, 0, 0);
            CHECK_NEAR(s.delta, c.delta, 0, 0);
            CHECK_NEAR(s.beta, c.beta, 0, 0);
            CHECK(s.direction == dir && s.seed == c.seed && s.batches == g.b && s.rounds == g.n);
        }
        mcamp_gram_free(&ctx, &g);
    }
    CHECK(least < 0.3);         /* so that the levels were put to the test */
}

/* No more samples than were allowed; levels and budgets that are none. */
TEST(budgets_and_levels_are_kept)
{
    static const double none[4] = { 0, 1, -1e-9, 1.5 };
    mcamp_gram g;
    mcamp_guarantee s;
    mcamp_claim c;
    watched(NULL);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    c = near_claim(&g, 1, 0.3, 1e-9, MCAMP_REMOVE, 6);
    for (uint64_t blocks = 1; blocks < 14; blocks += 4) {
        c.max_samples = blocks * MCAMP_BLOCK + 5;
        CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_Q_BUDGET);
        CHECK(s.samples == blocks * MCAMP_BLOCK && !s.accepted && s.kind == MCAMP_KIND_NONE);
        CHECK(s.max_samples == c.max_samples);
    }
    c.max_samples = 1;                  /* a block is the least */
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_Q_BUDGET);
    CHECK(s.samples == MCAMP_BLOCK && !s.accepted);
    c.max_samples = UINT64_MAX / 2;
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_E_SIZE);
    c.max_samples = 0;
    for (int i = 0; i < 5; i++) {
        c.beta = i < 4 ? none[i] : mcamp__nan();
        CHECK(mcamp_verify_sampled(&ctx, &g, &c, &s) < 0);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "beta"));
    }
    c.beta = 0.1;
    c.direction = (mcamp_direction)(MCAMP_ADD + 1);
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_E_ARG);
    mcamp_gram_free(&ctx, &g);
}

/* The mean that is claimed, in units of the range, is lowered by what floating point may
 * have done; with nothing left, nothing is accepted.                                    */
TEST(the_claimed_mean_is_lowered)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__sampler p;
    watched(NULL);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    for (int i = 0; i < 4; i++) {
        double sigma = g.max_norm * (!i ? 1.2 : i == 1 ? 0.1 : i == 2 ? 0.01 : 0.002);
        double m, want, top, k;
        CHECK_STATUS(mcamp__sampler_build(&ctx, &f, sigma, i ? 40 : 1, MCAMP_REMOVE,
                                          MCAMP_METHOD_COMMON, i < 2 ? 3 : 1, 0, mcamp__inf(), &p),
                     MCAMP_OK);
        k = (double)p.k;
        top = g.max_norm * g.max_norm / (sigma * sigma);
        for (double q = 0.9; q > 1e-12; q *= 0.1) {
            double delta = q * exp(p.log_range), share;
            want = exp(log(delta) - p.log_range);
            share = want * (1 - 1.9e-9 - 1.9e-13 * (k + 2) * (1 + top)) - 4 * k * 2.2e-16;
            m = mcamp__claim_mean(&p, delta);
            CHECK_LE(m, fmin(share, 1));
            CHECK_LE(fmin(want * (1 - 3e-9 - 3e-13 * (k + 2) * (1 + top)) -
                          4 * (k * 2.4e-16 + 2e-19), 1), m);
        }
        CHECK(mcamp__claim_mean(&p, 1e-17 * exp(p.log_range)) < 0);
        CHECK_LE(mcamp__claim_mean(&p, 10 * exp(p.log_range)), 1);
        mcamp__sampler_free(&ctx, &p);
    }
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* Where all values are 0 but delta is lost in rounding, a claim is not accepted. */
TEST(a_delta_below_rounding_is_refused)
{
    mcamp_gram g;
    mcamp_guarantee s;
    mcamp_claim c;
    watched(all_zero);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    c = rare_claim(&g, 1e-6, MCAMP_REMOVE);
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_OK);
    c.delta = s.remove.range * 1e-18;
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_Q_REFUSED);
    CHECK(!s.accepted && s.kind == MCAMP_KIND_NONE);
    mcamp_gram_free(&ctx, &g);
}

/* ---- streams ---------------------------------------------------------------------- */

/* VERIFY blocks of every (rung, direction) in order, each once; returns how many. */
static uint64_t check_verify_blocks(uint64_t seed)
{
    uint64_t total = 0;
    for (size_t i = 0; i < recorded; i++) {
        uint64_t next = 0;
        CHECK(record[i].seed == seed);
        if (purpose_base(record[i].purpose) != MCAMP__STREAM_VERIFY) continue;
        for (size_t k = 0; k < i; k++)
            if (record[k].purpose == record[i].purpose) next = record[k].first + record[k].blocks;
        CHECK(record[i].first == next);
        total += record[i].blocks;
    }
    return total;
}

static int anyone_draws(uint32_t base)
{
    for (size_t i = 0; i < recorded; i++)
        if (purpose_base(record[i].purpose) == base) return 1;
    return 0;
}

/* What section exact is asked about instead: b bins, their modes' norms rounded up. */
TEST(modes_of_few_kinds_are_rounded_up)
{
    setup();
    for (size_t b = 2; b < 9; b++) {
        double g[64] = { 0 }, square = 0.1 + (double)b / 3, bins = 0;
        mcamp_gram gram;
        mcamp__factor f;
        mcamp__kinds k;
        mcamp_event e;
        for (size_t i = 0; i < b; i++) g[i * b + i] = i < b / 2 ? square : 0.7 * square;
        CHECK_STATUS(mcamp_gram_from_matrix(&ctx, g, b, &gram), MCAMP_OK);
        CHECK_STATUS(mcamp__factor_init(&ctx, &gram, &f), MCAMP_OK);
        k = mcamp__kinds_of(&f);
        e = mcamp__kinds_event(&k, &f, 1.5);
        CHECK(e.bins == b && e.n == 2);
        for (size_t i = 0; i < e.n; i++) {
            double want = i ? 0.7 * square : square;
            CHECK(e.shift[i] * e.shift[i] > want);
            CHECK_LE(e.shift[i] * e.shift[i], want * (1 + 1e-14));
            CHECK_NEAR(e.prob[i], (double)(i ? b - b / 2 : b / 2), 0, 0);
            bins += e.prob[i];
        }
        CHECK_NEAR(bins, (double)b, 0, 0);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &gram);
    }
}

/* P and Q are so near each other that samples would be rounding errors. */
TEST(what_is_too_close_to_sample_is_refused)
{
    static const double one[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    mcamp_gram g;
    setup();
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, one, 3, &g), MCAMP_OK);
    for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
        mcamp_claim c;
        mcamp_guarantee out;
        memset(&c, 0, sizeof c);
        c.sigma = 2e6; c.eps = 1e-9; c.delta = 1e-8; c.beta = 0.01;
        c.direction = (mcamp_direction)d;
        c.max_samples = 4096;
        CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &out), MCAMP_Q_REFUSED);
        CHECK(!out.accepted && !out.samples);
    }
    mcamp_gram_free(&ctx, &g);
}

TEST(verification_draws_its_own_blocks_once_each)
{
    mcamp_gram g;
    mcamp_guarantee s;
    uint64_t spent;
    watched(NULL);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    for (int dir = MCAMP_BOTH; dir <= MCAMP_ADD; dir++)
        for (uint64_t rung = 0; rung < 100; rung += 33) {
            mcamp_claim c = near_claim(&g, 1, 1, 1e-6, (mcamp_direction)dir, 77);
            int seen[3] = { 0, 0, 0 };
            c.rung = rung;
            recorded = 0;
            CHECK(mcamp_verify_sampled(&ctx, &g, &c, &s) >= 0);
            CHECK(check_verify_blocks(77) * MCAMP_BLOCK == s.samples && s.samples > MCAMP_BLOCK);
            for (size_t i = 0; i < recorded; i++) {
                uint32_t base = purpose_base(record[i].purpose);
                CHECK(base == MCAMP__STREAM_VERIFY || base == MCAMP__STREAM_PILOT);
                CHECK(purpose_rung(record[i].purpose) ==
                      rung + (base == MCAMP__STREAM_PILOT ? 100 : 0));
                seen[purpose_dir(record[i].purpose)] = 1;
            }
            CHECK(!seen[0] && seen[1] == (dir != MCAMP_ADD));
            CHECK(!seen[2] || dir != MCAMP_REMOVE);
        }
    recorded = 0;
    {
        mcamp_claim c = claim_of(0, 1, 1e-4, 1e-6, MCAMP_BOTH, 78);
        CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &c, &s), MCAMP_OK);
        spent = check_verify_blocks(78) * MCAMP_BLOCK;
        CHECK(spent > 0 && spent < s.samples && anyone_draws(MCAMP__STREAM_CALIBRATE));
        for (size_t i = 0; i < recorded; i++)           /* a rung has a stream of its own */
            for (size_t k = 0; k < i; k++)
                if (purpose_base(record[i].purpose) == MCAMP__STREAM_VERIFY &&
                    record[i].purpose == record[k].purpose)
                    CHECK_NEAR(record[i].sigma, record[k].sigma, 0, 0);
    }
    mcamp_gram_free(&ctx, &g);
}

TEST(nobody_else_draws_from_verification)
{
    static const double eps[3] = { 0.5, 1, 2 };
    mcamp_gram g;
    mcamp_answer a[3];
    mcamp_budget bud;
    memset(&bud, 0, sizeof bud);
    bud.rel_error = 0.05;
    watched(NULL);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    CHECK_STATUS(mcamp_delta(&ctx, &g, 1.5 * g.max_norm, 1, &bud, a), MCAMP_OK);
    CHECK_STATUS(mcamp_sigma(&ctx, &g, 1, 1e-4, &bud, a), MCAMP_OK);
    CHECK_STATUS(mcamp_epsilon(&ctx, &g, 1.5 * g.max_norm, 1e-4, &bud, a), MCAMP_OK);
    CHECK_STATUS(mcamp_curve(&ctx, &g, 1.5 * g.max_norm, eps, 3, &bud, a), MCAMP_OK);
    CHECK(recorded > 5 && !anyone_draws(MCAMP__STREAM_VERIFY));
    mcamp_gram_free(&ctx, &g);
}

static int nothing_but_zeros(mcamp__job *j)
{
    fill(j, j->blocks * MCAMP_BLOCK, 0);
    return 1;
}

/* Pilot and proof of every rung and direction. */
TEST(no_two_purposes_collide)
{
    static uint32_t seen[400];
    size_t n = 0;
    mcamp_gram g;
    mcamp_guarantee s;
    mcamp_claim c;
    watched(NULL);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    c = rare_claim(&g, 1e-6, MCAMP_BOTH);
    inject = nothing_but_zeros;
    for (c.rung = 0; c.rung < 100; c.rung++) {
        recorded = 0;
        CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_OK);
        for (size_t i = 0; i < recorded; i++) {
            if (i && record[i].purpose == record[i - 1].purpose) continue;
            for (size_t k = 0; k < n; k++) CHECK(seen[k] != record[i].purpose);
            if (n < 400) seen[n++] = record[i].purpose;
        }
    }
    CHECK(n == 400);
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_E_ARG);
    mcamp_gram_free(&ctx, &g);
}

/* ---- injected values and verdicts ---------------------------------------------------- */

static int bad_at;              /* which run of VERIFY blocks holds the bad value */
static int bad_seen;
static double bad_value;        /* added to log_range; NaN: itself */

static int one_bad_value(mcamp__job *j)
{
    if (!is_proof(j)) return 0;
    fill(j, j->blocks * MCAMP_BLOCK, 0);
    if (bad_seen++ == bad_at) mcamp__tally_add(&j->tally[1], j->sampler->log_range + bad_value);
    return 1;
}

/* What must hold of any output after a failure. */
static int claims_nothing(const mcamp_guarantee *s)
{
    return !s->accepted && s->kind == MCAMP_KIND_NONE;
}

/* One value above the range, infinite or NaN among good ones refuses the whole. */
static int bad_pilot(mcamp__job *j)
{
    if (is_proof(j)) return 0;
    fill(j, j->blocks * MCAMP_BLOCK, 0);
    j->tally[1].poisoned = 1;
    return 1;
}

/* Pilots choose: one that is poisoned chooses nothing, and proves nothing. */
TEST(a_poisoned_pilot_decides_nothing)
{
    mcamp_gram g;
    mcamp_claim c;
    mcamp_guarantee s;
    watched(bad_pilot);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    c = near_claim(&g, 1, 1.5, 1e-3, MCAMP_REMOVE, 5);
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_OK);
    CHECK(s.accepted && s.remove.samples);      /* by its own samples */
    c = near_claim(&g, 1, 0.3, 1e-3, MCAMP_REMOVE, 5);
    c.max_samples = 4 * MCAMP_BLOCK;
    CHECK(mcamp_verify_sampled(&ctx, &g, &c, &s) > MCAMP_OK);
    CHECK(!s.accepted);
    mcamp_gram_free(&ctx, &g);
}

TEST(a_poisoned_verification_is_an_error)
{
    mcamp_gram g;
    watched(one_bad_value);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    for (int i = 0; i < 9; i++) {
        mcamp_claim c;
        mcamp_guarantee s;
        c = rare_claim(&g, 1e-12, i % 3 == 2 ? MCAMP_BOTH : (mcamp_direction)(1 + i % 3));
        bad_at = i / 3;
        bad_seen = 0;
        bad_value = i % 3 == 0 ? 1e-6 : i % 3 == 1 ? mcamp__nan() : mcamp__inf();
        memset(&s, 0xff, sizeof s);
        CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_E_SAMPLE);
        CHECK(claims_nothing(&s));
        bad_seen = 0;
        memset(&s, 0xff, sizeof s);
        CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &s), MCAMP_E_SAMPLE);
        CHECK(claims_nothing(&s));
        bad_seen = 0;
        memset(&s, 0xff, sizeof s);
        CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &c, &s), MCAMP_E_SAMPLE);
        CHECK(claims_nothing(&s));
    }
    mcamp_gram_free(&ctx, &g);
}

static unsigned verdicts[2];    /* bit r: rung r is accepted; [0] remove, [1] add */

static int scripted(mcamp__job *j)
{
    uint64_t n = j->blocks * MCAMP_BLOCK;
    if (!is_proof(j)) return remembered(j);
    if (verdicts[purpose_dir(j->purpose) - 1] >> purpose_rung(j->purpose) & 1) fill(j, n, 0);
    else fill(j, 0, n);
    return 1;
}

TEST(both_directions_must_be_accepted)
{
    mcamp_gram g;
    watched(scripted);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    for (unsigned i = 0; i < 12; i++) {
        mcamp_direction dir = (mcamp_direction)(i / 4);
        int remove = i & 1, add = i >> 1 & 1, yes;
        mcamp_claim c;
        mcamp_guarantee s;
        c = rare_claim(&g, 1e-6, MCAMP_ADD);
        c.direction = dir;
        verdicts[0] = (unsigned)remove;
        verdicts[1] = (unsigned)add;
        memset(&s, 0xff, sizeof s);
        yes = dir == MCAMP_BOTH ? remove && add : dir == MCAMP_REMOVE ? remove : add;
        CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), yes ? MCAMP_OK : MCAMP_Q_REFUSED);
        CHECK(s.accepted == yes);
        CHECK(s.kind == (yes ? MCAMP_KIND_VERIFIED : MCAMP_KIND_NONE));
        CHECK(s.remove.samples == 0 || dir != MCAMP_ADD);
        CHECK(s.add.samples == 0 || dir != MCAMP_REMOVE);
        CHECK(!s.remove.accepted == !(dir != MCAMP_ADD && remove));
        CHECK(!s.add.accepted || (dir != MCAMP_REMOVE && add));
    }
    mcamp_gram_free(&ctx, &g);
}

/* The sigma that VERIFY runs of a rung were about; 0 if there was none. */
static double rung_sigma(uint32_t rung)
{
    for (size_t i = 0; i < recorded; i++)
        if (purpose_base(record[i].purpose) == MCAMP__STREAM_VERIFY &&
            purpose_rung(record[i].purpose) == rung) return record[i].sigma;
    return 0;
}

/* Every sequence of verdicts: the ladder goes down, stops at the first rung that is not
 * accepted in both directions, and returns the one before.                             */
TEST(the_ladder_stops_at_its_first_failure)
{
    mcamp_gram g;
    uint32_t rungs = 6;
    watched(scripted);
    gram_make("sqrt:2", "raw", 13, 4, &g);
    for (unsigned script = 0; script < 64; script += script < 8 ? 1 : 5) {
        mcamp_claim c = claim_of(0, 1, 1e-4, 1e-6, script % 3 ? MCAMP_REMOVE : MCAMP_BOTH, 9);
        mcamp_guarantee s;
        uint32_t first_no = 1;
        mcamp_status st;
        verdicts[0] = script << 1;
        verdicts[1] = script % 3 == 0 ? ~0u : 0;
        while (first_no <= rungs && verdicts[0] >> first_no & 1) first_no++;
        recorded = 0;
        memset(&s, 0xff, sizeof s);
        st = mcamp_calibrate_certified(&ctx, &g, &c, &s);
        CHECK(s.accepted && s.kind == MCAMP_KIND_VERIFIED);
        CHECK(s.rungs == (first_no <= rungs ? first_no : rungs));
        for (uint32_t r = 2; r <= rungs; r++)
            if (rung_sigma(r) > 0) CHECK(rung_sigma(r) < rung_sigma(r - 1));
        CHECK(first_no >= rungs || !(rung_sigma(first_no + 1) > 0));
        if (first_no == 1) {            /* nothing sampled was accepted */
            CHECK_STATUS(st, MCAMP_Q_UNAMPLIFIED);
            CHECK(s.remove.samples == 0 && s.sigma > rung_sigma(1) && s.rung == 0);
        } else {
            CHECK_STATUS(st, MCAMP_OK);
            CHECK_NEAR(s.sigma, rung_sigma(first_no - 1), 0, 0);
            CHECK(s.rung == first_no - 1 && s.remove.accepted && s.remove.samples > 0);
        }
        CHECK(s.direction == c.direction && s.eps <= 1 && s.eps >= 1 && s.beta <= 1e-6);
    }
    mcamp_gram_free(&ctx, &g);
}

/* The rungs that a search of so many samples leaves, its root being where it is told. */
static int rungs_of(const mcamp__solve *s, const mcamp__found *r, const mcamp_claim *c,
                    double factor[MCAMP__LADDER])
{
    int n = 0;
    uint64_t most[MCAMP__LADDER];
    double share = fmax((double)s->samples, 16777216.0 / (double)s->f->b);  /* of the search */
    CHECK_STATUS(mcamp__rungs_choose(&ctx, s, r, c, factor, most), MCAMP_OK);
    for (int i = 0; i < MCAMP__LADDER; i++) {
        n += factor[i] > 0;
        CHECK((most[i] > 0) == (i > 2 && factor[i] > 0 && !c->max_samples && !ctx.timed));
        CHECK(!most[i] || ((double)most[i] * (double)s->f->b >= 8388608.0 &&
                           (double)most[i] <= 6 * share + MCAMP_BLOCK));
        for (int k = 0; k < i; k++) CHECK(!(factor[i] >= factor[k]) || !(factor[k] > 0));
    }
    CHECK(factor[0] > 1.07);            /* whatever it costs */
    return n;
}

/* What a rung may take ends where a proof looks at its wealth anyway. */
TEST(the_ladder_gives_up_where_a_proof_looks)
{
    static const double want[] = { 1, 1024, 1025, 70000, 1e6, 3e9 };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        uint64_t most = mcamp__rung_most(want[i]), done = 0;
        CHECK((double)most >= want[i] && (double)most <= 1.25 * want[i] + MCAMP_BLOCK);
        while (done < most) done += (done / MCAMP_BLOCK / 4 + 1) * MCAMP_BLOCK;
        CHECK(done == most);
    }
}

/* A seed whose root, lower than the others' by less than its error, leaves the last rung hardly
 * any slack: it took 1 775 616 samples, the whole of another seed's certificate 120 000.  */
TEST(the_ladder_does_not_hang_on_a_rung)
{
    mcamp_guarantee s, again;
    mcamp_claim c = claim_of(0, 0.5, 1e-5, 1e-6, MCAMP_BOTH, 3);
    mcamp_gram g;
    setup();
    gram_make("sqrt:16", "raw", 2048, 128, &g);
    CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &c, &s), MCAMP_OK);
    CHECK(s.accepted && s.samples < 800000 && s.max_samples == c.max_samples);
    CHECK(s.sigma > 11.5 && s.sigma < 11.75);
    c.sigma = s.sigma; c.rung = s.rung;
    CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &again), MCAMP_OK);
    CHECK(again.accepted);
    mcamp_gram_free(&ctx, &g);
}

static double late_clock(void *user) { return *(const double *)user; }

/* A rung's price against the logarithm of the wealth that the best stake can expect where values
 * are 0 or h of the range; without a pilot that can have seen them, where h is 1.        */
TEST(the_ladder_is_priced_by_expected_wealth)
{
    static const struct { double slack, h; } cases[] = {
        { 0.5, 0.3 }, { 0.1, 0.05 }, { 0.1, 0.4 }, { 0.8, 0.1 }, { 0.5, 0.001 } };
    const double m = 1e-3;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double slack = cases[i].slack, h = cases[i].h, mean = (1 - slack) * m, p = mean / h;
        double rel_var = h / mean - 1, best = 0, price;
        for (int j = 1; j <= 1000; j++)
            best = fmax(best, p * log1p(-j * 1e-3 * (h - m)) + (1 - p) * log1p(j * 1e-3 * m));
        price = mcamp__rung_samples(1 / m, rel_var, slack, 10);
        CHECK_NEAR(price, 10 / best, 0.1, 0);
    }
    CHECK_NEAR(mcamp__rung_samples(100, mcamp__inf(), 0.4, 10), 1000 / (0.4 * 0.4 / 1.2), 1e-9, 0);
    CHECK_NEAR(mcamp__rung_samples(1e6, 3, 0.5, 10), 1e7 / (0.5 - 0.25), 1e-9, 0);
    CHECK(mcamp__rung_samples(1e6, 3, 0, 10) > DBL_MAX);
    CHECK(mcamp__rung_samples(1e6, 3, -0.1, 10) > DBL_MAX);
}

/* What the law leaves out of delta is no slack: values, of mean (1 - slack) delta at most, are
 * to be below delta less that.  Nothing is left of a slack that is smaller.               */
TEST(the_ladder_is_priced_with_what_is_left_out)
{
    static const double down[3] = { 1.0003, 1.0005, 1.02 };
    mcamp_gram g;
    mcamp__factor f;
    mcamp__solve s;
    mcamp_budget bud;
    mcamp_claim c = claim_of(0, 0.5, 1e-8, 1e-8, MCAMP_REMOVE, 3);
    mcamp_tally *t = (mcamp_tally *)calloc(1, sizeof *t);
    mcamp__question q;
    mcamp__sampler p, roomy;
    double sigma, split, range;
    watched(NULL);
    memset(&bud, 0, sizeof bud);
    bud.direction = MCAMP_REMOVE;
    gram_make("sqrt:16", "raw", 224, 224, &g);   /* too few modes for tuples of cut ones */
    sigma = 2.25 * g.max_norm;
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    f.better = mcamp__law_better;
    q = mcamp__ask(&f, sigma, c.eps, MCAMP_REMOVE, 0);
    memset(&p, 0, sizeof p);
    CHECK_STATUS(mcamp__law_better(&ctx, &q, 0.02 * c.delta, &p), MCAMP_OK);
    range = exp(p.log_range);
    split = p.split;
    memset(&roomy, 0, sizeof roomy);
    CHECK_STATUS(mcamp__law_roomy(&ctx, &q, 0.02 * c.delta, &roomy), MCAMP_OK);
    CHECK(roomy.tile && roomy.split > 0.08 * c.delta && roomy.split < 0.12 * c.delta);
    CHECK(roomy.log_range < p.log_range - 0.3);
    mcamp__sampler_free(&ctx, &roomy);
    CHECK(p.tile && split > 0.016 * c.delta && split < 0.024 * c.delta);
    mcamp__sampler_free(&ctx, &p);
    mcamp__solve_start(&f, &bud, 1, c.eps, c.delta, &s);
    s.slope = -30;
    for (int i = 0; i < 3; i++) {
        double var[3] = { -1, 20, 20 }, price, mean = pow(down[i], -30) * c.delta;
        double m = c.delta - split, gain = 0;   /* a bet of values 0 or h times the range */
        double h = mean * (1 + var[1]) / range, odds = mean / (h * range);
        CHECK_STATUS(mcamp__rung_price(&ctx, &s, &c, log(sigma / down[i]), sigma, t, var, &price),
                     MCAMP_OK);
        for (int j = 1; j <= 1000; j++)
            gain = fmax(gain, odds * log1p(-j * 1e-3 * (h - m / range)) +
                              (1 - odds) * log1p(j * 1e-3 * m / range));
        if (i < 2) CHECK(price > DBL_MAX && gain <= 0);
        else CHECK_NEAR(price, log(2 / c.beta) / gain, 0.1, 0);
    }
    free(t);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* What is proved without samples costs none. */
TEST(the_ladder_is_priced_by_what_must_be_drawn)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__solve s;
    mcamp_budget bud;
    mcamp_claim c = claim_of(0, 0.5, 1e-8, 1e-8, MCAMP_BOTH, 3);
    mcamp_tally *t = (mcamp_tally *)calloc(1, sizeof *t);
    double samples[2], sigma;
    watched(NULL);
    memset(&bud, 0, sizeof bud);
    gram_make("sqrt:2", "raw", 1024, 1024, &g);
    sigma = 0.92 * g.max_norm;
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    for (int i = 0; i < 2; i++) {
        double var[3] = { -1, 100, 100 };
        mcamp_status st;
        mcamp__question q = mcamp__ask(&f, sigma, c.eps, MCAMP_ADD, 0);
        CHECK(exp(mcamp__free_log_bound(&ctx, &q, &st)) > c.delta);
        bud.direction = i ? MCAMP_BOTH : MCAMP_REMOVE;
        mcamp__solve_start(&f, &bud, 1, c.eps, c.delta, &s);
        CHECK_STATUS(mcamp__rung_price(&ctx, &s, &c, log(sigma / 1.02), sigma, t, var,
                                       &samples[i]), MCAMP_OK);
    }
    CHECK(samples[0] > 1000);
    CHECK_NEAR(samples[0], samples[1], 0, 0);
    free(t);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* Rungs are left out by what their proofs would cost, which no verification sample tells; the
 * prediction is of the size of what verification then takes.                             */
TEST(the_ladder_is_chosen_before_verification)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__solve s;
    mcamp__found r;
    mcamp_budget bud;
    mcamp_answer a;
    mcamp_claim c = claim_of(0, 1, 1e-7, 1e-6, MCAMP_BOTH, 21);
    mcamp_guarantee out;
    double fine[MCAMP__LADDER], coarse[MCAMP__LADDER], now = 0, price = 0, took = 0;
    double var[3] = { -1, -1, -1 }, cost[6];
    mcamp_tally *t = (mcamp_tally *)calloc(1, sizeof *t);
    watched(NULL);
    memset(&bud, 0, sizeof bud);
    bud.rel_error = 0.02;
    gram_make("sqrt:4", "raw", 4 * 50 - 3, 50, &g);
    CHECK_STATUS(mcamp_sigma(&ctx, &g, 1, c.delta, &bud, &a), MCAMP_OK);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    mcamp__solve_start(&f, &bud, 1, c.eps, c.delta, &s);
    memset(&r, 0, sizeof r);
    r.x = log(a.sigma);
    s.slope = -30;                      /* about what it is */
    recorded = 0;
    for (int i = 0; i < 6; i++) {       /* the first five rungs, and the one that may stay */
        static const double factor[6] = { 1.08, 1.03, 1.015, 1.008, 1.004, 1.018 };
        CHECK_STATUS(mcamp__rung_price(&ctx, &s, &c, r.x, factor[i] * a.sigma, t, var, &cost[i]),
                     MCAMP_OK);
        CHECK(i == 0 || i == 5 || cost[i] > 1.2 * cost[i - 1]);
    }
    CHECK(rungs_of(&s, &r, &c, fine) == 4 && fine[3] < 1.009);
    s.samples = 4000000;                /* dearer searches, finer rungs */
    CHECK(rungs_of(&s, &r, &c, fine) == 6);
    c.max_samples = (uint64_t)(cost[0] + cost[1] + cost[2] + 2);
    CHECK(rungs_of(&s, &r, &c, fine) == 3 && fine[2] < 1.016);
    c.max_samples -= 4;                 /* this many say more than those */
    CHECK(rungs_of(&s, &r, &c, coarse) == 2 && coarse[2] > 1.016 && coarse[2] <= 1.018);
    CHECK(rungs_of(&s, &r, &c, fine) == 2 && !memcmp(fine, coarse, sizeof fine));
    CHECK(!anyone_draws(MCAMP__STREAM_VERIFY) && anyone_draws(MCAMP__STREAM_CALIBRATE));
    c.max_samples = (uint64_t)cost[5] - 2;      /* not even one near sigma */
    CHECK(rungs_of(&s, &r, &c, fine) == 2 && fine[1] > 1.02);
    c.max_samples = (uint64_t)(cost[0] + cost[1]) - 2;
    CHECK(rungs_of(&s, &r, &c, fine) == 2 && fine[1] > 1.02);
    c.max_samples = (uint64_t)cost[1] - 2;
    CHECK(rungs_of(&s, &r, &c, fine) == 1);
    c.max_samples = 300000000;
    CHECK(rungs_of(&s, &r, &c, fine) == MCAMP__LADDER);
    c.max_samples = 0;
    s.samples = 0;
    ctx.clock.now = late_clock; ctx.clock.user = &now;
    CHECK_STATUS(mcamp__time_begin(&ctx, 10), MCAMP_OK);
    CHECK(rungs_of(&s, &r, &c, fine) == MCAMP__LADDER);     /* time decides */
    CHECK_STATUS(mcamp__time_end(&ctx, MCAMP_OK), MCAMP_OK);
    c.sigma = 1.03 * a.sigma;
    for (c.seed = 0; c.seed < 10; c.seed++) {
        double samples = 0;
        for (int d = 0; d < 3; d++) var[d] = -1;
        CHECK_STATUS(mcamp__rung_price(&ctx, &s, &c, r.x, c.sigma, t, var, &samples), MCAMP_OK);
        CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &out), MCAMP_OK);
        price += samples;
        took += (double)out.samples;
    }
    CHECK(took > 100 * MCAMP_BLOCK && took < 3 * price && took > price / 3);
    free(t);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* ---- a struct that was used before ------------------------------------------------------- */

static mcamp_gram fault_gram;

static mcamp_status ask_again(mcamp_ctx *c, void *user)
{
    int which = *(const int *)user;
    mcamp_claim claim = claim_of(fault_gram.max_norm * 1.2, 1, 0.02, 1e-6, MCAMP_BOTH, 1);
    mcamp_guarantee s;
    mcamp_status st;
    memset(&s, 0xff, sizeof s);
    s.accepted = true;
    claim.max_samples = 8 * MCAMP_BLOCK;
    st = which ? mcamp_verify(c, &fault_gram, &claim, &s)
               : mcamp_verify_sampled(c, &fault_gram, &claim, &s);
    if (st < 0 && !claims_nothing(&s)) return MCAMP_E_INTERNAL;
    if (st > 0 && !claims_nothing(&s)) return MCAMP_E_INTERNAL;
    return st;
}

TEST(a_failure_leaves_nothing_accepted)
{
    setup();
    gram_make("sqrt:0", "raw", 7, 3, &fault_gram);
    for (int which = 0; which < 2; which++) mt_all_faults("verification", ask_again, &which);
    mcamp_gram_free(&ctx, &fault_gram);
}

static int stop_now(void *user, double fraction, double best)
{
    (void)user; (void)best;
    CHECK(fraction <= 1 + 1e-12);
    return 1;
}

TEST(what_was_interrupted_claims_nothing)
{
    mcamp_gram g;
    mcamp_guarantee s;
    mcamp_claim c;
    watched(NULL);
    gram_make("sqrt:0", "raw", 13, 4, &g);
    c = near_claim(&g, 1, 1, 1e-6, MCAMP_BOTH, 5);
    ctx.progress.fn = stop_now;
    memset(&s, 0xff, sizeof s);
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &s), MCAMP_Q_INTERRUPTED);
    CHECK(claims_nothing(&s) && s.interrupted && !s.remove.accepted && !s.add.accepted);
    mcamp_gram_free(&ctx, &g);
}

/* ---- false acceptance ----------------------------------------------------------------- *
 * Values are 1 with the probability that the claim allows, else 0: the wealth of stake 1 is
 * (1 + m)^N until the first 1, which comes with probability 1 - (1 - m)^N, so that about
 * half of beta is spent (half of the wealth is bet so).  What is decided is all of verify:
 * pilots, stakes, looks, directions; only the values are not those of the law.           */

static double null_delta[2];
static mcamp_rng null_rng;
static uint64_t null_zeros[2], null_ones[2];    /* of the proof; [0] remove, [1] add */
static uint32_t null_from;                      /* rungs from here on are false, others sure */

static int at_the_null(mcamp__job *j)
{
    int d = (int)purpose_dir(j->purpose) - 1;
    double p = exp(log(null_delta[d]) - j->sampler->log_range);
    uint64_t n = j->blocks * MCAMP_BLOCK, left = n, ones = 0;
    if (is_proof(j) && purpose_rung(j->purpose) < null_from) return all_zero(j);
    if ((double)n * p > 400) {          /* near enough to the binomial law */
        double r = sqrt(-2 * log(mcamp_rng_uniform(&null_rng)));
        double u = r * cos(6.283185307179586 * mcamp_rng_uniform(&null_rng));
        double x = (double)n * p + u * sqrt((double)n * p * (1 - p));
        ones = (uint64_t)fmin(fmax(x, 0), (double)n);
        left = 0;
    }
    while (left) {                      /* the gaps between ones are geometric */
        double gap = log(mcamp_rng_uniform(&null_rng)) / log1p(-p);
        if (!(gap < (double)left)) break;
        left -= (uint64_t)gap + 1;
        ones++;
    }
    fill(j, n - ones, ones);
    if (is_proof(j)) { null_zeros[d] += n - ones; null_ones[d] += ones; }
    return 1;
}

/* The null of g at sigma, so rare that a look adds little to the wealth. */
static void set_null(const mcamp_gram *g, mcamp_claim *c, double mean)
{
    mcamp__factor f;
    mcamp__question q;
    CHECK_STATUS(mcamp__factor_init(&ctx, g, &f), MCAMP_OK);
    for (int d = 0; d < 2; d++) {
        mcamp__sampler p;
        mcamp_direction dir = d ? MCAMP_ADD : MCAMP_REMOVE;
        q = mcamp__ask(&f, c->sigma, c->eps, dir, 0);
        CHECK_STATUS(mcamp__sampler_build(&ctx, q.f, c->sigma, c->eps, dir, MCAMP_METHOD_COMMON,
                                          0, 0, mcamp__inf(), &p), MCAMP_OK);
        if (c->direction == MCAMP_BOTH || c->direction == dir)
            c->delta = mean * exp(p.log_range);
        mcamp__sampler_free(&ctx, &p);
    }
    null_delta[0] = null_delta[1] = c->delta;
    mcamp__factor_free(&ctx, &f);
}

TEST(whole_verification_accepts_falsely_less_often_than_beta)
{
    mcamp_gram g;
    watched(at_the_null);
    gram_make("sqrt:0", "raw", 7, 2, &g);
    mcamp_rng_seed(&null_rng, 2024);
    null_from = 0;
    for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
        size_t n = mt_scale(1000), accepted = 0;
        double beta = 0.05;
        mcamp_claim c = claim_of(1.2 * g.max_norm, 1, 0, beta, (mcamp_direction)dir, 0);
        set_null(&g, &c, 3e-4);
        for (size_t i = 0; i < n; i++) {
            mcamp_guarantee s;
            const mcamp_proof *p = dir == MCAMP_ADD ? &s.add : &s.remove;
            memset(null_zeros, 0, sizeof null_zeros);
            memset(null_ones, 0, sizeof null_ones);
            recorded = 0;
            c.seed = i;
            CHECK(mcamp_verify_sampled(&ctx, &g, &c, &s) >= 0);
            CHECK(p->samples == null_zeros[dir - 1] + null_ones[dir - 1]);
            if (p->samples) {
                double w = (double)mixture(p->stake, (long double)c.delta / p->range,
                                                    (double)null_zeros[dir - 1],
                                                    (double)null_ones[dir - 1], NULL, 0, 0);
                CHECK_LE(p->log_wealth, w);
                CHECK_NEAR(p->log_wealth, w, 1e-6, 1e-6);
                if (s.accepted) CHECK_LE(log(1 / beta), w);
            }
            accepted += s.accepted;
        }        CHECK_LE((double)accepted, (double)binomial_limit(n, beta, 1e-9));
        if (!mt_quick()) CHECK_LE(0.2 * beta * (double)n, (double)accepted);    /* it has power */
    }
    mcamp_gram_free(&ctx, &g);
}

static int ladder_at_the_null(mcamp__job *j)
{
    return is_proof(j) ? at_the_null(j) : remembered(j);
}

/* The first rungs are sure, the others false, all at the null: certified calibration
 * returns a false sigma with probability at most beta, however many are left to try.     */
TEST(certified_calibration_is_false_less_often_than_beta)
{
    mcamp_gram g;
    watched(ladder_at_the_null);
    gram_make("sqrt:2", "raw", 8, 4, &g);
    mcamp_rng_seed(&null_rng, 7);
    for (uint32_t sure = 0; sure < 4; sure += 3) {
        size_t n = mt_scale(500), wrong = 0;
        double beta = 0.1;
        mcamp_claim c = claim_of(0, 1, 1e-4, beta, MCAMP_REMOVE, 4);
        c.max_samples = UINT64_C(1) << 22;          /* for many rungs, and for each */
        null_from = sure + 1;
        null_delta[0] = null_delta[1] = c.delta;
        for (size_t i = 0; i < n; i++) {
            mcamp_guarantee s;
            recorded = 0;
            CHECK(mcamp_calibrate_certified(&ctx, &g, &c, &s) >= 0);
            CHECK(s.accepted);
            wrong += s.rung > sure;
        }
        CHECK_LE((double)wrong, (double)binomial_limit(n, beta, 1e-9));
        if (!mt_quick()) CHECK_LE(0.05 * beta * (double)n, (double)wrong);  /* it has power */
    }
    mcamp_gram_free(&ctx, &g);
    free(memos);
    memos = NULL;
    memo_count = 0;
}

static int stop_at_second_rung(void *user, double fraction, double best)
{
    uint32_t p = recorded ? record[recorded - 1].purpose : 0;
    (void)user; (void)fraction; (void)best;
    return purpose_base(p) == MCAMP__STREAM_VERIFY && purpose_rung(p) == 2;
}

/* Stopped on its second rung: the first was accepted, but nothing is claimed. */
TEST(an_interrupted_ladder_claims_nothing)
{
    mcamp_gram g;
    mcamp_guarantee s;
    mcamp_claim c = claim_of(0, 1, 1e-4, 1e-6, MCAMP_REMOVE, 4);
    watched(ladder_at_the_null);
    gram_make("sqrt:0", "raw", 7, 4, &g);
    mcamp_rng_seed(&null_rng, 8);
    null_from = 2;
    null_delta[0] = c.delta;
    ctx.progress.fn = stop_at_second_rung;
    memset(&s, 0xff, sizeof s);
    CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &c, &s), MCAMP_Q_INTERRUPTED);
    CHECK(claims_nothing(&s) && s.interrupted && !s.remove.accepted && !s.add.accepted);
    mcamp_gram_free(&ctx, &g);
    free(memos);
    memos = NULL;
    memo_count = 0;
}

/* ---- false acceptance of a law that is sampled ------------------------------------------ *
 * C of two bands in which column j meets the next one only if j mod b is even: its modes fall
 * into pairs that do not meet, and rho is a sum of independent T_i = (e^{L_i} + e^{L_i+1})/b.
 * By put-call parity delta is E (x - rho)_+ and what is linear, x = e^eps or e^-eps.  The laws
 * of the T_i, from a grid in two normals, are put on a lattice with the same mean, which raises
 * the value by the square of its spacing, and convolved: within 4e-4 of itself here.       */
enum { PAIRS_N = 85, PAIRS_B = 32, LATTICE = 1 << 10, GRID = 75 };
static const double per_grid = 0.1;

static double pairs_entry(size_t i, size_t j)
{
    if (i == j) return 0.7 + 0.1 * (double)(i * 5 % 4);
    return i == j + 1 && j % PAIRS_B % 2 == 0 ? 0.6 + 0.1 * (double)(j % 4) : 0;
}

static void pairs_gram(mcamp_gram *g)
{
    static double rows[2 * PAIRS_N];
    mcamp_mech m;
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    for (size_t i = 0; i < PAIRS_N; i++) {
        if (i) rows[d.count++] = pairs_entry(i, i - 1);
        rows[d.count++] = pairs_entry(i, i);
    }
    d.kind = MCAMP_MECH_BANDED;
    d.n = PAIRS_N; d.bands = 2; d.coef = rows;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, PAIRS_B, g), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
}

/* <m_i, m_k> */
static double pairs_dot(size_t i, size_t k)
{
    double dot = 0;
    for (size_t row = 0; row < PAIRS_N; row++) {
        double x = 0, y = 0;
        for (size_t j = i; j <= row; j += PAIRS_B) x += pairs_entry(row, j);
        for (size_t j = k; j <= row; j += PAIRS_B) y += pairs_entry(row, j);
        dot += x * y;
    }
    return dot;
}

/* The law of T_i on the lattice of step h; what is beyond it does not count. */
static void pairs_law(size_t i, double sigma, double h, double *law)
{
    double v = sigma * sigma, a = pairs_dot(i, i) / v, c = pairs_dot(i + 1, i + 1) / v;
    double r = sqrt(a), s = pairs_dot(i, i + 1) / v / r, t = sqrt(c - s * s);
    memset(law, 0, LATTICE * sizeof *law);
    for (int k = -GRID; k <= GRID; k++)
        for (int l = -GRID; l <= GRID; l++) {
            double x = k * per_grid, y = l * per_grid;
            double T = (exp(r * x - a / 2) + exp(s * x + t * y - c / 2)) / PAIRS_B / h;
            double p = exp(-0.5 * (x * x + y * y)) * per_grid * per_grid / 6.283185307179586;
            if (!(T < LATTICE)) continue;
            law[(size_t)T] += p * (1 - (T - floor(T)));
            if (T < LATTICE - 1) law[(size_t)T + 1] += p * (T - floor(T));
        }
}

static double pairs_delta(double sigma, double eps, int add)
{
    static double rho[LATTICE], one[LATTICE], sum[LATTICE];
    double x = exp(add ? -eps : eps), h = x / LATTICE, put = 0;
    memset(rho, 0, sizeof rho);
    rho[0] = 1;
    for (size_t i = 0; i < PAIRS_B; i += 2) {
        pairs_law(i, sigma, h, one);
        memset(sum, 0, sizeof sum);
        for (size_t r = 0; r < LATTICE; r++)
            for (size_t s = 0; r + s < LATTICE; s++) sum[r + s] += rho[r] * one[s];
        memcpy(rho, sum, sizeof rho);
    }
    for (size_t r = 0; r < LATTICE; r++) put += rho[r] * (x - (double)r * h);
    return add ? put / x : 1 - x + put;
}

/* A claim of a little less than delta is accepted less often than beta, by all of verify; one
 * with `more` times the noise nearly always.  The law is of the orders from least to most. */
static void false_and_true_claims(const mcamp_gram *g, mcamp_claim *c, double more,
                                  mcamp_method method, size_t least, size_t most)
{
    enum { TOO_LITTLE = 30, MORE = 10 };
    size_t accepted[2] = { 0, 0 };
    double sigma = c->sigma;
    for (c->seed = 0; c->seed < TOO_LITTLE + MORE; c->seed++) {
        int holds = c->seed >= TOO_LITTLE;
        mcamp_guarantee s;
        const mcamp_proof *p = c->direction == MCAMP_ADD ? &s.add : &s.remove;
        c->sigma = holds ? more * sigma : sigma;
        CHECK(mcamp_verify(&ctx, g, c, &s) >= 0);
        CHECK(p->samples && p->samples % MCAMP_BLOCK == 0 && p->method == method);
        CHECK(p->order >= least && p->order <= most);
        accepted[holds] += s.accepted;
    }
    CHECK_LE((double)accepted[0], (double)binomial_limit(TOO_LITTLE, c->beta, 1e-9));
    CHECK(accepted[1] >= 7);
}

/* The laws that it chooses (remove: TILTED, in clusters, some of the tuples not drawn; add:
 * COMMON).  A mean that is a fifth too small or too large is noticed.                     */
TEST(values_that_are_drawn_prove_nothing_false)
{
    static const double eps[2] = { 1.1, 0.4 }, share[2] = { 0.96, 0.4 };
    mcamp_gram g;
    setup();
    pairs_gram(&g);
    for (int add = 0; add < 2; add++) {
        double sigma = share[add] * g.max_norm;
        mcamp_claim c = claim_of(sigma, eps[add], 0, 0.1, add ? MCAMP_ADD : MCAMP_REMOVE, 0);
        c.delta = pairs_delta(sigma, eps[add], add) * (1 - 1e-3);
        c.max_samples = add ? 3072 : 49152;
        if (add) false_and_true_claims(&g, &c, 1.06, MCAMP_METHOD_COMMON, 0, SIZE_MAX);
        else false_and_true_claims(&g, &c, 1.015, MCAMP_METHOD_TILTED, 4, SIZE_MAX);
    }
    mcamp_gram_free(&ctx, &g);
}

/* ---- modes that are far out ----------------------------------------------------------------- */

TEST(a_mode_cut_at_lambda_has_the_moments_of_its_integral)
{
    static const double a[] = { 1e-3, 0.5, 1.6, 9 }, lambda[] = { 0.7, 3, 6 };
    for (size_t i = 0; i < 12; i++)
        for (double c = 1e-3; c * exp(lambda[i % 3]) < 40; c *= 30) {
            double root = sqrt(a[i / 3]), sum = 0;
            double bend = fmin((lambda[i % 3] + 0.5 * a[i / 3]) / root, 12);
            for (int above = 0; above < 2; above++) {   /* Simpson's rule on either side */
                double z = above ? bend : -12, h = ((above ? 12 : bend) - z) / 20000;
                for (int k = 0; k <= 20000; k++, z += h) {
                    double w = k == 0 || k == 20000 ? 1 : k % 2 ? 4 : 2;
                    double l = fmin(root * z - 0.5 * a[i / 3], lambda[i % 3]);
                    sum += w / 3 * h * exp(-0.5 * z * z) * expm1(c * exp(l));
                }
            }
            sum /= sqrt(6.283185307179586);
            CHECK_LE(sum, mcamp__rest_moment(a[i / 3], lambda[i % 3], c));
            CHECK_NEAR(mcamp__rest_moment(a[i / 3], lambda[i % 3], c), sum, 3e-8, 3e-24);
        }
    CHECK(mcamp__rest_moment(1, 3, 1e9) > DBL_MAX);
}

TEST(normals_above_a_point_have_its_tail)
{
    static const double t[] = { 0.1, 1, 4, 8 };
    mcamp_rng r;
    setup();
    mcamp_rng_seed(&r, 5);
    for (size_t i = 0; i < 4; i++) {
        enum { N = 50000 };
        double mean = 0, square = 0, fourth = 0, m = 1 / mcamp__mills(t[i]);
        for (int k = 0; k < N; k++) {
            double z = mcamp__normal_above(&r, t[i]);
            CHECK(z >= t[i]);
            mean += z / N;
            square += z * z / N;
            fourth += z * z * z * z / N;
        }
        CHECK_NEAR(mean, m, 0, 6.2 * sqrt((square - mean * mean) / N));
        CHECK_NEAR(square, 1 + t[i] * m, 0, 6.2 * sqrt((fourth - square * square) / N));
    }
}

/* ---- the law of modes that are drawn together ---------------------------------------------- */

/* A G that goes round three times and a bit, with corners; or of one epoch, with columns that
 * grow shorter in their own ways.                                                        */
static void squeeze_gram(int round, size_t b, mcamp_gram *g)
{
    if (round) {
        gram_make("toeplitz:1,0.5,0.3,0.1", "raw", 3 * b + 2, b, g);
    } else {
        double *m = (double *)calloc(b * b, sizeof *m);
        for (size_t i = 0; i < b; i++)
            for (size_t j = 0; j < b; j++)
                for (size_t row = i > j ? i : j; row < b && row < i + 4 && row < j + 4; row++)
                    m[i * b + j] += exp(-(0.4 + 0.03 * (double)(i % 7)) * (double)(row - i) -
                                        (0.4 + 0.03 * (double)(j % 7)) * (double)(row - j)) *
                                    (1 - 0.3 * (double)(i + j) / (2 * (double)b));
        for (size_t i = 0; i < b * b; i++)
            m[i] *= (1 + 0.2 * (double)(i / b % 3)) * (1 + 0.2 * (double)(i % b % 3));
        gram_user(m, b, g);
        free(m);
    }
}

/* The law that leaves out `least`, of the d, theta, s and q that are found for it. */
static void squeeze_make(const mcamp__factor *f, double sigma, double eps, mcamp_direction dir,
                         double least, double *x, mcamp__sampler *p)
{
    mcamp__question q = mcamp__ask(f, sigma, eps, dir, 3);
    mcamp__round r;
    mcamp__round_init(&q, least, &r);
    CHECK(mcamp__round_start(&r, x) < 100);
    CHECK_STATUS((dir == MCAMP_ADD ? mcamp__squeeze_sampler
                                   : mcamp__spread_sampler)(&ctx, &q, x, least, p), MCAMP_OK);
    CHECK(p->split >= least);
    CHECK_LE(p->split, least * (1 + 2e-6) + 1e-17 * exp(p->log_range));
}

/* The mean of a law by `blocks` blocks, and its error. */
static double law_mean(const mcamp__sampler *p, uint64_t blocks, double *err)
{
    static mcamp_tally t;
    mcamp__workers w;
    CHECK_STATUS(mcamp__workers_init(&ctx, p, &w), MCAMP_OK);
    mcamp__tally_init(p, &t);
    CHECK_STATUS(mcamp__run_blocks(&ctx, p, &w, 3, 5, 0, blocks, &t), MCAMP_OK);
    CHECK(t.poisoned == 0 && t.count == blocks * MCAMP_BLOCK);  /* none above the range */
    CHECK_NEAR(t.split, p->split, 0, 0);
    *err = mcamp_tally_std_error(&t);
    mcamp__workers_free(&ctx, &w);
    return mcamp_tally_mean(&t);
}

/* Values and what they leave out are delta: of modes that are orthogonal or the same, by bins;
 * of others, by COMMON.                                                                 */
TEST(modes_drawn_together_make_up_delta)
{
    static const struct {
        mcamp_direction dir; int kind; size_t b, alike; double sigma, eps;
    } c[] = {
        { MCAMP_ADD, 0, 128, 4, 0.5, 1 },
        { MCAMP_ADD, 0, 256, 2, 1, 0.6 }, { MCAMP_ADD, 1, 24, 0, 0.7, 0.5 },
        { MCAMP_ADD, 1, 64, 0, 0.6, 1 }, { MCAMP_ADD, 2, 24, 0, 0.5, 0.5 },
        { MCAMP_ADD, 2, 64, 0, 0.9, 0.5 }, { MCAMP_REMOVE, 0, 64, 2, 0.8, 0.3 },
        { MCAMP_REMOVE, 0, 256, 4, 0.9, 0.8 }, { MCAMP_REMOVE, 1, 24, 0, 0.7, 0.5 },
        { MCAMP_REMOVE, 1, 64, 0, 0.6, 1 }, { MCAMP_REMOVE, 2, 64, 0, 0.9, 0.5 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i += mt_few(1, 4)) {
        double x[MCAMP__SQUEEZE_ALL], sigma = c[i].sigma, eps = c[i].eps, off = 0, err, mean;
        mcamp_direction dir = c[i].dir;
        mcamp_interval v;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        setup();
        if (c[i].kind) squeeze_gram(c[i].kind == 1, c[i].b, &g);
        else groups_gram(c[i].b, c[i].alike, &g);
        sigma *= g.max_norm;
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        if (c[i].kind) {
            CHECK_STATUS(mcamp__sampler_build(&ctx, &f, sigma, eps, dir, MCAMP_METHOD_COMMON, 0, 0,
                                              mcamp__inf(), &p), MCAMP_OK);
            v.lower = v.upper = law_mean(&p, 60, &off);
            CHECK(!p.tile);
            mcamp__sampler_free(&ctx, &p);
        } else {
            v = groups_delta(c[i].b / c[i].alike, sigma, eps, dir);
        }
        squeeze_make(&f, sigma, eps, dir, 0.02 * v.upper, x, &p);
        if (i % 3 == 1) ctx.vec = MCAMP_VEC_SCALAR;
        mean = law_mean(&p, 50, &err);
        err = sqrt(err * err + off * off);
        CHECK_LE(mean, v.upper + 6.2 * err);
        CHECK_LE(v.lower, mean + p.split + 6.2 * err);
        CHECK(6.2 * err < 0.1 * mean);
        mcamp__sampler_free(&ctx, &p);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* x := (times G/sigma^2 + diag I)^-1 x, and the logarithm of the determinant; by elimination. */
static double dense_solve(const mcamp__factor *f, double sigma, double times, double diag,
                          double *x)
{
    static long double a[64 * 65];
    size_t b = f->b;
    long double log_det = 0;
    for (size_t i = 0; i < b; i++) {
        for (size_t j = 0; j < b; j++)
            a[i * 65 + j] = (i == j ? (long double)diag : 0) +
                            times * (long double)f->g[i * f->ld + j] / ((long double)sigma * sigma);
        a[i * 65 + 64] = x[i];
    }
    for (size_t k = 0; k < b; k++) {
        log_det += logl(a[k * 65 + k]);
        for (size_t i = 0; i < b; i++)
            for (size_t j = 65; i != k && j-- > k; )
                if (j < b || j == 64)
                    a[i * 65 + j] -= a[i * 65 + k] / a[k * 65 + k] * a[k * 65 + j];
    }
    for (size_t i = 0; i < b; i++) x[i] = (double)(a[i * 65 + 64] / a[i * 65 + i]);
    return (double)log_det;
}

/* N, the mean, and the law of what a tile holds: S = (I + d a)^-1 a column by column. */
TEST(modes_drawn_together_have_their_law)
{
    enum { B = 12, N = 2000, TILE = 64 };       /* N: tiles */
    for (int kind = 0; kind < 8; kind++) {
        static double sum[B], square[B * B], cov[B * B], ones[B], col[B];
        double log_n = 0, x[MCAMP__SQUEEZE_ALL], total = 0, sigma, n = 0;
        const mcamp__squeeze *own;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        mcamp__scratch w;
        mcamp__rng8 normals;
        mcamp_rng r;
        setup();
        if (kind & 1) ctx.vec = MCAMP_VEC_SCALAR;
        squeeze_gram(kind / 2 % 2, B, &g);
        sigma = 0.8 * g.max_norm;
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        if (kind < 4) {
            squeeze_make(&f, sigma, 0.5, MCAMP_ADD, 1e-3, x, &p);
        } else {                                /* any will do */
            mcamp__question q = mcamp__ask(&f, sigma, 0.5, MCAMP_REMOVE, 3);
            x[MCAMP__SQUEEZE_D] = log(kind < 6 ? 0.15 : 0.1);
            x[MCAMP__SQUEEZE_THETA] = log(0.1);
            x[MCAMP__SQUEEZE_S] = log(25);
            x[MCAMP__SQUEEZE_Q] = log(1.5);
            x[MCAMP__SQUEEZE_LAMBDA] = 0.5;
            CHECK_STATUS(mcamp__spread_sampler(&ctx, &q, x, 3e-8, &p), MCAMP_OK);
        }
        own = (const mcamp__squeeze *)p.special;
        CHECK((own->d > 0) == (kind < 4) && (own->theta > 0) == (kind < 4));
        CHECK_NEAR(fabs(own->d), exp(x[MCAMP__SQUEEZE_D]), 1e-12, 0);
        CHECK_LE(fabs(own->d), exp(x[MCAMP__SQUEEZE_D]));
        CHECK(fabs(own->theta) > 0.03 && fabs(own->d) > 0.01);  /* neither is for nothing */
        for (size_t j = 0; j < B; j++) {
            for (size_t i = 0; i < B; i++) col[i] = f.g[i * f.ld + j] / (sigma * sigma);
            log_n = -0.5 * dense_solve(&f, sigma, own->d, 1, col);
            for (size_t i = 0; i < B; i++) cov[i * B + j] = col[i];
        }
        for (size_t i = 0; i < B; i++) {
            ones[i] = 0;
            for (size_t j = 0; j < B; j++) ones[i] += cov[i * B + j];
            total += ones[i];
            CHECK_NEAR(own->mean[i], -own->theta * ones[i], 1e-11, 0);
        }
        log_n += 0.5 * own->theta * own->theta * total;
        CHECK_LE(log_n, own->log_n);            /* what is rounded makes values larger */
        CHECK_NEAR(own->log_n, log_n, 0, 2e-12 * B);
        memset(sum, 0, sizeof sum);
        memset(square, 0, sizeof square);
        CHECK_STATUS(mcamp__scratch_init(&ctx, &p, &w), MCAMP_OK);
        mcamp__rng8_stream(&normals, 5, 1, 2);
        mcamp_rng_stream(&r, 5, 1, 2);
        for (int k = 0; k < N; k++) {
            mcamp__tile(ctx.vec, &p, &normals, &r, &w);
            for (size_t s = 0; s < TILE; s++)
                if (!(w.v[s] <= p.log_range)) CHECK(!"a value above the range");
            for (size_t s = 0; s < TILE; s++) n += kind < 4 || w.hi[s] > 0;
            for (size_t i = 0; i < B; i++)
                for (size_t s = 0; s < TILE; s++) {
                    if (kind >= 4 && !(w.hi[s] > 0)) continue;      /* far out */
                    double y = w.x[i * TILE + s] + own->theta * ones[i];
                    sum[i] += y;
                    for (size_t j = 0; j <= i; j++)
                        square[i * B + j] += y * (w.x[j * TILE + s] + own->theta * ones[j]);
                }
        }
        if (kind >= 4) {
            double odds = exp(own->log_cut - p.log_range);
            CHECK(odds > 0.05 && odds < 0.95);
            CHECK_NEAR(n / (N * TILE), odds, 0, 6.2 * sqrt(odds * (1 - odds) / (N * TILE)));
        }
        for (size_t i = 0; i < B; i++) {
            CHECK_NEAR(sum[i] / n, 0, 0, 6.2 * sqrt(cov[i * B + i] / n));
            for (size_t j = 0; j <= i; j++) {
                double s = cov[i * B + j];
                CHECK_NEAR(square[i * B + j] / n, s, 0,
                           6.2 * sqrt((cov[i * B + i] * cov[j * B + j] + s * s) / n));
            }
        }
        mcamp__scratch_free(&ctx, &w);
        mcamp__sampler_free(&ctx, &p);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* A mode's part against its integral over g, by the trapezoidal rule on either side of where it
 * is cut; the part is taken out of the integral, so that nothing overflows.              */
TEST(a_mode_drawn_together_has_the_part_of_its_integral)
{
    static const double at[4][2] = { { 0.05, 1 }, { 0.7, 1.9 }, { 2.5, 1.3 }, { 9, 3 } };
    size_t seen[2] = { 0, 0 };
    for (int i = 0; i < 512; i++) {
        double a = at[i % 4][0], p = at[i % 4][1], q = -3.5 + i / 4 % 4;
        double d = -4 + 1.5 * (i / 16 % 4);
        double theta = -4 + 1.5 * (i / 64 % 4), n = 20, eps = 0.4, sum = 0, part, width, mid;
        double x[MCAMP__SQUEEZE_ALL], s = i < 256 ? exp(eps) + exp(2.5) : exp(2.5);
        double more = i < 256 ? exp(q) : -exp(q), bend, end, step = 0.004 * sqrt(a);
        x[MCAMP__SQUEEZE_D] = d; x[MCAMP__SQUEEZE_THETA] = theta;
        x[MCAMP__SQUEEZE_S] = 2.5; x[MCAMP__SQUEEZE_Q] = q; x[MCAMP__SQUEEZE_LAMBDA] = 1.5;
        part = i < 256 ? mcamp__squeeze_part(a, p, n, eps, x) : mcamp__spread_part(a, p, n, x);
        width = 1 / a - p * more * exp(d);
        if (!(width > 0)) CHECK(part > 1e300);
        if (!(part < 1e300)) continue;
        mid = p * more * exp(theta) / width;            /* without e^g */
        width = 1 / sqrt(width);
        end = fmax(mid, 0) + 12 * width;
        bend = i < 256 ? end : fmin(1.5 + 0.5 * a, end);
        for (int above = 0; above < 2; above++) {
            double from = above ? bend : fmin(mid, 0) - 30 * sqrt(a) - 12 * width;
            double to = above ? end : bend, h = (to - from) / (2 * ceil((to - from) / step) + 2);
            int last = (int)((to - from) / h + 0.5);
            for (int k = 0; k <= last && to > from; k++) {      /* Simpson's */
                double g = from + k * h, w = h / 3 * (k == 0 || k == last ? 1 : k % 2 ? 4 : 2);
                double f = i < 256 ? -(1 + more) * s / n * exp(g - 0.5 * a)
                                   : s / n * exp(fmin(g - 0.5 * a, 1.5));
                sum += w * exp(-0.5 * g * g / a +
                               p * (f + more * (0.5 * exp(d) * g * g + exp(theta) * g) - part));
            }
        }
        sum = log(sum / sqrt(6.283185307179586 * a)) / p;
        CHECK_LE(sum, 1e-10);
        CHECK_LE(-1e-6, sum);
        seen[i / 256]++;
    }
    CHECK(seen[0] > 50 && seen[1] > 100);
}

/* One mode: by quadrature, the mean of what is said to be left out,
 *     (q-1)^(q-1)/q^q F (c G)^(1-q),  F = (K e^{-s rho})^q or (q/(e s))^q e^{s (rest - e^eps)},
 * and that of what is.                                                                  */
TEST(the_cut_of_one_mode_leaves_out_what_was_said)
{
    static const double at[3][7] = {        /* a, eps, d, theta, s (add: - e^eps), q - 1, lambda */
        { 0.5, 0.2, 0.3, 0.4, 1.5, 0.4, 0.5 }, { 2, 1, 0.4, 1, 0.2, 0.15, 2 },
        { 1, 0, 0.2, 2, 6, 1, 0.3 } };
    for (int i = 0; i < 18; i++) {
        mcamp_direction dir = i < 9 ? MCAMP_ADD : MCAMP_REMOVE;
        double a = at[i % 3][0], eps = at[i % 3][1], sign = i < 9 ? 1 : -1;
        double d = sign * at[i % 3][2], theta = sign * at[i % 3][3], lambda = at[i % 3][6];
        double s = at[i % 3][4] + (i < 9 ? exp(eps) : 0), more = at[i % 3][5], q = 1 + more;
        double log_n = -0.5 * log1p(d * a) + 0.5 * theta * theta * a / (1 + d * a), log_c, part;
        double least = pow(0.1, 1 + i % 9 / 3), bound = 0, left = 0, h = 0.002 * sqrt(a);
        double x[MCAMP__SQUEEZE_ALL], worst = 0;
        for (int k = 0; k < 4; k++) x[k] = log(at[i % 3][2 + k]);
        x[MCAMP__SQUEEZE_LAMBDA] = lambda;
        part = i < 9 ? mcamp__squeeze_part(a, 1, 1, eps, x) : mcamp__spread_part(a, 1, 1, x);
        log_c = mcamp__squeeze_cut(dir, eps, x, log_n, part, log(least));
        for (double g = -60 * sqrt(a); g < 60 * sqrt(a); g += h) {
            double w = h / sqrt(6.283185307179586 * a), rho = exp(g - 0.5 * a);
            double f, far = 0, rest, most;
            double cut = log_c - 0.5 * d * g * g - theta * g - log_n;
            if (i < 9) {
                rest = f = fmax(1 - exp(eps) * rho, 0);
                most = q * (eps - log(s) + s * exp(-eps) - 1 - s * rho);
            } else {
                f = fmax(rho - exp(eps), 0);
                far = fmax(rho - exp(lambda), 0);
                rest = fmin(rho, exp(lambda)) - exp(eps);
                most = q * (log(q / s) - 1) + s * rest;
            }
            bound += w * exp(-0.5 * g * g / a + more * log(more) - q * log(q) + most - more * cut);
            left += w * fmax(exp(-0.5 * g * g / a) * (f - far) - exp(cut - 0.5 * g * g / a), 0);
            worst = fmax(worst, pow(fmax(rest, 0), q) - exp(most) * (1 + 1e-12));
        }
        CHECK_LE(worst, 0);
        CHECK_NEAR(bound, least, i < 9 ? 1e-6 : 1e-5, 0);      /* far has a corner */
        CHECK_LE(left, bound);
    }
}

/* What is left out, drawn plainly. */
TEST(what_modes_drawn_together_leave_out_is_bounded)
{
    static const double least[2] = { 0.05, 0.03 };
    for (int i = 0; i < 4; i++) {
        enum { B = 8, N = 200000 };
        double root[B * B] = { 0 }, x[MCAMP__SQUEEZE_ALL], sum = 0, sum2 = 0, err, sigma, eps = 0.3;
        const mcamp__squeeze *own;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        mcamp_rng r;
        setup();
        squeeze_gram(i / 2, B, &g);
        sigma = 0.7 * g.max_norm;
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        squeeze_make(&f, sigma, eps, MCAMP_ADD, least[i % 2], x, &p);
        own = (const mcamp__squeeze *)p.special;
        for (size_t j = 0; j < B; j++)
            for (size_t k = 0; k <= j; k++) {
                double s = f.g[j * f.ld + k] / (sigma * sigma);
                for (size_t l = 0; l < k; l++) s -= root[j * B + l] * root[k * B + l];
                root[j * B + k] = j == k ? sqrt(s) : s / root[k * B + k];
            }
        mcamp_rng_seed(&r, 78);
        for (int k = 0; k < N; k++) {
            double z[B], rho = 0, log_g = -own->log_n, y;
            for (size_t j = 0; j < B; j += 2) {
                double u = sqrt(-2 * log(1 - mcamp_rng_uniform(&r)));
                double v = 6.283185307179586 * mcamp_rng_uniform(&r);
                z[j] = u * cos(v);
                z[j + 1] = u * sin(v);
            }
            for (size_t j = 0; j < B; j++) {
                double l = 0;
                for (size_t m = 0; m <= j; m++) l += root[j * B + m] * z[m];
                rho += exp(l - 0.5 * f.g[j * f.ld + j] / (sigma * sigma)) / B;
                log_g -= 0.5 * own->d * l * l + own->theta * l;
            }
            y = fmax(1 - exp(eps) * rho, 0);
            y = fmax(y - exp(p.log_range + log_g), 0);
            sum += y / N;
            sum2 += y * y / N;
        }
        err = sqrt((sum2 - sum * sum) / N);
        CHECK_LE(sum, p.split + 6.2 * err);
        CHECK_LE(p.split, 1000 * sum);
        CHECK(6.2 * err < 0.5 * sum);
        mcamp__sampler_free(&ctx, &p);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* A loss that is no number makes its value none, one above the cut the range; samples whose
 * rho is on the other side are worth nothing.                                           */
TEST(modes_drawn_together_that_are_no_number)
{
    enum { B = 24, TILE = 64 };
    double x[MCAMP__SQUEEZE_ALL];
    mcamp_gram g;
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__scratch w;
    mcamp_rng r;
    for (int i = 0; i < 4; i++) {
        int add = i < 2;
        setup();
        if (i % 2) ctx.vec = MCAMP_VEC_SCALAR;
        squeeze_gram(1, B, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        squeeze_make(&f, g.max_norm, 0.5, add ? MCAMP_ADD : MCAMP_REMOVE, 1e-5, x, &p);
        CHECK_STATUS(mcamp__scratch_init(&ctx, &p, &w), MCAMP_OK);
        mcamp_rng_seed(&r, 5);
        for (size_t k = 0; k < B * TILE; k++) w.x[k] = 0;
        w.x[7 * TILE + 3] = mcamp__nan();
        w.x[(B - 1) * TILE + 9] = mcamp__nan();
        for (size_t k = 0; k < B; k++) {
            w.x[k * TILE + 11] = add ? 1000 : -1000;
            w.x[k * TILE + 12] = -w.x[k * TILE + 11];
        }
        p.tile(ctx.vec, &p, &r, &w);
        for (size_t s = 0; s < TILE; s++) {
            CHECK(mcamp__isnan(w.v[s]) == (s == 3 || s == 9));
            if (s == 11 && add) CHECK(w.v[s] < -DBL_MAX);
            if (s == 12 && add) CHECK_NEAR(w.v[s], p.log_range, 0, 0);
            CHECK(s == 3 || s == 9 || w.v[s] <= p.log_range);
        }
        mcamp__scratch_free(&ctx, &w);
        mcamp__sampler_free(&ctx, &p);
        CHECK(!p.special && !p.drop);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* 0: add; 1: remove, by tuples of cut modes; 2: by modes far out and together. */
static mcamp_status better_law(mcamp_ctx *c, void *user)
{
    static const double x[MCAMP__SQUEEZE_ALL] = { -2, -3, 3, 0, 1 };
    int which = *(const int *)user;
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__question q;
    mcamp_status st = mcamp__factor_init(c, &fault_gram, &f);
    if (st < 0) return st;
    q = mcamp__ask(&f, (which == 1 ? 1 : 0.8) * fault_gram.max_norm, which == 1 ? 1 : 0.5,
                   which ? MCAMP_REMOVE : MCAMP_ADD, 3);
    if (which == 2) {
        st = mcamp__spread_sampler(c, &q, x, 1e-5, &p);
    } else {
        st = mcamp__sampler_build(c, &f, q.sigma, q.eps, q.dir, MCAMP_METHOD_DEFAULT, 0, 0,
                                  mcamp__inf(), &p);
        if (st >= 0) st = mcamp__law_better(c, &q, 1e-5, &p);
    }
    if (st >= 0) {
        CHECK(p.tile && p.special && (which == 1) == (p.split <= 0));
        mcamp__sampler_free(c, &p);
    }
    mcamp__factor_free(c, &f);
    return st;
}

/* What failed is free of all that it had. */
TEST(modes_drawn_together_without_memory)
{
    setup();
    gram_make("sqrt:2", "raw", 80, 80, &fault_gram);
    for (int which = 0; which < 3; which++) {
        CHECK_STATUS(better_law(&ctx, &which), MCAMP_OK);
        CHECK(mt_all_faults("a better law", better_law, &which) > 12);
    }
    mcamp_gram_free(&ctx, &fault_gram);
}

/* The law is used where its range is two thirds of the other's or less, and only there. */
TEST(the_better_law_has_the_smaller_range)
{
    size_t better[3] = { 0, 0, 0 };
    mcamp_gram g;
    mcamp__factor f;
    setup();
    gram_make("sqrt:3", "raw", 150, 50, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    for (int i = 0; i < 48; i++) {
        mcamp_direction dir = i < 24 ? MCAMP_ADD : MCAMP_REMOVE;
        double before, sigma = (0.5 + 0.25 * (i % 24 / 4)) * g.max_norm;
        mcamp__question q = mcamp__ask(&f, sigma, 0.25 * (1 + i % 4), dir, 3);
        mcamp__sampler p;
        CHECK_STATUS(mcamp__sampler_build(&ctx, &f, q.sigma, q.eps, q.dir, MCAMP_METHOD_DEFAULT, 0,
                                          0, mcamp__inf(), &p), MCAMP_OK);
        before = p.log_range;
        CHECK_STATUS(mcamp__law_better(&ctx, &q, 1e-4, &p), MCAMP_OK);
        CHECK(p.tile ? p.log_range < before - 0.4 : p.log_range >= before);
        CHECK(p.tile && (dir == MCAMP_ADD || p.k < 2) ? p.split > 5e-5
              : p.split <= (dir == MCAMP_ADD ? 1e-10 : 0));
        better[dir] += p.tile != NULL;
        mcamp__sampler_free(&ctx, &p);
    }
    for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++)
        CHECK(better[dir] > 3 && better[dir] < 21);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* All of verify with that law.  COMMON's range is 1e4 times delta here and more. */
TEST(modes_drawn_together_prove_claims)
{
    static const struct { const char *name; double sigma; } c[] = {
        { "sqrt:4", 1.24 }, { "sqrt:8", 1.59 }, { "sqrt:16", 2.1 } };
    enum { LESS = 30 };
    size_t accepted = 0;
    mcamp_gram g;
    mcamp_guarantee s;
    mcamp_claim one = claim_of(0.9, 0.5, 0, 0.1, MCAMP_ADD, 0);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_claim q = claim_of(0, 0.5, 1e-8, 1e-6, MCAMP_ADD, 1);
        setup();
        gram_make(c[i].name, "raw", 512, 256, &g);
        q.sigma = c[i].sigma * g.max_norm;
        q.max_samples = 16 * MCAMP_BLOCK;
        CHECK_STATUS(mcamp_verify(&ctx, &g, &q, &s), MCAMP_OK);
        CHECK(s.accepted && s.add.samples >= MCAMP_BLOCK && s.add.samples <= 4 * MCAMP_BLOCK);
        CHECK(s.add.method == MCAMP_METHOD_COMMON && s.add.range < 100 * q.delta);
        q.delta *= 0.1;
        CHECK(mcamp_verify(&ctx, &g, &q, &s) > 0 && !s.accepted && s.add.samples > 0);
        mcamp_gram_free(&ctx, &g);
    }
    groups_gram(256, 2, &g);
    one.delta = groups_delta(128, one.sigma, one.eps, MCAMP_ADD).lower;
    one.max_samples = 4 * MCAMP_BLOCK;
    for (one.seed = 0; one.seed < LESS; one.seed++) {     /* a little less than delta */
        CHECK(mcamp_verify(&ctx, &g, &one, &s) >= 0);
        CHECK(s.add.samples && s.add.range < 60 * one.delta);
        accepted += s.accepted;
    }
    CHECK_LE((double)accepted, (double)binomial_limit(LESS, one.beta, 1e-9));
    mcamp_gram_free(&ctx, &g);
}

/* ---- the law of tuples of cut modes --------------------------------------------------------- */

/* a_ij fading by 0.65 from one to the next, going round. */
static void fading_gram(int lengths, size_t b, mcamp_gram *g)
{
    double *m = (double *)calloc(b * b, sizeof *m);
    for (size_t i = 0; i < b * b; i++) {
        size_t d = i / b < i % b ? i % b - i / b : i / b - i % b;
        m[i] = pow(0.65, (double)(d < b - d ? d : b - d));
        if (lengths) m[i] *= (1 + 0.1 * (double)(i / b % 3)) * (1 + 0.1 * (double)(i % b % 3));
    }
    gram_user(m, b, g);
    free(m);
}

/* kind 0: modes in groups, each of `alike` equal ones; 1: going round, with corners; 2: of their
 * own lengths; 3: pairs; 4: of which those at distance 2 meet more than neighbours; 5: which all
 * meet, the less the farther apart; 6: so, too, each of its own length.                   */
static void cut_gram(int kind, size_t b, size_t alike, mcamp_gram *g)
{
    if (kind == 0) groups_gram(b, alike, g);
    else if (kind == 3) pairs_gram(g);
    else if (kind == 4) gram_make("toeplitz:1,0.1,0.6", "raw", 2 * b - 3, b, g);
    else if (kind >= 5) fading_gram(kind == 6, b, g);
    else squeeze_gram(kind == 1, b, g);
}

/* Where clusters end: where modes no longer meet, or before. */
static size_t cut_reach_of(const mcamp__factor *f)
{
    return 2 * f->reach + 1 < f->b ? f->reach : f->b < 48 ? 3 : 5;
}

/* log of the most that different clusters add to U. */
static double cut_beyond(const mcamp__cut *own, size_t k)
{
    return 0.5 * own->beyond * (double)(k * k);
}

static const mcamp__cut *cut_make(const mcamp__factor *f, double sigma, double eps,
                                  mcamp__sampler *p)
{
    mcamp__question q = mcamp__ask(f, sigma, eps, MCAMP_REMOVE, 3);
    const mcamp__cut *own;
    CHECK_STATUS(mcamp__cut_sampler(&ctx, &q, cut_reach_of(f), 40, p), MCAMP_OK);
    CHECK(p->tile && p->special && p->k > 1);
    own = (const mcamp__cut *)p->special;
    CHECK(own->rows <= (f->b - 1) / cut_reach_of(f) + 1 && own->p == cut_reach_of(f) + 1);
    CHECK((own->beyond > 0) == (own->p <= f->reach));
    CHECK_NEAR(own->log_cut, own->log_z + cut_beyond(own, own->k) + mcamp__tilted_log_sup(own->k) -
                             ((double)own->k - 1) * eps, 0, 1e-8);
    return own;
}

/* The law of such a G at sigma = share times the longest column's norm. */
static const mcamp__cut *cut_open(int kind, size_t b, size_t alike, double share, double eps,
                                  mcamp_gram *g, mcamp__factor *f, mcamp__sampler *p)
{
    setup();
    cut_gram(kind, b, alike, g);
    CHECK_STATUS(mcamp__factor_init(&ctx, g, f), MCAMP_OK);
    return cut_make(f, share * g->max_norm, eps, p);
}

static void cut_close(mcamp_gram *g, mcamp__factor *f, mcamp__sampler *p)
{
    mcamp__sampler_free(&ctx, p);
    CHECK(!p->special && !p->drop);
    mcamp__factor_free(&ctx, f);
    mcamp_gram_free(&ctx, g);
}

/* Delta, of groups and pairs exactly, of others by COMMON; nothing is left out. */
TEST(tuples_of_cut_modes_make_up_delta)
{
    static const struct { int kind; size_t b, alike; double sigma, eps; } c[] = {
        { 0, 128, 2, 0.6, 1 }, { 0, 128, 4, 0.6, 2 }, { 0, 192, 2, 0.8, 1 },
        { 0, 192, 3, 0.5, 0.7 }, { 0, 256, 8, 0.7, 0.5 }, { 1, 96, 0, 0.6, 1 },
        { 1, 64, 0, 0.5, 0.5 }, { 2, 64, 0, 0.8, 0.5 }, { 2, 96, 0, 0.6, 1.2 },
        { 3, 0, 0, 0.9, 0.8 }, { 3, 0, 0, 0.7, 1.1 },
        { 4, 80, 0, 0.6, 1 }, { 5, 96, 0, 0.8, 1 }, { 5, 127, 0, 0.7, 0.6 },
        { 6, 90, 0, 0.7, 1.2 } };
    size_t both = 0;        /* where both terms are drawn often */
    for (size_t i = 0; i < sizeof c / sizeof *c; i += mt_few(1, 5)) {
        double eps = c[i].eps, off = 0, sigma, err, mean, odds;
        const mcamp__cut *own;
        mcamp_interval v;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        setup();
        cut_gram(c[i].kind, c[i].b, c[i].alike, &g);
        sigma = c[i].sigma * g.max_norm;
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        if (c[i].kind == 0) {
            v = groups_delta(c[i].b / c[i].alike, sigma, eps, MCAMP_REMOVE);
        } else if (c[i].kind == 3) {
            v.upper = pairs_delta(sigma, eps, 0) * (1 + 1e-3);
            v.lower = v.upper * (1 - 2e-3);
        } else {
            CHECK_STATUS(mcamp__sampler_build(&ctx, &f, sigma, eps, MCAMP_REMOVE,
                                              MCAMP_METHOD_COMMON, 0, 0, mcamp__inf(), &p),
                         MCAMP_OK);
            v.lower = v.upper = law_mean(&p, 60, &off);
            mcamp__sampler_free(&ctx, &p);
        }
        own = cut_make(&f, sigma, eps, &p);
        odds = exp(own->log_cut - p.log_range);
        if (i % 3 == 1) ctx.vec = MCAMP_VEC_SCALAR;
        mean = law_mean(&p, 50, &err);
        err = sqrt(err * err + off * off);
        CHECK_LE(mean, v.upper + 6.2 * err);
        CHECK_LE(v.lower, mean + 6.2 * err);
        CHECK(6.2 * err < 0.2 * mean && p.split <= 0 && p.k == own->k);
        both += odds > 0.3 && odds < 0.7;
        cut_close(&g, &f, &p);
    }
    if (!mt_quick()) CHECK(both >= 3);
}

/* A law's tables are the same to the bit in tasks that run backwards. */
TEST(cut_tables_by_tasks)
{
    static const struct { int kind; size_t b, alike; double share, eps; } c[] = {
        { 1, 96, 0, 0.6, 1 }, { 4, 80, 0, 0.6, 1 }, { 5, 127, 0, 0.7, 0.6 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        const mcamp__cut *own, *other;
        size_t tasks = 0;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p, same;
        own = cut_open(c[i].kind, c[i].b, c[i].alike, c[i].share, c[i].eps, &g, &f, &p);
        ctx.parallel.run = mt_backwards; ctx.parallel.user = &tasks; ctx.brisk = true;
        other = cut_make(&f, c[i].share * g.max_norm, c[i].eps, &same);
        ctx.parallel.run = NULL; ctx.brisk = false;
        CHECK(tasks > 0 && own->k == other->k && own->count == other->count);
        CHECK(!memcmp(own->mem, other->mem, own->count * sizeof *own->mem));
        mcamp__sampler_free(&ctx, &same);
        cut_close(&g, &f, &p);
    }
}

/* Modes that all meet: one that is drawn far out moves each once, the one half around, too. */
TEST(modes_far_out_move_the_others_once)
{
    enum { TILE = 64 };
    for (size_t b = 8; b <= 9; b++) {
        double *x = (double *)calloc(b * TILE, sizeof *x);
        mcamp_gram g;
        mcamp__factor f;
        mcamp__question q;
        mcamp__sampler p;
        mcamp_rng r;
        setup();
        fading_gram(0, b, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        q = mcamp__ask(&f, 0.6, 1, MCAMP_REMOVE, 3);
        CHECK_STATUS(mcamp__far_sampler(&ctx, &q, 3, 0, &p), MCAMP_OK);
        mcamp_rng_seed(&r, 12);
        for (size_t s = 0; s < TILE; s++) {
            size_t i = 0;
            mcamp__far_draw(&p, &r, s, x);
            for (size_t j = 1; j < b; j++) if (x[j * TILE + s] > x[i * TILE + s]) i = j;
            CHECK_LE(p.off_w[i], x[i * TILE + s]);
            for (size_t j = 0; j < b; j++)
                CHECK_NEAR(x[j * TILE + s] * f.g[i * f.ld + i], x[i * TILE + s] * f.g[i * f.ld + j],
                           1e-12, 0);
        }
        cut_close(&g, &f, &p);
        free(x);
    }
}

/* Memory for a tuple of k. */
static mcamp__cut_tuple cut_tuple(uint32_t *index, size_t k)
{
    mcamp__cut_tuple t;
    t.site = index; t.count = index + k; t.of = index + 2 * k;
    t.kind = index + 3 * k; t.longer = index + 4 * k; t.head = index + 5 * k;
    t.n = t.clusters = 0;
    return t;
}

/* Order k, every cluster of the tilt `kind`. */
static void cut_order(const mcamp__cut *own, size_t k, uint32_t kind)
{
    mcamp__cut *q = (mcamp__cut *)(uintptr_t)own;
    size_t r, at;
    while (q->grown < k) mcamp__cut_grow(q);
    for (size_t m = 1; m <= k; m++)
        for (size_t l = 0; l < q->levels; l++) {
            mcamp__clusters *c = &q->level[l];
            q->kind[l * q->rows + m] = kind;
            c->size[m] = exp(q->log_size[(l * MCAMP__CUT_TILTS + kind) * q->rows + m] +
                             (double)m * mcamp__cut_more(q, kind) - mcamp__cut_own(q, m));
            for (r = 1; r <= m; r++)
                c->v[m * c->rows + r] = mcamp__clusters_split(c, m, r, mcamp__inf(), &at);
        }
    q->k = k;
    q->log_z = log(mcamp__cut_number(q, k, mcamp__inf(), &r));
}

/* sum_i n_i (n_i t - 1) t a_ii/2 + sum_{i<j} n_i n_j t^2 a_ij, of indices, doubled. */
static double tuple_energy(const mcamp__model *m, const size_t *index, size_t k, double t)
{
    double sum = 0;
    for (size_t x = 0; x < k; x++) {
        for (size_t y = 0; y < k; y++) sum += t * t * mcamp__model_a(m, index[x], index[y]);
        sum -= t * mcamp__model_a(m, index[x], index[x]);
    }
    return sum;
}

/* Is the first of r clusters of n members in all as often as its part of Z says?  Some draws of
 * more than a site have none: at most a tenth.                                          */
static void cut_members(const mcamp__cut *own, size_t k, size_t r, double draws,
                        const size_t *seen)
{
    const mcamp__clusters *c = &own->level[mcamp__cut_level(r)];
    double ways = (double)c->b * (double)k / (double)r;
    for (size_t n = 1; n <= k; n++) {
        double odds = exp(-own->log_z) * own->level[0].place[r] * ways * c->size[n] *
                      c->v[(k - n) * c->rows + r - 1];
        ways *= (double)(k - n) / (double)(n + 1);
        CHECK_LE((double)seen[n], draws * odds + 6.2 * sqrt(draws * odds) + 20);
        CHECK_LE(0.85 * draws * odds - 6.2 * sqrt(draws * odds) - 20, (double)seen[n]);
    }
}

/* Untilted, the mean of Z e^{S - U} is the sum of b^-k e^S over all tuples, here one by one; log_z
 * is without what different clusters add.                                                */
TEST(tuples_of_cut_modes_are_all_tuples)
{
    static const struct { int kind; size_t b, alike, k; } c[] = {
        { 0, 16, 2, 4 }, { 0, 18, 3, 4 }, { 1, 20, 0, 4 }, { 2, 20, 0, 4 }, { 2, 24, 0, 3 },
        { 1, 19, 0, 2 }, { 0, 40, 2, 3 }, { 4, 21, 0, 4 }, { 5, 18, 0, 4 }, { 6, 21, 0, 4 },
        { 5, 29, 0, 3 }, { 6, 19, 0, 2 }, { 5, 13, 0, 4 } };        /* the last: half around */
    enum { N = 60000, MOST = 24 };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        double all = 0, sum = 0, square = 0, err;
        size_t k = c[i].k, b = c[i].b, index[4] = { 0, 0, 0, 0 };
        size_t members[5][5] = { { 0 } }, gap[MOST] = { 0 };    /* by clusters: the first's */
        uint32_t mem[24];
        const mcamp__cut *own;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        mcamp_rng r;
        own = cut_open(c[i].kind, b, c[i].alike, 0.9, 1, &g, &f, &p);
        CHECK(k * (own->p - 1) < b);
        cut_order(own, k, 0);
        for (;;) {
            size_t j = 0;
            all += exp(0.5 * tuple_energy(&p.m, index, k, 1) - (double)k * log((double)b));
            while (j < k && ++index[j] == b) index[j++] = 0;
            if (j == k) break;
        }
        mcamp_rng_seed(&r, 60 + i);
        for (int n = 0; n < N; n++) {
            mcamp__cut_tuple t = cut_tuple(mem, k);
            double log_w = mcamp__cut_clusters(own, &r, &t);
            size_t at = 0;
            if (!(log_w > -DBL_MAX)) continue;
            for (size_t j = 0; j < t.n && t.of[j] == 0; j++) at += t.count[j];
            members[t.clusters][at]++;
            at = 0;
            log_w += mcamp__cut_place(own, &r, &t);
            if (!(log_w > -DBL_MAX)) continue;
            if (k == 2 && t.clusters == 2) gap[(t.site[1] + b - t.site[0]) % b]++;
            for (size_t j = 0; j < t.n; j++)
                for (size_t h = 0; h < t.count[j]; h++) index[at++] = t.site[j];
            CHECK(at == k);
            for (size_t x = 0; x < t.n; x++)
                for (size_t y = 0; y < x; y++)
                    if (t.of[x] != t.of[y])
                        CHECK_LE(mcamp__model_a(&p.m, t.site[x], t.site[y]), own->beyond);
            log_w += 0.5 * tuple_energy(&p.m, index, k, 1);
            CHECK_LE(log_w, own->log_z + cut_beyond(own, k) + 1e-9);            /* S <= U */
            sum += exp(log_w) / N;
            square += exp(2 * log_w) / N;
        }
        for (size_t j = 1; j <= k; j++) cut_members(own, k, j, N, members[j]);
        for (size_t d = 0, q = own->p; k == 2 && d < b; d++) {
            double odds = 1 / (double)(b - 2 * q + 1), n = (double)members[2][1];
            if (d < q || d + q > b) CHECK(!gap[d]);
            else CHECK_NEAR((double)gap[d], n * odds, 0, 6.2 * sqrt(n * odds));
        }
        err = sqrt((square - sum * sum) / N);
        CHECK_NEAR(sum, all, 0, 6.2 * err);
        CHECK(6.2 * err < 0.06 * all);
        {                                               /* too long for the ring */
            mcamp__cut_tuple t = cut_tuple(mem, k);
            t.clusters = t.n = 1;
            t.of[0] = t.site[0] = 0;
            t.longer[0] = (uint32_t)(b + 1 - own->p);
            CHECK(mcamp__cut_place(own, &r, &t) < -DBL_MAX);
            t.longer[0]--;
            CHECK_NEAR(mcamp__cut_place(own, &r, &t), 0, 0, 0);
        }
        cut_close(&g, &f, &p);
    }
}

/* A sample is moved by what it says, and its factor at most Z, wherever it is. */
TEST(tuples_of_cut_modes_have_bounded_values)
{
    enum { N = 3000, TILE = 64 };
    for (int i = 0; i < 24; i++) {
        double most = -1e9;
        size_t b = i % 2 ? 60 : 48, k = 2 + (size_t)(i % 5) * 2;
        double *x = (double *)calloc(TILE * b, sizeof *x), *move = (double *)calloc(b, sizeof *x);
        uint32_t mem[6 * 10];
        const mcamp__cut *own;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        mcamp_rng r;
        own = cut_open(i % 4 == 3 ? 5 + i / 4 % 2 : i % 3 ? i % 3 : 4, b, 0, 0.5 + 0.05 * i, 0.7,
                       &g, &f, &p);
        if (k * (own->p - 1) >= b) k = (b - 1) / (own->p - 1);
        cut_order(own, k, (uint32_t)(i % 8));
        mcamp_rng_seed(&r, 160 + (uint64_t)i);
        for (int n = 0; n < N; n++) {
            mcamp__cut_tuple t = cut_tuple(mem, k);
            double log_w = mcamp__cut_clusters(own, &r, &t), direct = 0, factor;
            if (log_w > -DBL_MAX) log_w += mcamp__cut_place(own, &r, &t);
            if (!(log_w > -DBL_MAX)) continue;
            for (size_t j = 0; j < b; j++) {
                move[j] = 0;
                for (size_t h = 0; h < t.n; h++)
                    move[j] += own->tilt[t.kind[t.of[h]]] * t.count[h] *
                               mcamp__model_a(&p.m, j, t.site[h]);
                x[j * TILE + 5] = own->lambda + p.m.half[j] - move[j];
                if (n % 3 == 1) x[j * TILE + 5] += 0.5 - mcamp_rng_uniform(&r);
                x[j * TILE + 6] = x[j * TILE + 5];
                move[j] += x[j * TILE + 5];
            }
            factor = mcamp__cut_move(own, &p.m, &t, 5, x);
            for (size_t h = 0; h < t.n; h++) {
                size_t at = t.site[h];
                double beta = own->tilt[t.kind[t.of[h]]] * t.count[h], l = move[at] - p.m.half[at];
                for (size_t j = 0; j < t.n; j++)
                    direct += 0.5 * beta * own->tilt[t.kind[t.of[j]]] * t.count[j] *
                              mcamp__model_a(&p.m, at, t.site[j]);
                direct += t.count[h] * fmin(l, own->lambda) - beta * l -
                          0.5 * beta * mcamp__model_a(&p.m, at, at);
            }
            for (size_t j = 0; j < b; j++) {
                CHECK_NEAR(x[j * TILE + 5], move[j], 0, 1e-9);
                CHECK_LE(x[j * TILE + 6], x[j * TILE + 5]);
            }
            CHECK_NEAR(factor, direct, 0, 1e-9);
            CHECK_LE(log_w + factor, own->log_z + cut_beyond(own, k) + 1e-9);
            if (log_w + factor > most) most = log_w + factor;
        }
        CHECK_LE(own->log_z, most + 1);                 /* the bound is nearly reached */
        free(x);
        free(move);
        cut_close(&g, &f, &p);
    }
}

/* G_n(h) of its definition. */
static double cut_g(const mcamp__cut *own, size_t l, double t, size_t n, double h)
{
    double sum = 0;
    if (!n) return 1;
    for (size_t d = 1; d < own->p; d++) {
        double part = 1;
        for (size_t i = 1; i <= n; i++) {
            part /= (double)i;
            sum += part * exp(t * t * ((double)(i * (i - 1)) * 0.5 * own->a[0] +
                                       (double)i * own->a[d] * h) - own->theta[l] * (double)d) *
                   cut_g(own, l, t, n - i, own->phi[d] * h + (double)i);
        }
    }
    return sum;
}

/* G is above that, everywhere, and by little. */
TEST(sums_of_cut_modes_to_come_are_bounds)
{
    for (int i = 0; i < 16; i++) {
        size_t l = (size_t)(i % 3), kind = (size_t)(i * 5 % 8);
        const mcamp__cut *own;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        own = cut_open(i == 9 ? 5 : i % 4 == 3 ? 4 : i % 4, 48, 3, 0.8, 1, &g, &f, &p);
        cut_order(own, 6, 0);
        CHECK(l < own->levels);
        for (size_t n = 1; n <= 4; n++)
            for (double h = 1; h <= 6 - (double)n; h += 0.0625) {
                double line = mcamp__cut_line(mcamp__cut_row(own, l, kind, n), h);
                double exact = cut_g(own, l, own->tilt[kind], n, h);
                CHECK_LE(exact, line * (1 + 1e-12));
                CHECK_LE(line, exact * (1 + 0.04 * (double)(n * n)));
            }
        for (size_t d = 1; d <= f.reach; d++) {         /* phi is for all that follow */
            CHECK(own->a[d] <= own->a[d - 1] && (d >= own->p || own->phi[d] <= 1 + 1e-12));
            for (size_t e = 1; d + e <= f.reach && e < own->p; e++)
                CHECK_LE(own->a[d + e], own->a[d] * own->phi[e]);
        }
        cut_close(&g, &f, &p);
    }
}

/* The sum over all clusters of m labelled members from one place on, here one by one, is below
 * what the tables have, and by little.                                                   */
TEST(sums_of_clusters_of_cut_modes_are_bounds)
{
    static const struct { int kind; size_t b, alike, m; } c[] = {
        { 0, 24, 2, 5 }, { 0, 32, 4, 3 }, { 1, 40, 0, 4 }, { 2, 44, 0, 4 }, { 2, 44, 0, 3 },
        { 4, 40, 0, 4 }, { 5, 40, 0, 4 }, { 6, 17, 0, 4 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        for (size_t kind = 0; kind < 8; kind += 3)
            for (size_t level = 0; level < 3; level++) {
                size_t b = c[i].b, m = c[i].m, index[5] = { 0, 0, 0, 0, 0 }, p;
                double most = 0, t, said;
                const mcamp__cut *own;
                mcamp_gram g;
                mcamp__factor f;
                mcamp__sampler law;
                own = cut_open(c[i].kind, b, c[i].alike, 0.9, 1, &g, &f, &law);
                cut_order(own, m, (uint32_t)kind);
                p = own->p;
                t = own->tilt[kind];
                for (size_t from = 0; from < b; from++) {       /* of the first site */
                    double sum = 0;
                    memset(index, 0, sizeof index);
                    for (;;) {
                        size_t j = 0, bin[5], end = 0, run = 0, first = m;
                        for (size_t x = 0; x < m; x++) if (index[x] < first) first = index[x];
                        for (size_t step = 0; first == 0 && step <= end + p - 1; step++)
                            for (size_t x = 0; x < m; x++)
                                if (index[x] == step) { end = step; run++; }
                        for (size_t x = 0; x < m; x++) bin[x] = (from + index[x]) % b;
                        if (first == 0 && run == m)
                            sum += exp(0.5 * tuple_energy(&law.m, bin, m, t) +
                                       (double)m * (1 - t) * own->lambda -
                                       own->theta[level] * (double)end -
                                       (double)m * log((double)b));
                        while (j < m && ++index[j] == (m - 1) * (p - 1) + 1) index[j++] = 0;
                        if (j == m) break;
                    }
                    if (sum > most) most = sum;
                }
                said = own->level[level].size[m] * exp(cut_beyond(own, m));
                CHECK(level < own->levels);
                CHECK_LE(most, said * (1 + 1e-12));
                CHECK_LE(said, 2 * most * exp(cut_beyond(own, m)));
                cut_close(&g, &f, &law);
            }
}

/* A loss that is no number makes its value none, by either term; where far is large, rest is added
 * up.                                                                                   */
TEST(tuples_of_cut_modes_that_are_no_number)
{
    enum { B = 64, TILE = 64 };
    size_t tuples = 0, large = 0;
    mcamp_gram g;
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__scratch w;
    mcamp_rng r;
    cut_open(1, B, 0, 0.5, 1, &g, &f, &p);
    CHECK_STATUS(mcamp__scratch_init(&ctx, &p, &w), MCAMP_OK);
    mcamp_rng_seed(&r, 5);
    for (int turn = 0; turn < 4; turn++) {
        for (size_t i = 0; i < B * TILE; i++) w.x[i] = 3 * mcamp_rng_uniform(&r);
        for (size_t i = 0; i < B; i++) w.x[i * TILE + 3] = w.x[i * TILE + 9] = mcamp__nan();
        w.x[17 * TILE + 20] = mcamp__nan();
        p.tile(ctx.vec, &p, &r, &w);
        for (size_t s = 0; s < TILE; s++) {
            CHECK(mcamp__isnan(w.v[s]) == (s == 3 || s == 9 || s == 20));
            tuples += w.hi[s] > 0;
        }
    }
    CHECK(tuples > 20 && tuples < 4 * TILE);
    for (int big = 0; big < 12; big++) {        /* far up to e^33 */
        double rho = 0, far_sum, rest = 0;
        for (size_t i = 0; i < B; i++) {
            double x = p.off_w[i] + (i % 7 ? -1 - 0.1 * (double)i : 3.0 * big);
            w.x[i * TILE + 4] = x;
            rho += exp(x + p.off_loss[i]);
            rest += exp(fmin(x, p.off_w[i]) + p.off_loss[i]);
        }
        far_sum = mcamp__far_sum(&p, &w, 4);
        CHECK_NEAR(mcamp__cut_rest(&p, &w, 4, rho, far_sum), rest, 1e-10, 0);
        large += far_sum > 1e3;
    }
    CHECK(large > 3 && large < 11);
    mcamp__scratch_free(&ctx, &w);
    cut_close(&g, &f, &p);
}

/* Modes that reach lambda with no probability that a number can hold prove nothing; nor do sums
 * that overflow.                                                                        */
TEST(tuples_of_cut_modes_where_there_is_no_law)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__question q;
    mcamp__sampler p;
    setup();
    groups_gram(64, 2, &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    q = mcamp__ask(&f, 300, 1, MCAMP_REMOVE, 3);
    memset(&p, 0, sizeof p);
    CHECK_STATUS(mcamp__law_better(&ctx, &q, 1e-10, &p), MCAMP_OK);
    CHECK(!p.tile);
    mcamp__sampler_free(&ctx, &p);
    q.sigma = 0.02;             /* most sums are no numbers; delta is 1, and so is the range */
    CHECK_STATUS(mcamp__cut_sampler(&ctx, &q, f.reach, 40, &p), MCAMP_OK);
    CHECK(p.tile != NULL);
    CHECK_LE(0, p.log_range);
    CHECK_LE(p.log_range, 1e-8);
    cut_close(&g, &f, &p);
}

/* Few modes at a small eps: their range is near delta at an order of a thousand and more, and a
 * thousand values prove what two hundred orders took millions for.                       */
TEST(orders_in_thousands_prove_claims)
{
    static const struct { const char *name; size_t n, b; double sigma, eps, delta; uint64_t order; }
        c[] = { { "sqrt:2", 2, 2, 348.9926, 0.01, 3.37e-8, 1000 },
                { "sqrt:2", 8, 8, 196.1831, 0.01, 3.99e-8, 1000 },
                { "blt:0.7:0.3", 15, 10, 48.98955, 0.1, 3e-15, 300 } };
    setup();
    for (size_t i = 0; i < sizeof c / sizeof *c; i += mt_few(1, 3)) {
        mcamp_claim q = claim_of(0, c[i].eps, c[i].delta, c[i].delta, MCAMP_REMOVE, 1);
        mcamp_gram g;
        mcamp_guarantee s;
        gram_make(c[i].name, "raw", c[i].n, c[i].b, &g);
        q.sigma = c[i].sigma;
        q.max_samples = 16 * MCAMP_BLOCK;
        CHECK_STATUS(mcamp_verify(&ctx, &g, &q, &s), MCAMP_OK);
        CHECK(s.accepted && s.remove.method == MCAMP_METHOD_COMMON && s.remove.order > c[i].order);
        CHECK_LE(s.remove.range, 20 * q.delta);
        q.sigma *= 0.97;
        CHECK(mcamp_verify(&ctx, &g, &q, &s) > 0 && !s.accepted && s.remove.samples > 0);
        mcamp_gram_free(&ctx, &g);
    }
    CHECK(mcamp__order_most(2) == 4096 && mcamp__order_most(32) == 1024);
    CHECK(mcamp__order_most(205) == 200 && mcamp__order_most(100000) == 200);
    CHECK(mcamp__order_most((size_t)1 << 4 * sizeof(size_t)) == 200);           /* b^2 is none */
}

/* Modes that all meet, the less the farther apart: of three distances at which clusters end the one
 * of the smallest range; none where modes do not fade, or where clusters would be too long. */
TEST(tuples_of_cut_modes_end_where_it_pays)
{
    static const struct { const char *name; size_t b; double sigma, eps; size_t reach[3]; } c[] = {
        { "blt:0.9:0.2,0.5:0.1", 512, 1.05, 1, { 23, 34, 45 } },
        { "blt:0.9:0.2,0.5:0.1", 300, 0.9, 2, { 23, 34, 0 } },
        { "blt:0.7:0.3", 256, 1.1, 0.5, { 7, 11, 14 } },
        { "sqrt:8", 160, 1, 0.5, { 7, 7, 7 } }, { "sqrt:0", 256, 4, 1, { 0, 0, 0 } } };
    setup();
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        double best = mcamp__inf();
        mcamp_gram g;
        mcamp__factor f;
        mcamp__question q;
        mcamp__sampler p;
        gram_make(c[i].name, "raw", c[i].b, c[i].b, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        q = mcamp__ask(&f, c[i].sigma * (i < 4 ? 1 : g.max_norm), c[i].eps, MCAMP_REMOVE, 1);
        for (size_t n = 0; n < 3; n++) {
            if (!c[i].reach[n]) continue;
            CHECK_STATUS(mcamp__cut_sampler(&ctx, &q, c[i].reach[n], 40, &p), MCAMP_OK);
            best = fmin(best, p.log_range);
            mcamp__sampler_free(&ctx, &p);
        }
        CHECK_STATUS(mcamp__cut_shortest(&ctx, &q, 40, &p), MCAMP_OK);
        CHECK((p.tile != NULL) == (c[i].reach[0] > 0));
        if (p.tile) CHECK_NEAR(p.log_range, best, 1e-12, 0);
        cut_close(&g, &f, &p);
    }
}

/* All of verify with that law, of orthogonal groups and of pairs of several lengths. */
TEST(tuples_of_cut_modes_prove_nothing_false)
{
    mcamp_gram g;
    mcamp_guarantee s;
    mcamp_claim c = claim_of(0.9, 1, 0, 0.1, MCAMP_REMOVE, 0);
    setup();
    groups_gram(256, 2, &g);
    c.delta = groups_delta(128, c.sigma, 1, MCAMP_REMOVE).lower;
    c.max_samples = 4096;
    CHECK(mcamp_verify(&ctx, &g, &c, &s) >= 0 && s.remove.range < 30 * c.delta);
    false_and_true_claims(&g, &c, 1.03, MCAMP_METHOD_TILTED, 5, 40);
    mcamp_gram_free(&ctx, &g);
}

/* Few bands, many bins: the range is some hundreds of delta, where TILTED's is 1e4. */
TEST(tuples_of_cut_modes_prove_claims)
{
    static const struct { const char *name; size_t b; double sigma, eps; uint64_t order; } c[] = {
        { "sqrt:2", 512, 1.035, 0.5, 21 }, { "sqrt:4", 512, 1.09, 0.5, 21 },
        { "sqrt:16", 1024, 1.175, 0.5, 21 }, { "blt:0.9:0.2,0.5:0.1", 512, 0.77, 2, 8 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i += mt_few(1, 2)) {
        mcamp_claim q = claim_of(0, c[i].eps, 1e-8, 1e-8, MCAMP_REMOVE, 1);
        mcamp_gram g;
        mcamp_guarantee s;
        setup();
        gram_make(c[i].name, "raw", 2 * c[i].b - 5 * (i % 2), c[i].b, &g);
        q.sigma = c[i].sigma * g.max_norm;
        q.max_samples = 160 * MCAMP_BLOCK;
        CHECK_STATUS(mcamp_verify(&ctx, &g, &q, &s), MCAMP_OK);
        CHECK(s.accepted && s.remove.method == MCAMP_METHOD_TILTED);
        CHECK(s.remove.order >= c[i].order);
        CHECK_LE(s.remove.range, 1200 * q.delta);
        q.delta *= 0.2;
        CHECK(mcamp_verify(&ctx, &g, &q, &s) > 0 && !s.accepted && s.remove.samples > 0);
        mcamp_gram_free(&ctx, &g);
    }
}

/* ---- bounds of a tally ------------------------------------------------------------------- */

/* log of the mean over 14 stakes of the product of 1 + d (x - m) over zeros and ones; d is
 * -2^-j for upper bounds, 2^-j/(2m) for lower ones.                                      */
static double grid_wealth(int lower, long double m, double zeros, double ones)
{
    long double sum = 0;
    for (int j = 0; j < 14; j++) {
        long double d = lower ? ldexpl(0.5L / m, -j) : -ldexpl(1, -j);
        sum += expl(zeros * log1pl(-d * m) + ones * log1pl(d * (1 - m))) / 14;
    }
    return (double)logl(sum);
}

/* A bound of level beta is where the wealth against it is 1/beta. */
TEST(bounds_are_where_the_wealth_says)
{
    static const double beta[4] = { 0.3, 1e-3, 1e-6, 1e-12 };
    static const uint64_t zeros[4] = { 1000, 100000, 300, 0 }, ones[4] = { 0, 7, 700, 50 };
    static mcamp_tally two[2];      /* fill() fills the second */
    mcamp_tally *t = &two[1];
    for (int i = 0; i < 16; i++) {
        double z = (double)zeros[i / 4], o = (double)ones[i / 4], need = log(1 / beta[i % 4]), u, l;
        mcamp__job j;
        memset(t, 0, sizeof *t);
        t->log_range = t->log_scale = log(0.25);
        j.tally = two;
        fill(&j, zeros[i / 4], ones[i / 4]);
        u = mcamp_tally_upper(t, beta[i % 4]) / 0.25;
        l = mcamp_tally_lower(t, beta[i % 4]) / 0.25;
        if (u < 1) {
            CHECK_LE(need, grid_wealth(0, u, z, o));
            CHECK_LE(grid_wealth(0, u * (1 - 2e-8), z, o), need);
        } else {
            CHECK_LE(grid_wealth(0, 1, z, o), need + 1e-6);
        }
        if (l > 0) {
            CHECK_LE(need, grid_wealth(1, l, z, o));
            CHECK_LE(grid_wealth(1, l * (1 + 2e-8), z, o), need);
        }
        CHECK(l > 0 || o < 1);
    }
}

/* Values below the grid of a tally are rounded up; a lower bound does not believe it. */
TEST(a_lower_bound_does_not_live_on_rounding)
{
    static mcamp_tally t;
    memset(&t, 0, sizeof t);
    for (int i = 0; i < 10000; i++) mcamp__tally_add(&t, -60);
    CHECK(t.count == 10000 && !t.poisoned);
    CHECK_LE(mcamp_tally_lower(&t, 1e-3), exp(-60));
    CHECK_LE(exp(-60), mcamp_tally_upper(&t, 1e-3));
}

/* ---- the upper bound of an answer --------------------------------------------------------- */

/* Estimates' proofs see only ones in one direction: its bound is then the larger. */
static int ones_for;

static int ones_in_a_direction(mcamp__job *j)
{
    if (purpose_base(j->purpose) != MCAMP__STREAM_ESTIMATE) return 0;
    if (purpose_rung(j->purpose) != 1) return 0;
    if (purpose_dir(j->purpose) == (uint32_t)ones_for) fill(j, 0, j->blocks * MCAMP_BLOCK);
    else fill(j, j->blocks * MCAMP_BLOCK, 0);
    return 1;
}

TEST(the_bound_of_both_directions_is_the_larger)
{
    mcamp_gram g;
    mcamp_budget bud;
    mcamp_answer a;
    int larger = 0;
    memset(&bud, 0, sizeof bud);
    bud.rel_error = 0.05;
    watched(ones_in_a_direction);
    gram_make("sqrt:2", "raw", 8, 4, &g);
    for (ones_for = 0; ones_for <= MCAMP_ADD; ones_for++) {
        CHECK(mcamp_delta(&ctx, &g, 1.2 * g.max_norm, 1, &bud, &a) >= 0);
        CHECK_NEAR(a.delta_upper, fmax(a.remove.upper, a.add.upper), 0, 0);
        CHECK_NEAR(a.delta, fmax(a.remove.value, a.add.value), 0, 0);
        if (ones_for == MCAMP_ADD && a.add.proof_samples) {
            CHECK(a.add.upper > a.remove.upper && !a.add.trusted);
            larger++;
        }
        if (ones_for == MCAMP_REMOVE && a.remove.proof_samples) {
            CHECK(a.remove.upper > a.add.upper && !a.remove.trusted);
            larger++;
        }
    }
    CHECK(larger == 2);
    mcamp_gram_free(&ctx, &g);
}

TEST_MAIN("verify",
    T(the_claimed_mean_is_lowered),
    T(a_delta_below_rounding_is_refused), T(what_is_too_close_to_sample_is_refused),
    T(modes_of_few_kinds_are_rounded_up),
    T(budgets_and_levels_are_kept),
    T(no_two_purposes_collide),
    T(bounds_are_where_the_wealth_says),
    T(a_lower_bound_does_not_live_on_rounding),
    T(both_directions_must_be_accepted),
    T(a_poisoned_verification_is_an_error),
    T(a_poisoned_pilot_decides_nothing),
    T(the_ladder_stops_at_its_first_failure),
    T(the_ladder_is_priced_with_what_is_left_out),
    T(the_ladder_is_priced_by_expected_wealth), T(the_ladder_gives_up_where_a_proof_looks),
    T(the_ladder_does_not_hang_on_a_rung),
    T(the_ladder_is_priced_by_what_must_be_drawn),
    T(the_ladder_is_chosen_before_verification),
    T(verification_draws_its_own_blocks_once_each),
    T(acceptance_needs_the_wealth_of_its_direction),
    T(nobody_else_draws_from_verification),
    T(what_was_interrupted_claims_nothing),
    T(a_failure_leaves_nothing_accepted),
    T(an_interrupted_ladder_claims_nothing),
    T(the_bound_of_both_directions_is_the_larger),
    T(whole_verification_accepts_falsely_less_often_than_beta),
    T(certified_calibration_is_false_less_often_than_beta),
    T(values_that_are_drawn_prove_nothing_false),
    T(tuples_of_cut_modes_make_up_delta),
    T(cut_tables_by_tasks), T(tuples_of_cut_modes_are_all_tuples),
    T(tuples_of_cut_modes_have_bounded_values), T(sums_of_cut_modes_to_come_are_bounds),
    T(sums_of_clusters_of_cut_modes_are_bounds),
    T(tuples_of_cut_modes_that_are_no_number), T(tuples_of_cut_modes_where_there_is_no_law),
    T(tuples_of_cut_modes_prove_nothing_false), T(tuples_of_cut_modes_prove_claims),
    T(modes_far_out_move_the_others_once), T(tuples_of_cut_modes_end_where_it_pays),
    T(orders_in_thousands_prove_claims),
    T(a_mode_cut_at_lambda_has_the_moments_of_its_integral),
    T(normals_above_a_point_have_its_tail),
    T(modes_drawn_together_make_up_delta),
    T(modes_drawn_together_have_their_law),
    T(a_mode_drawn_together_has_the_part_of_its_integral),
    T(the_cut_of_one_mode_leaves_out_what_was_said),
    T(what_modes_drawn_together_leave_out_is_bounded),
    T(modes_drawn_together_that_are_no_number), T(modes_drawn_together_without_memory),
    T(the_better_law_has_the_smaller_range), T(modes_drawn_together_prove_claims))
