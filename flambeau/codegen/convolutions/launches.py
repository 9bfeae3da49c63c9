"""Convolutions as launches, for groups of plans: sizes and strides become words once, results get their places."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from flambeau.codegen.call_geometry import Output
from flambeau.codegen.convolutions import sums
from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.convolutions.run import SHARE_FROM, TYPES, Slice, slices_of, sums_code
from flambeau.codegen.convolutions.words import BLOCK_WORDS, CALL, CALL_AT, NOTHING, SLICE
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM
from flambeau.codegen.routines.table import Operands, Prepare, Routine, operands_of, routines, single_node
from flambeau.ir.graph import Graph
from flambeau.ops.convolution import check_channels, check_numbers, check_output_padding, is_channels_last, spread
from flambeau.util.record import dataclass

MOST_PIECES: Final = 64
"""Pieces that threads share."""


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows lie, by the numbers that an operator is given."""

    stride: tuple[int, ...]
    before: tuple[int, ...]
    """Zeros in front of each dimension."""
    dilation: tuple[int, ...]
    groups: int
    is_transposed: bool
    places: tuple[int, ...]
    """How many there are along each dimension."""


@routines(
    "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution", "aten::_convolution", "aten::_convolution_mode"
)
def _convolution(graph: Graph) -> Prepare:
    operands = operands_of(graph, single_node(graph))
    return partial(_prepare, operands, bool(operands.constants.get("transposed", False)))


@routines("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d")
def _transposed(graph: Graph) -> Prepare:
    return partial(_prepare, operands_of(graph, single_node(graph)), True)


def _prepare(operands: Operands, is_transposed: bool, arrays: Sequence[Array]) -> Launch:
    """The launch for arrays like these."""
    x, w, bias = (operands.array(name, arrays) for name in ("input", "weight", "bias"))
    seen, w = _images(x, w, bias)
    windows = _windows(operands.constants, seen, w, bias, is_transposed)
    channels = w.shape[1] * windows.groups if is_transposed else w.shape[0]
    is_last = is_channels_last(seen) and not is_transposed
    output = _output((len(seen), channels, *windows.places), seen.dtype, is_last=is_last)
    slices = slices_of(
        seen, w, _like(output), windows.stride, windows.before, windows.dilation, windows.groups, is_transposed
    ) if seen.size else []  # fmt: skip
    if not slices:
        raise KernelError("a convolution of nothing, or of more than offsets reach")
    if x is not None and x.ndim < seen.ndim:
        output = _output(output.shape[1:], seen.dtype, is_last=False)
    return _launch(operands, output, slices, seen.dtype, len(arrays))


def _images(x: Array | None, w: Array | None, bias: Array | None) -> tuple[Array, Array]:
    """Images, and the weight. Raises `KernelError` for ranks, dtypes and layouts that there is no code for."""
    if x is None or w is None or w.ndim < 3 or w.ndim > 5 or x.ndim not in (w.ndim, w.ndim - 1):
        raise KernelError("a convolution of one to three dimensions takes an input and a weight of fitting ranks")
    if x.dtype.char not in TYPES or (bias is not None and bias.strides != (bias.itemsize,)):
        raise KernelError(f"no convolution of {x.dtype}, or with a bias that does not lie side by side")
    seen = x if x.ndim == w.ndim else x[None]
    if x is not seen and is_channels_last(seen):
        raise KernelError("a single image whose channels lie innermost")
    return seen, w


def _like(output: Output) -> Array:
    """An array without memory of its own that lies as a result will."""
    strides = _row_major(output.memory_shape, output.dtype.itemsize)
    result = as_strided(np.empty((), output.dtype), output.memory_shape, strides, writeable=False)
    return result if output.permutation is None else result.transpose(output.permutation)


def _windows(
    constants: Mapping[str, Any], x: Array, w: Array, bias: Array | None, is_transposed: bool
) -> Windows:
    """Raises `KernelError` for numbers, channels and sizes that the operator refuses."""
    dims, groups = w.ndim - 2, int(constants["groups"])
    try:
        stride = spread("stride", constants["stride"], dims)
        dilation = spread("dilation", constants["dilation"], dims)
        before, after = _padding(constants["padding"], stride, dilation, w.shape[2:])
        extra = spread("output_padding", constants.get("output_padding", (0,)), dims)
        check_numbers(stride, before, dilation, groups)
        check_channels(x, w, bias, groups, is_transposed)
        if is_transposed:
            check_output_padding(extra, stride, dilation)
    except RuntimeError as refusal:
        raise KernelError(str(refusal)) from None
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    if is_transposed:
        places = [
            (n - 1) * s + r + o - 2 * p
            for n, s, r, o, p in zip(x.shape[2:], stride, reach, extra, before, strict=True)
        ]
    else:
        places = [
            (n + a + b - r) // s + 1
            for n, a, b, r, s in zip(x.shape[2:], before, after, reach, stride, strict=True)
        ]
    if min(places) < 1:
        raise KernelError("the kernel is larger than the padded image")
    return Windows(stride, before, dilation, groups, is_transposed, tuple(places))


def _padding(
    padding: Any, stride: Sequence[int], dilation: Sequence[int], kernel: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Zeros in front and behind. Raises RuntimeError for a name that means nothing."""
    if not isinstance(padding, str):
        around = spread("padding", padding, len(kernel))
        return around, around
    if padding not in ("valid", "same") or (padding == "same" and any(s != 1 for s in stride)):
        raise RuntimeError(f"padding {padding!r} with strides {list(stride)}")
    total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel, strict=True)]
    before = tuple([t // 2 for t in total])
    return before, tuple([t - b for t, b in zip(total, before, strict=True)])


def _output(shape: tuple[int, ...], dtype: np.dtype[Any], *, is_last: bool) -> Output:
    """A result, row-major or with its channels innermost in memory."""
    rank = len(shape)
    memory = (shape[0], *shape[2:], shape[1]) if is_last else shape
    permutation = (0, rank - 1, *range(1, rank - 1)) if is_last else None
    return Output(shape, dtype, permutation, memory, prod(shape) * dtype.itemsize >= ALIGNED_FROM)


def _row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides, step = [], itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _launch(operands: Operands, output: Output, slices: Sequence[Slice], dtype: np.dtype[Any], inputs: int) -> Launch:
    listed = array("q")
    for one in slices:
        listed.extend((one.problem.words.buffer_info()[0], one.from_x, one.from_y, one.problem.units))
    assert len(listed) == SLICE.words * len(slices)
    place = dict.fromkeys(("input", "weight", "bias"), NOTHING) | {k: 1 + at for k, at in operands.places.items()}
    call = CALL.pack(
        slices=listed.buffer_info()[0], slice_count=len(slices), x=place["input"], w=place["weight"],
        bias=place["bias"], y=1 + inputs,
    )  # fmt: skip
    words = [0] * BLOCK_WORDS
    words[CALL_AT] = ctypes.addressof(call)
    units = slices[0].problem.units if len(slices) == 1 else len(slices)
    nanoseconds = sum(one.problem.nanoseconds for one in slices)
    pieces = min(units, MOST_PIECES) if nanoseconds >= SHARE_FROM else 1
    step = -(-units // pieces) if pieces > 1 else 0
    code = sums_code(dtype.char)
    return Launch(
        (output,), words, units, None, step, -(-units // step) if step else 1, nanoseconds,
        routine=Routine(code.native, sums.OF_LAUNCH, (call, listed, tuple(slices))),
    )  # fmt: skip
