/* Section calib from the outside: what it does when memory fails, when arguments are
 * bad, when samples are not finite; that common random numbers make answers consistent;
 * the power of a proof.  What its numbers are worth is tested in test_core, test_est and
 * test_oracle.                                                                         */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"
#include "core_common.h"

/* One Gram matrix of each kind. */
static const struct shape { const char *name; size_t n, b; mcamp_gram_kind kind; } shapes[3] = {
    { "sqrt:0", 8, 2, MCAMP_GRAM_DENSE },
    { "sqrt:2", 40, 10, MCAMP_GRAM_BANDED },
    { "identity", 12, 4, MCAMP_GRAM_DIAGONAL },
};

static void gram_of(const struct shape *s, mcamp_gram *g)
{
    mcamp_mech m;
    CHECK(strategy_make(s->name, "none", s->n, &m));
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, s->b, g), MCAMP_OK);
    CHECK(g->kind == s->kind);
    mcamp_mech_free(&ctx, &m);
}

/* ---- allocation failures --------------------------------------------------------------- */

typedef enum question {
    ASK_DELTA, ASK_PLAIN, ASK_TILTED, ASK_COMMON, ASK_MODE, ASK_EPSILON,
    ASK_SIGMA, ASK_CURVE, ASK_VERIFY, ASK_CERTIFY, ASK_SAMPLER,
    ASK_PROBLEM, QUESTIONS
} question;

typedef struct request { const mcamp_gram *g; const struct shape *s; question ask; } request;

static mcamp_budget small_budget(question ask)
{
    mcamp_budget b;
    memset(&b, 0, sizeof b);
    b.rel_error = 0.1; b.max_samples = 2048; b.seed = 5; b.beta = 1e-3;
    if (ask < ASK_PLAIN || ask > ASK_MODE) return b;
    b.direction = MCAMP_REMOVE;
    b.method = (mcamp_method)(MCAMP_METHOD_PLAIN + (ask - ASK_PLAIN));
    return b;
}

static mcamp_claim small_claim(void)
{
    mcamp_claim c;
    memset(&c, 0, sizeof c);
    c.sigma = 14; c.eps = 1; c.delta = 1e-4; c.beta = 1e-3; c.seed = 5;
    c.max_samples = 16384;
    return c;
}

static mcamp_status ask_sampler(mcamp_ctx *c, const mcamp_gram *g)
{
    static mcamp_tally t;
    mcamp_sampler_desc d;
    mcamp_sampler s;
    mcamp_status st;
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    d.direction = MCAMP_REMOVE; d.sigma = 14; d.eps = 1;
    st = mcamp_sampler_init(c, g, &d, &s);
    if (st < 0) return st;
    st = mcamp_sampler_run(c, &s, 1, 0, 2, &t);
    mcamp_sampler_free(c, &s);
    return st;
}

static mcamp_status ask_problem(mcamp_ctx *c, const struct shape *s, mcamp_guarantee *out)
{
    mcamp_problem p;
    memset(&p, 0, sizeof p);
    p.strategy.kind = strcmp(s->name, "identity") ? MCAMP_MECH_SQRT : MCAMP_MECH_IDENTITY;
    p.batches = s->b; p.rounds = s->n;
    p.eps = 1; p.delta = 1e-4;
    p.budget = small_budget(ASK_PROBLEM);
    return mcamp_problem_certify(c, &p, out);
}

/* Asks, and turns an output that was touched in spite of an error, or a claim that
 * was accepted without an answer, into a status that nobody expects.             */
static mcamp_status ask(mcamp_ctx *c, void *user)
{
    static const double eps[3] = { 0.5, 1, 2 };
    const request *r = (const request *)user;
    mcamp_budget bud = small_budget(r->ask);
    mcamp_claim claim = small_claim();
    mcamp_answer a[3], a0[3];
    mcamp_guarantee s;
    double v = 7, e = 7;
    mcamp_status st;
    memset(a, 0x5a, sizeof a);
    memcpy(a0, a, sizeof a);
    memset(&s, 0, sizeof s);
    s.accepted = true;
    switch (r->ask) {
    case ASK_EPSILON: st = mcamp_epsilon(c, r->g, 14, 1e-4, &bud, a); break;
    case ASK_SIGMA:   st = mcamp_sigma(c, r->g, 1, 1e-4, &bud, a); break;
    case ASK_CURVE:   st = mcamp_curve(c, r->g, 14, eps, 3, &bud, a); break;
    case ASK_VERIFY:  st = mcamp_verify(c, r->g, &claim, &s); break;
    case ASK_CERTIFY: st = mcamp_calibrate_certified(c, r->g, &claim, &s); break;
    case ASK_SAMPLER: st = ask_sampler(c, r->g); break;
    case ASK_PROBLEM: st = ask_problem(c, r->s, &s); break;
    default:          st = mcamp_delta(c, r->g, 14, 1, &bud, a); break;
    }
    if (st >= 0) return st;
    if (memcmp(a, a0, sizeof a) || v < 7 || v > 7 || e < 7 || e > 7) return MCAMP_E_INTERNAL;
    if ((r->ask == ASK_VERIFY || r->ask == ASK_CERTIFY) && s.accepted) return MCAMP_E_INTERNAL;
    return st;
}

/* All allocations of questions that make up to 10, 3 with the other two matrices;
 * evenly spread ones of those that make more.                                     */
