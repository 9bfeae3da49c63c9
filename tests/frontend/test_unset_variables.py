"""Variables that a loop binds, read behind it: as in CPython, with its error where they have no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

total = 77.0


def broken_off(n: int) -> int:
    for i in range(n):
        if i * i > 50:
            break
    return i


def several(n: int) -> float:
    for i in range(n):
        x = i * 0.5
        for total in range(i):
            y = x + total
    return x + y + i + total


def found(x: list[int], wanted: int) -> int:
    for k, v in enumerate(x):
        if v == wanted:
            place = k
            break
    return place


def counted_down(n: int) -> int:
    while n > 3:
        n -= 1
        last = n * 2
    return last


def again(n: int) -> int:
    for k in range(n):
        n += k
    for i in range(k, 10):
        n += i
    return i + n


def last_row(x: np.ndarray) -> np.ndarray:
    for row in x:
        y = row * 2
    return y


def last_list(n: int) -> list[int]:
    for i in range(n):
        xs = []
        xs.append(i)
    return xs


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (broken_off, (20,)), (broken_off, (0,)), (several, (4,)), (several, (1,)), (several, (0,)),
    (found, ([1, 2, 3], 3)), (found, ([1], 9)), (counted_down, (6,)), (counted_down, (2,)),
    (again, (5,)), (again, (0,)),
    (last_row, (np.ones((3, 2)),)),
    (last_row, (np.ones((0, 2)),)), (last_list, (3,)), (last_list, (0,)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), CASES)
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_variables_of_loops_are_there_behind_them(
    function: Callable[..., Any], arguments: tuple[Any, ...], backend: str
) -> None:
    scripted = flambeau.script(function, backend=backend)
    try:
        expected = function(*arguments)
    except UnboundLocalError as error:
        for _ in range(2):
            with pytest.raises(UnboundLocalError, match=str(error)):
                scripted(*arguments)
        return
    for _ in range(2):
        np.testing.assert_equal(scripted(*arguments), expected)


def test_the_variable_of_a_comprehension_stays_its_own() -> None:
    def inner(n: int) -> tuple[list[int], float]:
        return [total + 1 for total in range(n)], total

    assert flambeau.script(inner)(3) == ([1, 2, 3], 77.0)


def test_two_types_are_refused_with_what_to_write() -> None:
    def two(n: int) -> float:
        for _ in range(n):
            x = 1
        for _ in range(n):
            x = 2.5
        return x

    with pytest.raises(CompileError, match="undefined value x: loops above bind it") as caught:
        flambeau.script(two)
    assert "return x" in str(caught.value)
