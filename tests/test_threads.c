/* Section threads: a dispatch, a crew of threads for the whole of a call, threads that the
 * system refuses.  What pthread.h gives is counted, and can be told to fail.          */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { ROOM = 600 };

/* Threads, locks and conditions: made, asked for, given back; how many may be made of each. */
static struct counts {
    size_t threads, asked, ended, joined, locks, conditions, gone;
} counted;
static struct limits { size_t threads, locks, conditions; } allowed = { 9999, 9999, 9999 };

static pthread_mutex_t test_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t test_all_here = PTHREAD_COND_INITIALIZER;
static pthread_key_t test_who;
static pthread_once_t test_once = PTHREAD_ONCE_INIT;
static int test_keyless;

static void make_key(void) { test_keyless = pthread_key_create(&test_who, NULL); }

/* What a thread begins with: its number, from 1. */
static struct beginning { void *(*run)(void *arg); void *arg; size_t number; } beginning[ROOM];

static void *counted_main(void *p)
{
    struct beginning *b = (struct beginning *)p;
    void *r;
    pthread_setspecific(test_who, b);
    r = b->run(b->arg);
    pthread_mutex_lock(&test_lock);
    counted.ended++;
    pthread_mutex_unlock(&test_lock);
    return r;
}

/* 1 if there may be one more. */
static int one_more(size_t *count, size_t most)
{
    int may;
    pthread_mutex_lock(&test_lock);
    may = *count < most;
    *count += (size_t)may;
    pthread_mutex_unlock(&test_lock);
    return may;
}

static int counted_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg)
{
    struct beginning *b = NULL;
    pthread_once(&test_once, make_key);
    pthread_mutex_lock(&test_lock);
    counted.asked++;
    if (counted.threads < allowed.threads) {
        b = &beginning[counted.threads++ % ROOM];
        b->run = run; b->arg = arg; b->number = counted.threads;
    }
    pthread_mutex_unlock(&test_lock);
    return b ? pthread_create(t, a, counted_main, b) : EAGAIN;
}

static int counted_join(pthread_t t, void **r)
{
    return one_more(&counted.joined, SIZE_MAX) ? pthread_join(t, r) : EBUSY;
}

static int counted_lock(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
    return one_more(&counted.locks, allowed.locks) ? pthread_mutex_init(m, a) : ENOMEM;
}

static int counted_condition(pthread_cond_t *c, const pthread_condattr_t *a)
{
    return one_more(&counted.conditions, allowed.conditions) ? pthread_cond_init(c, a) : ENOMEM;
}

static int counted_unlock(pthread_mutex_t *m)
{
    return one_more(&counted.gone, SIZE_MAX) ? pthread_mutex_destroy(m) : EBUSY;
}

static int counted_leave(pthread_cond_t *c)
{
    return one_more(&counted.gone, SIZE_MAX) ? pthread_cond_destroy(c) : EBUSY;
}

#define pthread_create counted_create
#define pthread_join counted_join
#define pthread_mutex_init counted_lock
#define pthread_cond_init counted_condition
#define pthread_mutex_destroy counted_unlock
#define pthread_cond_destroy counted_leave
#define MCAMP_PTHREADS
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#undef pthread_create
#undef pthread_join
#undef pthread_mutex_init
#undef pthread_cond_init
#undef pthread_mutex_destroy
#undef pthread_cond_destroy
#include "mcamp_test.h"

static void count_anew(void) { memset(&counted, 0, sizeof counted); }

/* Threads joined, locks and conditions given back. */
static int all_back(void)
{
    return counted.ended == counted.threads && counted.joined == counted.threads &&
           counted.gone == counted.locks + counted.conditions;
}

static mcamp_ctx context(size_t width)
{
    mcamp_ctx c;
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    if (width) d.parallel = mcamp_parallel_threads(width);
    CHECK_STATUS(mcamp_ctx_init(&c, &d), MCAMP_OK);
    return c;
}

static void nap(void)
{
    struct timespec t = { 0, 3000000 };
    nanosleep(&t, NULL);
}

