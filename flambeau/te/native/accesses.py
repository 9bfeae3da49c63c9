"""Elements of buffers for all lanes: one after another in memory, one for all, or each where its index says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flambeau.codegen.llvm.emitter import Emitter, Value, int_constant, vector_type
from flambeau.codegen.llvm.memory import suffix
from flambeau.te.expressions import Buffer, Expr, Var
from flambeau.te.linear import linear, variables
from flambeau.te.native.frame import Frame, Scope
from flambeau.te.native.storage import from_memory, itemsize, memory_type, to_memory

ALL_ONE, SIDE_BY_SIDE, APART = "all one", "side by side", "apart"
"""How the elements of lanes lie: one for all, neighbours, anywhere."""


class Indexed(Protocol):
    """What accesses need of who writes values."""

    frame: Frame

    @property
    def e(self) -> Emitter: ...

    def offset(self, buffer: Buffer, at: list[Value | Expr], scope: Scope) -> Value: ...


def way_of(at: Sequence[Value | Expr], written: Sequence[Expr], scope: Scope) -> str:
    """How the elements of lanes lie."""
    if scope.vector is None:
        return ALL_ONE
    steps = [_step(index, e, scope.vector) for index, e in zip(at, written, strict=True)]
    if all(s == 0 for s in steps):
        return ALL_ONE
    return SIDE_BY_SIDE if steps[-1] == 1 and all(s == 0 for s in steps[:-1]) else APART


def _step(index: Value | Expr, written: Expr, var: Var) -> int | None:
    """How far an index goes from lane to lane; None where that is not one number."""
    if isinstance(index, Value):
        return None if index.lanes > 1 else 0
    total = linear(written)
    if any(var in variables(e) for e, _ in total.without(var).terms.values()):
        return None
    return total.factor_of(var)


def load(values: Indexed, buffer: Buffer, at: list[Value | Expr], way: str, scope: Scope) -> Value:
    """The element for all lanes, or that of each."""
    e, kind, size = values.e, memory_type(buffer), itemsize(buffer)
    if way == APART:
        pointers = _pointers(values, buffer, at, scope)
        mask = _mask(scope)
        ending, vt = suffix(kind, scope.lanes), vector_type(kind, scope.lanes)
        name = f"llvm.masked.gather.{ending}.v{scope.lanes}p0"
        e.declare(f"declare {vt} @{name}(<{scope.lanes} x ptr>, i32, <{scope.lanes} x i1>, {vt})")
        operands = f"<{scope.lanes} x ptr> {pointers}, i32 {size}, {mask.full_type} {mask}, {vt} zeroinitializer"
        return from_memory(e, buffer, e.define(f"call {vt} @{name}({operands})", kind, scope.lanes))
    pointer = _pointer(values, buffer, at, scope)
    if way == ALL_ONE or scope.mask is None:
        lanes = 1 if way == ALL_ONE else scope.lanes
        return from_memory(e, buffer, e.read(pointer, kind, lanes, align=size))
    ending, vt = suffix(kind, scope.lanes), vector_type(kind, scope.lanes)
    e.declare(f"declare {vt} @llvm.masked.load.{ending}.p0(ptr, i32, <{scope.lanes} x i1>, {vt})")
    operands = f"ptr {pointer}, i32 {size}, {scope.mask.full_type} {scope.mask}, {vt} zeroinitializer"
    return from_memory(e, buffer, e.define(f"call {vt} @llvm.masked.load.{ending}.p0({operands})", kind, scope.lanes))


def store(values: Indexed, buffer: Buffer, at: list[Value | Expr], way: str, value: Value, scope: Scope) -> None:
    """Write an element, or that of each lane."""
    e, kind, size = values.e, memory_type(buffer), itemsize(buffer)
    lanes = 1 if way == ALL_ONE else scope.lanes
    raw = to_memory(e, buffer, e.splat(value, lanes))
    if way == ALL_ONE or (way == SIDE_BY_SIDE and scope.mask is None):
        e.write(raw, _pointer(values, buffer, at, scope), align=size)
        return
    mask, ending, vt = _mask(scope), suffix(kind, lanes), raw.full_type
    if way == SIDE_BY_SIDE:
        pointer = _pointer(values, buffer, at, scope)
        e.declare(f"declare void @llvm.masked.store.{ending}.p0({vt}, ptr, i32, <{lanes} x i1>)")
        target = f"@llvm.masked.store.{ending}.p0({vt} {raw}, ptr {pointer}"
    else:
        pointers = _pointers(values, buffer, at, scope)
        name = f"llvm.masked.scatter.{ending}.v{lanes}p0"
        e.declare(f"declare void @{name}({vt}, <{lanes} x ptr>, i32, <{lanes} x i1>)")
        target = f"@{name}({vt} {raw}, <{lanes} x ptr> {pointers}"
    e.raw(f"call void {target}, i32 {size}, {mask.full_type} {mask})")


def _mask(scope: Scope) -> Value:
    return int_constant(1, "i1", scope.lanes) if scope.mask is None else scope.mask


def _pointer(values: Indexed, buffer: Buffer, at: list[Value | Expr], scope: Scope) -> Value:
    """The address of the first lane's element."""
    base = values.frame.pointers[buffer]
    return values.e.offset(base, values.offset(buffer, at, scope.first_lane()), memory_type(buffer))


def _pointers(values: Indexed, buffer: Buffer, at: list[Value | Expr], scope: Scope) -> Value:
    base = values.frame.pointers[buffer]
    offsets = values.e.splat(values.offset(buffer, at, scope), scope.lanes)
    text = f"getelementptr {memory_type(buffer)}, ptr {base}, {offsets.full_type} {offsets}"
    return values.e.define(text, "ptr", scope.lanes)
