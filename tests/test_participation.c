/* Participation patterns: cyclic Poisson with random bins, b-min-sep with cold and warm start.
 * The reference is the list of all patterns of few rounds with their probabilities, made
 * by following the words of the law, and sums over that list.  Statistical checks have
 * fixed seeds and a false-alarm rate of 1e-9 each (6.2 standard errors).               */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#define MCAMP__P 16             /* samples of a tile, as the kernels have them */
#include "mcamp_test.h"
#include "mcamp_fault.h"

static mcamp_ctx ctx;

static void open_ctx(void) { CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK); }

/* ---- fixtures ------------------------------------------------------------------- */

typedef struct fixture {
    mcamp_batch_law law;
    size_t n, b, bands;
    double q;
    uint64_t limit;
    int rows;               /* 1: C of rows, not monotone, with both signs; else Toeplitz, 2: with
                             * column factors                                            */
    double sigma, eps;
} fixture;

static const fixture FIX[] = {
    { MCAMP_BATCH_MINSEP, 10, 3, 3, 0.4, 0, 0, 1.5, 0.7 },
    { MCAMP_BATCH_MINSEP, 8, 2, 1, 0.25, 0, 1, 1.0, 0.5 },
    { MCAMP_BATCH_MINSEP, 11, 4, 3, 0.6, 2, 1, 2.0, 0.3 },
    { MCAMP_BATCH_MINSEP_WARM, 10, 3, 2, 0.3, 0, 1, 1.2, 0.6 },
    { MCAMP_BATCH_MINSEP_WARM, 7, 4, 4, 1.0, 0, 0, 1.6, 0.4 },
    { MCAMP_BATCH_POISSON, 11, 3, 3, 0.35, 0, 1, 1.1, 0.8 },
    { MCAMP_BATCH_POISSON, 10, 4, 2, 0.7, 0, 2, 1.3, 0.4 },
    { MCAMP_BATCH_POISSON, 12, 3, 2, 0.8, 2, 0, 1.4, 0.6 },
    { MCAMP_BATCH_POISSON, 9, 2, 2, 1.0, 0, 1, 2.2, 0.5 },
    { MCAMP_BATCH_MINSEP, 7, 1, 1, 0.3, 0, 1, 1.3, 0.5 },
    { MCAMP_BATCH_POISSON, 13, 5, 4, 0.6, 0, 0, 1.2, 0.5 }
};
enum { NFIX = sizeof FIX / sizeof FIX[0], MOST = 4096 };

typedef struct setting {
    fixture f;
    mcamp_mech mech;
    mcamp_gram gram;
    mcamp__pattern p;
    double c[16][16];               /* |C| */
    size_t count;                   /* patterns and their probabilities */
    unsigned mask[MOST];
    double prob[MOST];
} setting;

static double factor(size_t j) { return 1 + 0.25 * sin((double)(3 * j)); }

static double entry(const fixture *f, size_t i, size_t j)
{
    static const double toeplitz[4] = { 1, 0.5, 0.375, 0.3125 };
    size_t d = i - j;
    if (i < j || d >= f->bands) return 0;
    if (f->rows != 1) return toeplitz[d] * (f->rows ? factor(j) : 1);
    if (!d) return 1 + 0.3 * sin((double)(5 * j));
    return (0.9 - 0.4 * (double)d) * cos((double)(3 * i + 7 * j)) - 0.1;
}

/* Probability that a chain that may first take part at round `from` makes this pattern. */
static double follow(const fixture *f, size_t from, size_t step, unsigned mask)
{
    double p = 1;
    size_t t = from, taken = 0;
    for (size_t i = 0; i < f->n; i++) {
        int in = (int)(mask >> i & 1);
        if (i < t || (f->limit && taken == f->limit)) {
            if (in) return 0;
            continue;
        }
        p *= in ? f->q : 1 - f->q;
        taken += (size_t)in;
        t = i + (in ? f->b : step);
    }
    return p;
}

/* The law of waits after very many rounds. */
static void stationary(const fixture *f, double *wait)
{
    for (size_t r = 0; r < f->b; r++) wait[r] = r ? 0 : 1;
    for (int i = 0; i < 20000; i++) {
        double was[16], half[16];
        memcpy(was, wait, sizeof was);
        for (size_t r = 0; r + 1 < f->b; r++) half[r] = was[r + 1];
        half[f->b - 1] = 0;
        half[0] += was[0] * (1 - f->q);
        half[f->b > 1 ? f->b - 1 : 0] += was[0] * f->q;
        for (size_t r = 0; r < f->b; r++) wait[r] = 0.5 * (was[r] + half[r]);
    }
}

static double pattern_prob(const fixture *f, const double *wait, unsigned mask)
{
    double p = 0;
    if (f->law == MCAMP_BATCH_MINSEP) return follow(f, 0, 1, mask);
    for (size_t r = 0; r < f->b; r++)
        p += f->law == MCAMP_BATCH_POISSON ? follow(f, r, f->b, mask) / (double)f->b
                                          : wait[r] * follow(f, r, 1, mask);
    return p;
}

static void set_up(setting *s, const fixture *f)
{
    double coef[256], scale[16], wait[16] = { 0 }, total = 0;
    size_t at = 0;
    mcamp_mech_desc d;
    mcamp_participation part;
    memset(s, 0, sizeof *s);
    s->f = *f;
    open_ctx();
    for (size_t i = 0; i < f->n; i++)
        for (size_t j = 0; j <= i; j++) {
            s->c[i][j] = fabs(entry(f, i, j));
            if (i - j < f->bands) coef[at++] = entry(f, i, j);
        }
    memset(&d, 0, sizeof d);
    d.n = f->n;
    d.kind = f->rows == 1 ? MCAMP_MECH_BANDED : MCAMP_MECH_SQRT;
    d.bands = f->bands;
    if (f->rows == 1) { d.coef = coef; d.count = at; }
    for (size_t j = 0; j < f->n; j++) scale[j] = factor(j);
    if (f->rows == 2) d.scale = scale;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &s->mech), MCAMP_OK);
    memset(&part, 0, sizeof part);
    part.law = f->law; part.batches = f->b; part.q = f->q; part.most = f->limit;
    CHECK_STATUS(mcamp_gram_pattern(&ctx, &s->mech, &part, &s->gram), MCAMP_OK);
    CHECK_STATUS(mcamp__pattern_init(&ctx, &s->gram, f->sigma, &s->p), MCAMP_OK);
    s->p.order = 1;
    stationary(f, wait);
    for (unsigned m = 0; m < 1u << f->n; m++) {
        double p = pattern_prob(f, wait, m);
        if (!(p > 0) || s->count == MOST) continue;
        s->mask[s->count] = m;
        s->prob[s->count++] = p;
        total += p;
    }
    CHECK_NEAR(total, 1, 1e-12, 0);
}

static void tear_down(setting *s)
{
    mcamp__pattern_free(&ctx, &s->p);
    mcamp_gram_free(&ctx, &s->gram);
    mcamp_mech_free(&ctx, &s->mech);
}

static size_t bits(unsigned m)
{
    size_t n = 0;
    for (; m; m &= m - 1) n++;
    return n;
}

/* <m_p, m_s>/sigma^2 of two patterns, from C itself. */
static double inner(const setting *s, unsigned p, unsigned q)
{
    double sum = 0;
    for (size_t i = 0; i < s->f.n; i++) {
        double x = 0, y = 0;
        for (size_t j = 0; j <= i; j++) {
            if (p >> j & 1) x += s->c[i][j];
            if (q >> j & 1) y += s->c[i][j];
        }
        sum += x * y;
    }
    return sum / (s->f.sigma * s->f.sigma);
}

static double uniform(mcamp_rng *r) { return mcamp_rng_uniform(r); }

static double normal(mcamp_rng *r)
{
    double u = uniform(r), v = uniform(r);
    return sqrt(-2 * log(u)) * cos(6.28318530717958648 * v);
}

/* Standard score of a chi-squared count (Wilson and Hilferty); cells below 8 are pooled. */
static double chi_score(const size_t *count, const double *p, size_t cells, size_t total)
{
    double x = 0, pool = 0, df = -1, got = 0, c;
    for (size_t i = 0; i < cells; i++) {
        double want = p[i] * (double)total, d = (double)count[i] - want;
        if (want < 8) { pool += want; got += (double)count[i]; continue; }
        x += d * d / want;
        df++;
    }
    if (pool > 8) { x += (got - pool) * (got - pool) / pool; df++; }
    c = 2 / (9 * df);
    return (cbrt(x / df) - (1 - c)) / sqrt(c);
}

/* ---- the law ---------------------------------------------------------------------- */

TEST(shares)
{
    static setting s;
    for (size_t i = 0; i < NFIX; i++) {
        double none = 0, mean = 0, total = 0;
        set_up(&s, &FIX[i]);
        for (size_t t = 0; t < s.f.n; t++) {
            double want = 0;
            for (size_t k = 0; k < s.count; k++)
                if (s.mask[k] >> t & 1) want += s.prob[k];
            CHECK_NEAR(s.p.share[t], want, 1e-12, 0);
        }
        for (size_t k = 0; k < s.count; k++) {
            double own = inner(&s, s.mask[k], s.mask[k]);
            if (!s.mask[k]) none = s.prob[k];
            mean += s.prob[k] * 0.5 * own;
            total = own > total ? own : total;
        }
        CHECK_NEAR(mcamp__pattern_none(&s.p), none, 1e-12, 1e-300);
        CHECK_NEAR(s.p.mean_half, mean, 1e-12, 0);
        CHECK_NEAR(s.gram.max_norm, sqrt(total) * s.f.sigma, 1e-12, 0);
        CHECK_NEAR(s.p.norm2, total, 1e-12, 0);
        tear_down(&s);
    }
}

