"""What is hot and interpreted is warned of once, with what to write instead; and what is said to be native is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import PerformanceWarning, Tensor
from flambeau.executor.compiled_graph import HOT
from tests.codegen.graph.one_meaning import CALLS, assert_native

MANY = HOT + 5


def counted(n: int) -> int:
    counts: dict[float, int] = {}
    for k in range(n):
        i = k % 7 * 0.5
        counts[i] = counts.get(i, 0) + 1
    return counts[1.5]


def counted_in_a_list(n: int) -> int:
    counts = [0] * 7
    for k in range(n):
        counts[k % 7] += 1
    return counts[3]


def kinds(n: int) -> int:
    seen = set()
    for k in range(n):
        seen.add(k * k % 11 * 0.5)
    return len(seen)


def kinds_in_a_list(n: int) -> int:
    seen = [False] * 11
    for k in range(n):
        seen[k * k % 11] = True
    return sum([1 for s in seen if s])


def letters(n: int) -> int:
    text, found, at = "abracadabra" * (n // 11 + 1), 0, 0
    while at < n:
        if text[at].title() == "A":
            found += 1
        at += 1
    return found


def letters_as_numbers(n: int) -> int:
    codes = [ord(c) for c in "abracadabra"]
    found, at = 0, 0
    while at < n:
        if codes[at % 11] == 97:
            found += 1
        at += 1
    return found


def divided(n: int) -> int:
    total = 0
    for k in range(n):
        try:
            total += 100 // (k % 7)
        except ZeroDivisionError as error:
            total -= int(str(error) != "")
    return total


def divided_if(n: int) -> int:
    total = 0
    for k in range(n):
        if k % 7 != 0:
            total += 100 // (k % 7)
        else:
            total -= 1
    return total


class Point:
    def __init__(self, x: float) -> None:
        self.x = x

    def __eq__(self, other: Point) -> bool:  # type: ignore[override]
        return self.x == other.x


def points(n: int) -> int:
    made = [Point(0.5 * k) for k in range(10)]
    total = 0
    for k in range(n):
        total += int(Point(0.25 * (k % 10)) in made)
    return total


def compared(n: int) -> int:
    made = [Point(0.5 * k) for k in range(10)]
    total = 0
    for k in range(n):
        sought = Point(0.25 * (k % 10))
        for point in made:
            if point == sought:
                total += 1
    return total


class Sized:
    def __init__(self, x: Tensor) -> None:
        self.x = [x]


def sizes(n: int) -> int:
    made = [Sized(flambeau.ones(2)), Sized(flambeau.ones(3))]
    total, last = 0, made[0]
    for k in range(n):
        last = made[k % 2]
        total += last.x[0].shape[0]
    return total + last.x[0].shape[0]


class Long:
    def __init__(self, size: int) -> None:
        self.size = size


def known_sizes(n: int) -> int:
    made = [Long(2), Long(3)]
    total, last = 0, made[0]
    for k in range(n):
        last = made[k % 2]
        total += last.size
    return total + last.size


PAIRS: dict[str, tuple[Callable[[int], Any], str, str, Callable[[int], Any]]] = {
    "dict": (counted, "a dict has no native form unless", "counts.get(i, 0)", counted_in_a_list),
    "set": (kinds, "a set has no native form unless", "seen.add", kinds_in_a_list),
    "text": (letters, "text has a native form as far as", "text[at].title()", letters_as_numbers),
    "try": (divided, "a `try` block whose exception is looked at", "try:", divided_if),
    "objects": (points, "`contains` has no native form on objects", "in made", compared),
    "attributes": (sizes, "attribute x of class Sized is a List[Tensor]", "Sized(flambeau.ones(2))", known_sizes),
}


@pytest.mark.parametrize("name", PAIRS)
def test_c17_a_hot_loop_that_is_interpreted_is_warned_of_once(name: str) -> None:
    python, why, where, cured = PAIRS[name]
    function = flambeau.script(python)
    function(HOT // 2)
    with pytest.warns(PerformanceWarning) as caught:
        result = function(MANY)
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith(f"{python.__name__}: this loop is interpreted: {why}")
    assert "Instead, " in text
    marked = text.splitlines()[:-1]
    underlined = next(k for k, line in enumerate(marked) if "<--- HERE" in line)
    assert where in marked[underlined - 1]
    assert warning.filename == __file__
    assert "for " in _line(warning.lineno) or "while " in _line(warning.lineno)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(MANY) == result
    assert str(function.explain()).splitlines()[1].startswith(f"  slow: this loop is interpreted: {why}"[:90])
    replaced = flambeau.script(cured)
    for _ in range(CALLS):
        assert replaced(MANY) == pytest.approx(result)
    assert_native(replaced)


def _line(number: int) -> str:
    with open(__file__) as file:
        return file.read().splitlines()[number - 1]


def remembered(n: int, known: dict[float, int]) -> int:
    if n < 2:
        return n
    if 0.5 in known:
        return known[0.5]
    return remembered(n - 1, known) + remembered(n - 2, known)


def test_c17_hot_recursion_that_is_interpreted_is_warned_of() -> None:
    function = flambeau.script(remembered)
    function(8, {})
    with pytest.warns(PerformanceWarning, match="remembered: this recursion is interpreted: a dict has no"):
        assert function(20, {}) == 6765
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(20, {})


class Tree(flambeau.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.leaves = 1

    def walk(self, depth: int) -> int:
        if depth == 0:
            return self.leaves
        return self.walk(depth - 1) + self.walk(depth - 1)

    def forward(self, depth: int) -> int:
        return self.walk(depth)


def walk_outside(depth: int, leaves: int) -> int:
    if depth == 0:
        return leaves
    return walk_outside(depth - 1, leaves) + walk_outside(depth - 1, leaves)


def test_c17_a_method_that_calls_itself_is_better_a_function() -> None:
    module = flambeau.script(Tree())
    module(2)
    with pytest.warns(PerformanceWarning, match=r"a method that calls itself .*function outside of"):
        assert module(14) == 1 << 14
    function = flambeau.script(walk_outside)
    for _ in range(CALLS):
        assert function(14, 1) == 1 << 14
    assert_native(function)


def test_c17_what_runs_seldom_is_not_worth_a_word() -> None:
    function = flambeau.script(counted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            function(HOT // 10)


def test_c17_what_is_meant_to_be_interpreted_is_not_warned_of() -> None:
    for backend in ("interpreter", "reference"):
        function = flambeau.script(backend=backend)(counted)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            function(MANY if backend == "interpreter" else 100)


def test_c17_the_warning_can_be_an_error_or_silenced_by_name() -> None:
    def halves(n: int) -> int:
        known = {0.5: 0}
        for k in range(n):
            known[0.5] = k // 2
        return known[0.5]

    def thirds(n: int) -> int:
        known = {0.5: 0}
        for k in range(n):
            known[0.5] = k // 3
        return known[0.5]

    function, other = flambeau.script(halves), flambeau.script(thirds)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PerformanceWarning)
        with pytest.raises(PerformanceWarning, match="halves: this loop"):
            function(MANY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "thirds: ", PerformanceWarning)
        assert other(MANY) == thirds(MANY)


def grouped(x: Tensor, n: int) -> tuple[float, int]:
    names: dict[float, int] = {}
    for k in range(len(x) + 2):
        names[0.5 * k] = k
    total = 0.0
    for _ in range(n):
        total += float(x[_ % 3])
    return total, len(names)


def test_c17_native_loops_of_interpreted_functions_are_not_warned_of() -> None:
    function = flambeau.script(grouped)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(CALLS):
            function(flambeau.ones(3), MANY)
    assert "slow: this loop is interpreted: " in str(function.explain())


def lengths(n: int) -> float:
    total = 0.0
    for k in range(n):
        total = total * 0.5 + k
    for k in range(n):
        total += math.fsum([k % 3 + 0.5, 2.0])
    return total


def lengths_by_a_table(n: int) -> float:
    table = [float(math.fsum([k + 0.5, 2.0])) for k in range(3)]
    total = 0.0
    for k in range(n):
        total = total * 0.5 + k
    for k in range(n):
        total += table[k % 3]
    return total


def test_c17_what_native_code_has_python_run_in_loops_is_warned_of() -> None:
    function = flambeau.script(lengths)
    with pytest.warns(PerformanceWarning) as caught:
        expected = function(MANY)
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith("lengths: what stands here is interpreted: `fsum` has no native form")
    assert "Instead, apply it to whole tensors outside of the loop" in text
    assert "math.fsum([k % 3 + 0.5, 2.0])" in _line(warning.lineno)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(MANY)
        replaced = flambeau.script(lengths_by_a_table)
        for _ in range(CALLS):
            assert replaced(MANY) == pytest.approx(expected)
    assert_native(replaced)


def squares(n: int) -> list[int]:
    return [k * k for k in range(n)]


def test_c17_native_functions_say_nothing_of_the_sort() -> None:
    function = flambeau.script(squares)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(CALLS):
            function(MANY)
    assert "slow:" not in str(function.explain())
