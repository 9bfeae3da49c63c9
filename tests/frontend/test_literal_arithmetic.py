"""Whole numbers that programs on arrays write as expressions are those of Python."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def test_numbers_beyond_63_bits_are_exact() -> None:
    def program(x: np.ndarray):
        mask = np.uint64(2**64 - 1)
        top = np.uint64(1 << 63)
        large = np.uint64(2**63 + 1), 2**63, -(2**63), 3 * 10**18 * 2 - 1 - 5 * 10**18
        return x & mask, x | top, *large, 7 // 2 % 2 ^ 9 >> 1

    x = np.array([5, 2**63 + 7], np.uint64)
    for options in ({}, {"backend": "interpreter"}):
        results = flambeau.script(program, **options)(x)
        for result, wanted in zip(results, program(x), strict=True):
            np.testing.assert_array_equal(result, wanted)


def test_chains_begin_with_exact_numbers() -> None:
    def program(n):
        return 2**62 - 1 + 2**62 - n, 2**62 * 2 - 1 - n

    assert flambeau.script(program)(5) == program(5)


def test_numbers_beyond_64_bits_are_refused() -> None:
    def large(x: np.ndarray):
        return x % 2**64

    def low(x: np.ndarray):
        return x + -(2**63) * 2

    def deep(x: np.ndarray):
        return x + 10**4000

    for program in (large, low, deep):
        with pytest.raises(CompileError, match="Integral constant out of range"):
            flambeau.script(program)


def test_what_raises_raises_when_the_program_runs() -> None:
    def program(x: np.ndarray):
        return 1 // 0 if x[0] > 0 else 2 % 3

    function = flambeau.script(program)
    assert function(np.zeros(1)) == 2
    with pytest.raises(ZeroDivisionError):
        function(np.ones(1))
