"""`itertools` beyond products and combinations, and `max(x, key=f)`, give what Python gives, native and interpreted."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from tests.codegen.graph.one_meaning import assert_native


def sums(xs: list[int]):
    more = list(itertools.accumulate(xs, initial=10)), max(itertools.accumulate([1, *xs]))
    return list(itertools.accumulate(xs)), more


def by_functions(xs: list[int]):
    halves = list(itertools.accumulate(xs, lambda a, b: 0.5 * a + b, initial=0.0))
    return list(itertools.accumulate(xs, max)), list(itertools.accumulate(xs, operator.mul, initial=2)), halves


def left_early(xs: list[int]):
    total = 0
    for k, v in enumerate(itertools.accumulate((x * x for x in xs), lambda a, b: a + 2 * b)):
        total += k * v
        if total > 40:
            break
    rest = [a - b for a, b in zip(itertools.accumulate(xs), xs)]  # noqa: B905
    return total, rest, any(v > 6 for v in itertools.accumulate(xs))


def behind_each_other(xs: list[int]):
    total = 0
    for k, v in enumerate(itertools.chain(xs, (i * i for i in xs))):
        if k == 6:
            break
        total += v * (k + 1)
    return total, list(itertools.chain(xs, range(3), xs[1:])), sum(itertools.chain.from_iterable([xs, [7], xs[1:]]))


def slices(xs: list[int]):
    some = list(itertools.islice(xs, 2)), list(itertools.islice(xs, 1, None)), list(itertools.islice(xs, 1, 4, 2))
    asked = 0
    for v in itertools.islice((x + 1 for x in xs), 1, 3):
        asked += v
    none, whole = list(itertools.islice(xs, 0)), list(itertools.islice(xs, None))
    return some, asked, none, whole, list(itertools.islice(xs, 1, 9, 3))


def neighbours(xs: list[int]):
    groups = [(k, sum(g)) for k, g in itertools.groupby(sorted(xs), key=lambda v: v % 2)]
    return [b - a for a, b in itertools.pairwise(xs)], [(k, len(list(g))) for k, g in itertools.groupby(xs)], groups


def picked(xs: list[int]):
    ends = list(itertools.takewhile(lambda v: v != 4, xs)), list(itertools.dropwhile(lambda v: v != 4, xs))
    return ends, list(itertools.filterfalse(lambda v: v % 2, xs)), list(itertools.compress(xs, [1, 0, 1, 1]))


def of_array(x: np.ndarray):
    out = np.empty(len(x))
    for k, v in enumerate(itertools.accumulate(x)):
        out[k] = v
    return out.tolist()


def places(xs: list[float]):
    if not xs:
        return -1, 0.0, 0.0
    first = max(xs, key=lambda v: v > 0.5)
    return max(range(len(xs)), key=lambda i: abs(xs[i] - 0.5)), min(xs, key=lambda v: -v), first


def of_tuples(xs: list[float]):
    pairs = [(k % 3, v) for k, v in enumerate(xs)]
    best = max(pairs, key=lambda p: (p[0], -p[1]), default=(9, 9.0))
    return best, min(pairs, key=lambda p: p[1], default=(8, 8.0))


INTS: list[Any] = [[], [3], [3, 1, 4, 1, 5]]
FLOATS: list[Any] = [[0.25], [0.9, 0.1, 0.9], [math.nan, 1.0, 3.0, math.nan, -0.0, 0.0], [1.0, math.nan]]
CASES = [(fn, xs) for fn in (sums, by_functions, left_early, behind_each_other) for xs in INTS]
CASES += [(fn, xs) for fn in (slices, neighbours, picked) for xs in INTS]
CASES += [(fn, xs) for fn in (places, of_tuples) for xs in [[], *FLOATS]]
CASES += [(of_array, np.array(xs)) for xs in FLOATS]


@pytest.mark.parametrize(("program", "items"), CASES)
def test_results_are_those_of_python(program: Callable[..., Any], items: Any) -> None:
    wanted = repr(program(items))
    for options in ({}, {"backend": "interpreter"}):
        function = flambeau.script(program, **options)
        for _ in range(2):
            assert repr(function(items)) == wanted


def test_largest_by_keys_are_native() -> None:
    function = flambeau.script(places)
    for _ in range(3):
        function([0.5, 0.25])
    assert_native(function)


def test_nothing_has_no_largest() -> None:
    def largest(xs: list[float]) -> float:
        return max(xs, key=lambda v: -v)

    def least(xs: list[float]) -> float:
        return min(xs, key=lambda v: -v)

    for program in (largest, least):
        with pytest.raises(ValueError) as theirs:  # noqa: PT011
            program([])
        with pytest.raises(ValueError, match=str(theirs.value).replace("(", r"\(").replace(")", r"\)")):
            flambeau.script(program)([])


def test_slices_refuse_what_python_refuses() -> None:
    def below(xs: list[int], n: int):
        return list(itertools.islice(xs, n))

    def without_step(xs: list[int], n: int):
        return list(itertools.islice(xs, 0, 3, n))

    for program, n in ((below, -1), (below, -2), (without_step, 0), (without_step, -2)):
        with pytest.raises(ValueError) as theirs:  # noqa: PT011
            program([1, 2], n)
        with pytest.raises(ValueError, match=str(theirs.value).replace("(", r"\(").replace(")", r"\)")):
            flambeau.script(program)([1, 2], n)
