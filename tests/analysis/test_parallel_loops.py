"""Loops over `prange` that need an order are refused at the cause, and those that need none are not."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.jit import CompilationUnit
from flambeau.util.errors import CompileError

HEAD = "def f(x: Tensor, y: Tensor, l: List[int], d: Dict[int, int], n: int):\n    t = 0\n    s = 0.0\n"
CARRIED, LEFT = "goes from one iteration of prange to the next", "a loop over prange is left before its end"
WRITTEN = "every iteration of prange writes to the same elements here"
CHANGED = "iterations of prange run at the same time"


def refused(body: str) -> tuple[str, str]:
    """The error of a loop over `prange`, and the line that it points at."""
    indented = "\n".join("        " + line for line in body.splitlines())
    with pytest.raises(CompileError) as caught:
        scripted(f"{HEAD}    for i in prange(n):\n{indented}\n    return s, t\n")
    text = str(caught.value)
    lines = text.splitlines()
    return text, lines[[("HERE" in line) for line in lines].index(True) - 1].strip()


def scripted(source: str) -> None:
    CompilationUnit(source.replace("prange(", "flambeau.prange("))


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("s = s * 0.5 + float(x[i])", CARRIED, "s = s * 0.5 + float(x[i])"),
        ("if t < 3:\n    t += 1", CARRIED, "t += 1"),
        ("t = i if i > 3 else t", CARRIED, "t = i if i > 3 else t"),
        ("t = t + t", CARRIED, "t = t + t"),
        ("t = i - t", CARRIED, "t = i - t"),
        ("s = max(float(x[i]), s)", CARRIED, "s = max(float(x[i]), s)"),
        ("t += i\nt *= 2", CARRIED, "t *= 2"),
        ("t += i\ny[i] = t", CARRIED, "t += i"),
        ("if i > 3:\n    break", LEFT, "break"),
        ("if i > 3:\n    return s, t", LEFT, "return s, t"),
        ("y += x[i]", WRITTEN, "y += x[i]"),
        ("y[0] = x[i]", WRITTEN, "y[0] = x[i]"),
        ("for j in range(n):\n    y[j] += x[i]", WRITTEN, "y[j] += x[i]"),
        ("row = y[0]\nrow[1] = float(i)", WRITTEN, "row[1] = float(i)"),
        ("l[0] = i", WRITTEN, "l[0] = i"),
        ("l.append(i)", CHANGED, "l.append(i)"),
        ("d[i] = i", CHANGED, "d[i] = i"),
    ],
)
def test_what_needs_an_order_is_refused(body: str, message: str, line: str) -> None:
    text, marked = refused(body)
    assert message in text
    assert line in text
    assert marked
    assert "write range" in text


@pytest.mark.parametrize(
    "body",
    [
        "s += float(x[i])",
        "if i % 2 == 0:\n    s += 1.0\nelse:\n    s -= 2.0",
        "for j in range(i):\n    t += j",
        "t = max(t, i)",
        "if i > 3:\n    continue\nt += 1",
        "k = i\nwhile k > 0:\n    k -= 1\ny[i] = k",
        "y[i, :] = x[i]",
        "y[l[i]] = 1.0",
        "y[i][0] += 1",
        "row = y[i]\nrow.add_(1)",
        "z = flambeau.zeros(3)\nz[0] = float(x[i])\ny[i] = z.sum()",
        "own = [1]\nown.append(i)\ny[i] = own[-1]",
        "l[i] = i",
        "assert i < 10, 'ten'",
    ],
)
def test_what_needs_none_is_not(body: str) -> None:
    lines = "\n".join("        " + line for line in body.splitlines())
    scripted(f"{HEAD}    for i in prange(n):\n{lines}\n    return s, t\n")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("prange()", "prange expected at least 1 arguments, got 0"),
        ("prange(1, 2, 3, 4)", "prange expected at most 3 arguments, got 4"),
        ("prange(n=3)", "prange doesn't accept any keyword arguments"),
        ("prange(1.5)", "all inputs of prange must be ints, found float in argument 0"),
    ],
)
def test_arguments_are_those_of_range(call: str, message: str) -> None:
    with pytest.raises(CompileError, match=message.replace("(", r"\(")):
        scripted(f"{HEAD}    for i in {call}:\n        s += 1.0\n    return s\n")


def test_the_numbers_are_those_of_range() -> None:
    assert flambeau.prange(3, 9, 2) == range(3, 9, 2)
