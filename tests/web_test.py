"""The page of examples/web in a headless Chromium, against the native tool: python3
tests/web_test.py PAGE TOOL CHROMIUM [PART ...].  Speaks the browser's debugging protocol over a
pipe; no other packages.
The last line is "check-web: N passed, M failed"."""
import fcntl
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT = 409600                  # bytes of the page
passed = failed = 0


def check(good, what):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAIL " + what, flush=True)
    return bool(good)


class Browser:
    """One Chromium; messages are JSON, each behind a zero byte."""

    def __init__(self, program, home):
        down, self.write = os.pipe()
        self.read, up = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (down, up)]

        def pipes():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--user-data-dir=" + home, "about:blank"],
            preexec_fn=pipes, pass_fds=(3, 4), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in [down, up] + high:
            os.close(fd)
        self.rest, self.count, self.events = b"", 0, []

    def message(self, until):
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self.read, 1 << 20)
            if not chunk:
                raise EOFError("the browser is gone")
            self.rest += chunk
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **params):
        self.count += 1
        m = {"id": self.count, "method": method, "params": params}
        if session:
            m["sessionId"] = session
        os.write(self.write, json.dumps(m).encode() + b"\0")
        until = time.monotonic() + 30
        while True:
            got = self.message(until)
            if got.get("id") == m["id"]:
                if "error" in got:
                    raise RuntimeError("%s: %s" % (method, got["error"]))
                return got["result"]
            self.events.append(got)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)


class Page:
    """A tab with the page in it."""

    def __init__(self, browser, url):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.call(domain + ".enable")
        self.open(url)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def js(self, text):
        r = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in r:
            raise RuntimeError(text + ": " + json.dumps(r["exceptionDetails"])[:400])
        return r["result"].get("value")

    def wait(self, what, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.js(what):
                return True
            time.sleep(0.03)
        return check(False, "waited for " + what)

    def open(self, url):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && !!document.getElementById('go')")

    def workers(self):
        """How many there are now, of those that began after Target.setAutoAttach."""
        return sum({"Target.attachedToTarget": 1, "Target.detachedFromTarget": -1}.get(
            e.get("method"), 0) for e in self.browser.events if e.get("sessionId") == self.session)

    def text(self, id):
        return self.js("document.getElementById('%s').innerText" % id)

    def state(self):
        return self.js("document.body.dataset.state || ''")

    def key(self, name, code, text=""):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode=code, **more)

    def ask(self):
        """Presses Answer and waits for the last picture; the state."""
        self.js("document.getElementById('go').click()")
        self.wait("document.body.dataset.state !== 'busy'")
        return self.state()

    def download(self, name, into):
        """What a link of the answer saves."""
        path = os.path.join(into, name)
        if os.path.exists(path):
            os.remove(path)
        if not self.js("(() => { const a = document.querySelector('a[download=\"%s\"]');"
                       "if (a) a.click(); return !!a; })()" % name):
            return None
        until = time.monotonic() + 10
        while time.monotonic() < until:
            if os.path.exists(path) and not os.path.exists(path + ".crdownload"):
                with open(path, encoding="utf-8") as f:
                    return f.read()
            time.sleep(0.02)
        return None


