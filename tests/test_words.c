/* Section report: what is printed is what was proved, rounded to the safe side. */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include "mcamp_test.h"
#include "words_common.h"

static mcamp_ctx ctx;

static const char *report(const mcamp_guarantee *g, mcamp_report_format f)
{
    mcamp_writer w = writer();
    CHECK_STATUS(mcamp_report_guarantee(g, f, &w), MCAMP_OK);
    return out.s;
}

/* ---- decimals ------------------------------------------------------------------- */

static double rounded(double x, int digits, int side, char *text)
{
    mcamp__decimal d = mcamp__decimal_round(x, digits, side);
    double y;
    mcamp__decimal_text(&d, text);
    y = strtod(text, NULL);
    CHECK(side || strlen(text) < 25);
    return y;
}

TEST(decimals_are_rounded_to_their_side)
{
    static const double hard[] = { 9.995, 9.9999995, 0.99999949, 1, 10, 1e-5, 9.9999999e-6,
        4.9e-324,
        1.5e-323, 2.2250738585072014e-308, 1e-310, 1.7976931348623157e308, 123456.5, 1234567890.5,
        1e15, 99999.95, 0.1, 1e22, 5e-5, 3.7306315 };
    mcamp_rng r;
    char text[48];
    mcamp_rng_seed(&r, 5);
    for (int i = 0; i < 6000; i++) {
        uint64_t bits = mcamp_rng_next(&r);
        double x, up, down, unit;
        int digits = 1 + i % 17;
        memcpy(&x, &bits, sizeof x);
        if (i < 20) x = hard[i];
        else if (i < 400) x = hard[i % 20] * (i % 2 ? -1 : 1);
        if (!mcamp__finite(x)) continue;
        up = rounded(x, digits, MCAMP__UP, text);
        down = rounded(x, digits, MCAMP__DOWN, text);
        CHECK(up >= x && down <= x);
        unit = fabs(x) * pow(10, 1 - digits) * 1.0001 + 5e-324;
        if (fabs(x) < 1e307) CHECK(up - x <= unit && x - down <= unit);
        CHECK_NEAR(rounded(x, 17, MCAMP__EXACT, text), x, 0, 0);
    }
    rounded(9.9999995, 6, MCAMP__UP, text);
    CHECK(!strcmp(text, "10"));
    rounded(9.9999995, 6, MCAMP__DOWN, text);
    CHECK(!strcmp(text, "9.99999"));
    rounded(10.00004, 6, MCAMP__DOWN, text);
    CHECK(!strcmp(text, "10"));
    rounded(9.999996e-6, 6, MCAMP__DOWN, text);
    CHECK(!strcmp(text, "9.99999e-06"));
    rounded(-1.23456789, 3, MCAMP__UP, text);
    CHECK(!strcmp(text, "-1.23"));
    rounded(3.73063144, 6, MCAMP__UP, text);
    CHECK(!strcmp(text, "3.73064"));
    rounded(0.00012, 4, MCAMP__EXACT, text);
    CHECK(!strcmp(text, "0.00012"));
    rounded(0, 4, MCAMP__UP, text);
    CHECK(!strcmp(text, "0"));
    rounded(1500000, 4, MCAMP__UP, text);
    CHECK(!strcmp(text, "1500000"));
}

TEST(decimals_are_read_without_a_locale)
{
    static const char *const bad[] = { "", "-", ".5", "1.", "1,5", "1e", "1e+", "0x1", " 1", "1 ",
        "1e99999", "nan", "inf", "+1", "1.5.2", "1e5x", "1e999" };
    mcamp_rng r;
    double y = 0;
    mcamp_rng_seed(&r, 6);
    for (int i = 0; i < 3000; i++) {
        uint64_t bits = mcamp_rng_next(&r);
        double x;
        char text[48];
        memcpy(&x, &bits, sizeof x);
        if (!mcamp__finite(x)) continue;
        rounded(x, 17, MCAMP__EXACT, text);
        CHECK(mcamp__decimal_read(text, strlen(text), &y));
        CHECK(mcamp__bits(y) == mcamp__bits(x));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!mcamp__decimal_read(bad[i], strlen(bad[i]), &y));
    CHECK(mcamp__decimal_read("-12.5e-1", 8, &y));
    CHECK_NEAR(y, -1.25, 0, 0);
}

/* ---- JSON ------------------------------------------------------------------------ */

static const char *find(const char *json, const char *key)
{
    char want[80];
    const char *at;
    snprintf(want, sizeof want, "\"%s\": ", key);
    at = strstr(json, want);
    CHECK(at != NULL);
    CHECK(!at || !strstr(at + 1, want));            /* once */
    return at ? at + strlen(want) : "";
}

