"""Functions on texts in native code: comparisons, searches, and new texts; each is added to a module that calls it.

A text is the address of its first code point and how many there are. One code point more can always be read: what ends
a block of code points is room for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from flambeau.codegen.graph.runtime import runtime_text
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, TEXT, TEXT_DATA
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE
from flambeau.codegen.llvm.emitter import Value

ABSENT: Final = -1
"""Where a text is that is not in another."""
_SPREAD: Final = 0x100000001B3
_BASIS: Final = 0xCBF29CE484222325 - (1 << 64)
"""Hashes are FNV-1a, by code point."""
_LEAST_ROOM: Final = 12
_CASES: Final = {"upper": ("a", "z", -32), "lower": ("A", "Z", 32)}
"""Which letters of ASCII become which: the first and the last, and what is added."""


def text_function(functions: dict[str, str], name: str) -> str:
    """The symbol of a function of this module's by name; its text, and that of what it calls, goes to ``functions``."""
    symbol = f"text_{name}"
    if symbol not in functions:
        build, callees = _BUILDERS[name]
        for callee in callees:
            text_function(functions, callee)
        own = {f"text_{callee}": _TYPES[callee] for callee in callees}
        m = ModuleBuilder({}, own={"new_block": "ptr (ptr, i64)", "retain": "void (ptr)", **own})
        build(m)
        functions[symbol] = m.text(behind=runtime_text())
    return symbol


def result_of(name: str) -> str:
    """The LLVM type that a function gives."""
    return _TYPES[name].partition(" ")[0]


def _function(m: ModuleBuilder, name: str, *parameters: str, attributes: str = "") -> FunctionBuilder:
    return m.function(f"{result_of(name)} text_{name}", *parameters, attributes=attributes)


def _code(f: FunctionBuilder, data: Value, index: Value) -> Value:
    return f.load(f.at(data, index, "i32"), "i32")


def _build_equal(m: ModuleBuilder) -> None:
    f = _function(m, "equal", "ptr a", "i64 count", "ptr b", "i64 other")
    a, count, b, other = f.parameters
    f.return_unless(f.compare("eq", count, other), FALSE)
    with f.loop(count) as k:
        f.return_unless(f.compare("eq", _code(f, a, k), _code(f, b, k)), FALSE)
    f.ret(TRUE)


def _build_order(m: ModuleBuilder) -> None:
    """Below 0, 0 or above, as a text comes before another, is equal to it or comes after it."""
    f = _function(m, "order", "ptr a", "i64 count", "ptr b", "i64 other")
    a, count, b, other = f.parameters
    shorter = f.pick(f.compare("slt", count, other), count, other)
    with f.loop(shorter) as k:
        one, two = _code(f, a, k), _code(f, b, k)
        with f.when(f.compare("ne", one, two)):
            f.ret(f.pick(f.compare("ult", one, two), -1, 1))
    f.ret(f.op("sub", count, other))


def _build_hash(m: ModuleBuilder) -> None:
    f = _function(m, "hash", "ptr a", "i64 count")
    a, count = f.parameters
    hashing = f.loop(count, f.typed(_BASIS, "i64"))
    with hashing as k:
        code = f.convert("zext", _code(f, a, k), "i64")
        hashing.carry(f.op("mul", f.op("xor", hashing.values[0], code), _SPREAD))
    f.ret(hashing.values[0])


def _build_find(m: ModuleBuilder, *, last: bool = False) -> None:
    """Where a part first is in a text, or last, from one place on and up to another."""
    f = _function(m, "rfind" if last else "find", "ptr a", "i64 start", "i64 end", "ptr part", "i64 count")
    a, start, end, part, count = f.parameters
    furthest = f.op("sub", end, count)
    position_count = f.op("add", f.op("sub", furthest, start), 1)
    with f.loop(position_count) as k:
        at = f.op("sub", furthest, k) if last else f.op("add", start, k)
        with f.when(f.call("text_equal", f.at(a, at, "i32"), count, part, count)):
            f.ret(at)
    f.ret(ABSENT)