def native(tool, args, folder):
    r = subprocess.run([tool] + args, cwd=folder, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    return r.returncode, r.stdout, r.stderr


def untimed(text):
    """Without what no two runs share, and without the line about the file."""
    text = re.sub(r"\d+\.\d\d s\b", "S s", text)
    return "".join(line for line in text.splitlines(True) if not line.startswith("wrote "))


def bare(text):
    return re.sub(r"\s+", "", text)


def link(args):
    """The tool's arguments as the page's fragment."""
    parts, i = [args[0]], 1
    while i < len(args):
        name = args[i][2:]
        if i + 1 < len(args) and not args[i + 1].startswith("--"):
            parts.append(name + "=" + args[i + 1])
            i += 2
        else:
            parts.append(name)
            i += 1
    return "#" + "&".join(parts)


RUN = "--epochs 16 --batches 128 "
SMALL = "--epochs 3 --batches 7 "
QUESTIONS = [                   # command, exit status
    ("sigma " + RUN + "--eps 1 --delta 1e-5 --strategy sqrt:64", 0),
    ("epsilon " + SMALL + "--delta 1e-4 --sigma 2 --strategy blt:0.7:0.3,0.98:0.1 --normalize", 0),
    ("delta --epochs 4 --batches 12 --eps 0.5 --sigma 3 --strategy toeplitz:1,0.5,0.375 "
     "--seed 7", 0),
    ("sigma --epochs 2 --batches 20 --eps 2 --delta 1e-6 --strategy identity", 0),
    ("epsilon --batches 8 --rounds 27 --sigma 2 --delta 1e-3 --strategy inverse:1,-0.5 "
     "--examples 4000 --limit 560 --rel-error 0.05", 0),
    ("sigma " + SMALL + "--eps 1 --delta 1e-3 --strategy tree --certify", 0),
    ("verify " + RUN + "--eps 1 --delta 1e-5 --sigma 12.5 --strategy sqrt:64", 0),
    ("verify " + SMALL + "--eps 1 --delta 1e-5 --sigma 1 --strategy sqrt:4", 1),
]
INVALID = [                     # command, the field that is to blame
    ("sigma " + SMALL + "--eps 1 --delta 2 --strategy sqrt:64", "delta"),
    ("delta " + SMALL + "--eps x --sigma 1 --strategy sqrt:64", "eps"),
    ("sigma " + SMALL + "--eps 1 --delta 1e-5 --strategy toeplitz:0,1", "strategy-value"),
    ("sigma --epochs 3 --eps 1 --delta 1e-5 --strategy identity", "batches"),
    ("sigma --epochs 3 --batches 7 --eps 1 --delta 1e-5 --beta 3 --strategy identity", "beta"),
]
LONG = "delta " + RUN + "--eps 1 --sigma 12 --strategy sqrt:16 --rel-error 1e-7 --samples 1e12"


def answers(page, tool, url, folder):
    for line, status in QUESTIONS:
        args = line.split()
        code, out, err = native(tool, args, folder)
        check(code == status, "%s: native status %d: %s" % (line, code, err))
        page.open(url + link(args))
        check(page.ask() == "done", "%s: not answered: %s" % (line, page.text("error")))
        got = page.download("answer.txt", folder)
        check(got is not None and untimed(got) == untimed(out),
              "%s: the page says\n%s\nthe tool says\n%s" % (line, got, out))
        # What is seen is all that was said, and nothing else.
        seen = page.js("document.getElementById('headline').textContent + "
                       "document.getElementById('words').textContent")
        check(bare(seen) == bare(re.sub("(?m)^wrote .*", "", got or "")),
              "%s: shown are other words: %s" % (line, seen))
        pictures = page.js("document.querySelectorAll('#pictures svg[role=img] path.line').length")
        check(pictures >= 3 or "--limit" in line, "%s: %d lines are drawn" % (line, pictures))
        recorded = args[0] == "verify" or "--certify" in args
        text = page.download("run.txt", folder)
        check((text is not None) == recorded, line + ": record or none")
        if not text:
            continue
        check(page.js("!document.getElementById('legal').hidden") == (status == 0),
              line + ": privacy statement or none")
        again, out, err = native(tool, ["verify", "--record", "run.txt"], folder)
        check(again == status, "%s: the tool on the record: %d %s" % (line, again, err))
        again, out, err = native(tool, args + ["--record", "own.txt"], folder)
        with open(os.path.join(folder, "own.txt"), encoding="utf-8") as f:
            own = f.read()
        close(text, own, line)
        if status == 0:
            report = native(tool, ["report", "--record", "run.txt"], folder)[1]
            check(bare(report) == bare(page.js("document.getElementById('legal-words').textContent")),
                  line + ": another privacy statement")


def close(a, b, what):
    """Records: the same keys, words, counts and digests; other numbers to 1e-9."""
    lines = [[x.split(": ", 1) for x in t.splitlines()] for t in (a, b)]
    check([x[0] for x in lines[0]] == [x[0] for x in lines[1]], what + ": records of other lines")
    for x, y in zip(*lines):
        if x == y or x[0] == "checksum":
            continue
        u, v = ([float(n) for n in re.findall(r"-?\d[\d.]*(?:e[-+]?\d+)?", z[-1])] for z in (x, y))
        real = "." in x[-1] and "." in y[-1]
        check(real and len(u) == len(v) and
              all(abs(p - q) <= 1e-9 * max(abs(p), abs(q)) for p, q in zip(u, v)),
              "%s: record: %s and %s" % (what, x, y))


def invalid(page, tool, url, folder):
    for line, field in INVALID:
        args = line.split()
        code, out, err = native(tool, args, folder)
        page.open(url + link(args))
        check(page.ask() == "error" and code == 2, line + ": was taken")
        check(page.text("error").strip() == err.splitlines()[0].strip(),
              "%s: the page complains \"%s\"" % (line, page.text("error")))
        check(page.js("document.getElementById('result').hidden"), line + ": an answer in spite of it")
        check(page.js("document.activeElement.id + document.activeElement.ariaInvalid") ==
              field + "true", line + ": not the field " + field)
    page.open(url + "#sigma&epochs=3&nonsense=4")
    check("does not have" in page.text("error"), "a link with an unknown option is taken")
    page.open(url + "#epsilon&eps=3")
    check("does not have" in page.text("error"), "a link with another question's option is taken")


def interruption(page, tool, url, folder):
    page.open(url + link(LONG.split()))
    page.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
    page.js("document.getElementById('go').click()")
    page.wait("/s$/.test(document.getElementById('progress-text').textContent)")
    check(re.match(r"(\d+%(, \d+ s left)?, )?\d+ s$", page.text("progress-text")),
          "progress says more than it may: " + page.text("progress-text"))
    check(page.state() == "busy", "the long question is not long: " + page.text("answer-part"))
    check(page.js("document.getElementById('cancel').checkVisibility()"), "no cancel button")
    check(page.workers() == 1, "%d workers" % page.workers())
    page.js("document.getElementById('cancel').click()")
    page.wait("document.body.dataset.state === 'interrupted'", 3)
    for _ in range(100):
        if not page.workers() or page.js("0"):
            break
        time.sleep(0.03)
    check(page.workers() == 0, "after cancel the worker works on")
    check("claims nothing" in page.text("status"), "after cancel: " + page.text("status"))
    check(page.js("document.getElementById('result').hidden &&"
                  "!/\\d/.test(document.getElementById('answer-part').innerText)"),
          "interrupted work shows an answer: " + page.text("answer-part"))
    check(page.js("!document.querySelector('a[download]')"), "interrupted work leaves files")
    # The next question is answered as if nothing had happened.
    args = ("delta " + SMALL + "--eps 1 --sigma 2 --strategy identity").split()
    page.js("location.hash = %s" % json.dumps(link(args)))
    page.wait("document.querySelector('input[name=question]:checked').value === 'delta'")
    check(page.ask() == "done", "no answer after cancel: " + page.text("error"))
    got = page.download("answer.txt", folder)
    check(untimed(got or "") == untimed(native(tool, args, folder)[1]), "another answer after cancel")
    page.call("Target.setAutoAttach", autoAttach=False, waitForDebuggerOnStart=False, flatten=True)


def share(page, tool, url, folder):
    """By keys alone from the first field to an answer; its link asks the same."""
    page.open(url)
    page.js("document.getElementById('epochs').focus()")
    for id, text in (("epochs", "3"), ("batches", "9"), ("eps", "0.7"), ("delta", "1e-4")):
        for _ in range(40):
            if page.js("document.activeElement.id") == id:
                break
            page.key("Tab", 9)
        check(page.js("document.activeElement.id") == id, "Tab does not lead to " + id)
        page.js("document.activeElement.select()")
        page.call("Input.insertText", text=text)
    page.key("Enter", 13, "\r")
    page.wait("document.body.dataset.state === 'done'")
    check(page.text("aloud") == page.text("headline") != "", "the answer is not said aloud")
    to = page.js("document.getElementById('link').href")
    check(to.endswith("#sigma&epochs=3&batches=9&eps=0.7&delta=1e-4&strategy=sqrt:64"), to)
    check(page.js("location.href") == to, "the address is not the link")
    first = page.download("answer.txt", folder)
    other = Page(page.browser, to)
    check(other.ask() == "done", "the link's question is not answered")
    check(other.js("document.getElementById('link').href") == to, "the link changes")
    check(untimed(other.download("answer.txt", folder) or "") == untimed(first or "-"),
          "the link's answer is another")


def plans(page, tool, url, folder):
    args = ("plan --epochs 2 --batches 8 --eps 2 --delta 1e-4 --amplification bnb --memory 1").split()
    page.open(url + link(args))
    check(page.ask() == "done", "plan: " + page.text("error"))
    got = page.download("answer.txt", folder) or ""
    code, out, err = native(tool, args, folder)
    number = [float((re.search(r"rmse = (\S+)", t) or [0, "nan"])[1]) for t in (got, out)]
    check(abs(number[0] / number[1] - 1) < 1e-3, "plan: rmse %g and %g" % tuple(number))
    check("Certified" in got, "plan proves nothing: " + got)
    check(page.js("document.querySelectorAll('#pictures svg').length") == 2, "plan: pictures")
    check(page.download("plan.txt", folder) and page.download("plan.json", folder), "plan: files")
    check(page.download("run.txt", folder) is not None, "plan: no record")
    check(native(tool, ["verify", "--record", "run.txt"], folder)[0] == 0,
          "plan: the tool refuses the record")


def records(page, tool, url, folder):
    """A record goes back in, whole and edited."""
    args = ("verify " + SMALL + "--eps 1 --delta 1e-4 --sigma 9 --strategy sqrt:4 --record "
            "there.txt").split()
    check(native(tool, args, folder)[0] == 0, "no record to load")
    with open(os.path.join(folder, "there.txt"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(folder, "edited.txt"), "w", encoding="utf-8") as f:
        f.write(text.replace("sigma: 9", "sigma: 8"))
    page.open(url + "#record")
    check(page.ask() == "error", "a check of no record")
    for name, state in (("there.txt", "done"), ("edited.txt", "error")):
        root = page.call("DOM.getDocument")["root"]["nodeId"]
        node = page.call("DOM.querySelector", nodeId=root, selector="#record")["nodeId"]
        page.call("DOM.setFileInputFiles", nodeId=node, files=[os.path.join(folder, name)])
        check(page.ask() == state, name + ": " + page.text("answer-part"))
        code, out, err = native(tool, ["verify", "--record", name], folder)
        said = page.text("error").strip() if state == "error" else page.download("answer.txt", folder)
        check(untimed(said or "") == untimed(out or err.splitlines()[0]), name + ": %s" % said)


def form(page, tool, url, folder):
    """Everything has a name; nothing is too wide for a telephone."""
    page.open(url)
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"textbox", "combobox", "button", "checkbox", "radio", "link"}
    named = [n for n in tree if n.get("role", {}).get("value") in roles]
    check(len(named) > 15, "only %d controls" % len(named))
    for n in named:
        check(n.get("name", {}).get("value"), "a %s has no name" % n["role"]["value"])
    check(page.js("document.querySelector('[role=status]#aloud') !== null &&"
                  "document.querySelector('[role=alert]#error') !== null"), "nothing is said aloud")
    page.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2,
              mobile=True)
    for q in ("sigma", "epsilon", "delta", "verify", "plan", "record"):
        page.js("(() => { const r = document.querySelector('input[value=%s]'); r.checked = true;"
                "r.dispatchEvent(new Event('change')); })()" % q)
        width = page.js("document.documentElement.scrollWidth")
        check(width <= 360, "%s: %d pixels wide" % (q, width))
    page.open(url + link(QUESTIONS[1][0].split()))
    check(page.ask() == "done" and page.js("document.documentElement.scrollWidth") <= 360,
          "an answer is too wide")
    page.call("Emulation.clearDeviceMetricsOverride")


