"""Functions compiled by Numba that give their arrays to scripts, which read and write them as tensors."""

from __future__ import annotations

import threading
import traceback
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import ExecutionError

numba = pytest.importorskip("numba", reason="numba is an extra: pip install flambeau[numba]")


@flambeau.script
def total(x: Tensor) -> float:
    s = 0.0
    for i in range(x.shape[0]):
        s += float(x[i])
    return s


@flambeau.script
def put(x: Tensor, place: int, value: float) -> None:
    x[place] = value


@flambeau.script
def trace(x: Tensor) -> float:
    s = 0.0
    for i in range(min(x.shape[0], x.shape[1])):
        s += float(x[i, i])
    return s


@flambeau.script
def smooth(x: Tensor, y: Tensor, turns: int) -> None:
    for _ in range(turns):
        for i in range(1, x.shape[0] - 1):
            y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0
        for i in range(1, x.shape[0] - 1):
            x[i] = y[i]


@flambeau.script
def norm(x: Tensor) -> float:
    return float((x * x + 1.0).sum())


@flambeau.script
def median(x: Tensor) -> float:
    return float(x.sort()[0][x.shape[0] // 2])


call_total = numba.njit(lambda x: total(x))
call_put = numba.njit(lambda x, k, v: put(x, k, v))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int16", "uint8", "bool"])
def test_elements_are_read(dtype: str) -> None:
    x = np.array([1, 0, 2, 3, 1]).astype(dtype)
    for given in (x, x[::2], x[::-1], x[:1], x[:0], np.broadcast_to(x[2:3], (4,))):
        assert call_total(given) == float(given.sum())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_elements_are_written(dtype: str) -> None:
    base = np.zeros(9, dtype)
    for given in (base[:3], base[3::2], base[::-3]):
        for k in range(-3, 3):
            assert call_put(given, k, k + 0.5) is None
            assert given[k] == k + 0.5


def test_matrices_in_any_layout() -> None:
    call = numba.njit(lambda x: trace(x))
    x = np.arange(12.0).reshape(3, 4)
    for given in (x, x.T, x[::2], x[:, ::-1], x[:1], x[:, :1], np.zeros((0, 3)), np.asfortranarray(x)):
        assert call(given) == np.trace(given)


def test_arrays_that_numba_makes() -> None:
    @numba.njit
    def f(n):
        x = np.zeros(n)
        y = np.empty_like(x)
        x[n // 2] = 1.0
        smooth(x, y, 3)
        return x.sum(), total(x[1:]), x

    found, part, x = f(21)
    tensor, other = flambeau.zeros(21, dtype=flambeau.float64), flambeau.zeros(21, dtype=flambeau.float64)
    tensor[10] = 1.0
    smooth(tensor, other, 3)
    assert x.tolist() == tensor.tolist()
    assert found == part == pytest.approx(1.0)


def test_one_array_twice() -> None:
    @flambeau.script
    def shift(x: Tensor, y: Tensor) -> None:
        for i in range(1, x.shape[0]):
            y[i] = x[i - 1] + 1.0

    call = numba.njit(lambda x, y: shift(x, y))
    x = np.zeros(5)
    call(x, x)
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_fused_groups_and_what_python_runs() -> None:
    call = numba.njit(lambda x: norm(x))
    middle = numba.njit(lambda x: median(x))
    x = np.arange(7.0)
    for given in (x, x[::2], x[::-1], x[:1]):
        for _ in range(3):
            assert call(given) == pytest.approx(float((given * given + 1.0).sum()))
            assert middle(given) == float(np.sort(given)[len(given) // 2])


def test_sizes_of_one_spread() -> None:
    @flambeau.script
    def mixed(x: Tensor, y: Tensor) -> float:
        s = 0.0
        for _ in range(2):
            s += float((x + y).sum())
        return s

    call = numba.njit(lambda x, y: mixed(x, y))
    x, y = np.arange(3.0), np.arange(4.0)
    for a, b in ((x, x), (x[:1], y), (y, x[:1]), (x[:, None], y[None]), (x[:1], x[:1]), (x[:0], x[:1])):
        assert call(a, b) == 2 * float((a + b).sum())
    with pytest.raises(RuntimeError, match="must match"):
        call(x, y)


def test_a_place_outside_raises_and_keeps_what_was_written() -> None:
    @flambeau.script
    def fill(x: Tensor, n: int) -> None:
        for i in range(n):
            x[i] = 1.0

    call = numba.njit(lambda x, n: fill(x, n))
    x = np.zeros(3)
    with pytest.raises(ExecutionError) as own:
        fill(flambeau.from_numpy(x.copy()), 4)
    with pytest.raises(ExecutionError) as found:
        call(x, 4)
    assert str(found.value) == str(own.value)
    assert "index 3 out of range" in str(found.value)
    assert x.tolist() == [1, 1, 1]
    held = []
    error: BaseException | None = found.value
    while error is not None:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        held += [v for frame in frames if frame.f_code.co_filename != __file__ for v in frame.f_locals.values()]
        error = error.__cause__
    assert held
    assert not any(isinstance(i, Tensor) for v in held for i in (v if isinstance(v, list | tuple) else (v,)))


def test_arrays_without_axes_and_what_has_no_alignment() -> None:
    @flambeau.script
    def more(x: Tensor) -> float:
        x.add_(1)
        return float(x) + 1.0

    call = numba.njit(lambda x: more(x))
    x = np.array(3.0)
    assert call(x) == 5
    assert x == 4
    inside = numba.types.Array(numba.float64, 0, "C", aligned=False)
    with pytest.raises(numba.core.errors.TypingError, match=r"'x' is unaligned array\(float64, 0d, C\)"):
        numba.njit((inside,))(lambda x: more(x))


def test_traces() -> None:
    traced = flambeau.trace(lambda x, y: (x * y).sum() + 1, (flambeau.ones(3), flambeau.ones(3)))
    given = flambeau.CompilationUnit("def f(x: Tensor, y: Tensor) -> float:\n  return float((x * y).sum() + 1)").f
    x = np.arange(3.0)
    assert numba.njit(lambda x: given(x, x))(x) == 6
    assert numba.njit(lambda x: traced(x, x))(np.ones(3, np.float32)) == 4


@pytest.mark.filterwarnings("ignore")
def test_loops_over_threads() -> None:
    @numba.njit(parallel=True)
    def rows(x):
        sums = np.zeros(x.shape[0])
        for i in numba.prange(x.shape[0]):
            sums[i] = total(x[i])
        return sums

    x = np.arange(600.0).reshape(60, 10)
    assert rows(x).tolist() == x.sum(axis=1).tolist()


def test_threads_without_the_gil() -> None:
    work = numba.njit(nogil=True)(lambda x: total(x) + median(x))
    found: dict[int, float] = {}
    x = np.arange(40.0).reshape(4, 10)
    threads = [threading.Thread(target=lambda k=k: found.update({k: work(x[k])})) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {k: float(x[k].sum() + x[k][5]) for k in range(4)}


def refused(fn: Any, *args: Any) -> str:
    with pytest.raises(numba.core.errors.TypingError) as found:
        numba.njit(fn)(*args)
    return str(found.value)


def test_refusals() -> None:
    @flambeau.script
    def both(x: Tensor) -> list[Tensor]:
        return [x, x * 2]

    assert "has a result of type List[Tensor]" in refused(lambda x: both(x), np.ones(3))
    assert "'x' is float64" in refused(lambda x: total(x), 1.0)
    assert "'x' is array(complex128, 1d, C)" in refused(lambda x: total(x), np.ones(3, complex))
    assert "'x' is array(uint64, 1d, C), and no tensor has such elements" in refused(
        lambda x: total(x), np.ones(3, np.uint64)
    )
    assert "'place' is array(float64, 1d, C)" in refused(lambda x: put(x, x, 1.0), np.ones(3))
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert call_total(frozen) == 0
    assert "it writes to 'x', which is read-only" in refused(lambda x: put(x, 0, 1.0), frozen)
