"""Batching rules of operators that are told sizes: the batch's comes before them."""

from __future__ import annotations

from typing import Any

from flambeau.batching import operators
from flambeau.batching.operand import Operand, in_front, ranked
from flambeau.batching.operators import EITHER, sizes_of
from flambeau.batching.rules import Call, batches, decomposes


@batches(
    "aten::clone", "aten::contiguous", "aten::to", "aten::_to_copy", "aten::cpu", "aten::type_as", "aten::alias",
    "aten::alias_copy", "aten::detach", "aten::detach_copy", "aten::positive", "aten::conj", "aten::_conj",
    "aten::resolve_conj", "aten::resolve_neg", "aten::real", "aten::imag", "aten::view_as_real",
    "aten::view_as_complex", "aten::view_as_real_copy", "aten::view_as_complex_copy", "aten::lift_fresh", "aten::lift",
    "aten::lift_fresh_copy", "aten::view.dtype", "aten::zeros_like", "aten::ones_like", "aten::full_like",
    "aten::empty_like", "aten::zero_", "aten::conj_physical", "aten::nan_to_num",
    # of matrices in the last two axes
    "aten::linalg_inv", "aten::inverse", "aten::linalg_det", "aten::det", "aten::linalg_slogdet", "aten::slogdet",
    "aten::logdet", "aten::linalg_cholesky", "aten::cholesky", "aten::linalg_cholesky_ex", "aten::linalg_qr",
    "aten::linalg_svd", "aten::linalg_svdvals", "aten::linalg_eigh", "aten::linalg_eigvalsh", "aten::linalg_eig",
    "aten::linalg_eigvals", "aten::linalg_pinv", "aten::linalg_matrix_exp", "aten::matrix_exp", "aten::matrix_power",
    "aten::linalg_matrix_power", "aten::tril", "aten::triu", "aten::linalg_lu_factor", "aten::cholesky_inverse",
    "aten::svd", "aten::qr", "aten::pinverse", "aten::linalg_lu", "aten::linalg_lu_factor_ex", "aten::linalg_cond",
    "aten::nuclear_norm.", "aten::mT", "aten::mH", "aten::adjoint", "aten::linalg_inv_ex",
)  # fmt: skip
def as_it_is(call: Call) -> Any:
    """The operator itself on the whole batch: it treats leading axes alike."""
    if call.definition.name in _matrices and call.arguments[0].rank < 2:
        return None
    return call.run([a.value if isinstance(a, Operand) else a for a in call.arguments])


def _is_of_matrices(name: str) -> bool:
    return "linalg" in name or name.partition(".")[0].endswith(_ENDINGS)


_ENDINGS = (
    "svd", "qr", "pinverse", "nuclear_norm", "det", "inverse", "_exp", "cholesky", "power", "tril", "triu",
)  # fmt: skip
_matrices = frozenset(
    name.partition(".")[0] for name, rule in batches.items() if rule is as_it_is and _is_of_matrices(name)
)


@batches("aten::t", "aten::t_copy", "aten::numpy_T", "aten::matrix_H")
def _transposed(call: Call) -> Any:
    """The axes in reverse order, of vectors and matrices."""
    [own] = [a for a in call.arguments if isinstance(a, Operand)]
    if own.rank < 2:
        return EITHER.alias(own.value)
    if own.rank > 2:
        return None
    swapped = EITHER.transpose(own.value, 1, 2)
    return EITHER.conj(swapped) if call.definition.name.endswith("H") else swapped


@batches(
    "aten::view", "aten::_unsafe_view", "aten::view_copy", "aten::reshape", "aten::new_zeros", "aten::new_ones",
    "aten::new_full", "aten::new_empty",
)  # fmt: skip
def _sized(call: Call) -> Any:
    """Sizes that are told in full."""
    name = "shape" if "shape" in call.names else "size"
    sizes = list(call[name])
    if any(type(one) is int and one == -1 for one in sizes) and not call.size:
        return None
    return call.run([a.value if isinstance(a, Operand) else a for a in call.arguments], **{name: [call.size, *sizes]})


@batches("aten::view_as", "aten::reshape_as", "aten::expand_as")
def _sized_as(call: Call) -> Any:
    sizes = list(call["other"].sizes)
    own = call["self"]
    if not own.is_batched:
        own = Operand(in_front(own, call.size), True)
    if call.definition.name.endswith("expand_as"):
        return EITHER.expand(ranked(own, len(sizes)), [call.size, *sizes])
    return EITHER.reshape(own.value, [call.size, *sizes])


