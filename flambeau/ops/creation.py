"""Tensors from sizes and numbers: zeros, ones, full, empty, eye, and their `_like` and `new_` forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.families.constructors import (
    LIKE_OPTIONS,
    OPTIONS,
    check_sizes,
    chosen,
    declare_out_of_constructor,
    default_dtype,
    like_dtype,
    like_shape,
    size_shape,
)
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.promotion import operand_of
from flambeau.ops.families.samples import sample
from flambeau.ops.families.scalars import exact_scalar
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType, bool_, by_code, float64, int64
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.create import check_device, empty_strided, strides_for
from flambeau.tensor.layout import permuted_strides
from flambeau.tensor.sequences import infer_dtype
from flambeau.tensor.tensor import Tensor, wrap


def _filled(name: str, value: int) -> Callable[..., Tensor]:
    def kernel(size: Sequence[int], dtype: int | None = None, device: Device | None = None) -> Tensor:
        if device is not None:
            check_device(device)
        if size and min(size) < 0:
            check_sizes(name, size)
        target = chosen(dtype)
        if not value:
            return wrap(np.zeros(tuple(size), target.numpy))
        array = np.empty(tuple(size), target.numpy)
        array[...] = exact_scalar(value, target)
        return wrap(array)

    return kernel


def empty_kernel(
    size: Sequence[int], dtype: int | None = None, device: Device | None = None, memory_format: int | None = None
) -> Tensor:
    """Memory that nobody has written: zeros, so that a program's result never depends on old data."""
    check_device(device)
    if size and min(size) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    target = chosen(dtype)
    if memory_format in (None, 0):
        return wrap(np.zeros(tuple(size), target.numpy))
    return wrap(zeros_strided(size, strides_for(size, memory_format), target))


def zeros_strided(size: Sequence[int], strides: Sequence[int], dtype: DType) -> Any:
    """Fresh memory of zeros with these strides."""
    array = empty_strided(size, strides, dtype)
    array[...] = np.zeros((), dtype.numpy)
    return array


def empty_strided_kernel(
    size: Sequence[int], stride: Sequence[int], dtype: int | None = None, device: Device | None = None
) -> Tensor:
    """`empty` with strides of the caller's choice."""
    check_device(device)
    return wrap(zeros_strided(size, stride, chosen(dtype)))


def empty_permuted_kernel(
    size: Sequence[int], physical_layout: Sequence[int], dtype: int | None = None, device: Device | None = None
) -> Tensor:
    """The same with dimensions in memory from outermost to innermost as listed."""
    check_device(device)
    if len(size) != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    if sorted(physical_layout) != list(range(len(size))):
        bad = next((d for d in physical_layout if not 0 <= d < len(size)), None)
        if bad is not None:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {bad} at index "
            )
        raise RuntimeError("Duplicate dim not allowed")
    return wrap(zeros_strided(size, permuted_strides(size, physical_layout), chosen(dtype)))


def full_kernel(size: Sequence[int], fill_value: Any, dtype: int | None = None, device: Device | None = None) -> Tensor:
    """One number everywhere; its kind gives the dtype."""
    check_device(device)
    check_sizes("full", size)
    target = infer_dtype([fill_value]) if dtype is None else by_code(dtype)
    array = np.empty(tuple(size), target.numpy)
    array[...] = exact_scalar(fill_value, target)
    return wrap(array)


def like(self: Tensor, value: Any, dtype: int | None, device: Device | None, memory_format: int | None) -> Tensor:
    """One number in the sizes of a tensor, in its order of dimensions."""
    check_device(device)
    target = chosen(dtype, self.dtype)
    array = self._array
    if memory_format in (None, 0, 1) and (array.flags.c_contiguous or memory_format == 0):
        fresh = np.empty(array.shape, target.numpy) if value else np.zeros(array.shape, target.numpy)
    else:
        fresh = zeros_strided(array.shape, strides_for(array.shape, memory_format or 1, self.stride()), target)
    if value != 0:
        fresh[...] = exact_scalar(value, target)
    return wrap(fresh)


def scalar_tensor_kernel(s: Any, dtype: int | None = None, device: Device | None = None) -> Tensor:
    """A number as a 0-d tensor of the default dtype."""
    check_device(device)
    target = chosen(dtype)
    return wrap(np.asarray(exact_scalar(s, target), target.numpy))


