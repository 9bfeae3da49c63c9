"""The native call entry: the Python path's answers and errors, from several threads, without leaks, after a fork."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref

import numpy as np
import pytest

from flambeau import codegen
from flambeau.codegen import backend
from flambeau.codegen.kernel import KernelError, parse_kernel
from tests.codegen.kernels import pointwise


def test_patterns_are_told_apart() -> None:
    call = backend.compile_kernel(pointwise("sub", ("float32", "float32"), rank=2)).entry()
    g = np.random.default_rng(0)
    arrays = [g.standard_normal(s).astype(np.float32) for s in ((4, 5), (1, 5), (4, 1), (40, 50), (5, 4))]
    pairs = [(0, 0), (0, 1), (2, 0), (2, 1), (3, 3), (0, 1), (4, 4)]
    for _ in range(3):
        for i, j in pairs:
            np.testing.assert_array_equal(call(arrays[i], arrays[j]), arrays[i] - arrays[j])
        np.testing.assert_array_equal(call(arrays[0].T, arrays[0].T), arrays[0].T - arrays[0].T)
        np.testing.assert_array_equal(call(arrays[3][::2], arrays[3][::2, ::-1]), arrays[3][::2] - arrays[3][::2, ::-1])


def test_more_patterns_than_the_chain_holds() -> None:
    call = backend.compile_kernel(pointwise("exp", ("float32",))).entry()
    for _ in range(2):
        for n in range(1, 60):
            assert call(np.zeros(n, np.float32)).shape == (n,)


def test_errors_come_through() -> None:
    call = backend.compile_kernel(pointwise("floordiv", ("int64", "int64"))).entry()
    x = np.arange(1, 6)
    for _ in range(3):
        assert call(x, x).tolist() == [1] * 5
        with pytest.raises(ZeroDivisionError):
            call(x, x - 1)
        with pytest.raises(KernelError, match="expected 2 inputs, got 1"):
            call(x)
        with pytest.raises(KernelError, match="dtype float64"):
            call(x, x.astype(np.float64))
        with pytest.raises(TypeError):
            call(x, other=x)


def test_several_outputs_and_numbers() -> None:
    kernel = parse_kernel("""
    kernel two {
      axes i
      in x: float32[i]
      in k: float64[]
      out y: float32[i]
      out z: bool[i]
      for i {
        %0: float32 = load x[i]
        %1: float64 = load k[]
        %2: float32 = cast %1
        %3: float32 = mul %0, %2
        %4: bool = gt %0, %2
        store y[i], %3
        store z[i], %4
      }
    }
    """)
    call = backend.compile_kernel(kernel).entry()
    x = np.arange(5, dtype=np.float32)
    for factor in (2.0, 3.0, 2, np.float64(0.5)):
        y, z = call(x, factor)
        np.testing.assert_array_equal(y, x * np.float32(factor))
        np.testing.assert_array_equal(z, x > factor)


def test_references_are_balanced() -> None:
    call = backend.compile_kernel(pointwise("exp", ("float32",))).entry()
    small, large = np.zeros(16, np.float32), np.zeros(100_000, np.float32)
    for x in (small, large):
        call(x), call(x)
        counts = sys.getrefcount(x), sys.getrefcount(x.dtype)
        for _ in range(500):
            call(x)
        assert (sys.getrefcount(x), sys.getrefcount(x.dtype)) == counts
    result = call(small)
    assert sys.getrefcount(result) == 2


def test_code_goes_with_the_kernel() -> None:
    compiled = backend.compile_kernel(pointwise("log10", ("float64",)))
    call = compiled.entry()
    call(np.ones(3))
    variant, kernel = weakref.ref(compiled.variants[0]), weakref.ref(compiled)
    del compiled
    gc.collect()
    assert call(np.ones(3)).tolist() == [0.0] * 3
    assert variant() is not None
    del call
    gc.collect()
    assert kernel() is None
    assert variant() is None


def test_concurrent_callers() -> None:
    compiled = backend.compile_kernel(pointwise("exp", ("float32",)))
    call = compiled.entry()
    x = np.random.default_rng(0).standard_normal(200_000).astype(np.float32)
    want = compiled(x)
    wrong: list[int] = []

    def work() -> None:
        for n in range(30):
            if not np.array_equal(call(x), want) or not np.array_equal(call(x[: 100 + n]), want[: 100 + n]):
                wrong.append(n)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_after_fork() -> None:
    compiled = backend.compile_kernel(pointwise("exp", ("float32",)))
    call = compiled.entry()
    x = np.random.default_rng(0).standard_normal(200_000).astype(np.float32)
    want = call(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(call(x), want) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_set_num_threads_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="expects a positive number, got 0"):
        codegen.set_num_threads(0)
    before = codegen.get_num_threads()
    for wrong in (1.5, "2", True, None):
        with pytest.raises(TypeError, match="set_num_threads expects an int, but got"):
            codegen.set_num_threads(wrong)
    assert codegen.get_num_threads() == before


def test_callables_are_not_made_by_hand() -> None:
    call = backend.compile_kernel(pointwise("exp", ("float32",))).entry()
    with pytest.raises(TypeError, match="cannot create"):
        type(call)()


def test_memory_of_large_results_is_used_again_once_nobody_looks_at_it() -> None:
    call = backend.compile_kernel(pointwise("sub", ("float32", "float32"))).entry()
    g = np.random.default_rng(0)
    one = g.standard_normal(8 << 20).astype(np.float32)
    zero = np.zeros_like(one)
    call(one, zero)
    first = call(one, zero)
    address = first.ctypes.data
    window = first[1000:2000:3]
    del first
    others = [call(zero, one) for _ in range(4)]
    assert address not in [o.ctypes.data for o in others]
    np.testing.assert_array_equal(window, one[1000:2000:3])
    del window
    again = call(one, one)
    assert again.ctypes.data == address
    assert not again.any()
    for o in others:
        np.testing.assert_array_equal(o, -one)