def _build_count(m: ModuleBuilder) -> None:
    """How often a part is in a text, one behind the other; an empty one is at each place."""
    f = _function(m, "count", "ptr a", "i64 start", "i64 end", "ptr part", "i64 count")
    a, start, end, part, count = f.parameters
    position_count = f.op("add", f.op("sub", f.op("sub", end, start), count), 1)
    f.return_if(f.compare("sle", position_count, 0), 0)
    f.return_if(f.compare("eq", count, 0), position_count)
    counting = f.loop(position_count, f.typed(0, "i64"), start)
    with counting:
        number, at = counting.values
        next_at = f.call("text_find", a, at, end, part, count)
        with f.when(f.compare("slt", next_at, 0)):
            f.ret(number)
        counting.carry(f.op("add", number, 1), f.op("add", next_at, count))
    f.ret(counting.values[0])


def _build_new(m: ModuleBuilder) -> None:
    """A block for so many code points, all of which count as used, and room for more of them; null without memory."""
    f = _function(m, "new", "ptr context", "i64 count", "i64 room")
    context, count, room = f.parameters
    too_large = f.compare("ugt", room, 1 << 40)
    f.return_if(too_large, NULL)
    block = f.call("new_block", context, f.op("add", f.op("mul", room, 4), TEXT_DATA - BLOCK_DATA + 4))
    f.return_if(f.is_null(block), NULL)
    f.put(f.at(block, BLOCK_DATA, "i8"), TEXT, used=count, room=room)
    f.ret(block)


def _build_add(m: ModuleBuilder) -> None:
    """The block with a text and another behind it, null without memory: the block of the first where it ends there and
    has room, with one more reference, else a new one with room for as much again.
    """
    f = _function(m, "add", "ptr context", "ptr owner", "ptr a", "i64 count", "ptr b", "i64 other")
    context, owner, a, count, b, other = f.parameters
    total, end = f.op("add", count, other), f.at(a, count, "i32")
    size = f.op("mul", other, 4)
    f.require(f.compare("ne", owner, NULL), "apart")
    fields = f.at(owner, BLOCK_DATA, "i8")
    used = f.get(fields, TEXT, "used")
    last = f.at(f.at(owner, TEXT_DATA, "i8"), used, "i32")
    fits = f.compare("sle", f.op("add", used, other), f.get(fields, TEXT, "room"))
    is_own = f.compare("slt", f.get(owner, BLOCK, "references"), 1 << 30)
    f.require(f.all_of(f.compare("eq", last, end), fits, is_own), "apart")
    f.copy(end, b, size, 4)
    f.put(fields, TEXT, used=f.op("add", used, other))
    f.call("retain", owner)
    f.ret(owner)
    f.start("apart", falls_through=False)
    room = f.op("mul", total, 2)
    room = f.pick(f.compare("sgt", room, _LEAST_ROOM), room, _LEAST_ROOM)
    block = f.call("text_new", context, total, room)
    f.return_if(f.is_null(block), NULL)
    data = f.at(block, TEXT_DATA, "i8")
    f.copy(data, a, f.op("mul", count, 4), 4)
    f.copy(f.at(data, count, "i32"), b, size, 4)
    f.ret(block)


def _build_repeat(m: ModuleBuilder) -> None:
    """The block with a text so many times; null without memory."""
    f = _function(m, "repeat", "ptr context", "ptr a", "i64 count", "i64 times")
    context, a, count, times = f.parameters
    total = f.op("mul", count, times)
    f.return_if(f.compare("ugt", f.op("mul", f.op("lshr", count, 20), times), 1 << 20), NULL)
    block = f.call("text_new", context, total, total)
    f.return_if(f.is_null(block), NULL)
    data = f.at(block, TEXT_DATA, "i8")
    with f.loop(times) as k:
        f.copy(f.at(data, f.op("mul", k, count), "i32"), a, f.op("mul", count, 4), 4)
    f.ret(block)


def _build_steps(m: ModuleBuilder) -> None:
    """The block with so many code points of a text, from one on, by steps; null without memory."""
    f = _function(m, "steps", "ptr context", "ptr a", "i64 start", "i64 step", "i64 count")
    context, a, start, step, count = f.parameters
    block = f.call("text_new", context, count, count)
    f.return_if(f.is_null(block), NULL)
    data = f.at(block, TEXT_DATA, "i8")
    with f.loop(count) as k:
        f.store(f.at(data, k, "i32"), _code(f, a, f.op("add", start, f.op("mul", k, step))))
    f.ret(block)


