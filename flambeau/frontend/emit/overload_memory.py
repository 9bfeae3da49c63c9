"""Which overload fitted the last call of an operator with operands of the same classes of types.

An operator has up to tens of overloads, and a program calls the same few again and again. For numbers, texts and
tensors the classes of their types say what fits, and how, so later calls begin with that. Containers, which literals
may take on, are tried anew each time, and so are numbers of which only the run tells the kind, objects, and functions
of users.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from flambeau.frontend.emit.values.sugared import Given
from flambeau.schema import registry
from flambeau.schema.array_type import ArrayType, ScalarType, SpectrumType
from flambeau.schema.element_type import ElementBool, ElementComplex, ElementFloat, ElementInt
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import BoolType, ComplexType, FloatType, IntType, NoneType, StringType, TensorType, Type

Key = tuple[object, ...]
MOST: Final = 4096
"""Calls that are remembered; with one more all are forgotten."""
_DECIDED_BY_CLASS: Final[frozenset[type[Type]]] = frozenset({
    IntType, FloatType, BoolType, ComplexType, StringType, NoneType, TensorType,
    ElementInt, ElementFloat, ElementBool, ElementComplex, ArrayType, ScalarType, SpectrumType,
})  # fmt: skip


class Fit(NamedTuple):
    """What fitted a call, and whether with conversions."""

    schema: FunctionSchema
    implicit: bool


_fits: dict[Key, Fit] = {}


def key_of(name: str, operands: Sequence[Given], keywords: Sequence[Given]) -> Key | None:
    """What calls that mean the same overload have in common; None where more than classes decides."""
    classes = [passed.value.static_type.__class__ for passed in (*operands, *keywords)]
    if not _DECIDED_BY_CLASS.issuperset(classes):
        return None
    return name, registry.version(), len(operands), *classes, *[keyword.name for keyword in keywords]


def fit_of(key: Key | None) -> Fit | None:
    """What fitted a call with this key; None if nothing is known."""
    return None if key is None else _fits.get(key)


def remember(key: Key | None, schema: FunctionSchema, *, implicit: bool) -> None:
    """Keep what fitted a call."""
    if key is None:
        return
    if len(_fits) >= MOST:
        _fits.clear()
    _fits[key] = Fit(schema, implicit)
