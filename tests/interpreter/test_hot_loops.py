"""Loops that run often are Python functions: same results, same errors at the same lines, seen by whoever looks on."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from typing import Any

import pytest

import flambeau as fb
from flambeau.interpreter import hot_loops, machine
from flambeau.interpreter.code import Code, Op
from flambeau.interpreter.compile import compile_graph
from flambeau.tensor import dispatch
from flambeau.util.errors import ExecutionError, ScriptError
from tests.random_programs.families import FAMILIES, check_seed

MIX = """
def f(n: int, k: int) -> int:
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
        if s % k == 0:
            continue
        if s > 900000 and i > 5:
            s = s // k - i
        else:
            s ^= i << (i % 7)
    return s
"""
NESTED = """
def f(n: int, k: int) -> int:
    total = 0
    i = 0
    while i < n:
        for j in range(i % 5, k):
            if j == 3:
                break
            total += i * j - total // 3
        else:
            total -= 1
        i += 1
    return total
"""
WRAPPING = """
def f(n: int, k: int) -> int:
    a, b = 1, 9223372036854775807
    for i in range(n):
        a = a * 6364136223846793005 + 1442695040888963407
        b = b + a - i
        if b > a:
            b = b - k * a
        a = -a if b < 0 else a
    return a ^ b
"""
SWAPS = """
def f(n: int, k: int) -> tuple[int, int, int, bool]:
    a, b, c, odd = 0, 1, k, False
    for i in range(n):
        a, b, c = b, c, (a + b) % (k + 1)
        odd = not odd
    return a, b, c, odd
"""
FLOATS = """
def f(n: int, k: int) -> tuple[float, list[float]]:
    t, found = 0.5, [0.0]
    for i in range(n):
        t = t * 0.5 + float(i) / k
        if i % 50 == 0:
            found.append(t)
        found[-1] += 1.0
    return t, found
"""
STRINGS = """
def f(n: int, k: int) -> tuple[str, dict[str, int]]:
    text, counts = '', {'': 0}
    for i in range(n):
        text = str(i % k) + text[:3]
        if text not in counts:
            counts[text] = 0
        counts[text] += i
    return text, counts
"""
LISTS = """
def f(n: int, k: int) -> tuple[list[int], list[float]]:
    counts, ratios = [0] * (k + 1), [0.5]
    for i in range(n):
        counts[i % k] = counts[(i * 7) % (k + 1)] + i
        counts[-1] = counts[0] - i
        if i % 3 == 0:
            ratios.append(i / k)
        ratios[0] = ratios[-1] / 3.0 + i / 3
    return counts, ratios
