"""Points: distances, clusters, forces, as users of Numba write them: one text for it, for Python and for Flambeau."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.programs.numba_users.examples import example, random


@example(lambda n: (random(10).rand(n), random(11).rand(n)), 200, small=12)
def kendall(x, y):
    n = len(x)
    c = 0
    d = 0
    for i in range(n):
        for j in range(i + 1, n):
            s = (x[i] - x[j]) * (y[i] - y[j])
            if s > 0:
                c += 1
            elif s < 0:
                d += 1
    return (c - d) / (n * (n - 1) / 2)


@example(lambda n: (random(14).rand(n, 2), 0.05, 3), 300, small=20)
def dbscan(x, eps, minpts):
    n = x.shape[0]
    lab = np.full(n, -2)
    c = -1
    queue = np.empty(n * n, dtype=np.int64)
    for i in range(n):
        if lab[i] != -2:
            continue
        cnt = 0
        for j in range(n):
            if (x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2 <= eps * eps:
                cnt += 1
        if cnt < minpts:
            lab[i] = -1
            continue
        c += 1
        lab[i] = c
        head = 0
        tail = 0
        queue[tail] = i
        tail += 1
        while head < tail:
            p = queue[head]
            head += 1
            cnt = 0
            for j in range(n):
                if (x[p, 0] - x[j, 0]) ** 2 + (x[p, 1] - x[j, 1]) ** 2 <= eps * eps:
                    cnt += 1
            if cnt >= minpts:
                for j in range(n):
                    if (x[p, 0] - x[j, 0]) ** 2 + (x[p, 1] - x[j, 1]) ** 2 <= eps * eps:
                        if lab[j] < 0:
                            if lab[j] == -2:
                                queue[tail] = j
                                tail += 1
                            lab[j] = c
    return lab


@example(lambda n: (random(34).rand(n, 3), 4, 5), 500, small=20)
def kmeans(X, k, it):
    n, d = X.shape
    C = X[:k].copy()
    lab = np.zeros(n, dtype=np.int64)
    for _ in range(it):
        for i in range(n):
            best = np.inf
            for c in range(k):
                s = 0.0
                for j in range(d):
                    s += (X[i, j] - C[c, j]) ** 2
                if s < best:
                    best = s
                    lab[i] = c
        C = np.zeros((k, d))
        cnt = np.zeros(k)
        for i in range(n):
            cnt[lab[i]] += 1
            for j in range(d):
                C[lab[i], j] += X[i, j]
        for c in range(k):
            for j in range(d):
                C[c, j] /= max(cnt[c], 1)
    return lab, C


def accel(x, m, a):
    n = x.shape[0]
    for i in range(n):
        for k in range(3):
            a[i, k] = 0.0
        for j in range(n):
            if i != j:
                dx = x[j, 0] - x[i, 0]
                dy = x[j, 1] - x[i, 1]
                dz = x[j, 2] - x[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + 1e-3
                inv = m[j] / (r2 * math.sqrt(r2))
                a[i, 0] += dx * inv
                a[i, 1] += dy * inv
                a[i, 2] += dz * inv


@example(lambda n: (random(42).rand(n, 3), random(43).rand(n, 3), random(44).rand(n), 0.01, 20), 12, small=3)
def nbody_rk4(x0, v0, m, dt, steps):
    x = x0.copy()
    v = v0.copy()
    k1 = np.zeros_like(x)
    k2 = np.zeros_like(x)
    k3 = np.zeros_like(x)
    k4 = np.zeros_like(x)
    for _ in range(steps):
        accel(x, m, k1)
        v2 = v + 0.5 * dt * k1
        accel(x + 0.5 * dt * v, m, k2)
        v3 = v + 0.5 * dt * k2
        accel(x + 0.5 * dt * v2, m, k3)
        v4 = v + dt * k3
        accel(x + dt * v3, m, k4)
        x = x + dt / 6 * (v + 2 * v2 + 2 * v3 + v4)
        v = v + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


@example(lambda n: (random(45).rand(n, 2) * 10, 1.0, 10.0), 400, small=30)
def cell_list_energy(x, rc, box):
    n = x.shape[0]
    nc = int(box / rc)
    head = np.full((nc, nc), -1)
    nxt = np.full(n, -1)
    for i in range(n):
        cx = int(x[i, 0] / box * nc) % nc
        cy = int(x[i, 1] / box * nc) % nc
        nxt[i] = head[cx, cy]
        head[cx, cy] = i
    e = 0.0
    for cx in range(nc):
        for cy in range(nc):
            for ox in range(-1, 2):
                for oy in range(-1, 2):
                    i = head[cx, cy]
                    while i >= 0:
                        j = head[(cx + ox) % nc, (cy + oy) % nc]
                        while j >= 0:
                            if i < j:
                                dx = x[i, 0] - x[j, 0]
                                dy = x[i, 1] - x[j, 1]
                                dx -= box * round(dx / box)
                                dy -= box * round(dy / box)
                                r2 = dx * dx + dy * dy
                                if r2 < rc * rc:
                                    s = 1.0 / (r2 + 0.1)
                                    s3 = s * s * s
                                    e += 4.0 * (s3 * s3 - s3)
                            j = nxt[j]
                        i = nxt[i]
    return e


@example(lambda n: (random(58).rand(n, 3),), 200, small=9)
def pairwise(x):
    n, d = x.shape
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(d):
                t = x[i, k] - x[j, k]
                s += t * t
            out[i, j] = math.sqrt(s)
    return out


@example(lambda n: (random(12).rand(n), random(13).rand(n)), 3, small=3)
def cross3(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
