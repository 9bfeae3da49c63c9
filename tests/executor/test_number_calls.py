"""Interpreted programs on texts and numbers, and lists and dicts of these: quick calls answer as slow ones do."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import flambeau
from flambeau.codegen import available
from flambeau.executor.number_calls import OnContainers
from flambeau.executor.options import Options
from flambeau.jit.arguments import ArgumentError

pytestmark = pytest.mark.skipif(not available(), reason="short ways are of plans that may be native")
SOURCE = """
def f(s: str, n: int = 2, x: float = 0.5, b: bool = False):
    words = s.lower().split()
    count: Dict[str, int] = {}
    for w in words:
        count[w] = count.get(w, 0) + n
    if n < 0:
        raise ValueError("n is " + str(n) + " for " + s)
    return "-".join(sorted(count.keys())), count, x // n, b or len(s) > 3
"""


def functions() -> tuple[Any, Any]:
    function = flambeau.CompilationUnit(SOURCE).f
    return function, function.with_options(Options(backend="interpreter"))


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        result = function(*args, **kwargs)
        return repr(result), [type(r).__name__ for r in result]
    except Exception as error:
        return type(error).__name__, str(error)


CASES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a b A", 3, 1.5, True), {}), (("", 1, float("nan"), False), {}), (("a", -1, 2.0, True), {}),
    (("a b", 0, 1.0, False), {}), (("a b", 1 << 62, 1.0, False), {}), (("a b",), {}), (("a b", 3), {"b": True}),
    (("a b", 1 << 63, 1.0, False), {}), (("a b", True, 1.0, False), {}), (("a b", 2, 1, False), {}), ((3,), {}),
    ((type("Name", (str,), {})("a"), 2, 1.0, False), {}), (("a", 2.0, 1.0, False), {}), ((), {}),
    ((None, 1, 1.0, False), {}), (("é \ud800", 2, -0.0, False), {}),
]  # fmt: skip


def test_quick_calls_answer_as_slow_ones() -> None:
    quick, slow = functions()
    for _ in range(16):  # until it is known that native code, which would ask Python, is slower
        quick("a b", 1, 1.0, True)
    assert quick._executor.fast_path is not None
    for _ in range(3):
        for args, kwargs in CASES:
            assert outcome(quick, *args, **kwargs) == outcome(slow, *args, **kwargs), args
    before = sum(c.calls for c in quick.explain(measure=False).compilations)
    quick("a b", 1, 1.0, True)
    outcome(quick, "a", -1, 1.0, True)
    assert sum(c.calls for c in quick.explain(measure=False).compilations) == before + 2
    with pytest.raises(ArgumentError):
        quick("a", "b")


def test_loops_that_are_slow_are_told_of() -> None:
    source = 'def f(s: str, n: int):\n    t = ""\n    for i in range(n):\n        t = s.title()\n    return t\n'
    function = flambeau.CompilationUnit(source).f
    for _ in range(4):
        function("a", 3)
    with pytest.warns(flambeau.PerformanceWarning, match="this loop is interpreted"):
        function("a", 20_000)


CONTAINERS = """
def f(xs: List[int], d: Dict[str, float], words: List[str], n: int = 2):
    xs.append(n)
    if len(words) > 3:
        xs.append(xs[n])
    d["n"] = float(n)
    total = 0
    for x in xs:
        total += x
    return xs, total, d, ["<" + w.title() + ">" for w in words]
"""
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (([1, 2], {"a": 0.5}, ["a", "b"], 3), {}), (([], {}, [], 3), {}), (([1], {}, ["a"]), {}),
    (([1], {}, ["a"]), {"n": 4}), (([True], {}, ["a"], 1), {}), (([1 << 63], {}, ["a"], 1), {}),
    (([-1 << 63, -1], {}, ["a"], 1), {}), (([1.5], {}, ["a"], 1), {}), (([1], {"a": 1}, ["a"], 1), {}),
    (([1], {2: 1.0}, ["a"], 1), {}), (((1, 2), {}, ("a",), 1), {}), ((range(3), {}, ["a"], 1), {}),
    (([1], {}, [None], 1), {}), ((None, {}, [], 1), {}), (([1], {}, ["a"], 1 << 64), {}), (([1],), {}),
    (([1], {}, ["a"] * 4, 1), {}), (([1], {}, ["a"] * 4, 9), {}),
]  # fmt: skip


def test_quick_calls_with_lists_and_dicts_answer_as_slow_ones() -> None:
    quick = flambeau.CompilationUnit(CONTAINERS).f
    slow = quick.with_options(Options(backend="interpreter"))
    for _ in range(4):
        quick([1], {"a": 1.0}, ["a"], 1)
    assert type(quick._executor.fast_path) is OnContainers
    for _ in range(3):
        for args, kwargs in CALLS:
            mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
            assert outcome(quick, *mine, **kwargs) == outcome(slow, *theirs, **kwargs), args
            assert mine == theirs == args  # programs write to copies
    before = sum(c.calls for c in quick.explain(measure=False).compilations)
    quick([1], {"a": 1.0}, ["a"], 1)
    assert sum(c.calls for c in quick.explain(measure=False).compilations) == before + 1


def test_lists_of_other_programs_are_shared_with_them() -> None:
    unit = flambeau.CompilationUnit(
        'def g(s: List[str], n: int):\n    s.append("b" * n)\n    return {k: 1 for k in s}\n'
        "def f(s: List[str]):\n    d = flambeau.jit.wait(flambeau.jit.fork(g, s, 2))\n    return s, d\n"
    )
    for _ in range(5):
        assert unit.g(["a"], 1) == {"a": 1, "b": 1}
        assert unit.f(["a"]) == (["a", "bb"], {"a": 1, "bb": 1})


def test_objects_that_share_lists_keep_sharing_them() -> None:
    function = flambeau.CompilationUnit(
        'def f(s: List[str]):\n    s.append("b")\n    return "".join(s)\n'
    ).f
    for _ in range(5):
        function(["a"])
    shared = flambeau.jit.script(["a"])
    assert (function(shared), function(shared), len(shared)) == ("ab", "abb", 3)


def test_programs_with_tensors_go_the_long_way() -> None:
    for source, argument in (
        ("def f(s: str):\n    return {s: flambeau.ones(2)}\n", "a"),
        ("def f(s: List[List[str]]):\n    return {k[0]: 1 for k in s}\n", [["a"]]),
    ):
        function = flambeau.CompilationUnit(source).f
        for _ in range(5):
            function(argument)
        assert all(plan.on_numbers is None for plan in function._executor.plans)
