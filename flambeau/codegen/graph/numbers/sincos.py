"""The sine and the cosine of one number by one call, where the C library has it: the same bits in half the time."""

from __future__ import annotations

from flambeau.codegen.graph.loops.lanes_emitter import LaneEmitter
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.engine import has_c_function
from flambeau.codegen.llvm.lanes import PREFIX, call_lanes

_PAIR = ("sin", "cos")


def sine_or_cosine(e: LaneEmitter, op: str, angle: Register) -> Register:
    """`sin` or `cos` of a double; the second of the two in a block makes one call of what were two."""
    partner = _PAIR[1 - _PAIR.index(op)]
    known = e.angles.get((partner, angle.text))
    if known is not None and e.lanes == 1 and has_c_function("sincos"):
        line, text, name, block = known
        if block == e.block and line < len(e.lines) and e.lines[line] == text:
            return _joined(e, op, angle, line, name)
    line = len(e.lines)
    result = call_lanes(e, op, (angle,))
    if e.lanes == 1 and len(e.lines) == line + 1:
        e.angles[op, angle.text] = (line, e.lines[line], result.text, e.block)
    return result


def _joined(e: LaneEmitter, op: str, angle: Register, line: int, name: str) -> Register:
    """Make the call that gave ``name`` one for both, and take the other result."""
    slots = {f: e.slot("double", 8) for f in _PAIR}
    e.declare(f"declare void @{PREFIX}sincos(double, ptr, ptr)")
    e.libm.setdefault("sincos")
    partner = _PAIR[1 - _PAIR.index(op)]
    e.lines[line : line + 1] = [
        f"  call void @{PREFIX}sincos(double {angle}, ptr {slots['sin']}, ptr {slots['cos']})",
        f"  {name} = load double, ptr {slots[partner]}",
    ]
    return e.define(f"load double, ptr {slots[op]}", "double", 1)
