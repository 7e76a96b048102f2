/* What all machines agree on, and to how many digits.  machines.sh runs it on each:
 *
 *     machines write DIR          writes what this machine makes
 *     machines read DIR...        takes up what others made, record and saved state
 *
 * DIR/same: lines that are the same everywhere.  DIR/digits: name, digits, value: values
 * that agree to so many digits.  DIR/record, DIR/state: of a run that stopped after three
 * rounds; DIR/rest: what it released later.                                        */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"

enum { ROUNDS = 19, BATCHES = 8, EXAMPLES = 24, DIM = 5, STOP = 3 };

static mcamp_ctx ctx;
static FILE *same, *digits;

static void must(mcamp_status st, const char *what)
{
    mcamp_error e = mcamp_last_error(&ctx);
    if (st >= 0) return;
    printf("%s: %s (%s)\n", what, mcamp_strerror(st), e.argument ? e.argument : "?");
    exit(1);
}

static void check(int ok, const char *where, const char *what)
{
    if (ok) return;
    printf("%s: %s\n", where, what);
    exit(1);
}

static FILE *open_file(const char *dir, const char *name, const char *mode)
{
    char path[600];
    FILE *f;
    snprintf(path, sizeof path, "%.500s/%s", dir, name);
    f = fopen(path, mode);
    check(f != NULL, path, "cannot be opened");
    return f;
}

static size_t read_file(const char *dir, const char *name, char *text, size_t room)
{
    FILE *f = open_file(dir, name, "rb");
    size_t n = fread(text, 1, room - 1, f);
    fclose(f);
    check(n > 0 && n < room - 1, dir, "a file is empty or too long");
    text[n] = '\0';
    return n;
}

static int write_file(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, (FILE *)user) != n;
}

