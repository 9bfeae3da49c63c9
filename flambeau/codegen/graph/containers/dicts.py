"""Dicts whose keys are ints, bools, texts or tuples of these: see `dict_tables` for how a key is found."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.graph import memory, native_values, results
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.containers.dict_tables import FEW, NO_MEMORY, TableFunctions, table_functions
from flambeau.codegen.graph.containers.lists import tag
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.lowering_tables import lowers_on_dicts
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import (
    CannotCompileError,
    DictValue,
    ListValue,
    Native,
    Scalar,
    TupleValue,
    constant_of,
    words_of,
)
from flambeau.codegen.graph.representation import (
    Bool,
    Fixed,
    Int,
    Listed,
    Mapped,
    Optional,
    Representation,
    Tupled,
    Unknown,
    holds_blocks,
    is_key,
    llvm_words,
    word_count,
)
from flambeau.codegen.layouts import DICT, LIST, WORD
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value
from flambeau.schema.types import DictType, TensorType

NULL = Register("null", "ptr", 1)
MOST_WRITTEN = 256
"""Entries of a dict that code fills in, one after another, whenever a function is called."""


# -- entries ----------------------------------------------------------------------------------------------------------


def tables(fn: EmittedFunction, rep: Mapped) -> TableFunctions:
    """The functions for dicts that look like this."""
    return table_functions(fn.parts.functions, rep)


def find(fn: EmittedFunction, mapping: DictValue, key: Native) -> Register:
    """The place of a key; below 0 where it is not there."""
    return _place_by(fn, tables(fn, mapping.rep).find, mapping, key)


def place(fn: EmittedFunction, mapping: DictValue, key: Native) -> Register:
    """The place of a key, made where there is none; leaves the function where there is no memory."""
    at = _place_by(fn, tables(fn, mapping.rep).find_or_add, mapping, key)
    fn.exits.leave_without_memory_if(fn.e.icmp("eq", at, number(NO_MEMORY)))
    return at


def _place_by(fn: EmittedFunction, function: str, mapping: DictValue, key: Native) -> Register:
    refuse_lanes(fn)
    words = [fn.exits.context, mapping.block, *words_of(fn.slots.converted(key, mapping.rep.key))]
    return fn.e.define(f"call i64 @{function}({', '.join(f'{w.type} {w}' for w in words)})", "i64", 1)


def refuse_lanes(fn: EmittedFunction) -> None:
    """Raise `CannotCompileError` in a loop that runs several iterations at a time."""
    if fn.e.lanes > 1:
        raise CannotCompileError("a dict in each iteration of a loop")


def remove(fn: EmittedFunction, mapping: DictValue, at: Register) -> None:
    """Take out an entry, to whose value the dict has no reference any more."""
    fn.e.raw(f"call void @{tables(fn, mapping.rep).remove}(ptr {mapping.block}, i64 {at})")


def value_at(fn: EmittedFunction, mapping: DictValue, at: Register) -> Native:
    """The value of an entry, without a reference of its own."""
    return fn.values.densified(_part(fn, mapping, at, 1 + word_count(mapping.rep.key), mapping.rep.value))


def key_at(fn: EmittedFunction, mapping: DictValue, at: Register) -> Native:
    """The key of an entry."""
    return _part(fn, mapping, at, 1, mapping.rep.key)


def _part(fn: EmittedFunction, mapping: DictValue, at: Register, first: int, rep: Representation) -> Native:
    address = lists.item_address(fn, mapping.entries, at)
    kinds = llvm_words(rep)
    words = [memory.load_word(fn.e, address, first + k, kind, tag(kind)) for k, kind in enumerate(kinds)]
    return native_values.from_words(rep, words)


def put(fn: EmittedFunction, mapping: DictValue, at: Register, value: Native) -> None:
    """Write the value of an entry; the dict takes over a reference to it."""
    address = lists.item_address(fn, mapping.entries, at)
    first = 1 + word_count(mapping.rep.key)
    for k, word in enumerate(words_of(value)):
        memory.store_word(fn.e, address, first + k, word, tag(word.type))


def each_place(fn: EmittedFunction, mapping: DictValue, body: Callable[[Register], None]) -> None:
    """``body`` of the place of each entry, in order."""
    e = fn.e

    def one(at: Register) -> None:
        is_there = memory.load_word(e, lists.item_address(fn, mapping.entries, at), 0, "i64", tag("i64"))
        there, after = e.label("entry"), e.label("next")
        e.branch_if(e.icmp("ne", is_there, number(0)), there, after)
        e.start(there)
        body(at)
        e.branch(after)
        e.start(after)

    each(fn, lists.length(fn, mapping.entries), one)


def live(fn: EmittedFunction, mapping: DictValue) -> Register:
    """How many entries there are."""
    return memory.load_word(fn.e, mapping.block, DICT.word("live"), "i64")


def new_dict(fn: EmittedFunction, rep: Mapped, capacity: Register | None = None) -> DictValue:
    """A dict without entries."""
    refuse_lanes(fn)
    block = fn.exits.new_block(number((DICT.words - LIST.words) * WORD))
    room = number(FEW) if capacity is None else capacity
    items = fn.exits.new_block(memory.multiply(fn.e, room, number(WORD * word_count(rep.entry))))
    fields = {"length": number(0), "capacity": room, "items": items, "table": NULL}
    fields |= {"bits": number(0), "live": number(0), "filled": number(0)}
    for name, word in fields.items():
        memory.store_word(fn.e, block, DICT.word(name), word)
    return DictValue(rep, block)


def mapping_of(fn: EmittedFunction, value: Value) -> DictValue:
    """A value that is a dict or a set. Raises `CannotCompileError` for another."""
    native = fn.values.get(value)
    if not isinstance(native, DictValue):
        raise CannotCompileError(f"a dict is needed, not {native_values.describe(native.rep)}")
    return native


# -- operators --------------------------------------------------------------------------------------------------------


def construct(fn: EmittedFunction, node: Node) -> None:
    """`prim::DictConstruct`: what only leaves is its values, anything else a dict in memory."""
    if lists.construct_known_dict(fn, node):
        return
    filled = new_dict(fn, _declared(node) or _of_tensors(fn, node))
    for key, value in zip(node.operands[::2], node.operands[1::2], strict=True):
        _assign(fn, filled, fn.values.get(key), fn.values.get(value))
    fn.values.set_new(node.result(), filled)


def constant(fn: EmittedFunction, node: Node) -> None:
    """A dict or a set that the program writes out, in memory where something looks into it."""
    contents, rep = node.attributes["value"], _declared(node)
    if not isinstance(contents, dict | set) or rep is None or len(contents) > MOST_WRITTEN:
        return
    filled = new_dict(fn, rep)
    for key, value in contents.items() if isinstance(contents, dict) else ((key, ()) for key in contents):
        _assign(fn, filled, constant_of(key), constant_of(value))
    fn.values.set_new(node.result(), filled)


def _declared(node: Node) -> Mapped | None:
    rep = results.declared_rep(node.result().static_type)
    return rep if isinstance(rep, Mapped) else None


def _of_tensors(fn: EmittedFunction, node: Node) -> Mapped:
    """A dict of tensors, whose first one says what dtype and rank they have."""
    type_ = node.result().static_type
    key = results.declared_rep(type_.key) if isinstance(type_, DictType) else None
    if key is None or not is_key(key) or not isinstance(type_, DictType) or not isinstance(type_.value, TensorType):
        raise CannotCompileError(lists.NO_DICT)
    value = fn.slots.learned(node.result()) or _first_put(node.result()) or Unknown(node.result())
    return Mapped(key, value)


def _first_put(mapping: Value) -> Representation | None:
    """How the first value looks that is put into a dict, as far as its type says."""
    puts = (user.operand(2) for user, offset in mapping.uses() if not offset and user.op == "aten::_set_item")
    rep = next((rep for rep in (results.declared_rep(v.static_type) for v in puts) if rep is not None), None)
    return None if rep is None else native_values.item_form(rep)


def from_pairs(fn: EmittedFunction, node: Node) -> None:
    """`dict` of a list of pairs."""
    filled = new_dict(fn, _declared(node) or _of_tensors(fn, node))

    def one(pair: Native) -> None:
        if not isinstance(pair, TupleValue):
            raise CannotCompileError("a dict of what is no pairs")
        _assign(fn, filled, *pair.items)

    each_item(fn, fn.values.get(node.operand(0)), one)
    fn.values.set_new(node.result(), filled)


def each_item(fn: EmittedFunction, sequence: Native, body: Callable[[Native], None]) -> None:
    """``body`` of each item of a list, in order."""
    if isinstance(sequence, TupleValue):
        for item in sequence.items:
            body(item)
    elif isinstance(sequence, ListValue):
        of = sequence
        each(fn, lists.length(fn, sequence), lambda k: body(lists.item(fn, of, k)))
    else:
        raise CannotCompileError(f"the items of {native_values.describe(sequence.rep)}")


def _assign(fn: EmittedFunction, mapping: DictValue, key: Native, value: Native) -> None:
    """`mapping[key] = value`."""
    lists.settle(fn, mapping.rep.value, value.rep)
    new = fn.slots.converted(value, mapping.rep.value)
    at = place(fn, mapping, key)
    if holds_blocks(mapping.rep.value):
        fn.values.retain(new)
        old = value_at(fn, mapping, at)  # nothing, where the entry is new
        put(fn, mapping, at, new)
        fn.values.drop(old)
    else:
        put(fn, mapping, at, new)


@lowers_on_dicts("aten::_set_item")
def set_item(fn: EmittedFunction, node: Node) -> None:
    """`aten::_set_item`."""
    mapping = mapping_of(fn, node.operand(0))
    _assign(fn, mapping, fn.values.get(node.operand(1)), fn.values.get(node.operand(2)))
    if node.results:
        fn.values.set_view(node.result(0), mapping)


@lowers_on_dicts("aten::__getitem__")
def get_item(fn: EmittedFunction, node: Node) -> None:
    """`aten::__getitem__`: leaves the function where the key is not there."""
    mapping = mapping_of(fn, node.operand(0))
    fn.values.set_view(node.result(), value_at(fn, mapping, place_of_key(fn, node)))


def place_of_key(fn: EmittedFunction, node: Node) -> Register:
    """The place of the key that a node names; leaves the function where it is not there."""
    at = find(fn, mapping_of(fn, node.operand(0)), fn.values.get(node.operand(1)))
    fn.exits.fail_if(fn.e.icmp("slt", at, number(0)), node)
    return at


@lowers_on_dicts("aten::__contains__")
def contains(fn: EmittedFunction, node: Node) -> None:
    """`key in mapping`, of a dict or a set."""
    at = find(fn, mapping_of(fn, node.operand(0)), fn.values.get(node.operand(1)))
    fn.values.set(node.result(), Scalar(Bool(), fn.e.icmp("sge", at, number(0))))


@lowers_on_dicts("aten::len")
def size(fn: EmittedFunction, node: Node) -> None:
    """`len`."""
    fn.values.set(node.result(), Scalar(Int(), live(fn, mapping_of(fn, node.operand(0)))))


@lowers_on_dicts("aten::get")
def get(fn: EmittedFunction, node: Node) -> None:
    """`get`, with or without a default."""
    mapping = mapping_of(fn, node.operand(0))
    default = fn.values.get(node.operand(2)) if len(node.operands) > 2 else None
    rep = mapping.rep.value if default is not None else _optional(mapping.rep.value)
    at = find(fn, mapping, fn.values.get(node.operand(1)))
    absent = default if default is not None else native_values.constant_of(None)
    _either(fn, node, rep, at, lambda: _retained(fn, value_at(fn, mapping, at)), lambda: _retained(fn, absent))


def _optional(rep: Representation) -> Representation:
    return rep if isinstance(rep, Optional) or rep == Fixed(None) else Optional(rep)


def _retained(fn: EmittedFunction, native: Native) -> Native:
    fn.values.retain(native)
    return native


def _either(
    fn: EmittedFunction, node: Node, rep: Representation, at: Register, there: Callable[[], Native],
    absent: Callable[[], Native],
) -> None:  # fmt: skip
    """The node's result where a key was found, and where not; each with a reference of its own."""
    e = fn.e
    slots = fn.slots.new(rep)
    labels, after = (e.label("found"), e.label("absent")), e.label("after")
    e.branch_if(e.icmp("sge", at, number(0)), *labels)
    for label, way in zip(labels, (there, absent), strict=True):
        e.start(label)
        fn.slots.store(slots, fn.slots.converted(way(), rep))
        e.branch(after)
    e.start(after)
    fn.values.set_new(node.result(), fn.slots.load(slots, rep))


