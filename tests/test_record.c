/* Section record: what was written is what is read, and nothing else is. */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "mcamp_fault.h"
#include "words_common.h"
#include <locale.h>

enum { N = 7, B = 3 };

static mcamp_ctx ctx;

static void start(void)
{
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
}

/* C of every kind and form, with factors and normalized where that is possible. */
static mcamp_mech make(int which)
{
    static const double coef[3] = { 1, 0.7, 1.0 / 3 }, theta[2] = { 0.25, 0.9 },
                        omega[2] = { 0.5, 0.1 }, inverse[2] = { 1, -0.4 },
                        scale[N] = { 1, 1.25, 0.9, 1.5, 1.1, 0.7, 1.0 / 7 };
    mcamp_mech_desc d;
    mcamp_mech m;
    double rows[3 * N - 3], dense[N * N];
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    for (size_t i = 0; i < 3 * N - 3; i++) rows[i] = 1 + 0.1 * (double)i;
    for (size_t i = 0; i < N * N; i++)
        dense[i] = i / N >= i % N ? 1.0 / (1 + (double)(i / N - i % N)) : 0;
    d.n = N;
    d.kind = (mcamp_mech_kind)(1 + which % 10);
    d.normalize = which >= 10;
    if (which >= 20) d.scale = scale;
    switch ((int)d.kind) {
    case MCAMP_MECH_TOEPLITZ: d.coef = coef; d.count = 3; break;
    case MCAMP_MECH_BANDED:   d.coef = rows; d.count = 3 * N - 3; d.bands = 3; break;
    case MCAMP_MECH_BLT:      d.theta = theta; d.omega = omega; d.buffers = 2; break;
    case MCAMP_MECH_DENSE:    d.coef = dense; d.count = N * N; break;
    case MCAMP_MECH_INVERSE:  d.coef = inverse; d.count = 2; break;
    default: break;
    }
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &m), MCAMP_OK);
    return m;
}

static mcamp_guarantee about(const mcamp_mech *m)
{
    mcamp_guarantee g = sample_claim();
    g.rounds = N;
    g.batches = B;
    g.epochs = 3;
    g.strategy_digest = m->digest;
    g.gram_digest = mcamp__gram_digest(m, B);
    return g;
}

static void write_record(const mcamp_guarantee *g, const mcamp_mech *m)
{
    mcamp_writer w = writer();
    CHECK_STATUS(mcamp_record_write(g, m, &w), MCAMP_OK);
}

static mcamp_status read_back(size_t size, mcamp_mech *m, mcamp_guarantee *g)
{
    return mcamp_record_read(&ctx, out.s, size, m, g);
}

static int same(const double *a, const double *b, size_t n)
{
    return (!a && !b) || (a && b && !memcmp(a, b, n * sizeof *a));
}

TEST(records_come_back_to_the_bit)
{
    start();
    for (int which = 0; which < 30; which++) {
        mcamp_mech m = make(which), r;
        mcamp_guarantee g = about(&m), back;
        char first[sizeof out.s];
        memset(&r, 0, sizeof r);
        g.lower = 5e-324; g.upper = mcamp__inf(); g.std_error = 1.0 / 3; g.unamplified = 1e300 / 7;
        g.seed = UINT64_MAX;
        write_record(&g, &m);
        memcpy(first, out.s, out.n + 1);
        CHECK_STATUS(read_back(out.n, &r, &back), MCAMP_OK);
        CHECK(r.kind == m.kind && r.form == m.form && r.n == m.n && r.bands == m.bands &&
              r.buffers == m.buffers && r.count == m.count && r.negative == m.negative &&
              r.inverse_bands == m.inverse_bands && r.digest == m.digest && r.magic == m.magic);
        CHECK(same(r.coef, m.coef, m.count) && same(r.theta, m.theta, m.buffers) &&
              same(r.omega, m.omega, m.buffers) && same(r.inverse, m.inverse, m.inverse_bands) &&
              same(r.scale, m.scale, m.n) && same(&r.diag, &m.diag, 1));
        CHECK(!memcmp(&back.remove.value, &g.remove.value, sizeof(double)));
        CHECK(back.seed == g.seed && back.magic == g.magic && back.law == g.law);
        write_record(&back, &r);
        CHECK(!strcmp(first, out.s));           /* every field: the same text again */
        mcamp_mech_free(&ctx, &r);
        mcamp_mech_free(&ctx, &m);
    }
}

