"""Losses that pick classes: value and gradient are one pass over the rows, and refuse classes as the loss does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import value_and_grad
from flambeau.nn import functional


def averaged(x: Tensor, labels: Tensor) -> Tensor:
    return functional.cross_entropy(x, labels)


def added(x: Tensor, labels: Tensor) -> Tensor:
    return functional.cross_entropy(x, labels, reduction="sum", ignore_index=2)


def of_average(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    return value_and_grad(averaged, 0)(x, labels)


def of_sum(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    return value_and_grad(added, 0)(x, labels)


def _labels(*numbers: int) -> Tensor:
    return flambeau.tensor(numbers, dtype=flambeau.int64)


@pytest.mark.parametrize("program", [of_average, of_sum])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_answers_are_those_of_the_tape(program: Any, dtype: Any) -> None:
    rows = np.random.default_rng(0).standard_normal((6, 4)).astype(dtype)
    rows[1, 3] = -np.inf
    rows[2, 0] = np.nan if program is of_sum else rows[2, 0]
    labels = _labels(0, 1, 2, 3, 0, -100) if program is of_average else _labels(0, 1, 2, 3, 0, 2)
    got = flambeau.script(program)(flambeau.from_numpy(rows), labels)
    want = program(flambeau.from_numpy(rows), labels)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-7)


def test_rows_are_gone_over_once() -> None:
    compiled = flambeau.script(of_average)
    x, labels = flambeau.rand(5, 7), _labels(0, 1, 2, 3, 6)
    compiled(x, labels)
    groups = compiled.graph_for(x, labels).find_all("prim::FusionGroup")
    assert len([g for g in groups if g.operands[0].static_type.rank == 2 and len(g.results) == 2]) == 1
    assert not compiled.graph_for(x, labels).find_all("aten::scatter_add")


@pytest.mark.parametrize("wrong", [7, -3])
def test_classes_that_do_not_exist_are_refused(wrong: int) -> None:
    compiled = flambeau.script(of_average)
    x = flambeau.rand(3, 4)
    compiled(x, _labels(0, 1, 2))
    for program in (compiled, of_average):
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            program(x, _labels(0, wrong, 2))
    with pytest.raises(ValueError, match="batch_size"):
        compiled(x, _labels(0))


def test_nothing_and_one_of_each() -> None:
    compiled = flambeau.script(of_average)
    for sizes in ((0, 4), (3, 1), (1, 3)):
        x, labels = flambeau.rand(*sizes), flambeau.zeros(sizes[0], dtype=flambeau.int64)
        for a, b in zip(compiled(x, labels), of_average(x, labels), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
