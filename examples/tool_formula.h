/* mcamp formula: closed forms of the literature, side by side; and the sensitivity of a C.
 * Every number leaves as a guarantee's, rounded up.                                */
#ifndef TOOL_FORMULA_H
#define TOOL_FORMULA_H

#include "tool_account.h"

typedef struct formula_form { const char *name, *usage; } formula_form;

static const formula_form FORMULAS[] = {
    { "classical", ", alone: sigma of a Gaussian mechanism at --eps, --delta, one by one" },
    { "compose", ":K: sigma of each of K of them, --delta halved: K times its own, and slack" },
    { "advanced", ":EPS,DELTA,K: eps of K mechanisms; slack is what --delta leaves" },
    { "optimal", ":EPS,DELTA,K: the same, of the worst such mechanisms exactly" },
    { "zcdp", ":RHO: eps at --delta" },
    { "rdp", ":MECHANISM: eps at --delta by its Renyi divergences" },
    { "group", ":EPS,DELTA,K: of K examples, from that of one" },
    { "single", ":EPS,DELTA,K: of one example, so that K have it" },
};
enum { NFORMULA = sizeof FORMULAS / sizeof FORMULAS[0] };

TOOL_FN void print_formula_forms(void)
{
    for (size_t i = 0; i < NFORMULA; i++) printf("  %s%s\n", FORMULAS[i].name, FORMULAS[i].usage);
}

/* One number under a name; down: what must be kept, so rounded down, as rates are. */
TOOL_FN void formula_number(const session *s, const char *word, const char *name,
                            mcamp_quantity asked, bool down, double x)
{
    static const char *shown;
    mcamp_writer w = to_stdout();
    mcamp_interval of;
    mcamp_guarantee g;
    json j;
    of.lower = 0;
    of.upper = x;
    if (mcamp_guarantee_interval(down ? MCAMP_ASK_Q : asked, MCAMP_BOTH, of, x, 0, 0, 0, &g) < 0)
        failed("%s: no number", word);
    if (s->opt[O_JSON].given) {
        json_begin(s, &j, stdout);
        json_text(&j, "formula", word);
        json_text(&j, "by", name);
        json_text(&j, "asked", asked == MCAMP_ASK_SIGMA ? "sigma"
                               : asked == MCAMP_ASK_EPS ? "epsilon" : "delta");
        json_key(&j, "value");
        mcamp_report_guarantee(&g, MCAMP_REPORT_VALUE, &w);
        json_close(&j);
        return;
    }
    if (shown != word) printf("%s\n", word);
    shown = word;
    printf("  %-44s %s ", name, asked == MCAMP_ASK_SIGMA ? "sigma  "
                                : asked == MCAMP_ASK_EPS ? "epsilon" : "delta  ");
    mcamp_report_guarantee(&g, MCAMP_REPORT_VALUE, &w);
    putchar('\n');
}

TOOL_FN void formula_line(const session *s, const char *word, const char *name,
                          mcamp_quantity asked, double x)
{
    formula_number(s, word, name, asked, false, x);
}

TOOL_FN double formula_need(const session *s, const char *word, int option)
{
    if (!s->opt[option].given) bad_use("\"%s\" needs --%s", word, OPTIONS[option].name);
    return s->opt[option].real;
}

/* As check(), for complaints about a word. */
TOOL_FN void check_word(session *s, const char *word, mcamp_status st)
{
    mcamp_error e = mcamp_last_error(&s->ctx);
    if (st >= 0) return;
    progress_end(&s->progress);
    bad_use("\"%s\": %s (%s)", word, mcamp_strerror(st), e.argument ? e.argument : "input");
}

TOOL_FN void formula_classical(session *s, const char *word)
{
    static const char *const name[] = { "best of the formulas", "sqrt(2 log(1/delta) + 2 eps)/eps",
        "sqrt(2 log(1.25/delta))/eps (eps < 1)", "refined, 1", "refined, 2", "refined, 3",
        "refined, 4" };
    double eps = formula_need(s, word, O_EPS), delta = formula_need(s, word, O_DELTA), x = 0;
    for (int f = MCAMP_FORMULA_DEFAULT; f <= MCAMP_FORMULA_REFINED_4; f++)
        if (mcamp_exact_classical_sigma(&s->ctx, (mcamp_formula)f, 1, eps, delta, &x) >= 0)
            formula_line(s, word, name[f], MCAMP_ASK_SIGMA, x);
    check_word(s, word, mcamp_gauss_sigma(&s->ctx, 1, eps, delta, &x));
    formula_line(s, word, "by its curve", MCAMP_ASK_SIGMA, x);
}

