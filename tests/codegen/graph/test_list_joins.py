"""Tensors of lists that grow while a program runs, stacked and joined along every axis, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
GROWS = """
def f(x: Tensor, count: int) -> Tensor:
    kept: List[Tensor] = []
    total = x.sum() * 0
    for k in range(count):
        kept.append(x + k)
        total = total + flambeau.{0}(kept, {1}).sum()
    return flambeau.{0}(kept, {1}) + total * 0
"""
UNLIKE = """
def f(x: Tensor, count: int) -> Tensor:
    kept: List[Tensor] = []
    for k in range(count):
        kept.append(x[:k + 1])
    return flambeau.{0}(kept, {1})
"""


def compiled(source: str, operator: str, dim: int) -> Any:
    return flambeau.CompilationUnit(source.format(operator, dim)).f


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("operator", ["stack", "cat"])
@pytest.mark.parametrize("shape", [(5,), (2, 0, 3), (2, 3, 17)])
def test_lists_that_grow(operator: str, shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    for dim in (0, -1) if len(shape) == 1 else (1, -2):
        function = compiled(GROWS, operator, dim)
        for count in (1, 7, 20):
            found = function(flambeau.from_numpy(x), count)
            joined = getattr(np, {"stack": "stack", "cat": "concatenate"}[operator])
            np.testing.assert_array_equal(found.numpy(), joined([x + np.float32(k) for k in range(count)], dim))
        assert function.explain(measure=False).is_native, (dim, str(function.explain(measure=False)))


def test_tensors_that_lie_anyhow() -> None:
    function = compiled(GROWS, "cat", 1)
    x = numbers(6, 9, 4).transpose(2, 0, 1)[:, ::2]
    for _ in range(3):
        found = function(flambeau.from_numpy(x), 4)
    np.testing.assert_array_equal(found.numpy(), np.concatenate([x + np.float32(k) for k in range(4)], 1))


def test_tensors_of_several_sizes() -> None:
    x = numbers(6, 3)
    joined = compiled(UNLIKE, "cat", 0)
    for count in (1, 3, 6):
        for _ in range(3):
            found = joined(flambeau.from_numpy(x), count)
        np.testing.assert_array_equal(found.numpy(), np.concatenate([x[: k + 1] for k in range(count)]))
    for operator, dim in (("stack", 1), ("cat", 1)):
        function = compiled(UNLIKE, operator, dim)
        for _ in range(3):
            assert function(flambeau.from_numpy(x), 1).numel() == 3
        with pytest.raises(RuntimeError, match=r"(?i)size"):
            function(flambeau.from_numpy(x), 3)


@pytest.mark.parametrize("operator", ["stack", "cat"])
def test_of_no_tensors_there_is_none(operator: str) -> None:
    function = compiled(GROWS, operator, 0)
    for _ in range(3):
        function(flambeau.ones(3), 2)
    with pytest.raises(RuntimeError, match=r"(?i)list|empty|tensors"):
        function(flambeau.ones(3), 0)
