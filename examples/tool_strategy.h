/* The tool's --strategy texts, and files of numbers. */
#ifndef TOOL_STRATEGY_H
#define TOOL_STRATEGY_H

#include "tool_options.h"

TOOL_FN void *need(void *p)
{
    if (p) return p;
    failed("out of memory");
    return NULL;
}

typedef struct numbers { double *x; size_t count, room; } numbers;

TOOL_FN void add_number(numbers *v, double x)
{
    if (v->count == v->room) {
        v->room = v->room ? 2 * v->room : 64;
        v->x = (double *)need(realloc(v->x, v->room * sizeof *v->x));
    }
    v->x[v->count++] = x;
}

/* A file of numbers on its way in. */
typedef struct number_file {
    const char *option, *path;
    FILE *f;
    unsigned long line;
    char text[64];              /* the number at hand                           */
    size_t length;
    unsigned commas, count, whole;  /* since the last blank: numbers, those without "." */
} number_file;

TOOL_FN void open_numbers(number_file *r, const char *option, const char *path)
{
    int c;
    memset(r, 0, sizeof *r);
    r->option = option;
    r->path = path;
    r->line = 1;
    r->f = fopen(path, "r");
    if (!r->f) bad_use("--%s: cannot read \"%s\": %s", option, path, strerror(errno));
    c = getc(r->f);
    if (ferror(r->f)) bad_use("--%s: cannot read \"%s\": %s", option, path, strerror(errno));
    if (c == EOF) bad_use("--%s: \"%s\" is empty", option, path);
    if (c == 0xef || c == 0xfe || c == 0xff)
        bad_use("--%s: \"%s\" begins with a byte-order mark: save it as plain text", option, path);
    ungetc(c, r->f);
}

TOOL_FN void end_number(number_file *r, numbers *out)
{
    double x;
    r->text[r->length] = '\0';
    if (!r->length) return;
    r->length = 0;
    if (!parse_real(r->text, &x))
        bad_use("--%s: %s:%lu: \"%s\" is not a finite number", r->option, r->path, r->line,
                r->text);
    add_number(out, x);
    r->count++;
    r->whole += !strchr(r->text, '.');
}

/* At a blank: "0,5" may mean one number or two. */
TOOL_FN void end_word(number_file *r)
{
    if (r->commas == 1 && r->count == 2 && r->whole == 2)
        bad_use("--%s: %s:%lu: a comma between digits, before \"%s\": write a decimal point, or "
                "a blank between two numbers", r->option, r->path, r->line, r->text);
    r->commas = r->count = r->whole = 0;
}

TOOL_FN void add_digit(number_file *r, int c)
{
    if (!c) bad_use("--%s: %s:%lu: a zero byte: this is no text", r->option, r->path, r->line);
    if (r->length + 1 == sizeof r->text)
        bad_use("--%s: %s:%lu: number too long", r->option, r->path, r->line);
    r->text[r->length++] = (char)c;
}

/* Numbers with blanks or commas between them, # starts a comment.  row_ends, if given,
 * gets the number of values up to the end of each line that has any.            */
TOOL_FN void read_numbers(const char *option, const char *path, numbers *out,
                          numbers *row_ends)
{
    number_file r;
    size_t start = 0;
    int c, comment = 0;
    open_numbers(&r, option, path);
    do {
        c = getc(r.f);
        if (c == '#') comment = 1;
        if (c == EOF || comment || (c && strchr(" \t\r\n,", c))) {
            end_number(&r, out);
            if (c == ',' && !comment) r.commas++; else end_word(&r);
        } else {
            add_digit(&r, c);
        }
        if (c == '\n' || c == EOF) {
            if (row_ends && out->count > start) add_number(row_ends, (double)out->count);
            start = out->count;
            comment = 0;
            r.line++;
        }
    } while (c != EOF);
    if (ferror(r.f)) bad_use("--%s: cannot read \"%s\": %s", option, path, strerror(errno));
    fclose(r.f);
    if (!out->count) bad_use("--%s: \"%s\" has no numbers", option, path);
    TOOL_SAME(out->x, out->count * sizeof *out->x);
}

/* What --strategy said, with the numbers it needs; free with strategy_free. */
typedef struct strategy {
    mcamp_mech_desc desc;
    numbers coef, theta, omega, scale;
    char text[160];             /* for people                                  */
} strategy;

TOOL_FN void strategy_free(strategy *s)
{
    free(s->coef.x);
    free(s->theta.x);
    free(s->omega.x);
    free(s->scale.x);
}

/* "1,0.5,0.25" or "@FILE" */
TOOL_FN void parse_list(const char *text, numbers *out)
{
    if (*text == '@') {
        read_numbers("strategy", text + 1, out, NULL);
        return;
    }
    for (;;) {
        char *end;
        double x = strtod(text, &end);
        if (end == text || (*end && *end != ',') || !(fabs(x) <= 1.7e308))
            bad_use("--strategy: \"%s\" is not a list of finite numbers", text);
        add_number(out, x);
        if (!*end) return;
        text = end + 1;
    }
}

/* A file of pairs theta omega, as mcamp optimize writes them. */
TOOL_FN void read_blt(const char *path, strategy *s)
{
    numbers v = { NULL, 0, 0 };
    read_numbers("strategy", path, &v, NULL);
    if (v.count % 2) bad_use("--strategy: \"%s\" should hold pairs theta omega", path);
    for (size_t i = 0; i < v.count; i += 2) {
        add_number(&s->theta, v.x[i]);
        add_number(&s->omega, v.x[i + 1]);
    }
    s->desc.theta = s->theta.x;
    s->desc.omega = s->omega.x;
    s->desc.buffers = s->theta.count;
    free(v.x);
}