/* 0: the caller. */
static size_t who(void)
{
    const struct beginning *b;
    pthread_once(&test_once, make_key);
    b = (const struct beginning *)pthread_getspecific(test_who);
    return b ? b->number : 0;
}

/* ---- tasks ------------------------------------------------------------------------------ */

static void count_task(void *arg, size_t i) { ((unsigned char *)arg)[i]++; }

static void tasks_once(const mcamp_ctx *c, size_t ntask)
{
    unsigned char done[ROOM];
    memset(done, 0, sizeof done);
    mcamp__run(c, ntask, count_task, done);
    for (size_t i = 0; i < sizeof done; i++) CHECK(done[i] == (i < ntask));
}

#define MT_FIRST ((uint64_t)1)              /* as the header counts them */
#define MT_LAST ((uint64_t)1 << 32)

TEST(every_task_is_run_once)
{
    static const size_t width[] = { 0, 1, 2, 3, 7, 256, 257, SIZE_MAX };
    for (size_t w = 0; w < sizeof width / sizeof width[0]; w++) {
        mcamp_ctx c = context(0);
        c.parallel = mcamp_parallel_threads(width[w]);
        CHECK(c.parallel.width == mcamp__zmin(mcamp__zmax(width[w], 1), 256));
        if (c.parallel.width > 256) continue;
        for (int crew = 0; crew < 2; crew++) {
            mcamp__crew own;
            count_anew();
            if (crew) mcamp__crew_enter(&own, &c);
            for (size_t n = 0; n < ROOM; n += 149) tasks_once(&c, n);
            tasks_once(&c, 1);
            tasks_once(&c, 2);
            if (crew) mcamp__crew_end(&own);
            CHECK(all_back());
        }
    }
}

/* The first for the caller, the last for others, each once, whoever takes how many. */
TEST(tasks_are_taken_from_both_ends)
{
    for (size_t ntask = 0; ntask < 9; ntask++)
        for (size_t turns = 0; turns < 512; turns++) {
            mcamp__crew c;
            size_t first = 0, last = ntask;
            mcamp__crew_begin(&c, 1);
            c.made = mcamp__crew_make(&c);
            for (size_t k = 0; k < 9; k++) {
                bool own = turns >> k & 1, some = first < last;
                size_t want = !some ? ntask : own ? first : last - 1;
                CHECK(mcamp__crew_left(c.taken, ntask) == some);
                CHECK(mcamp__crew_take(&c, own ? MT_FIRST : MT_LAST, ntask) == want);
                if (some && own) first++;
                if (some && !own) last--;
            }
            mcamp__crew_end(&c);
        }
}

/* Tasks that end only when all of them are there: each has a thread of its own. */
typedef struct meeting { size_t expected, here, who[8]; int missed; } meeting;

static void meet(void *arg, size_t i)
{
    meeting *m = (meeting *)arg;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 20;
    pthread_mutex_lock(&test_lock);
    m->who[i] = who();
    if (++m->here == m->expected) pthread_cond_broadcast(&test_all_here);
    while (m->here < m->expected && !m->missed)
        if (pthread_cond_timedwait(&test_all_here, &test_lock, &t)) m->missed = 1;
    pthread_mutex_unlock(&test_lock);
}

/* Who had the first task. */
static size_t all_meet(const mcamp_ctx *c, size_t n)
{
    meeting m;
    memset(&m, 0, sizeof m);
    m.expected = n;
    mcamp__run(c, n, meet, &m);
    CHECK(m.here == n && !m.missed);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) CHECK(m.who[i] != m.who[k]);
    return m.who[0];
}

TEST(tasks_run_side_by_side)
{
    for (size_t w = 2; w < 6; w++) {
        mcamp_ctx c = context(w);
        count_anew();
        CHECK(all_meet(&c, w) == 0);        /* the caller */
        CHECK(counted.threads == w - 1 && all_back());
    }
}

