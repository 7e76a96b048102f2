/* The auditor: its bounds hold as often as they say and come near the truth; it finds nothing
 * to hold against the library, every fault that is planted between it and the library here,
 * and every one in the library of tests/mutants/audit.rules.                        */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_PTHREADS
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"

/* ---- faults --------------------------------------------------------------------------- *
 * What runs have done wrong, each done by the functions that the auditor calls instead of the
 * library's; 0: they only call them.                                                  */

typedef enum fault {
    SOUND, STOPPED_NOISE, LATE_STOP, LOW_BITS, MEMBERS_MISSING, MEMBERS_TWICE, WRONG_ADJACENCY,
    EARLY_RESULT, NO_MEMORY_OF_ROUND, LOADED_INTO_ROUND, C_NOT_LOOKED_AT, PEOPLE_NOT_LOOKED_AT,
    NO_SEAL, KEY_ALONE, NO_RUN, NO_SUBKEYS, NO_LEDGER, COPY_GOES_ON, SUM_STAYS, STACK_STAYS,
    INFINITE_NOISE, ROUNDED_ROWS
} fault;

static fault planted;
static double planted_top;      /* where noise stops */
static uint64_t planted_digest; /* C's, before it is changed */
static double planted_sum[8];   /* sums for sessions that are made to be of doubles */

static mcamp_status planted_unamplified(mcamp_ctx *c, const mcamp_mech *mech, mcamp_batch_law law,
                                        uint64_t b, double sigma, double delta,
                                        mcamp_guarantee *g)
{
    mcamp_status st = mcamp_guarantee_unamplified(c, mech, law, b, sigma, delta, g);
    if (planted == WRONG_ADJACENCY) g->adjacency = MCAMP_ADJACENT_ADD_REMOVE;
    return st;
}

static mcamp_status planted_noise_init(mcamp_ctx *c, const mcamp_noise_desc *desc, mcamp_noise *m)
{
    mcamp_noise_desc d = *desc;
    if (planted == STOPPED_NOISE || planted == LATE_STOP) planted_top = ldexp(d.grid, 62);
    if (planted == STOPPED_NOISE || planted == LATE_STOP || planted == LOW_BITS) d.grid = 0;
    return mcamp_noise_init(c, &d, m);
}

static mcamp_status planted_clip_init(mcamp_ctx *c, const mcamp_clip_desc *desc, mcamp_clip *clip)
{
    mcamp_clip_desc d = *desc;
    if (planted == STOPPED_NOISE || planted == LATE_STOP || planted == LOW_BITS) d.grid = 0;
    return mcamp_clip_init(c, &d, clip);
}

static mcamp_status planted_session_init(mcamp_ctx *c, const mcamp_session_desc *desc,
                                         mcamp_session *s)
{
    mcamp_session_desc d = *desc;
    mcamp_guarantee g = *desc->guarantee;
    uint64_t word = 1, most = d.clip->max_examples;
    mcamp_status st;
    d.guarantee = &g;
    if (planted == WRONG_ADJACENCY && mcamp__law_moves_others(g.law))
        g.adjacency = MCAMP_ADJACENT_ZERO_OUT;
    if (planted == NO_LEDGER) d.ledger.record = NULL;
    if (planted == LOW_BITS || planted == LATE_STOP || planted == INFINITE_NOISE) {
        d.arithmetic = MCAMP_ARITHMETIC_FLOATING;
        d.sum = planted_sum;
    }
    if (planted == NO_RUN) d.run = 1;
    if (planted == MEMBERS_MISSING) d.clip->max_examples = d.batch->examples;
    st = mcamp_session_init(c, &d, s);
    d.clip->max_examples = most;
    if (st < 0) return st;
    if (planted == KEY_ALONE) mcamp__noise_keys(s->noise, &word, 1);
    if (planted == NO_SUBKEYS) mcamp__noise_own_keys(s->noise);
    return st;
}

static const mcamp_guarantee *planted_guarantee(const mcamp_session *s)
{
    static mcamp_guarantee g;
    const mcamp_guarantee *real = mcamp_session_guarantee(s);
    if (!real || planted != WRONG_ADJACENCY) return real;
    g = *real;
    g.adjacency = MCAMP_ADJACENT_ADD_REMOVE;
    return &g;
}

