"""Graphs and sparse matrices, as users of Numba write them: one text for it, for Python and for Flambeau."""

from __future__ import annotations

import numpy as np

from benchmarks.programs.numba_users.examples import csr, example, random


@example(lambda n: (n, random(6).randint(0, n, (n + n // 3, 2))), 300, small=20)
def union_find(n, edges):
    parent = np.arange(n)
    count = n
    for e in range(edges.shape[0]):
        a = edges[e, 0]
        b = edges[e, 1]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            count -= 1
    return count


@example(lambda n: (*csr(n, 5), random(1).rand(n)), 2000, small=9)
def spmv(ptr, idx, val, x):
    n = len(ptr) - 1
    y = np.zeros(n)
    for i in range(n):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[idx[k]]
        y[i] = s
    return y


@example(lambda n: (*csr(n, 5), 0), 1000, small=12)
def dijkstra(ptr, idx, w, src):
    n = len(ptr) - 1
    dist = np.full(n, np.inf)
    hk = np.empty(len(idx) + 1)
    hv = np.empty(len(idx) + 1, dtype=np.int64)
    size = 1
    hk[0] = 0.0
    hv[0] = src
    dist[src] = 0.0
    while size > 0:
        d = hk[0]
        u = hv[0]
        size -= 1
        k = hk[size]
        v = hv[size]
        i = 0
        while True:
            c = 2 * i + 1
            if c >= size:
                break
            if c + 1 < size and hk[c + 1] < hk[c]:
                c += 1
            if hk[c] >= k:
                break
            hk[i] = hk[c]
            hv[i] = hv[c]
            i = c
        hk[i] = k
        hv[i] = v
        if d > dist[u]:
            continue
        for e in range(ptr[u], ptr[u + 1]):
            t = idx[e]
            nd = d + w[e]
            if nd < dist[t]:
                dist[t] = nd
                i = size
                size += 1
                while i > 0:
                    p = (i - 1) // 2
                    if hk[p] <= nd:
                        break
                    hk[i] = hk[p]
                    hv[i] = hv[p]
                    i = p
                hk[i] = nd
                hv[i] = t
    return dist


@example(lambda n: (*csr(n, 5)[:2], 10), 2000, small=12)
def pagerank(ptr, idx, it):
    n = len(ptr) - 1
    r = np.ones(n) / n
    for _ in range(it):
        new = np.full(n, 0.15 / n)
        for u in range(n):
            s = 0.85 * r[u] / (ptr[u + 1] - ptr[u])
            for k in range(ptr[u], ptr[u + 1]):
                new[idx[k]] += s
        r = new
    return r


@example(lambda n: csr(n, 4, 1) + csr(n, 4, 2), 300, small=7)
def spgemm(ap, ai, av, bp, bi, bv):
    n = len(ap) - 1
    acc = np.zeros(n)
    mark = np.full(n, -1)
    cp = np.zeros(n + 1, dtype=np.int64)
    cap = 16 * n
    ci = np.empty(cap, dtype=np.int64)
    cv = np.empty(cap)
    nnz = 0
    for i in range(n):
        start = nnz
        for k in range(ap[i], ap[i + 1]):
            a = av[k]
            r = ai[k]
            for l in range(bp[r], bp[r + 1]):
                j = bi[l]
                if mark[j] != i:
                    mark[j] = i
                    ci[nnz] = j
                    nnz += 1
                    acc[j] = 0.0
                acc[j] += a * bv[l]
        for k in range(start, nnz):
            cv[k] = acc[ci[k]]
        cp[i + 1] = nnz
    return cp, ci[:nnz], cv[:nnz]


def place(row: int, n: int, cols: np.ndarray) -> int:
    if row == n:
        return 1
    count = 0
    for c in range(n):
        ok = True
        for r in range(row):
            if cols[r] == c or abs(cols[r] - c) == row - r:
                ok = False
                break
        if ok:
            cols[row] = c
            count += place(row + 1, n, cols)
    return count


@example(lambda n: (n,), 7, small=5)
def queens(n):
    cols = np.zeros(n, dtype=np.int64)
    return place(0, n, cols)
