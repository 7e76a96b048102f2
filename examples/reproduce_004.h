/* "(Amplified) Banded Matrix Factorization: A unified approach to private training". */
#ifndef REPRODUCE_004_H
#define REPRODUCE_004_H

#include "reproduce_004_bands.h"
#include "reproduce_004_shuffle.h"

#define DELTA_004 1e-6

/* ---- tables 4 and 5: noise multipliers ---------------------------------------------------- */

static const char *const EPS_T4[] = { "1", "2", "4", "8", "16" };

TOOL_FN double gaussian_004(report *r, double eps)
{
    double sigma = NONE;
    did(r, &r->ctx, mcamp_gauss_sigma(&r->ctx, 1, eps, DELTA_004, &sigma));
    return sigma;
}

TOOL_FN void run_004_t4(report *r)
{
    static const char *const plain[] = { "4.22468", "2.23048", "1.19352", "0.65294", "0.36861" };
    static const char *const multi[] = { "4.76079", "2.51352", "1.34498", "0.73579", "0.41539" };
    double ratio = strtod(multi[0], NULL) / strtod(plain[0], NULL), spread = 0;
    int c = add_chart(r, "Noise multipliers of table 4", "delta 1e-6, sensitivity 1", "epsilon",
                      "sigma"), l, d;
    r->chart[c].log_x = r->chart[c].log_y = true;
    l = add_line(r, c, "here");
    d = add_line(r, c, "printed");
    r->line[d].dots = true;
    for (size_t i = 0; i < 5; i++) {
        double eps = strtod(EPS_T4[i], NULL), sigma = gaussian_004(r, eps);
        double q = strtod(multi[i], NULL) / strtod(plain[i], NULL);
        char what[120];
        add_point(r, l, eps, sigma)->sigma = sigma;
        add_point(r, d, eps, strtod(plain[i], NULL));
        put_text(what, sizeof what, "DP-SGD, single-epoch MF, TreeAgg, banded MF: eps %s",
                 EPS_T4[i]);
        number(r, what, "004, table 4", plain[i], sigma, LESS_IS_BETTER);
        if (i == 3) {
            put_text(what, sizeof what, "single-epoch MF: eps 8 (one digit away from its rows)");
            because(number(r, what, "004, table 4", "0.65293", sigma, LESS_IS_BETTER),
                    fabs(sigma - 0.65294) <= 0.5e-5,
                    "the four other rows of the same guarantee print 0.65294, as it is");
        }
        if (!i) continue;       /* its quotient is what the other rows are compared by */
        put_text(what, sizeof what, "multi-epoch MF: eps %s", EPS_T4[i]);
        number(r, what, "004, table 4", multi[i], sigma * ratio, LESS_IS_BETTER);
        if (fabs(q / ratio - 1) > spread) spread = fabs(q / ratio - 1);
    }
    set(r, "delta", "1e-6");
    set(r, "sensitivity", "1; multi-epoch MF: the quotient of its first row");
    note(r, "Multi-epoch MF's sensitivity under 342 rounds of separation is that of the paper's "
         "own matrix; here it is the quotient of the two numbers printed at eps 1 (%s/%s = %.5f, "
         "and the same to %.0e at the others), so that its rows begin at eps 2: at eps 1 a "
         "printed number would be compared with itself. 004-t2 computes the bound for matrices of "
         "our own.", multi[0], plain[0], ratio, spread);
}

typedef struct t5 { size_t bands; double eps, unit, by_q; } t5;

TOOL_FN void t5_task(report *r, mcamp_ctx *ctx, size_t i, void *arg)
{
    t5 *t = (t5 *)arg + i;
    mcamp_event e;
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_POISSON;
    e.count = (2052 + t->bands - 1) / t->bands;
    e.q = 1000.0 * (double)t->bands / 342477;
    did(r, ctx, mcamp_exact_calibrate(ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, t->eps, DELTA_004,
                                      &t->unit, NULL));
    e.q = (double)t->bands / 342;
    did(r, ctx, mcamp_exact_calibrate(ctx, &e, 1, NULL, 0, MCAMP_PARAM_SIGMA, t->eps, DELTA_004,
                                      &t->by_q, NULL));
}

