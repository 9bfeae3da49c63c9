"""Rows with something around them, copied by vectors whose masks say which lanes lie within the image.

A row is read from where its first lane would lie, in front of the image or not; nothing is read where a mask has
nothing. So a row takes as many vectors as it has, however much is around it, and rows of every other number twice as
many. Rows of a few vectors are copied without a loop; of long ones the first and the last vector have masks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flambeau.codegen.convolutions.vectors import VectorFunction, VectorModule
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value, float_constant

STEPS: Final = (1, 2)
"""Numbers from one to the next, for which there is code."""
MOST: Final = 4
"""Vectors of a row without a loop."""
LONG: Final = 0
"""In the place of a number of vectors: any."""


def name_of(step: int, vectors: int) -> str:
    """What the function is called."""
    return f"rows_{step}_{vectors or 'long'}"


def number_of(f: VectorFunction, step: Value, width: Value, low: Value, high: Value) -> Value:
    """Which of the functions copies rows of `width` numbers, `step` bytes apart, as a word; 0 for none. Of long rows
    only the first and the last vector may have lanes outside `low` to `high`.
    """
    lanes, size = f.floats.lanes, f.floats.itemsize
    count = f.divided_up(width, lanes)
    is_full = f.all_of(f.compare("slt", low, lanes), f.compare("sgt", high, f.op("mul", f.op("sub", count, 1), lanes)))
    count = f.pick(f.compare("sle", count, MOST), count, f.pick(is_full, MOST + 1, -2 * MOST))
    other = f.pick(f.compare("eq", step, 2 * size), f.op("add", count, MOST + 1), 0)
    return f.most_of(f.pick(f.compare("eq", step, size), count, other), 0)


def functions() -> Mapping[int, str]:
    """The names of all functions by their numbers."""
    names = [name_of(step, n) for step in STEPS for n in (*range(1, MOST + 1), LONG)]
    return dict(enumerate(names, 1))


def build_masked_rows(m: VectorModule, around: float) -> None:
    """``rows_STEP_N``: `count` rows of `width` numbers from row `first` on, of which those within the `height` are
    copied from lane `low` to lane `high`; other lanes, and rows, are what lies `around`. ``near`` is where the number
    of lane `low` lies.
    """
    for step in STEPS:
        for vectors in (*range(1, MOST + 1), LONG):
            _build(m, step, vectors, around)


def _build(m: VectorModule, step: int, vectors: int, around: float) -> None:
    f = m.function(
        f"void {name_of(step, vectors)}", "ptr near", "ptr target", "i64 first", "i64 down", "i64 height", "i64 x_row",
        "i64 count", "i64 row_bytes", "i64 low", "i64 high", "i64 width",
    )  # fmt: skip
    near, target, first, down, height, x_row, count, row_bytes, low, high, width = f.parameters
    source = f.moved(near, f.op("sub", word(0), f.op("mul", low, step * m.floats.itemsize)))
    last = f.op("sub", f.divided_up(width, m.floats.lanes), 1)
    numbers = [word(v) for v in range(vectors)] if vectors else [word(0), last]
    filling = float_constant(around, m.floats.type, m.floats.lanes)
    row = _Row(f, step, filling, around == 0.0)
    masked = [(v, row.masks(low, high, v)) for v in numbers]
    with f.loop(count) as r:
        at = f.op("add", first, f.op("mul", r, down))
        here, to = f.moved(source, f.op("mul", at, x_row)), f.moved(target, f.op("mul", r, row_bytes))
        there, missing, done = f.label("there"), f.label("missing"), f.label("row_done")
        f.branch_if(f.compare("ult", at, height), there, missing)
        f.start(there)
        for v, own in masked:
            if v is last:
                with f.loop(f.op("sub", last, 1)) as k:
                    row.copy(here, to, f.op("add", k, 1), None)
            row.copy(here, to, v, own)
        f.branch(done)
        f.start(missing)
        if vectors:
            for v in numbers:
                f.put_vector(filling, row.moved(to, v))
        else:
            with f.loop(f.op("add", last, 1)) as k:
                f.put_vector(filling, row.moved(to, k))
        f.start(done)
    f.ret()


class _Row:
    """The vectors of a row."""

    def __init__(self, f: VectorFunction, step: int, filling: Value, is_zero: bool) -> None:
        self._f, self._step, self._filling, self._is_zero = f, step, filling, is_zero

    def moved(self, base: Value, vectors: Value) -> Value:
        """An address so many vectors on."""
        return self._f.moved(base, self._f.op("mul", vectors, self._f.floats.lanes * self._f.floats.itemsize))

    def masks(self, low: Value, high: Value, number: Value) -> list[Value]:
        """What is read for a vector, to the last number itself and not to the one behind it; and what is written."""
        f, step, lanes = self._f, self._step, self._f.floats.lanes
        start = f.op("mul", low, step)
        end = f.pick(f.compare("sgt", high, low), f.op("sub", f.op("mul", high, step), step - 1), start)
        begin = f.op("mul", number, step * lanes)
        read = [self._within(start, end, f.op("add", begin, k * lanes)) for k in range(step)]
        return [*read, self._within(low, high, f.op("mul", number, lanes))]

    def copy(self, source: Value, to: Value, number: Value, masks: list[Value] | None) -> None:
        """A vector, all of it without masks."""
        f, lanes = self._f, self._f.floats.lanes
        here = self.moved(source, f.op("mul", number, self._step))
        addresses = [f.at(here, k * lanes * f.floats.itemsize, "i8") for k in range(self._step)]
        parts = [f.vector(address, masks[k] if masks else None) for k, address in enumerate(addresses)]
        value = parts[0] if self._step == 1 else f.shuffle(parts[0], parts[1], range(0, 2 * lanes, 2))
        if masks and not self._is_zero:
            value = f.select(masks[-1], value, self._filling)
        f.put_vector(value, self.moved(to, number))

    def _within(self, low: Value, high: Value, first: Value) -> Value:
        """The lanes from `low` to `high` of a vector that begins with lane `first`."""
        f, lanes = self._f, self._f.floats.lanes
        below = [f.mask_below(f.op("sub", end, first)) for end in (low, high)]
        return f.define(f"xor <{lanes} x i1> {below[0]}, {below[1]}", "i1", lanes)
