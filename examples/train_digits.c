/* Trains a small network on handwritten digits, without privacy and by three private
 * methods of equal (eps, delta), and compares their accuracy:
 *
 *   no privacy   plain stochastic gradient descent
 *   DP-SGD       independent noise, Poisson-sampled batches
 *   banded C     correlated noise of a few bands, cyclic Poisson sampling
 *   BLT          correlated noise of a few buffers, balls-in-bins batches
 *
 *     train_digits [--seeds N] [--eps E] [--quick] [--statement] [--svg FILE] [--tune]
 *     train_digits --fashion        5000 images of Fashion-MNIST, T = 200, eps = 1
 *     train_digits --fashion-full   all 60000
 *
 * Everything that privacy rests on goes through a session: batches, clipping, noise
 * and the guarantee are bound together, and it refuses what does not fit.  Sums are
 * integers in units of a grid (lattice mode).  Keys come from the seed so that you can
 * repeat the figures; a real run takes mcamp_key_random and keeps its key secret.
 *
 * The learning rate at each eps is the one that --tune finds best for DP-SGD, for the
 * other private methods too.  As in most of the literature, that search is not part of
 * the guarantee.                                                                */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_PTHREADS
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "tool_svg.h"
#include "train_data.h"
#include "train_net.h"

enum { METHODS = 4, MOST_EPS = 4, MOST_SEEDS = 64, RATES = 6, SEED = 1000 };
enum { PLAIN, DPSGD, BANDED, BLT };

static const char *const METHOD[METHODS] = { "no privacy", "DP-SGD, Poisson",
    "banded C, cyclic Poisson", "BLT, balls in bins" };
static const double RATE[RATES] = { 0.0625, 0.125, 0.25, 0.5, 1, 2 };

typedef struct task {
    const char *name;
    images train, test;
    size_t rounds, batches;
    double delta, clip, eps[MOST_EPS];
    size_t neps, seeds;
    int statement;              /* print those of the first runs                 */
    double rate[METHODS][MOST_EPS];
} task;

/* A method at one eps: C and what it guarantees. */
typedef struct plan {
    int method;
    mcamp_mech mech;
    mcamp_guarantee promise;
    double rate, rmse;
} plan;

static void must(mcamp_ctx *ctx, mcamp_status st, const char *what)
{
    mcamp_error e = mcamp_last_error(ctx);
    if (st >= 0) return;
    fprintf(stderr, "train_digits: %s: %s (%s)\n", what, mcamp_strerror(st),
            e.argument ? e.argument : "?");
    exit(1);
}

/* ---- plans ----------------------------------------------------------------- */

/* C has `bands` bands, so an example may take part every `bands` rounds: everybody is in
 * one of as many groups, by a keyed draw of his own, and from the group whose turn it is
 * drawn with probability bands/batches.  One band is DP-SGD.                    */
static void plan_poisson(mcamp_ctx *ctx, const task *k, double eps, plan *p)
{
    mcamp_event e;
    double sigma = 0;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.q = (double)p->mech.bands / (double)k->batches;
    e.count = (k->rounds - 1) / p->mech.bands + 1;
    must(ctx, mcamp_mech_max_norm(ctx, &p->mech, &e.sensitivity), "norms");
    must(ctx, mcamp_exact_calibrate(ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, eps, k->delta,
                                    &sigma, NULL), "calibration");
    sigma *= 1 + 1e-6;
    must(ctx, mcamp_guarantee_poisson(ctx, &p->mech, p->mech.bands, e.q, sigma, k->delta,
                                      &p->promise), "guarantee");
}

static void plan_bins(mcamp_ctx *ctx, const task *k, double eps, plan *p)
{
    mcamp_gram gram;
    mcamp_claim claim;
    memset(&claim, 0, sizeof claim);
    claim.eps = eps;
    claim.delta = claim.beta = k->delta;
    must(ctx, mcamp_gram_init(ctx, &p->mech, k->batches, &gram), "modes");
    must(ctx, mcamp_calibrate_certified(ctx, &gram, &claim, &p->promise), "certification");
    mcamp_gram_free(ctx, &gram);
}

