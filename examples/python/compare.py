"""Numbers that users of other packages know, and what this library says to the same question.

The first column of answers is what those packages' tutorials, or the literature, print:
Renyi accountants with the conversion of their time, so upper bounds that may be loose; the
tight ones are intervals here.  Exit status 1 if an interval contradicts one of them.
"""
import sys

import mcamp

# What is asked; the number that is known; how it was found; relative slack of its digits.
DPSGD = [
    ("MNIST tutorial: batch 256 of 60000, sigma 1.3, 15 epochs", 256 / 60000, 1.3, 15, 1.19),
    ("MNIST tutorial: batch 256 of 60000, sigma 1.1, 60 epochs", 256 / 60000, 1.1, 60, 3.01),
    ("MNIST tutorial: batch 256 of 60000, sigma 0.7, 45 epochs", 256 / 60000, 0.7, 45, 7.10),
]


def main() -> int:
    bad = 0
    print("epsilon at delta = 1e-5, DP-SGD with Poisson sampling")
    print("%-58s %8s   %s" % ("", "Renyi", "here: certain bounds"))
    for what, q, sigma, epochs, known in DPSGD:
        g = mcamp.account([mcamp.poisson(q, sigma, int(epochs / q))], delta=1e-5)
        print("%-58s %8.2f   [%.3f, %.3f]" % (what, known, g.lower, g.upper))
        bad += g.lower > known * 1.01           # a loose upper bound is not below the truth

    print("\nsigma of one Gaussian release of sensitivity 1 for (1, 1e-5)")
    g = mcamp.certify(rounds=1, batches=1, epsilon=1, delta=1e-5)
    print("%-58s %8.3f   %.3f" % ("the analytic Gaussian mechanism", 3.7306, g.sigma))
    bad += abs(g.sigma - 3.7306) > 1e-3
    print("%-58s %8.3f   (a formula that is no better)" % ("sqrt(2 log(1.25/delta))/epsilon", 4.8448))

    print("\nepsilon of the same run, 16 epochs of 128 batches, delta = 1e-5, sigma = 4, C = I")
    rows = [("Poisson sampling, q = 1/128", mcamp.account([mcamp.poisson(1 / 128, 4, 2048)],
                                                         delta=1e-5).upper),
            ("balls in bins", mcamp.epsilon(epochs=16, batches=128, sigma=4, delta=1e-5).epsilon),
            ("a shuffle, or any fixed order", mcamp.account([mcamp.gaussian(4, 16)],
                                                           delta=1e-5).upper)]
    for what, value in rows:
        print("%-58s %8s   %.3f" % (what, "", value))
    bad += not rows[0][1] <= rows[2][1] or not rows[1][1] <= rows[2][1] * 1.01
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
