/* Private training of digits on the processes of an MPI job, whose weights have the same bits
 * however many there are.
 *
 *     mpicc -O2 mpi_train.c -o mpi_train -lm
 *     mpirun -n 4 mpi_train [--check]
 *
 * Every process makes the gradients of its share of a batch's members and the noise of its
 * part of the coordinates.  A round: sums go to those whose coordinates they are, together
 * with shares, in which it is sealed who was added; each process merges them, ends the round
 * of its coordinates, and sends what is released to all.  Integer sums do not depend on the
 * order, and a member who is added by two processes, or by none, ends nothing.
 * --check: process 0 trains alone once more and compares.                          */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include <mpi.h>
#include "train_data.h"
#include "train_net.h"

enum { ROUNDS = 60, BATCHES = 20, TRAIN = 1437, SHARE = 512 };
static const double RATE = 0.5, CLIP = 1, SIGMA = 4, DELTA = 1e-5;

typedef struct run {
    mcamp_ctx ctx;
    int rank, size;             /* of the processes that share the run */
    images train, test;
    mcamp_mech mech;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    size_t dim, *member;
    int64_t *sum, *received;
    float *w, *gradient, *step;
} run;

static void must(run *r, mcamp_status st, const char *what)
{
    mcamp_error e = mcamp_last_error(&r->ctx);
    if (st >= 0) return;
    fprintf(stderr, "mpi_train: %s: %s (%s)\n", what, mcamp_strerror(st),
            e.argument ? e.argument : "?");
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *room(size_t count, size_t one)
{
    void *p = calloc(count, one);
    if (!p) MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

/* Coordinates first .. first+count-1 are process i's. */
static size_t first_of(const run *r, int i) { return r->dim * (size_t)i / (size_t)r->size; }
static int count_of(const run *r, int i) { return (int)(first_of(r, i + 1) - first_of(r, i)); }

/* A key that everybody can guess, for the demonstration: process 0 would draw it
 * (mcamp_key_random) and send it to the others, who must be trusted with it.       */
static void open_session(run *r)
{
    mcamp_mech_desc m;
    mcamp_guarantee g;
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    mcamp_session_desc s;
    memset(&m, 0, sizeof m); memset(&b, 0, sizeof b); memset(&z, 0, sizeof z);
    memset(&c, 0, sizeof c); memset(&s, 0, sizeof s);
    m.kind = MCAMP_MECH_SQRT;
    m.n = b.rounds = ROUNDS;
    m.bands = 8;
    m.normalize = true;
    b.law = MCAMP_BATCH_BINS;
    b.examples = c.max_examples = r->train.count;
    b.batches = BATCHES;
    mcamp_key_insecure_test(5, &b.key);
    z.mech = &r->mech;
    z.sigma = SIGMA;
    z.clip_norm = c.norm = CLIP;
    z.unit = MCAMP_NOISE_MEAN;
    z.batch = (double)r->train.count / BATCHES;
    z.dim = c.dim = r->dim;
    z.first = first_of(r, r->rank);
    z.count = (size_t)count_of(r, r->rank);
    z.key = b.key;
    s.guarantee = &g; s.batch = &r->batch; s.noise = &r->noise; s.clip = &r->clip;
    s.grid_sum = r->sum;
    s.run = 1;
    must(r, mcamp_mech_init(&r->ctx, &m, &r->mech), "C");
    must(r, mcamp_guarantee_unamplified(&r->ctx, &r->mech, b.law, BATCHES, SIGMA, DELTA, &g),
         "guarantee");
    must(r, mcamp_batch_init(&r->ctx, &b, &r->batch), "batches");
    must(r, mcamp_noise_init(&r->ctx, &z, &r->noise), "noise");
    must(r, mcamp_clip_init(&r->ctx, &c, &r->clip), "clipping");
    must(r, mcamp_session_init(&r->ctx, &s, &r->session), "session");
}

static void open_run(run *r, int rank, int size)
{
    images all;
    mcamp_rng g;
    memset(r, 0, sizeof *r);
    r->rank = rank;
    r->size = size;
    must(r, mcamp_ctx_init(&r->ctx, NULL), "context");
    if (!images_digits(&all)) {
        fprintf(stderr, "mpi_train: no digits: start it from the top directory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    r->train = images_part(&all, 0, TRAIN);
    r->test = images_part(&all, TRAIN, all.count - TRAIN);
    r->dim = net_dim(all.pixels);
    r->member = (size_t *)room(TRAIN, sizeof *r->member);
    r->sum = (int64_t *)room(r->dim, sizeof *r->sum);
    r->received = (int64_t *)room((size_t)count_of(r, rank) * (size_t)size, sizeof *r->sum);
    r->w = (float *)room(r->dim, sizeof *r->w);
    r->gradient = (float *)room(r->dim, sizeof *r->gradient);
    r->step = (float *)room(r->dim, sizeof *r->step);
    mcamp_rng_seed(&g, 5);
    for (size_t i = 0; i < r->dim; i++) r->w[i] = 0.2f * ((float)mcamp_rng_uniform(&g) - 0.5f);
    open_session(r);
}

static void close_run(run *r)
{
    mcamp_noise_free(&r->ctx, &r->noise);
    mcamp_batch_free(&r->ctx, &r->batch);
    mcamp_mech_free(&r->ctx, &r->mech);
    images_free(&r->train);
    free(r->member);
    free(r->sum);
    free(r->received);
    free(r->w);
    free(r->gradient);
    free(r->step);
}

/* This process's share of the members. */
static void add_members(run *r, uint64_t t)
{
    const images *d = &r->train;
    mcamp_batch_size n;
    mcamp_tensor g = { NULL, NULL, 0 };
    g.f = r->gradient;
    g.n = r->dim;
    must(r, mcamp_session_begin(&r->ctx, &r->session, t, r->member, TRAIN, &n), "begin");
    for (size_t i = (size_t)r->rank; i < n.kept; i += (size_t)r->size) {
        size_t e = r->member[i];
        net_gradient(r->w, d->pixels, d->x + e * d->pixels, d->label[e], r->gradient);
        must(r, mcamp_session_add(&r->ctx, &r->session, e, &g, 1), "gradient");
    }
}

/* Sums to those whose coordinates they are, shares to all; then they are merged. */
static void merge_sums(run *r)
{
    int *out = (int *)room(4 * (size_t)r->size, sizeof *out), *out_at = out + r->size;
    int *in = out_at + r->size, *in_at = in + r->size;
    unsigned char share[SHARE], *shares = (unsigned char *)room((size_t)r->size, SHARE);
    size_t bytes = 0;
    must(r, mcamp_session_share(&r->ctx, &r->session, share, sizeof share, &bytes), "share");
    for (int i = 0; i < r->size; i++) {
        out[i] = count_of(r, i);
        out_at[i] = (int)first_of(r, i);
        in[i] = count_of(r, r->rank);
        in_at[i] = i * in[i];
    }
    MPI_Allgather(share, SHARE, MPI_BYTE, shares, SHARE, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoallv(r->sum, out, out_at, MPI_INT64_T, r->received, in, in_at, MPI_INT64_T,
                  MPI_COMM_WORLD);
    for (int i = 0; i < r->size; i++)
        if (i != r->rank)
            must(r, mcamp_session_merge(&r->ctx, &r->session, r->received + in_at[i],
                                        shares + (size_t)i * SHARE, bytes), "merge");
    free(out);
    free(shares);
}

/* The released numbers of all coordinates, on all processes. */
static void gather_step(run *r)
{
    int *count = (int *)room(2 * (size_t)r->size, sizeof *count), *at = count + r->size;
    for (int i = 0; i < r->size; i++) {
        count[i] = count_of(r, i);
        at[i] = (int)first_of(r, i);
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, r->step, count, at, MPI_FLOAT, MPI_COMM_WORLD);
    free(count);
}

static void train(run *r)
{
    for (uint64_t t = 0; t < ROUNDS; t++) {
        add_members(r, t);
        if (r->size > 1) merge_sums(r);
        must(r, mcamp_session_end_float(&r->ctx, &r->session, r->step + first_of(r, r->rank)),
             "end");
        if (r->size > 1) gather_step(r);
        for (size_t i = 0; i < r->dim; i++) r->w[i] -= (float)RATE * r->step[i];
    }
}

static int right(const run *r)
{
    int n = 0;
    for (size_t i = 0; i < r->test.count; i++)
        n += net_class(r->w, r->test.pixels, r->test.x + i * r->test.pixels) == r->test.label[i];
    return n;
}

static int print(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, (FILE *)user) != n;
}

int main(int argc, char **argv)
{
    static run all, one;
    mcamp_writer out = { print, NULL };
    int rank = 0, size = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out.user = stdout;
    open_run(&all, rank, size);
    train(&all);
    if (rank == 0) {
        must(&all, mcamp_report_guarantee(mcamp_session_guarantee(&all.session), MCAMP_REPORT_TEXT,
                                          &out), "report");
        printf("%d of %lu digits right after %d rounds\n", right(&all),
               (unsigned long)all.test.count, (int)ROUNDS);
    }
    if (rank == 0 && argc > 1 && !strcmp(argv[1], "--check")) {
        open_run(&one, 0, 1);
        train(&one);
        if (memcmp(one.w, all.w, one.dim * sizeof *one.w)) {
            fprintf(stderr, "mpi_train: one process trains otherwise\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        fprintf(stderr, "%d processes: the same bits as one\n", size);
        close_run(&one);
    }
    close_run(&all);
    MPI_Finalize();
    return 0;
}
