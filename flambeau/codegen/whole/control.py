"""Loops that lowerings emit for themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.whole.memory import number
from flambeau.codegen.whole.runtime import TICKS

if TYPE_CHECKING:
    from flambeau.codegen.whole.function import FunctionEmitter


HINTS = """!20 = !{!"branch_weights", i32 1, i32 1048576}
!21 = !{!"branch_weights", i32 1048576, i32 1}
!22 = !{!"llvm.loop.unroll.count", i32 8}"""
"""What branches and loops say to LLVM: rarely taken, nearly always taken, several turns one after the other."""


def each(fn: FunctionEmitter, size: Register, body: Callable[[Register], None]) -> None:
    """``body`` of 0, 1, ... up to ``size``."""
    e = fn.e
    head, turn, after, before = e.label("each"), e.label("item"), e.label("after"), e.label("before")
    index, following = Register(e.name("k"), "i64", 1), Register(e.name("k"), "i64", 1)
    latch = e.label("latch")
    e.branch(before)
    e.start(before)
    e.branch(head)
    e.start(head)
    e.raw(f"{index} = phi i64 [0, %{before}], [{following}, %{latch}]")
    e.branch_if(e.icmp("slt", index, size), turn, after)
    e.start(turn)
    body(index)
    e.branch(latch)
    e.start(latch)
    e.raw(f"{following} = add nuw nsw i64 {index}, 1")
    e.branch(head)
    e.start(after)


def rounds(fn: FunctionEmitter) -> str:
    """A place before an innermost loop, to which it goes back after a look at the clock: the loop itself calls nothing,
    so that what it works on stays in registers.
    """
    again = fn.e.label("rounds")
    fn.e.branch(again)
    fn.e.start(again)
    fn.e.raw('call void asm sideeffect "", ""()')
    return again


def tick(fn: FunctionEmitter, turns: Register, again: str = "") -> None:
    """Count turns, and look at the clock when there have been many; then go on, or back to ``again``."""
    e = fn.e
    left = e.define(f"load i64, ptr {fn.ticks}", "i64", 1)
    less = e.binary("sub", left, turns)
    e.raw(f"store i64 {less}, ptr {fn.ticks}")
    look, on = e.label("look"), e.label("on")
    e.raw(f"br i1 {e.icmp('slt', less, number(0))}, label %{look}, label %{on}, !prof !20")
    e.start(look)
    e.raw(f"store i64 {TICKS}, ptr {fn.ticks}")
    code = e.define(f"call i64 @look_at_clock(ptr {fn.context})", "i64", 1)
    stop = e.label("stop")
    e.raw(f"br i1 {e.icmp('ne', code, number(0))}, label %{stop}, label %{again or on}, !prof !20")
    e.start(stop)
    fn.leave_with(code)
    e.start(on)
