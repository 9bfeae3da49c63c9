"""Values while code is being made: a representation, and the registers that hold its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import reduce
from typing import Any, TypeAlias, TypeGuard

from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.representation import Representation, llvm_words
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.emitter import float_constant, int_constant
from flambeau.ir.graph import Node
from flambeau.schema.dtype import DType, bool_, float64, int64
from flambeau.util.record import dataclass, field

UNINITIALIZED = object()
"""What a value is on a way on which nobody will look at it."""


class CannotCompileError(Exception):
    """A graph, or a node of it, that has no native form; the text says why, and `node` which one it is."""

    node: Node | None = None


@dataclass(frozen=True, slots=True)
class Affine:
    """An integer as ``sum of invariants + slope * iteration + step * iteration + offset`` for the iterations of a
    counted loop.
    """

    invariants: tuple[Register, ...] = ()
    slope: int = 0
    offset: int = 0
    step: Register | None = None
    """An invariant that an iteration is multiplied with."""


@dataclass(slots=True)
class Scalar:
    """A number, or a tensor's only element, in a register."""

    rep: forms.Int | forms.Float | forms.Bool | forms.Element
    register: Register
    affine: Affine | None = None
    """For an int made inside the innermost counted loop, if it moves evenly."""

    @property
    def dtype(self) -> DType:
        """The element type it has as a tensor."""
        match self.rep:
            case forms.Int():
                return int64
            case forms.Float():
                return float64
            case forms.Bool():
                return bool_
            case forms.Element():
                return self.rep.dtype


@dataclass(slots=True)
class ComplexValue:
    """A complex number in two registers."""

    rep: forms.Complex
    real: Register
    imaginary: Register


@dataclass(slots=True)
class ArrayValue:
    """A tensor in memory; strides are in bytes."""

    rep: forms.Array
    owner: Register
    data: Register
    sizes: tuple[Register, ...]
    strides: tuple[Register, ...]
    axes: tuple[Affine | None, ...] = field(default=())


@dataclass(slots=True)
class TextValue:
    """A str: where its code points are."""

    rep: forms.Text
    owner: Register
    data: Register
    length: Register


@dataclass(slots=True)
class ListValue:
    """A list by reference."""

    rep: forms.Listed
    block: Register


@dataclass(slots=True)
class DictValue:
    """A dict or a set by reference."""

    rep: forms.Mapped
    block: Register

    @property
    def entries(self) -> ListValue:
        """The list that it is of its entries."""
        return ListValue(forms.Listed(self.rep.entry), self.block)


@dataclass(slots=True)
class ObjectValue:
    """An object by reference."""

    rep: forms.Object
    block: Register


@dataclass(slots=True)
class TupleValue:
    """A tuple, or a list that nobody changes and whose length is known."""

    items: tuple[Native, ...]
    is_list: bool = False
    """Whether Python has, or gets, a list in its place: one of tensors that differ."""
    keys: tuple[tuple[object, int], ...] | None = None
    """Where Python gets a dict: see `Tupled`."""

    @property
    def rep(self) -> forms.Tupled:
        """The items' representations."""
        return forms.Tupled(tuple(i.rep for i in self.items), self.is_list, self.keys)


@dataclass(slots=True)
class OptionalValue:
    """A value behind a flag."""

    rep: forms.Optional
    present: Register
    inner: Native


@dataclass(slots=True)
class FixedValue:
    """A value known now."""

    rep: forms.Fixed


@dataclass(slots=True)
class ChoiceValue:
    """One of several values known now."""

    rep: forms.OneOf
    index: Register


@dataclass(slots=True)
class UnlikeValue:
    """A tensor of one of several dtypes and ranks."""

    rep: forms.Unlike
    kind: Register
    owner: Register
    rest: tuple[Register, ...]
    """The words behind its owner."""


Native: TypeAlias = (
    Scalar
    | ComplexValue
    | ArrayValue
    | TextValue
    | ListValue
    | DictValue
    | ObjectValue
    | TupleValue
    | OptionalValue
    | FixedValue
    | ChoiceValue
    | UnlikeValue
)


def words_of(value: Native) -> Iterator[Register]:
    """The registers of a value, in the order of its words."""
    match value:
        case Scalar():
            yield value.register
        case ComplexValue():
            yield value.real
            yield value.imaginary
        case ArrayValue():
            yield value.owner
            yield value.data
            yield from value.sizes
            yield from value.strides
        case TextValue():
            yield value.owner
            yield value.data
            yield value.length
        case ListValue() | DictValue() | ObjectValue():
            yield value.block
        case TupleValue():
            for item in value.items:
                yield from words_of(item)
        case OptionalValue():
            yield value.present
            yield from words_of(value.inner)
        case ChoiceValue():
            yield value.index
        case UnlikeValue():
            yield value.kind
            yield value.owner
            yield from value.rest
        case FixedValue():
            return


