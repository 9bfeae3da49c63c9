"""Statistics, areas, differences, distances and losses with a margin as folds, products and pointwise operators: what
plans have in their place.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau.ops.families.expansion_tables import expansions
from flambeau.ops.index_expansions import is_axis
from flambeau.schema.dtype import bool_, float32, float64, int32, int64
from flambeau.schema.gradient import Decomposed, written

_FLOATS = (float32, float64)
_MOST_TIMES = 8
"""Up to so many times differences are taken of differences in one function."""


def as_recorded(name: str, F: Any, *arguments: Any) -> Any:
    """What an operator is recorded as for gradients, which is what it gives in any case."""
    recorded = written(name)
    assert isinstance(recorded, Decomposed)
    return recorded.body(F, *arguments)


@expansions("aten::aminmax")
def _aminmax(F: Any, x: Any, dim: Any = None, keepdim: Any = False) -> Any:
    """The smallest, and the largest element."""
    if x.dtype not in (*_FLOATS, int32, int64) or not x.ndim or not isinstance(keepdim, bool):
        return None
    if dim is None:
        F.require(*[size > 0 for size in x.shape])
        axes = list(range(x.ndim))
    elif is_axis(x, dim):
        F.require(x.shape[dim] > 0)
        axes = [dim]
    else:
        return None
    return F.amin(x, axes, keepdim), F.amax(x, axes, keepdim)


@expansions("aten::msort")
def _msort(F: Any, x: Any) -> Any:
    """In order along the first axis."""
    return F.sort(x, 0)[0] if x.ndim else None


@expansions("aten::cov")
def _cov(F: Any, x: Any, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Products of what rows are apart from their means."""
    is_plain = x.dtype in _FLOATS and 0 < x.ndim <= 2 and type(correction) is int
    if not is_plain or fweights is not None or aweights is not None or not _is_known_to_be_one(x):
        return None
    return as_recorded("aten::cov", F, x, correction, None, None)


@expansions("aten::corrcoef")
def _corrcoef(F: Any, x: Any) -> Any:
    """Covariances over deviations."""
    if x.dtype not in _FLOATS or not 0 < x.ndim <= 2 or not _is_known_to_be_one(x):
        return None
    covariance = as_recorded("aten::cov", F, x, 1, None, None)
    if not covariance.ndim:
        return F.div(covariance, covariance)
    spread = F.sqrt(F.diagonal(covariance))
    return F.clamp(F.div(F.div(covariance, F.unsqueeze(spread, 1)), F.unsqueeze(spread, 0)), -1, 1)


def _is_known_to_be_one(x: Any) -> bool:
    """Whether it is known of a first size whether it is 1, by which the rank of what is asked for goes."""
    return x.ndim < 2 or isinstance(x.shape[0] == 1, bool)


def _area(name: str) -> Callable[..., Any]:
    """Areas between neighbours: heights, then coordinates or a distance, and an axis."""

    def body(F: Any, y: Any, *arguments: Any) -> Any:
        x, dx, dim = _coordinates(*arguments)
        if y.dtype not in _FLOATS or not is_axis(y, dim) or not isinstance(dx, int | float):
            return None
        if x is not None:
            if x.dtype is not y.dtype or x.ndim not in (1, y.ndim):
                return None
            own = y.shape if x.ndim == y.ndim else [y.shape[dim]]
            F.require(*(a == b for a, b in zip(x.shape, own, strict=True)))
        return F.contiguous(as_recorded(name, F, y, dim, x, dx))

    return body


def _coordinates(*arguments: Any) -> tuple[Any, Any, Any]:
    """Places, the distance between neighbours, and the axis, of what an overload has."""
    rest = list(arguments)
    x = rest.pop(0) if rest and hasattr(rest[0], "ndim") else None
    dim = rest.pop() if rest else -1
    return x, rest[0] if rest else 1, dim


for _name in ("trapezoid", "trapz", "cumulative_trapezoid"):
    expansions(f"aten::{_name}")(_area(f"aten::{_name}"))


