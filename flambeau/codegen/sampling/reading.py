"""A row of places at a time, a vector of places at a time: which elements each takes, then channel by channel.

What a place takes follows from its coordinates alone, so that it is worked out once for all channels: for each of the
four elements around it how far it lies from the first of its plane, in bytes, and its share. An element that is outside
is `OUTSIDE`, and nothing is read there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.layouts import Layout, words_layout
from flambeau.codegen.llvm.emitter import Value, float_constant, int_constant, vector_type
from flambeau.codegen.sampling.parts import CORNERS, OUTSIDE, Part, gathered

SYMBOL: Final = "sample_rows"
SAMPLING: Final[Layout] = words_layout(
    "i64 x, i64 grid, i64 y, i64 channels, i64 height, i64 width, i64 x_image, i64 x_channel, i64 x_row, i64 x_column, "
    "i64 grid_image, i64 grid_row, i64 grid_column, i64 grid_axis, i64 rows, i64 columns, "
    "i64 is_nearest, i64 is_padded, i64 is_reflected, i64 is_aligned"
)
"""Which words of a launch's block are the addresses of arrays, and how these lie: steps are bytes. ``is_padded``:
places outside are brought inside, by reflection if that is said.
"""
SAMPLING_AT: Final = 4
"""The word of a launch's block with the address of `SAMPLING`."""
FEW: Final = 2.0**22
"""Reflections up to which a quotient counts them."""
LARGEST_POWER: Final = {"float": 127, "double": 1023}
"""Of two, among the numbers of a type."""
_AXES: Final = 2


def sampling_text(floats: Floats) -> str:
    """The module whose function `SYMBOL(block, low, high)` reads the rows of places of a range, image by image."""
    m = VectorModule(floats)
    _build_row(m)
    f = m.function(f"void {SYMBOL}", "ptr block", "i64 low", "i64 high", exported=True)
    block, low, high = f.parameters
    own = f.word_of(block, SAMPLING_AT, "ptr")
    x, grid, y = (f.word_of(block, f.get(own, SAMPLING, name), "ptr") for name in ("x", "grid", "y"))
    get = f.fields(own, SAMPLING)
    pitch = f.op("mul", f.divided_up(get["columns"], floats.lanes), floats.lanes)
    coordinates = f.call("allocate", f.bytes_of(f.op("mul", pitch, _AXES)))
    with f.loop(f.op("mul", pitch, _AXES)) as k:
        f.write(float_constant(0.0, floats.type, 1), f.moved(coordinates, f.bytes_of(k)))
    with f.loop(f.op("sub", high, low)) as k:
        unit = f.op("add", low, k)
        image, row = f.op("udiv", unit, get["rows"]), f.op("urem", unit, get["rows"])
        here = f.moved(grid, f.op("mul", image, get["grid_image"]), f.op("mul", row, get["grid_row"]))
        with f.loop(get["columns"]) as column:
            at = f.moved(here, f.op("mul", column, get["grid_column"]))
            for axis in range(_AXES):  # the grid has columns first
                coordinate = f.read(f.moved(at, f.op("mul", get["grid_axis"], _AXES - 1 - axis)), floats.type)
                f.write(coordinate, f.moved(coordinates, f.bytes_of(f.op("add", column, f.op("mul", pitch, axis)))))
        first = f.op("add", f.op("mul", f.op("mul", image, get["channels"]), get["rows"]), row)
        to = f.moved(y, f.op("mul", first, f.bytes_of(get["columns"])))
        f.call("read_row", own, f.moved(x, f.op("mul", image, get["x_image"])), to, coordinates, pitch)
    f.call("free", coordinates)
    f.ret()
    return m.builder.text()


