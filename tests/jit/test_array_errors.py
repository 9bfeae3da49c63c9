"""Errors of programs of arrays have NumPy's class and words, however the program runs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import CompileError, ExecutionError


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


def at_places(x: np.ndarray, y: np.ndarray):
    x[np.array([[0, 1]])] = y
    return x


PROGRAMS = (
    added, fused, compared, chosen, assigned, widened, in_a_loop, reshaped, stacked, joined, product,
    product_of_matrices, at_places,
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


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_arrays_that_may_not_be_written(backend: Any) -> None:
    function = flambeau.script(assigned, backend=backend)
    x, y = np.arange(3.0), np.arange(2.0)
    x.flags.writeable = False
    for _ in range(3):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            function(x, y)
    assert x.tolist() == [0.0, 1.0, 2.0]


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


def past_the_end(x: np.ndarray):
    return x[5]


def in_a_loop_past_the_end(x: np.ndarray):
    total = 0.0
    for i in range(10):
        total += x[i]
    return total


def by_places(x: np.ndarray):
    return x[np.array([0, 7])]


def too_many(x: np.ndarray):
    return x[0, 0]


def along_no_axis(x: np.ndarray):
    return x.sum(axis=3)


def swapped(x: np.ndarray):
    return np.swapaxes(x, 0, 2)


def inverse(x: np.ndarray):
    return np.linalg.inv(x.reshape(3, 1) * x)


def solution(x: np.ndarray):
    return np.linalg.solve(x.reshape(3, 1) * x, x)


def decomposed(x: np.ndarray):
    return np.linalg.cholesky(-np.eye(2) * x[0])


def not_square(x: np.ndarray):
    return np.linalg.inv(np.ones((2, 3)) * x[0])


def of_nothing(x: np.ndarray):
    return x[:0].max()


def place_of_nothing(x: np.ndarray):
    return np.argmax(x[:0])


def reordered(x: np.ndarray):
    return np.transpose(x, (1, 0))


def of_other_rank(x: np.ndarray):
    return np.concatenate((x, x.reshape(3, 1)))


def less_than_nothing(x: np.ndarray):
    return np.full(-len(x), 1.0)


def as_number(x: np.ndarray):
    return int(x)


def as_truth(x: np.ndarray):
    if x > 0:
        return 1
    return 2


def counted(x: np.ndarray):
    return np.bincount(-x.astype(np.int64) - 1)


def repeated(x: np.ndarray):
    return np.repeat(x, -1)


def split(x: np.ndarray):
    return np.split(x, 2)


def raised(x: np.ndarray):
    if len(x) > 2:
        raise KeyError("too long")
    return x


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize(
    "program",
    [
        past_the_end, in_a_loop_past_the_end, by_places, too_many, along_no_axis, swapped, inverse, solution,
        decomposed, not_square, of_nothing, place_of_nothing, reordered, of_other_rank, less_than_nothing, as_number,
        as_truth, counted, repeated, split, raised,
    ],
)  # fmt: skip
def test_errors_are_of_numpys_classes(program: Callable[..., Any], backend: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        program(np.ones(3))
    function = flambeau.script(program, backend=backend)
    for _ in range(4):
        with pytest.raises(type(theirs.value)) as ours:
            function(np.ones(3))
        assert isinstance(ours.value, IndexError) == isinstance(theirs.value, IndexError)
        assert "builtins." not in str(ours.value)
        assert "<--- HERE" in str(ours.value)
        again = pickle.loads(pickle.dumps(ours.value))
        assert (type(again), str(again)) == (type(ours.value), str(ours.value))
    if program in (past_the_end, in_a_loop_past_the_end, by_places, along_no_axis, inverse, decomposed, not_square):
        assert str(ours.value).endswith(str(theirs.value))


def test_a_list_in_place_of_an_array_says_how_to_make_one() -> None:
    def added(x: np.ndarray, y: np.ndarray):
        return x + y

    with pytest.raises(TypeError, match=r"argument 'y' but instead found type 'list': write np.array\(y\)"):
        flambeau.script(added)(np.ones(2), [1.0, 2.0])


def test_names_that_numpy_does_not_have_are_told_with_what_was_meant() -> None:
    def mistyped(x: np.ndarray):
        return np.linspce(x, x)

    with pytest.raises(CompileError, match=r"the module numpy has none of that name\. Did you mean linspace\?"):
        flambeau.script(mistyped)(np.ones(2))


def test_an_object_without_annotation_is_of_its_class_if_that_is_one_of_users() -> None:
    class Point:
        def __init__(self) -> None:
            self.height_above = 1.0

    def moved(x: np.ndarray, p):
        return x + p.height_above

    scripted = flambeau.script(moved)
    assert scripted(np.ones(2), Point()).tolist() == [2.0, 2.0]
    with pytest.raises(CompileError, match="What has no annotation is a Tensor: say what it is, as p: Point"):
        scripted(np.ones(2), object())
