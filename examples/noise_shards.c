/* Four processes make a quarter of the coordinates each; together they write the bytes
 * that one process would.  One of them is killed halfway: another takes its place from
 * the state that it saved, and nobody can tell.
 *
 * No process talks to another: noise is a function of (key, round, coordinate), and each
 * keeps the past of its own coordinates only.                                    */
#define _POSIX_C_SOURCE 200809L
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../mcamp.h"
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DIM = 100003, ROUNDS = 12, SHARDS = 4, KILLED = 2, KILLED_AT = 5 };

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

static void open_noise(mcamp_ctx *ctx, const mcamp_mech *mech, uint64_t run, size_t first,
                       size_t count, mcamp_noise *noise)
{
    mcamp_key family;
    mcamp_noise_desc d;
    memset(&d, 0, sizeof d);
    d.mech = mech;
    d.sigma = 3;
    d.clip_norm = 1;
    d.unit = MCAMP_NOISE_SUM;
    d.dim = DIM;
    d.first = first;
    d.count = count;
    d.type = MCAMP_NOISE_FLOAT;
    must(mcamp_key_init(ctx, SECRET, sizeof SECRET, &family) == MCAMP_OK &&
         mcamp_key_derive(ctx, &family, run, &d.key) == MCAMP_OK, "key");
    mcamp_key_wipe(&family);
    must(mcamp_noise_init(ctx, &d, noise) == MCAMP_OK, "stream");
    mcamp_key_wipe(&d.key);
}

/* The state before round t, in a file of its own: written whole, then renamed. */
static void save(mcamp_ctx *ctx, const mcamp_noise *noise, const char *path)
{
    size_t size = 0;
    char temporary[300];
    void *blob;
    FILE *f;
    snprintf(temporary, sizeof temporary, "%s.new", path);
    must(mcamp_noise_save(ctx, noise, NULL, 0, &size) == MCAMP_OK, "size");
    blob = malloc(size);
    f = fopen(temporary, "wb");
    must(blob && f && mcamp_noise_save(ctx, noise, blob, size, &size) == MCAMP_OK &&
         fwrite(blob, 1, size, f) == size && fclose(f) == 0 && rename(temporary, path) == 0,
         "saving");
    free(blob);
}

static void load(mcamp_ctx *ctx, mcamp_noise *noise, const char *path)
{
    size_t size = 0;
    void *blob;
    FILE *f = fopen(path, "rb");
    if (!f) return;                         /* nothing saved: from the start */
    must(mcamp_noise_save(ctx, noise, NULL, 0, &size) == MCAMP_OK, "size");
    blob = malloc(size);
    must(blob && fread(blob, 1, size, f) == size &&
         mcamp_noise_load(ctx, noise, blob, size) == MCAMP_OK, "loading");
    fclose(f);
    free(blob);
}

/* C takes the correlation back: of a coordinate's noise over the rounds it makes the
 * independent noise of the same key.                                             */
static void check_origin(mcamp_ctx *ctx, const mcamp_mech *mech, const double *coordinate)
{
    mcamp_mech plain = make_mech(ctx, MCAMP_MECH_IDENTITY);
    double z[ROUNDS], drawn;
    mcamp_noise noise;
    mcamp_noise_out o = { &drawn, NULL, NULL, false };
    open_noise(ctx, &plain, (uint64_t)mech->kind, 0, 1, &noise);
    must(mcamp_mech_mul(ctx, mech, coordinate, z) == MCAMP_OK, "product");
    for (uint64_t t = 0; t < ROUNDS; t++) {
        must(mcamp_noise_next(ctx, &noise, t, 1, &o) == MCAMP_OK, "noise");
        must(fabs(z[t] - drawn) < 1e-4, "not the noise of this key");
    }
    mcamp_noise_free(ctx, &noise);
    mcamp_mech_free(ctx, &plain);
}

/* A shard's process: its coordinates of every round, to their place in the file. */
static void shard(mcamp_ctx *ctx, const mcamp_mech *mech, int fd, size_t i, const char *state,
                  int killed)
{
    size_t first = (size_t)DIM * i / SHARDS, count = (size_t)DIM * (i + 1) / SHARDS - first;
    float *out = (float *)malloc(count * sizeof *out);
    mcamp_noise_out o = { NULL, out, NULL, false };
    mcamp_noise noise;
    must(out != NULL, "memory");
    open_noise(ctx, mech, (uint64_t)mech->kind, first, count, &noise);
    load(ctx, &noise, state);
    for (uint64_t t = mcamp_noise_step(&noise); t < ROUNDS; t++) {
        off_t at = (off_t)((t * DIM + first) * sizeof *out);
        must(mcamp_noise_next(ctx, &noise, t, count, &o) == MCAMP_OK, "round");
        must(pwrite(fd, out, count * sizeof *out, at) == (ssize_t)(count * sizeof *out),
             "writing");
        save(ctx, &noise, state);
        if (killed && t == KILLED_AT) kill(getpid(), SIGKILL);
    }
    mcamp_noise_free(ctx, &noise);
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

static void run(mcamp_ctx *ctx, mcamp_mech_kind kind, const char *name, const char *dir)
{
    mcamp_mech mech = make_mech(ctx, kind);
    mcamp_noise_out o = { NULL, NULL, NULL, false };
    float *want = (float *)malloc(2 * DIM * sizeof *want), *got = want + DIM;
    char state[SHARDS][300];
    double again[3];
    int pid[SHARDS], status = 0;
    double coordinate[ROUNDS];
    mcamp_noise noise;
    FILE *file = tmpfile();
    int fd = file ? fileno(file) : -1;
    must(want && file, "memory");
    o.f = want;
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
    open_noise(ctx, &mech, (uint64_t)kind, 0, DIM, &noise);
    for (uint64_t t = 0; t < ROUNDS; t++) {
        must(mcamp_noise_next(ctx, &noise, t, DIM, &o) == MCAMP_OK, "round");
        must(pread(fd, got, DIM * sizeof *got, (off_t)(t * DIM * sizeof *got)) ==
             (ssize_t)(DIM * sizeof *got), "reading");
        must(!memcmp(got, want, DIM * sizeof *got), "the shards' bytes differ");
        coordinate[t] = (double)got[0];
    }
    check_origin(ctx, &mech, coordinate);
    must(mcamp_noise_replay(ctx, &noise, 0, 0, 3, again) == MCAMP_OK, "an audit of round 0");
    printf("%s: %d rounds of %d coordinates from %d processes, one of them killed: the same "
           "bytes as from one\n", name, ROUNDS, DIM, SHARDS);
    for (size_t i = 0; i < SHARDS; i++) remove(state[i]);
    mcamp_noise_free(ctx, &noise);
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
    run(&ctx, MCAMP_MECH_SQRT, "banded", dir);
    fflush(stdout);
    run(&ctx, MCAMP_MECH_BLT, "blt", dir);
    rmdir(dir);
    return 0;
}
