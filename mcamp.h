#if __LINE__ == 1 && defined(MCAMP_IMPLEMENTATION) && !defined(MCAMP_IMPLEMENTATION_DONE)
#  define MCAMP__ALONE
#endif
/* mcamp.h - differentially private training with correlated noise, in one C
 * header: accounting, calibration and certification of matrix mechanisms under
 * balls-in-bins batching.                          SPDX-License-Identifier: MIT
 *
 * DO THIS
 *     #define MCAMP_IMPLEMENTATION
 *     #include "mcamp.h"
 * in ONE C or C++ file, include the header plainly elsewhere, link with -lm.
 * C99 or C++11 and newer; gcc, clang or any compiler with IEEE doubles; nothing
 * but libc and libm.  Plain -O2 is fast: vector kernels are picked at run time.
 *
 * QUICK START (examples/quickstart.c)
 *     #include <stdio.h>
 *     #define MCAMP_IMPLEMENTATION
 *     #include "../mcamp.h"
 *
 *     static int print(void *user, const char *text, size_t n)
 *     {
 *         return fwrite(text, 1, n, (FILE *)user) != n;
 *     }
 *
 *     int main(void)
 *     {
 *         mcamp_ctx ctx;
 *         mcamp_problem p = { 0 };
 *         mcamp_guarantee proof;
 *         mcamp_writer out = { print, stdout };
 *         p.strategy.kind = MCAMP_MECH_SQRT;      // square-root C, 64 bands
 *         p.strategy.bands = 64;
 *         p.epochs = 16;
 *         p.batches = 128;
 *         p.eps = 1;
 *         p.delta = 1e-5;
 *         if (mcamp_ctx_init(&ctx, NULL) < 0 || mcamp_problem_certify(&ctx, &p, &proof) < 0)
 *             return 1;
 *         return mcamp_report_guarantee(&proof, MCAMP_REPORT_TEXT, &out) != MCAMP_OK;
 *     }
 *
 * WHAT IT IS NOT
 *   It computes no gradients, and it cannot know whether what you clip, batch and
 *   release is what the guarantee assumes: sections batch, clip and session do that
 *   for you if you let them.  Accounting is in double precision throughout.  The
 *   random streams of section rng are for simulation; noise that is released comes
 *   from a keyed generator, never from them.  An estimate is not a certificate:
 *   the words for each are kept apart below.
 *
 * THE MODEL
 *   n rounds; round t releases (x + C^-1 z)_t, x_t the sum of clipped gradients
 *   (norm 1), z ~ N(0, sigma^2 I).  By post-processing that is as private as
 *   C x + z.  Balls in bins: every example is put into one of b batches, uniformly
 *   and independently, and takes part in rounds i, b + i, 2b + i, ...
 *   One example's presence changes N(0, sigma^2 I) =: Q into the mixture
 *   P = (1/b) sum_i N(m_i, sigma^2 I), m_i = sum_j |C|_{:, bj+i} [1, Lemma 3.2].
 *   delta_remove(eps) = E_Q (dP/dQ - e^eps)_+, delta_add(eps) = E_Q (1 - e^eps
 *   dP/dQ)_+, and delta is the larger one.  Adjacency: one example added or removed
 *   (its gradients zeroed out).
 *
 * SYMBOLS
 *   n rounds, b batches an epoch, E = n/b epochs, C strategy, m_i modes, G = M'M
 *   their Gram matrix, a = G/sigma^2, rho = dP/dQ, Y = log rho, k order of a tilted
 *   law, B range of one sample's value, eps, delta, sigma, beta (probability that a
 *   proof is wrong).
 *
 * THE DATA FLOW, which is also the order of the sections; each calls only those
 * above it.  Search for >>name.
 *   Part I, core: what a guarantee rests on
 *     base -> rng -> gauss -> vec   hooks, streams, normal law, vector kernels
 *     mech -> sens                  C; the largest norm of one example's share of C x
 *     modes                         C, b -> G: all that privacy sees of C
 *     loss -> law -> verify         G, sigma -> samples -> tallies -> bounds -> accepted
 *                                   or refused claims
 *     secure -> noise, batch        keys -> random numbers -> C^-1 z round by round; who
 *                                   takes part when
 *     clip -> session               gradients -> sums of bounded sensitivity -> a run that
 *                                   is bound to its guarantee
 *   Part II, exact: accountants without samples
 *     exact -> promise              events -> intervals -> guarantees
 *   Part III, steering and words: wrong or slow perhaps, never unsafe
 *     work, grad                    errors of C; gradients
 *     est -> calib                  estimates of delta, eps, sigma; certified sigma
 *     opt -> plan                   (eps, delta), workload -> a C of small error
 *     record -> report              guarantees -> files and back, sentences, JSON
 *
 * LEVELS, written beside the banner of each part of the declarations, or over its own
 *   easy (stable)      mcamp_problem in, mcamp_answer or mcamp_guarantee out; mcamp_plan;
 *                      mcamp_session_*; mcamp_record_*; mcamp_report_*
 *   standard (stable)  mcamp_mech_init, mcamp_gram_init, then mcamp_delta, mcamp_sigma,
 *                      mcamp_verify, mcamp_calibrate_certified, ... on the Gram matrix;
 *                      keys, noise, batches, clipping; mcamp_exact_delta, _epsilon,
 *                      _curve, _calibrate
 *   expert             samplers, tallies, sensitivities, workloads, formulas of the
 *   (experimental)     literature, mcamp_simulated_curve, mcamp_curve_bounds
 *
 * FUNCTIONS
 *   base     mcamp_ctx_init, mcamp_last_error, mcamp_parallel_threads,
 *            mcamp_strerror, mcamp_version
 *   rng      mcamp_rng_seed, mcamp_rng_stream, mcamp_rng_next, mcamp_rng_uniform
 *   gauss    mcamp_gauss_delta, mcamp_gauss_epsilon, mcamp_gauss_sigma
 *   mech     mcamp_mech_init, mcamp_mech_free, mcamp_mech_column, mcamp_mech_mul,
 *            mcamp_mech_solve, mcamp_mech_max_norm
 *   sens     mcamp_sens_fixed, mcamp_sens_minsep
 *   modes    mcamp_gram_init, mcamp_gram_from_matrix, mcamp_gram_free
 *   law      mcamp_sampler_init, mcamp_sampler_free, mcamp_sampler_run, mcamp_tally_merge,
 *            mcamp_tally_mean, mcamp_tally_std_error, mcamp_tally_upper, mcamp_tally_lower
 *   verify   mcamp_verify_sampled
 *   secure   mcamp_key_init, mcamp_key_random, mcamp_key_derive, mcamp_key_id,
 *            mcamp_key_wipe, mcamp_key_insecure_test, mcamp_wipe
 *   noise    mcamp_noise_bytes, mcamp_noise_init, mcamp_noise_free, mcamp_noise_step,
 *            mcamp_noise_next, mcamp_noise_from_grid, mcamp_noise_delta, mcamp_noise_replay,
 *            mcamp_noise_save, mcamp_noise_load
 *   batch    mcamp_batch_init, mcamp_batch_free, mcamp_batch_round, mcamp_batch_largest,
 *            mcamp_batch_cut_probability, mcamp_batch_cut_delta
 *   clip     mcamp_clip_init, mcamp_clip_begin, mcamp_clip_add, mcamp_clip_add_grid
 *   session  mcamp_guarantee_unamplified,
 *            mcamp_session_init, mcamp_session_guarantee, mcamp_session_begin,
 *            mcamp_session_add, mcamp_session_skip, mcamp_session_end,
 *            mcamp_session_end_float, mcamp_session_end_bf16, mcamp_session_share,
 *            mcamp_session_merge, mcamp_session_save, mcamp_session_load,
 *            mcamp_session_delta
 *   exact    mcamp_exact_rdp, mcamp_exact_rdp_epsilon, mcamp_exact_classical_sigma,
 *            mcamp_exact_zcdp_epsilon_simple, mcamp_exact_zcdp_epsilon,
 *            mcamp_exact_compose_advanced, mcamp_exact_compose_optimal,
 *            mcamp_exact_group_convert, mcamp_exact_laplace_amplified,
 *            mcamp_exact_laplace_errors, mcamp_exact_delta, mcamp_exact_epsilon,
 *            mcamp_exact_curve, mcamp_exact_calibrate
 *   promise  mcamp_verify, mcamp_simulated_curve, mcamp_guarantee_poisson
 *   work     mcamp_work_init, mcamp_work_free, mcamp_work_error
 *   calib    mcamp_delta, mcamp_epsilon, mcamp_sigma, mcamp_curve, mcamp_curve_bounds,
 *            mcamp_calibrate_certified, mcamp_problem_gram, mcamp_problem_delta,
 *            mcamp_problem_epsilon, mcamp_problem_sigma, mcamp_problem_verify,
 *            mcamp_problem_certify
 *   opt      mcamp_opt_run
 *   plan     mcamp_plan
 *   record   mcamp_record_write, mcamp_record_read, mcamp_guarantee_repeat
 *   report   mcamp_guarantee_answer, mcamp_guarantee_estimate, mcamp_guarantee_interval,
 *            mcamp_report_guarantee, mcamp_report_session, mcamp_report_plan
 *
 * WHAT IS CERTIFIED, WHAT IS ESTIMATED
 *   mcamp_verify, mcamp_calibrate_certified: a claim (sigma, eps, delta) fixed in
 *     advance is accepted or refused.  A false one is accepted with probability at
 *     most beta, over the samples; with beta <= delta, running the mechanism only if
 *     accepted keeps (eps, delta) [1, Theorem 2.1].  Do not try again with another
 *     seed until it passes: that multiplies beta by the number of attempts.
 *   mcamp_estimate.lower, .upper: rigorous at level beta, each.
 *   mcamp_estimate.value, .std_error, and mcamp_sigma, mcamp_epsilon: estimates;
 *     `trusted` says that the rigorous bounds back the error bar.  Orthogonal modes of
 *     few lengths (C = I; b = 1): no samples, kind INTERVAL or CLOSED, certain.
 *   sections gauss and exact: rounded to the safe side, or intervals.
 *   All in floating point: values are computed to about 1e-12, proofs leave 1e-9.
 *
 * OPTIONS, defined before the implementation
 *   MCAMP_STATIC           all functions static: private to this file
 *   MCAMP_API              your own linkage
 *   MCAMP_PTHREADS         mcamp_parallel_threads uses POSIX threads (-pthread)
 *   MCAMP_OPENMP           the same with OpenMP (-fopenmp)
 *   MCAMP_CBLAS_HEADER     <cblas.h> or your vendor's: dense products call it
 *   MCAMP_NO_STDLIB        neither <stdlib.h> nor <stdio.h>: contexts bring their
 *                          allocator, keys their entropy; no section report
 *   MCAMP_ASSERT(x)        checks of internal invariants; results never need it
 *   None changes a struct or a prototype.  -ffast-math is refused.
 *
 * YOUR PROJECT USES -Ofast, OR CHANGES THE FLOATING-POINT ENVIRONMENT
 *   Give the implementation a file of its own, compiled with -O2 -fno-fast-math (the last
 *   such flag counts); the rest of the project may keep its flags, and include the
 *   declarations.  That the link with -Ofast flushes denormals, that traps are unmasked or
 *   rounding is upwards does not matter: every call sets what it needs, and puts back what
 *   it found (x86, ARM; elsewhere traps and rounding only).  mcamp_ctx_init tells by
 *   mcamp_last_error what it could not mend.  Your callbacks run in the library's setting.
 *
 * WHAT A RUN IS SAFE FROM
 *   A session releases a round only with each of its members added once, with that round's
 *   noise, as integers on a grid: low bits and orders of sums tell nothing.  After an error
 *   nothing has been written.  Keys of one run are unrelated to those of another, saved
 *   states are encrypted and sealed.  With a ledger (>>session) no round goes out twice with
 *   different sums, whatever is restarted, rolled back, copied or killed; without one, that
 *   is your part.  Your part anyway: a secret key, a run number once, gradients that depend
 *   on nothing but their example and earlier releases.  Not covered: timing, swap files and
 *   registers, MCAMP_ARITHMETIC_FLOATING beyond rounding.
 *
 * DESCRIPTORS
 *   Zero is the default of every field that has one: start from `= { 0 }` (C) or
 *   `= {}` (C++).  Privacy parameters have no default.  The canaries at both ends
 *   must stay 0; they catch a struct that was not initialised.
 *
 * ERRORS
 *   0 done; > 0 done, but qualified; < 0 error, outputs untouched.  mcamp_last_error
 *   names the argument.  NaN and infinities are refused everywhere, by bit pattern,
 *   and a decision that meets one refuses.  The library never prints or exits.
 *
 * MEMORY AND THREADS
 *   All memory comes from the context's allocator and sizes are checked before it is
 *   asked.  Accounting needs O(b^2 + n) doubles.  No global state; one context per
 *   thread of control.  Work is split into fixed blocks with streams of their own
 *   and tallies are integers, so results have the same bits on any number of
 *   threads, processes or machines of one kind.
 *
 * DETERMINISM
 *   Random integers are the same everywhere.  Floating-point kernels agree between
 *   vector sets to a few units in the last place, so that estimates agree to about
 *   1e-12; force MCAMP_VEC_SCALAR to compare machines.
 *
 * COST at b = 128: a sample takes about a microsecond with AVX-512; delta to 1% or a
 *   certificate a few tenths of a second, at delta = 1e-5 as at 1e-12.  `make bench`
 *   measures it.
 *
 * REFERENCES
 *   [1] Choquette-Choo, Ganesh, Haque, Steinke, Thakurta. Near exact privacy
 *       amplification for matrix mechanisms. 2024.
 *   [2] Choquette-Choo et al. (Amplified) banded matrix factorization. NeurIPS 2023.
 *   [3] Wang, Mahloujifar, Wu, Jia, Mittal. A randomized approach to tight privacy
 *       accounting. NeurIPS 2023.  (estimate, verify, release)
 *   [4] Zhu, Dong, Wang. Optimal accounting of differential privacy via
 *       characteristic function. AISTATS 2022.  (dominating pairs)
 *   [5] Dvijotham, McMahan, Pillutla, Steinke, Thakurta. Efficient and near-optimal
 *       noise generation for streaming differential privacy. 2024.  (BLT)
 *   [6] Waudby-Smith, Ramdas. Estimating means of bounded random variables by
 *       betting. JRSS B 2024.
 *   [8] Asmussen, Kroese. Improved algorithms for rare event simulation with heavy
 *       tails. Adv. Appl. Prob. 2006.
 *
 * STABILITY: 0.x: what is marked experimental under LEVELS may change at any time, the
 * rest only with a line below.  Certified bounds may only get tighter.  The licence (MIT)
 * is in the file LICENSE and at the end of this one.
 *
 * CHANGELOG
 *   0.3  Sessions: the lattice is the default (arithmetic, grid_sum) and delta_num bounds its
 *        numerics; a run has a number and subkeys of all that it has agreed on;
 *        mcamp_session_save, _load, _skip, _share, _merge, _end_float, _end_bf16; a ledger.
 *        Saved states have a seal: those of 0.2 are not read.  Rows regenerated in FLOAT on
 *        the lattice are refused.
 *        mcamp_noise_next_float, _add, _add_float, _add_grid -> mcamp_noise_next with a
 *        mcamp_noise_out; mcamp_noise_delta.
 *        mcamp_guarantee_estimate takes C and the optimiser's result, _interval a level.
 *        Without amplification the optimiser finds C of entries of both signs, and a bound.
 *        JSON: account's pictures hold a list of guarantees; laplace-limit noise_ratio.
 *        The host's floating-point environment is set and restored by every call.
 *   0.2  mcamp_statement, mcamp_basis and the old mcamp_guarantee are one object,
 *        mcamp_guarantee, which verification, plans, estimates and accountants fill.
 *        mcamp_report_answer, _statement, _statement_text, _plan_text and _session_text
 *        -> mcamp_report_guarantee, _plan and _session with a format, text or JSON.
 *        mcamp_guarantee_bins, _plan: gone, what mcamp_verify and mcamp_plan return is
 *        ready for a session.  JSON: strategy_digest is of C, gram_digest of G.
 *        Tool: curves of account are lists of guarantees in JSON, value of laplace-limit
 *        is the noise, and noise_ratio what was its value.
 *        mcamp_grid_*: gone; pairs, sampled laws, balls in bins in compositions are events
 *        of mcamp_exact_*; mcamp_grid_bins -> mcamp_simulated_curve.
 *        mcamp_plan_desc.n, mcamp_opt_desc.n -> rounds; any two of rounds, batches, epochs.
 *        mcamp_session_add takes the example's index, and a round ends only with all of
 *        its members.  Groups of cyclic Poisson sampling: zero-out adjacency.  Grids that
 *        noise could leave are refused; a stream knows its session, which may not be copied.
 *        Functions that only tests called are gone: second ways to multiply and to invert
 *        C, gauss distribution functions, jumps of the simulation's generator, weaker
 *        bounds of tallies, mcamp_renyi, keyed normals outside a stream, single questions
 *        to batches, factors of clipping, going back in noise. New: mcamp_record_*,
 *        mcamp_verify_sampled.
 */
#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#  error "mcamp.h: needs C99 (-std=c99) or C++11: a project in ISO C90 includes it in a file \
of its own that is compiled so"
#else                                   /* (the last line of this file ends it) */

#ifndef MCAMP_H_INCLUDED
#define MCAMP_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCAMP_VERSION_MAJOR 0
#define MCAMP_VERSION_MINOR 3
#define MCAMP_VERSION_PATCH 0
#define MCAMP_VERSION \
    (MCAMP_VERSION_MAJOR * 10000 + MCAMP_VERSION_MINOR * 100 + \
     MCAMP_VERSION_PATCH)
#define MCAMP_VERSION_TEXT "0.3.0"

#ifndef MCAMP_API
#  ifdef MCAMP_STATIC
#    if defined(__GNUC__) || defined(__clang__)
#      define MCAMP_API __attribute__((unused)) static
#    else
#      define MCAMP_API static
#    endif
#  else
#    define MCAMP_API extern
#  endif
#endif

/* (In macros, since cscope takes a brace in an #ifdef for a function's.) */
#ifdef __cplusplus
#  define MCAMP_EXTERN_C extern "C" {
#  define MCAMP_EXTERN_C_END }
#else
#  define MCAMP_EXTERN_C
#  define MCAMP_EXTERN_C_END
#endif
MCAMP_EXTERN_C

/* ######################################################################## *
 *  PART I: CORE                                  what a guarantee rests on
 *                                                                   (decl)
 * ######################################################################## */

/* ======================================================================== *
 *  BASE: status, context, hooks                    standard  (decl) base
 * ======================================================================== */

/* Every function that can fail returns a mcamp_status:
 *   0    done;
 *   > 0  done, but qualified: read the text, the outputs are valid;
 *   < 0  error: no output was touched (unless the function's comment says that
 *        it was set to an unsafe-to-use sentinel: delta 1, sigma infinity,
 *        accepted false).                                                    */
#define MCAMP_STATUS_LIST(X) \
    X(MCAMP_OK, 0, "done") \
    X(MCAMP_Q_MAX_ITER, 1, "stopped at the iteration limit") \
    X(MCAMP_Q_BUDGET, 2, "stopped at the sample budget before a decision") \
    X(MCAMP_Q_UNTRUSTED, 3, "too few decisive samples: do not trust the error bar") \
    X(MCAMP_Q_VACUOUS, 4, "sound but useless: the bound says nothing") \
    X(MCAMP_Q_UNAMPLIFIED, 5, "only the unamplified bound could be certified") \
    X(MCAMP_Q_INTERRUPTED, 6, "stopped by the progress callback") \
    X(MCAMP_Q_REFUSED, 7, "the claim was not certified") \
    X(MCAMP_E_ARG, -1, "argument out of range") \
    X(MCAMP_E_NONFINITE, -2, "argument is NaN or infinite") \
    X(MCAMP_E_REQUIRED, -3, "required argument is missing") \
    X(MCAMP_E_SIZE, -4, "size is zero, inconsistent, or overflows") \
    X(MCAMP_E_MEMORY, -5, "out of memory") \
    X(MCAMP_E_CANARY, -6, "descriptor was not zero-initialised") \
    X(MCAMP_E_STRATEGY, -7, "C is not a valid lower-triangular strategy") \
    X(MCAMP_E_NOT_PSD, -8, "Gram matrix is not positive semidefinite") \
    X(MCAMP_E_SAMPLE, -9, "a sample was not finite") \
    X(MCAMP_E_FPENV, -10, "floating-point environment breaks the guarantees") \
    X(MCAMP_E_MISMATCH, -11, "objects do not belong together") \
    X(MCAMP_E_INFEASIBLE, -12, "no value satisfies the request") \
    X(MCAMP_E_INTERNAL, -13, "internal invariant failed") \
    X(MCAMP_E_ENTROPY, -14, "the source of random keys failed") \
    X(MCAMP_E_BLOB, -15, "saved state is damaged, or of another version") \
    X(MCAMP_E_STEP, -16, "step was already released, or is out of order") \
    X(MCAMP_E_LEDGER, -17, "the ledger did not accept the round")

typedef enum mcamp_status {
#define MCAMP__X(name, value, text) name = value,
    MCAMP_STATUS_LIST(MCAMP__X)
#undef MCAMP__X
    MCAMP_STATUS_FORCE_INT = 0x7fffffff
} mcamp_status;

/* What went wrong last: a status, the name of the argument or of the field as its
 * declaration spells it, the offending value (0 if it is not a number).  Static
 * strings only.                                                              */
typedef struct mcamp_error {
    mcamp_status status;
    const char *argument;
    double value;
} mcamp_error;

/* Allocator: both functions or neither (then malloc and free). */
typedef struct mcamp_alloc {
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *p, size_t size);
    void *user;
} mcamp_alloc;

/* Parallel hook: run task(arg, i) for i = 0 .. ntask-1, in any order, on any
 * threads, and return when all are done.  NULL means a plain loop.  Results
 * never depend on it: task i writes only its own slot.                       */
typedef struct mcamp_parallel {
    void (*run)(void *user, size_t ntask, void (*task)(void *arg, size_t i),
                void *arg);
    size_t width;       /* how many tasks run at once; 0 = 1 */
    void *user;
} mcamp_parallel;

/* Progress hook: called from the calling thread between batches of work with
 * the fraction done (0..1; < 0 = unknown) and the best value so far.  A
 * non-zero return stops the work (status MCAMP_Q_INTERRUPTED).               */
typedef struct mcamp_progress {
    int (*fn)(void *user, double fraction, double best);
    void *user;
} mcamp_progress;

/* Which of the two hockey-stick divergences between the runs with (P) and
 * without (Q) the example: delta_remove = H(P||Q), delta_add = H(Q||P).  A
 * guarantee needs both.                                                      */
typedef enum mcamp_direction {
    MCAMP_BOTH   = 0,           /* the larger of the two */
    MCAMP_REMOVE = 1,
    MCAMP_ADD    = 2,
    MCAMP_DIRECTION_FORCE_INT = 0x7fffffff
} mcamp_direction;

/* Kernel set: picked at run time unless forced. */
typedef enum mcamp_vecset {
    MCAMP_VEC_DEFAULT = 0,  /* the best that this processor has          */
    MCAMP_VEC_SCALAR  = 1,  /* portable baseline                         */
    MCAMP_VEC_AVX2    = 2,  /* x86-64 with AVX2 and FMA                  */
    MCAMP_VEC_AVX512  = 3   /* x86-64 with AVX-512 F, DQ                 */
} mcamp_vecset;

typedef struct mcamp_ctx_desc {
    uint32_t start_canary;      /* must be 0                                 */
    mcamp_alloc alloc;
    mcamp_parallel parallel;
    mcamp_progress progress;
    mcamp_vecset vec;           /* 0 = best; an unavailable set is an error  */
    uint32_t end_canary;        /* must be 0                                 */
} mcamp_ctx_desc;

/* Owned by the caller; one per thread of control.  Treat as opaque. */
typedef struct mcamp_ctx {
    uint32_t magic;
    mcamp_vecset vec;
    mcamp_alloc alloc;
    mcamp_parallel parallel;
    mcamp_progress progress;
    mcamp_error err;
} mcamp_ctx;

/* Initialises a context (desc may be NULL) and checks the floating-point
 * environment: rounding to nearest, no excess precision, no reassociation,
 * denormals kept.  MCAMP_E_FPENV if any of these fails; the error's argument says
 * which, and what to do.  A context whose init failed holds the error, for
 * mcamp_last_error, and is refused everywhere else.                             */
MCAMP_API mcamp_status mcamp_ctx_init(mcamp_ctx *ctx, const mcamp_ctx_desc *desc);
MCAMP_API mcamp_error mcamp_last_error(const mcamp_ctx *ctx);
/* A ready parallel hook of `width` threads: POSIX threads if the implementation
 * was compiled with MCAMP_PTHREADS defined (link -pthread), OpenMP with
 * MCAMP_OPENMP (compile with -fopenmp), else an empty hook, a plain loop.  It
 * holds no state: threads live for one call.                                 */
MCAMP_API mcamp_parallel mcamp_parallel_threads(size_t width);
/* Never NULL, whatever the argument. */
MCAMP_API const char *mcamp_strerror(mcamp_status status);
MCAMP_API int mcamp_version(void);

/* ======================================================================== *
 *  RANDOM NUMBERS: seeded streams for simulation   expert    (decl) rng
 * ======================================================================== */

/* xoshiro256++.  FOR SIMULATION ONLY: fast, equidistributed and predictable.
 * Noise that is released must come from a cryptographic generator instead.
 * Everything here is a pure function of its arguments: no global state, no
 * clock.  A NULL generator does nothing and gives 0.                         */
typedef struct mcamp_rng { uint64_t s[4]; } mcamp_rng;

/* The four words of state are splitmix64's first four outputs for the seed. */
MCAMP_API void mcamp_rng_seed(mcamp_rng *r, uint64_t seed);
/* Stream number `block` of a purpose.  Streams that differ in purpose only or
 * in block only never share a state; others coincide with odds of 2^-256.
 * Purposes below 65536 are the library's own.                                */
MCAMP_API void mcamp_rng_stream(mcamp_rng *r, uint64_t seed, uint32_t purpose,
                                uint64_t block);
MCAMP_API uint64_t mcamp_rng_next(mcamp_rng *r);
/* An odd multiple of 2^-53 in the open interval (0, 1), uniform. */
MCAMP_API double mcamp_rng_uniform(mcamp_rng *r);

/* ======================================================================== *
 *  GAUSS: normal distribution, Gaussian mechanism  standard  (decl) gauss
 * ======================================================================== */

/* The Gaussian mechanism.  Results are rounded to the safe side:
 * delta, eps and sigma are never below the exact value of the real-number
 * formula, and above it by less than 1e-12 relative (delta: 1e-12 as long as
 * delta > 1e-300; below that it is the smallest normal double).               */
MCAMP_API mcamp_status mcamp_gauss_delta(mcamp_ctx *ctx, double sigma,
                                         double sensitivity, double eps,
                                         double *delta);
MCAMP_API mcamp_status mcamp_gauss_epsilon(mcamp_ctx *ctx, double sigma,
                                           double sensitivity, double delta,
                                           double *eps);
MCAMP_API mcamp_status mcamp_gauss_sigma(mcamp_ctx *ctx, double sensitivity,
                                         double eps, double delta, double *sigma);

/* ======================================================================== *
 *  STRATEGIES: the matrix C                        standard  (decl) mech
 * ======================================================================== */

/* C is n x n and lower-triangular with a positive diagonal; the mechanism
 * releases C x + z, so that round t gets the noise (C^-1 z)_t.  C belongs to
 * the privacy statement: it has no default, and it is used as given unless
 * `normalize` is set.                                                        */
typedef enum mcamp_mech_kind {
    MCAMP_MECH_UNSET    = 0,    /* refused                                    */
    MCAMP_MECH_IDENTITY = 1,
    MCAMP_MECH_TOEPLITZ = 2,    /* C_ij = coef[i-j], 0 from `count` on        */
    MCAMP_MECH_SQRT     = 3,    /* Toeplitz, c_k = c_{k-1} (2k-1)/(2k), cut
                                   to `bands` (0 = all n)                     */
    MCAMP_MECH_BANDED   = 4,    /* rows of at most `bands` entries            */
    MCAMP_MECH_BLT      = 5,    /* Toeplitz, c_0 = 1 and
                                   c_k = sum_j omega[j] theta[j]^(k-1)        */
    MCAMP_MECH_DENSE    = 6,    /* row-major n x n, zero above the diagonal;
                                   bands that are all zero are not stored     */
    MCAMP_MECH_INVERSE  = 7,    /* C^-1 is Toeplitz with coefficients coef    */
    MCAMP_MECH_INVERSE_SQRT = 8,/* C^-1 is Toeplitz: those of (1-x)^(1/2) cut
                                   to `bands` (0 = all n: the same as SQRT)   */
    MCAMP_MECH_TREE     = 9,    /* binary tree with its optimal decoder, nodes
                                   that are complete within n; O(n^2) memory:
                                   C^T C counts the nodes over both rounds    */
    MCAMP_MECH_TREE_PADDED = 10 /* the tree of the next power of two, each of
                                   its nodes cut at n                         */
} mcamp_mech_kind;

#define MCAMP_MAX_BUFFERS 64    /* of a BLT: state fits the stack             */

typedef struct mcamp_mech_desc {
    uint32_t start_canary;      /* must be 0                                  */
    mcamp_mech_kind kind;       /* required                                   */
    size_t n;                   /* rounds; required                           */
    size_t bands;               /* SQRT, INVERSE_SQRT: 0 = all; BANDED:
                                   required                                   */
    const double *coef;         /* TOEPLITZ: c_0 ..; INVERSE: those of C^-1;
                                   DENSE: n*n; BANDED: row i
                                   holds columns max(0, i-bands+1) .. i, rows
                                   one after another without gaps             */
    size_t count;               /* number of values in coef, checked          */
    const double *theta;        /* BLT: `buffers` decays in [0, 1]            */
    const double *omega;        /* BLT: `buffers` weights                     */
    size_t buffers;
    const double *scale;        /* n factors > 0, column j times scale[j];
                                   NULL = none                                */
    bool normalize;             /* divide by the largest column norm          */
    uint32_t end_canary;        /* must be 0                                  */
} mcamp_mech_desc;

/* How C is held, whatever it was made from. */
typedef enum mcamp_mech_form {
    MCAMP_FORM_TOEPLITZ = 1,    /* coef[0 .. bands-1]                         */
    MCAMP_FORM_BLT      = 2,    /* diag, theta, omega                         */
    MCAMP_FORM_ROWS     = 3     /* packed rows, as MCAMP_MECH_BANDED          */
} mcamp_mech_form;

/* Read the fields, do not write them. */
typedef struct mcamp_mech {
    uint32_t magic;
    mcamp_mech_kind kind;
    mcamp_mech_form form;
    bool negative;              /* some entry of C is below 0                 */
    size_t n;
    size_t bands;               /* C_ij = 0 for i - j >= bands, 1 <= bands <= n */
    size_t buffers;             /* BLT; else 0                                */
    double diag;                /* BLT: c_0 (1 unless normalized); else 0     */
    double *coef;               /* `count` values, NULL for a BLT             */
    size_t count;
    double *theta, *omega;      /* `buffers` values, NULL but for a BLT       */
    double *inverse;            /* `inverse_bands` coefficients of T^-1, for
                                   the INVERSE kinds; else NULL               */
    size_t inverse_bands;
    double *scale;              /* n column factors or NULL (never with ROWS,
                                   where they are multiplied in)              */
    uint64_t digest;            /* of kind, n and values; the same on every
                                   machine; no protection against forgery     */
} mcamp_mech;

/* Copies everything it needs; desc can go.  Free with mcamp_mech_free.
 * Errors: MCAMP_E_NONFINITE, MCAMP_E_ARG (a magnitude above 1e100),
 * MCAMP_E_SIZE, MCAMP_E_STRATEGY (diagonal not positive, an entry above the
 * diagonal, theta outside [0, 1]); mech is written only on success.
 * Memory: the values given (BLT: 2 * buffers; DENSE: n (n+1) / 2).           */
MCAMP_API mcamp_status mcamp_mech_init(mcamp_ctx *ctx, const mcamp_mech_desc *desc,
                                       mcamp_mech *mech);
/* Also for an object that is all zero, and twice. */
MCAMP_API void mcamp_mech_free(mcamp_ctx *ctx, mcamp_mech *mech);
/* out[n] = column j of C. */
MCAMP_API mcamp_status mcamp_mech_column(mcamp_ctx *ctx, const mcamp_mech *mech,
                                         size_t j, double *out);
/* out[n] = C v and out[n] = C^-1 v; out may be v.  Cost: O(n bands), O(n
 * buffers) for a BLT.  MCAMP_E_NONFINITE if v has such an entry or the result
 * overflows (then out is spoilt).  Nothing is allocated.                     */
MCAMP_API mcamp_status mcamp_mech_mul(mcamp_ctx *ctx, const mcamp_mech *mech,
                                      const double *v, double *out);
MCAMP_API mcamp_status mcamp_mech_solve(mcamp_ctx *ctx, const mcamp_mech *mech,
                                        const double *v, double *out);
/* The largest Euclidean norm of a column; relative error below 1e-14. */
MCAMP_API mcamp_status mcamp_mech_max_norm(mcamp_ctx *ctx, const mcamp_mech *mech,
                                           double *out);

/* ======================================================================== *
 *  SENSITIVITY                                     expert    (decl) sens
 * ======================================================================== */

/* Sensitivity without amplification, for rows of norm at most 1. */
typedef struct mcamp_sens {
    double value;
    bool exact;                 /* else an upper bound                        */
} mcamp_sens;

/* At most k participations, exactly b rounds apart ((k,b)-participation). */
MCAMP_API mcamp_status mcamp_sens_fixed(mcamp_ctx *ctx, const mcamp_mech *mech,
                                        size_t k, size_t b, mcamp_sens *out);
/* At most k participations, at least b rounds apart (b-min-sep): exact for at
 * most b bands, and for Toeplitz C >= 0 whose coefficients do not increase from c_b
 * on, column factors not increasing either; otherwise an upper bound, O(n^2 k).  */
MCAMP_API mcamp_status mcamp_sens_minsep(mcamp_ctx *ctx, const mcamp_mech *mech,
                                         size_t k, size_t b, mcamp_sens *out);

/* ======================================================================== *
 *  MODES AND THEIR GRAM MATRIX                     standard  (decl) modes
 * ======================================================================== */

/* Balls in bins with b batches an epoch: an example in bin i takes part in
 * rounds i, b+i, 2b+i, ... < n; it moves the release by at most the mode
 *     m_i = sum over those rounds j of |C| column j        (absolute values).
 * The privacy loss sees C only through G = M^T M, b x b.  b need not divide n;
 * for b > n the modes i >= n are zero vectors: that example never takes part. */
typedef enum mcamp_gram_kind {
    MCAMP_GRAM_DIAGONAL = 1,    /* g holds the b diagonal entries             */
    MCAMP_GRAM_BANDED   = 2,    /* periodic band: zero where the distance of i
                                   and j around the circle of b exceeds width */
    MCAMP_GRAM_DENSE    = 3
} mcamp_gram_kind;

/* Read the fields, do not write them. */
typedef struct mcamp_gram {
    uint32_t magic;
    mcamp_gram_kind kind;
    size_t b;
    size_t n;                   /* rounds; 0 if the user gave the matrix      */
    size_t width;               /* half-width: 0 diagonal; dense: b/2         */
    double *g;                  /* `count` values: b if DIAGONAL, else b*b
                                   row-major, both triangles                  */
    size_t count;
    double max_norm;            /* sqrt(max_i G_ii): the largest mode's norm,
                                   the sensitivity without amplification      */
    bool negative;              /* C had entries below 0, so |C| was used     */
    uint64_t digest;            /* of C's digest, n and b, or of the matrix   */
    uint64_t strategy_digest;   /* C's; 0 if the user gave the matrix         */
} mcamp_gram;

/* G of C at b batches an epoch.  Entries have a relative error below 1e-13 (with
 * a scaled BLT n/b roundings more); all sums are of non-negative terms, in blocks,
 * compensated.
 * Cost: Toeplitz of w bands: O(b (w + b)), at most O(n b); BLT of d buffers O(n b);
 * with column scaling and weights >= 0 O(n b d); else O(n min(w, b)^2), at most
 * O(n^2 + n b^2).  Memory: O(b^2), plus O(n d) for BLT and full Toeplitz.
 * MCAMP_E_MEMORY, MCAMP_E_SIZE.                                              */
MCAMP_API mcamp_status mcamp_gram_init(mcamp_ctx *ctx, const mcamp_mech *mech,
                                       size_t b, mcamp_gram *gram);
/* G as given: b x b row-major, finite, symmetric to 1e-12 (it is averaged with
 * its transpose), positive semidefinite up to rounding (MCAMP_E_NOT_PSD), with
 * no entry below 0 (MCAMP_E_ARG): modes of |C| have non-negative inner
 * products, and the domination by column sums of |C| holds for these only.
 * You answer for G being the Gram matrix of your modes.                      */
MCAMP_API mcamp_status mcamp_gram_from_matrix(mcamp_ctx *ctx, const double *g,
                                              size_t b, mcamp_gram *gram);
MCAMP_API void mcamp_gram_free(mcamp_ctx *ctx, mcamp_gram *gram);

/* ======================================================================== *
 *  LAWS, TALLIES, BOUNDS                           expert    (decl) law
 * ======================================================================== */

/* How the samples are drawn.  Every method is unbiased; they differ in
 * variance and in the proven range of one sample's value (section law).      */
typedef enum mcamp_method {
    MCAMP_METHOD_DEFAULT = 0,  /* chosen: by range for proofs, by a pilot's
                                * variance for estimates                      */
    MCAMP_METHOD_PLAIN   = 1,  /* Algorithm 2 of [1]: range 1                 */
    MCAMP_METHOD_TILTED  = 2,  /* order-k tilted law, remove only             */
    MCAMP_METHOD_COMMON  = 3,  /* order-k tilted law across the common
                                * direction, exact integral along it          */
    MCAMP_METHOD_MODE    = 4,  /* exact integral along the largest mode; no
                                * proven range: estimates only; remove only   */
    MCAMP_METHOD_EXACT   = 5   /* in results: without samples, by a closed form
                                * or section exact                            */
} mcamp_method;

/* What a set of samples leaves behind.  Tallies merge by adding integers, so
 * the result is the same however the blocks were split over threads, processes
 * or machines; the struct is plain data of a fixed layout.                    */
#define MCAMP_TALLY_BINS 400
typedef struct mcamp_tally {
    uint64_t count;         /* samples                                        */
    uint64_t poisoned;      /* samples that were not finite, or out of range  */
    mcamp_direction direction;
    mcamp_method method;
    uint64_t order;         /* k */
    double sigma, eps;
    double log_scale;       /* log of the value that counts as 1              */
    double log_range;       /* log of the proven range; infinite: unproven    */
    uint64_t n[MCAMP_TALLY_BINS];   /* how many values fell in bin i           */
    uint64_t lo[MCAMP_TALLY_BINS];  /* their sum, in units of 2^-64 of scale,  */
    uint64_t hi[MCAMP_TALLY_BINS];  /* each value rounded up: low, high words  */
} mcamp_tally;

typedef struct mcamp_sampler_desc {
    uint32_t start_canary;      /* must be 0                                  */
    mcamp_direction direction;  /* REQUIRED: remove or add                    */
    mcamp_method method;        /* 0 = the smallest proven range              */
    double sigma;               /* REQUIRED                                   */
    double eps;                 /* >= 0                                       */
    size_t order;               /* k; 0 = the k of smallest range             */
    double stickiness;          /* TILTED, COMMON (remove): c of the sticky
                                   law; 0 = none                              */
    uint32_t end_canary;        /* must be 0                                  */
} mcamp_sampler_desc;

/* One (Gram matrix, sigma, eps, direction, method, k), ready to draw from.
 * Treat as opaque; it keeps no reference to the Gram matrix.                  */
typedef struct mcamp_sampler {
    struct mcamp__sampler *impl;
} mcamp_sampler;

#define MCAMP_BLOCK 1024        /* samples in a block, the unit of work */

MCAMP_API mcamp_status mcamp_sampler_init(mcamp_ctx *ctx, const mcamp_gram *gram,
                                          const mcamp_sampler_desc *desc,
                                          mcamp_sampler *sampler);
MCAMP_API void mcamp_sampler_free(mcamp_ctx *ctx, mcamp_sampler *sampler);
/* Adds blocks first .. first+blocks-1 of the estimation stream of this seed to
 * the tally.  A tally must be zeroed, or come from an equal sampler.          */
MCAMP_API mcamp_status mcamp_sampler_run(mcamp_ctx *ctx, const mcamp_sampler *sampler,
                                         uint64_t seed, uint64_t first,
                                         uint64_t blocks, mcamp_tally *tally);

/* into += from.  MCAMP_E_MISMATCH if they are not of one sampler. */
MCAMP_API mcamp_status mcamp_tally_merge(mcamp_ctx *ctx, mcamp_tally *into,
                                         const mcamp_tally *from);
MCAMP_API double mcamp_tally_mean(const mcamp_tally *t);
/* Sample standard error; says nothing about values that were never drawn. */
MCAMP_API double mcamp_tally_std_error(const mcamp_tally *t);
/* Rigorous one-sided bounds at error probability beta (fixed sample size).
 * They are 1 (or 0) where nothing can be said: unproven range, poisoned.
 * betting: wealth averaged over a fixed grid of stakes, see section law.      */
MCAMP_API double mcamp_tally_upper(const mcamp_tally *t, double beta);
MCAMP_API double mcamp_tally_lower(const mcamp_tally *t, double beta);

/* ======================================================================== *
 *  GUARANTEES: what is known, and how well         standard  (decl) verify
 * ======================================================================== */

/* An answer together with what is certain about it: lower <= truth <= upper,
 * discretisation, truncation and rounding errors included.                    */
typedef struct mcamp_interval { double lower, upper; } mcamp_interval;

/* The law by which batches are drawn belongs to the privacy statement: accounting
 * for one law and drawing by another is the commonest bug of the field.  Round t
 * has t mod b as its place in the cycle of b rounds (`batches`).              */
typedef enum mcamp_batch_law {
    MCAMP_BATCH_UNSET   = 0,    /* refused                                    */
    MCAMP_BATCH_BINS    = 1,    /* balls in bins: every example in one of b
                                   bins, uniformly and independently; bin
                                   t mod b is the batch of round t: sections
                                   est and calib                              */
    MCAMP_BATCH_POISSON = 2,    /* example e, of group e mod b, is taken in the
                                   rounds of its group with probability q, anew
                                   each time: MCAMP_EVENT_BANDMF for C of at most
                                   b bands; b = 1: MCAMP_EVENT_POISSON         */
    MCAMP_BATCH_FIXED   = 3,    /* exactly `size` examples of the round's group,
                                   every subset alike: [2], Algorithm 2       */
    MCAMP_BATCH_MINSEP  = 4,    /* every example that was not taken in the last
                                   b - 1 rounds is taken with probability q   */
    MCAMP_BATCH_SHUFFLE = 5     /* one random order, cut into b batches of equal
                                   size, the same in every epoch.  NOT AMPLIFIED:
                                   account for it by mcamp_sens_fixed without
                                   sampling, never as if it were BINS          */
} mcamp_batch_law;

/* One claim: the mechanism with this Gram matrix and sigma is (eps, delta)-DP
 * under zero-out / add-or-remove adjacency of one example.                    */
typedef struct mcamp_claim {
    uint32_t start_canary;      /* must be 0                                   */
    double sigma, eps, delta;   /* REQUIRED                                    */
    double beta;                /* REQUIRED: probability of a false acceptance */
    uint64_t seed;
    uint64_t rung;              /* 0; to repeat a proof: its guarantee's       */
    uint64_t max_samples;       /* per direction; 0 = 2^26                     */
    mcamp_direction direction;  /* 0 = both                                    */
    uint32_t end_canary;        /* must be 0                                   */
} mcamp_claim;

/* What kind of knowledge. */
typedef enum mcamp_guarantee_kind {
    MCAMP_KIND_NONE     = 0,    /* nothing is claimed: refused, or undecided   */
    MCAMP_KIND_ESTIMATE = 1,    /* means of samples with standard errors       */
    MCAMP_KIND_VERIFIED = 2,    /* a claim that was accepted: mcamp_verify     */
    MCAMP_KIND_INTERVAL = 3,    /* certain ends: section exact                 */
    MCAMP_KIND_CLOSED   = 4     /* a formula: the Gaussian mechanism           */
} mcamp_guarantee_kind;

/* Which of the numbers was asked for; a claim asks for none. */
typedef enum mcamp_quantity {
    MCAMP_ASK_NONE  = 0,
    MCAMP_ASK_DELTA = 1,
    MCAMP_ASK_EPS   = 2,
    MCAMP_ASK_SIGMA = 3,
    MCAMP_ASK_Q     = 4,
    MCAMP_ASK_COUNT = 5,
    MCAMP_ASK_UNIT  = 6
} mcamp_quantity;

/* Which two data sets are compared.  Where one example's presence moves others into
 * other batches (sizes are fixed, or a cut is not paid for in delta), only runs in
 * which it stays, with gradient zero, can be.                                   */
typedef enum mcamp_adjacency {
    MCAMP_ADJACENT_UNSET      = 0,
    MCAMP_ADJACENT_ADD_REMOVE = 1,  /* with and without it; zero-out too       */
    MCAMP_ADJACENT_ZERO_OUT   = 2   /* with it and with its gradients zero     */
} mcamp_adjacency;

/* The arithmetic in which sums and noise are released. */
typedef enum mcamp_arithmetic {
    MCAMP_ARITHMETIC_DEFAULT  = 0,  /* guarantees: ideal; sessions: LATTICE    */
    MCAMP_ARITHMETIC_LATTICE  = 1,  /* integers: multiples of a grid           */
    MCAMP_ARITHMETIC_FLOATING = 2   /* up to rounding: that low bits tell more
                                       than the guarantee says is not covered  */
} mcamp_arithmetic;

/* One direction: how it was decided or estimated.  Method 0: it was not asked for. */
typedef struct mcamp_proof {
    bool accepted;
    mcamp_method method;        /* EXACT: a bound without samples              */
    uint64_t order;
    double range;               /* proven range of one value                   */
    double bound;               /* claims, EXACT: an upper bound of delta      */
    double stake;               /* lambda of the betting test, from the pilot  */
    double log_wealth;          /* accepted when >= log(1/beta of direction)   */
    double value, std_error;    /* estimates of delta                          */
    double lower, upper;        /* estimates, intervals: of delta              */
    uint64_t samples;
} mcamp_proof;

/* Everything that a sentence about privacy needs: the one object that verification,
 * accountants, plans and estimates fill, that a session takes, and that section
 * report turns into words.  Read the fields, do not write them.
 * kind VERIFIED, INTERVAL, CLOSED with `accepted`: sigma, eps and delta hold together
 * in the directions named.  VERIFIED: had the claim been false, it would have been
 * accepted with probability at most beta over the samples (where any were drawn).  */
typedef struct mcamp_guarantee {
    uint32_t magic;
    int version;                /* of the library that made it                 */
    mcamp_guarantee_kind kind;
    bool accepted;              /* false: nothing is claimed (kind NONE), or an
                                   estimate                                    */
    bool interrupted;           /* stopped before it was decided               */
    mcamp_quantity asked;
    mcamp_direction direction;  /* all that is said is about these             */
    mcamp_adjacency adjacency;
    mcamp_batch_law law;        /* 0: no batches (a list of events)            */
    uint64_t unit;              /* examples that differ: 1, or a group         */
    uint64_t rounds, batches;   /* n, b; 0: unknown                            */
    uint64_t epochs;            /* most participations of one example          */
    uint64_t examples;          /* size of the data set, where it matters      */
    uint64_t count;             /* uses of an event, where they were asked for */
    double sigma, eps, delta;
    double q;                   /* POISSON: sampling probability               */
    double sensitivity;         /* in units of the clipping norm; 0: unknown   */
    double beta;                /* the level; 0: certain                       */
    uint64_t points;            /* numbers that the level covers at once, such
                                   as those of a curve; 1: this one            */
    double std_error;           /* estimates: of what was asked for            */
    double lower, upper;        /* INTERVAL: of what was asked for; ESTIMATE:
                                   rigorous bounds of delta, each at level beta */
    double unamplified;         /* what was asked for, without amplification   */
    mcamp_proof remove, add;
    uint64_t seed, samples, max_samples;
    uint64_t rung, rungs;       /* of a ladder: accepted at, number tried      */
    uint64_t strategy_digest;   /* of C; 0: unknown                            */
    uint64_t gram_digest;       /* of G; 0: none                               */
    mcamp_arithmetic arithmetic;    /* these five: of a session's run          */
    double grid;                /* LATTICE: what is released is a multiple     */
    double delta_num;           /* what its arithmetic adds to delta at most; it
                                   is infinite where that is not known, or 1
                                   and more: the rest is for ideal arithmetic  */
    uint64_t run;
    bool ledger;                /* it asks one before each release             */
} mcamp_guarantee;

/* Accepts or refuses one fixed claim with fresh samples.  MCAMP_OK: accepted;
 * MCAMP_Q_REFUSED, _BUDGET or _INTERRUPTED: not accepted.  An error after the
 * arguments were found good leaves out->accepted false.  None are drawn where the
 * bound without amplification suffices.                                        */
MCAMP_API mcamp_status mcamp_verify_sampled(mcamp_ctx *ctx, const mcamp_gram *gram,
                                            const mcamp_claim *claim,
                                            mcamp_guarantee *out);
/* ======================================================================== *
 *  SECURE: keys and the noise that is released     standard  (decl) secure
 * ======================================================================== */

/* A secret of 32 bytes, from which all noise and all batches of a run follow:
 * who knows it can subtract the noise.  There is no default key.  A session's streams
 * have subkeys of the key, the run's number and all that was agreed on (C, sigma,
 * clipping, grid, dimension, law, population ..), a stream without a session of the
 * key, C, sigma, clipping, grid and dimension: what differs in any of these is
 * unrelated.  The same noise on two data sets cancels in their difference.     */
typedef struct mcamp_key { unsigned char byte[32]; } mcamp_key;

/* Fills out[0 .. size-1] with random bytes that nobody can predict; returns 0 if
 * it did, anything else if it could not.                                      */
typedef struct mcamp_entropy_source {
    int (*fill)(void *user, void *out, size_t size);
    void *user;
} mcamp_entropy_source;

/* A fresh key from the source, or if that is NULL from the system (getrandom, else
 * /dev/urandom).  MCAMP_E_ENTROPY if it fails: there is no other resort.       */
MCAMP_API mcamp_status mcamp_key_random(mcamp_ctx *ctx,
                                        const mcamp_entropy_source *source,
                                        mcamp_key *key);
/* A key from your 32 bytes (size says so); MCAMP_E_REQUIRED if all are alike. */
MCAMP_API mcamp_status mcamp_key_init(mcamp_ctx *ctx, const void *bytes, size_t size,
                                      mcamp_key *key);
/* Key number index < 2^63 of a family: one for each run, say.  It tells nothing
 * about its parent or its siblings.                                           */
MCAMP_API mcamp_status mcamp_key_derive(mcamp_ctx *ctx, const mcamp_key *key,
                                        uint64_t index, mcamp_key *out);
/* FOR TESTS ONLY: anybody can guess it. */
MCAMP_API void mcamp_key_insecure_test(uint64_t seed, mcamp_key *key);
/* A number by which to recognise the key; tells nothing about it.  0: no key.  */
MCAMP_API uint64_t mcamp_key_id(const mcamp_key *key);
/* Overwrites with zeros, in a way that the compiler cannot leave out. */
MCAMP_API void mcamp_key_wipe(mcamp_key *key);
MCAMP_API void mcamp_wipe(void *p, size_t size);


/* ======================================================================== *
 *  NOISE: the stream (C^-1 z)_t                    standard  (decl) noise
 * ======================================================================== */

/* What the noise is added to.  The unit of sigma is the clipping norm. */
typedef enum mcamp_noise_unit {
    MCAMP_NOISE_UNSET = 0,      /* refused                                    */
    MCAMP_NOISE_SUM   = 1,      /* the sum of the clipped gradients:
                                   noise clip_norm sigma (C^-1 z)_t           */
    MCAMP_NOISE_MEAN  = 2       /* that sum divided by `batch`, a number fixed
                                   beforehand, never the size of a batch that
                                   was drawn: noise divided by it too         */
} mcamp_noise_unit;

/* Where earlier rounds are kept.  With w bands a stored row costs d numbers. */
typedef enum mcamp_noise_store {
    MCAMP_NOISE_STORE_DEFAULT = 0,  /* STORED, unless C and C^-1 are full     */
    MCAMP_NOISE_STORED        = 1,  /* Toeplitz, banded, dense: bands - 1 rows
                                       of noise; BLT: a row for each buffer;
                                       INVERSE kinds: their bands - 1 rows of z */
    MCAMP_NOISE_REGENERATED   = 2   /* none: each round makes the rows of z that
                                       it needs again, t + 1 at round t (INVERSE
                                       kinds: at most their bands)            */
} mcamp_noise_store;

typedef enum mcamp_noise_type {
    MCAMP_NOISE_TYPE_DEFAULT = 0,   /* DOUBLE                                 */
    MCAMP_NOISE_DOUBLE       = 1,   /* of the stored rows; sums are in double  */
    MCAMP_NOISE_FLOAT        = 2    /* half the memory: each stored number is
                                       rounded by at most 2^-24 of itself; on the
                                       lattice rows of a banded C hold integers
                                       of 32 bits, exactly, others doubles    */
} mcamp_noise_type;

typedef struct mcamp_noise_desc {
    uint32_t start_canary;      /* must be 0                                  */
    const mcamp_mech *mech;     /* REQUIRED; must outlive the stream          */
    double sigma;               /* REQUIRED: the noise multiplier             */
    double clip_norm;           /* REQUIRED: largest norm of one gradient     */
    mcamp_noise_unit unit;      /* REQUIRED                                   */
    double batch;               /* MEAN: REQUIRED; SUM: must be 0             */
    uint64_t dim;               /* REQUIRED: d, coordinates in all            */
    uint64_t first;             /* this stream makes coordinates first ..     */
    size_t count;               /* .. first+count-1; 0 = all from first on    */
    mcamp_key key;              /* REQUIRED; of this run alone                */
    mcamp_noise_store store;
    mcamp_noise_type type;
    double grid;                /* lattice mode: a power of two, 2^-40 to 1 times
                                   sigma clip_norm, and so large that no noise
                                   can reach 2^50 of it (2^31 with rows of 32
                                   bits); 0 = off.  From 2^-30 down noise costs
                                   more time.  Takes n doubles from ctx during
                                   init                                       */
    void *memory;               /* mcamp_noise_bytes bytes; NULL = from ctx   */
    size_t memory_size;
    uint32_t end_canary;        /* must be 0                                  */
} mcamp_noise_desc;

/* Holds the key: wiped by mcamp_noise_free.  Treat as opaque. */
typedef struct mcamp_noise {
    uint32_t magic;
    const mcamp_mech *mech;
    uint64_t digest, key_id;
    double sigma, clip_norm, batch, grid;
    mcamp_noise_unit unit;
    mcamp_noise_type type;
    int plan;
    uint64_t dim, first, step;
    size_t count, done, rows;
    void *state, *memory;
    double *weights;
    size_t bytes;
    bool owned;
    double numerics;            /* see mcamp_noise_delta                      */
    const void *user;           /* the session that it belongs to             */
    uint32_t keys[32];
} mcamp_noise;

/* The bytes that the stream will keep, now and ever: rows times count numbers,
 * n more doubles if REGENERATED, and less than 64.                            */
MCAMP_API mcamp_status mcamp_noise_bytes(mcamp_ctx *ctx, const mcamp_noise_desc *desc,
                                         size_t *bytes);
MCAMP_API mcamp_status mcamp_noise_init(mcamp_ctx *ctx, const mcamp_noise_desc *desc,
                                        mcamp_noise *noise);
MCAMP_API void mcamp_noise_free(mcamp_ctx *ctx, mcamp_noise *noise);
/* The round whose noise comes next; n when all is done. */
MCAMP_API uint64_t mcamp_noise_step(const mcamp_noise *noise);

/* Where noise goes: exactly one of the three.  In lattice mode `grid`: sums of gradients in
 * units of the grid (mcamp_clip_add_grid), always those of the SUM, none beyond +-2^62. */
typedef struct mcamp_noise_out {
    double *d;
    float *f;
    int64_t *grid;
    bool add;                   /* to what is there; else it is overwritten   */
} mcamp_noise_out;

/* The next `count` coordinates of round `step`.  Call until the round's coordinates are
 * used up, in any chunks; then comes the next round.  `step` must be mcamp_noise_step:
 * MCAMP_E_STEP for a round that was released already (the same noise on other data would
 * cancel) or is not due yet.  Nothing is allocated.  Bits do not depend on chunks, threads
 * or vector sets.  Adding refuses a NaN or infinite entry (MCAMP_E_NONFINITE) before it
 * starts; the same error after it says that noise overflowed: the stream is at its end
 * and the numbers in `out` are all 0, for nothing of them may be released.
 *   Lattice mode: nothing but multiples of the grid is released and integer sums are
 * exact, so that low bits and the order of sums tell nothing.  Each round is rounded to the
 * grid before later ones are made from it: what is released is a function of C x + z and
 * the certificate holds, up to mcamp_noise_delta.                                */
MCAMP_API mcamp_status mcamp_noise_next(mcamp_ctx *ctx, mcamp_noise *noise,
                                        uint64_t step, size_t count,
                                        const mcamp_noise_out *out);
/* out[i] = in[i] in real units: times the grid, divided by the batch for MEAN. */
MCAMP_API mcamp_status mcamp_noise_from_grid(mcamp_ctx *ctx, const mcamp_noise *noise,
                                             const int64_t *in, size_t count, double *out);
/* What the arithmetic of the noise can add to delta: (1 + e^eps) times a proven bound on the
 * total variation distance between the integers of all rounds and dim coordinates and
 * those of ideal arithmetic, for any data.  Infinite where no bound is known: without a
 * lattice, and where rows are REGENERATED.  Of the keystream it is taken that it can't be
 * told from random words.                                                        */
MCAMP_API double mcamp_noise_delta(const mcamp_noise *noise, double eps);
/* Coordinates at .. at+count-1 (counted from the stream's first) of a round that was
 * released already, in the same bits, made again from the key: for checks and audits, never
 * to be released with other data.  Cost: step + 1 rounds, and a round's rows for 512
 * coordinates of memory.                                                         */
MCAMP_API mcamp_status mcamp_noise_replay(mcamp_ctx *ctx, const mcamp_noise *noise,
                                          uint64_t step, uint64_t at, size_t count,
                                          double *out);

/* The state between two rounds as a portable blob: little-endian, with version and
 * length, bound to the key and to every field of the descriptor but `memory`; the
 * stored rows are encrypted, and then all is sealed (BLAKE2b), under keys that are not
 * in it.  *size = bytes needed; out may be NULL to ask.  A session saves its own.  */
MCAMP_API mcamp_status mcamp_noise_save(mcamp_ctx *ctx, const mcamp_noise *noise,
                                        void *out, size_t capacity, size_t *size);
/* Into a stream made by mcamp_noise_init from an equal descriptor.  MCAMP_E_BLOB:
 * cut short, any bit wrong, other version; MCAMP_E_MISMATCH: of another stream, the
 * field is named; MCAMP_E_STEP: this stream is past that round.               */
MCAMP_API mcamp_status mcamp_noise_load(mcamp_ctx *ctx, mcamp_noise *noise,
                                        const void *blob, size_t size);

/* ======================================================================== *
 *  BATCHES: who takes part when                    standard  (decl) batch
 * ======================================================================== */

typedef struct mcamp_batch_desc {
    uint32_t start_canary;      /* must be 0                                  */
    mcamp_batch_law law;        /* REQUIRED                                   */
    uint64_t examples;          /* REQUIRED: m                                */
    uint64_t rounds;            /* REQUIRED: n                                */
    uint64_t batches;           /* REQUIRED: b (POISSON, FIXED: length of the
                                   cycle; MINSEP: least distance)             */
    double q;                   /* POISSON, MINSEP: REQUIRED, in (0, 1]; is
                                   rounded down to a multiple of 2^-64        */
    uint64_t size;              /* FIXED: REQUIRED                            */
    uint64_t limit;             /* a fuller batch is cut to so many, a uniform
                                   choice; 0 = never.  This is not free: see
                                   mcamp_batch_cut_delta.  For batches of one
                                   size fill up with gradients of zero, which
                                   is free                                    */
    bool scan;                  /* BINS: keep no list (4 bytes an example) and
                                   look at every example in every round       */
    mcamp_key key;              /* REQUIRED; may be the key of the noise      */
    uint32_t end_canary;        /* must be 0                                  */
} mcamp_batch_desc;

/* Holds a key: wiped by mcamp_batch_free.  Treat as opaque. */
typedef struct mcamp_batch {
    uint32_t magic;
    mcamp_batch_law law;
    uint64_t examples, rounds, batches, size, limit, threshold, next, key_id;
    double q;
    uint32_t *list, *start;     /* BINS, SHUFFLE: order and b + 1 ends;
                                   MINSEP: last round + 1                     */
    uint32_t *due;              /* a session's: bits of those who are due, and of
                                   those who were drawn                       */
    size_t list_count, start_count, due_count;
    uint32_t keys[24];
} mcamp_batch;

typedef struct mcamp_batch_size {
    size_t drawn;               /* by the law                                 */
    size_t kept;                /* written: drawn, or the limit               */
} mcamp_batch_size;

/* Memory: BINS without scan and SHUFFLE 4 (m + b + 1) bytes, MINSEP 4 m bytes, the
 * others nothing; with lists m < 2^32.  A session adds m/4 bytes.              */
MCAMP_API mcamp_status mcamp_batch_init(mcamp_ctx *ctx, const mcamp_batch_desc *desc,
                                        mcamp_batch *batch);
MCAMP_API void mcamp_batch_free(mcamp_ctx *ctx, mcamp_batch *batch);
/* The indices of round `round` to out: any round in any order, the same on every
 * machine.  Rising, but for SHUFFLE and batches that were cut.  MCAMP_E_SIZE if more
 * than `capacity` were drawn (their number is the error's value, out is spoilt).
 * Cost: the batch; POISSON and FIXED the group; BINS with scan and MINSEP m, which
 * for MINSEP is cheap for rounds in turn and round * m otherwise.              */
MCAMP_API mcamp_status mcamp_batch_round(mcamp_ctx *ctx, mcamp_batch *batch,
                                         uint64_t round, size_t *out, size_t capacity,
                                         mcamp_batch_size *size);
/* A capacity that suffices for every round: lists and FIXED exactly, else the limit
 * or the group.                                                                */
MCAMP_API uint64_t mcamp_batch_largest(const mcamp_batch *batch);
/* An upper bound on the probability that any batch of the run is cut, over the key, for
 * these examples and with one more: the larger neighbour counts.                */
MCAMP_API mcamp_status mcamp_batch_cut_probability(mcamp_ctx *ctx,
                                                   const mcamp_batch *batch, double *p);
/* What cutting costs: delta becomes delta + (1 + e^eps) p, p from above, under add or
 * remove and under zero-out.  (Two runs differ only if a batch is cut, so that
 * H(P'||Q') <= H(P||Q) + p + e^eps p.)  No smaller price is known: an example that is
 * there pushes another one out, so that its neighbour is not the same run less its
 * own gradient.  For zero-out without amplification the cut is free: there the same
 * examples are pushed out.                                                     */
MCAMP_API mcamp_status mcamp_batch_cut_delta(mcamp_ctx *ctx, const mcamp_batch *batch,
                                             double eps, double *delta);

/* ======================================================================== *
 *  CLIPPING: one example's share of a sum          standard  (decl) clip
 * ======================================================================== */

/* A piece of one example's gradient: n floats or n doubles, the other NULL. */
typedef struct mcamp_tensor {
    const float *f;
    const double *d;
    size_t n;
} mcamp_tensor;

typedef struct mcamp_clip_desc {
    uint32_t start_canary;      /* must be 0                                  */
    double norm;                /* REQUIRED: largest norm of one gradient     */
    size_t dim;                 /* REQUIRED: coordinates of all pieces        */
    uint64_t max_examples;      /* REQUIRED: no sum gets more                 */
    double grid;                /* 0: sums of doubles; a power of two >= 2^-900:
                                   integer sums in units of it (lattice mode)  */
    bool zero_bad;              /* a gradient with a NaN or infinity counts as
                                   zero instead of being refused              */
    uint32_t end_canary;        /* must be 0                                  */
} mcamp_clip_desc;

/* The counters look at private data: they are not for release. */
typedef struct mcamp_clip {
    uint32_t magic;
    double norm, grid, target;
    size_t dim;
    uint64_t max_examples;
    bool zero_bad;
    uint64_t added;             /* to the sum at hand                         */
    uint64_t clipped, zeroed;   /* gradients that were shortened, or not finite */
} mcamp_clip;

/* What is guaranteed, in exact arithmetic: with and without one example (or with
 * its gradient zeroed) the sums differ by a vector of norm at most `norm`, whatever
 * the other gradients are.  Norms are rounded up and factors down; grid mode rounds
 * every coordinate towards zero, and its sums are exact; for sums of doubles the
 * clipping norm is lowered by max_examples^2 2^-51 of itself, which covers the
 * rounding of all additions.                                                  */
MCAMP_API mcamp_status mcamp_clip_init(mcamp_ctx *ctx, const mcamp_clip_desc *desc,
                                       mcamp_clip *clip);
/* The next sum begins: set it to zero yourself. */
MCAMP_API mcamp_status mcamp_clip_begin(mcamp_ctx *ctx, mcamp_clip *clip);
/* sum[dim] += the gradient, one piece after another, clipped as a whole.
 * MCAMP_E_SIZE: the pieces are not dim long, or max_examples were added already. */
MCAMP_API mcamp_status mcamp_clip_add(mcamp_ctx *ctx, mcamp_clip *clip,
                                      const mcamp_tensor *pieces, size_t count,
                                      double *sum);
MCAMP_API mcamp_status mcamp_clip_add_grid(mcamp_ctx *ctx, mcamp_clip *clip,
                                           const mcamp_tensor *pieces, size_t count,
                                           int64_t *sum);

/* ======================================================================== *
 *  SESSION: a training run that keeps its promise  easy      (decl) session
 * ======================================================================== */

/* eps at delta without amplification, for any law: its participations are at least,
 * for BINS and SHUFFLE exactly, `batches` rounds apart.  Rounded up.          */
MCAMP_API mcamp_status mcamp_guarantee_unamplified(mcamp_ctx *ctx, const mcamp_mech *mech,
                                                   mcamp_batch_law law, uint64_t batches,
                                                   double sigma, double delta,
                                                   mcamp_guarantee *out);

/* What is written down before a round is released.  Equal digests: the same bits. */
typedef struct mcamp_ledger_entry {
    uint64_t run, round;
    unsigned char digest[32];   /* of what is to be released; tells nothing else */
} mcamp_ledger_entry;

/* THE LEDGER: a list of released rounds outside of the process, which outlives it.
 * record is called before a round is released.  It returns 0 once the entry is on disk
 * for good; and anything else, so that nothing is released, if it could not write or
 * if it has another digest for that run and round.  An entry that it has already is
 * the same release once more, as after a crash.  examples/ledger_file.h is one.
 *   With a ledger: a run that was started again, rolled back, forked or copied cannot
 * release a round twice with different sums, whoever loads what.
 *   Without one that is up to you.  It is not known whether another process has the
 * same key and run: start no run twice, load no state of a session that went on, and
 * continue after a fork, or in a copy of the machine, in one place only.  Otherwise two
 * releases share their noise, and their difference is the gradients in the clear.  */
typedef struct mcamp_ledger {
    int (*record)(void *user, const mcamp_ledger_entry *entry);
    void *user;
} mcamp_ledger;

typedef struct mcamp_session_desc {
    uint32_t start_canary;      /* must be 0                                  */
    const mcamp_guarantee *guarantee;   /* REQUIRED                           */
    mcamp_batch *batch;         /* REQUIRED: these three must outlive the     */
    mcamp_noise *noise;         /* session, and nobody else may use them      */
    mcamp_clip *clip;
    uint64_t run;               /* REQUIRED: any number but 0, for one run of
                                   this key                                   */
    mcamp_arithmetic arithmetic;    /* 0: LATTICE                             */
    int64_t *grid_sum;          /* LATTICE: REQUIRED: dim of these            */
    double *sum;                /* FLOATING: REQUIRED: dim of these           */
    mcamp_ledger ledger;        /* record NULL: none; each part of the
                                   coordinates needs a ledger of its own      */
    uint32_t end_canary;        /* must be 0                                  */
} mcamp_session_desc;

/* Treat as opaque, and do not copy: the noise knows its session by the address. */
typedef struct mcamp_session {
    uint32_t magic;
    mcamp_guarantee guarantee;
    mcamp_batch *batch;
    mcamp_noise *noise;
    mcamp_clip *clip;
    double *sum;
    int64_t *grid_sum;
    mcamp_ledger ledger;
    double cut_delta;           /* what a limit on batches adds to delta      */
    bool open;                  /* a round has begun ..                       */
    bool noisy;                 /* .. has its noise, and waits for the ledger  */
    uint64_t examples, limit;
    uint64_t round;             /* that is open, or comes next                */
    uint64_t due;               /* members of the round who were not yet added */
} mcamp_session;

/* Binds the parts together.  MCAMP_E_MISMATCH, naming it, if the law of the batches,
 * C, sigma, the rounds, b, q, the clipping norm, the grid or the key differ between
 * them or from what was guaranteed.  A limit on the batches adds
 * mcamp_batch_cut_delta to delta (unamplified: nothing, but then the guarantee is
 * for zero-out adjacency only, as for FIXED, SHUFFLE and POISSON with b > 1 always,
 * where examples move others).  So does a clipping that has no room for all examples:
 * a round that is refused for it tells that somebody more was there.
 *   The noise must not have been drawn from; it and the batches get keys of this run.  A
 * second session on a stream ends the first; the C of the stream must not have changed
 * since its init.  LATTICE: parts without a grid get the library's, about 2^-20 of the
 * noise: a power of two that neither noise nor sums can outgrow (MCAMP_E_MISMATCH
 * "grid" if there is none).  Takes n doubles from ctx, for a moment, and m/4 bytes.  */
MCAMP_API mcamp_status mcamp_session_init(mcamp_ctx *ctx, const mcamp_session_desc *desc,
                                          mcamp_session *session);
/* What the run keeps: the guarantee, with its arithmetic, grid, number and whether there
 * is a ledger.  NULL: no session.                                             */
MCAMP_API const mcamp_guarantee *mcamp_session_guarantee(const mcamp_session *session);
/* Starts round `round`, which must be the next one, or starts it once more: its
 * examples to out, MCAMP_NOBODY to the rest of it, the sum set to 0.  MCAMP_E_SIZE: more
 * than `capacity`, or than the clipping's max_examples.                       */
#define MCAMP_NOBODY SIZE_MAX
MCAMP_API mcamp_status mcamp_session_begin(mcamp_ctx *ctx, mcamp_session *session,
                                           uint64_t round, size_t *out, size_t capacity,
                                           mcamp_batch_size *size);
/* The gradient of `example`: once for each that was drawn, in any order and any number of
 * micro-batches.  Whatever is given for MCAMP_NOBODY, which fills batches up to one size,
 * counts as zero.  MCAMP_E_MISMATCH ("example"): it was not drawn, or was added already. */
MCAMP_API mcamp_status mcamp_session_add(mcamp_ctx *ctx, mcamp_session *session,
                                         uint64_t example, const mcamp_tensor *pieces,
                                         size_t count);
/* A member who is left out: adds zero.  Whether may depend on nothing but that example. */
MCAMP_API mcamp_status mcamp_session_skip(mcamp_ctx *ctx, mcamp_session *session,
                                          uint64_t example);
/* Ends the round: out = the sum, or mean, with its noise, ready for the optimiser: of
 * the coordinates that the noise was made for (`count`; all, unless `first` and `count`
 * say otherwise).  The sum holds noise too from then on, zeros elsewhere; out may be
 * where these coordinates of the sum are.
 * MCAMP_E_MISMATCH ("members"): some who were drawn are missing.  MCAMP_E_LEDGER: the
 * ledger did not accept it; call again, when it can, or load a state.
 * After any error out is as it was.                                           */
MCAMP_API mcamp_status mcamp_session_end(mcamp_ctx *ctx, mcamp_session *session,
                                         double *out);
/* The same as floats, or rounded to bfloat16: what is released is first made whole.
 * MCAMP_E_NONFINITE: beyond 3.38e38 of them; take doubles.                      */
MCAMP_API mcamp_status mcamp_session_end_float(mcamp_ctx *ctx, mcamp_session *session,
                                               float *out);
MCAMP_API mcamp_status mcamp_session_end_bf16(mcamp_ctx *ctx, mcamp_session *session,
                                              uint16_t *out);

/* A ROUND IN SEVERAL PROCESSES (LATTICE only: integers have one sum, in any order).
 * All have sessions of equal parts, but for `first` and `count` of the noise: each may
 * make the noise of all coordinates, or of its own.  All begin the round; each adds some
 * of the members, takes a share and sends it, with its grid_sum, to the others, who
 * merge it; once all members are there, each ends the round.  Bits do not depend on how
 * members and coordinates were split; each member counts once, or nothing is released.
 *   out: who was added here, sealed.  *size = bytes needed; out may be NULL to ask. */
MCAMP_API mcamp_status mcamp_session_share(mcamp_ctx *ctx, const mcamp_session *session,
                                           void *out, size_t capacity, size_t *size);
/* sum: the grid_sum at the coordinates of this session's noise (`count` of them) in the
 * process where the share is from.  MCAMP_E_MISMATCH ("example"): somebody was added
 * here and there, or was not drawn; MCAMP_E_STEP: of another round; MCAMP_E_BLOB: of
 * another run, or damaged; MCAMP_E_ARG ("sum"): more than its members can have made.  */
MCAMP_API mcamp_status mcamp_session_merge(mcamp_ctx *ctx, mcamp_session *session,
                                           const int64_t *sum, const void *share,
                                           size_t size);
/* The whole run as a blob, as mcamp_noise_save makes one, bound to the key and to all
 * that the session is bound to; a round that is open is not in it, and begins again.
 * Save after each round: what was released since can only be repeated bit by bit.
 * MCAMP_E_STEP: the ledger has not accepted the round yet.                    */
MCAMP_API mcamp_status mcamp_session_save(mcamp_ctx *ctx, const mcamp_session *session,
                                          void *out, size_t capacity, size_t *size);
/* Into a session made by mcamp_session_init from equal parts.  MCAMP_E_BLOB: damaged;
 * MCAMP_E_MISMATCH: of another run, and what differs; MCAMP_E_STEP: this session is
 * past that round.                                                            */
MCAMP_API mcamp_status mcamp_session_load(mcamp_ctx *ctx, mcamp_session *session,
                                          const void *blob, size_t size);
/* delta of the whole run, cuts included. */
MCAMP_API double mcamp_session_delta(const mcamp_session *session);

/* ######################################################################## *
 *  PART II: EXACT                              accountants without samples
 *                                                                   (decl)
 * ######################################################################## */

/* ======================================================================== *
 *  EXACT: accountants without sampling             standard  (decl) exact
 * ======================================================================== */

/* One mechanism, used `count` times.  A list of events is their (adaptive)
 * composition.  Which fields a kind reads is said beside it; the others must be
 * zero.  Adjacency: add or remove one example (GROUP kinds: up to `group`).
 * "remove" compares the run with the example to the run without it.           */
typedef enum mcamp_event_kind {
    MCAMP_EVENT_NONE = 0,       /* not a mechanism: refused                   */
    MCAMP_EVENT_GAUSSIAN,       /* sigma, sensitivity, q                      */
    MCAMP_EVENT_LAPLACE,        /* sigma = scale, sensitivity, q              */
    MCAMP_EVENT_RESPONSE,       /* eps, delta, q: randomised response, which
                                   is the worst (eps, delta)-DP mechanism     */
    MCAMP_EVENT_POISSON,        /* sigma, sensitivity, q (required): Gaussian
                                   noise, batches by Poisson sampling         */
    MCAMP_EVENT_TRUNCATED,      /* as POISSON, batches cut to `batch` examples
                                   at random; population = size of the data
                                   with the example or without it             */
    MCAMP_EVENT_MIXTURE,        /* sigma, shift[n], prob[n]: mixture of
                                   Gaussians, shifts >= 0                     */
    MCAMP_EVENT_GROUP_POISSON,  /* sigma, sensitivity, q, group               */
    MCAMP_EVENT_GROUP_FIXED,    /* sigma, sensitivity, population, batch, group:
                                   batches of exactly `batch` examples        */
    MCAMP_EVENT_BANDMF,         /* sigma, sensitivity (largest column norm),
                                   batch, population, rounds, bands: banded
                                   matrix mechanism, cyclic Poisson sampling,
                                   rate batch*bands/population.  [2] leaves
                                   out what does not divide: population is
                                   bands*floor(population/bands) then         */
    MCAMP_EVENT_BINS,           /* sigma, sensitivity, bins, rounds = epochs:
                                   balls-in-bins with C = I.  Bins that are not
                                   alike: shift[n], n <= 16, norms of their
                                   modes for sensitivity and rounds 1, prob[n],
                                   how many bins of each, together all of them */
    MCAMP_EVENT_CURVE,          /* shift[n] = eps >= 0 rising, prob[n] = delta
                                   there, remove direction, prob2[n] add, beta:
                                   any mechanism of which these bounds hold   */
    MCAMP_EVENT_PAIR,           /* prob[n], prob2[n]: the odds of n outcomes with
                                   the example and without it; where only one
                                   is 0 the loss is infinite                  */
    MCAMP_EVENT_SAMPLED,        /* shift[n] = log(dP/dQ) drawn under P, prob[n] =
                                   log(dQ/dP) under Q, independent, beta: known
                                   from samples only.  Mass of about log(1/beta)
                                   /n becomes infinite loss                   */
    MCAMP_EVENT_FORCE_INT = 0x7fffffff
} mcamp_event_kind;

typedef struct mcamp_event {
    mcamp_event_kind kind;      /* REQUIRED                                   */
    uint64_t count;             /* REQUIRED, number of uses                   */
    double sigma;               /* noise standard deviation, or Laplace scale */
    double sensitivity;         /* 0 = 1: sigma is then the noise multiplier  */
    double q;                   /* sampling probability; 0 = 1 for GAUSSIAN,
                                   LAPLACE and RESPONSE, else REQUIRED        */
    double eps, delta;
    double beta;                /* CURVE, SAMPLED (REQUIRED): probability that
                                   what is said of the mechanism is wrong, of
                                   all uses and points at once                */
    uint64_t group;             /* largest number of examples that differ     */
    uint64_t population, batch;
    uint64_t rounds, bands, bins;
    size_t n;                   /* length of the arrays                       */
    const double *shift, *prob, *prob2;
} mcamp_event;

/* ---- standard level: certified intervals --------------------------------------- */

typedef struct mcamp_exact_desc {
    uint32_t start_canary;      /* must be 0                                    */
    mcamp_direction direction;  /* 0 = both, the larger one                     */
    double rel_error;           /* wanted width of the interval of eps, relative;
                                   0 = 1e-4; from 1e-7 to 0.1                   */
    size_t max_bytes;           /* refuse work that needs more; 0 = 200 MB      */
    uint32_t end_canary;        /* must be 0                                    */
} mcamp_exact_desc;

/* What an answer cost and rests on. */
typedef struct mcamp_exact_info {
    mcamp_interval remove, add; /* each direction; NaN if not asked for         */
    double infinite;            /* mass of infinite loss (upper bound)          */
    double beta;                /* sum over events: in upper ends, not lower    */
    size_t atoms, frequencies;  /* the largest law, the longest spectrum        */
    size_t bytes;               /* most memory in use at one time               */
    int passes;                 /* refinements made                             */
} mcamp_exact_info;

/* The composition's delta at eps >= 0, and its eps at delta: lower <= truth <=
 * upper, all errors included.  MCAMP_Q_MAX_ITER: the interval is valid but wider
 * than wanted.  MCAMP_E_INFEASIBLE: no finite eps, since losses are infinite, or what
 * is known from samples wrong, with probability above delta.  desc and info may be
 * NULL.  Lower ends see nothing of CURVE and SAMPLED events, of TRUNCATED ones that the
 * example's rate falls, and of BINS in composition one bin, so that intervals stay wide:
 * MCAMP_Q_MAX_ITER, as where an example is sampled with q T far below 1, T > 1.       */
MCAMP_API mcamp_status mcamp_exact_delta(mcamp_ctx *ctx, const mcamp_event *events,
                                         size_t nevents, const mcamp_exact_desc *desc,
                                         double eps, mcamp_interval *delta,
                                         mcamp_exact_info *info);
MCAMP_API mcamp_status mcamp_exact_epsilon(mcamp_ctx *ctx, const mcamp_event *events,
                                           size_t nevents, const mcamp_exact_desc *desc,
                                           double delta, mcamp_interval *eps,
                                           mcamp_exact_info *info);

/* The same for n values of eps >= 0 at once, per direction: remove[n], add[n]; either
 * may be NULL.  The upper ends make a CURVE event, BINS included.                 */
MCAMP_API mcamp_status mcamp_exact_curve(mcamp_ctx *ctx, const mcamp_event *events,
                                         size_t nevents, const mcamp_exact_desc *desc,
                                         const double *eps, size_t n,
                                         mcamp_interval *remove, mcamp_interval *add);

typedef enum mcamp_event_param {
    MCAMP_PARAM_NONE = 0,       /* refused                                       */
    MCAMP_PARAM_SIGMA,          /* the smallest sigma                            */
    MCAMP_PARAM_Q,              /* the largest sampling probability              */
    MCAMP_PARAM_COUNT,          /* the largest number of uses                    */
    MCAMP_PARAM_GROUP,          /* the largest group                             */
    MCAMP_PARAM_FORCE_INT = 0x7fffffff
} mcamp_event_param;

/* Finds the parameter of events[which] (its value there is ignored) for which the
 * composition is (eps, delta)-DP.  What is returned has been certified: the upper
 * bound of delta at it does not exceed delta, in the directions of desc; and a value that
 * is better by 4 rel_error (sigma, q) or by 1 and 10 rel_error (counts) does not, as lower
 * bounds show: else MCAMP_Q_MAX_ITER.  MCAMP_E_INFEASIBLE: no value does.                       */
MCAMP_API mcamp_status mcamp_exact_calibrate(mcamp_ctx *ctx, const mcamp_event *events,
                                             size_t nevents,
                                             const mcamp_exact_desc *desc, size_t which,
                                             mcamp_event_param param, double eps,
                                             double delta, double *value,
                                             mcamp_exact_info *info);

/* ---- expert level (experimental): Renyi divergences -------------------------- */

/* Renyi divergence of order alpha > 1 of the composition, the larger of both
 * directions; relative error below 1e-12.  Kinds with Gaussian noise, LAPLACE
 * and RESPONSE (delta = 0, q = 1).                                             */
MCAMP_API mcamp_status mcamp_exact_rdp(mcamp_ctx *ctx, const mcamp_event *events,
                                       size_t nevents, double alpha, double *rdp);
/* The smallest eps over the given orders (norders = 0: any real order), by
 *     eps = rdp + log(1 - 1/alpha) - (log delta + log alpha)/(alpha - 1).
 * *order, if not NULL, is the order it came from.                              */
MCAMP_API mcamp_status mcamp_exact_rdp_epsilon(mcamp_ctx *ctx,
                                               const mcamp_event *events,
                                               size_t nevents,
                                               const double *orders, size_t norders,
                                               double delta, double *eps,
                                               double *order);

/* ---- expert level: formulas of the literature -------------------------------- */

typedef enum mcamp_formula {
    MCAMP_FORMULA_DEFAULT = 0,  /* the best of all below                      */
    MCAMP_FORMULA_SIMPLE,       /* sqrt(2 log(1/delta) + 2 eps)/eps           */
    MCAMP_FORMULA_FOLKLORE,     /* sqrt(2 log(1.25/delta))/eps, small eps only*/
    MCAMP_FORMULA_REFINED_1,    /* sqrt(2 log(1/delta))/eps + 2 eps^(-3/2)    */
    MCAMP_FORMULA_REFINED_2,    /* (max(1, sqrt(log(1/(2 pi delta^2)))) +
                                   2 eps^(-1/2))/eps                          */
    MCAMP_FORMULA_REFINED_3,    /* sqrt(log(e^eps/delta^2))/eps               */
    MCAMP_FORMULA_REFINED_4     /* max(sqrt(1 + eps),
                                   sqrt(log(e^eps/(2 pi delta^2))))/eps       */
} mcamp_formula;

/* sigma of the Gaussian mechanism by a closed formula, for comparison.  Some of
 * them hold for small eps only: where a formula gives less noise than the exact
 * curve needs it is refused (MCAMP_E_ARG "eps"), and DEFAULT passes it over.    */
MCAMP_API mcamp_status mcamp_exact_classical_sigma(mcamp_ctx *ctx, mcamp_formula f,
                                                   double sensitivity, double eps,
                                                   double delta, double *sigma);
/* rho-zCDP to eps at delta: the textbook rho + 2 sqrt(rho log(1/delta)), and the
 * tight conversion through every Renyi order.                                  */
MCAMP_API mcamp_status mcamp_exact_zcdp_epsilon_simple(mcamp_ctx *ctx, double rho,
                                                       double delta, double *eps);
MCAMP_API mcamp_status mcamp_exact_zcdp_epsilon(mcamp_ctx *ctx, double rho,
                                                double delta, double *eps);
/* k-fold composition of (eps, delta)-DP: advanced composition with slack
 * delta2 (total delta = k delta + delta2), and the optimal bound at a total
 * delta, which must exceed 1 - (1 - delta)^k.                                  */
MCAMP_API mcamp_status mcamp_exact_compose_advanced(mcamp_ctx *ctx, double eps,
                                                    double k, double delta2,
                                                    double *eps_total);
MCAMP_API mcamp_status mcamp_exact_compose_optimal(mcamp_ctx *ctx, double eps,
                                                   double delta, uint64_t k,
                                                   double delta_total,
                                                   double *eps_total);
/* (eps, delta) for one example gives (k eps, delta (e^{k eps} - 1)/(e^eps - 1))
 * for groups of k: valid for every mechanism, and loose.                       */
MCAMP_API mcamp_status mcamp_exact_group_convert(mcamp_ctx *ctx, double eps,
                                                 double delta, uint64_t group,
                                                 double *eps_group,
                                                 double *delta_group);
/* Laplace under sampling with probability p: the eps that the noise may have on
 * the sample so that the whole is eps-DP, log(1 + (e^eps - 1)/p), and the ratio
 * of noise scales p eps_p / eps, which is 1 where sampling costs nothing.      */
MCAMP_API mcamp_status mcamp_exact_laplace_amplified(mcamp_ctx *ctx, double eps,
                                                     double p, double *eps_p,
                                                     double *ratio);
/* Mean squared errors of the mean of n numbers in [0, 1] at equal eps: all of them and
 * Laplace noise, 2/(eps n)^2; and at most, by Poisson sampling with probability p and
 * division by p n, 1/(p n) + 2/(eps_p p n)^2.                                    */
MCAMP_API mcamp_status mcamp_exact_laplace_errors(mcamp_ctx *ctx, double eps, double p,
                                                  double n, double *full,
                                                  double *sampled);

/* ======================================================================== *
 *  GUARANTEES WITHOUT SAMPLES                      standard  (decl) promise
 * ======================================================================== */

/* The same, asking section exact first: modes that are orthogonal (C = I) need no
 * samples.                                                                    */
MCAMP_API mcamp_status mcamp_verify(mcamp_ctx *ctx, const mcamp_gram *gram,
                                    const mcamp_claim *claim,
                                    mcamp_guarantee *out);

/* eps at delta for MCAMP_BATCH_POISSON with a cycle of `batches` >= bands of C and
 * probability q: ceil(n/batches) Poisson-sampled Gaussian mechanisms of sensitivity
 * the largest column norm [2, Theorem 4].  Rounded up.                        */
MCAMP_API mcamp_status mcamp_guarantee_poisson(mcamp_ctx *ctx, const mcamp_mech *mech,
                                               uint64_t batches, double q, double sigma,
                                               double delta, mcamp_guarantee *out);

/* ---- expert level (experimental) ------------------------------------------------ */

/* Balls in bins with this Gram matrix, any C, for composition: upper bounds of delta at
 * eps[n] >= 0, rising, in each direction, by `blocks` blocks of samples of a stream of
 * their own, beta/(2n) each.  With probability 1 - beta all hold at once: they and beta
 * make a CURVE event, for any number of uses.  After an error they are 1.    */
MCAMP_API mcamp_status mcamp_simulated_curve(mcamp_ctx *ctx, const mcamp_gram *gram,
                                             double sigma, const double *eps, size_t n,
                                             uint64_t seed, uint64_t blocks, double beta,
                                             double *remove, double *add);

/* ######################################################################## *
 *  PART III: STEERING AND WORDS           may be wrong or slow, not unsafe
 *                                                                   (decl)
 * ######################################################################## */

/* ======================================================================== *
 *  WORKLOADS, ERROR, SENSITIVITY                   expert    (decl) work
 * ======================================================================== */

/* What is computed from the noisy gradients: A x with a lower-triangular A. */
typedef enum mcamp_work_kind {
    MCAMP_WORK_DEFAULT  = 0,    /* PREFIX                                     */
    MCAMP_WORK_PREFIX   = 1,    /* iterates of SGD: A_ij = lr_j (1 if no lr)  */
    MCAMP_WORK_MOMENTUM = 2,    /* iterates of SGD with momentum beta:
                                   A_ij = sum_{s=j}^{i} lr_s beta^(s-j)       */
    MCAMP_WORK_EMA      = 3,    /* exponential average of the gradients:
                                   A_ij = (1 - beta) beta^(i-j)               */
    MCAMP_WORK_TOEPLITZ = 4,    /* A_ij = coef[i-j], 0 from `count` on        */
    MCAMP_WORK_DENSE    = 5     /* row-major n x n, zero above the diagonal   */
} mcamp_work_kind;

typedef struct mcamp_work_desc {
    uint32_t start_canary;      /* must be 0                                  */
    mcamp_work_kind kind;       /* 0 = prefix sums                            */
    size_t n;                   /* rounds; required                           */
    double beta;                /* MOMENTUM, EMA: in [0, 1)                   */
    const double *lr;           /* PREFIX, MOMENTUM: n learning rates, none 0;
                                   NULL = all 1                               */
    const double *coef;         /* TOEPLITZ, DENSE; no 0 on the diagonal      */
    size_t count;               /* number of values in coef, checked          */
    uint32_t end_canary;        /* must be 0                                  */
} mcamp_work_desc;

/* Read the fields, do not write them. */
typedef struct mcamp_work {
    uint32_t magic;
    mcamp_work_kind kind;       /* never DEFAULT                              */
    size_t n;
    double beta;
    double *lr;                 /* n values or NULL                           */
    mcamp_mech matrix;          /* TOEPLITZ, DENSE: holds A                   */
} mcamp_work;

MCAMP_API mcamp_status mcamp_work_init(mcamp_ctx *ctx, const mcamp_work_desc *desc,
                                       mcamp_work *work);
MCAMP_API void mcamp_work_free(mcamp_ctx *ctx, mcamp_work *work);

/* Error of A x + A C^-1 z for noise of unit deviation: multiply by sigma. */
typedef struct mcamp_error_info {
    double rmse;                /* |A C^-1|_F / sqrt(n)                       */
    double max;                 /* largest norm of a row of A C^-1            */
    size_t max_row;             /* which row                                  */
} mcamp_error_info;

/* rows[n] = row norms of A C^-1, or NULL.  Both Toeplitz: O(n bands), O(n d) for
 * a BLT of d buffers; a BLT with PREFIX, MOMENTUM or EMA, column scaling and any
 * learning rates: O(n d^2); otherwise one solve for each column: O(n^2) for
 * Toeplitz forms, O(n^2 bands) for rows.                                     */
MCAMP_API mcamp_status mcamp_work_error(mcamp_ctx *ctx, const mcamp_work *work,
                                        const mcamp_mech *mech, double *rows,
                                        mcamp_error_info *info);


/* ======================================================================== *
 *  GRADIENTS OF THE GRAM MATRIX                    expert    (decl) grad
 * ======================================================================== */


/* ======================================================================== *
 *  CALIBRATION AND CERTIFICATION                   easy      (decl) calib
 * ======================================================================== */

/* How much work, shared by all that follows. */
typedef struct mcamp_budget {
    double rel_error;       /* wanted relative standard error of delta; 0 = .01 */
    uint64_t max_samples;   /* for each direction's value, and for its bounds, in
                             * blocks of 1024, one at least; of sigma and eps: for
                             * each step; 0 = 2^26                             */
    uint64_t seed;          /* of the simulation (not of any released noise)   */
    double beta;            /* level of the rigorous bounds; 0 = 1e-6          */
    mcamp_direction direction;  /* 0 = both                                    */
    mcamp_method method;        /* 0 = chosen                                  */
    size_t order;               /* 0 = chosen                                  */
} mcamp_budget;

/* One direction's answer.  A value with everything that bears on its truth.   */
typedef struct mcamp_estimate {
    mcamp_direction direction;
    double value;           /* unbiased, moved into bounds that are certain; or
                             * exact, or their upper end if method is EXACT   */
    double std_error;       /* of value; 0 if exact; EXACT, or where only the
                             * bound says how small it is: upper - lower      */
    double lower, upper;    /* rigorous at level beta each; EXACT: certain    */
    double beta;
    double range;           /* of the samples behind `upper`                  */
    uint64_t samples;       /* spent on value                                 */
    uint64_t proof_samples; /* spent on upper and lower                       */
    mcamp_method method;
    size_t order;
    bool exact;
    bool trusted;           /* the error bar is backed by the rigorous bounds */
} mcamp_estimate;

/* The answer of delta, epsilon and sigma questions.  Interrupted: nothing is claimed;
 * what was not computed is NaN, delta_upper 1, a direction that is missing all 0.   */
typedef struct mcamp_answer {
    mcamp_status status;    /* OK, or why it is qualified: UNTRUSTED (the error bar is not
                             * backed, or delta anew at the answer is not the target),
                             * BUDGET (max_samples did not suffice for rel_error)     */
    mcamp_guarantee_kind kind;  /* ESTIMATE; INTERVAL, CLOSED: without samples, and
                             * certain: (sigma, eps, delta) holds, lower <= truth <=
                             * upper for what was asked for; NONE: interrupted     */
    double sigma, eps, delta;   /* delta: the worse direction's value          */
    double std_error;       /* of what was asked for; INTERVAL: upper - lower  */
    double lower, upper;    /* of what was asked for; ESTIMATE: 0              */
    double delta_upper;     /* rigorous at level beta, at this (sigma, eps)    */
    double beta;            /* of delta_upper; of a curve: of all its bounds   */
    double unamplified;     /* the same quantity without amplification         */
    mcamp_estimate remove, add; /* at (sigma, eps); samples 0 if not asked for */
    uint64_t samples;       /* all that were drawn                             */
    uint64_t seed;
    mcamp_quantity asked;   /* of delta, eps, sigma                            */
    double target;          /* delta as given, where eps or sigma was asked for */
    mcamp_direction direction;  /* as the budget said                          */
    uint64_t points;        /* for how many at once beta holds; 0 = 1          */
    uint64_t rounds, batches;   /* n, b                                        */
    uint64_t strategy_digest, gram_digest;
} mcamp_answer;

/* ---- easy level: one description, one call, one result ----------------------- */

typedef struct mcamp_problem {
    uint32_t start_canary;      /* must be 0                                   */
    mcamp_mech_desc strategy;   /* C; kind 0 = identity; n is filled in        */
    size_t rounds, batches, epochs;     /* REQUIRED: any two of them; 0 = from the
                                   others                                      */
    double eps, delta, sigma;   /* REQUIRED: the two that the question needs   */
    mcamp_budget budget;        /* all 0: defaults                             */
    uint32_t end_canary;        /* must be 0                                   */
} mcamp_problem;

/* The Gram matrix of the problem's strategy; free with mcamp_gram_free. */
MCAMP_API mcamp_status mcamp_problem_gram(mcamp_ctx *ctx, const mcamp_problem *problem,
                                          mcamp_gram *gram);
MCAMP_API mcamp_status mcamp_problem_delta(mcamp_ctx *ctx, const mcamp_problem *problem,
                                           mcamp_answer *out);
MCAMP_API mcamp_status mcamp_problem_epsilon(mcamp_ctx *ctx,
                                             const mcamp_problem *problem,
                                             mcamp_answer *out);
MCAMP_API mcamp_status mcamp_problem_sigma(mcamp_ctx *ctx, const mcamp_problem *problem,
                                           mcamp_answer *out);
/* The certified ones: beta is budget.beta, or delta if that is 0 (verify-then-run
 * with beta <= delta keeps (eps, delta): Theorem 2.1 of [1]).                     */
MCAMP_API mcamp_status mcamp_problem_verify(mcamp_ctx *ctx, const mcamp_problem *problem,
                                            mcamp_guarantee *out);
MCAMP_API mcamp_status mcamp_problem_certify(mcamp_ctx *ctx,
                                             const mcamp_problem *problem,
                                             mcamp_guarantee *out);

/* ---- standard level: on the Gram matrix ---------------------------------------- */

/* delta at (sigma, eps).  MCAMP_E_ARG for a sigma below a thousandth of the longest
 * mode (here and in all that follows).                                        */
MCAMP_API mcamp_status mcamp_delta(mcamp_ctx *ctx, const mcamp_gram *gram,
                                   double sigma, double eps,
                                   const mcamp_budget *budget, mcamp_answer *out);
/* eps at (sigma, delta); 0 if even eps = 0 meets delta. */
MCAMP_API mcamp_status mcamp_epsilon(mcamp_ctx *ctx, const mcamp_gram *gram,
                                     double sigma, double delta,
                                     const mcamp_budget *budget, mcamp_answer *out);
/* sigma for (eps, delta): the paper's Algorithm 2 with common random numbers; from
 * section exact where the modes are orthogonal and of few kinds (C = I).
 * An estimate, not a proof: see mcamp_calibrate_certified.                    */
MCAMP_API mcamp_status mcamp_sigma(mcamp_ctx *ctx, const mcamp_gram *gram,
                                   double eps, double delta,
                                   const mcamp_budget *budget, mcamp_answer *out);
/* delta at every eps[0..count-1], from one set of random numbers.  All bounds of all
 * answers, both ends, hold at once with probability 1 - beta.  Interrupted: answers
 * that were not computed say so.                                              */
MCAMP_API mcamp_status mcamp_curve(mcamp_ctx *ctx, const mcamp_gram *gram,
                                   double sigma, const double *eps, size_t count,
                                   const mcamp_budget *budget, mcamp_answer *out);

/* A small sigma for (eps, delta) together with its proof: claim->sigma is
 * ignored.  Falls back to the unamplified sigma (MCAMP_Q_UNAMPLIFIED).        */
MCAMP_API mcamp_status mcamp_calibrate_certified(mcamp_ctx *ctx,
                                                 const mcamp_gram *gram,
                                                 const mcamp_claim *claim,
                                                 mcamp_guarantee *out);

/* ---- expert level (experimental) ------------------------------------------------ */

/* Bounds of delta at any eps from those of a curve, eps increasing: they hold for all
 * eps at once, with the curve's beta.  Answers that say interrupted are left out.   */
MCAMP_API mcamp_interval mcamp_curve_bounds(const mcamp_answer *curve, size_t count,
                                            double eps, mcamp_direction direction);

/* ======================================================================== *
 *  OPTIMISING C                                    standard  (decl) opt
 *  What comes out is only a matrix: its guarantee is computed from it anew, by
 *  mcamp_sigma or mcamp_calibrate_certified, which do not know how it was found.
 * ======================================================================== */

typedef enum mcamp_opt_family {
    MCAMP_OPT_UNSET    = 0,     /* refused                                    */
    MCAMP_OPT_IDENTITY = 1,
    MCAMP_OPT_TOEPLITZ = 2,     /* `bands` coefficients > 0; 0 = all n        */
    MCAMP_OPT_BLT      = 3,     /* `buffers` decays, weights > 0; NONE: weights of any
                                   sign, C >= 0                               */
    MCAMP_OPT_BANDED   = 4      /* any entries in `bands` bands; 0 = dense.  BINS: > 0;
                                   else the columns of C that an example uses are
                                   orthogonal (by themselves up to `batches` bands) */
} mcamp_opt_family;

/* What the noise is measured by. */
typedef enum mcamp_amplification {
    MCAMP_AMPLIFY_UNSET   = 0,  /* refused                                    */
    MCAMP_AMPLIFY_NONE    = 1,  /* Gaussian mechanism, an example takes part
                                   every `batches` rounds                     */
    MCAMP_AMPLIFY_BINS    = 2,  /* balls in bins: mcamp_sigma                 */
    MCAMP_AMPLIFY_POISSON = 3   /* cyclic Poisson sampling: `bands` classes take
                                   turns, an example is drawn with probability
                                   bands/batches from its class               */
} mcamp_amplification;

typedef enum mcamp_error_kind {
    MCAMP_ERROR_RMSE = 0,       /* root of the mean over rounds               */
    MCAMP_ERROR_MAX  = 1        /* the worst round                            */
} mcamp_error_kind;

/* The sigma that a mechanism of this many bands and largest column norm needs;
 * anything not positive and finite: cannot be had. */
typedef double (*mcamp_sigma_fn)(void *user, size_t bands, double sensitivity);

typedef struct mcamp_opt_desc {
    uint32_t start_canary;      /* must be 0                                  */
    mcamp_opt_family family;    /* REQUIRED                                   */
    mcamp_amplification amplification;  /* REQUIRED                           */
    size_t rounds;              /* REQUIRED                                   */
    size_t batches;             /* REQUIRED (but with sigma_of): b, rounds between two
                                   uses of an example; as `rounds`: a single use */
    size_t bands, buffers;      /* of the family.  POISSON: at most `batches`
                                   bands; 0 = the best number, also tried in
                                   between powers of two; not BLT             */
    size_t max_bands;           /* POISSON, bands 0: try no more; 0 = batches  */
    size_t scale_degree;        /* column factors: log s is a polynomial of this
                                   degree in t (<= 16); 0 = none              */
    bool scale_free;            /* n free column factors instead; neither for
                                   BANDED, which contains them                */
    bool equal_norms;           /* BANDED, NONE: all columns of one norm, as
                                   b-min-sep wants; else only an example's columns
                                   together (at most `batches` bands)         */
    mcamp_error_kind error;
    double eps, delta;          /* REQUIRED (but with sigma_of)               */
    const mcamp_work *work;     /* NULL = prefix sums                         */
    const mcamp_mech *start;    /* NULL = chosen.  Its coefficients, or decays and
                                   weights, and its column factors, are used; a
                                   BLT with fewer buffers is grown            */
    mcamp_sigma_fn sigma_of;    /* POISSON: NULL = the exact accountant        */
    void *sigma_user;
    size_t max_iterations;      /* 0 = 150 (BINS), 1000                       */
    double tolerance;           /* stop when ten steps gain less, relatively; 0 =
                                   2e-5 (BINS), 1e-6 (BANDED), 1e-7           */
    mcamp_budget budget;        /* of the final sigma; its seed is used        */
    uint32_t end_canary;        /* must be 0                                  */
} mcamp_opt_desc;

typedef struct mcamp_opt_result {
    mcamp_status status;        /* OK, or why it is qualified                 */
    double sigma, sigma_error;  /* of the final C; its standard error          */
    double rmse, max_error;     /* with that sigma                             */
    double least;               /* BANDED, not BINS: no C of the family has a smaller
                                   wanted error (rmse or max_error); 0 = not known */
    mcamp_error_info unit;      /* for noise of deviation 1                    */
    double sensitivity;         /* largest norm that an example can have in C x */
    double start_error;         /* the wanted error at the start, up to a factor
                                   that does not depend on C                  */
    size_t bands;               /* of C                                       */
    size_t iterations, evaluations;
    uint64_t samples;
} mcamp_opt_result;

/* A C of this family with small error at (eps, delta): minimises log sigma(C) +
 * log error(C) by limited-memory BFGS.  mech is made (free it).  Progress is
 * reported through the context: to stop it keeps the best C so far
 * (MCAMP_Q_INTERRUPTED).  out may be NULL.  Time: a few hundred samples of
 * mcamp_sigma's size.  Memory: BINS O(b^2 + parameters).                      */
MCAMP_API mcamp_status mcamp_opt_run(mcamp_ctx *ctx, const mcamp_opt_desc *desc,
                                     mcamp_mech *mech, mcamp_opt_result *out);


/* ======================================================================== *
 *  CHOOSING C                                      easy      (decl) plan
 * ======================================================================== */

/* What you can do beyond using every example once an epoch in any fixed order. */
#define MCAMP_PLAN_BINS    1u   /* a random batch per example, kept for all epochs */
#define MCAMP_PLAN_POISSON 2u   /* cyclic Poisson sampling: random batch sizes     */
#define MCAMP_PLAN_ROWS    16

typedef struct mcamp_plan_desc {
    uint32_t start_canary;      /* must be 0                                  */
    size_t rounds, batches, epochs;     /* REQUIRED: any two of them; batches: of
                                   an epoch; 0 = from the others              */
    double eps, delta;          /* REQUIRED                                   */
    unsigned sampling;          /* MCAMP_PLAN_ flags; 0 = neither             */
    size_t memory;              /* past noise vectors that can be kept, each of
                                   the model's size; 0 = 4                    */
    const mcamp_work *work;     /* NULL = prefix sums                         */
    mcamp_error_kind error;
    mcamp_budget budget;        /* of sigma; beta: of the proof, 0 = delta    */
    uint32_t end_canary;        /* must be 0                                  */
} mcamp_plan_desc;

/* One thing that was tried. */
typedef struct mcamp_plan_row {
    mcamp_opt_family family;
    mcamp_amplification amplification;
    size_t buffers, bands, scale_degree, memory;
    mcamp_status status;        /* below 0: it failed, and result says nothing */
    mcamp_opt_result result;
} mcamp_plan_row;

typedef struct mcamp_plan_result {
    size_t rounds, batches;     /* batches: of an epoch                       */
    double eps, delta;
    size_t rows, best;          /* rows of the table; which was chosen        */
    mcamp_plan_row row[MCAMP_PLAN_ROWS];
    double sigma;               /* proven for the chosen C, if `certified`    */
    double rmse, max_error;     /* with that sigma                            */
    bool certified;
    mcamp_guarantee guarantee;  /* of the chosen C, ready for a session: BINS as verified;
                                   POISSON with a cycle of as many rounds as C has
                                   bands, and q = bands/batches; without sampling,
                                   SHUFFLE                                    */
} mcamp_plan_result;

/* Optimises every family that fits the memory under every sampling that is offered,
 * and certifies the best.  mech: free it.  Interrupted by the progress callback it
 * chooses among what it has (MCAMP_Q_INTERRUPTED).  Time: minutes at most for b <=
 * 1000.                                                                      */
MCAMP_API mcamp_status mcamp_plan(mcamp_ctx *ctx, const mcamp_plan_desc *desc,
                                  mcamp_mech *mech, mcamp_plan_result *out);

/* ======================================================================== *
 *  RECORDS                                         easy      (decl) record
 *  Text through a caller's function; the library opens and prints nothing.
 * ======================================================================== */

/* Receives n characters (no terminating 0); non-zero stops the report. */
typedef struct mcamp_writer {
    int (*write)(void *user, const char *text, size_t n);
    void *user;
} mcamp_writer;

#ifndef MCAMP_NO_STDLIB
/* A guarantee and the C that it is about as lines `key: value`, the last one a checksum
 * of the others: what a run starts from and what somebody else can check.  Numbers read
 * back as the same doubles.  MCAMP_E_MISMATCH: it is about another C.             */
MCAMP_API mcamp_status mcamp_record_write(const mcamp_guarantee *guarantee,
                                          const mcamp_mech *mech, const mcamp_writer *w);
/* The way back; free mech.  MCAMP_E_BLOB: not a record, edited or cut ("checksum", or the
 * line that is wrong), or made by a newer version ("version"); MCAMP_E_MISMATCH: fields
 * that contradict each other or C.  The checksum is no protection against forgery: whose
 * word is not good enough repeats the proof.                                      */
MCAMP_API mcamp_status mcamp_record_read(mcamp_ctx *ctx, const char *text, size_t size,
                                         mcamp_mech *mech, mcamp_guarantee *guarantee);
/* What the guarantee of this C rests on, computed once more: a claim that samples decided
 * with the same samples, so that out is the same to the bit on this machine; one without
 * samples from the accountants.  MCAMP_Q_REFUSED: it does not hold.               */
MCAMP_API mcamp_status mcamp_guarantee_repeat(mcamp_ctx *ctx, const mcamp_mech *mech,
                                              const mcamp_guarantee *guarantee,
                                              mcamp_guarantee *out);
#endif

/* ======================================================================== *
 *  REPORTS                                         easy      (decl) report
 * ======================================================================== */

typedef enum mcamp_report_format {
    MCAMP_REPORT_TEXT    = 0,   /* sentences                                    */
    MCAMP_REPORT_JSON    = 1,   /* one object, all digits, a point whatever the
                                   locale; what is not finite is null           */
    MCAMP_REPORT_MEMBERS = 2,   /* its members, each after a comma, for an object
                                   of your own                                  */
    MCAMP_REPORT_LEGAL   = 3,   /* the privacy statement of a run: setting, unit,
                                   adjacency, accounting, what is covered       */
    MCAMP_REPORT_CAPTION = 4,   /* half a line for a picture                    */
    MCAMP_REPORT_VALUE   = 5    /* the number alone that was asked for, for a table
                                   whose heading says the rest                  */
} mcamp_report_format;

#ifndef MCAMP_NO_STDLIB
/* An answer as what is known by it: an estimate, an interval or a closed form. */
MCAMP_API mcamp_status mcamp_guarantee_answer(const mcamp_answer *a, mcamp_guarantee *out);
/* The same for what an optimiser found for (eps, delta), or what was put together like it:
 * sigma, sigma_error, sensitivity and samples are read.  delta 0: sigma was only given (or
 * is 0), and nothing is claimed.                                                  */
MCAMP_API mcamp_status mcamp_guarantee_estimate(const mcamp_mech *mech, mcamp_batch_law law,
                                                uint64_t batches, const mcamp_opt_result *r,
                                                double eps, double delta, mcamp_guarantee *out);
/* And for what section exact says of events: `of` are the ends of what was asked for;
 * EPS, DELTA: then the other is given; else `value` was found for both, the smallest SIGMA,
 * the largest of the others.  beta: that of
 * mcamp_exact_info, 0 = certain.                                                  */
MCAMP_API mcamp_status mcamp_guarantee_interval(mcamp_quantity asked, mcamp_direction direction,
                                                mcamp_interval of, double value, double eps,
                                                double delta, double beta, mcamp_guarantee *out);
/* Any guarantee.  LEGAL: MCAMP_E_MISMATCH unless a C's both directions were proved.  */
MCAMP_API mcamp_status mcamp_report_guarantee(const mcamp_guarantee *guarantee,
                                              mcamp_report_format format,
                                              const mcamp_writer *w);
/* The guarantee of a training run with all that the session adds: JSON or LEGAL.   */
MCAMP_API mcamp_status mcamp_report_session(const mcamp_session *s, mcamp_report_format format,
                                            const mcamp_writer *w);
/* What was chosen (mech, NULL = without its values), its guarantee, and everything that
 * was tried: TEXT, JSON or MEMBERS.                                                */
MCAMP_API mcamp_status mcamp_report_plan(const mcamp_plan_result *r, const mcamp_mech *mech,
                                         mcamp_report_format format, const mcamp_writer *w);
#endif

MCAMP_EXTERN_C_END
#endif /* MCAMP_H_INCLUDED */

/* ------ Stop here if you only want the API. ------------------------------ */


#if defined(MCAMP_IMPLEMENTATION) && !defined(MCAMP_IMPLEMENTATION_DONE)
#define MCAMP_IMPLEMENTATION_DONE
#define MCAMP__PASS 1

/* ======================================================================== *
 *  CONFIGURATION                                                  >>config
 *  Refuses what would silently break a guarantee; switches off contraction of
 *  a*b+c for everything but the vector kernels, which state their error.
 * ======================================================================== */

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#ifndef MCAMP_NO_STDLIB
#  include <fenv.h>
#  include <stdio.h>
#  include <stdlib.h>
#endif

/* Optional: the vendor's own header, so that its prototypes fix the integers. */
#ifdef MCAMP_CBLAS_HEADER
#  include MCAMP_CBLAS_HEADER
#endif

#if defined(MCAMP_PTHREADS)
#  include <pthread.h>
#elif defined(MCAMP_OPENMP)
#  include <omp.h>
#endif

/* One message for each cause, with the way out. */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#  error "mcamp.h: -ffast-math, -Ofast and -ffinite-math-only remove the NaN checks that \
privacy rests on: compile the file with MCAMP_IMPLEMENTATION with -O2 -fno-fast-math"
#elif defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#  error "mcamp.h: -fassociative-math and -freciprocal-math break the error bounds: compile \
the file with MCAMP_IMPLEMENTATION with -O2 -fno-fast-math"
#endif
/* 16 and 32 (processors with half precision) leave double alone as 0 does, and 1 too:
 * there float alone is computed as double, which rounds to the same float.          */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1 && \
    FLT_EVAL_METHOD != -1 && FLT_EVAL_METHOD != 16 && FLT_EVAL_METHOD != 32
#  error "mcamp.h: needs FLT_EVAL_METHOD 0 (use -msse2 -mfpmath=sse)"
#endif
#if !defined(DBL_MANT_DIG) || DBL_MANT_DIG != 53
#  error "mcamp.h: needs IEEE binary64 doubles"
#endif

#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC push_options
#  pragma GCC optimize("fp-contract=off")
#elif defined(__clang__)
#  pragma clang fp contract(off)
#endif

#if defined(__GNUC__) || defined(__clang__)
#  define MCAMP__PRIV __attribute__((unused)) static
#  define MCAMP__APART __attribute__((noinline)) MCAMP__PRIV   /* has a frame of its own */
#else
#  define MCAMP__PRIV static
#  ifdef _MSC_VER
#    define MCAMP__APART __declspec(noinline) static
#  else
#    define MCAMP__APART static
#  endif
#endif

#ifndef MCAMP_ASSERT
#  define MCAMP_ASSERT(x) ((void)0)
#endif

/* Which vector sets are made.  MCAMP_VECTOR=0: none, lanes of one plain double; =1: the
 * baseline only; =2: all that the compiler can make, for which this file is read again
 * under whatever name it has.  The default is 2 where that is sure to work: the header
 * is a file of its own, neither pasted into another one nor behind other text, and can
 * be found.  (Pasted at the very top of another header it cannot tell: say 1 there.)  */
#ifdef MCAMP_VECTOR
#  undef MCAMP__ALONE
#  if MCAMP_VECTOR + 0 == 0
#    define MCAMP__NO_VECTOR
#  elif MCAMP_VECTOR + 0 > 1
#    define MCAMP__ALONE
#  endif
#endif
#if !defined(MCAMP__NO_VECTOR) && \
    !((defined(__GNUC__) || defined(__clang__)) && \
      (defined(__x86_64__) || defined(__aarch64__)))
#  define MCAMP__NO_VECTOR
#endif
#if !defined(MCAMP__NO_VECTOR) && defined(__x86_64__)
#  define MCAMP__X86
#  include <immintrin.h>
#endif
#if defined(MCAMP__X86) && defined(MCAMP__ALONE) && defined(__INCLUDE_LEVEL__) && \
    defined(__has_include)
#  if __INCLUDE_LEVEL__ > 0
#    if defined(__FILE_NAME__)
#      define MCAMP__SELF __FILE_NAME__
#    elif __has_include(__FILE__)
#      define MCAMP__SELF __FILE__
#    endif
#  endif
#endif

/* The system's entropy; without it /dev/urandom is read. */
#if defined(__linux__) && defined(__has_include) && !defined(MCAMP_NO_STDLIB)
#  if __has_include(<sys/random.h>)
#    define MCAMP__GETRANDOM
#    include <errno.h>
#    include <sys/random.h>
#  endif
#endif

MCAMP_EXTERN_C

/* ######################################################################## *
 *  PART I: CORE                                  what a guarantee rests on
 *  In: C, who takes part when, one claim (sigma, eps, delta, beta), keys, gradients.
 *  Out: an accepted or refused claim, a guarantee, and the released numbers of a run.
 *  Guarantee: a false claim is accepted with probability at most beta; a session
 *  releases nothing but what its guarantee speaks of.
 *  A fault here makes a guarantee false without anybody seeing it.  Nothing here calls
 *  parts II or III; `make core` compiles it alone.
 * ######################################################################## */

/* ======================================================================== *
 *  BASE                                                             >>base
 *  Status texts, context, self-check, checked sizes, allocation, compensated
 *  sums, log-space helpers, safeguarded root finding.  Every decision is
 *  written so that NaN takes the refusing branch; finiteness is tested on the
 *  bits, so that no compiler flag can remove the test.
 * ======================================================================== */

#define MCAMP__MAGIC 0x6d63616du
#define MCAMP__LN2   0.693147180559945309417232121458176568
#define MCAMP__PI    3.14159265358979323846264338327950288

MCAMP__PRIV uint64_t mcamp__bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

MCAMP__PRIV double mcamp__from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* 1 if x is neither infinite nor NaN, read off the exponent bits. */
MCAMP__PRIV int mcamp__finite(double x)
{
    return ((mcamp__bits(x) >> 52) & 0x7ff) != 0x7ff;
}

MCAMP__PRIV int mcamp__isnan(double x)
{
    return (mcamp__bits(x) & UINT64_C(0x7fffffffffffffff)) >
           UINT64_C(0x7ff0000000000000);
}

MCAMP__PRIV double mcamp__inf(void) { return mcamp__from_bits(UINT64_C(0x7ff) << 52); }
MCAMP__PRIV double mcamp__nan(void) { return mcamp__from_bits(UINT64_C(0x7ff8) << 48); }

MCAMP__PRIV double mcamp__dmax(double a, double b) { return a > b ? a : b; }
MCAMP__PRIV double mcamp__dmin(double a, double b) { return a < b ? a : b; }
MCAMP__PRIV size_t mcamp__zmax(size_t a, size_t b) { return a > b ? a : b; }
MCAMP__PRIV size_t mcamp__zmin(size_t a, size_t b) { return a < b ? a : b; }
MCAMP__PRIV uint64_t mcamp__umin(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* ---- status and context ------------------------------------------------ */

MCAMP_API const char *mcamp_strerror(mcamp_status status)
{
    switch ((int)status) {
#define MCAMP__X(name, value, text) case value: return text;
    MCAMP_STATUS_LIST(MCAMP__X)
#undef MCAMP__X
    default: return "unknown status";
    }
}

MCAMP_API int mcamp_version(void) { return MCAMP_VERSION; }

/* Records the failure and returns it: `return mcamp__fail(...)`. */
MCAMP__PRIV mcamp_status mcamp__fail(mcamp_ctx *ctx, mcamp_status status,
                                     const char *argument, double value)
{
    if (ctx) {
        ctx->err.status = status;
        ctx->err.argument = argument;
        ctx->err.value = value;
    }
    return status;
}

MCAMP__PRIV int mcamp__ctx_ok(const mcamp_ctx *ctx)
{
    return ctx && ctx->magic == MCAMP__MAGIC;
}

/* Checks that x is finite and lo < x < hi (or <=, where *_closed). */
MCAMP__PRIV mcamp_status mcamp__check(mcamp_ctx *ctx, const char *argument,
                                      double x, double lo, int lo_closed,
                                      double hi, int hi_closed)
{
    int ok;
    if (!mcamp__finite(x))
        return mcamp__fail(ctx, MCAMP_E_NONFINITE, argument, x);
    ok = (lo_closed ? x >= lo : x > lo) && (hi_closed ? x <= hi : x < hi);
    return ok ? MCAMP_OK : mcamp__fail(ctx, MCAMP_E_ARG, argument, x);
}

/* The smallest sigma and the largest magnitudes that are taken: within them
 * squares and ratios of squares neither overflow nor become denormal.        */
#define MCAMP__SIGMA_MIN 1e-100
#define MCAMP__SIGMA_MAX 1e100

MCAMP__PRIV mcamp_status mcamp__check_sigma(mcamp_ctx *ctx, const char *argument,
                                            double sigma)
{
    return mcamp__check(ctx, argument, sigma, MCAMP__SIGMA_MIN, 1,
                        MCAMP__SIGMA_MAX, 1);
}

MCAMP__PRIV mcamp_status mcamp__check_eps(mcamp_ctx *ctx, const char *argument,
                                          double eps)
{
    return mcamp__check(ctx, argument, eps, 0.0, 1, 1e9, 1);
}

/* For delta, beta and other probabilities: the open interval (0, 1). */
MCAMP__PRIV mcamp_status mcamp__check_prob(mcamp_ctx *ctx, const char *argument,
                                           double p)
{
    return mcamp__check(ctx, argument, p, 0.0, 0, 1.0, 0);
}

/* ---- checked sizes and memory ------------------------------------------ */

/* *out = a*b, or 0 and no change on overflow. */
MCAMP__PRIV int mcamp__mul_size(size_t a, size_t b, size_t *out)
{
    if (b && a > SIZE_MAX / b) return 0;
    *out = a * b;
    return 1;
}

MCAMP__PRIV int mcamp__add_size(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b) return 0;
    *out = a + b;
    return 1;
}

/* The allocator of a context that brings none. */
MCAMP__PRIV void *mcamp__std_alloc(size_t bytes)
{
#ifdef MCAMP_NO_STDLIB
    (void)bytes;
    return NULL;
#else
    return malloc(bytes);
#endif
}

MCAMP__PRIV void mcamp__std_free(void *p)
{
#ifdef MCAMP_NO_STDLIB
    (void)p;
#else
    free(p);
#endif
}

/* count * size bytes, zeroed; NULL on overflow or exhaustion.  A count of 0
 * gives a block of one byte, so that NULL always means failure.              */
MCAMP__PRIV void *mcamp__new(mcamp_ctx *ctx, size_t count, size_t size)
{
    size_t bytes;
    void *p;
    if (!mcamp__mul_size(count, size, &bytes)) return NULL;
    if (bytes > (size_t)PTRDIFF_MAX) return NULL;
    if (!bytes) bytes = 1;
    p = ctx->alloc.alloc ? ctx->alloc.alloc(ctx->alloc.user, bytes)
                         : mcamp__std_alloc(bytes);
    if (p) memset(p, 0, bytes);
    return p;
}

MCAMP__PRIV double *mcamp__new_doubles(mcamp_ctx *ctx, size_t count)
{
    return (double *)mcamp__new(ctx, count, sizeof(double));
}

/* Frees what mcamp__new(ctx, count, size) gave; NULL is fine. */
MCAMP__PRIV void mcamp__delete(mcamp_ctx *ctx, void *p, size_t count, size_t size)
{
    if (!p) return;
    if (ctx->alloc.free) {
        size_t bytes = count * size;
        ctx->alloc.free(ctx->alloc.user, p, bytes ? bytes : 1);
    } else {
        mcamp__std_free(p);
    }
}

MCAMP__PRIV void mcamp__delete_doubles(mcamp_ctx *ctx, double *p, size_t count)
{
    mcamp__delete(ctx, p, count, sizeof(double));
}

/* ---- the host's floating-point environment ------------------------------- */

/* A host may have unmasked traps, set another rounding mode, or be linked with -Ofast,
 * which makes the start-up code flush denormals.  Every public function that computes
 * begins with MCAMP__GUARD: until it returns, rounding is to nearest, nothing traps and
 * denormals are kept; then the host has its own again, flags included.  Threads of a
 * hook are guarded task by task.  The words are those of the processor where we know
 * them, else of <fenv.h>, which knows no flushing: mcamp__self_check looks for it.
 * (Without __attribute__((cleanup)) there is no guard, only that check.)            */
#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || \
    (defined(__i386__) && defined(__SSE2__)))
typedef struct mcamp__host { uint32_t sse; uint16_t x87; } mcamp__host;
#  define MCAMP__HOST_SSE 0x1f80u       /* all masked, to nearest, nothing flushed */

MCAMP__PRIV mcamp__host mcamp__host_enter(void)
{
    mcamp__host h = { 0, 0 };
    uint32_t sse = MCAMP__HOST_SSE;
    __asm__ __volatile__("stmxcsr %0" : "=m"(h.sse) : : "memory");
    if ((h.sse & ~0x3fu) != MCAMP__HOST_SSE)
        __asm__ __volatile__("ldmxcsr %0" : : "m"(sse) : "memory");
#  ifdef __i386__                       /* libm and results are in x87 registers */
    {
        uint16_t x87 = 0x37f;
        __asm__ __volatile__("fnstcw %0\n\tfldcw %1" : "=m"(h.x87) : "m"(x87) : "memory");
    }
#  endif
    return h;
}

MCAMP__PRIV void mcamp__host_leave(const mcamp__host *h)
{
    if ((h->sse & ~0x3fu) != MCAMP__HOST_SSE)
        __asm__ __volatile__("ldmxcsr %0" : : "m"(h->sse) : "memory");
#  ifdef __i386__
    __asm__ __volatile__("fnclex\n\tfldcw %0" : : "m"(h->x87) : "memory");
#  endif
}
#elif (defined(__GNUC__) || defined(__clang__)) && (defined(__aarch64__) || \
    (defined(__arm__) && defined(__VFP_FP__) && !defined(__SOFTFP__)))
typedef struct mcamp__host { uintptr_t word; } mcamp__host;
#  ifdef __aarch64__
#    define MCAMP__HOST_READ "mrs %0, fpcr"
#    define MCAMP__HOST_WRITE "msr fpcr, %0"
#    define MCAMP__HOST_FLAGS 0u        /* (they are in a register of their own) */
#  else
#    define MCAMP__HOST_READ "vmrs %0, fpscr"
#    define MCAMP__HOST_WRITE "vmsr fpscr, %0"
#    define MCAMP__HOST_FLAGS 0xf800009fu
#  endif

MCAMP__PRIV mcamp__host mcamp__host_enter(void)
{
    mcamp__host h = { 0 };
    uintptr_t plain;
    __asm__ __volatile__(MCAMP__HOST_READ : "=r"(h.word) : : "memory");
    plain = h.word & MCAMP__HOST_FLAGS;
    if (h.word != plain)
        __asm__ __volatile__(MCAMP__HOST_WRITE : : "r"(plain) : "memory");
    return h;
}

MCAMP__PRIV void mcamp__host_leave(const mcamp__host *h)
{
    if (h->word != (h->word & MCAMP__HOST_FLAGS))
        __asm__ __volatile__(MCAMP__HOST_WRITE : : "r"(h->word) : "memory");
}
#elif (defined(__GNUC__) || defined(__clang__)) && !defined(MCAMP_NO_STDLIB)
typedef struct mcamp__host { fenv_t env; } mcamp__host;

MCAMP__PRIV mcamp__host mcamp__host_enter(void)
{
    mcamp__host h;
    feholdexcept(&h.env);
    fesetround(FE_TONEAREST);
    return h;
}

MCAMP__PRIV void mcamp__host_leave(const mcamp__host *h)
{
    fesetenv(&h->env);
}
#else
#  define MCAMP__GUARD ((void)0)
#endif
#ifndef MCAMP__GUARD
#  define MCAMP__GUARD \
    const mcamp__host mcamp__host_was \
        __attribute__((cleanup(mcamp__host_leave), unused)) = mcamp__host_enter()
#endif

/* A task, and what it is called with, for a thread that may be anybody's. */
typedef struct mcamp__guarded {
    void (*task)(void *arg, size_t i);
    void *arg;
} mcamp__guarded;

MCAMP__PRIV void mcamp__run_guarded(void *arg, size_t i)
{
    MCAMP__GUARD;
    const mcamp__guarded *g = (const mcamp__guarded *)arg;
    g->task(g->arg, i);
}

/* Runs the tasks through the context's hook, or in a loop. */
MCAMP__PRIV void mcamp__run(const mcamp_ctx *ctx, size_t ntask,
                            void (*task)(void *arg, size_t i), void *arg)
{
    if (ctx->parallel.run && ntask > 1) {
        mcamp__guarded g;
        g.task = task;
        g.arg = arg;
        ctx->parallel.run(ctx->parallel.user, ntask, mcamp__run_guarded, &g);
    } else {
        for (size_t i = 0; i < ntask; i++) task(arg, i);
    }
}

#ifdef MCAMP_PTHREADS
/* Thread i of `width` runs tasks i, i + width, ... */
typedef struct mcamp__share {
    void (*task)(void *arg, size_t i);
    void *arg;
    size_t first, step, ntask;
} mcamp__share;

MCAMP__PRIV void *mcamp__share_run(void *p)
{
    const mcamp__share *s = (const mcamp__share *)p;
    for (size_t i = s->first; i < s->ntask; i += s->step) s->task(s->arg, i);
    return NULL;
}
#endif

#if defined(MCAMP_PTHREADS) || defined(MCAMP_OPENMP)
#define MCAMP__THREADS_MAX 256

/* user: the width, as a pointer-sized number.  A thread that cannot be started has
 * its share run by the caller.                                                  */
MCAMP__PRIV void mcamp__threads_run(void *user, size_t ntask,
                                    void (*task)(void *arg, size_t i), void *arg)
{
    size_t width = mcamp__zmin((size_t)(uintptr_t)user, ntask);
#ifdef MCAMP_PTHREADS
    pthread_t thread[MCAMP__THREADS_MAX];
    mcamp__share share[MCAMP__THREADS_MAX];
    int started[MCAMP__THREADS_MAX];
    for (size_t i = 0; i < width; i++) {
        share[i].task = task; share[i].arg = arg; share[i].ntask = ntask;
        share[i].first = i; share[i].step = width;
        started[i] = i && !pthread_create(&thread[i], NULL, mcamp__share_run, &share[i]);
    }
    for (size_t i = 0; i < width; i++) {
        if (!started[i]) mcamp__share_run(&share[i]);
    }
    for (size_t i = 0; i < width; i++) {
        if (started[i]) pthread_join(thread[i], NULL);
    }
#else
    long i, count = (long)ntask;
#   pragma omp parallel for num_threads((int)width) schedule(static, 1)
    for (i = 0; i < count; i++) task(arg, (size_t)i);
#endif
}
#endif

MCAMP_API mcamp_parallel mcamp_parallel_threads(size_t width)
{
    mcamp_parallel p;
    memset(&p, 0, sizeof p);
#if defined(MCAMP_PTHREADS) || defined(MCAMP_OPENMP)
    p.width = mcamp__zmin(mcamp__zmax(width, 1), MCAMP__THREADS_MAX);
    p.user = (void *)(uintptr_t)p.width;
    p.run = mcamp__threads_run;
#else
    (void)width;
#endif
    return p;
}

/* 1 if the user asked to stop. */
MCAMP__PRIV int mcamp__progress(const mcamp_ctx *ctx, double fraction, double best)
{
    return ctx->progress.fn &&
           ctx->progress.fn(ctx->progress.user, fraction, best) != 0;
}

/* ---- compensated sums --------------------------------------------------- */

/* Neumaier's sum: the error is about one rounding of the result plus u^2 times
 * the sum of magnitudes.                                                      */
typedef struct mcamp__sum { double s, c; } mcamp__sum;

MCAMP__PRIV void mcamp__sum_add(mcamp__sum *a, double x)
{
    double t = a->s + x;
    if (fabs(a->s) >= fabs(x)) a->c += (a->s - t) + x;
    else                       a->c += (x - t) + a->s;
    a->s = t;
}

/* An infinite or NaN sum is returned as it stands: its correction is NaN. */
MCAMP__PRIV double mcamp__sum_get(const mcamp__sum *a)
{
    return mcamp__finite(a->s) ? a->s + a->c : a->s;
}

/* Equality of values, false for NaN; spelled so where equality is meant. */
MCAMP__PRIV int mcamp__eq(double a, double b) { return a <= b && a >= b; }

/* ---- log space ---------------------------------------------------------- */

/* log(e^a + e^b); -inf and +inf are handled, NaN is passed on. */
MCAMP__PRIV double mcamp__log_add(double a, double b)
{
    double hi = a > b ? a : b, lo = a > b ? b : a;
    if (mcamp__isnan(a) || mcamp__isnan(b)) return mcamp__nan();
    if (mcamp__eq(hi, lo) && !mcamp__finite(hi)) return hi;
    return hi + log1p(exp(lo - hi));
}

/* log(1 - e^x) for x <= 0 without cancellation; -inf at x = 0; NaN for x > 0. */
MCAMP__PRIV double mcamp__log1mexp(double x)
{
    if (!(x <= 0)) return mcamp__nan();
    if (!(x < 0)) return -mcamp__inf();
    return x > -MCAMP__LN2 ? log(-expm1(x)) : log1p(-exp(x));
}

/* log(e^a - e^b) for a >= b; NaN if a < b. */
MCAMP__PRIV double mcamp__log_sub(double a, double b)
{
    if (b < -DBL_MAX) return a;
    return a + mcamp__log1mexp(b - a);
}

/* ---- root finding ------------------------------------------------------- */

/* A bracketed root of a monotone f: regula falsi with the Illinois weight,
 * falling back to bisection whenever it does not halve the bracket in two
 * steps.  The caller evaluates f; the object only chooses where.
 *   lo, flo, hi, fhi: bracket with sign(flo) != sign(fhi).                    */
typedef struct mcamp__root {
    double lo, flo, hi, fhi;
    double width;       /* bracket width two steps ago */
    int side, steps;
} mcamp__root;

MCAMP__PRIV void mcamp__root_init(mcamp__root *r, double lo, double flo,
                                  double hi, double fhi)
{
    r->lo = lo; r->flo = flo; r->hi = hi; r->fhi = fhi;
    r->width = fabs(hi - lo); r->side = 0; r->steps = 0;
}

MCAMP__PRIV double mcamp__root_next(const mcamp__root *r)
{
    double mid = r->lo + 0.5 * (r->hi - r->lo), x;
    if (r->steps % 3 == 2 && fabs(r->hi - r->lo) > 0.5 * r->width) return mid;
    if (!mcamp__finite(r->flo) || !mcamp__finite(r->fhi)) return mid;
    x = r->hi - r->fhi * (r->hi - r->lo) / (r->fhi - r->flo);
    return (x > mcamp__dmin(r->lo, r->hi) && x < mcamp__dmax(r->lo, r->hi)) ? x : mid;
}

MCAMP__PRIV void mcamp__root_update(mcamp__root *r, double x, double fx)
{
    if (r->steps % 3 == 2) r->width = fabs(r->hi - r->lo);
    r->steps++;
    if ((fx > 0) == (r->fhi > 0)) {
        if (r->side == 1) r->flo *= 0.5;
        r->hi = x; r->fhi = fx; r->side = 1;
    } else {
        if (r->side == -1) r->fhi *= 0.5;
        r->lo = x; r->flo = fx; r->side = -1;
    }
}

/* ---- self-check and context --------------------------------------------- */

/* Each probe reads its inputs through volatile, so that it tests the code that runs
 * rather than the compiler's constant folder.                                     */

/* Rounding to nearest even, no excess precision. */
MCAMP__PRIV int mcamp__rounds_to_nearest(void)
{
    volatile double one = 1.0, tiny = DBL_EPSILON / 2, a, b;
    a = one + tiny;
    b = one + 3 * tiny;
    return mcamp__eq(a, 1.0) && mcamp__eq(b, 1.0 + 2 * DBL_EPSILON);
}

/* Denormals neither flushed nor read as zero. */
MCAMP__PRIV int mcamp__keeps_denormals(void)
{
    volatile double small = DBL_MIN, a, b;
    a = small / 4;
    b = a * 4;
    return a > 0 && mcamp__eq(b, DBL_MIN);
}

/* Kahan's sum keeps what a plain sum loses; and a quotient is one operation, also where
 * many share their divisor: 49 (1/49) is not 1.                                     */
MCAMP__PRIV int mcamp__keeps_order(void)
{
    volatile double one = 1.0, big = 1e16, divisor = 49.0;
    double s = big, c = 0, d = divisor, quotient[4];
    for (int i = 0; i < 1000; i++) {
        double y = one - c, t = s + y;
        c = (t - s) - y;
        s = t;
    }
    for (int i = 0; i < 4; i++) quotient[i] = (49.0 * (1 << i)) / d;
    for (int i = 0; i < 4; i++)
        if (!mcamp__eq(quotient[i], (double)(1 << i))) return 0;
    return mcamp__eq(s, 1e16 + 1000);
}

/* NaN compares false, and the bit test sees it. */
MCAMP__PRIV int mcamp__sees_nan(void)
{
    volatile double one = 1.0, nan = mcamp__nan();
    return !(nan <= one) && !(nan > one) && !mcamp__finite(nan) && mcamp__isnan(nan);
}

/* NULL, or why this program's floating point cannot be trusted, and what to do. */
MCAMP__PRIV const char *mcamp__self_check(void)
{
    if (!mcamp__rounds_to_nearest())
        return "rounding is not to nearest: call fesetround(FE_TONEAREST) first";
    if (!mcamp__keeps_denormals())
        return "denormals are flushed: linked with -Ofast or -ffast-math? link without";
    if (!mcamp__keeps_order())
        return "sums or quotients are rewritten: compile mcamp.h with -fno-fast-math";
    if (!mcamp__sees_nan())
        return "NaN is not seen: compile mcamp.h with -fno-fast-math";
    return NULL;
}

/* 1 if this processor and compiler can run the set. */
MCAMP__PRIV int mcamp__vecset_available(mcamp_vecset v)
{
    if (v == MCAMP_VEC_SCALAR) return 1;
#ifdef MCAMP__SELF
    __builtin_cpu_init();
    if (v == MCAMP_VEC_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (v == MCAMP_VEC_AVX512)
        return __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
#endif
    return 0;
}

MCAMP__PRIV mcamp_vecset mcamp__vecset_best(void)
{
    if (mcamp__vecset_available(MCAMP_VEC_AVX512)) return MCAMP_VEC_AVX512;
    if (mcamp__vecset_available(MCAMP_VEC_AVX2)) return MCAMP_VEC_AVX2;
    return MCAMP_VEC_SCALAR;
}

MCAMP_API mcamp_status mcamp_ctx_init(mcamp_ctx *ctx, const mcamp_ctx_desc *desc)
{
    MCAMP__GUARD;
    const char *why = mcamp__self_check();
    if (!ctx) return MCAMP_E_ARG;
    memset(ctx, 0, sizeof *ctx);
    if (why) return mcamp__fail(ctx, MCAMP_E_FPENV, why, 0);
    if (desc) {
        if (desc->start_canary || desc->end_canary)
            return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
        if (!desc->alloc.alloc != !desc->alloc.free)
            return mcamp__fail(ctx, MCAMP_E_ARG, "alloc", 0);
        ctx->alloc = desc->alloc;
        ctx->parallel = desc->parallel;
        ctx->progress = desc->progress;
        ctx->vec = desc->vec;
    }
    if (ctx->vec == MCAMP_VEC_DEFAULT) ctx->vec = mcamp__vecset_best();
    if (!mcamp__vecset_available(ctx->vec))
        return mcamp__fail(ctx, MCAMP_E_ARG, "vec", (double)ctx->vec);
    ctx->magic = MCAMP__MAGIC;
    return MCAMP_OK;
}

MCAMP_API mcamp_error mcamp_last_error(const mcamp_ctx *ctx)
{
    mcamp_error none;
    memset(&none, 0, sizeof none);
    return ctx ? ctx->err : none;
}

/* ======================================================================== *
 *  RANDOM NUMBERS                                                    >>rng
 *  In: (seed, purpose, block).  Out: 64-bit integers and uniforms, the same on
 *  every machine and vector set.  No memory, no hidden state.  Generators:
 *  xoshiro256++ (Blackman and Vigna, 2018) seeded through splitmix64's
 *  finaliser (Steele, Lea and Flood, 2014).  For simulation, never for noise
 *  that is released.
 * ======================================================================== */

/* What the library uses streams for.  A purpose is part of the stream's name,
 * so that no two uses can ever see the same numbers.                         */
typedef enum mcamp__purpose {
    MCAMP__STREAM_PILOT     = 1,    /* choosing k, tilts, bets             */
    MCAMP__STREAM_ESTIMATE  = 2,    /* reported estimates                  */
    MCAMP__STREAM_CALIBRATE = 3,    /* common random numbers over sigma    */
    MCAMP__STREAM_VERIFY    = 4,    /* certificates; nothing else uses it  */
    MCAMP__STREAM_GRADIENT  = 5,
    MCAMP__STREAM_BATCH     = 6,    /* simulated batch assignments         */
    MCAMP__STREAM_TEST      = 7,
    MCAMP__STREAM_CURVE     = 8     /* simulated curves, for composition   */
} mcamp__purpose;

#define MCAMP__GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* splitmix64's finaliser: a bijection of the 64-bit words that fixes only 0. */
MCAMP__PRIV uint64_t mcamp__mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

MCAMP__PRIV uint64_t mcamp__splitmix(uint64_t *state)
{
    return mcamp__mix(*state += MCAMP__GOLDEN);
}

/* Word i of the state of lane `lane` of stream (seed, purpose, block).  Each
 * argument enters between two bijections, so that changing any single one
 * changes every word; the words differ through i's constant alone.           */
MCAMP__PRIV uint64_t mcamp__stream_word(uint64_t seed, uint64_t purpose,
                                        uint64_t block, uint64_t lane, uint64_t i)
{
    uint64_t h = mcamp__mix(mcamp__mix(seed + MCAMP__GOLDEN) + i * MCAMP__GOLDEN);
    h = mcamp__mix(h + (purpose + 1) * MCAMP__GOLDEN);
    h = mcamp__mix(h + (block + 1) * MCAMP__GOLDEN);
    return mcamp__mix(h + (lane + 1) * MCAMP__GOLDEN);
}

MCAMP__PRIV void mcamp__stream_state(uint64_t s[4], uint64_t seed,
                                     uint64_t purpose, uint64_t block,
                                     uint64_t lane)
{
    uint64_t any = 0;
    for (uint64_t i = 0; i < 4; i++)
        any |= s[i] = mcamp__stream_word(seed, purpose, block, lane, i);
    if (!any) s[0] = MCAMP__GOLDEN;     /* 0 is the generator's one bad state */
}

MCAMP__PRIV uint64_t mcamp__rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

MCAMP__PRIV uint64_t mcamp__rng_step(uint64_t s[4])
{
    uint64_t out = mcamp__rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = mcamp__rotl(s[3], 45);
    return out;
}

/* The 52 highest bits and a half: symmetric about 1/2, never 0 or 1. */
MCAMP__PRIV double mcamp__to_uniform(uint64_t x)
{
    return ((double)(x >> 12) + 0.5) * DBL_EPSILON;
}

MCAMP_API void mcamp_rng_seed(mcamp_rng *r, uint64_t seed)
{
    if (!r) return;     /* four outputs of a bijection of distinct inputs are */
    for (int i = 0; i < 4; i++) r->s[i] = mcamp__splitmix(&seed); /* not all 0 */
}

MCAMP_API void mcamp_rng_stream(mcamp_rng *r, uint64_t seed, uint32_t purpose,
                                uint64_t block)
{
    if (r) mcamp__stream_state(r->s, seed, purpose, block, 8);
}

MCAMP_API uint64_t mcamp_rng_next(mcamp_rng *r)
{
    return r ? mcamp__rng_step(r->s) : 0;
}

MCAMP_API double mcamp_rng_uniform(mcamp_rng *r)
{
    return r ? mcamp__to_uniform(mcamp__rng_step(r->s)) : 0;
}

/* Eight interleaved generators for the vector kernels: word i of lane l is
 * s[i][l].  Lanes 0..7 of a stream; mcamp_rng_stream gives lane 8, so that the
 * two never meet.                                                            */
typedef struct mcamp__rng8 { uint64_t s[4][8]; } mcamp__rng8;

MCAMP__PRIV void mcamp__rng8_stream(mcamp__rng8 *r, uint64_t seed,
                                    uint32_t purpose, uint64_t block)
{
    for (uint64_t lane = 0; lane < 8; lane++) {
        uint64_t s[4];
        mcamp__stream_state(s, seed, (uint64_t)purpose, block, lane);
        for (int i = 0; i < 4; i++) r->s[i][lane] = s[i];
    }
}

/* ======================================================================== *
 *  GAUSSIAN FUNCTIONS                                              >>gauss
 *  In: real numbers.  Out: log Phi; the curve of the Gaussian mechanism.
 *  No memory.  Everything rests on Mills' ratio
 *  R(x) = (1 - Phi(x)) / phi(x), which neither under- nor overflows, so that
 *  tails keep their relative accuracy however small they are.
 * ======================================================================== */

#define MCAMP__LOG_SQRT_2PI 0.918938533204672741780329736405617640
#define MCAMP__SQRT_2PI     2.50662827463100050241576528481104525
#define MCAMP__SQRT_PI_2    1.25331413731550025120788264240552263
#define MCAMP__SQRT1_2      0.707106781186547524400844362104849039
#define MCAMP__1_SQRT_PI    0.564189583547756286948079451560772586

/* x*x = hi + lo with hi exact: hi has 26 bits squared.  |x| <= 1e150. */
MCAMP__PRIV void mcamp__square(double x, double *hi, double *lo)
{
    double h = mcamp__from_bits(mcamp__bits(x) & ~UINT64_C(0x7ffffff));
    *hi = h * h;
    *lo = (x - h) * (x + h);
}

/* e^{x^2} erfc(x) for x >= 0, relative error a few ulp.  Below 25 the product
 * itself: erfc is a normal number there, and the rounding error of x^2, which
 * the exponential would magnify, is put back.  Above, the asymptotic series
 * 1/(x sqrt(pi)) sum_k (-1)^k (2k-1)!! / (2x^2)^k, an enveloping one: the
 * first omitted term, k = 8, is below 4e-19.                                  */
MCAMP__PRIV double mcamp__erfcx(double x)
{
    double hi, lo, s = 1, u;
    if (x < 25) {
        mcamp__square(x, &hi, &lo);
        return exp(hi) * (1 + lo * (1 + lo * (0.5 + lo / 6))) * erfc(x);
    }
    u = x < 1e100 ? 0.5 / (x * x) : 0.0;
    for (int k = 7; k >= 1; k--) s = 1 - (2 * k - 1) * u * s;
    return s * MCAMP__1_SQRT_PI / x;
}

/* R(x) = (1 - Phi(x))/phi(x) = int_0^inf e^{-xt - t^2/2} dt for x >= 0. */
MCAMP__PRIV double mcamp__mills(double x)
{
    return MCAMP__SQRT_PI_2 * mcamp__erfcx(x * MCAMP__SQRT1_2);
}

/* phi(x), relative error a few ulp however far out x is. */
MCAMP__PRIV double mcamp__gauss_pdf(double x)
{
    double hi, lo;
    if (!(fabs(x) < 40)) return mcamp__isnan(x) ? x : 0.0;
    mcamp__square(x, &hi, &lo);
    return exp(-0.5 * hi) * exp(-0.5 * lo) / MCAMP__SQRT_2PI;
}

/* log(1 - Phi(x)), for any x (NaN gives NaN); relative error below 1e-14 for x from
 * -1e150 to 1e150, here and below.                                              */
MCAMP__PRIV double mcamp__gauss_logsf(double x)
{
    if (x < 0) return log1p(-mcamp__gauss_pdf(x) * mcamp__mills(-x));
    if (x < 1) return log(0.5 * erfc(x * MCAMP__SQRT1_2));
    if (x > DBL_MAX) return -mcamp__inf();
    return -0.5 * x * x - MCAMP__LOG_SQRT_2PI + log(mcamp__mills(x));
}

/* log Phi(x). */
MCAMP__PRIV double mcamp__gauss_logcdf(double x) { return mcamp__gauss_logsf(-x); }

/* ---- the Gaussian mechanism ---------------------------------------------- */

/* log(R(m - mu/2) - R(m + mu/2)) for mu <= max(1, m)/2, without cancellation:
 * the difference is int e^{-t^2/2 - mt} 2 sinh(mu t/2) dt
 *     = 2 sum_{k odd} (mu/2)^k / k! M_k,  M_k = int t^k e^{-t^2/2 - mt} dt,
 * all terms positive.  M_{k+1} = k M_{k-1} - m M_k (by parts), of which M is
 * the minimal solution: for m >= 1 the ratios r_k = M_k/M_{k-1} come from
 * r_k = k/(m + r_{k+1}) downwards, which forgets its start like
 * exp(-2m(sqrt K - sqrt k)); for m < 1 the upward recursion loses less than two
 * digits of terms that hardly count.  Terms fall at least 16-fold.             */
MCAMP__PRIV double mcamp__log_mills_diff(double m, double mu)
{
    enum { N = 28 };
    double r[N + 2], R = mcamp__mills(m), h = 0.5 * mu, t = 1, s = 1;
    if (m >= 1) {
        int K = N + 12 + (int)(300 / (m * m));
        double c = 0.5 * (sqrt(m * m + 4.0 * K) - m);
        for (int k = K; k >= 1; k--) {
            c = k / (m + c);
            if (k <= N) r[k] = c;
        }
    } else {
        r[1] = 1 / R - m;
        for (int k = 1; k < N; k++) r[k + 1] = k / r[k] - m;
    }
    for (int k = 3; k < N; k += 2) {
        t *= h * h * r[k - 1] * r[k] / (k * (k - 1.0));
        s += t;
        if (!(t > 1e-18 * s)) break;
    }
    return log(mu) + log(r[1]) + log(R) + log(s);
}

/* log delta for mu > 0, eps >= 0.  With m = eps/mu, a = m - mu/2, b = m + mu/2,
 * e^eps phi(b) = phi(a), hence delta = phi(a) (R(a) - R(b)).  The rounding
 * errors of m and a are carried (a = a + al): log delta is about -a^2/2.        */
MCAMP__PRIV double mcamp__gauss_logdelta_pos(double mu, double eps)
{
    double m = eps / mu, h = 0.5 * mu, a = m - h, al, d;
    if (!(m < 1e150)) return -mcamp__inf();
    if (mu > 1e150) return 0.0;
    al = m >= h ? (m - a) - h : m - (h + a);
    al -= fma(m, mu, -eps) / mu;
    if (mu <= 0.5 * mcamp__dmax(1.0, m)) {
        d = mcamp__log_mills_diff(m, mu);
    } else if (a < 0) {             /* 1 - delta = phi(a) (R(-a) + R(b)) < 0.9 */
        return log1p(-mcamp__gauss_pdf(a) * (mcamp__mills(-a) + mcamp__mills(m + h)));
    } else {                        /* R(b) < 0.7 R(a) */
        d = log(mcamp__mills(a) - mcamp__mills(m + h));
    }
    return -0.5 * a * a - a * al - MCAMP__LOG_SQRT_2PI + d;
}

/* log delta of the Gaussian mechanism with mu = sensitivity / sigma >= 0 at any real
 * eps (the two directions, remove and add, agree):
 *     delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).
 * Error below 3e-15 + 5e-16 |log delta|; delta may be far below DBL_MIN.  For eps < 0
 * delta(eps) = 1 - e^eps (1 - delta(-eps)) in the form that does not cancel.    */
MCAMP__PRIV double mcamp__gauss_logdelta(double mu, double eps)
{
    double l, r;
    if (mcamp__isnan(eps) || !(mu >= 0)) return mcamp__nan();
    if (!(mu > 0)) return eps < 0 ? mcamp__log1mexp(eps) : -mcamp__inf();
    if (mu > DBL_MAX) return eps > DBL_MAX ? mcamp__nan() : 0.0;
    l = mcamp__gauss_logdelta_pos(mu, fabs(eps));
    if (eps < 0)
        l = eps > -MCAMP__LN2 ? log(-expm1(eps) + exp(eps + l))
                              : log1p(exp(eps) * expm1(l));
    r = l < 0 ? l : (l >= 0 ? 0.0 : l);
    return r;
}

/* An upper bound of the exact log delta: more than the stated error on top. */
MCAMP__PRIV double mcamp__gauss_logdelta_up(double mu, double eps)
{
    double l = mcamp__gauss_logdelta(mu, eps);
    if (!mcamp__finite(l)) return l;
    return mcamp__dmin(0.0, l + (6e-15 + 1e-15 * fabs(l)));
}

/* mu rounded up: the quotient's error is half an ulp. */
MCAMP__PRIV double mcamp__gauss_mu_up(double sigma, double sensitivity)
{
    return sensitivity / sigma * (1 + DBL_EPSILON);
}

MCAMP__PRIV mcamp_status mcamp__gauss_check(mcamp_ctx *ctx, double sensitivity,
                                            const void *out, const char *name)
{
    if (!mcamp__ctx_ok(ctx)) return mcamp__fail(NULL, MCAMP_E_ARG, "ctx", 0);
    if (!out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, name, 0);
    return mcamp__check(ctx, "sensitivity", sensitivity, 0.0, 1,
                        MCAMP__SIGMA_MAX, 1);
}

MCAMP_API mcamp_status mcamp_gauss_delta(mcamp_ctx *ctx, double sigma,
                                         double sensitivity, double eps,
                                         double *delta)
{
    MCAMP__GUARD;
    double mu, d;
    mcamp_status st = mcamp__gauss_check(ctx, sensitivity, delta, "delta");
    if (st < 0) return st;
    if ((st = mcamp__check_sigma(ctx, "sigma", sigma)) < 0) return st;
    if ((st = mcamp__check_eps(ctx, "eps", eps)) < 0) return st;
    mu = mcamp__gauss_mu_up(sigma, sensitivity);
    d = mu > 0 ? exp(mcamp__gauss_logdelta_up(mu, eps)) : 0.0;
    if (mu > 0 && d < DBL_MIN) d = DBL_MIN;
    *delta = mcamp__dmin(1.0, d);
    return MCAMP_OK;
}

/* The smallest eps >= 0 with logdelta_up(mu, eps) <= ld, from above.  The upper
 * end of the bracket is the Chernoff bound log delta <= -(eps - mu^2/2)^2/(2mu^2).
 * What is returned has been evaluated and satisfies the condition.               */
MCAMP__PRIV double mcamp__gauss_eps_up(double mu, double ld)
{
    mcamp__root r;
    double lo = 0, hi = 0.5 * mu * mu + mu * sqrt(-2 * ld) + 1e-300, f0;
    f0 = mcamp__gauss_logdelta_up(mu, 0.0) - ld;
    if (f0 <= 0) return 0.0;
    while (!(mcamp__gauss_logdelta_up(mu, hi) <= ld)) hi *= 1.5;
    mcamp__root_init(&r, lo, f0, hi, mcamp__gauss_logdelta_up(mu, hi) - ld);
    while (r.steps < 200 && r.hi - r.lo > 4 * DBL_EPSILON * r.hi) {
        double x = mcamp__root_next(&r), f = mcamp__gauss_logdelta_up(mu, x) - ld;
        if (f <= 0 && f > -4e-15 * (1 - ld)) return x;
        mcamp__root_update(&r, x, f <= 0 ? mcamp__dmin(f, -DBL_MIN) : f);
    }
    return r.hi;
}

MCAMP_API mcamp_status mcamp_gauss_epsilon(mcamp_ctx *ctx, double sigma,
                                           double sensitivity, double delta,
                                           double *eps)
{
    MCAMP__GUARD;
    double mu;
    mcamp_status st = mcamp__gauss_check(ctx, sensitivity, eps, "eps");
    if (st < 0) return st;
    if ((st = mcamp__check_sigma(ctx, "sigma", sigma)) < 0) return st;
    if ((st = mcamp__check_prob(ctx, "delta", delta)) < 0) return st;
    mu = mcamp__gauss_mu_up(sigma, sensitivity);
    if (mu > 1e150)
        return mcamp__fail(ctx, MCAMP_E_INFEASIBLE, "sigma", sigma);
    *eps = mu > 0 ? mcamp__gauss_eps_up(mu, log(delta)) : 0.0;
    return MCAMP_OK;
}

/* The largest mu with logdelta_up(mu, eps) <= ld, from below, searched in
 * log mu.                                                                       */
MCAMP__PRIV double mcamp__gauss_mu_down(double eps, double ld)
{
    mcamp__root r;
    double lo = 0, hi, flo, fhi, s = sqrt(-2 * ld);
    lo = log(eps > 0 ? eps / (s + sqrt(s * s + 2 * eps)) : exp(ld));
    while (!((flo = mcamp__gauss_logdelta_up(exp(lo), eps) - ld) <= 0)) lo -= 0.5;
    hi = lo + 0.5;
    while ((fhi = mcamp__gauss_logdelta_up(exp(hi), eps) - ld) <= 0) {
        if (hi > 340) return exp(lo);
        lo = hi; flo = fhi; hi += 0.5;
    }
    mcamp__root_init(&r, lo, mcamp__dmin(flo, -DBL_MIN), hi, fhi);
    while (r.steps < 200 && r.hi - r.lo > DBL_EPSILON * (1 + fabs(r.lo))) {
        double x = mcamp__root_next(&r);
        double f = mcamp__gauss_logdelta_up(exp(x), eps) - ld;
        if (f <= 0 && f > -4e-15 * (1 - ld)) return exp(x);
        mcamp__root_update(&r, x, f <= 0 ? mcamp__dmin(f, -DBL_MIN) : f);
    }
    return exp(r.lo);
}

MCAMP__PRIV mcamp_status mcamp__gauss_check_target(mcamp_ctx *ctx, double eps,
                                                   double delta)
{
    mcamp_status st = mcamp__check_eps(ctx, "eps", eps);
    return st < 0 ? st : mcamp__check_prob(ctx, "delta", delta);
}

MCAMP_API mcamp_status mcamp_gauss_sigma(mcamp_ctx *ctx, double sensitivity,
                                         double eps, double delta, double *sigma)
{
    MCAMP__GUARD;
    double mu, s, ld;
    mcamp_status st = mcamp__gauss_check(ctx, sensitivity, sigma, "sigma");
    if (st < 0) return st;
    if ((st = mcamp__gauss_check_target(ctx, eps, delta)) < 0) return st;
    if ((st = mcamp__check_sigma(ctx, "sensitivity", sensitivity)) < 0) return st;
    ld = log(delta);
    mu = mcamp__gauss_mu_down(eps, ld);
    s = sensitivity / mu;
    while (!(mcamp__gauss_logdelta_up(mcamp__gauss_mu_up(s, sensitivity), eps) <= ld))
        s *= 1 + DBL_EPSILON;
    if (!(s >= MCAMP__SIGMA_MIN && s <= MCAMP__SIGMA_MAX))
        return mcamp__fail(ctx, MCAMP_E_INFEASIBLE, "sigma", s);
    *sigma = s;
    return MCAMP_OK;
}

/* ======================================================================== *
 *  VECTOR KERNELS                                                    >>vec
 *  The few loops that all the time goes into, for one tile of MCAMP__S samples:
 *  data is row-major [row][MCAMP__S], a lane is a sample.  Each function takes
 *  the vector set first and chooses among the copies of the kernel template.
 *  Random integers are the same in every set; floating-point results agree
 *  within the stated bounds (the order of sums and the use of fused
 *  multiply-add differ).  No memory is allocated but by _pack and _buf.
 *  u = 2^-53 below; bounds hold at any address, speed wants multiples of 64.
 * ======================================================================== */

/* Samples in a tile: the same in every set, because streams depend on it. */
#define MCAMP__S 64
/* Tuples that are drawn side by side; a divisor of MCAMP__S. */
#define MCAMP__GROUP 8

/* Doubles at a multiple of 64 bytes. */
typedef struct mcamp__buf {
    double *p;          /* count doubles, zeroed */
    void *mem;
    size_t count;
} mcamp__buf;

MCAMP__PRIV mcamp_status mcamp__buf_new(mcamp_ctx *ctx, size_t count,
                                        mcamp__buf *out)
{
    size_t all;
    void *mem = mcamp__add_size(count, 8, &all)
                    ? mcamp__new(ctx, all, sizeof(double)) : NULL;
    if (!mem) return mcamp__fail(ctx, MCAMP_E_MEMORY, "ctx", (double)count);
    out->mem = mem;
    out->count = count;
    out->p = (double *)mem + (64 - ((uintptr_t)mem & 63)) % 64 / sizeof(double);
    return MCAMP_OK;
}

MCAMP__PRIV void mcamp__buf_free(mcamp_ctx *ctx, mcamp__buf *buf)
{
    mcamp__delete(ctx, buf->mem, buf->count + 8, sizeof(double));
    memset(buf, 0, sizeof *buf);
}

/* A lower-triangular matrix, packed for mcamp__vec_trmm: groups of six rows
 * (the first group takes what is left over, where rows are short), each from
 * the first column in which one of its rows is not zero (the skyline) to the
 * diagonal, stored column by column, six values at a time.                   */
typedef struct mcamp__tri {
    size_t b, groups;
    int diagonal;       /* then data holds the b diagonal entries only */
    size_t head;        /* rows in the first group: 1 .. 6 */
    size_t *start, *at; /* per group: first column; offset into data   */
    const double *data;
    mcamp__buf buf;
} mcamp__tri;

/* The sequential law of k indices below b: index l is j with weight
 * base_j exp(sum of a_{j, j_m} over the m < l already drawn), or, with odds eta
 * (from the second on), one of those drawn before, each alike.  Made by
 * mcamp__tuple_init.                                                          */
typedef struct mcamp__tuple {
    size_t b, k;
    size_t ld;          /* b rounded up to a multiple of 32 */
    size_t stride;      /* of a and ea: ld + 8, so that a column of them is
                           spread over all sets of the cache */
    double eta;
    int diagonal;       /* then a and ea hold b entries */
    int uniform;        /* all base_j are 1/b */
    const double *base; /* [ld], zero beyond b */
    const double *upto; /* [b]: base_0 + .. + base_i */
    const double *a;    /* [b][stride], zero beyond column b */
    const double *ea;   /* exp(a), zero beyond column b; NULL: use logarithms */
    mcamp__buf buf;
} mcamp__tuple;

/* A tuple in the making. */
typedef struct mcamp__draw {
    uint32_t *j;        /* [k] */
    double *w;          /* [ld] weights */
    double *part;       /* [ld/4] their partial sums, after eight zeros */
    double *lanes;      /* [8] the sums of those, after eight zeros */
    double *sum, *y;    /* [ld] each: sum of the rows of a, exponents */
    double acc, prod;   /* log of the product of z = acc + log(prod) */
} mcamp__draw;

/* The first draw, from base itself. */
MCAMP__PRIV uint32_t mcamp__tuple_first(const mcamp__tuple *p, double u)
{
    size_t lo = 0, n = p->b;
    if (p->uniform) return (uint32_t)mcamp__zmin((size_t)(u * (double)n), n - 1);
    u *= p->upto[n - 1];
    while (n > 1) {
        size_t half = n / 2;
        if (p->upto[lo + half - 1] <= u) lo += half;
        n -= half;
    }
    return (uint32_t)lo;
}

/* Multiplies the running product; magnitudes are moved to acc in time. */
MCAMP__PRIV void mcamp__draw_factor(mcamp__draw *d, double factor, double log_factor)
{
    d->acc += log_factor;
    d->prod *= factor;
    if (d->prod > 1e-40 && d->prod < 1e40) return;
    d->acc += log(d->prod);
    d->prod = 1;
}

/* Which earlier draw to repeat (l: none), u being made uniform again. */
MCAMP__PRIV size_t mcamp__sticky_pick(const mcamp__tuple *p, size_t l, double *u)
{
    double v = *u / p->eta;
    if (v < 1) return mcamp__zmin((size_t)(v * (double)l), l - 1);
    *u = (*u - p->eta) / (1 - p->eta);
    return l;
}

/* z p / p~ for the index j drawn at l, where p = w_j / z and
 * p~ = (1 - eta) p + eta n_j / l.                                              */
MCAMP__PRIV double mcamp__sticky_ratio(double eta, double w, double z, double n,
                                       double l)
{
    return w / ((1 - eta) * (w / z) + eta * (n / l));
}

MCAMP__PRIV double mcamp__sticky_factor(const mcamp__tuple *p, const mcamp__draw *d,
                                        size_t l, uint32_t j, double z)
{
    size_t n = 0;
    for (size_t m = 0; m < l; m++) n += d->j[m] == j;
    return mcamp__sticky_ratio(p->eta, d->w[j], z, (double)n, (double)l);
}

/* An entry of positive weight, when rounding led to none: the heaviest. */
MCAMP__PRIV size_t mcamp__tuple_repair(const mcamp__tuple *p, const mcamp__draw *d)
{
    size_t best = 0;
    for (size_t i = 1; i < p->b; i++)
        if (d->w[i] > d->w[best]) best = i;
    return best;
}

/* Adds row j_{l-1} to sum, y := sum - max; returns the maximum. */
MCAMP__PRIV double mcamp__tuple_exponents(const mcamp__tuple *p, mcamp__draw *d,
                                          size_t l, size_t row)
{
    double m = -mcamp__inf();
    for (size_t i = 0; i < p->b; i++) {
        d->sum[i] = p->a[row + i] + (l > 1 ? d->sum[i] : 0);
        if (p->base[i] > 0) m = mcamp__dmax(m, d->sum[i]);
    }
    for (size_t i = 0; i < p->b; i++) d->y[i] = d->sum[i] - m;
    for (size_t i = p->b; i < p->ld; i++) d->y[i] = 0;
    return m;
}

/* ---- the kernels ------------------------------------------------------------
 * Written once, compiled for every vector set: MCAMP__PASS is 1 (baseline: SSE2,
 * NEON, or one plain double per lane) as the text stands here; below, this header
 * is read again for 2 (AVX2 + FMA) and 3 (AVX-512 F, DQ), and then all but the
 * kernels is skipped.  A kernel xyz becomes mcamp__k1_xyz, mcamp__k2_xyz, ...
 * Contracts and error bounds stand beside the functions that choose.          */
#endif /* MCAMP_IMPLEMENTATION */
#ifdef MCAMP__PASS

/* Here a*b + c may become one rounding: the bounds hold with it and without. */
#if defined(__clang__)
#  pragma clang fp contract(fast)
#elif defined(__GNUC__)
#  pragma GCC push_options
#  pragma GCC optimize("fp-contract=fast")
#endif

#define MCAMP__CAT2(a, b, c) a##b##_##c
#define MCAMP__CAT(a, b, c) MCAMP__CAT2(a, b, c)
#define MCAMP__K(name) MCAMP__CAT(mcamp__k, MCAMP__PASS, name)
enum { MCAMP__K(line) = __LINE__ };

#if MCAMP__PASS == 3
#  define MCAMP__W 8            /* lanes in a vector                          */
#  define MCAMP__COLS 4         /* vectors in trmm's register block: 6 x COLS */
#  define MCAMP__TARGET __attribute__((target("avx512f,avx512dq,avx2,fma")))
#elif MCAMP__PASS == 2
#  define MCAMP__W 4
#  define MCAMP__COLS 2
#  define MCAMP__TARGET __attribute__((target("avx2,fma")))
#elif defined(MCAMP__NO_VECTOR)
#  define MCAMP__W 1
#  define MCAMP__COLS 2
#  define MCAMP__TARGET
#else
#  define MCAMP__W 2
#  if defined(__aarch64__)
#    define MCAMP__COLS 4
#  else
#    define MCAMP__COLS 2
#  endif
#  define MCAMP__TARGET
#endif

#ifdef MCAMP__NO_VECTOR
#  define MCAMP__INL MCAMP__PRIV inline
typedef double MCAMP__K(v);
typedef uint64_t MCAMP__K(u);
#else
#  define MCAMP__INL static inline __attribute__((always_inline)) MCAMP__TARGET
typedef double MCAMP__K(v) __attribute__((vector_size(8 * MCAMP__W)));
typedef uint64_t MCAMP__K(u) __attribute__((vector_size(8 * MCAMP__W)));
/* the same in memory, at any address */
typedef double MCAMP__K(vm)
    __attribute__((vector_size(8 * MCAMP__W), aligned(8), may_alias));
typedef uint64_t MCAMP__K(um)
    __attribute__((vector_size(8 * MCAMP__W), aligned(8), may_alias));
#endif
#define MCAMP__ENTRY MCAMP__TARGET MCAMP__PRIV
#define MCAMP__V MCAMP__K(v)
#define MCAMP__U MCAMP__K(u)

/* ---- primitives: the only code that knows the instruction set -----------
 * (The maskz forms are the plain instructions; gcc 12 warns about its own
 * definitions of the others.)                                                */

#ifdef MCAMP__NO_VECTOR
MCAMP__INL double MCAMP__K(load)(const double *p) { return *p; }
MCAMP__INL void MCAMP__K(store)(double *p, double x) { *p = x; }
MCAMP__INL uint64_t MCAMP__K(loadu)(const uint64_t *p) { return *p; }
MCAMP__INL void MCAMP__K(storeu)(uint64_t *p, uint64_t x) { *p = x; }
MCAMP__INL double MCAMP__K(set)(double x) { return x; }
MCAMP__INL uint64_t MCAMP__K(bits)(double x) { return mcamp__bits(x); }
MCAMP__INL double MCAMP__K(from)(uint64_t x) { return mcamp__from_bits(x); }
MCAMP__INL double MCAMP__K(lt)(double a, double b, double x, double y)
{
    return a < b ? x : y;
}
#else
MCAMP__INL MCAMP__V MCAMP__K(load)(const double *p)
{
    return (MCAMP__V)*(const MCAMP__K(vm) *)p;
}

MCAMP__INL void MCAMP__K(store)(double *p, MCAMP__V x)
{
    *(MCAMP__K(vm) *)p = (MCAMP__K(vm))x;
}

MCAMP__INL MCAMP__U MCAMP__K(loadu)(const uint64_t *p)
{
    return (MCAMP__U)*(const MCAMP__K(um) *)p;
}

MCAMP__INL void MCAMP__K(storeu)(uint64_t *p, MCAMP__U x)
{
    *(MCAMP__K(um) *)p = (MCAMP__K(um))x;
}

MCAMP__INL MCAMP__V MCAMP__K(set)(double x)
{
#if MCAMP__PASS == 3
    return _mm512_set1_pd(x);
#elif MCAMP__PASS == 2
    return _mm256_set1_pd(x);
#else
    MCAMP__V v = { x, x };
    return v;
#endif
}

MCAMP__INL MCAMP__U MCAMP__K(bits)(MCAMP__V x) { return (MCAMP__U)x; }
MCAMP__INL MCAMP__V MCAMP__K(from)(MCAMP__U x) { return (MCAMP__V)x; }

/* a < b ? x : y, lane by lane; y where a or b is NaN */
MCAMP__INL MCAMP__V MCAMP__K(lt)(MCAMP__V a, MCAMP__V b, MCAMP__V x, MCAMP__V y)
{
#if MCAMP__PASS == 3
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), y, x);
#elif MCAMP__PASS == 2
    return _mm256_blendv_pd(y, x, _mm256_cmp_pd(a, b, _CMP_LT_OQ));
#else
    MCAMP__U m = (MCAMP__U)(a < b);
    return (MCAMP__V)((m & (MCAMP__U)x) | (~m & (MCAMP__U)y));
#endif
}
#endif /* MCAMP__NO_VECTOR */

/* a > b ? a : b; b where either is NaN */
MCAMP__INL MCAMP__V MCAMP__K(max)(MCAMP__V a, MCAMP__V b)
{
#if MCAMP__PASS == 3
    return _mm512_maskz_max_pd(0xff, a, b);
#elif MCAMP__PASS == 2
    return _mm256_max_pd(a, b);
#else
    return MCAMP__K(lt)(b, a, a, b);
#endif
}

/* a < b ? a : b; b where either is NaN */
MCAMP__INL MCAMP__V MCAMP__K(min)(MCAMP__V a, MCAMP__V b)
{
#if MCAMP__PASS == 3
    return _mm512_maskz_min_pd(0xff, a, b);
#elif MCAMP__PASS == 2
    return _mm256_min_pd(a, b);
#else
    return MCAMP__K(lt)(a, b, a, b);
#endif
}

/* The integer, rounded once to nearest.  Without a conversion instruction:
 * both halves are put behind the exponents of 2^84 and 2^52, and what those
 * add is taken off again exactly.                                            */
MCAMP__INL MCAMP__V MCAMP__K(to_double)(MCAMP__U x)
{
#if MCAMP__PASS == 3
    return _mm512_maskz_cvtepu64_pd(0xff, (__m512i)x);
#elif MCAMP__W == 1
    return (double)x;
#else
    MCAMP__U hi = (x >> 32) | UINT64_C(0x4530000000000000);
    MCAMP__U lo = (x & UINT64_C(0xffffffff)) | UINT64_C(0x4330000000000000);
    return (MCAMP__K(from)(hi) - 19342813118337666422669312.0) + MCAMP__K(from)(lo);
#endif
}

/* Square root of a normal, positive, finite number; within 1 ulp.  AVX-512's
 * own is slow, its 14-bit guess y of 1/sqrt(a) is fast: with e = 1 - a y^2,
 *     sqrt a = a y (1 - e)^(-1/2) = a y (1 + e/2 + 3 e^2/8 + 5 e^3/16 + ...),
 * the next term is below 2^-53 since |e| < 2^-13.                            */
MCAMP__INL MCAMP__V MCAMP__K(sqrt)(MCAMP__V a)
{
#if MCAMP__PASS == 3
    MCAMP__V y = _mm512_maskz_rsqrt14_pd(0xff, a), s = a * y, e = 1.0 - s * y, p;
    p = (e * 0.3125 + 0.375) * e + 0.5;
    return s + (s * e) * p;
#elif MCAMP__PASS == 2
    return _mm256_sqrt_pd(a);
#elif MCAMP__W == 1
    return sqrt(a);
#elif defined(MCAMP__X86)
    return _mm_sqrt_pd(a);
#else
    for (int i = 0; i < MCAMP__W; i++) a[i] = sqrt(a[i]);
    return a;
#endif
}

/* ---- exp and log --------------------------------------------------------- */

/* ln 2 in two parts, the first with 33 bits */
#define MCAMP__LN2_HI 6.93147180369123816490e-1
#define MCAMP__LN2_LO 1.90821492927058770002e-10

/* 1.5 * 2^52: adding it rounds to an integer and leaves that in the low bits. */
#define MCAMP__ROUND 6755399441055744.0

/* x = n ln 2 + r: gives r, and z in whose low bits n + bias stands.  |x| < 1e6;
 * ln 2 is split so that n times its upper part is exact.                      */
MCAMP__INL void MCAMP__K(exp_split)(MCAMP__V x, double bias, MCAMP__V *z, MCAMP__V *r)
{
    MCAMP__V n;
    *z = x * 1.4426950408889634 + (MCAMP__ROUND + bias);
    n = *z - (MCAMP__ROUND + bias);
    *r = (x - n * MCAMP__LN2_HI) - n * MCAMP__LN2_LO;
}

/* e^r, |r| <= 0.347, within 3e-16: 1 + r + r^2 q(r), q a minimax fit off by 8e-18
 * of e^r.  Even and odd powers go side by side, here and below: half the wait.  */
MCAMP__INL MCAMP__V MCAMP__K(exp_poly)(MCAMP__V r)
{
    MCAMP__V w = r * r, p, q;
    p = w * 2.7632655759332030799e-7 + 2.4801487326012336596e-5;
    q = w * 2.5110049895858716253e-8 + 2.7557242336680357124e-6;
    p = p * w + 1.3888888947820891418e-3;
    q = q * w + 1.984126988659099934e-4;
    p = p * w + 4.166666666652199074e-2;
    q = q * w + 8.3333333333222072959e-3;
    p = p * w + 0.50000000000000102245;
    q = q * w + 0.1666666666666667453;
    return ((q * r + p) * w + r) + 1.0;
}

MCAMP__INL MCAMP__V MCAMP__K(exp_core)(MCAMP__V x, double bias, MCAMP__V *z)
{
    MCAMP__V r;
    MCAMP__K(exp_split)(x, bias, z, &r);
    return MCAMP__K(exp_poly)(r);
}

/* e^x for -708 <= x <= 0; NaN gives NaN. */
MCAMP__INL MCAMP__V MCAMP__K(exp_neg)(MCAMP__V x)
{
    MCAMP__V z, p = MCAMP__K(exp_core)(x, 1023.0, &z);
    return p * MCAMP__K(from)(MCAMP__K(bits)(z) << 52);
}

/* e^x for every x.  2 e^r times 2^(n-1), so that n = 1024 is no special case. */
MCAMP__INL MCAMP__V MCAMP__K(exp)(MCAMP__V x)
{
    MCAMP__V z, p = MCAMP__K(exp_core)(x, 1022.0, &z);
    p = (p + p) * MCAMP__K(from)(MCAMP__K(bits)(z) << 52);
    p = MCAMP__K(lt)(x, MCAMP__K(set)(-708.0), MCAMP__K(set)(0.0), p);
    return MCAMP__K(lt)(MCAMP__K(set)(709.782712893384), x,
                        MCAMP__K(set)(mcamp__inf()), p);
}

/* x = 2^n (1 + f) for normal, positive, finite x, sqrt(1/2) <= 1 + f < sqrt 2:
 * gives f, exact, and n - bias.                                               */
MCAMP__INL MCAMP__V MCAMP__K(split)(MCAMP__V x, double bias, MCAMP__V *n)
{
    MCAMP__U u = MCAMP__K(bits)(x), t;
    t = u + (UINT64_C(0x4000000000000000) - UINT64_C(0x3fe6a09e667f3bcd));
    *n = MCAMP__K(from)((t >> 52) | UINT64_C(0x4330000000000000)) -
         (4503599627370496.0 + 1024.0 + bias);
    t = (t & UINT64_C(0xfff0000000000000)) - UINT64_C(0x4000000000000000);
    return MCAMP__K(from)(u - t) - 1.0;
}

/* log x for normal, positive, finite x; within 1 ulp.  With s = f/(2 + f)
 *     log(1 + f) = 2s + s R(s^2) = f - f^2/2 + s (f^2/2 + R),
 * where f and its half square carry the digits and R is small.  R/s^2 is a
 * minimax fit, off by 2e-18 of the result.                                    */
MCAMP__INL MCAMP__V MCAMP__K(log_core)(MCAMP__V x)
{
    MCAMP__V n, f = MCAMP__K(split)(x, 0.0, &n), s, z, q, h;
    s = f / (f + 2.0);
    z = s * s;
    q = z * 0.14813510045290970951 + 0.15312880911542500743;
    q = q * z + 0.18183581874897864168;
    q = q * z + 0.22222198910110334084;
    q = q * z + 0.28571428730821777539;
    q = q * z + 0.39999999999514225273;
    q = q * z + 0.66666666666667101211;
    h = (0.5 * f) * f;
    return n * MCAMP__LN2_HI +
           (f - (h - (s * (h + q * z) + n * MCAMP__LN2_LO)));
}

MCAMP__ENTRY void MCAMP__K(map_exp)(double *x, size_t n)
{
    double t[MCAMP__W];
    size_t i = 0, rest = n % MCAMP__W;
    for (; i < n - rest; i += MCAMP__W)
        MCAMP__K(store)(x + i, MCAMP__K(exp)(MCAMP__K(load)(x + i)));
    if (!rest) return;
    for (size_t j = 0; j < MCAMP__W; j++) t[j] = j < rest ? x[i + j] : 1.0;
    MCAMP__K(store)(t, MCAMP__K(exp)(MCAMP__K(load)(t)));
    for (size_t j = 0; j < rest; j++) x[i + j] = t[j];
}

/* ---- random numbers ------------------------------------------------------ */

typedef struct MCAMP__K(rng) { MCAMP__U a, b, c, d; } MCAMP__K(rng);

MCAMP__INL MCAMP__U MCAMP__K(rng_step)(MCAMP__K(rng) *r)
{
    MCAMP__U sum = r->a + r->d, t = r->b << 17;
    MCAMP__U out = ((sum << 23) | (sum >> 41)) + r->a;
    r->c ^= r->a;
    r->d ^= r->b;
    r->b ^= r->c;
    r->a ^= r->d;
    r->c ^= t;
    r->d = (r->d << 45) | (r->d >> 19);
    return out;
}

MCAMP__INL void MCAMP__K(rng_load)(MCAMP__K(rng) *r, uint64_t s[4][8], size_t lane)
{
    r->a = MCAMP__K(loadu)(s[0] + lane);
    r->b = MCAMP__K(loadu)(s[1] + lane);
    r->c = MCAMP__K(loadu)(s[2] + lane);
    r->d = MCAMP__K(loadu)(s[3] + lane);
}

MCAMP__INL void MCAMP__K(rng_store)(const MCAMP__K(rng) *r, uint64_t s[4][8],
                                    size_t lane)
{
    MCAMP__K(storeu)(s[0] + lane, r->a);
    MCAMP__K(storeu)(s[1] + lane, r->b);
    MCAMP__K(storeu)(s[2] + lane, r->c);
    MCAMP__K(storeu)(s[3] + lane, r->d);
}

/* sqrt(-2 log u), u = (x + 1/2) 2^-64, within 4 u of itself.  With s = f/(2 + f),
 * -2 log(1 + f) = s P(s^2); P is a minimax fit within 1.8e-16.  Where x + 1/2
 * rounds to 2^64 the logarithm is 0, which the square root must not see.      */
MCAMP__INL MCAMP__V MCAMP__K(radius)(MCAMP__U x)
{
    MCAMP__V n, f, s, z, q;
    f = MCAMP__K(split)(MCAMP__K(to_double)(x) + 0.5, 64.0, &n);
    s = f / (f + 2.0);
    z = s * s;
    q = z * -0.33683261961112644243 - 0.36243212298890428952;
    q = q * z - 0.44446889350663329374;
    q = q * z - 0.57142831755808401268;
    q = q * z - 0.8000000012530168018;
    q = q * z - 1.3333333333310164669;
    q = q * z - 4.000000000000000699;
    q = n * (-2 * MCAMP__LN2) + s * q;
    return MCAMP__K(sqrt)(MCAMP__K(max)(q, MCAMP__K(set)(1e-17)));
}

/* One Box-Muller pair from two words: the radius from x, and the direction
 * (+-cos(pi t), sin(pi t)) with t uniform on [-1/2, 1/2) from the lower 52 bits
 * of y and the sign from its highest.  That half circle needs no argument
 * reduction: sin(pi t) = t S(t^2) and cos(pi t) = (1/4 - t^2) C(t^2), S and C
 * minimax fits within 1.5e-16 and 2e-17.                                      */
MCAMP__INL void MCAMP__K(box_muller)(MCAMP__U x, MCAMP__U y, MCAMP__V *p,
                                     MCAMP__V *q)
{
    MCAMP__V r = MCAMP__K(radius)(x), t, w, s, c;
    t = MCAMP__K(from)((y & UINT64_C(0x000fffffffffffff)) |
                       UINT64_C(0x3ff0000000000000)) - 1.5;
    w = t * t;
    s = w * -2.1122952832357218064e-5 + 4.6597761690490342865e-4;
    c = w * -4.1318279034510323217e-6 + 1.035152090465812467e-4;
    s = s * w - 7.370361071648737103e-3;
    c = c * w - 1.9036696909388775347e-3;
    s = s * w + 8.2145878256548404263e-2;
    c = c * w + 2.53309695910217602e-2;
    s = s * w - 0.59926452877570957764;
    c = c * w - 0.22899788751887022518;
    s = s * w + 2.5501640398597762711;
    c = c * w + 1.2780132969493234032;
    s = s * w - 5.1677127800497525672;
    c = c * w - 3.7392088021786822204;
    s = s * w + 3.1415926535897927919;
    c = c * w + 3.9999999999999999297;
    c = r * (c * (0.25 - w));
    *p = MCAMP__K(from)(MCAMP__K(bits)(c) ^ (y & UINT64_C(0x8000000000000000)));
    *q = r * (s * t);
}

MCAMP__ENTRY void MCAMP__K(normals)(uint64_t s[4][8], double *out, size_t count)
{
    for (size_t lane = 0; lane < 8; lane += MCAMP__W) {
        MCAMP__K(rng) r;
        MCAMP__K(rng_load)(&r, s, lane);
        for (size_t i = lane; i < count; i += 16) {
            MCAMP__U x = MCAMP__K(rng_step)(&r), y = MCAMP__K(rng_step)(&r);
            MCAMP__V p, q;
            MCAMP__K(box_muller)(x, y, &p, &q);
            MCAMP__K(store)(out + i, p);
            MCAMP__K(store)(out + i + 8, q);
        }
        MCAMP__K(rng_store)(&r, s, lane);
    }
}

/* ---- triangular product -------------------------------------------------- */

/* A row of the register block: up to four vectors. */
typedef struct MCAMP__K(row) { MCAMP__V a, b, c, d; } MCAMP__K(row);

MCAMP__INL void MCAMP__K(row_zero)(MCAMP__K(row) *r)
{
    r->a = r->b = r->c = r->d = MCAMP__K(set)(0.0);
}

MCAMP__INL void MCAMP__K(row_load)(MCAMP__K(row) *r, const double *p)
{
    r->a = MCAMP__K(load)(p);
    r->b = MCAMP__K(load)(p + MCAMP__W);
    if (MCAMP__COLS < 4) return;
    r->c = MCAMP__K(load)(p + 2 * MCAMP__W);
    r->d = MCAMP__K(load)(p + 3 * MCAMP__W);
}

MCAMP__INL void MCAMP__K(row_store)(const MCAMP__K(row) *r, double *p)
{
    MCAMP__K(store)(p, r->a);
    MCAMP__K(store)(p + MCAMP__W, r->b);
    if (MCAMP__COLS < 4) return;
    MCAMP__K(store)(p + 2 * MCAMP__W, r->c);
    MCAMP__K(store)(p + 3 * MCAMP__W, r->d);
}

/* r += x * z */
MCAMP__INL void MCAMP__K(row_fma)(MCAMP__K(row) *r, double x,
                                  const MCAMP__K(row) *z)
{
    MCAMP__V v = MCAMP__K(set)(x);
    r->a += v * z->a;
    r->b += v * z->b;
    if (MCAMP__COLS < 4) return;
    r->c += v * z->c;
    r->d += v * z->d;
}

/* Six rows of L (panel[k][6], zero-padded) times len rows of z; the first
 * `rows` of the six are stored.                                              */
MCAMP__INL void MCAMP__K(trmm_block)(const double *panel, size_t len,
                                     const double *z, double *g, size_t rows)
{
    MCAMP__K(row) r0, r1, r2, r3, r4, r5, x;
    MCAMP__K(row_zero)(&r0); MCAMP__K(row_zero)(&r1); MCAMP__K(row_zero)(&r2);
    MCAMP__K(row_zero)(&r3); MCAMP__K(row_zero)(&r4); MCAMP__K(row_zero)(&r5);
    for (size_t k = 0; k < len; k++) {
        MCAMP__K(row_load)(&x, z + k * MCAMP__S);
        MCAMP__K(row_fma)(&r0, panel[6 * k], &x);
        MCAMP__K(row_fma)(&r1, panel[6 * k + 1], &x);
        MCAMP__K(row_fma)(&r2, panel[6 * k + 2], &x);
        MCAMP__K(row_fma)(&r3, panel[6 * k + 3], &x);
        MCAMP__K(row_fma)(&r4, panel[6 * k + 4], &x);
        MCAMP__K(row_fma)(&r5, panel[6 * k + 5], &x);
    }
    MCAMP__K(row_store)(&r0, g);
    if (rows > 1) MCAMP__K(row_store)(&r1, g + MCAMP__S);
    if (rows > 2) MCAMP__K(row_store)(&r2, g + 2 * MCAMP__S);
    if (rows > 3) MCAMP__K(row_store)(&r3, g + 3 * MCAMP__S);
    if (rows > 4) MCAMP__K(row_store)(&r4, g + 4 * MCAMP__S);
    if (rows > 5) MCAMP__K(row_store)(&r5, g + 5 * MCAMP__S);
}

MCAMP__ENTRY void MCAMP__K(trmm)(const mcamp__tri *L, const double *z, double *g)
{
    const size_t step = MCAMP__W * MCAMP__COLS;
    for (size_t s = 0; s < MCAMP__S; s += step) {
        size_t i = 0, end = L->head;
        for (size_t r = 0; r < L->groups; r++) {
            size_t start = L->start[r];
            MCAMP__K(trmm_block)(L->data + L->at[r], end - start,
                                 z + start * MCAMP__S + s, g + i * MCAMP__S + s,
                                 end - i);
            i = end;
            end += 6;
        }
    }
}

/* g_i = d_i z_i */
MCAMP__ENTRY void MCAMP__K(scale_rows)(const double *d, size_t b, const double *z,
                                       double *g)
{
    for (size_t i = 0; i < b; i++) {
        MCAMP__V v = MCAMP__K(set)(d[i]);
        for (size_t s = i * MCAMP__S; s < (i + 1) * MCAMP__S; s += MCAMP__W)
            MCAMP__K(store)(g + s, v * MCAMP__K(load)(z + s));
    }
}

/* ---- sums over the modes -------------------------------------------------- */

/* Rows are taken in chunks that stay in the first-level cache, each chunk first
 * for its maxima, then for its exponentials, so that no chain of maxima is waited
 * for; sums are kept relative to the maximum so far.                          */
#define MCAMP__CHUNK 16

/* A vector of samples: sum = sum of e^(y - max), dsum = sum of slope e^(y - max).
 * max starts at -DBL_MAX, not -infinity, so that differences stay defined.     */
typedef struct MCAMP__K(part) { MCAMP__V max, sum, dsum; } MCAMP__K(part);

MCAMP__INL void MCAMP__K(part_init)(MCAMP__K(part) *a)
{
    a->max = MCAMP__K(set)(-DBL_MAX);
    a->sum = a->dsum = MCAMP__K(set)(0.0);
}

/* e^x, x <= 0, floored at e^-708; NaN stays. */
MCAMP__INL MCAMP__V MCAMP__K(exp_floor)(MCAMP__V x)
{
    return MCAMP__K(exp_neg)(MCAMP__K(max)(MCAMP__K(set)(-708.0), x));
}

/* Moves to a larger maximum. */
MCAMP__INL void MCAMP__K(part_raise)(MCAMP__K(part) *a, MCAMP__V max, int sloped)
{
    MCAMP__V f = MCAMP__K(exp_floor)(a->max - max);
    a->sum *= f;
    if (sloped) a->dsum *= f;
    a->max = max;
}

/* max + log(sum); NaN, for the caller to repair, if nothing was above -DBL_MAX
 * or anything was not finite.                                                 */
MCAMP__INL MCAMP__V MCAMP__K(part_log)(const MCAMP__K(part) *a)
{
    MCAMP__V y = a->max + MCAMP__K(log_core)(a->sum) + (a->sum - a->sum);
    return MCAMP__K(lt)(MCAMP__K(set)(-DBL_MAX), a->max, y, MCAMP__K(set)(mcamp__nan()));
}

/* The slopes of row i: kind 1, one for all samples; kind 2, a tile. */
MCAMP__INL MCAMP__V MCAMP__K(slope)(const double *slope, size_t i, int kind)
{
    return kind == 1 ? MCAMP__K(set)(slope[i]) : MCAMP__K(load)(slope + i * MCAMP__S);
}

/* y_i = x_i + off_i + slope_i t; kind 0: no slope */
MCAMP__INL MCAMP__V MCAMP__K(term)(const double *x, const double *off,
                                   const double *slope, MCAMP__V t, size_t i, int kind)
{
    MCAMP__V y = MCAMP__K(load)(x + i * MCAMP__S) + off[i];
    return kind ? y + MCAMP__K(slope)(slope, i, kind) * t : y;
}

MCAMP__INL void MCAMP__K(lse_max)(MCAMP__K(part) *a, const double *x, size_t from,
                                  size_t to, const double *off, const double *slope,
                                  MCAMP__V t, int kind)
{
    MCAMP__V m = a->max;
    for (size_t i = from; i < to; i++)
        m = MCAMP__K(max)(MCAMP__K(term)(x, off, slope, t, i, kind), m);
    MCAMP__K(part_raise)(a, m, kind);
}

MCAMP__INL void MCAMP__K(lse_add)(MCAMP__K(part) *a, const double *x, size_t from,
                                  size_t to, const double *off, const double *slope,
                                  MCAMP__V t, int kind)
{
    MCAMP__V m = a->max, sum = a->sum, dsum = a->dsum;
    for (size_t i = from; i < to; i++) {
        MCAMP__V e = MCAMP__K(term)(x, off, slope, t, i, kind) - m;
        e = MCAMP__K(exp_floor)(e);
        sum += e;
        if (kind) dsum += MCAMP__K(slope)(slope, i, kind) * e;
    }
    a->sum = sum;
    a->dsum = dsum;
}

MCAMP__INL void MCAMP__K(lse_kind)(const double *x, size_t b, const double *off,
                                   const double *slope, const double *t, double *out,
                                   double *dout, int kind)
{
    MCAMP__K(part) a[MCAMP__S / MCAMP__W];
    const size_t W = MCAMP__W;
    for (size_t c = 0; c < MCAMP__S / W; c++) MCAMP__K(part_init)(a + c);
    for (size_t i = 0; i < b; i += MCAMP__CHUNK) {
        size_t to = i + MCAMP__CHUNK < b ? i + MCAMP__CHUNK : b;
        for (size_t c = 0; c < MCAMP__S / W; c++)
            MCAMP__K(lse_max)(a + c, x + c * W, i, to, off,
                              kind == 2 ? slope + c * W : slope,
                              t ? MCAMP__K(load)(t + c * W) : MCAMP__K(set)(0.0), kind);
        for (size_t c = 0; c < MCAMP__S / W; c++)
            MCAMP__K(lse_add)(a + c, x + c * W, i, to, off,
                              kind == 2 ? slope + c * W : slope,
                              t ? MCAMP__K(load)(t + c * W) : MCAMP__K(set)(0.0), kind);
    }
    for (size_t c = 0; c < MCAMP__S / W; c++) {
        MCAMP__K(store)(out + c * W, MCAMP__K(part_log)(a + c));
        if (kind && dout) MCAMP__K(store)(dout + c * W, a[c].dsum / a[c].sum);
    }
}

MCAMP__ENTRY void MCAMP__K(lse)(const double *x, size_t b, const double *off,
                                const double *slope, const double *t, double *out,
                                double *dout)
{
    if (slope) MCAMP__K(lse_kind)(x, b, off, slope, t, out, dout, 1);
    else       MCAMP__K(lse_kind)(x, b, off, NULL, NULL, out, NULL, 0);
}

MCAMP__ENTRY void MCAMP__K(lse_tile)(const double *x, size_t b, const double *off,
                                     const double *slope, const double *t, double *out,
                                     double *dout)
{
    MCAMP__K(lse_kind)(x, b, off, slope, t, out, dout, 2);
}

/* ---- the normal distribution's tail ------------------------------------------ */

/* e^(u^2/2) Phi(-u) for 0 <= u (taken as 1e15 beyond that; NaN gives NaN):
 * a rational minimax fit on [0, infinity), off by 4e-16 of the result.  All its
 * coefficients are positive, as they must be for a Stieltjes function, so that
 * nothing cancels: within 2e-15 in all.                                       */
MCAMP__INL MCAMP__V MCAMP__K(mills)(MCAMP__V u)
{
    MCAMP__V w, p, q, po, qo;
    u = MCAMP__K(min)(MCAMP__K(set)(1e15), u);
    w = u * u;
    po = w * 0.39894228040143252233 + 127.28040511611542067;
    p = w * 10.132896069433537897 + 1018.7921944582748294;
    qo = w * 25.399403791538440477 + 2579.1327243296767202;
    q = w + 320.04466227095047848;
    po = po * w + 5672.6960188688769427;
    p = p * w + 22680.763749024263922;
    qo = qo * w + 59355.177955406246547;
    q = q * w + 14536.384901825379642;
    po = po * w + 65061.985831578556048;
    p = p * w + 129526.00568428773404;
    qo = qo * w + 376672.11838033233199;
    q = q * w + 176677.47279987292426;
    po = po * w + 163767.12368770872211;
    p = p * w + 102050.50248730084709;
    qo = qo * w + 490383.28808898632638;
    q = q * w + 548270.76332365790269;
    q = q * w + 204101.00497460177378;
    p = po * u + p;
    q = qo * u + q;
    return p / q;
}

/* v^2/2 = hi + lo for |v| < 1.4e154, hi exact: the upper 26 bits of v squared. */
MCAMP__INL MCAMP__V MCAMP__K(half_square)(MCAMP__V v, MCAMP__V *lo)
{
    MCAMP__V h = MCAMP__K(from)(MCAMP__K(bits)(v) & UINT64_C(0xfffffffff8000000));
    *lo = (0.5 * (v + h)) * (v - h);
    return (0.5 * h) * h;
}

/* A term's exponent is y - min(v, 0)^2/2, which can be a small difference of
 * large numbers: m, the largest, is taken off before the parts that rounding
 * lost are added.                                                             */
MCAMP__INL MCAMP__V MCAMP__K(phi_term)(MCAMP__V y, MCAMP__V v, MCAMP__V m)
{
    MCAMP__V zero = MCAMP__K(set)(0.0);
    MCAMP__V u = MCAMP__K(max)(v, zero - v), h = MCAMP__K(mills)(u), hi, lo, d, back, e;
    hi = MCAMP__K(half_square)(MCAMP__K(max)(MCAMP__K(set)(-1e150),
                                             MCAMP__K(min)(v, zero)), &lo);
    y = MCAMP__K(max)(MCAMP__K(set)(-1e300), y);
    d = y - hi;
    back = d - y;
    lo = ((y - (d - back)) - (hi + back)) - lo;
    e = MCAMP__K(exp_floor)((d - m) + lo);
    d = MCAMP__K(exp_floor)((-0.5 * u) * u);
    return e * MCAMP__K(lt)(v, zero, h, 1.0 - d * h);
}

MCAMP__INL void MCAMP__K(phi_max)(MCAMP__K(part) *a, const double *x, size_t from,
                                  size_t to, const double *off, const double *alpha,
                                  MCAMP__V t, int kind)
{
    MCAMP__V m = a->max, zero = MCAMP__K(set)(0.0);
    for (size_t i = from; i < to; i++) {
        MCAMP__V y = MCAMP__K(load)(x + i * MCAMP__S) + off[i];
        MCAMP__V v = MCAMP__K(min)(MCAMP__K(slope)(alpha, i, kind) - t, zero);
        v = MCAMP__K(max)(v, MCAMP__K(set)(-1e150));
        m = MCAMP__K(max)(y - (0.5 * v) * v, m);
    }
    MCAMP__K(part_raise)(a, m, 0);
}

MCAMP__INL void MCAMP__K(phi_add)(MCAMP__K(part) *a, const double *x, size_t from,
                                  size_t to, const double *off, const double *alpha,
                                  MCAMP__V t, int kind)
{
    MCAMP__V m = a->max, sum = a->sum;
    for (size_t i = from; i < to; i++) {
        MCAMP__V y = MCAMP__K(load)(x + i * MCAMP__S) + off[i];
        sum += MCAMP__K(phi_term)(y, MCAMP__K(slope)(alpha, i, kind) - t, m);
    }
    a->sum = sum;
}

MCAMP__INL void MCAMP__K(phi_kind)(const double *x, size_t b, const double *off,
                                   const double *alpha, const double *t, double *out,
                                   int kind)
{
    MCAMP__K(part) a[MCAMP__S / MCAMP__W];
    const size_t W = MCAMP__W;
    for (size_t c = 0; c < MCAMP__S / W; c++) MCAMP__K(part_init)(a + c);
    for (size_t i = 0; i < b; i += MCAMP__CHUNK) {
        size_t to = i + MCAMP__CHUNK < b ? i + MCAMP__CHUNK : b;
        for (size_t c = 0; c < MCAMP__S / W; c++)
            MCAMP__K(phi_max)(a + c, x + c * W, i, to, off,
                              kind == 2 ? alpha + c * W : alpha,
                              MCAMP__K(load)(t + c * W), kind);
        for (size_t c = 0; c < MCAMP__S / W; c++)
            MCAMP__K(phi_add)(a + c, x + c * W, i, to, off,
                              kind == 2 ? alpha + c * W : alpha,
                              MCAMP__K(load)(t + c * W), kind);
    }
    for (size_t c = 0; c < MCAMP__S / W; c++)
        MCAMP__K(store)(out + c * W, MCAMP__K(part_log)(a + c));
}

MCAMP__ENTRY void MCAMP__K(phi_sum)(const double *x, size_t b, const double *off,
                                    const double *alpha, const double *t,
                                    double *out)
{
    MCAMP__K(phi_kind)(x, b, off, alpha, t, out, 1);
}

MCAMP__ENTRY void MCAMP__K(phi_tile)(const double *x, size_t b, const double *off,
                                     const double *alpha, const double *t, double *out)
{
    MCAMP__K(phi_kind)(x, b, off, alpha, t, out, 2);
}

/* ---- lines along each sample's own mode -------------------------------------- */

/* x -= slope u, and z = x + slope^2/2 */
MCAMP__ENTRY void MCAMP__K(project_tile)(double *x, size_t b, const double *slope,
                                         const double *u, double *z)
{
    for (size_t i = 0; i < b * MCAMP__S; i += MCAMP__S) {
        for (size_t s = i; s < i + MCAMP__S; s += MCAMP__W) {
            MCAMP__V c = MCAMP__K(load)(slope + s);
            MCAMP__V v = MCAMP__K(load)(x + s) - c * MCAMP__K(load)(u + s - i);
            MCAMP__K(store)(x + s, v);
            MCAMP__K(store)(z + s, v + 0.5 * c * c);
        }
    }
}

/* See mcamp__vec_mode_interval. */
MCAMP__INL void MCAMP__K(interval_column)(const double *x, size_t b, const double *half,
                                          const double *slope, MCAMP__V index,
                                          MCAMP__V ci, MCAMP__V li, double *lo,
                                          double *hi)
{
    MCAMP__V inf = MCAMP__K(set)(mcamp__inf()), zero = MCAMP__K(set)(0.0);
    MCAMP__V low = zero - inf, high = inf, tol = 1e-12 * ci;
    for (size_t j = 0; j < b; j++) {
        MCAMP__V d = ci - MCAMP__K(load)(slope + j * MCAMP__S);
        MCAMP__V gap = MCAMP__K(load)(x + j * MCAMP__S) - half[j] - li, at = gap / d;
        MCAMP__V up = MCAMP__K(lt)(tol, d, at, zero - inf);
        MCAMP__V down = MCAMP__K(lt)(d, zero - tol, at, inf);
        MCAMP__V first = MCAMP__K(lt)(MCAMP__K(set)((double)j), index, inf, zero - inf);
        MCAMP__V tie = MCAMP__K(lt)(gap, zero, zero - inf,
                                    MCAMP__K(lt)(zero, gap, inf, first));
        tie = MCAMP__K(lt)(tol, d, zero - inf,
                           MCAMP__K(lt)(d, zero - tol, zero - inf, tie));
        low = MCAMP__K(max)(low, MCAMP__K(max)(up, tie));
        high = MCAMP__K(min)(high, down);
    }
    MCAMP__K(store)(lo, low);
    MCAMP__K(store)(hi, high);
}

MCAMP__ENTRY void MCAMP__K(interval)(const double *x, size_t b, const double *half,
                                     const double *slope, const double *own, double *lo,
                                     double *hi)
{
    for (size_t s = 0; s < MCAMP__S; s += MCAMP__W)
        MCAMP__K(interval_column)(x + s, b, half, slope + s, MCAMP__K(load)(own + s),
                                  MCAMP__K(load)(own + MCAMP__S + s),
                                  MCAMP__K(load)(own + 2 * MCAMP__S + s), lo + s, hi + s);
}

MCAMP__ENTRY void MCAMP__K(colsum)(const double *g, size_t b, const double *w,
                                   double *out)
{
    for (size_t s = 0; s < MCAMP__S; s += MCAMP__W) {
        MCAMP__V sum = MCAMP__K(set)(0.0);
        for (size_t i = 0; i < b; i++) {
            MCAMP__V x = MCAMP__K(load)(g + i * MCAMP__S + s);
            sum += w ? w[i] * x : x;
        }
        MCAMP__K(store)(out + s, sum);
    }
}

MCAMP__ENTRY void MCAMP__K(rank1)(double *g, size_t b, const double *c,
                                  const double *u)
{
    for (size_t i = 0; i < b; i++) {
        MCAMP__V v = MCAMP__K(set)(c[i]);
        double *row = g + i * MCAMP__S;
        for (size_t s = 0; s < MCAMP__S; s += MCAMP__W)
            MCAMP__K(store)(row + s, MCAMP__K(load)(row + s) -
                                     v * MCAMP__K(load)(u + s));
    }
}

/* ---- products of rows ------------------------------------------------------------ */

/* out += alpha r */
MCAMP__INL void MCAMP__K(row_into)(const MCAMP__K(row) *r, double alpha, double *out)
{
    MCAMP__K(row) x;
    MCAMP__K(row_load)(&x, out);
    MCAMP__K(row_fma)(&x, alpha, r);
    MCAMP__K(row_store)(&x, out);
}

/* Up to six rows of a (the first again for those that are not there) times z. */
MCAMP__INL void MCAMP__K(nt_block)(const double *a, size_t lda, size_t rows,
                                   const double *z, size_t len, double alpha, double *out,
                                   size_t ldo)
{
    const double *a1 = a + (rows > 1 ? lda : 0), *a2 = a + (rows > 2 ? 2 * lda : 0);
    const double *a3 = a + (rows > 3 ? 3 * lda : 0), *a4 = a + (rows > 4 ? 4 * lda : 0);
    const double *a5 = a + (rows > 5 ? 5 * lda : 0);
    MCAMP__K(row) r0, r1, r2, r3, r4, r5, x;
    MCAMP__K(row_zero)(&r0); MCAMP__K(row_zero)(&r1); MCAMP__K(row_zero)(&r2);
    MCAMP__K(row_zero)(&r3); MCAMP__K(row_zero)(&r4); MCAMP__K(row_zero)(&r5);
    for (size_t k = 0; k < len; k++) {
        MCAMP__K(row_load)(&x, z + k * MCAMP__S);
        MCAMP__K(row_fma)(&r0, a[k], &x);
        MCAMP__K(row_fma)(&r1, a1[k], &x);
        MCAMP__K(row_fma)(&r2, a2[k], &x);
        MCAMP__K(row_fma)(&r3, a3[k], &x);
        MCAMP__K(row_fma)(&r4, a4[k], &x);
        MCAMP__K(row_fma)(&r5, a5[k], &x);
    }
    MCAMP__K(row_into)(&r0, alpha, out);
    if (rows > 1) MCAMP__K(row_into)(&r1, alpha, out + ldo);
    if (rows > 2) MCAMP__K(row_into)(&r2, alpha, out + 2 * ldo);
    if (rows > 3) MCAMP__K(row_into)(&r3, alpha, out + 3 * ldo);
    if (rows > 4) MCAMP__K(row_into)(&r4, alpha, out + 4 * ldo);
    if (rows > 5) MCAMP__K(row_into)(&r5, alpha, out + 5 * ldo);
}

MCAMP__ENTRY void MCAMP__K(nt)(const double *a, size_t lda, size_t rows, const double *z,
                               size_t len, double alpha, double *out, size_t ldo)
{
    const size_t step = MCAMP__W * MCAMP__COLS;
    for (size_t s = 0; s < MCAMP__S; s += step)
        for (size_t i = 0; i < rows; i += 6)
            MCAMP__K(nt_block)(a + i * lda, lda, rows - i, z + s, len, alpha,
                               out + i * ldo + s, ldo);
}

/* Four rows e[4][S] of numbers: e := e U^-1, U upper triangular with zeros below its
 * diagonal, that being kept as 1/U_kk in its place.                             */
MCAMP__ENTRY void MCAMP__K(trsm)(const double *u, double *e)
{
    for (size_t k = 0; k < MCAMP__S; k++) {
        double d = u[k * MCAMP__S + k], x0 = e[k] * d, x1 = e[MCAMP__S + k] * d;
        double x2 = e[2 * MCAMP__S + k] * d, x3 = e[3 * MCAMP__S + k] * d;
        for (size_t s = k / MCAMP__W * MCAMP__W; s < MCAMP__S; s += MCAMP__W) {
            MCAMP__V row = MCAMP__K(load)(u + k * MCAMP__S + s);
            double *p = e + s;
            MCAMP__K(store)(p, MCAMP__K(load)(p) - x0 * row); p += MCAMP__S;
            MCAMP__K(store)(p, MCAMP__K(load)(p) - x1 * row); p += MCAMP__S;
            MCAMP__K(store)(p, MCAMP__K(load)(p) - x2 * row); p += MCAMP__S;
            MCAMP__K(store)(p, MCAMP__K(load)(p) - x3 * row);
        }
        e[k] = x0; e[MCAMP__S + k] = x1; e[2 * MCAMP__S + k] = x2; e[3 * MCAMP__S + k] = x3;
    }
}

/* ---- for part III: many scalar products, sums of outer products ------------------- */

/* out[r] += <row r of a, x> */
MCAMP__ENTRY void MCAMP__K(dots)(const double *a, size_t lda, size_t rows, const double *x,
                                 size_t len, double *out)
{
    for (size_t r = 0; r < rows; r += 2) {
        const double *a0 = a + r * lda, *a1 = r + 1 < rows ? a0 + lda : a0;
        MCAMP__V s0 = MCAMP__K(set)(0.0), s1 = s0;
        double t[2][MCAMP__W], v[2] = { 0, 0 };
        size_t k = 0;
        for (; k + MCAMP__W <= len; k += MCAMP__W) {
            MCAMP__V y = MCAMP__K(load)(x + k);
            s0 += MCAMP__K(load)(a0 + k) * y;
            s1 += MCAMP__K(load)(a1 + k) * y;
        }
        MCAMP__K(store)(t[0], s0);
        MCAMP__K(store)(t[1], s1);
        for (; k < len; k++) { v[0] += a0[k] * x[k]; v[1] += a1[k] * x[k]; }
        for (k = 0; k < MCAMP__W; k++) { v[0] += t[0][k]; v[1] += t[1][k]; }
        out[r] += v[0];
        if (r + 1 < rows) out[r + 1] += v[1];
    }
}

/* d[4 rows of ld][step] += sum over count rows of p_i p_j */
MCAMP__INL void MCAMP__K(outer_block)(const double *pi, const double *pj, size_t ld,
                                      size_t count, double *d)
{
    MCAMP__K(row) r0, r1, r2, r3, x;
    MCAMP__K(row_load)(&r0, d);          MCAMP__K(row_load)(&r1, d + ld);
    MCAMP__K(row_load)(&r2, d + 2 * ld); MCAMP__K(row_load)(&r3, d + 3 * ld);
    for (size_t s = 0; s < count * ld; s += ld) {
        MCAMP__K(row_load)(&x, pj + s);
        MCAMP__K(row_fma)(&r0, pi[s], &x);
        MCAMP__K(row_fma)(&r1, pi[s + 1], &x);
        MCAMP__K(row_fma)(&r2, pi[s + 2], &x);
        MCAMP__K(row_fma)(&r3, pi[s + 3], &x);
    }
    MCAMP__K(row_store)(&r0, d);          MCAMP__K(row_store)(&r1, d + ld);
    MCAMP__K(row_store)(&r2, d + 2 * ld); MCAMP__K(row_store)(&r3, d + 3 * ld);
}

MCAMP__ENTRY void MCAMP__K(outer)(const double *p, size_t ld, size_t count, double *d)
{
    const size_t step = MCAMP__W * MCAMP__COLS;
    for (size_t i = 0; i < ld; i += 4)
        for (size_t j = i / step * step; j < ld; j += step)
            MCAMP__K(outer_block)(p + i, p + j, ld, count, d + i * ld + j);
}

/* ---- shifts: transposition by repeated zips -------------------------------- */

#if MCAMP__W > 1
/* lo, hi := the first and second half of a_0 b_0 a_1 b_1 ... */
MCAMP__INL void MCAMP__K(zip)(MCAMP__V a, MCAMP__V b, MCAMP__V *lo, MCAMP__V *hi)
{
#if MCAMP__PASS == 3
    *lo = _mm512_permutex2var_pd(a, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), b);
    *hi = _mm512_permutex2var_pd(a, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), b);
#elif MCAMP__PASS == 2
    MCAMP__V even = _mm256_unpacklo_pd(a, b), odd = _mm256_unpackhi_pd(a, b);
    *lo = _mm256_permute2f128_pd(even, odd, 0x20);
    *hi = _mm256_permute2f128_pd(even, odd, 0x31);
#else
    MCAMP__V first = { a[0], b[0] }, second = { a[1], b[1] };
    *lo = first;
    *hi = second;
#endif
}
#endif

/* W rows of W numbers (fewer than eight: the first ones are used). */
typedef struct MCAMP__K(square) { MCAMP__V a, b, c, d, e, f, g, h; } MCAMP__K(square);

/* One zip of the upper with the lower half moves the highest bit of the row
 * number to the lowest of the column number: log2 W of them transpose.        */
MCAMP__INL void MCAMP__K(transpose)(MCAMP__K(square) *x)
{
#if MCAMP__W == 8
    MCAMP__K(square) y;
    MCAMP__K(zip)(x->a, x->e, &y.a, &y.b); MCAMP__K(zip)(x->b, x->f, &y.c, &y.d);
    MCAMP__K(zip)(x->c, x->g, &y.e, &y.f); MCAMP__K(zip)(x->d, x->h, &y.g, &y.h);
    MCAMP__K(zip)(y.a, y.e, &x->a, &x->b); MCAMP__K(zip)(y.b, y.f, &x->c, &x->d);
    MCAMP__K(zip)(y.c, y.g, &x->e, &x->f); MCAMP__K(zip)(y.d, y.h, &x->g, &x->h);
    MCAMP__K(zip)(x->a, x->e, &y.a, &y.b); MCAMP__K(zip)(x->b, x->f, &y.c, &y.d);
    MCAMP__K(zip)(x->c, x->g, &y.e, &y.f); MCAMP__K(zip)(x->d, x->h, &y.g, &y.h);
    *x = y;
#elif MCAMP__W == 4
    MCAMP__K(square) y;
    MCAMP__K(zip)(x->a, x->c, &y.a, &y.b); MCAMP__K(zip)(x->b, x->d, &y.c, &y.d);
    MCAMP__K(zip)(y.a, y.c, &x->a, &x->b); MCAMP__K(zip)(y.b, y.d, &x->c, &x->d);
#elif MCAMP__W == 2
    MCAMP__K(zip)(x->a, x->b, &x->a, &x->b);
#else
    (void)x;
#endif
}

MCAMP__INL void MCAMP__K(add_row)(double *g, MCAMP__V x)
{
    MCAMP__K(store)(g, MCAMP__K(load)(g) + x);
}

/* g[p][0 .. W-1] += row p of x, p = 0 .. W-1 */
MCAMP__INL void MCAMP__K(add_square)(double *g, const MCAMP__K(square) *x)
{
    MCAMP__K(add_row)(g, x->a);
    if (MCAMP__W < 2) return;
    MCAMP__K(add_row)(g + MCAMP__S, x->b);
    if (MCAMP__W < 4) return;
    MCAMP__K(add_row)(g + 2 * MCAMP__S, x->c);
    MCAMP__K(add_row)(g + 3 * MCAMP__S, x->d);
    if (MCAMP__W < 8) return;
    MCAMP__K(add_row)(g + 4 * MCAMP__S, x->e);
    MCAMP__K(add_row)(g + 5 * MCAMP__S, x->f);
    MCAMP__K(add_row)(g + 6 * MCAMP__S, x->g);
    MCAMP__K(add_row)(g + 7 * MCAMP__S, x->h);
}

/* W rows from memory, ld apart */
MCAMP__INL void MCAMP__K(load_square)(MCAMP__K(square) *x, const double *p, size_t ld)
{
    x->a = MCAMP__K(load)(p);
    if (MCAMP__W < 2) return;
    x->b = MCAMP__K(load)(p + ld);
    if (MCAMP__W < 4) return;
    x->c = MCAMP__K(load)(p + 2 * ld);
    x->d = MCAMP__K(load)(p + 3 * ld);
    if (MCAMP__W < 8) return;
    x->e = MCAMP__K(load)(p + 4 * ld);
    x->f = MCAMP__K(load)(p + 5 * ld);
    x->g = MCAMP__K(load)(p + 6 * ld);
    x->h = MCAMP__K(load)(p + 7 * ld);
}

MCAMP__ENTRY void MCAMP__K(add_shifts)(double *g, size_t b, const double *shift)
{
    for (size_t s = 0; s < MCAMP__S; s += MCAMP__W) {
        const size_t whole = b - b % MCAMP__W;
        for (size_t i = 0; i < whole; i += MCAMP__W) {
            MCAMP__K(square) x;
            MCAMP__K(load_square)(&x, shift + s * b + i, b);
            MCAMP__K(transpose)(&x);
            MCAMP__K(add_square)(g + i * MCAMP__S + s, &x);
        }
        for (size_t i = whole; i < b; i++)
            for (size_t q = s; q < s + MCAMP__W; q++)
                g[i * MCAMP__S + q] += shift[q * b + i];
    }
}

/* ---- the index draw ---------------------------------------------------------
 * No fused operations from here on, and sums over eight lanes whatever the
 * width: every set draws the same indices.                                    */

#if defined(__clang__)
#  pragma clang fp contract(off)
#elif defined(__GNUC__)
#  pragma GCC pop_options
#endif

/* t[W][W], a row per sample, is added to W rows of g; `rows` of them exist. */
MCAMP__INL void MCAMP__K(add_block)(const double *t, size_t rows, double *g)
{
    MCAMP__K(square) x;
    if (rows >= MCAMP__W) {
        MCAMP__K(load_square)(&x, t, MCAMP__W);
        MCAMP__K(transpose)(&x);
        MCAMP__K(add_square)(g, &x);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t q = 0; q < MCAMP__W; q++)
            g[r * MCAMP__S + q] += t[q * MCAMP__W + r];
}

/* Columns of a outermost: those of one round stay in the first-level cache for
 * the whole tile.                                                             */
MCAMP__ENTRY void MCAMP__K(add_tuples)(const mcamp__tuple *p, const uint32_t *j,
                                       double *g)
{
    const size_t k = p->k, W = MCAMP__W;
    double t[2][MCAMP__W * MCAMP__W];
    for (size_t i = 0; i < p->b; i += 2 * W) {
        for (size_t s = 0; s < MCAMP__S; s += W) {
            for (size_t q = 0; q < W; q++) {
                const uint32_t *row = j + (s + q) * k;
                MCAMP__V x = MCAMP__K(set)(0.0), y = x;
                for (size_t l = 0; l < k; l++) {
                    const double *a = p->a + row[l] * p->stride + i;
                    x = x + MCAMP__K(load)(a);
                    y = y + MCAMP__K(load)(a + W);
                }
                MCAMP__K(store)(t[0] + q * W, x);
                MCAMP__K(store)(t[1] + q * W, y);
            }
            MCAMP__K(add_block)(t[0], p->b - i, g + i * MCAMP__S + s);
            if (p->b > i + W)
                MCAMP__K(add_block)(t[1], p->b - i - W, g + (i + W) * MCAMP__S + s);
        }
    }
}

/* w := x y over ld entries (a multiple of 32).  Entry 32 q + 8 r + c belongs to
 * lane c; part[8 q + c] becomes its sum over r, lanes[c] that over q and r.   */
MCAMP__INL void MCAMP__K(weights)(const double *x, const double *y, double *w,
                                  double *part, double *lanes, size_t ld)
{
    for (size_t c = 0; c < 8; c += MCAMP__W) {
        MCAMP__V sum = MCAMP__K(set)(0.0);
        for (size_t i = c, o = c; i < ld; i += 32, o += 8) {
            MCAMP__V m0 = MCAMP__K(load)(x + i) * MCAMP__K(load)(y + i);
            MCAMP__V m1 = MCAMP__K(load)(x + i + 8) * MCAMP__K(load)(y + i + 8);
            MCAMP__V m2 = MCAMP__K(load)(x + i + 16) * MCAMP__K(load)(y + i + 16);
            MCAMP__V m3 = MCAMP__K(load)(x + i + 24) * MCAMP__K(load)(y + i + 24);
            MCAMP__K(store)(w + i, m0);
            MCAMP__K(store)(w + i + 8, m1);
            MCAMP__K(store)(w + i + 16, m2);
            MCAMP__K(store)(w + i + 24, m3);
            m0 = (m0 + m1) + (m2 + m3);
            MCAMP__K(store)(part + o, m0);
            sum = sum + m0;
        }
        MCAMP__K(store)(lanes + c, sum);
    }
}

/* x_i := x_0 + .. + x_i for the eight lanes, by three rounds of adding what
 * stands 1, 2 and 4 places before; returns how many of the first seven are
 * <= u times the last, which is *z.                                           */
MCAMP__INL size_t MCAMP__K(scan)(double *x, double u, double *z)
{
#if MCAMP__PASS == 3
    MCAMP__V v = MCAMP__K(load)(x);
    __mmask8 le;
    v = v + _mm512_maskz_permutexvar_pd(0xfe, _mm512_set_epi64(6, 5, 4, 3, 2, 1, 0, 0), v);
    v = v + _mm512_maskz_permutexvar_pd(0xfc, _mm512_set_epi64(5, 4, 3, 2, 1, 0, 0, 0), v);
    v = v + _mm512_maskz_permutexvar_pd(0xf0, _mm512_set_epi64(3, 2, 1, 0, 0, 0, 0, 0), v);
    MCAMP__K(store)(x, v);
    *z = v[7];
    le = _mm512_cmp_pd_mask(v, MCAMP__K(set)(u * v[7]), _CMP_LE_OQ);
    return (size_t)__builtin_popcount(le & 0x7fu);
#else
    double a1 = x[0] + x[1], a2 = x[1] + x[2], a3 = x[2] + x[3], a4 = x[3] + x[4];
    double a5 = x[4] + x[5], a6 = x[5] + x[6], a7 = x[6] + x[7], t;
    double b2 = a2 + x[0], b3 = a3 + a1, b4 = a4 + a2, b5 = a5 + a3, b6 = a6 + a4;
    x[1] = a1; x[2] = b2; x[3] = b3;
    x[4] = b4 + x[0]; x[5] = b5 + a1; x[6] = b6 + b2; x[7] = (a7 + a5) + b3;
    *z = x[7];
    t = u * x[7];
    return (size_t)(x[0] <= t) + (size_t)(x[1] <= t) + (size_t)(x[2] <= t) +
           (size_t)(x[3] <= t) + (size_t)(x[4] <= t) + (size_t)(x[5] <= t) +
           (size_t)(x[6] <= t);
#endif
}

/* The entry in which the fraction u of the total weight falls: lane first, then
 * a block of four, then one of the four.  *z = the total.  part and lanes become
 * running sums; zeros stand before them, so that nothing branches on what was
 * drawn (a misprediction would stop the other tuples too).  Rounding may lead
 * to an entry of weight 0 (odds of 1e-16): the caller checks.                 */
MCAMP__INL size_t MCAMP__K(find)(const double *w, double *part, double *lanes,
                                 size_t ld, double u, double *z)
{
    size_t c = MCAMP__K(scan)(lanes, u, z), q = 0, blocks = ld / 32;
    double t = u * *z - (lanes - 1)[c], sum = 0, x, y;
    part += c;
    for (size_t i = 0; i + 1 < blocks; i++) {
        part[8 * i] = sum += part[8 * i];
        q += (size_t)(sum <= t);
    }
    t -= (part - 8)[8 * q];
    w += 32 * q + c;
    x = w[0] + w[8];
    y = x + w[16];
    return 32 * q + c + 8 * ((size_t)(w[0] <= t) + (size_t)(x <= t) + (size_t)(y <= t));
}

/* Weights before draw l >= 1, and the draw; returns log z - log *z. */
MCAMP__INL double MCAMP__K(tuple_weights)(const mcamp__tuple *p, mcamp__draw *d,
                                          size_t l)
{
    const size_t ld = p->ld, row = d->j[l - 1] * p->stride;
    double m = 0;
    if (!p->ea) {
        m = mcamp__tuple_exponents(p, d, l, row);
        MCAMP__K(map_exp)(d->y, ld);
        MCAMP__K(weights)(p->base, d->y, d->w, d->part, d->lanes, ld);
    } else {
        MCAMP__K(weights)(l == 1 ? p->base : d->w, p->ea + row, d->w, d->part,
                          d->lanes, ld);
    }
    return m;
}

/* Draws index l from the weights; m is what their logarithms lack. */
MCAMP__INL void MCAMP__K(tuple_pick)(const mcamp__tuple *p, mcamp__draw *d, size_t l,
                                     double u, double m)
{
    const int sticky = p->eta > 0;
    size_t old = sticky ? mcamp__sticky_pick(p, l, &u) : l, j;
    double z;
    j = MCAMP__K(find)(d->w, d->part, d->lanes, p->ld, u, &z);
    if (old < l)             j = d->j[old];
    else if (!(d->w[j] > 0)) j = mcamp__tuple_repair(p, d);
    if (sticky) z = mcamp__sticky_factor(p, d, l, (uint32_t)j, z);
    d->j[l] = (uint32_t)j;
    mcamp__draw_factor(d, z, m);
}

/* n <= MCAMP__GROUP tuples side by side, so that their latencies overlap. */
MCAMP__ENTRY void MCAMP__K(tuple_draw)(const mcamp__tuple *p, mcamp_rng *r,
                                       mcamp__draw *d, size_t n)
{
    double m[MCAMP__GROUP];
    for (size_t s = 0; s < n; s++)
        d[s].j[0] = mcamp__tuple_first(p, mcamp__to_uniform(mcamp__rng_step(r->s)));
    for (size_t l = 1; l < p->k; l++) {
        for (size_t s = 0; s < n; s++)
            m[s] = MCAMP__K(tuple_weights)(p, d + s, l);
        for (size_t s = 0; s < n; s++)
            MCAMP__K(tuple_pick)(p, d + s, l,
                                 mcamp__to_uniform(mcamp__rng_step(r->s)), m[s]);
    }
}

/* ---- the keyed generator and its normals --------------------------------------
 * Only + - * /, the correctly rounded root and integer operations, none of them
 * fused: the same bits in every set and on every machine.                     */

#ifdef MCAMP__NO_VECTOR
#  define MCAMP__L 1            /* lanes of 32 bits */
typedef uint32_t MCAMP__K(w);
typedef uint32_t MCAMP__K(wm);
#else
#  define MCAMP__L (2 * MCAMP__W)
typedef uint32_t MCAMP__K(w) __attribute__((vector_size(8 * MCAMP__W)));
typedef uint32_t MCAMP__K(wm)
    __attribute__((vector_size(8 * MCAMP__W), aligned(4), may_alias));
#endif
#define MCAMP__X MCAMP__K(w)

MCAMP__INL MCAMP__X MCAMP__K(loadw)(const uint32_t *p)
{
    return (MCAMP__X)*(const MCAMP__K(wm) *)p;
}

MCAMP__INL MCAMP__X MCAMP__K(setw)(uint32_t x)
{
#if MCAMP__PASS == 3
    return (MCAMP__X)_mm512_set1_epi32((int)x);
#elif MCAMP__PASS == 2
    return (MCAMP__X)_mm256_set1_epi32((int)x);
#elif MCAMP__L == 1
    return x;
#else
    MCAMP__X v = { x, x, x, x };
    return v;
#endif
}

/* Rotation to the left; by 16 and 8 whole bytes move. */
#if MCAMP__PASS == 3
#  define MCAMP__ROL(x, k) (MCAMP__X)_mm512_maskz_rol_epi32(0xffff, (__m512i)(x), k)
#else
#  define MCAMP__ROL(x, k) (((x) << k) | ((x) >> (32 - k)))
#endif
#if MCAMP__PASS == 2
#  define MCAMP__ROL16(x) (MCAMP__X)_mm256_shuffle_epi8((__m256i)(x), by16)
#  define MCAMP__ROL8(x) (MCAMP__X)_mm256_shuffle_epi8((__m256i)(x), by8)
#else
#  define MCAMP__ROL16(x) MCAMP__ROL(x, 16)
#  define MCAMP__ROL8(x) MCAMP__ROL(x, 8)
#endif

#define MCAMP__QUARTER(a, b, c, d) \
    x[a] += x[b]; x[d] ^= x[a]; x[d] = MCAMP__ROL16(x[d]); \
    x[c] += x[d]; x[b] ^= x[c]; x[b] = MCAMP__ROL(x[b], 12); \
    x[a] += x[b]; x[d] ^= x[a]; x[d] = MCAMP__ROL8(x[d]); \
    x[c] += x[d]; x[b] ^= x[c]; x[b] = MCAMP__ROL(x[b], 7)

/* Sixteen ChaCha20 blocks: word k of the block with counter in[12] + l (which
 * must not carry into in[13]) goes to out[16 k + l].                           */
MCAMP__ENTRY void MCAMP__K(chacha)(const uint32_t *in, uint32_t *out)
{
    static const uint32_t index[16] = { 0, 1, 2, 3, 4, 5, 6, 7,
                                        8, 9, 10, 11, 12, 13, 14, 15 };
#if MCAMP__PASS == 2
    const __m256i by16 = _mm256_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15,
        12, 13, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    const __m256i by8 = _mm256_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12,
        13, 14, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);
#endif
    for (size_t lane = 0; lane < 16; lane += MCAMP__L) {
        MCAMP__X x[16], lanes = MCAMP__K(loadw)(index + lane);
        for (int k = 0; k < 16; k++) x[k] = MCAMP__K(setw)(in[k]);
        x[12] += lanes;
        for (int r = 0; r < 10; r++) {
            MCAMP__QUARTER(0, 4, 8, 12);
            MCAMP__QUARTER(1, 5, 9, 13);
            MCAMP__QUARTER(2, 6, 10, 14);
            MCAMP__QUARTER(3, 7, 11, 15);
            MCAMP__QUARTER(0, 5, 10, 15);
            MCAMP__QUARTER(1, 6, 11, 12);
            MCAMP__QUARTER(2, 7, 8, 13);
            MCAMP__QUARTER(3, 4, 9, 14);
        }
        x[12] += lanes;
        for (size_t k = 0; k < 16; k++)
            *(MCAMP__K(wm) *)(out + 16 * k + lane) =
                (MCAMP__K(wm))(x[k] + MCAMP__K(setw)(in[k]));
    }
}

/* W numbers lo + 2^32 hi. */
MCAMP__INL MCAMP__U MCAMP__K(join)(const uint32_t *lo, const uint32_t *hi)
{
#if MCAMP__PASS == 3
    __m512i a = _mm512_maskz_cvtepu32_epi64(0xff, _mm256_loadu_si256((const __m256i *)lo));
    __m512i b = _mm512_maskz_cvtepu32_epi64(0xff, _mm256_loadu_si256((const __m256i *)hi));
    return (MCAMP__U)a | ((MCAMP__U)b << 32);
#elif MCAMP__PASS == 2
    __m256i a = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)lo));
    __m256i b = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)hi));
    return (MCAMP__U)a | ((MCAMP__U)b << 32);
#elif MCAMP__W == 1
    return lo[0] | (uint64_t)hi[0] << 32;
#else
    MCAMP__U v = { lo[0] | (uint64_t)hi[0] << 32, lo[1] | (uint64_t)hi[1] << 32 };
    return v;
#endif
}

/* The correctly rounded root of a positive normal number. */
MCAMP__INL MCAMP__V MCAMP__K(root)(MCAMP__V a)
{
#if MCAMP__PASS == 3
    return _mm512_maskz_sqrt_pd(0xff, a);
#else
    return MCAMP__K(sqrt)(a);
#endif
}

/* -2 log u for u = (x + 1/2) 2^-64 within 3 u of itself, as in mcamp__normal_pair,
 * where the reasons stand.  *least: the smallest x + 1/2 so far.               */
MCAMP__INL MCAMP__V MCAMP__K(minus_two_log)(MCAMP__U x, MCAMP__V *least)
{
    MCAMP__V d = MCAMP__K(to_double)(x) + 0.5, n, f, s, z, q;
    MCAMP__V near1 = (MCAMP__K(to_double)(~x) + 0.5) * -5.42101086242752217004e-20;
    *least = MCAMP__K(min)(d, *least);
    f = MCAMP__K(split)(d, 64.0, &n);
    f = MCAMP__K(lt)(MCAMP__K(set)(13835058055282163712.0), d, near1, f);
    s = f / (f + 2.0);
    z = s * s;
    q = z * -0.33683261961112644243 - 0.36243212298890428952;
    q = q * z - 0.44446889350663329374;
    q = q * z - 0.57142831755808401268;
    q = q * z - 0.8000000012530168018;
    q = q * z - 1.3333333333310164669;
    q = q * z - 4.000000000000000699;
    return n * (-2 * MCAMP__LN2) + s * q;
}

/* A Box-Muller pair as in mcamp__normal_pair, without its rare case. */
MCAMP__INL void MCAMP__K(secure_pair)(MCAMP__U x, MCAMP__U y, double *p, double *q,
                                      MCAMP__V *least)
{
    MCAMP__V r = MCAMP__K(root)(MCAMP__K(minus_two_log)(x, least)), t, w, s, c;
    t = MCAMP__K(from)((y & UINT64_C(0x000fffffffffffff)) |
                       UINT64_C(0x3ff0000000000000)) - 1.5;
    w = t * t;
    s = w * -2.1122952832357218064e-5 + 4.6597761690490342865e-4;
    c = w * -4.1318279034510323217e-6 + 1.035152090465812467e-4;
    s = s * w - 7.370361071648737103e-3;
    c = c * w - 1.9036696909388775347e-3;
    s = s * w + 8.2145878256548404263e-2;
    c = c * w + 2.53309695910217602e-2;
    s = s * w - 0.59926452877570957764;
    c = c * w - 0.22899788751887022518;
    s = s * w + 2.5501640398597762711;
    c = c * w + 1.2780132969493234032;
    s = s * w - 5.1677127800497525672;
    c = c * w - 3.7392088021786822204;
    s = s * w + 3.1415926535897927919;
    c = c * w + 3.9999999999999999297;
    c = r * (c * (0.25 - w));
    MCAMP__K(store)(p, MCAMP__K(from)(MCAMP__K(bits)(c) ^
                                      (y & UINT64_C(0x8000000000000000))));
    MCAMP__K(store)(q, r * (s * t));
}

/* 64 pairs from the words of sixteen blocks, w[16 k + l]: pair 16 m + l, made of
 * words 4 m .. 4 m + 3 of block l, goes to out[32 m + l] and out[32 m + 16 + l].
 * *low: the smallest x + 1/2, for the caller to mend the pairs below 2^52.      */
MCAMP__ENTRY void MCAMP__K(secure_normals)(const uint32_t *w, double *out, double *low)
{
    MCAMP__V least = MCAMP__K(set)(18446744073709551616.0);
    double all[MCAMP__W];
    for (size_t m = 0; m < 4; m++) {
        const uint32_t *p = w + 64 * m;
        double *o = out + 32 * m;
        for (size_t l = 0; l < 16; l += MCAMP__W)
            MCAMP__K(secure_pair)(MCAMP__K(join)(p + l, p + 16 + l),
                                  MCAMP__K(join)(p + 32 + l, p + 48 + l),
                                  o + l, o + 16 + l, &least);
    }
    MCAMP__K(store)(all, least);
    *low = all[0];
    for (size_t l = 1; l < MCAMP__W; l++) *low = mcamp__dmin(*low, all[l]);
}

/* ---- rows of noise ------------------------------------------------------------- */

MCAMP__INL MCAMP__V MCAMP__K(load_float)(const float *p)
{
#if MCAMP__PASS == 3
    return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
#elif MCAMP__PASS == 2
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
#elif MCAMP__W == 1
    return (double)p[0];
#else
    MCAMP__V v = { (double)p[0], (double)p[1] };
    return v;
#endif
}

MCAMP__INL MCAMP__V MCAMP__K(load_int)(const int32_t *p)
{
#if MCAMP__PASS == 3
    return _mm512_maskz_cvtepi32_pd(0xff, _mm256_loadu_si256((const __m256i *)(const void *)p));
#elif MCAMP__PASS == 2
    return _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(const void *)p));
#elif MCAMP__W == 1
    return (double)p[0];
#else
    MCAMP__V v = { (double)p[0], (double)p[1] };
    return v;
#endif
}

/* Numbers that are integers. */
MCAMP__INL void MCAMP__K(store_int)(int32_t *p, MCAMP__V x)
{
#if MCAMP__PASS == 3
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_maskz_cvtpd_epi32(0xff, x));
#elif MCAMP__PASS == 2
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtpd_epi32(x));
#elif MCAMP__W == 1
    p[0] = (int32_t)x;
#else
    p[0] = (int32_t)x[0];
    p[1] = (int32_t)x[1];
#endif
}

MCAMP__INL void MCAMP__K(store_float)(float *p, MCAMP__V x)
{
#if MCAMP__PASS == 3
    _mm256_storeu_ps(p, _mm512_maskz_cvtpd_ps(0xff, x));
#elif MCAMP__PASS == 2
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x));
#elif MCAMP__W == 1
    p[0] = (float)x;
#else
    p[0] = (float)x[0];
    p[1] = (float)x[1];
#endif
}

/* Rows hold doubles (kind 0), floats (1) or integers of 32 bits (2); `at` counts numbers.
 * One rounding for each operation, then one to the row's type.                 */
MCAMP__INL MCAMP__V MCAMP__K(get)(const void *row, size_t at, int kind)
{
    return kind == 2 ? MCAMP__K(load_int)((const int32_t *)row + at)
         : kind      ? MCAMP__K(load_float)((const float *)row + at)
                     : MCAMP__K(load)((const double *)row + at);
}

MCAMP__INL void MCAMP__K(put)(void *row, size_t at, MCAMP__V x, int kind)
{
    if (kind == 2)  MCAMP__K(store_int)((int32_t *)row + at, x);
    else if (kind)  MCAMP__K(store_float)((float *)row + at, x);
    else            MCAMP__K(store)((double *)row + at, x);
}

MCAMP__INL double MCAMP__K(get_one)(const void *row, size_t at, int kind)
{
    return kind == 2 ? (double)((const int32_t *)row)[at]
         : kind      ? (double)((const float *)row)[at] : ((const double *)row)[at];
}

MCAMP__INL void MCAMP__K(put_one)(void *row, size_t at, double x, int kind)
{
    if (kind == 2)  ((int32_t *)row)[at] = (int32_t)x;
    else if (kind)  ((float *)row)[at] = (float)x;
    else            ((double *)row)[at] = x;
}

/* Four of minus's rows, from p on. */
MCAMP__INL void MCAMP__K(minus_four)(double *acc, const void *row, size_t p, size_t stride,
                                     const double *c, size_t n, int kind)
{
    const size_t q = p + stride, s = q + stride, t = s + stride;
    const double a = c[0], b = c[1], d = c[2], e = c[3];
    size_t i = 0;
    for (; i + MCAMP__W <= n; i += MCAMP__W) {
        MCAMP__V x = MCAMP__K(load)(acc + i);
        x = x - a * MCAMP__K(get)(row, p + i, kind);
        x = x - b * MCAMP__K(get)(row, q + i, kind);
        x = x - d * MCAMP__K(get)(row, s + i, kind);
        x = x - e * MCAMP__K(get)(row, t + i, kind);
        MCAMP__K(store)(acc + i, x);
    }
    for (; i < n; i++)
        acc[i] = (((acc[i] - a * MCAMP__K(get_one)(row, p + i, kind)) -
                   b * MCAMP__K(get_one)(row, q + i, kind)) -
                  d * MCAMP__K(get_one)(row, s + i, kind)) -
                 e * MCAMP__K(get_one)(row, t + i, kind);
}

MCAMP__INL void MCAMP__K(minus_rows)(double *acc, const void *row, size_t at, size_t stride,
                                     const double *c, size_t count, size_t n, int kind)
{
    size_t r = 0, i;
    for (; r + 4 <= count; r += 4)
        MCAMP__K(minus_four)(acc, row, at + r * stride, stride, c + r, n, kind);
    for (; r < count; r++) {
        const size_t p = at + r * stride;
        for (i = 0; i + MCAMP__W <= n; i += MCAMP__W)
            MCAMP__K(store)(acc + i, MCAMP__K(load)(acc + i) -
                                     c[r] * MCAMP__K(get)(row, p + i, kind));
        for (; i < n; i++) acc[i] -= c[r] * MCAMP__K(get_one)(row, p + i, kind);
    }
}

/* acc -= c[0] row_0 + .. + c[count-1] row_{count-1}, in that order, the rows being
 * `stride` apart.                                                              */
MCAMP__ENTRY void MCAMP__K(minus)(double *acc, const void *row, size_t at, size_t stride,
                                  const double *c, size_t count, size_t n, int kind)
{
    if (kind == 2)  MCAMP__K(minus_rows)(acc, row, at, stride, c, count, n, 2);
    else if (kind)  MCAMP__K(minus_rows)(acc, row, at, stride, c, count, n, 1);
    else            MCAMP__K(minus_rows)(acc, row, at, stride, c, count, n, 0);
}

MCAMP__INL void MCAMP__K(decay_row)(void *row, size_t at, const double *y, double theta,
                                    size_t n, int kind)
{
    size_t i = 0;
    for (; i + MCAMP__W <= n; i += MCAMP__W)
        MCAMP__K(put)(row, at + i, theta * MCAMP__K(get)(row, at + i, kind) +
                                   MCAMP__K(load)(y + i), kind);
    for (; i < n; i++)
        MCAMP__K(put_one)(row, at + i,
                          theta * MCAMP__K(get_one)(row, at + i, kind) + y[i], kind);
}

/* row = theta row + y */
MCAMP__ENTRY void MCAMP__K(decay)(void *row, size_t at, const double *y, double theta,
                                  size_t n, int kind)
{
    if (kind) MCAMP__K(decay_row)(row, at, y, theta, n, 1);
    else        MCAMP__K(decay_row)(row, at, y, theta, n, 0);
}

MCAMP__INL void MCAMP__K(emit_row)(void *out, size_t at, const double *y, double factor,
                                   int add, size_t n, int kind)
{
    size_t i = 0;
    for (; i + MCAMP__W <= n; i += MCAMP__W) {
        MCAMP__V x = MCAMP__K(load)(y + i) * factor;
        if (add) x = MCAMP__K(get)(out, at + i, kind) + x;
        MCAMP__K(put)(out, at + i, x, kind);
    }
    for (; i < n; i++)
        MCAMP__K(put_one)(out, at + i, add ? MCAMP__K(get_one)(out, at + i, kind) +
                                             y[i] * factor
                                           : y[i] * factor, kind);
}

/* out = factor y, or out += factor y */
MCAMP__ENTRY void MCAMP__K(emit)(void *out, size_t at, const double *y, double factor,
                                 int add, size_t n, int kind)
{
    if (kind == 2)  MCAMP__K(emit_row)(out, at, y, factor, add, n, 2);
    else if (kind)  MCAMP__K(emit_row)(out, at, y, factor, add, n, 1);
    else            MCAMP__K(emit_row)(out, at, y, factor, add, n, 0);
}

/* y = f z + acc rounded to integers, and how many of them rounding errors may have decided:
 * f z + acc is off by less than doubt + 2^-51 (|f z + acc| + |acc|), and by more where |z| <
 * 2^-18.  Beyond 2^51 and for NaNs that is always so.  n is a multiple of 8.     */
MCAMP__ENTRY void MCAMP__K(settle)(const double *z, const double *acc, double f, double doubt,
                                   size_t n, double *y, double *doubts)
{
    const double whole = 6755399441055744.0;        /* 1.5 2^52: has no digits behind 1 */
    MCAMP__V count = MCAMP__K(set)(0.0), zero = count, one = MCAMP__K(set)(1.0);
    MCAMP__V tiny = MCAMP__K(set)(1.0 / 262144.0);
    double all[MCAMP__W];
    for (size_t i = 0; i < n; i += MCAMP__W) {
        MCAMP__V a = MCAMP__K(load)(acc + i), x = MCAMP__K(load)(z + i), q = x * f + a;
        MCAMP__V r = (q + whole) - whole, d = q - r, off, room;
        off = (MCAMP__K(max)(q, -q) + MCAMP__K(max)(a, -a)) * (2 * DBL_EPSILON) + doubt;
        room = 0.5 - MCAMP__K(max)(d, -d);
        room = MCAMP__K(lt)(tiny, MCAMP__K(max)(x, -x), room, zero);
        count = count + MCAMP__K(lt)(off, room, zero, one);
        MCAMP__K(store)(y + i, r);
    }
    MCAMP__K(store)(all, count);
    *doubts = all[0];
    for (size_t l = 1; l < MCAMP__W; l++) *doubts += all[l];
}

/* out = y or out += y, integers below 2^51: behind the digits of 1.5 2^52. */
MCAMP__ENTRY void MCAMP__K(add_whole)(const double *y, size_t n, int add, int64_t *out)
{
    const MCAMP__V whole = MCAMP__K(set)(6755399441055744.0);
    size_t i = 0;
    for (; i + MCAMP__W <= n; i += MCAMP__W) {
        uint64_t *to = (uint64_t *)(void *)(out + i);
        MCAMP__U x = MCAMP__K(bits)(MCAMP__K(load)(y + i) + whole) - MCAMP__K(bits)(whole);
        if (add) x = x + MCAMP__K(loadu)(to);
        MCAMP__K(storeu)(to, x);
    }
    for (; i < n; i++) out[i] = (add ? out[i] : 0) + (int64_t)y[i];
}

#undef MCAMP__QUARTER
#undef MCAMP__ROL8
#undef MCAMP__ROL16
#undef MCAMP__ROL
#undef MCAMP__X
#undef MCAMP__L

#undef MCAMP__CHUNK
#undef MCAMP__ROUND
#undef MCAMP__LN2_HI
#undef MCAMP__LN2_LO
#undef MCAMP__U
#undef MCAMP__V
#undef MCAMP__ENTRY
#undef MCAMP__INL
#undef MCAMP__TARGET
#undef MCAMP__COLS
#undef MCAMP__W
#undef MCAMP__K
#undef MCAMP__CAT
#undef MCAMP__CAT2
#endif /* MCAMP__PASS */

#if defined(MCAMP__PASS) && MCAMP__PASS == 1
#undef MCAMP__PASS
#ifdef MCAMP__SELF
#  define MCAMP__PASS 2
#  include MCAMP__SELF
#  undef MCAMP__PASS
#  define MCAMP__PASS 3
#  include MCAMP__SELF
#  undef MCAMP__PASS
/* Fails if another file of that name was read. */
typedef char mcamp__read_itself[(int)mcamp__k2_line == (int)mcamp__k1_line &&
                                (int)mcamp__k3_line == (int)mcamp__k1_line ? 1 : -1];
#  define MCAMP__DISPATCH(vs, name, args) \
    do { \
        if ((vs) == MCAMP_VEC_AVX512)    mcamp__k3_##name args; \
        else if ((vs) == MCAMP_VEC_AVX2) mcamp__k2_##name args; \
        else                             mcamp__k1_##name args; \
    } while (0)
#else
#  define MCAMP__DISPATCH(vs, name, args) \
    do { (void)(vs); mcamp__k1_##name args; } while (0)
#endif

/* ---- elementary functions, in place --------------------------------------- */

/* x[i] := e^x[i] within 2 ulp; 0 below -708 (the flushed values are below
 * 3.4e-308), infinite above 709.782712893384; NaN stays NaN.                 */
MCAMP__PRIV void mcamp__vec_exp(mcamp_vecset vs, double *x, size_t n)
{
    MCAMP__DISPATCH(vs, map_exp, (x, n));
}

/* ---- random numbers --------------------------------------------------------- */

/* count (a multiple of 16) independent standard normals.  Pair i of lane l is
 * (out[16 i + l], out[16 i + 8 + l]), made of two consecutive words of the
 * lane; the words are the same in every set, the normals agree within 8 u of
 * their radius.  The law differs from the normal one in three ways, all
 * harmless at any delta that doubles can express: the radius is cut at
 * sqrt(130 log 2) = 9.49 (probability 2^-65 a pair); radii keep the grid of u,
 * a relative displacement above 2^-j with probability about 2^(j-64) only; angles
 * keep a grid of 2^-52 of a half turn.                                        */
MCAMP__PRIV void mcamp__vec_normals(mcamp_vecset vs, mcamp__rng8 *r, double *out,
                                    size_t count)
{
    MCAMP_ASSERT(count % 16 == 0);
    MCAMP__DISPATCH(vs, normals, (r->s, out, count));
}

/* ---- products of rows --------------------------------------------------------- */

/* Terms of a sum that are read before the next columns are: they stay in the cache. */
#define MCAMP__DEPTH 256

#ifdef MCAMP_CBLAS_HEADER
/* Sizes that CBLAS can take whatever its integer is: the vendor's prototypes
 * convert from int.  Larger ones use the loops below.                        */
MCAMP__PRIV int mcamp__blas_fits(size_t a, size_t b)
{
    return a <= (size_t)INT_MAX && b <= (size_t)INT_MAX;
}
#endif

/* z[k][MCAMP__S] := the transpose of cols rows x (at most MCAMP__S), zero beyond. */
MCAMP__PRIV void mcamp__nt_pack(const double *x, size_t ld, size_t cols, size_t len,
                                double *z)
{
    for (size_t c = 0; c < MCAMP__S; c++)
        for (size_t k = 0; k < len; k++)
            z[k * MCAMP__S + c] = c < cols ? x[c * ld + k] : 0.0;
}

/* The same into a part of the columns: other places stay as they are. */
MCAMP__PRIV void mcamp__nt_edge(mcamp_vecset vs, const double *a, size_t lda, size_t rows,
                                const double *z, size_t len, double alpha, double *out,
                                size_t ldo, size_t cols)
{
    double tile[6 * MCAMP__S];
    for (size_t i = 0; i < rows; i += 6) {
        size_t some = mcamp__zmin(6, rows - i);
        memset(tile, 0, sizeof tile);
        MCAMP__DISPATCH(vs, nt, (a + i * lda, lda, some, z, len, 1.0, tile, MCAMP__S));
        for (size_t r = 0; r < some; r++)
            for (size_t c = 0; c < cols; c++)
                out[(i + r) * ldo + c] += alpha * tile[r * MCAMP__S + c];
    }
}

/* out[i][c] += alpha sum_{k < len} a[i][k] z[k][c] for i < rows, c < cols <= MCAMP__S.
 * error: len + 2 roundings of the sum of magnitudes.                           */
MCAMP__PRIV void mcamp__vec_nt(mcamp_vecset vs, const double *a, size_t lda, size_t rows,
                               const double *z, size_t len, double alpha, double *out,
                               size_t ldo, size_t cols)
{
#ifdef MCAMP_CBLAS_HEADER
    if (vs == MCAMP_VEC_SCALAR && mcamp__blas_fits(lda, rows) && mcamp__blas_fits(len, ldo)) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)cols,
                    (int)len, alpha, a, (int)lda, z, MCAMP__S, 1.0, out, (int)ldo);
        return;
    }
#endif
    for (size_t k = 0; k < len; k += MCAMP__DEPTH) {
        const double *x = a + k, *y = z + k * MCAMP__S;
        size_t some = mcamp__zmin(MCAMP__DEPTH, len - k);
        if (cols == MCAMP__S)
            MCAMP__DISPATCH(vs, nt, (x, lda, rows, y, some, alpha, out, ldo));
        else
            mcamp__nt_edge(vs, x, lda, rows, y, some, alpha, out, ldo, cols);
    }
}

/* rows of e[.][ld] := rows U^-1 for the first w columns; u as the kernel wants it. */
MCAMP__PRIV void mcamp__vec_trsm(mcamp_vecset vs, const double *u, size_t w, double *e,
                                 size_t ld, size_t rows)
{
    double four[4 * MCAMP__S];
    for (size_t i = 0; i < rows; i += 4) {
        size_t some = mcamp__zmin(4, rows - i);
        memset(four, 0, sizeof four);
        for (size_t r = 0; r < some; r++)
            memcpy(four + r * MCAMP__S, e + (i + r) * ld, w * sizeof *four);
        MCAMP__DISPATCH(vs, trsm, (u, four));
        for (size_t r = 0; r < some; r++)
            memcpy(e + (i + r) * ld, four + r * MCAMP__S, w * sizeof *four);
    }
}

/* ---- triangular product ------------------------------------------------------ */

/* First column of row i that is not zero (a NaN is not). */
MCAMP__PRIV size_t mcamp__tri_first(const double *row, size_t i)
{
    size_t j = 0;
    while (j < i && mcamp__eq(row[j], 0)) j++;
    return j;
}

MCAMP__PRIV void mcamp__tri_free(mcamp_ctx *ctx, mcamp__tri *t)
{
    mcamp__delete(ctx, t->start, 2 * t->groups, sizeof(size_t));
    mcamp__buf_free(ctx, &t->buf);
    memset(t, 0, sizeof *t);
}

/* Lays out the skyline: fills start[] and at[], returns the doubles needed. */
MCAMP__PRIV size_t mcamp__tri_layout(mcamp__tri *t, const double *L)
{
    size_t total = 0, b = t->b, i = 0;
    t->diagonal = 1;
    for (size_t r = 0; r < t->groups; r++) {
        size_t end = t->head + 6 * r, start = i;
        for (; i < end; i++) {
            size_t first = mcamp__tri_first(L + i * b, i);
            if (first < i) t->diagonal = 0;
            start = mcamp__zmin(start, first);
        }
        t->start[r] = start;
        t->at[r] = total;
        total += 6 * (end - start);
    }
    return t->diagonal ? b : total;
}

MCAMP__PRIV void mcamp__tri_fill(const mcamp__tri *t, const double *L, double *out)
{
    size_t b = t->b;
    for (size_t i = 0; i < b; i++) {
        size_t r = (i + 6 - t->head) / 6, slot = r ? (i - t->head) % 6 : i;
        if (t->diagonal) { out[i] = L[i * b + i]; continue; }
        for (size_t j = t->start[r]; j <= i; j++)
            out[t->at[r] + 6 * (j - t->start[r]) + slot] = L[i * b + j];
    }
}

/* Packs the lower triangle of L (row-major, b x b; what lies above the diagonal
 * is not read).  Memory: 8 bytes per entry under the skyline.                 */
MCAMP__PRIV mcamp_status mcamp__tri_pack(mcamp_ctx *ctx, const double *L, size_t b,
                                         mcamp__tri *out)
{
    mcamp__tri t;
    size_t entries;
    memset(&t, 0, sizeof t);
    if (!b || !mcamp__mul_size(b, b, &entries) || entries > SIZE_MAX / 64)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)b);
    t.b = b;
    t.groups = (b + 5) / 6;
    t.head = b - 6 * (t.groups - 1);
    t.start = (size_t *)mcamp__new(ctx, 2 * t.groups, sizeof(size_t));
    if (!t.start) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)b);
    t.at = t.start + t.groups;
    if (mcamp__buf_new(ctx, mcamp__tri_layout(&t, L), &t.buf) < 0) {
        mcamp__tri_free(ctx, &t);
        return MCAMP_E_MEMORY;
    }
    mcamp__tri_fill(&t, L, t.buf.p);
    t.data = t.buf.p;
    *out = t;
    return MCAMP_OK;
}

/* g := L z for z, g of b rows that do not overlap; z finite.  Error: at most
 * (i + 6) u sum_j |L_ij z_j| in row i.  A diagonal L costs b multiplications a
 * sample, any other the area under its skyline.                              */
MCAMP__PRIV void mcamp__vec_trmm(mcamp_vecset vs, const mcamp__tri *L,
                                 const double *z, double *g)
{
    if (L->diagonal) MCAMP__DISPATCH(vs, scale_rows, (L->data, L->b, z, g));
    else             MCAMP__DISPATCH(vs, trmm, (L, z, g));
}

/* ---- sums over the modes ------------------------------------------------------ */

/* log sum_i e^(y_i) of one sample some of whose terms are not finite, or whose
 * sum was not: NaN if a term is NaN, +infinity if one is, -infinity if all are. */
MCAMP__PRIV double mcamp__lse_special(const double *x, size_t b, const double *off,
                                      const double *slope, double t)
{
    double m = -mcamp__inf();
    for (size_t i = 0; i < b; i++) {
        double y = x[i * MCAMP__S] + off[i] + (slope ? slope[i] * t : 0);
        if (mcamp__isnan(y)) return y;
        m = mcamp__dmax(m, y);
    }
    return mcamp__finite(m) ? mcamp__nan() : m;
}

/* With y_i = x_i + off_i + slope_i t (slope NULL: no such term; t NULL: t = 0):
 *     out = log sum_i e^(y_i),   dout = sum_i slope_i e^(y_i) / sum_i e^(y_i).
 * out is right within (2 b + 10) u + 3 u max_i (|x_i| + |off_i| + |slope_i t|) +
 * u |out|, dout within twice that (without u |out|) times max_i |slope_i|.  Any
 * magnitude: terms that are not finite give what they should (all -inf: -inf; a
 * +inf: +inf; a NaN: NaN), and dout is NaN then.  dout needs slope.            */
MCAMP__PRIV void mcamp__vec_lse(mcamp_vecset vs, const double *x, size_t b,
                                const double *off, const double *slope,
                                const double *t, double *out, double *dout)
{
    MCAMP__DISPATCH(vs, lse, (x, b, off, slope, t, out, dout));
    for (size_t s = 0; s < MCAMP__S; s++) {
        if (mcamp__finite(out[s])) continue;
        out[s] = mcamp__lse_special(x + s, b, off, slope, t ? t[s] : 0);
        if (dout) dout[s] = mcamp__nan();
    }
}

/* out = log sum_i e^(y_i) Phi(v_i), y_i = x_i + off_i and v_i = alpha_i - t, each
 * rounded once.  For those the sum is right within 1e-14 + 2 b u relatively,
 * however small Phi is; out is rounded once more.  x as in mcamp__vec_lse; an
 * alpha of -infinity counts as t - 1e150, +infinity as it stands.             */
MCAMP__PRIV void mcamp__vec_phi_sum(mcamp_vecset vs, const double *x, size_t b,
                                    const double *off, const double *alpha,
                                    const double *t, double *out)
{
    MCAMP__DISPATCH(vs, phi_sum, (x, b, off, alpha, t, out));
    for (size_t s = 0; s < MCAMP__S; s++) {
        if (mcamp__finite(out[s])) continue;
        out[s] = mcamp__lse_special(x + s, b, off, NULL, 0);
        for (size_t i = 0; i < b; i++)
            if (mcamp__isnan(alpha[i] - t[s])) out[s] = mcamp__nan();
    }
}

/* mcamp__vec_lse and mcamp__vec_phi_sum for finite x, with slopes of each sample's
 * own: slope and alpha are tiles.  Same errors.                                */
MCAMP__PRIV void mcamp__vec_lse_tile(mcamp_vecset vs, const double *x, size_t b,
                                     const double *off, const double *slope,
                                     const double *t, double *out, double *dout)
{
    MCAMP__DISPATCH(vs, lse_tile, (x, b, off, slope, t, out, dout));
}

MCAMP__PRIV void mcamp__vec_phi_sum_tile(mcamp_vecset vs, const double *x, size_t b,
                                         const double *off, const double *alpha,
                                         const double *t, double *out)
{
    MCAMP__DISPATCH(vs, phi_tile, (x, b, off, alpha, t, out));
}

/* x := x - slope u (u a row of samples), z := x + slope^2/2. */
MCAMP__PRIV void mcamp__vec_project_tile(mcamp_vecset vs, double *x, size_t b,
                                         const double *slope, const double *u, double *z)
{
    MCAMP__DISPATCH(vs, project_tile, (x, b, slope, u, z));
}

/* For lines l_j(t) = x_j - half_j + slope_j t and a line i of each sample's own, the
 * interval of t on which l_i is the largest (a tie goes to the lower index; slopes
 * within 1e-12 are equal).  own: three rows, i as a number, slope_i, x_i - half_i.
 * Empty: lo = +infinity, or lo >= hi.                                          */
MCAMP__PRIV void mcamp__vec_mode_interval(mcamp_vecset vs, const double *x, size_t b,
                                          const double *half, const double *slope,
                                          const double *own, double *lo, double *hi)
{
    MCAMP__DISPATCH(vs, interval, (x, b, half, slope, own, lo, hi));
}

/* out := sum_i w_i g_i (w NULL: all 1), error (b + 1) u sum_i |w_i g_i|. */
MCAMP__PRIV void mcamp__vec_colsum(mcamp_vecset vs, const double *g, size_t b,
                                   const double *w, double *out)
{
    MCAMP__DISPATCH(vs, colsum, (g, b, w, out));
}

/* g_i := g_i - c_i u, rounded at most twice. */
MCAMP__PRIV void mcamp__vec_rank1(mcamp_vecset vs, double *g, size_t b,
                                  const double *c, const double *u)
{
    MCAMP__DISPATCH(vs, rank1, (g, b, c, u));
}

/* g_i[s] += shift[s][i]; shift is [MCAMP__S][b]. */
MCAMP__PRIV void mcamp__vec_add_shifts(mcamp_vecset vs, double *g, size_t b,
                                       const double *shift)
{
    MCAMP__DISPATCH(vs, add_shifts, (g, b, shift));
}

/* ---- the index draw -------------------------------------------------------------- */

/* Weights stay within e^(+-600) of base: then they are kept as products. */
#define MCAMP__TUPLE_RANGE 600.0

MCAMP__PRIV void mcamp__tuple_free(mcamp_ctx *ctx, mcamp__tuple *p)
{
    mcamp__buf_free(ctx, &p->buf);
    memset(p, 0, sizeof *p);
}

/* Largest |a_ij|; NaN and infinities give infinity. */
MCAMP__PRIV double mcamp__tuple_range(const double *a, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++)
        m = mcamp__finite(a[i]) ? mcamp__dmax(m, fabs(a[i])) : mcamp__inf();
    return m;
}

/* Copies base and a into place, and exp(a) unless it is NULL. */
MCAMP__PRIV void mcamp__tuple_fill(mcamp__tuple *p, const double *base,
                                   const double *a, double *to, int products)
{
    size_t b = p->b, rows = p->diagonal ? 1 : b, ld = p->stride;
    double *upto = to + ld, *pa = to + 2 * ld, *pe = pa + rows * ld, sum = 0;
    p->uniform = 1;
    for (size_t i = 0; i < b; i++) {
        to[i] = base[i];
        upto[i] = sum += base[i];
        if (base[i] < base[0] || base[i] > base[0]) p->uniform = 0;
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < b; i++) {
            pa[r * ld + i] = a[r * b + i];
            if (products) pe[r * ld + i] = exp(a[r * b + i]);
        }
    }
    p->base = to;
    p->upto = upto;
    p->a = pa;
    p->ea = products ? pe : NULL;
}

/* base: b numbers >= 0 that sum to 1.  a: b x b, symmetric, row-major; or, with
 * `diagonal`, its b diagonal entries, >= 0.  k >= 1, 0 <= eta < 1; the caller has
 * checked all of them.  Memory: 16 bytes per entry of a, copied.  The cost of a
 * tuple is k b, or k^2 if diagonal.                                           */
MCAMP__PRIV mcamp_status mcamp__tuple_init(mcamp_ctx *ctx, size_t b, size_t k,
                                           const double *base, const double *a,
                                           int diagonal, double eta,
                                           mcamp__tuple *out)
{
    mcamp__tuple p;
    size_t rows = diagonal ? 1 : b, count;
    double range;
    memset(&p, 0, sizeof p);
    if (!b || !k || b > UINT32_MAX / 2 || k > UINT32_MAX / 2)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)b);
    p.b = b;
    p.k = k;
    p.ld = (b + 31) / 32 * 32;
    p.stride = p.ld + 8;
    p.eta = eta;
    p.diagonal = diagonal;
    if (!mcamp__mul_size(p.stride, 2 * rows + 2, &count) || count > SIZE_MAX / 64)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)b);
    range = mcamp__tuple_range(a, rows * b);
    if (!(range < 1e100)) return mcamp__fail(ctx, MCAMP_E_NONFINITE, "a", range);
    if (mcamp__buf_new(ctx, count, &p.buf) < 0) return MCAMP_E_MEMORY;
    mcamp__tuple_fill(&p, base, a, p.buf.p,
                      range * (double)(k - 1) <= MCAMP__TUPLE_RANGE);
    *out = p;
    return MCAMP_OK;
}

/* Doubles that one draw, and a group of them, need as working memory. */
MCAMP__PRIV size_t mcamp__draw_work(const mcamp__tuple *p)
{
    return 3 * p->ld + p->ld / 4 + 24;
}

MCAMP__PRIV size_t mcamp__tuple_work(const mcamp__tuple *p)
{
    return p->diagonal ? 3 * p->k : MCAMP__GROUP * mcamp__draw_work(p) + 8;
}

/* One tuple for diagonal a: the weights are base plus an excess
 * base_j (e^(n_j a_jj) - 1) at the distinct indices drawn so far.  Everything
 * is scaled by e^-M, M the largest exponent, when exponentials could overflow.
 * work: index, count and excess of the distinct ones.                         */
typedef struct mcamp__spikes {
    size_t n;               /* distinct indices */
    double *index, *count, *excess;
    double unit, max;       /* e^-M and M */
} mcamp__spikes;

/* The spike at j, made if there is none. */
MCAMP__PRIV size_t mcamp__spike_at(mcamp__spikes *x, double j)
{
    size_t i = 0;
    while (i < x->n && !mcamp__eq(x->index[i], j)) i++;
    if (i < x->n) return i;
    x->index[i] = j;
    x->count[i] = 0;
    x->excess[i] = 0;
    x->n++;
    return i;
}

/* Counts j once more; returns the total weight, still scaled. */
MCAMP__PRIV double mcamp__spike_add(const mcamp__tuple *p, mcamp__spikes *x, size_t j)
{
    size_t i = mcamp__spike_at(x, (double)j);
    double z;
    x->count[i] += 1;
    if (p->ea) {        /* (1 + x/base) e^a - 1 = x/base e^a + (e^a - 1) */
        x->excess[i] = x->excess[i] * p->ea[j] + p->base[j] * (p->ea[j] - 1);
    } else {
        x->max = mcamp__dmax(x->max, x->count[i] * p->a[j]);
        x->unit = exp(-x->max);
        for (size_t q = 0; q < x->n; q++) {
            size_t at = (size_t)x->index[q];
            x->excess[q] = p->base[at] *
                           (exp(x->count[q] * p->a[at] - x->max) - x->unit);
        }
    }
    z = x->unit;
    for (size_t q = 0; q < x->n; q++) z += x->excess[q];
    return z;
}

/* Draws in proportion: t = u times the total. */
MCAMP__PRIV size_t mcamp__spike_draw(const mcamp__tuple *p, const mcamp__spikes *x,
                                     double t)
{
    for (size_t q = 0; q < x->n; q++) {
        if (t < x->excess[q]) return (size_t)x->index[q];
        t -= x->excess[q];
    }
    return mcamp__tuple_first(p, mcamp__dmin(t / x->unit, 1 - DBL_EPSILON));
}

MCAMP__PRIV void mcamp__tuple_diagonal(const mcamp__tuple *p, mcamp_rng *r,
                                       double *work, mcamp__draw *d)
{
    mcamp__spikes x;
    x.n = 0;
    x.index = work; x.count = work + p->k; x.excess = work + 2 * p->k;
    x.unit = 1; x.max = 0;
    d->j[0] = mcamp__tuple_first(p, mcamp__to_uniform(mcamp__rng_step(r->s)));
    for (size_t l = 1; l < p->k; l++) {
        double z = mcamp__spike_add(p, &x, d->j[l - 1]);
        double u = mcamp__to_uniform(mcamp__rng_step(r->s));
        size_t old = p->eta > 0 ? mcamp__sticky_pick(p, l, &u) : l, j;
        j = old < l ? d->j[old] : mcamp__spike_draw(p, &x, u * z);
        if (p->eta > 0) {
            size_t n = x.n, i = mcamp__spike_at(&x, (double)j);
            double w = p->base[j] * x.unit + x.excess[i];
            z = mcamp__sticky_ratio(p->eta, w, z, x.count[i], (double)l);
            x.n = n;        /* a new one is counted when it is added */
        }
        d->j[l] = (uint32_t)j;
        mcamp__draw_factor(d, z, x.max);
    }
}

MCAMP__PRIV void mcamp__draw_init(const mcamp__tuple *p, mcamp__draw *d,
                                  double *work, uint32_t *j)
{
    memset(d, 0, sizeof *d);
    d->j = j;
    d->prod = 1;
    if (p->diagonal) return;
    d->w = work;
    d->sum = d->w + p->ld;
    d->y = d->sum + p->ld;
    d->part = d->y + p->ld + 8;
    d->lanes = d->part + p->ld / 4 + 8;
    for (int i = 1; i <= 8; i++) d->part[-i] = d->lanes[-i] = 0;
}

/* n <= MCAMP__GROUP tuples; indices to j[n][k], log of the product of
 * z_l p_l / p~_l to log_z[n].                                                 */
MCAMP__PRIV void mcamp__tuple_group(mcamp_vecset vs, const mcamp__tuple *p,
                                    mcamp_rng *r, double *work, uint32_t *j,
                                    double *log_z, size_t n)
{
    mcamp__draw d[MCAMP__GROUP];
    const size_t each = p->diagonal ? 0 : mcamp__draw_work(p);
    if (each) work += (64 - ((uintptr_t)work & 63)) % 64 / sizeof(double);
    for (size_t s = 0; s < n; s++)
        mcamp__draw_init(p, d + s, work + s * each, j + s * p->k);
    for (size_t s = 0; p->diagonal && s < n; s++)
        mcamp__tuple_diagonal(p, r, work, d + s);
    if (!p->diagonal) MCAMP__DISPATCH(vs, tuple_draw, (p, r, d, n));
    for (size_t s = 0; s < n; s++) log_z[s] = d[s].acc + log(d[s].prod);
}

/* A tile of tuples, drawn in groups: j[MCAMP__S][k], log_z[MCAMP__S]: the logarithm
 * of prod_l z_l p_l(j_l) / p~_l(j_l), relative error of the product below
 * k (b + 20) u.  Uses k uniforms of r a tuple, for a group of tuples in turn.  The
 * indices are the same in every set (but where products would overflow and
 * logarithms are used).  work: mcamp__tuple_work(p) doubles.                   */
MCAMP__PRIV void mcamp__vec_draw_tuples(mcamp_vecset vs, const mcamp__tuple *p,
                                        mcamp_rng *r, double *work, uint32_t *j,
                                        double *log_z)
{
    for (size_t s = 0; s < MCAMP__S; s += MCAMP__GROUP)
        mcamp__tuple_group(vs, p, r, work, j + s * p->k, log_z + s, MCAMP__GROUP);
}

/* g_i[s] += sum_l a_{i, j[s][l]}: the shifts of a tile, added where they belong
 * without being stored; k additions a sample if a is diagonal.                */
MCAMP__PRIV void mcamp__vec_add_tuples(mcamp_vecset vs, const mcamp__tuple *p,
                                       const uint32_t *j, double *g)
{
    if (!p->diagonal) {
        MCAMP__DISPATCH(vs, add_tuples, (p, j, g));
        return;
    }
    for (size_t s = 0; s < MCAMP__S; s++)
        for (size_t l = 0; l < p->k; l++)
            g[j[s * p->k + l] * MCAMP__S + s] += p->a[j[s * p->k + l]];
}

#undef MCAMP__TUPLE_RANGE

/* ======================================================================== *
 *  STRATEGIES C                                                     >>mech
 *  In: a family with its parameters.  Out: an object that holds C in one of
 *  three forms (Toeplitz coefficients, BLT parameters, packed rows) and gives
 *  columns, products, solves, column norms, a digest.  Memory: the parameters;
 *  no n x n array but for dense C.
 *  Guarantee: no NaN, no infinity and no diagonal entry <= 0 gets past init.
 * ======================================================================== */

#define MCAMP__MECH_MAGIC 0x6d656368u
#define MCAMP__CHUNK 16
#define MCAMP__ANCHOR     32    /* powers between two calls of pow         */

/* sum a_k b_k in a fixed order: eight chains, so at most len/8 + 3 roundings
 * touch a term.  Every Gram entry is a sum of these over short pieces.       */
MCAMP__PRIV double mcamp__dot(const double *a, const double *b, size_t len)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
    size_t k = 0, whole = len - len % 8;
    for (; k < whole; k += 8) {
        s0 += a[k] * b[k];         s1 += a[k + 1] * b[k + 1];
        s2 += a[k + 2] * b[k + 2]; s3 += a[k + 3] * b[k + 3];
        s4 += a[k + 4] * b[k + 4]; s5 += a[k + 5] * b[k + 5];
        s6 += a[k + 6] * b[k + 6]; s7 += a[k + 7] * b[k + 7];
    }
    for (; k < len; k++) s0 += a[k] * b[k];
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
}

/* sum_{k < len} c[k] x[-k]: the reversed product of a convolution. */
MCAMP__PRIV double mcamp__dot_back(const double *c, const double *x, size_t len)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t k = 0;
    for (; k + 4 <= len; k += 4) {
        const double *y = x - k;
        s0 += c[k] * y[0];      s1 += c[k + 1] * y[-1];
        s2 += c[k + 2] * y[-2]; s3 += c[k + 3] * y[-3];
    }
    for (; k < len; k++) s0 += c[k] * *(x - k);
    return (s0 + s1) + (s2 + s3);
}

/* ---- digest -------------------------------------------------------------- */

/* One round of a 64-bit mixer: for a fixed h a bijection of x, so that two
 * sequences that differ in one word never meet.  Works on values, not on bytes,
 * hence the same on every machine.                                           */
MCAMP__PRIV uint64_t mcamp__hash_word(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ (h >> 32);
}

/* x + 0.0 makes -0 and 0 one value: they are the same matrix. */
MCAMP__PRIV uint64_t mcamp__hash_doubles(uint64_t h, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        h = mcamp__hash_word(h, mcamp__bits(x[i] + 0.0));
    return h;
}

/* ---- coefficients -------------------------------------------------------- */

/* c_k = binomial(2k, k) / 4^k, the coefficients of (1 - x)^(-1/2).
 * k <= 28: the binomial is an integer below 2^53, so the value is exact.
 * k > 28: c_k = Gamma(k + 1/2) / (sqrt(pi) Gamma(k + 1)) has the expansion
 *   (pi (k + 1/4))^(-1/2) (1 - x + 21/2 x^2 - 671/2 x^3 + 180323/8 x^4 - ...),
 * x = (8k + 2)^-2; the next term is below 1e-17 there.  Unlike the recursion
 * it does not lose digits with k: relative error below 4e-16.                */
MCAMP__PRIV double mcamp__sqrt_coef(size_t k)
{
    if (k <= 28) {
        uint64_t bin = 1;
        for (size_t i = 1; i <= k; i++)
            bin = bin * (uint64_t)(2 * (2 * i - 1)) / (uint64_t)i;
        return ldexp((double)bin, -2 * (int)k);
    } else {
        double t = (double)k + 0.25, x = 1.0 / (64.0 * t * t);
        double p = -335.5 + x * 22540.375;
        return (1.0 + x * (-1.0 + x * (10.5 + x * p))) / sqrt(MCAMP__PI * t);
    }
}

/* The coefficients of (1 - x)^(1/2), its inverse. */
MCAMP__PRIV double mcamp__sqrt_inverse_coef(size_t k)
{
    return k ? -mcamp__sqrt_coef(k) / (2.0 * (double)k - 1.0) : 1.0;
}

/* out[i] = c_{k0+i}, i < count.  Powers run from an anchor taken with pow every
 * MCAMP__ANCHOR terms, so that the error does not grow with k.               */
MCAMP__PRIV void mcamp__blt_coefs(const mcamp_mech *m, size_t k0, size_t count,
                                  double *out)
{
    for (size_t i = 0; i < count; i++) out[i] = 0;
    for (size_t j = 0; j < m->buffers; j++) {
        double p = 0;
        size_t first = k0 == 0 ? 1 : 0;
        for (size_t i = first; i < count; i++) {
            if ((i - first) % MCAMP__ANCHOR == 0)
                p = m->omega[j] * pow(m->theta[j], (double)(k0 + i - 1));
            else
                p *= m->theta[j];
            out[i] += p;
        }
    }
    if (k0 == 0 && count) out[0] = m->diag;
}

/* The same for either Toeplitz form; zero from `bands` on; scale left out. */
MCAMP__PRIV void mcamp__mech_coefs(const mcamp_mech *m, size_t k0, size_t count,
                                   double *out)
{
    if (m->form == MCAMP_FORM_BLT) {
        mcamp__blt_coefs(m, k0, count, out);
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = k0 + i < m->bands ? m->coef[k0 + i] : 0.0;
}

/* ---- packed rows --------------------------------------------------------- */

MCAMP__PRIV size_t mcamp__row_len(const mcamp_mech *m, size_t i)
{
    return mcamp__zmin(i + 1, m->bands);
}

/* Where row i starts: the rows before it hold 1, 2, .., bands, bands, ... */
MCAMP__PRIV size_t mcamp__row_start(const mcamp_mech *m, size_t i)
{
    size_t f = m->bands;
    return i <= f ? i * (i + 1) / 2 : f * (f + 1) / 2 + (i - f) * f;
}

/* *out = number of values in n packed rows of at most `bands`; 0 on overflow. */
MCAMP__PRIV int mcamp__rows_count(size_t n, size_t bands, size_t *out)
{
    size_t all;
    if (!mcamp__mul_size(n, bands, &all)) return 0;
    *out = all - bands * (bands - 1) / 2;
    return 1;
}

/* ---- building ------------------------------------------------------------ */

/* Finite and of a magnitude whose square neither overflows. */
MCAMP__PRIV mcamp_status mcamp__check_values(mcamp_ctx *ctx, const char *argument,
                                             const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int ok;
        if (!mcamp__finite(x[i]))
            return mcamp__fail(ctx, MCAMP_E_NONFINITE, argument, x[i]);
        ok = fabs(x[i]) <= MCAMP__SIGMA_MAX;
        if (!ok) return mcamp__fail(ctx, MCAMP_E_ARG, argument, x[i]);
    }
    return MCAMP_OK;
}

/* *out = a checked copy of x. */
MCAMP__PRIV mcamp_status mcamp__copy_values(mcamp_ctx *ctx, const char *argument,
                                            const double *x, size_t count,
                                            double **out)
{
    mcamp_status st;
    double *p;
    if (!x) return mcamp__fail(ctx, MCAMP_E_REQUIRED, argument, 0);
    st = mcamp__check_values(ctx, argument, x, count);
    if (st < 0) return st;
    p = mcamp__new_doubles(ctx, count);
    if (!p) return mcamp__fail(ctx, MCAMP_E_MEMORY, argument, (double)count);
    memcpy(p, x, count * sizeof *p);
    *out = p;
    return MCAMP_OK;
}

/* How many coefficients the descriptor gives, of C or of its inverse. */
MCAMP__PRIV size_t mcamp__mech_desc_bands(const mcamp_mech_desc *d)
{
    switch ((int)d->kind) {
    case MCAMP_MECH_TOEPLITZ:
    case MCAMP_MECH_INVERSE:      return d->count;
    case MCAMP_MECH_SQRT:
    case MCAMP_MECH_INVERSE_SQRT: return d->bands && d->bands < d->n ? d->bands : d->n;
    default:                      return 1;
    }
}

/* *out = the w coefficients that a Toeplitz kind stands for. */
MCAMP__PRIV mcamp_status mcamp__mech_desc_coefs(mcamp_ctx *ctx,
                                                const mcamp_mech_desc *d, size_t w,
                                                double **out)
{
    double *c;
    if (w < 1 || w > d->n)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "count", (double)w);
    if (d->kind == MCAMP_MECH_TOEPLITZ || d->kind == MCAMP_MECH_INVERSE)
        return mcamp__copy_values(ctx, "coef", d->coef, w, out);
    c = mcamp__new_doubles(ctx, w);
    if (!c) return mcamp__fail(ctx, MCAMP_E_MEMORY, "n", (double)w);
    for (size_t k = 0; k < w; k++)
        c[k] = d->kind == MCAMP_MECH_INVERSE_SQRT ? mcamp__sqrt_inverse_coef(k)
                                                  : mcamp__sqrt_coef(k);
    *out = c;
    return MCAMP_OK;
}

/* Identity, Toeplitz, square root. */
MCAMP__PRIV mcamp_status mcamp__mech_build_toeplitz(mcamp_ctx *ctx,
                                                    const mcamp_mech_desc *d,
                                                    mcamp_mech *m)
{
    m->form = MCAMP_FORM_TOEPLITZ;
    m->bands = m->count = mcamp__mech_desc_bands(d);
    return mcamp__mech_desc_coefs(ctx, d, m->bands, &m->coef);
}

/* x <- T x and x <- T^-1 x for the Toeplitz T of w coefficients, n rows.  The
 * product goes from the last row up, so that the inputs above are still there. */
MCAMP__PRIV void mcamp__conv(const double *c, size_t w, double *x, size_t n)
{
    for (size_t i = n; i-- > 0; )
        x[i] = mcamp__dot_back(c, x + i, mcamp__zmin(i + 1, w));
}

MCAMP__PRIV void mcamp__deconv(const double *c, size_t w, double *x, size_t n)
{
    if (n) x[0] /= c[0];
    for (size_t i = 1; i < n; i++)
        x[i] = (x[i] - mcamp__dot_back(c + 1, x + i - 1, mcamp__zmin(i + 1, w) - 1)) /
               c[0];
}

/* C from the coefficients of C^-1: the series 1 / d, O(n inverse_bands). */
MCAMP__PRIV mcamp_status mcamp__mech_build_inverse(mcamp_ctx *ctx,
                                                   const mcamp_mech_desc *d,
                                                   mcamp_mech *m)
{
    mcamp_status st;
    m->form = MCAMP_FORM_TOEPLITZ;
    m->bands = d->n;
    m->inverse_bands = mcamp__mech_desc_bands(d);
    st = mcamp__mech_desc_coefs(ctx, d, m->inverse_bands, &m->inverse);
    if (st < 0) return st;
    if (!(m->inverse[0] >= MCAMP__SIGMA_MIN))
        return mcamp__fail(ctx, MCAMP_E_STRATEGY, "coef", m->inverse[0]);
    m->coef = mcamp__new_doubles(ctx, d->n);
    if (!m->coef)
        return mcamp__fail(ctx, MCAMP_E_MEMORY, "n", (double)d->n);
    m->count = d->n;
    m->coef[0] = 1.0;
    mcamp__deconv(m->inverse, m->inverse_bands, m->coef, d->n);
    st = mcamp__check_values(ctx, "coef", m->coef, d->n);
    return st < 0 ? mcamp__fail(ctx, MCAMP_E_STRATEGY, "coef", 0) : st;
}

MCAMP__PRIV mcamp_status mcamp__mech_build_blt(mcamp_ctx *ctx,
                                               const mcamp_mech_desc *d,
                                               mcamp_mech *m)
{
    mcamp_status st;
    if (d->buffers < 1 || d->buffers > MCAMP_MAX_BUFFERS)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "buffers",
                           (double)d->buffers);
    m->form = MCAMP_FORM_BLT;
    m->bands = d->n;
    m->buffers = d->buffers;
    m->diag = 1.0;
    st = mcamp__copy_values(ctx, "theta", d->theta, d->buffers,
                            &m->theta);
    if (st < 0) return st;
    for (size_t j = 0; j < d->buffers; j++) {
        int ok = d->theta[j] >= 0 && d->theta[j] <= 1;
        if (!ok) return mcamp__fail(ctx, MCAMP_E_STRATEGY, "theta",
                                    d->theta[j]);
    }
    return mcamp__copy_values(ctx, "omega", d->omega, d->buffers,
                              &m->omega);
}

MCAMP__PRIV mcamp_status mcamp__mech_build_banded(mcamp_ctx *ctx,
                                                  const mcamp_mech_desc *d,
                                                  mcamp_mech *m)
{
    size_t want = 0;
    if (d->bands < 1 || d->bands > d->n)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "bands",
                           (double)d->bands);
    if (!mcamp__rows_count(d->n, d->bands, &want) || d->count != want)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "count",
                           (double)d->count);
    m->form = MCAMP_FORM_ROWS;
    m->bands = d->bands;
    m->count = want;
    return mcamp__copy_values(ctx, "coef", d->coef, want, &m->coef);
}

/* How many bands a dense lower triangle really has. */
MCAMP__PRIV size_t mcamp__dense_bands(const double *c, size_t n)
{
    size_t bands = 1;
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j + bands <= i; j++)
            if (!mcamp__eq(c[i * n + j], 0.0)) bands = i - j + 1;
    return bands;
}

/* The lower triangle, packed: a band matrix. */
MCAMP__PRIV mcamp_status mcamp__mech_build_dense(mcamp_ctx *ctx,
                                                 const mcamp_mech_desc *d,
                                                 mcamp_mech *m)
{
    size_t n = d->n, want = 0;
    mcamp_status st;
    if (!mcamp__mul_size(n, n, &want) || d->count != want)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "count",
                           (double)d->count);
    if (!d->coef)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "coef", 0);
    st = mcamp__check_values(ctx, "coef", d->coef, want);
    if (st < 0) return st;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (!mcamp__eq(d->coef[i * n + j], 0.0))
                return mcamp__fail(ctx, MCAMP_E_STRATEGY, "coef",
                                   d->coef[i * n + j]);
    m->form = MCAMP_FORM_ROWS;
    m->bands = mcamp__dense_bands(d->coef, n);
    mcamp__rows_count(n, m->bands, &m->count);
    m->coef = mcamp__new_doubles(ctx, m->count);
    if (!m->coef)
        return mcamp__fail(ctx, MCAMP_E_MEMORY, "n", (double)n);
    for (size_t i = 0; i < n; i++) {
        size_t len = mcamp__row_len(m, i);
        memcpy(m->coef + mcamp__row_start(m, i), d->coef + i * n + i + 1 - len,
               len * sizeof(double));
    }
    return MCAMP_OK;
}

/* L^T L <- L^T L + 1 1^T over the columns [lo, hi), rows of L from the last up:
 * a rotation of row i with the vector w clears w_i and keeps row^T row + w w^T.
 * Entries stay >= 0 in exact arithmetic (L^T L is ultrametric, so L^-1 is an
 * M-matrix); a rounding below 0 is put back to 0.                             */
MCAMP__PRIV void mcamp__tree_add_node(const mcamp_mech *m, size_t lo, size_t hi,
                                      double *w)
{
    for (size_t j = lo; j < hi; j++) w[j] = 1.0;
    for (size_t i = hi; i-- > lo; ) {
        double *row = m->coef + mcamp__row_start(m, i);
        double r = sqrt(row[i] * row[i] + w[i] * w[i]);
        double c = row[i] / r, s = w[i] / r;
        for (size_t j = lo; j < i; j++) {
            double a = row[j], b = w[j];
            row[j] = c * a + s * b;
            w[j] = mcamp__dmax(c * b - s * a, 0.0);
        }
        row[i] = r;
    }
}

/* The lower-triangular L with L^T L = N^T N, N having a 0/1 row for each node of
 * the tree over the rounds that it covers: C x + z with C = L and the decoder
 * A L^-1 has the error of the tree with the pseudo-inverse decoder A N^+.
 * Leaves first, then each level: O(n^2) in all.                              */
MCAMP__PRIV mcamp_status mcamp__mech_build_tree(mcamp_ctx *ctx,
                                                const mcamp_mech_desc *d,
                                                mcamp_mech *m)
{
    size_t n = d->n;
    int padded = d->kind == MCAMP_MECH_TREE_PADDED;
    double *w;
    m->form = MCAMP_FORM_ROWS;
    m->bands = n;
    if (!mcamp__rows_count(n, n, &m->count))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "n", (double)n);
    m->coef = mcamp__new_doubles(ctx, m->count);
    w = mcamp__new_doubles(ctx, n);
    if (!m->coef || !w) {
        mcamp__delete_doubles(ctx, w, n);
        return mcamp__fail(ctx, MCAMP_E_MEMORY, "n", (double)n);
    }
    for (size_t i = 0; i < n; i++) m->coef[mcamp__row_start(m, i) + i] = 1.0;
    for (size_t size = 2; size / 2 < n; size *= 2)
        for (size_t lo = 0; lo < n && (padded || size <= n - lo); lo += size)
            mcamp__tree_add_node(m, lo, mcamp__zmin(lo + size, n), w);
    mcamp__delete_doubles(ctx, w, n);
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__mech_build(mcamp_ctx *ctx, const mcamp_mech_desc *d,
                                           mcamp_mech *m)
{
    switch ((int)d->kind) {
    case MCAMP_MECH_IDENTITY:
    case MCAMP_MECH_TOEPLITZ:
    case MCAMP_MECH_SQRT:   return mcamp__mech_build_toeplitz(ctx, d, m);
    case MCAMP_MECH_BANDED: return mcamp__mech_build_banded(ctx, d, m);
    case MCAMP_MECH_BLT:    return mcamp__mech_build_blt(ctx, d, m);
    case MCAMP_MECH_DENSE:  return mcamp__mech_build_dense(ctx, d, m);
    case MCAMP_MECH_INVERSE:
    case MCAMP_MECH_INVERSE_SQRT: return mcamp__mech_build_inverse(ctx, d, m);
    case MCAMP_MECH_TREE:
    case MCAMP_MECH_TREE_PADDED:  return mcamp__mech_build_tree(ctx, d, m);
    case MCAMP_MECH_UNSET:
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "kind", 0);
    default:
        return mcamp__fail(ctx, MCAMP_E_ARG, "kind",
                           (double)(int)d->kind);
    }
}

/* A bound on |C_ij| of a Toeplitz form without column factors. */
MCAMP__PRIV double mcamp__toeplitz_bound(const mcamp_mech *m)
{
    double sum = m->diag, top = 0;
    for (size_t j = 0; j < m->buffers; j++) sum += fabs(m->omega[j]);
    for (size_t k = 0; k < m->count; k++) top = mcamp__dmax(top, fabs(m->coef[k]));
    return sum + top;
}

/* Column factors: kept beside a Toeplitz form, multiplied into rows. */
MCAMP__PRIV mcamp_status mcamp__mech_set_scale(mcamp_ctx *ctx, const double *scale,
                                               mcamp_mech *m)
{
    mcamp_status st = mcamp__check_values(ctx, "scale", scale, m->n);
    double top = mcamp__toeplitz_bound(m);
    if (st < 0) return st;
    for (size_t j = 0; j < m->n; j++) {
        int ok = scale[j] >= MCAMP__SIGMA_MIN;
        if (!ok) return mcamp__fail(ctx, MCAMP_E_STRATEGY, "scale",
                                    scale[j]);
        ok = m->form == MCAMP_FORM_ROWS || top * scale[j] <= MCAMP__SIGMA_MAX;
        if (!ok) return mcamp__fail(ctx, MCAMP_E_ARG, "scale",
                                    scale[j]);
    }
    if (m->form != MCAMP_FORM_ROWS)
        return mcamp__copy_values(ctx, "scale", scale, m->n,
                                  &m->scale);
    for (size_t i = 0; i < m->n; i++) {
        size_t len = mcamp__row_len(m, i);
        double *row = m->coef + mcamp__row_start(m, i);
        for (size_t k = 0; k < len; k++) row[k] *= scale[i + 1 - len + k];
    }
    return mcamp__check_values(ctx, "scale", m->coef, m->count);
}

/* Diagonal entry j without the column factor. */
MCAMP__PRIV double mcamp__mech_diag(const mcamp_mech *m, size_t j)
{
    if (m->form == MCAMP_FORM_BLT) return m->diag;
    if (m->form == MCAMP_FORM_TOEPLITZ) return m->coef[0];
    return m->coef[mcamp__row_start(m, j) + mcamp__row_len(m, j) - 1];
}

MCAMP__PRIV mcamp_status mcamp__mech_check_diag(mcamp_ctx *ctx, const mcamp_mech *m)
{
    size_t rows = m->form == MCAMP_FORM_ROWS ? m->n : 1;
    for (size_t j = 0; j < rows; j++) {
        double d = mcamp__mech_diag(m, j);
        int ok = d >= MCAMP__SIGMA_MIN;
        if (!ok) return mcamp__fail(ctx, MCAMP_E_STRATEGY, "coef", d);
    }
    return MCAMP_OK;
}

MCAMP__PRIV bool mcamp__any_negative(const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (x[i] < 0) return true;
    return false;
}

/* A BLT of weights >= 0 has no entry below 0; otherwise look at each one. */
MCAMP__PRIV bool mcamp__mech_any_negative(const mcamp_mech *m)
{
    double c[MCAMP__CHUNK];
    if (m->form != MCAMP_FORM_BLT) return mcamp__any_negative(m->coef, m->count);
    if (!mcamp__any_negative(m->omega, m->buffers)) return false;
    for (size_t k = 0; k < m->n; k += MCAMP__CHUNK) {
        size_t len = mcamp__zmin(MCAMP__CHUNK, m->n - k);
        mcamp__blt_coefs(m, k, len, c);
        if (mcamp__any_negative(c, len)) return true;
    }
    return false;
}

MCAMP__PRIV uint64_t mcamp__mech_hash(const mcamp_mech *m)
{
    uint64_t h = mcamp__hash_word(UINT64_C(0x6d63616d70), (uint64_t)m->kind);
    h = mcamp__hash_word(h, (uint64_t)m->n);
    h = mcamp__hash_word(h, (uint64_t)m->bands);
    h = mcamp__hash_word(h, (uint64_t)m->buffers);
    h = mcamp__hash_doubles(h, &m->diag, 1);
    if (m->coef) h = mcamp__hash_doubles(h, m->coef, m->count);
    if (m->theta) h = mcamp__hash_doubles(h, m->theta, m->buffers);
    if (m->omega) h = mcamp__hash_doubles(h, m->omega, m->buffers);
    if (m->inverse) h = mcamp__hash_doubles(h, m->inverse, m->inverse_bands);
    h = mcamp__hash_word(h, m->scale ? 1 : 0);
    return m->scale ? mcamp__hash_doubles(h, m->scale, m->n) : h;
}

/* ---- column norms -------------------------------------------------------- */

/* Column j of a Toeplitz C has the norm s_j sqrt(c_0^2 + .. + c_{n-1-j}^2), so
 * one pass over k gives all of them, last column first.  out may be NULL.    */
MCAMP__PRIV double mcamp__toeplitz_norms(const mcamp_mech *m, double *out)
{
    mcamp__sum acc = { 0, 0 };
    double c[MCAMP__CHUNK], best = 0;
    for (size_t k0 = 0; k0 < m->n; k0 += MCAMP__CHUNK) {
        size_t len = mcamp__zmin(MCAMP__CHUNK, m->n - k0);
        mcamp__mech_coefs(m, k0, len, c);
        for (size_t i = 0; i < len; i++) {
            size_t j = m->n - 1 - (k0 + i);
            double x;
            mcamp__sum_add(&acc, c[i] * c[i]);
            x = sqrt(mcamp__sum_get(&acc)) * (m->scale ? m->scale[j] : 1.0);
            best = mcamp__dmax(best, x);
            if (out) out[j] = x;
        }
    }
    return best;
}

/* Knuth's exact addition: *s + x = new *s + error; the errors gather in *c. */
MCAMP__PRIV void mcamp__two_sum(double *s, double *c, double x)
{
    double a = *s, t = a + x, z = t - a;
    *c += (a - (t - z)) + (x - z);
    *s = t;
}

/* The squares go to out, their rounding errors to low, both n long. */
MCAMP__PRIV double mcamp__rows_norms(const mcamp_mech *m, double *out, double *low)
{
    double best = 0;
    for (size_t j = 0; j < m->n; j++) out[j] = low[j] = 0;
    for (size_t i = 0; i < m->n; i++) {
        const double *row = m->coef + mcamp__row_start(m, i);
        size_t len = mcamp__row_len(m, i), j0 = i + 1 - len;
        for (size_t k = 0; k < len; k++)
            mcamp__two_sum(out + j0 + k, low + j0 + k, row[k] * row[k]);
    }
    for (size_t j = 0; j < m->n; j++) {
        out[j] = sqrt(out[j] + low[j]);
        best = mcamp__dmax(best, out[j]);
    }
    return best;
}

MCAMP__PRIV mcamp_status mcamp__mech_norms(mcamp_ctx *ctx, const mcamp_mech *m,
                                           double *out, double *best)
{
    double *tmp, x;
    size_t count;
    if (m->form != MCAMP_FORM_ROWS) {
        x = mcamp__toeplitz_norms(m, out);
    } else {
        if (!mcamp__mul_size(m->n, 2, &count))
            return mcamp__fail(ctx, MCAMP_E_SIZE, "mech", (double)m->n);
        tmp = mcamp__new_doubles(ctx, count);
        if (!tmp) return mcamp__fail(ctx, MCAMP_E_MEMORY, "mech", (double)m->n);
        x = mcamp__rows_norms(m, out ? out : tmp, tmp + m->n);
        mcamp__delete_doubles(ctx, tmp, count);
    }
    if (best) *best = x;
    return MCAMP_OK;
}

/* Divides C by its largest column norm, in the parameters. */
MCAMP__PRIV mcamp_status mcamp__mech_normalize(mcamp_ctx *ctx, mcamp_mech *m)
{
    double norm = 0;
    mcamp_status st = mcamp__mech_norms(ctx, m, NULL, &norm);
    if (st < 0) return st;
    for (size_t i = 0; m->coef && i < m->count; i++) m->coef[i] /= norm;
    for (size_t j = 0; m->omega && j < m->buffers; j++) m->omega[j] /= norm;
    for (size_t k = 0; k < m->inverse_bands; k++) m->inverse[k] *= norm;
    m->diag /= norm;
    return mcamp__mech_check_diag(ctx, m);
}

/* ---- the object ---------------------------------------------------------- */

MCAMP__PRIV int mcamp__mech_ok(const mcamp_mech *m)
{
    return m && m->magic == MCAMP__MECH_MAGIC;
}

MCAMP_API void mcamp_mech_free(mcamp_ctx *ctx, mcamp_mech *mech)
{
    if (!mcamp__ctx_ok(ctx) || !mech) return;
    mcamp__delete_doubles(ctx, mech->coef, mech->count);
    mcamp__delete_doubles(ctx, mech->theta, mech->buffers);
    mcamp__delete_doubles(ctx, mech->omega, mech->buffers);
    mcamp__delete_doubles(ctx, mech->inverse, mech->inverse_bands);
    mcamp__delete_doubles(ctx, mech->scale, mech->n);
    memset(mech, 0, sizeof *mech);
}

MCAMP__PRIV mcamp_status mcamp__mech_make(mcamp_ctx *ctx, const mcamp_mech_desc *d,
                                          mcamp_mech *m)
{
    mcamp_status st;
    m->kind = d->kind;
    m->n = d->n;
    st = mcamp__mech_build(ctx, d, m);
    if (st == MCAMP_OK) st = mcamp__mech_check_diag(ctx, m);
    if (st == MCAMP_OK && d->scale) st = mcamp__mech_set_scale(ctx, d->scale, m);
    if (st == MCAMP_OK && d->normalize) st = mcamp__mech_normalize(ctx, m);
    if (st < 0) return st;
    m->negative = mcamp__mech_any_negative(m);
    m->digest = mcamp__mech_hash(m);
    m->magic = MCAMP__MECH_MAGIC;
    return MCAMP_OK;
}

/* Rounds are counted in doubles in places: n must be exact as one. */
#define MCAMP__MAX_ROUNDS (UINT64_C(1) << 48)

MCAMP__PRIV int mcamp__rounds_ok(uint64_t n)
{
    return n && n <= MCAMP__MAX_ROUNDS;
}

MCAMP_API mcamp_status mcamp_mech_init(mcamp_ctx *ctx, const mcamp_mech_desc *desc,
                                       mcamp_mech *mech)
{
    MCAMP__GUARD;
    mcamp_mech m;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!desc) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "desc", 0);
    if (!mech) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "mech", 0);
    if (desc->start_canary || desc->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
    if (!mcamp__rounds_ok(desc->n))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "n", (double)desc->n);
    memset(&m, 0, sizeof m);
    st = mcamp__mech_make(ctx, desc, &m);
    if (st < 0) { mcamp_mech_free(ctx, &m); return st; }
    *mech = m;
    return MCAMP_OK;
}

/* The common checks of (ctx, mech, v or out). */
MCAMP__PRIV mcamp_status mcamp__mech_args(mcamp_ctx *ctx, const mcamp_mech *m,
                                          const void *a, const void *out)
{
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!mcamp__mech_ok(m)) return mcamp__fail(ctx, MCAMP_E_ARG, "mech", 0);
    if (!out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    if (!a) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "v", 0);
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_mech_max_norm(mcamp_ctx *ctx, const mcamp_mech *mech,
                                           double *out)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__mech_args(ctx, mech, out, out);
    return st < 0 ? st : mcamp__mech_norms(ctx, mech, NULL, out);
}

MCAMP_API mcamp_status mcamp_mech_column(mcamp_ctx *ctx, const mcamp_mech *mech,
                                         size_t j, double *out)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__mech_args(ctx, mech, out, out);
    if (st < 0) return st;
    if (j >= mech->n) return mcamp__fail(ctx, MCAMP_E_ARG, "j", (double)j);
    for (size_t i = 0; i < j; i++) out[i] = 0;
    if (mech->form != MCAMP_FORM_ROWS) {
        mcamp__mech_coefs(mech, 0, mech->n - j, out + j);
        for (size_t i = j; mech->scale && i < mech->n; i++) out[i] *= mech->scale[j];
        return MCAMP_OK;
    }
    for (size_t i = j; i < mech->n; i++)
        out[i] = i - j < mech->bands
               ? mech->coef[mcamp__row_start(mech, i) + mcamp__row_len(mech, i) - 1 - (i - j)]
               : 0.0;
    return MCAMP_OK;
}

/* ---- products and solves -------------------------------------------------- */

/* What the buffers add to the current row: sum_j omega_j state_j, where state_j
 * holds sum_{k >= 1} theta_j^(k-1) x_{i-k}.                                   */
MCAMP__PRIV double mcamp__blt_read(const mcamp_mech *m, const double *state)
{
    double s = 0;
    for (size_t j = 0; j < m->buffers; j++) s += m->omega[j] * state[j];
    return s;
}

/* Takes the current input in. */
MCAMP__PRIV void mcamp__blt_push(const mcamp_mech *m, double *state, double x)
{
    for (size_t j = 0; j < m->buffers; j++) state[j] = m->theta[j] * state[j] + x;
}

/* What is done to a vector.  The bits are tested apart. */
#define MCAMP__OP_SOLVE 1       /* the inverse   */
#define MCAMP__OP_TRANS 2       /* the transpose */

/* The transpose of a Toeplitz matrix is itself with the order of time reversed. */
MCAMP__PRIV void mcamp__blt_apply(const mcamp_mech *m, double *x, size_t n, int op)
{
    double state[MCAMP_MAX_BUFFERS] = { 0 };
    for (size_t k = 0; k < n; k++) {
        size_t i = op & MCAMP__OP_TRANS ? n - 1 - k : k;
        double past = mcamp__blt_read(m, state), in = x[i];
        x[i] = op & MCAMP__OP_SOLVE ? (in - past) / m->diag : m->diag * in + past;
        mcamp__blt_push(m, state, op & MCAMP__OP_SOLVE ? x[i] : in);
    }
}

MCAMP__PRIV void mcamp__conv_t(const double *c, size_t w, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = mcamp__dot(c, x + i, mcamp__zmin(n - i, w));
}

MCAMP__PRIV void mcamp__deconv_t(const double *c, size_t w, double *x, size_t n)
{
    for (size_t i = n; i-- > 0; )
        x[i] = (x[i] - mcamp__dot(c + 1, x + i + 1, mcamp__zmin(n - i, w) - 1)) / c[0];
}

/* A known short inverse turns a product into a solve and the other way round. */
MCAMP__PRIV void mcamp__toeplitz_apply(const mcamp_mech *m, double *x, size_t n, int op)
{
    const double *c = m->inverse ? m->inverse : m->coef;
    size_t w = m->inverse ? m->inverse_bands : m->bands;
    if (m->inverse) op ^= MCAMP__OP_SOLVE;
    switch (op) {
    case 0:               mcamp__conv(c, w, x, n); break;
    case MCAMP__OP_SOLVE: mcamp__deconv(c, w, x, n); break;
    case MCAMP__OP_TRANS: mcamp__conv_t(c, w, x, n); break;
    default:              mcamp__deconv_t(c, w, x, n); break;
    }
}

MCAMP__PRIV void mcamp__rows_mul(const mcamp_mech *m, double *x, size_t n)
{
    for (size_t i = n; i-- > 0; ) {
        size_t len = mcamp__row_len(m, i);
        x[i] = mcamp__dot(m->coef + mcamp__row_start(m, i), x + i + 1 - len, len);
    }
}

/* x is zero before `from`. */
MCAMP__PRIV void mcamp__rows_solve(const mcamp_mech *m, double *x, size_t from, size_t n)
{
    for (size_t i = from; i < n; i++) {
        size_t all = mcamp__row_len(m, i) - 1, len = mcamp__zmin(all, i - from);
        const double *row = m->coef + mcamp__row_start(m, i) + all - len;
        x[i] = (x[i] - mcamp__dot(row, x + i - len, len)) / row[len];
    }
}

/* y += a x. */
MCAMP__PRIV void mcamp__axpy(double a, const double *x, double *y, size_t len)
{
    for (size_t k = 0; k < len; k++) y[k] += a * x[k];
}

MCAMP__PRIV void mcamp__rows_mul_t(const mcamp_mech *m, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double *row = m->coef + mcamp__row_start(m, i);
        size_t len = mcamp__row_len(m, i) - 1;
        mcamp__axpy(x[i], row, x + i - len, len);
        x[i] *= row[len];
    }
}

MCAMP__PRIV void mcamp__rows_solve_t(const mcamp_mech *m, double *x, size_t n)
{
    for (size_t i = n; i-- > 0; ) {
        const double *row = m->coef + mcamp__row_start(m, i);
        size_t len = mcamp__row_len(m, i) - 1;
        x[i] /= row[len];
        mcamp__axpy(-x[i], row, x + i - len, len);
    }
}

MCAMP__PRIV void mcamp__rows_apply(const mcamp_mech *m, double *x, size_t n, int op)
{
    switch (op) {
    case 0:               mcamp__rows_mul(m, x, n); break;
    case MCAMP__OP_SOLVE: mcamp__rows_solve(m, x, 0, n); break;
    case MCAMP__OP_TRANS: mcamp__rows_mul_t(m, x, n); break;
    default:              mcamp__rows_solve_t(m, x, n); break;
    }
}

/* x <- (C | C^-1 | C^T | C^-T) x in place, with the leading n x n block of C.
 * With C = T S, S the column factors: S comes first in C and in C^-T.        */
MCAMP__PRIV void mcamp__mech_apply(const mcamp_mech *m, double *x, size_t n, int op)
{
    int first = op == 0 || op == (MCAMP__OP_SOLVE | MCAMP__OP_TRANS);
    for (int pass = 0; pass < 2; pass++) {
        if (m->scale && pass == !first) {
            for (size_t j = 0; j < n; j++)
                x[j] = op & MCAMP__OP_SOLVE ? x[j] / m->scale[j] : x[j] * m->scale[j];
        }
        if (pass) break;
        if (m->form == MCAMP_FORM_BLT) mcamp__blt_apply(m, x, n, op);
        else if (m->form == MCAMP_FORM_TOEPLITZ) mcamp__toeplitz_apply(m, x, n, op);
        else mcamp__rows_apply(m, x, n, op);
    }
}

MCAMP__PRIV mcamp_status mcamp__check_finite(mcamp_ctx *ctx, const char *argument,
                                             const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!mcamp__finite(x[i]))
            return mcamp__fail(ctx, MCAMP_E_NONFINITE, argument, x[i]);
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__mech_apply_to(mcamp_ctx *ctx, const mcamp_mech *m,
                                              const double *v, double *out, int op)
{
    mcamp_status st = mcamp__mech_args(ctx, m, v, out);
    if (st == MCAMP_OK) st = mcamp__check_finite(ctx, "v", v, m->n);
    if (st < 0) return st;
    if (out != v) memmove(out, v, m->n * sizeof *out);
    mcamp__mech_apply(m, out, m->n, op);
    return mcamp__check_finite(ctx, "out", out, m->n);
}

MCAMP_API mcamp_status mcamp_mech_mul(mcamp_ctx *ctx, const mcamp_mech *mech,
                                      const double *v, double *out)
{
    MCAMP__GUARD;
    return mcamp__mech_apply_to(ctx, mech, v, out, 0);
}

MCAMP_API mcamp_status mcamp_mech_solve(mcamp_ctx *ctx, const mcamp_mech *mech,
                                        const double *v, double *out)
{
    MCAMP__GUARD;
    return mcamp__mech_apply_to(ctx, mech, v, out, MCAMP__OP_SOLVE);
}

/* ======================================================================== *
 *  SENSITIVITY                                                        >>sens
 *  In: C, who may take part when.  Out: the largest norm of C x that one example
 *  can have, never below the exact one by more than rounding.
 * ======================================================================== */

/* ---- sensitivity ---------------------------------------------------------- *
 * With X = C^T C, rows of x of norm at most 1 and a set P of rounds,
 *     |C x_P|^2 <= sum_{p,q in P} |X_pq|,                      (Proposition E.1)
 * with equality for some x if those X_pq are >= 0.  Columns b or more apart of a
 * matrix with at most b bands have disjoint supports: only X_pp counts, and the
 * bound is attained whatever the signs.                                       */

/* F(i, m) = max(v_i + F(i+b, m-1), F(i+1, m)): Algorithm 3.  f has 2 n values.
 * When k reaches ceil(n/b) it does not bind, and one pass is enough.          */
MCAMP__PRIV double mcamp__sens_vector(const double *v, size_t n, size_t k, size_t b,
                                      double *f)
{
    double *prev = f, *cur = f + n;
    int bound = k <= (n - 1) / b;
    if (!bound) k = 1;
    for (size_t i = 0; i < n; i++) prev[i] = 0;
    for (size_t m = 0; m < k; m++) {
        const double *after = bound ? prev : cur;
        double *swap = prev;
        for (size_t i = n; i-- > 0; ) {
            double take = v[i] + (b < n - i ? after[i + b] : 0.0);
            double skip = i + 1 < n ? cur[i + 1] : 0.0;
            cur[i] = take > skip ? take : skip;
        }
        prev = cur;
        cur = swap;
    }
    return prev[0];
}

/* Checks the arguments; *work = 4 n doubles. */
MCAMP__PRIV mcamp_status mcamp__sens_begin(mcamp_ctx *ctx, const mcamp_mech *mech, size_t k,
                                           size_t b, const mcamp_sens *out, double **work)
{
    size_t all;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!k || !b) return mcamp__fail(ctx, MCAMP_E_SIZE, k ? "b" : "k", 0);
    if (!mcamp__mech_ok(mech)) return mcamp__fail(ctx, MCAMP_E_ARG, "mech", 0);
    if (!out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    if (!mcamp__mul_size(mech->n, 4, &all))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "n", (double)mech->n);
    *work = mcamp__new_doubles(ctx, all);
    return *work ? MCAMP_OK : mcamp__fail(ctx, MCAMP_E_MEMORY, "n", (double)all);
}

MCAMP__PRIV bool mcamp__rising(const double *x, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[i - 1]) return true;
    return false;
}

/* C Toeplitz with c >= 0, c_b >= c_{b+1} >= .., and column factors that do not
 * rise.  Then X_pq = s_p s_q sum_t c_t c_{t+|p-q|}, t < n - max(p, q), does not rise
 * when p, q or |p-q| >= b grow: the rounds 0, b, 2b, .. dominate every pattern with
 * gaps of b or more, entry by entry.  For gaps of exactly b |p-q| is the same, and c
 * need not be monotone (`any`).  A BLT of weights >= 0 falls from c_1 on.       */
MCAMP__PRIV bool mcamp__sens_first_is_worst(const mcamp_mech *m, size_t b, bool any)
{
    if (m->form == MCAMP_FORM_ROWS || m->negative) return false;
    if (m->scale && mcamp__rising(m->scale, m->n)) return false;
    if (any) return true;
    if (m->form == MCAMP_FORM_BLT) return !mcamp__any_negative(m->omega, m->buffers);
    return m->bands <= b || !mcamp__rising(m->coef + b, m->bands - b);
}

/* |sum of columns 0, b, .., (k-1) b|^2 of a Toeplitz form, all entries >= 0. */
MCAMP__PRIV double mcamp__sens_first(const mcamp_mech *m, size_t k, size_t b, double *y)
{
    mcamp__sum acc = { 0, 0 };
    double *c = y + m->n;
    mcamp__mech_coefs(m, 0, m->n, c);
    for (size_t e = 0, j = 0; e < k && j < m->n; e++) {
        double s = m->scale ? m->scale[j] : 1.0;
        mcamp__axpy(s, c, y + j, mcamp__zmin(m->n - j, m->bands));
        if (b >= m->n - j) break;
        j += b;
    }
    for (size_t i = 0; i < m->n; i++) mcamp__sum_add(&acc, y[i] * y[i]);
    return mcamp__sum_get(&acc);
}

/* Row r of C to out[0 .. r]; c holds the coefficients of a Toeplitz form. */
MCAMP__PRIV void mcamp__sens_row(const mcamp_mech *m, const double *c, size_t r,
                                 double *out)
{
    size_t len = mcamp__row_len(m, r), c0 = r + 1 - len;
    for (size_t j = 0; j < c0; j++) out[j] = 0;
    if (m->form == MCAMP_FORM_ROWS) {
        memcpy(out + c0, m->coef + mcamp__row_start(m, r), len * sizeof *out);
        return;
    }
    for (size_t j = c0; j <= r; j++) out[j] = c[r - j] * (m->scale ? m->scale[j] : 1.0);
}

/* max over i of |sum_{e < k} column i + e b|^2 for C >= 0, row by row: with
 * P_i = C_ri + C_{r,i+b} + .., row r of the sum for start i is P_i - P_{i+kb}.
 * work: 4 n values.  O(n^2).                                                  */
MCAMP__PRIV double mcamp__sens_starts(const mcamp_mech *m, size_t k, size_t b,
                                      double *work)
{
    size_t n = m->n, reach = k > n / b ? n : k * b;
    double *acc = work, *low = acc + n, *p = low + n, *c = p + n, best = 0;
    if (m->form != MCAMP_FORM_ROWS) mcamp__mech_coefs(m, 0, n, c);
    for (size_t r = 0; r < n; r++) {
        mcamp__sens_row(m, c, r, p);
        for (size_t i = r + 1; i-- > 0; )
            if (b <= r - i) p[i] += p[i + b];
        for (size_t i = 0; i <= r; i++) {
            double x = reach <= r - i ? p[i] - p[i + reach] : p[i];
            mcamp__two_sum(acc + i, low + i, x * x);
        }
    }
    for (size_t i = 0; i < n; i++) best = mcamp__dmax(best, acc[i] + low[i]);
    return best;
}

/* row[q] = X_pq for all q. */
MCAMP__PRIV void mcamp__sens_gram_row(const mcamp_mech *m, size_t p, double *row)
{
    for (size_t i = 0; i < m->n; i++) row[i] = i == p ? 1.0 : 0.0;
    mcamp__mech_apply(m, row, m->n, 0);
    mcamp__mech_apply(m, row, m->n, MCAMP__OP_TRANS);
}

/* max over i of the sum of |X_pq| over the pattern of start i, any signs: row p
 * belongs to the starts p, p-b, .., k of them; sums along its residue class are
 * differences of suffix sums.  *exact is cleared if some X_pq < 0 by more than rounding
 * (columns that were made orthogonal).  work: 3 n.                             */
MCAMP__PRIV double mcamp__sens_patterns(const mcamp_mech *m, size_t k, size_t b,
                                        double *work, bool *exact)
{
    size_t n = m->n, reach = k > n / b ? n : k * b;
    double *total = work, *row = total + n, *sum = row + n, best = 0;
    for (size_t p = 0; p < n; p++) {
        mcamp__sens_gram_row(m, p, row);
        for (size_t q = n; q-- > 0; ) {
            size_t d = q > p ? q - p : p - q;
            if (row[q] < -1e-13 * row[p] && d % b == 0 && d < reach) *exact = false;
            sum[q] = fabs(row[q]) + (b < n - q ? sum[q + b] : 0.0);
        }
        for (size_t e = 0, i = p; e < k; e++) {
            total[i] += sum[i] - (reach < n - i ? sum[i + reach] : 0.0);
            if (i < b) break;
            i -= b;
        }
    }
    for (size_t i = 0; i < n; i++) best = mcamp__dmax(best, total[i]);
    return best;
}

/* max over i of norm_i^2 + norm_{i+b}^2 + .. (k terms), the norms in v. */
MCAMP__PRIV double mcamp__sens_norms(const double *v, size_t n, size_t k, size_t b)
{
    double best = 0;
    for (size_t i = 0; i < n; i++) {
        mcamp__sum acc = { 0, 0 };
        for (size_t e = 0, j = i; e < k; e++) {
            mcamp__sum_add(&acc, v[j] * v[j]);
            if (b >= n - j) break;
            j += b;
        }
        best = mcamp__dmax(best, mcamp__sum_get(&acc));
        if (i + 1 >= b && k > (n - 1) / b) break;   /* later starts are subsets */
    }
    return best;
}

MCAMP__PRIV mcamp_status mcamp__sens_finish(mcamp_ctx *ctx, double square, bool exact,
                                            mcamp_sens *out)
{
    if (!mcamp__finite(square)) return mcamp__fail(ctx, MCAMP_E_NONFINITE, "mech", square);
    out->value = sqrt(square);
    out->exact = exact;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_sens_fixed(mcamp_ctx *ctx, const mcamp_mech *mech,
                                        size_t k, size_t b, mcamp_sens *out)
{
    MCAMP__GUARD;
    double *work = NULL, square = 0;
    mcamp_status st = mcamp__sens_begin(ctx, mech, k, b, out, &work);
    bool exact = true;
    if (st < 0) return st;
    if (mech->bands <= b) {
        st = mcamp__mech_norms(ctx, mech, work, NULL);
        if (st == MCAMP_OK) square = mcamp__sens_norms(work, mech->n, k, b);
    } else if (mcamp__sens_first_is_worst(mech, b, true)) {
        square = mcamp__sens_first(mech, k, b, work);
    } else if (!mech->negative) {
        square = mcamp__sens_starts(mech, k, b, work);
    } else {
        square = mcamp__sens_patterns(mech, k, b, work, &exact);
    }
    mcamp__delete_doubles(ctx, work, 4 * mech->n);
    return st < 0 ? st : mcamp__sens_finish(ctx, square, exact, out);
}

/* Algorithm 4: each row of |X| gives at most what its best pattern adds up to. */
MCAMP__PRIV double mcamp__sens_rows(const mcamp_mech *m, size_t k, size_t b, double *work)
{
    size_t n = m->n;
    double *v = work, *row = v + n, *f = row + n;
    for (size_t p = 0; p < n; p++) {
        mcamp__sens_gram_row(m, p, row);
        for (size_t q = 0; q < n; q++) row[q] = fabs(row[q]);
        v[p] = mcamp__sens_vector(row, n, k, b, f);
    }
    return mcamp__sens_vector(v, n, k, b, f);
}

MCAMP_API mcamp_status mcamp_sens_minsep(mcamp_ctx *ctx, const mcamp_mech *mech,
                                         size_t k, size_t b, mcamp_sens *out)
{
    MCAMP__GUARD;
    double *work = NULL, square = 0;
    mcamp_status st = mcamp__sens_begin(ctx, mech, k, b, out, &work);
    bool exact = true;
    if (st < 0) return st;
    if (mech->bands <= b || k == 1 || b >= mech->n) {   /* Algorithm 5; one column */
        st = mcamp__mech_norms(ctx, mech, work, NULL);
        for (size_t j = 0; j < mech->n; j++) work[j] *= work[j];
        if (st == MCAMP_OK)
            square = mcamp__sens_vector(work, mech->n, k, b, work + mech->n);
    } else if (mcamp__sens_first_is_worst(mech, b, false)) {
        square = mcamp__sens_first(mech, k, b, work);
    } else {
        square = mcamp__sens_rows(mech, k, b, work);
        exact = false;
    }
    mcamp__delete_doubles(ctx, work, 4 * mech->n);
    return st < 0 ? st : mcamp__sens_finish(ctx, square, exact, out);
}

/* ======================================================================== *
 *  MODES AND THEIR GRAM MATRIX                                     >>modes
 *  In: C and b, or a user's matrix.  Out: G = M^T M, the only thing that the
 *  privacy loss sees of C, with its structure (diagonal, periodic band, dense);
 *  a Cholesky factor that errs on the safe side.  Memory: O(b^2), O(n) for
 *  long-memory Toeplitz forms.  Guarantee: all sums are
 *  of non-negative terms in short compensated pieces, relative error < 1e-13.
 * ======================================================================== */

#define MCAMP__GRAM_MAGIC 0x6772616du
#define MCAMP__SLAB       1024  /* most rows of M folded into G at a time */

/* ---- dense kernels -------------------------------------------------------- */

/* out[rows of a][cols] += alpha a z, as mcamp__vec_nt, by tasks of MCAMP__ROWS rows.
 * upper: row i of a is zero before column i - at.                              */
#define MCAMP__ROWS 96

typedef struct mcamp__nt {
    mcamp_vecset vs;
    const double *a, *z;
    double *out;
    size_t lda, ldo, rows, len, cols, at;
    double alpha;
    int upper;
} mcamp__nt;

MCAMP__PRIV void mcamp__nt_task(void *arg, size_t i)
{
    const mcamp__nt *t = (const mcamp__nt *)arg;
    size_t r = i * MCAMP__ROWS, k = t->upper && r > t->at ? r - t->at : 0;
    k = mcamp__zmin(k, t->len);
    mcamp__vec_nt(t->vs, t->a + r * t->lda + k, t->lda, mcamp__zmin(MCAMP__ROWS, t->rows - r),
                  t->z + k * MCAMP__S, t->len - k, t->alpha, t->out + r * t->ldo, t->ldo,
                  t->cols);
}

/* In parallel only where that is more than the threads cost. */
MCAMP__PRIV void mcamp__nt_run(const mcamp_ctx *ctx, mcamp__nt *t)
{
    size_t tasks = (t->rows + MCAMP__ROWS - 1) / MCAMP__ROWS;
    t->vs = ctx->vec;
    if ((double)t->rows * (double)t->len * (double)t->cols > 5e6) {
        mcamp__run(ctx, tasks, mcamp__nt_task, t);
    } else {
        for (size_t i = 0; i < tasks; i++) mcamp__nt_task(t, i);
    }
}

/* The diagonal shift of mcamp__cholesky: a few roundings of b products. */
MCAMP__PRIV double mcamp__cholesky_shift(const double *a, size_t b)
{
    double top = 0;
    for (size_t i = 0; i < b; i++) top = mcamp__dmax(top, a[i * b + i]);
    return 8.0 * (double)b * (DBL_EPSILON / 2) * top;
}

/* Row i of the factor, from a row that holds a + shift I; 0 if the pivot is not
 * positive (or NaN).  from[i] is the first column of row i that can differ from 0;
 * NULL: 0.                                                                     */
MCAMP__PRIV int mcamp__cholesky_row(double *l, size_t ld, const size_t *from, size_t i)
{
    double *row = l + i * ld, d;
    size_t first = from ? from[i] : 0;
    for (size_t j = first; j < i; j++) {
        size_t k = from ? mcamp__zmax(first, from[j]) : 0;
        row[j] = (row[j] - mcamp__dot(row + k, l + j * ld + k, j - k)) / l[j * ld + j];
    }
    d = row[i] - mcamp__dot(row + first, row + first, i - first);
    if (!(d > 0) || !mcamp__finite(d)) return 0;
    row[i] = sqrt(d);
    return 1;
}

/* The triangle's transpose for mcamp__vec_trsm, 1/l_ii on the diagonal. */
MCAMP__PRIV void mcamp__cholesky_upper(const double *l, size_t ld, size_t w, double *u)
{
    memset(u, 0, MCAMP__S * MCAMP__S * sizeof *u);
    for (size_t k = 0; k < w; k++) {
        u[k * MCAMP__S + k] = 1 / l[k * ld + k];
        for (size_t c = k + 1; c < w; c++) u[k * MCAMP__S + c] = l[c * ld + k];
    }
}

/* The factor in place, in blocks of MCAMP__S columns: each takes what the columns before
 * it contribute, is factored, and divides the rows below.  t, if any: the identity
 * in, L^-T out, as more rows of the same factorisation.  work: MCAMP__S (b + S).
 * Returns the number of good rows, b if all are.                              */
MCAMP__PRIV size_t mcamp__cholesky_blocks(const mcamp_ctx *ctx, size_t b, double *l,
                                          double *t, double *work)
{
    double *u = work + MCAMP__S * b;
    for (size_t p = 0; p < b; p += MCAMP__S) {
        size_t w = mcamp__zmin(MCAMP__S, b - p);
        double *d = l + p * b + p;
        mcamp__nt x;
        memset(&x, 0, sizeof x);
        mcamp__nt_pack(l + p * b, b, w, p, work);
        x.a = l + p * b; x.z = work; x.out = d;
        x.lda = x.ldo = b; x.rows = b - p; x.len = p; x.cols = w; x.alpha = -1;
        mcamp__nt_run(ctx, &x);
        for (size_t i = 0; i < w; i++)
            if (!mcamp__cholesky_row(d, b, NULL, i)) return p + i;
        for (size_t i = 0; i < w; i++)
            memset(d + i * b + i + 1, 0, (w - i - 1) * sizeof *d);
        mcamp__cholesky_upper(d, b, w, u);
        mcamp__vec_trsm(ctx->vec, u, w, d + w * b, b, b - p - w);
        if (!t) continue;
        x.a = t; x.out = t + p; x.rows = p; x.upper = 1;
        mcamp__nt_run(ctx, &x);
        mcamp__vec_trsm(ctx->vec, u, w, t + p, b, p + w);
    }
    return b;
}

/* l = lower factor of a + shift I (b x b row-major, zeros above the diagonal);
 * reads a's lower triangle; *shift is set.  Rows start at their first non-zero
 * column, where the factor's do too, so a periodic band costs O(b w^2).
 * Why a shift is safe: G + shift I is the Gram matrix of the modes with one more
 * coordinate each, sqrt(shift) in a dimension of its own; whoever sees it can
 * forget it, so delta does not decrease.  Use a + shift I throughout, then.
 * MCAMP_E_NOT_PSD if a pivot is still not positive; MCAMP_E_MEMORY.          */
MCAMP__PRIV mcamp_status mcamp__cholesky(mcamp_ctx *ctx, const double *a, size_t b,
                                         double *l, double *shift)
{
    size_t *from, i, zeros = 0;
    double *work;
    *shift = mcamp__cholesky_shift(a, b);
    from = (size_t *)mcamp__new(ctx, b, sizeof *from);
    if (!from) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)b);
    for (i = 0; i < b; i++) {
        while (from[i] < i && mcamp__eq(a[i * b + from[i]], 0.0)) from[i]++;
        zeros += from[i];
        memcpy(l + i * b, a + i * b, (i + 1) * sizeof *l);
        memset(l + i * b + i + 1, 0, (b - i - 1) * sizeof *l);
        l[i * b + i] += *shift;
    }
    if (b > MCAMP__S && (double)zeros < 0.35 * (double)b * (double)b) {
        work = mcamp__new_doubles(ctx, MCAMP__S * (b + MCAMP__S));
        i = work ? mcamp__cholesky_blocks(ctx, b, l, NULL, work) : b;
        mcamp__delete_doubles(ctx, work, MCAMP__S * (b + MCAMP__S));
    } else {
        for (i = 0; i < b && mcamp__cholesky_row(l, b, from, i); ) i++;
        work = l;
    }
    mcamp__delete(ctx, from, b, sizeof *from);
    if (!work) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)b);
    return i == b ? MCAMP_OK : mcamp__fail(ctx, MCAMP_E_NOT_PSD, "g", (double)i);
}

/* ---- Toeplitz: lag sums --------------------------------------------------- *
 * m_i(r) = S(r - i) with S(t) = sum_{e >= 0} |c|_{t - b e}: every mode is mode 0
 * shifted down by i and cut at n.  So with lag d
 *     G_{i,i+d} = sum_{t=0}^{n-1-i-d} S(t) S(t+d) = F_d(n - 1 - i - d),
 * one running sum per lag, read at its last b values.  With w coefficients
 * S(t+b) = S(t) + |c|_{t+b} = S(t) from t0 = max(0, w - b) on, so that whole
 * periods are counted, not added: the cost does not depend on n.              */

typedef struct mcamp__lags {
    size_t n, b, t0;
    size_t base;        /* terms t < base belong to every F_d that is read */
    size_t len;         /* values in s */
    double *s;
} mcamp__lags;

/* The same value of S at an index inside the table. */
MCAMP__PRIV size_t mcamp__lags_index(const mcamp__lags *q, size_t t)
{
    return t < q->t0 + q->b ? t : q->t0 + (t - q->t0) % q->b;
}

/* s[t] = S(t): one compensated running sum for each residue of t modulo b. */
MCAMP__PRIV mcamp_status mcamp__lags_fill(mcamp_ctx *ctx, const mcamp_mech *m,
                                          mcamp__lags *q)
{
    double c[MCAMP__CHUNK];
    size_t res = mcamp__zmin(q->b, q->len), p = 0;
    mcamp__sum *acc = (mcamp__sum *)mcamp__new(ctx, res, sizeof *acc);
    if (!acc) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)res);
    for (size_t t0 = 0; t0 < q->len; t0 += MCAMP__CHUNK) {
        size_t len = mcamp__zmin(MCAMP__CHUNK, q->len - t0);
        mcamp__mech_coefs(m, t0, len, c);
        for (size_t i = 0; i < len; i++) {
            mcamp__sum_add(acc + p, fabs(c[i]));
            q->s[t0 + i] = mcamp__sum_get(acc + p);
            p = p + 1 == q->b ? 0 : p + 1;
        }
    }
    mcamp__delete(ctx, acc, res, sizeof *acc);
    return MCAMP_OK;
}

/* acc[d] += times * sum_{from <= t < to} S(t) S(t+d), every d < b; pieces short
 * enough for the first-level cache serve all lags before the next is read.   */
MCAMP__PRIV void mcamp__lags_add(const mcamp__lags *q, size_t from, size_t to,
                                 double times, mcamp__sum *acc)
{
    for (size_t t = from; t < to; t += MCAMP__CHUNK) {
        size_t len = mcamp__zmin(MCAMP__CHUNK, to - t);
        for (size_t d = 0; d < q->b; d++)
            mcamp__sum_add(acc + d, times * mcamp__dot(q->s + t, q->s + t + d, len));
    }
}

/* G's entries (i, i+d) and (i+d, i) for one lag; acc holds F_d(base - 1). */
MCAMP__PRIV void mcamp__lags_read(const mcamp__lags *q, size_t d, mcamp__sum acc,
                                  double *g)
{
    size_t t = q->base;
    for (size_t i = q->b - d; i-- > 0; ) {
        if (i + d >= q->n) continue;            /* mode i+d is a zero vector */
        for (; t + i + d < q->n; t++) {
            size_t k = mcamp__lags_index(q, t);
            mcamp__sum_add(&acc, q->s[k] * q->s[k + d]);
        }
        g[i * q->b + i + d] = g[(i + d) * q->b + i] = mcamp__sum_get(&acc);
    }
}

MCAMP__PRIV mcamp_status mcamp__lags_run(mcamp_ctx *ctx, const mcamp__lags *q,
                                         double *g)
{
    size_t t0 = q->t0, b = q->b, whole = 0, rest = q->base;
    mcamp__sum *acc = (mcamp__sum *)mcamp__new(ctx, b, sizeof *acc);
    if (!acc) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)b);
    if (q->base > t0 + b) {
        whole = (q->base - t0) / b;
        rest = t0 + (q->base - t0) % b;
        mcamp__lags_add(q, t0, t0 + b, (double)whole, acc);
    }
    mcamp__lags_add(q, 0, rest, 1.0, acc);
    for (size_t d = 0; d < b; d++) mcamp__lags_read(q, d, acc[d], g);
    mcamp__delete(ctx, acc, b, sizeof *acc);
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__gram_toeplitz(mcamp_ctx *ctx, const mcamp_mech *m,
                                              size_t b, double *g)
{
    mcamp__lags q;
    mcamp_status st;
    q.n = m->n; q.b = b;
    q.t0 = m->bands > b ? m->bands - b : 0;
    q.base = m->n > b ? m->n - b : 0;
    /* t0 + 2b cannot overflow: b * b was allocated and bands <= n <= 2^48 */
    q.len = mcamp__zmin(m->n, q.t0 + 2 * b);
    q.s = mcamp__new_doubles(ctx, q.len);
    if (!q.s) return mcamp__fail(ctx, MCAMP_E_MEMORY, "mech", (double)q.len);
    st = mcamp__lags_fill(ctx, m, &q);
    if (st == MCAMP_OK) st = mcamp__lags_run(ctx, &q, g);
    mcamp__delete_doubles(ctx, q.s, q.len);
    return st;
}

/* ---- general C: rows of M in slabs ---------------------------------------- *
 * Row r of M is row r of |C| folded modulo b.  `slab` rows at a time touch a window
 * of min(b, bands + slab - 1) modes around the circle; their product, in tiles of
 * MCAMP__S columns, is added to G, with the rounding errors gathered in a second matrix. */

typedef struct mcamp__slab {
    const mcamp_mech *m;
    mcamp_vecset vec;
    size_t b, width;    /* width: modes in a window */
    size_t slab, ld, tiles;     /* rows at a time, and in memory; tiles of a product */
    size_t start;       /* the window's first mode */
    double *coef;       /* |c_k|, k < bands, for the Toeplitz forms; else NULL */
    double *low;        /* b x b rounding errors of G, lower triangle          */
    double *x;          /* width x ld: the window of M, one mode a row         */
    double *z;          /* tiles x S x ld: the same, transposed tile by tile   */
    double *xx;         /* tiles x S x ROWS: pieces of the product             */
    double *g;
    double *fold;       /* 2 x width: one row of M and its rounding errors     */
    size_t count;       /* doubles in one block that holds them all            */
} mcamp__slab;

/* |C_rc|. */
MCAMP__PRIV double mcamp__slab_entry(const mcamp__slab *q, const double *row,
                                     size_t r, size_t c, size_t c0)
{
    if (!q->coef) return fabs(row[c - c0]);
    return q->m->scale ? q->coef[r - c] * q->m->scale[c] : q->coef[r - c];
}

/* x[.][k] = row r of M; window position p is mode (start + p) mod b. */
MCAMP__PRIV void mcamp__slab_row(const mcamp__slab *q, size_t r, size_t k)
{
    size_t len = mcamp__row_len(q->m, r), c0 = r + 1 - len;
    size_t p = (c0 % q->b + q->b - q->start) % q->b;
    const double *row = q->coef ? NULL : q->m->coef + mcamp__row_start(q->m, r);
    double *s = q->fold, *e = q->fold + q->width;
    memset(s, 0, 2 * q->width * sizeof *s);
    for (size_t c = c0; c <= r; c++) {
        mcamp__two_sum(s + p, e + p, mcamp__slab_entry(q, row, r, c, c0));
        p = p + 1 == q->b ? 0 : p + 1;
    }
    for (p = 0; p < q->width; p++) q->x[p * q->ld + k] = s[p] + e[p];
}

/* G and its error matrix += rows p0 .. of a tile, in steps of MCAMP__S; in the common case
 * the places follow each other.                                              */
MCAMP__PRIV void mcamp__slab_into(const mcamp__slab *q, size_t p0, size_t rows, size_t first,
                                  const double *xx)
{
    size_t b = q->b, j0 = (q->start + first) % b;
    for (size_t p = p0; p < p0 + rows; p++, xx += MCAMP__S) {
        size_t i = (q->start + p) % b, count = mcamp__zmin(MCAMP__S, p - first + 1);
        double *g = q->g + i * b + j0, *low = q->low + i * b + j0;
        if (j0 + count <= i + 1) {
            for (size_t r = 0; r < count; r++) mcamp__two_sum(g + r, low + r, xx[r]);
            continue;
        }
        for (size_t r = 0; r < count; r++) {
            size_t j = (j0 + r) % b, at = i > j ? i * b + j : j * b + i;
            mcamp__two_sum(q->g + at, q->low + at, xx[r]);
        }
    }
}

/* One tile of the window's product, in short pieces. */
MCAMP__PRIV void mcamp__slab_tile(void *arg, size_t tile)
{
    const mcamp__slab *q = (const mcamp__slab *)arg;
    size_t first = tile * MCAMP__S;
    double *z = q->z + first * q->ld, *xx = q->xx + first * MCAMP__ROWS;
    mcamp__nt_pack(q->x + first * q->ld, q->ld, mcamp__zmin(MCAMP__S, q->width - first),
                   q->slab, z);
    for (size_t p = first; p < q->width; p += MCAMP__ROWS) {
        size_t rows = mcamp__zmin(MCAMP__ROWS, q->width - p);
        for (size_t k = 0; k < q->slab; k += MCAMP__DEPTH) {
            memset(xx, 0, MCAMP__ROWS * MCAMP__S * sizeof *xx);
            mcamp__vec_nt(q->vec, q->x + p * q->ld + k, q->ld, rows, z + k * MCAMP__S,
                          mcamp__zmin(MCAMP__DEPTH, q->slab - k), 1.0, xx, MCAMP__S, MCAMP__S);
            mcamp__slab_into(q, p, rows, first, xx);
        }
    }
}

MCAMP__PRIV void mcamp__slab_run(const mcamp_ctx *ctx, mcamp__slab *q)
{
    size_t n = q->m->n, b = q->b, w = q->m->bands;
    double *g = q->g;
    for (size_t r0 = 0; r0 < n; r0 += q->slab) {
        size_t first = r0 + 1 > w ? r0 + 1 - w : 0;      /* first column touched */
        q->start = q->width == b ? 0 : first % b;
        for (size_t k = 0; k < q->slab; k++) {
            if (r0 + k < n) mcamp__slab_row(q, r0 + k, k);
            else for (size_t p = 0; p < q->width; p++) q->x[p * q->ld + k] = 0;
        }
        if (q->tiles > 4) mcamp__run(ctx, q->tiles, mcamp__slab_tile, q);
        else for (size_t t = 0; t < q->tiles; t++) mcamp__slab_tile(q, t);
    }
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j <= i; j++)
            g[i * b + j] = g[j * b + i] = g[i * b + j] + q->low[i * b + j];
}

/* One block for everything; 0 if its size overflows. */
MCAMP__PRIV int mcamp__slab_size(mcamp__slab *q, size_t coefs)
{
    size_t bb, ws;
    return mcamp__mul_size(q->b, q->b, &bb) &&
           mcamp__mul_size(q->tiles * MCAMP__S, 2 * q->ld + MCAMP__ROWS + 2, &ws) &&
           mcamp__add_size(bb, ws, &q->count) &&
           mcamp__add_size(q->count, coefs, &q->count);
}

MCAMP__PRIV mcamp_status mcamp__gram_rows(mcamp_ctx *ctx, const mcamp_mech *m,
                                          size_t b, double *g)
{
    mcamp__slab q;
    double *block;
    size_t coefs = m->form == MCAMP_FORM_ROWS ? 0 : m->bands;
    memset(&q, 0, sizeof q);
    q.m = m; q.b = b; q.g = g;
    q.vec = ctx->vec;
    q.slab = mcamp__zmin(mcamp__zmin(mcamp__zmax(m->bands, MCAMP__S), MCAMP__SLAB), m->n);
    q.ld = q.slab + 8;          /* not a power of 2: columns spread over the cache */
    q.width = mcamp__zmin(b, m->bands + q.slab - 1);
    q.tiles = (q.width + MCAMP__S - 1) / MCAMP__S;
    if (!mcamp__slab_size(&q, coefs))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)b);
    block = mcamp__new_doubles(ctx, q.count);
    if (!block) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)q.count);
    q.low = block;
    q.xx = q.low + b * b;
    q.x = q.xx + q.tiles * MCAMP__S * MCAMP__ROWS;
    q.z = q.x + q.width * q.ld;
    q.fold = q.z + q.tiles * MCAMP__S * q.ld;
    if (coefs) {
        q.coef = q.fold + 2 * q.width;
        mcamp__mech_coefs(m, 0, coefs, q.coef);
        for (size_t k = 0; k < coefs; k++) q.coef[k] = fabs(q.coef[k]);
    }
    mcamp__slab_run(ctx, &q);
    mcamp__delete_doubles(ctx, block, q.count);
    return MCAMP_OK;
}

/* ---- BLT with column factors ---------------------------------------------- *
 * For columns p < q of a BLT, c_{r-p} = sum_l w_l t_l^(q-p-1) t_l^(r-q), so
 *     X_pq = <C_p, C_q> = s_p s_q sum_l w_l R_l(q) t_l^(q-p-1),
 *     R_l(q) = sum_{k=0}^{n-1-q} c_k t_l^k:
 * rank d above the diagonal.  Going through the columns q an epoch at a time, bin
 * i's earlier columns act through A_li = sum_{p < q0, p = i mod b} s_p t_l^(q0-1-p)
 * only: H = sum over pairs p < q costs O(b^2 d) an epoch, and G = H + H^T + diagonal.
 * Weights >= 0, so all terms are >= 0.  Powers come from tables made with pow.  */

typedef struct mcamp__pairs {
    const mcamp_mech *m;
    size_t b, d, count;
    double *r;          /* d x n: w_l R_l(q), column q at r[l*n + q] */
    double *square;     /* n: c_0^2 + .. + c_{n-1-q}^2 */
    double *power;      /* d x (b+1): t_l^k */
    double *a;          /* d x b */
    double *v, *u;      /* d x b: s_q w_l R_l(q) for this epoch; the same * t_l^k */
    double *low;        /* b x b rounding errors of H */
    double *row;        /* b */
} mcamp__pairs;

/* Tables over all columns, from the last (one term) to the first (n terms). */
MCAMP__PRIV void mcamp__pairs_tables(const mcamp__pairs *q)
{
    const mcamp_mech *m = q->m;
    mcamp__sum square = { 0, 0 }, sum[MCAMP_MAX_BUFFERS];
    double c[MCAMP__CHUNK], t[MCAMP_MAX_BUFFERS] = { 0 };
    memset(sum, 0, sizeof sum);
    for (size_t k = 0; k < m->n; k++) {
        size_t at = k % MCAMP__CHUNK, col = m->n - 1 - k;
        if (!at) mcamp__blt_coefs(m, k, mcamp__zmin(MCAMP__CHUNK, m->n - k), c);
        mcamp__sum_add(&square, c[at] * c[at]);
        q->square[col] = mcamp__sum_get(&square);
        for (size_t l = 0; l < q->d; l++) {
            t[l] = k % MCAMP__ANCHOR ? t[l] * m->theta[l] : pow(m->theta[l], (double)k);
            mcamp__sum_add(sum + l, c[at] * t[l]);
            q->r[l * m->n + col] = m->omega[l] * mcamp__sum_get(sum + l);
        }
    }
    for (size_t l = 0; l < q->d; l++)
        for (size_t k = 0; k <= q->b; k++)
            q->power[l * (q->b + 1) + k] = pow(m->theta[l], (double)k);
}

/* Row i of H += the pairs with q in the epoch that starts at q0. */
MCAMP__PRIV void mcamp__pairs_row(const mcamp__pairs *q, size_t q0, size_t len,
                                  size_t i, double *h)
{
    double *t = q->row, s = i < len ? q->m->scale[q0 + i] : 0.0;
    for (size_t k = 0; k < len; k++) t[k] = 0;
    for (size_t l = 0; l < q->d; l++) {
        const double *power = q->power + l * (q->b + 1), *v = q->v + l * q->b;
        if (q0) mcamp__axpy(q->a[l * q->b + i], q->u + l * q->b, t, len);
        for (size_t k = i + 1; k < len; k++) t[k] += s * (power[k - 1 - i] * v[k]);
    }
    for (size_t k = 0; k < len; k++)
        mcamp__two_sum(h + i * q->b + k, q->low + i * q->b + k, t[k]);
}

MCAMP__PRIV void mcamp__pairs_epoch(const mcamp__pairs *q, size_t q0, double *h)
{
    size_t b = q->b, len = mcamp__zmin(b, q->m->n - q0);
    const double *s = q->m->scale + q0;
    for (size_t l = 0; l < q->d; l++)
        for (size_t k = 0; k < len; k++) {
            double v = s[k] * q->r[l * q->m->n + q0 + k];
            q->v[l * b + k] = v;
            q->u[l * b + k] = v * q->power[l * (b + 1) + k];
        }
    for (size_t i = 0; i < b; i++) mcamp__pairs_row(q, q0, len, i, h);
    for (size_t i = 0; i < len; i++)        /* half the diagonal: it is doubled */
        mcamp__two_sum(h + i * b + i, q->low + i * b + i,
                       0.5 * (s[i] * s[i] * q->square[q0 + i]));
    for (size_t l = 0; l < q->d; l++) {
        const double *power = q->power + l * (b + 1);
        for (size_t i = 0; i < b; i++)
            q->a[l * b + i] = power[b] * q->a[l * b + i] +
                              (i < len ? s[i] * power[b - 1 - i] : 0.0);
    }
}

MCAMP__PRIV int mcamp__pairs_size(mcamp__pairs *q)
{
    size_t rn, bb, db;
    return mcamp__mul_size(q->m->n, q->d + 1, &rn) &&
           mcamp__mul_size(q->b, q->b, &bb) &&
           mcamp__mul_size(q->b + 1, 4 * q->d + 1, &db) &&
           mcamp__add_size(rn, bb, &q->count) && mcamp__add_size(q->count, db, &q->count);
}

MCAMP__PRIV mcamp_status mcamp__gram_pairs(mcamp_ctx *ctx, const mcamp_mech *m,
                                           size_t b, double *g)
{
    mcamp__pairs q;
    double *block;
    q.m = m; q.b = b; q.d = m->buffers;
    if (!mcamp__pairs_size(&q)) return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)b);
    block = mcamp__new_doubles(ctx, q.count);
    if (!block) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)q.count);
    q.r = block;
    q.square = q.r + q.d * m->n;
    q.low = q.square + m->n;
    q.power = q.low + b * b;
    q.a = q.power + q.d * (b + 1);
    q.v = q.a + q.d * b;
    q.u = q.v + q.d * b;
    q.row = q.u + q.d * b;
    mcamp__pairs_tables(&q);
    for (size_t q0 = 0; q0 < m->n; q0 += b) {
        mcamp__pairs_epoch(&q, q0, g);
        if (b > m->n - q0) break;           /* q0 + b could overflow */
    }
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j <= i; j++) {
            double x = g[i * b + j] + q.low[i * b + j], y = g[j * b + i] + q.low[j * b + i];
            g[i * b + j] = g[j * b + i] = x + y;
        }
    mcamp__delete_doubles(ctx, block, q.count);
    return MCAMP_OK;
}

/* ---- diagonal C ----------------------------------------------------------- */

/* One band: the modes have disjoint supports, G_ii = sum of squares. */
MCAMP__PRIV void mcamp__gram_one_band(const mcamp_mech *m, size_t b, double *g)
{
    for (size_t i = 0; i < b && i < m->n; i++) {
        mcamp__sum acc = { 0, 0 };
        size_t times = (m->n - 1 - i) / b + 1;
        if (m->form == MCAMP_FORM_TOEPLITZ && !m->scale) {
            g[i] = (double)times * (m->coef[0] * m->coef[0]);
            continue;
        }
        for (size_t e = 0; e < times; e++) {
            size_t j = e * b + i;
            double d = mcamp__mech_diag(m, j) * (m->scale ? m->scale[j] : 1.0);
            mcamp__sum_add(&acc, d * d);
        }
        g[i] = mcamp__sum_get(&acc);
    }
}

/* ---- the object ----------------------------------------------------------- */

MCAMP__PRIV int mcamp__gram_ok(const mcamp_gram *g)
{
    return g && g->magic == MCAMP__GRAM_MAGIC;
}

/* The largest distance around the circle at which G is not zero. */
MCAMP__PRIV size_t mcamp__gram_width(const double *g, size_t b)
{
    size_t width = 0;
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < i; j++)
            if (!mcamp__eq(g[i * b + j], 0.0))
                width = mcamp__zmax(width, mcamp__zmin(i - j, b - (i - j)));
    return width;
}

/* Fills kind, width, max_norm from the b x b values; a diagonal one is repacked
 * into b values.                                                             */
MCAMP__PRIV mcamp_status mcamp__gram_classify(mcamp_ctx *ctx, mcamp_gram *q)
{
    size_t b = q->b;
    double *diag, top = 0;
    for (size_t i = 0; i < b; i++) top = mcamp__dmax(top, q->g[i * b + i]);
    q->max_norm = sqrt(top);
    q->width = mcamp__gram_width(q->g, b);
    q->kind = 2 * q->width + 1 < b ? MCAMP_GRAM_BANDED : MCAMP_GRAM_DENSE;
    if (q->width) return MCAMP_OK;
    diag = mcamp__new_doubles(ctx, b);
    if (!diag) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)b);
    for (size_t i = 0; i < b; i++) diag[i] = q->g[i * b + i];
    mcamp__delete_doubles(ctx, q->g, q->count);
    q->g = diag;
    q->count = b;
    q->kind = MCAMP_GRAM_DIAGONAL;
    return MCAMP_OK;
}

/* g := zeroed memory for `count` values. */
MCAMP__PRIV mcamp_status mcamp__gram_memory(mcamp_ctx *ctx, mcamp_gram *q,
                                            int diagonal)
{
    size_t count = q->b;
    if (!diagonal && !mcamp__mul_size(q->b, q->b, &count))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)q->b);
    q->g = mcamp__new_doubles(ctx, count);
    if (!q->g) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)q->b);
    q->count = count;
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__gram_make(mcamp_ctx *ctx, const mcamp_mech *m,
                                          mcamp_gram *q)
{
    int one_band = m->bands == 1;
    mcamp_status st = mcamp__gram_memory(ctx, q, one_band);
    if (st < 0) return st;
    if (one_band) {
        double top = 0;
        mcamp__gram_one_band(m, q->b, q->g);
        for (size_t i = 0; i < q->b; i++) top = mcamp__dmax(top, q->g[i]);
        q->kind = MCAMP_GRAM_DIAGONAL;
        q->max_norm = sqrt(top);
        return MCAMP_OK;
    }
    if (m->form != MCAMP_FORM_ROWS && !m->scale)
        st = mcamp__gram_toeplitz(ctx, m, q->b, q->g);
    else if (m->form == MCAMP_FORM_BLT && !mcamp__any_negative(m->omega, m->buffers))
        st = mcamp__gram_pairs(ctx, m, q->b, q->g);
    else
        st = mcamp__gram_rows(ctx, m, q->b, q->g);
    return st < 0 ? st : mcamp__gram_classify(ctx, q);
}

MCAMP_API void mcamp_gram_free(mcamp_ctx *ctx, mcamp_gram *gram)
{
    if (!mcamp__ctx_ok(ctx) || !gram) return;
    mcamp__delete_doubles(ctx, gram->g, gram->count);
    memset(gram, 0, sizeof *gram);
}

/* Of what mcamp_gram_init makes of a C and b. */
MCAMP__PRIV uint64_t mcamp__gram_digest(const mcamp_mech *mech, uint64_t b)
{
    return mcamp__hash_word(mcamp__hash_word(mech->digest, (uint64_t)mech->n), b);
}

MCAMP_API mcamp_status mcamp_gram_init(mcamp_ctx *ctx, const mcamp_mech *mech,
                                       size_t b, mcamp_gram *gram)
{
    MCAMP__GUARD;
    mcamp_gram q;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!mcamp__mech_ok(mech)) return mcamp__fail(ctx, MCAMP_E_ARG, "mech", 0);
    if (!gram) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "gram", 0);
    if (!mcamp__rounds_ok(b))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)b);
    memset(&q, 0, sizeof q);
    q.b = b;
    q.n = mech->n;
    q.negative = mech->negative;
    st = mcamp__gram_make(ctx, mech, &q);
    if (st == MCAMP_OK && !mcamp__finite(q.max_norm))
        st = mcamp__fail(ctx, MCAMP_E_NONFINITE, "mech", q.max_norm);
    if (st < 0) { mcamp_gram_free(ctx, &q); return st; }
    q.digest = mcamp__gram_digest(mech, b);
    q.strategy_digest = mech->digest;
    q.magic = MCAMP__GRAM_MAGIC;
    *gram = q;
    return MCAMP_OK;
}

/* Checks the pair (i, j), (j, i) and writes its mean to both places of out. */
MCAMP__PRIV mcamp_status mcamp__gram_check_pair(mcamp_ctx *ctx, const double *g,
                                                size_t b, size_t i, size_t j,
                                                double *out)
{
    double x = g[i * b + j], y = g[j * b + i];
    int ok = fabs(x - y) <= 1e-12 * mcamp__dmin(x, y);     /* false below 0 */
    if (!ok) return mcamp__fail(ctx, MCAMP_E_ARG, "g", mcamp__dmin(x, y));
    out[i * b + j] = out[j * b + i] = 0.5 * (x + y);
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__gram_check_matrix(mcamp_ctx *ctx, const double *g,
                                                  size_t b, double *out)
{
    mcamp_status st = mcamp__check_values(ctx, "g", g, b * b);
    double *l, shift;
    for (size_t i = 0; st == MCAMP_OK && i < b; i++)
        for (size_t j = 0; st == MCAMP_OK && j <= i; j++)
            st = mcamp__gram_check_pair(ctx, g, b, i, j, out);
    if (st < 0) return st;
    l = mcamp__new_doubles(ctx, b * b);
    if (!l) return mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)b);
    st = mcamp__cholesky(ctx, out, b, l, &shift);
    mcamp__delete_doubles(ctx, l, b * b);
    return st;
}

MCAMP_API mcamp_status mcamp_gram_from_matrix(mcamp_ctx *ctx, const double *g,
                                              size_t b, mcamp_gram *gram)
{
    MCAMP__GUARD;
    mcamp_gram q;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!g) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "g", 0);
    if (!gram) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "gram", 0);
    if (!b) return mcamp__fail(ctx, MCAMP_E_SIZE, "b", 0);
    memset(&q, 0, sizeof q);
    q.b = b;
    st = mcamp__gram_memory(ctx, &q, 0);
    if (st == MCAMP_OK) st = mcamp__gram_check_matrix(ctx, g, b, q.g);
    if (st == MCAMP_OK) {
        q.digest = mcamp__hash_word(UINT64_C(0x6772616d), (uint64_t)b);
        q.digest = mcamp__hash_doubles(q.digest, q.g, b * b);
        st = mcamp__gram_classify(ctx, &q);
    }
    if (st < 0) { mcamp_gram_free(ctx, &q); return st; }
    q.magic = MCAMP__GRAM_MAGIC;
    *gram = q;
    return MCAMP_OK;
}

/* ======================================================================== *
 *  PRIVACY LOSS                                                     >>loss
 *  In: a mcamp_gram G and sigma.  Out: a model of the pair P, Q in b dimensions
 *  (mathematics: with a = G/sigma^2 and g_i = <m_i, X>/sigma^2,
 *      L_i = g_i - a_ii/2,  rho = dP/dQ = (1/b) sum_i e^{L_i},  Y = log rho;
 *      under Q g ~ N(0, a), under the j-th mode g ~ N(a_{:,j}, a)),
 *  with the factor of a that the samplers multiply normals by.
 *  Rounding is kept on the safe side by adding a tiny multiple of the identity
 *  to G before anything is computed: that is an independent coordinate added to
 *  every mode, and more output can only raise delta.  Memory: O(b^2).
 * ======================================================================== */

/* The factor of G, computed once; a model of any sigma is a scaling of it. */
typedef struct mcamp__factor {
    size_t b, count;        /* count: entries of g and root: b or b*b          */
    int diagonal;
    double *g;              /* G with the shift on its diagonal                */
    double *root;           /* lower factor, row-major; diagonal: square roots */
    double trace_max;       /* largest diagonal entry of g                     */
    double total;           /* 1' G 1                                          */
    double idle;            /* the shift: diagonal entries up to it are 0 in G  */
} mcamp__factor;

MCAMP__PRIV void mcamp__factor_free(mcamp_ctx *ctx, mcamp__factor *f)
{
    mcamp__delete_doubles(ctx, f->g, f->count);
    mcamp__delete_doubles(ctx, f->root, f->count);
    memset(f, 0, sizeof *f);
}

MCAMP__PRIV double mcamp__factor_diag(const mcamp__factor *f, size_t i)
{
    return f->g[f->diagonal ? i : i * f->b + i];
}

MCAMP__PRIV mcamp_status mcamp__factor_init(mcamp_ctx *ctx, const mcamp_gram *gram,
                                            mcamp__factor *f)
{
    mcamp__sum total = { 0, 0 };
    mcamp_status st = MCAMP_OK;
    double shift = 0;
    memset(f, 0, sizeof *f);
    f->b = gram->b;
    f->diagonal = gram->kind == MCAMP_GRAM_DIAGONAL;
    f->count = gram->count;
    f->g = mcamp__new_doubles(ctx, f->count);
    f->root = mcamp__new_doubles(ctx, f->count);
    if (!f->g || !f->root) {
        mcamp__factor_free(ctx, f);
        return mcamp__fail(ctx, MCAMP_E_MEMORY, "gram", (double)gram->b);
    }
    memcpy(f->g, gram->g, f->count * sizeof *f->g);
    if (f->diagonal) {
        for (size_t i = 0; i < f->b; i++) f->root[i] = sqrt(f->g[i]);
    } else {
        st = mcamp__cholesky(ctx, f->g, f->b, f->root, &shift);
        f->idle = shift;
        for (size_t i = 0; i < f->b; i++) f->g[i * f->b + i] += shift;
    }
    for (size_t i = 0; i < f->count; i++) mcamp__sum_add(&total, f->g[i]);
    f->total = mcamp__sum_get(&total);
    for (size_t i = 0; i < f->b; i++)
        f->trace_max = mcamp__dmax(f->trace_max, mcamp__factor_diag(f, i));
    if (st < 0) mcamp__factor_free(ctx, f);
    return st;
}

/* The pair (P, Q) at one sigma. */
typedef struct mcamp__model {
    size_t b;
    int diagonal;
    double sigma;
    double *a;          /* G/sigma^2: b*b, or b if diagonal                     */
    size_t a_count;
    double *half;       /* a_ii/2                                               */
    double *c;          /* slopes along the common direction v = sum m/|sum m|:
                         * c_i = <m_i, v>/sigma = sum_j a_ij / sqrt(1'a1)       */
    double root_total;  /* sqrt(1'a1) */
    double mean_half;   /* mean_i a_ii/2 */
    double max_diag;
    double idle;        /* a_ii up to this belong to modes that are 0           */
    mcamp__tri L;       /* a = L L' (packed) */
    int has_L;
} mcamp__model;

MCAMP__PRIV void mcamp__model_free(mcamp_ctx *ctx, mcamp__model *m)
{
    mcamp__delete_doubles(ctx, m->a, m->a_count);
    mcamp__delete_doubles(ctx, m->half, m->b);
    mcamp__delete_doubles(ctx, m->c, m->b);
    if (m->has_L) mcamp__tri_free(ctx, &m->L);
    memset(m, 0, sizeof *m);
}

MCAMP__PRIV double mcamp__model_a(const mcamp__model *m, size_t i, size_t j)
{
    if (!m->diagonal) return m->a[i * m->b + j];
    return i == j ? m->a[i] : 0.0;
}

/* Fills a, half, c and the scalars from the factor. */
MCAMP__PRIV void mcamp__model_fill(mcamp__model *m, const mcamp__factor *f)
{
    double s2 = 1 / (m->sigma * m->sigma);
    m->root_total = sqrt(f->total) / m->sigma;
    m->idle = f->idle * s2 * (1 + 4 * DBL_EPSILON);
    for (size_t i = 0; i < m->a_count; i++) m->a[i] = f->g[i] * s2;
    for (size_t i = 0; i < m->b; i++) {
        double row = 0;
        if (m->diagonal) row = m->a[i];
        else for (size_t j = 0; j < m->b; j++) row += m->a[i * m->b + j];
        m->c[i] = m->root_total > 0 ? row / m->root_total : 0.0;
        m->half[i] = 0.5 * mcamp__model_a(m, i, i);
        m->mean_half += m->half[i] / (double)m->b;
        m->max_diag = mcamp__dmax(m->max_diag, 2 * m->half[i]);
    }
}

/* The packed form of a diagonal factor. */
MCAMP__PRIV mcamp_status mcamp__tri_pack_diag(mcamp_ctx *ctx, const double *d, size_t b,
                                              mcamp__tri *out)
{
    mcamp_status st;
    memset(out, 0, sizeof *out);
    st = mcamp__buf_new(ctx, b, &out->buf);
    if (st < 0) return st;
    memcpy(out->buf.p, d, b * sizeof *d);
    out->b = b;
    out->diagonal = 1;
    out->data = out->buf.p;
    return MCAMP_OK;
}

#define MCAMP__MU_MAX 1000.0    /* longest mode, in units of sigma */

/* pre: sigma in range.  MCAMP_E_ARG if (norm/sigma)^2 leaves the range in which
 * losses are right to 1e-9: a mode 1000 sigma long is no protection anyway.     */
MCAMP__PRIV mcamp_status mcamp__model_init(mcamp_ctx *ctx, const mcamp__factor *f,
                                           double sigma, mcamp__model *m)
{
    mcamp_status st;
    double *scaled;
    memset(m, 0, sizeof *m);
    if (!(f->trace_max <= MCAMP__MU_MAX * MCAMP__MU_MAX * sigma * sigma))
        return mcamp__fail(ctx, MCAMP_E_ARG, "sigma", sigma);
    m->b = f->b; m->diagonal = f->diagonal; m->sigma = sigma;
    m->a_count = f->count;
    m->a = mcamp__new_doubles(ctx, f->count);
    m->half = mcamp__new_doubles(ctx, m->b);
    m->c = mcamp__new_doubles(ctx, m->b);
    scaled = mcamp__new_doubles(ctx, f->count);
    if (!m->a || !m->half || !m->c || !scaled) {
        st = mcamp__fail(ctx, MCAMP_E_MEMORY, "gram", (double)m->b);
    } else {
        mcamp__model_fill(m, f);
        for (size_t i = 0; i < f->count; i++) scaled[i] = f->root[i] / sigma;
        st = m->diagonal ? mcamp__tri_pack_diag(ctx, scaled, m->b, &m->L)
                         : mcamp__tri_pack(ctx, scaled, m->b, &m->L);
        m->has_L = st >= 0;
    }
    mcamp__delete_doubles(ctx, scaled, f->count);
    if (st < 0) mcamp__model_free(ctx, m);
    return st;
}

/* x = L z for a tile. */
MCAMP__PRIV void mcamp__model_product(mcamp_vecset vs, const mcamp__model *m,
                                      const double *z, double *x)
{
    mcamp__vec_trmm(vs, &m->L, z, x);
}

/* ======================================================================== *
 *  LAWS, TALLIES, BOUNDS                                              >>law
 *  In: a model (section loss).  Out: tallies of unbiased values of delta with a
 *  proven range, estimates, rigorous bounds.  Sections: tally and bounds;
 *  ranges; samplers; driver.  Samples are drawn in blocks of MCAMP_BLOCK from
 *  streams (seed, purpose, block); tallies are integers.  Memory: O(b) per
 *  worker beyond the model; nothing is allocated while samples are drawn.
 * ======================================================================== */

/* Which stream a question draws from.  Rung: of a ladder, or of a pilot's list. */
#define MCAMP__PURPOSE(base, rung, dir) \
    (((uint32_t)(base) << 16) | ((uint32_t)(rung) << 4) | (uint32_t)(dir))

/* ---- tallies ------------------------------------------------------------ *
 * A value v is stored as x = v / scale.  Bins are quarter octaves: bin i >= 1
 * holds keys i-1 above that of 2^-64 (key = exponent and top two mantissa
 * bits); bin 0 holds what is smaller; x above the last bin is poison.          */
#define MCAMP__BIN_KEY0 (UINT64_C(959) << 2)    /* key of 2^-64 */

MCAMP__PRIV double mcamp__bin_low(size_t i)
{
    return i ? mcamp__from_bits((MCAMP__BIN_KEY0 + (uint64_t)i - 1) << 50) : 0.0;
}

MCAMP__PRIV double mcamp__bin_high(size_t i)
{
    return mcamp__from_bits((MCAMP__BIN_KEY0 + (uint64_t)i) << 50);
}

/* (hi, lo) += (h, l); 0 on overflow. */
MCAMP__PRIV int mcamp__u128_add(uint64_t *hi, uint64_t *lo, uint64_t h, uint64_t l)
{
    uint64_t lo2 = *lo + l, carry = lo2 < l, hi2 = *hi + h;
    if (hi2 < h || (carry && hi2 == UINT64_MAX)) return 0;
    *lo = lo2;
    *hi = hi2 + carry;
    return 1;
}

/* x * 2^64 rounded up to an integer.  pre: 0 < x < 2^36. */
MCAMP__PRIV void mcamp__to_fixed(double x, uint64_t *hi, uint64_t *lo)
{
    uint64_t u = mcamp__bits(x), m = u & ((UINT64_C(1) << 52) - 1);
    int e = (int)(u >> 52), sh = e - 1011;      /* x 2^64 = m 2^sh */
    *hi = 0;
    if (e == 0) { *lo = 1; return; }            /* denormal, x > 0 */
    m |= UINT64_C(1) << 52;
    if (sh <= -64) { *lo = 1; return; }
    if (sh < 0) {
        uint64_t kept = m >> -sh;
        *lo = kept + ((kept << -sh) != m);
    } else {
        *lo = m << sh;
        *hi = sh ? m >> (64 - sh) : 0;
    }
}

/* Adds the value exp(log_v).  A NaN, an infinite value, or one beyond the proven
 * range (with 1e-9 for rounding) poisons the tally: such a tally proves nothing. */
MCAMP__PRIV void mcamp__tally_add(mcamp_tally *t, double log_v)
{
    double x = exp(log_v - t->log_scale);
    uint64_t h, l, key;
    size_t i = 0;
    t->count++;
    if (!mcamp__finite(x) || !(log_v <= t->log_range + 1e-9)) {
        t->poisoned++;
        return;
    }
    if (!(x > 0)) { t->n[0]++; return; }
    key = mcamp__bits(x) >> 50;
    if (key >= MCAMP__BIN_KEY0) i = (size_t)(key - MCAMP__BIN_KEY0) + 1;
    if (i >= MCAMP_TALLY_BINS) { t->poisoned++; return; }
    mcamp__to_fixed(x, &h, &l);
    t->n[i]++;
    if (!mcamp__u128_add(&t->hi[i], &t->lo[i], h, l)) t->poisoned++;
}

/* Sum of bin i's values, in units of the scale. */
MCAMP__PRIV double mcamp__bin_sum(const mcamp_tally *t, size_t i)
{
    return (double)t->hi[i] + (double)t->lo[i] * (1.0 / 18446744073709551616.0);
}

/* Everything that must agree before two tallies may be added. */
MCAMP__PRIV int mcamp__tally_same(const mcamp_tally *a, const mcamp_tally *b)
{
    return a->direction == b->direction && a->method == b->method &&
           a->order == b->order && mcamp__eq(a->sigma, b->sigma) &&
           mcamp__eq(a->eps, b->eps) && mcamp__eq(a->log_scale, b->log_scale) &&
           mcamp__eq(a->log_range, b->log_range);
}

MCAMP_API mcamp_status mcamp_tally_merge(mcamp_ctx *ctx, mcamp_tally *into,
                                         const mcamp_tally *from)
{
    MCAMP__GUARD;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!into || !from) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "tally", 0);
    if (!from->count) return MCAMP_OK;
    if (!into->count) { *into = *from; return MCAMP_OK; }
    if (!mcamp__tally_same(into, from))
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "tally", from->eps);
    into->count += from->count;
    into->poisoned += from->poisoned;
    for (size_t i = 0; i < MCAMP_TALLY_BINS; i++) {
        into->n[i] += from->n[i];
        if (!mcamp__u128_add(&into->hi[i], &into->lo[i], from->hi[i], from->lo[i]))
            into->poisoned++;
    }
    return MCAMP_OK;
}

/* Mean in units of the scale. */
MCAMP__PRIV double mcamp__tally_mean_x(const mcamp_tally *t)
{
    mcamp__sum s = { 0, 0 };
    if (!t->count) return 0;
    for (size_t i = 0; i < MCAMP_TALLY_BINS; i++)
        mcamp__sum_add(&s, mcamp__bin_sum(t, i));
    return mcamp__sum_get(&s) / (double)t->count;
}

/* Mean square in units of the scale, from above: a bin [l, h] of n values that
 * sum to s holds at most  sum (l+h) x - l h  (the chord lies above x^2), which
 * is no more than 0.8% too large in bins of a quarter octave.                  */
MCAMP__PRIV double mcamp__tally_square_x(const mcamp_tally *t)
{
    mcamp__sum s = { 0, 0 };
    if (!t->count) return 0;
    for (size_t i = 0; i < MCAMP_TALLY_BINS; i++) {
        double l = mcamp__bin_low(i), h = mcamp__bin_high(i);
        if (t->n[i])
            mcamp__sum_add(&s, (l + h) * mcamp__bin_sum(t, i) -
                               l * h * (double)t->n[i]);
    }
    return mcamp__sum_get(&s) / (double)t->count;
}

MCAMP__PRIV double mcamp__tally_variance_x(const mcamp_tally *t)
{
    double m = mcamp__tally_mean_x(t), n = (double)t->count;
    double v = mcamp__tally_square_x(t) - m * m;
    if (!(n > 1)) return mcamp__inf();
    return mcamp__dmax(v, 0) * n / (n - 1);
}

MCAMP_API double mcamp_tally_mean(const mcamp_tally *t)
{
    MCAMP__GUARD;
    if (!t || !t->count || t->poisoned) return mcamp__nan();
    return mcamp__tally_mean_x(t) * exp(t->log_scale);
}

MCAMP_API double mcamp_tally_std_error(const mcamp_tally *t)
{
    MCAMP__GUARD;
    if (!t || !t->count || t->poisoned) return mcamp__nan();
    /* each value was rounded up by at most 2^-64 of the scale */
    return (sqrt(mcamp__tally_variance_x(t) / (double)t->count) + 5.421010862427522e-20) *
           exp(t->log_scale);
}

/* ---- bounds from a tally ------------------------------------------------- *
 * Betting [6]: for values x in [0, 1] with mean >= m and a stake 0 <= s <= 1,
 * W = prod (1 - s (x_i - m)) is a supermartingale with mean <= 1, so by Ville's
 * inequality W ever reaches 1/beta with probability at most beta: mean < m may
 * be accepted at that moment, at any stopping time.  log(1 - s(x - m)) is
 * concave in x, so within a bin it lies above its chord, and a bin's count and
 * sum give a lower bound of its part of log W.  Likewise for lower bounds with
 * 1 + s (x - m), which needs no upper end of the range.                        */

/* A lower bound of sum over the tally of log(1 + d (x - m)), for d < 0 with x
 * in [0, 1], or for d > 0.                                                     */
MCAMP__PRIV double mcamp__log_wealth(const mcamp_tally *t, double d, double m)
{
    mcamp__sum w = { 0, 0 };
    for (size_t i = 0; i < MCAMP_TALLY_BINS; i++) {
        double n = (double)t->n[i], l = mcamp__bin_low(i), h = mcamp__bin_high(i);
        double s, fl, fh;
        if (!t->n[i]) continue;
        s = mcamp__bin_sum(t, i);
        if (d < 0) { l = mcamp__dmin(l, 1.0); h = mcamp__dmin(h, 1.0); }
        else s = mcamp__dmax(s - n * 6e-20, n * l);     /* undo rounding up */
        fl = log1p(d * (l - m));
        fh = log1p(d * (h - m));
        mcamp__sum_add(&w, h > l ? n * fl + (s - n * l) * ((fh - fl) / (h - l))
                                 : n * fl);
    }
    return mcamp__sum_get(&w);
}

/* log of the average wealth over the stakes 2^0 .. 2^-(J-1), each a valid test,
 * so their average is one.  sign -1: against mean >= m; +1: against mean <= m,
 * with stakes 1/(2m) 2^-j.                                                     */
MCAMP__PRIV double mcamp__log_wealth_grid(const mcamp_tally *t, int sign, double m)
{
    enum { J = 14 };
    double total = -mcamp__inf();
    for (int j = 0; j < J; j++) {
        double s = ldexp(1.0, -j);
        double w = sign < 0 ? mcamp__log_wealth(t, -s, m)
                            : mcamp__log_wealth(t, 0.5 * s / m, m);
        total = mcamp__log_add(total, w);
    }
    return total - log((double)J);
}

/* 1 if a rigorous upper bound can be read off this tally. */
MCAMP__PRIV int mcamp__tally_proves(const mcamp_tally *t, double beta)
{
    return t && t->count && !t->poisoned && beta > 0 && beta < 1 &&
           mcamp__finite(t->log_range) && mcamp__eq(t->log_range, t->log_scale);
}

/* The smallest m for which test(m) >= 0 is found on log m by bisection; test is
 * monotone.  lower: of the bound from below, else from above.                   */
MCAMP__PRIV double mcamp__tally_test(const mcamp_tally *t, int lower, double m,
                                     double log_inv_beta)
{
    return mcamp__log_wealth_grid(t, lower ? +1 : -1, m) - log_inv_beta;
}

MCAMP__PRIV double mcamp__tally_bisect(const mcamp_tally *t, int lower, double beta)
{
    double x = mcamp__tally_mean_x(t), need = log(1 / beta);
    double in, out;         /* `out`: test passed (not in the confidence set) */
    if (lower) {
        if (!(x > 0)) return 0;
        in = log(x); out = in - 60;
    } else {
        in = log(mcamp__dmax(x, 1e-300)); out = 0;
        if (!(in < out)) return 1;
    }
    if (!(mcamp__tally_test(t, lower, exp(out), need) >= 0)) return lower ? 0 : 1;
    for (int i = 0; i < 60 && fabs(in - out) > 1e-10; i++) {
        double mid = 0.5 * (in + out);
        if (mcamp__tally_test(t, lower, exp(mid), need) >= 0) out = mid;
        else in = mid;
    }
    return exp(out);
}

/* From units of the range to a probability, rounded up. */
MCAMP__PRIV double mcamp__upper_from_x(const mcamp_tally *t, double x)
{
    double v = x * exp(t->log_range) * (1 + 1e-9);
    return v <= 1 ? v : 1;
}

MCAMP_API double mcamp_tally_upper(const mcamp_tally *t, double beta)
{
    MCAMP__GUARD;
    if (!mcamp__tally_proves(t, beta)) return 1;
    return mcamp__upper_from_x(t, mcamp__tally_bisect(t, 0, beta));
}

MCAMP_API double mcamp_tally_lower(const mcamp_tally *t, double beta)
{
    MCAMP__GUARD;
    double v;
    if (!t || !t->count || t->poisoned || !(beta > 0 && beta < 1)) return 0;
    v = mcamp__tally_bisect(t, 1, beta) * exp(t->log_scale) * (1 - 1e-9);
    return v <= 1 ? v : 0;
}

/* ---- proven ranges ------------------------------------------------------- *
 * Order-k tilted law.  Indices j_1..j_k are drawn one after another with
 *     Pr[j_l = j | j_<l] = base_j exp(sum_{l'<l} a_{j j_l'}) / z_l,
 * z_l the sum of the numerators, and X is centred at the sum of the drawn modes.
 * With rho_B = sum_j base_j e^{L_j} (base sums to 1), for every F >= 0
 *     E[ prod z_l  rho_B^{-k} F(X) ] = E_Q[F(X)] :
 * the density of (j_1..j_k, X) relative to counting x Q is
 *     prod_l base_{j_l} e^{sum_{l'<l} a} / z_l * exp(sum_l L_{j_l} - sum_{l'<l} a)
 *   = prod_l base_{j_l} e^{L_{j_l}} / z_l,
 * and summed over all tuples prod_l base e^L is rho_B^k.                       []
 *
 * TILTED: base = 1/b, F = (rho - e^eps)_+.  Since (r - e^eps)_+ r^-k is largest
 * at r = k e^eps/(k-1), a value is at most
 *     max prod z_l * e^{-(k-1) eps} (k-1)^{k-1} / k^k.
 *
 * COMMON: let v be the direction of sum_i m_i, t = <v, X>/sigma ~ N(0,1) under Q,
 * X' the rest, c_i the slopes along v, a'_ij = a_ij - c_i c_j, L'_i = g'_i -
 * a'_ii/2, w_i = e^{L'_i}/b.  Then rho = sum_i w_i e^{c_i t - c_i^2/2}, increasing
 * in t as all c_i >= 0 (G has no negative entry), and with rho(T) = e^eps
 *     F(X') = E_t[(rho - e^eps)_+] = sum_i w_i Phi(c_i - T) - e^eps Phi(-T).
 * The law above in the space of X' (a' for a) gives values prod z rho_B^-k F.
 * Range: F is convex in w and rho_B = sum_i b base_i w_i is linear, so at given
 * rho_B = R, F is largest at a vertex, w_i = R/(b base_i), all others 0; there F is
 * the curve of one Gaussian, e^eps G(c_i, w_i e^-eps) with
 *     G(c, r) = r Phi(c - T) - Phi(-T),  T = c/2 - log(r)/c,
 * and F R^-k <= (b base_i)^-k e^{-(k-1) eps} S_k(c_i), S_k(c) = sup_r r^-k G(c, r).
 * The base that makes all vertices equal is base_i ~ S_k(c_i)^{1/k}; then a value
 * is at most  max prod z * e^{-(k-1) eps} * (mean_i S_k(c_i)^{1/k})^k.           []
 *
 * Both: log z_l is a log-sum-exp of linear functions of the counts of the indices
 * drawn so far, so it is convex in them and largest when all l-1 are the same:
 *     max prod z_l <= prod_l max_i sum_j base_j e^{(l-1) a_ij}.
 *
 * Add, COMMON with k = 0: F = E_t[(1 - e^eps rho)_+] = Phi(T) - e^eps sum_i w_i
 * Phi(T - c_i), rho(T) = e^-eps.  As g' has sum_i g'_i = 0, Jensen gives log rho >=
 * mean_i L_i = tau t - mean_i a_ii/2, tau = sqrt(1'a1)/b, for every X', hence
 *     F <= J = Phi(-d) - A e^{tau^2/2} Phi(-d - tau),  A = e^{eps - mean a_ii/2},
 * d = log(A)/tau: the bound without samples is the range of the samples.        [] */

/* log S_k(c).  The stationary r is where r Phi(c-T)/G = k, that is
 *   R(T) = Phi(-T) phi(T-c) / (phi(T) Phi(c-T)) = 1 - 1/k,
 * and R increases in T (it is m(T)/m(T-c), m Mills' ratio, and 1/m(T) - T
 * decreases), so log r^-k G is unimodal.  *T is the starting guess and receives the
 * root: calls with slowly changing c take two or three Newton steps.  Any T that is
 * returned is used in the exact formula, which near the top is flat; 1e-9 is added
 * in the range for that.  c below 1e-6 is raised to it: S_k increases with c.   */
MCAMP__PRIV double mcamp__common_log_sup(double c, size_t k, double *T)
{
    double target, lo = -mcamp__inf(), hi = mcamp__inf(), t = *T, lr, kk = (double)k;
    if (k < 2) return 0;                /* sup of G/r is its limit 1 */
    c = mcamp__dmax(c, 1e-6);
    target = log1p(-1 / kk);
    for (int i = 0; i < 200; i++) {
        double up = mcamp__gauss_logsf(t), um = mcamp__gauss_logsf(t - c), f, slope, step;
        f = up - um + c * t - 0.5 * c * c - target;
        if (f > 0) hi = t; else lo = t;
        /* d/dT: h(T-c) - h(T), h = phi/Phi(-.) - T */
        slope = exp(-0.5 * (t - c) * (t - c) - 0.918938533204672742 - um) -
                exp(-0.5 * t * t - 0.918938533204672742 - up) + c;
        step = slope > 0 ? -f / slope : (f > 0 ? -1.0 : 1.0);
        if (fabs(step) <= 1e-9 * (1 + fabs(t))) break;
        t += step;
        if (!(t > lo && t < hi)) {
            if (!mcamp__finite(lo)) t = hi - 2 * (1 + fabs(hi));
            else if (!mcamp__finite(hi)) t = lo + 2 * (1 + fabs(lo));
            else t = 0.5 * (lo + hi);
        }
        if (hi - lo <= 1e-12 * (1 + fabs(t))) break;
    }
    *T = t;
    lr = 0.5 * c * c - c * t;           /* log r; G(c, r) = r delta_Gauss(c, -log r) */
    return mcamp__gauss_logdelta(c, -lr) - (kk - 1) * lr;
}

/* log of (k-1)^(k-1) / k^k. */
MCAMP__PRIV double mcamp__tilted_log_sup(size_t k)
{
    double kk = (double)k;
    return k < 2 ? 0.0 : (kk - 1) * log(kk - 1) - kk * log(kk);
}

/* log prod_l max_i sum_j base_j e^{(l-1) a_ij}, a given by its matrix of
 * exponentials ea (b*b).  power (b*b) is scratch.  Infinite on overflow.        */
MCAMP__PRIV double mcamp__log_max_z(const double *base, const double *ea, size_t b,
                                    size_t k, double *power)
{
    double total = 0;
    for (size_t i = 0; i < b * b; i++) power[i] = 1;
    for (size_t l = 1; l < k; l++) {
        double worst = 0;
        for (size_t i = 0; i < b; i++) {
            double z = 0, *p = power + i * b;
            const double *e = ea + i * b;
            for (size_t j = 0; j < b; j++) {
                p[j] *= e[j];
                z += base[j] * p[j];
            }
            if (!(z <= worst)) worst = z;
        }
        if (!mcamp__finite(worst)) return mcamp__inf();
        total += log(worst);
    }
    return total;
}

/* The same for diagonal a and uniform base: z(i) = 1 + (e^{(l-1) a_ii} - 1)/b. */
MCAMP__PRIV double mcamp__log_max_z_diag(double max_diag, size_t b, size_t k)
{
    double total = 0;
    for (size_t l = 1; l < k; l++) {
        double x = (double)l * max_diag;
        total += x > 30 ? x + log((exp(-x) * ((double)b - 1) + 1) / (double)b)
                        : log1p(expm1(x) / (double)b);
    }
    return total;
}

/* log J of the banner: E_t[(1 - A e^{tau t})_+] is the Gaussian mechanism's delta
 * for mu = tau at log(A e^{tau^2/2}) in place of eps.                           */
MCAMP__PRIV double mcamp__add_log_bound(const mcamp__model *m, double eps)
{
    double tau = m->root_total / (double)m->b;
    double e = eps - m->mean_half + 0.5 * tau * tau;
    if (!(tau > 0)) return e < 0 ? mcamp__log1mexp(e) : -mcamp__inf();
    return mcamp__gauss_logdelta(tau, e);
}

/* ---- samplers ------------------------------------------------------------ */

typedef struct mcamp__sampler {
    mcamp__model m;
    mcamp_direction dir;
    mcamp_method method;
    size_t k;
    double eps;
    double log_range, log_scale;
    /* rows of length b: */
    double *off_loss;           /* -a_ii/2 - log b: L_i up to g_i             */
    double *off_base;           /* -a'_ii/2 + log base_i                      */
    double *off_w;              /* -a'_ii/2 - log b                           */
    double *neg_c;              /* -c_i                                       */
    double *base;
    double *rest, *exp_rest;    /* while k is chosen: a' or a, and exp of it  */
    size_t *active;             /* the modes that are not zero                */
    size_t active_count;
    int never;                  /* add: rho >= share of zero modes >= e^-eps  */
    mcamp__tuple tuple;
} mcamp__sampler;

/* Per-worker memory: tiles of b rows of MCAMP__S samples, and a row of samples
 * each for the intermediate quantities.                                        */
typedef struct mcamp__scratch {
    mcamp__buf tiles, shift, rows;
    double *x, *z, *slope;              /* tiles */
    double *log_z, *r, *t, *f, *df, *ls, *u, *v, *hi;
    double *skip;                       /* samples that need no root */
    uint32_t *index;                    /* MCAMP__S * k drawn indices */
    double *work;                       /* of the index draw          */
    size_t index_count, work_count;
} mcamp__scratch;

MCAMP__PRIV void mcamp__scratch_free(mcamp_ctx *ctx, mcamp__scratch *w)
{
    mcamp__buf_free(ctx, &w->tiles);
    mcamp__buf_free(ctx, &w->shift);
    mcamp__buf_free(ctx, &w->rows);
    mcamp__delete(ctx, w->index, w->index_count, sizeof *w->index);
    mcamp__delete_doubles(ctx, w->work, w->work_count);
    memset(w, 0, sizeof *w);
}

MCAMP__PRIV mcamp_status mcamp__scratch_init(mcamp_ctx *ctx, const mcamp__sampler *p,
                                             mcamp__scratch *w)
{
    size_t tile;
    mcamp_status st = MCAMP_OK;
    memset(w, 0, sizeof *w);
    if (!mcamp__mul_size(p->m.b, 3 * MCAMP__S, &tile))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)p->m.b);
    tile /= 3;
    w->index_count = MCAMP__S * mcamp__zmax(p->k, 1);
    w->index = (uint32_t *)mcamp__new(ctx, w->index_count, sizeof *w->index);
    w->work_count = p->tuple.b ? mcamp__tuple_work(&p->tuple) : 0;
    w->work = mcamp__new_doubles(ctx, w->work_count);
    if (!w->index || !w->work) st = mcamp__fail(ctx, MCAMP_E_MEMORY, "ctx", 0);
    if (st >= 0) st = mcamp__buf_new(ctx, 3 * tile, &w->tiles);
    if (st >= 0) st = mcamp__buf_new(ctx, mcamp__zmax(tile, 3 * MCAMP__S), &w->shift);
    if (st >= 0) st = mcamp__buf_new(ctx, 10 * MCAMP__S, &w->rows);
    if (st < 0) { mcamp__scratch_free(ctx, w); return st; }
    w->x = w->tiles.p; w->z = w->x + tile; w->slope = w->z + tile;
    w->log_z = w->rows.p;          w->r = w->log_z + MCAMP__S;
    w->t = w->r + MCAMP__S;        w->f = w->t + MCAMP__S;
    w->df = w->f + MCAMP__S;       w->ls = w->df + MCAMP__S;
    w->u = w->ls + MCAMP__S;       w->v = w->u + MCAMP__S;
    w->hi = w->v + MCAMP__S;       w->skip = w->hi + MCAMP__S;
    return MCAMP_OK;
}

/* Solves log sum_i exp(x_i + off_i + slope_i t) = target for every sample of the
 * tile by Newton's method on a function that is increasing and convex in t: from
 * the right it converges monotonically, from the left its first step lands on the
 * right.  Steps are limited, so that a start on a flat stretch does no harm.  What
 * is done with t is stationary there (dF/dT = 0 at the root), so that 1e-7 in t is
 * about 1e-14 in the result.  A sample that has not converged gets t = NaN, which
 * poisons its value.  slope_tile: slopes per sample instead of per row.  Samples with
 * skip > 0 are left alone.                                                       */
MCAMP__PRIV void mcamp__solve_tile(mcamp_vecset vs, const double *x, size_t b,
                                   const double *off, const double *slope,
                                   int slope_tile, double target, mcamp__scratch *w)
{
    double worst = 1;
    for (int step = 0; step < 60 && worst > 1e-8; step++) {
        worst = 0;
        if (slope_tile) mcamp__vec_lse_tile(vs, x, b, off, slope, w->t, w->f, w->df);
        else mcamp__vec_lse(vs, x, b, off, slope, w->t, w->f, w->df);
        for (size_t s = 0; s < MCAMP__S; s++) {
            double d = (target - w->f[s]) / w->df[s];
            if (w->skip[s] > 0) d = 0;
            else if (!(fabs(d) <= 1e4)) d = d > 0 ? 1e4 : -1e4;
            w->t[s] += d;
            w->u[s] = fabs(d);
            worst = mcamp__dmax(worst, fabs(d));
        }
    }
    for (size_t s = 0; s < MCAMP__S; s++)
        if (!(w->u[s] <= 1e-6)) w->t[s] = mcamp__nan();
}

/* log(e^hi - e^lo), -infinity if rounding has made hi <= lo, NaN if either is. */
MCAMP__PRIV double mcamp__log_gap(double hi, double lo)
{
    if (hi > lo) return mcamp__log_sub(hi, lo);
    return hi <= lo ? -mcamp__inf() : mcamp__nan();
}

/* (1 - e^{eps - Y})_+ rho, up to the weight: PLAIN and TILTED, remove. */
MCAMP__PRIV void mcamp__tile_tilted(mcamp_vecset vs, const mcamp__sampler *p,
                                    mcamp__scratch *w)
{
    double k = (double)p->k;
    mcamp__vec_add_tuples(vs, &p->tuple, w->index, w->x);
    mcamp__vec_lse(vs, w->x, p->m.b, p->off_loss, NULL, NULL, w->r, NULL);
    for (size_t s = 0; s < MCAMP__S; s++) {
        double y = w->r[s];
        if (y <= p->eps) w->v[s] = -mcamp__inf();
        else w->v[s] = w->log_z[s] - (k - 1) * y + mcamp__log1mexp(p->eps - y);
    }
}

/* (1 - e^eps rho)_+ with X from Q. */
MCAMP__PRIV void mcamp__tile_plain_add(mcamp_vecset vs, const mcamp__sampler *p,
                                       mcamp__scratch *w)
{
    mcamp__vec_lse(vs, w->x, p->m.b, p->off_loss, NULL, NULL, w->r, NULL);
    for (size_t s = 0; s < MCAMP__S; s++) {
        double y = p->eps + w->r[s];
        w->v[s] = y >= 0 ? -mcamp__inf() : mcamp__log1mexp(y);
    }
}

/* Removes the common direction from the tile: x becomes g'. */
MCAMP__PRIV void mcamp__tile_project(mcamp_vecset vs, const mcamp__sampler *p,
                                     mcamp__scratch *w)
{
    mcamp__vec_colsum(vs, w->x, p->m.b, NULL, w->u);
    for (size_t s = 0; s < MCAMP__S; s++) w->u[s] /= p->m.root_total;
    mcamp__vec_rank1(vs, w->x, p->m.b, p->m.c, w->u);
}

MCAMP__PRIV void mcamp__tile_common(mcamp_vecset vs, const mcamp__sampler *p,
                                    mcamp__scratch *w)
{
    double slope = p->m.root_total / (double)p->m.b;    /* mean of c */
    mcamp__tile_project(vs, p, w);
    mcamp__vec_add_tuples(vs, &p->tuple, w->index, w->x);
    mcamp__vec_lse(vs, w->x, p->m.b, p->off_base, NULL, NULL, w->r, NULL);
    for (size_t s = 0; s < MCAMP__S; s++)
        w->t[s] = (p->eps - w->r[s]) / slope + 0.5 * slope;
    mcamp__solve_tile(vs, w->x, p->m.b, p->off_loss, p->m.c, 0, p->eps, w);
    mcamp__vec_phi_sum(vs, w->x, p->m.b, p->off_w, p->m.c, w->t, w->ls);
    for (size_t s = 0; s < MCAMP__S; s++) {
        double lq = p->eps + mcamp__gauss_logsf(w->t[s]);
        w->v[s] = w->log_z[s] - (double)p->k * w->r[s] +
                  mcamp__log_gap(w->ls[s], lq);
    }
}

MCAMP__PRIV void mcamp__tile_common_add(mcamp_vecset vs, const mcamp__sampler *p,
                                        mcamp__scratch *w)
{
    double slope = p->m.root_total / (double)p->m.b;
    if (p->never) {
        for (size_t s = 0; s < MCAMP__S; s++) w->v[s] = -mcamp__inf();
        return;
    }
    mcamp__tile_project(vs, p, w);
    mcamp__vec_lse(vs, w->x, p->m.b, p->off_w, NULL, NULL, w->r, NULL);
    for (size_t s = 0; s < MCAMP__S; s++)
        w->t[s] = (-p->eps - w->r[s]) / slope + 0.5 * slope;
    mcamp__solve_tile(vs, w->x, p->m.b, p->off_loss, p->m.c, 0, -p->eps, w);
    for (size_t s = 0; s < MCAMP__S; s++) w->u[s] = -w->t[s];
    mcamp__vec_phi_sum(vs, w->x, p->m.b, p->off_w, p->neg_c, w->u, w->ls);
    for (size_t s = 0; s < MCAMP__S; s++)
        w->v[s] = mcamp__log_gap(mcamp__gauss_logcdf(w->t[s]), p->eps + w->ls[s]);
}

/* MODE: delta = sum_i E_Q[(rho - e^eps)_+ ; L_i is the largest].  For a mode i drawn
 * uniformly among the b' that are not zero, the component t of X along m_i is
 * integrated: L_j = x_j + c_j t - a_jj/2 with c_j = a_ij/sqrt(a_ii), x the projected
 * g, so L_i is the largest for t in an interval [lo, hi], and with T = max(lo, root)
 *     value = b' [ sum_j w_j Phi(c_j - T) - e^eps Phi(-T) - (the same at hi) ],
 * w_j = e^{x_j - a_jj/2 + c_j^2/2}/b.  For sums of log-normals this estimator is
 * known to keep a bounded relative error as delta goes to 0 (the case where one
 * mode dominates, [8]).  eps >= 0: where only zero modes are largest, rho <= 1.    */
MCAMP__PRIV void mcamp__tile_mode_slopes(mcamp_vecset vs, const mcamp__sampler *p,
                                         mcamp_rng *r, mcamp__scratch *w)
{
    size_t b = p->m.b;
    for (size_t s = 0; s < MCAMP__S; s++) {
        double pick = mcamp_rng_uniform(r) * (double)p->active_count;
        size_t i = p->active[mcamp__zmin((size_t)pick, p->active_count - 1)];
        double root = sqrt(mcamp__model_a(&p->m, i, i)), *row = w->shift.p + s * b;
        w->index[s] = (uint32_t)i;
        for (size_t j = 0; j < b; j++) row[j] = mcamp__model_a(&p->m, i, j) / root;
        w->hi[s] = w->x[i * MCAMP__S + s] / root;
    }
    memset(w->slope, 0, b * MCAMP__S * sizeof(double));
    mcamp__vec_add_shifts(vs, w->slope, b, w->shift.p);
    mcamp__vec_project_tile(vs, w->x, b, w->slope, w->hi, w->z);
}

/* [lo, hi] of every sample, in w->t and w->hi; empty: lo = +infinity.          */
MCAMP__PRIV void mcamp__tile_mode_interval(mcamp_vecset vs, const mcamp__sampler *p,
                                           mcamp__scratch *w)
{
    double *own = w->shift.p;
    for (size_t s = 0; s < MCAMP__S; s++) {
        size_t i = w->index[s], at = i * MCAMP__S + s;
        own[s] = (double)i;
        own[MCAMP__S + s] = w->slope[at];
        own[2 * MCAMP__S + s] = w->x[at] - p->m.half[i];
    }
    mcamp__vec_mode_interval(vs, w->x, p->m.b, p->m.half, w->slope, own, w->t, w->hi);
}

/* ls := log of sum_j w_j Phi(c_j - t) - e^eps Phi(-t) at t = w->t. */
MCAMP__PRIV void mcamp__tile_mode_tail(mcamp_vecset vs, const mcamp__sampler *p,
                                       mcamp__scratch *w)
{
    mcamp__vec_phi_sum_tile(vs, w->z, p->m.b, p->off_loss, w->slope, w->t, w->ls);
    for (size_t s = 0; s < MCAMP__S; s++)
        w->ls[s] = mcamp__log_gap(w->ls[s], p->eps + mcamp__gauss_logsf(w->t[s]));
}

/* T = max(lo, root) in w->t, or skip = 1 where the interval is empty or T >= hi. */
MCAMP__PRIV void mcamp__tile_mode_start(mcamp_vecset vs, const mcamp__sampler *p,
                                        mcamp__scratch *w)
{
    double log_b = log((double)p->m.b);
    for (size_t s = 0; s < MCAMP__S; s++) {
        w->v[s] = w->t[s];
        w->skip[s] = w->t[s] > DBL_MAX || w->t[s] >= w->hi[s];
        w->t[s] = mcamp__dmin(mcamp__dmax(w->t[s], -1e6), 1e6);
    }
    /* Where rho(lo) > e^eps already, lo is T: there need not be a root at all. */
    mcamp__vec_lse_tile(vs, w->x, p->m.b, p->off_loss, w->slope, w->t, w->f, w->df);
    for (size_t s = 0; s < MCAMP__S; s++) {
        size_t i = w->index[s];
        double alone = (p->eps + log_b + p->m.half[i]) / w->slope[i * MCAMP__S + s];
        int lo_is_T = !(w->skip[s] > 0) && w->f[s] >= p->eps;
        w->skip[s] = w->skip[s] > 0 || lo_is_T;
        if (!lo_is_T) w->t[s] = mcamp__dmax(w->t[s], alone);
    }
    mcamp__solve_tile(vs, w->x, p->m.b, p->off_loss, w->slope, 1, p->eps, w);
    for (size_t s = 0; s < MCAMP__S; s++) {
        double lo = w->v[s];
        if (w->t[s] < lo) w->t[s] = lo;
        w->skip[s] = lo > DBL_MAX || lo >= w->hi[s] || w->t[s] >= w->hi[s];
        if (w->skip[s] > 0) w->t[s] = 0;
    }
}

MCAMP__PRIV void mcamp__tile_mode(mcamp_vecset vs, const mcamp__sampler *p,
                                  mcamp_rng *r, mcamp__scratch *w)
{
    int overtaken = 0;
    mcamp__tile_mode_slopes(vs, p, r, w);
    mcamp__tile_mode_interval(vs, p, w);
    mcamp__tile_mode_start(vs, p, w);
    mcamp__tile_mode_tail(vs, p, w);
    for (size_t s = 0; s < MCAMP__S; s++) {
        w->v[s] = w->skip[s] > 0 ? -mcamp__inf() : w->ls[s];
        overtaken |= w->hi[s] <= DBL_MAX && !(w->skip[s] > 0);
    }
    if (overtaken) {                    /* some mode overtakes i from hi on */
        for (size_t s = 0; s < MCAMP__S; s++) w->t[s] = mcamp__dmin(w->hi[s], 1e10);
        mcamp__tile_mode_tail(vs, p, w);
        for (size_t s = 0; s < MCAMP__S; s++)
            if (w->hi[s] <= DBL_MAX) w->v[s] = mcamp__log_gap(w->v[s], w->ls[s]);
    }
    for (size_t s = 0; s < MCAMP__S; s++) {
        if (w->skip[s] > 0) w->v[s] = -mcamp__inf();
        w->v[s] += log((double)p->active_count);
        w->skip[s] = 0;
    }
}

/* One tile: w->v receives the logarithms of MCAMP__S values. */
MCAMP__PRIV void mcamp__tile(mcamp_vecset vs, const mcamp__sampler *p,
                             mcamp__rng8 *normals, mcamp_rng *r, mcamp__scratch *w)
{
    mcamp__vec_normals(vs, normals, w->z, p->m.b * MCAMP__S);
    mcamp__model_product(vs, &p->m, w->z, w->x);
    if (p->method == MCAMP_METHOD_MODE) { mcamp__tile_mode(vs, p, r, w); return; }
    if (p->dir == MCAMP_ADD) {
        if (p->method == MCAMP_METHOD_PLAIN) mcamp__tile_plain_add(vs, p, w);
        else                                 mcamp__tile_common_add(vs, p, w);
        return;
    }
    mcamp__vec_draw_tuples(vs, &p->tuple, r, w->work, w->index, w->log_z);
    if (p->method == MCAMP_METHOD_COMMON) mcamp__tile_common(vs, p, w);
    else                                  mcamp__tile_tilted(vs, p, w);
}

MCAMP__PRIV void mcamp__tally_init(const mcamp__sampler *p, mcamp_tally *t)
{
    memset(t, 0, sizeof *t);
    t->direction = p->dir;
    t->method = p->method;
    t->order = p->k;
    t->sigma = p->m.sigma;
    t->eps = p->eps;
    t->log_scale = p->log_scale;
    t->log_range = p->log_range;
}

MCAMP__PRIV void mcamp__sample_block(mcamp_vecset vs, const mcamp__sampler *p,
                                     uint64_t seed, uint32_t purpose, uint64_t block,
                                     mcamp__scratch *w, mcamp_tally *t)
{
    mcamp__rng8 normals;
    mcamp_rng r;
    mcamp__rng8_stream(&normals, seed, purpose, block);
    mcamp_rng_stream(&r, seed, purpose, block);
    for (size_t i = 0; i < MCAMP_BLOCK / MCAMP__S; i++) {
        mcamp__tile(vs, p, &normals, &r, w);
        for (size_t s = 0; s < MCAMP__S; s++) mcamp__tally_add(t, w->v[s]);
    }
}

/* ---- building a sampler --------------------------------------------------- */

MCAMP__PRIV void mcamp__sampler_free(mcamp_ctx *ctx, mcamp__sampler *p)
{
    size_t b = p->m.b;
    mcamp__delete_doubles(ctx, p->off_loss, b);
    mcamp__delete_doubles(ctx, p->off_base, b);
    mcamp__delete_doubles(ctx, p->off_w, b);
    mcamp__delete_doubles(ctx, p->neg_c, b);
    mcamp__delete_doubles(ctx, p->base, b);
    mcamp__delete_doubles(ctx, p->rest, b * b);
    mcamp__delete_doubles(ctx, p->exp_rest, b * b);
    mcamp__delete(ctx, p->active, b, sizeof *p->active);
    mcamp__tuple_free(ctx, &p->tuple);
    mcamp__model_free(ctx, &p->m);
    memset(p, 0, sizeof *p);
}

MCAMP__PRIV mcamp_status mcamp__sampler_alloc(mcamp_ctx *ctx, mcamp__sampler *p,
                                              int matrices)
{
    size_t b = p->m.b;
    p->off_loss = mcamp__new_doubles(ctx, b);
    p->off_base = mcamp__new_doubles(ctx, b);
    p->off_w = mcamp__new_doubles(ctx, b);
    p->neg_c = mcamp__new_doubles(ctx, b);
    p->base = mcamp__new_doubles(ctx, b);
    p->active = (size_t *)mcamp__new(ctx, b, sizeof *p->active);
    if (matrices) {
        p->rest = mcamp__new_doubles(ctx, b * b);
        p->exp_rest = mcamp__new_doubles(ctx, b * b);
    }
    if (!p->off_loss || !p->off_base || !p->off_w || !p->neg_c || !p->base ||
        !p->active || (matrices && (!p->rest || !p->exp_rest)))
        return mcamp__fail(ctx, MCAMP_E_MEMORY, "sampler", (double)b);
    return MCAMP_OK;
}

/* The matrix of the tuple law and its exponentials: a' (COMMON) or a (TILTED). */
MCAMP__PRIV void mcamp__sampler_matrices(mcamp_vecset vs, mcamp__sampler *p, int common)
{
    size_t b = p->m.b;
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++)
            p->rest[i * b + j] = p->m.a[i * b + j] -
                                 (common ? p->m.c[i] * p->m.c[j] : 0.0);
    memcpy(p->exp_rest, p->rest, b * b * sizeof(double));
    mcamp__vec_exp(vs, p->exp_rest, b * b);
}

/* Log range of COMMON at order k, eps = 0; fills base. */
MCAMP__PRIV double mcamp__common_setup(mcamp__sampler *p, size_t k, double *power)
{
    double T = 0, total = 0, top = -mcamp__inf(), kk = (double)k;
    size_t b = p->m.b;
    for (size_t i = 0; i < b; i++) {
        p->base[i] = mcamp__common_log_sup(p->m.c[i], k, &T) / kk;
        top = mcamp__dmax(top, p->base[i]);
    }
    for (size_t i = 0; i < b; i++) {
        p->base[i] = exp(p->base[i] - top);
        total += p->base[i];
    }
    for (size_t i = 0; i < b; i++) p->base[i] /= total;
    return kk * (top + log(total / (double)b)) +
           mcamp__log_max_z(p->base, p->exp_rest, b, k, power);
}

/* Log range of TILTED at order k, eps = 0; fills base. */
MCAMP__PRIV double mcamp__tilted_setup(mcamp__sampler *p, size_t k, double *power)
{
    size_t b = p->m.b;
    for (size_t i = 0; i < b; i++) p->base[i] = 1 / (double)b;
    if (p->m.diagonal)
        return mcamp__tilted_log_sup(k) + mcamp__log_max_z_diag(p->m.max_diag, b, k);
    return mcamp__tilted_log_sup(k) +
           mcamp__log_max_z(p->base, p->exp_rest, b, k, power);
}

MCAMP__PRIV double mcamp__order_range(mcamp__sampler *p, size_t k, double *power)
{
    double r = p->method == MCAMP_METHOD_COMMON ? mcamp__common_setup(p, k, power)
                                                : mcamp__tilted_setup(p, k, power);
    return r - ((double)k - 1) * p->eps;
}

#define MCAMP__ORDER_MAX 200

/* power *= ea, entry by entry; returns the largest row mean, infinite on overflow. */
MCAMP__PRIV double mcamp__next_power(const double *ea, size_t b, double *power)
{
    double worst = 0;
    for (size_t i = 0; i < b; i++) {
        double z = 0, *p = power + i * b;
        const double *e = ea + i * b;
        for (size_t j = 0; j < b; j++) z += p[j] *= e[j];
        if (!(z <= worst)) worst = z;
    }
    return mcamp__finite(worst) ? worst / (double)b : mcamp__inf();
}

/* The k of smallest range for a dense a, nearly: with a uniform base and all c_i at
 * their mean the powers serve every k, so that this costs little more than one exact
 * range.  Any k is valid, so nothing rests on it.                                   */
MCAMP__PRIV size_t mcamp__best_order_dense(mcamp__sampler *p, double *power)
{
    double c = p->m.root_total / (double)p->m.b, T = 0, total = 0, best = 0;
    size_t b = p->m.b, at = 1;
    for (size_t i = 0; i < b * b; i++) power[i] = 1;
    for (size_t k = 2; k <= MCAMP__ORDER_MAX && k < at + 4; k++) {
        double sup = p->method == MCAMP_METHOD_COMMON ? mcamp__common_log_sup(c, k, &T)
                                                      : mcamp__tilted_log_sup(k);
        total += log(mcamp__next_power(p->exp_rest, b, power));
        sup += total - ((double)k - 1) * p->eps;
        if (sup < best) { best = sup; at = k; }
    }
    return at;
}

/* The k of smallest range: log range is unimodal in k in every case met; any k is
 * valid, so nothing rests on it.  Steps grow while the range falls, then shrink.  */
MCAMP__PRIV size_t mcamp__best_order(mcamp__sampler *p, double *power)
{
    size_t k = 1, step = 1;
    double best = mcamp__order_range(p, 1, power);
    while (step) {
        double up = k + step <= MCAMP__ORDER_MAX
                        ? mcamp__order_range(p, k + step, power) : mcamp__inf();
        if (up < best) { k += step; best = up; step *= 2; continue; }
        if (k > step) {
            double down = mcamp__order_range(p, k - step, power);
            if (down < best) { k -= step; best = down; continue; }
        }
        step /= 2;
    }
    return k;
}

MCAMP__PRIV void mcamp__sampler_offsets(mcamp__sampler *p)
{
    double log_b = log((double)p->m.b);
    for (size_t i = 0; i < p->m.b; i++) {
        double c = p->m.c[i], rest = p->m.half[i] - 0.5 * c * c;
        p->off_loss[i] = -p->m.half[i] - log_b;
        p->off_base[i] = -rest + log(p->base[i]);
        p->off_w[i] = -rest - log_b;
        p->neg_c[i] = -c;
        if (2 * p->m.half[i] > p->m.idle) p->active[p->active_count++] = i;
    }
}

/* The range of the order-k methods and the law of their tuples. */
MCAMP__PRIV mcamp_status mcamp__sampler_order(mcamp_ctx *ctx, mcamp__sampler *p,
                                              size_t k, double stickiness)
{
    size_t b = p->m.b;
    double *power = NULL, eta = 0;
    mcamp_status st;
    if (!p->m.diagonal) {
        power = mcamp__new_doubles(ctx, b * b);
        if (!power) return mcamp__fail(ctx, MCAMP_E_MEMORY, "sampler", (double)b);
        mcamp__sampler_matrices(ctx->vec, p, p->method == MCAMP_METHOD_COMMON);
    }
    p->k = k ? k : p->m.diagonal ? mcamp__best_order(p, power)
                                 : mcamp__best_order_dense(p, power);
    p->log_range = mcamp__order_range(p, p->k, power) + 1e-9;
    mcamp__delete_doubles(ctx, power, b * b);
    if (stickiness > 0 && p->k > 1) {
        /* Every factor p/p~ is at most 1/(1 - eta): the range grows by that. */
        eta = mcamp__dmin(0.6, stickiness / (double)p->k);
        p->log_range -= ((double)p->k - 1) * log1p(-eta);
    }
    st = mcamp__tuple_init(ctx, b, p->k, p->base, p->m.diagonal ? p->m.a : p->rest,
                           p->m.diagonal, eta, &p->tuple);
    mcamp__delete_doubles(ctx, p->rest, b * b);
    mcamp__delete_doubles(ctx, p->exp_rest, b * b);
    p->rest = p->exp_rest = NULL;
    return st;
}

/* Range and scale of the methods without tuples. */
MCAMP__PRIV void mcamp__sampler_simple_range(mcamp__sampler *p)
{
    p->k = p->dir == MCAMP_ADD ? 0 : 1;
    if (p->method == MCAMP_METHOD_PLAIN) {
        p->log_range = 1e-9;
    } else if (p->method == MCAMP_METHOD_COMMON) {
        p->log_range = mcamp__add_log_bound(&p->m, p->eps) + 1e-9;
    } else {                            /* MODE: a scale, not a range */
        p->log_range = mcamp__inf();
        p->k = 0;
    }
}

/* Which methods make sense where. */
MCAMP__PRIV int mcamp__method_fits(const mcamp__factor *f, mcamp_direction dir,
                                   mcamp_method method)
{
    int remove = dir == MCAMP_REMOVE;
    switch (method) {
    case MCAMP_METHOD_PLAIN:   return 1;
    case MCAMP_METHOD_TILTED:  return remove;
    case MCAMP_METHOD_COMMON:  return !remove || !f->diagonal;
    case MCAMP_METHOD_MODE:    return remove;
    default:                   return 0;
    }
}

/* pre: method fits; k = 0: best; eps finite (may be negative: tests use that).
 * Tallies for proofs count in units of the range (log_scale +infinity); for
 * estimates the range can be so large that typical values would round to the
 * smallest unit, so there the caller names a scale that is nearer to them.       */
MCAMP__PRIV mcamp_status mcamp__sampler_build(mcamp_ctx *ctx, const mcamp__factor *f,
                                              double sigma, double eps,
                                              mcamp_direction dir, mcamp_method method,
                                              size_t k, double stickiness,
                                              double log_scale, mcamp__sampler *p)
{
    int order = dir == MCAMP_REMOVE && method != MCAMP_METHOD_MODE;
    mcamp_status st;
    memset(p, 0, sizeof *p);
    st = mcamp__model_init(ctx, f, sigma, &p->m);
    if (st < 0) return st;
    p->dir = dir; p->method = method; p->eps = eps;
    st = mcamp__sampler_alloc(ctx, p, order && !f->diagonal);
    for (size_t i = 0; st >= 0 && i < f->b; i++) p->base[i] = 1 / (double)f->b;
    if (st >= 0 && order) {
        st = mcamp__sampler_order(ctx, p, method == MCAMP_METHOD_PLAIN ? 1 : k, stickiness);
        if (method == MCAMP_METHOD_PLAIN) p->log_range = 1e-9;
    } else if (st >= 0) {
        mcamp__sampler_simple_range(p);
    }
    if (st < 0) { mcamp__sampler_free(ctx, p); return st; }
    mcamp__sampler_offsets(p);
    p->never = dir == MCAMP_ADD &&
               (double)(f->b - p->active_count) >= (double)f->b * exp(-eps);
    p->log_scale = mcamp__dmin(p->log_range, log_scale);
    return MCAMP_OK;
}

/* ---- running blocks -------------------------------------------------------- */

typedef struct mcamp__job {
    const mcamp__sampler *sampler;
    mcamp__scratch *scratch;    /* one per task */
    mcamp_tally *tally;         /* one per task */
    mcamp_vecset vec;
    uint64_t seed, first, blocks, tasks;
    uint32_t purpose;
} mcamp__job;

/* Task i takes every tasks-th block.  Which task takes which block does not
 * matter: tallies add up to the same integers.                                  */
MCAMP__PRIV void mcamp__job_task(void *arg, size_t i)
{
    mcamp__job *j = (mcamp__job *)arg;
    for (uint64_t n = i; n < j->blocks; n += j->tasks)
        mcamp__sample_block(j->vec, j->sampler, j->seed, j->purpose, j->first + n,
                            &j->scratch[i], &j->tally[i]);
}

/* Workers: memory for running blocks of one sampler on all threads. */
typedef struct mcamp__workers {
    mcamp__scratch *scratch;
    mcamp_tally *tally;
    size_t count;
} mcamp__workers;

MCAMP__PRIV void mcamp__workers_free(mcamp_ctx *ctx, mcamp__workers *w)
{
    for (size_t i = 0; w->scratch && i < w->count; i++)
        mcamp__scratch_free(ctx, &w->scratch[i]);
    mcamp__delete(ctx, w->scratch, w->count, sizeof *w->scratch);
    mcamp__delete(ctx, w->tally, w->count, sizeof *w->tally);
    memset(w, 0, sizeof *w);
}

MCAMP__PRIV mcamp_status mcamp__workers_init(mcamp_ctx *ctx, const mcamp__sampler *p,
                                             mcamp__workers *w)
{
    mcamp_status st = MCAMP_OK;
    memset(w, 0, sizeof *w);
    w->count = ctx->parallel.run && ctx->parallel.width ? ctx->parallel.width : 1;
    w->scratch = (mcamp__scratch *)mcamp__new(ctx, w->count, sizeof *w->scratch);
    w->tally = (mcamp_tally *)mcamp__new(ctx, w->count, sizeof *w->tally);
    if (!w->scratch || !w->tally) st = mcamp__fail(ctx, MCAMP_E_MEMORY, "ctx", 0);
    for (size_t i = 0; st >= 0 && i < w->count; i++)
        st = mcamp__scratch_init(ctx, p, &w->scratch[i]);
    if (st < 0) mcamp__workers_free(ctx, w);
    return st;
}

/* Adds blocks first .. first+blocks-1 of a stream to the tally. */
MCAMP__PRIV mcamp_status mcamp__run_blocks(mcamp_ctx *ctx, const mcamp__sampler *p,
                                           mcamp__workers *w, uint64_t seed,
                                           uint32_t purpose, uint64_t first,
                                           uint64_t blocks, mcamp_tally *t)
{
    mcamp__job j;
    mcamp_status st = MCAMP_OK;
    j.sampler = p; j.scratch = w->scratch; j.tally = w->tally; j.vec = ctx->vec;
    j.seed = seed; j.purpose = purpose; j.first = first; j.blocks = blocks;
    j.tasks = w->count;
    for (size_t i = 0; i < w->count; i++) mcamp__tally_init(p, &w->tally[i]);
    mcamp__run(ctx, w->count, mcamp__job_task, &j);
    for (size_t i = 0; st >= 0 && i < w->count; i++)
        st = mcamp_tally_merge(ctx, t, &w->tally[i]);
    return st;
}

/* ---- public samplers ------------------------------------------------------- */

MCAMP__PRIV mcamp_status mcamp__check_gram(mcamp_ctx *ctx, const mcamp_gram *gram)
{
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!mcamp__gram_ok(gram)) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "gram", 0);
    return MCAMP_OK;
}

/* A scale for tallies without a range: e^-10 of the unamplified delta, so that
 * values up to b times that delta fit, and values 1e-20 of it keep their digits.  */
MCAMP__PRIV double mcamp__loose_scale(const mcamp__factor *f, double sigma, double eps)
{
    double d = mcamp__gauss_logdelta(sqrt(f->trace_max) / sigma, eps);
    return mcamp__dmax(d, -600) - 10;
}

/* The method of smallest range that fits. */
MCAMP__PRIV mcamp_method mcamp__default_method(const mcamp__factor *f, mcamp_direction dir)
{
    return dir == MCAMP_REMOVE && f->diagonal ? MCAMP_METHOD_TILTED : MCAMP_METHOD_COMMON;
}

MCAMP__PRIV mcamp_status mcamp__sampler_check(mcamp_ctx *ctx, const mcamp_gram *gram,
                                              const mcamp_sampler_desc *d,
                                              mcamp_sampler *out)
{
    mcamp_status st = mcamp__check_gram(ctx, gram);
    if (st < 0) return st;
    if (!d || !out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, d ? "sampler" : "desc", 0);
    if (d->start_canary || d->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
    if ((st = mcamp__check_sigma(ctx, "sigma", d->sigma)) < 0) return st;
    if ((st = mcamp__check_eps(ctx, "eps", d->eps)) < 0) return st;
    if (d->direction != MCAMP_REMOVE && d->direction != MCAMP_ADD)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "direction", (double)d->direction);
    if (d->order > MCAMP__ORDER_MAX)
        return mcamp__fail(ctx, MCAMP_E_ARG, "order", (double)d->order);
    return mcamp__check(ctx, "stickiness", d->stickiness, 0.0, 1, 1e3, 1);
}

MCAMP__PRIV mcamp_status mcamp__sampler_from(mcamp_ctx *ctx, const mcamp__factor *f,
                                             const mcamp_sampler_desc *d,
                                             mcamp__sampler *p)
{
    mcamp_method m = d->method;
    double scale = mcamp__inf();
    if (!m) m = mcamp__default_method(f, d->direction);
    if (!mcamp__method_fits(f, d->direction, m))
        return mcamp__fail(ctx, MCAMP_E_ARG, "method", (double)m);
    if (m == MCAMP_METHOD_MODE) scale = mcamp__loose_scale(f, d->sigma, d->eps);
    return mcamp__sampler_build(ctx, f, d->sigma, d->eps, d->direction, m, d->order,
                                d->stickiness, scale, p);
}

MCAMP_API mcamp_status mcamp_sampler_init(mcamp_ctx *ctx, const mcamp_gram *gram,
                                          const mcamp_sampler_desc *desc,
                                          mcamp_sampler *sampler)
{
    MCAMP__GUARD;
    mcamp__factor f;
    mcamp__sampler *p;
    mcamp_status st = mcamp__sampler_check(ctx, gram, desc, sampler);
    if (st < 0) return st;
    p = (mcamp__sampler *)mcamp__new(ctx, 1, sizeof *p);
    if (!p) return mcamp__fail(ctx, MCAMP_E_MEMORY, "sampler", 0);
    st = mcamp__factor_init(ctx, gram, &f);
    if (st >= 0) {
        st = mcamp__sampler_from(ctx, &f, desc, p);
        mcamp__factor_free(ctx, &f);
    }
    if (st < 0) mcamp__delete(ctx, p, 1, sizeof *p);
    else sampler->impl = p;
    return st;
}

MCAMP_API void mcamp_sampler_free(mcamp_ctx *ctx, mcamp_sampler *sampler)
{
    if (!mcamp__ctx_ok(ctx) || !sampler || !sampler->impl) return;
    mcamp__sampler_free(ctx, sampler->impl);
    mcamp__delete(ctx, sampler->impl, 1, sizeof *sampler->impl);
    sampler->impl = NULL;
}

MCAMP_API mcamp_status mcamp_sampler_run(mcamp_ctx *ctx, const mcamp_sampler *sampler,
                                         uint64_t seed, uint64_t first,
                                         uint64_t blocks, mcamp_tally *tally)
{
    MCAMP__GUARD;
    mcamp__workers w;
    mcamp_tally sum;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!sampler || !sampler->impl)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "sampler", 0);
    if (!tally) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "tally", 0);
    if (!blocks || blocks > UINT64_MAX / MCAMP_BLOCK || first > UINT64_MAX - blocks)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "blocks", (double)blocks);
    st = mcamp__workers_init(ctx, sampler->impl, &w);
    if (st < 0) return st;
    mcamp__tally_init(sampler->impl, &sum);
    st = mcamp__run_blocks(ctx, sampler->impl, &w, seed,
                           MCAMP__PURPOSE(MCAMP__STREAM_ESTIMATE, 0,
                                          sampler->impl->dir),
                           first, blocks, &sum);
    mcamp__workers_free(ctx, &w);
    return st < 0 ? st : mcamp_tally_merge(ctx, tally, &sum);
}

/* ======================================================================== *
 *  VERIFICATION                                                     >>verify
 *  In: a Gram matrix and one claim (sigma, eps, delta, beta).  Out: accepted or
 *  refused.  The samples that choose a law come from the PILOT streams, those that
 *  decide from VERIFY alone.  Guarantee: a false claim is accepted with probability
 *  at most beta over the samples, in all directions together.
 * ======================================================================== */

/* ---- one question ---- */

/* How one direction's value is drawn.  log_scale: of estimates' tallies; +infinity:
 * a proof's.                                                                      */
typedef struct mcamp__choice {
    mcamp_method method;
    size_t k;
    double log_scale;
    double sticky;              /* of the tilted laws; 0: none                      */
    double rel_var, mean;       /* as a pilot saw them; mean 0: unknown             */
} mcamp__choice;

/* A question about one direction: the pair at (sigma, eps).  floor: errors count
 * relative to the larger of the value and this; the other direction's value, shrunk.
 * low, high: bounds that are certain, from elsewhere; 0 and 1 say nothing; fine: as near
 * each other as a few milliseconds more make them.                                  */
typedef struct mcamp__question {
    const mcamp__factor *f;
    double sigma, eps, floor, low, high;
    mcamp_direction dir;
    int fine;
    uint64_t seed;
    const mcamp__sampler *ready;    /* built already: the law of smallest range; or NULL */
} mcamp__question;

MCAMP__PRIV mcamp__question mcamp__ask(const mcamp__factor *f, double sigma, double eps,
                                       mcamp_direction dir, uint64_t seed)
{
    mcamp__question q;
    q.f = f; q.sigma = sigma; q.eps = eps; q.dir = dir; q.seed = seed;
    q.floor = q.low = 0;
    q.high = 1;
    q.fine = 0;
    q.ready = NULL;
    return q;
}

MCAMP__PRIV mcamp_status mcamp__question_sampler(mcamp_ctx *ctx, const mcamp__question *q,
                                                 const mcamp__choice *c, mcamp__sampler *p)
{
    return mcamp__sampler_build(ctx, q->f, q->sigma, q->eps, q->dir, c->method, c->k,
                                c->sticky, c->log_scale, p);
}

/* P and Q so near each other that rounding moves rho - 1 by 1e-9 of itself: nothing
 * can be sampled then, and bounds without samples must do.                          */
MCAMP__PRIV int mcamp__too_close(const mcamp__factor *f, double sigma)
{
    return f->trace_max < 1e-12 * sigma * sigma;
}

/* log of a bound of delta that needs no samples: unamplified (delta is convex in
 * the law of the mode, and the largest mode dominates), and Jensen's (add).        */
MCAMP__PRIV double mcamp__free_log_bound(mcamp_ctx *ctx, const mcamp__question *q,
                                         mcamp_status *st)
{
    double best = mcamp__gauss_logdelta_up(sqrt(q->f->trace_max) / q->sigma *
                                           (1 + 4 * DBL_EPSILON), q->eps);
    mcamp__model m;
    *st = MCAMP_OK;
    if (q->dir == MCAMP_REMOVE) return best;
    *st = mcamp__model_init(ctx, q->f, q->sigma, &m);
    if (*st < 0) return 0;
    best = mcamp__dmin(best, mcamp__add_log_bound(&m, q->eps) + 1e-9);
    mcamp__model_free(ctx, &m);
    return best;
}

/* ---- verification --------------------------------------------------------------- */

#define MCAMP__GUARANTEE_MAGIC 0x6d636775u
#define MCAMP__RUNGS           100  /* streams of one seed that proofs can draw from */

MCAMP__PRIV mcamp_status mcamp__claim_check(mcamp_ctx *ctx, const mcamp_gram *gram,
                                            const mcamp_claim *c, const void *out,
                                            int with_sigma)
{
    mcamp_status st = mcamp__check_gram(ctx, gram);
    if (st < 0) return st;
    if (!c || !out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, c ? "out" : "claim", 0);
    if (c->start_canary || c->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "claim", 0);
    if (with_sigma && (st = mcamp__check_sigma(ctx, "sigma", c->sigma)) < 0) return st;
    if ((st = mcamp__check_eps(ctx, "eps", c->eps)) < 0) return st;
    if ((st = mcamp__check_prob(ctx, "delta", c->delta)) < 0) return st;
    if ((st = mcamp__check_prob(ctx, "beta", c->beta)) < 0) return st;
    if (c->max_samples > UINT64_MAX / 4)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "max_samples", (double)c->max_samples);
    if ((int)c->direction < 0 || c->direction > MCAMP_ADD)
        return mcamp__fail(ctx, MCAMP_E_ARG, "direction", (double)c->direction);
    if (c->rung >= MCAMP__RUNGS)
        return mcamp__fail(ctx, MCAMP_E_ARG, "rung", (double)c->rung);
    return MCAMP_OK;
}

/* The claimed mean in units of the range, lowered by what floating point can have
 * done.  A value's logarithm is a sum of at most k + 2 terms of the size of a, each
 * with the relative error of the Gram matrix, 1e-13 (1e-9 covers the kernels); the
 * law of the normals differs from the exact one by less than b 2^-63 in total
 * variation and that of the indices by k b 2^-52, a mean by that times the range.
 * Negative if nothing is left: then nothing can be accepted.                       */
MCAMP__PRIV double mcamp__claim_mean(const mcamp__sampler *p, double delta)
{
    double b = (double)p->m.b, k = (double)p->k;
    double rel = 2e-9 + 2e-13 * (k + 2) * (1 + p->m.max_diag);
    double m = exp(log(delta) - p->log_range) * (1 - rel) -
               b * (1.1e-19 + k * 2.3e-16);
    return mcamp__dmin(m, 1.0);
}

/* log of the wealth (W_stake + mean of the grid)/2 against mean >= m. */
MCAMP__PRIV double mcamp__claim_wealth(const mcamp_tally *t, double stake, double m)
{
    return mcamp__log_add(mcamp__log_wealth(t, -stake, m),
                          mcamp__log_wealth_grid(t, -1, m)) - MCAMP__LN2;
}

/* The stake of largest wealth on a pilot, among 2^(-j/2). */
MCAMP__PRIV double mcamp__claim_stake(const mcamp_tally *pilot, double m)
{
    double best = 1, top = -mcamp__inf();
    for (int j = 0; j < 40; j++) {
        double stake = exp2(-0.5 * j), w = mcamp__log_wealth(pilot, -stake, m);
        if (w > top) { top = w; best = stake; }
    }
    return best;
}

/* Draws VERIFY blocks until the wealth reaches 1/beta, until the opposite is clear
 * (which needs no guarantee: it only refuses), or until the samples are spent.      */
MCAMP__PRIV mcamp_status mcamp__verify_run(mcamp_ctx *ctx, const mcamp__sampler *p,
                                           mcamp__workers *w, const mcamp_claim *c,
                                           int rung, double m, double beta,
                                           mcamp_proof *out, mcamp_tally *t)
{
    uint64_t done = 0, chunk = 1, most = (c->max_samples ? c->max_samples
                                          : UINT64_C(1) << 26) / MCAMP_BLOCK;
    double need = log(1 / beta), hopeless = log(1e3);
    uint32_t purpose = MCAMP__PURPOSE(MCAMP__STREAM_VERIFY, rung, p->dir);
    mcamp__tally_init(p, t);
    if (!most) most = 1;
    while (done < most) {
        mcamp_status st = mcamp__run_blocks(ctx, p, w, c->seed, purpose, done, chunk, t);
        if (st < 0) return st;
        done += chunk;
        out->samples = t->count;
        if (t->poisoned)
            return mcamp__fail(ctx, MCAMP_E_SAMPLE, "sample", (double)t->poisoned);
        out->log_wealth = mcamp__claim_wealth(t, out->stake, m);
        out->accepted = out->log_wealth >= need;
        if (out->accepted) return MCAMP_OK;
        if (mcamp__log_wealth_grid(t, +1, m) >= hopeless) return MCAMP_Q_REFUSED;
        if (mcamp__progress(ctx, mcamp__dmax(out->log_wealth, 0) / need, c->sigma))
            return MCAMP_Q_INTERRUPTED;
        chunk = mcamp__umin(most - done, done / 4 + 1);
    }
    return MCAMP_Q_BUDGET;
}

/* A law to prove a claim by, as a pilot of four blocks judges it. */
typedef struct mcamp__proof_law {
    mcamp__sampler p;
    mcamp__workers w;
    double m, stake, wealth;
} mcamp__proof_law;

MCAMP__PRIV void mcamp__proof_law_free(mcamp_ctx *ctx, mcamp__proof_law *law)
{
    mcamp__workers_free(ctx, &law->w);
    mcamp__sampler_free(ctx, &law->p);
}

/* law is all 0 and needs no freeing after a failure. */
MCAMP__PRIV mcamp_status mcamp__proof_law_init(mcamp_ctx *ctx, const mcamp__question *q,
                                               const mcamp__choice *choice, double delta,
                                               int rung, mcamp_tally *t,
                                               mcamp__proof_law *law)
{
    mcamp_status st;
    memset(law, 0, sizeof *law);
    st = mcamp__question_sampler(ctx, q, choice, &law->p);
    if (st < 0) { memset(law, 0, sizeof *law); return st; }
    law->m = mcamp__claim_mean(&law->p, delta);
    st = mcamp__workers_init(ctx, &law->p, &law->w);
    if (st >= 0) {
        mcamp__tally_init(&law->p, t);
        st = mcamp__run_blocks(ctx, &law->p, &law->w, q->seed,
                               MCAMP__PURPOSE(MCAMP__STREAM_PILOT, 100 + rung, q->dir),
                               0, 4, t);
    }
    if (st < 0) {
        mcamp__proof_law_free(ctx, law);
        memset(law, 0, sizeof *law);
        return st;
    }
    law->stake = mcamp__claim_stake(t, law->m);
    law->wealth = law->m > 0 && !t->poisoned ? mcamp__log_wealth(t, -law->stake, law->m)
                                             : -mcamp__inf();
    return MCAMP_OK;
}

/* The law of smallest range; where that would take more than some 32 blocks, the better
 * one of it and of a sticky law, of larger range but smaller variance.  It is law[*best];
 * law[0 .. *count-1] are to be freed.                                                  */
MCAMP__PRIV mcamp_status mcamp__proof_laws(mcamp_ctx *ctx, const mcamp__question *q,
                                           const mcamp_claim *c, int rung, double beta,
                                           mcamp_tally *t, mcamp__proof_law law[2],
                                           int *count, int *best)
{
    static const double sticky[2] = { 0, 0.5 };
    mcamp__choice choice;
    int most;
    memset(&choice, 0, sizeof choice);
    choice.method = mcamp__default_method(q->f, q->dir);
    choice.log_scale = mcamp__inf();
    choice.rel_var = 1;
    most = q->dir == MCAMP_REMOVE && choice.method == MCAMP_METHOD_COMMON ? 2 : 1;
    *best = *count = 0;
    while (*count < most) {
        mcamp__proof_law *l = &law[*count];
        mcamp_status st;
        choice.sticky = sticky[*count];
        st = mcamp__proof_law_init(ctx, q, &choice, c->delta, rung, t, l);
        if (st < 0) return st;
        if (l->wealth > law[*best].wealth) *best = *count;
        if (++*count == 1 && 8 * l->wealth >= log(1 / beta)) break;
        choice.k = l->p.k;
    }
    return MCAMP_OK;
}

/* One direction of a claim at level beta.  known: a certain bound of delta from
 * elsewhere; 1 says nothing.                                                     */
MCAMP__PRIV mcamp_status mcamp__verify_direction(mcamp_ctx *ctx, const mcamp__factor *f,
                                                 const mcamp_claim *c, mcamp_direction dir,
                                                 int rung, double beta, double known,
                                                 mcamp_proof *out)
{
    mcamp__question q = mcamp__ask(f, c->sigma, c->eps, dir, c->seed);
    mcamp__proof_law law[2];
    mcamp_tally *t;
    mcamp_status st;
    int count = 0, best = 0;
    memset(out, 0, sizeof *out);
    out->bound = exp(mcamp__free_log_bound(ctx, &q, &st));
    if (st < 0) return st;
    out->bound = mcamp__dmin(out->bound, known);
    out->method = MCAMP_METHOD_EXACT;
    out->accepted = out->bound <= c->delta;
    if (out->accepted) return MCAMP_OK;
    if (f->b == 1 || mcamp__too_close(f, c->sigma)) return MCAMP_Q_REFUSED;
    t = (mcamp_tally *)mcamp__new(ctx, 1, sizeof *t);
    if (!t) return mcamp__fail(ctx, MCAMP_E_MEMORY, "tally", 0);
    st = mcamp__proof_laws(ctx, &q, c, rung, beta, t, law, &count, &best);
    if (st >= 0) {
        mcamp__proof_law *l = &law[best];
        out->method = l->p.method; out->order = l->p.k; out->range = exp(l->p.log_range);
        out->stake = l->stake;
        st = l->m > 0 ? mcamp__verify_run(ctx, &l->p, &l->w, c, rung, l->m, beta, out, t)
                      : MCAMP_Q_REFUSED;
    }
    for (int i = 0; i < count; i++) mcamp__proof_law_free(ctx, &law[i]);
    mcamp__delete(ctx, t, 1, sizeof *t);
    return st;
}

/* Would the others be drawn otherwise without one example?  Where sizes are fixed, and
 * where example e is in group e mod b: behind the missing one all change their group. */
MCAMP__PRIV int mcamp__law_moves_others(mcamp_batch_law law, uint64_t batches)
{
    return law == MCAMP_BATCH_FIXED || law == MCAMP_BATCH_SHUFFLE ||
           (law == MCAMP_BATCH_POISSON && batches != 1);
}

/* A guarantee that claims nothing yet, about one example. */
MCAMP__PRIV void mcamp__guarantee_start(mcamp_guarantee *g, mcamp_batch_law law,
                                        uint64_t rounds, uint64_t batches)
{
    memset(g, 0, sizeof *g);
    g->magic = MCAMP__GUARANTEE_MAGIC;
    g->version = MCAMP_VERSION;
    g->law = law;
    g->adjacency = mcamp__law_moves_others(law, batches) ? MCAMP_ADJACENT_ZERO_OUT
                                                         : MCAMP_ADJACENT_ADD_REMOVE;
    g->unit = g->points = 1;
    g->rounds = rounds;
    g->batches = batches;
    if (rounds && batches) g->epochs = (rounds - 1) / batches + 1;
}

MCAMP__PRIV void mcamp__guarantee_claim(const mcamp_gram *gram, const mcamp_claim *c,
                                        mcamp_guarantee *g)
{
    mcamp__guarantee_start(g, MCAMP_BATCH_BINS, gram->n, gram->b);
    g->direction = c->direction;
    g->sigma = c->sigma; g->eps = c->eps; g->delta = c->delta; g->beta = c->beta;
    g->strategy_digest = gram->strategy_digest;
    g->gram_digest = gram->digest;
    g->seed = c->seed;
    g->rung = c->rung;
    g->max_samples = c->max_samples;
}

/* Certain bounds of delta at a claim's (sigma, eps), from elsewhere; 1: none.  */
typedef struct mcamp__known { double remove, add; } mcamp__known;

/* The directions of a claim, each at its share of beta: false acceptance of the
 * claim is false acceptance of one of them.                                          */
MCAMP__PRIV mcamp_status mcamp__verify_claim(mcamp_ctx *ctx, const mcamp__factor *f,
                                             const mcamp_claim *c,
                                             const mcamp__known *known,
                                             mcamp_guarantee *s)
{
    int both = c->direction == MCAMP_BOTH, rung = (int)c->rung;
    double beta = both ? 0.5 * c->beta : c->beta;
    mcamp_status st = MCAMP_OK;
    s->accepted = false;
    s->kind = MCAMP_KIND_NONE;
    memset(&s->remove, 0, sizeof s->remove);
    memset(&s->add, 0, sizeof s->add);
    if (both || c->direction == MCAMP_REMOVE)
        st = mcamp__verify_direction(ctx, f, c, MCAMP_REMOVE, rung, beta, known->remove,
                                     &s->remove);
    if (st == MCAMP_OK && (both || c->direction == MCAMP_ADD))
        st = mcamp__verify_direction(ctx, f, c, MCAMP_ADD, rung, beta, known->add,
                                     &s->add);
    s->samples += s->remove.samples + s->add.samples;
    s->accepted = st == MCAMP_OK &&
                  (s->remove.accepted || c->direction == MCAMP_ADD) &&
                  (s->add.accepted || c->direction == MCAMP_REMOVE);
    s->interrupted = st == MCAMP_Q_INTERRUPTED;
    s->kind = s->accepted ? MCAMP_KIND_VERIFIED : MCAMP_KIND_NONE;
    s->sigma = c->sigma;
    s->rung = c->rung;
    return st;
}

MCAMP_API mcamp_status mcamp_verify_sampled(mcamp_ctx *ctx, const mcamp_gram *gram,
                                            const mcamp_claim *claim,
                                            mcamp_guarantee *out)
{
    MCAMP__GUARD;
    static const mcamp__known nothing = { 1, 1 };
    mcamp__factor f;
    mcamp_guarantee s;
    mcamp_status st = mcamp__claim_check(ctx, gram, claim, out, 1);
    if (st < 0) return st;
    out->accepted = false;              /* whatever happens from here on */
    out->kind = MCAMP_KIND_NONE;
    if ((st = mcamp__factor_init(ctx, gram, &f)) < 0) return st;
    mcamp__guarantee_claim(gram, claim, &s);
    st = mcamp__verify_claim(ctx, &f, claim, &nothing, &s);
    mcamp__factor_free(ctx, &f);
    if (st < 0) return st;
    *out = s;
    return st;
}

/* ======================================================================== *
 *  SECURE RANDOM NUMBERS                                            >>secure
 *  In: a key of 32 bytes, a purpose, a step, an index.  Out: words and normals as
 *  a pure function of these.  No state, no memory, nothing read from a clock.
 *  ChaCha20 (RFC 8439; here with a 64-bit block counter and the step as 64-bit
 *  nonce) and Box-Muller on words of 64 bits.  Guarantee: the same bits in every
 *  vector set, on every machine.  Not claimed: time independent of the values
 *  (radii above 4.08 take a slower path), secrets in registers and swap files.
 * ======================================================================== */

/* Each purpose has a subkey of its own, so that no block is used for two ends.
 * Numbers are part of the format: never change one (4 was used).              */
#define MCAMP__KEY_NOISE UINT64_C(1)    /* z                                   */
#define MCAMP__KEY_TAIL  UINT64_C(2)    /* more bits for its tails             */
#define MCAMP__KEY_ID    UINT64_C(3)
#define MCAMP__KEY_BATCH UINT64_C(5)    /* who takes part when                 */
#define MCAMP__KEY_CUT   UINT64_C(6)    /* who is left out of a full batch     */
#define MCAMP__KEY_BLOB  UINT64_C(7)    /* hides saved states                  */
#define MCAMP__KEY_SEAL  UINT64_C(8)    /* authenticates them                  */
#define MCAMP__KEY_ROOT  UINT64_C(9)    /* of the keys that are bound to more   */
#define MCAMP__KEY_LEDGER UINT64_C(10)  /* digests of releases                 */
#define MCAMP__KEY_SHARE UINT64_C(11)   /* shares of rounds                    */
#define MCAMP__KEY_CHILD (UINT64_C(1) << 63)    /* + index: mcamp_key_derive   */

MCAMP_API void mcamp_wipe(void *p, size_t size)
{
    if (!p) return;
#if defined(__GNUC__) || defined(__clang__)
    memset(p, 0, size);
    __asm__ __volatile__("" : : "r"(p) : "memory");     /* "somebody reads it" */
#else
    for (volatile unsigned char *q = (volatile unsigned char *)p; size; size--) *q++ = 0;
#endif
}

/* Registers that the compiler spilled lie in frames where no name reaches them: called
 * right after a function that has a frame of its own, this lies over what it and all below
 * it left.                                                                           */
MCAMP__APART void mcamp__wipe_frames(void)
{
    unsigned char over[1 << 15];
    mcamp_wipe(over, sizeof over);
}

MCAMP_API void mcamp_key_wipe(mcamp_key *key)
{
    mcamp_wipe(key, sizeof *key);
}

/* ---- ChaCha20 ------------------------------------------------------------- */

/* "expand 32-byte k", key, counter, nonce. */
MCAMP__PRIV void mcamp__chacha_input(uint32_t in[16], const uint32_t key[8],
                                     uint64_t counter, uint64_t nonce)
{
    in[0] = 0x61707865u; in[1] = 0x3320646eu; in[2] = 0x79622d32u; in[3] = 0x6b206574u;
    for (int i = 0; i < 8; i++) in[4 + i] = key[i];
    in[12] = (uint32_t)counter;
    in[13] = (uint32_t)(counter >> 32);
    in[14] = (uint32_t)nonce;
    in[15] = (uint32_t)(nonce >> 32);
}

MCAMP__PRIV void mcamp__chacha_quarter(uint32_t *a, uint32_t *b, uint32_t *c,
                                       uint32_t *d)
{
    *a += *b; *d ^= *a; *d = *d << 16 | *d >> 16;
    *c += *d; *b ^= *c; *b = *b << 12 | *b >> 20;
    *a += *b; *d ^= *a; *d = *d << 8 | *d >> 24;
    *c += *d; *b ^= *c; *b = *b << 7 | *b >> 25;
}

/* One block, the plain way: for keys and the rare words of tails. */
MCAMP__PRIV void mcamp__chacha_block(const uint32_t in[16], uint32_t out[16])
{
    uint32_t x[16];
    memcpy(x, in, sizeof x);
    for (int r = 0; r < 10; r++) {
        for (int i = 0; i < 4; i++)
            mcamp__chacha_quarter(x + i, x + 4 + i, x + 8 + i, x + 12 + i);
        for (int i = 0; i < 4; i++)
            mcamp__chacha_quarter(x + i, x + 4 + (i + 1) % 4, x + 8 + (i + 2) % 4,
                                  x + 12 + (i + 3) % 4);
    }
    for (int i = 0; i < 16; i++) out[i] = x[i] + in[i];
    mcamp_wipe(x, sizeof x);
}

/* Sixteen blocks from counter on, a multiple of 16: word k of block l goes to
 * out[16 k + l].                                                              */
MCAMP__PRIV void mcamp__chacha_16(mcamp_vecset vs, const uint32_t key[8],
                                  uint64_t counter, uint64_t nonce, uint32_t out[256])
{
    uint32_t in[16];
    MCAMP_ASSERT(counter % 16 == 0);
    mcamp__chacha_input(in, key, counter, nonce);
    MCAMP__DISPATCH(vs, chacha, (in, out));
    mcamp_wipe(in, sizeof in);
}

/* ---- keys ------------------------------------------------------------------ */

MCAMP__PRIV uint32_t mcamp__le32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

MCAMP__PRIV void mcamp__key_words(const mcamp_key *key, uint32_t out[8])
{
    for (int i = 0; i < 8; i++) out[i] = mcamp__le32(key->byte + 4 * i);
}

/* The subkey of a purpose: the first half of block `purpose` under the nonce
 * "mcampkdf", which the key itself is used with and nothing else.             */
MCAMP__APART void mcamp__make_subkey(const mcamp_key *key, uint64_t purpose,
                                    uint32_t out[8])
{
    uint32_t words[8], in[16], block[16];
    mcamp__key_words(key, words);
    mcamp__chacha_input(in, words, purpose, UINT64_C(0x66646b706d61636d));
    mcamp__chacha_block(in, block);
    memcpy(out, block, 8 * sizeof *out);
}

MCAMP__PRIV void mcamp__subkey(const mcamp_key *key, uint64_t purpose, uint32_t out[8])
{
    mcamp__make_subkey(key, purpose, out);
    mcamp__wipe_frames();
}

/* All bytes alike: a key that nobody has set. */
MCAMP__PRIV int mcamp__key_ok(const mcamp_key *key)
{
    unsigned char any = 0;
    if (!key) return 0;
    for (int i = 1; i < 32; i++) any = (unsigned char)(any | (key->byte[i] ^ key->byte[0]));
    return any != 0;
}

MCAMP_API uint64_t mcamp_key_id(const mcamp_key *key)
{
    uint32_t sub[8];
    uint64_t id;
    if (!mcamp__key_ok(key)) return 0;
    mcamp__subkey(key, MCAMP__KEY_ID, sub);
    id = sub[0] | (uint64_t)sub[1] << 32;
    mcamp_wipe(sub, sizeof sub);
    return id ? id : 1;
}

MCAMP_API mcamp_status mcamp_key_init(mcamp_ctx *ctx, const void *bytes, size_t size,
                                      mcamp_key *key)
{
    mcamp_key k;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!bytes) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "bytes", 0);
    if (!key) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "key", 0);
    if (size != sizeof k.byte) return mcamp__fail(ctx, MCAMP_E_SIZE, "size", (double)size);
    memcpy(k.byte, bytes, sizeof k.byte);
    if (!mcamp__key_ok(&k)) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "bytes", 0);
    *key = k;
    mcamp_key_wipe(&k);
    return MCAMP_OK;
}

MCAMP__PRIV void mcamp__key_from_words(const uint32_t words[8], mcamp_key *key)
{
    for (int i = 0; i < 32; i++)
        key->byte[i] = (unsigned char)(words[i / 4] >> (8 * (i % 4)));
}

MCAMP_API mcamp_status mcamp_key_derive(mcamp_ctx *ctx, const mcamp_key *key,
                                        uint64_t index, mcamp_key *out)
{
    uint32_t sub[8];
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!mcamp__key_ok(key)) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "key", 0);
    if (!out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    if (index >= MCAMP__KEY_CHILD)
        return mcamp__fail(ctx, MCAMP_E_ARG, "index", (double)index);
    mcamp__subkey(key, MCAMP__KEY_CHILD + index, sub);
    mcamp__key_from_words(sub, out);
    mcamp_wipe(sub, sizeof sub);
    return MCAMP_OK;
}

MCAMP_API void mcamp_key_insecure_test(uint64_t seed, mcamp_key *key)
{
    uint32_t words[8];
    if (!key) return;
    for (int i = 0; i < 8; i++) words[i] = (uint32_t)mcamp__splitmix(&seed);
    mcamp__key_from_words(words, key);
}

/* ---- BLAKE2b (RFC 7693): keys that are bound to something, seals ------------- */

typedef struct mcamp__blake {
    uint64_t h[8], count;
    size_t fill;
    unsigned char block[128];
} mcamp__blake;

static const uint64_t mcamp__blake_iv[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)
};

/* The order of the words of a block in each round; rounds 10 and 11 are 0 and 1. */
static const unsigned char mcamp__blake_order[10][16] = {
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
    { 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
    { 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
    { 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
    { 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
    { 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
    { 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
    { 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
    { 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
    { 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 }
};

MCAMP__PRIV void mcamp__put64(unsigned char *p, uint64_t x)
{
    for (int i = 0; i < 8; i++) p[i] = (unsigned char)(x >> (8 * i));
}

MCAMP__PRIV uint64_t mcamp__get64(const unsigned char *p)
{
    return mcamp__le32(p) | (uint64_t)mcamp__le32(p + 4) << 32;
}

/* One column or diagonal of v; a macro, so that v stays in registers. */
#define MCAMP__BLAKE_MIX(a, b, c, d, k) \
    v[a] += v[b] + m[o[k]];     v[d] ^= v[a]; v[d] = v[d] >> 32 | v[d] << 32; \
    v[c] += v[d];               v[b] ^= v[c]; v[b] = v[b] >> 24 | v[b] << 40; \
    v[a] += v[b] + m[o[k + 1]]; v[d] ^= v[a]; v[d] = v[d] >> 16 | v[d] << 48; \
    v[c] += v[d];               v[b] ^= v[c]; v[b] = v[b] >> 63 | v[b] << 1;

/* `last` is all ones for the last block. */
MCAMP__PRIV void mcamp__blake_block(mcamp__blake *s, const unsigned char *block, uint64_t last)
{
    uint64_t v[16], m[16];
    for (int i = 0; i < 8; i++) {
        v[i] = s->h[i];
        v[8 + i] = mcamp__blake_iv[i];
    }
    v[12] ^= s->count;
    v[14] ^= last;
    for (int i = 0; i < 16; i++) m[i] = mcamp__get64(block + 8 * i);
    for (int r = 0; r < 12; r++) {
        const unsigned char *o = mcamp__blake_order[r % 10];
        MCAMP__BLAKE_MIX(0, 4, 8, 12, 0)
        MCAMP__BLAKE_MIX(1, 5, 9, 13, 2)
        MCAMP__BLAKE_MIX(2, 6, 10, 14, 4)
        MCAMP__BLAKE_MIX(3, 7, 11, 15, 6)
        MCAMP__BLAKE_MIX(0, 5, 10, 15, 8)
        MCAMP__BLAKE_MIX(1, 6, 11, 12, 10)
        MCAMP__BLAKE_MIX(2, 7, 8, 13, 12)
        MCAMP__BLAKE_MIX(3, 4, 9, 14, 14)
    }
    for (int i = 0; i < 8; i++) s->h[i] ^= v[i] ^ v[8 + i];
    mcamp_wipe(v, sizeof v);
    mcamp_wipe(m, sizeof m);
}

#undef MCAMP__BLAKE_MIX

MCAMP__PRIV void mcamp__blake_add(mcamp__blake *s, const void *data, size_t n)
{
    const unsigned char *p = (const unsigned char *)data;
    while (n) {
        size_t len;
        if (s->fill == sizeof s->block) {       /* there is more, so it is not the last */
            s->count += s->fill;
            mcamp__blake_block(s, s->block, 0);
            s->fill = 0;
        }
        len = mcamp__zmin(sizeof s->block - s->fill, n);
        memcpy(s->block + s->fill, p, len);
        s->fill += len;
        p += len;
        n -= len;
    }
}

/* A key of 32 bytes as words, or NULL; 32 or 64 bytes will come out. */
MCAMP__PRIV void mcamp__blake_start(mcamp__blake *s, const uint32_t key[8], size_t size)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < 8; i++) s->h[i] = mcamp__blake_iv[i];
    s->h[0] ^= UINT64_C(0x01010000) ^ (key ? 32u << 8 : 0) ^ size;
    if (!key) return;
    for (int i = 0; i < 4; i++)
        mcamp__put64(s->block + 8 * i, key[2 * i] | (uint64_t)key[2 * i + 1] << 32);
    s->fill = sizeof s->block;
}

MCAMP__PRIV void mcamp__blake_word(mcamp__blake *s, uint64_t x)
{
    unsigned char p[8];
    mcamp__put64(p, x);
    mcamp__blake_add(s, p, sizeof p);
    mcamp_wipe(p, sizeof p);
}

MCAMP__PRIV void mcamp__blake_end(mcamp__blake *s, unsigned char *out, size_t size)
{
    unsigned char all[64];
    memset(s->block + s->fill, 0, sizeof s->block - s->fill);
    s->count += s->fill;
    mcamp__blake_block(s, s->block, UINT64_MAX);
    for (int i = 0; i < 8; i++) mcamp__put64(all + 8 * i, s->h[i]);
    memcpy(out, all, size);
    mcamp_wipe(s, sizeof *s);
    mcamp_wipe(all, sizeof all);
}

/* A key of a purpose and of all the words that tell what it is for: as secret as the root,
 * and unrelated to the key of any other words.                                 */
MCAMP__PRIV void mcamp__bound_key(const uint32_t root[8], uint64_t purpose, const uint64_t *word,
                                  size_t count, uint32_t out[8])
{
    mcamp__blake s;
    unsigned char key[32];
    mcamp__blake_start(&s, root, sizeof key);
    mcamp__blake_word(&s, purpose);
    for (size_t i = 0; i < count; i++) mcamp__blake_word(&s, word[i]);
    mcamp__blake_end(&s, key, sizeof key);
    for (int i = 0; i < 8; i++) out[i] = mcamp__le32(key + 4 * i);
    mcamp_wipe(key, sizeof key);
}

/* 1 if alike; takes the same time wherever they differ. */
MCAMP__PRIV int mcamp__same_bytes(const unsigned char *a, const unsigned char *b, size_t n)
{
    unsigned diff = 0;
    for (size_t i = 0; i < n; i++) diff |= (unsigned)(a[i] ^ b[i]);
    return !diff;
}

/* ---- entropy ----------------------------------------------------------------- */

/* 0 if the system gave all bytes. */
MCAMP__PRIV int mcamp__system_entropy(unsigned char *out, size_t size)
{
#ifdef MCAMP__GETRANDOM
    size_t done = 0;
    while (done < size) {
        long got = (long)getrandom(out + done, mcamp__zmin(size - done, 256), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    if (done == size) return 0;
#endif
#ifdef MCAMP_NO_STDLIB
    (void)out;
    (void)size;
    return 1;
#else
    {
        FILE *f = fopen("/dev/urandom", "rb");
        size_t got = 0;
        if (f) {
            setvbuf(f, NULL, _IONBF, 0);    /* no copy of the secret in a buffer */
            got = fread(out, 1, size, f);
            fclose(f);
        }
        return got == size ? 0 : 1;
    }
#endif
}

/* All of out from the source; NULL: from the system. */
MCAMP__PRIV mcamp_status mcamp__entropy(mcamp_ctx *ctx, const mcamp_entropy_source *source,
                                        unsigned char *out, size_t size)
{
    int failed;
    if (source && !source->fill)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "fill", 0);
    failed = source ? source->fill(source->user, out, size)
                    : mcamp__system_entropy(out, size);
    return failed ? mcamp__fail(ctx, MCAMP_E_ENTROPY, "source", (double)failed) : MCAMP_OK;
}

/* A source that leaves its buffer as it was, or fills it with one value, has
 * failed whatever it says.                                                    */
MCAMP_API mcamp_status mcamp_key_random(mcamp_ctx *ctx,
                                        const mcamp_entropy_source *source,
                                        mcamp_key *key)
{
    mcamp_key k;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!key) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "key", 0);
    memset(&k, 0, sizeof k);
    st = mcamp__entropy(ctx, source, k.byte, sizeof k.byte);
    if (st == MCAMP_OK && !mcamp__key_ok(&k))
        st = mcamp__fail(ctx, MCAMP_E_ENTROPY, "source", 0);
    if (st == MCAMP_OK) *key = k;
    mcamp_key_wipe(&k);
    return st;
}

/* ---- normals ------------------------------------------------------------------- */

/* A Box-Muller pair from the words x and y: radius sqrt(-2 log u), u uniform from
 * x, and the direction (+-cos(pi t), sin(pi t)) with t uniform on [-1/2, 1/2) from
 * the lower 52 bits of y and the sign from its highest; that half circle needs no
 * argument reduction: sin(pi t) = t S(t^2), cos(pi t) = (1/4 - t^2) C(t^2), S and
 * C minimax fits within 1.5e-16 and 2e-17.
 *   u = (x + 1/2) 2^-64.  A small x has few digits, so below 2^52 (odds 2^-12) as
 * many as it has leading zeros are taken from `more`: u then keeps 53 digits down
 * to 2^-116 and ends at 2^-129, a radius of 13.37, instead of 9.42.  A u near 1 is
 * held by its distance from 1, so that small radii are exact too.
 *   -2 log(1 + f) = s P(s^2) with s = f/(2 + f); P is a minimax fit within 1.8e-16.
 * Each result is within 2^-50 of the exact function of u and t.                  */
MCAMP__PRIV void mcamp__normal_pair(uint64_t x, uint64_t more, uint64_t y, double *p,
                                    double *q)
{
    int shift = 0;
    double d, n, f, s, z, r, t, w, c;
    uint64_t u, e;
    if (!x) { x = more; more = 0; shift = 64; }
    while (shift != 64 && x < UINT64_C(1) << 63 && (shift || x < UINT64_C(1) << 52)) {
        x = x << 1 | more >> 63;
        more <<= 1;
        shift++;
    }
    d = (double)x + 0.5;
    u = mcamp__bits(d);
    e = u + (UINT64_C(0x4000000000000000) - UINT64_C(0x3fe6a09e667f3bcd));
    n = (double)(e >> 52) - (1024.0 + 64.0);
    e = (e & UINT64_C(0xfff0000000000000)) - UINT64_C(0x4000000000000000);
    f = mcamp__from_bits(u - e) - 1.0;
    if (!shift && d > 13835058055282163712.0)       /* u > 3/4 */
        f = ((double)~x + 0.5) * -5.42101086242752217004e-20;
    s = f / (f + 2.0);
    z = s * s;
    r = z * -0.33683261961112644243 - 0.36243212298890428952;
    r = r * z - 0.44446889350663329374;
    r = r * z - 0.57142831755808401268;
    r = r * z - 0.8000000012530168018;
    r = r * z - 1.3333333333310164669;
    r = r * z - 4.000000000000000699;
    r = sqrt((n - shift) * (-2 * MCAMP__LN2) + s * r);
    t = mcamp__from_bits((y & UINT64_C(0x000fffffffffffff)) |
                         UINT64_C(0x3ff0000000000000)) - 1.5;
    w = t * t;
    s = w * -2.1122952832357218064e-5 + 4.6597761690490342865e-4;
    s = s * w - 7.370361071648737103e-3;
    s = s * w + 8.2145878256548404263e-2;
    s = s * w - 0.59926452877570957764;
    s = s * w + 2.5501640398597762711;
    s = s * w - 5.1677127800497525672;
    s = s * w + 3.1415926535897927919;
    c = w * -4.1318279034510323217e-6 + 1.035152090465812467e-4;
    c = c * w - 1.9036696909388775347e-3;
    c = c * w + 2.53309695910217602e-2;
    c = c * w - 0.22899788751887022518;
    c = c * w + 1.2780132969493234032;
    c = c * w - 3.7392088021786822204;
    c = c * w + 3.9999999999999999297;
    c = r * (c * (0.25 - w));
    *p = mcamp__from_bits(mcamp__bits(c) ^ (y & UINT64_C(0x8000000000000000)));
    *q = r * (s * t);
}

/* What a stream of normals needs of the key. */
typedef struct mcamp__stream { uint32_t noise[8], tail[8]; } mcamp__stream;

MCAMP__PRIV void mcamp__stream_init(mcamp__stream *s, const uint32_t root[8],
                                    const uint64_t *word, size_t count)
{
    mcamp__bound_key(root, MCAMP__KEY_NOISE, word, count, s->noise);
    mcamp__bound_key(root, MCAMP__KEY_TAIL, word, count, s->tail);
}

/* Word `index` of a step: block index/8, word 2 (index mod 8) and the next. */
MCAMP__PRIV uint64_t mcamp__one_word(const uint32_t key[8], uint64_t step,
                                     uint64_t index)
{
    uint32_t in[16], out[16];
    uint64_t w;
    mcamp__chacha_input(in, key, index / 8, step);
    mcamp__chacha_block(in, out);
    w = out[2 * (index % 8)] | (uint64_t)out[2 * (index % 8) + 1] << 32;
    mcamp_wipe(in, sizeof in);
    mcamp_wipe(out, sizeof out);
    return w;
}

/* Pairs of group g whose x is below 2^52, once more and with more digits. */
MCAMP__PRIV void mcamp__mend_tails(const mcamp__stream *s, uint64_t step, uint64_t g,
                                   const uint32_t w[256], double out[128])
{
    for (size_t i = 0; i < 64; i++) {
        const uint32_t *p = w + 64 * (i / 16) + i % 16;
        double *o = out + 32 * (i / 16) + i % 16;
        if (p[16] >= 1u << 20) continue;
        mcamp__normal_pair(p[0] | (uint64_t)p[16] << 32,
                           mcamp__one_word(s->tail, step, 64 * g + i),
                           p[32] | (uint64_t)p[48] << 32, o, o + 16);
    }
}

/* The 64 pairs of w, tails not yet mended; the smallest x + 1/2. */
MCAMP__PRIV double mcamp__group_normals(mcamp_vecset vs, const uint32_t w[256],
                                        double out[128])
{
    double low;
    MCAMP__DISPATCH(vs, secure_normals, (w, out, &low));
    return low;
}

/* Normals 128 g .. 128 g + 127 of a step.  w: working memory. */
MCAMP__PRIV void mcamp__stream_group(mcamp_vecset vs, const mcamp__stream *s,
                                     uint64_t step, uint64_t g, uint32_t w[256],
                                     double out[128])
{
    mcamp__chacha_16(vs, s->noise, 16 * g, step, w);
    if (mcamp__group_normals(vs, w, out) < 4503599627370496.0)     /* 2^52 */
        mcamp__mend_tails(s, step, g, w, out);
}

/* out[i] = z_step[first + i]; first + count <= 2^60. */
MCAMP__PRIV void mcamp__stream_normals(mcamp_vecset vs, const mcamp__stream *s,
                                       uint64_t step, uint64_t first, size_t count,
                                       double *out)
{
    uint32_t w[256];
    double part[128];
    while (count) {
        size_t skip = (size_t)(first % 128), len = mcamp__zmin(128 - skip, count);
        double *to = len == 128 ? out : part;
        mcamp__stream_group(vs, s, step, first / 128, w, to);
        if (to == part) memcpy(out, part + skip, len * sizeof *out);
        out += len;
        first += len;
        count -= len;
    }
    mcamp_wipe(w, sizeof w);
    mcamp_wipe(part, sizeof part);
}

/* Indices stay below this, so that no counter wraps. */
#define MCAMP__MAX_INDEX (UINT64_C(1) << 60)

/* Words 128 g .. 128 g + 127 of a step, in the order of mcamp__one_word. */
MCAMP__PRIV void mcamp__word_group(mcamp_vecset vs, const uint32_t key[8], uint64_t step,
                                   uint64_t g, uint64_t out[128])
{
    uint32_t w[256];
    mcamp__chacha_16(vs, key, 16 * g, step, w);
    for (size_t i = 0; i < 128; i++)
        out[i] = w[32 * (i % 8) + i / 8] | (uint64_t)w[32 * (i % 8) + 16 + i / 8] << 32;
    mcamp_wipe(w, sizeof w);
}

/* ---- normals without rounding ------------------------------------------------- *
 * Whether a multiple of a normal reaches a bound, decided from as many digits of u and t as
 * are wanted instead of the first 53 of each.  Numbers are integers modulo 2^320 in units of
 * 2^-256, least word first, and each step below is off by a few units.  Frames are wiped by
 * the caller.                                                                    */

#define MCAMP__FIX 10

MCAMP__PRIV void mcamp__fix_add(uint32_t *a, const uint32_t *b, int minus)
{
    uint64_t c = minus ? 1 : 0;
    for (int i = 0; i < MCAMP__FIX; i++) {
        c += (uint64_t)a[i] + (minus ? ~b[i] : b[i]);
        a[i] = (uint32_t)c;
        c >>= 32;
    }
}

MCAMP__PRIV int mcamp__fix_below_0(const uint32_t *a) { return a[MCAMP__FIX - 1] >> 31 ? 1 : 0; }

MCAMP__PRIV void mcamp__fix_abs(uint32_t *a)
{
    uint32_t x[MCAMP__FIX] = { 0 };
    if (!mcamp__fix_below_0(a)) return;
    mcamp__fix_add(x, a, 1);
    memcpy(a, x, sizeof x);
}

/* out = a b rounded down, a, b >= 0; out may be one of them. */
MCAMP__PRIV void mcamp__fix_mul(const uint32_t *a, const uint32_t *b, uint32_t *out)
{
    uint32_t p[2 * MCAMP__FIX] = { 0 };
    for (int i = 0; i < MCAMP__FIX; i++) {
        uint64_t c = 0;
        for (int j = 0; j < MCAMP__FIX; j++) {
            c += p[i + j] + (uint64_t)a[i] * b[j];
            p[i + j] = (uint32_t)c;
            c >>= 32;
        }
        p[i + MCAMP__FIX] = (uint32_t)c;
    }
    memcpy(out, p + MCAMP__FIX - 2, MCAMP__FIX * sizeof *p);
}

MCAMP__PRIV void mcamp__fix_divide(uint32_t *a, uint32_t by)
{
    uint64_t c = 0;
    for (int i = MCAMP__FIX - 1; i >= 0; i--) {
        c = c << 32 | a[i];
        a[i] = (uint32_t)(c / by);
        c %= by;
    }
}

/* x rounded down in magnitude, |x| < 2^63: word by word, each difference is exact. */
MCAMP__PRIV void mcamp__fix_set(double x, uint32_t *a)
{
    uint32_t zero[MCAMP__FIX] = { 0 };
    double rest = fabs(x), unit = 4294967296.0;
    for (int i = MCAMP__FIX - 1; i >= 0; i--) {
        a[i] = (uint32_t)(rest / unit);
        rest -= a[i] * unit;
        unit *= 1.0 / 4294967296.0;
    }
    if (x < 0) {
        mcamp__fix_add(zero, a, 1);
        memcpy(a, zero, sizeof zero);
    }
}

/* sum = first (1 + x/d_1 + x^2/(d_1 d_2) + ..): d_k = k gives exp(x); with signs in turn
 * (2k-1) 2k gives cos(sqrt x), 2k (2k+1) sin(sqrt x)/sqrt x.  x < 2.5: 64 terms are within
 * a unit of all.                                                               */
MCAMP__PRIV void mcamp__fix_series(const uint32_t *first, const uint32_t *x, uint32_t kind,
                                   uint32_t *sum)
{
    uint32_t term[MCAMP__FIX];
    memcpy(term, first, sizeof term);
    memcpy(sum, first, sizeof term);
    for (uint32_t k = 1; k <= 64; k++) {
        mcamp__fix_mul(term, x, term);
        mcamp__fix_divide(term, kind == 0 ? k : kind == 1 ? (2 * k - 1) * 2 * k
                                                          : 2 * k * (2 * k + 1));
        mcamp__fix_add(sum, term, kind && k % 2);
    }
}

/* u := -2 log u, 0 < u < 1.  u = m 2^-k with m in [1/2, 1); y = -log m in doubles, so that
 * m e^y = 1 + d with |d| < 2^-50 and log(1 + d) = d - d^2/2 + d^3/3 - d^4/4 within a unit. */
MCAMP__PRIV void mcamp__fix_minus_2_log(uint32_t *u)
{
    static const uint32_t ln2[MCAMP__FIX] = { 0x8baafa2bu, 0x8a0d175bu, 0x7298b62du,
        0x40f34326u, 0x03f2f6afu, 0xc9e3b398u, 0xd1cf79abu, 0xb17217f7u, 0, 0 };
    static const uint32_t one[MCAMP__FIX] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 0 };
    uint32_t y[MCAMP__FIX], d[MCAMP__FIX], power[MCAMP__FIX], term[MCAMP__FIX];
    int k = 0, low;
    for (; !(u[MCAMP__FIX - 3] >> 31) && k < 256; k++) mcamp__fix_add(u, u, 0);
    mcamp__fix_set(-log((u[MCAMP__FIX - 3] * 4294967296.0 + u[MCAMP__FIX - 4]) *
                        (1.0 / 18446744073709551616.0)), y);
    mcamp__fix_series(one, y, 0, d);
    mcamp__fix_mul(d, u, d);
    mcamp__fix_add(d, one, 1);
    low = mcamp__fix_below_0(d);
    mcamp__fix_abs(d);
    memcpy(power, d, sizeof d);
    for (uint32_t i = 1; i <= 4; i++) {     /* y - log(1 + d) */
        memcpy(term, power, sizeof term);
        mcamp__fix_divide(term, i);
        mcamp__fix_add(y, term, !low && i % 2);
        mcamp__fix_mul(power, d, power);
    }
    for (; k > 0; k--) mcamp__fix_add(y, ln2, 0);
    mcamp__fix_add(y, y, 0);
    memcpy(u, y, sizeof y);
}

/* Two words of 64 bits at p. */
MCAMP__PRIV void mcamp__fix_words(uint64_t high, uint64_t low, uint32_t *p)
{
    p[0] = (uint32_t)low;
    p[1] = (uint32_t)(low >> 32);
    p[2] = (uint32_t)high;
    p[3] = (uint32_t)(high >> 32);
}

/* A normal whose square is known: sign -1 or 1. */
typedef struct mcamp__exact { uint32_t w[MCAMP__FIX]; int sign; } mcamp__exact;

/* Normal number `index` of a step from 192 bits of u and 180 of t, in the middle of what
 * they leave open.  Its words are those of mcamp__stream_group, then the tail key's: the
 * first as in mcamp__mend_tails, three more 2^61 indices further on each.       */
MCAMP__PRIV void mcamp__exact_square(const mcamp__stream *s, uint64_t step, uint64_t index,
                                     mcamp__exact *out)
{
    static const uint32_t pi[MCAMP__FIX] = { 0xec4e6c89u, 0x082efa98u, 0x299f31d0u,
        0xa4093822u, 0x03707344u, 0x13198a2eu, 0x85a308d3u, 0x243f6a88u, 3, 0 };
    static const uint32_t one[MCAMP__FIX] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 0 };
    uint64_t g = index / 128, m = index % 128 / 32, l = index % 16, i = 64 * g + 16 * m + l;
    uint64_t at = 8 * (16 * g + l) + 2 * m, y = mcamp__one_word(s->noise, step, at + 1), w[4];
    uint32_t t[MCAMP__FIX] = { 0 }, c[MCAMP__FIX], half[MCAMP__FIX] = { 0 };
    int sine = index % 32 >= 16;
    for (uint64_t j = 0; j < 4; j++) w[j] = mcamp__one_word(s->tail, step, i + (j << 61));
    memset(out, 0, sizeof *out);
    mcamp__fix_words(mcamp__one_word(s->noise, step, at), w[0], out->w + 4);
    mcamp__fix_words(w[1], UINT64_C(1) << 63, out->w);
    mcamp__fix_minus_2_log(out->w);
    mcamp__fix_words(y << 12 | w[2] >> 52, w[2] << 12 | w[3] >> 52, t + 4);
    mcamp__fix_words(w[3] << 12 | 1u << 11, 0, t);
    half[MCAMP__FIX - 3] = 0x80000000u;
    mcamp__fix_add(t, half, 1);
    out->sign = (sine ? mcamp__fix_below_0(t) : (int)(y >> 63)) ? -1 : 1;
    mcamp__fix_abs(t);
    mcamp__fix_mul(t, pi, t);
    mcamp__fix_mul(t, t, c);
    mcamp__fix_series(sine ? t : one, c, sine ? 2 : 1, half);
    mcamp__fix_mul(half, half, half);
    mcamp__fix_mul(out->w, half, out->w);
}

/* f z + acc >= bound?  By squares: f z = bound - acc, with f and the difference divided by
 * one power of two, which is exact.                                             */
MCAMP__PRIV int mcamp__exact_reaches(const mcamp__exact *z, double f, double acc, double bound)
{
    uint32_t d[MCAMP__FIX], x[MCAMP__FIX];
    int e, low, less;
    double part = 2 * frexp(f, &e);
    mcamp__fix_set(ldexp(bound, 1 - e), d);
    mcamp__fix_set(ldexp(acc, 1 - e), x);
    mcamp__fix_add(d, x, 1);
    low = mcamp__fix_below_0(d);
    mcamp__fix_abs(d);
    mcamp__fix_mul(d, d, d);
    mcamp__fix_set(part, x);
    mcamp__fix_mul(x, x, x);
    mcamp__fix_mul(x, z->w, x);
    mcamp__fix_add(x, d, 1);
    less = mcamp__fix_below_0(x);           /* |f z| < |bound - acc| */
    if ((z->sign < 0) != low) return low;
    return low ? less : !less;
}

#undef MCAMP__FIX

/* ======================================================================== *
 *  NOISE STREAMS                                                     >>noise
 *  In: C, sigma, clipping norm, dimension, key.  Out: clip_norm sigma (C^-1 z)_t,
 *  round by round, any part of the coordinates, as numbers or on a lattice; saved
 *  states.  Memory: what mcamp_noise_bytes says, at init; nothing later.
 *  Maths: y = C^-1 z by y_t = (z_t - sum_k C_{t,t-k} y_{t-k}) / C_tt [2, Algorithm
 *  9], by the buffers of a BLT, or as a sum of rows of z.  Guarantee: z_t[i] is a
 *  pure function of (key, t, i), no round is made twice unless asked for by name.
 * ======================================================================== */

#define MCAMP__NOISE_MAGIC 0x6d636e7au
#define MCAMP__TILE 512         /* coordinates at a time; part of the blob format */

/* How a round is made from its z and what is stored. */
#define MCAMP__PLAN_PLAIN  0    /* C diagonal: nothing is stored               */
#define MCAMP__PLAN_BANDED 1    /* the last rows of y = T^-1 z                  */
#define MCAMP__PLAN_REPLAY 2    /* the last rows of z, for a banded T^-1        */
#define MCAMP__PLAN_BLT    3    /* the buffers                                 */
#define MCAMP__PLAN_AGAIN  4    /* z made again, with weights                  */

/* ---- one tile of one round ------------------------------------------------ */

/* Part of a tile: coordinates at .. at+len-1 of the stream, row r of which are
 * stored from offset + r stride on.                                           */
typedef struct mcamp__part {
    uint64_t at;
    size_t len, offset, stride;
} mcamp__part;

/* The part that begins at coordinate `at`, at most `count` long. */
MCAMP__PRIV mcamp__part mcamp__noise_part(const mcamp_noise *m, size_t at, size_t count)
{
    mcamp__part p;
    size_t tile = at / MCAMP__TILE * MCAMP__TILE;
    p.at = at;
    p.stride = mcamp__zmin(MCAMP__TILE, m->count - tile);
    p.len = mcamp__zmin(p.stride - (at - tile), count);
    p.offset = tile * m->rows + (at - tile);
    return p;
}

/* Of the stored rows, as kernels count: on the lattice rows of FLOAT are integers. */
MCAMP__PRIV int mcamp__row_kind(const mcamp_noise *m)
{
    return !m->rows || m->type != MCAMP_NOISE_FLOAT ? 0 : m->grid > 0 ? 2 : 1;
}

MCAMP__PRIV void mcamp__noise_minus(mcamp_vecset vs, const mcamp_noise *m,
                                    const mcamp__part *p, size_t row, size_t rows,
                                    const double *c, double *acc)
{
    size_t at = p->offset + row * p->stride;
    MCAMP__DISPATCH(vs, minus, (acc, m->state, at, p->stride, c, rows, p->len,
                                mcamp__row_kind(m)));
}

MCAMP__PRIV void mcamp__noise_keep(mcamp_vecset vs, const mcamp_noise *m,
                                   const mcamp__part *p, size_t row, const double *y)
{
    size_t at = p->offset + row * p->stride;
    MCAMP__DISPATCH(vs, emit, (m->state, at, y, 1.0, 0, p->len, mcamp__row_kind(m)));
}

/* The coefficient of the row that is k rounds old, without column factors. */
MCAMP__PRIV double mcamp__noise_coef(const mcamp_noise *m, uint64_t t, size_t k)
{
    const mcamp_mech *c = m->mech;
    if (m->plan == MCAMP__PLAN_REPLAY) return -c->inverse[k];
    if (c->form == MCAMP_FORM_TOEPLITZ) return c->coef[k];
    return c->coef[mcamp__row_start(c, (size_t)t) + mcamp__row_len(c, (size_t)t) - 1 - k];
}

/* The same for rows of the lattice, `by` = mcamp__lattice_unit. */
MCAMP__PRIV double mcamp__lattice_coef(const mcamp_noise *m, uint64_t t, size_t k, double by)
{
    double x = mcamp__noise_coef(m, t, k);
    if (m->mech->scale && m->plan != MCAMP__PLAN_REPLAY) x *= m->mech->scale[t - k];
    return x * by;
}

/* One over what the coefficients of round t are divided by on the lattice. */
MCAMP__PRIV double mcamp__lattice_unit(const mcamp_noise *m, uint64_t t)
{
    double d = m->plan == MCAMP__PLAN_REPLAY ? 1 : mcamp__mech_diag(m->mech, (size_t)t);
    return 1 / (m->mech->scale ? d * m->mech->scale[t] : d);
}

/* acc -= sum_k c_k (row of round t - k), k = 1 .. min(t, rows); round s is kept at
 * s mod rows.  In the order of storage, eight at a time.                      */
MCAMP__PRIV void mcamp__noise_past(mcamp_vecset vs, const mcamp_noise *m,
                                   const mcamp__part *p, double *acc)
{
    double c[8], by = m->grid > 0 ? mcamp__lattice_unit(m, m->step) : 0;
    size_t have = m->step < m->rows ? (size_t)m->step : m->rows;
    size_t now = (size_t)(m->step % m->rows);
    for (size_t r = 0; r < have; r += 8) {
        size_t len = mcamp__zmin(8, have - r);
        for (size_t i = 0; i < len; i++) {
            size_t age = now > r + i ? now - r - i : now + m->rows - r - i;
            c[i] = by > 0 ? mcamp__lattice_coef(m, m->step, age, by)
                          : mcamp__noise_coef(m, m->step, age);
        }
        mcamp__noise_minus(vs, m, p, r, len, c, acc);
    }
}

MCAMP__PRIV void mcamp__divide(double *x, double by, size_t len)
{
    if (mcamp__eq(by, 1.0)) return;
    for (size_t i = 0; i < len; i++) x[i] /= by;
}

MCAMP__PRIV void mcamp__noise_blt(mcamp_vecset vs, const mcamp_noise *m,
                                  const mcamp__part *p, double *acc)
{
    const mcamp_mech *c = m->mech;
    mcamp__noise_minus(vs, m, p, 0, m->rows, c->omega, acc);
    mcamp__divide(acc, c->diag, p->len);
    for (size_t j = 0; j < m->rows; j++) {
        size_t at = p->offset + j * p->stride;
        MCAMP__DISPATCH(vs, decay, (m->state, at, acc, c->theta[j], p->len,
                                    mcamp__row_kind(m)));
    }
}

/* acc: in z_t, out (T^-1 z)_t without the column factor; moves the part's state on
 * by a round.  Not for PLAN_AGAIN.                                            */
MCAMP__PRIV void mcamp__noise_mix(mcamp_vecset vs, const mcamp_noise *m,
                                  const mcamp__part *p, double *acc)
{
    const mcamp_mech *c = m->mech;
    size_t now = m->rows ? (size_t)(m->step % m->rows) : 0;
    double first, z[MCAMP__TILE];
    switch (m->plan) {
    case MCAMP__PLAN_BLT:
        mcamp__noise_blt(vs, m, p, acc);
        break;
    case MCAMP__PLAN_REPLAY:
        memcpy(z, acc, p->len * sizeof *z);
        first = c->inverse[0];
        for (size_t i = 0; i < p->len; i++) acc[i] *= first;
        if (m->rows) mcamp__noise_past(vs, m, p, acc);
        if (m->rows) mcamp__noise_keep(vs, m, p, now, z);
        break;
    default:
        if (m->rows) mcamp__noise_past(vs, m, p, acc);
        mcamp__divide(acc, mcamp__mech_diag(c, (size_t)m->step), p->len);
        if (m->rows) mcamp__noise_keep(vs, m, p, now, acc);
        break;
    }
}

MCAMP__PRIV const mcamp__stream *mcamp__noise_stream(const mcamp_noise *m)
{
    return (const mcamp__stream *)m->keys;
}

/* acc -= c z */
MCAMP__PRIV void mcamp__minus_row(mcamp_vecset vs, double *acc, const double *z,
                                  const double *c, size_t len)
{
    MCAMP__DISPATCH(vs, minus, (acc, z, 0, 0, c, 1, len, 0));
}

/* acc = sum_{k <= t} w_k z_{t-k} for coordinates at .. at+len-1. */
MCAMP__PRIV void mcamp__noise_again(mcamp_vecset vs, const mcamp_noise *m, uint64_t t,
                                    const double *w, uint64_t at, size_t len, double *acc)
{
    double z[MCAMP__TILE];
    for (size_t i = 0; i < len; i++) acc[i] = 0;
    for (uint64_t k = 0; k <= t; k++) {
        double minus = -w[k];
        if (mcamp__eq(minus, 0)) continue;
        mcamp__stream_normals(vs, mcamp__noise_stream(m), t - k, m->first + at, len, z);
        mcamp__minus_row(vs, acc, z, &minus, len);
    }
}

/* w_k = (T^-1)_{t,t-k}, k <= t, without column factors. */
MCAMP__PRIV void mcamp__noise_weights(const mcamp_mech *c, uint64_t t, double *w)
{
    size_t n = (size_t)t + 1;
    for (size_t i = 0; i < n; i++) w[i] = 0;
    if (c->form == MCAMP_FORM_ROWS) {       /* row t of C^-1 is C^-T e_t */
        w[n - 1] = 1;
        mcamp__rows_solve_t(c, w, n);
        for (size_t i = 0; i < n / 2; i++) {
            double x = w[i];
            w[i] = w[n - 1 - i];
            w[n - 1 - i] = x;
        }
        return;
    }
    w[0] = 1;                               /* column 0, which is every column */
    if (c->form == MCAMP_FORM_BLT) mcamp__blt_apply(c, w, n, MCAMP__OP_SOLVE);
    else mcamp__toeplitz_apply(c, w, n, MCAMP__OP_SOLVE);
}

/* What y is multiplied by at round t, for the sum or in the stream's unit; on the lattice
 * what z is.  Rounded up a little: never less noise than sigma says.           */
MCAMP__PRIV double mcamp__noise_factor(const mcamp_noise *m, uint64_t t, int for_sum)
{
    double f = m->sigma * m->clip_norm * (1 + 8 * DBL_EPSILON);
    if (m->mech->scale) f /= m->mech->scale[t];
    if (m->grid > 0)
        return f / (m->plan == MCAMP__PLAN_AGAIN ? m->grid
                        : m->grid * mcamp__mech_diag(m->mech, (size_t)t));
    return for_sum || m->unit == MCAMP_NOISE_SUM ? f : f / m->batch;
}

/* floor(x + 1/2): both floor and the difference are exact, unlike x + 1/2.  |x| is below
 * 2^50 (mcamp__least_grid).                                                   */
MCAMP__PRIV int64_t mcamp__to_grid(double x)
{
    double low = floor(x);
    return (int64_t)(x - low >= 0.5 ? low + 1 : low);
}

/* ---- rounds ------------------------------------------------------------------ */

typedef struct mcamp__chunk {
    const mcamp_noise *m;
    const mcamp_noise_out *out;
    mcamp_vecset vs;
    size_t at, count;           /* coordinates of the stream */
    double factor;
} mcamp__chunk;

MCAMP__PRIV void mcamp__noise_emit(const mcamp__chunk *k, size_t at, size_t len,
                                   const double *y)
{
    const mcamp_noise_out *o = k->out;
    MCAMP__DISPATCH(k->vs, emit, (o->f ? (void *)o->f : o->d, at, y, k->factor, o->add, len,
                                  o->f != NULL));
}

/* ---- the lattice --------------------------------------------------------------- *
 * In units of the grid, with a_j = C_tj/C_tt and f_t >= sigma clip_norm/(grid C_tt), the noise is
 *     Y_t = floor(f_t z_t - A_t + 1/2),  A_t = sum_{j<t} a_j Y_j.
 * What is released then, X_t + Y_t with X_t the integer sum of gradients, is
 *     r_t = floor(v_t - sum_{j<t} a_j r_j + 1/2),  v_t = (C X)_t/C_tt + f_t z_t:
 * a function of C X + noise of at least sigma clip_norm, so exactly as private as that,
 * whatever the grid [rounding goes through the recursion, not after it].  Computed is
 * another law, and the noise does not look at the data: the distance between the laws of
 * all Y, mcamp_noise.numerics, is what numerics can cost.  It has two parts.
 *   A_t is computed in doubles, so as A_t + e_t with e_t a function of earlier Y.  Given
 * those, floor(f z - A + 1/2) and floor(f z - A - e + 1/2) differ in relative entropy by at
 * most e^2/(2 f^2); summed over rounds and coordinates, with E e^2 under the ideal law, and
 * by Pinsker's inequality: distance <= 1/2 sqrt(sum E (e_t/f_t)^2).  Bounds on the root of
 * E (e_t/f_t)^2 are in mcamp__lattice_error; they grow with the root of d n only.
 *   f z - A is computed with rounding too (mcamp__normal_pair, settle) and u and t have 53
 * digits.  The double z is within 2^-44 of the true one where u > 2^-116 and the radius is
 * r > 2^-18: in units of 2^-53, t moves it by a cell, 2 pi r; u < 3/4 by 3 of itself, 3/r, and
 * u > 3/4 by 2^-64, 2^-11/r; -2 log u by 3 of itself, 1.5 r, the root by r, cosine and sine
 * by 16, 16 r, products by 2 r: less than 400 with r < 13.4 and 3/r < 4 or 2^-11/r < 128.
 * Where 2^-43 f_t more or less could change the integer, and where |z| < 2^-18, section
 * secure decides with 192 digits of u and 180 of t: z within 2^-98, if 2^-96 < u < 1 - 2^-96.
 * Boundaries are 1 apart, f_t z has density at most 1/(f_t sqrt(2 pi)): a coordinate is
 * wrong with odds of at most 2^-96 (f_t + 2).
 *   C here is the C of the stored doubles; other errors of accounting are not in this. */

/* Coordinate at + i of the stream, decided without rounding errors.  Infinite: beyond 2^51. */
MCAMP__PRIV double mcamp__lattice_exact(const mcamp__chunk *k, uint64_t at, double acc,
                                        double about)
{
    const mcamp_noise *m = k->m;
    mcamp__exact z;
    double y = floor(about);
    if (!(fabs(about) < 2251799813685248.0)) return mcamp__inf();
    mcamp__exact_square(mcamp__noise_stream(m), m->step, m->first + at, &z);
    while (mcamp__exact_reaches(&z, k->factor, acc, y + 0.5)) y++;
    while (!mcamp__exact_reaches(&z, k->factor, acc, y - 0.5)) y--;
    return y;
}

/* y := the integers of f z + acc; 0 if there are none. */
MCAMP__PRIV int mcamp__lattice_settle(const mcamp__chunk *k, const mcamp__part *p,
                                      const double *z, const double *acc, double *y)
{
    double doubts, doubt = ldexp(k->factor, -43), got;
    int ok = 1;
    MCAMP__DISPATCH(k->vs, settle, (z, acc, k->factor, doubt, (p->len + 7) / 8 * 8, y, &doubts));
    for (size_t i = 0; doubts > 0 && i < p->len; i++) {
        double q = z[i] * k->factor + acc[i];
        if (doubt + (fabs(q) + fabs(acc[i])) * (4 * DBL_EPSILON) < 0.5 - fabs(q - y[i]) &&
            fabs(z[i]) > 2.0 / 262144.0) continue;
        got = mcamp__lattice_exact(k, p->at + i, acc[i], q);
        ok &= fabs(got) < 2251799813685248.0;
        y[i] = ok ? got : 0;
    }
    return ok;
}

/* acc := -A, from the rows that are kept. */
MCAMP__PRIV void mcamp__lattice_past(const mcamp__chunk *k, const mcamp__part *p, double *acc)
{
    const mcamp_noise *m = k->m;
    double c[MCAMP_MAX_BUFFERS], by;
    memset(acc, 0, MCAMP__TILE * sizeof *acc);
    if (!m->rows) return;
    if (m->plan != MCAMP__PLAN_BLT) {
        mcamp__noise_past(k->vs, m, p, acc);
        return;
    }
    by = mcamp__lattice_unit(m, m->step);
    for (size_t j = 0; j < m->rows; j++) c[j] = m->mech->omega[j] * by;
    mcamp__noise_minus(k->vs, m, p, 0, m->rows, c, acc);
}

/* Moves the rows on by a round: Y for banded C, its buffers, or C Y.  y is spoilt.  */
MCAMP__PRIV void mcamp__lattice_keep(const mcamp__chunk *k, const mcamp__part *p,
                                     const double *acc, double *y)
{
    const mcamp_noise *m = k->m;
    const mcamp_mech *c = m->mech;
    double s = c->scale ? c->scale[m->step] : 1;
    if (!m->rows) return;
    if (m->plan == MCAMP__PLAN_REPLAY) {
        s /= c->inverse[0];
        for (size_t i = 0; i < p->len; i++) y[i] = (y[i] - acc[i]) * s;
    } else if (m->plan == MCAMP__PLAN_BLT) {
        for (size_t i = 0; c->scale && i < p->len; i++) y[i] *= s;
        for (size_t j = 0; j < m->rows; j++)
            MCAMP__DISPATCH(k->vs, decay, (m->state, p->offset + j * p->stride, y, c->theta[j],
                                           p->len, 0));
        return;
    }
    mcamp__noise_keep(k->vs, m, p, (size_t)(m->step % m->rows), y);
}

/* What a sum becomes if there is no noise for its task: nothing that is accepted reaches it. */
#define MCAMP__POISON INT64_MIN

#define MCAMP__TASK (64 * MCAMP__TILE)      /* coordinates in a task */

/* The first of the chunk's sums in the same task: it tells of the whole task.     */
MCAMP__PRIV int64_t *mcamp__lattice_mark(const mcamp__chunk *k, uint64_t at)
{
    size_t first = (size_t)(at / MCAMP__TASK * MCAMP__TASK);
    return k->out->grid + (mcamp__zmax(first, k->at) - k->at);
}

MCAMP__PRIV void mcamp__lattice_part(const mcamp__chunk *k, const mcamp__part *p)
{
    int64_t *out = k->out->grid + (p->at - k->at);
    double z[MCAMP__TILE], acc[MCAMP__TILE], y[MCAMP__TILE];
    mcamp__stream_normals(k->vs, mcamp__noise_stream(k->m), k->m->step, k->m->first + p->at,
                          p->len, z);
    for (size_t i = p->len; i % 8; i++) z[i] = 0;
    mcamp__lattice_past(k, p, acc);
    if (!mcamp__lattice_settle(k, p, z, acc, y))
        *mcamp__lattice_mark(k, p->at) = MCAMP__POISON;
    else
        MCAMP__DISPATCH(k->vs, add_whole, (y, p->len, k->out->add, out));
    mcamp__lattice_keep(k, p, acc, y);
}

/* A part of a round that is not on the lattice, or made again from z alone.    */
MCAMP__PRIV void mcamp__plain_part(const mcamp__chunk *k, const mcamp__part *p)
{
    const mcamp_noise *m = k->m;
    double acc[MCAMP__TILE];
    size_t at = (size_t)p->at;
    int64_t *out = k->out->grid;
    if (m->plan == MCAMP__PLAN_AGAIN) {
        mcamp__noise_again(k->vs, m, m->step, m->weights, at, p->len, acc);
    } else {
        mcamp__stream_normals(k->vs, mcamp__noise_stream(m), m->step, m->first + at, p->len,
                              acc);
        mcamp__noise_mix(k->vs, m, p, acc);
    }
    if (!out) mcamp__noise_emit(k, at - k->at, p->len, acc);
    for (size_t i = 0; out && i < p->len; i++) {
        int64_t x = mcamp__to_grid(acc[i] * k->factor);
        out[at - k->at + i] = k->out->add ? out[at - k->at + i] + x : x;
    }
}

MCAMP__PRIV void mcamp__noise_part_run(const mcamp__chunk *k, const mcamp__part *p)
{
    if (k->out->grid && k->m->plan != MCAMP__PLAN_AGAIN) mcamp__lattice_part(k, p);
    else                                                 mcamp__plain_part(k, p);
}

/* Task i of a chunk: its coordinates in the i-th block of the stream. */
MCAMP__APART void mcamp__noise_task(void *arg, size_t i)
{
    const mcamp__chunk *k = (const mcamp__chunk *)arg;
    size_t block = k->at / MCAMP__TASK + i;
    size_t at = mcamp__zmax(k->at, block * MCAMP__TASK), end = k->at + k->count;
    if (end / MCAMP__TASK > block) end = (block + 1) * MCAMP__TASK;
    while (at < end) {
        mcamp__part p = mcamp__noise_part(k->m, at, end - at);
        mcamp__noise_part_run(k, &p);
        at += p.len;
    }
}

/* What the others leave on the stack is wiped here, all at once. */
MCAMP__PRIV void mcamp__noise_clean_task(void *arg, size_t i)
{
    mcamp__noise_task(arg, i);
    mcamp__wipe_frames();
}

/* 1 if all are finite; exponents are compared as integers. */
MCAMP__PRIV int mcamp__all_finite(const double *x, size_t n)
{
    uint64_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= (mcamp__bits(x[i]) & UINT64_C(0x7ff0000000000000)) +
               UINT64_C(0x0010000000000000);
    return !(bad >> 63);
}

MCAMP__PRIV int mcamp__all_finite_float(const float *x, size_t n)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, x + i, sizeof u);
        bad |= (u & 0x7f800000u) + 0x00800000u;
    }
    return !(bad >> 31);
}

MCAMP__PRIV int mcamp__out_finite(const mcamp_noise_out *o, size_t count)
{
    return (!o->d || mcamp__all_finite(o->d, count)) &&
           (!o->f || mcamp__all_finite_float(o->f, count));
}

MCAMP__PRIV int mcamp__chunk_done(const mcamp__chunk *k)
{
    int ok = mcamp__out_finite(k->out, k->count);
    for (size_t at = k->at; k->out->grid && at - k->at < k->count; at += MCAMP__TASK)
        ok &= *mcamp__lattice_mark(k, at) != MCAMP__POISON;
    return ok && (!k->out->grid ||
                  *mcamp__lattice_mark(k, k->at + k->count - 1) != MCAMP__POISON);
}

MCAMP__PRIV void mcamp__out_clear(const mcamp_noise_out *o, size_t count)
{
    if (o->d) memset(o->d, 0, count * sizeof *o->d);
    if (o->f) memset(o->f, 0, count * sizeof *o->f);
    if (o->grid) memset(o->grid, 0, count * sizeof *o->grid);
}

MCAMP__PRIV mcamp_status mcamp__noise_check_out(mcamp_ctx *ctx, const mcamp_noise *m,
                                                const mcamp_noise_out *o, size_t count)
{
    const int64_t top = INT64_C(1) << 62;
    int bad = 0;
    if (!o || (!o->d && !o->f && !o->grid))
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    if ((o->d != NULL) + (o->f != NULL) + (o->grid != NULL) != 1)
        return mcamp__fail(ctx, MCAMP_E_ARG, "out", 0);
    if ((m->grid > 0) != (o->grid != NULL))
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "grid", m->grid);
    if (o->add && !mcamp__out_finite(o, count))
        return mcamp__fail(ctx, MCAMP_E_NONFINITE, "out", 0);
    for (size_t i = 0; o->add && o->grid && i < count; i++)
        bad |= (o->grid[i] > top) | (o->grid[i] < -top);
    return bad ? mcamp__fail(ctx, MCAMP_E_ARG, "out", 0) : MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__noise_args(mcamp_ctx *ctx, const mcamp_noise *m)
{
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!m || m->magic != MCAMP__NOISE_MAGIC)
        return mcamp__fail(ctx, MCAMP_E_ARG, "noise", 0);
    if (!mcamp__mech_ok(m->mech) || m->mech->digest != m->digest)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "mech", 0);
    return MCAMP_OK;
}

/* A session's stream is the session's alone. */
MCAMP__PRIV mcamp_status mcamp__noise_free_args(mcamp_ctx *ctx, const mcamp_noise *m)
{
    mcamp_status st = mcamp__noise_args(ctx, m);
    if (st < 0 || !m->user) return st;
    return mcamp__fail(ctx, MCAMP_E_MISMATCH, "session", 0);
}

MCAMP__PRIV mcamp_status mcamp__noise_round(mcamp_ctx *ctx, mcamp_noise *m, uint64_t step,
                                            size_t count, const mcamp_noise_out *out,
                                            int for_sum)
{
    mcamp__chunk k;
    mcamp_status st;
    if (step != m->step || step >= m->mech->n)
        return mcamp__fail(ctx, MCAMP_E_STEP, "step", (double)step);
    if (!count || count > m->count - m->done)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "count", (double)count);
    st = mcamp__noise_check_out(ctx, m, out, count);
    if (st < 0) return st;
    if (m->plan == MCAMP__PLAN_AGAIN && !m->done)
        mcamp__noise_weights(m->mech, step, m->weights);
    k.m = m;
    k.out = out;
    k.vs = ctx->vec;
    k.at = m->done;
    k.count = count;
    k.factor = mcamp__noise_factor(m, step, for_sum);
    mcamp__run(ctx, (k.at + count - 1) / MCAMP__TASK - k.at / MCAMP__TASK + 1,
               mcamp__noise_clean_task, &k);
    if (!mcamp__chunk_done(&k)) {               /* noise too large: the stream ends */
        mcamp__out_clear(out, count);
        m->step = m->mech->n;
        m->done = 0;
        return mcamp__fail(ctx, MCAMP_E_NONFINITE, "noise", 0);
    }
    m->done += count;
    if (m->done == m->count) {
        m->done = 0;
        m->step++;
    }
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_noise_next(mcamp_ctx *ctx, mcamp_noise *noise,
                                        uint64_t step, size_t count,
                                        const mcamp_noise_out *out)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__noise_free_args(ctx, noise);
    return st < 0 ? st : mcamp__noise_round(ctx, noise, step, count, out, 0);
}

MCAMP_API mcamp_status mcamp_noise_from_grid(mcamp_ctx *ctx, const mcamp_noise *noise,
                                             const int64_t *in, size_t count, double *out)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__noise_args(ctx, noise);
    if (st < 0) return st;
    if (!in && count) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "in", 0);
    if (!out && count) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    if (!(noise->grid > 0)) return mcamp__fail(ctx, MCAMP_E_MISMATCH, "grid", 0);
    for (size_t i = 0; i < count; i++) {
        double x = (double)in[i] * noise->grid;
        out[i] = noise->unit == MCAMP_NOISE_MEAN ? x / noise->batch : x;
    }
    return MCAMP_OK;
}

MCAMP_API uint64_t mcamp_noise_step(const mcamp_noise *noise)
{
    MCAMP__GUARD;
    return noise && noise->magic == MCAMP__NOISE_MAGIC ? noise->step : 0;
}

/* Runs the rounds up to `step` again for the coordinates of m, at most a tile; m->state and
 * m->weights: working memory.                                                   */
MCAMP__APART void mcamp__replay_part(mcamp_vecset vs, mcamp_noise *m, uint64_t step,
                                    double *out)
{
    int64_t whole[MCAMP__TILE] = { 0 };
    mcamp_noise_out o = { NULL, NULL, NULL, false };
    mcamp__part p = mcamp__noise_part(m, 0, m->count);
    mcamp__chunk k;
    if (m->grid > 0) o.grid = whole;
    else             o.d = out;
    k.m = m; k.out = &o; k.vs = vs; k.at = 0; k.count = m->count;
    for (m->step = m->weights ? step : 0; m->step <= step; m->step++) {
        k.factor = mcamp__noise_factor(m, m->step, 0);
        mcamp__noise_part_run(&k, &p);
    }
    for (size_t i = 0; o.grid && i < m->count; i++) out[i] = (double)whole[i] * m->grid;
}

MCAMP_API mcamp_status mcamp_noise_replay(mcamp_ctx *ctx, const mcamp_noise *noise,
                                          uint64_t step, uint64_t at, size_t count,
                                          double *out)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__noise_args(ctx, noise);
    double *work;
    mcamp_noise m;
    size_t size;
    if (st < 0) return st;
    if (step >= noise->step)
        return mcamp__fail(ctx, MCAMP_E_STEP, "step", (double)step);
    if (at > noise->count || count > noise->count - at)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "count", (double)count);
    if (!out && count) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    size = noise->weights ? (size_t)step + 1 : noise->rows * MCAMP__TILE + 1;
    work = mcamp__new_doubles(ctx, size);
    if (!work) return mcamp__fail(ctx, MCAMP_E_MEMORY, "step", (double)step);
    m = *noise;
    if (noise->weights) mcamp__noise_weights(noise->mech, step, m.weights = work);
    for (size_t i = 0; i < count; i += MCAMP__TILE) {
        m.first = noise->first + at + i;
        m.count = mcamp__zmin(MCAMP__TILE, count - i);
        if (!noise->weights) memset(m.state = work, 0, size * sizeof *work);
        mcamp__replay_part(ctx->vec, &m, step, out + i);
    }
    if (!mcamp__all_finite(out, count)) {
        memset(out, 0, count * sizeof *out);
        st = mcamp__fail(ctx, MCAMP_E_NONFINITE, "noise", 0);
    }
    mcamp__wipe_frames();
    mcamp_wipe(work, size * sizeof *work);
    mcamp__delete_doubles(ctx, work, size);
    mcamp_wipe(&m, sizeof m);
    return st;
}

/* ---- making a stream ------------------------------------------------------------ */

MCAMP__PRIV mcamp_status mcamp__check_positive(mcamp_ctx *ctx, const char *argument,
                                               double x)
{
    if (!(x < 0) && !(x > 0) && mcamp__finite(x))
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, argument, x);
    return mcamp__check_sigma(ctx, argument, x);
}

/* The grid: a power of two between 2^-40 and 1 times the noise. */
MCAMP__PRIV mcamp_status mcamp__noise_check_grid(mcamp_ctx *ctx, double grid,
                                                 double noise)
{
    int e;
    if (!mcamp__finite(grid))
        return mcamp__fail(ctx, MCAMP_E_NONFINITE, "grid", grid);
    if (mcamp__eq(grid, 0)) return MCAMP_OK;
    if (!(grid > 0) || !mcamp__eq(frexp(grid, &e), 0.5) || !(grid <= noise) ||
        !(grid >= ldexp(noise, -40)))
        return mcamp__fail(ctx, MCAMP_E_ARG, "grid", grid);
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__noise_check_numbers(mcamp_ctx *ctx,
                                                    const mcamp_noise_desc *d)
{
    mcamp_status st = mcamp__check_positive(ctx, "sigma", d->sigma);
    if (st == MCAMP_OK)
        st = mcamp__check_positive(ctx, "clip_norm", d->clip_norm);
    if (st < 0) return st;
    if (d->unit == MCAMP_NOISE_UNSET)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "unit", 0);
    if (d->unit == MCAMP_NOISE_MEAN)
        st = mcamp__check_positive(ctx, "batch", d->batch);
    else if (d->unit != MCAMP_NOISE_SUM)
        st = mcamp__fail(ctx, MCAMP_E_ARG, "unit", (double)(int)d->unit);
    else if (!mcamp__eq(d->batch, 0))
        st = mcamp__fail(ctx, MCAMP_E_ARG, "batch", d->batch);
    if (st < 0) return st;
    st = mcamp__check_sigma(ctx, "sigma", d->sigma * d->clip_norm);
    return st < 0 ? st : mcamp__noise_check_grid(ctx, d->grid, d->sigma * d->clip_norm);
}

/* Plan and number of rows. */
MCAMP__PRIV void mcamp__noise_plan(const mcamp_noise_desc *d, mcamp_noise *m)
{
    const mcamp_mech *c = d->mech;
    size_t need = c->inverse ? c->inverse_bands - 1 : c->bands - 1;
    m->plan = c->form == MCAMP_FORM_BLT ? MCAMP__PLAN_BLT
            : c->inverse ? MCAMP__PLAN_REPLAY
            : c->bands > 1 ? MCAMP__PLAN_BANDED : MCAMP__PLAN_PLAIN;
    m->rows = c->form == MCAMP_FORM_BLT ? c->buffers : need;
    if (d->store == MCAMP_NOISE_STORED || m->plan == MCAMP__PLAN_PLAIN) return;
    if (d->store == MCAMP_NOISE_REGENERATED ||
        (c->form != MCAMP_FORM_BLT && need > 0 && need == c->n - 1)) {
        m->plan = MCAMP__PLAN_AGAIN;
        m->rows = 0;
    }
}

/* Sizes of the state, the weights and both with room to align. */
MCAMP__PRIV mcamp_status mcamp__noise_sizes(mcamp_ctx *ctx, mcamp_noise *m,
                                            size_t *state)
{
    size_t bytes = 0, weights = m->plan == MCAMP__PLAN_AGAIN ? m->mech->n : 0;
    if (!mcamp__mul_size(m->rows, m->count, state) ||
        !mcamp__mul_size(*state, m->type == MCAMP_NOISE_FLOAT ? 4 : 8, state) ||
        !mcamp__mul_size(weights, sizeof(double), &weights) ||
        !mcamp__add_size(*state, weights, &bytes) ||
        !mcamp__add_size(bytes, bytes ? 63 : 0, &bytes) || bytes > PTRDIFF_MAX)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "count", (double)m->count);
    m->bytes = bytes;
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__noise_check_slice(mcamp_ctx *ctx,
                                                  const mcamp_noise_desc *d,
                                                  mcamp_noise *m)
{
    uint64_t rest;
    if (!d->dim || d->dim > MCAMP__MAX_INDEX)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "dim", (double)d->dim);
    if (d->first >= d->dim)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "first", (double)d->first);
    rest = d->dim - d->first;
    if (d->count > rest || (!d->count && rest > PTRDIFF_MAX))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "count", (double)d->count);
    m->count = d->count ? d->count : (size_t)rest;
    return MCAMP_OK;
}

/* Everything but memory and keys. */
MCAMP__PRIV mcamp_status mcamp__noise_layout(mcamp_ctx *ctx, const mcamp_noise_desc *d,
                                             mcamp_noise *m, size_t *state)
{
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!d) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "desc", 0);
    if (d->start_canary || d->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
    if (!d->mech) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "mech", 0);
    if (!mcamp__mech_ok(d->mech))
        return mcamp__fail(ctx, MCAMP_E_ARG, "mech", 0);
    if (mcamp__mech_hash(d->mech) != d->mech->digest)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "mech", 0);
    if ((int)d->store < 0 || (int)d->store > MCAMP_NOISE_REGENERATED)
        return mcamp__fail(ctx, MCAMP_E_ARG, "store", (double)(int)d->store);
    if ((int)d->type < 0 || (int)d->type > MCAMP_NOISE_FLOAT)
        return mcamp__fail(ctx, MCAMP_E_ARG, "type", (double)(int)d->type);
    memset(m, 0, sizeof *m);
    st = mcamp__noise_check_numbers(ctx, d);
    if (st == MCAMP_OK) st = mcamp__noise_check_slice(ctx, d, m);
    if (st < 0) return st;
    m->mech = d->mech;
    m->digest = d->mech->digest;
    m->sigma = d->sigma; m->clip_norm = d->clip_norm;
    m->batch = d->batch; m->grid = d->grid;
    m->unit = d->unit;
    m->type = d->type == MCAMP_NOISE_FLOAT ? MCAMP_NOISE_FLOAT : MCAMP_NOISE_DOUBLE;
    m->dim = d->dim; m->first = d->first;
    mcamp__noise_plan(d, m);
    if (m->grid > 0 && m->plan != MCAMP__PLAN_BANDED) m->type = MCAMP_NOISE_DOUBLE;
    return mcamp__noise_sizes(ctx, m, state);
}

MCAMP_API mcamp_status mcamp_noise_bytes(mcamp_ctx *ctx, const mcamp_noise_desc *desc,
                                         size_t *bytes)
{
    MCAMP__GUARD;
    mcamp_noise m;
    size_t state;
    mcamp_status st = mcamp__noise_layout(ctx, desc, &m, &state);
    if (st < 0) return st;
    if (!bytes) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "bytes", 0);
    *bytes = m.bytes;
    return MCAMP_OK;
}

/* Of C without column factors: the largest norms of a row of C^-1, and with them the largest
 * sum of magnitudes; the largest diagonal entry of C.                           */
typedef struct mcamp__reach { double sum, root, whole, diag; } mcamp__reach;

/* w: n doubles; left in it is column 0 of a Toeplitz C^-1.  Infinite if some are. */
MCAMP__PRIV mcamp__reach mcamp__inverse_reach(const mcamp_mech *c, double *w)
{
    mcamp__reach r = { 0, 0, 0, 0 };
    const int rows = c->form == MCAMP_FORM_ROWS;
    double sum = 0, squares = 0;
    if (!rows) mcamp__noise_weights(c, c->n - 1, w);
    for (size_t t = 0; t < c->n; t++) {
        double s = c->scale ? c->scale[t] : 1;
        if (rows) {
            mcamp__noise_weights(c, t, w);
            sum = squares = 0;
        }
        for (size_t k = rows ? 0 : t; k <= t; k++) {
            sum += fabs(w[k]);
            squares += w[k] * w[k];
        }
        if (!mcamp__finite(sum)) sum = mcamp__inf();
        r.sum = mcamp__dmax(r.sum, sum);
        r.root = mcamp__dmax(r.root, sqrt(squares));
        r.whole = mcamp__dmax(r.whole, sum / s);
        r.diag = mcamp__dmax(r.diag, mcamp__mech_diag(c, t) * s);
    }
    return r;
}

/* Buffers, u a rounding, in grids over sigma clip_norm: with b the root of E B^2 and `noise`
 * that of E (s_t Y_t)^2, a step adds an error of u (2 b + noise) at most, which decays by
 * theta, and the sum over them (rows + 4) u b for each.                          */
MCAMP__PRIV double mcamp__blt_error(const mcamp_noise *m, const double *w, double noise,
                                    double half)
{
    const mcamp_mech *c = m->mech;
    double e = 0;
    for (size_t j = 0; j < c->buffers; j++) {
        double h = 0, squares = 0, sum = 0, b, last = (double)c->n;
        for (size_t k = 0; k + 1 < c->n; k++) {
            h = c->theta[j] * h + w[k];
            squares += h * h;
            sum += fabs(h);
        }
        b = sqrt(squares) + half * sum;
        if (c->theta[j] < 1) last = mcamp__dmin(last, 1 / (1 - c->theta[j]));
        e += fabs(c->omega[j]) * (last * (2 * b + noise) + ((double)m->rows + 4) * b);
    }
    return e;
}

/* A bound on the root of E (e_t/f_t)^2, in units of u = 2^-53 (see "the lattice").  In grids
 * over sigma clip_norm, s_t Y_t has the root r = |row of T^-1|_2 + 1/2 |row|_1 max C_tt grid/
 * (sigma clip_norm): its own roundings go through C^-1 as z does.  C = T diag(s).
 *   Banded: rows terms, each off by u of itself for its product, 4 u for its coefficient
 * and u for each addition: (rows + 5) u sum |T_tj| r.
 *   C^-1 banded with coefficients d, c those of C: the rows hold x = T s Y = z + rounding, of
 * root q, each found with an error l = u q (3 d_0 + (rows + 3) sum |d_k|), which goes on by C:
 * the sum over them is off by l (1 + d_0 sum |c|), and (rows + 3) u q sum |d_k| of its own.  */
MCAMP__PRIV double mcamp__lattice_error(const mcamp_noise *m, const mcamp__reach *reach,
                                        const double *w)
{
    const mcamp_mech *c = m->mech;
    double half = 0.5 * m->grid / (m->sigma * m->clip_norm) * reach->diag;
    double r = reach->root + half * reach->sum, rows = (double)m->rows, sum = 0, most = 0, l;
    if (m->plan == MCAMP__PLAN_PLAIN) return 0;
    if (m->plan == MCAMP__PLAN_BLT) return mcamp__blt_error(m, w, r, half);
    if (m->plan == MCAMP__PLAN_REPLAY) {
        for (size_t k = 1; k < c->inverse_bands; k++) sum += fabs(c->inverse[k]);
        for (size_t k = 0; k < c->n; k++) most += fabs(c->coef[k]);
        l = (1 + half) * (3 * c->inverse[0] + (rows + 3) * sum);
        return l * (2 + c->inverse[0] * most) / c->inverse[0];
    }
    for (size_t t = 0; t < c->n; t++) {
        size_t have = mcamp__zmin(t, m->rows);
        if (t > m->rows && c->form == MCAMP_FORM_TOEPLITZ) break;
        sum = 0;
        for (size_t k = 1; k <= have; k++) sum += fabs(mcamp__noise_coef(m, t, k));
        most = mcamp__dmax(most, sum);
    }
    return (rows + 5) * most * r;
}

/* What "the lattice" bounds, for all rounds and coordinates. */
MCAMP__PRIV double mcamp__noise_numerics(const mcamp_noise *m, const mcamp__reach *reach,
                                         const double *w)
{
    double all = (double)m->dim * (double)m->mech->n, f = 0, law;
    if (m->plan == MCAMP__PLAN_AGAIN) return mcamp__inf();
    for (size_t t = 0; t < m->mech->n; t++) f = mcamp__dmax(f, mcamp__noise_factor(m, t, 1));
    law = 0.5 * sqrt(all) * mcamp__lattice_error(m, reach, w) * (0.5 * DBL_EPSILON);
    return (law + ldexp(all * (f + 2), -96)) * (1 + 1e-6);
}

/* Noise that were stopped at the ends of the integers would release the sum in the clear,
 * and noise beyond 2^53 grids its low bits.  As |z| < 13.38 (section secure) and a rounding
 * is half a grid, no noise reaches (13.38 sigma clip_norm + grid/2 max C_tt) |row of C^-1|_1:
 * that must be below 2^50 grids, or 2^31 where rows have 32 bits.  *least: the grid for
 * which it is.                                                                   */
MCAMP__PRIV double mcamp__least_grid(const mcamp_noise *m, const mcamp__reach *r)
{
    double top = mcamp__row_kind(m) ? 2147483646.0 : 1125899906842624.0;
    double most = 13.38 * m->sigma * m->clip_norm * r->whole;
    top -= 0.5 * r->diag * r->whole;
    return mcamp__finite(most) && top > 0 ? most / top : mcamp__inf();
}

/* Takes n doubles for a moment. */
MCAMP__PRIV mcamp_status mcamp__noise_least_grid(mcamp_ctx *ctx, const mcamp_noise *m,
                                                 double *least)
{
    size_t n = m->mech->n;
    double *w = mcamp__new_doubles(ctx, n);
    mcamp__reach r;
    if (!w) return mcamp__fail(ctx, MCAMP_E_MEMORY, "noise", (double)n);
    r = mcamp__inverse_reach(m->mech, w);
    *least = mcamp__least_grid(m, &r);
    mcamp__delete_doubles(ctx, w, n);
    return MCAMP_OK;
}

/* Sets the grid, and numerics.  Noise much finer than the grid would be none.     */
MCAMP__PRIV mcamp_status mcamp__noise_set_grid(mcamp_ctx *ctx, mcamp_noise *m, double grid)
{
    size_t n = m->mech->n;
    double *w, low = mcamp__inf(), law = mcamp__inf();
    mcamp__reach r;
    int ok;
    m->grid = grid;
    m->numerics = mcamp__inf();
    if (!(grid > 0)) return MCAMP_OK;
    if (m->rows && m->plan != MCAMP__PLAN_BANDED && m->type == MCAMP_NOISE_FLOAT)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "type", (double)(int)m->type);
    w = mcamp__new_doubles(ctx, n);
    if (!w) return mcamp__fail(ctx, MCAMP_E_MEMORY, "noise", (double)n);
    r = mcamp__inverse_reach(m->mech, w);
    ok = grid >= mcamp__least_grid(m, &r);
    if (ok) law = mcamp__noise_numerics(m, &r, w);
    mcamp__delete_doubles(ctx, w, n);
    for (size_t t = 0; t < n; t++) low = mcamp__dmin(low, mcamp__noise_factor(m, t, 1));
    if (!ok || !(low >= 0.0009765625)) return mcamp__fail(ctx, MCAMP_E_ARG, "grid", grid);
    m->numerics = law;
    return MCAMP_OK;
}

MCAMP_API double mcamp_noise_delta(const mcamp_noise *noise, double eps)
{
    MCAMP__GUARD;
    if (!noise || noise->magic != MCAMP__NOISE_MAGIC || !(eps >= 0)) return mcamp__inf();
    return (1 + exp(eps)) * noise->numerics * (1 + 1e-12);
}

/* The keys of the stream that these words describe. */
MCAMP__PRIV void mcamp__noise_keys(mcamp_noise *m, const uint64_t *word, size_t count)
{
    mcamp__stream_init((mcamp__stream *)m->keys, m->keys + 24, word, count);
    mcamp__bound_key(m->keys + 24, MCAMP__KEY_BLOB, word, count, m->keys + 16);
}

/* Of a stream without a session: what its parts, made by several processes, share. */
MCAMP__PRIV void mcamp__noise_own_keys(mcamp_noise *m)
{
    uint64_t w[6];
    w[0] = m->digest;
    w[1] = m->mech->n;
    w[2] = mcamp__bits(m->sigma);
    w[3] = mcamp__bits(m->clip_norm);
    w[4] = mcamp__bits(m->grid + 0.0);
    w[5] = m->dim;
    mcamp__noise_keys(m, w, 6);
}

/* Memory of the caller or the context, zeroed; state first, at a multiple of 64. */
MCAMP__PRIV mcamp_status mcamp__noise_memory(mcamp_ctx *ctx, const mcamp_noise_desc *d,
                                             mcamp_noise *m, size_t state)
{
    unsigned char *p;
    if (!m->bytes) return MCAMP_OK;
    if (d->memory) {
        if (d->memory_size < m->bytes)
            return mcamp__fail(ctx, MCAMP_E_SIZE, "memory_size",
                               (double)d->memory_size);
        m->memory = d->memory;
        memset(m->memory, 0, m->bytes);
    } else {
        m->memory = mcamp__new(ctx, m->bytes, 1);
        m->owned = true;
        if (!m->memory) return mcamp__fail(ctx, MCAMP_E_MEMORY, "noise", (double)m->bytes);
    }
    p = (unsigned char *)m->memory + (64 - ((uintptr_t)m->memory & 63)) % 64;
    m->state = p;
    if (m->plan == MCAMP__PLAN_AGAIN) m->weights = (double *)(void *)(p + state);
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_noise_init(mcamp_ctx *ctx, const mcamp_noise_desc *desc,
                                        mcamp_noise *noise)
{
    MCAMP__GUARD;
    mcamp_noise m;
    size_t state = 0;
    mcamp_status st = mcamp__noise_layout(ctx, desc, &m, &state);
    if (st < 0) return st;
    if (!noise) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "noise", 0);
    if (!mcamp__key_ok(&desc->key))
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "key", 0);
    st = mcamp__noise_set_grid(ctx, &m, m.grid);
    if (st == MCAMP_OK) st = mcamp__noise_memory(ctx, desc, &m, state);
    if (st < 0) return st;
    mcamp__subkey(&desc->key, MCAMP__KEY_ROOT, m.keys + 24);
    mcamp__noise_own_keys(&m);
    m.key_id = mcamp_key_id(&desc->key);
    m.magic = MCAMP__NOISE_MAGIC;
    *noise = m;
    mcamp_wipe(&m, sizeof m);
    return MCAMP_OK;
}

MCAMP_API void mcamp_noise_free(mcamp_ctx *ctx, mcamp_noise *noise)
{
    if (!mcamp__ctx_ok(ctx) || !noise || noise->magic != MCAMP__NOISE_MAGIC) return;
    mcamp_wipe(noise->memory, noise->bytes);
    if (noise->owned) mcamp__delete(ctx, noise->memory, noise->bytes, 1);
    mcamp_wipe(noise, sizeof *noise);
}

/* ---- saved states ----------------------------------------------------------------- *
 * Words of 64 bits, little-endian: the header, the stored numbers as their bits in
 * the order of storage (two floats to a word, the earlier one low), encrypted by a
 * stream of words, and a seal of 32 bytes, keyed BLAKE2b, over all of that.  Both keys
 * are of the stream's key and the whole header: no two blobs share them but of the same
 * round of the same stream, whose words are the same.                            */

#define MCAMP__BLOB_HEAD 20     /* words */
#define MCAMP__BLOB_VERSION 2
#define MCAMP__SEAL 4            /* words */

/* Words of stored numbers. */
MCAMP__PRIV size_t mcamp__blob_words(const mcamp_noise *m)
{
    size_t numbers = m->rows * m->count;
    return m->type == MCAMP_NOISE_FLOAT ? numbers / 2 + numbers % 2 : numbers;
}

/* 0 if it cannot be represented. */
MCAMP__PRIV size_t mcamp__blob_bytes(const mcamp_noise *m)
{
    size_t words = mcamp__blob_words(m);
    return words > PTRDIFF_MAX / 8 - 256
         ? 0 : 8 * (words + MCAMP__BLOB_HEAD + MCAMP__SEAL);
}

/* The header at a step; its last word is the checksum of those before. */
MCAMP__PRIV void mcamp__blob_header(const mcamp_noise *m, uint64_t step,
                                    uint64_t h[MCAMP__BLOB_HEAD])
{
    uint64_t sum = 0;
    h[0] = UINT64_C(0x65736f6e706d6163);        /* "campnose" */
    h[1] = MCAMP__BLOB_VERSION;
    h[2] = mcamp__blob_bytes(m);
    h[3] = m->digest;
    h[4] = m->mech->n;
    h[5] = mcamp__bits(m->sigma);
    h[6] = mcamp__bits(m->clip_norm);
    h[7] = (uint64_t)m->unit;
    h[8] = mcamp__bits(m->batch + 0.0);
    h[9] = m->dim;
    h[10] = m->first;
    h[11] = m->count;
    h[12] = (uint64_t)m->plan;
    h[13] = m->rows;
    h[14] = (uint64_t)m->type;
    h[15] = mcamp__bits(m->grid + 0.0);
    h[16] = MCAMP__TILE;
    h[17] = m->key_id;
    h[18] = step;
    for (int i = 0; i < MCAMP__BLOB_HEAD - 1; i++) sum = mcamp__hash_word(sum, h[i]);
    h[19] = sum;
}

static const char *const mcamp__blob_field[MCAMP__BLOB_HEAD] = {
    "blob", "blob", "size", "mech", "mech", "sigma", "clip_norm", "unit", "batch",
    "dim", "first", "count", "store", "store", "type", "grid", "blob", "key", "step", "blob"
};

MCAMP__PRIV uint64_t mcamp__state_word(const mcamp_noise *m, size_t i)
{
    uint64_t x = 0;
    uint32_t u = 0;
    if (m->type != MCAMP_NOISE_FLOAT) return mcamp__bits(((const double *)m->state)[i]);
    memcpy(&u, (const float *)m->state + 2 * i, sizeof u);
    x = u;
    if (2 * i + 1 < m->rows * m->count) {
        memcpy(&u, (const float *)m->state + 2 * i + 1, sizeof u);
        x |= (uint64_t)u << 32;
    }
    return x;
}

MCAMP__PRIV void mcamp__set_state_word(mcamp_noise *m, size_t i, uint64_t x)
{
    uint32_t u = (uint32_t)x;
    if (m->type != MCAMP_NOISE_FLOAT) {
        ((double *)m->state)[i] = mcamp__from_bits(x);
        return;
    }
    memcpy((float *)m->state + 2 * i, &u, sizeof u);
    u = (uint32_t)(x >> 32);
    if (2 * i + 1 < m->rows * m->count)
        memcpy((float *)m->state + 2 * i + 1, &u, sizeof u);
}

/* The keys of one blob: to hide its numbers, to seal it. */
MCAMP__PRIV void mcamp__blob_keys(const mcamp_noise *m, const uint64_t head[MCAMP__BLOB_HEAD],
                                  uint32_t hide[8], uint32_t seal[8])
{
    mcamp__bound_key(m->keys + 16, MCAMP__KEY_BLOB, head, MCAMP__BLOB_HEAD, hide);
    mcamp__bound_key(m->keys + 16, MCAMP__KEY_SEAL, head, MCAMP__BLOB_HEAD, seal);
}

MCAMP__PRIV void mcamp__blob_seal(const uint32_t key[8], const unsigned char *p, size_t size,
                                  unsigned char seal[8 * MCAMP__SEAL])
{
    mcamp__blake s;
    mcamp__blake_start(&s, key, 8 * MCAMP__SEAL);
    mcamp__blake_add(&s, p, size);
    mcamp__blake_end(&s, seal, 8 * MCAMP__SEAL);
}

/* Words from the state to p, hidden; or from p into the state. */
MCAMP__PRIV void mcamp__blob_body(mcamp_vecset vs, mcamp_noise *into, const mcamp_noise *m,
                                  const uint32_t hide[8], unsigned char *to,
                                  const unsigned char *from)
{
    uint64_t mask[128];
    size_t words = mcamp__blob_words(m);
    for (size_t i = 0; i < words; i++) {
        if (i % 128 == 0) mcamp__word_group(vs, hide, 0, i / 128, mask);
        if (to) mcamp__put64(to + 8 * i, mcamp__state_word(m, i) ^ mask[i % 128]);
        else if (into)
            mcamp__set_state_word(into, i, mcamp__get64(from + 8 * i) ^ mask[i % 128]);
    }
    mcamp_wipe(mask, sizeof mask);
}

/* All of the blob to p; it has room. */
MCAMP__PRIV void mcamp__blob_write(mcamp_vecset vs, const mcamp_noise *m, unsigned char *p)
{
    uint64_t head[MCAMP__BLOB_HEAD];
    uint32_t hide[8], seal[8];
    size_t size = mcamp__blob_bytes(m) - 8 * MCAMP__SEAL;
    mcamp__blob_header(m, m->step, head);
    mcamp__blob_keys(m, head, hide, seal);
    for (int i = 0; i < MCAMP__BLOB_HEAD; i++) mcamp__put64(p + 8 * i, head[i]);
    mcamp__blob_body(vs, NULL, m, hide, p + 8 * MCAMP__BLOB_HEAD, NULL);
    mcamp__blob_seal(seal, p, size, p + size);
    mcamp_wipe(hide, sizeof hide);
    mcamp_wipe(seal, sizeof seal);
}

/* Whether there is room for `more` bytes and a blob, whose sum goes to *size. */
MCAMP__PRIV mcamp_status mcamp__blob_room(mcamp_ctx *ctx, const mcamp_noise *m, size_t more,
                                          const void *out, size_t capacity, size_t *size)
{
    size_t bytes = mcamp__blob_bytes(m);
    if (!size) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "size", 0);
    if (m->done) return mcamp__fail(ctx, MCAMP_E_STEP, "noise", (double)m->step);
    if (!bytes || (out && capacity < bytes + more))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "capacity", (double)capacity);
    *size = bytes + more;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_noise_save(mcamp_ctx *ctx, const mcamp_noise *noise,
                                        void *out, size_t capacity, size_t *size)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__noise_free_args(ctx, noise);
    if (st == MCAMP_OK) st = mcamp__blob_room(ctx, noise, 0, out, capacity, size);
    if (st == MCAMP_OK && out) mcamp__blob_write(ctx->vec, noise, (unsigned char *)out);
    return st;
}

/* The header must be ours, but for the step.  *step from it. */
MCAMP__PRIV mcamp_status mcamp__blob_check_head(mcamp_ctx *ctx, const mcamp_noise *m,
                                                const unsigned char *p, size_t size,
                                                uint64_t head[MCAMP__BLOB_HEAD])
{
    uint64_t got[MCAMP__BLOB_HEAD], sum = 0;
    if (size < 8 * (MCAMP__BLOB_HEAD + MCAMP__SEAL))
        return mcamp__fail(ctx, MCAMP_E_BLOB, "size", (double)size);
    for (int i = 0; i < MCAMP__BLOB_HEAD; i++) got[i] = mcamp__get64(p + 8 * i);
    mcamp__blob_header(m, got[18], head);
    if (got[0] != head[0] || got[1] != head[1])
        return mcamp__fail(ctx, MCAMP_E_BLOB, "version", (double)got[1]);
    for (int i = 0; i < MCAMP__BLOB_HEAD - 1; i++) sum = mcamp__hash_word(sum, got[i]);
    if (sum != got[19]) return mcamp__fail(ctx, MCAMP_E_BLOB, "blob", 0);
    for (int i = 3; i < MCAMP__BLOB_HEAD; i++) {
        if (got[i] != head[i])
            return mcamp__fail(ctx, MCAMP_E_MISMATCH, mcamp__blob_field[i], 0);
    }
    if (got[2] != head[2] || size != head[2] || head[18] > m->mech->n)
        return mcamp__fail(ctx, MCAMP_E_BLOB, "size", (double)size);
    return MCAMP_OK;
}

/* Nothing is decrypted before the seal has been found whole. */
MCAMP__PRIV mcamp_status mcamp__blob_read(mcamp_ctx *ctx, mcamp_noise *m,
                                          const unsigned char *p, size_t size)
{
    uint64_t head[MCAMP__BLOB_HEAD];
    uint32_t hide[8], key[8];
    unsigned char seal[8 * MCAMP__SEAL];
    int whole;
    mcamp_status st = mcamp__blob_check_head(ctx, m, p, size, head);
    if (st < 0) return st;
    mcamp__blob_keys(m, head, hide, key);
    mcamp__blob_seal(key, p, size - sizeof seal, seal);
    whole = mcamp__same_bytes(seal, p + size - sizeof seal, sizeof seal);
    if (!whole) st = mcamp__fail(ctx, MCAMP_E_BLOB, "blob", 0);
    else if (head[18] < m->step || (head[18] == m->step && m->done))
        st = mcamp__fail(ctx, MCAMP_E_STEP, "step", (double)head[18]);
    if (st == MCAMP_OK) {
        mcamp__blob_body(ctx->vec, m, m, hide, NULL, p + 8 * MCAMP__BLOB_HEAD);
        m->step = head[18];
        m->done = 0;
    }
    mcamp_wipe(hide, sizeof hide);
    mcamp_wipe(key, sizeof key);
    mcamp_wipe(seal, sizeof seal);
    return st;
}

MCAMP_API mcamp_status mcamp_noise_load(mcamp_ctx *ctx, mcamp_noise *noise,
                                        const void *blob, size_t size)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__noise_free_args(ctx, noise);
    if (st < 0) return st;
    if (!blob) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "blob", 0);
    return mcamp__blob_read(ctx, noise, (const unsigned char *)blob, size);
}

#undef MCAMP__BLOB_HEAD
#undef MCAMP__BLOB_VERSION
#undef MCAMP__SEAL
#undef MCAMP__NOISE_MAGIC
#undef MCAMP__TILE
#undef MCAMP__TASK
#undef MCAMP__PLAN_PLAIN
#undef MCAMP__PLAN_BANDED
#undef MCAMP__PLAN_REPLAY
#undef MCAMP__PLAN_BLT
#undef MCAMP__PLAN_AGAIN
#undef MCAMP__POISON

/* ======================================================================== *
 *  BATCHES                                                           >>batch
 *  In: a law, its numbers, a key.  Out: the examples of any round; odds that a
 *  limit cuts a batch.  Memory: at most 4 bytes an example and 4 a batch, at init.
 *  Integers only: the same batches on every machine.  Maths: [1] section 3, [2]
 *  Algorithms 2 and 6.  Guarantee: probabilities are exact to 2^-32 of themselves,
 *  an inclusion probability is never above q.
 * ======================================================================== */

#define MCAMP__BATCH_MAGIC 0x6d636261u
#define MCAMP__LIST_MAX UINT64_C(0xfffffffe)

/* The high word of a product. */
MCAMP__PRIV uint64_t mcamp__mulhi(uint64_t a, uint64_t b)
{
    uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
    uint64_t mid = ah * bl + ((al * bl) >> 32);     /* below 2^64 - 2^32 */
    uint64_t low = al * bh + (mid & 0xffffffffu);
    return ah * bh + (mid >> 32) + (low >> 32);
}

/* Words of one (key, step), for indices that mostly rise. */
typedef struct mcamp__words {
    const uint32_t *key;
    uint64_t step, group;
    mcamp_vecset vs;
    uint64_t word[128];
} mcamp__words;

MCAMP__PRIV void mcamp__words_open(mcamp__words *w, mcamp_vecset vs, const uint32_t *key,
                                   uint64_t step)
{
    w->key = key;
    w->step = step;
    w->group = UINT64_MAX;
    w->vs = vs;
}

MCAMP__PRIV uint64_t mcamp__word_at(mcamp__words *w, uint64_t i)
{
    if (i / 128 != w->group) {
        w->group = i / 128;
        mcamp__word_group(w->vs, w->key, w->step, w->group, w->word);
    }
    return w->word[i % 128];
}

/* A number below n from word i, each alike: words whose low product falls in the
 * part that would favour some numbers (odds n 2^-64) are replaced by the word of the
 * same index at the next attempt, a step of its own (top bit set).            */
MCAMP__PRIV uint64_t mcamp__below(mcamp__words *w, uint64_t i, uint64_t n)
{
    uint64_t x = mcamp__word_at(w, i);
    if (x * n < n) {            /* only then may it be below 2^64 mod n < n */
        for (uint64_t attempt = 1; x * n < (UINT64_C(0) - n) % n; attempt++)
            x = mcamp__one_word(w->key, w->step ^ attempt << 56, i);
    }
    return mcamp__mulhi(x, n);
}

/* ---- members of a round ---------------------------------------------------- */

/* A batch being written: reservoir sampling (Vitter's algorithm R) keeps a uniform
 * choice of `limit`.                                                          */
typedef struct mcamp__taking {
    size_t *out;
    size_t capacity;
    uint64_t limit, drawn;
    mcamp__words cut;
} mcamp__taking;

MCAMP__PRIV void mcamp__take(mcamp__taking *k, uint64_t example)
{
    uint64_t at = k->drawn++;
    if (k->limit && at >= k->limit) at = mcamp__below(&k->cut, at, at + 1);
    if (k->limit && at >= k->limit) return;
    if (at < k->capacity) k->out[at] = (size_t)example;
}

MCAMP__PRIV uint64_t mcamp__group_size(const mcamp_batch *b, uint64_t group)
{
    return b->examples / b->batches + (group < b->examples % b->batches);
}

MCAMP__PRIV uint64_t mcamp__bin_of(mcamp__words *w, const mcamp_batch *b, uint64_t e)
{
    return mcamp__below(w, e, b->batches);
}

/* Bits below the threshold: probability q. */
MCAMP__PRIV int mcamp__coin(const mcamp_batch *b, uint64_t word)
{
    return b->q >= 1 || word < b->threshold;
}

MCAMP__PRIV void mcamp__take_poisson(const mcamp_batch *b, mcamp__words *w,
                                     uint64_t group, mcamp__taking *k)
{
    uint64_t n = mcamp__group_size(b, group);
    for (uint64_t i = 0; i < n; i++)
        if (mcamp__coin(b, mcamp__word_at(w, i))) mcamp__take(k, i * b->batches + group);
}

/* Selection sampling: the i-th of n with probability (wanted still)/(left). */
MCAMP__PRIV void mcamp__take_fixed(const mcamp_batch *b, mcamp__words *w, uint64_t group,
                                   mcamp__taking *k)
{
    uint64_t n = mcamp__group_size(b, group), want = b->size;
    for (uint64_t i = 0; i < n && want; i++) {
        if (mcamp__mulhi(mcamp__word_at(w, i), n - i) >= want) continue;
        mcamp__take(k, i * b->batches + group);
        want--;
    }
}

/* list[e] = last round of e + 1, for the rounds before `next`. */
MCAMP__PRIV void mcamp__minsep_step(mcamp_batch *b, mcamp__words *w)
{
    for (uint64_t e = 0; e < b->examples; e++) {
        uint64_t last = b->list[e];
        if (last && b->next - (last - 1) < b->batches) continue;
        if (mcamp__coin(b, mcamp__word_at(w, e))) b->list[e] = (uint32_t)(b->next + 1);
    }
    b->next++;
}

MCAMP__PRIV void mcamp__take_minsep(mcamp_ctx *ctx, mcamp_batch *b, uint64_t round,
                                    mcamp__words *w, mcamp__taking *k)
{
    if (b->next > round + 1) {          /* back: from the start */
        memset(b->list, 0, b->list_count * sizeof *b->list);
        b->next = 0;
    }
    while (b->next <= round) {
        mcamp__words_open(w, ctx->vec, b->keys, b->next);
        mcamp__minsep_step(b, w);
    }
    for (uint64_t e = 0; e < b->examples; e++)
        if (b->list[e] == round + 1) mcamp__take(k, e);
}

MCAMP__APART void mcamp__take_round(mcamp_ctx *ctx, mcamp_batch *b, uint64_t round,
                                   mcamp__taking *k)
{
    mcamp__words w;
    uint64_t group = round % b->batches;
    int once = b->law == MCAMP_BATCH_BINS || b->law == MCAMP_BATCH_SHUFFLE;
    mcamp__words_open(&w, ctx->vec, b->keys, once ? 0 : round);
    if (b->law == MCAMP_BATCH_POISSON) mcamp__take_poisson(b, &w, group, k);
    else if (b->law == MCAMP_BATCH_FIXED) mcamp__take_fixed(b, &w, group, k);
    else if (b->law == MCAMP_BATCH_MINSEP) mcamp__take_minsep(ctx, b, round, &w, k);
    else if (b->start)
        for (uint32_t i = b->start[group]; i < b->start[group + 1]; i++)
            mcamp__take(k, b->list[i]);
    else
        for (uint64_t e = 0; e < b->examples; e++)
            if (mcamp__bin_of(&w, b, e) == group) mcamp__take(k, e);
}

MCAMP__PRIV mcamp_status mcamp__batch_args(mcamp_ctx *ctx, const mcamp_batch *b)
{
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!b || b->magic != MCAMP__BATCH_MAGIC)
        return mcamp__fail(ctx, MCAMP_E_ARG, "batch", 0);
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_batch_round(mcamp_ctx *ctx, mcamp_batch *batch,
                                         uint64_t round, size_t *out, size_t capacity,
                                         mcamp_batch_size *size)
{
    MCAMP__GUARD;
    mcamp__taking k;
    uint64_t kept;
    mcamp_status st = mcamp__batch_args(ctx, batch);
    if (st < 0) return st;
    if (round >= batch->rounds)
        return mcamp__fail(ctx, MCAMP_E_STEP, "round", (double)round);
    if (!out && capacity) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    if (!size) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "size", 0);
    k.out = out;
    k.capacity = capacity;
    k.limit = batch->limit;
    k.drawn = 0;
    mcamp__words_open(&k.cut, ctx->vec, batch->keys + 8, round);
    mcamp__take_round(ctx, batch, round, &k);
    mcamp__wipe_frames();
    kept = k.limit && k.drawn > k.limit ? k.limit : k.drawn;
    mcamp_wipe(&k.cut, sizeof k.cut);
    if (kept > capacity) return mcamp__fail(ctx, MCAMP_E_SIZE, "capacity", (double)kept);
    size->drawn = (size_t)k.drawn;
    size->kept = (size_t)kept;
    return MCAMP_OK;
}

MCAMP_API uint64_t mcamp_batch_largest(const mcamp_batch *batch)
{
    MCAMP__GUARD;
    uint64_t most;
    if (!batch || batch->magic != MCAMP__BATCH_MAGIC) return 0;
    most = batch->law == MCAMP_BATCH_FIXED ? batch->size
         : batch->law == MCAMP_BATCH_POISSON ? mcamp__group_size(batch, 0)
         : batch->examples;
    if (batch->start) {
        most = 0;
        for (uint64_t i = 0; i < batch->batches; i++) {
            uint64_t n = batch->start[i + 1] - batch->start[i];
            if (n > most) most = n;
        }
    }
    return batch->limit && batch->limit < most ? batch->limit : most;
}

/* ---- the odds of a cut ------------------------------------------------------- */

/* log P(Bin(m, p) >= a) from above, for a > m p.  The terms fall by at least the
 * factor r = (m - a) p / ((a + 1)(1 - p)) < 1 each, so that the tail is at most
 * pmf(a) / (1 - r); and by Stirling's bounds on the factorials (Robbins 1955)
 *     pmf(a) <= sqrt(m / (2 pi a (m - a))) e^(-m KL(a/m, p))     for 0 < a < m.
 * The last line covers the rounding of m KL, whose terms are of size m.         */
MCAMP__PRIV double mcamp__log_tail(double m, double p, double a)
{
    double l;
    if (a > m) return -mcamp__inf();
    if (!(a > m * p) || !(p < 1)) return 0;
    if (a < m) {
        l = -a * log(a / (m * p)) - (m - a) * log((m - a) / (m * (1 - p)));
        l += 0.5 * log(m / (2 * MCAMP__PI * a * (m - a)));
        l -= log1p(-(m - a) * p / ((a + 1) * (1 - p)));
    } else {
        l = m * log(p);
    }
    l += 64 * DBL_EPSILON * m * (1 - log(p)) + 1e-12;
    return mcamp__dmin(l, 0);
}

MCAMP_API mcamp_status mcamp_batch_cut_probability(mcamp_ctx *ctx,
                                                   const mcamp_batch *batch, double *p)
{
    MCAMP__GUARD;
    const mcamp_batch *b = batch;
    double l, m, times;
    uint64_t group;
    mcamp_status st = mcamp__batch_args(ctx, b);
    if (st < 0) return st;
    if (!p) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "p", 0);
    m = (double)b->examples + 1;        /* the larger neighbour */
    group = b->examples / b->batches + 1;
    times = (double)b->rounds;
    if (!b->limit || b->limit > b->examples) { *p = 0; return MCAMP_OK; }
    switch (b->law) {
    case MCAMP_BATCH_BINS:              /* a bin is the same in every epoch */
        l = mcamp__log_tail(m, 1 / (double)b->batches, (double)b->limit + 1);
        times = mcamp__dmin(times, (double)b->batches);
        break;
    case MCAMP_BATCH_POISSON:
        l = mcamp__log_tail((double)group, b->q, (double)b->limit + 1);
        break;
    case MCAMP_BATCH_MINSEP:            /* below a Poisson batch of all */
        l = mcamp__log_tail(m, b->q, (double)b->limit + 1);
        break;
    default:                            /* the size is known */
        l = (b->law == MCAMP_BATCH_FIXED ? b->size : group) <= b->limit ? -mcamp__inf() : 0;
        break;
    }
    *p = l < 0 ? mcamp__dmin(times * exp(l) * (1 + 1e-12), 1) : 1;
    if (l < 0 && l >= -DBL_MAX) *p = mcamp__dmax(*p, DBL_MIN);
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_batch_cut_delta(mcamp_ctx *ctx, const mcamp_batch *batch,
                                             double eps, double *delta)
{
    MCAMP__GUARD;
    double p = 0;
    mcamp_status st = mcamp__batch_args(ctx, batch);
    if (st == MCAMP_OK) st = mcamp__check_eps(ctx, "eps", eps);
    if (st < 0) return st;
    if (!delta) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "delta", 0);
    st = mcamp_batch_cut_probability(ctx, batch, &p);
    if (st < 0) return st;
    *delta = p > 0 ? mcamp__dmin((1 + exp(eps)) * p * (1 + 1e-12), 1) : 0;
    return MCAMP_OK;
}

/* ---- making it ------------------------------------------------------------------ */

/* Bins: count, add up, place; the words are made twice so that nothing else is kept. */
MCAMP__PRIV void mcamp__fill_bins(mcamp_ctx *ctx, mcamp_batch *b)
{
    mcamp__words w;
    mcamp__words_open(&w, ctx->vec, b->keys, 0);
    for (uint64_t e = 0; e < b->examples; e++) b->start[mcamp__bin_of(&w, b, e)]++;
    for (uint64_t i = 0, sum = 0; i <= b->batches; i++) {
        sum += b->start[i];
        b->start[i] = (uint32_t)sum;    /* the end of bin i, for now */
    }
    for (uint64_t e = b->examples; e-- > 0; )
        b->list[--b->start[mcamp__bin_of(&w, b, e)]] = (uint32_t)e;
    mcamp_wipe(&w, sizeof w);
}

/* Fisher and Yates; batch i is the i-th of b parts of equal size, to one. */
MCAMP__PRIV void mcamp__fill_shuffle(mcamp_ctx *ctx, mcamp_batch *b)
{
    mcamp__words w;
    uint64_t m = b->examples;
    mcamp__words_open(&w, ctx->vec, b->keys, 0);
    for (uint64_t e = 0; e < m; e++) b->list[e] = (uint32_t)e;
    for (uint64_t e = m - 1; e > 0; e--) {
        uint64_t j = mcamp__below(&w, e, e + 1);
        uint32_t x = b->list[e];
        b->list[e] = b->list[j];
        b->list[j] = x;
    }
    for (uint64_t i = 0; i <= b->batches; i++)
        b->start[i] = (uint32_t)(m / b->batches * i +
                                 (i < m % b->batches ? i : m % b->batches));
    mcamp_wipe(&w, sizeof w);
}

MCAMP__PRIV mcamp_status mcamp__batch_check(mcamp_ctx *ctx, const mcamp_batch_desc *d)
{
    int coins = d->law == MCAMP_BATCH_POISSON || d->law == MCAMP_BATCH_MINSEP;
    if (d->start_canary || d->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
    if (d->law == MCAMP_BATCH_UNSET)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "law", 0);
    if ((int)d->law < 0 || (int)d->law > MCAMP_BATCH_SHUFFLE)
        return mcamp__fail(ctx, MCAMP_E_ARG, "law", (double)(int)d->law);
    if (!d->examples || d->examples > MCAMP__MAX_INDEX || d->examples > SIZE_MAX)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "examples",
                           (double)d->examples);
    if (!d->rounds || d->rounds > MCAMP__MAX_ROUNDS)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "rounds", (double)d->rounds);
    if (!d->batches || d->batches > MCAMP__MAX_ROUNDS)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "batches",
                           (double)d->batches);
    if (coins && !(d->q < 0) && !(d->q > 0) && mcamp__finite(d->q))
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "q", d->q);
    if (coins) return mcamp__check(ctx, "q", d->q, 0, 0, 1, 1);
    return mcamp__eq(d->q, 0) ? MCAMP_OK
                              : mcamp__fail(ctx, MCAMP_E_ARG, "q", d->q);
}

/* What depends on the law: `size`, `scan`, and how many examples lists can hold. */
MCAMP__PRIV mcamp_status mcamp__batch_check_law(mcamp_ctx *ctx, const mcamp_batch_desc *d)
{
    int list = (d->law == MCAMP_BATCH_BINS && !d->scan) || d->law == MCAMP_BATCH_SHUFFLE ||
               d->law == MCAMP_BATCH_MINSEP;
    if (d->scan && d->law != MCAMP_BATCH_BINS)
        return mcamp__fail(ctx, MCAMP_E_ARG, "scan", 1);
    if (d->law == MCAMP_BATCH_FIXED) {
        if (!d->size) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "size", 0);
        if (d->size > d->examples / d->batches)
            return mcamp__fail(ctx, MCAMP_E_ARG, "size", (double)d->size);
    } else if (d->size) {
        return mcamp__fail(ctx, MCAMP_E_ARG, "size", (double)d->size);
    }
    if (list && d->examples > MCAMP__LIST_MAX)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "examples",
                           (double)d->examples);
    if (d->law == MCAMP_BATCH_MINSEP && d->rounds > MCAMP__LIST_MAX)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "rounds", (double)d->rounds);
    if (list && d->law != MCAMP_BATCH_MINSEP && d->batches > MCAMP__LIST_MAX)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "batches",
                           (double)d->batches);
    return MCAMP_OK;
}

MCAMP__APART mcamp_status mcamp__batch_lists(mcamp_ctx *ctx, mcamp_batch *b)
{
    b->list_count = (size_t)b->examples;
    b->start_count = b->law == MCAMP_BATCH_MINSEP ? 0 : (size_t)b->batches + 1;
    b->list = (uint32_t *)mcamp__new(ctx, b->list_count, sizeof *b->list);
    if (b->start_count)
        b->start = (uint32_t *)mcamp__new(ctx, b->start_count, sizeof *b->start);
    if (!b->list || (b->start_count && !b->start)) {
        mcamp__delete(ctx, b->list, b->list_count, sizeof *b->list);
        mcamp__delete(ctx, b->start, b->start_count, sizeof *b->start);
        return mcamp__fail(ctx, MCAMP_E_MEMORY, "examples",
                           (double)b->examples);
    }
    return MCAMP_OK;
}

/* The lists, from the keys. */
MCAMP__PRIV void mcamp__batch_fill(mcamp_ctx *ctx, mcamp_batch *b)
{
    if (b->start) memset(b->start, 0, b->start_count * sizeof *b->start);
    if (b->list) memset(b->list, 0, b->list_count * sizeof *b->list);
    b->next = 0;
    if (b->start && b->law == MCAMP_BATCH_BINS) mcamp__fill_bins(ctx, b);
    if (b->start && b->law == MCAMP_BATCH_SHUFFLE) mcamp__fill_shuffle(ctx, b);
}

/* A session takes the batches: a bit for each example, then keys of its own. */
MCAMP__PRIV mcamp_status mcamp__batch_due(mcamp_ctx *ctx, mcamp_batch *b)
{
    if (b->due) return MCAMP_OK;
    b->due_count = 2 * ((size_t)(b->examples / 32) + 1);
    b->due = (uint32_t *)mcamp__new(ctx, b->due_count, sizeof *b->due);
    return b->due ? MCAMP_OK
                  : mcamp__fail(ctx, MCAMP_E_MEMORY, "examples", (double)b->examples);
}

MCAMP__PRIV void mcamp__batch_keys(mcamp_ctx *ctx, mcamp_batch *b, const uint64_t *word,
                                   size_t count)
{
    mcamp__bound_key(b->keys + 16, MCAMP__KEY_BATCH, word, count, b->keys);
    mcamp__bound_key(b->keys + 16, MCAMP__KEY_CUT, word, count, b->keys + 8);
    mcamp__batch_fill(ctx, b);
}

MCAMP_API mcamp_status mcamp_batch_init(mcamp_ctx *ctx, const mcamp_batch_desc *desc,
                                        mcamp_batch *batch)
{
    MCAMP__GUARD;
    mcamp_batch b;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!desc) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "desc", 0);
    if (!batch) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "batch", 0);
    st = mcamp__batch_check(ctx, desc);
    if (st == MCAMP_OK) st = mcamp__batch_check_law(ctx, desc);
    if (st < 0) return st;
    if (!mcamp__key_ok(&desc->key))
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "key", 0);
    memset(&b, 0, sizeof b);
    b.law = desc->law;
    b.examples = desc->examples; b.rounds = desc->rounds; b.batches = desc->batches;
    b.size = desc->size; b.limit = desc->limit;
    b.q = desc->q;
    b.threshold = b.q < 1 ? (uint64_t)ldexp(b.q, 64) : UINT64_MAX;
    mcamp__subkey(&desc->key, MCAMP__KEY_BATCH, b.keys);
    mcamp__subkey(&desc->key, MCAMP__KEY_CUT, b.keys + 8);
    mcamp__subkey(&desc->key, MCAMP__KEY_ROOT, b.keys + 16);
    b.key_id = mcamp_key_id(&desc->key);
    if (!desc->scan && b.law != MCAMP_BATCH_POISSON && b.law != MCAMP_BATCH_FIXED)
        st = mcamp__batch_lists(ctx, &b);
    if (st == MCAMP_OK) {
        mcamp__batch_fill(ctx, &b);
        b.magic = MCAMP__BATCH_MAGIC;
        *batch = b;
    }
    mcamp__wipe_frames();
    mcamp_wipe(&b, sizeof b);
    return st;
}

MCAMP_API void mcamp_batch_free(mcamp_ctx *ctx, mcamp_batch *batch)
{
    if (!mcamp__ctx_ok(ctx) || !batch || batch->magic != MCAMP__BATCH_MAGIC) return;
    if (batch->list) mcamp_wipe(batch->list, batch->list_count * sizeof *batch->list);
    if (batch->start) mcamp_wipe(batch->start, batch->start_count * sizeof *batch->start);
    if (batch->due) mcamp_wipe(batch->due, batch->due_count * sizeof *batch->due);
    mcamp__delete(ctx, batch->list, batch->list_count, sizeof *batch->list);
    mcamp__delete(ctx, batch->start, batch->start_count, sizeof *batch->start);
    mcamp__delete(ctx, batch->due, batch->due_count, sizeof *batch->due);
    mcamp_wipe(batch, sizeof *batch);
}

#undef MCAMP__BATCH_MAGIC
#undef MCAMP__LIST_MAX

/* ======================================================================== *
 *  CLIPPING                                                           >>clip
 *  In: gradients of single examples, in pieces.  Out: the sum of their clipped
 *  values, in doubles or on a lattice.  No memory.  Guarantee: one example moves
 *  the sum by at most the clipping norm, all rounding errors included.
 * ======================================================================== */

#define MCAMP__CLIP_MAGIC 0x6d63636cu
#define MCAMP__CLIP_BLOCK 512

MCAMP__PRIV mcamp_status mcamp__pieces_check(mcamp_ctx *ctx, const mcamp_tensor *pieces,
                                             size_t count, size_t *dim)
{
    size_t all = 0;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!pieces || !count) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "pieces", 0);
    for (size_t i = 0; i < count; i++) {
        const mcamp_tensor *p = pieces + i;
        if (p->n && !p->f == !p->d)
            return mcamp__fail(ctx, MCAMP_E_REQUIRED, "f", (double)i);
        if (!mcamp__add_size(all, p->n, &all))
            return mcamp__fail(ctx, MCAMP_E_SIZE, "n", (double)p->n);
    }
    *dim = all;
    return MCAMP_OK;
}

/* The largest magnitude of a piece: as integers, the bits of magnitudes are in the same
 * order, and infinities and NaNs are above all numbers.  Several chains at a time.  */
MCAMP__PRIV double mcamp__top_float(const float *x, size_t n)
{
    int32_t u[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, top[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    size_t i = 0;
    float f;
    for (;; i += 8) {
        if (i + 8 <= n) memcpy(u, x + i, sizeof u);
        else            memcpy(u, x + i, (n - i) * sizeof *u);
        for (int j = 0; j < 8; j++) {
            u[j] &= 0x7fffffff;
            top[j] = u[j] > top[j] ? u[j] : top[j];
        }
        if (n - i <= 8) break;
    }
    for (int j = 1; j < 8; j++) top[0] = top[j] > top[0] ? top[j] : top[0];
    memcpy(&f, top, sizeof f);
    return (double)f;
}

MCAMP__PRIV double mcamp__top_double(const double *x, size_t n)
{
    int64_t u[4] = { 0, 0, 0, 0 }, top[4] = { 0, 0, 0, 0 };
    size_t i = 0;
    double f;
    for (;; i += 4) {
        if (i + 4 <= n) memcpy(u, x + i, sizeof u);
        else            memcpy(u, x + i, (n - i) * sizeof *u);
        for (int j = 0; j < 4; j++) {
            u[j] &= INT64_C(0x7fffffffffffffff);
            top[j] = u[j] > top[j] ? u[j] : top[j];
        }
        if (n - i <= 4) break;
    }
    for (int j = 1; j < 4; j++) top[0] = top[j] > top[0] ? top[j] : top[0];
    memcpy(&f, top, sizeof f);
    return f;
}

/* The largest magnitude; infinite if an entry is not finite. */
MCAMP__PRIV double mcamp__pieces_max(const mcamp_tensor *pieces, size_t count)
{
    double top = 0;
    for (size_t k = 0; k < count; k++) {
        const mcamp_tensor *p = pieces + k;
        double t = !p->n ? 0 : p->f ? mcamp__top_float(p->f, p->n)
                                    : mcamp__top_double(p->d, p->n);
        if (!mcamp__finite(t)) return mcamp__inf();
        top = mcamp__dmax(top, t);
    }
    return top;
}

/* Sum of the squares of unit x[0 .. n-1], n <= 512, in eight chains: a square is touched
 * by at most 64 additions in its chain and 7 between chains.                    */
MCAMP__PRIV double mcamp__squares_float(const float *x, double unit, size_t n)
{
    double s[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int j = 0; j < 8; j++) {
            double v = (double)x[i + (size_t)j] * unit;
            s[j] += v * v;
        }
    }
    for (; i < n; i++) s[i % 8] += ((double)x[i] * unit) * ((double)x[i] * unit);
    for (int j = 1; j < 8; j++) s[0] += s[j];
    return s[0];
}

MCAMP__PRIV double mcamp__squares_double(const double *x, double unit, size_t n)
{
    double s[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int j = 0; j < 8; j++) {
            double v = x[i + (size_t)j] * unit;
            s[j] += v * v;
        }
    }
    for (; i < n; i++) s[i % 8] += (x[i] * unit) * (x[i] * unit);
    for (int j = 1; j < 8; j++) s[0] += s[j];
    return s[0];
}

/* The norm from above, top = the largest magnitude.  Entries are divided by a power
 * of two next to top, so that squares neither overflow nor matter when they vanish.
 * A square is touched by at most 80 roundings in its block and one for each block;
 * twice that many u, and the rounding of the root, are added.                  */
MCAMP__PRIV double mcamp__pieces_norm(const mcamp_tensor *pieces, size_t count, double top)
{
    double sum = 0, blocks = 0, unit;
    int e;
    if (!(top > 0)) return 0;
    frexp(top, &e);
    unit = ldexp(1.0, -e > 1022 ? 1022 : -e);
    for (size_t k = 0; k < count; k++) {
        const mcamp_tensor *p = pieces + k;
        for (size_t at = 0; at < p->n; at += MCAMP__CLIP_BLOCK) {
            size_t len = mcamp__zmin(MCAMP__CLIP_BLOCK, p->n - at);
            sum += p->f ? mcamp__squares_float(p->f + at, unit, len)
                        : mcamp__squares_double(p->d + at, unit, len);
            blocks++;
        }
    }
    sum = sqrt(sum) * (1 + (90 + blocks) * DBL_EPSILON) / unit;
    return mcamp__dmax(sum, DBL_MIN);       /* denormals would be rounded once more */
}

/* Four u below the quotient: one for the division, one for each product with it.  A
 * denormal quotient is off by more than that, at most twice half of the last place.  */
MCAMP__PRIV double mcamp__clip_factor(double norm, double limit)
{
    double f = norm <= limit ? 1 : limit / norm * (1 - 4 * DBL_EPSILON);
    if (!(f >= DBL_MIN)) f = mcamp__dmax(f - 4 * (DBL_MIN * DBL_EPSILON), 0);
    return f;
}

/* The norm to clip to.  In a sum of doubles each addition errs by at most u times
 * what is there, so after k examples the sum is off by u T (1 + 2 + .. + k)(1 + ku) in
 * norm at most; two runs differ by T + 2 u T m^2 at most, m = max_examples > 1.  */
MCAMP__PRIV double mcamp__clip_target(double norm, double grid, double m)
{
    return grid > 0 ? norm : norm / (1 + m * m * 2 * DBL_EPSILON) * (1 - 2 * DBL_EPSILON);
}

MCAMP_API mcamp_status mcamp_clip_init(mcamp_ctx *ctx, const mcamp_clip_desc *desc,
                                       mcamp_clip *clip)
{
    MCAMP__GUARD;
    const mcamp_clip_desc *d = desc;
    mcamp_status st;
    int e;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!d) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "desc", 0);
    if (!clip) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "clip", 0);
    if (d->start_canary || d->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
    st = mcamp__check_positive(ctx, "norm", d->norm);
    if (st < 0) return st;
    if (!d->dim) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "dim", 0);
    if (!d->max_examples)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "max_examples", 0);
    if (!mcamp__finite(d->grid))
        return mcamp__fail(ctx, MCAMP_E_NONFINITE, "grid", d->grid);
    if (!(d->grid >= 0) || (d->grid > 0 && (!mcamp__eq(frexp(d->grid, &e), 0.5) ||
        !(d->grid >= ldexp(1.0, -900)) ||
        !(d->norm / d->grid * (double)d->max_examples <= 4611686018427387904.0))))
        return mcamp__fail(ctx, MCAMP_E_ARG, "grid", d->grid);
    if (!(d->grid > 0) && d->max_examples > UINT64_C(1) << 22)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "max_examples",
                           (double)d->max_examples);
    memset(clip, 0, sizeof *clip);
    clip->norm = d->norm; clip->grid = d->grid; clip->dim = d->dim;
    clip->max_examples = d->max_examples;
    clip->zero_bad = d->zero_bad;
    clip->target = mcamp__clip_target(d->norm, d->grid, (double)d->max_examples);
    clip->magic = MCAMP__CLIP_MAGIC;
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__clip_args(mcamp_ctx *ctx, const mcamp_clip *clip)
{
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!clip || clip->magic != MCAMP__CLIP_MAGIC)
        return mcamp__fail(ctx, MCAMP_E_ARG, "clip", 0);
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_clip_begin(mcamp_ctx *ctx, mcamp_clip *clip)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__clip_args(ctx, clip);
    if (st == MCAMP_OK) clip->added = 0;
    return st;
}

/* Counts the example and finds its factor: 0 if it is left out. */
MCAMP__PRIV mcamp_status mcamp__clip_enter(mcamp_ctx *ctx, mcamp_clip *c,
                                           const mcamp_tensor *pieces, size_t count,
                                           const void *sum, double *factor)
{
    size_t dim = 0;
    double top, norm;
    mcamp_status st = mcamp__pieces_check(ctx, pieces, count, &dim);
    if (st == MCAMP_OK) st = mcamp__clip_args(ctx, c);
    if (st < 0) return st;
    if (!sum) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "sum", 0);
    if (dim != c->dim) return mcamp__fail(ctx, MCAMP_E_SIZE, "pieces", (double)dim);
    if (c->added >= c->max_examples)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "max_examples", (double)c->added);
    top = mcamp__pieces_max(pieces, count);
    if (!mcamp__finite(top) && !c->zero_bad)
        return mcamp__fail(ctx, MCAMP_E_NONFINITE, "pieces", top);
    c->added++;
    *factor = 0;
    if (!mcamp__finite(top)) {
        c->zeroed++;
        return MCAMP_OK;
    }
    norm = mcamp__pieces_norm(pieces, count, top);
    *factor = mcamp__clip_factor(norm, c->target);
    c->clipped += *factor < 1;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_clip_add(mcamp_ctx *ctx, mcamp_clip *clip,
                                      const mcamp_tensor *pieces, size_t count,
                                      double *sum)
{
    MCAMP__GUARD;
    double f = 0;
    mcamp_status st;
    if (mcamp__ctx_ok(ctx) && clip && clip->grid > 0)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "grid", clip->grid);
    st = mcamp__clip_enter(ctx, clip, pieces, count, sum, &f);
    if (st < 0 || !(f > 0)) return st;
    for (size_t k = 0; k < count; k++) {
        const mcamp_tensor *p = pieces + k;
        for (size_t i = 0; p->f && i < p->n; i++) sum[i] += f * (double)p->f[i];
        for (size_t i = 0; p->d && i < p->n; i++) sum[i] += f * p->d[i];
        sum += p->n;
    }
    return MCAMP_OK;
}

/* Towards zero, as the conversion to an integer does.  The factor in units of the grid is
 * exact: at most 1/grid <= 2^900, and one that is denormal stands for nothing.   */
MCAMP_API mcamp_status mcamp_clip_add_grid(mcamp_ctx *ctx, mcamp_clip *clip,
                                           const mcamp_tensor *pieces, size_t count,
                                           int64_t *sum)
{
    MCAMP__GUARD;
    double f = 0;
    mcamp_status st;
    if (mcamp__ctx_ok(ctx) && clip && !(clip->grid > 0))
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "grid", 0);
    st = mcamp__clip_enter(ctx, clip, pieces, count, sum, &f);
    if (st < 0 || !(f > 0)) return st;
    f /= clip->grid;
    if (!(f >= DBL_MIN)) return st;
    for (size_t k = 0; k < count; k++) {
        const mcamp_tensor *p = pieces + k;
        for (size_t i = 0; p->f && i < p->n; i++) sum[i] += (int64_t)(f * (double)p->f[i]);
        for (size_t i = 0; p->d && i < p->n; i++) sum[i] += (int64_t)(f * p->d[i]);
        sum += p->n;
    }
    return MCAMP_OK;
}

#undef MCAMP__CLIP_MAGIC
#undef MCAMP__CLIP_BLOCK

/* ======================================================================== *
 *  SESSION                                                         >>session
 *  In: a guarantee, and the batches, noise and clipping of a run.  Out: rounds that
 *  can't be run otherwise than the guarantee says; saved runs.  No memory of its own.
 *  Guarantee: the noisy gradients of all rounds together are (eps, delta)-DP for the
 *  adjacency that the report names (FLOATING: up to rounding, which is not covered), if
 *  the gradient of an example depends on nothing but itself and earlier releases, and if
 *  no round is released twice with different sums, which a ledger sees to.  That all who
 *  were drawn, and nobody else, are added once is checked.
 * ======================================================================== */

#define MCAMP__SESSION_MAGIC   0x6d637365u

MCAMP__PRIV mcamp_status mcamp__guarantee_args(mcamp_ctx *ctx, const mcamp_mech *mech,
                                               const mcamp_guarantee *out)
{
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!mech) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "mech", 0);
    if (!mcamp__mech_ok(mech)) return mcamp__fail(ctx, MCAMP_E_ARG, "mech", 0);
    if (!out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    return MCAMP_OK;
}

/* One that holds, in both directions, for this C; sigma is set by the caller. */
MCAMP__PRIV void mcamp__guarantee_set(mcamp_guarantee *g, const mcamp_mech *mech,
                                      mcamp_guarantee_kind kind, mcamp_batch_law law,
                                      uint64_t batches)
{
    mcamp__guarantee_start(g, law, mech->n, batches);
    g->kind = kind;
    g->accepted = true;
    g->asked = MCAMP_ASK_EPS;
    g->strategy_digest = mech->digest;
}

MCAMP__PRIV mcamp_status mcamp__guarantee_numbers(mcamp_ctx *ctx, uint64_t batches,
                                                  double sigma, double delta)
{
    mcamp_status st = mcamp__check_positive(ctx, "sigma", sigma);
    if (st == MCAMP_OK) st = mcamp__check_prob(ctx, "delta", delta);
    if (st == MCAMP_OK && (!batches || batches > MCAMP__MAX_ROUNDS || batches > SIZE_MAX))
        st = mcamp__fail(ctx, MCAMP_E_SIZE, "batches", (double)batches);
    return st;
}

MCAMP_API mcamp_status mcamp_guarantee_unamplified(mcamp_ctx *ctx, const mcamp_mech *mech,
                                                   mcamp_batch_law law, uint64_t batches,
                                                   double sigma, double delta,
                                                   mcamp_guarantee *out)
{
    MCAMP__GUARD;
    mcamp_sens s;
    double eps = 0;
    size_t k;
    mcamp_status st = mcamp__guarantee_args(ctx, mech, out);
    if (st == MCAMP_OK) st = mcamp__guarantee_numbers(ctx, batches, sigma, delta);
    if (st < 0) return st;
    if (law == MCAMP_BATCH_UNSET) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "law", 0);
    if ((int)law < 0 || (int)law > MCAMP_BATCH_SHUFFLE)
        return mcamp__fail(ctx, MCAMP_E_ARG, "law", (double)(int)law);
    k = (mech->n - 1) / (size_t)batches + 1;
    st = law == MCAMP_BATCH_BINS || law == MCAMP_BATCH_SHUFFLE
             ? mcamp_sens_fixed(ctx, mech, k, (size_t)batches, &s)
             : mcamp_sens_minsep(ctx, mech, k, (size_t)batches, &s);
    if (st < 0) return st;
    s.value *= 1 + 1e-13;
    st = mcamp_gauss_epsilon(ctx, sigma, s.value, delta, &eps);
    if (st < 0) return st;
    mcamp__guarantee_set(out, mech, MCAMP_KIND_CLOSED, law, batches);
    out->sigma = sigma;
    out->eps = out->upper = eps;
    out->delta = delta;
    out->sensitivity = s.value;
    return MCAMP_OK;
}

/* ---- binding -------------------------------------------------------------- */

/* (eps, delta) in both directions, of one example, proven, and numbers that can be. */
MCAMP__PRIV mcamp_status mcamp__guarantee_holds(mcamp_ctx *ctx, const mcamp_guarantee *g)
{
    mcamp_status st;
    if (!g || g->magic != MCAMP__GUARANTEE_MAGIC)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "guarantee", 0);
    if (!g->accepted || g->interrupted || (int)g->kind < (int)MCAMP_KIND_VERIFIED ||
        (int)g->kind > (int)MCAMP_KIND_CLOSED)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "accepted", (double)(int)g->kind);
    if (g->direction != MCAMP_BOTH)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "direction", 0);
    if (g->unit != 1) return mcamp__fail(ctx, MCAMP_E_MISMATCH, "unit", 0);
    if (g->law == MCAMP_BATCH_UNSET)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "law", 0);
    if (g->kind == MCAMP_KIND_VERIFIED &&
        (g->law != MCAMP_BATCH_BINS || !g->gram_digest))
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "law", 0);
    st = mcamp__check_positive(ctx, "sigma", g->sigma);
    if (st == MCAMP_OK) st = mcamp__check_eps(ctx, "eps", g->eps);
    if (st == MCAMP_OK) st = mcamp__check_prob(ctx, "delta", g->delta);
    if (st == MCAMP_OK && g->kind == MCAMP_KIND_VERIFIED)
        st = mcamp__check_prob(ctx, "beta", g->beta);
    return st;
}

/* delta of a run that a proof with samples lets begin [1, Theorem 2.1]. */
MCAMP__PRIV double mcamp__guarantee_delta(const mcamp_guarantee *g)
{
    return g->remove.samples || g->add.samples ? mcamp__dmax(g->delta, g->beta) : g->delta;
}

/* The first field in which the parts disagree; NULL: none. */
MCAMP__PRIV const char *mcamp__session_differs(const mcamp_guarantee *g,
                                               const mcamp_batch *b, const mcamp_noise *m,
                                               const mcamp_clip *c)
{
    if (b->law != g->law) return "law";
    if (g->adjacency != MCAMP_ADJACENT_ZERO_OUT &&
        (mcamp__law_moves_others(b->law, b->batches) ||
         (b->limit && g->kind == MCAMP_KIND_CLOSED))) return "adjacency";
    if (b->rounds != g->rounds || m->mech->n != g->rounds) return "rounds";
    if (b->batches != g->batches) return "batches";
    if (g->examples && b->examples != g->examples) return "examples";
    if (g->law == MCAMP_BATCH_POISSON && g->kind == MCAMP_KIND_INTERVAL &&
        !(b->q <= g->q && b->q >= g->q)) return "q";
    if (m->digest != g->strategy_digest) return "mech";
    if (g->gram_digest && g->gram_digest != mcamp__gram_digest(m->mech, g->batches))
        return "gram";
    if (!mcamp__eq(m->sigma, g->sigma)) return "sigma";
    if (!mcamp__eq(m->clip_norm, c->norm)) return "clip_norm";
    if (!mcamp__eq(m->grid, c->grid)) return "grid";
    if (m->dim != c->dim) return "dim";
    if (b->key_id != m->key_id) return "key";
    return NULL;
}

MCAMP__PRIV mcamp_status mcamp__session_parts(mcamp_ctx *ctx, const mcamp_session_desc *d)
{
    mcamp_status st;
    if (d->start_canary || d->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
    st = mcamp__guarantee_holds(ctx, d->guarantee);
    if (st == MCAMP_OK) st = mcamp__batch_args(ctx, d->batch);
    if (st == MCAMP_OK) st = mcamp__noise_args(ctx, d->noise);
    if (st == MCAMP_OK) st = mcamp__clip_args(ctx, d->clip);
    if (st < 0) return st;
    if (!d->run) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "run", 0);
    if ((int)d->arithmetic < 0 || (int)d->arithmetic > MCAMP_ARITHMETIC_FLOATING)
        return mcamp__fail(ctx, MCAMP_E_ARG, "arithmetic", (double)(int)d->arithmetic);
    if (d->arithmetic == MCAMP_ARITHMETIC_FLOATING ? !d->sum : !d->grid_sum)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED,
                           d->arithmetic == MCAMP_ARITHMETIC_FLOATING ? "sum" : "grid_sum", 0);
    if (d->arithmetic == MCAMP_ARITHMETIC_FLOATING && d->noise->grid > 0)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "grid", d->noise->grid);
    if (d->noise->done || d->noise->step)
        return mcamp__fail(ctx, MCAMP_E_STEP, "noise", (double)d->noise->step);
    if (mcamp__mech_hash(d->noise->mech) != d->noise->digest)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "mech", 0);
    return MCAMP_OK;
}

/* The grid of a run whose parts have none: about 2^-20 of the noise in one coordinate, so
 * that rounding to it adds 2^-43 to the variance, and so that gradients lose less than
 * 2^-20 of the noise each; or coarser, up to the noise itself, where noise (see
 * mcamp__noise_least_grid) or sums would outgrow the integers.                   */
MCAMP__PRIV mcamp_status mcamp__session_grid(mcamp_ctx *ctx, const mcamp_noise *m,
                                             const mcamp_clip *c, double *grid)
{
    double noise = m->sigma * m->clip_norm, least = 0, g;
    int e;
    mcamp_status st = mcamp__noise_least_grid(ctx, m, &least);
    if (st < 0) return st;
    frexp(noise, &e);
    g = ldexp(0.5, e - 20);
    least = mcamp__dmax(least, ldexp(c->norm * (double)c->max_examples, -61));
    while (g < least && g <= noise) g *= 2;
    if (!(g >= least) || !(g <= noise) || !(g >= ldexp(1.0, -900)))
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "grid", least);
    *grid = g;
    return MCAMP_OK;
}

/* All that a run has agreed on.  Every subkey of its streams depends on each word, and
 * saved states hold them: never change the order, only the version.              */
#define MCAMP__RUN_WORDS 31

static const char *const mcamp__run_field[MCAMP__RUN_WORDS] = {
    "run", "guarantee", "law", "rounds", "batches", "sigma", "eps", "delta", "beta", "mech",
    "gram", "examples", "batches", "q", "size", "limit", "mech", "sigma", "clip_norm", "grid",
    "unit", "batch", "dim", "type", "clip_norm", "max_examples", "zero_bad", "adjacency", "key",
    "rounds", "arithmetic"
};

MCAMP__PRIV void mcamp__run_words(const mcamp_session *s, uint64_t w[MCAMP__RUN_WORDS])
{
    const mcamp_guarantee *g = &s->guarantee;
    const mcamp_batch *b = s->batch;
    const mcamp_noise *m = s->noise;
    const mcamp_clip *c = s->clip;
    w[0] = g->run;
    w[1] = (uint64_t)g->kind;
    w[2] = (uint64_t)g->law;
    w[3] = g->rounds;
    w[4] = g->batches;
    w[5] = mcamp__bits(g->sigma);
    w[6] = mcamp__bits(g->eps);
    w[7] = mcamp__bits(g->delta);
    w[8] = mcamp__bits(g->beta);
    w[9] = g->strategy_digest;
    w[10] = g->gram_digest;
    w[11] = s->examples;
    w[12] = b->batches;
    w[13] = mcamp__bits(b->q);
    w[14] = b->size;
    w[15] = s->limit;
    w[16] = m->digest;
    w[17] = mcamp__bits(m->sigma);
    w[18] = mcamp__bits(m->clip_norm);
    w[19] = mcamp__bits(m->grid + 0.0);
    w[20] = (uint64_t)m->unit;
    w[21] = mcamp__bits(m->batch + 0.0);
    w[22] = m->dim;
    w[23] = (uint64_t)m->type;
    w[24] = mcamp__bits(c->norm);
    w[25] = c->max_examples;
    w[26] = c->zero_bad;
    w[27] = (uint64_t)g->adjacency;
    w[28] = m->key_id;
    w[29] = b->rounds;
    w[30] = (uint64_t)g->arithmetic;
}

/* Nothing fails from here on.  The stream remembers its session, so that two can't run on
 * it in turns, and its keys and those of the batches become those of this run.   */
MCAMP__PRIV void mcamp__session_bind(mcamp_ctx *ctx, const mcamp_session_desc *d,
                                     const mcamp_guarantee *g, double cut,
                                     mcamp_session *s)
{
    uint64_t w[MCAMP__RUN_WORDS];
    memset(s, 0, sizeof *s);
    s->guarantee = *g;
    s->batch = d->batch;
    s->noise = d->noise;
    s->clip = d->clip;
    if (g->grid > 0) s->grid_sum = d->grid_sum;
    else             s->sum = d->sum;
    s->ledger = d->ledger;
    s->examples = d->batch->examples;
    s->limit = d->batch->limit;
    s->cut_delta = cut;
    s->noise->grid = s->clip->grid = g->grid;
    s->clip->target = mcamp__clip_target(s->clip->norm, g->grid, (double)s->clip->max_examples);
    mcamp__run_words(s, w);
    mcamp__noise_keys(s->noise, w, MCAMP__RUN_WORDS);
    mcamp__batch_keys(ctx, s->batch, w, MCAMP__RUN_WORDS);
    s->noise->user = s;
    s->magic = MCAMP__SESSION_MAGIC;
}

/* What the run adds to the guarantee. */
MCAMP__PRIV mcamp_status mcamp__session_promise(mcamp_ctx *ctx, const mcamp_session_desc *d,
                                                mcamp_guarantee *g, double *numerics)
{
    mcamp_noise m;
    mcamp_status st = MCAMP_OK;
    g->run = d->run;
    g->ledger = d->ledger.record != NULL;
    g->arithmetic = d->arithmetic == MCAMP_ARITHMETIC_FLOATING ? d->arithmetic
                                                               : MCAMP_ARITHMETIC_LATTICE;
    g->grid = d->noise->grid;
    if (!(g->grid > 0) && g->arithmetic != MCAMP_ARITHMETIC_FLOATING)
        st = mcamp__session_grid(ctx, d->noise, d->clip, &g->grid);
    m = *d->noise;
    if (st == MCAMP_OK && m.grid < g->grid) st = mcamp__noise_set_grid(ctx, &m, g->grid);
    g->delta_num = mcamp_noise_delta(&m, g->eps);
    if (!(mcamp__guarantee_delta(g) + g->delta_num < 1)) g->delta_num = mcamp__inf();
    *numerics = m.numerics;
    mcamp_wipe(&m, sizeof m);
    return st;
}

/* delta of a run with all that it adds. */
MCAMP__PRIV double mcamp__run_delta(const mcamp_guarantee *g, double cut)
{
    double d = mcamp__guarantee_delta(g) + cut;
    return mcamp__finite(g->delta_num) ? (d + g->delta_num) * (1 + DBL_EPSILON) : d;
}

/* What batches cost that are cut, or refused as the sum has no room for them: both show that
 * somebody more was drawn.  Where neighbours draw the same, no round shows anything.  */
MCAMP__PRIV mcamp_status mcamp__session_cut(mcamp_ctx *ctx, const mcamp_session_desc *d,
                                            const mcamp_guarantee *g, double *cut)
{
    mcamp_batch b = *d->batch;
    mcamp_status st = MCAMP_OK;
    uint64_t room = d->clip->max_examples;
    if (room < b.examples && (!b.limit || b.limit > room)) b.limit = room;
    if (g->kind != MCAMP_KIND_CLOSED || g->adjacency != MCAMP_ADJACENT_ZERO_OUT)
        st = mcamp_batch_cut_delta(ctx, &b, g->eps, cut);
    mcamp_wipe(&b, sizeof b);
    return st;
}

MCAMP_API mcamp_status mcamp_session_init(mcamp_ctx *ctx, const mcamp_session_desc *desc,
                                          mcamp_session *session)
{
    MCAMP__GUARD;
    const char *name;
    mcamp_guarantee g;
    double cut = 0, numerics = 0;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!desc) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "desc", 0);
    if (!session) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "session", 0);
    st = mcamp__session_parts(ctx, desc);
    if (st < 0) return st;
    g = *desc->guarantee;
    if (g.kind == MCAMP_KIND_CLOSED && desc->batch->limit)
        g.adjacency = MCAMP_ADJACENT_ZERO_OUT;      /* where cutting is free */
    name = mcamp__session_differs(&g, desc->batch, desc->noise, desc->clip);
    if (name) return mcamp__fail(ctx, MCAMP_E_MISMATCH, name, 0);
    st = mcamp__session_cut(ctx, desc, &g, &cut);
    if (st == MCAMP_OK) st = mcamp__session_promise(ctx, desc, &g, &numerics);
    if (st == MCAMP_OK) st = mcamp__batch_due(ctx, desc->batch);
    if (st < 0) return st;
    if (!(mcamp__run_delta(&g, cut) < 1))
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, desc->batch->limit ? "limit" : "max_examples",
                           cut);
    mcamp__session_bind(ctx, desc, &g, cut, session);
    desc->noise->numerics = numerics;
    return MCAMP_OK;
}

MCAMP_API const mcamp_guarantee *mcamp_session_guarantee(const mcamp_session *session)
{
    MCAMP__GUARD;
    return session && session->magic == MCAMP__SESSION_MAGIC ? &session->guarantee : NULL;
}

MCAMP_API double mcamp_session_delta(const mcamp_session *session)
{
    MCAMP__GUARD;
    if (!session || session->magic != MCAMP__SESSION_MAGIC) return 1;
    return mcamp__dmin(mcamp__run_delta(&session->guarantee, session->cut_delta), 1);
}

/* ---- rounds ------------------------------------------------------------------ */

/* The parts are looked at again each time: they belong to the caller, who might even put
 * back an older copy of the stream.                                              */
MCAMP__PRIV mcamp_status mcamp__session_args(mcamp_ctx *ctx, const mcamp_session *s)
{
    const char *name;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!s || s->magic != MCAMP__SESSION_MAGIC)
        return mcamp__fail(ctx, MCAMP_E_ARG, "session", 0);
    st = mcamp__batch_args(ctx, s->batch);
    if (st == MCAMP_OK) st = mcamp__noise_args(ctx, s->noise);
    if (st == MCAMP_OK) st = mcamp__clip_args(ctx, s->clip);
    if (st < 0) return st;
    name = mcamp__session_differs(&s->guarantee, s->batch, s->noise, s->clip);
    if (!name && s->batch->examples != s->examples) name = "examples";
    if (!name && s->batch->limit != s->limit) name = "limit";
    if (!name && !mcamp__eq(s->noise->grid, s->guarantee.grid)) name = "grid";
    if (!name && !s->batch->due) name = "batch";
    if (!name && s->noise->user != s) name = "session";
    if (name) return mcamp__fail(ctx, MCAMP_E_MISMATCH, name, 0);
    if (s->noise->done || s->noise->step != s->round + s->noisy)
        return mcamp__fail(ctx, MCAMP_E_STEP, "noise", (double)s->noise->step);
    return MCAMP_OK;
}

/* The same within a round: it still has to get its noise, or has it and the ledger's word
 * is missing.                                                                    */
MCAMP__PRIV mcamp_status mcamp__session_open(mcamp_ctx *ctx, const mcamp_session *s, bool noisy)
{
    mcamp_status st = mcamp__session_args(ctx, s);
    if (st < 0) return st;
    if (!s->open || s->noisy != noisy)
        return mcamp__fail(ctx, MCAMP_E_STEP, "session", (double)s->noise->step);
    return MCAMP_OK;
}

/* Coefficients changed in place: looked for where it costs no more than the sum. */
MCAMP__PRIV int mcamp__session_stale(const mcamp_session *s)
{
    const mcamp_mech *c = s->noise->mech;
    return c->count <= s->clip->dim && c->n <= s->clip->dim &&
           mcamp__mech_hash(c) != s->noise->digest;
}

/* Whose bits are set has been drawn and was not added yet. */
MCAMP__PRIV void mcamp__session_draw(mcamp_session *s, const size_t *member, size_t count)
{
    size_t words = s->batch->due_count / 2;
    memset(s->batch->due, 0, words * sizeof *s->batch->due);
    for (size_t i = 0; i < count; i++)
        s->batch->due[member[i] / 32] |= UINT32_C(1) << member[i] % 32;
    memcpy(s->batch->due + words, s->batch->due, words * sizeof *s->batch->due);
    s->due = count;
}

MCAMP__PRIV mcamp_status mcamp__session_due(mcamp_ctx *ctx, const mcamp_session *s,
                                            uint64_t example)
{
    mcamp_status st = mcamp__session_open(ctx, s, false);
    if (st < 0) return st;
    if (example < s->examples && s->batch->due[example / 32] >> example % 32 & 1) return MCAMP_OK;
    return mcamp__fail(ctx, MCAMP_E_MISMATCH, "example", (double)example);
}

MCAMP__PRIV void mcamp__session_done(mcamp_session *s, uint64_t example)
{
    s->batch->due[example / 32] &= ~(UINT32_C(1) << example % 32);
    s->due--;
}

MCAMP_API mcamp_status mcamp_session_begin(mcamp_ctx *ctx, mcamp_session *session,
                                           uint64_t round, size_t *out, size_t capacity,
                                           mcamp_batch_size *size)
{
    MCAMP__GUARD;
    mcamp_session *s = session;
    mcamp_batch_size drawn = { 0, 0 };
    mcamp_status st = mcamp__session_args(ctx, s);
    if (st < 0) return st;
    if (!size) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "size", 0);
    if (s->noisy || round != s->round || round >= s->guarantee.rounds)
        return mcamp__fail(ctx, MCAMP_E_STEP, "round", (double)round);
    if (mcamp__session_stale(s)) return mcamp__fail(ctx, MCAMP_E_MISMATCH, "mech", 0);
    s->open = false;
    st = mcamp_batch_round(ctx, s->batch, round, out, capacity, &drawn);
    if (st < 0) return st;
    if (drawn.kept > s->clip->max_examples)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "max_examples", (double)drawn.kept);
    for (size_t i = 0; i < s->clip->dim; i++) {
        if (s->sum) s->sum[i] = 0;
        else        s->grid_sum[i] = 0;
    }
    s->clip->added = 0;
    mcamp__session_draw(s, out, drawn.kept);
    for (size_t i = drawn.kept; i < capacity; i++) out[i] = MCAMP_NOBODY;
    s->open = true;
    *size = drawn;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_session_add(mcamp_ctx *ctx, mcamp_session *session,
                                         uint64_t example, const mcamp_tensor *pieces,
                                         size_t count)
{
    MCAMP__GUARD;
    mcamp_session *s = session;
    mcamp_status st = example == MCAMP_NOBODY ? mcamp__session_open(ctx, s, false)
                                              : mcamp__session_due(ctx, s, example);
    if (st < 0 || example == MCAMP_NOBODY) return st;
    st = s->sum ? mcamp_clip_add(ctx, s->clip, pieces, count, s->sum)
                : mcamp_clip_add_grid(ctx, s->clip, pieces, count, s->grid_sum);
    if (st == MCAMP_OK) mcamp__session_done(s, example);
    return st;
}

MCAMP_API mcamp_status mcamp_session_skip(mcamp_ctx *ctx, mcamp_session *session,
                                          uint64_t example)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__session_due(ctx, session, example);
    if (st == MCAMP_OK) mcamp__session_done(session, example);
    return st;
}

/* The sum at the coordinates of the noise, the rest of it being zero. */
MCAMP__PRIV void mcamp__session_crop(mcamp_session *s)
{
    size_t at = (size_t)s->noise->first, end = at + s->noise->count, dim = s->clip->dim;
    size_t one = s->sum ? sizeof *s->sum : sizeof *s->grid_sum;
    unsigned char *p = s->sum ? (unsigned char *)s->sum : (unsigned char *)s->grid_sum;
    memset(p, 0, at * one);
    memset(p + end * one, 0, (dim - end) * one);
}

/* The sum gets its noise, once; from then on it is what will be released. */
MCAMP__PRIV mcamp_status mcamp__session_noise(mcamp_ctx *ctx, mcamp_session *s)
{
    mcamp_noise_out k = { NULL, NULL, NULL, true };
    mcamp_status st = mcamp__session_open(ctx, s, false);
    if (st < 0) return st;
    if (s->due) return mcamp__fail(ctx, MCAMP_E_MISMATCH, "members", (double)s->due);
    if (s->sum) k.d = s->sum + s->noise->first;
    else        k.grid = s->grid_sum + s->noise->first;
    st = mcamp__noise_round(ctx, s->noise, s->round, s->noise->count, &k, 1);
    if (st < 0) return st;
    mcamp__session_crop(s);
    s->noisy = true;
    return MCAMP_OK;
}

/* The digest is keyed, of the whole run and of every bit that would be released. */
MCAMP__PRIV void mcamp__session_entry(const mcamp_session *s, mcamp_ledger_entry *e)
{
    uint64_t w[MCAMP__RUN_WORDS];
    uint32_t key[8];
    unsigned char block[128];
    mcamp__blake h;
    mcamp__run_words(s, w);
    mcamp__bound_key(s->noise->keys + 24, MCAMP__KEY_LEDGER, w, MCAMP__RUN_WORDS, key);
    mcamp__blake_start(&h, key, sizeof e->digest);
    mcamp__blake_word(&h, s->round);
    mcamp__blake_word(&h, s->noise->first);
    for (size_t i = (size_t)s->noise->first, end = i + s->noise->count; i < end; i += 16) {
        size_t len = mcamp__zmin(16, end - i);
        for (size_t k = 0; k < len; k++)
            mcamp__put64(block + 8 * k, s->sum ? mcamp__bits(s->sum[i + k])
                                               : (uint64_t)s->grid_sum[i + k]);
        mcamp__blake_add(&h, block, 8 * len);
    }
    e->run = s->guarantee.run;
    e->round = s->round;
    mcamp__blake_end(&h, e->digest, sizeof e->digest);
    mcamp_wipe(key, sizeof key);
}

/* Where a released round goes: exactly one of the three. */
typedef struct mcamp__released { double *d; float *f; uint16_t *b; } mcamp__released;

/* The i-th number that is released. */
MCAMP__PRIV double mcamp__session_value(const mcamp_session *s, size_t i)
{
    const mcamp_noise *m = s->noise;
    size_t at = (size_t)m->first + i;
    double x = s->sum ? s->sum[at] : (double)s->grid_sum[at] * m->grid;
    return m->unit == MCAMP_NOISE_MEAN ? x / m->batch : x;
}

/* To nearest, halves to even: the upper half of a float's bits.  |x| is below 3.38e38. */
MCAMP__PRIV uint16_t mcamp__to_bf16(double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

MCAMP__PRIV mcamp_status mcamp__session_fits(mcamp_ctx *ctx, const mcamp_session *s,
                                             const mcamp__released *o)
{
    for (size_t i = 0; !o->d && i < s->noise->count; i++) {
        double x = mcamp__session_value(s, i);
        if (!(fabs(x) <= 3.38e38)) return mcamp__fail(ctx, MCAMP_E_NONFINITE, "out", x);
    }
    return MCAMP_OK;
}

/* All that can fail comes first, and in memory of the session's own: out gets nothing
 * but the sum with its noise.                                                  */
MCAMP__PRIV mcamp_status mcamp__session_release(mcamp_ctx *ctx, mcamp_session *s,
                                                const mcamp__released *o)
{
    mcamp_ledger_entry entry;
    mcamp_status st = mcamp__session_args(ctx, s);
    if (st < 0) return st;
    if (!o->d && !o->f && !o->b) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    st = s->noisy ? mcamp__session_open(ctx, s, true) : mcamp__session_noise(ctx, s);
    if (st == MCAMP_OK) st = mcamp__session_fits(ctx, s, o);
    if (st < 0) return st;
    if (s->ledger.record) {
        mcamp__session_entry(s, &entry);
        if (s->ledger.record(s->ledger.user, &entry))
            return mcamp__fail(ctx, MCAMP_E_LEDGER, "ledger", (double)s->round);
    }
    s->open = s->noisy = false;
    s->round++;
    for (size_t i = 0; i < s->noise->count; i++) {
        double x = mcamp__session_value(s, i);
        if (o->d)      o->d[i] = x;
        else if (o->f) o->f[i] = (float)x;
        else           o->b[i] = mcamp__to_bf16(x);
    }
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_session_end(mcamp_ctx *ctx, mcamp_session *session,
                                         double *out)
{
    MCAMP__GUARD;
    mcamp__released o = { out, NULL, NULL };
    return mcamp__session_release(ctx, session, &o);
}

MCAMP_API mcamp_status mcamp_session_end_float(mcamp_ctx *ctx, mcamp_session *session,
                                               float *out)
{
    MCAMP__GUARD;
    mcamp__released o = { NULL, out, NULL };
    return mcamp__session_release(ctx, session, &o);
}

MCAMP_API mcamp_status mcamp_session_end_bf16(mcamp_ctx *ctx, mcamp_session *session,
                                              uint16_t *out)
{
    MCAMP__GUARD;
    mcamp__released o = { NULL, NULL, out };
    return mcamp__session_release(ctx, session, &o);
}

/* ---- rounds in several processes ------------------------------------------------- *
 * A share: its round, the examples that were added as bits, and a seal under a key of
 * the run and this purpose.                                                       */

MCAMP__PRIV size_t mcamp__share_bytes(const mcamp_session *s)
{
    return 8 + 2 * s->batch->due_count + 32;        /* half of them, of 4 bytes each */
}

MCAMP__PRIV void mcamp__share_seal(const mcamp_session *s, const unsigned char *p,
                                   unsigned char seal[32])
{
    uint64_t w[MCAMP__RUN_WORDS];
    uint32_t key[8];
    mcamp__blake h;
    mcamp__run_words(s, w);
    mcamp__bound_key(s->noise->keys + 24, MCAMP__KEY_SHARE, w, MCAMP__RUN_WORDS, key);
    mcamp__blake_start(&h, key, 32);
    mcamp__blake_add(&h, p, mcamp__share_bytes(s) - 32);
    mcamp__blake_end(&h, seal, 32);
    mcamp_wipe(key, sizeof key);
}

/* A round that is open, on the lattice. */
MCAMP__PRIV mcamp_status mcamp__share_args(mcamp_ctx *ctx, const mcamp_session *s)
{
    mcamp_status st = mcamp__session_open(ctx, s, false);
    if (st == MCAMP_OK && !s->grid_sum) return mcamp__fail(ctx, MCAMP_E_MISMATCH, "arithmetic", 0);
    return st;
}

MCAMP_API mcamp_status mcamp_session_share(mcamp_ctx *ctx, const mcamp_session *session,
                                           void *out, size_t capacity, size_t *size)
{
    MCAMP__GUARD;
    const mcamp_session *s = session;
    unsigned char *p = (unsigned char *)out;
    size_t words, bytes;
    mcamp_status st = mcamp__share_args(ctx, s);
    if (st < 0) return st;
    if (!size) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "size", 0);
    words = s->batch->due_count / 2;
    bytes = mcamp__share_bytes(s);
    if (out && capacity < bytes)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "capacity", (double)capacity);
    *size = bytes;
    if (!out) return MCAMP_OK;
    mcamp__put64(p, s->round);
    for (size_t i = 0; i < words; i++) {
        uint32_t added = s->batch->due[words + i] & ~s->batch->due[i];
        for (size_t k = 0; k < 4; k++) p[8 + 4 * i + k] = (unsigned char)(added >> (8 * k));
    }
    mcamp__share_seal(s, p, p + bytes - 32);
    return MCAMP_OK;
}

/* How many the share has added; who of them is not due here ends it. */
MCAMP__PRIV mcamp_status mcamp__share_check(mcamp_ctx *ctx, const mcamp_session *s,
                                            const unsigned char *p, size_t size, uint64_t *count)
{
    unsigned char seal[32];
    size_t bytes = mcamp__share_bytes(s);
    int whole;
    *count = 0;
    if (size != bytes) return mcamp__fail(ctx, MCAMP_E_BLOB, "size", (double)size);
    mcamp__share_seal(s, p, seal);
    whole = mcamp__same_bytes(seal, p + bytes - 32, 32);
    mcamp_wipe(seal, sizeof seal);
    if (!whole) return mcamp__fail(ctx, MCAMP_E_BLOB, "share", 0);
    if (mcamp__get64(p) != s->round)
        return mcamp__fail(ctx, MCAMP_E_STEP, "share", (double)mcamp__get64(p));
    for (size_t i = 0; i < s->batch->due_count / 2; i++) {
        uint32_t added = mcamp__le32(p + 8 + 4 * i);
        if (added & ~s->batch->due[i])
            return mcamp__fail(ctx, MCAMP_E_MISMATCH, "example", 32 * (double)i);
        for (; added; added &= added - 1) ++*count;
    }
    return MCAMP_OK;
}

/* Every example moves a coordinate by at most the norm: sums beyond that are damaged, and
 * could leave the integers.                                                       */
MCAMP_API mcamp_status mcamp_session_merge(mcamp_ctx *ctx, mcamp_session *session,
                                           const int64_t *sum, const void *share,
                                           size_t size)
{
    MCAMP__GUARD;
    mcamp_session *s = session;
    const unsigned char *p = (const unsigned char *)share;
    uint64_t count = 0;
    double most;
    mcamp_status st = mcamp__share_args(ctx, s);
    if (st < 0) return st;
    if (!sum) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "sum", 0);
    if (!share) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "share", 0);
    st = mcamp__share_check(ctx, s, p, size, &count);
    if (st < 0) return st;
    most = (double)count * (s->clip->norm / s->clip->grid);
    for (size_t i = 0; i < s->noise->count; i++) {
        if (!(fabs((double)sum[i]) <= most))
            return mcamp__fail(ctx, MCAMP_E_ARG, "sum", (double)sum[i]);
    }
    for (size_t i = 0; i < s->noise->count; i++) s->grid_sum[s->noise->first + i] += sum[i];
    for (size_t i = 0; i < s->batch->due_count / 2; i++)
        s->batch->due[i] &= ~mcamp__le32(p + 8 + 4 * i);
    s->due -= count;
    return MCAMP_OK;
}

/* ---- saved runs --------------------------------------------------------------- *
 * Words: name, version, bytes, the run's; then the noise's blob.  The keys of that one
 * depend on the run's words, which are compared one by one when it is read.       */

#define MCAMP__RUN_HEAD (3 + MCAMP__RUN_WORDS)

MCAMP__PRIV void mcamp__run_header(const mcamp_session *s, uint64_t h[MCAMP__RUN_HEAD])
{
    h[0] = UINT64_C(0x73736573706d6163);        /* "campsess" */
    h[1] = 1;
    h[2] = 8 * MCAMP__RUN_HEAD + mcamp__blob_bytes(s->noise);
    mcamp__run_words(s, h + 3);
}

MCAMP_API mcamp_status mcamp_session_save(mcamp_ctx *ctx, const mcamp_session *session,
                                          void *out, size_t capacity, size_t *size)
{
    MCAMP__GUARD;
    const mcamp_session *s = session;
    uint64_t h[MCAMP__RUN_HEAD];
    unsigned char *p = (unsigned char *)out;
    mcamp_status st = mcamp__session_args(ctx, s);
    if (st < 0) return st;
    if (s->noisy) return mcamp__fail(ctx, MCAMP_E_STEP, "session", (double)s->round);
    st = mcamp__blob_room(ctx, s->noise, sizeof h, out, capacity, size);
    if (st < 0 || !out) return st;
    mcamp__run_header(s, h);
    for (int i = 0; i < MCAMP__RUN_HEAD; i++) mcamp__put64(p + 8 * i, h[i]);
    mcamp__blob_write(ctx->vec, s->noise, p + sizeof h);
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_session_load(mcamp_ctx *ctx, mcamp_session *session,
                                          const void *blob, size_t size)
{
    MCAMP__GUARD;
    mcamp_session *s = session;
    uint64_t h[MCAMP__RUN_HEAD];
    const unsigned char *p = (const unsigned char *)blob;
    mcamp_status st = mcamp__session_args(ctx, s);
    if (st < 0) return st;
    if (!blob) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "blob", 0);
    if (size < sizeof h) return mcamp__fail(ctx, MCAMP_E_BLOB, "size", (double)size);
    mcamp__run_header(s, h);
    if (mcamp__get64(p) != h[0] || mcamp__get64(p + 8) != h[1])
        return mcamp__fail(ctx, MCAMP_E_BLOB, "version", 0);
    for (int i = 3; i < MCAMP__RUN_HEAD; i++) {
        if (mcamp__get64(p + 8 * i) != h[i])
            return mcamp__fail(ctx, MCAMP_E_MISMATCH, mcamp__run_field[i - 3], 0);
    }
    if (size != h[2] || mcamp__get64(p + 16) != h[2])
        return mcamp__fail(ctx, MCAMP_E_BLOB, "size", (double)size);
    st = mcamp__blob_read(ctx, s->noise, p + sizeof h, size - sizeof h);
    if (st < 0) return st;
    s->round = s->noise->step;
    s->open = s->noisy = false;         /* the sum of a round that was open is gone */
    if (s->sum) mcamp_wipe(s->sum, s->clip->dim * sizeof *s->sum);
    else        mcamp_wipe(s->grid_sum, s->clip->dim * sizeof *s->grid_sum);
    return MCAMP_OK;
}

#undef MCAMP__RUN_WORDS
#undef MCAMP__RUN_HEAD
#undef MCAMP__SESSION_MAGIC

#undef MCAMP__GETRANDOM
#undef MCAMP__KEY_NOISE
#undef MCAMP__KEY_TAIL
#undef MCAMP__KEY_ID
#undef MCAMP__KEY_BATCH
#undef MCAMP__KEY_CUT
#undef MCAMP__KEY_BLOB
#undef MCAMP__KEY_SEAL
#undef MCAMP__KEY_ROOT
#undef MCAMP__KEY_LEDGER
#undef MCAMP__KEY_SHARE
#undef MCAMP__KEY_CHILD
#undef MCAMP__MAX_INDEX

/* ######################################################################## *
 *  PART II: EXACT                              accountants without samples
 *  In: mechanisms as events.  Out: intervals that contain delta or eps, and guarantees
 *  made from them.
 *  Guarantee: discretisation, truncation and rounding are inside the interval.
 *  A fault here makes what is computed here false (closed forms, intervals, cyclic
 *  Poisson sampling, C = I), but no claim that was verified by samples.
 * ######################################################################## */

/* ======================================================================== *
 *  EXACT ACCOUNTANTS                                               >>exact
 *  In: a list of mechanisms (events), a direction, eps or delta.  Out: intervals
 *  that contain the exact answer; Renyi bounds and the formulas of the papers
 *  for comparison.  Memory: a few thousand doubles per event, whatever the
 *  number of compositions.
 *  One pair of distributions is a list of cells of privacy loss with their two
 *  probabilities; spreading a cell to its ends raises delta, merging it lowers
 *  delta (both by Jensen), and composition is a product of characteristic
 *  functions, inverted on a line through the saddle point, where the trapezoid
 *  rule's error is a sum of positive terms with a Chernoff bound.
 * ======================================================================== */

/* ---- the normal quantile ---------------------------------------------------- */

/* Quantile for log p <= log 0.5: Halley's iteration on f(x) = log Phi(x) - logp,
 * where f' = 1/R(-x) = h and f'' = -h (x + h).  f is concave and the start is
 * good to a few percent, so that the cubic convergence needs 2 to 4 steps.      */
MCAMP__PRIV double mcamp__quantile_tail(double logp)
{
    double s = -2 * logp, x;
    x = s > 3 ? -sqrt(s - log(2 * MCAMP__PI * (s - log(s)))) :
        -MCAMP__SQRT_2PI * (0.5 - exp(logp));
    for (int i = 0; i < 8; i++) {
        double h = 1 / mcamp__mills(-x);
        double e = (mcamp__gauss_logcdf(x) - logp) / h;
        double step = e / (1 + 0.5 * e * (x + h));
        x -= step;
        if (x > 0) x = 0;
        if (!(fabs(step) > 1e-9 * fabs(x))) break;  /* its cube is below an ulp */
    }
    return x;
}

/* x with log Phi(x) = logp; -inf and +inf at the ends, NaN outside. */
MCAMP__PRIV double mcamp__gauss_quantile_log(double logp)
{
    if (!(logp <= 0)) return mcamp__nan();
    if (logp < -DBL_MAX) return -mcamp__inf();
    if (!(logp < 0)) return mcamp__inf();
    return logp <= -MCAMP__LN2 ? mcamp__quantile_tail(logp)
                               : -mcamp__quantile_tail(mcamp__log1mexp(logp));
}

/* ---- events ----------------------------------------------------------------- */

/* The mixture sum_i p_i N(a_i, 1) against N(0, 1), a_i >= 0: what every event
 * with Gaussian noise is after scaling by sigma.                                */
typedef struct mcamp__mog {
    size_t n, cap;
    double *a, *p;          /* a rises, p > 0 and sums to 1 */
    double amax, count;
} mcamp__mog;

MCAMP__PRIV void mcamp__mog_free(mcamp_ctx *ctx, mcamp__mog *m)
{
    mcamp__delete_doubles(ctx, m->a, m->cap);
    mcamp__delete_doubles(ctx, m->p, m->cap);
    memset(m, 0, sizeof *m);
}

MCAMP__PRIV mcamp_status mcamp__mog_alloc(mcamp_ctx *ctx, mcamp__mog *m, size_t n)
{
    memset(m, 0, sizeof *m);
    m->n = m->cap = n;
    m->a = mcamp__new_doubles(ctx, n);
    m->p = mcamp__new_doubles(ctx, n);
    if (m->a && m->p) return MCAMP_OK;
    mcamp__mog_free(ctx, m);
    return mcamp__fail(ctx, MCAMP_E_MEMORY, "events", 0);
}

MCAMP__PRIV int mcamp__event_is_mix(mcamp_event_kind k)
{
    return k == MCAMP_EVENT_GAUSSIAN || k == MCAMP_EVENT_POISSON ||
           k == MCAMP_EVENT_MIXTURE || k == MCAMP_EVENT_GROUP_POISSON ||
           k == MCAMP_EVENT_GROUP_FIXED || k == MCAMP_EVENT_BANDMF;
}

MCAMP__PRIV mcamp_status mcamp__check_count(mcamp_ctx *ctx, const char *name,
                                            uint64_t x, uint64_t max)
{
    if (!x) return mcamp__fail(ctx, MCAMP_E_REQUIRED, name, 0);
    return x <= max ? MCAMP_OK : mcamp__fail(ctx, MCAMP_E_ARG, name, (double)x);
}

/* Poisson sampling of BANDMF: each of the `bands` groups of rounds sees only its
 * own part of the data, hence rate batch*bands/population and ceil(rounds/bands)
 * compositions (matrix mechanism paper, theorem 4 and appendix F).              */
MCAMP__PRIV mcamp_status mcamp__event_check_bandmf(mcamp_ctx *ctx,
                                                   const mcamp_event *e)
{
    const uint64_t big = (uint64_t)1 << 40;
    mcamp_status st;
    if ((st = mcamp__check_count(ctx, "batch", e->batch, big)) < 0 ||
        (st = mcamp__check_count(ctx, "population", e->population, big)) < 0 ||
        (st = mcamp__check_count(ctx, "rounds", e->rounds, big)) < 0 ||
        (st = mcamp__check_count(ctx, "bands", e->bands, e->rounds)) < 0)
        return st;
    if ((double)e->batch * (double)e->bands > (double)e->population)
        return mcamp__fail(ctx, MCAMP_E_ARG, "bands", (double)e->bands);
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__event_check_mixture(mcamp_ctx *ctx,
                                                    const mcamp_event *e)
{
    mcamp__sum s = { 0, 0 };
    if (!e->n) return mcamp__fail(ctx, MCAMP_E_SIZE, "n", 0);
    if (!e->shift) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "shift", 0);
    if (!e->prob) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "prob", 0);
    for (size_t i = 0; i < e->n; i++) {
        mcamp_status st = mcamp__check(ctx, "shift", e->shift[i], 0.0, 1, 1e100, 1);
        if (st < 0) return st;
        if ((st = mcamp__check(ctx, "prob", e->prob[i], 0.0, 1, 1.0, 1)) < 0) return st;
        mcamp__sum_add(&s, e->prob[i]);
    }
    if (!(fabs(mcamp__sum_get(&s) - 1) <= 1e-9))
        return mcamp__fail(ctx, MCAMP_E_ARG, "prob", mcamp__sum_get(&s));
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__event_check_curve(mcamp_ctx *ctx,
                                                  const mcamp_event *e)
{
    if (!e->n) return mcamp__fail(ctx, MCAMP_E_SIZE, "n", 0);
    if (!e->shift) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "shift", 0);
    if (!e->prob) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "prob", 0);
    if (!e->prob2) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "prob2", 0);
    for (size_t i = 0; i < e->n; i++) {
        mcamp_status st = mcamp__check_eps(ctx, "shift", e->shift[i]);
        if (st < 0) return st;
        if (i && !(e->shift[i] > e->shift[i - 1]))
            return mcamp__fail(ctx, MCAMP_E_ARG, "shift", e->shift[i]);
        if ((st = mcamp__check(ctx, "prob", e->prob[i], 0.0, 1, 1.0, 1)) < 0 ||
            (st = mcamp__check(ctx, "prob2", e->prob2[i], 0.0, 1, 1.0, 1)) < 0)
            return st;
    }
    return mcamp__check(ctx, "beta", e->beta, 0, 1, 1, 0);
}

MCAMP__PRIV mcamp_status mcamp__check_numbers(mcamp_ctx *ctx, const char *name,
                                              const double *x, size_t n, double lo, double hi,
                                              double *sum)
{
    mcamp__sum s = { 0, 0 };
    if (!x) return mcamp__fail(ctx, MCAMP_E_REQUIRED, name, 0);
    for (size_t i = 0; i < n; i++) {
        mcamp_status st = mcamp__check(ctx, name, x[i], lo, 1, hi, 1);
        if (st < 0) return st;
        mcamp__sum_add(&s, x[i]);
    }
    *sum = mcamp__sum_get(&s);
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__event_check_pair(mcamp_ctx *ctx, const mcamp_event *e)
{
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "prob2" : "prob";
        double sum = 0;
        mcamp_status st = mcamp__check_numbers(ctx, name, i ? e->prob2 : e->prob, e->n, 0, 1,
                                               &sum);
        if (st < 0) return st;
        if (!(fabs(sum - 1) <= 1e-9)) return mcamp__fail(ctx, MCAMP_E_ARG, name, sum);
    }
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__event_check_sampled(mcamp_ctx *ctx, const mcamp_event *e)
{
    double sum;
    mcamp_status st;
    if (!e->n) return mcamp__fail(ctx, MCAMP_E_SIZE, "n", 0);
    if ((st = mcamp__check_numbers(ctx, "shift", e->shift, e->n, -1e9, 1e9, &sum)) < 0 ||
        (st = mcamp__check_numbers(ctx, "prob", e->prob, e->n, -1e9, 1e9, &sum)) < 0) return st;
    return mcamp__check_prob(ctx, "beta", e->beta);
}

#define MCAMP__BINS_KINDS 16        /* norms of modes that may differ */

/* Bins that are not alike: whole numbers of them, `bins` in total. */
MCAMP__PRIV mcamp_status mcamp__event_check_bins(mcamp_ctx *ctx, const mcamp_event *e)
{
    const uint64_t big = (uint64_t)1 << 40;
    double sum = 0;
    mcamp_status st = mcamp__check_count(ctx, "bins", e->bins, big);
    if (st < 0 || (st = mcamp__check_count(ctx, "rounds", e->rounds, big)) < 0 || !e->n)
        return st;
    if (e->n > MCAMP__BINS_KINDS) return mcamp__fail(ctx, MCAMP_E_SIZE, "n", (double)e->n);
    if ((st = mcamp__check_numbers(ctx, "shift", e->shift, e->n, 0, 1e100, &sum)) < 0 ||
        (st = mcamp__check_numbers(ctx, "prob", e->prob, e->n, 1, (double)big, &sum)) < 0)
        return st;
    for (size_t i = 0; i < e->n; i++)
        if (!mcamp__eq(e->prob[i], floor(e->prob[i])))
            return mcamp__fail(ctx, MCAMP_E_ARG, "prob", e->prob[i]);
    return mcamp__eq(sum, (double)e->bins) ? MCAMP_OK
           : mcamp__fail(ctx, MCAMP_E_ARG, "prob", sum);
}

/* What only some kinds have. */
MCAMP__PRIV mcamp_status mcamp__event_check_kind(mcamp_ctx *ctx, const mcamp_event *e)
{
    const uint64_t big = (uint64_t)1 << 40;
    mcamp_status st = MCAMP_OK;
    switch (e->kind) {
    case MCAMP_EVENT_GAUSSIAN: case MCAMP_EVENT_LAPLACE:
        return mcamp__check(ctx, "q", e->q, 0.0, 1, 1.0, 1);
    case MCAMP_EVENT_RESPONSE:
        if ((st = mcamp__check_eps(ctx, "eps", e->eps)) < 0 ||
            (st = mcamp__check(ctx, "delta", e->delta, 0.0, 1, 1.0, 0)) < 0) return st;
        return mcamp__check(ctx, "q", e->q, 0.0, 1, 1.0, 1);
    case MCAMP_EVENT_GROUP_POISSON:
        if ((st = mcamp__check_count(ctx, "group", e->group, 1 << 16)) < 0) return st;
        return mcamp__check(ctx, "q", e->q, 0.0, 0, 1.0, 1);
    case MCAMP_EVENT_TRUNCATED:
        if ((st = mcamp__check_count(ctx, "population", e->population, big)) < 0 ||
            (st = mcamp__check_count(ctx, "batch", e->batch, big)) < 0) return st;
        return mcamp__check(ctx, "q", e->q, 0.0, 0, 1.0, 1);
    case MCAMP_EVENT_POISSON:
        return mcamp__check(ctx, "q", e->q, 0.0, 0, 1.0, 1);
    case MCAMP_EVENT_GROUP_FIXED:
        if ((st = mcamp__check_count(ctx, "population", e->population, big)) < 0 ||
            (st = mcamp__check_count(ctx, "batch", e->batch, e->population)) < 0)
            return st;
        return mcamp__check_count(ctx, "group", e->group,
                                  e->population < 65536 ? e->population : 65536);
    case MCAMP_EVENT_BANDMF: return mcamp__event_check_bandmf(ctx, e);
    case MCAMP_EVENT_BINS: return mcamp__event_check_bins(ctx, e);
    case MCAMP_EVENT_MIXTURE: return mcamp__event_check_mixture(ctx, e);
    case MCAMP_EVENT_CURVE: return mcamp__event_check_curve(ctx, e);
    case MCAMP_EVENT_PAIR: return mcamp__event_check_pair(ctx, e);
    case MCAMP_EVENT_SAMPLED: return mcamp__event_check_sampled(ctx, e);
    default: return mcamp__fail(ctx, e->kind ? MCAMP_E_ARG : MCAMP_E_REQUIRED,
                                "kind", (double)e->kind);
    }
}

#define MCAMP__COUNT_MAX ((uint64_t)1 << 50)

MCAMP__PRIV mcamp_status mcamp__event_check(mcamp_ctx *ctx, const mcamp_event *e)
{
    mcamp_status st = mcamp__check_count(ctx, "count", e->count, MCAMP__COUNT_MAX);
    if (st < 0) return st;
    if ((st = mcamp__event_check_kind(ctx, e)) < 0) return st;
    if (e->kind == MCAMP_EVENT_RESPONSE || e->kind >= MCAMP_EVENT_CURVE) return st;
    if (!(e->sigma < 0) && !(e->sigma > 0) && !mcamp__isnan(e->sigma))
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "sigma", e->sigma);
    if ((st = mcamp__check_sigma(ctx, "sigma", e->sigma)) < 0) return st;
    return mcamp__check(ctx, "sensitivity", e->sensitivity, 0.0, 1, 1e100, 1);
}

MCAMP__PRIV mcamp_status mcamp__events_check(mcamp_ctx *ctx, const mcamp_event *e,
                                             size_t n)
{
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!n) return mcamp__fail(ctx, MCAMP_E_SIZE, "nevents", 0);
    if (!e) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "events", 0);
    for (size_t i = 0; i < n; i++) {
        mcamp_status st = mcamp__event_check(ctx, &e[i]);
        if (st < 0) return st;
    }
    return MCAMP_OK;
}

MCAMP__PRIV double mcamp__event_scale(const mcamp_event *e)
{
    return (e->sensitivity > 0 ? e->sensitivity : 1.0) / e->sigma;
}

/* A Gaussian mechanism without sampling stays in closed form. */
MCAMP__PRIV int mcamp__event_is_gauss(const mcamp_event *e)
{
    return (e->kind == MCAMP_EVENT_GAUSSIAN && !(e->q > 0 && e->q < 1)) ||
           (e->kind == MCAMP_EVENT_POISSON && !(e->q < 1)) ||
           (e->kind == MCAMP_EVENT_BINS && e->bins == 1);
}

/* The longest mode of BINS for sensitivity and rounds 1. */
MCAMP__PRIV double mcamp__bins_longest(const mcamp_event *e)
{
    double a = e->n ? 0 : 1;
    for (size_t i = 0; i < e->n; i++) a = mcamp__dmax(a, e->shift[i]);
    return a;
}

/* Without amplification. */
MCAMP__PRIV double mcamp__event_mu2(const mcamp_event *e)
{
    double mu = mcamp__event_scale(e);
    if (e->kind == MCAMP_EVENT_BINS) mu *= mcamp__bins_longest(e) * sqrt((double)e->rounds);
    return mu * mu * (double)e->count;
}

/* log n! minus Stirling's formula (n + 1/2) log n - n + log(2 pi)/2; the series
 * beyond 15, where its first omitted term is 1e-17, exact factorials below.      */
MCAMP__PRIV double mcamp__stirling_error(double n)
{
    double f = 1, u = 1 / (n * n);
    if (n > 15)
        return (1.0 / 12 - u * (1.0 / 360 - u * (1.0 / 1260 - u * (1.0 / 1680 -
                u * (1.0 / 1188 - u * 691.0 / 360360))))) / n;
    for (double i = 2; i <= n; i++) f *= i;
    return log(f) - (n + 0.5) * log(n) + n - MCAMP__LOG_SQRT_2PI;
}

/* x log(x/m) + m - x without cancellation: m ((1 + d) log(1 + d) - d). */
MCAMP__PRIV double mcamp__deviance(double x, double m)
{
    double d = (x - m) / m, s = 0;
    if (fabs(d) > 0.1) return x * log(x / m) + m - x;
    /* (1+d) log(1+d) - d = sum_{k>=2} (-d)^k / (k (k-1)) */
    for (int k = 17; k >= 2; k--) s = 1.0 / (k * (k - 1.0)) - d * s;
    return m * d * d * s;
}

/* log of the binomial probability of k out of n, p + q = 1:
 * relative error of the probability a few ulp, plus an ulp of the logarithm.     */
MCAMP__PRIV double mcamp__log_binomial(double n, double k, double p, double q)
{
    if (!(k > 0)) return n * (p < 0.5 ? log1p(-p) : log(q));
    if (!(k < n)) return n * (q < 0.5 ? log1p(-q) : log(p));
    return mcamp__stirling_error(n) - mcamp__stirling_error(k) -
           mcamp__stirling_error(n - k) - mcamp__deviance(k, n * p) -
           mcamp__deviance(n - k, n * q) +
           0.5 * log(n / (k * (n - k))) - MCAMP__LOG_SQRT_2PI;
}

/* One form for one mixture, however it was written: shifts rise, those of probability
 * zero are left out, equal ones added up.  Short lists: insertion sort.             */
MCAMP__PRIV void mcamp__mog_tidy(mcamp__mog *m)
{
    mcamp__sum s = { 0, 0 };
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        double a = m->a[i], p = m->p[i];
        size_t j = n;
        if (!(p > 0)) continue;
        for (; j > 0 && m->a[j - 1] > a; j--) {
            m->a[j] = m->a[j - 1];
            m->p[j] = m->p[j - 1];
        }
        m->a[j] = a; m->p[j] = p;
        n++;
    }
    m->n = 0;
    for (size_t i = 0; i < n; i++) {
        mcamp__sum_add(&s, m->p[i]);
        if (m->n && mcamp__eq(m->a[m->n - 1], m->a[i])) { m->p[m->n - 1] += m->p[i]; continue; }
        m->a[m->n] = m->a[i];
        m->p[m->n++] = m->p[i];
    }
    for (size_t i = 0; i < m->n; i++) m->p[i] /= mcamp__sum_get(&s);
    m->amax = m->n ? m->a[m->n - 1] : 0;
}

/* Binomial (Poisson sampling) or hypergeometric (fixed batches) law of how many
 * of the group are in a batch, by the ratio of neighbouring terms from the
 * mode outwards, normalised: relative error a few ulp times the distance.        */
MCAMP__PRIV void mcamp__mog_group(const mcamp_event *e, mcamp__mog *m)
{
    double g = (double)e->group, N = (double)e->population, B = (double)e->batch;
    int fixed = e->kind == MCAMP_EVENT_GROUP_FIXED;
    double q = fixed ? B / N : e->q;
    size_t mode = (size_t)mcamp__dmin(g, floor(q * (g + 1)));
    m->p[mode] = 1;
    for (int side = 0; side < 2; side++)
        for (size_t j = mode; side ? j-- > 0 : j < e->group; side ? 0 : j++) {
            double k = (double)j, num, den;     /* ratio p[j+1]/p[j] */
            num = fixed ? (g - k) * (B - k) : (g - k) * q;
            den = fixed ? (k + 1) * (N - g - B + k + 1) : (k + 1) * (1 - q);
            if (side) m->p[j] = num > 0 && den > 0 ? m->p[j + 1] * (den / num) : 0;
            else      m->p[j + 1] = num > 0 && den > 0 ? m->p[j] * (num / den) :
                                    (num > 0 && !(den > 0) ? 1.0 : 0.0);
        }
    for (size_t j = 0; j < m->n; j++)
        m->a[j] = (fixed ? 2.0 : 1.0) * (double)j * mcamp__event_scale(e);
}

MCAMP__PRIV void mcamp__mog_pair(mcamp__mog *m, double a, double q)
{
    m->a[0] = 0; m->p[0] = 1 - q;
    m->a[1] = a; m->p[1] = q;
}

MCAMP__PRIV void mcamp__mog_copy(const mcamp_event *e, mcamp__mog *m)
{
    for (size_t i = 0; i < e->n; i++) {
        m->a[i] = e->shift[i] / e->sigma;
        m->p[i] = e->prob[i];
    }
}

/* The mixture of a checked event. */
MCAMP__PRIV mcamp_status mcamp__mog_init(mcamp_ctx *ctx, const mcamp_event *e,
                                         mcamp__mog *m)
{
    double a = mcamp__event_scale(e);
    int grp = e->kind == MCAMP_EVENT_GROUP_POISSON || e->kind == MCAMP_EVENT_GROUP_FIXED;
    size_t n = e->kind == MCAMP_EVENT_MIXTURE ? e->n :
               grp ? (size_t)e->group + 1 : 2;
    mcamp_status st = mcamp__mog_alloc(ctx, m, n);
    if (st < 0) return st;
    m->count = (double)e->count;
    if (grp) {
        mcamp__mog_group(e, m);
    } else if (e->kind == MCAMP_EVENT_MIXTURE) {
        mcamp__mog_copy(e, m);
    } else if (e->kind == MCAMP_EVENT_BANDMF) {
        mcamp__mog_pair(m, a, (double)e->batch * (double)e->bands / (double)e->population);
        m->count *= (double)((e->rounds + e->bands - 1) / e->bands);
    } else {
        if (e->kind == MCAMP_EVENT_BINS) a *= sqrt((double)e->rounds);
        mcamp__mog_pair(m, a, e->q > 0 && e->kind != MCAMP_EVENT_BINS ? e->q : 1.0);
    }
    mcamp__mog_tidy(m);
    if (m->amax <= 1e50) return MCAMP_OK;
    a = m->amax;
    mcamp__mog_free(ctx, m);
    return mcamp__fail(ctx, MCAMP_E_ARG, "sigma", a);
}

/* The privacy loss at x, log sum p_i e^{a_i x - a_i^2/2}; relative accuracy near
 * zero by expm1, no overflow far out.                                           */
MCAMP__PRIV double mcamp__mog_loss(const mcamp__mog *m, double x)
{
    double y = 0, top = -mcamp__inf();
    if (m->n == 1) return m->a[0] * (x - 0.5 * m->a[0]);
    for (size_t i = 0; i < m->n; i++) {
        double e = m->a[i] * (x - 0.5 * m->a[i]);
        y += m->p[i] * (e < 700 ? expm1(e) : 1e308);
        top = mcamp__dmax(top, e + log(m->p[i]));
    }
    if (y > -0.9 && y < 1e300) return log1p(y);
    y = 0;
    for (size_t i = 0; i < m->n; i++)
        y += exp(m->a[i] * (x - 0.5 * m->a[i]) + log(m->p[i]) - top);
    return top + log(y);
}

/* ---- Renyi ------------------------------------------------------------------ */

/* e^u - 1 - u without cancellation. */
MCAMP__PRIV double mcamp__expm1mu(double u)
{
    double t = 1, s = 0;
    if (fabs(u) > 0.5) return expm1(u) - u;
    for (int k = 18; k >= 3; k--) s = (s + 1) * u / k;
    return t * 0.5 * u * u * (1 + s);
}

/* log(rho^s - 1 - s (rho - 1)) for rho = e^r: the positive part of a Renyi moment
 * (the rest has mean zero).  By the binomial series where all three terms nearly
 * cancel.                                                                        */
MCAMP__PRIV double mcamp__log_moment_term(double s, double r)
{
    double y = expm1(r), z;
    if (fabs(y) * (1 + fabs(s)) < 0.1) {
        double t = 0.5 * s * (s - 1), sum = t;
        for (int k = 3; k < 24; k++) { t *= y * (s - k + 1) / k; sum += t; }
        return sum > 0 ? 2 * log(fabs(y)) + log(sum) : -mcamp__inf();
    }
    if (r > 30 && s < 1) return r + log(-s + (s - 1) * exp(-r) + exp((s - 1) * r));
    if (s * r > 1) {
        z = (1 - s) * exp(-s * r) + s * exp((1 - s) * r);
        return s * r + log1p(-z);
    }
    return log(expm1(s * r) - s * y);
}

/* log E_Q[rho^s] for s > 1 or s < 0 by the trapezoid rule.  The integrand is
 * entire but for the zeros of rho, at least pi/amax from the real line for the
 * mixtures here; with step h the error is e^{-2 pi^2/(amax h)} and
 * e^{-2 pi^2/h^2} relative: both below 1e-16.                                     */
MCAMP__PRIV double mcamp__mog_log_moment(const mcamp__mog *m, double s)
{
    double am = m->amax, h = mcamp__dmin(0.4, am > 0 ? 0.5 / am : 0.4);
    double lo = -9.5 + mcamp__dmin(0.0, s * am);
    double hi = 9.5 + am * mcamp__dmax(1.0, s), top = -mcamp__inf(), sum = 0;
    double steps = ceil((hi - lo) / h);
    if (!(am > 0)) return 0;
    if (!(steps < 4e6)) return mcamp__inf();
    for (double i = 0; i <= steps; i++) {
        double x = lo + i * h;
        double t = mcamp__log_moment_term(s, mcamp__mog_loss(m, x)) - 0.5 * x * x;
        if (t > top) {
            sum = top > -DBL_MAX ? sum * exp(top - t) : 0;
            top = t;
        }
        if (t > -DBL_MAX) sum += exp(t - top);
    }
    top += log(sum * h) - MCAMP__LOG_SQRT_2PI;
    return top > 0 ? top + log1p(exp(-top)) : log1p(exp(top));
}

/* Poisson sampling at integer order: sum_k C(alpha,k) (1-q)^(alpha-k) q^k
 * (e^{(k^2-k) a^2/2} - 1), k >= 2, all terms positive; plus one.                  */
MCAMP__PRIV double mcamp__poisson_log_moment(double a, double q, double alpha)
{
    double top = -mcamp__inf(), sum = 0;
    for (double k = 2; k <= alpha; k++) {
        double g = 0.5 * k * (k - 1) * a * a;
        double t = mcamp__log_binomial(alpha, k, q, 1 - q) +
                   (g < 1 ? log(expm1(g)) : g + log1p(-exp(-g)));
        if (t > top) {
            sum = top > -DBL_MAX ? sum * exp(top - t) : 0;
            top = t;
        }
        sum += exp(t - top);
    }
    top += log(sum);
    return top > 0 ? top + log1p(exp(-top)) : log1p(exp(top));
}

/* (alpha - 1) times the Renyi divergence of one use, the larger direction. */
MCAMP__PRIV double mcamp__mog_renyi(const mcamp__mog *m, double alpha)
{
    double rem, add;
    if (!(m->amax > 0)) return 0;
    if (m->n == 1)
        return 0.5 * alpha * (alpha - 1) * m->a[0] * m->a[0];
    if (m->n == 2 && !(m->a[0] > 0) && alpha <= 4096 && mcamp__eq(alpha, floor(alpha)))
        /* remove is the larger one for Poisson sampling (Mironov and others) */
        return mcamp__poisson_log_moment(m->a[1], m->p[1], alpha);
    rem = mcamp__mog_log_moment(m, alpha);
    add = mcamp__mog_log_moment(m, 1 - alpha);
    return mcamp__dmax(DBL_MIN, mcamp__dmax(rem, add));
}

/* Laplace with a = sensitivity/scale: E_Q[rho^alpha] - 1 =
 * (alpha f((alpha-1) a) + (alpha-1) f(-alpha a))/(2 alpha - 1), f(u) = e^u - 1 - u. */
MCAMP__PRIV double mcamp__laplace_renyi(double a, double alpha)
{
    double u = (alpha - 1) * a;
    if (u > 30) return u + log((alpha + (alpha - 1) * exp(-u - alpha * a)) /
                               (2 * alpha - 1));
    return log1p((alpha * mcamp__expm1mu(u) + (alpha - 1) * mcamp__expm1mu(-alpha * a)) /
                 (2 * alpha - 1));
}

/* Randomised response: Q has loss +eps with probability 1/(1 + e^eps). */
MCAMP__PRIV double mcamp__response_renyi(double eps, double alpha)
{
    double lq = -eps - log1p(exp(-eps));
    double t = mcamp__log_add(lq + mcamp__log_moment_term(alpha, eps),
                              -log1p(exp(-eps)) + mcamp__log_moment_term(alpha, -eps));
    if (!(eps > 0)) return 0;
    return t > 0 ? t + log1p(exp(-t)) : log1p(exp(t));
}

/* Adds up (alpha - 1) RDP over the events; the events were checked. */
MCAMP__PRIV mcamp_status mcamp__events_renyi(mcamp_ctx *ctx, const mcamp_event *e,
                                             size_t n, const mcamp__mog *mix,
                                             double alpha, double *out)
{
    double s = 0;
    for (size_t i = 0; i < n; i++) {
        int sampled = e[i].q > 0 && e[i].q < 1;
        if (mcamp__event_is_mix(e[i].kind))
            s += mix[i].count * mcamp__mog_renyi(&mix[i], alpha);
        else if (e[i].kind == MCAMP_EVENT_LAPLACE && !sampled)
            s += (double)e[i].count *
                 mcamp__laplace_renyi(mcamp__event_scale(&e[i]), alpha);
        else if (e[i].kind == MCAMP_EVENT_RESPONSE && !sampled && !(e[i].delta > 0))
            s += (double)e[i].count * mcamp__response_renyi(e[i].eps, alpha);
        else
            return mcamp__fail(ctx, MCAMP_E_ARG, "kind", (double)e[i].kind);
    }
    if (mcamp__isnan(s)) return mcamp__fail(ctx, MCAMP_E_INTERNAL, "alpha", alpha);
    *out = s;
    return MCAMP_OK;
}

MCAMP__PRIV void mcamp__moges_free(mcamp_ctx *ctx, mcamp__mog *mix, size_t n)
{
    for (size_t i = 0; mix && i < n; i++) mcamp__mog_free(ctx, &mix[i]);
    mcamp__delete(ctx, mix, n, sizeof *mix);
}

/* The mixtures of those events that have one; the others' stay zero. */
MCAMP__PRIV mcamp_status mcamp__moges_new(mcamp_ctx *ctx, const mcamp_event *e,
                                          size_t n, mcamp__mog **out)
{
    mcamp__mog *mix = (mcamp__mog *)mcamp__new(ctx, n, sizeof *mix);
    if (!mix) return mcamp__fail(ctx, MCAMP_E_MEMORY, "events", (double)n);
    for (size_t i = 0; i < n; i++) {
        mcamp_status st = MCAMP_OK;
        if (mcamp__event_is_mix(e[i].kind)) st = mcamp__mog_init(ctx, &e[i], &mix[i]);
        if (st < 0) { mcamp__moges_free(ctx, mix, n); return st; }
    }
    *out = mix;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_exact_rdp(mcamp_ctx *ctx, const mcamp_event *events,
                                       size_t nevents, double alpha, double *rdp)
{
    MCAMP__GUARD;
    mcamp__mog *mix = NULL;
    double s = 0;
    mcamp_status st = mcamp__events_check(ctx, events, nevents);
    if (st < 0) return st;
    if (!rdp) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "rdp", 0);
    if ((st = mcamp__check(ctx, "alpha", alpha, 1.0, 0, 1e9, 1)) < 0) return st;
    if ((st = mcamp__moges_new(ctx, events, nevents, &mix)) < 0) return st;
    st = mcamp__events_renyi(ctx, events, nevents, mix, alpha, &s);
    mcamp__moges_free(ctx, mix, nevents);
    if (st < 0) return st;
    *rdp = s / (alpha - 1);
    return MCAMP_OK;
}

/* eps at delta from a Renyi bound: P(L > eps) integrated against the best linear
 * functional (Canonne, Kamath, Steinke 2020, proposition 12).                     */
MCAMP__PRIV double mcamp__rdp_to_eps(double rdp, double alpha, double logdelta)
{
    double e = rdp + log1p(-1 / alpha) - (logdelta + log(alpha)) / (alpha - 1);
    return mcamp__dmax(0.0, e);
}

typedef struct mcamp__rdp_job {
    mcamp_ctx *ctx;
    const mcamp_event *e;
    size_t n;
    mcamp__mog *mix;
    double ld, eps, order;
    mcamp_status st;
} mcamp__rdp_job;

MCAMP__PRIV double mcamp__rdp_try(mcamp__rdp_job *j, double alpha)
{
    double s = 0, e;
    if (j->st < 0) return mcamp__inf();
    j->st = mcamp__events_renyi(j->ctx, j->e, j->n, j->mix, alpha, &s);
    if (j->st < 0) return mcamp__inf();
    e = mcamp__rdp_to_eps(s / (alpha - 1), alpha, j->ld);
    if (e < j->eps) { j->eps = e; j->order = alpha; }
    return e;
}

/* Any order is a valid bound: a walk in factors of 2 from alpha - 1 = 1 towards
 * smaller eps, then golden section on log(alpha - 1) between the neighbours.       */
MCAMP__PRIV void mcamp__rdp_search(mcamp__rdp_job *j)
{
    double g = 0.6180339887498949, u = 0, f = mcamp__rdp_try(j, 2), d = MCAMP__LN2;
    double lo, hi, a, b, fa, fb;
    if (!(mcamp__rdp_try(j, 1 + exp(d)) < f)) d = -d;
    for (int i = 0; i < 30; i++) {
        double v = mcamp__rdp_try(j, 1 + exp(u + d));
        if (!(v < f)) break;
        f = v;
        u += d;
    }
    lo = u - MCAMP__LN2;
    hi = u + MCAMP__LN2;
    a = hi - g * (hi - lo); fa = mcamp__rdp_try(j, 1 + exp(a));
    b = lo + g * (hi - lo); fb = mcamp__rdp_try(j, 1 + exp(b));
    for (int i = 0; i < 34; i++) {
        if (fa < fb) {
            hi = b; b = a; fb = fa;
            a = hi - g * (hi - lo); fa = mcamp__rdp_try(j, 1 + exp(a));
        } else {
            lo = a; a = b; fa = fb;
            b = lo + g * (hi - lo); fb = mcamp__rdp_try(j, 1 + exp(b));
        }
    }
}

MCAMP_API mcamp_status mcamp_exact_rdp_epsilon(mcamp_ctx *ctx,
                                               const mcamp_event *events,
                                               size_t nevents,
                                               const double *orders, size_t norders,
                                               double delta, double *eps,
                                               double *order)
{
    MCAMP__GUARD;
    mcamp__rdp_job j;
    mcamp_status st = mcamp__events_check(ctx, events, nevents);
    if (st < 0) return st;
    if (!eps) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "eps", 0);
    if (norders && !orders) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "orders", 0);
    if ((st = mcamp__check_prob(ctx, "delta", delta)) < 0) return st;
    for (size_t i = 0; i < norders; i++)
        if ((st = mcamp__check(ctx, "orders", orders[i], 1.0, 0, 1e9, 1)) < 0) return st;
    memset(&j, 0, sizeof j);
    j.ctx = ctx; j.e = events; j.n = nevents; j.ld = log(delta); j.eps = mcamp__inf();
    if ((st = mcamp__moges_new(ctx, events, nevents, &j.mix)) < 0) return st;
    if (!norders) mcamp__rdp_search(&j);
    for (size_t i = 0; i < norders; i++) mcamp__rdp_try(&j, orders[i]);
    mcamp__moges_free(ctx, j.mix, nevents);
    if (j.st < 0) return j.st;
    *eps = j.eps;
    if (order) *order = j.order;
    return MCAMP_OK;
}

/* ---- formulas of the literature ---------------------------------------------- */

MCAMP__PRIV double mcamp__classical(mcamp_formula f, double eps, double delta)
{
    double ld = -log(delta), g = 2 * ld - log(2 * MCAMP__PI);
    switch (f) {
    case MCAMP_FORMULA_SIMPLE: return sqrt(2 * ld + 2 * eps) / eps;
    case MCAMP_FORMULA_FOLKLORE: return sqrt(2 * (ld + log(1.25))) / eps;
    case MCAMP_FORMULA_REFINED_1: return sqrt(2 * ld) / eps + 2 / (eps * sqrt(eps));
    case MCAMP_FORMULA_REFINED_2:
        return (mcamp__dmax(1.0, sqrt(mcamp__dmax(0.0, g))) + 2 / sqrt(eps)) / eps;
    case MCAMP_FORMULA_REFINED_3: return sqrt(eps + 2 * ld) / eps;
    case MCAMP_FORMULA_REFINED_4:
        return mcamp__dmax(sqrt(1 + eps), sqrt(mcamp__dmax(0.0, eps + g))) / eps;
    default: return mcamp__inf();
    }
}

MCAMP_API mcamp_status mcamp_exact_classical_sigma(mcamp_ctx *ctx, mcamp_formula f,
                                                   double sensitivity, double eps,
                                                   double delta, double *sigma)
{
    MCAMP__GUARD;
    double s = mcamp__inf(), ld;
    mcamp_status st = mcamp__gauss_check(ctx, sensitivity, sigma, "sigma");
    if (st < 0) return st;
    if ((st = mcamp__check(ctx, "eps", eps, 0.0, 0, 1e9, 1)) < 0) return st;
    if ((st = mcamp__check_prob(ctx, "delta", delta)) < 0) return st;
    if ((int)f < 0 || f > MCAMP_FORMULA_REFINED_4)
        return mcamp__fail(ctx, MCAMP_E_ARG, "formula", (double)f);
    ld = log(delta);
    for (int i = MCAMP_FORMULA_SIMPLE; i <= MCAMP_FORMULA_REFINED_4; i++) {
        double t = mcamp__classical((mcamp_formula)i, eps, delta);
        if (f && i != (int)f) continue;
        if (mcamp__gauss_logdelta_up(1 / t, eps) <= ld) s = mcamp__dmin(s, t);
    }
    if (!mcamp__finite(s)) return mcamp__fail(ctx, MCAMP_E_ARG, "eps", eps);
    *sigma = s * sensitivity * (1 + 4 * DBL_EPSILON);
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__zcdp_check(mcamp_ctx *ctx, double rho, double delta,
                                           const double *eps)
{
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!eps) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "eps", 0);
    if ((st = mcamp__check(ctx, "rho", rho, 0.0, 1, 1e12, 1)) < 0) return st;
    return mcamp__check_prob(ctx, "delta", delta);
}

MCAMP_API mcamp_status mcamp_exact_zcdp_epsilon_simple(mcamp_ctx *ctx, double rho,
                                                       double delta, double *eps)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__zcdp_check(ctx, rho, delta, eps);
    if (st < 0) return st;
    *eps = rho + 2 * sqrt(-rho * log(delta));
    return MCAMP_OK;
}

/* min over alpha of rho alpha + (log(1/delta) + (alpha-1) log(1-1/alpha) - log alpha)
 * /(alpha-1): golden section on log(alpha - 1) around the textbook optimum
 * sqrt(log(1/delta)/rho).                                                           */
MCAMP_API mcamp_status mcamp_exact_zcdp_epsilon(mcamp_ctx *ctx, double rho,
                                                double delta, double *eps)
{
    MCAMP__GUARD;
    double g = 0.6180339887498949, ld, lo, hi, best;
    mcamp_status st = mcamp__zcdp_check(ctx, rho, delta, eps);
    if (st < 0) return st;
    if (!(rho > 0)) { *eps = 0; return MCAMP_OK; }
    ld = log(delta);
    best = mcamp__inf();
    lo = 0.5 * log(-ld / rho) - 8;
    hi = lo + 12;
    for (int i = 0; i < 90; i++) {
        double a = hi - g * (hi - lo), b = lo + g * (hi - lo);
        double x = 1 + exp(a), y = 1 + exp(b);
        double fx = mcamp__rdp_to_eps(rho * x, x, ld), fy = mcamp__rdp_to_eps(rho * y, y, ld);
        best = mcamp__dmin(best, mcamp__dmin(fx, fy));
        if (fx < fy) hi = b; else lo = a;
    }
    *eps = best;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_exact_compose_advanced(mcamp_ctx *ctx, double eps,
                                                    double k, double delta2,
                                                    double *eps_total)
{
    MCAMP__GUARD;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!eps_total) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "eps_total", 0);
    if ((st = mcamp__check_eps(ctx, "eps", eps)) < 0) return st;
    if ((st = mcamp__check(ctx, "k", k, 1.0, 1, 1e18, 1)) < 0) return st;
    if ((st = mcamp__check_prob(ctx, "delta2", delta2)) < 0) return st;
    *eps_total = mcamp__dmin(k * eps, eps * sqrt(-2 * k * log(delta2)) +
                                      k * eps * expm1(eps));
    return MCAMP_OK;
}

/* delta at x of k-fold randomised response: L = (k - 2l) eps with l binomial,
 * success probability 1/(1 + e^eps).  Terms l = 0.. as long as the loss exceeds x. */
MCAMP__PRIV double mcamp__response_delta(double eps, double k, double x)
{
    mcamp__sum s = { 0, 0 };
    double keep = 1 / (1 + exp(-eps)), flip = exp(-eps) * keep;
    for (double l = 0; l <= k && (k - 2 * l) * eps > x; l++) {
        double t = mcamp__log_binomial(k, l, flip, keep);
        if (t > -745) mcamp__sum_add(&s, -exp(t) * expm1(x - (k - 2 * l) * eps));
    }
    return mcamp__sum_get(&s);
}

/* The worst (eps, delta)-DP mechanism loses everything with probability delta and
 * is randomised response otherwise (Kairouz, Oh, Viswanath): solve
 * 1 - (1-delta)^k (1 - delta_RR(x)) = delta_total for x.                            */
MCAMP_API mcamp_status mcamp_exact_compose_optimal(mcamp_ctx *ctx, double eps,
                                                   double delta, uint64_t k,
                                                   double delta_total,
                                                   double *eps_total)
{
    MCAMP__GUARD;
    double rest, lo = 0, hi, kd = (double)k;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!eps_total) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "eps_total", 0);
    if ((st = mcamp__check_eps(ctx, "eps", eps)) < 0) return st;
    if ((st = mcamp__check(ctx, "delta", delta, 0.0, 1, 1.0, 0)) < 0) return st;
    if ((st = mcamp__check_count(ctx, "k", k, 10000000)) < 0) return st;
    if ((st = mcamp__check_prob(ctx, "delta_total", delta_total)) < 0) return st;
    /* what randomised response may use: 1 - (1 - delta_total)/(1 - delta)^k */
    rest = -expm1(log1p(-delta_total) - kd * log1p(-delta)) * (1 - 1e-10);
    if (!(rest > 0)) return mcamp__fail(ctx, MCAMP_E_INFEASIBLE, "delta_total", delta_total);
    hi = kd * eps;
    if (mcamp__response_delta(eps, kd, 0.0) <= rest) hi = 0;
    for (int i = 0; i < 60 && hi - lo > 1e-13 * hi; i++) {
        double x = 0.5 * (lo + hi);
        if (mcamp__response_delta(eps, kd, x) <= rest) hi = x; else lo = x;
    }
    *eps_total = hi;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_exact_group_convert(mcamp_ctx *ctx, double eps,
                                                 double delta, uint64_t group,
                                                 double *eps_group,
                                                 double *delta_group)
{
    MCAMP__GUARD;
    double k = (double)group, f;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!eps_group) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "eps_group", 0);
    if (!delta_group) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "delta_group", 0);
    if ((st = mcamp__check_eps(ctx, "eps", eps)) < 0) return st;
    if ((st = mcamp__check(ctx, "delta", delta, 0.0, 1, 1.0, 1)) < 0) return st;
    if ((st = mcamp__check_count(ctx, "group", group, MCAMP__COUNT_MAX)) < 0) return st;
    /* e^{(k-1) eps} (1 - e^{-k eps})/(1 - e^{-eps}), with delta in the exponent where it
     * would overflow without                                                            */
    f = eps > 1e-300 ? expm1(-k * eps) / expm1(-eps) : k;
    f *= k * eps < 700 ? delta * exp((k - 1) * eps) : exp((k - 1) * eps + log(delta));
    *eps_group = k * eps * (1 + DBL_EPSILON);
    *delta_group = delta > 0 ? mcamp__dmin(1.0, f * (1 + (16 + 2 * k * eps) * DBL_EPSILON)) : 0.0;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_exact_laplace_amplified(mcamp_ctx *ctx, double eps,
                                                     double p, double *eps_p,
                                                     double *ratio)
{
    MCAMP__GUARD;
    double e;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!eps_p) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "eps_p", 0);
    if ((st = mcamp__check(ctx, "eps", eps, 0.0, 0, 1e9, 1)) < 0) return st;
    if ((st = mcamp__check(ctx, "p", p, 0.0, 0, 1.0, 1)) < 0) return st;
    e = eps < 700 ? log1p(expm1(eps) / p) : eps - log(p);
    if (!mcamp__finite(e)) e = eps - log(p);
    *eps_p = e;
    if (ratio) *ratio = p * e / eps;
    return MCAMP_OK;
}

/* A mean has sensitivity 1/n, so that the noise's scale is 1/(eps n) and its variance
 * twice the square of that.  A sampled sum has variance sum p (1 - p) x_i^2 <= p n.    */
MCAMP_API mcamp_status mcamp_exact_laplace_errors(mcamp_ctx *ctx, double eps, double p,
                                                  double n, double *full,
                                                  double *sampled)
{
    MCAMP__GUARD;
    double e = 0, a, b;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!full || !sampled)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, full ? "sampled" : "full", 0);
    if ((st = mcamp_exact_laplace_amplified(ctx, eps, p, &e, NULL)) < 0) return st;
    if ((st = mcamp__check(ctx, "n", n, 1.0, 1, 1e18, 1)) < 0) return st;
    a = 1 / (eps * n);
    b = 1 / (e * p * n);
    if (!mcamp__finite(a * a) || !mcamp__finite(b * b))
        return mcamp__fail(ctx, MCAMP_E_ARG, "eps", eps);
    *full = 2 * a * a;
    *sampled = 1 / (p * n) + 2 * b * b;
    return MCAMP_OK;
}

/* ---- probabilities of cells --------------------------------------------------- */

/* P(x1 < N(0,1) <= x2), relative error below 16 eps: six-point Gauss-Legendre on
 * phi(m) e^{-mt - t^2/2} where the panel is short (its error is then below 1e-16
 * of the integral), else a difference of tails that does not cancel.               */
MCAMP__PRIV double mcamp__gauss_mass(double x1, double x2)
{
    static const double node[3] = { 0.238619186083196909, 0.661209386466264514,
                                    0.932469514203152028 };
    static const double weight[3] = { 0.467913934572691047, 0.360761573048138608,
                                      0.171324492379170345 };
    double m, h, s = 0, phi;
    if (!(x1 < x2)) return 0;
    if (x1 < -x2) { double t = x1; x1 = -x2; x2 = -t; }     /* now x1 + x2 >= 0 */
    h = 0.5 * (x2 - x1);
    m = x1 + h;
    if (!(h * (1 + m) <= 0.25)) {
        if (x1 > 0) {
            double a = mcamp__gauss_pdf(x1) * mcamp__mills(x1);
            return x2 > 40 ? a : a - mcamp__gauss_pdf(x2) * mcamp__mills(x2);
        }
        return 0.5 * (erf(x2 * MCAMP__SQRT1_2) + erf(-x1 * MCAMP__SQRT1_2));
    }
    phi = mcamp__gauss_pdf(m);
    for (int i = 0; i < 3; i++) {
        double t = h * node[i], g = exp(-0.5 * t * t);
        s += weight[i] * g * (exp(m * t) + exp(-m * t));
    }
    return phi * h * s;
}

/* log of the same where it would underflow. */
MCAMP__PRIV double mcamp__gauss_logmass(double x1, double x2)
{
    double h, m, s = 0;
    if (!(x1 < x2)) return -mcamp__inf();
    if (x1 < -x2) { double t = x1; x1 = -x2; x2 = -t; }
    h = 0.5 * (x2 - x1);
    m = x1 + h;
    if (!(m > 30)) return log(mcamp__gauss_mass(x1, x2));
    if (!(h * (1 + m) <= 0.25)) {
        double a = mcamp__gauss_logsf(x1), b = mcamp__gauss_logsf(x2);
        return a + log1p(-exp(b - a));
    }
    s = sinh(m * h) / m;    /* int of e^{-mt}; the factor e^{-t^2/2} is 1 - O(h^2) */
    return -0.5 * m * m - MCAMP__LOG_SQRT_2PI + log(2 * s);
}

/* ---- discrete laws of the loss --------------------------------------------------- */

/* Atoms of the privacy loss of one mechanism under its first distribution, and the
 * mass of infinite loss.                                                             */
typedef struct mcamp__law {
    double *l, *w;
    size_t n, cap;
    double pinf, count;
} mcamp__law;

MCAMP__PRIV void mcamp__law_free(mcamp_ctx *ctx, mcamp__law *a)
{
    mcamp__delete_doubles(ctx, a->l, a->cap);
    mcamp__delete_doubles(ctx, a->w, a->cap);
    memset(a, 0, sizeof *a);
}

MCAMP__PRIV int mcamp__law_alloc(mcamp_ctx *ctx, mcamp__law *a, size_t cap)
{
    memset(a, 0, sizeof *a);
    a->cap = cap;
    a->l = mcamp__new_doubles(ctx, cap);
    a->w = mcamp__new_doubles(ctx, cap);
    if (a->l && a->w) return 1;
    mcamp__law_free(ctx, a);
    return 0;
}

/* Heap sort of atoms by position. */
MCAMP__PRIV void mcamp__law_sift(mcamp__law *a, size_t i, size_t n)
{
    for (;;) {
        size_t c = 2 * i + 1;
        double l = a->l[i], w = a->w[i];
        if (c >= n) return;
        if (c + 1 < n && a->l[c + 1] > a->l[c]) c++;
        if (!(a->l[c] > l)) return;
        a->l[i] = a->l[c]; a->w[i] = a->w[c];
        a->l[c] = l; a->w[c] = w;
        i = c;
    }
}

MCAMP__PRIV void mcamp__law_sort(mcamp__law *a)
{
    for (size_t i = a->n / 2; i-- > 0; ) mcamp__law_sift(a, i, a->n);
    for (size_t n = a->n; n-- > 1; ) {
        double l = a->l[0], w = a->w[0];
        a->l[0] = a->l[n]; a->w[0] = a->w[n];
        a->l[n] = l; a->w[n] = w;
        mcamp__law_sift(a, 0, n);
    }
}

/* b > i/n with Pr(Binomial(n, b) <= i) <= e^-t, by Chernoff: n KL(i/n, b) >= t. */
MCAMP__PRIV double mcamp__binomial_upper(double n, double i, double t)
{
    double x = i / n, lo = x, hi = 1;
    if (!(i > 0)) return -expm1(-t / n);
    for (int k = 0; k < 80; k++) {
        double b = 0.5 * (lo + hi);
        double kl = x * log(x / b) + (1 - x) * log1p((b - x) / (1 - b));
        if (!(b < 1)) break;
        if (n * kl >= t) hi = b; else lo = b;
    }
    return hi;
}

/* The next rank to be looked at: ranks grow by a thirtieth. */
MCAMP__PRIV double mcamp__next_rank(double i) { return i + floor(1 + i / 30); }

/* A law that is at least as large as the sampled one, with probability 1 - beta.  Drawing
 * L = F^-1(U), Pr(L > F^-1(u)) <= 1 - u: the mass above the i-th largest sample is at most
 * 1 - U_(n-i+1), which exceeds b with probability Pr(Binomial(n, b) < i).  For ranks
 * i_1 = 1 < i_2 < .. fixed beforehand, J of them, each at level beta/J, bounds b_i hold at
 * once; the mass between two ranks goes to its upper end, b_1 to infinity.  (A band of
 * constant width, as of Dvoretzky, Kiefer and Wolfowitz, would send sqrt(log(1/beta)/2n)
 * to infinity, which is far above any delta.)  l sorted.                                   */
MCAMP__PRIV void mcamp__law_band(mcamp__law *a, double beta)
{
    double n = (double)a->n, J = 0, t, below = 0;
    size_t out = 0;
    for (double i = 1; i <= n; i = mcamp__next_rank(i)) J++;
    t = log(J / beta) * (1 + 1e-12);
    for (double i = 1; i <= n; i = mcamp__next_rank(i)) {
        double b = mcamp__dmin(1.0, mcamp__binomial_upper(n, i - 1, t) * (1 + 1e-12));
        b = mcamp__dmax(b, below);
        /* up to rank i, from the rank before: at the larger of both samples */
        if (out) a->w[a->n - out] = b - below; else a->pinf = b;
        below = b;
        out++;
        a->l[a->n - out] = a->l[a->n - (size_t)i];
    }
    a->w[a->n - out] = 1 - below;
    memmove(a->l, a->l + a->n - out, out * sizeof(double));
    memmove(a->w, a->w + a->n - out, out * sizeof(double));
    a->n = out;
}

/* ---- pairs of distributions -------------------------------------------------------- */

/* Which bound a law serves. */
typedef enum mcamp__side { MCAMP__UPPER, MCAMP__LOWER } mcamp__side;

/* Where a pair's cells come from. */
typedef enum mcamp__source {
    MCAMP__SOURCE_MOG,      /* parameter x on the line, mog                        */
    MCAMP__SOURCE_LAPLACE,  /* parameter: loss before sampling, in [-a, a]         */
    MCAMP__SOURCE_POINT     /* a single value of the loss                          */
} mcamp__source;

/* Outcomes with x1 < x <= x2, or one point; losses between lo and hi (either may be
 * infinite); p and q their probabilities under P and Q in the remove direction, and
 * v = log(p/q), which does not underflow, with its error.                          */
typedef struct mcamp__cell {
    double lo, hi, p, q, v, verr, x1, x2;
    int branch;             /* index of the branch, -1 for points */
} mcamp__cell;

typedef struct mcamp__branch {
    mcamp__source source;
    double weight;          /* P and Q both see this branch with this probability */
    double a, q;            /* LAPLACE: loss bound before sampling, sampling rate */
    mcamp__mog mog;
} mcamp__branch;

#define MCAMP__BINS_CURVE 96        /* points of BINS in composition */

/* One mechanism: branches of which the adversary sees which one came, and points. */
typedef struct mcamp__pair {
    mcamp_event e;          /* BINS in composition: a CURVE */
    mcamp__branch br[3];
    int nbr;
    int missing;            /* 1 + the side that does not see it, or 0 */
    int bins;               /* cells of X = e^loss under Q, see below: 1 call, 2 put */
    int raw;                /* bins: positions X, not X - 1                       */
    double reach, left;     /* bins: of the cells, and what they miss, see there  */
    double count, err;      /* relative error of p and q, together */
    mcamp__cell *pilot;
    size_t npilot;
    mcamp__law band[2];     /* SAMPLED: a law above the sampled one, by direction */
    double *curve;          /* BINS: eps, delta remove, delta add */
} mcamp__pair;

/* Sampling with rate q turns a loss l into log(1 - q + q e^l). */
MCAMP__PRIV double mcamp__sampled_loss(double q, double l)
{
    if (!(q < 1) || l > 700) return q < 1 && l < DBL_MAX ? l + log(q) : l;
    return log1p(q * expm1(l));
}

MCAMP__PRIV double mcamp__branch_loss(const mcamp__branch *b, double x)
{
    double y = 0;
    if (b->source == MCAMP__SOURCE_LAPLACE) return mcamp__sampled_loss(b->q, x);
    if (x > DBL_MAX) return b->mog.amax > 0 ? mcamp__inf() : 0.0;
    if (x >= -DBL_MAX) return mcamp__mog_loss(&b->mog, x);
    for (size_t i = 0; i < b->mog.n; i++) if (b->mog.a[i] > 0) y += b->mog.p[i];
    return y < 1 - 1e-15 ? log1p(-y) : -mcamp__inf();
}

/* Sets v = log(p/q), from logarithms where one of them underflows; the short-panel
 * formula for those has a relative error of h^2/6, far below what matters there, and
 * counts in full.                                                                     */
MCAMP__PRIV void mcamp__cell_ratio(const mcamp__branch *b, mcamp__cell *c, double p,
                                   double q)
{
    double lp, lq, top = -mcamp__inf(), s = 0, h = 0.5 * (c->x2 - c->x1);
    if ((p > 1e-280 && q > 1e-280) || !(p + q > 0) || b->source != MCAMP__SOURCE_MOG) {
        c->v = log(p / q);
        c->verr = 2 * DBL_EPSILON * fabs(c->v);
        return;
    }
    lq = mcamp__gauss_logmass(c->x1, c->x2);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < b->mog.n; i++) {
            lp = log(b->mog.p[i]) + mcamp__gauss_logmass(c->x1 - b->mog.a[i],
                                                         c->x2 - b->mog.a[i]);
            if (pass) s += exp(lp - top); else top = mcamp__dmax(top, lp);
        }
    lp = top + log(s);
    c->v = lp - lq;
    c->verr = 8 * DBL_EPSILON * (fabs(lp) + fabs(lq)) + (h < 1 ? h * h : 0);
}

/* The cell of x1 < x <= x2.  Laplace: the loss L has density e^{-(a-L)/2}/4 under P
 * and e^{-(a+L)/2}/4 under Q between its two atoms.                                 */
MCAMP__PRIV mcamp__cell mcamp__branch_cell(const mcamp__branch *b, int index,
                                           double x1, double x2)
{
    mcamp__cell c;
    double p = 0, q;
    if (b->source == MCAMP__SOURCE_LAPLACE) {
        double w = 0.5 * (x2 - x1);
        p = 0.5 * exp(0.5 * (x1 - b->a)) * expm1(w);
        q = -0.5 * exp(-0.5 * (x1 + b->a)) * expm1(-w);
        p = (1 - b->q) * q + b->q * p;
    } else {
        q = mcamp__gauss_mass(x1, x2);
        for (size_t i = 0; i < b->mog.n; i++)
            p += b->mog.p[i] * (b->mog.a[i] > 0 ?
                 mcamp__gauss_mass(x1 - b->mog.a[i], x2 - b->mog.a[i]) : q);
    }
    c.lo = mcamp__branch_loss(b, x1);
    c.hi = mcamp__branch_loss(b, x2);
    if (!(c.lo <= c.hi)) c.lo = c.hi;
    c.p = b->weight * p;
    c.q = b->weight * q;
    c.v = 0; c.verr = 0;
    c.x1 = x1; c.x2 = x2;
    c.branch = index;
    mcamp__cell_ratio(b, &c, p, q);
    return c;
}

MCAMP__PRIV void mcamp__pair_free(mcamp_ctx *ctx, mcamp__pair *p)
{
    for (int i = 0; i < 3; i++) mcamp__mog_free(ctx, &p->br[i].mog);
    for (int i = 0; i < 2; i++) mcamp__law_free(ctx, &p->band[i]);
    mcamp__delete_doubles(ctx, p->curve, 3 * MCAMP__BINS_CURVE);
    mcamp__delete(ctx, p->pilot, p->npilot, sizeof *p->pilot);
    memset(p, 0, sizeof *p);
}

/* A growing array of cells, sized beforehand. */
typedef struct mcamp__cells { mcamp__cell *c; size_t n, cap; } mcamp__cells;

MCAMP__PRIV void mcamp__cells_push(mcamp__cells *a, mcamp__cell c)
{
    if (a->n < a->cap && (c.p > 0 || c.q > 0)) a->c[a->n++] = c;
}

MCAMP__PRIV void mcamp__cells_point(mcamp__cells *a, double loss, double p, double q)
{
    mcamp__cell c;
    memset(&c, 0, sizeof c);
    c.lo = c.hi = c.v = loss;
    c.p = p; c.q = q; c.branch = -1;
    mcamp__cells_push(a, c);
}

/* A point of the loss before sampling with rate s. */
MCAMP__PRIV void mcamp__cells_sampled(mcamp__cells *a, double s, double loss,
                                      double p, double q)
{
    double l = loss < -DBL_MAX ? (s < 1 ? log1p(-s) : loss) : mcamp__sampled_loss(s, loss);
    if (loss > DBL_MAX) {               /* P only; Q has none of it to add */
        mcamp__cells_point(a, loss, s * p, 0);
        return;
    }
    mcamp__cells_point(a, l, (1 - s) * q + s * p, q);
}

#define MCAMP__PILOT 400       /* cells of a pilot grid, about */

/* Cells from -infinity to `from` < 0, growing geometrically: with sampling the loss of
 * the add direction ends at -log(1 - q), and one cell up to there would put an atom at
 * its end, which large tilts make count.                                            */
MCAMP__PRIV double mcamp__pilot_left(const mcamp__branch *b, int index, double from,
                                     mcamp__cells *out)
{
    double x = -mcamp__inf();
    for (double y = -37; y < from; y /= 1.25) {
        mcamp__cells_push(out, mcamp__branch_cell(b, index, x, y));
        x = y;
    }
    mcamp__cells_push(out, mcamp__branch_cell(b, index, x, from));
    return from;
}

/* Uniform cells on the union of [a_i - z, a_i + z], one cell in every gap.
 * All but sf(z) of each component is inside.                                        */
MCAMP__PRIV void mcamp__pilot_mog(const mcamp__branch *b, int index, double z,
                                  mcamp__cells *out)
{
    const mcamp__mog *m = &b->mog;
    double total = 0, end = -z, step, x;
    for (int pass = 0; pass < 2; pass++) {
        x = -mcamp__inf();
        step = pass ? mcamp__dmax(total / MCAMP__PILOT, 0.05) : 0;
        for (size_t i = 0; i <= m->n; i++) {    /* components rise; 0 comes first */
            double c = i ? m->a[i - 1] : 0, from = c - z, to = c + z, k;

            if (i) from = mcamp__dmax(from, end);
            if (!(from < to)) continue;
            end = to;
            if (!pass) { total += to - from; continue; }
            if (!(x >= -DBL_MAX)) x = mcamp__pilot_left(b, index, from, out);
            if (from > x) {
                mcamp__cells_push(out, mcamp__branch_cell(b, index, x, from));
                x = from;
            }
            k = ceil((to - from) / step);
            for (double j = 1; j <= k; j++) {
                double y = j < k ? from + (to - from) * (j / k) : to;
                mcamp__cells_push(out, mcamp__branch_cell(b, index, x, y));
                x = y;
            }
        }
        if (!pass) end = -z;
    }
    mcamp__cells_push(out, mcamp__branch_cell(b, index, x, mcamp__inf()));
}

MCAMP__PRIV void mcamp__pilot_laplace(const mcamp__branch *b, int index,
                                      mcamp__cells *out)
{
    const int n = MCAMP__PILOT / 2;
    mcamp__cells_sampled(out, b->q, -b->a, 0.5 * exp(-b->a), 0.5);
    for (int i = 0; i < n; i++)
        mcamp__cells_push(out, mcamp__branch_cell(b, index, b->a * (2.0 * i / n - 1),
                                                  b->a * (2.0 * (i + 1) / n - 1)));
    mcamp__cells_sampled(out, b->q, b->a, 0.5, 0.5 * exp(-b->a));
}


/* Of the other n examples a batch of rate q draws S.  over = P(S >= B); edge, what one
 * more of them adds to it; cut = E (1 - B/(S + 1))_+, by which an example's rate falls.
 * The sum leaves out what is 40 standard deviations below the mean.                     */
typedef struct mcamp__cut_odds { double over, edge, cut; } mcamp__cut_odds;

MCAMP__PRIV mcamp__cut_odds mcamp__odds_of_cut(double n, double B, double q)
{
    mcamp__sum over = { 0, 0 }, cut = { 0, 0 };
    mcamp__cut_odds o;
    double low = floor(n * q - 40 * sqrt(n * q * (1 - q)) - 100);
    for (double k = mcamp__dmax(B, low); k <= n; k++) {
        double t = exp(mcamp__log_binomial(n, k, q, 1 - q));
        mcamp__sum_add(&over, t);
        mcamp__sum_add(&cut, t * (1 - B / (k + 1)));
        if (k > n * q && !(t > 1e-18 * mcamp__sum_get(&over))) break;
    }
    o.over = mcamp__dmin(1, mcamp__sum_get(&over));
    o.edge = B - 1 <= n ? q * exp(mcamp__log_binomial(n, B - 1, q, 1 - q)) : 0;
    o.cut = mcamp__dmin(1, mcamp__sum_get(&cut));
    return o;
}

/* Truncated Poisson batches, from above.  Whoever the other examples are, S of them are
 * drawn; that number may be told to the adversary.  If S < batch, the example joins: shift
 * 1 with probability q.  Else it replaces one with probability at most batch/(batch + 1):
 * shift at most 2 with probability q batch/(batch + 1).  There are population - 1 others,
 * or population of them (the neighbour with one more): where only the latter cut, and for
 * what is lost in rounding, shift 2 with probability q stands for either case.          */
MCAMP__PRIV mcamp_status mcamp__pair_truncated(mcamp_ctx *ctx, const mcamp_event *e,
                                               mcamp__pair *p)
{
    double B = (double)e->batch, a = mcamp__event_scale(e), most;
    mcamp__cut_odds o = mcamp__odds_of_cut((double)e->population - 1, B, e->q);
    for (int i = 1; i < 3; i++) {
        mcamp_status st = mcamp__mog_alloc(ctx, &p->br[i].mog, 2);
        if (st < 0) return st;
        mcamp__mog_pair(&p->br[i].mog, 2 * a, i == 1 ? e->q * B / (B + 1) : e->q);
        mcamp__mog_tidy(&p->br[i].mog);
    }
    most = mcamp__dmin(1.0, (o.over + o.edge) * (1 + 1e-12) + 1e-60);
    p->br[0].weight = 1 - most;
    p->br[1].weight = o.over * (1 - 1e-12);
    p->br[2].weight = most - p->br[1].weight;
    p->nbr = 3;
    return MCAMP_OK;
}

/* The hockey-stick curve below which an unknown mechanism lies is the convex hull of
 * (0, 1) and the given points in u = e^eps, eps of either sign: H(u) = delta_remove
 * for u >= 1, 1 - u + u delta_add(1/u) for u < 1.  Its kinks are the atoms.  Where u is
 * small H cannot be told from 1: g = H - (1 - u) is kept besides.                         */
typedef struct mcamp__hull { double *u, *h, *g; size_t n; } mcamp__hull;

/* Slope from point i - 1 to point i of H, or of g. */
MCAMP__PRIV double mcamp__hull_slope(const mcamp__hull *a, size_t i, int of_g)
{
    double du = a->u[i] - a->u[i - 1];
    if (a->u[i] <= 1) return (a->g[i] - a->g[i - 1]) / du - (of_g ? 0 : 1);
    return (a->h[i] - a->h[i - 1]) / du + (of_g ? 1 : 0);
}

/* Adds a point to the right; points above the hull go. */
MCAMP__PRIV void mcamp__hull_add(mcamp__hull *a, double u, double h, double g)
{
    size_t i = a->n;
    double rise = u - a->u[i - 1];
    if (!mcamp__finite(u)) return;
    h = mcamp__dmin(h, a->h[i - 1]);            /* the curve never rises */
    g = mcamp__dmin(g, a->g[i - 1] + rise);
    if (!(rise > 0) && --i < 1) return;         /* the same place: the lower one */
    for (; ; i--) {
        a->u[i] = u; a->h[i] = h; a->g[i] = g;
        if (i < 2 || mcamp__hull_slope(a, i, u <= 1) > mcamp__hull_slope(a, i - 1, u <= 1)) break;
    }
    a->n = i + 1;
}

MCAMP__PRIV void mcamp__pilot_curve(const mcamp_event *e, mcamp__hull *a, mcamp__cells *out)
{
    a->u[0] = 0; a->h[0] = 1; a->g[0] = 0;
    a->n = 1;
    for (size_t i = e->n; i-- > 0; ) {
        double x = exp(-e->shift[i]), g = x * e->prob2[i];
        mcamp__hull_add(a, x, -expm1(-e->shift[i]) + g, g);
    }
    for (size_t i = 0; i < e->n; i++)
        mcamp__hull_add(a, exp(e->shift[i]), e->prob[i], e->prob[i] + expm1(e->shift[i]));
    mcamp__cells_point(out, mcamp__inf(), a->h[a->n - 1], 0);
    for (size_t i = 0; i < a->n; i++) {
        int low = a->u[i] < 1;
        double s0 = i ? mcamp__hull_slope(a, i, low) : 0;
        double s1 = i + 1 < a->n ? mcamp__hull_slope(a, i + 1, low) : low;
        double q = mcamp__dmax(0.0, s1 - s0);
        mcamp__cells_point(out, i ? log(a->u[i]) : -mcamp__inf(), a->u[i] * q, q);
    }
}

MCAMP__PRIV mcamp_status mcamp__pair_curve(mcamp_ctx *ctx, const mcamp_event *e,
                                           mcamp__cells *out)
{
    size_t n = 2 * e->n + 2;
    mcamp__hull a;
    double *m = mcamp__new_doubles(ctx, 3 * n);
    if (!m) return mcamp__fail(ctx, MCAMP_E_MEMORY, "events", (double)n);
    a.u = m; a.h = m + n; a.g = m + 2 * n;
    mcamp__pilot_curve(e, &a, out);
    mcamp__delete_doubles(ctx, m, 3 * n);
    return MCAMP_OK;
}

MCAMP__PRIV void mcamp__pilot_response(const mcamp_event *e, mcamp__cells *out)
{
    double s = e->q > 0 ? e->q : 1, r = 1 - e->delta;
    double keep = r / (1 + exp(-e->eps)), flip = keep * exp(-e->eps);
    mcamp__cells_sampled(out, s, -mcamp__inf(), 0, e->delta);
    if (e->eps > 0) {
        mcamp__cells_sampled(out, s, -e->eps, flip, keep);
        mcamp__cells_sampled(out, s, e->eps, keep, flip);
    } else {
        mcamp__cells_point(out, 0, r, r);
    }
    mcamp__cells_sampled(out, s, mcamp__inf(), e->delta, 0);
}

/* A finite pair, both taken as proportions of their sums.  Losses are known to some ulp of
 * the logarithms.                                                                     */
MCAMP__PRIV void mcamp__pilot_pair(const mcamp_event *e, mcamp__cells *out)
{
    double sp = 0, sq = 0;
    mcamp__check_numbers(NULL, "", e->prob, e->n, 0, 1, &sp);
    mcamp__check_numbers(NULL, "", e->prob2, e->n, 0, 1, &sq);
    for (size_t i = 0; i < e->n; i++) {
        double p = e->prob[i] / sp, q = e->prob2[i] / sq, lp = log(p), lq = log(q);
        size_t at = out->n;
        mcamp__cells_point(out, mcamp__eq(p, q) ? 0 : p > 0 ? lp - lq : -mcamp__inf(), p, q);
        if (at == out->n || mcamp__eq(p, q) || !(p > 0 && q > 0)) continue;
        out->c[at].verr = 4 * DBL_EPSILON * (1 + fabs(lp) + fabs(lq));
        out->c[at].lo -= out->c[at].verr;
        out->c[at].hi += out->c[at].verr;
    }
}

/* The law above the sampled one: only what one direction looks at is true of it. */
MCAMP__PRIV void mcamp__pilot_sampled(const mcamp__law *a, int add, mcamp__cells *out)
{
    double s = add ? -1 : 1;
    mcamp__cells_point(out, s * mcamp__inf(), add ? 0 : a->pinf, add ? a->pinf : 0);
    for (size_t i = 0; i < a->n; i++)
        mcamp__cells_point(out, s * a->l[i], add ? 0 : a->w[i], add ? a->w[i] : 0);
}

MCAMP__PRIV mcamp_status mcamp__pair_sampled(mcamp_ctx *ctx, const mcamp_event *e,
                                             mcamp__pair *p)
{
    for (int add = 0; add < 2; add++) {
        if (!mcamp__law_alloc(ctx, &p->band[add], e->n))
            return mcamp__fail(ctx, MCAMP_E_MEMORY, "n", (double)e->n);
        memcpy(p->band[add].l, add ? e->prob : e->shift, e->n * sizeof *e->shift);
        p->band[add].n = e->n;
        mcamp__law_sort(&p->band[add]);
        mcamp__law_band(&p->band[add], 0.5 * e->beta);      /* half for each direction */
    }
    return MCAMP_OK;
}

/* Has it a level?  Counted once, however often it is used. */
MCAMP__PRIV int mcamp__event_sampled(const mcamp_event *e)
{
    return e->kind == MCAMP_EVENT_CURVE || e->kind == MCAMP_EVENT_SAMPLED;
}

/* An event without effect: leaving it out changes nothing. */
MCAMP__PRIV int mcamp__event_idle(const mcamp_event *e)
{
    if (e->kind == MCAMP_EVENT_RESPONSE) return !(e->eps > 0) && !(e->delta > 0);
    if (e->kind == MCAMP_EVENT_BINS) return !(mcamp__bins_longest(e) > 0);
    if (e->kind != MCAMP_EVENT_MIXTURE) return 0;
    for (size_t i = 0; i < e->n; i++)
        if (e->prob[i] > 0 && e->shift[i] > 0) return 0;
    return 1;
}

MCAMP__PRIV mcamp_status mcamp__pair_mog(mcamp_ctx *ctx, const mcamp_event *e, mcamp__pair *p)
{
    mcamp_status st = mcamp__mog_init(ctx, e, &p->br[0].mog);
    p->nbr = 1;
    if (st < 0) return st;
    p->err += (double)p->br[0].mog.n * DBL_EPSILON;
    p->count = p->br[0].mog.count;
    if (e->kind == MCAMP_EVENT_BINS) { p->bins = 1; p->count = (double)e->bins; }
    return e->kind == MCAMP_EVENT_TRUNCATED ? mcamp__pair_truncated(ctx, e, p) : MCAMP_OK;
}

/* The branches of an event; z is set later, with the pilot.  What fails is freed by
 * whoever owns the pair.                                                            */
MCAMP__PRIV mcamp_status mcamp__pair_init(mcamp_ctx *ctx, const mcamp_event *e,
                                          mcamp__pair *p)
{
    memset(p, 0, sizeof *p);
    p->e = *e;
    p->count = (double)e->count;
    p->err = 16 * DBL_EPSILON;
    p->br[0].weight = 1;
    if (e->kind == MCAMP_EVENT_CURVE || e->kind == MCAMP_EVENT_SAMPLED ||
        e->kind == MCAMP_EVENT_TRUNCATED)
        p->missing = 1 + MCAMP__LOWER;
    if (e->kind == MCAMP_EVENT_SAMPLED) return mcamp__pair_sampled(ctx, e, p);
    if (e->kind == MCAMP_EVENT_LAPLACE) {
        p->nbr = 1;
        p->br[0].source = MCAMP__SOURCE_LAPLACE;
        p->br[0].a = mcamp__event_scale(e);
        p->br[0].q = e->q > 0 ? e->q : 1;
        return MCAMP_OK;
    }
    if (e->kind == MCAMP_EVENT_RESPONSE || e->kind >= MCAMP_EVENT_CURVE) return MCAMP_OK;
    return mcamp__pair_mog(ctx, e, p);
}

/* Curve of one use of BINS, so far out that what is beyond stays below `below`: points rise
 * with the square of their index, the last is where the bound without amplification does. */
MCAMP__PRIV mcamp_status mcamp__pair_bins(mcamp_ctx *ctx, const mcamp_event *e, double below,
                                          size_t max_bytes, mcamp__pair *p)
{
    mcamp_event one = *e;
    mcamp_exact_desc d;
    double *eps, end, mu;
    const double last = MCAMP__BINS_CURVE - 1;
    memset(p, 0, sizeof *p);
    p->curve = eps = mcamp__new_doubles(ctx, 3 * MCAMP__BINS_CURVE);
    if (!eps) return mcamp__fail(ctx, MCAMP_E_MEMORY, "events", 0);
    one.count = 1;
    mu = sqrt(mcamp__event_mu2(&one));
    end = mcamp__gauss_eps_up(mu * (1 + 8 * DBL_EPSILON), log(below)) + 1e-12;
    memset(&d, 0, sizeof d);
    d.rel_error = 3e-3;
    d.max_bytes = mcamp__zmin(max_bytes, 2000000);      /* some ms a point */
    for (int dir = 0; dir < 2; dir++) {
        mcamp_interval v = { 0, 1 };
        d.direction = dir ? MCAMP_ADD : MCAMP_REMOVE;
        for (int i = 0; i < MCAMP__BINS_CURVE; i++) {
            mcamp_status st = MCAMP_OK;
            eps[i] = end * (i / last) * (i / last);
            if (v.upper > below) st = mcamp_exact_delta(ctx, &one, 1, &d, eps[i], &v, NULL);
            if (st < 0) return st;
            eps[(dir + 1) * MCAMP__BINS_CURVE + i] = v.upper;
        }
    }
    memset(&one, 0, sizeof one);
    one.kind = MCAMP_EVENT_CURVE;
    one.count = e->count;
    one.n = MCAMP__BINS_CURVE;
    one.shift = eps; one.prob = eps + one.n; one.prob2 = eps + 2 * one.n;
    p->e = one;
    p->count = (double)one.count;
    p->err = 16 * DBL_EPSILON;
    p->missing = 1 + MCAMP__LOWER;
    return MCAMP_OK;
}

/* A pair below an event of which the other one is above: TRUNCATED batches where all other
 * gradients are 0, whoever is cut; one bin alone of BINS, the rest not looked at.        */
MCAMP__PRIV mcamp_status mcamp__pair_lower(mcamp_ctx *ctx, const mcamp_event *e, mcamp__pair *p)
{
    mcamp_event t = *e;
    double n = (double)e->population - 1;
    t.kind = MCAMP_EVENT_POISSON;
    if (e->kind == MCAMP_EVENT_TRUNCATED) {
        t.q = e->q * (1 - mcamp__odds_of_cut(n, (double)e->batch, e->q).cut) * (1 - 1e-12);
    } else {
        t.q = (1 - 4 * DBL_EPSILON) / (double)e->bins;
        t.sigma = e->sigma / sqrt((double)e->rounds) * (1 + 4 * DBL_EPSILON);
    }
    mcamp_status st = mcamp__pair_init(ctx, &t, p);
    p->missing = 1 + MCAMP__UPPER;
    return st;
}

MCAMP__PRIV mcamp_status mcamp__pair_pilot(mcamp_ctx *ctx, mcamp__pair *p, double z, int add)
{
    mcamp__cells out;
    const mcamp_event *e = &p->e;
    mcamp_status st = MCAMP_OK;
    size_t cap = 2 * MCAMP__PILOT + 2 * e->n + 16;
    for (int i = 0; i < p->nbr; i++) cap += 3 * p->br[i].mog.n + MCAMP__PILOT;
    mcamp__delete(ctx, p->pilot, p->npilot, sizeof *p->pilot);
    p->npilot = 0;
    p->pilot = out.c = (mcamp__cell *)mcamp__new(ctx, cap, sizeof *out.c);
    if (!p->pilot) return mcamp__fail(ctx, MCAMP_E_MEMORY, "events", (double)cap);
    out.n = 0; out.cap = cap;
    p->npilot = cap;
    for (int i = 0; i < p->nbr; i++) {
        if (p->br[i].source == MCAMP__SOURCE_LAPLACE) mcamp__pilot_laplace(&p->br[i], i, &out);
        else mcamp__pilot_mog(&p->br[i], i, z, &out);
    }
    if (e->kind == MCAMP_EVENT_RESPONSE) mcamp__pilot_response(e, &out);
    if (e->kind == MCAMP_EVENT_CURVE) st = mcamp__pair_curve(ctx, e, &out);
    if (e->kind == MCAMP_EVENT_PAIR) mcamp__pilot_pair(e, &out);
    if (e->kind == MCAMP_EVENT_SAMPLED) mcamp__pilot_sampled(&p->band[add], add, &out);
    return st;
}

/* ---- from cells to laws ---------------------------------------------------------- */

MCAMP__PRIV void mcamp__law_add(mcamp__law *a, double l, double w)
{
    if (!(w > 0)) return;
    if (a->n && mcamp__eq(a->l[a->n - 1], l)) { a->w[a->n - 1] += w; return; }
    a->l[a->n] = l;
    a->w[a->n++] = w;
}

/* delta is convex in y = e^{-loss} of every single mechanism: moving a cell's mass to
 * its two ends with sum and mean of y kept can only raise delta, also when it comes
 * to composition (Jensen; in DP terms the spread pair dominates).  Rounding errors of
 * p and q (relative err) go to the upper end; p is rounded up.                        */
MCAMP__PRIV void mcamp__law_spread(mcamp__law *a, mcamp__cell c, double err)
{
    double ev = 2 * err + c.verr, width = c.hi - c.lo, f = 1, p = c.p * (1 + err);
    if (!(p > 0)) return;
    if (c.hi > DBL_MAX) {       /* y between 0 and e^{-lo} */
        double m = c.lo < DBL_MAX && c.lo > -DBL_MAX ?
                   p * exp(c.lo - c.v - 2 * ev) * (1 - fabs(c.lo) * DBL_EPSILON) : 0;
        m = mcamp__dmin(p, mcamp__dmax(m, 0.0));
        mcamp__law_add(a, c.lo, m);
        a->pinf += p - m;
        return;
    }
    if (c.lo < -DBL_MAX) { mcamp__law_add(a, c.hi, p); return; }
    if (width > 4 * ev)
        f = mcamp__dmin(1.0, (expm1(c.lo - c.v) - ev) / expm1(-width));
    if (!(f > 0)) f = 0;
    mcamp__law_add(a, c.lo, p * (1 - f));
    mcamp__law_add(a, c.hi, p * f);
}

/* Merging a cell into one outcome is post-processing: it can only lower delta.  The
 * merged loss is log(p/q), here rounded down, as is p.                                */
MCAMP__PRIV void mcamp__law_merge(mcamp__law *a, mcamp__cell c, double err)
{
    double p = c.p * (1 - err), v = c.v - 2 * err - c.verr;
    if (!(p > 0)) return;
    if (c.lo > DBL_MAX) { a->pinf += p; return; }
    if (v >= -DBL_MAX && v <= DBL_MAX) mcamp__law_add(a, v, p);
}

/* The mirror image: the add direction exchanges the two distributions. */
MCAMP__PRIV mcamp__cell mcamp__cell_turn(mcamp__cell c, int add)
{
    mcamp__cell t = c;
    if (!add) return c;
    t.lo = -c.hi; t.hi = -c.lo;
    t.p = c.q; t.q = c.p;
    t.v = -c.v;
    return t;
}

/* Where X = e^loss stands: X - 1, negated for a put; or X itself where the sums that
 * matter are far below 1 and X - 1 would cancel.                                      */
MCAMP__PRIV double mcamp__bins_at(const mcamp__pair *p, double loss)
{
    double x = p->raw ? exp(loss) : expm1(loss);
    return p->bins == 2 ? -x : x;
}

/* Balls in bins with C = I: positions X - 1 (call) or 1 - X (put) weighted by Q.  A
 * convex function of the sum of the X is estimated, so that here too spreading with the
 * mean kept raises and merging lowers; q is rounded with the side, the mean p/q of a
 * cell to where the function is larger or smaller.                                     */
MCAMP__PRIV void mcamp__law_bins(mcamp__law *a, const mcamp__pair *p, mcamp__cell c,
                                 mcamp__side side)
{
    double s = side == MCAMP__UPPER ? 1 : -1, q = c.q * (1 + s * p->err), f;
    double v = c.v + (p->bins == 2 ? -s : s) * (2 * p->err + c.verr);
    if (!(q > 0)) return;
    v = mcamp__dmax(c.lo, mcamp__dmin(c.hi, v));
    if (side == MCAMP__LOWER) { mcamp__law_add(a, mcamp__bins_at(p, v), q); return; }
    f = c.lo < -DBL_MAX ? exp(v - c.hi) : expm1(v - c.lo) / expm1(c.hi - c.lo);
    if (!(c.hi > c.lo)) f = 1;
    f = mcamp__dmax(0.0, mcamp__dmin(1.0, f));
    mcamp__law_add(a, mcamp__bins_at(p, c.lo), q * (1 - f));
    mcamp__law_add(a, mcamp__bins_at(p, c.hi), q * f);
}

MCAMP__PRIV void mcamp__law_cell(mcamp__law *a, const mcamp__pair *p, mcamp__cell c,
                                 mcamp__side side, int add)
{
    if (p->bins) { mcamp__law_bins(a, p, c, side); return; }
    c = mcamp__cell_turn(c, add);
    if (side == MCAMP__UPPER) mcamp__law_spread(a, c, p->err);
    else                      mcamp__law_merge(a, c, p->err);
}

/* The law of pair p with pilot cell i cut into share[i] parts (share NULL: one). */
MCAMP__PRIV void mcamp__law_fill(mcamp__law *a, const mcamp__pair *p,
                                 const double *share, mcamp__side side, int add)
{
    a->n = 0; a->pinf = 0; a->count = p->count;
    for (size_t k = 0; k < p->npilot; k++) {
        size_t i = add ? p->npilot - 1 - k : k;
        const mcamp__cell *c = &p->pilot[i];
        double parts = share && c->branch >= 0 ? share[i] : 1;
        if (!(c->p > 0 || c->q > 0)) continue;
        if (!(parts > 1)) { mcamp__law_cell(a, p, *c, side, add); continue; }
        for (double j = 0; j < parts; j++) {
            double s = add ? parts - 1 - j : j, w = (c->x2 - c->x1) / parts;
            mcamp__cell t = mcamp__branch_cell(&p->br[c->branch], c->branch,
                                               c->x1 + s * w,
                                               s + 1 < parts ? c->x1 + (s + 1) * w : c->x2);
            mcamp__law_cell(a, p, t, side, add);
        }
    }
}

/* ---- the saddle point --------------------------------------------------------------- */

/* What is inverted: 0, E(1 - e^{eps-S})_+ with transform 1/(z(z+1)); 1, E(S - k)_+
 * with transform 1/z^2.  g2: variance of a Gaussian mechanism (mu^2) that is kept in
 * closed form, kernel 0 only.                                                          */
typedef struct mcamp__sum_law {
    mcamp__law *law;
    size_t n;
    double g2, plus;        /* plus: kernel 1, a bound of E max(S, 0) */
    int kernel;
} mcamp__sum_law;

/* Cumulant function of the sum and its first two derivatives at lambda. */
typedef struct mcamp__cum { double k0, k1, k2, err; } mcamp__cum;

MCAMP__PRIV mcamp__cum mcamp__law_cum(const mcamp__law *a, double lambda)
{
    mcamp__sum s0 = { 0, 0 };
    mcamp__cum c;
    double top = -mcamp__inf(), m = 0, v = 0, s, la = 0, at = 0, wmax = 0;
    for (size_t j = 0; j < a->n; j++) top = mcamp__dmax(top, lambda * a->l[j]);
    for (size_t j = 0; j < a->n; j++)       /* a centre for the moments: the mode, about */
        if (a->w[j] > wmax) { wmax = a->w[j]; at = a->l[j]; }
    for (size_t j = 0; j < a->n; j++) {
        double x = lambda * a->l[j] - top, w, d = a->l[j] - at;
        if (x < -700) continue;             /* e^-700 of the largest term at most */
        w = a->w[j] * exp(x);
        mcamp__sum_add(&s0, w);
        m += w * d;
        v += w * d * d;
        la += w * fabs(a->l[j]);
    }
    s = mcamp__sum_get(&s0);
    m /= s;
    c.k0 = a->count * (top + log(s));
    c.k1 = a->count * (at + m);
    c.k2 = a->count * mcamp__dmax(0.0, v / s - m * m);
    c.err = a->count * DBL_EPSILON * (4 + 2 * fabs(lambda) * la / s + fabs(top));
    return c;
}

MCAMP__PRIV mcamp__cum mcamp__sum_cum(const mcamp__sum_law *s, double lambda)
{
    mcamp__cum t = { 0, 0, 0, 0 };
    for (size_t i = 0; i < s->n; i++) {
        mcamp__cum c = mcamp__law_cum(&s->law[i], lambda);
        t.k0 += c.k0; t.k1 += c.k1; t.k2 += c.k2; t.err += c.err;
    }
    t.k0 += 0.5 * s->g2 * lambda * (lambda + 1);
    t.k1 += s->g2 * (lambda + 0.5);
    t.k2 = mcamp__dmax(t.k2 + s->g2, 1e-16 * t.k1 * t.k1);   /* a constant loss */
    t.err += 4 * DBL_EPSILON * fabs(t.k0);
    return t;
}

/* log of the transform at lambda, and its derivative. */
MCAMP__PRIV double mcamp__log_pole(int kernel, double l)
{
    return kernel ? -2 * log(l) : -log(l) - log1p(l);
}
MCAMP__PRIV double mcamp__dlog_pole(int kernel, double l)
{
    return kernel ? -2 / l : -1 / l - 1 / (1 + l);
}

/* The point where the inversion integral is taken: K(l) - l eps + log pole is convex in
 * l > 0.  Given eps, its minimum; given log delta instead (use_delta), the minimum over
 * l of eps(l) = (K + log pole - log delta)/l.  Both are roots of rising functions; any
 * l > 0 is valid, so that a few digits are plenty.                                      */
MCAMP__PRIV double mcamp__saddle_fn(const mcamp__sum_law *s, double l, double eps,
                                    double ld, int use_delta)
{
    mcamp__cum c = mcamp__sum_cum(s, l);
    double d = c.k1 + mcamp__dlog_pole(s->kernel, l);
    return use_delta ? l * d - (c.k0 + mcamp__log_pole(s->kernel, l) - ld) : (d - eps) * l;
}

MCAMP__PRIV double mcamp__saddle(const mcamp__sum_law *s, double eps, double ld,
                                 int use_delta)
{
    mcamp__cum c = mcamp__sum_cum(s, 0);
    double u = -0.5 * log(mcamp__dmax(c.k2, 1e-200)), f, v, fv;
    double dir = 1;
    mcamp__root r;
    f = mcamp__saddle_fn(s, exp(u), eps, ld, use_delta);
    if (f > 0) dir = -1;
    for (v = u;;) {
        v += dir; dir *= 1.5;
        if (fabs(v) > 300) return exp(u);
        fv = mcamp__saddle_fn(s, exp(v), eps, ld, use_delta);
        if (!mcamp__finite(fv)) return exp(u);
        if ((fv > 0) != (f > 0)) break;
        u = v; f = fv;
    }
    mcamp__root_init(&r, u, f, v, fv);
    while (r.steps < 40 && fabs(r.hi - r.lo) > 1e-3) {
        double x = mcamp__root_next(&r);
        mcamp__root_update(&r, x, mcamp__saddle_fn(s, exp(x), eps, ld, use_delta));
    }
    return exp(0.5 * (r.lo + r.hi));
}

/* ---- inversion ------------------------------------------------------------------------ */

#define MCAMP__ALIAS 8

/* Everything about one law of the sum on the line Re z = lambda, for any eps.  With
 * z_k = lambda + i k tau, M the moment generating function and r the smoothing,
 *     D+ = (tau/2 pi) sum_k M(z_k) e^{r^2 z_k (z_k + 1)/2} e^{-z_k eps}/(z_k (z_k + 1))
 * is, by Poisson's summation formula, exactly
 *     sum_n e^{lambda n A} delta+(eps + n A),   A = 2 pi/tau,
 * where delta+ is delta after composition with a Gaussian mechanism of mu = r: every
 * term is positive, delta+ >= delta.  The lower bound uses the weight
 *     w-(x) = w+(x) - d0 e^{-x^2/(2 r^2) - x/2},   d0 = delta_gauss(r, 0),
 * which lies below (1 - e^{-x})_+ everywhere: by reflection w+ exceeds it by
 * e(x) = phi(x/r) e^{-x/2 - r^2/8} (R(|x|/r - r/2) - R(|x|/r + r/2)), and the bracket
 * falls with |x| since R' = xR - 1 rises.  Its transform is that of a Gaussian.
 * Kernel 1 is the same with w+ = E(x + r Z)_+ and the bump r phi(x/r) above
 * r (phi(v) - v Q(v)), v = |x|/r.                                                       */
typedef struct mcamp__spec {
    double *mem;                /* 5 arrays of n numbers                                */
    double *ar, *ai;            /* M e^{..} times the transform                         */
    double *br, *bi;            /* without it                                           */
    double *er;                 /* bound of the error of the latter                     */
    size_t n, cap;
    int kernel;
    double lambda, tau, r, g2, bump;
    double k0, kerr, pinf, mean;
    double tail_a, tail_b;      /* sums beyond n, at most                               */
    double alias_lambda[MCAMP__ALIAS], alias_k[MCAMP__ALIAS];
} mcamp__spec;

MCAMP__PRIV void mcamp__spec_free(mcamp_ctx *ctx, mcamp__spec *s)
{
    mcamp__delete_doubles(ctx, s->mem, 5 * s->cap);
    memset(s, 0, sizeof *s);
}

/* One law on the line: tilted weights w (sum 1), rotations by tau, current terms. */
typedef struct mcamp__line {
    const mcamp__law *law;
    double *w, *dr, *di;
    double *pr, *pi, *qr, *qi;  /* of strides: terms at t, rotations by a stride */
    double mean, mabs, dev;     /* E l, E|l|, E|l - E l| under w */
} mcamp__line;

#define MCAMP__LINE_ROWS 7      /* arrays of a line */

MCAMP__PRIV void mcamp__line_init(mcamp__line *x, const mcamp__law *a, double lambda,
                                  double tau, double *mem)
{
    double top = -mcamp__inf(), s = 0;
    size_t m = a->n;
    x->law = a; x->w = mem; x->dr = mem + m; x->di = mem + 2 * m;
    x->pr = mem + 3 * m; x->pi = mem + 4 * m; x->qr = mem + 5 * m; x->qi = mem + 6 * m;
    x->mean = x->mabs = x->dev = 0;
    for (size_t j = 0; j < m; j++) top = mcamp__dmax(top, lambda * a->l[j]);
    for (size_t j = 0; j < m; j++) s += x->w[j] = a->w[j] * exp(lambda * a->l[j] - top);
    for (size_t j = 0; j < m; j++) {
        x->w[j] /= s;
        x->mean += x->w[j] * a->l[j];
        x->mabs += x->w[j] * fabs(a->l[j]);
        x->dr[j] = cos(tau * a->l[j]);
        x->di[j] = sin(tau * a->l[j]);
    }
    for (size_t j = 0; j < m; j++) x->dev += x->w[j] * fabs(a->l[j] - x->mean);
}

/* Error of a computed sum_j w_j e^{i t l_j}: plain summation, at most 64 rotations of
 * 2 eps each, and the rounding of the angles.                                           */
MCAMP__PRIV double mcamp__line_error(const mcamp__line *x, double t)
{
    return DBL_EPSILON * (200 + (double)x->law->n + t * x->mabs);
}

/* Terms at t, and rotations by h. */
MCAMP__PRIV void mcamp__line_turn(mcamp__line *x, double t, double h)
{
    for (size_t j = 0; j < x->law->n; j++) {
        double l = x->law->l[j];
        x->pr[j] = x->w[j] * cos(t * l); x->pi[j] = x->w[j] * sin(t * l);
        x->qr[j] = cos(h * l); x->qi[j] = sin(h * l);
    }
}

/* |E e^{itl}| at most, of the terms as they stand. */
MCAMP__PRIV double mcamp__line_modulus(const mcamp__line *x, double t)
{
    double re = 0, im = 0;
    for (size_t j = 0; j < x->law->n; j++) { re += x->pr[j]; im += x->pi[j]; }
    return sqrt(re * re + im * im) + mcamp__line_error(x, t);
}

MCAMP__PRIV void mcamp__line_step(mcamp__line *x)
{
    for (size_t j = 0; j < x->law->n; j++) {
        double r = x->pr[j], i = x->pi[j];
        x->pr[j] = r * x->qr[j] - i * x->qi[j];
        x->pi[j] = r * x->qi[j] + i * x->qr[j];
    }
}

#define MCAMP__BLOCK 64

/* Adds the frequencies k0 <= k < k1 (at most a block) of one law to the logarithm
 * (la, th) of the product and to its error bound: with |phi^ - phi| <= eta the error
 * of the product is at most e^lb se, e^lb = prod (|phi^| + eta)^count and
 * se = sum count eta/(|phi^| + eta).                                                     */
MCAMP__PRIV void mcamp__line_block(const mcamp__line *x, double tau, size_t k0, size_t k1,
                                   double *cr, double *ci, double *la, double *th,
                                   double *lb, double *se)
{
    size_t m = x->law->n;
    double T = x->law->count, t = (double)k0 * tau;
    for (size_t j = 0; j < m; j++) {
        cr[j] = x->w[j] * cos(t * x->law->l[j]);
        ci[j] = x->w[j] * sin(t * x->law->l[j]);
    }
    for (size_t k = k0; k < k1; k++) {
        double xr = 0, xi = 0, eta = mcamp__line_error(x, (double)k * tau), mod;
        for (size_t j = 0; j < m; j++) {
            double r = cr[j], i = ci[j];
            xr += r;
            xi += i;
            cr[j] = r * x->dr[j] - i * x->di[j];
            ci[j] = r * x->di[j] + i * x->dr[j];
        }
        mod = sqrt(xr * xr + xi * xi);
        la[k] += T * log(mod);
        th[k] = fmod(th[k] + fmod(T * atan2(xi, xr), 2 * MCAMP__PI), 2 * MCAMP__PI);
        lb[k] += T * log(mod + eta);
        se[k] += T * eta / (mod + eta);
    }
}

/* log of a bound of the product of moduli on [t, t + h], given the moduli at t:
 * |phi(t + h)| <= |phi(t)| + h E|l - E l|.                                              */
MCAMP__PRIV double mcamp__lines_bound(const mcamp__line *x, const double *mod, size_t n,
                                      double h)
{
    double b = 0;
    for (size_t i = 0; i < n; i++)
        b += x[i].law->count * log(mcamp__dmin(1.0, mod[i] + h * x[i].dev));
    return b;
}

/* Tries to prove that all frequencies from t on to `end` are negligible (log bound
 * `level`) by walking along in strides that the derivative allows; they must be long
 * against tau, or computing the sum is cheaper.  Adds what is there to the tails.  Strides
 * stay alike for a while, as terms are rotated by them.                                  */
MCAMP__PRIV int mcamp__spec_skip(mcamp__spec *s, mcamp__line *x, double *mod,
                                 size_t n, double t, double end, double level)
{
    double g = s->g2 + s->r * s->r, a = 0, b = 0, stride = 0;
    for (int step = 0, left = 0; step < 400; step++, left--) {
        double h = mcamp__dmax(end - t, s->tau), damp = -0.5 * g * t * t, e;
        for (size_t i = 0; i < n; i++) {
            if (!left) mcamp__line_turn(&x[i], t, stride);
            mod[i] = mcamp__line_modulus(&x[i], t);
        }
        if (!(mcamp__lines_bound(x, mod, n, 6 * s->tau) + damp <= level)) return 0;
        if (!left || !(mcamp__lines_bound(x, mod, n, stride) + damp <= level)) {
            while (!(mcamp__lines_bound(x, mod, n, h) + damp <= level)) h *= 0.7;
            stride = t + h < end ? 0.8 * h : h;
            for (size_t i = 0; i < n; i++) mcamp__line_turn(&x[i], t, stride);
            left = MCAMP__BLOCK / 2;
        }
        e = exp(mcamp__lines_bound(x, mod, n, stride) + damp) * (stride + s->tau) / MCAMP__PI;
        a += e / (t * t);
        b += e;
        t += stride;
        if (t >= end) {
            s->tail_a += a;
            s->tail_b += b;
            return 1;
        }
        for (size_t i = 0; i < n; i++) mcamp__line_step(&x[i]);
    }
    return 0;
}

/* Frequencies k = 0, 1, .. of the whole sum, up to s->n or to where the rest has been
 * shown to be negligible; s->n is then smaller.                                          */
MCAMP__PRIV void mcamp__spec_run(mcamp__spec *s, mcamp__line *x, size_t n,
                                 double *cr, double *ci, double *mod, double level)
{
    size_t next = MCAMP__BLOCK, k1;
    double g = s->g2 + s->r * s->r, end = (double)s->n * s->tau;
    for (size_t k0 = 0; k0 < s->n; k0 = k1) {
        double t, damp;
        k1 = mcamp__zmin(k0 + MCAMP__BLOCK, s->n);
        for (size_t i = 0; i < n; i++)
            mcamp__line_block(&x[i], s->tau, k0, k1, cr, ci, s->ar, s->ai, s->br, s->bi);
        t = (double)k1 * s->tau;
        damp = -0.5 * g * t * t;
        if (k1 < next || !(s->br[k1 - 1] + damp <= level - 1)) continue;
        if (mcamp__spec_skip(s, x, mod, n, t, end, level)) { s->n = k1; return; }
        next = k1 + k1 / 2;
    }
}

/* Turns (la, th, lb, se), which lie in (ar, ai, br, bi), into the final arrays. */
MCAMP__PRIV void mcamp__spec_finish(mcamp__spec *s)
{
    double g = s->g2 + s->r * s->r, lam = s->lambda;
    for (size_t k = 0; k < s->n; k++) {
        double t = (double)k * s->tau, damp = -0.5 * g * t * t, m, ph, x, y, d;
        double half = s->kernel ? 0.0 : 0.5;
        m = exp(s->ar[k] + damp);
        ph = s->ai[k] + t * (g * lam + g * half);
        s->er[k] = exp(s->br[k] + damp) * (s->bi[k] + 16 * DBL_EPSILON +
                                           DBL_EPSILON * t * g * (lam + half));
        s->br[k] = m * cos(ph);
        s->bi[k] = m * sin(ph);
        /* 1/(z(z+1)) or 1/z^2 = conj/|.|^2 */
        x = s->kernel ? lam * lam - t * t : lam * (lam + 1) - t * t;
        y = s->kernel ? 2 * lam * t : (2 * lam + 1) * t;
        d = x * x + y * y;
        s->ar[k] = (s->br[k] * x + s->bi[k] * y) / d;
        s->ai[k] = (s->bi[k] * x - s->br[k] * y) / d;
    }
}

MCAMP__PRIV mcamp_status mcamp__spec_alloc(mcamp_ctx *ctx, mcamp__spec *s, size_t n)
{
    if (s->cap < n) {
        mcamp__delete_doubles(ctx, s->mem, 5 * s->cap);
        s->cap = n;
        s->mem = mcamp__new_doubles(ctx, 5 * n);
    }
    if (!s->mem) {
        s->cap = 0;
        return mcamp__fail(ctx, MCAMP_E_MEMORY, "frequencies", (double)n);
    }
    memset(s->mem, 0, 5 * s->cap * sizeof(double));
    s->n = n;
    s->ar = s->mem; s->ai = s->ar + n; s->br = s->ai + n; s->bi = s->br + n;
    s->er = s->bi + n;
    return MCAMP_OK;
}

/* The mass of infinite loss of the whole composition. */
MCAMP__PRIV double mcamp__sum_pinf(const mcamp__sum_law *s)
{
    double t = 0;
    for (size_t i = 0; i < s->n; i++)
        t += s->law[i].count * log1p(-mcamp__dmin(s->law[i].pinf, 1.0));
    return -expm1(t);
}

MCAMP__PRIV void mcamp__spec_alias_init(mcamp__spec *s, const mcamp__sum_law *sum)
{
    double sd = sqrt(mcamp__sum_cum(sum, s->lambda).k2);
    for (int j = 0; j < MCAMP__ALIAS; j++) {
        double l = s->lambda + ldexp(0.25, j) / sd;
        s->alias_lambda[j] = l;
        s->alias_k[j] = mcamp__sum_cum(sum, l).k0 +
                        0.5 * s->r * s->r * l * (l + (s->kernel ? 0 : 1));
    }
}

/* The tails beyond the last frequency end*tau by the smoothing alone: |M| <= 1, and the
 * terms fall, so that their sum is at most an integral.                                  */
MCAMP__PRIV void mcamp__spec_tails(mcamp__spec *s)
{
    double g = s->g2 + s->r * s->r, t = (double)(s->n - 1) * s->tau;
    double e = exp(-0.5 * g * t * t) / MCAMP__PI;
    s->tail_a = e * mcamp__dmin(1 / (g * t * t * t), 1 / t);
    s->tail_b = e / (g * t);
}

/* Fills spec for the law of the sum; lambda, tau, r, n chosen, terms below e^level may
 * be left out.                                                                            */
MCAMP__PRIV mcamp_status mcamp__spec_build(mcamp_ctx *ctx, mcamp__spec *s,
                                           const mcamp__sum_law *sum, double lambda,
                                           double tau, double r, size_t n, double level)
{
    size_t m = 1, all = 0, words;
    double *work, *p;
    mcamp__line *x;
    mcamp__cum c = mcamp__sum_cum(sum, lambda);
    mcamp_status st = mcamp__spec_alloc(ctx, s, n);
    if (st < 0) return st;
    for (size_t i = 0; i < sum->n; i++) {
        m = mcamp__zmax(m, sum->law[i].n);
        all += sum->law[i].n;
    }
    words = 2 * m + MCAMP__LINE_ROWS * all + sum->n;
    p = work = mcamp__new_doubles(ctx, words);
    x = (mcamp__line *)mcamp__new(ctx, sum->n, sizeof *x);
    s->kernel = sum->kernel; s->lambda = lambda; s->tau = tau; s->r = r; s->g2 = sum->g2;
    s->k0 = c.k0 + 0.5 * r * r * lambda * (s->kernel ? lambda : lambda + 1);
    s->kerr = c.err;
    s->pinf = mcamp__sum_pinf(sum);
    s->mean = sum->plus;
    s->bump = s->kernel ? r * r : exp(mcamp__gauss_logdelta(r, 0) + r * r / 8) *
                                  r * MCAMP__SQRT_2PI;
    if (!(r > 0)) s->bump = 0;
    if (work && x) {
        mcamp__spec_tails(s);
        for (size_t i = 0; i < sum->n; i++, p += MCAMP__LINE_ROWS * sum->law[i - 1].n)
            mcamp__line_init(&x[i], &sum->law[i], lambda, tau, p);
        mcamp__spec_run(s, x, sum->n, p, p + m, p + 2 * m, level);
        mcamp__spec_finish(s);
        mcamp__spec_alias_init(s, sum);
    } else {
        st = mcamp__fail(ctx, MCAMP_E_MEMORY, "atoms", (double)words);
    }
    mcamp__delete(ctx, x, sum->n, sizeof *x);
    mcamp__delete_doubles(ctx, work, words);
    return st;
}

/* What the trapezoid sum holds beyond n = 0, at most.  To the left delta+ <= 1 (kernel
 * 1: at most mean + |eps| + nA), to the right by Chernoff with alias_lambda.             */
MCAMP__PRIV double mcamp__spec_alias(const mcamp__spec *s, double eps)
{
    double A = 2 * MCAMP__PI / s->tau, q = exp(-s->lambda * A), left, right = 1e300;
    left = s->kernel ? (s->mean + fabs(eps) + s->r) * q / (1 - q) + A * q / ((1 - q) * (1 - q))
                     : q / (1 - q);
    for (int j = 0; j < MCAMP__ALIAS; j++) {
        double l = s->alias_lambda[j], p = (s->lambda - l) * A;
        double c = s->kernel ? -1 - log(l) : 0;
        p = exp(s->alias_k[j] - l * eps + c + p) / -expm1(p);
        if (p < right) right = p;
    }
    return (left + right) * (1 + 1e-9);
}

/* Bounds of the inverted function at eps: the law is exact, all errors here included.
 * *smooth: how much of log(upper/lower) is due to the smoothing.                        */
MCAMP__PRIV mcamp_interval mcamp__spec_eval(const mcamp__spec *s, double eps,
                                            double *smooth)
{
    double sa = 0, sb = 0, ea = 0, eb = 0, t, e, scale, up, lo;
    double cr = 1, ci = 0, dr = cos(s->tau * eps), di = -sin(s->tau * eps), f;
    mcamp_interval out;
    for (size_t k = 0; k < s->n; k++) {
        double z2, m, x;
        t = (double)k * s->tau;
        if (k % MCAMP__BLOCK == 0) { cr = cos(t * eps); ci = -sin(t * eps); }
        f = k ? 2 : 1;
        z2 = s->kernel ? s->lambda * s->lambda + t * t
             : sqrt((s->lambda * s->lambda + t * t) *
                    ((s->lambda + 1) * (s->lambda + 1) + t * t));
        m = fabs(s->br[k]) + fabs(s->bi[k]);
        e = s->er[k] + m * DBL_EPSILON * (140 + t * fabs(eps));
        sa += f * (s->ar[k] * cr - s->ai[k] * ci);
        sb += f * (s->br[k] * cr - s->bi[k] * ci);
        ea += f * e / z2;
        eb += f * e;
        x = cr * dr - ci * di;
        ci = cr * di + ci * dr;
        cr = x;
    }
    f = s->tau / (2 * MCAMP__PI);
    e = s->kerr + 8 * DBL_EPSILON * (fabs(s->k0) + fabs(s->lambda * eps));
    scale = exp(s->k0 - s->lambda * eps);
    up = scale * (1 + 2 * e) * (f * (sa + ea * (1 + 1e-9)) + s->tail_a);
    lo = scale * (f * (sa - ea) - s->tail_a -
                  s->bump * (f * (sb + eb) + s->tail_b)) -
         mcamp__spec_alias(s, eps);
    lo -= scale * 2 * e * f * fabs(sa);
    /* the Chernoff bound holds as well, and is finite when all else fails:
     * 1 - e^-x <= e^{lambda x}, and x <= e^{lambda x}/(e lambda)                         */
    t = exp(e) * (s->kernel ? scale * exp(-1.0) / s->lambda : scale);
    if (!(up <= t)) up = t;
    out.upper = s->kernel ? up : mcamp__dmin(1.0, s->pinf + mcamp__dmax(up, DBL_MIN));
    out.lower = (s->kernel ? 0.0 : s->pinf) + mcamp__dmax(0.0, lo);
    if (mcamp__isnan(lo)) out.lower = 0;
    if (smooth) *smooth = fabs(s->bump * sb / sa);
    return out;
}

/* ---- the accountant --------------------------------------------------------------------- */

/* One question about one list of events in one direction. */
typedef struct mcamp__acc {
    mcamp_ctx *ctx;
    size_t n, cap;              /* pairs: of events that are not plain Gaussians, those
                                   that the upper side does not see last          */
    mcamp__pair *pair;
    mcamp__law *law[2];         /* by side                                        */
    double **share;
    mcamp__sum_law sum[2];
    mcamp__spec spec[2];
    double g2, tol, z, lambda, eps, logd;
    double bins, idle;          /* BINS: how many, and how many with a mode 0     */
    size_t max_bytes, bytes;
    int add, single;            /* single: one event, used once: nothing to compose */
    int open;                   /* a side does not see some pair                  */
    int capped;                 /* more work would have been needed               */
    double beta;
    mcamp_exact_info info;
} mcamp__acc;

MCAMP__PRIV void mcamp__acc_free(mcamp__acc *a)
{
    mcamp_ctx *ctx = a->ctx;
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; a->law[s] && i < a->cap; i++) mcamp__law_free(ctx, &a->law[s][i]);
        mcamp__delete(ctx, a->law[s], a->cap, sizeof(mcamp__law));
        mcamp__spec_free(ctx, &a->spec[s]);
    }
    for (size_t i = 0; i < a->cap; i++) {
        if (a->share && a->pair) mcamp__delete_doubles(ctx, a->share[i], a->pair[i].npilot);
        if (a->pair) mcamp__pair_free(ctx, &a->pair[i]);
    }
    mcamp__delete(ctx, a->share, a->cap, sizeof(double *));
    mcamp__delete(ctx, a->pair, a->cap, sizeof(mcamp__pair));
    memset(a, 0, sizeof *a);
}

/* BINS alone: a pair for every kind of them. */
MCAMP__PRIV mcamp_status mcamp__acc_bins(mcamp__acc *a, const mcamp_event *e)
{
    mcamp_status st = MCAMP_OK;
    a->single = 0;
    a->bins = (double)e->bins;
    for (size_t i = 0; i < mcamp__zmax(e->n, 1) && st >= 0; i++) {
        mcamp_event one = *e;
        one.n = 0;
        if (e->n) {
            one.bins = (uint64_t)e->prob[i];
            one.sensitivity = (e->sensitivity > 0 ? e->sensitivity : 1) * e->shift[i];
            if (!(one.sensitivity > 0)) { a->idle += e->prob[i]; continue; }
        }
        st = mcamp__pair_init(a->ctx, &one, &a->pair[a->n++]);
    }
    return st;
}

/* `below`: what BINS in composition may lose far out, see mcamp__pair_bins. */
MCAMP__PRIV mcamp_status mcamp__acc_pairs(mcamp__acc *a, const mcamp_event *e, size_t n,
                                          double below)
{
    size_t real = 0, last = n;
    mcamp_status st = MCAMP_OK;
    for (size_t i = 0; i < n; i++) {
        if (mcamp__event_sampled(&e[i])) a->beta += e[i].beta;
        if (mcamp__event_is_gauss(&e[i])) a->g2 += mcamp__event_mu2(&e[i]) * (1 + 8 * DBL_EPSILON);
        else if (!mcamp__event_idle(&e[i])) { real++; last = i; }
    }
    a->single = real == 1 && e[last].count == 1 && !(a->g2 > 0);
    for (int lower = 0; lower < 2; lower++)
        for (size_t i = 0; i < n && st >= 0; i++) {
            int bins = e[i].kind == MCAMP_EVENT_BINS && !a->single;
            if (mcamp__event_is_gauss(&e[i]) || mcamp__event_idle(&e[i])) continue;
            if (lower && !bins && e[i].kind != MCAMP_EVENT_TRUNCATED) continue;
            if (e[i].kind == MCAMP_EVENT_BINS && !bins) return mcamp__acc_bins(a, &e[i]);
            st = lower ? mcamp__pair_lower(a->ctx, &e[i], &a->pair[a->n])
               : bins ? mcamp__pair_bins(a->ctx, &e[i], below, a->max_bytes, &a->pair[a->n])
               : mcamp__pair_init(a->ctx, &e[i], &a->pair[a->n]);
            a->open |= a->pair[a->n++].missing;
        }
    for (size_t i = 0; i < a->n; i++) a->single &= a->pair[i].count <= 1;
    return st;
}

MCAMP__PRIV mcamp_status mcamp__acc_init(mcamp__acc *a, mcamp_ctx *ctx,
                                         const mcamp_event *e, size_t n, double tol,
                                         size_t max_bytes, double below)
{
    size_t cap = 2 * n + MCAMP__BINS_KINDS;
    mcamp_status st;
    memset(a, 0, sizeof *a);
    a->ctx = ctx; a->cap = cap; a->tol = tol; a->max_bytes = max_bytes;
    a->pair = (mcamp__pair *)mcamp__new(ctx, cap, sizeof(mcamp__pair));
    a->share = (double **)mcamp__new(ctx, cap, sizeof(double *));
    a->law[0] = (mcamp__law *)mcamp__new(ctx, cap, sizeof(mcamp__law));
    a->law[1] = (mcamp__law *)mcamp__new(ctx, cap, sizeof(mcamp__law));
    if (!a->pair || !a->share || !a->law[0] || !a->law[1])
        return mcamp__fail(ctx, MCAMP_E_MEMORY, "nevents", (double)n);
    st = mcamp__acc_pairs(a, e, n, below);
    for (int s = 0; s < 2; s++) {
        a->sum[s].law = a->law[s];
        a->sum[s].n = a->n;
        a->sum[s].g2 = a->g2;
    }
    return st;
}

/* Laws of both sides with the present shares.  The lower side leaves out events of
 * which only upper bounds are known: less is released, delta is smaller.             */
MCAMP__PRIV mcamp_status mcamp__acc_laws(mcamp__acc *a, int shares)
{
    for (int s = 0; s < 2; s++) {
        a->sum[s].n = 0;
        for (size_t i = 0; i < a->n; i++) {
            mcamp__law *l = &a->law[s][a->sum[s].n];
            double need = 4;
            if (a->pair[i].missing == 1 + s) continue;
            for (size_t k = 0; k < a->pair[i].npilot; k++)
                need += 2 * (shares ? mcamp__dmax(1.0, a->share[i][k]) : 1);
            if ((double)l->cap < need) {
                mcamp__law_free(a->ctx, l);
                if (!mcamp__law_alloc(a->ctx, l, (size_t)need))
                    return mcamp__fail(a->ctx, MCAMP_E_MEMORY, "atoms", need);
            }
            mcamp__law_fill(l, &a->pair[i], shares ? a->share[i] : NULL,
                            s ? MCAMP__LOWER : MCAMP__UPPER, a->add);
            a->info.atoms = mcamp__zmax(a->info.atoms, l->n);
            if (l->n || l->pinf > 0) a->sum[s].n++;
        }
    }
    return MCAMP_OK;
}

/* Pilot cells reaching so far out that what is beyond has less than 1e-8 of delta in
 * total, where logd is log delta or a guess of it.                                    */
MCAMP__PRIV mcamp_status mcamp__acc_pilot(mcamp__acc *a, double logd)
{
    double count = 1, lt;
    for (size_t i = 0; i < a->n; i++) count += a->pair[i].count;
    lt = mcamp__dmax(logd, -800.0) - log(count) - 18.5;
    a->z = mcamp__dmax(5.0, -mcamp__gauss_quantile_log(mcamp__dmin(lt, -1.0)));
    for (size_t i = 0; i < a->n; i++) {
        size_t old = a->pair[i].npilot;
        mcamp_status st = mcamp__pair_pilot(a->ctx, &a->pair[i], a->z, a->add);
        if (a->share[i]) mcamp__delete_doubles(a->ctx, a->share[i], old);
        a->share[i] = NULL;
        if (st < 0) return st;
        a->share[i] = mcamp__new_doubles(a->ctx, a->pair[i].npilot);
        if (!a->share[i]) return mcamp__fail(a->ctx, MCAMP_E_MEMORY, "atoms", 0);
    }
    return mcamp__acc_laws(a, 0);
}

/* log of the inverted function at eps by the saddle-point formula: steering only. */
MCAMP__PRIV double mcamp__log_guess(const mcamp__sum_law *s, double l, double eps)
{
    mcamp__cum c = mcamp__sum_cum(s, l);
    double d = s->kernel ? 2 / (l * l) : 1 / (l * l) + 1 / ((1 + l) * (1 + l));
    return c.k0 - l * eps + mcamp__log_pole(s->kernel, l) -
           0.5 * log(2 * MCAMP__PI * (c.k2 + d));
}

/* The law whose cumulants steer: the lower one, unless it leaves something out. */
MCAMP__PRIV const mcamp__sum_law *mcamp__acc_steer(const mcamp__acc *a)
{
    return &a->sum[!a->open && a->sum[MCAMP__LOWER].n == a->sum[MCAMP__UPPER].n
                   ? MCAMP__LOWER : MCAMP__UPPER];
}

/* How much spreading a cell to lo and hi raises E e^{lambda L} above what merging it at
 * v gives, over e^{k0}; the mean of y (e^{-loss}, or X itself) is kept.                 */
MCAMP__PRIV double mcamp__cell_gap(const mcamp__pair *p, mcamp__cell c, double lambda,
                                   double k0)
{
    double v = c.v, lo = c.lo, hi = c.hi, f, e, w = p->bins ? c.q : c.p;
    if (p->bins) {
        f = expm1(v - lo) / expm1(hi - lo);
        lo = mcamp__bins_at(p, lo); hi = mcamp__bins_at(p, hi); v = mcamp__bins_at(p, v);
    } else {
        f = expm1(lo - v) / expm1(lo - hi);
    }
    f = mcamp__dmin(1.0, mcamp__dmax(0.0, f));
    e = (1 - f) * expm1(mcamp__dmin(600.0, lambda * (lo - v))) +
        f * expm1(mcamp__dmin(600.0, lambda * (hi - v)));
    return exp(log(w) + lambda * v - k0) * mcamp__dmax(e, 0.0);
}

/* Cuts pilot cells so that the discretisation widens log delta by at most `width`.
 * The gap between the two sides is T sum gap_i/M(lambda); a cell in n parts has 1/n^2 of
 * its gap, and for a given total number of parts the sum is smallest with parts in
 * proportion to (T gap_i)^{1/3}.  Returns the number of cells.                           */
MCAMP__PRIV double mcamp__acc_share(mcamp__acc *a, double width)
{
    double total = 0, cells = 0, n;
    for (size_t i = 0; i < a->n; i++) {
        const mcamp__pair *p = &a->pair[i];     /* the first ones are all in the upper law */
        double k0 = mcamp__law_cum(&a->law[MCAMP__UPPER][i < a->sum[0].n ? i : 0],
                                   a->lambda).k0 / p->count;
        for (size_t k = 0; k < p->npilot; k++) {
            mcamp__cell c = mcamp__cell_turn(p->pilot[k], p->bins ? 0 : a->add);
            a->share[i][k] = 0;
            if (c.branch < 0 || !((p->bins ? c.q : c.p) > 0) || !(c.hi - c.lo < 1e300)) continue;
            if (!(c.hi > c.lo) || !(fabs(c.x2 - c.x1) < 1e300)) continue;
            a->share[i][k] = cbrt(mcamp__dmin(1e99, p->count *
                                              mcamp__cell_gap(p, c, a->lambda, k0)));
            total += a->share[i][k];
        }
    }
    n = sqrt(total / width);            /* parts: share * n */
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < a->pair[i].npilot; k++) {
            double t = ceil(a->share[i][k] * n);
            a->share[i][k] = mcamp__dmax(1.0, mcamp__dmin(t, 1e4));
            cells += a->share[i][k];
        }
    return cells;
}

#define MCAMP__WORK 2e8         /* atoms times frequencies at most: under a second */
#define MCAMP__BINS_WORK 2e7    /* of bins where memory is bounded: a root of many questions */

/* The line, spacing, smoothing and number of frequencies for one law; capped: fewer of them
 * than were wanted.                                                                     */
typedef struct mcamp__plan { double lambda, tau, r, n, level; int capped; } mcamp__plan;

/* A for the line at lambda such that aliases are below 1e-8 of the value e^guess. */
MCAMP__PRIV double mcamp__plan_period(const mcamp__sum_law *s, double lambda, double r,
                                      double eps, double guess, double mean)
{
    double sd = sqrt(mcamp__sum_cum(s, lambda).k2), best = mcamp__inf();
    for (int j = 1; j < MCAMP__ALIAS - 2; j++) {
        double g = ldexp(0.25, j) / sd, l = lambda + g, t;
        double k = mcamp__sum_cum(s, l).k0 + 0.5 * r * r * l * (l + (s->kernel ? 0 : 1));
        t = (k - l * eps - guess + 18.5 - (s->kernel ? 1 + log(l) : 0)) / g;
        if (t < best) best = t;
    }
    return mcamp__dmax(best, (18.5 - guess + log(mean)) / lambda);
}

/* lambda is the saddle point.  Further to the left the right-hand tail of the tilted law
 * is shorter (sampled mechanisms have a second hump there) and the period may be, at the
 * price of cancellation, of which up to e^12 is accepted.                                 */
MCAMP__PRIV double mcamp__line_height(const mcamp__sum_law *s, double l, double eps)
{
    return mcamp__sum_cum(s, l).k0 - l * eps + mcamp__log_pole(s->kernel, l);
}

MCAMP__PRIV mcamp__plan mcamp__make_plan(const mcamp__sum_law *s, double lambda,
                                         double eps, double width, size_t max_bytes)
{
    double guess, R, t, best = mcamp__inf(), h, h2, l, atoms = 1;
    double mean = s->kernel ? s->plus + fabs(eps) : 1;
    mcamp__plan p;
    memset(&p, 0, sizeof p);
    /* finer cells may have shown mass far out that the pilot did not: back from it */
    h = mcamp__line_height(s, lambda, eps);
    while ((h2 = mcamp__line_height(s, 0.8 * lambda, eps)) < h - 0.5) { lambda *= 0.8; h = h2; }
    guess = mcamp__log_guess(s, lambda, eps);
    p.r = sqrt(width / (lambda * (s->kernel ? lambda : lambda + 1)));
    if (!s->kernel && s->g2 >= p.r * p.r) p.r = 0;
    R = sqrt(p.r * p.r + s->g2);
    for (size_t i = 0; i < s->n; i++) atoms += (double)s->law[i].n;
    l = lambda;
    for (int i = 0; i < 8; i++, l *= 0.8) {
        double A = mcamp__plan_period(s, l, p.r, eps, guess, mean);
        double loss = mcamp__sum_cum(s, l).k0 - l * eps - guess;
        if (i && !(loss < 12)) break;
        if (i && !(A < 0.95 * best)) { if (A > 1.2 * best) break; continue; }
        best = A;
        p.lambda = l;
        p.tau = 2 * MCAMP__PI / A;
        t = sqrt(2 * mcamp__dmax(4.0, 21 + log(R) + loss)) / R;
        p.n = ceil(t / p.tau) + 3;
        p.level = -loss - 30 - log(mcamp__dmax(1.0, 1 / l));
    }
    t = s->kernel && max_bytes < 100000000 ? MCAMP__BINS_WORK : MCAMP__WORK;
    t = mcamp__dmin(t / atoms, (double)max_bytes / 200);
    if (p.n > t) {                      /* more smoothing: wider, still valid */
        p.capped = 1;
        p.r = sqrt(p.r * p.r + R * R) * (p.n / t);
        p.n = ceil(t) + 3;
    }
    return p;
}

/* Beyond it lambda^4, in mcamp__spec_finish, would overflow. */
#define MCAMP__LAMBDA_MAX 1e70

/* Spectra of both sides, planned on the lower one: what the plan misjudges widens the
 * interval, it cannot make it wrong.                                                     */
MCAMP__PRIV mcamp_status mcamp__acc_spectra(mcamp__acc *a, double width)
{
    mcamp__plan p = mcamp__make_plan(mcamp__acc_steer(a), a->lambda, a->eps, width,
                                     a->max_bytes);
    double need = 80 * p.n;
    if (!(p.tau > 0 && p.tau < 1e300 && p.n >= 4 && p.n < 1e15 &&
          p.lambda < MCAMP__LAMBDA_MAX))
        return mcamp__fail(a->ctx, MCAMP_E_INTERNAL, "frequencies", p.n);
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < a->sum[s].n; i++) need += 88 * (double)a->law[s][i].n;
    for (size_t i = 0; i < a->n; i++) need += 80.0 * (double)a->pair[i].npilot;
    if (!(need < (double)a->max_bytes))
        return mcamp__fail(a->ctx, MCAMP_E_SIZE, "max_bytes", need);
    a->capped = p.capped;
    a->info.bytes = mcamp__zmax(a->info.bytes, (size_t)need);
    for (int s = 0; s < 2; s++) {
        mcamp_status st;
        if (!a->sum[s].n && !(a->g2 > 0)) continue;
        st = mcamp__spec_build(a->ctx, &a->spec[s], &a->sum[s], p.lambda, p.tau, p.r,
                               (size_t)p.n, p.level);
        if (st < 0) return st;
        a->info.frequencies = mcamp__zmax(a->info.frequencies, a->spec[s].n);
    }
    return MCAMP_OK;
}

/* What a cell adds to delta of a single use, int (p - e^eps q)_+.  Above eps that is
 * p (1 - e^{eps - v}), whatever its width; a cell around eps is spread or merged.  Losses
 * are known to within t.                                                                   */
MCAMP__PRIV double mcamp__single_cell(mcamp__cell c, mcamp__side side, double err, double eps)
{
    double t = 2 * err + c.verr, d;
    if (side == MCAMP__LOWER) {
        if (!(c.v - t > eps) && !(c.q <= 0)) return 0;
        return c.p * (1 - err) * -expm1(eps - (c.q > 0 ? c.v - t : c.v));
    }
    if (!(c.p > 0) || c.hi <= eps - t) return 0;
    if (c.lo < eps && c.hi > eps) {
        double l[4] = { 0, 0, 0, 0 }, w[4] = { 0, 0, 0, 0 };
        mcamp__law a = { NULL, NULL, 0, 4, 0, 1 };
        a.l = l; a.w = w;
        mcamp__law_spread(&a, c, err);
        d = a.pinf;
        for (size_t j = 0; j < a.n; j++)
            if (l[j] > eps) d -= w[j] * expm1(eps - l[j]);
        return d;
    }
    d = c.v + t - eps;
    return c.p * (1 + err) * (d > 0 ? -expm1(-d) : c.hi > eps - t ? t : 0.0);
}

/* Cuts the cell where its loss is eps: three cells, the middle one short. */
MCAMP__PRIV double mcamp__single_cut(const mcamp__branch *b, const mcamp__cell *c, int add,
                                     mcamp__side side, double err, double eps)
{
    double x[4], s = 0;
    x[0] = x[1] = c->x1;
    x[2] = x[3] = c->x2;
    for (int i = 0; i < 60; i++) {
        double m = 0.5 * (x[1] + x[2]);
        if (!(m > x[1] && m < x[2])) break;
        if (mcamp__branch_loss(b, m) < (add ? -eps : eps)) x[1] = m; else x[2] = m;
        if (x[2] - x[1] < 1e-9 * (c->x2 - c->x1)) break;
    }
    for (int i = 0; i < 3; i++) {
        if (!(x[i] < x[i + 1])) continue;
        s += mcamp__single_cell(mcamp__cell_turn(mcamp__branch_cell(b, c->branch, x[i], x[i + 1]),
                                                 add), side, err, eps);
    }
    return s;
}

/* delta of a single use, straight from its definition. */
MCAMP__PRIV double mcamp__single_delta(const mcamp__pair *p, int add, mcamp__side side,
                                       double eps)
{
    double err = ((double)p->npilot + 16) * DBL_EPSILON;
    mcamp__sum s = { 0, 0 };
    for (size_t k = 0; k < p->npilot; k++) {
        mcamp__cell c = mcamp__cell_turn(p->pilot[k], add);
        if (!(c.p > 0)) continue;
        if (c.branch >= 0 && c.lo < eps && c.hi > eps && fabs(c.x1) < 1e300 && fabs(c.x2) < 1e300)
            mcamp__sum_add(&s, mcamp__single_cut(&p->br[c.branch], &p->pilot[k], add, side,
                                                 p->err, eps));
        else
            mcamp__sum_add(&s, mcamp__single_cell(c, side, p->err, eps));
    }
    return side == MCAMP__UPPER ?
        mcamp__dmin(1.0, mcamp__sum_get(&s) * (1 + err) + DBL_MIN) :
        mcamp__dmax(0.0, mcamp__sum_get(&s) * (1 - err));
}

/* Bounds of delta at eps from the present laws or spectra. */
MCAMP__PRIV double mcamp__acc_bound(const mcamp__acc *a, mcamp__side side, double eps)
{
    mcamp_interval v;
    if (!a->sum[side].n && !(a->g2 > 0)) return 0;
    if (a->single)
        return mcamp__single_delta(&a->pair[a->n - 1 && side == MCAMP__LOWER ? 1 : 0], a->add,
                                   side, eps);
    v = mcamp__spec_eval(&a->spec[side], eps, NULL);
    return side == MCAMP__UPPER ? v.upper : v.lower;
}

/* Smallest eps >= 0 (to `width`) where the bound is <= delta, from above for the upper
 * side, from below for the lower one: what is returned has been evaluated.             */
MCAMP__PRIV double mcamp__acc_invert(const mcamp__acc *a, mcamp__side side,
                                     double delta, double start, double width)
{
    double x = start, step = mcamp__dmax(0.25 / a->lambda, 4 * width), ld = log(delta);
    double f = log(mcamp__acc_bound(a, side, x)) - ld, y, fy;
    mcamp__root r;
    for (int i = 0; i < 200; i++, step *= 1.6) {
        y = f > 0 ? x + step : mcamp__dmax(0.0, x - step);
        fy = log(mcamp__acc_bound(a, side, y)) - ld;
        if ((fy > 0) != (f > 0)) break;
        x = y; f = fy;
        if (!(f > 0) && !(x > 0)) return 0;
        if (i == 199) return f > 0 ? mcamp__inf() : 0;
    }
    if (x > y) { double t = x; x = y; y = t; t = f; f = fy; fy = t; }
    if (!mcamp__finite(fy)) fy = -50;       /* a lower bound may be zero */
    mcamp__root_init(&r, x, f, y, fy);
    while (r.steps < 100 && r.hi - r.lo > width) {
        x = mcamp__root_next(&r);
        f = log(mcamp__acc_bound(a, side, x)) - ld;
        mcamp__root_update(&r, x, mcamp__finite(f) ? f : -50);
    }
    return side == MCAMP__UPPER ? r.hi : r.lo;
}

MCAMP__PRIV double mcamp__acc_scale(const mcamp__acc *a)
{
    mcamp__cum c = mcamp__sum_cum(mcamp__acc_steer(a), a->lambda);
    return mcamp__dmax(a->eps, 0.001 * sqrt(c.k2));
}

/* The largest finite loss of the sum, rounded up; infinite where cells end somewhere. */
MCAMP__PRIV double mcamp__acc_largest(const mcamp__acc *a)
{
    const mcamp__sum_law *s = &a->sum[MCAMP__UPPER];
    double t = 0, size = 0;
    if (s->g2 > 0) return mcamp__inf();
    for (size_t i = 0; i < a->n; i++)
        if (a->pair[i].nbr && a->pair[i].br[0].source == MCAMP__SOURCE_MOG) return mcamp__inf();
    for (size_t i = 0; i < s->n; i++) {
        double m = s->law[i].n ? -mcamp__inf() : 0;
        for (size_t j = 0; j < s->law[i].n; j++) m = mcamp__dmax(m, s->law[i].l[j]);
        t += s->law[i].count * m;
        size += s->law[i].count * fabs(m);
    }
    return t + 4 * DBL_EPSILON * (double)s->n * size;
}

/* No finite loss of the sum is above eps (or so little of it that it leaves the range of
 * numbers): delta is the infinite mass.                                                 */
MCAMP__PRIV int mcamp__acc_trivial(const mcamp__acc *a, double eps)
{
    mcamp__cum c = mcamp__sum_cum(&a->sum[MCAMP__UPPER], a->lambda);
    return mcamp__acc_largest(a) <= eps || !(c.k0 - a->lambda * eps > -740);
}

/* Width in log delta that is wanted and what the two sources, cells and smoothing, are
 * told to take of it; both adapt to what was measured.                                  */
typedef struct mcamp__width { double want, cells, smooth; } mcamp__width;

MCAMP__PRIV void mcamp__width_start(mcamp__width *w, double want)
{
    w->want = want;
    w->cells = w->smooth = 0.42 * want;
}

/* gap: log(upper/lower) that came out; smooth: how much of it smoothing explains. */
MCAMP__PRIV void mcamp__width_adapt(mcamp__width *w, double gap, double smooth)
{
    double rest = mcamp__dmax(gap - smooth, 0.05 * gap);
    w->cells *= mcamp__dmax(0.02, mcamp__dmin(2.0, 0.42 * w->want / rest));
    w->smooth *= mcamp__dmax(0.02, mcamp__dmin(2.0, 0.42 * w->want /
                             mcamp__dmax(smooth, 1e-300)));
}

/* Laws and spectra for one more pass. */
MCAMP__PRIV mcamp_status mcamp__acc_refine(mcamp__acc *a, const mcamp__width *w)
{
    double cells;
    mcamp_status st = mcamp__acc_laws(a, 0);
    if (st < 0) return st;
    if (a->single) { a->info.passes++; return MCAMP_OK; }      /* exact as they are */
    cells = mcamp__acc_share(a, w->cells);
    if (!(200 * cells < (double)a->max_bytes))
        return mcamp__fail(a->ctx, MCAMP_E_SIZE, "max_bytes", 200 * cells);
    if ((st = mcamp__acc_laws(a, 1)) < 0) return st;
    a->info.passes++;
    return mcamp__acc_spectra(a, w->smooth);
}

/* Both bounds at eps, and the part of their distance that is due to smoothing. */
MCAMP__PRIV mcamp_interval mcamp__acc_bounds(const mcamp__acc *a, double eps, double *smooth)
{
    mcamp_interval v;
    *smooth = 0;
    v.upper = mcamp__acc_bound(a, MCAMP__UPPER, eps);
    v.lower = mcamp__acc_bound(a, MCAMP__LOWER, eps);
    if (!a->single && (a->sum[MCAMP__LOWER].n || a->g2 > 0))
        mcamp__spec_eval(&a->spec[MCAMP__LOWER], eps, smooth);
    return v;
}

MCAMP__PRIV mcamp_status mcamp__acc_steer_delta(mcamp__acc *a, double eps)
{
    mcamp_status st = mcamp__acc_pilot(a, -30);
    for (int i = 0; i < 3 && st >= 0; i++) {
        double z = a->z;
        a->eps = eps;
        a->lambda = mcamp__saddle(mcamp__acc_steer(a), eps, 0, 0);
        a->logd = mcamp__log_guess(mcamp__acc_steer(a), a->lambda, eps);
        if (!mcamp__finite(a->logd)) a->logd = -800;
        if (i && a->logd > -30) break;
        st = mcamp__acc_pilot(a, a->logd);
        if (a->z <= z + 0.2) break;
    }
    return st;
}

/* delta at eps in one direction.  give_up: stop refining once the upper bound is below
 * it (the other direction has won).  What is wanted of delta is the larger of tol and
 * what an error tol in eps amounts to.                                                  */
MCAMP__PRIV mcamp_status mcamp__acc_delta(mcamp__acc *a, double eps, double give_up,
                                          mcamp_interval *out)
{
    mcamp_status st = mcamp__acc_steer_delta(a, eps);
    mcamp__width w;
    if (st < 0) return st;
    if (mcamp__acc_trivial(a, eps)) {
        out->upper = mcamp__dmin(1.0, mcamp__sum_pinf(&a->sum[0]) * (1 + 1e-12) + DBL_MIN);
        out->lower = mcamp__dmax(0.0, mcamp__sum_pinf(&a->sum[1]) * (1 - 1e-12));
        return a->open && out->upper > 2 * DBL_MIN ? MCAMP_Q_MAX_ITER : MCAMP_OK;
    }
    mcamp__width_start(&w, a->tol * mcamp__dmax(1.0, a->lambda * mcamp__acc_scale(a)));
    for (int pass = 0; pass < 4; pass++) {
        double gap, smooth, h = 0.1 / a->lambda;
        mcamp_interval v;
        st = mcamp__acc_refine(a, &w);
        if (pass && st == MCAMP_E_SIZE) break;  /* what there is stands */
        if (st < 0) return st;
        v = mcamp__acc_bounds(a, eps, &smooth);
        out->upper = pass ? mcamp__dmin(out->upper, v.upper) : v.upper;
        out->lower = pass ? mcamp__dmax(out->lower, v.lower) : v.lower;
        if (out->upper < give_up) return MCAMP_OK;
        gap = log(mcamp__acc_bound(a, MCAMP__UPPER, mcamp__dmax(0.0, eps - h)) / v.upper) /
              mcamp__dmin(h, eps + 1e-300);         /* the slope, then what it allows */
        if (!(gap < a->lambda)) gap = a->lambda;
        w.want = a->tol * mcamp__dmax(1.0, gap * mcamp__acc_scale(a));
        if (log(out->upper / out->lower) <= w.want) return MCAMP_OK;
        if (a->open && pass) break;     /* what is not known stays so */
        gap = mcamp__dmin(50.0, log(v.upper / v.lower));
        mcamp__width_adapt(&w, gap, smooth);
    }
    return MCAMP_Q_MAX_ITER;
}

/* Where the line is taken for a question about eps. */
MCAMP__PRIV void mcamp__acc_steer_epsilon(mcamp__acc *a, double ld)
{
    const mcamp__sum_law *s = mcamp__acc_steer(a);
    a->lambda = mcamp__saddle(s, 0, ld, 1);
    a->eps = mcamp__dmax(0.0, (mcamp__log_guess(s, a->lambda, 0) - ld) / a->lambda);
}

MCAMP__PRIV mcamp_status mcamp__acc_epsilon(mcamp__acc *a, double delta, double give_up,
                                            mcamp_interval *out)
{
    double rest, goal = delta - a->beta * (1 + 4 * DBL_EPSILON);
    mcamp__width w;
    mcamp_status st = goal > 0 ? mcamp__acc_pilot(a, log(goal))
                    : mcamp__fail(a->ctx, MCAMP_E_INFEASIBLE, "delta", delta);
    if (st < 0) return st;
    rest = (goal - mcamp__sum_pinf(&a->sum[MCAMP__UPPER]) * (1 + 1e-12)) * (1 - 1e-15);
    if (!(rest > 0)) return mcamp__fail(a->ctx, MCAMP_E_INFEASIBLE, "delta", delta);
    out->lower = out->upper = 0;
    if (mcamp__acc_largest(a) <= 0) return MCAMP_OK;
    mcamp__acc_steer_epsilon(a, log(rest));
    mcamp__width_start(&w, a->tol * a->lambda * mcamp__acc_scale(a));
    for (int pass = 0; pass < 4; pass++) {
        double up, lo = 0, fine = 0.02 * a->tol * mcamp__acc_scale(a), gap, smooth;
        mcamp_interval v;
        st = mcamp__acc_refine(a, &w);
        if (pass && st == MCAMP_E_SIZE) break;
        if (st < 0) return st;
        up = mcamp__acc_invert(a, MCAMP__UPPER, goal, a->eps, fine);
        if (a->sum[1].n || a->g2 > 0)
            lo = mcamp__acc_invert(a, MCAMP__LOWER, delta, mcamp__dmin(up, 1e9), fine);
        out->upper = pass ? mcamp__dmin(out->upper, up) : up;
        out->lower = pass ? mcamp__dmax(out->lower, lo) : lo;
        if (mcamp__finite(up)) a->eps = up;
        if (out->upper < give_up) return MCAMP_OK;
        if (out->upper - out->lower <= a->tol * mcamp__acc_scale(a)) return MCAMP_OK;
        if (a->open && pass) break;
        v = mcamp__acc_bounds(a, a->eps, &smooth);
        gap = mcamp__dmin(50.0, log(v.upper / v.lower));
        w.want = mcamp__dmin(w.want, gap / (up - lo) * a->tol * mcamp__acc_scale(a));
        mcamp__width_adapt(&w, gap, smooth);
    }
    return MCAMP_Q_MAX_ITER;
}

/* ---- balls in bins with C = I ------------------------------------------------------------ */

/* The b modes are orthogonal: with X_i = e^{c_i t_i - c_i^2/2} independent, c_i the norms over
 * sigma, S their sum and k = b e^eps, kappa = b e^-eps,
 *     delta_remove = E(S - k)_+ / b,    delta_add = e^eps E(kappa - S)_+ / b.
 * A mode that is 0 has X = 1: taken off b, k and kappa.  The others come in few kinds, n_j
 * modes of norm c_j.  The tail of X is too heavy for a tilt, so a call is split at X_i >= k:
 * if any of them is that large, S - k >= 0 and the expectation is known,
 *     sum_j n_j (E(X_j - k)_+ + m0_j (1 - p0 / Pr(X_j < k))) + k (sum_j n_j pH_j - (1 - p0)),
 * pH_j = Pr(X_j >= k), m0_j = E(X_j; X_j < k), p0 = prod_j (1 - pH_j)^n_j.  Else all are below
 * k, and the tilted sum is tame.  For the put, a single X >= kappa makes the payoff zero.   */
#define MCAMP__BINS_FAR 20

/* What a call or put is about, less the modes that are 0: the strike as a position of the
 * sum, its rounding error, log of k or kappa, from where on one X decides.               */
typedef struct mcamp__bet { double eps, strike, slip, cut; } mcamp__bet;

/* The longest mode over sigma. */
MCAMP__PRIV double mcamp__bins_norm(const mcamp__acc *a)
{
    double c = 0;
    for (size_t i = 0; i < a->n; i++) c = mcamp__dmax(c, a->pair[i].br[0].mog.amax);
    return c;
}

/* log of the odds that no X is x(t_j), given x's logarithm; or, with reach, what a pair's
 * cells do not reach.                                                                    */
MCAMP__PRIV double mcamp__bins_odds(const mcamp__pair *p, double cut, int reach, double *m)
{
    double c = p->br[0].mog.amax, t = reach ? p->reach : cut / c + 0.5 * c;
    *m = exp(mcamp__gauss_logsf(t - c));
    return exp(mcamp__gauss_logsf(t));
}

MCAMP__PRIV double mcamp__bins_none(const mcamp__acc *a, double cut, int reach)
{
    double l = 0, m;
    for (size_t i = 0; i < a->n; i++)
        l += a->pair[i].count * log1p(-mcamp__bins_odds(&a->pair[i], cut, reach, &m));
    return l;
}

MCAMP__PRIV void mcamp__bins_huge(const mcamp__acc *a, double lk, mcamp_interval *out)
{
    double l0 = mcamp__bins_none(a, lk, 0), v = 0, t, any = 0, m;
    for (size_t i = 0; i < a->n; i++) {
        const mcamp__pair *p = &a->pair[i];
        double pH = mcamp__bins_odds(p, lk, 0, &m);
        v += p->count * (exp(mcamp__gauss_logdelta(p->br[0].mog.amax, lk)) -
                         (1 - m) * expm1(l0 - log1p(-pH)));
        any += p->count * pH;
    }
    t = any + expm1(l0);
    if (t > 0) v += exp(lk + log(t));
    t = 1.4e-13 * v;
    if (any > 0) t += 4e-16 * exp(lk + log(any));
    out->upper = v + t;
    out->lower = mcamp__dmax(0.0, v - t);
}

/* What all X < k (kappa) are of delta, without sums: 1/b, for puts e^eps/b, of
 *   call: then some X_i >= k/n, and S - k < S - X_i:
 *     0 <= E(S - k)_+ <= sum_i Pr(X_i >= k/n) sum_{l != i} E(X_l; X_l < k);
 *   put: between p0 (kappa - sum_i E(X_i | X_i < kappa)) and p0 kappa.
 * Near enough where modes are long: a sum is then hardly ever made by more than one X.   */
MCAMP__PRIV mcamp_interval mcamp__bins_quick(const mcamp__acc *a, const mcamp__bet *bet)
{
    double sum = 0, odds = 0, own = 0, l0 = 0, k = exp(bet->cut), share = log(a->bins - a->idle);
    double f = -log(a->bins), put;
    mcamp_interval v = { 0, 0 };
    for (size_t i = 0; i < a->n; i++) {
        const mcamp__pair *p = &a->pair[i];
        double c = p->br[0].mog.amax, t = bet->cut / c + 0.5 * c, m, r;
        m = mcamp__gauss_logcdf(t - c) - (a->add ? mcamp__gauss_logcdf(t) : 0);
        m = p->count * exp(m);
        r = exp(mcamp__gauss_logsf(t - share / c));
        l0 += p->count * mcamp__gauss_logcdf(t);
        sum += m;
        odds += p->count * r;
        own += r * m;
    }
    if (!a->add) {
        v.upper = exp(f) * mcamp__dmax(odds * sum - own, 0.5 * odds * sum) * (1 + 1e-11);
        return v;
    }
    put = exp(f + bet->eps + bet->cut + l0);        /* (one by one they can underflow) */
    v.upper = put * (1 + 1e-11);
    if (k > 1e-300) v.lower = mcamp__dmax(0.0, put * (1 - (2 * bet->slip + sum) / k - 2e-11));
    return v;
}

/* E(S; some X beyond its cells), at most: what is left out of a call. */
MCAMP__PRIV double mcamp__bins_beyond(const mcamp__acc *a)
{
    double l0 = mcamp__bins_none(a, 0, 1), v = 0, m;
    for (size_t i = 0; i < a->n; i++) {
        double pH = mcamp__bins_odds(&a->pair[i], 0, 1, &m);
        v += a->pair[i].count * (m - expm1(l0 - log1p(-pH)));
    }
    return v * (1 + 1e-12);
}

/* Cells of X below the cut; for the call only up to where what is beyond does not matter,
 * since its tilt would: p->reach; for the put from there on, what is left of it adds at most
 * p->left = kappa n P(t < from).                                                         */
MCAMP__PRIV mcamp_status mcamp__bins_cells(mcamp__acc *a, size_t at, double cut)
{
    mcamp__pair *p = &a->pair[at];
    const mcamp__branch *br = &p->br[0];
    double c = br->mog.amax, from, to, end = cut / c + 0.5 * c, x = -mcamp__inf();
    size_t n = MCAMP__PILOT + 3;
    mcamp__cells out;
    mcamp__delete(a->ctx, p->pilot, p->npilot, sizeof *p->pilot);
    mcamp__delete_doubles(a->ctx, a->share[at], p->npilot);
    p->npilot = n;
    p->pilot = out.c = (mcamp__cell *)mcamp__new(a->ctx, n, sizeof *out.c);
    a->share[at] = mcamp__new_doubles(a->ctx, n);
    if (!p->pilot || !a->share[at]) return mcamp__fail(a->ctx, MCAMP_E_MEMORY, "atoms", 0);
    out.n = 0; out.cap = n;
    from = mcamp__dmin(-a->z, end - 2 * a->z);
    to = mcamp__dmin(c + a->z, end);
    p->left = 0;
    if (p->bins == 2) {     /* X near 0 would be tilted up: counted apart */
        x = from;
        p->left = exp(cut + mcamp__gauss_logsf(-from)) * p->count * (1 + 1e-12);
    }
    for (int i = p->bins == 2; i <= MCAMP__PILOT; i++) {
        double y = i < MCAMP__PILOT ? from + (to - from) * i / MCAMP__PILOT : to;
        mcamp__cells_push(&out, mcamp__branch_cell(br, 0, x, y));
        x = y;
    }
    p->reach = to;
    if (to < end && p->bins == 2) mcamp__cells_push(&out, mcamp__branch_cell(br, 0, x, end));
    if (out.n && (!(to < end) || p->bins == 2)) out.c[out.n - 1].hi = cut;
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__bins_pilot(mcamp__acc *a, double cut, double logd)
{
    a->z = mcamp__dmax(6.0, -mcamp__gauss_quantile_log(mcamp__dmax(logd, -800.0) -
                                                      log(a->bins) - 18.5));
    for (size_t i = 0; i < a->n; i++) {
        mcamp_status st = mcamp__bins_cells(a, i, cut);
        if (st < 0) return st;
    }
    return mcamp__acc_laws(a, 0);
}

/* E(S - strike)_+ by Chernoff's bound alone: x_+ <= e^{lambda x}/(e lambda). */
MCAMP__PRIV double mcamp__bins_chernoff(const mcamp__acc *a, double strike)
{
    mcamp__cum c = mcamp__sum_cum(&a->sum[MCAMP__UPPER], a->lambda);
    double t = c.k0 + c.err - a->lambda * strike;
    t += 8 * DBL_EPSILON * (fabs(c.k0) + fabs(a->lambda * strike));
    return exp(t - 1 - log(a->lambda)) + DBL_MIN;
}

/* The line for the present laws: the lower one's saddle point, or the upper one's where its
 * cells are too wide for that tilt.  logd: a guess.                                      */
MCAMP__PRIV void mcamp__bins_steer(mcamp__acc *a, double strike)
{
    const mcamp__sum_law *lo = &a->sum[MCAMP__LOWER], *up = &a->sum[MCAMP__UPPER];
    double other = mcamp__saddle(up, strike, 0, 0);
    a->lambda = mcamp__saddle(lo, strike, 0, 0);
    if (mcamp__line_height(up, other, strike) < mcamp__line_height(up, a->lambda, strike) - 1)
        a->lambda = other;
    a->logd = mcamp__log_guess(lo, a->lambda, strike);
    if (!mcamp__finite(a->logd)) a->logd = -800;
}

/* E(S - strike)_+ without the huge ones (call), E(kappa - S)_+ (put): bounds as close as
 * tol, or a part of what tol in eps amounts to, given that `known` is added to them; or
 * any upper bound below `enough`.  A law without mass leaves the lower end at 0.        */
MCAMP__PRIV mcamp_status mcamp__bins_tame(mcamp__acc *a, const mcamp__bet *bet, double known,
                                          double enough, mcamp_interval *out)
{
    mcamp__width w;
    double strike = bet->strike;
    mcamp_status st = mcamp__bins_pilot(a, bet->cut, -30);
    a->eps = strike;
    out->lower = 0;
    for (int i = 0; i < 2 && st >= 0; i++) {
        mcamp__bins_steer(a, strike);
        if (i || a->logd > -30) break;
        st = mcamp__bins_pilot(a, bet->cut, a->logd);
    }
    if (st < 0) return st;
    out->upper = mcamp__bins_chernoff(a, strike - bet->slip);
    if (out->upper <= mcamp__dmax(enough, 1e-280)) return MCAMP_OK;
    if (!(a->lambda < MCAMP__LAMBDA_MAX) || a->sum[MCAMP__LOWER].n < a->n)
        return MCAMP_Q_MAX_ITER;
    mcamp__width_start(&w, a->tol);
    for (int pass = 0; pass < 4; pass++) {
        double smooth, total;
        mcamp_interval v;
        /* what is known already makes up for a part of the width */
        double tol = a->tol * (1 + 0.3 * mcamp__dmin(10.0, a->lambda * exp(bet->cut) * bet->eps));
        double about = pass ? out->upper : 2 * exp(a->logd) + DBL_MIN;
        w.want = mcamp__dmin(1.0, tol * (1 + known / about));
        if (!pass) mcamp__width_start(&w, w.want);
        st = mcamp__acc_refine(a, &w);
        if (pass && st == MCAMP_E_SIZE) break;
        if (st < 0) return st;
        v = mcamp__acc_bounds(a, strike, &smooth);
        if (bet->slip > 0) {
            v.upper = mcamp__acc_bound(a, MCAMP__UPPER, strike - bet->slip);
            v.lower = mcamp__acc_bound(a, MCAMP__LOWER, strike + bet->slip);
        }
        if (!(v.upper < 1e300)) v.upper = mcamp__inf();
        v.upper = mcamp__dmax(v.upper, DBL_MIN);
        out->upper = mcamp__dmin(out->upper, v.upper);
        out->lower = mcamp__dmax(out->lower, v.lower);
        total = known + out->lower;
        if (out->upper - out->lower <= tol * total + 1e-300) return MCAMP_OK;
        if (a->capped && pass) break;
        mcamp__bins_steer(a, strike);
        mcamp__width_adapt(&w, mcamp__dmin(50.0, log(v.upper / v.lower)), smooth);
    }
    return MCAMP_Q_MAX_ITER;
}

/* Strike and cut.  Positions X - 1, so that the idle ones drop out; -X for puts far out,
 * where idle ones and b e^-eps may cancel: what that loses is the strike's slip, and the
 * cut is where X decides for certain.  cut: -infinity if no put ever pays.               */
MCAMP__PRIV mcamp__bet mcamp__bins_bet(mcamp__acc *a, double eps)
{
    double b = a->bins, k;
    mcamp__bet t;
    t.eps = eps; t.slip = 0;
    if (!a->add) {
        t.strike = b * expm1(eps);
        t.cut = log(a->idle > 0 ? b - a->idle + t.strike : b) + (a->idle > 0 ? 0 : eps);
        return t;
    }
    k = b * exp(-eps) - a->idle;
    if (a->idle > 0) t.slip = 4 * DBL_EPSILON * b * exp(-eps);
    t.cut = k + t.slip > 0 ? log(k + t.slip) : -mcamp__inf();
    if (!(a->idle > 0)) t.cut = log(b) - eps;
    t.strike = eps > 1 ? -k : -b * expm1(-eps);
    return t;
}

/* give_up: any upper bound below it will do (the other direction has won).  Beyond
 * MCAMP__BINS_FAR, where e^(c^2/2) leaves the range in which sums of X mean anything, and
 * wherever the calculation breaks down, the bound without amplification remains.       */
MCAMP__PRIV mcamp_status mcamp__bins_delta(mcamp__acc *a, double eps, double give_up,
                                           mcamp_interval *out)
{
    double b = a->bins, c = mcamp__bins_norm(a), f = (a->add ? exp(eps) : 1.0) / b;
    mcamp_interval huge = { 0, 0 }, tame = { 0, 0 }, quick, v;
    mcamp__bet bet = mcamp__bins_bet(a, eps);
    mcamp_status st;
    int cut = 0;
    for (size_t i = 0; i < a->n; i++) {
        a->pair[i].bins = a->add ? 2 : 1;
        a->pair[i].raw = a->add && eps > 1;
    }
    for (int s = 0; s < 2; s++) {
        a->sum[s].kernel = 1;
        a->sum[s].plus = b * (1 + 1e-9);
    }
    /* without amplification it is a Gaussian mechanism, which is worse (convexity) */
    out->lower = 0;
    out->upper = mcamp__dmin(1.0, exp(mcamp__gauss_logdelta_up(c * (1 + 1e-15), eps)) + DBL_MIN);
    if (!(bet.cut >= -DBL_MAX)) { out->upper = DBL_MIN; return MCAMP_OK; }
    if (out->upper < 1e-300) return MCAMP_OK;
    if (!a->add) mcamp__bins_huge(a, bet.cut, &huge);
    quick = mcamp__bins_quick(a, &bet);
    if (!(a->add || b - a->idle > 1)) quick.upper = 0;  /* one X below k pays nothing */
    out->lower = (f * huge.lower + quick.lower) * (1 - 1e-12);
    v.upper = (f * huge.upper + quick.upper) * (1 + 1e-12) + DBL_MIN;
    if (v.upper < out->upper) out->upper = mcamp__dmax(v.upper, out->lower);
    if (out->upper < give_up || out->upper - out->lower <= a->tol * out->lower) return MCAMP_OK;
    if (c > MCAMP__BINS_FAR || !(bet.strike < 1e290)) return MCAMP_Q_MAX_ITER;
    st = mcamp__bins_tame(a, &bet, huge.lower, 0.99 * give_up / f - huge.upper, &tame);
    if (st == MCAMP_E_INTERNAL || st == MCAMP_E_SIZE) return MCAMP_Q_MAX_ITER;
    if (st < 0) return st;
    for (size_t i = 0; i < a->n; i++) {
        const mcamp__pair *p = &a->pair[i];
        double norm = p->br[0].mog.amax;
        huge.upper += p->left;
        cut |= !a->add && p->reach < bet.cut / norm + 0.5 * norm;
    }
    if (cut) huge.upper = mcamp__bins_beyond(a);
    /* what a sum lost below the smallest double is scaled up by f too */
    v.upper = f * (huge.upper + tame.upper) * (1 + 1e-12) + (1 + f) * 1e-300;
    v.lower = f * (huge.lower + tame.lower) * (1 - 1e-12);
    if (!(v.lower <= v.upper && v.lower <= out->upper)) return MCAMP_Q_MAX_ITER;
    out->upper = mcamp__dmax(out->lower, mcamp__dmin(out->upper, v.upper));
    out->lower = mcamp__dmax(out->lower, v.lower);
    return st;
}

/* eps at delta: roots of the two bounds in log delta.  Above everything: the Gaussian
 * mechanism without amplification.                                                        */
MCAMP__PRIV mcamp_status mcamp__bins_epsilon(mcamp__acc *a, double delta, mcamp_interval *out)
{
    double ld = log(delta), up = mcamp__gauss_eps_up(mcamp__bins_norm(a) * (1 + 1e-15), ld);
    mcamp_status st, res = MCAMP_OK;
    out->lower = out->upper = 0;
    for (int side = 0; side < 2; side++) {
        mcamp__root r;
        mcamp_interval v = { 0, 0 };
        double hi = side ? out->upper : up, f;
        if (!(hi > 0)) return res;
        if ((st = mcamp__bins_delta(a, 0, 0, &v)) < 0) return st;
        f = log(side ? v.lower : v.upper) - ld;
        if (!(f > 0)) { if (side) return res; continue; }
        mcamp__root_init(&r, 0, f, hi, side ? -1e-3 : -10);
        while (r.steps < 60 && r.hi - r.lo > 0.1 * a->tol * r.hi) {
            double x = mcamp__root_next(&r);
            if ((st = mcamp__bins_delta(a, x, 0, &v)) < 0) return st;
            res = st > 0 ? st : res;
            f = log(side ? v.lower : v.upper) - ld;
            mcamp__root_update(&r, x, mcamp__finite(f) ? f : -100);
        }
        if (side) out->lower = r.lo; else out->upper = r.hi;
    }
    return res;
}

/* Resolved desc: defaults in, canaries and ranges checked. */
MCAMP__PRIV mcamp_status mcamp__exact_resolve(mcamp_ctx *ctx,
                                              const mcamp_exact_desc *desc,
                                              mcamp_exact_desc *out)
{
    mcamp_status st;
    memset(out, 0, sizeof *out);
    if (desc) {
        if (desc->start_canary || desc->end_canary)
            return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
        *out = *desc;
    }
    if ((int)out->direction < MCAMP_BOTH || out->direction > MCAMP_ADD)
        return mcamp__fail(ctx, MCAMP_E_ARG, "direction", (double)out->direction);
    if (out->rel_error > 0 || out->rel_error < 0 || mcamp__isnan(out->rel_error)) {
        st = mcamp__check(ctx, "rel_error", out->rel_error, 1e-7, 1, 0.1, 1);
        if (st < 0) return st;
    } else {
        out->rel_error = 1e-4;
    }
    if (!out->max_bytes) out->max_bytes = 200000000;
    return MCAMP_OK;
}

/* Runs acc_delta or acc_epsilon for the directions asked for. */
MCAMP__PRIV mcamp_status mcamp__exact_run(mcamp_ctx *ctx, const mcamp_event *events,
                                          size_t n, const mcamp_exact_desc *d, double x,
                                          int want_eps, double below, mcamp_interval *out,
                                          mcamp_exact_info *info)
{
    mcamp__acc a;
    mcamp_interval best = { 0, 0 }, v = { 0, 0 };
    mcamp_status st = mcamp__acc_init(&a, ctx, events, n, d->rel_error, d->max_bytes, below);
    mcamp_status res = st;
    a.info.remove.lower = a.info.remove.upper = mcamp__nan();
    a.info.add = a.info.remove;
    a.info.beta = a.beta;
    for (int dir = 0; dir < 2 && res >= 0; dir++) {
        if (d->direction == (dir ? MCAMP_REMOVE : MCAMP_ADD)) continue;
        a.add = dir;
        if (a.n && a.pair[0].bins)
            st = want_eps ? mcamp__bins_epsilon(&a, x, &v)
                          : mcamp__bins_delta(&a, x, best.lower, &v);
        else
            st = want_eps ? mcamp__acc_epsilon(&a, x, best.lower, &v)
                          : mcamp__acc_delta(&a, x, best.lower, &v);
        if (st < 0) { res = st; break; }
        if (st > 0) res = st;
        if (!want_eps) v.upper = mcamp__dmin(1, (v.upper + a.beta) * (1 + 2 * DBL_EPSILON));
        if (dir) a.info.add = v; else a.info.remove = v;
        best.lower = mcamp__dmax(best.lower, v.lower);
        best.upper = mcamp__dmax(best.upper, v.upper);
        a.info.infinite = mcamp__dmax(a.info.infinite, mcamp__sum_pinf(&a.sum[MCAMP__UPPER]));
    }
    if (!want_eps && a.beta > a.tol * best.lower && res == MCAMP_OK) res = MCAMP_Q_MAX_ITER;
    *info = a.info;
    mcamp__acc_free(&a);
    if (res >= 0) *out = best;
    return res;
}

/* BINS in composition are followed so far out that what is beyond is a millionth of delta;
 * a delta that is asked for is not known before, hence further out if need be.           */
MCAMP__PRIV mcamp_status mcamp__exact_reach(mcamp_ctx *ctx, const mcamp_event *events,
                                            size_t n, const mcamp_exact_desc *d, double x,
                                            int want_eps, mcamp_interval *out,
                                            mcamp_exact_info *info)
{
    double uses = 1, below;
    mcamp_status st = MCAMP_OK;
    for (size_t i = 0; i < n; i++)
        if (events[i].kind == MCAMP_EVENT_BINS) uses += (double)events[i].count;
    below = want_eps ? mcamp__dmax(1e-280, 1e-6 * x / uses) : 1e-12 / uses;
    for (int i = 0; i < 6; i++, below = mcamp__dmax(1e-280, below * below)) {
        st = mcamp__exact_run(ctx, events, n, d, x, want_eps, below, out, info);
        if (st < 0 || want_eps || !(uses > 1) || info->infinite > 1e3 * uses * below) break;
        if (below <= 1e-280 || !(info->infinite > 1e-3 * out->upper)) break;
    }
    return st;
}

/* The events are plain Gaussians: mu of their composition, else a negative number. */
MCAMP__PRIV double mcamp__exact_mu(const mcamp_event *e, size_t n)
{
    mcamp__sum s = { 0, 0 };
    for (size_t i = 0; i < n; i++) {
        if (mcamp__event_idle(&e[i])) continue;
        if (!mcamp__event_is_gauss(&e[i])) return -1;
        mcamp__sum_add(&s, mcamp__event_mu2(&e[i]));
    }
    return sqrt(mcamp__sum_get(&s));
}

/* The closed form with its rounding errors; both directions agree. */
MCAMP__PRIV void mcamp__exact_gauss(const mcamp_exact_desc *d, double mu, double x,
                                    int want_eps, mcamp_interval *out,
                                    mcamp_exact_info *info)
{
    double up = mu * (1 + 8 * DBL_EPSILON);
    if (want_eps) {
        out->upper = mcamp__gauss_eps_up(up, log(x));
        out->lower = out->upper * (1 - 1e-12);
    } else {
        out->upper = mcamp__dmax(DBL_MIN, exp(mcamp__gauss_logdelta_up(up, x)));
        out->upper = mcamp__dmin(1.0, out->upper);
        out->lower = out->upper > 1e-300 ? out->upper * (1 - 1e-10) : 0;
    }
    if (!info) return;
    memset(info, 0, sizeof *info);
    info->remove = info->add = *out;
    if (d->direction == MCAMP_ADD) info->remove.lower = info->remove.upper = mcamp__nan();
    if (d->direction == MCAMP_REMOVE) info->add.lower = info->add.upper = mcamp__nan();
}

MCAMP__PRIV mcamp_status mcamp__exact_query(mcamp_ctx *ctx, const mcamp_event *events,
                                            size_t n, const mcamp_exact_desc *desc,
                                            double x, int want_eps, mcamp_interval *out,
                                            mcamp_exact_info *info)
{
    mcamp_exact_desc d;
    mcamp_exact_info cost;
    double mu;
    mcamp_status st = mcamp__events_check(ctx, events, n);
    if (st < 0) return st;
    if (!out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, want_eps ? "eps" : "delta", 0);
    if ((st = mcamp__exact_resolve(ctx, desc, &d)) < 0) return st;
    st = want_eps ? mcamp__check_prob(ctx, "delta", x) : mcamp__check_eps(ctx, "eps", x);
    if (st < 0) return st;
    mu = mcamp__exact_mu(events, n);
    if (!(mu >= 0)) {
        st = mcamp__exact_reach(ctx, events, n, &d, x, want_eps, out, &cost);
        if (st >= 0 && info) *info = cost;
        return st;
    }
    if (!(mu <= 1e50)) return mcamp__fail(ctx, MCAMP_E_ARG, "sigma", mu);
    mcamp__exact_gauss(&d, mu, x, want_eps, out, info);
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_exact_delta(mcamp_ctx *ctx, const mcamp_event *events,
                                         size_t nevents, const mcamp_exact_desc *desc,
                                         double eps, mcamp_interval *delta,
                                         mcamp_exact_info *info)
{
    MCAMP__GUARD;
    return mcamp__exact_query(ctx, events, nevents, desc, eps, 0, delta, info);
}

MCAMP_API mcamp_status mcamp_exact_epsilon(mcamp_ctx *ctx, const mcamp_event *events,
                                           size_t nevents, const mcamp_exact_desc *desc,
                                           double delta, mcamp_interval *eps,
                                           mcamp_exact_info *info)
{
    MCAMP__GUARD;
    return mcamp__exact_query(ctx, events, nevents, desc, delta, 1, eps, info);
}

MCAMP_API mcamp_status mcamp_exact_curve(mcamp_ctx *ctx, const mcamp_event *events,
                                         size_t nevents, const mcamp_exact_desc *desc,
                                         const double *eps, size_t n,
                                         mcamp_interval *remove, mcamp_interval *add)
{
    MCAMP__GUARD;
    mcamp_exact_desc d;
    mcamp_status res = mcamp__events_check(ctx, events, nevents);
    mcamp_interval *tmp;
    if (res < 0) return res;
    if ((res = mcamp__exact_resolve(ctx, desc, &d)) < 0) return res;
    if (!n) return mcamp__fail(ctx, MCAMP_E_SIZE, "n", 0);
    if (!eps) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "eps", 0);
    if (!remove && !add) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "remove", 0);
    tmp = (mcamp_interval *)mcamp__new(ctx, 2 * n, sizeof *tmp);
    if (!tmp) return mcamp__fail(ctx, MCAMP_E_MEMORY, "n", (double)n);
    for (size_t i = 0; i < 2 * n && res >= 0; i++) {
        mcamp_status st;
        if (!(i < n ? remove : add)) continue;
        d.direction = i < n ? MCAMP_REMOVE : MCAMP_ADD;
        st = mcamp_exact_delta(ctx, events, nevents, &d, eps[i % n], &tmp[i], NULL);
        if (st) res = st;
    }
    for (size_t i = 0; i < n && res >= 0; i++) {
        if (remove) remove[i] = tmp[i];
        if (add) add[i] = tmp[n + i];
    }
    mcamp__delete(ctx, tmp, 2 * n, sizeof *tmp);
    return res;
}

/* ---- calibration ---------------------------------------------------------------------------- */

/* A copy of the events with one parameter as the unknown, x = its logarithm. */
typedef struct mcamp__search {
    mcamp_ctx *ctx;
    mcamp_event *ev;
    size_t n, which;
    mcamp_event_param param;
    mcamp_exact_desc desc;
    double eps, delta, ld, beta, max;   /* ld: log(delta - beta); max: largest log value */
    double sign;                /* -1: delta falls with the parameter */
    mcamp_exact_info info;
} mcamp__search;

/* Sets the parameter; returns the value that it really got. */
MCAMP__PRIV double mcamp__search_set(mcamp__search *s, double x)
{
    mcamp_event *e = &s->ev[s->which];
    double v = exp(mcamp__dmin(x, s->max));
    switch (s->param) {
    case MCAMP_PARAM_SIGMA: e->sigma = v; break;
    case MCAMP_PARAM_Q: e->q = v = mcamp__dmin(v, 1.0); break;
    case MCAMP_PARAM_COUNT:
        e->count = (uint64_t)mcamp__dmax(1.0, floor(v * (1 + 1e-15)));
        v = (double)e->count;
        break;
    default:
        e->group = (uint64_t)mcamp__dmax(1.0, floor(v * (1 + 1e-15)));
        v = (double)e->group;
        break;
    }
    return v;
}

/* log delta / target at x, less beta of both.  rough: remove only, ten times the tolerance,
 * the middle of the interval, for steering; else the upper bound over all directions.   */
MCAMP__PRIV mcamp_status mcamp__search_eval(mcamp__search *s, double x, int rough,
                                            double *f)
{
    mcamp_exact_desc d = s->desc;
    mcamp_interval v = { 0, 0 };
    mcamp_status st;
    mcamp__search_set(s, x);
    if (rough) {
        if (d.direction == MCAMP_BOTH) d.direction = MCAMP_REMOVE;
        d.rel_error = mcamp__dmin(0.1, 10 * d.rel_error);
    }
    st = mcamp_exact_delta(s->ctx, s->ev, s->n, &d, s->eps, &v, rough ? NULL : &s->info);
    if (st < 0) return st;
    *f = log(v.upper - s->beta);
    if (rough && v.lower > 0) *f = 0.5 * (*f + log(v.lower));
    *f -= s->ld;
    if (!(*f > -1e4)) *f = -1e4;
    if (!rough && !(v.upper <= s->delta)) *f = mcamp__dmax(*f, 1e-12);
    return st;
}

/* Where to begin: the central limit, by which T steps of a mechanism with chi-square
 * divergence q^2 (e^{1/sigma^2} - 1) are nearly a Gaussian mechanism.                     */
MCAMP__PRIV double mcamp__search_start(const mcamp__search *s)
{
    const mcamp_event *e = &s->ev[s->which];
    double mu = mcamp__gauss_mu_down(s->eps, s->ld), T = (double)e->count, q = 1, a;
    if (s->param == MCAMP_PARAM_Q) return -3;
    if (s->param != MCAMP_PARAM_SIGMA) return 2;
    a = e->sensitivity > 0 ? e->sensitivity : 1;
    if (e->kind == MCAMP_EVENT_BINS)
        return log(a * mcamp__bins_longest(e) *
                   sqrt((double)e->rounds / log1p((double)e->bins * mu * mu)));
    if (e->kind == MCAMP_EVENT_POISSON || e->kind == MCAMP_EVENT_TRUNCATED ||
        e->kind == MCAMP_EVENT_GROUP_POISSON || e->q > 0) q = e->q;
    if (e->kind == MCAMP_EVENT_BANDMF) {
        q = (double)e->batch * (double)e->bands / (double)e->population;
        T *= ceil((double)e->rounds / (double)e->bands);
    }
    if (e->kind == MCAMP_EVENT_MIXTURE)
        for (size_t i = 0; i < e->n; i++) a = mcamp__dmax(a, e->shift[i]);
    mu /= q * sqrt(T);
    return log(a) - 0.5 * log(log1p(mu * mu));
}

/* A bracket of the root of the rough curve around the start, then the root; slope is
 * d log delta / dx there.                                                                  */
MCAMP__PRIV mcamp_status mcamp__search_rough(mcamp__search *s, double *x, double *slope)
{
    double lo, hi, flo, fhi, step = s->param == MCAMP_PARAM_SIGMA ? 0.15 : 0.7;
    mcamp_status st;
    mcamp__root r;
    lo = hi = mcamp__dmin(mcamp__search_start(s), s->max);
    if ((st = mcamp__search_eval(s, lo, 1, &flo)) < 0) return st;
    fhi = flo;
    for (int i = 0; i < 60; i++, step *= 1.7) {
        if ((fhi > 0) != (flo > 0)) break;
        if ((flo > 0) == (s->sign < 0)) {       /* go right */
            lo = hi; flo = fhi;
            if (hi >= s->max) { *x = hi; *slope = s->sign; return MCAMP_OK; }
            hi = mcamp__dmin(hi + step, s->max);
            if ((st = mcamp__search_eval(s, hi, 1, &fhi)) < 0) return st;
        } else {
            hi = lo; fhi = flo;
            lo -= step;
            if (lo < -200) return mcamp__fail(s->ctx, MCAMP_E_INFEASIBLE, "delta", exp(s->ld));
            if ((st = mcamp__search_eval(s, lo, 1, &flo)) < 0) return st;
        }
    }
    if ((fhi > 0) == (flo > 0))
        return mcamp__fail(s->ctx, MCAMP_E_INFEASIBLE, "delta", exp(s->ld));
    mcamp__root_init(&r, lo, flo, hi, fhi);
    *slope = (fhi - flo) / (hi - lo);
    *x = hi;
    while (r.steps < 60 && r.hi - r.lo > 0.02 * s->desc.rel_error) {
        double y = mcamp__root_next(&r), f;
        if ((st = mcamp__search_eval(s, y, 1, &f)) < 0) return st;
        if (fabs(y - *x) > 1e-9) *slope = (f - (fhi)) / (y - *x);
        *x = y;
        fhi = f;
        if (fabs(f) < 0.05 * s->desc.rel_error * fabs(*slope)) break;
        mcamp__root_update(&r, y, f);
    }
    if (!(*slope * s->sign > 0.05)) *slope = s->sign;
    return MCAMP_OK;
}

/* From the rough root to a certified one: step by what the upper bound misses, and a
 * little more, until it fits.                                                             */
MCAMP__PRIV mcamp_status mcamp__search_certify(mcamp__search *s, double x, double slope,
                                               double *value)
{
    double f, extra = 0.05 * s->desc.rel_error;
    for (int i = 0; i < 30; i++, extra *= 2) {
        mcamp_status st = mcamp__search_eval(s, x, 0, &f);
        if (st < 0) return st;
        if (f <= 0) {
            *value = mcamp__search_set(s, x);
            return MCAMP_OK;
        }
        if (s->param == MCAMP_PARAM_COUNT || s->param == MCAMP_PARAM_GROUP) {
            double v = mcamp__search_set(s, x);
            if (!(v > 1)) break;
            x = mcamp__dmin(log(v - 1), log(v) - f / fabs(slope));
        } else {
            x -= f / slope + s->sign * extra;
        }
    }
    return mcamp__fail(s->ctx, MCAMP_E_INFEASIBLE, "delta", exp(s->ld));
}

/* Is the value as good as can be, to its tolerance?  A better one must miss the target for
 * certain: a lower bound says so.                                                       */
MCAMP__PRIV mcamp_status mcamp__search_width(mcamp__search *s, double value)
{
    int whole = s->param == MCAMP_PARAM_COUNT || s->param == MCAMP_PARAM_GROUP;
    double tol = s->desc.rel_error;
    double x = whole ? log(floor(value * (1 + 10 * tol)) + 1) : log(value) + 4 * s->sign * tol;
    mcamp_interval v = { 0, 0 };
    mcamp_status st;
    if (x > s->max) return MCAMP_OK;
    mcamp__search_set(s, x);
    st = mcamp_exact_delta(s->ctx, s->ev, s->n, &s->desc, s->eps, &v, NULL);
    if (st < 0) return st;
    return v.lower > s->delta ? MCAMP_OK : MCAMP_Q_MAX_ITER;
}

MCAMP__PRIV mcamp_status mcamp__search_check(mcamp_ctx *ctx, const mcamp_event *events,
                                             size_t n, size_t which,
                                             mcamp_event_param param)
{
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!n) return mcamp__fail(ctx, MCAMP_E_SIZE, "nevents", 0);
    if (!events) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "events", 0);
    if (which >= n) return mcamp__fail(ctx, MCAMP_E_ARG, "which", (double)which);
    if (param == MCAMP_PARAM_NONE) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "param", 0);
    if (param == MCAMP_PARAM_COUNT || (param == MCAMP_PARAM_SIGMA &&
        events[which].kind != MCAMP_EVENT_RESPONSE && events[which].kind < MCAMP_EVENT_CURVE))
        return MCAMP_OK;
    if (param == MCAMP_PARAM_Q) {
        mcamp_event_kind k = events[which].kind;
        if (k == MCAMP_EVENT_POISSON || k == MCAMP_EVENT_GROUP_POISSON ||
            k == MCAMP_EVENT_TRUNCATED || k == MCAMP_EVENT_LAPLACE ||
            k == MCAMP_EVENT_RESPONSE || k == MCAMP_EVENT_GAUSSIAN) return MCAMP_OK;
    }
    if (param == MCAMP_PARAM_GROUP && (events[which].kind == MCAMP_EVENT_GROUP_POISSON ||
                                       events[which].kind == MCAMP_EVENT_GROUP_FIXED))
        return MCAMP_OK;
    return mcamp__fail(ctx, MCAMP_E_ARG, "param", (double)param);
}

MCAMP_API mcamp_status mcamp_exact_calibrate(mcamp_ctx *ctx, const mcamp_event *events,
                                             size_t nevents,
                                             const mcamp_exact_desc *desc, size_t which,
                                             mcamp_event_param param, double eps,
                                             double delta, double *value,
                                             mcamp_exact_info *info)
{
    MCAMP__GUARD;
    mcamp__search s;
    double x = 0, slope = 0, v = 0;
    mcamp_status st = mcamp__search_check(ctx, events, nevents, which, param);
    if (st < 0) return st;
    if (!value) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "value", 0);
    memset(&s, 0, sizeof s);
    if ((st = mcamp__exact_resolve(ctx, desc, &s.desc)) < 0) return st;
    if ((st = mcamp__check_eps(ctx, "eps", eps)) < 0) return st;
    if ((st = mcamp__check_prob(ctx, "delta", delta)) < 0) return st;
    s.ctx = ctx; s.n = nevents; s.which = which; s.param = param;
    s.eps = eps; s.delta = delta;
    for (size_t i = 0; i < nevents; i++)
        if (mcamp__event_sampled(&events[i])) s.beta += events[i].beta;
    s.ld = log(delta - s.beta);
    if (!mcamp__finite(s.ld)) return mcamp__fail(ctx, MCAMP_E_INFEASIBLE, "delta", delta);
    s.ev = (mcamp_event *)mcamp__new(ctx, nevents, sizeof *s.ev);
    if (!s.ev) return mcamp__fail(ctx, MCAMP_E_MEMORY, "nevents", (double)nevents);
    memcpy(s.ev, events, nevents * sizeof *s.ev);
    s.sign = param == MCAMP_PARAM_SIGMA ? -1 : 1;
    s.max = param == MCAMP_PARAM_SIGMA ? 200 : param == MCAMP_PARAM_Q ? 0 :
            param == MCAMP_PARAM_COUNT ? log((double)MCAMP__COUNT_MAX) : log(65535.0);
    if (param == MCAMP_PARAM_GROUP && events[which].kind == MCAMP_EVENT_GROUP_FIXED)
        s.max = mcamp__dmin(s.max, log((double)events[which].population));
    mcamp__search_set(&s, 0);
    st = mcamp__events_check(ctx, s.ev, nevents);
    if (st >= 0) st = mcamp__search_rough(&s, &x, &slope);
    if (st >= 0) st = mcamp__search_certify(&s, x, slope, &v);
    if (st >= 0) st = mcamp__search_width(&s, v);
    mcamp__delete(ctx, s.ev, nevents, sizeof *s.ev);
    if (st < 0) return st;
    *value = v;
    if (info) *info = s.info;
    return st;
}

/* ======================================================================== *
 *  GUARANTEES WITHOUT SAMPLES                                      >>promise
 *  In: C and a law of batches that section exact knows.  Out: guarantees.
 * ======================================================================== */

/* ---- orthogonal modes of few kinds -------------------------------------------- *
 * G is diagonal, as with C = I (one kind, or two where b does not divide n): section exact
 * knows the answer.                                                                */
typedef struct mcamp__kinds {
    size_t n;               /* 0: too many, or not diagonal */
    double norm[MCAMP__BINS_KINDS], count[MCAMP__BINS_KINDS];
} mcamp__kinds;

/* Norms rounded up. */
MCAMP__PRIV mcamp__kinds mcamp__kinds_of(const mcamp__factor *f)
{
    mcamp__kinds k;
    size_t at = 0;
    memset(&k, 0, sizeof k);
    if (!f->diagonal || !(f->trace_max > f->idle)) return k;
    for (size_t i = 0; i < f->b; i++) {
        double norm = sqrt(f->g[i]) * (1 + 4 * DBL_EPSILON);
        if (!k.n || !mcamp__eq(k.norm[at], norm))
            for (at = 0; at < k.n && !mcamp__eq(k.norm[at], norm); ) at++;
        if (at == MCAMP__BINS_KINDS) { k.n = 0; return k; }
        k.norm[at] = norm;
        k.count[at]++;
        k.n = mcamp__zmax(k.n, at + 1);
    }
    return k;
}

MCAMP__PRIV int mcamp__exact_knows(const mcamp__factor *f) { return mcamp__kinds_of(f).n > 0; }

MCAMP__PRIV mcamp_event mcamp__kinds_event(const mcamp__kinds *k, const mcamp__factor *f,
                                           double sigma)
{
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_BINS;
    e.count = e.rounds = 1;
    e.bins = f->b;
    e.sigma = sigma;
    e.n = k->n; e.shift = k->norm; e.prob = k->count;
    return e;
}

/* delta in one direction or the larger of both; 1e-9 for the rounding of G.  Coarsely in some
 * milliseconds; fine: in some tens, where delta is not so small that nobody cares.  [0, 1]
 * where section exact has no answer.                                                   */
MCAMP__PRIV mcamp_status mcamp__exact_interval(mcamp_ctx *ctx, const mcamp__factor *f,
                                               double sigma, double eps, mcamp_direction dir,
                                               int fine, mcamp_interval *v)
{
    mcamp__kinds k = mcamp__kinds_of(f);
    mcamp_event e = mcamp__kinds_event(&k, f, sigma);
    mcamp_exact_desc d;
    mcamp_status st;
    v->lower = 0; v->upper = 1;
    if (f->b == 1 || mcamp__too_close(f, sigma)) return MCAMP_OK;
    memset(&d, 0, sizeof d);
    d.direction = dir;
    for (int pass = 0; pass <= fine; pass++) {
        mcamp_interval w = { 0, 1 };
        d.rel_error = pass && v->upper > 1e-30 ? 1e-4 : 1e-3;
        d.max_bytes = pass ? 4000000 : 1000000;
        st = mcamp_exact_delta(ctx, &e, 1, &d, eps, &w, NULL);
        if (st == MCAMP_E_MEMORY) return st;
        if (st < 0) break;              /* it has no answer: samples must do */
        v->lower = mcamp__dmax(v->lower, w.lower * (1 - 1e-9));
        v->upper = mcamp__dmin(v->upper, w.upper);
        if (v->upper <= 1e-30 && v->upper <= 1.01 * v->lower) break;
    }
    return MCAMP_OK;
}

/* Sets what is known about the question. */
MCAMP__PRIV mcamp_status mcamp__ask_exact(mcamp_ctx *ctx, mcamp__question *q)
{
    mcamp_interval v;
    mcamp_status st = mcamp__exact_interval(ctx, q->f, q->sigma, q->eps, q->dir, q->fine, &v);
    if (st < 0) return st;
    q->low = mcamp__dmax(q->low, v.lower);
    q->high = mcamp__dmin(q->high, v.upper);
    return MCAMP_OK;
}

/* What section exact knows about a claim's directions; closely where a coarse interval
 * does not decide.                                                                  */
MCAMP__PRIV mcamp_status mcamp__known_bounds(mcamp_ctx *ctx, const mcamp__factor *f,
                                             const mcamp_claim *c, mcamp__known *known)
{
    known->remove = known->add = 1;
    if (!mcamp__exact_knows(f)) return MCAMP_OK;
    for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
        mcamp_direction dir = (mcamp_direction)d;
        mcamp__question q = mcamp__ask(f, c->sigma, c->eps, dir, c->seed);
        mcamp_status st;
        if (c->direction != MCAMP_BOTH && c->direction != dir) continue;
        if ((st = mcamp__ask_exact(ctx, &q)) < 0) return st;
        q.fine = q.high > c->delta && q.low <= c->delta;
        if (q.fine && (st = mcamp__ask_exact(ctx, &q)) < 0) return st;
        if (dir == MCAMP_REMOVE) known->remove = q.high;
        else known->add = q.high;
    }
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_verify(mcamp_ctx *ctx, const mcamp_gram *gram,
                                    const mcamp_claim *claim, mcamp_guarantee *out)
{
    MCAMP__GUARD;
    mcamp__factor f;
    mcamp__known known;
    mcamp_guarantee s;
    mcamp_status st = mcamp__claim_check(ctx, gram, claim, out, 1);
    if (st < 0) return st;
    out->accepted = false;              /* whatever happens from here on */
    out->kind = MCAMP_KIND_NONE;
    if ((st = mcamp__factor_init(ctx, gram, &f)) < 0) return st;
    mcamp__guarantee_claim(gram, claim, &s);
    st = mcamp__known_bounds(ctx, &f, claim, &known);
    if (st >= 0) st = mcamp__verify_claim(ctx, &f, claim, &known, &s);
    mcamp__factor_free(ctx, &f);
    if (st < 0) return st;
    *out = s;
    return st;
}

/* ---- curves by simulation ---- */

MCAMP__PRIV mcamp_status mcamp__simulated_bound(mcamp_ctx *ctx, const mcamp_gram *gram,
                                                const mcamp_sampler_desc *d, uint64_t seed,
                                                uint64_t blocks, double beta, double *bound)
{
    mcamp_sampler s;
    mcamp__workers w;
    mcamp_tally t;
    mcamp_status st = mcamp_sampler_init(ctx, gram, d, &s);
    if (st < 0) return st;
    st = mcamp__workers_init(ctx, s.impl, &w);
    if (st >= 0) {
        mcamp__tally_init(s.impl, &t);
        st = mcamp__run_blocks(ctx, s.impl, &w, seed,
                               MCAMP__PURPOSE(MCAMP__STREAM_CURVE, 0, s.impl->dir), 0, blocks, &t);
        if (st >= 0) *bound = mcamp_tally_upper(&t, beta);
        mcamp__workers_free(ctx, &w);
    }
    mcamp_sampler_free(ctx, &s);
    return st < 0 ? st : MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_simulated_curve(mcamp_ctx *ctx, const mcamp_gram *gram,
                                             double sigma, const double *eps, size_t n,
                                             uint64_t seed, uint64_t blocks, double beta,
                                             double *remove, double *add)
{
    MCAMP__GUARD;
    mcamp_status st = MCAMP_OK;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!eps || !n) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "eps", 0);
    if (!remove || !add) return mcamp__fail(ctx, MCAMP_E_REQUIRED, remove ? "add" : "remove", 0);
    if ((st = mcamp__check_prob(ctx, "beta", beta)) < 0) return st;
    if ((st = mcamp__check_count(ctx, "blocks", blocks, MCAMP__COUNT_MAX)) < 0) return st;
    for (size_t i = 0; i < n; i++) remove[i] = add[i] = 1;     /* in case of an error */
    for (size_t i = 0; i < 2 * n && st == MCAMP_OK; i++) {
        mcamp_sampler_desc d;
        memset(&d, 0, sizeof d);
        d.direction = i < n ? MCAMP_REMOVE : MCAMP_ADD;
        d.sigma = sigma;
        d.eps = eps[i % n];
        st = mcamp__simulated_bound(ctx, gram, &d, seed, blocks, beta / (2 * (double)n),
                                    i < n ? &remove[i] : &add[i - n]);
    }
    return st;
}

/* ---- cyclic Poisson sampling ---- */

MCAMP_API mcamp_status mcamp_guarantee_poisson(mcamp_ctx *ctx, const mcamp_mech *mech,
                                               uint64_t batches, double q, double sigma,
                                               double delta, mcamp_guarantee *out)
{
    MCAMP__GUARD;
    mcamp_event e;
    mcamp_interval eps;
    double norm = 0;
    mcamp_status st = mcamp__guarantee_args(ctx, mech, out);
    if (st == MCAMP_OK) st = mcamp__guarantee_numbers(ctx, batches, sigma, delta);
    if (st == MCAMP_OK) st = mcamp__check(ctx, "q", q, 0, 0, 1, 1);
    if (st < 0) return st;
    if (mech->bands > batches)      /* two uses of an example would share rows */
        return mcamp__fail(ctx, MCAMP_E_ARG, "batches", (double)batches);
    st = mcamp_mech_max_norm(ctx, mech, &norm);
    if (st < 0) return st;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.count = (mech->n - 1) / batches + 1;
    e.sigma = sigma;
    e.sensitivity = norm * (1 + 1e-13);
    e.q = q;
    st = mcamp_exact_epsilon(ctx, &e, 1, NULL, delta, &eps, NULL);
    if (st < 0) return st;
    if (!mcamp__finite(eps.upper))
        return mcamp__fail(ctx, MCAMP_E_INFEASIBLE, "delta", delta);
    mcamp__guarantee_set(out, mech, MCAMP_KIND_INTERVAL, MCAMP_BATCH_POISSON, batches);
    out->sigma = sigma;
    out->lower = eps.lower;
    out->eps = out->upper = eps.upper;
    out->delta = delta;
    out->q = q;
    out->sensitivity = e.sensitivity;
    return MCAMP_OK;
}

/* ######################################################################## *
 *  PART III: STEERING AND WORDS           may be wrong or slow, not unsafe
 *  In: targets, families of C, budgets.  Out: estimates, a sigma or C that parts I and II
 *  then decide about, plans, records, text and JSON.
 *  Guarantee: none of its own.  Whatever it chooses is decided anew by parts I and II, and
 *  its sentences come from their guarantee objects.
 *  A fault here costs time, accuracy or error of the released sums; in the words, it
 *  could say more than was proved.
 * ######################################################################## */

/* ======================================================================== *
 *  WORKLOADS, ERROR, SENSITIVITY                                    >>work
 *  In: C, a workload A, or a participation schema.  Out: row norms of A C^-1,
 *  their gradient with respect to C's parameters, sensitivities.  Memory: O(n)
 *  beside the results.  Guarantee: sensitivities named
 *  exact are; the others are upper bounds.  Nothing here enters the accounting
 *  by balls in bins.
 * ======================================================================== */

#define MCAMP__WORK_MAGIC 0x776f726bu

/* ---- the workload --------------------------------------------------------- */

MCAMP__PRIV int mcamp__work_ok(const mcamp_work *w)
{
    return w && w->magic == MCAMP__WORK_MAGIC;
}

MCAMP_API void mcamp_work_free(mcamp_ctx *ctx, mcamp_work *work)
{
    if (!mcamp__ctx_ok(ctx) || !work) return;
    mcamp__delete_doubles(ctx, work->lr, work->n);
    mcamp_mech_free(ctx, &work->matrix);
    memset(work, 0, sizeof *work);
}

MCAMP__PRIV mcamp_status mcamp__work_set_lr(mcamp_ctx *ctx, const mcamp_work_desc *d,
                                            mcamp_work *w)
{
    if (!d->lr) return MCAMP_OK;
    if (w->kind != MCAMP_WORK_PREFIX && w->kind != MCAMP_WORK_MOMENTUM)
        return mcamp__fail(ctx, MCAMP_E_ARG, "lr", 0);
    for (size_t i = 0; i < d->n; i++)
        if (mcamp__eq(d->lr[i], 0.0))
            return mcamp__fail(ctx, MCAMP_E_ARG, "lr", 0);
    return mcamp__copy_values(ctx, "lr", d->lr, d->n, &w->lr);
}

/* A user's matrix, held as C is, but with any diagonal other than 0. */
MCAMP__PRIV mcamp_status mcamp__work_set_matrix(mcamp_ctx *ctx,
                                                const mcamp_work_desc *d,
                                                mcamp_work *w)
{
    mcamp_mech_desc m;
    mcamp_status st;
    if (w->kind != MCAMP_WORK_TOEPLITZ && w->kind != MCAMP_WORK_DENSE) return MCAMP_OK;
    memset(&m, 0, sizeof m);
    m.kind = w->kind == MCAMP_WORK_TOEPLITZ ? MCAMP_MECH_TOEPLITZ : MCAMP_MECH_DENSE;
    m.n = w->matrix.n = d->n;
    m.coef = d->coef;
    m.count = d->count;
    st = mcamp__mech_build(ctx, &m, &w->matrix);
    if (st < 0) return st;
    for (size_t j = 0; j < d->n; j++)
        if (mcamp__eq(mcamp__mech_diag(&w->matrix, j), 0.0))
            return mcamp__fail(ctx, MCAMP_E_ARG, "coef", 0);
    w->matrix.magic = MCAMP__MECH_MAGIC;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_work_init(mcamp_ctx *ctx, const mcamp_work_desc *desc,
                                       mcamp_work *work)
{
    MCAMP__GUARD;
    mcamp_work w;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!desc) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "desc", 0);
    if (!work) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "work", 0);
    if (desc->start_canary || desc->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
    if (!mcamp__rounds_ok(desc->n))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "n", (double)desc->n);
    if ((int)desc->kind < 0 || (int)desc->kind > (int)MCAMP_WORK_DENSE)
        return mcamp__fail(ctx, MCAMP_E_ARG, "kind",
                           (double)(int)desc->kind);
    memset(&w, 0, sizeof w);
    w.kind = desc->kind ? desc->kind : MCAMP_WORK_PREFIX;
    w.n = desc->n;
    if (w.kind == MCAMP_WORK_MOMENTUM || w.kind == MCAMP_WORK_EMA) {
        st = mcamp__check(ctx, "beta", desc->beta, 0, 1, 1, 0);
        if (st < 0) return st;
        w.beta = desc->beta;
    }
    st = mcamp__work_set_lr(ctx, desc, &w);
    if (st == MCAMP_OK) st = mcamp__work_set_matrix(ctx, desc, &w);
    if (st < 0) { mcamp_work_free(ctx, &w); return st; }
    w.magic = MCAMP__WORK_MAGIC;
    *work = w;
    return MCAMP_OK;
}

/* 1 if A is Toeplitz. */
MCAMP__PRIV int mcamp__work_toeplitz(const mcamp_work *w)
{
    return !w->lr && w->kind != MCAMP_WORK_DENSE;
}

/* <row i, x> over the columns from `from` on. */
MCAMP__PRIV double mcamp__rows_tail(const mcamp_mech *m, size_t i, size_t from,
                                    const double *x)
{
    size_t all = mcamp__row_len(m, i), len = mcamp__zmin(all, i + 1 - from);
    return mcamp__dot(m->coef + mcamp__row_start(m, i) + all - len, x + i + 1 - len, len);
}

/* x <- A x for an x that is zero before `from`; those entries stay. */
MCAMP__PRIV void mcamp__work_apply(const mcamp_work *w, double *x, size_t from)
{
    double velocity = 0, sum = 0, b = w->beta;
    const mcamp_mech *m = &w->matrix;
    if (w->kind == MCAMP_WORK_TOEPLITZ) {
        mcamp__conv(m->coef, m->bands, x + from, w->n - from);
        return;
    }
    if (w->kind == MCAMP_WORK_DENSE) {
        for (size_t i = w->n; i-- > from; )
            x[i] = mcamp__rows_tail(m, i, from, x);
        return;
    }
    for (size_t t = from; t < w->n; t++) {
        if (w->kind == MCAMP_WORK_EMA) {
            x[t] = velocity = b * velocity + (1 - b) * x[t];
            continue;
        }
        velocity = b * velocity + x[t];
        sum += w->lr ? w->lr[t] * velocity : velocity;
        x[t] = sum;
    }
}

/* x <- A^T x, right from row `from` on (what is before it is not touched). */
MCAMP__PRIV void mcamp__work_apply_t(const mcamp_work *w, double *x, size_t from)
{
    double velocity = 0, sum = 0, b = w->beta;
    const mcamp_mech *m = &w->matrix;
    if (w->kind == MCAMP_WORK_TOEPLITZ) {
        mcamp__conv_t(m->coef, m->bands, x + from, w->n - from);
        return;
    }
    if (w->kind == MCAMP_WORK_DENSE) {
        for (size_t i = from; i < w->n; i++) {
            size_t all = mcamp__row_len(m, i) - 1, len = mcamp__zmin(all, i - from);
            const double *row = m->coef + mcamp__row_start(m, i) + all - len;
            mcamp__axpy(x[i], row, x + i - len, len);
            x[i] *= row[len];
        }
        return;
    }
    for (size_t t = w->n; t-- > from; ) {
        if (w->kind == MCAMP_WORK_EMA) {
            x[t] = velocity = b * velocity + (1 - b) * x[t];
            continue;
        }
        sum += x[t];
        velocity = b * velocity + (w->lr ? w->lr[t] * sum : sum);
        x[t] = velocity;
    }
}

/* ---- error ---------------------------------------------------------------- */

/* Scratch of the computations by columns: four vectors of n. */
typedef struct mcamp__columns {
    const mcamp_work *w;
    const mcamp_mech *m;
    size_t n;
    double *block;
    double *t;          /* T^-1 e_0 for the Toeplitz forms */
    double *x;          /* column j of C^-1, then of A C^-1 */
    double *low;        /* rounding errors of the sums of squares */
    double *y;
} mcamp__columns;

MCAMP__PRIV mcamp_status mcamp__columns_init(mcamp_ctx *ctx, const mcamp_work *w,
                                             const mcamp_mech *m, mcamp__columns *q)
{
    size_t count;
    q->w = w; q->m = m; q->n = m->n;
    if (!mcamp__mul_size(m->n, 4, &count))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "mech", (double)m->n);
    q->block = mcamp__new_doubles(ctx, count);
    if (!q->block) return mcamp__fail(ctx, MCAMP_E_MEMORY, "mech", (double)count);
    q->t = q->block;
    q->x = q->t + m->n;
    q->low = q->x + m->n;
    q->y = q->low + m->n;
    if (m->form != MCAMP_FORM_ROWS) {
        q->t[0] = 1.0;
        if (m->form == MCAMP_FORM_BLT) mcamp__blt_apply(m, q->t, m->n, MCAMP__OP_SOLVE);
        else mcamp__toeplitz_apply(m, q->t, m->n, MCAMP__OP_SOLVE);
    }
    return MCAMP_OK;
}

MCAMP__PRIV void mcamp__columns_free(mcamp_ctx *ctx, mcamp__columns *q)
{
    mcamp__delete_doubles(ctx, q->block, 4 * q->n);
}

/* x[j .. n) = column j of C^-1: of T^-1 shifted down, rows divided by s. */
MCAMP__PRIV void mcamp__columns_inverse(const mcamp__columns *q, size_t j, double *x)
{
    const mcamp_mech *m = q->m;
    if (m->form == MCAMP_FORM_ROWS) {
        for (size_t i = j; i < q->n; i++) x[i] = 0;
        x[j] = 1.0;
        mcamp__rows_solve(m, x, j, q->n);
        return;
    }
    for (size_t i = j; i < q->n; i++)
        x[i] = m->scale ? q->t[i - j] / m->scale[i] : q->t[i - j];
}

/* rows[i] = sum_j (A C^-1)_ij^2, column by column. */
MCAMP__PRIV mcamp_status mcamp__error_columns(mcamp_ctx *ctx, const mcamp_work *w,
                                              const mcamp_mech *m, double *rows)
{
    mcamp__columns q;
    mcamp_status st = mcamp__columns_init(ctx, w, m, &q);
    if (st < 0) return st;
    for (size_t i = 0; i < q.n; i++) rows[i] = 0;
    for (size_t j = 0; j < q.n; j++) {
        mcamp__columns_inverse(&q, j, q.x);
        mcamp__work_apply(w, q.x, j);
        for (size_t i = j; i < q.n; i++)
            mcamp__two_sum(rows + i, q.low + i, q.x[i] * q.x[i]);
    }
    for (size_t i = 0; i < q.n; i++) rows[i] += q.low[i];
    mcamp__columns_free(ctx, &q);
    return MCAMP_OK;
}

/* Both Toeplitz: A C^-1 is, with the coefficients B = C^-1 (A e_0), so row i has
 * the squared norm B_0^2 + .. + B_i^2.                                        */
MCAMP__PRIV void mcamp__error_toeplitz(const mcamp_work *w, const mcamp_mech *m,
                                       double *rows)
{
    mcamp__sum acc = { 0, 0 };
    for (size_t i = 0; i < m->n; i++) rows[i] = i ? 0.0 : 1.0;
    mcamp__work_apply(w, rows, 0);
    mcamp__mech_apply(m, rows, m->n, MCAMP__OP_SOLVE);
    for (size_t i = 0; i < m->n; i++) {
        mcamp__sum_add(&acc, rows[i] * rows[i]);
        rows[i] = mcamp__sum_get(&acc);
    }
}

/* A BLT and a workload with a state of its own, both run as one machine.  Column
 * j of A C^-1 is the answer to an impulse at round j; with s its state, W_i =
 * sum_{j <= i} s_j s_j^T obeys W_i = F_i W_{i-1} F_i^T + g_i g_i^T, and row i's
 * squared norm is the entry of W_i at the output.  O(n (d+2)^2) for d buffers.
 * The state before round i, d+2 numbers: the buffers p_0..p_{d-1}, the velocity v,
 * the sum a; an input x gives
 *     y = (x - omega.p) / c_0,   p' = theta p + y,   u = y / scale_i,
 *     v' = beta v + gain u,      a' = a + lr_i v'  (EMA: a' = v').            */
#define MCAMP__MACHINE (MCAMP_MAX_BUFFERS + 2)

/* One column (or row) of W through F_i, in place; stride between its entries. */
MCAMP__PRIV void mcamp__machine_step(const mcamp_work *w, const mcamp_mech *m,
                                     size_t i, double input, double *s, size_t stride)
{
    size_t d = m->buffers;
    double y = input, v, gain = w->kind == MCAMP_WORK_EMA ? 1 - w->beta : 1.0;
    for (size_t j = 0; j < d; j++) y -= m->omega[j] * s[j * stride];
    y /= m->diag;
    for (size_t j = 0; j < d; j++)
        s[j * stride] = m->theta[j] * s[j * stride] + y;
    v = w->beta * s[d * stride] + gain * (m->scale ? y / m->scale[i] : y);
    s[d * stride] = v;
    if (w->kind == MCAMP_WORK_EMA) s[(d + 1) * stride] = v;
    else s[(d + 1) * stride] += w->lr ? w->lr[i] * v : v;
}

/* W_i from W_{i-1} in place, d x d. */
MCAMP__PRIV void mcamp__machine_advance(const mcamp_work *w, const mcamp_mech *m,
                                        size_t i, double *s)
{
    size_t d = m->buffers + 2;
    double g[MCAMP__MACHINE] = { 0 };
    for (size_t k = 0; k < d; k++) mcamp__machine_step(w, m, i, 0.0, s + k, d);
    for (size_t k = 0; k < d; k++) mcamp__machine_step(w, m, i, 0.0, s + k * d, 1);
    mcamp__machine_step(w, m, i, 1.0, g, 1);
    for (size_t k = 0; k < d; k++) mcamp__axpy(g[k], g, s + k * d, d);
}

MCAMP__PRIV mcamp_status mcamp__error_machine(mcamp_ctx *ctx, const mcamp_work *w,
                                              const mcamp_mech *m, double *rows)
{
    size_t d = m->buffers + 2;
    double *s = mcamp__new_doubles(ctx, d * d);
    if (!s) return mcamp__fail(ctx, MCAMP_E_MEMORY, "mech", (double)d);
    for (size_t i = 0; i < m->n; i++) {
        mcamp__machine_advance(w, m, i, s);
        rows[i] = s[d * d - 1];
    }
    mcamp__delete_doubles(ctx, s, d * d);
    return MCAMP_OK;
}

/* 1 if the pair runs as a machine. */
MCAMP__PRIV int mcamp__is_machine(const mcamp_work *w, const mcamp_mech *m)
{
    return m->form == MCAMP_FORM_BLT && w->kind != MCAMP_WORK_TOEPLITZ &&
           w->kind != MCAMP_WORK_DENSE;
}

MCAMP__PRIV mcamp_status mcamp__error_squares(mcamp_ctx *ctx, const mcamp_work *w,
                                              const mcamp_mech *m, double *rows)
{
    if (m->form != MCAMP_FORM_ROWS && !m->scale && mcamp__work_toeplitz(w)) {
        mcamp__error_toeplitz(w, m, rows);
        return MCAMP_OK;
    }
    if (mcamp__is_machine(w, m)) return mcamp__error_machine(ctx, w, m, rows);
    return mcamp__error_columns(ctx, w, m, rows);
}

/* rows: squares in, norms out. */
MCAMP__PRIV void mcamp__error_summary(double *rows, size_t n, mcamp_error_info *info)
{
    mcamp__sum acc = { 0, 0 };
    memset(info, 0, sizeof *info);
    for (size_t i = 0; i < n; i++) {
        mcamp__sum_add(&acc, rows[i]);
        rows[i] = sqrt(rows[i]);
        if (rows[i] > info->max) { info->max = rows[i]; info->max_row = i; }
    }
    info->rmse = sqrt(mcamp__sum_get(&acc) / (double)n);
}

/* ctx, work and mech are objects of the same n. */
MCAMP__PRIV mcamp_status mcamp__work_args(mcamp_ctx *ctx, const mcamp_work *w,
                                          const mcamp_mech *m)
{
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!mcamp__work_ok(w)) return mcamp__fail(ctx, MCAMP_E_ARG, "work", 0);
    if (!mcamp__mech_ok(m)) return mcamp__fail(ctx, MCAMP_E_ARG, "mech", 0);
    if (w->n != m->n) return mcamp__fail(ctx, MCAMP_E_MISMATCH, "work", (double)w->n);
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_work_error(mcamp_ctx *ctx, const mcamp_work *work,
                                        const mcamp_mech *mech, double *rows,
                                        mcamp_error_info *info)
{
    MCAMP__GUARD;
    mcamp_status st = mcamp__work_args(ctx, work, mech);
    mcamp_error_info r;
    double *x;
    if (st < 0) return st;
    if (!info) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "info", 0);
    x = mcamp__new_doubles(ctx, mech->n);
    if (!x) return mcamp__fail(ctx, MCAMP_E_MEMORY, "mech", (double)mech->n);
    st = mcamp__error_squares(ctx, work, mech, x);
    if (st == MCAMP_OK) {
        mcamp__error_summary(x, mech->n, &r);
        st = mcamp__finite(r.rmse) && mcamp__finite(r.max)
           ? MCAMP_OK : mcamp__fail(ctx, MCAMP_E_NONFINITE, "mech", r.rmse);
    }
    if (st == MCAMP_OK) {
        *info = r;
        if (rows) memcpy(rows, x, mech->n * sizeof *rows);
    }
    mcamp__delete_doubles(ctx, x, mech->n);
    return st;
}

/* ---- gradients ------------------------------------------------------------ *
 * value = sum_i wt_i sum_j B_ij^2 with B = A C^-1.  By columns: x_j = C^-1 e_j,
 * z_j = A^T (wt . A x_j), so d value = 2 sum_j <z_j, dx_j>.
 *   C = T S, S = diag(s):  x_j = S^-1 T^-1 e_j, so
 *     d/d log s_r = -2 sum_j z_j[r] x_j[r]            (any C: S^-1 comes last);
 *     d/d t_k = 2 sum_j z_j[j+k] / s_{j+k},  t = T^-1 e_0; and dt = -t * t * dc
 *     (series), so d/dc = -T^-T T^-T (d/dt).
 *   rows:  dx_j = -C^-1 dC x_j, so d/dC_rq = -2 sum_j (C^-T z_j)[r] x_j[q].
 * Both Toeplitz, no factors: with r_k = V_k B_k, V_k = sum_{i >= k} wt_i, value is
 * sum_k V_k B_k^2, B = C^-1 a, and d/dc = -2 C^-T C^-T A^T r, all operators being
 * Toeplitz; d/d(inverse) = 2 A^T r.                                           */

/* Derivatives with respect to the parameters of C; arrays of the caller, NULL = not
 * wanted.                                                                     */
typedef struct mcamp__mech_grad {
    double *coef;               /* mech->count values: d/d coef; with INVERSE
                                   kinds inverse_bands values: d/d inverse    */
    double *theta, *omega;      /* BLT: `buffers` values each                 */
    double *log_scale;          /* n values: d/d log scale[j]; also without
                                   column factors (then at 1)                 */
} mcamp__mech_grad;

/* From d/dc_k in y (n values, spoilt) to the parameters of a Toeplitz form.  With
 * c = 1/d as series dc = -c * c * dd, so d/dd = -C^T C^T (d/dc).              */
MCAMP__PRIV void mcamp__grad_from_coefs(const mcamp_mech *m, double *y,
                                        const mcamp__mech_grad *g)
{
    if (m->inverse) {
        for (int k = 0; k < 2; k++) mcamp__toeplitz_apply(m, y, m->n, MCAMP__OP_TRANS);
        for (size_t k = 0; g->coef && k < m->inverse_bands; k++) g->coef[k] = -y[k];
        return;
    }
    if (m->form == MCAMP_FORM_TOEPLITZ) {
        if (g->coef) memcpy(g->coef, y, m->count * sizeof *y);
        return;
    }
    for (size_t j = 0; j < m->buffers; j++) {       /* c_k = sum omega theta^(k-1) */
        double p = 0, dp = 0;
        for (size_t k = m->n; k-- > 1; ) {
            dp = dp * m->theta[j] + p;
            p = p * m->theta[j] + y[k];
        }
        if (g->omega) g->omega[j] = p;
        if (g->theta) g->theta[j] = m->omega[j] * dp;
    }
}

/* The same from d/dt_k, t = T^-1 e_0. */
MCAMP__PRIV void mcamp__grad_from_inverse(const mcamp_mech *m, double *y,
                                          const mcamp__mech_grad *g)
{
    const int op = MCAMP__OP_SOLVE | MCAMP__OP_TRANS;
    if (m->inverse) {
        if (g->coef) memcpy(g->coef, y, m->inverse_bands * sizeof *y);
        return;
    }
    for (int k = 0; k < 2; k++) {
        if (m->form == MCAMP_FORM_BLT) mcamp__blt_apply(m, y, m->n, op);
        else mcamp__toeplitz_apply(m, y, m->n, op);
    }
    for (size_t k = 0; k < m->n; k++) y[k] = -y[k];
    mcamp__grad_from_coefs(m, y, g);
}

MCAMP__PRIV double mcamp__weight(const double *weights, size_t i, size_t n)
{
    return weights ? weights[i] : 1.0 / (double)n;
}

/* Returns the value; y[n] is scratch. */
MCAMP__PRIV double mcamp__grad_toeplitz(const mcamp_work *w, const mcamp_mech *m,
                                        const double *weights, double *y,
                                        const mcamp__mech_grad *g)
{
    mcamp__sum acc = { 0, 0 }, tail = { 0, 0 };
    size_t n = m->n;
    for (size_t i = 0; i < n; i++) y[i] = i ? 0.0 : 1.0;
    mcamp__work_apply(w, y, 0);
    mcamp__mech_apply(m, y, n, MCAMP__OP_SOLVE);
    for (size_t i = n; i-- > 0; ) {
        double b = y[i];
        mcamp__sum_add(&tail, mcamp__weight(weights, i, n));
        y[i] = 2 * mcamp__sum_get(&tail) * b;
        mcamp__sum_add(&acc, 0.5 * y[i] * b);
    }
    mcamp__work_apply_t(w, y, 0);
    mcamp__grad_from_inverse(m, y, g);
    return mcamp__sum_get(&acc);
}

/* d/dC_rq of packed rows += -2 y[r] x[q], rows and columns from j on. */
MCAMP__PRIV void mcamp__grad_rows(const mcamp_mech *m, size_t j, const double *y,
                                  const double *x, double *out)
{
    for (size_t r = j; r < m->n; r++) {
        size_t len = mcamp__row_len(m, r), c0 = mcamp__zmax(r + 1 - len, j);
        mcamp__axpy(-2 * y[r], x + c0, out + mcamp__row_start(m, r) + len - 1 + c0 - r,
                    r + 1 - c0);
    }
}

/* C^-T on the trailing block from row j on, in place. */
MCAMP__PRIV void mcamp__rows_solve_t_from(const mcamp_mech *m, double *x, size_t j)
{
    for (size_t i = m->n; i-- > j; ) {
        const double *row = m->coef + mcamp__row_start(m, i);
        size_t all = mcamp__row_len(m, i) - 1, len = mcamp__zmin(all, i - j);
        x[i] /= row[all];
        mcamp__axpy(-x[i], row + all - len, x + i - len, len);
    }
}

/* One column's part; z has n values of scratch; returns its part of the value. */
MCAMP__PRIV double mcamp__grad_column(const mcamp__columns *q, size_t j,
                                      const double *weights, double *z,
                                      const mcamp__mech_grad *g)
{
    const mcamp_mech *m = q->m;
    double *x = q->x, value = 0;
    mcamp__columns_inverse(q, j, x);
    memcpy(z + j, x + j, (q->n - j) * sizeof *z);
    mcamp__work_apply(q->w, z, j);
    for (size_t i = j; i < q->n; i++) {
        double b = z[i];
        z[i] = mcamp__weight(weights, i, q->n) * b;
        value += z[i] * b;
    }
    mcamp__work_apply_t(q->w, z, j);
    for (size_t i = j; g->log_scale && i < q->n; i++)
        g->log_scale[i] -= 2 * z[i] * x[i];
    if (m->form != MCAMP_FORM_ROWS) {
        for (size_t i = j; i < q->n; i++)
            q->y[i - j] += 2 * (m->scale ? z[i] / m->scale[i] : z[i]);
    } else if (g->coef) {
        mcamp__rows_solve_t_from(m, z, j);
        mcamp__grad_rows(m, j, z, x, g->coef);
    }
    return value;
}

MCAMP__PRIV mcamp_status mcamp__grad_columns(mcamp_ctx *ctx, const mcamp_work *w,
                                             const mcamp_mech *m,
                                             const double *weights, double *value,
                                             const mcamp__mech_grad *g)
{
    mcamp__columns q;
    mcamp__sum acc = { 0, 0 };
    mcamp_status st = mcamp__columns_init(ctx, w, m, &q);
    if (st < 0) return st;
    for (size_t i = 0; g->log_scale && i < q.n; i++) g->log_scale[i] = 0;
    for (size_t i = 0; m->form == MCAMP_FORM_ROWS && g->coef && i < m->count; i++)
        g->coef[i] = 0;
    for (size_t j = 0; j < q.n; j++)
        mcamp__sum_add(&acc, mcamp__grad_column(&q, j, weights, q.low, g));
    if (m->form != MCAMP_FORM_ROWS) mcamp__grad_from_inverse(m, q.y, g);
    mcamp__columns_free(ctx, &q);
    *value = mcamp__sum_get(&acc);
    return MCAMP_OK;
}

/* A machine, backwards.  With L_i = d value / d W_i (symmetric) and the state after
 * round i being s' = F s + g x:  d value = 2 <L_i [F g] diag(W_{i-1}, 1), d[F g]>, and
 * L_{i-1} = F^T L_i F + weight_{i-1} at the output.  W is kept at every `block`-th
 * round and made again in between: memory O(sqrt(n) d^2), time O(n d^3).        */
typedef struct mcamp__tape {
    const mcamp_work *w;
    const mcamp_mech *m;
    const double *weights;
    size_t d, block;
    double *starts;     /* W before rounds 0, block, 2 block, .. */
    double *inner;      /* W before each round of one block      */
    double *l;          /* d x d */
    double *s, *k;      /* d x d: F W, L F W */
    mcamp__sum value;
} mcamp__tape;

/* How s' depends on y: 1 for the buffers, then q[0] for the velocity, q[1] for
 * the sum (or the average).                                                   */
MCAMP__PRIV void mcamp__tape_gains(const mcamp__tape *t, size_t i, double *q)
{
    int ema = t->w->kind == MCAMP_WORK_EMA;
    q[0] = (ema ? 1 - t->w->beta : 1.0) / (t->m->scale ? t->m->scale[i] : 1.0);
    q[1] = ema || !t->w->lr ? q[0] : t->w->lr[i] * q[0];
}

/* One row or column of L through F^T. */
MCAMP__PRIV void mcamp__tape_back(const mcamp__tape *t, size_t i, double *x,
                                  size_t stride)
{
    const mcamp_mech *m = t->m;
    size_t d = m->buffers;
    double q[2], y, *v = x + d * stride, *a = v + stride;
    int ema = t->w->kind == MCAMP_WORK_EMA;
    mcamp__tape_gains(t, i, q);
    y = q[0] * *v + q[1] * *a;
    for (size_t j = 0; j < d; j++) y += x[j * stride];
    y /= m->diag;
    for (size_t j = 0; j < d; j++)
        x[j * stride] = m->theta[j] * x[j * stride] - m->omega[j] * y;
    *v = t->w->beta * (*v + (ema || !t->w->lr ? 1.0 : t->w->lr[i]) * *a);
    if (ema) *a = 0;
}

/* The part of round i, w being W_{i-1}. */
MCAMP__PRIV void mcamp__tape_round(const mcamp__tape *t, size_t i, const double *w,
                                   const mcamp__mech_grad *g)
{
    const mcamp_mech *m = t->m;
    size_t d = t->d, nb = m->buffers;
    double q[2], in[MCAMP__MACHINE] = { 0 }, y[2];
    mcamp__tape_gains(t, i, q);
    memcpy(t->s, w, d * d * sizeof *w);
    for (size_t c = 0; c < d; c++) mcamp__machine_step(t->w, m, i, 0.0, t->s + c, d);
    mcamp__machine_step(t->w, m, i, 1.0, in, 1);
    memset(t->k, 0, d * d * sizeof *w);
    for (size_t r = 0; r < d; r++)
        for (size_t c = 0; c < d; c++)
            mcamp__axpy(t->l[r * d + c], t->s + c * d, t->k + r * d, d);
    for (size_t j = 0; j < nb; j++) {
        double ybar = q[0] * t->k[nb * d + j] + q[1] * t->k[(nb + 1) * d + j];
        for (size_t r = 0; r < nb; r++) ybar += t->k[r * d + j];
        if (g->omega) g->omega[j] -= 2 * ybar / m->diag;
        if (g->theta) g->theta[j] += 2 * t->k[j * d + j];
    }
    for (size_t r = 0; r < 2; r++) {        /* <lambda, y> at velocity and sum */
        const double *k = t->k + (nb + r) * d;
        y[r] = mcamp__dot(t->l + (nb + r) * d, in, d) - mcamp__dot(m->omega, k, nb);
    }
    if (g->log_scale) g->log_scale[i] = -2 * (q[0] * y[0] + q[1] * y[1]) / m->diag;
}

/* Forward: W at the start of each block, and the value. */
MCAMP__PRIV void mcamp__tape_record(mcamp__tape *t)
{
    size_t d = t->d, dd = d * d;
    memset(t->s, 0, dd * sizeof *t->s);
    for (size_t i = 0; i < t->m->n; i++) {
        if (i % t->block == 0) memcpy(t->starts + i / t->block * dd, t->s, dd * sizeof *t->s);
        mcamp__machine_advance(t->w, t->m, i, t->s);
        mcamp__sum_add(&t->value, mcamp__weight(t->weights, i, t->m->n) * t->s[dd - 1]);
    }
}

MCAMP__PRIV void mcamp__tape_block(mcamp__tape *t, size_t from, size_t to,
                                   const mcamp__mech_grad *g)
{
    size_t d = t->d, dd = d * d;
    memcpy(t->inner, t->starts + from / t->block * dd, dd * sizeof *t->s);
    for (size_t i = from; i + 1 < to; i++) {
        double *w = t->inner + (i - from) * dd;
        memcpy(w + dd, w, dd * sizeof *w);
        mcamp__machine_advance(t->w, t->m, i, w + dd);
    }
    for (size_t i = to; i-- > from; ) {
        t->l[dd - 1] += mcamp__weight(t->weights, i, t->m->n);
        mcamp__tape_round(t, i, t->inner + (i - from) * dd, g);
        for (size_t c = 0; c < d; c++) mcamp__tape_back(t, i, t->l + c, d);
        for (size_t r = 0; r < d; r++) mcamp__tape_back(t, i, t->l + r * d, 1);
    }
}

MCAMP__PRIV mcamp_status mcamp__grad_machine(mcamp_ctx *ctx, const mcamp_work *w,
                                             const mcamp_mech *m, const double *weights,
                                             double *value, const mcamp__mech_grad *g)
{
    mcamp__tape t;
    size_t dd, blocks, count;
    double *all;
    memset(&t, 0, sizeof t);
    t.w = w; t.m = m; t.weights = weights;
    t.d = m->buffers + 2;
    dd = t.d * t.d;
    t.block = (size_t)sqrt((double)m->n) + 1;
    blocks = (m->n - 1) / t.block + 1;
    count = (blocks + t.block + 3) * dd;    /* n <= 2^48: no overflow */
    all = mcamp__new_doubles(ctx, count);
    if (!all) return mcamp__fail(ctx, MCAMP_E_MEMORY, "mech", (double)count);
    t.starts = all;
    t.inner = t.starts + blocks * dd;
    t.l = t.inner + t.block * dd;
    t.s = t.l + dd;
    t.k = t.s + dd;
    for (size_t j = 0; j < m->buffers; j++) {
        if (g->theta) g->theta[j] = 0;
        if (g->omega) g->omega[j] = 0;
    }
    mcamp__tape_record(&t);
    for (size_t b = blocks; b-- > 0; )
        mcamp__tape_block(&t, b * t.block, mcamp__zmin((b + 1) * t.block, m->n), g);
    *value = mcamp__sum_get(&t.value);
    mcamp__delete_doubles(ctx, all, count);
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__grad_check_weights(mcamp_ctx *ctx, const double *weights,
                                                   size_t n)
{
    mcamp_status st = weights ? mcamp__check_values(ctx, "weights", weights, n) : MCAMP_OK;
    for (size_t i = 0; st == MCAMP_OK && weights && i < n; i++)
        if (weights[i] < 0) st = mcamp__fail(ctx, MCAMP_E_ARG, "weights", weights[i]);
    return st;
}

/* value = sum_i weight_i |row i of A C^-1|^2, weights[n] >= 0, NULL = 1/n each (value =
 * rmse^2), and its derivatives.  Cost: two or three times that of mcamp_work_error by
 * columns; O(n bands) or O(n d) if both are Toeplitz and log_scale is not wanted;
 * O(n d^3) for a BLT wherever its error is O(n d^2).                            */
MCAMP__PRIV mcamp_status mcamp__work_gradient(mcamp_ctx *ctx, const mcamp_work *work,
                                           const mcamp_mech *mech,
                                           const double *weights, double *value,
                                           const mcamp__mech_grad *grad)
{
    mcamp_status st = mcamp__work_args(ctx, work, mech);
    double *y, v = 0;
    int toeplitz;
    if (st < 0) return st;
    if (!value) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "value", 0);
    if (!grad) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "grad", 0);
    if ((grad->theta || grad->omega) && mech->form != MCAMP_FORM_BLT)
        return mcamp__fail(ctx, MCAMP_E_ARG, "theta", 0);
    st = mcamp__grad_check_weights(ctx, weights, mech->n);
    if (st < 0) return st;
    toeplitz = mech->form != MCAMP_FORM_ROWS && !mech->scale && !grad->log_scale &&
               mcamp__work_toeplitz(work);
    if (!toeplitz && mcamp__is_machine(work, mech)) {
        st = mcamp__grad_machine(ctx, work, mech, weights, &v, grad);
    } else if (!toeplitz) {
        st = mcamp__grad_columns(ctx, work, mech, weights, &v, grad);
    } else {
        y = mcamp__new_doubles(ctx, mech->n);
        if (!y) return mcamp__fail(ctx, MCAMP_E_MEMORY, "mech", (double)mech->n);
        v = mcamp__grad_toeplitz(work, mech, weights, y, grad);
        mcamp__delete_doubles(ctx, y, mech->n);
    }
    if (st < 0) return st;
    if (!mcamp__finite(v)) return mcamp__fail(ctx, MCAMP_E_NONFINITE, "mech", v);
    *value = v;
    return MCAMP_OK;
}

/* ======================================================================== *
 *  GRADIENTS OF THE GRAM MATRIX                                       >>grad
 *  In: C, b and a weight matrix D.  Out: the gradient of <D, G> by the parameters of C.
 * ======================================================================== */

/* ---- gradient of <D, G> --------------------------------------------------- *
 * <D, G> = sum_r M_r D M_r^T over the rows of M, so with W = M D
 *     d/d|C|_rc = 2 W_{r, c mod b}.
 * Toeplitz: with S as above, d/dS(t) = 2 sum_{i,j} D_ij S(t + i - j) over the i with
 * t + i < n: a filter with the diagonal sums of D's first n - t rows, which gain one
 * row at a time as t goes down; and d/d|c|_k = sum_e d/dS(k + b e).            */

/* *out = zeroed doubles, rows * cols + extra of them in *count. */
MCAMP__PRIV mcamp_status mcamp__grad_memory(mcamp_ctx *ctx, size_t rows, size_t cols,
                                            size_t extra, double **out, size_t *count)
{
    if (!mcamp__mul_size(rows, cols, count) || !mcamp__add_size(*count, extra, count))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)cols);
    *out = mcamp__new_doubles(ctx, *count);
    return *out ? MCAMP_OK : mcamp__fail(ctx, MCAMP_E_MEMORY, "b", (double)*count);
}

/* y[t] = d/dS(t); delta[2b-1] is zero: entry b-1-u sums D_ij with i - j = u, so
 * that the filter runs upwards through both arrays.  Returns the value.        */
MCAMP__PRIV double mcamp__modes_filter(const double *d, size_t b, const double *s,
                                       size_t n, double *delta, double *y)
{
    mcamp__sum acc = { 0, 0 };
    for (size_t t = n; t-- > 0; ) {
        size_t i = n - 1 - t, first = t + b > n ? t + b - n : 0;
        double g = 0;
        if (i < b)
            for (size_t j = 0; j < b; j++) delta[b - 1 + j - i] += d[i * b + j];
        for (size_t k = first; k < 2 * b - 1 && k <= t + b - 1; k++)
            g += delta[k] * s[t + b - 1 - k];       /* u = b - 1 - k: S(t + u) */
        y[t] = 2 * g;
        mcamp__sum_add(&acc, g * s[t]);
    }
    return mcamp__sum_get(&acc);
}

MCAMP__PRIV mcamp_status mcamp__modes_grad_toeplitz(mcamp_ctx *ctx, const mcamp_mech *m,
                                                    size_t b, const double *d,
                                                    double *value,
                                                    const mcamp__mech_grad *g)
{
    size_t n = m->n, count;
    double *block, *s, *c, *y;
    mcamp_status st = mcamp__grad_memory(ctx, n, 3, 2 * b, &block, &count);
    if (st < 0) return st;
    s = block; c = s + n; y = c + n;
    mcamp__mech_coefs(m, 0, n, c);
    for (size_t t = 0; t < n; t++) s[t] = fabs(c[t]) + (t >= b ? s[t - b] : 0.0);
    *value = mcamp__modes_filter(d, b, s, n, y + n, y);
    for (size_t t = n; t-- > 0; )
        if (b < n - t) y[t] += y[t + b];
    for (size_t t = 0; t < n; t++) if (c[t] < 0) y[t] = -y[t];
    mcamp__grad_from_coefs(m, y, g);
    mcamp__delete_doubles(ctx, block, count);
    return MCAMP_OK;
}

/* A BLT with factors s, all entries >= 0.  A row of M is M_r = c_0 s_r e_k +
 * sum_l w_l A_l(r), k = r mod b, with A_l(r+1) = t_l A_l(r) + s_r e_k; so W_r = M_r D
 * comes from D A_l in O(b d).  Backwards, Z_l(p) = sum_{r > p} W_{r, p mod b}
 * t_l^(r-p-1), one recursion for each bin, gives
 *     d/ds_p = 2 (c_0 W_{p,k} + sum_l w_l Z_l(p)),   d/dw_l = 2 sum_p s_p Z_l(p),
 *     d/dt_l = 2 w_l sum_p s_p Z'_l(p),  Z' the derivative with respect to t_l.
 * A_l is kept at the start of each epoch; within an epoch W is made again.     */
typedef struct mcamp__adjoint {
    const mcamp_mech *m;
    const double *d;
    size_t b, nb;       /* nb: buffers */
    double *start;      /* epochs x nb x b: A_l at the start of each epoch */
    double *da;         /* nb x b: D A_l(r) */
    double *w;          /* b x b: W for the rows of one epoch */
    double *z, *dz;     /* nb x b: Z_l and Z'_l of each bin */
    mcamp__sum value;
    double *theta, *omega;      /* nb: derivatives, gathered */
} mcamp__adjoint;

MCAMP__PRIV double mcamp__col_factor(const mcamp_mech *m, size_t j)
{
    return m->scale ? m->scale[j] : 1.0;
}

/* A_l from one epoch start to the next. */
MCAMP__PRIV void mcamp__adjoint_starts(const mcamp__adjoint *q)
{
    size_t b = q->b, n = q->m->n, step = q->nb * b;
    double *a = q->start;
    for (size_t q0 = 0; n - q0 > b; q0 += b, a += step) {
        memcpy(a + step, a, step * sizeof *a);
        for (size_t l = 0; l < q->nb; l++) {
            double *x = a + step + l * b, t = q->m->theta[l], decay = pow(t, (double)b);
            double p = 1.0;
            for (size_t i = 0; i < b; i++) x[i] *= decay;
            for (size_t i = b; i-- > 0; p *= t) x[i] += mcamp__col_factor(q->m, q0 + i) * p;
        }
    }
}

/* W for the rows of the epoch at q0. */
MCAMP__PRIV void mcamp__adjoint_forward(mcamp__adjoint *q, size_t q0, size_t len,
                                        const double *a)
{
    size_t b = q->b;
    const mcamp_mech *m = q->m;
    memset(q->da, 0, q->nb * b * sizeof(double));
    for (size_t l = 0; l < q->nb; l++)
        for (size_t i = 0; q0 && i < b; i++)
            mcamp__axpy(a[l * b + i], q->d + i * b, q->da + l * b, b);
    for (size_t k = 0; k < len; k++) {
        double *w = q->w + k * b, s = mcamp__col_factor(m, q0 + k);
        for (size_t i = 0; i < b; i++) w[i] = m->diag * s * q->d[k * b + i];
        for (size_t l = 0; l < q->nb; l++) {
            double *da = q->da + l * b;
            mcamp__axpy(m->omega[l], da, w, b);
            for (size_t i = 0; i < b; i++)
                da[i] = m->theta[l] * da[i] + s * q->d[k * b + i];
        }
    }
}

/* Rows of the epoch from the last to the first: derivatives of its columns. */
MCAMP__PRIV void mcamp__adjoint_back(mcamp__adjoint *q, size_t q0, size_t len,
                                     double *log_scale)
{
    size_t b = q->b;
    const mcamp_mech *m = q->m;
    for (size_t k = len; k-- > 0; ) {
        const double *w = q->w + k * b;
        double s = mcamp__col_factor(m, q0 + k), ds = m->diag * w[k];
        for (size_t l = 0; l < q->nb; l++) {
            double *z = q->z + l * b, *dz = q->dz + l * b, t = m->theta[l];
            ds += m->omega[l] * z[k];
            q->omega[l] += 2 * s * z[k];
            q->theta[l] += 2 * m->omega[l] * s * dz[k];
            for (size_t i = 0; i < b; i++) {
                dz[i] = t * dz[i] + z[i];
                z[i] = t * z[i] + w[i];
            }
        }
        mcamp__sum_add(&q->value, s * ds);
        if (log_scale) log_scale[q0 + k] = 2 * s * ds;
    }
}

MCAMP__PRIV mcamp_status mcamp__modes_grad_blt(mcamp_ctx *ctx, const mcamp_mech *m,
                                               size_t b, const double *d, double *value,
                                               const mcamp__mech_grad *g)
{
    mcamp__adjoint q;
    size_t count, nb = m->buffers, epochs = (m->n - 1) / b + 1, cols = nb * b, rows;
    double *block, theta[MCAMP_MAX_BUFFERS] = { 0 }, omega[MCAMP_MAX_BUFFERS] = { 0 };
    mcamp_status st;
    if (!mcamp__add_size(epochs, 3, &rows) || b > SIZE_MAX / 64 / b)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)b);
    st = mcamp__grad_memory(ctx, rows, cols, b * b, &block, &count);
    if (st < 0) return st;
    memset(&q.value, 0, sizeof q.value);
    q.m = m; q.d = d; q.b = b; q.nb = nb;
    q.theta = theta; q.omega = omega;
    q.start = block;
    q.da = q.start + epochs * cols;
    q.z = q.da + cols;
    q.dz = q.z + cols;
    q.w = q.dz + cols;
    mcamp__adjoint_starts(&q);
    for (size_t e = epochs; e-- > 0; ) {
        size_t len = mcamp__zmin(b, m->n - e * b);
        mcamp__adjoint_forward(&q, e * b, len, q.start + e * cols);
        mcamp__adjoint_back(&q, e * b, len, g->log_scale);
    }
    if (g->theta) memcpy(g->theta, theta, nb * sizeof *theta);
    if (g->omega) memcpy(g->omega, omega, nb * sizeof *omega);
    *value = mcamp__sum_get(&q.value);
    mcamp__delete_doubles(ctx, block, count);
    return MCAMP_OK;
}

/* Any C: a row of M, W_r = M_r D, then every entry of the row. */
typedef struct mcamp__rowgrad {
    const mcamp_mech *m;
    const double *d;
    size_t b;
    double *c;          /* n: coefficients of a Toeplitz form */
    double *y;          /* n: d/dc_k */
    double *row;        /* b: M_r */
    double *w;          /* b: W_r */
} mcamp__rowgrad;

MCAMP__PRIV double mcamp__rowgrad_entry(const mcamp__rowgrad *q, size_t r, size_t c)
{
    const mcamp_mech *m = q->m;
    if (m->form == MCAMP_FORM_ROWS)
        return m->coef[mcamp__row_start(m, r) + mcamp__row_len(m, r) - 1 - (r - c)];
    return q->c[r - c] * mcamp__col_factor(m, c);
}

MCAMP__PRIV double mcamp__rowgrad_row(const mcamp__rowgrad *q, size_t r,
                                      const mcamp__mech_grad *g)
{
    const mcamp_mech *m = q->m;
    size_t b = q->b, len = mcamp__row_len(m, r), c0 = r + 1 - len;
    double *out = m->form == MCAMP_FORM_ROWS && g->coef
                ? g->coef + mcamp__row_start(m, r) : NULL;
    memset(q->row, 0, 2 * b * sizeof(double));
    for (size_t c = c0; c <= r; c++) q->row[c % b] += fabs(mcamp__rowgrad_entry(q, r, c));
    for (size_t i = 0; i < b; i++)
        if (q->row[i] > 0) mcamp__axpy(q->row[i], q->d + i * b, q->w, b);
    for (size_t c = c0; c <= r; c++) {
        double x = mcamp__rowgrad_entry(q, r, c);
        double v = x < 0 ? -2 * q->w[c % b] : 2 * q->w[c % b];
        if (out) out[c - c0] = v;
        if (m->form != MCAMP_FORM_ROWS) q->y[r - c] += v * mcamp__col_factor(m, c);
        if (g->log_scale) g->log_scale[c] += v * x;
    }
    return mcamp__dot(q->row, q->w, b);
}

MCAMP__PRIV mcamp_status mcamp__modes_grad_rows(mcamp_ctx *ctx, const mcamp_mech *m,
                                                size_t b, const double *d, double *value,
                                                const mcamp__mech_grad *g)
{
    mcamp__rowgrad q;
    mcamp__sum acc = { 0, 0 };
    size_t count;
    double *block;
    mcamp_status st = mcamp__grad_memory(ctx, m->n, 2, 2 * b, &block, &count);
    if (st < 0) return st;
    q.m = m; q.d = d; q.b = b;
    q.c = block; q.y = q.c + m->n; q.row = q.y + m->n; q.w = q.row + b;
    if (m->form != MCAMP_FORM_ROWS) mcamp__mech_coefs(m, 0, m->n, q.c);
    for (size_t j = 0; g->log_scale && j < m->n; j++) g->log_scale[j] = 0;
    for (size_t r = 0; r < m->n; r++)
        mcamp__sum_add(&acc, mcamp__rowgrad_row(&q, r, g));
    if (m->form != MCAMP_FORM_ROWS) mcamp__grad_from_coefs(m, q.y, g);
    *value = mcamp__sum_get(&acc);
    mcamp__delete_doubles(ctx, block, count);
    return MCAMP_OK;
}

/* value = <D, G> = sum_ij d_ij G_ij for a symmetric d (b x b row-major), and its
 * derivatives; entries of C that are 0 count as >= 0.  Cost: Toeplitz and BLT O(n b);
 * with column scaling BLT O(n b d), unless C has entries below 0; else O(n b^2 + entries
 * of C).                                                                        */
MCAMP__PRIV mcamp_status mcamp__modes_gradient(mcamp_ctx *ctx, const mcamp_mech *mech,
                                            size_t b, const double *d, double *value,
                                            const mcamp__mech_grad *grad)
{
    mcamp_status st = mcamp__mech_args(ctx, mech, d, value);
    size_t bb;
    double v = 0;
    int scaled;
    if (st < 0) return st;
    if (!grad) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "grad", 0);
    if ((grad->theta || grad->omega) && mech->form != MCAMP_FORM_BLT)
        return mcamp__fail(ctx, MCAMP_E_ARG, "theta", 0);
    if (!b || !mcamp__mul_size(b, b, &bb) || bb > SIZE_MAX / 64)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "b", (double)b);
    st = mcamp__check_finite(ctx, "d", d, bb);
    if (st < 0) return st;
    scaled = mech->scale || grad->log_scale;
    if (mech->form != MCAMP_FORM_ROWS && !scaled)
        st = mcamp__modes_grad_toeplitz(ctx, mech, b, d, &v, grad);
    else if (mech->form == MCAMP_FORM_BLT && !mech->negative)
        st = mcamp__modes_grad_blt(ctx, mech, b, d, &v, grad);
    else
        st = mcamp__modes_grad_rows(ctx, mech, b, d, &v, grad);
    if (st < 0) return st;
    if (!mcamp__finite(v)) return mcamp__fail(ctx, MCAMP_E_NONFINITE, "d", v);
    *value = v;
    return MCAMP_OK;
}

/* ======================================================================== *
 *  ESTIMATES                                                           >>est
 *  In: a model (section loss).  Out: estimates with their errors, the law chosen by
 *  pilots, and rigorous bounds from section law.  A bad choice here costs time or
 *  marks an answer as untrusted; it proves nothing.
 * ======================================================================== */

/* ---- estimates -------------------------------------------------------------- */

/* A budget with its defaults filled in. */
MCAMP__PRIV mcamp_status mcamp__budget_resolve(mcamp_ctx *ctx, const mcamp_budget *in,
                                               mcamp_budget *out)
{
    mcamp_status st;
    memset(out, 0, sizeof *out);
    if (in) *out = *in;
    if (mcamp__eq(out->rel_error, 0)) out->rel_error = 0.01;
    if (mcamp__eq(out->beta, 0)) out->beta = 1e-6;
    if (!out->max_samples) out->max_samples = UINT64_C(1) << 26;
    if ((st = mcamp__check(ctx, "rel_error", out->rel_error, 0, 0, 1, 1)) < 0) return st;
    if ((st = mcamp__check_prob(ctx, "beta", out->beta)) < 0) return st;
    if (out->max_samples > UINT64_MAX / 4)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "max_samples", (double)out->max_samples);
    if ((int)out->direction < 0 || out->direction > MCAMP_ADD)
        return mcamp__fail(ctx, MCAMP_E_ARG, "direction", (double)out->direction);
    if ((int)out->method < 0 || out->method > MCAMP_METHOD_MODE)
        return mcamp__fail(ctx, MCAMP_E_ARG, "method", (double)out->method);
    if (out->order > MCAMP__ORDER_MAX)
        return mcamp__fail(ctx, MCAMP_E_ARG, "order", (double)out->order);
    return MCAMP_OK;
}

/* Below it there are no pilots: they would be most of what is drawn. */
#define MCAMP__PILOT_LEAST (64 * MCAMP_BLOCK)

/* The scale of an estimate's tally: the range, but no more than e^20 of the unamplified
 * delta, lest the tally's last digit be all that there is.                           */
MCAMP__PRIV double mcamp__estimate_scale(const mcamp__question *q, double log_range)
{
    return mcamp__dmin(log_range, mcamp__loose_scale(q->f, q->sigma, q->eps) + 30);
}

/* The sampler of a choice: the one that is ready, or *own, built (else all 0). */
MCAMP__PRIV mcamp_status mcamp__question_open(mcamp_ctx *ctx, const mcamp__question *q,
                                              const mcamp__choice *c, mcamp__sampler *own,
                                              const mcamp__sampler **p)
{
    const mcamp__sampler *r = q->ready;
    memset(own, 0, sizeof *own);
    *p = r;
    if (r && r->method == c->method && r->k == c->k && !(c->sticky > 0) &&
        mcamp__eq(r->log_scale, mcamp__dmin(r->log_range, c->log_scale))) return MCAMP_OK;
    *p = own;
    return mcamp__question_sampler(ctx, q, c, own);
}

/* The law of smallest range, with its order and range found.  keep: receives the
 * sampler, or NULL.                                                                */
MCAMP__PRIV mcamp_status mcamp__proof_choice(mcamp_ctx *ctx, const mcamp__question *q,
                                             mcamp__choice *c, double *log_range,
                                             mcamp__sampler *keep)
{
    mcamp__sampler p;
    mcamp_status st;
    c->method = mcamp__default_method(q->f, q->dir);
    c->k = 0;
    c->rel_var = 1;
    c->mean = c->sticky = 0;
    c->log_scale = mcamp__inf();
    st = mcamp__question_sampler(ctx, q, c, &p);
    if (st < 0) return st;
    c->k = p.k;
    *log_range = p.log_range;
    if (keep) *keep = p;
    else mcamp__sampler_free(ctx, &p);
    return MCAMP_OK;
}

/* Runs blocks 0 .. blocks-1 of a stream by the choice's sampler. */
MCAMP__PRIV mcamp_status mcamp__question_run(mcamp_ctx *ctx, const mcamp__question *q,
                                             const mcamp__choice *choice,
                                             uint32_t purpose, uint64_t blocks,
                                             mcamp_tally *t)
{
    mcamp__sampler own;
    const mcamp__sampler *p;
    mcamp__workers w;
    mcamp_status st = mcamp__question_open(ctx, q, choice, &own, &p);
    if (st < 0) return st;
    st = mcamp__workers_init(ctx, p, &w);
    if (st >= 0) {
        mcamp__tally_init(p, t);
        st = mcamp__run_blocks(ctx, p, &w, q->seed, purpose, 0, blocks, t);
        mcamp__workers_free(ctx, &w);
    }
    mcamp__sampler_free(ctx, &own);
    return st;
}

/* The candidates for estimates: around the order of smallest range k0 variance
 * is smallest somewhat above it; one dominating mode is better served by MODE.    */
MCAMP__PRIV size_t mcamp__candidates(const mcamp__question *q, size_t k0,
                                     double log_scale, mcamp__choice *c)
{
    static const int quarters[5] = { 4, 5, 6, 8, 10 };
    size_t n = 0, last = 0;
    int diagonal = q->f->diagonal;
    for (size_t i = 0; i < 8; i++) c[i].log_scale = log_scale;
    if (q->dir == MCAMP_ADD) {
        c[n].k = 0; c[n++].method = MCAMP_METHOD_COMMON;
        return n;
    }
    for (size_t i = 0; i < (diagonal ? 1u : 5u); i++) {
        size_t k = (k0 * (size_t)quarters[i] + 2) / 4;
        if (k == last || k > MCAMP__ORDER_MAX) continue;
        c[n].k = last = k;
        c[n++].method = diagonal ? MCAMP_METHOD_TILTED : MCAMP_METHOD_COMMON;
    }
    c[n].k = 0; c[n++].method = MCAMP_METHOD_MODE;
    return n;
}

/* Seconds per sample, relatively; fixed numbers, so that nothing depends on the
 * machine.                                                                        */
MCAMP__PRIV double mcamp__method_cost(mcamp_method method)
{
    switch (method) {
    case MCAMP_METHOD_COMMON:  return 2;
    case MCAMP_METHOD_MODE:    return 4;
    default:                   return 1;
    }
}

/* Mean square over squared mean, less 1; infinite if nothing was seen. */
MCAMP__PRIV double mcamp__tally_rel_var(const mcamp_tally *t)
{
    double m = mcamp__tally_mean_x(t);
    if (t->poisoned || !(m > 0)) return mcamp__inf();
    return mcamp__tally_variance_x(t) / (m * m);
}

/* The share of the whole sum that one value of the top bin has. */
MCAMP__PRIV double mcamp__tally_top_share(const mcamp_tally *t)
{
    size_t i = MCAMP_TALLY_BINS;
    double total = mcamp__tally_mean_x(t) * (double)t->count;
    while (i > 0 && !t->n[i - 1]) i--;
    if (!i || !(total > 0)) return 1;
    return mcamp__bin_sum(t, i - 1) / (double)t->n[i - 1] / total;
}

/* Blocks for a relative standard error, a tenth more, at least two. */
MCAMP__PRIV uint64_t mcamp__blocks_for(double rel_var, double rel_error, uint64_t max_samples)
{
    double n = 1.1 * rel_var / (rel_error * rel_error) / MCAMP_BLOCK;
    uint64_t most = max_samples < MCAMP_BLOCK ? 1 : max_samples / MCAMP_BLOCK;
    if (!(n < (double)most)) return most;
    return n > 2 ? (uint64_t)n + 1 : (most < 2 ? most : 2);
}

/* One candidate on the pilot stream. */
MCAMP__PRIV mcamp_status mcamp__pilot_run(mcamp_ctx *ctx, const mcamp__question *q,
                                          mcamp__choice *c, size_t rung, uint64_t blocks,
                                          double *err, mcamp_tally *t)
{
    mcamp_status st = mcamp__question_run(ctx, q, c,
        MCAMP__PURPOSE(MCAMP__STREAM_PILOT, rung, q->dir), blocks, t);
    if (st < 0) return st;
    c->rel_var = mcamp__tally_rel_var(t);
    c->mean = mcamp__finite(c->rel_var) ? mcamp_tally_mean(t) : 0;
    *err = mcamp__finite(c->rel_var) ? mcamp_tally_std_error(t) : 0;
    return st;
}

/* 1 if the law of smallest range will do without looking at the others: its range is
 * within 64 times the mean that one block saw (which no missing sample can explain),
 * and what remains to be drawn costs no more than trying the others.                */
MCAMP__PRIV int mcamp__pilot_enough(const mcamp__question *q, const mcamp__choice *c,
                                    double log_range, double rel_error)
{
    return c->method == mcamp__default_method(q->f, q->dir) &&
           exp(log_range) <= 64 * c->mean &&
           mcamp__blocks_for(c->rel_var, rel_error, UINT64_MAX) <= 24;
}

/* Runs each candidate on the pilot stream and picks the smallest variance times
 * cost.  A law that misses the decisive samples looks precise and too low: one
 * whose pilot mean is beyond three errors below another's is passed over.  spent grows
 * by the samples.                                                                  */
MCAMP__PRIV mcamp_status mcamp__pilot(mcamp_ctx *ctx, const mcamp__question *q,
                                      size_t k0, double log_range, double rel_error,
                                      mcamp__choice *best, uint64_t *spent)
{
    mcamp__choice c[8];
    double err[8], top = 0;
    size_t n;
    mcamp_tally *t = (mcamp_tally *)mcamp__new(ctx, 1, sizeof *t);
    mcamp_status st;
    if (!t) return mcamp__fail(ctx, MCAMP_E_MEMORY, "tally", 0);
    memset(c, 0, sizeof c);
    n = mcamp__candidates(q, k0, mcamp__estimate_scale(q, log_range), c);
    st = mcamp__pilot_run(ctx, q, &c[0], 0, 1, &err[0], t);
    *spent += MCAMP_BLOCK;
    if (st >= 0 && mcamp__pilot_enough(q, &c[0], log_range, rel_error)) n = 1;
    for (size_t i = 0; st >= 0 && n > 1 && i < n; i++) {
        st = mcamp__pilot_run(ctx, q, &c[i], i, 2, &err[i], t);
        *spent += 2 * MCAMP_BLOCK;
        top = mcamp__dmax(top, c[i].mean - 3 * err[i]);
    }
    mcamp__delete(ctx, t, 1, sizeof *t);
    *best = c[n - 1];
    if (n > 1) best->rel_var = mcamp__inf();
    for (size_t i = 0; st >= 0 && n > 1 && i < n; i++) {
        double cost = c[i].rel_var * mcamp__method_cost(c[i].method);
        double now = best->rel_var * mcamp__method_cost(best->method);
        if (c[i].mean + 3 * err[i] < top) continue;
        if (cost < now) *best = c[i];
    }
    return st;
}

/* The value over the larger of value and floor: what its relative error weighs. */
MCAMP__PRIV double mcamp__floor_weight(double value, double floor)
{
    return value > 0 && value < floor ? value / floor : 1;
}

/* Skewness of the mean: third central moment over variance^1.5 sqrt(N), each bin's
 * values taken at their mean.                                                       */
MCAMP__PRIV double mcamp__tally_mean_skew(const mcamp_tally *t)
{
    double m = mcamp__tally_mean_x(t), v = mcamp__tally_variance_x(t), s = 0;
    for (size_t i = 0; i < MCAMP_TALLY_BINS; i++) {
        double d = t->n[i] ? mcamp__bin_sum(t, i) / (double)t->n[i] - m : 0;
        s += (double)t->n[i] * d * d * d;
    }
    return v > 0 ? s / (double)t->count / (v * sqrt(v * (double)t->count)) : 0;
}

/* What the standard error has to be multiplied by where the mean is skew: 1 up to a
 * skewness of 0.1, where the normal law serves, 4 at 1.  The mean of few large values is
 * too low more often than the normal law has it.                                      */
MCAMP__PRIV double mcamp__tally_skew_factor(const mcamp_tally *t)
{
    return 1 + mcamp__dmax(0, mcamp__tally_mean_skew(t) - 0.1) / 0.3;
}

/* 1 if the tally's standard error is met (relative to the larger of value and floor)
 * and its mean may be trusted: no single value is more than half a standard error, and
 * the error is met with what its skewness costs, which must not be large.  A law with a
 * heavy tail looks precise until its large values come.                              */
MCAMP__PRIV int mcamp__tally_settled(const mcamp_tally *t, double rel_error, double floor)
{
    double w = mcamp__floor_weight(mcamp_tally_mean(t), floor);
    double skew = w < 0.1 ? 1 : mcamp__tally_skew_factor(t);
    double err = w * skew * sqrt(mcamp__tally_rel_var(t) / (double)t->count);
    return err <= rel_error && skew <= 4 &&
           w * mcamp__tally_top_share(t) <= 0.5 * rel_error;
}

/* Adds blocks until the tally is settled or the samples are spent. */
MCAMP__PRIV mcamp_status mcamp__run_until(mcamp_ctx *ctx, const mcamp__sampler *p,
                                          mcamp__workers *w, uint64_t seed,
                                          uint32_t purpose, uint64_t goal, double floor,
                                          const mcamp_budget *bud, mcamp_tally *t)
{
    uint64_t done = 0, most = mcamp__blocks_for(mcamp__inf(), 1, bud->max_samples);
    while (done < goal) {
        uint64_t chunk = mcamp__umin(goal - done, 64 * w->count);
        mcamp_status st = mcamp__run_blocks(ctx, p, w, seed, purpose, done, chunk, t);
        if (st < 0) return st;
        done += chunk;
        if (t->poisoned) return MCAMP_OK;       /* more of it will not help */
        if (mcamp__progress(ctx, (double)done / (double)goal, mcamp_tally_mean(t)))
            return MCAMP_Q_INTERRUPTED;
        if (done == goal && done < most && !mcamp__tally_settled(t, bud->rel_error, floor))
            goal = mcamp__umin(most, 2 * done);
    }
    return MCAMP_OK;
}

/* Runs one choice to the wanted standard error, from the size its variance asks. */
MCAMP__PRIV mcamp_status mcamp__run_to_error(mcamp_ctx *ctx, const mcamp__question *q,
                                             const mcamp__choice *choice,
                                             const mcamp_budget *bud, uint32_t purpose,
                                             mcamp_tally *t)
{
    mcamp__sampler own;
    const mcamp__sampler *p;
    mcamp__workers w;
    double weight = mcamp__floor_weight(choice->mean, q->floor);
    uint64_t goal = mcamp__blocks_for(weight * weight * mcamp__dmin(choice->rel_var, 1e6),
                                      bud->rel_error, bud->max_samples);
    mcamp_status st = mcamp__question_open(ctx, q, choice, &own, &p);
    if (st < 0) return st;
    st = mcamp__workers_init(ctx, p, &w);
    if (st >= 0) {
        mcamp__tally_init(p, t);
        st = mcamp__run_until(ctx, p, &w, q->seed, purpose, goal, q->floor, bud, t);
        mcamp__workers_free(ctx, &w);
    }
    mcamp__sampler_free(ctx, &own);
    return st;
}

MCAMP__PRIV void mcamp__estimate_from(const mcamp_tally *t, mcamp_estimate *e)
{
    e->direction = t->direction;
    e->method = t->method;
    e->order = (size_t)t->order;
    e->samples = t->count;
    e->value = mcamp_tally_mean(t);
    e->std_error = mcamp_tally_std_error(t) * mcamp__tally_skew_factor(t);
    e->lower = mcamp_tally_lower(t, e->beta);
}

/* The share of modes that are zero: examples that never take part. */
MCAMP__PRIV double mcamp__idle_share(const mcamp__factor *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->b; i++) n += !(mcamp__factor_diag(f, i) > f->idle);
    return (double)n / (double)f->b;
}

/* Cases that need no samples.  b = 1: the Gaussian mechanism.  All modes 0: nothing
 * is released about the example.  Add, with a share of zero modes above e^-eps: rho
 * is at least that share, so 1 - e^eps rho is never positive.                      */
MCAMP__PRIV int mcamp__exact_case(const mcamp__question *q, mcamp_estimate *e)
{
    int none = !(q->f->trace_max > q->f->idle) ||
               (q->dir == MCAMP_ADD && mcamp__idle_share(q->f) >= exp(-q->eps));
    if (q->f->b > 1 && !none) return 0;
    e->direction = q->dir;
    e->method = MCAMP_METHOD_EXACT;
    e->exact = e->trusted = true;
    if (!none)
        e->value = exp(mcamp__gauss_logdelta(sqrt(q->f->trace_max) / q->sigma, q->eps));
    e->lower = e->value * (1 - 1e-12);
    e->upper = mcamp__dmin(1, e->value * (1 + 1e-12));
    return 1;
}

/* Where the bound without samples, e->upper, has to do: too close, or below what a
 * double can hold.                                                                  */
MCAMP__PRIV int mcamp__settled_without(const mcamp__question *q, mcamp_estimate *e)
{
    int tiny = e->upper < 1.1 * DBL_MIN;
    if (!tiny && !mcamp__too_close(q->f, q->sigma)) return 0;
    e->direction = q->dir;
    e->method = MCAMP_METHOD_EXACT;
    e->upper = mcamp__dmax(e->upper, DBL_MIN);
    e->value = tiny ? 0 : e->upper;
    e->std_error = e->upper;
    e->trusted = tiny;
    return 1;
}

/* 1 if what is certain is as near as was asked for: then it is the answer, the upper
 * end for the value.                                                                */
MCAMP__PRIV int mcamp__question_known(const mcamp__question *q, double rel_error,
                                      mcamp_estimate *e)
{
    double width = e->upper - q->low;
    if (!(width <= mcamp__dmax(rel_error, 1e-3) * mcamp__dmax(e->upper, q->floor))) return 0;
    e->direction = q->dir;
    e->method = MCAMP_METHOD_EXACT;
    e->value = e->upper;
    e->lower = mcamp__dmin(q->low, e->upper);
    e->std_error = e->upper - e->lower;
    e->trusted = true;
    return 1;
}

/* 1 if the value is within six standard errors of what is certain, and an error is left
 * that says something.  The value is moved to there, from where the truth is no farther
 * than the interval is wide.                                                          */
MCAMP__PRIV int mcamp__estimate_agrees(const mcamp__question *q, double large,
                                       mcamp_estimate *e)
{
    double slack = 6 * e->std_error;
    int agrees = e->value >= q->low - slack && e->value <= q->high + slack;
    e->value = mcamp__dmin(mcamp__dmax(e->value, q->low), q->high);
    e->std_error = mcamp__dmin(e->std_error, q->high - q->low);
    return agrees && e->std_error <= 0.5 * large;
}

/* Blocks for the rigorous side: enough to come within a fifth of `large`, or, where the
 * range is a thousand values and more, within about a half; at most two million samples,
 * fewer where more than 1% of error was asked for.                                     */
MCAMP__PRIV uint64_t mcamp__proof_blocks(const mcamp_budget *bud, double ratio)
{
    double need = (ratio < 1000 ? 6 : 2.2) * log(1 / bud->beta) * ratio;
    double cap = mcamp__dmin((double)bud->max_samples,
                             2097152 * mcamp__dmin(1, 0.01 / bud->rel_error));
    uint64_t most = mcamp__blocks_for(mcamp__inf(), 1, bud->max_samples);
    if (!(need < cap)) need = cap;
    return mcamp__umin((uint64_t)(need / MCAMP_BLOCK) + 1, most);
}

/* The rigorous side of an estimate by the law of smallest range; no samples where the
 * bound that is certain is as near.  The error bar is backed (trusted) if the bound is
 * within twice the value and both sets of samples agree; of a value far below the floor,
 * which nobody asked for, it becomes as long as the bound says.                        */
MCAMP__PRIV mcamp_status mcamp__prove_estimate(mcamp_ctx *ctx, const mcamp__question *q,
                                               const mcamp__choice *proof, double log_range,
                                               const mcamp_budget *bud, mcamp_tally *t,
                                               mcamp_estimate *e)
{
    double large = mcamp__dmax(e->value, q->floor), err, gap;
    mcamp_status st;
    e->lower = mcamp__dmax(e->lower, q->low);
    e->trusted = mcamp__estimate_agrees(q, large, e);
    large = mcamp__dmax(e->value, q->floor);
    if (q->high > 1.5 * large) {
        st = mcamp__question_run(ctx, q, proof,
                                 MCAMP__PURPOSE(MCAMP__STREAM_ESTIMATE, 1, q->dir),
                                 mcamp__proof_blocks(bud, exp(log_range) / large), t);
        if (st < 0) return st;
        if (t->poisoned)
            return mcamp__fail(ctx, MCAMP_E_SAMPLE, "sample", (double)t->poisoned);
        e->proof_samples += t->count;
        e->range = exp(log_range);
        e->upper = mcamp__dmin(e->upper, mcamp_tally_upper(t, bud->beta));
        err = mcamp_tally_std_error(t);
        gap = fabs(mcamp_tally_mean(t) - e->value);
        if (!(gap <= 6 * sqrt(err * err + e->std_error * e->std_error))) e->trusted = false;
    }
    if (!(e->upper <= 2 * large)) e->trusted = false;
    if (q->floor > e->value && e->upper > 2 * e->value)
        e->std_error = mcamp__dmax(e->std_error, e->upper - e->value);
    return MCAMP_OK;
}

/* Value, error and bounds by the law of smallest range (proof; its sampler is q->ready)
 * and the one asked for, or picked by a pilot if the budget has room for one.  Where the
 * answer is nearly known a simulation gets a million samples at most.                 */
MCAMP__PRIV mcamp_status mcamp__estimate_by(mcamp_ctx *ctx, const mcamp__question *q,
                                            const mcamp_budget *bud,
                                            const mcamp__choice *proof, double log_range,
                                            mcamp_estimate *e)
{
    uint32_t purpose = MCAMP__PURPOSE(MCAMP__STREAM_ESTIMATE, 0, q->dir);
    mcamp_budget own = *bud;
    mcamp__choice use = *proof;
    mcamp_status st = MCAMP_OK;
    mcamp_tally *t = (mcamp_tally *)mcamp__new(ctx, 1, sizeof *t);
    if (!t) return mcamp__fail(ctx, MCAMP_E_MEMORY, "tally", 0);
    use.log_scale = mcamp__estimate_scale(q, log_range);
    if (q->high <= 1.05 * q->low)
        own.max_samples = mcamp__umin(own.max_samples, UINT64_C(1) << 20);
    if (bud->method &&
        mcamp__method_fits(q->f, q->dir, bud->method)) {
        use.method = bud->method;
        use.k = bud->order;
    } else if (bud->max_samples >= MCAMP__PILOT_LEAST) {
        st = mcamp__pilot(ctx, q, proof->k, log_range, bud->rel_error, &use,
                          &e->proof_samples);
    }
    if (st >= 0) st = mcamp__run_to_error(ctx, q, &use, &own, purpose, t);
    if (st == MCAMP_OK && t->poisoned)      /* a value too large for the tally */
        st = mcamp__run_to_error(ctx, q, proof, &own, purpose, t);
    if (st >= 0 && t->poisoned)
        st = mcamp__fail(ctx, MCAMP_E_SAMPLE, "sample", (double)t->poisoned);
    if (st >= 0) mcamp__estimate_from(t, e);
    if (st == MCAMP_OK) st = mcamp__prove_estimate(ctx, q, proof, log_range, bud, t, e);
    mcamp__delete(ctx, t, 1, sizeof *t);
    return st;
}

/* Value, error and rigorous bounds of one direction; nothing (all 0) if interrupted. */
MCAMP__PRIV mcamp_status mcamp__estimate(mcamp_ctx *ctx, const mcamp__question *question,
                                         const mcamp_budget *bud, mcamp_estimate *e)
{
    mcamp__question q = *question;
    mcamp__choice proof;
    mcamp__sampler ready;
    double log_range = 0;
    mcamp_status st;
    memset(e, 0, sizeof *e);
    e->beta = bud->beta;
    if (mcamp__exact_case(&q, e)) return MCAMP_OK;
    q.high = mcamp__dmin(exp(mcamp__free_log_bound(ctx, &q, &st)), q.high);
    e->upper = q.high;
    if (st < 0) return st;
    if (mcamp__settled_without(&q, e)) return MCAMP_OK;
    if (mcamp__question_known(&q, bud->rel_error, e)) return MCAMP_OK;
    st = mcamp__proof_choice(ctx, &q, &proof, &log_range, &ready);
    if (st < 0) return st;
    q.ready = &ready;
    st = mcamp__estimate_by(ctx, &q, bud, &proof, log_range, e);
    mcamp__sampler_free(ctx, &ready);
    if (st == MCAMP_Q_INTERRUPTED) memset(e, 0, sizeof *e);
    return st;
}

/* ======================================================================== *
 *  CALIBRATION AND CERTIFICATION                                   >>calib
 *  In: a Gram matrix and targets.  Out: delta, eps or sigma with their errors,
 *  and accepted or refused claims; without samples where section exact knows, and
 *  each answer checked against its question.  Calibration draws from the PILOT, CALIBRATE and
 *  ESTIMATE streams, verification from VERIFY alone, inside this section: samples
 *  that chose a sigma cannot prove it.
 * ======================================================================== */

/* ---- delta ---------------------------------------------------------------- */

MCAMP__PRIV int mcamp__wants(const mcamp_budget *bud, mcamp_direction dir)
{
    return bud->direction == MCAMP_BOTH || bud->direction == dir;
}

/* 1 if the error bar of this direction is not backed and it may be the worse one. */
MCAMP__PRIV int mcamp__answer_doubtful(const mcamp_answer *a, const mcamp_estimate *e)
{
    return e->beta > 0 && !e->trusted &&
           !(e->upper <= a->delta && e->value < a->delta);
}

/* An answer about nothing yet: what is not filled in later was not computed. */
MCAMP__PRIV void mcamp__answer_start(const mcamp_budget *bud, double sigma, double eps,
                                     mcamp_answer *a)
{
    memset(a, 0, sizeof *a);
    a->direction = bud->direction;
    a->sigma = sigma; a->eps = eps;
    a->delta = a->std_error = a->unamplified = mcamp__nan();
    a->delta_upper = 1;
    a->beta = bud->beta; a->seed = bud->seed;
    a->points = 1;
}

/* Kind, status and ends from the directions' estimates. */
MCAMP__PRIV void mcamp__answer_judge(const mcamp_budget *bud, mcamp_answer *a)
{
    const mcamp_estimate *e[2];
    int sampled = 0, formula = 1;
    e[0] = &a->remove; e[1] = &a->add;
    for (int d = 0; d < 2; d++) {
        if (!e[d]->method) continue;
        sampled |= e[d]->method != MCAMP_METHOD_EXACT || !e[d]->trusted;
        formula &= e[d]->exact;
    }
    a->kind = sampled ? MCAMP_KIND_ESTIMATE : formula ? MCAMP_KIND_CLOSED
                                                      : MCAMP_KIND_INTERVAL;
    if (!sampled) {
        a->lower = mcamp__dmax(a->remove.lower, a->add.lower);
        a->upper = a->delta_upper;
        if (!formula) a->std_error = a->upper - a->lower;
    }
    if (mcamp__answer_doubtful(a, &a->remove) || mcamp__answer_doubtful(a, &a->add))
        a->status = MCAMP_Q_UNTRUSTED;
    else if (sampled && !(a->std_error <= 1.2 * bud->rel_error * a->delta))
        a->status = MCAMP_Q_BUDGET;
}

/* Fills the answer at (sigma, eps): both directions' estimates and what follows.
 * The second direction's error is relative to its own value, or to a share of the first
 * one's if that is larger: half of it if brief, else 1e-9.                            */
MCAMP__PRIV mcamp_status mcamp__answer_at(mcamp_ctx *ctx, const mcamp__factor *f,
                                          double sigma, double eps, int brief,
                                          const mcamp_budget *bud, mcamp_answer *a)
{
    double delta = 0, error = 0, upper = 0;
    int exact = !bud->method && mcamp__exact_knows(f);
    mcamp__answer_start(bud, sigma, eps, a);
    for (int d = MCAMP_REMOVE; d <= MCAMP_ADD; d++) {
        mcamp_estimate *e = d == MCAMP_REMOVE ? &a->remove : &a->add;
        mcamp__question q = mcamp__ask(f, sigma, eps, (mcamp_direction)d, bud->seed);
        mcamp_status st = MCAMP_OK;
        if (!mcamp__wants(bud, q.dir)) continue;
        q.fine = 1;
        if (exact && (st = mcamp__ask_exact(ctx, &q)) < 0) return st;
        q.floor = (brief ? 0.5 : f->diagonal && !exact ? 0.0 : 1e-9) * delta;
        st = mcamp__estimate(ctx, &q, bud, e);
        if (st < 0) return st;
        if (st > 0) return a->status = st;
        a->samples += e->samples + e->proof_samples;
        if (e->value >= delta) { delta = e->value; error = e->std_error; }
        upper = mcamp__dmax(upper, e->upper);
    }
    a->delta = delta;
    a->std_error = error;
    a->delta_upper = upper;
    mcamp__answer_judge(bud, a);
    return MCAMP_OK;
}

/* What an answer is about. */
MCAMP__PRIV void mcamp__answer_about(const mcamp_gram *gram, const mcamp_budget *bud,
                                     mcamp_quantity asked, double target, mcamp_answer *a)
{
    a->asked = asked;
    a->target = target;
    a->direction = bud->direction;
    a->rounds = gram->n;
    a->batches = gram->b;
    a->strategy_digest = gram->strategy_digest;
    a->gram_digest = gram->digest;
}

MCAMP_API mcamp_status mcamp_delta(mcamp_ctx *ctx, const mcamp_gram *gram,
                                   double sigma, double eps,
                                   const mcamp_budget *budget, mcamp_answer *out)
{
    MCAMP__GUARD;
    mcamp__factor f;
    mcamp_answer a;
    mcamp_budget bud;
    mcamp_status st = mcamp__check_gram(ctx, gram);
    if (st < 0) return st;
    if (!out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    if ((st = mcamp__check_sigma(ctx, "sigma", sigma)) < 0) return st;
    if ((st = mcamp__check_eps(ctx, "eps", eps)) < 0) return st;
    if ((st = mcamp__budget_resolve(ctx, budget, &bud)) < 0) return st;
    if ((st = mcamp__factor_init(ctx, gram, &f)) < 0) return st;
    st = mcamp__answer_at(ctx, &f, sigma, eps, 0, &bud, &a);
    mcamp__factor_free(ctx, &f);
    if (st < 0) return st;
    a.unamplified = exp(mcamp__gauss_logdelta(gram->max_norm / sigma, eps));
    mcamp__answer_about(gram, &bud, MCAMP_ASK_DELTA, 0, &a);
    *out = a;
    return a.status;
}

/* ---- solving for sigma or eps ------------------------------------------------ *
 * log delta is decreasing in log sigma and in eps.  Stage A finds the root to a few
 * percent with small samples, choosing the law anew at every point; stage B fixes
 * law, order and random numbers, which makes the estimate a smooth function.        */

typedef struct mcamp__solve {
    const mcamp__factor *f;
    const mcamp_budget *bud;
    int by_sigma;               /* else by eps */
    double sigma, eps;          /* the one that is given */
    double log_delta;           /* target */
    mcamp__choice choice[3];    /* per direction, stage B; method 0: not needed */
    uint64_t blocks[3];
    uint64_t samples;
    mcamp_tally *t;
} mcamp__solve;

MCAMP__PRIV mcamp__question mcamp__solve_question(const mcamp__solve *s, double x, int dir)
{
    return mcamp__ask(s->f, s->by_sigma ? exp(x) : s->sigma, s->by_sigma ? s->eps : x,
                      (mcamp_direction)dir, s->bud->seed);
}

/* Log of the mean of one run, -infinity if it saw nothing. */
MCAMP__PRIV mcamp_status mcamp__solve_run(mcamp_ctx *ctx, mcamp__solve *s,
                                          const mcamp__question *q,
                                          const mcamp__choice *c, int rung,
                                          uint64_t blocks, double *log_mean)
{
    mcamp_status st = mcamp__question_run(ctx, q, c,
        MCAMP__PURPOSE(MCAMP__STREAM_CALIBRATE, rung, q->dir), blocks, s->t);
    double m;
    if (st < 0) return st;
    if (s->t->poisoned)
        return mcamp__fail(ctx, MCAMP_E_SAMPLE, "sample", (double)s->t->poisoned);
    s->samples += s->t->count;
    m = mcamp__tally_mean_x(s->t);
    *log_mean = m > 0 ? log(m) + s->t->log_scale : -mcamp__inf();
    return MCAMP_OK;
}

/* Stage A at x: the larger of what the fitting laws see in one block each (a law
 * that does not suit the point errs to the low side).                               */
MCAMP__PRIV mcamp_status mcamp__solve_coarse(mcamp_ctx *ctx, mcamp__solve *s, double x,
                                             double *log_delta)
{
    mcamp_status st = MCAMP_OK;
    *log_delta = -mcamp__inf();
    for (int d = MCAMP_REMOVE; st >= 0 && d <= MCAMP_ADD; d++) {
        mcamp__question q = mcamp__solve_question(s, x, d);
        mcamp__choice c[2];
        size_t n = 0;
        if (!mcamp__wants(s->bud, (mcamp_direction)d)) continue;
        memset(c, 0, sizeof c);
        c[0].log_scale = c[1].log_scale = mcamp__estimate_scale(&q, mcamp__inf());
        if (d == MCAMP_REMOVE) {
            if (!s->f->diagonal) c[n++].method = MCAMP_METHOD_COMMON;
            c[n].log_scale = mcamp__loose_scale(q.f, q.sigma, q.eps);
            c[n++].method = MCAMP_METHOD_MODE;
        } else {
            c[n++].method = mcamp__default_method(s->f, q.dir);
        }
        for (size_t i = 0; st >= 0 && i < n; i++) {
            double v = 0;
            st = mcamp__solve_run(ctx, s, &q, &c[i], (int)i, 1, &v);
            if (st >= 0) *log_delta = mcamp__dmax(*log_delta, v);
        }
    }
    return st;
}

/* Stage B at x; also the relative variance of the binding direction's mean. */
MCAMP__PRIV mcamp_status mcamp__solve_fine(mcamp_ctx *ctx, mcamp__solve *s, double x,
                                           double *log_delta, double *rel_error)
{
    mcamp_status st = MCAMP_OK;
    *log_delta = -mcamp__inf();
    *rel_error = 0;
    for (int d = MCAMP_REMOVE; st >= 0 && d <= MCAMP_ADD; d++) {
        mcamp__question q = mcamp__solve_question(s, x, d);
        double v = 0;
        if (!s->choice[d].method) continue;
        st = mcamp__solve_run(ctx, s, &q, &s->choice[d], 8, s->blocks[d], &v);
        if (st < 0 || !(v > *log_delta)) continue;
        *log_delta = v;
        *rel_error = sqrt(mcamp__tally_rel_var(s->t) / (double)s->t->count) *
                     mcamp__tally_skew_factor(s->t);
    }
    return st;
}

/* Chooses laws and sample sizes at x; leaves out a direction that is far below. */
MCAMP__PRIV mcamp_status mcamp__solve_choose(mcamp_ctx *ctx, mcamp__solve *s, double x)
{
    mcamp_status st = MCAMP_OK;
    double seen[3] = { 0, 0, 0 };
    for (int d = MCAMP_REMOVE; st >= 0 && d <= MCAMP_ADD; d++) {
        mcamp__question q = mcamp__solve_question(s, x, d);
        double log_range = 0;
        if (!mcamp__wants(s->bud, q.dir)) continue;
        st = mcamp__proof_choice(ctx, &q, &s->choice[d], &log_range, NULL);
        if (st < 0) return st;
        st = mcamp__pilot(ctx, &q, s->choice[d].k, log_range, s->bud->rel_error,
                         &s->choice[d], &s->samples);
        if (st < 0) return st;
        st = mcamp__solve_run(ctx, s, &q, &s->choice[d], 7, 2, &seen[d]);
        s->blocks[d] = mcamp__blocks_for(s->choice[d].rel_var, s->bud->rel_error,
                                         s->bud->max_samples);
    }
    if (s->choice[1].method && s->choice[2].method) {
        if (seen[2] < seen[1] - 1.5) s->choice[2].method = MCAMP_METHOD_DEFAULT;
        if (seen[1] < seen[2] - 1.5) s->choice[1].method = MCAMP_METHOD_DEFAULT;
    }
    return st;
}

/* Coarse root of log delta(x) = target in [lo, hi], f(hi) <= 0 known.  Values are
 * noisy at the percent level, so it stops at 2% of the slope's scale.               */
MCAMP__PRIV mcamp_status mcamp__solve_stage_a(mcamp_ctx *ctx, mcamp__solve *s, double lo,
                                              double hi, double *x)
{
    mcamp__root r;
    double flo, v = 0;
    mcamp_status st = mcamp__solve_coarse(ctx, s, lo, &v);
    if (st < 0) return st;
    flo = v - s->log_delta;
    *x = lo;
    if (!(flo > 0)) return MCAMP_OK;        /* even the lowest meets the target */
    if (st >= 0) st = mcamp__solve_coarse(ctx, s, hi, &v);
    if (st < 0) return st;
    mcamp__root_init(&r, lo, flo, hi, mcamp__dmin(v - s->log_delta, -1e-3));
    while (r.steps < 40 && r.hi - r.lo > 1e-3 * (s->by_sigma ? 1 : 1 + fabs(r.hi))) {
        *x = mcamp__root_next(&r);
        if ((st = mcamp__solve_coarse(ctx, s, *x, &v)) < 0) return st;
        if (fabs(v - s->log_delta) < 0.05) return MCAMP_OK;
        mcamp__root_update(&r, *x, v - s->log_delta);
        if (mcamp__progress(ctx, -1, s->by_sigma ? exp(*x) : *x)) return MCAMP_Q_INTERRUPTED;
    }
    *x = 0.5 * (r.lo + r.hi);
    return MCAMP_OK;
}

/* Fine root from a start: secant steps on the smooth estimate, each limited.
 * *err: standard error of x.                                                        */
MCAMP__PRIV mcamp_status mcamp__solve_secant(mcamp_ctx *ctx, mcamp__solve *s, double *x,
                                             double *err)
{
    double x0 = *x, step = s->by_sigma ? 0.01 : 0.01 * mcamp__dmax(fabs(x0), 0.01);
    double f0, f1, rel = 0, slope = -1, limit = 10 * step, x1;
    mcamp_status st = mcamp__solve_fine(ctx, s, x0, &f0, &rel);
    if (st < 0) return st;
    f0 -= s->log_delta;
    x1 = f0 > 0 ? x0 + step : x0 - step;
    if (!s->by_sigma) x1 = mcamp__dmax(x1, 0);
    for (int i = 0; i < 12; i++) {
        double next;
        if ((st = mcamp__solve_fine(ctx, s, x1, &f1, &rel)) < 0) return st;
        f1 -= s->log_delta;
        if (!mcamp__eq(x1, x0) && mcamp__finite(f0) && mcamp__finite(f1)) {
            double sl = (f1 - f0) / (x1 - x0);
            if (sl < 0) slope = sl;
        }
        if (fabs(f1) <= 0.02 * s->bud->rel_error || mcamp__eq(x1, x0)) break;
        next = x1 - f1 / slope;
        if (!(fabs(next - x1) <= limit)) next = f1 > 0 ? x1 + limit : x1 - limit;
        if (!s->by_sigma) next = mcamp__dmax(next, 0);
        x0 = x1; f0 = f1; x1 = next;
        if (mcamp__progress(ctx, -1, s->by_sigma ? exp(x1) : x1)) return MCAMP_Q_INTERRUPTED;
    }
    *x = x1;
    *err = fabs(rel / slope);
    return MCAMP_OK;
}

/* Stage B: with an eighth of the samples first, so that few steps need all. */
MCAMP__PRIV mcamp_status mcamp__solve_stage_b(mcamp_ctx *ctx, mcamp__solve *s, double *x,
                                              double *err)
{
    uint64_t all[3];
    mcamp_status st = MCAMP_OK;
    memcpy(all, s->blocks, sizeof all);
    if (all[1] >= 32 || all[2] >= 32) {
        for (int d = 0; d < 3; d++) s->blocks[d] = (all[d] + 7) / 8;
        st = mcamp__solve_secant(ctx, s, x, err);
        memcpy(s->blocks, all, sizeof all);
    }
    return st == MCAMP_OK ? mcamp__solve_secant(ctx, s, x, err) : st;
}

/* x in [lo, hi] with delta(x) = target; if even lo meets it, lo; hi if none was found.  *err
 * as above. */
MCAMP__PRIV mcamp_status mcamp__solve_for(mcamp_ctx *ctx, mcamp__solve *s, double lo,
                                          double hi, double *x, double *err)
{
    mcamp_status st;
    *err = 0;
    s->t = (mcamp_tally *)mcamp__new(ctx, 1, sizeof *s->t);
    if (!s->t) return mcamp__fail(ctx, MCAMP_E_MEMORY, "tally", 0);
    st = mcamp__solve_stage_a(ctx, s, lo, hi, x);
    if (st == MCAMP_OK && *x > lo) {
        st = mcamp__solve_choose(ctx, s, *x);
        if (st == MCAMP_OK) st = mcamp__solve_stage_b(ctx, s, x, err);
        if (*x > hi) *x = hi;
    }
    if (st == MCAMP_E_SAMPLE) {         /* values beyond the tally: as if not found */
        *x = hi;
        *err = 0;
        st = MCAMP_OK;
    }
    mcamp__delete(ctx, s->t, 1, sizeof *s->t);
    return st;
}

/* ---- without samples ---- *
 * Where modes are orthogonal section exact bounds delta from both sides.  The answer is
 * the smallest x at which the upper bound, raised by the interval's own width (by a
 * hundredth where that is more), meets the target: from one x to the next the bounds vary
 * by less than their width, so that verification accepts whatever larger x is printed.  */

/* What counts as 1 for errors of x. */
MCAMP__PRIV double mcamp__solve_scale(const mcamp__solve *s, double x)
{
    return s->by_sigma ? 1 : mcamp__dmax(x, 1e-6);
}

/* What that is at x, in log delta over the target; *above: 1 if delta is certainly more
 * than the target there.                                                              */
MCAMP__PRIV mcamp_status mcamp__known_at(mcamp_ctx *ctx, const mcamp__solve *s, double x,
                                         int fine, double *value, int *above)
{
    mcamp_interval v;
    mcamp__question q = mcamp__solve_question(s, x, MCAMP_REMOVE);
    mcamp_status st = mcamp__exact_interval(ctx, q.f, q.sigma, q.eps, s->bud->direction, fine, &v);
    *above = st >= 0 && log(v.lower) > s->log_delta;
    *value = log(v.upper) + mcamp__dmin(log(v.upper / v.lower), 0.01) - s->log_delta;
    return st;
}

/* The same, noting x in *below if it is certainly too small. */
MCAMP__PRIV mcamp_status mcamp__known_note(mcamp_ctx *ctx, const mcamp__solve *s, double x,
                                           int fine, double *value, double *below)
{
    int above = 0;
    mcamp_status st = mcamp__known_at(ctx, s, x, fine, value, &above);
    if (st >= 0 && above) *below = mcamp__dmax(*below, x);
    if (st >= 0 && mcamp__progress(ctx, -1, s->by_sigma ? exp(x) : x)) return MCAMP_Q_INTERRUPTED;
    return st;
}

/* Where the root may be: far from it delta is dear to compute.  b nearly orthogonal shares
 * of a Gaussian mechanism's divergence, or of its loss.                                */
MCAMP__PRIV double mcamp__known_guess(const mcamp__solve *s, double hi)
{
    double b = (double)s->f->b, mu;
    if (!s->by_sigma) return hi < 700 ? log1p(expm1(hi) / b) : hi - log(b);
    mu = mcamp__gauss_mu_down(s->eps, s->log_delta);
    return 0.5 * log(s->f->trace_max / log1p(b * mu * mu));
}

/* A bracket of the root, in steps from x, within [lo, hi]: f(r->lo) > 0 >= f(r->hi), but
 * where lo (hi) is reached without a change of sign.                                    */
MCAMP__PRIV mcamp_status mcamp__known_bracket(mcamp_ctx *ctx, const mcamp__solve *s, int fine,
                                              double x, double lo, double hi, mcamp__root *r,
                                              double *below)
{
    double f, y, fy, step = (fine ? 4e-4 : 0.1) * mcamp__solve_scale(s, x);
    mcamp_status st = mcamp__known_note(ctx, s, x, fine, &f, below);
    while (st == MCAMP_OK && (f > 0 ? x < hi : x > lo)) {
        y = f > 0 ? mcamp__dmin(hi, x + step) : mcamp__dmax(lo, x - step);
        st = mcamp__known_note(ctx, s, y, fine, &fy, below);
        if (f > 0) mcamp__root_init(r, x, f, y, fy); else mcamp__root_init(r, y, fy, x, f);
        if ((fy > 0) != (f > 0)) return st;
        x = y; f = fy; step *= 1.6;
    }
    if (st == MCAMP_OK) mcamp__root_init(r, x, f, x, f);
    return st;
}

/* The smallest x in [lo, hi] where that is at most 0, looked for from *x, to a share 1e-3 of x
 * (of sigma), or 2e-5; *below: raised to the largest x met that is certainly too small.
 * MCAMP_Q_MAX_ITER if it is not at most 0 at hi.                                     */
MCAMP__PRIV mcamp_status mcamp__known_root(mcamp_ctx *ctx, const mcamp__solve *s, int fine,
                                           double lo, double hi, double *x, double *below)
{
    double f = 0, at, tol = fine ? 2e-5 : 1e-3;
    mcamp__root r;
    mcamp_status st = mcamp__known_bracket(ctx, s, fine, *x, lo, hi, &r, below);
    if (st != MCAMP_OK) return st;
    if (!(r.fhi <= 0)) return MCAMP_Q_MAX_ITER;
    r.fhi = mcamp__dmin(r.fhi, -1e-9);
    while (r.flo > 0 && r.steps < 80 && r.hi - r.lo > tol * mcamp__solve_scale(s, r.hi)) {
        at = mcamp__root_next(&r);
        if ((st = mcamp__known_note(ctx, s, at, fine, &f, below)) != MCAMP_OK) return st;
        mcamp__root_update(&r, at, f > 0 ? f : mcamp__dmin(f, -1e-9));
    }
    *x = r.flo > 0 ? r.hi : r.lo;
    return MCAMP_OK;
}

/* The smallest x in [lo, hi] that is known to meet the target to *x; *below: the largest
 * one met that is known not to (lo if there is none).  MCAMP_OK if these are within 1% of
 * x; else MCAMP_Q_MAX_ITER: the truth is between them, and *x is sound.                 */
MCAMP__PRIV mcamp_status mcamp__solve_known(mcamp_ctx *ctx, mcamp__solve *s, double lo,
                                            double hi, double *x, double *below)
{
    double scale;
    mcamp_status st;
    *x = mcamp__dmin(hi, mcamp__dmax(lo, mcamp__known_guess(s, hi)));
    *below = lo;
    st = mcamp__known_root(ctx, s, 0, lo, hi, x, below);
    if (st == MCAMP_OK) st = mcamp__known_root(ctx, s, 1, lo, hi, x, below);
    if (st != MCAMP_OK) *x = hi;
    scale = mcamp__solve_scale(s, *x);
    for (double gap = 1e-4; st == MCAMP_OK && gap < 0.01; gap *= 3) {
        double f, at = mcamp__dmax(lo, *x - gap * scale);
        int above;
        if (*below >= at) break;
        if ((st = mcamp__known_at(ctx, s, at, 1, &f, &above)) < 0) return st;
        if (above) *below = at;
    }
    if (st != MCAMP_OK) return st;
    return *x - *below <= 0.01 * scale ? MCAMP_OK : MCAMP_Q_MAX_ITER;
}

/* ---- checked ---- */

/* 1 if the answer at x agrees with what was asked for: delta evaluated anew is the target
 * within six of its errors, or below it where x is the least there is; and no certain
 * bound says otherwise.                                                               */
MCAMP__PRIV int mcamp__solve_meets(const mcamp__solve *s, const mcamp_answer *a, int least)
{
    double rel = mcamp__dmin(a->std_error / a->delta + s->bud->rel_error, 0.1);
    double slack = 0.02 + 6 * rel;
    double gap = log(a->delta) - s->log_delta;
    double low = mcamp__dmax(a->remove.lower, a->add.lower);
    if (a->kind != MCAMP_KIND_ESTIMATE && a->delta_upper <= exp(s->log_delta) * (1 + 1e-9))
        return 1;
    return gap <= slack && (gap >= -slack || least) && low <= exp(s->log_delta + 3 * rel);
}

/* The root in [lo, hi] by the answers themselves, each with laws of its own: slow, and
 * sure wherever they are.                                                             */
MCAMP__PRIV mcamp_status mcamp__solve_slowly(mcamp_ctx *ctx, mcamp__solve *s, double lo,
                                             double hi, double *x, double *err)
{
    double slope = -1, x0 = hi, f0 = 0, rel = s->bud->rel_error;
    mcamp_answer a;
    mcamp__root r;
    mcamp__root_init(&r, lo, mcamp__inf(), hi, -1e-3);
    while (r.steps < 40 && r.hi - r.lo > 1e-3 * mcamp__solve_scale(s, r.hi)) {
        double f;
        mcamp_status st;
        *x = mcamp__root_next(&r);
        st = mcamp__answer_at(ctx, s->f, s->by_sigma ? exp(*x) : s->sigma,
                              s->by_sigma ? s->eps : *x, 1, s->bud, &a);
        if (st != MCAMP_OK) return st;
        s->samples += a.samples;
        f = mcamp__dmax(log(a.delta) - s->log_delta, -1e3);
        if (r.steps && fabs(*x - x0) > 0.02 * mcamp__solve_scale(s, *x) &&
            (f - f0) / (*x - x0) < 0)           /* nearer points show the laws' noise */
            slope = (f - f0) / (*x - x0);
        x0 = *x; f0 = f;
        rel = s->bud->rel_error + a.std_error / a.delta;
        if (fabs(f) <= 0.3 * s->bud->rel_error) break;
        mcamp__root_update(&r, *x, f);
    }
    *err = fabs(rel / slope);
    return MCAMP_OK;
}

/* The answer at the root *x of [lo, hi], checked against the question; if it fails the
 * root is looked for again, and if that fails too it is not trusted.                  */
MCAMP__PRIV mcamp_status mcamp__solve_answer(mcamp_ctx *ctx, mcamp__solve *s, double lo,
                                             double hi, double *x, double *err,
                                             mcamp_answer *a)
{
    for (int tries = 0; ; tries++) {
        mcamp_status st = mcamp__answer_at(ctx, s->f, s->by_sigma ? exp(*x) : s->sigma,
                                           s->by_sigma ? s->eps : *x, 1, s->bud, a);
        if (st != MCAMP_OK) return st;
        if (mcamp__solve_meets(s, a, *x <= lo)) return MCAMP_OK;
        if (tries) break;
        if ((st = mcamp__solve_slowly(ctx, s, lo, hi, x, err)) != MCAMP_OK) return st;
    }
    a->status = MCAMP_Q_UNTRUSTED;
    return MCAMP_OK;
}

/* A root and what is known about it, log sigma or eps. */
typedef struct mcamp__found {
    double x, err;              /* err: of sigma or eps                        */
    double lo, hi, below;       /* where it was looked for; known: certainly more */
    int known;                  /* without samples                             */
} mcamp__found;

/* log sigma for (eps, delta), between a bound for the longest mode and the unamplified
 * one, *su: from samples in the bracket [log su - log(4 sqrt(b) + 4), log su], moved
 * downwards while needed.                                                            */
MCAMP__PRIV mcamp_status mcamp__solve_sigma(mcamp_ctx *ctx, mcamp__solve *s, double norm,
                                            double *su, mcamp__found *r)
{
    double least = log(sqrt(s->f->trace_max) / MCAMP__MU_MAX) + 1e-9, lo, hi;
    mcamp_status st;
    memset(r, 0, sizeof *r);
    st = mcamp_gauss_sigma(ctx, norm, s->eps, exp(s->log_delta), su);
    if (st < 0) return st;
    r->x = r->hi = hi = log(*su);
    r->lo = mcamp__dmin(least, hi);
    if (s->f->b == 1 || !(least < hi)) return MCAMP_OK;
    if (!s->bud->method && mcamp__exact_knows(s->f)) {
        st = mcamp__solve_known(ctx, s, least, hi, &r->x, &r->below);
        r->known = st == MCAMP_OK;
        r->err = exp(r->x) - exp(r->below);
        if (st <= MCAMP_OK || st == MCAMP_Q_INTERRUPTED) return st;
        r->hi = hi = r->x;
    }
    lo = mcamp__dmax(hi - log(4 * sqrt((double)s->f->b) + 4), least);
    for (int i = 0; i < 20 && lo < hi; i++) {
        st = mcamp__solve_for(ctx, s, lo, hi, &r->x, &r->err);
        if (st != MCAMP_OK || r->x > lo) break;
        hi = lo;
        lo = mcamp__dmax(lo - 3, least);
    }
    r->err *= exp(r->x);
    return st == MCAMP_Q_MAX_ITER ? MCAMP_OK : st;
}

MCAMP__PRIV mcamp_status mcamp__target_check(mcamp_ctx *ctx, const mcamp_gram *gram,
                                             double delta, const mcamp_budget *budget,
                                             mcamp_budget *bud, const void *out)
{
    mcamp_status st = mcamp__check_gram(ctx, gram);
    if (st < 0) return st;
    if (!out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "out", 0);
    if ((st = mcamp__check_prob(ctx, "delta", delta)) < 0) return st;
    if (!(gram->max_norm > 0))
        return mcamp__fail(ctx, MCAMP_E_ARG, "gram", gram->max_norm);
    return mcamp__budget_resolve(ctx, budget, bud);
}

/* Sets up a solve; answers start as those of the question. */
MCAMP__PRIV void mcamp__solve_start(const mcamp__factor *f, const mcamp_budget *bud,
                                    int by_sigma, double given, double delta,
                                    mcamp__solve *s)
{
    memset(s, 0, sizeof *s);
    s->f = f; s->bud = bud; s->by_sigma = by_sigma; s->log_delta = log(delta);
    if (by_sigma) s->eps = given; else s->sigma = given;
}

/* What the answer to a sigma or eps question says beside delta at the root: st is how
 * the search ended.                                                                    */
MCAMP__PRIV void mcamp__solve_finish(const mcamp__solve *s, const mcamp__found *r,
                                     mcamp_status st, double unamplified, mcamp_answer *a)
{
    double below = s->by_sigma ? exp(r->below) : r->below;
    if (st == MCAMP_Q_INTERRUPTED) {
        mcamp__answer_start(s->bud, s->by_sigma ? mcamp__nan() : s->sigma,
                            s->by_sigma ? s->eps : mcamp__nan(), a);
        a->status = st;
    } else {
        a->std_error = r->err;
        if (a->kind != MCAMP_KIND_ESTIMATE) {
            a->upper = s->by_sigma ? a->sigma : a->eps;
            a->lower = a->kind == MCAMP_KIND_CLOSED ? a->upper * (1 - 1e-12) : below;
        }
    }
    a->unamplified = unamplified;
    a->samples += s->samples;
}

MCAMP_API mcamp_status mcamp_sigma(mcamp_ctx *ctx, const mcamp_gram *gram,
                                   double eps, double delta,
                                   const mcamp_budget *budget, mcamp_answer *out)
{
    MCAMP__GUARD;
    mcamp__factor f;
    mcamp__solve s;
    mcamp__found r;
    mcamp_answer a;
    mcamp_budget bud;
    double su = 0;
    mcamp_status st = mcamp__target_check(ctx, gram, delta, budget, &bud, out);
    if (st < 0) return st;
    if ((st = mcamp__check_eps(ctx, "eps", eps)) < 0) return st;
    if ((st = mcamp__factor_init(ctx, gram, &f)) < 0) return st;
    mcamp__solve_start(&f, &bud, 1, eps, delta, &s);
    st = mcamp__solve_sigma(ctx, &s, gram->max_norm, &su, &r);
    if (st == MCAMP_OK)
        st = mcamp__solve_answer(ctx, &s, r.lo, r.hi, &r.x, &r.err, &a);
    mcamp__factor_free(ctx, &f);
    if (st < 0) return st;
    mcamp__solve_finish(&s, &r, st, su, &a);
    mcamp__answer_about(gram, &bud, MCAMP_ASK_SIGMA, delta, &a);
    *out = a;
    return a.status;
}

/* eps in [0, eu], eu > 0 the unamplified one; b > 1. */
MCAMP__PRIV mcamp_status mcamp__solve_epsilon(mcamp_ctx *ctx, mcamp__solve *s, double eu,
                                              mcamp__found *r)
{
    mcamp_status st;
    memset(r, 0, sizeof *r);
    r->x = r->hi = eu;
    if (s->f->b == 1 || !(eu > 0)) return MCAMP_OK;
    if (!s->bud->method && mcamp__exact_knows(s->f)) {
        st = mcamp__solve_known(ctx, s, 0, eu, &r->x, &r->below);
        r->known = st == MCAMP_OK;
        r->err = r->x - r->below;
        if (st <= MCAMP_OK || st == MCAMP_Q_INTERRUPTED) return st;
        r->hi = r->x;
    }
    return mcamp__solve_for(ctx, s, 0, r->hi, &r->x, &r->err);
}

MCAMP_API mcamp_status mcamp_epsilon(mcamp_ctx *ctx, const mcamp_gram *gram,
                                     double sigma, double delta,
                                     const mcamp_budget *budget, mcamp_answer *out)
{
    MCAMP__GUARD;
    mcamp__factor f;
    mcamp__solve s;
    mcamp__found r;
    mcamp_answer a;
    mcamp_budget bud;
    double eu = 0;
    mcamp_status st = mcamp__target_check(ctx, gram, delta, budget, &bud, out);
    if (st < 0) return st;
    if ((st = mcamp__check_sigma(ctx, "sigma", sigma)) < 0) return st;
    if ((st = mcamp_gauss_epsilon(ctx, sigma, gram->max_norm, delta, &eu)) < 0) return st;
    if ((st = mcamp__factor_init(ctx, gram, &f)) < 0) return st;
    mcamp__solve_start(&f, &bud, 0, sigma, delta, &s);
    st = mcamp__solve_epsilon(ctx, &s, eu, &r);
    if (st == MCAMP_OK)
        st = mcamp__solve_answer(ctx, &s, r.lo, r.hi, &r.x, &r.err, &a);
    mcamp__factor_free(ctx, &f);
    if (st < 0) return st;
    mcamp__solve_finish(&s, &r, st, eu, &a);
    mcamp__answer_about(gram, &bud, MCAMP_ASK_EPS, delta, &a);
    *out = a;
    return a.status;
}

/* The answers at eps[0..count-1] to a[]; those that were not computed say so. */
MCAMP__PRIV mcamp_status mcamp__curve_run(mcamp_ctx *ctx, const mcamp_gram *gram,
                                          double sigma, const double *eps, size_t count,
                                          const mcamp_budget *bud, mcamp_answer *a)
{
    mcamp__factor f;
    mcamp_budget one = *bud;
    mcamp_status st = mcamp__factor_init(ctx, gram, &f);
    if (st < 0) return st;
    one.beta /= (bud->direction == MCAMP_BOTH ? 4.0 : 2.0) * (double)count;
    for (size_t i = 0; st >= 0 && i < count; i++) {
        if (st == MCAMP_OK) st = mcamp__answer_at(ctx, &f, sigma, eps[i], 0, &one, &a[i]);
        else mcamp__answer_start(&one, sigma, eps[i], &a[i]);
        if (st < 0) break;
        if (st > 0) a[i].status = st;
        a[i].unamplified = exp(mcamp__gauss_logdelta(gram->max_norm / sigma, eps[i]));
        mcamp__answer_about(gram, bud, MCAMP_ASK_DELTA, 0, &a[i]);
        a[i].beta = bud->beta;
        a[i].points = count;
        if (st == MCAMP_OK && i + 1 < count &&
            mcamp__progress(ctx, (double)(i + 1) / (double)count, a[i].delta))
            st = MCAMP_Q_INTERRUPTED;
    }
    mcamp__factor_free(ctx, &f);
    return st;
}

MCAMP_API mcamp_status mcamp_curve(mcamp_ctx *ctx, const mcamp_gram *gram,
                                   double sigma, const double *eps, size_t count,
                                   const mcamp_budget *budget, mcamp_answer *out)
{
    MCAMP__GUARD;
    mcamp_budget bud;
    mcamp_answer *a;
    mcamp_status st = mcamp__check_gram(ctx, gram), worst = MCAMP_OK;
    if (st < 0) return st;
    if (!eps || !out) return mcamp__fail(ctx, MCAMP_E_REQUIRED, eps ? "out" : "eps", 0);
    if (!count) return mcamp__fail(ctx, MCAMP_E_SIZE, "count", 0);
    if ((st = mcamp__check_sigma(ctx, "sigma", sigma)) < 0) return st;
    if ((st = mcamp__budget_resolve(ctx, budget, &bud)) < 0) return st;
    a = (mcamp_answer *)mcamp__new(ctx, count, sizeof *a);
    if (!a) return mcamp__fail(ctx, MCAMP_E_MEMORY, "count", (double)count);
    for (size_t i = 0; st >= 0 && i < count; i++)
        st = mcamp__check_eps(ctx, "eps", eps[i]);
    if (st >= 0) st = mcamp__curve_run(ctx, gram, sigma, eps, count, &bud, a);
    if (st >= 0) memcpy(out, a, count * sizeof *a);
    for (size_t i = 0; st >= 0 && i < count; i++)
        if (a[i].status > worst) worst = a[i].status;
    mcamp__delete(ctx, a, count, sizeof *a);
    return st < 0 ? st : worst;
}

/* ---- between the points of a curve ---- *
 * Both directions' delta fall with eps, and in t = e^eps they are expectations of
 * (rho - t)_+ and (1 - t rho)_+, which are convex: so delta is below the chord of two upper
 * bounds, and above the line through an upper and a lower bound, beyond the lower one.  */

/* (e^x - e^a)/(e^b - e^a) for x, b on one side of a. */
MCAMP__PRIV double mcamp__curve_share(double x, double a, double b)
{
    double s = expm1(x - a) / expm1(b - a);
    return s >= 0 ? s : 1;              /* overflow: no farther than b */
}

/* Upper and lower bound of one point, in one direction or both. */
MCAMP__PRIV mcamp_interval mcamp__curve_point(const mcamp_answer *a, mcamp_direction d)
{
    mcamp_interval v;
    v.upper = d == MCAMP_REMOVE ? a->remove.upper : d == MCAMP_ADD ? a->add.upper
                                                                   : a->delta_upper;
    v.lower = d == MCAMP_REMOVE ? a->remove.lower : d == MCAMP_ADD ? a->add.lower
                                : mcamp__dmax(a->remove.lower, a->add.lower);
    if (a->status == MCAMP_Q_INTERRUPTED || !(v.upper > 0 && v.upper <= 1)) v.upper = 1;
    if (a->status == MCAMP_Q_INTERRUPTED || !(v.lower > 0)) v.lower = 0;
    return v;
}

/* The line from b's upper through a's lower bound, beyond a; `least` if that is more. */
MCAMP__PRIV double mcamp__curve_line(const mcamp_answer *a, const mcamp_answer *b, double eps,
                                     mcamp_direction d, double least)
{
    double low = mcamp__curve_point(a, d).lower, high = mcamp__curve_point(b, d).upper;
    double y = low + (low - high) * -expm1(eps - a->eps) / expm1(b->eps - a->eps) -
               1e-12 * high;
    return y > least && y <= low + fabs(low - high) ? y : least;
}

MCAMP_API mcamp_interval mcamp_curve_bounds(const mcamp_answer *curve, size_t count,
                                            double eps, mcamp_direction direction)
{
    MCAMP__GUARD;
    mcamp_interval v = { 0, 1 }, p = v, q = v;
    size_t i = 0;
    if (!curve || !(eps >= 0)) return v;
    while (i < count && curve[i].eps <= eps) i++;           /* i - 1 <= eps < i */
    if (i > 0) p = mcamp__curve_point(&curve[i - 1], direction);
    if (i > 0 && mcamp__eq(curve[i - 1].eps, eps)) return p;
    if (i < count) q = mcamp__curve_point(&curve[i], direction);
    v.lower = q.lower;
    v.upper = p.upper;
    if (i > 0 && i < count)
        v.upper = mcamp__dmin(v.upper, p.upper * (1 + 1e-12) + (q.upper - p.upper) *
                              mcamp__curve_share(eps, curve[i - 1].eps, curve[i].eps));
    if (i > 1)
        v.lower = mcamp__curve_line(&curve[i - 1], &curve[i - 2], eps, direction, v.lower);
    if (i + 1 < count)
        v.lower = mcamp__curve_line(&curve[i], &curve[i + 1], eps, direction, v.lower);
    return v;
}

/* The next number of seven digits, or x where that is out of reach: what is proved is
 * then what can be printed.                                                          */
MCAMP__PRIV double mcamp__short_up(double x)
{
    int k = 6 - (int)floor(log10(x));
    double p = 1, y;
    if (k > 22 || k < -8) return x;
    for (int i = 0; i < (k < 0 ? -k : k); i++) p *= 10;     /* exact */
    y = k < 0 ? ceil(x / p) * p : ceil(x * p) / p;
    return y >= x ? y : x;
}

/* ---- certified calibration -------------------------------------------------------- *
 * The ladder is fixed before the first verification sample: sigma_hat, from the
 * calibration stream, times these factors, the most private first; or the one sigma that
 * section exact knows.  It stops at the first rung that is not accepted and returns the
 * one before.  Fixed-sequence testing needs no union bound: a false result needs the first
 * false rung to be accepted.  Before the first rung: unamplified, without samples.       */
MCAMP__PRIV mcamp_status mcamp__certify_ladder(mcamp_ctx *ctx, const mcamp__solve *solve,
                                               const mcamp__found *r, double su,
                                               mcamp_claim *c, const mcamp_gram *gram,
                                               mcamp_guarantee *best)
{
    static const double ladder[] = { 1.08, 1.03, 1.015, 1.008, 1.004, 1.002 };
    int rungs = r->known ? 1 : (int)(sizeof ladder / sizeof *ladder);
    mcamp_guarantee s;
    mcamp__known known;
    mcamp_status st;
    c->rung = 0;
    c->sigma = su;
    mcamp__guarantee_claim(gram, c, best);
    st = mcamp__known_bounds(ctx, solve->f, c, &known);
    if (st >= 0) st = mcamp__verify_claim(ctx, solve->f, c, &known, best);
    mcamp__guarantee_claim(gram, c, &s);
    for (int i = 0; st == MCAMP_OK && i < rungs; i++) {
        c->sigma = mcamp__short_up(r->known ? exp(r->x) : exp(r->x) * ladder[i] + 2 * r->err);
        if (!(c->sigma < su)) continue;
        c->rung = (uint64_t)i + 1;
        st = mcamp__known_bounds(ctx, solve->f, c, &known);
        if (st >= 0) st = mcamp__verify_claim(ctx, solve->f, c, &known, &s);
        s.rungs++;
        if (st == MCAMP_OK) *best = s;
    }
    best->rungs = s.rungs;
    best->samples = s.samples + solve->samples;
    return st;
}

MCAMP_API mcamp_status mcamp_calibrate_certified(mcamp_ctx *ctx, const mcamp_gram *gram,
                                                 const mcamp_claim *claim,
                                                 mcamp_guarantee *out)
{
    MCAMP__GUARD;
    mcamp__factor f;
    mcamp__solve solve;
    mcamp__found r;
    mcamp_budget bud;
    mcamp_claim c;
    mcamp_guarantee best;
    double su = 0;
    mcamp_status st = mcamp__claim_check(ctx, gram, claim, out, 0);
    if (st < 0) return st;
    if (!(gram->max_norm > 0)) return mcamp__fail(ctx, MCAMP_E_ARG, "gram", 0);
    if ((st = mcamp__budget_resolve(ctx, NULL, &bud)) < 0) return st;
    bud.seed = claim->seed; bud.direction = claim->direction;
    if (claim->max_samples) bud.max_samples = claim->max_samples;
    out->accepted = false;              /* whatever happens from here on */
    out->kind = MCAMP_KIND_NONE;
    if ((st = mcamp__factor_init(ctx, gram, &f)) < 0) return st;
    c = *claim;
    c.sigma = 0;
    mcamp__guarantee_claim(gram, &c, &best);
    mcamp__solve_start(&f, &bud, 1, c.eps, c.delta, &solve);
    st = mcamp__solve_sigma(ctx, &solve, gram->max_norm, &su, &r);
    su = mcamp__short_up(su * (1 + 1e-12));     /* the bound has a rounding of its own */
    if (st == MCAMP_OK) st = mcamp__certify_ladder(ctx, &solve, &r, su, &c, gram, &best);
    mcamp__factor_free(ctx, &f);
    if (st < 0) return st;
    if (st == MCAMP_Q_INTERRUPTED) {    /* whatever was accepted before: nothing is claimed */
        best.accepted = best.remove.accepted = best.add.accepted = false;
        best.interrupted = true;
        best.kind = MCAMP_KIND_NONE;
    }
    *out = best;
    if (st == MCAMP_Q_INTERRUPTED) return st;
    if (!best.accepted) return MCAMP_Q_REFUSED;
    return best.sigma < su ? MCAMP_OK : MCAMP_Q_UNAMPLIFIED;
}

/* ---- the easy level ------------------------------------------------------------------ */

/* Rounds and batches from any two of rounds, batches and epochs, the last epoch whole
 * or not; all three must agree.                                                     */
MCAMP__PRIV mcamp_status mcamp__shape(mcamp_ctx *ctx, size_t rounds, size_t batches,
                                      size_t epochs, size_t *n, size_t *b)
{
    if (!rounds + !batches + !epochs > 1)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, !batches ? "batches" : "rounds", 0);
    *n = rounds;
    if (!rounds && !mcamp__mul_size(epochs, batches, n))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "epochs", (double)epochs);
    *b = batches;
    if (!epochs) return MCAMP_OK;
    if (!batches) *b = (*n - 1) / epochs + 1;
    if ((*n - 1) / *b + 1 != epochs)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "epochs", (double)epochs);
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_problem_gram(mcamp_ctx *ctx, const mcamp_problem *problem,
                                          mcamp_gram *gram)
{
    MCAMP__GUARD;
    mcamp_mech_desc d;
    mcamp_mech mech;
    size_t n, batches;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!problem || !gram)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, problem ? "gram" : "problem", 0);
    if (problem->start_canary || problem->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "problem", 0);
    st = mcamp__shape(ctx, problem->rounds, problem->batches, problem->epochs, &n, &batches);
    if (st < 0) return st;
    d = problem->strategy;
    if (!d.kind) d.kind = MCAMP_MECH_IDENTITY;
    if (d.n && d.n != n) return mcamp__fail(ctx, MCAMP_E_SIZE, "n", (double)d.n);
    d.n = n;
    if ((st = mcamp_mech_init(ctx, &d, &mech)) < 0) return st;
    st = mcamp_gram_init(ctx, &mech, batches, gram);
    mcamp_mech_free(ctx, &mech);
    return st;
}

/* Answers the question about the one that is missing of sigma, eps and delta. */
MCAMP__PRIV mcamp_status mcamp__problem_answer(mcamp_ctx *ctx, const mcamp_problem *p,
                                               char missing, mcamp_answer *out)
{
    mcamp_gram g;
    mcamp_status st = mcamp_problem_gram(ctx, p, &g);
    if (st < 0) return st;
    st = missing == 's' ? mcamp_sigma(ctx, &g, p->eps, p->delta, &p->budget, out)
       : missing == 'e' ? mcamp_epsilon(ctx, &g, p->sigma, p->delta, &p->budget, out)
       :                  mcamp_delta(ctx, &g, p->sigma, p->eps, &p->budget, out);
    mcamp_gram_free(ctx, &g);
    return st;
}

MCAMP_API mcamp_status mcamp_problem_delta(mcamp_ctx *ctx, const mcamp_problem *problem,
                                           mcamp_answer *out)
{
    MCAMP__GUARD;
    return mcamp__problem_answer(ctx, problem, 'd', out);
}

MCAMP_API mcamp_status mcamp_problem_epsilon(mcamp_ctx *ctx,
                                             const mcamp_problem *problem,
                                             mcamp_answer *out)
{
    MCAMP__GUARD;
    return mcamp__problem_answer(ctx, problem, 'e', out);
}

MCAMP_API mcamp_status mcamp_problem_sigma(mcamp_ctx *ctx, const mcamp_problem *problem,
                                           mcamp_answer *out)
{
    MCAMP__GUARD;
    return mcamp__problem_answer(ctx, problem, 's', out);
}

/* Certifies (certify != 0) or verifies. */
MCAMP__PRIV mcamp_status mcamp__problem_claim(mcamp_ctx *ctx, const mcamp_problem *p,
                                              int certify, mcamp_guarantee *out)
{
    mcamp_gram g;
    mcamp_claim c;
    mcamp_status st = mcamp_problem_gram(ctx, p, &g);
    if (st < 0) return st;
    memset(&c, 0, sizeof c);
    c.sigma = p->sigma; c.eps = p->eps; c.delta = p->delta;
    c.beta = p->budget.beta > 0 ? p->budget.beta : p->delta;
    if (mcamp__isnan(p->budget.beta) || p->budget.beta < 0) c.beta = p->budget.beta;
    c.seed = p->budget.seed; c.max_samples = p->budget.max_samples;
    c.direction = p->budget.direction;
    st = certify ? mcamp_calibrate_certified(ctx, &g, &c, out)
                 : mcamp_verify(ctx, &g, &c, out);
    mcamp_gram_free(ctx, &g);
    return st;
}

MCAMP_API mcamp_status mcamp_problem_verify(mcamp_ctx *ctx, const mcamp_problem *problem,
                                            mcamp_guarantee *out)
{
    MCAMP__GUARD;
    return mcamp__problem_claim(ctx, problem, 0, out);
}

MCAMP_API mcamp_status mcamp_problem_certify(mcamp_ctx *ctx, const mcamp_problem *problem,
                                             mcamp_guarantee *out)
{
    MCAMP__GUARD;
    return mcamp__problem_claim(ctx, problem, 1, out);
}

/* ======================================================================== *
 *  OPTIMISING C                                                      >>opt
 *  In: a family of C, (eps, delta), workload.  Out: a mcamp_mech of small error.
 *  Objective: log sigma(C) + log error(C), which does not change when C is scaled;
 *  gradients by hand (mathematics, 7 to 9).  Parts: the edge matrix D, which holds
 *  all that the gradient of sigma needs; parameters; the objective; L-BFGS.
 *  Memory: O(b^2 + history * parameters).  Guarantee: none, and none is needed: a
 *  bad C is still accounted for correctly.
 * ======================================================================== */

/* ---- the edge matrix --------------------------------------------------------- *
 * delta = E_{g ~ N(0,a)} F(rho) with F(r) = (r - e^eps)_+ (remove) or (1 - e^eps r)_+
 * (add).  For g ~ N(0,a) and a smooth f, d E f / d a_ij = E (d_i d_j f)/2 (half of
 * that convention's factor for i != j lies in the symmetry).  With L_i = g_i - a_ii/2
 * the terms in F' cancel against those of the shift, and
 *     d delta / d a_ij = E_Q[F''(rho) rho^2 pi_i pi_j] / 2,  pi = softmax(L),
 * so up to a factor D = E_Q[dirac(Y - y0) pi pi'], y0 = eps (remove), -eps (add).
 * sigma solves delta(G/sigma^2) = delta; along that surface <D, dG> = 2 <D, G>
 * d log sigma, so D's factor cancels.
 * The Dirac mass is integrated exactly along the sampler's direction: with X' the
 * rest of X, t ~ N(0,1) the component along it and Y = y0 at t = T(X'),
 *     E_t[dirac(Y - y0) h] = phi(T) h(T) / Y'(T),   Y'(T) = sum_i pi_i c_i > 0:
 * an unbiased estimate of D, without a kernel.  MODE: the same where T lies in the
 * interval on which the drawn mode is the largest.                              */

/* Logs of the weights to w->v, and the matrix rows log pi_i + weight/2 to w->x.
 * ref: subtracted from the weights' logs.                                       */
MCAMP__PRIV void mcamp__edge_tile(mcamp_vecset vs, const mcamp__sampler *p,
                                  mcamp__rng8 *normals, mcamp_rng *r, double ref,
                                  mcamp__scratch *w)
{
    int mode = p->method == MCAMP_METHOD_MODE, add = p->dir == MCAMP_ADD;
    double log_b = log((double)mcamp__zmax(p->active_count, 1));
    size_t b = p->m.b;
    if (mode) {
        mcamp__vec_normals(vs, normals, w->z, b * MCAMP__S);
        mcamp__model_product(vs, &p->m, w->z, w->x);
        mcamp__tile_mode_slopes(vs, p, r, w);
        mcamp__tile_mode_interval(vs, p, w);
        mcamp__tile_mode_start(vs, p, w);
        mcamp__vec_lse_tile(vs, w->x, b, p->off_loss, w->slope, w->t, w->f, w->df);
    } else {
        mcamp__tile(vs, p, normals, r, w);
        mcamp__vec_lse(vs, w->x, b, p->off_loss, p->m.c, w->t, w->f, w->df);
    }
    for (size_t s = 0; s < MCAMP__S; s++) {
        int none = mode && (w->skip[s] > 0 || w->t[s] <= w->v[s]);
        double lw = mode ? log_b : add ? 0 : w->log_z[s] - (double)p->k * w->r[s];
        lw += -0.5 * w->t[s] * w->t[s] - log(w->df[s]) - ref;
        w->v[s] = none ? -mcamp__inf() : lw;
        w->u[s] = none ? -1e4 : 0.5 * lw - w->f[s];
        if (mode) w->skip[s] = 0;
    }
    for (size_t i = 0; i < b; i++)
        for (size_t s = 0; s < MCAMP__S; s++) {
            double c = mode ? w->slope[i * MCAMP__S + s] : p->m.c[i];
            w->x[i * MCAMP__S + s] += p->off_loss[i] + c * w->t[s] + w->u[s];
        }
    mcamp__vec_exp(vs, w->x, b * MCAMP__S);
}

/* Samples are split into this many groups whatever the number of threads, each with
 * a matrix of its own; their sum is taken in order, so its bits do not change.   */
#define MCAMP__EDGE_GROUPS 4

typedef struct mcamp__edge {
    const mcamp__sampler *p;
    mcamp__scratch scratch[MCAMP__EDGE_GROUPS];
    mcamp__buf rows[MCAMP__EDGE_GROUPS], sum[MCAMP__EDGE_GROUPS];
    size_t ld;              /* b rounded up to a multiple of 32 */
    mcamp_vecset vec;
    uint64_t seed, blocks;
    uint32_t purpose;
    double ref;
} mcamp__edge;

/* The upper triangle of d += sum over count rows p[s][ld] of p_s p_s' (ld a multiple
 * of 32; what lies below the diagonal is spoilt).                              */
MCAMP__PRIV void mcamp__vec_outer(mcamp_vecset vs, const double *p, size_t ld,
                                  size_t count, double *d)
{
    MCAMP__DISPATCH(vs, outer, (p, ld, count, d));
}

MCAMP__PRIV void mcamp__edge_task(void *arg, size_t g)
{
    mcamp__edge *e = (mcamp__edge *)arg;
    mcamp__scratch *w = &e->scratch[g];
    double *rows = e->rows[g].p;
    for (uint64_t n = g; n < e->blocks; n += MCAMP__EDGE_GROUPS) {
        mcamp__rng8 normals;
        mcamp_rng r;
        mcamp__rng8_stream(&normals, e->seed, e->purpose, n);
        mcamp_rng_stream(&r, e->seed, e->purpose, n);
        for (size_t k = 0; k < MCAMP_BLOCK / MCAMP__S; k++) {
            mcamp__edge_tile(e->vec, e->p, &normals, &r, e->ref, w);
            for (size_t s = 0; s < MCAMP__S; s++)
                for (size_t i = 0; i < e->p->m.b; i++)
                    rows[s * e->ld + i] = w->x[i * MCAMP__S + s];
            mcamp__vec_outer(e->vec, rows, e->ld, MCAMP__S, e->sum[g].p);
        }
    }
}

MCAMP__PRIV void mcamp__edge_free(mcamp_ctx *ctx, mcamp__edge *e)
{
    for (size_t g = 0; g < MCAMP__EDGE_GROUPS; g++) {
        mcamp__scratch_free(ctx, &e->scratch[g]);
        mcamp__buf_free(ctx, &e->rows[g]);
        mcamp__buf_free(ctx, &e->sum[g]);
    }
}

MCAMP__PRIV mcamp_status mcamp__edge_init(mcamp_ctx *ctx, const mcamp__sampler *p,
                                          mcamp__edge *e)
{
    mcamp_status st = MCAMP_OK;
    memset(e, 0, sizeof *e);
    e->p = p;
    e->ld = (p->m.b + 31) / 32 * 32;
    e->vec = ctx->vec;
    for (size_t g = 0; st >= 0 && g < MCAMP__EDGE_GROUPS; g++) {
        st = mcamp__scratch_init(ctx, p, &e->scratch[g]);
        if (st >= 0) st = mcamp__buf_new(ctx, MCAMP__S * e->ld, &e->rows[g]);
        if (st >= 0) st = mcamp__buf_new(ctx, e->ld * e->ld, &e->sum[g]);
        if (st < 0) break;
        memset(e->rows[g].p, 0, MCAMP__S * e->ld * sizeof(double));
        memset(e->sum[g].p, 0, e->ld * e->ld * sizeof(double));
    }
    if (st < 0) mcamp__edge_free(ctx, e);
    return st;
}

/* d := the groups' sum, scaled to <d, G> = 1.  MCAMP_E_SAMPLE if it is not finite or
 * no sample met the edge.                                                        */
MCAMP__PRIV mcamp_status mcamp__edge_finish(mcamp_ctx *ctx, const mcamp__edge *e,
                                            const mcamp__factor *f, double *d)
{
    mcamp__sum total = { 0, 0 };
    size_t b = f->b;
    double scale;
    for (size_t i = 0; i < b; i++)
        for (size_t j = i; j < b; j++) {
            double v = 0, g = f->diagonal ? (i == j ? f->g[i] : 0.0) : f->g[i * b + j];
            for (size_t k = 0; k < MCAMP__EDGE_GROUPS; k++)
                v += e->sum[k].p[i * e->ld + j];
            d[i * b + j] = d[j * b + i] = v;
            mcamp__sum_add(&total, (i == j ? 1 : 2) * v * g);
        }
    scale = 1 / mcamp__sum_get(&total);
    if (!(scale > 0) || !mcamp__finite(scale))
        return mcamp__fail(ctx, MCAMP_E_SAMPLE, "sample", scale);
    for (size_t i = 0; i < b * b; i++) d[i] *= scale;
    return MCAMP_OK;
}

/* D at one question.  k, method: those of estimates, replaced where they have no
 * exact direction.  ref: about log delta; it only keeps the sums in range.       */
MCAMP__PRIV mcamp_status mcamp__edge_matrix(mcamp_ctx *ctx, const mcamp__question *q,
                                            const mcamp__choice *choice, uint64_t blocks,
                                            double ref, double *d)
{
    mcamp__choice c = *choice;
    mcamp__sampler p;
    mcamp__edge e;
    mcamp_status st;
    if (q->dir == MCAMP_ADD || !q->f->diagonal) {
        if (c.method != MCAMP_METHOD_MODE) c.method = MCAMP_METHOD_COMMON;
    } else {
        c.method = MCAMP_METHOD_MODE;
    }
    if (c.method == MCAMP_METHOD_MODE) { c.k = 0; c.log_scale = 0; }
    st = mcamp__question_sampler(ctx, q, &c, &p);
    if (st < 0) return st;
    st = mcamp__edge_init(ctx, &p, &e);
    if (st >= 0) {
        e.seed = q->seed; e.blocks = blocks; e.ref = ref;
        e.purpose = MCAMP__PURPOSE(MCAMP__STREAM_GRADIENT, 0, q->dir);
        mcamp__run(ctx, MCAMP__EDGE_GROUPS, mcamp__edge_task, &e);
        st = mcamp__edge_finish(ctx, &e, q->f, d);
        mcamp__edge_free(ctx, &e);
    }
    mcamp__sampler_free(ctx, &p);
    return st;
}

/* ---- log sigma of a Gram matrix, and D --------------------------------------- */

/* Keeps the laws, orders and random numbers of the samples from one C to the next,
 * so that log sigma is nearly smooth in C; chosen anew when `chosen` is cleared.   */
typedef struct mcamp__opt_noise {
    double eps, delta;
    mcamp_budget bud;
    mcamp__solve s;
    int chosen, solved;
    double log_sigma, slope;    /* at the last call; d log delta / d log sigma      */
    double seen[3];             /* log delta of each direction there                */
    uint64_t samples;
} mcamp__opt_noise;

/* Laws and sizes at the last root; at first, sigma coarsely. */
MCAMP__PRIV mcamp_status mcamp__noise_choose(mcamp_ctx *ctx, mcamp__opt_noise *o,
                                             const mcamp__factor *f, double norm)
{
    mcamp__solve s;
    mcamp__found r;
    double su = 0;
    mcamp_status st = MCAMP_OK;
    if (!o->solved) {
        mcamp__solve_start(f, &o->bud, 1, o->eps, o->delta, &s);
        st = mcamp__solve_sigma(ctx, &s, norm, &su, &r);
        o->samples += s.samples;
        if (st < 0) return st;
        o->log_sigma = r.x;
        o->slope = 0;
        o->solved = 1;
    }
    memset(o->s.choice, 0, sizeof o->s.choice);
    st = mcamp__solve_choose(ctx, &o->s, o->log_sigma);
    o->chosen = st >= 0;
    return st;
}

/* log delta at x and the direction that it belongs to, at fixed laws and numbers. */
MCAMP__PRIV mcamp_status mcamp__noise_delta(mcamp_ctx *ctx, mcamp__opt_noise *o, double x,
                                            double *log_delta, int *dir)
{
    mcamp_status st = MCAMP_OK;
    *log_delta = -mcamp__inf();
    for (int d = MCAMP_REMOVE; st >= 0 && d <= MCAMP_ADD; d++) {
        mcamp__question q = mcamp__solve_question(&o->s, x, d);
        double v = 0;
        o->seen[d] = -mcamp__inf();
        if (!o->s.choice[d].method) continue;
        st = mcamp__solve_run(ctx, &o->s, &q, &o->s.choice[d], 8, o->s.blocks[d], &v);
        o->seen[d] = v;
        if (st < 0 || !(v > *log_delta)) continue;
        *log_delta = v;
        *dir = d;
    }
    return st;
}

/* The root of log delta(x) = target by secant steps from the last root: where the
 * residual is small a last step by the slope finishes.                             */
MCAMP__PRIV mcamp_status mcamp__noise_root(mcamp_ctx *ctx, mcamp__opt_noise *o,
                                           double *value, int *dir)
{
    double x = o->log_sigma, x0 = 0, f0 = 0, f = 0, slope = o->slope;
    for (int i = 0; i < 10; i++) {
        mcamp_status st = mcamp__noise_delta(ctx, o, x, &f, dir);
        if (st < 0) return st;
        f -= o->s.log_delta;
        if (!mcamp__finite(f)) return mcamp__fail(ctx, MCAMP_E_SAMPLE, "sample", f);
        if (i && fabs(x - x0) > 1e-5) {
            double sl = (f - f0) / (x - x0);
            if (sl < -0.5) slope = sl;
        }
        x0 = x; f0 = f;
        if (!(slope < 0)) { x += f > 0 ? 0.01 : -0.01; continue; }
        x -= mcamp__dmin(mcamp__dmax(f / slope, -0.5), 0.5);
        if (fabs(f) <= 3e-3) break;
    }
    if (!(fabs(f) <= 0.1)) return mcamp__fail(ctx, MCAMP_E_SAMPLE, "sigma", f);
    o->log_sigma = *value = x;
    o->slope = slope;
    return MCAMP_OK;
}

/* D of one direction at the root, from a share of the samples that its value takes. */
MCAMP__PRIV mcamp_status mcamp__noise_edge(mcamp_ctx *ctx, mcamp__opt_noise *o, double x,
                                           int dir, uint64_t parts, double *d)
{
    mcamp__question q = mcamp__solve_question(&o->s, x, dir);
    return mcamp__edge_matrix(ctx, &q, &o->s.choice[dir],
                              (o->s.blocks[dir] + parts - 1) / parts, o->s.log_delta, d);
}

/* D of the direction that binds.  Where the two are closer than their sampling errors no
 * one knows which does: then a mean of both, weighted smoothly, so that it does not jump
 * from step to step.                                                                */
MCAMP__PRIV mcamp_status mcamp__noise_binding(mcamp_ctx *ctx, mcamp__opt_noise *o, double x,
                                              int dir, double *d)
{
    const double width = 0.05;
    int other = MCAMP_REMOVE + MCAMP_ADD - dir;
    double gap = o->seen[dir] - o->seen[other], w, *e;
    size_t count = o->s.f->b * o->s.f->b;
    mcamp_status st;
    if (!(gap < width)) return mcamp__noise_edge(ctx, o, x, dir, 1, d);
    e = mcamp__new_doubles(ctx, count);
    if (!e) return mcamp__fail(ctx, MCAMP_E_MEMORY, "d", (double)count);
    w = 0.5 * (1 - gap / width);
    st = mcamp__noise_edge(ctx, o, x, dir, 2, d);
    if (st >= 0) st = mcamp__noise_edge(ctx, o, x, other, 2, e);
    for (size_t i = 0; st >= 0 && i < count; i++) d[i] += w * (e[i] - d[i]);
    mcamp__delete_doubles(ctx, e, count);
    return st;
}

MCAMP__PRIV mcamp_status mcamp__noise_solve(mcamp_ctx *ctx, mcamp__opt_noise *o,
                                            const mcamp__factor *f, double norm,
                                            double *value, double *d)
{
    int dir = MCAMP_REMOVE;
    mcamp_status st = MCAMP_OK;
    o->s.f = f; o->s.bud = &o->bud; o->s.by_sigma = 1;
    o->s.eps = o->eps; o->s.log_delta = log(o->delta);
    while (st >= 0) {
        int first = !o->chosen, short_cut = first && o->solved;
        double keep = o->slope;
        if (first) st = mcamp__noise_choose(ctx, o, f, norm);
        if (st >= 0) st = mcamp__noise_root(ctx, o, value, &dir);
        if (st != MCAMP_E_SAMPLE || !short_cut) break;
        o->chosen = o->solved = 0;      /* the last root misled the choice */
        o->slope = keep;
        st = MCAMP_OK;
    }
    return st < 0 || !d ? st : mcamp__noise_binding(ctx, o, *value, dir, d);
}

/* log sigma at the noise's (eps, delta), and D (b*b, <D, G> = 1) unless d is NULL. */
MCAMP__PRIV mcamp_status mcamp__noise_eval(mcamp_ctx *ctx, mcamp__opt_noise *o,
                                           const mcamp_gram *gram, double *value, double *d)
{
    mcamp__factor f;
    double sigma;
    mcamp_status st;
    if (!(gram->max_norm > 0)) return mcamp__fail(ctx, MCAMP_E_SAMPLE, "gram", 0);
    if (gram->b == 1) {
        st = mcamp_gauss_sigma(ctx, gram->max_norm, o->eps, o->delta, &sigma);
        if (st < 0) return st;
        *value = log(sigma);
        if (d) d[0] = 1 / gram->g[0];
        return MCAMP_OK;
    }
    if ((st = mcamp__factor_init(ctx, gram, &f)) < 0) return st;
    o->s.t = (mcamp_tally *)mcamp__new(ctx, 1, sizeof *o->s.t);
    st = o->s.t ? mcamp__noise_solve(ctx, o, &f, gram->max_norm, value, d)
                : mcamp__fail(ctx, MCAMP_E_MEMORY, "tally", 0);
    mcamp__delete(ctx, o->s.t, 1, sizeof *o->s.t);
    o->s.t = NULL;
    o->samples += o->s.samples;
    o->s.samples = 0;
    mcamp__factor_free(ctx, &f);
    return st;
}

/* ---- parameters --------------------------------------------------------------- *
 * Free reals x -> C.  Everything positive is an exponential; decays are
 * theta_j = 1/(1 + e^{-u_j}), u_1 free and u_{j+1} = u_j - e^{x_{j+1}}, so that they
 * stay in (0, 1), distinct and in order.  C_00 = 1 for Toeplitz forms (the objective
 * does not see a common factor), and the polynomial log s has no constant term.     */

#define MCAMP__SCALE_DEGREE_MAX 16

typedef struct mcamp__opt_model {
    mcamp_opt_family family;
    size_t n, bands, buffers, degree;
    int scaled, free_scale;
    int any_sign;               /* BLT: weights themselves, C >= 0 being checked; else
                                   their logarithms                                 */
    size_t classes, period;     /* BANDED by X: its diagonal sums to 1 over j, j + classes,
                                   ..; X_jk = 0 for j = k mod period; 0 = by C's logs */
    size_t shape, count;        /* parameters of the shape, of shape and factors    */
    size_t entries;             /* in coef                                          */
    double *block;              /* all arrays below                                 */
    size_t total;
    double *coef, *theta, *omega, *scale;       /* of the current C                 */
    double *g_coef, *g_theta, *g_omega, *g_scale;   /* one side's gradient          */
    double *norms, *dots;       /* by X: the classes' norms before; sums of <g, X>  */
} mcamp__opt_model;

MCAMP__PRIV void mcamp__opt_model_free(mcamp_ctx *ctx, mcamp__opt_model *m)
{
    mcamp__delete_doubles(ctx, m->block, m->total);
    memset(m, 0, sizeof *m);
}

/* One block for all arrays. */
MCAMP__PRIV mcamp_status mcamp__opt_model_memory(mcamp_ctx *ctx, mcamp__opt_model *m)
{
    size_t n = m->n, nb = m->buffers, e = m->entries, vectors;
    if (!mcamp__mul_size(e, 2, &m->total) || !mcamp__mul_size(n, 4, &vectors) ||
        !mcamp__add_size(m->total, vectors, &m->total) ||
        !mcamp__add_size(m->total, 4 * nb, &m->total))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "rounds", (double)n);
    m->block = mcamp__new_doubles(ctx, m->total);
    if (!m->block) return mcamp__fail(ctx, MCAMP_E_MEMORY, "rounds", (double)n);
    m->coef = m->block;             m->g_coef = m->coef + e;
    m->theta = m->g_coef + e;       m->omega = m->theta + nb;
    m->g_theta = m->omega + nb;     m->g_omega = m->g_theta + nb;
    m->scale = m->g_omega + nb;     m->g_scale = m->scale + n;
    m->norms = m->g_scale + n;      m->dots = m->norms + n;
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__opt_model_init(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                               mcamp__opt_model *m)
{
    size_t n = d->rounds;
    memset(m, 0, sizeof *m);
    m->family = d->family;
    m->n = n;
    m->bands = d->bands ? d->bands : n;
    m->buffers = d->family == MCAMP_OPT_BLT ? d->buffers : 0;
    m->free_scale = d->scale_free;
    m->any_sign = d->family == MCAMP_OPT_BLT && d->amplification == MCAMP_AMPLIFY_NONE;
    m->scaled = d->scale_free || d->scale_degree;
    m->degree = d->scale_free ? n : d->scale_degree;
    if (d->family == MCAMP_OPT_TOEPLITZ) m->entries = m->bands;
    if (d->family == MCAMP_OPT_BANDED) {
        if (!mcamp__rows_count(n, m->bands, &m->entries))
            return mcamp__fail(ctx, MCAMP_E_SIZE, "rounds", (double)n);
        m->period = d->batches;
        if (d->amplification != MCAMP_AMPLIFY_BINS)
            m->classes = d->equal_norms || d->amplification == MCAMP_AMPLIFY_POISSON
                       ? n : d->batches;
    }
    m->shape = d->family == MCAMP_OPT_TOEPLITZ ? m->bands - 1
             : d->family == MCAMP_OPT_BANDED ? m->entries : 2 * m->buffers;
    for (size_t k = m->period; m->classes && k < m->bands; k += m->period)
        m->shape -= n - k;      /* what is 0 by the pattern */
    m->count = m->shape + (m->scaled ? m->degree : 0);
    return mcamp__opt_model_memory(ctx, m);
}

/* out[degree] = Legendre polynomials of orders 1 .. degree at u in [-1, 1]. */
MCAMP__PRIV void mcamp__legendre(double u, size_t degree, double *out)
{
    double p0 = 1, p1 = u;
    for (size_t k = 1; k <= degree; k++) {
        double kk = (double)k, p2 = ((2 * kk + 1) * u * p1 - kk * p0) / (kk + 1);
        out[k - 1] = p1;
        p0 = p1;
        p1 = p2;
    }
}

MCAMP__PRIV double mcamp__opt_place(const mcamp__opt_model *m, size_t t)
{
    return m->n > 1 ? 2 * (double)t / (double)(m->n - 1) - 1 : 0.0;
}

MCAMP__PRIV void mcamp__opt_set_scale(mcamp__opt_model *m, const double *x)
{
    double basis[MCAMP__SCALE_DEGREE_MAX];
    for (size_t t = 0; t < m->n; t++) {
        double l = 0;
        if (m->free_scale) {
            l = x[t];
        } else {
            mcamp__legendre(mcamp__opt_place(m, t), m->degree, basis);
            for (size_t k = 0; k < m->degree; k++) l += x[k] * basis[k];
        }
        m->scale[t] = exp(l);
    }
}

/* The first entry of row i of a packed band matrix, and the column it belongs to. */
MCAMP__PRIV size_t mcamp__band_row(size_t i, size_t bands, size_t *first)
{
    *first = i + 1 > bands ? i + 1 - bands : 0;
    return i < bands ? i * (i + 1) / 2 : bands * (bands - 1) / 2 + (i + 1 - bands) * bands;
}

/* C by X = C^T C.
 * BANDED without bins.  With P = A C^-1 the error is sum_i w_i |row i of P|^2 =
 * tr(A' w A X^-1), convex in X.  Where the columns that an example uses are orthogonal, X_jk =
 * 0 for j = k mod `period`, its contributions of any direction add up to at most the root
 * of the sum of its X_jj, whatever C's signs; with at most `period` bands that is so of
 * itself.  So: the smallest error over the X > 0 of this pattern whose diagonal sums to 1
 * in every class j mod `classes`; that holds by scaling, X_jk = y_jk/(|y|_j |y|_k), the
 * free entries y being the parameters.  A smaller family of the pattern has the
 * same parameters, some of them 0, and what is found is the optimum (see the bound).   */

MCAMP__PRIV int mcamp__orth_free(const mcamp__opt_model *m, size_t j, size_t k)
{
    return j == k || j - k < m->period || (j - k) % m->period;
}

/* coef := X(y), packed rows with zeros where y has none.  0 if a y_jj is not positive. */
MCAMP__PRIV int mcamp__orth_set(mcamp__opt_model *m, const double *y)
{
    size_t at = 0, j, bad = 0;
    for (size_t k = 0; k < m->classes; k++) m->norms[k] = 0;
    for (size_t i = 0; i < m->n; i++)
        for (size_t e = mcamp__band_row(i, m->bands, &j); j <= i; j++, e++)
            m->coef[e] = mcamp__orth_free(m, i, j) ? y[at++] : 0.0;
    for (size_t i = 0; i < m->n; i++) {
        double d = m->coef[mcamp__band_row(i + 1, m->bands, &j) - 1];
        bad += !(d > 0);
        m->norms[i % m->classes] += d;
    }
    for (size_t k = 0; k < m->classes; k++) m->norms[k] = sqrt(m->norms[k]);
    for (size_t i = 0; i < m->n; i++)
        for (size_t e = mcamp__band_row(i, m->bands, &j); j <= i; j++, e++)
            m->coef[e] /= m->norms[i % m->classes] * m->norms[j % m->classes];
    return !bad;
}

/* g[count] += factor * d/dy, the model's g_coef being d/dX_jk of the lower triangle, each
 * of a pair: with D = diag(1/|y|), X = D Y D, dX = D dY D + the change of D.        */
MCAMP__PRIV void mcamp__orth_chain(mcamp__opt_model *m, double factor, double *g)
{
    size_t at = 0, j;
    for (size_t k = 0; k < m->classes; k++) m->dots[k] = 0;
    for (size_t i = 0; i < m->n; i++)
        for (size_t e = mcamp__band_row(i, m->bands, &j); j <= i; j++, e++) {
            double v = m->g_coef[e] * m->coef[e];
            m->dots[i % m->classes] += v;
            if (i != j) m->dots[j % m->classes] += v;
        }
    for (size_t i = 0; i < m->n; i++)
        for (size_t e = mcamp__band_row(i, m->bands, &j); j <= i; j++, e++) {
            size_t p = i % m->classes, q = j % m->classes;
            double v = (i == j ? 1 : 2) * m->g_coef[e];
            if (!mcamp__orth_free(m, i, j)) continue;
            if (i == j) v -= m->dots[p];
            g[at++] += factor * v / (m->norms[p] * m->norms[q]);
        }
}

/* X -> C in place, packed rows, the last row first: what it takes of X_jk is C_ij C_ik.
 * 0 if X is not positive definite.                                                  */
MCAMP__PRIV int mcamp__orth_factor(const mcamp__opt_model *m, double *x)
{
    for (size_t i = m->n; i-- > 0; ) {
        size_t j, at = mcamp__band_row(i, m->bands, &j), first;
        double *row = x + at - j, d = row[i];
        if (!(d > 0) || !mcamp__finite(d)) return 0;
        for (size_t k = j; k <= i; k++) row[k] /= sqrt(d);
        for (size_t k = j; k < i; k++) {
            at = mcamp__band_row(k, m->bands, &first);
            mcamp__axpy(-row[k], row + j, x + at + j - first, k + 1 - j);
        }
    }
    return 1;
}

/* x -> the values of C. */
MCAMP__PRIV void mcamp__opt_set(mcamp__opt_model *m, const double *x)
{
    double u = 0;
    if (m->family == MCAMP_OPT_TOEPLITZ) {
        m->coef[0] = 1;
        for (size_t k = 1; k < m->bands; k++) m->coef[k] = exp(x[k - 1]);
    }
    if (m->classes) {
        mcamp__orth_set(m, x);
        mcamp__orth_factor(m, m->coef);
    } else if (m->family == MCAMP_OPT_BANDED) {
        for (size_t i = 0; i < m->entries; i++) m->coef[i] = exp(x[i]);
    }
    for (size_t j = 0; j < m->buffers; j++) {
        u = j ? u - exp(x[j]) : x[0];
        m->theta[j] = 1 / (1 + exp(-u));
        m->omega[j] = m->any_sign ? x[m->buffers + j] : exp(x[m->buffers + j]);
    }
    if (m->scaled) mcamp__opt_set_scale(m, x + m->shape);
}

/* The strategy of the values.  A value out of range makes the trial infeasible. */
MCAMP__PRIV mcamp_status mcamp__opt_mech(mcamp_ctx *ctx, const mcamp__opt_model *m,
                                         mcamp_mech *mech)
{
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.n = m->n;
    d.kind = m->family == MCAMP_OPT_TOEPLITZ ? MCAMP_MECH_TOEPLITZ
           : m->family == MCAMP_OPT_BLT ? MCAMP_MECH_BLT
           : m->family == MCAMP_OPT_BANDED ? MCAMP_MECH_BANDED : MCAMP_MECH_IDENTITY;
    if (m->entries) { d.coef = m->coef; d.count = m->entries; }
    if (m->family == MCAMP_OPT_BANDED) d.bands = m->bands;
    if (m->buffers) { d.theta = m->theta; d.omega = m->omega; d.buffers = m->buffers; }
    if (m->scaled) d.scale = m->scale;
    return mcamp_mech_init(ctx, &d, mech);
}

/* g[count] += factor * d/dx from d/d(values) in the model's arrays. */
MCAMP__PRIV void mcamp__opt_chain_scale(const mcamp__opt_model *m, double factor, double *g)
{
    double basis[MCAMP__SCALE_DEGREE_MAX];
    for (size_t t = 0; t < m->n; t++) {
        if (m->free_scale) { g[t] += factor * m->g_scale[t]; continue; }
        mcamp__legendre(mcamp__opt_place(m, t), m->degree, basis);
        for (size_t k = 0; k < m->degree; k++) g[k] += factor * m->g_scale[t] * basis[k];
    }
}

MCAMP__PRIV void mcamp__opt_chain(mcamp__opt_model *m, const double *x, double factor,
                                  double *g)
{
    size_t nb = m->buffers;
    double tail = 0;
    if (m->family == MCAMP_OPT_TOEPLITZ)
        for (size_t k = 1; k < m->bands; k++) g[k - 1] += factor * m->g_coef[k] * m->coef[k];
    for (size_t i = 0; m->family == MCAMP_OPT_BANDED && i < m->entries; i++)
        g[i] += factor * m->coef[i] * m->g_coef[i];
    for (size_t j = nb; j-- > 0; ) {    /* u_i moves with x_j for all i >= j */
        tail += m->g_theta[j] * m->theta[j] * (1 - m->theta[j]);
        g[j] += factor * (j ? -tail * exp(x[j]) : tail);
        g[nb + j] += factor * m->g_omega[j] * (m->any_sign ? 1 : m->omega[j]);
    }
    if (m->scaled) mcamp__opt_chain_scale(m, factor, g + m->shape);
}

MCAMP__PRIV mcamp__mech_grad mcamp__opt_grad_arrays(mcamp__opt_model *m)
{
    mcamp__mech_grad g;
    memset(&g, 0, sizeof g);
    if (m->entries) g.coef = m->g_coef;
    if (m->buffers) { g.theta = m->g_theta; g.omega = m->g_omega; }
    if (m->scaled) g.log_scale = m->g_scale;
    return g;
}

/* ---- starting points ------------------------------------------------------------- */

/* c_k = (pi k)^(-1/2) = (1/pi) int e^{v/2} e^{-k e^v} dv, the square root's coefficients,
 * cut into intervals of log time up to T: decays 1 - 1/t_j, weights (1/pi) t_j^(-1/2)
 * times the interval's length.                                                      */
MCAMP__PRIV void mcamp__opt_start_blt(mcamp__opt_model *m, double T, double *x)
{
    size_t nb = m->buffers;
    double len = log(T) / (double)nb, last = 0;
    for (size_t j = 0; j < nb; j++) {
        double v = ((double)(nb - j) - 0.5) * len, u = v + log1p(-exp(-v));
        if (!(u > -3)) u = -3;          /* logit of 1 - e^-v is log(e^v - 1) */
        x[j] = j ? log(mcamp__dmax(last - u, 1e-3)) : u;
        x[nb + j] = log(len / MCAMP__PI) - 0.5 * v;
        if (m->any_sign) x[nb + j] = exp(x[nb + j]);
        last = j ? last - exp(x[j]) : u;
    }
}

/* A smaller BLT with buffers split in two, those with the largest sums omega/(1 - theta)
 * first: decays a little apart, half the weight each, nearly the same C.            */
MCAMP__PRIV void mcamp__opt_start_grown(const mcamp__opt_model *m, const mcamp_mech *from,
                                        double *x)
{
    double u[MCAMP_MAX_BUFFERS], w[MCAMP_MAX_BUFFERS];
    size_t count = from->buffers;
    for (size_t j = 0; j < count; j++) {
        u[j] = log(from->theta[j]) - log1p(-from->theta[j]);
        w[j] = from->omega[j] / from->diag;
    }
    for (; count < m->buffers; count++) {
        size_t big = 0;
        double h = 0.03;
        for (size_t j = 1; j < count; j++)      /* 1/(1 - theta) = 1 + e^u */
            if (w[j] * (1 + exp(u[j])) > w[big] * (1 + exp(u[big]))) big = j;
        if (big) h = mcamp__dmin(h, (u[big - 1] - u[big]) / 4);
        if (big + 1 < count) h = mcamp__dmin(h, (u[big] - u[big + 1]) / 4);
        for (size_t j = count; j > big + 1; j--) { u[j] = u[j - 1]; w[j] = w[j - 1]; }
        u[big + 1] = u[big] - h;
        u[big] += h;
        w[big] = w[big + 1] = w[big] / 2;
    }
    for (size_t j = 0; j < count; j++) {
        x[j] = j ? log(mcamp__dmax(u[j - 1] - u[j], 1e-6)) : u[0];
        x[count + j] = m->any_sign ? w[j] : log(w[j]);
    }
}

/* Least logarithm that a starting coefficient gets. */
#define MCAMP__START_FLOOR 1e-9

MCAMP__PRIV mcamp_status mcamp__opt_start_scale(const mcamp__opt_model *m,
                                                const mcamp_mech *from, double *x)
{
    double basis[MCAMP__SCALE_DEGREE_MAX];
    for (size_t k = 0; k < m->degree; k++) x[k] = 0;
    if (!from->scale) return MCAMP_OK;
    for (size_t t = 0; t < m->n; t++) {
        double l = log(from->scale[t]);
        if (m->free_scale) { x[t] = l; continue; }
        mcamp__legendre(mcamp__opt_place(m, t), m->degree, basis);
        for (size_t k = 0; k < m->degree; k++)  /* the basis is nearly orthogonal on t */
            x[k] += l * basis[k] * (2 * (double)k + 3) / (double)m->n;
    }
    return MCAMP_OK;
}

/* A Toeplitz form's coefficients, relative to the first. */
MCAMP__PRIV mcamp_status mcamp__opt_start_toeplitz(mcamp_ctx *ctx, mcamp__opt_model *m,
                                                   const mcamp_mech *from, double *x)
{
    if (from->form == MCAMP_FORM_ROWS) return mcamp__fail(ctx, MCAMP_E_ARG, "start", 0);
    mcamp__mech_coefs(from, 0, m->bands, m->g_coef);
    for (size_t k = 1; k < m->bands; k++)
        x[k - 1] = log(mcamp__dmax(m->g_coef[k] / m->g_coef[0], MCAMP__START_FLOOR));
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__opt_start_rows(mcamp_ctx *ctx, mcamp__opt_model *m,
                                               const mcamp_mech *from, double *x)
{
    mcamp_status st = MCAMP_OK;
    for (size_t j = 0; st >= 0 && j < m->n; j++) {
        st = mcamp_mech_column(ctx, from, j, m->norms);
        for (size_t i = j; st >= 0 && i < m->n && i < j + m->bands; i++) {
            size_t first, at = mcamp__band_row(i, m->bands, &first);
            x[at + j - first] = log(mcamp__dmax(m->norms[i], MCAMP__START_FLOOR));
        }
    }
    return st;
}

/* x of a given strategy. */
MCAMP__PRIV mcamp_status mcamp__opt_start_from(mcamp_ctx *ctx, mcamp__opt_model *m,
                                               const mcamp_mech *from, double *x)
{
    mcamp_status st = MCAMP_OK;
    size_t nb = m->buffers, given = nb && from->buffers == nb ? nb : 0;
    double last = 0;
    if (m->family == MCAMP_OPT_TOEPLITZ) st = mcamp__opt_start_toeplitz(ctx, m, from, x);
    if (m->family == MCAMP_OPT_BANDED) st = mcamp__opt_start_rows(ctx, m, from, x);
    if (nb && !given && (!from->buffers || from->buffers > nb))
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "start", (double)from->buffers);
    for (size_t j = 0; j < from->buffers && nb; j++) {
        double th = from->theta[j], u, w = from->omega[j] / from->diag;
        if (!(th > 0 && th < 1 && (m->any_sign || w > 0)) ||
            (j && !(th < from->theta[j - 1])))
            return mcamp__fail(ctx, MCAMP_E_ARG, "start", th);
        if (!given) continue;
        u = log(th) - log1p(-th);
        x[j] = j ? log(last - u) : u;
        x[nb + j] = m->any_sign ? w : log(w);
        last = u;
    }
    if (nb && !given) mcamp__opt_start_grown(m, from, x);
    if (st >= 0 && m->scaled) st = mcamp__opt_start_scale(m, from, x + m->shape);
    return st;
}

/* ---- the objective ---------------------------------------------------------------- */

/* Room for the two ways to the error and its gradient; q > 0: few bands. */
typedef struct mcamp__orth {
    double *block;              /* all below                                         */
    size_t total, q;
    double *l, *t, *p, *v, *work;       /* dense: n*n three times, n, Cholesky's     */
    double *move, *z, *zmove, *un;      /* few bands, with l and v                   */
} mcamp__orth;

typedef struct mcamp__opt {
    mcamp_ctx inner;            /* without progress: only steps report              */
    const mcamp_opt_desc *desc;
    const mcamp_work *work;
    mcamp__opt_model m;
    mcamp__opt_noise noise;
    mcamp__orth orth;
    double *d;                  /* BINS, or gram side of NONE: b*b                   */
    size_t d_count;
    double *rows, *weights;     /* MAX error; columns of NONE                        */
    double power;               /* of the norms that stand for a maximum             */
    size_t every;               /* rounds between two uses of an example             */
    size_t evaluations;
} mcamp__opt;

/* Toeplitz C with entries >= 0 and no factors: mode 0 is the largest, the others being
 * shorter copies.  value := log |m_0|; m->g arrays := d value.                        */
MCAMP__PRIV mcamp_status mcamp__opt_first_mode(mcamp__opt *o, const mcamp_mech *mech,
                                               double *value)
{
    size_t n = o->m.n, b = o->every;
    mcamp__mech_grad g = mcamp__opt_grad_arrays(&o->m);
    double square = 0, *c = o->rows, *mode = o->weights;
    for (size_t k = 0; k < n; k++) c[k] = k ? 0.0 : 1.0;
    if (o->m.family != MCAMP_OPT_IDENTITY) mcamp__mech_coefs(mech, 0, n, c);
    for (size_t t = 0; t < n; t++) {
        mode[t] = c[t] + (t >= b ? mode[t - b] : 0.0);
        square += mode[t] * mode[t];
    }
    if (!(square > 0) || !mcamp__finite(square))
        return mcamp__fail(&o->inner, MCAMP_E_NONFINITE, "mech", square);
    *value = 0.5 * log(square);
    for (size_t k = n; k-- > 0; )       /* d/dc_k = sum_j m_0[k + bj] / |m_0|^2 */
        mode[k] = mode[k] + (k + b < n ? mode[k + b] : 0.0);
    for (size_t k = 0; k < n; k++) mode[k] /= square;
    if (o->m.family != MCAMP_OPT_IDENTITY) mcamp__grad_from_coefs(mech, mode, &g);
    return MCAMP_OK;
}

/* ---- the error by X ---------------------------------------------------------------- */

/* With B = A^-1, lower triangular with three bands: B_{i, i-s}. */
MCAMP__PRIV double mcamp__orth_unwork(const mcamp_work *w, size_t i, size_t s)
{
    double b = w->beta, now = w->lr ? 1 / w->lr[i] : 1, past = w->lr && i ? 1 / w->lr[i - 1] : 1;
    if (s > i) return 0;
    if (w->kind == MCAMP_WORK_EMA) return s > 1 ? 0 : (s ? -b : 1.0) / (1 - b);
    return s == 0 ? now : s == 1 ? -now - b * past : b * past;
}

/* Terms of O(n^3) and O(n q^2) at the speed that each has. */
MCAMP__PRIV mcamp_status mcamp__orth_init(mcamp__opt *o, int dense)
{
    mcamp__orth *t = &o->orth;
    const mcamp_work *w = o->work;
    size_t n = o->m.n, q = o->m.bands + 2, nn, nq, extra;
    memset(t, 0, sizeof *t);
    if (!dense && w->kind != MCAMP_WORK_TOEPLITZ && w->kind != MCAMP_WORK_DENSE && q <= n / 8)
        t->q = q;
    if (!mcamp__mul_size(n, n, &nn) || !mcamp__mul_size(n, 6 * q + 3, &nq) ||
        !mcamp__mul_size(MCAMP__S + 4, n + MCAMP__S, &extra) ||
        !mcamp__mul_size(nn, 3, &nn) || !mcamp__add_size(nn, extra, &nn))
        return mcamp__fail(&o->inner, MCAMP_E_SIZE, "rounds", (double)n);
    t->total = t->q ? nq + 3 * q : nn;
    t->block = mcamp__new_doubles(&o->inner, t->total);
    if (!t->block) return mcamp__fail(&o->inner, MCAMP_E_MEMORY, "rounds", (double)n);
    t->l = t->block;
    if (!t->q) {
        t->t = t->l + n * n; t->p = t->t + n * n; t->v = t->p + n * n; t->work = t->v + n;
        return MCAMP_OK;
    }
    t->move = t->l + n * q;     t->z = t->move + n * q;
    t->zmove = t->z + 2 * n * q; t->un = t->zmove + 2 * n * q; t->v = t->un + 3 * n;
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < 3; s++) t->un[3 * i + s] = mcamp__orth_unwork(w, i, s);
    return MCAMP_OK;
}

/* out := x x', n x n; upper: x is an upper triangle. */
MCAMP__PRIV void mcamp__orth_square(const mcamp_ctx *ctx, const double *x, size_t n, int upper,
                                    double *out, double *work)
{
    memset(out, 0, n * n * sizeof *out);
    for (size_t p = 0; p < n; p += MCAMP__S) {
        size_t w = mcamp__zmin(MCAMP__S, n - p), k = upper ? p : 0;
        mcamp__nt s;
        memset(&s, 0, sizeof s);
        mcamp__nt_pack(x + p * n + k, n, w, n - k, work);
        s.a = x + k; s.z = work; s.out = out + p;
        s.lda = s.ldo = n; s.rows = p + w; s.len = n - k; s.cols = w; s.alpha = 1;
        mcamp__nt_run(ctx, &s);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) out[i * n + j] = out[j * n + i];
}

/* Dense X: the squared norms of A C^-1's rows to o->rows, A X^-1 to t.p by its columns. */
MCAMP__PRIV int mcamp__orth_dense(mcamp__opt *o)
{
    const mcamp__orth *t = &o->orth;
    size_t n = o->m.n, j;
    memset(t->l, 0, 2 * n * n * sizeof *t->l);
    for (size_t i = 0; i < n; i++) {
        size_t at = mcamp__band_row(i, o->m.bands, &j);
        memcpy(t->l + i * n + j, o->m.coef + at, (i + 1 - j) * sizeof *t->l);
        t->t[i * n + i] = 1;
    }
    if (mcamp__cholesky_blocks(&o->inner, n, t->l, t->t, t->work) < n) return 0;
    mcamp__orth_square(&o->inner, t->t, n, 1, t->p, t->work);
    for (size_t i = 0; i < n; i++) mcamp__work_apply(o->work, t->p + i * n, 0);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) t->v[k] = t->p[k * n + i];
        mcamp__work_apply(o->work, t->v, 0);
        o->rows[i] = t->v[i];
    }
    return 1;
}

/* g_coef := d/dX = -(A X^-1)' w (A X^-1); all of it stays in t.l. */
MCAMP__PRIV void mcamp__orth_dense_gradient(mcamp__opt *o)
{
    const mcamp__orth *t = &o->orth;
    size_t n = o->m.n, j;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) t->p[i * n + k] *= sqrt(o->weights[k]);
    mcamp__orth_square(&o->inner, t->p, n, 0, t->l, t->work);
    for (size_t i = 0; i < n; i++)
        for (size_t e = mcamp__band_row(i, o->m.bands, &j); j <= i; j++, e++)
            o->m.g_coef[e] = -t->l[i * n + j];
}

/* Few bands, and A^-1 =: B lower triangular with three: Y = B'XB has q = bands + 2, the
 * errors are the diagonal of Z = Y^-1, and d/dY = -Z w Z is how Z moves when Y moves by w.
 * Both come row by row from Y = L L' and L'Z = L^-1: with M the change of L and V that
 * of Z, the same recursions, differentiated.  O(n q^2).                             */

/* Row i of L (or M), entry k at [k]; row i of Z (or V). */
MCAMP__PRIV double *mcamp__orth_low(const mcamp__orth *t, double *l, size_t i)
{
    return l + i * (t->q - 1) + (t->q - 1);
}

MCAMP__PRIV double *mcamp__orth_sym(const mcamp__orth *t, double *z, size_t i)
{
    return z + i * (2 * t->q - 2) + (t->q - 1);
}

/* L := Y. */
MCAMP__PRIV void mcamp__orth_fill(mcamp__opt *o)
{
    mcamp__orth *t = &o->orth;
    const mcamp__opt_model *m = &o->m;
    size_t n = m->n, j;
    memset(t->l, 0, t->q * n * sizeof *t->l);
    for (size_t i = 0; i < n; i++)
        for (size_t e = mcamp__band_row(i, m->bands, &j); j <= i; j++, e++)
            for (size_t r = 0; r < 3 && r <= i; r++)
                for (size_t s = 0; s < 3 && s <= j; s++) {
                    double v = t->un[3 * i + r] * m->coef[e] *
                               t->un[3 * j + s];
                    if (i - r >= j - s) mcamp__orth_low(t, t->l, i - r)[j - s] += v;
                    if (i != j && j - s >= i - r) mcamp__orth_low(t, t->l, j - s)[i - r] += v;
                }
}

MCAMP__PRIV int mcamp__orth_band_factor(mcamp__orth *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = mcamp__orth_low(t, t->l, i), d;
        size_t first = i + 1 > t->q ? i + 1 - t->q : 0;
        for (size_t j = first; j < i; j++) {
            const double *other = mcamp__orth_low(t, t->l, j);
            row[j] = (row[j] - mcamp__dot(row + first, other + first, j - first)) / other[j];
        }
        d = row[i] - mcamp__dot(row + first, row + first, i - first);
        if (!(d > 0) || !mcamp__finite(d)) return 0;
        row[i] = sqrt(d);
    }
    return 1;
}

/* M, for Y' = diag(w). */
MCAMP__PRIV void mcamp__orth_band_moves(mcamp__orth *t, size_t n, const double *w)
{
    for (size_t i = 0; i < n; i++) {
        double *row = mcamp__orth_low(t, t->l, i), *move = mcamp__orth_low(t, t->move, i);
        size_t first = i + 1 > t->q ? i + 1 - t->q : 0;
        for (size_t j = first; j < i; j++) {
            const double *l = mcamp__orth_low(t, t->l, j), *x = mcamp__orth_low(t, t->move, j);
            double s = mcamp__dot(move + first, l + first, j - first) +
                       mcamp__dot(row + first, x + first, j - first) + row[j] * x[j];
            move[j] = -s / l[j];
        }
        move[i] = (0.5 * w[i] - mcamp__dot(row + first, move + first, i - first)) / row[i];
    }
}

/* out[r] += <row r of a, x> */
MCAMP__PRIV void mcamp__vec_dots(mcamp_vecset vs, const double *a, size_t lda, size_t rows,
                                 const double *x, size_t len, double *out)
{
    MCAMP__DISPATCH(vs, dots, (a, lda, rows, x, len, out));
}

/* Rows of Z from the last to the first, or, with Z known, of V. */
MCAMP__PRIV void mcamp__orth_band_inverse(mcamp_vecset vs, mcamp__orth *t, size_t n, int moves)
{
    double *z = moves ? t->zmove : t->z;
    for (size_t i = n; i-- > 0; ) {
        size_t last = mcamp__zmin(i + t->q, n) - 1, len = last - i;
        double *l = t->v, *x = l + t->q, *sum = x + t->q, own, dm;
        double d = mcamp__orth_low(t, t->l, i)[i];
        double *row = mcamp__orth_sym(t, z, i);
        for (size_t k = 0; k < len; k++) {
            l[k] = mcamp__orth_low(t, t->l, i + 1 + k)[i];
            x[k] = moves ? mcamp__orth_low(t, t->move, i + 1 + k)[i] : 0;
        }
        dm = moves ? mcamp__orth_low(t, t->move, i)[i] : 0;
        memset(sum, 0, len * sizeof *sum);
        mcamp__vec_dots(vs, mcamp__orth_sym(t, z, i + 1) + i + 1, 2 * t->q - 2, len, l, len, sum);
        if (moves)
            mcamp__vec_dots(vs, mcamp__orth_sym(t, t->z, i + 1) + i + 1, 2 * t->q - 2, len, x,
                            len, sum);
        for (size_t j = i + 1; j <= last; j++) {
            double v = sum[j - i - 1] + (moves ? dm * mcamp__orth_sym(t, t->z, j)[i] : 0);
            row[j] = mcamp__orth_sym(t, z, j)[i] = -v / d;
        }
        own = mcamp__dot(l, row + i + 1, len) - (moves ? -dm / (d * d) : 1 / d);
        if (moves) {
            const double *same = mcamp__orth_sym(t, t->z, i);
            own += mcamp__dot(x, same + i + 1, len) + dm * same[i];
        }
        row[i] = -own / d;
    }
}

MCAMP__PRIV int mcamp__orth_band(mcamp__opt *o)
{
    mcamp__orth *t = &o->orth;
    mcamp__orth_fill(o);
    if (!mcamp__orth_band_factor(t, o->m.n)) return 0;
    mcamp__orth_band_inverse(o->inner.vec, t, o->m.n, 0);
    for (size_t i = 0; i < o->m.n; i++) o->rows[i] = mcamp__orth_sym(t, t->z, i)[i];
    return 1;
}

/* g_coef := B V B' in the bands. */
MCAMP__PRIV void mcamp__orth_band_gradient(mcamp__opt *o)
{
    mcamp__orth *t = &o->orth;
    size_t j;
    mcamp__orth_band_moves(t, o->m.n, o->weights);
    mcamp__orth_band_inverse(o->inner.vec, t, o->m.n, 1);
    for (size_t i = 0; i < o->m.n; i++)
        for (size_t e = mcamp__band_row(i, o->m.bands, &j); j <= i; j++, e++) {
            double g = 0;
            for (size_t r = 0; r < 3 && r <= i; r++)
                for (size_t s = 0; s < 3 && s <= j; s++)
                    g += t->un[3 * i + r] * t->un[3 * j + s] *
                         mcamp__orth_sym(t, t->zmove, i - r)[j - s];
            o->m.g_coef[e] = g;
        }
}

/* Weights of the squared rows' norms, the objective, and its derivative by their sum. */
MCAMP__PRIV double mcamp__orth_weights(mcamp__opt *o, double *slope)
{
    double top = 0, sum = 0, square = 0;
    size_t n = o->m.n;
    int worst = o->desc->error == MCAMP_ERROR_MAX;
    for (size_t i = 0; i < n; i++) top = mcamp__dmax(top, o->rows[i]);
    for (size_t i = 0; i < n; i++) {
        double x = o->rows[i] / top;
        o->weights[i] = worst ? pow(x, 0.5 * o->power - 1) : 1 / (double)n;
        sum += worst ? pow(x, 0.5 * o->power) : 0;
        square += o->weights[i] * o->rows[i];
    }
    *slope = 0.5 / square;
    return worst ? 0.5 * log(top) + log(sum) / o->power : 0.5 * log(square);
}

MCAMP__PRIV mcamp_status mcamp__orth_eval(mcamp__opt *o, const double *x, double *value,
                                          double *g)
{
    double slope;
    o->evaluations++;
    for (size_t i = 0; i < o->m.count; i++) g[i] = 0;
    if (!mcamp__orth_set(&o->m, x)) return MCAMP_E_NOT_PSD;
    if (!(o->orth.q ? mcamp__orth_band(o) : mcamp__orth_dense(o))) return MCAMP_E_NOT_PSD;
    *value = mcamp__orth_weights(o, &slope);
    if (o->orth.q) mcamp__orth_band_gradient(o); else mcamp__orth_dense_gradient(o);
    mcamp__orth_chain(&o->m, slope, g);
    for (size_t i = 0; i < o->m.count; i++)
        if (!mcamp__finite(g[i])) return MCAMP_E_NONFINITE;
    return mcamp__finite(*value) ? MCAMP_OK : MCAMP_E_NONFINITE;
}

/* ---- how far from the optimum ------------------------------------------------------ *
 * For V >= 0 that is 0 on the free entries beside the diagonal and constant, mu_k, on each
 * class of the diagonal, <V, X> = sum_k mu_k for every X of the family, and with K = A' w A
 *     tr(K X^-1) + <V, X> >= 2 tr((V^1/2 K V^1/2)^1/2) = 2 tr((w^1/2 A V A' w^1/2)^1/2) =: 2 T
 * (the minimum over all X > 0).  V times T^2/(sum mu)^2 makes the bound T^2 / sum mu.  The
 * gradient's constrained part is such a V, and the bound is tight, where X is the optimum. */

/* Eigenvalues of the tridiagonal matrix (d; e beside it, e[n-1] = 0) to d: QL with shifts. */
MCAMP__PRIV int mcamp__eigen_tridiagonal(double *d, double *e, size_t n)
{
    size_t turns = 0;
    for (size_t l = 0; l < n; ) {
        size_t m = l;
        double g, r, s = 1, c = 1, p = 0;
        while (m + 1 < n && fabs(e[m]) > 1e-16 * (fabs(d[m]) + fabs(d[m + 1]))) m++;
        if (m == l) { l++; continue; }
        if (++turns > 60 * n) return 0;
        g = (d[l + 1] - d[l]) / (2 * e[l]);
        r = sqrt(g * g + 1);
        g = d[m] - d[l] + e[l] / (g < 0 ? g - r : g + r);
        for (size_t i = m; i-- > l; ) {
            double f = s * e[i], b = c * e[i];
            e[i + 1] = r = sqrt(f * f + g * g);
            if (!(r > 0)) return 0;
            s = f / r; c = g / r;
            g = d[i + 1] - p;
            r = (d[i] - g) * s + 2 * c * b;
            p = s * r;
            d[i + 1] = g + p;
            g = c * r - b;
        }
        d[l] -= p; e[l] = g; e[m] = 0;
    }
    return 1;
}

/* sum of sqrt(max(eigenvalue, 0)) of a symmetric n x n matrix, which is spoilt; work: 4 n.
 * Reflections make it tridiagonal.  Negative: no convergence.                        */
MCAMP__PRIV double mcamp__trace_root(double *s, size_t n, double *work)
{
    double *d = work, *e = d + n, *v = e + n, *w = v + n, sum = 0;
    for (size_t k = 0; k < n; k++) {
        const double *x = s + k * n;
        size_t from = k + 1, len = n - from;
        double norm = sqrt(mcamp__dot(x + from, x + from, len)), square, h;
        d[k] = x[k];
        e[k] = len && x[from] > 0 ? -norm : norm;
        if (len < 2 || !(norm > 0)) continue;
        memcpy(v + from, x + from, len * sizeof *v);
        v[from] -= e[k];
        square = mcamp__dot(v + from, v + from, len);
        for (size_t i = from; i < n; i++)
            w[i] = 2 / square * mcamp__dot(s + i * n + from, v + from, len);
        h = mcamp__dot(w + from, v + from, len) / square;
        for (size_t i = from; i < n; i++) w[i] -= h * v[i];
        for (size_t i = from; i < n; i++) {
            mcamp__axpy(-v[i], w + from, s + i * n + from, len);
            mcamp__axpy(-w[i], v + from, s + i * n + from, len);
        }
    }
    if (!mcamp__eigen_tridiagonal(d, e, n)) return -1;
    for (size_t k = 0; k < n; k++) sum += sqrt(mcamp__dmax(d[k], 0));
    return sum;
}

/* t.t := V from the gradient in t.l (its sign turned), a multiple of the identity being
 * added until V > 0; returns <V, X>.                                                  */
MCAMP__PRIV double mcamp__orth_dual(mcamp__opt *o)
{
    const mcamp__orth *t = &o->orth;
    mcamp__opt_model *m = &o->m;
    size_t n = m->n, j;
    double total = 0, shift = 0;
    for (size_t k = 0; k < m->classes; k++) m->dots[k] = 0;
    for (size_t i = 0; i < n; i++)
        m->dots[i % m->classes] += t->l[i * n + i] *
                                   m->coef[mcamp__band_row(i + 1, m->bands, &j) - 1];
    for (size_t k = 0; k < m->classes; k++) total += m->dots[k];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            double v = i - k < m->bands && mcamp__orth_free(m, i, k) ? 0 : t->l[i * n + k];
            t->t[i * n + k] = t->t[k * n + i] = i == k ? m->dots[i % m->classes] : v;
        }
    for (int tries = 0; tries < 40; tries++) {
        memcpy(t->p, t->t, n * n * sizeof *t->p);
        for (size_t i = 0; i < n; i++) t->p[i * n + i] += shift;
        if (mcamp__cholesky_blocks(&o->inner, n, t->p, NULL, t->work) == n) break;
        shift = tries ? 2 * shift : 1e-9 * total / (double)n;
    }
    for (size_t i = 0; i < n; i++) t->t[i * n + i] += shift;
    return total + shift * (double)m->classes;
}

/* *least: no C of the family has a smaller error for unit noise at sensitivity 1; 0 if
 * that cannot be said.                                                                */
MCAMP__PRIV mcamp_status mcamp__orth_least(mcamp__opt *o, const double *x, double *least)
{
    mcamp__orth *t = &o->orth;
    size_t n = o->m.n;
    double slope, cost, sum = 0, root;
    mcamp_status st;
    *least = 0;
    mcamp__delete_doubles(&o->inner, t->block, t->total);
    if ((st = mcamp__orth_init(o, 1)) < 0) return st;
    if (!mcamp__orth_set(&o->m, x) || !mcamp__orth_dense(o)) return MCAMP_OK;
    mcamp__orth_weights(o, &slope);
    mcamp__orth_dense_gradient(o);
    cost = mcamp__orth_dual(o);
    for (size_t i = 0; i < n; i++) sum += o->weights[i];
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < n; i++) {
            mcamp__work_apply(o->work, t->t + i * n, 0);
            for (size_t k = 0; k < n; k++) t->t[i * n + k] *= sqrt(o->weights[k] / sum);
        }
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++) {
                double v = t->t[i * n + k];
                t->t[i * n + k] = t->t[k * n + i];
                t->t[k * n + i] = v;
            }
    }
    root = mcamp__trace_root(t->t, n, t->work);
    if (root > 0 && cost > 0 && mcamp__finite(root) && mcamp__finite(cost))
        *least = root / sqrt(cost) * (1 - 1e-9);
    return MCAMP_OK;
}

/* ---- where it starts ---------------------------------------------------------------- */

/* coef := C'C in the bands, C a strategy; c: n values, row: n values. */
MCAMP__PRIV void mcamp__orth_gram(mcamp__opt_model *m, const mcamp_mech *from, double *c,
                                  double *row)
{
    memset(m->coef, 0, m->entries * sizeof *m->coef);
    if (from->form != MCAMP_FORM_ROWS) mcamp__mech_coefs(from, 0, m->n, c);
    for (size_t r = 0; r < m->n; r++) {
        size_t j = r + 1 - mcamp__row_len(from, r), first;
        mcamp__sens_row(from, c, r, row);
        for (; j <= r; j++) {
            size_t at = mcamp__band_row(j, m->bands, &first);
            size_t k = mcamp__zmax(first, r + 1 - mcamp__row_len(from, r));
            mcamp__axpy(row[j], row + k, m->coef + at + k - first, j + 1 - k);
        }
    }
}

/* y of a given strategy, what is beside the diagonal being shrunk until X > 0. */
MCAMP__PRIV mcamp_status mcamp__orth_start(mcamp__opt *o, const mcamp_mech *from, double *y)
{
    mcamp__opt_model *m = &o->m;
    size_t j, at;
    mcamp__orth_gram(m, from, o->rows, o->weights);
    for (int tries = 0; tries < 60; tries++) {
        at = 0;
        for (size_t i = 0; i < m->n; i++)
            for (size_t e = mcamp__band_row(i, m->bands, &j); j <= i; j++, e++) {
                if (tries && i != j) m->coef[e] *= 0.8;
                m->g_coef[e] = mcamp__orth_free(m, i, j) ? m->coef[e] : 0.0;
                if (mcamp__orth_free(m, i, j)) y[at++] = m->coef[e];
            }
        if (mcamp__orth_factor(m, m->g_coef)) return MCAMP_OK;
    }
    return mcamp__fail(&o->inner, MCAMP_E_NOT_PSD, "start", 0);
}

/* G_ij whatever the kind. */
MCAMP__PRIV double mcamp__gram_at(const mcamp_gram *gram, size_t i, size_t j)
{
    if (gram->kind == MCAMP_GRAM_DIAGONAL) return i == j ? gram->g[i] : 0.0;
    return gram->g[i * gram->b + j];
}

/* log of the p-norm of the modes' norms, and d with d log = <d, dG>/2. */
MCAMP__PRIV double mcamp__opt_soft_norm(const mcamp_gram *gram, double power, double *d)
{
    size_t b = gram->b;
    double top = gram->max_norm * gram->max_norm, sum = 0;
    for (size_t i = 0; i < b * b; i++) d[i] = 0;
    for (size_t i = 0; i < b; i++) sum += pow(mcamp__gram_at(gram, i, i) / top, power);
    for (size_t i = 0; i < b; i++)
        d[i * b + i] = pow(mcamp__gram_at(gram, i, i) / top, power - 1) / (sum * top);
    return 0.5 * (log(top) + log(sum) / power);
}

/* log sigma (up to a constant) and its d/dx added to g. */
MCAMP__PRIV mcamp_status mcamp__opt_privacy(mcamp__opt *o, const mcamp_mech *mech,
                                            const double *x, double *value, double *g)
{
    int bins = o->desc->amplification == MCAMP_AMPLIFY_BINS;
    mcamp__mech_grad arrays = mcamp__opt_grad_arrays(&o->m);
    mcamp_gram gram;
    double total = 1;
    mcamp_status st;
    if (!bins && !o->m.scaled && o->m.family != MCAMP_OPT_BANDED) {
        st = mcamp__opt_first_mode(o, mech, value);
        if (st >= 0) mcamp__opt_chain(&o->m, x, 1, g);
        return st;
    }
    st = mcamp_gram_init(&o->inner, mech, o->every, &gram);
    if (st < 0) return st;
    if (bins) st = mcamp__noise_eval(&o->inner, &o->noise, &gram, value, o->d);
    else      *value = mcamp__opt_soft_norm(&gram, o->power, o->d);
    mcamp_gram_free(&o->inner, &gram);
    if (st >= 0 && o->m.count)
        st = mcamp__modes_gradient(&o->inner, mech, o->every, o->d, &total, &arrays);
    if (st >= 0 && o->m.count) mcamp__opt_chain(&o->m, x, 0.5 / total, g);
    return st;
}

/* log error and its d/dx added to g.  The worst row is stood for by the p-norm
 * (sum_i e_i^p)^(1/p) of the rows' norms: weights e_i^(p-2).                        */
MCAMP__PRIV mcamp_status mcamp__opt_error(mcamp__opt *o, const mcamp_mech *mech,
                                          const double *x, double *value, double *g)
{
    mcamp__mech_grad arrays = mcamp__opt_grad_arrays(&o->m);
    double *w = NULL, square = 0, sum = 0;
    mcamp_error_info info;
    mcamp_status st = MCAMP_OK;
    if (o->desc->error == MCAMP_ERROR_MAX) {
        w = o->weights;
        st = mcamp_work_error(&o->inner, o->work, mech, o->rows, &info);
        if (st < 0) return st;
        for (size_t i = 0; i < o->m.n; i++) sum += pow(o->rows[i] / info.max, o->power);
        for (size_t i = 0; i < o->m.n; i++)
            w[i] = pow(o->rows[i] / info.max, o->power - 2);
    }
    st = mcamp__work_gradient(&o->inner, o->work, mech, w, &square, &arrays);
    if (st < 0) return st;
    if (!(square > 0) || !mcamp__finite(square))
        return mcamp__fail(&o->inner, MCAMP_E_NONFINITE, "mech", square);
    *value = w ? log(info.max) + log(sum) / o->power : 0.5 * log(square);
    mcamp__opt_chain(&o->m, x, 0.5 / square, g);
    return MCAMP_OK;
}

/* The objective at x; g[count] its gradient. */
MCAMP__PRIV mcamp_status mcamp__opt_eval(mcamp__opt *o, const double *x, double *value,
                                         double *g)
{
    mcamp_mech mech;
    double noise = 0, error = 0;
    mcamp_status st;
    if (o->m.classes) return mcamp__orth_eval(o, x, value, g);
    o->evaluations++;
    for (size_t i = 0; i < o->m.count; i++) g[i] = 0;
    mcamp__opt_set(&o->m, x);
    st = mcamp__opt_mech(&o->inner, &o->m, &mech);
    if (st < 0) return st;
    st = o->m.any_sign && mech.negative ? MCAMP_E_STRATEGY
                                        : mcamp__opt_error(o, &mech, x, &error, g);
    if (st >= 0) st = mcamp__opt_privacy(o, &mech, x, &noise, g);
    mcamp_mech_free(&o->inner, &mech);
    if (st < 0) return st;
    for (size_t i = 0; i < o->m.count; i++)
        if (!mcamp__finite(g[i])) st = MCAMP_E_NONFINITE;
    *value = noise + error;
    return mcamp__finite(*value) ? st : MCAMP_E_NONFINITE;
}

/* ---- L-BFGS ------------------------------------------------------------------------- */

#define MCAMP__HISTORY 10

typedef struct mcamp__lbfgs {
    size_t n;
    double *block;              /* everything below, one allocation                  */
    size_t total;
    double *x, *g, *trial, *g_trial, *dir;
    double *s, *y;              /* MCAMP__HISTORY rows each, a ring                  */
    double rho[MCAMP__HISTORY], alpha[MCAMP__HISTORY];
    size_t used, next;
    double f;
    size_t steps;
} mcamp__lbfgs;

MCAMP__PRIV void mcamp__lbfgs_free(mcamp_ctx *ctx, mcamp__lbfgs *l)
{
    mcamp__delete_doubles(ctx, l->block, l->total);
    memset(l, 0, sizeof *l);
}

MCAMP__PRIV mcamp_status mcamp__lbfgs_init(mcamp_ctx *ctx, size_t n, mcamp__lbfgs *l)
{
    memset(l, 0, sizeof *l);
    l->n = n;
    if (!mcamp__mul_size(n, 5 + 2 * MCAMP__HISTORY, &l->total))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "n", (double)n);
    l->block = mcamp__new_doubles(ctx, l->total);
    if (!l->block) return mcamp__fail(ctx, MCAMP_E_MEMORY, "rounds", (double)n);
    l->x = l->block;         l->g = l->x + n;       l->trial = l->g + n;
    l->g_trial = l->trial + n; l->dir = l->g_trial + n;
    l->s = l->dir + n;       l->y = l->s + MCAMP__HISTORY * n;
    return MCAMP_OK;
}

/* dir := -H g by the two-loop recursion; returns <g, dir>. */
MCAMP__PRIV double mcamp__lbfgs_direction(mcamp__lbfgs *l)
{
    size_t n = l->n, i, k;
    double gamma = 1;
    for (i = 0; i < n; i++) l->dir[i] = -l->g[i];
    for (k = 0; k < l->used; k++) {
        size_t at = (l->next + MCAMP__HISTORY - 1 - k) % MCAMP__HISTORY;
        l->alpha[at] = l->rho[at] * mcamp__dot(l->s + at * n, l->dir, n);
        for (i = 0; i < n; i++) l->dir[i] -= l->alpha[at] * l->y[at * n + i];
    }
    if (l->used) {
        size_t at = (l->next + MCAMP__HISTORY - 1) % MCAMP__HISTORY;
        gamma = 1 / (l->rho[at] * mcamp__dot(l->y + at * n, l->y + at * n, n));
    } else {
        gamma = 0.1 / mcamp__dmax(sqrt(mcamp__dot(l->g, l->g, n)), 1e-300);
    }
    for (i = 0; i < n; i++) l->dir[i] *= gamma;
    for (k = l->used; k-- > 0; ) {
        size_t at = (l->next + MCAMP__HISTORY - 1 - k) % MCAMP__HISTORY;
        double beta = l->rho[at] * mcamp__dot(l->y + at * n, l->dir, n);
        for (i = 0; i < n; i++) l->dir[i] += (l->alpha[at] - beta) * l->s[at * n + i];
    }
    return mcamp__dot(l->g, l->dir, n);
}

/* Takes the trial point; keeps the pair if its curvature is clearly positive. */
MCAMP__PRIV void mcamp__lbfgs_accept(mcamp__lbfgs *l, double f)
{
    size_t n = l->n, at = l->next;
    double sy, ss, yy, *s = l->s + at * n, *y = l->y + at * n;
    for (size_t i = 0; i < n; i++) {
        s[i] = l->trial[i] - l->x[i];
        y[i] = l->g_trial[i] - l->g[i];
    }
    sy = mcamp__dot(s, y, n); ss = mcamp__dot(s, s, n); yy = mcamp__dot(y, y, n);
    if (sy > 1e-6 * sqrt(ss * yy) && sy > 0) {
        l->rho[at] = 1 / sy;
        l->next = (at + 1) % MCAMP__HISTORY;
        if (l->used < MCAMP__HISTORY) l->used++;
    }
    memcpy(l->x, l->trial, n * sizeof(double));
    memcpy(l->g, l->g_trial, n * sizeof(double));
    l->f = f;
    l->steps++;
}

/* Errors that end the run; all others make a trial infeasible. */
MCAMP__PRIV int mcamp__opt_fatal(mcamp_status st)
{
    return st == MCAMP_E_MEMORY || st == MCAMP_E_SIZE || st == MCAMP_E_INTERNAL;
}

/* One step: tries dir, halving while the trial is infeasible or does not descend.
 * slack: how much of an increase is noise.  *moved: 0 if no trial was taken.        */
MCAMP__PRIV mcamp_status mcamp__opt_step(mcamp__opt *o, mcamp__lbfgs *l, double slack,
                                         int *moved)
{
    double slope = mcamp__lbfgs_direction(l), most = 0, step = 1, f = 0;
    double keep = o->noise.log_sigma;
    *moved = 0;
    if (!(slope < 0)) return MCAMP_OK;
    for (size_t i = 0; i < l->n; i++) most = mcamp__dmax(most, fabs(l->dir[i]));
    if (most > 1) step = 1 / most;
    for (int k = 0; k < 12; k++, step *= k > 2 ? 0.25 : 0.5) {
        mcamp_status st;
        if (-step * slope < slack) break;       /* nothing left but noise */
        for (size_t i = 0; i < l->n; i++) l->trial[i] = l->x[i] + step * l->dir[i];
        st = mcamp__opt_eval(o, l->trial, &f, l->g_trial);
        if (mcamp__opt_fatal(st)) return st;
        if (st >= 0 && f <= l->f + 1e-4 * step * slope + slack) {
            mcamp__lbfgs_accept(l, f);
            *moved = 1;
            return MCAMP_OK;
        }
        o->noise.log_sigma = keep;
    }
    return MCAMP_OK;
}

/* Steps until ten of them gain less than the tolerance.  best, x_best: the best
 * iterate so far, in and out.                                                        */
MCAMP__PRIV mcamp_status mcamp__opt_descend(mcamp_ctx *ctx, mcamp__opt *o, mcamp__lbfgs *l,
                                            size_t most, double tolerance, double slack)
{
    double window[10], best = l->f;
    size_t done = 0;
    l->used = l->next = 0;
    while (done < most) {
        int moved = 0;
        mcamp_status st = mcamp__opt_step(o, l, slack, &moved);
        if (st < 0) return st;
        if (!moved) {
            if (!l->used) break;
            l->used = l->next = 0;      /* once more along the gradient */
            continue;
        }
        best = mcamp__dmin(best, l->f);
        if (done >= 10 && window[done % 10] - best < tolerance) break;
        window[done % 10] = best;
        done++;
        if (mcamp__progress(ctx, (double)done / (double)most, exp(l->f)))
            return MCAMP_Q_INTERRUPTED;
    }
    return MCAMP_OK;
}

/* ---- the driver ---------------------------------------------------------------------- */

/* Fills in defaults, checks what depends on the amplification. */
MCAMP__PRIV mcamp_status mcamp__opt_resolve(mcamp_ctx *ctx, const mcamp_opt_desc *in,
                                            mcamp_opt_desc *d)
{
    int poisson = in->amplification == MCAMP_AMPLIFY_POISSON;
    int bins = in->amplification == MCAMP_AMPLIFY_BINS;
    mcamp_status st;
    *d = *in;
    if (poisson && d->family == MCAMP_OPT_BLT)
        return mcamp__fail(ctx, MCAMP_E_ARG, "family", (double)d->family);
    if (poisson && d->family == MCAMP_OPT_IDENTITY) d->bands = 1;
    if (!poisson || !d->sigma_of) {
        if (!d->batches) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "batches", 0);
        if ((st = mcamp__check_eps(ctx, "eps", d->eps)) < 0) return st;
        if ((st = mcamp__check_prob(ctx, "delta", d->delta)) < 0) return st;
    }
    if (!d->batches) d->batches = d->rounds;
    if (d->batches > d->rounds)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "batches", (double)d->batches);
    if (poisson && d->bands > d->batches)
        return mcamp__fail(ctx, MCAMP_E_SIZE, "bands", (double)d->bands);
    if (mcamp__eq(d->tolerance, 0))
        d->tolerance = bins ? 2e-5 : d->family == MCAMP_OPT_BANDED ? 1e-6 : 1e-7;
    if (!d->max_iterations) d->max_iterations = bins ? 150 : 1000;
    return mcamp__budget_resolve(ctx, &in->budget, &d->budget);
}

MCAMP__PRIV mcamp_status mcamp__opt_check(mcamp_ctx *ctx, const mcamp_opt_desc *d)
{
    if (d->start_canary || d->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
    if (d->family <= MCAMP_OPT_UNSET || d->family > MCAMP_OPT_BANDED)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "family", (double)d->family);
    if (d->amplification <= MCAMP_AMPLIFY_UNSET ||
        d->amplification > MCAMP_AMPLIFY_POISSON)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "amplification", (double)d->amplification);
    if ((int)d->error < 0 || d->error > MCAMP_ERROR_MAX)
        return mcamp__fail(ctx, MCAMP_E_ARG, "error", (double)d->error);
    if (!d->rounds) return mcamp__fail(ctx, MCAMP_E_REQUIRED, "rounds", 0);
    if (d->bands > d->rounds) return mcamp__fail(ctx, MCAMP_E_SIZE, "bands", (double)d->bands);
    if (d->family == MCAMP_OPT_BLT && !(d->buffers >= 1 && d->buffers <= MCAMP_MAX_BUFFERS))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "buffers", (double)d->buffers);
    if (d->scale_degree > MCAMP__SCALE_DEGREE_MAX ||
        (d->scale_free && d->scale_degree) ||
        (d->family == MCAMP_OPT_BANDED && (d->scale_free || d->scale_degree)))
        return mcamp__fail(ctx, MCAMP_E_ARG, "scale_degree", (double)d->scale_degree);
    if (d->equal_norms && (d->family != MCAMP_OPT_BANDED ||
                           d->amplification != MCAMP_AMPLIFY_NONE || !d->bands ||
                           d->bands > d->batches))
        return mcamp__fail(ctx, MCAMP_E_ARG, "equal_norms", 1);
    if (d->work && d->work->n != d->rounds)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "work", (double)d->work->n);
    if (d->start && d->start->n != d->rounds)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "start", (double)d->start->n);
    return mcamp__check(ctx, "tolerance", d->tolerance, 0, 1, 1, 1);
}

MCAMP__PRIV void mcamp__opt_free(mcamp_ctx *ctx, mcamp__opt *o)
{
    mcamp__delete_doubles(ctx, o->d, o->d_count);
    mcamp__delete_doubles(ctx, o->rows, o->m.n);
    mcamp__delete_doubles(ctx, o->weights, o->m.n);
    mcamp__delete_doubles(ctx, o->orth.block, o->orth.total);
    mcamp__opt_model_free(ctx, &o->m);
}

MCAMP__PRIV mcamp_status mcamp__opt_init(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                         const mcamp_work *work, mcamp__opt *o)
{
    mcamp_status st;
    int gram;
    memset(o, 0, sizeof *o);
    o->inner = *ctx;
    o->inner.progress.fn = NULL;
    o->desc = d;
    o->every = d->amplification == MCAMP_AMPLIFY_POISSON ? d->rounds : d->batches;
    o->work = work;
    if ((st = mcamp__opt_model_init(ctx, d, &o->m)) < 0) return st;
    gram = d->amplification == MCAMP_AMPLIFY_BINS || o->m.scaled ||
           (d->family == MCAMP_OPT_BANDED && !o->m.classes);
    if (gram && !mcamp__mul_size(o->every, o->every, &o->d_count))
        return mcamp__fail(ctx, MCAMP_E_SIZE, "batches", (double)o->every);
    o->d = mcamp__new_doubles(ctx, o->d_count);
    o->rows = mcamp__new_doubles(ctx, d->rounds);
    o->weights = mcamp__new_doubles(ctx, d->rounds);
    if (!o->d || !o->rows || !o->weights)
        st = mcamp__fail(ctx, MCAMP_E_MEMORY, "rounds", (double)d->rounds);
    if (st >= 0 && o->m.classes) st = mcamp__orth_init(o, 0);
    if (st < 0 && o->inner.err.status < 0) ctx->err = o->inner.err;
    o->noise.eps = d->eps;
    o->noise.delta = d->delta;
    o->noise.bud = d->budget;
    if (st < 0) mcamp__opt_free(ctx, o);
    return st;
}

MCAMP__PRIV mcamp_status mcamp__opt_once(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                         int measured, mcamp_mech *mech,
                                         mcamp_opt_result *out);

/* An optimum to start from: for banded C that of Toeplitz C, for Toeplitz C that of the
 * BLT that it contains, or, where few bands hold little of a BLT, of the same bands
 * without amplification.                                                              */
MCAMP__PRIV mcamp_status mcamp__opt_simpler(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                            mcamp_mech *from)
{
    mcamp_opt_desc simple = *d;
    mcamp_opt_result ignored;
    int bins = d->amplification == MCAMP_AMPLIFY_BINS;
    simple.equal_norms = false;
    simple.buffers = 2;
    simple.family = MCAMP_OPT_BLT;
    if (d->scale_free) { simple.scale_free = false; simple.scale_degree = 3; }
    if (d->family == MCAMP_OPT_BANDED) {
        simple.family = MCAMP_OPT_TOEPLITZ;
        if (bins) simple.scale_degree = 3;
        else simple.bands = mcamp__zmin(d->bands ? d->bands : d->rounds, d->batches);
    } else if (d->family == MCAMP_OPT_TOEPLITZ && d->bands && d->bands <= d->batches / 2) {
        simple.family = MCAMP_OPT_TOEPLITZ;
        simple.amplification = MCAMP_AMPLIFY_NONE;
        simple.scale_degree = 0;
    }
    return mcamp__opt_once(ctx, &simple, 0, from, &ignored);
}

MCAMP__PRIV mcamp_status mcamp__opt_root(mcamp_ctx *ctx, size_t n, size_t bands,
                                         mcamp_mech *from)
{
    mcamp_mech_desc root;
    memset(&root, 0, sizeof root);
    root.kind = MCAMP_MECH_SQRT;
    root.n = n; root.bands = bands;
    return mcamp_mech_init(ctx, &root, from);
}

/* Where no start is given: BLT from the square root's coefficients; banded, and Toeplitz
 * if sampled, from the simpler family's optimum (so that they are no worse).          */
MCAMP__PRIV mcamp_status mcamp__opt_start(mcamp_ctx *ctx, mcamp__opt *o, double *x)
{
    const mcamp_opt_desc *d = o->desc;
    int bins = d->amplification == MCAMP_AMPLIFY_BINS;
    mcamp_mech from;
    mcamp_status st, bad;
    for (size_t i = 0; i < o->m.count; i++) x[i] = 0;
    if (d->start)
        return o->m.classes ? mcamp__orth_start(o, d->start, x)
                            : mcamp__opt_start_from(ctx, &o->m, d->start, x);
    if (d->family == MCAMP_OPT_IDENTITY) return MCAMP_OK;
    if (d->family == MCAMP_OPT_BLT) {
        mcamp__opt_start_blt(&o->m, mcamp__dmax(4, (double)(bins ? d->batches : d->rounds)), x);
        return MCAMP_OK;
    }
    st = bins || d->family == MCAMP_OPT_BANDED
             ? mcamp__opt_simpler(ctx, d, &from)
             : mcamp__opt_root(ctx, d->rounds, o->m.bands, &from);
    if (st < 0) return st;
    bad = o->m.classes ? mcamp__orth_start(o, &from, x)
                       : mcamp__opt_start_from(ctx, &o->m, &from, x);
    mcamp_mech_free(ctx, &from);
    return bad < 0 ? bad : st == MCAMP_Q_INTERRUPTED ? st : MCAMP_OK;
}

/* At most this many samples a value: a smooth objective matters more than an unbiased
 * one, and the final sigma has a budget of its own.                                   */
MCAMP__PRIV uint64_t mcamp__opt_samples(const mcamp_opt_desc *d)
{
    uint64_t most = (uint64_t)mcamp__zmax(4096, ((size_t)1 << 24) / d->batches);
    return d->budget.max_samples < most ? d->budget.max_samples : most;
}

/* Rounds: sampled objectives from few to more samples, maxima from soft to sharp
 * norms; smooth ones have a single round.                                            */
MCAMP__PRIV mcamp_status mcamp__opt_rounds(mcamp_ctx *ctx, mcamp__opt *o, mcamp__lbfgs *l,
                                           mcamp_opt_result *r)
{
    static const double rel[3] = { 0.05, 0.02, 0.01 }, power[3] = { 16, 128, 1024 };
    const mcamp_opt_desc *d = o->desc;
    int bins = d->amplification == MCAMP_AMPLIFY_BINS;
    int soft = d->error == MCAMP_ERROR_MAX || (!bins && o->d_count);
    int rounds = !o->m.count ? 0 : soft ? 3 : bins ? 2 : 1;    /* 0: nothing to choose */
    mcamp_status st = MCAMP_OK;
    for (int i = 0; i < rounds && st == MCAMP_OK; i++) {
        size_t left = d->max_iterations - mcamp__zmin(l->steps, d->max_iterations);
        o->power = power[i];
        o->noise.bud.rel_error = rel[i];
        o->noise.bud.max_samples = mcamp__opt_samples(d);
        o->noise.chosen = 0;
        st = mcamp__opt_eval(o, l->x, &l->f, l->g);
        if (i && st < 0 && !mcamp__opt_fatal(st)) return MCAMP_OK;  /* x is good enough */
        if (st < 0) return st;
        if (!i) r->start_error = exp(l->f);
        st = mcamp__opt_descend(ctx, o, l, left, i + 1 < rounds ? 5 * d->tolerance
                                                                : d->tolerance,
                                bins ? 0.1 * d->tolerance : 1e-13);
        if (st == MCAMP_OK && i + 1 == rounds && l->steps >= d->max_iterations)
            st = MCAMP_Q_MAX_ITER;
    }
    return st;
}

/* sigma under cyclic Poisson sampling: ceil(n/bands) compositions of a Poisson-sampled
 * Gaussian of sampling probability bands/batches and the largest column norm.         */
MCAMP__PRIV mcamp_status mcamp__opt_poisson_sigma(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                                  size_t bands, double norm, double *sigma)
{
    mcamp_event e;
    mcamp_exact_desc x;
    mcamp_status st;
    memset(&e, 0, sizeof e);
    memset(&x, 0, sizeof x);
    if (d->sigma_of) {
        *sigma = d->sigma_of(d->sigma_user, bands, norm);
        return *sigma > 0 && mcamp__finite(*sigma)
               ? MCAMP_OK : mcamp__fail(ctx, MCAMP_E_INFEASIBLE, "sigma_of", *sigma);
    }
    e.kind = MCAMP_EVENT_POISSON;
    e.count = (d->rounds + bands - 1) / bands;
    e.q = (double)bands / (double)d->batches;
    if (bands >= d->batches) { e.kind = MCAMP_EVENT_GAUSSIAN; e.q = 0; }
    x.rel_error = 1e-3;
    st = mcamp_exact_calibrate(ctx, &e, 1, &x, 0, MCAMP_PARAM_SIGMA, d->eps, d->delta,
                               sigma, NULL);
    if (st >= 0) *sigma *= norm;
    return st;
}

/* DP-SGD in whole epochs has an accountant without samples. */
MCAMP__PRIV mcamp_status mcamp__opt_identity_sigma(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                                   mcamp_opt_result *r)
{
    mcamp_event e;
    mcamp_exact_desc x;
    memset(&e, 0, sizeof e);
    memset(&x, 0, sizeof x);
    e.kind = MCAMP_EVENT_BINS;
    e.count = 1;
    e.bins = d->batches;
    e.rounds = d->rounds / d->batches;
    x.direction = d->budget.direction;
    x.rel_error = 1e-4;
    r->sensitivity = sqrt((double)e.rounds);
    return mcamp_exact_calibrate(ctx, &e, 1, &x, 0, MCAMP_PARAM_SIGMA, d->eps, d->delta,
                                 &r->sigma, NULL);
}

MCAMP__PRIV mcamp_status mcamp__opt_bins_sigma(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                               const mcamp_mech *mech, mcamp_opt_result *r)
{
    mcamp_gram gram;
    mcamp_answer a;
    mcamp_status st;
    if (mech->kind == MCAMP_MECH_IDENTITY && !mech->scale && d->rounds % d->batches == 0) {
        st = mcamp__opt_identity_sigma(ctx, d, r);
        if (st >= 0 || st == MCAMP_E_MEMORY) return st;
    }
    st = mcamp_gram_init(ctx, mech, d->batches, &gram);
    if (st < 0) return st;
    memset(&a, 0, sizeof a);
    st = mcamp_sigma(ctx, &gram, d->eps, d->delta, &d->budget, &a);
    r->sensitivity = gram.max_norm;
    mcamp_gram_free(ctx, &gram);
    if (st < 0) return st;
    r->sigma = a.sigma;
    r->sigma_error = a.std_error;
    r->samples += a.samples;
    r->status = st;
    return MCAMP_OK;
}

/* sigma, sensitivity and errors of the final C. */
MCAMP__PRIV mcamp_status mcamp__opt_final(mcamp__opt *o, const mcamp_mech *mech,
                                          mcamp_opt_result *r)
{
    const mcamp_opt_desc *d = o->desc;
    mcamp_ctx *ctx = &o->inner;
    mcamp_sens sens;
    mcamp_status st = mcamp_work_error(ctx, o->work, mech, NULL, &r->unit);
    if (st < 0) return st;
    r->bands = mech->bands;
    if (d->amplification == MCAMP_AMPLIFY_BINS) {
        st = mcamp__opt_bins_sigma(ctx, d, mech, r);
    } else {
        st = mcamp_sens_fixed(ctx, mech, (d->rounds + o->every - 1) / o->every, o->every, &sens);
        if (st < 0) return st;
        r->sensitivity = sens.value;
        if (d->amplification == MCAMP_AMPLIFY_NONE)
            st = mcamp_gauss_sigma(ctx, sens.value, d->eps, d->delta, &r->sigma);
        else
            st = mcamp__opt_poisson_sigma(ctx, d, mech->bands, sens.value, &r->sigma);
    }
    r->rmse = r->sigma * r->unit.rmse;
    r->max_error = r->sigma * r->unit.max;
    if (!o->m.count) r->start_error = d->error == MCAMP_ERROR_MAX ? r->max_error : r->rmse;
    return st < 0 ? st : MCAMP_OK;
}

/* Rounds up to which the bound is computed: it takes O(n^3). */
#define MCAMP__BOUND_ROUNDS 1024

MCAMP__PRIV mcamp_status mcamp__opt_bound(mcamp__opt *o, const double *x, mcamp_opt_result *r)
{
    double least = 0;
    mcamp_status st = MCAMP_OK;
    if (o->m.classes && o->m.n <= MCAMP__BOUND_ROUNDS) st = mcamp__orth_least(o, x, &least);
    r->least = least * r->sigma / r->sensitivity;
    return st;
}

MCAMP__PRIV mcamp_status mcamp__opt_drive(mcamp_ctx *ctx, mcamp__opt *o, int measured,
                                          mcamp_mech *mech, mcamp_opt_result *r)
{
    mcamp__lbfgs l;
    mcamp_status st = mcamp__lbfgs_init(ctx, o->m.count, &l), q;
    if (st < 0) return st;
    q = st = mcamp__opt_start(ctx, o, l.x);
    if (st == MCAMP_OK) q = st = mcamp__opt_rounds(ctx, o, &l, r);
    if (st >= 0) {
        mcamp__opt_set(&o->m, l.x);
        st = mcamp__opt_mech(&o->inner, &o->m, mech);
        if (st >= 0) {
            r->iterations = l.steps;
            r->evaluations = o->evaluations;
            r->samples = o->noise.samples;
            if (measured) st = mcamp__opt_final(o, mech, r);
            if (measured && st >= 0) st = mcamp__opt_bound(o, l.x, r);
            if (st < 0) mcamp_mech_free(&o->inner, mech);
        }
    }
    mcamp__lbfgs_free(ctx, &l);
    if (st < 0) { ctx->err = o->inner.err.status < 0 ? o->inner.err : ctx->err; return st; }
    if (q > 0) r->status = q;
    return r->status;
}

/* One optimisation, arguments checked.  measured: whether the final C's sigma and errors
 * are wanted.                                                                         */
MCAMP__PRIV mcamp_status mcamp__opt_once(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                         int measured, mcamp_mech *mech,
                                         mcamp_opt_result *out)
{
    mcamp_work_desc prefix;
    mcamp_work work;
    mcamp__opt o;
    mcamp_status st;
    memset(&prefix, 0, sizeof prefix);
    memset(&work, 0, sizeof work);
    memset(out, 0, sizeof *out);
    prefix.n = d->rounds;
    if (!d->work && (st = mcamp_work_init(ctx, &prefix, &work)) < 0) return st;
    st = mcamp__opt_init(ctx, d, d->work ? d->work : &work, &o);
    if (st >= 0) {
        st = mcamp__opt_drive(ctx, &o, measured, mech, out);
        mcamp__opt_free(ctx, &o);
    }
    mcamp_work_free(ctx, &work);
    return st;
}

/* Cyclic Poisson: 1, 2, 3, 4, 6, 8, 12, .. bands, until four in a row have not improved
 * the error: it falls and then rises in their number.                                */
MCAMP__PRIV mcamp_status mcamp__opt_best_bands(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                               mcamp_mech *mech, mcamp_opt_result *out)
{
    mcamp_opt_desc one = *d;
    mcamp_status st = MCAMP_E_INFEASIBLE, found = MCAMP_E_INFEASIBLE;
    double best = mcamp__inf();
    int idle = 0;
    for (size_t k = 0; idle < 4; k++) {
        mcamp_mech m;
        mcamp_opt_result r;
        double e;
        one.bands = k < 2 ? k + 1 : (k % 2 ? (size_t)2 : (size_t)3) << (k / 2 - (k % 2 ? 0 : 1));
        if (one.bands > d->batches || (d->max_bands && one.bands > d->max_bands)) break;
        st = mcamp__opt_once(ctx, &one, 1, &m, &r);
        if (st < 0 && mcamp__opt_fatal(st)) break;
        if (st < 0) continue;
        e = d->error == MCAMP_ERROR_MAX ? r.max_error : r.rmse;
        idle = e < best ? 0 : idle + 1;
        if (e < best) {
            if (found >= 0) mcamp_mech_free(ctx, mech);
            *mech = m; *out = r; best = e; found = st;
        } else {
            mcamp_mech_free(ctx, &m);
        }
        if (st == MCAMP_Q_INTERRUPTED) { found = st; break; }
    }
    if (found >= 0 && st < 0 && mcamp__opt_fatal(st)) mcamp_mech_free(ctx, mech);
    return st < 0 && (mcamp__opt_fatal(st) || found < 0) ? st : found;
}

/* *out = a BLT with one more buffer, of weight 0 and a fast decay: the same C. */
MCAMP__PRIV mcamp_status mcamp__opt_one_more(mcamp_ctx *ctx, const mcamp_mech *from,
                                             mcamp_mech *out)
{
    double theta[MCAMP_MAX_BUFFERS], omega[MCAMP_MAX_BUFFERS];
    size_t nb = from->buffers;
    mcamp_mech_desc d;
    memcpy(theta, from->theta, nb * sizeof *theta);
    for (size_t j = 0; j < nb; j++) omega[j] = from->omega[j] / from->diag;
    theta[nb] = 0.25 * theta[nb - 1];
    omega[nb] = 0;
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_BLT; d.n = from->n;
    d.theta = theta; d.omega = omega; d.buffers = nb + 1;
    d.scale = from->scale;
    return mcamp_mech_init(ctx, &d, out);
}

/* One optimisation from `start`; *mech, *out are replaced if it is the first or better.
 * MCAMP_Q_INTERRUPTED: try no other.                                                 */
MCAMP__PRIV mcamp_status mcamp__opt_better(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                           const mcamp_mech *start, mcamp_mech *mech,
                                           mcamp_opt_result *out)
{
    mcamp_opt_desc one = *d;
    mcamp_opt_result r;
    mcamp_mech m;
    mcamp_status st;
    one.start = start;
    st = mcamp__opt_once(ctx, &one, 1, &m, &r);
    if (st < 0) return mech->magic && !mcamp__opt_fatal(st) ? MCAMP_OK : st;
    if (mech->magic && !(d->error == MCAMP_ERROR_MAX ? r.max_error < out->max_error
                                                     : r.rmse < out->rmse)) {
        mcamp_mech_free(ctx, &m);
    } else {
        mcamp_mech_free(ctx, mech);
        *mech = m; *out = r;
    }
    return st == MCAMP_Q_INTERRUPTED ? st : MCAMP_OK;
}

/* The best of: from the square root's coefficients, from `from` (if it is one), and, for
 * more buffers than that has, from it with a new one.  from is freed.               */
MCAMP__PRIV mcamp_status mcamp__opt_starts(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                           mcamp_mech *from, mcamp_mech *mech,
                                           mcamp_opt_result *out)
{
    mcamp_mech more;
    mcamp_status st;
    memset(mech, 0, sizeof *mech);
    memset(&more, 0, sizeof more);
    st = mcamp__opt_better(ctx, d, NULL, mech, out);
    if (!st && from->magic) st = mcamp__opt_better(ctx, d, from, mech, out);
    if (!st && from->magic && from->buffers < d->buffers) {
        st = mcamp__opt_one_more(ctx, from, &more);
        if (!st) st = mcamp__opt_better(ctx, d, &more, mech, out);
        mcamp_mech_free(ctx, &more);
    }
    mcamp_mech_free(ctx, from);
    if (st < 0) mcamp_mech_free(ctx, mech);
    return st;
}

/* BLT of several epochs without amplification has local optima: 1, 2, .., 8 buffers
 * without factors, each from the best of one fewer, then the wanted number, then with
 * factors.                                                                          */
MCAMP__PRIV mcamp_status mcamp__opt_grow(mcamp_ctx *ctx, const mcamp_opt_desc *d,
                                         mcamp_mech *mech, mcamp_opt_result *out)
{
    mcamp_opt_desc one = *d;
    mcamp_mech from;
    mcamp_status st;
    int scaled = d->scale_degree || d->scale_free;
    memset(&from, 0, sizeof from);
    one.scale_degree = 0;
    one.scale_free = false;
    for (one.buffers = 1; ; ) {
        st = mcamp__opt_starts(ctx, &one, &from, mech, out);
        if (st) return st;
        if (one.buffers == d->buffers && !scaled) return out->status;
        from = *mech;
        if (one.buffers == d->buffers) break;
        one.buffers = one.buffers < 8 ? one.buffers + 1 : d->buffers;
    }
    st = mcamp__opt_starts(ctx, d, &from, mech, out);
    return st ? st : out->status;
}

MCAMP_API mcamp_status mcamp_opt_run(mcamp_ctx *ctx, const mcamp_opt_desc *desc,
                                     mcamp_mech *mech, mcamp_opt_result *out)
{
    MCAMP__GUARD;
    mcamp_opt_desc d;
    mcamp_opt_result r;
    mcamp_mech made;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!desc || !mech) return mcamp__fail(ctx, MCAMP_E_REQUIRED, desc ? "mech" : "desc", 0);
    if ((st = mcamp__opt_check(ctx, desc)) < 0) return st;
    if ((st = mcamp__opt_resolve(ctx, desc, &d)) < 0) return st;
    if (d.amplification == MCAMP_AMPLIFY_POISSON && !d.bands)
        st = mcamp__opt_best_bands(ctx, &d, &made, &r);
    else if (d.amplification == MCAMP_AMPLIFY_NONE && d.family == MCAMP_OPT_BLT && !d.start &&
             d.batches < d.rounds)
        st = mcamp__opt_grow(ctx, &d, &made, &r);
    else
        st = mcamp__opt_once(ctx, &d, 1, &made, &r);
    if (st < 0) return st;
    *mech = made;
    if (out) *out = r;
    return st;
}

/* ======================================================================== *
 *  CHOOSING C                                                       >>plan
 *  In: rounds, (eps, delta), what sampling and memory there is.  Out: a C, a proven
 *  sigma, and the table of what was tried.  Memory: that of one mcamp_opt_run and the
 *  best C so far.  Guarantee: sigma is certified for the C that is returned, from
 *  samples that no optimiser has seen; the choice is only as good as the table.
 * ======================================================================== */

typedef struct mcamp__planner {
    mcamp_opt_desc base;
    mcamp_plan_result *out;
    mcamp_mech best;
    double error;               /* of the best */
    int found;
    mcamp_status status;        /* the first that is not MCAMP_OK              */
    mcamp_progress outer;       /* the caller's                                */
    size_t expected;            /* rows                                        */
    double fraction;            /* reported last                               */
} mcamp__planner;

/* Progress of one row as progress of the plan, which never goes back. */
MCAMP__PRIV int mcamp__plan_progress(void *user, double fraction, double best)
{
    mcamp__planner *p = (mcamp__planner *)user;
    double done = ((double)p->out->rows + mcamp__dmax(fraction, 0)) / (double)p->expected;
    (void)best;                 /* of the row, without a factor */
    p->fraction = mcamp__dmin(mcamp__dmax(p->fraction, done), 1);
    return p->outer.fn(p->outer.user, p->fraction, p->found ? p->error : mcamp__nan());
}

/* Tries one row; keeps its C if it is the best.  Rows that fail stay in the table. */
MCAMP__PRIV mcamp_status mcamp__plan_try(mcamp_ctx *ctx, mcamp__planner *p,
                                         mcamp_opt_family family, size_t buffers,
                                         size_t bands, size_t degree)
{
    mcamp_plan_row *row = &p->out->row[p->out->rows];
    mcamp_opt_desc d = p->base;
    mcamp_mech mech;
    double e;
    if (p->out->rows == MCAMP_PLAN_ROWS || p->status > 0) return MCAMP_OK;
    d.family = family; d.buffers = buffers; d.scale_degree = degree;
    if (d.amplification == MCAMP_AMPLIFY_POISSON) d.max_bands = bands;
    else                                          d.bands = bands;
    row->family = family; row->amplification = d.amplification;
    row->buffers = buffers; row->bands = bands; row->scale_degree = degree;
    row->status = mcamp_opt_run(ctx, &d, &mech, &row->result);
    p->out->rows++;
    if (row->status < 0)
        return mcamp__opt_fatal(row->status) ? row->status : MCAMP_OK;
    row->bands = row->result.bands;
    row->memory = buffers ? buffers : row->bands - 1;
    if (row->status == MCAMP_Q_INTERRUPTED) p->status = row->status;
    e = d.error == MCAMP_ERROR_MAX ? row->result.max_error : row->result.rmse;
    if (p->found && !(e < p->error)) {
        mcamp_mech_free(ctx, &mech);
        return MCAMP_OK;
    }
    if (p->found) mcamp_mech_free(ctx, &p->best);
    p->best = mech; p->error = e; p->found = 1;
    p->out->best = p->out->rows - 1;
    return MCAMP_OK;
}

/* Numbers of buffers that are tried: 1, 2, 4, .. and the most that memory takes. */
MCAMP__PRIV size_t mcamp__plan_buffers(size_t last, size_t memory)
{
    size_t next = mcamp__zmin(last ? 2 * last : 1, mcamp__zmin(memory, 8));
    return next > last ? next : 0;
}

/* All rows of one amplification.  Column factors pay where an example's part in C x is
 * a sum of columns: neither for a single epoch nor where the largest column counts. */
MCAMP__PRIV mcamp_status mcamp__plan_rows(mcamp_ctx *ctx, mcamp__planner *p,
                                          mcamp_amplification amp, size_t memory)
{
    size_t bands = mcamp__zmin(memory + 1, p->base.rounds);
    size_t degree = p->base.batches < p->base.rounds ? 3 : 0;
    mcamp_status st;
    p->base.amplification = amp;
    if (amp == MCAMP_AMPLIFY_POISSON)
        return mcamp__plan_try(ctx, p, MCAMP_OPT_TOEPLITZ, 0, bands, 0);
    st = mcamp__plan_try(ctx, p, MCAMP_OPT_IDENTITY, 0, 0, 0);
    for (size_t d = mcamp__plan_buffers(0, memory); st >= 0 && d;
         d = mcamp__plan_buffers(d, memory))
        st = mcamp__plan_try(ctx, p, MCAMP_OPT_BLT, d, 0, degree);
    if (st >= 0) st = mcamp__plan_try(ctx, p, MCAMP_OPT_TOEPLITZ, 0, bands, degree);
    return st;
}

MCAMP__PRIV mcamp_status mcamp__plan_all(mcamp_ctx *ctx, mcamp__planner *p,
                                         unsigned sampling, size_t memory)
{
    mcamp_status st;
    size_t rows = 2;
    for (size_t d = mcamp__plan_buffers(0, memory); d; d = mcamp__plan_buffers(d, memory))
        rows++;
    p->expected = rows * (sampling & MCAMP_PLAN_BINS ? 2 : 1) +
                  (sampling & MCAMP_PLAN_POISSON ? 1 : 0);
    st = mcamp__plan_rows(ctx, p, MCAMP_AMPLIFY_NONE, memory);
    if (st >= 0 && (sampling & MCAMP_PLAN_POISSON))
        st = mcamp__plan_rows(ctx, p, MCAMP_AMPLIFY_POISSON, memory);
    if (st >= 0 && (sampling & MCAMP_PLAN_BINS))
        st = mcamp__plan_rows(ctx, p, MCAMP_AMPLIFY_BINS, memory);
    if (st >= 0 && !p->found) st = p->out->row[0].status;
    return st;
}

/* Balls in bins: a proof from samples of its own. */
MCAMP__PRIV mcamp_status mcamp__plan_prove(mcamp_ctx *ctx, mcamp__planner *p)
{
    const mcamp_opt_desc *d = &p->base;
    mcamp_gram gram;
    mcamp_claim c;
    mcamp_status st = mcamp_gram_init(ctx, &p->best, d->batches, &gram);
    if (st < 0) return st;
    memset(&c, 0, sizeof c);
    c.eps = d->eps; c.delta = d->delta; c.seed = d->budget.seed;
    c.beta = d->budget.beta > 0 ? d->budget.beta : d->delta;
    st = mcamp_calibrate_certified(ctx, &gram, &c, &p->out->guarantee);
    mcamp_gram_free(ctx, &gram);
    if (st < 0) return st;
    p->out->certified = p->out->guarantee.accepted;
    if (p->out->certified) p->out->sigma = p->out->guarantee.sigma;
    return st;
}

/* delta at (sigma, eps) of `count` Poisson-sampled Gaussian mechanisms, or, with q 0 or 1,
 * of as many without sampling.                                                      */
MCAMP__PRIV mcamp_status mcamp__plan_delta(mcamp_ctx *ctx, const mcamp_guarantee *g,
                                           uint64_t count, mcamp_interval *delta)
{
    mcamp_event e;
    mcamp_exact_desc x;
    memset(&e, 0, sizeof e);
    memset(&x, 0, sizeof x);
    e.kind = g->q > 0 && g->q < 1 ? MCAMP_EVENT_POISSON : MCAMP_EVENT_GAUSSIAN;
    e.count = count;
    e.sigma = g->sigma;
    e.sensitivity = g->sensitivity;
    e.q = e.kind == MCAMP_EVENT_POISSON ? g->q : 0;
    x.rel_error = 1e-3;
    delta->lower = 0;
    delta->upper = 1;
    return mcamp_exact_delta(ctx, &e, 1, &x, g->eps, delta, NULL);
}

/* The others: from C alone, whether sigma (a little above what the optimiser says, for
 * the rounding of the norm) keeps delta by section gauss or exact: proven, or nothing. */
MCAMP__PRIV mcamp_status mcamp__plan_check_sigma(mcamp_ctx *ctx, mcamp__planner *p)
{
    const mcamp_opt_desc *d = &p->base;
    const mcamp_plan_row *row = &p->out->row[p->out->best];
    mcamp_guarantee *g = &p->out->guarantee;
    int poisson = row->amplification == MCAMP_AMPLIFY_POISSON;
    size_t cycle = poisson ? p->best.bands : d->batches, uses = (d->rounds - 1) / cycle + 1;
    mcamp_interval delta;
    mcamp_sens sens;
    mcamp_status st = mcamp_sens_fixed(ctx, &p->best, poisson ? 1 : uses, d->batches, &sens);
    if (st < 0) return st;
    mcamp__guarantee_set(g, &p->best, poisson ? MCAMP_KIND_INTERVAL : MCAMP_KIND_CLOSED,
                         poisson ? MCAMP_BATCH_POISSON : MCAMP_BATCH_SHUFFLE, cycle);
    g->asked = MCAMP_ASK_DELTA;
    g->sigma = p->out->sigma = row->result.sigma * (1 + 1e-9);
    g->sensitivity = sens.value * (1 + 1e-13);
    g->q = poisson ? (double)cycle / (double)d->batches : 0;
    g->eps = d->eps; g->delta = d->delta;
    st = mcamp__plan_delta(ctx, g, poisson ? uses : 1, &delta);
    if (st < 0) return st;
    g->lower = delta.lower; g->upper = delta.upper;
    p->out->certified = delta.upper <= d->delta;
    g->accepted = p->out->certified;
    if (!g->accepted) g->kind = MCAMP_KIND_NONE;
    return MCAMP_OK;
}

MCAMP__PRIV mcamp_status mcamp__plan_certify(mcamp_ctx *ctx, mcamp__planner *p)
{
    const mcamp_plan_row *row = &p->out->row[p->out->best];
    mcamp_ctx inner = *ctx;
    mcamp_status st;
    inner.progress.fn = NULL;
    p->out->sigma = row->result.sigma;
    st = row->amplification == MCAMP_AMPLIFY_BINS ? mcamp__plan_prove(&inner, p)
                                                  : mcamp__plan_check_sigma(&inner, p);
    if (st < 0) { ctx->err = inner.err; return st; }
    p->out->rmse = p->out->sigma * row->result.unit.rmse;
    p->out->max_error = p->out->sigma * row->result.unit.max;
    if (row->amplification != MCAMP_AMPLIFY_BINS) st = MCAMP_OK;
    return st == MCAMP_OK && !p->out->certified ? MCAMP_Q_REFUSED : st;
}

/* What was chosen so far, with the estimate of its sigma: nothing is proven. */
MCAMP__PRIV mcamp_status mcamp__plan_interrupted(mcamp__planner *p)
{
    const mcamp_plan_row *row = &p->out->row[p->out->best];
    mcamp_guarantee *g = &p->out->guarantee;
    mcamp__guarantee_start(g, MCAMP_BATCH_BINS, p->base.rounds, p->base.batches);
    g->interrupted = true;
    g->eps = p->base.eps; g->delta = p->base.delta;
    g->sigma = p->out->sigma = row->result.sigma;
    g->strategy_digest = p->best.digest;
    p->out->rmse = row->result.rmse;
    p->out->max_error = row->result.max_error;
    return p->status;
}

MCAMP__PRIV mcamp_status mcamp__plan_check(mcamp_ctx *ctx, const mcamp_plan_desc *d,
                                           size_t *n, size_t *batches)
{
    mcamp_budget b;
    mcamp_status st;
    if (d->start_canary || d->end_canary)
        return mcamp__fail(ctx, MCAMP_E_CANARY, "desc", 0);
    st = mcamp__shape(ctx, d->rounds, d->batches, d->epochs, n, batches);
    if (st < 0) return st;
    if (*batches > *n) return mcamp__fail(ctx, MCAMP_E_SIZE, "batches", (double)*batches);
    if (d->sampling > (MCAMP_PLAN_BINS | MCAMP_PLAN_POISSON))
        return mcamp__fail(ctx, MCAMP_E_ARG, "sampling", (double)d->sampling);
    if ((int)d->error < 0 || d->error > MCAMP_ERROR_MAX)
        return mcamp__fail(ctx, MCAMP_E_ARG, "error", (double)d->error);
    if (d->work && d->work->n != *n)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "work", (double)d->work->n);
    if ((st = mcamp__check_eps(ctx, "eps", d->eps)) < 0) return st;
    if ((st = mcamp__check_prob(ctx, "delta", d->delta)) < 0) return st;
    return mcamp__budget_resolve(ctx, &d->budget, &b);
}

MCAMP__PRIV void mcamp__plan_begin(mcamp__planner *p, const mcamp_plan_desc *d, size_t n,
                                   size_t batches, mcamp_plan_result *r)
{
    memset(p, 0, sizeof *p);
    memset(r, 0, sizeof *r);
    p->out = r;
    p->base.rounds = r->rounds = n;
    p->base.batches = r->batches = batches;
    p->base.eps = r->eps = d->eps;
    p->base.delta = r->delta = d->delta;
    p->base.work = d->work; p->base.error = d->error; p->base.budget = d->budget;
}

MCAMP_API mcamp_status mcamp_plan(mcamp_ctx *ctx, const mcamp_plan_desc *desc,
                                  mcamp_mech *mech, mcamp_plan_result *out)
{
    MCAMP__GUARD;
    mcamp__planner p;
    mcamp_plan_result *r;
    mcamp_ctx inner;
    size_t n, batches;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!desc || !mech || !out)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, !desc ? "desc" : !mech ? "mech" : "out", 0);
    if ((st = mcamp__plan_check(ctx, desc, &n, &batches)) < 0) return st;
    r = (mcamp_plan_result *)mcamp__new(ctx, 1, sizeof *r);
    if (!r) return mcamp__fail(ctx, MCAMP_E_MEMORY, "plan", 0);
    mcamp__plan_begin(&p, desc, n, batches, r);
    inner = *ctx;
    p.outer = ctx->progress;
    if (ctx->progress.fn) {
        inner.progress.fn = mcamp__plan_progress;
        inner.progress.user = &p;
    }
    st = mcamp__plan_all(&inner, &p, desc->sampling, desc->memory ? desc->memory : 4);
    if (st >= 0) st = p.status ? mcamp__plan_interrupted(&p) : mcamp__plan_certify(&inner, &p);
    if (st >= 0) {
        *mech = p.best;
        *out = *r;
    } else {
        if (p.found) mcamp_mech_free(ctx, &p.best);
        ctx->err = inner.err;
    }
    mcamp__delete(ctx, r, 1, sizeof *r);
    return st;
}

/* ======================================================================== *
 *  RECORDS                                                        >>record
 *  In: a guarantee and its C.  Out: one text that holds both, and the way back; the
 *  digits of every number that is printed.  Guarantee: a number that is read is the
 *  double that was written, a shown one is rounded to the side that was asked for,
 *  whatever the locale; what was edited, cut or made by a newer version is refused.
 * ======================================================================== */

#ifndef MCAMP_NO_STDLIB

/* ---- decimals ------------------------------------------------------------- *
 * Digits and an exponent, as an integer times a power of ten: so that neither printing
 * nor reading ever meets a locale's decimal point.                                  */

typedef struct mcamp__decimal {
    char digit[20];             /* count digits, d.ddd times 10^exponent        */
    int count, exponent, negative;
} mcamp__decimal;

enum { MCAMP__DOWN = -1, MCAMP__EXACT = 0, MCAMP__UP = 1 };

/* x, finite, to `count` digits, to nearest. */
MCAMP__PRIV mcamp__decimal mcamp__decimal_of(double x, int count)
{
    mcamp__decimal d;
    char buf[40], *p = buf;
    int n = 0;
    snprintf(buf, sizeof buf, "%.*e", count - 1, fabs(x));
    for (; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') d.digit[n++] = *p;
    d.count = n;
    d.exponent = atoi(p + 1);
    d.negative = x < 0;
    return d;
}

/* The double nearest to it. */
MCAMP__PRIV double mcamp__decimal_value(const mcamp__decimal *d)
{
    char buf[48];
    double x;
    snprintf(buf, sizeof buf, "%.*se%d", d->count, d->digit, d->exponent - d->count + 1);
    x = strtod(buf, NULL);
    return d->negative ? -x : x;
}

/* One unit in the last place away from zero, or towards it. */
MCAMP__PRIV void mcamp__decimal_step(mcamp__decimal *d, int away)
{
    char last = away ? '9' : '0', first = away ? '0' : '9';
    int i = d->count - 1;
    while (i >= 0 && d->digit[i] == last) d->digit[i--] = first;
    if (i >= 0) d->digit[i] = (char)(d->digit[i] + (away ? 1 : -1));
    if (i < 0 || (i == 0 && d->digit[0] == '0')) {      /* 99 -> 100, 100 -> 99 */
        d->digit[0] = away ? '1' : '9';
        d->exponent += away ? 1 : -1;
    }
}

/* x, finite, to `count` digits that read back as no less (MCAMP__UP), no more
 * (MCAMP__DOWN) than x; MCAMP__EXACT: to the fewest that read back as x.             */
MCAMP__PRIV mcamp__decimal mcamp__decimal_round(double x, int count, int side)
{
    mcamp__decimal d = mcamp__decimal_of(x, count);
    double y;
    for (int n = side == MCAMP__EXACT ? 1 : count; n <= 17; n++) {
        d = mcamp__decimal_of(x, n);
        y = mcamp__decimal_value(&d);
        if (side == MCAMP__EXACT ? mcamp__eq(x, y) || n == 17
                                 : side == MCAMP__UP ? y >= x : y <= x) break;
        if (side == MCAMP__EXACT) continue;
        mcamp__decimal_step(&d, (side == MCAMP__UP) == (x > 0));
        if (mcamp__finite(mcamp__decimal_value(&d))) break;
    }
    return d;
}

/* As %g would, with a point. */
MCAMP__PRIV void mcamp__decimal_text(const mcamp__decimal *d, char buf[48])
{
    int n = d->count, e = d->exponent, shift = e < -4 || e > 9 ? 0 : e;
    char *p = buf;
    while (n > 1 && d->digit[n - 1] == '0') n--;
    if (d->negative) *p++ = '-';
    if (shift < 0) {
        *p++ = '0'; *p++ = '.';
        for (int i = shift + 1; i < 0; i++) *p++ = '0';
    }
    for (int i = 0; i < n || i <= shift; i++) {
        if (i && i == shift + 1) *p++ = '.';
        *p++ = i < n ? d->digit[i] : '0';
    }
    *p = 0;
    if (shift != e)
        snprintf(p, (size_t)(buf + 48 - p), e < 0 ? "e-%02d" : "e+%02d", e < 0 ? -e : e);
}

/* -12.5e-7 and the like, all of text[0 .. size-1]. */
MCAMP__PRIV int mcamp__decimal_read(const char *text, size_t size, double *x)
{
    char buf[80];
    size_t n = 0, point = 0, i = size && text[0] == '-';
    long e = 0;
    int negative = (int)i, seen = 0, sign = 1, places = 0;
    for (; i < size && n < 60; i++) {
        if (text[i] == '.' && !seen && n) { seen = 1; point = n; }
        else if (text[i] >= '0' && text[i] <= '9') buf[n++] = text[i];
        else break;
    }
    if (!n || (seen && point == n)) return 0;
    if (i < size) {
        if (text[i++] != 'e') return 0;
        if (i < size && (text[i] == '-' || text[i] == '+')) sign = text[i++] == '-' ? -1 : 1;
        for (; i < size && places < 4 && text[i] >= '0' && text[i] <= '9'; i++, places++)
            e = 10 * e + (text[i] - '0');
        if (!places || i < size) return 0;
    }
    e = sign * e - (seen ? (long)(n - point) : 0);
    snprintf(buf + n, sizeof buf - n, "e%ld", e);
    *x = strtod(buf, NULL);
    if (negative) *x = -*x;
    return mcamp__finite(*x);
}

/* ---- writing ---------------------------------------------------------------- */

/* A writer that remembers that it failed, and sums up what went through. */
typedef struct mcamp__out {
    const mcamp_writer *w;
    int failed, items;
    int deep;                   /* sentences stand in a statement's items          */
    uint64_t sum;
} mcamp__out;

#define MCAMP__SUM_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a: one byte that differs always shows, as each step is invertible. */
MCAMP__PRIV uint64_t mcamp__text_sum(uint64_t sum, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return sum;
}

MCAMP__PRIV mcamp__out mcamp__out_open(const mcamp_writer *w)
{
    mcamp__out o;
    o.w = w;
    o.failed = o.items = o.deep = 0;
    o.sum = MCAMP__SUM_START;
    return o;
}

MCAMP__PRIV void mcamp__put_n(mcamp__out *o, const char *text, size_t n)
{
    o->sum = mcamp__text_sum(o->sum, text, n);
    if (!o->failed) o->failed = o->w->write(o->w->user, text, n) != 0;
}

MCAMP__PRIV void mcamp__put(mcamp__out *o, const char *text)
{
    mcamp__put_n(o, text, strlen(text));
}

/* x to `digits` digits, rounded to a side. */
MCAMP__PRIV const char *mcamp__rounded_text(double x, int digits, int side, char buf[48])
{
    mcamp__decimal d;
    if (!mcamp__finite(x)) return mcamp__isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
    d = mcamp__decimal_round(x + 0.0, digits, side);
    mcamp__decimal_text(&d, buf);
    return buf;
}

MCAMP__PRIV const char *mcamp__count_text(uint64_t n, char buf[24])
{
    char *p = buf + 23;
    *p = 0;
    do { *--p = (char)('0' + n % 10); n /= 10; } while (n);
    return p;
}

MCAMP__PRIV const char *mcamp__digest_text(uint64_t digest, char buf[24])
{
    for (int i = 0; i < 16; i++) buf[i] = "0123456789abcdef"[(digest >> (60 - 4 * i)) & 15];
    buf[16] = 0;
    return buf;
}

MCAMP__PRIV const char *mcamp__version_text(int version, char buf[48])
{
    snprintf(buf, 48, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    return buf;
}

MCAMP__PRIV void mcamp__put_rounded(mcamp__out *o, double x, int digits, int side)
{
    char buf[48];
    mcamp__put(o, mcamp__rounded_text(x, digits, side, buf));
}

MCAMP__PRIV void mcamp__put_exact(mcamp__out *o, double x)
{
    mcamp__put_rounded(o, x, 17, MCAMP__EXACT);
}

MCAMP__PRIV void mcamp__put_count(mcamp__out *o, uint64_t n)
{
    char buf[24];
    mcamp__put(o, mcamp__count_text(n, buf));
}

/* ---- fields ------------------------------------------------------------------- *
 * One list of the fields of a guarantee, gone through for writing as JSON (strings in
 * quotes, what is not finite null), for writing as lines and for reading lines.     */

typedef struct mcamp__visit {
    mcamp__out *o;              /* written to; NULL: reads                          */
    int json;
    const char *text, *end;     /* what is left to read                             */
    const char *suffix;         /* of the keys                                      */
    const char *bad;            /* the first key that was not found or not good     */
} mcamp__visit;

MCAMP__PRIV mcamp__visit mcamp__visit_start(mcamp__out *o, const char *text, size_t size)
{
    mcamp__visit v;
    memset(&v, 0, sizeof v);
    v.o = o;
    v.text = text;
    v.end = text ? text + size : NULL;
    v.suffix = "";
    return v;
}

MCAMP__PRIV void mcamp__visit_word(mcamp__visit *v, const char *key, const char *word, int quoted)
{
    const char *quote = v->json && quoted ? "\"" : "";
    if (v->json) mcamp__put(v->o, v->o->items++ ? ", \"" : "{\"");
    mcamp__put(v->o, key);
    mcamp__put(v->o, v->suffix);
    mcamp__put(v->o, v->json ? "\": " : ": ");
    mcamp__put(v->o, quote);
    mcamp__put(v->o, word);
    mcamp__put(v->o, v->json ? quote : "\n");
}

MCAMP__PRIV int mcamp__visit_eat(mcamp__visit *v, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(v->end - v->text) < n || memcmp(v->text, text, n) != 0) return 0;
    v->text += n;
    return 1;
}

/* The value of the line that must be next; its length, 0 if it is not there. */
MCAMP__PRIV size_t mcamp__visit_line(mcamp__visit *v, const char *key, const char **value)
{
    size_t n = 0;
    *value = "";
    if (v->bad) return 0;
    if (mcamp__visit_eat(v, key) && mcamp__visit_eat(v, v->suffix) &&
        mcamp__visit_eat(v, ": ")) {
        *value = v->text;
        while (v->text < v->end && *v->text != '\n') v->text++;
        n = (size_t)(v->text - *value);
    }
    if (!mcamp__visit_eat(v, "\n") || !n) v->bad = key;
    return v->bad ? 0 : n;
}

/* Digits of a base up to 16 and nothing else, decimal ones without a leading zero. */
MCAMP__PRIV int mcamp__digits_read(const char *text, size_t n, unsigned base, uint64_t *x)
{
    *x = 0;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)text[i];
        unsigned d = (unsigned)(c >= '0' && c <= '9' ? c - '0'
                                : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16);
        if (d >= base || *x > (UINT64_MAX - d) / base || (base == 10 && i && !*x)) return 0;
        *x = base * *x + d;
    }
    return n > 0;
}

MCAMP__PRIV uint64_t mcamp__visit_count(mcamp__visit *v, const char *key, uint64_t x)
{
    const char *text;
    char buf[24];
    size_t n;
    if (v->o) { mcamp__visit_word(v, key, mcamp__count_text(x, buf), 0); return x; }
    n = mcamp__visit_line(v, key, &text);
    if (!v->bad && !mcamp__digits_read(text, n, 10, &x)) v->bad = key;
    return v->bad ? 0 : x;
}

MCAMP__PRIV double mcamp__visit_real(mcamp__visit *v, const char *key, double x)
{
    const char *text;
    char buf[48];
    size_t n;
    if (v->o) {
        mcamp__visit_word(v, key, v->json && !mcamp__finite(x) ? "null"
                          : mcamp__rounded_text(x, 17, MCAMP__EXACT, buf), 0);
        return x;
    }
    n = mcamp__visit_line(v, key, &text);
    if (n == 3 && !memcmp(text, "inf", 3)) return mcamp__inf();
    if (n == 4 && !memcmp(text, "-inf", 4)) return -mcamp__inf();
    x = 0;
    if (!v->bad && !mcamp__decimal_read(text, n, &x)) v->bad = key;
    return x;
}

/* The place of the line's value among names. */
MCAMP__PRIV int mcamp__visit_name(mcamp__visit *v, const char *key, int x,
                                  const char *const *name, int names)
{
    const char *text;
    size_t n;
    if (v->o) {
        mcamp__visit_word(v, key, x >= 0 && x < names ? name[x] : "unknown", 1);
        return x;
    }
    n = mcamp__visit_line(v, key, &text);
    for (x = 0; n && x < names; x++)
        if (strlen(name[x]) == n && !memcmp(name[x], text, n)) return x;
    if (!v->bad) v->bad = key;
    return 0;
}

MCAMP__PRIV bool mcamp__visit_bool(mcamp__visit *v, const char *key, bool x)
{
    static const char *const name[] = { "false", "true" };
    if (v->o) { mcamp__visit_word(v, key, name[x], 0); return x; }
    return mcamp__visit_name(v, key, x, name, 2) != 0;
}

MCAMP__PRIV uint64_t mcamp__visit_digest(mcamp__visit *v, const char *key, uint64_t x)
{
    const char *text;
    char buf[24];
    size_t n;
    if (v->o) { mcamp__visit_word(v, key, mcamp__digest_text(x, buf), 1); return x; }
    n = mcamp__visit_line(v, key, &text);
    if (!v->bad && (n != 16 || !mcamp__digits_read(text, n, 16, &x))) v->bad = key;
    return v->bad ? 0 : x;
}

/* "0.2.0": each number below 100. */
MCAMP__PRIV int mcamp__visit_version(mcamp__visit *v, const char *key, int x)
{
    const char *text;
    char buf[48];
    uint64_t d;
    size_t n;
    if (v->o) { mcamp__visit_word(v, key, mcamp__version_text(x, buf), 1); return x; }
    n = mcamp__visit_line(v, key, &text);
    x = 0;
    for (int part = 0; part < 3 && !v->bad; part++) {
        size_t m = 0;
        while (m < n && text[m] != '.') m++;
        if (m > 2 || (m < n) != (part < 2) || !mcamp__digits_read(text, m, 10, &d)) v->bad = key;
        else x = 100 * x + (int)d;
        text += m + 1;
        n -= m < n ? m + 1 : m;
    }
    return v->bad ? 0 : x;
}

#define MCAMP__NAMES(a) (a), (int)(sizeof(a) / sizeof *(a))

static const char *const mcamp__kind_names[] = {
    "none", "estimate", "verified claim", "certified interval", "closed form" };
static const char *const mcamp__asked_names[] = {
    "none", "delta", "epsilon", "sigma", "q", "count", "unit" };
static const char *const mcamp__direction_names[] = { "both", "remove", "add" };
static const char *const mcamp__adjacency_names[] = {
    "none", "add or remove one example (zero-out)", "zero-out of one example" };
static const char *const mcamp__law_names[] = {
    "none", "balls in bins", "cyclic Poisson", "cyclic, fixed size", "b-min-sep Poisson",
    "shuffle, not amplified" };
static const char *const mcamp__method_names[] = {
    "none", "plain", "tilted", "common", "mode", "exact" };
static const char *const mcamp__mech_names[] = {
    "none", "identity", "toeplitz", "sqrt", "banded", "blt", "dense", "inverse",
    "inverse sqrt", "tree", "padded tree" };

MCAMP__PRIV void mcamp__visit_proof(mcamp__visit *v, const char *suffix, mcamp_proof *p)
{
    v->suffix = suffix;
    p->method = (mcamp_method)mcamp__visit_name(v, "method", (int)p->method,
                                                MCAMP__NAMES(mcamp__method_names));
    p->accepted = mcamp__visit_bool(v, "accepted", p->accepted);
    p->order = mcamp__visit_count(v, "order", p->order);
    p->range = mcamp__visit_real(v, "range", p->range);
    p->bound = mcamp__visit_real(v, "bound", p->bound);
    p->stake = mcamp__visit_real(v, "stake", p->stake);
    p->log_wealth = mcamp__visit_real(v, "log_wealth", p->log_wealth);
    p->value = mcamp__visit_real(v, "delta", p->value);
    p->std_error = mcamp__visit_real(v, "stderr", p->std_error);
    p->lower = mcamp__visit_real(v, "lower", p->lower);
    p->upper = mcamp__visit_real(v, "upper", p->upper);
    p->samples = mcamp__visit_count(v, "samples", p->samples);
    v->suffix = "";
}

/* Whom and what it is about. */
MCAMP__PRIV void mcamp__visit_setting(mcamp__visit *v, mcamp_guarantee *g)
{
    g->kind = (mcamp_guarantee_kind)mcamp__visit_name(v, "kind", (int)g->kind,
                                                      MCAMP__NAMES(mcamp__kind_names));
    g->accepted = mcamp__visit_bool(v, "accepted", g->accepted);
    g->interrupted = mcamp__visit_bool(v, "interrupted", g->interrupted);
    g->asked = (mcamp_quantity)mcamp__visit_name(v, "asked", (int)g->asked,
                                                 MCAMP__NAMES(mcamp__asked_names));
    g->direction = (mcamp_direction)mcamp__visit_name(v, "direction", (int)g->direction,
                                                      MCAMP__NAMES(mcamp__direction_names));
    g->adjacency = (mcamp_adjacency)mcamp__visit_name(v, "adjacency", (int)g->adjacency,
                                                      MCAMP__NAMES(mcamp__adjacency_names));
    g->unit = mcamp__visit_count(v, "unit", g->unit);
    g->law = (mcamp_batch_law)mcamp__visit_name(v, "sampling", (int)g->law,
                                                MCAMP__NAMES(mcamp__law_names));
    g->rounds = mcamp__visit_count(v, "rounds", g->rounds);
    g->batches = mcamp__visit_count(v, "batches", g->batches);
    g->epochs = mcamp__visit_count(v, "epochs", g->epochs);
    g->examples = mcamp__visit_count(v, "examples", g->examples);
    g->count = mcamp__visit_count(v, "count", g->count);
}

MCAMP__PRIV void mcamp__visit_guarantee(mcamp__visit *v, mcamp_guarantee *g)
{
    g->version = mcamp__visit_version(v, "version", g->version);
    mcamp__visit_setting(v, g);
    g->eps = mcamp__visit_real(v, "epsilon", g->eps);
    g->delta = mcamp__visit_real(v, "delta", g->delta);
    g->sigma = mcamp__visit_real(v, "sigma", g->sigma);
    g->q = mcamp__visit_real(v, "q", g->q);
    g->sensitivity = mcamp__visit_real(v, "sensitivity", g->sensitivity);
    g->beta = mcamp__visit_real(v, "beta", g->beta);
    g->points = mcamp__visit_count(v, "points", g->points);
    g->std_error = mcamp__visit_real(v, "stderr", g->std_error);
    g->lower = mcamp__visit_real(v, "lower", g->lower);
    g->upper = mcamp__visit_real(v, "upper", g->upper);
    g->unamplified = mcamp__visit_real(v, "unamplified", g->unamplified);
    mcamp__visit_proof(v, "_remove", &g->remove);
    mcamp__visit_proof(v, "_add", &g->add);
    g->seed = mcamp__visit_count(v, "seed", g->seed);
    g->samples = mcamp__visit_count(v, "samples", g->samples);
    g->max_samples = mcamp__visit_count(v, "max_samples", g->max_samples);
    g->rung = mcamp__visit_count(v, "rung", g->rung);
    g->rungs = mcamp__visit_count(v, "rungs", g->rungs);
    g->strategy_digest = mcamp__visit_digest(v, "strategy_digest", g->strategy_digest);
    g->gram_digest = mcamp__visit_digest(v, "gram_digest", g->gram_digest);
}

/* ---- C ---------------------------------------------------------------------- */

/* A list: the number of its values, then one a line.  Reading allocates; a number that
 * the text is too short for is refused before.                                      */
MCAMP__PRIV void mcamp__visit_list(mcamp__visit *v, mcamp_ctx *ctx, const char *count_key,
                                   const char *key, size_t *count, double **x)
{
    *count = (size_t)mcamp__visit_count(v, count_key, (uint64_t)*count);
    if (!v->o && !v->bad && *count) {
        if (*count > (size_t)(v->end - v->text) / (strlen(key) + 4)) v->bad = count_key;
        else if (!(*x = mcamp__new_doubles(ctx, *count))) v->bad = "memory";
        if (v->bad) *count = 0;
    }
    for (size_t i = 0; i < *count && !v->bad; i++)
        (*x)[i] = mcamp__visit_real(v, key, (*x)[i]);
}

/* What makes C, to the bit. */
MCAMP__PRIV void mcamp__visit_mech(mcamp__visit *v, mcamp_ctx *ctx, mcamp_mech *m)
{
    size_t theta = m->buffers, omega = m->buffers, scale = m->scale ? m->n : 0;
    m->kind = (mcamp_mech_kind)mcamp__visit_name(v, "strategy", (int)m->kind,
                                                 MCAMP__NAMES(mcamp__mech_names));
    m->n = (size_t)mcamp__visit_count(v, "strategy_rounds", (uint64_t)m->n);
    m->bands = (size_t)mcamp__visit_count(v, "bands", (uint64_t)m->bands);
    m->diag = mcamp__visit_real(v, "diag", m->diag);
    mcamp__visit_list(v, ctx, "coefs", "coef", &m->count, &m->coef);
    mcamp__visit_list(v, ctx, "thetas", "theta", &theta, &m->theta);
    m->buffers = theta;
    mcamp__visit_list(v, ctx, "omegas", "omega", &omega, &m->omega);
    if (omega != theta) {
        mcamp__delete_doubles(ctx, m->omega, omega);
        m->omega = NULL;
        v->bad = "omegas";
    }
    mcamp__visit_list(v, ctx, "inverses", "inverse", &m->inverse_bands, &m->inverse);
    mcamp__visit_list(v, ctx, "scales", "scale", &scale, &m->scale);
    if (scale && scale != m->n) {
        mcamp__delete_doubles(ctx, m->scale, scale);
        m->scale = NULL;
        v->bad = "scales";
    }
}

MCAMP__PRIV mcamp_mech_form mcamp__mech_form(mcamp_mech_kind kind)
{
    switch ((int)kind) {
    case MCAMP_MECH_BLT:         return MCAMP_FORM_BLT;
    case MCAMP_MECH_BANDED:
    case MCAMP_MECH_DENSE:
    case MCAMP_MECH_TREE:
    case MCAMP_MECH_TREE_PADDED: return MCAMP_FORM_ROWS;
    default:                     return MCAMP_FORM_TOEPLITZ;
    }
}

/* The sizes that a C of this form has. */
MCAMP__PRIV int mcamp__mech_sizes_ok(const mcamp_mech *m)
{
    size_t rows = 0;
    int inverse = m->kind == MCAMP_MECH_INVERSE || m->kind == MCAMP_MECH_INVERSE_SQRT;
    if (!mcamp__rounds_ok(m->n) || !m->bands || m->bands > m->n) return 0;
    if (inverse != (m->inverse_bands > 0) || m->inverse_bands > m->n) return 0;
    if (m->form == MCAMP_FORM_BLT)
        return m->buffers && m->buffers <= MCAMP_MAX_BUFFERS && !m->count && m->bands == m->n;
    if (m->buffers || m->diag > 0 || m->diag < 0) return 0;
    if (m->form == MCAMP_FORM_TOEPLITZ) return m->count == m->bands;
    return !m->scale && mcamp__rows_count(m->n, m->bands, &rows) && m->count == rows;
}

/* Noise comes from the inverse's coefficients, privacy from C's: they must agree. */
MCAMP__PRIV mcamp_status mcamp__mech_check_inverse(mcamp_ctx *ctx, const mcamp_mech *m)
{
    double *c, worst = 0;
    if (!m->inverse) return MCAMP_OK;
    if (!(m->inverse[0] >= MCAMP__SIGMA_MIN))
        return mcamp__fail(ctx, MCAMP_E_STRATEGY, "inverse", m->inverse[0]);
    if (!(c = mcamp__new_doubles(ctx, m->n)))
        return mcamp__fail(ctx, MCAMP_E_MEMORY, "inverse", (double)m->n);
    c[0] = 1.0;
    mcamp__deconv(m->inverse, m->inverse_bands, c, m->n);
    for (size_t i = 0; i < m->n; i++)
        worst = mcamp__dmax(worst, fabs(c[i] - (i < m->count ? m->coef[i] : 0)));
    mcamp__delete_doubles(ctx, c, m->n);
    return worst <= 1e-9 * fabs(m->coef[0]) ? MCAMP_OK
         : mcamp__fail(ctx, MCAMP_E_STRATEGY, "inverse", worst);
}

/* Makes an object of what was read, after the checks of mcamp_mech_init. */
MCAMP__PRIV mcamp_status mcamp__mech_revive(mcamp_ctx *ctx, mcamp_mech *m)
{
    mcamp_status st = MCAMP_OK;
    m->form = mcamp__mech_form(m->kind);
    if (!mcamp__mech_sizes_ok(m)) return mcamp__fail(ctx, MCAMP_E_SIZE, "strategy", 0);
    if (m->coef) st = mcamp__check_values(ctx, "coef", m->coef, m->count);
    if (st == MCAMP_OK && m->inverse)
        st = mcamp__check_values(ctx, "inverse", m->inverse, m->inverse_bands);
    if (st == MCAMP_OK && m->omega) st = mcamp__check_values(ctx, "omega", m->omega, m->buffers);
    for (size_t j = 0; st == MCAMP_OK && j < m->buffers; j++)
        st = mcamp__check(ctx, "theta", m->theta[j], 0, 1, 1, 1);
    for (size_t j = 0; st == MCAMP_OK && m->scale && j < m->n; j++)
        st = mcamp__check(ctx, "scale", m->scale[j], MCAMP__SIGMA_MIN, 1,
                          MCAMP__SIGMA_MAX / mcamp__dmax(mcamp__toeplitz_bound(m), 1), 1);
    if (st == MCAMP_OK) st = mcamp__mech_check_diag(ctx, m);
    if (st == MCAMP_OK) st = mcamp__mech_check_inverse(ctx, m);
    if (st < 0) return st;
    m->negative = mcamp__mech_any_negative(m);
    m->digest = mcamp__mech_hash(m);
    m->magic = MCAMP__MECH_MAGIC;
    return MCAMP_OK;
}

/* ---- the file ---------------------------------------------------------------- *
 * "mcamp record: 1", the guarantee's fields, C, and a checksum of all of that.     */

#define MCAMP__RECORD_FORMAT 1

MCAMP_API mcamp_status mcamp_record_write(const mcamp_guarantee *guarantee,
                                          const mcamp_mech *mech, const mcamp_writer *w)
{
    MCAMP__GUARD;
    mcamp_guarantee g;
    mcamp_mech m;
    mcamp__visit v;
    mcamp__out o;
    uint64_t sum;
    if (!guarantee || !mech || !w || !w->write) return MCAMP_E_REQUIRED;
    if (guarantee->magic != MCAMP__GUARANTEE_MAGIC || !mcamp__mech_ok(mech)) return MCAMP_E_ARG;
    if (mech->digest != guarantee->strategy_digest) return MCAMP_E_MISMATCH;
    g = *guarantee;
    m = *mech;
    o = mcamp__out_open(w);
    v = mcamp__visit_start(&o, NULL, 0);
    mcamp__visit_count(&v, "mcamp record", MCAMP__RECORD_FORMAT);
    mcamp__visit_guarantee(&v, &g);
    mcamp__visit_mech(&v, NULL, &m);
    sum = o.sum;
    mcamp__visit_digest(&v, "checksum", sum);
    return o.failed ? MCAMP_Q_INTERRUPTED : MCAMP_OK;
}

/* The checksum, before anything else but the versions is believed. */
MCAMP__PRIV mcamp_status mcamp__record_check(mcamp_ctx *ctx, const char *text, size_t size)
{
    static const size_t tail = 10 + 16 + 1;         /* "checksum: ", its digits, "\n" */
    mcamp__visit v;
    uint64_t format, sum;
    int version;
    v = mcamp__visit_start(NULL, text, size);
    format = mcamp__visit_count(&v, "mcamp record", 0);
    if (v.bad || !format) return mcamp__fail(ctx, MCAMP_E_BLOB, "record", 0);
    version = mcamp__visit_version(&v, "version", 0);
    if (format > MCAMP__RECORD_FORMAT || (!v.bad && version > MCAMP_VERSION))
        return mcamp__fail(ctx, MCAMP_E_BLOB, "version", (double)version);
    v.bad = NULL;
    v.text = v.end - (size < tail ? size : tail);
    sum = mcamp__text_sum(MCAMP__SUM_START, text, (size_t)(v.text - text));
    format = mcamp__visit_digest(&v, "checksum", 0);
    if (v.bad || v.text != v.end || format != sum)
        return mcamp__fail(ctx, MCAMP_E_BLOB, "checksum", 0);
    return MCAMP_OK;
}

/* Fields that contradict each other. */
MCAMP__PRIV mcamp_status mcamp__record_sane(mcamp_ctx *ctx, const mcamp_guarantee *g,
                                            const mcamp_mech *m)
{
    int proven = (int)g->kind >= (int)MCAMP_KIND_VERIFIED;
    int fixed = mcamp__law_moves_others(g->law, g->batches);
    const char *bad = NULL;
    if (g->strategy_digest != m->digest) bad = "strategy_digest";
    else if (g->gram_digest && g->gram_digest != mcamp__gram_digest(m, g->batches))
        bad = "gram_digest";
    else if (g->rounds != m->n) bad = "rounds";
    else if (!g->batches || g->epochs != (g->rounds - 1) / g->batches + 1) bad = "epochs";
    else if (g->accepted != proven) bad = "accepted";
    else if (g->accepted && g->interrupted) bad = "interrupted";
    else if (!g->unit || !g->points) bad = "unit";
    else if (g->law == MCAMP_BATCH_UNSET) bad = "sampling";
    else if (g->adjacency == MCAMP_ADJACENT_UNSET ||
             (fixed && g->adjacency != MCAMP_ADJACENT_ZERO_OUT)) bad = "adjacency";
    else if (g->kind == MCAMP_KIND_VERIFIED &&
             !((g->direction == MCAMP_ADD || g->remove.accepted) &&
               (g->direction == MCAMP_REMOVE || g->add.accepted))) bad = "direction";
    if (bad) return mcamp__fail(ctx, MCAMP_E_MISMATCH, bad, 0);
    if (!g->accepted) return MCAMP_OK;
    {
        mcamp_guarantee both = *g;          /* its numbers, whatever its direction */
        both.direction = MCAMP_BOTH;
        both.unit = 1;
        return mcamp__guarantee_holds(ctx, &both);
    }
}

MCAMP_API mcamp_status mcamp_record_read(mcamp_ctx *ctx, const char *text, size_t size,
                                         mcamp_mech *mech, mcamp_guarantee *guarantee)
{
    MCAMP__GUARD;
    mcamp_guarantee g;
    mcamp_mech m;
    mcamp__visit v;
    mcamp_status st;
    if (!mcamp__ctx_ok(ctx)) return MCAMP_E_ARG;
    if (!text || !mech || !guarantee)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED,
                           !text ? "text" : !mech ? "mech" : "guarantee", 0);
    if ((st = mcamp__record_check(ctx, text, size)) < 0) return st;
    memset(&g, 0, sizeof g);
    memset(&m, 0, sizeof m);
    v = mcamp__visit_start(NULL, text, size);
    mcamp__visit_count(&v, "mcamp record", 0);
    mcamp__visit_guarantee(&v, &g);
    if (!v.bad) mcamp__visit_mech(&v, ctx, &m);
    mcamp__visit_digest(&v, "checksum", 0);
    g.magic = MCAMP__GUARANTEE_MAGIC;
    if (v.bad) st = mcamp__fail(ctx, strcmp(v.bad, "memory") ? MCAMP_E_BLOB : MCAMP_E_MEMORY,
                                v.bad, 0);
    else if (v.text != v.end) st = mcamp__fail(ctx, MCAMP_E_BLOB, "checksum", 0);
    else st = mcamp__mech_revive(ctx, &m);
    if (st == MCAMP_OK) st = mcamp__record_sane(ctx, &g, &m);
    if (st < 0) { mcamp_mech_free(ctx, &m); return st; }
    *mech = m;
    *guarantee = g;
    return MCAMP_OK;
}

/* ---- once more ------------------------------------------------------------------ */

/* The claim that a guarantee of balls in bins decided about, with its samples. */
MCAMP__PRIV mcamp_status mcamp__repeat_claim(mcamp_ctx *ctx, const mcamp_mech *mech,
                                             const mcamp_guarantee *g, mcamp_guarantee *out)
{
    mcamp_gram gram;
    mcamp_claim c;
    mcamp_status st = mcamp_gram_init(ctx, mech, (size_t)g->batches, &gram);
    if (st < 0) return st;
    memset(&c, 0, sizeof c);
    c.sigma = g->sigma; c.eps = g->eps; c.delta = g->delta; c.beta = g->beta;
    c.direction = g->direction;
    c.seed = g->seed; c.rung = g->rung; c.max_samples = g->max_samples;
    st = mcamp_verify(ctx, &gram, &c, out);
    mcamp_gram_free(ctx, &gram);
    return st;
}

MCAMP_API mcamp_status mcamp_guarantee_repeat(mcamp_ctx *ctx, const mcamp_mech *mech,
                                              const mcamp_guarantee *guarantee,
                                              mcamp_guarantee *out)
{
    MCAMP__GUARD;
    const mcamp_guarantee *g = guarantee;
    mcamp_guarantee r;
    mcamp_status st = mcamp__guarantee_args(ctx, mech, out);
    if (st < 0) return st;
    if (!g || g->magic != MCAMP__GUARANTEE_MAGIC)
        return mcamp__fail(ctx, MCAMP_E_REQUIRED, "guarantee", 0);
    if (g->strategy_digest != mech->digest)
        return mcamp__fail(ctx, MCAMP_E_MISMATCH, "mech", 0);
    if (g->kind == MCAMP_KIND_VERIFIED ||
        (g->kind == MCAMP_KIND_NONE && g->law == MCAMP_BATCH_BINS))
        return mcamp__repeat_claim(ctx, mech, g, out);
    if ((int)g->kind < (int)MCAMP_KIND_INTERVAL)
        return mcamp__fail(ctx, MCAMP_E_ARG, "guarantee", (double)(int)g->kind);
    st = g->kind == MCAMP_KIND_INTERVAL
             ? mcamp_guarantee_poisson(ctx, mech, g->batches, g->q, g->sigma, g->delta, &r)
             : mcamp_guarantee_unamplified(ctx, mech, g->law, g->batches, g->sigma, g->delta,
                                           &r);
    if (st >= 0 && g->asked == MCAMP_ASK_DELTA) {
        mcamp_interval delta;
        mcamp_guarantee at = r;
        at.eps = g->eps;
        st = mcamp__plan_delta(ctx, &at, g->kind == MCAMP_KIND_INTERVAL ? g->epochs : 1, &delta);
        r.asked = MCAMP_ASK_DELTA;
        r.lower = 0;
        r.upper = delta.upper;
        r.eps = r.upper <= g->delta ? g->eps : mcamp__inf();
    }
    if (st < 0) return st;
    r.adjacency = g->adjacency;
    r.accepted = r.eps <= g->eps;
    r.eps = g->eps;
    if (!r.accepted) r.kind = MCAMP_KIND_NONE;
    *out = r;
    return r.accepted ? MCAMP_OK : MCAMP_Q_REFUSED;
}

#endif /* MCAMP_NO_STDLIB */

/* ======================================================================== *
 *  REPORTS                                                        >>report
 *  In: guarantees, answers, plans, sessions.  Out: JSON or sentences through the
 *  caller's write function.  No number about privacy is printed but from a guarantee:
 *  inputs as they were given, to the digit; what was computed rounded to the safe side
 *  (sigma, eps, delta and upper ends up, lower ends and sampling rates down), so that
 *  what is read in the text is as true as what was proved.  No allocation.
 * ======================================================================== */

#ifndef MCAMP_NO_STDLIB

/* Members beside those of a guarantee. */
MCAMP__PRIV void mcamp__json_word(mcamp__out *o, const char *key, const char *word, int quoted)
{
    mcamp__visit v = mcamp__visit_start(o, NULL, 0);
    v.json = 1;
    mcamp__visit_word(&v, key, word, quoted);
}

MCAMP__PRIV void mcamp__json_number(mcamp__out *o, const char *key, double x)
{
    char buf[48];
    mcamp__json_word(o, key, mcamp__finite(x) ? mcamp__rounded_text(x, 17, MCAMP__EXACT, buf)
                                              : "null", 0);
}

MCAMP__PRIV void mcamp__json_count(mcamp__out *o, const char *key, uint64_t n)
{
    char buf[24];
    mcamp__json_word(o, key, mcamp__count_text(n, buf), 0);
}

MCAMP__PRIV void mcamp__json_text(mcamp__out *o, const char *key, const char *text)
{
    mcamp__json_word(o, key, text, 1);
}

/* ---- the fields of a guarantee, as words ---------------------------------------- */

MCAMP__PRIV double mcamp__guarantee_value(const mcamp_guarantee *g)
{
    switch ((int)g->asked) {
    case MCAMP_ASK_DELTA: return g->delta;
    case MCAMP_ASK_EPS:   return g->eps;
    case MCAMP_ASK_SIGMA: return g->sigma;
    case MCAMP_ASK_Q:     return g->q;
    case MCAMP_ASK_COUNT: return (double)g->count;
    case MCAMP_ASK_UNIT:  return (double)g->unit;
    default:              return mcamp__nan();
    }
}

/* What lower and upper are ends of. */
MCAMP__PRIV mcamp_quantity mcamp__guarantee_bounded(const mcamp_guarantee *g)
{
    return g->kind == MCAMP_KIND_ESTIMATE ? MCAMP_ASK_DELTA : g->asked;
}

MCAMP__PRIV int mcamp__guarantee_sampled(const mcamp_guarantee *g)
{
    return g->remove.samples || g->add.samples;
}

/* sensitivity^2/(2 sigma^2), rounded up, for the Gaussian mechanism. */
MCAMP__PRIV double mcamp__guarantee_rho(const mcamp_guarantee *g)
{
    double r = g->sensitivity / g->sigma;
    return r * r / 2 * (1 + 8 * DBL_EPSILON);
}

/* A number of the claim: as given, or rounded to the safe side if it was asked for. */
MCAMP__PRIV void mcamp__put_claim(mcamp__out *o, const mcamp_guarantee *g, mcamp_quantity which,
                                  double x)
{
    if (which == MCAMP_ASK_COUNT || which == MCAMP_ASK_UNIT)
        mcamp__put_count(o, which == MCAMP_ASK_COUNT ? g->count : g->unit);
    else if (g->asked != which || g->kind == MCAMP_KIND_VERIFIED || g->kind == MCAMP_KIND_NONE)
        mcamp__put_exact(o, x);
    else
        mcamp__put_rounded(o, x, 7, which == MCAMP_ASK_Q ? MCAMP__DOWN : MCAMP__UP);
}

MCAMP__PRIV const char *mcamp__direction_words(mcamp_direction d)
{
    return d == MCAMP_REMOVE ? "only with the example removed"
         : d == MCAMP_ADD    ? "only with the example added"
         :                     "both, with the example added and with it removed";
}

/* "$s" of a sentence, and so on: every number of a guarantee with its side. */
MCAMP__PRIV void mcamp__put_field(mcamp__out *o, const mcamp_guarantee *g, char field)
{
    char buf[48];
    switch (field) {
    case 's': mcamp__put_claim(o, g, MCAMP_ASK_SIGMA, g->sigma); break;
    case 'e': mcamp__put_claim(o, g, MCAMP_ASK_EPS, g->eps); break;
    case 'd': mcamp__put_claim(o, g, MCAMP_ASK_DELTA, g->delta); break;
    case 'q': mcamp__put_claim(o, g, MCAMP_ASK_Q, g->q); break;
    case 'x': mcamp__put_claim(o, g, g->asked, mcamp__guarantee_value(g)); break;
    case '~': mcamp__put_rounded(o, g->std_error, 1, MCAMP__UP); break;
    case '<': mcamp__put_rounded(o, g->lower, 7, MCAMP__DOWN); break;
    case '>': mcamp__put_rounded(o, g->upper, 7, MCAMP__UP); break;
    case 'u': mcamp__put_rounded(o, g->upper, 4, MCAMP__UP); break;
    case 'a': mcamp__put_rounded(o, g->unamplified, 6, MCAMP__UP); break;
    case 'S': mcamp__put_rounded(o, g->sensitivity, 10, MCAMP__UP); break;
    case 'l': mcamp__put_rounded(o, g->beta, 6, MCAMP__UP); break;
    case 't': mcamp__put_rounded(o, mcamp__guarantee_delta(g), 7, MCAMP__UP); break;
    case 'z': mcamp__put_rounded(o, mcamp__guarantee_rho(g), 7, MCAMP__UP); break;
    case 'L': mcamp__put_exact(o, g->beta); break;
    case 'Q': mcamp__put_exact(o, g->q); break;
    case '=': mcamp__put_exact(o, g->sensitivity); break;
    case 'n': mcamp__put_count(o, g->rounds); break;
    case 'b': mcamp__put_count(o, g->batches); break;
    case 'N': mcamp__put_count(o, g->examples); break;
    case 'k': mcamp__put_count(o, g->unit); break;
    case 'p': mcamp__put_count(o, g->points); break;
    case 'r': mcamp__put_count(o, g->seed); break;
    case 'R': mcamp__put_count(o, g->rung); break;
    case 'C': mcamp__put(o, mcamp__digest_text(g->strategy_digest, buf)); break;
    case 'G': mcamp__put(o, mcamp__digest_text(g->gram_digest, buf)); break;
    case 'v': mcamp__put(o, mcamp__version_text(g->version, buf)); break;
    case 'A': mcamp__put(o, mcamp__asked_names[g->asked]); break;
    case 'w': mcamp__put(o, mcamp__direction_words(g->direction)); break;
    default:  mcamp__put(o, mcamp__adjacency_names[g->adjacency]); break;    /* 'D' */
    }
}

/* "#k": of one direction. */
MCAMP__PRIV void mcamp__put_proof_field(mcamp__out *o, const mcamp_proof *p, char field)
{
    switch (field) {
    case 'k': mcamp__put_count(o, p->samples); break;
    case 'o': mcamp__put_count(o, p->order); break;
    case 'm': mcamp__put(o, mcamp__method_names[p->method]); break;
    case 'b': mcamp__put_rounded(o, p->bound, 6, MCAMP__UP); break;
    case 'a': mcamp__put_rounded(o, p->range, 6, MCAMP__UP); break;
    case 'w': mcamp__put_rounded(o, p->log_wealth, 4, MCAMP__DOWN); break;
    case 'd': mcamp__put_rounded(o, p->value, 4, MCAMP__UP); break;
    default:  mcamp__put_rounded(o, p->std_error, 1, MCAMP__UP); break;     /* '~' */
    }
}

/* A sentence; "\v" is where a line of it begins, indented as its surroundings are. */
MCAMP__PRIV void mcamp__say_of(mcamp__out *o, const mcamp_guarantee *g, const mcamp_proof *p,
                               const char *text)
{
    for (size_t n; *text; text += n) {
        n = strcspn(text, "$#\v");
        if (n) { mcamp__put_n(o, text, n); continue; }
        n = *text == '\v' ? 1 : 2;
        if (*text == '$') mcamp__put_field(o, g, text[1]);
        else if (*text == '#') mcamp__put_proof_field(o, p, text[1]);
        else mcamp__put(o, o->deep ? "         " : "  ");
    }
}

MCAMP__PRIV void mcamp__say(mcamp__out *o, const mcamp_guarantee *g, const char *text)
{
    mcamp__say_of(o, g, NULL, text);
}

/* ---- sentences that kinds share --------------------------------------------------- */

/* Half a guarantee is none, and has to say so. */
MCAMP__PRIV void mcamp__text_direction(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__say(o, g, g->direction == MCAMP_BOTH ? "\vDirection: $w.\n"
        : "\vDirection: $w.\n\vThis is half of a differential-privacy guarantee: the other "
          "direction was not asked for.\n");
}

MCAMP__PRIV void mcamp__text_unit(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__say(o, g, g->unit > 1 ? "\vUnit of privacy: groups of up to $k examples"
                                 : "\vUnit of privacy: one example");
    mcamp__say(o, g, g->adjacency == MCAMP_ADJACENT_ZERO_OUT
        ? ", its gradients zeroed out while it keeps its place"
        : ", added or removed (its gradients zeroed out)");
    mcamp__say(o, g, ";\n\veach gradient clipped to norm 1.\n");
}

MCAMP__PRIV void mcamp__text_law(mcamp__out *o, const mcamp_guarantee *g)
{
    static const char *const words[] = { "",
        "\vBatches: balls in bins, every example in one of $b batches, uniformly and\n"
        "\vindependently, the same in every epoch",
        "\vBatches: cyclic Poisson sampling in a cycle of $b rounds: every example belongs to one "
        "of as\n\vmany groups that take turns",
        "\vBatches: a fixed number of examples, of groups that take turns in a cycle of $b\n"
        "\vrounds; not amplified",
        "\vBatches: b-min-sep Poisson sampling, two uses of an example at least $b\n"
        "\vrounds apart; not amplified",
        "\vBatches: shuffled once or in any other fixed order, cut into $b batches, the\n"
        "\vsame in every epoch; not amplified" };
    mcamp__say(o, g, words[g->law]);
    if (g->law == MCAMP_BATCH_POISSON && g->q > 0)
        mcamp__say(o, g, ", and is drawn from it with probability $q");
}

MCAMP__PRIV void mcamp__text_batches(mcamp__out *o, const mcamp_guarantee *g)
{
    if (!g->law) return;
    mcamp__text_law(o, g);
    if (g->rounds) mcamp__say(o, g, "; $n rounds");
    if (g->examples) mcamp__say(o, g, ", $N examples");
    mcamp__put(o, ".\n");
}

/* "wrong with probability at most beta", for how many numbers. */
MCAMP__PRIV void mcamp__text_level(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__say(o, g, g->points > 1 ? "$l for all $p points at once" : "$l");
}

MCAMP__PRIV void mcamp__text_proof(mcamp__out *o, const char *name, const mcamp_proof *p)
{
    int exact = p->method == MCAMP_METHOD_EXACT;
    if (!p->method) return;
    mcamp__say_of(o, NULL, p, name);
    mcamp__say_of(o, NULL, p, !exact ? ": #k samples of the #m law of order #o, each value at most "
                                       "#a; betting wealth e^#w"
        : p->accepted ? ": without samples, delta is at most #b" : ": without samples");
    mcamp__put(o, p->accepted ? "; accepted.\n" : "; not accepted.\n");
}

MCAMP__PRIV void mcamp__text_proofs(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__text_proof(o, "\vremove", &g->remove);
    mcamp__text_proof(o, "\vadd", &g->add);
}

/* All that another person needs to repeat it. */
MCAMP__PRIV void mcamp__text_origin(mcamp__out *o, const mcamp_guarantee *g)
{
    if (g->strategy_digest)
        mcamp__say(o, g, g->gram_digest ? "\vC has the digest $C, its Gram matrix $G;\n"
                                        : "\vC has the digest $C;\n");
    mcamp__say(o, g, !mcamp__guarantee_sampled(g) ? "\vmcamp.h $v.\n"
        : g->rung ? "\vseed $r, stream $R; mcamp.h $v.\n" : "\vseed $r; mcamp.h $v.\n");
}

/* ---- proven, or not ------------------------------------------------------------------ */

MCAMP__PRIV void mcamp__text_claim(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__say(o, g, g->direction == MCAMP_BOTH
        ? "Certified: with noise multiplier sigma = $s the mechanism C x + z is ($e, $d)-"
          "differentially private.\n"
        : "Certified in one direction: with noise multiplier sigma = $s delta of C x + z at "
          "epsilon $e is at most\n\v$d, $w.\n");
}

/* No part of this may read as an assertion. */
MCAMP__PRIV void mcamp__text_nothing(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__put(o, g->interrupted ? "Interrupted before a decision.  " : "Not certified.  ");
    mcamp__say(o, g, "Nothing is claimed about noise multiplier $s at epsilon $e and\n\vdelta $d.  "
                     "What was looked at:\n");
}

MCAMP__PRIV void mcamp__text_basis(mcamp__out *o, const mcamp_guarantee *g)
{
    if (g->kind == MCAMP_KIND_INTERVAL) {
        mcamp__say(o, g, "\vCertain, no samples were needed: composed privacy loss distributions, "
                         "all errors\n\vincluded; sensitivity $S.\n");
    } else if (g->kind == MCAMP_KIND_CLOSED) {
        mcamp__say(o, g, "\vCertain, no samples were needed: closed form of the Gaussian "
                         "mechanism; sensitivity $S.\n");
    } else if (mcamp__guarantee_sampled(g)) {
        mcamp__say(o, g, g->accepted
            ? "\vWere the claim false, it would have been accepted with probability at most "
            : "\vA false claim would be accepted with probability at most ");
        mcamp__text_level(o, g);
        mcamp__put(o, ".\n");
    } else if (g->accepted) {
        mcamp__say(o, g, "\vCertain: no samples were needed.\n");
    }
}

MCAMP__PRIV void mcamp__text_decided(mcamp__out *o, const mcamp_guarantee *g)
{
    if (g->accepted) mcamp__text_claim(o, g); else mcamp__text_nothing(o, g);
    mcamp__text_direction(o, g);
    mcamp__text_unit(o, g);
    mcamp__text_batches(o, g);
    mcamp__text_basis(o, g);
    mcamp__text_proofs(o, g);
    mcamp__text_origin(o, g);
}

/* Noise that was given, or none, and no question. */
MCAMP__PRIV void mcamp__text_given(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__say(o, g, g->sigma > 0
        ? "\vNothing is claimed: what sigma $s, as given, keeps private was not asked for.\n"
        : "\vNothing is claimed: neither noise nor what it should keep private was given.\n");
    if (g->sensitivity > 0) mcamp__say(o, g, "\vsensitivity            $S\n");
    mcamp__text_origin(o, g);
}

/* ---- answers to questions ---------------------------------------------------------------- */

MCAMP__PRIV void mcamp__text_estimate_of(mcamp__out *o, const char *name, const mcamp_proof *p)
{
    if (!p->method) return;
    mcamp__say_of(o, NULL, p, name);
    mcamp__say_of(o, NULL, p, p->method != MCAMP_METHOD_EXACT
        ? "#d +- #~ (#k samples of the #m law, order #o)\n"
        : p->std_error > 0 ? "#d (without samples, at most #~ too high)\n" : "#d (closed form)\n");
}

/* "sigma = 4.25 +- 0.01" */
MCAMP__PRIV void mcamp__text_value(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__say(o, g, g->std_error > 0 ? "$A = $x +- $~\n" : "$A = $x\n");
}

MCAMP__PRIV void mcamp__text_bound(mcamp__out *o, const mcamp_guarantee *g)
{
    if (!(g->upper > 0 && g->upper < 1)) return;
    mcamp__say(o, g, mcamp__guarantee_sampled(g)
        ? "\vdelta is at most       $u, wrong with probability " : "\vdelta is at most       $u, ");
    if (mcamp__guarantee_sampled(g)) mcamp__text_level(o, g);
    mcamp__put(o, mcamp__guarantee_sampled(g) ? " per direction\n" : "certain\n");
}

MCAMP__PRIV void mcamp__text_answer(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__text_value(o, g);
    mcamp__say(o, g, g->kind == MCAMP_KIND_ESTIMATE
        ? "\n\vEstimate, not a proof (+- one standard error): sigma $s gives about ($e, $d)"
        : "\n\vCertain, no samples were needed: sigma $s gives ($e, $d)");
    mcamp__put(o, g->direction == MCAMP_BOTH ? "-DP.\n" : ".\n");
    mcamp__text_direction(o, g);
    mcamp__text_estimate_of(o, "\vdelta, remove          ", &g->remove);
    mcamp__text_estimate_of(o, "\vdelta, add             ", &g->add);
    if (mcamp__guarantee_bounded(g) == MCAMP_ASK_DELTA) mcamp__text_bound(o, g);
    if (g->unamplified > 0) mcamp__say(o, g, "\vwithout amplification  $A $a\n");
    if (g->sensitivity > 0) mcamp__say(o, g, "\vsensitivity            $S\n");
    mcamp__text_unit(o, g);
    mcamp__text_batches(o, g);
    mcamp__text_origin(o, g);
}

/* Composed events: one sentence. */
MCAMP__PRIV void mcamp__text_interval(mcamp__out *o, const mcamp_guarantee *g)
{
    int found = g->asked != MCAMP_ASK_EPS && g->asked != MCAMP_ASK_DELTA;
    if (found) mcamp__text_value(o, g);
    else mcamp__say(o, g, g->asked == MCAMP_ASK_EPS ? "$A from $< to $> at delta $d\n"
                                                    : "$A from $< to $> at epsilon $e\n");
    if (g->beta > 0) mcamp__put(o, "  It rests on samples");
    else mcamp__put(o, found ? "  Certain, no samples were needed"
                             : "  Certain: no samples were needed");
    if (found) mcamp__say(o, g, g->direction == MCAMP_BOTH ? ": with it ($e, $d)-DP"
                                                           : ": with it ($e, $d)");
    if (g->beta > 0) {
        mcamp__put(o, "; wrong with probability at most ");
        mcamp__text_level(o, g);
        mcamp__put(o, ", which delta covers");
    }
    mcamp__put(o, ".\n");
    mcamp__text_direction(o, g);
}

/* For the margin of a picture. */
MCAMP__PRIV void mcamp__text_caption(mcamp__out *o, const mcamp_guarantee *g)
{
    if (g->sigma > 0) mcamp__say(o, g, "sigma $s; ");
    mcamp__put(o, g->beta > 0 ? "shaded: proven bounds, wrong with probability "
                              : "shaded: certain bounds");
    if (g->beta > 0) mcamp__text_level(o, g);
    if (g->direction != MCAMP_BOTH) mcamp__say(o, g, ", $w");
}

/* One number of it under a name. */
MCAMP__PRIV void mcamp__json_value(mcamp__out *o, const char *key, const mcamp_guarantee *g)
{
    mcamp__json_number(o, key, mcamp__guarantee_value(g));
}

/* An estimate beside a guarantee: what was asked for, under a name that says so. */
MCAMP__PRIV void mcamp__json_estimate(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__json_value(o, "estimated_sigma", g);
    mcamp__json_number(o, "stderr_sigma", g->std_error);
}

MCAMP__PRIV void mcamp__json_guarantee(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp_guarantee copy = *g;
    const mcamp_proof *worse;
    mcamp__visit v = mcamp__visit_start(o, NULL, 0);
    v.json = 1;
    mcamp__visit_guarantee(&v, &copy);
    mcamp__json_text(o, "bounds", mcamp__asked_names[mcamp__guarantee_bounded(g)]);
    worse = g->add.value > g->remove.value || !g->remove.method ? &g->add : &g->remove;
    mcamp__json_text(o, "method", mcamp__method_names[worse->method]);
    mcamp__json_count(o, "k", worse->order);
    mcamp__json_number(o, "range", worse->range);
    if (g->kind == MCAMP_KIND_CLOSED && g->sensitivity > 0)
        mcamp__json_number(o, "rho", mcamp__guarantee_rho(g));
    if (g->asked) mcamp__json_value(o, "value", g);
    if (!g->arithmetic) return;
    mcamp__json_text(o, "arithmetic", g->arithmetic == MCAMP_ARITHMETIC_FLOATING
                     ? "floating point, up to rounding: not covered"
                     : mcamp__finite(g->delta_num) ? "lattice" : "lattice, ideal arithmetic");
    mcamp__json_number(o, "grid", g->grid);
    mcamp__json_count(o, "run", g->run);
    mcamp__json_text(o, "ledger", g->ledger ? "asked before each release" : "none");
}

/* Names are looked up by these. */
MCAMP__PRIV int mcamp__guarantee_printable(const mcamp_guarantee *g)
{
    return g->magic == MCAMP__GUARANTEE_MAGIC && (unsigned)g->law <= MCAMP_BATCH_SHUFFLE &&
           (unsigned)g->asked <= MCAMP_ASK_UNIT && (unsigned)g->kind <= MCAMP_KIND_CLOSED &&
           (unsigned)g->direction <= MCAMP_ADD &&
           (unsigned)g->adjacency <= MCAMP_ADJACENT_ZERO_OUT &&
           (unsigned)g->remove.method <= MCAMP_METHOD_EXACT &&
           (unsigned)g->add.method <= MCAMP_METHOD_EXACT;
}

MCAMP__PRIV void mcamp__text_guarantee(mcamp__out *o, const mcamp_guarantee *g)
{
    if (g->kind == MCAMP_KIND_NONE && !mcamp__finite(g->eps)) mcamp__text_given(o, g);
    else if (g->kind == MCAMP_KIND_NONE || g->kind == MCAMP_KIND_VERIFIED)
        mcamp__text_decided(o, g);
    else if (!g->law) mcamp__text_interval(o, g);
    else if (g->kind == MCAMP_KIND_ESTIMATE || g->unamplified > 0) mcamp__text_answer(o, g);
    else mcamp__text_decided(o, g);
    if (g->arithmetic == MCAMP_ARITHMETIC_FLOATING)
        mcamp__put(o, "Released in floating point: it holds up to rounding; that low bits may "
                      "tell more is not covered.\n");
    if (g->arithmetic && !g->ledger)
        mcamp__put(o, "No ledger: that each round is released once is up to who runs it.\n");
}

/* ---- the privacy statement of a run ------------------------------------------------------- *
 * The items of [2], appendix K.1, in their order; of a session, or of a guarantee alone
 * (s is NULL) before there is one.                                                         */

/* What a session makes of its guarantee: delta with its cuts, the number of examples; and
 * the cuts' part of delta.                                                                */
MCAMP__PRIV mcamp_guarantee mcamp__guarantee_run(const mcamp_session *s)
{
    mcamp_guarantee g = s->guarantee;
    g.delta = mcamp_session_delta(s);
    g.examples = s->batch->examples;
    return g;
}

MCAMP__PRIV mcamp_guarantee mcamp__guarantee_part(const mcamp_session *s, double delta)
{
    mcamp_guarantee g = s->guarantee;
    g.kind = MCAMP_KIND_CLOSED;
    g.asked = MCAMP_ASK_DELTA;
    g.delta = delta;
    return g;
}

MCAMP__PRIV void mcamp__legal_type(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__put(o, "  3. Accounting\n     (a) Type: ");
    if (g->kind == MCAMP_KIND_INTERVAL)
        mcamp__put(o, "composition of Poisson-sampled Gaussian mechanisms by their privacy\n"
                      "         loss distributions, rounded up; no samples.\n");
    else if (g->kind == MCAMP_KIND_CLOSED)
        mcamp__put(o, "Gaussian mechanism, nothing gained from sampling; no samples.\n");
    else if (!mcamp__guarantee_sampled(g))
        mcamp__put(o, "a bound that is certain; no samples.\n");
    else {
        mcamp__put(o, "Monte Carlo with a proof: a false claim would have been accepted\n"
                      "         with probability at most ");
        mcamp__text_level(o, g);
        mcamp__put(o, ", which delta covers.\n");
    }
}

MCAMP__PRIV void mcamp__legal_assumptions(mcamp__out *o, const mcamp_guarantee *g,
                                          const mcamp_session *s)
{
    mcamp__say(o, g, "     (b) Assumptions.  Mechanism: C x + z, noise multiplier $s,\n\vgradients "
                     "clipped to norm ");
    mcamp__put_exact(o, s ? s->clip->norm : 1);
    mcamp__put(o, s ? ".\n" : ", or sigma relative to it.\n");
    mcamp__text_law(o, g);
    if (s && s->batch->limit) {
        mcamp_guarantee cuts = mcamp__guarantee_part(s, s->cut_delta);
        mcamp__say(o, g, ";\n\vcut to ");
        mcamp__put_count(o, s->batch->limit);
        mcamp__say(o, &cuts, " examples at random, which adds $d to delta");
    }
    mcamp__say(o, g, ".\n\vDrawn by a keyed generator; neither key nor batches are released,\n"
                     "\vand each example that is drawn is added once.\n");
    if (!s) return;
    if (s->clip->grid > 0 && mcamp__finite(g->delta_num)) {
        mcamp_guarantee num = mcamp__guarantee_part(s, g->delta_num);
        mcamp__say(o, &num,
                   "\vNumbers: released on a lattice; integer sums.  What computed noise can\n"
                   "\vdiffer from ideal noise is covered: it adds $d to delta.\n");
    } else {
        mcamp__say(o, g, s->clip->grid > 0
            ? "\vNumbers: released on a lattice; integer sums.  The statement is about ideal\n"
              "\varithmetic of the noise, since no bound on its rounding is known here.\n"
            : "\vNumbers: floating point, so that the statement holds up to rounding only:\n"
              "\vthat the low bits of sums may tell more than it says is not covered.\n");
    }
    mcamp__say(o, g, g->ledger
        ? "\vEach round is released once: a ledger was asked before.\n"
        : "\vNo ledger: that each round is released once, also after a restart from\n"
          "\va saved state or in a copy of the process, is up to who runs it.\n");
}

/* What somebody else needs who has C: its record, and these. */
MCAMP__PRIV void mcamp__legal_verify(mcamp__out *o, const mcamp_guarantee *g)
{
    mcamp__say(o, g, "     (d) Verifiability: anybody with C, or the record of this guarantee, can "
                     "repeat it:\n\v$n rounds, a cycle of $b, epsilon $e, delta $d, sigma $s");
    if (g->kind == MCAMP_KIND_VERIFIED) mcamp__say(o, g, ", level $L");
    if (g->q > 0) mcamp__say(o, g, ", q $Q");
    if (g->sensitivity > 0) mcamp__say(o, g, ", sensitivity $=");
    mcamp__put(o, ";\n");
    mcamp__text_proofs(o, g);
    mcamp__text_origin(o, g);
}

MCAMP__PRIV void mcamp__text_legal(mcamp__out *o, const mcamp_guarantee *g,
                                   const mcamp_session *s)
{
    mcamp_guarantee run = s ? mcamp__guarantee_run(s) : *g;
    o->deep = 1;
    mcamp__say(o, g, "Privacy statement\n"
        "  1. Setting: central; whoever runs the training is trusted to run it as said here.\n"
        "  2. Definition\n"
        "     (a) Data covered: the examples of this one training run.  Not covered:\n"
        "\vchoosing hyperparameters or checkpoints by looking at the data, and\n"
        "\vanything else that was computed from them.\n"
        "     (b) Output: the noisy gradients of all $n rounds, hence every model on the way.\n"
        "     (c) Unit: one example.\n     (d) Adjacency: $D.\n");
    mcamp__legal_type(o, g);
    mcamp__legal_assumptions(o, g, s);
    mcamp__say(o, &run, "     (c) Statement: the run is ($e, $t)-differentially private,\n\vboth "
                        "with the example added and with it removed");
    mcamp__say(o, g, g->kind == MCAMP_KIND_CLOSED ? ", and $z-zCDP.\n" : ".\n");
    mcamp__legal_verify(o, g);
}

/* What a session adds to its guarantee. */
MCAMP__PRIV void mcamp__json_session(mcamp__out *o, const mcamp_session *s)
{
    mcamp_guarantee run = mcamp__guarantee_run(s), cuts = mcamp__guarantee_part(s, s->cut_delta);
    mcamp__json_guarantee(o, &run);
    mcamp__json_text(o, "setting", "central");
    mcamp__json_text(o, "covers", "one training run; not the choice of hyperparameters or "
                                  "checkpoints");
    mcamp__json_text(o, "output", "the noisy gradients of all rounds");
    mcamp__json_value(o, "delta_of_cuts", &cuts);
    mcamp__json_number(o, "clip_norm", s->clip->norm);
    if (mcamp__finite(run.delta_num)) {
        mcamp_guarantee num = mcamp__guarantee_part(s, run.delta_num);
        mcamp__json_value(o, "delta_of_numerics", &num);
    }
    mcamp__json_count(o, "limit", s->batch->limit);
    mcamp__json_count(o, "dim", s->clip->dim);
    mcamp__json_count(o, "round", s->noise->step);
    mcamp__put(o, "}\n");
}

MCAMP__PRIV mcamp_status mcamp__report_end(mcamp__out *o)
{
    return o->failed ? MCAMP_Q_INTERRUPTED : MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_report_session(const mcamp_session *s, mcamp_report_format format,
                                            const mcamp_writer *w)
{
    MCAMP__GUARD;
    mcamp__out o;
    if (!s || !w || !w->write) return MCAMP_E_REQUIRED;
    if (mcamp_session_delta(s) >= 1) return MCAMP_E_ARG;
    o = mcamp__out_open(w);
    if (format == MCAMP_REPORT_JSON) mcamp__json_session(&o, s);
    else if (format == MCAMP_REPORT_LEGAL) mcamp__text_legal(&o, &s->guarantee, s);
    else return MCAMP_E_ARG;
    return mcamp__report_end(&o);
}

MCAMP_API mcamp_status mcamp_report_guarantee(const mcamp_guarantee *guarantee,
                                              mcamp_report_format format,
                                              const mcamp_writer *w)
{
    MCAMP__GUARD;
    mcamp__out o;
    if (!guarantee || !w || !w->write) return MCAMP_E_REQUIRED;
    if (!mcamp__guarantee_printable(guarantee)) return MCAMP_E_ARG;
    o = mcamp__out_open(w);
    o.items = format == MCAMP_REPORT_MEMBERS;       /* after others of an open object */
    switch ((int)format) {
    case MCAMP_REPORT_TEXT:    mcamp__text_guarantee(&o, guarantee); break;
    case MCAMP_REPORT_CAPTION: mcamp__text_caption(&o, guarantee); break;
    case MCAMP_REPORT_VALUE:
        if (!guarantee->asked) return MCAMP_E_ARG;
        mcamp__say(&o, guarantee, "$x");
        break;
    case MCAMP_REPORT_LEGAL:
        if (!guarantee->accepted || guarantee->direction != MCAMP_BOTH || !guarantee->law)
            return MCAMP_E_MISMATCH;
        mcamp__text_legal(&o, guarantee, NULL);
        break;
    case MCAMP_REPORT_JSON:
    case MCAMP_REPORT_MEMBERS:
        mcamp__json_guarantee(&o, guarantee);
        if (format == MCAMP_REPORT_JSON) mcamp__put(&o, "}\n");
        break;
    default: return MCAMP_E_ARG;
    }
    return mcamp__report_end(&o);
}

/* ---- guarantees of answers, intervals, estimates ----------------------------- */

MCAMP__PRIV void mcamp__proof_of_estimate(const mcamp_estimate *e, mcamp_proof *p)
{
    if (!e->direction) return;
    p->method = e->method;
    p->order = e->order;
    p->range = e->range;
    p->value = e->value; p->std_error = e->exact ? 0 : e->std_error;
    p->lower = e->lower; p->upper = p->bound = e->upper;
    p->samples = e->samples + e->proof_samples;
}

MCAMP_API mcamp_status mcamp_guarantee_answer(const mcamp_answer *a, mcamp_guarantee *out)
{
    MCAMP__GUARD;
    int certain, closed;
    if (!a || !out) return MCAMP_E_REQUIRED;
    mcamp__guarantee_start(out, MCAMP_BATCH_BINS, a->rounds, a->batches);
    out->asked = a->asked;
    out->direction = a->direction;
    out->sigma = a->sigma; out->eps = a->eps;
    out->delta = a->asked == MCAMP_ASK_DELTA ? a->delta : a->target;
    out->beta = a->beta; out->points = a->points ? a->points : 1;
    out->std_error = a->std_error;
    out->unamplified = a->unamplified;
    mcamp__proof_of_estimate(&a->remove, &out->remove);
    mcamp__proof_of_estimate(&a->add, &out->add);
    out->lower = mcamp__dmax(a->remove.lower, a->add.lower);
    out->upper = a->delta_upper;
    out->seed = a->seed; out->samples = a->samples;
    out->strategy_digest = a->strategy_digest; out->gram_digest = a->gram_digest;
    out->interrupted = a->status == MCAMP_Q_INTERRUPTED;
    certain = !out->remove.samples && !out->add.samples && !out->samples;
    closed = certain && (a->remove.exact || !a->remove.direction) &&
             (a->add.exact || !a->add.direction);
    out->kind = out->interrupted ? MCAMP_KIND_NONE : closed ? MCAMP_KIND_CLOSED
              : certain ? MCAMP_KIND_INTERVAL : MCAMP_KIND_ESTIMATE;
    /* certain, and not only computed well: delta from above meets what was given */
    if (certain && out->asked == MCAMP_ASK_DELTA) out->delta = mcamp__dmax(out->delta, out->upper);
    if (closed && out->upper <= out->delta * (1 + 1e-9)) {
        out->sigma *= out->asked == MCAMP_ASK_SIGMA ? 1 + 1e-11 : 1;    /* two roundings */
        out->eps *= out->asked == MCAMP_ASK_EPS ? 1 + 1e-11 : 1;
    } else if (certain && out->upper > out->delta) {
        out->kind = MCAMP_KIND_ESTIMATE;
    }
    out->accepted = (int)out->kind > (int)MCAMP_KIND_ESTIMATE;
    if (out->accepted) out->std_error = out->beta = 0;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_guarantee_estimate(const mcamp_mech *mech, mcamp_batch_law law,
                                                uint64_t batches, const mcamp_opt_result *r,
                                                double eps, double delta, mcamp_guarantee *out)
{
    MCAMP__GUARD;
    if (!mech || !r || !out) return MCAMP_E_REQUIRED;
    if (!mcamp__mech_ok(mech) || (unsigned)law > MCAMP_BATCH_SHUFFLE) return MCAMP_E_ARG;
    mcamp__guarantee_start(out, law, mech->n, batches);
    out->sigma = r->sigma > 0 ? r->sigma : mcamp__nan();
    out->std_error = r->sigma_error;
    out->sensitivity = r->sensitivity;
    out->samples = r->samples;
    out->eps = out->delta = mcamp__nan();
    out->strategy_digest = mech->digest;
    if (law == MCAMP_BATCH_BINS) out->gram_digest = mcamp__gram_digest(mech, batches);
    if (!(delta > 0)) return MCAMP_OK;
    out->kind = MCAMP_KIND_ESTIMATE;
    out->asked = MCAMP_ASK_SIGMA;
    out->eps = eps; out->delta = delta;
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_guarantee_interval(mcamp_quantity asked, mcamp_direction direction,
                                                mcamp_interval of, double value, double eps,
                                                double delta, double beta, mcamp_guarantee *out)
{
    MCAMP__GUARD;
    if (!out) return MCAMP_E_REQUIRED;
    if (!(of.lower <= of.upper) || (int)asked <= 0 || (int)asked > (int)MCAMP_ASK_UNIT ||
        !(value >= 0 && value < 9e15) || !(beta >= 0 && beta < 1))
        return MCAMP_E_ARG;
    mcamp__guarantee_start(out, MCAMP_BATCH_UNSET, 0, 0);
    out->kind = MCAMP_KIND_INTERVAL;
    out->accepted = true;
    out->asked = asked;
    out->direction = direction;
    out->lower = asked > MCAMP_ASK_SIGMA ? value : asked == MCAMP_ASK_SIGMA ? 0 : of.lower;
    out->upper = asked > MCAMP_ASK_SIGMA ? mcamp__inf() : asked == MCAMP_ASK_SIGMA ? value
               : of.upper;
    out->eps = asked == MCAMP_ASK_EPS ? of.upper : eps;
    out->delta = asked == MCAMP_ASK_DELTA ? of.upper : delta;
    out->beta = beta;
    if (asked == MCAMP_ASK_SIGMA) out->sigma = value;
    if (asked == MCAMP_ASK_Q) out->q = value;
    if (asked == MCAMP_ASK_COUNT) out->count = (uint64_t)value;
    if (asked == MCAMP_ASK_UNIT) out->unit = (uint64_t)value;
    return MCAMP_OK;
}

/* ---- plans --------------------------------------------------------------------- */

MCAMP__PRIV const char *mcamp__family_name(mcamp_opt_family family)
{
    static const char *const name[] = { "unknown", "identity", "toeplitz", "blt", "banded" };
    return name[(unsigned)family <= MCAMP_OPT_BANDED ? family : 0];
}

MCAMP__PRIV const char *mcamp__amplification_name(mcamp_amplification a)
{
    static const char *const name[] = { "unknown", "none", "balls in bins", "cyclic Poisson" };
    return name[(unsigned)a <= MCAMP_AMPLIFY_POISSON ? a : 0];
}

/* The optimiser's sigma of one row is an estimate, and printed as one. */
MCAMP__PRIV mcamp_guarantee mcamp__row_guarantee(const mcamp_plan_result *r,
                                                 const mcamp_plan_row *row)
{
    mcamp_guarantee g;
    mcamp__guarantee_start(&g, MCAMP_BATCH_UNSET, r->rounds, r->batches);
    g.kind = MCAMP_KIND_ESTIMATE;
    g.asked = MCAMP_ASK_SIGMA;
    g.sigma = row->result.sigma; g.std_error = row->result.sigma_error;
    g.eps = r->eps; g.delta = r->delta;
    return g;
}

MCAMP__PRIV void mcamp__json_numbers(mcamp__out *o, const char *key, const double *x,
                                     size_t n)
{
    mcamp__json_word(o, key, "", 0);
    for (size_t i = 0; i < n; i++) {
        mcamp__put(o, i ? ", " : "[");
        mcamp__put_exact(o, x[i]);
    }
    mcamp__put(o, n ? "]" : "[]");
}

/* The parameters that a plan's C has beside its family. */
MCAMP__PRIV void mcamp__json_mech(mcamp__out *o, const mcamp_mech *m)
{
    if (m->form == MCAMP_FORM_BLT) {
        mcamp__json_numbers(o, "theta", m->theta, m->buffers);
        mcamp__json_numbers(o, "omega", m->omega, m->buffers);
    } else {
        mcamp__json_numbers(o, "coefficients", m->coef, m->count);
    }
    if (m->scale) mcamp__json_numbers(o, "scale", m->scale, m->n);
}

MCAMP__PRIV void mcamp__json_plan_row(mcamp__out *o, const mcamp_plan_result *r,
                                      const mcamp_plan_row *row)
{
    mcamp_guarantee g = mcamp__row_guarantee(r, row);
    int items = o->items;
    o->items = 0;
    mcamp__json_text(o, "family", mcamp__family_name(row->family));
    mcamp__json_text(o, "amplification", mcamp__amplification_name(row->amplification));
    mcamp__json_count(o, "buffers", row->buffers);
    mcamp__json_count(o, "bands", row->bands);
    mcamp__json_count(o, "scale_degree", row->scale_degree);
    mcamp__json_count(o, "memory", row->memory);
    mcamp__json_text(o, "status", mcamp_strerror(row->status));
    if (row->status >= 0) {
        mcamp__json_number(o, "estimated_rmse", row->result.rmse);
        mcamp__json_number(o, "estimated_max_error", row->result.max_error);
        mcamp__json_estimate(o, &g);
        mcamp__json_number(o, "error_unit_noise", row->result.unit.rmse);
        mcamp__json_number(o, "max_error_unit_noise", row->result.unit.max);
        mcamp__json_count(o, "iterations", row->result.iterations);
    }
    mcamp__put(o, "}");
    o->items = items;
}

MCAMP__PRIV void mcamp__json_plan(mcamp__out *o, const mcamp_plan_result *r,
                                  const mcamp_mech *mech)
{
    mcamp__json_guarantee(o, &r->guarantee);
    mcamp__json_word(o, "certified", r->certified ? "true" : "false", 0);
    mcamp__json_number(o, "rmse", r->rmse);
    mcamp__json_number(o, "max_error", r->max_error);
    mcamp__json_word(o, "chosen", "", 0);
    mcamp__json_plan_row(o, r, &r->row[r->best]);
    if (mech) mcamp__json_mech(o, mech);
    mcamp__json_count(o, "best", r->best);
    mcamp__json_word(o, "tried", "", 0);
    for (size_t i = 0; i < r->rows; i++) {
        mcamp__put(o, i ? ", " : "[");
        mcamp__json_plan_row(o, r, &r->row[i]);
    }
    mcamp__put(o, "]");
}

/* Left of a column of `width` characters; text that is too long pushes on. */
MCAMP__PRIV void mcamp__put_cell(mcamp__out *o, const char *text, size_t width)
{
    mcamp__put(o, text);
    for (size_t i = strlen(text); i < width; i++) mcamp__put(o, " ");
}

MCAMP__PRIV void mcamp__put_cell_number(mcamp__out *o, double x, size_t width)
{
    char buf[48];
    mcamp__put_cell(o, mcamp__finite(x) ? mcamp__rounded_text(x, 6, MCAMP__UP, buf) : "-", width);
}

MCAMP__PRIV void mcamp__text_plan_row(mcamp__out *o, const mcamp_plan_result *r,
                                      const mcamp_plan_row *row, int best)
{
    size_t size = row->buffers ? row->buffers : row->bands;
    mcamp_guarantee g = mcamp__row_guarantee(r, row);
    mcamp__put(o, best ? "* " : "  ");
    mcamp__put_cell(o, mcamp__amplification_name(row->amplification), 16);
    mcamp__put_cell(o, mcamp__family_name(row->family), 10);
    mcamp__put_cell_number(o, row->family == MCAMP_OPT_IDENTITY ? 1 : (double)size, 7);
    mcamp__put_cell(o, row->scale_degree ? "yes" : "no", 9);
    if (row->status < 0) {
        mcamp__put(o, mcamp_strerror(row->status));
    } else {
        mcamp__put_cell_number(o, row->result.rmse, 11);
        mcamp__put_cell_number(o, row->result.max_error, 11);
        mcamp__say(o, &g, "$s");
        if (row->status) { mcamp__put(o, "  "); mcamp__put(o, mcamp_strerror(row->status)); }
    }
    mcamp__put(o, "\n");
}

MCAMP__PRIV void mcamp__text_plan(mcamp__out *o, const mcamp_plan_result *r)
{
    mcamp__put(o, "  sampling        family    size   factors  rmse       max error  sigma\n");
    for (size_t i = 0; i < r->rows; i++)
        mcamp__text_plan_row(o, r, &r->row[i], i == r->best);
    mcamp__put(o, "  (estimates; size: buffers or bands; * the smallest error)\n\n");
    mcamp__text_decided(o, &r->guarantee);
}

MCAMP_API mcamp_status mcamp_report_plan(const mcamp_plan_result *r, const mcamp_mech *mech,
                                         mcamp_report_format format, const mcamp_writer *w)
{
    MCAMP__GUARD;
    mcamp__out o;
    if (!r || !w || !w->write) return MCAMP_E_REQUIRED;
    if (r->best >= r->rows || r->rows > MCAMP_PLAN_ROWS || (mech && !mcamp__mech_ok(mech)) ||
        !mcamp__guarantee_printable(&r->guarantee)) return MCAMP_E_ARG;
    o = mcamp__out_open(w);
    o.items = format == MCAMP_REPORT_MEMBERS;
    if (format == MCAMP_REPORT_TEXT) mcamp__text_plan(&o, r);
    else if (format == MCAMP_REPORT_JSON || o.items) mcamp__json_plan(&o, r, mech);
    else return MCAMP_E_ARG;
    if (format == MCAMP_REPORT_JSON) mcamp__put(&o, "}\n");
    return mcamp__report_end(&o);
}

#endif /* MCAMP_NO_STDLIB */

MCAMP_EXTERN_C_END

#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC pop_options
#endif

#undef MCAMP__PRIV
#undef MCAMP__GUARD
#undef MCAMP__HOST_SSE
#undef MCAMP__HOST_READ
#undef MCAMP__HOST_WRITE
#undef MCAMP__HOST_FLAGS
#undef MCAMP__DISPATCH
#undef MCAMP__MAGIC
#undef MCAMP__LN2
#undef MCAMP__PI
#undef MCAMP__SIGMA_MIN
#undef MCAMP__SIGMA_MAX
#undef MCAMP__THREADS_MAX
#undef MCAMP__BIN_KEY0
#undef MCAMP__ORDER_MAX
#undef MCAMP__PILOT_LEAST
#undef MCAMP__MU_MAX
#undef MCAMP__PURPOSE
#undef MCAMP__NO_VECTOR
#undef MCAMP__X86
#undef MCAMP__SELF
#undef MCAMP__SUM_START
#undef MCAMP__RUNGS
#undef MCAMP__RECORD_FORMAT
#undef MCAMP__NAMES
#undef MCAMP__GUARANTEE_MAGIC
#undef MCAMP__ALONE
#undef MCAMP__S
#undef MCAMP__GROUP
#undef MCAMP__GOLDEN
#undef MCAMP__LOG_SQRT_2PI
#undef MCAMP__SQRT_2PI
#undef MCAMP__SQRT_PI_2
#undef MCAMP__SQRT1_2
#undef MCAMP__1_SQRT_PI
#undef MCAMP__MECH_MAGIC
#undef MCAMP__CHUNK
#undef MCAMP__ANCHOR
#undef MCAMP__MAX_ROUNDS
#undef MCAMP__OP_SOLVE
#undef MCAMP__OP_TRANS
#undef MCAMP__WORK_MAGIC
#undef MCAMP__MACHINE
#undef MCAMP__GRAM_MAGIC
#undef MCAMP__SLAB
#undef MCAMP__COUNT_MAX
#undef MCAMP__BINS_FAR
#undef MCAMP__LAMBDA_MAX
#undef MCAMP__BINS_CURVE
#undef MCAMP__PILOT
#undef MCAMP__ALIAS
#undef MCAMP__WORK
#undef MCAMP__BLOCK
#undef MCAMP__EDGE_GROUPS
#undef MCAMP__SCALE_DEGREE_MAX
#undef MCAMP__START_FLOOR
#undef MCAMP__HISTORY
#undef MCAMP__ROWS
#undef MCAMP__BINS_WORK
#undef MCAMP__LINE_ROWS
#undef MCAMP__SHIFTS
#undef MCAMP__WINDOWS
#undef MCAMP__DEPTH
#undef MCAMP__BOUND_ROUNDS
#undef MCAMP__BINS_KINDS
#undef MCAMP__APART
#endif /* MCAMP__PASS == 1 */
#endif /* C99 or C++11 */
