"""Views: the same memory with other sizes and strides.

`x.transpose(0, 1)` and its relatives never copy; `reshape`, `flatten`, `contiguous` and `expand_as` copy only when
they must.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from flambeau.ops.families.view import ints, known_sizes, view
from flambeau.schema.dtype import by_code
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor import layout
from flambeau.tensor.layout import wrap_dim
from flambeau.tensor.tensor import Tensor, share, view_of, wrap

VIEW_REFUSED = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
    "contiguous subspaces). Use .reshape(...) instead."
)


def _sample(*shape: int) -> Tensor:
    return wrap(np.arange(prod(shape), dtype=np.float32).reshape(shape))


# Other sizes


def view_kernel(self: Tensor, size: Sequence[int]) -> Tensor:
    """The elements in order, under other sizes."""
    array = self._array
    sizes = layout.infer_size(size, array.size)
    if array.flags.c_contiguous and array.size:
        return share(self, array.reshape(sizes))
    strides = layout.view_strides(array.shape, self.stride(), sizes)
    if strides is None:
        raise RuntimeError(VIEW_REFUSED)
    return view_of(self, sizes, strides)


def reshape_kernel(self: Tensor, shape: Sequence[int]) -> Tensor:
    """A view where one exists, else a copy."""
    array = self._array
    sizes = layout.infer_size(shape, array.size)
    if array.flags.c_contiguous and array.size:
        return share(self, array.reshape(sizes))
    strides = layout.view_strides(array.shape, self.stride(), sizes)
    if strides is None:
        return wrap(np.ascontiguousarray(array).reshape(sizes))
    return view_of(self, sizes, strides)


def view_dtype_kernel(self: Tensor, dtype: int) -> Tensor:
    """The same bytes read as another dtype; the last dimension grows or shrinks with the element size."""
    target = by_code(dtype)
    array, old, new = self._array, self._array.itemsize, target.itemsize
    strides, sizes = list(self.stride()), list(array.shape)
    if old == new:
        return view_of(self, sizes, strides, self.storage_offset(), target)
    change = f"to view {self.dtype.display} as {target.display} (different element sizes), but got"
    if not sizes:
        raise RuntimeError(f"self.dim() cannot be 0 {change.removesuffix(', but got')}")
    if strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {change} {strides[-1]}")
    if old > new:
        ratio = old // new
        sizes[-1] *= ratio
        strides = [s * ratio for s in strides[:-1]] + [1]
        return view_of(self, sizes, strides, self.storage_offset() * ratio, target)
    ratio = new // old
    if sizes[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {change} {sizes[-1]}")
    if self.storage_offset() % ratio:
        raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {change} {self.storage_offset()}")
    for dim, stride in enumerate(strides[:-1]):
        if stride % ratio:
            raise RuntimeError(f"self.stride({dim}) must be divisible by {ratio} {change} {stride}")
    sizes[-1] //= ratio
    return view_of(self, sizes, [s // ratio for s in strides[:-1]] + [1], self.storage_offset() // ratio, target)


def flatten_kernel(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions `start_dim` to `end_dim` as one."""
    rank = self._array.ndim
    start, end = wrap_dim(start_dim, rank), wrap_dim(end_dim, rank)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if rank == 0:
        return reshape_kernel(self, (1,))
    if start == end:
        return self
    shape = self._array.shape
    return reshape_kernel(self, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


def unflatten_kernel(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension as several."""
    shape = self._array.shape
    at = wrap_dim(dim, len(shape))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if sum(s == -1 for s in sizes) == 0 and prod(sizes) != shape[at]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} ({shape[at]}) in the "
            "input tensor"
        )
    try:
        inferred = layout.infer_size(sizes, shape[at])
    except RuntimeError as error:
        if "is invalid for input" not in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} ({shape[at]}) in the "
            "input tensor"
        ) from None
    return view_kernel(self, (*shape[:at], *inferred, *shape[at + 1 :]))


def expand_kernel(self: Tensor, size: Sequence[int], implicit: bool = False) -> Tensor:
    """Dimensions of size 1 repeated without copying; -1 keeps a size."""
    array = self._array
    if len(size) < array.ndim:
        raise RuntimeError(
            f"expand(torch.{self.dtype.display}Tensor{{{list(array.shape)}}}, size={list(size)}): the number of sizes "
            f"provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor ({array.ndim})"
        )
    return view_of(self, *layout.expand(array.shape, self.stride(), size))


def contiguous_first(self: Tensor) -> Tensor:
    """The tensor itself if its elements are in row-major order, else a copy where they are."""
    return self if self._array.flags.c_contiguous else wrap(np.ascontiguousarray(self._array))


def _view_shape(self: TensorType, size: Any) -> Sizes | None:
    return _target_shape(self, size)


def _reshape_shape(self: TensorType, shape: Any) -> Sizes | None:
    return _target_shape(self, shape)


def _target_shape(self: TensorType, size: Any) -> Sizes | None:
    wanted, have = ints(size), known_sizes(self.sizes)
    if wanted is None:
        return (None,) * len(size) if isinstance(size, list | tuple) else None
    if -1 not in wanted:
        return tuple(wanted)
    if have is None:
        return tuple(None if w == -1 else w for w in wanted)
    return layout.infer_size(wanted, prod(have))


def _expand_shape(self: TensorType, size: Any) -> Sizes | None:
    wanted = ints(size)
    if wanted is None:
        return (None,) * len(size) if isinstance(size, list | tuple) else None
    lead = None if self.sizes is None else len(wanted) - len(self.sizes)
    return tuple(
        w if w != -1 else (self.sizes[i - lead] if self.sizes is not None and lead is not None else None)
        for i, w in enumerate(wanted)
    )


def _flatten_shape(self: TensorType, start_dim: Any = 0, end_dim: Any = -1) -> Sizes | None:
    if self.sizes is None or UNKNOWN in (start_dim, end_dim):
        return None
    rank = len(self.sizes)
    start, end = wrap_dim(start_dim, rank), wrap_dim(end_dim, rank)
    if rank == 0:
        return (1,)
    inner = known_sizes(self.sizes[start : end + 1])
    return (*self.sizes[:start], None if inner is None else prod(inner), *self.sizes[end + 1 :])


view(
    "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    kernel=view_kernel,
    shape=_view_shape,
    doc="The same elements under other sizes, one of which may be -1. Raises RuntimeError where only a copy could do "
    "that.",
    samples=lambda: (
        Sample(args=(_sample(2, 3), 6)),
        Sample(args=(_sample(2, 3), [3, -1])),
        Sample(args=(_sample(0, 3), [3, 0])),
        Sample(args=(_sample(), [1, 1])),
    ),
    errors=lambda: (
        ErrorSample(args=(_sample(2, 3), 4), error=RuntimeError, message="shape '[4]' is invalid for input of size 6"),
        ErrorSample(args=(share(_t := _sample(2, 3), _t._array.T), 6), error=RuntimeError, message=VIEW_REFUSED),
    ),
)
view("aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", kernel=view_dtype_kernel, dtype=None)
view("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", kernel=view_kernel, shape=_view_shape)
view(
    "aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    kernel=lambda self, other: view_kernel(self, other._array.shape),
    shape=lambda self, other: other.sizes,
    doc="`self.view(other.shape)`.",
    samples=lambda: (Sample(args=(_sample(2, 3), _sample(6))),),
)
view(
    "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    kernel=reshape_kernel,
    shape=_reshape_shape,
    doc="The same elements under other sizes; a view where possible, else a copy.",
    samples=lambda: (Sample(args=(_sample(2, 3), (3, 2))), Sample(args=(_sample(2, 3), (-1,)))),
    errors=lambda: (
        ErrorSample(
            args=(_sample(2, 3), (4, -1)), error=RuntimeError, message="shape '[4, -1]' is invalid for input of size 6"
        ),
        ErrorSample(args=(_sample(2, 3), (-1, -1)), error=RuntimeError, message="only one dimension can be inferred"),
    ),
)
view(
    "aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    kernel=lambda self, other: reshape_kernel(self, other._array.shape),
    shape=lambda self, other: other.sizes,
    doc="`self.reshape(other.shape)`.",
    samples=lambda: (Sample(args=(_sample(2, 3), _sample(6))),),
)
view(
    "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    kernel=flatten_kernel,
    shape=_flatten_shape,
    doc="Several dimensions as one; a view where possible.",
    samples=lambda: (Sample(args=(_sample(2, 3, 4), 1)), Sample(args=(_sample(),)), Sample(args=(_sample(2, 3),))),
    errors=lambda: (
        ErrorSample(args=(_sample(2, 3), 1, 0), error=RuntimeError, message="start_dim cannot come after end_dim"),
    ),
)
view(
    "aten::ravel(Tensor(a) self) -> Tensor(a)",
    kernel=lambda self: reshape_kernel(contiguous_first(self), (self._array.size,)),
    doc="All dimensions as one; a view where possible.",
    samples=lambda: (Sample(args=(_sample(2, 3),)),),
)
view(
    "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
    kernel=unflatten_kernel,
    doc="One dimension as several.",
    samples=lambda: (Sample(args=(_sample(6, 2), 0, (2, -1))),),
    errors=lambda: (
        ErrorSample(
            args=(_sample(6), 0, (4, 2)), error=RuntimeError, message="don't multiply up to the size of dim 0 (6)"
        ),
    ),
)
view(
    "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    kernel=expand_kernel,
    shape=_expand_shape,
    doc="Dimensions of size 1 repeated without copying; -1 keeps a size.",
    samples=lambda: (
        Sample(args=(_sample(3, 1), (2, 3, 4))),
        Sample(args=(_sample(1, 2), -1, 2)),
        Sample(args=(_sample(), [2])),
    ),
    errors=lambda: (
        ErrorSample(
            args=(_sample(2, 3), (4, 3)),
            error=RuntimeError,
            message="The expanded size of the tensor (4) must match the existing size (2) at non-singleton dimension "
            "0.  Target sizes: [4, 3].  Tensor sizes: [2, 3]",
        ),
    ),
)
view(
    "aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    kernel=expand_kernel,
    shape=_expand_shape,
    doc="The same as `expand`.",
    samples=lambda: (Sample(args=(_sample(3), (2, 3))),),
)
view(
    "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    kernel=lambda self, other: expand_kernel(self, other._array.shape),
    shape=lambda self, other: other.sizes,
    doc="`self.expand(other.shape)`.",
    samples=lambda: (Sample(args=(_sample(3), _sample(2, 3))),),
)


# Other orders


def transpose_kernel(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped."""
    array = self._array
    rank = array.ndim
    a, b = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
    return share(self, array.swapaxes(a, b) if rank else array[...])


def permute_kernel(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Dimensions in another order."""
    array = self._array
    if len(dims) != array.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {array.ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(d, array.ndim) for d in dims]
    if len(set(order)) < len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return share(self, array.transpose(order))


def t_kernel(self: Tensor) -> Tensor:
    """A matrix transposed; vectors and numbers as they are."""
    array = self._array
    if array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {array.ndim}D")
    return share(self, array.T)


def mt_kernel(self: Tensor, name: str = "mT") -> Tensor:
    """The last two dimensions swapped."""
    rank = self._array.ndim
    if rank < 2:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {rank}-D tensor.")
    return share(self, self._array.swapaxes(-1, -2))


def conjugated(self: Tensor) -> Tensor:
    """Complex conjugates; a real tensor itself."""
    return wrap(np.conj(self._array)) if self._array.dtype.kind == "c" else self


def matrix_h_kernel(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated."""
    rank = self._array.ndim
    if rank not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {rank}-D tensor.")
    return conjugated(share(self, self._array.T))


def adjoint_kernel(self: Tensor) -> Tensor:
    """The last two dimensions swapped, and conjugated."""
    if self._array.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return conjugated(mt_kernel(self, "adjoint()") if self._array.ndim else self)


def movedim_kernel(self: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Some dimensions at other places, the others in order."""
    rank = self._array.ndim
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({sources} dims) should contain the same number of "
            f"dims as destination ({targets} dims)"
        )
    from_ = [wrap_dim(d, rank) for d in sources]
    to = [wrap_dim(d, rank) for d in targets]
    for name, dims, given in (("source", from_, sources), ("destination", to, targets)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({given})")
    if rank == 0:
        return share(self, self._array[...])
    order = [-1] * rank
    for s, d in zip(from_, to, strict=True):
        order[d] = s
    rest = iter(d for d in range(rank) if d not in from_)
    return share(self, self._array.transpose([next(rest) if o < 0 else o for o in order]))


def _transpose_shape(self: TensorType, dim0: Any, dim1: Any) -> Sizes | None:
    if self.sizes is None or UNKNOWN in (dim0, dim1):
        return None if self.sizes is None else (None,) * len(self.sizes)
    sizes = list(self.sizes)
    if sizes:
        a, b = wrap_dim(dim0, len(sizes)), wrap_dim(dim1, len(sizes))
        sizes[a], sizes[b] = sizes[b], sizes[a]
    return tuple(sizes)


def _permute_shape(self: TensorType, dims: Any) -> Sizes | None:
    order = ints(dims)
    if self.sizes is None or order is None:
        return None
    return tuple(self.sizes[wrap_dim(d, len(self.sizes))] for d in order)


def _transpose_samples() -> Iterable[Sample]:
    return (Sample(args=(_sample(2, 3), 0, 1)), Sample(args=(_sample(2, 3, 4), -1, 0)), Sample(args=(_sample(), 0, -1)))


def _transpose_errors() -> Iterable[ErrorSample]:
    message = "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
    return (ErrorSample(args=(_sample(2, 3), 0, 2), error=IndexError, message=message),)


view(
    "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    kernel=transpose_kernel,
    shape=_transpose_shape,
    in_place=True,
    doc="Two dimensions swapped; a view.",
    samples=_transpose_samples,
    errors=_transpose_errors,
)
view(
    "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    kernel=transpose_kernel,
    shape=_transpose_shape,
    in_place=True,
    doc="The same as `transpose`.",
    samples=_transpose_samples,
    errors=_transpose_errors,
)
view(
    "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
    kernel=lambda self, axis0, axis1: transpose_kernel(self, axis0, axis1),
    shape=lambda self, axis0, axis1: _transpose_shape(self, axis0, axis1),
    in_place=True,
    doc="The same as `transpose`.",
    samples=_transpose_samples,
    errors=_transpose_errors,
)
view(
    "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    kernel=permute_kernel,
    shape=_permute_shape,
    doc="The dimensions in the order `dims`; a view.",
    samples=lambda: (Sample(args=(_sample(2, 3, 4), (2, 0, 1))), Sample(args=(_sample(2, 3), -1, 0))),
    errors=lambda: (
        ErrorSample(
            args=(_sample(2, 3), (0, 0)), error=RuntimeError, message="permute(): duplicate dims are not allowed."
        ),
        ErrorSample(
            args=(_sample(2, 3), (0,)), error=RuntimeError, message="input.dim() = 2 is not equal to len(dims) = 1"
        ),
    ),
)
view(
    "aten::t(Tensor(a) self) -> Tensor(a)",
    kernel=t_kernel,
    shape=lambda self: None if self.sizes is None else self.sizes[::-1],
    in_place=True,
    doc="A matrix transposed; vectors and numbers as they are; a view.",
    samples=lambda: (Sample(args=(_sample(2, 3),)), Sample(args=(_sample(3),)), Sample(args=(_sample(),))),
    errors=lambda: (
        ErrorSample(
            args=(_sample(1, 2, 3),),
            error=RuntimeError,
            message="t() expects a tensor with <= 2 dimensions, but self is 3D",
        ),
    ),
)
for _name, _kernel in (
    ("numpy_T", lambda self: share(self, self._array.T)),
    ("mT", mt_kernel),
    ("matrix_H", matrix_h_kernel),
    ("mH", lambda self: conjugated(mt_kernel(self, "mH"))),
):
    for _overload in ("", ".a"):
        view(
            f"aten::{_name}{_overload}(Tensor(a) self) -> Tensor(a)",
            kernel=(lambda run: lambda self: run(self))(_kernel),
            is_method=False,
            is_function=False,
            samples=lambda: (Sample(args=(_sample(2, 3),)),),
        )
view(
    "aten::adjoint(Tensor(a) self) -> Tensor(a)",
    kernel=adjoint_kernel,
    doc="The last two dimensions swapped, and conjugated.",
    samples=lambda: (Sample(args=(_sample(2, 3),)),),
)
for _name in ("movedim", "moveaxis"):
    view(
        f"aten::{_name}.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
        f"aten::{_name}.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
        kernel=movedim_kernel,
        doc="Some dimensions at other places, the others in order; a view.",
        samples=lambda: (Sample(args=(_sample(2, 3, 4), (0, 1), (1, 2))), Sample(args=(_sample(2, 3, 4), 0, -1))),
        errors=lambda: (
            ErrorSample(
                args=(_sample(2, 3), (0, 0), (0, 1)), error=RuntimeError, message="movedim: repeated dim in `source`"
            ),
        ),
    )