def eye_kernel(n: int, m: int | None = None, dtype: int | None = None, device: Device | None = None) -> Tensor:
    """Ones on the diagonal."""
    check_device(device)
    if n < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {n}")
    if m is not None and m < 0:
        raise RuntimeError(f"m must be greater or equal to 0, got {m}")
    return wrap(cast(np.eye(n, n if m is None else m, dtype=np.bool_), chosen(dtype)))


def _full_dtype(fill_value: Any, dtype: Any = None) -> DType | None:
    if dtype is UNKNOWN:
        return None
    if dtype is not None:
        return by_code(dtype)
    operand = operand_of(fill_value)
    return None if operand is None else operand[1]


def _eye_shape(n: Any, m: Any = None) -> Sizes:
    wide = n if m is None else m
    return tuple(s if isinstance(s, int) else None for s in (n, wide))


_NEGATIVE: Final = "{}: Dimension size must be non-negative."


for _name, _value in (("zeros", 0), ("ones", 1)):
    declare(
        f"aten::{_name}(SymInt[] size, *, {OPTIONS}) -> Tensor",
        kernel=_filled(_name, _value),
        on_tensors=True,
        family="creation",
        dtype=default_dtype,
        shape=size_shape,
        is_method=False,
        doc=f"A tensor of {_name}; float32 unless another dtype is given.",
        samples=lambda: (Sample(args=((2, 3),)), Sample(args=(2,), kwargs={"dtype": int64}), Sample(args=((),))),
        errors=(lambda name: lambda: (ErrorSample(args=(-1,), error=RuntimeError, message=_NEGATIVE.format(name)),))(
            _name
        ),
    )
    declare(
        f"aten::{_name}_like(Tensor self, *, {LIKE_OPTIONS}) -> Tensor",
        kernel=(
            lambda value: lambda self, dtype, device, memory_format: like(self, value, dtype, device, memory_format)
        )(_value),
        on_tensors=True,
        family="creation",
        dtype=like_dtype,
        shape=like_shape,
        is_method=False,
        doc=f"{_name.capitalize()} in the sizes, dtype and order of dimensions of a tensor.",
        samples=lambda: (Sample(args=(sample(2, 3),)), Sample(args=(sample(2),), kwargs={"dtype": bool_})),
    )
    declare(
        f"aten::new_{_name}(Tensor self, SymInt[] size, *, {OPTIONS}) -> Tensor",
        kernel=(
            lambda run: lambda self, size, dtype, device: run(size, self.dtype.code if dtype is None else dtype, device)
        )(_filled(f"new_{_name}", _value)),
        on_tensors=True,
        family="creation",
        dtype=like_dtype,
        shape=size_shape,
        is_function=False,
        doc=f"{_name.capitalize()} with the dtype of the tensor.",
        samples=lambda: (Sample(args=(sample(2), (2, 3))),),
    )


declare(
    f"aten::empty.memory_format(SymInt[] size, *, {LIKE_OPTIONS}) -> Tensor",
    kernel=empty_kernel,
    on_tensors=True,
    family="creation",
    dtype=default_dtype,
    shape=size_shape,
    is_method=False,
    doc="A tensor whose elements are to be written; do not rely on their values.",
    samples=lambda: (Sample(args=((2, 3),)),),
)


declare(
    f"aten::empty_like(Tensor self, *, {LIKE_OPTIONS}) -> Tensor",
    kernel=lambda self, dtype, device, memory_format: like(self, 0, dtype, device, memory_format),
    on_tensors=True,
    family="creation",
    dtype=like_dtype,
    shape=like_shape,
    is_method=False,
    doc="`empty` in the sizes, dtype and order of dimensions of a tensor.",
    samples=lambda: (Sample(args=(sample(2, 3),)),),
)


declare(
    f"aten::new_empty(Tensor self, SymInt[] size, *, {OPTIONS}) -> Tensor",
    kernel=lambda self, size, dtype, device: empty_kernel(size, self.dtype.code if dtype is None else dtype, device),
    on_tensors=True,
    family="creation",
    dtype=like_dtype,
    shape=size_shape,
    is_function=False,
)


