/* mcamp plan: the best C of all families, for the sampling and the memory that there
 * are, with a proof of its sigma and a table of what was tried.                   */
#ifndef TOOL_PLAN_H
#define TOOL_PLAN_H

#include "tool_optimize.h"

/* --amplification: everything the user can do, names with commas between them. */
TOOL_FN unsigned read_sampling(const session *s)
{
    static const char *const name[] = { "bnb", "poisson", "cyclic", "minsep" };
    const char *text = s->opt[O_AMPLIFICATION].text, *p = text;
    size_t known = s->cmd->bit == PLAN ? 4 : 2;
    unsigned flags = 0;
    if (!strcmp(text, "none")) return 0;
    if (known == 4 && !strcmp(text, "all")) return 15;
    for (;;) {
        size_t length = strcspn(p, ","), i = 0;
        while (i < known && (strlen(name[i]) != length || memcmp(p, name[i], length))) i++;
        if (i == known)
            bad_use("--amplification must be none, %sor some of bnb,poisson%s, not \"%s\"",
                    known == 4 ? "all " : "", known == 4 ? ",cyclic,minsep" : "", text);
        flags |= 1u << i;       /* MCAMP_PLAN_BINS, .. */
        if (!p[length]) return flags;
        p += length + 1;
    }
}

TOOL_FN const char *family_text(mcamp_opt_family family)
{
    return family == MCAMP_OPT_BLT ? "BLT" : family == MCAMP_OPT_TOEPLITZ ? "Toeplitz"
         : family == MCAMP_OPT_BANDED ? "banded" : "identity";
}

TOOL_FN void json_plan(const session *s, FILE *f, const mcamp_mech *m, const mcamp_plan_result *r)
{
    mcamp_writer w = to_file(f);
    json j;
    json_begin(s, &j, f);
    json_text(&j, "command", "plan");
    json_real(&j, "seconds", s->seconds);
    mcamp_report_plan(r, m, MCAMP_REPORT_MEMBERS, &w);
    json_close(&j);
}

TOOL_FN void write_plan_json(const session *s, const char *prefix, const mcamp_mech *m,
                             const mcamp_plan_result *r)
{
    char path[600];
    FILE *f = open_file(prefix, ".json", path, sizeof path);
    json_plan(s, f, m, r);
    close_written(f, path);
    if (!s->opt[O_JSON].given) printf("wrote %s\n", path);
}

TOOL_FN void print_plan(const session *s, const mcamp_mech *m, const mcamp_plan_result *r)
{
    mcamp_writer w = to_stdout();
    printf("rmse = %.6g\n\n  error of a round: %.6g on average, %.6g at most\n"
           "  %lu rounds, %lu in an epoch; %.2f s\n\n", r->rmse, r->rmse, r->max_error,
           (unsigned long)r->rounds, (unsigned long)r->batches, s->seconds);
    mcamp_report_plan(r, NULL, MCAMP_REPORT_TEXT, &w);
    putchar('\n');
    print_strategy_text(s, m);
}

TOOL_FN void write_plan_table(const session *s, const char *prefix, const mcamp_plan_result *r)
{
    char path[600];
    FILE *f = open_file(prefix, ".csv", path, sizeof path);
    mcamp_writer w = to_file(f);
    mcamp_report_plan(r, NULL, MCAMP_REPORT_CSV, &w);
    close_written(f, path);
    if (!s->opt[O_JSON].given) printf("wrote %s\n", path);
}

/* Files: PREFIX.txt and .scale.txt for --strategy and --scale, .json, .csv, pictures. */
TOOL_FN void write_plan(session *s, const workload *w, const mcamp_mech *m,
                        const mcamp_plan_result *r)
{
    const char *prefix = s->opt[O_OUT].text;
    write_strategy(s, prefix, m);
    write_plan_json(s, prefix, m, r);
    write_plan_table(s, prefix, r);
    draw_strategy(s, prefix, w, m, r->sigma);
}

TOOL_FN int run_plan(session *s)
{
    mcamp_plan_desc d;
    mcamp_plan_result r;
    mcamp_mech m;
    mcamp_status st;
    workload w;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.rounds = s->rounds;
    d.batches = s->batches;
    d.eps = s->opt[O_EPS].real;
    d.delta = s->opt[O_DELTA].real;
    if (!s->opt[O_BATCHING].given) d.sampling = read_sampling(s);
    else if (s->batching.law == MCAMP_BATCH_BINS) d.sampling = MCAMP_PLAN_BINS;
    else { d.law = s->batching.law; d.q = s->batching.q; }
    d.error = read_error_kind(s);
    d.budget = s->budget;
    if (s->opt[O_MEMORY].given && !s->opt[O_MEMORY].count) bad_use("--memory must be above 0");
    d.memory = (size_t)s->opt[O_MEMORY].count;
    check_out(s);
    workload_open(s, &w);
    d.work = &w.work;
    st = mcamp_plan(&s->ctx, &d, &m, &r);
    check(s, st);
    s->seconds = progress_end(&s->progress);
    warn(st);
    snprintf(s->strategy.text, sizeof s->strategy.text, "%s", family_text(r.row[r.best].family));
    if (s->opt[O_JSON].given) json_plan(s, stdout, &m, &r);
    else print_plan(s, &m, &r);
    s->mech = m;                /* for the record; freed with the session */
    record_write(s, &r.guarantee);
    if (s->opt[O_OUT].given && st != MCAMP_Q_INTERRUPTED) write_plan(s, &w, &m, &r);
    workload_close(s, &w);
    return r.certified && st != MCAMP_Q_INTERRUPTED ? 0 : EXIT_REFUSED;
}

#endif