TEST(every_edit_of_a_byte_is_refused)
{
    mcamp_mech m, r;
    mcamp_guarantee g, back;
    size_t size;
    start();
    m = make(24);
    g = about(&m);
    write_record(&g, &m);
    size = out.n;
    memset(&back, 0, sizeof back);
    memset(&r, 0, sizeof r);
    for (size_t i = 0; i < size; i++) {
        static const char with[] = "0918.-e \n#x";
        char kept = out.s[i];
        for (size_t k = 0; k < sizeof with; k++) {
            char c = k + 1 < sizeof with ? with[k] : (char)(kept ^ 1);
            if (c == kept) continue;
            out.s[i] = c;
            CHECK(read_back(size, &r, &back) < 0 && !r.magic && !back.magic);
        }
        out.s[i] = kept;
    }
    for (size_t n = 0; n < size; n++) CHECK_STATUS(read_back(n, &r, &back), MCAMP_E_BLOB);
    out.s[size] = '\n';
    CHECK_STATUS(read_back(size + 1, &r, &back), MCAMP_E_BLOB);
    CHECK_STATUS(read_back(size, &r, &back), MCAMP_OK);
    mcamp_mech_free(&ctx, &r);
    mcamp_mech_free(&ctx, &m);
}

/* The text after a change of one line, with the checksum that fits it. */
static void forge(const char *from, const char *to)
{
    char text[sizeof out.s], *at = strstr(out.s, from), *last = text, digits[24];
    mcamp__out o;
    mcamp_writer w;
    uint64_t sum;
    CHECK(at != NULL);
    if (!at) return;
    memcpy(text, out.s, (size_t)(at - out.s));
    strcpy(text + (at - out.s), to);
    strcat(text, at + strlen(from));
    for (at = text; (at = strstr(at, "checksum: ")) != NULL; at++) last = at;
    *last = '\0';
    w = writer();
    o = mcamp__out_open(&w);
    mcamp__put(&o, text);
    sum = o.sum;
    mcamp__put(&o, "checksum: ");
    mcamp__put(&o, mcamp__digest_text(sum, digits));
    mcamp__put(&o, "\n");
}

