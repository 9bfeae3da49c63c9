"""`itertools.product`, `combinations` and `permutations` in programs: as Python's, in loops and as lists."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError

X, Y = np.array([0.5, -2.0, 3.0, 4.5]), np.array([1.0, 7.0])


def of_ranges(n, m):
    s = 0
    for i, j in itertools.product(range(n), range(m)):
        if j > i:
            continue
        if i * j > 20:
            break
        s += i * 10 + j
    return s


def of_arrays(x, y):
    s = 0.0
    for a, b in product(x, y):
        s = s * 0.5 + a * b
    return s


def triples(n):
    s = 0
    for a, b, c in product(range(1, n), repeat=3):
        if a * a + b * b == c * c:
            s += a
    return s


def singles(x):
    return [a for (a,) in product(x)]


def pairs(x):
    best, least = (0, 0), 1e9
    for i, j in combinations(range(len(x)), 2):
        distance = abs(x[i] - x[j])
        if distance < least:
            least, best = distance, (i, j)
    return best


def of_items(x):
    s = 0.0
    for a, b, c in combinations(x, 3):
        s = s * 0.5 + a * b - c
    return s


def of_indexes(n):
    return [(a, b, c) for a, b, c in combinations(range(n), r=3)]


def orders(x):
    return [a - 2 * b for a, b in permutations(x, 2)]


def orders_of_three(n):
    return list(permutations(range(n), 3))


def changed(n):
    items = [1, 2, n]
    s = 0
    for a, b in combinations(items, 2):
        items.append(a)
        s += a * b
    return s, len(items)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (of_ranges, (5, 6)), (of_ranges, (0, 3)), (of_arrays, (X, Y)), (triples, (14,)), (singles, (X,)),
        (pairs, (X,)), (of_items, (X,)), (of_items, (Y,)), (of_indexes, (5,)), (of_indexes, (2,)), (orders, (X,)),
        (orders_of_three, (4,)), (changed, (3,)),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)  # fmt: skip
def test_as_in_python(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    scripted = flambeau.script(program)
    for _ in range(3):
        assert scripted(*arguments) == program(*arguments)
    assert "interpreted" not in str(scripted.explain())


def test_what_is_not_written_out_is_refused() -> None:
    def of_any(x):
        return list(combinations(x))

    def four(n):
        return list(product(range(n), range(n), range(n), range(n)))

    with pytest.raises(CompileError, match=r"itertools.combinations takes what it picks from, and how many, in"):
        flambeau.script(of_any)(X)
    with pytest.raises(CompileError, match=r"itertools.product takes one to 3 things to go over, or repeat=2"):
        flambeau.script(four)(3)