/* Sums over patterns by the recursion, on every vector set, also where terms are far apart. */
TEST(sums_over_patterns)
{
    static setting s;
    mcamp_rng r;
    mcamp_rng_seed(&r, 7);
    for (size_t i = 0; i < 2 * NFIX; i++) {
        mcamp__pattern_work w;
        double z[MCAMP__P], far = i < NFIX ? 400 : 50;
        set_up(&s, &FIX[i % NFIX]);
        s.p.linear = i >= NFIX && mcamp__pattern_linear(&s.p, far * (double)s.p.epochs);
        CHECK_STATUS(mcamp__pattern_work_init(&ctx, &s.p, &w), MCAMP_OK);
        for (int v = MCAMP_VEC_SCALAR; v <= MCAMP_VEC_AVX512; v++) {
            if (!mcamp__vecset_available((mcamp_vecset)v)) continue;
            for (size_t k = 0; k < s.f.n * MCAMP__P; k++)
                w.h[k] = (k % MCAMP__P == 3 ? far : 2) * (2 * uniform(&r) - 1);
            mcamp__pattern_filter((mcamp_vecset)v, &s.p, w.h, w.f, w.first, z);
            for (size_t lane = 0; lane < MCAMP__P; lane++) {
                double top = -1e300, sum = 0;
                for (int pass = 0; pass < 2; pass++)
                    for (size_t k = 0; k < s.count; k++) {
                        double g = log(s.prob[k]);
                        for (size_t t = 0; t < s.f.n; t++)
                            if (s.mask[k] >> t & 1) g += w.h[t * MCAMP__P + lane];
                        if (pass) sum += exp(g - top); else top = g > top ? g : top;
                    }
                CHECK_NEAR(z[lane], top + log(sum), 1e-13, 2e-13);
            }
            w.h[5] = mcamp__nan();          /* shows in its lane, be it of the first round */
            w.h[(s.f.n - 1) * MCAMP__P + 6] = mcamp__nan();         /* or of the last one  */
            mcamp__pattern_filter((mcamp_vecset)v, &s.p, w.h, w.f, w.first, z);
            CHECK(mcamp__isnan(z[5]) && mcamp__isnan(z[6]) && !mcamp__isnan(z[4]));
        }
        mcamp__buf_free(&ctx, &w.buf);
        tear_down(&s);
    }
}

/* Samples say nothing about what they leave out: so much less may be claimed of them. */
TEST(what_is_split_off_comes_off_the_claim)
{
    mcamp__sampler p;
    memset(&p, 0, sizeof p);
    p.m.b = 4; p.m.max_diag = 1; p.k = 2;
    p.split = 0.25;
    CHECK_LE(mcamp__claim_mean(&p, 0.5), 0.25);
    CHECK_LE(0.2499, mcamp__claim_mean(&p, 0.5));
    CHECK_LE(mcamp__claim_mean(&p, 0.25), 0);
}

/* Patterns that are drawn have the tilted law; with potentials 0, the law itself. */
TEST(draws)
{
    static setting s;
    static size_t count[MOST];
    static double p[MOST], sign[MOST];
    for (size_t i = 0; i < NFIX; i++)
        for (int tilted = 0; tilted < 3; tilted++) {
            mcamp__pattern_work w;
            double z[MCAMP__P], weight[16], *h, sum = 0;
            size_t draws = mt_scale(20000);
            mcamp_rng r;
            mcamp_rng_seed(&r, 11 + i);
            set_up(&s, &FIX[i]);
            s.p.linear = tilted == 2 && mcamp__pattern_linear(&s.p, 20);
            CHECK_STATUS(mcamp__pattern_work_init(&ctx, &s.p, &w), MCAMP_OK);
            h = (double *)malloc(s.f.n * MCAMP__P * sizeof *h);
            for (size_t k = 0; k < s.f.n * MCAMP__P; k++)
                w.h[k] = k % MCAMP__P ? 0 : 3 * uniform(&r) - 1;
            for (size_t t = 0; t < s.f.n; t++) weight[t] = uniform(&r);
            mcamp__pattern_filter(ctx.vec, &s.p, w.h, w.f, w.first, z);
            for (size_t k = 0; k < s.count; k++) {
                double g = 0;
                for (size_t t = 0; tilted && t < s.f.n; t++)
                    if (s.mask[k] >> t & 1) g += w.h[t * MCAMP__P];
                p[k] = s.prob[k] * exp(g);
                sum += p[k];
                sign[k] = 0;        /* what H adds up to tells the pattern */
                for (size_t t = 0; t < s.f.n; t++)
                    sign[k] += weight[t] * inner(&s, s.mask[k], 1u << t);
                count[k] = 0;
            }
            for (size_t k = 0; k < s.count; k++) p[k] /= sum;
            for (size_t d = 0; d < draws; d++) {
                double seen = 0;
                size_t k = 0, taken;
                memset(h, 0, s.f.n * MCAMP__P * sizeof *h);
                taken = mcamp__pattern_draw(&s.p, tilted ? w.f : NULL, tilted ? w.first : NULL,
                                            0, &r, h);
                for (size_t t = 0; t < s.f.n; t++) seen += weight[t] * h[t * MCAMP__P];
                while (k < s.count && fabs(sign[k] - seen) > 1e-9) k++;
                CHECK(k < s.count && bits(s.mask[k]) == taken);
                if (k < s.count) count[k]++;
            }
            CHECK_LE(chi_score(count, p, s.count, draws), 6.0);
            free(h);
            mcamp__buf_free(&ctx, &w.buf);
            tear_down(&s);
        }
}

/* ---- ranges -------------------------------------------------------------------------- */

/* sum over p of Pr(p) e^{c x(p, s)} at its largest over patterns. */
static double largest_sum(const setting *s, double c)
{
    double top = 0;
    for (size_t k = 0; k < s->count; k++) {
        double z = 0;
        for (size_t l = 0; l < s->count; l++)
            z += s->prob[l] * exp(c * inner(s, s->mask[l], s->mask[k]));
        top = z > top ? z : top;
    }
    return top;
}

/* The bound is above the exact maximum over all patterns, and not far: it is the maximum for
 * bins, and for b-min-sep what knowing the other pattern's past can gain.  A limit only
 * lowers the maximum.                                                                 */
TEST(worst_pattern)
{
    static setting s;
    static mcamp__couple m;
    for (size_t i = 0; i < NFIX; i++) {
        set_up(&s, &FIX[i]);
        CHECK_STATUS(mcamp__couple_init(&ctx, &s.p, 0, &m), MCAMP_OK);
        for (double c = 1; c < 4; c++) {
            double exact = log(largest_sum(&s, c)), bound = mcamp__couple_kappa(&m, c);
            CHECK_LE(exact, bound + 1e-12);
            if (!s.f.limit) CHECK_LE(bound, exact + (mcamp__pattern_bin(&s.p) ? 1e-12 : 0.25 * c));
        }
        mcamp__delete_doubles(&ctx, m.table, m.count);
        tear_down(&s);
    }
}

/* e^{c x(p, p')} of all pairs to e; returns its mean. */
static double all_pairs(const setting *s, double c, double *e)
{
    double sum = 0;
    for (size_t k = 0; k < s->count; k++)
        for (size_t l = 0; l < s->count; l++) {
            e[k * s->count + l] = exp(c * inner(s, s->mask[k], s->mask[l]));
            sum += s->prob[k] * s->prob[l] * e[k * s->count + l];
        }
    return sum;
}

static double *new_pairs(const setting *s)
{
    return (double *)malloc(s->count * s->count * sizeof(double));
}

/* Two patterns, also with one another's bins and starts: the recursion has their mean, exactly
 * but for a limit, which it does not count; its chords are above it, and near.           */
TEST(pairs)
{
    static setting s;
    static mcamp__couple m;
    for (size_t i = 0; i < NFIX; i++) {
        double *e, last = 0;
        set_up(&s, &FIX[i]);
        e = new_pairs(&s);
        CHECK_STATUS(mcamp__couple_init(&ctx, &s.p, 1, &m), MCAMP_OK);
        for (double c = 1; c < 24; c++) {
            double want = log(all_pairs(&s, c, e)), got = mcamp__couple_chord(&m, c);
            CHECK_LE(want, got + 1e-12);
            CHECK_LE(last, got);
            if (!s.f.limit && (c < 4 || (c > 4 && c < 6))) CHECK_NEAR(got, want, 1e-11, 1e-12);
            if (!s.f.limit) CHECK_LE(got, want * 1.02 + 1e-12);
            last = got;
        }
        CHECK(mcamp__couple_chord(&m, 1e6) > 1e300);
        mcamp__delete_doubles(&ctx, m.table, m.count);
        free(e);
        tear_down(&s);
    }
}

/* Sums over all tuples of three: E (prod z_l)^j to power[j], j < 8, and E (prod z_l - t)_+ at
 * t = e^log_t[k - 1] for k = 2, 3 to over[k - 1].                                        */
static void all_triples(const setting *s, const double *e, const double *log_t, double *power,
                        double *over)
{
    size_t n = s->count;
    memset(power, 0, 8 * sizeof *power);
    memset(over, 0, 3 * sizeof *over);
    for (size_t a = 0; a < n; a++) {
        double z2 = 0;
        for (size_t p = 0; p < n; p++) z2 += s->prob[p] * e[p * n + a];
        if (z2 > exp(log_t[1])) over[1] += s->prob[a] * (z2 - exp(log_t[1]));
        for (size_t b = 0; b < n; b++) {
            double z3 = 0, w = s->prob[a] * s->prob[b] * e[b * n + a] / z2;
            for (size_t p = 0; p < n; p++) z3 += s->prob[p] * e[p * n + a] * e[p * n + b];
            for (int j = 0; j < 8; j++) power[j] += w * pow(z2 * z3, j);
            if (z2 * z3 > exp(log_t[2])) over[2] += w * (z2 * z3 - exp(log_t[2]));
        }
    }
}

/* The bounds on powers of z are above the sums over all tuples, and so is what may be split off
 * above what cutting takes; not by far, where patterns do not differ much.               */
TEST(what_cutting_takes)
{
    static setting s;
    static mcamp__couple m;
    double power[8], over[3], log_t[3] = { 0 }, near = 1e9;
    for (size_t i = 0; i < NFIX; i++)
        for (double split = 0.3; split > 1e-5; split *= 0.03) {
            double *e;
            set_up(&s, &FIX[i]);
            e = new_pairs(&s);
            all_pairs(&s, 1, e);
            CHECK_STATUS(mcamp__couple_init(&ctx, &s.p, 1, &m), MCAMP_OK);
            for (size_t k = 2; k <= 3; k++)
                log_t[k - 1] = mcamp__couple_cap(&m, k, 0, log(split));
            all_triples(&s, e, log_t, power, over);
            CHECK_NEAR(power[0], 1, 1e-12, 0);
            for (size_t j = 1; j < 8; j++) {
                double bound = mcamp__couple_power(&m, 3, j);
                CHECK_LE(log(power[j]), bound + 1e-11);
                near = fmin(near, bound / log(power[j]));
            }
            for (size_t k = 2; k <= 3; k++) {
                CHECK(log_t[k - 1] > 0 && log_t[k - 1] < 1e3);
                CHECK_LE(over[k - 1], split);
            }
            mcamp__delete_doubles(&ctx, m.table, m.count);
            free(e);
            tear_down(&s);
        }
    CHECK_LE(near, 1.2);
    set_up(&s, &FIX[0]);            /* two indices, first power: the mean itself */
    CHECK_STATUS(mcamp__couple_init(&ctx, &s.p, 1, &m), MCAMP_OK);
    CHECK_NEAR(mcamp__couple_power(&m, 2, 1), m.kappa[0], 1e-12, 0);
    CHECK_NEAR(mcamp__couple_power(&m, 2, 3), m.kappa[2], 1e-12, 0);
    mcamp__delete_doubles(&ctx, m.table, m.count);
    tear_down(&s);
}

