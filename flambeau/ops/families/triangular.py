"""Gauss's elimination over batches of matrices: factors, exchanges of rows, and triangular systems."""

from __future__ import annotations

import math
from typing import Final

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import broadcast
from flambeau.util import blas


def factored(array: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """L (below the diagonal) and U in one, the row each step exchanged (from 1), and the first zero of the diagonal
    (from 1; 0: none), for a whole batch at once."""
    factors = np.array(array)
    count = min(factors.shape[-2:])
    flat = factors.reshape(math.prod(factors.shape[:-2]), *factors.shape[-2:])
    pivots = np.empty((len(flat), count), np.int32)
    info = np.zeros(len(flat), np.int32)
    batch = np.arange(len(flat))
    with np.errstate(all="ignore"):
        for k in range(count if len(flat) else 0):
            column = flat[:, k:, k]
            size = np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)
            chosen = k + size.argmax(axis=1) if pivot else np.full(len(flat), k)
            pivots[:, k] = chosen + 1
            kept = flat[batch, chosen].copy()
            flat[batch, chosen] = flat[:, k]
            flat[:, k] = kept
            head = flat[:, k, k]
            info = np.where((info == 0) & (head == 0), k + 1, info).astype(np.int32)
            divisor = np.where(head == 0, 1, head)[:, None]
            flat[:, k + 1 :, k] /= divisor
            flat[:, k + 1 :, k + 1 :] -= flat[:, k + 1 :, k, None] * flat[:, None, k, k + 1 :]
    shape = factors.shape[:-2]
    return flat.reshape(factors.shape), pivots.reshape(*shape, count), info.reshape(shape)


def order_of(pivots: Array, size: int) -> Array:
    """Which row of the matrix each row of L @ U is."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = np.tile(np.arange(size), (len(flat), 1))
    batch = np.arange(len(flat))
    for k in range(flat.shape[1]):
        other = flat[:, k] - 1
        kept = order[batch, other].copy()
        order[batch, other] = order[:, k]
        order[:, k] = kept
    return order.reshape(*pivots.shape[:-1], size)


def solve_loop(a: np.ndarray, x: np.ndarray, upper: bool, unit: bool) -> None:
    """Turn right sides into solutions, matrix by matrix: each row, once it is solved, is taken off the others."""
    size, width = a.shape[1], x.shape[2]
    for n in range(a.shape[0]):
        for step in range(size):
            i = size - 1 - step if upper else step
            if not unit:
                for k in range(width):
                    x[n, i, k] /= a[n, i, i]
            for r in range(0 if upper else i + 1, i if upper else size):
                factor = a[n, r, i]
                for k in range(width):
                    x[n, r, k] -= factor * x[n, i, k]


_AT_ONCE: Final = 64
"""Rows of a system whose matrices a loop has in the cache; larger systems are made of such ones and of products."""


def _solve(a: Array, x: Array, upper: bool, unit: bool) -> None:
    """Turn right sides of a batch of systems into solutions."""
    size = a.shape[-1]
    loop = loop_for(solve_loop, size * x.size) if x.dtype in FLOATS and a.dtype == x.dtype else None
    if loop is not None and size > _AT_ONCE:
        half = size // 2
        parts = slice(half), slice(half, size)
        first, second = reversed(parts) if upper else parts
        top = np.ascontiguousarray(x[:, first])
        _solve(a[:, first, first], top, upper, unit)
        rest = np.subtract(x[:, second], blas.matmul(a[:, second, first], top))
        _solve(a[:, second, second], rest, upper, unit)
        x[:, first], x[:, second] = top, rest
    elif loop is not None:
        loop(np.ascontiguousarray(a), x, upper, unit)
    else:
        for i in reversed(range(size)) if upper else range(size):
            if not unit:
                x[:, i, :] /= a[:, i, i, None]
            others = slice(0, i) if upper else slice(i + 1, size)
            x[:, others, :] -= a[:, others, i, None] * x[:, i, None, :]


def triangular_solved(a: Array, b: Array, *, upper: bool, unit: bool = False) -> Array:
    """X of `A @ X = B`, row after row; a zero on the diagonal gives inf or nan."""
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), order="C")
    if not x.size:
        return x
    with np.errstate(all="ignore"):
        flat = np.broadcast_to(a, (*batch, *a.shape[-2:])).reshape(math.prod(batch), *a.shape[-2:])
        _solve(flat, x.reshape(math.prod(batch), *x.shape[-2:]), upper, unit)
    return x
