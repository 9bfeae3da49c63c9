"""Decorated functions that call themselves: their names have no value yet, or that of the definition before."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import flambeau
from flambeau.util.errors import CompileError


@flambeau.script
def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@flambeau.script(backend="interpreter")
def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


def test_functions_of_a_module() -> None:
    assert fibonacci(12) == 144
    assert factorial(6) == 720


def test_local_functions() -> None:
    @flambeau.script
    def up_to(n: int) -> list[int]:
        if n == 0:
            return []
        return [*up_to(n - 1), n]

    assert up_to(3) == [1, 2, 3]


def test_a_definition_replaces_the_one_before() -> None:
    namespace: dict[str, Any] = {"flambeau": flambeau, "__name__": "replacing"}
    for step in (1, 2):
        text = f"@flambeau.script\ndef count(n: int) -> int:\n    return 0 if n == 0 else {step} + count(n - 1)\n"
        unit = _module(text, f"count_{step}.py", namespace)
        assert unit["count"](3) == 3 * step


def _module(text: str, filename: str, namespace: dict[str, Any]) -> dict[str, Any]:
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), namespace)
    return namespace


def test_what_else_has_the_name_is_meant() -> None:
    """A method's name is not in its own scope: outside, it is that of a function."""

    @flambeau.script
    class Counter:
        def __init__(self) -> None:
            self.n = 4

        def fibonacci(self) -> int:
            return fibonacci(self.n) + self.n

    @flambeau.script
    def f() -> int:
        return Counter().fibonacci()

    assert f() == 3 + 4


def test_what_it_returns_must_be_declared() -> None:
    with pytest.raises(CompileError, match="function 'down' is called recursively"):

        @flambeau.script
        def down(n: int):  # type: ignore[no-untyped-def]
            return abs(n) if n == 0 else down(n - 1)


FACTORIAL = """
def factorial(n: int) -> int:
    if n <= 1:
        return 1
    return n * factorial(n - 1)
"""
EVEN_AND_ODD = """
def is_even(n: int) -> bool:
    return True if n == 0 else is_odd(n - 1)

def is_odd(n: int) -> bool:
    return False if n == 0 else is_even(n - 1)

def both(n: int):
    return is_even(n), is_odd(n)
"""


def test_functions_of_one_text() -> None:
    assert flambeau.CompilationUnit(FACTORIAL).factorial(5) == 120
    unit = flambeau.CompilationUnit(EVEN_AND_ODD)
    assert unit.both(7) == (False, True)
    assert unit.is_odd(4) is False
    unit.define("def steps(n: int, by: int = 2) -> int:\n    return 0 if n <= 0 else 1 + steps(n - by)\n")
    assert unit.steps(7) == 4


def test_function_of_a_text_that_does_not_say_what_it_returns_is_refused() -> None:
    with pytest.raises(CompileError, match="function 'f' is called recursively") as caught:
        flambeau.CompilationUnit("def f(n: int):\n    return 0 if n == 0 else f(n - 1)\n")
    assert 'File "<string>", line 2' in str(caught.value)
    unit = flambeau.CompilationUnit("")
    with pytest.raises(CompileError, match="undefined value missing"):
        unit.define("def f(n: int) -> int:\n    return f(n - 1) + missing\n")
    unit.define("def f(n: int) -> int:\n    return 0 if n == 0 else 1 + f(n - 1)\n")
    assert unit.f(3) == 3
