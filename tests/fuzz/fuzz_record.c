/* The reader of records: a good one whose lines were changed, with a checksum that is right
 * again, and any bytes at all.  What is taken is written back as the same text, and its
 * guarantee repeats without a crash.                                                */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "fuzz.h"

enum { FUZZ_ROOM = 1 << 14 };

typedef struct text { char s[FUZZ_ROOM]; size_t n; } text;

static int append(void *user, const char *s, size_t n)
{
    text *t = (text *)user;
    if (t->n + n > sizeof t->s) return 1;
    memcpy(t->s + t->n, s, n);
    t->n += n;
    return 0;
}

/* A record of each kind of C. */
static void make_original(mcamp_ctx *ctx, uint64_t which, text *t)
{
    static const double coef[3] = { 1, 0.5, -0.25 }, theta[2] = { 0.9, 0.3 },
                        omega[2] = { 0.2, 0.1 };
    mcamp_mech_desc d;
    mcamp_mech m;
    mcamp_guarantee g;
    mcamp_writer w;
    memset(&d, 0, sizeof d);
    d.kind = which % 3 == 0 ? MCAMP_MECH_TOEPLITZ : which % 3 == 1 ? MCAMP_MECH_BLT
                                                                  : MCAMP_MECH_SQRT;
    d.n = 6;
    d.coef = coef;
    d.count = which % 3 ? 0 : 3;
    d.theta = theta;
    d.omega = omega;
    d.buffers = which % 3 == 1 ? 2 : 0;
    if (d.buffers == 0) d.theta = d.omega = NULL;
    if (!d.count) d.coef = NULL;
    FUZZ_CHECK(mcamp_mech_init(ctx, &d, &m) == MCAMP_OK);
    FUZZ_CHECK(mcamp_guarantee_unamplified(ctx, &m, MCAMP_BATCH_BINS, 3, 2, 1e-5, &g) == MCAMP_OK);
    w.write = append;
    w.user = t;
    t->n = 0;
    FUZZ_CHECK(mcamp_record_write(&g, &m, &w) == MCAMP_OK);
    mcamp_mech_free(ctx, &m);
}

static void original(mcamp_ctx *ctx, uint64_t which, text *t)
{
    static text made[3];
    text *m = &made[which % 3];
    if (!m->n) make_original(ctx, which % 3, m);
    memcpy(t->s, m->s, m->n);
    t->n = m->n;
}

/* Replaces bytes, whole values of lines, or cuts, as the input says. */
static void damage(fuzz_bytes *in, text *t)
{
    while (in->left > 3) {
        size_t at = (size_t)fuzz_bits(in, 2) % t->n, end = at, len;
        uint64_t what = fuzz_bits(in, 1);
        if (what < 128) { t->s[at] = (char)what; continue; }
        while (at && t->s[at - 1] != '\n' && t->s[at - 1] != ' ') at--;
        while (end < t->n && t->s[end] != '\n') end++;
        len = (size_t)(what % 16) < in->left ? (size_t)(what % 16) : in->left;
        if (t->n + len > sizeof t->s - 64) return;
        memmove(t->s + at + len, t->s + end, t->n - end);
        memcpy(t->s + at, in->p, len);
        t->n = t->n - (end - at) + len;
        in->p += len;
        in->left -= len;
        if (!t->n) return;
    }
}

/* The last line's checksum made right. */
static void mend(text *t)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = t->n;
    uint64_t sum;
    if (n < 27) return;
    n -= 27;                        /* "checksum: ", 16 digits, end of line */
    if (memcmp(t->s + n, "checksum: ", 10)) return;
    sum = mcamp__text_sum(UINT64_C(0xcbf29ce484222325), t->s, n);
    for (int i = 0; i < 16; i++) t->s[n + 10 + (size_t)i] = hex[sum >> (60 - 4 * i) & 15];
}

static void read_back(mcamp_ctx *ctx, const char *s, size_t n)
{
    static text once, twice;
    mcamp_mech m, m2;
    mcamp_guarantee g, g2;
    mcamp_writer w;
    if (mcamp_record_read(ctx, s, n, &m, &g) < 0) return;
    FUZZ_CHECK(g.magic && m.n >= 1 && !(g.eps < 0) && !(g.delta < 0) && !(g.delta > 1));
    w.write = append;
    w.user = &once;
    once.n = 0;
    if (mcamp_record_write(&g, &m, &w) >= 0) {
        FUZZ_CHECK(mcamp_record_read(ctx, once.s, once.n, &m2, &g2) >= 0);
        w.user = &twice;
        twice.n = 0;
        FUZZ_CHECK(mcamp_record_write(&g2, &m2, &w) >= 0);
        FUZZ_CHECK(once.n == twice.n && !memcmp(once.s, twice.s, once.n));
        mcamp_mech_free(ctx, &m2);
    }
    if (g.kind == MCAMP_KIND_CLOSED && g.rounds < 100) mcamp_guarantee_repeat(ctx, &m, &g, &g2);
    mcamp_mech_free(ctx, &m);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    static text t;
    fuzz_bytes in;
    mcamp_ctx ctx;
    in.p = data;
    in.left = size;
    FUZZ_CHECK(mcamp_ctx_init(&ctx, NULL) == MCAMP_OK);
    read_back(&ctx, (const char *)data, size);
    original(&ctx, fuzz_bits(&in, 1), &t);
    if (in.left) damage(&in, &t);
    if (t.n) mend(&t);
    read_back(&ctx, t.s, t.n);
}
