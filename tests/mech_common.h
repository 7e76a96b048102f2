/* Shared by the tests of strategies and modes: every family at small n, dense
 * copies of C by definition, and an allocator that counts and fails.          */
#ifndef MECH_COMMON_H
#define MECH_COMMON_H

static mcamp_ctx ctx;

static void setup(void) { CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK); }

/* A small generator, fixed seed: values in [0, 1). */
static uint64_t test_state = 1;
static double test_rand(void)
{
    test_state = test_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(test_state >> 11) / 9007199254740992.0;
}

/* ---- allocation counting ------------------------------------------------- */

typedef struct failing { long calls, fail_at, live; size_t bytes, peak; } failing;

static void *failing_alloc(void *user, size_t size)
{
    failing *f = (failing *)user;
    void *p;
    if (f->fail_at && ++f->calls >= f->fail_at) return NULL;
    p = malloc(size);
    if (p) {
        f->live++;
        f->bytes += size;
        if (f->bytes > f->peak) f->peak = f->bytes;
    }
    return p;
}

static void failing_free(void *user, void *p, size_t size)
{
    failing *f = (failing *)user;
    f->live--;
    f->bytes -= size;
    free(p);
}

/* From the fail_at-th call on every allocation fails; 0 = never. */
static void setup_failing(failing *f, long fail_at)
{
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    memset(f, 0, sizeof *f);
    f->fail_at = fail_at;
    d.alloc.alloc = failing_alloc;
    d.alloc.free = failing_free;
    d.alloc.user = f;
    CHECK_STATUS(mcamp_ctx_init(&ctx, &d), MCAMP_OK);
}

/* ---- families ------------------------------------------------------------ */

#define NFAMILY 20
#define NMAX    40

typedef struct family {
    mcamp_mech_desc d;
    double coef[NMAX * NMAX], theta[3], omega[3], scale[NMAX];
    double c[NMAX * NMAX];      /* C by definition, dense */
} family;

static void family_toeplitz(family *f, size_t n, const double *c, size_t w)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            f->c[i * n + j] = i - j < w ? c[i - j] : 0.0;
}

static void family_rows(family *f, size_t n, size_t w, int negative)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1 > w ? i + 1 - w : 0; j <= i; j++) {
            double v = i == j ? 0.5 + test_rand() : test_rand();
            if (negative && i != j && test_rand() < 0.4) v = -v;
            f->c[i * n + j] = f->coef[k++] = v;
        }
    f->d.count = k;
}

static void family_scale(family *f, size_t n)
{
    for (size_t j = 0; j < n; j++) f->scale[j] = 0.5 + test_rand();
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) f->c[i * n + j] *= f->scale[j];
    f->d.scale = f->scale;
}

static void family_blt(family *f, size_t n, size_t d, int negative)
{
    double c[NMAX];
    for (size_t j = 0; j < d; j++) {
        f->theta[j] = test_rand();
        f->omega[j] = negative && j ? -test_rand() : test_rand();
    }
    c[0] = 1;
    for (size_t k = 1; k < n; k++) {
        c[k] = 0;
        for (size_t j = 0; j < d; j++)
            c[k] += f->omega[j] * pow(f->theta[j], (double)k - 1);
    }
    f->d.kind = MCAMP_MECH_BLT;
    f->d.theta = f->theta; f->d.omega = f->omega; f->d.buffers = d;
    family_toeplitz(f, n, c, n);
}

/* C by long division of 1 by the coefficients d of C^-1. */
static void family_inverse(family *f, size_t n, const double *d, size_t w)
{
    double c[NMAX];
    for (size_t i = 0; i < n; i++) {
        double s = i ? 0 : 1;
        for (size_t k = 1; k <= i && k < w; k++) s -= d[k] * c[i - k];
        c[i] = s / d[0];
    }
    family_toeplitz(f, n, c, n);
}

/* C with C^T C = N^T N, N the nodes of a tree, by elimination from the end. */
static void family_tree(family *f, size_t n, int padded)
{
    static double x[NMAX * NMAX];
    memset(x, 0, sizeof x);
    for (size_t size = 1; size < 2 * n; size *= 2)
        for (size_t lo = 0; lo < n; lo += size) {
            size_t hi = lo + size;
            if (hi > n && !padded) continue;
            if (size / 2 >= n) continue;
            for (size_t i = lo; i < hi && i < n; i++)
                for (size_t j = lo; j < hi && j < n; j++) x[i * n + j] += 1;
        }
    for (size_t i = n; i-- > 0; ) {
        double d = sqrt(x[i * n + i]);
        for (size_t j = 0; j <= i; j++) f->c[i * n + j] = x[i * n + j] / d;
        for (size_t j = 0; j < i; j++)
            for (size_t k = 0; k < i; k++)
                x[j * n + k] -= f->c[i * n + j] * f->c[i * n + k];
    }
    for (size_t i = 0; i < n * n; i++)      /* exact zeros, seen through rounding */
        if (fabs(f->c[i]) < 1e-13) f->c[i] = 0;
}

static void family_make(family *f, int which, size_t n)
{
    double c[NMAX];
    size_t w = n < 4 ? n : 4;
    memset(f, 0, sizeof *f);
    f->d.n = n;
    f->d.coef = f->coef;
    c[0] = 1;
    for (size_t k = 1; k < n; k++)
        c[k] = c[k - 1] * (2.0 * (double)k - 1) / (2.0 * (double)k);
    switch (which) {
    case 0: case 1:
        f->d.kind = MCAMP_MECH_IDENTITY;
        family_toeplitz(f, n, c, 1);
        break;
    case 2: case 3:
        f->d.kind = MCAMP_MECH_SQRT;
        f->d.bands = which == 2 ? 0 : w;
        family_toeplitz(f, n, c, which == 2 ? n : w);
        break;
    case 4: case 5: case 6:
        f->d.kind = MCAMP_MECH_TOEPLITZ;
        f->d.count = w = which == 4 ? n : w;
        for (size_t k = 0; k < w; k++)
            f->coef[k] = k == 0 ? 1 + test_rand()
                       : which == 6 ? test_rand() - 0.5 : test_rand();
        family_toeplitz(f, n, f->coef, w);
        break;
    case 7: case 8: case 9:
        f->d.kind = MCAMP_MECH_BANDED;
        f->d.bands = which == 9 ? 1 : w;
        family_rows(f, n, f->d.bands, which == 8);
        break;
    case 10: family_blt(f, n, 1, 0); break;
    case 11: case 12: family_blt(f, n, 3, which == 12); break;
    case 14: case 15:
        f->d.kind = MCAMP_MECH_INVERSE;
        f->d.count = w;
        for (size_t k = 0; k < w; k++) f->coef[k] = k ? test_rand() - 0.6 : 1.5;
        family_inverse(f, n, f->coef, w);
        break;
    case 16: case 17:
        f->d.kind = MCAMP_MECH_INVERSE_SQRT;
        f->d.bands = which == 16 ? w : 0;
        for (size_t k = n; k-- > 0; ) c[k] = k ? c[k] - c[k - 1] : 1;
        family_inverse(f, n, c, which == 16 ? w : n);
        break;
    case 18: case 19:
        f->d.kind = which == 18 ? MCAMP_MECH_TREE : MCAMP_MECH_TREE_PADDED;
        family_tree(f, n, which == 19);
        break;
    default:
        f->d.kind = MCAMP_MECH_DENSE;
        family_rows(f, n, n, 1);
        memcpy(f->coef, f->c, n * n * sizeof *f->c);
        f->d.count = n * n;
    }
    if (which % 2) family_scale(f, n);
}

#endif
