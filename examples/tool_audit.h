/* mcamp audit: lower bounds on epsilon, from scores of canaries or from the library's own
 * sessions.                                                                         */
#ifndef TOOL_AUDIT_H
#define TOOL_AUDIT_H

#include "audit_self.h"
#include "tool_session.h"

/* ---- scores ----------------------------------------------------------------------- */

/* Both kinds of audit look at the same lines. */
typedef struct score_list { audit_canary *c; size_t n, in, room; } score_list;

TOOL_FN void score_add(score_list *l, bool in, double score)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->c = (audit_canary *)need(realloc(l->c, l->room * sizeof *l->c));
    }
    l->c[l->n].in = in;
    l->c[l->n++].score = score;
    l->in += in;
}

/* "in SCORE" or "out SCORE", or 1 and 0; a comma or blanks between; # comments. */
TOOL_FN void read_score(const char *path, unsigned long number, char *line, score_list *l)
{
    char *word = strtok(line, " \t,\r\n"), *value = strtok(NULL, " \t,\r\n");
    double score = 0;
    bool in;
    if (!word || word[0] == '#') return;
    in = !strcmp(word, "in") || !strcmp(word, "1");
    if (!in && strcmp(word, "out") && strcmp(word, "0"))
        bad_use("--scores: line %lu of \"%s\" begins with neither in nor out", number, path);
    if (!value || !parse_real(value, &score) || strtok(NULL, " \t,\r\n"))
        bad_use("--scores: line %lu of \"%s\" is not \"%s\" and one finite number", number, path,
                in ? "in" : "out");
    score_add(l, in, score);
}

TOOL_FN void read_scores(const char *path, score_list *l)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "r") : stdin;
    char line[256];
    unsigned long number = 0;
    memset(l, 0, sizeof *l);
    if (!f) bad_use("--scores: cannot read \"%s\": %s", path, strerror(errno));
    while (fgets(line, sizeof line, f)) {
        number++;
        if (!strchr(line, '\n') && strlen(line) == sizeof line - 1)
            bad_use("--scores: line %lu of \"%s\" is too long", number, path);
        read_score(path, number, line, l);
    }
    if (ferror(f)) bad_use("--scores: cannot read \"%s\": %s", path, strerror(errno));
    if (f != stdin) fclose(f);
    if (l->in < 16 || l->n - l->in < 16)
        bad_use("--scores: \"%s\" has %lu canaries that were in and %lu that were not: 16 of each "
                "are the least", path, (unsigned long)l->in, (unsigned long)(l->n - l->in));
}

/* A random order, so that neither the split nor ties look at the order of the file. */
TOOL_FN void shuffle_scores(score_list *l, uint64_t seed)
{
    mcamp_rng r;
    mcamp_rng_seed(&r, seed);
    for (size_t i = l->n; i > 1; i--) {
        size_t j = (size_t)(mcamp_rng_uniform(&r) * (double)i);
        audit_canary c = l->c[i - 1];
        if (j >= i) j = i - 1;
        l->c[i - 1] = l->c[j];
        l->c[j] = c;
    }
}

typedef struct score_audit {
    score_list list;
    bool one_run;
    double delta, beta, certified;      /* certified < 0: no eps to compare with */
    audit_bound paired;
    audit_one_run run;
    double epsilon;
} score_audit;

TOOL_FN void audit_paired(score_audit *a)
{
    size_t n = 0, m = 0, out = a->list.n - a->list.in;
    double *in = (double *)need(malloc(a->list.n * sizeof *in)), *rest = in + a->list.in;
    for (size_t i = 0; i < a->list.n; i++) {
        if (a->list.c[i].in) in[n++] = a->list.c[i].score;
        else                 rest[m++] = a->list.c[i].score;
    }
    a->paired = audit_scores(in, n, rest, out, a->delta, a->beta);
    a->epsilon = a->paired.epsilon;
    free(in);
}

TOOL_FN bool score_contradicts(const score_audit *a)
{
    return a->certified >= 0 && a->epsilon > a->certified;
}

/* Whatever was measured is printed by one of these two, which say what it is: a lower bound,
 * that can contradict a promise and is none.  Six digits, never above eps.          */
enum { MEASURED_TEXT = 80 };

TOOL_FN const char *measured_text(double eps, char out[MEASURED_TEXT])
{
    snprintf(out, MEASURED_TEXT, "measured lower bound: epsilon >= %.6g", eps * (1 - 6e-6));
    return out;
}

TOOL_FN void measured_json(json *j, double eps, double delta, double confidence)
{
    json_text(j, "kind", "measured lower bound");
    json_real(j, "epsilon_lower", eps);
    json_real(j, "delta", delta);
    json_real(j, "confidence", confidence);
}

TOOL_FN void print_paired(const audit_bound *b)
{
    printf("  event: score %s %.6g, chosen by a quarter of the scores; in the rest it was seen\n"
           "  %llu times in %llu runs %s the canary, %llu times in %llu runs %s it\n",
           b->event.below ? "<=" : ">=", b->event.threshold, (unsigned long long)b->hits,
           (unsigned long long)b->n, b->event.without ? "without" : "with",
           (unsigned long long)b->false_hits, (unsigned long long)b->m,
           b->event.without ? "with" : "without");
}

