/* mcamp sigma, epsilon, delta, verify, curve. */
#ifndef TOOL_ESTIMATE_H
#define TOOL_ESTIMATE_H

#include "tool_shard.h"

/* What is asked for, of the Gaussian mechanism in which batching hides nothing. */
TOOL_FN double without_amplification(session *s, unsigned asked, double sigma, double eps,
                                     double delta)
{
    double norm = sensitivity(s) * group_times(s), out = 0;
    check(s, asked == SIGMA ? mcamp_gauss_sigma(&s->ctx, norm, eps, delta, &out)
           : asked == EPSILON ? mcamp_gauss_epsilon(&s->ctx, sigma, norm, delta, &out)
           : mcamp_gauss_delta(&s->ctx, sigma, norm, eps, &out));
    return out;
}

TOOL_FN uint64_t most_samples(const mcamp_answer *a)
{
    return a->remove.samples > a->add.samples ? a->remove.samples : a->add.samples;
}

/* ---- commands ----------------------------------------------------------------------- */

/* sigma --certain: each bound as a guarantee of its own. */
TOOL_FN void print_certain(session *s)
{
    static const char *const name[][2] = {
        { "unamplified", "As if the adversary knew the bin" },
        { "renyi", "By moments of the loss" },
        { "conditional", "By conditional composition, one coordinate after the other" },
        { "split", "By balls in bins with C = I beside a Gaussian mechanism" },
        { "quiet", "By what modes have in common, and moments of the rest" } };
    double eps = s->opt[O_EPS].real, delta = s->opt[O_DELTA].real, sigma = 0;
    mcamp_writer w = to_stdout();
    if (s->gram.law || s->gram.limit || s->gram.group)
        bad_use("--certain: for --batching bins without --limit and --group only");
    for (int i = 0; i < 5; i++) {
        mcamp_interval of = { eps, eps };
        mcamp_guarantee g;
        json j;
        if (i + 1 == MCAMP_CERTAIN_CONDITIONAL && s->batches > 512) continue;
        check(s, mcamp_certain_sigma(&s->ctx, &s->gram, (mcamp_certain)(i + 1), eps, delta,
                                     &sigma));
        check(s, mcamp_guarantee_interval(MCAMP_ASK_SIGMA, MCAMP_BOTH, of, sigma, eps, delta, 0,
                                          &g));
        if (s->opt[O_JSON].given) {
            json_begin(s, &j, stdout);
            json_text(&j, "command", s->cmd->name);
            json_text(&j, "bound", name[i][0]);
            mcamp_report_guarantee(&g, MCAMP_REPORT_MEMBERS, &w);
            json_close(&j);
        } else {
            printf("%s:\n", name[i][1]);
            mcamp_report_guarantee(&g, MCAMP_REPORT_TEXT, &w);
        }
    }
}

