"""Calls with objects that only numbers are in: the memory of a call is used again, and nobody can tell."""

from __future__ import annotations

import math
import resource
import threading
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau.codegen.graph.objects.object_entry import ObjectEntry


class Point:
    def __init__(self, x: float, n: int, is_up: bool) -> None:
        self.x = x
        self.n = n
        self.is_up = is_up


class Slotted:
    __slots__ = ("__key", "x")

    def __init__(self, x: float) -> None:
        self.x = x
        self.__key = 1

    def turn(self, by: int) -> int:
        self.__key = self.__key * 3 + by
        self.x = -self.x
        return self.__key


def move(p: Point, q: Point, by: float) -> float:
    p.x += by
    p.n += q.n
    q.is_up = not p.is_up
    return q.x * 2.0


def swap(p: Point, q: Point, by: float) -> tuple[Point, Point, float]:
    p.x, q.x = q.x, p.x
    return q, p, by


def pick(p: Point, q: Point, by: float) -> Point:
    return p if by > p.x else q


def make(p: Point, q: Point, by: float) -> Point:
    p.n = -p.n
    return Point(by, q.n, by > 0.0)


def rest(p: Point, q: Point, by: float) -> None:
    p.x = q.x + by


def fail(p: Point, q: Point, by: float) -> int:
    p.x = by
    if by < 0.0:
        raise ValueError(f"{p.x} {q.n} is below")
    q.n = 100 // (p.n - 3)
    return q.n


PROGRAMS: tuple[Callable[[Point, Point, float], Any], ...] = (move, swap, pick, make, rest, fail)
VALUES = (1.5, -0.0, math.nan, math.inf, -2.0, 1e308)


def entries(scripted: Any) -> list[ObjectEntry]:
    """The entries of all plans of a function."""
    of_plans = [e for plan in scripted._executor.plans if plan.compiled is not None for e in plan.compiled._entries]
    return [e for e in of_plans if isinstance(e, ObjectEntry)]


def shown(value: Any, points: list[Point]) -> Any:
    """A value in which the points of a call are told by their numbers."""
    if isinstance(value, tuple):
        return [shown(item, points) for item in value]
    if isinstance(value, Point):
        known = [k for k, point in enumerate(points) if point is value]
        return known or [repr(value.x), value.n, value.is_up]
    return repr(value)


def outcome(call: Callable[..., Any], same: bool, x: float, n: int, by: float) -> Any:
    """What comes back, or is raised, and what has become of the points."""
    first = Point(x, n, n % 2 == 0)
    second = first if same else Point(by, n + 1, True)
    points = [first, second]
    try:
        result = shown(call(first, second, by), points)
    except (ValueError, ZeroDivisionError) as error:
        result = type(error).__name__
    return result, [(repr(p.x), p.n, p.is_up) for p in points]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a1_objects_are_what_they_are_in_python(program: Callable[..., Any]) -> None:
    scripted = flambeau.script(program)
    for _ in range(4):
        scripted(Point(1.0, 2, True), Point(1.0, 2, True), 0.5)
    for same in (False, True):
        for k, x in enumerate(VALUES):
            for by in VALUES:
                assert outcome(scripted, same, x, k, by) == outcome(program, same, x, k, by)
    (entry,) = entries(scripted)
    assert entry.served >= 2 * len(VALUES) ** 2


def test_a2_what_was_raised_names_what_it_read() -> None:
    scripted = flambeau.script(fail)
    for x in (1.0, 2.0, 3.0):
        scripted(Point(x, 7, True), Point(x, 7, True), x)
    p = Point(1.0, 5, True)
    with pytest.raises(ValueError, match=r"-4\.5 8 is below"):
        scripted(p, Point(1.0, 8, True), -4.5)
    assert p.x == -4.5
    with pytest.raises(ZeroDivisionError):
        scripted(Point(1.0, 3, True), p, 4.0)
    assert scripted(Point(1.0, 5, True), p, 4.0) == 50 == p.n


def test_a3_other_values_go_the_long_way_or_are_refused() -> None:
    scripted = flambeau.script(move)
    p, q = Point(1.0, 2, True), Point(2.0, 3, False)
    for _ in range(5):
        scripted(p, q, 0.5)
    (entry,) = entries(scripted)
    served = entry.served
    p.x, p.n = 0.5, 1
    assert scripted(p, q, 2) == 4.0  # an int is a float
    assert (p.x, entry.served) == (2.5, served + 1)
    q.n = 1 << 64
    with pytest.raises(Exception, match="attribute 'n' to type int: 18446744073709551616"):
        scripted(p, q, 1.0)
    with pytest.raises(Exception, match=r"attribute 'n' to type int: '5' \(str\) is no int"):
        scripted(p, Point(1.0, "5", True), 1.0)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="Point"):
        scripted(p, 1.0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="by"):
        scripted(p, q)  # type: ignore[call-arg]
    lost = Point(1.0, 1, True)
    del lost.n
    with pytest.raises(Exception, match=r"missing attribute n: class .*Point assigns it in __init__"):
        scripted(p, lost, 1.0)
    assert entry.served == served + 1
    assert scripted(p, Point(7.0, 1, True), 1.0) == 14.0
    assert entry.served == served + 2


