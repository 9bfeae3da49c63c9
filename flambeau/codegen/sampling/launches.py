"""Reading at the places of a grid as launches, for groups of plans and for arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache, partial
from typing import Final

from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.convolutions.run import TYPES, linked, pieces_of
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.recording import Recordable
from flambeau.codegen.routines.table import Prepare, Routine, is_native, operands_of, routines, single_node
from flambeau.codegen.runtime import block_of, start
from flambeau.codegen.sampling.reading import SAMPLING, SAMPLING_AT, SYMBOL, sampling_text
from flambeau.ir.graph import Graph
from flambeau.ops.grids import BICUBIC, NEAREST, REFLECTION, ZEROS, check
from flambeau.util.record import dataclass

OF_PLACE: Final = 12.0
"""Nanoseconds for what a place takes, about."""
OF_NUMBER: Final = 1.0
"""Nanoseconds for a number of the result, about."""
_LARGEST: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """What an operator says, and which arrays it is given."""

    image: int
    grid: int
    mode: int
    padding: int
    is_aligned: bool


@routines("aten::grid_sampler", "aten::grid_sampler_2d")
def _grid_sampler(graph: Graph) -> Prepare:
    operands = operands_of(graph, single_node(graph))
    said = operands.constants
    names = ("interpolation_mode", "padding_mode", "align_corners")
    if not said.keys() >= set(names) or not operands.inputs.keys() >= {"input", "grid"}:
        raise KernelError("a way to read that only the call tells")
    mode, padding, is_aligned = (said[name] for name in names)
    inputs = operands.inputs
    return Recordable(partial(_make, Sampling(inputs["input"], inputs["grid"], mode, padding, bool(is_aligned))))


@cache
def _code(character: str) -> NativeCode:
    """The code for a dtype."""
    return linked(sampling_text, character, (SYMBOL,))


def _make(sampling: Sampling, arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch for arrays like these. Raises KernelError for what the operator refuses, or what is not native."""
    x, grid = arrays[sampling.image], arrays[sampling.grid]
    if x.ndim != 4 or x.dtype.char not in TYPES or sampling.mode == BICUBIC:
        raise KernelError("no such reading of images")
    try:
        check(x, grid, sampling.mode, 2)
    except RuntimeError as refusal:
        raise KernelError(str(refusal)) from None
    count, rows, columns = grid.shape[:3]
    output, _ = result_of(x, (count, x.shape[1], rows, columns), keeps_order=False)
    if 0 in output.shape:
        return Launch((output,), [], 0, None)
    reach = sum(abs(step) * (size - 1) for step, size in zip(x.strides[2:], x.shape[2:], strict=True))
    if reach > _LARGEST:
        raise KernelError("a plane larger than offsets reach")
    words = memory.struct(
        SAMPLING, x=1 + sampling.image, grid=1 + sampling.grid, y=1 + len(arrays), channels=x.shape[1],
        height=x.shape[2], width=x.shape[3], x_image=x.strides[0], x_channel=x.strides[1], x_row=x.strides[2],
        x_column=x.strides[3], grid_image=grid.strides[0], grid_row=grid.strides[1], grid_column=grid.strides[2],
        grid_axis=grid.strides[3], rows=rows, columns=columns, is_nearest=int(sampling.mode == NEAREST),
        is_padded=int(sampling.padding != ZEROS), is_reflected=int(sampling.padding == REFLECTION),
        is_aligned=int(sampling.is_aligned),
    )  # fmt: skip
    block = [0] * (SAMPLING_AT + 1)
    block[SAMPLING_AT] = words
    units = count * rows
    nanoseconds = units * columns * (OF_PLACE + OF_NUMBER * x.shape[1])
    step, pieces = pieces_of(units, nanoseconds)
    return Launch(
        (output,), block, units, None, step, pieces, nanoseconds,
        routine=Routine(_code(x.dtype.char), SYMBOL, memory.kept),
    )  # fmt: skip


def sample(x: Array, grid: Array, mode: int, padding: int, is_aligned: bool) -> Array | None:
    """An image read at the places of a grid; None where there is no code for that."""
    if not is_native(x, grid):
        return None
    try:
        launch = _make(Sampling(0, 1, mode, padding, is_aligned), (Lying.of(x), Lying.of(grid)), Memory())
    except KernelError:
        return None
    result: Array = launch.outputs[0].allocate()
    if launch.runs is not None:
        start(launch, block_of(launch, (x, grid, result), ctypes.c_int32(0)))
    return result
