"""The gradient of a convolution's weight as a launch for groups of plans."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from flambeau.codegen.convolutions import slopes
from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.run import pieces_of, weight_gradient
from flambeau.codegen.convolutions.words import SLICE, SLOPES, SLOPES_AT, SLOPES_WORDS
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.recording import Recordable
from flambeau.codegen.routines.table import Operands, Prepare, Routine, operands_of, routines, single_node
from flambeau.ir.graph import Graph
from flambeau.ops.convolution_checks import spread


@routines("flambeau::convolution_weight")
def _convolution_weight(graph: Graph) -> Prepare:
    return Recordable(partial(_make, operands_of(graph, single_node(graph))))


def _make(operands: Operands, arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch for arrays like these. Raises `KernelError` for what has no code."""
    values = operands.constants
    kernel, groups = tuple(values["kernel"]), int(values["groups"])
    x, slope = _images(operands.array("input", arrays), operands.array("slope", arrays), len(kernel), groups)
    stride, before, dilation = (_spread(name, values[name], len(kernel)) for name in ("stride", "padding", "dilation"))
    shape = (slope.shape[1], x.shape[1] // groups, *kernel)
    output, strides = result_of(x, shape, keeps_order=False)
    gradient = weight_gradient(x, slope, Lying(x.dtype, shape, strides), stride, before, dilation, groups, memory)
    if gradient is None or not gradient.slices:
        raise KernelError("no code for such a convolution")
    listed: list[Any] = []
    problems = {id(one.problem): one.problem for one in gradient.slices}
    addresses = {number: memory.words(problem.words) for number, problem in problems.items()}
    for one in gradient.slices:
        listed += [addresses[id(one.problem)], one.from_x, one.from_y, 0, one.problem.units]
    assert len(listed) == SLICE.words * len(gradient.slices)
    call = memory.struct(
        SLOPES, slices=memory.words(listed), slice_count=len(gradient.slices), x=1 + operands.inputs["input"],
        slope=1 + operands.inputs["slope"], w=1 + len(arrays), images=x.shape[0], inner=shape[1],
        x_image=x.strides[0], x_channel=x.strides[1], slope_image=slope.strides[0], slope_filter=slope.strides[1],
        **_axes(x, slope, kernel, stride, before, dilation),
    )  # fmt: skip
    words = [0] * SLOPES_WORDS
    words[SLOPES_AT] = call
    nanoseconds = sum(one.problem.nanoseconds for one in gradient.slices)
    step, pieces = pieces_of(gradient.units, nanoseconds)
    return Launch(
        (output,), words, gradient.units, None, step, pieces, nanoseconds,
        routine=Routine(gradient.code.native, slopes.OF_LAUNCH, memory.kept),
    )  # fmt: skip


def _images(x: Lying | None, slope: Lying | None, dims: int, groups: int) -> tuple[Lying, Lying]:
    """The input and the gradient of the result. Raises `KernelError` for single images, and for what does not fit."""
    if x is None or slope is None or not x.ndim == slope.ndim == dims + 2 or x.size == 0 or slope.size == 0:
        raise KernelError("no such images, or single ones")
    are_cut = groups > 0 and x.shape[1] % groups == 0 and slope.shape[1] % groups == 0
    if not are_cut or x.shape[0] != slope.shape[0]:
        raise KernelError("groups that do not divide the channels, or other images than gradients")
    return x, slope


def _spread(name: str, values: Sequence[int], dims: int) -> tuple[int, ...]:
    try:
        return spread(name, values, dims)
    except RuntimeError as refusal:
        raise KernelError(str(refusal)) from None


def _axes(
    x: Lying, slope: Lying, kernel: Sequence[int], stride: Sequence[int], before: Sequence[int], dilation: Sequence[int]
) -> dict[str, Any]:
    """How arrays lie along three axes, the first of which may be of one element."""
    words: dict[str, Any] = {}
    missing = 3 - len(kernel)
    for axis in range(3):
        at = axis - missing
        numbers: tuple[Any, ...] = (1, 1, 1, 1, 0, 1, 0, 0)
        if at >= 0:
            numbers = (
                x.shape[2 + at], kernel[at], slope.shape[2 + at], stride[at], before[at], dilation[at],
                x.strides[2 + at], slope.strides[2 + at],
            )  # fmt: skip
        names = ("size", "kernel", "places", "stride", "before", "dilation", "x", "slope")
        words |= {f"{name}_{axis}": number for name, number in zip(names, numbers, strict=True)}
    return words
