"""Elements of arrays in loops that are interpreted: read without tensors, with the same answers and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.executor import element_reads


def counts(xs: np.ndarray) -> dict[float, int]:
    found: dict[float, int] = {}
    for x in xs:
        found[x * 0.5] = found.get(x * 0.5, 0) + 1
    return found


def steps(grid: np.ndarray) -> dict[float, float]:
    found: dict[float, float] = {}
    for i in range(grid.shape[0]):
        for j in range(-1, grid.shape[1] - 1):
            found[i * 1.0] = found.get(i * 1.0, 0.0) + grid[i, j] * j
    return found


def whole(xs: np.ndarray) -> dict[float, int]:
    found: dict[float, int] = {}
    for k in range(len(xs)):
        found[k * 1.0] = int(xs[k])
    return found


CASES: list[tuple[Callable[..., Any], Any]] = [
    (counts, np.array([3, 1, 3, 2, 1, 3])), (counts, np.array([3, 1, 3], dtype=np.int8)[::-1].copy()),
    (steps, np.arange(6.0).reshape(2, 3)), (steps, np.arange(6.0).reshape(3, 2).T), (whole, np.array([1.5, -2.5])),
]  # fmt: skip


@pytest.mark.parametrize(("function", "array"), CASES)
def test_answers_are_cpythons(function: Callable[..., Any], array: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[int, ...]] = []
    plain = element_reads.ElementReader.__call__
    monkeypatch.setattr(
        element_reads.ElementReader, "__call__", lambda self, x, *at: (read.append(at), plain(self, x, *at))[1]
    )
    scripted = flambeau.script(function)
    expected = {float(k): v for k, v in function(array).items()}
    for _ in range(2):
        assert scripted(array) == expected
    assert read


def test_errors_say_the_place_as_before() -> None:
    def behind(xs: np.ndarray, n: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for k in range(n):
            found[k] = xs[k]
        return found

    scripted = flambeau.script(behind)
    assert scripted(np.array([4, 5]), 2) == {0: 4, 1: 5}
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2") as caught:
        scripted(np.array([4, 5]), 3)
    assert "xs[k]" in str(caught.value)

    def infinite(xs: np.ndarray) -> dict[int, int]:
        found: dict[int, int] = {}
        for k in range(len(xs)):
            found[k] = int(xs[k])
        return found

    with pytest.raises(OverflowError, match="Cannot convert float inf"):
        flambeau.script(infinite)(np.array([1.0, np.inf]))
