/* mcamp: privacy of matrix mechanisms under balls-in-bins batching, from the
 * command line.  Options in, text, JSON or SVG out; the mathematics is all in
 * mcamp.h.  Exit status: 0 done, 1 refused or failed, 2 bad use.               */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_PTHREADS
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"

#include "tool_account.h"
#include "tool_options.h"
#include "tool_print.h"
#include "tool_strategy.h"
#include "tool_svg.h"

/* ---- the command line ------------------------------------------------------- */

enum { SIGMA = 1, EPSILON = 2, DELTA = 4, VERIFY = 8, CURVE = 16, ACCOUNT = 32,
       BINS = SIGMA | EPSILON | DELTA | VERIFY | CURVE, ALL = BINS | ACCOUNT };

/* In the order of OPTIONS. */
enum option_id {
    O_ROUNDS, O_EPOCHS, O_BATCHES, O_STRATEGY, O_NORMALIZE, O_EPS, O_DELTA, O_SIGMA,
    O_DIRECTION, O_CERTIFY, O_REL_ERROR, O_SAMPLES, O_BETA, O_SEED, O_THREADS,
    O_EPS_MAX, O_POINTS, O_OUT, O_JSON, NOPTION
};

static const option_spec OPTIONS[NOPTION] = {
    { "rounds", OPTION_COUNT, 0, BINS, "N", "training steps in all, or give --epochs" },
    { "epochs", OPTION_COUNT, 0, BINS, "E", "passes over the data: rounds = E * B" },
    { "batches", OPTION_COUNT, BINS, BINS, "B", "batches in an epoch" },
    { "strategy", OPTION_TEXT, BINS, BINS, "C", "correlation matrix, see below" },
    { "normalize", OPTION_FLAG, 0, BINS, "", "divide C by its largest column norm" },
    { "eps", OPTION_REAL, SIGMA | DELTA | VERIFY, SIGMA | DELTA | VERIFY | ACCOUNT, "X",
      "epsilon" },
    { "delta", OPTION_REAL, SIGMA | EPSILON | VERIFY, SIGMA | EPSILON | VERIFY | ACCOUNT, "X",
      "delta" },
    { "sigma", OPTION_REAL, EPSILON | DELTA | VERIFY | CURVE, EPSILON | DELTA | VERIFY | CURVE,
      "X", "noise multiplier: standard deviation / clipping norm" },
    { "direction", OPTION_TEXT, 0, ALL, "D", "both (default), remove or add" },
    { "certify", OPTION_FLAG, 0, SIGMA, "", "a sigma with a proof, instead of an estimate" },
    { "rel-error", OPTION_REAL, 0, SIGMA | EPSILON | DELTA | CURVE | ACCOUNT, "X",
      "wanted relative error (default 0.01 of delta, curve 0.05; account 1e-4 of eps)" },
    { "samples", OPTION_COUNT, 0, BINS, "N", "most samples per direction (default 2^26)" },
    { "beta", OPTION_REAL, 0, BINS, "X",
      "error probability of bounds (default 1e-6; in proofs: delta)" },
    { "seed", OPTION_COUNT, 0, BINS, "N", "of the simulation (default 1)" },
    { "threads", OPTION_COUNT, 0, BINS, "N", "does not change results (default 1)" },
    { "eps-max", OPTION_REAL, 0, CURVE | ACCOUNT, "X",
      "where the curve ends (default: delta 1e-10)" },
    { "points", OPTION_COUNT, 0, CURVE | ACCOUNT, "N", "of the curve (default 33)" },
    { "out", OPTION_TEXT, 0, CURVE | ACCOUNT, "FILE",
      "a picture (curve: default curve.svg; - = standard output)" },
    { "json", OPTION_FLAG, 0, ALL, "", "one JSON object instead of text" },
};

typedef struct command {
    const char *name;
    unsigned bit;
    const char *help;
} command;

static const command COMMANDS[] = {
    { "sigma", SIGMA, "the noise that (eps, delta) needs" },
    { "epsilon", EPSILON, "epsilon at (sigma, delta)" },
    { "delta", DELTA, "delta at (sigma, eps)" },
    { "verify", VERIFY, "accept or refuse the claim (sigma, eps, delta)" },
    { "curve", CURVE, "delta against epsilon as a picture" },
    { "account", ACCOUNT, "certified intervals for composed mechanisms, no sampling" },
};
enum { NCOMMAND = sizeof COMMANDS / sizeof COMMANDS[0] };

