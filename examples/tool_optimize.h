/* mcamp optimize and mcamp error: the noise of a strategy in what training sees,
 * and strategies with little of it.                                             */
#ifndef TOOL_OPTIMIZE_H
#define TOOL_OPTIMIZE_H

#include "tool_session.h"

/* ---- what is measured ---------------------------------------------------------- */

typedef struct workload { mcamp_work work; numbers lr; } workload;

TOOL_FN void read_rates(const session *s, const char *path, workload *w, mcamp_work_desc *d)
{
    read_numbers("workload", path, &w->lr, NULL);
    if (w->lr.count != s->rounds)
        bad_use("--workload: \"%s\" has %lu learning rates for %lu rounds", path,
                (unsigned long)w->lr.count, (unsigned long)s->rounds);
    d->lr = w->lr.x;
}

TOOL_FN void workload_open(session *s, workload *w)
{
    const char *text = s->opt[O_WORKLOAD].given ? s->opt[O_WORKLOAD].text : "prefix", *rest;
    mcamp_work_desc d;
    memset(&d, 0, sizeof d);
    memset(w, 0, sizeof *w);
    d.n = s->rounds;
    d.kind = MCAMP_WORK_PREFIX;
    if ((rest = after_name(text, "momentum")) != NULL || (rest = after_name(text, "ema")) != NULL) {
        d.kind = text[0] == 'm' ? MCAMP_WORK_MOMENTUM : MCAMP_WORK_EMA;
        const char *file = strstr(rest, ",@");
        char number[40];
        snprintf(number, sizeof number, "%.*s", (int)(file ? file - rest : 39), rest);
        if (!parse_real(number, &d.beta)) bad_use("--workload: \"%s\" is not a number", rest);
        if (file && d.kind == MCAMP_WORK_EMA) bad_use("--workload: ema has no learning rates");
        if (file) read_rates(s, file + 2, w, &d);
    } else if ((rest = after_name(text, "lr")) != NULL && *rest == '@') {
        read_rates(s, rest + 1, w, &d);
    } else if (strcmp(text, "prefix")) {
        bad_use("--workload must be prefix, momentum:BETA, ema:BETA or lr:@FILE, not \"%s\"", text);
    }
    check(s, mcamp_work_init(&s->ctx, &d, &w->work));
}

TOOL_FN void workload_close(session *s, workload *w)
{
    mcamp_work_free(&s->ctx, &w->work);
    free(w->lr.x);
}

TOOL_FN mcamp_amplification read_amplification(const session *s)
{
    const option_value *v = &s->opt[O_AMPLIFICATION];
    if (s->opt[O_BATCHING].given && s->batching.law != MCAMP_BATCH_BINS) return MCAMP_AMPLIFY_LAW;
    if (!v->given || !strcmp(v->text, "bnb")) return MCAMP_AMPLIFY_BINS;
    if (!strcmp(v->text, "none")) return MCAMP_AMPLIFY_NONE;
    if (strcmp(v->text, "poisson"))
        bad_use("--amplification must be bnb, poisson or none, not \"%s\"", v->text);
    if (!s->opt[O_EXAMPLES].given || !s->opt[O_BATCH_SIZE].given)
        bad_use("--amplification poisson needs --examples and --batch-size");
    return MCAMP_AMPLIFY_POISSON;
}

/* The sigma of banded C under cyclic Poisson sampling, for mcamp_opt_desc. */
TOOL_FN double poisson_sigma(void *user, size_t bands, double sensitivity)
{
    const session *s = (const session *)user;
    mcamp_ctx ctx = s->ctx;
    mcamp_event e;
    double sigma = 0;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_BANDMF;
    e.count = 1;
    e.sensitivity = sensitivity;
    e.batch = s->opt[O_BATCH_SIZE].count;
    e.population = s->opt[O_EXAMPLES].count;
    e.rounds = s->rounds;
    e.bands = bands;
    if (mcamp_exact_calibrate(&ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, s->opt[O_EPS].real,
                              s->opt[O_DELTA].real, &sigma, NULL) < 0) return 0;
    return sigma;
}

