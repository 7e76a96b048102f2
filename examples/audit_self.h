/* The auditor of the library's own sessions: runs on neighbouring data sets, many times with
 * other keys, through the public interface, in the ways in which runs have gone wrong.
 * What an observer sees of a run is made into scores; section audit.h turns the scores of
 * both worlds into a lower bound on eps, which must not be above the certificate.
 * What is refused releases nothing, and bounds nothing.
 *
 * Include mcamp.h before this file.                                                 */
#ifndef AUDIT_SELF_H
#define AUDIT_SELF_H

#include "audit.h"

/* Where a thread's stack can be looked at afterwards: sanitizers call that memory nobody's. */
#if defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
      __has_feature(thread_sanitizer)
#    define AUDIT_NO_STACK
#  endif
#endif
#if !defined(MCAMP_PTHREADS) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define AUDIT_NO_STACK
#endif
#ifndef AUDIT_NO_STACK
#  include <pthread.h>
#endif

enum { AUDIT_DIM = 2, AUDIT_ROUNDS = 64, AUDIT_PEOPLE = 8, AUDIT_SEEN = 4, AUDIT_BLOB = 2048,
       AUDIT_ENTRIES = 8 };

/* How a run is made: what the certificate is about.  coef: a Toeplitz C. */
typedef struct audit_setting {
    mcamp_batch_law law;
    size_t rounds, batches, people;
    double coef[2], sigma;
    int grid;                   /* 2^grid; 0: floating point; 1: the library's */
    uint64_t limit, max_examples;
    double delta;               /* of the certificate and of the bound */
} audit_setting;

/* One world's run, and what was seen of it. */
typedef struct audit_world {
    const audit_setting *how;
    bool with;                  /* with the example, person 0 */
    bool absent;                /* it is not there; else its gradient is zero */
    uint64_t seed;
    double scale;               /* of the noise, and so of the certificate */
    bool other;                 /* other gradients, as after a change of the data */
    bool slice;                 /* noise of the first coordinate only */
    mcamp_noise_type type;      /* of its rows */
    uint64_t run;               /* the session's number, 1 if no other is given */
    int64_t *into;              /* its sum, if not grid_sum */
    double seen[AUDIT_SEEN];    /* scores; what was not released is 0 */
    size_t count;               /* of scores */
    bool released;              /* anything */
    double violations;          /* what had to be refused and was not */
    double certified;           /* eps of all that the case releases */
    mcamp_ctx *ctx;
    mcamp_mech mech;
    mcamp_guarantee guarantee;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    double sum[AUDIT_DIM], out[AUDIT_DIM];
    int64_t grid_sum[AUDIT_DIM];
    unsigned char blob[AUDIT_BLOB];
    bool keeps_ledger;
    mcamp_ledger_entry entry[AUDIT_ENTRIES];
    size_t entries;
} audit_world;

typedef struct audit_case {
    const char *name, *what;
    void (*run)(audit_world *);
    size_t times;               /* as many runs as for others */
    bool uncovered;             /* the library says that it does not cover this */
    audit_setting how;
} audit_case;

/* ---- sessions --------------------------------------------------------------------- */

AUDIT_FN bool audit_mech(audit_world *w)
{
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_TOEPLITZ;
    d.n = w->how->rounds;
    d.coef = w->how->coef;
    d.count = w->how->coef[1] > 0 && d.n > 1 ? 2 : 1;
    return mcamp_mech_init(w->ctx, &d, &w->mech) >= 0;
}

AUDIT_FN bool audit_noise(audit_world *w)
{
    mcamp_noise_desc d;
    memset(&d, 0, sizeof d);
    d.mech = &w->mech;
    d.sigma = w->how->sigma * w->scale;
    d.clip_norm = 1;
    d.unit = MCAMP_NOISE_SUM;
    d.dim = AUDIT_DIM;
    d.count = w->slice ? 1 : 0;
    d.type = w->type;
    if (w->how->grid < 0) d.grid = ldexp(1, w->how->grid);
    mcamp_key_insecure_test(w->seed, &d.key);
    return mcamp_noise_init(w->ctx, &d, &w->noise) >= 0;
}

