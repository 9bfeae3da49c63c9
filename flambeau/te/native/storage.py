"""Elements in memory and in registers: a bool is a byte there, float16 and bfloat16 are bits of 16.

Both are converted with integer operations, so that every processor has them, and every width of vector.
"""

from __future__ import annotations

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.te.expressions import STORED, Buffer

HALF_BYTES = 2


def memory_type(buffer: Buffer) -> str:
    """The type of an element in memory."""
    return "i16" if buffer.dtype in STORED else element_type(buffer.dtype).memory


def itemsize(buffer: Buffer) -> int:
    """Bytes of an element in memory."""
    return HALF_BYTES if buffer.dtype in STORED else element_type(buffer.dtype).itemsize


def from_memory(e: Emitter, buffer: Buffer, raw: Value) -> Value:
    """What was loaded, as it is computed with."""
    if buffer.dtype == "bool":
        return e.icmp("ne", raw, e.like(raw, 0))
    if buffer.dtype == "bfloat16":
        return e.as_float(_shifted(e, "shl", e.convert("zext", raw, "i32"), 16))
    return _from_half(e, raw) if buffer.dtype == "float16" else raw


def to_memory(e: Emitter, buffer: Buffer, value: Value) -> Value:
    """What is computed, as it is stored."""
    if buffer.dtype == "bool":
        return e.convert("zext", value, "i8")
    if buffer.dtype == "bfloat16":
        return _to_bfloat(e, value)
    return _to_half(e, value) if buffer.dtype == "float16" else value


def _shifted(e: Emitter, op: str, a: Value, count: int) -> Value:
    return e.binary(op, a, e.like(a, count))


def _to_bfloat(e: Emitter, value: Value) -> Value:
    """The upper half of the bits, rounded to the nearest, to even ones of two."""
    bits = e.as_bits(value)
    is_odd = e.binary("and", _shifted(e, "lshr", bits, 16), e.like(bits, 1))
    rounded = e.binary("add", bits, e.binary("add", is_odd, e.like(bits, 0x7FFF)))
    quiet = e.binary("or", bits, e.like(bits, 0x400000))
    chosen = e.select(e.fcmp("uno", value, value), quiet, rounded)
    return e.convert("trunc", _shifted(e, "lshr", chosen, 16), "i16")


def _from_half(e: Emitter, raw: Value) -> Value:
    """The exponent is moved by a product with a power of two, which is exact for subnormal numbers too."""
    wide = e.convert("zext", raw, "i32")
    sign = _shifted(e, "shl", e.binary("and", wide, e.like(wide, 0x8000)), 16)
    rest = _shifted(e, "shl", e.binary("and", wide, e.like(wide, 0x7FFF)), 13)
    number = e.as_float(rest)
    scaled = e.as_bits(e.fmul(number, e.like(number, 2.0**112)))
    is_special = e.icmp("uge", rest, e.like(rest, 0x7C00 << 13))
    magnitude = e.select(is_special, e.binary("or", rest, e.like(rest, 0x7F800000)), scaled)
    return e.as_float(e.binary("or", magnitude, sign))


def _to_half(e: Emitter, value: Value) -> Value:
    bits = e.as_bits(value)
    sign = e.binary("and", bits, e.like(bits, -(1 << 31)))
    size = e.binary("xor", bits, sign)
    # A number too small for an exponent: adding one half aligns its digits, and rounds what falls off.
    small = e.as_bits(e.fadd(e.as_float(size), e.like(value, 0.5)))
    small = e.binary("sub", small, e.like(small, 0x3F000000))
    is_odd = e.binary("and", _shifted(e, "lshr", size, 13), e.like(size, 1))
    moved = e.binary("add", size, e.like(size, ((15 - 127) << 23) + 0xFFF))
    usual = _shifted(e, "lshr", e.binary("add", moved, is_odd), 13)
    half = e.select(e.icmp("ult", size, e.like(size, 113 << 23)), small, usual)
    half = e.select(e.icmp("uge", size, e.like(size, 143 << 23)), e.like(size, 0x7C00), half)
    half = e.select(e.icmp("ugt", size, e.like(size, 0x7F800000)), e.like(size, 0x7E00), half)
    return e.convert("trunc", e.binary("or", half, _shifted(e, "lshr", sign, 16)), "i16")