@lowers_on_dicts("aten::setdefault")
def set_default(fn: EmittedFunction, node: Node) -> None:
    """`setdefault`."""
    mapping = mapping_of(fn, node.operand(0))
    key, default = (fn.values.get(v) for v in node.operands[1:3])
    new = fn.slots.converted(default, mapping.rep.value)
    at = find(fn, mapping, key)

    def absent() -> Native:
        fn.values.retain(new)
        put(fn, mapping, place(fn, mapping, key), new)
        return _retained(fn, new)

    _either(fn, node, mapping.rep.value, at, lambda: _retained(fn, value_at(fn, mapping, at)), absent)


@lowers_on_dicts("aten::pop")
def pop(fn: EmittedFunction, node: Node) -> None:
    """`pop`, with or without a default: the dict's hold on the value goes to the result."""
    mapping = mapping_of(fn, node.operand(0))
    if len(node.operands) < 3:
        at = place_of_key(fn, node)
        fn.values.set_new(node.result(), _taken(fn, mapping, at))
        return
    at = find(fn, mapping, fn.values.get(node.operand(1)))
    default = fn.values.get(node.operand(2))
    _either(fn, node, mapping.rep.value, at, lambda: _taken(fn, mapping, at), lambda: _retained(fn, default))


def _taken(fn: EmittedFunction, mapping: DictValue, at: Register) -> Native:
    value = value_at(fn, mapping, at)
    remove(fn, mapping, at)
    return value