def test_a4_slots_and_private_names() -> None:
    scripted, plain = flambeau.script(turn), turn
    one, other = Slotted(1.5), Slotted(1.5)
    for k in range(8):
        assert scripted(one, k) == plain(other, k)
        assert one.x == other.x
    (entry,) = entries(scripted)
    assert entry.served >= 4


def turn(one: Slotted, by: int) -> int:
    return one.turn(by) + 1


def test_a5_memory_does_not_grow() -> None:
    made, moved = flambeau.script(make), flambeau.script(move)
    p, q = Point(1.0, 2, True), Point(2.0, 3, False)
    for _ in range(300):
        made(p, q, 1.0)
        moved(p, q, 1.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        made(p, q, 1.0)
        p.n = 0
        moved(p, q, 1.0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4_000


def count(p: Point, times: int) -> int:
    for k in range(times):
        p.n = (p.n * 3 + k) % 1_000_003
    return p.n


def test_a6_threads_have_memory_of_their_own() -> None:
    scripted = flambeau.script(count)
    for _ in range(4):
        scripted(Point(0.0, 1, True), 3)
    expected = [count(Point(0.0, k, True), 20_000) for k in range(4)]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(30):
            p = Point(0.0, k, True)
            if scripted(p, 20_000) != expected[k] or p.n != expected[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert entries(scripted)[0].served >= 120


def total(points: list[Point], p: Point, weights: list[float], by: int) -> float:
    result = 0.0
    for k, one in enumerate(points):
        result += one.x * weights[k % len(weights)]
        one.n += by
        if one is p:
            one.is_up = not one.is_up
            one.x = -one.x
    return result


def largest(points: list[Point], p: Point, weights: list[float], by: int) -> Point:
    best = p
    for one in points:
        if one.n > best.n:
            best = one
    weights[0] = 2.0
    points.append(Point(1.0, by, True))
    points[0].x = weights[0] + points[-1].n
    return best


def stop_at(points: list[Point], p: Point, weights: list[float], by: int) -> int:
    for k, one in enumerate(points):
        one.n = by // one.n
        if one.x > weights[k % len(weights)]:
            raise ValueError(f"{one.x}")
    return len(points)


@pytest.mark.parametrize("program", [total, largest, stop_at], ids=lambda p: p.__name__)
def test_a7_lists_of_objects_and_of_numbers(program: Callable[..., Any]) -> None:
    scripted = flambeau.script(program)

    def result_of(call: Callable[..., Any], order: list[int], x: float, by: int) -> Any:
        points = [Point(x * k, 3 - k, k % 2 == 0) for k in range(5)]
        items, weights = [points[k] for k in order], [x, 0.5, -0.0]
        before = len(items)
        try:
            result = shown(call(items, points[1], weights, by), points)
        except (ValueError, ZeroDivisionError) as error:
            result = type(error).__name__
        if call is scripted:
            assert (len(items), weights[0]) == (before, x) or math.isnan(x)
        return result, [(repr(p.x), p.n, p.is_up) for p in points]

    for _ in range(2):
        for order in ([0, 1, 2], [1, 1, 4, 1], [2], [4, 3, 2, 1, 0, 0]):
            for x in (1.0, -2.5, math.inf):
                for by in (1, -7):
                    assert result_of(scripted, order, x, by) == result_of(program, order, x, by)
    (entry,) = entries(scripted)
    assert entry.served > 40


def test_a8_lists_with_other_items_go_the_long_way_or_are_refused() -> None:
    scripted = flambeau.script(total)
    p = Point(1.0, 2, True)
    for _ in range(4):
        assert math.isfinite(scripted([p], p, [1.0], 1))
    (entry,) = entries(scripted)
    served, p.x = entry.served, 3.0
    assert scripted([p, p], p, [1, 2], 1) == 3.0 - 6.0
    assert scripted([], p, [], 1) == 0.0
    assert scripted((p,), p, (1.0, 2.0), 1) == 3.0  # type: ignore[arg-type]
    with pytest.raises(Exception, match="points"):
        scripted([p, None], p, [1.0], 1)  # type: ignore[list-item]
    with pytest.raises(Exception, match="'n' to type int: 9223372036854775808"):
        scripted([Point(1.0, 1 << 63, True)], p, [1.0], 1)
    with pytest.raises(Exception, match=r"'x' to type float: 'a' \(str\)"):
        scripted([Point("a", 1, True)], p, [1.0], 1)  # type: ignore[arg-type]
    assert entry.served == served + 3  # two of the calls after conversion


def step(p: Point, by: float = 2.0, times: int = 1) -> float:
    for _ in range(times):
        p.x = p.x * 0.5 + by
    return p.x


def test_a9_calls_with_names_and_defaults_come_there_too() -> None:
    scripted = flambeau.script(step)
    p, q = Point(1.0, 2, True), Point(1.0, 2, True)
    for k in range(6):
        assert scripted(p) == step(q)
        assert scripted(p, times=k) == step(q, times=k)
        assert scripted(p, float(k)) == step(q, float(k))
    (entry,) = entries(scripted)
    assert entry.served >= 15
