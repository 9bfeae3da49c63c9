"""Kernels for CUDA, and ways to run them, that the tests share."""

from __future__ import annotations

import importlib.util
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen.cuda.bound_program import BoundProgram, Layout, bind_program
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.kernel import Carry, Kernel, KernelBuilder, parse_kernel
from tests.codegen import kernels
from tests.codegen.kernels import random_values

Array = npt.NDArray[Any]

SOFTMAX = parse_kernel(kernels.SOFTMAX)
VARIANCE = parse_kernel("""
kernel variance {
  axes i
  in x: float64[i]
  out v: float64[]
  out off: float64[i]
  for i reduce total: float64 = sum {
    %0: float64 = load x[i]
    total <- %0
  }
  %1: int64 = extent i
  %2: float64 = cast %1
  %3: float64 = div total, %2
  for i reduce squares: float64 = sum {
    %4: float64 = load x[i]
    %5: float64 = sub %4, %3
    %6: float64 = mul %5, %5
    squares <- %6
  }
  %7: float64 = div squares, %2
  for i {
    %8: float64 = load x[i]
    %9: float64 = sub %8, %3
    store off[i], %9
  }
  store v[], %7
}
""")


def add_broadcast() -> Kernel:
    """``y = x + w`` with ``w`` along the last axis, and ``z = x * c`` of a number."""
    b = KernelBuilder("affine", ("i", "j"))
    b.input("x", "float32", ("i", "j"))
    b.input("w", "float32", ("j",))
    b.input("c", "float64", ())
    b.output("y", "float32", ("i", "j"))
    b.output("z", "float64", ("i", "j"))
    with b.loop("i", "j"):
        x = b.load("x")
        b.store("y", b.apply("add", x, b.load("w")))
        b.store("z", b.apply("mul", b.cast(x, "float64"), b.load("c")))
    return b.kernel()


def fold(reducer: str, dtype: str, *, rows: bool) -> Kernel:
    """One fold, of each row or of everything."""
    b = KernelBuilder("fold", ("i", "j") if rows else ("j",))
    b.input("x", dtype, b.axes)

    def inner() -> None:
        with b.loop("j", carries=(Carry("s", dtype, reducer),)):
            b.accumulate("s", b.load("x"), b.position("j") if reducer.startswith("arg") else None)

    if rows:
        with b.loop("i"):
            inner()
            b.output("y", b.dtypes["s"], ("i",))
            b.store("y", "s")
    else:
        inner()
        b.output("y", b.dtypes["s"], ())
        b.store("y", "s")
    return b.kernel()


def random_inputs(kernel: Kernel, sizes: dict[str, int], *, turned: bool = False) -> list[Array]:
    """Values for every input, row-major or with strides of their own."""
    found = []
    for number, buffer in enumerate(kernel.inputs):
        shape = [sizes[a] for a in buffer.axes]
        a = random_values(buffer.dtype, int(np.prod(shape)), number).reshape(shape)
        found.append(np.asfortranarray(a)[..., ::-1] if turned and shape else a)
    return found


def bound_for(kernel: Kernel, *arrays: Array, schedule: CudaSchedule | None = None) -> BoundProgram:
    """The program for arrays like these."""
    return bind_program(kernel, (), [Layout.of(a) for a in arrays], schedule)


SCHEDULES = (
    None,
    CudaSchedule("thread", 32, max_blocks=3),
    CudaSchedule("warp", 64, shared_scratch=True),
    CudaSchedule("block", 64, shared_scratch=True, narrow=True),
    CudaSchedule("block", 64, max_blocks=2),
    CudaSchedule("block", 96, alone=True, max_blocks=1),
)
"""What is chosen, and each kind of schedule in turn."""


def pick(seed: int) -> CudaSchedule | None:
    """A schedule for a test's number."""
    return SCHEDULES[random.Random(seed).randrange(len(SCHEDULES))]


def ptxas() -> Path | None:
    """NVIDIA's assembler, where its wheel is installed."""
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec is not None else ():
        for found in Path(root).glob("*/bin/ptxas*"):
            return found
    return None


def assemble(tool: Path, text: str, arch: str, folder: Path) -> bytes:
    """The machine code of some PTX; fails with the assembler's messages."""
    source, target = folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(text)
    command = [str(tool), f"-arch={arch}", "-O1", "-o", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + text
    return target.read_bytes()