static void print_help(void)
{
    printf("mcamp %s: privacy of training with correlated noise, where every example is in\n"
           "one random batch of each epoch, the same in all epochs (balls-in-bins)\n\n"
           "usage: mcamp COMMAND --option value ...\n\ncommands\n", MCAMP_VERSION_TEXT);
    for (size_t i = 0; i < NCOMMAND; i++)
        printf("  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].help);
    printf("\noptions\n");
    print_options(OPTIONS, NOPTION);
    printf("\nstrategies: the matrix C of the mechanism C x + z, used as given\n"
           "  identity                 independent noise: DP-SGD\n"
           "  sqrt:BANDS               square-root Toeplitz, 0 = all bands\n"
           "  toeplitz:C0,C1,...       these coefficients, or toeplitz:@FILE\n"
           "  blt:THETA:OMEGA,...      C0 = 1, Ck = sum of omega theta^(k-1)\n"
           "  banded:@FILE             a line per row, from column max(0, i-bands+1) to i\n"
           "  dense:@FILE              a line per row, all n entries or those up to the diagonal\n"
           "\nmechanisms of mcamp account: composed by +, repeated by *T; one number may be ?,\n"
           "then it is found for the --eps and --delta given\n");
    print_event_forms();
    printf("\nexamples\n"
           "  mcamp sigma --epochs 16 --batches 128 --eps 1 --delta 1e-5 --strategy sqrt:64\n"
           "  mcamp epsilon --rounds 2000 --batches 100 --sigma 2 --delta 1e-6 "
           "--strategy identity\n"
           "  mcamp delta --epochs 16 --batches 128 --sigma 4 --eps 1 --strategy "
           "blt:0.7:0.3,0.98:0.1\n"
           "  mcamp verify --epochs 16 --batches 128 --sigma 8 --eps 1 --delta 1e-5 "
           "--strategy sqrt:64\n"
           "  mcamp curve --epochs 16 --batches 128 --sigma 4 --strategy sqrt:16 "
           "--out curve.svg\n"
           "  mcamp account poisson:0.01,1,2000+gaussian:5 --delta 1e-6\n"
           "  mcamp account poisson:0.01,?,2000 --eps 2 --delta 1e-6\n"
           "  mcamp account poisson:0.01,1,2000 bnb:1,100,20 --out compare.svg\n"
           "\nexit status: 0 done, 1 refused or failed, 2 bad use\n");
}

/* ---- from options to the library's objects ------------------------------------ */

typedef struct session {
    const command *cmd;
    option_value opt[NOPTION];
    word_list words;            /* account: the mechanisms                      */
    size_t rounds, batches;
    strategy strategy;
    mcamp_ctx ctx;
    mcamp_mech mech;
    mcamp_gram gram;
    mcamp_budget budget;
    progress_line progress;
    double column_norm;         /* the largest                                  */
    double seconds;
} session;

/* The option behind an argument that the library complains about. */
static const char *option_of(const char *argument)
{
    static const char *const name[][2] = {
        { "eps", "--eps" }, { "delta", "--delta" }, { "sigma", "--sigma" },
        { "beta", "--beta" }, { "rel_error", "--rel-error" }, { "samples", "--samples" },
        { "seed", "--seed" }, { "direction", "--direction" }, { "rounds", "--rounds" },
        { "batches", "--batches" }
    };
    const char *last = argument ? strrchr(argument, '.') : NULL;
    last = last ? last + 1 : argument ? argument : "";
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++)
        if (strstr(last, name[i][0])) return name[i][1];
    if (!strcmp(last, "b")) return "--batches";
    if (!strcmp(last, "n")) return "--rounds";
    return "--strategy";
}