TEST(fields_that_contradict_each_other_are_refused)
{
    static const struct { const char *from, *to; mcamp_status status; const char *name; } edit[] = {
        { "mcamp record: 1", "mcamp record: 2", MCAMP_E_BLOB, "version" },
        { "mcamp record: 1", "mcamp record: 0", MCAMP_E_BLOB, "record" },
        { "version: 0.4.0", "version: 0.4.1", MCAMP_E_BLOB, "version" },
        { "version: 0.4.0", "version: 1.0.0", MCAMP_E_BLOB, "version" },
        { "version: 0.4.0", "version: 0.4", MCAMP_E_BLOB, "version" },
        { "strategy_digest: ", "strategy_digest: 0", MCAMP_E_BLOB, "strategy_digest" },
        { "version: 0.4.0", "version: 0.1.", MCAMP_E_BLOB, "version" },
        { "version: 0.4.0", "version: 0.1.0.", MCAMP_E_BLOB, "version" },
        { "coef: 0.7\n", "coef: 0.75\n", MCAMP_E_MISMATCH, "strategy_digest" },
        { "coef: 0.7\n", "coef: 0,7\n", MCAMP_E_BLOB, "coef" },
        { "coef: 0.7\n", "coef: 7e-1x\n", MCAMP_E_BLOB, "coef" },
        { "coef: 0.7\n", "", MCAMP_E_BLOB, "coef" },
        { "coefs: 3", "coefs: 4", MCAMP_E_BLOB, "coef" },
        { "coefs: 3", "coefs: 99999999999", MCAMP_E_BLOB, "coefs" },
        { "coef: 1\n", "coef: 0\n", MCAMP_E_STRATEGY, NULL },
        { "bands: 3", "bands: 8", MCAMP_E_SIZE, "strategy" },
        { "bands: 3", "bands: 2", MCAMP_E_SIZE, "strategy" },
        { "scales: 0", "scales: 1\nscale: 2", MCAMP_E_BLOB, "scales" },
        { "strategy_rounds: 7", "strategy_rounds: 8", MCAMP_E_MISMATCH, "strategy_digest" },
        { "\nrounds: 7", "\nrounds: 8", MCAMP_E_MISMATCH, "rounds" },
        { "\nbatches: 3", "\nbatches: 4", MCAMP_E_MISMATCH, "gram_digest" },
        { "epochs: 3", "epochs: 4", MCAMP_E_MISMATCH, "epochs" },
        { "\naccepted: true", "\naccepted: false", MCAMP_E_MISMATCH, "accepted" },
        { "kind: verified claim", "kind: estimate", MCAMP_E_MISMATCH, "accepted" },
        { "kind: verified claim", "kind: proven", MCAMP_E_BLOB, "kind" },
        { "interrupted: false", "interrupted: true", MCAMP_E_MISMATCH, "interrupted" },
        { "accepted_add: true", "accepted_add: false", MCAMP_E_MISMATCH, "direction" },
        { "accepted_remove: true", "accepted_remove: false", MCAMP_E_MISMATCH, "direction" },
        { "sampling: balls in bins", "sampling: none", MCAMP_E_MISMATCH, "sampling" },
        { "sampling: balls in bins", "sampling: shuffle, not amplified", MCAMP_E_MISMATCH,
          "adjacency" },
        { "sampling: balls in bins", "sampling: b-min-sep Poisson", MCAMP_E_MISMATCH, NULL },
        { "unit: 1", "unit: 0", MCAMP_E_MISMATCH, "unit" },
        { "unit: 1", "unit: 01", MCAMP_E_BLOB, "unit" },
        { "points: 1", "points: 0", MCAMP_E_MISMATCH, "unit" },
        { "seed: 77", "seed: 18446744073709551616", MCAMP_E_BLOB, "seed" },
        { "seed: 77", "seed: -1", MCAMP_E_BLOB, "seed" },
        { "\nsigma: 4.25", "\nsigma: 0", MCAMP_E_REQUIRED, NULL },
        { "\nsigma: 4.25", "\nsigma: inf", MCAMP_E_NONFINITE, NULL },
        { "\nsigma: 4.25", "\nsigma: nan", MCAMP_E_BLOB, "sigma" },
        { "\ndelta: 1e-05", "\ndelta: 1", MCAMP_E_ARG, NULL },
        { "\nepsilon: 1.1", "\nepsilon: -1", MCAMP_E_ARG, NULL },
        { "\nbeta: 2e-06", "\nbeta: 1", MCAMP_E_ARG, NULL },
        { "strategy_digest: ", "strategy_digest: f", MCAMP_E_BLOB, "strategy_digest" },
        { "gram_digest: ", "gram_digest: G", MCAMP_E_BLOB, "gram_digest" },
    };
    mcamp_mech m, r;
    mcamp_guarantee g, back;
    start();
    m = make(1);
    g = about(&m);
    memset(&r, 0, sizeof r);
    memset(&back, 0, sizeof back);
    for (size_t i = 0; i < sizeof edit / sizeof edit[0]; i++) {
        mcamp_status st;
        const char *name;
        write_record(&g, &m);
        forge(edit[i].from, edit[i].to);
        st = read_back(out.n, &r, &back);
        name = mcamp_last_error(&ctx).argument;
        CHECK_STATUS(st, edit[i].status);
        CHECK(!edit[i].name || (name && !strcmp(name, edit[i].name)));
        if (st != edit[i].status || (edit[i].name && (!name || strcmp(name, edit[i].name))))
            printf("    %s: %s\n", edit[i].to, name);
        CHECK(!r.magic && !back.magic);
    }
    write_record(&g, &m);
    forge("seed: 77", "seed: 78");              /* forging itself works */
    CHECK_STATUS(read_back(out.n, &r, &back), MCAMP_OK);
    CHECK(back.seed == 78);
    mcamp_mech_free(&ctx, &r);
    mcamp_mech_free(&ctx, &m);
    /* noise by another inverse than the one that was accounted for */
    m = make(6);
    CHECK(m.kind == MCAMP_MECH_INVERSE);
    g = about(&m);
    write_record(&g, &m);
    forge("inverse: -0.4", "inverse: -0.5");
    memset(&r, 0, sizeof r);
    CHECK_STATUS(read_back(out.n, &r, &back), MCAMP_E_STRATEGY);
    mcamp_mech_free(&ctx, &m);
}

