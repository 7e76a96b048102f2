"""What every command of the tool prints with --json against examples/mcamp.schema.json:
no key that is not documented, no value of another kind, nothing documented that is never
printed; and the question that is printed, asked again, has the same answer.

    python3 check_json.py TOOL FOLDER       ends with "json: N passed, M failed"
"""
import json
import os
import re
import subprocess
import sys
import tempfile

TOOL, FOLDER = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))


def once(pairs):
    keys = [k for k, _ in pairs]
    assert len(set(keys)) == len(keys), "a key is there twice: %s" % keys
    return dict(pairs)


with open(os.path.join(HERE, "..", "..", "examples", "mcamp.schema.json")) as f:
    SCHEMA = json.load(f, object_pairs_hook=once)
DEFS = SCHEMA["$defs"]
count = {True: 0, False: 0}
used = set()                        # ids of the property schemas that some output had


def tell(good, what):
    count[bool(good)] += 1
    if not good:
        print("FAIL " + what)


# ---- a validator of the few words of JSON Schema that the file uses ------------------

WORDS = {"$ref", "type", "enum", "const", "pattern", "minimum", "items", "properties",
         "required", "dependentRequired", "additionalProperties", "unevaluatedProperties",
         "allOf", "anyOf", "description", "$schema", "title", "$defs"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
         "number": (int, float), "integer": int}


def is_type(x, name):
    return isinstance(x, TYPES[name]) and (not isinstance(x, bool) or name == "boolean")


def simple(x, s, at):
    """Complaints about x itself."""
    types = s.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(is_type(x, t) for t in types):
        yield "%s is %s, not %s" % (at, json.dumps(x)[:40], types)
    elif "enum" in s and x not in s["enum"]:
        yield "%s is %s, none of %s" % (at, json.dumps(x), s["enum"])
    elif "const" in s and (x != s["const"] or type(x) is not type(s["const"])):
        yield "%s is %s, not %s" % (at, json.dumps(x), s["const"])
    elif "pattern" in s and not re.search(s["pattern"], x):
        yield "%s is %s" % (at, json.dumps(x))
    elif "minimum" in s and x is not None and x < s["minimum"]:
        yield "%s is %s" % (at, x)


def check(x, s, at):
    """(complaints, keys that s knows, properties seen)"""
    unknown = set(s) - WORDS
    assert not unknown, "the validator does not know %s" % unknown
    bad, known, seen = list(simple(x, s, at)), set(), set()
    for part in s.get("allOf", []) + ([DEFS[s["$ref"][8:]]] if "$ref" in s else []):
        b, k, u = check(x, part, at)
        bad, known, seen = bad + b, known | k, seen | u
    if "anyOf" in s:
        tries = [check(x, part, at) for part in s["anyOf"]]
        b, k, u = min(tries, key=lambda t: len(t[0]))
        bad, known, seen = bad + b, known | k, seen | u
    if isinstance(x, list) and "items" in s:
        for i, v in enumerate(x):
            b, _, u = check(v, s["items"], "%s[%d]" % (at, i))
            bad, seen = bad + b, seen | u
    if isinstance(x, dict):
        for k, p in s.get("properties", {}).items():
            known.add(k)
            if k in x:
                b, _, u = check(x[k], p, at + "." + k)
                bad, seen = bad + b, seen | u | {id(p)}
        bad += ["%s has no %s" % (at, k) for k in s.get("required", []) if k not in x]
        bad += ["%s has no %s" % (at, k) for a, need in s.get("dependentRequired", {}).items()
                for k in need if a in x and k not in x]
        if "additionalProperties" in s or "unevaluatedProperties" in s:
            bad += ["%s.%s is not documented" % (at, k) for k in x if k not in known]
    return bad, known, seen


# ---- asking ---------------------------------------------------------------------------

