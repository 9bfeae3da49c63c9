"""Every kind of Python value through every door into programs: which go in where, and what refuses the others."""

from __future__ import annotations

import collections
import enum
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.jit import CompileError, ScriptDict, ScriptList


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Text(enum.Enum):
    A = "a"


class Mixed(enum.Enum):
    A = 1
    B = "b"


class Pairs(enum.Enum):
    A = (1, 2)


class Numbered(enum.IntEnum):
    ONE = 1


class Point(typing.NamedTuple):
    x: int
    y: float


Untyped = collections.namedtuple("Untyped", "a b")


@dataclass
class Record:
    n: int


class Holder:
    def __init__(self, n: int) -> None:
        self.n = n


class Refused:
    def __init__(self) -> None:
        self.opened = open


class IntSubclass(int):
    pass


class ListSubclass(list[int]):
    pass


def function(x: Tensor) -> Tensor:
    return x


def holding_itself() -> list[Any]:
    values: list[Any] = [1]
    values.append(values)
    return values


DOORS: dict[str, Callable[[Any], Any]] = {}


def door(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    DOORS[fn.__name__] = fn
    return fn


@door
def attribute(value: Any) -> Any:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = value

        def forward(self, x: Tensor):  # type: ignore[no-untyped-def]
            return self.v

    return flambeau.script(M())(flambeau.ones(1))


@door
def constant(value: Any) -> Any:
    class M(nn.Module):
        __constants__ = ["v"]  # noqa: RUF012

        def __init__(self) -> None:
            super().__init__()
            self.v = value

        def forward(self, x: Tensor):  # type: ignore[no-untyped-def]
            return self.v

    return flambeau.script(M())(flambeau.ones(1))


@door
def default(value: Any) -> Any:
    def f(x: Tensor, v: Any = value):  # type: ignore[no-untyped-def]
        return v

    return flambeau.script(f)(flambeau.ones(1))


@door
def closure(value: Any) -> Any:
    def f(x: Tensor):  # type: ignore[no-untyped-def]
        return value

    return flambeau.script(f)(flambeau.ones(1))


@door
def argument(value: Any) -> Any:
    def f(x: Any) -> Any:
        return x

    return flambeau.script(f)(value)


@door
def item(value: Any) -> Any:
    return ScriptList([value])[0]


@door
def entry(value: Any) -> Any:
    return ScriptDict({"a": value})["a"]


@door
def trace_input(value: Any) -> Any:
    return flambeau.jit.trace(lambda x: x + 1 if isinstance(x, Tensor) else flambeau.ones(1), (value,))


KINDS: dict[str, tuple[Any, str]] = {
    "None": (None, "attribute constant default closure argument item entry"),
    "bool": (True, "attribute constant default closure argument item entry"),
    "int": (3, "attribute constant default closure argument item entry"),
    "int beyond 64 bits": (1 << 70, "default argument"),
    "float": (2.5, "attribute constant default closure argument item entry"),
    "complex": (1 + 2j, "attribute constant default closure argument item entry"),
    "str": ("a", "attribute constant default closure argument item entry"),
    "bytes": (b"a", "default argument"),
    "tensor": (flambeau.ones(2), "attribute argument item entry trace_input"),
    "parameter": (nn.Parameter(flambeau.ones(2)), "attribute constant argument item entry trace_input"),
    "array": (np.ones(2), "default argument item entry trace_input"),
    "np.int64": (np.int64(3), "default argument item entry"),
    "np.float32": (np.float32(2.5), "default argument item entry"),
    "np.float64": (np.float64(2.5), "attribute constant default closure argument item entry"),
    "np.bool": (np.bool_(True), "default argument item entry"),
    "np.complex128": (np.complex128(1j), "attribute constant default closure argument item entry"),
    "np.str": (np.str_("a"), "attribute constant default closure argument item entry"),
    "dtype": (flambeau.float32, "attribute constant default closure argument item entry"),
    "device": (flambeau.device("cpu"), "attribute constant default closure argument item entry"),
    "layout": (flambeau.strided, "attribute constant default closure argument item entry"),
    "enum of ints": (Color.RED, "attribute constant default closure argument item entry"),
    "enum of texts": (Text.A, "attribute constant default closure argument item entry"),
    "IntEnum": (Numbered.ONE, "attribute constant default closure argument item entry"),
    "mixed enum": (Mixed.A, "default argument"),
    "enum of tuples": (Pairs.A, "default argument"),
    "named tuple": (Point(1, 2.0), "attribute default argument item entry"),
    "named tuple without types": (Untyped(1, 2), "attribute default argument item entry"),
    "tuple": ((1, "a"), "attribute constant default closure argument item entry"),
    "size": (flambeau.Size([1, 2]), "attribute default argument item entry"),
    "list": ([1, 2], "attribute constant argument item entry"),
    "empty list": ([], "constant argument item entry"),
    "list with None": ([1, None], "attribute constant argument item entry"),
    "list of ints and texts": ([1, "a"], "constant argument"),
    "list of ints beyond 64 bits": ([1 << 70], "argument"),
    "list of mixed enums": ([Mixed.A], "argument"),
    "list that holds itself": (holding_itself(), "argument"),
    "list subclass": (ListSubclass([1]), "attribute constant argument item entry"),
    "dict": ({"a": 1}, "attribute argument item entry"),
    "empty dict": ({}, "argument item entry"),
    "dict of ints and texts": ({"a": 1, "b": "c"}, "argument"),
    "dict of mixed enums": ({"a": Mixed.A}, "argument"),
    "dict by tuples": ({(1, 2): 3}, "attribute argument item entry"),
    "set": ({1, 2}, "attribute argument item entry"),
    "frozenset": (frozenset({1}), "default argument"),
    "range": (range(3), "default argument"),
    "ellipsis": (..., "default argument"),
    "generator of random numbers": (flambeau.Generator(), "default argument item entry"),
    "dataclass": (Record(1), "attribute default argument item entry"),
    "object": (Holder(1), "attribute default argument item entry"),
    "object of a class that is refused": (Refused(), "default argument"),
    "function": (function, "default argument"),
    "class": (Holder, "default argument"),
    "module of Python": (sys, "default argument"),
    "int subclass": (IntSubclass(3), "attribute constant default closure argument item entry"),
    "object()": (object(), "default argument"),
}
"""A value of each kind, and the doors at which it goes in."""

REFUSALS = (CompileError, TypeError, RuntimeError)


@pytest.mark.filterwarnings("ignore:'v' was found in ScriptModule constants")
@pytest.mark.parametrize("kind", KINDS)
def test_value_goes_in_at_its_doors_and_is_refused_at_the_others(kind: str) -> None:
    value, doors = KINDS[kind]
    admitted: list[str] = []
    reasons: dict[str, str] = {}
    for name, enter in DOORS.items():
        try:
            enter(value)
        except RecursionError:
            raise
        except REFUSALS as error:
            reasons[name] = str(error).strip()
        else:
            admitted.append(name)
    assert admitted == doors.split()
    assert all(reasons.values()), "refused without a reason"


@pytest.mark.parametrize("kind", KINDS)
def test_attribute_that_nobody_uses_is_no_matter(kind: str) -> None:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = KINDS[kind][0]

        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    assert flambeau.script(M())(flambeau.ones(1)).tolist() == [2.0]


def _kind(value: Any) -> Any:
    """The class of a value, and of what is in it."""
    parts = (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return (type(value), *map(_kind, parts))


@pytest.mark.parametrize("kind", [kind for kind, (_, doors) in KINDS.items() if "item entry" in doors])
def test_lists_and_dicts_that_are_shared_convert_alike(kind: str) -> None:
    value = KINDS[kind][0]
    assert _kind(item(value)) == _kind(entry(value))


def test_shared_dict_has_values_as_its_type_says() -> None:
    shared = ScriptDict({"a": np.ones(2)})
    unit = flambeau.CompilationUnit("def f(d: Dict[str, Tensor]): return d['a'] + 1")
    assert unit.f(shared).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match=r"a Dict\[str, int\] cannot hold this: 1180591620717411303424 does not fit"):
        ScriptDict({"a": 1 << 70})


def test_enum_of_several_kinds_is_refused_where_it_is_used() -> None:
    with pytest.raises(CompileError, match=r"type: '\S+value_kinds\.Mixed'(.|\n)*the values of enum Mixed are"):
        attribute(Mixed.A)


def test_list_that_holds_itself_says_so() -> None:
    with pytest.raises(CompileError, match="a list that holds itself has no type"):
        attribute(holding_itself())
    with pytest.raises(RuntimeError, match="a list or dict that holds itself cannot be traced"):
        trace_input(holding_itself())


def test_parameter_may_be_annotated_as_final() -> None:
    class M(nn.Module):
        weight: typing.Final

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(flambeau.ones(1))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.weight

    with pytest.warns(UserWarning, match="'weight' was found in ScriptModule constants,  but it is a non-constant"):
        scripted = flambeau.script(M())
    assert scripted(flambeau.ones(1)).tolist() == [2.0]