TEST(arguments)
{
    mcamp_mech m, other, r;
    mcamp_guarantee g, back;
    mcamp_writer w;
    start();
    m = make(2);
    other = make(1);
    g = about(&m);
    w = writer();
    CHECK_STATUS(mcamp_record_write(&g, &other, &w), MCAMP_E_MISMATCH);
    CHECK_STATUS(mcamp_record_write(NULL, &m, &w), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_record_write(&g, NULL, &w), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_record_write(&g, &m, NULL), MCAMP_E_REQUIRED);
    CHECK(!out.n);
    out.most = 100;
    CHECK_STATUS(mcamp_record_write(&g, &m, &w), MCAMP_Q_INTERRUPTED);
    g.magic = 0;
    CHECK_STATUS(mcamp_record_write(&g, &m, &w), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_record_read(&ctx, NULL, 0, &r, &back), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_record_read(&ctx, "", 0, &r, &back), MCAMP_E_BLOB);
    CHECK_STATUS(mcamp_record_read(&ctx, "", 0, NULL, &back), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_record_read(NULL, "", 0, &r, &back), MCAMP_E_ARG);
    mcamp_mech_free(&ctx, &m);
    mcamp_mech_free(&ctx, &other);
}

/* A decimal comma in the locale changes neither text nor numbers. */
TEST(locales_do_not_matter)
{
    static const char *const name[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8" };
    mcamp_mech m, r;
    mcamp_guarantee g, back;
    char first[sizeof out.s];
    start();
    m = make(24);
    g = about(&m);
    write_record(&g, &m);
    memcpy(first, out.s, out.n + 1);
    for (size_t i = 0; i < 4; i++) if (setlocale(LC_ALL, name[i])) break;
    write_record(&g, &m);
    CHECK(!strcmp(first, out.s));
    CHECK_STATUS(read_back(out.n, &r, &back), MCAMP_OK);
    CHECK_NEAR(back.sigma, g.sigma, 0, 0);
    setlocale(LC_ALL, "C");
    mcamp_mech_free(&ctx, &r);
    mcamp_mech_free(&ctx, &m);
}

/* The samples of the record, once more: the same to the bit; and what no samples decided. */
TEST(what_is_recorded_can_be_repeated)
{
    mcamp_mech m, r;
    mcamp_gram gram;
    mcamp_claim c;
    mcamp_guarantee g, back, again;
    start();
    m = make(2);
    memset(&c, 0, sizeof c);
    c.eps = 1; c.delta = 1e-3; c.beta = 1e-3; c.seed = 9;
    CHECK_STATUS(mcamp_gram_init(&ctx, &m, B, &gram), MCAMP_OK);
    CHECK(mcamp_calibrate_certified(&ctx, &gram, &c, &g) >= 0);
    CHECK(g.accepted && g.rung > 0 && g.remove.samples);
    write_record(&g, &m);
    CHECK_STATUS(read_back(out.n, &r, &back), MCAMP_OK);
    CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &r, &back, &again), MCAMP_OK);
    CHECK(again.accepted && again.rung == g.rung && again.seed == 9);
    CHECK(again.remove.samples == g.remove.samples && again.add.samples == g.add.samples);
    CHECK_NEAR(again.remove.log_wealth, g.remove.log_wealth, 0, 0);
    CHECK_NEAR(again.add.log_wealth, g.add.log_wealth, 0, 0);
    CHECK_NEAR(again.sigma, g.sigma, 0, 0);
    CHECK_NEAR(again.beta, g.beta, 0, 0);
    back.sigma *= 0.5;
    CHECK(mcamp_guarantee_repeat(&ctx, &r, &back, &again) > 0 && !again.accepted);
    mcamp_mech_free(&ctx, &r);
    mcamp_gram_free(&ctx, &gram);
    for (int law = 1; law <= 2; law++) {
        if (law == 2)
            CHECK_STATUS(mcamp_guarantee_poisson(&ctx, &m, N, 0.3, 2, 1e-4, &g), MCAMP_OK);
        else
            CHECK_STATUS(mcamp_guarantee_unamplified(&ctx, &m, MCAMP_BATCH_BINS, B, 3, 1e-4, &g),
                         MCAMP_OK);
        write_record(&g, &m);
        CHECK_STATUS(read_back(out.n, &r, &back), MCAMP_OK);
        CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &r, &back, &again), MCAMP_OK);
        CHECK(again.accepted && again.kind == g.kind);
        back.eps *= 0.99;
        CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &r, &back, &again), MCAMP_Q_REFUSED);
        CHECK(!again.accepted && again.kind == MCAMP_KIND_NONE);
        mcamp_mech_free(&ctx, &r);
    }
    mcamp_mech_free(&ctx, &m);
    /* a plan without samples: delta at the eps that was asked for */
    for (unsigned sampling = 0; sampling <= MCAMP_PLAN_POISSON; sampling += MCAMP_PLAN_POISSON) {
        mcamp_plan_desc d;
        mcamp_plan_result p;
        memset(&d, 0, sizeof d);
        d.rounds = 13; d.batches = 6; d.eps = 2; d.delta = 1e-3; d.memory = 1;
        d.sampling = sampling;
        CHECK_STATUS(mcamp_plan(&ctx, &d, &m, &p), MCAMP_OK);
        CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &m, &p.guarantee, &again), MCAMP_OK);
        p.guarantee.delta *= 0.9;
        CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &m, &p.guarantee, &again), MCAMP_Q_REFUSED);
        p.guarantee.strategy_digest ^= 1;
        CHECK_STATUS(mcamp_guarantee_repeat(&ctx, &m, &p.guarantee, &again), MCAMP_E_MISMATCH);
        mcamp_mech_free(&ctx, &m);
    }
}