declare(
    f"aten::empty_strided(SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
    kernel=empty_strided_kernel,
    on_tensors=True,
    family="creation",
    dtype=default_dtype,
    shape=size_shape,
    is_method=False,
    doc="`empty` with strides of your choice.",
    samples=lambda: (Sample(args=((2, 3), (1, 2))),),
)


declare(
    f"aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
    kernel=lambda self, size, stride, dtype, device: empty_strided_kernel(
        size, stride, self.dtype.code if dtype is None else dtype, device
    ),
    on_tensors=True,
    family="creation",
    dtype=like_dtype,
    shape=size_shape,
    is_function=False,
)


declare(
    f"aten::empty_permuted(SymInt[] size, int[] physical_layout, *, {OPTIONS}) -> Tensor",
    kernel=empty_permuted_kernel,
    on_tensors=True,
    family="creation",
    dtype=default_dtype,
    shape=size_shape,
    is_method=False,
    doc="`empty` with the dimensions in memory in a given order.",
)


declare(
    f"aten::full(SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
    kernel=full_kernel,
    traits=Traits(archive_version=5),
    on_tensors=True,
    family="creation",
    dtype=_full_dtype,
    shape=size_shape,
    is_method=False,
    doc="One number everywhere; the kind of number gives the dtype.",
    samples=lambda: (
        Sample(args=((2,), 3)),
        Sample(args=((2,), 3.0)),
        Sample(args=((2,), True)),
        Sample(args=((), 1j)),
    ),
)


declare(
    f"aten::full_like(Tensor self, Scalar fill_value, *, {LIKE_OPTIONS}) -> Tensor",
    kernel=lambda self, fill_value, dtype, device, memory_format: like(self, fill_value, dtype, device, memory_format),
    on_tensors=True,
    family="creation",
    dtype=like_dtype,
    shape=like_shape,
    is_method=False,
    doc="One number in the sizes, dtype and order of dimensions of a tensor.",
    samples=lambda: (Sample(args=(sample(2, 3), 7)),),
)


declare(
    f"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
    kernel=lambda self, size, fill_value, dtype, device: full_kernel(
        size, fill_value, self.dtype.code if dtype is None else dtype, device
    ),
    on_tensors=True,
    family="creation",
    dtype=like_dtype,
    shape=size_shape,
    is_function=False,
    doc="One number everywhere, with the dtype of the tensor.",
    samples=lambda: (Sample(args=(sample(2), (2, 2), 3)),),
)


declare(
    f"aten::scalar_tensor(Scalar s, *, {OPTIONS}) -> Tensor",
    kernel=scalar_tensor_kernel,
    on_tensors=True,
    family="creation",
    dtype=default_dtype,
    shape=lambda s: (),
    is_method=False,
    doc="A number as a 0-d tensor of the default dtype.",
    samples=lambda: (Sample(args=(3,)), Sample(args=(2.5,), kwargs={"dtype": float64})),
)


declare(
    f"aten::eye(SymInt n, *, {OPTIONS}) -> Tensor",
    f"aten::eye.m(SymInt n, SymInt m, *, {OPTIONS}) -> Tensor",
    kernel=eye_kernel,
    on_tensors=True,
    family="creation",
    dtype=default_dtype,
    shape=_eye_shape,
    is_method=False,
    doc="Ones on the diagonal of an n x n or n x m matrix.",
    samples=lambda: (Sample(args=(3,)), Sample(args=(2, 4), kwargs={"dtype": int64})),
    errors=lambda: (ErrorSample(args=(-1,), error=RuntimeError, message="n must be greater or equal to 0, got -1"),),
)


declare_out_of_constructor("aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", _filled("zeros", 0))


declare_out_of_constructor("aten::ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", _filled("ones", 1))


declare_out_of_constructor(
    "aten::empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
    lambda size, memory_format, dtype: empty_kernel(size, dtype, None, memory_format),
)


declare_out_of_constructor(
    "aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)", full_kernel
)


declare_out_of_constructor("aten::eye.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", eye_kernel)


declare_out_of_constructor("aten::eye.m_out(SymInt n, SymInt m, *, Tensor(a!) out) -> Tensor(a!)", eye_kernel)