TOOL_FN void examples_004_F(report *r)
{
    double m = 50000, batch = 500, worst = 0, rdp = 0, sampled = 0, order = 4, sigma = 8;
    mcamp_event e;
    number(r, "2 bands: examples in a class", "004, F.4", "25000", m / 2, EQUAL_ONLY);
    number(r, "2 bands: sampling probability, %", "004, F.4", "2", 100 * batch * 2 / m, EQUAL_ONLY);
    number(r, "2 bands: events to compose", "004, F.4", "1000", ceil(20 * m / batch / 2),
           EQUAL_ONLY);
    number(r, "100 bands: sampling probability, %", "004, F.4", "100", 100 * batch * 100 / m,
           EQUAL_ONLY);
    for (double b = 1; b < 9; b *= 2) {
        memset(&e, 0, sizeof e);
        e.kind = MCAMP_EVENT_GAUSSIAN;
        e.sigma = sigma;
        e.count = (uint64_t)(2000 / b);
        if (!did(r, &r->ctx, mcamp_exact_rdp(&r->ctx, &e, 1, order, &rdp))) return;
        worst = fmax(worst, fabs(rdp / (order * 2000 / (2 * sigma * sigma * b)) - 1));
        e.kind = MCAMP_EVENT_POISSON;
        e.q = batch * b / m;
        if (!did(r, &r->ctx, mcamp_exact_rdp(&r->ctx, &e, 1, order, &rdp))) return;
        sampled = fmax(sampled, rdp / (e.q * e.q * 2 * order * 2000 / (sigma * sigma * b)));
    }
    trend(r, "(alpha, alpha n/(2 sigma^2 b))-RDP without sampling", "004, example F.2",
          worst < 1e-9, "to %.0e, relatively, at order 4, sigma 8, 1 to 8 bands", worst);
    trend(r, "with sampling at most (alpha, q^2 2 alpha n/(sigma^2 b))-RDP", "004, example F.2",
          sampled <= 1, "exact divergence at most %.3f of it", sampled);
}

TOOL_FN void t5_rows(report *r, const t5 *t, const char *const *printed, const char *name, int line)
{
    for (size_t i = 0; i < 4; i++) {
        char what[120];
        double p = strtod(printed[i], NULL);
        double ours = t[i].unit / sqrt(6), other = t[i].by_q / sqrt(6);
        put_text(what, sizeof what, "%s, eps %g, %lu bands", name, t[i].eps,
                 (unsigned long)t[i].bands);
        because(number(r, what, "004, table 5", printed[i], ours, LESS_IS_BETTER),
                ours <= p * (1 + 1e-3) && fmin(ours, other) <= p && p <= fmax(ours, other) * 1.001,
                "q = 1000 bands/342477 gives %.6f, q = bands/342 %.6f", ours, other);
        point *q = add_point(r, line, t[i].eps, ours);
        q->sigma = t[i].unit;
        q->bands = (double)t[i].bands;
    }
}

