/* Training runs of items: data, arms, tuning, runs, intervals.  Everything that privacy rests
 * on goes through a session that is bound to the arm's guarantee.  Keys come from the seed, so
 * that the same bytes come out again; a real run keeps a key of its own secret.
 *
 * Clipping and rate of each arm are tuned for itself, on images that neither train nor test;
 * all these runs are in the CSV.  (As everywhere in the literature, tuning is not part of the
 * guarantee.)  Each run is also a line of parts/training.runs as soon as it is whole: what is
 * cut, or asked for with more runs, or shared by two items, goes on from there.            */
#ifndef REPRODUCE_TRAIN_H
#define REPRODUCE_TRAIN_H

#include "reproduce_files.h"
#include "reproduce_bands.h"
#include "train_data.h"
#define TRAIN_HIDDEN 32         /* runs by the thousand */
#include "train_net.h"

enum { MOST_RUNS = 100, MOST_ARM = 6, MOST_TRY = 21, CURVE = 20, MOST_KEY = 700, MOST_LINE = 1600 };

/* ---- images ---------------------------------------------------------------------------- */

typedef struct pictures {
    images all, more, train, valid, test;
    const char *name;
} pictures;

/* Means of 2 x 2 pixels, in place: 14 x 14 of 28 x 28. */
TOOL_FN void halve(images *d)
{
    for (size_t i = 0; i < d->count; i++)
        for (size_t y = 0; y < 14; y++)
            for (size_t x = 0; x < 14; x++) {
                const float *p = d->x + i * 784 + 56 * y + 2 * x;
                d->x[i * 196 + 14 * y + x] = (p[0] + p[1] + p[28] + p[29]) / 4;
            }
    d->pixels = 196;
}

/* At most `most` of them to train with. */
TOOL_FN bool open_pictures(report *r, size_t most, pictures *p)
{
    bool any = !r->f->images;
    memset(p, 0, sizeof *p);
    if ((any || !strcmp(r->f->images, "fashion-mnist")) && images_fashion(&p->all, &p->more)) {
        size_t n = r->f->quick ? 500 : most;
        halve(&p->all);
        halve(&p->more);
        p->name = "Fashion-MNIST, means of 2 x 2 pixels";
        p->train = images_part(&p->all, 0, n);
        p->valid = images_part(&p->all, 50000, 1000);
        p->test = images_part(&p->more, 0, 2000);
    } else if ((any || !strcmp(r->f->images, "digits")) && images_digits(&p->all)) {
        size_t n = r->f->quick ? 500 : most < 1200 ? most : 1200;
        p->name = "handwritten digits, 8 x 8";
        p->train = images_part(&p->all, 0, n);
        p->valid = images_part(&p->all, 1200, 237);
        p->test = images_part(&p->all, 1437, 360);
    } else {
        fail(r, "no images: install the package dataset-fashion-mnist, or run it where "
             "examples/data/digits.csv is");
        return false;
    }
    set(r, "images", "%s", p->name);
    set(r, "training, validation, test", "%lu, %lu, %lu", (unsigned long)p->train.count,
        (unsigned long)p->valid.count, (unsigned long)p->test.count);
    return true;
}

TOOL_FN void close_pictures(pictures *p)
{
    images_free(&p->all);
    images_free(&p->more);
}

/* ---- arms -------------------------------------------------------------------------------- */

/* DRAW_OPEN: no noise, no clipping, no session, no promise: what there is to reach. */
typedef enum draw { DRAW_POISSON, DRAW_BINS, DRAW_BINS_LIMIT, DRAW_SHUFFLE, DRAW_OPEN } draw;

typedef struct arm {
    const char *name;
    mcamp_opt_family family;
    draw by;
    size_t bands, buffers;      /* bands 0: the best number, or all of them          */
    double momentum, sigma;     /* sigma 0: for (eps, delta); else this one          */
    size_t rounds, batches;
    /* what is made of it */
    mcamp_mech mech;
    mcamp_guarantee promise;
    double unit, rmse;          /* error for noise of deviation 1, and for sigma     */
    double rate[MOST_TRY], clip[MOST_TRY], valid[MOST_TRY];
    size_t tries, tried, best, runs;
    bool edge;                  /* the best rate is the last that was tried */
    double accuracy[MOST_RUNS], curve[MOST_RUNS][CURVE];
} arm;