/* --batching allocate: all questions, and claims. */
TOOL_FN int run_allocate(session *s)
{
    const option_value *o = s->opt;
    unsigned bit = s->cmd->bit;
    mcamp_claim c;
    mcamp_guarantee g;
    mcamp_status st;
    memset(&c, 0, sizeof c);
    for (int i = O_EPS; i <= O_SIGMA; i++)
        if (bit == VERIFY && !o[i].given) bad_use("\"mcamp verify\" needs --%s X", OPTIONS[i].name);
    c.sigma = o[O_SIGMA].real; c.eps = o[O_EPS].real; c.delta = o[O_DELTA].real;
    c.direction = s->budget.direction;
    st = mcamp_guarantee_allocate(&s->ctx, &s->mech, s->batching.law, s->batches, s->picks,
                                  bit == SIGMA ? MCAMP_ASK_SIGMA : bit == EPSILON ? MCAMP_ASK_EPS
                                  : bit == DELTA ? MCAMP_ASK_DELTA : MCAMP_ASK_NONE, &c, &g);
    check(s, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    print_guarantee(s, &g);
    if (bit == VERIFY || o[O_CERTIFY].given) record_write(s, &g);
    return g.accepted ? 0 : EXIT_REFUSED;
}

TOOL_FN int run_estimate(session *s)
{
    const option_value *o = s->opt;
    mcamp_answer a;
    mcamp_guarantee g;
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
    warn_samples(s, most_samples(&a));
    if (!a.limit)
        a.unamplified = without_amplification(s, s->cmd->bit, o[O_SIGMA].real, o[O_EPS].real,
                                              o[O_DELTA].real);
    mcamp_guarantee_answer(&a, &g);
    print_guarantee(s, &g);
    return g.interrupted ? EXIT_REFUSED : 0;
}

/* The proof of a record once more; it says if the numbers are not the record's. */
TOOL_FN int run_repeat(session *s)
{
    const mcamp_guarantee *g = &s->guarantee;
    mcamp_guarantee t;
    mcamp_status st;
    for (int i = O_EPS; i <= O_SIGMA; i++)
        if (s->opt[i].given) bad_use("--%s: the claim is in --record", OPTIONS[i].name);
    if (s->opt[O_TIME].given) bad_use("--time: what is in --record is proved again, or not");
    st = mcamp_guarantee_repeat(&s->ctx, &s->mech, g, &t);
    check(s, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    print_guarantee(s, &t);
    if (t.accepted && g->kind == MCAMP_KIND_VERIFIED &&
        (t.remove.samples != g->remove.samples || t.add.samples != g->add.samples))
        fprintf(stderr, "mcamp: note: accepted, but not by the samples of the record\n");
    return t.accepted ? 0 : EXIT_REFUSED;
}

TOOL_FN int run_report(session *s)
{
    mcamp_writer w = to_stdout();
    mcamp_status st;
    progress_end(&s->progress);
    if (s->opt[O_JSON].given) print_guarantee(s, &s->guarantee);
    st = s->opt[O_JSON].given ? MCAMP_OK
       : mcamp_report_guarantee(&s->guarantee, MCAMP_REPORT_LEGAL, &w);
    if (st == MCAMP_E_MISMATCH) mcamp_report_guarantee(&s->guarantee, MCAMP_REPORT_TEXT, &w);
    return st == MCAMP_OK && s->guarantee.accepted ? 0 : EXIT_REFUSED;
}

TOOL_FN int run_proof(session *s)
{
    const option_value *o = s->opt;
    mcamp_claim c;
    mcamp_guarantee t;
    mcamp_status st;
    memset(&c, 0, sizeof c);
    memset(&t, 0, sizeof t);
    if (s->cmd->bit == VERIFY)
        for (int i = O_EPS; i <= O_SIGMA; i++)
            if (!o[i].given) bad_use("\"mcamp verify\" needs --%s X", OPTIONS[i].name);
    c.sigma = o[O_SIGMA].real;
    c.eps = o[O_EPS].real;
    c.delta = o[O_DELTA].real;
    c.beta = o[O_BETA].given ? o[O_BETA].real : c.delta;
    c.seed = s->budget.seed;
    c.max_samples = s->budget.max_samples;
    c.seconds = s->budget.seconds;
    c.direction = s->budget.direction;
    if (o[O_SHARD].given) return run_shard(s, &c);
    if (o[O_TALLY].given) bad_use("--tally needs --shard I/N");
    if (s->cmd->bit == SIGMA) st = mcamp_calibrate_certified(&s->ctx, &s->gram, &c, &t);
    else st = mcamp_verify(&s->ctx, &s->gram, &c, &t);
    check(s, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    warn_samples(s, t.remove.samples > t.add.samples ? t.remove.samples : t.add.samples);
    print_guarantee(s, &t);
    record_write(s, &t);
    return t.accepted && !t.interrupted ? 0 : EXIT_REFUSED;
}

/* sigma, epsilon, delta and verify. */
TOOL_FN int run_question(session *s)
{
    bool claim = s->cmd->bit == VERIFY;
    if (s->loaded && claim && !s->opt[O_SHARD].given) return run_repeat(s);
    if (s->picks) return run_allocate(s);
    return claim || s->opt[O_CERTIFY].given ? run_proof(s) : run_estimate(s);
}

/* The columns of the curve, one block of memory. */
typedef struct curve {
    size_t n;
    mcamp_answer *a;
    double *eps, *remove, *add, *unamplified;
    double *fine, *lo[2], *hi[2];       /* the band, CURVE_FINE points an interval */
} curve;

enum { CURVE_FINE = 16 };

TOOL_FN size_t curve_fine(const curve *c) { return CURVE_FINE * (c->n - 1) + 1; }

TOOL_FN void curve_open(curve *c, size_t n)
{
    double *block;
    size_t m;
    c->n = n;
    m = curve_fine(c);
    block = (double *)need(calloc(4 * n + 5 * m, sizeof *block));
    c->a = (mcamp_answer *)need(calloc(n, sizeof *c->a));
    c->eps = block;
    c->remove = block + n;
    c->add = block + 2 * n;
    c->unamplified = block + 3 * n;
    c->fine = block + 4 * n;
    for (size_t d = 0; d < 2; d++) {
        c->lo[d] = c->fine + (1 + d) * m;
        c->hi[d] = c->fine + (3 + d) * m;
    }
}

TOOL_FN void curve_close(curve *c)
{
    free(c->eps);
    free(c->a);
}

TOOL_FN void curve_columns(curve *c)
{
    for (size_t i = 0; i < c->n; i++) {
        c->remove[i] = c->a[i].remove.value;
        c->add[i] = c->a[i].add.value;
        c->unamplified[i] = c->a[i].unamplified;
    }
}

/* The bounds that hold for all eps at once.  Straight lines between points are drawn, delta
 * falls, and so do its bounds: each corner of the upper edge takes the bound of the point to
 * its left, each of the lower one the highest to its right, so that no line cuts a corner. */
TOOL_FN void curve_band(curve *c)
{
    size_t m = curve_fine(c);
    for (size_t j = 0; j < m; j++) {
        size_t i = j / CURVE_FINE;
        double share = (double)(j % CURVE_FINE) / CURVE_FINE;
        c->fine[j] = c->eps[i] + (share > 0 ? share * (c->eps[i + 1] - c->eps[i]) : 0);
    }
    for (int d = 0; d < 2; d++) {
        mcamp_direction dir = d ? MCAMP_ADD : MCAMP_REMOVE;
        double least = 0;
        for (size_t j = m; j-- > 0; ) {
            double low = mcamp_curve_bounds(c->a, c->n, c->fine[j], dir).lower;
            c->lo[d][j] = j + 1 < m ? least : low;
            if (low > least) least = low;
            c->hi[d][j] = mcamp_curve_bounds(c->a, c->n, c->fine[j ? j - 1 : 0], dir).upper;
        }
    }
}

/* Where the curve ends unless the user says so: where delta is 1e-10. */
TOOL_FN double curve_end(session *s)
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
TOOL_FN double curve_floor(const curve *c)
{
    double lowest = 1;
    for (size_t i = 0; i < c->n; i++) {
        double y = c->remove[i] > c->add[i] ? c->remove[i] : c->add[i];
        if (y > 1e-300 && y < lowest) lowest = y;
    }
    return 0.01 * lowest;
}

TOOL_FN void curve_draw(const session *s, const curve *c)
{
    const char *path = s->opt[O_OUT].given ? s->opt[O_OUT].text : "curve.svg";
    bool both = s->budget.direction == MCAMP_BOTH;
    svg_series lines[3];
    svg_chart chart;
    char subtitle[400];
    text_writer w;
    mcamp_guarantee g;
    size_t n = 0;
    memset(lines, 0, sizeof lines);
    memset(&chart, 0, sizeof chart);
    mcamp_guarantee_answer(&c->a[0], &g);
    write_text(&w, subtitle, sizeof subtitle);
    mcamp_report_guarantee(&g, MCAMP_REPORT_CAPTION, &w.writer);
    n = strlen(subtitle);
    snprintf(subtitle + n, sizeof subtitle - n, ", and all epsilon between; "
             "C = %s, %lu rounds, %lu batches in an epoch",
             s->strategy.text, (unsigned long)s->rounds, (unsigned long)s->batches);
    n = 0;
    for (int d = 0; d < 2; d++) {
        svg_series *q = &lines[n];
        if (!both && s->budget.direction != (d ? MCAMP_ADD : MCAMP_REMOVE)) continue;
        q->name = d ? "add one example" : "remove one example";
        q->colour = d ? "#d55e00" : "#0072b2";
        q->y = d ? c->add : c->remove;
        q->band_x = c->fine;
        q->band_n = curve_fine(c);
        q->lo = c->lo[d];
        q->hi = c->hi[d];
        n++;
    }
    lines[n].name = "without amplification";
    lines[n].colour = "#777";
    lines[n].dashed = true;
    lines[n++].y = c->unamplified;
    for (size_t i = 0; i < n; i++) { lines[i].x = c->eps; lines[i].n = c->n; }
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

TOOL_FN void json_curve(const session *s, const curve *c, uint64_t samples)
{
    mcamp_writer w = to_stdout();
    mcamp_guarantee g;
    json j;
    json_begin(s, &j, stdout);
    json_text(&j, "command", "curve");
    json_text(&j, "strategy", s->strategy.text);
    json_real(&j, "seconds", s->seconds);
    json_count(&j, "samples", samples);
    json_key(&j, "curve");
    for (size_t i = 0; i < c->n; i++) {
        fputs(i ? ",\n" : "[\n", stdout);
        mcamp_guarantee_answer(&c->a[i], &g);
        mcamp_report_guarantee(&g, MCAMP_REPORT_JSON, &w);
    }
    fputs("]", stdout);
    json_close(&j);
}

TOOL_FN int run_curve(session *s)
{
    const option_value *o = s->opt;
    uint64_t samples = 0, most = 0;
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
    for (size_t i = 0; i < c.n; i++) {
        samples += c.a[i].samples;
        most = most_samples(&c.a[i]) > most ? most_samples(&c.a[i]) : most;
        c.a[i].unamplified = without_amplification(s, DELTA, o[O_SIGMA].real, c.eps[i], 0);
    }
    warn_samples(s, most);
    curve_columns(&c);
    curve_band(&c);
    if (!o[O_JSON].given || o[O_OUT].given) curve_draw(s, &c);
    if (o[O_JSON].given) json_curve(s, &c, samples);
    curve_close(&c);
    return 0;
}

#endif
