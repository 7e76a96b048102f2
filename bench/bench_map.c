/* Where is it slow?  sigma (to 1% of delta), delta at that sigma (to 1%) and a certified
 * sigma, over b, bands of the square-root matrix, epochs, eps and delta, in both directions,
 * with several seeds.  Processor seconds of one core.
 *
 *     bench_map [--quick] [--batches B] [--seeds N] TABLE PICTURE
 *     bench_map --honest
 *
 * TABLE (CSV) has a line for each cell and seed; lines that are there already are not
 * measured again, so that a run can be stopped and called again.  A question that is not
 * answered within 60 s is given up: its answer is nan.  Quick: a tenth of the cells, two
 * seeds instead of five.  Batches: that b alone, so that tables can be made on several cores
 * and put together in any order.  Honest: delta to 2% with fifty seeds at a few corners, the
 * spread of the values over the error that they state, and the times.                    */
#include "bench_common.h"
#include "../examples/tool_svg.h"

enum { NB = 6, NBANDS = 7, NEPOCH = 3, NEPS = 4, NDELTA = 2, NCELL = NB * NBANDS * NEPOCH * NEPS
       * NDELTA, SEEDS = 5, QUESTIONS = 3 };
static const size_t BATCHES[NB] = { 32, 128, 512, 1024, 2048, 4096 };
static const size_t BANDS[NBANDS] = { 1, 2, 4, 16, 64, 256, 0 };        /* 0: all */
static const size_t EPOCHS[NEPOCH] = { 1, 4, 16 };
static const double EPS[NEPS] = { 0.5, 1, 2, 8 };
static const double DELTA[NDELTA] = { 1e-5, 1e-8 };
static const char *const QUESTION[QUESTIONS] = { "sigma", "delta", "certified sigma" };

typedef struct row {
    bool made;
    double gram_s, value[QUESTIONS], seconds[QUESTIONS], samples[QUESTIONS];
    int trusted;
    size_t order;
    char law[24];
} row;

typedef struct cell { size_t b, bands, epochs; double eps, delta; } cell;

static row table[NCELL][SEEDS];
static const double limit_seconds = 90;
static double until;
static int seeds = SEEDS;
static size_t only;         /* the b to measure, or 0: all */

/* Epochs and bands within b, so that one Gram matrix serves the cells that share it. */
static cell cell_at(int i)
{
    cell c;
    c.delta = DELTA[i % NDELTA]; i /= NDELTA;
    c.eps = EPS[i % NEPS]; i /= NEPS;
    c.epochs = EPOCHS[i % NEPOCH]; i /= NEPOCH;
    c.bands = BANDS[i % NBANDS]; i /= NBANDS;
    c.b = BATCHES[i];
    return c;
}

static bool cell_exists(const cell *c) { return c->bands < c->b * c->epochs; }
static bool cell_is_meant(int i, bool quick)
{
    cell c = cell_at(i);
    return cell_exists(&c) && (!only || c.b == only) &&
           (!quick || (unsigned)i * 2654435761u % 1000 < 100);
}

static int stop_at_limit(void *user, double fraction, double best)
{
    (void)user; (void)fraction; (void)best;
    return bench_seconds() > until;
}

/* ---- the table ------------------------------------------------------------------------ */

static const char HEADER[] = "b,bands,epochs,eps,delta,seed,gram_s,sigma,sigma_s,sigma_samples,"
    "delta_found,delta_s,delta_samples,certified,certified_s,certified_samples,trusted,law,order";

static void row_write(FILE *f, const cell *c, int seed, const row *r)
{
    fprintf(f, "%zu,%zu,%zu,%g,%g,%d,%.3f", c->b, c->bands, c->epochs, c->eps, c->delta, seed + 1,
            r->gram_s);
    for (int q = 0; q < QUESTIONS; q++)
        fprintf(f, ",%.8g,%.4f,%.0f", r->value[q], r->seconds[q], r->samples[q]);
    fprintf(f, ",%d,%s,%zu\n", r->trusted, r->law, r->order);
}

