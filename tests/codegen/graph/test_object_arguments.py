"""Objects that a program is given: native code works on blocks that stand for them, and nobody can tell."""

from __future__ import annotations

import math
import resource
import signal
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau.executor.object_trial import LOSSES, ObjectTrial
from tests.codegen.graph.one_meaning import assert_native
from tests.codegen.graph.test_objects import shape


class Person:
    def __init__(self, age: int) -> None:
        self.age = age
        self.weight = age / 2.0
        self.name = "p"
        self.is_away = False
        self.friend: Person | None = None
        self.known: list[Person] = []
        self.marks: list[int] = []
        self.rows: list[list[float]] = []
        self.by_name: dict[str, Person] = {}
        self.counts: dict[int, int] = {}
        self.pair: tuple[int, complex] = (age, 1j)

    def meet(self, other: Person) -> int:
        self.known.append(other)
        other.friend = self
        return len(self.known)


def grow_older(one: Person, other: Person, years: int) -> Person:
    for k in range(years):
        one.age += 1
        other.weight *= 1.5
        one.name += "x"
        one.is_away = not one.is_away
        one.marks.append(one.age)
        other.counts[k % 3] = other.counts.get(k % 3, 0) + k
        one.pair = (one.pair[0] + k, one.pair[1] * 2j)
        other.rows.append([one.weight, other.weight])
        if k % 2 == 1:
            other.rows[0].append(0.5)
        one.meet(other)
        one.by_name[other.name] = one
    return one


def pass_on(one: Person, other: Person, years: int) -> Person | None:
    last: Person | None = one
    for k in range(years):
        new = Person(k)
        new.friend = last
        new.known.append(other)
        other.friend = new
        if one is other:
            new.age = -1
        last = new.friend if k % 3 == 2 else new
    one.known, other.known = other.known, one.known
    other.counts = one.counts
    return last


def fail(one: Person, other: Person, years: int) -> int:
    for _ in range(years):
        one.age += 1
        other.marks.append(one.age)
        other.friend = one
        if one.age > 4:
            raise ValueError(f"{one.name} is {one.age}")
    return other.marks[7]


def people() -> list[Person]:
    first, second, third = Person(1), Person(2), Person(3)
    first.friend, second.friend, third.friend = second, third, first
    first.known = second.known = [third, first]
    third.weight, third.name = math.nan, "žluť\U0001f600"
    third.counts, first.by_name = {1: 5, 0: 7}, {"a": third}
    second.rows = [[1.0]]
    second.rows.append(second.rows[0])
    return [first, second, third]


PROGRAMS: tuple[Callable[[Person, Person, int], Any], ...] = (grow_older, pass_on, fail)


def outcome(call: Callable[..., Any], which: tuple[int, int], years: int) -> Any:
    """What comes back, and what has become of everybody."""
    everybody = people()
    try:
        result = call(everybody[which[0]], everybody[which[1]], years)
    except Exception as error:
        result = type(error).__name__
    return shape([result, everybody])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a1_what_a_program_does_to_objects_is_done_to_them(program: Callable[..., Any]) -> None:
    scripted = flambeau.script(program)
    for years in (4, 0, 1, 9):
        for which in ((0, 1), (1, 2), (2, 2)):
            assert outcome(scripted, which, years) == outcome(program, which, years)
    assert_native(scripted)


def test_a2_what_comes_back_is_what_went_in() -> None:
    scripted = flambeau.script(grow_older)
    first, second, third = people()
    marks, known = first.marks, first.known
    assert scripted(first, second, 3) is first
    assert first.marks is marks
    assert first.known is known is second.known
    assert second.friend is first.by_name["p"] is third.friend is first
    assert marks == [2, 3, 4]


class Cell:
    def __init__(self, value: int, behind: Cell | None) -> None:
        self.value = value
        self.behind = behind


def total_of(cell: Cell) -> int:
    total, one = 0, cell
    while True:
        total += one.value
        one.value = -one.value
        behind = one.behind
        if behind is None:
            return total
        one = behind


def test_a3_chains_of_any_length_go_in() -> None:
    scripted = flambeau.script(total_of)
    cell = Cell(0, None)
    for k in range(1, 20_000):
        cell = Cell(k, cell)
    for sign in (1, -1, 1):
        assert scripted(cell) == sign * sum(range(20_000))
    assert_native(scripted)
    assert cell.behind is not None
    last = cell
    while last.behind is not None:
        last = last.behind
    last.value = 1.5  # type: ignore[assignment]
    with pytest.raises(Exception, match=r"Could not cast attribute 'value' to type int: 1.5 \(float\) is no int"):
        scripted(cell)


def count_up(cell: Cell, n: int) -> int:
    for k in range(n):
        cell.value = (cell.value * 3 + k) % 1_000_003
    return cell.value


def test_a4_calls_that_do_little_with_much_are_the_machines() -> None:
    scripted = flambeau.script(count_up)
    cell = Cell(0, None)
    for k in range(3_000):
        cell = Cell(k, cell)
    for _ in range(LOSSES + 1):
        scripted(cell, 1)
    (plan,) = scripted._executor.plans
    assert plan.objects is not None
    assert not plan.objects.is_native
    assert "the machine serves calls like the last ones" in " ".join(str(scripted.explain()).split())
    expected = Cell(cell.value, None)
    assert scripted(cell, 200_000) == count_up(expected, 200_000)
    assert plan.objects.is_native
    assert scripted(cell, 100) == count_up(expected, 100)


def test_a5_memory_does_not_grow() -> None:
    scripted = flambeau.script(pass_on)
    first, second, _ = people()
    scripted(first, second, 3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3_000):
        scripted(first, second, 3)
        second.friend = first.friend = None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


class Bag:
    def __init__(self) -> None:
        self.items: set[int] = set()


def fill(bag: Bag, n: int) -> int:
    for k in range(n):
        bag.items.add(k * k % 7)
    return len(bag.items)


def test_a6_a_set_in_an_object_stays_pythons() -> None:
    scripted = flambeau.script(fill)
    bag = Bag()
    assert scripted(bag, 9) == 4
    assert bag.items == {0, 1, 2, 4}
    assert "a set in an object from outside, whose order Python would see" in " ".join(str(scripted.explain()).split())


def spin(cell: Cell, n: int) -> int:
    total = 0
    for _k in range(n):
        cell.value = (cell.value * 5 + total) % 1_000_003
        total = (total * 3 + cell.value) % 1_000_033
    return total


def test_a7_what_was_done_before_a_signal_is_there() -> None:
    scripted = flambeau.script(spin)
    cell = Cell(1, None)
    scripted(cell, 3)

    def interrupt(*_: object) -> None:
        raise TimeoutError("the alarm")

    before, cell.value = signal.signal(signal.SIGALRM, interrupt), 1
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeoutError):
            scripted(cell, 1 << 50)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert cell.value != 1
    assert_native(scripted)


def test_a8_native_code_is_tried_again_after_ever_more_copying() -> None:
    trial, waits = ObjectTrial(), []
    for _ in range(4):
        calls = 0
        while trial.is_native:
            trial.native_took(copying=1e-3, code=1e-6)
            calls += 1
        waits.append(calls)
        trial.machine_took(1e-3)
        assert not trial.is_native
        trial.machine_took(10e-3)
        assert trial.is_native
    assert waits == [LOSSES, 10, 30, 70]
    trial.native_took(copying=1e-3, code=1.0)
    assert trial.is_native