TOOL_FN void run_004_t5(report *r)
{
    static const char *const sgd[] = { "0.37313", "0.30481", "0.25136", "0.20567" };
    static const char *const band[] = { "0.79118", "0.64708", "0.52224", "0.43490" };
    static const char *const none[] = { "4.22468", "2.23048", "1.19352", "0.65294", "0.36861" };
    static const size_t bands[] = { 9, 18, 32, 64 };
    t5 t[9];
    double last;
    int c = add_chart(r, "Noise multipliers of table 5", "divided by the square root of 6, as the "
                      "table has them", "epsilon", "sigma"), l[3], d;
    r->chart[c].log_x = r->chart[c].log_y = true;
    memset(t, 0, sizeof t);
    for (size_t i = 0; i < 4; i++) {
        t[i].bands = 1;
        t[4 + i].bands = bands[i];
        t[i].eps = t[4 + i].eps = strtod(EPS_T4[i], NULL);
    }
    t[8].bands = 1;
    t[8].eps = 16;
    each(r, 9, t5_task, t);
    l[0] = add_line(r, c, "DP-SGD, Poisson");
    l[1] = add_line(r, c, "banded MF, cyclic Poisson");
    l[2] = add_line(r, c, "multi-epoch MF, no amplification");
    t5_rows(r, t, sgd, "DP-SGD", l[0]);
    t5_rows(r, t + 4, band, "banded MF", l[1]);
    last = t[8].unit / sqrt(6);
    because(number(r, "DP-SGD, eps 16, 1 band", "004, table 5", "0.16876", last, LESS_IS_BETTER),
            last < 0.16876 * 1.001, "within 0.1%%");
    d = add_line(r, c, "printed");
    r->line[d].dots = true;
    for (size_t i = 0; i < 5; i++) {
        double eps = strtod(EPS_T4[i], NULL), s = gaussian_004(r, eps);
        char what[80];
        put_text(what, sizeof what, "multi-epoch MF, eps %s", EPS_T4[i]);
        number(r, what, "004, table 5", none[i], s, LESS_IS_BETTER);
        add_point(r, l[2], eps, s)->sigma = s;
        if (i < 4) add_point(r, d, eps, strtod(sgd[i], NULL));
        if (i < 4) add_point(r, d, eps, strtod(band[i], NULL));
    }
    number(r, "banded MF, eps 16, 2052 bands: no amplification", "004, table 5", "0.36861",
           gaussian_004(r, 16), LESS_IS_BETTER);
    examples_004_F(r);
    set(r, "rounds, b, clients, batch", "2052, 342, 342477, 1000");
    set(r, "delta", "1e-6");
    note(r, "The amplified rows are the multipliers for columns of norm 1 divided by the square "
         "root of 6, since matrices of the table have sensitivity 1 over 6 participations; the CSV "
         "has y as printed and sigma for columns of norm 1. With m/B = 342.477 bands or more the "
         "sampling probability is 1: there is no amplification, and rows without it say so.");
}

/* ---- appendix K ----------------------------------------------------------------------------- */

typedef struct k_matrix { size_t n, bands, b; double fixed, minsep; bool exact; } k_matrix;

/* C banded for `bands` rounds of separation, met by an example that comes back after b. */
TOOL_FN bool k_sensitivity(report *r, k_matrix *k)
{
    mcamp_opt_desc d;
    mcamp_mech m;
    mcamp_sens s = { 0, false };
    bool ok;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.family = MCAMP_OPT_BANDED;
    d.amplification = MCAMP_AMPLIFY_NONE;
    d.rounds = k->n;
    d.batches = d.bands = k->bands;
    d.equal_norms = true;
    d.eps = 1;
    d.delta = DELTA_004;
    d.tolerance = 1e-4;
    d.max_iterations = 40;      /* near enough: it is the sensitivity that is asked for */
    ok = did(r, &r->ctx, mcamp_opt_run(&r->ctx, &d, &m, NULL)) &&
         did(r, &r->ctx, mcamp_sens_minsep(&r->ctx, &m, (k->n - 1) / k->b + 1, k->b, &s));
    k->minsep = s.value;
    k->exact = s.exact;
    ok = ok && did(r, &r->ctx, mcamp_sens_minsep(&r->ctx, &m, (k->n - 1) / k->bands + 1, k->bands,
                                                 &s));
    k->fixed = s.value;
    mcamp_mech_free(&r->ctx, &m);
    return ok;
}