typedef struct contest {
    const pictures *data;
    double eps, delta, late;    /* late: the rate falls from this share of the rounds on */
    arm *arm;
    size_t arms, runs;
} contest;

TOOL_FN void free_arms(report *r, contest *k)
{
    for (size_t i = 0; i < k->arms; i++) mcamp_mech_free(&r->ctx, &k->arm[i].mech);
}

TOOL_FN bool arm_optimise(report *r, mcamp_ctx *ctx, const contest *k, arm *a, size_t bands,
                          mcamp_mech *m, double *unit)
{
    mcamp_opt_desc d;
    mcamp_opt_result res;
    memset(&d, 0, sizeof d);
    memset(&res, 0, sizeof res);
    d.family = bands == 1 ? MCAMP_OPT_IDENTITY : a->family;
    d.amplification = a->by == DRAW_POISSON ? MCAMP_AMPLIFY_POISSON
                    : a->by == DRAW_SHUFFLE || bands ? MCAMP_AMPLIFY_NONE : MCAMP_AMPLIFY_BINS;
    d.rounds = a->rounds;
    d.batches = a->batches;
    d.bands = d.family == MCAMP_OPT_IDENTITY ? (d.amplification == MCAMP_AMPLIFY_POISSON) : bands;
    d.buffers = a->buffers;
    d.eps = k->eps;
    d.delta = k->delta;
    d.budget.seed = r->f->seed;
    d.budget.rel_error = 0.02;
    if (a->family == MCAMP_OPT_BANDED) {
        d.tolerance = 1e-3;
        d.max_iterations = 60;
    }
    if (!did(r, ctx, mcamp_opt_run(ctx, &d, m, &res))) return false;
    *unit = res.unit.rmse;
    return true;
}

/* The number of bands of least error, C being optimised without amplification (as the paper
 * has it for balls in bins).                                                              */
TOOL_FN bool arm_best_bands(report *r, mcamp_ctx *ctx, const contest *k, arm *a, double *unit)
{
    double least = ENDLESS;
    for (size_t bands = 1; bands <= a->batches; bands *= 2) {
        mcamp_mech m;
        mcamp_gram g;
        mcamp_answer q;
        mcamp_budget budget;
        double u = 0;
        bool ok;
        memset(&m, 0, sizeof m);
        memset(&g, 0, sizeof g);
        memset(&q, 0, sizeof q);
        memset(&budget, 0, sizeof budget);
        budget.seed = r->f->seed;
        budget.rel_error = 0.02;
        ok = arm_optimise(r, ctx, k, a, bands, &m, &u) &&
             did(r, ctx, mcamp_gram_init(ctx, &m, a->batches, &g)) &&
             did(r, ctx, mcamp_sigma(ctx, &g, k->eps, k->delta, &budget, &q));
        mcamp_gram_free(ctx, &g);
        if (ok && q.sigma * u < least) {
            least = q.sigma * u;
            *unit = u;
            mcamp_mech_free(ctx, &a->mech);
            a->mech = m;
        } else mcamp_mech_free(ctx, &m);
        if (!ok) return false;
    }
    return true;
}

TOOL_FN bool promise_bins(report *r, mcamp_ctx *ctx, const contest *k, arm *a)
{
    mcamp_gram g;
    mcamp_claim claim;
    size_t m = k->data->train.count;
    double mean = (double)m / (double)a->batches;
    bool ok;
    memset(&g, 0, sizeof g);
    memset(&claim, 0, sizeof claim);
    claim.eps = k->eps;
    claim.delta = claim.beta = k->delta;
    ok = did(r, ctx, mcamp_gram_init(ctx, &a->mech, a->batches, &g)) &&
         (a->by != DRAW_BINS_LIMIT ||
          did(r, ctx, mcamp_gram_limit(ctx, &g, m, (uint64_t)(mean + 2 * sqrt(mean))))) &&
         did(r, ctx, mcamp_calibrate_certified(ctx, &g, &claim, &a->promise));
    mcamp_gram_free(ctx, &g);
    return ok;
}

