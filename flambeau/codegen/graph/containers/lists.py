"""Lists: blocks with a length, a capacity and items; and tuples, which are their items.

A list that nobody changes and whose length is known when the code is made is its items as well, and takes no memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory, native_values, result_types
from flambeau.codegen.graph.containers import stacks
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.lowering_tables import lowers_on_items
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, ListValue, Native, Scalar, TupleValue, words_of
from flambeau.codegen.graph.representation import (
    Array,
    Listed,
    Object,
    Representation,
    Text,
    Tupled,
    Unknown,
    holds_blocks,
    llvm_words,
    word_count,
)
from flambeau.codegen.graph.runtime import ADDRESSES, NUMBERS
from flambeau.codegen.layouts import BLOCK_DATA, LIST, STACK, WORD
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Node, Value
from flambeau.ir.kinds import GROUPS
from flambeau.schema.types import ListType, OptionalType

NO_DICT = (
    "no native form here: of dicts, those have one whose keys are ints, bools, texts or tuples of these, and results "
    "with constant keys that nothing else uses"
)


def tag(kind: str) -> str:
    """What an item of a list touches."""
    return ADDRESSES if kind == "ptr" else NUMBERS


def stays_apart(fn: EmittedFunction, value: Value) -> bool:
    """Whether a list can be its items: nobody changes it, and it is only given to operators that look at it."""
    if fn.alias.is_written(value):
        return False
    for user, offset in value.uses():
        definition = user.definition
        if user.op in lowers_on_items or user.op in GROUPS or _is_read_whole(fn, user):
            continue
        if definition is None or offset >= len(definition.schema.arguments):
            return False
        argument = definition.schema.arguments[offset]
        if argument.alias is not None or definition.family == "language":
            return False
    return True


def _is_read_whole(fn: EmittedFunction, node: Node) -> bool:
    """Whether a node makes a list of lists which only becomes a tensor, so that none of them comes out of it again."""
    if node.op != "prim::ListConstruct" or fn.alias.is_written(node.result()):
        return False
    return all(user.op == "aten::tensor" or _is_read_whole(fn, user) for user, _ in node.result().uses())


def construct(fn: EmittedFunction, node: Node) -> None:
    """`prim::ListConstruct`."""
    result = node.result()
    items = [fn.values.get(v) for v in node.operands]
    if not items and stacks.is_stack(fn, result):
        stacked = fn.slots.learned(result) or Unknown(result)
        fn.values.set_new(result, new_list(fn, Listed(stacked, is_stack=True), number(0)))
        return
    if stays_apart(fn, result):
        fn.values.set_view(result, TupleValue(tuple(items)))
        return
    try:
        rep = item_rep(fn, result, [i.rep for i in items])
    except CannotCompileError:
        if not _only_leaves(fn, result):
            raise
        fn.values.set_view(result, TupleValue(tuple(items), is_list=True))
        return
    fn.values.set_new(result, list_of(fn, [fn.slots.converted(i, rep) for i in items], rep))


def construct_known_dict(fn: EmittedFunction, node: Node) -> bool:
    """`prim::DictConstruct` with constant keys, which only the caller gets: its values, until the way out. False for
    others.
    """
    keys, values = node.operands[::2], list(dict.fromkeys(node.operands[1::2]))
    known = [constant_value(k) for k in keys if is_constant(k)]
    is_known = len(known) == len(keys) and all(isinstance(k, str | int) for k in known)
    if not is_known or len(set(known)) < len(known) or not _only_leaves(fn, node.result()):
        return False
    positions = tuple([(k, values.index(v)) for k, v in zip(known, node.operands[1::2], strict=True)])
    fn.values.set_view(node.result(), TupleValue(tuple(map(fn.values.get, values)), keys=positions))
    return True


def _only_leaves(fn: EmittedFunction, value: Value) -> bool:
    """Whether all that becomes of a list or dict is that Python gets it, once."""
    uses = list(value.uses())
    if len(uses) != 1 or fn.alias.is_written(value):
        return False
    user = uses[0].user
    if user.op == "prim::TupleConstruct":
        return _only_leaves(fn, user.result())
    return user.op == "prim::Return" and user.owner_block.owner_node is None


def item_rep(fn: EmittedFunction, value: Value, items: Sequence[Representation]) -> Representation:
    """What can hold all items of a list, which was made as ``value``."""
    rep: Representation | None = None
    assert isinstance(value.static_type, ListType)
    element = value.static_type.element
    for one in items:
        if not isinstance(one, Unknown):
            known = _as_list(one) if isinstance(element, ListType) else one
            rep = known if rep is None else native_values.join(rep, known)
    if not result_types.may_hold_tensors(element) and (rep is None or isinstance(element, OptionalType)):
        rep = result_types.of_type(element)
        if rep is None:
            raise CannotCompileError(f"a list of {element}")
    if rep is None:
        rep = fn.slots.learned(value) or Unknown(value)
    return native_values.item_form(rep)


def _as_list(rep: Representation) -> Representation:
    """How a list in a list looks, of one whose items are known as it is in memory."""
    return native_values.list_of_all(rep.items) if isinstance(rep, Tupled) and rep.items else rep


def settle(fn: EmittedFunction, maker: Representation, item_rep: Representation) -> None:
    """Learn what a list or dict holds from the first item that is put into it."""
    if isinstance(maker, Unknown):
        assert isinstance(maker.maker, Value)
        fn.slots.learn(maker.maker, native_values.item_form(item_rep))


def list_of(fn: EmittedFunction, items: list[Native], rep: Representation) -> ListValue:
    """A new list of these items, each with one more reference."""
    copied = new_list(fn, Listed(rep), number(len(items)))
    for k, item in enumerate(items):
        fn.values.retain(item)
        put(fn, copied, number(k), item)
    set_length(fn, copied, number(len(items)))
    return copied


def new_list(fn: EmittedFunction, rep: Listed, capacity: Register) -> ListValue:
    """A new list without items, with room for some."""
    e = fn.e
    list_block = fn.exits.new_block(number((STACK.words - LIST.words) * WORD if rep.is_stack else 0))
    least = e.select(e.icmp("sgt", capacity, number(4)), capacity, number(4))
    if (constant := memory.literal(capacity)) is not None:
        least = number(max(constant, 4))
    items = fn.exits.new_block(memory.multiply(e, least, number(8 * max(1, word_count(rep.item)))))
    memory.store_word(e, list_block, LIST.word("length"), number(0))
    memory.store_word(e, list_block, LIST.word("capacity"), least)
    memory.store_word(e, list_block, LIST.word("items"), items)
    if rep.is_stack:
        stacks.begin(fn, list_block)
    return ListValue(rep, list_block)


def length(fn: EmittedFunction, sequence: Native) -> Register:
    """How many items there are."""
    if isinstance(sequence, TupleValue):
        return number(len(sequence.items))
    assert isinstance(sequence, ListValue)
    return memory.load_word(fn.e, sequence.block, LIST.word("length"), "i64")


def set_length(fn: EmittedFunction, sequence: ListValue, size: Register) -> None:
    """Say how many items there are."""
    memory.store_word(fn.e, sequence.block, LIST.word("length"), size)


def item_address(fn: EmittedFunction, sequence: ListValue, index: Register) -> Register:
    """Where an item's words are."""
    e = fn.e
    block = memory.load_word(e, sequence.block, LIST.word("items"), "ptr")
    first = e.define(f"getelementptr inbounds i8, ptr {block}, i64 {BLOCK_DATA}", "ptr", 1)
    offset = memory.multiply(e, index, number(word_count(sequence.rep.item)), " nsw")
    return e.define(f"getelementptr inbounds i64, ptr {first}, i64 {offset}", "ptr", 1)


