"""JAX's form of the loops: fori and while loops, whole arrays inside; imported only where JAX is installed."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

Array = Any


def mandelbrot(width: int, height: int, limit: int) -> Array:
    x = jnp.broadcast_to(-2.0 + 3.0 * jnp.arange(width) / width, (height, width))
    y = jnp.broadcast_to((-1.25 + 2.5 * jnp.arange(height) / height)[:, None], (height, width))

    def step(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        a, b, n = state
        inside = a * a + b * b <= 4.0
        after = jnp.where(inside, a * a - b * b + x, a), jnp.where(inside, 2.0 * a * b + y, b)
        return (*after, n + inside)

    zeros = jnp.zeros((height, width))
    return lax.fori_loop(0, limit, step, (zeros, zeros, jnp.zeros((height, width), jnp.int64)))[2]


def nbody(start: Array, speed: Array, mass: Array, steps: int, dt: float) -> Array:
    eye = jnp.eye(start.shape[0])

    def step(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        p, v = state
        d = p[None, :, :] - p[:, None, :]
        square = (d * d).sum(-1) + eye
        v = v + dt * (d * (mass[None, :, None] / (square * jnp.sqrt(square))[:, :, None])).sum(1)
        return p + dt * v, v

    return lax.fori_loop(0, steps, step, (start, speed))[0]


def collatz(limit: int) -> Array:
    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        n, steps = state
        return jnp.where(n == 1, 1, jnp.where(n % 2 == 0, n // 2, 3 * n + 1)), steps + 1

    return lax.while_loop(lambda s: (s[0] != 1).any(), step, (jnp.arange(1, limit), jnp.int64(0)))[1]


def levenshtein(a: Array, b: Array) -> Array:
    places = jnp.arange(b.size + 1)

    def step(row: Array, letter: Array) -> tuple[Array, None]:
        after = (row + 1).at[1:].min(row[:-1] + (b != letter))
        return lax.cummin(after - places) + places, None

    return lax.scan(step, places, a)[0][-1]


def floyd_warshall(graph: Array) -> Array:
    return lax.fori_loop(0, graph.shape[0], lambda k, d: jnp.minimum(d, d[:, k, None] + d[None, k, :]), graph)


def seidel2d(grid: Array, sweeps: int) -> Array:
    n = grid.shape[0]

    def along(left: Array, known: Array) -> tuple[Array, Array]:
        new = (known + left) / 9.0
        return new, new

    def row(i: Array, a: Array) -> Array:
        up, here, down = a[i - 1], a[i], a[i + 1]
        known = up[:-2] + up[1:-1] + up[2:] + here[1:-1] + here[2:] + down[:-2] + down[1:-1] + down[2:]
        return a.at[i, 1:-1].set(lax.scan(along, here[0], known)[1])

    return lax.fori_loop(0, sweeps, lambda _, a: lax.fori_loop(1, n - 1, row, a), grid)


def jacobi2d(grid: Array, sweeps: int) -> Array:
    def half(a: Array, b: Array) -> Array:
        inner = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        return b.at[1:-1, 1:-1].set(inner)

    def step(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        a, b = state
        b = half(a, b)
        return half(b, a), b

    return lax.fori_loop(0, sweeps, step, (grid, grid))[0]


def cholesky(matrix: Array) -> Array:
    n = matrix.shape[0]
    places = jnp.arange(n)

    def column(k: Array, a: Array) -> Array:
        before = jnp.where(places < k, a[k], 0.0)
        rest = a[:, k] - a @ before
        return a.at[:, k].set(jnp.where(places >= k, rest / jnp.sqrt(rest[k]), 0.0))

    return lax.fori_loop(0, n, column, matrix)


def lu(matrix: Array) -> Array:
    n = matrix.shape[0]
    places = jnp.arange(n)

    def column(k: Array, a: Array) -> Array:
        below = jnp.where(places > k, a[:, k] / a[k, k], 0.0)
        right = jnp.where(places > k, a[k], 0.0)
        return (a - below[:, None] * right[None, :]).at[:, k].set(jnp.where(places > k, below, a[:, k]))

    return lax.fori_loop(0, n, column, matrix)


def crc16(data: Array) -> Array:
    def bit(_: Array, crc: Array) -> Array:
        return jnp.where(crc & 0x8000 != 0, (crc << 1) ^ 0x1021, crc << 1) & 0xFFFF

    def byte(i: Array, crc: Array) -> Array:
        return lax.fori_loop(0, 8, bit, crc ^ (data[i].astype(jnp.int32) << 8))

    return lax.fori_loop(0, data.size, byte, jnp.int32(0xFFFF))


def sieve(limit: int) -> Array:
    places = jnp.arange(limit, dtype=jnp.int32)

    def strike(i: Array, prime: Array) -> Array:
        return lax.cond(prime[i], lambda p: p & ((places < i * i) | (places % i != 0)), lambda p: p, prime)

    last = int((limit - 1) ** 0.5) + 1
    return lax.fori_loop(2, last, strike, places >= 2).sum()


def fft(real: Array, imaginary: Array) -> tuple[Array, Array]:
    x = lax.complex(real, imaginary).reshape(1, -1)
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        iteration = jnp.exp(-1j * jnp.pi * jnp.arange(x.shape[0]) / x.shape[0])[:, None]
        turned = iteration * x[:, half:]
        x = jnp.concatenate((x[:, :half] + turned, x[:, :half] - turned), axis=0)
    return x[:, 0].real, x[:, 0].imag


def power_iteration(a: Array, start: Array, tolerance: float, limit: int) -> Array:
    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        v, _, steps = state
        w = a @ v
        w = w / jnp.sqrt((w * w).sum())
        return w, jnp.abs(w - v).max(), steps + 1

    first = start, jnp.ones((), start.dtype), jnp.int32(0)
    return lax.while_loop(lambda s: (s[1] > tolerance) & (s[2] < limit), step, first)[0]


def newton(c: Array, tolerance: float) -> Array:
    return lax.while_loop(
        lambda x: jnp.abs(x * x * x - c).max() > tolerance, lambda x: x - (x * x * x - c) / (3.0 * x * x), c
    )


def kmeans(points: Array, start: Array, tolerance: float) -> Array:
    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        centres, _ = state
        nearest = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(-1).argmin(1)
        sums = jnp.zeros_like(centres).at[nearest].add(points)
        counts = jnp.zeros(len(centres), points.dtype).at[nearest].add(1.0)
        after = sums / jnp.maximum(counts, 1.0)[:, None]
        return after, jnp.abs(after - centres).max()

    return lax.while_loop(lambda s: s[1] > tolerance, step, (start, jnp.ones((), start.dtype)))[0]


def life(board: Array, limit: int) -> Array:
    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        cells, _, steps = state
        p = jnp.pad(cells, 1)
        around = (
            p[:-2, :-2] + p[:-2, 1:-1] + p[:-2, 2:] + p[1:-1, :-2]
            + p[1:-1, 2:] + p[2:, :-2] + p[2:, 1:-1] + p[2:, 2:]
        )  # fmt: skip
        after = ((around == 3) | ((around == 2) & (cells == 1))).astype(cells.dtype)
        return after, (after != cells).any(), steps + 1

    return lax.while_loop(lambda s: s[1] & (s[2] < limit), step, (board, jnp.bool_(True), jnp.int32(0)))[0]
