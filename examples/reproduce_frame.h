/* What every item of reproduce.c shares: its report (points, findings, pictures), the files
 * it becomes, work in threads, progress.  An item's report holds nothing that depends on the
 * clock or on threads, so that the same seed writes the same bytes; seconds that a figure is
 * about go to a file of their own, ID.seconds.csv, which is exempt.                    */
#ifndef REPRODUCE_FRAME_H
#define REPRODUCE_FRAME_H

#include "tool_print.h"
#include "tool_svg.h"

#include <pthread.h>

/* ---- a report -------------------------------------------------------------------- */

typedef enum verdict { V_SAME, V_BETTER, V_DIFFERS, V_UNEXPLAINED, NVERDICT } verdict;

static const char *const VERDICT_TEXT[NVERDICT] = { "same", "better", "differs",
                                                    "differs, not explained" };

#define NONE ((double)NAN)
#define ENDLESS ((double)INFINITY)

/* One point of the long form; what it has not got is NONE. */
typedef struct point { double x, y, lower, upper, sigma, bands, error, samples; } point;

typedef struct line_of {
    char name[96];
    int chart;                  /* in which picture; -1: only in the numbers    */
    bool dashed, dots;
    point *p;
    size_t n, room;
} line_of;

typedef struct picture {
    char title[120], subtitle[160], xlabel[60], ylabel[60];
    bool log_x, log_y, legend_low;
    double floor;
} picture;

typedef struct map_of {
    char title[80], xlabel[80], ylabel[80];
    svg_map map;
    double *v;
} map_of;

typedef struct finding {
    char what[200], source[120], printed[200], ours[240], why[700];
    verdict verdict;
} finding;

typedef struct parameter { char key[60], value[240]; } parameter;

typedef struct report report;

typedef struct item {
    const char *id, *title, *source;
    double cost, quick_cost;    /* of one core, about, seconds                  */
    void (*run)(report *r);     /* NULL: not yet, and why                       */
    const char *method;         /* how the numbers come about                   */
} item;

typedef struct frame {
    const char *out;
    uint64_t seed;
    size_t threads;
    bool quick, fresh, terminal, shown;
    size_t runs;                /* of each arm that is trained; 0: by quick      */
    const char *images;         /* to train with; NULL: the best there are       */
    const item *training;       /* the first item that needs it                  */
    double start, last, spent, left;    /* seconds; costs of what is done, and to do */
    size_t at, of;
    pthread_mutex_t lock;
} frame;

struct report {
    frame *f;
    const item *it;
    mcamp_ctx ctx;
    line_of *line;
    picture *chart;
    map_of *map;
    finding *finding;
    parameter *param;
    char (*note)[700];
    size_t nline, nchart, nmap, nfinding, nparam, nnote;
    size_t room_line, room_chart, room_map, room_finding, room_param, room_note;
    char maps_title[120];
    double *x, *seconds;        /* of timed steps; never in the report's files   */
    size_t nseconds, room_seconds;
    char (*timed)[96];
    size_t ntimed, room_timed;
    double from, share;         /* of the item's progress, where work has parts  */
    bool failed;
    char failure[200];
};

TOOL_FN void *enough(void *p)
{
    if (!p) failed("out of memory");
    return p;
}

TOOL_FN double *numbers_of(size_t n)
{
    return (double *)enough(calloc(n ? n : 1, sizeof(double)));
}

/* Room for one more of `size` bytes. */
TOOL_FN void *grown(void *p, size_t n, size_t *room, size_t size)
{
    if (n < *room) return p;
    *room = *room ? 2 * *room : 16;
    return enough(realloc(p, *room * size));
}

TOOL_FN void put_text(char *to, size_t size, const char *format, ...) TOOL_PRINTF(3);
TOOL_FN void put_text(char *to, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(to, size, format, args);
    va_end(args);
}

