/* Section plan: the table, the choice, its proof, its reports; interruption, bad
 * arguments, failing allocations.                                                */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"

static mcamp_ctx ctx;

static void setup(void) { CHECK_STATUS(mt_ctx_init(&ctx, NULL), MCAMP_OK); }

static mcamp_plan_desc plan_of(size_t n, size_t b)
{
    mcamp_plan_desc d;
    memset(&d, 0, sizeof d);
    d.rounds = n; d.batches = b; d.eps = 2; d.delta = 1e-5;
    d.sampling = MCAMP_PLAN_BINS | MCAMP_PLAN_POISSON;
    d.budget.rel_error = 0.05;
    return d;
}

/* ---- the choice ---------------------------------------------------------------- */

/* The table's smallest error is chosen, and its sigma is proven for that very C. */
TEST(chooses_and_proves)
{
    mcamp_plan_desc d = plan_of(32, 8);
    mcamp_plan_result r;
    mcamp_mech mech;
    mcamp_gram gram;
    setup();
    CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), MCAMP_OK);
    CHECK(r.rows == 11 && r.certified && r.rounds == 32 && r.batches == 8);
    for (size_t i = 0; i < r.rows; i++) {
        CHECK(r.row[i].status >= 0);
        CHECK(r.row[i].memory <= 4);
        CHECK_LE(r.row[r.best].result.rmse, r.row[i].result.rmse);
    }
    CHECK(r.row[r.best].amplification == MCAMP_AMPLIFY_BINS);
    CHECK(r.guarantee.accepted && r.guarantee.rungs > 0);
    CHECK_STATUS(mcamp_gram_init(&ctx, &mech, 8, &gram), MCAMP_OK);
    CHECK(r.guarantee.gram_digest == gram.digest);
    CHECK_NEAR(r.sigma, r.row[r.best].result.sigma, 0.05, 0);
    CHECK_NEAR(r.rmse, r.sigma * r.row[r.best].result.unit.rmse, 1e-14, 0);
    mcamp_gram_free(&ctx, &gram);
    mcamp_mech_free(&ctx, &mech);
}

/* Without amplification the sensitivity of C and the Gaussian mechanism say it all. */
TEST(without_sampling)
{
    mcamp_plan_desc d = plan_of(40, 10);
    mcamp_plan_result r;
    mcamp_mech mech;
    mcamp_sens sens;
    double delta = 1;
    setup();
    d.sampling = 0;
    d.memory = 1;
    CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), MCAMP_OK);
    CHECK(r.rows == 3 && r.certified && r.guarantee.accepted);
    CHECK(mech.buffers == 1);
    CHECK_STATUS(mcamp_sens_fixed(&ctx, &mech, 4, 10, &sens), MCAMP_OK);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, r.sigma, sens.value, 2, &delta), MCAMP_OK);
    CHECK_LE(delta, 1e-5);
    CHECK_NEAR(delta, 1e-5, 1e-6, 0);
    mcamp_mech_free(&ctx, &mech);
}

/* Cyclic Poisson sampling: the section for training grants the same guarantee. */
TEST(with_poisson_sampling)
{
    mcamp_plan_desc d = plan_of(256, 64);
    mcamp_plan_result r;
    mcamp_mech mech;
    mcamp_guarantee g;
    setup();
    d.sampling = MCAMP_PLAN_POISSON;
    d.memory = 2;
    d.eps = 0.5;
    CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), MCAMP_OK);
    CHECK(r.row[r.best].amplification == MCAMP_AMPLIFY_POISSON && r.certified);
    CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &mech, mech.bands, (double)mech.bands / 64,
                                         r.sigma, 1e-5, &g), MCAMP_OK);
    CHECK_LE(g.eps, 0.5 * (1 + 1e-4));
    CHECK_LE(0.5 * (1 - 1e-2), g.eps);
    mcamp_mech_free(&ctx, &mech);
}