/* Threads of a crew are made once, when there is work for them, and wake when they slept. */
TEST(a_crew_lasts_for_the_whole_call)
{
    mcamp_ctx c = context(4);
    mcamp__crew crew;
    count_anew();
    mcamp__crew_enter(&crew, &c);
    CHECK(c.parallel.run == mcamp__crew_run && c.parallel.width == 4 && c.brisk);
    CHECK(!counted.asked);
    tasks_once(&c, 1);
    CHECK(!counted.asked);
    all_meet(&c, 2);
    CHECK(counted.threads == 1);
    for (int i = 0; i < 40; i++) {
        if (i % 3 == 0) nap();
        all_meet(&c, 3 + (size_t)(i % 2));
    }
    CHECK(counted.threads == 3 && counted.asked == 3 && !counted.ended);
    mcamp__crew_end(&crew);
    CHECK(all_back());
    CHECK(c.parallel.run == mcamp__threads_run && !c.brisk && (uintptr_t)c.parallel.user == 4);
}

/* Dispatches one after the other: nobody takes a task, or its argument, of the one before. */
typedef struct brief { const size_t *turn; size_t number, done[3]; int wrong; } brief;

static void brief_task(void *arg, size_t i)
{
    brief *b = (brief *)arg;
    if (b->number != *b->turn) b->wrong = 1;
    b->done[i]++;
}

TEST(late_threads_stay_out)
{
    mcamp_ctx c = context(3);
    mcamp__crew crew;
    size_t turn, bad = 0;
    mcamp__crew_enter(&crew, &c);
    for (turn = 0; turn < (size_t)mt_scale(60000); turn++) {
        brief b[2];
        size_t n = 2 + turn % 2;
        memset(b, 0, sizeof b);
        b[turn & 1].turn = b[~turn & 1].turn = &turn;
        b[turn & 1].number = turn;
        mcamp__run(&c, n, brief_task, &b[turn & 1]);
        bad += (size_t)b[turn & 1].wrong + (size_t)b[~turn & 1].wrong;
        for (size_t i = 0; i < 3; i++) bad += b[turn & 1].done[i] != (i < n);
        for (size_t i = 0; i < 3; i++) bad += b[~turn & 1].done[i] != 0;
        if (turn % 512 == 0) nap();
    }
    mcamp__crew_end(&crew);
    CHECK(!bad);
}

/* A task that has tasks of its own. */
typedef struct outer { const mcamp_ctx *ctx; unsigned char done[5][ROOM]; } outer;

static void nested_task(void *arg, size_t i)
{
    outer *o = (outer *)arg;
    mcamp__run(o->ctx, 100 + i, count_task, o->done[i]);
}

TEST(tasks_may_have_tasks)
{
    for (int crew = 0; crew < 2; crew++) {
        mcamp_ctx c = context(8);
        mcamp__crew own;
        outer o;
        o.ctx = &c;
        count_anew();
        memset(o.done, 0, sizeof o.done);
        if (crew) mcamp__crew_enter(&own, &c);
        mcamp__run(&c, 5, nested_task, &o);
        for (size_t i = 0; i < 5; i++)
            for (size_t k = 0; k < ROOM; k++) CHECK(o.done[i][k] == (k < 100 + i));
        if (crew) CHECK(counted.threads == 4);
        tasks_once(&c, 7);
        if (crew) mcamp__crew_end(&own);
        CHECK(all_back());
    }
}

/* ---- jobs ------------------------------------------------------------------------------- */

/* A hook of somebody else's. */
static void other_hook(void *user, size_t ntask, void (*task)(void *arg, size_t i), void *arg)
{
    (void)user;
    for (size_t i = ntask; i-- > 0; ) task(arg, i);
}

/* A job that ends when the caller has gone on, unless it is the caller's. */
typedef struct errand { size_t runs, who; int waits, go, missed; } errand;

static void go_on(errand *e)
{
    pthread_mutex_lock(&test_lock);
    e->go = 1;
    pthread_cond_broadcast(&test_all_here);
    pthread_mutex_unlock(&test_lock);
}

static void wait_for_it(errand *e)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 20;
    pthread_mutex_lock(&test_lock);
    while (!e->runs && !e->missed)
        if (pthread_cond_timedwait(&test_all_here, &test_lock, &t)) e->missed = 1;
    pthread_mutex_unlock(&test_lock);
}

