"""Norms of an order as the sums, largest elements and singular values they are made of: what plans have instead.

linalg.norm(v, inf)    →    linalg.vector_norm(v, inf)
linalg.norm(A, 1)      →    amax(sum(abs(A), dim=0))
linalg.norm(A, 2)      →    amax(linalg.svdvals(A)),  nan where A is not finite
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

import math
from typing import Any

from flambeau.ops.families.expansion_tables import expansions
from flambeau.schema.dtype import float32, float64


def _is_plain(x: Any) -> bool:
    return x.dtype in (float32, float64)


@expansions("aten::linalg_norm")
def _norm(F: Any, x: Any, order: Any = None, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    """Of one vector, of a matrix, or along one or two axes; an order by name is of matrices."""
    if not _is_plain(x) or dtype is not None:
        return None
    dims = [dim] if type(dim) is int else dim
    count = x.ndim if dims is None else len(dims)
    if order is None:
        return F.linalg_vector_norm(x, 2, dims, keepdim) if dims is None or count in (1, 2) else None
    if count == 2:
        return _matrix_norm(F, x, order, dims or [0, 1], keepdim)
    return F.linalg_vector_norm(x, order, dims, keepdim) if count == 1 and type(order) in (int, float) else None


@expansions("aten::linalg_matrix_norm")
def _matrix_norm(F: Any, x: Any, order: Any, dim: Any = (-2, -1), keepdim: Any = False, dtype: Any = None) -> Any:
    """The order is a number, or "fro" or "nuc"."""
    axes = _two_axes(x, dim)
    if axes is None or not _is_plain(x) or dtype is not None or type(order) not in (int, float, str):
        return None
    rows, columns = axes
    if order == "fro":
        return F.linalg_vector_norm(x, 2, [rows, columns], keepdim)
    is_by_sums = order in (1, -1, math.inf, -math.inf)
    if not is_by_sums and order not in ("nuc", 2, -2):
        return None
    if order == "nuc":
        return _by_singular_values(F, x, order, axes, keepdim)
    compute = _by_sums if is_by_sums else _by_singular_values
    if is_by_sums and order < 0:
        F.require(x.shape[columns if order == -1 else rows] > 0)
        return compute(F, x, order, axes, keepdim)
    has_elements = x.shape[rows] * x.shape[columns] > 0
    return F.either(
        has_elements, lambda: compute(F, x, order, axes, keepdim), lambda: F.sum(x, [rows, columns], keepdim)
    )


def _by_sums(F: Any, x: Any, order: Any, axes: tuple[int, int], keepdim: bool) -> Any:
    """The largest sum of columns or rows, or the smallest."""
    summed, best = axes if abs(order) == 1 else axes[::-1]
    sums = F.sum(F.abs(x), [summed], True)
    result = (F.amax if order > 0 else F.amin)(sums, [best], True)
    return result if keepdim else F.squeeze(result, list(axes))


def _by_singular_values(F: Any, x: Any, order: Any, axes: tuple[int, int], keepdim: bool) -> Any:
    """The largest, the smallest, or the sum of all; nan for matrices that are not finite."""
    finite = F.isfinite(x)
    others = [axis for axis in range(x.ndim) if axis not in axes]
    values = F.linalg_svdvals(F.permute(F.where(finite, x, 0.0), [*others, *axes]))
    result = F.sum(values, [-1]) if order == "nuc" else (F.amax if order == 2 else F.amin)(values, [-1])
    result = F.where(F.all(F.all(finite, max(axes)), min(axes)), result, math.nan)
    for axis in sorted(axes) if keepdim else ():
        result = F.unsqueeze(result, axis)
    return result


def _two_axes(x: Any, dim: Any) -> tuple[int, int] | None:
    """The two axes of the matrices, counted from the first; None where they are not two."""
    if not isinstance(dim, list | tuple) or len(dim) != 2:
        return None
    if not all(type(axis) is int and -x.ndim <= axis < x.ndim for axis in dim):
        return None
    rows, columns = (axis % x.ndim for axis in dim)
    return None if rows == columns else (rows, columns)