def item(fn: EmittedFunction, sequence: ListValue, index: Register) -> Native:
    """An item, without a reference of its own."""
    if isinstance(sequence.rep.item, Unknown):
        fn.slots.start_again_with_what_was_learned()
    address = item_address(fn, sequence, index)
    kinds = llvm_words(sequence.rep.item)
    words = [memory.load_word(fn.e, address, k, kind, tag(kind)) for k, kind in enumerate(kinds)]
    return fn.values.densified(native_values.from_words(sequence.rep.item, words))


def put(fn: EmittedFunction, sequence: ListValue, index: Register, value: Native) -> None:
    """Write an item's words; the list takes over a reference to it."""
    address = item_address(fn, sequence, index)
    for k, word in enumerate(words_of(value)):
        memory.store_word(fn.e, address, k, word, tag(word.type))


def wrapped(fn: EmittedFunction, sequence: Native, index: Value, node: Node) -> Register:
    """An index counted from the front; leaves the function where it is out of range."""
    e, size = fn.e, length(fn, sequence)
    at = fn.values.index(index)
    constant = memory.literal(at)
    if constant is not None and constant >= 0:
        fn.exits.fail_if(e.icmp("sge", at, size), node)
        return at
    counted = e.select(e.icmp("slt", at, number(0)), e.binary("add", at, size), at)
    fn.exits.fail_if(e.icmp("uge", counted, size), node)
    return counted


