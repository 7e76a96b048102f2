/* Reference cases of balls in bins: one line of tests/vectors/bib_corr.txt or
 * bib_identity.txt, answered by the library and compared.                     */
#ifndef ORACLE_COMMON_H
#define ORACLE_COMMON_H

typedef struct oracle_case {
    char id[64], name[200], norm[16], direction[8], solved[8], method[8];
    size_t n, b, epochs;
    double sigma, eps, delta;
    double err;             /* standard error if method is mc, else a bound */
} oracle_case;

typedef struct oracle_run {
    mcamp_gram gram;        /* of the last case, kept while it fits */
    oracle_case last;
    size_t skip, seen;      /* of every `skip` cases one is run; 0 = all */
    int table;              /* print a line per case */
    size_t cases;
    double worst_z, worst_rel, seconds, slowest;
    char worst_id[64], slowest_id[64];
} oracle_run;

MT_FN mcamp_direction oracle_direction(const oracle_case *c)
{
    if (!strcmp(c->direction, "remove")) return MCAMP_REMOVE;
    return strcmp(c->direction, "add") ? MCAMP_BOTH : MCAMP_ADD;
}

MT_FN const mcamp_gram *oracle_gram(oracle_run *r, const oracle_case *c)
{
    const oracle_case *l = &r->last;
    if (r->gram.g && l->n == c->n && l->b == c->b && !strcmp(l->name, c->name) &&
        !strcmp(l->norm, c->norm)) return &r->gram;
    mcamp_gram_free(&ctx, &r->gram);
    gram_make(c->name, c->norm, c->n, c->b, &r->gram);
    r->last = *c;
    return &r->gram;
}

/* Distance from the truth in combined standard errors. */
MT_FN double oracle_z(double value, double truth, double std_error, double err)
{
    double scale = sqrt(std_error * std_error + err * err + 1e-20 * truth * truth);
    return fabs(value - truth) / scale;
}

MT_FN void oracle_note(oracle_run *r, const oracle_case *c, const mcamp_answer *a,
                       double z, double rel, double seconds)
{
    char text[200];
    r->cases++;
    r->seconds += seconds;
    if (!(z <= r->worst_z)) { r->worst_z = z; strcpy(r->worst_id, c->id); }
    if (!(seconds <= r->slowest)) { r->slowest = seconds; strcpy(r->slowest_id, c->id); }
    if (!(rel <= r->worst_rel)) r->worst_rel = rel;
    snprintf(text, sizeof text, "%s: z = %.2f, status %d", c->id, z, (int)a->status);
    mt_check(z <= 5 && a->status >= 0, __FILE__, __LINE__, text);
    if (!r->table) return;
    printf("%-34s z %5.2f rel %7.1e upper/value %8.4f %8.4f methods %d/%lu %d/%lu "
           "status %d %6.2f s\n",
           c->id, z, rel, a->remove.upper / a->remove.value, a->add.upper / a->add.value,
           (int)a->remove.method, (unsigned long)a->remove.order, (int)a->add.method,
           (unsigned long)a->add.order, (int)a->status, seconds);
}

/* delta: the estimate within 5 combined standard errors; the rigorous bounds on
 * their sides of the truth (5 standard errors where the truth has one).        */
MT_FN void oracle_delta(oracle_run *r, const oracle_case *c, mcamp_budget *bud)
{
    mcamp_answer a;
    clock_t t0 = clock();
    double truth = c->delta, slack = 5 * c->err, rel;
    const mcamp_estimate *e = oracle_direction(c) == MCAMP_ADD ? &a.add : &a.remove;
    memset(&a, 0, sizeof a);
    a.status = mcamp_delta(&ctx, oracle_gram(r, c), c->sigma, c->eps, bud, &a);
    CHECK_LE(truth - slack, a.delta_upper);
    CHECK_LE(a.delta, a.delta_upper);
    CHECK_LE(e->lower, truth + slack);
    rel = a.std_error / a.delta;
    if (c->b >= 100) CHECK_LE(rel, 0.01);
    oracle_note(r, c, &a, oracle_z(a.delta, truth, a.std_error, c->err), rel,
                (double)(clock() - t0) / CLOCKS_PER_SEC);
}

MT_FN void oracle_sigma(oracle_run *r, const oracle_case *c, mcamp_budget *bud)
{
    mcamp_answer a;
    clock_t t0 = clock();
    memset(&a, 0, sizeof a);
    a.status = mcamp_sigma(&ctx, oracle_gram(r, c), c->eps, c->delta, bud, &a);
    CHECK_LE(a.sigma, a.unamplified * (1 + 1e-14));     /* both are rounded up */
    oracle_note(r, c, &a, oracle_z(a.sigma, c->sigma, a.std_error, c->err),
                a.std_error / a.sigma, (double)(clock() - t0) / CLOCKS_PER_SEC);
}

MT_FN void oracle_one(oracle_run *r, const oracle_case *c)
{
    mcamp_budget bud;
    if (r->skip && r->seen++ % r->skip) return;
    memset(&bud, 0, sizeof bud);
    bud.seed = r->seen + 1000;
    bud.direction = oracle_direction(c);
    if (!strcmp(c->solved, "delta")) oracle_delta(r, c, &bud);
    else                             oracle_sigma(r, c, &bud);
}

/* id strategy norm n b E sigma eps delta direction solved method abs_err */
MT_FN void oracle_corr(const char *line, void *user)
{
    oracle_case c;
    unsigned long n, b, epochs;
    memset(&c, 0, sizeof c);
    if (sscanf(line, "%63s %199s %15s %lu %lu %lu %lf %lf %lf %7s %7s %7s %lf", c.id, c.name,
               c.norm, &n, &b, &epochs, &c.sigma, &c.eps, &c.delta, c.direction, c.solved,
               c.method, &c.err) != 13) { CHECK(!"case is readable"); return; }
    c.n = n; c.b = b; c.epochs = epochs;
    oracle_one((oracle_run *)user, &c);
}

/* id b E sigma eps delta direction solved rel_err */
MT_FN void oracle_identity(const char *line, void *user)
{
    oracle_case c;
    unsigned long b, epochs;
    double rel;
    memset(&c, 0, sizeof c);
    if (sscanf(line, "%63s %lu %lu %lf %lf %lf %7s %7s %lf", c.id, &b, &epochs, &c.sigma,
               &c.eps, &c.delta, c.direction, c.solved, &rel) != 9) {
        CHECK(!"case is readable");
        return;
    }
    c.b = b; c.epochs = epochs; c.n = b * epochs;
    strcpy(c.name, "identity"); strcpy(c.norm, "raw"); strcpy(c.method, "exact");
    c.err = rel * (!strcmp(c.solved, "delta") ? c.delta : c.sigma);
    oracle_one((oracle_run *)user, &c);
}

MT_FN void oracle_end(oracle_run *r)
{
    mcamp_gram_free(&ctx, &r->gram);
    if (r->table)
        printf("%lu cases, worst z %.2f (%s), worst relative error %.2g, %.1f s, slowest "
               "%.2f s (%s)\n", (unsigned long)r->cases, r->worst_z, r->worst_id,
               r->worst_rel, r->seconds, r->slowest, r->slowest_id);
}

#endif