"""
SHORT = """
def f(n: int) -> int:
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s
"""
TENSORS = """
def f(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x * 0.5 + 1.0
    return x
"""
DROPPED = """
def f(x: Tensor, n: int) -> int:
    s = 0
    for i in range(n):
        y = x + 1
        s += y.numel()
    return s
"""
PROGRAMS = {
    "mix": MIX,
    "nested": NESTED,
    "wrapping": WRAPPING,
    "swaps": SWAPS,
    "floats": FLOATS,
    "strings": STRINGS,
    "lists": LISTS,
}


def compiled(text: str, name: str = "f") -> tuple[Any, Code]:
    unit = fb.jit.CompilationUnit(text)
    return unit, compile_graph(getattr(unit, name).graph, name)


def loops(code: Code) -> list[hot_loops.HotLoop]:
    """Each loop of a code once."""
    ends = (last for _, last in code.blocks)
    return list(dict.fromkeys(last[4][2] for last in ends if last[0] in (Op.FOR, Op.LOOP, Op.WHILE)))


def in_python(text: str, *arguments: Any) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "<program>", "exec"), names)
    return names["f"](*arguments)


def wrapped(value: Any) -> Any:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63) if type(value) is int else value


@pytest.mark.parametrize("hot", [0, 7, hot_loops.HOT])
@pytest.mark.parametrize("name", PROGRAMS)
def test_c19_loops_do_what_python_does(name: str, hot: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "HOT", hot)
    _, code = compiled(PROGRAMS[name])
    for n, k in ((0, 3), (1, 3), (5, 4), (1000, 3), (1000, 7)):
        [result] = machine.run(code, (n, k))
        if name != "wrapping":
            assert result == in_python(PROGRAMS[name], n, k)
        else:
            assert result == _by_numpy(n, k)
    assert any(loop.run is not None for loop in loops(code))


def _by_numpy(n: int, k: int) -> int:
    a, b = 1, (1 << 63) - 1
    for i in range(n):
        a = wrapped(a * 6364136223846793005 + 1442695040888963407)
        b = wrapped(b + a - i)
        if b > a:
            b = wrapped(b - k * a)
        a = wrapped(-a) if b < 0 else a
    return a ^ b


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("family", ["flow", "native", "typed"])
def test_c19_random_programs_with_every_loop_translated(
    family: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "HOT", -1)
    assert check_seed(FAMILIES[family], 19_000 + 20 * seed) is None


FAILING = """
def f(n: int, k: int) -> int:
    found = [1, 2, 3]
    s = 0
    for i in range(n):
        s += found[i % k]
        s = (s *
             7 % (n - i - 1))
    return s
"""


@pytest.mark.parametrize(("n", "k", "line"), [(1000, 4, 6), (1000, 3, 8), (2, 3, 8)])
def test_c19_errors_come_with_the_line(n: int, k: int, line: int) -> None:
    _, code = compiled(FAILING)
    with pytest.raises((ExecutionError, ScriptError)) as raised:
        machine.run(code, (n, k))
    [(name, where)] = raised.value.frames
    assert name == "f"
    assert where.file_line_col()[1] in (line, line - 1)
    slow = compiled(FAILING)[1]
    for loop in loops(slow):
        loop.heat = -(1 << 62)
    with pytest.raises(type(raised.value)) as plain:
        machine.run(slow, (n, k))
    assert str(plain.value) == str(raised.value)


@pytest.mark.parametrize("k", [0, 3])
def test_c19_items_that_are_not_there_are_refused_in_the_same_words(k: int) -> None:
    text = """
def f(n: int, k: int) -> list[float]:
    items = [0.0, 1.0, 2.0]
    for i in range(n):
        items[i // 300 - 1] = i / k
        items[1] = items[0] / (i - i)
    return items
"""
    outcomes = []
    for is_hot in (False, True):
        _, code = compiled(text)
        if not is_hot:
            for loop in loops(code):
                loop.heat = -(1 << 62)
        with pytest.raises((ExecutionError, ScriptError)) as raised:
            machine.run(code, (2000, k))
        outcomes.append((type(raised.value), str(raised.value)))
    assert outcomes[0] == outcomes[1]
    assert "out of range" in outcomes[0][1]


def test_c19_interrupts_reach_a_translated_loop() -> None:
    _, code = compiled(SHORT)

    def late(*_: Any) -> None:
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    start = time.monotonic()
    try:
        with pytest.raises(Exception, match="enough"):
            machine.run(code, (1 << 40,))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 30


def test_c19_interceptors_see_every_round() -> None:
    _, code = compiled(TENSORS)
    x = fb.ones(4)
    machine.run(code, (x, 1000))
    assert loops(code)[0].run is not None
    seen = 0

    def watch(definition: Any, arguments: Any, proceed: Any) -> Any:
        nonlocal seen
        seen += 1
        return proceed(arguments)

    with dispatch.intercepting(watch):
        machine.run(code, (x, 1000))
    assert seen == 2000


def test_c19_values_go_when_they_are_dropped() -> None:
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


def test_c19_what_only_the_machine_can_do_is_left_to_it() -> None:
    text = """
def g(i: int) -> int:
    return i + 1

def f(n: int) -> int:
    s = 0
    for i in range(n):
        s = (s + g(i)) % 1000
    return s
"""
    _, code = compiled(text)
    assert machine.run(code, (1000,)) == (in_python(text, 1000),)
    [loop] = loops(code)
    assert loop.run is None
    assert loop.heat < 0


def test_c19_threads_translate_a_loop_once() -> None:
    _, code = compiled(MIX)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(machine.run(code, (20_000, 3)))) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [(in_python(MIX, 20_000, 3),)] * 6


def test_c19_profiles_count_every_round() -> None:
    @fb.script(backend="interpreter")
    def f(n: int) -> int:
        s = 0
        for i in range(n):
            s = (s + i) % 7
        return s

    f(1000)
    lines = str(f.profile(1000)).splitlines()
    assert any("1000" in line.replace(",", "").replace("_", "") for line in lines), lines


def test_c19_a_loop_takes_few_steps_of_pythons() -> None:
    """Counted in lines that CPython goes through, which do not depend on the machine: three a round, and not forty."""
    _, code = compiled(SHORT)
    machine.run(code, (1000,))
    lines = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        machine.run(code, (1000,))
    finally:
        sys.settrace(before)
    assert lines < 1000 * 6


COUNTED = """
def f(words: List[str], default: Optional[int]):
    counts: Dict[str, int] = {}
    seen: Set[str] = set()
    for w in words:
        counts[w] = counts.get(w, 0) + 1
        if w in seen and counts.get(w + "?") is None:
            counts[w + "!"] = len(seen)
        seen.add(w)
    return counts, len(seen)
"""


def test_dicts_of_texts_in_hot_loops_are_those_of_python() -> None:
    function = fb.CompilationUnit(COUNTED).f
    space: dict[str, Any] = {}
    exec("from typing import *\n" + COUNTED, space)
    words = [f"w{k * 7919 % 101}" for k in range(3000)]
    for _ in range(3):
        expected, found = space["f"](words, None), function(words, None)
        assert found == expected
        assert list(found[0]) == list(expected[0])


def test_lists_of_plain_items_are_copied_and_looked_at() -> None:
    unit = fb.CompilationUnit("""
def f(x: List[int], y: List[str]):
    x.append(1)
    y.append("b")
    return x, y
""")
    mine, texts = [3, 4], ["a"]
    assert unit.f(mine, texts) == ([3, 4, 1], ["a", "b"])
    assert (mine, texts) == ([3, 4], ["a"])
    for bad in ([1 << 63], [-(1 << 63) - 1], [1.5], ["1"]):
        with pytest.raises((RuntimeError, TypeError, OverflowError, ValueError)):
            unit.f(bad, texts)
    with pytest.raises((RuntimeError, TypeError)):
        unit.f(mine, [1])