static int same(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

static void row_read(const char *line)
{
    cell c, at;
    row r;
    int seed;
    memset(&r, 0, sizeof r);
    if (sscanf(line, "%zu,%zu,%zu,%lf,%lf,%d,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%d,%23[^,],"
               "%zu", &c.b, &c.bands, &c.epochs, &c.eps, &c.delta, &seed, &r.gram_s, &r.value[0],
               &r.seconds[0], &r.samples[0], &r.value[1], &r.seconds[1], &r.samples[1],
               &r.value[2], &r.seconds[2], &r.samples[2], &r.trusted, r.law, &r.order) != 19 ||
        seed < 1 || seed > SEEDS) return;
    r.made = true;
    for (int i = 0; i < NCELL; i++) {
        at = cell_at(i);
        if (at.b == c.b && at.bands == c.bands && at.epochs == c.epochs && same(at.eps, c.eps) &&
            same(at.delta, c.delta)) table[i][seed - 1] = r;
    }
}

static void table_read(const char *path)
{
    char line[512];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) row_read(line);
    if (f) fclose(f);
}

/* ---- one cell --------------------------------------------------------------------------- */

static double begin(void)
{
    double t = bench_seconds();
    until = t + limit_seconds;
    return t;
}

static void answer_keep(const mcamp_answer *a, mcamp_status st, int q, double start, row *r)
{
    r->seconds[q] = bench_seconds() - start;
    r->samples[q] = (double)a->samples;
    r->value[q] = st == MCAMP_Q_INTERRUPTED ? mcamp__nan() : q ? a->delta : a->sigma;
    if (st == MCAMP_Q_INTERRUPTED || q != 1) return;
    const mcamp_estimate *e = a->remove.value >= a->add.value ? &a->remove : &a->add;
    r->trusted = a->status != MCAMP_Q_UNTRUSTED;
    snprintf(r->law, sizeof r->law, "%s", bench_method(e->method));
    r->order = e->order;
}

static void measure(mcamp_ctx *ctx, const mcamp_gram *g, const cell *c, int seed, row *r)
{
    mcamp_budget bud;
    mcamp_answer a;
    mcamp_claim claim;
    mcamp_guarantee s;
    mcamp_status st;
    double t = begin();
    memset(&bud, 0, sizeof bud);
    memset(&claim, 0, sizeof claim);
    memset(&s, 0, sizeof s);
    bud.seed = (uint64_t)seed + 1;
    r->made = true;
    for (int q = 0; q < QUESTIONS; q++) r->value[q] = mcamp__nan();
    snprintf(r->law, sizeof r->law, "-");
    st = bench_check(ctx, "sigma", mcamp_sigma(ctx, g, c->eps, c->delta, &bud, &a));
    answer_keep(&a, st, 0, t, r);
    if (st != MCAMP_Q_INTERRUPTED) {
        t = begin();
        st = bench_check(ctx, "delta", mcamp_delta(ctx, g, a.sigma, c->eps, &bud, &a));
        answer_keep(&a, st, 1, t, r);
    }
    claim.eps = c->eps; claim.delta = c->delta; claim.beta = c->delta; claim.seed = bud.seed;
    t = begin();
    st = bench_check(ctx, "certify", mcamp_calibrate_certified(ctx, g, &claim, &s));
    r->seconds[2] = bench_seconds() - t;
    r->samples[2] = (double)s.samples;
    if (st != MCAMP_Q_INTERRUPTED && s.accepted) r->value[2] = s.sigma;
}

static bool given_up(const row *r) { return r->made && !(r->value[0] > 0); }

/* All seeds of one cell that are not in the table; a cell given up once is not tried with
 * others.                                                                              */
static void cell_measure(mcamp_ctx *ctx, const mcamp_gram *g, double gram_s, int i, FILE *f)
{
    cell c = cell_at(i);
    for (int s = 0; s < seeds; s++) {
        row *r = &table[i][s];
        if (r->made || given_up(&table[i][0])) continue;
        measure(ctx, g, &c, s, r);
        r->gram_s = gram_s;
        row_write(f, &c, s, r);
        fflush(f);
        printf("%4zu %4zu %3zu %4g %6g %2d |%9.4f %8.2f |%8.2f %10.0f %-8s %3zu%s |%7.4f %8.2f\n",
               c.b, c.bands, c.epochs, c.eps, c.delta, s + 1, r->value[0], r->seconds[0],
               r->seconds[1], r->samples[1], r->law, r->order, r->trusted ? " " : "?",
               r->value[2] / r->value[0], r->seconds[2]);
    }
}

