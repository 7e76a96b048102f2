/* The questions of the page, as a program for WebAssembly: the tool's own commands, so that
 * what the page says is what `mcamp` prints, to the letter.  Arguments come in, text and files
 * go out, as on a command line; worker.js is the system that it runs on.                */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"

/* Pictures that can be read on a telephone. */
#define SVG_WIDTH 440
#define SVG_HEIGHT 400
#include "../tool_estimate.h"
#include "../tool_plan.h"

enum { PAGE = SIGMA | EPSILON | DELTA | VERIFY | CURVE | PLAN | REPORT };

static const command *page_command(const char *name)
{
    for (size_t i = 0; i < NCOMMAND; i++)
        if (!strcmp(COMMANDS[i].name, name) && (COMMANDS[i].bit & PAGE)) return &COMMANDS[i];
    bad_use("the page has no command \"%s\"", name);
    return NULL;
}

static int run(session *s)
{
    if (s->cmd->bit == PLAN) return run_plan(s);
    if (s->cmd->bit == CURVE) return run_curve(s);
    if (s->cmd->bit == REPORT) return run_report(s);
    return run_question(s);
}

int main(int argc, char **argv)
{
    static session s;
    int code;
    session_open(&s, page_command(argc > 1 ? argv[1] : ""), argc, argv);
    code = run(&s);
    session_close(&s);
    close_written(stdout, "standard output");
    return code;
}