TOOL_FN bool promise_exact(report *r, mcamp_ctx *ctx, const contest *k, arm *a)
{
    double sigma = a->sigma, norm = 1;
    mcamp_event e;
    mcamp_sens s = { 0, false };
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.q = (double)a->mech.bands / (double)a->batches;
    e.count = (a->rounds - 1) / a->mech.bands + 1;
    if (a->by == DRAW_SHUFFLE) {
        if (!did(r, ctx, mcamp_sens_fixed(ctx, &a->mech, (a->rounds - 1) / a->batches + 1,
                                          a->batches, &s)) ||
            (!(sigma > 0) && !did(r, ctx, mcamp_gauss_sigma(ctx, s.value, k->eps, k->delta,
                                                            &sigma)))) return false;
        return did(r, ctx, mcamp_guarantee_unamplified(ctx, &a->mech, MCAMP_BATCH_SHUFFLE,
                                                       a->batches, sigma * (1 + 1e-6), k->delta,
                                                       &a->promise));
    }
    if (!did(r, ctx, mcamp_mech_max_norm(ctx, &a->mech, &norm))) return false;
    e.sensitivity = norm;
    if (!(sigma > 0) && !did(r, ctx, mcamp_exact_calibrate(ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA,
                                                           k->eps, k->delta, &sigma, NULL)))
        return false;
    return did(r, ctx, mcamp_guarantee_poisson(ctx, &a->mech, a->mech.bands, e.q,
                                               sigma * (1 + 1e-6), k->delta, &a->promise));
}

/* C, unless it is there, its sigma, and the guarantee that a session is bound to. */
TOOL_FN void arm_make(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    contest *k = (contest *)arg;
    arm *a = &k->arm[i];
    bool search = a->by == DRAW_BINS && a->family == MCAMP_OPT_TOEPLITZ && a->bands > 1;
    bool ok;
    if (a->by == DRAW_OPEN) return;
    ok = a->unit > 0 || (search ? arm_best_bands(r, ctx, k, a, &a->unit)
                                : arm_optimise(r, ctx, k, a, a->bands, &a->mech, &a->unit));
    if (!ok) return;
    ok = a->by == DRAW_BINS || a->by == DRAW_BINS_LIMIT ? promise_bins(r, ctx, k, a)
                                                         : promise_exact(r, ctx, k, a);
    a->rmse = a->unit * a->promise.sigma;
    if (ok && !(a->promise.eps <= k->eps * (1 + 1e-9) && a->promise.delta <= k->delta))
        fail(r, "%s promises epsilon %.9g, delta %g", a->name, a->promise.eps, a->promise.delta);
}

/* ---- a run ------------------------------------------------------------------------------- */

typedef struct job {
    const contest *k;
    const arm *a;
    const images *test;
    double rate, clip, *curve;
    uint64_t seed;
} job;

typedef struct model { size_t in, dim; double *w, *move, *step; float *f, *gradient; } model;

TOOL_FN void model_start(model *m, size_t in, uint64_t seed)
{
    mcamp_rng g;
    size_t first = in * HIDDEN, second = (in + 1) * HIDDEN;
    m->in = in;
    m->dim = net_dim(in);
    m->w = numbers_of(3 * m->dim);
    m->move = m->w + m->dim;
    m->step = m->move + m->dim;
    m->f = (float *)enough(calloc(2 * m->dim, sizeof *m->f));
    m->gradient = m->f + m->dim;
    mcamp_rng_seed(&g, seed);
    for (size_t i = 0; i < m->dim; i++) {           /* He's; they depend on no data */
        double fan = i < second ? (double)in : HIDDEN, u = 0;
        for (int j = 0; j < 12; j++) u += mcamp_rng_uniform(&g);
        m->w[i] = (i >= first && i < second) || i >= second + HIDDEN * CLASSES
                ? 0 : (u - 6) * sqrt(2 / fan);
    }
}

