/* Processes of one run that are killed at any time: each takes up what the last one left on
 * disk, with the same data or with other data, and writes down what it releases.  Whatever
 * happens, no round of a run has two different releases.  For programs that hold the
 * implementation and mcamp_test.h; POSIX.                                          */
#ifndef MCAMP_KILL_LOOP_H
#define MCAMP_KILL_LOOP_H

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../examples/ledger_file.h"

enum { KILL_N = 12, KILL_M = 8, KILL_D = 40, KILL_STATE = 1 << 13 };

/* 512 bytes, so that none crosses a page: a process that is killed while it writes over the end
 * of one leaves half of what it wrote, and those after it would be read out of step.     */
typedef struct kill_release {
    uint64_t run, round;
    double out[KILL_D];
    unsigned char rest[512 - 16 - 8 * KILL_D];
} kill_release;

typedef struct kill_run {
    mcamp_mech mech;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    ledger_file book;
    int64_t sum[KILL_D];
} kill_run;

typedef struct kill_paths { char ledger[220], state[220], fresh[220], released[220]; } kill_paths;

static int kill_open(mcamp_ctx *ctx, kill_run *r, const kill_paths *at, uint64_t run, int book)
{
    static const double coef[3] = { 1, 0.5, -0.25 };
    mcamp_mech_desc m;
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    mcamp_session_desc s;
    mcamp_guarantee g;
    memset(r, 0, sizeof *r);
    memset(&m, 0, sizeof m); memset(&b, 0, sizeof b); memset(&z, 0, sizeof z);
    memset(&c, 0, sizeof c); memset(&s, 0, sizeof s);
    m.kind = MCAMP_MECH_TOEPLITZ;
    m.n = b.rounds = KILL_N;
    m.coef = coef;
    m.count = 3;
    b.law = MCAMP_BATCH_BINS;
    b.examples = c.max_examples = KILL_M;
    b.batches = 2;
    mcamp_key_insecure_test(77, &b.key);
    z.key = b.key;
    z.mech = &r->mech;
    z.sigma = 2;
    z.clip_norm = c.norm = 1;
    z.unit = MCAMP_NOISE_SUM;
    z.dim = c.dim = KILL_D;
    s.guarantee = &g; s.batch = &r->batch; s.noise = &r->noise; s.clip = &r->clip;
    s.grid_sum = r->sum;
    s.run = run;
    if (book) s.ledger.record = ledger_record;
    s.ledger.user = &r->book;
    return ledger_open(&r->book, at->ledger) == 0 &&
           mcamp_mech_init(ctx, &m, &r->mech) == MCAMP_OK &&
           mcamp_guarantee_unamplified(ctx, &r->mech, b.law, 2, 2, 1e-5, &g) == MCAMP_OK &&
           mcamp_batch_init(ctx, &b, &r->batch) == MCAMP_OK &&
           mcamp_noise_init(ctx, &z, &r->noise) == MCAMP_OK &&
           mcamp_clip_init(ctx, &c, &r->clip) == MCAMP_OK &&
           mcamp_session_init(ctx, &s, &r->session) == MCAMP_OK;
}

static mcamp_status kill_round(mcamp_ctx *ctx, kill_run *r, uint64_t t, int variant, double *out)
{
    size_t member[KILL_M];
    mcamp_batch_size size = { 0, 0 };
    double x[KILL_D];
    mcamp_tensor whole = { NULL, NULL, KILL_D };
    mcamp_status st = mcamp_session_begin(ctx, &r->session, t, member, KILL_M, &size);
    whole.d = x;
    for (size_t i = 0; i < size.kept && st == MCAMP_OK; i++) {
        for (size_t k = 0; k < KILL_D; k++)
            x[k] = sin((double)(member[i] * 7 + k + t + 100 * (size_t)variant));
        st = mcamp_session_add(ctx, &r->session, member[i], &whole, 1);
    }
    return st == MCAMP_OK ? mcamp_session_end(ctx, &r->session, out) : st;
}

static int kill_keep(mcamp_ctx *ctx, const kill_run *r, const kill_paths *at)
{
    static unsigned char blob[KILL_STATE];
    size_t size = 0;
    FILE *f = fopen(at->fresh, "wb");
    int good = f && mcamp_session_save(ctx, &r->session, blob, sizeof blob, &size) == MCAMP_OK &&
               fwrite(blob, 1, size, f) == size;
    if (f && fclose(f)) good = 0;
    return good && rename(at->fresh, at->state) == 0;
}