AUDIT_FN bool audit_batch(audit_world *w)
{
    mcamp_batch_desc d;
    memset(&d, 0, sizeof d);
    d.law = w->how->law;
    d.examples = w->how->people - (uint64_t)(w->absent && !w->with);
    d.rounds = w->how->rounds;
    d.batches = w->how->batches;
    if (d.law == MCAMP_BATCH_POISSON || d.law == MCAMP_BATCH_MINSEP) d.q = 1;
    if (d.law == MCAMP_BATCH_FIXED) d.size = d.examples / d.batches;
    d.limit = w->how->limit;
    mcamp_key_insecure_test(w->seed, &d.key);
    return mcamp_batch_init(w->ctx, &d, &w->batch) >= 0;
}

/* A ledger in memory: the session may stop and come back, this does not. */
AUDIT_FN int audit_record(void *user, const mcamp_ledger_entry *e)
{
    audit_world *w = (audit_world *)user;
    for (size_t i = 0; i < w->entries; i++)
        if (w->entry[i].run == e->run && w->entry[i].round == e->round)
            return memcmp(w->entry[i].digest, e->digest, sizeof e->digest) != 0;
    if (w->entries == AUDIT_ENTRIES) return 1;
    w->entry[w->entries++] = *e;
    return 0;
}

AUDIT_FN bool audit_session(audit_world *w, mcamp_session *s)
{
    mcamp_session_desc d;
    memset(&d, 0, sizeof d);
    d.guarantee = &w->guarantee;
    d.batch = &w->batch;
    d.noise = &w->noise;
    d.clip = &w->clip;
    d.run = w->run ? w->run : 1;
    if (!w->how->grid) d.arithmetic = MCAMP_ARITHMETIC_FLOATING;
    d.grid_sum = w->into ? w->into : w->grid_sum;
    d.sum = w->sum;
    if (w->keeps_ledger) d.ledger.record = audit_record;
    d.ledger.user = w;
    return mcamp_session_init(w->ctx, &d, s) >= 0;
}

AUDIT_FN bool audit_clip(audit_world *w)
{
    mcamp_clip_desc d;
    memset(&d, 0, sizeof d);
    d.norm = 1;
    d.dim = AUDIT_DIM;
    d.max_examples = w->how->max_examples ? w->how->max_examples : AUDIT_PEOPLE;
    if (w->how->grid < 0) d.grid = ldexp(1, w->how->grid);
    return mcamp_clip_init(w->ctx, &d, &w->clip) >= 0;
}

/* All parts and the session.  The neighbour is what the session says that it is. */
AUDIT_FN bool audit_open(audit_world *w)
{
    const mcamp_guarantee *g;
    bool ok;
    w->absent = w->guarantee.adjacency == MCAMP_ADJACENT_ADD_REMOVE;
    ok = audit_noise(w) && audit_batch(w) && audit_clip(w) && audit_session(w, &w->session);
    g = mcamp_session_guarantee(&w->session);
    if (!ok || !g || g->adjacency == w->guarantee.adjacency) return ok;
    w->absent = false;
    mcamp_batch_free(w->ctx, &w->batch);
    return audit_batch(w) && audit_session(w, &w->session);
}

AUDIT_FN void audit_close(audit_world *w)
{
    mcamp_batch_free(w->ctx, &w->batch);
    mcamp_noise_free(w->ctx, &w->noise);
}

/* Person 0 pulls one way, the others by turns the other way and this; its low bits are its
 * own.                                                                             */
AUDIT_FN double audit_gradient(const audit_world *w, size_t index)
{
    size_t person = index + (size_t)(w->absent && !w->with);
    if (!person) return w->with && !w->other ? 1 - ldexp(1, -18) : 0;
    return person % 2 ? -1 : 1;
}

AUDIT_FN bool audit_add(audit_world *w, mcamp_session *s, size_t index)
{
    double g[AUDIT_DIM] = { 0 };
    mcamp_tensor t = { NULL, NULL, AUDIT_DIM };
    t.d = g;
    g[0] = audit_gradient(w, index);
    if (w->slice) g[1] = g[0];
    return mcamp_session_add(w->ctx, s, index, &t, 1) >= 0;
}

/* How many members a round has, or -1: it was refused. */
AUDIT_FN int audit_begin(audit_world *w, mcamp_session *s, size_t round, size_t *member)
{
    mcamp_batch_size size = { 0, 0 };
    if (mcamp_session_begin(w->ctx, s, round, member, AUDIT_PEOPLE, &size) < 0) return -1;
    return (int)size.kept;
}

AUDIT_FN bool audit_end(audit_world *w, mcamp_session *s)
{
    bool ok = mcamp_session_end(w->ctx, s, w->out) >= 0;
    w->released |= ok;
    return ok;
}

