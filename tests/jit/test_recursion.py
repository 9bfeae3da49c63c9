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
            return 0 if n == 0 else down(n - 1)