static bool cell_missing(int i)
{
    for (int s = 0; s < seeds; s++)
        if (!table[i][s].made && !given_up(&table[i][0])) return true;
    return false;
}

static void measure_all(bool quick, const char *path)
{
    mcamp_ctx_desc d;
    mcamp_ctx ctx;
    mcamp_gram g;
    const int each = NEPS * NDELTA;
    FILE *f = fopen(path, "a");
    if (!f) failed("cannot write \"%s\": %s", path, strerror(errno));
    if (!ftell(f)) fprintf(f, "%s\n", HEADER);
    memset(&d, 0, sizeof d);
    d.progress.fn = stop_at_limit;
    bench_check(&ctx, "context", mcamp_ctx_init(&ctx, &d));
    for (int first = 0; first < NCELL; first += each) {
        cell c = cell_at(first);
        double gram_s = -1;
        for (int i = first; i < first + each; i++) {
            if (!cell_is_meant(i, quick) || !cell_missing(i)) continue;
            if (gram_s < 0) {
                gram_s = bench_seconds();
                bench_gram(&ctx, c.bands, c.epochs, c.b, &g);
                gram_s = bench_seconds() - gram_s;
            }
            cell_measure(&ctx, &g, gram_s, i, f);
        }
        if (gram_s >= 0) mcamp_gram_free(&ctx, &g);
    }
    close_written(f, path);
}

/* ---- what it says ------------------------------------------------------------------------ */

/* Median and largest seconds over the seeds; 0 if the cell was not measured.  *over: it was
 * given up.                                                                             */
static double median(int i, int q, double *worst, bool *over)
{
    double t[SEEDS];
    int n = 0;
    *over = false;
    for (int s = 0; s < SEEDS; s++) {
        const row *r = &table[i][s];
        if (!r->made) continue;
        *over |= !(r->value[q] > 0);
        t[n++] = r->seconds[q];
    }
    *worst = 0;
    if (!n) return 0;
    qsort(t, (size_t)n, sizeof *t, bench_up);
    *worst = t[n - 1];
    return t[(n - 1) / 2];
}

/* The slowest cells of one question. */
static void worst_cells(int q)
{
    static bool said[NCELL];
    printf("\n%s, slowest cells: median seconds, of the worst seed\n", QUESTION[q]);
    memset(said, 0, sizeof said);
    for (int n = 0; n < 12; n++) {
        double top = 0, worst, most = 0;
        int at = -1;
        bool over, lost = false;
        for (int i = 0; i < NCELL; i++) {
            double m = median(i, q, &worst, &over);
            if (said[i] || !(m > top)) continue;
            top = m; most = worst; at = i; lost = over;
        }
        if (at < 0) return;
        said[at] = true;
        cell c = cell_at(at);
        printf("| %zu | %zu%s | %zu | %g | %g | %.2f | %.2f%s |\n", c.b, c.bands,
               c.bands ? "" : " (all)", c.epochs, c.eps, c.delta, top, most,
               lost ? ", given up" : "");
    }
}

/* How many cells of each b are answered in how many seconds. */
static void shares(void)
{
    static const double step[4] = { 1, 4, 25, 100 };
    for (int q = 0; q < QUESTIONS; q++) {
        printf("\n%s: cells, and of them within 1, 4, 25, 100 s (median of the seeds)\n",
               QUESTION[q]);
        for (int b = 0; b < NB; b++) {
            int n = 0, within[4] = { 0 };
            for (int i = b * (NCELL / NB); i < (b + 1) * (NCELL / NB); i++) {
                double worst, m = median(i, q, &worst, &(bool){ false });
                n += m > 0;
                for (int k = 0; k < 4; k++) within[k] += m > 0 && m <= step[k];
            }
            if (n) printf("| %zu | %d | %d | %d | %d | %d |\n", BATCHES[b], n, within[0],
                          within[1], within[2], within[3]);
        }
    }
}

