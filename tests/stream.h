/* z as the noise has it, for tests that hold the implementation: mt_normals writes
 * coordinates first .. first+count-1 of a step, from the key alone; mt_noise_normals
 * those of a stream.                                                              */
#ifndef MCAMP_TEST_STREAM_H
#define MCAMP_TEST_STREAM_H

/* A generator with the key's subkeys 1 and 2, as in tests/vectors/secure.txt. */
MT_FN void mt_stream(mcamp__stream *s, const mcamp_key *key)
{
    mcamp__subkey(key, 1, s->noise);
    mcamp__subkey(key, 2, s->tail);
}

MT_FN void mt_normals(const mcamp_ctx *ctx, const mcamp_key *key, uint64_t step,
                      uint64_t first, size_t count, double *out)
{
    mcamp__stream s;
    mt_stream(&s, key);
    mcamp__stream_normals(ctx->vec, &s, step, first, count, out);
}

/* mcamp_noise_next for each kind of output. */
MT_FN mcamp_status mt_next(mcamp_ctx *ctx, mcamp_noise *m, uint64_t step, size_t count,
                           double *out)
{
    mcamp_noise_out o = { out, NULL, NULL, false };
    return mcamp_noise_next(ctx, m, step, count, &o);
}

MT_FN mcamp_status mt_next_float(mcamp_ctx *ctx, mcamp_noise *m, uint64_t step, size_t count,
                                 float *out)
{
    mcamp_noise_out o = { NULL, out, NULL, false };
    return mcamp_noise_next(ctx, m, step, count, &o);
}

MT_FN mcamp_status mt_add(mcamp_ctx *ctx, mcamp_noise *m, uint64_t step, size_t count,
                          double *out)
{
    mcamp_noise_out o = { out, NULL, NULL, true };
    return mcamp_noise_next(ctx, m, step, count, &o);
}

MT_FN mcamp_status mt_add_float(mcamp_ctx *ctx, mcamp_noise *m, uint64_t step, size_t count,
                                float *out)
{
    mcamp_noise_out o = { NULL, out, NULL, true };
    return mcamp_noise_next(ctx, m, step, count, &o);
}

MT_FN mcamp_status mt_add_grid(mcamp_ctx *ctx, mcamp_noise *m, uint64_t step, size_t count,
                               int64_t *out)
{
    mcamp_noise_out o = { NULL, NULL, out, true };
    return mcamp_noise_next(ctx, m, step, count, &o);
}

MT_FN void mt_noise_normals(const mcamp_ctx *ctx, const mcamp_noise_desc *d, uint64_t step,
                            uint64_t first, size_t count, double *out)
{
    mcamp_noise m;
    memset(&m, 0, sizeof m);
    m.digest = d->mech->digest; m.mech = d->mech; m.sigma = d->sigma;
    m.clip_norm = d->clip_norm; m.grid = d->grid; m.dim = d->dim;
    mcamp__subkey(&d->key, 9, m.keys + 24);
    mcamp__noise_own_keys(&m);
    mcamp__stream_normals(ctx->vec, mcamp__noise_stream(&m), step, first, count, out);
}

#endif