TEST(any_allocation_of_any_question_may_fail)
{
    size_t total = 0;
    for (int i = 0; i < 3; i++) {
        mcamp_gram g;
        request r;
        gram_of(&shapes[i], &g);
        r.g = &g; r.s = &shapes[i];
        for (int q = 0; q < QUESTIONS; q++) {
            char what[60];
            r.ask = (question)q;
            snprintf(what, sizeof what, "%s, question %d", shapes[i].name, q);
            total += mt_some_faults(what, ask, &r, mt_scale(i ? 3 : 10));
        }
        mcamp_gram_free(&ctx, &g);
    }
    CHECK(total > 1000);
}

/* ---- bad arguments ---------------------------------------------------------------------- */

static double bad_number(int i)
{
    const double bad[6] = { mcamp__nan(), mcamp__inf(), -mcamp__inf(), -1, 0, -0.0 };
    return bad[i];
}

/* The status is an error and the argument is named. */
static void refused(mcamp_status st, const char *name)
{
    const mcamp_error e = mcamp_last_error(&ctx);
    char text[200];
    snprintf(text, sizeof text, "status %d about '%s', want one about '%s'", (int)st,
             e.argument ? e.argument : "nothing", name);
    mt_check(st < 0 && e.argument && !strcmp(e.argument, name), __FILE__, __LINE__, text);
}

TEST(numbers_that_are_none_are_refused_by_name)
{
    mcamp_gram g;
    mcamp_answer a[2], a0[2];
    double v = 7, e = 7;
    gram_of(&shapes[0], &g);
    memset(a, 0x5a, sizeof a);
    memcpy(a0, a, sizeof a);
    for (int i = 0; i < 6; i++) {
        double x = bad_number(i), eps[2];
        eps[0] = 1; eps[1] = x;
        refused(mcamp_delta(&ctx, &g, x, 1, NULL, a), "sigma");
        refused(mcamp_epsilon(&ctx, &g, x, 1e-5, NULL, a), "sigma");
        refused(mcamp_epsilon(&ctx, &g, 14, x, NULL, a), "delta");
        refused(mcamp_sigma(&ctx, &g, 1, x, NULL, a), "delta");
        refused(mcamp_curve(&ctx, &g, x, eps, 1, NULL, a), "sigma");
        if (i > 3) continue;            /* eps may be 0 */
        refused(mcamp_delta(&ctx, &g, 14, x, NULL, a), "eps");
        refused(mcamp_sigma(&ctx, &g, x, 1e-5, NULL, a), "eps");
        refused(mcamp_curve(&ctx, &g, 14, eps, 2, NULL, a), "eps");
    }
    refused(mcamp_delta(&ctx, &g, DBL_MIN / 8, 1, NULL, a), "sigma");
    refused(mcamp_epsilon(&ctx, &g, 14, 1, NULL, a), "delta");
    refused(mcamp_curve(&ctx, &g, 14, NULL, 2, NULL, a), "eps");
    refused(mcamp_curve(&ctx, &g, 14, &v, 0, NULL, a), "count");
    CHECK(!memcmp(a, a0, sizeof a));
    CHECK(v >= 7 && v <= 7 && e >= 7 && e <= 7);
    mcamp_gram_free(&ctx, &g);
}

/* Every field of a budget and of a claim. */
TEST(bad_budgets_and_claims_are_refused_by_name)
{
    mcamp_gram g;
    mcamp_answer a, a0;
    mcamp_guarantee s;
    gram_of(&shapes[0], &g);
    memset(&a, 0x5a, sizeof a);
    a0 = a;
    for (int i = 0; i < 4; i++) {
        mcamp_budget b = small_budget(ASK_DELTA);
        mcamp_claim c = small_claim();
        b.rel_error = bad_number(i);
        refused(mcamp_delta(&ctx, &g, 14, 1, &b, &a), "rel_error");
        b = small_budget(ASK_DELTA);
        b.beta = bad_number(i);
        refused(mcamp_sigma(&ctx, &g, 1, 1e-5, &b, &a), "beta");
        b.beta = 1;
        refused(mcamp_epsilon(&ctx, &g, 14, 1e-5, &b, &a), "beta");
        c.eps = bad_number(i);
        refused(mcamp_verify(&ctx, &g, &c, &s), "eps");
        c = small_claim(); c.beta = bad_number(i);
        refused(mcamp_calibrate_certified(&ctx, &g, &c, &s), "beta");
        c = small_claim(); c.delta = bad_number(i);
        refused(mcamp_calibrate_certified(&ctx, &g, &c, &s), "delta");
        c = small_claim(); c.sigma = bad_number(i);
        refused(mcamp_verify(&ctx, &g, &c, &s), "sigma");
    }
    for (int i = 0; i < 2; i++) {
        mcamp_budget b = small_budget(ASK_DELTA);
        mcamp_claim c = small_claim();
        if (i) b.direction = (mcamp_direction)9; else b.method = (mcamp_method)77;
        refused(mcamp_delta(&ctx, &g, 14, 1, &b, &a), i ? "direction" : "method");
        c.direction = (mcamp_direction)9;
        refused(mcamp_verify(&ctx, &g, &c, &s), "direction");
        c = small_claim(); c.start_canary = 1;
        CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &s), MCAMP_E_CANARY);
    }
    CHECK(!memcmp(&a, &a0, sizeof a));
    mcamp_gram_free(&ctx, &g);
}

