"""Random numbers, as users of Numba write them: one text for it, for Python and for Flambeau."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.programs.numba_users.examples import example, random


@example(lambda n: (random(7).rand(n), n), 100, small=7)
def bootstrap(x, n):
    np.random.seed(1)
    m = len(x)
    out = np.empty(n)
    for b in range(n):
        s = 0.0
        for i in range(m):
            s += x[np.random.randint(0, m)]
        out[b] = s / m
    return out


@example(lambda n: (random(8).rand(n), random(9).rand(n), 100), 60, small=6)
def permutation_test(a, b, n):
    np.random.seed(0)
    z = np.concatenate((a, b))
    na = len(a)
    obs = abs(a.mean() - b.mean())
    hits = 0
    for _ in range(n):
        np.random.shuffle(z)
        if abs(z[:na].mean() - z[na:].mean()) >= obs:
            hits += 1
    return hits / n


@example(lambda n: (20, n, 0.4), 50, small=10)
def ising(n, steps, beta):
    np.random.seed(3)
    s = np.ones((n, n), dtype=np.int64)
    for _ in range(steps):
        i = np.random.randint(0, n)
        j = np.random.randint(0, n)
        e = 2 * s[i, j] * (s[(i + 1) % n, j] + s[(i - 1) % n, j] + s[i, (j + 1) % n] + s[i, (j - 1) % n])
        if e <= 0 or np.random.random() < math.exp(-beta * e):
            s[i, j] = -s[i, j]
    return s


@example(lambda n: (n,), 100, small=10)
def seeded_ints(n):
    np.random.seed(5)
    s = 0
    for _ in range(n):
        s += np.random.randint(0, 10)
    return s


@example(lambda n: (n,), 2000, small=20)
def metropolis(n):
    np.random.seed(11)
    x = 0.0
    s = 0.0
    acc = 0
    for _ in range(n):
        y = x + np.random.normal(0.0, 1.0)
        a = math.exp(-0.5 * (y * y - x * x))
        if np.random.random() < a:
            x = y
            acc += 1
        s += x
    return s / n, acc


@example(lambda n: (random(30).randn(n), 2 * n), 50, small=5)
def particle_filter(obs, n):
    np.random.seed(2)
    p = np.random.normal(0.0, 1.0, n)
    w = np.empty(n)
    est = np.empty(len(obs))
    for t in range(len(obs)):
        tot = 0.0
        for i in range(n):
            p[i] += np.random.normal(0.0, 0.5)
            w[i] = math.exp(-0.5 * (obs[t] - p[i]) ** 2)
            tot += w[i]
        m = 0.0
        for i in range(n):
            w[i] /= tot
            m += w[i] * p[i]
        est[t] = m
        u = np.random.random() / n
        c = w[0]
        j = 0
        new = np.empty(n)
        for i in range(n):
            while u > c and j < n - 1:
                j += 1
                c += w[j]
            new[i] = p[j]
            u += 1.0 / n
        p = new
    return est
