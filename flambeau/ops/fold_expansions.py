"""Folds, products and choices as simpler ones: what plans have in their place."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from typing import Any

from flambeau.ops.families.expansion_tables import expansions
from flambeau.schema.dtype import float32, float64, int32, int64

_LARGEST = 1 << 31
"""Numbers below fit every dtype that they are chosen for."""


def _is_plain(x: Any) -> bool:
    return x.dtype in (float32, float64)


@expansions("aten::nansum")
def _nansum(F: Any, x: Any, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    """The sum of what is a number."""
    if not _is_plain(x) or dtype is not None:
        return None
    kept = F.where(F.isnan(x), 0.0, x)
    return F.sum(kept) if dim is None and not keepdim else F.sum(kept, dim, keepdim)


@expansions("aten::nanmean")
def _nanmean(F: Any, x: Any, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    """The mean of what is a number."""
    total = _nansum(F, x, dim, keepdim, dtype)
    if total is None:
        return None
    counted = F.logical_not(F.isnan(x))
    return F.div(total, F.sum(counted) if dim is None and not keepdim else F.sum(counted, dim, keepdim))


@expansions("aten::allclose")
def _allclose(F: Any, x: Any, other: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    """Whether all elements are close to those of another."""
    return F.holds(F.all(F.isclose(x, other, rtol, atol, equal_nan))) if x.dtype is other.dtype else None


@expansions("aten::masked_fill")
def _masked_fill(F: Any, x: Any, mask: Any, value: Any) -> Any:
    """A choice between a value and the elements."""
    if not hasattr(value, "ndim"):
        is_whole = x.dtype in (int32, int64) and type(value) is int and abs(value) < _LARGEST
        return F.where(mask, value, x) if is_whole else None
    if value.ndim or not (_is_plain(x) or x.dtype in (int32, int64)) or value.dtype.is_complex:
        return None
    return F.where(mask, F.to(value, x.dtype), x)


@expansions("aten::inner")
def _inner(F: Any, x: Any, y: Any) -> Any:
    """Products of the last axes."""
    if not _is_plain(x) or x.dtype is not y.dtype or not x.ndim or not y.ndim:
        return None
    return F.dot(x, y) if x.ndim == y.ndim == 1 else F.tensordot(x, y, [-1], [-1])


@expansions("aten::addr")
def _addr(F: Any, x: Any, left: Any, right: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """Products of each with each, added to a matrix."""
    if not all(map(_is_plain, (x, left, right))) or len({t.dtype for t in (x, left, right)}) > 1:
        return None
    if left.ndim != 1 or right.ndim != 1 or x.ndim > 2 or beta != 1 or alpha != 1:
        return None
    return F.add(x, F.mul(F.unsqueeze(left, 1), right))


@expansions("aten::lift_fresh_copy")
def _copied(F: Any, x: Any) -> Any:
    """A copy."""
    return F.clone(x)


@expansions("aten::frobenius_norm")
def _frobenius_norm(F: Any, x: Any, dim: Any, keepdim: Any = False) -> Any:
    """The root of the sum of squares, along axes that are named or of all."""
    if not _is_plain(x) or not isinstance(dim, list | tuple):
        return None
    return F.linalg_vector_norm(x, 2, list(dim) or None, keepdim)


@expansions("aten::bucketize")
def _bucketize(F: Any, x: Any, boundaries: Any, out_int32: Any = False, right: Any = False) -> Any:
    """Where numbers are in order among boundaries."""
    if not hasattr(x, "ndim") or boundaries.ndim != 1 or not isinstance(out_int32, bool):
        return None
    indexes = F.searchsorted(boundaries, x, right=right)
    return F.to(indexes, int32) if out_int32 else indexes