def from_words(rep: Representation, words: Sequence[Register]) -> Native:
    """The value of a representation whose words are in these registers; exactly as many as it takes."""
    value, rest = _take(rep, list(words))
    assert not rest
    return value


def _take(rep: Representation, words: list[Register]) -> tuple[Native, list[Register]]:
    match rep:
        case forms.Int() | forms.Float() | forms.Bool() | forms.Element():
            return Scalar(rep, words[0]), words[1:]
        case forms.Complex():
            return ComplexValue(rep, words[0], words[1]), words[2:]
        case forms.Array():
            end = 2 + rep.rank
            sizes, strides = tuple(words[2:end]), tuple(words[end : end + rep.rank])
            return ArrayValue(rep, words[0], words[1], sizes, strides), words[end + rep.rank :]
        case forms.Text():
            return TextValue(rep, words[0], words[1], words[2]), words[3:]
        case forms.Listed():
            return ListValue(rep, words[0]), words[1:]
        case forms.Mapped():
            return DictValue(rep, words[0]), words[1:]
        case forms.Object():
            return ObjectValue(rep, words[0]), words[1:]
        case forms.Tupled():
            items = []
            for item in rep.items:
                native, words = _take(item, words)
                items.append(native)
            return TupleValue(tuple(items), rep.is_list, rep.keys), words
        case forms.Optional():
            inner, rest = _take(rep.inner, words[1:])
            return OptionalValue(rep, words[0], inner), rest
        case forms.Fixed():
            return FixedValue(rep), words
        case forms.OneOf():
            return ChoiceValue(rep, words[0]), words[1:]
        case forms.Unlike():
            count = forms.word_count(rep)
            return UnlikeValue(rep, words[0], words[1], tuple(words[2:count])), words[count:]
        case forms.Unknown():
            return FixedValue(forms.Fixed(None)), words


def unused(rep: Representation) -> list[Register]:
    """Words for a value that is not there."""
    zero = {"double": "0.0", "float": "0.0", "half": "0.0", "ptr": "null", "i1": "false"}
    return [Register(zero.get(t, "0"), t, 1) for t in llvm_words(rep)]


def join(a: Representation, b: Representation) -> Representation:
    """What can hold either. Raises `CannotCompileError` where nothing can.

    A tensor without axes is what ``a`` takes it for, its element or memory; in a tuple or an optional value it is
    memory, which it may share with others.
    """
    if a == b or (_is_single(a) and _is_single(b) and a.dtype == b.dtype):
        return a
    alike = _of_one_kind(a, b) or _text(a, b) or _with_absence(a, b) or _with_absence(b, a)
    joined = alike or _choice(a, b) or _unlike(a, b)
    if joined is None:
        raise CannotCompileError(f"a value is {describe(a)} on one way and {describe(b)} on another")
    return joined


def _unlike(a: Representation, b: Representation) -> forms.Unlike | None:
    """A tensor of any dtype and rank that either may have."""
    kinds: list[forms.Array] = []
    for rep in (a, b):
        match rep:
            case forms.Unlike():
                kinds += rep.kinds
            case forms.Array() | forms.Element():
                kinds.append(in_memory(rep))
            case _:
                return None
    return forms.Unlike(tuple(dict.fromkeys(kinds)))


def in_memory(rep: forms.Array | forms.Element) -> forms.Array:
    """A tensor of which nothing is known but dtype and rank."""
    return forms.Array(rep.dtype, rep.rank if isinstance(rep, forms.Array) else 0)


def list_of_all(items: Sequence[Representation]) -> forms.Listed:
    """A list that can hold items like each of these."""
    return forms.Listed(item_form(reduce(join, items)))


def item_form(rep: Representation) -> Representation:
    """How an item looks in a list: tensors without their density, which other items may not share."""
    match rep:
        case forms.Tupled():
            return forms.Tupled(tuple(map(item_form, rep.items)))
        case forms.Array():
            return forms.Array(rep.dtype, rep.rank)
        case forms.Element():
            return forms.Array(rep.dtype, 0)
        case forms.Fixed() | forms.OneOf() if is_text(rep):
            return forms.Text()
        case forms.Fixed() | forms.OneOf():
            raise CannotCompileError(f"a list of {describe(rep)}")
        case forms.Optional():
            return forms.Optional(item_form(rep.inner))
        case _:
            return rep