/* More memory or another sampling can only help, up to the error of sigma. */
TEST(more_means_are_not_worse)
{
    double last = 0;
    setup();
    for (int step = 2 * mt_quick(); step < 4; step++) {
        mcamp_plan_desc d = plan_of(mt_few(48, 24), mt_few(12, 6));
        mcamp_plan_result r;
        mcamp_mech mech;
        d.memory = step ? 2 : 1;
        d.sampling = step > 2 ? MCAMP_PLAN_BINS | MCAMP_PLAN_POISSON
                   : step > 1 ? MCAMP_PLAN_POISSON : 0;
        d.budget.rel_error = 0.01;
        CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), MCAMP_OK);
        if (last > 0) CHECK_LE(r.row[r.best].result.rmse, last * (1 + 2e-3));
        last = r.row[r.best].result.rmse;
        mcamp_mech_free(&ctx, &mech);
    }
}

/* BLT of more buffers go on from those of fewer: each row is still what it is alone. */
TEST(rows_are_those_of_one_run)
{
    mcamp_plan_desc d = plan_of(30, 3);
    mcamp_plan_result r;
    mcamp_mech best;
    setup();
    d.sampling = MCAMP_PLAN_BINS;
    CHECK_STATUS(mcamp_plan(&ctx, &d, &best, &r), MCAMP_OK);
    CHECK(r.rows == 10);
    for (size_t i = 0; i < r.rows; i++) {
        const mcamp_plan_row *row = &r.row[i];
        mcamp_opt_desc o;
        mcamp_opt_result alone;
        mcamp_mech mech;
        memset(&o, 0, sizeof o);
        o.rounds = d.rounds; o.batches = d.batches; o.eps = d.eps; o.delta = d.delta;
        o.budget = d.budget;
        o.family = row->family; o.amplification = row->amplification;
        o.buffers = row->buffers; o.scale_degree = row->scale_degree;
        if (row->family == MCAMP_OPT_TOEPLITZ) o.bands = row->bands;
        CHECK_STATUS(mcamp_opt_run(&ctx, &o, &mech, &alone), row->status);
        CHECK(mcamp__eq(alone.rmse, row->result.rmse));
        CHECK(mcamp__eq(alone.sigma, row->result.sigma));
        CHECK(i != r.best || mech.digest == best.digest);
        mcamp_mech_free(&ctx, &mech);
    }
    mcamp_mech_free(&ctx, &best);
}

TEST(worst_rounds_and_other_workloads)
{
    mcamp_plan_desc d = plan_of(24, 6);
    mcamp_work_desc wd;
    mcamp_work work;
    mcamp_plan_result r;
    mcamp_mech mech;
    setup();
    memset(&wd, 0, sizeof wd);
    wd.kind = MCAMP_WORK_MOMENTUM;
    wd.n = 24;
    wd.beta = 0.9;
    CHECK_STATUS(mcamp_work_init(&ctx, &wd, &work), MCAMP_OK);
    d.work = &work;
    d.error = MCAMP_ERROR_MAX;
    d.memory = 2;
    CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), MCAMP_OK);
    for (size_t i = 0; i < r.rows; i++)
        CHECK_LE(r.row[r.best].result.max_error, r.row[i].result.max_error);
    mcamp_mech_free(&ctx, &mech);
    mcamp_work_free(&ctx, &work);
}

/* Any two of rounds, batches and epochs. */
TEST(shapes)
{
    static const size_t shape[4][3] = { { 12, 4, 0 }, { 0, 4, 3 }, { 12, 0, 3 }, { 11, 0, 3 } };
    setup();
    for (int i = 0; i < 4; i++) {
        mcamp_plan_desc d = plan_of(shape[i][0], shape[i][1]);
        mcamp_plan_result r;
        mcamp_mech mech;
        d.epochs = shape[i][2];
        d.sampling = 0;
        CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), MCAMP_OK);
        CHECK(r.rounds == (i < 3 ? 12u : 11u) && r.batches == 4);
        mcamp_mech_free(&ctx, &mech);
    }
}

/* ---- the certificate ------------------------------------------------------------ */

/* The largest norm of a sum of C's columns `step` apart, every start, from the columns. */
static double largest_pattern(const mcamp_mech *m, size_t step)
{
    double sum[128], column[128], top = 0;
    for (size_t first = 0; first < step && first < m->n; first++) {
        double square = 0;
        memset(sum, 0, sizeof sum);
        for (size_t j = first; j < m->n; j += step) {
            CHECK_STATUS(mcamp_mech_column(&ctx, m, j, column), MCAMP_OK);
            for (size_t i = 0; i < m->n; i++) sum[i] += fabs(column[i]);
        }
        for (size_t i = 0; i < m->n; i++) square += sum[i] * sum[i];
        top = mcamp__dmax(top, sqrt(square));
    }
    return top;
}

