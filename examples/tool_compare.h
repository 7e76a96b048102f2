/* mcamp compare: several C under several kinds of sampling at equal (eps, delta), by the
 * error that training sees.                                                       */
#ifndef TOOL_COMPARE_H
#define TOOL_COMPARE_H

#include "tool_account.h"
#include "tool_plan.h"

typedef struct compared {
    const char *strategy, *sampling;
    mcamp_guarantee g;          /* kind NONE: cannot be had                     */
    double rmse, most;
    double *error;              /* of every step-th round                       */
    char label[120];
} compared;

enum { COMPARE_ROWS = 3 * 8 };

typedef struct comparison {
    compared row[COMPARE_ROWS];
    size_t n, step;
    workload w;
} comparison;

/* The sigma of Poisson sampling in the cycle of C's bands, q = bands/batches. */
TOOL_FN double cyclic_sigma(session *s)
{
    mcamp_event e;
    double sigma = 0;
    if (s->mech.bands > s->batches) return 0;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.count = (s->rounds - 1) / s->mech.bands + 1;
    e.sensitivity = s->column_norm;
    e.q = (double)s->mech.bands / (double)s->batches;
    check(s, mcamp_exact_calibrate(&s->ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA,
                                   s->opt[O_EPS].real, s->opt[O_DELTA].real, &sigma, NULL));
    return sigma;
}

TOOL_FN void compare_sigma(session *s, unsigned sampling, mcamp_opt_result *r, compared *c)
{
    double eps = s->opt[O_EPS].real, delta = s->opt[O_DELTA].real;
    mcamp_batch_law law = MCAMP_BATCH_SHUFFLE;
    size_t batches = s->batches;
    mcamp_answer a;
    r->sensitivity = sensitivity(s);
    c->sampling = "none";
    if (sampling == MCAMP_PLAN_BINS) {
        check(s, mcamp_sigma(&s->ctx, &s->gram, eps, delta, &s->budget, &a));
        r->sigma = a.sigma;
        r->sigma_error = a.std_error;
        r->samples = a.samples;
        law = MCAMP_BATCH_BINS;
        c->sampling = "balls in bins";
    } else if (sampling == MCAMP_PLAN_POISSON) {
        r->sigma = cyclic_sigma(s);
        law = MCAMP_BATCH_POISSON;
        batches = s->mech.bands;
        c->sampling = "cyclic Poisson";
    } else {
        check(s, mcamp_gauss_sigma(&s->ctx, r->sensitivity, eps, delta, &r->sigma));
    }
    if (!(r->sigma > 0)) return;
    mcamp_guarantee_estimate(&s->mech, law, batches, r, eps, delta, &c->g);
    c->g.seed = s->budget.seed;
}

TOOL_FN void compare_row(session *s, comparison *all, const char *text, unsigned sampling)
{
    compared *c = &all->row[all->n++];
    mcamp_opt_result r;
    memset(&r, 0, sizeof r);
    c->strategy = text;
    compare_sigma(s, sampling, &r, c);
    c->error = (double *)need(calloc(s->rounds, sizeof *c->error));
    check(s, mcamp_work_error(&s->ctx, &all->w.work, &s->mech, c->error, &r.unit));
    for (size_t t = 0; t * all->step < s->rounds; t++)
        c->error[t] = c->error[t * all->step] * r.sigma;
    c->rmse = r.sigma * r.unit.rmse;
    c->most = r.sigma * r.unit.max;
    snprintf(c->label, sizeof c->label, "%.80s, %s", text, c->sampling);
}

TOOL_FN void compare_strategy(session *s, comparison *all, const char *text)
{
    strategy st;
    parse_strategy(text, s->rounds, s->opt[O_NORMALIZE].given, &st);
    check(s, mcamp_mech_init(&s->ctx, &st.desc, &s->mech));
    check(s, mcamp_mech_max_norm(&s->ctx, &s->mech, &s->column_norm));
    check(s, mcamp_gram_init(&s->ctx, &s->mech, s->batches, &s->gram));
    for (unsigned how = 0; how <= MCAMP_PLAN_POISSON; how++) {
        unsigned can = s->opt[O_AMPLIFICATION].given ? read_sampling(s)
                                                     : MCAMP_PLAN_BINS | MCAMP_PLAN_POISSON;
        if (how ? (can & how) != 0 : !can || !s->opt[O_AMPLIFICATION].given)
            compare_row(s, all, text, how);
    }
    mcamp_gram_free(&s->ctx, &s->gram);
    mcamp_mech_free(&s->ctx, &s->mech);
    strategy_free(&st);
}

TOOL_FN void compare_value(const compared *c, text_writer *w, char *text, size_t room)
{
    write_text(w, text, room);
    if (!c->g.kind || mcamp_report_guarantee(&c->g, MCAMP_REPORT_VALUE, &w->writer) < 0)
        snprintf(text, room, "-");
}

