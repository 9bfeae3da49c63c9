"""Evenly spaced numbers: arange, range, linspace, logspace."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

from flambeau.ops.families.constructors import (
    OPTIONS,
    chosen,
    declare_out_of_constructor,
    default_dtype,
    options_dtype,
)
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.promotion import operand_of
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType, by_code, int64
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import BoolType, IntType, TensorType
from flambeau.tensor import defaults
from flambeau.tensor.array_library import np
from flambeau.tensor.create import check_device
from flambeau.tensor.tensor import Tensor, wrap


def _are_ints_ahead(start: Any, end: Any, step: Any) -> bool:
    """Whether integers lead forward by several steps."""
    return type(start) is int and type(end) is int and type(step) is int and 0 < step < end - start


def arange_kernel(
    start: Any = 0, end: Any = 0, step: Any = 1, dtype: int | None = None, device: Device | None = None
) -> Tensor:
    """`start`, `start + step`, ... before `end`; integers give int64."""
    if dtype is None and device is None and _are_ints_ahead(start, end, step):
        return wrap(np.arange(start, end, step, dtype=np.int64))
    check_device(device)
    numbers = (start, end, step)
    if any(isinstance(n, complex) for n in numbers):
        raise RuntimeError('"arange" not implemented for complex numbers; take real bounds')
    asked = None if dtype is None else by_code(dtype)
    if asked is not None and asked.is_integral and np.isfinite(list(map(float, numbers))).all():
        start, end, step = numbers = (int(start), int(end), int(step))
    whole = all(isinstance(n, int) for n in numbers)
    target = asked or (int64 if whole else defaults.float_dtype())
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
    start, end = _numbers(name, start, end)
    is_complex = isinstance(start, complex) or isinstance(end, complex)
    target = chosen(dtype, defaults.float_dtype().to_complex() if is_complex else None)
    if is_complex and not target.is_complex:
        raise RuntimeError(
            f"{name}(): inferred dtype {target.to_complex()!r} can't be safely cast to passed dtype {target!r}"
        )
    wide = _computed_in(name, target)
    if target.is_integral:
        start, end = int(start), int(end)
    first, last = np.asarray(start, wide)[()], np.asarray(end, wide)[()]
    if steps == 1:
        return np.asarray([first], wide), target
    index = np.arange(steps)
    step = (last - first) / np.asarray(max(steps - 1, 1), wide)[()] if steps > 1 else first
    low = first + step * index.astype(wide)
    high = last - step * (steps - 1 - index).astype(wide)
    return np.where(index < steps // 2, low, high), target


def _numbers(name: str, start: Any, end: Any) -> tuple[Any, Any]:
    """Both ends as numbers. Raises RuntimeError for tensors that are not 0-dimensional."""
    ranks = [x._array.ndim if isinstance(x, Tensor) else 0 for x in (start, end)]
    if any(ranks):
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got start with {ranks[0]} dimension(s) "
            f"and end with {ranks[1]} dimension(s)."
        )
    start = start.item() if isinstance(start, Tensor) else start
    return start, end.item() if isinstance(end, Tensor) else end


def _computed_in(name: str, target: DType) -> np.dtype[Any]:
    """The dtype to compute evenly spaced numbers in: double precision, but single for a single `linspace`."""
    is_single = target.name == "complex64" or (target.itemsize == 4 and not target.is_integral)
    if name == "linspace" and is_single:
        return target.numpy
    return np.dtype(np.complex128 if target.is_complex else np.float64)


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


def _arange_dtype(end: Any, start: Any = 0, step: Any = 1, dtype: Any = None) -> DType | None:
    if dtype is UNKNOWN or (dtype is None and UNKNOWN in (start, end, step)):
        return None
    if dtype is not None:
        return by_code(dtype)
    whole = all(isinstance(n, int | IntType | BoolType) for n in (start, end, step))
    return int64 if whole else defaults.float_dtype()


def _arange_shape(end: Any, start: Any = 0, step: Any = 1, dtype: Any = None) -> Sizes:
    if not all(isinstance(n, int) for n in (start, end, step)) or step == 0:
        return (None,)
    return (len(range(start, end, step)),)


declare(
    f"aten::arange(Scalar end, *, {OPTIONS}) -> Tensor",
    f"aten::arange.start(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor",
    f"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor",
    kernel=arange_kernel,
    on_tensors=True,
    family="creation",
    dtype=_arange_dtype,
    shape=_arange_shape,
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
    dtype=default_dtype,
    shape=lambda start: (None,),
    is_method=False,
    traits=Traits(instead="arange, which leaves the end out"),
    doc="Like `arange` but with the end included and a float result.",
    samples=lambda: (Sample(args=(1, 4)),),
)


def _spaced_dtype(start: Any, end: Any, dtype: Any) -> DType | None:
    """The default dtype, or the complex one if either end is complex."""
    if dtype is not None:
        return options_dtype(dtype)
    kinds = [_kind(start), _kind(end)]
    if None in kinds:
        return None
    is_complex = any(k is not None and k.is_complex for k in kinds)
    return defaults.float_dtype().to_complex() if is_complex else defaults.float_dtype()


def _kind(bound: Any) -> DType | None:
    if isinstance(bound, TensorType):
        return bound.dtype
    operand = operand_of(bound)
    return None if operand is None else operand[1]


def _spaced_samples() -> Iterable[Sample]:
    return (Sample(args=(0, 1, 5)), Sample(args=(3, -2.5, 4)), Sample(args=(1, 2, 1)))


for _name, _extra, _kernel, _version in (
    ("linspace", "", linspace_kernel, 8), ("logspace", ", float base=10.", logspace_kernel, 9)
):  # fmt: skip
    for _overload, _start, _end in (
        ("", "Scalar", "Scalar"),
        (".Tensor_Tensor", "Tensor", "Tensor"),
        (".Tensor_Scalar", "Tensor", "Scalar"),
        (".Scalar_Tensor", "Scalar", "Tensor"),
    ):
        declare(
            f"aten::{_name}{_overload}({_start} start, {_end} end, int steps{_extra}, *, {OPTIONS}) -> Tensor",
            kernel=_kernel,
            traits=Traits(archive_version=_version),
            on_tensors=True,
            family="creation",
            dtype=_spaced_dtype,
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
