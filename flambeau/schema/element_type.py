"""Types of numbers that arrays of NumPy gave: Python's types of numbers, that also say which scalars of NumPy they are.

>>> from flambeau.schema.dtype import float32
>>> from flambeau.schema.types import FLOAT, ListType
>>> x = element_of(FLOAT, float32)
>>> x == FLOAT, ListType(x) == ListType(FLOAT), str(x)
(True, True, 'float')
>>> [None if kind is None else kind.name for kind in kinds_of(joined(x, FLOAT))]
[None, 'float32']

Such a type equals the plain one: operators, graphs and archives see floats, ints, bools and complex numbers. The
compiler alone asks for the kinds, for what NumPy does otherwise than Python: rounding, wrapping, which dtype gives way.
"""

from __future__ import annotations

from typing import Final

from flambeau.schema.dtype import DType
from flambeau.schema.dtype_code import DtypeCode
from flambeau.schema.types import BoolType, ComplexType, FloatType, IntType, Type
from flambeau.util.record import dataclass

Kinds = tuple[DType | None, ...]
"""The dtypes of the scalars of NumPy that a number may be; None stands for a number of Python."""
PYTHON: Final[Kinds] = (None,)


@dataclass(frozen=True)
class ElementInt(IntType):
    """An int, of which is known what it was read from."""

    kinds: Kinds = PYTHON

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntType)

    def __hash__(self) -> int:
        return hash(IntType())


@dataclass(frozen=True)
class ElementFloat(FloatType):
    """A float, of which is known what it was read from."""

    kinds: Kinds = PYTHON

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FloatType)

    def __hash__(self) -> int:
        return hash(FloatType())


@dataclass(frozen=True)
class ElementBool(BoolType):
    """A bool, of which is known what it was read from."""

    kinds: Kinds = PYTHON

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoolType)

    def __hash__(self) -> int:
        return hash(BoolType())


@dataclass(frozen=True)
class ElementComplex(ComplexType):
    """A complex number, of which is known what it was read from."""

    kinds: Kinds = PYTHON

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComplexType)

    def __hash__(self) -> int:
        return hash(ComplexType())


ElementType = ElementInt | ElementFloat | ElementBool | ElementComplex
_PAIRS: Final[tuple[tuple[type[Type], type[ElementType]], ...]] = (
    (IntType, ElementInt), (FloatType, ElementFloat), (BoolType, ElementBool), (ComplexType, ElementComplex),
)  # fmt: skip


def is_element(type_: Type) -> bool:
    """Whether it is a type of numbers that may be scalars of NumPy."""
    return isinstance(type_, ElementType)


def kinds_of(type_: Type) -> Kinds:
    """What a number of this type may be; nothing, for dtypes, which are ints in programs."""
    if isinstance(type_, DtypeCode):
        return ()
    return type_.kinds if isinstance(type_, ElementType) else PYTHON


def element_of(type_: Type, *kinds: DType | None) -> Type:
    """A type of numbers, with what they may be; the plain type for numbers of Python."""
    chosen = tuple(sorted(set(kinds), key=lambda kind: "" if kind is None else kind.name))
    for plain, element in _PAIRS:
        if isinstance(type_, plain):
            return plain() if chosen in ((), PYTHON) else element(kinds=chosen)
    return type_


def joined(a: Type, b: Type) -> Type:
    """What holds of both of two equal types: their numbers may be what those of either may be."""
    if a is b:
        return a
    if isinstance(a, DtypeCode) and isinstance(b, DtypeCode):
        return a if a.dtype is b.dtype else DtypeCode()
    if is_element(a) or is_element(b):
        return element_of(a, *kinds_of(a), *kinds_of(b))
    inner, other = a.contained, b.contained
    if not inner or len(inner) != len(other) or not (holds_elements(a) or holds_elements(b)):
        return element_of(b, None) if isinstance(a, DtypeCode) or isinstance(b, DtypeCode) else b
    return a.with_contained(tuple(map(joined, inner, other)))


def holds_elements(type_: Type) -> bool:
    """Whether there are such numbers in a value of the type, or dtypes."""
    return any(isinstance(t, ElementType | DtypeCode) for t in type_.walk())


def same_elements(a: Type, b: Type) -> bool:
    """Whether two equal types say the same of their numbers, and of their dtypes."""
    return distinctions(a) == distinctions(b)


def distinctions(type_: Type) -> tuple[object, ...]:
    """What a type says beyond what equal ones do: of each in it which scalars its numbers are, or which dtype."""
    return tuple([t.dtype if isinstance(t, DtypeCode) else kinds_of(t) for t in type_.walk()])


def without_elements(type_: Type) -> Type:
    """The type with numbers of Python, as dtypes are then, too."""
    if not holds_elements(type_):
        return type_
    inner = type_.contained
    return type_.with_contained(tuple(map(without_elements, inner))) if inner else element_of(type_, None)
