"""The formulas of what draws numbers while training: dropout in its forms, slopes by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flambeau.ops.families.arrays import Array
from flambeau.schema.array_gradient import array_gradient
from flambeau.schema.gradient import decomposed, flat_gradient, formulas
from flambeau.tensor.recorder import are_recorded


@decomposed("aten::dropout")
def _dropout(f: Any, input: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return input
    if are_recorded([input]) and p < 1 and input._array.dtype.char in "fd" and input._array.size:
        return f.native_dropout(input, p, True)[0]
    return input * f.dropout(f.ones_like(input.detach()), p, True)


@decomposed("aten::feature_dropout")
def _feature_dropout(f: Any, input: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return input
    sizes = [n if d < 2 else 1 for d, n in enumerate(input.shape)]
    return input * f.feature_dropout(f.ones(sizes, dtype=input.dtype), p, True)


_NEGATIVE = -1.7580993408473766
"""Where `selu` goes far below zero: what alpha dropout puts in the place of elements."""


def _alpha_dropped(f: Any, input: Any, dropped: Any, p: float) -> Any:
    """The elements that were kept of zeros, scaled and shifted, where these were."""
    scale = 1 / math.sqrt((_NEGATIVE * _NEGATIVE * p + 1) * (1 - p)) if p < 1 else 0.0
    shift = -scale * p * _NEGATIVE
    return f.where(f.abs(dropped - shift) < abs(scale * _NEGATIVE) / 2, input * scale + shift, dropped)


@decomposed("aten::alpha_dropout")
def _alpha_dropout(f: Any, input: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return input
    return _alpha_dropped(f, input, f.alpha_dropout(f.zeros_like(f.detach(input)), p, True), p)


@decomposed("aten::feature_alpha_dropout")
def _feature_alpha_dropout(f: Any, input: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return input
    sizes = [n if d < 2 else 1 for d, n in enumerate(input.shape)]
    return _alpha_dropped(f, input, f.feature_alpha_dropout(input.new_zeros(sizes), p, True), p)


def _native_dropout(grads: Sequence[Any], result1: Any, p: float, train: bool | None) -> Any:
    if grads[0] is None or train is False:  # none but that of the mask may have come, which is of truths
        return grads[0]
    return grads[0] * result1 * (1 / (1 - p) if p < 1 else 0.0)


formulas("aten::native_dropout", input=_native_dropout)


@array_gradient("aten::native_dropout", of="input")
def _of_kept(grads: Sequence[Array | None], result1: Array, p: float, train: bool | None) -> Array | None:
    grad = grads[0]
    if grad is None or train is False:
        return None
    kept: Array = grad * result1
    kept *= 1 / (1 - p) if p < 1 else 0.0
    return kept


def _rrelu(f: Any, grad: Any, self: Any, result: Any, lower: float, upper: float, training: bool) -> Any:
    """Below zero times the slope that was drawn."""
    if not training:
        return f.where(self > 0, grad, grad * ((lower + upper) / 2))
    x = f.detach(self)
    slope = f.where(f.eq(x, 0), (lower + upper) / 2, f.detach(result) / f.where(f.eq(x, 0), 1, x))
    return f.where(x > 0, grad, grad * slope)


formulas("aten::rrelu", self=_rrelu)
flat_gradient("aten::rrelu", of="self")
