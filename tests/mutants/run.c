/* Runs the suites on the planted bugs, several at a time.
 *
 *     run PLAN BIN JOBS USELESS
 *
 * PLAN has a line per bug: number, source, id, suites, promise, separated by tabs.  A suite
 * is BIN/<name>, BIN/<name> --filter <text> if it is written name:text, or tests/<name>.sh
 * with BUILD=BIN if that file exists.  First every suite
 * must pass without a bug.  Then each bug's suites are tried in order until one fails, with
 * MCAMP_TEST_QUICK, and if all pass, again without it.  A crash counts as a failure, and so
 * does a run of more than 20 s and five times the clean run, in processor time, or of ten
 * times that by the clock; the whole group of processes is killed.  Prints a line per bug,
 * where the processor time went and how many were caught; USELESS ones more, which do not
 * apply, count as missed.  Exit status 1 if any was. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_BUGS 2000
#define MAX_SUITES 1000
#define MAX_JOBS 256
#define MEMORY ((rlim_t)12 << 30)

typedef struct suite {
    char name[100], *filter; /* NULL: all its tests                        */
    int script;             /* the same with and without MCAMP_TEST_QUICK */
    int bad[2];             /* failed without a bug                       */
    int wanted[2];
    double limit[2];        /* seconds of processor time                  */
} suite;

typedef struct bug {
    int number, suites[16], count, caught;
    char *id, *promise;
} bug;

/* One process: suite number `suite` of a bug, or on its own (bug NULL). */
typedef struct job {
    pid_t pid;
    bug *b;
    int suite;              /* index into all */
    int step;               /* index into b->suites */
    double start, cpu;      /* seconds */
    int timed_out;
} job;

enum { CLEAN, CAUGHT, PASSED };

static suite all[MAX_SUITES];
static int suite_count;
static bug bugs[MAX_BUGS];
static int bug_count;
static job jobs[MAX_JOBS];
static int job_limit = 1, quick = 1;
static const char *bin;
static double spent[3];     /* processor time: clean runs, bugs caught, bugs passed */
static volatile sig_atomic_t stopped;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_signal(int sig) { stopped = sig; }

static void die(const char *what, const char *name)
{
    fprintf(stderr, "mutants: %s %s\n", what, name);
    exit(2);
}

/* ---- the plan ------------------------------------------------------------------ */

static int find_suite(const char *name)
{
    char path[120];
    suite *s = &all[suite_count];
    for (int i = 0; i < suite_count; i++)
        if (!strcmp(all[i].name, name)) return i;
    if (suite_count == MAX_SUITES || strlen(name) >= sizeof s->name) die("too many suites:", name);
    strcpy(s->name, name);
    s->filter = strchr(s->name, ':');
    if (s->filter) s->filter++;
    snprintf(path, sizeof path, "tests/%s.sh", name);
    s->script = access(path, R_OK) == 0;
    return suite_count++;
}

static void read_plan(const char *path)
{
    static char line[8192];
    FILE *f = fopen(path, "r");
    if (!f) die("cannot read", path);
    while (fgets(line, sizeof line, f)) {
        char *text = strdup(line), *field[5], *name;
        bug *b = &bugs[bug_count];
        if (!text || bug_count == MAX_BUGS) die("too many bugs in", path);
        text[strcspn(text, "\n")] = '\0';
        for (int i = 0; i < 5; i++) {
            field[i] = text;
            text += strcspn(text, "\t");
            if (*text) *text++ = '\0';
        }
        b->number = atoi(field[0]);
        b->id = field[2];
        b->promise = field[4];
        for (name = strtok(field[3], " ,"); name; name = strtok(NULL, " ,"))
            if (b->count < 16) b->suites[b->count++] = find_suite(name);
        bug_count++;
    }
    fclose(f);
}

/* ---- processes ------------------------------------------------------------------ */

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static void run_child(const suite *s, int number, int is_quick)
{
    char text[32], path[400];
    struct rlimit memory = { MEMORY, MEMORY }, core = { 0, 0 }, cpu;
    int null = open("/dev/null", O_RDWR), log;
    setpgid(0, 0);
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &core);
    cpu.rlim_cur = cpu.rlim_max = (rlim_t)s->limit[is_quick] + 1;
    if (number) setrlimit(RLIMIT_CPU, &cpu);
    snprintf(text, sizeof text, "%d", number);
    setenv("MCAMP_MUTANT", text, 1);
    setenv("MCAMP_TEST_STOP", "1", 1);
    setenv("BUILD", bin, 1);
    if (is_quick) setenv("MCAMP_TEST_QUICK", "1", 1);
    else unsetenv("MCAMP_TEST_QUICK");
    snprintf(path, sizeof path, "%s/clean_%s.log", bin, s->name);
    log = number ? null : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    if (s->script) snprintf(path, sizeof path, "tests/%s.sh", s->name);
    else snprintf(path, sizeof path, "%s/%.*s", bin, (int)strcspn(s->name, ":"), s->name);
    if (s->script) execlp("sh", "sh", path, (char *)NULL);
    else execl(path, path, s->filter ? "--filter" : NULL, s->filter, (char *)NULL);
    _exit(number ? 0 : 127);    /* cannot be run: that is nothing caught */
}

