"""What is said of overloads, enums and interfaces that do not fit, in the words that programs search for."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor


def more_parameters() -> Any:
    @flambeau.jit._overload
    def twice(x: int, y: int) -> int: ...

    def twice(x):  # type: ignore[no-redef,no-untyped-def]  # noqa: F811
        return x * 2

    def program() -> int:
        return twice(3, 4)

    return flambeau.script(program)


def no_implementation() -> Any:
    @flambeau.jit._overload
    def twice(x: int) -> int: ...

    def program() -> int:
        return twice(3)

    return flambeau.script(program)


def with_a_body() -> Any:
    @flambeau.jit._overload
    def twice(x: int) -> int:
        return x

    return twice


class Empty(enum.Enum):
    pass


class Pairs(enum.Enum):
    A = (1, 2)


class Color(enum.Enum):
    RED = 1


def of_no_members(x: Empty) -> int:
    return 1


def of_pairs(x: Pairs) -> int:
    return 1


def no_member(x: int) -> Any:
    return Color.BLUE  # type: ignore[attr-defined]


@flambeau.jit.interface
class Runs:
    def run(self, x: Tensor) -> Tensor: ...


def sets(x: Runs) -> None:
    x.total = 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (more_parameters, "Overload should not have more parameters than implementation function: twice is declared"),
        (no_implementation, r'Implementation for the function "__torch__\..*twice" is missing'),
        (with_a_body, "Only `pass` statement or `...` can be the body of overload declaration: 'twice' has more"),
        (lambda: flambeau.script(of_no_members), "No enum values defined for: Empty"),
        (lambda: flambeau.script(of_pairs), "value type 'tuple', only int, float and string are supported"),
        (lambda: flambeau.script(no_member), r"'Enum<__torch__\..*Color>' has no attribute 'BLUE'"),
        (lambda: flambeau.script(sets), r"Tried to set an attribute: total on a non-class: __torch__\..*Runs"),
    ],
)
def test_words(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        make()
