"""Loops that are native by themselves, of which short ones are interpreted: a call would take longer than they do."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.codegen import available
from flambeau.executor import short_loops
from flambeau.executor.region import Region, with_regions
from flambeau.interpreter.machine import run
from flambeau.ir import parse_ir

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
    many = short_loops.WORTHWHILE + 1
    for n in (3, 4, many, 5, 0, many):
        wanted = {0.5: n}, [n, *(i * i for i in range(n))], 1
        assert function(0.5, n) == wanted
    assert native_calls == [many, many]
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


def test_few_iterations_are_interpreted_beside_the_native_loop() -> None:
    graph = parse_ir("""
graph(%n : int):
  %zero : int = prim::Constant[value=0]()
  %yes : bool = prim::Constant[value=True]()
  %r : int = prim::Loop(%n, %yes, %zero)
    block0(%i : int, %s : int):
      %t : int = aten::add(%s, %i)
      -> (%yes, %t)
  return (%r)
""")
    regions, code = with_regions(graph, "f")
    assert code is not None
    assert [region.name for region in regions] == ["f"]
    assert run(code, (3,)) == (3,)
    assert regions[0].calls == 0
    assert run(code, (1000,)) == (499500,)
    assert regions[0].calls == 1
