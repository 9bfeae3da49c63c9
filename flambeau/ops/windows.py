"""Views of parts of a tensor: select, slice, squeeze, diagonal, sliding windows and arbitrary strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.constructors import size_shape
from flambeau.ops.families.samples import sample
from flambeau.ops.families.view import view
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.layout import wrap_dim
from flambeau.tensor.tensor import Tensor, share, view_of


def index_at(dim: int, index: int) -> Any:
    """The NumPy index of one place along `dim`; it gives a view, also of a single element."""
    return (*(slice(None),) * dim, index, ...)


def select_kernel(self: Tensor, dim: int, index: int) -> Tensor:
    """One place along a dimension, which goes."""
    array = self._array
    if dim == 0 and array.ndim and -len(array) <= index < len(array):
        return share(self, array[index, ...])
    if array.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    at = wrap_dim(dim, array.ndim)
    size = array.shape[at]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(array.shape)} at dimension {at}"
        )
    return share(self, array[index_at(at, index)])


def slice_kernel(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Every `step`-th place from `start` up to `end`; bounds out of range are clipped."""
    array = self._array
    if dim == 0 and array.ndim and step > 0:
        return share(self, array[start:end:step])
    if array.ndim == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    at = wrap_dim(dim, array.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return share(self, array[(*(slice(None),) * at, slice(start, end, step))])


def narrow_kernel(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` places along a dimension, from `start`."""
    array = self._array
    if array.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    at = wrap_dim(dim, array.ndim)
    size = array.shape[at]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    first = start + size if start < 0 else start
    if first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return share(self, array[(*(slice(None),) * at, slice(first, first + length))])


def narrow_tensor_kernel(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    """`narrow` from a place that a 0-d integer tensor holds."""
    if start._array.ndim or start._array.dtype.kind not in "iu":
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return narrow_kernel(self, dim, int(start._array.item()), length)


def unsqueeze_kernel(self: Tensor, dim: int) -> Tensor:
    """A new dimension of size 1 at `dim`."""
    array = self._array
    shape = array.shape
    is_plain = array.flags.c_contiguous and 1 not in shape and 0 not in shape
    if is_plain and dim == 0:
        return share(self, array.reshape((1, *shape)))
    at = wrap_dim(dim, array.ndim + 1)
    if is_plain:
        return share(self, array.reshape((*shape[:at], 1, *shape[at:])))
    strides = self.stride()
    step = array.shape[at] * strides[at] if at < array.ndim else 1
    return view_of(self, (*array.shape[:at], 1, *array.shape[at:]), (*strides[:at], step, *strides[at:]))


def squeeze_kernel(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Without dimensions of size 1: all of them, or those named that have size 1."""
    array = self._array
    if dim is None:
        return share(self, array.squeeze() if array.ndim else array[...])
    named = {wrap_dim(d, array.ndim) for d in ([dim] if isinstance(dim, int) else dim)}
    gone = tuple(d for d in named if array.ndim and array.shape[d] == 1)
    return share(self, array.squeeze(gone) if gone else array[...])


def diagonal_kernel(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions as a new last one."""
    array = self._array
    a, b = wrap_dim(dim1, array.ndim, allow_scalar=False), wrap_dim(dim2, array.ndim, allow_scalar=False)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    strides, sizes = self.stride(), array.shape
    length = max(min(sizes[a] + min(offset, 0), sizes[b] - max(offset, 0)), 0)
    start = self.storage_offset()
    if length:
        start += offset * strides[b] if offset >= 0 else -offset * strides[a]
    keep = [d for d in range(array.ndim) if d not in (a, b)]
    return view_of(
        self, (*[sizes[d] for d in keep], length), (*[strides[d] for d in keep], strides[a] + strides[b]), start
    )


def unfold_kernel(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of `size` along a dimension, `step` apart, as a new last dimension."""
    array = self._array
    at = wrap_dim(dimension, array.ndim)
    extent = array.shape[at] if array.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > extent:
        raise RuntimeError(f"maximum size for tensor at dimension {at} is {extent} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if array.ndim == 0:
        return view_of(self, (size,), (1,))
    sizes, strides = [*array.shape, size], [*self.stride(), self.stride(at)]
    sizes[at] = (extent - size) // step + 1
    strides[at] *= step
    return view_of(self, sizes, strides)


def as_strided_kernel(
    self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """Any window on the storage."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if storage_offset is not None and storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    return view_of(self, size, stride, self.storage_offset() if storage_offset is None else storage_offset)


def _select_shape(self: TensorType, dim: Any, index: Any) -> Sizes | None:
    if self.sizes is None or dim is UNKNOWN:
        return None
    at = wrap_dim(dim, len(self.sizes))
    return (*self.sizes[:at], *self.sizes[at + 1 :])


def _slice_shape(self: TensorType, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1) -> Sizes | None:
    if self.sizes is None or dim is UNKNOWN:
        return None
    at = wrap_dim(dim, len(self.sizes))
    size = self.sizes[at]
    kept: int | None = None
    if UNKNOWN not in (start, end, step):
        if size is not None:
            kept = len(range(*slice(start, end, step).indices(size)))
        elif start in (None, 0) and end is None and step == 1:
            kept = size
    return (*self.sizes[:at], kept, *self.sizes[at + 1 :])


def _unsqueeze_shape(self: TensorType, dim: Any) -> Sizes | None:
    if self.sizes is None or dim is UNKNOWN:
        return None
    at = wrap_dim(dim, len(self.sizes) + 1)
    return (*self.sizes[:at], 1, *self.sizes[at:])


def _squeeze_shape(self: TensorType, dim: Any = None) -> Sizes | None:
    if self.sizes is None or dim is UNKNOWN:
        return None
    dims = range(len(self.sizes)) if dim is None else [dim] if isinstance(dim, int) else dim
    named = {wrap_dim(d, len(self.sizes)) for d in dims}
    if any(self.sizes[d] is None for d in named if self.sizes):
        return None
    return tuple(s for d, s in enumerate(self.sizes) if d not in named or s != 1)


def _diagonal_shape(self: TensorType, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Sizes | None:
    if self.sizes is None or UNKNOWN in (dim1, dim2):
        return None
    a, b = wrap_dim(dim1, len(self.sizes)), wrap_dim(dim2, len(self.sizes))
    rows, columns = self.sizes[a], self.sizes[b]
    length: int | None = None
    if rows is not None and columns is not None and offset is not UNKNOWN:
        length = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    return (*[s for d, s in enumerate(self.sizes) if d not in (a, b)], length)


def _narrow_shape(self: TensorType, dim: Any, length: Any) -> Sizes | None:
    return ranks.with_dim(self.sizes, dim, length if isinstance(length, int) else None)


def _unfold_shape(self: TensorType, dimension: Any, size: Any) -> Sizes | None:
    if self.sizes is None or not self.sizes:
        return None if self.sizes is None else (None,)
    rest = ranks.with_dim(self.sizes, dimension, None)
    return None if rest is None else (*rest, size if isinstance(size, int) else None)


view(
    "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    kernel=select_kernel,
    shape=_select_shape,
    doc="One place along a dimension, which goes; a view.",
    samples=lambda: (Sample(args=(sample(2, 3), 1, -1)), Sample(args=(sample(4), 0, 2))),
    errors=lambda: (
        ErrorSample(
            args=(sample(2, 3), 0, 2), error=IndexError, message="index 2 out of range for tensor of size [2, 3]"
        ),
        ErrorSample(args=(sample(), 0, 0), error=IndexError, message="select() cannot be applied to a 0-dim tensor."),
    ),
)
view(
    "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    kernel=slice_kernel,
    shape=_slice_shape,
    doc="Every `step`-th place of a dimension from `start` up to `end`; a view.",
    is_method=False,
    is_function=False,
    samples=lambda: (
        Sample(args=(sample(5, 2), 0, 1, 9, 2)),
        Sample(args=(sample(3, 4), 1, -2)),
        Sample(args=(sample(3), 0, 2, 1)),
    ),
    errors=lambda: (
        ErrorSample(args=(sample(3), 0, None, None, 0), error=RuntimeError, message="slice step must be positive"),
    ),
)
view(
    "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
    kernel=narrow_kernel,
    shape=_narrow_shape,
    doc="`length` places of a dimension from `start`; a view.",
    samples=lambda: (Sample(args=(sample(5, 2), 0, 1, 3)), Sample(args=(sample(5), 0, -2, 2))),
    errors=lambda: (
        ErrorSample(
            args=(sample(3), 0, 2, 2), error=RuntimeError, message="start (2) + length (2) exceeds dimension size (3)."
        ),
    ),
)
view(
    "aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
    kernel=narrow_tensor_kernel,
    shape=_narrow_shape,
)
view(
    "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    kernel=unsqueeze_kernel,
    shape=_unsqueeze_shape,
    in_place=True,
    doc="A new dimension of size 1; a view.",
    samples=lambda: (Sample(args=(sample(2, 3), 1)), Sample(args=(sample(2, 3), -1)), Sample(args=(sample(), 0))),
    errors=lambda: (
        ErrorSample(
            args=(sample(2, 3), 4),
            error=IndexError,
            message="Dimension out of range (expected to be in range of [-3, 2], but got 4)",
        ),
    ),
)
view(
    "aten::squeeze(Tensor(a) self) -> Tensor(a)",
    "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    kernel=squeeze_kernel,
    shape=_squeeze_shape,
    in_place=True,
    doc="Without dimensions of size 1; a view.",
    samples=lambda: (
        Sample(args=(sample(1, 3, 1),)),
        Sample(args=(sample(1, 3, 1), -1)),
        Sample(args=(sample(1, 3), 1)),
        Sample(args=(sample(1, 3, 1), (0, 1))),
        Sample(args=(sample(), 0)),
    ),
    errors=lambda: (ErrorSample(args=(sample(3), 2), error=IndexError, message="Dimension out of range"),),
)
view(
    "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    kernel=diagonal_kernel,
    shape=_diagonal_shape,
    doc="The diagonal of two dimensions as a new last one; a view.",
    samples=lambda: (
        Sample(args=(sample(3, 4),)),
        Sample(args=(sample(3, 4), -1)),
        Sample(args=(sample(2, 3, 4), 1, 0, 2)),
        Sample(args=(sample(2, 2), 5)),
    ),
    errors=lambda: (
        ErrorSample(
            args=(sample(2, 2), 0, 1, 1), error=RuntimeError, message="diagonal dimensions cannot be identical 1, 1"
        ),
    ),
)
view(
    "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    kernel=unfold_kernel,
    shape=_unfold_shape,
    doc="All windows of `size` along a dimension, `step` apart, as a new last dimension; a view.",
    is_function=False,
    samples=lambda: (Sample(args=(sample(7), 0, 3, 2)), Sample(args=(sample(2, 5), 1, 2, 1))),
    errors=lambda: (
        ErrorSample(
            args=(sample(3), 0, 5, 1),
            error=RuntimeError,
            message="maximum size for tensor at dimension 0 is 3 but size is 5",
        ),
    ),
)
view(
    "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    kernel=as_strided_kernel,
    shape=size_shape,
    in_place=True,
    doc="Any window on the storage: sizes, strides and offset in elements; a view.",
    samples=lambda: (Sample(args=(sample(6), (2, 2), (3, 1), 1)), Sample(args=(sample(4), (3, 2), (1, 1)))),
    errors=lambda: (
        ErrorSample(
            args=(sample(3), (5,), (1,)),
            error=RuntimeError,
            message="setStorage: sizes [5], strides [1], storage offset 0, and itemsize 4 requiring a storage size of "
            "20 are out of bounds for storage of size 12",
        ),
    ),
)
view(
    "aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
    kernel=lambda self, size, stride: as_strided_kernel(self, size, stride),
    shape=size_shape,
    is_method=False,
)