/* ---- files ----------------------------------------------------------------------- */

TOOL_FN FILE *open_file(const char *prefix, const char *suffix, char *path, size_t size)
{
    FILE *f;
    snprintf(path, size, "%s%s", prefix, suffix);
    f = open_written(path, "w");
    if (!f) bad_use("--out: cannot write \"%s\": %s", path, strerror(errno));
    return f;
}

/* Before the work: that --out can be written.  Nothing is left behind, and what is there
 * stays as it is.                                                               */
TOOL_FN void check_out(const session *s)
{
    char path[600];
    bool exists;
    FILE *f;
    if (!s->opt[O_OUT].given) return;
    for (size_t i = 0; s->opt[O_RECORD].given && i < 4; i++) {
        static const char *const suffix[] = { ".scale.txt", ".json", ".csv", ".txt" };
        snprintf(path, sizeof path, "%s%s", s->opt[O_OUT].text, suffix[i]);
        if (!strcmp(path, s->opt[O_RECORD].text))
            bad_use("--record: --out writes to \"%s\" too", path);
    }
    snprintf(path, sizeof path, "%s.txt", s->opt[O_OUT].text);
    exists = !access(path, F_OK);
    f = fopen(path, "a");
    if (!f) bad_use("--out: cannot write \"%s\": %s", path, strerror(errno));
    fclose(f);
    if (!exists) remove(path);
}

/* One number a line, all digits; a BLT as pairs; rows of a band on lines. */
TOOL_FN void write_strategy(const session *s, const char *prefix, const mcamp_mech *m)
{
    char path[600], a[40], b[40];
    FILE *f = open_file(prefix, ".txt", path, sizeof path);
    for (size_t j = 0; j < m->buffers; j++)
        fprintf(f, "%s %s\n", exact_text(m->theta[j], a, sizeof a),
                exact_text(m->omega[j], b, sizeof b));
    for (size_t i = 0, row = 0, left = 1; i < m->count && m->form != MCAMP_FORM_BLT; i++) {
        fputs(exact_text(m->coef[i], a, sizeof a), f);
        if (m->form == MCAMP_FORM_ROWS && --left) { putc(' ', f); continue; }
        putc('\n', f);
        row++;
        left = row + 1 < m->bands ? row + 1 : m->bands;
    }
    close_written(f, path);
    if (!s->opt[O_JSON].given) printf("wrote %s\n", path);
    if (m->scale) {
        f = open_file(prefix, ".scale.txt", path, sizeof path);
        for (size_t j = 0; j < m->n; j++) fprintf(f, "%s\n", exact_text(m->scale[j], a, sizeof a));
        close_written(f, path);
        if (!s->opt[O_JSON].given) printf("wrote %s\n", path);
    }
}

/* v[0 .. n-1] against its index, at most 2000 points of it; decay: absolute values on
 * logarithmic axes, on which few bands, and long tails, can be seen; zeros left out.    */
TOOL_FN void draw_values(const session *s, const char *prefix, const char *suffix,
                         const char *title, const char *ylabel, const double *v, bool decay)
{
    size_t n = s->rounds, step = n / 2000 + 1, points = 0;
    double *xy = (double *)need(calloc(2 * (n / step + 1), sizeof *xy));
    double *y = xy + n / step + 1;
    svg_series line;
    svg_chart chart;
    char path[600];
    memset(&line, 0, sizeof line);
    memset(&chart, 0, sizeof chart);
    for (size_t i = 0; i < n; i += step, points++) {
        xy[points] = (double)(decay ? i + 1 : i);
        y[points] = !decay ? v[i] : fabs(v[i]) > 1e-12 ? fabs(v[i]) : (double)NAN;
    }
    line.dots = decay && n < 2;
    line.name = ylabel;
    line.colour = "#0072b2";
    line.x = xy;
    line.y = y;
    line.n = points;
    chart.title = title;
    chart.subtitle = s->cmd->bit == OPTIMIZE ? s->opt[O_FAMILY].text : s->strategy.text;
    chart.xlabel = decay ? "round, from 1" : "round";
    chart.ylabel = ylabel;
    chart.log_x = chart.log_y = decay;
    chart.y_floor = 1e-12;
    chart.series = &line;
    chart.nseries = 1;
    snprintf(path, sizeof path, "%s%s", prefix, suffix);
    write_picture(s, path, &chart);
    free(xy);
}