/* eps of k Gaussian mechanisms at sigma, delta halved between them and the slack. */
TOOL_FN double composed_eps(session *s, const char *word, bool optimal, double sigma, uint64_t k,
                            double delta)
{
    double eps = 0, total = 0;
    check_word(s, word, mcamp_gauss_epsilon(&s->ctx, sigma, 1, delta / 2 / (double)k, &eps));
    check_word(s, word, optimal
        ? mcamp_exact_compose_optimal(&s->ctx, eps, delta / 2 / (double)k, k, delta, &total)
        : mcamp_exact_compose_advanced(&s->ctx, eps, (double)k, delta / 2, &total));
    return total;
}

TOOL_FN double composed_sigma(session *s, const char *word, bool optimal, uint64_t k, double eps,
                              double delta)
{
    double lo = 0, hi = 0;
    check_word(s, word, mcamp_gauss_sigma(&s->ctx, 1, eps, delta, &lo));
    for (hi = lo; composed_eps(s, word, optimal, hi, k, delta) > eps; hi *= 2)
        if (hi > 1e9) failed("%s: no sigma suffices", word);
    for (int i = 0; i < 60 && hi - lo > 1e-9 * hi; i++) {
        double mid = 0.5 * (lo + hi);
        if (composed_eps(s, word, optimal, mid, k, delta) > eps) lo = mid; else hi = mid;
    }
    return hi;
}

TOOL_FN void formula_compose(session *s, const char *word, const double *x)
{
    double eps = formula_need(s, word, O_EPS), delta = formula_need(s, word, O_DELTA), sigma = 0;
    uint64_t k = (uint64_t)x[0];
    mcamp_event e;
    double got = 0, order;
    formula_line(s, word, "advanced composition", MCAMP_ASK_SIGMA,
                 composed_sigma(s, word, false, k, eps, delta));
    formula_line(s, word, "optimal composition", MCAMP_ASK_SIGMA,
                 composed_sigma(s, word, true, k, eps, delta));
    check_word(s, word, mcamp_gauss_sigma(&s->ctx, sqrt(x[0]), eps, delta, &sigma));
    memset(&e, 0, sizeof e);
    e.kind = MCAMP_EVENT_GAUSSIAN;
    e.count = k;
    for (double lo = sigma, hi = 8 * sigma; hi - lo > 1e-9 * hi; ) {
        e.sigma = 0.5 * (lo + hi);
        check_word(s, word, mcamp_exact_rdp_epsilon(&s->ctx, &e, 1, NULL, 0, delta, &got, &order));
        if (got > eps) lo = e.sigma; else hi = e.sigma;
        if (hi - lo <= 1e-9 * hi) formula_line(s, word, "Renyi divergences", MCAMP_ASK_SIGMA, hi);
    }
    formula_line(s, word, "exactly", MCAMP_ASK_SIGMA, sigma);
}

TOOL_FN void formula_zcdp(session *s, const char *word, double rho)
{
    double delta = formula_need(s, word, O_DELTA), eps = 0;
    check_word(s, word, mcamp_exact_zcdp_epsilon_simple(&s->ctx, rho, delta, &eps));
    formula_line(s, word, "rho + 2 sqrt(rho log(1/delta))", MCAMP_ASK_EPS, eps);
    check_word(s, word, mcamp_exact_zcdp_epsilon(&s->ctx, rho, delta, &eps));
    formula_line(s, word, "through every Renyi order", MCAMP_ASK_EPS, eps);
    check_word(s, word, mcamp_gauss_epsilon(&s->ctx, 1, sqrt(2 * rho), delta, &eps));
    formula_line(s, word, "if it is a Gaussian mechanism", MCAMP_ASK_EPS, eps);
}

TOOL_FN void formula_rdp(session *s, const char *word, const char *events)
{
    double delta = formula_need(s, word, O_DELTA), eps = 0, order = 0;
    mcamp_interval v;
    event_list l;
    parse_events(events, &l);
    if (l.unknown) bad_use("\"%s\": no \"?\" here", word);
    check_word(s, word, mcamp_exact_rdp_epsilon(&s->ctx, l.event, l.n, NULL, 0, delta, &eps,
                                                &order));
    formula_line(s, word, "Renyi divergence of the best order", MCAMP_ASK_EPS, eps);
    check_word(s, word, mcamp_exact_epsilon(&s->ctx, l.event, l.n, NULL, delta, &v, NULL));
    formula_line(s, word, "certain interval's upper end", MCAMP_ASK_EPS, v.upper);
    event_list_free(&l);
}