TOOL_FN void model_free(model *m)
{
    free(m->w);
    free(m->f);
}

TOOL_FN double model_accuracy(const model *m, const images *d)
{
    size_t right = 0;
    for (size_t i = 0; i < d->count; i++)
        right += net_class(m->f, d->pixels, d->x + i * d->pixels) == d->label[i];
    return (double)right / (double)d->count;
}

/* w -= rate move, move = momentum move + (1 - momentum) step/clip: one rate for all clips and
 * momenta.  The rate falls evenly to a twentieth from `late` on.  Whether w is still small. */
TOOL_FN bool model_step(model *m, const job *j, size_t t)
{
    double now = ((double)t + 1) / (double)j->a->rounds, beta = j->a->momentum, top = 0;
    double fall = now > j->k->late ? 1 - 0.95 * (now - j->k->late) / (1 - j->k->late) : 1;
    for (size_t i = 0; i < m->dim; i++) {
        m->move[i] = beta * m->move[i] + (1 - beta) * m->step[i] / j->clip;
        m->w[i] -= j->rate * fall * m->move[i];
        m->f[i] = (float)m->w[i];
        top = fmax(top, fabs(m->w[i]));
    }
    return top < 1e6;
}

/* All images in batches of one size, in another order each epoch; the mean's gradient. */
TOOL_FN void open_round(const job *j, size_t t, size_t *order, mcamp_rng *g, model *m)
{
    const images *d = &j->k->data->train;
    size_t n = d->count, b = j->a->batches, from = t % b * n / b, to = (t % b + 1) * n / b;
    if (t % b == 0)
        for (size_t i = n; i-- > 1;) {
            size_t o = (size_t)(mcamp_rng_uniform(g) * (double)(i + 1)), was = order[i];
            order[i] = order[o];
            order[o] = was;
        }
    memset(m->step, 0, m->dim * sizeof *m->step);
    for (size_t i = from; i < to; i++) {
        const float *x = d->x + order[i] * d->pixels;
        net_gradient(m->f, d->pixels, x, d->label[order[i]], m->gradient);
        for (size_t c = 0; c < m->dim; c++)
            m->step[c] += (double)m->gradient[c] * (double)b / (double)n;
    }
}

TOOL_FN bool run_round(report *r, mcamp_ctx *ctx, const job *j, mcamp_train *t, model *m)
{
    const images *d = &j->k->data->train;
    mcamp_tensor whole = { NULL, NULL, 0 };
    const size_t *who;
    size_t count;
    whole.f = m->gradient;
    whole.n = m->dim;
    if (!did(r, ctx, mcamp_train_begin(ctx, t, &who, &count))) return false;
    for (size_t i = 0; i < count; i++) {
        net_gradient(m->f, d->pixels, d->x + who[i] * d->pixels, d->label[who[i]], m->gradient);
        if (!did(r, ctx, mcamp_session_add(ctx, &t->session, who[i], &whole, 1))) return false;
    }
    return did(r, ctx, mcamp_session_end(ctx, &t->session, m->step));
}

/* The model after each round, on the images that test. */
TOOL_FN void note_curve(const job *j, const model *m, size_t round, size_t *at)
{
    for (; j->curve && *at < CURVE && (round + 1) * CURVE >= (*at + 1) * j->a->rounds; ++*at)
        j->curve[*at] = model_accuracy(m, j->test);
}

/* All rounds, or until it runs away: a model like that guesses.  NONE: refused or cut. */
TOOL_FN double run_private(report *r, mcamp_ctx *ctx, const job *j, mcamp_train *t, model *m)
{
    const mcamp_guarantee *g = mcamp_session_guarantee(&t->session);
    bool sound = true;
    if (!g || g->eps > j->k->eps * (1 + 1e-9) || g->delta > j->k->delta ||
        g->rounds != j->a->rounds) {
        fail(r, "%s: the session is bound to something else", j->a->name);
        return NONE;
    }
    for (size_t i = 0, at = 0; i < j->a->rounds && sound; i++) {
        if (tool_interrupted || !run_round(r, ctx, j, t, m)) return NONE;
        sound = model_step(m, j, i);
        note_curve(j, m, i, &at);
    }
    return sound ? model_accuracy(m, j->test) : 1.0 / CLASSES;
}

