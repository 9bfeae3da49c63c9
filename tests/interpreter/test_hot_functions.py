"""Codes that run often are Python functions: same results, same errors at the same lines, seen by whoever looks on."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import pytest

import flambeau as fb
from flambeau.interpreter import hot_functions, loop_writer, machine
from flambeau.interpreter.code import Code
from flambeau.tensor import dispatch
from flambeau.util.errors import ExecutionError, ScriptError
from tests.interpreter.test_hot_loops import DROPPED, FAILING, PROGRAMS, SHORT, TENSORS, _by_numpy, compiled, in_python
from tests.random_programs.families import FAMILIES, check_seed

TEXTS = """
def f(s: str, n: int) -> tuple[list[str], dict[str, int], str, bool, int]:
    words = s.lower().strip().split(' ')
    counts: dict[str, int] = {}
    for w in words:
        if w in counts:
            counts[w] += 1
        else:
            counts[w] = 1
    keys = sorted(list(counts.keys()))
    t = '-'.join(keys) + '!' + s[1:4] + s[-1]
    return keys, counts, '{} {}'.format(t, n) + ' %d|%s' % (n, s), s.startswith('The') or s.endswith('x'), len(s) * n
"""


def in_machine(code: Code, *arguments: Any) -> Any:
    """What the machine makes of a run, however often the code has run."""
    calls, code.hot.calls = code.hot.calls, -10
    try:
        return machine.run(code, arguments)
    finally:
        code.hot.calls = calls


def outcome(run: Any, *arguments: Any) -> Any:
    try:
        return repr(run(*arguments))
    except (ExecutionError, ScriptError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", PROGRAMS)
def test_codes_do_what_python_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "OFTEN", 0)
    _, code = compiled(PROGRAMS[name])
    for n, k in ((0, 3), (1, 3), (5, 4), (40, 3), (1000, 3), (1000, 7)):
        [result] = machine.run(code, (n, k))
        assert result == (_by_numpy(n, k) if name == "wrapping" else in_python(PROGRAMS[name], n, k))
        assert (result,) == in_machine(code, n, k)
    assert code.hot.run is not None


def test_a_code_is_translated_once_it_has_run_often() -> None:
    _, code = compiled(TEXTS)
    for _ in range(hot_functions.OFTEN):
        machine.run(code, ("The end", 2))
    assert code.hot.run is None
    for text in ("The quick the fox", "", " a", "é x"):
        assert outcome(lambda s: machine.run(code, (s, 2)), text) == outcome(lambda s: in_machine(code, s, 2), text)
    assert code.hot.run is not None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("family", ["flow", "native", "typed"])
def test_random_programs_with_every_code_translated(family: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "OFTEN", -1)
    assert check_seed(FAMILIES[family], 31_000 + 20 * seed) is None


@pytest.mark.parametrize(("n", "k"), [(1000, 4), (1000, 3), (2, 3), (0, 3)])
def test_errors_come_with_the_line(n: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, code = compiled(FAILING)
    expected = outcome(lambda: in_machine(code, n, k))
    monkeypatch.setattr(machine, "OFTEN", -1)
    assert outcome(lambda: machine.run(code, (n, k))) == expected
    assert code.hot.run is not None


def test_what_stands_between_loops_fails_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
def f(items: list[int], d: dict[str, int], key: str) -> tuple[int, int]:
    a, b = items
    if a > 2:
        items.remove(b)
    return d[key] // a, items[1]
"""
    cases: list[tuple[list[int], dict[str, int], str]] = [
        ([1, 2], {"a": 3}, "a"), ([1, 2, 3], {"a": 3}, "a"), ([1], {"a": 3}, "a"), ([0, 2], {"a": 3}, "a"),
        ([1, 2], {"a": 3}, "b"), ([3, 2], {"a": 3}, "a"),
    ]  # fmt: skip
    _, code = compiled(text)
    expected = [outcome(lambda c: in_machine(code, [*c[0]], c[1], c[2]), case) for case in cases]
    monkeypatch.setattr(machine, "OFTEN", -1)
    assert [outcome(lambda c: machine.run(code, ([*c[0]], c[1], c[2])), case) for case in cases] == expected
    assert len(set(map(str, expected))) > 4
    assert code.hot.run is not None


def test_constants_are_what_the_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
def f(x: float, s: str) -> tuple[float, float, list[float], str, list[int], int]:
    inf = float('inf')
    y = x * -0.0 + inf - inf
    items = [1, 2]
    items.append(len(s))
    return y, -0.0 * x, [inf, -inf, -1e-300, 0.1], s + 'é\\n"\\'', items, -9223372036854775807 - len(s)
"""
    _, code = compiled(text)
    expected = [repr(in_machine(code, 1.0, "a")) for _ in range(2)]
    monkeypatch.setattr(machine, "OFTEN", -1)
    assert [repr(machine.run(code, (1.0, "a"))) for _ in range(2)] == expected


def test_interceptors_see_every_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "OFTEN", -1)
    _, code = compiled(TENSORS)
    x = fb.ones(4)
    machine.run(code, (x, 10))
    assert code.hot.run is not None
    seen = 0

    def watch(definition: Any, arguments: Any, proceed: Any) -> Any:
        nonlocal seen
        seen += 1
        return proceed(arguments)

    with dispatch.intercepting(watch):
        machine.run(code, (x, 10))
    assert seen == 20


def test_values_go_when_they_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "OFTEN", -1)
    _, code = compiled(DROPPED)
    x = fb.ones(1000)
    assert machine.run(code, (x, 500)) == (500_000,)
    growth = []
    for _ in range(4):  # the first makes what later calls use again
        gc.collect()
        before = sys.getallocatedblocks()
        machine.run(code, (x, 20_000))
        gc.collect()
        growth.append(sys.getallocatedblocks() - before)
    assert min(growth) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "def g(i: int) -> int:\n    return i + 1\ndef f(n: int) -> int:\n    return g(n) * 2\n",
        "def f(n: int) -> int:\n    with fb.no_grad():\n        n += 1\n    return n\n",
    ],
)
def test_what_only_the_machine_can_do_is_left_to_it(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "OFTEN", -1)
    _, code = compiled(text)
    assert machine.run(code, (3,)) == machine.run(code, (3,))
    assert code.hot.run is None
    assert code.hot.calls < -(1 << 61)


def test_large_codes_are_left_to_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "OFTEN", -1)
    monkeypatch.setattr(loop_writer, "LARGEST_WHOLE", 10)
    _, code = compiled(TEXTS)
    machine.run(code, ("a", 1))
    assert code.hot.run is None


def test_threads_translate_a_code_once() -> None:
    _, code = compiled(SHORT)
    code.hot.calls = hot_functions.OFTEN
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(machine.run(code, (2000,)))) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [(in_python(SHORT, 2000),)] * 6


def test_many_iterations_need_few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in lines that CPython goes through: two an iteration where numbers are small, else three."""
    monkeypatch.setattr(machine, "OFTEN", -1)
    _, code = compiled("def f(n: int, s: int) -> int:\n    for i in range(n):\n        s = s + i\n    return s\n")
    machine.run(code, (10, 0))

    def lines_of(*arguments: int) -> int:
        lines = 0

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal lines
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            machine.run(code, arguments)
        finally:
            sys.settrace(before)
        return lines

    assert lines_of(1000, 0) < 2_100
    assert lines_of(1000, 1 << 62) > 2_900
    assert machine.run(code, (1000, (1 << 63) - 1)) == (499500 - (1 << 63) - 1,)
