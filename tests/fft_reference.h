/* An accountant that shares no code with the header: losses on a lattice, composition by a
 * fast Fourier transform.  For tests of section exact; include after mcamp_test.h.
 *
 * A mechanism is what P(loss <= l) and Q(loss <= l) are, P and Q its two distributions and
 * the loss log dP/dQ.  With masses p, q of the losses in (kh, (k+1)h]:
 *   pessimistic  the mass goes to both ends so that p and q are kept (the pair that
 *                results dominates), what is beyond the window to infinity;
 *   optimistic   losses in ((k-1/2)h, (k+1/2)h] become one outcome (post-processing), whose
 *                loss is near kh: rounded down to it, or to (k-1)h where it is much lower;
 *                by how much the rest is below kh is taken off the sum.
 * Errors of the transform are absolute, about 1e-15: for delta from 1e-9 on.           */
#ifndef FFT_REFERENCE_H
#define FFT_REFERENCE_H

#define REF_N 8192              /* points; losses from -REF_N/2 h to REF_N/2 h */

typedef struct ref_mechanism {
    double (*cdf)(const struct ref_mechanism *m, double l, int of_q);
    double infinite;            /* P(loss = inf)                                */
    double none;                /* Q(loss = -inf)                               */
    size_t n;
    double a[16], p[16], q;     /* mixture: shifts over sigma, odds; or atoms   */
    int uses;
} ref_mechanism;

static double ref_phi(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

/* sum p_i N(a_i, 1) against N(0, 1): the loss rises with x. */
MT_FN double ref_mixture_loss(const ref_mechanism *m, double x)
{
    double s = 0, top = -1e300;
    for (size_t i = 0; i < m->n; i++)
        if (m->p[i] > 0 && log(m->p[i]) + m->a[i] * (x - 0.5 * m->a[i]) > top)
            top = log(m->p[i]) + m->a[i] * (x - 0.5 * m->a[i]);
    for (size_t i = 0; i < m->n; i++)
        if (m->p[i] > 0) s += exp(log(m->p[i]) + m->a[i] * (x - 0.5 * m->a[i]) - top);
    return top + log(s);
}

MT_FN double ref_mixture_cdf(const ref_mechanism *m, double l, int of_q)
{
    double lo = -40, hi = 60, s = 0;
    if (ref_mixture_loss(m, lo) > l) return 0;
    for (int i = 0; i < 56; i++) {
        double x = 0.5 * (lo + hi);
        if (ref_mixture_loss(m, x) <= l) lo = x; else hi = x;
    }
    if (of_q) return ref_phi(lo);
    for (size_t i = 0; i < m->n; i++) s += m->p[i] * ref_phi(lo - m->a[i]);
    return s;
}

/* Laplace noise of scale 1/a, sampled with rate q: before sampling the loss has atoms at
 * -a and a and a density between them; sampling turns l into log(1 - q + q e^l).       */
MT_FN double ref_laplace_cdf(const ref_mechanism *m, double l, int of_q)
{
    double a = m->a[0], q = m->q, y = (expm1(l) + q) / q, x, P, Q;
    if (y <= 0) return 0;
    x = log(y);
    if (x < -a) return 0;
    if (x >= a) return 1;
    P = 0.5 * exp(0.5 * (x - a));
    Q = 1 - 0.5 * exp(-0.5 * (x + a));
    return of_q ? Q : (1 - q) * Q + q * P;
}

/* n outcomes, p and their losses a; infinite ones not among them. */
MT_FN double ref_atoms_cdf(const ref_mechanism *m, double l, int of_q)
{
    double s = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->a[i] <= l) s += m->p[i] * (of_q ? exp(-m->a[i]) : 1);
    return s;
}

/* ---- the transform ------------------------------------------------------------------ */

MT_FN void ref_fft(double *re, double *im, size_t n, double sign)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n / 2;
        for (; j & bit; bit /= 2) j ^= bit;
        j ^= bit;
        if (i < j) {
            double t = re[i]; re[i] = re[j]; re[j] = t;
            t = im[i]; im[i] = im[j]; im[j] = t;
        }
    }
    for (size_t m = 2; m <= n; m *= 2)
        for (size_t k = 0; k < m / 2; k++) {
            double t = sign * 8 * atan(1.0) * (double)k / (double)m, c = cos(t), s = sin(t);
            for (size_t i = k; i < n; i += m) {
                double *x = &re[i], *y = &im[i], *u = &re[i + m / 2], *v = &im[i + m / 2];
                double a = *u * c - *v * s, b = *u * s + *v * c;
                *u = *x - a; *v = *y - b;
                *x += a; *y += b;
            }
        }
}

/* The sum so far of one direction and side, as logarithms of its transform. */
typedef struct ref_sum {
    double re[REF_N], im[REF_N];        /* transform */
    double finite, shift;               /* 1 - mass of infinite loss; see optimistic */
} ref_sum;

