"""Matrices and equations, as users of Numba write them: one text for it, for Python and for Flambeau."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.programs.numba_users.examples import definite, example, random


@example(lambda n: (random(1).rand(n, n) + n * np.eye(n),), 12, small=5)
@example(lambda n: (random(1).rand(n, n) + n * np.eye(n),), 80, small=6)
def lu(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k] = f
            for j in range(k + 1, n):
                a[i, j] -= f * a[k, j]
    return a


@example(lambda n: (random(35).rand(n), random(36).rand(n) + 3, random(37).rand(n), random(38).rand(n)), 500, small=9)
def thomas(a, b, c, d):
    n = len(d)
    cp = np.empty(n)
    dp = np.empty(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.empty(n)
    x[n - 1] = dp[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


@example(lambda n: (definite(n), random(40).rand(n), 30), 50, small=5)
def conj_grad(A, b, it):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for _ in range(it):
        Ap = A @ p
        al = rs / (p @ Ap)
        x += al * p
        r -= al * Ap
        rn = r @ r
        if math.sqrt(rn) < 1e-10:
            break
        p = r + (rn / rs) * p
        rs = rn
    return x


def smooth(u, f, h, it):
    n = len(u)
    for _ in range(it):
        for i in range(1, n - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + h * h * f[i])


def vcycle(u: np.ndarray, f: np.ndarray, h: float) -> None:
    n = len(u)
    smooth(u, f, h, 2)
    if n <= 3:
        return
    r = np.zeros(n)
    for i in range(1, n - 1):
        r[i] = f[i] + (u[i - 1] - 2 * u[i] + u[i + 1]) / (h * h)
    m = (n - 1) // 2 + 1
    rc = np.zeros(m)
    for i in range(1, m - 1):
        rc[i] = 0.25 * r[2 * i - 1] + 0.5 * r[2 * i] + 0.25 * r[2 * i + 1]
    e = np.zeros(m)
    vcycle(e, rc, 2 * h)
    for i in range(m - 1):
        u[2 * i] += e[i]
        u[2 * i + 1] += 0.5 * (e[i] + e[i + 1])
    smooth(u, f, h, 2)


@example(lambda n: (random(41).rand(n), 3), 257, small=17)
def multigrid(f, it):
    u = np.zeros(len(f))
    for _ in range(it):
        vcycle(u, f, 1.0 / (len(f) - 1))
    return u


@example(lambda n: (random(59).rand(n, n - 1), random(60).rand(n - 1, n + 10)), 40, small=5)
def matmul(a, b):
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            s = 0.0
            for k in range(m):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


@example(lambda n: (random(64).rand(n, n) + n * np.eye(n),), 20, small=5)
def cholesky(a):
    a = a @ a.T
    n = a.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, j] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return L


@example(lambda n: (np.asfortranarray(random(53).rand(n, 80)),), 100, small=7)
@example(lambda n: (random(53).rand(2 * n, 160)[::2, ::2],), 101, small=6)
def col_sums(a):
    n, m = a.shape
    s = np.zeros(m)
    for i in range(n):
        for j in range(m):
            s[j] += a[i, j]
    return s


@example(lambda n: (random(22).rand(n) + 1j * random(23).rand(n),), 256, small=8)
def fft(x):
    n = len(x)
    y = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            t = y[i]
            y[i] = y[j]
            y[j] = t
    size = 2
    while size <= n:
        ang = -2.0 * math.pi / size
        wl = complex(math.cos(ang), math.sin(ang))
        for i in range(0, n, size):
            w = complex(1.0, 0.0)
            for k in range(size // 2):
                u = y[i + k]
                v = y[i + k + size // 2] * w
                y[i + k] = u + v
                y[i + k + size // 2] = u - v
                w *= wl
        size <<= 1
    return y
