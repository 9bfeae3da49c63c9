"""Convolutions of quantised tensors: exact sums of products of integers, requantised, channels innermost in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Final

from flambeau.ops.convolution import convolution_kernel
from flambeau.ops.quantized_tensors.quantized_kernels import declare
from flambeau.ops.quantized_tensors.quantized_layers import (
    NOT_PACKED,
    WRONG_INPUT,
    bias_of,
    centred,
    numbers,
    requantized,
    requantizing,
    small_inputs,
    small_weight,
    unpacked,
    weight_scales,
)
from flambeau.ops.quantized_tensors.quantized_packing import (
    CONV,
    MOST_EXACT,
    PACKED,
    PackedConvolution,
    checked_weight,
)
from flambeau.ops.quantized_tensors.quantized_rules import uniform
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.opaque_objects import METHODS
from flambeau.tensor.quantized import Array, PerTensor, QuantizedTensor, from_integers, integers_of
from flambeau.tensor.tensor import Tensor


def _setting(what: str, packed: Any) -> Any:
    """A number of a packed convolution, or a list of them."""
    if what == "transpose":
        return int(packed.transposed)
    value = getattr(packed, what)
    return list(value) if isinstance(value, list) else value


def _unpacked_1d(packed: Any) -> tuple[Tensor, Tensor | None]:
    weight = packed.weight
    return from_integers(integers_of(weight)[:, :, 0], weight.dtype, weight.quantizer), packed.bias


def _check(name: str, x: Any, packed: Any, dims: int) -> None:
    """Raise RuntimeError for operands that do not fit."""
    if not isinstance(packed, PackedConvolution) or packed.dims != max(dims, 2):
        raise RuntimeError(NOT_PACKED.format(name=name, kind=type(packed).__name__))
    if not isinstance(x, QuantizedTensor):
        raise RuntimeError(WRONG_INPUT.format(name=name, dtype=x.dtype))
    if x._array.ndim != dims + 2:
        raise RuntimeError(f"{name} takes a tensor of {dims + 2} dimensions, got sizes {list(x._array.shape)}")


def _convolved(name: str, x: Any, packed: Any, dims: int) -> tuple[Array, QuantizedTensor]:
    """The sums with channels as the last axis, and the input. Raises RuntimeError for operands that do not fit."""
    _check(name, x, packed, dims)
    weight: Any = packed.weight
    inputs, w = centred(x, uniform(x, name)), centred(weight, weight.quantizer)
    if w.shape[1] == 1 and not packed.transposed and x.dtype.itemsize == 1 and prod(w.shape[2:]) <= MOST_EXACT:
        inputs, w = inputs.astype(np.float32), w.astype(np.float32)
    sums = convolution_kernel(
        inputs[:, :, None] if dims == 1 else inputs, w, None, packed.stride, packed.padding, packed.dilation,
        packed.transposed, packed.output_padding, packed.groups,
    )  # fmt: skip
    return np.moveaxis(sums[:, :, 0] if dims == 1 else sums, 1, -1), x


def _quick(
    x: QuantizedTensor, packed: PackedConvolution, quantizer: PerTensor, after: PerTensor, has_relu: bool
) -> QuantizedTensor | None:  # fmt: skip
    """A convolution of one or two dimensions by native code; None where that has none."""
    weight, padding, dilation = packed.weight._array.shape, packed.padding, packed.dilation
    levels = integers_of(x)[:, :, None] if x._array.ndim == 3 else integers_of(x)
    if levels.ndim != 4 or x.dtype.itemsize != 1 or not x._array.size:
        return None
    sizes = [
        (n + 2 * p - d * (w - 1) - 1) // s + 1
        for n, p, d, w, s in zip(levels.shape[2:], padding, dilation, weight[2:], packed.stride, strict=False)
    ]
    channels, fits = levels.shape[1], min(sizes) > 0
    windows = packed.windows if fits and channels == packed.groups > 1 else None
    panels = packed.panels if fits and windows is None and dilation[-1] == 1 and channels == weight[1] else None
    scales = np.float32(quantizer.scale) * weight_scales(packed.weight)
    how = requantizing(scales, bias_of(packed.bias), after, x, has_relu)
    result = np.empty((len(levels), *sizes, weight[0]), x.dtype.representation.numpy)
    images = np.moveaxis(levels, 1, -1)
    if windows is not None:
        windows.convolve(images, quantizer.zero_point, (packed.stride, padding, dilation), result, **how)
    elif panels is not None:
        padded = panels.padded(images, quantizer.zero_point, padding)
        panels.convolve(padded, weight[2], packed.stride, dilation[0], result, **how)
    else:
        return None
    moved = np.moveaxis(result, -1, 1)
    return from_integers(moved[:, :, 0] if x._array.ndim == 3 else moved, x.dtype, after)


def _convolution(name: str, dims: int, has_relu: bool) -> Callable[..., Any]:
    def kernel(qx: Any, packed_weight: Any, scale: float, zero_point: int) -> QuantizedTensor:
        _check(name, qx, packed_weight, dims)
        after = PerTensor(float(scale), int(zero_point))
        quick = _quick(qx, packed_weight, uniform(qx, name), after, has_relu)
        if quick is not None:
            return quick
        sums, x = _convolved(name, qx, packed_weight, dims)
        scales = np.float32(uniform(x, name).scale) * weight_scales(packed_weight.weight)
        result = requantized(sums, scales, bias_of(packed_weight.bias), after, x, has_relu)
        return from_integers(np.moveaxis(np.ascontiguousarray(integers_of(result)), -1, 1), x.dtype, after)

    return kernel


def _numbers(*sequences: Sequence[int]) -> list[list[int]]:
    return [list(one) for one in sequences]


def _prepacked(dims: int) -> Callable[..., Any]:
    def kernel(
        weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> PackedConvolution:  # the numbers are those of the schema
        return _packed(dims, weight, bias, _numbers(stride, padding, dilation, [0] * dims), groups, transposed=False)

    return kernel


def _prepacked_transposed(dims: int) -> Callable[..., Any]:
    def kernel(
        weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int
    ) -> PackedConvolution:
        settings = _numbers(stride, padding, dilation, output_padding)
        return _packed(dims, weight, bias, settings, groups, transposed=True)

    return kernel


def _packed(
    dims: int, weight: Any, bias: Any, settings: list[list[int]], groups: int, *, transposed: bool
) -> PackedConvolution:
    """A packed weight; one of one dimension is one of two, whose first has size 1."""
    checked_weight(weight)
    if weight._array.ndim != dims + 2 or any(len(one) != dims for one in settings):
        raise RuntimeError(
            f"expected a weight of {dims + 2} dimensions and {dims} settings for each of stride, padding and dilation, "
            f"got sizes {list(weight._array.shape)} and {settings[:3]}"
        )
    if dims == 1:
        weight = from_integers(integers_of(weight)[:, :, None], weight.dtype, weight.quantizer)
        settings = [[neutral, *one] for neutral, one in zip((1, 0, 1, 0), settings, strict=True)]
    return PACKED[max(dims, 2)](weight, bias, settings, groups, transposed=transposed)


def _filter(dims: int, *, transposed: bool = False) -> PackedConvolution:
    settings = [[1] * dims, [0] * dims, [1] * dims, [0] * dims]
    return _packed(dims, small_weight(2, 2, *[2] * dims), None, settings, 1, transposed=transposed)


def _image(dims: int) -> QuantizedTensor:
    return small_inputs(1, 2, *[3] * dims)


def _calls_prepack(n: int, *, transposed: bool) -> list[Sample]:
    extra = [[0] * n] if transposed else []
    return [Sample(args=(small_weight(2, 2, *[2] * n), None, [1] * n, [0] * n, *extra, [1] * n, 1))]


def _refused_weights(n: int) -> list[ErrorSample]:
    args = (small_weight(2, 2), None, [1] * n, [0] * n, [1] * n, 1)
    return [ErrorSample(args=args, error=RuntimeError, message="dimensions and")]


def _calls(n: int, *, transposed: bool = False) -> list[Sample]:
    return [Sample(args=(_image(n), _filter(n, transposed=transposed), 0.1, 10))]


def _calls_in_full(n: int) -> list[Sample]:
    return [Sample(args=(_image(n), _filter(n), [1] * n, [0] * n, [1] * n, 1, 0.1, 10))]


def _refused_inputs(n: int) -> list[ErrorSample]:
    args = (numbers(1, 2, *[3] * n), _filter(n), 0.1, 10)
    return [ErrorSample(args=args, error=RuntimeError, message="takes a quantised tensor")]


def _takes_packed(n: int) -> list[Sample]:
    return [Sample(args=(_filter(n),))]


def _in_full(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel with the numbers of the convolution among its arguments, which the packed weight has too."""

    def call(
        qx: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int, scale: float, zero_point: int
    ) -> QuantizedTensor:
        result: QuantizedTensor = kernel(qx, weight, scale, zero_point)
        return result

    return call


