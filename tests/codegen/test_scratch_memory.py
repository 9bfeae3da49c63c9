"""Kernels that ask for memory to work in, where there is none."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import backend, variants
from flambeau.codegen.convolutions import channel_launches, point_launches, run, taps_launches, windows
from flambeau.codegen.llvm import memory
from flambeau.codegen.llvm.engine import available, memory_imports
from flambeau.codegen.products import tiling
from tests.codegen.llvm.test_packing import TWO, packs
from tests.codegen.lower.test_lower import graph
from tests.codegen.products.product_groups import compiled

pytestmark = pytest.mark.skipif(not available(), reason="no LLVM")


class Allocator:
    """The memory functions of kernels, which give null while they are told to."""

    def __init__(self) -> None:
        self.gives_none = False
        self.refused = 0
        imports = memory_imports()
        self._raw = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(imports[memory.ALLOCATE])
        self._asked = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(self._ask)
        self.imports = imports | {memory.ALLOCATE: ctypes.cast(self._asked, ctypes.c_void_p).value or 0}

    def _ask(self, size: int) -> int | None:
        self.refused += self.gives_none
        return None if self.gives_none else self._raw(size)


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Allocator]:
    one = Allocator()
    monkeypatch.setattr(variants, "memory_imports", lambda: one.imports)
    monkeypatch.setattr(variants, "_variants", {})
    yield one
    one.gives_none = False


CODES = (
    channel_launches._code, point_launches._code, taps_launches._code, run.sums_code, run.slopes_code,
    windows.largest_code,
)  # fmt: skip


@pytest.fixture
def codes_of_convolutions(allocator: Allocator, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Convolutions ask `allocator` for memory, and nothing else uses their code."""
    monkeypatch.setattr(run, "memory_imports", lambda: allocator.imports)
    for code in CODES:
        code.cache_clear()
    yield
    for code in CODES:
        code.cache_clear()


def numbers(*sizes: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(sizes).astype(np.float32)


def soft(x: Tensor) -> Tensor:
    return flambeau.softmax(x * 1.25, -1)


def soft_in_loop(x: Tensor) -> Tensor:
    total = flambeau.zeros_like(x)
    for k in range(3):
        total = total + flambeau.softmax(x * float(k + 7), -1)
    return total


@pytest.mark.parametrize("function", [soft, soft_in_loop])
def test_no_memory_is_an_error_at_the_programs_line(function: Callable[..., Tensor], allocator: Allocator) -> None:
    program, x = flambeau.script(function), flambeau.from_numpy(numbers(70, 300))
    expected = program(x)
    for _ in range(3):
        assert np.array_equal(program(x).numpy(), expected.numpy())
    for _ in range(2):
        allocator.gives_none = True
        with pytest.raises(MemoryError, match=r"(not enough|did not fit into) memory") as raised:
            program(x)
        assert f"{__file__}" in str(raised.value)
        assert "flambeau.softmax(x * " in str(raised.value)
        allocator.gives_none = False
        assert np.array_equal(program(x).numpy(), expected.numpy())


@pytest.mark.parametrize("shape", [(100, 5), (700, 129)])
def test_copies_of_inputs(shape: tuple[int, int], allocator: Allocator) -> None:
    kernel = backend.compile_graph(graph(TWO.format("Float"), "%a : Tensor = aten::add(%x, %y, %one)", "%a"))
    x, y = numbers(*shape), numbers(*shape[::-1]).T
    np.testing.assert_array_equal(kernel(x, y), x + y)
    assert packs(kernel)
    allocator.gives_none = True
    with pytest.raises(MemoryError, match="not enough memory for what operators keep while they run"):
        kernel(x, y)


@pytest.mark.parametrize("is_large", [False, True])
def test_copies_of_columns_and_products_by_blas(
    is_large: bool, allocator: Allocator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiling, "BLAS_FROM", 1 if is_large else 1 << 60)
    monkeypatch.setattr(tiling, "BLAS_FROM_NARROW", 1 if is_large else 1 << 60)
    kernel = compiled("mm", (2, 2), "float32", "isfinite")
    x, w = numbers(40, 3000), numbers(3000, 48)
    assert kernel(x, w).all()
    (variant,) = kernel.variants
    schedule: Any = variant.schedule
    assert schedule.form == "blas" or schedule.packed
    allocator.gives_none = True
    with pytest.raises(MemoryError, match="not enough memory for what operators keep while they run"):
        kernel(x, w)



EACH_CHANNEL = "flambeau.conv2d(x, flambeau.ones(16, 1, 3, 3), None, 1, 1, 1, 16)"
FEW_PLACES = "flambeau.conv2d(x, flambeau.ones(48, 16, 5, 4))"
WINDOWS = "flambeau.conv2d(x, flambeau.ones(48, 16, 2, 3), None, 1, 1)"
NORMED = "flambeau.batch_norm({}, None, None, flambeau.zeros({n}), flambeau.ones({n}), False, 0.1, 1e-5, False)"
MEANS = "flambeau.nn.functional.interpolate(x, size=[8, 12], mode='bilinear', align_corners=True)"


@pytest.mark.parametrize(
    ("code", "function"),
    [
        (channel_launches._code, EACH_CHANNEL), (point_launches._code, FEW_PLACES), (taps_launches._code, MEANS),
        (run.sums_code, WINDOWS), (run.sums_code, NORMED.format(WINDOWS, n=48)),
    ],
)  # fmt: skip
def test_routines_of_convolutions(
    code: Any, function: str, allocator: Allocator, codes_of_convolutions: None
) -> None:
    program = flambeau.jit.CompilationUnit(f"def f(x: Tensor) -> Tensor:\n    return {function}").f
    x = flambeau.from_numpy(numbers(2, 16, 5, 4))
    for _ in range(3):
        program(x)
    assert code.cache_info().currsize, "another routine ran"
    allocator.gives_none = True
    with pytest.raises(MemoryError, match="memory") as raised:
        program(x)
    assert function in str(raised.value)
    assert allocator.refused


def test_convolutions_called_one_by_one(allocator: Allocator, codes_of_convolutions: None) -> None:
    x, w = (flambeau.from_numpy(numbers(*sizes)).requires_grad_() for sizes in ((2, 16, 5, 4), (48, 16, 2, 3)))
    y = flambeau.conv2d(x, w)
    total: Any = y.sum()
    calls: list[Callable[[], object]] = [
        lambda: flambeau.conv2d(x, w), lambda: flambeau.max_pool2d(x, 2), total.backward,
    ]  # fmt: skip
    for _ in range(2):
        for call in calls[:2]:
            call()
    allocator.gives_none = True
    for call in calls:
        with pytest.raises(MemoryError, match="not enough memory for what operators keep while they run"):
            call()
