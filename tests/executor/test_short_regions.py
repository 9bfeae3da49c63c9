"""Loops that are native by themselves, of which short ones are interpreted: a call would take longer than they do."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.codegen import available
from flambeau.executor import region
from flambeau.executor.region import Region

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
SOURCE = """
def f(key: float, n: int):
    seen = {key: n}
    squares = [0]
    for i in range(n):
        squares.append(i * i)
        squares[0] += 1
    return seen, squares, len(seen)
"""


@pytest.fixture
def native_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The iterations that native code was asked for."""
    asked: list[int] = []
    native_for = Region._native_for

    def counted(self: Region, inputs: Any) -> Any:
        asked.append(max(x for x in inputs if isinstance(x, int)))
        return native_for(self, inputs)

    monkeypatch.setattr(Region, "_native_for", counted)
    return asked


def test_short_loops_are_interpreted_and_long_ones_native(native_calls: list[int]) -> None:
    function = flambeau.jit.CompilationUnit(SOURCE).f
    many = region.WORTHWHILE + 1
    for n in (3, 4, many, 5, 0, many):
        wanted = {0.5: n}, [n, *(i * i for i in range(n))], 1
        assert function(0.5, n) == wanted
    assert native_calls == [3, many, many]  # the first makes the code
    (compilation,) = function.explain(measure=False).compilations
    assert "native in parts" in str(function.explain(measure=False))
    assert compilation.calls == 6


def test_loops_that_are_interpreted_for_being_short_are_not_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    function = flambeau.jit.CompilationUnit(SOURCE).f
    for _ in range(3000):  # five iterations each: more than it takes for a warning
        assert function(0.5, 5)[1][:2] == [5, 0]
    assert not recwarn.list


def test_errors_of_short_loops_are_those_of_the_program() -> None:
    source = SOURCE.replace("squares[0] += 1", "squares[0] += 6 // (2 - i)")
    function = flambeau.jit.CompilationUnit(source).f
    for n in (2, 2, 3, 2, 400):
        if n > 2:
            with pytest.raises(ZeroDivisionError, match="division by 0"):
                function(0.5, n)
        else:
            assert function(0.5, n)[1][0] == 9