/* What a session does not notice. */
static void planted_blindness(mcamp_session *s)
{
    if (planted == NO_MEMORY_OF_ROUND || planted == COPY_GOES_ON)
        s->noise->user = s->batch->user = s;
    if (planted == C_NOT_LOOKED_AT) s->noise->digest = mcamp__mech_hash(s->noise->mech);
    if (planted == PEOPLE_NOT_LOOKED_AT) {
        s->examples = s->batch->examples;
        s->limit = s->batch->limit;
    }
}

static mcamp_status planted_begin(mcamp_ctx *c, mcamp_session *s, uint64_t round, size_t *out,
                                  size_t capacity, mcamp_batch_size *size)
{
    mcamp_status st;
    uint64_t most = s->clip->max_examples;
    mcamp_mech *mech;
    memcpy(&mech, &s->noise->mech, sizeof mech);
    planted_digest = mech->digest;
    planted_blindness(s);
    if (planted == C_NOT_LOOKED_AT) mech->digest = s->guarantee.strategy_digest = s->noise->digest;
    if (planted == MEMBERS_MISSING) s->clip->max_examples = s->examples;
    st = mcamp_session_begin(c, s, round, out, capacity, size);
    s->clip->max_examples = most;
    return st;
}

static mcamp_status planted_add(mcamp_ctx *c, mcamp_session *s, uint64_t example,
                                const mcamp_tensor *pieces, size_t count)
{
    mcamp_status st = mcamp_session_add(c, s, example, pieces, count);
    if (st >= 0 || planted != MEMBERS_TWICE) return st;
    for (uint64_t e = 0; e < s->examples; e++)      /* stands for somebody else */
        if (mcamp_session_add(c, s, e, pieces, count) == MCAMP_OK) return MCAMP_OK;
    return st;
}

static volatile double planted_left;

static void planted_leave(double x)
{
    volatile double left[64];
    for (int i = 0; i < 64; i++) left[i] = x;
    planted_left = left[7];
}

static mcamp_status planted_end(mcamp_ctx *c, mcamp_session *s, double *out)
{
    double sum;
    int64_t first, rest;
    mcamp_mech *mech;
    mcamp_status st;
    if (planted == SOUND) return mcamp_session_end(c, s, out);
    first = s->grid_sum ? s->grid_sum[0] : 0;
    rest = s->grid_sum ? s->grid_sum[1] : 0;
    sum = s->sum ? s->sum[0] : (double)first * s->guarantee.grid;
    planted_blindness(s);
    if (planted == NO_MEMORY_OF_ROUND) s->round = s->noise->step - s->noisy;
    for (uint64_t e = 0; planted == MEMBERS_MISSING && e < s->examples; e++)
        mcamp_session_skip(c, s, e);
    st = mcamp_session_end(c, s, out);
    memcpy(&mech, &s->noise->mech, sizeof mech);
    if (planted == C_NOT_LOOKED_AT) mech->digest = planted_digest;
    if (planted == EARLY_RESULT && st < 0) out[0] = sum;
    if (planted == STOPPED_NOISE || planted == LATE_STOP)
        out[0] = sum + fmax(fmin(out[0] - sum, planted_top), -planted_top);
    if (planted == SUM_STAYS && s->grid_sum) s->grid_sum[1] = rest;
    if (planted == STACK_STAYS) planted_leave((double)first);
    if (planted != INFINITE_NOISE || st != MCAMP_E_NONFINITE) return st;
    out[0] = HUGE_VAL;
    return MCAMP_OK;
}

static mcamp_status planted_load(mcamp_ctx *c, mcamp_session *s, const void *blob, size_t size)
{
    const mcamp_session before = *s;
    const int64_t sum = s->grid_sum[0];
    mcamp_status st = mcamp_session_load(c, s, blob, size);
    if (planted == NO_SEAL && st == MCAMP_E_BLOB) return MCAMP_OK;
    if (planted != LOADED_INTO_ROUND || st < 0) return st;
    s->open = before.open;
    s->due = before.due;
    s->grid_sum[0] = sum;
    return st;
}

static mcamp_status planted_next(mcamp_ctx *c, mcamp_noise *m, uint64_t step, size_t count,
                                 const mcamp_noise_out *out)
{
    mcamp_status st = mcamp_noise_next(c, m, step, count, out);
    if (planted == ROUNDED_ROWS && m->type == MCAMP_NOISE_FLOAT && step)
        out->grid[0] = (int64_t)(float)out->grid[0];
    return st;
}

