"""The formulas of reductions and of running folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.derivatives.indexing_formulas import added_along
from flambeau.ops.derivatives.plain_arrays import chosen, scattered
from flambeau.ops.derivatives.shapes import at_least_zero, axes, count, kept, perhaps, unreduced, zeros
from flambeau.schema.gradient import decomposed, formulas


def _sum(f: Any, grad: Any, self_sizes: Sequence[int], dim: Any = None, keepdim: bool = False) -> Any:
    return unreduced(f, grad, dim, keepdim, self_sizes)


def _mean(f: Any, grad: Any, self_sizes: Sequence[int], dim: Any = None, keepdim: bool = False) -> Any:
    return unreduced(f, grad, dim, keepdim, self_sizes) / count(dim, self_sizes)


def _nansum(f: Any, grad: Any, self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return f.where(f.isnan(self), 0, unreduced(f, grad, dim, keepdim, self.shape))


def _nanmean(f: Any, grad: Any, self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    known = f.logical_not(f.isnan(self))
    number = f.sum(known, axes(dim, self.dim()), True) if self.dim() else known
    return f.where(known, unreduced(f, grad, dim, keepdim, self.shape) / number, 0)


formulas("aten::sum", self=_sum)
formulas("aten::mean", self=_mean)
formulas("aten::nansum", self=_nansum)
formulas("aten::nanmean", self=_nanmean)


def _extreme(f: Any, grad: Any, self: Any, result: Any) -> Any:
    """Each element that is the extreme gets the same share; where that is nan, each that is nan."""
    if self.dim() == 0:
        return grad
    is_best = f.logical_or(f.eq(self, result), f.logical_and(f.isnan(self), f.isnan(result)))
    return is_best * (grad / f.sum(is_best))


def _extreme_along(f: Any, grad: Any, self: Any, result: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Each element that is the extreme gets the same share: nan where the extreme is, which equals none."""
    rank = self.dim()
    if rank == 0:
        return grad
    is_best = f.eq(self, kept(f, result, dim, keepdim, rank))
    return is_best * (kept(f, grad, dim, keepdim, rank) / f.sum(is_best, axes(dim, rank), True))


formulas("aten::amax", "aten::amin", self=_extreme_along)


