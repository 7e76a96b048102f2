/* A small test harness.
 *
 *     #include "mcamp_test.h"
 *     TEST(log_add_of_infinities) { CHECK(...); CHECK_NEAR(got, want, rel, abs); }
 *     TEST_MAIN("base", T(log_add_of_infinities))
 *
 * One program per section.  It prints one line per failed check and, last,
 * "section: N passed, M failed", counting tests, and exits with 1 if any
 * failed.  Options: --list, --filter SUBSTRING, --verbose (time per test).
 * Random tests use fixed seeds, so that a failure is always the same failure. */
#ifndef MCAMP_TEST_H
#define MCAMP_TEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct mt_case { const char *name; void (*fn)(void); } mt_case;

static int mt_failed_checks;    /* in the test that is running */
static long mt_checks;          /* in the whole program        */

static void mt_fail(const char *file, int line, const char *what)
{
    mt_failed_checks++;
    if (mt_failed_checks <= 10) printf("  %s:%d: %s\n", file, line, what);
}

static void mt_check(int ok, const char *file, int line, const char *what)
{
    mt_checks++;
    if (!ok) mt_fail(file, line, what);
}

static void mt_near(double got, double want, double rel, double abs_tol,
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

static void mt_le(double a, double b, const char *file, int line, const char *what)
{
    char buf[400];
    mt_checks++;
    if (a <= b) return;                             /* false for NaN */
    snprintf(buf, sizeof buf, "%s: %.17g > %.17g", what, a, b);
    mt_fail(file, line, buf);
}

static void mt_status(long got, long want, const char *file, int line,
                      const char *what)
{
    char buf[400];
    mt_checks++;
    if (got == want) return;
    snprintf(buf, sizeof buf, "%s: status %ld, want %ld", what, got, want);
    mt_fail(file, line, buf);
}

#define TEST(name) static void name(void)
#define T(name) { #name, name }
#define CHECK(cond) mt_check(!!(cond), __FILE__, __LINE__, #cond)
#define CHECK_NEAR(got, want, rel, abs_tol) \
    mt_near((got), (want), (rel), (abs_tol), __FILE__, __LINE__, #got)
#define CHECK_LE(a, b) mt_le((a), (b), __FILE__, __LINE__, #a " <= " #b)
#define CHECK_STATUS(expr, want) \
    mt_status((long)(expr), (long)(want), __FILE__, __LINE__, #expr)

static int mt_run(const char *section, const mt_case *cases, size_t n,
                  int argc, char **argv)
{
    const char *filter = NULL;
    int list = 0, verbose = 0, passed = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list")) list = 1;
        else if (!strcmp(argv[i], "--verbose")) verbose = 1;
        else if (!strcmp(argv[i], "--filter") && i + 1 < argc) filter = argv[++i];
        else { fprintf(stderr, "unknown option %s\n", argv[i]); return 2; }
    }
    for (size_t i = 0; i < n; i++) {
        clock_t t0 = clock();
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
