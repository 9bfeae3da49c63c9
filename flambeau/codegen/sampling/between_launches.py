"""Reading images between their pixels and both adjoints as launches, for groups of plans and for arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
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
from flambeau.codegen.sampling.between import BETWEEN, BETWEEN_AT, FUNCTIONS, READ, SPREAD, TILT, between_text
from flambeau.codegen.sampling.launches import OF_NUMBER, OF_PLACE
from flambeau.ir.graph import Graph
from flambeau.util.record import dataclass

OPERANDS: Final[Mapping[str, tuple[str, ...]]] = {
    READ: ("rows", "places"), SPREAD: ("numbers", "places"), TILT: ("numbers", "rows", "places"),
}  # fmt: skip
"""The arrays that each function is given."""
_LARGEST: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Between:
    """Which function, which array is which, and the sizes of an image."""

    symbol: str
    inputs: Mapping[str, int]
    height: int
    width: int


@routines(*[f"flambeau::{symbol}" for symbol in FUNCTIONS])
def _between(graph: Graph) -> Prepare:
    node = single_node(graph)
    operands, symbol = operands_of(graph, node), node.op.removeprefix("flambeau::")
    height, width = operands.constants.get("height"), operands.constants.get("width")
    if height is None or width is None or not operands.inputs.keys() >= set(OPERANDS[symbol]):
        raise KernelError("an image whose sizes only the call tells")
    return Recordable(partial(_make, Between(symbol, operands.inputs, height, width)))


@cache
def _code(character: str) -> NativeCode:
    """The code for a dtype."""
    return linked(between_text, character, tuple(FUNCTIONS))


def _make(between: Between, arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch for arrays like these. Raises KernelError for those that do not fit, or that code does not take."""
    own = {name: arrays[between.inputs[name]] for name in OPERANDS[between.symbol]}
    places, pixels = own["places"], between.height * between.width
    first = own.get("rows", own.get("numbers"))
    assert first is not None  # each function is given one of them
    if any(a.ndim != 3 or a.dtype.char not in TYPES or a.dtype != places.dtype for a in own.values()):
        raise KernelError("no such reading of images")
    count, channels, points = first.shape[0], first.shape[1], places.shape[2]
    expected = {
        "rows": (count, channels, pixels), "numbers": (count, channels, points), "places": (count, 2, points),
    }  # fmt: skip
    if any(a.shape != expected[name] or not a.is_dense() for name, a in own.items()):
        raise KernelError("arrays that do not fit, or do not lie row-major")
    if pixels * places.itemsize > _LARGEST or between.height < 1 or between.width < 1:
        raise KernelError("planes without pixels, or larger than offsets reach")
    kind = {READ: "numbers", SPREAD: "rows", TILT: "places"}[between.symbol]
    output, _ = result_of(places, expected[kind], keeps_order=False)
    if 0 in output.shape:
        return Launch((output,), [], 0, None)
    words = memory.struct(
        BETWEEN, result=1 + len(arrays), channels=channels, height=between.height, width=between.width, points=points,
        **{name: 1 + between.inputs.get(name, 0) for name in ("rows", "numbers", "places")},
    )  # fmt: skip
    block = [0] * (BETWEEN_AT + 1)
    block[BETWEEN_AT] = words
    nanoseconds = count * points * (OF_PLACE + OF_NUMBER * channels)
    step, pieces = pieces_of(count, nanoseconds)
    return Launch(
        (output,), block, count, None, step, pieces, nanoseconds,
        routine=Routine(_code(places.dtype.char), between.symbol, memory.kept),
    )  # fmt: skip


def between(symbol: str, operands: Sequence[Array], height: int, width: int) -> Array | None:
    """What one of the functions gives for row-major arrays; None where there is no code for them."""
    if not is_native(*operands):
        return None
    inputs = {name: number for number, name in enumerate(OPERANDS[symbol])}
    try:
        launch = _make(Between(symbol, inputs, height, width), [Lying.of(a) for a in operands], Memory())
    except KernelError:
        return None
    result: Array = launch.outputs[0].allocate()
    if launch.runs is not None:
        start(launch, block_of(launch, (*operands, result), ctypes.c_int32(0)))
    return result