#define mcamp_guarantee_unamplified planted_unamplified
#define mcamp_noise_init planted_noise_init
#define mcamp_noise_next planted_next
#define mcamp_clip_init planted_clip_init
#define mcamp_session_init planted_session_init
#define mcamp_session_guarantee planted_guarantee
#define mcamp_session_begin planted_begin
#define mcamp_session_add planted_add
#define mcamp_session_end planted_end
#define mcamp_session_load planted_load
#include "../examples/audit_self.h"
#undef mcamp_guarantee_unamplified
#undef mcamp_noise_init
#undef mcamp_noise_next
#undef mcamp_clip_init
#undef mcamp_session_init
#undef mcamp_session_guarantee
#undef mcamp_session_begin
#undef mcamp_session_add
#undef mcamp_session_end
#undef mcamp_session_load
#include "mcamp_test.h"

static mcamp_ctx ctx;

/* Every way in which a run has been seen to break its promise: letters as in the list of
 * them, the event of the auditor that looks for it, the fault.                        */
static const struct { char letter; fault fault; const char *event; } FAULTS[] = {
    { 'a', STOPPED_NOISE, "saturation" },
    { 'a', LATE_STOP, "late saturation" },
    { 'b', LOW_BITS, "low bits" },
    { 'c', MEMBERS_MISSING, "under-filled" },
    { 'c', MEMBERS_MISSING, "over-full" },
    { 'c', MEMBERS_TWICE, "twice" },
    { 'd', WRONG_ADJACENCY, "fixed sizes" },
    { 'e', EARLY_RESULT, "refused end" },
    { 'e', EARLY_RESULT, "refused end on the lattice" },
    { 'f', LOADED_INTO_ROUND, "later state" },
    { 'f', NO_MEMORY_OF_ROUND, "interleaving" },
    { 'f', C_NOT_LOOKED_AT, "changed C" },
    { 'f', PEOPLE_NOT_LOOKED_AT, "changed batches" },
    { 'g', NO_SEAL, "forged states" },
    { 'h', KEY_ALONE, "two sigmas" },
    { 'h', NO_RUN, "two runs" },
    { 'h', NO_SUBKEYS, "a stream beside it" },
    { 'i', NO_LEDGER, "rolled back" },
    { 'i', NO_LEDGER, "forked" },
    { 'i', COPY_GOES_ON, "copied" },
    { 'j', SUM_STAYS, "left in the sum" },
    { 'j', STACK_STAYS, "left on the stack" },
    { 'k', INFINITE_NOISE, "infinite noise" },
    { 'k', ROUNDED_ROWS, "rows of floats" },
};
enum { NFAULT = sizeof FAULTS / sizeof FAULTS[0] };

static double normal(mcamp_rng *r)
{
    double u = mcamp_rng_uniform(r), v = mcamp_rng_uniform(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

TEST(binomial_bounds_are_those_of_the_tables)
{
    CHECK_NEAR(audit_lower(5, 10, 0.025), 0.18708603, 1e-7, 0);
    CHECK_NEAR(audit_upper(5, 10, 0.025), 0.81291397, 1e-7, 0);
    CHECK_NEAR(audit_upper(0, 10, 0.05), 1 - pow(0.05, 0.1), 1e-9, 0);
    CHECK_NEAR(audit_lower(10, 10, 0.05), pow(0.05, 0.1), 1e-9, 0);
    CHECK_NEAR(audit_upper(0, 1000000, 1e-9), -expm1(log(1e-9) / 1e6), 1e-7, 0);
    CHECK_NEAR(audit_lower(1, 1000, 0.05), -expm1(log1p(-0.05) / 1000), 1e-7, 0);
    CHECK_LE(audit_lower(0, 10, 0.05), 0);
    CHECK_LE(1, audit_upper(10, 10, 0.05));
    CHECK_NEAR(audit_tail(500000, 1000000, 0.5),
               0.5 + 0.5 * exp(audit_log_pmf(500000, 1000000, 0.5)), 1e-6, 0);
}

/* All outcomes of n trials with probability p: those whose bound is wrong are rare. */
TEST(binomial_bounds_cover)
{
    const uint64_t n = 23;
    for (int i = 1; i < 40; i++) {
        double p = i / 40.0, below = 0, above = 0;
        for (uint64_t k = 0; k <= n; k++) {
            double mass = exp(audit_log_pmf(k, n, p));
            below += audit_lower(k, n, 0.04) > p ? mass : 0;
            above += audit_upper(k, n, 0.04) < p ? mass : 0;
        }
        CHECK_LE(below, 0.04);
        CHECK_LE(above, 0.04);
        CHECK(below + above > 0.01);    /* nor are they wider than they need be */
    }
}

/* The bound of a pair of counts, over all outcomes, where eps is exactly log(p / q). */
TEST(epsilon_from_counts_covers)
{
    const uint64_t n = 30, m = 25;
    const double p = 0.8, q = 0.2, delta = 0.1, eps = log((p - delta) / q);
    double wrong = 0;
    for (uint64_t i = 0; i <= n; i++) {
        for (uint64_t j = 0; j <= m; j++)
            if (audit_epsilon(i, n, j, m, delta, 0.2) > eps)
                wrong += exp(audit_log_pmf(i, n, p) + audit_log_pmf(j, m, q));
    }
    CHECK_LE(wrong, 0.2);
    CHECK(wrong > 0.001);
}

/* Scores of the Gaussian mechanism: eps of its trade-off curve is known. */
static audit_bound gaussian(mcamp_rng *r, size_t n, double mu, double delta, double beta,
                            double sign)
{
    double *with = (double *)malloc(2 * n * sizeof *with), *without = with + n;
    audit_bound b;
    for (size_t i = 0; i < n; i++) {
        with[i] = sign * (mu + normal(r));
        without[i] = sign * normal(r);
    }
    b = audit_scores(with, n, without, n, delta, beta);
    free(with);
    return b;
}

TEST(bounds_of_the_gaussian_mechanism_hold)
{
    const int runs = 400;
    int wrong = 0;
    double eps;
    mcamp_rng r;
    mcamp_rng_seed(&r, 11);
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, 0.5, 0.1, &eps), MCAMP_OK);
    for (int i = 0; i < runs; i++)
        wrong += gaussian(&r, 200, 0.5, 0.1, 0.3, i % 2 ? 1 : -1).epsilon > eps;
    CHECK(audit_tail((uint64_t)wrong, (uint64_t)runs, 0.3) > 1e-9);
}

