"""Launches for patterns of calls: a launch made for one call, as what all calls of its pattern have in common.

What holds of a call and must hold of another, so that one launch serves both: the class of each size, which inputs do
not move along an axis, which axes go on where others end, in which order axes lie in memory, and which elements lie
side by side. From these follow the specialised kernel and its schedule; words, layouts of results and pieces follow
from the sizes and strides of a call in a few steps, which native code takes (``llvm.entry_patterns``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import ONE, Buffer, Kernel, index_axes
from flambeau.codegen.llvm.abi import block_layout
from flambeau.codegen.llvm.entry_patterns import (
    EQUALS,
    FARTHER,
    GOES_ON,
    HEAD,
    MOST_AXES,
    MOST_OUTPUTS,
    MOST_RANK,
    MOST_WORDS,
    MOVES,
    SCALE_BITS,
)
from flambeau.codegen.schedule import Split
from flambeau.codegen.size_classes import Range
from flambeau.codegen.specialize import Specialized, Strides
from flambeau.util.record import dataclass

NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Call:
    """What a launch was made from."""

    kernel: Kernel
    """Before it was specialised."""
    sizes: dict[str, int]
    strides: Strides
    classes: dict[str, Range]
    special: Specialized
    orders: tuple[tuple[str, ...], ...]
    """Of each output, its axes from the outermost in, as it lies in memory; empty for row-major."""
    unit: frozenset[str]
    """Buffers whose elements lie side by side along the vector axis."""
    vector_axis: str | None
    along: tuple[tuple[str, str], ...]
    """Buffers, and axes along which their elements lie side by side, because a copy is made of them so."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a program says, in the order in which native code reads it."""

    axes: tuple[tuple[int, int, int, int], ...]
    """Of each axis an input and a dimension that has its size, and its class."""
    dimensions: tuple[tuple[int, int, int], ...]
    """Of other dimensions the axis whose size they have; -1 for 1."""
    conditions: tuple[tuple[int, ...], ...]
    """What must hold of strides: the kind, input, dimension and two numbers."""
    outputs: tuple[tuple[int, ...], ...]
    """Of each the rank, the size of an element, the axis of each dimension, the dimensions from the innermost out."""
    sizes: tuple[tuple[int, ...], ...]
    """Words of the block that are sizes: where, how many axes, whose product."""
    inputs: tuple[tuple[int, int, int], ...]
    """Words that are strides of inputs: where, the input and the dimension."""
    results: tuple[tuple[int, int, int], ...]
    """Words that are strides of outputs: where, the output and the dimension."""
    nanoseconds: float
    """Of an iteration of all axes."""
    high_at: int
    """The word with the number of iterations that are shared out; 0 for one."""
    cut: tuple[int, int] = (-1, 1)
    """An axis of which each iteration takes so many at a time, beside those that the word counts."""
    unit: int = 1
    grain: int = 1
    most_pieces: int = 0
    each: float = 1
    """Nanoseconds of a piece."""
    pool_at: int = 0
    parallel_from: float = NEVER
    """Nanoseconds from which several threads pay."""

    def program(self, pool: int, release_from: float) -> list[int]:
        """The words, `pool` being the address of what runs pieces on threads, 0 where one thread takes all."""
        head = {
            "scale": int(self.nanoseconds * (1 << SCALE_BITS)) + 1, "grain": self.grain,
            "most_pieces": self.most_pieces, "each": self.each, "high_at": self.high_at, "cut_axis": self.cut[0],
            "cut": self.cut[1], "unit": self.unit, "pool_at": self.pool_at, "pool": pool,
            "release_from": int(release_from),
            "parallel_from": int(self.parallel_from) if pool else NEVER,
        }  # fmt: skip
        rows = (
            self.axes, self.dimensions, self.conditions, self.outputs, self.sizes, self.inputs, self.results
        )  # fmt: skip
        return [int(head[name]) for name in HEAD] + [number for some in rows for number in _counted(some)]


