"""Losses and distances as pointwise operators, folds and `nll_loss`: what plans have in their place."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

import math
from typing import Any

from flambeau.ops.classification import of_probabilities, smoothed
from flambeau.ops.families.expansion_tables import differentiated, expansions
from flambeau.ops.loss import reduced
from flambeau.schema.dtype import float32, float64, int64, uint8


@differentiated("aten::cross_entropy_loss")
@expansions("aten::cross_entropy_loss")
def _cross_entropy(
    F: Any, x: Any, target: Any, weight: Any = None, reduction: Any = 1, ignore_index: Any = -100,
    label_smoothing: Any = 0.0,
) -> Any:  # fmt: skip
    """Classes are integers of one axis less, probabilities floats of as many."""
    is_known = type(reduction) is int and isinstance(label_smoothing, int | float) and 0 <= label_smoothing <= 1
    if not is_known or x.ndim < 1 or not x.dtype.is_floating_point:
        return None
    class_dim = min(1, x.ndim - 1)
    logs = F.log_softmax(x, class_dim)
    if target.ndim == x.ndim and target.dtype.is_floating_point:
        if not (type(ignore_index) is int and ignore_index < 0):
            return None
        F.require(*(a == b for a, b in zip(x.shape, target.shape, strict=True)))
        count = F.maximum(math.prod(n for axis, n in enumerate(x.shape) if axis != class_dim), 1)
        return of_probabilities(F, logs, target, weight, reduction, label_smoothing, count)
    if target.ndim != x.ndim - 1 or target.dtype not in (int64, uint8):
        return None
    loss = F.nll_loss_nd(logs, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return loss
    return smoothed(F, logs, loss, target, weight, reduction, ignore_index, label_smoothing)


@expansions("aten::binary_cross_entropy")
def _binary_cross_entropy(F: Any, x: Any, target: Any, weight: Any = None, reduction: Any = 1) -> Any:
    """Logarithms are cut off at -100; inputs are probabilities."""
    operands = (x, target) if weight is None else (x, target, weight)
    if type(reduction) is not int or any(t.dtype is not x.dtype for t in operands) or x.dtype not in (float32, float64):
        return None
    F.require(F.holds(F.all(F.logical_and(F.ge(x, 0), F.le(x, 1)))))
    no, yes = F.clamp_min(F.log1p(F.neg(x)), -100.0), F.clamp_min(F.log(x), -100.0)
    loss = F.sub(F.mul(F.sub(target, 1), no), F.mul(target, yes))
    return reduced(F, loss if weight is None else F.mul(loss, weight), reduction)


@expansions("aten::one_hot")
def _one_hot(F: Any, x: Any, num_classes: Any = -1) -> Any:
    """Whether each class is that of a place, for a known number of classes."""
    if x.dtype is not int64 or type(num_classes) is not int or num_classes < 1:
        return None
    F.require(F.holds(F.all(F.logical_and(F.ge(x, 0), F.lt(x, num_classes)))))
    return F.to(F.eq(F.unsqueeze(x, -1), F.arange(num_classes, dtype=int64)), int64)
