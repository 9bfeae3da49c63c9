"""Plans of programs on arrays are left in the cache on disk, and read for what is the same program in every respect."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.executor.graph_origin import provenance_of_graph
from flambeau.program.function import Function


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))


TABLE = np.arange(4.0)
X = np.arange(1.0, 9.0)


def weighted(x, n):
    s = 0.0
    for i in range(n):
        s += x[i] * (i + 1)
    return s


def shifted(x, n):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] / 2 + n
    return out, out.shape


def total(x, n):
    return weighted(x, n) + n


def halved(x, n):
    return x[n] + total(x, n - 1) / 2


def looked_up(x, n):
    return TABLE[n] + x[n]


def is_read(scripted: Any) -> bool:
    return "read from the cache" in str(scripted.explain())


@pytest.mark.parametrize("program", [weighted, shifted, total, halved], ids=lambda f: f.__name__)
def test_the_second_reads_what_the_first_left(program: Callable[..., Any]) -> None:
    def called(*arguments: Any) -> tuple[Any, bool]:
        scripted = flambeau.script(program)
        return [scripted(*arguments) for _ in range(3)][-1], is_read(scripted)

    first, was_there = called(X, 3)
    second, is_there = called(X, 3)
    assert (was_there, is_there) == (False, True)
    np.testing.assert_equal(first, second)
    np.testing.assert_equal(second, program(X, 3))
    assert not called(X.astype(np.int64), 3)[1]


def test_memory_around_the_program_is_read_anew() -> None:
    for value in (7.0, 8.0):
        TABLE[2] = value
        scripted = flambeau.script(looked_up)
        assert scripted(X, 2) == value + 3.0
        assert not is_read(scripted)
        TABLE[2] = 2.0
        assert scripted(X, 2) == 5.0


def test_what_refers_to_the_process_has_no_origin() -> None:
    unit = flambeau.CompilationUnit("def f(n: int):\n    return n + 1\n")
    function = unit.f.script_function
    assert isinstance(function, Function)
    origin, again = (provenance_of_graph(function).origin() for _ in range(2))
    assert origin is not None
    assert origin == again
    other = flambeau.CompilationUnit("def f(n: int):\n\n    return n + 1\n").f.script_function
    assert provenance_of_graph(other).origin() != origin  # errors would name another line
    traced = flambeau.jit.trace(lambda x: x + flambeau.ones(3), (flambeau.ones(3),))
    assert provenance_of_graph(traced.script_function).origin() is not None
    table = flambeau.ones(3)
    assert provenance_of_graph(flambeau.jit.trace(lambda x: x + table, (table,)).script_function).origin() is None


PROGRAM = """
import sys
import numpy as np, flambeau
def part(x, n):
    s = 0.0
    for i in range(n):
        s += 1.0 / x[i]
    return s
f = flambeau.script(part)
print(f(np.arange(1.0, 5.0), 4), "read from the cache" in str(f.explain()))
try:
    f(np.ones(3), 4)
except IndexError as error:
    print("x[i]" in str(error), "line 7" in str(error))
"""


def test_another_process_reads_it_with_its_places(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    said = [
        subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert said[0] == ["2.083333333333333", "False", "True", "True"]
    assert said[1] == ["2.083333333333333", "True", "True", "True"]
