"""Errors of programs of arrays have NumPy's class and words, however the program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import ExecutionError


def added(x: np.ndarray, y: np.ndarray):
    return x + y


def fused(x: np.ndarray, y: np.ndarray):
    return np.sqrt(x * x) + np.exp(y)


def compared(x: np.ndarray, y: np.ndarray):
    return np.maximum(x, 1.0) < y


def chosen(x: np.ndarray, y: np.ndarray):
    return np.where(x > 0, x, y)


def assigned(x: np.ndarray, y: np.ndarray):
    x[:2] = y
    return x


def widened(x: np.ndarray, y: np.ndarray):
    x[:] = y.reshape(2, 2)
    return x


def in_a_loop(x: np.ndarray, y: np.ndarray):
    total = 0.0
    for i in range(3):
        total += (x[i:] * y[:3]).sum()
    return total


def reshaped(x: np.ndarray, y: np.ndarray):
    return x.reshape(2, 2)


def stacked(x: np.ndarray, y: np.ndarray):
    return np.stack((x, y))


def joined(x: np.ndarray, y: np.ndarray):
    return np.concatenate((x.reshape(1, -1), y.reshape(1, -1)))


def product(x: np.ndarray, y: np.ndarray):
    return x @ y


def product_of_matrices(x: np.ndarray, y: np.ndarray):
    return x.reshape(1, 3) @ y.reshape(4, 1)


PROGRAMS = (
    added, fused, compared, chosen, assigned, widened, in_a_loop, reshaped, stacked, joined, product,
    product_of_matrices,
)  # fmt: skip


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_sizes_that_do_not_fit_are_value_errors(program: Callable[..., Any], backend: Any) -> None:
    x, y = np.arange(3.0), np.arange(4.0)
    with pytest.raises(ValueError) as theirs:  # noqa: PT011
        program(x.copy(), y)
    function = flambeau.script(program, backend=backend)
    for _ in range(4):
        with pytest.raises(ValueError) as ours:  # noqa: PT011
            function(x.copy(), y)
        error = ours.value
        assert isinstance(error, ExecutionError)
        assert str(theirs.value).strip().startswith(error.message)
        assert f"ValueError: {error.message}" in str(error)
        assert "<--- HERE" in str(error)


def test_errors_of_tensors_stay_what_they_are() -> None:
    def summed(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match") as caught:
        flambeau.script(summed)(flambeau.ones(3), flambeau.ones(4))
    assert not isinstance(caught.value, ValueError)
    with pytest.raises(RuntimeError, match="must match"):
        flambeau.ones(3) + flambeau.ones(4)


def test_other_errors_of_arrays_stay_what_they_are() -> None:
    def element(x: np.ndarray, k: int):
        return x[k] + 1

    with pytest.raises(IndexError):
        flambeau.script(element)(np.ones(3), 7)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(np.zeros((2, 2)))
