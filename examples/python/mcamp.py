"""Differentially private training with correlated noise: mcamp.h from Python, in one file.

    import mcamp
    mcamp.sigma("sqrt:64", epochs=16, batches=128, epsilon=1, delta=1e-5).sigma   # 11.9
    proof = mcamp.certify("sqrt:64", epochs=16, batches=128, epsilon=1, delta=1e-5)
    print(proof)                          # what exactly was proved
    open("run.txt", "w").write(proof.record)

Needs Python 3.8, a C compiler (CC, cc) and mcamp.h: beside this file, two folders up, in
$MCAMP_HEADER or where `make install` puts it.  The first import compiles it, once, to
$MCAMP_CACHE or ~/.cache/mcamp.  $MCAMP_LIBRARY names a library that is there already,
$MCAMP_CFLAGS (-O2) how to compile.  Arrays are NumPy's, array.array's or bytearrays.

Answers are objects of class Guarantee: numbers, words, JSON and record of one C object.
"""
import ctypes as _c
import hashlib as _hashlib
import json as _json
import os as _os
import platform as _platform
import shlex as _shlex
import shutil as _shutil
import subprocess as _subprocess
import sys as _sys
import tempfile as _tempfile
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

__all__ = ["Error", "Event", "Guarantee", "Noise", "Training", "account", "bins", "certify",
           "delta", "epsilon", "gaussian", "laplace", "new_key", "plan", "poisson", "read",
           "repeat", "sigma", "verify", "version"]