static void plan_make(mcamp_ctx *ctx, const task *k, int method, size_t eps, plan *p)
{
    mcamp_opt_desc d;
    mcamp_opt_result r;
    memset(&d, 0, sizeof d);
    memset(p, 0, sizeof *p);
    p->method = method;
    p->rate = k->rate[method][eps];
    if (method == PLAIN) return;
    d.family = method == DPSGD ? MCAMP_OPT_IDENTITY : method == BANDED ? MCAMP_OPT_TOEPLITZ
             : MCAMP_OPT_BLT;
    d.amplification = method == BLT ? MCAMP_AMPLIFY_BINS : MCAMP_AMPLIFY_POISSON;
    d.rounds = k->rounds;
    d.batches = k->batches;
    d.bands = method == DPSGD;
    d.buffers = method == BLT ? 3 : 0;
    d.eps = k->eps[eps];
    d.delta = k->delta;
    must(ctx, mcamp_opt_run(ctx, &d, &p->mech, &r), "optimisation");
    p->rmse = r.rmse;
    if (method == BLT) plan_bins(ctx, k, k->eps[eps], p);
    else               plan_poisson(ctx, k, k->eps[eps], p);
    if (!(p->promise.eps <= k->eps[eps] * (1 + 1e-9) && p->promise.delta <= k->delta)) {
        fprintf(stderr, "train_digits: %s promises eps %.9g, delta %g\n", METHOD[method],
                p->promise.eps, p->promise.delta);
        exit(1);
    }
}

/* ---- one run --------------------------------------------------------------- */

typedef struct run {
    const task *k;
    const plan *p;
    double rate, accuracy;
    uint64_t seed;
    mcamp_ctx ctx;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    size_t dim, *index;
    double *param, *step;       /* dim numbers each                              */
    int64_t *sum;
    float *w, *gradient;
} run;

/* He's initial weights; they depend on no data. */
static void run_start(run *r)
{
    mcamp_rng g;
    size_t in = r->k->train.pixels, first = in * HIDDEN, second = (in + 1) * HIDDEN;
    mcamp_rng_seed(&g, r->seed);
    for (size_t i = 0; i < r->dim; i++) {
        double fan = i < second ? (double)in : HIDDEN, u = 0;
        int bias = (i >= first && i < second) || i >= second + HIDDEN * CLASSES;
        for (int j = 0; j < 12; j++) u += mcamp_rng_uniform(&g);
        r->param[i] = bias ? 0 : (u - 6) * sqrt(2 / fan);
    }
}

static void run_memory(run *r)
{
    r->dim = net_dim(r->k->train.pixels);
    r->index = (size_t *)malloc(r->k->train.count * sizeof *r->index);
    r->param = (double *)malloc(r->dim * sizeof *r->param);
    r->step = (double *)malloc(r->dim * sizeof *r->step);
    r->sum = (int64_t *)malloc(r->dim * sizeof *r->sum);
    r->w = (float *)malloc(r->dim * sizeof *r->w);
    r->gradient = (float *)malloc(r->dim * sizeof *r->gradient);
    if (!r->index || !r->param || !r->step || !r->sum || !r->w || !r->gradient) {
        fprintf(stderr, "train_digits: out of memory\n");
        exit(1);
    }
}

static int print(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, (FILE *)user) != n;
}