def get_item(fn: EmittedFunction, node: Node) -> None:
    """`aten::__getitem__` of a list."""
    sequence = fn.values.get(node.operand(0))
    if isinstance(sequence, TupleValue):
        _get_known(fn, node, sequence)
        return
    if not isinstance(sequence, ListValue):
        raise CannotCompileError(f"items of {native_values.describe(sequence.rep)}")
    fn.values.set_view(node.result(), item(fn, sequence, wrapped(fn, sequence, node.operand(1), node)))


def _get_known(fn: EmittedFunction, node: Node, sequence: TupleValue) -> None:
    e = fn.e
    at = memory.literal(fn.values.index(node.operand(1)))
    if at is not None and -len(sequence.items) <= at < len(sequence.items):
        fn.values.set_view(node.result(), sequence.items[at])
        return
    rep = _common_rep(sequence)
    index = wrapped(fn, sequence, node.operand(1), node)
    first, *others = [fn.slots.converted(i, rep) for i in sequence.items]
    words = list(words_of(first))
    for k, other in enumerate(others, 1):
        here = e.icmp("eq", index, number(k))
        words = [e.select(here, b, a) for a, b in zip(words, words_of(other), strict=True)]
    fn.values.set_view(node.result(), native_values.from_words(rep, words))


def _common_rep(sequence: TupleValue) -> Representation:
    """How any item of a list of known length looks. Raises `CannotCompileError` where they differ in more than gaps."""
    reps = [i.rep for i in sequence.items]
    if reps and all(map(native_values.is_text, reps)):
        return Text()
    kinds = {Array(r.dtype, r.rank) if isinstance(r, Array) else r for r in reps}
    if len(kinds) != 1 or (holds_blocks(reps[0]) and not isinstance(reps[0], Array | Object)):
        raise CannotCompileError("an item at an index that is not known, of items that differ")
    rep: Representation = reps[0]
    for other in reps[1:]:
        rep = native_values.join(rep, other)
    return rep


def set_item(fn: EmittedFunction, node: Node) -> None:
    """`aten::_set_item`."""
    sequence = changeable(fn, node.operand(0))
    index = wrapped(fn, sequence, node.operand(1), node)
    new = fn.slots.converted(fn.values.get(node.operand(2)), sequence.rep.item)
    if holds_blocks(sequence.rep.item):
        fn.values.retain(new)
        old = item(fn, sequence, index)
        put(fn, sequence, index, new)
        fn.values.drop(old)
    else:
        put(fn, sequence, index, new)
    _same(fn, node)


def _same(fn: EmittedFunction, node: Node) -> None:
    """The result of an operator that gives its first operand back."""
    if node.results:
        fn.values.set_view(node.result(0), fn.values.get(node.operand(0)))


def changeable(fn: EmittedFunction, value: Value) -> ListValue:
    """A list that may be changed."""
    sequence = fn.values.get(value)
    if not isinstance(sequence, ListValue):
        raise CannotCompileError(f"a change of {native_values.describe(sequence.rep)}")
    return sequence


def append(fn: EmittedFunction, node: Node) -> None:
    """`aten::append`."""
    e, sequence = fn.e, changeable(fn, node.operand(0))
    new_rep = fn.values.get(node.operand(1)).rep
    if not sequence.rep.is_stack:
        settle(fn, sequence.rep.item, new_rep)
    elif not stacks.settle(fn, node.operand(0), sequence.rep, new_rep):
        return
    new = fn.slots.converted(fn.values.get(node.operand(1)), sequence.rep.item)
    if sequence.rep.is_stack:
        new = stacks.kept(fn, sequence, new)
    else:
        fn.values.retain(new)
    size = length(fn, sequence)
    make_room(fn, sequence, size)
    put(fn, sequence, size, new)
    set_length(fn, sequence, e.binary("add nuw nsw", size, number(1)))
    _same(fn, node)