static void run_errand(void *arg)
{
    errand *e = (errand *)arg;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 20;
    pthread_mutex_lock(&test_lock);
    e->runs++;
    e->who = who();
    pthread_cond_broadcast(&test_all_here);
    while (e->waits && !e->go && !e->missed)
        if (pthread_cond_timedwait(&test_all_here, &test_lock, &t)) e->missed = 1;
    pthread_mutex_unlock(&test_lock);
    if (e->waits > 1) nap();
    pthread_mutex_lock(&test_lock);
    e->runs += 100;
    pthread_mutex_unlock(&test_lock);
}

/* Another thread of the crew does it, while the caller dispatches, and its end waits for it. */
TEST(jobs_are_done_beside_the_caller)
{
    for (size_t w = 2; w < 5; w++) {
        mcamp_ctx c = context(w);
        mcamp__crew crew;
        count_anew();
        mcamp__crew_enter(&crew, &c);
        for (int round = 0; round < 20; round++) {
            errand e = { 0, 0, 1 + round % 2, 0, 0 }, second = { 0, 9, 0, 0, 0 };
            mcamp__aside job, other;
            if (round % 3 == 0) nap();
            mcamp__aside_begin(&c, &job, run_errand, &e);
            if (round % 4) wait_for_it(&e);
            mcamp__aside_begin(&c, &other, run_errand, &second);    /* one at a time */
            mcamp__aside_end(&c, &other);
            CHECK(second.runs == 101 && second.who == 0);
            tasks_once(&c, 2 + 100 * (size_t)(round % 4));
            if (w > 2) all_meet(&c, w - 1);
            wait_for_it(&e);
            go_on(&e);
            mcamp__aside_end(&c, &job);
            CHECK(e.runs == 101 && !e.missed && e.who > 0);
            mcamp__aside_end(&c, &job);                             /* it is over */
            CHECK(e.runs == 101);
            all_meet(&c, w);
        }
        mcamp__crew_end(&crew);
        CHECK(counted.threads == w - 1 && all_back());
    }
}

/* A thread that wakes late finds a job and tasks: the job first, then the tasks, which need it. */
TEST(a_job_leaves_the_turn)
{
    mcamp_ctx c = context(2);
    mcamp__crew crew;
    errand e = { 0, 0, 0, 0, 0 };
    mcamp__aside job;
    count_anew();
    mcamp__crew_enter(&crew, &c);
    job.run = run_errand; job.arg = &e;
    job.taken = job.done = false;
    crew.job = &job;                            /* before there is a thread */
    all_meet(&c, 2);
    mcamp__aside_end(&c, &job);
    CHECK(e.runs == 101 && e.who == 1);
    mcamp__crew_end(&crew);
    CHECK(all_back());
}

/* Nobody else is there: at the end, by the caller, once. */
static void alone(const mcamp_ctx *c)
{
    errand e = { 0, 9, 0, 0, 0 };
    mcamp__aside job;
    mcamp__aside_begin(c, &job, run_errand, &e);
    tasks_once(c, 3);
    CHECK(!e.runs);
    mcamp__aside_end(c, &job);
    mcamp__aside_end(c, &job);          /* it is over */
    CHECK(e.runs == 101 && e.who == 0);
    memset(&job, 0, sizeof job);        /* never begun */
    mcamp__aside_end(c, &job);
}

/* They outlive their tasks, for what would still run them. */
typedef struct errands {
    const mcamp_ctx *ctx;
    errand e[50];
    mcamp__aside job[50];
    int here[50];               /* done when it ends, by who began it               */
} errands;

static void job_task(void *arg, size_t i)
{
    errands *all = (errands *)arg;
    mcamp__aside_begin(all->ctx, &all->job[i], run_errand, &all->e[i]);
    mcamp__aside_end(all->ctx, &all->job[i]);
    all->here[i] = all->e[i].runs == 101 && all->e[i].who == who();
    all->job[i].run = run_errand;
}

