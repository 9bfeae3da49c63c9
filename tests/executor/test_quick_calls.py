"""The short way of a call: the same answers, errors, counts and onlookers as the long one."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.callable_type import MISSED
from flambeau.tensor import dispatch, observer
from flambeau.tensor.tensor import wrap_number


def _scripted(source: str) -> flambeau.jit.ScriptFunction:
    return flambeau.CompilationUnit(source).f


def _is_quick(f: flambeau.jit.ScriptFunction, *args: object) -> bool:
    fast_path = f._executor.fast_path
    return fast_path is not None and fast_path(*args) is not MISSED


def test_repeated_calls_take_the_short_way() -> None:
    f = _scripted("def f(x: Tensor, y: Tensor): return flambeau.exp(x) * y + 1.0")
    x, y = flambeau.randn(4, 5), flambeau.randn(5)
    first = f(x, y)
    # a plan that a thread of another test still makes has the next call come through Python
    assert any(_is_quick(f, x, y) for _ in range(3) if f(x, y) is not None)
    again = f(x, y)
    assert type(again) is Tensor
    np.testing.assert_array_equal(again.numpy(), first.numpy())
    double = flambeau.ones(4, 5, dtype=flambeau.float64)
    for other in (flambeau.randn(4, 1), flambeau.randn(7, 5), flambeau.randn(5, 4).t(), double):
        for _ in range(2):
            want = (other.exp() * y + 1.0).numpy()
            got = f(other, y)
            assert got.dtype == (other.exp() * y).dtype
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)


def test_a_number_as_a_tensor_gives_way_and_a_real_scalar_does_not() -> None:
    f = _scripted("def f(x: Tensor, y: Tensor): return x * y + y")
    x = flambeau.arange(3, dtype=flambeau.int32)
    real, number = flambeau.tensor(2, dtype=flambeau.int64), wrap_number(2)
    wide, float_number = flambeau.tensor(2.5, dtype=flambeau.float64), wrap_number(2.5)
    half = flambeau.ones(3, dtype=flambeau.float16)
    for order in ((real, number), (number, real)):
        for scalar in (*order, *order):
            assert f(x, scalar).dtype == (x * scalar + scalar).dtype
    for scalar in (wide, float_number, wide, float_number):
        for tensor in (x, half):
            assert f(tensor, scalar).dtype == (tensor * scalar + scalar).dtype
    empty = flambeau.ones((), dtype=flambeau.float32)
    for scalar in (wide, float_number, wide, float_number):
        assert f(empty, scalar).dtype == (empty * scalar + scalar).dtype


def test_numbers_are_told_apart_by_type() -> None:
    f = _scripted("def f(x: Tensor, k: float): return x * k")
    x = flambeau.ones(3)
    for k in (2.0, 3, 2.5, np.float32(4.0), True + 0.0):
        assert f(x, k).tolist() == [float(k)] * 3
    g = _scripted("def f(x: Tensor, k: int): return x + k")
    for k in (2, 3, -(1 << 40)):
        assert g(flambeau.ones(2, dtype=flambeau.int64), k).tolist() == [k + 1] * 2
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument 'k'"):
        g(x, 1.5)
    with pytest.raises(RuntimeError, match="does not fit into 64 bits"):
        g(flambeau.ones(2, dtype=flambeau.int64), 1 << 64)


def test_arguments_are_checked_as_before() -> None:
    f = _scripted("def f(x: Tensor, y: Tensor): return x + y")
    x = flambeau.ones(3)
    f(x, x), f(x, x)
    assert f(x, y=x).tolist() == [2.0] * 3
    assert f(np.ones(3, np.float32), x).tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="missing value for argument 'y'"):
        f(x)
    with pytest.raises(RuntimeError, match="expected at most 2"):
        f(x, x, x)
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor"):
        f(x, "no")
    with pytest.raises(RuntimeError, match="size of tensor"):
        f(x, flambeau.ones(2))


def test_division_by_zero_has_its_place() -> None:
    f = _scripted("def f(x: Tensor, y: Tensor): return x // y + 1")
    x = flambeau.arange(1, 4)
    assert f(x, x).tolist() == f(x, x).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="ZeroDivisionError") as error:
        f(x, x - 1)
    assert "x // y" in str(error.value)


def test_several_results() -> None:
    f = _scripted("def f(x: Tensor): return x + 1.0, x * 2.0")
    x = flambeau.ones(3)
    for _ in range(3):
        results = f(x)
        assert type(results) is tuple
        assert [r.tolist() for r in results] == [[2.0] * 3, [2.0] * 3]


def test_calls_are_counted() -> None:
    f = _scripted("def f(x: Tensor): return x * 2.0 + 1.0")
    for n in range(10):
        f(flambeau.ones(3 + n % 2))
    assert f.explain().compilations[0].calls == 10
    assert f.explain().compilations[0].kernels[0].calls == 10
    assert "group_0" in str(f.bytecode)


def test_onlookers_see_every_call() -> None:
    f = _scripted("def f(x: Tensor): return x * 2.0 + 1.0")
    x = flambeau.ones(3)
    f(x), f(x)
    seen: list[str] = []
    with dispatch.intercepting(lambda d, arguments, proceed: seen.append(d.name) or proceed(arguments)):
        f(x)
    assert seen == ["aten::mul", "aten::add"]
    assert observer.current() is None
    outer = flambeau.trace(lambda t: f(t), (x,))
    assert "f" in str(outer.graph)


def test_gradients_and_subclasses_take_the_long_way() -> None:
    f = _scripted("def f(x: Tensor): return x * 2.0 + 1.0")
    x = flambeau.ones(3)
    f(x), f(x)
    assert not _is_quick(f, flambeau.ones(3).requires_grad_())
    assert not _is_quick(f, flambeau.nn.Parameter(flambeau.ones(3)))
    assert f(flambeau.nn.Parameter(flambeau.ones(3))).tolist() == [3.0] * 3


def test_results_are_whole_tensors_and_leave_nothing_behind() -> None:
    f = _scripted("def f(x: Tensor): return x * 2.0 + 1.0")
    for count in (16, 100_000):
        x = flambeau.ones(count)
        f(x), f(x)
        held = sys.getrefcount(x), sys.getrefcount(x._array), sys.getrefcount(x._array.dtype)
        for _ in range(300):
            f(x)
        assert (sys.getrefcount(x), sys.getrefcount(x._array), sys.getrefcount(x._array.dtype)) == held
    result = f(x)
    assert (result.requires_grad, result.grad, result.grad_fn, result.is_wrapped_number, result.output_nr) == (
        False, None, None, False, 0,
    )  # fmt: skip
    assert (result._version, result.storage_offset(), result._storage.base is result._array) == (0, 0, True)
    result.add_(1.0)
    assert result._version == 1
    array = weakref.ref(result._array)
    assert gc.is_tracked(result)
    del result
    assert array() is None


def test_code_goes_with_the_function() -> None:
    f = _scripted("def f(x: Tensor): return x * 3.0 + 1.0")
    x = flambeau.ones(3)
    f(x), f(x)
    kernel = weakref.ref(f._executor._latest.kernels[0])
    del f
    gc.collect()
    assert kernel() is None


def test_threads_are_independent() -> None:
    f = _scripted("def f(x: Tensor, k: float): return flambeau.exp(x) * k")
    xs = [flambeau.full((n,), 0.5) for n in (3, 50_000)]
    want = float(np.exp(np.float32(0.5)))
    wrong: list[object] = []

    def work(k: float) -> None:
        for n in range(40):
            got = f(xs[n % 2], k)
            if abs(float(got[0]) - want * k) > 1e-4 * abs(k):
                wrong.append(got)

    workers = [threading.Thread(target=work, args=(float(k),)) for k in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert f.explain().compilations[0].calls == 160