TOOL_FN void print_one_run(const audit_one_run *r)
{
    printf("  one run with %llu canaries, each in by a fair coin: %llu of %llu guesses are right\n"
           "  (the best of %d numbers of guesses, the level divided by them)\n",
           (unsigned long long)r->m, (unsigned long long)r->right,
           (unsigned long long)r->guesses, r->tried);
}

TOOL_FN void print_scores(const score_audit *a)
{
    char text[MEASURED_TEXT];
    printf("%s\n\n  at confidence %g, for delta = %g%s\n", measured_text(a->epsilon, text),
           1 - a->beta, a->delta, a->epsilon > 0 ? "" : ": nothing was found");
    if (a->one_run) print_one_run(&a->run);
    else            print_paired(&a->paired);
    if (score_contradicts(a))
        printf("  CONTRADICTED: epsilon = %g at this delta cannot be true\n", a->certified);
    else if (a->certified >= 0)
        printf("  epsilon = %g at this delta is not contradicted\n", a->certified);
    printf("  A lower bound says how bad it is at least; it is no statement of privacy.\n");
}

TOOL_FN void json_scores(const session *s, const score_audit *a)
{
    const audit_bound *b = &a->paired;
    json j;
    json_begin(s, &j, stdout);
    json_text(&j, "command", "audit");
    json_text(&j, "method", a->one_run ? "one-run" : "paired");
    measured_json(&j, a->epsilon, a->delta, 1 - a->beta);
    if (a->certified >= 0) {
        json_real(&j, "epsilon_certified", a->certified);
        json_bool(&j, "contradicted", score_contradicts(a));
    }
    if (a->one_run) {
        json_count(&j, "canaries", a->run.m);
        json_count(&j, "guesses", a->run.guesses);
        json_count(&j, "right", a->run.right);
    } else {
        json_real(&j, "threshold", b->event.threshold);
        json_text(&j, "side", b->event.below ? "<=" : ">=");
        json_text(&j, "likelier", b->event.without ? "out" : "in");
        json_count(&j, "hits", b->hits);
        json_count(&j, "trials", b->n);
        json_count(&j, "false_hits", b->false_hits);
        json_count(&j, "false_trials", b->m);
    }
    json_close(&j);
}

/* ---- the picture: how often a score is above a threshold, in and out ------------------ */

enum { AUDIT_CURVE = 201 };

TOOL_FN void roc_points(const score_audit *a, double *x, double *y)
{
    size_t n = a->list.n, out = n - a->list.in, tp = 0, fp = 0, k = 1;
    audit_canary *c = a->list.c;        /* sorted from here on */
    qsort(c, n, sizeof *c, audit_canary_order);
    x[0] = y[0] = 0;
    for (size_t i = n; i-- > 0; ) {
        tp += c[i].in;
        fp += !c[i].in;
        if (i && c[i - 1].score >= c[i].score) continue;
        while (k < AUDIT_CURVE && fp * (AUDIT_CURVE - 1) >= k * out) {
            x[k] = (double)fp / (double)out;
            y[k++] = (double)tp / (double)a->list.in;
        }
    }
}

/* The largest share of hits at each share of false hits that (eps, delta) allows. */
TOOL_FN void allowed_points(double eps, double delta, double *x, double *y)
{
    for (int i = 0; i < AUDIT_CURVE; i++) {
        x[i] = (double)i / (AUDIT_CURVE - 1);
        y[i] = fmin(fmin(exp(eps) * x[i] + delta, 1 - exp(-eps) * (1 - delta - x[i])), 1);
    }
}

TOOL_FN void draw_scores(const session *s, const score_audit *a)
{
    static double x[3][AUDIT_CURVE], y[3][AUDIT_CURVE];
    svg_series line[3];
    svg_chart c;
    char text[MEASURED_TEXT], title[120], subtitle[160];
    memset(line, 0, sizeof line);
    memset(&c, 0, sizeof c);
    roc_points(a, x[0], y[0]);
    allowed_points(a->epsilon, a->delta, x[1], y[1]);
    allowed_points(a->certified >= 0 ? a->certified : 0, a->delta, x[2], y[2]);
    line[0].name = "canaries, as observed";
    line[0].colour = "#1f77b4";
    line[1].name = "the most at the lower bound";
    line[1].colour = "#d62728";
    line[1].dashed = true;
    line[2].name = a->certified >= 0 ? "the most at the certified epsilon" : "nothing learned";
    line[2].colour = "#555555";
    for (int i = 0; i < 3; i++) {
        line[i].x = x[i];
        line[i].y = y[i];
        line[i].n = AUDIT_CURVE;
    }
    snprintf(title, sizeof title, "%s at delta = %g", measured_text(a->epsilon, text), a->delta);
    snprintf(subtitle, sizeof subtitle, "at confidence %g, %s, %lu canaries",
             1 - a->beta, a->one_run ? "one run" : "paired", (unsigned long)a->list.n);
    c.title = title;
    c.subtitle = subtitle;
    c.xlabel = "share of canaries that were out, with a score this high";
    c.ylabel = "share of those that were in";
    c.series = line;
    c.nseries = 3;
    write_picture(s, s->opt[O_OUT].text, &c);
}

