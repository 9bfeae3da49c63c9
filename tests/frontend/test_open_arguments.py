"""Items of lists whose items are not known yet, given to functions that say no types: they say nothing of the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau


def hull(x: np.ndarray, y: np.ndarray):
    points = sorted(zip(x.tolist(), y.tolist()))  # noqa: B905

    def turn(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    lower = []
    for p in points:
        while len(lower) >= 2 and turn(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    return lower


def sorted_by_merging(items: list[int]):
    def ordered(items):
        if len(items) <= 1:
            return items
        middle = len(items) // 2
        left, right = ordered(items[:middle]), ordered(items[middle:])
        out = []
        i = j = 0
        while i < len(left) and j < len(right):
            if left[i] <= right[j]:
                out.append(left[i])
                i += 1
            else:
                out.append(right[j])
                j += 1
        return out + left[i:] + right[j:]

    return ordered(items)


def between(a, b, t):
    return a + (b - a) * t


def smoothed(items, n):
    out = []
    for i in range(n):
        v = items[i]
        if len(out) > 1:
            v = between(out[-1], out[-2], 0.5)
        out.append(v * 2)
    return out


NUMBERS = np.random.default_rng(0).random((2, 40))
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (hull, (NUMBERS[0], NUMBERS[1])), (sorted_by_merging, ([5, 2, 9, 2, 7, -1, 0],)),
    (smoothed, ([1.0, 2.0, 3.0, 4.0], 4)),
]  # fmt: skip


@pytest.mark.parametrize(("program", "arguments"), CASES, ids=[program.__name__ for program, _ in CASES])
def test_what_is_put_in_later_tells(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert flambeau.script(program)(*arguments) == program(*arguments)
