/* mcamp_mpi: the tool as every process of an MPI job (mpicc -DTOOL_MPI).  All do the same, but
 * each draws a part of the samples; what all have drawn is added up by integers, so that the
 * answer has the same bits however many they are.  Process 0 alone writes files, and keeps
 * what it prints until all have come to the same end: if one of them dies, fails or does
 * something else than the others, the job ends with an error and has said nothing.     */
#ifndef TOOL_MPI_H
#define TOOL_MPI_H

#include "tool_print.h"

#include <fcntl.h>
#include <mpi.h>

static struct mpi_job {
    int rank, size;
    bool alone;                 /* no samples: process 0 works, the others wait     */
    int shown[3];               /* where file descriptors 1 and 2 led                */
    mcamp_ctx ctx;              /* to add tallies up                                 */
    mcamp_progress progress;    /* of a process by itself                            */
    mcamp_clock clock;
} mpi;

/* What a process is about to do; draws have the digest of their question. */
enum mpi_step { MPI_STEP_ALONE = 1, MPI_STEP_PROGRESS, MPI_STEP_CLOCK, MPI_STEP_INPUT,
                MPI_STEP_EXIT, MPI_STEP_DRAW };

TOOL_FN uint64_t mpi_digest(uint64_t h, const void *p, size_t n)
{
    for (const unsigned char *q = (const unsigned char *)p; n; n--, q++)
        h = (h ^ *q) * UINT64_C(0x100000001b3);
    return h;
}

/* What goes to f from now on is kept. */
TOOL_FN void mpi_keep(FILE *f)
{
    FILE *kept = tmpfile();
    int fd = fileno(f);
    fflush(f);
    mpi.shown[fd] = dup(fd);
    if (!kept || mpi.shown[fd] < 0 || dup2(fileno(kept), fd) < 0)
        failed("cannot keep what is printed: %s", strerror(errno));
    fclose(kept);
}

/* 1 if all that was kept is shown. */
TOOL_FN bool mpi_show(FILE *f)
{
    char text[4096];
    int fd = fileno(f);
    bool good = !fflush(f) && !ferror(f) && !lseek(fd, 0, SEEK_SET);
    ssize_t n = 0;
    while (good && (n = read(fd, text, sizeof text)) > 0)
        for (ssize_t done = 0, m; good && done < n; done += m) {
            m = write(mpi.shown[fd], text + done, (size_t)(n - done));
            good = m > 0;
        }
    return good && !n;
}

/* All are about to do the same, with the same arguments; else the job ends. */
TOOL_FN void mpi_agree(enum mpi_step step, uint64_t with)
{
    uint64_t word = mpi_digest((uint64_t)step, &with, sizeof with), all[2];
    all[0] = word;
    all[1] = ~word;
    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (all[0] == ~all[1]) return;      /* the largest is the smallest */
    if (mpi.rank) mpi_show(stderr);
    else fprintf(stderr, "mcamp: the processes do not all do the same: nothing is said\n");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, EXIT_REFUSED);
}

/* The largest of all processes' x. */
TOOL_FN double mpi_most(enum mpi_step step, double x)
{
    mpi_agree(step, 0);
    MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return x;
}

/* ---- beginning and end ------------------------------------------------------- */

TOOL_FN void mpi_begin(int *argc, char ***argv)
{
    uint64_t h = MCAMP_VERSION;
    int level;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi.size);
    tool_writes = !mpi.rank;
    mpi_keep(stdout);
    if (mpi.rank) mpi_keep(stderr);
    for (int i = 1; i < *argc; i++) h = mpi_digest(h, (*argv)[i], strlen((*argv)[i]) + 1);
    mpi_agree(MPI_STEP_INPUT, h);
}