@batches("aten::expand", "aten::expand_copy", "aten::broadcast_to")
def _expand(call: Call) -> Any:
    sizes = list(call["size"])
    return call.run([ranked(call["self"], len(sizes)), *call.arguments[1:]], size=[call.size, *sizes])


@batches("aten::repeat", "aten::tile")
def _repeat(call: Call) -> Any:
    name = "repeats" if "repeats" in call.names else "dims"
    repeats = list(call[name])
    repeats = [1] * (call["self"].rank - len(repeats)) + repeats
    return call.run([ranked(call["self"], len(repeats)), [1, *repeats]])


@batches("aten::squeeze.", "aten::squeeze", "aten::squeeze_copy", "aten::squeeze_")
def _squeeze(call: Call) -> Any:
    """Without the axes of size one, but not without the batch."""
    own = call["self"]
    name = call.definition.name
    return operators.call(name, own.value, [d + 1 for d, size in enumerate(own.sizes) if size == 1])


@batches("aten::ravel")
def _ravel(call: Call) -> Any:
    return EITHER.reshape(call["self"].value, [call.size, -1] if call.size else [0, *_product(call["self"].sizes)])


def _product(sizes: tuple[int, ...]) -> list[int]:
    number = 1
    for size in sizes:
        number *= size
    return [number]


@batches("aten::constant_pad_nd", "aten::pad")
def _pad(call: Call) -> Any:
    """Of the last axes."""
    if call.get("mode", "constant") != "constant" or call["self"].rank * 2 < len(call["pad"]):
        return None
    return call.run([call["self"].value, *call.arguments[1:]])


@batches("aten::as_strided", "aten::as_strided_copy")
def _as_strided(call: Call) -> Any:
    """Of the memory of each element of the batch, as that of the first one is told."""
    value = call["self"].value
    steps = [value.stride(0), *call["stride"]]
    return call.run([value, [call.size, *call["size"]], steps, call["storage_offset"]])


decomposes("aten::masked_fill")(lambda f, self, mask, value: f.where(mask, value.to(self.dtype), self))
decomposes("aten::atleast_1d")(lambda f, self: f.reshape(self, [1]) if self.dim() == 0 else self)
decomposes("aten::atleast_2d")(
    lambda f, self: f.reshape(self, [1] * (2 - self.dim()) + list(self.shape)) if self.dim() < 2 else self
)
decomposes("aten::broadcast_tensors")(lambda f, tensors: _broadcast(f, tensors))
decomposes("aten::fliplr")(lambda f, self: f.flip(self, [1]))
decomposes("aten::flipud")(lambda f, self: f.flip(self, [0]))
decomposes("aten::hsplit")(lambda f, self, **cut: f.tensor_split(self, *cut.values(), min(self.dim() - 1, 1)))
decomposes("aten::vsplit")(lambda f, self, **cut: f.tensor_split(self, *cut.values(), 0))
decomposes("aten::dsplit")(lambda f, self, **cut: f.tensor_split(self, *cut.values(), 2))


def _broadcast(f: Any, tensors: list[Any]) -> list[Any]:
    from numpy import broadcast_shapes

    sizes = list(broadcast_shapes(*[tuple(sizes_of(t)) for t in tensors]))
    return [f.expand(t, sizes) for t in tensors]


def _repeat_each(f: Any, self: Any, repeats: int, dim: int | None, output_size: Any) -> Any:
    """Each slice along a dimension several times in a row."""
    if dim is None:
        self, dim = f.reshape(self, [-1]), 0
    if not isinstance(repeats, int) or repeats < 0 or not self.dim() or output_size is not None:
        return f.index_select(self, dim, f.repeat_interleave(f.arange(self.shape[dim]), repeats))
    sizes, dim = list(self.shape), dim % self.dim()
    each = f.expand(f.unsqueeze(self, dim + 1), [*sizes[: dim + 1], repeats, *sizes[dim + 1 :]])
    return f.reshape(f.clone(each), [*sizes[:dim], sizes[dim] * repeats, *sizes[dim + 1 :]])


decomposes("aten::repeat_interleave.self_int")(_repeat_each)
