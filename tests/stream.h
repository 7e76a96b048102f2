/* z as the noise has it, for tests that hold the implementation: mt_normals writes
 * coordinates first .. first+count-1 of a step, from the key alone.               */
#ifndef MCAMP_TEST_STREAM_H
#define MCAMP_TEST_STREAM_H

MT_FN void mt_normals(const mcamp_ctx *ctx, const mcamp_key *key, uint64_t step,
                      uint64_t first, size_t count, double *out)
{
    mcamp__stream s;
    mcamp__stream_init(&s, key);
    mcamp__stream_normals(ctx->vec, &s, step, first, count, out);
}

#endif
