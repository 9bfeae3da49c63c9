"""Copies, conversions and overwriting: `clone`, `contiguous`, `to`, `copy_`, `fill_`, `resize_`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.overwrite import check_writeable
from flambeau.ops.families.rules import same_dtype, same_shape
from flambeau.ops.families.samples import sample
from flambeau.ops.families.scalars import exact_scalar
from flambeau.ops.families.variants import check_overlap, resize
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType, by_code
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Role, Traits
from flambeau.schema.types import TensorType
from flambeau.tensor import layout
from flambeau.tensor.array_library import np
from flambeau.tensor.create import check_device, empty_strided, strides_for
from flambeau.tensor.dispatch import call
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.tensor import Tensor, view_of, wrap

PRESERVE = 1


def copied(self: Tensor, dtype: DType | None = None, memory_format: int | None = None) -> Tensor:
    """A copy in new memory, converted, in the same order of dimensions unless a format is named."""
    array = self._array
    target = self.dtype if dtype is None else dtype
    wanted = PRESERVE if memory_format is None else memory_format
    if array.flags.c_contiguous and wanted <= PRESERVE:
        converted = cast(array, target)
        return wrap(converted.copy() if converted is array else np.ascontiguousarray(converted).reshape(array.shape))
    result = empty_strided(array.shape, strides_for(array.shape, wanted, self.stride()), target)
    result[...] = cast(array, target)
    return wrap(result)


def clone_kernel(self: Tensor, memory_format: int | None = None) -> Tensor:
    """A copy in new memory."""
    return copied(self, None, memory_format)


def contiguous_kernel(self: Tensor, memory_format: int = 0) -> Tensor:
    """The tensor itself when its elements are in that order, else a copy."""
    if memory_format == PRESERVE:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return self if self.is_contiguous(memory_format) else copied(self, None, memory_format)


def to_kernel(
    self: Tensor,
    dtype: int | None = None,
    device: Device | None = None,
    copy: bool = False,
    memory_format: int | None = None,
) -> Tensor:
    """The tensor itself when nothing changes, else a converted copy."""
    check_device(device)
    target = self.dtype if dtype is None else by_code(dtype)
    stays = memory_format is None or memory_format == PRESERVE or self.is_contiguous(memory_format)
    if target is self.dtype and not copy and stays:
        return self
    return copied(self, target, memory_format)


def copy_kernel(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Overwrite `self` with `src`, broadcast and converted."""
    target, source = self._array, src._array
    if target is source:
        return self
    check_writeable(self)
    check_overlap(self, (src,))
    if target.shape != source.shape:
        shape = layout.broadcast(target.shape, source.shape)
        if shape != target.shape:
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}"
            )
    target[...] = cast(source, self.dtype)
    self.bump_version()
    return self


def fill_kernel(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element with a number. Integers wrap; a complex number in a real tensor is refused."""
    check_writeable(self)
    self._array[...] = exact_scalar(value, self.dtype)
    self.bump_version()
    return self


def fill_tensor_kernel(self: Tensor, value: Tensor) -> Tensor:
    """The same from a 0-d tensor."""
    if value._array.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
        )
    check_writeable(self)
    check_overlap(self, ())
    self._array[...] = cast(value._array, self.dtype)
    self.bump_version()
    return self


def zero_kernel(self: Tensor) -> Tensor:
    """Overwrite every element with zero."""
    return fill_kernel(self, 0)


def resize_kernel(self: Tensor, size: Sequence[int], memory_format: int | None = None) -> Tensor:
    """Other sizes in place, row-major or in the named format; new elements are not initialised."""
    if any(s < 0 for s in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if memory_format == PRESERVE:
        raise RuntimeError("Unsupported memory format Preserve")
    refuse_writing(self._storage.version)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if tuple(size) != self._array.shape:
        offset = self.storage_offset() if self._storage.nbytes else 0
        if offset:
            return _resize_at(self, size, offset)
        resize(self, tuple(size))
    if memory_format:
        strides = layout.channels_last_strides(size)
        self._array = view_of(self, size, strides)._array
    return self


def _resize_at(self: Tensor, size: Sequence[int], offset: int) -> Tensor:
    strides = layout.contiguous_strides(size)
    item = self._array.itemsize
    storage = self._storage
    needed = (layout.min_storage_elements(size, strides) + offset) * item
    if needed > storage.nbytes:
        grown = np.zeros(needed, np.uint8)
        grown[: storage.nbytes] = storage.bytes
        storage.base, storage._bytes = grown, None
    self._array = view_of(self, size, strides, offset)._array
    return self


def set_kernel(self: Tensor, source: Tensor) -> Tensor:
    """Look at another tensor's memory from now on."""
    refuse_writing(self._storage.version)
    self._array, self._storage = source._array, source._storage
    return self


def set_window_kernel(
    self: Tensor, source: Tensor, storage_offset: int, size: Sequence[int], stride: Sequence[int] = ()
) -> Tensor:
    """The same through a window of its own."""
    window = view_of(source, size, stride or layout.contiguous_strides(size), storage_offset)
    return set_kernel(self, window)


DETACHED_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
    "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
    "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
    "torch/optim/optimizer.py as the solution."
)


