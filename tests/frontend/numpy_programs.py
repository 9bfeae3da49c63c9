"""Programs with what NumPy's users reach for: statistics, interpolation, padding, slices backwards, no annotations."""

from __future__ import annotations

import numpy as np

from tests.frontend.array_programs import PROGRAMS as ELEMENTARY
from tests.frontend.array_programs import program

rng = np.random.default_rng(11)
_FIRST = len(ELEMENTARY)


@program(rng.random(21), rng.integers(0, 9, 20), rng.random((4, 6)).astype(np.float32), np.array([1.0, np.nan]))
def order_statistics(x: np.ndarray, y: np.ndarray, z: np.ndarray, w: np.ndarray):
    middles = np.median(x), np.median(y), np.median(z), np.median(w)
    return middles, np.percentile(x, 90), np.quantile(y, 0.25), np.quantile(x, np.array([0.0, 0.3, 1.0]))


@program(rng.integers(0, 9, 20), np.array([1.0, np.nan, 1.0, np.nan, -0.0, 0.0]), np.zeros(0))
def distinct(x: np.ndarray, y: np.ndarray, nothing: np.ndarray):
    return np.unique(x), np.unique(y), np.unique(nothing)


@program(np.linspace(-1, 11, 20).reshape(4, 5), np.arange(11), np.arange(11) ** 2)
def interpolated(x: np.ndarray, xp: np.ndarray, fp: np.ndarray):
    return np.interp(x, xp, fp), np.interp(2.5, xp, fp), np.interp(3, xp, fp), np.interp(np.nan, xp, fp)


@program(np.arange(5), np.arange(3, dtype=np.int32), rng.random(4).astype(np.float32))
def convolved(x: np.ndarray, k: np.ndarray, f: np.ndarray):
    return np.convolve(k, x), np.convolve(k, k), np.convolve(f, f), np.convolve(f, k)


@program(rng.random(20), np.sort(rng.random(20)), np.arange(6))
def areas(y: np.ndarray, x: np.ndarray, i: np.ndarray):
    return np.trapezoid(y), np.trapezoid(y, x), np.trapezoid(y, dx=0.5), np.gradient(y, 0.1), np.gradient(i)


@program(rng.normal(size=50), np.arange(7), np.zeros(3))
def counted(x: np.ndarray, i: np.ndarray, z: np.ndarray):
    counts, edges = np.histogram(x)
    return counts, edges, np.histogram(i, bins=3), np.histogram(x, bins=4, range=(-1.0, 1.0)), np.histogram(z)


@program(rng.random((5, 20)))
def correlated(x: np.ndarray):
    return np.cov(x), np.corrcoef(x)


@program(np.array([1.0, np.nan, 3.0]), np.array([np.nan, np.nan]), np.array([[1, np.nan], [2, 3]], dtype=np.float32))
def without_nans(x: np.ndarray, y: np.ndarray, z: np.ndarray):
    return np.nansum(x), np.nanmean(x), np.nanmax(x), np.nanmin(z), np.nanstd(x), np.nanvar(z), np.nanmax(y)


@program(np.arange(6), np.arange(6.0).reshape(2, 3), np.array([True, False, True]))
def rearranged(x: np.ndarray, m: np.ndarray, b: np.ndarray):
    tiles = np.tile(x, 2), np.tile(m, (2, 1)), np.pad(m, 2), np.pad(x, (1, 2)), np.pad(m, ((1, 0), (0, 2)))
    columns, rows = np.meshgrid(x, m[0])
    return tiles, columns, rows, np.column_stack((x, x)), np.flatnonzero(b), np.argwhere(b), np.ptp(x), b & True


@program(rng.random(10), np.zeros(10), np.zeros(10))
def written_into(x: np.ndarray, out: np.ndarray, again: np.ndarray) -> np.ndarray:
    np.multiply(x, 2, out=out)
    np.add(out, 1, out=out)
    return np.sqrt(out, out=again)


@program(rng.random(9), np.zeros(9), np.arange(12).reshape(3, 4))
def backwards(x: np.ndarray, y: np.ndarray, m: np.ndarray):
    y[:] = x[::-1]
    descending = np.sort(x)[::-1]
    return descending, x[::-1].copy(), x[::-1] - x, np.argsort(-x)[::-1][:3], np.flip(x) * 2, m[::-2, ::-1] + 1


@program(np.arange(4.0), 3, 2)
def chosen(x: np.ndarray, k: int, n: int):
    either = x + 1 if k > n else x * 2
    return either, x - 1 if k < n else x / 2


@program(np.arange(4.0), np.ones((2, 3)))
def by_dimensions(x: np.ndarray, m: np.ndarray):
    def total(a):
        if a.ndim == 1:
            return a.sum()
        return a.sum(axis=0)

    return total(x), total(m)


@program(2.0)
def newton(x0, tol=1e-10, most=50):
    x = x0
    for _ in range(most):
        step = (x * x * x - 2 * x - 5) / (3 * x * x - 2)
        x -= step
        if abs(step) < tol:
            break
    return x


@program(np.arange(4), 2)
def without_annotations(x, n):
    return np.sqrt(x) * n + x.mean()


@program(30)
def sieve_without_annotations(n):
    is_prime = np.ones(n + 1, dtype=np.bool_)
    is_prime[:2] = False
    i = 2
    while i * i <= n:
        if is_prime[i]:
            is_prime[i * i :: i] = False
        i += 1
    return np.nonzero(is_prime)[0]


@program(np.arange(5.0), 2)
def annotated_in_part(x: np.ndarray, k=None, scale=2.0):
    if k is None:
        k = 3
    return x[:k] * scale


PROGRAMS = ELEMENTARY[_FIRST:]
del ELEMENTARY[_FIRST:]


@program(rng.random((6, 6)), rng.random(6))
def largest_eigenvalue(a: np.ndarray, v: np.ndarray):
    value = 0.0
    for _ in range(100):
        w = a @ v
        v = w / np.linalg.norm(w)
        new = v @ (a @ v)
        if abs(new - value) < 1e-12:
            break
        value = new
    return value, v, abs(a - 0.5), abs(-v.astype(np.float32))


@program(rng.random((6, 6)) + 6 * np.eye(6), rng.random(6))
def conjugate_gradients(a: np.ndarray, b: np.ndarray):
    a = (a + a.T) / 2
    x = np.zeros_like(b)
    r = b - a.dot(x)
    p = r.copy()
    square = r.dot(r)
    steps = 0
    while steps < 50:
        ap = a.dot(p)
        alpha = square / p.dot(ap)
        x += alpha * p
        r -= alpha * ap
        new = r.dot(r)
        if np.sqrt(new) < 1e-10:
            break
        p = r + (new / square) * p
        square = new
        steps += 1
    return x, steps, np.dot(2.0, b), np.dot(b, b[0]), b.dot(b[1])