@expansions("aten::diff")
def _diff(F: Any, x: Any, n: Any = 1, dim: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    """What stands in front and behind joined, then differences, time by time."""
    parts = [one for one in (prepend, x, append) if one is not None]
    if not is_axis(x, dim) or type(n) is not int or not 0 <= n <= _MOST_TIMES:
        return None
    if n == 0:
        return F.clone(x)
    if len(parts) == 1 and n == 1 and x.dtype is not bool_:
        return None
    if any(one.ndim != x.ndim or one.dtype is not x.dtype for one in parts):
        return None
    result = x if len(parts) == 1 else _joined(F, parts, x, dim % x.ndim)
    for _ in range(n):
        result = _apart(F, result, dim) if x.dtype is bool_ else F.diff(result, 1, dim)
    return result


def _joined(F: Any, parts: list[Any], x: Any, axis: int) -> Any:
    """Tensors of the sizes of one, but for an axis along which they are joined."""
    F.require(*(one.shape[k] == x.shape[k] for one in parts if one is not x for k in range(x.ndim) if k != axis))
    return F.cat(parts, axis)


def _apart(F: Any, x: Any, dim: int) -> Any:
    """Where neighbours along an axis differ."""
    return F.logical_xor(F.slice(x, dim, 1, None, 1), F.slice(x, dim, 0, -1, 1))


@expansions("aten::renorm")
def _renorm(F: Any, x: Any, p: Any, dim: Any, maxnorm: Any) -> Any:
    """Slices that are too long, scaled down."""
    is_known = p in (1, 2, math.inf) and type(maxnorm) in (int, float) and maxnorm >= 0
    if not is_known or x.dtype not in _FLOATS or x.ndim < 2 or not is_axis(x, dim):
        return None
    return F.contiguous(as_recorded("aten::renorm", F, x, p, dim, maxnorm))


@expansions("aten::pdist")
def _pdist(F: Any, x: Any, p: Any = 2.0) -> Any:
    """Distances of each row from those behind it."""
    if x.dtype not in _FLOATS or x.ndim != 2 or p not in (1.0, 2.0):
        return None
    rows = x.shape[0]
    behind = F.triu(F.ones([rows, rows], dtype=bool_), 1)
    return F.index(F.cdist(x, x, p, 2), [behind])


@expansions("aten::multi_margin_loss")
def _multi_margin_loss(
    F: Any, x: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: Any = 1
) -> Any:  # fmt: skip
    """What lacks to the score of a class."""
    is_known = p in (1, 2) and isinstance(margin, int | float) and type(reduction) is int
    if not is_known or not _are_scores(x, target, 1) or (weight is not None and weight.dtype is not x.dtype):
        return None
    F.require(target.shape[0] == x.shape[0], x.shape[1] > 0)
    if weight is not None:
        if weight.ndim != 1:
            return None
        F.require(weight.shape[0] == x.shape[1])
    F.require(F.holds(F.all(F.logical_and(F.ge(target, 0), F.lt(target, x.shape[1])))))
    return as_recorded("aten::multi_margin_loss", F, x, target, p, float(margin), weight, reduction)


@expansions("aten::multilabel_margin_loss")
def _multilabel_margin_loss(F: Any, x: Any, target: Any, reduction: Any = 1) -> Any:
    """What lacks to the scores of several classes."""
    if type(reduction) is not int or not _are_scores(x, target, 2):
        return None
    F.require(target.shape[0] == x.shape[0], target.shape[1] == x.shape[1], x.shape[1] > 0)
    F.require(F.holds(F.all(F.logical_and(F.ge(target, -1), F.lt(target, x.shape[1])))))
    return as_recorded("aten::multilabel_margin_loss", F, x, target, reduction)


def _are_scores(x: Any, target: Any, rank: int) -> bool:
    return x.dtype in _FLOATS and x.ndim == 2 and target.dtype is int64 and target.ndim == rank


@expansions("aten::im2col")
def _im2col(F: Any, x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Windows along rows and columns, seen as columns."""
    numbers = [kernel_size, dilation, padding, stride]
    if x.ndim not in (3, 4) or not all(isinstance(two, list | tuple) and len(two) == 2 for two in numbers):
        return None
    if not all(type(n) is int for two in numbers for n in two) or min(*kernel_size, *dilation, *stride) < 1:
        return None
    rows, columns = padding
    image = F.constant_pad_nd(x, [columns, columns, rows, rows], 0) if any(padding) else x
    windows, spans = image, [d * (k - 1) + 1 for d, k in zip(dilation, kernel_size, strict=True)]
    F.require(*(size >= span for size, span in zip(image.shape[-2:], spans, strict=True)))
    for axis, (span, step, apart) in enumerate(zip(spans, stride, dilation, strict=True), x.ndim - 2):
        windows = F.unfold(windows, axis, span, step)
        windows = F.slice(windows, windows.ndim - 1, 0, span, apart) if apart > 1 else windows
    *batch, channels, down, across, _, _ = windows.shape
    front = len(batch)
    turned = F.permute(windows, [*range(front + 1), front + 3, front + 4, front + 1, front + 2])
    return F.reshape(F.contiguous(turned), [*batch, channels * math.prod(kernel_size), down * across])
