"""Variables that go along with nested functions: each under its defining scope, whatever names are the same."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable
from typing import Any

import flambeau


def adder(k: int) -> Callable[[int], int]:
    return lambda v: v + k


def tens(k: int) -> Callable[[int], int]:
    return adder(k * 10)


def later(k: int) -> Callable[[int], int]:
    return tens(k + 1)


def both(k: int) -> Callable[[int], int]:
    inner = adder(k * 10)
    return lambda v: inner(v) + k


def test_makers_that_call_makers_keep_their_variables_apart() -> None:
    def f(x: int) -> tuple[int, int, int]:
        g = both(3)
        h = tens(x)
        t = later(x)
        return g(1), h(2), t(5)

    assert flambeau.script(f)(7) == f(7) == (34, 72, 85)


def test_makers_in_a_body_whose_errors_are_caught() -> None:
    def f(x: int) -> int:
        g = adder(x)
        try:
            h = tens(x)
            result = g(1) * h(2)
        except ValueError:
            result = 0
        return result

    assert flambeau.script(f)(7) == f(7)


def test_a_parameter_may_be_called_as_a_captured_variable_is() -> None:
    """In the graph the x of `f`, which begins in line 4, is called `x__f4`."""
    text = textwrap.dedent("""
        def apply(fn, x__f4: int) -> int:
            x__f4_ = 1; return fn(x__f4) + x__f4_
        def f(x: int) -> int:
            return apply(lambda v: v * x, x + 1)
        """)
    linecache.cache["captured.py"] = (len(text), None, text.splitlines(True), "captured.py")
    names: dict[str, Any] = {}
    exec(compile(text, "captured.py", "exec"), names)
    scripted = flambeau.script(names["f"])
    assert scripted(7) == 57
