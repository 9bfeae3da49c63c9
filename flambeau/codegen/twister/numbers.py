"""Uniform numbers, integers and permutations from words: `tensor.random_draws` says which.

Each function is ``void (ptr state, ptr out, i64 count, i64 first, i64 second)``. Words are written where the numbers
go, a piece at a time, and become numbers there.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.twister.words import WIDE, each, masked, pieces

PARAMETERS: Final = ("ptr state", "ptr out", "i64 count", "i64 first", "i64 second")
_PIECE: Final = 2048
"""Words that are drawn before they become numbers: they stay in the first cache."""
_UPPER_BITS, _LOWER_BITS = 0x4530000000000000, 0x4330000000000000
"""2**84 and 2**52 as bits of float64s, to which the upper and the lower half of an integer are added as bits."""


def function(m: ModuleBuilder, name: str) -> FunctionBuilder:
    """A function of a name that others may call."""
    return m.function(f"void {name}", *PARAMETERS, exported=True)


def add_floats(m: ModuleBuilder) -> None:
    """``floats``: float32s of 24 bits in [0, 1)."""
    f = function(m, "floats")
    state, out, count, _, _ = f.parameters
    with pieces(f, count, _PIECE) as (first, size):
        target = f.at(out, first, "i32")
        f.call("words", state, target, size)

        def body(k: Value, lanes: int) -> None:
            address = f.at(target, k, "i32")
            bits = masked(f, "and", f.read(address, "i32", lanes, align=4), 0xFFFFFF)
            number = f.convert("sitofp", bits, "float")
            f.write(f.fmul(number, f.like(number, 2.0**-24)), address, align=4)

        each(f, size, WIDE, body)
    f.ret()


def add_doubles(m: ModuleBuilder) -> None:
    """``doubles``: float64s of 53 bits in [0, 1), the first of two words above the second."""
    f = function(m, "doubles")
    state, out, count, _, _ = f.parameters
    with pieces(f, count, _PIECE // 2) as (first, size):
        target = f.at(out, first)
        f.call("words", state, target, f.op("shl", size, 1))

        def body(k: Value, lanes: int) -> None:
            address = f.at(target, k)
            pair = f.read(address, "i64", lanes, align=8)
            high = masked(f, "or", masked(f, "and", pair, 0x1FFFFF), _UPPER_BITS)
            low = masked(f, "or", masked(f, "lshr", pair, 32), _LOWER_BITS)
            above = f.fsub(f.as_float(high), f.like(f.as_float(high), 2.0**84 + 2.0**52))
            number = f.fadd(above, f.as_float(low))
            f.write(f.fmul(number, f.like(number, 2.0**-53)), address, align=8)

        each(f, size, WIDE // 2, body)
    f.ret()


def add_integers(m: ModuleBuilder) -> None:
    """``integers``: a word each modulo `first`, below 2**32, plus `second`.

    The rest of a division by a number that stays the same is the upper half of a product (Lemire, Kaser and Kurz,
    2019).
    """
    f = function(m, "integers")
    state, out, count, span, low = f.parameters
    inverse = f.op("add", f.op("udiv", word(-1), span), 1)
    wide_span = f.convert("zext", span, "i128")
    with pieces(f, count, _PIECE) as (first, size):
        target = f.at(out, first)
        words = f.at(target, size, "i32")
        f.call("words", state, words, size)
        with f.loop(size) as k:
            value = f.convert("zext", f.load(f.at(words, k, "i32"), "i32"), "i64")
            fraction = f.convert("zext", f.op("mul", inverse, value), "i128")
            product = f.op("lshr", f.op("mul", fraction, wide_span), 64)
            f.set_word(target, k, f.op("add", f.convert("trunc", product, "i64"), low))
    f.ret()


def add_wide_integers(m: ModuleBuilder) -> None:
    """``wide_integers``: two words each, the first above, modulo `first` unless that is 0, plus `second`."""
    f = function(m, "wide_integers")
    state, out, count, span, low = f.parameters
    is_whole = f.compare("eq", span, 0)
    divisor = f.pick(is_whole, 1, span)
    with pieces(f, count, _PIECE // 2) as (first, size):
        target = f.at(out, first)
        f.call("words", state, target, f.op("shl", size, 1))
        with f.loop(size) as k:
            pair = f.word_of(target, k)
            value = f.op("or", f.op("shl", pair, 32), f.op("lshr", pair, 32))
            rest = f.pick(is_whole, value, f.op("urem", value, divisor))
            f.set_word(target, k, f.op("add", rest, low))
    f.ret()


def add_permutation(m: ModuleBuilder) -> None:
    """``permutation``: exchange each of `count` words, at most 2**32, with itself or one behind it (Fisher and
    Yates)."""
    f = function(m, "permutation")
    state, out, count, _, _ = f.parameters
    drawn = f.slot(f"[{_PIECE} x i32]")
    with pieces(f, f.op("sub", count, 1), _PIECE) as (first, size):
        f.call("words", state, drawn, size)
        with f.loop(size) as k:
            here = f.op("add", first, k)
            behind = f.convert("trunc", f.op("sub", count, here), "i32")
            rest = f.op("urem", f.load(f.at(drawn, k, "i32"), "i32"), behind)
            partner = f.op("add", here, f.convert("zext", rest, "i64"))
            own, other = f.word_of(out, here), f.word_of(out, partner)
            f.set_word(out, here, other)
            f.set_word(out, partner, own)
    f.ret()
