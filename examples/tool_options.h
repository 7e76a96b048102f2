/* The tool's command line: one table of options, read into one array of values.
 * Every complaint names the option and ends the program with status 2.         */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_REFUSED 1
#define EXIT_BAD_USE 2

#if defined(__GNUC__) || defined(__clang__)
#  define TOOL_FN __attribute__((unused)) static
#  define TOOL_PRINTF(n) __attribute__((format(printf, n, n + 1)))
#else
#  define TOOL_FN static
#  define TOOL_PRINTF(n)
#endif

#ifndef TOOL_NAME
#  define TOOL_NAME "mcamp"
#endif

/* Processes that work as one have read the same, and end alike (tool_mpi.h). */
#ifdef TOOL_MPI
TOOL_FN void mpi_same(const void *p, size_t n);
TOOL_FN void mpi_exit(int code);
#  define TOOL_SAME mpi_same
#  define TOOL_EXIT mpi_exit
#else
#  define TOOL_SAME(p, n) ((void)0)
#  define TOOL_EXIT exit
#endif

TOOL_FN void bad_use(const char *format, ...) TOOL_PRINTF(1);
TOOL_FN void bad_use(const char *format, ...)
{
    va_list args;
    fprintf(stderr, TOOL_NAME ": ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n(" TOOL_NAME " --help shows how to call it)\n");
    TOOL_EXIT(EXIT_BAD_USE);
}

/* Ends the program: what was to be done failed, and nobody's command is to blame. */
TOOL_FN void failed(const char *format, ...) TOOL_PRINTF(1);
TOOL_FN void failed(const char *format, ...)
{
    va_list args;
    fprintf(stderr, TOOL_NAME ": ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    TOOL_EXIT(EXIT_REFUSED);
}

/* The tool may be one of many that do the same: then one of them writes. */
static bool tool_writes = true;

TOOL_FN FILE *open_written(const char *path, const char *mode)
{
    return fopen(tool_writes ? path : "/dev/null", mode);
}

/* Closes a file that was written to `path`: every byte of it, or the program fails. */
TOOL_FN void close_written(FILE *f, const char *path)
{
    int bad = ferror(f) != 0;
    if (fclose(f) || bad) failed("cannot write \"%s\": %s", path, strerror(errno));
}

typedef enum option_kind { OPTION_FLAG, OPTION_REAL, OPTION_COUNT, OPTION_TEXT } option_kind;

typedef struct option_spec {
    const char *name;           /* without the dashes                          */
    option_kind kind;
    unsigned needed, allowed;   /* sets of commands, one bit each              */
    const char *value;          /* what to call the value in the help          */
    const char *help;
} option_spec;

typedef struct option_value {
    bool given;
    double real;
    uint64_t count;
    const char *text;
} option_value;

/* The whole of text as a finite number. */
TOOL_FN bool parse_real(const char *text, double *out)
{
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end || !(fabs(x) <= 1.7e308)) return false;
    *out = x;
    return true;
}

/* The whole of text as a count; 1e6 and the like are taken, 1.5 is not. */
TOOL_FN bool parse_count(const char *text, uint64_t *out)
{
    char *end;
    double x;
    unsigned long long n;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && !errno) {
        *out = n;
        return true;
    }
    if (!parse_real(text, &x) || !(x >= 0 && x <= 9007199254740992.0)) return false;
    *out = (uint64_t)x;
    return !((double)*out < x);
}

TOOL_FN void read_option(const option_spec *spec, const char *text, option_value *v)
{
    if (v->given) bad_use("--%s is given twice", spec->name);
    v->given = true;
    v->text = text;
    if (spec->kind == OPTION_REAL && !parse_real(text, &v->real))
        bad_use("--%s: \"%s\" is not a finite number", spec->name, text);
    if (spec->kind == OPTION_COUNT && !parse_count(text, &v->count))
        bad_use("--%s: \"%s\" is not a whole number from 0 on", spec->name, text);
}