enum { MAP_ROUNDS = 128 };

/* C and its inverse as maps: of the first rounds, if there are more. */
TOOL_FN void draw_maps(session *s, const char *prefix, const mcamp_mech *m)
{
    size_t n = s->rounds, k = n < MAP_ROUNDS ? n : MAP_ROUNDS;
    double *c = (double *)need(calloc(2 * k * k + n, sizeof *c)), *inverse = c + k * k;
    double *v = inverse + k * k;
    svg_map map[2];
    char path[600];
    FILE *f = open_file(prefix, ".maps.svg", path, sizeof path);
    memset(map, 0, sizeof map);
    for (size_t j = 0; j < k; j++) {
        check(s, mcamp_mech_column(&s->ctx, m, j, v));
        for (size_t i = 0; i < k; i++) c[i * k + j] = v[i];
        memset(v, 0, n * sizeof *v);
        v[j] = 1;
        check(s, mcamp_mech_solve(&s->ctx, m, v, v));
        for (size_t i = 0; i < k; i++) inverse[i * k + j] = v[i];
    }
    for (size_t i = 0; i < 2; i++) {
        map[i].title = i ? "the inverse of C" : "C";
        map[i].v = i ? inverse : c;
        map[i].rows = map[i].cols = k;
        map[i].root = true;
    }
    svg_maps_write(f, k < n ? "The first 128 rounds; colours by the square root"
                            : "Colours by the square root", map, 2);
    close_written(f, path);
    if (!s->opt[O_JSON].given) printf("wrote %s\n", path);
    free(c);
}

TOOL_FN void draw_strategy(session *s, const char *prefix, const workload *w, const mcamp_mech *m,
                           double sigma)
{
    double *v = (double *)need(calloc(s->rounds, sizeof *v));
    mcamp_error_info e;
    check(s, mcamp_mech_column(&s->ctx, m, 0, v));
    draw_values(s, prefix, ".c.svg", "First column of C", "|coefficient|", v, true);
    memset(v, 0, s->rounds * sizeof *v);
    v[0] = 1;
    check(s, mcamp_mech_solve(&s->ctx, m, v, v));
    draw_values(s, prefix, ".inverse.svg", "First column of the inverse of C", "|coefficient|", v,
                true);
    draw_maps(s, prefix, m);
    check(s, mcamp_work_error(&s->ctx, &w->work, m, v, &e));
    for (size_t i = 0; i < s->rounds; i++) v[i] *= sigma > 0 ? sigma : 1;
    draw_values(s, prefix, ".error.svg", "Error of each round",
                sigma > 0 ? "error" : "error for unit noise", v, false);
    free(v);
}

/* ---- the two commands --------------------------------------------------------------- */

/* The text that gives the same strategy to the other commands. */
TOOL_FN void print_scale_text(const session *s, const mcamp_mech *m)
{
    if (m->scale && s->opt[O_OUT].given) printf(" --scale @%s.scale.txt", s->opt[O_OUT].text);
    printf(m->scale && !s->opt[O_OUT].given
           ? "\n  and its column factors, which --out PREFIX writes\n" : "\n");
}

TOOL_FN void print_strategy_text(const session *s, const mcamp_mech *m)
{
    char a[40], b[40];
    if (m->form == MCAMP_FORM_BLT) {
        printf("  --strategy blt:");
        for (size_t j = 0; j < m->buffers; j++)
            printf("%s%s:%s", j ? "," : "", exact_text(m->theta[j], a, sizeof a),
                   exact_text(m->omega[j], b, sizeof b));
        print_scale_text(s, m);
    } else if (m->form == MCAMP_FORM_TOEPLITZ && m->count <= 16) {
        printf("  --strategy toeplitz:");
        for (size_t i = 0; i < m->count; i++)
            printf("%s%s", i ? "," : "", exact_text(m->coef[i], a, sizeof a));
        print_scale_text(s, m);
    }
}

