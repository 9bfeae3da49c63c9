"""`flambeau doctor`: what this installation can do, shown by doing it, and what slows it down."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Iterator
from typing import TextIO

import numpy as np

import flambeau
from flambeau.codegen.llvm.engine import available, engine
from flambeau.codegen.llvm.host import VARIABLE, ProcessorError, this_host

OPTIONAL = {
    "llvmlite": "native code", "numba": "calls between scripts and njit functions", "igraph": "pictures of graphs",
    "torch": "comparisons in tests and benchmarks", "jax": "comparisons in benchmarks", "cupy": "CUDA",
}  # fmt: skip
TELLING = (
    "avx",
    "avx2",
    "fma",
    "f16c",
    "bmi2",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512vl",
    "neon",
    "sve",
)
"""Features that make a difference to speed, as LLVM calls them."""
SLOWING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
CHECK = """
def check(x, y):
    return flambeau.tanh(x * y) + x.sum()
"""


def findings() -> Iterator[tuple[bool, str]]:
    """(all is well, what was found), one by one."""
    yield True, f"flambeau {flambeau.__version__} on Python {platform.python_version()}, {platform.machine()}"
    yield True, f"NumPy {np.__version__}"
    for name, purpose in OPTIONAL.items():
        try:
            yield True, f"{name} {importlib.metadata.version(name)}: {purpose}"
        except importlib.metadata.PackageNotFoundError:
            yield name != "llvmlite", f"{name} is not installed: {purpose}"
    is_well, text = _native_code()
    yield is_well, text
    for name in SLOWING:
        if name in os.environ:
            yield False, f"{name}={os.environ[name]} is set: NumPy's matrix products may run at half speed; unset it"
    if is_well or not available():
        yield from _self_test()


def _native_code() -> tuple[bool, str]:
    """Which processor native code is made for, what it has, and who chose it."""
    if not available():
        return False, "no native code: programs are interpreted"
    try:
        processor = engine().processor
    except ProcessorError as error:
        return False, str(error)
    level = processor.level or processor.cpu
    has = f"vectors of {processor.target.vector_bits} bits, {processor.target.vector_registers} of them in registers"
    features = " ".join(f for f in TELLING if processor.has(f))
    text = f"LLVM makes code for {level}: {has}{', with ' if features else ''}{features}"
    host = this_host()
    chosen = f"chosen by {VARIABLE}={processor.cpu}; this processor, {host.cpu}, is of level {host.level}"
    return True, f"{text} ({chosen if processor.is_chosen else f'{processor.cpu}, this processor'})"


def _self_test() -> Iterator[tuple[bool, str]]:
    start = time.perf_counter()
    unit = flambeau.CompilationUnit(CHECK)
    x = np.linspace(-2.0, 2.0, 1000, dtype=np.float32)
    got = unit.check(flambeau.from_numpy(x), flambeau.from_numpy(x)).numpy()
    seconds = time.perf_counter() - start
    exact = x.astype(np.float64)
    wrong = float(np.abs(got - (np.tanh(exact * exact) + exact.sum())).max())
    yield wrong < 1e-4, f"a small program compiled and ran in {seconds * 1e3:.0f} ms, wrong by {wrong:.0e} at most"


def report(out: TextIO) -> int:
    """Print every finding; 0 when all is well, else 1."""
    status = 0
    for is_well, text in findings():
        out.write(f"{'ok ' if is_well else '!! '} {text}\n")
        status = status if is_well else 1
    return status
