"""Gradients of plain arrays at once, where formulas over operators would be several calls of NumPy's, each behind a
call of an operator: of what picks elements or slices by places, of borders that repeat, of losses of classes.

Each gives what the operators of its formula give, or None for what these are to do; of more than two numbers that are
added up behind a border the order may be another.

>>> scattered(np.ones((2, 1), np.float32), [2, 3], 1, np.array([[2], [0]]))
array([[0., 0., 1.],
       [1., 0., 0.]], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from flambeau.ops.families.element_loops import FLOATS, add_along, add_elements, add_slices, loop_for
from flambeau.ops.families.triangular import triangular_solved
from flambeau.tensor.array_library import np
from flambeau.util import blas
from flambeau.util.inversions import NORM_GRADIENTS

Array = np.ndarray[Any, Any]
IndexMap = Callable[[int, int, int], list[int]]


def scattered(grad: Array, sizes: Sequence[int], dim: int, index: Array) -> Array | None:
    """Zeros with `grad` added at places along a dimension: what `gather` picked gets it."""
    if grad.dtype not in FLOATS or not grad.ndim or grad.shape != index.shape or len(sizes) != grad.ndim:
        return None
    result = np.zeros(sizes, grad.dtype)
    dim %= grad.ndim
    if not grad.size or add_along(result, index, grad, dim):
        return result
    ranks = range(grad.ndim)
    grid = [np.arange(n).reshape([-1 if k == axis else 1 for k in ranks]) for axis, n in enumerate(grad.shape)]
    grid[dim] = index
    with np.errstate(all="ignore"):
        np.add.at(result, tuple(grid), grad)
    return result


def chosen(grad: Array, sizes: Sequence[int], dim: int, index: Array) -> Array | None:
    """The same for one place along a dimension that is gone."""
    return scattered(np.expand_dims(grad, dim), sizes, dim, np.expand_dims(index, dim)) if sizes else None


def spread_rows(grad: Array, sizes: Sequence[int], index: Array) -> Array | None:
    """Zeros with slices of `grad` added along the first dimension: what these places of it picked gets them."""
    if grad.dtype not in FLOATS or index.dtype.kind != "i" or not sizes or not index.ndim or not grad.size:
        return None
    rest = tuple(sizes[1:])
    if grad.shape != (*index.shape, *rest):
        return None
    result = np.zeros(sizes, grad.dtype)
    inner = prod(rest)
    loop = loop_for(add_slices if inner > 1 else add_elements, grad.size)
    if loop is None:
        with np.errstate(all="ignore"):
            np.add.at(result, index, grad)
        return result
    flat = index.reshape(-1).astype(np.int64, copy=False)
    if flat.min() < 0:
        flat = np.where(flat < 0, flat + sizes[0], flat)
    values = np.ascontiguousarray(grad).reshape(-1)
    loop(result.reshape(-1), np.ascontiguousarray(flat), values, *((1, inner) if inner > 1 else ()))
    return result


def embedded(grad: Array, sizes: Sequence[int], index: Array, padding: int) -> Array | None:
    """The same for rows of a table, of which one may get nothing."""
    result = spread_rows(grad, sizes, index)
    if result is not None and padding >= 0:
        result[padding] = 0
    return result


def of_bags(
    grad: Array, sizes: Sequence[int], indices: Array, offsets: Array, lengths: Array | None, factors: Array | None,
    has_last: bool, padding: int | None, by_frequency: bool,
) -> Array | None:  # fmt: skip
    """The same for rows of a table that are added up in bags, each times its factor; a share of it, of means."""
    if by_frequency or grad.dtype not in FLOATS or grad.ndim != 2 or not grad.size or not indices.size:
        return None
    bounds = offsets if has_last else np.append(offsets, len(indices))
    counts = np.diff(bounds)
    if bounds[0] != 0 or bounds[-1] != len(indices) or counts.min() < 0:
        return None
    if lengths is not None:
        grad = grad / np.maximum(lengths, 1).astype(grad.dtype)[:, None]
    rows = grad.repeat(counts, axis=0)
    if factors is not None:
        rows *= factors[:, None]
    if padding is not None:
        rows[indices == padding] = 0
    return spread_rows(rows, sizes, indices)


def of_classes(
    grad: Array, sizes: Sequence[int], target: Array, is_mean: bool, ignored: int, dim: int
) -> Array | None:
    """Minus the gradient at the class of each sample, classes lying along `dim`; a share of it, of a mean."""
    rank = len(sizes)
    if grad.dtype not in FLOATS or target.ndim != rank - 1 or rank < 1 or not target.size:
        return None
    is_counted = target != ignored
    count = int(np.count_nonzero(is_counted))
    safe = target if count == target.size else np.where(is_counted, target, 0)
    with np.errstate(all="ignore"):
        values = -(grad / grad.dtype.type(count)) if is_mean else -grad
        if count != target.size:
            values = np.where(is_counted, values, grad.dtype.type(0))
    result = np.zeros(sizes, grad.dtype)
    where: list[Any] = [np.arange(n).reshape([-1 if k == i else 1 for k in range(rank - 1)])
                        for i, n in enumerate(target.shape)]  # fmt: skip
    where.insert(dim, safe)
    result[tuple(where)] = values
    return result


def of_rows_of_classes(logs: Array, grad: Array, target: Array, is_mean: bool, ignored: int) -> Array:
    """Of the logarithms of probabilities these, less one at the class of each row, for rows that are counted."""
    rows = np.arange(len(target))
    is_counted = target != ignored
    count = int(np.count_nonzero(is_counted))
    result: Array = np.exp(logs)
    if count < len(target):
        result[~is_counted] *= 0  # nan stays
        rows, target = rows[is_counted], target[is_counted]
    result[rows, target] -= 1
    if count:
        result *= grad / grad.dtype.type(count) if is_mean else grad
    return result


def of_cholesky(grad: Array, factor: Array) -> Array | None:
    """The gradient of what a lower factor belongs to: L^-T phi L^-1 / 2, phi the lower triangle of L^T G, mirrored."""
    if grad.dtype not in FLOATS or factor.dtype != grad.dtype or grad.shape != factor.shape or not grad.size:
        return None
    transposed = factor.swapaxes(-1, -2)
    product = blas.matmul(transposed, grad)
    phi = np.tril(product, -1)
    phi += phi.swapaxes(-1, -2).copy()
    diagonal = np.arange(grad.shape[-1])
    phi[..., diagonal, diagonal] = product[..., diagonal, diagonal]
    phi *= 0.5
    left = triangular_solved(transposed, phi, upper=True)
    return triangular_solved(transposed, left.swapaxes(-1, -2), upper=True).swapaxes(-1, -2)


def folded_back(grad: Array, sizes: Sequence[int], padding: Sequence[int], index_map: IndexMap) -> Array | None:
    """What stood at several places behind borders gets the gradients of all: those within, then each border's."""
    if grad.dtype not in FLOATS or not grad.size or not prod(sizes):
        return None
    for number in range(len(padding) // 2):
        axis = grad.ndim - 1 - number
        size, (before, behind) = sizes[len(sizes) - 1 - number], padding[2 * number : 2 * number + 2]
        if before < 0 or behind < 0:
            return None
        lead = (slice(None),) * axis
        sources = index_map(size, before, behind)
        inner = grad[(*lead, slice(before, before + size))].copy()
        for k in [*range(before), *range(before + size, before + size + behind)]:
            inner[(*lead, sources[k])] += grad[(*lead, k)]
        grad = inner
    return grad


def repeated_back(grad: Array, indices: Sequence[Array], sizes: Sequence[int]) -> Array | None:
    """What was repeated along the last axes gets the sums over its repeats; `places` says what stood where, in order.

    >>> repeated_back(np.ones((1, 3), np.float32), [np.array([0, 0, 2])], [1, 3])
    array([[2., 0., 1.]], dtype=float32)
    """
    if grad.dtype not in FLOATS or not grad.size:
        return None
    for axis, along in enumerate(indices, grad.ndim - len(indices)):
        lead: tuple[Any, ...] = (slice(None),) * axis
        size, count = sizes[axis], len(along)
        each = count // size
        if count == each * size and (along == np.arange(count) // each).all():
            result = grad[(*lead, slice(0, None, each))].copy()
            for k in range(1, each):
                result += grad[(*lead, slice(k, None, each))]
        else:
            starts = np.flatnonzero(np.diff(along, prepend=-1))
            result = np.zeros((*grad.shape[:axis], size, *grad.shape[axis + 1 :]), grad.dtype)
            result[(*lead, along[starts])] = np.add.reduceat(grad, starts, axis=axis)
        grad = result
    return grad


def gated(grad: Array, self: Array, dim: int) -> Array | None:
    """Of halves along a dimension, the first one times the logistic function of the second."""
    if grad.dtype not in FLOATS or self.dtype != grad.dtype:
        return None
    half = self.shape[dim] // 2
    lead = (slice(None),) * (dim % self.ndim)
    ahead, behind = (*lead, slice(half)), (*lead, slice(half, None))
    result = np.empty(self.shape, self.dtype)
    with np.errstate(all="ignore"):
        powers = np.exp(-self[behind])
        powers += 1
        gate = 1 / powers
        along = grad * gate
        result[ahead] = along
        np.subtract(1, gate, out=gate)
        gate *= self[ahead]
        np.multiply(along, gate, out=result[behind])
    return result


def of_cosines(
    grad: Array, self: Array, other: Array, result: Array, dim: int, least: float
) -> Array | None:
    """Of the cosines of the angles to other vectors along a dimension, whose lengths count as `least` or more."""
    if grad.dtype not in FLOATS or not self.dtype == other.dtype == grad.dtype or self.shape != other.shape:
        return None
    wide = self.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        own, length = (np.sqrt((one * one).sum(dim, keepdims=True)) for one in wide)
        bounded = np.maximum(own, least)
        towards = wide[1] / (bounded * np.maximum(length, least))
        along = np.expand_dims(result, dim) * wide[0] / (bounded * bounded)
        slope = towards - np.where(own < least, 0, along)
        by_self: Array = (np.expand_dims(grad, dim) * slope).astype(self.dtype)
    return by_self


def by_transposed(left: Array, right: Array) -> Array | None:
    """Stacks of matrices by others that are read as their transposes."""
    return _product(left, right.swapaxes(-1, -2)) if right.ndim > 1 else None


def transposed_by(left: Array, right: Array) -> Array | None:
    """Stacks of matrices that are read as their transposes by others."""
    return _product(left.swapaxes(-1, -2), right) if left.ndim > 1 else None


def _product(left: Array, right: Array) -> Array | None:
    if left.dtype not in FLOATS or left.dtype != right.dtype or left.shape[:-2] != right.shape[:-2]:
        return None
    with np.errstate(all="ignore"):
        result: Array = blas.matmul(left, right)
    return result


def of_groups(grad: Array, input: Array, groups: int, weight: Array | None, eps: float) -> Array | None:
    """Of an input that is normalised within groups of channels."""
    if grad.dtype not in FLOATS or input.dtype != grad.dtype or not input.size:
        return None
    if weight is not None:
        grad = grad * weight.reshape(-1, *[1] * (input.ndim - 2))
    rows = (1, input.shape[0] * groups, -1)
    gradients = NORM_GRADIENTS.implementation(
        np.ascontiguousarray(grad).reshape(rows), np.ascontiguousarray(input).reshape(rows), None, eps
    )
    if gradients is None:
        return None
    by_input: Array = gradients[0].reshape(input.shape)
    return by_input
