"""Slices of lists in native code: read, assigned and deleted, with bounds and steps of every kind, as in Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import flambeau

BOUNDS = (0, 2, -1, -9, 9)
STEPS = (1, 2, -1, -3, 7, (1 << 63) - 1, -(1 << 63))


def read(a: int, b: int, step: int) -> tuple[list[int], list[str]]:
    xs = list(range(7))
    ys = [str(i) for i in range(6)]
    return xs[a:b:step], ys[a:b:step]


def deleted(a: int, b: int, step: int) -> tuple[list[int], list[str]]:
    xs = list(range(7))
    ys = [str(i) for i in range(6)]
    del xs[a:b:step]
    del ys[a:b:step]
    return xs, ys


def replaced(a: int, b: int, count: int) -> tuple[list[str], list[list[int]]]:
    xs = ["a", "b", "c", "d", "e"]
    xs[a:b] = [str(i) for i in range(count)]
    ys = [[1], [2], [3], [4]]
    ys[a:b] = [[i, i] for i in range(count)]
    return xs, ys


def stepped(a: int, b: int, step: int) -> list[int]:
    xs = list(range(7))
    xs[a:b:step] = [10 * x for x in xs[a:b:step]]
    return xs


def by_itself(n: int) -> tuple[list[int], list[list[int]]]:
    xs = list(range(n))
    xs[1:2] = xs
    xs[::2] = [0] * len(xs[::2])
    ys = [[i] for i in range(n)]
    ys[0:0] = ys
    return xs, ys


def primes(n: int) -> list[int]:
    sieve = [True] * (n + 1)
    sieve[0] = sieve[1] = False
    for i in range(2, int(n**0.5) + 1):
        if sieve[i]:
            sieve[i * i :: i] = [False] * len(sieve[i * i :: i])
    return [i for i, is_prime in enumerate(sieve) if is_prime]


def head_and_rest(n: int) -> tuple[int, list[int]]:
    first, second, *rest = list(range(n))
    return first + second, rest


def of_another_length(a: int, count: int) -> list[int]:
    xs = list(range(6))
    xs[::a] = [7 for i in range(count)]
    return xs


CASES: list[tuple[Any, Any]] = [
    (read, product(BOUNDS, BOUNDS, STEPS)), (deleted, product(BOUNDS, BOUNDS, STEPS)),
    (replaced, product(BOUNDS, BOUNDS, (0, 1, 3, 40))), (stepped, product(BOUNDS, BOUNDS, STEPS)),
    (by_itself, [(0,), (3,), (50,)]), (primes, [(2,), (30,), (1000,)]), (head_and_rest, [(2,), (7,)]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "arguments"), CASES, ids=[program.__name__ for program, _ in CASES])
def test_slices_are_pythons(program: Any, arguments: Any) -> None:
    """Of numbers, of texts and of lists."""
    scripted = flambeau.script(program)
    for given in arguments:
        assert scripted(*given) == program(*given), given
    assert scripted.explain().is_native


@pytest.mark.parametrize(("step", "count"), [(2, 4), (0, 6), (-1, 5)])
def test_a_slice_that_does_not_fit_raises_as_python_does(step: int, count: int) -> None:
    """Whether the list is native or not."""
    with pytest.raises(ValueError, match="slice") as wanted:
        of_another_length(step, count)
    scripted = flambeau.script(of_another_length)
    assert scripted(2, 3) == of_another_length(2, 3)
    with pytest.raises(ValueError, match=str(wanted.value)):
        scripted(step, count)


def test_too_few_items_for_names_raise_as_python_does() -> None:
    """And say how many there were."""
    scripted = flambeau.script(head_and_rest)
    with pytest.raises(ValueError, match=r"expected at least 2, got 1"):
        scripted(1)
