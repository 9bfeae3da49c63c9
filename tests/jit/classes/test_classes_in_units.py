"""Python classes that the text of a unit names: all of their methods are there, as for scripted functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import flambeau


@dataclass(order=True)
class Version:
    major: int
    minor: int = 2


class Counter:
    def __init__(self, x: int):
        self.x = x

    @classmethod
    def make(cls, x: int) -> Counter:
        return cls(x + 1)

    @staticmethod
    def two(x: int) -> int:
        return x * 2

    @property
    def ten(self) -> int:
        return self.x + 10

    def __call__(self, y: int) -> int:
        return self.x + y

    def __len__(self) -> int:
        return self.x

    def __setitem__(self, place: int, value: int) -> None:
        self.x = place + value

    def __delitem__(self, place: int) -> None:
        self.x = place

    def __add__(self, other: Counter) -> int:
        return self.x + other.x


EXPRESSIONS = {
    "Version(n) < Version(4)": True,
    "Version(n) == Version(3, 2)": True,
    "sorted([Version(n), Version(1)])[0].major": 1,
    "Counter.make(n).x": 4,
    "Counter.two(n) + Counter(n).two(1)": 8,
    "Counter(n).ten": 13,
    "Counter(n)(2)": 5,
    "len(Counter(n))": 3,
    "Counter(n) + Counter(1)": 4,
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_methods_are_found(expression: str) -> None:
    result = flambeau.CompilationUnit(f"def f(n: int):\n    return {expression}\n").f(3)
    assert result == EXPRESSIONS[expression]


@pytest.mark.parametrize(("statement", "wanted"), [("del c[7]", 7), ("c[2] = 3", 5)])
def test_items_are_changed(statement: str, wanted: int) -> None:
    assert flambeau.CompilationUnit(f"def f():\n    c = Counter(1)\n    {statement}\n    return c.x\n").f() == wanted


def test_what_a_method_refuses_is_told_with_the_text() -> None:
    class Broken:
        def __init__(self) -> None:
            self.x = 1

        def go(self) -> Any:
            return self.missing  # type: ignore[attr-defined]

    with pytest.raises(RuntimeError, match="missing") as caught:
        flambeau.CompilationUnit("def f():\n    return Broken().go()\n")
    assert "<string>" in str(caught.value)
