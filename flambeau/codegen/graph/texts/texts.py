"""Texts: parts, comparisons, searches and new texts; see `text_functions` for what they call.

A part of a text shows the same code points. What is added to a text goes behind it in its block where there is room.
What only tables of Unicode tell is run by Python, where a text has other characters than those of ASCII.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Final

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.containers.list_slices import slice_bound
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.lowering_tables import lowers, lowers_on_texts
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import (
    CannotCompileError,
    Native,
    Scalar,
    TextValue,
)
from flambeau.codegen.graph.representation import Bool, Int, Representation, Text
from flambeau.codegen.graph.texts import text_literals
from flambeau.codegen.graph.texts.text_functions import result_of, text_function
from flambeau.codegen.graph.texts.text_literals import NULL
from flambeau.codegen.layouts import TEXT_DATA
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value

_CODES: Final = 0x110000
_ASCII: Final = 128
_TABLE: Final = "text_table"


# -- values -----------------------------------------------------------------------------------------------------------


def text_of(fn: EmittedFunction, value: Value) -> TextValue:
    """A value that is a text. Raises `CannotCompileError` for another."""
    return as_text(fn, fn.values.get(value))


def are_of_text(reps: Sequence[Representation]) -> bool:
    """Whether the operands of an operator that look like this begin with a text, or a number of repetitions of one."""
    return bool(reps) and native_values.is_text(reps[1] if isinstance(reps[0], Int) and len(reps) > 1 else reps[0])


def as_text(fn: EmittedFunction, native: Native) -> TextValue:
    """A native value as a text. Raises `CannotCompileError` for another."""
    refuse_lanes(fn)
    return text_literals.as_text(fn.e, fn.parts.functions, native)


def refuse_lanes(fn: EmittedFunction) -> None:
    """Raise `CannotCompileError` in a loop that runs several iterations at a time."""
    if fn.e.lanes > 1:
        raise CannotCompileError("a text in each iteration of a loop")


def call_text_function(fn: EmittedFunction, name: str, *arguments: Register) -> Register:
    """What one of the `text_functions` gives."""
    listed = ", ".join(f"{a.type} {a}" for a in arguments)
    kind = result_of(name)
    return fn.e.define(f"call {kind} @{text_function(fn.parts.functions, name)}({listed})", kind, 1)


def new_text(fn: EmittedFunction, name: str, length: Register | None, *arguments: Register) -> TextValue:
    """The text in a new block, which is full where no length is said."""
    block = call_text_function(fn, name, fn.exits.context, *arguments)
    fn.exits.leave_without_memory_if(fn.e.icmp("eq", block, NULL))
    data = first_code_address(fn, block)
    return TextValue(Text(), block, data, _used(fn, block) if length is None else length)


def first_code_address(fn: EmittedFunction, block: Register) -> Register:
    """Where the code points of a block begin."""
    return fn.e.define(f"getelementptr inbounds i8, ptr {block}, i64 {TEXT_DATA}", "ptr", 1)


def _used(fn: EmittedFunction, block: Register) -> Register:
    return memory.load_word(fn.e, block, TEXT_DATA // 8 - 2, "i64")


def code_address(fn: EmittedFunction, text: TextValue, index: Register) -> Register:
    """Where a code point of a text is."""
    return memory.offset_address(fn.e, text.data, index, number(4), 4)


def _first_code(fn: EmittedFunction, text: TextValue) -> Register:
    """The first code point; of an empty text anything."""
    return fn.e.define(f"load i32, ptr {text.data}", "i32", 1)


# -- parts ------------------------------------------------------------------------------------------------------------


@lowers_on_texts("aten::len")
def length(fn: EmittedFunction, node: Node) -> None:
    """`len`."""
    fn.values.set(node.result(), Scalar(Int(), text_of(fn, node.operand(0)).length))


@lowers_on_texts("aten::__getitem__", "prim::StringIndex")
def get_item(fn: EmittedFunction, node: Node) -> None:
    """One character; leaves the function where there is none."""
    e, text, at = fn.e, text_of(fn, node.operand(0)), fn.values.index(node.operand(1))
    constant = memory.literal(at)
    if constant is None or constant < 0:
        at = e.select(e.icmp("slt", at, number(0)), e.binary("add", at, text.length), at)
    fn.exits.fail_if(e.icmp("uge", at, text.length), node)
    fn.values.set_view(node.result(), TextValue(Text(), text.owner, code_address(fn, text, at), number(1)))


@lowers_on_texts("aten::slice")
def slice_(fn: EmittedFunction, node: Node) -> None:
    """`text[start:end:step]`: a part, or, by other steps than 1, a new text."""
    e, text = fn.e, text_of(fn, node.operand(0))
    step = memory.literal(fn.values.index(node.operand(3)))
    if not step or step == -(1 << 63):
        raise CannotCompileError("a slice of a text with a step that is not known")
    size = text.length
    last = e.binary("sub", size, number(1))
    low, high = (number(0), size) if step > 0 else (number(-1), last)
    around = (low, high) if step > 0 else (high, low)
    start, end = (
        slice_bound(fn, fn.values.get(v), size, o, low, high)
        for v, o in zip(node.operands[1:3], around, strict=True)
    )  # fmt: skip
    distance = e.binary("sub", end, start) if step > 0 else e.binary("sub", start, end)
    reach = e.intrinsic("smax", distance, number(0))
    if step == 1:
        fn.values.set_view(node.result(), TextValue(Text(), text.owner, code_address(fn, text, start), reach))
        return
    count = e.binary("sdiv", e.binary("add", reach, number(abs(step) - 1)), number(abs(step)))
    fn.values.set_new(node.result(), new_text(fn, "steps", count, text.data, start, number(step), count))


# -- what texts say ---------------------------------------------------------------------------------------------------


@lowers_on_texts("aten::eq", "aten::ne")
def equal(fn: EmittedFunction, node: Node) -> None:
    """`==` and `!=`."""
    a, b = (text_of(fn, v) for v in node.operands[:2])
    answer = are_equal(fn, a, b)
    if node.op == "aten::ne":
        answer = fn.e.binary("xor", answer, fn.e.like(answer, 1))
    fn.values.set(node.result(), Scalar(Bool(), answer))


def are_equal(fn: EmittedFunction, a: TextValue, b: TextValue) -> Register:
    """Whether two texts are equal; of a character that is compared, without a call."""
    lengths = memory.literal(a.length), memory.literal(b.length)
    if 1 not in lengths:
        return call_text_function(fn, "equal", a.data, a.length, b.data, b.length)
    same = fn.e.icmp("eq", _first_code(fn, a), _first_code(fn, b))
    if lengths == (1, 1):
        return same
    return fn.e.binary("and", fn.e.icmp("eq", a.length, b.length), same)


@lowers_on_texts("aten::lt", "aten::le", "aten::gt", "aten::ge")
def order(fn: EmittedFunction, node: Node) -> None:
    """`<` and its like, by code points."""
    sign = order_of(fn, *(text_of(fn, v) for v in node.operands[:2]))
    predicate = "s" + node.op.removeprefix("aten::")
    fn.values.set(node.result(), Scalar(Bool(), fn.e.icmp(predicate, sign, number(0))))


def order_of(fn: EmittedFunction, a: TextValue, b: TextValue) -> Register:
    """Below 0, 0 or above as one text comes before another, is equal to it, or comes behind."""
    return call_text_function(fn, "order", a.data, a.length, b.data, b.length)


@lowers_on_texts("aten::ord")
def ord_(fn: EmittedFunction, node: Node) -> None:
    """`ord`: leaves the function unless there is one character."""
    text = text_of(fn, node.operand(0))
    if memory.literal(text.length) != 1:
        fn.exits.fail_if(fn.e.icmp("ne", text.length, number(1)), node)
    fn.values.set(node.result(), Scalar(Int(), fn.e.convert("zext", _first_code(fn, text), "i64")))


def _span(fn: EmittedFunction, node: Node, text: TextValue) -> tuple[Register, Register]:
    """From where up to where is looked, which is the end for -1; a start behind the end stays there."""
    e, size = fn.e, text.length
    start, end = (fn.values.index(v) for v in node.operands[2:4])
    first = e.select(e.icmp("slt", start, number(0)), e.binary("add", start, size), start)
    last = slice_bound(fn, fn.values.get(node.operand(3)), size, size)
    return e.intrinsic("smax", first, number(0)), e.select(e.icmp("eq", end, number(-1)), size, last)


def _searched(fn: EmittedFunction, node: Node, name: str) -> Register:
    text, part = (text_of(fn, v) for v in node.operands[:2])
    return call_text_function(fn, name, text.data, *_span(fn, node, text), part.data, part.length)


@lowers_on_texts("aten::find", "aten::rfind", "aten::count")
def find(fn: EmittedFunction, node: Node) -> None:
    """`find`, `rfind` and `count`."""
    fn.values.set(node.result(), Scalar(Int(), _searched(fn, node, node.op.removeprefix("aten::"))))


@lowers_on_texts("aten::index", "aten::rindex")
def index(fn: EmittedFunction, node: Node) -> None:
    """`index` and `rindex`: leave the function where the part is not there."""
    at = _searched(fn, node, node.op.removeprefix("aten::").replace("index", "find"))
    fn.exits.fail_if(fn.e.icmp("slt", at, number(0)), node)
    fn.values.set(node.result(), Scalar(Int(), at))


@lowers_on_texts("aten::startswith", "aten::endswith")
def starts_or_ends_with(fn: EmittedFunction, node: Node) -> None:
    """`startswith` and `endswith`: whether the part is at the first place where it fits, or the last."""
    e, (text, part) = fn.e, (text_of(fn, v) for v in node.operands[:2])
    start, end = _span(fn, node, text)
    last = e.binary("sub", end, part.length)
    fits = e.icmp("sle", start, last)
    at = start if node.op == "aten::startswith" else last
    shown = TextValue(Text(), text.owner, code_address(fn, text, e.select(fits, at, number(0))), part.length)
    inside, after, slot = e.label("fits"), e.label("after"), e.slot("i1", 8)
    e.raw(f"store i1 false, ptr {slot}")
    e.branch_if(fits, inside, after)
    e.start(inside)
    e.raw(f"store i1 {call_text_function(fn, 'equal', shown.data, shown.length, part.data, part.length)}, ptr {slot}")
    e.branch(after)
    e.start(after)
    fn.values.set(node.result(), Scalar(Bool(), e.define(f"load i1, ptr {slot}", "i1", 1)))


# -- new texts --------------------------------------------------------------------------------------------------------


@lowers_on_texts("aten::add")
def add(fn: EmittedFunction, node: Node) -> None:
    """`a + b`."""
    e, (a, b) = fn.e, (text_of(fn, v) for v in node.operands[:2])
    total = e.binary("add", a.length, b.length)
    block = call_text_function(fn, "add", fn.exits.context, a.owner, a.data, a.length, b.data, b.length)
    fn.exits.leave_without_memory_if(e.icmp("eq", block, NULL))
    data = e.select(e.icmp("eq", block, a.owner), a.data, first_code_address(fn, block))
    fn.values.set_new(node.result(), TextValue(Text(), block, data, total))


@lowers_on_texts("aten::mul")
def repeat(fn: EmittedFunction, node: Node) -> None:
    """`text * n`."""
    natives = [fn.values.get(v) for v in node.operands[:2]]
    first, second = node.operands[:2] if not isinstance(natives[0], Scalar) else node.operands[1::-1]
    text = text_of(fn, first)
    times = fn.e.intrinsic("smax", fn.values.index(second), number(0))
    total = fn.e.binary("mul", text.length, times)
    fn.values.set_new(node.result(), new_text(fn, "repeat", total, text.data, text.length, times))


@lowers("aten::chr")
def chr_(fn: EmittedFunction, node: Node) -> None:
    """`chr`: those of ASCII lie in the code; leaves the function outside of Unicode."""
    refuse_lanes(fn)
    e, code = fn.e, fn.values.index(node.operand(0))
    fn.exits.fail_if(e.icmp("uge", code, number(_CODES)), node)
    table = text_literals.constant(fn.parts.functions, _TABLE, range(_ASCII + 1))
    rep = Text()
    slots = fn.slots.new(rep)
    known, other, after = e.label("ascii"), e.label("other"), e.label("after")
    e.branch_if(e.icmp("ult", code, number(_ASCII)), known, other)
    e.start(known)
    fn.slots.store(slots, TextValue(rep, NULL, memory.offset_address(e, table, code, number(4), 4), number(1)))
    e.branch(after)
    e.start(other)
    new = new_text(fn, "new", number(1), number(1), number(1))
    e.raw(f"store i32 {e.convert('trunc', code, 'i32')}, ptr {new.data}")
    fn.slots.store(slots, new)
    e.branch(after)
    e.start(after)
    owner, data = (e.define(f"load ptr, ptr {slot}", "ptr", 1) for slot in slots[:2])
    fn.values.set_new(node.result(), TextValue(rep, owner, data, number(1)))


@lowers("aten::str")
def str_(fn: EmittedFunction, node: Node) -> None:
    """`str` of an int."""
    native = fn.values.get(node.operand(0))
    if not isinstance(native, Scalar) or not isinstance(native.rep, Int):
        raise CannotCompileError(f"str() of {native_values.describe(native.rep)}, which Python writes")
    refuse_lanes(fn)
    fn.values.set_new(node.result(), new_text(fn, "of_int", None, native.register))


# -- what tables of Unicode say ---------------------------------------------------------------------------------------


@functools.cache
def ascii_bits(name: str) -> tuple[int, int]:
    """Which characters of ASCII a method of str is true of: a bit for each, in two words."""
    return bits_of("".join(chr(code) for code in range(_ASCII) if getattr(chr(code), name)()))


def bits_of(characters: str) -> tuple[int, int]:
    """Which characters of ASCII are among some: a bit for each, in two words."""
    bits = sum(1 << ord(c) for c in set(characters))
    low, high = bits & ((1 << 64) - 1), bits >> 64
    return low - (low >> 63 << 64), high - (high >> 63 << 64)


@lowers_on_texts(
    "aten::isdigit", "aten::isalpha", "aten::isalnum", "aten::isspace", "aten::isdecimal", "aten::isnumeric"
)  # fmt: skip
def all_are(fn: EmittedFunction, node: Node) -> None:
    """`isdigit` and its like: there are characters, and each is one."""
    text = text_of(fn, node.operand(0))
    low, high = ascii_bits(node.op.removeprefix("aten::"))
    where_ascii(
        fn, node, text, Bool(),
        lambda: Scalar(Bool(), call_text_function(fn, "all_of", text.data, text.length, number(low), number(high))),
    )  # fmt: skip


@lowers_on_texts("aten::upper", "aten::lower")
def change_case(fn: EmittedFunction, node: Node) -> None:
    """`upper` and `lower`."""
    text, name = text_of(fn, node.operand(0)), node.op.removeprefix("aten::")
    where_ascii(fn, node, text, Text(), lambda: new_text(fn, name, text.length, text.data, text.length))


def where_ascii(
    fn: EmittedFunction, node: Node, text: TextValue, rep: Representation, native: Callable[[], Native]
) -> None:
    """The node's result by native code where there are characters of ASCII alone, else by Python."""
    native_where(fn, node, call_text_function(fn, "ascii", text.data, text.length), rep, native)


def native_where(
    fn: EmittedFunction, node: Node, condition: Register, rep: Representation, native: Callable[[], Native]
) -> None:
    """The node's result by native code where a condition holds, else by Python."""
    e, slots = fn.e, fn.slots.new(rep)
    here, there, after = e.label("native"), e.label("python"), e.label("after")
    e.branch_if(condition, here, there)
    e.start(here)
    fn.slots.store(slots, native())
    e.branch(after)
    e.start(there)
    (words,) = call_python(fn, node, (rep,), is_rare=True)
    fn.slots.store(slots, native_values.from_words(rep, words))
    e.branch(after)
    e.start(after)
    fn.values.set_new(node.result(), fn.slots.load(slots, rep))



