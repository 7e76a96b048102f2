/* The tool's output: JSON, and a progress line for people at a terminal. */
#ifndef TOOL_PRINT_H
#define TOOL_PRINT_H

#include "tool_options.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

/* The shortest text that reads back as x. */
TOOL_FN const char *exact_text(double x, char *buf, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        double y;
        snprintf(buf, size, "%.*g", digits, x);
        y = strtod(buf, NULL);
        if (!(y < x) && !(y > x)) break;
    }
    return buf;
}

/* ---- one JSON object, a key at a time -------------------------------------- */

/* flat: all on one line */
typedef struct json { FILE *f; int depth; bool first, flat; } json;

TOOL_FN void json_open(json *j, FILE *f)
{
    j->f = f;
    j->depth = 1;
    j->first = true;
    j->flat = false;
    fputs("{", f);
}

TOOL_FN void json_key(json *j, const char *key)
{
    if (j->flat) {
        fputs(j->first ? "" : ", ", j->f);
    } else {
        fputs(j->first ? "\n" : ",\n", j->f);
        fprintf(j->f, "%*s", 2 * j->depth, "");
    }
    j->first = false;
    if (key) fprintf(j->f, "\"%s\": ", key);
}

TOOL_FN void json_text(json *j, const char *key, const char *text)
{
    json_key(j, key);
    putc('"', j->f);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(j->f, "\\%c", c);
        else if (c < 32) fprintf(j->f, "\\u%04x", c);
        else putc(c, j->f);
    }
    putc('"', j->f);
}

/* NaN and infinity have no JSON: null. */
TOOL_FN void json_real(json *j, const char *key, double x)
{
    char buf[40];
    json_key(j, key);
    fputs(fabs(x) <= 1.7976931348623157e308 ? exact_text(x, buf, sizeof buf) : "null", j->f);
}

TOOL_FN void json_count(json *j, const char *key, uint64_t n)
{
    json_key(j, key);
    fprintf(j->f, "%llu", (unsigned long long)n);
}

TOOL_FN void json_bool(json *j, const char *key, bool b)
{
    json_key(j, key);
    fputs(b ? "true" : "false", j->f);
}

TOOL_FN void json_reals(json *j, const char *key, const double *x, size_t n)
{
    char buf[40];
    json_key(j, key);
    for (size_t i = 0; i < n; i++)
        fprintf(j->f, "%s%s", i ? ", " : "[",
                fabs(x[i]) <= 1.7976931348623157e308 ? exact_text(x[i], buf, sizeof buf) : "null");
    fputs(n ? "]" : "[]", j->f);
}

TOOL_FN void json_close(json *j)
{
    fputs("\n}\n", j->f);
}

/* ---- progress --------------------------------------------------------------- */

static volatile sig_atomic_t tool_interrupted;

TOOL_FN void on_interrupt(int sig)
{
    tool_interrupted = 1;
    signal(sig, SIG_DFL);       /* a second Ctrl-C ends the program */
}

TOOL_FN double wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct progress_line {
    const char *what;           /* the name of the best value so far            */
    double start, last;
    double most;                /* seconds that were given, or 0                */
    double share;               /* done, and shown                              */
    bool terminal, shown;
} progress_line;

/* For mcamp_clock. */
TOOL_FN double progress_clock(void *user)
{
    (void)user;
    return wall_seconds();
}

TOOL_FN void progress_begin(progress_line *p, const char *what, bool quiet)
{
    p->what = what;
    p->start = p->last = wall_seconds();
    p->most = p->share = 0;
    p->terminal = !quiet && isatty(2);
    p->shown = false;
    signal(SIGINT, on_interrupt);
}

/* "37%, 12 s left  " to text: of what is done so far at the same pace, but never all, and of
 * the time that was given; nothing that is not known.                                     */
TOOL_FN void progress_share(double most, double fraction, double seconds, char *text,
                            size_t room)
{
    double left = fraction > 0.02 ? seconds / fraction - seconds : 1e300;
    text[0] = '\0';
    if (most > 0 && most - seconds < left) {
        left = most - seconds > 0 ? most - seconds : 0;
        if (fraction < seconds / most) fraction = seconds / most;
    }
    if (fraction > 0.99) fraction = 0.99;
    if (fraction > 0 && left < 1e7)
        snprintf(text, room, "%2.0f%%, %.0f s left  ", 100 * fraction, ceil(left));
    else if (fraction > 0)
        snprintf(text, room, "%2.0f%%  ", 100 * fraction);
}

/* For mcamp_progress: a line after the first second, five times a second. */
TOOL_FN int progress_step(void *user, double fraction, double best)
{
    progress_line *p = (progress_line *)user;
    double now = wall_seconds();
    if (p->terminal && now - p->start > 1 && now - p->last > 0.2) {
        char percent[48], value[80] = "";
        if (fraction > p->share) p->share = fraction;   /* a goal may move away */
        progress_share(p->most, p->share, now - p->start, percent, sizeof percent);
        if (fabs(best) <= 1.7e308) snprintf(value, sizeof value, "%s %.6g  ", p->what, best);
        fprintf(stderr, "\r%s%s%.0f s\033[K", percent, value, now - p->start);
        fflush(stderr);
        p->last = now;
        p->shown = true;
    }
    return tool_interrupted != 0;
}

/* Takes the line away again; the seconds since the beginning. */
TOOL_FN double progress_end(progress_line *p)
{
    if (p->shown) fprintf(stderr, "\r\033[K");
    signal(SIGINT, SIG_DFL);
    return wall_seconds() - p->start;
}

#endif
