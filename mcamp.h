/* mcamp.h - differentially private training with correlated noise, in one C
 * header: accounting, calibration and certification of matrix mechanisms under
 * balls-in-bins batching.                          SPDX-License-Identifier: MIT
 *
 * Do this
 *     #define MCAMP_IMPLEMENTATION
 *     #include "mcamp.h"
 * in ONE C or C++ file, include the header plainly elsewhere, link with -lm.
 */
#ifndef MCAMP_H_INCLUDED
#define MCAMP_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCAMP_VERSION_MAJOR 0
#define MCAMP_VERSION_MINOR 1
#define MCAMP_VERSION_PATCH 0
#define MCAMP_VERSION \
    (MCAMP_VERSION_MAJOR * 10000 + MCAMP_VERSION_MINOR * 100 + \
     MCAMP_VERSION_PATCH)
#define MCAMP_VERSION_TEXT "0.1.0"

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

#ifdef __cplusplus
extern "C" {
#endif

/* ======================================================================== *
 *  BASE: status, context, hooks                                 (decl) base
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
    X(MCAMP_E_INTERNAL, -13, "internal invariant failed")

typedef enum mcamp_status {
#define MCAMP__X(name, value, text) name = value,
    MCAMP_STATUS_LIST(MCAMP__X)
#undef MCAMP__X
    MCAMP_STATUS_FORCE_INT = 0x7fffffff
} mcamp_status;

/* What went wrong last: a status, the argument's name, the offending value
 * (0 if it is not a number).  Static strings only.                           */
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
 * denormals kept.  MCAMP_E_FPENV if any of these fails.                      */
MCAMP_API mcamp_status mcamp_ctx_init(mcamp_ctx *ctx, const mcamp_ctx_desc *desc);
MCAMP_API mcamp_error mcamp_last_error(const mcamp_ctx *ctx);
/* The kernel set in use, never MCAMP_VEC_DEFAULT. */
MCAMP_API mcamp_vecset mcamp_ctx_vecset(const mcamp_ctx *ctx);
/* Never NULL, whatever the argument. */
MCAMP_API const char *mcamp_strerror(mcamp_status status);
MCAMP_API int mcamp_version(void);
/* The check that mcamp_ctx_init makes. */
MCAMP_API mcamp_status mcamp_self_check(void);

/* ======================================================================== *
 *  GAUSS: normal distribution, Gaussian mechanism               (decl) gauss
 * ======================================================================== */

/* The normal distribution, for any x (NaN gives NaN); relative error below
 * 1e-14 of each result, in the logarithms too, for x from -1e150 to 1e150.   */
MCAMP_API double mcamp_gauss_cdf(double x);         /* Phi(x)                  */
MCAMP_API double mcamp_gauss_logcdf(double x);      /* log Phi(x)              */
MCAMP_API double mcamp_gauss_logsf(double x);       /* log(1 - Phi(x))         */
/* x with Phi(x) = p, given p or log p; -inf and +inf at the ends, NaN outside.
 * Near the median (p in (0.3, 0.7)) the error is 1e-15 absolute.              */
MCAMP_API double mcamp_gauss_quantile(double p);
MCAMP_API double mcamp_gauss_quantile_log(double logp);

/* log delta of the Gaussian mechanism with mu = sensitivity / sigma >= 0 at
 * any real eps (the two directions, remove and add, agree):
 *     delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).
 * Error below 3e-15 + 5e-16 |log delta|; delta may be far below DBL_MIN.      */
MCAMP_API double mcamp_gauss_logdelta(double mu, double eps);

/* The Gaussian mechanism with a status.  Results are rounded to the safe side:
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
/* The largest mu such that mu-GDP implies (eps, delta), rounded down; k
 * mechanisms of mu_1 .. mu_k compose to the root of the sum of squares.       */
MCAMP_API mcamp_status mcamp_gauss_mu(mcamp_ctx *ctx, double eps, double delta,
                                      double *mu);

#ifdef __cplusplus
}
#endif
#endif /* MCAMP_H_INCLUDED */

/* ------ Stop here if you only want the API. ------------------------------ */

#if defined(MCAMP_IMPLEMENTATION) && !defined(MCAMP_IMPLEMENTATION_DONE)
#define MCAMP_IMPLEMENTATION_DONE

/* ======================================================================== *
 *  CONFIGURATION                                                  >>config
 *  Refuses what would silently break a guarantee; switches off contraction of
 *  a*b+c for everything but the vector kernels, which state their error.
 * ======================================================================== */

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__FAST_MATH__)
#  error "mcamp.h: -ffast-math removes the NaN checks that privacy rests on"
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#  error "mcamp.h: -ffinite-math-only removes the NaN checks that privacy rests on"
#endif
#if defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#  error "mcamp.h: reassociating floating point breaks the error bounds"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != -1
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
#else
#  define MCAMP__PRIV static
#endif

