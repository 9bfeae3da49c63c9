"""`disabled()`: programs as the Python they are, with the same numbers; other threads are not concerned."""

# ruff: noqa: UP006, UP035  (spellings that programs use)

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any, List

import flambeau
from flambeau import Tensor, jit

lines: List[str] = []


@flambeau.script
def inner(x: Tensor, n: int) -> Tensor:
    if not jit.is_scripting():
        lines.append("inner ran as Python")
    for _ in range(n):
        x = x * 0.5 + 1
    return x.tanh()


@flambeau.script
def outer(x: Tensor) -> Tensor:
    return inner(x, 3) + inner(x, 1)


def test_the_same_numbers_without_compiling() -> None:
    x = flambeau.arange(6).reshape(2, 3) * 0.25
    for _ in range(4):
        compiled = outer(x)
    assert not lines
    with flambeau.disabled():
        assert flambeau.jit.disabled.is_disabled()
        plain = outer(x)
        again = flambeau.script(test_the_same_numbers_without_compiling)
        assert again is test_the_same_numbers_without_compiling
    assert lines == ["inner ran as Python"] * 2
    assert flambeau.allclose(plain, compiled, rtol=1e-6)
    lines.clear()
    assert flambeau.equal(outer(x), compiled)
    assert not lines


def test_a_tracer_of_lines_sees_the_program() -> None:
    seen: List[str] = []

    def note(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_name == "inner":
            seen.append(event)
        return note

    with flambeau.disabled():
        sys.settrace(note)
        try:
            inner(flambeau.ones(1), 2)
        finally:
            sys.settrace(None)
    assert seen.count("line") > 4
    lines.clear()


def test_other_threads_go_on_compiled() -> None:
    found: List[int] = []

    def run() -> None:
        inner(flambeau.ones(1), 1)
        found.append(len(lines))

    with flambeau.disabled():
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert found == [0]


def test_the_environment_variable_disables_from_the_start() -> None:
    text = (
        "import flambeau\n@flambeau.script\ndef f(x: int):\n    return eval('x + 1')\n"
        "print(f(1), type(f).__name__, flambeau.jit.disabled.is_disabled())"
    )
    path = ":".join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={"FLAMBEAU_DISABLE": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["2", "function", "True"]
