"""PyTorch's form of the loops in which element access is hopeless. `flambeau` stands for `torch` here too."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def floyd_warshall(graph: Tensor) -> Tensor:
    d = graph
    for k in range(d.size(0)):
        d = flambeau.minimum(d, d[:, k, None] + d[None, k, :])
    return d


def jacobi2d(grid: Tensor, sweeps: int) -> Tensor:
    a = grid.clone()
    b = grid.clone()
    for _ in range(sweeps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a


def cholesky(matrix: Tensor) -> Tensor:
    a = flambeau.tril(matrix)
    for k in range(a.size(0)):
        a[k, k] = flambeau.sqrt(a[k, k] - (a[k, :k] * a[k, :k]).sum())
        a[k + 1 :, k] = (a[k + 1 :, k] - a[k + 1 :, :k] @ a[k, :k]) / a[k, k]
    return a


def lu(matrix: Tensor) -> Tensor:
    a = matrix.clone()
    for k in range(a.size(0)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[None, k, k + 1 :]
    return a


def sieve(limit: int) -> int:
    prime = flambeau.ones([limit], dtype=flambeau.bool)  # type: ignore[attr-defined]
    prime[:2] = False
    i = 2
    while i * i < limit:
        if bool(prime[i]):
            prime[i * i :: i] = False
        i += 1
    return int(prime.sum())
