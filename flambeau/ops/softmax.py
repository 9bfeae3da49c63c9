"""Softmax and its logarithm, along one dimension. Stable: the largest element of a row is subtracted first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from flambeau.ops.families.arrays import (
    Array,
    as_dtype,
    contiguous,
    dtype_of,
    is_float,
    not_implemented,
    one_dim,
    reduce_with,
    widened,
)
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rows import Row, mapped
from flambeau.ops.families.rules import given_dtype, same_dtype, same_shape
from flambeau.schema.dtype import DType, bfloat16, float16, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import wrap

ULP: Final = {float16: 2.0, bfloat16: 2.0, float32: 16.0, float64: 16.0}


def _checked(name: str, array: Array, dim: int) -> int:
    axis = one_dim(dim, array.ndim)
    if not is_float(array):
        middle = "_lastdim" if axis == max(array.ndim, 1) - 1 else ""
        raise not_implemented(f"{name}{middle}_kernel_impl", dtype_of(array))
    return axis


def softmax_kernel(self: Array, dim: int, dtype: DType | int | None = None) -> Array:
    """Exponentials that sum to one along `dim`. Raises NotImplementedError unless elements are real floats."""
    target = as_dtype(dtype)
    array = self if target is None else cast(self, target)
    own_axis = _checked("softmax", array, dim)
    if not array.size:
        return np.empty(array.shape, array.dtype)
    shifted, axis = _shifted(array, own_axis)
    powers = np.exp(shifted, out=shifted)
    powers /= reduce_with(np.add, powers, axis=axis, keepdims=True)
    return contiguous(powers.astype(array.dtype, copy=False).reshape(array.shape))


def log_softmax_kernel(self: Array, dim: int, dtype: DType | int | None = None) -> Array:
    """The logarithm of softmax, without computing softmax. Raises NotImplementedError unless elements are real
    floats.
    """
    target = as_dtype(dtype)
    array = self if target is None else cast(self, target)
    own_axis = _checked("log_softmax", array, dim)
    if not array.size:
        return np.empty(array.shape, array.dtype)
    shifted, axis = _shifted(array, own_axis)
    with np.errstate(all="ignore"):
        shifted -= np.log(reduce_with(np.add, np.exp(shifted), axis=axis, keepdims=True))
    return contiguous(shifted.astype(array.dtype, copy=False).reshape(array.shape))


def _shifted(array: Array, axis: int) -> tuple[Array, int]:
    """A fresh copy with each row's largest element taken off, and the axis of the rows."""
    wide = widened(array)
    wide = wide.reshape(1) if wide.ndim == 0 else wide
    with np.errstate(all="ignore"):
        largest = reduce_with(np.maximum, wide, axis=axis, keepdims=True)
        return np.subtract(wide, largest, order="C") if is_host_array(wide) else wide - largest, axis


def softmax_rows(ndim: int, dtype: np.dtype[Any], dim: int) -> Row | None:
    """What `softmax` does with rows."""

    def compute(r: Any, x: Any) -> Any:
        powers = np.exp(x - r.fold(np.maximum, x))
        return powers / r.fold(np.add, powers)

    return mapped(ndim, dtype, dim, compute)


def log_softmax_rows(ndim: int, dtype: np.dtype[Any], dim: int) -> Row | None:
    """What `log_softmax` does with rows."""

    def compute(r: Any, x: Any) -> Any:
        shifted = x - r.fold(np.maximum, x)
        return shifted - np.log(r.fold(np.add, np.exp(shifted)))

    return mapped(ndim, dtype, dim, compute)


def low_level(kernel: Any) -> Any:
    """The form with `half_to_float` in place of a dtype, which no CPU has."""

    def run(self: Array, dim: int, half_to_float: bool) -> Array:
        if half_to_float:
            raise RuntimeError("softmax with half to float conversion is not supported on CPU")
        result: Array = kernel(self, dim)
        return result

    return run


def samples() -> Iterable[Sample]:
    """Each dimension, large numbers, a row of -inf, 0-dim and zero-size."""
    rows = np.arange(12, dtype=np.float32).reshape(3, 4) * 7 - 30
    yield Sample(args=(wrap(rows), 1))
    yield Sample(args=(wrap(rows.T), -2), note="not contiguous")
    yield Sample(args=(wrap(np.array([1e30, 0.0, -np.inf], np.float32)), 0), note="large")
    yield Sample(args=(wrap(np.full(2, -np.inf, np.float32)), 0), note="nothing to normalise: nan")
    yield Sample(args=(wrap(np.zeros((), np.float32)), 0), note="0-dim")
    yield Sample(args=(wrap(np.zeros((0, 2), np.float32)), 0), note="zero-size")


def errors(name: str) -> Any:
    """Integers, and a dimension that is not there."""

    def made() -> Iterable[ErrorSample]:
        yield ErrorSample(
            args=(wrap(np.ones(2, np.int64)), 0),
            error=NotImplementedError,
            message=f"\"{name}_lastdim_kernel_impl\" not implemented for 'Long'",
        )
        yield ErrorSample(
            args=(wrap(np.ones(2, np.float32)), 1),
            error=IndexError,
            message="Dimension out of range (expected to be in range",
        )

    return made


def log_softmax_reference(self: Array, dim: int) -> Array:
    """By the definition, in float64."""
    shifted = self.astype(np.float64) - self.max(axis=dim, keepdims=True, initial=-np.inf)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True)))


def softmax_reference(self: Array, dim: int) -> Array:
    """By the definition, in float64."""
    return np.asarray(np.exp(log_softmax_reference(self, dim)))


for _name, _kernel, _rows, _reference, _doc in (
    ("softmax", softmax_kernel, softmax_rows, softmax_reference, "exp(x) / sum(exp(x)) along `dim`."),
    ("log_softmax", log_softmax_kernel, log_softmax_rows, log_softmax_reference, "log(softmax(x)) along `dim`."),
):
    declare(
        f"aten::{_name}.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
        outs=("int_out",),
        kernel=_kernel,
        rows=_rows,
        family="row",
        accumulator=_name,
        doc=_doc,
        dtype=given_dtype,
        shape=same_shape,
        samples=samples,
        errors=errors(_name),
        reference=_reference,
        ulp=ULP,
    )
    declare(
        f"aten::_{_name}(Tensor self, int dim, bool half_to_float) -> Tensor",
        outs=("out",),
        kernel=low_level(_kernel),
        family="row",
        accumulator=_name,
        dtype=same_dtype,
        shape=same_shape,
        ulp=ULP,
        is_method=False,
    )