/* Ends the program if st is an error: bad use if an option is to blame. */
static void check(session *s, mcamp_status st)
{
    mcamp_error e = mcamp_last_error(&s->ctx);
    if (st >= 0) return;
    progress_end(&s->progress);
    if (st == MCAMP_E_MEMORY || st == MCAMP_E_SAMPLE || st == MCAMP_E_FPENV ||
        st == MCAMP_E_INTERNAL || st == MCAMP_E_INFEASIBLE) {
        fprintf(stderr, "mcamp: %s\n", mcamp_strerror(st));
        exit(EXIT_REFUSED);
    }
    if (e.argument)
        bad_use("%s: %s (%s = %g)", option_of(e.argument), mcamp_strerror(st), e.argument,
                e.value);
    bad_use("%s", mcamp_strerror(st));
}

static void check_between(const session *s, int id, double lo, double hi, const char *what)
{
    const option_value *v = &s->opt[id];
    if (v->given && !(v->real > lo && v->real < hi))
        bad_use("--%s must be %s, not %s", OPTIONS[id].name, what, v->text);
}

static void check_values(const session *s)
{
    const option_value *o = s->opt;
    check_between(s, O_EPS, -5e-324, 1e9, "from 0 to 1e9");
    check_between(s, O_EPS_MAX, 0, 1e9, "above 0, at most 1e9");
    check_between(s, O_DELTA, 0, 1, "between 0 and 1");
    check_between(s, O_BETA, 0, 1, "between 0 and 1");
    check_between(s, O_REL_ERROR, 0, 1, "between 0 and 1");
    check_between(s, O_SIGMA, 0, 1e100, "above 0");
    if (o[O_SAMPLES].given && !o[O_SAMPLES].count) bad_use("--samples must be above 0");
    if (o[O_THREADS].given && !o[O_THREADS].count) bad_use("--threads must be above 0");
    if (o[O_POINTS].given && (o[O_POINTS].count < 2 || o[O_POINTS].count > 10000))
        bad_use("--points must be from 2 to 10000, not %s", o[O_POINTS].text);
}

static void read_shape(session *s)
{
    const option_value *o = s->opt;
    uint64_t batches = o[O_BATCHES].count, rounds = o[O_ROUNDS].count;
    if (o[O_ROUNDS].given == o[O_EPOCHS].given)
        bad_use("give either --epochs or --rounds%s", o[O_ROUNDS].given ? ", not both" : "");
    if (!batches) bad_use("--batches must be above 0");
    if (o[O_EPOCHS].given) {
        if (!o[O_EPOCHS].count) bad_use("--epochs must be above 0");
        if (o[O_EPOCHS].count > UINT64_MAX / batches)
            bad_use("--epochs: %s epochs of %s batches are too many rounds", o[O_EPOCHS].text,
                    o[O_BATCHES].text);
        rounds = o[O_EPOCHS].count * batches;
    }
    if (!rounds) bad_use("--rounds must be above 0");
    if (rounds > SIZE_MAX / 16 || batches > SIZE_MAX / 16)
        bad_use("--%s: too large", o[O_ROUNDS].given ? "rounds" : "epochs");
    s->rounds = (size_t)rounds;
    s->batches = (size_t)batches;
}

static mcamp_direction read_direction(const option_value *v)
{
    if (!v->given || !strcmp(v->text, "both")) return MCAMP_BOTH;
    if (!strcmp(v->text, "remove")) return MCAMP_REMOVE;
    if (!strcmp(v->text, "add")) return MCAMP_ADD;
    bad_use("--direction must be both, remove or add, not \"%s\"", v->text);
    return MCAMP_BOTH;
}

static void open_context(session *s)
{
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    if (s->opt[O_THREADS].given)
        d.parallel = mcamp_parallel_threads((size_t)s->opt[O_THREADS].count);
    d.progress.fn = progress_step;
    d.progress.user = &s->progress;
    if (mcamp_ctx_init(&s->ctx, &d) < 0) {
        fprintf(stderr, "mcamp: %s\n", mcamp_strerror(MCAMP_E_FPENV));
        exit(EXIT_REFUSED);
    }
}