TEST(bounds_of_the_gaussian_mechanism_come_near)
{
    static const double delta[3] = { 0.2, 0.05, 0.02 }, mu[3] = { 1, 1, 0.7 };
    mcamp_rng r;
    mcamp_rng_seed(&r, 12);
    for (int i = 0; i < 3; i++) {
        audit_bound b = gaussian(&r, 120000, mu[i], delta[i], 0.05, i % 2 ? -1 : 1);
        double eps;
        CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, mu[i], delta[i], &eps), MCAMP_OK);
        CHECK_LE(b.epsilon, eps);
        CHECK_LE(0.9 * eps, b.epsilon);
    }
}

/* Randomised response is the worst case of (eps, 0): the guesses are right with probability
 * e^eps / (1 + e^eps), independently; with delta, m coins more may tell all.         */
TEST(one_run_covers_randomised_response)
{
    const double eps = 1.2, q = 1 / (1 + exp(-eps)), beta = 0.1;
    const uint64_t n = 40;
    double wrong = 0, leaky = 0;
    for (uint64_t k = 0; k <= n; k++) {
        double mass = exp(audit_log_pmf(k, n, q));
        wrong += audit_one_run_epsilon(k, n, n, 0, beta) > eps ? mass : 0;
        leaky += audit_one_run_epsilon(k, n, n, 0.01, beta) > eps ? mass : 0;
        CHECK_LE(audit_one_run_epsilon(k, n, n, 0.01, beta),
                 audit_one_run_epsilon(k, n, n, 0, beta));
    }
    CHECK_LE(wrong, beta);
    CHECK(wrong > 0.02);
    CHECK_LE(leaky, 0.5 * wrong);
    CHECK_NEAR(audit_one_run_tail(30, 40, 40, eps, 0), audit_tail(30, 40, q), 1e-12, 0);
}

/* Every canary's row is told with probability delta: the guess about it is right for certain. */
TEST(one_run_pays_for_delta)
{
    const double eps = 0.5, q = 1 / (1 + exp(-eps)), beta = 0.2, delta = 0.2;
    const int runs = 2000;
    const uint64_t n = 60;
    int wrong = 0, unpaid = 0;
    mcamp_rng r;
    mcamp_rng_seed(&r, 13);
    for (int i = 0; i < runs; i++) {
        uint64_t right = 0;
        for (uint64_t k = 0; k < n; k++)
            right += mcamp_rng_uniform(&r) < delta || mcamp_rng_uniform(&r) < q;
        wrong += audit_one_run_tail(right, n, n, eps, delta) <= beta;
        unpaid += audit_one_run_tail(right, n, n, eps, 0) <= beta;
    }
    CHECK(audit_tail((uint64_t)wrong, (uint64_t)runs, beta) > 1e-9);
    CHECK(audit_tail((uint64_t)unpaid, (uint64_t)runs, beta) < 1e-3);
}

