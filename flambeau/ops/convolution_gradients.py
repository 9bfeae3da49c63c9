"""The gradient of a convolution's weight as an operator of its own: that of the result times windows of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, Final, NamedTuple

from flambeau.cuda.cudnn.convolutions import weight_gradient as cudnn_weight_gradient
from flambeau.ops.convolution_calls import KnownCalls, look
from flambeau.ops.convolution_checks import spread
from flambeau.ops.convolution_windows import COLUMNS, padded, windows
from flambeau.ops.families.arrays import Array, widened
from flambeau.ops.families.half_precision import in_float32
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import input_dtype, known
from flambeau.ops.product_checks import ULP
from flambeau.ops.small_tensors import signed
from flambeau.schema.opdef import Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np
from flambeau.util import blas
from flambeau.util.inversions import CONVOLUTION_WEIGHT

Ints = Sequence[int]


@in_float32
def weight_gradient_kernel(
    input: Array, slope: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """(outputs, inputs / groups, *kernel), of a convolution of `input` whose result has the gradient `slope`."""
    if groups == 1 and type(input) is np.ndarray and _is_one_product(input, slope, len(kernel)):
        return _by_one_product(input, slope, kernel, *_spread_all(stride, padding, dilation, len(kernel)))
    key = (*look(input, slope), *kernel, None, *stride, None, *padding, None, *dilation, groups)
    known = _known.get(key)
    if known is not None:
        total = np.zeros(known.sizes, input.dtype)
        known.add(input, slope, total)
        if type(input) is not np.ndarray:
            return total
        return (
            total if np.isfinite(total.sum()) else _by_columns(input, slope, kernel, stride, padding, dilation, groups)
        )
    dims = len(kernel)
    if input.ndim == slope.ndim == dims + 2:
        strides, pads, dilations = _spread_all(stride, padding, dilation, dims)
        sizes = (slope.shape[1], input.shape[1] // groups, *kernel)
        find = CONVOLUTION_WEIGHT.implementation if type(input) is np.ndarray else cudnn_weight_gradient
        add = find(input, slope, np.zeros(sizes, input.dtype), strides, pads, dilations, groups)
        if add is not None:
            _known.put(key, _Known(sizes, add))
            return weight_gradient_kernel(input, slope, kernel, stride, padding, dilation, groups)
    return _by_columns(input, slope, kernel, stride, padding, dilation, groups)


def _spread_all(stride: Ints, padding: Ints, dilation: Ints, dims: int) -> tuple[Ints, Ints, Ints]:
    """One number for each dimension."""
    return spread("stride", stride, dims), spread("padding", padding, dims), spread("dilation", dilation, dims)


FEW_PLACES: Final = 100
"""Places of an image up to which vectors along them are short, and one product over all images goes faster."""
MANY_PAIRS: Final = 1 << 12
"""Pairs of an output and an input from which on a product makes up for laying out what it multiplies."""
MOST_COLUMNS: Final = 1 << 24
"""Bytes of windows that are laid out for one product."""


def _is_one_product(input: Array, slope: Array, dims: int) -> bool:
    """Whether images are so small, and channels so many, that windows are laid out for a product over all images."""
    if input.ndim != dims + 2 or slope.ndim != dims + 2 or input.dtype.char not in "fd":
        return False
    positions = prod(slope.shape[2:])
    return 0 < positions <= FEW_PLACES and slope.shape[1] * input.shape[1] >= MANY_PAIRS and len(input) > 0


def _by_one_product(input: Array, slope: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    """The gradient of what has small images: their places in a row, those of all images behind one another."""
    inner, positions = input.shape[1], prod(slope.shape[2:])
    each = max(1, MOST_COLUMNS // (positions * inner * prod(kernel) * input.itemsize))
    total: Array | None = None
    for start in range(0, len(input), each):
        part = slice(start, start + each)
        product = _product_of_images(input[part], slope[part], kernel, stride, padding, dilation)
        total = product if total is None else np.add(total, product, out=total)
    assert total is not None
    return total


def _product_of_images(input: Array, slope: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    dims, (batch, inner), outer = len(kernel), input.shape[:2], slope.shape[1]
    rows = batch * prod(slope.shape[2:])
    x = padded(input, padding, padding)
    counts, taps = range(2 + dims, 2 + 2 * dims), range(2, 2 + dims)
    in_planes = rows < outer  # else what is turned is the result, whose channels are innermost as those of windows are
    if not in_planes:
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    used: tuple[Any, ...] = (..., *[slice(n) for n in slope.shape[2:]])
    seen = windows(x, kernel, stride, dilation)[used]
    columns = seen.transpose(0, *counts, 1, *taps) if in_planes else seen.transpose(0, *counts, *taps, 1)
    product = blas.matmul(slope.swapaxes(0, 1).reshape(outer, rows), columns.reshape(rows, -1))
    if in_planes:
        return np.asarray(product.reshape(outer, inner, *kernel))
    return np.ascontiguousarray(np.moveaxis(product.reshape(outer, *kernel, inner), -1, 1))


class _Known(NamedTuple):
    """A call that runs natively."""

    sizes: tuple[int, ...]
    add: Callable[[Array, Array, Array], None]


_known: Final = KnownCalls[_Known]()


def _by_columns(
    input: Array, slope: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The gradient of what has no native code, and where something is not finite: windows laid out as columns, so that
    nothing is multiplied by the zeros between rows.
    """
    dims = len(kernel)
    x, gradient = (widened(a if a.ndim == dims + 2 else a[None]) for a in (input, slope))
    strides, pads, dilations = _spread_all(stride, padding, dilation, dims)
    batch, inner, outer = x.shape[0], x.shape[1] // groups, gradient.shape[1] // groups
    # Padding of a transposed convolution's output leaves more positions than there are gradients.
    used: tuple[Any, ...] = (..., *[slice(n) for n in gradient.shape[2:]])
    seen = windows(padded(x, pads, pads), kernel, strides, dilations)[used]
    rows, positions = inner * prod(kernel), prod(gradient.shape[2:])
    total: Array = np.zeros((groups, outer, rows), np.result_type(x, gradient))
    each = max(1, COLUMNS // max(1, groups * rows * positions * x.itemsize))
    for start in range(0, batch, each):
        part = seen[start : start + each]
        count = len(part) * positions
        columns = np.moveaxis(part, 0, 1 + dims).reshape(groups, rows, count)
        slopes = gradient[start : start + each].swapaxes(0, 1).reshape(groups, outer, count)
        total += blas.matmul(slopes, columns.swapaxes(1, 2))
    return total.reshape(groups * outer, inner, *kernel).astype(input.dtype, copy=False)


def _shape(input: Any, slope: Any, kernel: Any, stride: Any, groups: Any) -> Sizes | None:
    if input.sizes is None or slope.sizes is None or not known(stride):
        return None
    dims = len(stride)
    inner = input.sizes[-dims - 1]
    spatial = tuple(kernel) if known(kernel) else (None,) * dims
    return (slope.sizes[-dims - 1], None if inner is None or not known(groups) else inner // groups, *spatial)


def _samples() -> Iterable[Sample]:
    yield Sample(args=(signed(2, 4, 5), signed(2, 6, 3), [3], [1], [0], [1], 1), note="one dimension")
    yield Sample(args=(signed(2, 4, 5, 4), signed(2, 6, 3, 3), [3, 2], [2, 1], [1, 0], [1, 1], 2))
    yield Sample(args=(signed(3, 4, 4), signed(3, 3, 3), [2, 2], [1, 1], [0, 0], [1, 1], 3), note="one sample")


declare(
    "flambeau::convolution_weight(Tensor input, Tensor slope, SymInt[] kernel, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, SymInt groups) -> Tensor",
    kernel=weight_gradient_kernel,
    traits=Traits(has_routine=True),
    doc="The gradient of the weight of a convolution of `input`, from that of its result.",
    dtype=input_dtype,
    shape=_shape,
    samples=_samples,
    ulp=ULP,
    is_method=False,
    is_function=False,
)
