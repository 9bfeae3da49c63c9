"""Lists in order: `sort`, `sorted`, and `sorted` by a list of keys, of numbers, bools, texts and tuples of these.

The routine that orders a line of elements (`routines.ordered`) gives the places of the items. Tuples are ordered by
their last numbers first, then by those before them: equal ones stay as they are. Where a nan is among the keys, which
is neither less nor greater, Python sorts. Texts, and tuples with texts, are compared (`merge_sort`).
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.containers import lists, merge_sort
from flambeau.codegen.graph.containers.lists import item_address, length, new_list, put, set_length
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, ListValue, Native, Scalar
from flambeau.codegen.graph.representation import (
    Bool,
    Float,
    Int,
    Listed,
    Object,
    Representation,
    Text,
    Tupled,
    word_count,
)
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.graph.routines.ordered import KINDS, NAN, ORDER
from flambeau.codegen.graph.runtime import NUMBERS
from flambeau.codegen.graph.tensors.arrays import first_byte
from flambeau.codegen.graph.tensors.ordered_lines import WORDS_PER_ELEMENT, key_of, place_of
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes

TEXT = "text"
Place = Callable[[Register], Register]
"""Of a place in the order, the index of the item that comes there."""
_WORD = 8


def sort(fn: EmittedFunction, node: Node) -> None:
    """`items.sort(reverse=...)`, in place."""
    changed = _list(lists.changeable(fn, node.operand(0)))
    kinds, flip = _kinds(changed.rep.item), _flip(fn, fn.values.get(node.operand(1)))
    size, width = length(fn, changed), word_count(changed.rep.item) * _WORD

    def native(index_at: Place) -> None:
        bytes_ = memory.multiply(fn.e, size, number(width))
        block = fn.exits.new_block(bytes_)
        old = first_byte(fn, block)
        _copy(fn, old, item_address(fn, changed, number(0)), bytes_)

        def move(k: Register) -> None:
            source = memory.offset_address(fn.e, old, index_at(k), number(width), width)
            _copy(fn, item_address(fn, changed, k), source, number(width))

        each(fn, size, move)
        fn.e.raw(f"call void @drop_block(ptr {block})")

    _in_order(fn, changed, kinds, flip, native, lambda: call_python(fn, node, (), (0,), is_rare=True))


def sorted_(fn: EmittedFunction, node: Node) -> None:
    """`sorted(items)`: a new list."""
    items = _list(fn.values.get(node.operand(0)))
    _sorted(fn, node, items, items, number(0))


def sorted_by(fn: EmittedFunction, node: Node) -> None:
    """`sorted(items, key=f, reverse=...)`: a new list, by keys that lie in another one."""
    items, keys = (_list(fn.values.get(v)) for v in node.operands[:2])
    _sorted(fn, node, items, keys, _flip(fn, fn.values.get(node.operand(2))))


def _sorted(fn: EmittedFunction, node: Node, items: ListValue, keys: ListValue, flip: Register) -> None:
    e, kinds = fn.e, _kinds(keys.rep.item)
    result = e.slot("ptr", 8)

    def native(index_at: Place) -> None:
        size = length(fn, items)
        ordered = new_list(fn, items.rep, size)

        def take(k: Register) -> None:
            one = lists.item(fn, items, index_at(k))
            fn.values.retain(one)
            put(fn, ordered, k, one)

        each(fn, size, take)
        set_length(fn, ordered, size)
        e.raw(f"store ptr {ordered.block}, ptr {result}")

    def by_python() -> None:
        block = _sorted_objects(fn, node, items) if isinstance(items.rep.item, Object) else _sorted_by_python(fn, node)
        e.raw(f"store ptr {block}, ptr {result}")

    _in_order(fn, keys, kinds, flip, native, by_python)
    fn.values.set_new(node.result(), ListValue(items.rep, e.define(f"load ptr, ptr {result}", "ptr", 1)))


def _sorted_by_python(fn: EmittedFunction, node: Node) -> Register:
    """The block of the list that Python makes."""
    ((block,),) = call_python(fn, node, (fn.values.get(node.operand(0)).rep,), is_rare=True)
    return block


def _sorted_objects(fn: EmittedFunction, node: Node, items: ListValue) -> Register:
    """The same of objects, which Python is given as the numbers of their addresses."""
    listed = node.operand(0)
    if node.operand(1) is listed:
        raise CannotCompileError("objects that are ordered by themselves")
    fn.values.set(listed, ListValue(Listed(Int()), items.block))
    block = _sorted_by_python(fn, node)
    fn.values.set(listed, items)
    ordered = ListValue(items.rep, block)
    each(fn, length(fn, ordered), lambda k: fn.values.retain(lists.item(fn, ordered, k)))
    return block


def _list(items: Native) -> ListValue:
    if not isinstance(items, ListValue) or items.rep.is_stack:
        raise CannotCompileError(f"the order of {native_values.describe(items.rep)}")
    return items


def _kinds(rep: Representation) -> list[str]:
    """The dtypes of the words of a key, the first ones deciding; `TEXT` of a text. Raises `CannotCompileError` for what
    has no order.
    """
    match rep:
        case Text():
            return [TEXT]
        case Int():
            return [dtypes.int64.name]
        case Float():
            return [dtypes.float64.name]
        case Bool():
            return [dtypes.bool_.name]
        case Tupled() if rep.items and not rep.is_list and rep.keys is None:
            return [kind for item in rep.items for kind in _kinds(item)]
    raise CannotCompileError(f"an order of {native_values.describe(rep)}")


def _flip(fn: EmittedFunction, reverse: Native) -> Register:
    """-1 where the largest come first, else 0."""
    constant = literal_of(reverse)
    if isinstance(constant, bool):
        return number(-int(constant))
    if not isinstance(reverse, Scalar):
        raise CannotCompileError("an order that is not known")
    return fn.e.convert("sext", reverse.register, "i64")


def _copy(fn: EmittedFunction, target: Register, source: Register, bytes_: Register) -> None:
    fn.e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {bytes_}, i1 false)")


def _in_order(
    fn: EmittedFunction, keys: ListValue, kinds: list[str], flip: Register, native: Callable[[Place], None],
    by_python: Callable[[], object],
) -> None:  # fmt: skip
    """``native`` of the places that keys have in order, or ``by_python`` where a nan is among them."""
    e = fn.e
    if e.lanes > 1:
        raise CannotCompileError("a list in each iteration of a loop")
    size = length(fn, keys)
    words = WORDS_PER_ELEMENT if len(kinds) == 1 else WORDS_PER_ELEMENT + 2
    block = fn.exits.new_block(memory.multiply(e, size, number(words * _WORD)))
    if TEXT in kinds:
        has_nan, scratch = merge_sort.has_nan(fn, keys, size), first_byte(fn, block)
        index_at: Place = merge_sort.merged_order(fn, keys, size, flip, scratch)
    else:
        index_at, has_nan = _places(fn, keys, kinds, flip, size, first_byte(fn, block))
    here, there, after = e.label("ordered"), e.label("unordered"), e.label("after")
    e.branch_if(has_nan, there, here)
    for label, way in ((here, lambda: native(index_at)), (there, by_python)):
        e.start(label)
        way()
        e.branch(after)
    e.start(after)
    e.raw(f"call void @drop_block(ptr {block})")


def _places(
    fn: EmittedFunction, keys: ListValue, kinds: list[str], flip: Register, size: Register, scratch: Register
) -> tuple[Place, Register]:
    """Where the items are that come at each place, and whether there is a nan, in which case this says nothing."""
    e, width = fn.e, number(len(kinds) * _WORD)
    first = item_address(fn, keys, number(0))
    *rest, last = range(len(kinds))
    has_nan = Register("false", "i1", 1)

    def ordered(line: Register, step: Register, kind: str) -> Register:
        nonlocal has_nan
        pairs = call_routine(fn, ORDER, line, step, size, number(KINDS[kind]), flip, scratch)
        if kind in NAN:
            has_nan = e.binary("or", has_nan, _ends_in_nan(fn, pairs, size, flip, kind))
        return pairs

    def word(k: int) -> Register:
        return e.define(f"getelementptr inbounds i64, ptr {first}, i64 {k}", "ptr", 1)

    pairs = ordered(word(last), width, kinds[last])
    if not rest:
        return lambda k: place_of(fn, pairs, k), has_nan
    order, line = (
        memory.offset_address(e, scratch, size, number(of * _WORD), _WORD)
        for of in (WORDS_PER_ELEMENT, WORDS_PER_ELEMENT + 1)
    )

    def at(base: Register, k: Register) -> Register:
        return memory.offset_address(e, base, k, number(_WORD), _WORD)

    def index(k: Register) -> Register:
        return memory.load_element(e, at(order, k), dtypes.int64)

    each(fn, size, lambda k: memory.store_element(e, at(order, k), place_of(fn, pairs, k), dtypes.int64))
    for of in reversed(rest):
        start = word(of)

        def move(k: Register, start: Register = start, line: Register = line) -> None:
            source = memory.offset_address(e, start, index(k), width, _WORD)
            memory.store_element(e, at(line, k), memory.load_word(e, source, 0, "i64", NUMBERS), dtypes.int64)

        each(fn, size, move)
        pairs = ordered(line, number(_WORD), kinds[of])

        def settle(k: Register, pairs: Register = pairs, order: Register = order, line: Register = line) -> None:
            memory.move_element(e, at(line, k), at(order, place_of(fn, pairs, k)), dtypes.int64)

        each(fn, size, settle)
        order, line = line, order
    return index, has_nan


def _ends_in_nan(fn: EmittedFunction, pairs: Register, size: Register, flip: Register, kind: str) -> Register:
    """Whether the greatest key, at the end or with a flip at the start, is that of nan."""
    e = fn.e
    is_some = e.icmp("ne", size, number(0))
    end = e.select(e.icmp("eq", flip, number(0)), e.binary("sub", size, number(1)), number(0))
    greatest = key_of(fn, pairs, e.select(is_some, end, number(0)))
    return e.binary("and", is_some, e.icmp("eq", e.binary("xor", greatest, flip), number(NAN[kind])))
