"""Vectors of places: numbers of them side by side in memory, and pixels that lie anywhere."""

from __future__ import annotations

from typing import Final

from flambeau.codegen.convolutions.vectors import VectorFunction
from flambeau.codegen.llvm.emitter import Value, int_constant, vector_type
from flambeau.codegen.llvm.memory import suffix
from flambeau.util.record import dataclass

CORNERS: Final = ((0, 0), (0, 1), (1, 0), (1, 1))
"""The elements around a place, row and column."""
OUTSIDE: Final = -(1 << 31)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the places in a row of them: a vector, or those `left` at the end."""

    f: VectorFunction
    offset: Value
    """Bytes from the first place."""
    left: Value | None

    def take(self, address: Value) -> Value:
        """Numbers of these places; zeros for lanes that have none."""
        f = self.f
        here = f.moved(address, self.offset)
        if self.left is None or f.floats.has_masks:
            return f.vector(here, None if self.left is None else f.mask_below(self.left))
        slot = f.slot(vector_type(f.floats.type, f.floats.lanes))
        f.write(f.zero, slot)
        with f.loop(self.left) as k:
            f.write(f.read(f.moved(here, f.bytes_of(k)), f.floats.type), f.moved(slot, f.bytes_of(k)))
        return f.read(slot, f.floats.type, f.floats.lanes)

    def put(self, value: Value, address: Value) -> None:
        """Write numbers of these places."""
        f = self.f
        here = f.moved(address, self.offset)
        if self.left is None or f.floats.has_masks:
            f.put_vector(value, here, None if self.left is None else f.mask_below(self.left))
            return
        slot = f.slot(vector_type(f.floats.type, f.floats.lanes))
        f.write(value, slot)
        with f.loop(self.left) as k:
            f.write(f.read(f.moved(slot, f.bytes_of(k)), f.floats.type), f.moved(here, f.bytes_of(k)))


def gathered(f: VectorFunction, base: Value, offsets: Value) -> Value:
    """The numbers some bytes from an address; zeros for those outside."""
    t, lanes = f.floats.type, offsets.lanes
    kind, ending = vector_type(t, lanes), suffix(t, lanes)
    is_in = f.icmp("ne", offsets, int_constant(OUTSIDE, "i32", lanes))
    addresses = f.define(f"getelementptr i8, ptr {base}, {offsets.full_type} {offsets}", "ptr", lanes)
    name = f"llvm.masked.gather.{ending}.v{lanes}p0"
    f.declare(f"declare {kind} @{name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {kind})")
    how = f"i32 {f.floats.itemsize}, <{lanes} x i1> {is_in}, {kind} zeroinitializer"
    return f.define(f"call {kind} @{name}(<{lanes} x ptr> {addresses}, {how})", t, lanes)
