"""What rows have beyond whole vectors: read and written by halves, and nothing beside it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau.codegen import backend, reference
from flambeau.codegen.hoist import hoist
from flambeau.codegen.kernel import Kernel, KernelBuilder
from flambeau.codegen.llvm import first_lanes
from flambeau.codegen.llvm.compiler import Compiler
from flambeau.codegen.llvm.emitter import Emitter, Value, int_constant
from flambeau.codegen.llvm.engine import Engine, engine, using
from flambeau.codegen.llvm.first_lanes import First
from flambeau.codegen.llvm.host import this_host
from flambeau.codegen.llvm.native_text import ATTRIBUTES
from flambeau.codegen.llvm.nest import emit_kernel
from flambeau.codegen.llvm.processor import LEVELS, level_of
from flambeau.codegen.schedule import Schedule
from tests.codegen.kernels import random_values

ELEMENTS = {"float32": "float", "float64": "double", "int8": "i8", "int16": "i16", "int64": "i64"}


def copier(dtype: str, lanes: int, first: First) -> Callable[..., None]:
    """Machine code that copies the first lanes of a vector, and writes what it has read in full behind the count."""
    e, element, itemsize = Emitter(engine().target), ELEMENTS[dtype], np.dtype(dtype).itemsize
    value = first_lanes.load(e, Value("%from", "ptr", 1), element, itemsize, lanes, first)
    e.write(value, Value("%seen", "ptr", 1), align=itemsize)
    first_lanes.store(e, value, Value("%to", "ptr", 1), itemsize, first)
    body = "\n".join(["entry:", *e.entry, *e.lines, "  ret void\n}"])
    head = "define void @copy(ptr %from, ptr %to, ptr %seen, i64 %n) #0 {\n"
    code = engine().link("\n".join(e.declarations) + "\n" + head + body + ATTRIBUTES, ("copy",), {})
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    call = prototype(code.addresses["copy"])

    def run(source: np.ndarray, target: np.ndarray, seen: np.ndarray, count: int) -> None:
        assert code
        call(source.ctypes.data, target.ctypes.data, seen.ctypes.data, count)

    return run


def check_copy(run: Callable[..., None], dtype: str, lanes: int, count: int) -> None:
    source = random_values(dtype, count, seed=count)
    target, seen = np.full(lanes + 8, 77, dtype), np.full(lanes, 55, dtype)
    run(source, target[4:], seen, count)
    copied = min(count, lanes)
    np.testing.assert_array_equal(target[4 : 4 + copied], source[:copied])
    assert (target[:4] == 77).all()
    assert (target[4 + copied :] == 77).all()
    np.testing.assert_array_equal(seen, np.concatenate([source[:copied], np.zeros(lanes - copied, dtype)]))


@pytest.mark.parametrize("dtype", ELEMENTS)
@pytest.mark.parametrize("lanes", [2, 8, 16])
def test_any_number_of_lanes_and_nothing_beside_them(dtype: str, lanes: int) -> None:
    run = copier(dtype, lanes, First(Value("%n", "i64", 1)))
    for count in range(lanes):
        check_copy(run, dtype, lanes, count)
    run = copier(dtype, lanes, First(Value("%n", "i64", 1), may_be_all=True))
    for count in (*range(lanes), lanes, lanes + 1, 3 * lanes):
        check_copy(run, dtype, lanes, count)
    for count in (0, 1, lanes // 2, lanes - 1):
        check_copy(copier(dtype, lanes, First(int_constant(count, "i64", 1))), dtype, lanes, count)


def sums_of_rows(dtype: str) -> Kernel:
    """x + w over rows, as `x[r, c] + w[c]`, which neighbours in memory cannot be merged for."""
    b = KernelBuilder("rows", ("r", "c"))
    x, w = b.input("x", dtype, ("r", "c")), b.input("w", dtype, ("c",))
    y = b.output("y", dtype, ("r", "c"))
    with b.loop("r", "c"):
        b.store(y, b.apply("add", b.load(x), b.load(w)))
    return b.kernel()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int64"])
def test_rows_of_any_width_at_each_level(dtype: str, level: str, engine_of: Callable[[str], Engine]) -> None:
    kernel = sums_of_rows(dtype)
    with using(engine_of(level)):
        run = backend.compile_kernel(kernel)
        # Few rows have code for any width, many have code for theirs.
        for rows, widths in ((2, (*range(1, 36), 63, 65, 101)), (2000, (3, 10, 15, 31, 50))):
            for width in widths:
                x = random_values(dtype, rows * (width + 3), seed=width).reshape(rows, -1)[:, :width]
                w = random_values(dtype, width, seed=width + 1)
                np.testing.assert_array_equal(run(x, w), x + w)
        (want,) = reference.run(kernel, x[:2], w)
        np.testing.assert_array_equal(run(x[:2], w), want)


def test_rows_of_complex_numbers() -> None:
    @flambeau.script
    def shifted(x: flambeau.Tensor, w: flambeau.Tensor) -> flambeau.Tensor:
        return x + w

    for rows, widths in ((2, range(1, 20)), (2000, (3, 10, 15))):
        for width in widths:
            x = random_values("float32", rows * (width + 3) * 2, seed=width).view(np.complex64).reshape(rows, -1)
            w = random_values("float32", 2 * width, seed=width + 1).view(np.complex64)
            got = shifted(flambeau.from_numpy(x)[:, :width], flambeau.from_numpy(w))
            np.testing.assert_array_equal(got.numpy(), x[:, :width] + w)


@pytest.mark.skipif(this_host().level is None, reason="levels are those of x86-64")
def test_processors_with_masks_of_their_own_use_them() -> None:
    schedule = Schedule(vector_axis="c", lanes=16, unit=frozenset({"x", "w", "y"}))
    asm = {}
    for level in ("x86-64-v3", "x86-64-v4"):
        processor = level_of(level, this_host().triple)
        text = emit_kernel(hoist(sums_of_rows("float32")), schedule, processor.target, "rows").text
        asm[level] = Compiler(processor).assembly(text, optimise=False)
    assert not re.search(r"vmaskmovps\s+%ymm\d+, %ymm\d+, ", asm["x86-64-v3"])
    assert re.search(r"vmovups\s+%zmm\d+, .*\{%k\d\}", asm["x86-64-v4"])
