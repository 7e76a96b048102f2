/* Balls in bins with a limit on the batches: the law of full bins, the bound against true
 * divergences by enumeration, samples against quadrature, claims, sessions.  Shuffled batches.  */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"

#define PI 3.14159265358979324

static mcamp_ctx ctx;

static void start(void)
{
    static int started;
    if (!started++) CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
}

/* ---- how many bins are full ---------------------------------------------------- */

static double choose(int n, int k)
{
    double r = 1;
    for (int i = 0; i < k; i++) r *= (double)(n - i) / (i + 1);
    return r;
}

/* odds[K] += p P(K - full of the bins that are left are full), one bin after another. */
static void full_by_hand(int bins, int left, int full, int limit, double p, double *odds)
{
    if (bins == 1) { odds[full + (left >= limit)] += p; return; }
    for (int n = 0; n <= left; n++) {
        double q = 1.0 / bins, r = p * choose(left, n) * pow(q, n) * pow(1 - q, left - n);
        full_by_hand(bins - 1, left - n, full + (n >= limit), limit, r, odds);
    }
}

TEST(the_law_of_full_bins_is_the_multinomials)
{
    start();
    for (int b = 1; b <= 4; b++)
        for (int m = 1; m <= 13; m += 3)
            for (int limit = 1; limit <= m + 1; limit++) {
                double want[5] = { 0 }, sum = 0;
                mcamp__full q;
                full_by_hand(b, m, 0, limit, 1, want);
                CHECK_STATUS(mcamp__full_init(&ctx, (size_t)b, (uint64_t)m, (uint64_t)limit, &q),
                             MCAMP_OK);
                for (int K = 0; K <= b; K++) {
                    double got = (size_t)K < q.count ? q.odds[K] : q.tail;
                    CHECK_LE(want[K] * (1 - 1e-12), got);
                    sum += got;
                }
                CHECK_NEAR(sum, 1, 0.003 / m + 1e-7, 0);    /* Stirling's formula */
                mcamp__full_free(&ctx, &q);
            }
}

/* The mean of K is b P(Bin(m, 1/b) >= L), whatever the joint law is. */
TEST(large_data_sets_have_the_binomials_mean)
{
    static const struct { size_t b; int m, limit; } at[] = {
        { 100, 50000, 500 }, { 100, 50000, 560 }, { 100, 50000, 600 }, { 7, 3000, 400 },
        { 64, 640, 1 }, { 64, 640, 25 } };
    start();
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        double p = 1.0 / (double)at[i].b, term, tail = 0, got = 0, sum = 0;
        mcamp__full q;
        term = lgamma(at[i].m + 1.0) - lgamma(at[i].limit + 1.0) -
               lgamma(at[i].m - at[i].limit + 1.0) + at[i].limit * log(p) +
               (at[i].m - at[i].limit) * log1p(-p);
        term = exp(term);
        for (int n = at[i].limit; n <= at[i].m; n++) {
            tail += term;
            term *= (at[i].m - n) * p / ((n + 1) * (1 - p));
        }
        CHECK_STATUS(mcamp__full_init(&ctx, at[i].b, (uint64_t)at[i].m, (uint64_t)at[i].limit, &q),
                     MCAMP_OK);
        for (size_t K = 0; K < q.count; K++) { got += (double)K * q.odds[K]; sum += q.odds[K]; }
        CHECK_NEAR(got, (double)at[i].b * tail, 2e-5, 0);
        CHECK_LE(1 - 1e-12, sum + q.tail);
        CHECK_LE(sum, 1 + 2e-5);
        CHECK_LE(q.tail, 1e-30);
        mcamp__full_free(&ctx, &q);
    }
}

/* ---- the bound ------------------------------------------------------------------- */

/* H_{e^eps}(P||Q) of two mixtures of N((x, y), sigma^2) at integers, by the trapezoid rule. */
enum { GRID = 9, MID = 4 };
typedef struct mix { double w[GRID][GRID]; } mix;

static double divergence(const mix *p, const mix *q, double sigma, double eps)
{
    double h = 0.2, reach = MID + 6 * sigma, sum = 0, ex[GRID], c = 0.5 / (sigma * sigma);
    for (double x = -reach; x <= reach; x += h) {
        for (int i = 0; i < GRID; i++) ex[i] = exp(-c * (x - i + MID) * (x - i + MID));
        for (double y = -reach; y <= reach; y += h) {
            double u = 0, v = 0;
            for (int j = 0; j < GRID; j++) {
                double ey = exp(-c * (y - j + MID) * (y - j + MID)), a = 0, b = 0;
                for (int i = 0; i < GRID; i++) { a += p->w[i][j] * ex[i]; b += q->w[i][j] * ex[i]; }
                u += a * ey;
                v += b * ey;
            }
            if (u > exp(eps) * v) sum += u - exp(eps) * v;
        }
    }
    return sum * h * h / (2 * PI * sigma * sigma);
}

/* The law of a bin's sum: `limit` of its members `set` at random, gradients +-1 by `sign`. */
static void bin_sums(unsigned set, unsigned sign, int m, int limit, double *w)
{
    int size = 0, ways = 0;
    for (int e = 0; e < m; e++) size += (int)(set >> e & 1);
    memset(w, 0, GRID * sizeof *w);
    for (unsigned kept = 0; kept < 1u << m; kept++) {
        int n = 0, sum = 0;
        if (kept & ~set) continue;
        for (int e = 0; e < m; e++)
            if (kept >> e & 1) { n++; sum += sign >> e & 1 ? 1 : -1; }
        if (n != (size < limit ? size : limit)) continue;
        w[MID + sum]++;
        ways++;
    }
    for (int i = 0; i < GRID; i++) w[i] /= ways;
}

/* One round of each of two bins, m examples, all assignments. */
static mix run_law(unsigned sign, int m, int limit)
{
    mix r;
    memset(&r, 0, sizeof r);
    for (unsigned in = 0; in < 1u << m; in++) {
        double x[GRID], y[GRID];
        bin_sums(in, sign, m, limit, x);
        bin_sums(~in & ((1u << m) - 1), sign, m, limit, y);
        for (int i = 0; i < GRID; i++)
            for (int j = 0; j < GRID; j++) r.w[i][j] += x[i] * y[j] / (double)(1u << m);
    }
    return r;
}