static mcamp_event cyclic_event(const mcamp_mech *m, size_t b, double sigma)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.count = (m->n + m->bands - 1) / m->bands;
    e.kind = m->bands < b ? MCAMP_EVENT_POISSON : MCAMP_EVENT_GAUSSIAN;
    e.q = m->bands < b ? (double)m->bands / (double)b : 0;
    e.sigma = sigma;
    e.sensitivity = largest_pattern(m, m->n);
    return e;
}

/* delta for C and sigma as they came back, by another road: not above what was asked, and
 * not far below; and every field of the guarantee.                                      */
static void recompute(const mcamp_plan_desc *d, const mcamp_mech *m, const mcamp_plan_result *r)
{
    const mcamp_plan_row *row = r->row + r->best;
    const mcamp_guarantee *g = &r->guarantee;
    int poisson = row->amplification == MCAMP_AMPLIFY_POISSON;
    CHECK(r->certified && g->accepted && g->strategy_digest == m->digest);
    CHECK(g->rounds == m->n && mcamp__eq(g->sigma, r->sigma));
    CHECK(mcamp__eq(g->eps, d->eps) && g->delta <= d->delta && g->beta <= d->delta);
    CHECK(m->buffers == row->buffers && m->bands == row->result.bands);
    CHECK_NEAR(r->rmse, r->sigma * row->result.unit.rmse, 1e-14, 0);
    CHECK_NEAR(r->max_error, r->sigma * row->result.unit.max, 1e-14, 0);
    CHECK(g->batches == (poisson ? m->bands : r->batches));
    CHECK_NEAR(g->q, poisson ? (double)m->bands / (double)r->batches : 0, 1e-15, 0);
    if (row->amplification == MCAMP_AMPLIFY_BINS) {
        mcamp_budget precise;
        mcamp_answer a;
        mcamp_gram gram;
        memset(&precise, 0, sizeof precise);
        precise.rel_error = 0.02;
        precise.seed = 77;
        CHECK_STATUS(mcamp_gram_init(&ctx, m, r->batches, &gram), MCAMP_OK);
        CHECK(g->gram_digest == gram.digest && g->law == MCAMP_BATCH_BINS);
        CHECK(mcamp_delta(&ctx, &gram, r->sigma, d->eps, &precise, &a) >= 0);
        CHECK_LE(a.delta, d->delta * 1.06);
        mcamp_gram_free(&ctx, &gram);
    } else if (poisson) {
        mcamp_event e = cyclic_event(m, r->batches, r->sigma);
        mcamp_interval v;
        CHECK(g->law == MCAMP_BATCH_POISSON);
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, NULL, d->eps, &v, NULL), MCAMP_OK);
        CHECK_LE(v.lower, d->delta);
        CHECK_LE(0.98 * d->delta, v.upper);
    } else {
        double l = mcamp__gauss_logdelta(largest_pattern(m, r->batches) / r->sigma, d->eps);
        CHECK(g->law == MCAMP_BATCH_SHUFFLE);
        CHECK_LE(l, log(d->delta) + 1e-12);
        CHECK_LE(log(d->delta) - 1e-6, l);
        CHECK_NEAR(g->sensitivity, largest_pattern(m, r->batches), 1e-12, 0);
    }
}

/* Whole and partial cycles, with one round more and one less; every sampling. */
TEST(what_is_certified_keeps_delta)
{
    static const size_t shape[5][2] = { { 12, 4 }, { 13, 4 }, { 15, 7 }, { 8, 8 }, { 61, 12 } };
    size_t chosen[4] = { 0, 0, 0, 0 };
    setup();
    for (int i = 0; i < 5; i++)
        for (unsigned sampling = 0; sampling <= MCAMP_PLAN_POISSON; sampling++) {
            mcamp_plan_desc d = plan_of(shape[i][0], shape[i][1]);
            mcamp_plan_result r;
            mcamp_mech mech;
            d.sampling = sampling;
            d.memory = i == 2 ? 2 : 1;
            d.eps = i % 2 ? 0.7 : 3;
            d.delta = i == 2 ? 1e-3 : 1e-5;
            d.budget.max_samples = i == 2 ? 1024 : 0;
            if (sampling == MCAMP_PLAN_BINS && i > 2) continue;
            d.error = i == 2 ? MCAMP_ERROR_MAX : MCAMP_ERROR_RMSE;
            CHECK(mcamp_plan(&ctx, &d, &mech, &r) >= 0);
            recompute(&d, &mech, &r);
            for (size_t k = 0; k < r.rows; k++) {
                CHECK(r.row[k].status < 0 || r.row[k].memory <= d.memory);
                CHECK(r.row[k].amplification != MCAMP_AMPLIFY_POISSON ||
                      sampling & MCAMP_PLAN_POISSON);
            }
            chosen[r.row[r.best].amplification]++;
            mcamp_mech_free(&ctx, &mech);
        }
    CHECK(chosen[1] >= 5 && chosen[2] >= 2 && chosen[3] >= 2);
}

