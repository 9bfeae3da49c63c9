"""Texts taken apart and put together: `split`, `strip`, `partition`, `replace`, `join`.

Parts show the code points of the text. What white space is beyond ASCII, Python is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.lowering_tables import lowers_on_texts
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import CannotCompileError, ListValue, Native, Scalar, TextValue, TupleValue
from flambeau.codegen.graph.representation import Bool, Listed, Text
from flambeau.codegen.graph.texts.texts import (
    as_text,
    ascii_bits,
    bits_of,
    call_text_function,
    code_address,
    native_where,
    new_text,
    text_of,
    where_ascii,
)
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node

WHITE_SPACE: Final = " \n\t\f\v"
"""What schemas say for all white space."""
_MOST: Final = (1 << 63) - 1
_INSIDE, _OUTSIDE = number(1), number(0)


def _part(fn: EmittedFunction, text: TextValue, start: Register, end: Register) -> TextValue:
    return TextValue(Text(), text.owner, code_address(fn, text, start), fn.e.binary("sub", end, start))


def _append(fn: EmittedFunction, parts: ListValue, text: TextValue) -> None:
    fn.values.retain(text)
    size = lists.length(fn, parts)
    lists.make_room(fn, parts, size)
    lists.put(fn, parts, size, text)
    lists.set_length(fn, parts, fn.e.binary("add nuw nsw", size, number(1)))


@lowers_on_texts("aten::split")
def split(fn: EmittedFunction, node: Node) -> None:
    """`split`: by a separator, or by white space."""
    text, operands = text_of(fn, node.operand(0)), operands_by_name(fn, node)
    limit = fn.values.index(node.operand(2))
    limit = fn.e.select(fn.e.icmp("slt", limit, number(0)), number(_MOST), limit)
    if literal_of(operands["separator"]) is None:
        where_ascii(fn, node, text, Listed(Text()), lambda: _split_by_white_space(fn, text, limit))
        return
    separator = as_text(fn, operands["separator"])
    fn.exits.fail_if(fn.e.icmp("eq", separator.length, number(0)), node)
    fn.values.set_new(node.result(), _split_by(fn, text, separator, limit))


def _split_by(fn: EmittedFunction, text: TextValue, separator: TextValue, limit: Register) -> ListValue:
    e, parts = fn.e, lists.new_list(fn, Listed(Text()), number(0))
    slot = e.slot("i64", 8)
    e.raw(f"store i64 0, ptr {slot}")
    again, more, rest = e.label("part"), e.label("more"), e.label("rest")
    e.branch(again)
    e.start(again)
    start = e.define(f"load i64, ptr {slot}", "i64", 1)
    at = call_text_function(fn, "find", text.data, start, text.length, separator.data, separator.length)
    is_full = e.icmp("sge", lists.length(fn, parts), limit)
    e.branch_if(e.binary("or", is_full, e.icmp("slt", at, number(0))), rest, more)
    e.start(more)
    _append(fn, parts, _part(fn, text, start, at))
    e.raw(f"store i64 {e.binary('add', at, separator.length)}, ptr {slot}")
    e.branch(again)
    e.start(rest)
    _append(fn, parts, _part(fn, text, start, text.length))
    return parts


def _split_by_white_space(fn: EmittedFunction, text: TextValue, limit: Register) -> ListValue:
    e, parts = fn.e, lists.new_list(fn, Listed(Text()), number(0))
    slot, bits = e.slot("i64", 8), ascii_bits("isspace")
    e.raw(f"store i64 0, ptr {slot}")
    again, some, done = e.label("part"), e.label("some"), e.label("split")
    e.branch(again)
    e.start(again)
    start = _span(fn, text, e.define(f"load i64, ptr {slot}", "i64", 1), bits, _OUTSIDE)
    e.branch_if(e.icmp("slt", start, text.length), some, done)
    e.start(some)
    is_full = e.icmp("sge", lists.length(fn, parts), limit)
    end = e.select(is_full, text.length, _span(fn, text, start, bits, _INSIDE))
    _append(fn, parts, _part(fn, text, start, end))
    e.raw(f"store i64 {end}, ptr {slot}")
    e.branch(again)
    e.start(done)
    return parts


def _span(
    fn: EmittedFunction, text: TextValue, start: Register, bits: tuple[int, int], sought: Register, *,
    last: bool = False,
) -> Register:  # fmt: skip
    """The first place from one on that is among characters, or outside of them; `last`: behind the last one."""
    low, high = map(number, bits)
    return call_text_function(fn, "rspan" if last else "span", text.data, start, text.length, low, high, sought)


@lowers_on_texts("aten::strip", "aten::lstrip", "aten::rstrip")
def strip(fn: EmittedFunction, node: Node) -> None:
    """`strip` and its like: without white space, or without known characters of ASCII."""
    text, chars = text_of(fn, node.operand(0)), literal_of(fn.values.get(node.operand(1)))
    if not isinstance(chars, str) or not chars.isascii():
        raise CannotCompileError("the characters are not known")
    name = node.op.removeprefix("aten::")

    def stripped(bits: tuple[int, int]) -> TextValue:
        start, end = number(0), text.length
        if name != "rstrip":
            start = _span(fn, text, start, bits, _OUTSIDE)
        if name != "lstrip":
            end = _span(fn, text, start, bits, _OUTSIDE, last=True)
        return _part(fn, text, start, end)

    if chars != WHITE_SPACE:
        fn.values.set_view(node.result(), stripped(bits_of(chars)))
        return

    def retained() -> Native:
        part = stripped(ascii_bits("isspace"))
        fn.values.retain(part)
        return part

    where_ascii(fn, node, text, Text(), retained)


@lowers_on_texts("aten::partition")
def partition(fn: EmittedFunction, node: Node) -> None:
    """`partition`: what is before a separator, the separator, and what is behind it."""
    e, (text, separator) = fn.e, (text_of(fn, v) for v in node.operands[:2])
    fn.exits.fail_if(e.icmp("eq", separator.length, number(0)), node)
    at = call_text_function(fn, "find", text.data, number(0), text.length, separator.data, separator.length)
    is_there = e.icmp("sge", at, number(0))
    end = e.select(is_there, at, text.length)
    behind = e.select(is_there, e.binary("add", at, separator.length), text.length)
    middle = _part(fn, text, end, behind)
    for value, part in zip(
        node.results, (_part(fn, text, number(0), end), middle, _part(fn, text, behind, text.length)), strict=True
    ):
        fn.values.set_view(value, part)


@lowers_on_texts("aten::replace")
def replace(fn: EmittedFunction, node: Node) -> None:
    """`replace`; of a part without characters, which is at every place, by Python."""
    e, (text, old, new) = fn.e, (text_of(fn, v) for v in node.operands[:3])
    limit = fn.values.index(node.operand(3))

    def native() -> TextValue:
        times = call_text_function(fn, "count", text.data, number(0), text.length, old.data, old.length)
        times = e.select(e.icmp("slt", limit, number(0)), times, e.intrinsic("smin", times, limit))
        operands = text.data, text.length, old.data, old.length, new.data, new.length, times
        return new_text(fn, "replace", None, *operands)

    if memory.literal(old.length):
        fn.values.set_new(node.result(), native())
    else:
        native_where(fn, node, e.icmp("ne", old.length, number(0)), Text(), native)


@lowers_on_texts("aten::join")
def join(fn: EmittedFunction, node: Node) -> None:
    """`join`: the texts of a list in one new one."""
    separator, listed = text_of(fn, node.operand(0)), fn.values.get(node.operand(1))
    if not isinstance(listed, ListValue | TupleValue) or (isinstance(listed, ListValue) and listed.rep.item != Text()):
        raise CannotCompileError("texts that are not in a list")
    fn.values.set_new(node.result(), joined(fn, separator, listed))


def joined(fn: EmittedFunction, separator: TextValue, listed: ListValue | TupleValue) -> TextValue:
    """A new text of those of a list, and another one between each two of them."""
    e, count = fn.e, lists.length(fn, listed)
    between = e.intrinsic("smax", e.binary("sub", count, number(1)), number(0))
    slot = e.slot("i64", 8)
    e.raw(f"store i64 {e.binary('mul', between, separator.length)}, ptr {slot}")

    def add_length(one: TextValue, _: Register) -> None:
        so_far = e.define(f"load i64, ptr {slot}", "i64", 1)
        e.raw(f"store i64 {e.binary('add', so_far, one.length)}, ptr {slot}")

    _each_text(fn, listed, add_length)
    total = e.define(f"load i64, ptr {slot}", "i64", 1)
    result = new_text(fn, "new", total, total, total)
    e.raw(f"store i64 0, ptr {slot}")

    def put(text: TextValue) -> None:
        at = e.define(f"load i64, ptr {slot}", "i64", 1)
        bytes_ = memory.multiply(e, text.length, number(4))
        target = code_address(fn, result, at)
        e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {text.data}, i64 {bytes_}, i1 false)")
        e.raw(f"store i64 {e.binary('add', at, text.length)}, ptr {slot}")

    def put_behind(one: TextValue, k: Register) -> None:
        is_first = e.icmp("eq", k, number(0))
        length = e.select(is_first, number(0), separator.length)
        put(TextValue(Text(), separator.owner, separator.data, length))
        put(one)

    _each_text(fn, listed, put_behind)
    return result


def _each_text(fn: EmittedFunction, listed: Native, body: Callable[[TextValue, Register], None]) -> None:
    if isinstance(listed, TupleValue):
        for k, one in enumerate(listed.items):
            body(as_text(fn, one), number(k))
        return
    assert isinstance(listed, ListValue)
    each(fn, lists.length(fn, listed), lambda k: body(as_text(fn, lists.item(fn, listed, k)), k))


@lowers_on_texts("aten::isupper", "aten::islower")
def is_case(fn: EmittedFunction, node: Node) -> None:
    """`isupper` and `islower`: there are letters of the case, and none of the other."""
    e, text = fn.e, text_of(fn, node.operand(0))
    wanted, other = ("isupper", "islower") if node.op == "aten::isupper" else ("islower", "isupper")

    def native() -> Native:
        has, has_other = (
            e.icmp("slt", _span(fn, text, number(0), ascii_bits(name), _INSIDE), text.length)
            for name in (wanted, other)
        )
        return Scalar(Bool(), e.binary("and", has, e.binary("xor", has_other, e.like(has, 1))))

    where_ascii(fn, node, text, Bool(), native)
