/* Everything that explains the command line, made from its tables: help for all
 * commands or for one, a manual page, completions for bash, zsh and fish.        */
#ifndef TOOL_HELP_H
#define TOOL_HELP_H

#include "tool_account.h"
#include "tool_formula.h"
#include "tool_session.h"

typedef struct usage_example {
    unsigned commands;          /* that it shows                                */
    const char *text;           /* what follows "mcamp "                        */
} usage_example;

static const usage_example EXAMPLES[] = {
    { SIGMA, "sigma --epochs 16 --batches 128 --eps 1 --delta 1e-5 --strategy sqrt:64" },
    { SIGMA, "sigma --epochs 10 --examples 60000 --batch-size 500 --eps 2 --delta 1e-6 "
             "--strategy sqrt:64 --certify" },
    { SIGMA, "sigma --epochs 10 --batches 100 --examples 50000 --limit 600 --eps 2 "
             "--delta 1e-5 --strategy identity" },
    { EPSILON, "epsilon --rounds 2000 --batches 100 --sigma 2 --delta 1e-6 --strategy identity" },
    { DELTA, "delta --epochs 16 --batches 128 --sigma 4 --eps 1 --strategy "
             "blt:0.7:0.3,0.98:0.1" },
    { VERIFY, "verify --epochs 16 --batches 128 --sigma 12 --eps 1 --delta 1e-5 "
              "--strategy sqrt:64 --record run.txt" },
    { SIGMA, "sigma --rounds 2048 --batching minsep:64,0.015625 --strategy sqrt:32 --eps 1 "
             "--delta 1e-5" },
    { EPSILON, "epsilon --epochs 4 --batches 100 --batching allocate:5 --sigma 2 --delta 1e-6 "
               "--strategy identity" },
    { VERIFY | REPORT, "verify --record run.txt" },
    { VERIFY | MERGE, "verify --epochs 16 --batches 128 --sigma 12 --eps 1 --delta 1e-5 "
                      "--strategy sqrt:64 --samples 1e6 --shard 1/4 --tally t1.txt" },
    { VERIFY | MERGE, "merge t1.txt t2.txt t3.txt t4.txt --record run.txt" },
    { REPORT, "report --record run.txt" },
    { CURVE, "curve --epochs 16 --batches 128 --sigma 4 --strategy sqrt:16 --out curve.svg" },
    { ACCOUNT, "account poisson:0.01,1,2000+gaussian:5 --delta 1e-6" },
    { ACCOUNT, "account poisson:0.01,?,2000 --eps 2 --delta 1e-6" },
    { ACCOUNT, "account poisson:0.01,1,2000 bnb:1,100,20 --out compare.svg" },
    { OPTIMIZE, "optimize --epochs 16 --batches 128 --eps 2 --delta 1e-5 --family blt:2 "
                "--amplification bnb" },
    { FORMULA, "formula classical compose:100 --eps 0.5 --delta 1e-6" },
    { SENSITIVITY, "sensitivity --epochs 4 --batches 100 --strategy sqrt:200" },
    { SCHEDULE, "schedule --epochs 2 --batches 3 --examples 12" },
    { DRAW, "noise --rounds 100 --strategy sqrt:8 --sigma 2 --dim 3 --out noise.txt" },
    { ERROR, "error --rounds 2048 --strategy sqrt:64 --workload momentum:0.9" },
    { PLAN, "plan --epochs 16 --batches 128 --eps 2 --delta 1e-5 --amplification bnb,poisson "
            "--memory 2 --out plan" },
    { COMPARE, "compare identity sqrt:16 blt:0.9:0.1 --epochs 16 --batches 128 --eps 2 "
               "--delta 1e-5 --out errors.svg" },
    { AUDIT, "audit" },
    { AUDIT, "audit --scores canaries.txt --eps 1 --delta 1e-5 --out roc.svg" },
};
enum { NEXAMPLE = sizeof EXAMPLES / sizeof EXAMPLES[0] };

