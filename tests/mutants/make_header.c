/* Makes the switchable sources from the rules (README.md beside this file).
 *
 *     make_header OUT SKIP RULES...
 *
 * Reads the files of rules and the sources they name from the current directory; writes
 * OUT/<source> with every bug behind mcamp__mutant(number), and
 *   OUT/plan   number, source, id, suites, promise: one line per rule that applies
 *   OUT/lines  source, first line, last line, number: where each stands in the result
 *   OUT/refused  id, reason: one line per rule that does not apply
 * separated by tabs.  SKIP is a file of numbers that are left out (they did not compile).
 * Exit status: 0, or 2 if it cannot read or write.
 *
 * Text is compared token by token, so that blanks, line breaks and comments do not count. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES 4000
#define MAX_SOURCES 32
#define MAX_TOKENS 400

typedef struct token { size_t at, len; } token;

typedef struct source {
    char *name, *text;
    size_t len, count;
    token *tok;
} source;

typedef struct rule {
    char *field[7];         /* in the order of field_name                        */
    const char *file;       /* where it is written                               */
    int line, number, statement;
    char refused[300];      /* "" or why it does not apply                       */
} rule;

/* One place of one rule: `in` and `from` may be found in each variant of a function. */
typedef struct edit { rule *r; source *s; size_t start, end; } edit;

enum { ID, PROMISE, IN, FROM, TO, SUITES, SOURCE };
static const char *const field_name[7] = { "id", "promise", "in", "from", "to", "suites", "file" };

static rule rules[MAX_RULES];
static int rule_count;
static source sources[MAX_SOURCES];
static int source_count;
static edit edits[2 * MAX_RULES];
static int edit_count;

static void die(const char *what, const char *name)
{
    fprintf(stderr, "make_header: %s: %s\n", what, name);
    exit(2);
}

static void *need(void *p)
{
    if (!p) die("memory", "none left");
    return p;
}

static void refuse(rule *r, const char *format, ...)
{
    va_list ap;
    if (r->refused[0]) return;
    va_start(ap, format);
    vsnprintf(r->refused, sizeof r->refused, format, ap);
    va_end(ap);
}

static char *read_file(const char *name, size_t *len)
{
    FILE *f = fopen(name, "rb");
    size_t n = 0, cap = 1 << 16, got;
    char *text = (char *)need(malloc(cap + 1));
    if (!f) die("cannot read", name);
    while ((got = fread(text + n, 1, cap - n, f)) > 0)
        if ((n += got) == cap) text = (char *)need(realloc(text, (cap *= 2) + 1));
    fclose(f);
    text[n] = '\0';
    *len = n;
    return text;
}

/* ---- tokens ------------------------------------------------------------------- */

static int is_word(int c) { return isalnum(c) || c == '_'; }

/* Behind blanks, comments and continued lines. */
static size_t skip_blank(const char *s, size_t i, size_t n)
{
    for (;;) {
        if (i < n && (isspace((unsigned char)s[i]) ||
                      (s[i] == '\\' && i + 1 < n && s[i + 1] == '\n'))) {
            i++;
        } else if (i + 1 < n && s[i] == '/' && s[i + 1] == '*') {
            for (i += 2; i + 1 < n && !(s[i] == '*' && s[i + 1] == '/'); i++) { }
            i += 2;
        } else if (i + 1 < n && s[i] == '/' && s[i + 1] == '/') {
            while (i < n && s[i] != '\n') i++;
        } else {
            return i < n ? i : n;
        }
    }
}

static size_t quoted(const char *s, size_t i, size_t n)
{
    size_t k = i + 1;
    while (k < n && s[k] != s[i] && s[k] != '\n') k += s[k] == '\\' ? 2 : 1;
    return k < n ? k + 1 - i : n - i;
}

