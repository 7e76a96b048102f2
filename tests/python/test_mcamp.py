"""examples/python/mcamp.py against the tool and against itself.  python_test.sh runs it."""
import array
import json
import math
import os
import stat
import subprocess
import sys
import tempfile
import unittest

import mcamp

TOOL = sys.argv.pop(1)


def tool(*arguments):
    done = subprocess.run([TOOL, *arguments, "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return json.loads(done.stdout)


SHAPE = {"epochs": 3, "batches": 10}
OPTIONS = ["--epochs", "3", "--batches", "10"]
KEY = bytes(range(32))


def close(a, b):
    return abs(a - b) <= 1e-9 * abs(b)


class Answers(unittest.TestCase):
    def test_estimates_are_the_tools(self):
        for strategy in ("identity", "sqrt:4", "toeplitz:1,0.5,0.25", "blt:0.7:0.3,0.98:0.1"):
            got = mcamp.sigma(strategy, epsilon=2, delta=1e-4, **SHAPE)
            want = tool("sigma", *OPTIONS, "--strategy", strategy, "--eps", "2", "--delta", "1e-4")
            self.assertTrue(close(got.sigma, want["sigma"]), strategy)
            self.assertEqual(got.json["strategy_digest"], want["strategy_digest"])
            self.assertEqual(got.record, "")
        got = mcamp.sigma([1, 0.5, 0.25], epsilon=2, delta=1e-4, **SHAPE)
        self.assertEqual(got.sigma, mcamp.sigma("toeplitz:1,0.5,0.25", epsilon=2, delta=1e-4,
                                                **SHAPE).sigma)
        got = mcamp.epsilon("sqrt:4", sigma=3, delta=1e-4, **SHAPE)
        want = tool("epsilon", *OPTIONS, "--strategy", "sqrt:4", "--sigma", "3", "--delta", "1e-4")
        self.assertTrue(close(got.epsilon, want["epsilon"]))
        got = mcamp.delta("sqrt:4", sigma=3, epsilon=1, normalize=True, **SHAPE)
        want = tool("delta", *OPTIONS, "--strategy", "sqrt:4", "--normalize", "--sigma", "3",
                    "--eps", "1")
        self.assertTrue(close(got.delta, want["delta"]) and got.kind == want["kind"])

    def test_sizes_give_batches(self):
        a = mcamp.sigma(epochs=3, examples=60000, batch_size=550, epsilon=2, delta=1e-4)
        want = tool("sigma", "--epochs", "3", "--examples", "60000", "--batch-size", "550",
                    "--strategy", "identity", "--eps", "2", "--delta", "1e-4")
        self.assertEqual(a.json["batches"], want["batches"])
        self.assertEqual(a.json["batches"], 109)
        for wrong in ({"examples": 5}, {"batch_size": 5},
                      {"examples": 5, "batch_size": 1, "batches": 5}, {"batches": -3}):
            self.assertRaises(ValueError, lambda: mcamp.sigma(epochs=3, epsilon=1, delta=.1,
                                                              **wrong))

    def test_proofs_and_records(self):
        proof = mcamp.certify("sqrt:4", epsilon=2, delta=1e-4, **SHAPE)
        self.assertTrue(proof and proof.accepted and proof.kind == "verified claim")
        self.assertIn("Certified", str(proof))
        again = mcamp.read(proof.record)
        self.assertEqual(again.json, proof.json)
        self.assertEqual(mcamp.repeat(proof.record).json["log_wealth_remove"],
                         proof.json["log_wealth_remove"])
        claim = dict(epsilon=2, delta=1e-4, **SHAPE)
        self.assertTrue(mcamp.verify("sqrt:4", sigma=proof.sigma, **claim))
        refused = mcamp.verify("sqrt:4", sigma=0.6 * proof.sigma, **claim)
        self.assertFalse(refused)
        self.assertEqual(refused.record, "")
        self.assertRaises(mcamp.Error, mcamp.read, proof.record.replace("sigma: ", "sigma: 1"))
        self.assertRaises(mcamp.Error, mcamp.read, "")

    def test_composition(self):
        events = [mcamp.poisson(0.01, 1, 200), mcamp.gaussian(5), mcamp.laplace(9, 2)]
        got = mcamp.account(events, delta=1e-6)
        want = tool("account", "poisson:0.01,1,200+gaussian:5+laplace:9*2", "--delta", "1e-6")
        self.assertEqual((got.lower, got.upper), (want["lower"], want["upper"]))
        self.assertLessEqual(mcamp.account(events, epsilon=got.upper).upper, 1e-6 * (1 + 1e-3))
        got = mcamp.account([mcamp.bins(2, 16, 2)], delta=1e-5)
        want = tool("account", "bnb:2,16,2", "--delta", "1e-5")
        self.assertEqual(got.upper, want["upper"])
        self.assertEqual((got.kind, got.accepted), (want["kind"], True))
        self.assertRaises(ValueError, mcamp.account, events)
        self.assertRaises(ValueError, lambda: mcamp.account(events, delta=0))
        self.assertRaises(mcamp.Error, lambda: mcamp.account([], delta=1e-5))

    def test_plan(self):
        p = mcamp.plan(epsilon=2, delta=1e-3, epochs=2, batches=4, memory=1)
        self.assertTrue(p.guarantee)
        self.assertGreater(p.guarantee.sigma, 0)
        self.assertEqual(mcamp.read(p.guarantee.record).sigma, p.guarantee.sigma)
        self.assertIsInstance(p.table, dict)

    def test_errors_name_the_argument(self):
        with self.assertRaises(mcamp.Error) as e:
            mcamp.sigma(epsilon=-1, delta=1e-5, **SHAPE)
        self.assertIn("eps", str(e.exception))
        self.assertLess(e.exception.status, 0)
        self.assertRaises(mcamp.Error, lambda: mcamp.sigma(epsilon=math.nan, delta=1e-5, **SHAPE))
        self.assertRaises(ValueError, lambda: mcamp.sigma("nosuch", epsilon=1, delta=.1, **SHAPE))


class Streams(unittest.TestCase):
    def stream(self, **more):
        return mcamp.Noise("sqrt:3", rounds=5, sigma=2, dim=1000, key=KEY, **more)

    def test_noise_into_any_array(self):
        d, b = array.array("d", bytes(8000)), bytearray(8000)
        f = array.array("f", bytes(4000))
        with self.stream() as x, self.stream() as y, self.stream() as z:
            for t in range(5):
                self.assertEqual(x.step, t)
                x.next(d)
                y.next(b)
                z.next(f)
                self.assertEqual(d.tobytes(), bytes(b))
                self.assertTrue(all(abs(a - c) <= 1e-6 * abs(a) for a, c in zip(d, f)))
            self.assertRaises(mcamp.Error, x.next, d)
        self.assertRaises(ValueError, x.next, d)
        self.assertTrue(1.5 < math.sqrt(sum(a * a for a in d) / 1000) < 3.5)
        with self.stream() as x:
            x.next(d)
            twice = array.array("d", d)
            with self.stream() as y:
                y.next(twice, add=True)
            self.assertTrue(all(c == 2 * a for a, c in zip(d, twice)))
            for wrong in (bytes(8000), bytearray(7992), memoryview(bytearray(16000))[::2]):
                self.assertRaises(ValueError, x.next, wrong)
            self.assertRaises(TypeError, x.next, array.array("q", bytes(8000)))
        self.assertRaises(ValueError, lambda: mcamp.Noise(rounds=2, sigma=1, dim=4, key=b"short"))
        self.assertRaises(mcamp.Error, lambda: self.stream(clip_norm=-1))

    def test_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy")
        a, b = numpy.zeros(1000), array.array("d", bytes(8000))
        with self.stream() as x, self.stream() as y:
            x.next(a)
            y.next(b)
        self.assertEqual(a.tobytes(), b.tobytes())
        with self.stream() as x:
            self.assertRaises(ValueError, x.next, numpy.zeros((1000, 2))[:, 0])

    def test_states_go_on(self):
        a, b = array.array("d", bytes(8000)), array.array("d", bytes(8000))
        with self.stream() as x, self.stream() as y:
            x.next(a)
            y.load(x.save())
            x.next(a)
            y.next(b)
            self.assertEqual(a, b)
            self.assertRaises(mcamp.Error, y.load, b"nonsense")


class Runs(unittest.TestCase):
    proof = mcamp.certify("sqrt:4", epsilon=2, delta=1e-3, **SHAPE)

    def open(self, **more):
        return mcamp.Training(self.proof.record, examples=101, dim=7, clip_norm=1, key=KEY, **more)

    @staticmethod
    def gradient(e, t):
        return array.array("f", [math.sin(e + i + t) for i in range(7)])

    def one(self, run, out):
        for e in run.members():
            run.add(e, self.gradient(e, run.round))
        run.end(out)

    def test_a_run_from_its_record(self):
        seen, a, b = [], array.array("d", bytes(56)), array.array("d", bytes(56))
        with self.open() as run, self.open() as other:
            for t in run:
                members = run.members()
                seen += members
                for e in members:
                    run.add(e, self.gradient(e, t))
                run.end(a)
                if t == 12:
                    other.load(run.save())
                if t > 12:
                    self.one(other, b)
                    self.assertEqual(a, b)
            self.assertEqual(sorted(seen), sorted(list(range(101)) * 3))
            self.assertRaises(mcamp.Error, run.members)
            self.assertIn("Privacy statement", run.statement())

    def test_nobody_is_missing_or_twice(self):
        out = array.array("f", bytes(28))
        with self.open(sum=True) as run:
            members = run.members()
            self.assertRaises(mcamp.Error, run.end, out)
            for e in members:
                run.add(e, self.gradient(e, 0))
            self.assertRaises(mcamp.Error, run.add, members[0], self.gradient(0, 0))
            run.end(out)
            self.assertTrue(any(out))
            self.assertRaises(RuntimeError, lambda: list(run))


class Library(unittest.TestCase):
    def test_it_lies_in_a_folder_of_ones_own(self):
        ours = os.environ["MCAMP_CACHE"]
        self.assertEqual({n[:9] for n in os.listdir(ours) if n.endswith(".so")}, {"libmcamp-"})
        with tempfile.TemporaryDirectory() as place:
            os.environ["MCAMP_CACHE"] = cache = os.path.join(place, "new")
            try:
                self.assertEqual(mcamp._cache(), cache)
                self.assertEqual(stat.S_IMODE(os.stat(cache).st_mode), 0o700)
                os.chmod(cache, 0o777)
                self.assertRaises(ImportError, mcamp._compile)
                self.assertEqual(os.listdir(cache), [])
            finally:
                os.environ["MCAMP_CACHE"] = ours

    def test_what_is_missing_is_named(self):
        for name, value in (("CC", "no-such-compiler"), ("MCAMP_CFLAGS", "-no-such-flag")):
            before = os.environ.get(name)
            os.environ[name] = value
            try:
                with self.assertRaises(ImportError) as e:
                    mcamp._compile()
                self.assertIn(value.lstrip("-"), str(e.exception))
            finally:
                del os.environ[name]
                if before is not None:
                    os.environ[name] = before

    def test_everything_is_explained(self):
        for name in mcamp.__all__:
            self.assertTrue(getattr(mcamp, name).__doc__, name)


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0).result
    failed = len(result.failures) + len(result.errors)
    print("python: %d passed, %d failed" % (result.testsRun - failed, failed))
    sys.exit(failed > 0)
