/* The tool's commands and options, and a session: from the options to the
 * library's objects, and back to the option when the library complains.          */
#ifndef TOOL_SESSION_H
#define TOOL_SESSION_H

#include "tool_options.h"
#include "tool_print.h"
#include "tool_strategy.h"
#include "tool_svg.h"
#ifdef TOOL_MPI
#  include "tool_mpi.h"
#endif

/* ---- the command line ------------------------------------------------------- */

enum { SIGMA = 1, EPSILON = 2, DELTA = 4, VERIFY = 8, CURVE = 16, ACCOUNT = 32,
       OPTIMIZE = 64, ERROR = 128, PLAN = 256, REPORT = 512, AUDIT = 1024, COMPARE = 2048,
       FORMULA = 4096, SENSITIVITY = 8192, SCHEDULE = 16384, DRAW = 32768, MERGE = 65536,
       NOISE = OPTIMIZE | ERROR | PLAN | COMPARE,
       BINS = SIGMA | EPSILON | DELTA | VERIFY | CURVE,
       HAS_C = BINS | ERROR | SENSITIVITY | DRAW, SHAPE = HAS_C | NOISE | SCHEDULE,
       ALL = BINS | ACCOUNT | NOISE | REPORT | AUDIT | FORMULA | SENSITIVITY | MERGE };

/* In the order of OPTIONS. */
enum option_id {
    O_ROUNDS, O_EPOCHS, O_BATCHES, O_BATCHING, O_STRATEGY, O_NORMALIZE, O_SCALE, O_EPS, O_DELTA,
    O_SIGMA, O_DIRECTION, O_CERTIFY, O_CERTAIN, O_FAMILY, O_SCALING, O_AMPLIFICATION, O_WORKLOAD,
    O_ERROR,
    O_EQUAL_NORMS, O_EXAMPLES, O_BATCH_SIZE, O_LIMIT, O_GROUP, O_MEMORY, O_ITERATIONS, O_INNER,
    O_REL_ERROR, O_SAMPLES, O_TIME, O_BETA, O_SEED,
    O_THREADS, O_FPR, O_EPS_MAX, O_POINTS, O_DIM, O_OUT, O_RECORD, O_SHARD, O_TALLY,
    O_SCORES, O_ONE_RUN,
    O_JSON, NOPTION
};