/* The session of the plan: parts from one key, in units of one clipping norm. */
static void run_bind(run *r)
{
    const mcamp_guarantee *g = &r->p->promise;
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    mcamp_session_desc s;
    memset(&b, 0, sizeof b);
    memset(&z, 0, sizeof z);
    memset(&c, 0, sizeof c);
    memset(&s, 0, sizeof s);
    b.law = g->law;
    b.examples = r->k->train.count;
    b.rounds = g->rounds;
    b.batches = g->batches;
    b.q = g->q;
    mcamp_key_insecure_test(r->seed, &b.key);
    z.mech = &r->p->mech;
    z.sigma = g->sigma;
    z.clip_norm = c.norm = r->k->clip;
    z.unit = MCAMP_NOISE_MEAN;
    z.batch = (double)r->k->train.count / (double)r->k->batches;
    z.dim = c.dim = r->dim;
    z.key = b.key;
    must(&r->ctx, mcamp_batch_init(&r->ctx, &b, &r->batch), "batches");
    must(&r->ctx, mcamp_noise_init(&r->ctx, &z, &r->noise), "noise");
    c.max_examples = r->k->train.count;
    must(&r->ctx, mcamp_clip_init(&r->ctx, &c, &r->clip), "clipping");
    s.guarantee = g;
    s.batch = &r->batch;
    s.noise = &r->noise;
    s.clip = &r->clip;
    s.grid_sum = r->sum;
    s.run = 1;
    must(&r->ctx, mcamp_session_init(&r->ctx, &s, &r->session), "session");
    if (r->k->statement && r->seed == SEED) {
        mcamp_writer out;
        out.write = print;
        out.user = stdout;
        must(&r->ctx, mcamp_report_session(&r->session, MCAMP_REPORT_LEGAL, &out), "statement");
    }
    mcamp_key_wipe(&b.key);
    mcamp_key_wipe(&z.key);
}

/* step = the mean of the clipped gradients of this round's batch, with its noise. */
static void run_private_round(run *r, size_t t)
{
    const images *d = &r->k->train;
    mcamp_batch_size size;
    mcamp_tensor whole = { NULL, NULL, 0 };
    whole.f = r->gradient;
    whole.n = r->dim;
    must(&r->ctx, mcamp_session_begin(&r->ctx, &r->session, t, r->index, d->count, &size),
         "round");
    for (size_t i = 0; i < size.kept; i++) {
        net_gradient(r->w, d->pixels, d->x + r->index[i] * d->pixels, d->label[r->index[i]],
                     r->gradient);
        must(&r->ctx, mcamp_session_add(&r->ctx, &r->session, r->index[i], &whole, 1), "gradient");
    }
    must(&r->ctx, mcamp_session_end(&r->ctx, &r->session, r->step), "noise");
}

/* The same of a shuffled batch, neither clipped nor noisy. */
static void run_plain_round(run *r, size_t t)
{
    const images *d = &r->k->train;
    mcamp_batch_size size;
    must(&r->ctx, mcamp_batch_round(&r->ctx, &r->batch, t, r->index, d->count, &size),
         "round");
    for (size_t j = 0; j < r->dim; j++) r->step[j] = 0;
    for (size_t i = 0; i < size.kept; i++) {
        net_gradient(r->w, d->pixels, d->x + r->index[i] * d->pixels, d->label[r->index[i]],
                     r->gradient);
        for (size_t j = 0; j < r->dim; j++) r->step[j] += (double)r->gradient[j];
    }
    for (size_t j = 0; j < r->dim; j++) r->step[j] /= (double)size.kept;
}

static void run_shuffle(run *r)
{
    mcamp_batch_desc b;
    memset(&b, 0, sizeof b);
    b.law = MCAMP_BATCH_SHUFFLE;
    b.examples = r->k->train.count;
    b.rounds = r->k->rounds;
    b.batches = r->k->batches;
    mcamp_key_insecure_test(r->seed, &b.key);
    must(&r->ctx, mcamp_batch_init(&r->ctx, &b, &r->batch), "batches");
}

static void run_finish(run *r)
{
    const images *d = &r->k->test;
    size_t right = 0;
    for (size_t i = 0; i < d->count; i++)
        right += net_class(r->w, d->pixels, d->x + i * d->pixels) == d->label[i];
    r->accuracy = (double)right / (double)d->count;
    mcamp_batch_free(&r->ctx, &r->batch);
    mcamp_noise_free(&r->ctx, &r->noise);
    free(r->index);
    free(r->param);
    free(r->step);
    free(r->sum);
    free(r->w);
    free(r->gradient);
}