static size_t token_length(const char *s, size_t i, size_t n)
{
    static const char *const ops[] = { "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=",
        ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##" };
    size_t k = i;
    if (s[i] == '"' || s[i] == '\'') return quoted(s, i, n);
    if (is_word((unsigned char)s[i]) ||
        (s[i] == '.' && i + 1 < n && isdigit((unsigned char)s[i + 1]))) {
        int number = !isalpha((unsigned char)s[i]) && s[i] != '_';
        while (k < n && (is_word((unsigned char)s[k]) || (number && s[k] == '.') ||
                         (number && strchr("+-", s[k]) && strchr("eEpP", s[k - 1])))) k++;
        return k - i;
    }
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        if (strlen(ops[o]) <= n - i && !strncmp(s + i, ops[o], strlen(ops[o])))
            return strlen(ops[o]);
    return 1;
}

static size_t tokenize(const char *s, size_t n, token *out, size_t cap)
{
    size_t count = 0;
    for (size_t i = skip_blank(s, 0, n); i < n; i = skip_blank(s, i, n)) {
        size_t len = token_length(s, i, n);
        if (count < cap) out[count] = (token){ i, len };
        count++;
        i += len;
    }
    return count;
}

static int same(const char *a, token x, const char *b, token y)
{
    return x.len == y.len && !memcmp(a + x.at, b + y.at, x.len);
}

static int is(const char *s, token t, const char *text)
{
    return t.len == strlen(text) && !memcmp(s + t.at, text, t.len);
}

static source *find_source(const char *name)
{
    source *s;
    for (int i = 0; i < source_count; i++)
        if (!strcmp(sources[i].name, name)) return &sources[i];
    if (source_count == MAX_SOURCES) die("too many sources", name);
    s = &sources[source_count++];
    s->name = (char *)need(malloc(strlen(name) + 1));
    strcpy(s->name, name);
    s->text = read_file(name, &s->len);
    s->tok = (token *)need(malloc((s->len + 1) * sizeof *s->tok));
    s->count = tokenize(s->text, s->len, s->tok, s->len + 1);
    return s;
}

/* ---- rules -------------------------------------------------------------------- */

static char *trimmed(const char *s, size_t n)
{
    char *out = (char *)need(malloc(n + 1));
    while (n && isspace((unsigned char)s[n - 1])) n--;
    while (n && isspace((unsigned char)*s)) s++, n--;
    memcpy(out, s, n);
    out[n] = '\0';
    return out;
}

static char *joined(char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    char *out = (char *)need(realloc(a, n + m + 2));
    out[n] = ' ';
    memcpy(out + n + 1, b, m + 1);
    return out;
}

static rule *new_rule(const char *file, int line)
{
    rule *r = &rules[rule_count];
    if (rule_count == MAX_RULES) die("too many rules", file);
    r->file = file;
    r->line = line;
    r->number = ++rule_count;
    return r;
}

/* "name: value"; which field, or -1 */
static int field_of(const char *line, size_t n, size_t *value)
{
    for (int f = 0; f < 7; f++) {
        size_t len = strlen(field_name[f]);
        if (n > len && !strncmp(line, field_name[f], len) && line[len] == ':') {
            *value = len + 1;
            return f;
        }
    }
    return -1;
}

static void read_rules(const char *file)
{
    size_t n, value = 0;
    char *text = read_file(file, &n);
    rule *r = NULL;
    int line = 1, last = -1;
    for (size_t i = 0; i < n; line++) {
        size_t len = strcspn(text + i, "\n"), blank = strspn(text + i, " \t\r");
        int f = field_of(text + i, len, &value);
        if (blank >= len) {
            r = NULL;
        } else if (blank && r && last >= 0) {
            char *more = trimmed(text + i, len);
            r->field[last] = joined(r->field[last], more);
            free(more);
        } else if (text[i] != '#') {
            if (!r) { r = new_rule(file, line); last = -1; }
            if (f < 0) refuse(r, "%s:%d is not a field of a rule", file, line);
            else if (r->field[f]) refuse(r, "%s:%d: a second %s", file, line, field_name[f]);
            else r->field[f] = trimmed(text + i + value, len - value);
            last = f < 0 || !r->field[f] ? -1 : f;
        }
        i += len + (i + len < n);
    }
    free(text);
}

static int ends(const char *s, const char *set)
{
    size_t n = strlen(s);
    return n && strchr(set, s[n - 1]) != NULL;
}

static void check_rule(rule *r)
{
    for (int f = 0; f < SOURCE; f++)
        if (!r->field[f] || !r->field[f][0]) {
            refuse(r, "%s:%d: no %s", r->file, r->line, field_name[f]);
            if (!r->field[f]) r->field[f] = trimmed("", 0);
        }
    if (!r->field[SOURCE]) r->field[SOURCE] = trimmed("mcamp.h", 7);
    r->statement = ends(r->field[FROM], ";}");
    if (r->statement != ends(r->field[TO], ";}"))
        refuse(r, "from and to must both be statements or both be expressions");
    for (rule *q = rules; q < r; q++)
        if (!strcmp(q->field[ID], r->field[ID])) refuse(r, "the id is taken");
}

/* ---- where a rule applies --------------------------------------------------------- */

/* The token behind the bracket that matches the one at i. */
static size_t behind(const source *s, size_t i, const char *open, const char *close)
{
    int depth = 0;
    for (; i < s->count; i++) {
        if (is(s->text, s->tok[i], open)) depth++;
        if (is(s->text, s->tok[i], close) && --depth == 0) return i + 1;
    }
    return s->count;
}

/* The end of the body whose { is token i: its bracket, or a } in column 1 (variants
 * under #if need not balance).                                                        */
static size_t body_end(const source *s, size_t i)
{
    int depth = 0;
    for (; i < s->count; i++) {
        size_t at = s->tok[i].at;
        if (is(s->text, s->tok[i], "{")) depth++;
        if (is(s->text, s->tok[i], "}") && (--depth == 0 || s->text[at - 1] == '\n')) return i + 1;
    }
    return s->count;
}

/* The line of a macro with its continuations: tokens [i, result). */
static size_t macro_end(const source *s, size_t i)
{
    size_t at = s->tok[i].at;
    while (at < s->len && !(s->text[at] == '\n' && s->text[at - 1] != '\\')) at++;
    while (i < s->count && s->tok[i].at < at) i++;
    return i;
}

/* Does a definition of `in` start at token i?  Then the tokens it takes, else 0.
 * `in` is a function, a function named through a macro (alone or as MACRO(name)), or
 * "#define NAME".                                                                      */
static size_t definition(const source *s, size_t i, const char *in, const token *name,
                         size_t n, int through_macro)
{
    size_t k = i, macro = in[name[0].at] == '#';
    if (through_macro) {
        if (i + 4 > s->count || !is(s->text, s->tok[i + 1], "(") ||
            !is(s->text, s->tok[i + 3], ")") || !same(s->text, s->tok[i + 2], in, name[0]) ||
            !is_word((unsigned char)s->text[s->tok[i].at])) return 0;
        k = i + 4;
    } else {
        if (i + n > s->count) return 0;
        for (size_t t = 0; t < n; t++)
            if (!same(s->text, s->tok[i + t], in, name[t])) return 0;
        k = i + n;
    }
    if (macro) return macro_end(s, i) - i;
    if (k >= s->count || !is(s->text, s->tok[k], "(")) return 0;
    k = behind(s, k, "(", ")");
    if (k >= s->count || !is(s->text, s->tok[k], "{")) return 0;
    return body_end(s, k) - i;
}

/* The precedence of a binary operator, 0 for other tokens. */
static int binary(const char *s, token t)
{
    static const char *const ops[] = { ",", "= += -= *= /= %= &= |= ^= <<= >>=", "? :", "||",
        "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %" };
    char buf[8];
    if (t.len > 3) return 0;
    memcpy(buf, s + t.at, t.len);
    buf[t.len] = '\0';
    if (isspace((unsigned char)buf[0])) return 0;
    for (int p = 0; p < (int)(sizeof ops / sizeof ops[0]); p++)
        for (const char *at = ops[p]; (at = strstr(at, buf)) != NULL; at++)
            if ((at == ops[p] || at[-1] == ' ') && (at[t.len] == ' ' || !at[t.len])) return p + 1;
    return 0;
}

/* An operand ends here, so that an operator behind it is a binary one. */
static int operand(const char *s, token t)
{
    if (is(s, t, "return") || is(s, t, "case")) return 0;
    return is_word((unsigned char)s[t.at]) || strchr(")]\"'.", s[t.at + t.len - 1]) != NULL ||
           is(s, t, "++") || is(s, t, "--");
}

/* The loosest binary operator of tokens [a, b) outside brackets; 0: none. */
static int loosest(const source *s, size_t a, size_t b)
{
    int depth = 0, found = 0;
    for (size_t i = a; i < b; i++) {
        char c = s->text[s->tok[i].at];
        int p = binary(s->text, s->tok[i]);
        if (strchr("([{", c)) depth++;
        if (strchr(")]}", c)) depth--;
        if (depth || !p || i == a || !operand(s->text, s->tok[i - 1])) continue;
        if (!found || p < found) found = p;
    }
    return found;
}

static int balanced(const source *s, size_t a, size_t b)
{
    int depth = 0;
    for (size_t i = a; i < b; i++) {
        char c = s->text[s->tok[i].at];
        if (strchr("([{", c)) depth++;
        if (strchr(")]}", c) && --depth < 0) return 0;
    }
    return depth == 0;
}

/* Why a statement cannot begin at token a, or NULL. */
static const char *no_statement(const source *s, size_t a)
{
    token prev = s->tok[a - 1];
    if (strchr(";{}):", s->text[prev.at]) || is(s->text, prev, "else") || is(s->text, prev, "do"))
        return NULL;
    return "from does not begin a statement";
}

/* Why tokens [a, b) are not a whole expression of the body or macro [lo, hi), or NULL. */
static const char *broken(const source *s, size_t a, size_t b, size_t lo, size_t hi)
{
    int inner = loosest(s, a, b), before = 0, after = 0;
    token prev, next;
    if (!balanced(s, a, b)) return "from has brackets without their other half";
    if (a == lo || b == hi)
        return a == lo && b == hi ? NULL : "replace all of a macro or a part in brackets";
    prev = s->tok[a - 1];
    next = s->tok[b];
    if (operand(s->text, prev) && !is(s->text, prev, ")") && !is(s->text, prev, "else") &&
        !is(s->text, prev, "do"))
        return "from begins inside an expression";
    if (operand(s->text, prev) && binary(s->text, s->tok[a]))
        return "from begins with an operator";
    if (is_word((unsigned char)s->text[next.at]) || s->text[next.at] == '"')
        return "from ends inside an expression";
    if (strchr("=", s->text[next.at]) && next.len == 1) return "from is assigned to";
    if (!inner) return NULL;
    if (binary(s->text, prev))
        before = operand(s->text, s->tok[a - 2]) ? binary(s->text, prev) : 99;
    if (strchr("!~", s->text[prev.at]) && prev.len == 1) before = 99;
    if (is(s->text, prev, ")")) before = 99;                     /* a cast */
    after = binary(s->text, next);
    if (strchr("[.(", s->text[next.at]) || is(s->text, next, "->")) after = 99;
    if (before >= inner && !(before == inner && inner <= 3))
        return "from is cut out of a larger expression on its left";
    if (after > inner) return "from is cut out of a larger expression on its right";
    return NULL;
}

static int search_body(rule *r, source *s, size_t a, size_t b, const token *from, size_t n)
{
    int found = 0;
    for (size_t i = a; i + n <= b; i++) {
        size_t t = 0;
        while (t < n && same(s->text, s->tok[i + t], r->field[FROM], from[t])) t++;
        if (t < n) continue;
        if (!found++) {
            const char *why = r->statement ? no_statement(s, i) : broken(s, i, i + n, a, b);
            token last = s->tok[i + n - 1];
            if (why) refuse(r, "%s", why);
            edits[edit_count++] = (edit){ r, s, s->tok[i].at, last.at + last.len };
        }
    }
    return found;
}

static void locate(rule *r)
{
    static token name[MAX_TOKENS], from[MAX_TOKENS];
    source *s = find_source(r->field[SOURCE]);
    size_t in = tokenize(r->field[IN], strlen(r->field[IN]), name, MAX_TOKENS);
    size_t n = tokenize(r->field[FROM], strlen(r->field[FROM]), from, MAX_TOKENS);
    int bodies = 0, hits = 0, first = edit_count;
    if (!in || !n || in > MAX_TOKENS || n > MAX_TOKENS) { refuse(r, "too long"); return; }
    for (int through = 0; through < (in == 1 ? 2 : 1) && !bodies; through++)
        for (size_t i = 0; i < s->count; i++) {
            size_t len = definition(s, i, r->field[IN], name, in, through);
            int found;
            if (!len) continue;
            found = search_body(r, s, r->field[IN][0] == '#' ? i + in : i, i + len, from, n);
            if (found > 1) refuse(r, "from occurs %d times in %s", found, r->field[IN]);
            bodies++;
            hits += found;
            if (edit_count > 2 * MAX_RULES - 2) die("too many places", r->field[ID]);
        }
    if (!bodies) refuse(r, "no function %s in %s", r->field[IN], s->name);
    else if (!hits) refuse(r, "from does not occur in %s", r->field[IN]);
    if (r->refused[0]) edit_count = first;
}

/* ---- output --------------------------------------------------------------------- */

static int by_place(const void *x, const void *y)
{
    const edit *a = (const edit *)x, *b = (const edit *)y;
    if (a->s != b->s) return a->s < b->s ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return a->r->number - b->r->number;
}

/* Edits may be nested or equal; one that overlaps another in part is refused. */
static void refuse_overlaps(void)
{
    qsort(edits, (size_t)edit_count, sizeof edits[0], by_place);
    for (int i = 0; i < edit_count; i++)
        for (int j = i - 1; j >= 0 && edits[j].s == edits[i].s; j--)
            if (!edits[j].r->refused[0] && edits[j].end > edits[i].start &&
                edits[j].end < edits[i].end)
                refuse(edits[i].r, "overlaps a part of %s", edits[j].r->field[ID]);
}

static int next_edit;
static FILE *out_lines;

typedef struct writer { FILE *f; int line; } writer;

static void put(writer *w, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) w->line += s[i] == '\n';
    fwrite(s, 1, n, w->f);
}