static void same_real(const char *json, const char *key, double x)
{
    CHECK_NEAR(strtod(find(json, key), NULL), x, 0, 0);
}

static void same_count(const char *json, const char *key, uint64_t n)
{
    CHECK(strtoull(find(json, key), NULL, 10) == n);
}

static void same_text(const char *json, const char *key, const char *text)
{
    const char *at = find(json, key);
    CHECK(at[0] == '"' && !strncmp(at + 1, text, strlen(text)) && at[1 + strlen(text)] == '"');
}

static void same_proof(const char *json, const char *suffix, const mcamp_proof *p)
{
    char key[40];
#define KEY(name) (snprintf(key, sizeof key, "%s%s", name, suffix), key)
    same_text(json, KEY("method"), mcamp__method_names[p->method]);
    CHECK(!strncmp(find(json, KEY("accepted")), p->accepted ? "true" : "false", 4));
    same_count(json, KEY("order"), p->order);
    same_real(json, KEY("range"), p->range);
    same_real(json, KEY("bound"), p->bound);
    same_real(json, KEY("stake"), p->stake);
    same_real(json, KEY("log_wealth"), p->log_wealth);
    same_real(json, KEY("delta"), p->value);
    same_real(json, KEY("stderr"), p->std_error);
    same_real(json, KEY("lower"), p->lower);
    same_real(json, KEY("upper"), p->upper);
    same_count(json, KEY("samples"), p->samples);
#undef KEY
}

static void same_json(const char *json, const mcamp_guarantee *g)
{
    CHECK(!strncmp(find(json, "accepted"), g->accepted ? "true" : "false", 4));
    CHECK(!strncmp(find(json, "interrupted"), g->interrupted ? "true" : "false", 4));
    same_text(json, "version", "0.4.0");
    same_text(json, "kind", mcamp__kind_names[g->kind]);
    same_text(json, "asked", mcamp__asked_names[g->asked]);
    same_text(json, "direction", mcamp__direction_names[g->direction]);
    same_text(json, "adjacency", mcamp__adjacency_names[g->adjacency]);
    same_text(json, "sampling", mcamp__law_names[g->law]);
    same_count(json, "unit", g->unit);
    same_count(json, "rounds", g->rounds);
    same_count(json, "batches", g->batches);
    same_count(json, "epochs", g->epochs);
    same_count(json, "examples", g->examples);
    same_count(json, "count", g->count);
    same_real(json, "epsilon", g->eps);
    same_real(json, "delta", g->delta);
    same_real(json, "sigma", g->sigma);
    same_real(json, "q", g->q);
    same_real(json, "sensitivity", g->sensitivity);
    same_real(json, "beta", g->beta);
    same_count(json, "points", g->points);
    same_real(json, "stderr", g->std_error);
    same_real(json, "lower", g->lower);
    same_real(json, "upper", g->upper);
    same_real(json, "unamplified", g->unamplified);
    same_count(json, "seed", g->seed);
    same_count(json, "samples", g->samples);
    same_count(json, "max_samples", g->max_samples);
    same_count(json, "rung", g->rung);
    same_count(json, "rungs", g->rungs);
    same_text(json, "strategy_digest", "0123456789abcdef");
    same_text(json, "gram_digest", "fedcba9876543210");
    same_proof(json, "_remove", &g->remove);
    same_proof(json, "_add", &g->add);
}

TEST(json_holds_every_field)
{
    mcamp_guarantee g = sample_claim();
    g.examples = 1234; g.count = 6; g.q = 0.3; g.sensitivity = 1.7; g.points = 33;
    g.std_error = 1.0 / 31; g.lower = 1.0 / 37; g.upper = 1.0 / 41; g.unamplified = 1.0 / 43;
    for (int i = 0; i < 40; i++) {
        g.kind = (mcamp_guarantee_kind)(i % 5);
        g.asked = (mcamp_quantity)(i % 7);
        g.direction = (mcamp_direction)(i % 3);
        g.adjacency = (mcamp_adjacency)(1 + i % 2);
        g.law = (mcamp_batch_law)(i % 6);
        g.accepted = i % 2;
        g.interrupted = i % 4 == 3;
        g.remove.accepted = i % 3;
        g.add.method = (mcamp_method)(i % 6);
        same_json(report(&g, MCAMP_REPORT_JSON), &g);
        CHECK(out.s[0] == '{' && out.s[out.n - 2] == '}');
        same_text(out.s, "bounds", mcamp__asked_names[g.kind == MCAMP_KIND_ESTIMATE
                                                      ? MCAMP_ASK_DELTA : g.asked]);
        if (g.asked == MCAMP_ASK_SIGMA) same_real(out.s, "value", g.sigma);
        if (g.asked == MCAMP_ASK_EPS) same_real(out.s, "value", g.eps);
        if (g.asked == MCAMP_ASK_DELTA) same_real(out.s, "value", g.delta);
        if (g.asked == MCAMP_ASK_Q) same_real(out.s, "value", g.q);
        if (g.asked == MCAMP_ASK_COUNT) same_real(out.s, "value", 6);
    }
    g.upper = mcamp__inf();
    CHECK(!strncmp(find(report(&g, MCAMP_REPORT_JSON), "upper"), "null", 4));
    CHECK(!strncmp(report(&g, MCAMP_REPORT_MEMBERS), ", \"version\"", 11));
    g.magic = 0;
    {
        mcamp_writer w = writer();
        CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_JSON, &w), MCAMP_E_ARG);
        g = sample_claim();
        g.kind = (mcamp_guarantee_kind)9;
        CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_TEXT, &w), MCAMP_E_ARG);
        g = sample_claim();
        out.most = 20;
        CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_JSON, &w), MCAMP_Q_INTERRUPTED);
        CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_TEXT, &w), MCAMP_Q_INTERRUPTED);
        CHECK_STATUS(mcamp_report_guarantee(&g, (mcamp_report_format)9, &w), MCAMP_E_ARG);
        CHECK_STATUS(mcamp_report_guarantee(NULL, MCAMP_REPORT_TEXT, &w), MCAMP_E_REQUIRED);
    }
}

