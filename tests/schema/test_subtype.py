"""Which values may stand where another type is expected: equal types are, whatever class says so."""

from __future__ import annotations

import pytest

from flambeau.schema.dtype import float32
from flambeau.schema.element_type import ElementBool, ElementComplex, ElementFloat, ElementInt
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NUMBER,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    UnionType,
)

PAIRS = [(ElementInt(), INT), (ElementFloat(), FLOAT), (ElementBool(), BOOL), (ElementComplex(), COMPLEX)]


@pytest.mark.parametrize(("element", "number"), PAIRS, ids=str)
def test_numbers_read_from_arrays_are_numbers(element: Type, number: Type) -> None:
    for one, other in ((element, number), (number, element)):
        assert is_subtype(one, other)
        assert is_subtype(ListType(one), ListType(other))
        assert is_subtype(one, OptionalType(other))
        assert is_subtype(TupleType((one,)), TupleType((other,)))
    assert is_subtype(element, NUMBER)
    assert not is_subtype(element, ListType(number))
    assert [is_subtype(element, other) for _, other in PAIRS].count(True) == 1


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (INT, ANY, True),
        (INT, FLOAT, False),
        (TensorType(float32), TensorType(), True),
        (TensorType(), TensorType(float32), False),
        (ListType(TensorType(float32)), ListType(TensorType()), True),
        (ListType(INT), ListType(OptionalType(INT)), False),
        (DictType(INT, FLOAT), DictType(INT, FLOAT), True),
        (UnionType((INT, FLOAT)), NUMBER, True),
        (UnionType((INT, FLOAT)), INT, False),
        (OptionalType(INT), UnionType((INT, FLOAT)), False),
    ],
    ids=str,
)
def test_other_types(one: Type, other: Type, expected: bool) -> None:
    assert is_subtype(one, other) is expected