static const option_spec OPTIONS[NOPTION] = {
    { "rounds", OPTION_COUNT, 0, SHAPE, "N", "training steps in all, or give --epochs" },
    { "epochs", OPTION_COUNT, 0, SHAPE, "E", "passes over the data: rounds = E * B" },
    { "batches", OPTION_COUNT, 0, SHAPE, "B", "batches in an epoch" },
    { "batching", OPTION_TEXT, 0, BINS | SCHEDULE | OPTIMIZE | PLAN, "L",
      "bins (default), cyclic:Q, minsep:B,Q or minsep-warm:B,Q (with --rounds), C = I: "
      "allocate:K or allocate-anew:K of B; schedule: shuffle; optimize, plan: not allocate, "
      "in place of --amplification" },
    { "strategy", OPTION_TEXT, 0, HAS_C, "C", "correlation matrix, see below" },
    { "normalize", OPTION_FLAG, 0, HAS_C | COMPARE, "", "divide C by its largest column norm" },
    { "scale", OPTION_TEXT, 0, HAS_C, "@FILE", "column factors of C, one a round" },
    { "eps", OPTION_REAL, SIGMA | DELTA | OPTIMIZE | PLAN | COMPARE,
      SIGMA | DELTA | VERIFY | ACCOUNT | NOISE | AUDIT | FORMULA, "X", "epsilon" },
    { "delta", OPTION_REAL, SIGMA | EPSILON | OPTIMIZE | PLAN | COMPARE,
      SIGMA | EPSILON | VERIFY | ACCOUNT | NOISE | AUDIT | FORMULA, "X", "delta" },
    { "sigma", OPTION_REAL, EPSILON | DELTA | CURVE | DRAW,
      EPSILON | DELTA | VERIFY | CURVE | ERROR | DRAW, "X",
      "noise multiplier: standard deviation / clipping norm" },
    { "direction", OPTION_TEXT, 0, BINS | ACCOUNT, "D", "both (default), remove or add" },
    { "certify", OPTION_FLAG, 0, SIGMA, "", "a sigma with a proof, instead of an estimate" },
    { "certain", OPTION_FLAG, 0, SIGMA, "",
      "before it, what five bounds prove without samples, at no error probability" },
    { "family", OPTION_TEXT, OPTIMIZE, OPTIMIZE, "F",
      "toeplitz[:BANDS], blt:BUFFERS, banded:BANDS, dense, identity" },
    { "scaling", OPTION_TEXT, 0, OPTIMIZE, "D", "column factors: polynomial degree, or free" },
    { "amplification", OPTION_TEXT, 0, NOISE, "A",
      "bnb (balls in bins), poisson (cyclic), none; plan, compare: several, bnb,poisson; "
      "plan: also cyclic (random groups), minsep, all" },
    { "workload", OPTION_TEXT, 0, NOISE, "W",
      "prefix (default), momentum:BETA[,@FILE of learning rates], ema:BETA, lr:@FILE" },
    { "error", OPTION_TEXT, 0, OPTIMIZE | PLAN, "E", "mean (default) or max over rounds" },
    { "equal-norms", OPTION_FLAG, 0, OPTIMIZE, "",
      "banded and dense C, no amplification: columns of one norm" },
    { "examples", OPTION_COUNT, SCHEDULE, BINS | NOISE | SCHEDULE, "N",
      "in the data set; with --batch-size instead of --batches" },
    { "batch-size", OPTION_COUNT, 0, BINS | NOISE, "N",
      "expected examples in a batch" },
    { "limit", OPTION_COUNT, 0, SIGMA | EPSILON | DELTA | VERIFY | SCHEDULE, "N",
      "a fuller batch keeps so many of its members, the same in all epochs" },
    { "group", OPTION_COUNT, 0, BINS, "K",
      "about any K examples or fewer, added or removed together (default 1)" },
    { "memory", OPTION_COUNT, 0, PLAN, "N",
      "noise vectors of the model's size to keep (default 4)" },
    { "iterations", OPTION_COUNT, 0, OPTIMIZE, "N", "at most (default: the library's)" },
    { "inner", OPTION_COUNT, 0, OPTIMIZE, "N",
      "bnb: samples of each step's sigma and gradient (default: as many as they need)" },
    { "rel-error", OPTION_REAL, 0, SIGMA | EPSILON | DELTA | CURVE | ACCOUNT | NOISE, "X",
      "wanted relative error (default 0.01 of delta, curve 0.05; account 1e-4 of eps)" },
    { "samples", OPTION_COUNT, 0, BINS | NOISE | AUDIT, "N",
      "most samples per direction (default 2^26); audit: runs (default 10000)" },
    { "time", OPTION_REAL, 0, SIGMA | EPSILON | DELTA | VERIFY, "SECONDS",
      "then what is known is the answer; not the same to the bit again (default: no limit)" },
    { "beta", OPTION_REAL, 0, BINS | PLAN | AUDIT, "X",
      "error probability of bounds (default 1e-6; in proofs: delta; of scores: 0.05)" },
    { "seed", OPTION_COUNT, 0, BINS | NOISE | AUDIT | SCHEDULE | DRAW, "N",
      "of the simulation (default 1)" },
    { "threads", OPTION_COUNT, 0, BINS | NOISE, "N", "does not change results (default 1)" },
    { "fpr", OPTION_REAL, 0, SIGMA | EPSILON | DELTA | VERIFY | MERGE | ACCOUNT, "X",
      "what an attack finds that is wrong about non-members at this rate" },
    { "eps-max", OPTION_REAL, 0, CURVE | ACCOUNT, "X",
      "where the curve ends (default: delta 1e-10)" },
    { "points", OPTION_COUNT, 0, CURVE | ACCOUNT, "N", "of the curve (default 33)" },
    { "dim", OPTION_COUNT, 0, DRAW, "N", "coordinates of the noise (default 1)" },
    { "out", OPTION_TEXT, 0, CURVE | ACCOUNT | NOISE | AUDIT | SCHEDULE | DRAW, "FILE",
      "a picture (- = standard output), compare: or a .csv; optimize, error, plan: prefix; "
      "schedule, noise: the lines" },
    { "record", OPTION_TEXT, REPORT, BINS | ERROR | PLAN | REPORT | MERGE, "FILE",
      "with --strategy, or plan: proofs write it; else C, shape and claim come from it" },
    { "shard", OPTION_TEXT, 0, VERIFY, "I/N",
      "draw share I of N of all --samples, decide nothing: for \"mcamp merge\"" },
    { "tally", OPTION_TEXT, 0, VERIFY, "FILE", "where --shard writes them" },
    { "scores", OPTION_TEXT, 0, AUDIT, "FILE",
      "of canaries: lines \"in SCORE\" or \"out SCORE\" (- = standard input)" },
    { "one-run", OPTION_FLAG, 0, AUDIT, "", "the scores are of one run, each in by a fair coin" },
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
    { "merge", MERGE, "the verdict of \"mcamp verify\" from the files of all its shares" },
    { "curve", CURVE, "delta against epsilon as a picture" },
    { "account", ACCOUNT, "certified intervals for composed mechanisms, no sampling" },
    { "optimize", OPTIMIZE, "a C of small error at (eps, delta)" },
    { "error", ERROR, "the error of a given C" },
    { "compare", COMPARE, "the errors of several C and samplings at equal (eps, delta)" },
    { "plan", PLAN, "the best C of all families and samplings that you can use, with its proof" },
    { "formula", FORMULA, "closed forms of the literature, side by side" },
    { "sensitivity", SENSITIVITY, "the largest |C x| of one example, by when it may take part" },
    { "schedule", SCHEDULE, "who takes part when: a small run drawn from --seed, to look at" },
    { "noise", DRAW, "C^-1 z, a line a round, drawn from --seed: to look at, not to release" },
    { "report", REPORT, "the privacy statement of a run, from its record" },
    { "audit", AUDIT, "lower bounds on epsilon from canaries, or of the library's own sessions" },
};
enum { NCOMMAND = sizeof COMMANDS / sizeof COMMANDS[0] };