TOOL_FN double run_open(const job *j, model *m)
{
    size_t n = j->k->data->train.count, *order = (size_t *)enough(calloc(n, sizeof *order));
    bool sound = true;
    mcamp_rng g;
    mcamp_rng_seed(&g, j->seed + 1);
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = 0, at = 0; i < j->a->rounds && sound && !tool_interrupted; i++) {
        open_round(j, i, order, &g, m);
        sound = model_step(m, j, i);
        note_curve(j, m, i, &at);
    }
    free(order);
    return tool_interrupted ? NONE : sound ? model_accuracy(m, j->test) : 1.0 / CLASSES;
}

/* One training run under the arm's guarantee: accuracy at its end. */
TOOL_FN double run_model(report *r, mcamp_ctx *ctx, const job *j)
{
    const images *d = &j->k->data->train;
    mcamp_train_desc desc;
    mcamp_train t;
    model m;
    double accuracy = NONE;
    memset(&desc, 0, sizeof desc);
    model_start(&m, d->pixels, j->seed);
    for (size_t i = 0; i < m.dim; i++) m.f[i] = (float)m.w[i];
    if (j->a->by == DRAW_OPEN) {
        accuracy = run_open(j, &m);
        model_free(&m);
        return accuracy;
    }
    desc.examples = d->count;
    desc.dim = m.dim;
    desc.clip_norm = j->clip;
    desc.guarantee = &j->a->promise;
    desc.mech = &j->a->mech;
    mcamp_key_insecure_test(j->seed, &desc.key);
    if (did(r, ctx, mcamp_train_init(ctx, &desc, &t))) {
        accuracy = run_private(r, ctx, j, &t, &m);
        mcamp_train_free(ctx, &t);
    }
    model_free(&m);
    return accuracy;
}

/* ---- runs that are there ------------------------------------------------------------------- */

/* Lines "what|accuracy curve|checksum": what is all that a run depends on. */
typedef struct journal { char **line; size_t n, room; FILE *f; } journal;
static journal RUNS;

TOOL_FN uint64_t checksum(const char *text, size_t n)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h;
}

TOOL_FN void journal_keep(const char *line)
{
    char *copy = (char *)enough(malloc(strlen(line) + 1));
    RUNS.line = (char **)grown(RUNS.line, RUNS.n, &RUNS.room, sizeof *RUNS.line);
    strcpy(copy, line);
    RUNS.line[RUNS.n++] = copy;
}

/* Once: what is whole of the file, unless all is asked for anew, and the file to add to. */
TOOL_FN void journal_open(const frame *f)
{
    path p = path_of(f, "parts/", "training", ".runs");
    char line[MOST_LINE], last = '\n';
    FILE *in = RUNS.f || f->fresh ? NULL : fopen(p.text, "r");
    while (in && fgets(line, sizeof line, in)) {
        char *end = strrchr(line, '|');
        last = line[strlen(line) - 1];
        if (last == '\n' && end && strtoull(end + 1, NULL, 16) ==
            checksum(line, (size_t)(end - line))) journal_keep(line);
    }
    if (in) fclose(in);
    if (RUNS.f) return;
    RUNS.f = fopen(p.text, f->fresh ? "w" : "a");
    if (!RUNS.f) failed("cannot write \"%s\": %s", p.text, strerror(errno));
    if (last != '\n') putc('\n', RUNS.f);
}

TOOL_FN void journal_key(char *to, size_t size, const job *j)
{
    const arm *a = j->a;
    const pictures *p = j->k->data;
    put_text(to, size, "%s;%s %lu %lu %lu;%d %d %lu;%lu/%lu;%.17g %.17g;%.17g %.17g %.17g %.17g;"
             "%.17g %.17g %llu|", MCAMP_VERSION_TEXT, p->name, (unsigned long)p->train.count,
             (unsigned long)j->test->count, (unsigned long)net_dim(p->train.pixels), (int)a->by,
             (int)a->family, (unsigned long)a->mech.bands, (unsigned long)a->rounds,
             (unsigned long)a->batches, a->momentum, j->k->late, a->promise.eps, a->promise.delta,
             a->promise.sigma, a->unit, j->rate, j->clip, (unsigned long long)j->seed);
}

