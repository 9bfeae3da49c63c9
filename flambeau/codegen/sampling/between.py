"""Images read between their pixels and both adjoints, an image at a time, a vector of places at a time.

For each vector of places it is worked out once which pixels lie around them, how many bytes these are from the first of
a plane, and how near they are; then come the channels. A pixel that is outside is not read, and has zeros added to the
first of the plane.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from flambeau.codegen.convolutions.vectors import Floats, VectorModule
from flambeau.codegen.layouts import Layout, words_layout
from flambeau.codegen.llvm.emitter import Value, float_constant, int_constant, vector_type
from flambeau.codegen.sampling.parts import CORNERS, OUTSIDE, Part, gathered
from flambeau.util.record import dataclass

READ: Final = "read_between"
SPREAD: Final = "spread_between"
TILT: Final = "tilt_between"
BETWEEN: Final[Layout] = words_layout(
    "i64 rows, i64 numbers, i64 places, i64 result, i64 channels, i64 height, i64 width, i64 points"
)
"""Which words of a launch's block are the addresses of arrays, which are all row-major, and their sizes."""
BETWEEN_AT: Final = 5
"""The word of a launch's block with the address of `BETWEEN`."""


@dataclass(frozen=True, slots=True)
class _Corner:
    """The pixels at one corner of places: whether they are there, their bytes from the first, and how near they are."""

    is_in: Value
    offset: Value
    """`OUTSIDE` for a pixel that is not there."""
    share: Value


class _Between(ABC):
    """What the functions have in common: the loop over images and vectors of places."""

    def __init__(self, m: VectorModule, symbol: str) -> None:
        self.f = f = m.function(f"void {symbol}", "ptr block", "i64 low", "i64 high", exported=True)
        self._block, self._low, self._high = f.parameters
        self._own = f.word_of(self._block, BETWEEN_AT, "ptr")
        self.get = f.fields(self._own, BETWEEN)
        self.plane = f.op("mul", f.op("mul", self.get["height"], self.get["width"]), f.floats.itemsize)
        self.line = f.bytes_of(self.get["points"])
        self._sums = [f.slot(vector_type(f.floats.type, f.floats.lanes)) for _ in CORNERS]

    def array(self, name: str) -> Value:
        """The address of an array."""
        return self.f.word_of(self._block, self.get[name], "ptr")

    def images(self, array: str, of_image: Value) -> Value:
        """The address of an array's part for the image at hand, whose parts have so many bytes each."""
        return self.f.moved(self.array(array), self.f.op("mul", self.image, of_image))

    def of_channels(self, size: Value) -> Value:
        """The bytes of all channels, of so many each."""
        return self.f.op("mul", self.get["channels"], size)

    def build(self) -> None:
        """Write the function."""
        f = self.f
        with f.loop(f.op("sub", self._high, self._low)) as k:
            self.image = f.op("add", self._low, k)
            self.places = self.images("places", f.op("mul", self.line, 2))
            self.start()
            lanes = f.floats.lanes
            whole = f.op("udiv", self.get["points"], lanes)
            with f.loop(whole) as v:
                self.part(Part(f, f.op("mul", v, lanes * f.floats.itemsize), None))
            done = f.op("mul", whole, lanes)
            left = f.op("sub", self.get["points"], done)
            with f.when(f.compare("sgt", left, 0)):
                self.part(Part(f, f.bytes_of(done), left))
        f.ret()

    @abstractmethod
    def start(self) -> None:
        """Begin an image."""

    @abstractmethod
    def part(self, part: Part) -> None:
        """Do what there is to do for some of its places."""

    def corners(self, part: Part) -> tuple[list[_Corner], Value, Value]:
        """The corners of places, and how far these are below and to the right of the first ones."""
        f, lanes, one = self.f, self.f.floats.lanes, self.number(1.0)
        sizes = [f.splat(f.convert("sitofp", self.get[name], f.floats.type), lanes) for name in ("height", "width")]
        coordinates = [part.take(self.places), part.take(f.moved(self.places, self.line))]
        is_near = f.binary("and", *[self._is_near(c, size) for c, size in zip(coordinates, sizes, strict=True)])
        coordinates = [f.select(is_near, c, f.zero) for c in coordinates]
        below = [f.intrinsic("floor", c) for c in coordinates]
        after = [f.fsub(c, b) for c, b in zip(coordinates, below, strict=True)]
        before = [f.fsub(one, a) for a in after]
        corners = []
        for corner in CORNERS:
            index = [f.fadd(b, one) if side else b for b, side in zip(below, corner, strict=True)]
            share = f.fmul(*[after[k] if side else before[k] for k, side in enumerate(corner)])
            is_in = is_near
            for i, size in zip(index, sizes, strict=True):
                is_in = f.binary("and", is_in, f.binary("and", f.fcmp("oge", i, f.zero), f.fcmp("olt", i, size)))
            corners.append(_Corner(is_in, self._offset(index, is_in), share))
        return corners, after[0], after[1]

    def _is_near(self, coordinate: Value, size: Value) -> Value:
        """Whether coordinates are between pixels of which one may be there; not if they are nan."""
        f = self.f
        return f.binary("and", f.fcmp("oge", coordinate, self.number(-1.0)), f.fcmp("olt", coordinate, size))

    def _offset(self, index: list[Value], is_in: Value) -> Value:
        """How many bytes pixels of whole rows and columns are from the first; `OUTSIDE` for those not there."""
        f, lanes = self.f, self.f.floats.lanes
        steps = [f.convert("trunc", f.bytes_of(self.get["width"]), "i32"), int_constant(f.floats.itemsize, "i32", 1)]
        whole = [f.convert("fptosi", f.select(is_in, i, f.zero), "i32") for i in index]
        offset = f.binary("add", *[f.binary("mul", w, f.splat(s, lanes)) for w, s in zip(whole, steps, strict=True)])
        return f.select(is_in, offset, int_constant(OUTSIDE, "i32", lanes))

    def number(self, value: float) -> Value:
        """A vector of one number."""
        return float_constant(value, self.f.floats.type, self.f.floats.lanes)

    def sums(self) -> list[Value]:
        """The sums that `add_to` made, and zeros before."""
        return [self.f.read(slot, self.f.floats.type, self.f.floats.lanes) for slot in self._sums]

    def clear_sums(self) -> None:
        """Begin sums anew."""
        for slot in self._sums:
            self.f.write(self.f.zero, slot)

    def add_to(self, number: int, value: Value) -> None:
        """Add to a sum."""
        slot = self._sums[number]
        self.f.write(self.f.fadd(self.f.read(slot, value.type, value.lanes), value), slot)


