/* mcamp account, and its event language: mechanisms composed by "+", repeated by "*T", one
 * parameter possibly "?".                                                      */
#ifndef TOOL_ACCOUNT_H
#define TOOL_ACCOUNT_H

#include "tool_session.h"

enum { MOST_EVENTS = 64, MOST_FIELDS = 8 };

/* Where a kind's numbers go.  's' sigma, 'q', 'T' count, 'g' group, 'b' batch, 'N'
 * population, 'r' rounds, 'w' bands, 'i' bins, 'k' picks, 'e' eps, 'd' delta, 'S' sensitivity;
 * after '|' optional ones.  "..." takes pairs sensitivity:probability.            */
typedef struct event_form {
    const char *name;
    mcamp_event_kind kind;
    const char *fields;
    const char *usage;
} event_form;

static const event_form EVENT_FORMS[] = {
    { "gaussian", MCAMP_EVENT_GAUSSIAN, "s|S", "SIGMA[,SENSITIVITY]" },
    { "laplace", MCAMP_EVENT_LAPLACE, "s|q", "SCALE[,Q]" },
    { "response", MCAMP_EVENT_RESPONSE, "e|d", "EPS[,DELTA]" },
    { "poisson", MCAMP_EVENT_POISSON, "qsT", "Q,SIGMA,T" },
    { "gaussian-replace", MCAMP_EVENT_GAUSSIAN, "s|S",
      "SIGMA[,SENSITIVITY] (one example replaced by another)" },
    { "poisson-replace", MCAMP_EVENT_POISSON, "qsT", "Q,SIGMA,T (the same)" },
    { "truncated", MCAMP_EVENT_TRUNCATED, "qsTbN", "Q,SIGMA,T,BATCH,POPULATION" },
    { "mog", MCAMP_EVENT_MIXTURE, "sT.", "SIGMA,T,SENSITIVITY:PROBABILITY,..." },
    { "group-poisson", MCAMP_EVENT_GROUP_POISSON, "qsTg", "Q,SIGMA,T,GROUP" },
    { "group-fixed", MCAMP_EVENT_GROUP_FIXED, "NbsTg", "POPULATION,BATCH,SIGMA,T,GROUP" },
    { "bandmf", MCAMP_EVENT_BANDMF, "sbNrw|S",
      "SIGMA,BATCH,POPULATION,ROUNDS,BANDS[,COLUMN_NORM] (rate BATCH*BANDS/POPULATION)" },
    { "bandmf-floor", MCAMP_EVENT_BANDMF, "sbNrw|S",
      "the same, rate BATCH/floor(POPULATION/BANDS): the paper leaves a remainder out" },
    { "group-bandmf", MCAMP_EVENT_BANDMF, "sbNrwg|S",
      "SIGMA,BATCH,POPULATION,ROUNDS,BANDS,GROUP[,COLUMN_NORM] (wherever in the cycle they are)" },
    { "bnb", MCAMP_EVENT_BINS, "sir", "SIGMA,BATCHES,EPOCHS (balls in bins, C = identity)" },
    { "bnb-replace", MCAMP_EVENT_BINS, "sir",
      "SIGMA,BATCHES,EPOCHS (one example replaced by another: by conversion)" },
    { "allocate", MCAMP_EVENT_ALLOCATE, "sik|r",
      "SIGMA,ROUNDS,PICKS[,EPOCHS] (so many rounds of each epoch, drawn once; *T: anew)" },
    { "shuffle", MCAMP_EVENT_CURVE, "sib|r",
      "SIGMA,BATCHES,SIZE[,EPOCHS] (one random order, the same in all epochs; *T: anew; an "
      "example zeroed out)" },
};
enum { NEVENT_FORM = sizeof EVENT_FORMS / sizeof EVENT_FORMS[0] };

static const char LIMIT[] = "laplace-limit:";

typedef struct event_list {
    const char *text;
    mcamp_event event[MOST_EVENTS];
    numbers shift[MOST_EVENTS], prob[MOST_EVENTS];
    size_t n;
    double rate;                /* "laplace-limit": the sampling rate, n = 0    */
    bool unknown;               /* one parameter is "?" ...                     */
    size_t which;               /* ... of this event                            */
    mcamp_event_param param;
    mcamp_event shuffled;       /* all of it: one "shuffle", as it was read; or kind 0 */
} event_list;

