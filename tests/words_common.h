/* Guarantees with every field of its own value, and a writer into a string. */
#ifndef WORDS_COMMON_H
#define WORDS_COMMON_H

typedef struct sink { char s[200000]; size_t n, most; } sink;

static sink out;

static int collect(void *user, const char *text, size_t n)
{
    sink *t = (sink *)user;
    if (t->n + n > t->most) return 1;
    memcpy(t->s + t->n, text, n);
    t->n += n;
    t->s[t->n] = '\0';
    return 0;
}

static mcamp_writer writer(void)
{
    mcamp_writer w;
    w.write = collect;
    w.user = &out;
    out.n = 0;
    out.most = sizeof out.s - 1;
    out.s[0] = '\0';
    return w;
}

static mcamp_proof proof_of(double base, uint64_t samples)
{
    mcamp_proof p;
    memset(&p, 0, sizeof p);
    p.accepted = true;
    p.method = MCAMP_METHOD_COMMON;
    p.order = 3 + samples % 7;
    p.range = base / 3;
    p.bound = base / 7;
    p.stake = base / 11;
    p.log_wealth = 10 + base / 13;
    p.value = base / 17;
    p.std_error = base / 19;
    p.lower = base / 23;
    p.upper = base / 29;
    p.samples = samples;
    return p;
}

/* A claim about balls in bins that was accepted: no two numbers are alike. */
static mcamp_guarantee sample_claim(void)
{
    mcamp_guarantee g;
    mcamp__guarantee_start(&g, MCAMP_BATCH_BINS, 19, 8);
    g.kind = MCAMP_KIND_VERIFIED;
    g.accepted = true;
    g.sigma = 4.25; g.eps = 1.1; g.delta = 1e-5; g.beta = 2e-6;
    g.remove = proof_of(0.1, 4096);
    g.add = proof_of(0.01, 2048);
    g.add.method = MCAMP_METHOD_COMMON;
    g.seed = 77; g.samples = 9999; g.max_samples = 1 << 20;
    g.rung = 4; g.rungs = 5;
    g.strategy_digest = UINT64_C(0x0123456789abcdef);
    g.gram_digest = UINT64_C(0xfedcba9876543210);
    return g;
}

#endif
