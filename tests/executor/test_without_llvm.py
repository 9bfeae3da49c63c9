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
"""


def test_programs_run_and_explain_why_they_are_interpreted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "0.0"
    assert "interpreted: llvmlite is not installed" in done.stdout
    assert lines[-1] == "(4, 2)"
