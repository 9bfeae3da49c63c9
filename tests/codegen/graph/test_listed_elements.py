"""`x.tolist()` in native code: Python's numbers, of every dtype, layout and rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.util.errors import CompileError

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code here")


def summed(x: np.ndarray):
    total, items = 0, x.tolist()
    for v in items:
        total += v
    return total, items, len(items)


def of_rows(m: np.ndarray):
    rows = m.tolist()
    largest = rows[0][0]
    for row in rows:
        for v in row:
            largest = max(largest, v)
        row.append(largest)
    return largest, rows, m


def counted(k: np.ndarray):
    counts: dict[int, int] = {}
    for v in k.tolist():
        counts[v] = counts.get(v, 0) + 1
    return counts


def three_deep(x: np.ndarray):
    return [len(plane) for plane in x.tolist()], x.tolist()


LINES = [
    np.arange(5), np.arange(9.0)[::2], np.array([True, False, True]), np.arange(4, dtype=np.float32) / 3,
    np.array([], np.int64), np.array([-(2**63), 2**63 - 1]), np.arange(3, dtype=np.uint8), np.array([np.nan, -0.0]),
    np.arange(3, dtype=np.int16),
]  # fmt: skip
CALLS = [
    *((summed, (x,)) for x in LINES), *((counted, (x,)) for x in (np.array([3, 1, 3]), np.arange(40) % 7)),
    *((of_rows, (m,)) for m in (np.arange(6.0).reshape(2, 3), np.arange(12).reshape(4, 3).T, np.ones((3, 1), np.int8))),
    (three_deep, (np.arange(24.0).reshape(2, 3, 4),)), (three_deep, (np.zeros((2, 0, 3)),)),
]  # fmt: skip


@pytest.mark.parametrize(("program", "arguments"), CALLS)
def test_python_gives_the_same(program: Callable[..., Any], arguments: tuple[np.ndarray, ...]) -> None:
    function = flambeau.script(program)
    for own in (arguments, arguments, [x[::-1].copy() for x in arguments], arguments):
        assert repr(function(*own)) == repr(program(*own))
    (compilation,) = function.explain().compilations
    assert not compilation.interpreted


def test_a_list_of_other_numbers_is_refused_as_before() -> None:
    def ints(x: flambeau.Tensor) -> list[int]:
        items: list[int] = x.tolist()
        return items

    function = flambeau.script(ints)
    for _ in range(4):
        assert function(flambeau.tensor([1, 2])) == [1, 2]
        with pytest.raises(RuntimeError, match="element type and runtime tensor element type must match"):
            function(flambeau.tensor([1.0]))
        with pytest.raises(RuntimeError, match="list dimension and runtime tensor dimension must match"):
            function(flambeau.tensor([[1]]))


def test_without_a_rank_it_is_refused() -> None:
    def rank_unknown(x: np.ndarray):
        return np.squeeze(x[None]).tolist()

    with pytest.raises(CompileError, match="how many dimensions this array has is not known here"):
        flambeau.script(rank_unknown)(np.ones(3))
