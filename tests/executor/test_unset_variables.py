"""Early returns out of loops that are native while the function around them is not: what they would have returned is
unset on the way past, between one native loop and the next.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.executor import short_loops, trial


def out_of_one_loop(x: Tensor, n: int) -> tuple[int, list[int], list[int]]:
    total = 0
    log: list[int] = []
    print("at", {n + 0.5: n})
    for i in range(x.size(0)):
        if (n == i) and (n != i + 1):
            return total + i, log, log
        total += 2
    return total, log, log


def out_of_several(x: Tensor, n: int) -> tuple[Tensor, list[float], int]:
    y = x
    rest = [0.5]
    print("at", {n + 0.5: n})
    for i in range(x.size(0)):
        y = y * 2
        if n == i:
            return y, rest, 1
    print("past", {n + 0.5: n})
    for i in range(x.size(0)):
        y = y + 1
        rest.append(1.0)
        if n == i + 3:
            return y, rest, 2
    for i in range(x.size(0)):
        y = y + 1
        if n == i + 6:
            return y[0], rest, 3
    return x, rest, 4


def out_of_nested(x: Tensor, n: int) -> tuple[Tensor, list[int] | None]:
    y = x
    print(f"at {n}")
    for i in range(x.size(0)):
        for j in range(x.size(0) - 1):
            y = y + j
            if n == i * 2 + j:
                return y, [i, j]
        print(f"past {i}")
    return x, None


def one_number(x: Tensor, n: int) -> float:
    for i in range(x.size(0)):
        for j in range(x.size(0) - 1):
            if n == i * 2 + j:
                return float(x[i, j]) * 2.5
        print(f"past {i}")
    return -1.0


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    return value.tolist() if isinstance(value, Tensor) else value


@pytest.mark.parametrize("program", [out_of_one_loop, out_of_several, out_of_nested, one_number])
def test_every_way_out(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_loops, "WORTHWHILE", 0)
    monkeypatch.setattr(trial, "SHARE", 2.0)  # native code serves, whether or not the interpreter is quicker
    fn = flambeau.script(program)
    x = flambeau.arange(12.0).reshape(3, 4)
    for _ in range(x.size(0)):
        for n in range(-1, 10):
            with contextlib.redirect_stdout(io.StringIO()) as found:
                given = fn(x, n)
            with contextlib.redirect_stdout(io.StringIO()) as wanted:
                expected = program(x, n)
            assert plain(given) == plain(expected)
            assert found.getvalue() == wanted.getvalue()
    assert any("region" in line and "native" in line for line in str(fn.explain()).splitlines())