/* The mean over the law of K of delta of modes 1 or 2 long, by the same rule. */
static double bound_by_hand(int m, int limit, double sigma, double eps, int add)
{
    double odds[3] = { 0 }, sum = 0;
    mix q;
    full_by_hand(2, m, 0, limit, 1, odds);
    memset(&q, 0, sizeof q);
    q.w[MID][MID] = 1;
    for (int K = 0; K <= 2; K++) {
        mix p;
        memset(&p, 0, sizeof p);
        p.w[MID + 1 + (K > 0)][MID] = 0.5;
        p.w[MID][MID + 1 + (K > 1)] = 0.5;
        sum += odds[K] * (add ? divergence(&q, &p, sigma, eps) : divergence(&p, &q, sigma, eps));
    }
    return sum;
}

static double library_bound(uint64_t m, uint64_t limit, double sigma, double eps,
                            mcamp_direction dir)
{
    static const double eye[4] = { 1, 0, 0, 1 };
    mcamp_gram g;
    mcamp_budget bud;
    mcamp_answer a;
    memset(&bud, 0, sizeof bud);
    bud.direction = dir;
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, eye, 2, &g), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_limit(&ctx, &g, m, limit), MCAMP_OK);
    CHECK(mcamp_delta(&ctx, &g, sigma, eps, &bud, &a) >= 0);
    CHECK(a.limit == limit && a.kind == MCAMP_KIND_INTERVAL);
    mcamp_gram_free(&ctx, &g);
    return a.delta_upper;
}

/* Data sets with the last example and without it: the worst of all signs stays below the
 * bound, for as many others as the data set has examples and for one fewer.        */
TEST(no_small_data_set_exceeds_the_bound)
{
    int tight = 0;
    start();
    for (int m = 1; m <= 3; m++)
        for (int limit = 1; limit <= 2; limit++)
            for (int i = 0; i < 2; i++) {
                double sigma = i ? 1.7 : 1, eps = i ? 0.4 : 1.2, bound[2];
                for (int add = 0; add < 2; add++) {
                    bound[add] = library_bound((uint64_t)m, (uint64_t)limit, sigma, eps,
                                               add ? MCAMP_ADD : MCAMP_REMOVE);
                    CHECK_NEAR(bound[add], bound_by_hand(m, limit, sigma, eps, add), 0.01, 1e-7);
                }
                for (int others = m - 1; others <= m; others++)
                    for (unsigned sign = 0; sign < 1u << (others + 1); sign++) {
                        mix p = run_law(sign, others + 1, limit), q = run_law(sign, others, limit);
                        double remove = divergence(&p, &q, sigma, eps);
                        CHECK_LE(remove, bound[0] * 1.003);
                        CHECK_LE(divergence(&q, &p, sigma, eps), bound[1] * 1.003);
                        tight += remove > 0.3 * bound[0];
                    }
            }
    CHECK(tight > 4);
}

/* ---- samples ------------------------------------------------------------------------ */

/* delta(f) of two modes with the Gram matrix g, in the plane. */
static double plane(const double *g, int f0, int f1, double sigma, double eps, int add)
{
    double h = 0.08, s2 = sigma * sigma, k0 = 1 + f0, k1 = 1 + f1, sum = 0;
    double a = k0 * k0 * g[0] / s2, b = k0 * k1 * g[1] / s2, d = k1 * k1 * g[3] / s2;
    double l0 = sqrt(a), l1 = b / l0, l2 = sqrt(d - l1 * l1);
    for (double x = -13; x <= 13; x += h)
        for (double y = -13; y <= 13; y += h) {
            double rho = 0.5 * exp(l0 * x - a / 2) + 0.5 * exp(l1 * x + l2 * y - d / 2);
            double v = add ? 1 - exp(eps) * rho : rho - exp(eps);
            if (v > 0) sum += v * exp(-0.5 * (x * x + y * y));
        }
    return sum * h * h / (2 * PI);
}

static double planes(const double *g, int m, int limit, double sigma, double eps, int add)
{
    double odds[3] = { 0 };
    full_by_hand(2, m, 0, limit, 1, odds);
    return odds[0] * plane(g, 0, 0, sigma, eps, add) +
           odds[1] * 0.5 * (plane(g, 1, 0, sigma, eps, add) + plane(g, 0, 1, sigma, eps, add)) +
           odds[2] * plane(g, 1, 1, sigma, eps, add);
}

static const double GRAMS[3][4] = { { 1, 0.6, 0.6, 1.4 }, { 1, 0, 0, 2 }, { 1, 0.98, 0.98, 1 } };

/* Every law of the samples: orders above 1 and 1, tilts, diagonal or not. */
TEST(samples_have_the_mean_that_quadrature_says)
{
    int tilted = 0, shifted = 0;
    start();
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            for (int add = 0; add < 2; add++) {
                double sigma = k == 2 ? 1 : 2.5, eps = k == 1 ? 0.1 : 1, want;
                mcamp_gram g;
                mcamp__factor f;
                mcamp__special of;
                mcamp__sampler p;
                mcamp__limited q;
                mcamp_estimate e;
                mcamp_direction dir = add ? MCAMP_ADD : MCAMP_REMOVE;
                want = planes(GRAMS[i], 200, 103, sigma, eps, add);
                CHECK_STATUS(mcamp_gram_from_matrix(&ctx, GRAMS[i], 2, &g), MCAMP_OK);
                CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
                memset(&of, 0, sizeof of);
                CHECK_STATUS(mcamp__full_init(&ctx, 2, 200, 103, &of.full), MCAMP_OK);
                CHECK_STATUS(mcamp__limited_sampler(&ctx, &f, &of.full, sigma, eps, dir, &q, &p),
                             MCAMP_OK);
                if (add) shifted += q.shape[1] > 0;
                else     tilted += q.shape[1] > 1;
                mcamp__sampler_free(&ctx, &p);
                mcamp__limited_free(&ctx, &q);
                CHECK_STATUS(mcamp__special_estimate(&ctx, &f, &of, sigma, eps, dir, 5, 256,
                                                     1e-9, &e), MCAMP_OK);
                CHECK_NEAR(e.value, want, 2e-3, 6.2 * e.std_error);
                CHECK_LE(want * 0.998, e.upper);
                CHECK_LE(e.std_error, 0.1 * want + 1e-12);
                mcamp__full_free(&ctx, &of.full);
                mcamp__factor_free(&ctx, &f);
                mcamp_gram_free(&ctx, &g);
            }
    CHECK(tilted > 2 && shifted > 2);
}

