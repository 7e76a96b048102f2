#!/usr/bin/env python3
"""Writes tests/vectors/*.txt from a list of reference cases (JSON).

    python3 tests/gen/vectors.py cases.json tests/vectors

The cases come from implementations that share no code with mcamp.h, and by
other methods; the column layouts are documented in tests/vectors/README.md.
Not needed to run the tests.  Standard library only.
"""
import json
import math
import os
import sys

# Every strategy that occurs, as FAMILY[:PARAMETERS] and a normalisation.
BLT2 = "blt:0.7:0.3,0.98:0.1"
BLT3 = "blt:0.5:0.25,0.9:0.12,0.99:0.05"
T4 = "toeplitz:1,0.5,0.25,0.125"
STRATEGY = {
    "sq8b1": ("sqrt:0", "raw"), "sq8b2": ("sqrt:0", "raw"),
    "ones4b2": ("ones", "raw"), "nt6b3": ("rational:6", "raw"),
    "t4": (T4, "unit"), "t4b2": (T4, "unit"), "t4b100": (T4, "unit"),
    "t4cn": (T4, "columns"),
    "sq16x64b4": ("sqrt:16", "raw"), "sq16x64b8": ("sqrt:16", "raw"),
    "sq64": ("sqrt:64", "raw"), "sqfull": ("sqrt:0", "raw"),
    "blt2": (BLT2, "raw"),
    "t4_12": (T4, "raw"), "t4cn_12": (T4, "columns"),
    "nt4_12": ("rational:4", "raw"), "sq_12": ("sqrt:0", "raw"),
    "blt_12": (BLT2, "raw"), "ones_9": ("ones", "raw"),
    "neg_10": ("neg", "raw"), "negbase": ("isqrt", "raw"),
    "I": ("identity", "raw"),
    "sqrt Toeplitz unbanded": ("sqrt:0", "raw"),
    "sqrt Toeplitz first 4 coefs": ("sqrt:4", "raw"),
    "sqrt Toeplitz first 16 coefs": ("sqrt:16", "raw"),
    "sqrt Toeplitz first 64 coefs": ("sqrt:64", "raw"),
    "Toeplitz [1,.5,.25,.125]/norm": (T4, "unit"),
    "BLT omega (.3,.1) theta (.7,.98)": (BLT2, "raw"),
    "BLT omega (.25,.12,.05) theta (.5,.9,.99)": (BLT3, "raw"),
}


def num(x):
    """The shortest text that strtod reads back as the same double."""
    if isinstance(x, str):
        x = math.sqrt(float(x[5:-1])) if x.startswith("sqrt(") else float(x)
    return repr(float(x))


def value(case):
    return case.get("value_str") or num(case["value"])


def rel(case):
    if "rel_err" in case:
        return num(max(case["rel_err"], 2.3e-16))
    return num(case["abs_err"] / abs(case["value"]))


def kind_of(case):
    return case["quantity"].split(" ")[0]


def gaussian(case):
    s, q = case["setting"], case["quantity"]
    t = {k: num(s[k]) for k in ("sigma", "eps", "delta") if k in s}
    t[q] = value(case)
    return [[case["id"], num(s["sensitivity"]), t["sigma"], t["eps"],
             t["delta"], q, rel(case)]]


def zcdp(case):
    s = case["setting"]
    how = "simple" if "bunsteinke" in case["id"] else "tight"
    return [[case["id"], num(s["rho"]), num(s["delta"]), value(case), how,
             rel(case)]]


def solved(s, q, v):
    """sigma, eps, delta with the one that was solved for filled in."""
    t = {k: num(s[k]) for k in ("sigma", "eps", "delta") if k in s}
    t[q] = v
    return [t["sigma"], t["eps"], t["delta"]]


def bib_identity(case):
    s, q = case["setting"], kind_of(case)
    return [[case["id"], s["b"], s["E"]] + solved(s, q, value(case)) +
            [s.get("direction", "max"), q, rel(case)]]


def bib_corr(case):
    s, q = case["setting"], kind_of(case)
    err = case.get("abs_err", case.get("rel_err", 0) * abs(case["value"]))
    exact = "mc" if case["method"].startswith("conditional MC") else "exact"
    direction = s.get("direction", "max").replace("both (equal)", "max")
    return [[case["id"], *STRATEGY[s["matrix"]], s["n"], s["b"], s["E"]] +
            solved(s, q, value(case)) + [direction, q, exact, num(err)]]


def bib_gram(case):
    s = case["setting"]
    return [[case["id"], *STRATEGY[s["matrix"]], s["n"], s["b"], s["E"]] +
            [num(v) for v in case["value"]] + [rel(case)]]


