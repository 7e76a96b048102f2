#!/usr/bin/env python3
"""Writes tests/vectors/secure.txt: the keyed generator in Python integers, the
normals from its words in 50 digits.

    python3 tests/gen/secure.py > tests/vectors/secure.txt

Not needed to run the tests.  Needs mpmath.
"""
import struct
from mpmath import mp, mpf, log, sqrt, sinpi, cospi, nstr

mp.dps = 50
KEY = bytes(range(32))
M = 0xFFFFFFFF


def rotl(x, k):
    return ((x << k) | (x >> (32 - k))) & M


def block(key, counter, nonce):
    s = list(struct.unpack("<4I", b"expand 32-byte k"))
    s += list(key)
    s += [counter & M, counter >> 32, nonce & M, nonce >> 32]
    x = s[:]

    def quarter(a, b, c, d):
        x[a] = (x[a] + x[b]) & M; x[d] = rotl(x[d] ^ x[a], 16)
        x[c] = (x[c] + x[d]) & M; x[b] = rotl(x[b] ^ x[c], 12)
        x[a] = (x[a] + x[b]) & M; x[d] = rotl(x[d] ^ x[a], 8)
        x[c] = (x[c] + x[d]) & M; x[b] = rotl(x[b] ^ x[c], 7)
    for _ in range(10):
        quarter(0, 4, 8, 12); quarter(1, 5, 9, 13)
        quarter(2, 6, 10, 14); quarter(3, 7, 11, 15)
        quarter(0, 5, 10, 15); quarter(1, 6, 11, 12)
        quarter(2, 7, 8, 13); quarter(3, 4, 9, 14)
    return [(a + b) & M for a, b in zip(x, s)]


def subkey(purpose):
    words = struct.unpack("<8I", KEY)
    return block(words, purpose, int.from_bytes(b"mcampkdf", "little"))[:8]


NOISE, TAIL, WORDS = subkey(1), subkey(2), subkey(4)


def word(key, step, index):
    b = block(key, index // 8, step)
    return b[2 * (index % 8)] | b[2 * (index % 8) + 1] << 32


def pair(x, more, y):
    """u from x, or for small x from as many more bits as x has leading zeros."""
    shift = 0
    if x < 1 << 52:
        shift = 64 if x == 0 else 64 - x.bit_length()
        x = ((x << 64 | more) >> (64 - shift)) & ((1 << 64) - 1)
    u = (mpf(x) + mpf(1) / 2) / mpf(2) ** (64 + shift)
    t = mpf(y & ((1 << 52) - 1)) / mpf(2) ** 52 - mpf(1) / 2
    r = sqrt(-2 * log(u))
    sign = -1 if y >> 63 else 1
    return r * sign * cospi(t), r * sinpi(t)


def normal(step, i):
    g, r = divmod(i, 128)
    m, h = divmod(r, 32)
    second, l = divmod(h, 16)
    b = block(NOISE, 16 * g + l, step)
    x = b[4 * m] | b[4 * m + 1] << 32
    y = b[4 * m + 2] | b[4 * m + 3] << 32
    return pair(x, word(TAIL, step, 64 * g + 16 * m + l), y)[second]


def text(v):
    return repr(float(v)) if v else "0.0"


print("# the keyed generator at the key 00 01 .. 1f; see README.md")
print("# word step index value / normal step index value / pair x more y p q")
for step, i in [(0, 0), (0, 1), (0, 7), (0, 8), (3, 127), (3, 128), (1 << 40, 12345),
                (7, (1 << 40) + 5), (7, (1 << 59) + 77)]:
    print("word", step, i, "%016x" % word(WORDS, step, i))
for step in (0, 1, 1 << 33):
    for i in list(range(0, 256, 5)) + [1000, (1 << 36) + 17, (1 << 59) + 99]:
        print("normal", step, i, text(normal(step, i)))
Y = [0, 1, 1 << 51, 0x8123456789ABCDEF, 0x7FFFFFFFFFFFFFFF, 0x000B504F333F9DE6]
X = [0, 1, 2, 0xFFF, 1 << 20, (1 << 52) - 1, 1 << 52, (1 << 52) + 1, 1 << 63,
     0xB504F333F9DE6000, 0xB504F333F9DE6FFF, 0xBFFFFFFFFFFFFFFF, 0xC000000000000800,
     0xC000000000000001, 0xFFFFFFFFFFFFFBFF, 0xFFFFFFFFFFFFFC00, 0xFFFFFFFFFFFFFFFE,
     0xFFFFFFFFFFFFFFFF, 0x123456789ABCDEF0]
for x in X:
    for more in (0, 0x9E3779B97F4A7C15) if x < 1 << 52 else (5,):
        for y in Y:
            p, q = pair(x, more, y)
            print("pair", "%016x" % x, "%016x" % more, "%016x" % y, text(p), text(q))
