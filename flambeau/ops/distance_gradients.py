"""The gradients of distances between rows, as operators of their own: pair by pair, without all differences as arrays.

At a point where two rows agree in an element, and where whole rows do, the slope is 0.
"""

from __future__ import annotations

import math

from flambeau.ops.families.arrays import Array, widened
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.ops.families.opaque import declare
from flambeau.schema.dtype import float32
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def sign_loop(grad: np.ndarray, left: np.ndarray, right: np.ndarray, result: np.ndarray) -> None:
    """result[i, k] += grad[i, j] times the sign of left[i, k] - right[j, k]."""
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            scale = grad[i, j]
            for k in range(left.shape[1]):
                away = left[i, k] - right[j, k]
                result[i, k] += scale * (1.0 if away > 0 else (-1.0 if away < 0 else away))


def power_loop(grad: np.ndarray, left: np.ndarray, right: np.ndarray, result: np.ndarray, power: float) -> None:
    """result[i, k] += grad[i, j] times the difference's sign, and its size to a power; nothing where it is 0."""
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            scale = float(grad[i, j])
            for k in range(left.shape[1]):
                away = float(left[i, k]) - right[j, k]
                if away != 0:
                    size = abs(away) ** power
                    result[i, k] += scale * (size if away > 0 else (-size if away < 0 else away))


def pair_loop(grad: np.ndarray, rows: np.ndarray, result: np.ndarray) -> None:
    """result[i] += grad[pair] times rows[i] - rows[j], and the opposite to result[j], for all pairs i < j."""
    pair = 0
    for i in range(rows.shape[0]):
        for j in range(i + 1, rows.shape[0]):
            scale = grad[pair]
            pair += 1
            for k in range(rows.shape[1]):
                step = scale * (rows[i, k] - rows[j, k])
                result[i, k] += step
                result[j, k] -= step


def scales_of(grad: Array, distance: Array, p: float) -> Array:
    """What a gradient of a distance is multiplied by: `distance ** (1 - p)`, 0 between equal rows."""
    with np.errstate(all="ignore"):
        return np.asarray(np.where(distance == 0, 0, grad * distance ** distance.dtype.type(1 - p)))


def _matrix_gradient(grad: Array, left: Array, right: Array, distance: Array, p: float) -> Array:
    """(n, d): of the first of two matrices."""
    result = np.zeros_like(left)
    work = left.size * len(right)
    if p in (0, math.inf):
        away = left[:, None] - right[None]
        is_best = np.abs(away) == distance[..., None]
        return result if p == 0 else np.asarray(np.where(is_best, np.sign(away) * grad[..., None], 0).sum(axis=1))
    scale = grad if p == 1 else scales_of(grad, distance, p)
    loop = loop_for(sign_loop if p == 1 else power_loop, work) if left.dtype in FLOATS else None
    if loop is not None:
        operands = [np.ascontiguousarray(one) for one in (scale, left, right)]
        loop(*operands, result, *(() if p == 1 else (p - 1,)))
        return result
    away = left[:, None] - right[None]
    size = np.abs(away)
    with np.errstate(all="ignore"):
        slope = np.sign(away) if p == 1 else np.where(size == 0, 0, np.sign(away) * size ** size.dtype.type(p - 1))
    return np.asarray((slope * scale[..., None]).sum(axis=1))


def cdist_gradient(grad: Array, x1: Array, x2: Array, distance: Array, p: float) -> Array:
    """The gradient of the first operand; dimensions of batches are those of the result."""
    lead = distance.shape[:-2]
    if not (x1.size and x2.size):
        return np.zeros((*lead, *x1.shape[-2:]), x1.dtype)
    wide = [
        np.broadcast_to(widened(one), (*lead, *one.shape[-2:])).reshape(-1, *one.shape[-2:])
        for one in (grad, x1, x2, distance)
    ]
    parts = [_matrix_gradient(a, b, c, d, float(p)) for a, b, c, d in zip(*wide, strict=True)]
    return np.stack(parts).reshape(*lead, *x1.shape[-2:]).astype(x1.dtype, copy=False)


def pdist_gradient(grad: Array, self: Array, distance: Array, p: float) -> Array:
    """The gradient of rows whose distances from all later rows are known."""
    wide, number = widened(self), len(self)
    if p == 2:
        scale = scales_of(widened(grad), widened(distance), 2.0)
        loop = loop_for(pair_loop, wide.shape[1] * distance.size) if wide.dtype in FLOATS else None
        if loop is not None:
            result = np.zeros(wide.shape, wide.dtype)
            loop(np.ascontiguousarray(scale), np.ascontiguousarray(wide), result)
            return result.astype(self.dtype, copy=False)
    first, second = np.triu_indices(number, 1)
    full = np.zeros((2, number, number), wide.dtype)
    full[0, first, second], full[1, first, second] = widened(grad), widened(distance)
    full += full.swapaxes(1, 2)
    return _matrix_gradient(full[0], wide, wide, full[1], float(p)).astype(self.dtype, copy=False)


def _grid(*sizes: int) -> Tensor:
    return wrap(((np.arange(math.prod(sizes), dtype=np.float32) * 37 % 23) / 8 - 1).reshape(sizes))


def _pairs(p: float) -> Sample:
    rows = _grid(4, 3)._array
    first, second = np.triu_indices(4, 1)
    distance = np.linalg.norm(rows[first] - rows[second], ord=p, axis=-1)
    return Sample(args=(_grid(6), wrap(rows), wrap(distance.astype(np.float32)), p))


def _tables(p: float) -> Sample:
    left, right = _grid(2, 3)._array, _grid(4, 3)._array + np.float32(0.25)
    distance = np.linalg.norm(left[:, None] - right[None], ord=p, axis=-1)
    return Sample(args=(_grid(2, 4), wrap(left), wrap(right), wrap(distance.astype(np.float32)), p))


declare(
    "flambeau::cdist_gradient(Tensor grad, Tensor x1, Tensor x2, Tensor distance, float p) -> Tensor",
    kernel=cdist_gradient,
    doc="The gradient of the first rows of distances between rows.",
    dtype=lambda x1: x1.dtype,
    shape=lambda x1, distance: (
        None if None in (x1.sizes, distance.sizes) else (*distance.sizes[:-2], *x1.sizes[-2:])
    ),
    samples=lambda: [_tables(p) for p in (1.0, 3.0, math.inf)],
    ulp={float32: 64.0},
    is_method=False,
    is_function=False,
)
declare(
    "flambeau::pdist_gradient(Tensor grad, Tensor self, Tensor distance, float p) -> Tensor",
    kernel=pdist_gradient,
    doc="The gradient of rows whose distances are known.",
    dtype=lambda self: self.dtype,
    shape=lambda self: self.sizes,
    samples=lambda: [_pairs(p) for p in (1.0, 2.0, 3.0, math.inf)],
    ulp={float32: 64.0},
    is_method=False,
    is_function=False,
)