static void run_task(void *arg, size_t i)
{
    run *r = (run *)arg + i;
    must(&r->ctx, mcamp_ctx_init(&r->ctx, NULL), "context");
    run_memory(r);
    run_start(r);
    if (r->p->method == PLAIN) run_shuffle(r);
    else                       run_bind(r);
    for (size_t t = 0; t <= r->k->rounds; t++) {
        for (size_t j = 0; j < r->dim; j++) r->w[j] = (float)r->param[j];
        if (t == r->k->rounds) break;
        if (r->p->method == PLAIN) run_plain_round(r, t);
        else                       run_private_round(r, t);
        for (size_t j = 0; j < r->dim; j++) r->param[j] -= r->rate * r->step[j];
    }
    run_finish(r);
}

/* ---- results --------------------------------------------------------------- */

typedef struct score { double mean, spread, rmse, each[MOST_SEEDS]; } score;

/* Runs of a plan with every seed at once on the threads; mean and standard deviation. */
static score score_plan(mcamp_ctx *ctx, const task *k, const plan *p, double rate)
{
    static run all[MOST_SEEDS];
    score s;
    double n = (double)k->seeds;
    memset(all, 0, sizeof all);
    memset(&s, 0, sizeof s);
    for (size_t i = 0; i < k->seeds; i++) {
        all[i].k = k;
        all[i].p = p;
        all[i].rate = rate;
        all[i].seed = SEED + i;
    }
    if (ctx->parallel.run) ctx->parallel.run(ctx->parallel.user, k->seeds, run_task, all);
    else for (size_t i = 0; i < k->seeds; i++) run_task(all, i);
    for (size_t i = 0; i < k->seeds; i++) s.mean += (s.each[i] = all[i].accuracy) / n;
    for (size_t i = 0; i < k->seeds; i++)
        s.spread += (s.each[i] - s.mean) * (s.each[i] - s.mean) / (n > 1 ? n - 1 : 1);
    s.spread = sqrt(s.spread);
    return s;
}

static double tuned(mcamp_ctx *ctx, const task *k, const plan *p)
{
    double best = 0, rate = 0;
    for (int i = 0; i < RATES; i++) {
        score s = score_plan(ctx, k, p, RATE[i]);
        printf("    rate %-7g %.2f%% +- %.2f\n", RATE[i], 100 * s.mean, 100 * s.spread);
        if (s.mean > best) { best = s.mean; rate = RATE[i]; }
    }
    return rate;
}

/* The one eps of a short run, with the rates of the nearest one in the table. */
static void task_only(task *k, double eps)
{
    size_t best = 0;
    for (size_t e = 1; e < k->neps; e++)
        if (fabs(log(k->eps[e] / eps)) < fabs(log(k->eps[best] / eps))) best = e;
    for (int m = 0; m < METHODS; m++) k->rate[m][0] = k->rate[m][best];
    k->eps[0] = eps;
    k->neps = 1;
}

static int add_to(void *user, const char *text, size_t n)
{
    char *cell = (char *)user;
    strncat(cell, text, n < 31 - strlen(cell) ? n : 31 - strlen(cell));
    return 0;
}

/* The noise that the promise asks for, as it is to be used. */
static void print_sigma(const mcamp_guarantee *promise)
{
    char cell[32] = "";
    mcamp_writer w = { add_to, cell };
    mcamp_guarantee g = *promise;
    g.asked = MCAMP_ASK_SIGMA;
    mcamp_report_guarantee(&g, MCAMP_REPORT_VALUE, &w);
    printf("%9s", cell);
}