/* ---- golden texts ---------------------------------------------------------------------- */

static void golden(const mcamp_guarantee *g, mcamp_report_format f, const char *want)
{
    const char *got = report(g, f);
    CHECK(!strcmp(got, want));
    if (strcmp(got, want)) printf("--- got\n%s--- want\n%s", got, want);
}

#define UNIT "  Unit of privacy: one example, added or removed (its gradients zeroed out);\n" \
             "  each gradient clipped to norm 1.\n"
#define BALLS "  Batches: balls in bins, every example in one of 8 batches, uniformly and\n" \
              "  independently, the same in every epoch; 19 rounds.\n"
#define ORIGIN "  C has the digest 0123456789abcdef, its Gram matrix fedcba9876543210;\n"
#define HOW_REMOVE "  remove: 4096 samples of the common law of order 4, each value at most " \
                   "0.0333334; betting wealth e^10.00"
#define HOW_ADD "  add: 2048 samples of the common law of order 7, each value at most " \
                "0.00333334; betting wealth e^10"

TEST(verified_claims)
{
    mcamp_guarantee g = sample_claim();
    golden(&g, MCAMP_REPORT_TEXT,
        "Certified: with noise multiplier sigma = 4.25 the mechanism C x + z is (1.1, 1e-05)-"
        "differentially private.\n"
        "  Direction: both, with the example added and with it removed.\n" UNIT BALLS
        "  Were the claim false, it would have been accepted with probability at most 2e-06.\n"
        "  remove: 4096 samples of the common law of order 4, each value at most 0.0333334; "
        "betting wealth e^10; accepted.\n"
        "  add: 2048 samples of the common law of order 7, each value at most 0.00333334; "
        "betting wealth e^10; accepted.\n" ORIGIN
        "  seed 77, stream 4; mcamp.h 0.4.0.\n");
    /* one direction is said to be half of a guarantee, and no part claims privacy */
    for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
        g.direction = (mcamp_direction)d;
        report(&g, MCAMP_REPORT_TEXT);
        CHECK(strstr(out.s, "Certified in one direction: ") == out.s);
        CHECK(!strstr(out.s, "-differentially private.\n") && !strstr(out.s, "-DP"));
        CHECK(strstr(out.s, "half of a differential-privacy guarantee") != NULL);
        CHECK((strstr(out.s, "only with the example removed") != NULL) == (d == MCAMP_REMOVE));
        CHECK((strstr(out.s, "only with the example added") != NULL) == (d == MCAMP_ADD));
        CHECK(!strstr(out.s, "both"));
    }
    g = sample_claim();
    g.points = 33;
    CHECK(strstr(report(&g, MCAMP_REPORT_TEXT), "2e-06 for all 33 points at once") != NULL);
    CHECK(strstr(report(&g, MCAMP_REPORT_CAPTION), "2e-06 for all 33 points at once") != NULL);
    g = sample_claim();
    g.remove.samples = g.add.samples = 0;
    g.remove.method = g.add.method = MCAMP_METHOD_EXACT;
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(strstr(out.s, "no samples were needed") && !strstr(out.s, "probability") &&
          !strstr(out.s, "seed"));
    CHECK(strstr(out.s, "remove: without samples, delta is at most 0.0142858; accepted") != NULL);
}