static void put_text(writer *w, const char *s) { put(w, s, strlen(s)); }

static void put_switch(writer *w, const rule *r)
{
    char number[64];
    snprintf(number, sizeof number, r->statement ? "{ if (mcamp__mutant(%d)) { " :
             "(mcamp__mutant(%d) ? (", r->number);
    put_text(w, number);
    put_text(w, r->field[TO]);
    put_text(w, r->statement ? " } else { " : ") : (");
}

static void put_range(writer *w, const source *s, size_t start, size_t end)
{
    while (next_edit < edit_count && edits[next_edit].s == s && edits[next_edit].end <= end) {
        int first = next_edit, last = first;
        const edit *e = &edits[first];
        int line;
        put(w, s->text + start, e->start - start);
        line = w->line;
        for (; last < edit_count && edits[last].s == s && edits[last].start == e->start &&
               edits[last].end == e->end; last++)
            put_switch(w, edits[last].r);
        next_edit = last;
        put_range(w, s, e->start, e->end);
        for (int i = first; i < last; i++) put_text(w, edits[i].r->statement ? " } }" : "))");
        for (int i = first; i < last; i++)
            fprintf(out_lines, "%s\t%d\t%d\t%d\n", s->name, line, w->line, edits[i].r->number);
        start = e->end;
    }
    put(w, s->text + start, end - start);
}

