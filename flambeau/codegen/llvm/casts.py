"""Conversions between element types, defined for every value."""

from __future__ import annotations

from flambeau.codegen.kernel.dtypes import ElementType, element_type
from flambeau.codegen.llvm.emitter import BITS, Emitter, Value
from flambeau.codegen.llvm.half_precision import narrow, widen


def cast(e: Emitter, a: Value, source: ElementType, target: ElementType) -> Value:
    """``a`` in another element type; see ``reference_scalar.cast`` for what it means."""
    if source.name == target.name:
        return a
    if source.kind == "half":
        return cast(e, widen(e, a, source.name), element_type("float32"), target)
    if target.kind == "half":
        return narrow(e, cast(e, a, source, element_type("float32")), target.name)
    if target.kind == "bool":
        zero = e.like(a, 0)
        return e.fcmp("une", a, zero) if source.is_float else e.icmp("ne", a, zero)
    if source.is_float:
        if target.is_float:
            return e.convert("fpext" if target.bits > source.bits else "fptrunc", a, target.llvm)
        return _float_to_int(e, a, target)
    unsigned = source.kind in ("uint", "bool")
    if target.is_float:
        return e.convert("uitofp" if unsigned else "sitofp", a, target.llvm)
    if target.bits > BITS[a.type]:
        return e.convert("zext" if unsigned else "sext", a, target.llvm)
    return e.convert("trunc", a, target.llvm) if target.bits < BITS[a.type] else a


def _float_to_int(e: Emitter, a: Value, target: ElementType) -> Value:
    if target.name == "uint64":
        half = e.like(a, 2.0**63)
        is_large = e.binary("and", e.fcmp("oge", a, half), e.fcmp("olt", a, e.like(a, 2.0**64)))
        number = _float_to_int(e, e.select(is_large, e.binary("fsub", a, half), a), element_type("int64"))
        return e.select(is_large, e.binary("xor", number, e.like(number, -(2**63))), number)
    wide = "i32" if target.kind == "int" and target.bits < 64 else "i64"
    bound = 2.0 ** (BITS[wide] - 1)
    above = e.fcmp("oge", a, e.like(a, -bound))
    inside = e.binary("and", above, e.fcmp("olt", a, e.like(a, bound)))
    number = e.convert("fptosi", e.select(inside, a, e.like(a, 0.0)), wide)
    number = e.select(inside, number, e.like(number, -(2 ** (BITS[wide] - 1))))
    return number if wide == target.llvm else e.convert("trunc", number, target.llvm)
