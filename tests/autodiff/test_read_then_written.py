"""What is read, and then written in place: the tape refuses to go back where a formula needs what was there, and
compiled functions keep a copy of it, which finite differences confirm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.autograd import numeric


def scaled_after(x: Tensor) -> Tensor:
    y = x.sin()
    z = y * y
    y.mul_(3.0)
    return (z + y).sum()


def element_of_result(x: Tensor) -> Tensor:
    y = x.exp()
    z = y * x
    y[0] = 5.0
    return (z * y).sum()


def elements_in_a_loop(x: Tensor) -> Tensor:
    y = x.clone()
    total = x[0] * 0.0
    for i in range(x.size(0)):
        total = total + y[i] * y[i]
        y[i] = total.sin()
    return (y * total).sum()


def whole_in_a_loop(x: Tensor) -> Tensor:
    y = x.tanh()
    total = x.sum() * 0.0
    for _ in range(3):
        total = total + (y * y).sum()
        y.mul_(x)
    return total + y.sum()


def through_a_view(x: Tensor) -> Tensor:
    y = x * 1.0
    v = y[1:]
    w = v.sigmoid() * v
    v.zero_()
    return w.sum() + (y * x).sum()


def in_a_branch(x: Tensor) -> Tensor:
    y = x.exp()
    if bool(x[0] > 0):
        z = y.sqrt()
        y.add_(z)
    else:
        z = y * 2.0
    return (z * y).sum()


@pytest.mark.parametrize(
    "program",
    [scaled_after, element_of_result, elements_in_a_loop, whole_in_a_loop, through_a_view, in_a_branch],
    ids=lambda program: program.__name__,
)
def test_c15_compiled_gradients_are_right_where_the_tape_refuses(program: Callable[..., Any]) -> None:
    values = np.random.default_rng(0).uniform(0.3, 1.2, 5)
    x = flambeau.tensor(values, requires_grad=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        program(x).backward()
    compiled = flambeau.script(program)
    numeric.check(compiled, values)
    assert compiled._executor.derivatives.gradient_plans
