"""Convolutions, pooling and norms of channels, with their gradients, by native code, for kernels on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.convolutions import group_norm_rules, launched_calls, norms, row_norm_rules, run, windows
from flambeau.codegen.convolutions import largest_launches as largest_launches
from flambeau.codegen.convolutions import launches as launches
from flambeau.codegen.convolutions import norm_gradients as norm_gradient_rules
from flambeau.codegen.convolutions import slope_launches as slope_launches
from flambeau.codegen.convolutions import training_norms as training_norms
from flambeau.codegen.convolutions import window_rules as window_rules
from flambeau.codegen.convolutions.channel_rows import channel_rows_text
from flambeau.codegen.convolutions.channels import channels_text
from flambeau.codegen.convolutions.group_norms import groups_text
from flambeau.codegen.convolutions.largest import largest_text
from flambeau.codegen.convolutions.points import points_text
from flambeau.codegen.convolutions.sums import sums_text
from flambeau.codegen.convolutions.taps import taps_text
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.convolutions.winograd import winograd_text
from flambeau.codegen.sampling import between_launches
from flambeau.codegen.sampling import launches as sampling
from flambeau.codegen.sampling.between import between_text
from flambeau.executor.eager import machine
from flambeau.util.at_hand import does_without
from flambeau.util.inversions import (
    CHANNEL_NORM,
    CONVOLUTION,
    CONVOLUTION_WEIGHT,
    GRID_SAMPLING,
    GROUP_NORM,
    LARGEST_OF_WINDOWS,
    LAYER_NORM_GRADIENTS,
    NORM_GRADIENTS,
    READING_BETWEEN,
    WINDOWS,
)

Array = np.ndarray[Any, Any]
PRODUCTS: Final = 16
"""Products of numbers that a BLAS adds up in the time that NumPy takes for an element."""

OF_LAUNCHES: Final = winograd_text, channel_rows_text, channels_text, points_text
"""What there is beside sums over windows."""


def _has_code(write: Callable[[Floats], str], x: Array, elements: int | None = None) -> bool:
    """Whether calls on such an array are to have the code that is written so: a first answer does not wait for it, if
    there are few elements.
    """
    few = does_without(x.size if elements is None else elements)
    return available() and (not few or run.is_at_hand(write, x.dtype.char))


@CONVOLUTION.provide
def convolution(
    x: Array, weight: Array, result: Array, stride: Sequence[int], before: Sequence[int], dilation: Sequence[int],
    groups: int, is_transposed: bool,
) -> Callable[[Array, Array, Array | None, Array], None] | None:  # fmt: skip
    """What fills `result` (batch, outputs, *places) with the convolution of `x` (batch, inputs, *sizes) by a weight,
    plus a bias; what lies before and behind `x` is zero. It is called with arrays that lie as these do, all of one
    dtype. None where there is no code for them.

    >>> x, weight, result = np.ones((1, 2, 4), np.float32), np.ones((1, 2, 3), np.float32), np.ones((1, 1, 4), "f4")
    >>> fill = convolution(x, weight, result, (1,), (1,), (1,), 1, False)
    >>> (fill is not None) == available()
    True
    """
    products = (x if is_transposed else result).size * (weight.size // max(len(weight), 1))
    if not _has_code(sums_text, x, products // PRODUCTS):
        return None
    operands = x, weight, result, stride, before, dilation, groups, is_transposed
    fill: Callable[[Array, Array, Array | None, Array], None] | None = None
    if all(_has_code(write, x, products // PRODUCTS) for write in OF_LAUNCHES):
        fill = launched_calls.prepare(*operands)
    if fill is None:
        fill = run.prepare(*operands)
    return fill if fill is None or machine.loops is not None else Counted(fill)


class Counted:
    """Calls that count as those of operators by themselves, whose native code makes tensors too."""

    __slots__ = ("fill",)

    def __init__(self, fill: Callable[[Array, Array, Array | None, Array], None]) -> None:
        self.fill = fill

    def __call__(self, x: Array, weight: Array, bias: Array | None, result: Array) -> None:
        if machine.loops is None:
            machine.is_ready()
        self.fill(x, weight, bias, result)


@CONVOLUTION_WEIGHT.provide
def weight_gradient(
    x: Array, slope: Array, total: Array, stride: Sequence[int], before: Sequence[int], dilation: Sequence[int],
    groups: int,
) -> Callable[[Array, Array, Array], None] | None:  # fmt: skip
    """What adds to `total` (outputs, inputs / groups, *kernel) the gradient of the weight of a convolution of `x`
    (batch, inputs, *sizes), from `slope`, the gradient of its result. It is called with arrays that lie as these do,
    all of one dtype. None where there is no code for them.

    >>> x, slope, total = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 2), np.float32), np.zeros((1, 1, 3), "f4")
    >>> add = weight_gradient(x, slope, total, (1,), (0,), (1,), 1)
    >>> (add is not None) == available()
    True
    """
    if not available():
        return None
    return run.prepare_weight_gradient(x, slope, total, stride, before, dilation, groups)


@LARGEST_OF_WINDOWS.provide
def largest_of_windows(
    x: Array, result: Array, kernel: Sequence[int], stride: Sequence[int], before: Sequence[int],
    dilation: Sequence[int],
) -> Callable[[Array, Array, Array | None], None] | None:  # fmt: skip
    """What fills `result` (batch, channels, rows, columns) with the largest numbers of windows of `x`, and an array of
    int64 with their places, if one is given. It is called with arrays that lie as these do. None where there is no code
    for them.

    >>> x, result = np.ones((1, 1, 4, 4), np.float32), np.empty((1, 1, 2, 2), np.float32)
    >>> (largest_of_windows(x, result, (2, 2), (2, 2), (0, 0), (1, 1)) is not None) == available()
    True
    """
    if not _has_code(largest_text, x):
        return None
    return windows.prepare_largest(x, result, kernel, stride, before, dilation)


@WINDOWS.provide
def on_windows(name: str, x: Array, numbers: Mapping[str, Any]) -> Callable[[Array], Array] | None:
    """What runs an operator on windows of arrays that lie as `x`, with its other arguments by name. None where there is
    no code for that, or where the operator refuses it.

    >>> run = on_windows("aten::adaptive_avg_pool1d", np.ones((1, 4)), {"output_size": [2]})
    >>> (run is not None) == available()
    True
    """
    return window_rules.run_of(name, x, numbers) if _has_code(taps_text, x) else None


@CHANNEL_NORM.provide
def channel_norm(
    x: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array, Array] | None:
    """`x` (batch, channels, *sizes) with each channel at mean 0 and variance 1, times weights plus biases, which lie
    side by side; with it means, variances and reciprocal roots. None where there is no code for it.

    >>> result = channel_norm(np.ones((1, 2, 16), np.float32), None, None, 1e-5)
    >>> (result is not None) == available()
    True
    """
    return norms.normalise(x, weight, bias, eps) if _has_code(norms.text_for(x), x) else None


@GROUP_NORM.provide
def group_norm(x: Array, weight: Array | None, bias: Array | None, groups: int, eps: float) -> Array | None:
    """`x` (batch, channels, *sizes) with each of so many groups of channels at mean 0 and variance 1, times weights
    plus biases. None where there is no code for it.

    >>> result = group_norm(np.ones((1, 2, 16), np.float32), None, None, 1, 1e-5)
    >>> (result is not None) == available()
    True
    """
    if not _has_code(groups_text, x):
        return None
    return group_norm_rules.normalise(x, weight, bias, groups, eps)


@NORM_GRADIENTS.provide
def norm_gradients(
    slope: Array, x: Array, weight: Array | None, eps: float
) -> tuple[Array, Array, Array] | None:
    """The gradients of a norm of channels: of its input, its weight and its bias, from `slope`, that of its result.
    None where there is no code for it.

    >>> result = norm_gradients(np.ones((1, 2, 16)), np.ones((1, 2, 16)), None, 1e-5)
    >>> (result is not None) == available()
    True
    """
    return norm_gradient_rules.gradients(slope, x, weight, eps) if available() else None


@GRID_SAMPLING.provide
def grid_sampling(x: Array, grid: Array, mode: int, padding: int, is_aligned: bool) -> Array | None:
    """`x` (batch, channels, rows, columns) read at the places of a grid (batch, *places, 2); modes and paddings are the
    operator's numbers. None where there is no code for it.

    >>> result = grid_sampling(np.ones((1, 1, 2, 2)), np.zeros((1, 1, 1, 2)), 0, 0, False)
    >>> (result is not None) == available()
    True
    """
    return sampling.sample(x, grid, mode, padding, is_aligned) if available() else None


@READING_BETWEEN.provide
def reading_between(function: str, operands: Sequence[Array], height: int, width: int) -> Array | None:
    """`read_between`, `spread_between` or `tilt_between` of row-major arrays. None where there is no code for them.

    >>> result = reading_between("read_between", [np.ones((1, 1, 4)), np.zeros((1, 2, 3))], 2, 2)
    >>> result is None or result.tolist() == [[[1.0, 1.0, 1.0]]]
    True
    """
    is_ready = _has_code(between_text, operands[-1], max(one.size for one in operands))
    return between_launches.between(function, operands, height, width) if is_ready else None


@LAYER_NORM_GRADIENTS.provide
def layer_norm_gradients(
    slope: Array, x: Array, weight: Array | None, dims: int, eps: float
) -> tuple[Array, Array, Array] | None:
    """The gradients of a norm over the last `dims` dimensions: of its input, and parts of those of weight and bias,
    from `slope`, that of its result. None where there is no code for it.

    >>> result = layer_norm_gradients(np.ones((3, 4)), np.ones((3, 4)), None, 1, 1e-5)
    >>> (result is not None) == available()
    True
    """
    return row_norm_rules.gradients(slope, x, weight, dims, eps) if available() else None