/* x: eps, delta, k */
TOOL_FN void formula_three(session *s, const char *word, char which, const double *x)
{
    double eps = 0, delta = 0;
    uint64_t k = (uint64_t)x[2];
    if (which == 'g' || which == 's') {
        double one = which == 'g' ? x[0] : x[0] / x[2], d = x[1];
        if (which == 's') d = x[1] * expm1(one) / expm1(x[0]) * (1 - 1e-14);
        check_word(s, word, mcamp_exact_group_convert(&s->ctx, one, d, k, &eps, &delta));
        formula_number(s, word, which == 'g' ? "of the group" : "of one example", MCAMP_ASK_EPS,
                       which == 's', which == 'g' ? eps : one);
        formula_number(s, word, which == 'g' ? "of the group" : "of one example", MCAMP_ASK_DELTA,
                       which == 's', which == 'g' ? delta : d);
        return;
    }
    delta = formula_need(s, word, O_DELTA);
    if (which == 'a') {
        if (!(delta > x[1] * x[2])) bad_use("\"%s\": --delta must exceed K DELTA", word);
        check_word(s, word, mcamp_exact_compose_advanced(&s->ctx, x[0], x[2], delta - x[1] * x[2],
                                                         &eps));
        formula_line(s, word, "advanced composition", MCAMP_ASK_EPS, eps);
    } else {
        check_word(s, word, mcamp_exact_compose_optimal(&s->ctx, x[0], x[1], k, delta, &eps));
        formula_line(s, word, "optimal composition", MCAMP_ASK_EPS, eps);
    }
}

/* The `want` numbers after a name; the last is a whole one from 1 on. */
TOOL_FN void formula_numbers(const char *word, const char *text, int want, bool count, double *x)
{
    for (int i = 0; i < want; i++) {
        char *end;
        x[i] = strtod(text, &end);
        if (end == text || !(x[i] >= 0 && x[i] <= 1e300) || *end != (i + 1 < want ? ',' : '\0'))
            bad_use("\"%s\" wants %d number%s after the colon", word, want, want > 1 ? "s" : "");
        text = end + 1;
    }
    if (count && (!(x[want - 1] >= 1 && x[want - 1] <= 1e9) || x[want - 1] > floor(x[want - 1])))
        bad_use("\"%s\": K is a whole number from 1 on", word);
}

TOOL_FN void formula_word(session *s, const char *word)
{
    double x[3] = { 0, 0, 0 };
    const char *rest = strchr(word, ':');
    size_t n = rest ? (size_t)(rest - word) : strlen(word), i = 0;
    while (i < NFORMULA && (strlen(FORMULAS[i].name) != n || memcmp(FORMULAS[i].name, word, n)))
        i++;
    if (i == NFORMULA) bad_use("\"%s\": no such formula (mcamp formula --help lists them)", word);
    if ((i == 0) != !rest) bad_use("\"%s\" is %s%s", word, FORMULAS[i].name, FORMULAS[i].usage);
    if (i == 0) { formula_classical(s, word); return; }
    rest++;
    if (i == 5) { formula_rdp(s, word, rest); return; }
    formula_numbers(word, rest, i == 1 || i == 4 ? 1 : 3, i != 4, x);
    if (i == 1) formula_compose(s, word, x);
    else if (i == 4) formula_zcdp(s, word, x[0]);
    else formula_three(s, word, word[0], x);
}

TOOL_FN int run_formula(session *s)
{
    if (!s->words.n) bad_use("which formula? such as \"mcamp formula zcdp:0.5 --delta 1e-6\"");
    for (size_t k = 0; k < s->words.n; k++) formula_word(s, s->words.word[k]);
    progress_end(&s->progress);
    return 0;
}

/* ---- the sensitivity of a C ---------------------------------------------------------- */

/* |C x| for one example: in the same round of each epoch; in any, a cycle apart; once. */
TOOL_FN int run_sensitivity(session *s)
{
    size_t epochs = (s->rounds - 1) / s->batches + 1;
    static const char *const name[] = { "every B rounds", "at least B rounds apart",
                                        "in one round: the largest column norm" };
    mcamp_sens v[3];
    json j;
    check(s, mcamp_sens_fixed(&s->ctx, &s->mech, epochs, s->batches, &v[0]));
    check(s, mcamp_sens_minsep(&s->ctx, &s->mech, epochs, s->batches, &v[1]));
    v[2].value = s->column_norm;
    v[2].exact = true;
    s->seconds = progress_end(&s->progress);
    for (int i = 0; i < 3; i++) {
        char number[40];
        exact_text(v[i].value, number, sizeof number);
        if (!s->opt[O_JSON].given) {
            printf("  %-40s %s%s\n", name[i], number, v[i].exact ? "" : " at most");
            continue;
        }
        json_begin(s, &j, stdout);
        json_text(&j, "participation", name[i]);
        json_key(&j, "norm");
        fputs(number, stdout);
        json_text(&j, "kind", v[i].exact ? "exact" : "upper bound");
        json_close(&j);
    }
    return 0;
}

#endif
