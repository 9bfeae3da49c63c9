"""The formulas of distances between rows."""

from __future__ import annotations

import math
from typing import Any

from flambeau.ops.derivatives.plain_arrays import of_cosines
from flambeau.schema.gradient import decomposed, formulas


def _slope(f: Any, grad: Any, difference: Any, distance: Any, p: float) -> Any:
    """The gradient of differences whose norm of order `p` along the last axis is `distance`; 0 between equal rows."""
    grad, distance = f.unsqueeze(grad, -1), f.unsqueeze(distance, -1)
    if p == 0:
        return f.zeros_like(difference)
    if p == 1:
        return f.sgn(difference) * grad
    size = f.abs(difference)
    if math.isinf(p):
        return f.where(f.eq(size, distance), f.sgn(difference) * grad, 0)
    share = f.where(f.eq(distance, 0), 0, grad * f.pow(f.where(f.eq(distance, 0), 1, distance), 1 - p))
    if p < 2:  # a slope of 0 where it would be infinite
        return f.sgn(difference) * f.where(f.eq(size, 0), 0, f.pow(f.where(f.eq(size, 0), 1, size), p - 1)) * share
    return f.sgn(difference) * f.pow(size, p - 1) * share


def _ratio(f: Any, grad: Any, distance: Any) -> Any:
    """Gradients over distances, 0 where rows are equal."""
    is_zero = f.eq(distance, 0)
    return f.where(is_zero, 0, grad / f.where(is_zero, 1, distance))


def _from_others(f: Any, ratio: Any, own: Any, others: Any) -> Any:
    """Per own row the sum over others of ratio times difference, as a product of matrices.

    What all rows have in common is taken off first: it would cost precision, and counts for nothing.
    """
    common = f.detach(f.mean(own, [-2], True))
    common = f.where(f.isfinite(common), common, 0)
    own, others = own - common, others - common
    return own * f.sum(ratio, [-1], True) - f.matmul(ratio, others)


def _cdist_first(f: Any, grad: Any, x1: Any, x2: Any, result: Any, p: float) -> Any:
    if p == 2:
        return _from_others(f, _ratio(f, grad, result), x1, x2)
    return f.own("cdist_gradient", grad, x1, x2, result, p)


def _cdist_second(f: Any, grad: Any, x1: Any, x2: Any, result: Any, p: float) -> Any:
    turned = f.transpose(grad, -2, -1), f.transpose(result, -2, -1)
    return _cdist_first(f, turned[0], x2, x1, turned[1], p)


formulas("aten::cdist", x1=_cdist_first, x2=_cdist_second)
formulas("aten::pdist", self=lambda f, grad, self, result, p: f.own("pdist_gradient", grad, self, result, p))


@decomposed("flambeau::cdist_gradient")
def _cdist_gradient(f: Any, grad: Any, x1: Any, x2: Any, distance: Any, p: float) -> Any:
    return f.sum(_slope(f, grad, f.unsqueeze(x1, -2) - f.unsqueeze(x2, -3), distance, p), [-2])


@decomposed("flambeau::pdist_gradient")
def _pdist_gradient(f: Any, grad: Any, self: Any, distance: Any, p: float) -> Any:
    number = self.shape[0]
    rows, columns = f.unbind(f.triu_indices(number, number, 1), 0)
    if p == 2:
        half = f.index_put(grad.new_zeros([number, number]), [rows, columns], _ratio(f, grad, distance))
        return _from_others(f, half + f.transpose(half, 0, 1), self, self)
    slope = _slope(f, grad, f.index_select(self, 0, rows) - f.index_select(self, 0, columns), distance, p)
    return f.index_add(f.index_add(f.zeros_like(self), 0, rows, slope), 0, columns, slope, alpha=-1)


def _towards(f: Any, grad: Any, self: Any, other: Any, result: Any, dim: int, eps: float) -> Any:
    """Of the cosine, what turns a vector towards the other one; lengths below `eps` count as that, and stay so."""
    self, other = f.broadcast_tensors([self, other])
    size = f.linalg_vector_norm(self, 2, [dim], True)
    length = f.clamp_min(size, eps)
    across = f.unsqueeze(result, dim) * self / (length * length)
    along = other / (length * f.clamp_min(f.linalg_vector_norm(other, 2, [dim], True), eps))
    return f.unsqueeze(grad, dim) * (along - f.where(size < eps, 0, across))


formulas(
    "aten::cosine_similarity",
    x1=lambda f, grad, x1, x2, result, dim, eps: f.over_arrays(of_cosines, _towards, grad, x1, x2, result, dim, eps),
    x2=lambda f, grad, x1, x2, result, dim, eps: f.over_arrays(of_cosines, _towards, grad, x2, x1, result, dim, eps),
)
