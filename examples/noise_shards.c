/* Four processes release a quarter of the coordinates each; together they write the bytes
 * that one process would.  One of them is killed halfway: another takes its place from
 * the state that it saved, and nobody can tell.
 *
 * No process talks to another: each adds all members of a round, whose gradients all of
 * them can make, and ends it with the noise of its own coordinates; noise is a function
 * of (run, round, coordinate), and each keeps the past of its own coordinates only.
 * (Members that are shared out: mpi_train.c.)                                    */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DIM = 100003, EXAMPLES = 24, ROUNDS = 12, BATCHES = 4, SHARDS = 4, KILLED = 2,
       KILLED_AT = 5 };

static void must(int ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "noise_shards: %s\n", what);
    exit(1);
}

static mcamp_mech make_mech(mcamp_ctx *ctx, mcamp_mech_kind kind)
{
    static const double theta[3] = { 0.95, 0.7, 0.2 }, omega[3] = { 0.1, 0.2, 0.2 };
    mcamp_mech_desc d;
    mcamp_mech m;
    memset(&d, 0, sizeof d);
    d.kind = kind;
    d.n = ROUNDS;
    d.bands = kind == MCAMP_MECH_SQRT ? 4 : 0;
    d.theta = kind == MCAMP_MECH_BLT ? theta : NULL;
    d.omega = kind == MCAMP_MECH_BLT ? omega : NULL;
    d.buffers = kind == MCAMP_MECH_BLT ? 3 : 0;
    must(mcamp_mech_init(ctx, &d, &m) == MCAMP_OK, "strategy");
    return m;
}

/* Shown here; else from mcamp_key_random, kept secret, and derived anew for each run. */
static const unsigned char SECRET[32] = "thirty-two bytes nobody can know";

/* A session, and all that it is made of. */
typedef struct run {
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    int64_t *sum;
    float *gradient;
} run;

static void open_run(mcamp_ctx *ctx, const mcamp_mech *mech, size_t first, size_t count, run *r)
{
    mcamp_guarantee g;
    mcamp_batch_desc b;
    mcamp_noise_desc z;
    mcamp_clip_desc c;
    mcamp_session_desc s;
    memset(&b, 0, sizeof b); memset(&z, 0, sizeof z);
    memset(&c, 0, sizeof c); memset(&s, 0, sizeof s);
    b.law = MCAMP_BATCH_BINS;
    b.examples = EXAMPLES;
    b.rounds = ROUNDS;
    b.batches = BATCHES;
    z.mech = mech;
    z.sigma = 3;
    z.clip_norm = c.norm = 1;
    z.unit = MCAMP_NOISE_SUM;
    z.dim = c.dim = DIM;
    z.first = first;
    z.count = count;
    c.max_examples = EXAMPLES;
    r->sum = (int64_t *)malloc(DIM * sizeof *r->sum);
    r->gradient = (float *)malloc(DIM * sizeof *r->gradient);
    must(r->sum && r->gradient, "memory");
    must(mcamp_key_init(ctx, SECRET, sizeof SECRET, &b.key) == MCAMP_OK, "key");
    z.key = b.key;
    must(mcamp_guarantee_unamplified(ctx, mech, b.law, BATCHES, z.sigma, 1e-6, &g) == MCAMP_OK &&
         mcamp_batch_init(ctx, &b, &r->batch) == MCAMP_OK &&
         mcamp_noise_init(ctx, &z, &r->noise) == MCAMP_OK &&
         mcamp_clip_init(ctx, &c, &r->clip) == MCAMP_OK, "parts");
    s.guarantee = &g; s.batch = &r->batch; s.noise = &r->noise; s.clip = &r->clip;
    s.grid_sum = r->sum;
    s.run = (uint64_t)mech->kind;
    must(mcamp_session_init(ctx, &s, &r->session) == MCAMP_OK, "session");
    mcamp_key_wipe(&b.key);
    mcamp_key_wipe(&z.key);
}

static void close_run(mcamp_ctx *ctx, run *r)
{
    mcamp_noise_free(ctx, &r->noise);
    mcamp_batch_free(ctx, &r->batch);
    free(r->sum);
    free(r->gradient);
}

/* In place of a model: any function of the example and of what was released. */
static void make_gradient(size_t example, uint64_t t, float *out)
{
    uint32_t x = (uint32_t)(example * 2654435761u + t * 40503u + 1);
    for (size_t i = 0; i < DIM; i++) {
        x = x * 1664525u + 1013904223u;
        out[i] = (float)(x >> 8) / 8388608.0f - 1;
    }
}

/* Round t, of this session's coordinates. */
static void one_round(mcamp_ctx *ctx, run *r, uint64_t t, float *out)
{
    size_t member[EXAMPLES];
    mcamp_batch_size n;
    mcamp_tensor g = { NULL, NULL, DIM };
    g.f = r->gradient;
    must(mcamp_session_begin(ctx, &r->session, t, member, EXAMPLES, &n) == MCAMP_OK, "begin");
    for (size_t i = 0; i < n.kept; i++) {
        make_gradient(member[i], t, r->gradient);
        must(mcamp_session_add(ctx, &r->session, member[i], &g, 1) == MCAMP_OK, "add");
    }
    must(mcamp_session_end_float(ctx, &r->session, out) == MCAMP_OK, "end");
}

