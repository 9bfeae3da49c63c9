"""Powers whose exponent is 0 or becomes 0 on the way back: their gradient is a tensor of zeros, to any order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor


def _power(x: Tensor, exponent: int) -> Tensor:
    return x**exponent


def _float_power(x: Tensor, exponent: int) -> Tensor:
    return flambeau.float_power(x, exponent)


def _sum_of_powers(x: Tensor, exponent: int) -> Tensor:
    total = x * exponent
    for number in range(3):
        total = total + x**number
    return total


def _of_a_number(x: Tensor, exponent: int) -> Tensor:
    return 2**x + 0**x


PROGRAMS: list[tuple[Callable[..., Any], int, list[float], list[float]]] = [
    (_power, 0, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    (_power, 1, [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    (_power, 2, [0.0, 4.0, -2.0], [2.0, 2.0, 2.0]),
    (_float_power, 0, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    (_of_a_number, 0, [math.log(2), 4 * math.log(2)], [math.log(2) ** 2, 4 * math.log(2) ** 2]),
    (_sum_of_powers, 1, [2.0, 6.0, 0.0], [2.0, 2.0, 2.0]),
]


@pytest.mark.parametrize(("function", "exponent", "first", "second"), PROGRAMS)
@pytest.mark.parametrize("is_compiled", [False, True], ids=["eager", "compiled"])
def test_powers(
    function: Callable[..., Any], exponent: int, first: list[float], second: list[float], is_compiled: bool
) -> None:
    """Where the base is 0 too, and of second order."""
    call = flambeau.script(function) if is_compiled else function
    x = flambeau.tensor([0.0, 2.0, -1.0][: len(first)], requires_grad=True)
    (slope,) = flambeau.autograd.grad(call(x, exponent).sum(), x, create_graph=True)
    assert slope.tolist() == pytest.approx(first)
    if slope.requires_grad:
        (curvature,) = flambeau.autograd.grad(slope.sum(), x, allow_unused=True)
        assert curvature is None or curvature.tolist() == pytest.approx(second)
    call(x, exponent).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == pytest.approx(first)
