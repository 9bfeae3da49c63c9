"""How the values of a program look in native code, and in how many 64-bit words they travel.

A value of each representation is a fixed number of words, in this order::

    Int, Float, Bool        the number (a float's bits; a bool as 0 or 1)
    Complex                 the real and the imaginary part, as two floats
    Array(dtype, rank)      owner, data, size of each axis, bytes from one element to the next along each axis
    Element(dtype)          the bits of the element, in the low bits of the word
    Text()                  owner, the address of the first code point, how many there are
    Listed(item)            the address of the list's block
    Mapped(key, value)      the address of the dict's, or the set's, block
    Object(class)           the address of the object's block
    Tupled(items)           the words of the items, one after another
    Optional(inner)         1 or 0, then the words of the value, which mean nothing after a 0
    Fixed(value)            nothing: the value is known when the code is made (None, a dtype's code, a device)
    OneOf(values)           which of these values it is, counted from 0: of texts, or of members of an enum
    Unlike(kinds)           which of the kinds of tensor it is, counted from 0, then that one's words, and words that
                            mean nothing up to the longest's

``owner`` and the word of a list or an object are addresses of blocks. A block starts with the words of
`codegen.layouts.BLOCK`::

    references   how many hold it; a block nobody holds is freed
    previous     the block before it in its call's ring of live blocks, 0 for a block of the caller's
    next         the block after it
    origin       0 for a block made here; 1 + the number of the argument whose memory it stands for

An array's elements follow at a multiple of 64 bytes, unless its origin is an argument. A list has three more words,
its length, its capacity and the address of its items, which are laid out as their words, one item after
another. A dict is a list of its entries with a table beside it, by which an entry is found (see `dict_tables`).
An object has the words of its attributes (see `class_fields`) in its block.
A text's owner is the block of a buffer of code points (see `codegen.layouts.TEXT`), or 0 where they lie in the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from flambeau.program.classes import ClassDefinition
from flambeau.program.named_tuples import maker_of_fields
from flambeau.schema.dtype import DType
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Int:
    """A 64-bit integer."""


@dataclass(frozen=True, slots=True)
class Float:
    """A double."""


@dataclass(frozen=True, slots=True)
class Bool:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Complex:
    """Two doubles."""


@dataclass(frozen=True, slots=True)
class Array:
    """A tensor in memory."""

    dtype: DType
    rank: int
    dense: int = 0
    """How many of the last axes lie one inside the next without gaps, known when the code is made."""


@dataclass(frozen=True, slots=True)
class Element:
    """A tensor without axes that nobody writes to: its one element."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class Text:
    """A str: code points in memory, 32 bits each, of which it may be a part."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A list, by reference."""

    item: Representation
    is_stack: bool = False
    """Whether it keeps copies of small tensors, side by side."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A dict, or a set, by reference."""

    key: Representation
    value: Representation
    """Of a set a tuple of nothing."""
    is_set: bool = False

    @property
    def entry(self) -> Tupled:
        """How an entry looks: 1, or 0 where it was taken out, then key and value."""
        return Tupled((Int(), self.key, self.value))


@dataclass(frozen=True, slots=True)
class Object:
    """An object of a user's class, and of no subclass, by reference."""

    definition: ClassDefinition