/* ---- shares of a proof ---- */

static char half[2][sizeof out.s];

static mcamp_text text_of(const char *s)
{
    mcamp_text t;
    t.text = s;
    t.size = strlen(s);
    return t;
}

static mcamp_claim tight_claim(void)
{
    mcamp_claim c;
    memset(&c, 0, sizeof c);
    c.sigma = 4; c.eps = 0.1; c.delta = 0.2; c.beta = 1e-6; c.seed = 5; c.max_samples = 8192;
    return c;
}

static mcamp_mech shared_mech(mcamp_ctx *with, mcamp_gram *gram)
{
    mcamp_mech_desc d;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_SQRT;
    d.n = 32;
    d.bands = 8;
    memset(gram, 0, sizeof *gram);
    memset(&m, 0, sizeof m);
    if (mcamp_mech_init(with, &d, &m) == MCAMP_OK && mcamp_gram_init(with, &m, 8, gram) < 0) {
        mcamp_mech_free(with, &m);
        memset(&m, 0, sizeof m);
    }
    return m;
}

static void halves(const mcamp_mech *m, const mcamp_gram *gram, const mcamp_claim *c)
{
    for (uint64_t i = 0; i < 2; i++) {
        mcamp_writer w = writer();
        CHECK_STATUS(mcamp_verify_shard(&ctx, m, gram, c, i + 1, 2, &w), MCAMP_OK);
        strcpy(half[i], out.s);
    }
}

/* The first half forged, its checksum right: why it is refused. */
static void forged(const char *from, const char *to, mcamp_status want, const char *why)
{
    mcamp_text t[2];
    mcamp_mech m;
    mcamp_guarantee g;
    mcamp_error e;
    strcpy(out.s, half[0]);
    out.n = strlen(out.s);
    forge(from, to);
    t[0] = text_of(out.s);
    t[1] = text_of(half[1]);
    memset(&g, 1, sizeof g);
    CHECK_STATUS(mcamp_verify_merge(&ctx, t, 2, &m, &g), want);
    e = mcamp_last_error(&ctx);
    CHECK(!g.accepted && g.kind == MCAMP_KIND_NONE);
    CHECK(e.argument && !strcmp(e.argument, why));
    if (!e.argument || strcmp(e.argument, why) != 0)
        printf("  %s -> %s: %s, not %s\n", from, to, e.argument ? e.argument : "?", why);
}

