"""Profiles of all that a thread calls."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, jit

UNIT = flambeau.CompilationUnit(
    "def total(n: int) -> int:\n  s = 0\n  for i in range(n):\n    s += i\n  return s\n"
    "def scaled(x: Tensor) -> Tensor:\n  return (x + 1) * 2\n"
)


def hits(profile: Any, line: int) -> int:
    return sum(cost.hits for cost in profile.lines if cost.line == line)


def test_calls_are_summed_line_by_line() -> None:
    profile = jit._ScriptProfile()
    assert profile.dump_string() == ""
    UNIT.total(3)
    profile.enable()
    profile.enable()
    assert (UNIT.total(10), UNIT.total(5)) == (45, 10)
    assert UNIT.scaled(flambeau.ones(2)).tolist() == [4.0, 4.0]
    assert flambeau.ones(1).add(1).tolist() == [2.0]
    profile.disable()
    profile.disable()
    text = profile.dump_string()
    UNIT.total(100)
    assert profile.dump_string() == text
    assert hits(profile, 4) == 15
    assert "s += i" in text
    assert "return (x + 1) * 2" in text
    profile.enable()
    UNIT.total(2)
    profile.disable()
    assert hits(profile, 4) == 17


def test_several_at_a_time_and_other_threads() -> None:
    outer, inner = jit._ScriptProfile(), jit._ScriptProfile()
    outer.enable()
    UNIT.total(4)
    inner.enable()
    UNIT.total(2)
    outer.disable()
    UNIT.total(1)
    thread = threading.Thread(target=lambda: UNIT.total(50))
    thread.start()
    thread.join()
    inner.disable()
    assert (hits(outer, 4), hits(inner, 4)) == (6, 3)


@pytest.mark.parametrize("backend", ["interpreter", "reference"])
def test_other_backends(backend: Any, capsys: Any) -> None:
    def f(x: Tensor) -> Tensor:
        return x.exp() + 1

    scripted = flambeau.script(f, backend=backend)
    profile = jit._ScriptProfile()
    profile.enable()
    assert scripted(flambeau.zeros(1)).tolist() == [2.0]
    profile.disable()
    profile.dump()
    assert ("x.exp() + 1" in capsys.readouterr().out) is (backend == "interpreter")


def test_errors_come_through() -> None:
    unit = flambeau.CompilationUnit("def f(n: int):\n  assert n > 3, 'small'\n  return n\n")
    profile = jit._ScriptProfile()
    profile.enable()
    try:
        assert unit.f(4) == 4
        with pytest.raises(jit.Error, match="small"):
            unit.f(1)
        assert unit.f(5) == 5
    finally:
        profile.disable()
    assert hits(profile, 2) == 2
