/* A certification spread over the processes of an MPI job: is sigma = 12 enough for
 * (1, 1e-5)-DP with square-root C of 64 bands, 16 epochs of 128 batches in bins?
 *
 *     mpicc -O2 mpi_verify.c -o mpi_verify -lm
 *     mpirun -n 4 mpi_verify [--sigma S] [--blocks N] [--check]
 *
 * Every process draws its own blocks of samples.  Tallies hold integers, so that the
 * sum over processes has the same bits, and the verdict is the same, however many there
 * are; --check lets process 0 draw all blocks again by itself and compares.
 * The claim, the number of samples and the seed are fixed in advance: a false claim is
 * accepted with probability at most beta, since one of its two directions is false.  */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include <mpi.h>

enum { EPOCHS = 16, BATCHES = 128 };
static const double EPS = 1, DELTA = 1e-5, BETA = 1e-5;
static const uint64_t SEED = 20240601;

static void must(mcamp_ctx *ctx, mcamp_status st)
{
    mcamp_error e = mcamp_last_error(ctx);
    if (st >= 0) return;
    fprintf(stderr, "mpi_verify: %s (%s)\n", mcamp_strerror(st), e.argument ? e.argument : "?");
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Process 0 alone makes C: the others need no more of it than its Gram matrix. */
static void make_gram(mcamp_ctx *ctx, int rank, mcamp_gram *gram)
{
    static double g[BATCHES * BATCHES];
    mcamp_mech_desc d;
    mcamp_mech mech;
    if (rank) {
        MPI_Bcast(g, BATCHES * BATCHES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        must(ctx, mcamp_gram_from_matrix(ctx, g, BATCHES, gram));
        return;
    }
    memset(&d, 0, sizeof d);
    d.kind = MCAMP_MECH_SQRT;
    d.n = (size_t)EPOCHS * BATCHES;
    d.bands = 64;
    must(ctx, mcamp_mech_init(ctx, &d, &mech));
    must(ctx, mcamp_gram_init(ctx, &mech, BATCHES, gram));
    mcamp_mech_free(ctx, &mech);
    MPI_Bcast(gram->g, BATCHES * BATCHES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* The sum of all processes' tallies, on process 0. */
static void gather(mcamp_ctx *ctx, int rank, int size, const mcamp_tally *mine, mcamp_tally *all)
{
    mcamp_tally *each = NULL;
    if (rank == 0) each = (mcamp_tally *)malloc((size_t)size * sizeof *each);
    if (rank == 0 && !each) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Gather(mine, (int)sizeof *mine, MPI_BYTE, each, (int)sizeof *mine, MPI_BYTE, 0,
               MPI_COMM_WORLD);
    memset(all, 0, sizeof *all);
    for (int i = 0; rank == 0 && i < size; i++)
        if (each[i].count) must(ctx, mcamp_tally_merge(ctx, all, each + i));
    free(each);
}

/* 1 if this direction's delta is proven to be at most DELTA (on process 0). */
static int direction_holds(mcamp_ctx *ctx, const mcamp_gram *gram, mcamp_direction way,
                           double sigma, uint64_t blocks, int check)
{
    mcamp_sampler_desc d;
    mcamp_sampler s;
    mcamp_tally mine, all;
    int rank = 0, size = 1, holds = 0;
    uint64_t first, end;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(&d, 0, sizeof d);
    memset(&mine, 0, sizeof mine);
    d.direction = way;
    d.sigma = sigma;
    d.eps = EPS;
    must(ctx, mcamp_sampler_init(ctx, gram, &d, &s));
    first = blocks * (uint64_t)rank / (uint64_t)size;
    end = blocks * ((uint64_t)rank + 1) / (uint64_t)size;
    if (end > first) must(ctx, mcamp_sampler_run(ctx, &s, SEED, first, end - first, &mine));
    gather(ctx, rank, size, &mine, &all);
    if (rank == 0) {
        double upper = mcamp_tally_upper(&all, BETA);
        holds = upper <= DELTA;
        printf("%-6s %llu samples: %s\n", way == MCAMP_ADD ? "add" : "remove",
               (unsigned long long)all.count, holds ? "proven" : "not proven");
    }
    if (rank == 0 && check) {
        memset(&mine, 0, sizeof mine);
        must(ctx, mcamp_sampler_run(ctx, &s, SEED, 0, blocks, &mine));
        if (memcmp(&mine, &all, sizeof all)) {
            fprintf(stderr, "mpi_verify: one process counts otherwise\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        fprintf(stderr, "%d processes: the same bits as one\n", size);
    }
    mcamp_sampler_free(ctx, &s);
    return holds;
}

static int print(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, (FILE *)user) != n;
}

/* The claim was fixed beforehand: it was proven as it stands, or nothing was. */
static void verdict(mcamp_ctx *ctx, int both)
{
    mcamp_writer out = { print, stdout };
    mcamp_interval delta = { 0, DELTA };
    mcamp_guarantee g;
    printf(both ? "CERTIFIED: " : "REFUSED: nothing is claimed\n");
    if (!both) return;
    must(ctx, mcamp_guarantee_interval(MCAMP_ASK_DELTA, MCAMP_BOTH, delta, 0, EPS, 0, BETA, &g));
    mcamp_report_guarantee(&g, MCAMP_REPORT_TEXT, &out);
}

int main(int argc, char **argv)
{
    mcamp_ctx ctx;
    mcamp_gram gram;
    double sigma = 12;
    uint64_t blocks = 64;
    int rank = 0, check = 0, both;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--check")) check = 1;
        else if (!strcmp(argv[i], "--sigma") && i + 1 < argc) sigma = strtod(argv[++i], NULL);
        else if (!strcmp(argv[i], "--blocks") && i + 1 < argc)
            blocks = strtoull(argv[++i], NULL, 10);
    }
    must(&ctx, mcamp_ctx_init(&ctx, NULL));
    make_gram(&ctx, rank, &gram);
    both = direction_holds(&ctx, &gram, MCAMP_REMOVE, sigma, blocks, check);
    both &= direction_holds(&ctx, &gram, MCAMP_ADD, sigma, blocks, check);
    if (rank == 0) verdict(&ctx, both);
    mcamp_gram_free(&ctx, &gram);
    MPI_Finalize();
    return 0;
}