TEST(shares_are_what_one_run_is)
{
    mcamp_claim c = tight_claim();
    mcamp_gram gram;
    mcamp_mech m, back;
    mcamp_guarantee one, all;
    mcamp_text t[2];
    start();
    m = shared_mech(&ctx, &gram);
    for (int k = 0; k < 3; k++) {
        mcamp_status st;
        c.direction = (mcamp_direction)k;
        halves(&m, &gram, &c);
        st = mcamp_verify(&ctx, &gram, &c, &one);
        t[0] = text_of(half[1]);
        t[1] = text_of(half[0]);
        CHECK_STATUS(mcamp_verify_merge(&ctx, t, 2, &back, &all), st);
        CHECK(one.accepted && (k == 2 || one.samples > 0));
        CHECK(!memcmp(&one, &all, sizeof one));
        CHECK(back.digest == m.digest && !ctx.spread.run);
        mcamp_mech_free(&ctx, &back);
    }
    mcamp_gram_free(&ctx, &gram);
    mcamp_mech_free(&ctx, &m);
}

/* A host of three machines, the last one first; how many blocks it drew. */
static mcamp_status in_thirds(void *user, const mcamp_blocks *what, mcamp_tally *sum,
                              mcamp_status (*draw)(void *job, uint64_t first, uint64_t count,
                                                   mcamp_tally *sum), void *job)
{
    static mcamp_tally part;
    uint64_t end = what->count;
    for (uint64_t i = 3; i-- > 0;) {
        uint64_t from = what->count * i / 3;
        memset(&part, 0, sizeof part);
        if (end > from) CHECK_STATUS(draw(job, what->first + from, end - from, &part), MCAMP_OK);
        CHECK_STATUS(mcamp_tally_merge(&ctx, sum, &part), MCAMP_OK);
        end = from;
    }
    *(uint64_t *)user += what->count;
    return MCAMP_OK;
}

/* Alone, in shares, and where they are merged. */
TEST(machines_that_share_the_samples_are_one)
{
    static char apart[2][sizeof out.s];
    mcamp_claim c = tight_claim();
    mcamp_gram gram;
    mcamp_mech m, back;
    mcamp_guarantee one, all;
    mcamp_text t[2];
    uint64_t blocks = 0, before;
    start();
    m = shared_mech(&ctx, &gram);
    halves(&m, &gram, &c);
    memcpy(apart, half, sizeof half);
    CHECK_STATUS(mcamp_verify(&ctx, &gram, &c, &one), MCAMP_OK);
    ctx.spread.run = in_thirds;
    ctx.spread.user = &blocks;
    CHECK_STATUS(mcamp_verify(&ctx, &gram, &c, &all), MCAMP_OK);
    CHECK(blocks >= one.samples / MCAMP_BLOCK && !memcmp(&one, &all, sizeof one));
    before = blocks;
    halves(&m, &gram, &c);
    CHECK(blocks > before + 10);
    for (int i = 0; i < 2; i++) { CHECK(!strcmp(half[i], apart[i])); t[i] = text_of(half[i]); }
    before = blocks;
    CHECK_STATUS(mcamp_verify_merge(&ctx, t, 2, &back, &all), MCAMP_OK);
    CHECK(blocks > before && !memcmp(&one, &all, sizeof one));
    mcamp_mech_free(&ctx, &back);
    mcamp_gram_free(&ctx, &gram);
    mcamp_mech_free(&ctx, &m);
}

TEST(forged_shares_are_refused)
{
    static const struct { const char *from, *to, *why; mcamp_status status; } edit[] = {
        { "version: 0.", "version: 0.0", "version", MCAMP_E_BLOB },
        { "tally: 1\nversion: 0.4", "tally: 1\nversion: 0.3", "version", MCAMP_E_BLOB },
        { "mcamp tally: 1", "mcamp tally: 2", "version", MCAMP_E_BLOB },
        { "shard: 1", "shard: 2", "twice", MCAMP_E_MISMATCH },
        { "shard: 1", "shard: 3", "shard", MCAMP_E_BLOB },
        { "shards: 2", "shards: 3", "shards", MCAMP_E_MISMATCH },
        { "seed: 5", "seed: 6", "question", MCAMP_E_MISMATCH },
        { "question_bytes: 1", "question_bytes: 99", "question_bytes", MCAMP_E_BLOB },
        { " 1024\n", " 2048\n", "tally", MCAMP_E_MISMATCH },
        { "epsilon: 0.1\nlog_scale", "epsilon: 0.11\nlog_scale", "tally", MCAMP_E_MISMATCH },
        { "sigma: 4\nepsilon: 0.1\nlog", "sigma: 5\nepsilon: 0.1\nlog", "tally", MCAMP_E_MISMATCH },
        { "split: 0", "split: 1", "tally", MCAMP_E_MISMATCH },
        { "poisoned: 0", "poisoned: 1", "sample", MCAMP_E_SAMPLE },
        { "\nbins: ", "\nbins: 9", "bin", MCAMP_E_BLOB },
        { "\nbin: ", "\nbin: 1", "bin", MCAMP_E_BLOB },
        { "\nbin: ", "\nbin: 0 ", "bin", MCAMP_E_BLOB } };
    char digest[27] = "", wrong[27];
    mcamp_claim c = tight_claim();
    mcamp_gram gram;
    mcamp_mech m;
    start();
    c.beta = 0.1;               /* decided by the first block */
    m = shared_mech(&ctx, &gram);
    halves(&m, &gram, &c);
    for (size_t i = 0; i < sizeof edit / sizeof edit[0]; i++)
        forged(edit[i].from, edit[i].to, edit[i].status, edit[i].why);
    memcpy(digest, strstr(half[0], "question: "), 26);
    memcpy(wrong, digest, sizeof wrong);
    wrong[10] = digest[10] == '0' ? '1' : '0';
    forged(digest, wrong, MCAMP_E_MISMATCH, "question");
    mcamp_gram_free(&ctx, &gram);
    mcamp_mech_free(&ctx, &m);
}