TEST(jobs_without_a_crew)
{
    const struct limits all = allowed;
    mcamp_ctx c[4];
    mcamp__crew crew;
    static errands of_tasks;
    c[0] = context(0); c[1] = context(3); c[2] = context(1); c[3] = context(0);
    c[3].parallel.run = other_hook;
    for (int i = 0; i < 4; i++) alone(&c[i]);
    mcamp__crew_enter(&crew, &c[2]);            /* of one */
    alone(&c[2]);
    mcamp__crew_end(&crew);
    allowed.threads = 0;                        /* of which none is made */
    count_anew();
    mcamp__crew_enter(&crew, &c[1]);
    alone(&c[1]);
    mcamp__crew_end(&crew);
    CHECK(all_back());
    allowed = all;
    mcamp__crew_enter(&crew, &c[1]);            /* in tasks */
    of_tasks.ctx = &c[1];
    mcamp__run(&c[1], 50, job_task, &of_tasks);
    for (int k = 0; k < 5; k++) {
        nap();
        tasks_once(&c[1], 40);
    }
    mcamp__crew_end(&crew);
    for (size_t i = 0; i < 50; i++) CHECK(of_tasks.here[i] && of_tasks.e[i].runs == 101);
}

/* Short ones, one after the other, with dispatches between: each once, and over when it ends. */
TEST(many_short_jobs)
{
    mcamp_ctx c = context(3);
    mcamp__crew crew;
    size_t bad = 0;
    mcamp__crew_enter(&crew, &c);
    for (size_t turn = 0; turn < (size_t)mt_scale(20000); turn++) {
        errand e = { 0, 0, 0, 0, 0 };
        mcamp__aside job;
        unsigned char done[ROOM];
        memset(done, 0, 4);
        mcamp__aside_begin(&c, &job, run_errand, &e);
        if (turn % 3) mcamp__run(&c, 1 + turn % 4, count_task, done);
        mcamp__aside_end(&c, &job);
        bad += e.runs != 101;
        for (size_t i = 0; i < 4; i++) bad += done[i] != (turn % 3 && i < 1 + turn % 4);
        if (turn % 512 == 0) nap();
    }
    mcamp__crew_end(&crew);
    CHECK(!bad);
}

/* ---- whose hook ------------------------------------------------------------------------- */

TEST(a_crew_takes_the_place_of_one_hook_alone)
{
    mcamp_ctx c = context(3), plain = context(0);
    mcamp__crew first, second;
    count_anew();
    mcamp__crew_enter(&first, &c);
    mcamp__crew_enter(&second, &c);                 /* a function that is called by one */
    all_meet(&c, 3);
    mcamp__crew_end(&second);
    CHECK(c.parallel.run == mcamp__crew_run && c.parallel.user == &first && c.brisk);
    all_meet(&c, 3);
    mcamp__crew_end(&first);
    CHECK(c.parallel.run == mcamp__threads_run && counted.threads == 2 && all_back());

    mcamp__crew_enter(&first, &plain);
    CHECK(!plain.parallel.run && !plain.brisk);
    mcamp__crew_end(&first);
    plain.parallel.run = other_hook;
    plain.parallel.user = &c;
    mcamp__crew_enter(&first, &plain);
    CHECK(plain.parallel.run == other_hook && plain.parallel.user == &c && !plain.brisk);
    mcamp__crew_end(&first);
    CHECK(plain.parallel.run == other_hook);

    memset(&plain, 0, sizeof plain);                /* what was never made */
    plain.parallel = mcamp_parallel_threads(3);
    mcamp__crew_enter(&first, &plain);
    CHECK(plain.parallel.run == mcamp__threads_run);
    mcamp__crew_end(&first);
    mcamp__crew_enter(&first, NULL);
    mcamp__crew_end(&first);
}

/* ---- what the system refuses ------------------------------------------------------------ */

TEST(what_threads_do_not_start_the_caller_does)
{
    const struct limits all = allowed;
    static const struct limits some[] = {
        { 0, 9999, 9999 }, { 1, 9999, 9999 }, { 9999, 0, 9999 }, { 9999, 9999, 0 },
        { 9999, 9999, 1 } };
    for (size_t k = 0; k < sizeof some / sizeof *some; k++)
        for (int crew = 0; crew < 2; crew++) {
            mcamp_ctx c = context(4);
            mcamp__crew own;
            count_anew();
            allowed = some[k];
            if (crew) mcamp__crew_enter(&own, &c);
            for (int i = 0; i < 3; i++) {
                tasks_once(&c, 13);
                if (k == 1 && crew) all_meet(&c, 2);
            }
            if (crew) mcamp__crew_end(&own);
            allowed = all;
            CHECK(counted.threads <= (crew ? some[k].threads : 3 * some[k].threads));
            if (crew) CHECK(counted.asked <= counted.threads + 1);   /* not again and again */
            if (k > 1) CHECK(!counted.asked);
            CHECK(all_back());
        }
}