static uint64_t bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static void line(FILE *f, const char *name, uint64_t x)
{
    fprintf(f, "%s %08lx%08lx\n", name, (unsigned long)(x >> 32),
            (unsigned long)(x & 0xffffffffu));
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static void about(const char *name, int to, double x)
{
    fprintf(digits, "%s %d %.17g\n", name, to, x);
}

/* ---- the same everywhere ----------------------------------------------------------- */

static void random_words(void)
{
    mcamp_rng r;
    mcamp_key k, child;
    uint64_t h = 0;
    mcamp_rng_seed(&r, 20240601);
    for (int i = 0; i < 1000; i++) h = mix(h, mcamp_rng_next(&r));
    for (int i = 0; i < 1000; i++) h = mix(h, bits(mcamp_rng_uniform(&r)));
    line(same, "random-words", h);
    mcamp_key_insecure_test(3, &k);
    must(mcamp_key_derive(&ctx, &k, 77, &child), "derive");
    line(same, "key-id", mcamp_key_id(&child));
}

/* C by kind: digests, and noise on the lattice and as doubles. */
static void noise_of(const char *name, const mcamp_mech_desc *d)
{
    mcamp_noise_desc z;
    mcamp_noise_out out = { NULL, NULL, NULL, false };
    mcamp_mech c;
    mcamp_gram g;
    char what[80];
    for (int grid = 0; grid < 2; grid++) {
        uint64_t h = 0;
        mcamp_noise m;
        int64_t on[7];
        double x[7];
        must(mcamp_mech_init(&ctx, d, &c), name);
        memset(&z, 0, sizeof z);
        z.mech = &c;
        z.sigma = 1.7;
        z.clip_norm = 0.3;
        z.unit = MCAMP_NOISE_SUM;
        z.dim = 7;
        z.grid = grid ? 1.0 / 1024 : 0;
        mcamp_key_insecure_test(11, &z.key);
        must(mcamp_noise_init(&ctx, &z, &m), name);
        for (uint64_t t = 0; t < d->n; t++) {
            memset(on, 0, sizeof on);
            out.d = grid ? NULL : x;
            out.grid = grid ? on : NULL;
            must(mcamp_noise_next(&ctx, &m, t, 7, &out), name);
            for (int i = 0; i < 7; i++) h = mix(h, grid ? (uint64_t)on[i] : bits(x[i]));
        }
        snprintf(what, sizeof what, "noise-%s-%s", grid ? "lattice" : "doubles", name);
        line(same, what, h);
        mcamp_noise_free(&ctx, &m);
        if (!grid) {
            must(mcamp_gram_init(&ctx, &c, 4, &g), name);
            snprintf(what, sizeof what, "digest-%s", name);
            line(same, what, mix(c.digest, g.digest));
            mcamp_gram_free(&ctx, &g);
        }
        mcamp_mech_free(&ctx, &c);
    }
}

static void strategies(void)
{
    static const double coef[4] = { 1.25, 0.5, -0.25, 0.125 }, scale[11] = {
        1, 1.25, 0.9, 1.5, 1.1, 0.7, 1.0 / 7, 1, 2, 3, 0.5 };
    static const double theta[2] = { 0.5, 0.9 }, omega[2] = { 0.25, 0.12 };
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.n = 11;
    d.kind = MCAMP_MECH_IDENTITY;
    noise_of("identity", &d);
    d.kind = MCAMP_MECH_TOEPLITZ; d.coef = coef; d.count = 4;
    noise_of("toeplitz", &d);
    d.scale = scale;
    noise_of("scaled", &d);
    d.scale = NULL; d.coef = NULL; d.count = 0;
    d.kind = MCAMP_MECH_SQRT; d.bands = 5;
    noise_of("sqrt", &d);
    d.bands = 0;
    d.kind = MCAMP_MECH_BLT; d.theta = theta; d.omega = omega; d.buffers = 2;
    noise_of("blt", &d);
}

static void batches(void)
{
    static const char *const name[] = { "", "bins", "poisson", "fixed", "minsep", "shuffle" };
    for (int law = 1; law <= 5; law++) {
        mcamp_batch_desc d;
        mcamp_batch b;
        mcamp_batch_size size;
        size_t who[EXAMPLES];
        uint64_t h = 0;
        char what[40];
        memset(&d, 0, sizeof d);
        d.law = (mcamp_batch_law)law;
        d.examples = EXAMPLES;
        d.rounds = ROUNDS;
        d.batches = BATCHES;
        if (law == MCAMP_BATCH_POISSON || law == MCAMP_BATCH_MINSEP) d.q = 0.3;
        if (law == MCAMP_BATCH_FIXED) d.size = 2;
        mcamp_key_insecure_test(5, &d.key);
        must(mcamp_batch_init(&ctx, &d, &b), name[law]);
        for (uint64_t t = 0; t < ROUNDS; t++) {
            must(mcamp_batch_round(&ctx, &b, t, who, EXAMPLES, &size), name[law]);
            for (size_t i = 0; i < size.kept; i++) h = mix(h, who[i]);
            h = mix(h, size.kept);
        }
        snprintf(what, sizeof what, "batches-%s", name[law]);
        line(same, what, h);
        mcamp_batch_free(&ctx, &b);
    }
}

/* ---- a run from its record -------------------------------------------------------------- */

static void claim(mcamp_problem *p)
{
    static const double coef[3] = { 1, 0.5, 0.375 };
    memset(p, 0, sizeof *p);
    p->strategy.kind = MCAMP_MECH_TOEPLITZ;
    p->strategy.coef = coef;
    p->strategy.count = 3;
    p->rounds = ROUNDS;
    p->batches = BATCHES;
    p->eps = 1;
    p->delta = 1e-2;
    p->sigma = 2.25;
}

static void train_open(const char *record, size_t size, mcamp_train *run)
{
    mcamp_train_desc d;
    memset(&d, 0, sizeof d);
    d.examples = EXAMPLES;
    d.dim = DIM;
    d.clip_norm = 0.5;
    d.record = record;
    d.record_size = size;
    mcamp_key_insecure_test(7, &d.key);
    must(mcamp_train_init(&ctx, &d, run), "run");
}

/* Rounds until `end`: what is released, in hex. */
static void train_on(mcamp_train *run, uint64_t end, char *text)
{
    while (run->session.round < end) {
        uint64_t t = run->session.round;
        const size_t *who;
        size_t count;
        double out[DIM];
        must(mcamp_train_begin(&ctx, run, &who, &count), "begin");
        for (size_t i = 0; i < count; i++) {
            double g[DIM] = { 1e-310, -0.3, 1e300, 0.1, -7 };
            mcamp_tensor whole = { NULL, NULL, DIM };
            whole.d = g;
            g[3] *= (double)who[i];
            must(mcamp_session_add(&ctx, &run->session, who[i], &whole, 1), "add");
        }
        must(mcamp_session_end(&ctx, &run->session, out), "end");
        for (int i = 0; i < DIM; i++)
            text += sprintf(text, "%lu %016llx\n", (unsigned long)t,
                            (unsigned long long)bits(out[i]));
    }
}

static void a_run(const char *dir)
{
    static char record[1 << 14], text[1 << 14];
    static unsigned char state[1 << 14];
    static mcamp_train run;
    mcamp_writer w = { write_file, NULL };
    mcamp_problem p;
    mcamp_guarantee g;
    mcamp_mech c;
    size_t size;
    FILE *f = open_file(dir, "record", "wb");
    w.user = f;
    claim(&p);
    must(mcamp_problem_verify(&ctx, &p, &g), "verify");
    check(g.accepted, dir, "the claim is refused");
    p.strategy.n = ROUNDS;
    must(mcamp_mech_init(&ctx, &p.strategy, &c), "C");
    must(mcamp_record_write(&g, &c, &w), "record");
    mcamp_mech_free(&ctx, &c);
    fclose(f);
    size = read_file(dir, "record", record, sizeof record);
    train_open(record, size, &run);
    train_on(&run, STOP, text);
    must(mcamp_session_save(&ctx, &run.session, state, sizeof state, &size), "save");
    f = open_file(dir, "state", "wb");
    check(fwrite(state, 1, size, f) == size && !fclose(f), dir, "state");
    train_on(&run, ROUNDS, text);
    f = open_file(dir, "rest", "wb");
    fputs(text, f);
    fclose(f);
    mcamp_train_free(&ctx, &run);
}

/* Another machine's run: the proof once more, then what is left of it. */
static void go_on(const char *dir)
{
    static char record[1 << 14], state[1 << 14], want[1 << 14], text[1 << 14];
    static mcamp_train run;
    size_t size = read_file(dir, "record", record, sizeof record), n;
    mcamp_guarantee g, again;
    mcamp_mech c;
    must(mcamp_record_read(&ctx, record, size, &c, &g), dir);
    must(mcamp_guarantee_repeat(&ctx, &c, &g, &again), dir);
    check(g.accepted && again.accepted, dir, "the proof does not hold here");
    mcamp_mech_free(&ctx, &c);
    train_open(record, size, &run);
    n = read_file(dir, "state", state, sizeof state);
    must(mcamp_session_load(&ctx, &run.session, state, n), dir);
    check(run.session.round == STOP, dir, "another round");
    train_on(&run, ROUNDS, text);
    read_file(dir, "rest", want, sizeof want);
    check(!strcmp(text, want), dir, "other numbers are released here");
    mcamp_train_free(&ctx, &run);
}

/* ---- verdicts and digits --------------------------------------------------------------- */

static void verdicts(void)
{
    static const double sigma[] = { 0.8, 1.5, 1.9, 2.25, 4 };
    uint64_t accepted = 0;
    mcamp_problem p;
    mcamp_guarantee g;
    claim(&p);
    for (int i = 0; i < 10; i++) {
        p.sigma = sigma[i % 5];
        p.delta = i < 5 ? 1e-2 : 1e-4;
        must(mcamp_problem_verify(&ctx, &p, &g), "verify");
        accepted = accepted << 1 | g.accepted;
    }
    check(accepted && accepted != 1023, "verdicts", "all alike");
    line(same, "verdicts", accepted);
}

static void closed_forms(void)
{
    double x;
    must(mcamp_gauss_sigma(&ctx, 1, 1, 1e-5, &x), "sigma");
    about("gauss-sigma", 14, x);
    must(mcamp_gauss_sigma(&ctx, 1, 0.01, 1e-300, &x), "sigma");
    about("gauss-sigma-far", 14, x);
    must(mcamp_gauss_epsilon(&ctx, 2, 1, 1e-8, &x), "epsilon");
    about("gauss-epsilon", 14, x);
    must(mcamp_gauss_delta(&ctx, 2.5, 1, 3, &x), "delta");
    about("gauss-delta", 12, x);
}

static void accountants(void)
{
    mcamp_event e[2];
    mcamp_interval v;
    memset(e, 0, sizeof e);
    e[0].kind = MCAMP_EVENT_POISSON; e[0].q = 0.01; e[0].sigma = 0.9; e[0].count = 100;
    e[1].kind = MCAMP_EVENT_GAUSSIAN; e[1].sigma = 4; e[1].count = 3;
    must(mcamp_exact_delta(&ctx, e, 2, NULL, 1, &v, NULL), "exact");
    about("account-delta-lower", 12, v.lower);
    about("account-delta-upper", 12, v.upper);
    must(mcamp_exact_epsilon(&ctx, e, 2, NULL, 1e-7, &v, NULL), "exact");
    about("account-epsilon-lower", 12, v.lower);
    about("account-epsilon-upper", 12, v.upper);
}

static void estimates(void)
{
    mcamp_problem p;
    mcamp_answer a;
    memset(&a, 0, sizeof a);
    claim(&p);
    must(mcamp_problem_delta(&ctx, &p, &a), "delta");
    about("estimate-delta", 12, a.delta);
    must(mcamp_problem_sigma(&ctx, &p, &a), "sigma");
    about("estimate-sigma", 12, a.sigma);
    must(mcamp_problem_epsilon(&ctx, &p, &a), "epsilon");
    about("estimate-epsilon", 12, a.eps);
}

static void optimum(void)
{
    mcamp_opt_desc d;
    mcamp_opt_result r;
    mcamp_mech c;
    memset(&d, 0, sizeof d);
    d.family = MCAMP_OPT_TOEPLITZ;
    d.amplification = MCAMP_AMPLIFY_NONE;
    d.rounds = 16;
    d.batches = 8;
    d.eps = 1;
    d.delta = 1e-5;
    must(mcamp_opt_run(&ctx, &d, &c, &r), "optimum");
    about("optimum-error", 12, r.rmse);
    mcamp_mech_free(&ctx, &c);
}

/* A key of the system. */
static void entropy(void)
{
    mcamp_key a, b;
    must(mcamp_key_random(&ctx, NULL, &a), "entropy");
    must(mcamp_key_random(&ctx, NULL, &b), "entropy");
    check(memcmp(&a, &b, sizeof a) != 0, "entropy", "the same key twice");
}

int main(int argc, char **argv)
{
    must(mcamp_ctx_init(&ctx, NULL), "context");
    for (int i = 2; i < argc && !strcmp(argv[1], "read"); i++) go_on(argv[i]);
    if (argc != 3 || strcmp(argv[1], "write") != 0) return !(argc > 2);
    entropy();
    same = open_file(argv[2], "same", "wb");
    digits = open_file(argv[2], "digits", "wb");
    random_words();
    strategies();
    batches();
    a_run(argv[2]);
    verdicts();
    closed_forms();
    accountants();
    estimates();
    optimum();
    return fclose(same) || fclose(digits);
}