static void session_open(session *s, const command *cmd, int argc, char **argv)
{
    const option_value *o = s->opt;
    memset(s, 0, sizeof *s);
    s->cmd = cmd;
    s->words.most = cmd->bit == ACCOUNT ? sizeof s->words.word / sizeof s->words.word[0] : 0;
    read_options(OPTIONS, NOPTION, cmd->bit, cmd->name, argc, argv, 2, s->opt, &s->words);
    check_values(s);
    if (cmd->bit == ACCOUNT) {
        progress_begin(&s->progress, cmd->name, false);
        open_context(s);
        return;
    }
    read_shape(s);
    s->budget.direction = read_direction(&o[O_DIRECTION]);
    s->budget.rel_error = o[O_REL_ERROR].real;
    if (cmd->bit == CURVE && !o[O_REL_ERROR].given) s->budget.rel_error = 0.05;
    s->budget.max_samples = o[O_SAMPLES].count;
    s->budget.beta = o[O_BETA].real;
    s->budget.seed = o[O_SEED].given ? o[O_SEED].count : 1;
    parse_strategy(o[O_STRATEGY].text, s->rounds, o[O_NORMALIZE].given, &s->strategy);
    progress_begin(&s->progress, cmd->name, false);
    open_context(s);
    check(s, mcamp_mech_init(&s->ctx, &s->strategy.desc, &s->mech));
    check(s, mcamp_mech_max_norm(&s->ctx, &s->mech, &s->column_norm));
    check(s, mcamp_gram_init(&s->ctx, &s->mech, s->batches, &s->gram));
}

static void session_close(session *s)
{
    mcamp_gram_free(&s->ctx, &s->gram);
    mcamp_mech_free(&s->ctx, &s->mech);
    strategy_free(&s->strategy);
}

/* ---- text ------------------------------------------------------------------------ */

static const char *method_name(mcamp_method m)
{
    switch (m) {
    case MCAMP_METHOD_PLAIN:   return "plain sampling";
    case MCAMP_METHOD_TILTED:  return "tilted sampling";
    case MCAMP_METHOD_COMMON:  return "tilted sampling across the common direction";
    case MCAMP_METHOD_MODE:    return "integral along a mode";
    case MCAMP_METHOD_PRODUCT: return "product-law sampling";
    case MCAMP_METHOD_EXACT:   return "closed form";
    default:                   return "sampling";
    }
}

static void print_estimate(const char *name, const mcamp_estimate *e)
{
    if (!e->samples && !e->exact) return;
    if (e->exact) {
        printf("  %-22s %.6g (%s)\n", name, e->value, method_name(e->method));
        return;
    }
    printf("  %-22s %.4g +- %.1g (%s", name, e->value, e->std_error, method_name(e->method));
    if (e->order > 1) printf(", order %lu", (unsigned long)e->order);
    printf(", %llu samples)\n", (unsigned long long)e->samples);
}

static void print_setting(const session *s, uint64_t samples)
{
    printf("\n  %lu rounds, %lu batches in an epoch (balls-in-bins), C = %s%s, largest column "
           "norm %.6g\n", (unsigned long)s->rounds, (unsigned long)s->batches, s->strategy.text,
           s->opt[O_NORMALIZE].given ? " normalized" : " as given", s->column_norm);
    printf("  %llu samples, seed %llu, %.2f s\n", (unsigned long long)samples,
           (unsigned long long)s->budget.seed, s->seconds);
}

static void warn(mcamp_status st)
{
    if (st > 0) fprintf(stderr, "mcamp: note: %s\n", mcamp_strerror(st));
}

static const char *direction_text(mcamp_direction d)
{
    return d == MCAMP_REMOVE ? "removing an example only"
         : d == MCAMP_ADD ? "adding an example only" : "adding or removing an example";
}

static void print_answer(const session *s, const mcamp_answer *a)
{
    const char *asked = s->cmd->name;
    const option_value *target = &s->opt[O_DELTA];
    double value = s->cmd->bit == SIGMA ? a->sigma : s->cmd->bit == EPSILON ? a->eps : a->delta;
    printf("%s = %.6g", asked, value);
    if (a->std_error > 0) printf(" +- %.1g", a->std_error);
    printf("\n\n  sigma %.6g gives (%.6g, %.4g)-DP for %s:\n"
           "  an estimate, +- one standard error; \"mcamp verify\" gives a proof\n\n", a->sigma,
           a->eps, target->given ? target->real : a->delta,
           direction_text(s->budget.direction));
    print_estimate("delta, remove", &a->remove);
    print_estimate("delta, add", &a->add);
    if (a->delta_upper > 0 && a->delta_upper < 1)
        printf("  %-22s %.4g, wrong with probability %.1g per direction\n", "delta is at most",
               a->delta_upper, a->beta);
    printf("  %-22s %s %.6g\n", "without amplification", asked, a->unamplified);
    print_setting(s, a->samples);
}

