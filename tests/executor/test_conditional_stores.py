"""An element that a condition leaves out is not written, not even with what it holds: another task may write it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.codegen.llvm.host import this_host
from flambeau.codegen.llvm.processor import LEVELS

PROGRAM = """
import ctypes, mmap, sys
import numpy as np
import flambeau

def lower(x: np.ndarray, d: np.ndarray, n: int) -> int:
    for i in range(n):
        if x[i] < d[i]:
            d[i] = x[i]
    return n

libc = ctypes.CDLL(None)
for dtype in ("int64", "int8", "float32"):
    memory = mmap.mmap(-1, 1 << 14)
    d = np.frombuffer(memory, dtype)[:1000]
    x = np.full(1000, 5, dtype)
    f = flambeau.script(lower)
    for _ in range(3):
        d[:] = 9
        f(x, d, 1000)
        assert (d == 5).all()
    d[:] = 1
    address = d.__array_interface__["data"][0]
    assert libc.mprotect(ctypes.c_void_p(address), 1 << 14, 1) == 0  # a store from here on ends the process
    assert f(x, d, 1000) == 1000
    assert (d == 1).all()
    assert libc.mprotect(ctypes.c_void_p(address), 1 << 14, 3) == 0
"""


@pytest.mark.skipif(this_host().level is None, reason="levels are those of x86-64")
@pytest.mark.parametrize("level", [name for name in LEVELS if LEVELS[name] <= LEVELS[this_host().level or "x86-64"]])
def test_c19_what_a_condition_leaves_out_is_not_stored(level: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "FLAMBEAU_CPU": level}
    ran = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