def quiet(browser):
    """No request left for a network, and nobody complained."""
    for e in browser.events:
        p = e.get("params", {})
        if e.get("method") == "Network.requestWillBeSent":
            url = p["request"]["url"]
            check(re.match("(file|blob|data|about):", url), "a request: " + url)
        if e.get("method") == "Runtime.exceptionThrown":
            check(False, "exception: " + json.dumps(p["exceptionDetails"])[:300])
        if e.get("method") == "Log.entryAdded" and p["entry"]["level"] == "error":
            check(False, "log: " + p["entry"]["text"][:300])


def main():
    page_file, tool, program = (os.path.abspath(p) if i < 2 else p
                                for i, p in enumerate(sys.argv[1:4]))
    folder = tempfile.mkdtemp()
    browser = None
    try:
        check(os.path.getsize(page_file) <= LIMIT, "the page has more than 400 KB")
        with open(page_file, encoding="utf-8") as f:
            text = f.read()
        check(not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", text), "the page refers to others")
        browser = Browser(program, os.path.join(folder, "home"))
        browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        url = "file://" + page_file
        page = Page(browser, url)
        for part in (answers, invalid, interruption, share, plans, records, form):
            if part.__name__ in (sys.argv[4:] or part.__name__):
                part(page, tool, url, folder)
        quiet(browser)
    except (TimeoutError, EOFError, RuntimeError) as e:
        check(False, "%s: %s" % (type(e).__name__, e))
    finally:
        if browser:
            browser.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("check-web: %d passed, %d failed" % (passed, failed))
    return failed > 0 or not passed


if __name__ == "__main__":
    sys.exit(main())
