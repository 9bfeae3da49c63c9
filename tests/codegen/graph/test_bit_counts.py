"""Loops that count bits are one instruction; those that nearly do are loops as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau


def counted(v: int) -> tuple[int, int]:
    count = 0
    while v != 0:
        v = v & (v - 1)
        count += 1
    return count, v


def counted_in_place(v: int) -> int:
    count = 5
    while v:
        v &= v - 1
        count += 1
    return count


def by_steps(v: int, step: int) -> tuple[int, int]:
    count, other = 0, 1
    while v:
        v = (v - 1) & v
        count += step
        other = 3 + other
    return count, other


def of_many(n: int) -> int:
    total = 0
    for i in range(n):
        v = i * i
        while v:
            v &= v - 1
            total += 1
    return total


def also_sums(v: int) -> int:
    total = 0
    while v:
        v &= v - 1
        total ^= v
    return total


def another_condition(v: int) -> int:
    count = 0
    while v > 0:
        v &= v - 1
        count += 1
    return count


def clears_two(v: int) -> int:
    count = 0
    while v:
        v &= v - 2
        count += 1
        if count > 70:
            break
    return count


NUMBERS = [0, 1, 2, 3, 255, 256, (1 << 62) - 1, (1 << 63) - 1, -1, -2, -(1 << 62), 1 - (1 << 63)]


@pytest.mark.parametrize("program", [counted, counted_in_place, also_sums, another_condition, clears_two])
def test_numbers(program: Callable[..., Any]) -> None:
    fn = flambeau.script(program)
    for v in NUMBERS:
        assert fn(v) == _expected(program, v)


def _expected(program: Callable[..., Any], v: int) -> Any:
    """What 64 bits give: Python's negative numbers have no end of them."""
    if v >= 0 or program is another_condition:
        return program(v)
    bits = (v & ((1 << 64) - 1)).bit_count()
    if program is counted:
        return bits, 0
    return bits + 5 if program is counted_in_place else flambeau.script(program, backend="interpreter")(v)


def test_steps_and_several_counters() -> None:
    fn = flambeau.script(by_steps)
    for v in (0, 1, 7, 1 << 40, (1 << 50) - 1):
        for step in (0, 1, -3):
            assert fn(v, step) == by_steps(v, step)


@pytest.mark.parametrize("program", [of_many])
def test_in_loops(program: Callable[..., Any]) -> None:
    fn = flambeau.script(program)
    for n in (0, 1, 63, 1000):
        assert fn(n) == program(n)


def test_counting_is_one_instruction() -> None:
    fn = flambeau.script(counted)
    fn(3)
    assert "llvm.ctpop" in str(fn.llvm_ir)


def subsets(n: int) -> int:
    total = 0
    for m in range(1 << n):
        for i in range(n):
            if m >> i & 1:
                total += i
    return total


def test_shifts_by_the_number_of_an_iteration() -> None:
    fn = flambeau.script(subsets)
    for n in (0, 1, 5, 9):
        assert fn(n) == subsets(n)
