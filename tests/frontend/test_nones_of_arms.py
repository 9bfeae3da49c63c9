"""A None in one arm of an `if` takes its type from the other arm; the function is emitted once, if nobody looked."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.frontend.emit.type_variables import TypeVariables

APART = """
def f(b: Optional[Tensor], c: bool) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    if b is None:
        one, other = None, None
    else:
        one, other = b.split(1)
    if c:
        last = one
    else:
        last = None
    return last, other
"""
TUPLE = """
def f(x: Tensor, c: bool) -> Tuple[Tensor, Optional[int]]:
    if c:
        pair = (x, None)
    else:
        pair = (x + 1, 3)
    return pair
"""
LOOKED_AT = """
def f(x: Tensor, c: bool) -> int:
    if c:
        y = None
        n = 1 if y is None else 2
    else:
        y = x
        n = 3
    if y is not None:
        n += 10
    return n
"""
NESTED = """
def f(x: Tensor, c: bool, d: bool) -> Optional[Tensor]:
    if c:
        if d:
            y = None
        else:
            y = None
    else:
        y = x
    return y
"""


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """An item for each emission that began."""
    begun: list[None] = []
    start = TypeVariables.start
    monkeypatch.setattr(TypeVariables, "start", lambda self: (begun.append(None), start(self))[1])
    return begun


@pytest.mark.parametrize("text", [APART, TUPLE])
def test_it_is_emitted_once(text: str, starts: list[None]) -> None:
    assert "prim::If" in str(flambeau.CompilationUnit(text).f.graph)
    assert len(starts) == 1


@pytest.mark.parametrize("text", [LOOKED_AT, NESTED])
def test_it_starts_over_where_somebody_looked(text: str, starts: list[None]) -> None:
    assert "prim::If" in str(flambeau.CompilationUnit(text).f.graph)
    assert len(starts) > 1


def test_the_none_has_the_type_of_the_other_arm() -> None:
    graph = flambeau.CompilationUnit(APART).f.graph
    first = graph.find_all("prim::If")[0]
    assert [str(v.static_type) for v in first.nested_blocks[0].returns] == ["Tensor?", "Tensor?"]
    assert [str(v.static_type) for v in first.results] == ["Tensor?", "Tensor?"]


def test_the_answers_are_those_of_python() -> None:
    x = flambeau.ones(2, 3)
    apart, pair = flambeau.CompilationUnit(APART).f, flambeau.CompilationUnit(TUPLE).f
    assert apart(None, True) == (None, None)
    assert [None if t is None else t.tolist() for t in apart(x, False)] == [None, [[1.0, 1.0, 1.0]]]
    assert pair(x, True)[1] is None
    assert pair(x, False)[1] == 3
    assert [flambeau.CompilationUnit(LOOKED_AT).f(x, c) for c in (True, False)] == [1, 13]
    assert [flambeau.CompilationUnit(NESTED).f(x, c, True) is None for c in (True, False)] == [True, False]
