/* The tool's command line: whatever the words, it ends in objects that the library
 * takes or in a complaint.  Lines of the input are arguments; no file is opened. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf fuzz_end;

static void fuzz_silent(FILE *f, const char *format, ...) { (void)f; (void)format; }
static void fuzz_vsilent(FILE *f, const char *format, va_list args)
{
    (void)f; (void)format; (void)args;
}

#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
/* Complaints end the run of one input, silently. */
#define exit(code) longjmp(fuzz_end, (code) + 1)
#define fopen(path, mode) ((void)(path), (void)(mode), (FILE *)NULL)
#define fprintf fuzz_silent
#define vfprintf fuzz_vsilent
#include "../../examples/tool_account.h"
#include "../../examples/tool_estimate.h"
#include "../../examples/tool_optimize.h"
#undef exit
#undef fopen
#undef fprintf
#undef vfprintf
#include "fuzz.h"

static session fuzz_session;
static event_list fuzz_events;

/* What a complaint left behind, or nothing. */
static void fuzz_free(void)
{
    for (size_t i = 0; i < MOST_EVENTS; i++) {
        free(fuzz_events.shift[i].x);
        free(fuzz_events.prob[i].x);
    }
    memset(&fuzz_events, 0, sizeof fuzz_events);
    strategy_free(&fuzz_session.strategy);
    memset(&fuzz_session.strategy, 0, sizeof fuzz_session.strategy);
}

static void fuzz_command(int argc, char **argv)
{
    const command *cmd = &COMMANDS[(argc > 1 ? (unsigned char)argv[1][0] : 0) % NCOMMAND];
    session *s = &fuzz_session;
    memset(s, 0, sizeof *s);
    s->cmd = cmd;
    s->words.most = cmd->bit == ACCOUNT ? 16 : 0;
    read_options(OPTIONS, NOPTION, cmd->bit, cmd->name, argc, argv, 2, s->opt, &s->words);
    check_values(s);
    for (size_t i = 0; i < s->words.n; i++) {
        parse_events(s->words.word[i], &fuzz_events);
        fuzz_free();
    }
    if (cmd->bit == ACCOUNT) return;
    read_shape(s);
    if (s->rounds > 100) return;
    if (s->opt[O_STRATEGY].given) {
        parse_strategy(s->opt[O_STRATEGY].text, s->rounds, false, &s->strategy);
        FUZZ_CHECK(mcamp_ctx_init(&s->ctx, NULL) == MCAMP_OK);
        if (mcamp_mech_init(&s->ctx, &s->strategy.desc, &s->mech) >= 0)
            mcamp_mech_free(&s->ctx, &s->mech);
    }
    fuzz_free();
}

/* Not local: nothing local survives a jump. */
static char fuzz_text[1 << 16];
static char *fuzz_argv[64];
static int fuzz_argc;

static void fuzz_one(const uint8_t *data, size_t size)
{
    char *p = fuzz_text, *end;
    if (size >= sizeof fuzz_text) size = sizeof fuzz_text - 1;
    memcpy(fuzz_text, data, size);
    fuzz_text[size] = '\0';
    end = p + size;
    fuzz_argv[0] = p;
    fuzz_argc = 1;
    while (fuzz_argc < 64 && p < end) {
        fuzz_argv[fuzz_argc++] = p;
        p += strcspn(p, "\n");
        *p++ = '\0';
    }
    if (!setjmp(fuzz_end)) fuzz_command(fuzz_argc, fuzz_argv);
    fuzz_free();
}
