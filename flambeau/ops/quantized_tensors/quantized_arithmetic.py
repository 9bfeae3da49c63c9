"""Arithmetic of quantised tensors whose result has a scale and a zero point of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ops.quantized_tensors.quantized_kernels import declare
from flambeau.ops.quantized_tensors.quantized_rules import integer_next_to, no_less, uniform
from flambeau.ops.quantized_tensors.quantized_values import per_tensor
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.quantized import (
    Array,
    PerTensor,
    QuantizedTensor,
    from_integers,
    integers_of,
    quantized,
    real_values,
)
from flambeau.tensor.tensor import Tensor, wrap


def _result(real: Array, like: Any, scale: float, zero_point: int) -> QuantizedTensor:
    return quantized(real.astype(np.float32, copy=False), like.dtype, PerTensor(float(scale), int(zero_point)))


def _binary(name: str, function: Callable[[Array, Array], Array], has_relu: bool) -> Callable[..., Any]:
    def kernel(qa: Any, qb: Any, scale: float, zero_point: int) -> QuantizedTensor:
        uniform(qa, name), uniform(qb, name)
        if qa.dtype is not qb.dtype:
            raise RuntimeError(f"{name} takes two tensors of one dtype, got {qa.dtype} and {qb.dtype}")
        real = function(real_values(qa), real_values(qb))
        return _result(no_less(real, np.float32(0)) if has_relu else real, qa, scale, zero_point)

    return kernel


def _added_number(tensor: Any, number: float, has_relu: bool) -> QuantizedTensor:
    """A number added by moving the zero point; where it would leave the integers, with a wider scale."""
    quantizer, limits = uniform(tensor, "add_scalar"), np.iinfo(tensor.dtype.representation.numpy)
    moved_to = quantizer.zero_point - round(float(number) / quantizer.scale)
    span = int(limits.max) - int(limits.min)
    if moved_to < limits.min:
        after = PerTensor((limits.max - moved_to) / span * quantizer.scale, int(limits.min))
    elif moved_to > limits.max:
        after = PerTensor((moved_to - limits.min) / span * quantizer.scale, int(limits.max))
    else:
        result = from_integers(integers_of(tensor).copy(order="K"), tensor.dtype, PerTensor(quantizer.scale, moved_to))
        return _no_negatives(result) if has_relu else result
    levels = (integers_of(tensor).astype(np.int64) - moved_to).astype(np.float32)
    result = quantized(levels * np.float32(quantizer.scale), tensor.dtype, after)
    return _no_negatives(result) if has_relu else result


def _no_negatives(tensor: QuantizedTensor) -> QuantizedTensor:
    zero = uniform(tensor, "relu").zero_point
    return from_integers(no_less(integers_of(tensor), zero), tensor.dtype, tensor.quantizer)


def _times_number(tensor: Any, number: float, has_relu: bool) -> QuantizedTensor:
    """A product with a number, which is a product of the scale; with a negative one the integers are mirrored."""
    quantizer, limits = uniform(tensor, "mul_scalar"), np.iinfo(tensor.dtype.representation.numpy)
    factor, integers = float(number), integers_of(tensor)
    if factor == 0:
        result = from_integers(np.zeros_like(integers), tensor.dtype, PerTensor(1.0, 0))
    elif factor > 0:
        after = PerTensor(quantizer.scale * factor, quantizer.zero_point)
        result = from_integers(integers.copy(order="K"), tensor.dtype, after)
    else:
        ends = int(limits.max) + int(limits.min)
        after = PerTensor(-quantizer.scale * factor, ends - quantizer.zero_point)
        result = from_integers(ends - integers.astype(np.int64), tensor.dtype, after)
    return _no_negatives(result) if has_relu else result


def _joined(name: str, has_relu: bool) -> Callable[..., Any]:
    def kernel(qx: Any, dim: int, scale: float | None, zero_point: int | None) -> QuantizedTensor:
        if not qx:
            raise RuntimeError(f"{name} takes at least one tensor")
        first = uniform(qx[0], name)
        real = np.concatenate([real_values(x) for x in qx if uniform(x, name)], dim)
        chosen = (first.scale if scale is None else scale, first.zero_point if zero_point is None else zero_point)
        return _result(no_less(real, np.float32(0)) if has_relu else real, qx[0], *chosen)

    return kernel


def _leaky(qx: Any, negative_slope: float, inplace: bool, scale: float, zero_point: int) -> QuantizedTensor:
    uniform(qx, "leaky_relu")
    real = real_values(qx)
    return _result(np.where(real > 0, real, real * np.float32(negative_slope)), qx, scale, zero_point)


def _hardswish(input: Any, scale: float, zero_point: int) -> QuantizedTensor:
    uniform(input, "hardswish")
    real = real_values(input)
    return _result(real * np.clip(real + 3, 0, 6) / np.float32(6), input, scale, zero_point)


def _bounded(tensor: Any, least: float | None, most: float | None) -> QuantizedTensor:
    quantizer = uniform(tensor, "clamp")
    result = integers_of(tensor)
    result = result if least is None else np.maximum(result, integer_next_to(float(least), tensor, quantizer))
    result = result.copy() if most is None else np.minimum(result, integer_next_to(float(most), tensor, quantizer))
    return from_integers(result, tensor.dtype, quantizer)


def _example() -> QuantizedTensor:
    return per_tensor(wrap(np.array([[0.5, -1.0], [3.0, 0.25]], np.float32)), 0.25, 10, 13)


def _plain() -> Tensor:
    return wrap(np.ones((2, 2), np.float32))


for _name, _function, _doc in (
    ("add", np.add, "The sum of two quantised tensors, with the scale and zero point that are given."),
    ("mul", np.multiply, "The product of two quantised tensors, with the scale and zero point that are given."),
):
    for _suffix in ("", "_relu"):
        declare(
            f"quantized::{_name}{_suffix}(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
            _binary(_name + _suffix, _function, bool(_suffix)),
            _doc if not _suffix else f"{_doc[:-1]}, negative numbers as 0.",
            samples=lambda: [Sample(args=(_example(), _example(), 0.5, 3))],
            errors=lambda: [
                ErrorSample(args=(_plain(), _example(), 0.5, 3), error=RuntimeError, message="takes quantised tensors")
            ],
        )
for _suffix in ("", "_relu"):
    _relus = bool(_suffix)
    for _overload, _given in (("", "Scalar"), (".Tensor", "Tensor")):
        declare(
            f"quantized::add_scalar{_suffix}{_overload}(Tensor qa, {_given} b) -> Tensor qc",
            lambda qa, b, relus=_relus: _added_number(qa, b, relus),
            "A number added to a quantised tensor: its zero point moves.",
            samples=lambda: [Sample(args=(_example(), 1.0)), Sample(args=(_example(), 1000.0))],
        )
        declare(
            f"quantized::mul_scalar{_suffix}{_overload}(Tensor qa, {_given} b) -> Tensor qc",
            lambda qa, b, relus=_relus: _times_number(qa, b, relus),
            "A quantised tensor times a number: its scale is multiplied.",
            samples=lambda: [Sample(args=(_example(), 2.0)), Sample(args=(_example(), -2.0))],
        )
    declare(
        f"quantized::cat{_suffix}(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
        _joined(f"cat{_suffix}", _relus),
        "Quantised tensors side by side; without a scale, with that of the first.",
        samples=lambda: [Sample(args=([_example(), _example()], 0, 0.5, 3))],
        errors=lambda: [ErrorSample(args=([], 0, 0.5, 3), error=RuntimeError, message="at least one tensor")],
    )
declare(
    "quantized::leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float output_scale, int output_zero_point) "
    "-> Tensor",
    _leaky,
    "x above zero, negative_slope * x below.",
    samples=lambda: [Sample(args=(_example(), 0.1, False, 0.5, 3))],
)
declare(
    "quantized::hardswish(Tensor input, float output_scale, int output_zero_point) -> Tensor",
    _hardswish,
    "x * relu6(x + 3) / 6.",
    samples=lambda: [Sample(args=(_example(), 0.5, 3))],
)
declare(
    "quantized::relu6(Tensor qx, bool inplace=False) -> Tensor",
    lambda qx, inplace: _bounded(qx, 0.0, 6.0),
    "x between 0 and 6.",
    samples=lambda: [Sample(args=(_example(),))],
)
declare(
    "quantized::clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy",
    lambda qx, least, most: _bounded(qx, least, most),
    "x between two bounds.",
    samples=lambda: [Sample(args=(_example(), 0.0, 1.0))],
)
