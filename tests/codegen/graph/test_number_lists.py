"""Lists of numbers that cross between Python and native code, all at once."""

from __future__ import annotations

import math

import pytest

import flambeau
from flambeau.codegen.graph.containers.number_lists import packed_numbers
from flambeau.codegen.graph.representation import Bool, Float, Int, Text


def halves(numbers: list[float], counts: list[int], flags: list[bool]) -> tuple[list[float], list[int], list[bool]]:
    for k in range(len(numbers)):
        numbers[k] = numbers[k] / 2.0
        counts.append(counts[k] - k)
        flags[k] = not flags[k]
    print(end="")
    for k in range(len(numbers)):
        counts[k] = counts[k] * 2
        numbers.append(float(counts[k]))
        flags.append(numbers[k] > 1.0)
    return numbers, counts, flags


def test_a1_lists_that_cross_are_what_they_are_in_python() -> None:
    scripted = flambeau.script(halves)
    for size in (0, 1, 3, 40):
        for special in (1.5, -0.0, math.inf, math.nan, 5e-324):
            numbers = [special * k for k in range(size)]
            counts = [(-1) ** k * ((1 << 60) - k) for k in range(size)]
            flags = [k % 3 == 0 for k in range(size)]
            expected = halves([*numbers], [*counts], [*flags])
            assert repr(scripted(numbers, counts, flags)) == repr(expected)
    assert "native in parts" in str(scripted.explain())


@pytest.mark.parametrize(
    ("rep", "values"),
    [
        (Float(), [1.0, None]), (Int(), [1.0]), (Int(), [1 << 63]), (Text(), ["a"]), (Float(), [1 << 2000]),
    ],
)  # fmt: skip
def test_a2_what_is_no_number_is_not_packed(rep: Float | Int | Text, values: list[object]) -> None:
    assert packed_numbers(rep, values) is None


def test_a3_words_of_bools_are_one_and_zero() -> None:
    assert packed_numbers(Bool(), [True, False]) == b"\1" + bytes(15)
    assert packed_numbers(Int(), []) == b""
