/* delta of balls in bins, by other means: no line is shared with mcamp.h, which need
 * not be included.  Modes come from a dense |C| by adding columns; the pair is
 * P = (1/b) sum_i N(m_i, sigma^2 I), Q = N(0, sigma^2 I), seen through the products
 * g_i = <m_i, X>/sigma^2, which under Q are N(0, a), a = M'M/sigma^2, and
 * rho = dP/dQ = (1/b) sum_i e^(g_i - a_ii/2).
 *   ref_quadrature  b <= 3: trapezoid rules in b - 1 dimensions, the last one exactly
 *   ref_sampled     any b: conditional on the direction sum_i m_i, along which rho
 *                   rises, sampled across it                                      */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { REF_B = 64 };
typedef long double ref_matrix[REF_B][REF_B];

#if defined(__GNUC__) || defined(__clang__)
#  define REF_FN __attribute__((unused)) static
#else
#  define REF_FN static
#endif

/* a = M'M/sigma^2 for C dense, n x n, row-major: column j counts for mode j mod b. */
REF_FN void ref_modes(const double *C, size_t n, size_t b, double sigma, ref_matrix a)
{
    for (size_t i = 0; i < b; i++)
        for (size_t k = 0; k < b; k++) {
            long double dot = 0;
            for (size_t row = 0; row < n; row++) {
                long double u = 0, v = 0;
                for (size_t j = i; j < n; j += b) u += fabsl((long double)C[row * n + j]);
                for (size_t j = k; j < n; j += b) v += fabsl((long double)C[row * n + j]);
                dot += u * v;
            }
            a[i][k] = dot / sigma / sigma;
        }
}

/* Lower-triangular root; semidefinite a is taken as it comes. */
REF_FN void ref_root(ref_matrix a, size_t b, ref_matrix L)
{
    for (size_t i = 0; i < b; i++)
        for (size_t k = 0; k < b; k++) {
            long double s = a[i][k];
            L[i][k] = 0;
            if (k > i) continue;
            for (size_t m = 0; m < k; m++) s -= L[i][m] * L[k][m];
            if (i == k) L[i][k] = s > 0 ? sqrtl(s) : 0;
            else        L[i][k] = L[k][k] > 0 ? s / L[k][k] : 0;
        }
}

REF_FN double ref_tail(double x) { return 0.5 * erfc(x * 0.70710678118654752440); }

/* E (A + B e^(l z - l^2/2) - e^eps)_+ for z ~ N(0, 1), or of the negative part of
 * e^eps times it less 1 (add).                                                    */
REF_FN double ref_line(double A, double B, double l, double eps, int add)
{
    double edge = exp(add ? -eps : eps), scale = add ? exp(eps) : 1, t;
    if (edge <= A) return add ? 0 : A + B - edge;
    t = l > 0 ? (log((edge - A) / B) + 0.5 * l * l) / l
              : (B > edge - A ? -1e30 : 1e30);
    if (add) return scale * ((edge - A) * ref_tail(-t) - B * ref_tail(l - t));
    return B * ref_tail(t - l) - (edge - A) * ref_tail(t);
}

typedef struct ref_plane { size_t b; double L[3][3], eps; int add; } ref_plane;

/* The trapezoid rule with step h over z_1 (and z_2), with weights of the mixture's
 * terms taken along so that nothing overflows.                                    */