/* ---- from options to the library's objects ------------------------------------ */

typedef struct session {
    const command *cmd;
    option_value opt[NOPTION];
    word_list words;            /* account: the mechanisms                      */
    size_t rounds, batches;
    mcamp_participation batching;
    uint64_t picks;             /* allocate: K; else 0                          */
    strategy strategy;
    mcamp_ctx ctx;
    mcamp_mech mech;
    mcamp_guarantee guarantee;  /* of the record that was read                  */
    bool loaded;
    mcamp_gram gram;
    mcamp_budget budget;
    progress_line progress;
    double column_norm;         /* the largest                                  */
    double seconds;
} session;

/* The option behind an argument that the library complains about. */
TOOL_FN const char *option_of(const char *argument)
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
    if (!strcmp(last, "q")) return "--batching";
    if (!strcmp(last, "b")) return "--batches";
    if (!strcmp(last, "n")) return "--rounds";
    return "--strategy";
}

/* Work that was interrupted has no result: nothing is printed, written or claimed. */
TOOL_FN void stop_if_interrupted(session *s, mcamp_status st)
{
    if (st != MCAMP_Q_INTERRUPTED && !tool_interrupted) return;
    progress_end(&s->progress);
    failed("interrupted: \"mcamp %s\" is not finished and claims nothing", s->cmd->name);
}

/* Ends the program if st is an error: bad use if an option is to blame; or if the work
 * was interrupted.                                                              */
TOOL_FN void check(session *s, mcamp_status st)
{
    mcamp_error e = mcamp_last_error(&s->ctx);
    stop_if_interrupted(s, st);
    if (st >= 0) return;
    progress_end(&s->progress);
    if (st == MCAMP_E_MEMORY || st == MCAMP_E_SAMPLE || st == MCAMP_E_FPENV ||
        st == MCAMP_E_INTERNAL || st == MCAMP_E_INFEASIBLE) {
        failed("%s", mcamp_strerror(st));
    }
    if (e.argument)
        bad_use("%s: %s (%s = %g)", option_of(e.argument), mcamp_strerror(st), e.argument,
                e.value);
    bad_use("%s", mcamp_strerror(st));
}

TOOL_FN void check_between(const session *s, int id, double lo, double hi, const char *what)
{
    const option_value *v = &s->opt[id];
    if (v->given && !(v->real > lo && v->real < hi))
        bad_use("--%s must be %s, not %s", OPTIONS[id].name, what, v->text);
}

TOOL_FN void check_values(const session *s)
{
    const option_value *o = s->opt;
    check_between(s, O_EPS, -5e-324, 1e9, "from 0 to 1e9");
    check_between(s, O_EPS_MAX, 0, 1e9, "above 0, at most 1e9");
    check_between(s, O_DELTA, 0, 1, "between 0 and 1");
    check_between(s, O_BETA, 0, 1, "between 0 and 1");
    check_between(s, O_FPR, 0, 1, "between 0 and 1");
    check_between(s, O_REL_ERROR, 0, 1, "between 0 and 1");
    check_between(s, O_SIGMA, 0, 1e100, "above 0");
    check_between(s, O_TIME, 0, 1e9, "above 0, at most 1e9");
    if (o[O_SAMPLES].given && !o[O_SAMPLES].count) bad_use("--samples must be above 0");
    if (o[O_THREADS].given && !o[O_THREADS].count) bad_use("--threads must be above 0");
    if (o[O_POINTS].given && (o[O_POINTS].count < 2 || o[O_POINTS].count > 10000))
        bad_use("--points must be from 2 to 10000, not %s", o[O_POINTS].text);
}

/* Batches in an epoch of --examples in batches of about --batch-size: said, since the
 * privacy is that of whole batches.                                              */
TOOL_FN void count_batches(session *s)
{
    option_value *o = s->opt;
    uint64_t n = o[O_EXAMPLES].count, size = o[O_BATCH_SIZE].count, count;
    if ((s->cmd->bit & BINS) && o[O_BATCHES].given && o[O_BATCH_SIZE].given)
        bad_use("give either --batches or --batch-size, not both");
    if (!o[O_EXAMPLES].given || !o[O_BATCH_SIZE].given || o[O_BATCHES].given) return;
    if (!size || size > n) bad_use("--batch-size must be from 1 to --examples");
    count = n / size + (n % size >= size - n % size);
    o[O_BATCHES].given = true;
    o[O_BATCHES].count = count;
    fprintf(stderr, "mcamp: note: %llu examples in batches of %llu: %llu batches in an epoch, "
            "of %.6g expected examples\n", (unsigned long long)n, (unsigned long long)size,
            (unsigned long long)count, (double)n / (double)count);
}

