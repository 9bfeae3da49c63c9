"""Functions compiled by Numba that get tensors from scripts, as arrays on the memory that the scripts made."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

numba = pytest.importorskip("numba", reason="numba is an extra: pip install flambeau[numba]")
resource = pytest.importorskip("resource", reason="the memory of the process is asked for in the way of Unix")


@flambeau.script
def doubled(x: Tensor) -> Tensor:
    return x * 2


@flambeau.script
def squares(n: int) -> Tensor:
    y = flambeau.zeros(n, dtype=flambeau.float64)
    for i in range(n):
        y[i] = i * i
    return y


@flambeau.script
def views(x: Tensor, n: int) -> tuple[Tensor, tuple[Tensor, float], Tensor]:
    y = x + 1
    for i in range(n):
        y[i] = 0.0
    return y, (y[1:], float(y[-1])), x[1:]


@flambeau.script
def turned(x: Tensor) -> Tensor:
    return x.t()


@flambeau.script
def mean(x: Tensor) -> Tensor:
    return x.mean()


@flambeau.script
def in_order(x: Tensor) -> Tensor:
    return x.sort()[0]


@flambeau.script
def careful(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    y = x * 3
    assert n < 3, "too many"
    return y, y + 1


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int16", "uint8", "bool"])
def test_results_of_every_dtype(dtype: str) -> None:
    call = numba.njit(lambda x: doubled(x))
    x = np.array([[1, 0, 2], [3, 1, 0]]).astype(dtype)
    for given in (x, x[:, ::2], x.T, x[:0], x[:1]):
        found, expected = call(given), doubled(given.copy()).numpy()
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_a_result_is_an_array_to_the_caller() -> None:
    @numba.njit
    def total(n: int) -> float:
        found = squares(n)
        found[0] = 100.0
        return found.sum() + found.size + found[-1]

    assert total(4) == 100.0 + 1 + 4 + 9 + 4 + 9
    with pytest.raises(IndexError, match="out of bounds"):
        numba.njit(lambda n: squares(n)[5], boundscheck=True)(3)


def test_views_share_memory() -> None:
    call = numba.njit(lambda x, n: views(x, n))
    x = np.arange(4.0)
    y, (tail, last), rest = call(x, 2)
    assert (y.tolist(), tail.tolist(), last) == ([0.0, 0.0, 3.0, 4.0], [0.0, 3.0, 4.0], 4.0)
    assert rest.tolist() == [1.0, 2.0, 3.0]
    assert np.shares_memory(y, tail)
    assert np.shares_memory(x, rest)
    tail[0] = 7.0
    rest[0] = 8.0
    assert (y[1], x[1]) == (7.0, 8.0)
    del y
    gc.collect()
    assert tail.tolist() == [7.0, 3.0, 4.0]


def test_an_argument_given_back_is_that_array() -> None:
    @numba.njit
    def made(n: int) -> Any:
        mine = np.arange(6.0).reshape(2, 3)
        shown = turned(mine)
        mine[1, 0] = 50.0
        return shown

    assert made(0).tolist() == [[0.0, 50.0], [1.0, 4.0], [2.0, 5.0]]
    frozen = np.arange(6.0).reshape(2, 3)
    frozen.flags.writeable = False
    shown = numba.njit(lambda x: turned(x))(frozen)
    assert np.shares_memory(shown, frozen)
    with pytest.raises(ValueError, match="read-only"):
        shown[0, 0] = 1.0
    assert numba.njit(lambda x: doubled(x))(frozen).flags.writeable


def test_a_tensor_without_axes() -> None:
    x = np.arange(4.0)
    assert numba.njit(lambda x: mean(x))(x) == 1.5
    assert numba.njit(lambda x: mean(x)[()] + 1)(x) == 2.5
    assert numba.njit(lambda x: mean(x).ndim)(x) == 0


def test_tensors_without_axes_in_a_long_loop() -> None:
    @numba.njit
    def often(x: Any, n: int) -> float:
        s = 0.0
        for _ in range(n):
            s += mean(x)[()]
        return s

    assert often(np.ones(2), 2_000_000) == 2e6  # a word of stack for each would be more than there is


def test_what_python_runs_for_the_script() -> None:
    call = numba.njit(lambda x: in_order(x))
    assert call(np.array([3.0, 1.0, 2.0])).tolist() == [1.0, 2.0, 3.0]


def test_an_error_leaves_nothing() -> None:
    call = numba.njit(lambda x, n: careful(x, n)[1])
    assert call(np.ones(3), 2).tolist() == [4.0, 4.0, 4.0]
    for _ in range(50):
        with pytest.raises(Exception, match="too many"):
            call(np.ones(3), 3)


def test_memory_is_given_back() -> None:
    @numba.njit
    def often(x: Any, n: int) -> float:
        s = 0.0
        for _ in range(n):
            y, (tail, last), rest = views(x, 1)
            s += y[1] + tail[0] + last + rest[0]
        return s

    x = np.ones(100_000)
    often(x, 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    often(x, 400)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KB; 400 results are 320,000


def test_threads_that_hold_no_gil() -> None:
    @numba.njit(nogil=True)
    def work(x: Any, n: int) -> float:
        s = 0.0
        for _ in range(n):
            s += doubled(x)[1]
        return s

    x, found = np.arange(50.0), []
    work(x, 1)
    threads = [threading.Thread(target=lambda: found.append(work(x, 2000))) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [4000.0] * 3


def test_loops_over_threads() -> None:
    @numba.njit(parallel=True)
    def work(x: Any, n: int) -> Any:
        out = np.zeros(n)
        for k in numba.prange(n):
            out[k] = doubled(x)[k % 5] + squares(k)[-1]
        return out

    expected = [2.0 * (k % 5) + (k - 1) ** 2 for k in range(1, 40)]
    assert work(np.arange(5.0), 40).tolist()[1:] == expected
