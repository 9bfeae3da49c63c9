"""Texts, and members of enums, that a program chooses among: which one it is, is a number in native code."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs native code")


class Way(enum.Enum):
    LEFT = "left"
    RIGHT = "right"
    NEITHER = "neither"


def returned(x: Tensor, n: int) -> tuple[Tensor, str]:
    why = "none"
    if n > 2:
        why = "large"
    elif n < 0:
        why = "negative"
    return x * 2 + 1, why


def of_a_loop(x: Tensor, n: int) -> tuple[Tensor, str]:
    last = "none"
    for i in range(n):
        last = "even" if i % 2 == 0 else "odd"
        x = x + i
    return x, last


def enum_member(x: Tensor, n: int) -> tuple[Tensor, Way]:
    way = Way.LEFT if n > 1 else Way.RIGHT
    if n == 0:
        way = Way.NEITHER
    return x - n, way


def raised(x: Tensor, n: int) -> Tensor:
    why = "small" if n < 2 else "large"
    if n == 3:
        raise ValueError("it is " + why)
    return x * n


def perhaps(x: Tensor, n: int) -> tuple[Tensor, str | None]:
    why: str | None = None
    if n > 2:
        why = "large"
    elif n > 1:
        why = "medium"
    return x + n, why


def asked(x: Tensor, n: int) -> tuple[Tensor, str, str, bool, bool, int, str]:
    way = Way.LEFT if n > 1 else Way.RIGHT
    if n == 0:
        way = Way.NEITHER
    why = "small" if n < 2 else "large"
    first = way.value[0]
    return x + len(why), way.name, way.value, way == Way.LEFT, way != Way.RIGHT, len(way.name), first + why


@pytest.mark.parametrize("program", [returned, of_a_loop, enum_member, raised, perhaps, asked])
def test_choices_are_what_python_makes_of_them(program: Callable[..., Any]) -> None:
    scripted = flambeau.script(program)
    x = flambeau.ones(2)
    for _ in range(2):
        for n in (-1, 0, 1, 2, 4):
            result, wanted = scripted(x, n), program(x, n)
            pairs = zip(result, wanted, strict=True) if isinstance(wanted, tuple) else [(result, wanted)]
            for mine, other in pairs:
                assert mine.tolist() == other.tolist() if isinstance(other, Tensor) else mine == other
    assert "native from end to end" in str(scripted.explain())


def test_messages_tell_the_choice() -> None:
    scripted = flambeau.script(raised)
    for _ in range(3):
        scripted(flambeau.ones(2), 2)
    with pytest.raises(ValueError, match="it is large"):
        scripted(flambeau.ones(2), 3)
