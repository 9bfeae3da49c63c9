"""The gradients of norms over batches that train, as operators of their own: by the input, and by the weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.ops.batch_norm import as_vector, per_channel
from flambeau.ops.families.arrays import Array, reduce_with, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import known
from flambeau.ops.normalization import ULP, standardised
from flambeau.schema.opdef import Sample, Sizes
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import NORM_GRADIENT


def input_kernel(grad: Array, input: Array, weight: Array | None, eps: float) -> Array:
    """Of the input (batch, channels, ...), or (0), from that of the result."""
    if input.ndim < 2:
        return np.zeros(input.shape, input.dtype)
    scale = as_vector(weight, input)
    found = NORM_GRADIENT.implementation(grad, input, scale, eps, True)
    if found is not None:
        return np.asarray(found)
    wide, axes = widened(input), _others(input)
    normal, _, root = standardised(wide, axes, eps)
    slope = widened(grad) if weight is None else widened(grad) * per_channel(weight, input.ndim)
    count = wide.dtype.type(max(1, input.size // max(1, input.shape[1])))
    with np.errstate(invalid="ignore"):
        mean = reduce_with(np.add, slope, axis=axes, keepdims=True) / count
        along = reduce_with(np.add, slope * normal, axis=axes, keepdims=True) / count
        result = (slope - mean - normal * along) * root
    return np.ascontiguousarray(result).astype(input.dtype, copy=False)


def weight_kernel(grad: Array, input: Array, eps: float) -> Array:
    """Of the weight: the sum over each channel of the gradient times the normalised input."""
    if input.ndim < 2:
        return np.zeros(input.shape, input.dtype)
    found = NORM_GRADIENT.implementation(grad, input, None, eps, False)
    if found is not None:
        return np.asarray(found)
    normal = standardised(widened(input), _others(input), eps)[0]
    with np.errstate(invalid="ignore"):
        total = reduce_with(np.add, widened(grad) * normal, axis=_others(input))
    return np.asarray(total).astype(input.dtype, copy=False)


def _others(array: Array) -> tuple[int, ...]:
    return (0, *range(2, array.ndim))


def _vector(input: Any) -> Sizes | None:
    return (input.sizes[1],) if input.sizes is not None and known(input.sizes[1]) else None


def _image(*sizes: int) -> Tensor:
    count = int(np.prod(sizes))
    return wrap(((np.arange(count, dtype=np.float32) * 29 % 17) / 4 - 2).reshape(sizes))


declare(
    "flambeau::batch_norm_input(Tensor grad, Tensor input, Tensor? weight, float eps) -> Tensor",
    kernel=input_kernel,
    doc="The gradient of the input of a norm over batches that trains, from that of its result.",
    dtype=lambda input: input.dtype,
    shape=lambda input: input.sizes,
    samples=lambda: [
        Sample(args=(_image(3, 2, 5), _image(3, 2, 5) * 0.5 + 1, None, 1e-5)),
        Sample(args=(_image(2, 2, 4, 5), _image(2, 2, 4, 5) * 0.5 + 1, wrap(np.array([2, -1], np.float32)), 1e-5)),
    ],
    ulp=ULP,
    is_method=False,
    is_function=False,
)
declare(
    "flambeau::batch_norm_weight(Tensor grad, Tensor input, float eps) -> Tensor",
    kernel=weight_kernel,
    doc="The gradient of the weight of a norm over batches that trains, from that of its result.",
    dtype=lambda input: input.dtype,
    shape=_vector,
    samples=lambda: [Sample(args=(_image(2, 2, 4, 5), _image(2, 2, 4, 5) * 0.5 + 1, 1e-5))],
    ulp=ULP,
    is_method=False,
    is_function=False,
)