def _of_one_kind(a: Representation, b: Representation) -> Representation | None:
    match a, b:
        case forms.Array(), forms.Array() if (a.dtype, a.rank) == (b.dtype, b.rank):
            return forms.Array(a.dtype, a.rank, min(a.dense, b.dense))
        case forms.Tupled(), forms.Tupled() if len(a.items) == len(b.items):
            is_list = a.is_list and b.is_list
            return forms.Tupled(tuple(_join_inside(x, y) for x, y in zip(a.items, b.items, strict=True)), is_list)
        case (forms.Tupled(items=items), forms.Listed(item)) | (forms.Listed(item), forms.Tupled(items=items)):
            return list_of_all((item, *items))
        case forms.Optional(), forms.Optional():
            return forms.Optional(_join_inside(a.inner, b.inner))
        case _:
            return None


def _choice(a: Representation, b: Representation) -> forms.OneOf | None:
    """What is one of the texts, or of the members of an enum, that either may be."""
    values: list[object] = []
    for rep in (a, b):
        if not isinstance(rep, forms.Fixed | forms.OneOf):
            return None
        values += rep.values if isinstance(rep, forms.OneOf) else (rep.value,)
    kinds = set(map(type, values))
    if len(kinds) != 1 or not issubclass(kinds.pop(), str | Enum):
        return None
    return forms.OneOf(tuple(dict.fromkeys(values)))


def is_text(rep: Representation) -> bool:
    """Whether all values that look like this are texts."""
    match rep:
        case forms.Text():
            return True
        case forms.Fixed():
            return isinstance(rep.value, str)
        case forms.OneOf():
            return all(isinstance(v, str) for v in rep.values)
        case _:
            return False


def _text(a: Representation, b: Representation) -> forms.Text | None:
    """Any text, where one of two is, and the other is a text too."""
    return forms.Text() if forms.Text() in (a, b) and is_text(a) and is_text(b) else None


def _with_absence(a: Representation, b: Representation) -> Representation | None:
    """What holds None, or what may be None, and something else."""
    match a, b:
        case forms.Fixed(None), forms.Fixed():
            return _optional(_choice(b, b))
        case forms.Fixed(None), forms.Optional():
            return b
        case forms.Fixed(None), _:
            return forms.Optional(b)
        case forms.Optional(), forms.Fixed() | forms.OneOf():
            return _optional(_text(a.inner, b) or _choice(a.inner, b))
        case forms.Optional(), _:
            return forms.Optional(_join_inside(a.inner, b))
        case _:
            return None


def _optional(rep: Representation | None) -> forms.Optional | None:
    return None if rep is None else forms.Optional(rep)


def _is_single(rep: Representation) -> TypeGuard[forms.Element | forms.Array]:
    return isinstance(rep, forms.Element) or (isinstance(rep, forms.Array) and rep.rank == 0)


def _join_inside(a: Representation, b: Representation) -> Representation:
    return join(b, a) if isinstance(a, forms.Element) else join(a, b)


def describe(rep: Representation) -> str:
    """A representation in words."""
    match rep:
        case forms.Complex() | forms.Text() | forms.Unknown():
            return {forms.Complex: "a complex number", forms.Text: "a text", forms.Unknown: "not known"}[type(rep)]
        case forms.Array() | forms.Element():
            return f"a {rep.dtype} tensor of rank {in_memory(rep).rank}"
        case forms.Listed():
            return f"a list ({describe(rep.item)})"
        case forms.Mapped():
            return f"a {'set' if rep.is_set else 'dict'} ({describe(rep.key)})"
        case forms.Object():
            return f"an object of class {rep.definition.name.rpartition('.')[2]}"
        case forms.Tupled():
            return f"({', '.join(map(describe, rep.items))})"
        case forms.Optional():
            return f"{describe(rep.inner)} or None"
        case forms.Fixed():
            return repr(rep.value)
        case forms.OneOf():
            return " or ".join(map(repr, rep.values))
        case forms.Unlike():
            return " or ".join(map(describe, rep.kinds))
        case _:
            return type(rep).__name__.lower()


def is_nothing(native: Native) -> bool:
    """Whether it stands for a value on a way on which nobody will look at it."""
    return isinstance(native, FixedValue) and native.rep.value is UNINITIALIZED


def integer(number: int) -> Scalar:
    """A literal int."""
    return Scalar(forms.Int(), int_constant(number, "i64", 1))


def constant_of(value: Any) -> Native:
    """A constant of the program; its registers are literals."""
    if value is None or isinstance(value, str):
        return FixedValue(forms.Fixed(value))
    if isinstance(value, bool):
        return Scalar(forms.Bool(), int_constant(int(value), "i1", 1))
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return Scalar(forms.Float(), float_constant(value, "double", 1))
    if isinstance(value, complex):
        parts = [float_constant(part, "double", 1) for part in (value.real, value.imag)]
        return ComplexValue(forms.Complex(), *parts)
    if isinstance(value, list | tuple):
        return TupleValue(tuple(map(constant_of, value)))
    return FixedValue(forms.Fixed(value))