TEST(objects_that_are_none_are_refused)
{
    mcamp_gram g, none;
    mcamp_answer a;
    mcamp_guarantee s;
    mcamp_claim c = small_claim();
    mcamp_problem p;
    gram_of(&shapes[0], &g);
    memset(&none, 0, sizeof none);
    CHECK(mcamp_delta(&ctx, &none, 14, 1, NULL, &a) < 0);
    CHECK(mcamp_epsilon(&ctx, &none, 14, 1e-5, NULL, &a) < 0);
    CHECK(mcamp_sigma(&ctx, &none, 1, 1e-5, NULL, &a) < 0);
    CHECK(mcamp_curve(&ctx, &none, 14, &c.eps, 1, NULL, &a) < 0);
    CHECK(mcamp_verify(&ctx, &none, &c, &s) < 0);
    CHECK(mcamp_calibrate_certified(&ctx, NULL, &c, &s) < 0);
    CHECK_STATUS(mcamp_verify(&ctx, &g, NULL, &s), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_verify(&ctx, &g, &c, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &c, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_sigma(&ctx, &g, 1, 1e-5, NULL, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_problem_delta(&ctx, NULL, &a), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_problem_certify(&ctx, NULL, &s), MCAMP_E_REQUIRED);
    memset(&p, 0, sizeof p);
    p.eps = 1; p.delta = 1e-5;
    refused(mcamp_problem_certify(&ctx, &p, &s), "batches");
    p.batches = 4;
    CHECK(mcamp_problem_certify(&ctx, &p, &s) < 0);             /* no epochs, no rounds */
    p.epochs = (size_t)-1 / 2;
    CHECK_STATUS(mcamp_problem_certify(&ctx, &p, &s), MCAMP_E_SIZE);
    p.epochs = 2; p.end_canary = 7;
    CHECK_STATUS(mcamp_problem_certify(&ctx, &p, &s), MCAMP_E_CANARY);
    p.end_canary = 0;
    refused(mcamp_problem_delta(&ctx, &p, &a), "sigma");
    mcamp_gram_free(&ctx, &g);
}

/* ---- a sample that is not finite -------------------------------------------------------- */

/* One poisoned sample: no bound, no wealth, no acceptance, however good the rest. */
TEST(one_bad_sample_refuses)
{
    mcamp_gram g;
    mcamp__factor f;
    mcamp__sampler p;
    static mcamp_tally t;
    mcamp_claim c = small_claim();
    mcamp__question q;
    mcamp__choice choice;
    double range;
    gram_of(&shapes[0], &g);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    q = mcamp__ask(&f, c.sigma, c.eps, MCAMP_REMOVE, 0);
    CHECK_STATUS(mcamp__proof_choice(&ctx, &q, 0, &choice, &range, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp__question_sampler(&ctx, &q, &choice, &p), MCAMP_OK);
    mcamp__tally_init(&p, &t);
    for (int i = 0; i < 100000; i++) mcamp__tally_add(&t, -mcamp__inf());
    CHECK(mcamp_tally_upper(&t, 1e-6) < 1);
    mcamp__tally_add(&t, mcamp__nan());
    CHECK(t.poisoned == 1);
    CHECK_LE(1.0, mcamp_tally_upper(&t, 1e-6));
    CHECK_LE(mcamp_tally_lower(&t, 1e-6), 0.0);
    mcamp__sampler_free(&ctx, &p);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

/* ---- modes that are all alike ------------------------------------------------------------- */

static void alike_gram(size_t b, mcamp_gram *g)
{
    mcamp_mech m;
    CHECK(strategy_make("identity", "none", b, &m));
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, b, g), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
}

/* What section exact says without samples and what samples prove (216 times, at 1e-9 each)
 * is about the same number, from modes of 0.3 sigma to 25 and eps to 500.             */
TEST(exact_and_sampled_bounds_meet)
{
    static const double mu[] = { 0.3, 1, 3, 8, 16, 25 }, eps[] = { 0, 0.5, 3, 20, 190, 500 };
    static const size_t batches[] = { 2, 4, 32 };
    mcamp_budget bud = small_budget(ASK_COMMON);
    bud.max_samples = 16384; bud.rel_error = 0.01; bud.beta = 1e-9;
    for (int i = 0; i < 3 * 36 * 2; i++) {
        double m = mu[i / 12 % 6], e = eps[i / 2 % 6];
        mcamp_answer a;
        mcamp_gram g;
        mcamp__factor f;
        mcamp__question q;
        const mcamp_estimate *v = i % 2 ? &a.add : &a.remove;
        bud.direction = i % 2 ? MCAMP_ADD : MCAMP_REMOVE;
        alike_gram(batches[i / 72], &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        q = mcamp__ask(&f, 1 / m, e, bud.direction, 0);
        CHECK(mcamp__exact_knows(&f));
        CHECK_STATUS(mcamp__ask_exact(&ctx, &q), MCAMP_OK);
        CHECK(mcamp_delta(&ctx, &g, 1 / m, e, &bud, &a) >= 0);
        CHECK_LE(q.low, v->upper * (1 + 1e-6));
        CHECK_LE(v->lower * (1 - 1e-6), q.high);
        CHECK_LE(q.low, q.high);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* C = I where b does not divide n: bins of two lengths, some empty where n < b.  What is
 * asked of the Gram matrix is what is asked of the event, and needs no samples.          */
TEST(any_number_of_rounds_needs_no_samples)
{
    static const size_t n[] = { 10, 3, 7 }, b[] = { 4, 4, 5 };
    static const double norm[3][2] = { { 1.7320508075688772, 1.4142135623730951 }, { 1, 0 },
                                       { 1.4142135623730951, 1 } };
    static const double count[3][2] = { { 2, 2 }, { 3, 1 }, { 2, 3 } };
    for (int i = 0; i < 3; i++) {
        mcamp_gram g;
        mcamp_mech m;
        mcamp_answer a, back;
        mcamp_interval v;
        mcamp_guarantee s;
        mcamp_event e;
        mcamp_claim c = small_claim();
        memset(&e, 0, sizeof e);
        CHECK(strategy_make("identity", "none", n[i], &m));
        CHECK_STATUS(mcamp_gram_init(&ctx, &m, b[i], &g), MCAMP_OK);
        e.kind = MCAMP_EVENT_BINS;
        e.count = e.rounds = 1; e.bins = b[i]; e.sigma = 2.5;
        e.n = 2; e.shift = norm[i]; e.prob = count[i];
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, 0.7, &v, NULL), MCAMP_OK);
        CHECK_STATUS(mcamp_delta(&ctx, &g, 2.5, 0.7, NULL, &a), MCAMP_OK);
        CHECK(!a.samples && a.kind == MCAMP_KIND_INTERVAL);
        CHECK_NEAR(a.lower, v.lower, 1e-3, 0);
        CHECK_NEAR(a.upper, v.upper, 1e-3, 0);
        CHECK_STATUS(mcamp_epsilon(&ctx, &g, 2.5, a.upper, NULL, &back), MCAMP_OK);
        CHECK(!back.samples && back.kind == MCAMP_KIND_INTERVAL);
        CHECK_NEAR(back.eps, 0.7, 1e-2, 0);
        c.sigma = 2.5; c.eps = 0.7; c.delta = a.upper * 1.001;
        CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &s), MCAMP_OK);
        CHECK(s.accepted && !s.samples);
        c.delta = a.lower * 0.98;
        c.max_samples = MCAMP_BLOCK;
        CHECK(mcamp_verify(&ctx, &g, &c, &s) > 0 && !s.accepted);
        mcamp_gram_free(&ctx, &g);
        mcamp_mech_free(&ctx, &m);
    }
    {
        mcamp_gram g;
        mcamp_mech m;
        mcamp__factor f;
        CHECK(strategy_make("sqrt:2", "none", 10, &m));
        CHECK_STATUS(mcamp_gram_init(&ctx, &m, 4, &g), MCAMP_OK);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        CHECK(!mcamp__exact_knows(&f));
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
        mcamp_mech_free(&ctx, &m);
    }
}

/* n = 2048, b = 128, C = I, where sampling to 1% would take minutes: the answers come
 * from section exact, have an error bar that is true, and are proved without samples.  */
TEST(modes_that_are_alike_need_few_samples)
{
    static const double eps[] = { 0.2, 0.3, 0.5 }, delta[] = { 2.533e-6, 7.083e-10, 6.3e-15 };
    mcamp_gram g;
    mcamp_mech m;
    mcamp_answer a;
    mcamp_guarantee s;
    mcamp_claim c = small_claim();
    CHECK(strategy_make("identity", "none", 2048, &m));
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, 128, &g), MCAMP_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(mcamp_delta(&ctx, &g, 7, eps[i], NULL, &a), MCAMP_OK);
        CHECK_LE(fabs(a.delta - delta[i]), 6 * a.std_error + 1e-2 * delta[i]);
        CHECK_LE(a.delta_upper, 1.1 * delta[i]);
        CHECK_LE((double)a.samples, 2.2e6);
    }
    CHECK_STATUS(mcamp_sigma(&ctx, &g, 0.3, 1e-9, NULL, &a), MCAMP_OK);
    CHECK_LE(a.delta_upper, 1e-9 * (1 + 2e-2));
    c.sigma = a.sigma * 1.002; c.eps = 0.3; c.delta = 1e-9; c.beta = 1e-300;
    CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &s), MCAMP_OK);
    CHECK(s.accepted && s.samples == 0 && s.remove.method == MCAMP_METHOD_EXACT);
    c.sigma = a.sigma * 0.998; c.max_samples = 4096;
    CHECK(mcamp_verify(&ctx, &g, &c, &s) > 0 && !s.accepted);
    CHECK_STATUS(mcamp_epsilon(&ctx, &g, 7, 7.083e-10, NULL, &a), MCAMP_OK);
    CHECK_NEAR(a.eps, 0.3, 1e-3, 0);
    mcamp_gram_free(&ctx, &g);
    mcamp_mech_free(&ctx, &m);
}

