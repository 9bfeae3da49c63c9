"""Lists beside others and values beside their items in native code: `<`, `==`, `in`, `index`, `count`, `remove`."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

import flambeau


def orders(a: int, b: int) -> list[bool]:
    xs = [i % 3 for i in range(a)]
    ys = [(i * 2) % 3 for i in range(b)]
    ts = [str(i % 3) for i in range(a)]
    us = ["0", "2"][:b]
    ps = [(i, "x") for i in range(a)]
    qs = [(i, "x" if i < 2 else "w") for i in range(b)]
    flags = [x == 1 for x in xs]
    others = [y == 0 for y in ys]
    return [
        xs < ys, xs <= ys, xs > ys, xs >= ys, xs == ys, xs < [0, 1], xs >= [0, 2], ts < us, ts <= us, ts > us,
        ts >= us, ts == us, ts == ["0", "1"], ps < qs, ps <= qs, ps > qs, ps >= qs, ps != qs, ps == qs,
        flags < others, flags == others,
    ]  # fmt: skip


def searched(n: int) -> tuple[list[int], list[int], list[str], list[tuple[int, str]]]:
    xs = [i * i % 7 for i in range(n)]
    ts = [str(i % 3) for i in range(n)]
    ps = [(i % 2, str(i % 3)) for i in range(n)]
    out = [xs.count(1), ts.count("1"), ps.count((1, "1")), [1, 2, 1].count(n)]
    if 4 in xs:
        out.append(xs.index(4))
        out.append(xs.index(4, -7))
        xs.remove(4)
    if "2" in ts:
        out.append(ts.index("2"))
        ts.remove("2")
    if (1, "1") in ps:
        out.append(ps.index((1, "1")))
        ps.remove((1, "1"))
    return out, xs, ts, ps


def place(n: int, wanted: int) -> int:
    return list(range(n)).index(wanted)


def taken_out(n: int, wanted: int) -> list[int]:
    xs = list(range(n))
    xs.remove(wanted)
    return xs


def of_floats(x: float) -> list[bool]:
    """nan is in a list as the object that it is, and equal to nothing."""
    xs = [x, 1.0]
    return [x in xs, xs.count(1.0) == 1, xs == [x, 1.0]]


CASES: list[tuple[Any, Any]] = [(orders, product(range(5), range(5))), (searched, [(k,) for k in (0, 3, 5, 7, 20)])]


@pytest.mark.parametrize(("program", "arguments"), CASES, ids=[program.__name__ for program, _ in CASES])
def test_comparisons_are_pythons(program: Any, arguments: Any) -> None:
    """Of numbers, bools, texts and tuples of these."""
    scripted = flambeau.script(program)
    for given in arguments:
        assert scripted(*given) == program(*given), given
    assert scripted.explain().is_native


@pytest.mark.parametrize("program", [place, taken_out])
def test_what_is_not_there_raises_as_python_does(program: Any) -> None:
    """After calls that found it."""
    scripted = flambeau.script(program)
    assert scripted(5, 3) == program(5, 3)
    with pytest.raises(ValueError, match="not in list"):
        scripted(5, 5)


@pytest.mark.parametrize("x", [2.5, math.nan, -0.0])
def test_floats_are_compared_as_python_does(x: float) -> None:
    """By whether they are one object, then by value."""
    assert flambeau.script(of_floats)(x) == of_floats(x)