/* Begins a round and adds all of its members. */
AUDIT_FN bool audit_fill(audit_world *w, mcamp_session *s, size_t round)
{
    size_t member[AUDIT_PEOPLE];
    int n = audit_begin(w, s, round, member);
    for (int i = 0; i < n; i++)
        if (!audit_add(w, s, member[i])) return false;
    return n >= 0;
}

AUDIT_FN bool audit_round(audit_world *w, mcamp_session *s, size_t round)
{
    return audit_fill(w, s, round) && audit_end(w, s);
}

/* The state between two rounds; its size, 0 if it could not be had. */
AUDIT_FN size_t audit_save(audit_world *w)
{
    size_t size = 0;
    if (mcamp_session_save(w->ctx, &w->session, w->blob, sizeof w->blob, &size) < 0) return 0;
    return size;
}

AUDIT_FN bool audit_load(audit_world *w, size_t size)
{
    return mcamp_session_load(w->ctx, &w->session, w->blob, size) >= 0;
}

/* What an observer makes of a run whose every round has the example: the sum of what C x + z
 * is along C's share of the example.                                               */
AUDIT_FN double audit_along(audit_world *w, const double *out, size_t rounds)
{
    double ones[AUDIT_ROUNDS], share[AUDIT_ROUNDS], y[AUDIT_ROUNDS], sum = 0;
    for (size_t t = 0; t < w->how->rounds; t++) {
        ones[t] = t % w->how->batches == 0;
        y[t] = t < rounds ? out[t] : 0;
    }
    if (mcamp_mech_mul(w->ctx, &w->mech, ones, share) < 0 ||
        mcamp_mech_mul(w->ctx, &w->mech, y, y) < 0) return 0;
    for (size_t t = 0; t < w->how->rounds; t++) sum += share[t] * y[t];
    return sum;
}

/* ---- ways to run ------------------------------------------------------------------- */

/* As it should be: what is released, and what is left in the memory for the sum. */
AUDIT_FN void audit_run_plain(audit_world *w)
{
    double out[AUDIT_ROUNDS];
    size_t t = 0;
    if (!audit_open(w)) return;
    for (; t < w->how->rounds && audit_round(w, &w->session, t); t++) out[t] = w->out[0];
    w->violations += t < w->how->rounds;        /* nothing to be audited */
    w->seen[0] = audit_along(w, out, t);
    w->seen[1] = t ? out[0] : 0;
    w->seen[2] = w->how->grid ? (double)w->grid_sum[0] : w->sum[0];
    w->count = 3;
}

/* What power of two the result near 0 is a multiple of: noise alone would be as finely grained
 * as its own exponent, a rounded sum as that of what was added.                     */
AUDIT_FN double audit_grain(double x)
{
    int e;
    double m = frexp(x, &e);
    if (!(fabs(x) < 0.25)) return 1;
    if (!(fabs(x) > 0)) return 0;
    for (int i = 0; i < 60 && floor(m) < m; i++, e--) m *= 2;
    return e;
}

AUDIT_FN void audit_run_bits(audit_world *w)
{
    if (!audit_open(w) || !audit_round(w, &w->session, 0)) return;
    w->seen[0] = audit_grain(w->out[0]);
    w->seen[1] = fmod(fabs(w->out[0]), ldexp(1, 10 + w->how->grid));
    w->count = 2;
}

/* Noise at the ends of the integers: the last round that has the example. */
AUDIT_FN void audit_run_large(audit_world *w)
{
    size_t last = (w->how->rounds - 1) / w->how->batches * w->how->batches;
    if (!audit_open(w)) return;
    for (size_t t = 0; t < w->how->rounds && audit_round(w, &w->session, t); t++)
        if (t == last) w->seen[0] = w->out[0];
    w->count = 1;
}

/* Not all members of the round, and the end in spite of it. */
AUDIT_FN void audit_run_omit(audit_world *w)
{
    size_t member[AUDIT_PEOPLE];
    int n = audit_open(w) ? audit_begin(w, &w->session, 0, member) : -1;
    w->count = 1;
    for (int i = 0; i < n; i++)
        if (i < 1 || w->how->max_examples) audit_add(w, &w->session, member[i]);
    if (n >= 0 && audit_end(w, &w->session)) w->seen[0] = w->out[0];
}