/* The values after the key, if they are all there. */
TOOL_FN bool journal_read(const char *at, double *accuracy, double *curve)
{
    char *end;
    *accuracy = strtod(at, &end);
    for (size_t i = 0; curve && i < CURVE && *end == ' '; i++) curve[i] = strtod(end, &end);
    return *end == '|';
}

TOOL_FN bool journal_find(frame *f, const char *key, double *accuracy, double *curve)
{
    bool found = false;
    pthread_mutex_lock(&f->lock);
    for (size_t i = RUNS.n; i-- > 0 && !found;)
        found = !strncmp(RUNS.line[i], key, strlen(key)) &&
                journal_read(RUNS.line[i] + strlen(key), accuracy, curve);
    pthread_mutex_unlock(&f->lock);
    return found;
}

TOOL_FN void journal_add(frame *f, const char *key, double accuracy, const double *curve)
{
    char line[MOST_LINE];
    size_t n;
    put_text(line, sizeof line, "%s%.17g", key, accuracy);
    for (size_t i = 0; curve && i < CURVE; i++) {
        n = strlen(line);
        put_text(line + n, sizeof line - n, " %.17g", curve[i]);
    }
    n = strlen(line);
    put_text(line + n, sizeof line - n, "|%016llx\n", (unsigned long long)checksum(line, n));
    pthread_mutex_lock(&f->lock);
    journal_keep(line);
    if (fputs(line, RUNS.f) == EOF || fflush(RUNS.f))
        failed("cannot write the runs: %s", strerror(errno));
    pthread_mutex_unlock(&f->lock);
}

/* A run that is there, or now; NONE is none. */
TOOL_FN double run_job(report *r, mcamp_ctx *ctx, const job *j)
{
    char key[MOST_KEY];
    double accuracy = NONE;
    journal_key(key, sizeof key, j);
    if (journal_find(r->f, key, &accuracy, j->curve)) return accuracy;
    accuracy = run_model(r, ctx, j);
    if (!isnan(accuracy)) journal_add(r->f, key, accuracy, j->curve);
    return accuracy;
}

/* ---- tuning and runs ---------------------------------------------------------------------- */

TOOL_FN void tune_task(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    contest *k = (contest *)arg;
    arm *a = &k->arm[i / MOST_TRY];
    size_t attempt = i % MOST_TRY;
    job j = { k, a, &k->data->valid, 0, 0, NULL, 0 };
    if (attempt >= a->tries || attempt < a->tried) return;
    j.rate = a->rate[attempt];
    j.clip = a->clip[attempt];
    j.seed = r->f->seed * 1000 + 999;
    a->valid[attempt] = run_job(r, ctx, &j);
}

TOOL_FN void final_task(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    contest *k = (contest *)arg;
    arm *a = &k->arm[i % k->arms];
    size_t run = i / k->arms;
    job j = { k, a, &k->data->test, 0, 0, NULL, 0 };
    j.rate = a->rate[a->best];
    j.clip = a->clip[a->best];
    j.curve = a->curve[run];
    j.seed = r->f->seed * 1000 + run;       /* the same beginning for all arms */
    a->accuracy[run] = run_job(r, ctx, &j);
}

TOOL_FN void add_tries(const report *r, arm *a, double rate)
{
    static const double clips[] = { 1, 2, 0.5 };
    size_t n = a->by == DRAW_OPEN ? 1 : r->f->quick ? 2 : 3;
    for (size_t c = 0; c < n && a->tries < MOST_TRY; c++) {
        a->rate[a->tries] = rate;
        a->clip[a->tries++] = clips[c];
    }
}