/* --batching: the law, q and for b-min-sep the separation, which takes the place of
 * --batches.                                                                     */
TOOL_FN void read_batching(session *s)
{
    static const char *const name[] = { "cyclic", "minsep", "minsep-warm", "allocate",
                                        "allocate-anew" };
    static const mcamp_batch_law law[] = { MCAMP_BATCH_POISSON, MCAMP_BATCH_MINSEP,
                                           MCAMP_BATCH_MINSEP_WARM, MCAMP_BATCH_ALLOCATE,
                                           MCAMP_BATCH_ALLOCATE_ANEW };
    option_value *v = &s->opt[O_BATCHING], *batches = &s->opt[O_BATCHES];
    const char *rest = NULL, *comma;
    char text[32];
    s->batching.law = MCAMP_BATCH_BINS;
    if (!v->given || !strcmp(v->text, "bins")) return;
    if (s->cmd->bit == SCHEDULE && !strcmp(v->text, "shuffle")) {
        s->batching.law = MCAMP_BATCH_SHUFFLE;
        return;
    }
    for (size_t i = 0; i < 5 && !rest; i++) {
        rest = after_name(v->text, name[i]);
        s->batching.law = law[i];
        if (!rest || i < 3) continue;
        if (!parse_count(rest, &s->picks) || !s->picks)
            bad_use("--batching: \"%s\" wants K, a number of rounds from 1 on", v->text);
        return;
    }
    if (!rest) bad_use("--batching must be bins, cyclic:Q, minsep:B,Q, minsep-warm:B,Q, "
                       "allocate:K or allocate-anew:K, not \"%s\"", v->text);
    if (s->batching.law != MCAMP_BATCH_POISSON) {
        comma = strchr(rest, ',');
        if (batches->given || s->opt[O_BATCH_SIZE].given)
            bad_use("--batching %s says B itself: no --batches, no --batch-size", v->text);
        if (!comma || comma - rest >= (long)sizeof text)
            bad_use("--batching: \"%s\" wants B,Q", v->text);
        memcpy(text, rest, (size_t)(comma - rest));
        text[comma - rest] = '\0';
        if (!parse_count(text, &batches->count) || !batches->count)
            bad_use("--batching: \"%s\" is not a number of rounds from 1 on", text);
        batches->given = true;
        rest = comma + 1;
    }
    if (!parse_real(rest, &s->batching.q) || !(s->batching.q > 0 && s->batching.q <= 1))
        bad_use("--batching: q must be above 0, at most 1, not \"%s\"", rest);
}

/* allocate: nothing is sampled, and there is no Gram matrix. */
TOOL_FN void check_allocate(session *s)
{
    static const int idle[] = { O_CERTAIN, O_LIMIT, O_REL_ERROR, O_SAMPLES, O_TIME, O_BETA,
                                O_SHARD };
    if (s->cmd->bit & ~(unsigned)(SIGMA | EPSILON | DELTA | VERIFY | REPORT))
        bad_use("--batching: \"mcamp %s\" does not know allocate; \"mcamp account "
                "allocate:SIGMA,B,K --out FILE\" draws it", s->cmd->name);
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++)
        if (s->opt[idle[i]].given)
            bad_use("--%s does not apply to --batching allocate: its bounds are certain, without "
                    "samples", OPTIONS[idle[i]].name);
    if (s->picks > s->batches)
        bad_use("--batching: %llu rounds of an epoch of %lu", (unsigned long long)s->picks,
                (unsigned long)s->batches);
    if (s->mech.bands > 1)
        bad_use("--batching: C has %lu bands: its columns overlap where an example takes part in "
                "rounds that are near each other, and no bound is known for that; allocate wants "
                "C = I", (unsigned long)s->mech.bands);
}

/* optimize, plan: how batches are formed is said in one way. */
TOOL_FN void check_sampling(const session *s)
{
    const option_value *o = s->opt;
    if (!o[O_AMPLIFICATION].given && !o[O_BATCHING].given)
        bad_use("\"mcamp %s\" needs --amplification A or --batching L", s->cmd->name);
    if (o[O_AMPLIFICATION].given && o[O_BATCHING].given)
        bad_use("give either --amplification or --batching, not both");
    if (s->picks) bad_use("--batching: allocate wants C = I: there is nothing to choose");
    if (s->batching.law != MCAMP_BATCH_BINS && o[O_BATCHES].count > s->rounds)
        bad_use("--batching: %lu rounds between two uses, but there are %lu in all",
                (unsigned long)s->batches, (unsigned long)s->rounds);
}