@lowers_on_dicts("aten::Delete")
def delete(fn: EmittedFunction, node: Node) -> None:
    """`del mapping[key]`."""
    mapping = mapping_of(fn, node.operand(0))
    fn.values.drop(_taken(fn, mapping, place_of_key(fn, node)))


@lowers_on_dicts("aten::popitem")
def pop_item(fn: EmittedFunction, node: Node) -> None:
    """`popitem`: the newest entry, which is the last in the list."""
    mapping = mapping_of(fn, node.operand(0))
    count = lists.length(fn, mapping.entries)
    fn.exits.fail_if(fn.e.icmp("eq", count, number(0)), node)
    at = fn.e.binary("sub", count, number(1))
    pair = TupleValue((_retained(fn, key_at(fn, mapping, at)), value_at(fn, mapping, at)))
    remove(fn, mapping, at)
    fn.values.set_new(node.result(), pair)


@lowers_on_dicts("aten::keys")
def keys(fn: EmittedFunction, node: Node) -> None:
    """`keys`: a list."""
    _listed(fn, node, lambda mapping: mapping.rep.key, lambda mapping, at: key_at(fn, mapping, at))


@lowers_on_dicts("aten::values")
def values(fn: EmittedFunction, node: Node) -> None:
    """`values`: a list."""
    _listed(fn, node, lambda mapping: mapping.rep.value, lambda mapping, at: value_at(fn, mapping, at))


