"""NumPy's form of the loops: whole arrays wherever that is natural."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def mandelbrot(width: int, height: int, limit: int) -> Array:
    x = -2.0 + 3.0 * np.arange(width) / width
    y = -1.25 + 2.5 * np.arange(height) / height
    counts = np.zeros((height, width), np.int64)
    c = (x[None, :] + 1j * y[:, None]).ravel()
    z = np.zeros_like(c)
    places = np.arange(c.size)
    flat = counts.reshape(-1)
    for _ in range(limit):
        z = z * z + c
        flat[places] += 1
        stays = z.real * z.real + z.imag * z.imag <= 4.0
        z, c, places = z[stays], c[stays], places[stays]
    return counts


def nbody(start: Array, speed: Array, mass: Array, steps: int, dt: float) -> Array:
    p, v = start.copy(), speed.copy()
    for _ in range(steps):
        d = p[None, :, :] - p[:, None, :]
        square = (d * d).sum(-1)
        np.fill_diagonal(square, 1.0)
        v += dt * (d * (mass[None, :, None] / (square * np.sqrt(square))[:, :, None])).sum(1)
        p += dt * v
    return p


def collatz(limit: int) -> int:
    n = np.arange(2, limit)
    steps = 0
    while n.size:
        n = np.where(n % 2 == 0, n // 2, 3 * n + 1)
        n = n[n != 1]
        steps += 1
    return steps


def levenshtein(a: Array, b: Array) -> int:
    places = np.arange(b.size + 1)
    row = places.copy()
    for i in range(a.size):
        after = row + 1
        np.minimum(after[1:], row[:-1] + (b != a[i]), out=after[1:])
        row = np.minimum.accumulate(after - places) + places
    return int(row[-1])


def floyd_warshall(graph: Array) -> Array:
    d = graph.copy()
    for k in range(d.shape[0]):
        np.minimum(d, d[:, k, None] + d[None, k, :], out=d)
    return d


def seidel2d(grid: Array, sweeps: int) -> Array:
    a = grid.copy()
    n = a.shape[0]
    for _ in range(sweeps):
        for i in range(1, n - 1):
            a[i, 1:-1] += a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:]
            a[i, 1:-1] += a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            for j in range(1, n - 1):
                a[i, j] = (a[i, j] + a[i, j - 1]) / 9.0
    return a


def jacobi2d(grid: Array, sweeps: int) -> Array:
    a, b = grid.copy(), grid.copy()
    for _ in range(sweeps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a


def cholesky(matrix: Array) -> Array:
    a = np.tril(matrix)
    for k in range(a.shape[0]):
        a[k, k] = np.sqrt(a[k, k] - a[k, :k] @ a[k, :k])
        a[k + 1 :, k] = (a[k + 1 :, k] - a[k + 1 :, :k] @ a[k, :k]) / a[k, k]
    return a


def lu(matrix: Array) -> Array:
    a = matrix.copy()
    for k in range(a.shape[0]):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[None, k, k + 1 :]
    return a


def sieve(limit: int) -> int:
    prime = np.ones(limit, np.bool_)
    prime[:2] = False
    for i in range(2, int(limit**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return int(prime.sum())


def fft(real: Array, imaginary: Array) -> tuple[Array, Array]:
    """The same butterflies, a stage at a time."""
    x = (real + 1j * imaginary).reshape(1, -1)
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        low, high = x[:, :half], x[:, half:]
        iteration = np.exp(-1j * np.pi * np.arange(x.shape[0]) / x.shape[0])[:, None]
        x = np.concatenate((low + iteration * high, low - iteration * high), axis=0)
    return x[:, 0].real, x[:, 0].imag


def power_iteration(a: Array, start: Array, tolerance: float, limit: int) -> Array:
    v, change, steps = start, 1.0, 0
    while change > tolerance and steps < limit:
        w = a @ v
        w = w / np.sqrt((w * w).sum())
        change = float(np.abs(w - v).max())
        v = w
        steps += 1
    return v


def kmeans(points: Array, start: Array, tolerance: float) -> Array:
    centres = start
    moved = 1.0
    while moved > tolerance:
        nearest = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(-1).argmin(1)
        counts = np.bincount(nearest, minlength=len(centres)).astype(points.dtype)
        sums = np.stack([np.bincount(nearest, column, len(centres)) for column in points.T], 1).astype(points.dtype)
        after = sums / np.maximum(counts, 1)[:, None]
        moved = float(np.abs(after - centres).max())
        centres = after
    return centres


def newton(c: Array, tolerance: float) -> Array:
    x = c
    while np.abs(x * x * x - c).max() > tolerance:
        x = x - (x * x * x - c) / (3.0 * x * x)
    return x


def life(board: Array, limit: int) -> Array:
    cells = board
    for _ in range(limit):
        p = np.pad(cells, 1)
        around = (
            p[:-2, :-2] + p[:-2, 1:-1] + p[:-2, 2:] + p[1:-1, :-2]
            + p[1:-1, 2:] + p[2:, :-2] + p[2:, 1:-1] + p[2:, 2:]
        )  # fmt: skip
        after = ((around == 3) | ((around == 2) & (cells == 1))).astype(cells.dtype)
        if (after == cells).all():
            return after
        cells = after
    return cells
