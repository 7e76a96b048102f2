#!/usr/bin/env python3
"""Where a multiple of a keyed normal crosses a bound, for tests/test_noise.c: the keyed
generator in Python integers, the normal from all of its words in 150 digits.

    python3 tests/gen/exact_normals.py

Not needed to run the tests.  Needs mpmath.
"""
import math
from mpmath import mp, mpf, floor, log, sqrt, cos, sin, pi, nstr

mp.prec = 500
M = 0xFFFFFFFF
NOISE, TAIL = list(range(1, 9)), list(range(11, 19))


def rotl(x, k):
    return ((x << k) | (x >> (32 - k))) & M


def block(key, counter, nonce):
    s = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] + key
    s += [counter & M, counter >> 32, nonce & M, nonce >> 32]
    x = s[:]

    def quarter(a, b, c, d):
        x[a] = (x[a] + x[b]) & M; x[d] = rotl(x[d] ^ x[a], 16)
        x[c] = (x[c] + x[d]) & M; x[b] = rotl(x[b] ^ x[c], 12)
        x[a] = (x[a] + x[b]) & M; x[d] = rotl(x[d] ^ x[a], 8)
        x[c] = (x[c] + x[d]) & M; x[b] = rotl(x[b] ^ x[c], 7)
    for _ in range(10):
        quarter(0, 4, 8, 12); quarter(1, 5, 9, 13); quarter(2, 6, 10, 14); quarter(3, 7, 11, 15)
        quarter(0, 5, 10, 15); quarter(1, 6, 11, 12); quarter(2, 7, 8, 13); quarter(3, 4, 9, 14)
    return [(a + b) & M for a, b in zip(x, s)]


def word(key, step, i):
    o = block(key, i // 8, step)
    return o[2 * (i % 8)] | o[2 * (i % 8) + 1] << 32


def normal(step, index):
    g, i = divmod(index, 128)
    m, r = divmod(i, 32)
    at = 8 * (16 * g + r % 16) + 2 * m
    x, y = word(NOISE, step, at), word(NOISE, step, at + 1)
    w = [word(TAIL, step, 64 * g + 16 * m + r % 16 + (j << 61)) for j in range(4)]
    u = mpf(x << 128 | w[0] << 64 | w[1]) / mpf(2) ** 192 + mpf(2) ** -193
    t = mpf((y & (1 << 52) - 1) << 128 | w[2] << 64 | w[3]) / mpf(2) ** 180
    t += mpf(2) ** -181 - mpf(1) / 2
    radius = sqrt(-2 * log(u))
    if r >= 16:
        return radius * sin(pi * t)
    return radius * cos(pi * t) * (-1 if y >> 63 else 1)


# Two of the default kind, two of either sign, one with u below 2^-12, one with u near 1.
for step, index, f in [(0, 0, 2.0 ** 40), (3, 17, 1.3e12), (5, 100, 3.0), (9, 45, 7.7e8),
                       (27, 232, 2.0 ** 40), (17, 443, 1.1e12)]:
    z = normal(step, index)
    bound = floor(mpf(f) * z) + mpf(1) / 2
    acc = bound - mpf(f) * z
    below = float(acc)
    if mpf(below) >= acc:
        below = math.nextafter(below, -math.inf)
    above = math.nextafter(below, math.inf)
    assert mpf(below) < acc < mpf(above)
    print("{ %d, %d, %r, %.1f, %s, %s }   %s" % (step, index, f, float(bound), below.hex(),
                                                 above.hex(), nstr(z, 20)))