TEST(claims_are_printed_to_the_digit)
{
    mcamp_guarantee g = sample_claim();
    g.sigma = 4.123456789012345;
    g.eps = 1.000000001;
    g.delta = 1.2345678912e-7;
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(strstr(out.s, "sigma = 4.123456789012345 ") &&
          strstr(out.s, "(1.000000001, 1.2345678912e-07)"));
}

TEST(what_was_refused_claims_nothing)
{
    mcamp_guarantee g = sample_claim();
    for (int stop = 0; stop <= 1; stop++) {
        g.kind = MCAMP_KIND_NONE;
        g.accepted = false;
        g.interrupted = stop;
        g.remove.accepted = false;
        report(&g, MCAMP_REPORT_TEXT);
        CHECK(strstr(out.s, stop ? "Interrupted before a decision.  Nothing is claimed about"
                                 : "Not certified.  Nothing is claimed about") == out.s);
        CHECK(!strstr(out.s, "ertified:") && !strstr(out.s, "-differentially") &&
              !strstr(out.s, "-DP") && !strstr(out.s, "is at most 1e-05") &&
              !strstr(out.s, "would have been accepted"));
        CHECK(strstr(out.s, "not accepted") != NULL);
        {
            mcamp_writer w = writer();
            CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_LEGAL, &w), MCAMP_E_MISMATCH);
            CHECK(!out.n);
        }
    }
}

TEST(closed_forms_and_intervals_need_no_samples)
{
    mcamp_guarantee g;
    mcamp_interval of = { 0.10000004, 0.20000004 };
    mcamp__guarantee_start(&g, MCAMP_BATCH_SHUFFLE, 19, 8);
    g.kind = MCAMP_KIND_CLOSED;
    g.accepted = true;
    g.asked = MCAMP_ASK_EPS;
    g.sigma = 2.5; g.eps = 3.14159265358979; g.delta = 1e-6; g.sensitivity = 1.5;
    golden(&g, MCAMP_REPORT_TEXT,
        "Certified: with noise multiplier sigma = 2.5 the mechanism C x + z is (3.141593, 1e-06)-"
        "differentially private.\n"
        "  Direction: both, with the example added and with it removed.\n"
        "  Unit of privacy: one example, its gradients zeroed out while it keeps its place;\n"
        "  each gradient clipped to norm 1.\n"
        "  Batches: shuffled once or in any other fixed order, cut into 8 batches, the\n"
        "  same in every epoch; not amplified; 19 rounds.\n"
        "  Certain, no samples were needed: closed form of the Gaussian mechanism; "
        "sensitivity 1.5.\n"
        "  mcamp.h 0.4.0.\n");
    g.kind = MCAMP_KIND_INTERVAL;
    g.law = MCAMP_BATCH_POISSON;
    g.q = 0.25;
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(strstr(out.s, "with probability 0.25") && strstr(out.s, "no samples were needed"));
    CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_EPS, MCAMP_BOTH, of, 0, 7, 1e-6, 0, &g),
                 MCAMP_OK);
    CHECK_NEAR(g.eps, of.upper, 0, 0);
    CHECK_NEAR(g.delta, 1e-6, 0, 0);
    CHECK(g.kind == MCAMP_KIND_INTERVAL && g.accepted);
    golden(&g, MCAMP_REPORT_TEXT, "epsilon from 0.1 to 0.2000001 at delta 1e-06\n"
        "  Certain: no samples were needed.\n"
        "  Direction: both, with the example added and with it removed.\n");
    CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_DELTA, MCAMP_ADD, of, 0, 7, 1e-6, 0, &g),
                 MCAMP_OK);
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(strstr(out.s, "delta from 0.1 to 0.2000001 at epsilon 7\n") == out.s);
    CHECK(strstr(out.s, "only with the example added") && strstr(out.s, "half of"));
    CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_Q, MCAMP_BOTH, of, 0.12345678, 7, 1e-6, 0, &g),
                 MCAMP_OK);
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(strstr(out.s, "q = 0.1234567\n") == out.s);          /* down: less sampling */
    CHECK_NEAR(g.lower, 0.12345678, 0, 0);
    CHECK(g.upper > 1);
    CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_SIGMA, MCAMP_BOTH, of, 1.2345671, 7, 1e-6, 0,
                                          &g), MCAMP_OK);
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(strstr(out.s, "sigma = 1.234568\n") == out.s);       /* up: more noise */
    CHECK(strstr(out.s, "Certain, no samples were needed: with it (7, 1e-06)-DP.\n") != NULL);
    CHECK_NEAR(g.lower, 0, 0, 0);
    CHECK_NEAR(g.upper, 1.2345671, 0, 0);
    /* what samples say of an event holds at a level only */
    CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_EPS, MCAMP_BOTH, of, 0, 7, 1e-6, 2.0000001e-9,
                                          &g), MCAMP_OK);
    golden(&g, MCAMP_REPORT_TEXT, "epsilon from 0.1 to 0.2000001 at delta 1e-06\n"
        "  It rests on samples; wrong with probability at most 2.00001e-09, which delta covers.\n"
        "  Direction: both, with the example added and with it removed.\n");
    same_real(report(&g, MCAMP_REPORT_JSON), "beta", 2.0000001e-9);
    CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_SIGMA, MCAMP_ADD, of, 2, 7, 1e-6, 1e-9, &g),
                 MCAMP_OK);
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(!strstr(out.s, "Certain") && !strstr(out.s, "DP") &&
          strstr(out.s, "rests on samples: with it (7, 1e-06); wrong with probability"));
    CHECK(!strcmp(report(&g, MCAMP_REPORT_CAPTION), "sigma 2; shaded: proven bounds, wrong with "
                  "probability 1e-09, only with the example added"));
    CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_EPS, MCAMP_BOTH, of, 0, 7, 1e-6, 1, &g),
                 MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_EPS, MCAMP_BOTH, of, 0, 7, 1e-6, 0, &g),
                 MCAMP_OK);
    CHECK(!strcmp(report(&g, MCAMP_REPORT_CAPTION), "shaded: certain bounds"));
    {
        mcamp_writer w = writer();          /* no run, no statement about one */
        CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_LEGAL, &w), MCAMP_E_MISMATCH);
    }
    of.lower = 1;
    CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_EPS, MCAMP_BOTH, of, 0, 7, 1e-6, 0, &g),
                 MCAMP_E_ARG);
}

