"""Numbers and words, as users of Numba write them: one text for it, for Python and for Flambeau."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.programs.numba_users.examples import example, random


@example(lambda n: (0.0, 3.0, n), 50, small=50)
def bisect(a, b, n):
    for _ in range(n):
        m = 0.5 * (a + b)
        if m * m * m - 2.0 * m - 5.0 > 0:
            b = m
        else:
            a = m
    return 0.5 * (a + b)


@example(lambda n: (random(12).rand(n), 0.5, 3), 5, small=4)
def short_call(x, a, k):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * a
    return s + k


@example(lambda n: (random(46).randint(0, 256, n).astype(np.uint8),), 2000, small=30)
def fnv1a(b):
    h = np.uint64(14695981039346656037)
    p = np.uint64(1099511628211)
    for i in range(len(b)):
        h = h ^ np.uint64(b[i])
        h = h * p
    return h


@example(lambda n: (random(46).randint(0, 2**32, n).astype(np.uint32),), 64, small=64)
def mix32(w):
    h = np.zeros(8, dtype=np.uint32)
    for i in range(8):
        h[i] = w[i]
    for r in range(64):
        a = h[0]
        b = h[4]
        s = (a >> np.uint32(2) | a << np.uint32(30)) ^ (a >> np.uint32(13) | a << np.uint32(19))
        t = (b & h[5]) ^ (~b & h[6])
        x = h[7] + s + t + w[r % 64]
        for k in range(7, 0, -1):
            h[k] = h[k - 1]
        h[0] = x
    return h


@example(lambda n: (np.arange(16, dtype=np.uint64) + np.uint64(7), n), 200, small=9)
def xorshift(s, n):
    out = np.empty(n, dtype=np.uint64)
    x = s[0]
    for i in range(n):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        out[i] = x
    return out


@example(lambda n: (random(47).randint(0, 2**62, n),), 1000, small=9)
def popcount(x):
    t = 0
    for i in range(len(x)):
        v = x[i]
        while v:
            v &= v - 1
            t += 1
    return t


@example(lambda n: (n,), 10000, small=60)
def sieve(n):
    s = np.ones(n + 1, dtype=np.bool_)
    s[0] = False
    s[1] = False
    i = 2
    while i * i <= n:
        if s[i]:
            for j in range(i * i, n + 1, i):
                s[j] = False
        i += 1
    return s.sum()


@example(lambda n: (3.0, 1.0), 2, small=2)
@example(lambda n: (3.0,), 1, small=1)
def with_defaults(a, b=2.0, c=0.5):
    def f(t):
        return t * a + b
    s = 0.0
    for i in range(10):
        s += f(i * c)
    return s


@example(lambda n: (n,), 1000, small=20)
def collatz_longest(n):
    best = 0
    arg = 0
    for i in range(1, n):
        c = 0
        k = i
        while k != 1:
            if k % 2 == 0:
                k //= 2
            else:
                k = 3 * k + 1
            c += 1
        if c > best:
            best = c
            arg = i
    return arg, best


@example(lambda n: (np.linspace(0.01, 3.0, n),), 500, small=9)
def gamma_series(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = math.sin(x[i]) ** 2 + math.cos(x[i]) + math.log(x[i]) + x[i] ** 1.5
    return out


@example(lambda n: (np.linspace(0.01, 3.0, n),), 1000, small=9)
def powers(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] ** 4 + x[i] ** -1.5 + x[i] ** 0.5
    return out


@example(lambda n: (100.0, 100.0, 0.05, 0.2, 1.0, n), 100, small=9)
def binomial_option(s, k, r, v, t, n):
    dt = t / n
    u = math.exp(v * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    disc = math.exp(-r * dt)
    vals = np.empty(n + 1)
    for i in range(n + 1):
        vals[i] = max(0.0, k - s * u ** i * d ** (n - i))
    for j in range(n - 1, -1, -1):
        for i in range(j + 1):
            vals[i] = max(disc * (p * vals[i + 1] + (1 - p) * vals[i]), k - s * u ** i * d ** (j - i))
    return vals[0]