TOOL_FN void open_gram(session *s)
{
    const mcamp_guarantee *g = &s->guarantee;
    if (s->loaded && g->picks) {
        s->batching.law = g->law;
        s->picks = g->picks;
    }
    if (s->picks) {
        check_allocate(s);
        return;
    }
    if (s->loaded && g->law != MCAMP_BATCH_BINS && g->gram_digest) {
        s->batching.law = g->law;
        s->batching.q = g->q;
    } else if (s->loaded) {
        s->batching.law = MCAMP_BATCH_BINS;
    }
    s->batching.batches = s->batches;
    if (s->batching.law != MCAMP_BATCH_BINS && s->mech.bands > s->batches)
        bad_use("--batching: C has %lu bands, more than the %lu rounds between two uses of an "
                "example: its columns would overlap", (unsigned long)s->mech.bands,
                (unsigned long)s->batches);
    if (s->batching.law != MCAMP_BATCH_BINS && s->batches > s->rounds)
        bad_use("--batching: %lu rounds between two uses, but there are %lu in all",
                (unsigned long)s->batches, (unsigned long)s->rounds);
    check(s, mcamp_gram_pattern(&s->ctx, &s->mech, &s->batching, &s->gram));
}

TOOL_FN void read_shape(session *s)
{
    const option_value *o = s->opt;
    uint64_t batches = o[O_BATCHES].count, rounds = o[O_ROUNDS].count;
    if (!o[O_BATCHES].given && (s->cmd->bit & BINS))
        bad_use("\"mcamp %s\" needs --batches B, or --examples N and --batch-size M",
                s->cmd->name);
    if (!o[O_BATCHES].given && !o[O_ROUNDS].given)
        bad_use("\"mcamp %s\" needs --batches B or --rounds N", s->cmd->name);
    if (!o[O_BATCHES].given) batches = rounds;      /* every example once */
    if (s->cmd->bit == PLAN && o[O_ROUNDS].given && o[O_EPOCHS].given && !o[O_BATCHES].given) {
        if (!o[O_EPOCHS].count || rounds < o[O_EPOCHS].count)
            bad_use("--epochs: %s epochs in %s rounds", o[O_EPOCHS].text, o[O_ROUNDS].text);
        batches = (rounds - 1) / o[O_EPOCHS].count + 1;
    } else if (o[O_ROUNDS].given == o[O_EPOCHS].given)
        bad_use("give either --epochs or --rounds%s", o[O_ROUNDS].given ? ", not both" : "");
    if (o[O_BATCHES].given && !batches) bad_use("--batches must be above 0");
    if (!o[O_ROUNDS].given) {
        if (!o[O_EPOCHS].count) bad_use("--epochs must be above 0");
        if (o[O_EPOCHS].count > UINT64_MAX / batches)
            bad_use("--epochs: %s epochs of %llu batches are too many rounds", o[O_EPOCHS].text,
                    (unsigned long long)batches);
        rounds = o[O_EPOCHS].count * batches;
    }
    if (!rounds) bad_use("--rounds must be above 0");
    if (rounds > SIZE_MAX / 16 || batches > SIZE_MAX / 16)
        bad_use("--%s: too large", o[O_ROUNDS].given ? "rounds" : "epochs");
    s->rounds = (size_t)rounds;
    s->batches = (size_t)batches;
}

TOOL_FN mcamp_direction read_direction(const option_value *v)
{
    if (!v->given || !strcmp(v->text, "both")) return MCAMP_BOTH;
    if (!strcmp(v->text, "remove")) return MCAMP_REMOVE;
    if (!strcmp(v->text, "add")) return MCAMP_ADD;
    bad_use("--direction must be both, remove or add, not \"%s\"", v->text);
    return MCAMP_BOTH;
}

TOOL_FN void open_context(session *s)
{
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    if (s->opt[O_THREADS].given)
        d.parallel = mcamp_parallel_threads((size_t)s->opt[O_THREADS].count);
    d.progress.fn = progress_step;
    d.progress.user = &s->progress;
    d.clock.now = progress_clock;
#ifdef TOOL_MPI
    mpi_join(&d);
#endif
    if (mcamp_ctx_init(&s->ctx, &d) < 0) {
        fprintf(stderr, "mcamp: %s\n", mcamp_strerror(MCAMP_E_FPENV));
        TOOL_EXIT(EXIT_REFUSED);
    }
}

/* ---- records ---------------------------------------------------------------------- */

/* Proofs write a record if C is given by other options, or found; else it is read. */
TOOL_FN bool record_is_read(const session *s)
{
    return s->opt[O_RECORD].given && s->cmd->bit != PLAN && !s->opt[O_STRATEGY].given;
}

