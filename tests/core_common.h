/* Shared by the tests of loss, est and calib: Gram matrices from the names that
 * tests/vectors uses, random Gram matrices, and a small generator.            */
#ifndef CORE_COMMON_H
#define CORE_COMMON_H

static mcamp_ctx ctx;

MT_FN void setup(void) { CHECK_STATUS(mcamp_ctx_init(&ctx, NULL), MCAMP_OK); }

/* Values in [0, 1), fixed seed. */
static uint64_t test_state = 1;
MT_FN double test_rand(void)
{
    test_state = test_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(test_state >> 11) / 9007199254740992.0;
}

/* ---- strategies by name, see tests/vectors/README.md ----------------------- */

/* "v1<sep>v2,v3<sep>v4,...": alternating between two arrays if there is a sep. */
MT_FN size_t parse_list(const char *s, char sep, double *a, double *b)
{
    size_t n = 0;
    for (;; n++) {
        char *end;
        a[n] = strtod(s, &end);
        if (sep && *end == sep) b[n] = strtod(end + 1, &end);
        if (*end != ',') return n + 1;
        s = end + 1;
    }
}

MT_FN void rational_rows(size_t n, size_t w, double *rows)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1 > w ? i + 1 - w : 0; j <= i; j++)
            *rows++ = (1 + 0.1 * (double)((7 * i + 3 * j) % 5)) / (double)(1 + i - j);
}

/* 1 if the name was understood. */
MT_FN int strategy_make(const char *name, const char *norm, size_t n, mcamp_mech *m)
{
    static double x[5000], y[5000], s[5000];
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.n = n;
    if (!strcmp(name, "identity")) {
        d.kind = MCAMP_MECH_IDENTITY;
    } else if (!strncmp(name, "sqrt:", 5)) {
        d.kind = MCAMP_MECH_SQRT;
        d.bands = (size_t)atoi(name + 5);
    } else if (!strcmp(name, "ones")) {
        d.kind = MCAMP_MECH_TOEPLITZ;
        for (size_t i = 0; i < n; i++) x[i] = 1;
        d.coef = x; d.count = n;
    } else if (!strncmp(name, "toeplitz:", 9)) {
        d.kind = MCAMP_MECH_TOEPLITZ;
        d.coef = x; d.count = parse_list(name + 9, 0, x, NULL);
    } else if (!strncmp(name, "blt:", 4)) {
        d.kind = MCAMP_MECH_BLT;
        d.buffers = parse_list(name + 4, ':', x, y);
        d.theta = x; d.omega = y;
    } else if (!strncmp(name, "rational:", 9)) {
        d.kind = MCAMP_MECH_BANDED;
        d.bands = (size_t)atoi(name + 9);
        d.coef = x;
        d.count = n * d.bands - d.bands * (d.bands - 1) / 2;
        rational_rows(n, d.bands, x);
    } else {
        return 0;
    }
    d.normalize = !strcmp(norm, "unit");
    if (!strcmp(norm, "columns")) {
        if (mcamp_mech_init(&ctx, &d, m) < 0 || mcamp__mech_norms(&ctx, m, s, NULL) < 0) return 0;
        mcamp_mech_free(&ctx, m);
        for (size_t i = 0; i < n; i++) s[i] = 1 / s[i];
        d.scale = s;
    }
    return mcamp_mech_init(&ctx, &d, m) == MCAMP_OK;
}

/* The Gram matrix of a named strategy; exits the program if that fails, because
 * nothing can be tested then.                                                 */
MT_FN void gram_make(const char *name, const char *norm, size_t n, size_t b, mcamp_gram *g)
{
    mcamp_mech m;
    int ok = strategy_make(name, norm, n, &m);
    if (ok) {
        ok = mcamp_gram_init(&ctx, &m, b, g) == MCAMP_OK;
        mcamp_mech_free(&ctx, &m);
    }
    if (ok) return;
    printf("no Gram matrix for %s %s n=%lu b=%lu\n", name, norm, (unsigned long)n,
           (unsigned long)b);
    exit(1);
}

/* A Gram matrix as given, diagonal if all else is zero; exits if refused. */
MT_FN void gram_user(const double *g, size_t b, mcamp_gram *out)
{
    if (mcamp_gram_from_matrix(&ctx, g, b, out) == MCAMP_OK) return;
    printf("Gram matrix refused: %s\n", mcamp_last_error(&ctx).argument);
    exit(1);
}

/* G of b random modes of length n with entries >= 0.  kind 0: alike; 1: norms from
 * 0.1 to 2; 2: the last mode repeats the first; 3: the first mode is zero; 4: with
 * disjoint supports (diagonal G, unequal).                                     */
MT_FN void gram_random(size_t b, int kind, mcamp_gram *out)
{
    double m[16][24], g[16 * 16];
    size_t n = 24;
    for (size_t i = 0; i < b; i++) {
        double scale = kind == 1 || kind == 4 ? 0.1 + 1.9 * test_rand() : 1;
        for (size_t t = 0; t < n; t++) {
            int in = kind == 4 ? t % b == i : test_rand() < 0.6 || t == i;
            m[i][t] = in ? scale * (0.05 + test_rand()) / 3 : 0;
        }
    }
    if (kind == 2) memcpy(m[b - 1], m[0], sizeof m[0]);
    if (kind == 3) memset(m[0], 0, sizeof m[0]);
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++) {
            double s = 0;
            for (size_t t = 0; t < n; t++) s += m[i][t] * m[j][t];
            g[i * b + j] = s;
        }
    gram_user(g, b, out);
}

