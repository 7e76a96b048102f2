/* reproduce: the figures and tables of the papers again, by one command.
 *
 *   reproduce --list                what there is
 *   reproduce ID ... [--quick]      some of it
 *   reproduce --all [--out DIR]     everything but training; what is there already stays
 *   reproduce --training [--runs N] what needs training
 *
 * Each item becomes ID.csv (all numbers), ID.json (parameters, method, verdicts), ID.svg, and a
 * part of index.html, where our numbers stand beside those that the papers print.  Interrupted,
 * it goes on where it was.  Exit status: 0 done, 1 failed, interrupted, or a number differs
 * and nothing explains it, 2 bad use.
 *
 *   reproduce_frame.h   reports, threads, progress;   reproduce_files.h   files, the page
 *   reproduce_000.h ... reproduce_004.h               the papers
 *   reproduce_train.h   training runs;                reproduce_training.h   what needs them
 *
 * With REPRODUCE_LINKED the implementation of mcamp.h comes from elsewhere.            */
#define _POSIX_C_SOURCE 200809L
#ifndef REPRODUCE_LINKED
#  define MCAMP_PTHREADS
#  define MCAMP_STATIC
#  define MCAMP_IMPLEMENTATION
#endif
#include "../mcamp.h"

#define TOOL_NAME "reproduce"
#include "reproduce_files.h"

#include "reproduce_000.h"
#include "reproduce_001.h"
#include "reproduce_002.h"
#include "reproduce_003.h"
#include "reproduce_004.h"
#include "reproduce_training.h"

static const item ITEMS[] = { ITEMS_000 ITEMS_001 ITEMS_002 ITEMS_003 ITEMS_004 ITEMS_TRAINING };
enum { NITEM = sizeof ITEMS / sizeof ITEMS[0] };

/* ---- the command line -------------------------------------------------------------- */

enum { R_LIST, R_ALL, R_QUICK, R_FRESH, R_TRAINING, R_RUNS, R_IMAGES, R_OUT, R_THREADS, R_SEED,
       R_HELP, NR };

static const option_spec R_OPTIONS[NR] = {
    { "list", OPTION_FLAG, 0, 1, "", "what can be reproduced, and what it costs" },
    { "all", OPTION_FLAG, 0, 1, "", "all that needs no training" },
    { "quick", OPTION_FLAG, 0, 1, "", "small grids, fewer samples" },
    { "fresh", OPTION_FLAG, 0, 1, "", "again, what is there already" },
    { "training", OPTION_FLAG, 0, 1, "", "all that needs training" },
    { "runs", OPTION_COUNT, 0, 1, "N", "of each arm that is trained (8; quick 1)" },
    { "images", OPTION_TEXT, 0, 1, "NAME", "digits, or fashion-mnist (where installed, this)" },
    { "out", OPTION_TEXT, 0, 1, "DIR", "where to (reproduced)" },
    { "threads", OPTION_COUNT, 0, 1, "N", "at once (as many as processors)" },
    { "seed", OPTION_COUNT, 0, 1, "N", "of the simulations (1)" },
    { "help", OPTION_FLAG, 0, 1, "", "this" },
};

typedef struct request {
    option_value o[NR];
    bool wanted[NITEM];
    size_t n;
} request;

static void want(request *q, const char *id)
{
    const char *best = NULL;
    size_t distance = SIZE_MAX;
    for (size_t i = 0; i < NITEM; i++) {
        if (!strcmp(ITEMS[i].id, id)) {
            q->n += !q->wanted[i];
            q->wanted[i] = true;
            return;
        }
        nearer(id, ITEMS[i].id, &best, &distance);
    }
    if (best) bad_use("unknown id \"%s\": did you mean %s?", id, best);
    bad_use("unknown id \"%s\" (reproduce --list shows them)", id);
}