/* ---- laws of batches ------------------------------------------------------------ */

/* The plan's guarantee is that of its C under the law, which the samples of another question
 * agree with; as a record it comes back, and a session of the law takes it.  C fits.      */
static void check_law(const mcamp_plan_desc *d, const mcamp_mech *m, const mcamp_plan_result *r)
{
    const mcamp_plan_row *row = &r->row[r->best];
    const mcamp_guarantee *g = &r->guarantee;
    mcamp_participation part;
    mcamp_budget rough;
    mcamp_answer a;
    mcamp_gram gram;
    memset(&part, 0, sizeof part);
    memset(&rough, 0, sizeof rough);
    part.law = row->law; part.batches = row->batches; part.q = row->q;
    rough.rel_error = 0.05;
    rough.seed = 77;
    CHECK(row->amplification == MCAMP_AMPLIFY_LAW && r->certified && g->accepted);
    CHECK(g->kind == MCAMP_KIND_VERIFIED && g->law == row->law && mcamp__eq(g->q, row->q));
    CHECK(g->batches == row->batches && g->rounds == m->n && g->strategy_digest == m->digest);
    CHECK(m->bands <= row->batches && row->memory == m->bands - 1 && !m->buffers);
    CHECK_STATUS(mcamp_gram_pattern(&ctx, m, &part, &gram), MCAMP_OK);
    CHECK(g->gram_digest == gram.digest);
    CHECK(mcamp_delta(&ctx, &gram, r->sigma, d->eps, &rough, &a) >= 0);
    CHECK_LE(a.delta, d->delta * 1.2);
    CHECK_LE(d->delta * 0.6, a.delta);
    CHECK_NEAR(r->rmse, r->sigma * row->result.unit.rmse, 1e-14, 0);
    mcamp_gram_free(&ctx, &gram);
}

typedef struct text { char s[20000]; size_t n; size_t most; } text;

static int collect(void *user, const char *s, size_t n)
{
    text *t = (text *)user;
    if (t->n + n > t->most) return 1;
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = '\0';
    return 0;
}

/* Share of the data set that a round takes, by the chain itself, stationary start. */
static double round_share(mcamp_batch_law law, size_t b, double q)
{
    return law == MCAMP_BATCH_POISSON ? q / (double)b : q / (1 + ((double)b - 1) * q);
}

/* Its record, and a session from it: of the law, whose batches are as the plan had them. */
static void check_session(const mcamp_mech *m, const mcamp_guarantee *g)
{
    static text t;
    mcamp_writer w;
    mcamp_train_desc d;
    mcamp_train train;
    const size_t *member;
    size_t count = 0;
    w.write = collect; w.user = &t;
    t.n = 0; t.most = sizeof t.s - 1;
    CHECK_STATUS(mcamp_record_write(g, m, &w), MCAMP_OK);
    memset(&d, 0, sizeof d);
    d.record = t.s; d.record_size = t.n;
    d.examples = 50; d.dim = 3; d.clip_norm = 1;
    mcamp_key_insecure_test(1, &d.key);
    CHECK_STATUS(mcamp_train_init(&ctx, &d, &train), MCAMP_OK);
    CHECK(train.batch.law == g->law && train.batch.batches == g->batches);
    CHECK(mcamp__eq(train.batch.q, g->q) && train.guarantee.gram_digest == g->gram_digest);
    CHECK(train.guarantee.law == g->law && train.own.digest == m->digest);
    CHECK_NEAR(train.noise.batch, 50 * round_share(g->law, (size_t)g->batches, g->q), 1e-12, 0);
    CHECK_STATUS(mcamp_train_begin(&ctx, &train, &member, &count), MCAMP_OK);
    CHECK(count <= 50);
    mcamp_train_free(&ctx, &train);
}

