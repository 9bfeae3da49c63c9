"""Calls that take many iterations of loops: the next one gives up the GIL before it starts."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import flambeau
from flambeau.codegen.layouts import GRAPH_CELL


def mixed(n: int, seed: int) -> int:
    found = seed
    for i in range(n):
        found = (found * 1103515245 + 12345) % 2147483648
        if found % 65537 == i:
            found += 1
    return found


def by_python(n: int, seed: int) -> int:
    return mixed(n, seed)


def test_what_the_next_call_is_told() -> None:
    function: Any = flambeau.script(mixed)
    for n, expected in ((10, 0), (1_000, 0), (20_000, 1), (5, 0), (300_000, 1), (20_000, 1), (0, 0)):
        assert function(n, 3) == by_python(n, 3)
        assert function(n, 3) == by_python(n, 3)
        [plan] = function._executor.plans
        assert [e.cell[GRAPH_CELL.word("long")] for e in plan.compiled._entries] == [expected]


def test_threads_that_run_at_once_do_not_mix() -> None:
    function: Any = flambeau.script(mixed)
    expected = {seed: by_python(30_000, seed) for seed in range(4)}
    found: list[tuple[int, int]] = []

    def work(seed: int) -> None:
        for _ in range(50):
            found.append((seed, function(30_000, seed)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in expected]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 200
    assert all(value == expected[seed] for seed, value in found)


def test_errors_of_long_calls_come_with_the_lock() -> None:
    source = """
def f(n: int, at: int) -> int:
    total = 0
    for i in range(n):
        total += 100 // (at - i)
    return total
"""
    function = flambeau.CompilationUnit(source).f
    for _ in range(3):
        assert isinstance(function(50_000, -1), int)
        with pytest.raises(Exception, match=r"[Dd]ivision"):
            function(50_000, 40_000)