/* The best of all tries; whether its rate is the last on a side, and another is tried there. */
TOOL_FN bool look_further(const report *r, arm *a)
{
    double low = ENDLESS, high = 0, best;
    for (size_t t = 0; t < a->tries; t++) {
        if (a->valid[t] > a->valid[a->best]) a->best = t;
        low = fmin(low, a->rate[t]);
        high = fmax(high, a->rate[t]);
    }
    a->tried = a->tries;
    best = a->rate[a->best];
    a->edge = best <= low || best >= high;
    if (r->f->quick || !a->edge) return false;
    add_tries(r, a, best >= high ? 2 * high : low / 2);
    return a->tries > a->tried;
}

/* Rates and clipping norms, further where the best one is the last: twice at most. */
TOOL_FN void tune(report *r, contest *k)
{
    bool more = true;
    for (size_t i = 0; i < k->arms; i++)
        for (size_t x = 0; x < (r->f->quick ? 3u : 5u); x++)
            add_tries(r, &k->arm[i], (k->arm[i].by == DRAW_OPEN ? 4 : 1) *
                      (r->f->quick ? pow(4, (double)x) / 2 : pow(2, (double)x) / 4));
    while (more && !r->failed && !tool_interrupted) {
        each(r, k->arms * MOST_TRY, tune_task, k);
        more = false;
        for (size_t i = 0; i < k->arms && !r->failed && !tool_interrupted; i++)
            more = look_further(r, &k->arm[i]) || more;
    }
}

/* All runs of the tuning, what was chosen, and the runs of that. */
TOOL_FN void write_runs(report *r, const contest *k, const arm *a)
{
    int l = add_line(r, -1, "tuning, epsilon %g: %s", k->eps, a->name);
    for (size_t t = 0; t < a->tries; t++)
        add_point(r, l, a->rate[t], a->valid[t])->bands = a->clip[t];
    l = add_line(r, -1, "chosen, epsilon %g: %s", k->eps, a->name);
    add_point(r, l, a->rate[a->best], a->valid[a->best])->bands = a->clip[a->best];
    l = add_line(r, -1, "runs, epsilon %g: %s", k->eps, a->name);
    for (size_t n = 0; n < a->runs; n++)
        add_point(r, l, (double)n + 1, 100 * a->accuracy[n])->sigma =
            a->by == DRAW_OPEN ? NONE : a->promise.sigma;
    if (a->edge && a->by == DRAW_OPEN)
        note(r, "%s: the rate %g is the last of those tried.", a->name, a->rate[a->best]);
    else if (a->edge)
        note(r, "%s at epsilon %g: the rate %g is the last of those tried.", a->name, k->eps,
             a->rate[a->best]);
}

/* Makes, tunes and runs all arms: the share of the item's progress that begins at `from`. */
TOOL_FN bool hold_contest(report *r, contest *k, double from, double share)
{
    journal_open(r->f);
    k->runs = r->f->runs ? r->f->runs : r->f->quick ? 1 : 8;
    r->from = from;
    r->share = 0.1 * share;
    each(r, k->arms, arm_make, k);
    r->from = from + 0.1 * share;
    r->share = 0.5 * share;
    if (!r->failed) tune(r, k);
    r->from = from + 0.6 * share;
    r->share = 0.4 * share;
    if (!r->failed && !tool_interrupted) each(r, k->arms * k->runs, final_task, k);
    if (r->failed || tool_interrupted) return false;
    for (size_t i = 0; i < k->arms; i++) {
        k->arm[i].runs = k->runs;
        write_runs(r, k, &k->arm[i]);
    }
    return true;
}

/* ---- intervals ------------------------------------------------------------------------------ */

/* Student's distribution: P(|t| <= x) for n degrees of freedom, by its finite series. */
TOOL_FN double student_within(double x, size_t n)
{
    double angle = atan(x / sqrt((double)n)), c = cos(angle), sum = 0;
    double term = n % 2 ? c : 1;
    for (size_t k = n % 2 + 2; k <= n; k += 2) {
        sum += term;
        term *= c * c * (double)(k - 1) / (double)k;
    }
    sum *= sin(angle);
    return n % 2 ? (angle + sum) / acos(0) : sum;
}

/* x with P(|t| <= x) = level. */
TOOL_FN double student(size_t n, double level)
{
    double low = 0, high = 1e5;
    for (int i = 0; i < 100; i++) {
        double x = (low + high) / 2;
        if (student_within(x, n) < level) low = x;
        else high = x;
    }
    return high;
}