/* ---- power ------------------------------------------------------------------------------- */

/* A true delta of 0.9 times the target is accepted: for every kind of Gram matrix, in
 * both directions, for large and small targets, with the default budget.             */
TEST(a_claim_with_a_tenth_to_spare_is_accepted)
{
    static const double delta[3] = { 1e-3, 1e-5, 1e-8 };
    for (int i = 0; i < 3; i++) {
        mcamp_gram g;
        gram_of(&shapes[i], &g);
        for (int j = 0; j < 3; j++) {
            mcamp_budget bud = small_budget(ASK_DELTA);
            mcamp_claim c = small_claim();
            mcamp_guarantee s;
            mcamp_answer a;
            bud.rel_error = 0.01; bud.max_samples = 0; bud.seed = 40 + (uint64_t)j;
            CHECK_STATUS(mcamp_sigma(&ctx, &g, 1, 0.9 * delta[j], &bud, &a), MCAMP_OK);
            c.sigma = a.sigma; c.delta = delta[j]; c.beta = 1e-6; c.max_samples = 0;
            CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &s), MCAMP_OK);
            CHECK(s.accepted);
            CHECK_LE((double)s.samples, 2e6);
        }
        mcamp_gram_free(&ctx, &g);
    }
}

/* More noise, a larger eps: never a larger delta, not even by a last digit's noise,
 * for one seed and one choice of method: the same random numbers.                    */