TOOL_FN void print_event_forms(void)
{
    for (size_t i = 0; i < NEVENT_FORM; i++)
        printf("  %s:%s\n", EVENT_FORMS[i].name, EVENT_FORMS[i].usage);
    printf("  %sQ, alone: how much of Laplace noise sampling saves, as a ratio\n", LIMIT);
}

TOOL_FN void event_list_free(event_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->shift[i].x);
        free(l->prob[i].x);
    }
}

TOOL_FN const event_form *find_event(const char *text, size_t length)
{
    for (size_t i = 0; i < NEVENT_FORM; i++)
        if (strlen(EVENT_FORMS[i].name) == length && !memcmp(EVENT_FORMS[i].name, text, length))
            return &EVENT_FORMS[i];
    return NULL;
}

TOOL_FN void set_unknown(event_list *l, char field)
{
    if (l->unknown) bad_use("\"%s\": only one parameter can be \"?\"", l->text);
    l->unknown = true;
    l->which = l->n;
    if (l->event[l->n].kind == MCAMP_EVENT_CURVE)
        bad_use("\"%s\": shuffle has no \"?\"", l->text);
    l->param = field == 's' ? MCAMP_PARAM_SIGMA : field == 'q' ? MCAMP_PARAM_Q
             : field == 'T' ? MCAMP_PARAM_COUNT : MCAMP_PARAM_GROUP;
    if (!strchr("sqTg", field))
        bad_use("\"%s\": \"?\" stands for sigma, q, T or a group's size only", l->text);
}

TOOL_FN uint64_t whole(const event_list *l, double x)
{
    if (!(x >= 0 && x <= 9007199254740992.0) || x > floor(x))
        bad_use("\"%s\": %g is not a whole number from 0 on", l->text, x);
    return (uint64_t)x;
}

TOOL_FN void set_field(const event_list *l, mcamp_event *e, char field, double x)
{
    switch (field) {
    case 's': e->sigma = x; break;
    case 'q': e->q = x; break;
    case 'e': e->eps = x; break;
    case 'd': e->delta = x; break;
    case 'S': e->sensitivity = x; break;
    case 'T': e->count = whole(l, x); break;
    case 'g': e->group = whole(l, x); break;
    case 'b': e->batch = whole(l, x); break;
    case 'N': e->population = whole(l, x); break;
    case 'r': e->rounds = whole(l, x); break;
    case 'w': e->bands = whole(l, x); break;
    case 'k': e->picks = whole(l, x); break;
    default:  e->bins = whole(l, x); break;
    }
}

/* Reads a number or "?" at *p and moves on. */
TOOL_FN bool read_field(const event_list *l, const char **p, double *x)
{
    char *end;
    if (**p == '?') {
        ++*p;
        return false;
    }
    *x = strtod(*p, &end);
    if (end == *p || !(fabs(*x) <= 1.7e308))
        bad_use("\"%s\": a finite number is missing at \"%s\"", l->text, *p);
    *p = end;
    return true;
}

/* "sensitivity:probability,..." up to the event's end */
TOOL_FN void read_pairs(event_list *l, const char **p)
{
    mcamp_event *e = &l->event[l->n];
    for (;;) {
        double shift = 0, prob = 0;
        if (!read_field(l, p, &shift) || **p != ':' || !read_field(l, (++*p, p), &prob))
            bad_use("\"%s\": mog wants SENSITIVITY:PROBABILITY at \"%s\"", l->text, *p);
        add_number(&l->shift[l->n], shift);
        add_number(&l->prob[l->n], prob);
        if (**p != ',') break;
        ++*p;
    }
    e->shift = l->shift[l->n].x;
    e->prob = l->prob[l->n].x;
    e->n = l->shift[l->n].count;
}

