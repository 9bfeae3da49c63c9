"""The double of CuPy does what was measured of CuPy on a card, and refuses what that refuses."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import flambeau
from flambeau.codegen.cuda.runtime import CudaKernel
from flambeau.codegen.cuda.schedule import CudaSchedule
from tests.codegen.cuda.cuda_kernels import SOFTMAX, VARIANCE
from tests.codegen.kernels import pointwise
from tests.cuda.pretended.arena import arena
from tests.cuda.pretended.engine import engine


def test_arrays_come_and_go(pretended_cuda: Any) -> None:
    cp = pretended_cuda
    x = np.arange(6.0).reshape(2, 3)
    a = cp.asarray(x)
    assert type(a) is cp.ndarray
    assert arena.device_of(a.data.ptr) == 0
    np.testing.assert_array_equal(a.get(), x)
    np.testing.assert_array_equal((a.T @ a).get(), x.T @ x)
    assert a[1].data.ptr == a.data.ptr + 24
    assert a.T.strides == (8, 24)
    assert a.flags.c_contiguous
    assert a.T.flags.f_contiguous
    assert a.sum().shape == ()
    assert float(a.sum()) == 15
    a[0, np.array([0, 1])] = 1.0
    assert a[np.array([0, 1])].get()[0].tolist() == [1, 1, 2]
    assert a[a > 2].tolist() == [3, 4, 5]
    a += 1
    assert a.tolist() == [[2, 2, 3], [4, 5, 6]]


def test_numpy_dispatches_as_measured(pretended_cuda: Any) -> None:
    cp = pretended_cuda
    a = cp.arange(6.0).reshape(2, 3)
    ways = {
        "add": lambda: np.add(a, a),
        "number": lambda: np.add(a, np.float64(2)),
        "concatenate": lambda: np.concatenate([a, a]),
        "where": lambda: np.where(a > 2, a, 0.0),
        "sum": lambda: np.sum(a, axis=1),
        "einsum": lambda: np.einsum("ij,kj->ik", a, a),
        "broadcast_to": lambda: np.broadcast_to(a, (4, 2, 3)),
        "empty_like": lambda: np.empty_like(a),
        "inv": lambda: np.linalg.inv(a @ a.T + cp.eye(2)),
        "windows": lambda: np.lib.stride_tricks.sliding_window_view(a, 2, 1),
        "out": lambda: np.add(a, a, out=a),
    }
    for name, way in ways.items():
        assert type(way()) is cp.ndarray, name
    assert np.add(a, a, out=a) is a
    refused = {
        "0-d": lambda: np.add(a, np.array(2.0)),
        "array": lambda: a + np.ones(3),
        "ascontiguousarray": lambda: np.ascontiguousarray(a.T),
        "asarray": lambda: np.asarray(a),
        "as_strided": lambda: np.lib.stride_tricks.as_strided(a, (2, 2), (8, 8)),
        "at": lambda: np.add.at(a, 0, 1),
        "reduceat": lambda: np.add.reduceat(a, [0, 1]),
        "unknown": lambda: np.block([a, a]),
        "keyword": lambda: np.sum(a, where=a > 2),
    }
    for name, way in refused.items():
        with pytest.raises(TypeError):
            print(name, way())
    with pytest.raises(ValueError, match=r"non-scalar numpy.ndarray cannot be used for fill"):
        a[0] = np.ones(3)
    with pytest.raises(TypeError, match=r"Unsupported type <class 'numpy.ndarray'>"):
        np.add(a, np.array(2.0))
    with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
        np.asarray(a)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.complex64, np.int8, np.bool_])
def test_dtypes(pretended_cuda: Any, dtype: Any) -> None:
    a = pretended_cuda.asarray(np.ones((2, 2), dtype))
    assert (a * a).dtype == dtype
    assert (a @ a).dtype == dtype
    assert a.real.astype(np.float32).get().tolist() == [[1, 1], [1, 1]]


def test_memory_is_accounted_for(pretended_cuda: Any) -> None:
    runtime = pretended_cuda.cuda.runtime
    free, total = runtime.memGetInfo()
    address = runtime.malloc(1000)
    assert runtime.memGetInfo() == (free - 1024, total)
    runtime.free(address)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidValue"):
        runtime.free(address)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorIllegalAddress"):
        runtime.memsetAsync(address, 0, 8, 0)
    arena.mistakes.clear()
    arena.regions[0].total = 1 << 20
    with pytest.raises(pretended_cuda.cuda.memory.OutOfMemoryError, match="Out of memory allocating 2,097,152 bytes"):
        pretended_cuda.cuda.alloc(2 << 20)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorMemoryAllocation: out of memory"):
        runtime.malloc(2 << 20)


def test_the_host_cannot_read_it() -> None:
    program = (
        "import numpy as np\n"
        "from tests.cuda.pretended.arena import arena\n"
        "address = arena.allocate(64, 0)\n"
        "class A: __array_interface__ = dict(data=(address, False), shape=(8,), typestr='<f8', version=3)\n"
        "a = np.asarray(A())\n"
        "print(a.strides, flush=True)\n"
        "print(a.sum())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode < 0
    assert done.stdout == "(8,)\n"


def test_devices_do_not_mix(pretended_cuda: Any) -> None:
    cp = pretended_cuda
    a = cp.ones(3)
    with cp.cuda.Device(1):
        b = cp.ones(3)
        assert b.device.id == 1
        with pytest.raises(ValueError, match=r"resides \(0\) is different from the current device \(1\)"):
            a + b
    assert a.get().tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "schedule", [None, CudaSchedule("warp", 32), CudaSchedule("thread", 32), CudaSchedule("block", 64)]
)
def test_kernels_run(pretended_cuda: Any, schedule: CudaSchedule | None) -> None:
    cp = pretended_cuda
    x = np.random.default_rng(0).normal(size=(5, 70)).astype(np.float32)
    run = CudaKernel(SOFTMAX, schedule=schedule, cupy=cp)
    expected = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(run(cp.asarray(x)).get(), expected, rtol=1e-5)
    assert [launch[0] for launch in engine.launches] == ["flambeau_softmax"]
    y = np.random.default_rng(0).normal(size=100)
    v, off = CudaKernel(VARIANCE, cupy=cp)(cp.asarray(y))
    np.testing.assert_allclose(v.get(), y.var())
    np.testing.assert_allclose(off.get(), y - y.mean())


def test_a_missing_wait_shows(pretended_cuda: Any) -> None:
    cp = pretended_cuda
    run = CudaKernel(pointwise("exp", ("float32",)), cupy=cp)
    with engine.later():
        side = cp.cuda.Stream(non_blocking=True)
        x = cp.zeros(40, np.float32)
        with side:
            y = run(x)
            z = y + 1
        assert y.get().tolist() != [1] * 40
        event = side.record()
        assert not event.done
        cp.cuda.Stream.null.wait_event(event)
        assert y.get().tolist() == [1] * 40
        assert z.get().tolist() == [2] * 40
        with side:
            x += 1
        assert x.get().tolist() == [0] * 40
        side.synchronize()
        assert x.get().tolist() == [1] * 40


def test_captures_are_replayed(pretended_cuda: Any) -> None:
    cp = pretended_cuda
    run = CudaKernel(pointwise("exp", ("float32",)), cupy=cp)
    x = cp.zeros(40, np.float32)
    run(x)
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        y = run(x)
        y += 1
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="not permitted when stream is capturing"):
            stream.synchronize()
        graph = stream.end_capture()
        x.fill(1)
        graph.launch(stream)
        np.testing.assert_allclose(y.get(), np.e + 1, rtol=1e-6)
        x.fill(2)
        graph.launch()
        np.testing.assert_allclose(y.get(), np.e**2 + 1, rtol=1e-6)


def test_capsules(pretended_cuda: Any) -> None:
    cp = pretended_cuda
    a = cp.arange(6, dtype=np.int32).reshape(2, 3).T
    b = cp.from_dlpack(a)
    assert b.data.ptr == a.data.ptr
    assert b.get().tolist() == a.get().tolist()


def test_places_out_of_range_come_round_again(cuda: Any) -> None:
    a = cuda.arange(3)
    assert a[cuda.asarray([3, -4])].tolist() == [0, 2]
    assert cuda.take(a, cuda.asarray([5])).tolist() == [2]
    a[cuda.asarray([4])] = 7
    assert a.tolist() == [0, 7, 2]
    with pytest.raises(IndexError):
        a[3]


def test_linear_algebra_raises_where_it_is_told_to(pretended_cuda: Any) -> None:
    a = pretended_cuda.zeros((2, 2))
    assert np.isnan(np.linalg.inv(a).get()).all()
    assert np.isnan(np.linalg.cholesky(a - 1).get()).all()
    with pretended_cuda.cupyx.errstate(linalg="raise"), pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(a)


@pytest.mark.parametrize("name", ["inv", "cholesky", "solve"])
def test_operators_raise_for_singular_matrices(cuda: Any, name: str) -> None:
    a = -flambeau.ones(2, 2)
    others = [flambeau.ones(2, 2)] if name == "solve" else []
    with pytest.raises(RuntimeError) as on_host:
        getattr(flambeau.linalg, name)(a, *others)
    with pytest.raises(RuntimeError) as on_device:
        getattr(flambeau.linalg, name)(a.to("cuda"), *[o.to("cuda") for o in others])
    assert str(on_device.value) == str(on_host.value)