/* b modes of length 1 in groups of `alike` that are one and the same: a ball in b/alike bins,
 * which section exact knows. */
MT_FN void groups_gram(size_t b, size_t alike, mcamp_gram *g)
{
    double *m = (double *)calloc(b * b, sizeof *m);
    for (size_t j = 0; j < b * b; j++) m[j] = j / b / alike == j % b / alike;
    gram_user(m, b, g);
    free(m);
}

MT_FN mcamp_interval groups_delta(size_t bins, double sigma, double eps, mcamp_direction dir)
{
    mcamp_event e;
    mcamp_exact_desc d;
    mcamp_interval v = { 0, 1 };
    memset(&e, 0, sizeof e);
    memset(&d, 0, sizeof d);
    e.kind = MCAMP_EVENT_BINS; e.count = e.rounds = 1; e.bins = bins; e.sigma = sigma;
    d.direction = dir; d.rel_error = 1e-3;
    CHECK(mcamp_exact_delta(&ctx, &e, 1, &d, eps, &v, NULL) >= 0);
    return v;
}

/* ---- delta for b = 2 by quadrature ------------------------------------------ *
 * rho is a function of two normals (g_1, g_2) of covariance a = G/sigma^2.  Along
 * the line g_1 = s_1 t + c_1, g_2 = s_2 t + c_2 (t the direction of the sum of the
 * modes) rho increases, so the inner integral is two normal distribution functions
 * at the root of rho(t) = e^eps; the outer one is the trapezoid rule.           */
typedef struct pair2 { double a11, a22, a12, s1, s2, r1; } pair2;

MT_FN pair2 pair2_make(const mcamp_gram *g, double sigma)
{
    pair2 p;
    double v = sigma * sigma, total;
    p.a11 = mcamp__gram_at(g, 0, 0) / v;
    p.a22 = mcamp__gram_at(g, 1, 1) / v;
    p.a12 = mcamp__gram_at(g, 0, 1) / v;
    total = sqrt(p.a11 + p.a22 + 2 * p.a12);
    p.s1 = (p.a11 + p.a12) / total;
    p.s2 = (p.a22 + p.a12) / total;
    p.r1 = sqrt(fmax(p.a11 - p.s1 * p.s1, 0));  /* g_1' = r1 u, g_2' = -r1 u */
    return p;
}

/* log rho at (t, u). */
MT_FN double pair2_loss(const pair2 *p, double t, double u)
{
    double l1 = p->s1 * t + p->r1 * u - p->a11 / 2;
    double l2 = p->s2 * t - p->r1 * u - p->a22 / 2, hi = fmax(l1, l2);
    return hi + log((exp(l1 - hi) + exp(l2 - hi)) / 2);
}

/* E over t of (rho - e^eps)_+ or (1 - e^eps rho)_+, at u. */
MT_FN double pair2_inner(const pair2 *p, double eps, int add, double u)
{
    double target = add ? -eps : eps, lo = -1e4, hi = 1e4, sum, w[2], s[2];
    for (int i = 0; i < 100; i++) {
        double mid = 0.5 * (lo + hi);
        if (pair2_loss(p, mid, u) < target) lo = mid; else hi = mid;
    }
    s[0] = p->s1; s[1] = p->s2;
    w[0] = exp(p->r1 * u - (p->a11 - s[0] * s[0]) / 2) / 2;
    w[1] = exp(-p->r1 * u - (p->a22 - s[1] * s[1]) / 2) / 2;
    sum = add ? mt_phi(lo) : -exp(eps) * mt_phi(-lo);
    for (int i = 0; i < 2; i++)
        sum += add ? -exp(eps) * w[i] * mt_phi(lo - s[i])
                   : w[i] * mt_phi(s[i] - lo);
    return fmax(sum, 0);
}

/* delta of a Gram matrix with b = 2, about 1e-11 of the largest of the terms. */
MT_FN double delta2(const mcamp_gram *g, double sigma, double eps, mcamp_direction dir)
{
    pair2 p = pair2_make(g, sigma);
    double sum = 0, h = 0.05;
    for (int i = -260; i <= 260; i++) {
        double u = i * h;
        sum += pair2_inner(&p, eps, dir == MCAMP_ADD, u) * exp(-u * u / 2) * h;
    }
    return sum / sqrt(2 * 3.14159265358979323846);
}

/* ---- statistics -------------------------------------------------------------- */

/* The smallest c with Pr[Binomial(n, p) > c] <= level. */
MT_FN size_t binomial_limit(size_t n, double p, double level)
{
    double tail = 0;
    for (size_t k = n; k > 0; k--) {
        double lk = lgamma((double)n + 1) - lgamma((double)k + 1) -
                    lgamma((double)(n - k) + 1) + (double)k * log(p) +
                    (double)(n - k) * log1p(-p);
        tail += exp(lk);
        if (tail > level) return k;
    }
    return 0;
}

#endif