/* The state before round t, in a file of its own: written whole, then renamed. */
static void save(mcamp_ctx *ctx, const run *r, const char *path)
{
    size_t size = 0;
    char temporary[300];
    void *blob;
    FILE *f;
    snprintf(temporary, sizeof temporary, "%s.new", path);
    must(mcamp_session_save(ctx, &r->session, NULL, 0, &size) == MCAMP_OK, "size");
    blob = malloc(size);
    f = fopen(temporary, "wb");
    must(blob && f && mcamp_session_save(ctx, &r->session, blob, size, &size) == MCAMP_OK &&
         fwrite(blob, 1, size, f) == size && fclose(f) == 0 && rename(temporary, path) == 0,
         "saving");
    free(blob);
}

static void load(mcamp_ctx *ctx, run *r, const char *path)
{
    size_t size = 0;
    void *blob;
    FILE *f = fopen(path, "rb");
    if (!f) return;                         /* nothing saved: from the start */
    must(mcamp_session_save(ctx, &r->session, NULL, 0, &size) == MCAMP_OK, "size");
    blob = malloc(size);
    must(blob && fread(blob, 1, size, f) == size &&
         mcamp_session_load(ctx, &r->session, blob, size) == MCAMP_OK, "loading");
    fclose(f);
    free(blob);
}

/* A shard's process: its coordinates of every round, to their place in the file. */
static void shard(mcamp_ctx *ctx, const mcamp_mech *mech, int fd, size_t i, const char *state,
                  int killed)
{
    size_t first = (size_t)DIM * i / SHARDS, count = (size_t)DIM * (i + 1) / SHARDS - first;
    float *out = (float *)malloc(count * sizeof *out);
    run r;
    must(out != NULL, "memory");
    open_run(ctx, mech, first, count, &r);
    load(ctx, &r, state);
    for (uint64_t t = mcamp_noise_step(&r.noise); t < ROUNDS; t++) {
        off_t at = (off_t)((t * DIM + first) * sizeof *out);
        one_round(ctx, &r, t, out);
        must(pwrite(fd, out, count * sizeof *out, at) == (ssize_t)(count * sizeof *out),
             "writing");
        save(ctx, &r, state);
        if (killed && t == KILLED_AT) kill(getpid(), SIGKILL);
    }
    close_run(ctx, &r);
    free(out);
    _exit(0);
}

static int start_shard(mcamp_ctx *ctx, const mcamp_mech *mech, int fd, size_t i,
                       const char *state, int killed)
{
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) shard(ctx, mech, fd, i, state, killed);
    return (int)pid;
}

static void compare(mcamp_ctx *ctx, mcamp_mech_kind kind, const char *name, const char *dir)
{
    mcamp_mech mech = make_mech(ctx, kind);
    float *want = (float *)malloc(2 * DIM * sizeof *want), *got = want + DIM;
    char state[SHARDS][300];
    int pid[SHARDS], status = 0;
    run one;
    FILE *file = tmpfile();
    int fd = file ? fileno(file) : -1;
    must(want && file, "memory");
    for (size_t i = 0; i < SHARDS; i++) {
        snprintf(state[i], sizeof state[i], "%s/%s.%d", dir, name, (int)i);
        pid[i] = start_shard(ctx, &mech, fd, i, state[i], i == KILLED);
    }
    for (size_t i = 0; i < SHARDS; i++) {
        must(waitpid(pid[i], &status, 0) == pid[i], "waiting");
        if (i != KILLED) must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a shard failed");
        else must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it was to be killed");
    }
    pid[KILLED] = start_shard(ctx, &mech, fd, KILLED, state[KILLED], 0);
    must(waitpid(pid[KILLED], &status, 0) == pid[KILLED] && status == 0, "the substitute failed");
    open_run(ctx, &mech, 0, DIM, &one);
    for (uint64_t t = 0; t < ROUNDS; t++) {
        one_round(ctx, &one, t, want);
        must(pread(fd, got, DIM * sizeof *got, (off_t)(t * DIM * sizeof *got)) ==
             (ssize_t)(DIM * sizeof *got), "reading");
        must(!memcmp(got, want, DIM * sizeof *got), "the shards' bytes differ");
    }
    printf("%s: %d rounds of %d coordinates from %d processes, one of them killed: the same "
           "bytes as from one\n", name, ROUNDS, DIM, SHARDS);
    for (size_t i = 0; i < SHARDS; i++) remove(state[i]);
    close_run(ctx, &one);
    mcamp_mech_free(ctx, &mech);
    fclose(file);
    free(want);
}

int main(void)
{
    char dir[] = "noise_shards.XXXXXX";
    mcamp_ctx ctx;
    must(mcamp_ctx_init(&ctx, NULL) == MCAMP_OK, "context");
    must(mkdtemp(dir) != NULL, "no directory can be made here");
    compare(&ctx, MCAMP_MECH_SQRT, "banded", dir);
    fflush(stdout);
    compare(&ctx, MCAMP_MECH_BLT, "blt", dir);
    rmdir(dir);
    return 0;
}
