/* How often the verifier accepts: at the exact null, where the claimed delta is the
 * truth; where the truth is 3% beyond the claim; and with a margin.  The truth comes
 * from tests/reference.h, which shares nothing with the header.
 *
 *     campaign STATE PART PARTS     runs the jobs PART, PART + PARTS, .. that STATE lacks
 *     campaign STATE table          prints the table of what STATE holds
 *     campaign STATE count          prints the number of jobs
 *
 * A job is JOB trials of a cell, each a decision with a seed of its own.  STATE has a
 * line for each finished job.                                                       */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "../reference.h"

enum {
    JOB = 5000, JOBS = 20,
    SAMPLES = 2048, RARE_SAMPLES = 16384, WHOLE_SAMPLES = 4096,
    OWN_STREAM = 65536
};

static mcamp_ctx ctx;

/* ---- what is decided about ---------------------------------------------------- */

typedef struct shape {
    const char *name;
    size_t n, b, bands;
    double sigma, eps;
    double coef[8];
} shape;

static const shape shapes[] = {
    { "C = I, b = 3", 6, 3, 1, 2.0, 0.5, { 1 } },
    { "two bands, b = 3", 8, 3, 2, 2.0, 0.5, { 1, 0.5 } },
    { "all bands, b = 2", 7, 2, 7, 4.0, 0.5, { 1, 0.5, 0.375, 0.3125, 0.27, 0.25, 0.22 } },
    /* values are 0 or nearly 1, so that the bound on false acceptance is nearly reached */
    { "rare values, b = 2", 2, 2, 1, 0.1, 80.3, { 1 } },
    { "rare values, b = 2", 2, 2, 1, 0.1, 69.5, { 1 } },
};
enum { IDENTITY, FEW, MANY, RARE, RARE_ADD, NSHAPES };

typedef enum law { PLAIN, TILTED, COMMON, STICKY, PRODUCT, WHOLE, LADDER } law;
static const char *const law_name[] = { "plain", "tilted", "common", "common, sticky", "product",
                                        "verify", "ladder" };
static const char *const direction_name[] = { "both", "remove", "add" };

typedef struct cell {
    int shape;
    law law;
    mcamp_direction direction;
    double beta;
    double factor;      /* claimed delta, as a multiple of the truth */
} cell;

static cell cells[200];
static int ncells;

static void add_cells(int shape, law l, mcamp_direction d)
{
    static const double beta[4] = { 0.5, 0.1, 0.01, 0.001 };
    for (int i = 0; i < 4 + 2 + 1; i++) {
        cell *c = &cells[ncells++];
        c->shape = shape; c->law = l; c->direction = d;
        c->beta = i < 4 ? beta[i] : i < 6 ? beta[i - 4] : 0.01;
        c->factor = i < 4 ? 1 : i < 6 ? 1 / 1.03 : shape >= RARE ? 8 : 1.25;
        if (l == LADDER && i == 3) return;      /* it chooses its sigma itself */
    }
}

static void list_cells(void)
{
    add_cells(RARE, PLAIN, MCAMP_REMOVE);
    add_cells(RARE_ADD, PLAIN, MCAMP_ADD);
    add_cells(IDENTITY, TILTED, MCAMP_REMOVE);
    add_cells(IDENTITY, PRODUCT, MCAMP_ADD);
    add_cells(IDENTITY, COMMON, MCAMP_ADD);
    add_cells(FEW, COMMON, MCAMP_REMOVE);
    add_cells(FEW, STICKY, MCAMP_REMOVE);
    add_cells(FEW, COMMON, MCAMP_ADD);
    add_cells(MANY, COMMON, MCAMP_REMOVE);
    add_cells(MANY, STICKY, MCAMP_REMOVE);
    add_cells(MANY, COMMON, MCAMP_ADD);
    add_cells(IDENTITY, WHOLE, MCAMP_BOTH);
    add_cells(FEW, WHOLE, MCAMP_BOTH);
    add_cells(MANY, WHOLE, MCAMP_BOTH);
    add_cells(FEW, LADDER, MCAMP_BOTH);
}

/* ---- one decision --------------------------------------------------------------- */

typedef struct setting {
    mcamp_gram gram;
    mcamp__factor factor;
    double C[64];
    double delta[3];    /* by direction */
} setting;

static setting settings[NSHAPES];