static const char *const STRATEGY_FORMS[][2] = {
    { "identity", "independent noise: DP-SGD" },
    { "sqrt:BANDS", "square-root Toeplitz, 0 = all bands" },
    { "toeplitz:C0,C1,...", "these coefficients, or toeplitz:@FILE" },
    { "blt:THETA:OMEGA,...", "C0 = 1, Ck = sum of omega theta^(k-1); blt:@FILE of pairs" },
    { "inverse:B0,B1,...", "C^-1 is Toeplitz with these coefficients, or inverse:@FILE" },
    { "inverse-sqrt:BANDS", "C^-1 is that of sqrt, cut; 0 = all bands" },
    { "tree, tree-padded", "binary tree with its optimal decoder: as it is, or of a power of 2" },
    { "tree-online", "the same with Honaker's decoder, by the nodes complete in each round" },
    { "banded:@FILE", "a line per row, from column max(0, i-bands+1) to i" },
    { "dense:@FILE", "a line per row, all n entries or those up to the diagonal" },
};
enum { NSTRATEGY_FORM = sizeof STRATEGY_FORMS / sizeof STRATEGY_FORMS[0] };

#define SUMMARY "privacy of training with correlated noise"
#define EVENTS_ARE "composed by +, repeated by *T; one number may be ?, then it is found for " \
                   "the --eps and --delta given"
#define EXIT_STATUS "0 done, 1 refused or failed, 2 bad use"

TOOL_FN const command *find_command(const char *name)
{
    for (size_t i = 0; i < NCOMMAND; i++)
        if (!strcmp(COMMANDS[i].name, name)) return &COMMANDS[i];
    return NULL;
}

TOOL_FN void unknown_command(const char *typed)
{
    const char *best = NULL;
    size_t distance = SIZE_MAX;
    for (size_t i = 0; i < NCOMMAND; i++) nearer(typed, COMMANDS[i].name, &best, &distance);
    if (best) bad_use("unknown command \"%s\": did you mean %s?", typed, best);
    bad_use("unknown command \"%s\"", typed);
}

/* ---- text ------------------------------------------------------------------------ */

TOOL_FN void print_options(unsigned which)
{
    for (size_t i = 0; i < NOPTION; i++) {
        char left[40];
        const option_spec *o = &OPTIONS[i];
        if (!(o->allowed & which)) continue;
        snprintf(left, sizeof left, "--%s %s", o->name, o->value);
        printf("  %-24s %s%s\n", left, o->help,
               which != ALL && (o->needed & which) ? " (needed)" : "");
    }
}

TOOL_FN void print_examples(unsigned which)
{
    printf("\nexamples\n");
    for (size_t i = 0; i < NEXAMPLE; i++)
        if (EXAMPLES[i].commands & which) printf("  mcamp %s\n", EXAMPLES[i].text);
}

TOOL_FN bool takes_strategy(unsigned which)
{
    return ((OPTIONS[O_STRATEGY].allowed | COMPARE) & which) != 0;
}

TOOL_FN void print_forms(unsigned which)
{
    if (takes_strategy(which)) {
        printf("\nstrategies: the matrix C of the mechanism C x + z, used as given\n");
        for (size_t i = 0; i < NSTRATEGY_FORM; i++)
            printf("  %-24s %s\n", STRATEGY_FORMS[i][0], STRATEGY_FORMS[i][1]);
    }
    if (which & ACCOUNT) {
        printf("\nmechanisms of mcamp account: " EVENTS_ARE "\n");
        print_event_forms();
    }
    if (which & FORMULA) {
        printf("\nformulas of mcamp formula\n");
        print_formula_forms();
    }
}

