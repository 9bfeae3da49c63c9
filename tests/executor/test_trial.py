"""Programs that native code has Python run parts of: the quicker way serves them in the end."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.codegen import available
from flambeau.executor.trial import CALLS, MACHINE_CALLS, SKIPPED, Trial

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
WORDS = """
def f(text: str, n: int) -> Dict[str, int]:
    counts: Dict[str, int] = {}
    for word in text.strip().split(" "):
        counts[word] = counts[word] + 1 if word in counts else n
    return counts
"""


def test_what_asks_little_stays_native() -> None:
    trial = Trial()
    for _ in range(CALLS):
        assert not trial.tries_machine
        trial.native_took(asked=1e-6, whole=100e-6)
    assert (trial.is_on, trial.is_lost, trial.tries_machine) == (False, False, False)


def test_first_calls_are_not_looked_at() -> None:
    trial = Trial()
    for _ in range(SKIPPED):
        trial.native_took(asked=1.0, whole=1.0)
    for _ in range(CALLS - SKIPPED):
        trial.native_took(asked=1e-6, whole=100e-6)
    assert not trial.is_on


@pytest.mark.parametrize(("machine", "is_lost"), [(20e-6, True), (95e-6, True), (200e-6, False)])
def test_the_quicker_way_wins(machine: float, is_lost: bool) -> None:
    trial = Trial()
    for _ in range(CALLS):
        trial.native_took(asked=90e-6, whole=100e-6)
    for _ in range(MACHINE_CALLS):
        assert trial.tries_machine
        trial.machine_took(machine)
    assert (trial.is_on, trial.is_lost) == (False, is_lost)


def test_a_machine_that_takes_much_longer_is_tried_once() -> None:
    trial = Trial()
    for _ in range(CALLS):
        trial.native_took(asked=90e-6, whole=100e-6)
    trial.machine_took(1.0)
    assert (trial.is_on, trial.is_lost) == (False, False)


def test_answers_are_the_same_on_the_way() -> None:
    function: Any = flambeau.CompilationUnit(WORDS).f
    text = " to be or not to be "
    for _ in range(CALLS + MACHINE_CALLS + 6):
        assert function(text, 1) == {"to": 2, "be": 2, "or": 1, "not": 1}
    assert function("a a b", 5) == {"a": 6, "b": 5}


def test_what_is_copied_for_python_counts_as_well() -> None:
    """A list that a call of Python changes is copied there and back: the machine, which changes it, is quicker."""
    source = """
def f(items: List[float]) -> float:
    total = 0.0
    for i in range(len(items)):
        total += items[i] * i
    items.remove(items[0])
    return total + len(items)
"""
    function: Any = flambeau.CompilationUnit(source).f
    items = [float(i) for i in range(20)]
    expected = sum(i * i for i in items) + 19
    for _ in range(CALLS + MACHINE_CALLS + 120):
        assert function(items) == expected
    (compilation,) = function.explain(measure=False).compilations
    assert compilation.state == "native in parts, interpreted between them"
    long = list(range(5000))
    assert function(long) == sum(i * i for i in long) + 4999
