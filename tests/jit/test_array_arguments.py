"""Arrays that no tensor can lie as, given to programs on arrays."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def weighted(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        s += x[i] * i
    return s


def numbered(x: np.ndarray) -> None:
    for i in range(len(x)):
        x[i] = i


def itself(x: np.ndarray):
    return x


def added(x: np.ndarray, y: np.ndarray):
    return x + y


def copied(x: np.ndarray, y: np.ndarray) -> None:
    x[0] = y[0]


def fails(x: np.ndarray, n: int) -> None:
    x[0] = 7
    x[n] = 8


RECORDS = np.array([(1.0, 2), (3.0, 4)], dtype=[("a", "f8"), ("b", "i4")])


def odd_arrays() -> list[np.ndarray]:
    return [np.arange(5.0)[::-1], np.arange(10.0)[::-2], np.arange(4, dtype=">f8"), RECORDS["a"].copy(), RECORDS["a"]]


def test_they_are_read_as_they_are() -> None:
    scripted = flambeau.script(weighted)
    for x in odd_arrays():
        assert scripted(x) == weighted(x)
    planes = np.arange(6.0).reshape(2, 3)[::-1, ::-1]
    assert np.array_equal(flambeau.script(added)(planes, x[0]), planes + x[0])
    assert flambeau.script(added)(x=planes, y=planes).tolist() == (planes + planes).tolist()


def test_what_is_written_reaches_the_caller() -> None:
    scripted = flambeau.script(numbered)
    for x in odd_arrays():
        scripted(x)
        assert x.tolist() == list(range(len(x)))
    base = np.zeros(4)
    scripted(base[::-1])
    assert base.tolist() == [3, 2, 1, 0]


def test_what_was_written_before_an_error_is_written() -> None:
    base = np.zeros(3)
    with pytest.raises(IndexError):
        flambeau.script(fails)(base[::-1], 9)
    assert base.tolist() == [0, 0, 7]


def test_an_argument_that_comes_back_is_itself() -> None:
    x = np.arange(3)[::-1]
    assert flambeau.script(itself)(x) is x


def test_read_only_arrays_stay_so() -> None:
    x = np.arange(3.0)[::-1]
    x.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        flambeau.script(numbered)(x)
    assert x.tolist() == [2, 1, 0]


def test_arguments_that_overlap_are_refused_before_anything_is_written() -> None:
    x = np.arange(4.0)
    with pytest.raises(ValueError, match=r"'x' and 'y' overlap in memory.*pass x\.copy\(\)"):
        flambeau.script(copied)(x, x[::-1])
    assert x.tolist() == [0, 1, 2, 3]
    assert flambeau.script(added)(x, x[::-1]).tolist() == [3, 3, 3, 3]


def test_masks_and_matrices_are_refused() -> None:
    scripted = flambeau.script(weighted)
    with pytest.raises(TypeError, match=r"'x' is a masked array.*x\.filled\(value\)"):
        scripted(np.ma.array([1.0, 2.0], mask=[0, 1]))
    with pytest.raises(TypeError, match=r"'x' is a np\.matrix.*np\.asarray\(x\), and write @"):
        scripted(np.ones((1, 1)).view(np.matrix))


def test_mapped_memory_is_taken_as_it_is(tmp_path) -> None:
    x = np.memmap(tmp_path / "x", dtype="f8", mode="w+", shape=(4,))
    flambeau.script(numbered)(x)
    assert x.tolist() == [0, 1, 2, 3]


def test_arrays_of_different_dtypes_are_not_refused_before_a_call() -> None:
    """What neither floats alone nor ints alone can be, a call may bring."""

    def moved(v: np.ndarray, q: np.ndarray, c: float):
        v += c
        return q | q

    function = flambeau.script(moved)
    assert function(np.ones(3), np.arange(3), 0.5).tolist() == [0, 1, 2]
    with pytest.raises(CompileError, match="ufunc 'bitwise_or' not supported for the input types"):
        function(np.ones(3), np.ones(3), 0.5)