static mcamp_claim claim_of(double sigma, double eps, double delta, mcamp_direction dir)
{
    mcamp_claim c;
    memset(&c, 0, sizeof c);
    c.sigma = sigma; c.eps = eps; c.delta = delta; c.beta = 1e-9; c.seed = 3;
    c.direction = dir;
    c.max_samples = 1u << 21;
    return c;
}

TEST(true_claims_are_accepted_and_false_ones_refused)
{
    start();
    for (int add = 0; add < 2; add++) {
        double truth = planes(GRAMS[0], 200, 103, 1.5, 1, add);
        mcamp_direction dir = add ? MCAMP_ADD : MCAMP_REMOVE;
        mcamp_gram g;
        mcamp_guarantee v;
        mcamp_claim c = claim_of(1.5, 1, truth * 1.1, dir);
        CHECK_STATUS(mcamp_gram_from_matrix(&ctx, GRAMS[0], 2, &g), MCAMP_OK);
        CHECK_STATUS(mcamp_gram_limit(&ctx, &g, 200, 103), MCAMP_OK);
        CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &v), MCAMP_OK);
        CHECK(v.accepted && v.samples > 0 && v.limit == 103 && v.examples == 200);
        CHECK(v.adjacency == MCAMP_ADJACENT_PRESENCE && v.direction == dir);
        c.delta = truth * 0.95;
        CHECK(mcamp_verify(&ctx, &g, &c, &v) > 0 && !v.accepted);
        c = claim_of(1.5, 1, truth * 1.1, MCAMP_BOTH);
        if (add) CHECK(mcamp_verify(&ctx, &g, &c, &v) > 0 && !v.accepted && !v.add.samples);
        mcamp_gram_free(&ctx, &g);
    }
}

/* ---- the way from a problem to a run ------------------------------------------------- */

enum { M = 60, B = 3, N = 6, D = 4, LIMIT = 24 };

static mcamp_problem problem_of(uint64_t limit)
{
    mcamp_problem p;
    memset(&p, 0, sizeof p);
    p.strategy.kind = MCAMP_MECH_SQRT;
    p.strategy.bands = 2;
    p.rounds = N;
    p.batches = B;
    p.eps = 2;
    p.delta = 1e-3;
    if (limit) { p.examples = M; p.limit = limit; }
    p.budget.max_samples = 1 << 17;
    return p;
}

static size_t text_size;
static char text[16384];

static int put_text(void *user, const char *s, size_t n)
{
    (void)user;
    if (text_size + n >= sizeof text) return 1;
    memcpy(text + text_size, s, n);
    text_size += n;
    text[text_size] = 0;
    return 0;
}

/* Tighter limits cost more, none costs what there is without; sigma as delta and eps say. */
TEST(the_price_falls_with_the_limit)
{
    double last = 1e300;
    mcamp_answer a, b;
    start();
    for (uint64_t limit = 18; limit <= 61; limit += 14) {
        mcamp_problem p = problem_of(limit);
        CHECK(mcamp_problem_sigma(&ctx, &p, &a) >= 0);
        CHECK(a.sigma < last && a.limit == limit && a.examples == M);
        last = a.sigma;
        p.sigma = a.sigma;
        CHECK(mcamp_problem_epsilon(&ctx, &p, &b) >= 0);
        CHECK_NEAR(b.eps, 2, 0.02, 0);
        CHECK(mcamp_problem_delta(&ctx, &p, &b) >= 0);
        CHECK_NEAR(b.delta, 1e-3, 0.05, 0);
    }
    {
        mcamp_problem p = problem_of(0);
        CHECK(mcamp_problem_sigma(&ctx, &p, &b) >= 0);
        CHECK_NEAR(b.sigma, last, 0.01, 0);
    }
}

static mcamp_status open_run(const mcamp_guarantee *g, const mcamp_mech *mech, uint64_t limit,
                             uint64_t room, mcamp_batch *batch, mcamp_noise *noise,
                             mcamp_clip *clip, mcamp_session *s)
{
    static int64_t sum[D];
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    mcamp_session_desc d;
    memset(&b, 0, sizeof b); memset(&z, 0, sizeof z);
    memset(&c, 0, sizeof c); memset(&d, 0, sizeof d);
    b.law = MCAMP_BATCH_BINS;
    b.examples = M; b.rounds = N; b.batches = B; b.limit = limit;
    mcamp_key_insecure_test(7, &b.key);     /* one of those that have too full a batch */
    z.mech = mech; z.sigma = g->sigma; z.clip_norm = 1; z.dim = D; z.key = b.key;
    z.unit = MCAMP_NOISE_MEAN; z.batch = 20;
    c.norm = 1; c.dim = D; c.max_examples = room;
    CHECK_STATUS(mcamp_batch_init(&ctx, &b, batch), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_init(&ctx, &z, noise), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_init(&ctx, &c, clip), MCAMP_OK);
    d.guarantee = g; d.batch = batch; d.noise = noise; d.clip = clip; d.run = 1; d.grid_sum = sum;
    return mcamp_session_init(&ctx, &d, s);
}

static void close_run(mcamp_batch *batch, mcamp_noise *noise)
{
    mcamp_batch_free(&ctx, batch);
    mcamp_noise_free(&ctx, noise);
}

