"""Emitting a loop: a `prim::Loop` whose body has a scope of its own, or the body unrolled once for each item.

While emitting, the body's only return is the condition for another round; `exits` and `to_ssa` make its final form.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.frontend.emit.attribute_refinement import forget_all
from flambeau.frontend.emit.emission import Emission, LoopState
from flambeau.frontend.emit.environment import Absent, Frame, Variable
from flambeau.frontend.values.sugared import Iteration, Sugared
from flambeau.ir.value import Value
from flambeau.schema.types import INT
from flambeau.util.source import SourceRange

FOREVER = (1 << 63) - 1
"""The trip count of a loop that only its condition ends."""


def emit_for(
    e: Emission, where: SourceRange, iteration: Iteration, body: Callable[[Sugared], bool], *, jumps: bool = False
) -> bool:
    """`body` for each item; whether control can go on behind the loop. `body` says whether it goes on behind itself.

    `jumps` says whether there is a `break` or `continue` in it.
    """
    whole = iteration.emit(e, where, body, jumps)
    if whole is not None:
        return whole
    if iteration.unrolled is not None:
        return _emit_unrolled(e, iteration.unrolled, body)
    count = iteration.trip_count(e, where)
    assert count is not None
    node = e.graph.insert("prim::Loop", (count, e.constant(True)), ())
    block = node.add_block()
    index = block.add_input(INT)
    with e.inside(block) as frame:
        forget_all(e)
        state = LoopState(lambda: e.constant(True), len(e.contexts), e.frame.parent)
        before, e.loop = e.loop, state
        body(iteration.at(e, where, index))
        e.loop = before
        block.add_output(e.constant(True))
    _without_deleted(e, frame)
    e.last_loop = node, state
    return True


def _without_deleted(e: Emission, body: Frame[Sugared]) -> None:
    """Names from around a loop that its body deletes mean nothing behind it."""
    for name, meaning in body.names.items():
        if isinstance(meaning, Absent) and isinstance(e.frame.find(name), Variable):
            e.frame.names[name] = meaning


def left_by_break(e: Emission) -> dict[str, Variable]:
    """The own variables of the loop emitted last that have a value, and one type, behind every `break`.

    Behind the loop they exist where it was left by `break`; before it they are given a value that nobody reads.
    """
    if e.last_loop is None or not e.last_loop[1].breaks:
        return {}
    node, state = e.last_loop
    first, *others = state.breaks
    left = {name: found for name, found in first.items() if all(other.get(name) == found for other in others)}
    with e.graph.inserting(node):
        for found in left.values():
            e.insert("prim::Store", (e.emit("prim::Uninitialized", (), found.type),), name=found.slot, type=found.type)
    return left


def note_break(e: Emission) -> None:
    """Take down what variables of the loop are known at a `break`."""
    assert e.loop is not None
    found: dict[str, Variable] = {}
    hidden: set[str] = set()
    frame: Frame[Sugared] | None = e.frame
    while frame is not None and frame is not e.loop.outside:
        for name, meaning in frame.names.items():
            if isinstance(meaning, Variable) and name not in hidden:
                found.setdefault(name, meaning)
            hidden.add(name)
        frame = frame.parent
    outside = e.loop.outside
    e.loop.breaks.append({n: v for n, v in found.items() if outside is None or outside.find(n) is None})


def _emit_unrolled(e: Emission, items: list[Sugared], body: Callable[[Sugared], bool]) -> bool:
    before, e.loop = e.loop, LoopState(None, len(e.contexts))
    falls = True
    for item in items:
        falls = body(item)
        if not falls:
            break
    e.loop = before
    return falls


def emit_while(
    e: Emission, first: Value, refine: Callable[[], None], again: Callable[[], Value], body: Callable[[], bool]
) -> None:
    """`body` as long as `again` emits a true value; `first` is the value before the first round."""
    node = e.graph.insert("prim::Loop", (e.constant(FOREVER), first), ())
    block = node.add_block()
    block.add_input(INT)
    with e.inside(block) as frame:
        forget_all(e)
        state = LoopState(again, len(e.contexts), e.frame.parent)
        before, e.loop = e.loop, state
        refine()
        falls = body()
        e.loop = before
        block.add_output(again() if falls else e.constant(False))
    _without_deleted(e, frame)
    e.last_loop = node, state
