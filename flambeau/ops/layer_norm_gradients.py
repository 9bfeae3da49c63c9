"""The gradients of norms over trailing dimensions as one operator, which goes over the input and the gradient once.

Those of weight and bias are sums over all rows. They come in parts, each the sum over some rows one after the other, so
that threads may share the rows, and whoever adds the parts gets the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from flambeau.ops.families.arrays import Array, reduce_with, rounded, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import known
from flambeau.ops.normalization import ULP, standardised
from flambeau.schema.opdef import Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import LAYER_NORM_GRADIENTS

_MOST_PARTS: Final = 64
_LEAST_ROWS: Final = 8
"""Of a part."""


def rows_of_part(rows: int) -> int:
    """How many rows a part has; the last one may have fewer.

    >>> [rows_of_part(rows) for rows in (0, 3, 512, 4096)]
    [8, 8, 8, 64]
    """
    return max(_LEAST_ROWS, -(-rows // _MOST_PARTS))


def gradients_kernel(
    grad: Array, input: Array, weight: Array | None, dims: int, eps: float
) -> tuple[Array, Array, Array]:
    """Those of the input, of the weight in parts, and of the bias in parts."""
    kept = (input if weight is None else weight).dtype
    if is_host_array(input):
        factor = None if weight is None else rounded(widened(weight), widened(input).dtype)
        native = LAYER_NORM_GRADIENTS.implementation(widened(grad), widened(input), factor, dims, eps)
        if native is not None:
            return rounded(native[0], input.dtype), rounded(native[1], kept), rounded(native[2], kept)
    split = input.ndim - dims
    inner = input.shape[split:]
    wide, axes = widened(input), tuple(range(split, input.ndim))
    normal, _, root = standardised(wide, axes, eps)
    slope = widened(grad) if weight is None else widened(grad) * widened(weight)
    with np.errstate(all="ignore"):
        count = wide.dtype.type(prod(inner))
        mean = reduce_with(np.add, slope, axis=axes, keepdims=True) / count
        along = reduce_with(np.add, slope * normal, axis=axes, keepdims=True) / count
        by_input = (slope - mean - normal * along) * root
        by_weight, by_bias = (_in_parts(a, prod(input.shape[:split]), inner) for a in (widened(grad) * normal, grad))
    return rounded(np.ascontiguousarray(by_input), input.dtype), rounded(by_weight, kept), rounded(by_bias, kept)


def _in_parts(array: Array, rows: int, inner: tuple[int, ...]) -> Array:
    flat = widened(np.broadcast_to(array, array.shape)).reshape(rows, *inner)
    if not rows:
        return flat
    if not is_host_array(flat):
        part = rows_of_part(rows)
        filled = np.zeros((-rows % part, *inner), flat.dtype)
        return np.asarray(np.concatenate([flat, filled]).reshape(-1, part, *inner).sum(axis=1))
    return np.asarray(np.add.reduceat(flat, range(0, rows, rows_of_part(rows)), axis=0))


def _shapes(input: Any, dims: int) -> tuple[Sizes | None, ...]:
    sizes = input.sizes
    if sizes is None or not known(dims) or len(sizes) < dims:
        return sizes, None, None
    outer, inner = sizes[: len(sizes) - dims], sizes[len(sizes) - dims :]
    rows = None if None in outer else prod(outer)
    parts = None if rows is None else -(-rows // rows_of_part(rows))
    return sizes, (parts, *inner), (parts, *inner)


def _dtypes(input: Any, weight: Any) -> tuple[Any, ...]:
    kept = input.dtype if weight is None or not known(weight) else weight.dtype
    return input.dtype, kept, kept


def _numbers(*sizes: int) -> Tensor:
    return wrap(((np.arange(prod(sizes), dtype=np.float32) * 29 % 17) / 4 - 2).reshape(sizes))


def _samples() -> Sequence[Sample]:
    factors = wrap(np.array([2, -1, 0.5, 3, 1], np.float32))
    return [
        Sample(args=(_numbers(3, 5), _numbers(3, 5) * 0.5 + 1, factors, 1, 1e-5)),
        Sample(args=(_numbers(17, 2, 5), _numbers(17, 2, 5) * 0.5 + 1, None, 2, 1e-5)),
    ]


declare(
    "flambeau::layer_norm_gradients(Tensor grad, Tensor input, Tensor? weight, int dims, float eps)"
    " -> (Tensor, Tensor, Tensor)",
    kernel=gradients_kernel,
    traits=Traits(has_routine=True),
    doc="The gradients of a norm over trailing dimensions: of its input; of its weight and bias, parts to be added.",
    dtype=_dtypes,
    shape=_shapes,
    samples=_samples,
    ulp=ULP,
    is_method=False,
    is_function=False,
)