TOOL_FN int add_chart(report *r, const char *title, const char *subtitle, const char *xlabel,
                      const char *ylabel)
{
    picture *c;
    r->chart = (picture *)grown(r->chart, r->nchart, &r->room_chart, sizeof *r->chart);
    c = &r->chart[r->nchart];
    memset(c, 0, sizeof *c);
    put_text(c->title, sizeof c->title, "%s", title);
    put_text(c->subtitle, sizeof c->subtitle, "%s", subtitle);
    put_text(c->xlabel, sizeof c->xlabel, "%s", xlabel);
    put_text(c->ylabel, sizeof c->ylabel, "%s", ylabel);
    c->floor = 1e-300;
    return (int)r->nchart++;
}

TOOL_FN int add_line(report *r, int chart, const char *format, ...) TOOL_PRINTF(3);
TOOL_FN int add_line(report *r, int chart, const char *format, ...)
{
    va_list args;
    line_of *l;
    r->line = (line_of *)grown(r->line, r->nline, &r->room_line, sizeof *r->line);
    l = &r->line[r->nline];
    memset(l, 0, sizeof *l);
    l->chart = chart;
    va_start(args, format);
    vsnprintf(l->name, sizeof l->name, format, args);
    va_end(args);
    return (int)r->nline++;
}

/* The point can be filled in further until the next one is added. */
TOOL_FN point *add_point(report *r, int line, double x, double y)
{
    line_of *l = &r->line[line];
    point *p;
    l->p = (point *)grown(l->p, l->n, &l->room, sizeof *l->p);
    p = &l->p[l->n++];
    p->x = x;
    p->y = y;
    p->lower = p->upper = p->sigma = p->bands = p->error = p->samples = NONE;
    return p;
}

/* A copy of v[rows][cols] as a map. */
TOOL_FN svg_map *add_map(report *r, const char *title, const double *v, size_t rows, size_t cols)
{
    map_of *m;
    r->map = (map_of *)grown(r->map, r->nmap, &r->room_map, sizeof *r->map);
    m = &r->map[r->nmap++];
    memset(m, 0, sizeof *m);
    put_text(m->title, sizeof m->title, "%s", title);
    m->v = numbers_of(rows * cols);
    memcpy(m->v, v, rows * cols * sizeof *v);
    m->map.rows = rows;
    m->map.cols = cols;
    return &m->map;
}

TOOL_FN void set(report *r, const char *key, const char *format, ...) TOOL_PRINTF(3);
TOOL_FN void set(report *r, const char *key, const char *format, ...)
{
    va_list args;
    parameter *p;
    r->param = (parameter *)grown(r->param, r->nparam, &r->room_param, sizeof *r->param);
    p = &r->param[r->nparam++];
    put_text(p->key, sizeof p->key, "%s", key);
    va_start(args, format);
    vsnprintf(p->value, sizeof p->value, format, args);
    va_end(args);
}

/* What is assumed, left out, or otherwise to be known. */
TOOL_FN void note(report *r, const char *format, ...) TOOL_PRINTF(2);
TOOL_FN void note(report *r, const char *format, ...)
{
    va_list args;
    r->note = (char (*)[700])grown(r->note, r->nnote, &r->room_note, sizeof *r->note);
    va_start(args, format);
    vsnprintf(r->note[r->nnote++], sizeof *r->note, format, args);
    va_end(args);
}

/* Seconds of the clock, which are not part of the report. */
TOOL_FN void timed(report *r, double seconds, const char *format, ...) TOOL_PRINTF(3);
TOOL_FN void timed(report *r, double seconds, const char *format, ...)
{
    va_list args;
    r->seconds = (double *)grown(r->seconds, r->nseconds, &r->room_seconds, sizeof(double));
    r->timed = (char (*)[96])grown(r->timed, r->ntimed, &r->room_timed, sizeof *r->timed);
    r->seconds[r->nseconds++] = seconds;
    va_start(args, format);
    vsnprintf(r->timed[r->ntimed++], sizeof *r->timed, format, args);
    va_end(args);
}

