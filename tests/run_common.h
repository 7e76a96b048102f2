/* A run of a guarantee with all its parts, in which nobody's gradient counts.  Needs ctx. */
#ifndef RUN_COMMON_H
#define RUN_COMMON_H

enum { RUN_DIM = 3 };

typedef struct run {
    mcamp_batch_desc bd;
    mcamp_batch batch;
    mcamp_noise noise;
    mcamp_clip clip;
    mcamp_session session;
    int64_t sum[RUN_DIM];
} run;

/* What a run of this guarantee needs; tests change the batches before it is opened. */
static void plan_run(run *r, const mcamp_guarantee *g, uint64_t examples)
{
    memset(r, 0, sizeof *r);
    r->bd.law = g->law; r->bd.examples = examples; r->bd.rounds = g->rounds;
    r->bd.batches = g->batches; r->bd.q = g->q; r->bd.picks = g->picks;
    mcamp_key_insecure_test(11, &r->bd.key);
}

static mcamp_status open_run(run *r, const mcamp_guarantee *g, const mcamp_mech *mech)
{
    mcamp_noise_desc z;
    mcamp_clip_desc k;
    mcamp_session_desc d;
    memset(&z, 0, sizeof z); memset(&k, 0, sizeof k); memset(&d, 0, sizeof d);
    z.mech = mech; z.sigma = g->sigma; z.clip_norm = k.norm = 1; z.dim = k.dim = RUN_DIM;
    z.unit = MCAMP_NOISE_SUM; z.key = r->bd.key;
    k.max_examples = r->bd.examples;
    d.guarantee = g; d.batch = &r->batch; d.noise = &r->noise; d.clip = &r->clip;
    d.grid_sum = r->sum; d.run = 3;
    CHECK_STATUS(mcamp_batch_init(&ctx, &r->bd, &r->batch), MCAMP_OK);
    CHECK_STATUS(mcamp_noise_init(&ctx, &z, &r->noise), MCAMP_OK);
    CHECK_STATUS(mcamp_clip_init(&ctx, &k, &r->clip), MCAMP_OK);
    return mcamp_session_init(&ctx, &d, &r->session);
}

static void close_run(run *r)
{
    mcamp_batch_free(&ctx, &r->batch);
    mcamp_noise_free(&ctx, &r->noise);
}

#endif