def by_direction(case, q, row):
    """One row for the worse direction and one for each that is known."""
    rows = [row("max", value(case))]
    for d in ("remove", "add"):
        if "%s_%s" % (q, d) in case:
            rows.append(row(d, num(case["%s_%s" % (q, d)])))
    return rows


def dpsgd_poisson(case):
    s, q = case["setting"], kind_of(case)
    return by_direction(case, q, lambda d, v: [
        case["id"], num(s["q"]), s["n_compositions"]] + solved(s, q, v) +
        [d, q, rel(case)])


def group_mog(case):
    s, q = dict(case["setting"]), kind_of(case)
    pairs = ",".join("%s:%s" % (num(c), num(p))
                     for c, p in zip(s["sensitivities"], s["probs"]))
    return by_direction(case, q, lambda d, v: [
        case["id"], s["scheme"], s["n"], num(s["q"]), s["group_size"],
        s.get("dataset_size", 0), s.get("batch", 0)] + solved(s, q, v) +
        [d, q, rel(case), pairs])


def rdp(case):
    s = case["setting"]
    return [[case["id"], num(s["q"]), num(s["sigma"]), num(s["alpha"]),
             value(case), rel(case)]]


def rdp_eps(case):
    s = case["setting"]
    return [[case["id"], num(s["q"]), s["n"], num(s["sigma"]), num(s["delta"]),
             ",".join(num(a) for a in s["orders"]), num(case["opt_order"]),
             value(case), rel(case)]]


def sensitivity(case):
    s = case["setting"]
    return [[case["id"], *STRATEGY[s["matrix"]], s["n"], s["b"], s["k"],
             case["id"].split(".")[1], value(case), rel(case),
             num(case.get("signed_exact_scalar") or -1)]]


def vecsens(case):
    s = case["setting"]
    return [[case["id"], s["b"], s["k"], ",".join(num(v) for v in s["v"]),
             value(case), rel(case)]]


def rmse_strategy(case):
    s, name = case["setting"], case["setting"].get("C", "")
    if "tree" in case["id"]:
        return "tree:" + ("pad" if "pad" in case["id"] else "complete"), "raw"
    if name.startswith("optimal, diag X=1, full"):
        return "optimal:0", "columns"
    if "bands" in s:
        return "optimal:%d" % s["bands"], "columns"
    return STRATEGY[name]


def rmse(case):
    s, q = case["setting"], case["quantity"]
    strategy, norm = rmse_strategy(case)
    what = "max" if q.startswith("max row") else "rmse"
    if "sens" in q or "sqrt(6)" in q:
        what = "sens_rmse"
    head = [case["id"], strategy, norm, s["n"], s.get("k", 1), s.get("b", s["n"])]
    rows = [head + [what, value(case), rel(case)]]
    for key, name in (("max_err", "max"), ("sens_k1", "sens"), ("sens", "sens")):
        if key in case:
            rows.append(head + [name, num(case[key]), rel(case)])
    return rows


WRITERS = [
    ("gaussian", gaussian, "id sensitivity sigma eps delta solved rel_err"),
    ("zcdp", zcdp, "id rho delta eps conversion rel_err"),
    ("bib_identity", bib_identity,
     "id b E sigma eps delta direction solved rel_err"),
    ("bib_corr", bib_corr, "id strategy norm n b E sigma eps delta direction "
     "solved method abs_err"),
    ("bib_gram", bib_gram, "id strategy norm n b E norm_first norm_last "
     "norm_max g01 sum rel_err"),
    ("dpsgd_poisson", dpsgd_poisson,
     "id q steps sigma eps delta direction solved rel_err"),
    ("group_mog", group_mog, "id scheme steps q group dataset batch sigma eps "
     "delta direction solved rel_err sensitivity:probability,..."),
    ("rdp", rdp, "id q sigma alpha rdp rel_err"),
    ("rdp_eps", rdp_eps,
     "id q steps sigma delta orders best_order eps rel_err"),
    ("sensitivity", sensitivity,
     "id strategy norm n b k what value rel_err signed"),
    ("vecsens", vecsens, "id b k v value rel_err"),
    ("rmse", rmse, "id strategy norm n k b what value rel_err"),
]


def main():
    with open(sys.argv[1]) as f:
        cases = json.load(f)
    for name, row, header in WRITERS:
        kind = {"rdp": "rdp_sgm"}.get(name, name)
        rows = [r for c in cases if c["kind"] == kind for r in row(c)]
        path = os.path.join(sys.argv[2], name + ".txt")
        with open(path, "w") as f:
            f.write("# %s\n# made by tests/gen/vectors.py; see README.md\n" % header)
            for r in rows:
                f.write(" ".join(str(x) for x in r) + "\n")
        print("%-16s %4d rows" % (name, len(rows)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