/* "theta:omega,theta:omega,...", or "@FILE" */
TOOL_FN void parse_blt(const char *text, strategy *s)
{
    if (*text == '@') {
        read_blt(text + 1, s);
        return;
    }
    for (;;) {
        char *end;
        double x = strtod(text, &end);
        if (end == text || *end != ':') break;
        add_number(&s->theta, x);
        text = end + 1;
        x = strtod(text, &end);
        if (end == text || (*end && *end != ',')) break;
        add_number(&s->omega, x);
        if (!*end) {
            s->desc.theta = s->theta.x;
            s->desc.omega = s->omega.x;
            s->desc.buffers = s->theta.count;
            return;
        }
        text = end + 1;
    }
    bad_use("--strategy: at \"%s\": blt wants THETA:OMEGA,THETA:OMEGA,...", text);
}

/* Row i of a banded file has min(i + 1, bands) entries; of a dense one n, or
 * i + 1, which is stored as a band of n.                                      */
TOOL_FN void parse_rows(const char *path, bool dense, strategy *s)
{
    numbers ends = { NULL, 0, 0 };
    size_t bands, before = 0;
    bool square;
    read_numbers("strategy", path, &s->coef, &ends);
    if (ends.count != s->desc.n)
        bad_use("--strategy: \"%s\" has %lu rows, but there are %lu rounds", path,
                (unsigned long)ends.count, (unsigned long)s->desc.n);
    square = dense && ends.count > 1 && ends.x[0] > 1;
    bands = (size_t)ends.x[ends.count - 1];
    if (ends.count > 1) bands -= (size_t)ends.x[ends.count - 2];
    for (size_t i = 0; i < ends.count; i++) {
        size_t end = (size_t)ends.x[i];
        size_t want = square ? ends.count : i + 1 < bands ? i + 1 : bands;
        if (dense && !square) want = i + 1;
        if (end - before != want)
            bad_use("--strategy: \"%s\": row %lu has %lu entries instead of %lu", path,
                    (unsigned long)i, (unsigned long)(end - before), (unsigned long)want);
        before = end;
    }
    s->desc.kind = square ? MCAMP_MECH_DENSE : MCAMP_MECH_BANDED;
    s->desc.bands = square ? 0 : bands;
    free(ends.x);
}

/* name "sqrt" and text "sqrt:64" give "64"; NULL if it is another name. */
TOOL_FN const char *after_name(const char *text, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(text, name, n) && text[n] == ':' && text[n + 1] ? text + n + 1 : NULL;
}

/* "@FILE" of as many column factors as rounds */
TOOL_FN void parse_scale(const char *text, strategy *s)
{
    if (*text != '@') bad_use("--scale wants @FILE, not \"%s\"", text);
    read_numbers("scale", text + 1, &s->scale, NULL);
    if (s->scale.count != s->desc.n)
        bad_use("--scale: \"%s\" has %lu factors for %lu rounds", text + 1,
                (unsigned long)s->scale.count, (unsigned long)s->desc.n);
    s->desc.scale = s->scale.x;
}

TOOL_FN void parse_strategy(const char *text, size_t n, bool normalize, strategy *s)
{
    const char *rest;
    uint64_t bands;
    memset(s, 0, sizeof *s);
    s->desc.n = n;
    s->desc.normalize = normalize;
    snprintf(s->text, sizeof s->text, "%s", text);
    if (!strcmp(text, "identity")) {
        s->desc.kind = MCAMP_MECH_IDENTITY;
    } else if ((rest = after_name(text, "sqrt")) != NULL) {
        if (!parse_count(rest, &bands)) bad_use("--strategy: sqrt wants a number of bands");
        s->desc.kind = MCAMP_MECH_SQRT;
        s->desc.bands = (size_t)bands;
    } else if ((rest = after_name(text, "toeplitz")) != NULL) {
        parse_list(rest, &s->coef);
        s->desc.kind = MCAMP_MECH_TOEPLITZ;
    } else if ((rest = after_name(text, "inverse-sqrt")) != NULL) {
        if (!parse_count(rest, &bands)) bad_use("--strategy: inverse-sqrt wants a number of bands");
        s->desc.kind = MCAMP_MECH_INVERSE_SQRT;
        s->desc.bands = (size_t)bands;
    } else if ((rest = after_name(text, "inverse")) != NULL) {
        parse_list(rest, &s->coef);
        s->desc.kind = MCAMP_MECH_INVERSE;
    } else if (!strcmp(text, "tree")) {
        s->desc.kind = MCAMP_MECH_TREE;
    } else if (!strcmp(text, "tree-padded")) {
        s->desc.kind = MCAMP_MECH_TREE_PADDED;
    } else if (!strcmp(text, "tree-online")) {
        s->desc.kind = MCAMP_MECH_TREE_ONLINE;
    } else if ((rest = after_name(text, "blt")) != NULL) {
        parse_blt(rest, s);
        s->desc.kind = MCAMP_MECH_BLT;
    } else if ((rest = after_name(text, "banded")) != NULL && *rest == '@') {
        parse_rows(rest + 1, false, s);
    } else if ((rest = after_name(text, "dense")) != NULL && *rest == '@') {
        parse_rows(rest + 1, true, s);
    } else {
        bad_use("--strategy: \"%s\" is none of identity, sqrt:BANDS, toeplitz:C0,C1,..., "
                "toeplitz:@FILE, inverse:B0,B1,..., inverse-sqrt:BANDS, tree, tree-padded, "
                "tree-online, blt:THETA:OMEGA,..., banded:@FILE, dense:@FILE", text);
    }
    s->desc.coef = s->coef.x;
    s->desc.count = s->coef.count;
}

#endif