@dataclass(frozen=True, slots=True)
class Tupled:
    """A tuple, as its items."""

    items: tuple[Representation, ...]
    is_list: bool = False
    """Whether Python has a list in its place: an argument, or a result, that is a list of tensors which differ."""
    keys: tuple[tuple[object, int], ...] | None = None
    """Of a result that is a dict: its keys, and which of the items each has."""
    names: tuple[str, tuple[str, ...]] | None = None
    """Of a result that is a named tuple: the qualified name of its class, and those of its fields."""

    def container(self, items: Sequence[Any]) -> Any:
        """What Python gets, of the objects of the items."""
        if self.keys is not None:
            return {key: items[index] for key, index in self.keys}
        if self.names is not None:
            return maker_of_fields(*self.names)(items)
        return list(items) if self.is_list else tuple(items)


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be None."""

    inner: Representation


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value known when the code is made."""

    value: object


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several values known when the code is made."""

    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Unlike:
    """A tensor in memory whose dtype and rank are known at run time only: one of several. It is only passed on."""

    kinds: tuple[Array, ...]

    @property
    def longest(self) -> Array:
        """The kind of the most axes."""
        return max(self.kinds, key=lambda kind: kind.rank)


@dataclass(frozen=True, slots=True)
class Unknown:
    """What a list will hold that is empty so far; only while code is being made."""

    maker: object
    """The value that the list was made as."""


Representation: TypeAlias = (
    Int | Float | Bool | Complex | Array | Element | Text | Listed | Mapped | Object | Tupled | Optional | Fixed
    | OneOf | Unlike | Unknown
)


def word_count(r: Representation) -> int:
    """How many words a value takes."""
    match r:
        case Int() | Float() | Bool() | Element() | Listed() | Mapped() | Object() | OneOf():
            return 1
        case Complex():
            return 2
        case Text():
            return 3
        case Array():
            return 2 + 2 * r.rank
        case Tupled():
            return sum(map(word_count, r.items))
        case Optional():
            return 1 + word_count(r.inner)
        case Unlike():
            return 1 + word_count(r.longest)
        case Fixed() | Unknown():
            return 0


def llvm_words(r: Representation) -> tuple[str, ...]:
    """The LLVM types of the words, as code holds them in registers."""
    match r:
        case Int() | OneOf():
            return ("i64",)
        case Float():
            return ("double",)
        case Bool():
            return ("i1",)
        case Complex():
            return ("double", "double")
        case Element():
            return (element_llvm(r.dtype),)
        case Text():
            return ("ptr", "ptr", "i64")
        case Listed() | Mapped() | Object():
            return ("ptr",)
        case Array():
            return ("ptr", "ptr", *("i64",) * (2 * r.rank))
        case Tupled():
            return tuple(t for item in r.items for t in llvm_words(item))
        case Optional():
            return ("i1", *llvm_words(r.inner))
        case Unlike():
            return ("i64", *llvm_words(r.longest))
        case Fixed() | Unknown():
            return ()


def element_llvm(dtype: DType) -> str:
    """The LLVM type of an element in a register."""
    if dtype.name == "bool":
        return "i1"
    if dtype.is_floating_point:
        return {32: "float", 64: "double", 16: "half"}[dtype.itemsize * 8]
    return f"i{dtype.itemsize * 8}"


def holds_blocks(r: Representation) -> bool:
    """Whether a value refers to blocks, which must be counted."""
    match r:
        case Array() | Text() | Listed() | Mapped() | Object() | Unlike():
            return True
        case Tupled():
            return any(map(holds_blocks, r.items))
        case Optional():
            return holds_blocks(r.inner)
        case _:
            return False


def holds_objects(r: Representation) -> bool:
    """Whether a value is an object, or has such in it."""
    match r:
        case Object():
            return True
        case Listed():
            return holds_objects(r.item)
        case Mapped():
            return holds_objects(r.value)
        case Tupled():
            return any(map(holds_objects, r.items))
        case Optional():
            return holds_objects(r.inner)
        case _:
            return False


def has_text(r: Representation) -> bool:
    """Whether a value is a text that only the run tells, or has such in it."""
    match r:
        case Text():
            return True
        case Listed():
            return has_text(r.item)
        case Mapped():
            return has_text(r.key) or has_text(r.value)
        case Tupled():
            return any(map(has_text, r.items))
        case Optional():
            return has_text(r.inner)
        case _:
            return False


def is_key(rep: Representation) -> bool:
    """Whether native code finds values that look like this in dicts: Python compares floats as objects first."""
    match rep:
        case Int() | Bool() | Text():
            return True
        case Tupled():
            return bool(rep.items) and all(map(is_key, rep.items))
        case _:
            return False