TOOL_FN void run_004_k(report *r)
{
    double eps[3] = { 0 }, simple = 0;
    const double rho[] = { 0.52, 0.24, 0.2355 };
    k_matrix k = { 2000, 400, 385, 0, 0, false };
    int c = add_chart(r, "Epsilon of a rho-zCDP Gaussian mechanism", "delta 1e-10", "rho",
                      "epsilon"), l, d;
    if (r->f->quick) { k.n = 500; k.bands = 100; k.b = 96; }
    l = add_line(r, c, "the mechanism's own curve");
    for (int i = 4; i <= 60; i++) {
        double e = 0;
        if (!did(r, &r->ctx, mcamp_gauss_epsilon(&r->ctx, 1, sqrt(0.02 * i), 1e-10, &e))) return;
        add_point(r, l, 0.01 * i, e);
    }
    l = add_line(r, c, "rho + 2 sqrt(rho log(1/delta))");
    r->line[l].dashed = true;
    for (int i = 4; i <= 60; i++) {
        if (!did(r, &r->ctx, mcamp_exact_zcdp_epsilon_simple(&r->ctx, 0.01 * i, 1e-10, &simple)))
            return;
        add_point(r, l, 0.01 * i, simple);
    }
    d = add_line(r, c, "printed");
    r->line[d].dots = true;
    add_point(r, d, 0.52, 6.69);
    add_point(r, d, 0.24, 4.35);
    for (int i = 0; i < 3; i++)
        if (!did(r, &r->ctx, mcamp_gauss_epsilon(&r->ctx, 1, sqrt(2 * rho[i]), 1e-10, &eps[i])))
            return;
    number(r, "epsilon of 0.52-zCDP (online TreeAgg)", "004, K.1", "6.69", eps[0], LESS_IS_BETTER);
    because(number(r, "epsilon of 0.24-zCDP (banded MF)", "004, K.1", "4.35", eps[1],
                   LESS_IS_BETTER), fabs(eps[2] - 4.35) < 5e-3, "0.24 is rounded: rho = 0.2355, "
            "which prints as 0.24, gives %.4f", eps[2]);
    if (k_sensitivity(r, &k))
        trend(r, "with b below the number of bands Theorem 3 (algorithms 3 and 4) still bounds the "
              "sensitivity", "004, section 6 and appendix E", k.minsep >= k.fixed &&
              k.minsep < 2 * k.fixed, "%lu bands, separation %lu: %.5f%s, %.3g times that at %lu",
              (unsigned long)k.bands, (unsigned long)k.b, k.minsep, k.exact ? "" : " at most",
              k.minsep / k.fixed, (unsigned long)k.bands);
    set(r, "delta", "1e-10");
    set(r, "rounds, bands, separation", "%lu, %lu, %lu", (unsigned long)k.n,
        (unsigned long)k.bands, (unsigned long)k.b);
}

/* ---- figures 6 and 7: structures ------------------------------------------------------------ */

enum { N_F6 = 64 };

typedef struct shape_f6 { const char *name; size_t b, bands; bool equal, identity; } shape_f6;

TOOL_FN bool optimum_f6(report *r, const shape_f6 *s, mcamp_mech *m, double *error)
{
    mcamp_opt_desc d;
    mcamp_opt_result res;
    memset(&d, 0, sizeof d);
    memset(&res, 0, sizeof res);
    d.family = s->identity ? MCAMP_OPT_IDENTITY : MCAMP_OPT_BANDED;
    d.amplification = MCAMP_AMPLIFY_NONE;
    d.rounds = N_F6;
    d.batches = s->b;
    d.bands = s->bands;
    d.equal_norms = s->equal;
    d.eps = 1;
    d.delta = DELTA_004;
    if (!did(r, &r->ctx, mcamp_opt_run(&r->ctx, &d, m, &res))) return false;
    *error = res.unit.rmse * res.sensitivity;
    return true;
}

/* C and C^-1; the mean of C's entries b rows below the diagonal. */
TOOL_FN double maps_f6(report *r, const shape_f6 *s, const mcamp_mech *m)
{
    size_t n = N_F6;
    double *c = numbers_of(n * n), *inverse = numbers_of(n * n), *v = numbers_of(n), sum = 0;
    char title[80];
    for (size_t j = 0; j < n; j++) {
        double *unit = inverse + j * n;         /* by columns first, then turned */
        if (!did(r, &r->ctx, mcamp_mech_column(&r->ctx, m, j, v))) break;
        for (size_t i = 0; i < n; i++) c[i * n + j] = v[i];
        unit[j] = 1;
        if (!did(r, &r->ctx, mcamp_mech_solve(&r->ctx, m, unit, unit))) break;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            double t = inverse[i * n + j];
            inverse[i * n + j] = inverse[j * n + i];
            inverse[j * n + i] = t;
        }
        if (i >= s->b) sum += c[i * n + i - s->b] / (double)(n - s->b);
    }
    put_text(title, sizeof title, "%s: C", s->name);
    add_map(r, title, c, n, n)->root = true;
    put_text(title, sizeof title, "%s: C^-1", s->name);
    add_map(r, title, inverse, n, n)->root = true;
    free(c);
    free(inverse);
    free(v);
    return sum;
}

