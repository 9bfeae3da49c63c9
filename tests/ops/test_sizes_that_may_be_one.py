"""Operands that are broadcast, where only the run tells which of their sizes are 1: in compiled functions and eager."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available

SIZES = ((2, 6, 2, 6), (1, 12, 4, 1), (3, 4, 1, 4), (3, 4, 3, 1), (1, 1, 5, 2), (0, 3, 1, 3))
UNLIKE = ((2, 6, 6, 2), (12, 1, 2, 6))


def seen_together(x: Tensor, y: Tensor, a: int, b: int, c: int, d: int) -> Tensor:
    p, q = flambeau.broadcast_tensors(x.view(a, b), y.view(c, d))
    return p * 2.0 + q


def picked(x: Tensor, y: Tensor, a: int, b: int, c: int, d: int) -> Tensor:
    return x.view(a, b).masked_select(y.view(c, d) > 0) * 2.0


def taken(x: Tensor, y: Tensor, a: int, b: int, c: int, d: int) -> Tensor:
    places = (y.view(c, d) > 0).to(flambeau.int64) - 1
    return flambeau.take_along_dim(x.view(a, b), places, 1) + 1.0


def scattered(x: Tensor, y: Tensor, a: int, b: int, c: int, d: int) -> Tensor:
    return x.view(a, b).masked_scatter(y.view(c, d) > 0, flambeau.arange(60.0)) * 3.0


def operands(sizes: tuple[int, ...], seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    numbers = [rng.standard_normal(n * m).astype(np.float32) for n, m in (sizes[:2], sizes[2:])]
    return (*map(flambeau.from_numpy, numbers), *sizes)


@pytest.mark.parametrize("function", [seen_together, picked, taken, scattered])
def test_the_same_as_eager(function: Callable[..., Tensor]) -> None:
    compiled = flambeau.script(function)
    for seed in range(3):
        for sizes in SIZES:
            x = operands(sizes, seed)
            np.testing.assert_array_equal(compiled(*x).numpy(), function(*x).numpy(), str(sizes))
    compiled.compile(*operands(SIZES[0], 0))
    if available():
        assert "whole graph: native" in str(compiled.explain(measure=False))
    for sizes in UNLIKE:
        with pytest.raises(RuntimeError, match=r"The size of tensor a \(\d+\) must match") as eager:
            function(*operands(sizes, 0))
        with pytest.raises(RuntimeError) as error:
            compiled(*operands(sizes, 0))
        assert str(eager.value) in str(error.value)


def test_what_leads_to_a_warning_does_not_keep_a_function_from_native_code() -> None:
    @flambeau.script
    def distance(x: Tensor, y: Tensor) -> Tensor:
        if x.size() != y.size():
            warnings.warn(f"sizes {x.size()} and {y.size()}", stacklevel=2)
        return ((x - y) ** 2).mean()

    distance.compile(flambeau.ones(3, 2), flambeau.zeros(3, 2))
    for _ in range(3):
        assert float(distance(flambeau.ones(3, 2), flambeau.zeros(3, 2))) == 1.0
        with pytest.warns(UserWarning, match=r"sizes \[3, 2\] and \[1, 2\]"):
            assert float(distance(flambeau.ones(3, 2), flambeau.zeros(1, 2))) == 1.0
    if available():
        assert "whole graph: interpreted" not in str(distance.explain(measure=False))