TOOL_FN char *read_text(const char *option, const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    size_t room = 1 << 16, n;
    char *text = (char *)need(malloc(room));
    if (!f) bad_use("%s: cannot read \"%s\": %s", option, path, strerror(errno));
    *size = 0;
    while ((n = fread(text + *size, 1, room - *size, f)) > 0) {
        if (memchr(text + *size, 0, n)) bad_use("%s: \"%s\" is no text", option, path);
        *size += n;
        if (*size > (size_t)1 << 30) bad_use("%s: \"%s\" is too long for a record", option, path);
        if (*size == room) text = (char *)need(realloc(text, room *= 2));
    }
    if (ferror(f)) bad_use("%s: cannot read \"%s\": %s", option, path, strerror(errno));
    if (!*size) bad_use("%s: \"%s\" is empty", option, path);
    TOOL_SAME(text, *size);
    fclose(f);
    return text;
}

/* --group K: what was asked for is asked about K examples together. */
TOOL_FN void open_group(session *s)
{
    uint64_t k = s->opt[O_GROUP].count;
    if (s->loaded && s->cmd->bit == VERIFY) bad_use("--group: it is in --record");
    if (!k) bad_use("--group must be above 0");
    if (s->picks) bad_use("--group: not known for random allocation");
    if (s->opt[O_LIMIT].given && k > 1)
        bad_use("--group: what --limit costs is known of one example");
    check(s, mcamp_gram_group(&s->ctx, &s->gram, k));
}

TOOL_FN void read_record(session *s)
{
    const char *path = s->opt[O_RECORD].text;
    size_t size;
    char *text = read_text("--record", path, &size);
    mcamp_status st = mcamp_record_read(&s->ctx, text, size, &s->mech, &s->guarantee);
    mcamp_error e = mcamp_last_error(&s->ctx);
    free(text);
    if (st == MCAMP_E_BLOB && e.argument && !strcmp(e.argument, "version"))
        bad_use("--record: \"%s\" was made by a newer version of mcamp.h", path);
    if (st == MCAMP_E_BLOB)
        bad_use("--record: \"%s\" is not a record, or was edited or cut (%s)", path,
                e.argument ? e.argument : "?");
    if (st < 0)
        bad_use("--record: \"%s\": %s (%s)", path, mcamp_strerror(st),
                e.argument ? e.argument : "?");
    s->loaded = true;
    s->rounds = (size_t)s->guarantee.rounds;
    s->batches = (size_t)s->guarantee.batches;
    snprintf(s->strategy.text, sizeof s->strategy.text, "that of %s", path);
}

TOOL_FN void session_open(session *s, const command *cmd, int argc, char **argv)
{
    const option_value *o = s->opt;
    memset(s, 0, sizeof *s);
    s->cmd = cmd;
    if (cmd->bit & (ACCOUNT | COMPARE | FORMULA)) s->words.most = 16;
    if (cmd->bit == MERGE) s->words.most = sizeof s->words.word / sizeof s->words.word[0];
    read_options(OPTIONS, NOPTION, cmd->bit, cmd->name, argc, argv, 2, s->opt, &s->words);
    check_values(s);
    if (cmd->bit & (ACCOUNT | AUDIT | FORMULA | MERGE)) {
        progress_begin(&s->progress, cmd->name, false);
        open_context(s);
        return;
    }
    if (record_is_read(s)) {
        for (int i = O_ROUNDS; i <= O_SCALE; i++)
            if (o[i].given) bad_use("--%s: C and its shape are in --record", OPTIONS[i].name);
        open_context(s);
        read_record(s);
    } else {
        read_batching(s);
        count_batches(s);
        read_shape(s);
        if (cmd->bit & (OPTIMIZE | PLAN)) check_sampling(s);
        if ((cmd->bit & HAS_C) && !o[O_STRATEGY].given)
            bad_use("\"mcamp %s\" needs --strategy C", cmd->name);
    }
    if (cmd->bit == SCHEDULE) {
        s->budget.seed = o[O_SEED].given ? o[O_SEED].count : 1;
        progress_begin(&s->progress, cmd->name, false);
        open_context(s);
        return;
    }
    s->budget.direction = read_direction(&o[O_DIRECTION]);
    s->budget.rel_error = o[O_REL_ERROR].real;
    if (cmd->bit == CURVE && !o[O_REL_ERROR].given) s->budget.rel_error = 0.05;
    s->budget.max_samples = o[O_SAMPLES].count;
    s->budget.seconds = o[O_TIME].real;
    s->budget.beta = o[O_BETA].real;
    s->budget.seed = o[O_SEED].given ? o[O_SEED].count : 1;
    if (!s->loaded && !(cmd->bit & (OPTIMIZE | PLAN | COMPARE)))
        parse_strategy(o[O_STRATEGY].text, s->rounds, o[O_NORMALIZE].given, &s->strategy);
    if (o[O_SCALE].given) parse_scale(o[O_SCALE].text, &s->strategy);
    progress_begin(&s->progress, cmd->bit & NOISE ? "error" : cmd->name, false);
    s->progress.most = s->budget.seconds;
    if (!s->loaded) open_context(s);
    if (cmd->bit & (OPTIMIZE | PLAN | COMPARE)) return;
    if (!s->loaded) check(s, mcamp_mech_init(&s->ctx, &s->strategy.desc, &s->mech));
    check(s, mcamp_mech_max_norm(&s->ctx, &s->mech, &s->column_norm));
    open_gram(s);
    if (o[O_GROUP].given) open_group(s);
    if (!o[O_LIMIT].given) return;
    if (s->loaded) bad_use("--limit: it is in --record");
    if (!o[O_EXAMPLES].count) bad_use("--limit needs --examples N");
    if (!o[O_LIMIT].count) bad_use("--limit must be above 0");
    if (o[O_BATCHING].given && strcmp(o[O_BATCHING].text, "bins"))
        bad_use("--limit: the price of a cut is known for balls in bins only");
    check(s, mcamp_gram_limit(&s->ctx, &s->gram, o[O_EXAMPLES].count, o[O_LIMIT].count));
}

