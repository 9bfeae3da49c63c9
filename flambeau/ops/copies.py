"""Copies and overwriting: `clone`, `contiguous`, `copy_`, `fill_`, `zero_`."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.copied_elements import converted, of_number
from flambeau.ops.families.numpy_cast import MANY, cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.overwrite import check_writeable
from flambeau.ops.families.rules import same_dtype, same_shape
from flambeau.ops.families.samples import sample
from flambeau.ops.families.scalars import exact_scalar
from flambeau.ops.families.variants import check_overlap
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor import layout
from flambeau.tensor.array_library import copy_into, np
from flambeau.tensor.create import empty_strided, strides_for
from flambeau.tensor.tensor import Tensor, view_of, wrap

PRESERVE = 1


def copied(self: Tensor, dtype: DType | None = None, memory_format: int | None = None) -> Tensor:
    """A copy in new memory, converted, in the same order of dimensions unless a format is named."""
    array = self._array
    target = self.dtype if dtype is None else dtype
    wanted = PRESERVE if memory_format is None else memory_format
    if wanted <= PRESERVE and array.flags.c_contiguous:
        elements = array if array.dtype is target.numpy else cast(array, target)
        if elements is not array:
            if type(elements) is np.ndarray and elements.flags.c_contiguous:
                return wrap(elements)
            return wrap(np.ascontiguousarray(elements).reshape(array.shape))
        if array.nbytes < MANY:
            return wrap(array.copy())
        elements = np.empty(array.shape, array.dtype)
        copy_into(elements, array)
        return wrap(elements)
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


def copy_kernel(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Overwrite `self` with `src`, broadcast and converted."""
    target, source = self._array, src._array
    if target is source:
        return self
    check_writeable(self)
    check_overlap(self, (src,))
    if target.shape != source.shape:
        layout.broadcast_into(target.shape, source.shape)
    copy_into(target, source if source.dtype is target.dtype else cast(source, self.dtype))
    self.bump_version()
    return self


def fill_kernel(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element with a number. Integers wrap; a complex number in a real tensor is refused."""
    check_writeable(self)
    self._array[...] = exact_scalar(value, self.dtype)
    self._storage.version += 1
    return self


def fill_tensor_kernel(self: Tensor, value: Tensor) -> Tensor:
    """`fill_` with the number in a 0-d tensor."""
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


def _copy_shape(self: TensorType) -> Sizes | None:
    return self.sizes


declare(
    "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    kernel=clone_kernel,
    on_tensors=True,
    copies=(0, lambda self, memory_format: None if memory_format is not None else converted(self, self.dtype)),
    outs=("out",),
    dtype=same_dtype,
    shape=same_shape,
    doc="A copy in new memory that keeps the order of dimensions.",
    samples=lambda: (Sample(args=(sample(2, 3),)), Sample(args=(sample(),)), Sample(args=(sample(0, 3),))),
)
declare(
    "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
    kernel=contiguous_kernel,
    traits=Traits(may_copy=True, stays=lambda self: self._array.flags.c_contiguous),
    on_tensors=True,
    family="view",
    dtype=same_dtype,
    shape=same_shape,
    is_function=False,
    doc="The tensor itself if its elements lie in row-major order (or the named format), else a copy that does.",
    samples=lambda: (Sample(args=(sample(2, 3),)),),
)
declare(
    "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    kernel=copy_kernel,
    traits=Traits(stores=True),
    on_tensors=True,
    copies=(1, lambda self, src: converted(src, self.dtype)),
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
    copies=(1, lambda self, value: of_number(value, self.dtype)),
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
    copies=(None, lambda self: self.dtype),
    on_tensors=True,
    family="write",
    dtype=same_dtype,
    shape=same_shape,
    doc="Overwrite every element with zero.",
    samples=lambda: (Sample(args=(sample(2, 3),)),),
)
