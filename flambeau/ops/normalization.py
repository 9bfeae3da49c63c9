"""Normalisation over trailing dimensions (layer, rms) and within groups of channels (group).

Statistics are taken in two passes, in float32 for small floats, so that a large mean does not swallow the variance.
"""

# ruff: noqa: N803  # the schema's own argument names
from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import prod
from typing import Any, Final

from flambeau.ops.channels_last import keeps_channels_last
from flambeau.ops.families.arrays import (
    Array,
    contiguous,
    dtype_of,
    is_inexact,
    not_implemented,
    reduce_with,
    rounded,
    widened,
)
from flambeau.ops.families.half_precision import in_float32
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import input_dtype, input_shape
from flambeau.schema.dtype import DType, bfloat16, float16, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Role, Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import CHANNEL_NORM, GROUP_NORM

ULP: Final = {float16: 4.0, bfloat16: 4.0, float32: 64.0, float64: 64.0}


def standardised(array: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array, Array]:
    """`(x - mean) / sqrt(variance + eps)`, the mean and the reciprocal of the root; the last two keep their
    dimensions.
    """
    with np.errstate(all="ignore"):
        count = array.dtype.type(prod(array.shape[a] for a in axes))
        mean = reduce_with(np.add, array, axis=axes, keepdims=True) / count
        centred = array - mean
        variance = reduce_with(np.add, centred * centred, axis=axes, keepdims=True) / count
        scale = array.dtype.type(1) / np.sqrt(variance + array.dtype.type(eps))
        return centred * scale, mean, scale


def check_normalized_shape(
    input: Array, shape: Sequence[int], weight: Array | None, bias: Array | None, star: str
) -> int:
    """The first normalised dimension. Raises RuntimeError for sizes that do not fit."""
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            f"normalized_shape = {list(shape)}"
        )
    for name, array in (("weight", weight), ("bias", bias)):
        if array is not None and array.shape != tuple(shape):
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(array.shape)} "
                f"and normalized_shape = {list(shape)}"
            )
    start = input.ndim - len(shape)
    if start < 0 or input.shape[start:] != tuple(shape):
        wanted = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}{wanted}], but got input of "
            f"size{list(input.shape)}"
        )
    return start


def check_parameters(kernel: str, input: Array, *parameters: Array | None) -> None:
    """Raise NotImplementedError for integers, RuntimeError for parameters of another dtype (float32 goes with
    halves).
    """
    if not is_inexact(input):
        raise not_implemented(kernel, dtype_of(input))
    for one in parameters:
        is_mixed = input.dtype.itemsize == 2 and one is not None and one.dtype == np.float32
        if one is not None and one.dtype != input.dtype and not is_mixed:
            raise RuntimeError(f"mixed dtype (CPU): expect parameter to have scalar type of {dtype_of(input).display}")