TEST(estimates_say_that_they_are_estimates)
{
    mcamp_guarantee g = sample_claim();
    g.kind = MCAMP_KIND_ESTIMATE;
    g.accepted = false;
    g.asked = MCAMP_ASK_SIGMA;
    g.sigma = 4.2000001; g.std_error = 0.0123; g.upper = 1.00001e-5; g.unamplified = 9.1234564;
    g.rung = 0;
    golden(&g, MCAMP_REPORT_TEXT,
        "sigma = 4.200001 +- 0.02\n\n"
        "  Estimate, not a proof (+- one standard error): sigma 4.200001 gives about "
        "(1.1, 1e-05)-DP.\n"
        "  Direction: both, with the example added and with it removed.\n"
        "  delta, remove          0.005883 +- 0.006 (4096 samples of the common law, order 4)\n"
        "  delta, add             0.0005883 +- 0.0006 (2048 samples of the common law, order 7)\n"
        "  delta is at most       1.001e-05, wrong with probability 2e-06 per direction\n"
        "  without amplification  sigma 9.12346\n" UNIT BALLS ORIGIN
        "  seed 77; mcamp.h 0.4.0.\n");
    g.direction = MCAMP_ADD;
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(!strstr(out.s, "-DP") && strstr(out.s, "only with the example added"));
}

/* What was asked of nobody is an estimate of nothing. */
TEST(noise_of_an_optimiser)
{
    mcamp_mech_desc d;
    mcamp_mech c;
    mcamp_gram gram;
    mcamp_opt_result r;
    mcamp_guarantee g;
    memset(&d, 0, sizeof d);
    memset(&r, 0, sizeof r);
    d.kind = MCAMP_MECH_SQRT;
    d.n = 19;
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    CHECK_STATUS(mcamp_mech_init(&ctx, &d, &c), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&ctx, &c, 8, &gram), MCAMP_OK);
    r.sigma = 3.3333333; r.sigma_error = 0.01; r.sensitivity = 1.23456; r.samples = 12;
    CHECK_STATUS(mcamp_guarantee_estimate(&c, MCAMP_BATCH_BINS, 8, &r, 1, 1e-5, &g), MCAMP_OK);
    CHECK(g.rounds == 19 && g.batches == 8 && g.epochs == 3 && g.samples == 12 && !g.accepted);
    CHECK(g.strategy_digest == gram.strategy_digest && g.gram_digest == gram.digest);
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(strstr(out.s, "sigma = 3.333334 +- 0.01\n") == out.s && strstr(out.s, "Estimate, not a"));
    CHECK(strstr(out.s, "\n  sensitivity            1.23456\n") != NULL);
    CHECK(!strstr(out.s, "ertified"));
    CHECK(!strcmp(report(&g, MCAMP_REPORT_VALUE), "3.333334"));
    CHECK_STATUS(mcamp_guarantee_estimate(&c, MCAMP_BATCH_BINS, 8, &r, 1, 0, &g), MCAMP_OK);
    report(&g, MCAMP_REPORT_TEXT);
    CHECK(strstr(out.s, "  Nothing is claimed: what sigma 3.3333333, as given,") == out.s);
    CHECK(!strstr(out.s, "Certain") && !strstr(out.s, "DP") && strstr(out.s, "C has the digest"));
    CHECK(!strncmp(find(report(&g, MCAMP_REPORT_JSON), "epsilon"), "null", 4));
    same_real(out.s, "sigma", 3.3333333);
    same_text(out.s, "kind", "none");
    {
        mcamp_writer w = writer();
        CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_VALUE, &w), MCAMP_E_ARG);
    }
    r.sigma = 0;
    CHECK_STATUS(mcamp_guarantee_estimate(&c, MCAMP_BATCH_POISSON, 8, &r, 0, 0, &g), MCAMP_OK);
    CHECK(!g.gram_digest && g.strategy_digest == c.digest);
    CHECK(strstr(report(&g, MCAMP_REPORT_TEXT), "neither noise nor") != NULL);
    CHECK(!strncmp(find(report(&g, MCAMP_REPORT_JSON), "sigma"), "null", 4));
    CHECK_STATUS(mcamp_guarantee_estimate(NULL, MCAMP_BATCH_BINS, 8, &r, 1, 1e-5, &g),
                 MCAMP_E_REQUIRED);
    mcamp_gram_free(&ctx, &gram);
    mcamp_mech_free(&ctx, &c);
}

