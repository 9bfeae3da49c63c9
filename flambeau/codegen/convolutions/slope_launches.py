"""The gradient of a convolution's weight as a launch for groups of plans."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from functools import partial

from numpy.lib.stride_tricks import as_strided

from flambeau.codegen.convolutions import slopes
from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.convolutions.run import pieces_of, prepare_weight_gradient
from flambeau.codegen.convolutions.words import SLICE, SLOPES, SLOPES_AT, SLOPES_WORDS
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.routines.table import Operands, Prepare, Routine, operands_of, routines, single_node
from flambeau.ir.graph import Graph
from flambeau.ops.convolution_checks import spread


@routines("flambeau::convolution_weight")
def _convolution_weight(graph: Graph) -> Prepare:
    return partial(_prepare, operands_of(graph, single_node(graph)))


def _prepare(operands: Operands, arrays: Sequence[Array]) -> Launch:
    """The launch for arrays like these. Raises `KernelError` for what has no code."""
    values = operands.constants
    kernel, groups = tuple(values["kernel"]), int(values["groups"])
    x, slope = _images(operands.array("input", arrays), operands.array("slope", arrays), len(kernel), groups)
    stride, before, dilation = (_spread(name, values[name], len(kernel)) for name in ("stride", "padding", "dilation"))
    shape = (slope.shape[1], x.shape[1] // groups, *kernel)
    output, strides = result_of(x, shape, keeps_order=False)
    like = as_strided(x, shape, strides, writeable=False)
    run = prepare_weight_gradient(x, slope, like, stride, before, dilation, groups)
    if run is None or not run.slices:
        raise KernelError("no code for such a convolution")
    listed = array("q")
    for one in run.slices:
        listed.extend((one.problem.words.buffer_info()[0], one.from_x, one.from_y, 0, one.problem.units))
    assert len(listed) == SLICE.words * len(run.slices)
    call = SLOPES.pack(
        slices=listed.buffer_info()[0], slice_count=len(run.slices), x=1 + operands.inputs["input"],
        slope=1 + operands.inputs["slope"], w=1 + len(arrays), images=len(x), inner=shape[1], x_image=x.strides[0],
        x_channel=x.strides[1], slope_image=slope.strides[0], slope_filter=slope.strides[1],
        **_axes(x, slope, kernel, stride, before, dilation),
    )  # fmt: skip
    words = [0] * SLOPES_WORDS
    words[SLOPES_AT] = ctypes.addressof(call)
    nanoseconds = sum(one.problem.nanoseconds for one in run.slices)
    step, pieces = pieces_of(run.units, nanoseconds)
    problems = {id(one.problem): one.problem for one in run.slices}
    kept = call, listed, tuple([(p.words, p.tables, p.kept) for p in problems.values()])
    return Launch(
        (output,), words, run.units, None, step, pieces, nanoseconds,
        routine=Routine(run.code.native, slopes.OF_LAUNCH, kept),
    )  # fmt: skip


def _images(x: Array | None, slope: Array | None, dims: int, groups: int) -> tuple[Array, Array]:
    """The input and the gradient of the result. Raises `KernelError` for single images, and for what does not fit."""
    if x is None or slope is None or not x.ndim == slope.ndim == dims + 2 or not x.size or not slope.size:
        raise KernelError("no such images, or single ones")
    if groups < 1 or x.shape[1] % groups or slope.shape[1] % groups or len(x) != len(slope):
        raise KernelError("groups that do not divide the channels, or other images than gradients")
    return x, slope


def _spread(name: str, values: Sequence[int], dims: int) -> tuple[int, ...]:
    try:
        return spread(name, values, dims)
    except RuntimeError as refusal:
        raise KernelError(str(refusal)) from None


def _axes(
    x: Array, slope: Array, kernel: Sequence[int], stride: Sequence[int], before: Sequence[int], dilation: Sequence[int]
) -> dict[str, int]:
    """How arrays lie along three axes, the first of which may be of one element."""
    words: dict[str, int] = {}
    missing = 3 - len(kernel)
    for axis in range(3):
        at = axis - missing
        numbers = (1, 1, 1, 1, 0, 1, 0, 0)
        if at >= 0:
            numbers = (
                x.shape[2 + at], kernel[at], slope.shape[2 + at], stride[at], before[at], dilation[at],
                x.strides[2 + at], slope.strides[2 + at],
            )  # fmt: skip
        names = ("size", "kernel", "places", "stride", "before", "dilation", "x", "slope")
        words |= {f"{name}_{axis}": int(number) for name, number in zip(names, numbers, strict=True)}
    return words