static void compare(mcamp_ctx *ctx, const task *k, int tune, score out[METHODS][MOST_EPS])
{
    printf("%s: %zu images, %zu rounds of about %.0f, delta %g, %zu seeds\n\n", k->name,
           k->train.count, k->rounds, (double)k->train.count / (double)k->batches, k->delta,
           k->seeds);
    printf("%-26s %5s %9s %6s %8s %6s  %s\n", "method", "eps", "sigma", "bands", "rmse",
           "rate", "test accuracy, mean +- sd");
    for (size_t e = 0; e < k->neps; e++) {
        for (int m = e ? DPSGD : PLAIN; m < METHODS; m++) {
            plan p;
            score s;
            plan_make(ctx, k, m, e, &p);
            if (tune) p.rate = tuned(ctx, k, &p);
            s = score_plan(ctx, k, &p, p.rate);
            s.rmse = p.rmse;
            out[m][e] = s;
            if (m == PLAIN) {
                printf("%-26s %5s %9s %6s %8s %6g", METHOD[m], "inf", "-", "-", "-", p.rate);
                for (size_t i = 1; i < k->neps; i++) out[m][i] = s;
            } else {
                printf("%-26s %5g ", METHOD[m], k->eps[e]);
                print_sigma(&p.promise);
                printf(" %6zu %8.3f %6g", p.mech.bands, p.rmse, p.rate);
            }
            printf("  %.2f%% +- %.2f\n", 100 * s.mean, 100 * s.spread);
            fflush(stdout);
            mcamp_mech_free(ctx, &p.mech);
        }
    }
}

/* Correlated noise against DP-SGD: runs of one seed begin alike, so that differences
 * are taken seed by seed.                                                       */
static void verdict(const task *k, score out[METHODS][MOST_EPS])
{
    double n = (double)k->seeds;
    if (k->seeds < 2) return;
    printf("\n");
    for (size_t e = 0; e < k->neps; e++) {
        for (int m = BANDED; m <= BLT; m++) {
            double diff = out[m][e].mean - out[DPSGD][e].mean, var = 0, error;
            for (size_t i = 0; i < k->seeds; i++)
                var += pow(out[m][e].each[i] - out[DPSGD][e].each[i] - diff, 2);
            error = sqrt(var / (n * (n > 1 ? n - 1 : 1)));
            printf("eps %g: %s %s DP-SGD: %+.2f points (standard error %.2f)\n", k->eps[e],
                   METHOD[m], diff > 2 * error ? "is better than" : diff < -2 * error
                   ? "is WORSE than" : "is as good as", 100 * diff, 100 * error);
            if (diff <= 0)
                printf("    why not better: it takes %.0f%% off the error of the sums (rmse),\n"
                       "    which moves accuracy by less than chance does; sampling did the rest\n",
                       100 * (1 - out[m][e].rmse / out[DPSGD][e].rmse));
        }
    }
}

static void draw(const task *k, const char *path, score out[METHODS][MOST_EPS])
{
    static const char *const colour[METHODS] = { "#888888", "#d62728", "#1f77b4", "#2ca02c" };
    double x[MOST_EPS], y[METHODS][3][MOST_EPS];
    svg_series series[METHODS];
    svg_chart chart;
    FILE *f = fopen(path, "w");
    memset(&chart, 0, sizeof chart);
    memset(series, 0, sizeof series);
    for (int m = 0; m < METHODS; m++) {
        for (size_t e = 0; e < k->neps; e++) {
            x[e] = k->eps[e];
            for (int i = 0; i < 3; i++)
                y[m][i][e] = 100 * (out[m][e].mean + (i - 1) * out[m][e].spread);
        }
        series[m].name = METHOD[m];
        series[m].colour = colour[m];
        series[m].dashed = m == PLAIN;
        series[m].x = x;
        series[m].lo = y[m][0]; series[m].y = y[m][1]; series[m].hi = y[m][2];
        series[m].n = k->neps;
    }
    chart.title = k->name;
    chart.subtitle = "test accuracy, mean and standard deviation over seeds";
    chart.xlabel = "eps";
    chart.ylabel = "accuracy, %";
    chart.legend_low = true;
    chart.series = series;
    chart.nseries = METHODS;
    if (f) svg_write(f, &chart);
    if (!f || (fflush(f), ferror(f)) || fclose(f))
        fprintf(stderr, "train_digits: cannot write %s\n", path);
}

/* ---- tasks ----------------------------------------------------------------- */

