"""Stack slots for values that control flow merges, which LLVM makes registers, and what they are made for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.native_values import (
    UNINITIALIZED,
    ArrayValue,
    CannotCompileError,
    ListValue,
    Native,
    OptionalValue,
    Scalar,
    TupleValue,
    UnlikeValue,
    words_of,
)
from flambeau.codegen.graph.representation import (
    Array,
    Element,
    Fixed,
    Listed,
    OneOf,
    Optional,
    Representation,
    Text,
    Tupled,
    Unlike,
    llvm_words,
)
from flambeau.codegen.graph.side_exits import SideExits
from flambeau.codegen.graph.texts.text_literals import as_text
from flambeau.codegen.graph.value_table import ValueTable
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Value
from flambeau.schema.types import ListType, TensorType

Assumptions = dict[Value, Representation]
"""What slots are made for, by the value that is merged."""


MakeList = Callable[[list[Native], Representation], ListValue]
"""Makes a list of items that look alike, with one reference to it."""


class WidenError(Exception):
    """An assumption did not hold; a wider one has been noted."""


class Slots:
    """Slots, made for what their values are assumed to be: what an earlier walk found out, or what comes first."""

    def __init__(self, values: ValueTable, exits: SideExits, assumed: Assumptions, list_of: MakeList) -> None:
        self.e = values.e
        self.values = values
        self.exits = exits
        self._assumed = assumed
        self._list_of = list_of
        self.is_outdated = False
        """Whether something was learned on this walk that what it has emitted does not know of."""
        self._in_memory: dict[Value, bool] = {}

    def new(self, rep: Representation) -> list[Register]:
        """Stack slots for the words of a value."""
        return [self.e.slot(kind, 8) for kind in llvm_words(rep)]

    def store(self, slots: Sequence[Register], native: Native) -> None:
        """Put a value into slots."""
        for slot, word in zip(slots, words_of(native), strict=True):
            self.e.raw(f"store {word.type} {word}, ptr {slot}")

    def load(self, slots: Sequence[Register], rep: Representation) -> Native:
        """The value in slots."""
        kinds = llvm_words(rep)
        words = [self.e.define(f"load {k}, ptr {s}", k, 1) for k, s in zip(kinds, slots, strict=True)]
        return self.values.densified(native_values.from_words(rep, words))

    def assume(self, value: Value, rep: Representation) -> Representation:
        """What the slot of a merged value is made for: what was found out before, or what comes first."""
        assumed = self._assumed.get(value)
        if assumed is not None:
            return assumed
        if isinstance(rep, Fixed) and rep.value is UNINITIALIZED:
            return rep
        if isinstance(rep, Array) and rep.rank == 0 and not (rep.dtype.is_complex or self.needs_memory(value)):
            rep = Element(rep.dtype)
        if isinstance(rep, Element) and self.needs_memory(value):
            rep = Array(rep.dtype, 0)
        return rep

    def needs_memory(self, value: Value) -> bool:
        """Whether a tensor without axes cannot be its element: it is written, or may be a view that leaves."""
        in_memory = self._in_memory.get(value)
        if in_memory is None:
            in_memory = self._in_memory[value] = self.values.is_written(value) or (
                self.values.lifetimes.may_leave(value)
                and any(self.values.alias.may_alias(value, v) for v in self._with_axes())
            )
        return in_memory

    def _with_axes(self) -> Iterator[Value]:
        """Every tensor of the graph that may have axes."""
        results = (v for node in self.values.graph.listed_nodes() for v in node.results)
        for value in (*self.values.graph.parameters, *results):
            if isinstance(value.static_type, TensorType) and value.static_type.sizes != ():
                yield value

    def learn(self, value: Value, rep: Representation) -> None:
        """Note what is now known of a value, and start the walk again."""
        self._assumed[value] = rep
        raise WidenError

    def note(self, value: Value, rep: Representation) -> None:
        """Note what is now known of a value, and go on with the walk, whose text will not be used: more may be learned.
        """
        if self.is_outdated and value in self._assumed:
            rep = native_values.join(self._assumed[value], rep)
        self._assumed[value] = rep
        self.is_outdated = True

    def start_again_with_what_was_learned(self) -> None:
        """Start the walk again if that tells more than was known when this one began."""
        if self.is_outdated:
            raise WidenError

    def learned(self, value: Value) -> Representation | None:
        """What an earlier walk found out about a value."""
        return self._assumed.get(value)

    def fit(self, value: Value, native: Native, rep: Representation) -> Native:
        """A value in the representation of a slot; starts the walk again where the slot is too narrow."""
        if native.rep == rep:
            return native
        if isinstance(native.rep, Fixed) and native.rep.value is UNINITIALIZED:
            return native_values.from_words(rep, native_values.unused(rep))
        wider = native.rep if _is_uninitialized(rep) else _joined(value, rep, native.rep)
        if isinstance(rep, Array) and isinstance(native, ArrayValue) and wider != rep and _are_alike(rep, wider):
            self.note(value, wider)  # only strides are taken for what they are not, by what is emitted from here on
            return ArrayValue(rep, native.owner, native.data, native.sizes, native.strides)
        if wider != rep:
            self.learn(value, wider)
        return self.converted(native, rep)

    def converted(self, native: Native, rep: Representation) -> Native:
        """A value as a wider representation."""
        if native.rep == rep:
            return native
        match rep:
            case Element() if isinstance(native, native_values.ArrayValue) and native.rep.dtype == rep.dtype:
                return Scalar(rep, memory.load_element(self.e, native.data, rep.dtype))
            case Array() if rep.rank == 0 and isinstance(native, Scalar) and native.rep == Element(rep.dtype):
                return self._in_new_block(native, rep)
            case Array() if isinstance(native, native_values.ArrayValue) and _are_alike(native.rep, rep):
                return native_values.ArrayValue(rep, native.owner, native.data, native.sizes, native.strides)
            case Text() if native_values.is_text(native.rep):
                return as_text(self.e, self.exits.parts.functions, native)
            case OneOf() if isinstance(native, native_values.FixedValue | native_values.ChoiceValue):
                return native_values.ChoiceValue(rep, self._index_among(rep.values, native))
            case Optional():
                return self._perhaps(native, rep)
            case Unlike() if isinstance(native, Scalar | ArrayValue | UnlikeValue):
                return self._unlike(native, rep)
            case Listed() | Tupled() if isinstance(native, TupleValue):
                return self._of_items(native, rep)
        raise CannotCompileError(f"{native_values.describe(native.rep)} cannot stand for {native_values.describe(rep)}")

    def _perhaps(self, native: Native, rep: Optional) -> OptionalValue:
        """None, what may be None, or what is not, as what may be None."""
        if isinstance(native, OptionalValue):
            return OptionalValue(rep, native.present, self.converted(native.inner, rep.inner))
        if native.rep == Fixed(None):
            absent = native_values.from_words(rep.inner, native_values.unused(rep.inner))
            return OptionalValue(rep, Register("false", "i1", 1), absent)
        return OptionalValue(rep, Register("true", "i1", 1), self.converted(native, rep.inner))

    def _unlike(self, native: Scalar | ArrayValue | UnlikeValue, rep: Unlike) -> UnlikeValue:
        """A tensor as one of several kinds, or of more kinds than before."""
        if isinstance(native, UnlikeValue):
            kind = memory.number(rep.kinds.index(native.rep.kinds[0]))
            for k, own in enumerate(native.rep.kinds[1:], 1):
                is_this = self.e.icmp("eq", native.kind, memory.number(k))
                kind = self.e.select(is_this, memory.number(rep.kinds.index(own)), kind)
            owner, rest = native.owner, native.rest
        else:
            assert isinstance(native.rep, Array | Element)
            one = native_values.in_memory(native.rep)
            kind = memory.number(rep.kinds.index(one))
            _, owner, *others = (kind, *words_of(self.converted(native, one)))
            rest = tuple(others)
        meaningless = native_values.unused(rep)[2 + len(rest) :]
        return UnlikeValue(rep, kind, owner, (*rest, *meaningless))

    def _index_among(
        self, values: Sequence[object], native: native_values.FixedValue | native_values.ChoiceValue
    ) -> Register:
        """Which of some values one is that is known now, or one of fewer."""
        if isinstance(native, native_values.FixedValue):
            return memory.number(values.index(native.rep.value))
        index = memory.number(values.index(native.rep.values[0]))
        for k, value in enumerate(native.rep.values[1:], 1):
            is_this = self.e.icmp("eq", native.index, memory.number(k))
            index = self.e.select(is_this, memory.number(values.index(value)), index)
        return index

    def _in_new_block(self, native: Scalar, rep: Array) -> ArrayValue:
        """An element in memory of its own, to which nothing has a reference yet."""
        block = self.exits.new_block(memory.number(memory.itemsize(rep.dtype)))
        memory.store_word(self.e, block, BLOCK.word("references"), memory.number(0))
        data = memory.offset_address(self.e, block, memory.number(BLOCK_DATA), memory.number(1), 1)
        memory.store_element(self.e, data, native.register, rep.dtype)
        return ArrayValue(rep, block, data, (), ())

    def _of_items(self, native: TupleValue, rep: Listed | Tupled) -> ListValue | TupleValue:
        """Known items, each as it is to look; as a list in memory, nothing has a reference to it yet."""
        if isinstance(rep, Tupled):
            items = [self.converted(i, r) for i, r in zip(native.items, rep.items, strict=True)]
            return TupleValue(tuple(items), rep.is_list, rep.keys)
        listed = self._list_of([self.converted(i, rep.item) for i in native.items], rep.item)
        memory.store_word(self.e, listed.block, BLOCK.word("references"), memory.number(0))
        return listed


def _joined(value: Value, a: Representation, b: Representation) -> Representation:
    """What can hold either of two ways of a value: lists whose known items differ in number are lists in memory."""
    match a, b:
        case Tupled(), Tupled() if isinstance(value.static_type, ListType) and len(a.items) != len(b.items):
            return native_values.list_of_all((*a.items, *b.items))
        case _:
            return native_values.join(a, b)


def _are_alike(a: Representation, b: Representation) -> bool:
    return isinstance(a, Array) and isinstance(b, Array) and (a.dtype, a.rank) == (b.dtype, b.rank)


def _is_uninitialized(rep: Representation) -> bool:
    return isinstance(rep, Fixed) and rep.value is UNINITIALIZED
