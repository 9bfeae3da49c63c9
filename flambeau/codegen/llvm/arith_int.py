"""Integer and bool operations: wrap-around arithmetic, Python's and C's divisions, shifts defined for every count."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.llvm.emitter import Emitter, Value

Trap = Callable[[Value], None]
"""Reports the lanes where a mask is set as divisions by zero."""

_PLAIN = {"add": "add", "sub": "sub", "mul": "mul", "product": "mul", "bitand": "and", "bitor": "or", "bitxor": "xor",
}  # fmt: skip
_BOOL = {
    "add": "or", "sub": "xor", "mul": "and", "bitand": "and", "bitor": "or", "bitxor": "xor", "logical_and": "and",
    "logical_or": "or", "logical_xor": "xor", "minimum": "and", "maximum": "or",
}  # fmt: skip
COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def lower_bool(e: Emitter, op: str, args: list[Value]) -> Value:
    """An operation on bools (``i1``)."""
    if op in _BOOL:
        return e.binary(_BOOL[op], args[0], args[1])
    if op in ("abs", "sign"):
        return args[0]
    if op in COMPARE:
        prefix = "" if op in ("eq", "ne") else "u"
        return e.icmp(prefix + op, args[0], args[1])
    assert op in ("logical_not", "bitnot"), op
    return e.binary("xor", args[0], e.like(args[0], 1))


def lower_int(e: Emitter, op: str, args: list[Value], signed: bool, trap: Trap) -> Value:
    """An operation on integers of any width."""
    return _unary(e, op, args[0], signed) if len(args) == 1 else _binary(e, op, args[0], args[1], signed, trap)


def _binary(e: Emitter, op: str, a: Value, b: Value, signed: bool, trap: Trap) -> Value:
    if op in _PLAIN:
        return e.binary(_PLAIN[op], a, b)
    if op in COMPARE:
        prefix = "" if op in ("eq", "ne") else ("s" if signed else "u")
        return e.icmp(prefix + op, a, b)
    if op in ("minimum", "maximum"):
        return e.intrinsic(("s" if signed else "u") + op[:3], a, b)
    if op in ("floordiv", "truncdiv", "remainder", "fmod"):
        return _division(e, op, a, b, signed, trap)
    if op in ("shl", "shr"):
        return _shift(e, op, a, b, signed)
    if op == "gcd":
        return _common_divisor(e, *(_unary(e, "abs", x, signed) for x in (a, b)))
    assert op == "pow", op
    return _power(e, a, b, signed)


def _unary(e: Emitter, op: str, a: Value, signed: bool) -> Value:
    zero = e.like(a, 0)
    if op == "neg":
        return e.binary("sub", zero, a)
    if op == "bitnot":
        return e.binary("xor", a, e.like(a, -1))
    if op == "abs":
        return e.select(e.icmp("slt", a, zero), e.binary("sub", zero, a), a) if signed else a
    assert op == "sign", op
    positive = e.convert("zext", e.icmp("sgt" if signed else "ugt", a, zero), a.type)
    if not signed:
        return positive
    return e.binary("sub", positive, e.convert("zext", e.icmp("slt", a, zero), a.type))


def _division(e: Emitter, op: str, a: Value, b: Value, signed: bool, trap: Trap) -> Value:
    zero = e.like(b, 0)
    is_zero = e.icmp("eq", b, zero)
    trap(is_zero)
    if not signed:
        safe = e.select(is_zero, e.like(b, 1), b)
        return e.binary("udiv" if op in ("floordiv", "truncdiv") else "urem", a, safe)
    if op == "remainder" and b.lanes == 1 and b.text.startswith("%"):
        return _wrapped(e, a, b, is_zero)
    return _signed_division(e, op, a, b, is_zero)


def _wrapped(e: Emitter, a: Value, b: Value, is_zero: Value) -> Value:
    """A remainder that is the number itself where that is below the divisor, as places on a ring mostly are."""
    far, after, before = e.label("far"), e.label("wrapped"), e.label("before")
    e.branch(before)
    e.start(before)
    is_own = e.binary("and", e.icmp("ult", a, b), e.icmp("sgt", b, e.like(b, 0)))
    e.branch_if(is_own, after, far)
    e.start(far)
    rest = _signed_division(e, "remainder", a, b, is_zero)
    end = e.block
    e.branch(after)
    e.start(after)
    result = Value(e.name("rest"), a.type, a.lanes)
    e.phi(result.text, result, [(a, before), (rest, end)])
    return result


def _signed_division(e: Emitter, op: str, a: Value, b: Value, is_zero: Value) -> Value:
    zero = e.like(b, 0)
    # Division by -1 would trap on the smallest integer; it is a negation, and leaves no remainder.
    minus_one = e.icmp("eq", b, e.like(b, -1))
    safe = e.select(e.binary("or", is_zero, minus_one), e.like(b, 1), b)
    quotient = e.binary("sdiv", a, safe)
    rest = e.binary("sub", a, e.binary("mul", quotient, safe))
    if op in ("floordiv", "remainder"):
        differ = e.icmp("slt", e.binary("xor", rest, safe), zero)
        adjust = e.binary("and", differ, e.icmp("ne", rest, zero))
        quotient = e.select(adjust, e.binary("add", quotient, e.like(a, -1)), quotient)
        rest = e.select(adjust, e.binary("add", rest, safe), rest)
    if op in ("floordiv", "truncdiv"):
        return e.select(minus_one, e.binary("sub", zero, a), quotient)
    return e.select(minus_one, zero, rest)


def _shift(e: Emitter, op: str, a: Value, count: Value, signed: bool) -> Value:
    inside = e.icmp("ult", count, e.like(count, a.bits))
    if op == "shl":
        safe = e.select(inside, count, e.like(count, 0))
        return e.select(inside, e.binary("shl", a, safe), e.like(a, 0))
    if signed:
        return e.binary("ashr", a, e.select(inside, count, e.like(count, a.bits - 1)))
    safe = e.select(inside, count, e.like(count, 0))
    return e.select(inside, e.binary("lshr", a, safe), e.like(a, 0))


def _power(e: Emitter, base: Value, exponent: Value, signed: bool) -> Value:
    """Square and multiply until no lane has exponent bits left; a negative exponent leaves 1/base truncated."""
    one, zero = e.like(base, 1), e.like(base, 0)
    negative = e.icmp("slt", exponent, zero) if signed else None
    count = exponent if negative is None else e.select(negative, zero, exponent)
    head, done, before = e.label("pow"), e.label("powdone"), e.block
    names = [e.name("p") for _ in range(3)]
    result, square, left = (Value(n, base.type, base.lanes) for n in names)
    e.branch(head)
    e.start(head)
    at = len(e.lines)
    bit = e.icmp("ne", e.binary("and", left, one), zero)
    next_result = e.select(bit, e.binary("mul", result, square), result)
    next_square = e.binary("mul", square, square)
    next_left = e.binary("lshr", left, one)
    more = e.any_lane(e.icmp("ne", next_left, zero))
    e.branch_if(more, head, done)
    starts, nexts = (one, base, count), (next_result, next_square, next_left)
    phis = [
        f"  {v} = phi {v.full_type} [{s}, %{before}], [{n}, %{head}]"
        for v, s, n in zip((result, square, left), starts, nexts, strict=True)
    ]
    e.lines[at:at] = phis
    e.start(done)
    if negative is None:
        return next_result
    minus = e.like(base, -1)
    odd = e.icmp("ne", e.binary("and", exponent, one), zero)
    inverse = e.select(e.icmp("eq", base, minus), e.select(odd, minus, one), zero)
    inverse = e.select(e.icmp("eq", base, one), one, inverse)
    return e.select(negative, inverse, next_result)


def _zeros_below(e: Emitter, x: Value) -> Value:
    """How many of the lowest bits are 0, as a count of a shift: of 0 one less than all."""
    vt, name = x.full_type, f"@llvm.cttz.{f'v{x.lanes}' if x.lanes > 1 else ''}{x.type}"
    e.declare(f"declare {vt} {name}({vt}, i1)")
    count = e.define(f"call {vt} {name}({vt} {x}, i1 false)", x.type, x.lanes)
    return e.intrinsic("umin", count, e.like(x, x.bits - 1))


def _common_divisor(e: Emitter, a: Value, b: Value) -> Value:
    """The greatest common divisor of numbers without a sign, by differences of odd numbers (Stein 1967), until no lane
    has any left.
    """
    zero, shared = e.like(a, 0), _zeros_below(e, e.binary("or", a, b))
    odd = e.binary("lshr", a, _zeros_below(e, a))
    is_none = e.icmp("eq", a, zero)  # of 0 and a number it is that number
    start = e.select(is_none, e.binary("lshr", b, _zeros_below(e, b)), odd)
    rest = e.select(is_none, zero, b)
    head, done, before = e.label("gcd"), e.label("gcddone"), e.block
    divisor, left = (Value(e.name("d"), a.type, a.lanes) for _ in range(2))
    e.branch(head)
    e.start(head)
    mark = len(e.lines)
    other = e.binary("lshr", left, _zeros_below(e, left))
    is_left = e.icmp("ne", left, zero)
    smaller = e.intrinsic("umin", divisor, other)
    next_left = e.binary("sub", e.intrinsic("umax", divisor, other), smaller)
    next_divisor = e.select(is_left, smaller, divisor)
    next_left = e.select(is_left, next_left, zero)
    e.branch_if(e.any_lane(e.icmp("ne", next_left, zero)), head, done)
    pairs = ((divisor, start, next_divisor), (left, rest, next_left))
    e.lines[mark:mark] = [f"  {v} = phi {v.full_type} [{s}, %{before}], [{n}, %{head}]" for v, s, n in pairs]
    e.start(done)
    return e.binary("shl", next_divisor, shared)