class _Axis:
    """The arithmetic of vectors of places along an axis."""

    def __init__(self, f: VectorFunction, get: Callable[[str], Value], size: str) -> None:
        self._f, self._get = f, get
        self.size = f.splat(f.convert("sitofp", get(size), f.floats.type), f.floats.lanes)
        self.last = f.fsub(self.size, self._number(1.0))

    def _number(self, value: float) -> Value:
        return float_constant(value, self._f.floats.type, self._f.floats.lanes)

    def of(self, coordinate: Value) -> Value:
        """Where coordinates from -1 to 1 are among the elements, brought inside where that is wanted."""
        f, half = self._f, self._number(0.5)
        from_edge = f.fadd(coordinate, self._number(1.0))
        outer = f.fmul(f.fsub(f.fmul(from_edge, self.size), self._number(1.0)), half)
        coordinate_inside = f.select(self._get("is_aligned"), f.fmul(f.fmul(from_edge, half), self.last), outer)
        inside = f.select(self._get("is_reflected"), self._reflected(coordinate_inside), coordinate_inside)
        inside = f.select(f.fcmp("ole", inside, f.zero), f.zero, inside)
        inside = f.select(f.fcmp("oge", inside, self.last), self.last, inside)
        return f.select(self._get("is_padded"), inside, coordinate_inside)

    def _reflected(self, coordinate: Value) -> Value:
        """Places reflected at the ends until they are between them; 0 where the ends are one."""
        f = self._f
        least = f.select(self._get("is_aligned"), f.zero, self._number(-0.5))
        span = f.select(self._get("is_aligned"), self.last, self.size)
        away = f.intrinsic("fabs", f.fsub(coordinate, least))
        flips = f.intrinsic("floor", f.fdiv(away, span))
        extra = f.fma(f.fneg(flips), span, away)
        half = f.intrinsic("floor", f.fmul(flips, self._number(0.5)))
        odd = f.fsub(flips, f.fmul(half, self._number(2.0)))
        extra, odd = self._of_far(away, span, flips, (extra, odd))
        there = f.select(f.fcmp("oeq", odd, f.zero), extra, f.fsub(span, extra))
        return f.select(f.fcmp("oeq", span, f.zero), f.zero, f.fadd(there, least))

    def _of_far(self, away: Value, span: Value, flips: Value, near: tuple[Value, Value]) -> tuple[Value, Value]:
        """What is left of distances after whole spans, and whether these are an odd number; `near` where they are so
        few that one division tells. Of others spans are taken by powers of two, each without rounding.
        """
        f, t = self._f, self._f.floats.type
        is_far = f.binary("and", f.fcmp("ogt", flips, self._number(FEW)), f.fcmp("olt", away, self._number(math.inf)))
        is_far = f.binary("and", is_far, f.fcmp("ogt", span, f.zero))
        kept = [f.slot(vector_type(t, f.floats.lanes)) for _ in near]
        for slot, value in zip(kept, near, strict=True):
            f.write(value, slot)

        def take(_: Value, state: Sequence[Value]) -> list[Value]:
            left, power, _ = state
            part = f.fmul(span, power)
            is_over = f.fcmp("oge", left, part)
            rest = f.select(is_over, f.fsub(left, part), left)
            return [rest, f.fmul(power, self._number(0.5)), f.select(is_over, self._number(1.0), f.zero)]

        with f.when(f.any_lane(is_far)):
            most = LARGEST_POWER[t]
            left, _, odd = f.fold(int_constant(most + 1, "i64", 1), [away, self._number(2.0**most), f.zero], take)
            for slot, value, before in zip(kept, (left, odd), near, strict=True):
                f.write(f.select(is_far, value, before), slot)
        extra, odd = (f.read(slot, t, f.floats.lanes) for slot in kept)
        return extra, odd

    def around(self, coordinate: Value, one: Value) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
        """The whole places below and above, each with its share; below is the nearest where that is wanted."""
        f, position = self._f, self.of(coordinate)
        below = f.select(self._get("is_nearest"), f.intrinsic("rint", position), f.intrinsic("floor", position))
        above = f.fadd(below, one)
        return (below, f.fsub(above, position)), (above, f.fsub(position, below))

    def holds(self, index: Value) -> Value:
        """Whether there are elements at whole places."""
        f = self._f
        return f.binary("and", f.fcmp("oge", index, f.zero), f.fcmp("olt", index, self.size))


def _build_row(m: VectorModule) -> None:
    """``read_row``: what is read at the places of a row, of every channel."""
    f = m.function("void read_row", "ptr own", "ptr x", "ptr y", "ptr places", "i64 pitch")
    own, x, y, coordinates, pitch = f.parameters
    lanes = m.floats.lanes
    words = f.fields(own, SAMPLING)
    flags = {name: f.compare("ne", word, 0) for name, word in words.items() if name.startswith("is_")}
    steps = [f.splat(f.convert("trunc", words[name], "i32"), lanes) for name in ("x_row", "x_column")]
    plane = f.op("mul", words["rows"], f.bytes_of(words["columns"]))

    def get(name: str) -> Value:
        return flags.get(name, words[name])

    axes = [_Axis(f, get, size) for size in ("height", "width")]
    one, nowhere = float_constant(1.0, m.floats.type, lanes), int_constant(OUTSIDE, "i32", lanes)
    with f.loop(f.op("udiv", pitch, lanes)) as v:
        start = f.op("mul", v, lanes)
        froms = [f.moved(coordinates, f.bytes_of(f.op("add", start, f.op("mul", pitch, k)))) for k in range(_AXES)]
        sides = [axis.around(f.vector(address), one) for axis, address in zip(axes, froms, strict=True)]
        taken = []
        for number, corner in enumerate(CORNERS):
            (row, of_row), (column, of_column) = (side[k] for side, k in zip(sides, corner, strict=True))
            is_in = f.binary("and", axes[0].holds(row), axes[1].holds(column))
            share = f.fmul(of_row, of_column)
            share = share if number else f.select(get("is_nearest"), one, share)
            whole = [f.convert("fptosi", f.select(is_in, i, f.zero), "i32") for i in (row, column)]
            offset = f.binary("add", f.binary("mul", whole[0], steps[0]), f.binary("mul", whole[1], steps[1]))
            taken.append((f.select(is_in, offset, nowhere), f.select(is_in, share, f.zero)))
        left = f.op("sub", words["columns"], start)
        is_whole = f.compare("sge", left, lanes)
        for is_some, rest in ((is_whole, None), (f.negated(is_whole), left)):
            for is_mode, corners in ((get("is_nearest"), taken[:1]), (f.negated(get("is_nearest")), taken)):
                with f.when(f.op("and", is_some, is_mode)), f.loop(words["channels"]) as channel:
                    total, source = f.zero, f.moved(x, f.op("mul", channel, words["x_channel"]))
                    for offset, share in corners:
                        total = f.fadd(total, f.fmul(gathered(f, source, offset), share))
                    Part(f, f.bytes_of(start), rest).put(total, f.moved(y, f.op("mul", channel, plane)))
    f.ret()