TEST(answers_are_monotone_on_common_random_numbers)
{
    static double eps[9];
    mcamp_answer a[9];
    mcamp_gram g;
    gram_of(&shapes[0], &g);
    for (int i = 0; i < 9; i++) eps[i] = 0.25 * i;
    CHECK(mcamp_curve(&ctx, &g, 10, eps, 9, NULL, a) >= 0);
    for (int i = 1; i < 9; i++) {
        CHECK_LE(a[i].delta, a[i - 1].delta);
        CHECK_LE(a[i].remove.value, a[i - 1].remove.value);
        CHECK_LE(a[i].add.value, a[i - 1].add.value);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(mcamp_epsilon(&ctx, &g, 8 + i, 1e-5, NULL, &a[i]) >= 0);
        CHECK(i == 0 || a[i].eps < a[i - 1].eps);
    }
    mcamp_gram_free(&ctx, &g);
}

/* The bound of the add direction from classes of orthogonal modes: above what is sampled, and
 * what section exact says of that many bins; a matrix without far modes has none.         */
TEST(classes_bound_the_add_direction)
{
    static const struct { const char *name; size_t n, b, bins; double length; } c[] = {
        { "sqrt:2", 26, 13, 6, 1 }, { "sqrt:3", 60, 20, 6, 1.2 }, { "sqrt:2", 80, 40, 20, 1 },
        { "sqrt:4", 34, 17, 4, 1 }, { "sqrt:0", 34, 17, 0, 1 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        double bound = 0, eps = 0.7, sigma, keep;
        mcamp_gram g;
        mcamp__factor f;
        mcamp_answer a;
        mcamp_budget bud;
        mcamp_event e;
        mcamp_interval v = { 0, 1 };
        gram_make(c[i].name, "raw", c[i].n, c[i].b, &g);
        sigma = g.max_norm / c[i].length;
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        CHECK_STATUS(mcamp__classes_add(&ctx, &f, sigma, eps, &bound), MCAMP_OK);
        memset(&e, 0, sizeof e); memset(&bud, 0, sizeof bud);
        bud.direction = MCAMP_ADD; bud.rel_error = 0.03;
        CHECK(mcamp_delta(&ctx, &g, sigma, eps, &bud, &a) >= 0);
        CHECK_LE(a.add.value - 6.2 * a.add.std_error, bound);
        if (c[i].bins) {
            keep = log((double)c[i].b / floor((double)c[i].b / (double)c[i].bins) /
                       (double)c[i].bins);
            e.kind = MCAMP_EVENT_BINS; e.count = e.rounds = 1; e.bins = c[i].bins;
            e.sigma = sigma / g.max_norm;
            mcamp_exact_desc d;
            memset(&d, 0, sizeof d);
            d.direction = MCAMP_ADD; d.rel_error = 1e-4;
            CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, eps - keep, &v, NULL) >= 0);
            CHECK_LE(v.lower, bound);
            CHECK_LE(bound, v.upper * 1.003);
        } else {
            CHECK_NEAR(bound, 1, 0, 0);
        }
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* Its integrand is smooth: steps of 1e-3 leave nothing. */
TEST(a_mode_fades_as_its_integral)
{
    static const double a[] = { 1e-6, 0.3, 0.7, 3, 40, 100 }, c[] = { 1e-4, 0.02, 1, 30 };
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        for (size_t j = 0; j < sizeof c / sizeof *c; j++) {
            double sum = 0, v = mcamp__fade(a[i], c[j]);
            for (int k = -12000; k <= 12000; k++) {
                double z = 1e-3 * k;
                sum += 1e-3 * exp(-0.5 * z * z - c[j] * exp(sqrt(a[i]) * z - 0.5 * a[i]));
            }
            sum /= sqrt(2 * 3.14159265358979323846);
            CHECK_LE(sum * (1 - 1e-14), v);
            CHECK_NEAR(v, sum, 3e-12, 2e-18);
        }
}

/* A ball in groups of modes that are one and the same: the bound counts each group once.  It is
 * above, by not more than an exponential moment loses.                                     */
TEST(modes_that_are_one_count_once_in_the_bound_of_the_add_direction)
{
    static const struct { size_t b, alike; double sigma, eps; } c[] = {
        { 24, 1, 1, 0.7 }, { 24, 4, 1, 0.7 }, { 64, 2, 1.3, 0.5 }, { 64, 8, 0.8, 1 },
        { 200, 2, 0.9, 0.3 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        mcamp_interval v = groups_delta(c[i].b / c[i].alike, c[i].sigma, c[i].eps, MCAMP_ADD);
        double bound;
        mcamp__factor f;
        mcamp_gram g;
        groups_gram(c[i].b, c[i].alike, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        bound = mcamp__product_add(&f, c[i].sigma, c[i].eps);
        CHECK_LE(v.lower, bound);
        CHECK_LE(bound, 30 * v.upper);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* Above what is sampled, where modes partly agree; and far enough down to prove a claim that
 * the classes do not: no samples for that direction.                                        */
TEST(products_bound_the_add_direction)
{
    static const struct { const char *name; size_t n, b; double length; int proves; } c[] = {
        { "sqrt:2", 26, 13, 1, 0 }, { "sqrt:3", 60, 20, 1.2, 0 }, { "sqrt:4", 34, 17, 1, 0 },
        { "sqrt:0", 34, 17, 0.5, 0 }, { "sqrt:0", 64, 16, 0.7, 0 },
        { "sqrt:8", 1024, 256, 0.45, 1 } };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        double bound, classes = 1, eps = 0.3, sigma;
        mcamp_gram g;
        mcamp__factor f;
        mcamp_answer a;
        mcamp_budget bud;
        gram_make(c[i].name, "raw", c[i].n, c[i].b, &g);
        sigma = g.max_norm / c[i].length;
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        bound = mcamp__product_add(&f, sigma, eps);
        memset(&bud, 0, sizeof bud);
        bud.direction = MCAMP_ADD; bud.rel_error = 0.03; bud.method = MCAMP_METHOD_COMMON;
        CHECK(mcamp_delta(&ctx, &g, sigma, eps, &bud, &a) >= 0);
        CHECK_LE(a.add.value - 6.2 * a.add.std_error, bound);
        CHECK_LE(bound, 1);
        if (c[i].proves) {
            mcamp_claim claim;
            mcamp_guarantee s;
            CHECK_STATUS(mcamp__classes_add(&ctx, &f, sigma, eps, &classes), MCAMP_OK);
            CHECK(4 * bound < classes);
            memset(&claim, 0, sizeof claim);
            claim.sigma = sigma; claim.eps = eps; claim.direction = MCAMP_ADD;
            claim.delta = 1.001 * bound; claim.beta = 1e-9;
            CHECK_STATUS(mcamp_verify(&ctx, &g, &claim, &s), MCAMP_OK);
            CHECK(s.accepted && s.add.samples == 0 && s.add.method == MCAMP_METHOD_EXACT);
        }
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* ---- small eps: the bound of the remove direction ---------------------------------------- */

typedef struct quiet_case {
    mcamp_gram g;
    mcamp__factor f;
    mcamp__quiet q;
    double k, odds;
} quiet_case;

static void quiet_open(quiet_case *c, double sigma, double eps)
{
    CHECK_STATUS(mcamp__factor_init(&ctx, &c->g, &c->f), MCAMP_OK);
    CHECK_STATUS(mcamp__model_init(&ctx, &c->f, sigma, &c->q.m), MCAMP_OK);
    c->q.eps = eps;
    c->q.left = (double *)calloc(2 * c->f.b, sizeof(double));
    c->q.base = c->q.left + c->f.b;
    c->odds = mcamp__quiet_init(&c->f, &c->q, &c->k);
}

static void quiet_close(quiet_case *c)
{
    free(c->q.left);
    mcamp__model_free(&ctx, &c->q.m);
    mcamp__factor_free(&ctx, &c->f);
    mcamp_gram_free(&ctx, &c->g);
}

/* a'_ij of the case. */
static double quiet_left(const quiet_case *c, size_t i, size_t j)
{
    return mcamp__model_a(&c->q.m, i, j) - c->q.m.c[i] * c->q.m.c[j];
}

/* Strategies whose modes differ in length, and in what they have in common. */
static const struct { const char *name; size_t n, b; double sigma, eps; } quiets[] = {
    { "sqrt:2", 128, 32, 220, 0.01 }, { "sqrt:0", 30, 30, 60, 0.02 },
    { "rational:3", 47, 20, 12, 0.05 }, { "ones", 21, 5, 160, 0.02 },
    { "sqrt:4", 85, 17, 25, 0.1 }, { "rational:2", 9, 2, 90, 0.03 } };
enum { QUIETS = sizeof quiets / sizeof *quiets };

static void quiet_named(size_t i, quiet_case *c)
{
    gram_make(quiets[i].name, "raw", quiets[i].n, quiets[i].b, &c->g);
    quiet_open(c, quiets[i].sigma, quiets[i].eps);
}

/* What orders share: tr(a'^2), the largest eigenvalue by its powers, phi, and the odds that one
 * of the modes is loud, under the mixture.                                                */
TEST(what_is_known_of_quiet_modes)
{
    for (size_t i = 0; i < QUIETS; i++) {
        static double x[32], y[32];
        quiet_case c;
        double squares = 0, odds = 0, top = 0, phi;
        size_t b = quiets[i].b;
        quiet_named(i, &c);
        CHECK(c.odds < 1);
        for (size_t j = 0; j < b; j++) {
            double own = quiet_left(&c, j, j);
            CHECK_NEAR(c.q.left[j], own, 1e-12, 1e-18);
            x[j] = 1 + (double)(j % 3);
            for (size_t l = 0; l < b; l++) {
                double a = quiet_left(&c, j, l);
                squares += a * a;
                odds += 0.5 * erfc((c.q.t - a) / sqrt(2 * own)) / (double)b;
            }
        }
        for (int turn = 0; turn < 3000; turn++) {
            top = 0;
            for (size_t j = 0; j < b; j++) {
                y[j] = 0;
                for (size_t l = 0; l < b; l++) y[j] += quiet_left(&c, j, l) * x[l];
                top = fmax(top, fabs(y[j]));
            }
            for (size_t j = 0; j < b; j++) x[j] = y[j] / top;
        }
        phi = (double)((expm1l((long double)c.q.t) - (long double)c.q.t) /
                       ((long double)c.q.t * (long double)c.q.t));
        CHECK_LE(squares, c.q.squares);
        CHECK_NEAR(c.q.squares, squares, 1e-6, 0);
        CHECK_LE(top, c.q.lambda);
        CHECK_LE(odds, c.odds);
        CHECK_LE(c.odds, 0.01 * exp(mcamp__gauss_logdelta(c.q.m.root_total / (double)b,
                                                            quiets[i].eps)));
        CHECK_LE(phi, c.q.phi);
        CHECK_LE(c.q.phi, phi + 0.012 * c.q.t * c.q.t);
        quiet_close(&c);
    }
}

/* phi, where t is large. */
TEST(phi_of_quiet_modes_is_above_its_function)
{
    static const double sigma[] = { 4, 3, 2.5 };
    for (size_t i = 0; i < 3; i++) {
        quiet_case c;
        groups_gram(12, 3, &c.g);
        quiet_open(&c, sigma[i], 0.2);
        CHECK(c.odds < 1 && c.q.t > 1);
        CHECK_LE((exp(c.q.t) - 1 - c.q.t) / (c.q.t * c.q.t) * (1 - 1e-13), c.q.phi);
        quiet_close(&c);
    }
}

/* E rho_B^k of two modes: a' is x (1, -1; -1, 1), an integral over one normal. */
static double pair_moment(const quiet_case *c, const double *base, double k)
{
    double x = c->q.left[0], y = c->q.left[1], sum = 0, h = 1e-3;
    for (double z = -14; z <= 14; z += h) {
        double rho = base[0] * exp(sqrt(x) * z - 0.5 * x) +
                     base[1] * exp(-sqrt(y) * z - 0.5 * y);
        sum += h * exp(k * log(rho) - 0.5 * z * z);
    }
    return log(sum / sqrt(2 * 3.14159265358979323846));
}

TEST(the_moment_of_two_quiet_modes_is_bounded)
{
    static const struct { double g[4], sigma, weight; } at[] = {
        { { 1, 0.5, 0.5, 1 }, 1000, 0.5 }, { { 1, 0.2, 0.2, 2 }, 1000, 0.5 },
        { { 1, 0, 0, 1.0001 }, 300, 0.5 }, { { 3, 0.1, 0.1, 1 }, 2000, 0.49999 },
        { { 1, 0.3, 0.3, 1 }, 3000, 0.50001 }, { { 1, 0.3, 0.3, 1 }, 1000, 0.499 },
        { { 1, 0, 0, 1 }, 2000, 0.4998 } };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        for (double share = 0.01; share < 0.7; share *= 2) {
            quiet_case c;
            double base[2], k, exact, bound;
            gram_user(at[i].g, 2, &c.g);
            quiet_open(&c, at[i].sigma, 1e-3);
            k = floor(share / c.q.lambda);
            c.q.base[0] = base[0] = at[i].weight;
            c.q.base[1] = base[1] = 1 - at[i].weight;
            exact = pair_moment(&c, base, k);
            bound = mcamp__quiet_moment(&c.q, k);
            CHECK_LE(exact, bound + 1e-9);
            if (share < 0.1) CHECK_LE(bound, exact + 0.02 + 2 * fabs(exact));
            quiet_close(&c);
        }
}

/* E rho_B^k for small k is a sum over tuples of e^{sum of a' over pairs}. */
static double tuple_moment(const quiet_case *c, const double *base, size_t k)
{
    size_t b = c->f.b, count = 1;
    double sum = 0;
    for (size_t l = 0; l < k; l++) count *= b;
    for (size_t n = 0; n < count; n++) {
        size_t j[4];
        double term = 1, a = 0;
        for (size_t l = 0, m = n; l < k; l++, m /= b) {
            j[l] = m % b;
            term *= base[j[l]];
            for (size_t p = 0; p < l; p++) a += quiet_left(c, j[l], j[p]);
        }
        sum += term * exp(a);
    }
    return log(sum);
}

TEST(the_moment_of_quiet_modes_is_bounded)
{
    for (size_t i = 0; i < QUIETS; i++)
        for (size_t k = 2; k <= 4; k++) {
            double base[32], exact, bound;
            quiet_case c;
            quiet_named(i, &c);
            mcamp__common_setup(&c.q.m, k, c.q.base);
            memcpy(base, c.q.base, c.f.b * sizeof *base);
            exact = tuple_moment(&c, base, k);
            bound = mcamp__quiet_moment(&c.q, (double)k);
            CHECK_LE(exact, bound + 1e-13);
            CHECK_LE(bound, exact + 2 * (double)(k * k) * c.q.lambda * (c.q.lambda + c.q.t));
            quiet_close(&c);
        }
}

/* The whole bound: above what section exact says of groups of modes that are one, and near it
 * where eps is small; it says nothing where it is not.                                     */
TEST(quiet_groups_bound_the_remove_direction)
{
    static const struct { size_t b, alike; double sigma, eps, more; } at[] = {
        { 24, 2, 30, 0.05, 1.05 }, { 24, 4, 150, 0.01, 1.01 }, { 64, 2, 90, 0.01, 1.01 },
        { 64, 8, 30, 0.05, 1.05 }, { 6, 3, 400, 0.01, 1.01 }, { 200, 20, 12, 0.1, 1.2 },
        { 12, 3, 2e4, 1e-4, 1.01 }, { 12, 4, 3, 0.5, 30 }, { 24, 2, 0.8, 2, 0 } };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        mcamp_interval v = groups_delta(at[i].b / at[i].alike, at[i].sigma, at[i].eps,
                                        MCAMP_REMOVE);
        double bound = 0;
        mcamp__factor f;
        mcamp_gram g;
        groups_gram(at[i].b, at[i].alike, &g);
        CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
        CHECK_STATUS(mcamp__certain_remove(&ctx, &f, at[i].sigma, at[i].eps, &bound), MCAMP_OK);
        CHECK_LE(v.lower, bound);
        if (at[i].more > 0) CHECK_LE(bound, at[i].more * v.upper);
        else CHECK_NEAR(bound, 1, 0, 0);
        mcamp__factor_free(&ctx, &f);
        mcamp_gram_free(&ctx, &g);
    }
}

/* At a certain sigma both directions are certain to have delta, and with 1% less noise one has
 * not.                                                                                    */
static void check_certain(const quiet_case *c, double sigma, double eps, double delta)
{
    int lost = 0;
    for (int less = 0; less < 2; less++)
        for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
            mcamp_status st;
            double at = less ? 0.99 * sigma : sigma, v = 1;
            mcamp__question q = mcamp__ask(&c->f, at, eps, (mcamp_direction)d, 0);
            double unsure = exp(mcamp__free_log_bound(&ctx, &q, &st));
            CHECK(st >= 0);
            st = d == MCAMP_ADD ? mcamp__certain_add(&ctx, &c->f, at, eps, &v)
                                : mcamp__certain_remove(&ctx, &c->f, at, eps, &v);
            CHECK_STATUS(st, MCAMP_OK);
            if (less) lost |= fmin(v, unsure) > delta;
            else CHECK_LE(fmin(v, unsure), delta * (1 + 1e-9));
        }
    CHECK(lost);
}

/* The same of modes of all kinds, beside samples; the two parts are added up; the claim that
 * follows is accepted without a sample, and one that is a little too small is not.         */
TEST(quiet_modes_prove_claims_without_samples)
{
    for (size_t i = 0; i < QUIETS; i += mt_few(1, 3)) {
        quiet_case c;
        double bound = 0, part;
        mcamp_answer a;
        mcamp_budget bud;
        mcamp_claim claim;
        mcamp_guarantee s;
        quiet_named(i, &c);
        CHECK_STATUS(mcamp__certain_remove(&ctx, &c.f, quiets[i].sigma, quiets[i].eps, &bound),
                     MCAMP_OK);
        part = mcamp__quiet_order(&c.q, floor(0.8 * c.k));
        CHECK_LE(bound, (exp(part) + c.odds) * (1 + 1e-8));
        part = mcamp__quiet_best(&c.q, c.k);
        CHECK_LE(exp(part) + c.odds, bound);
        memset(&bud, 0, sizeof bud); memset(&claim, 0, sizeof claim);
        bud.direction = MCAMP_REMOVE; bud.rel_error = 0.005; bud.method = MCAMP_METHOD_COMMON;
        CHECK(mcamp_delta(&ctx, &c.g, quiets[i].sigma, quiets[i].eps, &bud, &a) >= 0);
        CHECK_LE(a.remove.value - 6.2 * a.remove.std_error, bound);
        CHECK_LE(bound, 1.25 * a.remove.value);
        claim.sigma = quiets[i].sigma; claim.eps = quiets[i].eps; claim.beta = 1e-9;
        claim.direction = MCAMP_REMOVE; claim.delta = 1.001 * bound;
        CHECK_STATUS(mcamp_verify(&ctx, &c.g, &claim, &s), MCAMP_OK);
        CHECK(s.accepted && s.remove.samples == 0 && s.remove.method == MCAMP_METHOD_EXACT);
        claim.delta = 0.8 * bound;
        CHECK_STATUS(mcamp_verify(&ctx, &c.g, &claim, &s), MCAMP_Q_REFUSED);
        CHECK_STATUS(mcamp_certain_sigma(&ctx, &c.g, MCAMP_CERTAIN_QUIET, quiets[i].eps, bound,
                                         &part), MCAMP_OK);
        check_certain(&c, part, quiets[i].eps, bound);
        bud.method = MCAMP_METHOD_DEFAULT; bud.rel_error = 0;
        CHECK_STATUS(mcamp_delta(&ctx, &c.g, quiets[i].sigma, quiets[i].eps, &bud, &a),
                     MCAMP_OK);
        CHECK(a.remove.trusted && a.remove.proof_samples < 65536);
        CHECK_LE((double)a.remove.order, 32);   /* enough, and cheaper */
        CHECK_LE(a.remove.upper, bound);
        quiet_close(&c);
    }
}

int main(int argc, char **argv)
{
    static const mt_case cases[] = {
        T(any_allocation_of_any_question_may_fail),
        T(numbers_that_are_none_are_refused_by_name),
        T(bad_budgets_and_claims_are_refused_by_name),
        T(objects_that_are_none_are_refused),
        T(one_bad_sample_refuses),
        T(exact_and_sampled_bounds_meet),
        T(any_number_of_rounds_needs_no_samples),
        T(classes_bound_the_add_direction),
        T(a_mode_fades_as_its_integral),
        T(modes_that_are_one_count_once_in_the_bound_of_the_add_direction),
        T(products_bound_the_add_direction),
        T(what_is_known_of_quiet_modes),
        T(phi_of_quiet_modes_is_above_its_function),
        T(the_moment_of_two_quiet_modes_is_bounded),
        T(the_moment_of_quiet_modes_is_bounded),
        T(quiet_groups_bound_the_remove_direction),
        T(quiet_modes_prove_claims_without_samples),
    T(modes_that_are_alike_need_few_samples),
        T(a_claim_with_a_tenth_to_spare_is_accepted),
        T(answers_are_monotone_on_common_random_numbers) };
    setup();
    return mt_run("calib", cases, sizeof cases / sizeof cases[0], argc, argv);
}