#ifndef MCAMP_ASSERT
#  define MCAMP_ASSERT(x) ((void)0)
#endif

#ifdef __cplusplus
extern "C" {
#endif

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
                         : malloc(bytes);
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
        free(p);
    }
}

MCAMP__PRIV void mcamp__delete_doubles(mcamp_ctx *ctx, double *p, size_t count)
{
    mcamp__delete(ctx, p, count, sizeof(double));
}

/* Runs the tasks through the context's hook, or in a loop. */
MCAMP__PRIV void mcamp__run(const mcamp_ctx *ctx, size_t ntask,
                            void (*task)(void *arg, size_t i), void *arg)
{
    if (ctx->parallel.run && ntask > 1) {
        ctx->parallel.run(ctx->parallel.user, ntask, task, arg);
    } else {
        for (size_t i = 0; i < ntask; i++) task(arg, i);
    }
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

/* Each probe reads its inputs through volatile, so that it tests the code that
 * runs rather than the compiler's constant folder.                            */
MCAMP_API mcamp_status mcamp_self_check(void)
{
    volatile double one = 1.0, tiny = DBL_EPSILON / 2, big = 1e16, nan = 0.0;
    volatile double small = DBL_MIN, a, b, s, c;
    int i;
    /* rounding to nearest even, no excess precision */
    a = one + tiny;
    if (!mcamp__eq(a, 1.0)) return MCAMP_E_FPENV;
    a = one + 3 * tiny;
    if (!mcamp__eq(a, 1.0 + 2 * DBL_EPSILON)) return MCAMP_E_FPENV;
    a = -one - tiny;
    if (!mcamp__eq(a, -1.0)) return MCAMP_E_FPENV;
    /* denormals neither flushed nor read as zero */
    a = small / 4;
    b = a * 4;
    if (!(a > 0) || !mcamp__eq(b, DBL_MIN)) return MCAMP_E_FPENV;
    /* no reassociation: Kahan's sum keeps what a plain sum loses */
    s = big; c = 0;
    for (i = 0; i < 1000; i++) {
        double y = one - c, t = s + y;
        c = (t - s) - y;
        s = t;
    }
    if (!mcamp__eq(s, 1e16 + 1000)) return MCAMP_E_FPENV;
    /* NaN compares false, and the bit test sees it */
    nan = mcamp__nan();
    if (nan <= one || nan > one || mcamp__finite(nan) || !mcamp__isnan(nan))
        return MCAMP_E_FPENV;
    return MCAMP_OK;
}

/* 1 if this processor and compiler can run the set. */
MCAMP__PRIV int mcamp__vecset_available(mcamp_vecset v)
{
    if (v == MCAMP_VEC_SCALAR) return 1;
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
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
    mcamp_ctx c;
    mcamp_status st;
    if (!ctx) return MCAMP_E_ARG;
    memset(&c, 0, sizeof c);
    if (desc) {
        if (desc->start_canary || desc->end_canary) return MCAMP_E_CANARY;
        if (!desc->alloc.alloc != !desc->alloc.free) return MCAMP_E_ARG;
        c.alloc = desc->alloc;
        c.parallel = desc->parallel;
        c.progress = desc->progress;
        c.vec = desc->vec;
    }
    st = mcamp_self_check();
    if (st < 0) return st;
    if (c.vec == MCAMP_VEC_DEFAULT) c.vec = mcamp__vecset_best();
    if (!mcamp__vecset_available(c.vec)) return MCAMP_E_ARG;
    c.magic = MCAMP__MAGIC;
    *ctx = c;
    return MCAMP_OK;
}

MCAMP_API mcamp_error mcamp_last_error(const mcamp_ctx *ctx)
{
    mcamp_error none;
    memset(&none, 0, sizeof none);
    return ctx ? ctx->err : none;
}

MCAMP_API mcamp_vecset mcamp_ctx_vecset(const mcamp_ctx *ctx) { return ctx->vec; }

/* ======================================================================== *
 *  RANDOM NUMBERS                                                    >>rng
 * ======================================================================== */

/* ======================================================================== *
 *  GAUSSIAN FUNCTIONS                                              >>gauss
 *  In: real numbers.  Out: Phi, its logarithm and inverse; the curve of the
 *  Gaussian mechanism.  No memory.  Everything rests on Mills' ratio
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

MCAMP_API double mcamp_gauss_cdf(double x)
{
    if (x < -40) return 0.0;                /* below the smallest denormal */
    return x < 0 ? mcamp__gauss_pdf(x) * mcamp__mills(-x)
                 : 1 - mcamp__gauss_pdf(x) * mcamp__mills(x);
}

