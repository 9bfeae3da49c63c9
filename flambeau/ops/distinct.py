"""The distinct elements or slices of a tensor, with how often each occurs."""

from __future__ import annotations

import math
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous, dtype_of, is_complex, not_implemented, one_dim, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.small_tensors import ints
from flambeau.schema.opdef import UNKNOWN, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap

Three = tuple[Array, Array, Array]


def distinct(starts: Array, ordered: Array, wants_inverse: bool, wants_counts: bool) -> tuple[Array, Array]:
    """Inverse and counts (empty unless wanted) of runs that begin at `starts` in an order of elements."""
    none = np.empty(0, np.int64)
    inverse = none
    if wants_inverse:
        inverse = np.empty(ordered.size, np.int64)
        inverse[ordered] = np.cumsum(starts) - 1
    counts = np.diff(np.append(np.flatnonzero(starts), starts.size)) if wants_counts else none
    return inverse, counts.astype(np.int64)


def run_starts(values: Array) -> Array:
    """Where a vector differs from what precedes it; nan differs from nan."""
    starts = np.ones(values.size, np.bool_)
    starts[1:] = values[1:] != values[:-1]
    return starts


def unique2_kernel(
    self: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Three:
    """Always sorted. Raises NotImplementedError for complex numbers."""
    if is_complex(self):
        raise not_implemented("unique", dtype_of(self))
    flat = self.reshape(-1)
    ordered = np.argsort(widened(flat), kind="stable")
    values = flat[ordered]
    starts = run_starts(values)
    inverse, counts = distinct(starts, ordered, return_inverse, return_counts)
    return values[starts], inverse.reshape(self.shape if return_inverse else (0,)), counts


def unique_kernel(self: Array, sorted: bool = True, return_inverse: bool = False) -> tuple[Array, Array]:
    """Values and inverse."""
    return unique2_kernel(self, sorted, return_inverse)[:2]


def unique_consecutive_kernel(
    self: Array, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Three:
    """Only neighbours are compared."""
    if dim is not None:
        return unique_dim_consecutive_kernel(self, dim, return_inverse, return_counts)
    flat = self.reshape(-1)
    starts = run_starts(flat)
    inverse, counts = distinct(starts, np.arange(flat.size), return_inverse, return_counts)
    return flat[starts], inverse.reshape(self.shape if return_inverse else (0,)), counts


def _rows(array: Array, dim: int) -> tuple[Array, Array, int]:
    """Slices along a dimension, the same as rows of a matrix, and the dimension."""
    axis = one_dim(dim, array.ndim)
    if array.size == 0 and array.ndim and array.shape[axis] != 0:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    slices = np.moveaxis(array, axis, 0) if array.ndim else array.reshape(1)
    return slices, slices.reshape(slices.shape[0], math.prod(slices.shape[1:])), axis


def _row_starts(rows: Array) -> Array:
    starts = np.ones(rows.shape[0], np.bool_)
    starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return starts


def unique_dim_kernel(
    self: Array, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Three:
    """Slices along `dim`, sorted by their elements."""
    slices, rows, axis = _rows(self, dim)
    ordered = np.lexsort(widened(rows).T[::-1]) if rows.shape[1] else np.arange(rows.shape[0])
    starts = _row_starts(rows[ordered])
    inverse, counts = distinct(starts, ordered, True, True)
    return contiguous(np.moveaxis(slices[ordered][starts], 0, axis)), inverse, counts


def unique_dim_consecutive_kernel(
    self: Array, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> Three:
    """Slices along `dim`, neighbours compared."""
    slices, rows, axis = _rows(self, dim)
    starts = _row_starts(rows)
    inverse, counts = distinct(starts, np.arange(rows.shape[0]), True, True)
    return contiguous(np.moveaxis(slices[starts], 0, axis)), inverse, counts


def _unique_ranks(self: TensorType, return_inverse: Any) -> tuple[Sizes | None, ...]:
    if return_inverse is UNKNOWN:
        return ((None,), None)
    return ((None,), self.sizes if return_inverse else (0,))


def _consecutive_ranks(self: TensorType, return_inverse: Any, dim: Any) -> tuple[Sizes | None, ...]:
    if dim is None:
        return (*_unique_ranks(self, return_inverse), (None,))
    return (None if dim is UNKNOWN else ranks.self_rank(self), None if dim is UNKNOWN else (None,), (None,))


declare(
    "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=unique2_kernel,
    dtype=ranks.value_and_counts(3),
    shape=lambda self, return_inverse: (*_unique_ranks(self, return_inverse), (None,)),
    doc="The distinct elements in order; for each element which one it is; how often each occurs.",
    samples=lambda: [Sample(args=(ints(3, 1, 3, 2), True, True, True))],
    is_method=False,
)

declare(
    "aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
    outs=("out",),
    kernel=unique_kernel,
    dtype=ranks.value_and_counts(2),
    shape=lambda self, return_inverse: _unique_ranks(self, return_inverse),
    samples=lambda: [Sample(args=(ints(3, 1, 3, 2), True, True))],
    is_method=False,
)

declare(
    "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=unique_dim_kernel,
    dtype=ranks.value_and_counts(3),
    shape=lambda self: (ranks.self_rank(self), (None,), (None,)),
    doc="The distinct slices along `dim` in order; for each slice which one it is; how often each occurs.",
    samples=lambda: [Sample(args=(wrap(np.array([[1, 2], [0, 3], [1, 2]])), 0))],
)

declare(
    "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)"
    " -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=unique_consecutive_kernel,
    dtype=ranks.value_and_counts(3),
    shape=_consecutive_ranks,
    doc="The elements without repetitions of their predecessor.",
    samples=lambda: [Sample(args=(ints(1, 1, 2, 1), True, True))],
    is_function=False,
    is_method=False,
)

declare(
    "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=unique_dim_consecutive_kernel,
    dtype=ranks.value_and_counts(3),
    shape=lambda self: (ranks.self_rank(self), (None,), (None,)),
    samples=lambda: [Sample(args=(wrap(np.array([[1, 2], [1, 2], [0, 3]])), 0))],
)
