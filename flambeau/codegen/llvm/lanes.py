"""Calls of C library functions lane by lane, for functions and arguments that have no vector code.

The symbols are prefixed: a native symbol that bears a libm name could resolve to itself.
"""

from __future__ import annotations

from flambeau.codegen.llvm.emitter import Emitter, Value, vector_type

PREFIX = "flambeau_c_"


def c_name(function: str, element: str) -> str:
    """The C name of ``function`` for an element type: ``sinf`` or ``sin``."""
    return function + ("f" if element == "float" else "")


def call_lanes(
    e: Emitter, function: str, args: tuple[Value, ...], where: Value | None = None, otherwise: Value | None = None
) -> Value:
    """``function`` of each lane, or only of the lanes ``where`` is set, the others taken from ``otherwise``."""
    a = args[0]
    name = c_name(function, a.type)
    e.libm.setdefault(name)
    e.declare(f"declare {a.type} @{PREFIX}{name}({', '.join([a.type] * len(args))})")
    if a.lanes == 1 and where is None:
        operands = ", ".join(f"{x.type} {x}" for x in args)
        return e.define(f"call {a.type} @{PREFIX}{name}({operands})", a.type, 1)
    if where is None:
        return _loop(e, name, args, None, None)
    assert otherwise is not None
    slow, after, before = e.label("slow"), e.label("after"), e.block
    e.branch_if(e.any_lane(where), slow, after)
    e.start(slow)
    fixed = _loop(e, name, args, where, otherwise)
    end = e.block
    e.branch(after)
    e.start(after)
    result = e.name()
    e.phi(result, a, [(otherwise, before), (fixed, end)])
    return Value(result, a.type, a.lanes)


def _loop(e: Emitter, name: str, args: tuple[Value, ...], where: Value | None, otherwise: Value | None) -> Value:
    """A loop over lanes held in stack slots: short code however many lanes there are."""
    a = args[0]
    slots = [e.slot(a.full_type) for _ in args]
    out = e.slot(a.full_type)
    for slot, value in zip(slots, args, strict=True):
        e.raw(f"store {a.full_type} {value}, ptr {slot}, align 64")
    if otherwise is not None:
        e.raw(f"store {a.full_type} {otherwise}, ptr {out}, align 64")
    flags = None
    if where is not None:
        wide = e.convert("zext", where, "i8")
        flags = e.slot(wide.full_type)
        e.raw(f"store {wide.full_type} {wide}, ptr {flags}, align 64")
    head, call, step, done, before = e.label("lane"), e.label("call"), e.label("step"), e.label("done"), e.block
    index, following = e.name("k"), e.name("k")
    e.branch(head)
    e.start(head)
    e.raw(f"{index} = phi i64 [0, %{before}], [{following}, %{step}]")
    if flags is not None:
        address = e.define(f"getelementptr inbounds i8, ptr {flags}, i64 {index}", "ptr", 1)
        flag = e.define(f"load i8, ptr {address}", "i8", 1)
        e.branch_if(e.define(f"icmp ne i8 {flag}, 0", "i1", 1), call, step)
    else:
        e.branch(call)
    e.start(call)
    loaded = []
    for slot in slots:
        address = e.define(f"getelementptr inbounds {a.type}, ptr {slot}, i64 {index}", "ptr", 1)
        loaded.append(e.define(f"load {a.type}, ptr {address}", a.type, 1))
    operands = ", ".join(f"{x.type} {x}" for x in loaded)
    result = e.define(f"call {a.type} @{PREFIX}{name}({operands})", a.type, 1)
    address = e.define(f"getelementptr inbounds {a.type}, ptr {out}, i64 {index}", "ptr", 1)
    e.raw(f"store {a.type} {result}, ptr {address}")
    e.branch(step)
    e.start(step)
    e.raw(f"{following} = add nuw nsw i64 {index}, 1")
    more = e.define(f"icmp ult i64 {following}, {a.lanes}", "i1", 1)
    e.branch_if(more, head, done)
    e.start(done)
    return e.define(f"load {vector_type(a.type, a.lanes)}, ptr {out}, align 64", a.type, a.lanes)