def native_layer_norm_kernel(
    input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """The result, the means and the reciprocal standard deviations."""
    start = check_normalized_shape(input, normalized_shape, weight, bias, "*, ")
    check_parameters("LayerNormKernelImpl", input, weight, bias)
    result, mean, scale = standardised(widened(input), tuple(range(start, input.ndim)), eps)
    result = with_affine(result, weight, bias)
    kept = dtype_of(input if weight is None else weight).numpy
    return (
        contiguous(rounded(result, input.dtype)),
        contiguous(mean.astype(kept, copy=False)),
        contiguous(scale.astype(kept, copy=False)),
    )


def with_affine(array: Array, weight: Array | None, bias: Array | None) -> Array:
    """Times weight plus bias, where given."""
    if weight is not None:
        array = array * widened(weight)
    if bias is not None:
        array = array + widened(bias)
    return array


def layer_norm_kernel(
    input: Array, normalized_shape: Sequence[int], weight: Array | None = None, bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:  # fmt: skip
    """Only the result."""
    return native_layer_norm_kernel(input, normalized_shape, weight, bias, eps)[0]


def rms_norm_kernel(
    input: Array, normalized_shape: Sequence[int], weight: Array | None = None, eps: float | None = None
) -> Array:
    """`x / sqrt(mean(x^2) + eps)`; `eps` is the spacing of floats at one by default."""
    start = check_normalized_shape(input, normalized_shape, weight, None, "*")
    if not is_inexact(input):
        raise not_implemented("rms_norm", dtype_of(input))
    wide = widened(input)
    axes = tuple(range(start, input.ndim))
    square = reduce_with(np.add, wide * wide, axis=axes, keepdims=True)
    count = square.dtype.type(prod(normalized_shape))
    spacing = np.finfo(square.real.dtype).eps if eps is None else eps
    with np.errstate(all="ignore"):
        result = wide / np.sqrt(square / count + square.dtype.type(spacing))
    if weight is not None:
        result = result * widened(weight)
    return contiguous(rounded(result, input.dtype))


def _standardised_rows(rows: Array, eps: float) -> tuple[Array, Array, Array]:
    """The same of each row (1, rows, elements), by native code where there is some."""
    if rows.shape[-1] > 1 and is_host_array(rows):
        native = CHANNEL_NORM.implementation(rows, None, None, eps)
        if native is not None:
            return native[0], native[1], native[3]
    return standardised(rows, (2,), eps)


def native_group_norm_kernel(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Array, Array, Array]:
    """The result, and means and reciprocal standard deviations per group."""
    if C % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={group}"
        )
    for name, one in (("weight", weight), ("bias", bias)):
        if one is not None and (one.ndim != 1 or one.size != C):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} "
                f"of shape "
                f"{list(one.shape)} and input of shape {list(input.shape)}"
            )
    check_parameters("GroupNormKernelImpl", input, weight, bias)
    result, mean, scale = _standardised_rows(widened(input).reshape(1, N * group, (C // group) * HxW), eps)
    shape = (1, C) + (1,) * (input.ndim - 2)
    result = with_affine(
        result.reshape(input.shape),
        None if weight is None else weight.reshape(shape),
        None if bias is None else bias.reshape(shape),
    )
    kept = dtype_of(input if weight is None else weight).numpy
    return (
        contiguous(rounded(result, input.dtype)),
        mean.reshape(N, group).astype(kept, copy=False),
        scale.reshape(N, group).astype(kept, copy=False),
    )


def group_norm_kernel(
    input: Array, num_groups: int, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5
) -> Array:
    """Channels are dimension 1; every sample is normalised within each of `num_groups` groups of them."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    samples, channels = input.shape[:2]
    if not input.size:
        return np.empty(input.shape, input.dtype)
    if is_host_array(input):
        native = _native_groups(input, weight, bias, num_groups, eps)
        if native is not None:
            return native
    rest = prod(input.shape[2:])
    return native_group_norm_kernel(input, weight, bias, samples, channels, rest, num_groups, eps)[0]


@partial(in_float32, mixed=True)
def _native_groups(input: Array, weight: Array | None, bias: Array | None, groups: int, eps: float) -> Array | None:
    """The result by native code; None where there is none for such arrays."""
    result: Array | None = GROUP_NORM.implementation(input, weight, bias, groups, eps)
    return result


def layer_norm_shapes(input: TensorType, normalized_shape: Any) -> tuple[Sizes | None, ...]:
    """The input's sizes, and twice the same with ones in place of what is normalised."""
    if input.sizes is None or not isinstance(normalized_shape, list | tuple):
        return (input.sizes, None, None)
    start = len(input.sizes) - len(normalized_shape)
    kept = tuple(s if i < start else 1 for i, s in enumerate(input.sizes))
    return (input.sizes, kept, kept)


def three_dtypes(input: TensorType, weight: Any) -> tuple[DType | None, ...]:
    """The input's dtype, and twice that of the parameters."""
    kept = weight.dtype if isinstance(weight, TensorType) else input.dtype if weight is None else None
    return (input.dtype, kept, kept)


def _rows(*sizes: int) -> Tensor:
    count = prod(sizes)
    return wrap(((np.arange(count, dtype=np.float32) * 29 % 17) / 4 - 2).reshape(sizes))


def layer_norm_samples() -> Iterable[Sample]:
    """One and two trailing dimensions, with and without parameters, a large mean, nothing."""
    yield Sample(args=(_rows(2, 3), [3]))
    yield Sample(args=(_rows(4, 2, 3), [2, 3], _rows(2, 3), _rows(2, 3)))
    yield Sample(args=(wrap(np.array([[4096, 4097, 4098]], np.float32)), [3]), note="large mean")
    yield Sample(args=(_rows(0, 3), [3]), note="zero-size")


def layer_norm_errors() -> Iterable[ErrorSample]:
    """Sizes that do not fit, integers."""
    yield ErrorSample(
        args=(_rows(2, 3), [4]),
        error=RuntimeError,
        message="Given normalized_shape=[4], expected input with shape [*, 4], but got input of size[2, 3]",
    )
    yield ErrorSample(
        args=(wrap(np.ones((2, 2), np.int64)), [2]),
        error=NotImplementedError,
        message="\"LayerNormKernelImpl\" not implemented for 'Long'",
    )


def layer_norm_reference(input: Array, shape: Sequence[int], weight: Any = None, bias: Any = None) -> Array:
    """By the definition, in float64."""
    wide = input.astype(np.float64)
    axes = tuple(range(-len(shape), 0))
    with np.errstate(all="ignore"):
        result = (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + 1e-5)
    return np.asarray(result * (1 if weight is None else weight) + (0 if bias is None else bias))


declare(
    "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
    kernel=layer_norm_kernel,
    traits=Traits(role=Role.NORMALISATION),
    family="row",
    accumulator="layer_norm",
    doc="Trailing dimensions shifted and scaled to mean 0 and variance 1, then times weight plus bias.",
    dtype=input_dtype,
    shape=input_shape,
    samples=layer_norm_samples,
    errors=layer_norm_errors,
    reference=layer_norm_reference,
    ulp=ULP,
    is_method=False,
)

declare(
    "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"
    " -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=native_layer_norm_kernel,
    differentiable=(True, False, False),
    family="row",
    accumulator="layer_norm",
    dtype=three_dtypes,
    shape=layer_norm_shapes,
    samples=lambda: [Sample(args=(_rows(2, 3), [3], None, None, 1e-5))],
    ulp=ULP,
    is_method=False,
)

declare(
    "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    kernel=rms_norm_kernel,
    family="row",
    accumulator="rms_norm",
    doc="Trailing dimensions divided by the root of their mean square, then times weight.",
    dtype=input_dtype,
    shape=input_shape,
    samples=lambda: [Sample(args=(_rows(2, 3), [3])), Sample(args=(_rows(2, 3), [3], _rows(3), 1e-3))],
    errors=lambda: [
        ErrorSample(args=(_rows(2, 3), [4]), error=RuntimeError, message="Given normalized_shape=[4], expected input")
    ],
    reference=lambda input, shape, weight=1, eps=1.1920929e-07: (
        input / np.sqrt((input.astype(np.float64) ** 2).mean(-1, keepdims=True) + eps) * weight
    ),
    ulp=ULP,
    is_method=False,
)

declare(
    "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
    kernel=keeps_channels_last(group_norm_kernel),
    traits=Traits(role=Role.NORMALISATION, has_routine=True),
    doc="Every sample normalised within groups of channels (dimension 1), then times weight plus bias per channel.",
    dtype=input_dtype,
    shape=input_shape,
    samples=lambda: [Sample(args=(_rows(2, 4, 3), 2)), Sample(args=(_rows(2, 4, 3, 2), 1, _rows(4), _rows(4)))],
    errors=lambda: [
        ErrorSample(
            args=(_rows(1, 3, 2), 2),
            error=RuntimeError,
            message="Expected number of channels in input to be divisible by num_groups, but got input of",
        )
    ],
    ulp=ULP,
    is_method=False,
)

declare(
    "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    outs=("out",),
    kernel=native_group_norm_kernel,
    dtype=three_dtypes,
    shape=lambda input: (input.sizes, (None, None), (None, None)),
    samples=lambda: [Sample(args=(_rows(2, 4, 3), None, None, 2, 4, 3, 2, 1e-5))],
    ulp=ULP,
    is_method=False,
)
