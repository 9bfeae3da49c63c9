"""Draws as uniform or normal numbers, of which others are computed: what plans have in the place of `bernoulli`,
`normal`, `multinomial`, `dropout`, `uniform_` and their like, with the same numbers of the stream as the operators.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

import math
from functools import partial
from typing import Any

from flambeau.ops.families.expansion_tables import expansions
from flambeau.schema.dtype import by_code, float32, float64
from flambeau.tensor.defaults import float_dtype

_FLOATS = (float32, float64)


def _is_probability(p: Any) -> bool:
    return type(p) is float and 0 <= p <= 1


@expansions("aten::bernoulli")
def _bernoulli(F: Any, x: Any, *arguments: Any) -> Any:
    """Whether a uniform number is below the probability, which each element is, or a number."""
    *probability, generator = arguments
    p = probability[0] if probability else x
    if generator is not None or not x.ndim or x.dtype not in _FLOATS:
        return None
    if not hasattr(p, "ndim"):
        if not _is_probability(p):
            return None
        return F.to(F.lt(F.rand(x.shape, dtype=float64), p), x.dtype)
    if probability:
        return None
    F.require(F.holds(F.all(F.logical_and(F.ge(x, 0), F.le(x, 1)))))
    return F.to(F.lt(F.rand(x.shape, dtype=x.dtype), x), x.dtype)


@expansions("aten::normal")
def _normal(F: Any, mean: Any, std: Any = 1.0, *arguments: Any) -> Any:
    """Normal numbers of a mean and a deviation."""
    size, generator, *options = arguments if len(arguments) > 1 else (None, arguments[0] if arguments else None)
    if generator is not None:
        return None
    if size is None:
        return _normal_around(F, mean, std)
    dtype = float_dtype() if options[0] is None else by_code(options[0])
    is_plain = all(type(n) in (int, float) for n in (mean, std)) and dtype in _FLOATS and options[1] in (None, 0)
    if not is_plain or not std >= 0 or options[3] or str(options[2]) not in ("None", "cpu"):
        return None
    return _placed(F, F.randn(size, dtype=dtype), mean, std, dtype)


def _normal_around(F: Any, mean: Any, std: Any) -> Any:
    """Of tensors of one shape, or of a tensor and a number."""
    tensors = [t for t in (mean, std) if hasattr(t, "ndim")]
    numbers = [n for n in (mean, std) if not hasattr(n, "ndim")]
    if not tensors or not all(t.ndim == tensors[0].ndim and t.ndim and t.dtype in _FLOATS for t in tensors):
        return None
    if len({t.dtype for t in tensors}) > 1 or not all(type(n) in (int, float) for n in numbers):
        return None
    F.require(*(a == b for a, b in zip(tensors[0].shape, tensors[-1].shape, strict=True)))
    if hasattr(std, "ndim"):
        F.require(F.holds(F.logical_not(F.any(F.lt(std, 0)))))
    elif not std >= 0:
        return None
    dtype = tensors[0].dtype
    return _placed(F, F.randn(tensors[0].shape, dtype=dtype), mean, std, dtype)


def _placed(F: Any, drawn: Any, mean: Any, std: Any, dtype: Any) -> Any:
    """Times a deviation, and a mean added: by numbers in double precision."""
    is_wide = not hasattr(std, "ndim")
    scaled = F.mul(F.to(drawn, float64), float(std)) if is_wide else F.mul(drawn, std)
    if hasattr(mean, "ndim"):
        return F.to(F.add(scaled, F.to(mean, float64) if is_wide else mean), dtype)
    return F.to(F.add(F.to(scaled, float64), float(mean)), dtype)


def _dropout(is_of_channels: bool, F: Any, x: Any, p: Any, train: Any) -> Any:
    """What is kept, divided by how often it is."""
    if train is not True or not _is_probability(p) or not 0 < p < 1 or x.dtype not in _FLOATS or not x.ndim:
        return None
    if is_of_channels and x.ndim < 2:
        return None
    sizes = [*x.shape[:2], *[1] * (x.ndim - 2)] if is_of_channels else x.shape
    kept = F.to(F.lt(F.rand(sizes, dtype=float64), 1 - p), float64)
    return F.mul(x, F.to(F.div(kept, 1 - p), x.dtype))


expansions("aten::dropout")(partial(_dropout, False))
expansions("aten::feature_dropout")(partial(_dropout, True))


_NEGATIVE = -1.7580993408473766
"""What alpha dropout puts in the place of elements: where `selu` goes far below zero."""


def _alpha_dropout(is_of_channels: bool, F: Any, x: Any, p: Any, train: Any) -> Any:
    """The same, scaled and shifted so that mean and variance stay."""
    if train is not True or not _is_probability(p) or not 0 < p < 1 or x.dtype not in _FLOATS or not x.ndim:
        return None
    if is_of_channels and x.ndim < 2:
        return None
    sizes = [*x.shape[:2], *[1] * (x.ndim - 2)] if is_of_channels else x.shape
    scale = 1 / math.sqrt((_NEGATIVE * _NEGATIVE * p + 1) * (1 - p))
    chosen = F.to(F.where(F.lt(F.rand(sizes, dtype=float64), 1 - p), x, _NEGATIVE), float64)
    return F.to(F.sub(F.mul(chosen, scale), scale * p * _NEGATIVE), x.dtype)


expansions("aten::alpha_dropout")(partial(_alpha_dropout, False))
expansions("aten::feature_alpha_dropout")(partial(_alpha_dropout, True))


@expansions("aten::bernoulli_")
def _bernoulli_in_place(F: Any, x: Any, p: Any = 0.5, generator: Any = None) -> Any:
    """Overwritten with whether uniform numbers are below a number."""
    if generator is not None or not _is_probability(p) or not x.ndim:
        return None
    return F.copy_(x, F.lt(F.rand(x.shape, dtype=float64), p))


@expansions("aten::multinomial")
def _multinomial(F: Any, weights: Any, count: Any, replacement: Any = False, generator: Any = None) -> Any:
    """The first of events that happen at exponential times, each at the rate of its weight."""
    is_plain = replacement is False and generator is None and weights.dtype in _FLOATS and weights.ndim in (1, 2)
    if not is_plain or type(count) is not int or count < 1:
        return None
    F.require(weights.shape[-1] >= count)
    is_rate = F.logical_and(F.ge(weights, 0), F.lt(weights, math.inf))
    F.require(F.holds(F.all(is_rate)), F.holds(F.all(F.gt(F.sum(weights, [-1]), 0))))
    times = F.exponential_(F.zeros(weights.shape, dtype=float64), 1.0)
    order = F.argsort(F.div(times, F.to(weights, float64)), -1)
    return F.contiguous(F.slice(order, -1, 0, count, 1))


def _filled(name: str, F: Any, x: Any, first: Any, second: Any, generator: Any = None) -> Any:
    """Overwritten with uniform numbers between two bounds, or normal ones of a mean and a deviation."""
    is_known = all(type(n) in (int, float) for n in (first, second)) and x.dtype in _FLOATS and x.ndim
    if generator is not None or not is_known:
        return None
    if name == "uniform":
        if not first <= second:
            return None
        drawn = F.rand(x.shape, dtype=x.dtype)
        if (first, second) == (0.0, 1.0):
            return F.copy_(x, drawn)
        placed = F.add(F.mul(drawn, second - first), first)
        return F.copy_(x, F.where(F.eq(placed, float(second)), float(first), placed))
    if not second >= 0:
        return None
    return F.copy_(x, F.add(F.mul(F.randn(x.shape, dtype=x.dtype), second), first))


for _name in ("uniform", "normal"):
    expansions(f"aten::{_name}_")(partial(_filled, _name))
