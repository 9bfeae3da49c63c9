"""The same elements under other sizes: view, reshape, flatten, expand.

`reshape`, `flatten` and their relatives copy only when they must.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.samples import sample
from flambeau.ops.families.view import ints, known_sizes, view
from flambeau.schema.dtype import by_code
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor import layout
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import wrap_dim
from flambeau.tensor.tensor import Tensor, share, view_of, wrap

VIEW_REFUSED = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
    "contiguous subspaces). Use .reshape(...) instead."
)


def _are_sizes(size: Sequence[int]) -> bool:
    """Whether NumPy takes all numbers for what they are here: for it, any negative one is to be found out."""
    return not size or min(size) >= -1


def view_kernel(self: Tensor, size: Sequence[int]) -> Tensor:
    """The elements in order, under other sizes."""
    array = self._array
    if array.flags.c_contiguous and array.size and ((len(size) == 2 and size[0] >= -1 <= size[1]) or _are_sizes(size)):
        try:
            return share(self, array.reshape(size))
        except ValueError:  # sizes that do not fit: said below
            pass
    sizes = layout.infer_size(size, array.size)
    strides = layout.view_strides(array.shape, self.stride(), sizes)
    if strides is None:
        raise RuntimeError(VIEW_REFUSED)
    return view_of(self, sizes, strides)


def reshape_kernel(self: Tensor, shape: Sequence[int]) -> Tensor:
    """A view where one exists, else a copy."""
    array = self._array
    if (
        array.flags.c_contiguous
        and array.size
        and ((len(shape) == 2 and shape[0] >= -1 <= shape[1]) or _are_sizes(shape))
    ):
        try:
            return share(self, array.reshape(shape))
        except ValueError:  # sizes that do not fit: said below
            pass
    sizes = layout.infer_size(shape, array.size)
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
    array = self._array
    rank = array.ndim
    if start_dim == 0 and end_dim == -1 and rank > 1 and array.size and array.flags.c_contiguous:
        return share(self, array.reshape(-1))
    start, end = wrap_dim(start_dim, rank), wrap_dim(end_dim, rank)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if rank == 0:
        return reshape_kernel(self, (1,))
    if start == end:
        return self
    shape = array.shape
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
    if array.flags.c_contiguous:
        window = _expanded(array, size)
        if window is not None:
            return share(self, window)
    if len(size) < array.ndim:
        raise RuntimeError(
            f"expand(torch.{self.dtype.display}Tensor{{{list(array.shape)}}}, size={list(size)}): the number of sizes "
            f"provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor ({array.ndim})"
        )
    return view_of(self, *layout.expand(array.shape, self.stride(), size))


def _expanded(array: Any, size: Sequence[int]) -> Any:
    """A row-major array with dimensions repeated, where these sizes need no further thought; else None."""
    lead = len(size) - array.ndim
    if lead < 0 or min(size[:lead], default=2) < 2 or 0 in size:
        return None
    sizes, strides = list(size), [0] * lead
    for index, (old, stride) in enumerate(zip(array.shape, array.strides, strict=True), lead):
        wanted = sizes[index]
        if wanted in (old, -1):
            sizes[index] = old
            strides.append(stride)
        elif old == 1:
            strides.append(0)
        else:
            return None
    try:
        return np.ndarray(sizes, array.dtype, array, 0, strides)
    except (TypeError, ValueError):
        return None


def contiguous_first(self: Tensor) -> Tensor:
    """The tensor itself if its elements are in row-major order, else a copy where they are."""
    return self if self._array.flags.c_contiguous else wrap(np.ascontiguousarray(self._array))


def _view_shape(self: TensorType, size: Any) -> Sizes | None:
    return _target_shape(self, size)


def _reshape_shape(self: TensorType, shape: Any) -> Sizes | None:
    return _target_shape(self, shape)


def _written_sizes(sizes: Sequence[Any]) -> Sizes:
    """What is known of sizes of which some are not."""
    return tuple(s if isinstance(s, int) and s >= 0 else None for s in sizes)


def _target_shape(self: TensorType, size: Any) -> Sizes | None:
    wanted, have = ints(size), known_sizes(self.sizes)
    if wanted is None:
        return _written_sizes(size) if isinstance(size, list | tuple) else None
    if -1 not in wanted:
        return tuple(wanted)
    if have is None:
        return tuple(None if w == -1 else w for w in wanted)
    return layout.infer_size(wanted, prod(have))


def _expand_shape(self: TensorType, size: Any) -> Sizes | None:
    wanted = ints(size)
    if wanted is None:
        return _written_sizes(size) if isinstance(size, list | tuple) else None
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


def _unflatten_shape(self: TensorType, dim: Any, sizes: Any) -> Sizes | None:
    if self.sizes is None or dim is UNKNOWN or not isinstance(sizes, list | tuple):
        return None
    at = wrap_dim(dim, len(self.sizes))
    inner = tuple(s if isinstance(s, int) and s >= 0 else None for s in sizes)
    return (*self.sizes[:at], *inner, *self.sizes[at + 1 :])


view(
    "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    kernel=view_kernel,
    shape=_view_shape,
    doc="The same elements under other sizes, one of which may be -1. Raises RuntimeError where only a copy could do "
    "that.",
    samples=lambda: (
        Sample(args=(sample(2, 3), 6)),
        Sample(args=(sample(2, 3), [3, -1])),
        Sample(args=(sample(0, 3), [3, 0])),
        Sample(args=(sample(), [1, 1])),
    ),
    errors=lambda: (
        ErrorSample(args=(sample(2, 3), 4), error=RuntimeError, message="shape '[4]' is invalid for input of size 6"),
        ErrorSample(args=(share(_t := sample(2, 3), _t._array.T), 6), error=RuntimeError, message=VIEW_REFUSED),
    ),
)


view(
    "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    kernel=view_dtype_kernel,
    dtype=lambda dtype: None if dtype is UNKNOWN else by_code(dtype),
    shape=ranks.self_rank,
    differentiable=False,
)


view("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", kernel=view_kernel, shape=_view_shape)


view(
    "aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    kernel=lambda self, other: view_kernel(self, other._array.shape),
    shape=lambda self, other: other.sizes,
    doc="`self.view(other.shape)`.",
    samples=lambda: (Sample(args=(sample(2, 3), sample(6))),),
)


view(
    "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    kernel=reshape_kernel,
    traits=Traits(may_copy=True),
    shape=_reshape_shape,
    doc="The same elements under other sizes; a view where possible, else a copy.",
    samples=lambda: (Sample(args=(sample(2, 3), (3, 2))), Sample(args=(sample(2, 3), (-1,)))),
    errors=lambda: (
        ErrorSample(
            args=(sample(2, 3), (4, -1)), error=RuntimeError, message="shape '[4, -1]' is invalid for input of size 6"
        ),
        ErrorSample(args=(sample(2, 3), (-1, -1)), error=RuntimeError, message="only one dimension can be inferred"),
    ),
)


view(
    "aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    kernel=lambda self, other: reshape_kernel(self, other._array.shape),
    traits=Traits(may_copy=True),
    shape=lambda self, other: other.sizes,
    doc="`self.reshape(other.shape)`.",
    samples=lambda: (Sample(args=(sample(2, 3), sample(6))),),
)


view(
    "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    kernel=flatten_kernel,
    traits=Traits(may_copy=True),
    shape=_flatten_shape,
    doc="Several dimensions as one; a view where possible.",
    samples=lambda: (Sample(args=(sample(2, 3, 4), 1)), Sample(args=(sample(),)), Sample(args=(sample(2, 3),))),
    errors=lambda: (
        ErrorSample(args=(sample(2, 3), 1, 0), error=RuntimeError, message="start_dim cannot come after end_dim"),
    ),
)


view(
    "aten::ravel(Tensor(a) self) -> Tensor(a)",
    kernel=lambda self: reshape_kernel(contiguous_first(self), (self._array.size,)),
    traits=Traits(may_copy=True),
    shape=lambda self: _flatten_shape(self),
    doc="All dimensions as one; a view where possible.",
    samples=lambda: (Sample(args=(sample(2, 3),)),),
)


view(
    "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
    kernel=unflatten_kernel,
    shape=_unflatten_shape,
    doc="One dimension as several.",
    samples=lambda: (Sample(args=(sample(6, 2), 0, (2, -1))),),
    errors=lambda: (
        ErrorSample(
            args=(sample(6), 0, (4, 2)), error=RuntimeError, message="don't multiply up to the size of dim 0 (6)"
        ),
    ),
)


view(
    "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    kernel=expand_kernel,
    shape=_expand_shape,
    doc="Dimensions of size 1 repeated without copying; -1 keeps a size.",
    samples=lambda: (
        Sample(args=(sample(3, 1), (2, 3, 4))),
        Sample(args=(sample(1, 2), -1, 2)),
        Sample(args=(sample(), [2])),
    ),
    errors=lambda: (
        ErrorSample(
            args=(sample(2, 3), (4, 3)),
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
    samples=lambda: (Sample(args=(sample(3), (2, 3))),),
)


view(
    "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    kernel=lambda self, other: expand_kernel(self, other._array.shape),
    shape=lambda self, other: other.sizes,
    doc="`self.expand(other.shape)`.",
    samples=lambda: (Sample(args=(sample(3), sample(2, 3))),),
)