/* ---- one crew for a call ---------------------------------------------------------------- */

static mcamp_mech strategy;
static mcamp_gram gram;
static mcamp_problem problem;
static uint64_t answer[64];

static mcamp_status keep(mcamp_status st, const void *p, size_t size)
{
    memset(answer, 0, sizeof answer);
    memcpy(answer, p, size < sizeof answer ? size : sizeof answer);
    return st;
}

static mcamp_claim claim(void)
{
    mcamp_claim c;
    memset(&c, 0, sizeof c);
    c.sigma = 2.5; c.eps = 1; c.delta = 1e-2; c.beta = 1e-3; c.seed = 3;
    c.max_samples = 32768;
    return c;
}

static mcamp_status keep_answer(mcamp_status st, const mcamp_answer *a)
{
    double v[3];
    v[0] = a->sigma; v[1] = a->eps; v[2] = a->delta;
    return keep(st, v, sizeof v);
}

static mcamp_status keep_proof(mcamp_status st, const mcamp_guarantee *g)
{
    double v[3];
    v[0] = g->sigma; v[1] = (double)g->accepted; v[2] = (double)g->samples;
    return keep(st, v, sizeof v);
}

static mcamp_status call_sigma(mcamp_ctx *c)
{
    mcamp_answer a;
    return keep_answer(mcamp_sigma(c, &gram, 1, 1e-5, NULL, &a), &a);
}

static mcamp_status call_delta(mcamp_ctx *c)
{
    mcamp_answer a;
    return keep_answer(mcamp_delta(c, &gram, 2, 1, NULL, &a), &a);
}

static mcamp_status call_epsilon(mcamp_ctx *c)
{
    mcamp_answer a;
    return keep_answer(mcamp_epsilon(c, &gram, 2, 1e-5, NULL, &a), &a);
}

static mcamp_status call_curve(mcamp_ctx *c)
{
    static const double eps[3] = { 0.5, 1, 2 };
    mcamp_answer a[3];
    return keep_answer(mcamp_curve(c, &gram, 2, eps, 3, NULL, a), a + 2);
}

static mcamp_status call_verify(mcamp_ctx *c)
{
    mcamp_claim q = claim();
    mcamp_guarantee g;
    return keep_proof(mcamp_verify(c, &gram, &q, &g), &g);
}

static mcamp_status call_certify(mcamp_ctx *c)
{
    mcamp_claim q = claim();
    mcamp_guarantee g;
    q.sigma = 0;
    return keep_proof(mcamp_calibrate_certified(c, &gram, &q, &g), &g);
}

static mcamp_status call_simulated(mcamp_ctx *c)
{
    static const double eps[3] = { 0.5, 1, 2 };
    double up[6];
    return keep(mcamp_simulated_curve(c, &gram, 2, eps, 3, 1, 8, 1e-3, up, up + 3), up, sizeof up);
}

static mcamp_status call_problem_delta(mcamp_ctx *c)
{
    mcamp_answer a;
    return keep_answer(mcamp_problem_delta(c, &problem, &a), &a);
}

static mcamp_status call_problem_epsilon(mcamp_ctx *c)
{
    mcamp_answer a;
    mcamp_problem p = problem;
    p.eps = 0; p.delta = 1e-5;
    return keep_answer(mcamp_problem_epsilon(c, &p, &a), &a);
}

static mcamp_status call_problem_sigma(mcamp_ctx *c)
{
    mcamp_answer a;
    mcamp_problem p = problem;
    p.sigma = 0; p.delta = 1e-5;
    return keep_answer(mcamp_problem_sigma(c, &p, &a), &a);
}

