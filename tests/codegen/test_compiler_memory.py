"""What compiling takes is given back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flambeau.codegen import available

PROGRAM = """
import gc, sys
from flambeau.codegen.llvm.compiler import Compiler
from flambeau.codegen.llvm.host import this_host

def text(number):
    lines = [f"define double @f{number}(double %x) {{"]
    lines += [f"  %v{k + 1} = fadd double %{'x' if k == 0 else f'v{k}'}, {number * 0.5 + k + 0.25}" for k in range(60)]
    return "\\n".join([*lines, "  ret double %v60", "}"])

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

compiler = Compiler(this_host())
for number in range(90):
    compiler.compile(text(number), is_glue=False, optimise=True)
    if number == 30:
        before = resident()
print(resident() - before)
"""


@pytest.mark.skipif(not available(), reason="llvmlite is not installed")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is read from /proc")
def test_modules_that_were_compiled_leave_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2 << 20  # sixty modules took 6 MB when LLVM's passes stayed
