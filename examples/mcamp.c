/* mcamp: privacy of matrix mechanisms under balls-in-bins batching, from the
 * command line.  Options in, text, JSON or SVG out; the mathematics is all in
 * mcamp.h.  Exit status: 0 done, 1 refused or failed, 2 bad use.
 *
 *   tool_options.h    the command line, from one table
 *   tool_strategy.h   --strategy, files of numbers
 *   tool_session.h    the table; from options to the library's objects
 *   tool_print.h      JSON, progress;   tool_svg.h  charts
 *   tool_estimate.h   sigma, epsilon, delta, verify, curve, report
 *   tool_account.h    account
 *   tool_optimize.h   optimize, error;   tool_plan.h  plan                       */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_PTHREADS
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"

#include "tool_account.h"
#include "tool_estimate.h"
#include "tool_optimize.h"
#include "tool_plan.h"

#include <fcntl.h>

static void print_help(void)
{
    printf("mcamp %s: privacy of training with correlated noise, where every example is in\n"
           "one random batch of each epoch, the same in all epochs (balls-in-bins)\n\n"
           "usage: mcamp COMMAND --option value ...\n\ncommands\n", MCAMP_VERSION_TEXT);
    for (size_t i = 0; i < NCOMMAND; i++)
        printf("  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].help);
    printf("\noptions\n");
    print_options(OPTIONS, NOPTION);
    printf("\nstrategies: the matrix C of the mechanism C x + z, used as given\n"
           "  identity                 independent noise: DP-SGD\n"
           "  sqrt:BANDS               square-root Toeplitz, 0 = all bands\n"
           "  toeplitz:C0,C1,...       these coefficients, or toeplitz:@FILE\n"
           "  blt:THETA:OMEGA,...      C0 = 1, Ck = sum of omega theta^(k-1); blt:@FILE of pairs\n"
           "  banded:@FILE             a line per row, from column max(0, i-bands+1) to i\n"
           "  dense:@FILE              a line per row, all n entries or those up to the diagonal\n"
           "\nmechanisms of mcamp account: composed by +, repeated by *T; one number may be ?,\n"
           "then it is found for the --eps and --delta given\n");
    print_event_forms();
    printf("\nexamples\n"
           "  mcamp sigma --epochs 16 --batches 128 --eps 1 --delta 1e-5 --strategy sqrt:64\n"
           "  mcamp epsilon --rounds 2000 --batches 100 --sigma 2 --delta 1e-6 "
           "--strategy identity\n"
           "  mcamp delta --epochs 16 --batches 128 --sigma 4 --eps 1 --strategy "
           "blt:0.7:0.3,0.98:0.1\n"
           "  mcamp verify --epochs 16 --batches 128 --sigma 8 --eps 1 --delta 1e-5 "
           "--strategy sqrt:64\n"
           "  mcamp curve --epochs 16 --batches 128 --sigma 4 --strategy sqrt:16 "
           "--out curve.svg\n"
           "  mcamp account poisson:0.01,1,2000+gaussian:5 --delta 1e-6\n"
           "  mcamp account poisson:0.01,?,2000 --eps 2 --delta 1e-6\n"
           "  mcamp account poisson:0.01,1,2000 bnb:1,100,20 --out compare.svg\n"
           "  mcamp optimize --epochs 16 --batches 128 --eps 2 --delta 1e-5 --family blt:2 "
           "--amplification bnb\n"
           "  mcamp error --rounds 2048 --strategy sqrt:64 --workload momentum:0.9\n"
           "  mcamp plan --epochs 16 --batches 128 --eps 2 --delta 1e-5 --amplification "
           "bnb,poisson --memory 2 --out plan\n"
           "\nexit status: 0 done, 1 refused or failed, 2 bad use\n");
}

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < NCOMMAND; i++)
        if (!strcmp(COMMANDS[i].name, name)) return &COMMANDS[i];
    return NULL;
}

static int run(int argc, char **argv)
{
    const command *cmd;
    session s;
    int code;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h") || !strcmp(argv[1], "help")) {
            print_help();
            return 0;
        }
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("mcamp %s\n", MCAMP_VERSION_TEXT);
        return 0;
    }
    if (argc < 2)
        bad_use("which command? sigma, epsilon, delta, verify, curve, account, optimize, error, "
                "plan or report");
    cmd = find_command(argv[1]);
    if (!cmd) bad_use("unknown command \"%s\"", argv[1]);
    session_open(&s, cmd, argc, argv);
    if (cmd->bit == ACCOUNT) return run_account(&s);
    if (cmd->bit == OPTIMIZE) code = run_optimize(&s);
    else if (cmd->bit == ERROR) code = run_error(&s);
    else if (cmd->bit == PLAN) code = run_plan(&s);
    else if (cmd->bit == CURVE) code = run_curve(&s);
    else if (cmd->bit == REPORT) code = run_report(&s);
    else if (cmd->bit == VERIFY || s.opt[O_CERTIFY].given) code = run_proof(&s);
    else code = run_estimate(&s);
    session_close(&s);
    return code;
}

/* A closed standard output would give its number to the first file that is opened; a
 * closed pipe is an error like a full disk, not a signal.                          */
int main(int argc, char **argv)
{
    int code;
    signal(SIGPIPE, SIG_IGN);
    if (fcntl(1, F_GETFD) < 0) failed("standard output is closed");
    code = run(argc, argv);
    close_written(stdout, "standard output");
    return code;
}