def make_room(fn: EmittedFunction, sequence: ListValue, size: Register, more: Register | None = None) -> None:
    """Room for one more item than ``size``, or for as many as is said."""
    e = fn.e
    capacity = memory.load_word(e, sequence.block, LIST.word("capacity"), "i64")
    wanted = None if more is None else e.binary("add nsw", size, more)
    is_full = e.icmp("sge", size, capacity) if wanted is None else e.icmp("sgt", wanted, capacity)
    grow, ready = e.label("grow"), e.label("ready")
    e.raw(f"br i1 {is_full}, label %{grow}, label %{ready}, !prof !20")
    e.start(grow)
    larger = e.binary("mul", capacity, number(2))
    larger = larger if wanted is None else e.intrinsic("smax", larger, wanted)
    width = 8 * word_count(sequence.rep.item)
    items = fn.exits.new_block(e.binary("mul", larger, number(width)))
    old = memory.load_word(e, sequence.block, LIST.word("items"), "ptr")
    bytes_ = e.binary("mul", size, number(width))
    new_first = e.define(f"getelementptr inbounds i8, ptr {items}, i64 {BLOCK_DATA}", "ptr", 1)
    old_first = e.define(f"getelementptr inbounds i8, ptr {old}, i64 {BLOCK_DATA}", "ptr", 1)
    e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {new_first}, ptr {old_first}, i64 {bytes_}, i1 false)")
    memory.store_word(e, sequence.block, LIST.word("items"), items)
    memory.store_word(e, sequence.block, LIST.word("capacity"), larger)
    e.raw(f"call void @drop_block(ptr {old})")
    e.branch(ready)
    e.start(ready)


def copy(fn: EmittedFunction, node: Node) -> None:
    """`aten::list`, `aten::copy`: a new list of the same items."""
    sequence = fn.values.get(node.operand(0))
    if isinstance(sequence, TupleValue):
        if stays_apart(fn, node.result()):
            fn.values.set_view(node.result(), sequence)
            return
        rep = item_rep(fn, node.result(), [i.rep for i in list(sequence.items)])
        fn.values.set_new(node.result(), list_of(fn, [fn.slots.converted(i, rep) for i in sequence.items], rep))
        return
    assert isinstance(sequence, ListValue)
    size = length(fn, sequence)
    copied = new_list(fn, sequence.rep, size)
    _copy_items(fn, sequence, copied, size)
    fn.values.set_new(node.result(), copied)


def _copy_items(fn: EmittedFunction, sequence: ListValue, copied: ListValue, size: Register) -> None:
    e = fn.e
    bytes_ = memory.multiply(e, size, number(8 * word_count(sequence.rep.item)))
    source, target = item_address(fn, sequence, number(0)), item_address(fn, copied, number(0))
    e.raw(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {bytes_}, i1 false)")
    set_length(fn, copied, size)
    if holds_blocks(sequence.rep.item):
        each(fn, size, lambda k: fn.values.retain(item(fn, copied, k)))


def repeat(fn: EmittedFunction, node: Node) -> None:
    """`aten::mul` of a list and an int."""
    first, second = fn.values.get(node.operand(0)), fn.values.get(node.operand(1))
    sequence, times = (first, node.operand(1)) if not isinstance(first, Scalar) else (second, node.operand(0))
    e = fn.e
    count = fn.values.index(times)
    count = e.select(e.icmp("sgt", count, number(0)), count, number(0))
    items = list(sequence.items) if isinstance(sequence, TupleValue) else None
    if items is not None:
        rep = item_rep(fn, node.result(), [i.rep for i in items])
        items = [fn.slots.converted(i, rep) for i in items]
    else:
        assert isinstance(sequence, ListValue)
        rep = sequence.rep.item
    size = length(fn, sequence)
    total = memory.multiply(e, count, size)
    copied = new_list(fn, Listed(rep), total)

    def one_round(k: Register) -> None:
        start = memory.multiply(e, k, size)
        if items is not None:
            for n, value in enumerate(items):
                fn.values.retain(value)
                put(fn, copied, memory.add(e, start, number(n)), value)
        else:
            assert isinstance(sequence, ListValue)

            def one(n: Register) -> None:
                value = item(fn, sequence, n)
                fn.values.retain(value)
                put(fn, copied, memory.add(e, start, n), value)

            each(fn, size, one)

    each(fn, count, one_round)
    set_length(fn, copied, total)
    fn.values.set_new(node.result(), copied)