/* A law as given: everything is tried under it, with at most b bands. */
TEST(under_a_law)
{
    static const struct { mcamp_batch_law law; size_t n, b, memory; double q; } of[3] = {
        { MCAMP_BATCH_POISSON, 13, 4, 2, 0.5 }, { MCAMP_BATCH_MINSEP, 10, 3, 7, 0.25 },
        { MCAMP_BATCH_MINSEP_WARM, 9, 4, 3, 0.4 }
    };
    setup();
    for (int i = 0; i < 3; i++) {
        mcamp_plan_desc d = plan_of(of[i].n, of[i].b);
        mcamp_plan_result r;
        mcamp_mech mech;
        d.sampling = 0; d.law = of[i].law; d.q = of[i].q; d.memory = of[i].memory;
        d.delta = 1e-3; d.eps = 1;
        d.budget.max_samples = 512;
        CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), MCAMP_OK);
        CHECK(r.rows == (i == 2 ? 3u : 2u) && r.batches == of[i].b);
        for (size_t k = 0; k < r.rows; k++) {
            CHECK(r.row[k].amplification == MCAMP_AMPLIFY_LAW && r.row[k].law == of[i].law);
            CHECK(r.row[k].status >= 0 && r.row[k].bands <= mcamp__zmin(of[i].b, of[i].memory + 1));
            CHECK_LE(r.row[r.best].result.rmse, r.row[k].result.rmse);
        }
        CHECK(r.row[r.best].family != MCAMP_OPT_IDENTITY);
        check_law(&d, &mech, &r);
        check_session(&mech, &r.guarantee);
        mcamp_mech_free(&ctx, &mech);
    }
}

/* All samplings beside each other: batches of the same size, no row with more memory. */
TEST(samplings_compared)
{
    mcamp_plan_desc d = plan_of(16, 8);
    mcamp_plan_result r;
    mcamp_mech mech;
    size_t seen[2] = { 0, 0 };
    setup();
    d.sampling = MCAMP_PLAN_BINS | MCAMP_PLAN_POISSON | MCAMP_PLAN_CYCLIC | MCAMP_PLAN_MINSEP;
    d.memory = 2; d.delta = 1e-3; d.eps = 1;
    d.budget.max_samples = 512;
    CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), MCAMP_OK);
    for (size_t i = 0; i < r.rows; i++) {
        const mcamp_plan_row *row = &r.row[i];
        CHECK(row->status >= 0 && row->memory <= 2);
        CHECK_LE(r.row[r.best].result.rmse, row->result.rmse);
        if (!row->law) continue;
        CHECK_NEAR(round_share(row->law, row->batches, row->q), 1 / 8.0, 1e-12, 0);
        CHECK(row->batches == row->bands);
        seen[row->law == MCAMP_BATCH_POISSON]++;
        /* what is amplified is better than what is not */
        CHECK_LE(row->result.rmse, 0.8 * r.row[0].result.rmse);
    }
    CHECK(seen[0] >= 2 && seen[1] >= 2);
    if (r.row[r.best].law) check_law(&d, &mech, &r);
    CHECK(r.certified);
    mcamp_mech_free(&ctx, &mech);
}

/* A planner whose only row is this C with this sigma. */
static void one_row(mcamp__planner *p, mcamp_plan_result *r, const mcamp_plan_desc *d,
                    const mcamp_mech *m, mcamp_amplification amp, double sigma)
{
    mcamp__plan_begin(p, d, d->rounds, d->batches, r);
    p->best = *m;
    p->found = 1;
    r->rows = 1;
    r->row[0].amplification = amp;
    r->row[0].result.sigma = sigma;
}

static void check_refused(mcamp__planner *p, int good)
{
    CHECK_STATUS(mcamp__plan_certify(&ctx, p), good ? MCAMP_OK : MCAMP_Q_REFUSED);
    CHECK(p->out->certified == (good != 0) && p->out->guarantee.accepted == (good != 0));
    CHECK((p->out->guarantee.kind != MCAMP_KIND_NONE) == (good != 0));
}

/* 13 rounds in cycles of 4: the first example takes part four times.  A sigma for fewer,
 * or a little smaller, is refused; so is one where only the interval's lower end is good. */
