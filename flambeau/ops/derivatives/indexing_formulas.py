"""The formulas of what reads and writes elements at indices or under masks, and of copies between tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flambeau.ops.derivatives.plain_arrays import embedded, scattered, spread_rows
from flambeau.ops.derivatives.plain_views import at_indices, under_mask
from flambeau.ops.derivatives.shapes import perhaps, scaled, zeros
from flambeau.schema.dtype import bool_
from flambeau.schema.gradient import decomposed, formulas, passed_on


def _nothing(f: Any, grad: Any) -> Any:
    """No gradient: what was there is overwritten, or drawn."""
    return f.zeros_like(grad)


def _put_back(f: Any, grad: Any, self_sizes: Sequence[int], indices: Sequence[Any]) -> Any:
    return f.index_put(zeros(grad, self_sizes), indices, grad, True)


def _indexed(f: Any, grad: Any, self_sizes: Sequence[int], indices: Sequence[Any]) -> Any:
    if len(indices) != 1 or indices[0].dtype is bool_:
        return f.over_arrays(at_indices, _put_all_back, grad, self_sizes, *indices)
    return f.over_arrays(spread_rows, _put_rows_back, grad, self_sizes, indices[0])


def _put_all_back(f: Any, grad: Any, self_sizes: Sequence[int], *indices: Any) -> Any:
    return _put_back(f, grad, self_sizes, indices)


def _put_rows_back(f: Any, grad: Any, self_sizes: Sequence[int], index: Any) -> Any:
    return _put_back(f, grad, self_sizes, [index])


formulas("aten::index", self=_indexed)
formulas(
    "aten::index_put",
    "aten::_index_put_impl",
    self=lambda f, grad, indices, accumulate: (
        grad if accumulate else f.index_put(grad, indices, f.zeros([], dtype=grad.dtype))
    ),
    values=lambda f, grad, indices: f.index(grad, indices),
)
formulas(
    "aten::index_select",
    self=lambda f, grad, self_sizes, dim, index: (
        f.index_add(zeros(grad, self_sizes), dim, f.reshape(index, [-1]), grad if grad.dim() else f.reshape(grad, [1]))
        if self_sizes
        else f.reshape(grad, [])
    ),
)


def added_along(f: Any, grad: Any, self_sizes: Sequence[int], dim: int, index: Any) -> Any:
    """Zeros with the gradient added at places along a dimension."""
    return f.scatter_add(zeros(grad, self_sizes), dim, index, grad)


formulas(
    "aten::gather",
    self=lambda f, grad, self_sizes, dim, index: f.over_arrays(scattered, added_along, grad, self_sizes, dim, index),
)
formulas(
    "aten::take",
    self=lambda f, grad, self_sizes, index: f.put(zeros(grad, self_sizes), index, grad, True),
)


@decomposed("aten::take_along_dim")
def _take_along_dim(f: Any, self: Any, indices: Any, dim: int | None) -> Any:
    if dim is None:
        self, indices, dim = f.reshape(self, [-1]), f.reshape(indices, [-1]), 0
    indices = f.where(indices < 0, indices + self.shape[dim], indices)
    axis = dim % self.dim()
    pairs = list(enumerate(zip(self.shape, indices.shape, strict=True)))
    common = [max(a, b) if 0 not in (a, b) else 0 for _, (a, b) in pairs]
    of_self = [a if i == axis else common[i] for i, (a, _) in pairs]
    of_indices = [b if i == axis else common[i] for i, (_, b) in pairs]
    return f.gather(f.expand(self, of_self), axis, f.expand(indices, of_indices))


formulas(
    "aten::masked_select",
    self=lambda f, grad, self_sizes, mask: f.over_arrays(under_mask, _spread, grad, self_sizes, mask),
)


def _spread(f: Any, grad: Any, sizes: Sequence[int], mask: Any) -> Any:
    whole = list(f.broadcast_tensors([f.zeros(list(sizes), dtype=grad.dtype), mask])[0].shape)
    return f.masked_scatter(zeros(grad, whole), f.expand(mask, whole), grad)


def _masked(f: Any, grad: Any, mask: Any) -> Any:
    return f.masked_fill(grad, mask, 0)


formulas(
    "aten::masked_fill",
    self=_masked,
    value=lambda f, grad, mask: f.sum(f.where(mask, grad, 0)),
)
formulas(
    "aten::masked_scatter",
    self=_masked,
    source=lambda f, grad, mask, source_sizes: _taken_in_order(f, grad, mask, source_sizes),
)


def _taken_in_order(f: Any, grad: Any, mask: Any, sizes: Sequence[int]) -> Any:
    """What went where the mask is, one after another: each element is added to that of its number."""
    shown, number = f.reshape(f.expand(mask, list(grad.shape)), [-1]), math.prod(sizes)
    numbers = f.where(shown, f.cumsum(shown, 0) - 1, number)  # the rest goes behind them
    taken = f.scatter_add(zeros(grad, [number + 1]), 0, numbers, f.reshape(grad, [-1]))
    return f.reshape(f.slice(taken, 0, 0, number, 1), sizes)


formulas(
    "aten::select_scatter",
    self=lambda f, grad, dim, index, src_sizes: f.select_scatter(grad, zeros(grad, src_sizes), dim, index),
    src=lambda f, grad, dim, index: f.select(grad, dim, index),
)
formulas(
    "aten::slice_scatter",
    self=lambda f, grad, dim, start, end, step, src_sizes: f.slice_scatter(
        grad, zeros(grad, src_sizes), dim, start, end, step
    ),
    src=lambda f, grad, dim, start, end, step: f.slice(grad, dim, start, end, step),
)
formulas(
    "aten::diagonal_scatter",
    self=lambda f, grad, offset, dim1, dim2, src_sizes: f.diagonal_scatter(
        grad, zeros(grad, src_sizes), offset, dim1, dim2
    ),
    src=lambda f, grad, offset, dim1, dim2: f.diagonal(grad, offset, dim1, dim2),
)
formulas(
    "aten::as_strided_scatter",
    self=lambda f, grad, size, stride, storage_offset: f.as_strided_scatter(
        grad, zeros(grad, size), size, stride, storage_offset
    ),
    src=lambda f, grad, size, stride, storage_offset: f.as_strided(grad.contiguous(), size, stride, storage_offset),
)


formulas(
    "aten::index_add",
    self=passed_on,
    source=lambda f, grad, dim, index, alpha, source_sizes: scaled(
        f.reshape(f.index_select(grad, dim, index), source_sizes), alpha
    ),
)
formulas(
    "aten::index_copy",
    self=lambda f, grad, dim, index: f.index_fill(grad, dim, index, 0),
    source=lambda f, grad, dim, index, source_sizes: f.reshape(f.index_select(grad, dim, index), source_sizes),
)
formulas(
    "aten::index_fill",
    self=lambda f, grad, dim, index: f.index_fill(grad, dim, index, 0),
    value=lambda f, grad, dim, index: f.sum(grad * f.index_fill(f.zeros_like(grad), dim, index, 1)),
)
formulas(
    "aten::scatter_add",
    self=passed_on,
    src=lambda f, grad, dim, index, src_sizes: _gathered(f, grad, dim, index, src_sizes),
)
for _name in ("aten::scatter.src", "aten::scatter.value"):
    formulas(
        _name,
        self=lambda f, grad, dim, index: f.scatter(grad, dim, index, 0),
        src=lambda f, grad, dim, index, src_sizes: _gathered(f, grad, dim, index, src_sizes),
    )


def _gathered(f: Any, grad: Any, dim: int, index: Any, sizes: Sequence[int]) -> Any:
    """The gradient of a source of which the leading elements along each axis were scattered."""
    taken = f.gather(grad, dim, index)
    if not any(perhaps(a != b) for a, b in zip(taken.shape, sizes, strict=True)):
        return taken
    pad = [n for a, b in zip(reversed(sizes), reversed(taken.shape), strict=True) for n in (0, a - b)]
    return f.constant_pad_nd(taken, pad)


formulas(
    "aten::put",
    self=lambda f, grad, index, source_sizes, accumulate: (
        grad if accumulate else f.put(grad, index, zeros(grad, source_sizes), False)
    ),
    source=lambda f, grad, index, source_sizes: f.reshape(f.take(grad, index), source_sizes),
)
formulas("aten::copy", self=_nothing, src=passed_on, other=passed_on)
formulas("aten::fill", self=_nothing, value=lambda f, grad: f.sum(grad))
formulas("aten::zero_", self=_nothing)
formulas("aten::fill_diagonal_", self=lambda f, grad, wrap: f.fill_diagonal_(f.clone(grad), 0, wrap))
formulas("aten::bernoulli", self=_nothing, p=_nothing)
formulas(
    "aten::normal",
    "aten::poisson",
    "aten::uniform_",
    "aten::exponential_",
    "aten::random",
    "aten::log_normal_",
    "aten::cauchy_",
    "aten::geometric_",
    self=_nothing,
)
formulas("aten::binomial", count=_nothing, prob=_nothing)
formulas("aten::normal.Tensor_float", mean=_nothing)
formulas("aten::normal.float_Tensor", std=_nothing)
formulas("aten::normal.Tensor_Tensor", mean=_nothing, std=_nothing)
formulas("aten::bincount", weights=lambda f, grad, self: f.index_select(grad, 0, self))


def _embedding(
    f: Any, grad: Any, weight_sizes: Sequence[int], indices: Any, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    if scale_grad_by_freq:
        return _of_table(f, grad, weight_sizes, indices, padding_idx, scale_grad_by_freq)
    return f.over_arrays(embedded, _of_table, grad, weight_sizes, indices, padding_idx)


def _of_table(
    f: Any, grad: Any, weight_sizes: Sequence[int], indices: Any, padding_idx: int, scale_grad_by_freq: bool = False
) -> Any:
    flat = f.reshape(indices, [-1])
    rows = f.reshape(grad, [-1, weight_sizes[1]])
    if padding_idx >= 0:
        rows = f.masked_fill(rows, f.unsqueeze(f.eq(flat, padding_idx), 1), 0)
    if scale_grad_by_freq:
        often = f.index_add(zeros(grad, [weight_sizes[0]]), 0, flat, f.ones_like(f.select(rows, 1, 0)))
        rows = rows / f.unsqueeze(f.index_select(often, 0, flat), 1)
    return f.index_add(zeros(grad, weight_sizes), 0, flat, rows)


formulas("aten::embedding", weight=_embedding)


@decomposed("aten::diff")
def _diff(f: Any, self: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    if n == 0:
        return f.clone(self)
    parts = [one for one in (prepend, self, append) if one is not None]
    result = f.cat(parts, dim) if len(parts) > 1 else self
    for _ in range(n):
        length = result.shape[dim]
        kept = max(length - 1, 0)
        later, earlier = f.narrow(result, dim, min(1, length), kept), f.narrow(result, dim, 0, kept)
        result = f.logical_xor(later, earlier) if str(result.dtype).endswith("bool") else later - earlier
    return result


def _repeated_each(f: Any, grad: Any, self_sizes: Sequence[int], repeats: int, dim: int | None) -> Any:
    if dim is None or not self_sizes:
        return f.reshape(f.sum(f.reshape(grad, [math.prod(self_sizes), repeats]), [1]), self_sizes)
    at = 1 + dim % len(self_sizes)
    return f.sum(f.reshape(grad, [*self_sizes[:at], repeats, *self_sizes[at:]]), [at])


formulas("aten::repeat_interleave.self_int", self=_repeated_each)


@decomposed("aten::repeat_interleave.self_Tensor")
def _repeat_some(f: Any, self: Any, repeats: Any, dim: int | None, output_size: Any) -> Any:
    if dim is None:
        self, dim = f.reshape(self, [-1]), 0
    return f.index_select(self, dim, f.repeat_interleave(f.arange(self.shape[dim]), repeats))


@decomposed("aten::diag")
def _diag(f: Any, self: Any, diagonal: int) -> Any:
    return f.diag_embed(self, diagonal) if self.dim() == 1 else f.diagonal_copy(self, diagonal)


formulas("aten::diag_embed", self=lambda f, grad, offset, dim1, dim2: f.diagonal(grad, offset, dim1, dim2))
formulas("aten::median", "aten::nanmedian", self=lambda f, grad, self, result: _at_value(f, grad, self, result))


def _at_value(f: Any, grad: Any, self: Any, result: Any) -> Any:
    is_it = f.logical_or(f.eq(self, result), f.logical_and(f.isnan(self), f.isnan(result)))
    return is_it * (grad / f.sum(is_it))