/* The first member in everybody's place; then a stranger in the last one's. */
AUDIT_FN void audit_run_twice(audit_world *w)
{
    size_t member[AUDIT_PEOPLE];
    w->count = 2;
    if (!audit_open(w)) return;
    for (int k = 0; k < 2; k++) {
        int n = audit_begin(w, &w->session, 0, member);
        for (int i = 0; i < n; i++)
            audit_add(w, &w->session, k == 0 ? member[0] : i + 1 < n ? member[i] : AUDIT_PEOPLE);
        if (n >= 0 && audit_end(w, &w->session)) { w->seen[k] = w->out[0]; return; }
    }
}

/* A refused end, of a round with a member too few, must leave its result alone. */
AUDIT_FN void audit_run_fail(audit_world *w)
{
    size_t member[AUDIT_PEOPLE];
    w->out[0] = 7;
    w->count = 1;
    if (audit_open(w) && audit_begin(w, &w->session, 0, member) > 0 &&
        audit_add(w, &w->session, member[0]))
        audit_end(w, &w->session);
    w->seen[0] = w->out[0];
    w->released |= w->out[0] > 7 || w->out[0] < 7;
}

/* Noise that overflows in a later round: that round must be refused, its result left alone. */
AUDIT_FN void audit_run_overflow(audit_world *w)
{
    size_t t = 0;
    if (!audit_open(w)) return;
    for (; t < w->how->rounds && audit_fill(w, &w->session, t); t++) {
        w->out[0] = 7;
        if (!audit_end(w, &w->session)) break;
        w->violations += !(fabs(w->out[0]) <= DBL_MAX);
    }
    w->violations += t == w->how->rounds || w->out[0] > 7 || w->out[0] < 7;
}

/* Sessions that take turns on one stream, each with a sum of its own: each of them begins
 * round 0, then each ends it.                                                       */
AUDIT_FN void audit_run_turns(audit_world *w)
{
    mcamp_session s[8];
    int64_t grid_sum[8][AUDIT_DIM];
    double sum = 0;
    bool ok = audit_open(w);
    w->count = 1;
    for (int i = 0; i < 8 && ok; i++) {
        w->into = grid_sum[i];
        ok = audit_session(w, &s[i]);
    }
    w->into = NULL;
    for (int i = 0; i < 8 && ok; i++) audit_fill(w, &s[i], 0);
    for (int i = 0; i < 8 && ok; i++)
        if (audit_end(w, &s[i])) sum += w->out[0];
    w->seen[0] = sum;
}

/* A copy of all structs, with a session on the copies: a round of both, with other data. */
AUDIT_FN void audit_run_copied(audit_world *w)
{
    static audit_world c;
    w->count = 1;
    if (!audit_open(w)) return;
    memcpy(&c, w, sizeof c);
    c.session.noise = &c.noise;
    c.session.batch = &c.batch;
    c.session.clip = &c.clip;
    c.session.grid_sum = c.grid_sum;
    c.other = true;
    if (!audit_round(w, &w->session, 0)) return;
    w->released = audit_round(&c, &c.session, 0);
    if (w->released) w->seen[0] = c.out[0] - w->out[0];
}

/* The memory of the process as it was, at the same place, after a round was released: what a
 * fork, or a machine put back to a snapshot, is like.  The round once more, with other data. */
AUDIT_FN void audit_run_forked(audit_world *w)
{
    static audit_world before;
    double first;
    w->count = 1;
    w->entries = 0;
    if (!audit_open(w) || !audit_fill(w, &w->session, 0)) return;
    memcpy(&before, w, sizeof before);
    if (!audit_end(w, &w->session)) return;
    first = w->out[0];
    w->session = before.session;
    w->noise = before.noise;
    w->batch = before.batch;
    w->clip = before.clip;
    w->released = false;
    w->other = true;
    if (audit_round(w, &w->session, 0)) w->seen[0] = w->out[0] - first;
    w->other = false;
}

AUDIT_FN void audit_run_forked_ledger(audit_world *w)
{
    w->keeps_ledger = true;
    audit_run_forked(w);
}

/* A state of a later round is loaded between the beginning of a round and its end: that
 * round's sum with the later one's noise, which was released with another sum.      */