/* ---- the picture ------------------------------------------------------------------------- */

enum { MAP_CELL = 15, MAP_LEFT = 96, MAP_TOP = 70, MAP_GAP = 54,
       MAP_H = MAP_CELL * NBANDS * NEPOCH, MAP_COLS = NB * NEPS * NDELTA };

/* Blue at a hundredth of a second, yellow at 1, red at 100. */
static void map_colour(double seconds, bool over, char *to, size_t room)
{
    static const int stop[5][3] = { { 49, 54, 149 }, { 116, 173, 209 }, { 255, 255, 191 },
                                    { 244, 109, 67 }, { 165, 0, 38 } };
    double t = fmin(fmax(log10(fmax(seconds, 1e-9)) + 2, 0), 3.999);
    int k = (int)t;
    t -= k;
    if (over) { snprintf(to, room, "#000"); return; }
    snprintf(to, room, "#%02x%02x%02x", (int)(stop[k][0] + t * (stop[k + 1][0] - stop[k][0])),
             (int)(stop[k][1] + t * (stop[k + 1][1] - stop[k][1])),
             (int)(stop[k][2] + t * (stop[k + 1][2] - stop[k][2])));
}

/* Rows: bands, and epochs within; columns: b, eps within, delta within that. */
static void map_panel(FILE *f, int q, double top)
{
    char text[64];
    svg_text(f, MAP_LEFT, top - 24, "start", " font-weight=\"bold\"", QUESTION[q]);
    for (int i = 0; i < NCELL; i++) {
        cell c = cell_at(i);
        int rest = i / (NDELTA * NEPS), e = rest % NEPOCH, k = rest / NEPOCH % NBANDS;
        int b = rest / NEPOCH / NBANDS, col = b * NEPS * NDELTA + i % (NDELTA * NEPS);
        double worst, x = MAP_LEFT + MAP_CELL * col + 6 * b;
        double y = top + MAP_CELL * (k * NEPOCH + e), m;
        bool over;
        m = median(i, q, &worst, &over);
        if (!(m > 0)) continue;
        map_colour(m, over, text, sizeof text);
        fprintf(f, "<rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" fill=\"%s\"><title>"
                "b %zu, %zu bands, %zu epochs, eps %g, delta %g: %.2f s, worst seed %.2f s"
                "</title></rect>\n", x, y, MAP_CELL - 1, MAP_CELL - 1, text, c.b, c.bands,
                c.epochs, c.eps, c.delta, m, worst);
    }
    for (int b = 0; b < NB; b++) {
        snprintf(text, sizeof text, "b = %zu", BATCHES[b]);
        svg_text(f, MAP_LEFT + MAP_CELL * NEPS * NDELTA * b + 6 * b, top - 6, "start", "", text);
    }
    for (int k = 0; k < NBANDS; k++) {
        if (BANDS[k]) snprintf(text, sizeof text, "%zu band%s", BANDS[k], k ? "s" : "");
        else snprintf(text, sizeof text, "all bands");
        svg_text(f, MAP_LEFT - 8, top + MAP_CELL * (k * NEPOCH + 2) - 3, "end", "", text);
    }
}

static void map_write(const char *path)
{
    static const char *const label[5] = { "0.01 s", "0.1 s", "1 s", "10 s", "100 s" };
    int w = MAP_LEFT + MAP_CELL * MAP_COLS + 6 * NB + 20;
    int h = MAP_TOP + QUESTIONS * (MAP_H + MAP_GAP) + 10;
    char colour[16];
    FILE *f = fopen(path, "w");
    if (!f) failed("cannot write \"%s\": %s", path, strerror(errno));
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\""
            "0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#333\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", w, h, w, h, w, h);
    for (int k = 0; k < 5; k++) {
        map_colour(0.01 * pow(10, k), false, colour, sizeof colour);
        fprintf(f, "<rect x=\"%d\" y=\"8\" width=\"18\" height=\"12\" fill=\"%s\"/>\n",
                MAP_LEFT + 80 * k, colour);
        svg_text(f, MAP_LEFT + 80 * k + 24, 18, "start", "", label[k]);
    }
    svg_text(f, MAP_LEFT + 400, 18, "start", "",
             "black: given up at the limit.  Within a column of b: eps 0.5, 1, 2, 8, delta "
             "1e-5, 1e-8 each");
    svg_text(f, MAP_LEFT + 400, 32, "start", "", "within a row of bands: 1, 4, 16 epochs");
    for (int q = 0; q < QUESTIONS; q++) map_panel(f, q, MAP_TOP + q * (MAP_H + MAP_GAP));
    fputs("</svg>\n", f);
    close_written(f, path);
}