TEST(a_run_keeps_the_limit_that_was_paid_for)
{
    mcamp_problem p = problem_of(LIMIT);
    mcamp_guarantee g, back;
    mcamp_mech_desc md;
    mcamp_mech mech, again;
    mcamp_writer w = { put_text, NULL };
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session s;
    mcamp_batch_size size;
    size_t first[B][M], kept[B], out[M];
    int cut = 0;
    start();
    CHECK_STATUS(mcamp_problem_certify(&ctx, &p, &g), MCAMP_OK);
    CHECK(g.accepted && g.limit == LIMIT && g.adjacency == MCAMP_ADJACENT_PRESENCE);
    memset(&md, 0, sizeof md);
    md.kind = MCAMP_MECH_SQRT; md.bands = 2; md.n = N;
    CHECK_STATUS(mcamp_mech_init(&ctx, &md, &mech), MCAMP_OK);
    /* words and record */
    text_size = 0;
    CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_TEXT, &w), MCAMP_OK);
    CHECK(strstr(text, "at most 24 in a batch") && strstr(text, "not: zeroed out"));
    text_size = 0;
    CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_JSON, &w), MCAMP_OK);
    CHECK(strstr(text, "\"limit\": 24") != NULL);
    text_size = 0;
    CHECK_STATUS(mcamp_record_write(&g, &mech, &w), MCAMP_OK);
    CHECK_STATUS(mcamp_record_read(&ctx, text, text_size, &again, &back), MCAMP_OK);
    CHECK(back.limit == LIMIT && back.examples == M);
    CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &again, &back, &back), MCAMP_OK);
    CHECK(back.accepted && back.limit == LIMIT && back.remove.samples == g.remove.samples);
    mcamp_mech_free(&ctx, &again);
    /* runs */
    CHECK_STATUS(open_run(&g, &mech, LIMIT, M, &batch, &noise, &clip, &s), MCAMP_OK);
    CHECK_NEAR(mcamp_session_delta(&s), 1e-3 + s.guarantee.delta_num, 1e-12, 0);
    for (uint64_t t = 0; t < N; t++) {
        CHECK_STATUS(mcamp_batch_round(&ctx, &batch, t, out, M, &size), MCAMP_OK);
        CHECK(size.kept <= LIMIT && (size.drawn <= LIMIT) == (size.kept == size.drawn));
        cut += size.drawn > size.kept;
        if (t < B) { kept[t] = size.kept; memcpy(first[t], out, sizeof out); continue; }
        CHECK(size.kept == kept[t - B]);        /* for good */
        CHECK(!memcmp(first[t - B], out, size.kept * sizeof *out));
    }
    CHECK(cut > 0);
    close_run(&batch, &noise);
    CHECK_STATUS(open_run(&g, &mech, LIMIT, LIMIT, &batch, &noise, &clip, &s), MCAMP_OK);
    CHECK_NEAR(mcamp_session_delta(&s), 1e-3 + s.guarantee.delta_num, 1e-12, 0);
    close_run(&batch, &noise);
    for (int i = 0; i < 3; i++) {
        static const uint64_t other[3] = { LIMIT + 1, LIMIT - 1, 0 };
        CHECK_STATUS(open_run(&g, &mech, other[i], M, &batch, &noise, &clip, &s),
                     MCAMP_E_MISMATCH);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "limit"));
        close_run(&batch, &noise);
    }
    mcamp_mech_free(&ctx, &mech);
}

/* Who does not know the limit refuses it; so do arguments that make no sense. */
TEST(a_limit_is_never_overlooked)
{
    mcamp_gram g;
    mcamp_claim c = claim_of(2, 1, 0.1, MCAMP_BOTH);
    mcamp_guarantee v;
    mcamp_sampler_desc sd;
    mcamp_sampler s;
    mcamp_answer a[2];
    mcamp_problem p = problem_of(LIMIT);
    double eps[2] = { 0.5, 1 }, remove[2], add[2];
    start();
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, GRAMS[0], 2, &g), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_limit(&ctx, &g, 0, 5), MCAMP_E_SIZE);
    CHECK_STATUS(mcamp_gram_limit(&ctx, &g, 5, 0), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_gram_limit(&ctx, NULL, 5, 5), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_gram_limit(&ctx, &g, UINT64_MAX, 5), MCAMP_E_SIZE);
    CHECK(!g.limit);
    CHECK_STATUS(mcamp_gram_limit(&ctx, &g, 200, 103), MCAMP_OK);
    memset(&sd, 0, sizeof sd);
    sd.direction = MCAMP_REMOVE; sd.sigma = 2; sd.eps = 1;
    CHECK_STATUS(mcamp_verify_sampled(&ctx, &g, &c, &v), MCAMP_E_ARG);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "limit") && !v.accepted);
    CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &sd, &s), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_curve(&ctx, &g, 2, eps, 2, NULL, a), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_simulated_curve(&ctx, &g, 2, eps, 2, 1, 4, 0.01, remove, add), MCAMP_E_ARG);
    mcamp_gram_free(&ctx, &g);
    p.examples = 0;
    CHECK_STATUS(mcamp_problem_verify(&ctx, &p, &v), MCAMP_E_SIZE);
    p.examples = M;
    p.limit = 0;
    CHECK_STATUS(mcamp_problem_verify(&ctx, &p, &v), MCAMP_E_REQUIRED);
}

/* ---- groups ---------------------------------------------------------------------------- *
 * Against balls in b^k bins, one for each tuple, whose Gram matrix is that of the tuples' sums:
 * none of the group's own code.  And against the plane.                                       */

enum { MOST_TUPLES = 64 };

/* Correlated modes of unlike lengths, as where b does not divide n. */
static const double MODES[4][4] = {
    { 1, 0.3, 0, 0.2 }, { 0.3, 1.2, 0.5, 0.1 }, { 0, 0.5, 0.8, 0.4 }, { 0.2, 0.1, 0.4, 0.6 } };

static void group_grams(int b, int k, int orthogonal, mcamp_gram *one, mcamp_gram *tuples)
{
    static double a[16], big[MOST_TUPLES * MOST_TUPLES];
    int n = 1;
    for (int i = 0; i < k; i++) n *= b;
    for (int i = 0; i < b * b; i++)
        a[i] = orthogonal && i / b != i % b ? 0 : MODES[i / b][i % b];
    for (int x = 0; x < n; x++)
        for (int y = 0; y < n; y++) {
            double sum = 0;
            for (int p = 0, u = x; p < k; p++, u /= b)
                for (int q = 0, v = y; q < k; q++, v /= b) sum += a[u % b * b + v % b];
            big[x * n + y] = sum;
        }
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, a, (size_t)b, one), MCAMP_OK);
    if (tuples) CHECK_STATUS(mcamp_gram_from_matrix(&ctx, big, (size_t)n, tuples), MCAMP_OK);
}