TEST(a_certificate_can_fail)
{
    mcamp_plan_desc d = plan_of(13, 4);
    mcamp_mech_desc md;
    mcamp_plan_result r;
    mcamp__planner p;
    mcamp_interval v;
    mcamp_exact_desc x;
    mcamp_event e;
    mcamp_mech m;
    double sigma = 0;
    setup();
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_SQRT; md.n = 13; md.bands = 3;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &m), MCAMP_OK);
    for (size_t uses = 1; uses <= 4; uses++)
        for (int less = 0; less < 2; less++) {
            mcamp_sens sens;
            CHECK_STATUS(mcamp_sens_fixed(&ctx, &m, uses, 4, &sens), MCAMP_OK);
            CHECK_STATUS(mcamp_gauss_sigma(&ctx, sens.value, d.eps, d.delta, &sigma), MCAMP_OK);
            one_row(&p, &r, &d, &m, MCAMP_AMPLIFY_NONE, less ? sigma * (1 - 1e-6) : sigma);
            check_refused(&p, uses == 4 && !less);
        }
    memset(&x, 0, sizeof x);
    x.rel_error = 1e-3;
    e = cyclic_event(&m, 4, 2 * (1 + 1e-9));
    e.sensitivity *= 1 + 1e-13;
    CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &x, d.eps, &v, NULL), MCAMP_OK);
    CHECK(v.lower < v.upper);
    for (int half = 0; half < 2; half++) {
        d.delta = half ? 0.5 * (v.lower + v.upper) : v.upper * (1 + 1e-9);
        one_row(&p, &r, &d, &m, MCAMP_AMPLIFY_POISSON, 2);
        check_refused(&p, !half);
    }
    mcamp_mech_free(&ctx, &m);
}

/* ---- interruption ------------------------------------------------------------------ */

typedef struct watch { int calls, stop_at, backwards; double last; } watch;

static int watching(void *user, double fraction, double best)
{
    watch *w = (watch *)user;
    (void)best;
    if (!(fraction >= w->last && fraction <= 1)) w->backwards++;
    w->last = fraction;
    return ++w->calls == w->stop_at;
}

/* Whenever it is stopped, the best so far comes back with its proof. */
TEST(interrupted_it_chooses_among_what_it_has)
{
    static const int stop[4] = { 0, 1, 20, 60 };
    for (int i = mt_quick(); i < 4; i++) {
        mcamp_plan_desc d = plan_of(32, 8);
        mcamp_plan_result r;
        mcamp_ctx_desc cd;
        mcamp_mech mech;
        watch w;
        d.delta = 1e-3;
        memset(&w, 0, sizeof w);
        memset(&cd, 0, sizeof cd);
        w.stop_at = stop[i];
        cd.progress.fn = watching;
        cd.progress.user = &w;
        CHECK_STATUS(mt_ctx_init(&ctx, &cd), MCAMP_OK);
        CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), stop[i] ? MCAMP_Q_INTERRUPTED : MCAMP_OK);
        CHECK(w.calls == stop[i] || !stop[i]);
        CHECK(w.backwards == 0 && r.sigma > 0);
        CHECK(r.certified == !stop[i] && r.guarantee.accepted == !stop[i]);
        CHECK(r.guarantee.interrupted == (stop[i] > 0));
        CHECK(stop[i] ? r.rows < 11 : r.rows == 11);
        mcamp_mech_free(&ctx, &mech);
    }
}

/* ---- reports ------------------------------------------------------------------------ */

/* Braces and brackets match and nothing follows the object. */
static int is_object(const char *s)
{
    int depth = 0;
    for (; *s; s++) {
        if (*s == '{' || *s == '[') depth++;
        if (*s == '}' || *s == ']') depth--;
        if (!depth) break;
    }
    return depth == 0 && s[0] == '}' && s[1] == '\n' && !s[2];
}

static size_t count_of(const char *s, const char *what)
{
    size_t n = 0;
    for (; (s = strstr(s, what)) != NULL; s++) n++;
    return n;
}