TOOL_FN void read_event(event_list *l, const char **p)
{
    size_t length = strcspn(*p, ":+*");
    const event_form *form = find_event(*p, length);
    mcamp_event *e = &l->event[l->n];
    bool optional = false;
    if (!form || (*p)[length] != ':')
        bad_use("\"%s\": no mechanism at \"%s\" (mcamp --help lists them)", l->text, *p);
    *p += length;
    memset(e, 0, sizeof *e);
    e->kind = form->kind;
    e->count = 1;
    e->replace = strstr(form->name, "-replace") != NULL;
    for (const char *f = form->fields; *f; f++) {
        double x = 0;
        if (*f == '|') { optional = true; continue; }
        if (optional && **p != ',') break;
        if (**p != (f == form->fields ? ':' : ','))
            bad_use("\"%s\": %s wants %s", l->text, form->name, form->usage);
        ++*p;
        if (*f == '.') { read_pairs(l, p); break; }
        if (read_field(l, p, &x)) set_field(l, e, *f, x); else set_unknown(l, *f);
    }
    if (e->bands && strstr(form->name, "-floor")) e->population -= e->population % e->bands;
    while (**p == '*') {
        double x = 0;
        ++*p;
        if (!read_field(l, p, &x)) set_unknown(l, 'T');
        else if (e->count && whole(l, x) > UINT64_MAX / e->count)
            bad_use("\"%s\": too often", l->text);
        else e->count *= whole(l, x);
    }
}

TOOL_FN void parse_events(const char *text, event_list *l)
{
    const char *p = text;
    memset(l, 0, sizeof *l);
    l->text = text;
    for (;;) {
        if (l->n == MOST_EVENTS) bad_use("\"%s\": more than %d mechanisms", text, MOST_EVENTS);
        read_event(l, &p);
        l->n++;
        if (!*p) break;
        if (*p != '+') bad_use("\"%s\": \"+\" or the end expected at \"%s\"", text, p);
        p++;
    }
}

/* "laplace-limit:Q" is a word by itself. */
TOOL_FN bool parse_limit(const char *text, event_list *l)
{
    size_t skip = strlen(LIMIT);
    if (strncmp(text, LIMIT, skip)) return false;
    memset(l, 0, sizeof *l);
    l->text = text;
    if (!parse_real(text + skip, &l->rate) || !(l->rate > 0 && l->rate <= 1))
        bad_use("\"%s\": the sampling rate must be above 0 and at most 1", text);
    return true;
}

/* ---- the command ------------------------------------------------------------------------ */

typedef struct account {
    mcamp_exact_desc desc;
    event_list list[16];
    size_t n;
    bool limits;                /* all are "laplace-limit"                      */
} account;

