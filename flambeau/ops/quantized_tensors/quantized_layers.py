"""Linear layers of quantised tensors: sums of products of integers, requantised.

The sums are exact. The product of the scales over that of the result is one float32 per channel; the bias is added in
float32 before it, and what comes out is rounded to the nearest integer, ties to even.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.quantized_tensors.quantized_kernels import declare
from flambeau.ops.quantized_tensors.quantized_packing import LINEAR, PackedLinear, checked_weight
from flambeau.ops.quantized_tensors.quantized_rules import uniform
from flambeau.ops.quantized_tensors.quantized_values import per_tensor
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.opaque_objects import METHODS
from flambeau.tensor.quantized import Array, PerChannel, PerTensor, QuantizedTensor, from_integers, integers_of
from flambeau.tensor.tensor import Tensor, wrap

NOT_PACKED: Final = "{name} takes a weight that {name}_prepack made for it, got one of {kind}"
WRONG_INPUT: Final = "{name} takes a quantised tensor, got one of {dtype}: quantize_per_tensor makes one"


def centred(tensor: Tensor, quantizer: PerTensor | PerChannel) -> Array:
    """The integers above their zero point, as float64: sums of products of such are exact."""
    _, zero_point = quantizer.factors(tensor._array.ndim)
    centred_: Array = integers_of(tensor).astype(np.float64) - zero_point
    return centred_


def weight_scales(weight: Any) -> Array:
    """The scale of each channel of a weight, or one for all."""
    quantizer = weight.quantizer
    scales = quantizer.scales if isinstance(quantizer, PerChannel) else [quantizer.scale]
    return np.asarray(scales, np.float32)


def requantized(
    sums: Array, scales: Array, bias: Array | None, result: PerTensor, like: QuantizedTensor, has_relu: bool
) -> QuantizedTensor:
    """Sums whose channels are the last axis, where `scales` is what one of each channel stands for."""
    limits = np.iinfo(like.dtype.representation.numpy)
    real: Array = sums.astype(np.float32)
    if bias is not None:
        real += bias.astype(np.float32) / scales
    real *= scales / np.float32(result.scale)
    np.rint(real, out=real)
    least = max(limits.min, result.zero_point) if has_relu else limits.min
    if like.dtype.itemsize == 1:  # what is not exact in float32 is beyond the limits
        real += np.float32(result.zero_point)
        return from_integers(np.clip(real, least, limits.max, out=real), like.dtype, result)
    levels = real.astype(np.float64) + result.zero_point
    return from_integers(np.clip(levels, least, limits.max), like.dtype, result)


def requantizing(
    scales: Array, bias: Array | None, result: PerTensor, like: QuantizedTensor, has_relu: bool
) -> dict[str, Any]:
    """What `requantized` does with sums, as native code takes it."""
    limits = np.iinfo(like.dtype.representation.numpy)
    least = max(limits.min, result.zero_point) if has_relu else limits.min
    return {
        "offset": None if bias is None else bias.astype(np.float32) / scales,
        "scales": scales / np.float32(result.scale), "levels": (result.zero_point, least, limits.max),
    }  # fmt: skip


def bias_of(tensor: Tensor | None) -> Array | None:
    return None if tensor is None else tensor._array


def _linear(name: str, has_relu: bool) -> Callable[..., Any]:
    def kernel(x: Any, prepacked: Any, scale: float, zero_point: int) -> QuantizedTensor:
        packed = _packed_linear(name, prepacked)
        if not isinstance(x, QuantizedTensor):
            raise RuntimeError(WRONG_INPUT.format(name=name, dtype=x.dtype))
        quantizer, weight = uniform(x, name), checked_weight(packed.weight)
        _check_features(name, x, weight)
        scales = np.float32(quantizer.scale) * weight_scales(weight)
        after = PerTensor(float(scale), int(zero_point))
        panels = packed.panels if x.dtype.itemsize == 1 and x._array.size else None
        if panels is not None:
            rows = panels.rows_of(integers_of(x), quantizer.zero_point)
            dtype = x.dtype.representation.numpy
            levels = panels.multiply(rows, dtype, **requantizing(scales, bias_of(packed.bias), after, x, has_relu))
            return from_integers(levels.reshape(*x._array.shape[:-1], -1), x.dtype, after)
        sums = centred(x, quantizer) @ centred(weight, weight.quantizer).T
        return requantized(sums, scales, bias_of(packed.bias), after, x, has_relu)

    return kernel


def _packed_linear(name: str, packed: Any) -> PackedLinear:
    if not isinstance(packed, PackedLinear):
        raise RuntimeError(NOT_PACKED.format(name=name, kind=type(packed).__name__))
    return packed


def _check_features(name: str, x: Tensor, weight: Tensor) -> None:
    if x._array.ndim < 1 or x._array.shape[-1] != weight._array.shape[1]:
        sizes, features = list(x._array.shape), weight._array.shape[1]
        raise RuntimeError(f"{name}: the input has sizes {sizes}, and the weight takes {features} features")


def unpacked(packed: Any) -> tuple[Tensor, Tensor | None]:
    return packed.weight, packed.bias


def _prepacked_half(weight: Any, bias: Any) -> PackedLinear:
    """The weight as float16, what is beyond its range at the end of it."""
    limits = np.finfo(np.float16)
    half = np.clip(weight._array, limits.min, limits.max).astype(np.float16).astype(np.float32)
    return PackedLinear(wrap(half), bias)


def numbers(*sizes: int) -> Tensor:
    return wrap(np.linspace(-1, 1, int(np.prod(sizes)), dtype=np.float32).reshape(sizes))


def small_inputs(*sizes: int) -> QuantizedTensor:
    return per_tensor(numbers(*sizes), 0.01, 100, 13)


def small_weight(*sizes: int) -> QuantizedTensor:
    return per_tensor(numbers(*sizes), 0.01, 0, 12)


declare(
    f"quantized::linear_prepack(Tensor W, Tensor? B=None) -> {LINEAR} W_prepack",
    lambda weight, bias: PackedLinear(checked_weight(weight), bias),
    "A weight of qint8 and a bias, packed for `linear`.",
    samples=lambda: [Sample(args=(small_weight(2, 3),))],
    errors=lambda: [ErrorSample(args=(numbers(2, 3),), error=RuntimeError, message="expected a weight of qint8")],
)
declare(
    f"quantized::linear_prepack_fp16(Tensor W, Tensor? B=None) -> {LINEAR} W_prepack",
    _prepacked_half,
    "A weight as float16 and a bias, packed for `linear_dynamic_fp16`.",
    samples=lambda: [Sample(args=(numbers(2, 3),))],
)
for _suffix in ("", "_fp16"):
    declare(
        f"quantized::linear_unpack{_suffix}({LINEAR} W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
        unpacked,
        "The weight and the bias.",
        samples=lambda: [Sample(args=(PackedLinear(small_weight(2, 3), None),))],
    )
for _suffix in ("", "_relu"):
    declare(
        f"quantized::linear{_suffix}(Tensor X, {LINEAR} W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y",
        _linear(f"linear{_suffix}", bool(_suffix)),
        "A linear layer of a quantised tensor" + (", negative numbers as 0." if _suffix else "."),
        samples=lambda: [Sample(args=(small_inputs(2, 3), PackedLinear(small_weight(2, 3), numbers(2)), 0.1, 10))],
        errors=lambda: [
            ErrorSample(
                args=(numbers(2, 3), PackedLinear(small_weight(2, 3), None), 0.1, 10),
                error=RuntimeError,
                message="takes a quantised tensor",
            ),
            ErrorSample(
                args=(small_inputs(2, 4), PackedLinear(small_weight(2, 3), None), 0.1, 10),
                error=RuntimeError,
                message="takes 3 features",
            ),
        ],
    )
METHODS[LINEAR, "unpack"] = "quantized::linear_unpack"