/* Half of the interval (0.95: that of 95%) of a mean of n numbers. */
TOOL_FN double half_interval(const double *x, size_t n, double level, double *mean)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) square += (x[i] - sum) * (x[i] - sum);
    *mean = sum;
    if (n < 2) return NONE;
    return student(n - 1, level) * sqrt(square / ((double)n * (double)(n - 1)));
}

/* The same of a - b, run by run: runs of one number begin alike. */
TOOL_FN double difference(const arm *a, const arm *b, double level, double *mean)
{
    double x[MOST_RUNS];
    for (size_t i = 0; i < a->runs; i++) x[i] = 100 * (a->accuracy[i] - b->accuracy[i]);
    return half_interval(x, a->runs, level, mean);
}

TOOL_FN point *accuracy_point(report *r, int line, double x, const arm *a)
{
    double mean, half = half_interval(a->accuracy, a->runs, 0.95, &mean);
    point *p = add_point(r, line, x, 100 * mean);
    p->lower = 100 * (mean - half);
    p->upper = 100 * (mean + half);
    p->samples = (double)a->runs;
    if (a->by == DRAW_OPEN) return p;
    p->sigma = a->promise.sigma;
    p->bands = (double)a->mech.bands;
    p->error = a->rmse;
    return p;
}

/* What a paper says of a - b >= least (points), over several contests: said here too if every
 * interval lies above, denied if one lies below, and else not decided, which is no finding.
 * The intervals hold together with 95%: each for itself with 1 - 5%/contests.          */
typedef struct saying {
    const char *what, *source;
    double least, low, high;
    bool open, edge;            /* no interval; a rate that is the last of its grid */
    size_t contests;
} saying;

TOOL_FN void hear(saying *s, const arm *a, const arm *b)
{
    double mean, half = difference(a, b, 1 - 0.05 / (double)s->contests, &mean);
    if (!(s->low <= mean - half)) s->low = mean - half;
    if (!(s->high <= mean + half)) s->high = mean + half;
    s->open = s->open || isnan(half);
    s->edge = s->edge || a->edge || b->edge;
}

TOOL_FN void judge(report *r, const saying *s)
{
    if (s->open) {
        note(r, "Not decided (%s): %s. One run has no interval; --runs asks for more.", s->source,
             s->what);
    } else if (r->f->quick || s->edge) {
        note(r, "Not decided (%s): %s. %s; the lowest 95%% interval of the difference reaches from "
             "%.2f to %.2f points.", s->source, s->what, r->f->quick ? "Quick: a few rounds, rates "
             "that are far apart" : "An arm's best rate is the last that was tried", s->low,
             s->high);
    } else if (s->low >= s->least || s->high < s->least) {
        because(trend(r, s->what, s->source, s->low >= s->least, "the 95%% intervals of the "
                      "difference begin at %.2f points, the lowest ends at %.2f", s->low, s->high),
                true, "other images and a smaller network; these runs exclude it");
    } else {
        note(r, "Not decided (%s): %s. The lowest 95%% interval of the difference reaches from "
             "%.2f to %.2f points.", s->source, s->what, s->low, s->high);
    }
}

/* Accuracy per round of every arm, in a picture of its own. */
TOOL_FN void curves(report *r, const contest *k)
{
    char title[100];
    int c;
    put_text(title, sizeof title, "Test accuracy by rounds, epsilon %g", k->eps);
    c = add_chart(r, title, "mean over runs", "round", "%");
    r->chart[c].legend_low = true;
    for (size_t i = 0; i < k->arms; i++) {
        const arm *a = &k->arm[i];
        int l = add_line(r, c, "%s", a->name);
        for (size_t t = 0; t < CURVE; t++) {
            double sum = 0;
            for (size_t n = 0; n < a->runs; n++) sum += a->curve[n][t] / (double)a->runs;
            add_point(r, l, (double)((t + 1) * a->rounds / CURVE), 100 * sum);
        }
    }
}

#endif