static const char *const prologue =
    "#ifndef MCAMP__MUTANT_INCLUDED\n"
    "#define MCAMP__MUTANT_INCLUDED\n"
    "#include <stdlib.h>\n"
    "static int mcamp__mutant_number;\n"
    "#define mcamp__mutant(n) (mcamp__mutant_number == (n))\n"
    "__attribute__((constructor, unused)) static void mcamp__mutant_read(void)\n"
    "{\n"
    "    const char *text = getenv(\"MCAMP_MUTANT\");\n"
    "    mcamp__mutant_number = text ? atoi(text) : 0;\n"
    "}\n"
    "#endif\n";

static FILE *create(const char *dir, const char *name)
{
    char path[600];
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "wb");
    if (!f) die("cannot write", path);
    return f;
}

static void write_sources(const char *dir)
{
    find_source("mcamp.h");
    out_lines = create(dir, "lines");
    for (int i = 0; i < source_count; i++) {
        writer w = { create(dir, sources[i].name), 1 };
        if (!strcmp(sources[i].name, "mcamp.h")) put_text(&w, prologue);
        next_edit = 0;
        while (next_edit < edit_count && edits[next_edit].s != &sources[i]) next_edit++;
        put_range(&w, &sources[i], 0, sources[i].len);
        if (ferror(w.f) | fclose(w.f)) die("cannot write", sources[i].name);
    }
    fclose(out_lines);
}

