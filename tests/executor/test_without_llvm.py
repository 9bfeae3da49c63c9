"""Without llvmlite everything runs, interpreted, and says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
sys.modules["llvmlite"] = None
import flambeau
source = "def f(x: Tensor, n: int):\\n  for i in range(n):\\n    x = flambeau.tanh(x) * 2.0\\n  return x.sum()\\n"
unit = flambeau.CompilationUnit(source)
print(float(unit.f(flambeau.zeros(3), 2)))
print(unit.f.explain())
model = flambeau.nn.Sequential(flambeau.nn.Linear(3, 2), flambeau.nn.GELU())
print(tuple(flambeau.script(model)(flambeau.ones(4, 3)).shape))
try:
    unit.f.asm()
except RuntimeError as error:
    print(error)
"""

FILE = """
import sys
sys.modules["llvmlite"] = None
import numpy as np
import flambeau
from flambeau import Tensor

@flambeau.script
def running(x: np.ndarray) -> np.ndarray:
    return x.cumsum() * 2

@flambeau.script
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s

@flambeau.script
def fibonacci(n):
    a, b = 0, 1
    for i in range(n):
        a, b = b, a + b
    return a

@flambeau.script
def shared(x: np.ndarray) -> float:
    s = 0.0
    for i in flambeau.prange(len(x)):
        s += x[i]
    return s

@flambeau.script
def powers(x: Tensor) -> Tensor:
    y = x
    for i in range(2):
        y = y * x
    return y.sum()

class Doubling(flambeau.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2

for turn in range(3):
    print(running(np.arange(3.0)).tolist(), total(np.arange(4.0)), fibonacci(10), shared(np.arange(5.0)))
print(float(powers(flambeau.ones(3))), flambeau.grad(powers)(flambeau.arange(3.0)).tolist())
flambeau.script(Doubling()).save(sys.argv[1])
print(flambeau.jit.load(sys.argv[1])(flambeau.ones(2)).tolist())
"""


def run(*arguments: str) -> str:
    """What a process prints; it must end well."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_programs_run_and_explain_why_they_are_interpreted() -> None:
    printed = run("-c", PROGRAM)
    lines = printed.splitlines()
    assert lines[0] == "0.0"
    assert "interpreted: llvmlite is not installed" in printed
    assert lines[-2] == "(4, 2)"
    assert lines[-1] == "f has no machine instructions: llvmlite is not installed; pip install llvmlite"


def test_programs_in_files_run_too(tmp_path: Path) -> None:
    """What is compiled of a file is kept on disk, in processes with LLVM together with the processor."""
    program = tmp_path / "program.py"
    program.write_text("import sys\nsys.path.insert(0, '.')\n" + FILE, encoding="utf-8")
    for _ in range(2):
        assert run(str(program), str(tmp_path / "model.pt")).splitlines() == [
            *["[0.0, 2.0, 6.0] 6.0 55 10.0"] * 3,
            "3.0 [0.0, 3.0, 12.0]",
            "[2.0, 2.0]",
        ]