typedef struct ref_account { double h; ref_sum sum[2][2]; } ref_account;

MT_FN void ref_start(ref_account *a, double h)
{
    a->h = h;
    for (int k = 0; k < 4; k++) {
        ref_sum *s = &a->sum[k / 2][k % 2];
        for (size_t i = 0; i < REF_N; i++) { s->re[i] = 1; s->im[i] = 0; }
        s->finite = 1;
        s->shift = 0;
    }
}

/* law[k]: mass at (k - REF_N/2) h, once; multiplies the sum's transform by its power. */
MT_FN void ref_multiply(ref_sum *s, double *law, double *im, int uses)
{
    for (size_t k = 0; k < REF_N; k++) im[k] = 0;
    /* index 0 is loss 0 from here on, so that powers stay in place */
    for (size_t k = 0; k < REF_N / 2; k++) {
        double t = law[k]; law[k] = law[k + REF_N / 2]; law[k + REF_N / 2] = t;
    }
    ref_fft(law, im, REF_N, -1);
    for (size_t k = 0; k < REF_N; k++) {
        double r = pow(law[k] * law[k] + im[k] * im[k], 0.5 * uses);
        double t = uses * atan2(im[k], law[k]), x = r * cos(t), y = r * sin(t), z;
        z = s->re[k] * x - s->im[k] * y;
        s->im[k] = s->re[k] * y + s->im[k] * x;
        s->re[k] = z;
    }
}

MT_FN void ref_add(ref_account *a, const ref_mechanism *m)
{
    static double p[2][REF_N + 1], q[2][REF_N + 1], law[REF_N], im[REF_N];
    double h = a->h, half = REF_N / 2;
    for (int mid = 0; mid < 2; mid++)   /* cells between multiples, and around them */
        for (size_t k = 0; k <= REF_N; k++) {
            double l = ((double)k - half - 0.5 * mid) * h;
            p[mid][k] = m->cdf(m, l, 0);
            q[mid][k] = m->cdf(m, l, 1);
        }
    for (int add = 0; add < 2; add++) {
        ref_sum *up = &a->sum[add][0], *low = &a->sum[add][1];
        double worst = 0, mass = 0;
        memset(law, 0, sizeof law);
        for (size_t k = 0; k + 1 < REF_N; k++) {        /* losses in (kh, (k+1)h] */
            size_t i = add ? REF_N - 1 - k : k;
            double P = p[0][i + 1] - p[0][i], Q = q[0][i + 1] - q[0][i], w;
            if (add) { w = P; P = Q; Q = w; }
            if (!(P > 0)) continue;
            /* P = u + v, Q = u e^-kh + v e^-(k+1)h */
            w = (P - Q * exp(((double)k - half) * h)) / -expm1(-h);
            w = w < 0 ? 0 : w > P ? P : w;
            law[k] += P - w;
            law[k + 1] += w;
        }
        for (size_t k = 0; k < REF_N; k++) mass += law[k];
        up->finite *= pow(mass < 1 ? mass : 1, m->uses);
        ref_multiply(up, law, im, m->uses);
        memset(law, 0, sizeof law);
        for (size_t k = 1; k < REF_N; k++) {            /* around kh */
            size_t i = add ? REF_N - k : k;
            double P = p[1][i + 1] - p[1][i], Q = q[1][i + 1] - q[1][i], w, at;
            if (add) { w = P; P = Q; Q = w; }
            if (!(P > 1e-16)) continue;
            at = Q > 0 ? log(P / Q) - ((double)k - half) * h : 0;
            if (at < -0.02 * h) { law[k - 1] += P; continue; }
            if (-at > worst) worst = -at;
            law[k] += P;
        }
        low->shift += m->uses * worst;
        low->finite *= pow(1 - (add ? m->none : m->infinite), m->uses);
        ref_multiply(low, law, im, m->uses);
    }
}

/* Lower and upper bound of delta at eps in one direction. */
MT_FN void ref_delta(const ref_account *a, int add, double eps, double *lower, double *upper)
{
    static double re[REF_N], im[REF_N];
    for (int side = 0; side < 2; side++) {
        const ref_sum *s = &a->sum[add][side];
        double d = 0, e = eps + (side ? s->shift : 0);
        memcpy(re, s->re, sizeof re);
        memcpy(im, s->im, sizeof im);
        ref_fft(re, im, REF_N, 1);
        for (size_t k = 0; k < REF_N; k++) {
            double l = (k < REF_N / 2 ? (double)k : (double)k - REF_N) * a->h;
            if (l > e) d -= re[k] / REF_N * expm1(e - l);
        }
        *(side ? lower : upper) = d + (1 - s->finite);
    }
}

#endif