TEST(statements_hold_all_that_repeats_them)
{
    static const char *const part[] = { "(1.1, 1e-05)-differentially private",
        "both with the example",
        "19 rounds, a cycle of 8", "epsilon 1.1", "delta 1e-05", "sigma 4.25", "level 2e-06",
        "0123456789abcdef", "fedcba9876543210", "seed 77, stream 4", "mcamp.h 0.4.0",
        "4096 samples of the common law of order 4", "2048 samples of the common law of order 7" };
    mcamp_guarantee g = sample_claim();
    report(&g, MCAMP_REPORT_LEGAL);
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) CHECK(strstr(out.s, part[i]) != NULL);
    g.beta = 3e-5;                  /* verify-then-run: delta covers the level */
    CHECK(strstr(report(&g, MCAMP_REPORT_LEGAL), "(1.1, 3e-05)-differentially") != NULL);
    CHECK(strstr(out.s, "\n         Batches: balls in bins, every") != NULL);
    /* every line below an item stands below its text */
    for (const char *p = strstr(out.s, "(b) Assumptions"); p && p[1]; p = strchr(p + 1, '\n'))
        CHECK(*p != '\n' || !strncmp(p + 1, "     (", 6) || !strncmp(p + 1, "         ", 9));
    g.direction = MCAMP_ADD;
    {
        mcamp_writer w = writer();
        CHECK_STATUS(mcamp_report_guarantee(&g, MCAMP_REPORT_LEGAL, &w), MCAMP_E_MISMATCH);
    }
}

/* ---- answers, and what is printed, fed back -------------------------------------------------- */

TEST(printed_answers_are_accepted)
{
    mcamp_problem p;
    mcamp_answer a;
    mcamp_guarantee g, v;
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    for (int i = 0; i < 12; i++) {
        char *end;
        memset(&p, 0, sizeof p);
        p.rounds = i % 2 ? 1 : 5;
        p.batches = 1;
        p.strategy.kind = MCAMP_MECH_SQRT;
        p.eps = 0.3 + 0.37 * i;
        p.delta = pow(10, -3 - i % 5) / 3;
        CHECK(mcamp_problem_sigma(&ctx, &p, &a) >= 0);
        CHECK_STATUS(mcamp_guarantee_answer(&a, &g), MCAMP_OK);
        CHECK(g.kind == MCAMP_KIND_CLOSED && g.accepted);
        p.sigma = strtod(report(&g, MCAMP_REPORT_TEXT) + strlen("sigma = "), &end);
        CHECK(*end == '\n' && p.sigma >= a.sigma);
        CHECK_STATUS(mcamp_problem_verify(&ctx, &p, &v), MCAMP_OK);
        p.sigma = strtod(find(report(&g, MCAMP_REPORT_JSON), "sigma"), NULL);
        CHECK_STATUS(mcamp_problem_verify(&ctx, &p, &v), MCAMP_OK);
        p.batches = 3;                  /* a proof: printed to the digit, seven of them */
        p.rounds = 7;
        CHECK(mcamp_problem_certify(&ctx, &p, &g) >= 0 && g.accepted);
        report(&g, MCAMP_REPORT_TEXT);
        CHECK_NEAR(strtod(strstr(out.s, "sigma = ") + 8, &end), g.sigma, 0, 0);
        CHECK(end - (strstr(out.s, "sigma = ") + 8) <= 8);
        CHECK(g.strategy_digest && g.gram_digest);
    }
}