TOOL_FN int audit_file(const session *s)
{
    const option_value *o = s->opt;
    score_audit a;
    int bad;
    memset(&a, 0, sizeof a);
    read_scores(o[O_SCORES].text, &a.list);
    shuffle_scores(&a.list, o[O_SEED].given ? o[O_SEED].count : 1);
    a.one_run = o[O_ONE_RUN].given;
    a.delta = o[O_DELTA].given ? o[O_DELTA].real : 0;
    a.beta = o[O_BETA].given ? o[O_BETA].real : 0.05;
    a.certified = o[O_EPS].given ? o[O_EPS].real : -1;
    if (!a.one_run) audit_paired(&a);
    else {
        a.run = audit_canaries(a.list.c, a.list.n, a.delta, a.beta);
        a.epsilon = a.run.epsilon;
    }
    bad = score_contradicts(&a);
    if (o[O_JSON].given) json_scores(s, &a);
    else                 print_scores(&a);
    if (o[O_OUT].given) draw_scores(s, &a);
    free(a.list.c);
    return bad ? EXIT_REFUSED : 0;
}

/* ---- the library's own sessions ------------------------------------------------------- */

TOOL_FN const char *verdict_text(audit_verdict v)
{
    return v == AUDIT_HOLDS ? "not contradicted" : v == AUDIT_REFUSED ? "nothing seen"
         : v == AUDIT_UNCOVERED ? "not covered" : "CONTRADICTED";
}

TOOL_FN void json_case(json *j, const audit_case *c, const audit_result *r, double confidence)
{
    json_key(j, NULL);
    j->depth++;
    j->first = true;
    fputs("{", j->f);
    json_text(j, "case", c->name);
    json_text(j, "verdict", verdict_text(r->verdict));
    measured_json(j, r->bound.epsilon, r->bound.delta, confidence);
    json_real(j, "epsilon_certified", r->certified);
    json_count(j, "runs", r->runs);
    json_real(j, "not_refused", r->violations);
    fputs(" }", j->f);
    j->depth--;
    j->first = false;
}

TOOL_FN void print_case(const audit_case *c, const audit_result *r)
{
    char text[MEASURED_TEXT];
    printf("  %-24s %-48s %-16s", c->name, c->what, verdict_text(r->verdict));
    if (r->verdict != AUDIT_REFUSED && r->bound.n)
        printf(" %s of %.6g at delta %g", measured_text(r->bound.epsilon, text), r->certified,
               r->bound.delta);
    if (r->violations > 0) printf(" taken %g times", r->violations);
    putchar('\n');
}

TOOL_FN int audit_library(session *s)
{
    const option_value *o = s->opt;
    size_t runs = o[O_SAMPLES].given ? (size_t)o[O_SAMPLES].count : 10000;
    double beta = o[O_BETA].given ? o[O_BETA].real : 1e-6;
    int contradicted = 0;
    bool text = !o[O_JSON].given;
    json j;
    if (runs < 100 || runs > 100000000) bad_use("--samples must be from 100 to 1e8 runs");
    if (text)
        printf("sessions of mcamp %s on neighbouring data sets, %lu runs of each; lower bounds on "
               "epsilon, all at\nconfidence %g together\n\n", MCAMP_VERSION_TEXT,
               (unsigned long)runs, 1 - beta);
    if (!text) {
        json_begin(s, &j, stdout);
        json_text(&j, "command", "audit");
        json_key(&j, "cases");
        fputs("[", stdout);
        j.first = true;
    }
    for (int i = 0; i < AUDIT_NCASE; i++) {
        audit_result r;
        if (!audit_one(&s->ctx, &AUDIT_CASES[i], o[O_SEED].given ? o[O_SEED].count : 1, runs,
                       beta, &r)) failed("\"%s\" cannot be run", AUDIT_CASES[i].name);
        contradicted += r.verdict == AUDIT_CONTRADICTED;
        if (text) print_case(&AUDIT_CASES[i], &r);
        else      json_case(&j, &AUDIT_CASES[i], &r, 1 - beta);
    }
    if (!text) {
        fputs(" ]", stdout);
        json_count(&j, "contradicted", (uint64_t)contradicted);
        json_close(&j);
    } else {
        printf("\n%d of %d cases contradict the certificate.  What was not found here may be "
               "there all the same.\n", contradicted, (int)AUDIT_NCASE);
    }
    return contradicted ? EXIT_REFUSED : 0;
}

TOOL_FN int run_audit(session *s)
{
    const option_value *o = s->opt;
    if (o[O_SCORES].given) {
        if (o[O_SAMPLES].given) bad_use("--samples does not apply to --scores");
        return audit_file(s);
    }
    for (int i = 0; i < NOPTION; i++)
        if (o[i].given && (i == O_ONE_RUN || i == O_EPS || i == O_DELTA || i == O_OUT))
            bad_use("--%s needs --scores FILE", OPTIONS[i].name);
    return audit_library(s);
}

#endif
