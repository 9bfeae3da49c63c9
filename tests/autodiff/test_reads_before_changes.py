"""Gradients of what is read from lists and tensors before they change, in loops too: those of finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad

VALUES = (0.3, -0.7)
Program = Callable[[Tensor, int], Tensor]


def read_then_appended(v: Tensor, k: int) -> Tensor:
    parts = [v]
    y = parts[-1].sin()
    parts.append(v * 3)
    return y.sum()


def appended_in_a_loop(v: Tensor, k: int) -> Tensor:
    parts = [v * 2]
    y = parts[-1] * 2
    for _ in range(k):
        parts.append(v * 3)
    return y.sum()


def appended_in_a_branch(v: Tensor, k: int) -> Tensor:
    parts = [v * 2]
    y = parts[-1] * 2
    if k > 1:
        parts.append(v * 3)
    return y.sum()


def read_and_appended(v: Tensor, k: int) -> Tensor:
    parts = [v * 2]
    y = v
    for i in range(k):
        y = y + parts[-1].sin() * i
        parts.append(v * 3)
    return y.sum()


def chained(v: Tensor, k: int) -> Tensor:
    parts = [v]
    for i in range(k + 1):
        parts.append((v * i + parts[-1]).sin())
    return flambeau.stack(parts).sum()


def read_and_replaced(v: Tensor, k: int) -> Tensor:
    parts = [v * 2, v]
    y = v.sum()
    for i in range(k):
        y = y + parts[0].sin().sum()
        parts[0] = v * i + parts[1]
    return y


def read_and_written(v: Tensor, k: int) -> Tensor:
    buffer = v * 2
    y = v.sum()
    for i in range(k):
        y = y + buffer[0].sin()
        buffer[0] = v[1] * 3 * i
    return y


def read_in_a_loop(v: Tensor, k: int) -> Tensor:
    parts = [v]
    y = v
    for _ in range(k + 1):
        y = parts[0].sin()
    return y.sum()


LISTS = [
    read_then_appended, appended_in_a_loop, appended_in_a_branch, read_and_appended, chained, read_and_replaced,
]  # fmt: skip


def by_differences(program: Program, k: int) -> np.ndarray:
    slopes = []
    for step in 1e-6 * np.eye(2):
        ahead, behind = (program(flambeau.from_numpy(np.array(VALUES) + sign * step), k).item() for sign in (1, -1))
        slopes.append((ahead - behind) / 2e-6)
    return np.array(slopes)


@pytest.mark.parametrize("program", [*LISTS, read_and_written])
def test_the_gradient_is_that_of_differences(program: Program) -> None:
    compiled = flambeau.script(program)
    for k in range(4):
        v = flambeau.tensor(VALUES, dtype=flambeau.float64, requires_grad=True)
        (slope,) = grad(compiled(v, k), [v])
        np.testing.assert_allclose(slope.numpy(), by_differences(program, k), atol=1e-7, err_msg=f"{k} rounds")


@pytest.mark.parametrize("program", [read_then_appended, chained, read_in_a_loop])
def test_gradients_of_gradients_are_those_of_the_tape(program: Program) -> None:
    compiled = flambeau.script(program)
    for k in range(3):
        second = []
        for run in (compiled, program):
            v = flambeau.tensor(VALUES, dtype=flambeau.float64, requires_grad=True)
            (slope,) = grad(run(v, k), [v], create_graph=True)
            second.append(grad((slope * slope).sum(), [v])[0].numpy())
        np.testing.assert_allclose(second[0], second[1], rtol=1e-10, err_msg=f"{k} rounds")
        assert np.abs(second[1]).min() > 0.1