TEST(reports)
{
    static const unsigned sampling[3] = { 0, MCAMP_PLAN_POISSON, MCAMP_PLAN_BINS };
    static const char *const proof[3] = { "closed form of the Gaussian", "cyclic Poisson sampling",
                                          "balls in bins, every example" };
    static text t;
    mcamp_writer w;
    setup();
    w.write = collect;
    w.user = &t;
    for (int i = 0; i < 3; i++) {
        mcamp_plan_desc d = plan_of(32, 16);
        mcamp_plan_result r;
        mcamp_mech mech;
        d.sampling = sampling[i];
        d.memory = 1;
        d.eps = 0.5;
        CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), MCAMP_OK);
        t.n = 0; t.most = sizeof t.s - 1;
        CHECK_STATUS(mcamp_report_plan(&r, &mech, MCAMP_REPORT_JSON, &w), MCAMP_OK);
        CHECK(is_object(t.s));
        CHECK(count_of(t.s, "\"family\": ") == r.rows + 1);
        CHECK(strstr(t.s, "\"tried\": [{") != NULL);
        CHECK(strstr(t.s, mech.buffers ? "\"theta\": [" : "\"coefficients\": ["));
        CHECK(strstr(t.s, "\"certified\": true"));
        t.n = 0;
        CHECK_STATUS(mcamp_report_plan(&r, NULL, MCAMP_REPORT_TEXT, &w), MCAMP_OK);
        CHECK(count_of(t.s, "\n* ") == 1 && strstr(t.s, "Certified: ") && strstr(t.s, proof[i]));
        t.n = 0;
        CHECK_STATUS(mcamp_report_plan(&r, NULL, MCAMP_REPORT_CSV, &w), MCAMP_OK);
        CHECK(count_of(t.s, "\n") == r.rows + 1 && count_of(t.s, ",1\n") == 1);
        t.most = 3;
        CHECK_STATUS(mcamp_report_plan(&r, NULL, MCAMP_REPORT_JSON, &w), MCAMP_Q_INTERRUPTED);
        CHECK_STATUS(mcamp_report_plan(&r, NULL, MCAMP_REPORT_TEXT, &w), MCAMP_Q_INTERRUPTED);
        CHECK_STATUS(mcamp_report_plan(NULL, &mech, MCAMP_REPORT_JSON, &w), MCAMP_E_REQUIRED);
        CHECK_STATUS(mcamp_report_plan(&r, NULL, MCAMP_REPORT_TEXT, NULL), MCAMP_E_REQUIRED);
        mcamp_mech_free(&ctx, &mech);
        CHECK_STATUS(mcamp_report_plan(&r, &mech, MCAMP_REPORT_JSON, &w), MCAMP_E_ARG);
        r.best = r.rows;
        CHECK_STATUS(mcamp_report_plan(&r, NULL, MCAMP_REPORT_TEXT, &w), MCAMP_E_ARG);
    }
}

/* ---- faults ------------------------------------------------------------------------- */

static void refused(mcamp_plan_desc d, mcamp_status want)
{
    mcamp_mech mech, before;
    mcamp_plan_result r;
    memset(&r, 0x5a, sizeof r);
    memset(&mech, 0x5a, sizeof mech);
    before = mech;
    CHECK_STATUS(mcamp_plan(&ctx, &d, &mech, &r), want);
    CHECK(((unsigned char *)&r)[3] == 0x5a && !memcmp(&mech, &before, sizeof mech));
}

#define REFUSED(change, want) do { \
    mcamp_plan_desc d = plan_of(16, 4); \
    change; \
    refused(d, want); \
} while (0)

