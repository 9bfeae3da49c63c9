"""Launches through CuPy: with a GPU where there is one, and everything but the GPU where there is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from flambeau.codegen import reference
from flambeau.codegen.cuda.emit import symbol_of
from flambeau.codegen.cuda.runtime import CudaKernel, architecture_for
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.kernel import KernelError
from flambeau.cuda import library
from tests.codegen.cuda.cuda_kernels import SCHEDULES, SOFTMAX, VARIANCE, add_broadcast, fold, random_inputs
from tests.codegen.cuda.on_host import HostGrid
from tests.codegen.kernel.test_random_kernels import random_kernel
from tests.codegen.kernels import pointwise

REASON = library.unavailable()
needs_gpu = pytest.mark.skipif(REASON is not None, reason=str(REASON))


class Module:
    """A loaded module whose functions run on this machine's processor."""

    def __init__(self) -> None:
        self.launches: list[tuple[str, tuple[int, ...], tuple[int, ...], int]] = []
        self.text = b""
        self.kernel: CudaKernel | None = None

    def load(self, text: bytes) -> None:
        self.text = text

    def get_function(self, name: str) -> Any:
        assert self.kernel is not None
        assert f".visible .entry {name}(".encode() in self.text
        bound = next(iter(self.kernel.programs_cache.values))
        grid = HostGrid(bound)
        mapped = next(k for k in grid.program.kernels if symbol_of(k) == name)

        def run(blocks: tuple[int, ...], threads: tuple[int, ...], given: tuple[Any, ...], *, shared_mem: int) -> None:
            self.launches.append((name, blocks, threads, shared_mem))
            assert threads == (mapped.threads,)
            grid.launch(mapped, given, blocks[0])

        return run


def pretended(module: Module, capability: str = "90") -> Any:
    """The part of CuPy that launching uses, on NumPy arrays."""
    device = SimpleNamespace(id=0, compute_capability=capability)
    return SimpleNamespace(
        ndarray=np.ndarray, asarray=np.asarray, empty=np.empty, zeros=np.zeros,
        cuda=SimpleNamespace(Device=lambda: device, Module=lambda: module),
    )  # fmt: skip


def prepared(kernel: Any, schedule: CudaSchedule | None = None) -> tuple[CudaKernel, Module]:
    module = Module()
    module.kernel = CudaKernel(kernel, schedule=schedule, cupy=pretended(module))
    return module.kernel, module


def test_rows() -> None:
    x = np.random.default_rng(0).normal(size=(3, 40)).astype(np.float32)
    run, module = prepared(SOFTMAX, CudaSchedule("warp", 32, shared_scratch=True))
    np.testing.assert_allclose(run(x), np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5)
    assert module.launches == [("flambeau_softmax", (3,), (32,), 160)]
    run(x)
    assert len(module.launches) == 2
    assert len(run._modules) == 1


def test_several_kernels_and_outputs() -> None:
    x = np.random.default_rng(0).normal(size=100)
    run, module = prepared(VARIANCE, CudaSchedule("thread", 32, max_blocks=2))
    v, off = run(x)
    np.testing.assert_allclose(v, x.var())
    np.testing.assert_allclose(off, x - x.mean())
    assert [(name, blocks) for name, blocks, _, _ in module.launches] == [
        (f"flambeau_variance_{k}", (1 if k == 3 else 2,)) for k in range(4)
    ]


def test_numbers_strides_and_layout_of_results() -> None:
    x, w = np.arange(12, dtype=np.float32).reshape(4, 3).T, np.ones(4, np.float32)
    run, _ = prepared(add_broadcast())
    y, z = run(x, w, 2.0)
    np.testing.assert_array_equal(y, x + 1)
    np.testing.assert_array_equal(z, x * 2.0)
    assert y.strides == x.strides


def test_nothing_is_launched_for_nothing() -> None:
    run, module = prepared(pointwise("exp", ("float32",)))
    assert run(np.empty(0, np.float32)).shape == (0,)
    assert module.launches == []


def test_errors() -> None:
    run, _ = prepared(pointwise("floordiv", ("int32", "int32")))
    x = np.array([4, 5], np.int32)
    with pytest.raises(ZeroDivisionError):
        run(x, np.array([1, 0], np.int32))
    np.testing.assert_array_equal(run(x, x), [1, 1])
    with pytest.raises(KernelError, match="floordiv: expected 2 inputs, got 1"):
        run(x)
    with pytest.raises(KernelError, match="floordiv: input x1 has dtype int64, expected int32"):
        run(x, np.array([1, 2]))


def test_architectures_of_devices() -> None:
    assert [architecture_for(c) for c in ("70", "75", "90", "88", "121")] == [
        "sm_70",
        "sm_75",
        "sm_90",
        "sm_87",
        "sm_120",
    ]
    with pytest.raises(RuntimeError, match="compute capability 61 is too old: kernels need 70"):
        architecture_for("61")


def test_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise ImportError("cupy")

    def devices(count: int) -> Any:
        return SimpleNamespace(cuda=SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=lambda: count)))

    def broken() -> int:
        raise RuntimeError("no driver")

    driverless = SimpleNamespace(cuda=SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=broken)))
    for installed, reason in [
        (missing, "CuPy is not installed: pip install flambeau[cuda]"),
        (lambda: devices(0), "there is no GPU here"),
        (lambda: driverless, "there is no GPU here: no driver"),
        (lambda: devices(1), None),
    ]:
        monkeypatch.setattr(library, "_installed", installed)
        assert library._why_not.__wrapped__() == reason


@needs_gpu
@pytest.mark.parametrize("seed", range(20))
def test_random_kernels_on_a_gpu(seed: int) -> None:
    import cupy

    kernel = random_kernel(seed)
    arrays = random_inputs(kernel, {"i": 3, "j": 70}, turned=bool(seed % 2))
    with np.errstate(all="ignore"):
        (want,) = reference.run(kernel, *arrays)
    got = CudaKernel(kernel, schedule=SCHEDULES[seed % 5])(*map(cupy.asarray, arrays))
    np.testing.assert_array_equal(cupy.asnumpy(got), want)


@needs_gpu
@pytest.mark.parametrize("columns", [1, 33, 1000, 30000])
def test_rows_on_a_gpu(columns: int) -> None:
    import cupy

    x = np.random.default_rng(0).normal(size=(65, columns)).astype(np.float32)
    got = cupy.asnumpy(CudaKernel(SOFTMAX)(cupy.asarray(x)))
    power = np.exp((x - x.max(1, keepdims=True)).astype(np.float64))
    np.testing.assert_allclose(got, power / power.sum(1, keepdims=True), rtol=1e-5)


@needs_gpu
def test_folds_on_a_gpu_give_the_same_bits_every_time() -> None:
    import cupy

    x = cupy.asarray(np.random.default_rng(0).normal(size=3_000_000))
    run = CudaKernel(fold("sum", "float64", rows=False))
    first = cupy.asnumpy(run(x))
    np.testing.assert_allclose(first, cupy.asnumpy(x).sum(), rtol=1e-10)
    assert all(cupy.asnumpy(run(x)) == first for _ in range(3))
