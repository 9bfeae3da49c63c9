"""Loops over numbers and elements, written as one writes them for Numba."""

from __future__ import annotations

import math

import flambeau
from flambeau import Tensor


def mandelbrot(width: int, height: int, limit: int) -> Tensor:
    counts = flambeau.zeros([height, width], dtype=flambeau.int64)
    for row in range(height):
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


def nbody(start: Tensor, speed: Tensor, mass: Tensor, steps: int, dt: float) -> Tensor:
    p = start.clone()
    v = speed.clone()
    count = p.size(0)
    for _ in range(steps):
        for i in range(count):
            for j in range(i + 1, count):
                dx = float(p[i, 0] - p[j, 0])
                dy = float(p[i, 1] - p[j, 1])
                dz = float(p[i, 2] - p[j, 2])
                square = dx * dx + dy * dy + dz * dz
                pull = dt / (square * math.sqrt(square))
                mi = float(mass[i]) * pull
                mj = float(mass[j]) * pull
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
    for start in range(1, limit):
        n = start
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        best = max(best, steps)
    return best


def levenshtein(a: Tensor, b: Tensor) -> int:
    n = b.size(0)
    before = flambeau.arange(n + 1)
    row = flambeau.zeros([n + 1], dtype=flambeau.int64)
    for i in range(a.size(0)):
        row[0] = i + 1
        for j in range(n):
            cost = int(before[j]) + (0 if int(a[i]) == int(b[j]) else 1)
            row[j + 1] = min(cost, min(int(before[j + 1]), int(row[j])) + 1)
        before, row = row, before
    return int(before[n])


def floyd_warshall(graph: Tensor) -> Tensor:
    d = graph.clone()
    n = d.size(0)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = int(d[i, k]) + int(d[k, j])
                if through < int(d[i, j]):
                    d[i, j] = through
    return d


def seidel2d(grid: Tensor, sweeps: int) -> Tensor:
    a = grid.clone()
    n = a.size(0)
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                    + a[i, j - 1] + a[i, j] + a[i, j + 1]
                    + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return a


def jacobi2d(grid: Tensor, sweeps: int) -> Tensor:
    a = grid.clone()
    b = grid.clone()
    n = a.size(0)
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    return a


def cholesky(matrix: Tensor) -> Tensor:
    a = matrix.clone()
    n = a.size(0)
    for i in range(n):
        for j in range(i):
            total = float(a[i, j])
            for k in range(j):
                total -= float(a[i, k]) * float(a[j, k])
            a[i, j] = total / float(a[j, j])
        total = float(a[i, i])
        for k in range(i):
            total -= float(a[i, k]) * float(a[i, k])
        a[i, i] = math.sqrt(total)
        for j in range(i + 1, n):
            a[i, j] = 0.0
    return a


def lu(matrix: Tensor) -> Tensor:
    a = matrix.clone()
    n = a.size(0)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            factor = float(a[i, k])
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
    return a


def crc16(data: Tensor) -> int:
    crc = 0xFFFF
    for i in range(data.size(0)):
        crc = crc ^ (int(data[i]) << 8)
        for _ in range(8):
            crc = crc << 1
            if crc & 0x10000 != 0:
                crc = crc ^ 0x11021
    return crc


def sieve(limit: int) -> int:
    composite = flambeau.zeros([limit], dtype=flambeau.bool)  # type: ignore[attr-defined]
    count = 0
    for i in range(2, limit):
        if not bool(composite[i]):
            count += 1
            j = i * i
            while j < limit:
                composite[j] = True
                j += i
    return count


def fft(real: Tensor, imaginary: Tensor) -> tuple[Tensor, Tensor]:
    re = real.clone()
    im = imaginary.clone()
    n = re.size(0)
    j = 0
    for i in range(1, n):
        bit = n // 2
        while j >= bit:
            j -= bit
            bit = bit // 2
        j += bit
        if i < j:
            a = float(re[i])
            b = float(im[i])
            re[i] = float(re[j])
            im[i] = float(im[j])
            re[j] = a
            im[j] = b
    size = 2
    while size <= n:
        half = size // 2
        for k in range(half):
            angle = -6.283185307179586 * k / size
            c = math.cos(angle)
            s = math.sin(angle)
            for start in range(0, n, size):
                low = start + k
                high = low + half
                x = float(re[high]) * c - float(im[high]) * s
                y = float(re[high]) * s + float(im[high]) * c
                re[high] = float(re[low]) - x
                im[high] = float(im[low]) - y
                re[low] += x
                im[low] += y
        size *= 2
    return re, im