# Flat functions, so that nothing here has to know how a C struct is laid out.
_SHIM = r"""
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "mcamp.h"
#if defined(_WIN32)
#  define OUT __declspec(dllexport)
#else
#  define OUT __attribute__((visibility("default")))
#endif

typedef struct text { char *p; size_t n, room; } text;

static int put(void *user, const char *s, size_t n)
{
    text *t = (text *)user;
    if (t->n + n + 1 > t->room) {
        size_t room = 2 * (t->n + n + 1);
        char *p = (char *)realloc(t->p, room);
        if (!p) return 1;
        t->p = p; t->room = room;
    }
    memcpy(t->p + t->n, s, n);
    t->p[t->n += n] = 0;
    return 0;
}

static int failed(mcamp_ctx *c, int st, char **words)
{
    text t = { NULL, 0, 0 };
    const mcamp_error e = mcamp_last_error(c);
    put(&t, mcamp_strerror((mcamp_status)st), strlen(mcamp_strerror((mcamp_status)st)));
    if (e.argument) { put(&t, ": ", 2); put(&t, e.argument, strlen(e.argument)); }
    *words = t.p;
    return st;
}

/* json, text, record of a guarantee; record empty where there is none. */
static int tell(mcamp_ctx *c, int st, const mcamp_guarantee *g, const mcamp_mech *m, char **out)
{
    text t[3] = { { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 } };
    mcamp_writer w = { put, NULL };
    mcamp_status s;
    w.user = &t[0]; s = mcamp_report_guarantee(g, MCAMP_REPORT_JSON, &w);
    w.user = &t[1]; if (s >= 0) s = mcamp_report_guarantee(g, MCAMP_REPORT_TEXT, &w);
    w.user = &t[2]; if (s >= 0 && m && g->accepted) s = mcamp_record_write(g, m, &w);
    for (int i = 0; i < 3; i++) out[i] = t[i].p;
    return s < 0 ? failed(c, s, out) : st;
}

/* In the order in which Python counts them. */
static const mcamp_mech_kind kinds[] = { MCAMP_MECH_UNSET, MCAMP_MECH_IDENTITY,
    MCAMP_MECH_TOEPLITZ, MCAMP_MECH_SQRT, MCAMP_MECH_BLT };
static const mcamp_event_kind events[] = { MCAMP_EVENT_GAUSSIAN, MCAMP_EVENT_LAPLACE,
    MCAMP_EVENT_POISSON, MCAMP_EVENT_BINS };

OUT void mcampy_free(void *p) { free(p); }
OUT const char *mcampy_version(void) { return MCAMP_VERSION_TEXT; }

/* whole: kind, bands, normalize, rounds, batches, epochs, seed. */
static mcamp_mech_desc strategy(const int64_t *whole, const double *coef, size_t n,
                                const double *theta, const double *omega, size_t buffers)
{
    mcamp_mech_desc d;
    memset(&d, 0, sizeof d);
    d.kind = kinds[whole[0]];
    d.bands = (size_t)whole[1];
    d.normalize = whole[2] != 0;
    d.coef = coef; d.count = n;
    d.theta = theta; d.omega = omega; d.buffers = buffers;
    return d;
}

OUT int mcampy_ask(int what, const int64_t *whole, double eps, double delta, double sigma,
                   const double *coef, size_t n, const double *theta, const double *omega,
                   size_t buffers, char **out)
{
    mcamp_ctx c;
    mcamp_problem p;
    mcamp_answer a;
    mcamp_guarantee g;
    mcamp_mech m;
    mcamp_status st = mcamp_ctx_init(&c, NULL), made;
    memset(&p, 0, sizeof p);
    p.strategy = strategy(whole, coef, n, theta, omega, buffers);
    p.rounds = (size_t)whole[3]; p.batches = (size_t)whole[4]; p.epochs = (size_t)whole[5];
    p.budget.seed = (uint64_t)whole[6];
    p.eps = eps; p.delta = delta; p.sigma = sigma;
    if (st < 0) return failed(&c, st, out);
    if (what < 3) {
        st = what == 0 ? mcamp_problem_sigma(&c, &p, &a)
           : what == 1 ? mcamp_problem_epsilon(&c, &p, &a) : mcamp_problem_delta(&c, &p, &a);
        if (st >= 0 && (made = mcamp_guarantee_answer(&a, &g)) < 0) st = made;
        return st < 0 ? failed(&c, st, out) : tell(&c, st, &g, NULL, out);
    }
    st = what == 3 ? mcamp_problem_verify(&c, &p, &g) : mcamp_problem_certify(&c, &p, &g);
    if (st < 0) return failed(&c, st, out);
    p.strategy.n = (size_t)g.rounds;
    if ((made = mcamp_mech_init(&c, &p.strategy, &m)) < 0) return failed(&c, made, out);
    st = (mcamp_status)tell(&c, st, &g, &m, out);
    mcamp_mech_free(&c, &m);
    return st;
}

/* out[3]: the whole table, as JSON. */
OUT int mcampy_plan(const int64_t *whole, double eps, double delta, int sampling, size_t memory,
                    char **out)
{
    mcamp_ctx c;
    mcamp_plan_desc d;
    mcamp_plan_result r;
    mcamp_mech m;
    text t = { NULL, 0, 0 };
    mcamp_writer w = { put, NULL };
    mcamp_status st = mcamp_ctx_init(&c, NULL);
    memset(&d, 0, sizeof d);
    d.rounds = (size_t)whole[3]; d.batches = (size_t)whole[4]; d.epochs = (size_t)whole[5];
    d.budget.seed = (uint64_t)whole[6];
    d.eps = eps; d.delta = delta; d.memory = memory;
    d.sampling = (sampling & 1 ? MCAMP_PLAN_BINS : 0) | (sampling & 2 ? MCAMP_PLAN_POISSON : 0);
    if (st >= 0) st = mcamp_plan(&c, &d, &m, &r);
    if (st < 0) return failed(&c, st, out);
    st = (mcamp_status)tell(&c, st, &r.guarantee, &m, out);
    w.user = &t;
    if (st >= 0) mcamp_report_plan(&r, &m, MCAMP_REPORT_JSON, &w);
    out[3] = t.p;
    mcamp_mech_free(&c, &m);
    return st;
}

/* An event is 6 numbers: kind, count, sigma, q, bins, rounds; delta > 0 asks for eps. */
OUT int mcampy_account(const double *x, size_t n, double eps, double delta, char **out)
{
    mcamp_ctx c;
    mcamp_event *e = (mcamp_event *)calloc(n ? n : 1, sizeof *e);
    mcamp_exact_info info;
    mcamp_interval v = { 0, 0 };
    mcamp_guarantee g;
    int ask_eps = delta > 0;
    mcamp_status st = mcamp_ctx_init(&c, NULL);
    if (!e) return failed(&c, MCAMP_E_MEMORY, out);
    memset(&info, 0, sizeof info);
    for (size_t i = 0; i < n; i++, x += 6) {
        e[i].kind = events[(int)x[0]];
        e[i].count = (uint64_t)x[1];
        e[i].sigma = x[2]; e[i].q = x[3];
        e[i].bins = (uint64_t)x[4]; e[i].rounds = (uint64_t)x[5];
    }
    if (st >= 0) st = ask_eps ? mcamp_exact_epsilon(&c, e, n, NULL, delta, &v, &info)
                              : mcamp_exact_delta(&c, e, n, NULL, eps, &v, &info);
    free(e);
    if (st >= 0)
        st = mcamp_guarantee_interval(ask_eps ? MCAMP_ASK_EPS : MCAMP_ASK_DELTA, MCAMP_BOTH, v,
                                      v.upper, eps, delta, info.beta, &g);
    return st < 0 ? failed(&c, st, out) : tell(&c, st, &g, NULL, out);
}

/* Of a record: the guarantee as it stands, or proved once more. */
OUT int mcampy_record(const char *s, size_t n, int again, char **out)
{
    mcamp_ctx c;
    mcamp_mech m;
    mcamp_guarantee g, h;
    mcamp_status st = mcamp_ctx_init(&c, NULL);
    if (st >= 0) st = mcamp_record_read(&c, s, n, &m, &g);
    if (st < 0) return failed(&c, st, out);
    if (again && (st = mcamp_guarantee_repeat(&c, &m, &g, &h)) >= 0) g = h;
    st = (mcamp_status)(st < 0 ? failed(&c, st, out) : tell(&c, st, &g, &m, out));
    mcamp_mech_free(&c, &m);
    return st;
}

/* ---- noise ---- */
typedef struct noise { mcamp_ctx c; mcamp_mech m; mcamp_noise z; } noise;

OUT void mcampy_noise_close(noise *h)
{
    if (!h) return;
    mcamp_noise_free(&h->c, &h->z);
    mcamp_mech_free(&h->c, &h->m);
    free(h);
}

OUT int mcampy_noise_open(const int64_t *whole, double sigma, double clip, double batch,
                          const double *coef, size_t n, const double *theta, const double *omega,
                          size_t buffers, uint64_t dim, int single, const unsigned char *key,
                          noise **h, char **out)
{
    noise *q = (noise *)calloc(1, sizeof *q);
    mcamp_mech_desc m = strategy(whole, coef, n, theta, omega, buffers);
    mcamp_noise_desc d;
    mcamp_status st;
    if (!q) return MCAMP_E_MEMORY;
    memset(&d, 0, sizeof d);
    m.n = (size_t)whole[3];
    d.mech = &q->m; d.sigma = sigma; d.clip_norm = clip; d.batch = batch; d.dim = dim;
    d.unit = batch > 0 ? MCAMP_NOISE_MEAN : MCAMP_NOISE_SUM;
    d.type = single ? MCAMP_NOISE_FLOAT : MCAMP_NOISE_DOUBLE;
    st = mcamp_ctx_init(&q->c, NULL);
    if (st >= 0) st = mcamp_mech_init(&q->c, &m, &q->m);
    if (st >= 0) st = mcamp_key_init(&q->c, key, 32, &d.key);
    if (st >= 0) st = mcamp_noise_init(&q->c, &d, &q->z);
    mcamp_key_wipe(&d.key);
    if (st >= 0) { *h = q; return st; }
    failed(&q->c, st, out);
    mcampy_noise_close(q);
    return st;
}

OUT int mcampy_noise_next(noise *h, double *d, float *f, int add, char **out)
{
    mcamp_noise_out o;
    mcamp_status st;
    memset(&o, 0, sizeof o);
    o.d = d; o.f = f; o.add = add != 0;
    st = mcamp_noise_next(&h->c, &h->z, mcamp_noise_step(&h->z), h->z.count, &o);
    return st < 0 ? failed(&h->c, st, out) : st;
}

OUT uint64_t mcampy_noise_step(const noise *h) { return mcamp_noise_step(&h->z); }

OUT int mcampy_noise_save(noise *h, void *p, size_t room, size_t *n, char **out)
{
    mcamp_status st = mcamp_noise_save(&h->c, &h->z, p, room, n);
    return st < 0 ? failed(&h->c, st, out) : st;
}

OUT int mcampy_noise_load(noise *h, const void *p, size_t n, char **out)
{
    mcamp_status st = mcamp_noise_load(&h->c, &h->z, p, n);
    return st < 0 ? failed(&h->c, st, out) : st;
}

/* ---- training ---- */
typedef struct run { mcamp_ctx c; mcamp_train t; } run;

OUT void mcampy_train_close(run *h)
{
    if (!h) return;
    mcamp_train_free(&h->c, &h->t);
    free(h);
}

OUT int mcampy_train_open(const char *record, size_t n, uint64_t examples, size_t dim, double clip,
                          int sum, uint64_t number, const unsigned char *key, run **h, char **out)
{
    run *q = (run *)calloc(1, sizeof *q);
    mcamp_train_desc d;
    mcamp_status st;
    if (!q) return MCAMP_E_MEMORY;
    memset(&d, 0, sizeof d);
    d.record = record; d.record_size = n; d.examples = examples; d.dim = dim; d.clip_norm = clip;
    d.run = number; d.unit = sum ? MCAMP_NOISE_SUM : MCAMP_NOISE_MEAN;
    st = mcamp_ctx_init(&q->c, NULL);
    if (st >= 0) st = mcamp_key_init(&q->c, key, 32, &d.key);
    if (st >= 0) st = mcamp_train_init(&q->c, &d, &q->t);
    mcamp_key_wipe(&d.key);
    if (st >= 0) { *h = q; return st; }
    failed(&q->c, st, out);
    mcampy_train_close(q);
    return st;
}

OUT uint64_t mcampy_train_round(const run *h) { return h->t.session.round; }
OUT uint64_t mcampy_train_rounds(const run *h) { return h->t.guarantee.rounds; }

OUT int mcampy_train_begin(run *h, const size_t **who, size_t *count, char **out)
{
    mcamp_status st = mcamp_train_begin(&h->c, &h->t, who, count);
    return st < 0 ? failed(&h->c, st, out) : st;
}

OUT int mcampy_train_add(run *h, uint64_t example, const double *d, const float *f, char **out)
{
    mcamp_tensor g;
    mcamp_status st;
    g.f = f; g.d = d; g.n = h->t.dim;
    st = mcamp_session_add(&h->c, &h->t.session, example, &g, 1);
    return st < 0 ? failed(&h->c, st, out) : st;
}

OUT int mcampy_train_end(run *h, double *d, float *f, char **out)
{
    mcamp_status st = f ? mcamp_session_end_float(&h->c, &h->t.session, f)
                        : mcamp_session_end(&h->c, &h->t.session, d);
    return st < 0 ? failed(&h->c, st, out) : st;
}

OUT int mcampy_train_save(run *h, void *p, size_t room, size_t *n, char **out)
{
    mcamp_status st = mcamp_session_save(&h->c, &h->t.session, p, room, n);
    return st < 0 ? failed(&h->c, st, out) : st;
}

OUT int mcampy_train_load(run *h, const void *p, size_t n, char **out)
{
    mcamp_status st = mcamp_session_load(&h->c, &h->t.session, p, n);
    return st < 0 ? failed(&h->c, st, out) : st;
}

OUT int mcampy_train_statement(run *h, char **out)
{
    text t = { NULL, 0, 0 };
    mcamp_writer w = { put, NULL };
    mcamp_status st;
    w.user = &t;
    st = mcamp_report_session(&h->t.session, MCAMP_REPORT_LEGAL, &w);
    *out = t.p;
    return st < 0 ? failed(&h->c, st, out) : st;
}
"""


