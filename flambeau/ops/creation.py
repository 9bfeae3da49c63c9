"""Tensors from sizes and numbers: zeros, ones, full, empty, eye, arange, linspace, and their `_like` and `new_`
forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import Any, Final

import numpy as np

from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.scalars import exact_scalar
from flambeau.ops.families.variants import fit_out, write
from flambeau.ops.views import _sample
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType, bool_, by_code, float64, int64
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import UNKNOWN, Effect, ErrorSample, OpDef, Sample, Sizes
from flambeau.schema.registry import register
from flambeau.schema.types import TensorType
from flambeau.tensor import defaults
from flambeau.tensor.create import check_device, empty_strided, infer_dtype, strides_for
from flambeau.tensor.layout import permuted_strides
from flambeau.tensor.tensor import Tensor, wrap

OPTIONS: Final = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
LIKE_OPTIONS: Final = f"{OPTIONS}, MemoryFormat? memory_format=None"


def chosen(dtype: int | None, default: DType | None = None) -> DType:
    """The dtype a call asked for, or the default."""
    return (default or defaults.float_dtype()) if dtype is None else by_code(dtype)


def check_sizes(name: str, size: Sequence[int]) -> None:
    """Raise RuntimeError for a negative size."""
    if any(s < 0 for s in size):
        raise RuntimeError(f"{name}: Dimension size must be non-negative.")


def _filled(name: str, value: int) -> Callable[..., Tensor]:
    def kernel(size: Sequence[int], dtype: int | None = None, device: Device | None = None) -> Tensor:
        check_device(device)
        check_sizes(name, size)
        target = chosen(dtype)
        array = np.zeros(tuple(size), target.numpy)
        if value:
            array[...] = exact_scalar(value, target)
        return wrap(array)

    return kernel


def empty_kernel(
    size: Sequence[int], dtype: int | None = None, device: Device | None = None, memory_format: int | None = None
) -> Tensor:
    """Memory that nobody has written: zeros, so that a program's result never depends on old data."""
    check_device(device)
    if any(s < 0 for s in size):
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
    """The same with strides of the caller's choice."""
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
    return wrap(np.full(tuple(size), exact_scalar(fill_value, target), target.numpy))


def like(self: Tensor, value: Any, dtype: int | None, device: Device | None, memory_format: int | None) -> Tensor:
    """One number in the sizes of a tensor, in its order of dimensions."""
    check_device(device)
    target = chosen(dtype, self.dtype)
    array = self._array
    if memory_format in (None, 0, 1) and (array.flags.c_contiguous or memory_format == 0):
        fresh = np.zeros(array.shape, target.numpy)
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


