"""Arrays of NumPy around a program on arrays: constants on their memory, as where Python runs the same function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import CompileError

T = TypeVar("T")
WEIGHTS = np.array([1.0, 2.0, 4.0])
STEPS = np.array([[1, 2], [3, 4]], dtype=np.int32)
NOTHING_ELSE = np.array(2.5)
BACKWARDS = np.arange(6)[::-1]
FIXED = np.arange(3.0)
FIXED.flags.writeable = False
SINGLE = np.float32(1.5)
TEXTS = np.array(["a"])


def added(x: np.ndarray) -> np.ndarray:
    return x + WEIGHTS


def product(x: np.ndarray) -> np.ndarray:
    return x @ STEPS


def scaled(x: np.ndarray) -> np.ndarray:
    return x * NOTHING_ELSE + FIXED


def in_single(x: np.ndarray) -> np.ndarray:
    return x * SINGLE


def looked_up(i: int) -> float:
    return WEIGHTS[i]


def summed(n: int) -> int:
    total = 0
    for i in range(n):
        for j in range(BACKWARDS.shape[0]):
            total += BACKWARDS[j] * i
    return total


def dotted(x):  # type: ignore[no-untyped-def]
    return np.dot(x, WEIGHTS)


def through_another(x: np.ndarray) -> np.ndarray:
    return added(x) * 2


def closure(weights: Any) -> Callable[..., Any]:
    def weighted(x: np.ndarray) -> np.ndarray:
        return x * weights

    return weighted


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (added, (np.ones(3),)), (product, (np.ones(2),)), (scaled, (np.ones(3),)),
        (in_single, (np.ones(2, np.float32),)),
        (looked_up, (2,)), (summed, (4,)), (dotted, (np.ones(3),)), (through_another, (np.ones(3),)),
        (closure(BACKWARDS), (np.ones(6),)),
    ],
)  # fmt: skip
def test_programs_read_them_as_python_does(function: Any, arguments: tuple[Any, ...]) -> None:
    want, got = function(*arguments), flambeau.script(function)(*arguments)
    assert np.array_equal(got, want)
    assert np.asarray(got).dtype == np.asarray(want).dtype


def counted(x: np.ndarray) -> float:
    WEIGHTS[0] += x[0]
    return WEIGHTS.sum()


def test_they_share_memory_with_the_program() -> None:
    before = WEIGHTS.copy()
    try:
        scripted = flambeau.script(added)
        assert scripted(np.zeros(3)).tolist() == [1.0, 2.0, 4.0]
        WEIGHTS[0] = 100.0
        assert scripted(np.zeros(3)).tolist() == [100.0, 2.0, 4.0]
        assert flambeau.script(counted)(np.ones(1)) == 107.0
        assert WEIGHTS[0] == 101.0
    finally:
        WEIGHTS[:] = before


def of_texts(x: np.ndarray) -> Any:
    return TEXTS


def of_tensors(x: Tensor) -> Tensor:
    return x + WEIGHTS


@pytest.mark.parametrize("function", [of_texts, of_tensors])
def test_texts_and_programs_on_tensors_are_refused(function: Any) -> None:
    with pytest.raises(CompileError, match="python value of type 'ndarray' cannot be used as a value"):
        flambeau.script(function)


def generic(x: T) -> T:
    return x


def any_array(x: npt.ArrayLike, y: np.ndarray) -> np.ndarray:
    return y


def scalar(x: np.float64) -> float:
    return x


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (generic, "Unknown type name 'T': write one function for each type"),
        (any_array, "Unknown type name 'npt.ArrayLike': write np.ndarray, or float"),
        (scalar, "Unknown type name 'np.float64': write float, int, bool or complex"),
    ],
)
def test_annotations_that_say_what_to_write(function: Any, text: str) -> None:
    with pytest.raises(CompileError) as raised:
        flambeau.script(function)
    assert text in str(raised.value)