class Error(Exception):
    """What the library refused: its words, with the name of the argument; `status` < 0."""

    def __init__(self, words: str, status: int) -> None:
        super().__init__(words)
        self.status = status


# ---- the library ------------------------------------------------------------------

def _header() -> str:
    here = _os.path.dirname(_os.path.abspath(__file__))
    tried = [_os.environ.get("MCAMP_HEADER", ""), _os.path.join(here, "mcamp.h"),
             _os.path.join(here, "..", "..", "mcamp.h")]
    tried += [_os.path.join(p, "include", "mcamp.h") for p in (_sys.prefix, "/usr/local", "/usr")]
    for path in tried:
        if path and _os.path.isfile(path):
            return _os.path.abspath(path)
    raise ImportError("mcamp.h was not found: set MCAMP_HEADER to its path")


def _cache() -> str:
    """A folder of this user alone: what lies there is run."""
    base = _os.environ.get("MCAMP_CACHE") or _os.path.join(
        _os.environ.get("XDG_CACHE_HOME") or _os.path.expanduser("~/.cache"), "mcamp")
    _os.makedirs(base, mode=0o700, exist_ok=True)
    stat = _os.stat(base)
    if hasattr(_os, "getuid") and (stat.st_uid != _os.getuid() or stat.st_mode & 0o022):
        raise ImportError("mcamp: others can write to %s: set MCAMP_CACHE" % base)
    return base


