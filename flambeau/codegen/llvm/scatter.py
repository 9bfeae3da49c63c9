"""Stores at places that values say: of lanes that lie apart as vectors, of lanes that may meet one after another.

The lanes of a vector axis that the output has lie apart whatever the places are. Those of another axis may name one
place several times, which counts in their order: everything before the store is still computed as vectors.
"""

from __future__ import annotations

from flambeau.codegen.kernel.dtypes import ElementType, element_type
from flambeau.codegen.kernel.nest import Store
from flambeau.codegen.llvm import memory
from flambeau.codegen.llvm.definitions import Scope, ValueEmitter
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.ops import lower


def change(v: ValueEmitter, s: Store, scope: Scope) -> None:
    """Write a value where other values say, or put it together with what is there."""
    buffer = v.buffers[s.buffer]
    if scope.in_vector and v.schedule.vector_axis not in buffer.axes:
        _one_by_one(v, s, scope)
        return
    there, value = v.moved(s, scope), scope.values[s.value]
    if s.op:
        old = memory.load(v.e, v.schedule, there, buffer)
        value = lower(v.e, s.op, v.same_lanes([old, value]), element_type(buffer.dtype), _never)
    memory.store(v.e, v.schedule, there, buffer, value)


def _one_by_one(v: ValueEmitter, s: Store, scope: Scope) -> None:
    e, lanes, t = v.e, v.schedule.lanes, element_type(v.buffers[s.buffer].dtype)
    value, base = e.splat(scope.values[s.value], lanes), scope.pointers[s.buffer]
    offsets: Value | None = None
    for axis, name in s.at:
        index = e.splat(scope.values[name], lanes)
        offset = e.binary("mul", index, e.splat(v.strides[s.buffer, axis], lanes))
        offsets = offset if offsets is None else e.binary("add", offsets, offset)
    assert offsets is not None
    dummy = e.slot(t.memory, t.itemsize) if scope.mask is not None else None
    for lane in range(lanes):
        pointer = e.define(f"getelementptr i8, ptr {base}, i64 {_lane(v, offsets, lane)}", "ptr", 1)
        if scope.mask is not None:
            pointer = e.define(f"select i1 {_lane(v, scope.mask, lane)}, ptr {pointer}, ptr {dummy}", "ptr", 1)
        _change_one(v, s.op, t, pointer, _lane(v, value, lane))


def _change_one(v: ValueEmitter, op: str, t: ElementType, pointer: Value, value: Value) -> None:
    e = v.e
    if op:
        old = e.define(f"load {t.memory}, ptr {pointer}, align {t.itemsize}", t.memory, 1)
        old = e.icmp("ne", old, e.like(old, 0)) if t.kind == "bool" else old
        value = lower(e, op, [old, value], t, _never)
    if t.kind == "bool":
        value = e.convert("zext", value, "i8")
    e.raw(f"store {t.memory} {value}, ptr {pointer}, align {t.itemsize}")


def _lane(v: ValueEmitter, vector: Value, lane: int) -> Value:
    return v.e.define(f"extractelement {vector.full_type} {vector}, i64 {lane}", vector.type, 1)


def _never(zero: Value) -> None:
    """No operation that puts two values together reports an error."""
