"""Quantised tensors: integers, and how they stand for real numbers.

The element `q` of a tensor with a scale and a zero point stands for `(q - zero_point) * scale`; with both per channel,
for what the scale and zero point at its place along one axis say. Operators without a kernel for such tensors refuse
them.

>>> import flambeau
>>> x = flambeau.quantize_per_tensor(flambeau.tensor([0.5, -1.0]), 0.5, 10, flambeau.quint8)
>>> x.int_repr().tolist(), x.dequantize().tolist()
([11, 8], [0.5, -1.0])
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final, NoReturn

import numpy as np

from flambeau.schema.dtype import DType
from flambeau.tensor import index
from flambeau.tensor.formats import QScheme
from flambeau.tensor.storage import Storage
from flambeau.tensor.subclasses import disabled_function, special
from flambeau.tensor.tensor import Tensor, view_of, wrap
from flambeau.util.record import dataclass

Array = np.ndarray[Any, Any]
NO_ARRAY: Final = "a tensor of {dtype} is no array of numbers: take t.dequantize() or t.int_repr()"
NO_SIGN: Final = "whether a tensor of {dtype} is signed is not asked: take t.int_repr()"
NOT_QUANTIZED_DTYPE: Final = "expected qint8, quint8 or qint32, got {dtype}"


@dataclass(frozen=True, slots=True)
class PerTensor:
    """One scale and zero point for all elements."""

    scale: float
    zero_point: int

    @property
    def scheme(self) -> QScheme:
        """How it is called."""
        return QScheme.per_tensor_affine

    def factors(self, ndim: int) -> tuple[Any, Any]:
        """Scale and zero point, such that they broadcast with the elements."""
        return np.float32(self.scale), np.int64(self.zero_point)


@dataclass(frozen=True, slots=True, eq=False)
class PerChannel:
    """A scale and a zero point for each place along an axis; `scheme` says whether zero points are real numbers."""

    scales: Array
    zero_points: Array
    axis: int
    scheme: QScheme = QScheme.per_channel_affine

    def factors(self, ndim: int) -> tuple[Any, Any]:
        """Scales and zero points, such that they broadcast with the elements."""
        sizes = [1] * ndim
        sizes[self.axis] = -1
        return self.scales.astype(np.float32).reshape(sizes), self.zero_points.reshape(sizes)


Quantizer = PerTensor | PerChannel


class QuantizedTensor(Tensor):
    """A tensor of quint8, qint8 or qint32, with its quantizer."""

    __slots__ = ("quantizer",)
    __flambeau_function__ = staticmethod(disabled_function)
    _has_own_kernels = True

    quantizer: Quantizer
    """How its integers stand for real numbers."""
    __getitem__ = index.get_item_by_operators

    @property
    def is_quantized(self) -> bool:
        """Whether its elements stand for others: they do."""
        return True

    def item(self) -> float:
        """The only element, as the number that it stands for. Raises RuntimeError unless there is exactly one."""
        return float(wrap(real_values(self)).item())

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(NO_ARRAY.format(dtype=self.dtype))

    numpy = tolist = __array__ = __buffer__ = __dlpack__ = _refuse

    def is_signed(self) -> NoReturn:
        """Refused: neither the integers nor what they stand for is meant by itself."""
        raise RuntimeError(NO_SIGN.format(dtype=self.dtype))

    def __repr__(self) -> str:
        shown = repr(wrap(real_values(self)))
        quantizer = self.quantizer
        said = f"size={tuple(self._array.shape)}, dtype={self.dtype}, quantization_scheme={quantizer.scheme!r}"
        if isinstance(quantizer, PerTensor):
            return f"{shown[:-1]}, {said}, scale={quantizer.scale!r}, zero_point={quantizer.zero_point})"
        scales, zeros = wrap(quantizer.scales), wrap(quantizer.zero_points)
        return f"{shown[:-1]}, {said}, scale={scales!r}, zero_point={zeros!r}, axis={quantizer.axis})"

    def __reduce__(self) -> tuple[Any, ...]:
        extent = (tuple(self._array.shape), self.stride(), self.storage_offset())
        return rebuilt, (self._storage, self.dtype, *extent, self.quantizer)

    def __deepcopy__(self, memo: dict[int, Any]) -> QuantizedTensor:
        extent = (tuple(self._array.shape), self.stride(), self.storage_offset())
        result = rebuilt(deepcopy(self._storage, memo), self.dtype, *extent, self.quantizer)
        memo[id(self)] = result
        return result


def rebuilt(
    storage: Storage, dtype: DType, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int, quantizer: Quantizer
) -> QuantizedTensor:
    """A quantised tensor on a storage. Raises RuntimeError where it would leave it."""
    shown = view_of(Tensor(np.empty(0, dtype.numpy), storage), sizes, strides, offset)
    return on_storage(shown._array, storage, quantizer)


def on_storage(array: Array, storage: Storage | None, quantizer: Quantizer) -> QuantizedTensor:
    """A quantised tensor of an array of records."""
    special.exists = True
    result = object.__new__(QuantizedTensor)
    Tensor.__init__(result, array, storage)
    result.quantizer = quantizer
    return result


def from_integers(integers: Array, dtype: DType, quantizer: Quantizer) -> QuantizedTensor:
    """A quantised tensor of integers, whose memory it takes. Raises RuntimeError for a dtype that is not quantised."""
    check_dtype(dtype)
    plain = np.asarray(integers, dtype.representation.numpy)
    return on_storage(plain.view(dtype.numpy), None, quantizer)


def check_dtype(dtype: DType) -> None:
    """Raise RuntimeError for a dtype that is not quantised."""
    if not dtype.is_quantized:
        raise RuntimeError(NOT_QUANTIZED_DTYPE.format(dtype=dtype))


def integers_of(tensor: Tensor) -> Array:
    """The integers that a quantised tensor stores, on its memory."""
    return tensor._array.view(tensor.dtype.representation.numpy)


def real_values(tensor: QuantizedTensor) -> Array:
    """The numbers that the elements stand for, as float32 in the layout of the tensor."""
    return real_numbers(integers_of(tensor), tensor.quantizer)


def real_numbers(integers: Array, quantizer: Quantizer) -> Array:
    """The numbers that integers stand for."""
    scale, zero_point = quantizer.factors(integers.ndim)
    if isinstance(quantizer, PerTensor) and integers.itemsize == 1:  # exact in float32
        numbers = integers.astype(np.float32, order="K")
        numbers -= np.float32(zero_point)
        numbers *= scale
        return numbers
    apart = integers.astype(np.int64, order="K") - zero_point
    if isinstance(quantizer, PerChannel) and quantizer.scheme is QScheme.per_channel_affine:  # scales are float64
        wide: Array = apart * quantizer.scales.reshape(scale.shape)
        return wide.astype(np.float32, order="K")
    real: Array = apart.astype(np.float32, order="K") * scale
    return real


def nearest(real: Array, dtype: DType, quantizer: Quantizer) -> Array:
    """The integers that stand for the numbers next to these; what is beyond the range is at its end, nan at the top
    (of qint32 at the bottom)."""
    limits = np.iinfo(dtype.representation.numpy)
    scale, zero_point = quantizer.factors(real.ndim)
    with np.errstate(all="ignore"):
        inverse = (np.float32(1) / scale).astype(np.float32)
        levels = np.asarray(real * inverse)
        levels += np.asarray(zero_point, np.float32)
        np.rint(levels, out=levels)
        if dtype.itemsize == 1 and levels.dtype == np.float32:
            np.clip(levels, limits.min, limits.max, out=levels)
            if levels.size and np.isnan(levels.min()):
                levels[np.isnan(levels)] = limits.max
            return levels.astype(dtype.representation.numpy, order="K")
        levels = levels.astype(np.float64)
    levels = np.where(np.isnan(levels), limits.min if dtype.itemsize == 4 else limits.max, levels)
    bounded: Array = np.clip(levels, limits.min, limits.max).astype(dtype.representation.numpy, order="K")
    return bounded


def quantized(real: Array, dtype: DType, quantizer: Quantizer) -> QuantizedTensor:
    """The quantised tensor next to an array of float32."""
    return from_integers(nearest(real, dtype, quantizer), dtype, quantizer)