TOOL_FN void run_004_f6(report *r)
{
    static const shape_f6 shape[] = {
        { "single epoch", 64, 0, false, false }, { "SGD", 16, 0, false, true },
        { "MF, 8 epochs", 8, 0, false, false }, { "MF, 4 epochs", 16, 0, false, false },
        { "8 bands", 16, 8, false, false }, { "EN, 8 bands", 16, 8, true, false },
        { "16 bands", 16, 16, false, false }, { "EN, 16 bands", 16, 16, true, false },
    };
    double error[8] = { 0 }, below[8] = { 0 };
    put_text(r->maps_title, sizeof r->maps_title, "Factorisations for n = 64; colours by the "
             "square root");
    for (size_t i = 0; i < 8 && !r->failed; i++) {
        mcamp_mech m;
        memset(&m, 0, sizeof m);
        if (optimum_f6(r, &shape[i], &m, &error[i])) below[i] = maps_f6(r, &shape[i], &m);
        mcamp_mech_free(&r->ctx, &m);
    }
    trend(r, "multi-epoch C contains \"diagonals of negative entries separated by b steps\"",
          "004, appendix D", below[2] < 0 && below[3] < 0, "mean of the first: %.4f (8 epochs), "
          "%.4f (4 epochs)", below[2], below[3]);
    trend(r, "equal column norms have \"a relatively minor impact\"", "004, appendix D",
          error[5] < 1.1 * error[4] && error[7] < 1.1 * error[6], "error +%.2g%% with 8 bands, "
          "+%.2g%% with 16", 100 * (error[5] / error[4] - 1), 100 * (error[7] / error[6] - 1));
    trend(r, "errors fall: SGD, 8 bands, 16 bands, MF (4 epochs)", "004, table 2",
          error[1] > error[4] && error[4] > error[6] && error[6] > error[3],
          "%.4g, %.4g, %.4g, %.4g at sensitivity 1", error[1], error[4], error[6], error[3]);
    set(r, "n", "64");
    set(r, "epochs", "8 (b = 8) and 4 (b = 16)");
}

/* Solves g x = y in place for symmetric positive definite g of order n; y has `columns`. */
TOOL_FN void solve_spd(double *g, double *y, size_t n, size_t columns)
{
    for (size_t k = 0; k < n; k++) {
        for (size_t i = k + 1; i < n; i++) {
            double f = g[i * n + k] / g[k * n + k];
            for (size_t j = k; j < n; j++) g[i * n + j] -= f * g[k * n + j];
            for (size_t j = 0; j < columns; j++) y[i * columns + j] -= f * y[k * columns + j];
        }
    }
    for (size_t k = n; k-- > 0; ) {
        for (size_t j = 0; j < columns; j++) {
            for (size_t i = k + 1; i < n; i++)
                y[k * columns + j] -= g[k * n + i] * y[i * columns + j];
            y[k * columns + j] /= g[k * n + k];
        }
    }
}

/* Rows of the binary tree over n = 2^k leaves that end within the first t: how many. */
TOOL_FN size_t tree_rows(size_t n, size_t t, double *c)
{
    size_t rows = 0;
    for (size_t width = 1; width <= n; width *= 2) {
        for (size_t a = 0; a + width <= t; a += width, rows++) {
            memset(c + rows * n, 0, n * sizeof *c);
            for (size_t j = a; j < a + width; j++) c[rows * n + j] = 1;
        }
    }
    return rows;
}

/* y[t][rows] = (c'c)^-1 c', c the rows known after t rounds. */
TOOL_FN void tree_inverse(const double *c, size_t rows, size_t n, size_t t, double *y)
{
    double *g = numbers_of(t * t);
    for (size_t k = 0; k < rows; k++) {
        for (size_t i = 0; i < t; i++) {
            y[i * rows + k] = c[k * n + i];
            for (size_t j = 0; j < t && c[k * n + i] > 0; j++) g[i * t + j] += c[k * n + j];
        }
    }
    solve_spd(g, y, t, rows);
    free(g);
}