/* ---- delta --------------------------------------------------------------------------- */

typedef struct mean { double value, error; } mean;

/* delta from the list: samples of P (remove) or Q (add), each direction's plain value. */
static mean listed(const setting *s, mcamp_direction dir, size_t samples)
{
    static double mode[MOST][16];
    mcamp_rng r;
    double sum = 0, square = 0, x[16], own[MOST], m, v;
    size_t n = s->f.n;
    mcamp_rng_seed(&r, 99);
    for (size_t k = 0; k < s->count; k++) {
        own[k] = 0.5 * inner(s, s->mask[k], s->mask[k]);
        for (size_t i = 0; i < n; i++) {
            mode[k][i] = 0;
            for (size_t j = 0; j <= i; j++)
                if (s->mask[k] >> j & 1) mode[k][i] += s->c[i][j] / s->f.sigma;
        }
    }
    for (size_t a = 0; a < samples; a++) {
        double u = uniform(&r), rho = 0, value;
        size_t pick = 0;
        while (pick + 1 < s->count && u >= s->prob[pick]) u -= s->prob[pick++];
        for (size_t i = 0; i < n; i++)
            x[i] = normal(&r) + (dir == MCAMP_REMOVE ? mode[pick][i] : 0);
        for (size_t k = 0; k < s->count; k++) {
            double g = -own[k];
            for (size_t i = 0; i < n; i++) g += mode[k][i] * x[i];
            rho += s->prob[k] * exp(g);
        }
        value = dir == MCAMP_REMOVE ? 1 - exp(s->f.eps) / rho : 1 - exp(s->f.eps) * rho;
        if (!(value > 0)) value = 0;
        sum += value;
        square += value * value;
    }
    m = sum / (double)samples;
    v = square / (double)samples - m * m;
    return (mean){ m, sqrt(v / (double)samples) };
}

static mcamp_tally draw(const mcamp_gram *g, const fixture *f, mcamp_direction dir,
                        mcamp_method method, size_t order, double split, uint64_t blocks)
{
    mcamp_sampler s;
    mcamp_sampler_desc d;
    mcamp_tally t;
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    d.direction = dir; d.method = method; d.sigma = f->sigma; d.eps = f->eps; d.order = order;
    d.split = split;
    CHECK_STATUS(mcamp_sampler_init(&ctx, g, &d, &s), MCAMP_OK);
    CHECK_STATUS(mcamp_sampler_run(&ctx, &s, 5, 0, blocks, &t), MCAMP_OK);
    CHECK(t.poisoned == 0);
    mcamp_sampler_free(&ctx, &s);
    return t;
}

/* What estimates draw by such a method.  Of the mixture of shifts: its sums as they are, or by
 * logarithms; own: the share of P, or 0.                                             */
static mcamp_tally chosen(const mcamp_gram *g, const fixture *f, mcamp_direction dir,
                          mcamp_method method, int linear, double own, uint64_t blocks)
{
    double share[25];
    mcamp__factor x;
    mcamp__question q;
    mcamp__choice c;
    mcamp__sampler p;
    mcamp__workers w;
    mcamp_tally t;
    memset(&c, 0, sizeof c);
    CHECK_STATUS(mcamp__factor_init(&ctx, g, &x), MCAMP_OK);
    q = mcamp__ask(&x, f->sigma, f->eps, dir, 3);
    c.method = method;
    c.log_scale = mcamp__estimate_scale(&q, mcamp__inf());
    CHECK_STATUS(mcamp__choice_open(&ctx, &q, &c, &p), MCAMP_OK);
    if (!linear) p.pattern.linear = 0;
    if (p.mix) {
        size_t last = p.mix->count - 1;
        CHECK(last >= 2 && last <= 24);
        for (size_t i = 0; i < last; i++) share[i] = (1 - own) / (double)last;
        share[last] = own;
        if (own > 0) mcamp__mix_share(&p, share);
    }
    CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
    mcamp__tally_init(&p, &t);
    CHECK_STATUS(mcamp__run_blocks(&ctx, &p, &w, 3, 77, 0, blocks, &t), MCAMP_OK);
    CHECK(t.poisoned == 0);
    mcamp__workers_free(&ctx, &w);
    mcamp__choice_close(&ctx, &p);
    mcamp__factor_free(&ctx, &x);
    return t;
}

static mcamp_tally shifted(const mcamp_gram *g, const fixture *f, int linear, double own,
                           uint64_t blocks)
{
    return chosen(g, f, MCAMP_REMOVE, MCAMP_METHOD_SHIFTS, linear, own, blocks);
}

/* The square root with so many bands under such a law. */
static void patterns(mcamp_batch_law law, size_t n, size_t b, size_t bands, double q,
                     mcamp_gram *g)
{
    mcamp_mech_desc d;
    mcamp_mech m;
    mcamp_participation part;
    memset(&d, 0, sizeof d);
    memset(&part, 0, sizeof part);
    d.kind = MCAMP_MECH_SQRT; d.n = n; d.bands = bands;
    part.law = law; part.batches = b; part.q = q;
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_pattern(&ctx, &m, &part, g), MCAMP_OK);
    mcamp_mech_free(&ctx, &m);
}

/* Random bins that are used with probability q. */
static void cyclic(size_t n, size_t b, size_t bands, double q, mcamp_gram *g)
{
    patterns(MCAMP_BATCH_POISSON, n, b, bands, q, g);
}

static void mixture_of(mcamp_batch_law law, size_t n, size_t b, size_t bands, double q,
                       double sigma, double eps, mcamp_direction dir, mcamp_gram *g,
                       mcamp__factor *f, mcamp__sampler *p)
{
    mcamp__question ask;
    mcamp__choice c;
    patterns(law, n, b, bands, q, g);
    CHECK_STATUS(mcamp__factor_init(&ctx, g, f), MCAMP_OK);
    ask = mcamp__ask(f, sigma, eps, dir, 3);
    memset(&c, 0, sizeof c);
    c.method = MCAMP_METHOD_SHIFTS;
    c.log_scale = mcamp__estimate_scale(&ask, mcamp__inf());
    CHECK_STATUS(mcamp__choice_open(&ctx, &ask, &c, p), MCAMP_OK);
}

static void mixture_open(mcamp_batch_law law, size_t n, size_t b, size_t bands, double q,
                         double sigma, double eps, mcamp_gram *g, mcamp__factor *f,
                         mcamp__sampler *p)
{
    mixture_of(law, n, b, bands, q, sigma, eps, MCAMP_REMOVE, g, f, p);
}

static void mixture_close(mcamp_gram *g, mcamp__factor *f, mcamp__sampler *p)
{
    mcamp__choice_close(&ctx, p);
    mcamp__factor_free(&ctx, f);
    mcamp_gram_free(&ctx, g);
}

/* Each component's density over the mixture's has the mean 1 under the mixture, and the draws are
 * of all components: whatever windows, epochs and copies there are.                  */
static void densities(const mcamp__sampler *p, uint64_t stream)
{
    enum { TILE = 64 };
    mcamp__scratch w;
    mcamp__rng8 normals;
    mcamp_rng r;
    double sum[25] = { 0 }, square[25] = { 0 };
    double unit = 0;
    size_t tiles = (size_t)mt_scale(200);
    for (size_t t = 0; t < p->pattern.n; t++) unit += p->mix->line[t] * p->mix->line[t];
    CHECK_NEAR(unit, 1, 1e-12, 0);
    CHECK_STATUS(mcamp__scratch_init(&ctx, p, &w), MCAMP_OK);
    mcamp__rng8_stream(&normals, 11, 1, stream);
    mcamp_rng_stream(&r, 11, 1, stream);
    for (size_t i = 0; i < tiles; i++) {
        mcamp__tile(ctx.vec, p, &normals, &r, &w);
        for (size_t s = 0; s < TILE; s++)
            for (size_t a = 0; a < p->mix->count; a++) {
                double x = exp(w.work[a * TILE + s] - mcamp__mix_density(p->mix, w.work + s));
                sum[a] += x;
                square[a] += x * x;
            }
    }
    for (size_t a = 0; a < p->mix->count; a++) {
        double n = (double)tiles * TILE, middle = sum[a] / n;
        CHECK_NEAR(middle, 1, 0, 6.5 * sqrt((square[a] / n - middle * middle) / n));
        CHECK_LE(0.2, middle);
    }
    mcamp__scratch_free(&ctx, &w);
}

TEST(components_have_densities)
{
    static const struct { mcamp_batch_law law; size_t n, b, bands; double q, sigma, eps; }
    shape[] = {
        { MCAMP_BATCH_POISSON, 23, 5, 2, 0.3, 1.2, 0.5 },
        { MCAMP_BATCH_POISSON, 24, 8, 7, 0.4, 1.5, 1 },
        { MCAMP_BATCH_POISSON, 41, 4, 1, 0.15, 1, 1 },
        { MCAMP_BATCH_POISSON, 51, 2, 2, 0.5, 3, 0.3 },
        { MCAMP_BATCH_POISSON, 120, 3, 2, 0.1, 1.5, 1 },
        { MCAMP_BATCH_POISSON, 11, 4, 3, 1, 1.4, 0.6 },
        { MCAMP_BATCH_POISSON, 30, 10, 4, 0.02, 0.8, 1 },
        { MCAMP_BATCH_POISSON, 7, 7, 3, 0.5, 1, 0.2 },
        { MCAMP_BATCH_POISSON, 20, 5, 2, 0.3, 0.07, 400 },
        { MCAMP_BATCH_MINSEP, 60, 4, 1, 0.02, 0.9, 1 },
        { MCAMP_BATCH_MINSEP, 45, 7, 5, 0.03, 1.2, 0.5 },
        { MCAMP_BATCH_MINSEP_WARM, 50, 5, 3, 0.05, 1.1, 1 },
        { MCAMP_BATCH_MINSEP, 40, 1, 1, 0.1, 2, 0.5 },
        { MCAMP_BATCH_MINSEP_WARM, 400, 16, 2, 0.004, 0.8, 1 } };
    open_ctx();
    for (size_t k = 0; k < sizeof shape / sizeof shape[0]; k++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        size_t spans = 0, some = 0, more = 0, wide = 0;
        mixture_open(shape[k].law, shape[k].n, shape[k].b, shape[k].bands, shape[k].q,
                     shape[k].sigma, shape[k].eps, &g, &f, &p);
        densities(&p, k);
        for (size_t a = 0; a < p.mix->count; a++) {
            spans += p.mix->span[a] > 0;
            some += p.mix->span[a] > 0 && p.mix->take[a] < 1;
            wide += p.mix->narrow[a] < 0;
            more += !p.mix->span[a] && p.mix->take[a] > 1.2 * shape[k].q;
        }
        if (shape[k].law == MCAMP_BATCH_POISSON) {
            CHECK(spans > 0 && (some > 0) == (shape[k].q < 1) && wide <= 2);
        } else {
            CHECK(spans == 0 && more >= 3 && p.pattern.linear && wide == 2);
        }
        mixture_close(&g, &f, &p);
    }
}