def _compile() -> str:
    header = _header()
    cc = _shlex.split(_os.environ.get("CC") or "cc")
    if not _shutil.which(cc[0]):
        raise ImportError("mcamp: no C compiler \"%s\": set CC, or MCAMP_LIBRARY" % cc[0])
    flags = _shlex.split(_os.environ.get("MCAMP_CFLAGS", "-O2"))
    flags += ["-std=c99", "-fPIC", "-shared", "-fvisibility=hidden"]
    with open(header, "rb") as f:
        parts = [f.read(), _SHIM.encode(), " ".join(cc + flags).encode(),
                 (_sys.platform + _platform.machine()).encode()]
    name = _hashlib.sha256(b"".join(_hashlib.sha256(p).digest() for p in parts)).hexdigest()
    path = _os.path.join(_cache(), "libmcamp-%s.so" % name[:32])
    if _os.path.isfile(path):
        return path
    with _tempfile.TemporaryDirectory(dir=_cache()) as work:    # whole, or not there at all
        source, made = _os.path.join(work, "shim.c"), _os.path.join(work, "lib.so")
        with open(source, "w") as f:
            f.write(_SHIM)
        done = _subprocess.run(cc + flags + ["-I", _os.path.dirname(header), "-o", made, source,
                                             "-lm"], stdout=_subprocess.PIPE,
                               stderr=_subprocess.STDOUT, universal_newlines=True)
        if done.returncode:
            raise ImportError("mcamp: the compiler failed:\n" + done.stdout[-2000:])
        _os.replace(made, path)
    return path


