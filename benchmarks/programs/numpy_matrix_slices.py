"""NumPy's form of linear algebra with slices whose bounds change; Numba compiles it too, if it finds SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def triangular_solve(a: Array, b: Array) -> Array:
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def lu_outer(a: Array) -> Array:
    a = a.copy()
    for k in range(a.shape[0]):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu_dot(a: Array) -> Array:
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def cholesky(a: Array) -> Array:
    a = a.copy()
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return a


def symm(alpha: float, beta: float, c: Array, a: Array, b: Array) -> Array:
    c = c.copy()
    c *= beta
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            c[i, j] += alpha * b[i, j] * a[i, i] + alpha * np.dot(b[:i, j], a[i, :i])
    return c


def syrk(alpha: float, beta: float, c: Array, a: Array) -> Array:
    c = c.copy()
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


def syr2k(alpha: float, beta: float, c: Array, a: Array, b: Array) -> Array:
    c = c.copy()
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]
    return c


def trmm(alpha: float, a: Array, b: Array) -> Array:
    b = b.copy()
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return b * alpha


def covariance(data: Array) -> Array:
    n, m = data.shape
    data = data - data.sum(0) / n
    c = np.zeros((m, m), data.dtype)
    for i in range(m):
        c[i:m, i] = data[:, i] @ data[:, i:m] / (n - 1.0)
        c[i, i:m] = c[i:m, i].copy()
    return c


def gram_schmidt(a: Array) -> Array:
    a = a.copy()
    q = np.zeros_like(a)
    for k in range(a.shape[1]):
        q[:, k] = a[:, k] / np.sqrt(np.dot(a[:, k], a[:, k]))
        for j in range(k + 1, a.shape[1]):
            a[:, j] -= q[:, k] * np.dot(q[:, k], a[:, j])
    return q
