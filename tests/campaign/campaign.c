/* How often the verifier accepts: at the exact null, where the claimed delta is the
 * truth; where the truth is 3% beyond the claim; and with a margin.  The truth comes
 * from tests/reference.h, which shares nothing with the header.
 *
 *     campaign STATE PART PARTS [VERSION [again]]
 *                                   runs the jobs PART, PART + PARTS, .. that STATE lacks;
 *                                   again: those that were run on another version, too
 *     campaign STATE table          prints the table of what STATE holds
 *     campaign STATE count          prints the number of jobs
 *
 * A job is JOB trials of a question, each a decision with a seed of its own, at every beta
 * of the question.  STATE has a line for each finished job: question, job, trials, accepted
 * at each beta, version; the last one of a job counts.  What a job counts is a function of
 * the header, so a version that decides alike finds the same again.                    */
#define MCAMP_STATIC
#include "../../mcamp.h"
/* Blocks are small, so that a decision costs little and looks at its samples often. */
#undef MCAMP_BLOCK
#define MCAMP_BLOCK 64
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "../reference.h"

enum {
    JOB = 5000, JOBS = 20, BETAS = 4, CERTAIN_JOB = 5, VERSIONS = 16, VERSION_TEXT = 16,
    SAMPLES = 512, RARE_SAMPLES = 8192, WHOLE_SAMPLES = 512,
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

typedef enum law { PLAIN, TILTED, COMMON, CLUSTERS, WHOLE, LADDER, CERTAIN } law;
static const char *const law_name[] = { "plain", "tilted", "common", "tilted, order 2",
                                        "verify_sampled", "ladder", "verify" };
static const char *const direction_name[] = { "both", "remove", "add" };

/* One law (or whole claim) asked about one multiple of the truth. */
typedef struct question {
    int shape;
    law law;
    mcamp_direction direction;
    double factor;      /* claimed delta over the truth */
    int first, step;    /* of the betas */
} question;

static const double betas[BETAS] = { 0.5, 0.1, 0.01, 0.001 };
static question questions[64];
static int count;

static void add_question(int shape, law l, mcamp_direction d, double factor, int first, int step)
{
    question *q = &questions[count++];
    q->shape = shape; q->law = l; q->direction = d;
    q->factor = factor;
    q->first = first; q->step = step;
}

/* The null, 3% beyond it, and a margin with which a claim should be accepted. */
static void add_questions(int shape, law l, mcamp_direction d)
{
    add_question(shape, l, d, 1, 0, l < WHOLE ? 1 : 2);
    add_question(shape, l, d, 1 / 1.03, 0, l < WHOLE ? 1 : BETAS);
    if (l != LADDER)
        add_question(shape, l, d, shape >= RARE ? 8 : l == WHOLE && shape != MANY ? 1.5 : 1.25,
                     2, BETAS);
}

static void list_questions(void)
{
    add_questions(RARE, PLAIN, MCAMP_REMOVE);
    add_questions(RARE_ADD, PLAIN, MCAMP_ADD);
    add_questions(IDENTITY, TILTED, MCAMP_REMOVE);
    add_questions(IDENTITY, COMMON, MCAMP_ADD);
    add_questions(FEW, COMMON, MCAMP_REMOVE);
    add_questions(FEW, CLUSTERS, MCAMP_REMOVE);
    add_questions(FEW, COMMON, MCAMP_ADD);
    add_questions(MANY, COMMON, MCAMP_REMOVE);
    add_questions(MANY, COMMON, MCAMP_ADD);
    add_questions(IDENTITY, WHOLE, MCAMP_BOTH);
    add_questions(FEW, WHOLE, MCAMP_BOTH);
    add_questions(MANY, WHOLE, MCAMP_BOTH);
    add_questions(FEW, LADDER, MCAMP_BOTH);
    /* accepted without samples: every decision is the same one */
    add_question(IDENTITY, CERTAIN, MCAMP_BOTH, 1.03, 0, 2);
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

/* The sampler of a question's law, made once. */
static const mcamp__sampler *sampler_of(const question *q, const mcamp_claim *claim,
                                        mcamp__workers **w)
{
    static const question *last;
    static mcamp__sampler p;
    static mcamp__workers workers;
    static const mcamp_method method[] = {
        MCAMP_METHOD_PLAIN, MCAMP_METHOD_TILTED, MCAMP_METHOD_COMMON, MCAMP_METHOD_TILTED
    };
    *w = &workers;
    if (last == q) return &p;
    if (last) {
        mcamp__workers_free(&ctx, &workers);
        mcamp__sampler_free(&ctx, &p);
    }
    last = q;
    if (mcamp__sampler_build(&ctx, &settings[q->shape].factor, claim->sigma, claim->eps,
                             q->direction, method[q->law], q->law == CLUSTERS ? 2 : 0, 0,
                             mcamp__inf(), &p) < 0 ||
        mcamp__workers_init(&ctx, &p, &workers) < 0) exit(2);
    return &p;
}

/* Decides by one law, as mcamp__proof_law_init and mcamp__verify_run do if it is theirs. */
static int decide_law(const question *q, const mcamp_claim *claim)
{
    mcamp__workers *w;
    const mcamp__sampler *p = sampler_of(q, claim, &w);
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

/* A ladder whose rungs begin at the shape's own sigma, where the claim is at its null or
 * beyond, and go down by 1e-4 of it: 1 if any of them is accepted.  The rung before the
 * first needs no samples.                                                            */
static int decide_ladder(const setting *s, mcamp_claim *claim)
{
    const double sigma = claim->sigma;
    mcamp__solve solve;
    mcamp__found r;
    mcamp_guarantee best;
    mcamp_budget bud;
    double su = 2 * sigma, longest = sqrt(s->factor.trace_max);
    memset(&solve, 0, sizeof solve);
    memset(&r, 0, sizeof r);
    memset(&bud, 0, sizeof bud);
    mcamp__solve_start(&s->factor, &bud, 1, claim->eps, claim->delta, &solve);
    while (mcamp__gauss_logdelta(longest / su, claim->eps) > log(claim->delta)) su *= 2;
    r.x = log(1e-3 * sigma);
    r.err = 0.5 * (sigma - 1.08e-3 * sigma) - 1e-9 * sigma;
    if (mcamp__certify_ladder(&ctx, &solve, &r, su, claim, &s->gram, &best) < 0) exit(2);
    if (!best.accepted || best.rungs < 1) exit(2);
    return best.sigma < sigma * (1 + 1e-7);
}

/* 1 if the claim was accepted. */
static int decide(const question *q, double beta, uint64_t seed)
{
    const setting *s = &settings[q->shape];
    mcamp_claim claim;
    mcamp_guarantee out;
    memset(&claim, 0, sizeof claim);
    claim.sigma = shapes[q->shape].sigma;
    claim.eps = shapes[q->shape].eps;
    claim.delta = s->delta[q->direction] * q->factor;
    claim.beta = beta;
    claim.seed = seed;
    claim.max_samples = q->law == PLAIN ? RARE_SAMPLES : q->law < WHOLE ? SAMPLES
                      : WHOLE_SAMPLES;
    claim.direction = q->direction;
    if (q->law < WHOLE) return decide_law(q, &claim);
    if (q->law == LADDER) return decide_ladder(s, &claim);
    if ((q->law == CERTAIN ? mcamp_verify : mcamp_verify_sampled)(&ctx, &s->gram, &claim, &out) < 0)
        exit(2);
    if (q->law == CERTAIN && out.samples) exit(2);
    return out.accepted;
}

/* ---- jobs and what is kept of them ------------------------------------------------- */

typedef struct sums { double trials, accepted[BETAS]; } sums;
static sums job[64][JOBS];          /* trials 0: not run */
static int version_of[64][JOBS];
static char version[VERSIONS][VERSION_TEXT];
static int versions;

static int job_trials(const question *q) { return q->law == CERTAIN ? CERTAIN_JOB : JOB; }

static int version_index(const char *text)
{
    int v = 0;
    while (v < versions && strcmp(version[v], text)) v++;
    if (v == VERSIONS) exit(2);
    if (v == versions) strcpy(version[versions++], text);
    return v;
}

static void load(const char *state)
{
    FILE *f = fopen(state, "r");
    int i, k;
    char text[VERSION_TEXT];
    sums s;
    while (f && fscanf(f, "%d %d %lf %lf %lf %lf %lf %15s\n", &i, &k, &s.trials, &s.accepted[0],
                       &s.accepted[1], &s.accepted[2], &s.accepted[3], text) == 8) {
        if (i < 0 || i >= count || k < 0 || k >= JOBS) exit(2);
        job[i][k] = s;
        version_of[i][k] = version_index(text);
    }
    if (f && (!feof(f) || fclose(f))) exit(2);
}

static sums total(int i)
{
    sums s = { 0, { 0 } };
    for (int k = 0; k < JOBS; k++) {
        s.trials += job[i][k].trials;
        for (int j = 0; j < BETAS; j++) s.accepted[j] += job[i][k].accepted[j];
    }
    return s;
}

/* A single law looks at the same samples whatever beta is: what it refuses at one it
 * refuses at all that are smaller.                                                   */
static void run_job(const char *state, int i, int k, const char *text)
{
    const question *q = &questions[i];
    const int trials = job_trials(q);
    long hits[BETAS] = { 0 };
    FILE *f;
    for (long t = 0; t < trials; t++)
        for (int j = q->first; j < BETAS; j += q->step) {
            uint64_t seed = ((uint64_t)i * JOBS + (uint64_t)k) * JOB + (uint64_t)t;
            int yes = decide(q, betas[j], q->law < WHOLE ? seed : seed * BETAS + (uint64_t)j);
            hits[j] += yes;
            if (!yes && q->law < WHOLE) break;
        }
    f = fopen(state, "a");
    if (!f || fprintf(f, "%d %d %d %ld %ld %ld %ld %s\n", i, k, trials, hits[0], hits[1],
                      hits[2], hits[3], text) < 0 || fclose(f)) exit(2);
}

/* Single laws first. */
static void run_jobs(const char *state, int part, int parts, const char *text, int again)
{
    int number = 0;
    for (int whole = 0; whole < 2; whole++)
        for (int k = 0; k < JOBS; k++)
            for (int i = 0; i < count; i++)
                if ((questions[i].law >= WHOLE) == whole && number++ % parts == part &&
                    (!(job[i][k].trials > 0) ||
                     (again && strcmp(version[version_of[i][k]], text))))
                    run_job(state, i, k, text);
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

/* One row.  Of the claims about both directions only one direction's is false at the null,
 * and it is decided at half of beta.                                                  */
static int print_row(const question *q, const sums *s, int j)
{
    const int power = q->factor > 1;
    const double level = q->direction == MCAMP_BOTH ? 0.5 * betas[j] : betas[j];
    const double hits = s->accepted[j];
    const double lp = power ? log_upper_tail(s->trials, s->trials - hits, 0.5)
                            : log_upper_tail(s->trials, hits, level);
    const int certain = q->law == CERTAIN;
    const int bad = certain ? hits < s->trials : s->trials > 0 && lp < log(1e-9);
    printf("| %s | %s | %s | %.3f | %g | %.0f | %.0f | %.5f | %s%s |\n", shapes[q->shape].name,
           law_name[q->law], direction_name[q->direction], q->factor, betas[j], s->trials, hits,
           s->trials > 0 ? hits / s->trials : 0, certain ? "all" : power ? ">= 1/2"
           : q->direction == MCAMP_BOTH ? "<= beta/2" : "<= beta",
           bad ? ", FAILED" : "");
    return bad;
}

/* How many jobs each version has run. */
static void print_versions(void)
{
    for (int v = 0; v < versions; v++) {
        int jobs = 0;
        for (int i = 0; i < count; i++)
            for (int k = 0; k < JOBS; k++)
                jobs += job[i][k].trials > 0 && version_of[i][k] == v;
        if (jobs) printf("%s %d of %d jobs on version %s", v ? "," : "\nRun:", jobs,
                         count * JOBS, version[v]);
    }
    printf(".\n");
}

static int print_table(void)
{
    int rows = 0, missing = 0, wrong = 0;
    printf("# How often the verifier accepts\n\n"
           "Written by `make campaign`.  Each trial is a decision with fresh samples about a\n"
           "claim at epsilon 0.5 (of rare values: 80.3 and 69.5); the true delta comes from\n"
           "quadrature (tests/reference.h).  The last column says what an exact binomial test at\n"
           "1e-9 checks.  A ladder begins at the sigma where the claim is at its null and has six\n"
           "rungs within 1e-4 of it; it counts as accepted if any of them is.  Single laws decide\n"
           "with at most %d samples (plain: %d), the same ones at every beta; whole claims and\n"
           "rungs with %d a direction.  Blocks have %d samples here, pilots of claims are four.\n"
           "Of C = I mcamp_verify accepts what is certain without samples, always alike: a\n"
           "hundred trials stand for all; the rest it decides as mcamp_verify_sampled does.\n\n"
           "| shape | law | direction | claim / truth | beta | trials | accepted | rate | wanted "
           "|\n|---|---|---|---|---|---|---|---|---|\n", (int)SAMPLES,
           (int)RARE_SAMPLES, (int)WHOLE_SAMPLES, (int)MCAMP_BLOCK);
    for (int i = 0; i < count; i++)
        for (int j = questions[i].first; j < BETAS; j += questions[i].step) {
            const sums s = total(i);
            wrong += print_row(&questions[i], &s, j);
            missing += s.trials < (double)job_trials(&questions[i]) * JOBS;
            rows++;
        }
    printf("\n%d cells; %d of them fail their exact binomial test at 1e-9; %d lack "
           "trials.\n", rows, wrong, missing);
    print_versions();
    return wrong > 0;
}

int main(int argc, char **argv)
{
    list_questions();
    if (argc == 3 && !strcmp(argv[2], "count")) return printf("%d\n", JOBS * count) < 0;
    if (argc < 3 || (argc > 4 && strlen(argv[4]) >= VERSION_TEXT)) return 2;
    load(argv[1]);
    if (argc == 3) return print_table();
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 2;
    for (int i = 0; i < NSHAPES; i++) prepare(i);
    run_jobs(argv[1], atoi(argv[2]), atoi(argv[3]), argc > 4 ? argv[4] : "unknown", argc > 5);
    return 0;
}
