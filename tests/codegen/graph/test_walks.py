"""What a walk over a graph learns of strides and stacks, it learns of all before the next one begins."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.graph.function import FunctionEmitter
from tests.codegen.graph.one_meaning import Arguments, agree


def floats(*sizes: int) -> Tensor:
    return flambeau.arange(sizes[0] * sizes[1]).to(flambeau.float64).reshape(sizes) * 0.25 - 1


SIX_STACKS = """
def f(x: Tensor, n: int) -> Tensor:
    a: List[Tensor] = []
    b: List[Tensor] = []
    c: List[Tensor] = []
    d: List[Tensor] = []
    e: List[Tensor] = []
    g: List[Tensor] = []
    y = x
    for i in range(n):
        a.append(y)
        b.append(y.t())
        c.append(y[0])
        d.append(y.sum())
        e.append(y * 2)
        g.append(y[:, 0])
        if i == 1:
            g.append(y[0] * 1)
            e.append(y.t())
        y = y * 0.5 + 1
    total = y.sum()
    for i in range(n):
        total = total * 0.5 + (a.pop() + b.pop().t()).sum() + c.pop().sum() + d.pop() + e.pop().sum() + g.pop().sum()
    return total
"""
TURNS = """
def f(x: Tensor, n: int) -> Tensor:
    a, b, c, d = x, x + 1, x + 2, x + 3
    for i in range(n):
        if i % 2 == 0:
            a, b, c, d = b.t(), c.t(), d.t(), a.t()
        else:
            a, b = b * 1, a
    return a + b * c - d
"""
A_LIST_BESIDE = """
def f(x: Tensor, n: int) -> Tensor:
    kept: List[Tensor] = []
    rows: List[Tensor] = []
    for i in range(n):
        kept.append(x * i)
        rows.append(x + i)
        kept.append(rows[i])
    return kept.pop() + rows[0]
"""
PROGRAMS: dict[str, tuple[str, Arguments, int]] = {
    "six stacks": (SIX_STACKS, lambda: (floats(3, 3), 4), 4),
    "carried tensors that turn": (TURNS, lambda: (floats(3, 3), 3), 3),
    "a list beside a stack": (A_LIST_BESIDE, lambda: (floats(3, 3), 3), 4),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_walks_are_few(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walks, run = [], FunctionEmitter.run

    def counted(self: FunctionEmitter, *arguments: Any) -> Any:
        walks.append(self)
        return run(self, *arguments)

    monkeypatch.setattr(FunctionEmitter, "run", counted)
    text, arguments, most = PROGRAMS[name]
    agree(text, arguments)
    assert 1 < len(walks) <= most


SMALL_STEPS = """
def f(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = (x @ x).tanh()
    return x
"""
NUMBERS = """
def f(x: Tensor, n: int) -> Tensor:
    total = 0.0
    for i in range(n):
        total = total * 0.5 + i
    return x + total
"""


ONE_STEP = """
def f(x: Tensor, n: int) -> Tensor:
    return (x @ x).tanh() + n
"""
NUMBERS_ONCE = """
def f(x: Tensor, n: int) -> Tensor:
    a = n * 0.5 + 1
    b = a / (n + 1) - a * a
    c = b * b + a / (b + 2) - n
    return x + (a * b - c)
"""


@pytest.mark.parametrize(
    ("text", "is_glue"),
    [(ONE_STEP, True), (NUMBERS_ONCE, False), (SMALL_STEPS, False), (NUMBERS, False)],
    ids=["launches", "numbers", "launches in a loop", "numbers in a loop"],
)
def test_what_launches_kernels_once_is_made_quickly(text: str, is_glue: bool) -> None:
    function = flambeau.CompilationUnit(text).f
    for _ in range(3):
        result = function(floats(3, 3), 4)
    (native,) = [n for plan in function._executor.plans for n in plan.compiled.variants]
    assert native.is_glue == is_glue
    eager: dict[str, Any] = {"Tensor": Tensor}
    exec(text, eager)
    assert flambeau.allclose(result, eager["f"](floats(3, 3), 4), rtol=1e-12, atol=1e-12)
    assert "flambeau_function" in function.asm


SHOWN_BY_MASK = """
def f(x: Tensor, n: int) -> Tensor:
    return x[(x * n) > 2]
"""


def test_loops_of_an_operator_between_kernels_are_tidied() -> None:
    function = flambeau.CompilationUnit(SHOWN_BY_MASK).f
    for _ in range(3):
        result = function(floats(3, 3), 4)
    (native,) = [n for plan in function._executor.plans for n in plan.compiled.variants]
    assert (native.is_glue, native.is_tidied, native.emitted.walks > 0) == (False, True, True)
    assert flambeau.equal(result, floats(3, 3)[(floats(3, 3) * 4) > 2])


@pytest.mark.parametrize(("text", "is_tidied"), [(SMALL_STEPS, True), (NUMBERS, False)], ids=["launches", "numbers"])
def test_loops_that_mostly_launch_kernels_are_tidied(text: str, is_tidied: bool) -> None:
    function = flambeau.CompilationUnit(text).f
    for _ in range(3):
        function(floats(3, 3), 4)
    (native,) = [n for plan in function._executor.plans for n in plan.compiled.variants]
    assert (native.is_tidied, native.is_optimised) == (is_tidied, not is_tidied)
    assert "flambeau_function" in function.asm