def _load() -> _c.CDLL:
    lib = _c.CDLL(_os.environ.get("MCAMP_LIBRARY") or _compile())
    i, z, u, d, p, s = _c.c_int, _c.c_size_t, _c.c_uint64, _c.c_double, _c.c_void_p, _c.c_char_p
    mech = [p, z, p, p, z]                          # coef, theta and omega with their counts
    for name, result, arguments in (
            ("free", None, [p]), ("version", s, []), ("ask", i, [i, p, d, d, d] + mech + [p]),
            ("plan", i, [p, d, d, i, z, p]), ("account", i, [p, z, d, d, p]),
            ("record", i, [s, z, i, p]),
            ("noise_open", i, [p, d, d, d] + mech + [u, i, s, p, p]),
            ("noise_close", None, [p]), ("noise_step", u, [p]),
            ("noise_next", i, [p, p, p, i, p]), ("noise_save", i, [p, p, z, p, p]),
            ("noise_load", i, [p, s, z, p]),
            ("train_open", i, [s, z, u, z, d, i, u, s, p, p]), ("train_close", None, [p]),
            ("train_round", u, [p]), ("train_rounds", u, [p]), ("train_begin", i, [p, p, p, p]),
            ("train_add", i, [p, u, p, p, p]), ("train_end", i, [p, p, p, p]),
            ("train_save", i, [p, p, z, p, p]), ("train_load", i, [p, s, z, p]),
            ("train_statement", i, [p, p])):
        fn = getattr(lib, "mcampy_" + name)
        fn.restype, fn.argtypes = result, arguments
    return lib


_lib = _load()


class _Texts:
    """Strings that the library hands over."""

    def __init__(self) -> None:
        self.raw = (_c.c_void_p * 4)()

    def take(self, status: int) -> List[str]:
        words = [_c.string_at(p).decode() if p else "" for p in self.raw]
        for p in self.raw:
            _lib.mcampy_free(p)
        if status < 0:
            raise Error(words[0] or "out of memory", status)
        return words


# ---- answers -------------------------------------------------------------------------

def _number(x: Optional[float]) -> float:
    return float("nan") if x is None else float(x)      # JSON has no infinities


class Guarantee:
    """What is known, and how well.  str() says it in words; bool() whether it was accepted."""

    def __init__(self, words: Sequence[str]) -> None:
        self.json: dict = _json.loads(words[0])     # every field
        self.text: str = words[1]
        self.record: str = words[2]                 # to start a run from; "" for estimates

    sigma = property(lambda self: _number(self.json["sigma"]), doc="noise multiplier; 0: none")
    epsilon = property(lambda self: _number(self.json["epsilon"]))
    delta = property(lambda self: _number(self.json["delta"]))
    kind = property(lambda self: str(self.json["kind"]), doc="estimate, verified claim, ...")
    accepted = property(lambda self: bool(self.json["accepted"]), doc="proved, not estimated")
    stderr = property(lambda self: float(self.json["stderr"]), doc="of an estimate")
    lower = property(lambda self: _number(self.json["lower"]), doc="of what \"bounds\" names")
    upper = property(lambda self: _number(self.json["upper"]), doc="of what \"bounds\" names")

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return self.accepted

    def __repr__(self) -> str:
        proved = "" if self.accepted else ", not proved"
        return "<mcamp.Guarantee %s: sigma %.6g, (%.6g, %.6g)-DP%s>" % (
            self.kind, self.sigma, self.epsilon, self.delta, proved)


class Plan(NamedTuple):
    """The guarantee of the chosen C, and a dict with everything that was tried."""
    guarantee: Guarantee
    table: dict


Numbers = Union[str, Sequence[float]]


def _doubles(x: Sequence[float]) -> Any:
    return (_c.c_double * max(1, len(x)))(*x)