TOOL_FN void json_mech(json *j, const mcamp_mech *m)
{
    if (m->form == MCAMP_FORM_BLT) {
        json_reals(j, "theta", m->theta, m->buffers);
        json_reals(j, "omega", m->omega, m->buffers);
    } else {
        json_reals(j, "coefficients", m->coef, m->count);
    }
    if (m->scale) json_reals(j, "scale", m->scale, m->n);
}

/* The noise that all this was computed with, as the estimate that it is, or as given. */
TOOL_FN mcamp_guarantee estimate_of(session *s, const mcamp_mech *m,
                                    const mcamp_opt_result *r)
{
    mcamp_amplification how = read_amplification(s);
    mcamp_participation part = s->batching;
    mcamp_guarantee g;
    mcamp_gram gram;
    mcamp_guarantee_estimate(m, how == MCAMP_AMPLIFY_BINS ? MCAMP_BATCH_BINS
                             : how == MCAMP_AMPLIFY_LAW ? part.law
                             : how == MCAMP_AMPLIFY_POISSON ? MCAMP_BATCH_POISSON
                             : MCAMP_BATCH_SHUFFLE, s->batches, r, s->opt[O_EPS].real,
                             s->opt[O_SIGMA].given ? 0 : s->opt[O_DELTA].real, &g);
    g.seed = s->budget.seed;
    if (how != MCAMP_AMPLIFY_LAW) return g;
    part.batches = s->batches;
    check(s, mcamp_gram_pattern(&s->ctx, m, &part, &gram));
    g.q = gram.q;
    g.gram_digest = gram.digest;
    mcamp_gram_free(&s->ctx, &gram);
    return g;
}

/* How far above the least possible error of its class, in per cent, rounded up; below 0:
 * not known.                                                                       */
TOOL_FN double within_percent(const session *s, const mcamp_opt_result *r)
{
    double error = s->opt[O_ERROR].given && !strcmp(s->opt[O_ERROR].text, "max") ? r->max_error
                                                                                : r->rmse;
    return r->least > 0 ? ceil(1e6 * (error / r->least - 1)) / 1e4 : -1;
}

TOOL_FN void json_result(session *s, const mcamp_mech *m, const mcamp_opt_result *r)
{
    mcamp_writer w = to_stdout();
    mcamp_guarantee g = estimate_of(s, m, r);
    json j;
    json_begin(s, &j, stdout);
    json_text(&j, "command", s->cmd->name);
    if (r->sigma > 0) {
        json_real(&j, "rmse", r->rmse);
        json_real(&j, "max_error", r->max_error);
    }
    mcamp_report_guarantee(&g, MCAMP_REPORT_MEMBERS, &w);
    if (r->least > 0) {
        json_real(&j, "least_error", r->least);
        json_real(&j, "within_percent", within_percent(s, r));
    }
    json_real(&j, "error_unit_noise", r->unit.rmse);
    json_real(&j, "max_error_unit_noise", r->unit.max);
    if (s->cmd->bit == OPTIMIZE) json_mech(&j, m);
    json_count(&j, "iterations", r->iterations);
    json_real(&j, "seconds", s->seconds);
    json_close(&j);
}

TOOL_FN void print_result(session *s, const mcamp_mech *m, const mcamp_opt_result *r)
{
    mcamp_guarantee g = estimate_of(s, m, r);
    mcamp_writer w = to_stdout();
    if (r->sigma > 0)
        printf("rmse = %.6g\n\n  error of a round: %.6g on average, %.6g at most\n", r->rmse,
               r->rmse, r->max_error);
    else
        printf("error for unit noise = %.6g\n\n", r->unit.rmse);
    printf("  for unit noise: %.6g on average, %.6g at most\n\n", r->unit.rmse, r->unit.max);
    mcamp_report_guarantee(&g, MCAMP_REPORT_TEXT, &w);
    if (r->least > 0)
        printf("  within %.4g%% of the best in its class: every C%s%s\n", within_percent(s, r),
               m->bands < s->rounds ? " of as many bands" : "",
               m->bands <= s->batches ? "" : m->bands < s->rounds
               ? ", the columns that an example uses being orthogonal"
               : " whose columns that an example uses are orthogonal");
    if (s->cmd->bit == OPTIMIZE) {
        printf("  %lu iterations, %.2f s; %s\n", (unsigned long)r->iterations, s->seconds,
               m->scale ? "with column factors (--out PREFIX writes them)" : "no column factors");
        print_strategy_text(s, m);
    }
}