TOOL_FN void run_004_f7(report *r)
{
    size_t n = N_F6, rows = 2 * n - 1;
    double *c = numbers_of(rows * n), *turned = numbers_of(rows * n), *y = numbers_of(n * rows);
    double optimal = 0, online = 0, library[2] = { 0 };
    mcamp_mech_desc d;
    mcamp_mech m;
    mcamp_work w;
    mcamp_work_desc wd;
    mcamp_error_info info = { 0, 0, 0 };
    memset(&d, 0, sizeof d);
    memset(&wd, 0, sizeof wd);
    memset(&m, 0, sizeof m);
    memset(&w, 0, sizeof w);
    tree_rows(n, n, c);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j++) turned[j * rows + i] = c[i * n + j];
    tree_inverse(c, rows, n, n, y);
    for (size_t k = 0; k < rows; k++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += y[i * rows + k];
            optimal += sum * sum;
        }
    }
    put_text(r->maps_title, sizeof r->maps_title, "The binary tree for n = 64");
    add_map(r, "transpose of the tree", turned, n, rows);
    add_map(r, "its pseudo-inverse (root colours)", y, n, rows)->root = true;
    for (size_t t = 1; t <= n; t++) {           /* Honaker's: what is known by then */
        size_t known = tree_rows(n, t, c);
        tree_inverse(c, known, n, t, y);
        for (size_t k = 0; k < known; k++) {
            double sum = 0;
            for (size_t i = 0; i < t; i++) sum += y[i * known + k];
            online += sum * sum;
        }
    }
    d.n = wd.n = n;
    did(r, &r->ctx, mcamp_work_init(&r->ctx, &wd, &w));
    for (int k = 0; k < 2 && !r->failed; k++) {
        d.kind = k ? MCAMP_MECH_TREE_ONLINE : MCAMP_MECH_TREE;
        if (did(r, &r->ctx, mcamp_mech_init(&r->ctx, &d, &m)))
            did(r, &r->ctx, mcamp_work_error(&r->ctx, &w, &m, NULL, &info));
        library[k] = info.rmse;
        mcamp_mech_free(&r->ctx, &m);
    }
    optimal = sqrt(optimal / (double)n);
    online = sqrt(online / (double)n);
    trend(r, "the optimal decoder can be used online (004, [17]): the library's tree strategy is "
          "lower-triangular with the same error", "004, appendix C",
          fabs(library[0] / optimal - 1) < 1e-9, "error %.6f by the pseudo-inverse, %.6f by the "
          "library", optimal, library[0]);
    trend(r, "the \"online\" estimator of Honaker is \"less-efficient\"", "004, section 6",
          online > optimal && fabs(library[1] / online - 1) < 1e-9, "its error is %.6f (%.6f by "
          "the library), %.3g%% more", online, library[1], 100 * (online / optimal - 1));
    set(r, "n", "64, 127 nodes");
    mcamp_work_free(&r->ctx, &w);
    free(c);
    free(turned);
    free(y);
}

#define OPTIMUM_BY "minimises the error of prefix sums over C of the family, by the library's " \
    "optimiser, which bounds how far from the best it is"
#define ITEMS_004 \
    { "004-t4", "Noise multipliers without amplification", "004, table 4", 1, 1, run_004_t4, \
      "the Gaussian mechanism's curve" }, \
    { "004-t5", "Noise multipliers with amplification", "004, table 5, appendix F", 2, 2, \
      run_004_t5, "smallest certified sigma of the sampled compositions" }, \
    { "004-k", "A production system's guarantee", "004, section 6, appendix K", 30, 3, run_004_k, \
      "the Gaussian mechanism's curve; sensitivities by algorithms 3 and 4" }, \
    { "004-f6", "Structures of C and its inverse", "004, figure 6", 2, 2, run_004_f6, \
      OPTIMUM_BY }, \
    { "004-f7", "The tree and its decoders", "004, figure 7", 1, 1, run_004_f7, \
      "least squares with all nodes, and with those known in time" }, \
    BAND_ITEMS_004 SHUFFLE_ITEMS_004

#endif