class _Strategy:
    """C as the tool writes it: identity, sqrt:64, toeplitz:1,0.5, blt:0.7:0.3,0.98:0.1; or a
    sequence of the coefficients of a Toeplitz C."""

    def __init__(self, strategy: Numbers, normalize: bool) -> None:
        name, rest, coef = "toeplitz", "", []       # type: str, str, List[float]
        if isinstance(strategy, str):
            name, _, rest = strategy.partition(":")
        else:
            coef = [float(x) for x in strategy]
        pairs: List[Tuple[float, float]] = []
        self.bands = 0
        if name == "toeplitz" and isinstance(strategy, str):
            coef = [float(x) for x in rest.split(",")]
        elif name == "blt":
            pairs = [(float(a), float(b)) for a, b in (x.split(":") for x in rest.split(","))]
        elif name == "sqrt":
            self.bands = int(rest or 0)
        elif name not in ("identity", "toeplitz"):
            raise ValueError("no strategy \"%s\": identity, sqrt:BANDS, toeplitz:.., blt:.." % name)
        self.kind = {"identity": 1, "toeplitz": 2, "sqrt": 3, "blt": 4}[name]
        self.normalize = normalize
        coefs, theta, omega = _doubles(coef), _doubles([p[0] for p in pairs]), _doubles(
            [p[1] for p in pairs])
        self.arrays = (coefs if coef else None, len(coef), theta if pairs else None,
                       omega if pairs else None, len(pairs))

    def whole(self, rounds: int, batches: int, epochs: int, seed: int) -> Any:
        return (_c.c_int64 * 7)(self.kind, self.bands, self.normalize, rounds, batches, epochs,
                                seed)