/* Instead of exit. */
TOOL_FN void mpi_exit(int code)
{
    mpi_agree(mpi.alone ? MPI_STEP_ALONE : MPI_STEP_EXIT, mpi.alone ? 0 : (uint64_t)code);
    if (!mpi.rank && !mpi_show(stdout)) {
        fprintf(stderr, "mcamp: cannot write \"standard output\": %s\n", strerror(errno));
        code = EXIT_REFUSED;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    exit(mpi.rank ? 0 : code);
}

/* What was read is the same everywhere. */
TOOL_FN void mpi_same(const void *p, size_t n)
{
    if (!mpi.alone) mpi_agree(MPI_STEP_INPUT, mpi_digest(0, p, n));
}

/* Only process 0 comes back. */
TOOL_FN void mpi_alone(void)
{
    mpi.alone = true;
    if (mpi.rank) mpi_exit(0);
}

/* ---- the library's hooks ------------------------------------------------------ */

TOOL_FN void mpi_add(void *from, void *into, int *n, MPI_Datatype *type)
{
    (void)type;                 /* one that cannot be added is missing in the count */
    for (int i = 0; i < *n; i++)
        mcamp_tally_merge(&mpi.ctx, (mcamp_tally *)into + i, (const mcamp_tally *)from + i);
}

/* Adds up *t of all processes in place. */
TOOL_FN void mpi_sum(mcamp_tally *t)
{
    static MPI_Datatype type;
    static MPI_Op add;
    static bool made;
    if (!made) {
        MPI_Type_contiguous((int)sizeof *t, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        MPI_Op_create(mpi_add, 1, &add);
        made = true;
    }
    MPI_Allreduce(MPI_IN_PLACE, t, 1, type, add, MPI_COMM_WORLD);
}

TOOL_FN mcamp_status mpi_draw(void *user, const mcamp_blocks *all, mcamp_tally *sum,
                              mcamp_status (*draw)(void *job, uint64_t first, uint64_t count,
                                                   mcamp_tally *sum), void *job)
{
    static mcamp_tally t;
    uint64_t n = (uint64_t)mpi.size, i = (uint64_t)mpi.rank, rest = all->count % n;
    uint64_t first = all->first + all->count / n * i + (i < rest ? i : rest);
    uint64_t count = all->count / n + (i < rest), h = all->seed ^ all->purpose, drawn;
    mcamp_status st = MCAMP_OK;
    (void)user;
    memset(&t, 0, sizeof t);
    if (count) st = draw(job, first, count, &t);
    h = mpi_digest(mpi_digest(h, &all->first, sizeof all->first), &all->count, sizeof all->count);
    h = mpi_digest(mpi_digest(h, sum, sizeof *sum), &st, sizeof st);
    mpi_agree(MPI_STEP_DRAW, h);
    if (st < 0) return st;
    drawn = t.count;            /* values: some laws make one of many samples */
    MPI_Allreduce(MPI_IN_PLACE, &drawn, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    mpi_sum(&t);
    if (t.count != drawn || !drawn) failed("samples of other processes are of no use");
    return mcamp_tally_merge(&mpi.ctx, sum, &t);
}

/* Who is interrupted stops all. */
TOOL_FN int mpi_progress(void *user, double fraction, double best)
{
    (void)user;
    if (mpi_most(MPI_STEP_PROGRESS, mpi.progress.fn(mpi.progress.user, fraction, best)) > 0)
        tool_interrupted = 1;
    return tool_interrupted != 0;
}

/* The time of process 0. */
TOOL_FN double mpi_clock(void *user)
{
    (void)user;
    return mpi_most(MPI_STEP_CLOCK, mpi.rank ? 0 : mpi.clock.now(mpi.clock.user));
}

/* The hooks of a context whose samples all draw, and kernels that every process has. */
TOOL_FN void mpi_join(mcamp_ctx_desc *d)
{
    int vec;
    mcamp_status st = MCAMP_OK;
    if (mpi.alone) return;
    st = mcamp_ctx_init(&mpi.ctx, NULL);
    mpi_agree(MPI_STEP_INPUT, (uint64_t)st);
    if (st < 0) return;
    vec = (int)mpi.ctx.vec;
    MPI_Allreduce(MPI_IN_PLACE, &vec, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    d->vec = (mcamp_vecset)vec;
    mpi.progress = d->progress;
    mpi.clock = d->clock;
    d->spread.run = mpi_draw;
    d->progress.fn = mpi_progress;
    d->clock.now = mpi_clock;
}

#endif