/* How many letters to insert, drop or change to make b of a; names are short. */
TOOL_FN size_t edits(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64) return SIZE_MAX;
    for (size_t k = 0; k <= n; k++) row[k] = k;
    for (size_t i = 1; *a; i++, a++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= n; k++) {
            size_t best = diagonal + (*a != b[k - 1]);
            diagonal = row[k];
            if (row[k] + 1 < best) best = row[k] + 1;
            if (row[k - 1] + 1 < best) best = row[k - 1] + 1;
            row[k] = best;
        }
    }
    return row[n];
}

/* Keeps in *best the name that is nearest to `typed`, if it is near at all. */
TOOL_FN void nearer(const char *typed, const char *name, const char **best, size_t *distance)
{
    size_t d = edits(typed, name), near = strlen(name) / 3 + 1;
    if (d <= near && d < *distance) {
        *best = name;
        *distance = d;
    }
}

/* Other words that people use for an option. */
static const char *const ALIASES[][2] = {
    { "epsilon", "eps" }, { "noise-multiplier", "sigma" }, { "steps", "rounds" },
    { "population", "examples" }
};

TOOL_FN void unknown_option(const option_spec *specs, size_t nspec, unsigned command,
                            const char *argument)
{
    char typed[64];
    const char *best = NULL;
    size_t distance = SIZE_MAX, length = strcspn(argument + 2, "=");
    snprintf(typed, sizeof typed, "%.*s", (int)(length < 60 ? length : 60), argument + 2);
    for (size_t i = 0; i < nspec; i++)
        if (specs[i].allowed & command) nearer(typed, specs[i].name, &best, &distance);
    for (size_t i = 0; i < sizeof ALIASES / sizeof ALIASES[0]; i++)
        nearer(typed, ALIASES[i][0], &best, &distance);
    if (best) bad_use("unknown option \"%s\": did you mean --%s?", argument, best);
    bad_use("unknown option \"%s\"", argument);
}

TOOL_FN const option_spec *find_option(const option_spec *specs, size_t nspec,
                                       const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof ALIASES / sizeof ALIASES[0]; i++)
        if (strlen(ALIASES[i][0]) == length && !memcmp(ALIASES[i][0], name, length)) {
            name = ALIASES[i][1];
            length = strlen(name);
            break;
        }
    for (size_t i = 0; i < nspec; i++)
        if (strlen(specs[i].name) == length && !memcmp(specs[i].name, name, length))
            return &specs[i];
    return NULL;
}

/* Arguments that are no options. */
typedef struct word_list { const char *word[4096]; size_t n, most; } word_list;

/* Reads argv[first ..] for the command whose bit is `command`: --name value,
 * --name=value, --flag, or at most words->most words; then checks that everything
 * needed is there.                                                             */
TOOL_FN void read_options(const option_spec *specs, size_t nspec, unsigned command,
                          const char *command_name, int argc, char **argv, int first,
                          option_value *values, word_list *words)
{
    for (int i = first; i < argc; i++) {
        const char *name = argv[i], *equals, *text = "";
        const option_spec *spec;
        if (name[0] != '-' && words->n < words->most) {
            words->word[words->n++] = name;
            continue;
        }
        if (name[0] != '-' || name[1] != '-')
            bad_use("unexpected \"%s\" (options begin with --)", name);
        name += 2;
        equals = strchr(name, '=');
        spec = find_option(specs, nspec, name, equals ? (size_t)(equals - name) : strlen(name));
        if (!spec) unknown_option(specs, nspec, command, argv[i]);
        if (!(spec->allowed & command))
            bad_use("--%s does not apply to \"mcamp %s\"", spec->name, command_name);
        if (spec->kind == OPTION_FLAG && equals) bad_use("--%s takes no value", spec->name);
        if (spec->kind != OPTION_FLAG) {
            if (!equals && i + 1 >= argc) bad_use("--%s needs a value", spec->name);
            text = equals ? equals + 1 : argv[++i];
        }
        read_option(spec, text, &values[spec - specs]);
    }
    for (size_t i = 0; i < nspec; i++)
        if ((specs[i].needed & command) && !values[i].given)
            bad_use("\"mcamp %s\" needs --%s %s", command_name, specs[i].name, specs[i].value);
}

#endif
