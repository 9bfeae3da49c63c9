"""Batching rules of operators that work along named axes, each slice across them for itself: the axes come one later.

>>> from flambeau.batching.rules import batches
>>> batches["aten::softmax"].__name__
'along_axes'
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.batching.operand import Operand, all_of, axis, in_front
from flambeau.batching.operators import EITHER
from flambeau.batching.rules import Call, batches
from flambeau.schema import registry

AXES: Final = (
    "dim", "dims", "dim0", "dim1", "dim2", "axis0", "axis1", "dimension", "source", "destination", "start_dim",
    "end_dim",
)  # fmt: skip
"""What arguments are called that name axes."""


@batches(
    # views
    "aten::select", "aten::slice", "aten::narrow.", "aten::transpose", "aten::swapdims", "aten::swapaxes",
    "aten::movedim", "aten::moveaxis", "aten::diagonal", "aten::linalg_diagonal", "aten::unfold", "aten::split",
    "aten::split_with_sizes", "aten::chunk", "aten::tensor_split.sections", "aten::tensor_split.indices",
    "aten::unbind", "aten::flatten", "aten::unflatten", "aten::squeeze.dim", "aten::squeeze.dims", "aten::unsafe_chunk",
    "aten::unsafe_split", "aten::unsafe_split_with_sizes", "aten::squeeze_.dim", "aten::squeeze_.dims",
    # copies of views
    "aten::select_copy", "aten::slice_copy", "aten::narrow_copy", "aten::transpose_copy", "aten::diagonal_copy",
    "aten::unfold_copy", "aten::split_copy", "aten::split_with_sizes_copy", "aten::unbind_copy",
    "aten::squeeze_copy.dim", "aten::squeeze_copy.dims",
    # rearrangements and joins
    "aten::flip", "aten::cat", "aten::concat", "aten::concatenate", "aten::rot90",
    # rows
    "aten::softmax", "aten::log_softmax", "aten::_softmax", "aten::_log_softmax", "aten::cumsum", "aten::cumprod",
    "aten::cummax", "aten::cummin", "aten::logcumsumexp", "aten::sort", "aten::topk", "aten::kthvalue", "aten::mode",
    "aten::argsort", "aten::diff", "aten::linalg_vecdot", "aten::trapezoid", "aten::glu",
    "aten::special_softmax", "aten::special_log_softmax",
    # gathers and scatters
    "aten::gather", "aten::scatter", "aten::scatter_add", "aten::scatter_reduce", "aten::select_scatter",
    "aten::slice_scatter", "aten::diagonal_scatter",
    # transforms of Fourier
    "aten::fft_fft", "aten::fft_ifft", "aten::fft_rfft", "aten::fft_irfft", "aten::fft_hfft", "aten::fft_ihfft",
    "aten::fft_fft2", "aten::fft_ifft2", "aten::fft_rfft2", "aten::fft_irfft2",
)  # fmt: skip
def along_axes(call: Call) -> Any:
    """The operator with axes behind the batch, on tensors that all have one."""
    operands = all_of(call.arguments)
    rank = operands[0].rank
    if rank == 0 and len(operands) == 1 and isinstance(call.arguments[0], Operand):
        return _of_numbers(call)
    if rank == 0 or any(o.rank != rank and not _may_have_other_rank(call, o) for o in operands):
        return None
    changed = {name: shifted(call[name], rank) for name in AXES if name in call.names and call[name] is not None}
    if any(o.is_number for o in operands):
        return None
    return call.run([_fronted(a, call.size) for a in call.arguments], **changed)


def _of_numbers(call: Call) -> Any:
    """Of a tensor without axes, which operators take for one of one element."""
    if "flatten" in call.definition.name or "squeeze" in call.definition.name:
        return None
    changed = {name: shifted(call[name], 0) for name in AXES if name in call.names and call[name] is not None}
    value = EITHER.unsqueeze(call.arguments[0].value, 1)
    result = call.run([value, *call.arguments[1:]], **changed)
    if call.get("keepdim") is False:
        return result
    if isinstance(result, list | tuple):
        return tuple([EITHER.squeeze(r, 1) for r in result])
    return EITHER.squeeze(result, 1)


def _may_have_other_rank(call: Call, operand: Operand) -> bool:
    """Whether it is what goes into one place along an axis, with an axis less."""
    return call.definition.name in _inserted and operand.rank == call["self"].rank - 1 and operand is call["src"]


_inserted: Final = frozenset(n for n in registry.names() if n.endswith(("select_scatter", "diagonal_scatter")))


def shifted(dim: Any, rank: int) -> Any:
    """Axes behind the batch."""
    return axis(dim, rank) if isinstance(dim, int) else [axis(d, rank) for d in dim]


def _fronted(value: Any, size: int) -> Any:
    if isinstance(value, Operand):
        return in_front(value, size)
    return [_fronted(v, size) for v in value] if isinstance(value, list) else value


@batches("aten::stack")
def _stack(call: Call) -> Any:
    rank = call["tensors"][0].rank
    return call.run([_fronted(call["tensors"], call.size), axis(call["dim"], rank + 1)])


@batches("aten::unsqueeze", "aten::unsqueeze_copy")
def _unsqueeze(call: Call) -> Any:
    return call.run([call["self"].value, axis(call["dim"], call["self"].rank + 1)])


@batches("aten::diag_embed")
def _diag_embed(call: Call) -> Any:
    rank = call["self"].rank + 1
    dims = {name: axis(call[name], rank) for name in ("dim1", "dim2")}
    return call.run(_fronted(list(call.arguments), call.size), **dims)


@batches("aten::permute", "aten::permute_copy")
def _permute(call: Call) -> Any:
    rank = call["self"].rank
    return call.run([call["self"].value, [0, *[axis(d, rank) for d in call["dims"]]]])


@batches(
    "aten::index_select", "aten::index_add", "aten::index_copy", "aten::index_fill", "aten::index_reduce",
)  # fmt: skip
def _by_index(call: Call) -> Any:
    """Along an axis, by numbers that are the same for the whole batch."""
    rank = call["self"].rank
    others = [a for a in call.arguments if isinstance(a, Operand) and a is not call["index"]]
    if call["index"].is_batched or rank == 0 or any(o.rank == 0 for o in others):
        return None
    arguments = [
        a.value if a is call["index"] else in_front(a, call.size) if isinstance(a, Operand) else a
        for a in call.arguments
    ]
    return call.run(arguments, dim=axis(call["dim"], rank))


@batches("aten::roll")
def _roll(call: Call) -> Any:
    """Along axes one later; without axes, along all elements of each in their order."""
    own = call["self"]
    if own.rank == 0:
        return own.value
    if call["dims"]:
        return call.run([own.value, *call.arguments[1:]], dims=shifted(call["dims"], own.rank))
    flat = EITHER.flatten(own.value, 1)
    return EITHER.reshape(call.run([flat, *call.arguments[1:]], dims=[1]), list(own.value.shape))


@batches("aten::take_along_dim")
def _take_along_dim(call: Call) -> Any:
    own, indices = call["self"], call["indices"]
    if call["dim"] is None or own.rank != indices.rank or own.rank == 0:
        return None
    return call.run([in_front(own, call.size), in_front(indices, call.size), axis(call["dim"], own.rank)])


@batches("aten::fft_fftn", "aten::fft_ifftn", "aten::fft_rfftn", "aten::fft_irfftn", "aten::fft_fftshift",
         "aten::fft_ifftshift")  # fmt: skip
def _over_all_axes(call: Call) -> Any:
    """Over the axes that are named, or over all but the batch."""
    rank = call["self"].rank
    dim = call["dim"]
    if rank == 0:
        return None
    if dim is None:
        sizes = call.get("s")
        dim = list(range(rank))[-len(sizes) :] if sizes else list(range(rank))
    return call.run([a.value if isinstance(a, Operand) else a for a in call.arguments], dim=shifted(dim, rank))
