"""Calls with lists, dicts and tuples where nothing is annotated: native code looks at what they hold."""

from __future__ import annotations

import itertools
import random
from typing import Any, NamedTuple

import pytest

import flambeau
from flambeau.codegen.callable_type import MISSED, DispatchStub
from flambeau.jit.array_calls import Parameters, array_call, in_python
from flambeau.jit.array_function import _pattern_of
from flambeau.jit.container_contents import contents_of
from flambeau.jit.open_containers import container_type
from flambeau.util.errors import CompileError


class Pair(NamedTuple):
    left: int
    right: str


VALUES: list[Any] = [
    [1, 2], [1.5], [1, 2.5], [True], [], ["a"], [None], [[1], []], [[], []], [[1], [2.5]], [[]], [(1, "a"), (2, "b")],
    [(1, "a", 2)],
    [(1, 2)], ([1], 2), ([], 2), ([1.5], 2), (1, 2), {}, {1: "a"}, {1: 2, "a": 3}, {"a": [1], "b": []}, {"a": []},
    {"a": {"b": 1}}, [{"a": 1}, {}], [{}], [("a", [1]), ("b", [])], [("a", [])], Pair(1, "a"), [Pair(1, "a")], (1, "a"),
    [[[1]], [[]]], [[[1]], []], {1, 2}, [10**30], ["ä", ""], [1j], "text", 3,
]  # fmt: skip


def test_native_code_and_python_see_the_same_contents() -> None:
    for value in VALUES:
        contents = contents_of(_pattern_of(value))
        if contents is None:
            continue
        stub = DispatchStub()
        stub.target = lambda x: x
        rest = (Parameters(("x",), 1, (MISSED,)), (None,), (contents,), None)
        native, python = array_call(stub, *rest), in_python(stub, *rest)
        for other in VALUES:
            assert (native(other) is MISSED) == (python(other) is MISSED), (value, other)
        assert native(value) is value


def test_what_is_served_has_the_type_that_was_compiled() -> None:
    known = {id(v): container_type(_pattern_of(v)) for v in VALUES}
    for value, other in itertools.product(VALUES, VALUES):
        contents = contents_of(_pattern_of(value))
        if contents is not None and contents.is_in(other) and known[id(value)] is not None:
            assert known[id(value)] == known[id(other)], (value, other)


def total(xs):
    t = xs[0] - xs[0]
    for x in xs:
        t += x
    return t


def test_lists_of_ints_and_floats_in_turn_keep_their_meaning() -> None:
    scripted = flambeau.script(total)
    rng = random.Random(0)
    for k in range(30):
        xs: list[Any] = [rng.randint(-9, 9) for _ in range(1 + k)]
        xs = xs if k % 3 else [x + 0.5 for x in xs]
        for _ in range(3):
            result = scripted(xs)
            assert (result, type(result)) == (total(xs), type(total(xs)))


def counted(edges, weights):
    seen = {}
    for a, b in edges:
        seen[a] = seen.get(a, 0.0) + weights[b]
    return seen


def test_lists_of_tuples_beside_dicts_are_served_natively() -> None:
    scripted = flambeau.script(counted)
    for n in (3, 5, 9):
        edges = [(k % 3, f"n{k % 2}") for k in range(n)]
        weights = {"n0": 0.5 + n, "n1": 2.0}
        for _ in range(3):
            assert scripted(edges, weights) == counted(edges, weights)
    function = getattr(scripted, "_of_arrays", scripted)
    assert function.stub.target is not None
    assert function.stub.target(edges, weights) == counted(edges, weights)
    assert function.stub.target(edges, {"n0": 1, "n1": 2}) is MISSED
    assert function.stub.target([(1, "n0"), (True, "n1")], weights) is MISSED
    with pytest.raises(KeyError):
        scripted([(1, "x")], weights)


def lengths(rows):
    return [len(values) + len(name) for name, values in rows]


def test_lists_that_hold_nothing_are_what_the_others_are() -> None:
    scripted = flambeau.script(lengths)
    for rows in ([("a", [1]), ("bc", [])], [("", []), ("d", [1, 2])], [("a", [1.5]), ("", [])]):
        assert scripted(rows) == lengths(rows)


def heaviest(edges):
    best = {}
    for a, b, weight in edges:
        best[(a, b)] = max(weight, best.get((a, b), 0.0))
    return best


def test_functions_that_take_items_apart_are_compiled_for_what_a_call_brings() -> None:
    scripted = flambeau.script(heaviest)
    for edges in ([(1, 2, 0.5)], [(1, 2, 0.5), (1, 2, 1.5), (0, 1, 2.0)], [("a", "b", 1.0)]):
        assert scripted(edges) == heaviest(edges)


def broken(x):
    y = [1]
    for a, b in x:
        y.append(f"{a} {b}")
    return y


def slip(x):
    y = [1]
    y.append(str(x))
    return y


def test_what_is_wrong_with_them_is_said_when_they_are_called_or_before() -> None:
    with pytest.raises(CompileError, match=r"cannot hold|Could not match"):
        flambeau.script(broken)([(1, 2)])
    with pytest.raises(CompileError, match="int"):
        flambeau.script(slip)
