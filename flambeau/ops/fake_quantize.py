"""Numbers rounded as if they were quantised, for training: gradients pass where nothing was cut off."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.families.opaque import declare
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.quantized import Array
from flambeau.tensor.tensor import Tensor, wrap

BEYOND: Final = "`zero_point` must be between `quant_min` and `quant_max`."
WRONG_ORDER: Final = "`quant_min` should be less than or equal to `quant_max`."


def _levels(x: Array, scale: Any, zero_point: Any) -> Array:
    with np.errstate(all="ignore"):
        inverse = (np.float32(1) / np.asarray(scale, np.float32)).astype(np.float32)
        levels: Array = np.rint(x * inverse.astype(x.dtype)) + np.asarray(zero_point, x.dtype)
    return levels


def _rounded(x: Array, scale: Any, zero_point: Any, least: int, most: int) -> Array:
    kept = np.clip(np.nan_to_num(_levels(x, scale, zero_point), nan=least), least, most)
    result: Array = ((kept - np.asarray(zero_point, x.dtype)) * np.asarray(scale, np.float32)).astype(x.dtype)
    return result


def _check(x: Array, zero_points: Any, least: int, most: int) -> None:
    if least > most:
        raise RuntimeError(WRONG_ORDER)
    if np.any(np.asarray(zero_points) < least) or np.any(np.asarray(zero_points) > most):
        raise RuntimeError(BEYOND)
    if x.dtype.kind != "f":
        raise RuntimeError(f"fake quantisation takes floats, got {x.dtype}")


def _per_tensor(self: Array, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Array:
    _check(self, zero_point, quant_min, quant_max)
    return _rounded(self, scale, zero_point, quant_min, quant_max)


def _along(values: Array, ndim: int, axis: int) -> Array:
    sizes = [1] * ndim
    sizes[axis] = -1
    return values.reshape(sizes)


def _per_channel(self: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int) -> Array:
    _check(self, zero_point, quant_min, quant_max)
    if not 0 <= axis < self.ndim or scale.shape != (self.shape[axis],) or zero_point.shape != scale.shape:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    rank = self.ndim
    return _rounded(self, _along(scale, rank, axis), _along(zero_point, rank, axis), quant_min, quant_max)


def _example() -> Tensor:
    return wrap(np.array([[0.5, -1.0], [3.0, 0.25]], np.float32))


def _scales() -> Tensor:
    return wrap(np.array([0.5, 0.25], np.float32))


def _zeros() -> Tensor:
    return wrap(np.array([1, 2], np.int32))


declare(
    "aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> "
    "Tensor",
    "aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, "
    "int quant_max) -> Tensor",
    kernel=_per_tensor,
    doc="`self` rounded to what integers between two bounds stand for.",
    dtype=lambda self: self.dtype,
    shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(_example(), 0.5, 1, 0, 5))],
    errors=lambda: [
        ErrorSample(args=(_example(), 0.5, 9, 0, 5), error=RuntimeError, message="`zero_point` must be between"),
        ErrorSample(args=(_example(), 0.5, 1, 6, 5), error=RuntimeError, message="less than or equal"),
        ErrorSample(args=(_zeros(), 0.5, 1, 0, 5), error=RuntimeError, message="takes floats"),
    ],
    is_method=False,
)
declare(
    "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, "
    "int quant_max) -> Tensor",
    kernel=_per_channel,
    doc="The same with a scale and a zero point for each place along an axis.",
    dtype=lambda self: self.dtype,
    shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(_example(), _scales(), _zeros(), 0, 0, 5))],
    errors=lambda: [
        ErrorSample(
            args=(_example(), wrap(np.ones(3, np.float32)), _zeros(), 0, 0, 5),
            error=RuntimeError,
            message="not consistent with input",
        )
    ],
    is_method=False,
)
