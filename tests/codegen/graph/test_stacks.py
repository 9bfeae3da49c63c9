"""Lists that only grow and shrink at their end keep small tensors as copies, where nobody can tell."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import flambeau
from tests.codegen.graph.one_meaning import Arguments, agree, functions


def floats(*sizes: int, dtype: str = "float64") -> flambeau.Tensor:
    count = 1
    for n in sizes:
        count *= n
    return (flambeau.arange(count).to(getattr(flambeau, dtype)) * 0.75 - 2).reshape(sizes)


THERE_AND_BACK = """
def f(x: Tensor, n: int) -> Tensor:
    kept: List[Tensor] = []
    y = x
    for i in range(n):
        kept.append(y)
        y = y * 0.5 + 1
    total = y
    for i in range(n):
        total = total * 0.5 + kept.pop()
    return total
"""
STACKS: dict[str, tuple[str, Arguments]] = {
    "more than a chunk": (THERE_AND_BACK, lambda: (floats(16, dtype="float32"), 600)),
    "no multiple of a vector": (THERE_AND_BACK, lambda: (floats(3, 7), 40)),
    "nothing": (THERE_AND_BACK, lambda: (floats(0, 3), 5)),
    "too large to copy": (THERE_AND_BACK, lambda: (floats(200), 9)),
    "no axes": (THERE_AND_BACK, lambda: (flambeau.tensor(1.5), 9)),
    "gaps": (THERE_AND_BACK, lambda: (floats(4, 6)[:, ::2], 9)),
    "another order of axes": (THERE_AND_BACK, lambda: (floats(4, 6).t(), 9)),
    "pieces of elements": ("""
def f(x: Tensor) -> Tensor:
    kept: List[Tensor] = []
    sums: List[Tensor] = []
    for i in range(x.size(0)):
        kept.append(x[i] > 0)
        sums.append(x[:i].sum() + 1)
    total = x.sum() * 0
    for i in range(x.size(0)):
        total = total * 2 + kept.pop().sum() * sums.pop()
    return total
""", lambda: (floats(6, 5),)),
    "sizes that change, pushed again behind what was popped": ("""
def f(x: Tensor) -> Tensor:
    kept: List[Tensor] = []
    total = x.sum()
    for i in range(x.size(0)):
        kept.append(x[: i + 1] * 2)
        kept.append(x[i:] + 1)
        last = kept.pop()
        kept.append(last * 3)
        total = total + last.sum() * kept.pop().sum()
    for i in range(x.size(0)):
        total = total * 0.5 + kept.pop().sum()
    return total
""", lambda: (floats(300),)),
    "popped too often": ("""
def f(x: Tensor, n: int) -> Tensor:
    kept: List[Tensor] = []
    kept.append(x * 2)
    total = x
    for i in range(n):
        total = total + kept.pop()
    return total
""", lambda: (floats(4), 2)),
}  # fmt: skip
SEEN: dict[str, tuple[str, Arguments]] = {
    "written after it was kept": ("""
def f(x: Tensor, n: int) -> Tensor:
    kept: List[Tensor] = []
    y = x * 2
    for i in range(n):
        kept.append(y)
        y.add_(1)
    total = x
    for i in range(n):
        total = total * 0.5 + kept.pop()
    return total
""", lambda: (floats(5), 4)),
    "what was popped is written": ("""
def f(x: Tensor) -> Tensor:
    kept: List[Tensor] = []
    y = x * 2
    for i in range(3):
        kept.append(y)
    for i in range(3):
        kept.pop().mul_(2)
    return y
""", lambda: (floats(5),)),
    "what was popped is given back": ("""
def f(x: Tensor) -> Tuple[Tensor, Tensor]:
    kept: List[Tensor] = []
    y = x * 2
    for i in range(3):
        kept.append(y)
    return y, kept.pop()
""", lambda: (floats(5),)),
    "the list is looked at": ("""
def f(x: Tensor) -> Tensor:
    kept: List[Tensor] = []
    for i in range(3):
        kept.append(x * i)
    return kept[0] + kept.pop() + len(kept)
""", lambda: (floats(5),)),
}  # fmt: skip


def is_stack(source: str, arguments: Arguments) -> bool:
    function = functions(source)["native"]
    for _ in range(2):
        try:
            function(*arguments())
        except Exception as error:
            assert "pop from empty list" in str(error)  # noqa: PT017
    return "release_stack" in str(function.llvm_ir)


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_of_tensors_is_what_a_list_is(name: str) -> None:
    agree(*STACKS[name])
    assert is_stack(*STACKS[name])


@pytest.mark.parametrize("name", SEEN)
def test_lists_whose_tensors_can_be_told_from_copies_keep_them(name: str) -> None:
    agree(*SEEN[name])
    assert not is_stack(*SEEN[name])


def test_copies_are_code_that_llvm_takes_without_passes() -> None:
    source = (
        "import flambeau\nfrom flambeau.codegen.llvm import compiler\ncompiler.SOME_PASSES_UP_TO = 0\n"
        f"f = flambeau.CompilationUnit({STACKS['more than a chunk'][0]!r}).f\n"
        "for _ in range(2):\n    print(f(flambeau.ones(3), 4).tolist())\n"
    )
    environment = {**os.environ, "FLAMBEAU_CACHE": "off"}
    run = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    assert run.returncode == 0, run.stderr
    expected = functions(STACKS["more than a chunk"][0])["interpreter"](flambeau.ones(3), 4).tolist()
    assert run.stdout.split("\n")[:2] == [str(expected)] * 2


def test_a_stack_of_complex_tensors_is_a_list() -> None:
    source = """
def f(x: Tensor, n: int) -> Tensor:
    kept: List[Tensor] = []
    y = x
    for i in range(n):
        kept.append(y)
        y = y * (0.5 + 1j)
    total = flambeau.real(y)
    for i in range(n):
        total = total * 0.5 + flambeau.real(kept.pop())
    return total
"""
    agree(source, lambda: (floats(2, 3) + 1j, 4))
    agree(source, lambda: (floats(2, 3) + 1j, 0))