static mcamp_status merge_halves(mcamp_ctx *with, void *user)
{
    mcamp_text t[2];
    mcamp_mech m;
    mcamp_guarantee g;
    mcamp_status st;
    (void)user;
    t[0] = text_of(half[0]);
    t[1] = text_of(half[1]);
    st = mcamp_verify_merge(with, t, 2, &m, &g);
    if (st >= 0) mcamp_mech_free(with, &m);
    return st;
}

static mcamp_status write_half(mcamp_ctx *with, void *user)
{
    mcamp_claim c = tight_claim();
    mcamp_gram gram;
    mcamp_mech m = shared_mech(with, &gram);
    mcamp_writer w = writer();
    mcamp_status st = MCAMP_E_MEMORY;
    (void)user;
    if (m.magic) st = mcamp_verify_shard(with, &m, &gram, &c, 1, 2, &w);
    mcamp_gram_free(with, &gram);
    mcamp_mech_free(with, &m);
    return st;
}

TEST(shares_survive_every_failed_allocation)
{
    mcamp_claim c = tight_claim();
    mcamp_gram gram, other;
    mcamp_mech m;
    mcamp_writer w = writer();
    start();
    m = shared_mech(&ctx, &gram);
    halves(&m, &gram, &c);
    CHECK(mt_all_faults("merge", merge_halves, NULL) > 0);
    CHECK(mt_all_faults("share", write_half, NULL) > 0);
    CHECK_STATUS(mcamp_verify_shard(&ctx, &m, &gram, &c, 0, 2, &w), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_verify_shard(&ctx, &m, &gram, &c, 3, 2, &w), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_verify_shard(&ctx, NULL, &gram, &c, 1, 2, &w), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_verify_shard(&ctx, &m, &gram, &c, 1, 2, NULL), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_verify_merge(&ctx, NULL, 2, &m, NULL), MCAMP_E_REQUIRED);
    c.seconds = 1;
    CHECK_STATUS(mcamp_verify_shard(&ctx, &m, &gram, &c, 1, 2, &w), MCAMP_E_ARG);
    c.seconds = 0;
    other = gram;
    other.strategy_digest ^= 1;
    CHECK_STATUS(mcamp_verify_shard(&ctx, &m, &other, &c, 1, 2, &w), MCAMP_E_MISMATCH);
    w.write = NULL;
    CHECK_STATUS(mcamp_verify_shard(&ctx, &m, &gram, &c, 1, 2, &w), MCAMP_E_REQUIRED);
    mcamp_gram_free(&ctx, &gram);
    mcamp_mech_free(&ctx, &m);
}

TEST_MAIN("record",
    T(shares_are_what_one_run_is),
    T(machines_that_share_the_samples_are_one),
    T(forged_shares_are_refused),
    T(shares_survive_every_failed_allocation),
    T(records_come_back_to_the_bit),
    T(every_edit_of_a_byte_is_refused),
    T(fields_that_contradict_each_other_are_refused),
    T(arguments),
    T(locales_do_not_matter),
    T(what_is_recorded_can_be_repeated))
