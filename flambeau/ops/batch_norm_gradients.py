"""The gradients of norms over batches that train, as one operator: by the input, the weight and the bias."""

from __future__ import annotations

from typing import Any

from flambeau.ops.batch_norm import as_vector, per_channel
from flambeau.ops.families.arrays import Array, reduce_with, rounded, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.normalization import ULP, standardised, three_dtypes
from flambeau.schema.opdef import Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import NORM_GRADIENTS


def gradients_kernel(
    grad: Array, input: Array, weight: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """Of the input (batch, channels, ...), or (0), of the weight and of the bias, from that of the result."""
    if input.ndim < 2:
        return tuple([np.zeros(input.shape, input.dtype) for _ in range(3)])  # type: ignore[return-value]
    kept = (input if weight is None else weight).dtype
    wide, plain = widened(input), widened(grad)
    if is_host_array(input):
        native = NORM_GRADIENTS.implementation(plain, wide, as_vector(weight, wide), eps)
        if native is not None:
            return rounded(native[0], input.dtype), rounded(native[1], kept), rounded(native[2], kept)
    axes = _others(input)
    normal, _, root = standardised(wide, axes, eps)
    slope = plain if weight is None else plain * per_channel(weight, input.ndim)
    count = plain.dtype.type(max(1, input.size // max(1, input.shape[1])))
    with np.errstate(all="ignore"):
        mean = reduce_with(np.add, slope, axis=axes, keepdims=True) / count
        along = reduce_with(np.add, slope * normal, axis=axes, keepdims=True) / count
        by_input = (slope - mean - normal * along) * root
        sums = [reduce_with(np.add, a, axis=axes) for a in (plain * normal, plain)]
    return rounded(np.ascontiguousarray(by_input), input.dtype), rounded(sums[0], kept), rounded(sums[1], kept)


def _others(array: Array) -> tuple[int, ...]:
    return (0, *range(2, array.ndim))


def _vector(input: Any) -> Sizes | None:
    return (input.sizes[1],) if input.sizes is not None and len(input.sizes) > 1 else None


def _image(*sizes: int) -> Tensor:
    count = int(np.prod(sizes))
    return wrap(((np.arange(count, dtype=np.float32) * 29 % 17) / 4 - 2).reshape(sizes))


declare(
    "flambeau::batch_norm_gradients(Tensor grad, Tensor input, Tensor? weight, float eps) -> (Tensor, Tensor, Tensor)",
    kernel=gradients_kernel,
    traits=Traits(has_routine=True),
    doc="The gradients of a norm over batches that trains, from that of its result: of its input, weight and bias.",
    dtype=three_dtypes,
    shape=lambda input: (input.sizes, _vector(input), _vector(input)),
    samples=lambda: [
        Sample(args=(_image(3, 2, 5).abs(), _image(3, 2, 5) * 0.5 + 1, None, 1e-5)),
        Sample(
            args=(_image(2, 2, 4, 5).abs(), _image(2, 2, 4, 5) * 0.5 + 1, wrap(np.array([2, -1], np.float32)), 1e-5)
        ),
    ],
    ulp=ULP,
    is_method=False,
    is_function=False,
)
