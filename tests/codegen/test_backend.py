"""The face of native code: what can be looked at, and what is said where LLVM is missing."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import backend
from flambeau.codegen.kernel import KernelBuilder, KernelError, element_type
from flambeau.codegen.lower import Lowered
from tests.codegen.kernels import pointwise


def test_everything_can_be_looked_at() -> None:
    compiled = backend.compile_kernel(pointwise("exp", ("float32",), rank=2))
    assert "0 launches, 0 variants" in compiled.explain()
    compiled(np.ones((3, 4), np.float32))
    text = compiled.explain()
    assert "kernel exp: 1 launches, 1 variants" in text
    assert "inputs (3, 4): 96 bytes, 12 operations" in text
    assert "define void @flambeau_kernel(ptr %block, i64 %low, i64 %high)" in backend.llvm_ir(compiled)
    assert "flambeau_kernel" in backend.asm(compiled)


def test_patterns_that_come_down_to_one_loop_share_code() -> None:
    compiled = backend.compile_kernel(pointwise("exp", ("float32",), rank=3))
    for shape in ((64, 2, 2), (4, 4, 16), (1, 256, 1)):
        compiled(np.ones(shape, np.float32))
    assert len(compiled.variants) == 1
    other = backend.compile_kernel(pointwise("exp", ("float32",)))
    other(np.ones(256, np.float32))
    renamed = other.variants[0].kernel
    assert renamed.axes == compiled.variants[0].kernel.axes


def test_without_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "available", lambda: False)
    kernel = pointwise("exp", ("float32",))
    with pytest.raises(RuntimeError, match="native code needs llvmlite, which is not installed: pip install llvmlite"):
        backend.compile_kernel(kernel)
    with pytest.raises(RuntimeError, match="native code needs llvmlite"):
        backend.compile_lowered(Lowered(kernel))


def test_builder_refuses() -> None:
    b = KernelBuilder("k", ("i",))
    b.input("x", "float32", ("i",))
    with pytest.raises(KernelError, match="buffer x is declared twice"):
        b.input("x", "float32", ("i",))
    with b.loop("i"):
        x = b.load("x")
        with pytest.raises(
            KernelError, match=r"add takes operands of one dtype, got \(float32, int64\); cast them first"
        ):
            b.apply("add", x, b.const(1, "int64"))
        with pytest.raises(KernelError, match=r"select takes \(bool, T, T\), got \(float32, float32, float32\)"):
            b.apply("select", x, x, x)


def test_unknown_dtype() -> None:
    with pytest.raises(KernelError, match="kernels do not compute in dtype 'complex32'; they know float32, float64"):
        element_type("complex32")


def test_equal_expressions_are_one() -> None:
    b = KernelBuilder("k", ("i",))
    b.input("x", "float32", ("i",))
    with b.loop("i"):
        assert b.apply("exp", b.load("x")) == b.apply("exp", b.load("x"))