TOOL_FN void print_help(void)
{
    printf("mcamp %s: " SUMMARY ", where every example is in\n"
           "one random batch of each epoch, the same in all epochs (balls-in-bins)\n\n"
           "usage: mcamp COMMAND --option value ...\n\ncommands\n", MCAMP_VERSION_TEXT);
    for (size_t i = 0; i < NCOMMAND; i++)
        printf("  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].help);
    printf("  %-10s of a command; or its man, bash, zsh, fish: manual page, completions\n"
           "  %-10s of this program\n\noptions (mcamp COMMAND --help shows its own)\n",
           "help", "version");
    print_options(ALL);
    print_forms(ALL);
    print_examples(ALL);
    printf("\nexit status: " EXIT_STATUS "\n");
}

TOOL_FN void print_command_help(const command *c)
{
    printf("mcamp %s: %s\n\nusage: mcamp %s%s --option value ...\n\noptions\n", c->name, c->help,
           c->name, c->bit == ACCOUNT ? " MECHANISM [MECHANISM ...]"
           : c->bit == COMPARE ? " STRATEGY [STRATEGY ...]"
           : c->bit == FORMULA ? " FORMULA [FORMULA ...]" : c->bit == MERGE ? " FILE ..." : "");
    print_options(c->bit);
    print_forms(c->bit);
    print_examples(c->bit);
    printf("\nexit status: " EXIT_STATUS "\n");
}

/* ---- manual page ------------------------------------------------------------------ */

/* Text for roff: no escapes, no requests, hyphens that can be copied. */
TOOL_FN void roff(const char *text)
{
    if (*text == '.' || *text == '\'') printf("\\&");
    for (; *text; text++) {
        if (*text == '\\') printf("\\e");
        else if (*text == '-') printf("\\-");
        else putchar(*text);
    }
}

TOOL_FN void roff_item(const char *tag, const char *value, const char *text)
{
    printf(".TP\n.B ");
    roff(tag);
    if (*value) {
        printf(" \\fI");
        roff(value);
        printf("\\fR");
    }
    putchar('\n');
    roff(text);
    putchar('\n');
}

/* "mcamp sigma --eps 1" as an unfilled line. */
TOOL_FN void roff_line(const char *before, const char *text)
{
    printf(".PP\n.nf\n.RS\n");
    roff(before);
    roff(text);
    printf("\n.RE\n.fi\n");
}

TOOL_FN void print_manual(void)
{
    char tag[40];
    printf(".TH MCAMP 1 \"\" \"mcamp %s\" \"User Commands\"\n.SH NAME\nmcamp \\- " SUMMARY "\n"
           ".SH SYNOPSIS\n.B mcamp\n.I COMMAND\n[\\fB\\-\\-option\\fR \\fIvalue\\fR ...]\n"
           ".SH DESCRIPTION\nAccounts for, calibrates, proves and optimises the noise of private "
           "training with\na matrix mechanism, where every example is in one random batch of each "
           "epoch, the\nsame in all epochs (balls in bins).\n.SH COMMANDS\n", MCAMP_VERSION_TEXT);
    for (size_t i = 0; i < NCOMMAND; i++) roff_item(COMMANDS[i].name, "", COMMANDS[i].help);
    printf(".SH OPTIONS\n");
    for (size_t i = 0; i < NOPTION; i++) {
        snprintf(tag, sizeof tag, "--%s", OPTIONS[i].name);
        roff_item(tag, OPTIONS[i].value, OPTIONS[i].help);
    }
    printf(".SH STRATEGIES\n");
    for (size_t i = 0; i < NSTRATEGY_FORM; i++)
        roff_item(STRATEGY_FORMS[i][0], "", STRATEGY_FORMS[i][1]);
    printf(".SH MECHANISMS\nThose of mcamp account are " EVENTS_ARE ".\n");
    for (size_t i = 0; i < NEVENT_FORM; i++) {
        snprintf(tag, sizeof tag, "%s:", EVENT_FORMS[i].name);
        roff_line(tag, EVENT_FORMS[i].usage);
    }
    printf(".SH EXAMPLES\n");
    for (size_t i = 0; i < NEXAMPLE; i++) roff_line("mcamp ", EXAMPLES[i].text);
    printf(".SH EXIT STATUS\n" EXIT_STATUS "\n");
}

/* ---- completions ------------------------------------------------------------------ */

TOOL_FN void print_words(unsigned which)
{
    for (size_t i = 0; i < NOPTION; i++)
        if (OPTIONS[i].allowed & which) printf("--%s ", OPTIONS[i].name);
    printf("--help");
}

TOOL_FN void print_command_names(void)
{
    for (size_t i = 0; i < NCOMMAND; i++) printf("%s ", COMMANDS[i].name);
    printf("help version");
}

TOOL_FN void print_bash(void)
{
    printf("_mcamp() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} words\n"
           "    COMPREPLY=()\n"
           "    case $COMP_CWORD:${COMP_WORDS[1]} in\n    1:*) words=\"");
    print_command_names();
    printf("\" ;;\n    *:help) words=\"");
    print_command_names();
    printf(" man bash zsh fish\" ;;\n");
    for (size_t i = 0; i < NCOMMAND; i++) {
        printf("    *:%s) words=\"", COMMANDS[i].name);
        print_words(COMMANDS[i].bit);
        printf("\" ;;\n");
    }
    printf("    esac\n"
           "    case $COMP_CWORD:$cur in 1:*|*:-*|*:) COMPREPLY=($(compgen -W \"$words\" -- "
           "\"$cur\")) ;; esac\n"
           "}\ncomplete -o default -F _mcamp mcamp\n");
}

/* In single quotes for a shell; brackets and colons would mean something to zsh. */
TOOL_FN void print_quoted(const char *text, const char *escape)
{
    for (; *text; text++) {
        if (*text == '\'') printf("'\\''");
        else printf(strchr(escape, *text) ? "\\%c" : "%c", *text);
    }
}

TOOL_FN void print_zsh(void)
{
    printf("#compdef mcamp\n_mcamp() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; i < NCOMMAND; i++) {
        printf("        '%s:", COMMANDS[i].name);
        print_quoted(COMMANDS[i].help, ":\\");
        printf("'\n");
    }
    printf("        'help:of a command'\n        'version:of the program'\n    )\n"
           "    if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
           "    case $words[2] in\n");
    for (size_t i = 0; i < NCOMMAND; i++) {
        printf("    %s) _arguments", COMMANDS[i].name);
        for (size_t k = 0; k < NOPTION; k++) {
            if (!(OPTIONS[k].allowed & COMMANDS[i].bit)) continue;
            printf(" \\\n        '--%s[", OPTIONS[k].name);
            print_quoted(OPTIONS[k].help, "[]:\\");
            printf(OPTIONS[k].kind == OPTION_FLAG ? "]'" : "]:%s:_files'", OPTIONS[k].value);
        }
        printf(" ;;\n");
    }
    printf("    esac\n}\n_mcamp \"$@\"\n");
}

TOOL_FN void print_fish(void)
{
    for (size_t i = 0; i < NCOMMAND; i++) {
        printf("complete -c mcamp -n __fish_use_subcommand -f -a %s -d '", COMMANDS[i].name);
        print_quoted(COMMANDS[i].help, "\\");
        printf("'\n");
    }
    for (size_t k = 0; k < NOPTION; k++) {
        printf("complete -c mcamp -n '__fish_seen_subcommand_from");
        for (size_t i = 0; i < NCOMMAND; i++)
            if (OPTIONS[k].allowed & COMMANDS[i].bit) printf(" %s", COMMANDS[i].name);
        printf("' -l %s%s -d '", OPTIONS[k].name, OPTIONS[k].kind == OPTION_FLAG ? "" : " -r");
        print_quoted(OPTIONS[k].help, "\\");
        printf("'\n");
    }
}

/* ---- which one -------------------------------------------------------------------- */

/* mcamp help [COMMAND | man | bash | zsh | fish] */
TOOL_FN void print_topic(const char *topic)
{
    const command *c = find_command(topic);
    if (c) print_command_help(c);
    else if (!strcmp(topic, "man")) print_manual();
    else if (!strcmp(topic, "bash")) print_bash();
    else if (!strcmp(topic, "zsh")) print_zsh();
    else if (!strcmp(topic, "fish")) print_fish();
    else bad_use("no help on \"%s\"", topic);
}

/* Serves everything that only explains; false if a command is to be run. */
TOOL_FN bool explained(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "";
    const command *c = find_command(first);
    if (!strcmp(first, "version") || !strcmp(first, "--version")) {
        printf("mcamp %s\n", MCAMP_VERSION_TEXT);
        return true;
    }
    if (!strcmp(first, "help")) {
        if (argc > 3) bad_use("help on one thing at a time");
        if (argc > 2) print_topic(argv[2]);
        else print_help();
        return true;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") && strcmp(argv[i], "-h")) continue;
        if (c) print_command_help(c);
        else print_help();
        return true;
    }
    return false;
}

#endif