AUDIT_FN void audit_run_later(audit_world *w)
{
    double later;
    size_t size;
    w->count = 1;
    if (!audit_open(w) || !audit_round(w, &w->session, 0)) return;
    size = audit_save(w);
    if (!size || !audit_round(w, &w->session, 1)) return;
    later = w->out[0];
    audit_close(w);
    w->released = false;        /* what was so far is as it should be */
    if (!audit_open(w) || !audit_fill(w, &w->session, 0) || !audit_load(w, size)) return;
    if (audit_end(w, &w->session)) w->seen[0] = w->out[0] - later;
}

/* The same round once more after a restart, with other gradients. */
AUDIT_FN void audit_run_again(audit_world *w)
{
    double first;
    w->count = 1;
    w->entries = 0;
    w->other = false;
    if (!audit_open(w) || !audit_round(w, &w->session, 0)) return;
    first = w->out[0];
    audit_close(w);
    w->released = false;
    w->other = true;
    if (audit_open(w) && audit_round(w, &w->session, 0)) w->seen[0] = w->out[0] - first;
    w->other = false;
}

AUDIT_FN void audit_run_ledger(audit_world *w)
{
    w->keeps_ledger = true;
    audit_run_again(w);
}

/* One key for two runs that differ in sigma: one's noise must tell nothing of the other's. */
AUDIT_FN void audit_run_sigmas(audit_world *w)
{
    mcamp_guarantee g = w->guarantee;
    double first, total = g.sensitivity * sqrt(1.01);
    w->count = 1;
    if (!audit_open(w) || !audit_round(w, &w->session, 0)) return;
    first = w->out[0];
    audit_close(w);
    w->scale = 10;
    if (mcamp_guarantee_unamplified(w->ctx, &w->mech, w->how->law, w->how->batches, 10 * g.sigma,
                                    g.delta, &w->guarantee) >= 0 &&
        audit_open(w) && audit_round(w, &w->session, 0)) w->seen[0] = 10 * first - w->out[0];
    w->guarantee = g;
    w->scale = 1;
    mcamp_gauss_epsilon(w->ctx, g.sigma, total, g.delta, &w->certified);
}

/* One key for two runs, with other data in the second. */
AUDIT_FN void audit_run_runs(audit_world *w)
{
    double first;
    w->count = 1;
    w->run = 1;
    if (!audit_open(w) || !audit_round(w, &w->session, 0)) return;
    first = w->out[0];
    audit_close(w);
    w->run = 2;
    w->other = true;
    if (audit_open(w) && audit_round(w, &w->session, 0)) w->seen[0] = w->out[0] - first;
    w->other = false;
    w->run = 1;
    mcamp_gauss_epsilon(w->ctx, w->guarantee.sigma, w->guarantee.sensitivity * sqrt(2),
                        w->guarantee.delta, &w->certified);
}

/* A stream without a session, of the same key: what it makes is not the run's noise. */
AUDIT_FN void audit_run_stream(audit_world *w)
{
    int64_t z[AUDIT_DIM] = { 0 };
    mcamp_noise_out o = { NULL, NULL, NULL, false };
    o.grid = z;
    w->count = 1;
    if (!audit_noise(w) || mcamp_noise_next(w->ctx, &w->noise, 0, AUDIT_DIM, &o) < 0) return;
    mcamp_noise_free(w->ctx, &w->noise);
    if (audit_open(w) && audit_round(w, &w->session, 0))
        w->seen[0] = w->out[0] - ldexp((double)z[0], w->how->grid);
}

/* Noise for some of the coordinates: the others must not be left in the sum.     */
AUDIT_FN void audit_run_left(audit_world *w)
{
    w->slice = true;
    if (audit_open(w) && audit_round(w, &w->session, 0)) {
        w->seen[0] = w->out[0];
        w->seen[1] = (double)w->grid_sum[0];
        w->seen[2] = (double)w->grid_sum[1];
    }
    w->slice = false;
    w->count = 3;
}

#ifdef AUDIT_NO_STACK
static bool audit_sees_stacks = false;
#else
static bool audit_sees_stacks = true;
static union { unsigned char byte[1 << 18]; double align[2]; } audit_stack;

static void *audit_end_there(void *world)
{
    audit_world *w = (audit_world *)world;
    audit_end(w, &w->session);
    return NULL;
}

/* Whether the thread's stack holds x as a double or an integer, or a double next to `about`,
 * if that is not 0.  Halves of addresses and numbers of threads lie there, too, others in
 * every process: only numbers far larger tell anything, so the case's lattice is a fine one. */
