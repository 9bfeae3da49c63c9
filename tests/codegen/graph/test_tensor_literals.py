"""Tensors made of lists of numbers, natively, beside the same functions run by Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def in_a_loop(x: Tensor, n: int):
    total = flambeau.zeros(3)
    for i in range(n):
        total = total + flambeau.tensor([float(x[0]) * i, float(x[1]), 1.0])
    return total


def small_ints(x: Tensor, n: int):
    total = flambeau.zeros(3, dtype=flambeau.int32)
    for i in range(n):
        total += flambeau.tensor([i, i * 2, int(x[0])], dtype=flambeau.int32)
    return total


def nested(n: int):
    a = flambeau.tensor([[n, n + 1], [1, 2]])
    return a, flambeau.tensor([[[n > 3, True]]]), flambeau.tensor([[n], [1]], dtype=flambeau.float64)


def grown(n: int):
    values: list[float] = []
    for i in range(n):
        values.append(i * 0.5)
    return flambeau.tensor(values), flambeau.tensor([values, values], dtype=flambeau.float64), values


def changed_afterwards(n: int):
    values = [n, 1]
    made = flambeau.tensor(values)
    values[0] = 7
    return made, flambeau.tensor(values)


CASES: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (in_a_loop, [(flambeau.tensor([1.5, float("nan")]), 5), (flambeau.tensor([float("inf"), -0.0]), 0)]),
    (small_ints, [(flambeau.ones(2), 7), (flambeau.tensor([-3.9, 0.0]), 1)]),
    (nested, [(2,), (-(2**63),)]),
    (grown, [(4,), (0,), (1,)]),
    (changed_afterwards, [(3,)]),
]


@pytest.mark.parametrize(("function", "calls"), CASES)
def test_tensors_of_lists_are_native(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    scripted = flambeau.script(function)
    for arguments in calls:
        expected = function(*arguments)
        for _ in range(3):
            flambeau.testing.assert_close(scripted(*arguments), expected, equal_nan=True, rtol=0, atol=0)
    scripted.compile(*calls[0])
    assert "native from end to end" in str(scripted.explain())


def test_ints_that_do_not_fit_fail_as_they_do_eagerly() -> None:
    @flambeau.script
    def made(n: int):
        return flambeau.tensor([n, 1], dtype=flambeau.uint8)

    for _ in range(3):
        assert made(255).tolist() == [255, 1]
        with pytest.raises(RuntimeError, match="cannot be converted to type uint8 without overflow"):
            made(256)


def test_lists_of_different_lengths_fail_as_they_do_eagerly() -> None:
    @flambeau.script
    def made(n: int, k: int):
        a: list[float] = []
        for i in range(n):
            a.append(i * 0.5)
        b: list[float] = []
        for i in range(k):
            b.append(i * 2.0)
        return flambeau.tensor([a, b])

    for _ in range(3):
        assert made(2, 2).tolist() == [[0.0, 0.5], [0.0, 2.0]]
        assert tuple(made(0, 0).shape) == (2, 0)
        with pytest.raises(RuntimeError, match="xpected sequence of length 2 at dim 1"):
            made(2, 3)


def test_arrays_of_elements_in_a_loop_are_native() -> None:
    def rotated(y: np.ndarray, n: int) -> np.ndarray:
        for _ in range(n):
            y = y + 0.1 * np.array([y[1], -y[0]])
        return y

    scripted = flambeau.script(rotated)
    start = np.array([1.0, 0.5])
    for n in (0, 1, 50):
        np.testing.assert_array_equal(scripted(start, n), rotated(start, n))
    assert "native from end to end" in str(scripted.explain())
