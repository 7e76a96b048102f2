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
 * ======================================================================== */

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
#endif /* MCAMP_IMPLEMENTATION */
