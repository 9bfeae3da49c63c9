"""Running folds along the vector axis: the lanes of a vector are folded together, then with what came before."""

from __future__ import annotations

from flambeau.codegen.kernel.dtypes import ElementType, element_type
from flambeau.codegen.kernel.nest import Carry
from flambeau.codegen.llvm import reduce
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Emitter, Value


def scan(e: Emitter, carry: Carry, value: Value, scope: Scope) -> Value:
    """The running states of the next lanes; every lane of the state that goes on holds the last of them."""
    t, before = element_type(carry.dtype), scope.carries[carry.name][0]
    if scope.mask is not None:
        [none] = reduce.identity(carry.reducer, t, value.lanes)
        value = e.select(scope.mask, value, none)
    [own] = reduce.prefixes(e, carry.reducer, t, value)
    [total] = reduce.combine(e, carry.reducer, t, [before], [own])
    if t.is_float and carry.reducer in ("sum", "prod"):
        is_out = _is_out(e, total)
        if carry.reducer == "prod":
            is_out = e.binary("or", _is_far(e, own), _is_far(e, total))
        total = _in_range(e, carry.reducer, t, before, value, total, is_out)
    picks = ", ".join([f"i32 {value.lanes - 1}"] * value.lanes)
    vt = value.full_type
    text = f"shufflevector {vt} {total}, {vt} poison, <{value.lanes} x i32> <{picks}>"
    scope.carries[carry.name] = [e.define(text, value.type, value.lanes)]
    return total


def _in_range(
    e: Emitter, reducer: str, t: ElementType, before: Value, value: Value, total: Value, is_out: Value
) -> Value:  # fmt: skip
    """The states, one lane after another where some are out and what came before is a number: lanes alone may leave the
    range where no state does.
    """
    end, out, slow, done = e.block, e.label("out"), e.label("one_by_one"), e.label("in_range")
    e.branch_if(e.any_lane(is_out), out, done)
    e.start(out)

    def lane(vector: Value, k: int) -> Value:
        return e.define(f"extractelement {vector.full_type} {vector}, i64 {k}", vector.type, 1)

    state, states = lane(before, 0), []
    e.branch_if(e.fcmp("uno", state, state), done, slow)
    e.start(slow)
    for k in range(value.lanes):
        [state] = reduce.combine(e, reducer, t, [state], [lane(value, k)])
        states.append(state)
    each = e.gathered(states)
    e.branch(done)
    e.start(done)
    name = e.name("states")
    e.phi(name, total, [(total, end), (total, out), (each, slow)])
    return Value(name, total.type, total.lanes)


def _is_out(e: Emitter, x: Value) -> Value:
    """Infinite, or nan."""
    return e.fcmp("une", e.fsub(x, x), e.like(x, 0))


def _is_far(e: Emitter, x: Value) -> Value:
    """Infinite, nan, or so small that digits may be lost: its exponent, without the sign, is the first or the last."""
    bits = e.as_bits(x)
    mantissa = 23 if bits.bits == 32 else 52
    exponent = e.binary("shl", bits, e.like(bits, 1))
    last = (1 << bits.bits - 1 - mantissa) - 1
    first = e.binary("sub", exponent, e.like(bits, 1 << mantissa + 1))
    return e.icmp("uge", first, e.like(bits, (last - 1) << mantissa + 1))