/* The same of add: below the mean along the common direction, at three variances each, and Q. */
TEST(components_of_add)
{
    static const struct { mcamp_batch_law law; size_t n, b, bands; double q, sigma, eps; }
    shape[] = {
        { MCAMP_BATCH_POISSON, 23, 5, 2, 0.3, 1.2, 0.5 },
        { MCAMP_BATCH_POISSON, 120, 3, 2, 0.9, 1.5, 1 },
        { MCAMP_BATCH_POISSON, 11, 4, 3, 1, 1.4, 0.6 },
        { MCAMP_BATCH_MINSEP, 60, 4, 1, 0.02, 0.9, 0.3 },
        { MCAMP_BATCH_MINSEP, 45, 7, 5, 0.3, 1.2, 0.5 },
        { MCAMP_BATCH_MINSEP_WARM, 400, 16, 2, 0.01, 0.8, 0.2 },
        { MCAMP_BATCH_MINSEP, 30, 3, 2, 0.1, 1, -1 } };
    open_ctx();
    for (size_t k = 0; k < sizeof shape / sizeof shape[0]; k++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        mixture_of(shape[k].law, shape[k].n, shape[k].b, shape[k].bands, shape[k].q,
                   shape[k].sigma, shape[k].eps, MCAMP_ADD, &g, &f, &p);
        densities(&p, 50 + k);
        CHECK(p.mix->count == 16);
        for (size_t a = 0; a < 16; a++) {
            size_t row = a / 3 * 3;
            CHECK((p.mix->along[a] < 0) == (shape[k].eps > 0 && a < 15));
            CHECK((p.mix->narrow[a] > 0) == (shape[k].eps > 0 && a < 15 && a % 3 > 0));
            CHECK(a == 15 || mcamp__eq(p.mix->along[a], p.mix->along[row]));
        }
        mixture_close(&g, &f, &p);
    }
}

/* Few uses of few epochs, in both directions: the estimate takes thousands of samples, where laws
 * that use all epochs took 1e9 and add's tilt, that of its bound, saw nothing; and a bound takes
 * no more than it does.                                                                  */
static void few(mcamp_batch_law law, size_t n, size_t b, size_t bands, double q, double sigma,
                double most)
{
    mcamp_gram g;
    mcamp_budget bud;
    mcamp_answer a;
    memset(&bud, 0, sizeof bud);
    bud.rel_error = 0.05;
    bud.max_samples = 2000000;
    patterns(law, n, b, bands, q, &g);
    CHECK(mcamp_delta(&ctx, &g, sigma, 1, &bud, &a) >= 0);
    CHECK(a.remove.value > 1e-7 && a.remove.value < 1e-3);
    CHECK_LE(a.remove.std_error, 0.05 * a.remove.value);
    CHECK_LE((double)a.remove.samples, most);
    CHECK_LE((double)a.add.samples, 1e5);
    CHECK(a.remove.proof_samples <= a.remove.samples + a.remove.pilot_samples);
    mcamp_gram_free(&ctx, &g);
}

TEST(few_epochs_are_used)
{
    open_ctx();
    few(MCAMP_BATCH_POISSON, 64, 16, 4, 0.1, 1.1, 5e4);
    few(MCAMP_BATCH_POISSON, 128, 8, 3, 0.1, 1.4, 5e4);
    few(MCAMP_BATCH_POISSON, 128, 16, 1, 0.5, 2.1, 5e4);
    few(MCAMP_BATCH_POISSON, 96, 12, 5, 0.05, 1, 5e4);
}

/* b-min-sep with few uses: those that decide have more.  Without patterns of more rounds three of
 * these saw no end in a minute.                                                          */
TEST(few_rounds_are_used)
{
    open_ctx();
    few(MCAMP_BATCH_MINSEP, 256, 16, 1, 0.01, 0.95, 5e4);
    few(MCAMP_BATCH_MINSEP, 600, 10, 1, 0.004, 0.9, 5e5);
    few(MCAMP_BATCH_MINSEP, 300, 10, 3, 0.01, 1.35, 5e4);
    few(MCAMP_BATCH_MINSEP, 512, 32, 1, 0.004, 0.78, 5e4);
    few(MCAMP_BATCH_MINSEP_WARM, 500, 50, 1, 0.002, 0.7, 5e4);
    few(MCAMP_BATCH_MINSEP, 200, 20, 8, 0.01, 1.6, 5e4);
}

/* Add alone, with few uses: samples moved along the common direction only took 3e5 for the first
 * of these and more than 2e7 for the next two.  The value is that of samples with a range. */
TEST(add_where_uses_are_few)
{
    static const struct { mcamp_batch_law law; size_t n, b, bands; double q, sigma, most; }
    shape[] = {
        { MCAMP_BATCH_MINSEP, 1024, 32, 1, 0.01, 0.8, 2e4 },
        { MCAMP_BATCH_MINSEP, 1024, 32, 1, 0.004, 0.6, 1e5 },
        { MCAMP_BATCH_MINSEP_WARM, 512, 16, 4, 0.004, 0.5, 1e5 },
        { MCAMP_BATCH_MINSEP, 300, 10, 8, 0.03, 3, 2e4 },
        { MCAMP_BATCH_POISSON, 128, 16, 4, 0.5, 2, 2e4 } };
    open_ctx();
    for (size_t k = 0; k < sizeof shape / sizeof shape[0]; k++) {
        mcamp_gram g;
        mcamp_budget bud;
        mcamp_answer a;
        mcamp_sampler_desc d;
        mcamp_sampler p;
        mcamp_tally t;
        double middle, err;
        memset(&bud, 0, sizeof bud);
        memset(&d, 0, sizeof d);
        memset(&t, 0, sizeof t);
        bud.rel_error = 0.05;
        bud.max_samples = 400000;
        bud.direction = MCAMP_ADD;
        patterns(shape[k].law, shape[k].n, shape[k].b, shape[k].bands, shape[k].q, &g);
        CHECK(mcamp_delta(&ctx, &g, shape[k].sigma, 1, &bud, &a) >= 0);
        CHECK(a.add.method == MCAMP_METHOD_SHIFTS && a.add.value > 1e-7);
        CHECK_LE(a.add.std_error, 0.05 * a.add.value);
        CHECK_LE((double)(a.add.samples + a.add.pilot_samples), shape[k].most);
        d.sigma = shape[k].sigma; d.eps = 1;
        d.direction = MCAMP_ADD; d.method = MCAMP_METHOD_TILTED;
        CHECK_STATUS(mcamp_sampler_init(&ctx, &g, &d, &p), MCAMP_OK);
        CHECK_STATUS(mcamp_sampler_run(&ctx, &p, 5, 0, 100, &t), MCAMP_OK);
        middle = mcamp_tally_mean(&t);
        err = mcamp_tally_std_error(&t);
        CHECK_LE(3 * err, middle);
        CHECK_NEAR(a.add.value, middle, 0, 6.2 * (err + a.add.std_error));
        mcamp_sampler_free(&ctx, &p);
        mcamp_gram_free(&ctx, &g);
    }
}

/* Pr(a pattern has j rounds or more). */
static double as_many(const mcamp__pattern *l, double q, size_t j)
{
    double open[600] = { 0 }, taken[600], sum = 0;
    for (size_t m = 0; m < j; m++) {
        sum = 0;
        for (size_t t = 0; t < l->n; t++) {
            double x = m ? (t >= l->b ? taken[t - l->b] : 0) : t < l->starts ? l->start[t] : 0;
            open[t] = x + (t ? (1 - q) * open[t - 1] : 0);
        }
        for (size_t t = 0; t < l->n; t++) sum += taken[t] = q * open[t];
    }
    return sum;
}

TEST(no_pattern_has_more_rounds)
{
    static const struct { mcamp_batch_law law; size_t n, b; double q; } shape[] = {
        { MCAMP_BATCH_MINSEP, 600, 8, 0.01 }, { MCAMP_BATCH_MINSEP, 500, 7, 0.002 },
        { MCAMP_BATCH_MINSEP_WARM, 599, 3, 0.05 }, { MCAMP_BATCH_MINSEP, 600, 1, 0.1 },
        { MCAMP_BATCH_MINSEP, 40, 9, 0.5 } };
    open_ctx();
    for (size_t k = 0; k < sizeof shape / sizeof shape[0]; k++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        static double base[600 * MCAMP__P];
        size_t most;
        mixture_open(shape[k].law, shape[k].n, shape[k].b, 1, shape[k].q, 1, 1, &g, &f, &p);
        most = (size_t)mcamp__patterns_longest(&p.pattern, shape[k].q);
        CHECK(most >= 1 && most <= p.pattern.epochs);
        if (most < p.pattern.epochs) CHECK_LE(as_many(&p.pattern, shape[k].q, most), exp(-40.0));
        CHECK((most < p.pattern.epochs) == (k < 4));
        if (most > 3) CHECK_LE(exp(-50.0), as_many(&p.pattern, shape[k].q, most - 3));
        CHECK(mcamp__pattern_bin(&p.pattern) == 0);
        p.mix->count = 0;                       /* a usual one has a round, where few do */
        for (double take = 1 / (double)shape[k].n; take < 0.1; take *= 1.3)
            CHECK(mcamp__patterns_usual(&p, take, base) > 0);
        p.mix->count = 1;
        mixture_close(&g, &f, &p);
    }
}

