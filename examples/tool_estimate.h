/* mcamp sigma, epsilon, delta, verify, curve. */
#ifndef TOOL_ESTIMATE_H
#define TOOL_ESTIMATE_H

#include "tool_session.h"

/* ---- text ------------------------------------------------------------------------ */

TOOL_FN const char *method_name(mcamp_method m)
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

TOOL_FN void print_estimate(const char *name, const mcamp_estimate *e)
{
    if (!e->samples && e->method != MCAMP_METHOD_EXACT) return;
    if (!e->exact && e->method == MCAMP_METHOD_EXACT) {
        printf("  %-22s %.6g (without samples, at most %.1g too high)\n", name, e->value,
               e->std_error);
        return;
    }
    if (e->exact) {
        printf("  %-22s %.6g (%s)\n", name, e->value, method_name(e->method));
        return;
    }
    printf("  %-22s %.4g +- %.1g (%s", name, e->value, e->std_error, method_name(e->method));
    if (e->order > 1) printf(", order %lu", (unsigned long)e->order);
    printf(", %llu samples)\n", (unsigned long long)e->samples);
}

TOOL_FN void print_answer(const session *s, const mcamp_answer *a)
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

TOOL_FN void print_statement(const session *s, const mcamp_guarantee *t)
{
    mcamp_writer w = to_stdout();
    if (s->cmd->bit == SIGMA && t->accepted) printf("sigma = %.6g\n\n", t->sigma);
    mcamp_report_guarantee_text(t, &w);
    print_setting(s, t->samples);
}

/* ---- commands ----------------------------------------------------------------------- */

TOOL_FN int run_estimate(session *s)
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

TOOL_FN int run_proof(session *s)
{
    const option_value *o = s->opt;
    mcamp_writer w = to_stdout();
    mcamp_claim c;
    mcamp_guarantee t;
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
    if (o[O_JSON].given) mcamp_report_guarantee(&t, s->seconds, &w); else print_statement(s, &t);
    return t.accepted ? 0 : EXIT_REFUSED;
}

/* The columns of the curve, one block of memory. */
typedef struct curve {
    size_t n;
    mcamp_answer *a;
    double *eps, *remove, *add, *unamplified;
    double *lo[2], *hi[2], *err[2];
} curve;

TOOL_FN void curve_open(curve *c, size_t n)
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

TOOL_FN void curve_close(curve *c)
{
    free(c->eps);
    free(c->a);
}

TOOL_FN void curve_columns(curve *c)
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

TOOL_FN void json_curve(const session *s, const curve *c, uint64_t samples)
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

TOOL_FN int run_curve(session *s)
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

#endif