def arange_kernel(
    start: Any = 0, end: Any = 0, step: Any = 1, dtype: int | None = None, device: Device | None = None
) -> Tensor:
    """`start`, `start + step`, ... before `end`; integers give int64."""
    check_device(device)
    numbers = (start, end, step)
    if any(isinstance(n, complex) for n in numbers):
        raise RuntimeError('"arange" not implemented for complex numbers; take real bounds')
    given = None if dtype is None else by_code(dtype)
    if given is not None and given.is_integral and all(np.isfinite(float(n)) for n in numbers):
        start, end, step = numbers = (int(start), int(end), int(step))
    whole = all(isinstance(n, int) for n in numbers)
    target = given or (int64 if whole else defaults.float_dtype())
    check_steps(start, end, step)
    if whole:
        count = max(0, -((start - end) // step)) if step > 0 else max(0, -((end - start) // -step))
        return wrap(cast(start + step * np.arange(count, dtype=np.int64), target))
    count = ceil((end - start) / step)
    return wrap(cast(start + step * np.arange(count, dtype=np.float64), target))


def check_steps(start: Any, end: Any, step: Any) -> None:
    """Refuse steps that never reach the end."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not all(np.isfinite(float(b)) for b in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (step > 0) != (end >= start) and start != end:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def range_kernel(start: Any, end: Any, step: Any = 1, dtype: int | None = None, device: Device | None = None) -> Tensor:
    """Like `arange` but with the end included and a float result."""
    check_device(device)
    check_steps(start, end, step)
    count = int((end - start) / step + 1)
    return wrap(cast(start + step * np.arange(count, dtype=np.float64), chosen(dtype)))


def _spaced(name: str, start: Any, end: Any, steps: int, dtype: int | None) -> tuple[Any, DType]:
    """Evenly spaced numbers computed from both ends, as wide as they are, and the result's dtype."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    ranks = [x._array.ndim if isinstance(x, Tensor) else 0 for x in (start, end)]
    if any(ranks):
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got start with {ranks[0]} dimension(s) "
            f"and end with {ranks[1]} dimension(s)."
        )
    start = start.item() if isinstance(start, Tensor) else start
    end = end.item() if isinstance(end, Tensor) else end
    is_complex = isinstance(start, complex) or isinstance(end, complex)
    target = chosen(dtype, defaults.float_dtype().to_complex() if is_complex else None)
    if is_complex and not target.is_complex:
        raise RuntimeError(
            f"{name}(): inferred dtype {target.to_complex()!r} can't be safely cast to passed dtype {target!r}"
        )
    wide: Any = np.complex128 if target.is_complex else np.float64
    if name == "linspace" and ((target.itemsize == 4 and not target.is_integral) or target.name == "complex64"):
        wide = target.numpy
    if target.is_integral:
        start, end = int(start), int(end)
    first, last = wide(start) if not isinstance(wide, np.dtype) else wide.type(start), np.asarray(end, wide)[()]
    if steps == 1:
        return np.asarray([first], wide), target
    index = np.arange(steps)
    step = (last - first) / np.asarray(max(steps - 1, 1), wide)[()] if steps > 1 else first
    low = first + step * index.astype(wide)
    high = last - step * (steps - 1 - index).astype(wide)
    return np.where(index < steps // 2, low, high), target


def linspace_kernel(start: Any, end: Any, steps: int, dtype: int | None = None, device: Device | None = None) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, evenly spaced."""
    check_device(device)
    values, target = _spaced("linspace", start, end, steps, dtype)
    return wrap(cast(values, target))


def logspace_kernel(
    start: Any, end: Any, steps: int, base: float = 10.0, dtype: int | None = None, device: Device | None = None
) -> Tensor:
    """`base` to the powers of evenly spaced numbers."""
    check_device(device)
    values, target = _spaced("logspace", start, end, steps, dtype)
    with np.errstate(all="ignore"):
        return wrap(cast(np.power(base, values), target))


def _options_dtype(dtype: Any = None) -> DType | None:
    return None if dtype is UNKNOWN or dtype is None else by_code(dtype)


def _default_dtype(dtype: Any = None) -> DType | None:
    return None if dtype is UNKNOWN else chosen(dtype)


def _like_dtype(self: TensorType, dtype: Any = None) -> DType | None:
    return None if dtype is UNKNOWN else self.dtype if dtype is None else by_code(dtype)


def _full_dtype(fill_value: Any, dtype: Any = None) -> DType | None:
    if dtype is UNKNOWN or (dtype is None and fill_value is UNKNOWN):
        return None
    return infer_dtype([fill_value]) if dtype is None else by_code(dtype)


def _arange_dtype(end: Any, start: Any = 0, step: Any = 1, dtype: Any = None) -> DType | None:
    if dtype is UNKNOWN or (dtype is None and UNKNOWN in (start, end, step)):
        return None
    if dtype is not None:
        return by_code(dtype)
    return int64 if all(isinstance(n, int) for n in (start, end, step)) else defaults.float_dtype()


def _size_shape(size: Any) -> Sizes | None:
    if not isinstance(size, list | tuple):
        return None
    return tuple(s if isinstance(s, int) else None for s in size)


def _like_shape(self: TensorType) -> Sizes | None:
    return self.sizes


_NEGATIVE: Final = "{}: Dimension size must be non-negative."
for _name, _value in (("zeros", 0), ("ones", 1)):
    declare(
        f"aten::{_name}(SymInt[] size, *, {OPTIONS}) -> Tensor",
        kernel=_filled(_name, _value),
        on_tensors=True,
        family="creation",
        dtype=_default_dtype,
        shape=_size_shape,
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
        dtype=_like_dtype,
        shape=_like_shape,
        is_method=False,
        doc=f"{_name.capitalize()} in the sizes, dtype and order of dimensions of a tensor.",
        samples=lambda: (Sample(args=(_sample(2, 3),)), Sample(args=(_sample(2),), kwargs={"dtype": bool_})),
    )
    declare(
        f"aten::new_{_name}(Tensor self, SymInt[] size, *, {OPTIONS}) -> Tensor",
        kernel=(
            lambda run: lambda self, size, dtype, device: run(size, self.dtype.code if dtype is None else dtype, device)
        )(_filled(f"new_{_name}", _value)),
        on_tensors=True,
        family="creation",
        dtype=_like_dtype,
        shape=_size_shape,
        is_function=False,
        doc=f"{_name.capitalize()} with the dtype of the tensor.",
        samples=lambda: (Sample(args=(_sample(2), (2, 3))),),
    )
declare(
    f"aten::empty.memory_format(SymInt[] size, *, {LIKE_OPTIONS}) -> Tensor",
    kernel=empty_kernel,
    on_tensors=True,
    family="creation",
    dtype=_default_dtype,
    shape=_size_shape,
    is_method=False,
    doc="A tensor whose elements are to be written; do not rely on their values.",
    samples=lambda: (Sample(args=((2, 3),)),),
)
declare(
    f"aten::empty_like(Tensor self, *, {LIKE_OPTIONS}) -> Tensor",
    kernel=lambda self, dtype, device, memory_format: like(self, 0, dtype, device, memory_format),
    on_tensors=True,
    family="creation",
    dtype=_like_dtype,
    shape=_like_shape,
    is_method=False,
    doc="`empty` in the sizes, dtype and order of dimensions of a tensor.",
    samples=lambda: (Sample(args=(_sample(2, 3),)),),
)
declare(
    f"aten::new_empty(Tensor self, SymInt[] size, *, {OPTIONS}) -> Tensor",
    kernel=lambda self, size, dtype, device: empty_kernel(size, self.dtype.code if dtype is None else dtype, device),
    on_tensors=True,
    family="creation",
    dtype=_like_dtype,
    shape=_size_shape,
    is_function=False,
)
declare(
    f"aten::empty_strided(SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
    kernel=empty_strided_kernel,
    on_tensors=True,
    family="creation",
    dtype=_default_dtype,
    shape=_size_shape,
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
    dtype=_like_dtype,
    shape=_size_shape,
    is_function=False,
)
declare(
    f"aten::empty_permuted(SymInt[] size, int[] physical_layout, *, {OPTIONS}) -> Tensor",
    kernel=empty_permuted_kernel,
    on_tensors=True,
    family="creation",
    dtype=_default_dtype,
    shape=_size_shape,
    is_method=False,
    doc="`empty` with the dimensions in memory in a given order.",
)
declare(
    f"aten::full(SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
    kernel=full_kernel,
    on_tensors=True,
    family="creation",
    dtype=_full_dtype,
    shape=_size_shape,
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
    dtype=_like_dtype,
    shape=_like_shape,
    is_method=False,
    doc="One number in the sizes, dtype and order of dimensions of a tensor.",
    samples=lambda: (Sample(args=(_sample(2, 3), 7)),),
)
declare(
    f"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
    kernel=lambda self, size, fill_value, dtype, device: full_kernel(
        size, fill_value, self.dtype.code if dtype is None else dtype, device
    ),
    on_tensors=True,
    family="creation",
    dtype=_like_dtype,
    shape=_size_shape,
    is_function=False,
    doc="One number everywhere, with the dtype of the tensor.",
    samples=lambda: (Sample(args=(_sample(2), (2, 2), 3)),),
)
declare(
    f"aten::scalar_tensor(Scalar s, *, {OPTIONS}) -> Tensor",
    kernel=scalar_tensor_kernel,
    on_tensors=True,
    family="creation",
    dtype=_default_dtype,
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
    dtype=_default_dtype,
    is_method=False,
    doc="Ones on the diagonal of an n x n or n x m matrix.",
    samples=lambda: (Sample(args=(3,)), Sample(args=(2, 4), kwargs={"dtype": int64})),
    errors=lambda: (ErrorSample(args=(-1,), error=RuntimeError, message="n must be greater or equal to 0, got -1"),),
)
declare(
    f"aten::arange(Scalar end, *, {OPTIONS}) -> Tensor",
    f"aten::arange.start(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor",
    f"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor",
    kernel=arange_kernel,
    on_tensors=True,
    family="creation",
    dtype=_arange_dtype,
    is_method=False,
    doc="`start`, `start + step`, ... before `end`. Integers give int64, other numbers the default dtype.",
    samples=lambda: (
        Sample(args=(3,)),
        Sample(args=(3.0,)),
        Sample(args=(1, 7, 2)),
        Sample(args=(0, 1, 0.25)),
        Sample(args=(3, -3, -2)),
    ),
    errors=lambda: (
        ErrorSample(args=(3, 1), error=RuntimeError, message="upper bound and lower bound inconsistent with step sign"),
        ErrorSample(args=(0, 1, 0), error=RuntimeError, message="step must be nonzero"),
    ),
)
declare(
    f"aten::range.step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor",
    f"aten::range(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor",
    kernel=range_kernel,
    on_tensors=True,
    family="creation",
    dtype=_default_dtype,
    is_method=False,
    doc="Like `arange` but with the end included and a float result.",
    samples=lambda: (Sample(args=(1, 4)),),
)


def _spaced_samples() -> Iterable[Sample]:
    return (Sample(args=(0, 1, 5)), Sample(args=(3, -2.5, 4)), Sample(args=(1, 2, 1)))


for _name, _extra, _kernel in (("linspace", "", linspace_kernel), ("logspace", ", float base=10.", logspace_kernel)):
    for _overload, _start, _end in (
        ("", "Scalar", "Scalar"),
        (".Tensor_Tensor", "Tensor", "Tensor"),
        (".Tensor_Scalar", "Tensor", "Scalar"),
        (".Scalar_Tensor", "Scalar", "Tensor"),
    ):
        declare(
            f"aten::{_name}{_overload}({_start} start, {_end} end, int steps{_extra}, *, {OPTIONS}) -> Tensor",
            kernel=_kernel,
            on_tensors=True,
            family="creation",
            dtype=_options_dtype,
            shape=lambda steps: (steps if isinstance(steps, int) else None,),
            is_method=False,
            doc="Numbers from `start` to `end`, both included, evenly spaced (or powers of `base` with such exponents)."
            if not _overload
            else "",
            samples=_spaced_samples if not _overload else None,
            errors=lambda: (
                ErrorSample(args=(0, 1, -1), error=RuntimeError, message="number of steps must be non-negative"),
            ),
        )


# Into a given tensor


def declare_out_of_constructor(schema: str, kernel: Callable[..., Tensor], effect: Effect = Effect.NONE) -> None:
    """Register a constructor that writes into `out`: it computes in the dtype of `out`."""

    def write_out(*arguments: Any) -> Tensor:
        out: Tensor = arguments[-1]
        made = kernel(*arguments[:-1], dtype=out.dtype.code)
        fit_out(out, made._array.shape)
        return write(out, made._array)

    register(OpDef(schema=parse_schema(schema), family="out", kernel=write_out, effect=effect, is_method=False))


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
declare_out_of_constructor(
    "aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)", lambda end, dtype: arange_kernel(0, end, 1, dtype)
)
declare_out_of_constructor(
    "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)", arange_kernel
)
declare_out_of_constructor(
    "aten::linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)", linspace_kernel
)
declare_out_of_constructor(
    "aten::logspace.out(Scalar start, Scalar end, int steps, float base=10., *, Tensor(a!) out) -> Tensor(a!)",
    logspace_kernel,
)
declare_out_of_constructor(
    "aten::range.out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)", range_kernel
)