/* The largest sum of a pattern's h_t, h of one sample. */
static double largest(const mcamp__pattern *l, const double *h)
{
    double f[800] = { 0 }, most = 0;
    for (size_t t = l->n; t-- > 0; )
        f[t] = fmax(f[t + l->step], h[t * MCAMP__P] + f[t + l->b]);
    for (size_t r = 0; r < l->starts; r++) most = fmax(most, f[r]);
    return most;
}

/* What decides whether sums need logarithms is a bound of the means of what is summed, for each
 * component, and not far from it. */
TEST(sums_are_below_their_bound)
{
    static const struct { mcamp_batch_law law; size_t n, b, bands; double q, sigma; } shape[] = {
        { MCAMP_BATCH_MINSEP, 300, 8, 1, 0.02, 1.2 }, { MCAMP_BATCH_MINSEP, 200, 10, 10, 0.03, 2 },
        { MCAMP_BATCH_MINSEP_WARM, 250, 5, 4, 0.05, 3 },
        { MCAMP_BATCH_POISSON, 120, 8, 4, 0.1, 1.3 }, { MCAMP_BATCH_POISSON, 60, 6, 6, 0.5, 3 } };
    open_ctx();
    for (size_t k = 0; k < sizeof shape / sizeof shape[0]; k++) {
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        mcamp__pattern_work w;
        mcamp_rng r;
        double nearest = 0, share[25], width[MCAMP__P];
        mixture_open(shape[k].law, shape[k].n, shape[k].b, shape[k].bands, shape[k].q,
                     shape[k].sigma, 1, &g, &f, &p);
        CHECK_STATUS(mcamp__pattern_work_init(&ctx, &p.pattern, &w), MCAMP_OK);
        mcamp_rng_seed(&r, k);
        for (size_t q = 0; q < p.mix->count; q++) {
            double bound = mcamp__patterns_sum(&p, q);
            for (size_t i = 0; i < p.mix->count; i++) share[i] = i == q;
            mcamp__mix_share(&p, share);
            for (int tile = 0; tile < 4; tile++) {
                static const double zero[300];
                size_t all = p.pattern.n * MCAMP__P * sizeof(double);
                mcamp__patterns_move(&p, &r, &w, width);
                memcpy(w.g, w.h, all);
                memset(w.h, 0, all);
                mcamp__vec_band(ctx.vec, p.pattern.c, p.pattern.n, p.pattern.w, w.h, zero, w.g);
                for (size_t s = 0; s < MCAMP__P; s++) {
                    double sum = largest(&p.pattern, w.g + s);
                    CHECK_LE(sum, bound * (1 + 1e-12));
                    if (bound > 0) nearest = fmax(nearest, sum / bound);
                }
            }
        }
        CHECK_LE(0.4, nearest);
        mcamp__buf_free(&ctx, &w.buf);
        mixture_close(&g, &f, &p);
    }
}

/* The least sigma at which sums are had without logarithms: the same by both, and no overflow. */
TEST(sums_at_their_end)
{
    static const struct { mcamp_batch_law law; size_t n, b, bands; double q; } shape[] = {
        { MCAMP_BATCH_MINSEP, 300, 8, 1, 0.02 }, { MCAMP_BATCH_MINSEP_WARM, 200, 10, 7, 0.1 },
        { MCAMP_BATCH_POISSON, 120, 8, 4, 0.3 }, { MCAMP_BATCH_MINSEP, 300, 2, 2, 0.3 },
        { MCAMP_BATCH_MINSEP, 600, 8, 1, 0.004 }, { MCAMP_BATCH_POISSON, 256, 16, 1, 0.03 } };
    open_ctx();
    for (size_t k = 0; k < sizeof shape / sizeof shape[0]; k++) {
        fixture of = { MCAMP_BATCH_MINSEP, 0, 0, 0, 0, 0, 0, 3, 1 };
        mcamp_gram g;
        mcamp__factor f;
        mcamp__sampler p;
        mcamp_tally t[2];
        double lo = 0.02, hi = 8;
        size_t comps = 0;
        for (int i = 0; i < 12; i++) {
            int linear;
            of.sigma = sqrt(lo * hi);
            mixture_open(shape[k].law, shape[k].n, shape[k].b, shape[k].bands, shape[k].q,
                         of.sigma, 1, &g, &f, &p);
            linear = p.pattern.linear;
            if (!i) comps = p.mix->count;
            CHECK(p.mix->count == comps);       /* a search keeps their shares */
            mixture_close(&g, &f, &p);
            if (linear) hi = of.sigma;
            else lo = of.sigma;
        }
        CHECK(lo > 0.03 && hi < 7);
        of.sigma = hi;
        patterns(shape[k].law, shape[k].n, shape[k].b, shape[k].bands, shape[k].q, &g);
        for (int i = 0; i < 2; i++) t[i] = shifted(&g, &of, i, 0, (uint64_t)mt_few(4, 1));
        CHECK(mcamp__eq(mcamp__tally_lump(&t[0]), 1));
        CHECK_NEAR(mcamp_tally_mean(&t[0]), mcamp_tally_mean(&t[1]), 1e-9, 0);
        mcamp_gram_free(&ctx, &g);
    }
}

/* Add's delta that no double holds, of a bound that says nothing: it is 0 after a few thousand
 * samples, and what is proved is the bound.                                           */
TEST(nothing_to_be_seen)
{
    mcamp_gram g;
    mcamp_budget bud;
    mcamp_answer a;
    open_ctx();
    memset(&bud, 0, sizeof bud);
    bud.max_samples = 150000;
    bud.direction = MCAMP_ADD;
    cyclic(4096, 512, 1, 0.3, &g);
    CHECK(mcamp_delta(&ctx, &g, 0.88, 1.5, &bud, &a) >= 0);
    CHECK_NEAR(a.add.value, 0, 0, 0);
    CHECK_LE(1e-6, a.add.upper);
    CHECK_LE((double)a.add.samples, 40000);
    mcamp_gram_free(&ctx, &g);
}

static void agree(const mcamp_tally *t, mean want)
{
    double error = mcamp_tally_std_error(t);
    CHECK_NEAR(mcamp_tally_mean(t), want.value, 0,
               6.2 * sqrt(error * error + want.error * want.error));
}

/* Every law of samples against the list, in both directions. */
TEST(delta_of_small_cases)
{
    static setting s;
    for (size_t i = 0; i < NFIX; i++) {
        mean want[2];
        mcamp_tally t;
        set_up(&s, &FIX[i]);
        want[0] = listed(&s, MCAMP_REMOVE, mt_scale(20000));
        want[1] = listed(&s, MCAMP_ADD, mt_scale(20000));
        for (size_t k = 1; k <= 3; k++) {
            t = draw(&s.gram, &s.f, MCAMP_REMOVE, MCAMP_METHOD_TILTED, k, 0, 16);
            agree(&t, want[0]);
        }
        t = shifted(&s.gram, &s.f, 1, 0, 16);
        agree(&t, want[0]);
        t = shifted(&s.gram, &s.f, 1, 0.9, 16);
        agree(&t, want[0]);
        t = shifted(&s.gram, &s.f, 0, 0, 8);
        agree(&t, want[0]);
        t = draw(&s.gram, &s.f, MCAMP_REMOVE, MCAMP_METHOD_PLAIN, 0, 0, 16);
        agree(&t, want[0]);
        t = draw(&s.gram, &s.f, MCAMP_ADD, MCAMP_METHOD_PLAIN, 0, 0, 16);
        agree(&t, want[1]);
        t = draw(&s.gram, &s.f, MCAMP_ADD, MCAMP_METHOD_TILTED, 0, 0, 16);
        agree(&t, want[1]);
        CHECK_LE(mcamp_tally_mean(&t), exp(mcamp__pattern_add_bound(&s.p, s.f.eps)) * 1.05);
        for (int linear = 0; linear < 2; linear++) {
            t = chosen(&s.gram, &s.f, MCAMP_ADD, MCAMP_METHOD_SHIFTS, linear, 0, 16);
            agree(&t, want[1]);
        }
        t = chosen(&s.gram, &s.f, MCAMP_ADD, MCAMP_METHOD_SHIFTS, 1, 0.9, 16);
        agree(&t, want[1]);
        tear_down(&s);
    }
}

/* What is cut is missing from the mean, by no more than is added to the bound. */
TEST(cut)
{
    static setting s;
    double most = 0;
    for (size_t i = 0; i < NFIX; i++) {
        mcamp_tally all;
        set_up(&s, &FIX[i]);
        all = draw(&s.gram, &s.f, MCAMP_REMOVE, MCAMP_METHOD_TILTED, 3, 0, 16);
        CHECK(all.split < 1e-300);
        for (double split = 0.3; split > 1e-6; split *= 0.01) {
            mcamp_tally t = draw(&s.gram, &s.f, MCAMP_REMOVE, MCAMP_METHOD_TILTED, 3, split, 16);
            double miss = mcamp_tally_mean(&all) - mcamp_tally_mean(&t);
            if (!(t.split > 0)) { CHECK_NEAR(t.log_range, all.log_range, 1e-12, 0); continue; }
            CHECK_NEAR(t.split, split, 2e-6, 0);
            CHECK_LE(-1e-15, miss);      /* the same random numbers */
            CHECK_LE(miss, t.split);
            CHECK(t.log_range < all.log_range);
            CHECK_LE(mcamp_tally_mean(&t) + t.split, mcamp_tally_upper(&t, 1e-6));
            most = miss > most ? miss : most;
        }
        tear_down(&s);
    }
    CHECK(most > 1e-4);
}

/* q = 1 in a random bin is balls in bins: modes, ranges and delta. */
TEST(bins)
{
    static setting s;
    fixture f = { MCAMP_BATCH_POISSON, 11, 4, 3, 1.0, 0, 0, 1.4, 0.6 };
    mcamp_gram g;
    set_up(&s, &f);
    CHECK_STATUS(mcamp_gram_init(&ctx, &s.mech, f.b, &g), MCAMP_OK);
    CHECK_NEAR(s.gram.max_norm, g.max_norm, 1e-12, 0);
    for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
        mcamp_tally a = draw(&g, &f, (mcamp_direction)d, MCAMP_METHOD_COMMON, 0, 0, 200);
        mcamp_tally b = draw(&s.gram, &f, (mcamp_direction)d, MCAMP_METHOD_TILTED,
                             d == MCAMP_REMOVE ? 2 : 0, 0, 100);
        mean want;
        want.value = mcamp_tally_mean(&a);
        want.error = mcamp_tally_std_error(&a);
        agree(&b, want);
        if (d == MCAMP_REMOVE) {
            a = draw(&g, &f, MCAMP_REMOVE, MCAMP_METHOD_TILTED, 2, 0, 1);
            CHECK_NEAR(b.log_range, a.log_range, 0, 1e-9);
        } else {
            CHECK_LE(a.log_range, b.log_range);
        }
    }
    mcamp_gram_free(&ctx, &g);
    tear_down(&s);
}