static void read_request(request *q, int argc, char **argv)
{
    memset(q, 0, sizeof *q);
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *equals, *text = "";
        const option_spec *s;
        if (name[0] != '-') { want(q, name); continue; }
        if (!strcmp(name, "-h")) name = "--help";
        if (name[1] != '-') bad_use("unexpected \"%s\" (options begin with --)", name);
        name += 2;
        equals = strchr(name, '=');
        s = find_option(R_OPTIONS, NR, name, equals ? (size_t)(equals - name) : strlen(name));
        if (!s) { unknown_option(R_OPTIONS, NR, 1, argv[i]); return; }
        if (s->kind == OPTION_FLAG && equals) bad_use("--%s takes no value", s->name);
        if (s->kind != OPTION_FLAG) {
            if (!equals && i + 1 >= argc) bad_use("--%s needs a value", s->name);
            text = equals ? equals + 1 : argv[++i];
        }
        read_option(s, text, &q->o[s - R_OPTIONS]);
    }
    if (q->o[R_RUNS].given && (!q->o[R_RUNS].count || q->o[R_RUNS].count > MOST_RUNS))
        bad_use("--runs must be from 1 to %d", MOST_RUNS);
    if (q->o[R_IMAGES].given && strcmp(q->o[R_IMAGES].text, "digits") &&
        strcmp(q->o[R_IMAGES].text, "fashion-mnist"))
        bad_use("--images must be digits or fashion-mnist");
    if (q->o[R_THREADS].given && (!q->o[R_THREADS].count || q->o[R_THREADS].count > 1024))
        bad_use("--threads must be from 1 to 1024");
    if ((q->o[R_ALL].given || q->o[R_TRAINING].given) && q->n)
        bad_use("give either ids or --all or --training, not both");
    for (size_t i = 0; i < NITEM; i++)
        if (q->o[i < NITEM - NTRAINING ? R_ALL : R_TRAINING].given) q->wanted[i] = ++q->n != 0;
}

static void print_help(void)
{
    printf("reproduce: the figures and tables of the papers again\n\n"
           "usage: reproduce ID ... | --all | --training | --list [--option value ...]\n\n"
           "options\n");
    for (size_t i = 0; i < NR; i++)
        printf("  --%-8s %-5s %s\n", R_OPTIONS[i].name, R_OPTIONS[i].value, R_OPTIONS[i].help);
    printf("\nexit status: 0 done, 1 failed, interrupted or a number not explained, 2 bad use\n");
}

static void print_list(void)
{
    for (size_t i = 0; i < NITEM; i++) {
        const item *it = &ITEMS[i];
        if (i == NITEM - NTRAINING) printf("by --training:\n");
        if (it->run)
            printf("%-11s %4.0f s, quick %3.0f s  %s\n", it->id, it->cost, it->quick_cost,
                   it->title);
        else
            printf("%-11s not yet             %s: %s\n", it->id, it->title, it->method);
    }
    printf("seconds of one core, about\n");
}

/* ---- running ------------------------------------------------------------------------- */

static double cost_of(const frame *f, const item *it)
{
    return f->quick ? it->quick_cost : it->cost;
}

/* The directory is there, or made, and can be written. */
static void open_out(const frame *f)
{
    path p = path_of(f, "parts", "", ""), q = path_of(f, "parts/", "can-be-written", "");
    FILE *t;
    if (strlen(f->out) > 500) bad_use("--out: the name is too long");
    if (mkdir(f->out, 0777) && errno != EEXIST)
        bad_use("--out: cannot make \"%s\": %s", f->out, strerror(errno));
    if (mkdir(p.text, 0777) && errno != EEXIST)
        bad_use("--out: cannot write in \"%s\": %s", f->out, strerror(errno));
    t = fopen(q.text, "w");
    if (!t) bad_use("--out: cannot write in \"%s\": %s", f->out, strerror(errno));
    fclose(t);
    remove(q.text);
}

static void clear_line(frame *f)
{
    if (f->shown) fprintf(stderr, "\r\033[K");
    f->shown = false;
}

/* Makes one item; whether it is whole. */
static bool run_item(frame *f, const item *it, int count[NVERDICT])
{
    report r;
    double start = wall_seconds();
    bool ok;
    memset(&r, 0, sizeof r);
    r.f = f;
    r.it = it;
    forget(f, it);
    if (open_context(&r, &r.ctx, f->threads)) {
        show_progress(&r, 0);
        it->run(&r);
    }
    clear_line(f);
    ok = !r.failed && !tool_interrupted;
    if (ok) {
        write_item(&r);
        for (size_t i = 0; i < r.nfinding; i++) count[r.finding[i].verdict]++;
        for (size_t i = 0; i < r.nfinding; i++)
            if (r.finding[i].verdict == V_UNEXPLAINED)
                fprintf(stderr, "reproduce: %s: %s: the paper %s, here %s\n", it->id,
                        r.finding[i].what, r.finding[i].printed, r.finding[i].ours);
        printf("%-11s %d same, %d better, %d differ, %d not explained; %.1f s\n", it->id,
               count[0], count[1], count[2], count[3], wall_seconds() - start);
        fflush(stdout);
    } else if (!tool_interrupted) {
        fprintf(stderr, "reproduce: %s failed: %s\n", it->id, r.failure);
    }
    report_free(&r);
    return ok;
}