/* How much longer a group's share of C x can be than one example's. */
TOOL_FN double group_times(const session *s)
{
    return s->opt[O_GROUP].given ? (double)s->opt[O_GROUP].count : 1;
}

/* The largest norm that one example can have in C x, in batches of any fixed order: exact
 * where the library knows it, else that of |C|, whose modes add up.              */
TOOL_FN double sensitivity(session *s)
{
    mcamp_sens r;
    size_t epochs = (s->rounds - 1) / s->batches + 1;
    if (!s->gram.negative || s->gram.law) return s->gram.max_norm;
    check(s, mcamp_sens_fixed(&s->ctx, &s->mech, epochs, s->batches, &r));
    return r.value < s->gram.max_norm ? r.value : s->gram.max_norm;
}

TOOL_FN void session_close(session *s)
{
    mcamp_gram_free(&s->ctx, &s->gram);
    mcamp_mech_free(&s->ctx, &s->mech);
    strategy_free(&s->strategy);
}

/* ---- output that commands share -------------------------------------------------- */

/* What holds where an option that matters is not given. */
static const struct { int id; const char *text; } DEFAULTS[] = {
    { O_BATCHING, "bins" }, { O_DIRECTION, "both" }, { O_WORKLOAD, "prefix" },
    { O_ERROR, "mean" }, { O_SEED, "1" } };

TOOL_FN const char *default_text(const session *s, int id)
{
    bool in_record = id == O_BATCHING ? s->loaded || (s->cmd->bit & NOISE) != 0
                                      : s->loaded && s->cmd->bit == VERIFY;
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof DEFAULTS[0]; i++)
        if (DEFAULTS[i].id == id && !in_record) return DEFAULTS[i].text;
    return NULL;
}

/* One option of a question.  A number that the tool worked out itself has no text. */
TOOL_FN void json_option(const session *s, json *j, int id)
{
    const option_spec *spec = &OPTIONS[id];
    const option_value *v = &s->opt[id];
    const char *text = v->given ? v->text : default_text(s, id);
    uint64_t count;
    if (id == O_JSON || !(spec->allowed & s->cmd->bit) || !text) return;
    if (spec->kind == OPTION_FLAG) json_bool(j, spec->name, true);
    else if (spec->kind == OPTION_REAL) json_real(j, spec->name, v->real);
    else if (spec->kind == OPTION_TEXT) json_text(j, spec->name, text);
    else if (parse_count(text, &count)) json_count(j, spec->name, count);
}

/* Begins an object by the question that it answers: version, command, mechanisms and
 * options, all that is needed to ask again, on one line.                        */
TOOL_FN void json_begin(const session *s, json *j, FILE *f)
{
    json q;
    json_open(j, f);
    json_key(j, "question");
    json_open(&q, f);
    q.flat = true;
    json_text(&q, "version", MCAMP_VERSION_TEXT);
    json_text(&q, "command", s->cmd->name);
    if (s->words.most) {
        json w = q;
        json_key(&q, "of");
        putc('[', f);
        w.first = true;
        for (size_t i = 0; i < s->words.n; i++) json_text(&w, NULL, s->words.word[i]);
        putc(']', f);
    }
    for (int id = 0; id < NOPTION; id++) json_option(s, &q, id);
    putc('}', f);
}

TOOL_FN void print_setting(const session *s, uint64_t samples)
{
    static const char *const shape[] = { "batches in an epoch (balls-in-bins)",
                                         "groups (cyclic Poisson)",
                                         "rounds between uses (b-min-sep Poisson)",
                                         "rounds in an epoch (random allocation)" };
    int law = s->picks ? 3 : !s->gram.law ? 0 : s->gram.law == MCAMP_BATCH_POISSON ? 1 : 2;
    printf("\n  %lu rounds, %lu %s, C = %s%s, largest column "
           "norm %.6g\n", (unsigned long)s->rounds, (unsigned long)s->batches,
           shape[law], s->strategy.text,
           s->opt[O_NORMALIZE].given ? " normalized" : " as given", s->column_norm);
    printf("  %llu samples, seed %llu, %.2f s\n", (unsigned long long)samples,
           (unsigned long long)s->budget.seed, s->seconds);
}

