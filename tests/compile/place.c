/* The header from wherever HEADER says (nothing: it is pasted above this text).  Every
 * kernel set that the context may choose works; the first argument is what is expected:
 * "best", the best set of this processor, or "baseline".                            */
#ifdef HEADER
#  define MCAMP_IMPLEMENTATION
#  include HEADER
#endif
#include <stdio.h>

static int works(mcamp_vecset set)
{
    double x[11];
    for (int i = 0; i < 11; i++) x[i] = i - 5.5;
    mcamp__vec_exp(set, x, 11);
    for (int i = 0; i < 11; i++)
        if (!(fabs(x[i] / exp(i - 5.5) - 1) < 1e-15)) return 0;
    return 1;
}

static int wider_exists(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

int main(int argc, char **argv)
{
    mcamp_ctx ctx;
    int wide, want = argc > 1 && !strcmp(argv[1], "best") && wider_exists();
    if (mcamp_ctx_init(&ctx, NULL) < 0) return 1;
    wide = ctx.vec != MCAMP_VEC_SCALAR;
    if (!works(MCAMP_VEC_SCALAR) || !works(ctx.vec)) return 1;
    if (wide != want) printf("%s kernels\n", wide ? "wide" : "baseline");
    return wide != want;
}