static double truth(const setting *s, const shape *h, double sigma, mcamp_direction d)
{
    static ref_matrix a;
    double remove = 0, add = 0, rel = h->sigma < 1 ? 1e-7 : 1e-10;
    ref_modes(s->C, h->n, h->b, sigma, a);
    if (d != MCAMP_ADD) remove = ref_quadrature(a, h->b, h->eps, 0, rel);
    if (d != MCAMP_REMOVE) add = ref_quadrature(a, h->b, h->eps, 1, rel);
    if (remove < 0 || add < 0) { fprintf(stderr, "quadrature failed\n"); exit(2); }
    return remove > add ? remove : add;
}

static void prepare(int which)
{
    const shape *h = &shapes[which];
    setting *s = &settings[which];
    mcamp_mech m;
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.kind = MCAMP_MECH_TOEPLITZ;
    d.n = h->n; d.coef = h->coef; d.count = h->bands;
    for (size_t i = 0; i < h->n; i++)
        for (size_t j = 0; j <= i; j++)
            s->C[i * h->n + j] = i - j < h->bands ? h->coef[i - j] : 0;
    if (mcamp_mech_init(&ctx, &d, &m) < 0 || mcamp_gram_init(&ctx, &m, h->b, &s->gram) < 0 ||
        mcamp__factor_init(&ctx, &s->gram, &s->factor) < 0) exit(2);
    mcamp_mech_free(&ctx, &m);
    for (int k = 0; k < 3; k++) {
        int apart = which >= RARE && k != (which == RARE ? MCAMP_REMOVE : MCAMP_ADD);
        s->delta[k] = apart ? 1 : truth(s, h, h->sigma, (mcamp_direction)k);
    }
}

/* The sampler of a cell's law, made once. */
static const mcamp__sampler *sampler_of(const cell *c, const mcamp_claim *claim,
                                        mcamp__workers **w)
{
    static const cell *last;
    static mcamp__sampler p;
    static mcamp__workers workers;
    static const mcamp_method method[] = {
        MCAMP_METHOD_PLAIN, MCAMP_METHOD_TILTED, MCAMP_METHOD_COMMON, MCAMP_METHOD_COMMON,
        MCAMP_METHOD_PRODUCT
    };
    *w = &workers;
    if (last == c) return &p;
    if (last) {
        mcamp__workers_free(&ctx, &workers);
        mcamp__sampler_free(&ctx, &p);
    }
    last = c;
    if (mcamp__sampler_build(&ctx, &settings[c->shape].factor, claim->sigma, claim->eps,
                             c->direction, method[c->law], 0, c->law == STICKY ? 0.5 : 0,
                             mcamp__inf(), &p) < 0 ||
        mcamp__workers_init(&ctx, &p, &workers) < 0) exit(2);
    return &p;
}

/* Decides by one law, as mcamp__proof_law_init and mcamp__verify_run do if it is theirs. */
static int decide_law(const cell *c, const mcamp_claim *claim)
{
    mcamp__workers *w;
    const mcamp__sampler *p = sampler_of(c, claim, &w);
    const double m = mcamp__claim_mean(p, claim->delta);
    mcamp_proof out;
    static mcamp_tally t;
    memset(&out, 0, sizeof out);
    mcamp__tally_init(p, &t);
    if (mcamp__run_blocks(&ctx, p, w, claim->seed, OWN_STREAM, 0, 1, &t) < 0) exit(2);
    out.stake = mcamp__claim_stake(&t, m);
    if (mcamp__verify_run(&ctx, p, w, claim, 0, m, claim->beta, &out, &t) < 0) exit(2);
    return out.accepted;
}

/* 1 if the claim was accepted; of the ladder, asked for a sigma with the delta that the
 * shape's own sigma has: if what it returns is smaller, and so false.                */
static int decide(const cell *c, uint64_t seed)
{
    const setting *s = &settings[c->shape];
    mcamp_claim claim;
    mcamp_guarantee out;
    mcamp_status st;
    memset(&claim, 0, sizeof claim);
    claim.sigma = shapes[c->shape].sigma;
    claim.eps = shapes[c->shape].eps;
    claim.delta = s->delta[c->direction] * c->factor;
    claim.beta = c->beta;
    claim.seed = seed;
    claim.max_samples = c->law == PLAIN ? RARE_SAMPLES : c->law < WHOLE ? SAMPLES
                      : WHOLE_SAMPLES;
    claim.direction = c->direction;
    if (c->law < WHOLE) return decide_law(c, &claim);
    st = c->law == LADDER ? mcamp_calibrate_certified(&ctx, &s->gram, &claim, &out)
                          : mcamp_verify_sampled(&ctx, &s->gram, &claim, &out);
    if (st < 0) { fprintf(stderr, "status %d\n", (int)st); exit(2); }
    return out.accepted && (c->law != LADDER || out.sigma < shapes[c->shape].sigma * (1 - 1e-9));
}

/* ---- jobs and what is kept of them ------------------------------------------------- */

