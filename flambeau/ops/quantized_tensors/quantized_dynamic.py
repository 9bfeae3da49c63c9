"""Layers whose weights are quantised and whose inputs are so at each call, by their least and greatest number."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, Final

from flambeau.ops.quantized_tensors.quantized_kernels import declare
from flambeau.ops.quantized_tensors.quantized_layers import NOT_PACKED, centred, weight_scales
from flambeau.ops.quantized_tensors.quantized_packing import (
    CELL,
    EMBEDDING,
    LINEAR,
    CellParameters,
    PackedEmbedding,
    PackedLinear,
)
from flambeau.ops.quantized_tensors.quantized_values import per_channel, per_tensor
from flambeau.ops.small_tensors import evenly
from flambeau.schema.dtype import float32, quint8
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.formats import QScheme
from flambeau.tensor.opaque_objects import METHODS
from flambeau.tensor.quantized import Array, PerTensor, QuantizedTensor, integers_of, quantized
from flambeau.tensor.tensor import Tensor, wrap

LEAST_SCALE: Final = np.float32(6.1e-5)
"""A scale below it would lose digits where sums are multiplied by it."""
NOT_FINITE: Final = (
    "the input of a layer that is quantised at each call has a number that is infinite or nan, for which there is no "
    "scale: look for it with x.isfinite().all(), or set it by flambeau.nan_to_num(x)"
)
NO_HALF: Final = "{name} takes a weight that linear_prepack{suffix} made"
WRONG_INDEX: Final = "an index of the embedding is {index}, and there are {count} rows"


def chosen_quantizer(values: Array, *, reduce_range: bool = False) -> PerTensor:
    """The scale and zero point by which 8 bits, or 7, reach from the least to the greatest number, 0 among them
    exactly."""
    top = 127 if reduce_range else 255
    if not values.size:
        return PerTensor(1.0, 0)
    least, most = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    if not (isfinite(least) and isfinite(most)):
        raise RuntimeError(NOT_FINITE)
    scale = np.float32((most - least) / top)
    if scale == 0 or not np.isfinite(np.float32(1) / scale):
        scale = np.float32(0.1)
    if scale < LEAST_SCALE:
        wider = LEAST_SCALE / scale
        if least == 0 or most == 0:
            least, most = (least, float(LEAST_SCALE * top)) if least == 0 else (float(-LEAST_SCALE * top), most)
        else:
            least, most = float(np.float32(least) * wider), float(np.float32(most) * wider)
        scale = LEAST_SCALE
    below, above = least / float(scale), most / float(scale)
    is_below = -abs(below) < top - abs(above)
    zero_point = -below if is_below else top - above
    return PerTensor(float(scale), min(max(round(zero_point), 0), top))


@np.errstate(all="ignore")
def product(x: Array, packed: PackedLinear, *, reduce_range: bool = False) -> Array:
    """A linear layer of numbers, quantised for it: exact sums of integers, as float32 with the bias."""
    weight = packed.weight
    if not isinstance(weight, QuantizedTensor):
        result: Array = x.astype(np.float32, copy=False) @ weight._array.T
    else:
        quantizer = chosen_quantizer(x, reduce_range=reduce_range)
        scales = np.float32(quantizer.scale) * weight_scales(weight)
        panels = packed.panels if x.size else None
        if panels is not None:
            bias = None if packed.bias is None else packed.bias._array
            levels = panels.quantised(x, np.float32(1) / np.float32(quantizer.scale), quantizer.zero_point, 255)
            product_: Array = panels.multiply(levels, scales=scales, bias=bias)
            return product_.reshape(*x.shape[:-1], -1)
        inputs = quantized(x, quint8, quantizer)
        sums = centred(inputs, quantizer) @ centred(weight, weight.quantizer).T
        result = sums.astype(np.float32) * scales
    if packed.bias is not None:
        result = result + packed.bias._array
    return np.ascontiguousarray(result, np.float32)


def _dynamic(name: str, *, is_half: bool, has_relu: bool) -> Callable[..., Any]:
    def kernel(x: Tensor, packed: Any, reduce_range: bool = False) -> Tensor:
        check_packed(name, packed, is_half=is_half)
        if x.dtype is not float32:
            raise RuntimeError(f"{name} takes a tensor of float32, got one of {x.dtype}")
        width = packed.weight._array.shape[1]
        if x._array.ndim < 1 or x._array.shape[-1] != width:
            raise RuntimeError(f"{name}: the input has sizes {list(x._array.shape)}, the weight takes {width} features")
        result = product(x._array, packed, reduce_range=reduce_range)
        return wrap(np.maximum(result, np.zeros_like(result)) if has_relu else result)

    return kernel


def check_packed(name: str, packed: Any, *, is_half: bool = False) -> None:
    """Raise RuntimeError for what is no packed weight of a linear layer of this kind."""
    if not isinstance(packed, PackedLinear):
        raise RuntimeError(NOT_PACKED.format(name=name, kind=type(packed).__name__))
    if isinstance(packed.weight, QuantizedTensor) is is_half:
        raise RuntimeError(NO_HALF.format(name=name, suffix="_fp16" if is_half else ""))


def _cell_parameters(w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, reduce_range: bool) -> CellParameters:
    for packed in (w_ih, w_hh):
        check_packed("make_quantized_cell_params_dynamic", packed)
    return CellParameters(w_ih, w_hh, bool(reduce_range))


def _half_parameters(w_ih: Any, w_hh: Any) -> CellParameters:
    for packed in (w_ih, w_hh):
        check_packed("make_quantized_cell_params_fp16", packed, is_half=True)
    return CellParameters(w_ih, w_hh, False)


def _embedded(weight: Any, indices: Tensor, pruned_weights: bool) -> Tensor:
    table = weight.weight
    rows, zero_points = table.quantizer.scales, table.quantizer.zero_points
    row_indices = indices._array
    for index in row_indices[(row_indices < 0) | (row_indices >= table._array.shape[0])][:1]:
        raise RuntimeError(WRONG_INDEX.format(index=int(index), count=table._array.shape[0]))
    scale = rows[row_indices].astype(np.float32)[..., None]
    offset = (-zero_points.astype(np.float32) * rows.astype(np.float32))[row_indices][..., None]
    return wrap(integers_of(table)[row_indices].astype(np.float32) * scale + offset)


def _packed_embedding(weight: Any) -> PackedEmbedding:
    scheme = weight.quantizer.scheme if isinstance(weight, QuantizedTensor) else None
    if scheme is not QScheme.per_channel_affine_float_qparams or weight.dtype is not quint8:
        raise RuntimeError(
            "expected a weight of quint8 with a scale and a zero point of float for each row: quantize_per_channel "
            "with zero points of float32 makes one"
        )
    return PackedEmbedding(weight)


def _linear() -> PackedLinear:
    return PackedLinear(per_tensor(evenly(2, 3), 0.01, 0, 12), evenly(2))


def _half() -> PackedLinear:
    return PackedLinear(evenly(2, 3), None)


def _rows() -> QuantizedTensor:
    return per_channel(evenly(2, 3), evenly(2).add(2.0), evenly(2), 0, 13)


for _suffix in ("", "_relu"):
    declare(
        f"quantized::linear{_suffix}_dynamic(Tensor X, {LINEAR} W_prepack, bool reduce_range=False) -> Tensor Y",
        _dynamic(f"linear{_suffix}_dynamic", is_half=False, has_relu=bool(_suffix)),
        "A linear layer with a weight of qint8, of numbers that are quantised for it.",
        dtype=lambda *_: float32,
        samples=lambda: [Sample(args=(evenly(4, 3), _linear()))],
        errors=lambda: [
            ErrorSample(args=(evenly(4, 2), _linear()), error=RuntimeError, message="takes 3 features"),
            ErrorSample(args=(evenly(4, 3), _half()), error=RuntimeError, message="that linear_prepack made"),
        ],
    )
    declare(
        f"quantized::linear{_suffix}_dynamic_fp16(Tensor X, {LINEAR} W_prepack) -> Tensor Y",
        _dynamic(f"linear{_suffix}_dynamic_fp16", is_half=True, has_relu=bool(_suffix)),
        "A linear layer with a weight of float16, which computes in float32.",
        dtype=lambda *_: float32,
        samples=lambda: [Sample(args=(evenly(4, 3), _half()))],
    )
declare(
    f"quantized::make_quantized_cell_params_dynamic({LINEAR} w_ih, {LINEAR} w_hh, Tensor bias_ih, Tensor bias_hh, "
    f"bool reduce_range=False) -> {CELL}",
    _cell_parameters,
    "The packed weights of a recurrent layer.",
    samples=lambda: [Sample(args=(_linear(), _linear(), evenly(2), evenly(2)))],
)
declare(
    f"quantized::make_quantized_cell_params_fp16({LINEAR} w_ih, {LINEAR} w_hh) -> {CELL}",
    _half_parameters,
    "The same with weights of float16.",
    samples=lambda: [Sample(args=(_half(), _half()))],
)
declare(
    f"quantized::embedding_bag_prepack(Tensor weight) -> {EMBEDDING} W_prepack",
    _packed_embedding,
    "The rows of an embedding, packed.",
    samples=lambda: [Sample(args=(_rows(),))],
    errors=lambda: [ErrorSample(args=(evenly(2, 3),), error=RuntimeError, message="expected a weight of quint8")],
)
declare(
    f"quantized::embedding_bag_unpack({EMBEDDING} W_prepack) -> Tensor W_origin",
    lambda packed: packed.weight,
    "The rows of an embedding as a quantised tensor.",
    samples=lambda: [Sample(args=(PackedEmbedding(_rows()),))],
)
declare(
    f"quantized::embedding_byte({EMBEDDING} weight, Tensor indices, bool pruned_weights=False) -> Tensor",
    _embedded,
    "Rows of an embedding, as float32.",
    dtype=lambda *_: float32,
    samples=lambda: [Sample(args=(PackedEmbedding(_rows()), wrap(np.array([1, 0]))))],
    errors=lambda: [
        ErrorSample(
            args=(PackedEmbedding(_rows()), wrap(np.array([5]))), error=RuntimeError, message="there are 2 rows"
        )
    ],
)
METHODS[EMBEDDING, "unpack"] = "quantized::embedding_bag_unpack"