AUDIT_FN bool audit_on_stack(double x, double about)
{
    for (size_t i = 0; i + 8 <= sizeof audit_stack; i += 4) {
        double d;
        int64_t whole;
        memcpy(&d, audit_stack.byte + i, sizeof d);
        memcpy(&whole, audit_stack.byte + i, sizeof whole);
        if (fabs(d - x) <= 0.5 || fabs((double)whole - x) <= 0.5 ||
            fabs(d - about) < 1e-9 * fabs(about)) return true;
    }
    return false;
}
#endif

/* The end in a thread whose stack is ours: neither the sum, in grids, nor the noise, nor the
 * normal that it was made of (C = I) may be left there.                            */
AUDIT_FN void audit_run_stack(audit_world *w)
{
#ifndef AUDIT_NO_STACK
    double sum, noise;
    pthread_attr_t a;
    pthread_t t;
#endif
    if (!audit_sees_stacks) return;
    w->violations++;                            /* nothing was looked at so far */
    if (!audit_open(w) || !audit_fill(w, &w->session, 0)) return;
#ifndef AUDIT_NO_STACK
    sum = (double)w->grid_sum[0];
    memset(&audit_stack, 0, sizeof audit_stack);
    if (pthread_attr_init(&a)) return;
    if (pthread_attr_setstack(&a, &audit_stack, sizeof audit_stack) ||
        pthread_create(&t, &a, audit_end_there, w) || pthread_join(t, NULL)) return;
    pthread_attr_destroy(&a);
    w->violations--;
    noise = (double)w->grid_sum[0] - sum;
    w->violations += !w->released || (fabs(sum) > 1e10 && audit_on_stack(sum, 0)) ||
                     (fabs(noise) > 1e10 &&
                      audit_on_stack(noise, ldexp(noise, w->how->grid) / w->how->sigma));
    w->released = false;                        /* nothing but that is looked for */
#else
    (void)w;
#endif
}

/* Rows of floats hold the lattice's integers whole: the noise is that of rows of doubles. */
AUDIT_FN void audit_run_floats(audit_world *w)
{
    int64_t z[2][AUDIT_ROUNDS][AUDIT_DIM];
    memset(z, 0, sizeof z);
    for (int k = 0; k < 2; k++) {
        mcamp_noise_out o = { NULL, NULL, NULL, false };
        w->type = k ? MCAMP_NOISE_FLOAT : MCAMP_NOISE_DOUBLE;
        w->violations += !audit_noise(w);
        for (size_t t = 0; t < w->how->rounds; t++) {
            o.grid = z[k][t];
            w->violations += mcamp_noise_next(w->ctx, &w->noise, t, AUDIT_DIM, &o) < 0;
        }
        mcamp_noise_free(w->ctx, &w->noise);
    }
    w->type = MCAMP_NOISE_TYPE_DEFAULT;
    w->violations += memcmp(z[0], z[1], sizeof z[0]) != 0;
}

/* C is made larger under the session: noise C^-1 z becomes smaller. */
AUDIT_FN void audit_run_c(audit_world *w)
{
    double *coef;
    w->count = 1;
    if (!audit_open(w)) return;
    memcpy(&coef, &w->mech.coef, sizeof coef);
    for (size_t i = 0; i < w->mech.count; i++) coef[i] *= 16;
    if (audit_round(w, &w->session, 0)) w->seen[0] = w->out[0];
    for (size_t i = 0; i < w->mech.count; i++) coef[i] /= 16;
}

/* Population or limit change under the session. */
AUDIT_FN void audit_run_people(audit_world *w)
{
    if (!audit_open(w)) return;
    if (w->seed / 2 % 2) w->batch.examples--;
    else             w->batch.limit--;
    w->violations += audit_round(w, &w->session, 0);
}

/* States that were changed by somebody without the key: any bit, and where there is a public
 * checksum of the head, none of it helps.                                           */