/* ---- are the errors what they say? -------------------------------------------------------- */

static void honest_corner(mcamp_ctx *ctx, const cell *c, double sigma)
{
    enum { N = 50 };
    double value[N], err[N], took[N], mean = 0, chi = 0, t;
    mcamp_answer whole;
    mcamp_gram g;
    bench_gram(ctx, c->bands, c->epochs, c->b, &g);
    for (int s = 0; s < N; s++) {
        mcamp_budget bud;
        mcamp_answer a;
        t = begin();
        memset(&bud, 0, sizeof bud);
        bud.seed = (uint64_t)s + 1;
        bud.rel_error = 0.02;
        bud.direction = MCAMP_REMOVE;
        bench_check(ctx, "delta", mcamp_delta(ctx, &g, sigma, c->eps, &bud, &a));
        took[s] = bench_seconds() - t;
        value[s] = a.delta; err[s] = a.std_error;
        mean += a.delta / N;
    }
    for (int s = 0; s < N; s++) chi += pow((value[s] - mean) / err[s], 2) / (N - 1);
    qsort(took, N, sizeof *took, bench_up);
    printf("| %zu | %zu | %zu | %g | %.3f | %.4g | %.2f | %.3f | %.3f |", c->b, c->bands,
           c->epochs, c->eps, sigma, mean, sqrt(chi), took[N / 2], took[N - 1]);
    t = begin();
    bench_check(ctx, "sigma", mcamp_sigma(ctx, &g, c->eps, mean, NULL, &whole));
    printf(" %.2f |\n", bench_seconds() - t);
    mcamp_gram_free(ctx, &g);
}

static void honest(void)
{
    static const struct { cell c; double sigma; } at[] = {
        { { 100, 4, 1, 0.5, 0 }, 0.927 }, { { 512, 4, 1, 0.5, 0 }, 1.0376 },
        { { 128, 2, 16, 1, 0 }, 4.85 }, { { 1000, 2, 4, 1, 0 }, 1.678 },
        { { 512, 16, 16, 1, 0 }, 5.658 },
        { { 128, 4, 1, 0.5, 0 }, 2.051 }, { { 128, 2, 16, 0.5, 0 }, 6.233 },
        { { 512, 4, 4, 0.5, 0 }, 2.612 }, { { 512, 16, 16, 0.5, 0 }, 8.386 },
        { { 1024, 16, 1, 0.5, 0 }, 1.5988 } };
    mcamp_ctx ctx;
    bench_start(&ctx);
    printf("b, bands, epochs, eps, sigma, delta, spread over error, median s, worst s, sigma at "
           "delta to 1%%, both directions: s\n");
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) honest_corner(&ctx, &at[i].c, at[i].sigma);
}

int main(int argc, char **argv)
{
    bool quick = false;
    int at = 1, given = 0;
    if (argc == 2 && !strcmp(argv[1], "--honest")) { honest(); return 0; }
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (!strcmp(argv[at], "--quick")) quick = true;
        else if (at + 1 == argc) break;
        else if (!strcmp(argv[at], "--batches")) only = strtoul(argv[++at], NULL, 10);
        else if (!strcmp(argv[at], "--seeds")) given = atoi(argv[++at]);
        else break;
    }
    if (argc != at + 2 || given < 0 || given > SEEDS)
        failed("usage: bench_map [--quick] [--batches B] [--seeds N] TABLE PICTURE, or --honest");
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    seeds = given ? given : quick ? 2 : SEEDS;
    table_read(argv[at]);
    measure_all(quick, argv[at]);
    for (int q = 0; q < QUESTIONS; q++) worst_cells(q);
    shares();
    map_write(argv[at + 1]);
    return 0;
}