static mcamp_status call_problem_verify(mcamp_ctx *c)
{
    mcamp_guarantee g;
    mcamp_problem p = problem;
    p.delta = 1e-2; p.sigma = 1.5;
    return keep_proof(mcamp_problem_verify(c, &p, &g), &g);
}

static mcamp_status call_problem_certify(mcamp_ctx *c)
{
    mcamp_guarantee g;
    mcamp_problem p = problem;
    p.delta = 0.1; p.sigma = 0;
    return keep_proof(mcamp_problem_certify(c, &p, &g), &g);
}

static mcamp_status keep_mech(mcamp_ctx *c, mcamp_status st, mcamp_mech *m)
{
    st = keep(st, &m->digest, sizeof m->digest);
    mcamp_mech_free(c, m);
    return st;
}

static mcamp_status call_optimise(mcamp_ctx *c)
{
    mcamp_opt_desc d;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.family = MCAMP_OPT_BANDED; d.amplification = MCAMP_AMPLIFY_NONE;
    d.rounds = 160; d.batches = 40; d.eps = 1; d.delta = 1e-5; d.max_iterations = 4;
    return keep_mech(c, mcamp_opt_run(c, &d, &m, NULL), &m);
}

static mcamp_status call_plan(mcamp_ctx *c)
{
    static mcamp_plan_result r;
    mcamp_plan_desc d;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.rounds = 16; d.batches = 8; d.eps = 4; d.delta = 1e-2; d.memory = 1;
    d.sampling = MCAMP_PLAN_BINS; d.budget.rel_error = 0.1;
    return keep_mech(c, mcamp_plan(c, &d, &m, &r), &m);
}