AUDIT_FN void audit_run_forge(audit_world *w)
{
    size_t size;
    if (!audit_open(w) || !audit_round(w, &w->session, 0)) return;
    size = audit_save(w);
    w->violations += !size;
    for (size_t i = 0; i < 8 && size; i++) {
        size_t bit = (size_t)(w->seed / 2 * 8 + i) % (8 * size);
        w->blob[bit / 8] ^= (unsigned char)(1u << bit % 8);
        w->violations += audit_load(w, size);
        w->blob[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

static const audit_case AUDIT_CASES[] = {
    { "noise", "rounds of a plain run", audit_run_plain, 1, false,
      { MCAMP_BATCH_BINS, 4, 1, 3, { 1, 0.5 }, 2, 1, 0, 0, 0.05 } },
    { "noise of one bin", "an example in one round of each epoch", audit_run_plain, 1, false,
      { MCAMP_BATCH_MINSEP, 5, 2, 3, { 1, 0.5 }, 1, -20, 0, 0, 0.05 } },
    { "low bits", "results on the lattice", audit_run_bits, 5, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 5, -20, 0, 0, 1e-5 } },
    { "low bits of floats", "results of sums in floating point", audit_run_bits, 5, true,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 5, 0, 0, 0, 1e-5 } },
    { "saturation", "a lattice finer than the noise allows", audit_run_large, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 2, { 1e-6, 0 }, 4e-6, -61, 0, 2, 0.05 } },
    { "late saturation", "noise that grows from round to round", audit_run_large, 1, false,
      { MCAMP_BATCH_MINSEP, 60, 30, 3, { 1, 2 }, 8, -40, 0, 0, 0.05 } },
    { "under-filled", "an end without all members", audit_run_omit, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 4, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "over-full", "more members than the sum is made for", audit_run_omit, 2, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 1, 0.05 } },
    { "twice", "one member in the place of others, strangers", audit_run_twice, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "cyclic groups", "neighbours as the certificate says", audit_run_plain, 1, false,
      { MCAMP_BATCH_POISSON, 4, 2, 8, { 1, 0.5 }, 1, -20, 0, 0, 0.05 } },
    { "fixed sizes", "neighbours as the certificate says", audit_run_plain, 1, false,
      { MCAMP_BATCH_FIXED, 2, 2, 8, { 1, 0.5 }, 1, -20, 0, 0, 0.05 } },
    { "shuffled", "neighbours as the certificate says", audit_run_plain, 1, false,
      { MCAMP_BATCH_SHUFFLE, 2, 2, 2, { 1, 0.5 }, 1, -20, 0, 0, 0.05 } },
    { "limit", "a batch that is cut", audit_run_plain, 6, false,
      { MCAMP_BATCH_POISSON, 1, 1, 2, { 1, 0 }, 0.5, -20, 1, 0, 0.3 } },
    { "refused end", "the result of an end that was refused", audit_run_fail, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, 0, 0, 0, 0.05 } },
    { "refused end on the lattice", "the same", audit_run_fail, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "infinite noise", "an end whose noise overflows", audit_run_overflow, 1, false,
      { MCAMP_BATCH_BINS, 5, 5, 3, { 1e-100, 1 }, 1, 0, 0, 0, 0.05 } },
    { "interleaving", "sessions that take turns on one stream", audit_run_turns, 1, false,
      { MCAMP_BATCH_MINSEP, 16, 16, 2, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "later state", "a state loaded within a round", audit_run_later, 1, false,
      { MCAMP_BATCH_MINSEP, 4, 4, 2, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "rolled back", "a round again with other data, ledger kept", audit_run_ledger, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "rolled back, no ledger", "the same, nothing written down", audit_run_again, 1, true,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "copied", "a copy of all structs, with other data", audit_run_copied, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "forked", "memory as before the round, ledger kept", audit_run_forked_ledger, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "forked, no ledger", "the same, nothing written down", audit_run_forked, 1, true,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "left in the sum", "coordinates that got no noise", audit_run_left, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "left on the stack", "sum and noise, after the end", audit_run_stack, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -40, 0, 0, 0.05 } },
    { "rows of floats", "noise of rows of floats and of doubles", audit_run_floats, 1, false,
      { MCAMP_BATCH_BINS, 8, 1, 3, { 1, 0.5 }, 2, -24, 0, 0, 0.05 } },
    { "two runs", "one key, other numbers of the run", audit_run_runs, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "a stream beside it", "of the same key, and no session", audit_run_stream, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "two sigmas", "one key for two runs", audit_run_sigmas, 1, false,
      { MCAMP_BATCH_BINS, 1, 1, 3, { 1, 0 }, 1, -20, 0, 0, 0.05 } },
    { "changed C", "coefficients changed in place", audit_run_c, 1, false,
      { MCAMP_BATCH_BINS, 4, 1, 3, { 1, 0 }, 2, -20, 0, 0, 0.05 } },
    { "changed batches", "population or limit changed in place", audit_run_people, 1, false,
      { MCAMP_BATCH_POISSON, 2, 1, 3, { 1, 0 }, 2, -20, 2, 0, 0.05 } },
    { "forged states", "saved states with a bit changed", audit_run_forge, 1, false,
      { MCAMP_BATCH_BINS, 2, 1, 3, { 1, 0.5 }, 2, -20, 0, 0, 0.05 } },
};
enum { AUDIT_NCASE = sizeof AUDIT_CASES / sizeof AUDIT_CASES[0] };