def _build_case(name: str) -> Callable[[ModuleBuilder], None]:
    low, high, added = _CASES[name]

    def build(m: ModuleBuilder) -> None:
        """The block with the letters of a text in the other case, which has letters of ASCII alone; null without
        memory.
        """
        f = _function(m, name, "ptr context", "ptr a", "i64 count")
        context, a, count = f.parameters
        block = f.call("text_new", context, count, count)
        f.return_if(f.is_null(block), NULL)
        data = f.at(block, TEXT_DATA, "i8")
        with f.loop(count) as k:
            code = _code(f, a, k)
            is_letter = f.all_of(f.compare("uge", code, ord(low)), f.compare("ule", code, ord(high)))
            f.store(f.at(data, k, "i32"), f.pick(is_letter, f.op("add", code, added), code, "i32"))
        f.ret(block)

    return build


def _build_ascii(m: ModuleBuilder) -> None:
    """Whether all code points are of ASCII."""
    f = _function(m, "ascii", "ptr a", "i64 count")
    a, count = f.parameters
    with f.loop(count) as k:
        f.return_unless(f.compare("ult", _code(f, a, k), 128), FALSE)
    f.ret(TRUE)


def _build_all_of(m: ModuleBuilder) -> None:
    """Whether all code points of a text, which has some, and of ASCII alone, are among those that bits say."""
    f = _function(m, "all_of", "ptr a", "i64 count", "i64 low", "i64 high")
    a, count, low, high = f.parameters
    f.return_if(f.compare("eq", count, 0), FALSE)
    with f.loop(count) as k:
        code = f.convert("zext", _code(f, a, k), "i64")
        bits = f.pick(f.compare("ult", code, 64), low, high)
        f.return_if(f.compare("eq", f.op("and", f.op("lshr", bits, f.op("and", code, 63)), 1), 0), FALSE)
    f.ret(TRUE)


def _build_span(m: ModuleBuilder, *, last: bool = False) -> None:
    """From one place up to another, the first whose code point is among those of ASCII that bits say, for 1, or is
    not, for 0; the end for none. ``last``: the place behind the last such one; the start for none.
    """
    f = _function(m, "rspan" if last else "span", "ptr a", "i64 start", "i64 end", "i64 low", "i64 high", "i64 sought")
    a, start, end, low, high, sought = f.parameters
    with f.loop(f.op("sub", end, start)) as k:
        at = f.op("sub", f.op("sub", end, k), 1) if last else f.op("add", start, k)
        code = f.convert("zext", _code(f, a, at), "i64")
        bits = f.pick(f.compare("ult", code, 64), low, f.pick(f.compare("ult", code, 128), high, 0))
        bit = f.op("and", f.op("lshr", bits, f.op("and", code, 63)), 1)
        with f.when(f.compare("eq", bit, sought)):
            f.ret(f.op("add", at, 1) if last else at)
    f.ret(start if last else end)


def _build_replace(m: ModuleBuilder) -> None:
    """The block with a text in which the first parts, so many as are said, have become others; null without memory."""
    f = _function(
        m, "replace", "ptr context", "ptr a", "i64 count", "ptr old", "i64 size", "ptr new", "i64 other", "i64 times"
    )
    context, a, count, old, size, new, other, times = f.parameters
    total = f.op("add", count, f.op("mul", times, f.op("sub", other, size)))
    block = f.call("text_new", context, total, total)
    f.return_if(f.is_null(block), NULL)
    data = f.at(block, TEXT_DATA, "i8")
    copying = f.loop(times, f.typed(0, "i64"), f.typed(0, "i64"))
    with copying:
        start, to = copying.values
        at = f.call("text_find", a, start, count, old, size)
        before = f.op("sub", at, start)
        f.copy(f.at(data, to, "i32"), f.at(a, start, "i32"), f.op("mul", before, 4), 4)
        to = f.op("add", to, before)
        f.copy(f.at(data, to, "i32"), new, f.op("mul", other, 4), 4)
        copying.carry(f.op("add", at, size), f.op("add", to, other))
    start, to = copying.values
    f.copy(f.at(data, to, "i32"), f.at(a, start, "i32"), f.op("mul", f.op("sub", count, start), 4), 4)
    f.ret(block)


