"""Numba's form of the loops, over NumPy arrays. `prange` is that of whoever compiles; plain Python runs them too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

prange = range

PARALLEL = frozenset({"mandelbrot", "collatz", "floyd_warshall", "jacobi2d", "lu", "kmeans", "life", "newton"})
"""Those in which iterations can run at once."""


def mandelbrot(width: int, height: int, limit: int) -> Array:
    counts = np.zeros((height, width), np.int64)
    for row in prange(height):
        y = -1.25 + 2.5 * row / height
        for column in range(width):
            x = -2.0 + 3.0 * column / width
            a = 0.0
            b = 0.0
            n = 0
            while n < limit and a * a + b * b <= 4.0:
                t = a * a - b * b + x
                b = 2.0 * a * b + y
                a = t
                n += 1
            counts[row, column] = n
    return counts


def nbody(start: Array, speed: Array, mass: Array, steps: int, dt: float) -> Array:
    p = start.copy()
    v = speed.copy()
    count = p.shape[0]
    for _ in range(steps):
        for i in range(count):
            for j in range(i + 1, count):
                dx = p[i, 0] - p[j, 0]
                dy = p[i, 1] - p[j, 1]
                dz = p[i, 2] - p[j, 2]
                square = dx * dx + dy * dy + dz * dz
                pull = dt / (square * math.sqrt(square))
                mi = mass[i] * pull
                mj = mass[j] * pull
                v[i, 0] -= dx * mj
                v[i, 1] -= dy * mj
                v[i, 2] -= dz * mj
                v[j, 0] += dx * mi
                v[j, 1] += dy * mi
                v[j, 2] += dz * mi
        for i in range(count):
            for k in range(3):
                p[i, k] += dt * v[i, k]
    return p


def collatz(limit: int) -> int:
    best = 0
    for start in prange(1, limit):
        n = start
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        best = max(best, steps)
    return best


def levenshtein(a: Array, b: Array) -> Any:
    n = b.size
    before = np.arange(n + 1)
    row = np.zeros(n + 1, np.int64)
    for i in range(a.size):
        row[0] = i + 1
        for j in range(n):
            cost = before[j] + (0 if a[i] == b[j] else 1)
            row[j + 1] = min(cost, min(before[j + 1], row[j]) + 1)
        before, row = row, before
    return before[n]


def floyd_warshall(graph: Array) -> Array:
    d = graph.copy()
    n = d.shape[0]
    for k in range(n):
        for i in prange(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through
    return d


def seidel2d(grid: Array, sweeps: int) -> Array:
    a = grid.copy()
    n = a.shape[0]
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                    + a[i, j - 1] + a[i, j] + a[i, j + 1]
                    + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return a


def jacobi2d(grid: Array, sweeps: int) -> Array:
    a = grid.copy()
    b = grid.copy()
    n = a.shape[0]
    for _ in range(sweeps):
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    return a


def cholesky(matrix: Array) -> Array:
    a = matrix.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            a[i, j] = total / a[j, j]
        total = a[i, i]
        for k in range(i):
            total -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(total)
        for j in range(i + 1, n):
            a[i, j] = 0.0
    return a


def lu(matrix: Array) -> Array:
    a = matrix.copy()
    n = a.shape[0]
    for k in range(n):
        for i in prange(k + 1, n):
            a[i, k] /= a[k, k]
            factor = a[i, k]
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
    return a


def crc16(data: Array) -> Any:
    crc: Any = 0xFFFF
    for i in range(data.size):
        crc ^= np.int64(data[i]) << 8
        for _ in range(8):
            crc = crc << 1
            if crc & 0x10000:
                crc = crc ^ 0x11021
    return crc


def sieve(limit: int) -> int:
    composite = np.zeros(limit, np.bool_)
    count = 0
    for i in range(2, limit):
        if not composite[i]:
            count += 1
            j = i * i
            while j < limit:  # a range with such a step takes Numba twenty times as long
                composite[j] = True
                j += i
    return count


def fft(real: Array, imaginary: Array) -> tuple[Array, Array]:
    re = real.copy()
    im = imaginary.copy()
    n = re.size
    j = 0
    for i in range(1, n):
        bit = n // 2
        while j >= bit:
            j -= bit
            bit //= 2
        j += bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    size = 2
    while size <= n:
        half = size // 2
        for k in range(half):
            angle = -6.283185307179586 * k / size
            c = math.cos(angle)
            s = math.sin(angle)
            for low in range(k, n, size):
                high = low + half
                x = re[high] * c - im[high] * s
                y = re[high] * s + im[high] * c
                re[high] = re[low] - x
                im[high] = im[low] - y
                re[low] += x
                im[low] += y
        size *= 2
    return re, im


def power_iteration(a: Array, start: Array, tolerance: float, limit: int) -> Array:
    v = start
    change = 1.0
    steps = 0
    while change > tolerance and steps < limit:
        w = np.dot(a, v)
        w = w / np.sqrt((w * w).sum())
        change = np.abs(w - v).max()
        v = w
        steps += 1
    return v


def newton(c: Array, tolerance: float) -> Array:
    x = c.copy()
    off = 1.0
    while off > tolerance:
        off = 0.0
        for i in prange(x.size):
            off = max(off, abs(x[i] * x[i] * x[i] - c[i]))
        if off > tolerance:
            for i in prange(x.size):
                x[i] -= (x[i] * x[i] * x[i] - c[i]) / (3.0 * x[i] * x[i])
    return x


def kmeans(points: Array, start: Array, tolerance: float) -> Array:
    centres = start.copy()
    nearest = np.empty(points.shape[0], np.int64)
    moved = 1.0
    while moved > tolerance:
        for i in prange(points.shape[0]):
            least = np.float32(np.inf)
            for k in range(centres.shape[0]):
                distance = np.float32(0.0)
                for d in range(points.shape[1]):
                    distance += (points[i, d] - centres[k, d]) ** 2
                if distance < least:
                    least = distance
                    nearest[i] = k
        sums = np.zeros_like(centres)
        counts = np.zeros(centres.shape[0], np.float32)
        for i in range(points.shape[0]):
            counts[nearest[i]] += 1
            for d in range(points.shape[1]):
                sums[nearest[i], d] += points[i, d]
        moved = 0.0
        for k in range(centres.shape[0]):
            for d in range(centres.shape[1]):
                after = sums[k, d] / max(counts[k], np.float32(1.0))
                moved = max(moved, abs(after - centres[k, d]))
                centres[k, d] = after
    return centres


def life(board: Array, limit: int) -> Array:
    height, width = board.shape
    cells = np.zeros((height + 2, width + 2), board.dtype)
    cells[1:-1, 1:-1] = board
    after = cells.copy()
    changed = 1
    steps = 0
    while changed > 0 and steps < limit:
        changed = 0
        for i in prange(1, height + 1):
            for j in range(1, width + 1):
                around = (
                    cells[i - 1, j - 1] + cells[i - 1, j] + cells[i - 1, j + 1] + cells[i, j - 1]
                    + cells[i, j + 1] + cells[i + 1, j - 1] + cells[i + 1, j] + cells[i + 1, j + 1]
                )  # fmt: skip
                alive = 1 if around == 3 or (around == 2 and cells[i, j] == 1) else 0
                changed += alive != cells[i, j]
                after[i, j] = alive
        cells, after = after, cells
        steps += 1
    return cells[1:-1, 1:-1].copy()
