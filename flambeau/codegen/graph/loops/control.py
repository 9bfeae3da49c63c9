"""Loops that lowerings emit for themselves."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.runtime import POLL_INTERVAL
from flambeau.codegen.llvm.emitter import Value as Register

HINTS = """!20 = !{!"branch_weights", i32 1, i32 1048576}
!21 = !{!"branch_weights", i32 1048576, i32 1}
!22 = !{!"llvm.loop.unroll.count", i32 8}
!23 = !{!"llvm.loop.vectorize.enable", i1 false}"""
"""What branches and loops say to LLVM: rarely taken, nearly always taken, several iterations one after the other, no
vectors.
"""


def each(fn: EmittedFunction, size: Register, body: Callable[[Register], None]) -> None:
    """``body`` of 0, 1, ... up to ``size``."""
    fn.parts.walks += 1
    each_part(fn, size, body)


def each_part(fn: EmittedFunction, size: Register, body: Callable[[Register], None]) -> None:
    """The same, where the body has a call do most of the work, so that LLVM's passes would save nothing."""
    e = fn.e
    head, iteration, after, before = e.label("each"), e.label("item"), e.label("after"), e.label("before")
    index, following = Register(e.name("k"), "i64", 1), Register(e.name("k"), "i64", 1)
    latch = e.label("latch")
    e.branch(before)
    e.start(before)
    e.branch(head)
    e.start(head)
    e.raw(f"{index} = phi i64 [0, %{before}], [{following}, %{latch}]")
    e.branch_if(e.icmp("slt", index, size), iteration, after)
    e.start(iteration)
    body(index)
    e.branch(latch)
    e.start(latch)
    e.raw(f"{following} = add nuw nsw i64 {index}, 1")
    e.branch(head)
    e.start(after)


def rounds(fn: EmittedFunction) -> str:
    """A place before an innermost loop, to which it goes back after a look at the clock: the loop itself calls nothing,
    so that what it works on stays in registers.
    """
    again = fn.e.label("rounds")
    fn.e.branch(again)
    fn.e.start(again)
    fn.e.raw('call void asm sideeffect "", ""()')
    return again


def poll(fn: EmittedFunction, iterations: Register, again: str = "") -> None:
    """Count iterations, and look at the clock when there have been many; then go on, or back to ``again``."""
    e = fn.e
    left = e.define(f"load i64, ptr {fn.poll_counter}", "i64", 1)
    less = e.binary("sub", left, iterations)
    e.raw(f"store i64 {less}, ptr {fn.poll_counter}")
    look, on = e.label("look"), e.label("on")
    e.raw(f"br i1 {e.icmp('slt', less, number(0))}, label %{look}, label %{on}, !prof !20")
    e.start(look)
    e.raw(f"store i64 {POLL_INTERVAL}, ptr {fn.poll_counter}")
    code = e.define(f"call i64 @look_at_clock(ptr {fn.exits.context})", "i64", 1)
    stop = e.label("stop")
    e.raw(f"br i1 {e.icmp('ne', code, number(0))}, label %{stop}, label %{again or on}, !prof !20")
    e.start(stop)
    fn.exits.leave_with(code)
    e.start(on)
