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
from flambeau.schema.opdef import Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util import blas
from flambeau.util.inversions import CONVOLUTION_WEIGHT

Ints = Sequence[int]


@in_float32
def weight_gradient_kernel(
    input: Array, slope: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """(outputs, inputs / groups, *kernel), of a convolution of `input` whose result has the gradient `slope`."""
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
        strides, pads, dilations = (
            spread(name, values, dims)
            for name, values in (("stride", stride), ("padding", padding), ("dilation", dilation))
        )
        sizes = (slope.shape[1], input.shape[1] // groups, *kernel)
        find = CONVOLUTION_WEIGHT.implementation if type(input) is np.ndarray else cudnn_weight_gradient
        add = find(input, slope, np.zeros(sizes, input.dtype), strides, pads, dilations, groups)
        if add is not None:
            _known.put(key, _Known(sizes, add))
            return weight_gradient_kernel(input, slope, kernel, stride, padding, dilation, groups)
    return _by_columns(input, slope, kernel, stride, padding, dilation, groups)


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
    strides, pads, dilations = (
        spread(name, values, dims)
        for name, values in (("stride", stride), ("padding", padding), ("dilation", dilation))
    )
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


def _numbers(*sizes: int) -> Tensor:
    return wrap(((np.arange(prod(sizes), dtype=np.float32) * 37 % 23) / 8 - 1).reshape(sizes))


def _samples() -> Iterable[Sample]:
    yield Sample(args=(_numbers(2, 4, 5), _numbers(2, 6, 3), [3], [1], [0], [1], 1), note="one dimension")
    yield Sample(args=(_numbers(2, 4, 5, 4), _numbers(2, 6, 3, 3), [3, 2], [2, 1], [1, 0], [1, 1], 2))
    yield Sample(args=(_numbers(3, 4, 4), _numbers(3, 3, 3), [2, 2], [1, 1], [0, 0], [1, 1], 3), note="one sample")


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