class _NoPatternError(Exception):
    """A call that only an exact launch serves."""


def program(
    call: Call, shapes: Sequence[tuple[int, ...]], split: Split, nanoseconds: float, pool: int, *, is_staged: bool,
    release_from: float, parallel_from: float,
) -> list[int] | None:  # fmt: skip
    """The words of a pattern's program; None where a call like this one has exact launches only.

    ``nanoseconds`` are those of an iteration of all axes.
    """
    kernel, special = call.kernel, call.special
    layout = block_layout(special.kernel)
    too_large = len(kernel.axes) > MOST_AXES or len(kernel.outputs) > MOST_OUTPUTS or layout.words > MOST_WORDS
    if too_large or any(len(b.axes) > MOST_RANK for b in kernel.buffers) or 0 in call.sizes.values():
        return None
    try:
        sources = _sources(call, shapes)
        conditions = [*_conditions(call, shapes)]
    except _NoPatternError:
        return None
    inputs, outputs = _strides(call, shapes)
    pattern = Pattern(
        axes=tuple([(*sources[a], *call.classes[a]) for a in kernel.axes]),
        dimensions=tuple(_dimensions(call, shapes, sources)),
        conditions=tuple(conditions),
        outputs=_outputs(call),
        sizes=_sizes(call),
        inputs=inputs,
        results=outputs,
        nanoseconds=nanoseconds,
        high_at=0 if split.axis is None else layout.sizes[split.axis],
        unit=split.unit,
        grain=split.grain,
        most_pieces=split.most_pieces,
        each=split.each,
        pool_at=layout.pool if is_staged else 0,
        parallel_from=parallel_from if split.most_pieces > 0 or is_staged else NEVER,
    )
    return pattern.program(pool, release_from)


def _counted(rows: Sequence[tuple[int, ...]]) -> list[int]:
    return [len(rows), *(word for row in rows for word in row)]


def _sources(call: Call, shapes: Sequence[tuple[int, ...]]) -> dict[str, tuple[int, int]]:
    """By axis, an input and a dimension that has its size."""
    sources: dict[str, tuple[int, int]] = {}
    for number, (b, shape) in enumerate(zip(call.kernel.inputs, shapes, strict=True)):
        for dim, (axis, size) in enumerate(zip(b.axes, shape, strict=True)):
            if axis != ONE and size == call.sizes[axis]:
                sources.setdefault(axis, (number, dim))
    if any(a not in sources for a in call.kernel.axes):
        raise _NoPatternError
    return sources


