"""Complex numbers in registers: as in memory, both parts of an element side by side, twice as many lanes as elements.

Nothing is computed in them: `real` and `imag` take every second lane, `complex` puts lanes of two vectors in turn.
"""

from __future__ import annotations

from flambeau.codegen.llvm.emitter import Emitter, Value, int_constant

PARTS = 2


def part(e: Emitter, whole: Value, which: int) -> Value:
    """The real parts, or with 1 the imaginary ones."""
    if whole.lanes == PARTS:
        return e.define(f"extractelement {whole.full_type} {whole}, i64 {which}", whole.type, 1)
    return e.shuffle(whole, whole, range(which, whole.lanes, PARTS))


def joined(e: Emitter, real: Value, imaginary: Value) -> Value:
    """Complex numbers of their parts."""
    if real.lanes == 1:
        return e.gathered([real, imaginary])
    lanes = real.lanes
    return e.shuffle(real, imaginary, [k + which * lanes for k in range(lanes) for which in range(PARTS)])


def spread(e: Emitter, whole: Value, lanes: int) -> Value:
    """The same number in so many lanes of elements; what has them already as it is."""
    if whole.lanes == lanes * PARTS:
        return whole
    return e.shuffle(whole, whole, [*range(PARTS)] * lanes)


def mask_of_parts(e: Emitter, mask: Value) -> Value:
    """A mask of elements, for both parts of each."""
    return e.shuffle(mask, mask, [k for k in range(mask.lanes) for _ in range(PARTS)])


def addresses_of_parts(e: Emitter, pointers: Value, itemsize: int) -> Value:
    """Where both parts of elements lie, which lie anywhere; ``itemsize`` is that of a part."""
    step = int_constant(itemsize, "i64", 1)
    imaginary = e.define(f"getelementptr i8, {pointers.full_type} {pointers}, i64 {step}", "ptr", pointers.lanes)
    return joined(e, pointers, imaginary)
