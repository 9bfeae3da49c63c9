"""The formulas of views and rearrangements: the gradient goes back the way the elements came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.derivatives import shapes
from flambeau.ops.derivatives.plain_views import at_index, at_slice
from flambeau.schema.gradient import decomposed, formulas, passed_on

END: Final = (1 << 63) - 1
"""The end of a slice that has none."""

formulas(
    "aten::positive",
    "aten::contiguous",
    "aten::clone",
    "aten::_to_copy",
    "aten::to",
    "aten::_autocast_to_reduced_precision",
    "aten::_autocast_to_full_precision",
    "aten::cpu",
    "aten::cuda",
    "aten::type_as",
    "aten::alias",
    "aten::alias_copy",
    "aten::resolve_conj",
    "aten::resolve_neg",
    "aten::lift_fresh",
    "aten::lift",
    "aten::lift_fresh_copy",
    "aten::real",
    "aten::expand",
    "aten::expand_copy",
    "aten::expand_as",
    "aten::broadcast_to",
    self=passed_on,
)
"""Of what keeps the elements where they are, or repeats them along broadcast axes."""
formulas(
    "aten::unsqueeze",
    "aten::unsqueeze_copy",
    "aten::squeeze",
    "aten::squeeze_copy",
    "aten::view",
    "aten::view_copy",
    "aten::_unsafe_view",
    "aten::view_as",
    "aten::reshape",
    "aten::reshape_as",
    "aten::_reshape_alias",
    "aten::flatten",
    "aten::ravel",
    "aten::unflatten",
    "aten::atleast_1d",
    "aten::atleast_2d",
    "aten::atleast_3d",
    self=lambda grad, self_sizes: grad.reshape(self_sizes),
)
formulas(
    "aten::select",
    "aten::select_copy",
    self=lambda f, grad, self_sizes, dim, index: f.over_arrays(
        at_index,
        lambda f, grad, sizes, dim, index: f.select_scatter(shapes.zeros(grad, sizes), grad, dim, index),
        grad, self_sizes, dim, index,
    ),
)  # fmt: skip
formulas(
    "aten::slice",
    "aten::slice_copy",
    self=lambda f, grad, self_sizes, dim, start, end, step: _of_slice(f, grad, self_sizes, dim, start, end, step),
)
formulas(
    "aten::narrow",
    "aten::narrow_copy",
    self=lambda f, grad, self_sizes, dim, start, length: _of_slice(
        f, grad, self_sizes, dim, _from_front(start, self_sizes, dim), _from_front(start, self_sizes, dim) + length, 1
    ),
)


def _is(bound: Any, default: int) -> bool:
    """Whether a slice's bound is known to be what it is where none is given."""
    return bound is None or (type(bound) is int and bound == default)


def _of_slice(f: Any, grad: Any, sizes: Sequence[int], dim: int, start: Any, end: Any, step: int) -> Any:
    if _is(start, 0) and _is(end, END) and type(step) is int and step == 1:
        return grad
    return f.over_arrays(
        at_slice,
        lambda f, grad, sizes, *rest: f.slice_scatter(shapes.zeros(grad, sizes), grad, *rest),
        grad, sizes, dim, start, end, step,
    )  # fmt: skip


formulas(
    "aten::transpose",
    "aten::transpose_copy",
    "aten::swapdims",
    self=lambda f, grad, dim0, dim1: f.transpose(grad, dim0, dim1),
)
formulas("aten::swapaxes", self=lambda f, grad, axis0, axis1: f.transpose(grad, axis0, axis1))
formulas("aten::t", "aten::t_copy", self=lambda f, grad: f.t(grad))
formulas("aten::numpy_T", self=lambda f, grad: f.permute(grad, list(range(grad.dim()))[::-1]))
formulas("aten::mT", self=lambda f, grad: f.transpose(grad, -2, -1))
formulas(
    "aten::matrix_H",
    "aten::mH",
    "aten::adjoint",
    self=lambda f, grad: f.conj(f.transpose(grad, -2, -1)) if grad.dim() > 1 else f.conj(grad),
)
formulas(
    "aten::diagonal",
    "aten::diagonal_copy",
    self=lambda f, grad, self_sizes, offset, dim1, dim2: f.diagonal_scatter(
        shapes.zeros(grad, self_sizes), grad, offset, dim1, dim2
    ),
)
formulas(
    "aten::linalg_diagonal",
    A=lambda f, grad, A_sizes, offset, dim1, dim2: f.diagonal_scatter(
        shapes.zeros(grad, A_sizes), grad, offset, dim1, dim2
    ),
)
formulas("aten::conj", "aten::_conj", self=lambda f, grad: f.conj(grad))
formulas("aten::imag", self=lambda f, grad: grad * 1j)
formulas(
    "aten::view_as_real",
    "aten::view_as_real_copy",
    self=lambda f, grad: f.complex(f.select(grad, -1, 0), f.select(grad, -1, 1)),
)
formulas(
    "aten::view_as_complex",
    "aten::view_as_complex_copy",
    self=lambda f, grad: f.stack([f.real(grad), f.imag(grad)], -1),
)