TEST(bad_arguments)
{
    mcamp_plan_desc good = plan_of(16, 4);
    mcamp_plan_result r;
    mcamp_mech mech;
    mcamp_work work;
    mcamp_work_desc wd;
    setup();
    memset(&wd, 0, sizeof wd);
    wd.n = 15;
    CHECK_STATUS(mcamp_work_init(&ctx, &wd, &work), MCAMP_OK);
    REFUSED(d.start_canary = 1, MCAMP_E_CANARY);
    REFUSED(d.end_canary = 1, MCAMP_E_CANARY);
    REFUSED(d.rounds = 0, MCAMP_E_REQUIRED);
    REFUSED(d.batches = 0, MCAMP_E_REQUIRED);
    REFUSED(d.batches = 0; d.rounds = 0; d.epochs = 4, MCAMP_E_REQUIRED);
    REFUSED(d.rounds = 0; d.epochs = SIZE_MAX / 2, MCAMP_E_SIZE);
    REFUSED(d.batches = 17, MCAMP_E_SIZE);
    REFUSED(d.epochs = 5, MCAMP_E_SIZE);
    REFUSED(d.batches = 0; d.epochs = 17, MCAMP_E_SIZE);
    REFUSED(d.sampling = 16, MCAMP_E_ARG);
    REFUSED(d.law = MCAMP_BATCH_MINSEP; d.q = 0.1, MCAMP_E_ARG);     /* and sampling */
    REFUSED(d.sampling = 0; d.law = MCAMP_BATCH_SHUFFLE; d.q = 0.1, MCAMP_E_ARG);
    REFUSED(d.sampling = 0; d.law = MCAMP_BATCH_MINSEP, MCAMP_E_ARG);
    REFUSED(d.sampling = 0; d.law = MCAMP_BATCH_MINSEP; d.q = 1.1, MCAMP_E_ARG);
    REFUSED(d.sampling = 0; d.law = MCAMP_BATCH_MINSEP; d.q = mcamp__nan(), MCAMP_E_NONFINITE);
    REFUSED(d.q = 0.5, MCAMP_E_ARG);
    REFUSED(d.error = (mcamp_error_kind)2, MCAMP_E_ARG);
    REFUSED(d.error = (mcamp_error_kind)-1, MCAMP_E_ARG);
    REFUSED(d.work = &work, MCAMP_E_MISMATCH);
    REFUSED(d.eps = mcamp__nan(), MCAMP_E_NONFINITE);
    REFUSED(d.eps = -1, MCAMP_E_ARG);
    REFUSED(d.delta = 0, MCAMP_E_ARG);
    REFUSED(d.delta = 1, MCAMP_E_ARG);
    REFUSED(d.budget.rel_error = mcamp__nan(), MCAMP_E_NONFINITE);
    REFUSED(d.budget.beta = 2, MCAMP_E_ARG);
    CHECK_STATUS(mcamp_plan(&ctx, NULL, &mech, &r), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_plan(&ctx, &good, NULL, &r), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_plan(&ctx, &good, &mech, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_plan(NULL, &good, &mech, &r), MCAMP_E_ARG);
    mcamp_work_free(&ctx, &work);
}

static mcamp_status plan_once(mcamp_ctx *c, void *user)
{
    const mcamp_plan_desc *d = (const mcamp_plan_desc *)user;
    mcamp_plan_result r;
    mcamp_mech mech;
    mcamp_status st = mcamp_plan(c, d, &mech, &r);
    if (st >= 0) mcamp_mech_free(c, &mech);
    return st;
}

/* The first allocations one by one, later ones here and there, alone and with all that
 * follow: nothing leaks, nothing is written beyond its end.                          */
TEST(allocation_failures)
{
    static const unsigned sampling[4] = { 0, MCAMP_PLAN_POISSON, MCAMP_PLAN_BINS,
                                          MCAMP_PLAN_CYCLIC };
    size_t dense = mt_scale(60);
    setup();
    for (int i = 0; i < 4; i++) {
        mcamp_plan_desc d = plan_of(4, 2);
        size_t calls = 0, ignored;
        mcamp_status want;
        d.sampling = sampling[i];
        d.memory = 1;
        d.delta = 0.1;                  /* few samples: the same calls, in a third of the time */
        d.budget.max_samples = 64;
        want = plan_once(&ctx, &d);
        CHECK_STATUS(want, MCAMP_OK);
        CHECK(mt_one_fault("plan", plan_once, &d, 0, 0, want, &calls));
        for (size_t k = 1; k <= calls; k += k < dense ? 1 : k / 3 + 1) {
            CHECK(mt_one_fault("plan", plan_once, &d, k, 0, want, &ignored));
            CHECK(mt_one_fault("plan", plan_once, &d, k, 1, MCAMP_E_MEMORY, &ignored));
        }
    }
}

TEST_MAIN("plan",
    T(a_certificate_can_fail), T(bad_arguments), T(without_sampling), T(shapes),
    T(with_poisson_sampling), T(what_is_certified_keeps_delta), T(chooses_and_proves),
    T(worst_rounds_and_other_workloads), T(rows_are_those_of_one_run), T(reports),
    T(under_a_law), T(samplings_compared),
    T(interrupted_it_chooses_among_what_it_has), T(more_means_are_not_worse),
    T(allocation_failures))
