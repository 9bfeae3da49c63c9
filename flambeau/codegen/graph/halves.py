"""float16 in native code: kept and moved as it is, and converted to and from float32; nothing is computed in it.

Conversions are arithmetic on bits, the same on every processor: to the nearest, of two equally near to the even one.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.runtime import ELEMENTS
from flambeau.codegen.llvm.emitter import Emitter
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType

_INFINITE, _HALF_INFINITE = 0x7F800000, 0x7C00
_TOO_LARGE: Final = 0x477FF000
"""The least float32 that is rounded to infinity."""
_LEAST_NORMAL: Final = 113 << 23
_SMALL: Final = 126 << 23
"""0.5, whose last digit is that of the least float16: the sum with it is rounded to as many digits."""
_BIAS: Final = 112 << 23


def check(source: DType, target: DType) -> None:
    """Raise `CannotCompileError` for a conversion other than between float16 and what it is converted by."""
    if dtypes.float16 in (source, target) and (source, target) not in (
        (dtypes.float32, dtypes.float16), (dtypes.float16, dtypes.float32), (dtypes.float16, dtypes.float64),
    ):  # fmt: skip
        raise CannotCompileError(f"a conversion from {source.name} to {target.name}")


def load(e: Emitter, address: Register) -> Register:
    """A float16 as the float32 that it is."""
    word = e.convert("zext", e.define(f"load i16, ptr {address}, align 2, {ELEMENTS}", "i16", 1), "i32")
    sign = e.binary("shl", e.binary("and", word, e.like(word, 0x8000)), e.like(word, 16))
    plain = e.binary("shl", e.binary("and", word, e.like(word, 0x7FFF)), e.like(word, 13))
    moved = e.binary("add", plain, e.like(word, _BIAS))
    is_special = e.icmp("uge", plain, e.like(word, _HALF_INFINITE << 13))
    special = e.binary("add", moved, e.like(word, _BIAS))
    tiny = _float(e, e.binary("add", moved, e.like(word, 1 << 23)))
    least = _float(e, e.like(word, _LEAST_NORMAL))
    small = _bits(e, e.binary("fsub", tiny, least))
    normal = e.select(is_special, special, moved)
    bits = e.select(e.icmp("ult", plain, e.like(word, 1 << 23)), small, normal)
    return _float(e, e.binary("or", bits, sign))


def store(e: Emitter, address: Register, value: Register) -> None:
    """Write a float32 as a float16."""
    word = _bits(e, value)
    sign = e.binary("and", e.binary("lshr", word, e.like(word, 16)), e.like(word, 0x8000))
    plain = e.binary("and", word, e.like(word, 0x7FFFFFFF))
    last = e.binary("and", e.binary("lshr", plain, e.like(word, 13)), e.like(word, 1))
    rounded = e.binary("add", plain, e.binary("add", last, e.like(word, 0xFFF)))
    normal = e.binary("lshr", e.binary("sub", rounded, e.like(word, _BIAS)), e.like(word, 13))
    half = _float(e, e.like(word, _SMALL))
    small = e.binary("sub", _bits(e, e.binary("fadd", _float(e, plain), half)), e.like(word, _SMALL))
    digits = e.binary("and", e.binary("lshr", plain, e.like(word, 13)), e.like(word, 0x3FF))
    nan = e.binary("or", digits, e.like(word, _HALF_INFINITE | 0x200))
    bits = e.select(e.icmp("ult", plain, e.like(word, _LEAST_NORMAL)), small, normal)
    bits = e.select(e.icmp("uge", plain, e.like(word, _TOO_LARGE)), e.like(word, _HALF_INFINITE), bits)
    bits = e.select(e.icmp("ugt", plain, e.like(word, _INFINITE)), nan, bits)
    half_word = e.convert("trunc", e.binary("or", bits, sign), "i16")
    e.raw(f"store i16 {half_word}, ptr {address}, align 2, {ELEMENTS}")


def _bits(e: Emitter, value: Register) -> Register:
    return e.define(f"bitcast float {value} to i32", "i32", 1)


def _float(e: Emitter, bits: Register) -> Register:
    return e.define(f"bitcast i32 {bits} to float", "float", 1)