TOOL_FN void finish(session *s, const workload *w, const mcamp_mech *m, const mcamp_opt_result *r)
{
    if (s->opt[O_JSON].given) json_result(s, m, r); else print_result(s, m, r);
    if (!s->opt[O_OUT].given) return;
    if (s->cmd->bit == OPTIMIZE) write_strategy(s, s->opt[O_OUT].text, m);
    draw_strategy(s, s->opt[O_OUT].text, w, m, r->sigma);
}

TOOL_FN void read_family(const session *s, mcamp_opt_desc *d)
{
    const char *text = s->opt[O_FAMILY].text, *rest = strchr(text, ':');
    size_t length = rest ? (size_t)(rest - text) : strlen(text);
    uint64_t size = 0;
    static const struct { const char *name; mcamp_opt_family family; } family[] = {
        { "identity", MCAMP_OPT_IDENTITY }, { "toeplitz", MCAMP_OPT_TOEPLITZ },
        { "blt", MCAMP_OPT_BLT }, { "banded", MCAMP_OPT_BANDED }, { "dense", MCAMP_OPT_BANDED }
    };
    if (rest && !parse_count(rest + 1, &size)) bad_use("--family: \"%s\" is no number", rest + 1);
    for (size_t i = 0; i < sizeof family / sizeof family[0]; i++)
        if (strlen(family[i].name) == length && !memcmp(family[i].name, text, length))
            d->family = family[i].family;
    if (!d->family || (d->family == MCAMP_OPT_BLT && !size) ||
        (!strncmp(text, "banded", length) && !size))
        bad_use("--family must be toeplitz[:BANDS], blt:BUFFERS, banded:BANDS, dense or identity, "
                "not \"%s\"", text);
    if (d->family == MCAMP_OPT_BLT) d->buffers = (size_t)size; else d->bands = (size_t)size;
}

TOOL_FN void read_scaling(const session *s, mcamp_opt_desc *d)
{
    const option_value *v = &s->opt[O_SCALING];
    uint64_t degree;
    if (!v->given) return;
    if (!strcmp(v->text, "free")) {
        d->scale_free = true;
    } else {
        if (!parse_count(v->text, &degree) || degree > 16)
            bad_use("--scaling must be a degree up to 16, or free, not \"%s\"", v->text);
        d->scale_degree = (size_t)degree;
    }
}

TOOL_FN mcamp_error_kind read_error_kind(const session *s)
{
    const option_value *v = &s->opt[O_ERROR];
    if (!v->given || !strcmp(v->text, "mean")) return MCAMP_ERROR_RMSE;
    if (strcmp(v->text, "max")) bad_use("--error must be mean or max, not \"%s\"", v->text);
    return MCAMP_ERROR_MAX;
}

/* --batching but for bins: C has no more bands than rounds between two uses. */
TOOL_FN void read_law(const session *s, mcamp_opt_desc *d)
{
    unsigned long b = (unsigned long)s->batches;
    d->law = s->batching.law;
    d->q = s->batching.q;
    if (d->bands > s->batches || !strcmp(s->opt[O_FAMILY].text, "dense"))
        bad_use("--family: under --batching %s C has at most the %lu bands of the rounds between "
                "two uses of an example, else its columns would overlap: %s:%lu",
                s->opt[O_BATCHING].text, b,
                d->family == MCAMP_OPT_BANDED ? "banded" : "toeplitz", b);
}

