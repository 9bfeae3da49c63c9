"""Whether objects are just what their classes say, at any depth: then nothing about them has to be converted.

Programs are given the same objects again and again, and most are as the call before left them. So this is quick, and
goes from object to object without recursion: chains of them may be of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, Final

from flambeau.program import instances
from flambeau.program.classes import ClassDefinition
from flambeau.schema import types as t
from flambeau.tensor.tensor import Tensor
from flambeau.util.kept_on import KeptOn
from flambeau.util.record import dataclass

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1
Waiting = list[tuple[Any, ClassDefinition]]
Test = Callable[[Any, Waiting], bool]
"""Whether a value is of a type; objects in it are put on the list of those that wait."""
_CLASSES: Final[dict[type[t.Type], type]] = {
    t.FloatType: float, t.BoolType: bool, t.StringType: str, t.ComplexType: complex, t.TensorType: Tensor,
    t.NoneType: type(None),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Attributes:
    """How the attributes of a class are read and tested."""

    count: int
    read: Callable[[Any], Sequence[Any]]
    tests: tuple[Test, ...]


_attributes: KeptOn[ClassDefinition, _Attributes] = KeptOn()


def inexact_objects(value: Any, definition: ClassDefinition) -> tuple[Waiting, set[int]]:
    """Of an object of a class, and every object that it holds, those whose attributes are not all of their types, and
    the identities of all.
    """
    seen: set[int] = set()
    inexact: Waiting = []
    known: set[ClassDefinition] = set()
    waiting: Waiting = [(value, definition)]
    while waiting:
        one, class_ = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if class_ not in known and instances.definition_of(one) is not class_:
            inexact.append((one, class_))
            continue
        known.add(class_)
        if not _has_exact_attributes(one, _attributes_of(class_), waiting):
            inexact.append((one, class_))
    return inexact, seen


def _has_exact_attributes(one: Any, attributes: _Attributes, waiting: Waiting) -> bool:
    try:
        values = attributes.read(one)
    except AttributeError:
        return False
    for test, part in zip(attributes.tests, values, strict=True):  # noqa: SIM110 - a generator takes as long again
        if not test(part, waiting):
            return False
    return True


def _attributes_of(definition: ClassDefinition) -> _Attributes:
    known = _attributes.get(definition)
    if known is None or known.count != len(definition.attributes):
        names = [a.name for a in definition.attributes]
        read = attrgetter(*names) if len(names) > 1 else lambda one: [getattr(one, name) for name in names]
        tests = tuple([_test(a.type) for a in definition.attributes])
        known = _attributes[definition] = _Attributes(len(names), read, tests)
    return known


def _test(type_: t.Type) -> Test:
    exact = _CLASSES.get(type(type_))
    if exact is not None:
        return lambda value, waiting: type(value) is exact
    match type_:
        case t.IntType():
            return lambda value, waiting: type(value) is int and INT_MIN <= value <= INT_MAX
        case t.OptionalType(t.ClassType() as element) if element.definition and element.definition.has_instances:
            return _test_object_or_none(element.definition)
        case t.OptionalType(element):
            inner = _test(element)
            return lambda value, waiting: value is None or inner(value, waiting)
        case t.ListType(element):
            return _test_list(element)
        case t.DictType():
            return _test_dict(_test(type_.key), _test(type_.value))
        case t.TupleType() if type_.name is None:
            return _test_tuple(tuple(map(_test, type_.elements)))
        case t.ClassType() if type_.definition is not None and type_.definition.has_instances:
            return _test_object(type_.definition)
    return lambda value, waiting: False


def _test_list(element: t.Type) -> Test:
    exact = _CLASSES.get(type(element))
    if exact is not None:
        only = {exact}
        return lambda value, waiting: type(value) is list and only.issuperset(map(type, value))
    if isinstance(element, t.IntType):
        return lambda value, waiting: type(value) is list and (not value or _are_ints(value))
    inner = _test(element)
    return lambda value, waiting: type(value) is list and all(map(inner, value, repeat(waiting)))


def _are_ints(items: Sequence[Any]) -> bool:
    return set(map(type, items)) == {int} and min(items) >= INT_MIN and max(items) <= INT_MAX


def _test_dict(key: Test, inner: Test) -> Test:
    return lambda value, waiting: type(value) is dict and (
        all(map(key, value, repeat(waiting))) and all(map(inner, value.values(), repeat(waiting)))
    )


def _test_tuple(tests: Sequence[Test]) -> Test:
    return lambda value, waiting: (
        type(value) is tuple
        and len(value) == len(tests)
        and all(test(item, waiting) for test, item in zip(tests, value, strict=True))
    )


def _test_object_or_none(definition: ClassDefinition) -> Test:
    """One function for the links of trees and lists, which are most of what is looked at."""

    def test(value: Any, waiting: Waiting) -> bool:
        if value is None:
            return True
        if type(value) is not definition.python:
            return False
        waiting.append((value, definition))
        return True

    return test


def _test_object(definition: ClassDefinition) -> Test:
    def test(value: Any, waiting: Waiting) -> bool:
        if type(value) is not definition.python:
            return False
        waiting.append((value, definition))
        return True

    return test
