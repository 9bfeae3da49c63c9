"""float16 and bfloat16 to float32 and back: by an instruction where there is one, elsewhere by arithmetic on bits.

To the nearest, of two equally near to the even one. A nan stays a nan.

>>> from flambeau.codegen.llvm.emitter import Emitter, Target, Value
>>> e = Emitter(Target(converted_halves=("float16",)))
>>> _ = widen(e, Value("%x", "i16", 8), "float16"), widen(e, Value("%y", "i16", 8), "bfloat16")
>>> [line.split()[2] for line in e.lines]
['bitcast', 'fpext', 'zext', 'shl', 'bitcast']
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.llvm.emitter import Emitter, Value

_INFINITE, _HALF_INFINITE = 0x7F800000, 0x7C00
_TOO_LARGE: Final = 0x477FF000
"""The least float32 that is rounded to infinity."""
_LEAST_NORMAL: Final = 113 << 23
_SMALL: Final = 126 << 23
"""0.5, whose last digit is that of the least float16: the sum with it is rounded to as many digits."""
_BIAS: Final = 112 << 23
_QUIET: Final = 0x40
"""The first digit of a bfloat16, which says that a nan raises nothing."""


_LLVM: Final = {"float16": "half", "bfloat16": "bfloat"}


def widen(e: Emitter, bits: Value, dtype: str) -> Value:
    """The float32 that numbers of half precision are, whose 16 bits are given."""
    if dtype in e.target.converted_halves:
        return e.convert("fpext", e.convert("bitcast", bits, _LLVM[dtype]), "float")
    if dtype == "float16":
        return float16_of_bits(e, bits)
    wide = e.convert("zext", bits, "i32")
    return e.as_float(e.binary("shl", wide, e.like(wide, 16)))


def narrow(e: Emitter, x: Value, dtype: str) -> Value:
    """The 16 bits of float32 rounded to half precision."""
    if dtype in e.target.converted_halves:
        return e.convert("bitcast", e.convert("fptrunc", x, _LLVM[dtype]), "i16")
    return bits_of_float16(e, x) if dtype == "float16" else _bits_of_bfloat16(e, x)


def _bits_of_bfloat16(e: Emitter, x: Value) -> Value:
    word = e.as_bits(x)
    last = e.binary("and", e.binary("lshr", word, e.like(word, 16)), e.like(word, 1))
    rounded = e.binary("lshr", e.binary("add", word, e.binary("add", last, e.like(word, 0x7FFF))), e.like(word, 16))
    nan = e.binary("or", e.binary("lshr", word, e.like(word, 16)), e.like(word, _QUIET))
    return e.convert("trunc", e.select(e.fcmp("uno", x, x), nan, rounded), "i16")


def float16_of_bits(e: Emitter, bits: Value) -> Value:
    """The float32 that a float16 is, whose 16 bits are given."""
    word = e.convert("zext", bits, "i32")
    sign = e.binary("shl", e.binary("and", word, e.like(word, 0x8000)), e.like(word, 16))
    plain = e.binary("shl", e.binary("and", word, e.like(word, 0x7FFF)), e.like(word, 13))
    moved = e.binary("add", plain, e.like(word, _BIAS))
    is_special = e.icmp("uge", plain, e.like(word, _HALF_INFINITE << 13))
    special = e.binary("add", moved, e.like(word, _BIAS))
    tiny = e.as_float(e.binary("add", moved, e.like(word, 1 << 23)))
    least = e.as_float(e.like(word, _LEAST_NORMAL))
    small = e.as_bits(e.binary("fsub", tiny, least))
    normal = e.select(is_special, special, moved)
    wide = e.select(e.icmp("ult", plain, e.like(word, 1 << 23)), small, normal)
    return e.as_float(e.binary("or", wide, sign))


def bits_of_float16(e: Emitter, x: Value) -> Value:
    """The 16 bits of the float16 that a float32 is rounded to."""
    word = e.as_bits(x)
    sign = e.binary("and", e.binary("lshr", word, e.like(word, 16)), e.like(word, 0x8000))
    plain = e.binary("and", word, e.like(word, 0x7FFFFFFF))
    last = e.binary("and", e.binary("lshr", plain, e.like(word, 13)), e.like(word, 1))
    rounded = e.binary("add", plain, e.binary("add", last, e.like(word, 0xFFF)))
    normal = e.binary("lshr", e.binary("sub", rounded, e.like(word, _BIAS)), e.like(word, 13))
    half = e.as_float(e.like(word, _SMALL))
    small = e.binary("sub", e.as_bits(e.binary("fadd", e.as_float(plain), half)), e.like(word, _SMALL))
    digits = e.binary("and", e.binary("lshr", plain, e.like(word, 13)), e.like(word, 0x3FF))
    nan = e.binary("or", digits, e.like(word, _HALF_INFINITE | 0x200))
    bits = e.select(e.icmp("ult", plain, e.like(word, _LEAST_NORMAL)), small, normal)
    bits = e.select(e.icmp("uge", plain, e.like(word, _TOO_LARGE)), e.like(word, _HALF_INFINITE), bits)
    bits = e.select(e.icmp("ugt", plain, e.like(word, _INFINITE)), nan, bits)
    return e.convert("trunc", e.binary("or", bits, sign), "i16")
