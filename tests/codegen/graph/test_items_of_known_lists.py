"""Items, at an index that only the run tells, of lists that nobody changes."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.codegen import available
from tests.codegen.graph.one_meaning import agree

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")

SUMMED = """
def f(x: Tensor, n: int) -> Tensor:
    parts = [x + 1, x.t() * 2, x]
    out = x
    for i in range(n):
        out = out + parts[i % 3]
    return out
"""
GIVEN = """
def f(x: Tensor, n: int) -> Tensor:
    parts = [x + 1, x.t(), x]
    return parts[n]
"""
WRITTEN = """
def f(x: Tensor, n: int) -> Tensor:
    y, z = x + 1, x * 2
    parts = [y, z]
    parts[n].add_(10.0)
    return y - z
"""


@pytest.mark.parametrize("n", [0, 1, 7])
def test_they_are_summed(n: int) -> None:
    agree(SUMMED, lambda: (flambeau.arange(4.0).reshape(2, 2), n))


@pytest.mark.parametrize("n", [0, 1, 2, -1, -3, 3, -4])
def test_they_are_given(n: int) -> None:
    agree(GIVEN, lambda: (flambeau.arange(4.0).reshape(2, 2), n))


@pytest.mark.parametrize("n", [0, 1, -1])
def test_they_are_written(n: int) -> None:
    agree(WRITTEN, lambda: (flambeau.arange(4.0).reshape(2, 2), n))