/* b = 1 and C = I is Poisson sampling in every round, which section exact knows. */
TEST(poisson)
{
    for (int law = MCAMP_BATCH_MINSEP; law <= MCAMP_BATCH_MINSEP_WARM; law++) {
        fixture f = { MCAMP_BATCH_MINSEP, 16, 1, 1, 0.1, 0, 0, 1.6, 0.5 };
        mcamp_mech_desc d;
        mcamp_mech m;
        mcamp_gram g;
        mcamp_participation part;
        mcamp_event e;
        mcamp_budget bud;
        mcamp_answer a;
        if (!mcamp__law_is_pattern((mcamp_batch_law)law)) continue;
        open_ctx();
        memset(&d, 0, sizeof d);
        memset(&part, 0, sizeof part);
        memset(&e, 0, sizeof e);
        memset(&bud, 0, sizeof bud);
        d.kind = MCAMP_MECH_IDENTITY; d.n = f.n;
        part.law = (mcamp_batch_law)law; part.batches = 1; part.q = f.q;
        CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
        CHECK_STATUS(mcamp_gram_pattern(&ctx, &m, &part, &g), MCAMP_OK);
        e.kind = MCAMP_EVENT_POISSON; e.count = f.n; e.q = f.q; e.sigma = f.sigma;
        e.sensitivity = 1;
        for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
            mcamp_exact_desc x;
            mcamp_interval v;
            mcamp_tally t;
            mean want;
            memset(&x, 0, sizeof x);
            x.direction = (mcamp_direction)dir;
            CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &x, f.eps, &v, NULL), MCAMP_OK);
            t = draw(&g, &f, x.direction, MCAMP_METHOD_TILTED, 0, 0, 64);
            want.value = v.upper;
            want.error = v.upper - v.lower;
            agree(&t, want);
            CHECK_LE(v.lower, mcamp_tally_upper(&t, 1e-9));
            CHECK_LE(mcamp_tally_lower(&t, 1e-9), v.upper);
            if (dir == MCAMP_ADD) continue;
            t = shifted(&g, &f, 1, 0, 64);
            agree(&t, want);
            /* and the estimators, which choose for themselves */
            bud.rel_error = 0.05;
            CHECK_STATUS(mcamp_delta(&ctx, &g, f.sigma, f.eps, &bud, &a), MCAMP_OK);
            CHECK_NEAR(a.delta, v.upper, 0, 6.2 * a.std_error + v.upper - v.lower);
            CHECK_LE(v.lower, a.delta_upper);
            CHECK(a.law == part.law && a.batches == 1 && a.q > 0 && a.status == MCAMP_OK);
            CHECK_STATUS(mcamp_sigma(&ctx, &g, f.eps, v.upper, &bud, &a), MCAMP_OK);
            CHECK_NEAR(a.sigma, f.sigma, 0, 6.2 * a.std_error + 1e-3);
            CHECK_STATUS(mcamp_epsilon(&ctx, &g, f.sigma, v.upper, &bud, &a), MCAMP_OK);
            CHECK_NEAR(a.eps, f.eps, 0, 6.2 * a.std_error + 1e-3);
        }
        mcamp_gram_free(&ctx, &g);
        mcamp_mech_free(&ctx, &m);
    }
}

/* Add's bound without samples: of one round it is delta itself, of more no less; and no more than
 * without setting apart those that are never used.                                    */
TEST(bound_of_add)
{
    static const double q[3] = { 0.1, 0.5, 1 };
    double gain = 0;
    open_ctx();
    for (int k = 0; k < 24; k++) {
        size_t n = k % 2 ? 16 : 1;
        double eps = 0.1 + 0.15 * (k / 6), sigma = k % 2 ? 3 : 1.1, bound, jensen;
        mcamp_gram g;
        mcamp__pattern p;
        mcamp_event e;
        mcamp_exact_desc x;
        mcamp_interval v;
        cyclic(n, 1, 1, q[k / 2 % 3], &g);
        CHECK_STATUS(mcamp__pattern_init(&ctx, &g, sigma, &p), MCAMP_OK);
        memset(&e, 0, sizeof e);
        memset(&x, 0, sizeof x);
        e.kind = MCAMP_EVENT_POISSON; e.count = n; e.q = q[k / 2 % 3]; e.sigma = sigma;
        e.sensitivity = 1;
        x.direction = MCAMP_ADD; x.rel_error = 1e-4;
        CHECK_STATUS(mcamp_exact_delta(&ctx, &e, 1, &x, eps, &v, NULL), MCAMP_OK);
        bound = exp(mcamp__pattern_add_bound(&p, eps));
        jensen = mcamp__gauss_logdelta(p.tau, eps - p.mean_half + 0.5 * p.tau * p.tau);
        if (mcamp__pattern_none(&p) * exp(eps) < 1) {
            CHECK_LE(v.lower, bound * (1 + 1e-9));
            if (n == 1) CHECK_LE(bound, v.upper * (1 + 1e-6));
        }
        CHECK_LE(bound, exp(jensen));
        gain = fmax(gain, exp(jensen) / bound);
        mcamp__pattern_free(&ctx, &p);
        mcamp_gram_free(&ctx, &g);
    }
    CHECK_LE(1.5, gain);
}

/* Over seeds, answers spread as their errors say, neither more nor much less. */
TEST(spread_of_answers)
{
    static setting s;
    fixture f = { MCAMP_BATCH_MINSEP_WARM, 11, 3, 3, 0.25, 0, 2, 2.2, 1 };
    enum { SEEDS = 24 };
    set_up(&s, &f);
    for (int asked = 0; asked < 2; asked++) {
        double x[SEEDS], err[SEEDS], middle = 0, chi = 0, df = SEEDS - 1, c = 2 / (9 * df), score;
        for (int i = 0; i < SEEDS; i++) {
            mcamp_budget bud;
            mcamp_answer a;
            memset(&bud, 0, sizeof bud);
            bud.rel_error = 0.06;
            bud.seed = 100 + (uint64_t)i;
            if (asked) CHECK_STATUS(mcamp_sigma(&ctx, &s.gram, f.eps, 1e-5, &bud, &a), MCAMP_OK);
            else CHECK_STATUS(mcamp_delta(&ctx, &s.gram, 3, f.eps, &bud, &a), MCAMP_OK);
            x[i] = asked ? a.sigma : a.delta;
            err[i] = a.std_error;
            CHECK(err[i] > 0 && a.remove.trusted);
            middle += x[i] / SEEDS;
        }
        for (int i = 0; i < SEEDS; i++) chi += pow((x[i] - middle) / err[i], 2);
        score = (cbrt(chi / df) - (1 - c)) / sqrt(c);
        CHECK_LE(score, 6.0);
        CHECK_LE(-6.0, score);
    }
    tear_down(&s);
}

/* A share of patterns without a round that is e^-eps or more: add's delta is 0, certainly. */
TEST(never)
{
    static setting s;
    fixture f = FIX[0];
    mcamp__factor x;
    mcamp__question q;
    mcamp_status st;
    set_up(&s, &f);
    CHECK_STATUS(mcamp__factor_init(&ctx, &s.gram, &x), MCAMP_OK);
    for (int i = -1; i <= 1; i += 2) {
        q = mcamp__ask(&x, f.sigma, -log(mcamp__pattern_none(&s.p)) + 1e-6 * i, MCAMP_ADD, 1);
        CHECK((mcamp__free_log_bound(&ctx, &q, &st) < -1e300) == (i > 0));
    }
    mcamp__factor_free(&ctx, &x);
    tear_down(&s);
}

TEST(threads_do_not_matter)
{
    static setting s;
    set_up(&s, &FIX[3]);
    for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
        mcamp_method m = dir == MCAMP_ADD ? MCAMP_METHOD_TILTED : MCAMP_METHOD_PLAIN;
        mcamp_tally a, b;
        ctx.parallel.run = NULL;
        a = draw(&s.gram, &s.f, (mcamp_direction)dir, m, 3, 0, 7);
        ctx.parallel.run = mt_backwards;
        ctx.parallel.user = NULL;
        ctx.parallel.width = 3;
        b = draw(&s.gram, &s.f, (mcamp_direction)dir, m, 3, 0, 7);
        CHECK(!memcmp(&a, &b, sizeof a));
    }
    tear_down(&s);
}

TEST(vector_sets_agree)
{
    static setting s;
    set_up(&s, &FIX[0]);
    for (int dir = MCAMP_REMOVE; dir <= MCAMP_ADD; dir++) {
        double first = 0;
        for (int v = MCAMP_VEC_SCALAR; v <= MCAMP_VEC_AVX512; v++) {
            mcamp_tally t;
            if (!mcamp__vecset_available((mcamp_vecset)v)) continue;
            ctx.vec = (mcamp_vecset)v;
            t = draw(&s.gram, &s.f, (mcamp_direction)dir, MCAMP_METHOD_TILTED, 0, 0, 2);
            if (v == MCAMP_VEC_SCALAR) first = mcamp_tally_mean(&t);
            CHECK_NEAR(mcamp_tally_mean(&t), first, 1e-10, 0);
        }
    }
    tear_down(&s);
}