def detach_in_place(self: Tensor) -> Tensor:
    """Forget how the tensor was computed. Raises RuntimeError for a view."""
    if self._base is not None:
        raise RuntimeError(DETACHED_VIEW)
    self._node = self._base = None
    self._requires_grad = False
    return self


def _to_dtype(self: TensorType, dtype: Any = None) -> DType | None:
    return None if dtype is UNKNOWN else self.dtype if dtype is None else by_code(dtype)


def _copy_shape(self: TensorType) -> Sizes | None:
    return self.sizes


def _to_cuda(self: Tensor) -> Tensor:
    return call("aten::to", self, Device("cuda"))  # type: ignore[no-any-return]


declare(
    "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    kernel=clone_kernel,
    on_tensors=True,
    outs=("out",),
    dtype=same_dtype,
    shape=same_shape,
    doc="A copy in new memory that keeps the order of dimensions.",
    samples=lambda: (Sample(args=(sample(2, 3),)), Sample(args=(sample(),)), Sample(args=(sample(0, 3),))),
)
declare(
    "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
    kernel=contiguous_kernel,
    traits=Traits(may_copy=True),
    on_tensors=True,
    family="view",
    dtype=same_dtype,
    shape=same_shape,
    is_function=False,
    doc="The tensor itself if its elements lie in row-major order (or the named format), else a copy that does.",
    samples=lambda: (Sample(args=(sample(2, 3),)),),
)
CONVERSION: Final = Traits(role=Role.CONVERSION, may_copy=True)
_TO_REST = "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None"
declare(
    f"aten::to.dtype(Tensor(a) self, ScalarType dtype, {_TO_REST}) -> Tensor(a)",
    "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    f"bool? pin_memory=None, {_TO_REST}) -> Tensor(a)",
    f"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, {_TO_REST}) -> Tensor(a)",
    "aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool "
    "copy=False) -> Tensor(b|a)",
    "aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
    kernel=to_kernel,
    traits=CONVERSION,
    on_tensors=True,
    family="view",
    dtype=_to_dtype,
    shape=same_shape,
    is_function=False,
    doc="The tensor with another dtype or device: itself when nothing changes and `copy` is not asked for, else a "
    "copy.",
    samples=lambda: (Sample(args=(sample(2, 3), by_code(7))), Sample(args=(sample(3), by_code(6)))),
)
declare(
    f"aten::to.other(Tensor(a) self, Tensor other, {_TO_REST}) -> Tensor(a)",
    kernel=lambda self, other, copy, memory_format: to_kernel(self, other.dtype.code, None, copy, memory_format),
    traits=CONVERSION,
    on_tensors=True,
    family="view",
    dtype=lambda self, other: other.dtype,
    shape=same_shape,
)
declare(
    "aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
    kernel=lambda self, copy: to_kernel(self, copy=copy),
    traits=CONVERSION,
    on_tensors=True,
    family="view",
    dtype=same_dtype,
    shape=same_shape,
)
declare(
    "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    kernel=lambda self, dtype, device, memory_format: to_kernel(self, dtype, device, True, memory_format),
    traits=CONVERSION,
    on_tensors=True,
    dtype=_to_dtype,
    shape=same_shape,
)
declare(
    "prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor",
    kernel=lambda a, dtype: to_kernel(a, dtype, copy=True),
    on_tensors=True,
    family="pointwise",
    dtype=lambda a, dtype: _to_dtype(a, dtype),
    shape=lambda a: a.sizes,
    scalar=lambda s, a, dtype: a,
    compute=lambda a: a.dtype,
    is_method=False,
    is_function=False,
    doc="A copy with another dtype, never the tensor itself: what plans make of `to` where both dtypes are known.",
    samples=lambda: (Sample(args=(sample(2, 3), by_code(7))), Sample(args=(sample(3), by_code(3)))),
)
declare(
    "aten::cpu(Tensor(a) self) -> Tensor(b|a)",
    kernel=lambda self: self,
    on_tensors=True,
    family="view",
    traits=Traits(may_be_operand=True),
    dtype=same_dtype,
    shape=same_shape,
    is_function=False,
)
declare(
    "aten::cuda(Tensor(a) self) -> Tensor(b|a)",
    kernel=_to_cuda,
    traits=Traits(may_copy=True),
    on_tensors=True,
    family="view",
    dtype=same_dtype,
    shape=same_shape,
    is_function=False,
    errors=lambda: (
        ErrorSample(args=(sample(2),), error=RuntimeError, message="no tensor can be put on device 'cuda' here"),
    ),
    doc="The tensor on a CUDA device. Raises RuntimeError: there is none; ask `flambeau.cuda.is_available()` first.",
)
declare(
    "aten::type_as(Tensor self, Tensor other) -> Tensor",
    kernel=lambda self, other: to_kernel(self, other.dtype.code),
    traits=CONVERSION,
    on_tensors=True,
    family="view",
    dtype=lambda self, other: other.dtype,
    shape=same_shape,
    is_function=False,
    doc="The tensor with the dtype of another.",
    samples=lambda: (Sample(args=(sample(3), wrap(np.ones(1, np.int64)))),),
)
declare(
    "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    kernel=copy_kernel,
    traits=Traits(stores=True),
    on_tensors=True,
    family="write",
    dtype=same_dtype,
    shape=_copy_shape,
    is_function=False,
    doc="Overwrite the tensor with another one, broadcast and converted. Raises RuntimeError where the two partly "
    "overlap.",
    samples=lambda: (Sample(args=(sample(2, 3), sample(3))),),
    errors=lambda: (
        ErrorSample(
            args=(sample(2), sample(2, 2)),
            error=RuntimeError,
            message="output with shape [2] doesn't match the broadcast shape [2, 2]",
        ),
        ErrorSample(
            args=(view_of(sample(3), (2, 3), (0, 1)), sample(3)),
            error=RuntimeError,
            message="more than one element of the written-to tensor refers to a single memory location",
        ),
    ),
)
declare(
    "aten::copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    kernel=lambda self, other: copy_kernel(self, other),
    on_tensors=True,
    family="write",
)
for _type in ("int", "float"):
    declare(
        f"aten::copy_.{_type}(Tensor(a!) self, {_type} other) -> Tensor(a!)",
        kernel=lambda self, other: fill_kernel(self, other),
        on_tensors=True,
        family="write",
    )