TEST(one_run_of_the_gaussian_mechanism)
{
    const size_t m = 20000;
    audit_canary *c = (audit_canary *)malloc(m * sizeof *c);
    audit_one_run b;
    double eps;
    mcamp_rng r;
    mcamp_rng_seed(&r, 14);
    for (size_t i = 0; i < m; i++) {
        c[i].in = mcamp_rng_uniform(&r) < 0.5;
        c[i].score = 2 * (double)c[i].in + normal(&r);
    }
    CHECK_STATUS(mcamp_gauss_epsilon(&ctx, 1, 2, 1e-6, &eps), MCAMP_OK);
    b = audit_canaries(c, m, 1e-6, 0.05);
    CHECK_LE(b.epsilon, eps);
    CHECK_LE(0.4 * eps, b.epsilon);
    for (size_t i = 0; i < m; i++) c[i].score = normal(&r);     /* of nobody */
    CHECK_LE(audit_canaries(c, m, 1e-6, 1e-9).epsilon, 0);
    free(c);
}

/* ---- the library's sessions -------------------------------------------------------- */

TEST(no_case_contradicts_the_certificate)
{
    for (int i = 0; i < AUDIT_NCASE; i += (int)mt_few(1, 4)) {
        const audit_case *c = &AUDIT_CASES[i];
        audit_result r;
        CHECK(audit_one(&ctx, c, 5, 1000, 1e-6, &r));
        if (r.verdict == AUDIT_CONTRADICTED)
            printf("  %s: %g of %g, %g taken\n", c->name, r.bound.epsilon, r.certified,
                   r.violations);
        CHECK(r.verdict != AUDIT_CONTRADICTED);
        CHECK(!c->uncovered || r.verdict == AUDIT_UNCOVERED);
    }
}

static const audit_case *event_named(const char *name)
{
    for (int i = 0; i < AUDIT_NCASE; i++)
        if (!strcmp(AUDIT_CASES[i].name, name)) return &AUDIT_CASES[i];
    return NULL;
}

/* The same events, with the fault that they are for. */
TEST(every_fault_is_caught_when_it_is_planted)
{
    char letter = 'a';
    for (int i = 0; i < NFAULT; i++) {
        const audit_case *c = event_named(FAULTS[i].event);
        audit_result r;
        CHECK(c && FAULTS[i].letter <= letter + 1);     /* none is missing */
        if (!c) continue;
        letter = FAULTS[i].letter;
        if (i % (int)mt_few(1, 4)) continue;
        if (FAULTS[i].fault == STACK_STAYS && !audit_sees_stacks) continue;
        planted = FAULTS[i].fault;
        CHECK(audit_one(&ctx, c, 5, 1000, 1e-6, &r));
        planted = SOUND;
        if (getenv("MCAMP_TEST_VERBOSE") || r.verdict != AUDIT_CONTRADICTED)
            printf("  %c  %-26s epsilon >= %g of %g, taken %g times\n", letter, c->name,
                   r.bound.epsilon, r.certified, r.violations);
        CHECK(r.verdict == AUDIT_CONTRADICTED);
    }
    CHECK(letter == 'k');
}

/* A plain run's bound must come near, or nothing that the auditor says means much. */
TEST(the_auditor_sees_what_there_is)
{
    audit_result r;
    CHECK(audit_one(&ctx, &AUDIT_CASES[0], 6, mt_scale(6000), 1e-6, &r));
    CHECK(r.verdict == AUDIT_HOLDS);
    CHECK_LE((mt_quick() ? 0.1 : 0.5) * r.certified, r.bound.epsilon);
}

int main(int argc, char **argv)
{
    static const mt_case cases[] = {
        T(binomial_bounds_are_those_of_the_tables), T(binomial_bounds_cover),
        T(epsilon_from_counts_covers), T(bounds_of_the_gaussian_mechanism_hold),
        T(bounds_of_the_gaussian_mechanism_come_near), T(one_run_covers_randomised_response),
        T(one_run_pays_for_delta), T(one_run_of_the_gaussian_mechanism),
        T(no_case_contradicts_the_certificate), T(every_fault_is_caught_when_it_is_planted),
        T(the_auditor_sees_what_there_is)
    };
    audit_sees_stacks = audit_sees_stacks && !getenv("MCAMP_TEST_QUICK");
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 1;
    return mt_run("audit", cases, sizeof cases / sizeof cases[0], argc, argv);
}