def _from_front(start: Any, sizes: Sequence[int], dim: int) -> int:
    return int(start) + sizes[dim] if int(start) < 0 else int(start)


def _permute(f: Any, grad: Any, dims: Sequence[int]) -> Any:
    rank = len(dims)
    back = [0] * rank
    for to, source in enumerate(dims):
        back[source % rank] = to
    return f.permute(grad, back)


formulas("aten::permute", "aten::permute_copy", self=_permute)
formulas(
    "aten::movedim", "aten::moveaxis", self=lambda f, grad, source, destination: f.movedim(grad, destination, source)
)


def _joined(f: Any, grads: Sequence[Any], results_sizes: Sequence[Sequence[int]], dim: int = 0) -> Any:
    return f.cat(shapes.complete(f, grads, results_sizes), dim)


formulas(
    "aten::split",
    "aten::split_copy",
    "aten::split_with_sizes",
    "aten::split_with_sizes_copy",
    "aten::chunk",
    "aten::unsafe_chunk",
    "aten::unsafe_split",
    "aten::unsafe_split_with_sizes",
    "aten::tensor_split",
    self=_joined,
)
"""Of what cuts a tensor along an axis."""
formulas("aten::vsplit", self=lambda f, grads, results_sizes: _joined(f, grads, results_sizes, 0))
formulas(
    "aten::hsplit",
    self=lambda f, grads, results_sizes: _joined(f, grads, results_sizes, 1 if len(results_sizes[0]) > 1 else 0),
)
formulas("aten::dsplit", self=lambda f, grads, results_sizes: _joined(f, grads, results_sizes, 2))
formulas(
    "aten::unbind",
    "aten::unbind_copy",
    self=lambda f, grads, results_sizes, dim: f.stack(shapes.complete(f, grads, results_sizes), dim),
)

@decomposed("aten::broadcast_tensors")
def _broadcast_tensors(f: Any, tensors: Sequence[Any]) -> Any:
    """Each by itself: a result asks for gradients if its own operand does."""
    shown = f.broadcast_tensors([f.detach(tensor) for tensor in tensors])
    return [f.expand_as(tensor, like) for tensor, like in zip(tensors, shown, strict=True)]


def _unfold(f: Any, grad: Any, self_sizes: Sequence[int], dimension: int, size: int, step: int) -> Any:
    rank = len(self_sizes)
    if rank == 0:
        return grad.reshape([])
    axis = dimension % rank
    windows = grad.shape[axis]
    positions = f.arange(windows).mul(step).unsqueeze(1).add(f.arange(size))
    spread = f.movedim(grad, -1, axis + 1).reshape([*self_sizes[:axis], windows * size, *self_sizes[axis + 1 :]])
    return f.index_add(shapes.zeros(grad, self_sizes), axis, positions.reshape([-1]), spread)


formulas("aten::unfold", "aten::unfold_copy", self=_unfold)