REF_FN double ref_trapezoid(const ref_plane *p, double h)
{
    const double lo = -10, hi = 10 + fabs(p->L[0][0]) + fabs(p->L[1][0]) + fabs(p->L[2][0])
                                   + fabs(p->L[1][1]) + fabs(p->L[2][1]);
    const int n = (int)((hi - lo) / h), b = (int)p->b;
    const double f = 0.39894228040143267794 * h, *L0 = p->L[0], *L1 = p->L[1], *L2 = p->L[2];
    long double sum = 0;
    if (b == 2) {
        for (int i = 0; i < n; i++) {
            double z = lo + h * i, A = 0.5 * exp(L0[0] * z - 0.5 * L0[0] * L0[0]);
            double B = 0.5 * exp(L1[0] * z - 0.5 * L1[0] * L1[0]);
            sum += f * exp(-0.5 * z * z) * ref_line(A, B, L1[1], p->eps, p->add);
        }
        return (double)sum;
    }
    for (int i = 0; i < n; i++) {
        double z = lo + h * i, A0 = exp(L0[0] * z - 0.5 * L0[0] * L0[0]) / 3;
        double y1 = L1[0] * z - 0.5 * L1[0] * L1[0], y2 = L2[0] * z - 0.5 * L2[0] * L2[0];
        long double row = 0;
        for (int j = 0; j < n; j++) {
            double x = lo + h * j, A = A0 + exp(y1 + L1[1] * x - 0.5 * L1[1] * L1[1]) / 3;
            double B = exp(y2 + L2[1] * x - 0.5 * L2[1] * L2[1]) / 3;
            row += exp(-0.5 * x * x) * ref_line(A, B, L2[2], p->eps, p->add);
        }
        sum += f * f * exp(-0.5 * z * z) * row;
    }
    return (double)sum;
}

/* delta for 2 or 3 modes, remove (add = 0) or add, to about `rel`, by halving steps
 * until two agree; negative if they never do.  The mode that is integrated exactly
 * is the one with the most of its own.                                            */
REF_FN double ref_quadrature(ref_matrix a, size_t b, double eps, int add, double rel)
{
    ref_plane p, best = { 0 };
    double last, h = 0.125;
    for (size_t turn = 0; turn < b; turn++) {
        static ref_matrix t, L;
        for (size_t i = 0; i < b; i++)
            for (size_t k = 0; k < b; k++) t[i][k] = a[(i + turn) % b][(k + turn) % b];
        ref_root(t, b, L);
        p = best;
        p.b = b; p.eps = eps; p.add = add;
        for (size_t i = 0; i < b; i++)
            for (size_t k = 0; k < b; k++) p.L[i][k] = (double)L[i][k];
        if (!best.b || p.L[b - 1][b - 1] > best.L[b - 1][b - 1]) best = p;
    }
    last = ref_trapezoid(&best, h);
    for (int i = 0; i < (b == 2 ? 15 : 5); i++) {
        double now = ref_trapezoid(&best, h /= 2);
        if (fabs(now - last) <= 0.5 * rel * now) return now;
        last = now;
    }
    return -1;
}

/* ---- sampling ---------------------------------------------------------------- */

/* A multiply-with-carry generator and Marsaglia's polar method. */
typedef struct ref_rng { uint64_t x, c; long double spare; int has; } ref_rng;

REF_FN long double ref_uniform(ref_rng *r)
{
    uint64_t out = 0;
    for (int half = 0; half < 2; half++) {
        uint64_t t = UINT64_C(4294957665) * (r->x & 0xffffffff) + r->c;
        r->x = t & 0xffffffff;
        r->c = t >> 32;
        out = out << 32 | r->x;
    }
    return ((long double)out + 0.5L) / 18446744073709551616.0L;
}

REF_FN long double ref_normal(ref_rng *r)
{
    long double u, v, s;
    if (r->has) { r->has = 0; return r->spare; }
    do {
        u = 2 * ref_uniform(r) - 1;
        v = 2 * ref_uniform(r) - 1;
        s = u * u + v * v;
    } while (!(s < 1 && s > 0));
    s = sqrtl(-2 * logl(s) / s);
    r->spare = v * s;
    r->has = 1;
    return u * s;
}

/* log sum_i e^(y_i + c_i t), and its slope in t. */
REF_FN long double ref_log_sum(const long double *y, const long double *c, size_t b,
                               long double t, long double *slope)
{
    long double top = -HUGE_VALL, s = 0, d = 0;
    for (size_t i = 0; i < b; i++) top = fmaxl(top, y[i] + c[i] * t);
    for (size_t i = 0; i < b; i++) {
        long double e = expl(y[i] + c[i] * t - top);
        s += e;
        d += e * c[i];
    }
    *slope = d / s;
    return top + logl(s);
}

