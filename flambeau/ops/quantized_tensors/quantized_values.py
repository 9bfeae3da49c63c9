"""Quantised tensors made, read and taken apart."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.quantized_tensors.quantized_kernels import declare
from flambeau.schema.dtype import DType, by_code, float32, float64, int64
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor import layout
from flambeau.tensor.array_library import np
from flambeau.tensor.formats import QScheme
from flambeau.tensor.quantized import (
    Array,
    PerChannel,
    PerTensor,
    QuantizedTensor,
    check_dtype,
    from_integers,
    integers_of,
    quantized,
    real_values,
)
from flambeau.tensor.tensor import Tensor, wrap

NOT_FLOAT: Final = "Quantize only works on Float Tensor, got {got}"
NOT_QUANTIZED: Final = "{name} asks a quantised tensor, got one of {dtype}: quantize_per_tensor makes one"
OUT_OF_RANGE: Final = "zero_point {zero_point} is {side} the range of {dtype}, which is {least} to {most}"
NO_SCALE: Final = "{name} asks a tensor with one scale: this one has a scale per channel (q_per_channel_scales)"
NO_SCALES: Final = "{name} asks a tensor with a scale per channel: this one has one for all (q_scale)"
WRONG_CHANNELS: Final = "length of {what} must equal to channel, expected {wanted} got, {got}"


def _dtype(code: Any) -> DType:
    dtype = code if isinstance(code, DType) else by_code(code)
    check_dtype(dtype)
    return dtype


def _floats(tensor: Tensor) -> Array:
    if isinstance(tensor, QuantizedTensor) or tensor.dtype is not float32:
        raise RuntimeError(NOT_FLOAT.format(got=tensor.dtype.display))
    return tensor._array


def check_zero_points(zero_points: Any, dtype: DType) -> None:
    """Raise RuntimeError for a zero point beyond the integers of a dtype."""
    limits = np.iinfo(dtype.representation.numpy)
    for zero_point in np.ravel(zero_points):
        if not limits.min <= zero_point <= limits.max:
            side = "above" if zero_point > limits.max else "below"
            raise RuntimeError(
                OUT_OF_RANGE.format(
                    zero_point=int(zero_point), side=side, dtype=dtype, least=limits.min, most=limits.max
                )
            )


def per_tensor(tensor: Tensor, scale: Any, zero_point: Any, dtype: Any) -> QuantizedTensor:
    """The kernel of `quantize_per_tensor`; scale and zero point may be tensors of one element."""
    chosen = _dtype(dtype)
    quantizer = PerTensor(float(scale), int(zero_point))
    check_zero_points(quantizer.zero_point, chosen)
    return quantized(_floats(tensor), chosen, quantizer)


def _several(tensors: Any, scales: Tensor, zero_points: Tensor, dtype: Any) -> list[QuantizedTensor]:
    return [per_tensor(t, s, z, dtype) for t, s, z in zip(tensors, scales._array, zero_points._array, strict=True)]


def channel_quantizer(sizes: Any, scales: Tensor, zero_points: Tensor, axis: int) -> PerChannel:
    """Scales and zero points for an axis. Raises RuntimeError unless there is one of each for every channel."""
    if not -len(sizes) <= axis < len(sizes):
        raise RuntimeError("Channel axis out of range in per channel affine quantization.")
    axis %= len(sizes)
    for what, values in (("scales", scales), ("zero_points", zero_points)):
        if values._array.shape != (sizes[axis],):
            got = values._array.shape[0] if values._array.ndim == 1 else list(values._array.shape)
            raise RuntimeError(WRONG_CHANNELS.format(what=what, wanted=sizes[axis], got=got))
    if zero_points.dtype.is_floating_point:
        kinds = scales._array.astype(np.float32), zero_points._array.astype(np.float32)
        return PerChannel(*kinds, axis, QScheme.per_channel_affine_float_qparams)
    return PerChannel(scales._array.astype(np.float64), zero_points._array.astype(np.int64), axis)


def per_channel(tensor: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> QuantizedTensor:
    """The kernel of `quantize_per_channel`."""
    chosen = _dtype(dtype)
    quantizer = channel_quantizer(tensor._array.shape, scales, zero_points, axis)
    if quantizer.scheme is QScheme.per_channel_affine:
        check_zero_points(quantizer.zero_points, chosen)
    return quantized(_floats(tensor), chosen, quantizer)


def dequantized(tensor: Tensor) -> Tensor:
    """The kernel of `dequantize`: tensors of floats stay what they are."""
    if isinstance(tensor, QuantizedTensor):
        real = real_values(tensor)
        keeps = layout.is_channels_last(real.shape, tensor.stride()) if real.ndim in (4, 5) else False
        return wrap(real if keeps else np.ascontiguousarray(real).reshape(real.shape))
    return tensor if tensor.dtype is float32 else wrap(tensor._array.astype(np.float32))


def _any_dequantized(value: Any) -> Any:
    if isinstance(value, Tensor):
        return dequantized(value)
    return type(value)(map(_any_dequantized, value)) if isinstance(value, list | tuple) else value


def _asked(name: str, tensor: Tensor) -> QuantizedTensor:
    if not isinstance(tensor, QuantizedTensor):
        raise NotImplementedError(NOT_QUANTIZED.format(name=name, dtype=tensor.dtype))
    return tensor


def _one(name: str, tensor: Tensor) -> PerTensor:
    quantizer = _asked(name, tensor).quantizer
    if not isinstance(quantizer, PerTensor):
        raise RuntimeError(NO_SCALE.format(name=name))
    return quantizer


def _each(name: str, tensor: Tensor) -> PerChannel:
    quantizer = _asked(name, tensor).quantizer
    if not isinstance(quantizer, PerChannel):
        raise RuntimeError(NO_SCALES.format(name=name))
    return quantizer


def _of_integers(tensor: Tensor, quantizer: PerTensor | PerChannel) -> QuantizedTensor:
    dtype = next((d for d in _BY_INTEGER if d.representation is tensor.dtype), None)
    if dtype is None:
        raise RuntimeError(f"expected a tensor of int8, uint8 or int32, got {tensor.dtype}")
    return from_integers(tensor._array.copy(), dtype, quantizer)


_BY_INTEGER: Final = tuple(map(by_code, (12, 13, 14)))


def _empty(size: Any, dtype: Any, layout: Any, device: Any, pin: Any, scale: float, zero: int, format: Any) -> Any:
    chosen = _dtype(13 if dtype is None else dtype)
    return from_integers(np.zeros(size, chosen.representation.numpy), chosen, PerTensor(float(scale), int(zero)))


def _example() -> Tensor:
    return wrap(np.array([[0.5, -1.0], [3.0, 0.25]], np.float32))


def _scales() -> Tensor:
    return wrap(np.array([0.5, 0.25]))


def _zeros() -> Tensor:
    return wrap(np.array([1, 2], np.int64))


def _small() -> QuantizedTensor:
    return per_tensor(_example(), 0.25, 10, 13)


def _by_channel() -> QuantizedTensor:
    return per_channel(_example(), _scales(), _zeros(), 0, 12)


declare(
    "aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor",
    per_tensor,
    "The integers next to `self / scale + zero_point`, which stand for the numbers of `self`.",
    is_function=True,
    shape=lambda self, scale, zero_point, dtype: self.sizes,
    samples=lambda: [Sample(args=(_example(), 0.5, 10, 13)), Sample(args=(_example(), 0.1, 0, 12))],
    errors=lambda: [
        ErrorSample(args=(_zeros(), 1.0, 0, 13), error=RuntimeError, message="only works on Float Tensor, got Long"),
        ErrorSample(args=(_example(), 1.0, 0, 6), error=RuntimeError, message="expected qint8, quint8 or qint32"),
        ErrorSample(args=(_example(), 1.0, 300, 13), error=RuntimeError, message="above the range of flambeau.quint8"),
    ],
)
declare(
    "aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> "
    "Tensor",
    per_tensor,
    is_function=True,
)
declare(
    "aten::quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) -> "
    "Tensor[]",
    _several,
    is_function=True,
)
declare(
    "aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor",
    per_channel,
    "The same with a scale and a zero point for each place along an axis.",
    is_function=True,
    shape=lambda self, scales, zero_points, axis, dtype: self.sizes,
    samples=lambda: [Sample(args=(_example(), _scales(), _zeros(), 0, 12))],
    errors=lambda: [
        ErrorSample(args=(_example(), _scales(), _zeros(), 2, 12), error=RuntimeError, message="axis out of range"),
        ErrorSample(
            args=(_example(), wrap(np.ones(3)), _zeros(), 0, 12), error=RuntimeError, message="expected 2 got, 3"
        ),
    ],
)
declare(
    "aten::dequantize.self(Tensor self) -> Tensor",
    dequantized,
    "The numbers that the elements of a quantised tensor stand for, as float32.",
    is_method=True,
    is_function=True,
    dtype=lambda self: float32,
    shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(_small(),)), Sample(args=(_by_channel(),))],
)
declare("aten::dequantize.tensors(Tensor[] tensors) -> Tensor[]", _any_dequantized, is_function=True)
declare("aten::dequantize.any(Any tensors) -> Any", _any_dequantized)
declare(
    "aten::q_scale(Tensor self) -> float",
    lambda self: _one("q_scale", self).scale,
    "The scale of a quantised tensor.",
    is_method=True,
    is_function=True,
    samples=lambda: [Sample(args=(_small(),))],
    errors=lambda: [
        ErrorSample(args=(_example(),), error=NotImplementedError, message="asks a quantised tensor"),
        ErrorSample(args=(_by_channel(),), error=RuntimeError, message="a tensor with one scale"),
    ],
)
declare(
    "aten::q_zero_point(Tensor self) -> int",
    lambda self: _one("q_zero_point", self).zero_point,
    "The integer that stands for 0.",
    is_method=True,
    is_function=True,
    samples=lambda: [Sample(args=(_small(),))],
)
declare(
    "aten::q_per_channel_scales(Tensor self) -> Tensor",
    lambda self: wrap(_each("q_per_channel_scales", self).scales.copy()),
    "The scale of each channel.",
    is_method=True,
    is_function=True,
    dtype=lambda self: float64,
    samples=lambda: [Sample(args=(_by_channel(),))],
    errors=lambda: [ErrorSample(args=(_small(),), error=RuntimeError, message="a tensor with a scale per channel")],
)
declare(
    "aten::q_per_channel_zero_points(Tensor self) -> Tensor",
    lambda self: wrap(_each("q_per_channel_zero_points", self).zero_points.copy()),
    "The integer that stands for 0 in each channel.",
    is_method=True,
    is_function=True,
    dtype=lambda self: int64,
    samples=lambda: [Sample(args=(_by_channel(),))],
)
declare(
    "aten::q_per_channel_axis(Tensor self) -> int",
    lambda self: _each("q_per_channel_axis", self).axis,
    "The axis of the channels.",
    is_method=True,
    is_function=True,
    samples=lambda: [Sample(args=(_by_channel(),))],
)
declare(
    "aten::qscheme(Tensor self) -> QScheme",
    lambda self: _asked("qscheme", self).quantizer.scheme,
    "Whether there is one scale, or one per channel.",
    is_method=True,
    samples=lambda: [Sample(args=(_small(),))],
)
declare(
    "aten::int_repr(Tensor self) -> Tensor",
    lambda self: wrap(integers_of(_asked("int_repr", self)).copy(order="K")),
    "The integers of a quantised tensor.",
    is_method=True,
    is_function=True,
    shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(_small(),))],
)
declare(
    "aten::_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor",
    lambda self, scale, zero_point: _of_integers(self, PerTensor(float(scale), int(zero_point))),
    "A quantised tensor with these integers.",
    is_function=True,
    shape=lambda self, scale, zero_point: self.sizes,
    samples=lambda: [Sample(args=(wrap(np.array([1, 2], np.int8)), 0.5, 1))],
    errors=lambda: [ErrorSample(args=(_zeros(), 0.5, 1), error=RuntimeError, message="a tensor of int8, uint8")],
)
declare(
    "aten::_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis) -> Tensor",
    lambda self, scale, zero, axis: _of_integers(self, channel_quantizer(self._array.shape, scale, zero, axis)),
    "The same with a scale and a zero point per channel.",
    is_function=True,
    shape=lambda self, scale, zero_point, axis: self.sizes,
    samples=lambda: [Sample(args=(wrap(np.array([[1], [2]], np.int8)), _scales(), _zeros(), 0))],
)
declare(
    "aten::_empty_affine_quantized(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, float scale=1., int zero_point=0, MemoryFormat? memory_format=0) -> Tensor",
    _empty,
    "A quantised tensor; what is in it is not said.",
    is_function=True,
    samples=lambda: [Sample(args=([2, 3],), kwargs={"dtype": by_code(12), "scale": 0.5})],
)