TEST(answers_become_what_they_are)
{
    mcamp_problem p;
    mcamp_answer a;
    mcamp_guarantee g;
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    memset(&p, 0, sizeof p);
    p.rounds = 11;
    p.batches = 4;
    p.strategy.kind = MCAMP_MECH_SQRT;
    p.sigma = 3;
    p.delta = 1e-3;
    p.budget.seed = 3;
    CHECK(mcamp_problem_epsilon(&ctx, &p, &a) >= 0);
    CHECK_STATUS(mcamp_guarantee_answer(&a, &g), MCAMP_OK);
    CHECK(g.kind == MCAMP_KIND_ESTIMATE && !g.accepted && g.asked == MCAMP_ASK_EPS);
    CHECK_NEAR(g.delta, 1e-3, 0, 0);
    CHECK_NEAR(g.eps, a.eps, 0, 0);
    CHECK_NEAR(g.upper, a.delta_upper, 0, 0);
    CHECK_NEAR(g.remove.value, a.remove.value, 0, 0);
    CHECK_NEAR(g.add.upper, a.add.upper, 0, 0);
    CHECK(g.rounds == 11 && g.batches == 4 && g.epochs == 3 && g.seed == 3);
    p.budget.direction = MCAMP_ADD;
    p.eps = 1;
    CHECK(mcamp_problem_delta(&ctx, &p, &a) >= 0);
    CHECK_STATUS(mcamp_guarantee_answer(&a, &g), MCAMP_OK);
    CHECK(g.direction == MCAMP_ADD && !g.remove.method && g.add.method);
    CHECK_NEAR(g.delta, a.delta, 0, 0);
    a.status = MCAMP_Q_INTERRUPTED;
    CHECK_STATUS(mcamp_guarantee_answer(&a, &g), MCAMP_OK);
    CHECK(g.kind == MCAMP_KIND_NONE && g.interrupted && !g.accepted);
    CHECK(strstr(report(&g, MCAMP_REPORT_TEXT), "Interrupted") == out.s);
}

/* ---- any two of rounds, batches, epochs --------------------------------------- */

TEST(any_two_of_rounds_batches_and_epochs)
{
    static const size_t rounds[2] = { 12, 11 };
    CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK);
    for (int form = 0; form < 8; form++) {
        size_t n = rounds[form / 4];
        mcamp_problem p;
        mcamp_guarantee g;
        memset(&p, 0, sizeof p);
        p.strategy.kind = MCAMP_MECH_SQRT;
        p.rounds = form % 4 == 2 ? 0 : n;
        p.batches = form % 4 == 1 ? 0 : 4;
        p.epochs = form % 4 == 0 ? 0 : 3;
        p.sigma = 40;
        p.eps = 1;
        p.delta = 1e-3;
        CHECK_STATUS(mcamp_problem_verify(&ctx, &p, &g), MCAMP_OK);
        CHECK(g.rounds == (form % 4 == 2 ? 12 : n) && g.batches == 4 && g.epochs == 3);
        for (unsigned law = 0; law < 3; law++) {
            mcamp_plan_desc d;
            mcamp_plan_result r;
            mcamp_mech m;
            if (form % 4 == 3 && mt_quick()) continue;
            memset(&d, 0, sizeof d);
            d.rounds = p.rounds; d.batches = p.batches; d.epochs = p.epochs;
            d.eps = 4; d.delta = 1e-2;
            d.memory = 1;
            d.sampling = law;
            CHECK_STATUS(mcamp_plan(&ctx, &d, &m, &r), MCAMP_OK);
            CHECK(r.guarantee.accepted && r.guarantee.rounds == (form % 4 == 2 ? 12 : n));
            CHECK(r.guarantee.strategy_digest == m.digest);
            CHECK_STATUS(mcamp__guarantee_holds(&ctx, &r.guarantee), MCAMP_OK);
            mcamp_mech_free(&ctx, &m);
        }
#define REFUSE(change, status) \
        do { mcamp_problem q = p; change; \
             CHECK_STATUS(mcamp_problem_verify(&ctx, &q, &g), status); } while (0)
        REFUSE((q.rounds = q.batches = 0), MCAMP_E_REQUIRED);
        REFUSE((q.epochs = q.batches = 0), MCAMP_E_REQUIRED);
        REFUSE((q.rounds = q.epochs = 0), MCAMP_E_REQUIRED);
        REFUSE((q.rounds = 12, q.batches = 4, q.epochs = 4), MCAMP_E_SIZE);
        REFUSE((q.rounds = 5, q.batches = 0, q.epochs = 4), MCAMP_E_SIZE);
        REFUSE((q.rounds = 0, q.batches = 4, q.epochs = SIZE_MAX / 2), MCAMP_E_SIZE);
#undef REFUSE
    }
}

