/* A small test harness.
 *
 *     #include "mcamp_test.h"
 *     TEST(log_add_of_infinities) { CHECK(...); CHECK_NEAR(got, want, rel, abs); }
 *     TEST_MAIN("base", T(log_add_of_infinities))
 *
 * One program per section.  It prints one line per failed check and, last,
 * "section: N passed, M failed", counting tests, and exits with 1 if any
 * failed.  Options: --list, --filter SUBSTRING, --verbose (time per test).
 * Random tests use fixed seeds, so that a failure is always the same failure.
 *
 * From the environment, read here and never by the library:
 *   MCAMP_TEST_VEC=scalar|avx2|avx512   the kernel set of every context whose
 *       desc does not name one (include mcamp.h before this file);
 *   MCAMP_TEST_QUICK=1   mt_scale(n) gives n/10, mt_few(n, few) gives few: for sanitizers
 *       and valgrind, where what matters is that every line runs.
 *   MCAMP_TEST_SKIP="NAMES"   tests left out, as is said, where they would take too long;
 *   MCAMP_TEST_STOP=1    ends the program, with status 1, at the first failed check. */
#ifndef MCAMP_TEST_H
#define MCAMP_TEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__GNUC__) || defined(__clang__)
#  define MT_FN __attribute__((unused)) static
#else
#  define MT_FN static
#endif

typedef struct mt_case { const char *name; void (*fn)(void); } mt_case;

static int mt_failed_checks;    /* in the test that is running */
static long mt_checks;          /* in the whole program        */

MT_FN void mt_fail(const char *file, int line, const char *what)
{
    mt_failed_checks++;
    if (mt_failed_checks <= 10) printf("  %s:%d: %s\n", file, line, what);
    if (getenv("MCAMP_TEST_STOP")) exit(1);
}

MT_FN void mt_check(int ok, const char *file, int line, const char *what)
{
    mt_checks++;
    if (!ok) mt_fail(file, line, what);
}

MT_FN void mt_near(double got, double want, double rel, double abs_tol,
                    const char *file, int line, const char *what)
{
    char buf[400];
    int ok = got <= want && got >= want;            /* equal, infinities too */
    mt_checks++;
    if (!ok) ok = fabs(got - want) <= abs_tol + rel * fabs(want);
    if (ok) return;
    snprintf(buf, sizeof buf, "%s: got %.17g, want %.17g (difference %.3g, "
             "allowed %.3g)", what, got, want, got - want,
             abs_tol + rel * fabs(want));
    mt_fail(file, line, buf);
}

MT_FN void mt_le(double a, double b, const char *file, int line, const char *what)
{
    char buf[400];
    mt_checks++;
    if (a <= b) return;                             /* false for NaN */
    snprintf(buf, sizeof buf, "%s: %.17g > %.17g", what, a, b);
    mt_fail(file, line, buf);
}

MT_FN void mt_status(long got, long want, const char *file, int line,
                      const char *what)
{
    char buf[400];
    mt_checks++;
    if (got == want) return;
    snprintf(buf, sizeof buf, "%s: status %ld, want %ld", what, got, want);
    mt_fail(file, line, buf);
}

MT_FN int mt_quick(void) { return getenv("MCAMP_TEST_QUICK") != NULL; }

/* The number of samples or trials to use where n is the full count. */
MT_FN size_t mt_scale(size_t n) { return mt_quick() ? n / 10 + 1 : n; }

/* A number that is `few` in quick tests: a size, or the step through a table of cases. */
MT_FN size_t mt_few(size_t n, size_t few) { return mt_quick() ? few : n; }

/* Calls fn(line, user) for every case in tests/vectors/NAME (see the README
 * there), comments left out, from whichever directory the test was started in.
 * Returns the number of cases; a missing or empty file fails the test.        */