declare(
    "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    kernel=lambda self, src: copy_kernel(wrap(np.empty(self._array.shape, self._array.dtype)), src),
    on_tensors=True,
    dtype=same_dtype,
    shape=same_shape,
    is_method=False,
    is_function=False,
)
declare(
    "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
    kernel=fill_kernel,
    on_tensors=True,
    family="write",
    dtype=same_dtype,
    shape=same_shape,
    doc="Overwrite every element with a number, converted to the dtype.",
    samples=lambda: (Sample(args=(sample(2, 3), 2.5)),),
    errors=lambda: (
        ErrorSample(
            args=(sample(2), 1j),
            error=RuntimeError,
            message="value cannot be converted to type float without overflow",
        ),
    ),
)
declare(
    "aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
    kernel=fill_tensor_kernel,
    on_tensors=True,
    family="write",
    dtype=same_dtype,
    shape=same_shape,
    samples=lambda: (Sample(args=(sample(2, 3), sample())),),
    errors=lambda: (
        ErrorSample(
            args=(sample(2), sample(2)), error=RuntimeError, message="fill_ only supports 0-dimension value tensor"
        ),
    ),
)
for _overload, _type, _kernel in (("Scalar", "Scalar", fill_kernel), ("Tensor", "Tensor", fill_tensor_kernel)):
    declare(
        f"aten::fill.{_overload}(Tensor self, {_type} value) -> Tensor",
        kernel=(lambda run: lambda self, value: run(copied(self), value))(_kernel),
        on_tensors=True,
        dtype=same_dtype,
        shape=same_shape,
        is_method=False,
        doc="The tensor's sizes filled with one number." if _overload == "Scalar" else "",
        samples=lambda: (Sample(args=(sample(2, 3), 2)),),
    )
declare(
    "aten::zero_(Tensor(a!) self) -> Tensor(a!)",
    kernel=zero_kernel,
    on_tensors=True,
    family="write",
    dtype=same_dtype,
    shape=same_shape,
    doc="Overwrite every element with zero.",
    samples=lambda: (Sample(args=(sample(2, 3),)),),
)
declare(
    "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    kernel=resize_kernel,
    traits=Traits(changes_layout=True),
    is_about_tensor=True,
    on_tensors=True,
    family="write",
    is_function=False,
    doc="Other sizes in place; the storage grows where it must, and new elements are not initialised.",
)
declare(
    "aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    kernel=lambda self, the_template, memory_format: resize_kernel(self, the_template._array.shape, memory_format),
    traits=Traits(changes_layout=True),
    is_about_tensor=True,
    on_tensors=True,
    family="write",
    doc="The sizes of another tensor in place.",
)
declare(
    "aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)",
    kernel=set_kernel,
    traits=Traits(changes_layout=True),
    is_about_tensor=True,
    on_tensors=True,
    family="write",
    is_function=False,
    doc="Look at another tensor's memory from now on.",
)
declare(
    "aten::set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, "
    "SymInt[] stride=[]) -> Tensor(a!)",
    kernel=set_window_kernel,
    traits=Traits(changes_layout=True),
    on_tensors=True,
    family="write",
    is_function=False,
)
declare(
    "aten::detach_(Tensor(a!) self) -> Tensor(a!)",
    kernel=detach_in_place,
    traits=Traits(changes_layout=True),
    is_about_tensor=True,
    on_tensors=True,
    family="write",
    doc="Forget how the tensor was computed.",
)
