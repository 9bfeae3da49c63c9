"""The first lanes of a vector in memory, by halves: 13 of 16 lanes are 8, 4 and 1.

Where a processor has no masks of its own (what is before AVX-512, and ARM), LLVM goes from lane to lane. AVX2 has
masked stores of 32 and 64 bits, which take as long as a dozen others on many processors, and what they
wrote is read back late.
"""

from __future__ import annotations

from flambeau.codegen.llvm.emitter import BITS, Emitter, Target, Value, int_constant
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class First:
    """How many lanes count, those of a mask that has the first ones."""

    count: Value
    may_be_all: bool = False
    """Whether there may be as many as a vector has, or more."""

    @property
    def number(self) -> int | None:
        """The count where it is a constant."""
        return None if self.count.text.startswith("%") else int(self.count.text)

    def times(self, e: Emitter, parts: int) -> First:
        """The lanes of so many parts of each."""
        if self.number is not None:
            return First(int_constant(self.number * parts, "i64", 1))
        return First(e.binary("mul", self.count, int_constant(parts, "i64", 1)), self.may_be_all)


def are_stored_by_halves(target: Target, first: First | None) -> bool:
    """Whether to write by halves what is left of a row; None where the lanes that count may be any."""
    return first is not None and not target.has_masks


def are_loaded_by_halves(target: Target, first: First | None, element: str) -> bool:
    """Whether to read by halves: AVX2 has masked loads of 32 and 64 bits, which take as long as others."""
    if first is None or target.has_masks:
        return False
    return first.number is not None or target.vector_bits < 256 or BITS[element] < 32


def store(e: Emitter, value: Value, address: Value, itemsize: int, first: First) -> None:
    """Write the first lanes; where their number is a constant, less than all, without a branch."""
    end = ""
    if first.may_be_all:
        end, whole, part = e.label("stored"), e.label("whole"), e.label("part")
        e.branch_if(_are_all(e, first, value.lanes), whole, part)
        e.start(whole)
        e.write(value, address, align=itemsize)
        e.branch(end)
        e.start(part)
    while value.lanes > 1:
        half = value.lanes // 2
        low = _half(e, value, 0)
        if first.number is None:
            value, address = _stored_if_there(e, value, low, address, itemsize, first.count)
        elif first.number & half:
            e.write(low, address, align=itemsize)
            value, address = _half(e, value, 1), e.offset(address, half * itemsize)
        else:
            value = low
    if end:
        e.branch(end)
        e.start(end)


def of_mask(e: Emitter, mask: Value) -> First:
    """How many lanes a mask has, which has the first ones."""
    kind = f"i{mask.lanes}"
    bits = e.define(f"bitcast {mask.full_type} {mask} to {kind}", kind, 1)
    count = e.intrinsic("ctpop", bits)
    return First(e.convert("zext", count, "i64") if mask.lanes < BITS["i64"] else count, may_be_all=True)


def _stored_if_there(
    e: Emitter, value: Value, low: Value, address: Value, itemsize: int, count: Value
) -> tuple[Value, Value]:
    """Write the lower half if there are as many lanes. Gives what is left, a half too, and where it goes."""
    there, after, before = e.label("half"), e.label("halves"), e.block
    e.branch_if(_has(e, count, low.lanes), there, after)
    e.start(there)
    e.write(low, address, align=itemsize)
    high, moved = _half(e, value, 1), e.offset(address, low.lanes * itemsize)
    e.branch(after)
    e.start(after)
    return _either(e, (low, before), (high, there)), _either(e, (address, before), (moved, there))


def load(e: Emitter, base: Value, element: str, itemsize: int, lanes: int, first: First) -> Value:
    """The first lanes, and zeros behind them; where their number is a constant, less than all, without a branch."""
    if not first.may_be_all:
        return _loaded(e, base, element, itemsize, lanes, first)
    end, whole, part = e.label("loaded"), e.label("whole"), e.label("part")
    e.branch_if(_are_all(e, first, lanes), whole, part)
    e.start(whole)
    everything = e.read(base, element, lanes, align=itemsize)
    e.branch(end)
    e.start(part)
    some, behind = _loaded(e, base, element, itemsize, lanes, first), e.block
    e.branch(end)
    e.start(end)
    return _either(e, (everything, whole), (some, behind))


def _loaded(e: Emitter, base: Value, element: str, itemsize: int, lanes: int, first: First) -> Value:
    """The first lanes, fewer than all."""
    value, number = Value("zeroinitializer", element, 1), first.number
    while value.lanes < lanes:
        if number is None:
            value = _loaded_if_there(e, value, base, itemsize, first.count)
        elif number & value.lanes:
            start = number & -2 * value.lanes
            value = e.joined([e.read(e.offset(base, start * itemsize), element, value.lanes, align=itemsize), value])
        else:
            value = _with_zeros(e, value)
    return value


def _loaded_if_there(e: Emitter, value: Value, base: Value, itemsize: int, count: Value) -> Value:
    """What lies behind a vector's worth of elements, with these before it if there are as many; of twice the lanes."""
    there, after, before = e.label("half"), e.label("halves"), e.block
    alone = _with_zeros(e, value)
    e.branch_if(_has(e, count, value.lanes), there, after)
    e.start(there)
    start = e.binary("and", count, int_constant(-2 * value.lanes, "i64", 1))
    address = e.offset(base, e.binary("mul", start, int_constant(itemsize, "i64", 1)))
    both = e.joined([e.read(address, value.type, value.lanes, align=itemsize), value])
    e.branch(after)
    e.start(after)
    return _either(e, (alone, before), (both, there))


def _are_all(e: Emitter, first: First, lanes: int) -> Value:
    return e.icmp("sge", first.count, int_constant(lanes, "i64", 1))


def _has(e: Emitter, count: Value, lanes: int) -> Value:
    """Whether a count has this power of two in it."""
    return e.icmp("ne", e.binary("and", count, int_constant(lanes, "i64", 1)), int_constant(0, "i64", 1))


def _half(e: Emitter, value: Value, which: int) -> Value:
    """The lower half of a vector, or with 1 the upper."""
    half = value.lanes // 2
    if half > 1:
        return e.part(value, which * half, half)
    return e.define(f"extractelement {value.full_type} {value}, i64 {which}", value.type, 1)


def _with_zeros(e: Emitter, value: Value) -> Value:
    """As many zeros behind a vector."""
    return e.joined([value, Value("zeroinitializer", value.type, value.lanes)])


def _either(e: Emitter, *ways: tuple[Value, str]) -> Value:
    """The value of the block that control came from."""
    name, a = e.name(), ways[0][0]
    e.phi(name, a, list(ways))
    return Value(name, a.type, a.lanes)
