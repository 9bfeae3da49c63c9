"""Linear algebra written with products of slices whose bounds change from iteration to iteration."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def triangular_solve(a: Tensor, b: Tensor) -> Tensor:
    x = flambeau.zeros_like(b)
    for i in range(b.size(0)):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def lu_outer(a: Tensor) -> Tensor:
    """Row by row below the diagonal: each iteration takes an outer product from what is left."""
    a = a.clone()
    for k in range(a.size(0)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= flambeau.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu_dot(a: Tensor) -> Tensor:
    """Element by element, each from a row and a column."""
    a = a.clone()
    n = a.size(0)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def cholesky(a: Tensor) -> Tensor:
    a = a.clone()
    a[0, 0] = flambeau.sqrt(a[0, 0])
    for i in range(1, a.size(0)):
        for j in range(i):
            a[i, j] -= flambeau.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= flambeau.dot(a[i, :i], a[i, :i])
        a[i, i] = flambeau.sqrt(a[i, i])
    return a


def symm(alpha: float, beta: float, c: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """A symmetric matrix, whose lower half is given, times another."""
    c = c.clone()
    c *= beta
    for i in range(c.size(0)):
        for j in range(c.size(1)):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            c[i, j] += alpha * b[i, j] * a[i, i] + alpha * flambeau.dot(b[:i, j], a[i, :i])
    return c


def syrk(alpha: float, beta: float, c: Tensor, a: Tensor) -> Tensor:
    c = c.clone()
    for i in range(a.size(0)):
        c[i, : i + 1] *= beta
        for k in range(a.size(1)):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


def syr2k(alpha: float, beta: float, c: Tensor, a: Tensor, b: Tensor) -> Tensor:
    c = c.clone()
    for i in range(a.size(0)):
        c[i, : i + 1] *= beta
        for k in range(a.size(1)):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]
    return c


def trmm(alpha: float, a: Tensor, b: Tensor) -> Tensor:
    """A triangular matrix with ones on the diagonal times another."""
    b = b.clone()
    for i in range(b.size(0)):
        for j in range(b.size(1)):
            b[i, j] += flambeau.dot(a[i + 1 :, i], b[i + 1 :, j])
    return b * alpha


def covariance(data: Tensor) -> Tensor:
    n, m = data.size(0), data.size(1)
    data = data - data.mean(0)
    c = flambeau.zeros([m, m], dtype=data.dtype)
    for i in range(m):
        c[i:m, i] = data[:, i] @ data[:, i:m] / (n - 1.0)
        c[i, i:m] = c[i:m, i].clone()
    return c


def gram_schmidt(a: Tensor) -> Tensor:
    a = a.clone()
    q = flambeau.zeros_like(a)
    for k in range(a.size(1)):
        q[:, k] = a[:, k] / flambeau.sqrt(flambeau.dot(a[:, k], a[:, k]))
        for j in range(k + 1, a.size(1)):
            a[:, j] -= q[:, k] * flambeau.dot(q[:, k], a[:, j])
    return q
