"""Results of functions that take arrays of NumPy: arrays where the program has arrays.

What is done to a result follows from its type, and is found out once for each:

    (float64[*], int)    →    a tuple of the array of the first item, and the second as it is
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau.ops.language.unsigned_scalars import value_of
from flambeau.schema.array_type import ArrayType, SpectrumType, holds_arrays
from flambeau.schema.dtype import by_code, uint64
from flambeau.schema.element_type import Kinds, kinds_of
from flambeau.schema.types import DictType, ListType, OptionalType, TupleType, Type
from flambeau.tensor.tensor import Tensor

Conversion = Callable[[Any], Any]
"""Gives a result with arrays in it: an argument that comes back is itself."""


def as_arrays(result: Any, type_: Type) -> Any:
    """A result with arrays of NumPy where the program has arrays; one without dimensions is NumPy's scalar."""
    conversion = conversion_to_arrays(type_)
    return result if conversion is None else conversion(result)


def conversion_to_arrays(type_: Type) -> Conversion | None:
    """What makes arrays of what is in a result of a type, and numbers without a sign of those of uint64; None for one
    without either.
    """
    return _conversion(type_, tuple(map(kinds_of, type_.walk())))


@functools.lru_cache(256)
def _conversion(type_: Type, kinds: tuple[Kinds, ...]) -> Conversion | None:
    """The same, by the type and what equal ones do not say."""
    if not kinds[0]:
        return _dtype
    if uint64 in kinds[0]:
        return _unsigned
    if isinstance(type_, ArrayType):
        return _spectrum if isinstance(type_, SpectrumType) else _array
    is_plain = all(each and uint64 not in each for each in kinds)
    if is_plain and not holds_arrays(type_):
        return None
    if isinstance(type_, OptionalType):
        return _perhaps(type_.element)
    if isinstance(type_, DictType):
        return _items_of_dict(type_.key, type_.value)
    if isinstance(type_, ListType):
        return _items(type_.element)
    return _parts(type_) if isinstance(type_, TupleType) else None


def is_array_itself(type_: Type | None) -> bool:
    """Whether results of a type are what `_array` makes of them."""
    return isinstance(type_, ArrayType) and not isinstance(type_, SpectrumType)


def has_arrays_beside_others(type_: Type | None) -> bool:
    """Whether results of a type are tuples, without names, of arrays and what has none in it."""
    if not isinstance(type_, TupleType) or type_.name is not None:
        return False
    return all(is_array_itself(item) or conversion_to_arrays(item) is None for item in type_.elements)


def _array(result: Any) -> Any:
    if not isinstance(result, Tensor):
        return result
    array = result._array
    return array if array.ndim else array[()]


def _dtype(result: Any) -> Any:
    return by_code(result).numpy


def _unsigned(result: Any) -> Any:
    return value_of(result)


def _spectrum(result: Any) -> Any:
    """Real numbers if all are."""
    array = _array(result)
    return array if np.any(array.imag) else array.real


def _perhaps(element: Type) -> Conversion:
    return lambda result: None if result is None else as_arrays(result, element)


def _items_of_dict(key: Type, value: Type) -> Conversion:
    return lambda result: {as_arrays(k, key): as_arrays(item, value) for k, item in result.items()}


def _items(element: Type) -> Conversion:
    return lambda result: [as_arrays(item, element) for item in result]


def _parts(type_: TupleType) -> Conversion:
    conversions = tuple(map(conversion_to_arrays, type_.elements))
    is_plain = type_.name is None

    def convert(result: Any) -> Any:
        pairs = zip(result, conversions, strict=True)
        items = [item if conversion is None else conversion(item) for item, conversion in pairs]
        return tuple(items) if is_plain else type(result)(*items)

    return convert
