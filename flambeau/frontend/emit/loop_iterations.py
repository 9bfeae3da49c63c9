"""Emitting a loop: a `prim::Loop` whose body has a scope of its own, or the body unrolled once for each item.

While emitting, the body's only return is the condition for another round; `exits` and `to_ssa` make its final form.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.analysis.parallel_loops import PARALLEL
from flambeau.frontend.emit.attribute_refinement import forget_all
from flambeau.frontend.emit.flow import LoopState
from flambeau.frontend.emit.frames import Absent, Frame, Variable
from flambeau.frontend.emit.unset_variables import note_left_behind
from flambeau.frontend.emit.values.simple_value import ItemIteration
from flambeau.frontend.emit.values.sugared import Emitter, Iteration, Sugared
from flambeau.frontend.scopes.captured_names import Name
from flambeau.ir.graph import Value
from flambeau.schema.types import INT, ListType, NamedType
from flambeau.util.source import SourceRange

FOREVER = (1 << 63) - 1
"""The trip count of a loop that only its condition ends."""


def emit_for(
    e: Emitter, where: SourceRange, iteration: Iteration, body: Callable[[Sugared], bool], *, jumps: bool = False
) -> bool:
    """`body` for each item; whether control can go on behind the loop. `body` says whether it goes on behind itself.

    `jumps` says whether there is a `break` or `continue` in it.
    """
    whole = iteration.emit(e, where, body, jumps)
    if whole is not None:
        return whole
    if iteration.unrolled is not None:
        in_list = _in_list(e, where, iteration.unrolled) if jumps else None
        if in_list is None:
            return _emit_unrolled(e, iteration.unrolled, body)
        iteration = ItemIteration(in_list)
    count = iteration.trip_count(e, where)
    assert count is not None
    node = e.graph.insert("prim::Loop", (count, e.constant(True)), ())
    if iteration.is_parallel:
        node.attributes[PARALLEL] = 1
    block = node.add_block()
    index = block.add_parameter(INT)
    with e.inside(block) as frame:
        forget_all(e)
        state = LoopState(lambda: e.constant(True), len(e.flow.contexts), e.scope.frame.parent)
        with e.flow.inside_loop(state):
            body(iteration.at(e, where, index))
        block.add_return(e.constant(True))
    _without_deleted(e, frame)
    e.flow.last_loop = node, state
    return True


def _without_deleted(e: Emitter, body: Frame[Sugared]) -> None:
    """Names from around a loop that its body deletes mean nothing behind it; its own are noted."""
    note_left_behind(e, body)
    for name, meaning in body.names.items():
        if isinstance(meaning, Absent) and isinstance(e.scope.find(name), Variable):
            e.scope.frame.names[name] = meaning


def left_by_break(e: Emitter) -> dict[Name, Variable]:
    """The own variables of the loop emitted last that have a value, and one type, behind every `break`.

    Behind the loop they exist where it was left by `break`; before it they are given a value that nobody reads.
    """
    if e.flow.last_loop is None or not e.flow.last_loop[1].breaks:
        return {}
    node, state = e.flow.last_loop
    first, *others = state.breaks
    left = {name: variable for name, variable in first.items() if all(other.get(name) == variable for other in others)}
    with e.graph.inserting(node):
        for variable in left.values():
            unset = e.emit("prim::Uninitialized", (), variable.type)
            e.insert("prim::Store", (unset,), name=variable.slot, type=variable.type)
    return left


def note_break(e: Emitter) -> None:
    """Note which variables of the loop are defined at a `break`."""
    assert e.flow.loop is not None
    variables: dict[Name, Variable] = {}
    hidden: set[Name] = set()
    frame: Frame[Sugared] | None = e.scope.frame
    while frame is not None and frame is not e.flow.loop.outside:
        for name, meaning in frame.names.items():
            if isinstance(meaning, Variable) and name not in hidden:
                variables.setdefault(name, meaning)
            hidden.add(name)
        frame = frame.parent
    outside = e.flow.loop.outside
    e.flow.loop.breaks.append({n: v for n, v in variables.items() if outside is None or outside.find(n) is None})


def _in_list(e: Emitter, where: SourceRange, items: list[Sugared]) -> Value | None:
    """A list of the items, where all are values of one type: a loop over it may be left by `break`."""
    values = [value for value in (item.stored_value(e, where) for item in items) if value is not None]
    types = {value.static_type for value in values}
    if len(values) < len(items) or len(types) != 1:
        return None
    (type_,) = types
    if isinstance(type_, NamedType) and getattr(type_.definition, "is_module", False):
        return None
    return e.emit("prim::ListConstruct", values, ListType(type_))


def _emit_unrolled(e: Emitter, items: list[Sugared], body: Callable[[Sugared], bool]) -> bool:
    with e.flow.inside_loop(LoopState(None, len(e.flow.contexts))):
        return all(map(body, items))


def emit_while(
    e: Emitter, first: Value, refine: Callable[[], None], again: Callable[[], Value], body: Callable[[], bool]
) -> None:
    """`body` as long as `again` emits a true value; `first` is the value before the first round."""
    node = e.graph.insert("prim::Loop", (e.constant(FOREVER), first), ())
    block = node.add_block()
    block.add_parameter(INT)
    with e.inside(block) as frame:
        forget_all(e)
        state = LoopState(again, len(e.flow.contexts), e.scope.frame.parent)
        with e.flow.inside_loop(state):
            refine()
            falls = body()
        block.add_return(again() if falls else e.constant(False))
    _without_deleted(e, frame)
    e.flow.last_loop = node, state