/* Where a convex rising function reaches `level`: Newton from the right side, where one
 * term alone reaches it; -infinity if the terms that do not rise are beyond it.    */
REF_FN long double ref_reach(const long double *y, const long double *c, size_t b,
                             long double level)
{
    long double t = HUGE_VALL, slope, flat = 0;
    for (size_t i = 0; i < b; i++) {
        if (c[i] > 0) t = fminl(t, (level - y[i]) / c[i]);
        else flat += expl(y[i]);
    }
    if (flat >= expl(level)) return -HUGE_VALL;
    for (int i = 0; i < 100; i++) {
        long double step = (ref_log_sum(y, c, b, t, &slope) - level) / slope;
        t -= step;
        if (fabsl(step) < 1e-15L * (1 + fabsl(t))) break;
    }
    return t;
}

REF_FN long double ref_tail_long(long double x) { return 0.5L * erfcl(x / sqrtl(2)); }

/* One value in [0, 1] of mean delta.  Across u = sum_i m_i / |.|, g_i = c_i t + r_i with
 * t normal and apart from r; r is drawn from its law under P (remove), where it has
 * density w = (1/b) sum_i e^(r_i - a_ii/2 + c_i^2/2) against Q's, or Q (add); what is
 * left is an integral over t from where rho passes the edge.                       */
REF_FN long double ref_value(ref_matrix a, ref_matrix L, const long double *c, size_t b,
                             double eps, int add, ref_rng *rng)
{
    long double z[REF_B], y[REF_B], r[REF_B], t = 0, sum = 0, w = 0, lb = logl((long double)b), T;
    size_t j = add ? 0 : (size_t)(ref_uniform(rng) * (long double)b) % b;
    for (size_t i = 0; i < b; i++) {
        z[i] = ref_normal(rng);
        r[i] = add ? 0 : a[i][j];
        for (size_t k = 0; k <= i; k++) r[i] += L[i][k] * z[k];
    }
    for (size_t i = 0; i < b; i++)
        for (size_t k = 0; k < b; k++) sum += a[i][k];
    for (size_t i = 0; i < b; i++) t += r[i] / sqrtl(sum);
    for (size_t i = 0; i < b; i++) {
        r[i] -= c[i] * t;
        y[i] = r[i] - a[i][i] / 2 - lb;
        w += expl(y[i] + c[i] * c[i] / 2);
    }
    T = ref_reach(y, c, b, add ? -(long double)eps : (long double)eps);
    sum = 0;
    for (size_t i = 0; i < b; i++)
        sum += expl(y[i] + c[i] * c[i] / 2) *
               (add ? ref_tail_long(c[i] - T) : ref_tail_long(T - c[i]));
    if (add) return ref_tail_long(-T) - expl((long double)eps) * sum;
    return (sum - expl((long double)eps) * ref_tail_long(T)) / w;
}

REF_FN double ref_sampled(ref_matrix a, size_t b, double eps, int add, uint64_t seed,
                          size_t samples, double *std_error)
{
    static ref_matrix L;
    long double c[REF_B], all = 0, s1 = 0, s2 = 0, n = (long double)samples;
    ref_rng rng = { 0, 0, 0, 0 };
    rng.x = (seed * UINT64_C(2654435761) + 12345) & 0xffffffff;
    rng.c = seed % 4000000000u + 1;
    for (int i = 0; i < 20; i++) (void)ref_uniform(&rng);
    ref_root(a, b, L);
    for (size_t i = 0; i < b; i++) {
        c[i] = 0;
        for (size_t k = 0; k < b; k++) c[i] += a[i][k];
        all += c[i];
    }
    for (size_t i = 0; i < b; i++) c[i] /= sqrtl(all);
    for (size_t s = 0; s < samples; s++) {
        long double v = ref_value(a, L, c, b, eps, add, &rng);
        s1 += v;
        s2 += v * v;
    }
    *std_error = (double)sqrtl(fmaxl(s2 / n - s1 / n * (s1 / n), 0) / n);
    return (double)(s1 / n);
}

#endif