TEST(a_group_is_balls_in_as_many_bins_as_it_has_tuples)
{
    start();
    for (int i = 0; i < 12; i++) {
        int b = 2 + i / 2 % 3, k = 2 + i / 6;
        double sigma = i % 2 ? 1.6 : 3.5, eps = i % 2 ? 2 : 0.6;
        mcamp_gram one, tuples;
        mcamp_answer v, w;
        mcamp_budget bud;
        memset(&bud, 0, sizeof bud);
        bud.rel_error = 0.006;
        bud.beta = 1e-9;
        group_grams(b, k, i % 2 && b > 2, &one, &tuples);
        CHECK_STATUS(mcamp_gram_group(&ctx, &one, (uint64_t)k), MCAMP_OK);
        CHECK(mcamp_delta(&ctx, &one, sigma, eps, &bud, &v) >= 0);
        CHECK(mcamp_delta(&ctx, &tuples, sigma, eps, &bud, &w) >= 0);
        CHECK(v.group == (uint64_t)k && !v.converted);
        for (int add = 0; add < 2; add++) {
            const mcamp_estimate *x = add ? &v.add : &v.remove, *y = add ? &w.add : &w.remove;
            CHECK(x->samples > 0 && x->method == MCAMP_METHOD_TILTED);
            CHECK_NEAR(x->value, y->value, 1e-6, 6.2 * hypot(x->std_error, y->std_error));
            CHECK_LE(x->std_error, 0.02 * x->value);
            CHECK_LE(y->lower, x->upper);
            CHECK_LE(x->upper, 1.2 * y->value);
        }
        mcamp_gram_free(&ctx, &one);
        mcamp_gram_free(&ctx, &tuples);
    }
}

/* delta of k balls in two bins with the Gram matrix g, in the plane. */
static double group_plane(const double *g, int k, double sigma, double eps, int add)
{
    double h = 0.05, s2 = sigma * sigma, sum = 0, a = g[0] / s2, b = g[1] / s2, d = g[3] / s2;
    double l0 = sqrt(a), l1 = b / l0, l2 = sqrt(d - l1 * l1);
    for (double x = -14; x <= 14; x += h)
        for (double y = -14; y <= 14; y += h) {
            double rho = 0, v;
            for (int n = 0; n <= k; n++)
                rho += choose(k, n) * pow(0.5, k) *
                       exp(n * l0 * x + (k - n) * (l1 * x + l2 * y) - 0.5 * n * n * a -
                           n * (k - n) * b - 0.5 * (k - n) * (k - n) * d);
            v = add ? 1 - exp(eps) * rho : rho - exp(eps);
            if (v > 0) sum += v * exp(-0.5 * (x * x + y * y));
        }
    return sum * h * h / (2 * PI);
}

/* One law of samples: its mean, its range, and what is certain, against the plane. */
static void check_group_law(const double *a, int k, double sigma, double eps, int add)
{
    double want = group_plane(a, k, sigma, eps, add), bound, top = -1e300;
    mcamp_direction dir = add ? MCAMP_ADD : MCAMP_REMOVE;
    mcamp_gram g;
    mcamp__factor f;
    mcamp__special of;
    mcamp__special_law q;
    mcamp__sampler p;
    mcamp__scratch w;
    mcamp_estimate e;
    mcamp__rng8 normals;
    mcamp_rng r;
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, a, 2, &g), MCAMP_OK);
    CHECK_STATUS(mcamp__factor_init(&ctx, &g, &f), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_group(&ctx, &g, (uint64_t)k), MCAMP_OK);
    CHECK_STATUS(mcamp__special_init(&ctx, &g, &of), MCAMP_OK);
    CHECK_STATUS(mcamp__special_certain(&ctx, &f, &of, sigma, eps, dir, &bound), MCAMP_OK);
    CHECK_LE(want * 0.999, bound);
    CHECK_STATUS(mcamp__special_estimate(&ctx, &f, &of, sigma, eps, dir, 5, 64, 1e-9, &e),
                 MCAMP_OK);
    CHECK_NEAR(e.value, want, 2e-3, 6.2 * e.std_error);
    CHECK_LE(want * 0.998, e.upper);
    CHECK_STATUS(mcamp__special_sampler(&ctx, &f, &of, sigma, eps, dir, &q, &p), MCAMP_OK);
    CHECK_STATUS(mcamp__scratch_init(&ctx, &p, &w), MCAMP_OK);
    mcamp__rng8_stream(&normals, 9, 1, 0);
    mcamp_rng_stream(&r, 9, 1, 0);
    for (int i = 0; i < 200; i++) {
        mcamp__tile(ctx.vec, &p, &normals, &r, &w);
        for (size_t s = 0; s < p.values; s++) top = w.v[s] > top ? w.v[s] : top;
    }
    CHECK_LE(top, p.log_range);
    CHECK_LE(p.log_range - 1.5, top);       /* and it is reached, nearly */
    mcamp__scratch_free(&ctx, &w);
    mcamp__sampler_free(&ctx, &p);
    mcamp__special_law_free(&ctx, &q);
    mcamp__factor_free(&ctx, &f);
    mcamp_gram_free(&ctx, &g);
}

TEST(a_groups_samples_have_mean_and_range_as_the_plane_says)
{
    start();
    for (int i = 0; i < 3; i++)
        for (int k = 2; k <= 3; k++)
            for (int add = 0; add < 2; add++) {
                check_group_law(GRAMS[i], k, 3, 0.4, add);
                check_group_law(GRAMS[i], k, 1.4, 2, add);
            }
}

static const double PAIR[4] = { 1, 0.3, 0.3, 1.2 };    /* of MODES */

TEST(a_groups_claims_are_decided_and_recorded_as_such)
{
    start();
    for (int k = 2; k <= 3; k++)
        for (int add = 0; add < 2; add++) {
            double sigma = k, eps = 1.5, truth = group_plane(PAIR, k, sigma, eps, add);
            mcamp_direction dir = add ? MCAMP_ADD : MCAMP_REMOVE;
            mcamp_gram g;
            mcamp_guarantee v;
            mcamp_claim c = claim_of(sigma, eps, truth * 1.1, dir);
            group_grams(2, k, 0, &g, NULL);
            CHECK_STATUS(mcamp_gram_group(&ctx, &g, (uint64_t)k), MCAMP_OK);
            CHECK_STATUS(mcamp_verify(&ctx, &g, &c, &v), MCAMP_OK);
            CHECK(v.accepted && v.unit == (uint64_t)k && v.samples > 0);
            CHECK(!v.converted && v.direction == dir);
            c.delta = truth * 0.95;
            CHECK(mcamp_verify(&ctx, &g, &c, &v) > 0 && !v.accepted);
            CHECK(mcamp_verify_sampled(&ctx, &g, &c, &v) < 0);
            mcamp_gram_free(&ctx, &g);
        }
}

