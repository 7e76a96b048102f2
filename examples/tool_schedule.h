/* mcamp schedule and mcamp noise: a small run to look at.  Both draw from a key that is made
 * from --seed, which anybody can repeat: pictures of a law, not a run's own numbers.    */
#ifndef TOOL_SCHEDULE_H
#define TOOL_SCHEDULE_H

#include "tool_session.h"

enum { SCHEDULE_MOST = 1000000 };

TOOL_FN void print_lines_out(const session *s, FILE *f)
{
    if (f != stdout) close_written(f, s->opt[O_OUT].text);
    else fflush(f);
}

TOOL_FN FILE *open_lines_out(const session *s)
{
    const option_value *o = &s->opt[O_OUT];
    FILE *f = !o->given || !strcmp(o->text, "-") ? stdout : open_written(o->text, "w");
    if (!f) bad_use("--out: cannot write \"%s\": %s", o->text, strerror(errno));
    return f;
}

TOOL_FN void small_enough(const session *s, int id, uint64_t count)
{
    if (!count) bad_use("--%s must be above 0", OPTIONS[id].name);
    if (count > (size_t)SCHEDULE_MOST / s->rounds)
        bad_use("--%s: only %d numbers are written at most", OPTIONS[id].name, SCHEDULE_MOST);
}

/* A line per round: who takes part. */
TOOL_FN int run_schedule(session *s)
{
    mcamp_batch_desc d;
    mcamp_batch b;
    mcamp_batch_size size;
    size_t n, *who;
    FILE *f;
    memset(&d, 0, sizeof d);
    small_enough(s, O_EXAMPLES, s->opt[O_EXAMPLES].count);
    n = (size_t)s->opt[O_EXAMPLES].count;
    d.law = s->batching.law;
    d.examples = n;
    d.rounds = s->rounds;
    d.batches = s->batches;
    d.q = s->batching.q;
    d.picks = s->picks;
    d.limit = s->opt[O_LIMIT].count;
    mcamp_key_insecure_test(s->budget.seed, &d.key);
    check(s, mcamp_batch_init(&s->ctx, &d, &b));
    who = (size_t *)need(calloc(n, sizeof *who));
    f = open_lines_out(s);
    for (size_t t = 0; t < s->rounds; t++) {
        check(s, mcamp_batch_round(&s->ctx, &b, t, who, n, &size));
        fprintf(f, "round %lu:", (unsigned long)t);
        for (size_t i = 0; i < size.kept; i++) fprintf(f, " %lu", (unsigned long)who[i]);
        putc('\n', f);
    }
    print_lines_out(s, f);
    free(who);
    mcamp_batch_free(&s->ctx, &b);
    return 0;
}

/* A line per round: sigma (C^-1 z)_t in --dim coordinates, all digits. */
TOOL_FN int run_noise(session *s)
{
    mcamp_noise_desc d;
    mcamp_noise noise;
    mcamp_noise_out out;
    size_t n = (size_t)(s->opt[O_DIM].given ? s->opt[O_DIM].count : 1);
    double *z;
    FILE *f;
    memset(&d, 0, sizeof d);
    memset(&out, 0, sizeof out);
    small_enough(s, O_DIM, n);
    d.mech = &s->mech;
    d.sigma = s->opt[O_SIGMA].real;
    d.clip_norm = 1;
    d.unit = MCAMP_NOISE_SUM;
    d.dim = n;
    mcamp_key_insecure_test(s->budget.seed, &d.key);
    check(s, mcamp_noise_init(&s->ctx, &d, &noise));
    out.d = z = (double *)need(calloc(n, sizeof *z));
    f = open_lines_out(s);
    for (size_t t = 0; t < s->rounds; t++) {
        check(s, mcamp_noise_next(&s->ctx, &noise, t, n, &out));
        for (size_t i = 0; i < n; i++) {
            char text[40];
            fprintf(f, "%s%s", i ? " " : "", exact_text(z[i], text, sizeof text));
        }
        putc('\n', f);
    }
    print_lines_out(s, f);
    free(z);
    mcamp_noise_free(&s->ctx, &noise);
    return 0;
}

#endif