/* ---- verdicts ------------------------------------------------------------------------- */

typedef enum audit_verdict {
    AUDIT_HOLDS,                /* the bound is not above the certificate             */
    AUDIT_REFUSED,              /* nothing was released                               */
    AUDIT_UNCOVERED,            /* contradicted where the library claims nothing       */
    AUDIT_CONTRADICTED          /* or something was taken that must be refused         */
} audit_verdict;

typedef struct audit_result {
    audit_verdict verdict;
    audit_bound bound;          /* the best of the scores */
    double certified;           /* eps at bound.delta */
    uint64_t runs;              /* of each world */
    double violations;
} audit_result;

AUDIT_FN bool audit_certificate(audit_world *w)
{
    return audit_mech(w) &&
           mcamp_guarantee_unamplified(w->ctx, &w->mech, w->how->law, w->how->batches,
                                       w->how->sigma, w->how->delta, &w->guarantee) >= 0;
}

AUDIT_FN void audit_one_world(const audit_case *c, audit_world *w, bool with, uint64_t seed)
{
    w->with = with;
    w->seed = seed;
    w->released = false;
    for (int i = 0; i < AUDIT_SEEN; i++) w->seen[i] = 0;
    for (int i = 0; i < AUDIT_DIM; i++) w->sum[i] = w->out[i] = 0;
    memset(w->grid_sum, 0, sizeof w->grid_sum);
    memset(&w->noise, 0, sizeof w->noise);
    memset(&w->batch, 0, sizeof w->batch);
    c->run(w);
    audit_close(w);
}

/* Both worlds, until `runs` of each, or until it is clear that all is refused. */
AUDIT_FN uint64_t audit_worlds(const audit_case *c, audit_world *w, uint64_t seed, size_t runs,
                               double *seen, bool *released)
{
    for (size_t i = 0; i < runs; i++) {
        for (int with = 0; with < 2; with++) {
            audit_one_world(c, w, with, (seed * runs + i) * 2 + (uint64_t)with);
            *released |= w->released;
            for (size_t k = 0; k < AUDIT_SEEN; k++)
                seen[((size_t)with * AUDIT_SEEN + k) * runs + i] = w->seen[k];
        }
        if (i == 64 && !*released && w->violations <= 0) return i + 1;
    }
    return runs;
}

/* One case, at a share of beta.  false: no memory, or no certificate to compare with. */
AUDIT_FN bool audit_one(mcamp_ctx *ctx, const audit_case *c, uint64_t seed, size_t runs,
                        double beta, audit_result *r)
{
    audit_world w;
    double *seen;
    bool released = false, ok;
    runs *= c->times;
    seen = (double *)malloc(2 * AUDIT_SEEN * runs * sizeof *seen);
    memset(&w, 0, sizeof w);
    memset(r, 0, sizeof *r);
    w.ctx = ctx;
    w.how = &c->how;
    w.scale = 1;
    ok = seen && audit_certificate(&w);
    w.certified = w.guarantee.eps;
    if (ok) r->runs = audit_worlds(c, &w, seed, runs, seen, &released);
    r->bound.delta = c->how.delta;
    r->bound.beta = beta / (AUDIT_NCASE * AUDIT_SEEN);
    for (size_t k = 0; ok && released && k < w.count; k++) {
        audit_bound b = audit_scores(seen + (AUDIT_SEEN + k) * runs, r->runs, seen + k * runs,
                                     r->runs, c->how.delta, r->bound.beta);
        if (k == 0 || b.epsilon > r->bound.epsilon) r->bound = b;
    }
    r->certified = w.certified;
    r->violations = w.violations;
    r->verdict = w.violations > 0 ? AUDIT_CONTRADICTED
               : r->bound.epsilon > r->certified ? (c->uncovered ? AUDIT_UNCOVERED
                                                                 : AUDIT_CONTRADICTED)
               : released && w.count ? AUDIT_HOLDS : AUDIT_REFUSED;
    mcamp_mech_free(ctx, &w.mech);
    free(seen);
    return ok;
}

#endif