TOOL_FN void report_free(report *r)
{
    for (size_t i = 0; i < r->nline; i++) free(r->line[i].p);
    for (size_t i = 0; i < r->nmap; i++) free(r->map[i].v);
    free(r->line);
    free(r->chart);
    free(r->map);
    free(r->finding);
    free(r->param);
    free(r->note);
    free(r->seconds);
    free(r->timed);
}

/* ---- findings: what a paper prints, what comes out here ------------------------------ */

TOOL_FN finding *add_finding(report *r, const char *what, const char *source)
{
    finding *f;
    r->finding = (finding *)grown(r->finding, r->nfinding, &r->room_finding, sizeof *r->finding);
    f = &r->finding[r->nfinding++];
    memset(f, 0, sizeof *f);
    put_text(f->what, sizeof f->what, "%s", what);
    put_text(f->source, sizeof f->source, "%s", source);
    return f;
}

/* Half a unit of the last digit printed. */
TOOL_FN double half_digit(const char *printed)
{
    const char *dot = strchr(printed, '.');
    return 0.5 * pow(10, dot ? -(double)strspn(dot + 1, "0123456789") : 0);
}

typedef enum sense { LESS_IS_BETTER, MORE_IS_BETTER, EQUAL_ONLY } sense;

/* A number as printed, such as "4.22468", beside ours. */
TOOL_FN finding *number(report *r, const char *what, const char *source, const char *printed,
                        double ours, sense s)
{
    finding *f = add_finding(r, what, source);
    double p = strtod(printed, NULL), half = half_digit(printed);
    put_text(f->printed, sizeof f->printed, "%s", printed);
    put_text(f->ours, sizeof f->ours, "%.8g", ours);
    if (fabs(ours - p) <= half * (1 + 1e-9)) {
        f->verdict = V_SAME;
    } else if ((s == LESS_IS_BETTER && ours < p) || (s == MORE_IS_BETTER && ours > p)) {
        f->verdict = V_BETTER;
        put_text(f->why, sizeof f->why, "by %.2g%%", 100 * fabs(ours / p - 1));
    } else {
        f->verdict = V_UNEXPLAINED;     /* NaN as well */
        put_text(f->why, sizeof f->why, "by %.2g%%", 100 * fabs(ours / p - 1));
    }
    return f;
}

/* A sentence of the paper, and whether our numbers say the same. */
TOOL_FN finding *trend(report *r, const char *what, const char *source, bool holds,
                       const char *format, ...) TOOL_PRINTF(5);
TOOL_FN finding *trend(report *r, const char *what, const char *source, bool holds,
                       const char *format, ...)
{
    finding *f = add_finding(r, what, source);
    va_list args;
    put_text(f->printed, sizeof f->printed, "says so");
    va_start(args, format);
    vsnprintf(f->ours, sizeof f->ours, format, args);
    va_end(args);
    f->verdict = holds ? V_SAME : V_UNEXPLAINED;
    return f;
}

/* Why a finding differs, if `holds` is computed to be so; nothing else explains one. */
TOOL_FN void because(finding *f, bool holds, const char *format, ...) TOOL_PRINTF(3);
TOOL_FN void because(finding *f, bool holds, const char *format, ...)
{
    size_t n = strlen(f->why);
    va_list args;
    if (f->verdict != V_UNEXPLAINED || !holds) return;
    f->verdict = V_DIFFERS;
    if (n && n + 2 < sizeof f->why) {
        memcpy(f->why + n, ": ", 3);
        n += 2;
    }
    va_start(args, format);
    vsnprintf(f->why + n, sizeof f->why - n, format, args);
    va_end(args);
}

/* ---- progress, interruption, threads --------------------------------------------------- */

TOOL_FN void clock_text(char *to, size_t size, double seconds)
{
    if (seconds < 90) put_text(to, size, "%.0f s", seconds);
    else put_text(to, size, "%.0f min %02.0f s", floor(seconds / 60), fmod(seconds, 60));
}

