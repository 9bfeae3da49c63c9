"""Traces of functions that make what they call: another run makes it anew, and it is the same."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import TracingCheckError


def test_a_script_made_inside_is_the_same_each_time() -> None:
    def f(x: Tensor) -> Tensor:
        @flambeau.script
        def inner(y: Tensor) -> Tensor:
            return y + 1

        result: Tensor = inner(x) * 2
        return result

    traced = flambeau.trace(f, flambeau.ones(2))
    assert traced.graph.findNode("prim::CallFunction") is not None
    assert traced(flambeau.zeros(3)).tolist() == [2.0] * 3


def test_another_script_each_time_is_told() -> None:
    made: list[int] = []

    def f(x: Tensor) -> Tensor:
        made.append(1)
        inner = flambeau.CompilationUnit(f"def g(x: Tensor): return x + {len(made)}").g
        result: Tensor = inner(x)
        return result

    with pytest.raises(TracingCheckError, match="Graphs differed across invocations!"):
        flambeau.trace(f, flambeau.ones(2))