TEST(bad_input)
{
    static setting s;
    mcamp__pattern other;
    mcamp_participation d, good;
    mcamp_gram g;
    set_up(&s, &FIX[0]);
    memset(&good, 0, sizeof good);
    good.law = MCAMP_BATCH_MINSEP; good.batches = 3; good.q = 0.5;
#define BAD(field, value, status, name) \
    d = good; d.field = (value); \
    CHECK_STATUS(mcamp_gram_pattern(&ctx, &s.mech, &d, &g), status); \
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, name))
    BAD(q, 0, MCAMP_E_ARG, "q");
    BAD(q, -0.1, MCAMP_E_ARG, "q");
    BAD(q, 1.0000001, MCAMP_E_ARG, "q");
    BAD(q, mcamp__nan(), MCAMP_E_NONFINITE, "q");
    BAD(q, mcamp__inf(), MCAMP_E_NONFINITE, "q");
    BAD(batches, 0, MCAMP_E_SIZE, "batches");
    BAD(batches, 11, MCAMP_E_SIZE, "batches");
    BAD(batches, 2, MCAMP_E_ARG, "bands");
    BAD(law, MCAMP_BATCH_UNSET, MCAMP_E_REQUIRED, "law");
    BAD(law, MCAMP_BATCH_SHUFFLE, MCAMP_E_ARG, "law");
    BAD(law, MCAMP_BATCH_BINS, MCAMP_E_ARG, "q");
    BAD(start_canary, 1, MCAMP_E_CANARY, "participation");
    BAD(end_canary, 1, MCAMP_E_CANARY, "participation");
    good.most = 2;
    BAD(law, MCAMP_BATCH_MINSEP_WARM, MCAMP_E_ARG, "most");
    BAD(law, MCAMP_BATCH_BINS, MCAMP_E_ARG, "most");
#undef BAD
    CHECK_STATUS(mcamp_gram_pattern(&ctx, &s.mech, NULL, &g), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_gram_pattern(&ctx, &s.mech, &good, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_gram_pattern(&ctx, NULL, &good, &g), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gram_pattern(NULL, &s.mech, &good, &g), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_gram_limit(&ctx, &s.gram, 100, 9), MCAMP_E_ARG);
    CHECK(!s.gram.limit && !s.gram.examples);
    CHECK_STATUS(mcamp__pattern_init(&ctx, &s.gram, s.gram.max_norm / 1001, &other), MCAMP_E_ARG);
    tear_down(&s);
    /* a limit that never acts is none; BINS is the Gram matrix that it always was */
    set_up(&s, &FIX[0]);
    good.most = 4; good.q = FIX[0].q;
    CHECK_STATUS(mcamp_gram_pattern(&ctx, &s.mech, &good, &g), MCAMP_OK);
    CHECK(g.most == 0 && g.digest == s.gram.digest);
    mcamp_gram_free(&ctx, &g);
    memset(&good, 0, sizeof good);
    good.law = MCAMP_BATCH_BINS; good.batches = 3;
    CHECK_STATUS(mcamp_gram_pattern(&ctx, &s.mech, &good, &g), MCAMP_OK);
    CHECK(g.law == MCAMP_BATCH_UNSET && g.digest == mcamp__gram_digest(&s.mech, 3));
    mcamp_gram_free(&ctx, &g);
    tear_down(&s);
}

TEST(samplers)
{
    static setting s;
    mcamp_sampler_desc d;
    mcamp_sampler p;
    set_up(&s, &FIX[1]);
    memset(&d, 0, sizeof d);
    d.sigma = d.eps = 1;
    d.direction = MCAMP_REMOVE; d.method = MCAMP_METHOD_TILTED;
    d.order = 41;
    CHECK_STATUS(mcamp_sampler_init(&ctx, &s.gram, &d, &p), MCAMP_E_ARG);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "order"));
    d.order = 0;
    d.direction = MCAMP_ADD; d.method = MCAMP_METHOD_MODE;
    CHECK_STATUS(mcamp_sampler_init(&ctx, &s.gram, &d, &p), MCAMP_E_ARG);
    CHECK(!strcmp(mcamp_last_error(&ctx).argument, "method"));
    tear_down(&s);
}

static mcamp_status decide(mcamp_ctx *c, void *user)
{
    const setting *s = (const setting *)user;
    mcamp_participation part;
    mcamp_gram g;
    mcamp_guarantee out;
    mcamp_claim claim;
    mcamp_status st;
    memset(&part, 0, sizeof part);
    memset(&claim, 0, sizeof claim);
    part.law = s->f.law; part.batches = s->f.b; part.q = s->f.q; part.most = s->f.limit;
    st = mcamp_gram_pattern(c, &s->mech, &part, &g);
    if (st < 0) return st;
    claim.sigma = s->f.sigma; claim.eps = 0.1;
    claim.delta = 1e-2; claim.beta = 1e-6;
    claim.max_samples = 1;
    claim.direction = s->p.order ? MCAMP_ADD : MCAMP_REMOVE;
    st = mcamp_verify(c, &g, &claim, &out);
    mcamp_gram_free(c, &g);
    return st;
}

/* Every law, decided in each direction. */
TEST(allocation_failures)
{
    static setting s;
    size_t total = 0;
    for (size_t i = 0; i < 8; i++) {
        if (i == 1 || i == 4 || i == 6) continue;
        set_up(&s, &FIX[i]);
        for (s.p.order = 0; s.p.order < 2; s.p.order++) {
            size_t n = mt_all_faults("a claim", decide, &s);
            CHECK(n > 2);
            total += n;
        }
        tear_down(&s);
    }
    CHECK(total > 60);
}

/* What is no number is poison, whatever else would have been done with the sample. */
TEST(poison)
{
    static setting s;
    mcamp__factor f;
    mcamp__sampler p;
    mcamp__workers w;
    mcamp_tally t;
    set_up(&s, &FIX[0]);
    CHECK_STATUS(mcamp__factor_init(&ctx, &s.gram, &f), MCAMP_OK);
    CHECK_STATUS(mcamp__sampler_build(&ctx, &f, 1, 0.5, MCAMP_REMOVE, MCAMP_METHOD_TILTED, 2, 0.9,
                                      mcamp__inf(), &p), MCAMP_OK);
    CHECK(mcamp__finite(p.pattern.cap));
    p.pattern.off[0] = mcamp__nan();
    CHECK_STATUS(mcamp__workers_init(&ctx, &p, &w), MCAMP_OK);
    mcamp__tally_init(&p, &t);
    CHECK_STATUS(mcamp__run_blocks(&ctx, &p, &w, 1, 1, 0, 1, &t), MCAMP_OK);
    CHECK(t.count == MCAMP_BLOCK && t.poisoned == t.count);
    mcamp__workers_free(&ctx, &w);
    mcamp__sampler_free(&ctx, &p);
    mcamp__factor_free(&ctx, &f);
    tear_down(&s);
}

/* Potentials that doubles cannot add up as they stand: nothing is NaN, nothing is lost. */
TEST(extremes)
{
    fixture f = { MCAMP_BATCH_MINSEP, 12, 1, 1, 1, 0, 0, 0.01, 100 };
    static setting s;
    mcamp_tally t;
    set_up(&s, &f);                     /* rho = e^{60000 +- 350} with certainty */
    t = draw(&s.gram, &f, MCAMP_REMOVE, MCAMP_METHOD_PLAIN, 0, 0, 1);
    CHECK_NEAR(mcamp_tally_mean(&t), 1, 1e-12, 0);
    t = draw(&s.gram, &f, MCAMP_ADD, MCAMP_METHOD_PLAIN, 0, 0, 1);
    CHECK_NEAR(mcamp_tally_mean(&t), 1, 1e-12, 0);
    t = draw(&s.gram, &f, MCAMP_REMOVE, MCAMP_METHOD_TILTED, 0, 0, 1);
    CHECK(t.order == 1);                /* other ranges are beyond all numbers */
    t = draw(&s.gram, &f, MCAMP_REMOVE, MCAMP_METHOD_TILTED, 3, 0, 1);
    CHECK(!(t.log_range <= DBL_MAX) && !(mcamp_tally_upper(&t, 1e-3) < 1));
    tear_down(&s);
    f.q = 1e-12;                        /* (1 - q) is 1 but for its last digits */
    set_up(&s, &f);
    CHECK_NEAR(s.p.share[3], 1e-12, 1e-10, 0);
    t = draw(&s.gram, &f, MCAMP_REMOVE, MCAMP_METHOD_PLAIN, 0, 0, 1);
    CHECK(!(mcamp_tally_mean(&t) > 0));
    tear_down(&s);
    f.q = 1e-200;                       /* the mean of the modes has no norm any more */
    set_up(&s, &f);
    CHECK(!(s.p.tau > 0));
    t = draw(&s.gram, &f, MCAMP_ADD, MCAMP_METHOD_PLAIN, 0, 0, 1);
    CHECK(!(mcamp_tally_mean(&t) > 0) && mcamp_tally_upper(&t, 1e-3) < 1);
    tear_down(&s);
}

/* ---- proofs, words, sessions and batches ------------------------------------------------ */

static mcamp_claim claim_of(const fixture *f, double delta)
{
    mcamp_claim c;
    memset(&c, 0, sizeof c);
    c.sigma = f->sigma; c.eps = f->eps; c.delta = c.beta = delta;
    c.max_samples = 1 << 17;
    return c;
}

static int keep_text(void *user, const char *text, size_t n)
{
    char *out = (char *)user;
    size_t at = strlen(out);
    for (size_t i = 0; i < n && at + i + 1 < 65536; i++) out[at + i] = text[i];
    return 0;
}

/* True claims are accepted and false ones are not, in each direction; what a proof says is
 * what was asked; the record of it is read back and repeated.                          */