/* ---- by the clock ------------------------------------------------------------------- */

/* Every look costs a second. */
static double tick(void *user) { return (*(double *)user)++; }

static void timed_ctx(mcamp_ctx *c, double *now)
{
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    d.clock.now = tick; d.clock.user = now;
    *now = -5;
    CHECK_STATUS(mcamp_ctx_init(c, &d), MCAMP_OK);
}

/* delta at (1.5, 1) and the eps, the sigma that have it: within their errors of the truth, which is
 * never above the bound, however early the clock stops them; enough time changes nothing. */
static void check_timed_answers(const mcamp_gram *g, double truth)
{
    static const double seconds[] = { 0.5, 2.5, 6.5, 12.5, 20.5, 1e6 };
    for (int q = 0; q < 3; q++) {
        int late = 0;
        for (int i = 0; i < 6; i++) {
            double now;
            mcamp_ctx c;
            mcamp_answer a;
            mcamp_guarantee out;
            mcamp_budget bud;
            mcamp_status st;
            timed_ctx(&c, &now);
            memset(&bud, 0, sizeof bud);
            bud.rel_error = 0.004; bud.beta = 1e-9; bud.seed = 4; bud.seconds = seconds[i];
            bud.direction = MCAMP_REMOVE;
            st = q == 0 ? mcamp_delta(&c, g, 1.5, 1, &bud, &a)
               : q == 1 ? mcamp_epsilon(&c, g, 1.5, truth, &bud, &a)
                        : mcamp_sigma(&c, g, 1, truth, &bud, &a);
            CHECK(st == MCAMP_Q_TIME || (st == MCAMP_OK && i > 0));
            CHECK_STATUS(a.status, st);
            CHECK(!c.timed && !(c.to > 0));
            if (i < 5) CHECK_LE(now, seconds[i] + 12);
            else CHECK_STATUS(st, MCAMP_OK);
            late += st == MCAMP_Q_TIME;
            if (q == 0) {
                CHECK_LE(truth * 0.998, a.delta_upper);
                CHECK_NEAR(a.delta, truth, 2e-3, 6.2 * a.std_error);
            } else if (st == MCAMP_OK)          /* (else it is where the search was) */
                CHECK_NEAR(q == 1 ? a.eps : a.sigma, q == 1 ? 1 : 1.5, 5e-3, 6.2 * a.std_error);
            CHECK(st == MCAMP_Q_TIME || !a.needed);
            if (!q && a.std_error > 0.004 * a.delta)
                CHECK_LE(pow(a.std_error / (0.004 * a.delta), 2),
                         (double)a.needed / (double)a.samples * 1.001);
            CHECK_STATUS(mcamp_guarantee_answer(&a, &out), MCAMP_OK);
            CHECK(out.late == (st == MCAMP_Q_TIME) && !out.accepted);
        }
        CHECK(late > 0);
    }
}

/* A true claim is not accepted before its time, and is with time enough. */
static void check_timed_claim(const mcamp_gram *g, double truth)
{
    int late = 0;
    for (double seconds = 0.5; seconds < 2e6; seconds *= 4) {
        double now;
        mcamp_ctx t;
        mcamp_guarantee v;
        mcamp_claim c = claim_of(1.5, 1, truth * 1.04, MCAMP_REMOVE);
        mcamp_status st;
        timed_ctx(&t, &now);
        c.seconds = seconds;
        st = mcamp_verify(&t, g, &c, &v);
        CHECK(st == (v.late ? MCAMP_Q_TIME : MCAMP_OK) && !t.timed);
        CHECK(v.accepted == !v.late && v.interrupted == v.late);
        CHECK(v.kind == (v.late ? MCAMP_KIND_NONE : MCAMP_KIND_VERIFIED));
        if (v.late) CHECK(!v.needed || v.needed > v.samples);
        late += v.late;
        if (seconds > 1e6) CHECK(!v.late);
    }
    CHECK(late > 1);
}

TEST(a_clock_stops_questions_about_limits_and_groups)
{
    mcamp_gram g;
    start();
    CHECK_STATUS(mcamp_gram_from_matrix(&ctx, GRAMS[0], 2, &g), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_limit(&ctx, &g, 200, 103), MCAMP_OK);
    check_timed_answers(&g, planes(GRAMS[0], 200, 103, 1.5, 1, 0));
    check_timed_claim(&g, planes(GRAMS[0], 200, 103, 1.5, 1, 0));
    mcamp_gram_free(&ctx, &g);
    group_grams(2, 2, 0, &g, NULL);
    CHECK_STATUS(mcamp_gram_group(&ctx, &g, 2), MCAMP_OK);
    check_timed_answers(&g, group_plane(PAIR, 2, 1.5, 1, 0));
    check_timed_claim(&g, group_plane(PAIR, 2, 1.5, 1, 0));
    mcamp_gram_free(&ctx, &g);
}

