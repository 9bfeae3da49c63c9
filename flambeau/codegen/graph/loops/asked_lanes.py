"""Late functions that compute most results by themselves, and ask the C library for the rest, lane by lane.

quick(x)    →    results, and which of them are known        exactly(x)    →    what the C library gives of one lane
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.llvm.emitter import Emitter, Target, int_constant, vector_type
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.late_functions import LateFunction, LateText

Registers = tuple[Register, ...]
Quick = Callable[[Emitter, Registers], tuple[Register, Register]]
"""Emits results of as many lanes as the arguments have, and flags of those that are known."""
Exactly = Callable[[Emitter, Registers], Register]
"""Emits the result of one lane by calls of the C library."""
_LIKELY: Final = '!prof !{!"branch_weights", i32 2000, i32 1}'


def asking_text(late: LateFunction, target: Target, lanes: int, quick: Quick, exactly: Exactly) -> LateText:
    """The form of a function for so many lanes."""
    e = Emitter(target)
    symbol, vt = late.symbol(lanes), vector_type("double", lanes)
    xs = tuple(Register(f"%x{k}", "double", lanes) for k in range(late.arity))
    result, is_known = quick(e, xs)
    asked, after, before = e.label("asked"), e.label("after"), e.block
    more = ""
    if lanes == 1:
        e.raw(f"br i1 {is_known}, label %{after}, label %{asked}, {_LIKELY}")
        e.start(asked)
        by_library = exactly(e, xs)
    else:
        known = e.define(f"bitcast {is_known.full_type} {is_known} to i{lanes}", f"i{lanes}", 1)
        mask = e.binary("xor", known, int_constant(-1, f"i{lanes}", 1))
        e.raw(f"br i1 {e.icmp('eq', mask, int_constant(0, mask.type, 1))}, label %{after}, label %{asked}, {_LIKELY}")
        e.start(asked)
        passed = ", ".join(f"{vt} {x}" for x in (*xs, result))
        by_library = e.define(f"call {vt} @{symbol}.some({passed}, {mask.type} {mask})", "double", lanes)
        more = _some_text(e, f"{symbol}.some", xs, exactly)
    e.branch(after)
    e.start(after)
    joined = e.name("joined")
    e.phi(joined, xs[0], [(result, before), (by_library, asked)])
    e.raw(f"ret {vt} {joined}")
    head = f"define hidden {vt} @{symbol}({', '.join(f'{vt} {x}' for x in xs)}) nounwind alwaysinline {{\nentry:\n"
    return LateText(head + "\n".join((*e.entry, *e.lines, "}", more)), tuple(e.declarations))


def _some_text(around: Emitter, name: str, xs: Registers, exactly: Exactly) -> str:
    """A function of arguments, their results so far, and bits for those lanes that the C library is asked for."""
    e = Emitter(around.target, declarations=around.declarations)
    lanes = xs[0].lanes
    vt, bits = vector_type("double", lanes), f"i{lanes}"
    slots = [e.slot(vt) for _ in (*xs, "results")]
    for slot, value in zip(slots, (*xs, "%results"), strict=True):
        e.raw(f"store {vt} {value}, ptr {slot}, align 64")
    e.branch("next")
    e.start("next")
    mask, rest = Register("%mask", bits, 1), Register("%rest", bits, 1)
    e.phi("%mask", mask, [(Register("%asked", bits, 1), "entry"), (rest, "next")])
    e.declare(f"declare {bits} @llvm.cttz.{bits}({bits}, i1)")
    lane = e.convert("zext", e.define(f"call {bits} @llvm.cttz.{bits}({bits} {mask}, i1 true)", bits, 1), "i64")
    of_lane = [e.define(f"load double, ptr {e.offset(s, lane, 'double')}, align 8", "double", 1) for s in slots[:-1]]
    result = exactly(e, tuple(of_lane))
    e.raw(f"store double {result}, ptr {e.offset(slots[-1], lane, 'double')}, align 8")
    e.raw(f"%lower = sub {bits} {mask}, 1")
    e.raw(f"{rest} = and {bits} {mask}, %lower")
    e.branch_if(e.icmp("ne", rest, int_constant(0, bits, 1)), "next", "done")
    e.start("done")
    e.raw(f"ret {vt} {e.define(f'load {vt}, ptr {slots[-1]}, align 64', 'double', lanes)}")
    arguments = ", ".join(f"{vt} {x}" for x in (*xs, "%results"))
    head = f"define internal {vt} @{name}({arguments}, {bits} %asked) nounwind noinline cold {{\nentry:\n"
    return head + "\n".join((*e.entry, *e.lines, "}"))