TEST(claims)
{
    static setting s;
    for (size_t i = 0; i < NFIX; i += 3) {
        fixture f = FIX[i];
        static char text[65536];
        mcamp_writer w;
        mcamp_guarantee g, r;
        mcamp_claim c;
        double most = 0;
        set_up(&s, &f);
        for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
            mcamp_tally t = draw(&s.gram, &f, (mcamp_direction)d, MCAMP_METHOD_TILTED,
                                 d == MCAMP_REMOVE ? 2 : 0, 0, 64);
            double v = mcamp_tally_mean(&t);
            most = v > most ? v : most;
            c = claim_of(&f, 0.8 * v);
            c.direction = (mcamp_direction)d;
            CHECK(mcamp_verify(&ctx, &s.gram, &c, &g) > 0 && !g.accepted);
            c = claim_of(&f, 1.15 * v);
            c.direction = (mcamp_direction)d;
            CHECK_STATUS(mcamp_verify(&ctx, &s.gram, &c, &g), MCAMP_OK);
            CHECK(g.accepted && (d == MCAMP_REMOVE ? g.remove : g.add).accepted);
        }
        c = claim_of(&f, 1.15 * most);
        CHECK_STATUS(mcamp_verify(&ctx, &s.gram, &c, &g), MCAMP_OK);
        CHECK(g.accepted && g.kind == MCAMP_KIND_VERIFIED && g.law == f.law);
        CHECK_NEAR(g.q, f.q, 0, 0);
        CHECK(g.batches == f.b && g.rounds == f.n && g.gram_digest == s.gram.digest);
        CHECK(g.epochs == (f.limit ? f.limit : s.p.epochs));
        CHECK(g.adjacency == MCAMP_ADJACENT_ADD_REMOVE);
        CHECK(!g.remove.samples || g.remove.log_wealth >= log(2 / c.beta));
        CHECK(!g.add.samples || g.add.log_wealth >= log(2 / c.beta));
        memset(text, 0, sizeof text);
        w.write = keep_text; w.user = text;
        CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_TEXT, &w), MCAMP_OK);
        CHECK(strstr(text, f.law == MCAMP_BATCH_POISSON ? "cyclic Poisson" : "b-min-sep Poisson"));
        CHECK(!strstr(text, "not amplified") && !strstr(text, "balls in bins"));
        CHECK((strstr(text, "as if there had been") != NULL) == (f.law == MCAMP_BATCH_MINSEP_WARM));
        memset(text, 0, sizeof text);
        CHECK_STATUS(mcamp_record_write(&g, &s.mech, &w), MCAMP_OK);
        {
            mcamp_mech m;
            CHECK_STATUS(mcamp_record_read(&ctx, text, strlen(text), &m, &r), MCAMP_OK);
            CHECK(r.law == g.law && r.epochs == g.epochs && r.gram_digest == g.gram_digest);
            CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &m, &r, &g), MCAMP_OK);
            CHECK(g.accepted && g.remove.samples == r.remove.samples);
            r.q *= 0.5;                 /* another law */
            CHECK(mcamp_guarantee_repeat(&ctx, &m, &r, &g) < 0 || g.gram_digest != r.gram_digest);
            mcamp_mech_free(&ctx, &m);
        }
        tear_down(&s);
    }
}

/* What the batch section draws has the law of the patterns. */
TEST(batches_have_the_law)
{
    static const size_t which[] = { 0, 3, 5, 4, 9 };
    static setting s;
    static size_t count[MOST];
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++) {
        const fixture *f = &FIX[which[i]];
        size_t examples = mt_scale(40000), *out = (size_t *)malloc(examples * sizeof *out);
        unsigned *mask = (unsigned *)calloc(examples, sizeof *mask);
        mcamp_batch_desc d;
        mcamp_batch b;
        set_up(&s, f);
        memset(&d, 0, sizeof d);
        d.law = f->law; d.examples = examples; d.rounds = f->n; d.batches = f->b; d.q = f->q;
        mcamp_key_insecure_test(3 + i, &d.key);
        CHECK_STATUS(mcamp_batch_init(&ctx, &d, &b), MCAMP_OK);
        for (int pass = 0; pass < 2; pass++)    /* going back changes nothing */
            for (size_t t = 0; t < f->n; t++) {
                mcamp_batch_size size;
                CHECK_STATUS(mcamp_batch_round(&ctx, &b, t, out, examples, &size), MCAMP_OK);
                for (size_t k = 0; k < size.kept; k++) mask[out[k]] ^= (pass ? 1u << 16 : 1u) << t;
            }
        memset(count, 0, sizeof count);
        for (size_t e = 0; e < examples; e++) {
            size_t k = 0;
            CHECK(mask[e] >> 16 == (mask[e] & 0xffff));
            while (k < s.count && s.mask[k] != (mask[e] & 0xffff)) k++;
            CHECK(k < s.count);
            if (k < s.count) count[k]++;
        }
        CHECK_LE(chi_score(count, s.prob, s.count, examples), 6.0);
        mcamp_batch_free(&ctx, &b);
        tear_down(&s);
        free(out);
        free(mask);
    }
}

/* ---- sessions ------------------------------------------------------------------------- */

#include "run_common.h"

/* A round in which nobody's gradient is added; who was drawn gets its bit. */
static void idle_round(run *r, uint64_t t, size_t *who, unsigned *mask)
{
    mcamp_batch_size size = { 0, 0 };
    double out[RUN_DIM];
    uint64_t stranger = 0;
    CHECK_STATUS(mcamp_session_begin(&ctx, &r->session, t, who, r->bd.examples, &size), MCAMP_OK);
    for (size_t k = 0; k < size.kept; k++) {
        stranger += who[k] == stranger;         /* who comes in rising order */
        mask[who[k]] ^= 1u << t;
        CHECK_STATUS(mcamp_session_skip(&ctx, &r->session, who[k]), MCAMP_OK);
    }
    CHECK_STATUS(mcamp_session_skip(&ctx, &r->session, stranger), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_session_end(&ctx, &r->session, out), MCAMP_OK);
}

static mcamp_guarantee proved(const setting *s)
{
    mcamp_guarantee g;
    mcamp_claim c;
    memset(&c, 0, sizeof c);
    c.sigma = 2 * s->f.sigma; c.eps = 3; c.delta = c.beta = 0.05;
    c.max_samples = 1 << 17;
    CHECK_STATUS(mcamp_verify(&ctx, &s->gram, &c, &g), MCAMP_OK);
    CHECK(g.accepted && g.kind == MCAMP_KIND_VERIFIED && g.law == s->f.law);
    return g;
}

/* Every other scheme, also one that calls itself by the proof's name, is refused. */
static void refuse_others(const setting *s, const mcamp_guarantee *proof)
{
    static const mcamp_batch_law law[3] = { MCAMP_BATCH_MINSEP, MCAMP_BATCH_MINSEP_WARM,
                                            MCAMP_BATCH_POISSON };
    run r;
#define REFUSE(change, name) \
    do { mcamp_guarantee g = *proof; plan_run(&r, &g, 50); change; \
         CHECK_STATUS(open_run(&r, &g, &s->mech), MCAMP_E_MISMATCH); \
         CHECK(!strcmp(mcamp_last_error(&ctx).argument, name)); \
         CHECK(!mcamp_session_guarantee(&r.session)); close_run(&r); } while (0)
    for (int i = 0; i < 3; i++) {
        if (law[i] == proof->law) continue;
        REFUSE(r.bd.law = law[i], "law");
        REFUSE(g.law = r.bd.law = law[i], "gram");
    }
    REFUSE((r.bd.law = MCAMP_BATCH_BINS, r.bd.q = 0), "law");
    REFUSE((r.bd.law = MCAMP_BATCH_SHUFFLE, r.bd.q = 0), "law");
    REFUSE((g.law = r.bd.law = MCAMP_BATCH_BINS, g.q = r.bd.q = 0), "gram");
    REFUSE(r.bd.batches++, "batches");
    REFUSE((g.batches++, r.bd.batches++), "gram");
    REFUSE(r.bd.rounds++, "rounds");
    REFUSE(r.bd.q *= 1 - 1e-15, "q");
    REFUSE(g.q = r.bd.q *= 1 - 1e-15, "gram");
    REFUSE(g.gram_digest = 0, "law");
    REFUSE(g.q = 0, "law");
    REFUSE(g.q = 1.5, "law");
    REFUSE(r.bd.limit = 1, "limit");            /* cuts that cost all of delta */
    REFUSE(g.direction = MCAMP_ADD, "direction");
#undef REFUSE
}

/* A session runs the law of its proof and no other: the members of all rounds, of a run that is
 * saved and goes on elsewhere, have the law of the patterns.                             */
TEST(sessions_run_the_pattern_that_was_proved)
{
    static const size_t which[] = { 0, 3, 5, 6 };
    static setting s;
    static size_t count[MOST];
    static unsigned char blob[4096];
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++) {
        const fixture *f = &FIX[which[i]];
        size_t examples = mt_scale(40000), size = 0;
        size_t *who = (size_t *)malloc(examples * sizeof *who);
        unsigned *mask = (unsigned *)calloc(examples, sizeof *mask);
        mcamp_guarantee g;
        run r;
        set_up(&s, f);
        g = proved(&s);
        refuse_others(&s, &g);
        plan_run(&r, &g, examples);
        CHECK_STATUS(open_run(&r, &g, &s.mech), MCAMP_OK);
        CHECK(r.session.guarantee.law == f->law &&
              r.session.guarantee.adjacency == MCAMP_ADJACENT_ADD_REMOVE);
        CHECK_NEAR(mcamp_session_delta(&r.session), 0.05, 1e-9, 0);
        for (uint64_t t = 0; t < f->n / 2; t++) idle_round(&r, t, who, mask);
        CHECK_STATUS(mcamp_session_save(&ctx, &r.session, blob, sizeof blob, &size), MCAMP_OK);
        close_run(&r);
        plan_run(&r, &g, examples);
        CHECK_STATUS(open_run(&r, &g, &s.mech), MCAMP_OK);
        CHECK_STATUS(mcamp_session_load(&ctx, &r.session, blob, size), MCAMP_OK);
        for (uint64_t t = f->n / 2; t < f->n; t++) idle_round(&r, t, who, mask);
        memset(count, 0, sizeof count);
        for (size_t e = 0; e < examples; e++) {
            size_t k = 0;
            while (k < s.count && s.mask[k] != mask[e]) k++;
            CHECK(k < s.count);
            if (k < s.count) count[k]++;
        }
        CHECK_LE(chi_score(count, s.prob, s.count, examples), 6.0);
        close_run(&r);
        tear_down(&s);
        free(who);
        free(mask);
    }
    {   /* a proof for at most so many participations, which batches do not count */
        mcamp_guarantee g;
        run r;
        set_up(&s, &FIX[2]);
        g = proved(&s);
        plan_run(&r, &g, 50);
        CHECK_STATUS(open_run(&r, &g, &s.mech), MCAMP_E_MISMATCH);
        CHECK(!strcmp(mcamp_last_error(&ctx).argument, "epochs"));
        close_run(&r);
        tear_down(&s);
    }
}

TEST_MAIN("participation", T(components_have_densities), T(components_of_add),
          T(add_where_uses_are_few), T(few_epochs_are_used), T(few_rounds_are_used),
          T(no_pattern_has_more_rounds), T(sums_are_below_their_bound), T(sums_at_their_end),
    T(bound_of_add), T(nothing_to_be_seen), T(shares), T(sums_over_patterns), T(draws),
          T(what_is_split_off_comes_off_the_claim), T(worst_pattern), T(pairs),
          T(what_cutting_takes), T(delta_of_small_cases), T(cut), T(bins), T(poisson),
          T(spread_of_answers), T(never), T(threads_do_not_matter), T(vector_sets_agree),
          T(bad_input), T(samplers), T(allocation_failures), T(poison), T(extremes), T(claims),
          T(batches_have_the_law), T(sessions_run_the_pattern_that_was_proved))