static const char *const ACCOUNT_COLOUR[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#e69f00", "#56b4e9", "#000000", "#999999" };

/* A picture of one line a mechanism over eps from 0 to `end`, its values in y. */
typedef struct curves {
    double *x;
    svg_series line[16];
    svg_chart chart;
} curves;

TOOL_FN void curves_open(curves *c, const account *a, size_t points, size_t columns, double end)
{
    memset(c, 0, sizeof *c);
    c->x = (double *)need(calloc(points * (1 + columns * a->n), sizeof *c->x));
    for (size_t i = 0; i < points; i++) c->x[i] = end * (double)i / (double)(points - 1);
    for (size_t k = 0; k < a->n; k++) {
        c->line[k].name = a->list[k].text;
        c->line[k].colour = ACCOUNT_COLOUR[k % 8];
        c->line[k].dashed = k >= 8;
        c->line[k].x = c->x;
        c->line[k].y = c->x + points * (1 + columns * k);
        c->line[k].n = points;
    }
    c->chart.xlabel = "epsilon";
    c->chart.series = c->line;
    c->chart.nseries = a->n;
}

/* Proved bounds of shuffled batches as a curve, up to where delta is next to nothing. */
enum { SHUFFLE_POINTS = 64 };

TOOL_FN mcamp_status shuffled_delta(session *s, const mcamp_event *e, double eps,
                                    mcamp_interval *v)
{
    return mcamp_exact_shuffled(&s->ctx, e->sigma, e->bins, e->batch, e->rounds ? e->rounds : 1,
                                eps, v);
}

TOOL_FN mcamp_status fill_shuffled(session *s, event_list *l)
{
    mcamp_status st = MCAMP_OK;
    for (size_t k = 0; k < l->n && st >= 0; k++) {
        mcamp_event *e = &l->event[k], given = *e;
        double end = 0;
        if (e->kind != MCAMP_EVENT_CURVE) continue;
        if (l->n == 1 && e->count == 1) l->shuffled = given;
        st = mcamp_gauss_epsilon(&s->ctx, e->sigma, sqrt((double)(e->rounds ? e->rounds : 1)),
                                 1e-14, &end);
        memset(e, 0, sizeof *e);
        e->kind = given.kind;
        e->count = given.count;
        for (int i = 0; i < SHUFFLE_POINTS && st >= 0; i++) {
            mcamp_interval v;
            double eps = end * i / (SHUFFLE_POINTS - 1);
            st = shuffled_delta(s, &given, eps, &v);
            add_number(&l->shift[k], eps);
            add_number(&l->prob[k], st >= 0 ? v.upper : 1);
        }
        e->shift = l->shift[k].x;
        e->prob = e->prob2 = l->prob[k].x;
        e->n = SHUFFLE_POINTS;
    }
    return st;
}

/* The smallest eps, from above or below, at which the proved bound, or the attack, is at most
 * delta.                                                                            */
TOOL_FN mcamp_status shuffled_epsilon(session *s, const mcamp_event *e, double delta, bool upper,
                                      double *eps)
{
    double lo = 0, hi = 0;
    mcamp_interval v;
    mcamp_status st = mcamp_gauss_epsilon(&s->ctx, e->sigma,
                                          sqrt((double)(e->rounds ? e->rounds : 1)), delta, &hi);
    if (st >= 0) st = shuffled_delta(s, e, 0, &v);
    if (st < 0) return st;
    if ((upper ? v.upper : v.lower) <= delta) hi = 0;
    for (int i = 0; i < 50 && hi - lo > 1e-7 * hi && st >= 0; i++) {
        double mid = 0.5 * (lo + hi);
        st = shuffled_delta(s, e, mid, &v);
        if ((upper ? v.upper : v.lower) <= delta) hi = mid; else lo = mid;
    }
    *eps = upper ? hi : lo;
    return st;
}

TOOL_FN mcamp_status shuffled_interval(session *s, const mcamp_event *e, bool want_eps, double x,
                                       mcamp_interval *v)
{
    mcamp_status st;
    if (!want_eps) return shuffled_delta(s, e, x, v);
    st = shuffled_epsilon(s, e, x, false, &v->lower);
    return st < 0 ? st : shuffled_epsilon(s, e, x, true, &v->upper);
}

/* As check(), for complaints about an event's fields. */
TOOL_FN void check_event(session *s, const event_list *l, mcamp_status st)
{
    mcamp_error e = mcamp_last_error(&s->ctx);
    stop_if_interrupted(s, st);
    if (st >= 0) return;
    progress_end(&s->progress);
    for (size_t i = 0; i < l->n; i++)
        if (l->event[i].kind == MCAMP_EVENT_BANDMF && l->event[i].batch &&
            l->event[i].bands > l->event[i].population / l->event[i].batch)
            bad_use("\"%s\": no amplification: with %llu bands a group of POPULATION/BANDS is "
                    "smaller than the batch; account for C without sampling", l->text,
                    (unsigned long long)l->event[i].bands);
    if (st == MCAMP_E_INFEASIBLE || st == MCAMP_E_MEMORY || st == MCAMP_E_INTERNAL) {
        failed("%s: %s", l->text, mcamp_strerror(st));
    }
    bad_use("\"%s\": %s (%s = %g)", l->text, mcamp_strerror(st),
            e.argument ? e.argument : "input", e.value);
}

/* The interval that was asked for: of eps at delta, or of delta at eps. */
TOOL_FN mcamp_status account_interval(session *s, const account *a, const event_list *l,
                                      bool want_eps, double x, mcamp_interval *v,
                                      mcamp_exact_info *info)
{
    if (l->shuffled.kind) {
        memset(info, 0, sizeof *info);
        return shuffled_interval(s, &l->shuffled, want_eps, x, v);
    }
    return want_eps
        ? mcamp_exact_epsilon(&s->ctx, l->event, l->n, &a->desc, x, v, info)
        : mcamp_exact_delta(&s->ctx, l->event, l->n, &a->desc, x, v, info);
}

/* delta at x[n] in the directions asked for: lo[n], hi[n].  v: room for 2n. */
TOOL_FN void account_curve(session *s, const account *a, const event_list *l, const double *x,
                           size_t n, mcamp_interval *v, double *lo, double *hi)
{
    mcamp_direction d = a->desc.direction;
    memset(v, 0, 2 * n * sizeof *v);
    check_event(s, l, mcamp_exact_curve(&s->ctx, l->event, l->n, &a->desc, x, n,
                                        d == MCAMP_ADD ? NULL : v,
                                        d == MCAMP_REMOVE ? NULL : v + n));
    for (size_t i = 0; i < n; i++) {
        lo[i] = v[i].lower > v[n + i].lower ? v[i].lower : v[n + i].lower;
        hi[i] = v[i].upper > v[n + i].upper ? v[i].upper : v[n + i].upper;
    }
}

TOOL_FN mcamp_quantity asked_of(mcamp_event_param param)
{
    return param == MCAMP_PARAM_SIGMA ? MCAMP_ASK_SIGMA : param == MCAMP_PARAM_Q ? MCAMP_ASK_Q
         : param == MCAMP_PARAM_COUNT ? MCAMP_ASK_COUNT : MCAMP_ASK_UNIT;
}

TOOL_FN void print_events(const session *s, const event_list *l, const mcamp_guarantee *g)
{
    mcamp_writer w = to_stdout();
    json j;
    if (!s->opt[O_JSON].given) {
        printf("%s:\n", l->text);
        mcamp_report_guarantee(g, MCAMP_REPORT_TEXT, &w);
        print_attack(s, g, NULL);
        return;
    }
    json_begin(s, &j, stdout);
    json_text(&j, "mechanism", l->text);
    json_real(&j, "seconds", s->seconds);
    print_attack(s, g, &j);
    mcamp_report_guarantee(g, MCAMP_REPORT_MEMBERS, &w);
    json_close(&j);
}

/* Whose presence all that is composed is about: the smallest group, which may be one. */
TOOL_FN void set_unit(const event_list *l, mcamp_guarantee *g)
{
    uint64_t least = UINT64_MAX;
    if (l->event[0].replace) g->adjacency = MCAMP_ADJACENT_REPLACE;
    for (size_t k = 0; k < l->n; k++) {
        uint64_t group = l->event[k].group ? l->event[k].group : 1;
        if (l->event[k].kind == MCAMP_EVENT_CURVE)      /* shuffled */
            g->adjacency = MCAMP_ADJACENT_ZERO_OUT;
        if (l->event[k].replace && l->event[k].kind == MCAMP_EVENT_BINS && l->event[k].bins > 1)
            g->adjacency = MCAMP_ADJACENT_CONVERTED;
        if (group < least) least = group;
    }
    if (g->asked != MCAMP_ASK_UNIT) g->unit = least;
}

TOOL_FN void account_result(session *s, const account *a, const event_list *l)
{
    const option_value *o = s->opt;
    mcamp_interval eps, delta;
    mcamp_exact_info info;
    double value = 0;
    mcamp_guarantee g;
    mcamp_status st;
    eps.lower = eps.upper = o[O_EPS].real;
    delta.lower = delta.upper = o[O_DELTA].real;
    if (l->unknown)
        st = mcamp_exact_calibrate(&s->ctx, l->event, l->n, &a->desc, l->which, l->param,
                                   eps.upper, delta.upper, &value, &info);
    else if (o[O_EPS].given)
        st = account_interval(s, a, l, false, eps.upper, &delta, &info);
    else
        st = account_interval(s, a, l, true, delta.upper, &eps, &info);
    check_event(s, l, st);
    check_event(s, l, mcamp_guarantee_interval(
        l->unknown ? asked_of(l->param) : o[O_EPS].given ? MCAMP_ASK_DELTA : MCAMP_ASK_EPS,
        a->desc.direction, o[O_EPS].given ? delta : eps, value, eps.upper, delta.upper,
        info.beta, &g));
    set_unit(l, &g);
    s->seconds = progress_end(&s->progress);
    warn(st);
    print_events(s, l, &g);
}

/* What is certain of delta at one point of a curve. */
TOOL_FN mcamp_guarantee at_point(const account *a, double eps, double lo, double hi)
{
    mcamp_interval delta;
    mcamp_guarantee g;
    delta.lower = lo;
    delta.upper = hi;
    mcamp_guarantee_interval(MCAMP_ASK_DELTA, a->desc.direction, delta, 0, eps, 0, 0, &g);
    return g;
}

TOOL_FN void json_intervals(const session *s, const account *a, const event_list *l,
                            const svg_series *line)
{
    mcamp_writer w = to_stdout();
    json j;
    json_begin(s, &j, stdout);
    json_text(&j, "mechanism", l->text);
    json_key(&j, "curve");
    for (size_t i = 0; i < line->n; i++) {
        mcamp_guarantee g = at_point(a, line->x[i], line->lo[i], line->hi[i]);
        set_unit(l, &g);
        fputs(i ? ",\n" : "[\n", stdout);
        mcamp_report_guarantee(&g, MCAMP_REPORT_JSON, &w);
    }
    fputs("]", stdout);
    json_close(&j);
}

/* One curve per mechanism, lower to upper as a band; the upper end is the line.  In JSON
 * as lists, unless a number is asked for too.                                   */
TOOL_FN void account_curves(session *s, const account *a)
{
    const option_value *o = s->opt;
    size_t points = o[O_POINTS].given ? (size_t)o[O_POINTS].count : 33;
    mcamp_interval *v = (mcamp_interval *)need(calloc(2 * points, sizeof *v)), e;
    mcamp_exact_info info;
    mcamp_guarantee g;
    curves c;
    text_writer w;
    char subtitle[200];
    double end = o[O_EPS_MAX].real;
    for (size_t k = 0; !o[O_EPS_MAX].given && k < a->n; k++) {
        check_event(s, &a->list[k], account_interval(s, a, &a->list[k], true, 1e-10, &e, &info));
        if (e.upper > end) end = e.upper;
    }
    curves_open(&c, a, points, 2, end);
    for (size_t k = 0; k < a->n; k++) {
        double *hi = c.x + points * (1 + 2 * k), *lo = hi + points;
        account_curve(s, a, &a->list[k], c.x, points, v, lo, hi);
        c.line[k].hi = hi;
        c.line[k].lo = lo;
        c.line[k].band_x = c.x;
        c.line[k].band_n = points;
    }
    g = at_point(a, c.x[0], c.line[0].lo[0], c.line[0].hi[0]);
    write_text(&w, subtitle, sizeof subtitle);
    mcamp_report_guarantee(&g, MCAMP_REPORT_CAPTION, &w.writer);
    c.chart.title = "Privacy of composed mechanisms";
    c.chart.subtitle = subtitle;
    c.chart.ylabel = "delta";
    c.chart.log_y = true;
    c.chart.y_floor = 1e-12;
    progress_end(&s->progress);
    write_picture(s, o[O_OUT].text, &c.chart);
    for (size_t k = 0; k < a->n && o[O_JSON].given && !o[O_EPS].given && !o[O_DELTA].given; k++)
        json_intervals(s, a, &a->list[k], &c.line[k]);
    free(v);
    free(c.x);
}

/* ---- Laplace noise on a sample ------------------------------------------------------------ */

/* Noise without sampling over noise on a sample, at the same eps: 1 where sampling is free. */
TOOL_FN double limit_ratio(session *s, const event_list *l, double eps, double *sample_eps)
{
    double ratio = 1;
    *sample_eps = 0;
    if (eps > 0)                        /* the limit at 0 is 1 */
        check_event(s, l, mcamp_exact_laplace_amplified(&s->ctx, eps, l->rate, sample_eps,
                                                        &ratio));
    return ratio;
}

TOOL_FN void limit_result(session *s, const event_list *l)
{
    double eps = s->opt[O_EPS].real, sample, ratio = limit_ratio(s, l, eps, &sample);
    mcamp_writer w = to_stdout();
    mcamp_interval of;
    mcamp_guarantee whole, alone;
    json j;
    if (!(eps > 0)) bad_use("\"%s\": --eps must be above 0", l->text);
    of.lower = of.upper = sample * (1 + 1e-14);
    check_event(s, l, mcamp_guarantee_interval(MCAMP_ASK_EPS, MCAMP_BOTH, of, 0, 0, 0, 0, &alone));
    check_event(s, l, mcamp_guarantee_interval(MCAMP_ASK_SIGMA, MCAMP_BOTH, of,
                                               (1 + 1e-14) / sample, eps, 0, 0, &whole));
    progress_end(&s->progress);
    if (s->opt[O_JSON].given) {
        json_begin(s, &j, stdout);
        json_text(&j, "mechanism", l->text);
        json_real(&j, "noise_ratio", ratio);
        json_real(&j, "noise_ratio_at_least", l->rate / (l->rate + eps));
        json_key(&j, "on_sample");
        mcamp_report_guarantee(&alone, MCAMP_REPORT_JSON, &w);
        mcamp_report_guarantee(&whole, MCAMP_REPORT_MEMBERS, &w);
        json_close(&j);
    } else {
        printf("noise ratio %.8g: Laplace noise without sampling over noise on the sample (%s)\n",
               ratio, l->text);
        mcamp_report_guarantee(&whole, MCAMP_REPORT_TEXT, &w);
        printf("  on the sample alone the same noise keeps epsilon ");
        mcamp_report_guarantee(&alone, MCAMP_REPORT_VALUE, &w);
        printf("\n");
    }
}

TOOL_FN void limit_curves(session *s, const account *a)
{
    const option_value *o = s->opt;
    size_t points = o[O_POINTS].given ? (size_t)o[O_POINTS].count : 201;
    double sample;
    curves c;
    json j;
    curves_open(&c, a, points, 1, o[O_EPS_MAX].given ? o[O_EPS_MAX].real : 1);
    for (size_t k = 0; k < a->n; k++)
        for (size_t i = 0; i < points; i++)
            c.x[points * (1 + k) + i] = limit_ratio(s, &a->list[k], c.x[i], &sample);
    c.chart.title = "Laplace noise on a sample: what is left of the saving";
    c.chart.subtitle = "noise without sampling / noise on a sample with probability Q; 1 = free";
    c.chart.ylabel = "ratio of noise scales";
    progress_end(&s->progress);
    write_picture(s, o[O_OUT].text, &c.chart);
    for (size_t k = 0; k < a->n && o[O_JSON].given && !o[O_EPS].given; k++) {
        json_begin(s, &j, stdout);
        json_text(&j, "mechanism", a->list[k].text);
        json_reals(&j, "epsilon", c.x, points);
        json_reals(&j, "value", c.line[k].y, points);
        json_text(&j, "version", MCAMP_VERSION_TEXT);
        json_close(&j);
    }
    free(c.x);
}

TOOL_FN int run_limits(session *s, const account *a)
{
    const option_value *o = s->opt;
    if (o[O_DELTA].given) bad_use("--delta does not apply to \"%s\"", a->list[0].text);
    if (!o[O_EPS].given && !o[O_OUT].given)
        bad_use("\"%s\": give --eps, or --out for a curve", a->list[0].text);
    if (o[O_OUT].given) limit_curves(s, a);
    for (size_t k = 0; k < a->n && o[O_EPS].given; k++) limit_result(s, &a->list[k]);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

TOOL_FN int run_account(session *s)
{
    const option_value *o = s->opt;
    account *a = (account *)need(calloc(1, sizeof *a));
    a->n = s->words.n;
    a->desc.direction = read_direction(&o[O_DIRECTION]);
    a->desc.rel_error = o[O_REL_ERROR].real;
    if (!a->n) bad_use("account what? such as \"mcamp account poisson:0.01,1,2000 --delta 1e-6\"");
    for (size_t k = 0; k < a->n; k++) {
        bool limit = parse_limit(s->words.word[k], &a->list[k]);
        if (k && limit != a->limits)
            bad_use("\"%s\" and \"%s\" cannot be compared", s->words.word[0], s->words.word[k]);
        a->limits = limit;
    }
    if (a->limits) {
        run_limits(s, a);
        free(a);
        return 0;
    }
    for (size_t k = 0; k < a->n; k++) {
        event_list *l = &a->list[k];
        parse_events(s->words.word[k], l);
        check_event(s, l, fill_shuffled(s, l));
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

#endif
