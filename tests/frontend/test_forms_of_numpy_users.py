"""Forms that users of NumPy and Numba write, compared with CPython on the same source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau


def taken(x, i):
    places = np.take(x, [0, -2]), x.take(np.array([1, -8]))
    return np.take(x, i), np.take(x, -1), places, np.take(x, i, axis=0), np.take(x, 17, mode="wrap")


def taken_of_rows(x, i):
    return np.take(x, i, axis=1), np.take(x, i), x.take(i, axis=0)


def summary(x) -> tuple:
    return x.sum(), x.mean(), len(x)


def listed(x) -> list:
    return [v * 2 for v in x]


def halved(x, n) -> tuple:
    if n == 0:
        return x, n
    return halved(x / 2, n - 1)


def smoothed(x):
    return np.convolve(x, [0.5, 0.5], "same"), np.correlate(x, [1, 2], "full"), np.convolve([1.0, 2.0], x)


def drawn(x):
    np.random.seed(3)
    numbers = np.random.choice([1, 2, 3], p=[0.1, 0.2, 0.7]), np.random.choice(x), np.random.choice([0.5, 2.5], 4)
    generator = np.random.default_rng(1)
    return numbers, generator.choice([1, 2, 3], p=[0.1, 0.2, 0.7]), generator.choice(x, 3)


def neighbours(x):
    around = defaultdict(set)
    for i in range(len(x) - 1):
        around[x[i]].add(x[i + 1])
        around[x[i + 1]].add(x[i])
    return sorted(around.keys()), [len(around[k]) for k in sorted(around.keys())], 3 in around


def summed_by_rest(x):
    sums = defaultdict(lambda: 0.0)
    lists = defaultdict(lambda: [])  # noqa: PIE807
    counts = defaultdict(lambda: 0)
    for v in x:
        sums[v % 3] += v / 2
        lists[v % 2].append(v)
        counts[v % 3] += 1
    return [(k, sums[k], counts[k]) for k in sorted(sums.keys())], lists[1], lists[5]


def matrix_powers(x):
    whole = np.array([[1, 1], [1, 0]])
    high = np.linalg.matrix_power(whole, 80)
    return high, np.linalg.matrix_power(whole, 0), np.linalg.matrix_power(whole.astype(np.int32) * x[1], x[0])


def negative_power(x):
    return np.linalg.matrix_power(np.array([[1, 2], [3, 4]]), -1), np.linalg.matrix_power(np.eye(2) * x[1], 3)


def added_at(x):
    small = x.astype(np.uint8)
    np.add.at(small, np.array([0, 0, 1]), -1)
    np.subtract.at(small, np.array([2, 2]), 300)
    np.add.at(small, np.array([1, 3]), x[3])
    return small


WHOLE = np.array([3, 1, 4, 1, 5, 9, 2, 6])
ROWS = np.arange(12.0).reshape(3, 4)
CALLS: Any = (
    (taken, (WHOLE, 2)), (taken, (WHOLE * 0.5, -3)), (taken_of_rows, (ROWS, 2)), (summary, (WHOLE,)),
    (listed, (WHOLE,)), (halved, (WHOLE / 3, 2)), (smoothed, (WHOLE * 0.5,)), (drawn, (WHOLE,)),
    (neighbours, (WHOLE,)), (summed_by_rest, (WHOLE,)), (matrix_powers, (WHOLE,)), (negative_power, (WHOLE,)),
    (added_at, (WHOLE,)),
)  # fmt: skip


def check_equal(got: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple | list):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            check_equal(one, other)
    elif isinstance(wanted, np.ndarray):
        np.testing.assert_array_equal(got, wanted, strict=True)
    else:
        assert got == wanted


@pytest.mark.filterwarnings("ignore::flambeau.PerformanceWarning")
@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize(("fn", "args"), CALLS, ids=[f"{fn.__name__}-{k}" for k, (fn, _) in enumerate(CALLS)])
def test_forms_give_what_python_gives(fn: Callable[..., Any], args: tuple[Any, ...], backend: Any) -> None:
    if fn is negative_power:
        got, wanted = flambeau.script(fn, backend=backend)(*args), fn(*args)
        np.testing.assert_allclose(got[0], wanted[0], rtol=1e-14)
        check_equal(got[1], wanted[1])
        return
    check_equal(flambeau.script(fn, backend=backend)(*args), fn(*args))


def test_what_numpy_refuses_is_refused() -> None:
    def small(k):
        return np.array([1, k], dtype=np.uint8)

    def pairs(k):
        return np.array([[1, k], [2, 3]], dtype=np.int8)

    for fn, k in ((small, 300), (small, -1), (pairs, 128), (pairs, -129)):
        with pytest.raises(OverflowError, match=f"Python integer {k} out of bounds for"):
            fn(k)
        with pytest.raises(OverflowError, match=f"Python integer {k} out of bounds for"):
            flambeau.script(fn)(k)
    np.testing.assert_array_equal(flambeau.script(pairs)(-128), pairs(-128), strict=True)

    def place(x: np.ndarray, i: int):
        return np.take(x, np.array([0, i]))

    for i in (3, -4):
        with pytest.raises(IndexError, match="out of bounds"):
            flambeau.script(place)(WHOLE[:3], i)

    def power(x: np.ndarray, n: int):
        return np.linalg.matrix_power(x, n)

    with pytest.raises(ValueError, match=r"write x\.astype\(np\.float64\)"):
        flambeau.script(power)(np.array([[1, 2], [3, 4]]), -1)
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        flambeau.script(power)(np.ones((2, 3), np.int64), 2)