/* eps of k = 1 .. 4 at delta 1e-5; what conversion says of k. */
TEST(larger_groups_hide_less_and_conversion_says_the_most)
{
    double at[5] = { 0 };
    mcamp_problem p;
    mcamp_answer v, w;
    mcamp_guarantee g;
    start();
    memset(&p, 0, sizeof p);
    p.strategy.kind = MCAMP_MECH_SQRT;
    p.strategy.bands = 6;
    p.rounds = 45; p.batches = 12;
    p.sigma = 6; p.delta = 1e-5;
    p.budget.rel_error = 0.03;
    for (uint64_t k = 1; k <= 4; k++) {
        mcamp_problem one = p;
        double of_all, delta;
        p.group = k;
        CHECK(mcamp_problem_epsilon(&ctx, &p, &v) >= 0);
        at[k] = v.eps;
        CHECK_LE(at[k - 1] * (double)k / (double)(k > 1 ? k - 1 : 1) * 0.98, at[k]);
        CHECK_LE(v.eps, v.unamplified * (1 + 1e-9));
        one.group = 0;
        one.eps = v.eps / (double)k;
        CHECK(mcamp_problem_delta(&ctx, &one, &w) >= 0);
        CHECK_STATUS(mcamp_exact_group_convert(&ctx, one.eps, w.delta, k, &of_all, &delta),
                     MCAMP_OK);
        if (k == 2 || k == 3) CHECK_LE(1.1e-5, delta);
        else CHECK_NEAR(delta, 1e-5, 0.1, 0);
        CHECK(v.converted == (k > 3) && v.group == (k > 1 ? k : 0));
        if (k < 4) continue;
        p.eps = v.eps;
        p.budget.beta = 1e-9;
        p.delta = 1.2e-5;
        CHECK_STATUS(mcamp_problem_verify(&ctx, &p, &g), MCAMP_OK);
        CHECK(g.accepted && g.converted && g.unit == 4 && g.remove.samples > 0);
        p.delta = 0.85e-5;      /* of what is proved, though the group may have it */
        CHECK(mcamp_problem_verify(&ctx, &p, &g) > 0 && !g.accepted);
        p.delta = 1e-5;
    }
    p.group = 1;
    CHECK(mcamp_problem_epsilon(&ctx, &p, &w) >= 0);
    p.group = 0;
    CHECK(mcamp_problem_epsilon(&ctx, &p, &v) >= 0);
    CHECK(!memcmp(&v.eps, &w.eps, sizeof v.eps) && v.samples == w.samples);
}

static int keep_text(void *user, const char *from, size_t n)
{
    char *to = (char *)user;
    size_t at = strlen(to);
    if (at + n >= 16384) return 1;
    memcpy(to + at, from, n);
    to[at + n] = 0;
    return 0;
}

static const char *words_of(const mcamp_guarantee *g, mcamp_report_format format)
{
    static char words[16384];
    mcamp_writer w;
    w.write = keep_text; w.user = words;
    words[0] = 0;
    CHECK_STATUS(mcamp_report_guarantee(g, format, &w), MCAMP_OK);
    return words;
}

TEST(a_groups_proof_is_written_read_and_repeated)
{
    static char kept[16384];
    mcamp_writer writer;
    start();
    writer.write = keep_text; writer.user = kept;
    for (uint64_t k = 2; k <= 4; k += 2) {
        mcamp_mech_desc d;
        mcamp_mech m, m2;
        mcamp_gram g;
        mcamp_claim c = claim_of(0, 2, 1e-4, MCAMP_BOTH);
        mcamp_guarantee v, r, again;
        const char *unit = k == 2 ? "any 2 examples or fewer" : "any 4 examples or fewer";
        memset(&d, 0, sizeof d);
        d.kind = MCAMP_MECH_SQRT; d.n = 11; d.bands = 3;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
        CHECK_STATUS(mcamp_gram_init(&ctx, &m, 4, &g), MCAMP_OK);
        CHECK_STATUS(mcamp_gram_group(&ctx, &g, k), MCAMP_OK);
        CHECK_STATUS(mcamp_calibrate_certified(&ctx, &g, &c, &v), MCAMP_OK);
        CHECK(v.accepted && v.unit == k && v.converted == (k > 3) && v.samples > 0);
        kept[0] = 0;
        CHECK_STATUS(mcamp_record_write(&v, &m, &writer), MCAMP_OK);
        CHECK_STATUS(mcamp_record_read(&ctx, kept, strlen(kept), &m2, &r), MCAMP_OK);
        CHECK(r.unit == k && r.converted == v.converted);
        CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &m2, &r, &again), MCAMP_OK);
        CHECK(again.accepted && again.unit == k && again.converted == v.converted);
        CHECK(again.remove.samples == v.remove.samples && again.add.samples == v.add.samples);
        CHECK(strstr(words_of(&v, MCAMP_REPORT_TEXT), unit) != NULL);
        CHECK(strstr(words_of(&v, MCAMP_REPORT_TEXT), "removed together") != NULL);
        CHECK(!strstr(words_of(&v, MCAMP_REPORT_TEXT), "conversion") == (k < 4));
        CHECK(strstr(words_of(&v, MCAMP_REPORT_LEGAL), unit) != NULL);
        CHECK(!strstr(words_of(&v, MCAMP_REPORT_LEGAL), "one example (zero-out)"));
        CHECK(!strstr(words_of(&v, MCAMP_REPORT_JSON), "\"converted\": 1") == (k < 4));
        CHECK_STATUS(mcamp__guarantee_holds(&ctx, &v), MCAMP_E_MISMATCH);   /* of a run */
        mcamp_mech_free(&ctx, &m);
        mcamp_mech_free(&ctx, &m2);
        mcamp_gram_free(&ctx, &g);
    }
}

TEST(a_group_is_never_overlooked)
{
    double eps[2] = { 0.5, 1 }, up[2], down[2];
    mcamp_gram g;
    mcamp_answer a[2];
    mcamp_claim c = claim_of(2, 1, 1e-3, MCAMP_BOTH);
    mcamp_guarantee v;
    start();
    group_grams(3, 2, 0, &g, NULL);
    CHECK_STATUS(mcamp_gram_group(&ctx, &g, 0), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_gram_group(&ctx, &g, 65537), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gram_group(&ctx, NULL, 2), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_gram_group(&ctx, &g, 2), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_limit(&ctx, &g, 100, 60), MCAMP_E_ARG);
    CHECK(mcamp_verify_sampled(&ctx, &g, &c, &v) < 0);
    CHECK(mcamp_simulated_curve(&ctx, &g, 2, eps, 2, 1, 4, 1e-3, up, down) < 0);
    CHECK(mcamp_curve(&ctx, &g, 2, eps, 2, NULL, a) >= 0);
    CHECK(a[0].group == 2 && a[0].points == 2 && a[0].delta > a[1].delta);
    CHECK_STATUS(mcamp_gram_group(&ctx, &g, 1), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_limit(&ctx, &g, 100, 60), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_group(&ctx, &g, 2), MCAMP_E_ARG);
    mcamp_gram_free(&ctx, &g);
    /* modes so long that nothing can be sampled: a bound, not an error */
    group_grams(3, 3, 0, &g, NULL);
    CHECK_STATUS(mcamp_gram_group(&ctx, &g, 3), MCAMP_OK);
    CHECK(mcamp_delta(&ctx, &g, 0.05, 1, NULL, a) >= 0);
    CHECK(a->delta_upper > 0.9 && !a->samples);
    mcamp_gram_free(&ctx, &g);
}

