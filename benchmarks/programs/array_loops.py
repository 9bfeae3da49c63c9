"""Loops over the elements of declared arrays, the same text for Flambeau, Numba and Python."""

from __future__ import annotations

import numpy as np


def prefix_sums(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        out[i] = total
    return out


def matmul(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    return c


def matmul_by_rows(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def histogram(x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    for i in range(len(counts)):
        counts[i] = 0
    for i in range(len(x)):
        counts[x[i]] += 1
    return counts


def life(grid: np.ndarray, out: np.ndarray) -> np.ndarray:
    for i in range(1, grid.shape[0] - 1):
        for j in range(1, grid.shape[1] - 1):
            n = (
                grid[i - 1, j - 1] + grid[i - 1, j] + grid[i - 1, j + 1] + grid[i, j - 1]
                + grid[i, j + 1] + grid[i + 1, j - 1] + grid[i + 1, j] + grid[i + 1, j + 1]
            )  # fmt: skip
            if n == 3 or (n == 2 and grid[i, j] == 1):
                out[i, j] = 1
            else:
                out[i, j] = 0
    return out


def life_on_a_torus(grid: np.ndarray, out: np.ndarray) -> np.ndarray:
    h, w = grid.shape[0], grid.shape[1]
    for i in range(h):
        for j in range(w):
            n = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di != 0 or dj != 0:
                        n += grid[(i + di) % h, (j + dj) % w]
            if n == 3 or (n == 2 and grid[i, j] == 1):
                out[i, j] = 1
            else:
                out[i, j] = 0
    return out


def edit_distance(a: np.ndarray, b: np.ndarray, d: np.ndarray) -> int:
    n, m = len(a), len(b)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return int(d[n, m])


def shortest_paths(graph: np.ndarray, d: np.ndarray) -> np.ndarray:
    n = d.shape[0]
    for i in range(n):
        for j in range(n):
            d[i, j] = graph[i, j]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through
    return d


def smooth(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    n = len(x)
    for i in range(n):
        total = x[i]
        if i > 0:
            total += x[i - 1]
        if i < n - 1:
            total += x[i + 1]
        out[i] = total
    return out