typedef struct totals { size_t made, kept, missing, failed; int count[NVERDICT]; } totals;

static void run_wanted(frame *f, const request *q, totals *t)
{
    bool there[NITEM];
    for (size_t i = 0; i < NITEM; i++) {
        int none[NVERDICT];
        there[i] = q->wanted[i] && ITEMS[i].run && !f->fresh && is_whole(f, &ITEMS[i], none);
        if (!q->wanted[i] || !ITEMS[i].run || there[i]) continue;
        f->left += cost_of(f, &ITEMS[i]);
        f->of++;
    }
    for (size_t i = 0; i < NITEM && !tool_interrupted; i++) {
        int count[NVERDICT] = { 0 };
        if (!q->wanted[i]) continue;
        if (!ITEMS[i].run) { t->missing++; continue; }
        if (there[i]) {
            is_whole(f, &ITEMS[i], count);
            t->kept++;
        } else {
            f->at++;
            if (run_item(f, &ITEMS[i], count)) t->made++;
            else t->failed++;
            f->spent += cost_of(f, &ITEMS[i]);
            f->left -= cost_of(f, &ITEMS[i]);
            write_page(f, ITEMS, NITEM);
        }
        for (int v = 0; v < NVERDICT; v++) t->count[v] += count[v];
    }
}

static int summary(const frame *f, const request *q, const totals *t)
{
    printf("%lu of %lu items whole (%lu now, %lu before), %lu not yet there, %lu failed; of what "
           "the papers print: %d same, %d better, %d differ for a reason, %d not explained\n"
           "%s/index.html\n", (unsigned long)(t->made + t->kept), (unsigned long)q->n,
           (unsigned long)t->made, (unsigned long)t->kept, (unsigned long)t->missing,
           (unsigned long)(tool_interrupted ? 0 : t->failed), t->count[V_SAME],
           t->count[V_BETTER], t->count[V_DIFFERS], t->count[V_UNEXPLAINED], f->out);
    if (tool_interrupted)
        fprintf(stderr, "reproduce: interrupted; the same command goes on where it was\n");
    for (size_t i = 0; i < NITEM; i++)
        if (q->wanted[i] && !ITEMS[i].run)
            fprintf(stderr, "reproduce: %s is not there yet: %s\n", ITEMS[i].id, ITEMS[i].method);
    return tool_interrupted || t->failed || t->count[V_UNEXPLAINED] ||
           (t->missing && !q->o[R_ALL].given) ? EXIT_REFUSED : 0;
}

int main(int argc, char **argv)
{
    static request q;
    frame f;
    totals t;
    int code;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    memset(&f, 0, sizeof f);
    memset(&t, 0, sizeof t);
    signal(SIGPIPE, SIG_IGN);
    read_request(&q, argc, argv);
    if (q.o[R_HELP].given || q.o[R_LIST].given) {
        if (q.o[R_HELP].given) print_help(); else print_list();
        close_written(stdout, "standard output");
        return 0;
    }
    if (!q.n) bad_use("reproduce what? ids, --all, or --list to see what there is");
    f.out = q.o[R_OUT].given ? q.o[R_OUT].text : "reproduced";
    f.seed = q.o[R_SEED].given ? q.o[R_SEED].count : 1;
    f.threads = q.o[R_THREADS].given ? (size_t)q.o[R_THREADS].count : cores > 0 ? (size_t)cores : 1;
    f.quick = q.o[R_QUICK].given;
    f.runs = (size_t)q.o[R_RUNS].count;
    f.images = q.o[R_IMAGES].given ? q.o[R_IMAGES].text : NULL;
    f.training = &ITEMS[NITEM - NTRAINING];
    f.fresh = q.o[R_FRESH].given;
    f.terminal = isatty(2) != 0;
    f.start = wall_seconds();
    pthread_mutex_init(&f.lock, NULL);
    open_out(&f);
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    run_wanted(&f, &q, &t);
    write_page(&f, ITEMS, NITEM);
    code = summary(&f, &q, &t);
    close_written(stdout, "standard output");
    return code;
}