typedef struct sums { double trials, accepted; int jobs; char done[JOBS]; } sums;
static sums total[200];

static void load(const char *state)
{
    FILE *f = fopen(state, "r");
    int i, k;
    double n, hits;
    while (f && fscanf(f, "%d %d %lf %lf\n", &i, &k, &n, &hits) == 4) {
        if (i < 0 || i >= ncells || k < 0 || k >= JOBS || total[i].done[k]) continue;
        total[i].done[k] = 1;
        total[i].jobs++;
        total[i].trials += n;
        total[i].accepted += hits;
    }
    if (f) fclose(f);
}

/* Every cell's first job, then the null cells of the single laws, then the rest; the
 * ladder last.                                                                       */
static int phase(const cell *c, int k)
{
    if (c->law == LADDER) return k || c->beta < 0.05 ? 3 : 0;
    if (!k) return 0;
    return c->law < WHOLE && c->factor >= 1 && c->factor <= 1 ? 1 : 2;
}

static void run_job(const char *state, int i, int k)
{
    long hits = 0;
    FILE *f;
    for (long t = 0; t < JOB; t++)
        hits += decide(&cells[i], ((uint64_t)i * JOBS + (uint64_t)k) * JOB + (uint64_t)t);
    f = fopen(state, "a");
    if (!f || fprintf(f, "%d %d %d %ld\n", i, k, (int)JOB, hits) < 0 || fclose(f)) exit(2);
}

static void run_jobs(const char *state, int part, int parts)
{
    int number = 0;
    for (int p = 0; p < 4; p++)
        for (int k = 0; k < JOBS; k++)
            for (int i = 0; i < ncells; i++)
                if (phase(&cells[i], k) == p && number++ % parts == part && !total[i].done[k])
                    run_job(state, i, k);
}

/* log P(Bin(n, p) >= k): terms from k on, which fall where it matters. */
static double log_upper_tail(double n, double k, double p)
{
    double l, t = 1, s = 1;
    if (k <= n * p) return 0;
    l = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p);
    for (double i = k; i < n && t > 1e-18 * s; i++) {
        t *= (n - i) / (i + 1) * (p / (1 - p));
        s += t;
    }
    return l + log(s);
}

static int print_table(void)
{
    int missing = 0, wrong = 0;
    printf("# How often the verifier accepts\n\n"
           "Written by `make campaign`.  Each trial is a decision with fresh samples about a\n"
           "claim at epsilon 0.5 (of rare values: 80.3 and 69.5); the true delta comes from\n"
           "quadrature (tests/reference.h).  The last column says what an exact binomial test at\n"
           "1e-9 checks; a ladder counts as accepted if the sigma it returns is too small.\n"
           "Single laws decide with at most %d samples (plain: %d), whole claims and ladders with\n"
           "%d a direction.\n\n"
           "| shape | law | direction | claim / truth | beta | trials | accepted | rate | wanted "
           "|\n|---|---|---|---|---|---|---|---|---|\n", (int)SAMPLES,
           (int)RARE_SAMPLES, (int)WHOLE_SAMPLES);
    for (int i = 0; i < ncells; i++) {
        const cell *c = &cells[i];
        const sums *s = &total[i];
        int power = c->factor > 1;
        double lp = power ? log_upper_tail(s->trials, s->trials - s->accepted, 0.5)
                          : log_upper_tail(s->trials, s->accepted, c->beta);
        int bad = s->trials > 0 && lp < log(1e-9);
        missing += s->trials < (double)JOB * JOBS;
        wrong += bad;
        printf("| %s | %s | %s | %.3f | %g | %.0f | %.0f | %.5f | %s%s |\n",
               shapes[c->shape].name, law_name[c->law], direction_name[c->direction],
               c->factor, c->beta, s->trials, s->accepted,
               s->trials > 0 ? s->accepted / s->trials : 0,
               power ? ">= 1/2" : "<= beta", bad ? ", FAILED" : "");
    }
    printf("\n%d cells; %d of them fail their exact binomial test at 1e-9; %d have fewer than "
           "%d trials.\n", ncells, wrong, missing, (int)JOB * JOBS);
    return wrong > 0;
}

int main(int argc, char **argv)
{
    list_cells();
    if (argc == 3 && !strcmp(argv[2], "count")) return printf("%d\n", JOBS * ncells) < 0;
    if (argc < 3) return 2;
    load(argv[1]);
    if (argc == 3) return print_table();
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 2;
    for (int i = 0; i < NSHAPES; i++) prepare(i);
    run_jobs(argv[1], atoi(argv[2]), atoi(argv[3]));
    return 0;
}