/* ---- shuffled batches -------------------------------------------------------------- */

/* H_{e^eps} of the attack's two laws for two batches, in the plane. */
static double attack_in_plane(double s, double eps, int add)
{
    double h = 0.06, sum = 0;
    for (double x = -7; x <= 2 * s + 7; x += h)
        for (double y = -7; y <= 2 * s + 7; y += h) {
            double p = 0.5 * (exp(2 * s * x - 2 * s * s) + exp(2 * s * y - 2 * s * s));
            double q = 0.5 * (exp(s * x - s * s / 2) + exp(s * y - s * s / 2));
            double v = add ? q - exp(eps) * p : p - exp(eps) * q;
            if (v > 0) sum += v * exp(-0.5 * (x * x + y * y));
        }
    return sum * h * h / (2 * PI);
}

TEST(clones_hide_as_enumeration_says)
{
    for (int c = 1; c <= 40; c += 13)
        for (double q = 0.5; q < 1; q += 0.2)
            for (double eps = 0; eps < 1; eps += 0.3) {
                double want = 0;
                for (int a = 0; a <= c + 1; a++) {
                    double now = choose(c, a) * (a <= c), before = a ? choose(c, a - 1) : 0;
                    double v = q * before + (1 - q) * now -
                               exp(eps) * ((1 - q) * before + q * now);
                    if (v > 0) want += v * exp2(-c);
                }
                CHECK_NEAR(mcamp__clones_delta(c, q, eps), want, 1e-8, 2e-20);
            }
    {   /* the lower tail */
        double term = pow(0.7, 30), tail = term;
        for (int k = 1; k <= 12; k++) {
            term *= (31.0 - k) / k * 0.3 / 0.7;
            tail += term;
            if (k < 9) CHECK_LE(log(tail), mcamp__few_clones(30, 0.3, k));
        }
        CHECK_NEAR(mcamp__few_clones(30, 0.3, 12), 0, 0, 0);
    }
}

TEST(shuffled_batches_lie_between_an_attack_and_a_proof)
{
    mcamp_interval v, w;
    double g;
    start();
    for (int i = 0; i < 3; i++) {
        double s = 0.4 + 0.8 * i, eps = 0.5 * i, remove, add, worst;
        CHECK_STATUS(mcamp_exact_shuffled(&ctx, 1 / s, 2, 3, 1, eps, &v), MCAMP_OK);
        remove = attack_in_plane(s, eps, 0);
        add = attack_in_plane(s, eps, 1);
        worst = remove > add ? remove : add;
        CHECK_LE(v.lower, worst * 1.002);
        CHECK_LE(0.5 * worst, v.lower);
        CHECK_LE(worst * 0.998, v.upper);
        CHECK_STATUS(mcamp_exact_shuffled(&ctx, 2 / s, 2, 3, 4, eps, &w), MCAMP_OK);
        CHECK_NEAR(w.lower, v.lower, 1e-9, 0);          /* sums over four epochs */
        CHECK_NEAR(w.upper, v.upper, 1e-9, 0);
    }
    /* single examples are amplified, batches are not; and no bound crosses the attack */
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 2, 1, 0.5, &g), MCAMP_OK);
    CHECK_STATUS(mcamp_exact_shuffled(&ctx, 2, 1000000, 1, 1, 0.5, &v), MCAMP_OK);
    CHECK_LE(v.upper, 1e-5 * g);
    CHECK_LE(1e-9, v.upper);
    CHECK_STATUS(mcamp_exact_shuffled(&ctx, 2, 1000000, 500, 1, 0.5, &v), MCAMP_OK);
    CHECK_NEAR(v.upper, g, 1e-9, 0);
    CHECK_STATUS(mcamp_exact_shuffled(&ctx, 2, 1000000, 1, 2, 0.5, &v), MCAMP_OK);
    CHECK_STATUS(mcamp_gauss_delta(&ctx, 2, sqrt(2.0), 0.5, &g), MCAMP_OK);
    CHECK_NEAR(v.upper, g, 1e-9, 0);        /* one order, two epochs */
    for (uint64_t rounds = 10; rounds <= 10000000; rounds *= 100)
        for (double sigma = 0.5; sigma < 3; sigma += 0.25) {
            double h;
            CHECK_STATUS(mcamp_exact_shuffled(&ctx, sigma, rounds, 1, 1, 0.3, &v), MCAMP_OK);
            CHECK_STATUS(mcamp_gauss_delta(&ctx, sigma, 1, 0.3, &h), MCAMP_OK);
            CHECK_LE(v.upper, h * (1 + 1e-9));
            CHECK_LE(mcamp__shuffled_attack((double)rounds, 1 / sigma, 0.3), v.upper);
        }
    CHECK_STATUS(mcamp_exact_shuffled(&ctx, 0, 5, 1, 1, 1, &v), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_exact_shuffled(&ctx, 1, 0, 1, 1, 1, &v), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_exact_shuffled(&ctx, 1, 5, 0, 1, 1, &v), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_exact_shuffled(&ctx, 1, 5, 1, 0, 1, &v), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_exact_shuffled(&ctx, 1, 5, 1, 1, -1, &v), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_exact_shuffled(&ctx, mcamp__nan(), 5, 1, 1, 1, &v), MCAMP_E_NONFINITE);
}

TEST_MAIN("limit",
    T(the_law_of_full_bins_is_the_multinomials), T(large_data_sets_have_the_binomials_mean),
    T(no_small_data_set_exceeds_the_bound), T(samples_have_the_mean_that_quadrature_says),
    T(true_claims_are_accepted_and_false_ones_refused), T(the_price_falls_with_the_limit),
    T(a_run_keeps_the_limit_that_was_paid_for), T(a_limit_is_never_overlooked),
    T(a_group_is_balls_in_as_many_bins_as_it_has_tuples),
    T(a_groups_samples_have_mean_and_range_as_the_plane_says),
    T(a_groups_claims_are_decided_and_recorded_as_such),
    T(a_clock_stops_questions_about_limits_and_groups),
    T(larger_groups_hide_less_and_conversion_says_the_most),
    T(a_groups_proof_is_written_read_and_repeated), T(a_group_is_never_overlooked),
    T(clones_hide_as_enumeration_says), T(shuffled_batches_lie_between_an_attack_and_a_proof))
