"""Results of dense operands are row-major, with the strides of that where sizes are 1."""

from __future__ import annotations

import itertools
import math

import pytest

import flambeau
from flambeau import Tensor

SHAPES = [shape for n in (1, 2, 3) for shape in itertools.product((1, 2, 3), repeat=n)]


def pointwise(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.relu(x) * y + 1.0


def rows(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.softmax(x * y, -1)


def rounds(x: Tensor, y: Tensor) -> Tensor:
    for i in range(3):
        x = x * y + i
    return x


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


@pytest.mark.parametrize("program", [pointwise, rows, rounds])
def test_strides_of_results(program) -> None:
    compiled = flambeau.script(program)
    for shape in SHAPES:
        x = flambeau.ones(*shape)
        for _ in range(2):
            assert compiled(x, x).stride() == row_major(shape), shape


def test_operands_in_another_order_decide() -> None:
    compiled = flambeau.script(pointwise)
    x = flambeau.ones(3, 1, 2).permute(2, 1, 0)
    result = compiled(x, x)
    assert (result.shape, result.stride()[0], result.stride()[2]) == ((2, 1, 3), 1, 2)