def _build_of_int(m: ModuleBuilder) -> None:
    """The block with the decimal digits of a number; null without memory."""
    f = _function(m, "of_int", "ptr context", "i64 value")
    context, value = f.parameters
    below = f.compare("slt", value, 0)
    size = f.pick(below, f.op("sub", f.typed(0, "i64"), value), value)  # as an unsigned number
    counting = f.loop(19, f.typed(1, "i64"), size)
    with counting:
        digits, rest = counting.values
        rest = f.op("udiv", rest, 10)
        more = f.pick(f.compare("ne", rest, 0), 1, 0)
        counting.carry(f.op("add", digits, more), rest)
    digits = counting.values[0]
    total = f.op("add", digits, f.convert("zext", below, "i64"))
    block = f.call("text_new", context, total, total)
    f.return_if(f.is_null(block), NULL)
    data = f.at(block, TEXT_DATA, "i8")
    f.store(data, ord("-"), "i32")
    writing = f.loop(digits, size)
    with writing as k:
        (rest,) = writing.values
        digit = f.op("add", f.convert("trunc", f.op("urem", rest, 10), "i32"), ord("0"))
        f.store(f.at(data, f.op("sub", f.op("sub", total, k), 1), "i32"), digit)
        writing.carry(f.op("udiv", rest, 10))
    f.ret(block)


def _build_written(m: ModuleBuilder) -> None:
    """The block with a number of so many decimals, which its digits without the point say, behind a sign, which is a
    code point or 0, as wide as is said at least: at the right, for 1 at the left, for 2 with zeros behind the sign;
    null without memory.
    """
    f = _function(
        m, "written", "ptr context", "i64 size", "i64 behind", "i64 sign", "i64 width", "i64 side"
    )  # fmt: skip
    context, size, behind, sign, width, side = f.parameters
    counting = f.loop(19, f.typed(1, "i64"), size)
    with counting:
        digits, rest = counting.values
        rest = f.op("udiv", rest, 10)
        counting.carry(f.op("add", digits, f.pick(f.compare("ne", rest, 0), 1, 0)), rest)
    least = f.op("add", behind, 1)
    digits = f.pick(f.compare("slt", counting.values[0], least), least, counting.values[0])
    has_sign = f.convert("zext", f.compare("ne", sign, 0), "i64")
    point = f.convert("zext", f.compare("ne", behind, 0), "i64")
    body = f.op("add", digits, point)
    own = f.op("add", body, has_sign)
    total = f.pick(f.compare("sgt", width, own), width, own)
    missing = f.op("sub", total, own)
    block = f.call("text_new", context, total, total)
    f.return_if(f.is_null(block), NULL)
    data = f.at(block, TEXT_DATA, "i8")
    fill = f.pick(f.compare("eq", side, 2), ord("0"), ord(" "))
    with f.loop(total) as k:
        f.store(f.at(data, k, "i32"), f.convert("trunc", fill, "i32"))
    code = f.pick(f.compare("eq", sign, 0), fill, sign)
    f.store(f.at(data, f.pick(f.compare("eq", side, 0), missing, 0), "i32"), f.convert("trunc", code, "i32"))
    start = f.op("add", f.pick(f.compare("eq", side, 1), 0, missing), has_sign)
    end = f.op("sub", f.op("add", start, body), 1)
    f.store(f.at(data, f.op("sub", end, behind), "i32"), ord("."), "i32")
    writing = f.loop(digits, size)
    with writing as k:
        (rest,) = writing.values
        is_whole = f.op("and", f.convert("zext", f.compare("sge", k, behind), "i64"), point)
        digit = f.op("add", f.convert("trunc", f.op("urem", rest, 10), "i32"), ord("0"))
        f.store(f.at(data, f.op("sub", f.op("sub", end, k), is_whole), "i32"), digit)
        writing.carry(f.op("udiv", rest, 10))
    f.ret(block)


def _build_padded(m: ModuleBuilder) -> None:
    """The block with a text, at the left for 0 or at the right for 1 of so many places; null without memory."""
    f = _function(m, "padded", "ptr context", "ptr a", "i64 count", "i64 width", "i64 side")
    context, a, count, width, side = f.parameters
    total = f.pick(f.compare("sgt", width, count), width, count)
    block = f.call("text_new", context, total, total)
    f.return_if(f.is_null(block), NULL)
    data = f.at(block, TEXT_DATA, "i8")
    with f.loop(total) as k:
        f.store(f.at(data, k, "i32"), ord(" "), "i32")
    start = f.op("mul", f.op("sub", total, count), side)
    f.copy(f.at(data, start, "i32"), a, f.op("mul", count, 4), 4)
    f.ret(block)


