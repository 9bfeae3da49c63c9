"""Norms of quantised tensors: by the numbers that they stand for, requantised."""

from __future__ import annotations

from typing import Any

from flambeau.ops.quantized_tensors.quantized_kernels import declare
from flambeau.ops.quantized_tensors.quantized_rules import uniform
from flambeau.ops.quantized_tensors.quantized_values import per_tensor
from flambeau.ops.small_tensors import evenly
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.quantized import Array, PerTensor, QuantizedTensor, integers_of, quantized, real_values
from flambeau.tensor.tensor import Tensor, wrap


def _along(values: Tensor, ndim: int) -> Array:
    """A number per channel, such that it broadcasts."""
    return values._array.reshape(-1, *[1] * (ndim - 2))


@np.errstate(all="ignore")
def _batch_norm(
    qx: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float, scale: float, zero_point: int
) -> QuantizedTensor:
    """A norm by known statistics: one factor and one summand for each channel."""
    uniform(qx, "batch_norm")
    dims = qx._array.ndim
    factor = 1 / np.sqrt(_along(var, dims) + np.float32(eps))
    factor = factor if weight is None else factor * _along(weight, dims)
    shift = -_along(mean, dims) * factor
    shift = shift if bias is None else shift + _along(bias, dims)
    result = real_values(qx) * factor.astype(np.float32) + shift.astype(np.float32)
    return quantized(result.astype(np.float32), qx.dtype, PerTensor(float(scale), int(zero_point)))


def _instance_norm(input: Any, weight: Any, bias: Any, eps: float, scale: float, zero_point: int) -> QuantizedTensor:
    """A norm by the statistics of each sample and channel, which are those of its integers."""
    return _normalized(input, input._array.shape[1], weight, bias, eps, scale, zero_point)


def _group_norm(
    qx: Any, num_groups: int, weight: Any, bias: Any, eps: float, scale: float, zero_point: int
) -> QuantizedTensor:
    return _normalized(qx, num_groups, weight, bias, eps, scale, zero_point)


@np.errstate(all="ignore")
def _normalized(
    x: Any, groups: int, weight: Any, bias: Any, eps: float, scale: float, zero_point: int
) -> QuantizedTensor:
    quantizer = uniform(x, "a norm")
    shape = x._array.shape
    if len(shape) < 2 or shape[1] % groups:
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, got {list(shape)}")
    rows = integers_of(x).astype(np.float64).reshape(shape[0], groups, -1)
    mean, var = rows.mean(-1, keepdims=True), rows.var(-1, keepdims=True)
    result = ((rows - mean) / np.sqrt(var + eps / quantizer.scale**2)).reshape(shape)
    if weight is not None:
        result = result * _along(weight, len(shape))
    if bias is not None:
        result = result + _along(bias, len(shape))
    return quantized(result.astype(np.float32), x.dtype, PerTensor(float(scale), int(zero_point)))


def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, scale: float, zero_point: int
) -> QuantizedTensor:
    quantizer = uniform(input, "layer_norm")
    axes = tuple(range(-len(normalized_shape), 0))
    rows = integers_of(input).astype(np.float64)
    mean, var = rows.mean(axes, keepdims=True), rows.var(axes, keepdims=True)
    result = (rows - mean) / np.sqrt(var + eps / quantizer.scale**2)
    if weight is not None:
        result = result * weight._array
    if bias is not None:
        result = result + bias._array
    return quantized(result.astype(np.float32), input.dtype, PerTensor(float(scale), int(zero_point)))


def _example() -> QuantizedTensor:
    return per_tensor(evenly(2, 2, 3, 3), 0.01, 100, 13)


def _ones() -> Tensor:
    return wrap(np.ones(2, np.float32))


for _suffix in ("", "1d", "2d", "3d"):
    declare(
        f"quantized::batch_norm{_suffix}(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, "
        "float output_scale, int output_zero_point) -> Tensor",
        _batch_norm,
        "A norm of a quantised tensor by known statistics.",
        samples=lambda: [Sample(args=(_example(), _ones(), evenly(2), evenly(2), _ones(), 1e-5, 0.02, 100))],
        errors=lambda: [
            ErrorSample(
                args=(evenly(1, 2, 3, 3), None, None, evenly(2), _ones(), 1e-5, 0.02, 100),
                error=RuntimeError,
                message="takes quantised tensors",
            )
        ],
    )
declare(
    "quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float output_scale, "
    "int output_zero_point) -> Tensor",
    _instance_norm,
    "A norm by the statistics of each sample and channel.",
    samples=lambda: [Sample(args=(_example(), None, None, 1e-5, 0.02, 100))],
)
declare(
    "quantized::group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps, float output_scale, "
    "int output_zero_point) -> Tensor",
    _group_norm,
    "A norm by the statistics of groups of channels.",
    samples=lambda: [Sample(args=(_example(), 1, None, None, 1e-5, 0.02, 100))],
    errors=lambda: [
        ErrorSample(
            args=(_example(), 3, None, None, 1e-5, 0.02, 100), error=RuntimeError, message="divisible by num_groups"
        )
    ],
)
declare(
    "quantized::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps, "
    "float output_scale, int output_zero_point) -> Tensor",
    _layer_norm,
    "A norm by the statistics of the last axes.",
    samples=lambda: [Sample(args=(_example(), [3, 3], None, None, 1e-5, 0.02, 100))],
)