static int write_stdout(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, (FILE *)user) != n;
}

static mcamp_writer to_stdout(void)
{
    mcamp_writer w;
    w.write = write_stdout;
    w.user = stdout;
    return w;
}

static void print_statement(const session *s, const mcamp_statement *t)
{
    mcamp_writer w = to_stdout();
    if (s->cmd->bit == SIGMA && t->accepted) printf("sigma = %.6g\n\n", t->sigma);
    mcamp_report_statement_text(t, &w);
    print_setting(s, t->samples);
}

/* ---- commands ----------------------------------------------------------------------- */

static int run_estimate(session *s)
{
    const option_value *o = s->opt;
    mcamp_writer w = to_stdout();
    mcamp_answer a;
    mcamp_status st;
    memset(&a, 0, sizeof a);
    if (s->cmd->bit == SIGMA)
        st = mcamp_sigma(&s->ctx, &s->gram, o[O_EPS].real, o[O_DELTA].real, &s->budget, &a);
    else if (s->cmd->bit == EPSILON)
        st = mcamp_epsilon(&s->ctx, &s->gram, o[O_SIGMA].real, o[O_DELTA].real, &s->budget, &a);
    else
        st = mcamp_delta(&s->ctx, &s->gram, o[O_SIGMA].real, o[O_EPS].real, &s->budget, &a);
    check(s, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    if (o[O_JSON].given) mcamp_report_answer(&a, s->seconds, &w); else print_answer(s, &a);
    return st == MCAMP_Q_INTERRUPTED ? EXIT_REFUSED : 0;
}

static int run_proof(session *s)
{
    const option_value *o = s->opt;
    mcamp_writer w = to_stdout();
    mcamp_claim c;
    mcamp_statement t;
    mcamp_status st;
    memset(&c, 0, sizeof c);
    memset(&t, 0, sizeof t);
    c.sigma = o[O_SIGMA].real;
    c.eps = o[O_EPS].real;
    c.delta = o[O_DELTA].real;
    c.beta = o[O_BETA].given ? o[O_BETA].real : c.delta;
    c.seed = s->budget.seed;
    c.max_samples = s->budget.max_samples;
    c.direction = s->budget.direction;
    if (s->cmd->bit == SIGMA) st = mcamp_calibrate_certified(&s->ctx, &s->gram, &c, &t);
    else st = mcamp_verify(&s->ctx, &s->gram, &c, &t);
    check(s, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    if (o[O_JSON].given) mcamp_report_statement(&t, s->seconds, &w); else print_statement(s, &t);
    return t.accepted ? 0 : EXIT_REFUSED;
}

/* The columns of the curve, one block of memory. */
typedef struct curve {
    size_t n;
    mcamp_answer *a;
    double *eps, *remove, *add, *unamplified;
    double *lo[2], *hi[2], *err[2];
} curve;

static void curve_open(curve *c, size_t n)
{
    double *block = (double *)need(calloc(10 * n, sizeof *block));
    c->n = n;
    c->a = (mcamp_answer *)need(calloc(n, sizeof *c->a));
    c->eps = block;
    c->remove = block + n;
    c->add = block + 2 * n;
    c->unamplified = block + 3 * n;
    for (size_t d = 0; d < 2; d++) {
        c->lo[d] = block + (4 + d) * n;
        c->hi[d] = block + (6 + d) * n;
        c->err[d] = block + (8 + d) * n;
    }
}

static void curve_close(curve *c)
{
    free(c->eps);
    free(c->a);
}

static void curve_columns(curve *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const mcamp_estimate *e[2] = { &c->a[i].remove, &c->a[i].add };
        c->remove[i] = e[0]->value;
        c->add[i] = e[1]->value;
        c->unamplified[i] = c->a[i].unamplified;
        for (int d = 0; d < 2; d++) {
            c->err[d][i] = e[d]->std_error;
            c->lo[d][i] = e[d]->lower;
            c->hi[d][i] = e[d]->upper;
        }
    }
}

/* Where the curve ends unless the user says so: where delta is 1e-10. */
static double curve_end(session *s)
{
    mcamp_answer a;
    mcamp_budget rough = s->budget;
    mcamp_status st;
    if (s->opt[O_EPS_MAX].given) return s->opt[O_EPS_MAX].real;
    rough.rel_error = 0.2;
    st = mcamp_epsilon(&s->ctx, &s->gram, s->opt[O_SIGMA].real, 1e-10, &rough, &a);
    check(s, st);
    return a.eps > 0 ? a.eps : 1;
}

/* Two decades below where the worse direction ends; the other may go far lower. */
static double curve_floor(const curve *c)
{
    double lowest = 1;
    for (size_t i = 0; i < c->n; i++) {
        double y = c->remove[i] > c->add[i] ? c->remove[i] : c->add[i];
        if (y > 1e-300 && y < lowest) lowest = y;
    }
    return 0.01 * lowest;
}

static void write_picture(const session *s, const char *path, const svg_chart *chart)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;
    if (!f) bad_use("--out: cannot write \"%s\": %s", path, strerror(errno));
    if (!svg_write(f, chart)) bad_use("--out: cannot write \"%s\"", path);
    if (f != stdout) fclose(f);
    if (f != stdout && !s->opt[O_JSON].given) printf("wrote %s\n", path);
}