def _extent(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of memory there are from the first that is shown to the last."""
    return 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))


def _as_strided(f: Any, grad: Any, self: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    """Added up where the elements are in memory, and read there as the tensor reads it, shared where it does so twice.
    """
    sizes, steps, first = list(self.shape), list(self.stride()), self.storage_offset()
    start = first if storage_offset is None else storage_offset
    if 0 in sizes or 0 in size:
        return shapes.zeros(grad, sizes)
    base = min(first, start)
    number = max(first - base + _extent(sizes, steps), start - base + _extent(size, stride))
    positions = f.arange(number)

    def added(values: Any, sizes: Any, steps: Any, first: int) -> Any:
        index = f.reshape(f.as_strided(positions, sizes, steps, first - base), [-1])
        return f.index_add(shapes.zeros(grad, [number]), 0, index, f.reshape(values, [-1]))

    flat = added(grad, size, stride, start)
    if any(step == 0 and n > 1 for n, step in zip(sizes, steps, strict=True)):
        flat = flat / f.clamp_min(added(grad.new_ones(sizes), sizes, steps, first), 1)
    return f.as_strided(flat, sizes, steps, first - base)


formulas("aten::as_strided", "aten::as_strided_copy", self=_as_strided)


def _repeat(f: Any, grad: Any, self_sizes: Sequence[int], repeats: Sequence[int]) -> Any:
    sizes = [1] * (len(repeats) - len(self_sizes)) + list(self_sizes)
    parts = [n for repeat, size in zip(repeats, sizes, strict=True) for n in (repeat, size)]
    summed = grad.reshape(parts)
    if parts:
        summed = f.sum(summed, list(range(0, len(parts), 2)))
    return summed.reshape(self_sizes)


formulas("aten::repeat", self=_repeat)
formulas(
    "aten::tile",
    self=lambda f, grad, self_sizes, dims: _repeat(
        f, grad, self_sizes, [1] * max(len(self_sizes) - len(dims), 0) + list(dims)
    ),
)
formulas("aten::flip", self=lambda f, grad, dims: f.flip(grad, dims))
formulas("aten::roll", self=lambda f, grad, shifts, dims: f.roll(grad, [-s for s in _list(shifts)], dims))
formulas("aten::rot90", self=lambda f, grad, k, dims: f.rot90(grad, -k, dims))


def _list(value: Any) -> list[int]:
    return [value] if isinstance(value, int) else list(value)


def _cat(f: Any, grad: Any, tensors_sizes: Sequence[Sequence[int]], dim: int = 0) -> list[Any]:
    rank = grad.dim()
    axis = dim % rank
    parts: list[Any] = []
    start = 0
    for sizes in tensors_sizes:
        if len(sizes) == 1 and rank != 1:  # an empty one of another rank
            parts.append(None)
            continue
        parts.append(f.narrow(grad, axis, start, sizes[axis]))
        start += sizes[axis]
    return parts


formulas("aten::cat", "aten::concat", "aten::concatenate", tensors=_cat)
formulas("aten::stack", tensors=lambda f, grad, dim: f.unbind(grad, dim))
formulas("aten::triu", self=lambda f, grad, diagonal: f.triu(grad, diagonal))
formulas("aten::tril", self=lambda f, grad, diagonal: f.tril(grad, diagonal))
formulas("aten::fliplr", self=lambda f, grad: f.fliplr(grad))
formulas("aten::flipud", self=lambda f, grad: f.flipud(grad))
formulas(
    "aten::atleast_1d.Sequence",
    "aten::atleast_2d.Sequence",
    "aten::atleast_3d.Sequence",
    tensors=lambda grads, tensors_sizes: [
        None if g is None else g.reshape(s)
        for g, s in zip([*grads, *[None] * (len(tensors_sizes) - len(grads))], tensors_sizes, strict=True)
    ],
)


@decomposed("aten::meshgrid")
def meshgrid(f: Any, tensors: Sequence[Any], indexing: str = "ij") -> Any:
    """Each tensor broadcast along the axes of the others, as views of it."""
    lined = [f.reshape(t, [-1]) for t in tensors]
    swaps = indexing == "xy" and len(lined) > 1
    if swaps:
        lined[:2] = lined[1::-1]
    rank = len(lined)
    sizes = [t.shape[0] for t in lined]
    grids = [f.expand(f.reshape(t, [-1 if d == at else 1 for d in range(rank)]), sizes) for at, t in enumerate(lined)]
    if swaps:
        grids[:2] = grids[1::-1]
    return grids


@decomposed("aten::cartesian_prod")
def _cartesian_prod(f: Any, tensors: Sequence[Any]) -> Any:
    if len(tensors) == 1:
        return tensors[0]
    return f.stack([f.reshape(g, [-1]) for g in f.meshgrid(tensors, indexing="ij")], 1)


@decomposed("aten::block_diag")
def _block_diag(f: Any, tensors: Sequence[Any]) -> Any:
    blocks = [f.atleast_2d(t) for t in tensors]
    width = sum(b.shape[1] for b in blocks)
    rows, left = [], 0
    for block in blocks:
        rows.append(f.constant_pad_nd(block, [left, width - left - block.shape[1]]))
        left += block.shape[1]
    return f.cat(rows, 0)


@decomposed("aten::diagflat")
def _diagflat(f: Any, self: Any, offset: int) -> Any:
    return f.diag_embed(f.reshape(self, [-1]), offset)


@decomposed("aten::channel_shuffle", "aten::native_channel_shuffle")
def _channel_shuffle(f: Any, self: Any, groups: int) -> Any:
    sizes = list(self.shape)
    parts = f.reshape(self, [sizes[0], groups, sizes[1] // groups, *sizes[2:]])
    return f.reshape(f.transpose(parts, 1, 2), sizes)


formulas(
    "aten::fft_fftshift",
    self=lambda f, grad, dim: f.fft_ifftshift(grad, dim),
)
formulas(
    "aten::fft_ifftshift",
    self=lambda f, grad, dim: f.fft_fftshift(grad, dim),
)


@decomposed("aten::hstack")
def _hstack(f: Any, tensors: Sequence[Any]) -> Any:
    lined = [t if t.dim() else f.atleast_1d(t) for t in tensors]
    return f.cat(lined, 0 if lined[0].dim() == 1 else 1)


@decomposed("aten::vstack", "aten::row_stack")
def _vstack(f: Any, tensors: Sequence[Any]) -> Any:
    return f.cat([t if t.dim() > 1 else f.atleast_2d(t) for t in tensors], 0)


@decomposed("aten::dstack")
def _dstack(f: Any, tensors: Sequence[Any]) -> Any:
    return f.cat([t if t.dim() > 2 else f.atleast_3d(t) for t in tensors], 2)


@decomposed("aten::column_stack")
def _column_stack(f: Any, tensors: Sequence[Any]) -> Any:
    return f.cat([f.reshape(t, [-1, 1]) if t.dim() < 2 else t for t in tensors], 1)