static int nowhere(void *user, const char *text, size_t size)
{
    uint64_t *h = (uint64_t *)user;
    for (size_t i = 0; i < size; i++) *h = (*h ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return 0;
}

static mcamp_status call_shard(mcamp_ctx *c)
{
    mcamp_claim q = claim();
    uint64_t hash = 1;
    mcamp_writer w;
    mcamp_status st;
    memset(&w, 0, sizeof w);
    w.write = nowhere; w.user = &hash;
    st = mcamp_verify_shard(c, &strategy, &gram, &q, 1, 2, &w);
    return keep(st, &hash, sizeof hash);
}

/* No function makes more threads than it may, however often it dispatches; the hook is what
 * it was, and the answer that of one thread.                                         */
TEST(a_call_has_one_crew)
{
    static const struct { const char *name; mcamp_status (*call)(mcamp_ctx *c); } calls[] = {
        { "delta", call_delta }, { "verify", call_verify }, { "optimise", call_optimise },
        { "simulated", call_simulated }, { "shard", call_shard }, { "curve", call_curve },
        { "sigma", call_sigma }, { "certify", call_certify }, { "epsilon", call_epsilon },
        { "problem verify", call_problem_verify }, { "problem delta", call_problem_delta },
        { "problem sigma", call_problem_sigma }, { "problem epsilon", call_problem_epsilon },
        { "plan", call_plan }, { "problem certify", call_problem_certify } };
    const size_t count = mt_few(sizeof calls / sizeof *calls, 5);
    mcamp_ctx one = context(0);
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_SQRT; d.n = 48; d.bands = 6;
    CHECK_STATUS(mcamp_mech_init(&one, &d, &strategy), MCAMP_OK);
    CHECK_STATUS(mcamp_gram_init(&one, &strategy, 20, &gram), MCAMP_OK);
    d.n = 0;
    memset(&problem, 0, sizeof problem);
    problem.strategy = d;
    problem.strategy.bands = 2;
    problem.rounds = problem.batches = 520; problem.eps = 2; problem.sigma = 0.8;
    problem.budget.rel_error = 0.1;
    for (size_t i = 0; i < count; i++) {
        uint64_t alone[64];
        mcamp_ctx many = context(3);
        mcamp_status st = calls[i].call(&one);
        memcpy(alone, answer, sizeof alone);
        count_anew();
        CHECK_STATUS(calls[i].call(&many), st);
        CHECK(st >= 0 && !memcmp(alone, answer, sizeof alone));
        if (st < 0 || counted.threads < 1 || counted.threads > 2)
            printf("  %s: status %d, %zu threads\n", calls[i].name, (int)st, counted.threads);
        CHECK(counted.threads >= 1 && counted.threads <= 2 && all_back());
        CHECK(many.parallel.run == mcamp__threads_run && !many.brisk);
    }
    mcamp_gram_free(&one, &gram);
    mcamp_mech_free(&one, &strategy);
}

/* G of a BLT with factors, and how it moves, by the rows and tiles of two threads: scratch of
 * their own, and what one thread makes of it, to the bit.                              */
TEST(rows_and_tiles_have_scratch_of_their_own)
{
    enum { N = 700 };
    static const double theta[2] = { 0.9, 0.995 }, omega[2] = { 0.2, 0.05 };
    static double scale[N], moved[2][N];
    mcamp_mech_desc d;
    for (size_t i = 0; i < N; i++) scale[i] = 1 + 0.3 * cos((double)i);
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_BLT; d.n = N; d.theta = theta; d.omega = omega; d.buffers = 2;
    d.scale = scale;
    for (size_t b = 50; b < 80; b += 7) {
        mcamp_ctx c[2];
        mcamp__crew crew;
        mcamp_mech m;
        c[0] = context(0); c[1] = context(2);
        CHECK_STATUS(mcamp_mech_init(&c[0], &d, &m), MCAMP_OK);
        count_anew();
        mcamp__crew_enter(&crew, &c[1]);
        for (int times = 0; times < 10; times++) {
            mcamp_gram g[2];
            double value[2], t[2][2], w[2][2];
            for (int k = 0; k < 2; k++) {
                mcamp__mech_grad to;
                memset(&to, 0, sizeof to);
                to.theta = t[k]; to.omega = w[k]; to.log_scale = moved[k];
                CHECK_STATUS(mcamp_gram_init(&c[k], &m, b, &g[k]), MCAMP_OK);
                CHECK_STATUS(mcamp__modes_grad_blt(&c[k], &m, b, g[0].g, &value[k], &to), MCAMP_OK);
            }
            CHECK(!memcmp(g[0].g, g[1].g, b * b * sizeof(double)));
            CHECK(!memcmp(value, value + 1, sizeof *value) && !memcmp(t[0], t[1], sizeof *t));
            CHECK(!memcmp(w[0], w[1], sizeof *w) && !memcmp(moved[0], moved[1], sizeof *moved));
            mcamp_gram_free(&c[0], &g[0]);
            mcamp_gram_free(&c[1], &g[1]);
        }
        mcamp__crew_end(&crew);
        CHECK(counted.threads == 1 && all_back());
        mcamp_mech_free(&c[0], &m);
    }
}

TEST(a_refused_question_leaves_the_hook)
{
    mcamp_ctx c = context(3);
    mcamp_answer a;
    count_anew();
    CHECK_STATUS(mcamp_sigma(&c, NULL, 1, 1e-5, NULL, &a), MCAMP_E_REQUIRED);
    CHECK(c.parallel.run == mcamp__threads_run && !c.brisk && !counted.asked);
    CHECK_STATUS(mcamp_sigma(NULL, NULL, 1, 1e-5, NULL, &a), MCAMP_E_ARG);
}

TEST(threads_are_told_apart) { CHECK(!who() && !test_keyless); }

TEST_MAIN("threads",
    T(threads_are_told_apart),
    T(every_task_is_run_once),
    T(tasks_are_taken_from_both_ends),
    T(tasks_run_side_by_side),
    T(a_crew_lasts_for_the_whole_call),
    T(late_threads_stay_out),
    T(tasks_may_have_tasks),
    T(jobs_are_done_beside_the_caller),
    T(a_job_leaves_the_turn),
    T(jobs_without_a_crew),
    T(many_short_jobs),
    T(a_crew_takes_the_place_of_one_hook_alone),
    T(what_threads_do_not_start_the_caller_does),
    T(a_call_has_one_crew),
    T(rows_and_tiles_have_scratch_of_their_own),
    T(a_refused_question_leaves_the_hook))
