"""PTX: accepted by NVIDIA's assembler, rounded as written, and refused with reasons where it cannot be made."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from flambeau.codegen.cuda.bound_program import BoundProgram
from flambeau.codegen.cuda.device_math import device_functions
from flambeau.codegen.cuda.emit import emit_module, parameters, symbol_of
from flambeau.codegen.cuda.mapped import MappedKernel, shared_bytes
from flambeau.codegen.cuda.ptx import ARCHITECTURES, programs_ptx, to_ptx
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES
from flambeau.codegen.kernel.opset import OPS
from flambeau.codegen.lower import LoweringError
from flambeau.util.record import replace
from tests.codegen.cuda.cuda_kernels import (
    SCHEDULES,
    SOFTMAX,
    VARIANCE,
    add_broadcast,
    assemble,
    bound_for,
    fold,
    ptxas,
    random_inputs,
)
from tests.codegen.kernel.test_random_kernels import random_kernel
from tests.codegen.kernels import pointwise

ARCHS = ("sm_75", "sm_90", "sm_100")
TOOL = ptxas()
needs_ptxas = pytest.mark.skipif(TOOL is None, reason="ptxas is not installed: pip install nvidia-cuda-nvcc-cu12")


def renamed(plans: list[BoundProgram]) -> list[MappedKernel]:
    """The kernels of many plans, each with a name of its own."""
    kernels = [k for bound in plans if bound.program is not None for k in bound.program.kernels]
    return [replace(k, name=f"k{n}") for n, k in enumerate(kernels)]


def checked(kernels: list[MappedKernel], arch: str, folder: Path) -> str:
    """PTX that the assembler took."""
    assert TOOL is not None
    text = to_ptx(emit_module(kernels), arch)
    assert f".target {arch}" in text
    assert all(f".visible .entry {symbol_of(k)}(" in text for k in kernels)
    assert assemble(TOOL, text, arch, folder)[:4] == b"\x7fELF"
    return text


def nests() -> list[BoundProgram]:
    """Softmax, variance and others under each schedule."""
    x, row = np.ones((5, 70), np.float32), np.ones(300)
    plans = [bound_for(SOFTMAX, x, schedule=s) for s in SCHEDULES]
    plans += [bound_for(VARIANCE, row), bound_for(VARIANCE, row, schedule=CudaSchedule("thread", 64, max_blocks=2))]
    plans.append(bound_for(add_broadcast(), x[:, ::-2], np.ones(1, np.float32), np.float64(1)))
    return plans


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHS)
def test_nests_assemble(arch: str, tmp_path: Path) -> None:
    folds = [
        bound_for(fold(reducer, dtype, rows=rows), np.ones((3, 40) if rows else 40, dtype))
        for reducer, dtype in [
            ("sum", "float64"),
            ("argmax", "int8"),
            ("any", "bool"),
            ("max", "uint8"),
            ("prod", "int16"),
        ]
        for rows in (False, True)
    ]
    kernels = renamed(nests() + folds)
    text = checked(kernels, arch, tmp_path)
    # One rounding an operation; the assembler may fuse only what does not say how it is rounded.
    assert not re.search(r"\b(add|sub|mul)\.f(32|64)\b", text)
    assert ".approx" not in text
    assert ".ftz" not in text


@needs_ptxas
@pytest.mark.parametrize("dtype", list(ELEMENT_TYPES))
def test_operations_assemble(dtype: str, tmp_path: Path) -> None:
    one = np.ones(3, dtype)
    ops = [op for op, spec in OPS.items() if ELEMENT_TYPES[dtype].kind in spec.kinds and spec.result != "whole"]
    plans = [bound_for(pointwise(op, (dtype,) * OPS[op].arity), *[one] * OPS[op].arity) for op in ops]
    plans += [bound_for(pointwise("cast", (dtype,), to=other), one) for other in ELEMENT_TYPES]
    checked(renamed(plans), "sm_75", tmp_path)


@needs_ptxas
def test_random_kernels_assemble(tmp_path: Path) -> None:
    plans = []
    for seed in range(20):
        kernel = random_kernel(seed)
        arrays = random_inputs(kernel, {"i": 3, "j": 40}, turned=bool(seed % 2))
        plans.append(bound_for(kernel, *arrays, schedule=SCHEDULES[seed % 5]))
    checked(renamed(plans), "sm_90", tmp_path)


def test_the_flag_decides_on_fused_multiply_add() -> None:
    from flambeau.codegen.kernel import KernelBuilder

    b = KernelBuilder("axpy", ("i",))
    for name in ("x", "y"):
        b.input(name, "float32", ("i",))
    b.output("z", "float32", ("i",))
    with b.loop("i"):
        b.store("z", b.apply("add", b.apply("mul", b.load("x"), b.load("x")), b.load("y")))
    kernel, x = b.kernel(), np.ones(4, np.float32)
    for contract in (False, True):
        bound = bound_for(kernel, x, x, schedule=CudaSchedule(contract=contract))
        assert bound.program is not None
        text = programs_ptx([bound.program], "sm_90", {})
        assert ("fma.rn.f32" in text) is contract


def test_memory_spaces_and_block_size() -> None:
    bound = bound_for(SOFTMAX, np.ones((3, 70), np.float32), schedule=CudaSchedule("block", 64, shared_scratch=True))
    assert bound.program is not None
    text = programs_ptx([bound.program], "sm_90", {"softmax": "what it is\nand from where"})
    assert "// what it is\n// and from where\n\n.extern" not in text
    assert "// what it is\n// and from where\n" in text
    assert ".reqntid 64" in text
    assert "ld.shared" in text
    assert "st.shared" in text
    assert "ld.global" in text
    assert "bar.sync" in text
    assert "shfl.sync.down" in text
    assert ".local" not in text  # every variable is a register
    (kernel,) = bound.program.kernels
    assert shared_bytes(kernel, bound.program.all_sizes(bound.sizes)) == 280
    assert [p.name for p in parameters(kernel)] == ["x", "y", "a0", "a1", "x", "x", "y", "y"]


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no device architecture is called 'sm_42'; write one of sm_70, .*sm_90, "):
        to_ptx("", "sm_42")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_named_is_known_to_llvm(arch: str, capfd: pytest.CaptureFixture[str]) -> None:
    bound = bound_for(fold("sum", "float32", rows=False), np.ones(40, np.float32))
    assert bound.program is not None
    assert f".target {arch}" in programs_ptx([bound.program], arch, {})
    assert "not a recognized processor" not in capfd.readouterr().err


def test_a_function_without_device_code_is_refused() -> None:
    with pytest.raises(LoweringError, match="'lgamma' has no device code"):
        device_functions(("fmod", "lgamma"))


@needs_ptxas
def test_names_that_ptx_reserves(tmp_path: Path) -> None:
    assert TOOL is not None
    bound = bound_for(pointwise("add", ("float32", "float32")), *[np.ones(3, np.float32)] * 2)
    assert bound.program is not None
    assert assemble(TOOL, programs_ptx([bound.program], "sm_90", {}), "sm_90", tmp_path)


def test_without_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.codegen.cuda import ptx

    monkeypatch.setattr(ptx, "available", lambda: False)
    with pytest.raises(RuntimeError, match="PTX needs llvmlite, which is not installed: pip install llvmlite"):
        to_ptx("", "sm_90")