_WEIGHT: Final = "Tensor weight, Tensor? bias, int[] stride, int[] padding"
_SETTINGS: Final = (
    ("stride", "int[]"), ("padding", "int[]"), ("dilation", "int[]"), ("output_padding", "int[]"), ("groups", "int"),
    ("transpose", "int"),
)  # fmt: skip


def _declare_prepack(dims: int, packed: str) -> None:
    declare(
        f"quantized::conv{dims}d_prepack({_WEIGHT}, int[] dilation, int groups) -> {packed}",
        _prepacked(dims),
        "A weight of qint8 and a bias, packed for a convolution.",
        samples=partial(_calls_prepack, dims, transposed=False),
        errors=partial(_refused_weights, dims),
    )
    declare(
        f"quantized::conv_transpose{dims}d_prepack({_WEIGHT}, int[] output_padding, int[] dilation, int groups) -> "
        f"{packed}",
        _prepacked_transposed(dims),
        "The same for a transposed convolution.",
        samples=partial(_calls_prepack, dims, transposed=True),
    )


def _declare_convolutions(dims: int, packed: str) -> None:
    for suffix, doc in (("", "."), ("_relu", ", negative numbers as 0.")):
        kernel = _convolution(f"conv{dims}d{suffix}", dims, bool(suffix))
        declare(
            f"quantized::conv{dims}d{suffix}{'' if dims == 1 else '.new'}(Tensor qx, {packed} packed_weight, "
            "float output_scale, int output_zero_point) -> Tensor",
            kernel,
            f"A convolution of a quantised tensor{doc}",
            samples=partial(_calls, dims),
            errors=partial(_refused_inputs, dims),
        )
        if dims > 1:
            declare(
                f"quantized::conv{dims}d{suffix}(Tensor qx, {packed} weight, int[] stride, int[] padding, "
                "int[] dilation, int groups, float output_scale, int output_zero_point) -> Tensor",
                _in_full(kernel),
                samples=partial(_calls_in_full, dims),
            )
    declare(
        f"quantized::conv_transpose{dims}d(Tensor qx, {packed} packed_weight, float output_scale, "
        "int output_zero_point) -> Tensor",
        _convolution(f"conv_transpose{dims}d", dims, False),
        "A transposed convolution of a quantised tensor.",
        samples=partial(_calls, dims, transposed=True),
    )


def _declare_unpack(name: str, dims: int, packed: str) -> None:
    declare(
        f"quantized::{name}{dims}d_unpack({packed} packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)",
        _unpacked_1d if dims == 1 else unpacked,
        "The weight and the bias.",
        samples=partial(_takes_packed, dims),
    )
    for what, kind in _SETTINGS if dims > 1 else ():
        declare(
            f"quantized::{name}{dims}d_{what}({packed} packed_weights) -> {kind}",
            partial(_setting, what),
            f"The {what.replace('_', ' ')} of a convolution with packed weights.",
            samples=partial(_takes_packed, dims),
        )


for _dims in (1, 2, 3):
    _packed_type = CONV[max(_dims, 2)]
    _declare_prepack(_dims, _packed_type)
    _declare_convolutions(_dims, _packed_type)
    for _name in ("conv", "conv_transpose"):
        _declare_unpack(_name, _dims, _packed_type)
    for _what in ("unpack", *(what for what, _ in _SETTINGS)) if _dims > 1 else ():
        METHODS[_packed_type, _what] = f"quantized::conv{_dims}d_{_what}"