static void curve_draw(const session *s, const curve *c)
{
    const char *path = s->opt[O_OUT].given ? s->opt[O_OUT].text : "curve.svg";
    bool both = s->budget.direction == MCAMP_BOTH;
    svg_series lines[3];
    svg_chart chart;
    char subtitle[400];
    size_t n = 0;
    memset(lines, 0, sizeof lines);
    memset(&chart, 0, sizeof chart);
    for (int d = 0; d < 2; d++) {
        svg_series *q = &lines[n];
        if (!both && s->budget.direction != (d ? MCAMP_ADD : MCAMP_REMOVE)) continue;
        q->name = d ? "add one example" : "remove one example";
        q->colour = d ? "#d55e00" : "#0072b2";
        q->y = d ? c->add : c->remove;
        q->lo = c->lo[d];
        q->hi = c->hi[d];
        n++;
    }
    lines[n].name = "without amplification";
    lines[n].colour = "#777";
    lines[n].dashed = true;
    lines[n++].y = c->unamplified;
    for (size_t i = 0; i < n; i++) { lines[i].x = c->eps; lines[i].n = c->n; }
    snprintf(subtitle, sizeof subtitle, "sigma %.6g, C = %s, %lu rounds, %lu batches in an epoch; "
             "shaded: proven bounds, level %.1g", s->opt[O_SIGMA].real, s->strategy.text,
             (unsigned long)s->rounds, (unsigned long)s->batches, c->a[0].beta);
    chart.title = "Privacy of the mechanism";
    chart.subtitle = subtitle;
    chart.xlabel = "epsilon";
    chart.ylabel = "delta";
    chart.log_y = true;
    chart.legend_low = true;
    chart.y_floor = curve_floor(c);
    chart.series = lines;
    chart.nseries = n;
    write_picture(s, path, &chart);
}

static void json_curve(const session *s, const curve *c, uint64_t samples)
{
    json j;
    json_open(&j, stdout);
    json_text(&j, "command", "curve");
    json_real(&j, "sigma", s->opt[O_SIGMA].real);
    json_reals(&j, "epsilon", c->eps, c->n);
    json_reals(&j, "delta_remove", c->remove, c->n);
    json_reals(&j, "stderr_remove", c->err[0], c->n);
    json_reals(&j, "delta_add", c->add, c->n);
    json_reals(&j, "stderr_add", c->err[1], c->n);
    json_reals(&j, "unamplified", c->unamplified, c->n);
    json_reals(&j, "upper_remove", c->hi[0], c->n);
    json_reals(&j, "upper_add", c->hi[1], c->n);
    json_real(&j, "beta", c->a[0].beta);
    json_count(&j, "rounds", s->rounds);
    json_count(&j, "batches", s->batches);
    json_text(&j, "strategy", s->strategy.text);
    json_count(&j, "samples", samples);
    json_real(&j, "seconds", s->seconds);
    json_count(&j, "seed", s->budget.seed);
    json_text(&j, "version", MCAMP_VERSION_TEXT);
    json_close(&j);
}