static int task_digits(task *k, images *all)
{
    static const double eps[MOST_EPS] = { 1, 2, 4, 8 };
    static const double rate[METHODS][MOST_EPS] = {
        { 1, 1, 1, 1 }, { 0.125, 0.125, 0.25, 0.5 }, { 0.125, 0.125, 0.25, 0.5 },
        { 0.125, 0.125, 0.25, 0.5 } };
    if (!images_digits(all)) return 0;
    k->name = "Handwritten digits, 8x8";
    k->train = images_part(all, 0, 1437);
    k->test = images_part(all, 1437, 360);
    k->rounds = 640;
    k->batches = 32;
    k->delta = 1e-5;
    k->clip = 1;
    k->neps = MOST_EPS;
    k->seeds = 8;
    memcpy(k->eps, eps, sizeof eps);
    memcpy(k->rate, rate, sizeof rate);
    return 1;
}

/* As in the blog post that this follows: T = 200, eps = 1, delta = 1e-6. */
static int task_fashion(task *k, images *train, images *test, int full)
{
    if (!images_fashion(train, test)) return 0;
    k->name = full ? "Fashion-MNIST" : "Fashion-MNIST, 5000 images";
    k->train = full ? *train : images_part(train, 0, 5000);
    k->test = *test;
    k->rounds = full ? 500 : 200;
    k->batches = full ? 100 : 20;
    k->delta = 1e-6;
    k->clip = 1;
    k->eps[0] = 1;
    k->neps = 1;
    k->seeds = full ? 1 : 3;
    for (int m = 0; m < METHODS; m++) k->rate[m][0] = m == PLAIN ? 0.25 : 0.5;
    return 1;
}

int main(int argc, char **argv)
{
    static task k;
    static score out[METHODS][MOST_EPS];
    images all, more;
    const char *svg = NULL;
    int fashion = 0, tune = 0, quick = 0, ok;
    double eps = 0;
    size_t seeds = 0;
    mcamp_ctx ctx;
    mcamp_ctx_desc cd;
    memset(&all, 0, sizeof all);
    memset(&more, 0, sizeof more);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--fashion")) fashion = 1;
        else if (!strcmp(argv[i], "--fashion-full")) fashion = 2;
        else if (!strcmp(argv[i], "--tune")) tune = 1;
        else if (!strcmp(argv[i], "--quick")) quick = 1;
        else if (!strcmp(argv[i], "--statement")) k.statement = 1;
        else if (!strcmp(argv[i], "--svg") && i + 1 < argc) svg = argv[++i];
        else if (!strcmp(argv[i], "--eps") && i + 1 < argc) eps = strtod(argv[++i], NULL);
        else if (!strcmp(argv[i], "--seeds") && i + 1 < argc)
            seeds = (size_t)strtoul(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "usage: train_digits [--seeds N] [--eps E] [--quick] "
                            "[--statement]\n                    [--svg FILE] [--tune] "
                            "[--fashion | --fashion-full]\n");
            return 2;
        }
    }
    ok = fashion ? task_fashion(&k, &all, &more, fashion == 2) : task_digits(&k, &all);
    if (!ok) {
        fprintf(stderr, fashion ? "train_digits: install dataset-fashion-mnist\n"
                                : "train_digits: no examples/data/digits.csv\n");
        return 3;
    }
    if (quick || eps > 0) task_only(&k, eps > 0 ? eps : 4);
    if (quick) k.seeds = 2;
    if (quick && fashion) { k.rounds = 40; k.seeds = 1; }
    if (seeds) k.seeds = seeds < MOST_SEEDS ? seeds : MOST_SEEDS;
    memset(&cd, 0, sizeof cd);
    cd.parallel = mcamp_parallel_threads(2);
    must(&ctx, mcamp_ctx_init(&ctx, &cd), "context");
    compare(&ctx, &k, tune, out);
    verdict(&k, out);
    if (svg) draw(&k, svg, out);
    images_free(&all);
    images_free(&more);
    return 0;
}
