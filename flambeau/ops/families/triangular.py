"""Gauss's elimination over batches of matrices: factors, exchanges of rows, and triangular systems."""

from __future__ import annotations

import numpy as np

from flambeau.ops.families.arrays import Array
from flambeau.tensor.layout import broadcast


def factored(array: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """L (below the diagonal) and U in one, the row each step exchanged (from 1), and the first zero of the diagonal
    (from 1; 0: none), for a whole batch at once."""
    factors = np.array(array)
    count = min(factors.shape[-2:])
    flat = factors.reshape(-1, *factors.shape[-2:])
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
    flat = pivots.reshape(-1, pivots.shape[-1])
    order = np.tile(np.arange(size), (len(flat), 1))
    batch = np.arange(len(flat))
    for k in range(flat.shape[1]):
        other = flat[:, k] - 1
        kept = order[batch, other].copy()
        order[batch, other] = order[:, k]
        order[:, k] = kept
    return order.reshape(*pivots.shape[:-1], size)


def triangular_solved(a: Array, b: Array, *, upper: bool, unit: bool = False) -> Array:
    """X of `A @ X = B`, row after row; a zero on the diagonal gives inf or nan."""
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    size = a.shape[-1]
    with np.errstate(all="ignore"):
        for i in reversed(range(size)) if upper else range(size):
            if not unit:
                x[..., i, :] /= a[..., i, i, None]
            rest = slice(0, i) if upper else slice(i + 1, size)
            x[..., rest, :] -= a[..., rest, i, None] * x[..., i, None, :]
    return x
