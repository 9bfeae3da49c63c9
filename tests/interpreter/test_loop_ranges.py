"""Sums that need no check: loops at the edges of what small numbers may become give what the machine gives."""

from __future__ import annotations

import random
from typing import Any

import pytest

import flambeau as fb
from flambeau.interpreter import hot_loops, loop_ranges, machine
from flambeau.interpreter.code import Code, Op
from flambeau.interpreter.compile import compile_graph
from flambeau.util.errors import ExecutionError

EDGES = [
    0, 1, -1, 2, 3, 7, 31, 97, 1000, -1000, 1 << 15, -(1 << 15), (1 << 15) + 1, 1 << 20, -(1 << 20), (1 << 20) + 1,
    1 << 31, -(1 << 31), (1 << 31) + 1, -(1 << 31) - 1, 1 << 32, 3037000500, 1 << 62, (1 << 63) - 1, -(1 << 63),
]  # fmt: skip
NAMES = "abcd"


def compiled(text: str) -> tuple[Any, Code]:
    unit = fb.jit.CompilationUnit(text)
    return unit, compile_graph(unit.f.graph, "f")


def loops(code: Code) -> list[Any]:
    return list(dict.fromkeys(last[4][2] for _, last in code.blocks if last[0] in (Op.FOR, Op.LOOP, Op.WHILE)))


class _Programs:
    """Random loops over ints."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counters: list[str] = []

    def text(self) -> str:
        self.lines = ["def f(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:"]
        self._loop(1, 2)
        return "\n".join([*self.lines, "    return a, b, c, d", ""])

    def _value(self, depth: int = 0) -> str:
        pick = self.random.random()
        if depth > 2 or pick < 0.4:
            return self.random.choice([*NAMES, *self.counters])
        if pick < 0.55:
            return f"({self.random.choice(EDGES[:-1])})"
        x, y = self._value(depth + 1), self._value(depth + 1)
        op = self.random.choice(["+", "+", "-", "*", "*", "//", "%", "%", "&", "|", "^", "<<", ">>", "neg", "abs"])
        if op in ("neg", "abs"):
            return f"(-{x})" if op == "neg" else f"abs({x})"
        if op in ("<<", ">>"):
            return f"({x} {op} ({y} & {self.random.choice((3, 31, 63))}))"
        if op in ("//", "%"):
            return f"({x} {op} {self.random.choice((7, 1000003, -13, 1 << 31, 1 << 40, 1))})"
        return f"({x} {op} {y})"

    def _statements(self, depth: int, budget: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            pad = "    " * depth
            pick = self.random.random()
            if pick < 0.2 and budget:
                self._loop(depth, budget - 1)
            elif pick < 0.4:
                x, y = self._value(1), self._value(1)
                self.lines.append(f"{pad}if {x} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {y}:")
                self._assignment(depth + 1)
                if self.random.random() < 0.5:
                    self.lines.append(f"{pad}else:")
                    self._assignment(depth + 1)
            else:
                self._assignment(depth)

    def _assignment(self, depth: int) -> None:
        target = self.random.choice(NAMES)
        pad, value = "    " * depth, self._value()
        if self.random.random() < 0.4:
            self.lines.append(f"{pad}{target} {self.random.choice(['+=', '-=', '*='])} {value}")
        elif self.random.random() < 0.2:
            other = self.random.choice(NAMES.replace(target, ""))
            self.lines.append(f"{pad}{target}, {other} = {other}, {value}")
        else:
            self.lines.append(f"{pad}{target} = {value}")

    def _loop(self, depth: int, budget: int) -> None:
        counter = f"i{len(self.lines)}"
        pad = "    " * depth
        if self.random.random() < 0.7:
            low = self.random.choice(("", "a & 3, ", "-2, "))
            self.lines.append(f"{pad}for {counter} in range({low}{self.random.choice(('4', '9', 'b & 7'))}):")
            self.counters.append(counter)
            self._statements(depth + 1, budget)
            self.counters.pop()
        else:
            self.lines.append(f"{pad}{counter} = {self.random.choice(('0', 'c & 7'))}")
            self.lines.append(f"{pad}while {counter} < {self.random.choice(('5', 'd & 7'))}:")
            self.counters.append(counter)
            self._statements(depth + 1, budget)
            self.lines.append(f"{pad}    {counter} += {self.random.choice((1, 2))}")
            self.counters.pop()


def _outcome(code: Code, arguments: tuple[int, ...]) -> Any:
    try:
        return machine.run(code, arguments)
    except ExecutionError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(40))
def test_c19_loops_at_the_edges_do_what_the_machine_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = _Programs(seed).text()
    values = random.Random(seed)
    plain, fast = compiled(text)[1], compiled(text)[1]
    for loop in loops(plain):
        loop.heat = -(1 << 62)
    monkeypatch.setattr(machine, "HOT", -1)
    monkeypatch.setattr(hot_loops, "MANY", -10 if seed % 4 else 1 << 40)
    for _ in range(30):
        arguments = tuple(values.choice(EDGES) for _ in NAMES)
        assert _outcome(fast, arguments) == _outcome(plain, arguments), (text, arguments)


CASES = {
    "remainder of a product and a counter": ("s = (s * 31 + i) % 1000003", 3),
    "what a mask bounds": ("s = (s * 1664525 + 1013904223) & 4294967295", 3),
    "a sum of bounded numbers": ("s += i * 3 - n", 3),
    "a sum of squares of numbers below a million": ("s += i * i", 2),
    "a product grows": ("s = s * 3", 0),
    "a square of itself": ("s = s * s % 1000000007", 2),
    "a sum that doubles": ("s = s + s", 0),
    "what a shift bounds": ("s = (s ^ (i << 7)) >> 3", 2),
}


@pytest.mark.parametrize("case", CASES)
def test_c19_sums_without_a_check(case: str) -> None:
    statement, least = CASES[case]
    _, code = compiled(f"def f(n: int) -> int:\n    s = 1\n    for i in range(n):\n        {statement}\n    return s\n")
    [loop] = loops(code)
    small = loop_ranges.prove(code, loop.inside)
    proven = len(small.unchecked) if small is not None else 0
    assert proven >= least
    assert proven > 0 or least == 0


def test_c19_a_counted_while_needs_no_check_of_its_counter() -> None:
    text = "def f(n: int) -> int:\n    i = 0\n    while i < n:\n        i += 1\n    return i\n"
    _, code = compiled(text)
    [loop] = loops(code)
    assert loop_ranges.prove(code, loop.inside) is not None


def test_c19_many_loops_inside_each_other_are_not_looked_at_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["def f(n: int) -> int:", "    s = 0"]
    lines += [f"{'    ' * depth}for i{depth} in range(n):" for depth in range(1, 10)]
    lines += [f"{'    ' * 10}s += i1 * s", "    return s", ""]
    _, code = compiled("\n".join(lines))
    monkeypatch.setattr(loop_ranges, "_FUEL", 30)
    assert loop_ranges.prove(code, loops(code)[0].inside) is None
    assert machine.run(code, (2,)) == (0,)


def test_c19_a_loop_with_few_rounds_is_looked_at_later() -> None:
    _, code = compiled("def f(n: int) -> int:\n    s = 0\n    for i in range(n):\n        s += i\n    return s\n")
    [loop] = loops(code)
    machine.run(code, (500,))
    first = loop.run
    machine.run(code, (500,))
    assert loop.run is first
    assert machine.run(code, (20_000,)) == (sum(range(20_000)),)
    assert loop.run is not first
    second = loop.run
    assert machine.run(code, (500,)) == (sum(range(500)),)
    assert loop.run is second