static int run_curve(session *s)
{
    const option_value *o = s->opt;
    uint64_t samples = 0;
    double end;
    mcamp_status st;
    curve c;
    curve_open(&c, o[O_POINTS].given ? (size_t)o[O_POINTS].count : 33);
    end = curve_end(s);
    for (size_t i = 0; i < c.n; i++) c.eps[i] = end * (double)i / (double)(c.n - 1);
    st = mcamp_curve(&s->ctx, &s->gram, o[O_SIGMA].real, c.eps, c.n, &s->budget, c.a);
    check(s, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    for (size_t i = 0; i < c.n; i++) samples += c.a[i].samples;
    curve_columns(&c);
    if (!o[O_JSON].given || o[O_OUT].given) curve_draw(s, &c);
    if (o[O_JSON].given) json_curve(s, &c, samples);
    curve_close(&c);
    return st == MCAMP_Q_INTERRUPTED ? EXIT_REFUSED : 0;
}

/* ---- account ------------------------------------------------------------------------ */

typedef struct account {
    mcamp_exact_desc desc;
    event_list list[16];
    size_t n;
} account;

/* As check(), for complaints about an event's fields. */
static void check_event(session *s, const event_list *l, mcamp_status st)
{
    mcamp_error e = mcamp_last_error(&s->ctx);
    if (st >= 0) return;
    progress_end(&s->progress);
    if (st == MCAMP_E_INFEASIBLE || st == MCAMP_E_MEMORY || st == MCAMP_E_INTERNAL) {
        fprintf(stderr, "mcamp: %s: %s\n", l->text, mcamp_strerror(st));
        exit(EXIT_REFUSED);
    }
    bad_use("\"%s\": %s (%s = %g)", l->text, mcamp_strerror(st),
            e.argument ? e.argument : "input", e.value);
}

static void account_result(session *s, const account *a, const event_list *l)
{
    const option_value *o = s->opt;
    mcamp_interval eps, delta;
    double value = 0;
    mcamp_status st;
    json j;
    eps.lower = eps.upper = o[O_EPS].real;
    delta.lower = delta.upper = o[O_DELTA].real;
    if (l->unknown)
        st = mcamp_exact_calibrate(&s->ctx, l->event, l->n, &a->desc, l->which, l->param,
                                   eps.upper, delta.upper, &value, NULL);
    else if (o[O_EPS].given)
        st = mcamp_exact_delta(&s->ctx, l->event, l->n, &a->desc, eps.upper, &delta, NULL);
    else
        st = mcamp_exact_epsilon(&s->ctx, l->event, l->n, &a->desc, delta.upper, &eps, NULL);
    check_event(s, l, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    if (o[O_JSON].given) {
        json_open(&j, stdout);
        json_text(&j, "mechanism", l->text);
        json_real(&j, "epsilon_lower", eps.lower);
        json_real(&j, "epsilon_upper", eps.upper);
        json_real(&j, "delta_lower", delta.lower);
        json_real(&j, "delta_upper", delta.upper);
        if (l->unknown) json_real(&j, "value", value);
        json_real(&j, "seconds", s->seconds);
        json_text(&j, "version", MCAMP_VERSION_TEXT);
        json_close(&j);
    } else if (l->unknown) {
        printf("? = %.8g  (%s is (%.6g, %.4g)-DP with it, certified)\n", value, l->text,
               eps.upper, delta.upper);
    } else if (o[O_EPS].given) {
        printf("delta from %.6g to %.6g  at epsilon %.6g  (%s)\n", delta.lower, delta.upper,
               eps.upper, l->text);
    } else {
        printf("epsilon from %.6g to %.6g  at delta %.4g  (%s)\n", eps.lower, eps.upper,
               delta.upper, l->text);
    }
}

/* One curve per mechanism, lower to upper as a band; the upper end is the line. */
static void account_curves(session *s, const account *a)
{
    static const char *const colour[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#000000", "#999999" };
    const option_value *o = s->opt;
    size_t points = o[O_POINTS].given ? (size_t)o[O_POINTS].count : 33;
    double *x = (double *)need(calloc(points * (1 + 2 * a->n), sizeof *x));
    mcamp_interval *v = (mcamp_interval *)need(calloc(2 * points, sizeof *v));
    svg_series lines[16];
    svg_chart chart;
    double end = o[O_EPS_MAX].real;
    memset(lines, 0, sizeof lines);
    memset(&chart, 0, sizeof chart);
    for (size_t k = 0; !o[O_EPS_MAX].given && k < a->n; k++) {
        mcamp_interval e;
        check_event(s, &a->list[k], mcamp_exact_epsilon(&s->ctx, a->list[k].event,
                    a->list[k].n, &a->desc, 1e-10, &e, NULL));
        if (e.upper > end) end = e.upper;
    }
    for (size_t i = 0; i < points; i++) x[i] = end * (double)i / (double)(points - 1);
    for (size_t k = 0; k < a->n; k++) {
        double *lo = x + points * (1 + 2 * k), *hi = lo + points;
        check_event(s, &a->list[k], mcamp_exact_curve(&s->ctx, a->list[k].event, a->list[k].n,
                    &a->desc, x, points, v, v + points));
        for (size_t i = 0; i < points; i++) {
            lo[i] = v[i].lower > v[points + i].lower ? v[i].lower : v[points + i].lower;
            hi[i] = v[i].upper > v[points + i].upper ? v[i].upper : v[points + i].upper;
        }
        lines[k].name = a->list[k].text;
        lines[k].colour = colour[k % 8];
        lines[k].dashed = k >= 8;
        lines[k].x = x;
        lines[k].y = lines[k].hi = hi;
        lines[k].lo = lo;
        lines[k].n = points;
    }
    chart.title = "Privacy of composed mechanisms";
    chart.subtitle = "certified upper bounds, both directions";
    chart.xlabel = "epsilon";
    chart.ylabel = "delta";
    chart.log_y = true;
    chart.y_floor = 1e-12;
    chart.series = lines;
    chart.nseries = a->n;
    progress_end(&s->progress);
    write_picture(s, o[O_OUT].text, &chart);
    free(v);
    free(x);
}

static int run_account(session *s)
{
    const option_value *o = s->opt;
    account *a = (account *)need(calloc(1, sizeof *a));
    a->n = s->words.n;
    a->desc.direction = read_direction(&o[O_DIRECTION]);
    a->desc.rel_error = o[O_REL_ERROR].real;
    if (!a->n) bad_use("account what? such as \"mcamp account poisson:0.01,1,2000 --delta 1e-6\"");
    for (size_t k = 0; k < a->n; k++) {
        event_list *l = &a->list[k];
        parse_events(s->words.word[k], l);
        if (l->unknown && (!o[O_EPS].given || !o[O_DELTA].given))
            bad_use("\"%s\": to find \"?\" give both --eps and --delta", l->text);
        if (l->unknown && o[O_OUT].given) bad_use("--out: \"%s\" has a \"?\"", l->text);
        if (!l->unknown && !o[O_OUT].given && o[O_EPS].given == o[O_DELTA].given)
            bad_use("\"%s\": give either --eps or --delta", l->text);
    }
    if (o[O_OUT].given) account_curves(s, a);
    for (size_t k = 0; k < a->n && (o[O_EPS].given || o[O_DELTA].given); k++)
        account_result(s, a, &a->list[k]);
    for (size_t k = 0; k < a->n; k++) event_list_free(&a->list[k]);
    free(a);
    return 0;
}

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < NCOMMAND; i++)
        if (!strcmp(COMMANDS[i].name, name)) return &COMMANDS[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const command *cmd;
    session s;
    int code;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h") || !strcmp(argv[1], "help")) {
            print_help();
            return 0;
        }
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("mcamp %s\n", MCAMP_VERSION_TEXT);
        return 0;
    }
    if (argc < 2) bad_use("which command? sigma, epsilon, delta, verify or curve");
    cmd = find_command(argv[1]);
    if (!cmd) bad_use("unknown command \"%s\"", argv[1]);
    session_open(&s, cmd, argc, argv);
    if (cmd->bit == ACCOUNT) return run_account(&s);
    if (cmd->bit == CURVE) code = run_curve(&s);
    else if (cmd->bit == VERIFY || s.opt[O_CERTIFY].given) code = run_proof(&s);
    else code = run_estimate(&s);
    session_close(&s);
    return code;
}