/* A process: ends by SIGUSR1 if all rounds are done, by SIGUSR2 if the ledger refused (an
 * exit would have a checker of leaks look at its heap), by exit if something is wrong.
 * keep: after how many rounds the state is saved.                                  */
static void kill_live(mcamp_ctx *ctx, const kill_paths *at, uint64_t run, int variant,
                      uint64_t keep, int book)
{
    static unsigned char blob[KILL_STATE];
    static kill_run r;
    static kill_release done;
    FILE *f = fopen(at->state, "rb");
    int to = open(at->released, O_WRONLY | O_APPEND);
    mcamp_status st = MCAMP_OK;
    if (to < 0 || !kill_open(ctx, &r, at, run, book)) _exit(2);
    if (f && mcamp_session_load(ctx, &r.session, blob, fread(blob, 1, sizeof blob, f)) < 0)
        _exit(3);
    for (uint64_t t = mcamp_noise_step(&r.noise); t < KILL_N; t++) {
        done.run = run;
        done.round = t;
        st = kill_round(ctx, &r, t, variant, done.out);
        if (st < 0) break;
        if (write(to, &done, sizeof done) != (ssize_t)sizeof done) _exit(4);
        if (t % keep == 0 && !kill_keep(ctx, &r, at)) _exit(5);
    }
    ledger_close(&r.book);
    if (st < 0 && st != MCAMP_E_LEDGER) _exit(6);
    kill(getpid(), st < 0 ? SIGUSR2 : SIGUSR1);
    _exit(7);
}

static void kill_forget(const kill_paths *at)
{
    remove(at->ledger);
    remove(at->state);
    remove(at->fresh);
}

/* How many rounds have two releases that differ; *all: releases, *twice: the same once more. */
static size_t kill_count(const char *path, size_t *all, size_t *twice)
{
    static kill_release first[KILL_N], now;
    static int have[KILL_N];
    uint64_t run = 0;
    size_t differ = 0;
    FILE *f = fopen(path, "rb");
    *all = *twice = 0;
    while (f && fread(&now, sizeof now, 1, f) == 1) {
        if (now.run != run) memset(have, 0, sizeof have);
        run = now.run;
        if (now.round >= KILL_N) { differ++; continue; }
        if (!have[now.round]) first[now.round] = now;
        else if (memcmp(&first[now.round], &now, sizeof now)) differ++;
        else (*twice)++;
        have[now.round] = 1;
        (*all)++;
    }
    if (f) fclose(f);
    return differ;
}

static void kill_wait(uint64_t nanoseconds)
{
    struct timespec t;
    t.tv_sec = 0;
    t.tv_nsec = (long)(nanoseconds % 1000000000);
    nanosleep(&t, NULL);
}

typedef struct kill_result {
    size_t differ, releases, twice, killed, refused, finished;
} kill_result;

/* `lives` processes, one after another; the ends of runs begin new ones.  most: the longest
 * life in nanoseconds.  book 0: without the ledger, to see that something is found.  */
static kill_result kill_loop(mcamp_ctx *ctx, size_t lives, uint64_t most, uint64_t seed, int book)
{
    kill_result k;
    kill_paths at;
    const char *dir = getenv("TMPDIR");
    uint64_t run = 1;
    int fd;
    memset(&k, 0, sizeof k);
    snprintf(at.released, sizeof at.released, "%s/mcamp_kill.%ld", dir ? dir : "/tmp",
             (long)getpid());
    snprintf(at.ledger, sizeof at.ledger, "%.190s.ledger", at.released);
    snprintf(at.state, sizeof at.state, "%.190s.state", at.released);
    snprintf(at.fresh, sizeof at.fresh, "%.190s.fresh", at.released);
    kill_forget(&at);
    fd = open(at.released, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    fflush(stdout);
    for (size_t i = 0; i < lives; i++) {
        uint64_t r = mcamp__splitmix(&seed);
        int status = 0;
        pid_t child = fork();
        if (child == 0) kill_live(ctx, &at, run, (r >> 60 & 7) == 0, 1 + (r >> 50 & 3), book);
        CHECK(child > 0);
        if (child <= 0) break;
        kill_wait((r & 0xffffffff) * most >> 32);
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        if (!WIFSIGNALED(status)) continue;
        if (WTERMSIG(status) == SIGKILL) k.killed++;
        if (WTERMSIG(status) == SIGUSR2) k.refused++;
        if (WTERMSIG(status) != SIGUSR1) continue;
        k.finished++;
        run++;
        kill_forget(&at);
    }
    k.differ = kill_count(at.released, &k.releases, &k.twice);
    kill_forget(&at);
    remove(at.released);
    return k;
}

#endif
