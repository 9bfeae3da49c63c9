"""Searches, sorts and counts, as users of Numba write them: one text for it, for Python and for Flambeau."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.programs.numba_users.examples import example, kd_tree, random


@example(lambda n: (random(0).rand(n), 32, 0.0, 1.0), 10000, small=40)
def histogram(x, bins, lo, hi):
    h = np.zeros(bins, dtype=np.int64)
    w = (hi - lo) / bins
    for i in range(len(x)):
        v = x[i]
        if v >= lo and v < hi:
            h[int((v - lo) / w)] += 1
    return h


@example(lambda n: (random(48).randint(0, 256, n).astype(np.uint8),), 5000, small=60)
def byte_counts(b):
    c = np.zeros(256, dtype=np.int64)
    for v in b:
        c[v] += 1
    return c


@example(lambda n: (random(57).randint(-5, 6, n), 7), 1000, small=20)
def find_first(x, v):
    for i in range(len(x)):
        if x[i] == v:
            break
    else:
        return -1
    return i


@example(lambda n: (random(49).rand(n), random(50).rand(n)), 1000, small=20)
def closest_pair_sorted(x, y):
    o = np.argsort(x)
    best = np.inf
    n = len(x)
    for i in range(n):
        for j in range(i + 1, n):
            dx = x[o[j]] - x[o[i]]
            if dx * dx >= best:
                break
            dy = y[o[j]] - y[o[i]]
            d = dx * dx + dy * dy
            if d < best:
                best = d
    return math.sqrt(best)


@example(lambda n: (random(54).rand(n), random(55).rand(20)), 200, small=9)
def interp_search(x, q):
    xs = np.sort(x)
    ys = np.cumsum(xs)
    k = np.searchsorted(xs, q)
    k = np.clip(k, 1, len(xs) - 1)
    t = (q - xs[k - 1]) / (xs[k] - xs[k - 1])
    return ys[k - 1] * (1 - t) + ys[k] * t


@example(lambda n: (random(56).randint(0, 50, n),), 500, small=30)
def unique_diff(x):
    u = np.unique(x)
    d = np.diff(u)
    return np.where(d > 1)[0], d.max()


def partition(a, lo, hi):
    p = a[(lo + hi) // 2]
    i = lo
    j = hi
    while i <= j:
        while a[i] < p:
            i += 1
        while a[j] > p:
            j -= 1
        if i <= j:
            t = a[i]
            a[i] = a[j]
            a[j] = t
            i += 1
            j -= 1
    return i, j


def qs(a: np.ndarray, lo: int, hi: int) -> None:
    if lo < hi:
        i, j = partition(a, lo, hi)
        qs(a, lo, j)
        qs(a, i, hi)


@example(lambda n: (random(24).rand(n),), 2000, small=20)
def quicksort(x):
    a = x.copy()
    qs(a, 0, len(a) - 1)
    return a


@example(lambda n: (random(24).rand(n),), 2000, small=20)
def mergesort(x):
    a = x.copy()
    n = len(a)
    b = np.empty_like(a)
    width = 1
    while width < n:
        i = 0
        while i < n:
            mid = min(i + width, n)
            hi = min(i + 2 * width, n)
            p = i
            q = mid
            for k in range(i, hi):
                if p < mid and (q >= hi or a[p] <= a[q]):
                    b[k] = a[p]
                    p += 1
                else:
                    b[k] = a[q]
                    q += 1
            i += 2 * width
        a, b = b, a
        width *= 2
    return a


@example(lambda n: (random(25).randint(0, 3, n),), 5000, small=30)
def run_length(x):
    n = len(x)
    vals = np.empty(n, dtype=x.dtype)
    lens = np.empty(n, dtype=np.int64)
    m = 0
    i = 0
    while i < n:
        j = i + 1
        while j < n and x[j] == x[i]:
            j += 1
        vals[m] = x[i]
        lens[m] = j - i
        m += 1
        i = j
    return vals[:m], lens[:m]


@example(lambda n: (random(65).rand(n), 25), 500, small=60)
def moving_max(x, w):
    n = len(x)
    out = np.empty(n - w + 1)
    dq = np.empty(n, dtype=np.int64)
    head = 0
    tail = 0
    for i in range(n):
        while tail > head and x[dq[tail - 1]] <= x[i]:
            tail -= 1
        dq[tail] = i
        tail += 1
        if dq[head] <= i - w:
            head += 1
        if i >= w - 1:
            out[i - w + 1] = x[dq[head]]
    return out


@example(lambda n: (random(26).rand(n), 9), 1000, small=20)
def rolling_median(x, w):
    n = len(x)
    out = np.full(n, np.nan)
    for i in range(w - 1, n):
        out[i] = np.median(x[i - w + 1:i + 1])
    return out


@example(lambda n: (random(32).rand(n, 4), random(33).randint(0, 2, n)), 300, small=12)
def tree_split(X, y):
    n, f = X.shape
    best = 1e9
    bf = -1
    bt = 0.0
    for j in range(f):
        order = np.argsort(X[:, j])
        l1 = 0
        tot1 = 0
        for i in range(n):
            tot1 += y[i]
        for k in range(n - 1):
            l1 += y[order[k]]
            nl = k + 1
            nr = n - nl
            if X[order[k], j] == X[order[k + 1], j]:
                continue
            pl = l1 / nl
            pr = (tot1 - l1) / nr
            g = nl * 2 * pl * (1 - pl) + nr * 2 * pr * (1 - pr)
            if g < best:
                best = g
                bf = j
                bt = 0.5 * (X[order[k], j] + X[order[k + 1], j])
    return bf, bt, best


@example(kd_tree, 511, small=15)
def kdtree_nearest(pts, tree, queries):
    out = np.empty(len(queries), dtype=np.int64)
    stack = np.empty(64, dtype=np.int64)
    axes = np.empty(64, dtype=np.int64)
    for q in range(len(queries)):
        best = 1e300
        bi = -1
        top = 1
        stack[0] = 0
        axes[0] = 0
        while top > 0:
            top -= 1
            node = stack[top]
            ax = axes[top]
            if node >= len(tree) or tree[node] < 0:
                continue
            p = tree[node]
            d = 0.0
            for k in range(2):
                d += (pts[p, k] - queries[q, k]) ** 2
            if d < best:
                best = d
                bi = p
            diff = queries[q, ax] - pts[p, ax]
            near = 2 * node + 1 if diff < 0 else 2 * node + 2
            far = 2 * node + 2 if diff < 0 else 2 * node + 1
            if diff * diff < best:
                stack[top] = far
                axes[top] = 1 - ax
                top += 1
            stack[top] = near
            axes[top] = 1 - ax
            top += 1
        out[q] = bi
    return out
