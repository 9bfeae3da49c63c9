"""Linear algebra as loops over elements, as it is written for Numba."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def triangular_solve(a: Array, b: Array) -> Array:
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        total = b[i]
        for k in range(i):
            total -= a[i, k] * x[k]
        x[i] = total / a[i, i]
    return x


def lu_outer(a: Array) -> Array:
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def lu_dot(a: Array) -> Array:
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            total = a[i, j]
            for k in range(min(i, j)):
                total -= a[i, k] * a[k, j]
            a[i, j] = total / a[j, j] if j < i else total
    return a


def cholesky(a: Array) -> Array:
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            a[i, j] = np.sqrt(total) if i == j else total / a[j, j]
    return a


def symm(alpha: float, beta: float, c: Array, a: Array, b: Array) -> Array:
    c = c * beta
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = 0.0
            for k in range(i):
                c[k, j] += alpha * b[i, j] * a[i, k]
                total += b[k, j] * a[i, k]
            c[i, j] += alpha * b[i, j] * a[i, i] + alpha * total
    return c


def syrk(alpha: float, beta: float, c: Array, a: Array) -> Array:
    c = c.copy()
    for i in range(a.shape[0]):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]
    return c


def syr2k(alpha: float, beta: float, c: Array, a: Array, b: Array) -> Array:
    c = c.copy()
    for i in range(a.shape[0]):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += a[j, k] * alpha * b[i, k] + b[j, k] * alpha * a[i, k]
    return c


def trmm(alpha: float, a: Array, b: Array) -> Array:
    b = b.copy()
    n, m = b.shape
    for i in range(n):
        for j in range(m):
            for k in range(i + 1, n):
                b[i, j] += a[k, i] * b[k, j]
    return b * alpha


def covariance(data: Array) -> Array:
    n, m = data.shape
    data = data - data.sum(0) / n
    c = np.zeros((m, m), data.dtype)
    for i in range(m):
        for j in range(i, m):
            total = 0.0
            for k in range(n):
                total += data[k, i] * data[k, j]
            c[i, j] = c[j, i] = total / (n - 1.0)
    return c


def gram_schmidt(a: Array) -> Array:
    a = a.copy()
    q = np.zeros_like(a)
    n, m = a.shape
    for k in range(m):
        square = 0.0
        for i in range(n):
            square += a[i, k] * a[i, k]
        for i in range(n):
            q[i, k] = a[i, k] / np.sqrt(square)
        for j in range(k + 1, m):
            along = 0.0
            for i in range(n):
                along += q[i, k] * a[i, j]
            for i in range(n):
                a[i, j] -= q[i, k] * along
    return q