def _chosen(f: Any, grads: Any, self_sizes: Sequence[int], result1: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The element that was chosen gets the gradient."""
    [grad, *_] = grads
    if not self_sizes:
        return grad
    if keepdim:
        return f.over_arrays(scattered, added_along, grad, self_sizes, dim, result1)
    return f.over_arrays(chosen, _chosen_along, grad, self_sizes, dim, result1)


def _chosen_along(f: Any, grad: Any, self_sizes: Sequence[int], dim: int, index: Any) -> Any:
    return added_along(f, f.unsqueeze(grad, dim), self_sizes, dim, f.unsqueeze(index, dim))


formulas(
    "aten::kthvalue",
    "aten::mode",
    "aten::max.dim",
    "aten::min.dim",
    "aten::median.dim",
    "aten::nanmedian.dim",
    self=_chosen,
)
formulas("aten::max.", "aten::min.", self=_extreme)


def _aminmax(f: Any, grads: Any, self: Any, result0: Any, result1: Any, dim: Any, keepdim: bool) -> Any:
    dims = [] if dim is None else [dim]
    pairs = zip(grads, (result0, result1), strict=False)  # gradients of the last results may not be there
    parts = [_extreme_along(f, g, self, extreme, dims, keepdim) for g, extreme in pairs if g is not None]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


formulas("aten::aminmax", self=_aminmax)


def _ordered(f: Any, grads: Any, self_sizes: Sequence[int], result1: Any, dim: int = -1) -> Any:
    [grad, *_] = grads
    if not self_sizes:
        return grad
    return f.over_arrays(scattered, added_along, grad, self_sizes, dim, result1)


formulas("aten::sort", "aten::topk", "aten::cummax", "aten::cummin", self=_ordered)


@decomposed("aten::msort")
def _msort(f: Any, self: Any) -> Any:
    return f.sort(self, 0)[0]


def _correction(unbiased: Any, correction: Any) -> Any:
    return correction if correction is not None else 1 if unbiased is None else int(unbiased)


def _var(
    f: Any, grad: Any, self: Any, dim: Any = None, unbiased: Any = None, correction: Any = None, keepdim: bool = False
) -> Any:
    number = count(dim, self.shape)
    divisor = at_least_zero(f, number - _correction(unbiased, correction), grad)
    centred = self - f.mean(self, axes(dim, self.dim()), True) if self.dim() else self - self
    scale = math.inf if isinstance(divisor, int | float) and not divisor else 2.0 / divisor
    return unreduced(f, grad, dim, keepdim, self.shape) * centred * scale


def _std(
    f: Any,
    grad: Any,
    self: Any,
    result: Any,
    dim: Any = None,
    unbiased: Any = None,
    correction: Any = None,
    keepdim: bool = False,
) -> Any:
    inner = f.where(f.eq(result, 0), 0, grad / (result * 2))
    return _var(f, inner, self, dim, unbiased, correction, keepdim)


formulas("aten::var", self=_var)
formulas("aten::std", self=_std)


@decomposed("aten::var_mean")
def _var_mean(f: Any, self: Any, **options: Any) -> Any:
    dim, keepdim = options.get("dim"), options.get("keepdim", False)
    mean = f.mean(self, axes(dim, self.dim()), keepdim) if self.dim() else f.mean(self)
    return f.var(self, **options), mean


@decomposed("aten::std_mean")
def _std_mean(f: Any, self: Any, **options: Any) -> Any:
    dim, keepdim = options.get("dim"), options.get("keepdim", False)
    mean = f.mean(self, axes(dim, self.dim()), keepdim) if self.dim() else f.mean(self)
    return f.std(self, **options), mean


def _logsumexp(f: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool = False) -> Any:
    rank = self.dim()
    weights = f.exp(self - kept(f, result, dim, keepdim, rank))
    return kept(f, grad, dim, keepdim, rank) * f.conj(weights)


formulas("aten::logsumexp", "aten::special_logsumexp", self=_logsumexp)


def _prod(f: Any, grad: Any, self: Any, result: Any, dim: Any = None, keepdim: bool = False) -> Any:
    rank = self.dim()
    if rank == 0:
        return grad
    if dim is None:
        flat = f.reshape(self, [-1])
        return f.reshape(grad * f.conj(_others(f, flat, 0)), self.shape)
    grad = kept(f, grad, dim, keepdim, rank)
    if self.dtype.is_complex:
        return _times_others(f, grad, self, dim)
    return f.in_a_loop("prod_gradient", _times_others, grad, self, dim)


@decomposed("flambeau::prod_gradient")
def _times_others(f: Any, grad: Any, self: Any, dim: int) -> Any:
    return grad * f.conj(_others(f, self, dim))


def _others(f: Any, x: Any, dim: int) -> Any:
    """For each element the product of all others along an axis: those before it times those behind it."""
    length = x.shape[dim]
    if not perhaps(length != 0):
        return x
    ones = x.new_ones([1 if axis == dim % x.dim() else size for axis, size in enumerate(x.shape)])
    before = f.cumprod(f.cat([ones, f.narrow(x, dim, 0, length - 1)], dim), dim)
    behind = f.cumprod(f.flip(f.cat([f.narrow(x, dim, 1, length - 1), ones], dim), [dim]), dim)
    return before * f.flip(behind, [dim])


formulas("aten::prod", self=_prod)


def _reverse_sum(f: Any, x: Any, dim: int) -> Any:
    return f.flip(f.cumsum(f.flip(x, [dim]), dim), [dim])


def _cumsum(f: Any, grad: Any, dim: int) -> Any:
    return _reverse_sum(f, grad, dim) if grad.dim() else grad


def _cumprod(f: Any, grad: Any, self: Any, result: Any, dim: int) -> Any:
    if self.dim() == 0:
        return grad
    if self.dtype.is_complex:
        return _cumprod_gradient(f, grad, self, result, dim)
    return f.in_a_loop("cumprod_gradient", _cumprod_gradient, grad, self, result, dim)


@decomposed("flambeau::cumprod_gradient")
def _cumprod_gradient(f: Any, grad: Any, self: Any, result: Any, dim: int) -> Any:
    """Sum over k >= i of grad[k] times the product of all x[j <= k] but x[i].

    Before the first zero that is the sum of grad[k] result[k], over x[i]. At the first zero the products are those in
    which it is 1. Behind it they are 0, written as its own value times those: so that a derivative of this is right.
    """
    is_zero = f.eq(self, 0)
    number = f.cumsum(is_zero, dim)
    is_first, is_second = is_zero & f.eq(number, 1), is_zero & f.eq(number, 2)
    without_first = f.where(is_first, 1, self)
    inverse = f.reciprocal(f.conj(f.where(is_zero, 1, self)))

    def behind(products: Any) -> Any:
        return _reverse_sum(f, grad * f.conj(products), dim)

    by_first = behind(f.cumprod(without_first, dim))
    by_second = behind(f.cumprod(f.where(is_second, 1, without_first), dim))
    first = f.conj(f.sum(f.where(is_first, self, 0), [dim], True))
    after = f.where(is_zero, f.where(is_second, by_second, 0), f.where(f.eq(number, 1), by_first * inverse, 0))
    return f.where(f.eq(number, 0), behind(result) * inverse, f.where(is_first, by_first, first * after))


_EXPONENTS: Final = {1: 2.0, 2: 5.0, 4: 40.0, 8: 300.0}
"""Of which numbers there are exponentials and their reciprocals, by the size of an element."""


def _logcumsumexp(f: Any, grad: Any, self: Any, result: Any, dim: int) -> Any:
    """The sum over k >= i of grad[k] exp(self[i] - result[k]), as logarithms: the factors may be large and small."""
    if self.dim() == 0:
        return grad
    nothing = f.eq(f.real(result), -math.inf)
    base, own = f.conj(f.where(nothing, 0, result)), f.conj(self)

    def through(part: Any, is_there: Any) -> Any:
        logarithm = f.where(is_there, f.log(f.where(is_there, part, 1)), -math.inf)
        return f.exp(f.flip(f.logcumsumexp(f.flip(logarithm - base, [dim]), dim), [dim]) + own)

    zeros = _through_zeros(f, f.where(f.eq(grad, 0), grad, 0), own, base, dim)
    if self.dtype.is_complex:
        return through(grad, f.ne(grad, 0)) + zeros
    return through(grad, grad > 0) - through(-grad, grad < 0) + zeros


def _through_zeros(f: Any, zeros: Any, own: Any, base: Any, dim: int) -> Any:
    """What comes of elements of the gradient that are 0: it is 0, and its derivative by these the same factors. Each is
    a product of two exponentials, as far from the middle as they may be without being infinite."""
    real = f.real(base)
    most = _EXPONENTS[base.dtype.itemsize // (2 if base.dtype.is_complex else 1)]
    middle = f.mean(f.where(f.isfinite(real), real, 0), [dim], True)
    back = f.where(f.abs(middle - real) < most, f.exp(middle - base), 0)
    front = f.where(f.real(own) - middle < most, f.exp(own - middle), 0)
    return _reverse_sum(f, zeros * back, dim) * front


def tangent_of_logcumsumexp(f: Any, tangent: Any, self: Any, result: Any, dim: Any) -> Any:
    """By the share that each element before has in the sum: the logarithms of the formula above have no derivative at
    zero. Of a sum of nothing but zeros none has a share."""
    if self.dim() == 0:
        return tangent
    sums = f.where(f.eq(f.real(result), -math.inf), 0, result)
    own, along, total = [f.movedim(one, dim, -1) for one in (self, tangent, sums)]
    shares = f.exp(f.unsqueeze(own, -2) - f.unsqueeze(total, -1))
    shares = f.where(f.tril(f.ones_like(f.real(shares))) > 0, shares, 0)
    return f.movedim(f.squeeze(f.matmul(shares, f.unsqueeze(along, -1)), -1), -1, dim)


formulas("aten::cumsum", self=_cumsum)
formulas("aten::cumprod", self=_cumprod)
formulas("aten::logcumsumexp", self=_logcumsumexp)


def _norm(f: Any, grad: Any, self: Any, result: Any, p: Any, dim: Any, keepdim: bool) -> Any:
    rank = self.dim()
    grad, result = kept(f, grad, dim, keepdim, rank), kept(f, result, dim, keepdim, rank)
    p = 2.0 if p is None else float(p)
    if p == 0.0:
        return zeros(grad, self.shape)
    if p == 1.0:
        return f.sgn(self) * grad
    is_zero = f.eq(result, 0)
    divisor = f.where(is_zero, 1, result)
    if p == 2.0:
        return self * f.where(is_zero, 0, grad / divisor)
    size = f.abs(self)
    if math.isinf(p):
        is_best = f.logical_or(f.eq(size, result), f.logical_and(f.isnan(size), f.isnan(result)))
        number = f.sum(is_best, axes(dim, rank), True) if rank else 1
        return f.where(is_best, f.sgn(self) * (grad / number), 0)
    if p < 2.0:  # a slope of 0 where it would be infinite
        is_flat = f.eq(size, 0)
        scaled = f.where(is_flat, 0, f.pow(f.where(is_flat, 1, size), p - 1))
    else:
        scaled = f.pow(size, p - 1)
    weight = f.where(is_zero, 0, grad * f.pow(divisor, 1 - p))
    return f.sgn(self) * scaled * weight


formulas(
    "aten::norm",
    self=lambda f, grad, self, result, p=None, dim=None, keepdim=False: _norm(f, grad, self, result, p, dim, keepdim),
)
formulas(
    "aten::linalg_vector_norm",
    self=lambda f, grad, self, result, ord, dim, keepdim: _norm(f, grad, self, result, ord, dim, keepdim),
)