/* The worst mechanism that is (eps, delta)-DP has four outcomes, odds delta, (1 - delta) e^eps/
 * (1 + e^eps), (1 - delta)/(1 + e^eps), 0 with the example and the same backwards without.  */
TEST(attacks_are_as_good_as_on_the_worst_mechanism)
{
    static const double eps[] = { 0, 0.3, 1, 5, 40, 2000 }, delta[] = { 1e-9, 1e-3, 0.3 };
    mcamp_guarantee g = { 0 };
    mcamp_interval of = { 0, 0 };
    double tpr, adv;
    for (size_t i = 0; i < 18; i++) {
        double e = exp(eps[i / 3]), d = delta[i % 3], a = (1 - d) / (1 + e);
        of.lower = of.upper = eps[i / 3];
        CHECK_STATUS(mcamp_guarantee_interval(MCAMP_ASK_EPS, MCAMP_BOTH, of, 0, of.upper, d, 0, &g),
                     MCAMP_OK);
        CHECK_STATUS(mcamp_guarantee_attack(&g, 0, &tpr, &adv), MCAMP_OK);
        CHECK_NEAR(tpr, d, 1e-13, 0);
        CHECK_NEAR(adv, d + (1 - d) * tanh(eps[i / 3] / 2), 1e-12, 1e-300);
        CHECK_LE(d, tpr);
        if (!(a > 0)) continue;
        for (int k = 0; k < 9; k++) {           /* between the corners tests are mixed */
            double at = a * k / 8, most = d + (1 - d) / (1 + 1 / e) * k / 8;
            CHECK_STATUS(mcamp_guarantee_attack(&g, at, &tpr, &adv), MCAMP_OK);
            CHECK_NEAR(tpr, most, 1e-12, 0);
            at = a + (1 - d - a) * k / 8;
            most = d + (1 - d) / (1 + 1 / e) + a * k / 8;
            CHECK_STATUS(mcamp_guarantee_attack(&g, at, &tpr, &adv), MCAMP_OK);
            CHECK_NEAR(tpr, most, 1e-12, 0);
            CHECK_LE(tpr - at, adv + 1e-12);
        }
        CHECK_STATUS(mcamp_guarantee_attack(&g, 1, &tpr, &adv), MCAMP_OK);
        CHECK(tpr >= 1 && tpr <= 1);
    }
    CHECK_STATUS(mcamp_guarantee_attack(&g, -0.1, &tpr, &adv), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_attack(&g, 1.1, &tpr, &adv), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_attack(&g, mcamp__nan(), &tpr, &adv), MCAMP_E_ARG);
    CHECK_STATUS(mcamp_guarantee_attack(NULL, 0.1, &tpr, &adv), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_guarantee_attack(&g, 0.1, NULL, &adv), MCAMP_E_REQUIRED);
    CHECK_STATUS(mcamp_guarantee_attack(&g, 0.1, &tpr, NULL), MCAMP_E_REQUIRED);
    g.eps = 1; g.delta = 1e-3;
    g.delta_num = 0.25;                          /* a run's arithmetic counts, if it is known */
    CHECK_STATUS(mcamp_guarantee_attack(&g, 0, &tpr, &adv), MCAMP_OK);
    CHECK_NEAR(tpr, 0.251, 1e-12, 0);
    g.remove.samples = 1; g.beta = 0.5;          /* and so does the level of a proof */
    CHECK_STATUS(mcamp_guarantee_attack(&g, 0, &tpr, &adv), MCAMP_OK);
    CHECK_NEAR(tpr, 0.75, 1e-12, 0);
    g.direction = MCAMP_ADD;
    CHECK_STATUS(mcamp_guarantee_attack(&g, 0.1, &tpr, &adv), MCAMP_E_MISMATCH);
    g.direction = MCAMP_BOTH;
    g.kind = MCAMP_KIND_NONE;
    CHECK_STATUS(mcamp_guarantee_attack(&g, 0.1, &tpr, &adv), MCAMP_E_MISMATCH);
    g.magic = 0;
    CHECK_STATUS(mcamp_guarantee_attack(&g, 0.1, &tpr, &adv), MCAMP_E_ARG);
}

TEST_MAIN("words",
    T(attacks_are_as_good_as_on_the_worst_mechanism),
    T(decimals_are_rounded_to_their_side),
    T(decimals_are_read_without_a_locale),
    T(json_holds_every_field),
    T(verified_claims),
    T(claims_are_printed_to_the_digit),
    T(what_was_refused_claims_nothing),
    T(closed_forms_and_intervals_need_no_samples),
    T(estimates_say_that_they_are_estimates),
    T(noise_of_an_optimiser),
    T(statements_hold_all_that_repeats_them),
    T(printed_answers_are_accepted),
    T(answers_become_what_they_are),
    T(any_two_of_rounds_batches_and_epochs))
