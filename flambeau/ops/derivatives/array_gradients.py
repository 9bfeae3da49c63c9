"""Gradients of what shows, joins, cuts, picks and multiplies arrays, each in a few calls of NumPy's.

>>> _joined_parts(np.arange(3.0), [[1], [2]], 0)
[array([0.]), array([1., 2.])]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from flambeau.ops.derivatives.plain_arrays import Array, chosen, embedded, scattered, spread_rows
from flambeau.ops.derivatives.plain_views import at_index, at_indices, at_slice
from flambeau.ops.families.reduce import total
from flambeau.schema.array_gradient import array_gradient
from flambeau.tensor.array_library import np
from flambeau.util import blas

SMALL: Final = 1 << 14
"""Elements up to which the gradient of a sum is written out: beyond, it is shown."""


@array_gradient(
    "aten::unsqueeze", "aten::squeeze", "aten::view", "aten::_unsafe_view", "aten::view_as", "aten::reshape",
    "aten::reshape_as", "aten::flatten", "aten::ravel", "aten::unflatten", of="self", shows=True,
)  # fmt: skip
def _reshaped(grad: Array, self_sizes: Sequence[int]) -> Array:
    return grad.reshape(self_sizes)


@array_gradient("aten::transpose", "aten::swapdims", of="self", shows=True)
def _transposed(grad: Array, dim0: int, dim1: int) -> Array:
    return grad.swapaxes(dim0, dim1) if grad.ndim else grad


@array_gradient("aten::t", of="self", shows=True)
def _turned(grad: Array) -> Array:
    return grad.T


@array_gradient("aten::mT", of="self", shows=True)
def _turned_matrices(grad: Array) -> Array:
    return grad.swapaxes(-1, -2)


@array_gradient("aten::permute", of="self", shows=True)
def _permuted_back(grad: Array, dims: Sequence[int]) -> Array:
    rank = len(dims)
    back = [0] * rank
    for to, source in enumerate(dims):
        back[source % rank] = to
    return grad.transpose(back)


@array_gradient("aten::select", of="self")
def _selected(grad: Array, self_sizes: Sequence[int], dim: int, index: int) -> Array | None:
    return at_index(grad, self_sizes, dim, index)


@array_gradient("aten::slice", of="self")
def _sliced(
    grad: Array, self_sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> Array | None:
    return at_slice(grad, self_sizes, dim, start, end, step)


@array_gradient("aten::narrow", of="self")
def _narrowed(grad: Array, self_sizes: Sequence[int], dim: int, start: Any, length: int) -> Array | None:
    if type(start) is not int:
        return None
    first = start + self_sizes[dim] if start < 0 else start
    return at_slice(grad, self_sizes, dim, first, first + length, 1)


@array_gradient("aten::cat", "aten::concat", "aten::concatenate", of="tensors", shows=True)
def _joined_parts(grad: Array, tensors_sizes: Sequence[Sequence[int]], dim: int) -> list[Array] | None:
    rank = grad.ndim
    lead = (slice(None),) * (dim % rank)
    parts = []
    start = 0
    for sizes in tensors_sizes:
        if len(sizes) != rank:  # an empty one of another rank
            return None
        end = start + sizes[dim]
        parts.append(grad[(*lead, slice(start, end))])
        start = end
    return parts


@array_gradient("aten::stack", of="tensors", shows=True)
def _stacked_parts(grad: Array, dim: int) -> list[Array]:
    return [*(grad.swapaxes(0, dim) if grad.ndim == 2 else np.moveaxis(grad, dim, 0))]


def _complete(grads: Sequence[Array | None], sizes: Sequence[Sequence[int]]) -> list[Array]:
    """The gradients of several results: zeros where none came."""
    dtype = next(grad.dtype for grad in grads if grad is not None)
    gradients = [*grads, *[None] * (len(sizes) - len(grads))]
    pairs = zip(gradients, sizes, strict=True)
    return [np.zeros(size, dtype) if grad is None else grad for grad, size in pairs]


@array_gradient(
    "aten::split", "aten::split_with_sizes", "aten::chunk", "aten::unsafe_chunk", "aten::unsafe_split",
    "aten::unsafe_split_with_sizes", "aten::tensor_split", of="self", is_for_large=True,
)  # fmt: skip
def _joined_again(grads: Sequence[Array | None], results_sizes: Sequence[Sequence[int]], dim: int) -> Array:
    return np.concatenate(_complete(grads, results_sizes), dim)


@array_gradient("aten::unbind", of="self", is_for_large=True)
def _stacked_again(grads: Sequence[Array | None], results_sizes: Sequence[Sequence[int]], dim: int) -> Array:
    return np.stack(_complete(grads, results_sizes), dim)


@array_gradient("aten::repeat", of="self", shows=True)
def _unrepeated(grad: Array, self_sizes: Sequence[int], repeats: Sequence[int]) -> Array:
    sizes = [*[1] * (len(repeats) - len(self_sizes)), *self_sizes]
    if not sizes:
        return grad
    parts = [n for pair in zip(repeats, sizes, strict=True) for n in pair]
    often = [2 * k for k, repeat in enumerate(repeats) if repeat != 1]
    shown = grad.reshape(parts)
    return (total(shown, tuple(often), False, grad.dtype) if often else shown).reshape(self_sizes)


@array_gradient("aten::roll", of="self")
def _rolled_back(grad: Array, shifts: Sequence[int], dims: Sequence[int]) -> Array | None:
    if len(dims) != 1 or len(shifts) != 1:
        return None
    return np.roll(grad, -shifts[0], dims[0])


def _spread(grad: Array, sizes: Sequence[int], dim: Any, keepdim: bool) -> Array | None:
    """The gradient of a sum in the sizes of what was added up."""
    if prod(sizes) > SMALL:
        return None
    if grad.ndim and not keepdim:
        rank = len(sizes)
        axes = {d % rank for d in ([dim] if isinstance(dim, int) else dim)}
        grad = grad.reshape([1 if axis in axes else size for axis, size in enumerate(sizes)])
    result = np.empty(sizes, grad.dtype)
    result[...] = grad
    return result


@array_gradient("aten::sum", of="self")
def _of_sum(grad: Array, self_sizes: Sequence[int], dim: Any = None, keepdim: bool = False) -> Array | None:
    return _spread(grad, self_sizes, dim, keepdim)


@array_gradient("aten::mean", of="self")
def _of_mean(grad: Array, self_sizes: Sequence[int], dim: Any = None, keepdim: bool = False) -> Array | None:
    spread = _spread(grad, self_sizes, dim, keepdim)
    if spread is not None:
        spread /= spread.dtype.type(spread.size // max(grad.size, 1))
    return spread


@array_gradient("aten::cumsum", of="self")
def _of_running_sum(grad: Array, dim: int) -> Array | None:
    if not grad.ndim or grad.size > SMALL:
        return None
    backwards = (*(slice(None),) * (dim % grad.ndim), slice(None, None, -1))
    return np.ascontiguousarray(np.add.accumulate(grad[backwards], dim)[backwards])


@array_gradient("aten::gather", of="self")
def _ungathered(grad: Array, self_sizes: Sequence[int], dim: int, index: Array) -> Array | None:
    return scattered(grad, self_sizes, dim, index)


@array_gradient(
    "aten::kthvalue", "aten::mode", "aten::max.dim", "aten::min.dim", "aten::median.dim", "aten::nanmedian.dim",
    of="self",
)
def _unchosen(
    grads: Sequence[Array | None], self_sizes: Sequence[int], result1: Array, dim: int = -1, keepdim: bool = False
) -> Array | None:
    grad = grads[0]
    if grad is None or not self_sizes:
        return None
    return (scattered if keepdim else chosen)(grad, self_sizes, dim, result1)


@array_gradient("aten::sort", "aten::topk", "aten::cummax", "aten::cummin", of="self")
def _unordered(grads: Sequence[Array | None], self_sizes: Sequence[int], result1: Array, dim: int = -1) -> Array | None:
    grad = grads[0]
    return None if grad is None or not self_sizes else scattered(grad, self_sizes, dim, result1)


@array_gradient("aten::index", of="self")
def _unindexed(grad: Array, self_sizes: Sequence[int], indices: Sequence[Array | None]) -> Array | None:
    first = indices[0]
    if len(indices) == 1 and first is not None and first.dtype != np.bool_:
        return spread_rows(grad, self_sizes, first)
    return at_indices(grad, self_sizes, *indices)


@array_gradient("aten::embedding", of="weight")
def _untabled(
    grad: Array, weight_sizes: Sequence[int], indices: Array, padding_idx: int, scale_grad_by_freq: bool
) -> Array | None:
    return None if scale_grad_by_freq else embedded(grad, weight_sizes, indices, padding_idx)


@array_gradient("aten::masked_fill", of="self")
def _unfilled(grad: Array, mask: Array) -> Array:
    return np.where(mask, grad.dtype.type(0), grad)


@array_gradient("aten::index_add", of="source")
def _added_slices(grad: Array, dim: int, index: Array, alpha: Any, source_sizes: Sequence[int]) -> Array | None:
    if alpha != 1 or not grad.ndim:
        return None
    return grad.take(index.reshape(-1), dim).reshape(source_sizes)


@array_gradient("aten::mm", of="self", is_for_large=True)
def _left_matrix(grad: Array, mat2: Array) -> Array:
    return blas.matmul(grad, mat2.T)  # type: ignore[no-any-return]


@array_gradient("aten::mm", of="mat2", is_for_large=True)
def _right_matrix(grad: Array, self: Array) -> Array:
    return blas.matmul(self.T, grad)  # type: ignore[no-any-return]


@array_gradient("aten::bmm", of="self", is_for_large=True)
def _left_stack(grad: Array, mat2: Array) -> Array:
    return blas.matmul(grad, mat2.swapaxes(1, 2))  # type: ignore[no-any-return]


@array_gradient("aten::bmm", of="mat2", is_for_large=True)
def _right_stack(grad: Array, self: Array) -> Array:
    return blas.matmul(self.swapaxes(1, 2), grad)  # type: ignore[no-any-return]


@array_gradient("aten::matmul", of="self", is_for_large=True)
def _left_factor(grad: Array, self_sizes: Sequence[int], other: Array) -> Array | None:
    if other.ndim == 1:
        return grad[..., None] * other if len(self_sizes) > 1 else grad * other
    if len(self_sizes) == 1:
        return None
    return blas.matmul(grad, other.swapaxes(-1, -2))  # type: ignore[no-any-return]


@array_gradient("aten::matmul", of="other", is_for_large=True)
def _right_factor(grad: Array, self: Array, other_sizes: Sequence[int]) -> Array | None:
    rank = self.ndim
    if rank < 2:
        return None
    if len(other_sizes) > 2:
        return blas.matmul(self.swapaxes(-1, -2), grad)  # type: ignore[no-any-return]
    rows = self.reshape(prod(self.shape[:-1]), self.shape[-1])
    if len(other_sizes) == 1:
        return blas.matmul(rows.T, grad.reshape(-1))  # type: ignore[no-any-return]
    return blas.matmul(rows.T, grad.reshape(len(rows), grad.shape[-1]))  # type: ignore[no-any-return]


@array_gradient("aten::linear", of="input", is_for_large=True)
def _layer_input(grad: Array, weight: Array) -> Array:
    if weight.ndim < 2:
        return grad[..., None] * weight
    if grad.ndim < 3:
        return blas.matmul(grad, weight)  # type: ignore[no-any-return]
    rows = blas.matmul(grad.reshape(prod(grad.shape[:-1]), grad.shape[-1]), weight)
    return rows.reshape(*grad.shape[:-1], weight.shape[1])  # type: ignore[no-any-return]


@array_gradient("aten::linear", of="weight", is_for_large=True)
def _layer_weight(grad: Array, input: Array, weight_sizes: Sequence[int]) -> Array:
    rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
    by_rows = grad.reshape(len(rows), grad.shape[-1]) if len(weight_sizes) > 1 else grad.reshape(-1)
    return blas.matmul(by_rows.T, rows)  # type: ignore[no-any-return]
