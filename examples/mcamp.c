/* mcamp: privacy of matrix mechanisms under balls-in-bins batching, from the
 * command line.  Options in, text, JSON or SVG out; the mathematics is all in
 * mcamp.h.  Exit status: 0 done, 1 refused or failed, 2 bad use.
 *
 *   tool_options.h    the command line, from one table
 *   tool_help.h       help, manual page, completions, from the same table
 *   tool_strategy.h   --strategy, files of numbers
 *   tool_session.h    the table; from options to the library's objects
 *   tool_print.h      JSON, progress;   tool_svg.h  charts
 *   tool_estimate.h   sigma, epsilon, delta, verify, curve, report
 *   tool_shard.h      verify --shard, merge;   tool_mpi.h  every command, by an MPI job
 *   tool_account.h    account;   tool_audit.h, audit.h, audit_self.h  audit
 *   tool_optimize.h   optimize, error;   tool_plan.h  plan;   tool_compare.h  compare */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_PTHREADS
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"

#include "tool_account.h"
#include "tool_audit.h"
#include "tool_compare.h"
#include "tool_estimate.h"
#include "tool_help.h"
#include "tool_optimize.h"
#include "tool_plan.h"
#include "tool_schedule.h"

#include <fcntl.h>

static int run(int argc, char **argv)
{
    const command *cmd;
    session s;
    int code;
    if (explained(argc, argv)) return 0;
    if (argc < 2)
        bad_use("which command? sigma, epsilon, delta, verify, merge, curve, account, optimize, "
                "error, compare, plan, formula, sensitivity, schedule, noise, report or audit");
    cmd = find_command(argv[1]);
    if (!cmd) unknown_command(argv[1]);
#ifdef TOOL_MPI
    if (!(cmd->bit & (BINS | NOISE | MERGE))) mpi_alone();
#endif
    session_open(&s, cmd, argc, argv);
    if (cmd->bit == ACCOUNT) return run_account(&s);
    if (cmd->bit == FORMULA) return run_formula(&s);
    if (cmd->bit == AUDIT) return run_audit(&s);
    if (cmd->bit == MERGE) {
        code = run_merge(&s);
        session_close(&s);
        return code;
    }
    if (s.opt[O_CERTAIN].given) print_certain(&s);
    if (cmd->bit == OPTIMIZE) code = run_optimize(&s);
    else if (cmd->bit == SCHEDULE) code = run_schedule(&s);
    else if (cmd->bit == DRAW) code = run_noise(&s);
    else if (cmd->bit == SENSITIVITY) code = run_sensitivity(&s);
    else if (cmd->bit == ERROR) code = run_error(&s);
    else if (cmd->bit == PLAN) code = run_plan(&s);
    else if (cmd->bit == COMPARE) code = run_compare(&s);
    else if (cmd->bit == CURVE) code = run_curve(&s);
    else if (cmd->bit == REPORT) code = run_report(&s);
    else code = run_question(&s);
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
#ifdef TOOL_MPI
    mpi_begin(&argc, &argv);
    mpi_exit(run(argc, argv));
#endif
    code = run(argc, argv);
    close_written(stdout, "standard output");
    return code;
}