static void write_plan(const char *dir)
{
    FILE *plan = create(dir, "plan"), *refused = create(dir, "refused");
    for (rule *r = rules; r < rules + rule_count; r++)
        if (r->refused[0]) fprintf(refused, "%s\t%s\n", r->field[ID], r->refused);
        else fprintf(plan, "%d\t%s\t%s\t%s\t%s\n", r->number, r->field[SOURCE], r->field[ID],
                     r->field[SUITES], r->field[PROMISE]);
    fclose(plan);
    fclose(refused);
}

static void read_skip(const char *file)
{
    size_t n;
    char *text = read_file(file, &n), *at = text, *end;
    for (long k; (k = strtol(at, &end, 10)), end != at; at = end)
        if (k >= 1 && k <= rule_count) refuse(&rules[k - 1], "the result does not compile");
    free(text);
}

int main(int argc, char **argv)
{
    int kept = 0;
    if (argc < 4) die("usage", "make_header OUT SKIP RULES...");
    for (int i = 3; i < argc; i++) read_rules(argv[i]);
    for (rule *r = rules; r < rules + rule_count; r++) check_rule(r);
    read_skip(argv[2]);
    for (rule *r = rules; r < rules + rule_count; r++)
        if (!r->refused[0]) locate(r);
    refuse_overlaps();
    for (int i = 0; i < edit_count; i++)
        if (!edits[i].r->refused[0]) edits[kept++] = edits[i];
    edit_count = kept;
    write_sources(argv[1]);
    write_plan(argv[1]);
    return 0;
}