def _dimensions(
    call: Call, shapes: Sequence[tuple[int, ...]], sources: dict[str, tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """The other dimensions of inputs: that of an axis, or 1."""
    for number, (b, shape) in enumerate(zip(call.kernel.inputs, shapes, strict=True)):
        for dim, (axis, size) in enumerate(zip(b.axes, shape, strict=True)):
            if axis == ONE or size != call.sizes[axis]:
                yield number, dim, -1
            elif sources[axis] != (number, dim):
                yield number, dim, call.kernel.axes.index(axis)


def _moving(b: Buffer, shape: tuple[int, ...]) -> list[tuple[int, str]]:
    """(dimension, axis) of a buffer's dimensions that are not of size one."""
    return [(k, a) for k, (a, size) in enumerate(zip(b.axes, shape, strict=True)) if a != ONE and size != 1]


def _conditions(call: Call, shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """What must hold of strides."""
    merged = {part: group for group in call.special.axes.values() for part in group}
    for number, (b, shape) in enumerate(zip(call.kernel.inputs, shapes, strict=True)):
        moving = _moving(b, shape)
        for dim, axis in moving:
            step = call.strides[b.name, axis]
            yield (EQUALS, number, dim, 0, 0) if step == 0 else (MOVES, number, dim, 0, 0)
        yield from _order(call, number, b, [(k, a) for k, a in moving if call.strides[b.name, a]])
        by_axis = {a: k for k, a in moving}
        for outer, inner in {pair for group in merged.values() for pair in pairwise(group)}:
            if outer in by_axis and inner in by_axis and call.strides[b.name, outer]:
                yield GOES_ON, number, by_axis[outer], call.kernel.axes.index(inner), by_axis[inner]
        yield from _side_by_side(call, number, b, by_axis)


def _order(call: Call, number: int, b: Buffer, moving: list[tuple[int, str]]) -> Iterator[tuple[int, ...]]:
    """The order in which an input's axes lie in memory."""
    if index_axes(call.kernel) & set(b.axes):
        return
    ordered = sorted(moving, key=lambda m: -abs(call.strides[b.name, m[1]]))
    for (far, far_axis), (near, near_axis) in pairwise(ordered):
        if abs(call.strides[b.name, far_axis]) == abs(call.strides[b.name, near_axis]):
            raise _NoPatternError  # then sizes decide
        yield FARTHER, number, far, 0, near


def _side_by_side(call: Call, number: int, b: Buffer, by_axis: dict[str, int]) -> Iterator[tuple[int, ...]]:
    itemsize = element_type(b.dtype).itemsize
    wanted = {axis for name, axis in call.along if name == b.name}
    if b.name in call.unit and call.vector_axis is not None:
        wanted.add(call.vector_axis)
    for axis in wanted:
        last = call.special.axes[axis][-1]
        if last in by_axis and (b.name, axis) in call.special.strides:
            yield EQUALS, number, by_axis[last], itemsize, 0


def _outputs(call: Call) -> tuple[tuple[int, ...], ...]:
    rows: list[tuple[int, ...]] = []
    for b, order in zip(call.kernel.outputs, call.orders, strict=True):
        axes = [-1 if a == ONE else call.kernel.axes.index(a) for a in b.axes]
        rows.append((len(axes), element_type(b.dtype).itemsize, *axes, *reversed(memory_order(b, order))))
    return tuple(rows)


def memory_order(b: Buffer, order: tuple[str, ...]) -> list[int]:
    """The dimensions of an output from the outermost in, as it lies in memory: row-major if those that move lie so,
    else with those of one element outermost."""
    dims = list(range(len(b.axes)))
    ranks = [order.index(a) for a in b.axes if a != ONE and a in order]
    if len(ranks) == len(b.moving_axes) and ranks != sorted(ranks):
        dims.sort(key=lambda k: -1 if b.axes[k] == ONE else order.index(b.axes[k]))
    return dims


def _sizes(call: Call) -> tuple[tuple[int, ...], ...]:
    layout, axes = block_layout(call.special.kernel), call.special.axes
    return tuple([
        (at, len(axes[axis]), *[call.kernel.axes.index(a) for a in axes[axis]]) for axis, at in layout.sizes.items()
    ])


Rows = tuple[tuple[int, int, int], ...]


def _strides(call: Call, shapes: Sequence[tuple[int, ...]]) -> tuple[Rows, Rows]:
    """Of inputs, those that move; of outputs, all. Others are 0, as in the launch's own block."""
    inputs: list[tuple[int, int, int]] = []
    outputs: list[tuple[int, int, int]] = []
    by_name = {b.name: (k, b) for k, b in enumerate(call.kernel.inputs)}
    results = {b.name: (k, b) for k, b in enumerate(call.kernel.outputs)}
    for (name, axis), at in block_layout(call.special.kernel).strides.items():
        last = call.special.axes[axis][-1]
        if name in results:
            number, b = results[name]
            outputs.append((at, number, b.axes.index(last)))
            continue
        number, b = by_name[name]
        dim = b.axes.index(last)
        if shapes[number][dim] != 1:
            inputs.append((at, number, dim))
    return tuple(inputs), tuple(outputs)
