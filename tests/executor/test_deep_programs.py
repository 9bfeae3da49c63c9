"""Programs of many branches run on every path; what is nested beyond all limits is refused in the user's words."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau.interpreter.reference import evaluate
from flambeau.ir import clone_graph, parse_ir
from flambeau.jit.function import ScriptFunction
from flambeau.util import depth
from flambeau.util.errors import CompileError


def conditional_expressions(n: int) -> str:
    chain = "".join(f"{i} if x == {i} else " for i in range(n))
    return f"def f(x: int) -> int:\n    return {chain}-1\n"


def elifs(n: int) -> str:
    chain = "".join(f"    elif x == {i}:\n        y = {i}\n" for i in range(1, n))
    return f"def f(x: int) -> int:\n    y = -1\n    if x == 0:\n        y = 0\n{chain}    return y\n"


def ifs(n: int) -> str:
    chain = "".join(f"    if x == {i}:\n        y = {i}\n" for i in range(n))
    return f"def f(x: int) -> int:\n    y = -1\n{chain}    return y\n"


def returns(n: int) -> str:
    chain = "".join(f"    if x == {i}:\n        return {i}\n" for i in range(n))
    return f"def f(x: int) -> int:\n{chain}    return -1\n"


def conjunctions(n: int) -> str:
    return f"def f(x: int) -> int:\n    return int({' and '.join(f'x != {i}' for i in range(n))})\n"


def disjunctions(n: int) -> str:
    return f"def f(x: int) -> int:\n    return int({' or '.join(f'x == {i}' for i in range(n))})\n"


def comparisons(n: int) -> str:
    return f"def f(x: int) -> int:\n    return int({' <= '.join(['x'] * n)} < 7)\n"


def minuses(n: int) -> str:
    return f"def f(x: int) -> int:\n    return {'-' * n}x\n"


PROGRAMS: list[tuple[Callable[[int], str], int]] = [
    (conditional_expressions, 400),
    (elifs, 600),
    (ifs, 1000),
    (returns, 1000),
    (conjunctions, 2000),
    (disjunctions, 500),
    (comparisons, 400),
    (minuses, 501),
]


def compiled(text: str) -> ScriptFunction[..., Any]:
    return flambeau.CompilationUnit(text).f  # type: ignore[no-any-return]


@pytest.mark.parametrize(("program", "n"), PROGRAMS, ids=lambda p: getattr(p, "__name__", str(p)))
def test_c12_many_branches(program: Callable[[int], str], n: int) -> None:
    text = program(n)
    scope: dict[str, Any] = {}
    exec(text, scope)
    function = compiled(text)
    for x in (0, 1, n // 2, n - 1, n, -5):
        assert function(x) == scope["f"](x)
    assert "native" in str(function.explain())
    if n <= 600:
        shown = str(function.graph)
        assert str(parse_ir(shown)) == shown
        assert str(clone_graph(function.graph)) == shown
        assert evaluate(function.graph, (n - 1,)) == (scope["f"](n - 1),)
        assert "return" in function.code


def nested_loops(levels: int) -> str:
    lines = [f"{' ' * (i + 1)}for _ in range(x):" for i in range(levels)]
    return "def f(x: int) -> int:\n" + "\n".join(lines) + f"\n{' ' * (levels + 1)}x += 1\n return x\n"


def test_c12_beyond_all_limits_the_place_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    function = compiled(elifs(600))
    text = str(function.graph)
    monkeypatch.setattr(depth, "FRAMES", sys.getrecursionlimit())
    with pytest.raises(CompileError) as caught:
        function(3)
    assert caught.value.message == depth.TOO_DEEP
    assert "elif x == 5" in str(caught.value)
    monkeypatch.undo()
    assert function(3) == 3
    assert str(function.graph) == text


def test_c12_so_it_is_where_the_front_end_meets_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "FRAMES", sys.getrecursionlimit())
    with pytest.raises(CompileError) as caught:
        compiled(conditional_expressions(900)).graph  # noqa: B018
    assert "nested too deeply" in str(caught.value)


def test_loops_as_deep_as_python_has_them() -> None:
    assert compiled(nested_loops(19))(1) == 2