@lowers_on_dicts("aten::items")
def items(fn: EmittedFunction, node: Node) -> None:
    """`items`: a list of pairs."""
    _listed(
        fn, node, lambda mapping: Tupled((mapping.rep.key, mapping.rep.value)),
        lambda mapping, at: TupleValue((key_at(fn, mapping, at), value_at(fn, mapping, at))),
    )  # fmt: skip


def _drop_all(
    fn: EmittedFunction, mapping: DictValue, part: Callable[[EmittedFunction, DictValue, Register], Native]
) -> None:
    each(fn, lists.length(fn, mapping.entries), lambda at: fn.values.drop(part(fn, mapping, at)))


def _listed(
    fn: EmittedFunction, node: Node, rep: Callable[[DictValue], Representation],
    part: Callable[[DictValue, Register], Native],
) -> None:  # fmt: skip
    refuse_lanes(fn)
    e, mapping = fn.e, mapping_of(fn, node.operand(0))
    filled = lists.new_list(fn, Listed(rep(mapping)), live(fn, mapping))

    def one(at: Register) -> None:
        value = part(mapping, at)
        fn.values.retain(value)
        size = lists.length(fn, filled)
        lists.put(fn, filled, size, value)
        lists.set_length(fn, filled, e.binary("add nuw nsw", size, number(1)))

    each_place(fn, mapping, one)
    fn.values.set_new(node.result(), filled)


@lowers_on_dicts("aten::update")
def update(fn: EmittedFunction, node: Node) -> None:
    """`update` of a dict by another."""
    mapping, other = (mapping_of(fn, v) for v in node.operands[:2])
    each_place(
        fn, other, lambda at: _assign(fn, mapping, key_at(fn, other, at), value_at(fn, other, at))
    )  # fmt: skip


@lowers_on_dicts("aten::copy", "aten::dict", "python::set_copy")
def copy(fn: EmittedFunction, node: Node) -> None:
    """`copy`, and `dict` of a dict: a new one with the same entries."""
    fn.values.set_new(node.result(), copied(fn, mapping_of(fn, node.operand(0))))


def copied(fn: EmittedFunction, mapping: DictValue) -> DictValue:
    """A new dict, or set, with the same entries, but for those that were taken out."""
    filled = new_dict(fn, mapping.rep)
    each_place(fn, mapping, lambda at: _assign(fn, filled, key_at(fn, mapping, at), value_at(fn, mapping, at)))
    return filled


@lowers_on_dicts("aten::clear", "python::set_clear")
def clear(fn: EmittedFunction, node: Node) -> None:
    """`clear`."""
    e, mapping = fn.e, mapping_of(fn, node.operand(0))
    refuse_lanes(fn)
    for part, rep in ((key_at, mapping.rep.key), (value_at, mapping.rep.value)):
        if holds_blocks(rep):
            _drop_all(fn, mapping, part)
    e.raw(f"call void @release(ptr {memory.load_word(e, mapping.block, DICT.word('table'), 'ptr')})")
    memory.store_word(e, mapping.block, DICT.word("table"), NULL)
    for name in ("length", "live", "filled"):
        memory.store_word(e, mapping.block, DICT.word(name), number(0))
