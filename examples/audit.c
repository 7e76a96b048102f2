/* Does what is released contradict the certificate?
 *
 *     audit                           sessions of the library on neighbouring data sets
 *     audit --scores FILE --delta D   canaries of any pipeline, lines "in SCORE", "out SCORE"
 *     audit --scores FILE --one-run   canaries of one run, each in by a fair coin
 *           [--eps E] [--beta B] [--json] [--out FILE.svg]
 *
 * Lower bounds on epsilon at confidence 1 - B, by exact binomial bounds.  Exit status 1 if
 * one is above what was certified.  The same as "mcamp audit", as a program of its own. */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_PTHREADS
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"

#include "tool_audit.h"

int main(int argc, char **argv)
{
    static char name[] = "audit";
    char *words[64] = { name, name };
    const command *cmd = COMMANDS;
    session s;
    int code;
    if (argc > 62) bad_use("too many arguments");
    for (int i = 1; i < argc; i++) words[i + 1] = argv[i];
    while (cmd->bit != AUDIT) cmd++;
    session_open(&s, cmd, argc + 1, words);
    code = run_audit(&s);
    close_written(stdout, "standard output");
    return code;
}