def _shape(rounds: Optional[int], batches: Optional[int], epochs: Optional[int],
           examples: Optional[int], batch_size: Optional[int]) -> Tuple[int, int, int]:
    if (examples is None) != (batch_size is None):
        raise ValueError("examples and batch_size go together")
    if examples is not None and batch_size is not None:
        if batches is not None:
            raise ValueError("either batches, or examples and batch_size")
        batches = max(1, (2 * examples + batch_size) // (2 * batch_size))
    shape = (rounds or 0, batches or 0, epochs or 0)
    if min(shape) < 0:
        raise ValueError("rounds, batches and epochs are positive")
    return shape


def _ask(what: int, strategy: Numbers, eps: float, dlt: float, sgm: float, normalize: bool,
         seed: int, shape: Tuple[int, int, int]) -> Guarantee:
    c, t = _Strategy(strategy, normalize), _Texts()
    status = _lib.mcampy_ask(what, c.whole(*shape, seed), eps, dlt, sgm, *c.arrays, t.raw)
    return Guarantee(t.take(status))


def sigma(strategy: Numbers = "identity", *, epsilon: float, delta: float,
          rounds: Optional[int] = None, batches: Optional[int] = None,
          epochs: Optional[int] = None, examples: Optional[int] = None,
          batch_size: Optional[int] = None, normalize: bool = False, seed: int = 1) -> Guarantee:
    """The noise multiplier for (epsilon, delta) with balls in bins: an estimate; certify proves.

    Any two of rounds, batches (of an epoch) and epochs; examples and batch_size for batches.
    """
    return _ask(0, strategy, epsilon, delta, 0, normalize, seed,
                _shape(rounds, batches, epochs, examples, batch_size))


def epsilon(strategy: Numbers = "identity", *, sigma: float, delta: float,
            rounds: Optional[int] = None, batches: Optional[int] = None,
            epochs: Optional[int] = None, examples: Optional[int] = None,
            batch_size: Optional[int] = None, normalize: bool = False, seed: int = 1) -> Guarantee:
    """epsilon at (sigma, delta)."""
    return _ask(1, strategy, 0, delta, sigma, normalize, seed,
                _shape(rounds, batches, epochs, examples, batch_size))


def delta(strategy: Numbers = "identity", *, sigma: float, epsilon: float,
          rounds: Optional[int] = None, batches: Optional[int] = None,
          epochs: Optional[int] = None, examples: Optional[int] = None,
          batch_size: Optional[int] = None, normalize: bool = False, seed: int = 1) -> Guarantee:
    """delta at (sigma, epsilon)."""
    return _ask(2, strategy, epsilon, 0, sigma, normalize, seed,
                _shape(rounds, batches, epochs, examples, batch_size))


def verify(strategy: Numbers = "identity", *, sigma: float, epsilon: float, delta: float,
           rounds: Optional[int] = None, batches: Optional[int] = None,
           epochs: Optional[int] = None, examples: Optional[int] = None,
           batch_size: Optional[int] = None, normalize: bool = False, seed: int = 1) -> Guarantee:
    """Accepts or refuses one claim; with a level of delta, so that running only what was
    accepted keeps (epsilon, delta).  Trying seeds until one passes is no proof."""
    return _ask(3, strategy, epsilon, delta, sigma, normalize, seed,
                _shape(rounds, batches, epochs, examples, batch_size))


def certify(strategy: Numbers = "identity", *, epsilon: float, delta: float,
            rounds: Optional[int] = None, batches: Optional[int] = None,
            epochs: Optional[int] = None, examples: Optional[int] = None,
            batch_size: Optional[int] = None, normalize: bool = False, seed: int = 1) -> Guarantee:
    """A small sigma for (epsilon, delta) together with its proof and its record."""
    return _ask(4, strategy, epsilon, delta, 0, normalize, seed,
                _shape(rounds, batches, epochs, examples, batch_size))


def plan(*, epsilon: float, delta: float, rounds: Optional[int] = None,
         batches: Optional[int] = None, epochs: Optional[int] = None,
         examples: Optional[int] = None, batch_size: Optional[int] = None,
         sampling: Sequence[str] = ("bins",), memory: int = 4, seed: int = 1) -> Plan:
    """The best C for (epsilon, delta) under the kinds of sampling that you can do, of "bins" and
    "poisson" (or none), with so many noise vectors of memory; its sigma is proved."""
    flags = sum({"bins": 1, "poisson": 2}[s] for s in set(sampling))
    t = _Texts()
    whole = (_c.c_int64 * 7)(0, 0, 0, *_shape(rounds, batches, epochs, examples, batch_size), seed)
    words = t.take(_lib.mcampy_plan(whole, epsilon, delta, flags, memory, t.raw))
    return Plan(Guarantee(words), _json.loads(words[3]))


class Event(NamedTuple):
    """A mechanism that was used `count` times; made by gaussian, laplace, poisson, bins."""
    kind: int
    count: int
    sigma: float
    q: float = 0
    bins: int = 0
    epochs: int = 0


def gaussian(sigma: float, count: int = 1) -> Event:
    """The Gaussian mechanism: noise multiplier sigma."""
    return Event(0, count, sigma)


def laplace(scale: float, count: int = 1) -> Event:
    """The Laplace mechanism, for sensitivity 1."""
    return Event(1, count, scale)


def poisson(q: float, sigma: float, count: int = 1) -> Event:
    """Steps of DP-SGD on batches that hold each example with probability q."""
    return Event(2, count, sigma, q)


def bins(sigma: float, batches: int, epochs: int, count: int = 1) -> Event:
    """A run with independent noise (C = I) on balls in bins."""
    return Event(3, count, sigma, 0, batches, epochs)


def account(events: Sequence[Event], *, delta: Optional[float] = None,
            epsilon: Optional[float] = None) -> Guarantee:
    """Composition of events: epsilon at delta or delta at epsilon, with certain bounds."""
    if (delta is None) == (epsilon is None):
        raise ValueError("either delta or epsilon")
    if delta is not None and not delta > 0:
        raise ValueError("delta is above 0")
    x, t = _doubles([v for e in events for v in e]), _Texts()
    return Guarantee(t.take(_lib.mcampy_account(x, len(events), epsilon or 0, delta or 0, t.raw)))


def _record(record: str, again: int) -> Guarantee:
    raw, t = record.encode(), _Texts()
    return Guarantee(t.take(_lib.mcampy_record(raw, len(raw), again, t.raw)))


def read(record: str) -> Guarantee:
    """The guarantee in a record (of certify, of plan, of `mcamp --record`); edited: refused."""
    return _record(record, 0)


def repeat(record: str) -> Guarantee:
    """The proof once more, with the same samples."""
    return _record(record, 1)


def version() -> str:
    """Of the library."""
    return _lib.mcampy_version().decode()


# ---- noise and training ----------------------------------------------------------------

def new_key() -> bytes:
    """A secret of 32 bytes: who has it can subtract the noise.  One for each run."""
    return _os.urandom(32)


def _buffer(x: Any, count: int, write: bool) -> Tuple[Any, Any, Any]:
    """Pointers to doubles or floats, and what must live as long; a bytearray holds doubles."""
    view = memoryview(x)
    if not view.c_contiguous or (write and view.readonly):
        raise ValueError("the array is not contiguous, or read-only")
    code = view.format.lstrip("<=@") if view.itemsize > 1 else "d"
    if code not in ("d", "f"):
        raise TypeError("arrays hold float32 or float64; bytearrays the bytes of float64")
    size = 8 if code == "d" else 4
    if view.nbytes != count * size:
        raise ValueError("the array has %d numbers, not %d" % (view.nbytes // size, count))
    kind = _c.c_char * view.nbytes
    raw = kind.from_buffer_copy(view) if view.readonly else kind.from_buffer(view)
    at = _c.addressof(raw)
    if at % size:
        raise ValueError("the array is not aligned")
    return (at, None, raw) if code == "d" else (None, at, raw)


def _blob(save: Any, handle: Any) -> bytes:
    n, t = _c.c_size_t(), _Texts()
    status = save(handle, None, 0, _c.byref(n), t.raw)
    out = _c.create_string_buffer(max(1, n.value))
    if status >= 0:
        status = save(handle, out, n.value, _c.byref(n), t.raw)
    t.take(status)
    return out.raw[:n.value]


class _Handle:
    def __init__(self, close: Any) -> None:
        self._h, self._close = _c.c_void_p(), close

    def close(self) -> None:
        """Wipes the key and frees everything.  Nothing else may be called then."""
        h, self._h = self._h, _c.c_void_p()
        self._close(h)

    def _alive(self) -> Any:
        if not self._h:
            raise ValueError("it was closed")
        return self._h

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_h", None):
            self.close()


class Noise(_Handle):
    """The stream clip_norm sigma (C^-1 z)_t of floating-point noise, for pipelines of your own;
    Training does the rest too, and on a lattice.  From one thread at a time."""

    def __init__(self, strategy: Numbers = "identity", *, rounds: int, sigma: float, dim: int,
                 key: bytes, clip_norm: float = 1, batch: float = 0, single: bool = False,
                 normalize: bool = False) -> None:
        super().__init__(_lib.mcampy_noise_close)
        if len(key) != 32:
            raise ValueError("a key has 32 bytes")
        c, t = _Strategy(strategy, normalize), _Texts()
        self.dim = dim
        t.take(_lib.mcampy_noise_open(c.whole(rounds, 0, 0, 0), sigma, clip_norm, batch, *c.arrays,
                                      dim, single, bytes(key), _c.byref(self._h), t.raw))

    @property
    def step(self) -> int:
        """The round whose noise comes next."""
        return int(_lib.mcampy_noise_step(self._alive()))

    def next(self, out: Any, add: bool = False) -> None:
        """The next round's noise into, or added to, an array of dim numbers."""
        h, t = self._alive(), _Texts()
        d, f, _keep = _buffer(out, self.dim, True)
        t.take(_lib.mcampy_noise_next(h, d, f, add, t.raw))

    def save(self) -> bytes:
        """The state, encrypted and sealed."""
        return _blob(_lib.mcampy_noise_save, self._alive())

    def load(self, blob: bytes) -> None:
        """Goes on from a state of the same stream."""
        h, t = self._alive(), _Texts()
        t.take(_lib.mcampy_noise_load(h, bytes(blob), len(blob), t.raw))


class Training(_Handle):
    """A run that can't be run otherwise than its record says.

        run = mcamp.Training(proof.record, examples=len(data), dim=d, clip_norm=1, key=key)
        for round in run:
            for e in run.members():
                run.add(e, gradient(model, data[e]))
            run.end(mean)                 # the noisy mean, into an array
    """

    def __init__(self, record: str, *, examples: int, dim: int, clip_norm: float, key: bytes,
                 run: int = 1, sum: bool = False) -> None:
        super().__init__(_lib.mcampy_train_close)
        if len(key) != 32:
            raise ValueError("a key has 32 bytes")
        raw, t = record.encode(), _Texts()
        self.dim = dim
        t.take(_lib.mcampy_train_open(raw, len(raw), examples, dim, clip_norm, sum, run, bytes(key),
                                      _c.byref(self._h), t.raw))

    @property
    def round(self) -> int:
        """The round that is open, or comes next."""
        return int(_lib.mcampy_train_round(self._alive()))

    @property
    def rounds(self) -> int:
        """Of the whole run."""
        return int(_lib.mcampy_train_rounds(self._alive()))

    def __iter__(self) -> Iterator[int]:
        while self.round < self.rounds:
            now = self.round
            yield now
            if self.round == now:
                raise RuntimeError("round %d was not ended" % now)

    def members(self) -> List[int]:
        """Starts the round, or starts it once more: the indices of its examples."""
        h, t, who, n = self._alive(), _Texts(), _c.POINTER(_c.c_size_t)(), _c.c_size_t()
        t.take(_lib.mcampy_train_begin(h, _c.byref(who), _c.byref(n), t.raw))
        return list(who[:n.value])

    def add(self, example: int, gradient: Any) -> None:
        """The gradient of a member; it is clipped here."""
        h, t = self._alive(), _Texts()
        d, f, _keep = _buffer(gradient, self.dim, False)
        t.take(_lib.mcampy_train_add(h, example, d, f, t.raw))

    def end(self, out: Any) -> None:
        """Ends the round: the noisy mean (or sum) into an array."""
        h, t = self._alive(), _Texts()
        d, f, _keep = _buffer(out, self.dim, True)
        t.take(_lib.mcampy_train_end(h, d, f, t.raw))

    def save(self) -> bytes:
        """The whole run between two rounds, encrypted and sealed."""
        return _blob(_lib.mcampy_train_save, self._alive())

    def load(self, blob: bytes) -> None:
        """Goes on from a state of the same run.  Load no state of a run that went on."""
        h, t = self._alive(), _Texts()
        t.take(_lib.mcampy_train_load(h, bytes(blob), len(blob), t.raw))

    def statement(self) -> str:
        """The privacy statement, for those who answer for the run."""
        h, t = self._alive(), _Texts()
        return t.take(_lib.mcampy_train_statement(h, t.raw))[0]