MT_FN size_t mt_vectors(const char *name, void (*fn)(const char *line, void *user),
                        void *user)
{
    static const char *const dir[] = { "tests/vectors/", "vectors/",
                                       "../tests/vectors/", "../../tests/vectors/" };
    char path[300], line[1024];
    FILE *f = NULL;
    size_t cases = 0;
    for (size_t i = 0; !f && i < sizeof dir / sizeof dir[0]; i++) {
        snprintf(path, sizeof path, "%s%s", dir[i], name);
        f = fopen(path, "r");
    }
    while (f && fgets(line, (int)sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!line[0] || line[0] == '#') continue;
        fn(line, user);
        cases++;
    }
    if (f) fclose(f);
    mt_check(cases > 0, __FILE__, __LINE__, name);
    return cases;
}

/* The normal distribution by libm, to compare with. */
/* A hook that runs the last task first; *user, if any, counts them. */
MT_FN void mt_backwards(void *user, size_t n, void (*task)(void *arg, size_t i), void *arg)
{
    if (user) *(size_t *)user += n;
    while (n-- > 0) task(arg, n);
}

MT_FN double mt_phi(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

#ifdef MCAMP_H_INCLUDED
/* mcamp_ctx_init, with the kernel set that the environment asks for. */
MT_FN mcamp_status mt_ctx_init(mcamp_ctx *ctx, const mcamp_ctx_desc *desc)
{
    const char *set = getenv("MCAMP_TEST_VEC");
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    if (desc) d = *desc;
    if (set && d.vec == MCAMP_VEC_DEFAULT)
        d.vec = !strcmp(set, "avx512") ? MCAMP_VEC_AVX512
              : !strcmp(set, "avx2")   ? MCAMP_VEC_AVX2 : MCAMP_VEC_SCALAR;
    return mcamp_ctx_init(ctx, &d);
}
#define mcamp_ctx_init mt_ctx_init
#endif

#define TEST(name) static void name(void)
#define T(name) { #name, name }
#define CHECK(cond) mt_check(!!(cond), __FILE__, __LINE__, #cond)
#define CHECK_NEAR(got, want, rel, abs_tol) \
    mt_near((got), (want), (rel), (abs_tol), __FILE__, __LINE__, #got)
#define CHECK_LE(a, b) mt_le((a), (b), __FILE__, __LINE__, #a " <= " #b)
#define CHECK_STATUS(expr, want) \
    mt_status((long)(expr), (long)(want), __FILE__, __LINE__, #expr)

/* Whether name is a word of the list, words apart by blanks. */
MT_FN int mt_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; (p = strstr(p, name)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n])) return 1;
    return 0;
}

MT_FN int mt_run(const char *section, const mt_case *cases, size_t n,
                  int argc, char **argv)
{
    const char *filter = NULL;
    const char *skipped = getenv("MCAMP_TEST_SKIP");
    int list = 0, verbose = 0, passed = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list")) list = 1;
        else if (!strcmp(argv[i], "--verbose")) verbose = 1;
        else if (!strcmp(argv[i], "--filter") && i + 1 < argc) filter = argv[++i];
        else { fprintf(stderr, "unknown option %s\n", argv[i]); return 2; }
    }
    for (size_t i = 0; i < n; i++) {
        clock_t t0 = clock();
        if (skipped && mt_listed(skipped, cases[i].name)) {
            printf("SKIPPED %s.%s\n", section, cases[i].name);
            continue;
        }
        if (filter && !strstr(cases[i].name, filter)) continue;
        if (list) { printf("%s.%s\n", section, cases[i].name); continue; }
        mt_failed_checks = 0;
        cases[i].fn();
        if (mt_failed_checks) {
            printf("FAIL %s.%s (%d checks)\n", section, cases[i].name,
                   mt_failed_checks);
            failed++;
        } else {
            passed++;
        }
        if (verbose)
            printf("%8.3f s  %s.%s\n", (double)(clock() - t0) / CLOCKS_PER_SEC,
                   section, cases[i].name);
        fflush(stdout);
    }
    if (!list) printf("%s: %d passed, %d failed (%ld checks)\n", section, passed,
                      failed, mt_checks);
    return failed || (!list && !passed) ? 1 : 0;
}

#define TEST_MAIN(section, ...) \
    int main(int argc, char **argv) \
    { \
        static const mt_case cases[] = { __VA_ARGS__ }; \
        return mt_run(section, cases, sizeof cases / sizeof cases[0], argc, argv); \
    }

#endif
