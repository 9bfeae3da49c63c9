"""The formulas of writes that fold what meets at an index: `scatter_reduce`, `index_reduce`, `scatter(reduce=)`.

Each element of the result folds the elements of the source that the index sends there, and the one that was there
before if `include_self`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.derivatives.shapes import perhaps
from flambeau.schema.gradient import decomposed, formulas


class _Fold:
    """One call: what was there, what is written, and the result."""

    def __init__(self, f: Any, operands: tuple[Any, Any, Any, Any], dim: int, includes_self: bool) -> None:
        self.f = f
        self.own, self.source, self.index, self.result = operands
        self.dim = dim
        self.includes_self = includes_self

    def sent(self, values: Any) -> Any:
        """Per element of the source, what there is where it goes."""
        return self.f.gather(values, self.dim, self.index)

    def added(self, own: Any, source: Any) -> Any:
        """Added up where they meet; what was there before counts if it is included, or nothing meets it."""
        return self.f.scatter_add(self.left(own), self.dim, self.index, source)

    def left(self, own: Any) -> Any:
        """What was there, with zeros where it is written over."""
        return own if self.includes_self else self.f.scatter(own, self.dim, self.index, 0)


def _of_sum(fold: _Fold, grad: Any) -> tuple[Any, Any]:
    return fold.left(grad), fold.sent(grad)


def _of_mean(fold: _Fold, grad: Any) -> tuple[Any, Any]:
    f = fold.f
    often = fold.added(f.ones_like(grad), f.ones_like(f.detach(fold.source)))
    return _of_sum(fold, grad / often)


def _of_extreme(fold: _Fold, grad: Any) -> tuple[Any, Any]:
    """Those that are the extreme share the gradient."""
    f = fold.f
    own = fold.left(_same(f, fold.own, fold.result, grad))
    source = _same(f, fold.source, fold.sent(fold.result), grad)
    share = grad / f.scatter_add(own, fold.dim, fold.index, source)
    return own * share, source * fold.sent(share)


def _same(f: Any, x: Any, y: Any, grad: Any) -> Any:
    x, y = f.detach(x), f.detach(y)
    return f.to(f.logical_or(f.eq(x, y), f.logical_and(f.isnan(x), f.isnan(y))), grad.dtype)


def _of_product(fold: _Fold, grad: Any) -> tuple[Any, Any]:
    """Times the product of the others: that of all which are not 0 over one's own, times the one that is, if any.

    A single zero among the others stands there as itself, so that a derivative of this is right too.
    """
    f = fold.f
    own_zero, source_zero = f.eq(fold.own, 0), f.eq(fold.source, 0)
    own, source = f.where(own_zero, 1, fold.own), f.where(source_zero, 1, fold.source)
    product = f.scatter_reduce(own, fold.dim, fold.index, source, "prod", include_self=fold.includes_self)
    weighted = grad * f.conj(product)
    number = fold.added(f.to(own_zero, grad.dtype), f.to(source_zero, grad.dtype))
    zeros = fold.added(f.where(own_zero, fold.own, 0), f.where(source_zero, fold.source, 0))

    def share(values: tuple[Any, Any, Any], factor: Any, x: Any, is_zero: Any) -> Any:
        weighted, number, zeros = values
        others = number - f.to(is_zero, grad.dtype)
        only = f.conj(zeros - f.where(is_zero, x, 0))
        quotient = weighted / f.conj(factor)
        return f.where(f.eq(others, 0), quotient, f.where(f.eq(others, 1), quotient * only, 0))

    values = (weighted, number, zeros)
    by_source = share((fold.sent(weighted), fold.sent(number), fold.sent(zeros)), source, fold.source, source_zero)
    return fold.left(share(values, own, fold.own, own_zero)), by_source


_BY_REDUCTION: Final[dict[str, Callable[[_Fold, Any], tuple[Any, Any]]]] = {
    "sum": _of_sum,
    "mean": _of_mean,
    "amax": _of_extreme,
    "amin": _of_extreme,
    "prod": _of_product,
}


def _padded(f: Any, x: Any, sizes: Sequence[int]) -> Any:
    """With zeros behind, along each axis, for what the index does not reach."""
    if not any(perhaps(a != b) for a, b in zip(x.shape, sizes, strict=True)):
        return x
    pairs = zip(reversed(sizes), reversed(x.shape), strict=True)
    return f.constant_pad_nd(x, [n for size, reached in pairs for n in (0, size - reached)])


def _reached(f: Any, src: Any, index: Any) -> Any:
    """The part of a source that the index has places for."""
    for axis, size in enumerate(index.shape):
        src = f.narrow(src, axis, 0, size) if perhaps(src.shape[axis] != size) else src
    return src


def _both(
    f: Any, grad: Any, self: Any, dim: int, index: Any, src: Any, result: Any, reduce: str, include_self: bool
) -> tuple[Any, Any]:
    fold = _Fold(f, (self, _reached(f, src, index), index, result), dim, include_self)
    own, source = _BY_REDUCTION[reduce](fold, grad)
    return own, _padded(f, source, src.shape)


def _by_self(
    f: Any, grad: Any, self: Any, dim: int, index: Any, src: Any, result: Any, reduce: str, include_self: bool
) -> Any:
    return _both(f, grad, self, dim, index, src, result, reduce, include_self)[0]


def _by_source(
    f: Any, grad: Any, self: Any, dim: int, index: Any, src: Any, result: Any, reduce: str, include_self: bool
) -> Any:
    return _both(f, grad, self, dim, index, src, result, reduce, include_self)[1]


formulas("aten::scatter_reduce", self=_by_self, src=_by_source)


@decomposed("aten::index_reduce")
def _index_reduce(f: Any, self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool) -> Any:
    axis = dim % max(source.dim(), 1)
    lined = f.reshape(index, [-1 if d == axis else 1 for d in range(source.dim())])
    indices = f.expand(lined, list(source.shape))
    return f.scatter_reduce(self, dim, indices, source, reduce, include_self=include_self)


_NAMES: Final = {"add": "sum", "multiply": "prod"}


@decomposed("aten::scatter.reduce")
def _scatter_folded(f: Any, self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    return f.scatter_reduce(self, dim, index, src, _NAMES[reduce])


@decomposed("aten::scatter.value_reduce")
def _scatter_folded_value(f: Any, self: Any, dim: int, index: Any, value: Any, reduce: str) -> Any:
    values = f.full(list(index.shape), value, dtype=self.dtype)
    return f.scatter_reduce(self, dim, index, values, _NAMES[reduce])