/* csv: a line for each, fields with commas in quotes. */
TOOL_FN void compare_table(const comparison *all, FILE *f, bool csv)
{
    char value[60];
    text_writer w;
    fprintf(f, csv ? "strategy,sampling,sigma,rmse,max_error\n"
                   : "%-28s %-15s %12s %10s %10s\n", "strategy", "sampling", "sigma", "rmse",
            "max error");
    for (size_t i = 0; i < all->n; i++) {
        const compared *c = &all->row[i];
        compare_value(c, &w, value, sizeof value);
        fprintf(f, csv ? "\"%s\",%s,%s" : "%-28s %-15s %12s", c->strategy, c->sampling,
                csv && !c->g.kind ? "" : value);
        if (c->g.kind) fprintf(f, csv ? ",%.17g,%.17g\n" : " %10.5g %10.5g\n", c->rmse, c->most);
        else           fputs(csv ? ",,\n" : "          -          -\n", f);
    }
}

TOOL_FN void compare_json(const session *s, const comparison *all)
{
    mcamp_writer w = to_stdout();
    json j;
    json_begin(s, &j, stdout);
    json_text(&j, "command", "compare");
    json_real(&j, "seconds", s->seconds);
    json_key(&j, "rows");
    fputs("[", stdout);
    for (size_t i = 0; i < all->n; i++) {
        const compared *c = &all->row[i];
        json k;
        if (i) fputs(",\n", stdout);
        json_open(&k, stdout);
        json_text(&k, "strategy", c->strategy);
        json_bool(&k, "possible", c->g.kind != MCAMP_KIND_NONE);
        if (c->g.kind) {
            json_real(&k, "rmse", c->rmse);
            json_real(&k, "max_error", c->most);
            mcamp_report_guarantee(&c->g, MCAMP_REPORT_MEMBERS, &w);
        }
        json_close(&k);
    }
    fputs("]", stdout);
    json_close(&j);
}

TOOL_FN void compare_draw(const session *s, const comparison *all)
{
    svg_series line[COMPARE_ROWS];
    svg_chart chart;
    size_t points = (s->rounds - 1) / all->step + 1;
    double *x = (double *)need(calloc(points, sizeof *x));
    char subtitle[200], words[120] = "";
    text_writer w;
    memset(line, 0, sizeof line);
    memset(&chart, 0, sizeof chart);
    chart.series = line;
    for (size_t t = 0; t < points; t++) x[t] = (double)(t * all->step + 1);
    for (size_t i = 0; i < all->n; i++) {
        svg_series *q = &line[chart.nseries];
        if (!all->row[i].g.kind) continue;
        q->name = all->row[i].label;
        q->colour = ACCOUNT_COLOUR[chart.nseries % 8];
        q->dashed = chart.nseries >= 8;
        q->x = x;
        q->y = all->row[i].error;
        q->n = points;
        if (!chart.nseries++) {
            write_text(&w, words, sizeof words);
            mcamp_report_guarantee(&all->row[i].g, MCAMP_REPORT_CAPTION, &w.writer);
        }
    }
    snprintf(subtitle, sizeof subtitle, "%lu rounds, %lu in an epoch; first line: %s",
             (unsigned long)s->rounds, (unsigned long)s->batches, words);
    chart.title = "Error of what training sees, at equal privacy";
    chart.subtitle = subtitle;
    chart.xlabel = "round";
    chart.ylabel = "standard deviation / clipping norm";
    chart.log_x = chart.log_y = true;
    chart.y_floor = 1e-12;
    write_picture(s, s->opt[O_OUT].text, &chart);
    free(x);
}

TOOL_FN void compare_out(const session *s, const comparison *all)
{
    const char *path = s->opt[O_OUT].text;
    size_t n = strlen(path);
    FILE *f;
    if (n < 4 || strcmp(path + n - 4, ".csv")) { compare_draw(s, all); return; }
    f = open_written(path, "w");
    if (!f) bad_use("--out: cannot write \"%s\": %s", path, strerror(errno));
    compare_table(all, f, true);
    close_written(f, path);
    if (!s->opt[O_JSON].given) printf("wrote %s\n", path);
}

TOOL_FN int run_compare(session *s)
{
    comparison *all = (comparison *)need(calloc(1, sizeof *all));
    if (!s->words.n || s->words.n > 8)
        bad_use("compare which strategies, at most 8? such as \"identity sqrt:16\"");
    all->step = s->rounds / 2000 + 1;
    workload_open(s, &all->w);
    for (size_t i = 0; i < s->words.n; i++) compare_strategy(s, all, s->words.word[i]);
    s->seconds = progress_end(&s->progress);
    if (s->opt[O_OUT].given) compare_out(s, all);
    if (s->opt[O_JSON].given) compare_json(s, all);
    else if (!s->opt[O_OUT].given || strcmp(s->opt[O_OUT].text, "-"))
        compare_table(all, stdout, false);
    workload_close(s, &all->w);
    for (size_t i = 0; i < all->n; i++) free(all->row[i].error);
    free(all);
    return 0;
}

#endif