def _build_decimal(m: ModuleBuilder) -> None:
    """Whether a text is a sign or none, and up to 18 digits, with one point among them or none. Then the words are
    what the digits say, how many are behind the point, whether the sign is a minus, and the number of points.
    """
    f = _function(m, "decimal", "ptr a", "i64 count", "ptr words")
    a, count, words = f.parameters
    f.return_if(f.compare("eq", count, 0), FALSE)
    first = f.load(a, "i32")
    is_negative = f.compare("eq", first, ord("-"))
    start = f.convert("zext", f.op("or", is_negative, f.compare("eq", first, ord("+"))), "i64")
    zero = f.typed(0, "i64")
    reading = f.loop(f.op("sub", count, start), zero, zero, zero, zero)
    with reading as k:
        number, digits, behind, points = reading.values
        code = f.convert("zext", _code(f, a, f.op("add", start, k)), "i64")
        digit, is_point = f.op("sub", code, ord("0")), f.compare("eq", code, ord("."))
        f.return_unless(f.op("or", is_point, f.compare("ult", digit, 10)), FALSE)
        point = f.convert("zext", is_point, "i64")
        one = f.op("xor", point, 1)
        wide = f.op("add", f.op("mul", number, 10), digit)
        reading.carry(
            f.pick(is_point, number, wide), f.op("add", digits, one), f.op("add", behind, f.op("mul", one, points)),
            f.op("add", points, point),
        )  # fmt: skip
    number, digits, behind, points = reading.values
    is_short = f.compare("ult", f.op("sub", digits, 1), 18)
    f.return_unless(f.all_of(is_short, f.compare("ule", points, 1)), FALSE)
    for position, value in enumerate((number, behind, f.convert("zext", is_negative, "i64"), points)):
        f.set_word(words, position, value)
    f.ret(TRUE)


_SPAN = "(ptr, i64, i64, ptr, i64)"
_PAIR = "(ptr, i64, ptr, i64)"
_TYPES: Final = {
    "equal": f"i1 {_PAIR}", "order": f"i64 {_PAIR}", "hash": "i64 (ptr, i64)", "find": f"i64 {_SPAN}",
    "rfind": f"i64 {_SPAN}", "count": f"i64 {_SPAN}", "new": "ptr (ptr, i64, i64)",
    "add": "ptr (ptr, ptr, ptr, i64, ptr, i64)", "repeat": "ptr (ptr, ptr, i64, i64)",
    "steps": "ptr (ptr, ptr, i64, i64, i64)", "upper": "ptr (ptr, ptr, i64)", "lower": "ptr (ptr, ptr, i64)",
    "ascii": "i1 (ptr, i64)", "all_of": "i1 (ptr, i64, i64, i64)", "of_int": "ptr (ptr, i64)",
    "span": "i64 (ptr, i64, i64, i64, i64, i64)", "rspan": "i64 (ptr, i64, i64, i64, i64, i64)",
    "decimal": "i1 (ptr, i64, ptr)", "written": "ptr (ptr, i64, i64, i64, i64, i64)",
    "padded": "ptr (ptr, ptr, i64, i64, i64)", "replace": "ptr (ptr, ptr, i64, ptr, i64, ptr, i64, i64)",
}  # fmt: skip
_BUILDERS: Final[dict[str, tuple[Callable[[ModuleBuilder], None], tuple[str, ...]]]] = {
    "equal": (_build_equal, ()), "order": (_build_order, ()), "hash": (_build_hash, ()),
    "find": (_build_find, ("equal",)), "rfind": (partial(_build_find, last=True), ("equal",)),
    "count": (_build_count, ("find",)),
    "new": (_build_new, ()), "add": (_build_add, ("new",)), "repeat": (_build_repeat, ("new",)),
    "steps": (_build_steps, ("new",)), "upper": (_build_case("upper"), ("new",)),
    "lower": (_build_case("lower"), ("new",)), "ascii": (_build_ascii, ()), "all_of": (_build_all_of, ()),
    "of_int": (_build_of_int, ("new",)), "span": (_build_span, ()), "rspan": (partial(_build_span, last=True), ()),
    "written": (_build_written, ("new",)), "padded": (_build_padded, ("new",)), "decimal": (_build_decimal, ()),
    "replace": (_build_replace, ("find", "new")),
}  # fmt: skip
