"""Values that are seldom computed, behind a branch: of rows that are computed side by side, if any of them wants it.
Where rows are the lanes of vectors, each lane that wants it is computed by itself, which is short code.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Protocol

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Accumulate, Buffer, Let, Load, Seldom, Statement, walk
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Emitter, Value, int_constant
from flambeau.codegen.schedule import Schedule


class Emitting(Protocol):
    """The emitter of a kernel, as far as it is needed here."""

    e: Emitter
    schedule: Schedule
    buffers: dict[str, Buffer]
    sizes: dict[str, Value]
    strides: dict[tuple[str, str], Value]
    dtypes: dict[str, str]
    fixed: dict[str, int]
    definitions: dict[str, Let]

    def body(self, body: tuple[Statement, ...], scope: Scope) -> None:
        """Emit statements."""

    def define(self, s: Statement, scope: Scope) -> Value:
        """Emit a definition."""


def emit(emitting: Emitting, s: Seldom, scopes: Sequence[Scope]) -> None:
    """Emit such a value at some places side by side."""
    emitting.dtypes[s.name] = s.dtype
    fixed, emitting.fixed = emitting.fixed, {}  # short code: nothing is unrolled
    for scope in scopes:
        scope.values[s.otherwise] = emitting.e.splat(scope.values[s.otherwise], scope.values[s.when].lanes)
    if scopes[0].in_vector and scopes[0].values[s.when].lanes > 1:
        for scope in scopes:
            _Lanes(emitting, s, scope).emit()
    else:
        _together(emitting, s, scopes)
    emitting.fixed = fixed


def _together(emitting: Emitting, s: Seldom, scopes: Sequence[Scope]) -> None:
    """The value of all places if any of them wants it."""
    e = emitting.e
    before, carried = e.block, [dict(scope.carries) for scope in scopes]
    wanted = functools.reduce(lambda a, b: e.binary("or", a, b), [scope.values[s.when] for scope in scopes])
    runs, done = e.label("seldom"), e.label("usual")
    e.branch_if(wanted, runs, done)
    e.start(runs)
    values = []
    for scope in scopes:
        inside = scope.child()
        emitting.body(s.body, inside)
        values.append(e.select(scope.values[s.when], inside.values[s.value], scope.values[s.otherwise]))
        scope.carries = inside.carries
    end = e.block
    e.branch(done)
    e.start(done)

    def joined(now: Value, otherwise: Value) -> Value:
        value = Value(e.name("s"), now.type, now.lanes)
        e.phi(value.text, now, [(otherwise, before), (now, end)])
        return value

    for scope, value, old in zip(scopes, values, carried, strict=True):
        scope.values[s.name] = joined(value, scope.values[s.otherwise])
        for name, state in scope.carries.items():
            scope.carries[name] = [joined(n, o) for n, o in zip(state, old[name], strict=True)]


class _Lanes:
    """The value of each lane that wants it, one after the other. Values go through memory."""

    def __init__(self, emitting: Emitting, s: Seldom, scope: Scope) -> None:
        self.emitting, self.e, self.s, self.scope = emitting, emitting.e, s, scope
        self.lanes, self.guard = scope.values[s.when].lanes, emitting.definitions[s.when]
        inner = walk(s.body)
        read = [a for x in inner if isinstance(x, Let) for a in x.args] + list(self.guard.args)
        read += [x.value for x in inner if isinstance(x, Accumulate)]
        vectors = [a for a in dict.fromkeys(read) if a in scope.values and scope.values[a].lanes > 1]
        self.slots = {name: self._slot(scope.values[name].type) for name in vectors}
        self.result = self._slot(element_type(s.dtype).llvm)
        self.loaded = {x.buffer for x in inner if isinstance(x, Load)}

    def _slot(self, element: str) -> Value:
        return self.e.slot(f"[{self.lanes} x {_kept(element)}]")

    def emit(self) -> None:
        """Emit the usual way, and behind a test the one that is seldom gone."""
        e, scope, s = self.e, self.scope, self.s
        e.write(scope.values[s.otherwise], self.result)
        runs, done = e.label("seldom"), e.label("usual")
        e.branch_if(self._any(), runs, done)
        e.start(runs)
        for name, slot in self.slots.items():
            value = scope.values[name]
            e.write(e.convert("zext", value, "i8") if value.type == "i1" else value, slot)
        self._each()
        e.branch(done)
        e.start(done)
        scope.values[s.name] = e.read(self.result, element_type(s.dtype).llvm, self.lanes)

    def _any(self) -> Value:
        """Whether any lane wants it. Masks of many vectors are long code: it is asked of a vector at a time."""
        e = self.e
        args = [e.splat(self.scope.values[a], self.lanes) for a in self.guard.args]
        width = min(self.lanes, e.target.vector_bits // args[0].bits)
        wanted: Value | None = None
        for first in range(0, self.lanes, width):
            values = {a: e.part(value, first, width) for a, value in zip(self.guard.args, args, strict=True)}
            part = self.emitting.define(self.guard, Scope(values, {}, {}, {}))
            if self.scope.mask is not None:
                part = e.binary("and", part, e.part(self.scope.mask, first, width))
            wanted = part if wanted is None else e.binary("or", wanted, part)
        assert wanted is not None
        return e.any_lane(wanted)

    def _each(self) -> None:
        """Go from lane to lane, and compute the value in those that want it."""
        e, before = self.e, self.e.block
        head, one, following, after = e.label("lane"), e.label("wanted"), e.label("next"), e.label("lanes_done")
        lane = Value(e.name("lane"), "i64", 1)
        e.branch(head)
        e.start(head)
        mark = len(e.lines)
        child = self._at(lane)
        e.branch_if(self.emitting.define(self.guard, child), one, following)
        e.start(one)
        self.emitting.body(self.s.body, child)
        value = child.values[self.s.value]
        e.write(value, e.offset(self.result, lane, value.type))
        e.branch(following)
        e.start(following)
        next_lane = e.binary("add nuw nsw", lane, int_constant(1, "i64", 1))
        e.lines.insert(mark, f"  {lane} = phi i64 [0, %{before}], [{next_lane}, %{following}]")
        e.branch_if(e.icmp("slt", next_lane, self._count()), head, after)
        e.start(after)

    def _count(self) -> Value:
        """How many lanes there are; what is behind the axis is not asked for."""
        e, axis = self.e, str(self.emitting.schedule.vector_axis)
        left = e.binary("sub nsw", self.emitting.sizes[axis], self.scope.index[axis])
        return e.intrinsic("smin", left, int_constant(self.lanes, "i64", 1))

    def _at(self, lane: Value) -> Scope:
        """The scope of one lane, where all values are scalars."""
        e, child, axis = self.e, self.scope.child(), self.emitting.schedule.vector_axis
        child.in_vector, child.mask, child.first, child.carries = False, None, None, {}
        child.offsets, child.spread = {}, frozenset()
        for name, slot in self.slots.items():
            element = self.scope.values[name].type
            value = e.read(e.offset(slot, lane, _kept(element)), _kept(element))
            child.values[name] = e.convert("trunc", value, "i1") if element == "i1" else value
        assert axis is not None
        child.index[axis] = e.binary("add nsw", child.index[axis], lane)
        for name in self.loaded:
            buffer = self.emitting.buffers[name]
            if axis in buffer.axes or buffer.role == "scratch":
                is_unit = name in self.emitting.schedule.unit or buffer.role == "scratch"
                size = int_constant(element_type(buffer.dtype).itemsize, "i64", 1)
                step = size if is_unit else self.emitting.strides[name, axis]
                child.pointers[name] = e.offset(child.pointers[name], e.binary("mul nsw", lane, step))
        return child


def _kept(element: str) -> str:
    return "i8" if element == "i1" else element
