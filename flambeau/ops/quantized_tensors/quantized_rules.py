"""What operators of other tensors give for quantised ones, with their scale: on the integers where that can be, else by
the numbers that they stand for, requantised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.quantized_tensors.quantized_kernels import NO_KERNEL, QUANTIZED_RULES, moved
from flambeau.schema.opdef import OpDef, named_arguments
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

NOT_QUANTIZED: Final = "{name} takes quantised tensors with one scale each: quantize_per_tensor makes one"

QUANTIZED_RULES(
    "aten::cat", "aten::stack", "aten::flip", "aten::index_select", "aten::index", "aten::repeat", "aten::clone",
    "aten::contiguous", "aten::max_pool2d", "aten::max_pool1d", "aten::max_pool3d", "aten::sort", "aten::topk",
    "aten::max", "aten::min", "aten::argsort", "aten::argmax", "aten::argmin", "aten::flatten", "aten::reshape",
    "aten::unfold", "aten::channel_shuffle", "aten::pixel_shuffle", "aten::masked_select",
    "aten::empty_like",
)(moved)  # fmt: skip


def uniform(tensor: Any, name: str) -> PerTensor:
    """The scale and zero point of a quantised tensor. Raises RuntimeError for other tensors."""
    if not isinstance(tensor, QuantizedTensor) or not isinstance(tensor.quantizer, PerTensor):
        raise RuntimeError(NOT_QUANTIZED.format(name=name))
    return tensor.quantizer


def no_less(array: Array, least: Any) -> Array:
    """The elements, or where they are less a number. NumPy compares with arrays by vectors, with numbers one by one."""
    return np.maximum(array, np.full_like(array, least))


@QUANTIZED_RULES("aten::relu", "aten::relu_")
def _relu(definition: OpDef, arguments: Sequence[Any]) -> Any:
    (tensor,) = arguments
    zero = uniform(tensor, definition.name).zero_point
    result = no_less(integers_of(tensor), zero)
    return _placed(definition, tensor, result)


def _placed(definition: OpDef, tensor: QuantizedTensor, integers: Array) -> QuantizedTensor:
    """Integers in place of those of a tensor, in its own memory if the operator writes."""
    if not definition.schema.is_mutable:
        return from_integers(integers, tensor.dtype, tensor.quantizer)
    integers_of(tensor)[...] = integers
    tensor.bump_version()
    return tensor


@QUANTIZED_RULES("aten::clamp", "aten::clamp_", "aten::hardtanh", "aten::hardtanh_", "aten::relu6", "aten::relu6_")
def _clamped(definition: OpDef, arguments: Sequence[Any]) -> Any:
    tensor = arguments[0]
    named = named_arguments(definition, arguments)
    quantizer = uniform(tensor, definition.name)
    has_bounds = len(arguments) > 1
    bounds = [named.get(n, named.get(f"{n}_val")) if has_bounds else d for n, d in (("min", 0.0), ("max", 6.0))]
    if any(isinstance(b, Tensor) for b in bounds):
        raise NotImplementedError(NO_KERNEL.format(name=definition.full_name, dtype=tensor.dtype))
    least, most = [None if b is None else integer_next_to(float(b), tensor, quantizer) for b in bounds]
    result = integers_of(tensor)
    result = result if least is None else np.maximum(result, least)
    return _placed(definition, tensor, result.copy() if most is None else np.minimum(result, most))


def integer_next_to(number: float, like: QuantizedTensor, quantizer: PerTensor) -> Any:
    return integers_of(quantized(np.array([number], np.float32), like.dtype, quantizer))[0]


@QUANTIZED_RULES("aten::threshold")
def _threshold(definition: OpDef, arguments: Sequence[Any]) -> Any:
    tensor, least, value = arguments
    quantizer = uniform(tensor, definition.name)
    real = real_values(tensor)
    return quantized(np.where(real > np.float32(least), real, np.float32(value)), tensor.dtype, quantizer)


@QUANTIZED_RULES(
    "aten::avg_pool2d", "aten::avg_pool3d", "aten::adaptive_avg_pool2d", "aten::adaptive_avg_pool3d",
    "aten::adaptive_avg_pool1d", "aten::avg_pool1d", "aten::mean", "aten::upsample_nearest2d",
    "aten::upsample_bilinear2d", "aten::leaky_relu", "aten::masked_fill", "aten::prelu",
)  # fmt: skip
def by_numbers(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """What an operator gives for the numbers that the elements stand for, with the same scale and zero point."""
    tensor = next(a for a in arguments if isinstance(a, QuantizedTensor))
    quantizer = uniform(tensor, definition.name)
    plain = [wrap(real_values(a)) if isinstance(a, QuantizedTensor) else a for a in arguments]
    return quantized(definition.kernel(*plain)._array, tensor.dtype, quantizer)


@QUANTIZED_RULES("aten::sigmoid", "aten::hardsigmoid")
def _sigmoid(definition: OpDef, arguments: Sequence[Any]) -> Any:
    return _with_range(definition, arguments, 1.0 / 256, 0)


@QUANTIZED_RULES("aten::tanh")
def _tanh(definition: OpDef, arguments: Sequence[Any]) -> Any:
    return _with_range(definition, arguments, 2.0 / 256, 128)


def _with_range(definition: OpDef, arguments: Sequence[Any], scale: float, zero_point: int) -> Any:
    """A function with a known range, which gives the scale; the zero point is that of quint8."""
    (tensor,) = arguments
    uniform(tensor, definition.name)
    zero_point -= 128 if tensor.dtype.is_signed else 0
    result = definition.kernel(wrap(real_values(tensor)))._array
    return quantized(result, tensor.dtype, PerTensor(scale, zero_point))


@QUANTIZED_RULES("aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge")
def _compared(definition: OpDef, arguments: Sequence[Any]) -> Any:
    return definition.kernel(*[wrap(real_values(a)) if isinstance(a, QuantizedTensor) else a for a in arguments])


@QUANTIZED_RULES("aten::item", "aten::_local_scalar_dense", "aten::Float", "aten::FloatImplicit")
def _element(definition: OpDef, arguments: Sequence[Any]) -> float:
    return arguments[0].item()  # type: ignore[no-any-return]


@QUANTIZED_RULES("aten::copy_")
def _written(definition: OpDef, arguments: Sequence[Any]) -> Any:
    target, source = arguments[:2]
    if not isinstance(target, QuantizedTensor):
        raise RuntimeError("copy_ does not put a quantised tensor into one of numbers: dequantize() it first")
    if isinstance(source, QuantizedTensor):
        if source.dtype is not target.dtype:
            raise RuntimeError("Quantized Copy only works with same quantized dtype")
        integers_of(target)[...] = integers_of(source)
        target.quantizer = source.quantizer
    else:
        numbers = np.broadcast_to(source._array.astype(np.float32), target._array.shape)
        integers_of(target)[...] = integers_of(quantized(numbers, target.dtype, target.quantizer))
    target.bump_version()
    return target


@QUANTIZED_RULES("aten::fill_", "aten::zero_")
def _filled(definition: OpDef, arguments: Sequence[Any]) -> Any:
    target, value = arguments[0], arguments[1] if len(arguments) > 1 else 0.0
    numbers = np.full(target._array.shape, float(value), np.float32)
    return _placed(definition, target, integers_of(quantized(numbers, target.dtype, target.quantizer)))


@QUANTIZED_RULES("aten::to", "aten::cpu")
def _converted(definition: OpDef, arguments: Sequence[Any]) -> Any:
    tensor, named = arguments[0], named_arguments(definition, arguments)
    wanted = named.get("dtype")
    if wanted is not None and wanted != tensor.dtype.code:
        raise RuntimeError(f"a tensor of {tensor.dtype} is not converted to another dtype: call dequantize() first")
    return tensor


@QUANTIZED_RULES("aten::equal")
def _equal(definition: OpDef, arguments: Sequence[Any]) -> bool:
    a, b = arguments
    if not isinstance(a, QuantizedTensor) or not isinstance(b, QuantizedTensor) or a.dtype is not b.dtype:
        return False
    if isinstance(a.quantizer, PerTensor) or isinstance(b.quantizer, PerTensor):
        return a.quantizer == b.quantizer and np.array_equal(integers_of(a), integers_of(b))
    return np.array_equal(real_values(a), real_values(b)) and a.quantizer.axis == b.quantizer.axis