static void start(job *j, bug *b, int suite_index, int step)
{
    j->b = b;
    j->suite = suite_index;
    j->step = step;
    j->start = now();
    j->timed_out = 0;
    fflush(stdout);
    j->pid = fork();
    if (j->pid < 0) die("cannot fork for", all[suite_index].name);
    if (j->pid == 0) run_child(&all[suite_index], b ? b->number : 0, quick);
    setpgid(j->pid, j->pid);
}

static void stop_all(void)
{
    for (int i = 0; i < job_limit; i++)
        if (jobs[i].pid) kill(-jobs[i].pid, SIGKILL);
    exit(130);
}

/* Waits for one process; its status, and the job in *done. */
static int wait_one(job **done)
{
    const struct timespec tick = { 0, 5000000 };
    for (;;) {
        for (int i = 0; i < job_limit; i++) {
            job *j = &jobs[i];
            struct rusage use;
            int status;
            if (!j->pid) continue;
            if (wait4(j->pid, &status, WNOHANG, &use) == j->pid) {
                kill(-j->pid, SIGKILL);         /* what it may have left behind */
                j->pid = 0;
                j->cpu = seconds(use.ru_utime) + seconds(use.ru_stime);
                j->timed_out |= j->b && j->cpu > all[j->suite].limit[quick];
                *done = j;
                return status;
            }
            if (j->b && !j->timed_out && now() - j->start > 10 * all[j->suite].limit[quick]) {
                j->timed_out = 1;
                kill(-j->pid, SIGKILL);
            }
        }
        if (stopped) stop_all();
        nanosleep(&tick, NULL);
    }
}

static job *free_job(int limit)
{
    for (int i = 0; i < limit; i++)
        if (!jobs[i].pid) return &jobs[i];
    return NULL;
}

static int running(void)
{
    int n = 0;
    for (int i = 0; i < job_limit; i++) n += jobs[i].pid != 0;
    return n;
}

/* ---- without a bug ---------------------------------------------------------------- */

static void clean_done(void)
{
    job *j;
    int status = wait_one(&j);
    suite *s = &all[j->suite];
    spent[CLEAN] += j->cpu;
    s->limit[quick] = 5 * j->cpu > 20 ? 5 * j->cpu : 20;
    if (status == 0) return;
    s->bad[quick] = 1;
    printf("%s fails without a bug; see %s/clean_%s.log\n", s->name, bin, s->name);
}

static void run_clean(void)
{
    for (int i = 0; i < suite_count; i++) {
        job *j;
        if (!all[i].wanted[quick]) continue;
        while (!(j = free_job(job_limit))) clean_done();
        start(j, NULL, i, 0);
    }
    while (running()) clean_done();
}

/* ---- with bugs ---------------------------------------------------------------------- */

/* Starts the next suite of b in j from `step` on; 0 if there is none. */
static int next_suite(job *j, bug *b, int step)
{
    for (; step < b->count; step++) {
        const suite *s = &all[b->suites[step]];
        if (s->bad[quick] || (s->script && !quick)) continue;
        start(j, b, b->suites[step], step);
        return 1;
    }
    return 0;
}

static void bug_done(void)
{
    job *j;
    int status = wait_one(&j);
    spent[status ? CAUGHT : PASSED] += j->cpu;
    if (status == 0) {
        next_suite(j, j->b, j->step + 1);
        return;
    }
    j->b->caught = 1;
    printf("caught %s by %s%s in %.1f s\n", j->b->id, all[j->suite].name,
           j->timed_out ? ", out of time," : WIFSIGNALED(status) ? ", a crash," : "",
           j->cpu);
}

static void run_bugs(void)
{
    for (int i = 0; i < bug_count; i++) {
        job *j;
        if (bugs[i].caught) continue;
        while (!(j = free_job(job_limit))) bug_done();
        next_suite(j, &bugs[i], 0);
    }
    while (running()) bug_done();
}

static void pass(int is_quick)
{
    quick = is_quick;
    for (int i = 0; i < bug_count; i++)
        for (int k = 0; k < bugs[i].count && !bugs[i].caught; k++)
            if (is_quick || !all[bugs[i].suites[k]].script)
                all[bugs[i].suites[k]].wanted[quick] = 1;
    run_clean();
    run_bugs();
}

int main(int argc, char **argv)
{
    int missed, caught = 0, bad = 0;
    if (argc != 5) die("usage:", "run PLAN BIN JOBS USELESS");
    bin = argv[2];
    job_limit = atoi(argv[3]);
    if (job_limit < 1) job_limit = 1;
    if (job_limit > MAX_JOBS) job_limit = MAX_JOBS;
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGHUP, on_signal);
    missed = atoi(argv[4]);
    read_plan(argv[1]);
    pass(1);
    pass(0);
    for (int i = 0; i < bug_count; i++)
        if (bugs[i].caught) {
            caught++;
        } else {
            missed++;
            printf("MISSED %s: %s\n", bugs[i].id, bugs[i].promise);
        }
    for (int i = 0; i < suite_count; i++) bad += all[i].bad[0] | all[i].bad[1];
    printf("processor time: %.0f s without a bug, %.0f s to failures, %.0f s of runs that passed\n",
           spent[CLEAN], spent[CAUGHT], spent[PASSED]);
    printf("mutants: %d caught, %d missed\n", caught, missed);
    return missed || bad ? 1 : 0;
}
