"""`min` and `max` of tuples of numbers, and of bools: those of Python, in native code."""

from __future__ import annotations

import random

import pytest

import flambeau
from flambeau.util.errors import ScriptError

NAN, INF = float("nan"), float("inf")


def bests(xs: list[tuple[int, float]]) -> tuple[tuple[int, float], tuple[int, float], tuple[int, float]]:
    best = least = (2, 0.5)
    for x in xs:
        best = max(best, x)
        least = min(x, least, xs[-1])
    return best, least, max(xs)


def flags(xs: list[int], given: bool) -> tuple[bool, bool]:
    some, each = False, True
    for x in xs:
        some = max(some, x > 3)
        each = min(each, given, x < 5)
    return some, each


def test_the_first_of_equal_tuples_is_taken_also_with_nan() -> None:
    scripted = flambeau.script(bests)
    rng = random.Random(0)
    for k in range(40):
        parts = (NAN, 0.5, -0.0, 0.0, INF, -INF, 1.0)
        xs = [(rng.randint(0, 4), rng.choice(parts)) for _ in range(1 + k % 13)]
        assert repr(scripted(xs)) == repr(bests(xs)), xs
    assert "native from end to end" in str(scripted.explain())


def test_of_no_tuples_there_is_no_greatest() -> None:
    @flambeau.script
    def greatest(xs: list[tuple[int, int]]) -> tuple[int, int]:
        return max(xs)

    assert greatest([(1, 2), (1, 3)]) == (1, 3)
    with pytest.raises((ScriptError, ValueError), match="empty"):
        greatest([])


def test_extremes_of_bools_are_bools() -> None:
    scripted = flambeau.script(flags)
    for xs in ([], [1], [4], [5, 1], [3, 4, 7]):
        for given in (True, False):
            assert repr(scripted(xs, given)) == repr(flags(xs, given))