MCAMP_API double mcamp_gauss_logsf(double x)
{
    if (x < 0) return log1p(-mcamp__gauss_pdf(x) * mcamp__mills(-x));
    if (x < 1) return log(0.5 * erfc(x * MCAMP__SQRT1_2));
    if (x > DBL_MAX) return -mcamp__inf();
    return -0.5 * x * x - MCAMP__LOG_SQRT_2PI + log(mcamp__mills(x));
}

MCAMP_API double mcamp_gauss_logcdf(double x) { return mcamp_gauss_logsf(-x); }

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
        double e = (mcamp_gauss_logcdf(x) - logp) / h;
        double step = e / (1 + 0.5 * e * (x + h));
        x -= step;
        if (x > 0) x = 0;
        if (!(fabs(step) > 1e-9 * fabs(x))) break;  /* its cube is below an ulp */
    }
    return x;
}

MCAMP_API double mcamp_gauss_quantile_log(double logp)
{
    if (!(logp <= 0)) return mcamp__nan();
    if (logp < -DBL_MAX) return -mcamp__inf();
    if (!(logp < 0)) return mcamp__inf();
    return logp <= -MCAMP__LN2 ? mcamp__quantile_tail(logp)
                               : -mcamp__quantile_tail(mcamp__log1mexp(logp));
}

MCAMP_API double mcamp_gauss_quantile(double p)
{
    double x;
    if (!(p >= 0 && p <= 1)) return mcamp__nan();
    if (p < 0.3) return mcamp_gauss_quantile_log(log(p));
    if (p > 0.7) return -mcamp_gauss_quantile_log(log1p(-p));
    x = MCAMP__SQRT_2PI * (p - 0.5);        /* Newton on erf, at most 6 steps */
    for (int i = 0; i < 6; i++)
        x -= (0.5 * erf(x * MCAMP__SQRT1_2) - (p - 0.5)) / mcamp__gauss_pdf(x);
    return x;
}

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

/* delta(eps) = 1 - e^eps (1 - delta(-eps)) for eps < 0, in the form that does
 * not cancel.                                                                 */
MCAMP_API double mcamp_gauss_logdelta(double mu, double eps)
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

/* log E[(w e^{ct - c^2/2} - e^eps)_+] for t ~ N(0,1), c >= 0, any log w: the
 * curve of the Gaussian mechanism at mu = c and eps - log w, times w.           */
MCAMP__PRIV double mcamp__log_gauss_hs(double c, double logw, double eps)
{
    if (logw < -DBL_MAX) return -mcamp__inf();
    return logw + mcamp_gauss_logdelta(c, eps - logw);
}

/* An upper bound of the exact log delta: more than the stated error on top. */
MCAMP__PRIV double mcamp__gauss_logdelta_up(double mu, double eps)
{
    double l = mcamp_gauss_logdelta(mu, eps);
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

MCAMP_API mcamp_status mcamp_gauss_mu(mcamp_ctx *ctx, double eps, double delta,
                                      double *mu)
{
    mcamp_status st = mcamp__gauss_check(ctx, 1.0, mu, "mu");
    if (st < 0) return st;
    if ((st = mcamp__gauss_check_target(ctx, eps, delta)) < 0) return st;
    *mu = mcamp__gauss_mu_down(eps, log(delta));
    return MCAMP_OK;
}

MCAMP_API mcamp_status mcamp_gauss_sigma(mcamp_ctx *ctx, double sensitivity,
                                         double eps, double delta, double *sigma)
{
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
 * ======================================================================== */

/* ======================================================================== *
 *  STRATEGIES C                                                     >>mech
 * ======================================================================== */

/* ======================================================================== *
 *  MODES AND THEIR GRAM MATRIX                                     >>modes
 * ======================================================================== */

/* ======================================================================== *
 *  PRIVACY LOSS                                                     >>loss
 * ======================================================================== */

/* ======================================================================== *
 *  ESTIMATION                                                        >>est
 * ======================================================================== */

/* ======================================================================== *
 *  EXACT ACCOUNTANTS                                               >>exact
 * ======================================================================== */

/* ======================================================================== *
 *  CALIBRATION AND CERTIFICATION                                   >>calib
 * ======================================================================== */

/* ======================================================================== *
 *  REPORTS                                                        >>report
 * ======================================================================== */

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC pop_options
#endif

#undef MCAMP__PRIV
#undef MCAMP__MAGIC
#undef MCAMP__LN2
#undef MCAMP__PI
#undef MCAMP__SIGMA_MIN
#undef MCAMP__SIGMA_MAX
#undef MCAMP__LOG_SQRT_2PI
#undef MCAMP__SQRT_2PI
#undef MCAMP__SQRT_PI_2
#undef MCAMP__SQRT1_2
#undef MCAMP__1_SQRT_PI
#endif /* MCAMP_IMPLEMENTATION */