/* `fraction` of the item that runs is done. */
TOOL_FN void show_progress(const report *r, double fraction)
{
    frame *f = r->f;
    double now = wall_seconds(), cost = f->quick ? r->it->quick_cost : r->it->cost;
    double done = f->spent + fraction * cost, left = f->left - fraction * cost;
    char been[40], to_go[40];
    if (!f->terminal || now - f->last < 0.2) return;
    f->last = now;
    clock_text(been, sizeof been, now - f->start);
    clock_text(to_go, sizeof to_go, done > 1 ? left * (now - f->start) / done
                                             : left / (double)f->threads);
    fprintf(stderr, "\r[%lu of %lu] %s %3.0f%%  %s, about %s left\033[K", (unsigned long)f->at,
            (unsigned long)f->of, r->it->id, 100 * fraction, been, to_go);
    fflush(stderr);
    f->shown = true;
}

/* For contexts: nothing but whether to stop. */
TOOL_FN int stop_when_told(void *user, double fraction, double best)
{
    (void)user;
    (void)fraction;
    (void)best;
    return tool_interrupted != 0;
}

TOOL_FN void fail(report *r, const char *format, ...) TOOL_PRINTF(2);
TOOL_FN void fail(report *r, const char *format, ...)
{
    va_list args;
    pthread_mutex_lock(&r->f->lock);
    if (!r->failed) {
        va_start(args, format);
        vsnprintf(r->failure, sizeof r->failure, format, args);
        va_end(args);
    }
    r->failed = true;
    pthread_mutex_unlock(&r->f->lock);
}

/* Whether a call of the library did what was asked; if not, the item has failed. */
TOOL_FN bool did(report *r, mcamp_ctx *ctx, mcamp_status st)
{
    mcamp_error e = mcamp_last_error(ctx);
    if (st >= 0 && st != MCAMP_Q_INTERRUPTED) return true;
    if (st < 0) fail(r, "%s (%s = %g)", mcamp_strerror(st), e.argument ? e.argument : "?", e.value);
    else fail(r, "interrupted");
    return false;
}

typedef struct many {
    report *r;
    void (*task)(report *r, mcamp_ctx *ctx, size_t i, void *arg);
    void *arg;
    size_t n, next, done;
} many;

TOOL_FN bool open_context(report *r, mcamp_ctx *ctx, size_t threads)
{
    mcamp_ctx_desc d;
    mcamp_status st;
    memset(&d, 0, sizeof d);
    d.progress.fn = stop_when_told;
    if (threads > 1) d.parallel = mcamp_parallel_threads(threads);
    st = mcamp_ctx_init(ctx, &d);
    if (st < 0) fail(r, "%s", mcamp_strerror(st));
    return st >= 0;
}

/* The next one that nobody has taken, until there is none. */
TOOL_FN void worker(void *arg, size_t share)
{
    many *m = (many *)arg;
    frame *f = m->r->f;
    mcamp_ctx ctx;
    (void)share;
    if (!open_context(m->r, &ctx, 1)) return;
    for (;;) {
        size_t i;
        pthread_mutex_lock(&f->lock);
        i = m->next++;
        pthread_mutex_unlock(&f->lock);
        if (i >= m->n || tool_interrupted || m->r->failed) return;
        m->task(m->r, &ctx, i, m->arg);
        pthread_mutex_lock(&f->lock);
        m->done++;
        show_progress(m->r, m->r->from + (m->r->share > 0 ? m->r->share : 1) *
                                         (double)m->done / (double)m->n);
        pthread_mutex_unlock(&f->lock);
    }
}

/* task(r, ctx, i, arg) for i below n, on --threads threads, each with a context of its own. */
TOOL_FN void each(report *r, size_t n, void (*task)(report *, mcamp_ctx *, size_t, void *),
                  void *arg)
{
    many m = { r, task, arg, n, 0, 0 };
    mcamp_parallel p = mcamp_parallel_threads(r->f->threads);
    if (r->f->threads > 1 && p.run) p.run(p.user, r->f->threads, worker, &m);
    else worker(&m, 0);
}

#endif