def ask(arguments, codes=(0,)):
    done = subprocess.run([TOOL] + arguments + ["--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=FOLDER)
    text, objects, decoder = done.stdout.decode(), [], json.JSONDecoder(object_pairs_hook=once)
    tell(done.returncode in codes, "status %d: %s: %s" % (done.returncode, arguments, done.stderr))
    try:
        while text.strip():
            one, end = decoder.raw_decode(text.lstrip())
            objects.append(one)
            text = text.lstrip()[end:]
    except (ValueError, AssertionError) as error:
        tell(False, "no JSON (%s): %s" % (error, arguments))
    return objects


def timeless(x):
    if isinstance(x, dict):
        return {k: timeless(v) for k, v in x.items() if k != "seconds"}
    return [timeless(v) for v in x] if isinstance(x, list) else x


def arguments_of(question):
    out = [question["command"]] + question.get("of", [])
    for key, value in question.items():
        if key in ("version", "command", "of"):
            continue
        out += ["--" + key] + ([] if value is True else [value if isinstance(value, str)
                                                         else repr(value)])
    return out


def asks(line, codes=(0,), again=True):
    global used
    arguments = line.split()
    objects = ask(arguments, codes)
    tell(objects, "nothing printed: " + line)
    for one in objects:
        question = one.get("question", {})
        bad, _, seen = check(one, DEFS.get(question.get("command"), SCHEMA), "")
        used |= seen
        tell(not bad, line + ": " + "; ".join(bad[:4]))
        tell(question.get("command") == arguments[0], "the question's command: " + line)
    if not again or not objects or "question" not in objects[0]:
        return
    second = arguments_of(objects[0]["question"])
    tell(timeless(ask(second, codes)) == timeless(objects),
         "asked again by %s: %s" % (second, line))


shape = " --epochs 2 --batches 8 --strategy sqrt:2"
target = " --eps 2 --delta 1e-3"
with open(os.path.join(FOLDER, "scores"), "w") as f:
    for i in range(200):
        f.write("in %d\nout %d\n" % (i % 7 + 3, i % 7))
with open(os.path.join(FOLDER, "scale"), "w") as f:
    f.write(" ".join(["1"] * 8 + ["1.5"] * 8))

asks("sigma" + shape + target + " --samples 2e4 --fpr 0.01 --normalize --scale @scale --threads 2")
asks("sigma --batches 8 --rounds 16 --strategy sqrt:2 --certain --certify --direction add" + target)
asks("sigma --epochs 2 --examples 100 --batch-size 12 --limit 30 --strategy sqrt:2 --rel-error .1"
     + target)
asks("epsilon --rounds 16 --batches 4 --strategy sqrt:2 --sigma 3 --delta 1e-3 --group 4"
     " --rel-error .1")
asks("epsilon --rounds 16 --batching minsep:4,0.2 --strategy sqrt:2 --sigma 2 --delta 1e-3"
     " --samples 2e4 --seed 18446744073709551615")
asks("epsilon --epochs 2 --batches 8 --batching allocate:1 --strategy identity --sigma 2"
     " --delta 1e-3")
asks("delta" + shape + " --sigma 0.01 --eps 1 --direction remove --beta 1e-3")
asks("verify" + shape + " --sigma 0.5 --samples 1e4" + target, (1,))
asks("sigma" + shape + target + " --rel-error 1e-4 --time 1e-6", (1,), again=False)
asks("verify" + shape + " --sigma 2.5 --record run.txt" + target, again=False)
asks("verify --record run.txt --fpr 0.1")
for i in "12":
    asks("verify" + shape + " --sigma 2.5 --samples 1e4 --shard %s/2 --tally t%s" % (i, i) + target)
asks("merge t2 t1 --fpr 0.1 --record merged.txt")
asks("report --record run.txt")
asks("delta --record run.txt --sigma 2 --eps 1 --samples 1e4")
asks("curve" + shape + " --sigma 2 --points 3 --eps-max 2 --samples 2e4 --out curve.svg")
asks("account gaussian:2+poisson:0.1,1,10 gaussian:3*2 --delta 1e-6 --fpr 0.01 --rel-error 0.01")
asks("account gaussian:2 --points 3 --eps-max 2 --out account.svg")
asks("account gaussian:5*? --eps 2 --delta 1e-6")
asks("account laplace-limit:0.1 --eps 0.5")
asks("account laplace-limit:0.1 --points 3 --eps-max 1 --out limit.svg")
asks("optimize --rounds 16 --amplification none --family blt:1 --iterations 4 --scaling 1" + target)
asks("optimize --rounds 16 --amplification none --family toeplitz:2 --iterations 4"
     " --workload momentum:0.9 --error max" + target)
asks("optimize --rounds 8 --amplification none --family dense --iterations 4 --equal-norms"
     + target)
asks("optimize --rounds 8 --batches 4 --amplification bnb --family banded:2 --inner 2048"
     " --iterations 2 --rel-error 0.2" + target)
asks("error" + shape)
asks("error" + shape + " --sigma 2 --amplification none")
asks("compare identity sqrt:9 --epochs 2 --batches 8 --rel-error 0.2 --amplification bnb,poisson"
     + target)
asks("plan --rounds 12 --batches 4 --amplification bnb,poisson --memory 1 --rel-error 0.1" + target)
asks("plan --rounds 12 --batches 4 --amplification none --memory 3" + target)
asks("plan --rounds 12 --batching minsep:3,0.3 --memory 1 --samples 1024" + target)
asks("optimize --rounds 12 --batches 3 --batching cyclic:0.5 --family blt:1 --inner 1024"
     " --iterations 2 --rel-error 0.2" + target)
asks("formula zcdp:0.5 classical --delta 1e-6 --eps 0.5")
asks("sensitivity --epochs 2 --batches 8 --strategy tree")
asks("audit --scores scores --delta 1e-3")
asks("audit --scores scores --delta 1e-3 --eps 1", (1,))
asks("audit --scores scores --delta 1e-3 --one-run --beta 0.01")
asks("audit --samples 100")

first = ask(("sigma" + shape + target + " --samples 2e4").split())[0]
for key, value in (("batching", "bins"), ("direction", "both"), ("seed", 1)):
    tell(first["question"].get(key) == value, "the default of --%s is not in the question" % key)

# ---- the documentation: whole, and nothing in it that is never printed --------------------


def properties(s, at):
    for k, p in s.get("properties", {}).items():
        yield at + "." + k, p
    for word in ("allOf", "anyOf"):
        for part in s.get(word, []):
            yield from properties(part, at)


for name, s in DEFS.items():
    for at, p in properties(s, name):
        tell(p.get("description"), at + " has no description")
        tell(id(p) in used, at + " is documented, but was not seen")
options = subprocess.run([TOOL, "help"], stdout=subprocess.PIPE).stdout.decode()
for option in re.findall(r"^  --([a-z-]+)", options, re.M):
    tell(option == "json" or option in DEFS["question"]["properties"],
         "--%s is not documented as part of a question" % option)

print("json: %d passed, %d failed" % (count[True], count[False]))
sys.exit(count[False] > 0)
