"""Ints of 64 bits without a sign in programs that have no arrays: what is said of them names what to write."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.util.errors import CompileError


def test_an_int_of_64_bits_without_a_sign_says_which_has_the_same_bits() -> None:
    with pytest.raises(CompileError, match=r"64 bit integer\). The int with the same 64 bits is -3750763034362895579"):
        flambeau.CompilationUnit("def f(x: int):\n    return x * 14695981039346656037\n")
    with pytest.raises(CompileError, match=r"64 bit integer\)") as caught:
        flambeau.CompilationUnit("def f(x: int):\n    return x * 18446744073709551616\n")
    assert "same 64 bits" not in str(caught.value)

    def hashed(codes: list[int]) -> int:
        h = -3750763034362895579
        for c in codes:
            h = (h ^ c) * 1099511628211
        return h

    def by_python(codes: list[int]) -> int:
        h = 14695981039346656037
        for c in codes:
            h = (h ^ c) * 1099511628211 % 2**64
        return h

    codes = list(b"an int of 64 bits")
    assert flambeau.script(hashed)(codes) % 2**64 == by_python(codes)