TOOL_FN int run_optimize(session *s)
{
    mcamp_opt_desc d;
    mcamp_opt_result r;
    mcamp_mech m;
    mcamp_status st;
    workload w;
    memset(&d, 0, sizeof d);
    memset(&r, 0, sizeof r);
    memset(&m, 0, sizeof m);
    read_family(s, &d);
    read_scaling(s, &d);
    d.amplification = read_amplification(s);
    d.error = read_error_kind(s);
    d.rounds = s->rounds;
    d.batches = s->batches;
    d.eps = s->opt[O_EPS].real;
    d.delta = s->opt[O_DELTA].real;
    d.max_iterations = (size_t)s->opt[O_ITERATIONS].count;
    d.inner_samples = s->opt[O_INNER].count;
    d.equal_norms = s->opt[O_EQUAL_NORMS].given;
    if (d.amplification == MCAMP_AMPLIFY_LAW) read_law(s, &d);
    if (d.inner_samples && d.amplification != MCAMP_AMPLIFY_BINS &&
        d.amplification != MCAMP_AMPLIFY_LAW)
        bad_use("--inner: only --amplification bnb and --batching take samples");
    if (d.equal_norms && (d.family != MCAMP_OPT_BANDED || d.amplification != MCAMP_AMPLIFY_NONE))
        bad_use("--equal-norms needs --family banded:BANDS or dense, and --amplification none");
    d.budget = s->budget;
    if (d.amplification == MCAMP_AMPLIFY_POISSON) {
        d.sigma_of = poisson_sigma;
        d.sigma_user = s;
        d.eps = d.delta = 0;
        d.batches = 0;
    }
    check_out(s);
    workload_open(s, &w);
    d.work = &w.work;
    st = mcamp_opt_run(&s->ctx, &d, &m, &r);
    /* The best C so far is a C, but no number is known of it. */
    if (s->opt[O_OUT].given && (st == MCAMP_Q_INTERRUPTED || (st >= 0 && tool_interrupted)))
        write_strategy(s, s->opt[O_OUT].text, &m);
    check(s, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    finish(s, &w, &m, &r);
    mcamp_mech_free(&s->ctx, &m);
    workload_close(s, &w);
    return 0;
}

/* sigma as given, or as (eps, delta) needs; 0 if neither was given. */
TOOL_FN void sigma_for_error(session *s, mcamp_opt_result *r)
{
    const option_value *o = s->opt;
    mcamp_amplification how = read_amplification(s);
    mcamp_answer a;
    r->sigma = o[O_SIGMA].real;
    if (o[O_SIGMA].given || (!o[O_EPS].given && !o[O_DELTA].given)) return;
    if (!o[O_EPS].given || !o[O_DELTA].given) bad_use("\"mcamp error\": give --eps and --delta");
    if (how == MCAMP_AMPLIFY_NONE) {
        check(s, mcamp_gauss_sigma(&s->ctx, r->sensitivity, o[O_EPS].real, o[O_DELTA].real,
                                   &r->sigma));
    } else if (how == MCAMP_AMPLIFY_POISSON) {
        r->sigma = poisson_sigma(s, s->mech.bands, s->column_norm);
    } else {
        check(s, mcamp_sigma(&s->ctx, &s->gram, o[O_EPS].real, o[O_DELTA].real, &s->budget, &a));
        r->sigma = a.sigma;
        r->sigma_error = a.std_error;
        r->samples = a.samples;
    }
}

TOOL_FN int run_error(session *s)
{
    mcamp_opt_result r;
    workload w;
    memset(&r, 0, sizeof r);
    workload_open(s, &w);
    check(s, mcamp_work_error(&s->ctx, &w.work, &s->mech, NULL, &r.unit));
    r.sensitivity = sensitivity(s);
    sigma_for_error(s, &r);
    r.rmse = r.sigma * r.unit.rmse;
    r.max_error = r.sigma * r.unit.max;
    s->seconds = progress_end(&s->progress);
    finish(s, &w, &s->mech, &r);
    workload_close(s, &w);
    return 0;
}

#endif