TOOL_FN void warn(mcamp_status st)
{
    if (st > 0) fprintf(stderr, "mcamp: note: %s\n", mcamp_strerror(st));
}

/* --samples that are fewer than the least that a question takes. */
TOOL_FN void warn_samples(const session *s, uint64_t used)
{
    const option_value *v = &s->opt[O_SAMPLES];
    if (v->given && used > v->count)
        fprintf(stderr, "mcamp: note: --samples %s is too few to begin with: %llu were drawn "
                "per direction\n", v->text, (unsigned long long)used);
}

TOOL_FN int write_stdout(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, (FILE *)user) != n;
}

TOOL_FN mcamp_writer to_file(FILE *f)
{
    mcamp_writer w;
    w.write = write_stdout;
    w.user = f;
    return w;
}

TOOL_FN mcamp_writer to_stdout(void)
{
    return to_file(stdout);
}

/* A writer into a string, cut to fit. */
typedef struct text_writer { mcamp_writer writer; char *text; size_t n, room; } text_writer;

TOOL_FN int write_chars(void *user, const char *text, size_t n)
{
    text_writer *w = (text_writer *)user;
    for (size_t i = 0; i < n && w->n + 1 < w->room; i++) w->text[w->n++] = text[i];
    w->text[w->n] = '\0';
    return 0;
}

TOOL_FN void write_text(text_writer *w, char *text, size_t room)
{
    w->writer.write = write_chars;
    w->writer.user = w;
    w->text = text;
    w->n = 0;
    w->room = room;
    text[0] = '\0';
}

/* --fpr: what the guarantee means to who guesses members; to the JSON object, or in words. */
TOOL_FN void print_attack(const session *s, const mcamp_guarantee *g, json *j)
{
    double fpr = s->opt[O_FPR].real, tpr, advantage;
    if (!s->opt[O_FPR].given) return;
    if (mcamp_guarantee_attack(g, fpr, &tpr, &advantage) < 0) {
        if (!j) printf("  Attacks: nothing is known, or only in one direction.\n");
    } else if (j) {
        json_real(j, "attack_fpr", fpr);
        json_real(j, "attack_tpr", tpr);
        json_real(j, "attack_advantage", advantage);
    } else {
        printf("  Attacks that guess who was there find at most %.4g%% of them, with false alarms "
               "for\n  %.4g%% of the others%s; the two differ by at most %.4g%%, at any rate.\n",
               100 * tpr, 100 * fpr, g->accepted ? "" : " (as estimated)", 100 * advantage);
    }
}

/* What the library says of a guarantee, and what only the tool knows. */
TOOL_FN void print_guarantee(const session *s, const mcamp_guarantee *g)
{
    mcamp_writer w = to_stdout();
    json j;
    if (!s->opt[O_JSON].given) {
        mcamp_report_guarantee(g, MCAMP_REPORT_TEXT, &w);
        print_attack(s, g, NULL);
        print_setting(s, g->samples);
        return;
    }
    json_begin(s, &j, stdout);
    json_text(&j, "command", s->cmd->name);
    json_text(&j, "strategy", s->strategy.text);
    json_real(&j, "seconds", s->seconds);
    print_attack(s, g, &j);
    mcamp_report_guarantee(g, MCAMP_REPORT_MEMBERS, &w);
    json_close(&j);
}

/* Only what was proved, or decided: an interrupted proof leaves no record. */
TOOL_FN void record_write(const session *s, const mcamp_guarantee *g)
{
    const char *path = s->opt[O_RECORD].text;
    mcamp_writer w;
    FILE *f;
    if (!s->opt[O_RECORD].given || s->loaded || g->interrupted) return;
    f = open_written(path, "wb");
    if (!f) bad_use("--record: cannot write \"%s\": %s", path, strerror(errno));
    w = to_file(f);
    if (mcamp_record_write(g, &s->mech, &w) != MCAMP_OK && !ferror(f))
        failed("--record: this cannot be recorded");
    close_written(f, path);
    if (!s->opt[O_JSON].given) printf("wrote %s\n", path);
}

TOOL_FN void write_picture(const session *s, const char *path, const svg_chart *chart)
{
    FILE *f = strcmp(path, "-") ? open_written(path, "w") : stdout;
    if (!f) bad_use("--out: cannot write \"%s\": %s", path, strerror(errno));
    svg_write(f, chart);
    if (f == stdout) return;
    close_written(f, path);
    if (!s->opt[O_JSON].given) printf("wrote %s\n", path);
}

#endif
