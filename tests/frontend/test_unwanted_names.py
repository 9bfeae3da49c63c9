"""`_`, which names what nobody wants, may be of another type each time, as long as nothing reads it."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import CompileError


def unread(x: Tensor, n: int):
    largest, _ = x.max(0)
    for _ in range(n):
        x = x * 2
        (_, (_, k)) = (1.5, ("a", 2))
        x = x + k
    while n > 0:
        _, n = x, n - 1
    return largest, x, [1 for _ in range(2)]


def test_a_name_that_nothing_reads_has_any_type() -> None:
    x = flambeau.tensor([1.0, 3.0])
    for n in (0, 2):
        flambeau.testing.assert_close(flambeau.script(unread)(x, n), unread(x, n))


READ = ("    return _", "    g = lambda: _\n    return x", "    return x + len([_ for k in range(2)])")


@pytest.mark.parametrize("end", READ)
def test_a_name_that_something_reads_keeps_its_type(end: str) -> None:
    text = f"def f(x: Tensor, n: int):\n    _ = x\n    for _ in range(n):\n        x = x * 2\n{end}\n"
    with pytest.raises(CompileError, match="Variable '_' previously had type Tensor"):
        flambeau.CompilationUnit(text)


def test_a_sum_reads_its_name() -> None:
    text = "def f(x: Tensor, n: int):\n    _ = x\n    for k in range(n):\n        _ = 3\n        _ += 1\n    return x\n"
    with pytest.raises(CompileError, match="Variable '_' previously had type Tensor"):
        flambeau.CompilationUnit(text)