class _Read(_Between):
    """result[n, c, p]: the pixels around a place, each by how near it is."""

    def start(self) -> None:
        self._rows = self.images("rows", self.of_channels(self.plane))
        self._result = self.images("result", self.of_channels(self.line))

    def part(self, part: Part) -> None:
        f = self.f
        corners, _, _ = self.corners(part)
        with f.loop(self.get["channels"]) as channel:
            plane = f.moved(self._rows, f.op("mul", channel, self.plane))
            a, b, c, d = (f.fmul(corner.share, gathered(f, plane, corner.offset)) for corner in corners)
            part.put(f.fadd(f.fadd(a, b), f.fadd(c, d)), f.moved(self._result, f.op("mul", channel, self.line)))


class _Spread(_Between):
    """Numbers added to the pixels of result[n, c] around their places, each by how near it is."""

    def start(self) -> None:
        f = self.f
        self._numbers = self.images("numbers", self.of_channels(self.line))
        self._result = self.images("result", self.of_channels(self.plane))
        f.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        f.raw(f"call void @llvm.memset.p0.i64(ptr {self._result}, i8 0, i64 {self.of_channels(self.plane)}, i1 false)")
        self._offsets = [f.slot(vector_type("i32", f.floats.lanes)) for _ in CORNERS]

    def part(self, part: Part) -> None:
        f = self.f
        corners, _, _ = self.corners(part)
        for corner, slot in zip(corners, self._offsets, strict=True):
            f.write(f.select(corner.is_in, corner.offset, int_constant(0, "i32", f.floats.lanes)), slot)
        with f.loop(self.get["channels"]) as channel:
            plane = f.moved(self._result, f.op("mul", channel, self.plane))
            numbers = part.take(f.moved(self._numbers, f.op("mul", channel, self.line)))
            for corner, slot in zip(corners, self._sums, strict=True):
                f.write(f.select(corner.is_in, f.fmul(corner.share, numbers), f.zero), slot)
            for offsets, shares in zip(self._offsets, self._sums, strict=True):
                self._add_lanes(plane, offsets, shares)

    def _add_lanes(self, plane: Value, offsets: Value, shares: Value) -> None:
        """Add the shares of one corner to pixels, one after the other: lanes may have the same pixel."""
        f, t = self.f, self.f.floats.type
        with f.loop(f.floats.lanes) as k:
            offset = f.read(f.moved(offsets, f.op("mul", k, 4)), "i32", align=4)
            pixel = f.moved(plane, f.convert("sext", offset, "i64"))
            f.write(f.fadd(f.read(pixel, t), f.read(f.moved(shares, f.bytes_of(k)), t)), pixel)


class _Tilt(_Between):
    """result[n, :, p]: how the sum over channels of numbers times what is read changes with the place, down and to the
    right.
    """

    def start(self) -> None:
        self._rows = self.images("rows", self.of_channels(self.plane))
        self._numbers = self.images("numbers", self.of_channels(self.line))
        self._result = self.images("result", self.f.op("mul", self.line, 2))

    def part(self, part: Part) -> None:
        f = self.f
        corners, down, right = self.corners(part)
        self.clear_sums()
        with f.loop(self.get["channels"]) as channel:
            plane = f.moved(self._rows, f.op("mul", channel, self.plane))
            numbers = part.take(f.moved(self._numbers, f.op("mul", channel, self.line)))
            for k, corner in enumerate(corners):
                self.add_to(k, f.fmul(numbers, gathered(f, plane, corner.offset)))
        a, b, c, d = (f.select(corner.is_in, s, f.zero) for corner, s in zip(corners, self.sums(), strict=True))
        part.put(self._between(f.fsub(c, a), f.fsub(d, b), right), self._result)
        part.put(self._between(f.fsub(b, a), f.fsub(d, c), down), f.moved(self._result, self.line))

    def _between(self, first: Value, second: Value, share: Value) -> Value:
        f = self.f
        return f.fadd(f.fmul(first, f.fsub(self.number(1.0), share)), f.fmul(second, share))


FUNCTIONS: Final[dict[str, type[_Between]]] = {READ: _Read, SPREAD: _Spread, TILT: _Tilt}


def between_text(floats: Floats) -> str:
    """The module whose functions ``(block, low, high)`` compute a range of images."""
    m = VectorModule(floats)
    for symbol, function in FUNCTIONS.items():
        function(m, symbol).build()
    return m.builder.text()
