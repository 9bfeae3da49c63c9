"""Functions without annotations, called with lists, dicts and texts of Python: compiled for what they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau


def total(xs):
    return sum(xs)


def first(xs):
    return len(xs), xs[0]


def weighted(x, ws):
    t = 0.0
    for w in ws:
        t += w * x[1]
    return t


def picked(x, places):
    return x[places]


def looked_up(x, table):
    for key in table:
        x = x + table[key]
    return x


def smallest(xs, x):
    return sorted(xs)[0] + total(xs) + x


X = np.arange(3.0)
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (total, ([1, 2],)), (total, ([1.5, 2.0],)), (total, ([True, False],)), (first, ([[1, 2], [3]],)), (first, (["a"],)),
    (first, ("abc",)), (first, ((1, 2.5),)), (first, ([(1, "b")],)), (first, ({0: 2.5},)), (weighted, (X, [1, 2])),
    (weighted, (X, [1.5, 2.0])), (weighted, (X, (1, 2.5))), (picked, (X, [2, 0])),
    (looked_up, (X, {"a": 1.5, "b": 2.0})), (smallest, ([2.0, 1.0], X)), (smallest, ([2, 1], 3)),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "arguments"), CALLS)
def test_containers_and_texts_are_taken_for_what_they_hold(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    scripted = flambeau.script(fn)
    for _ in range(3):
        result, expected = scripted(*arguments), fn(*arguments)
        assert type(result) is type(expected) or isinstance(expected, np.generic)
        assert np.array_equal(result, expected) if isinstance(expected, np.ndarray) else result == expected


def test_a_list_of_ints_and_floats_is_none_of_numbers() -> None:
    with pytest.raises(TypeError, match="for argument 'ws' but instead found type 'list'"):
        flambeau.script(weighted)(X, [1, 2.5])
