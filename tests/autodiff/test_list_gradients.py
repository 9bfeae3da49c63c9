"""Derivatives through lists of tensors and of numbers are those of finite differences: on the tape of compiled calls
and as functions, to second order and forwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad
from tests.autodiff import container_programs, list_programs

PROGRAMS = (*list_programs.PROGRAMS, *container_programs.PROGRAMS)
STEP = 1e-6
BACKENDS: tuple[Any, ...] = ("native", "interpreter")
POINTS = (np.array([0.7, -1.2, 1.9]), np.array([1.3, 0.4, -0.6, 2.1, -1.1]))


def differences(function: Callable[[Any], Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The derivative by each element, by central differences."""
    ahead, behind = (
        [np.asarray(function(flambeau.from_numpy(x + sign * STEP * e))) for e in np.eye(x.size)] for sign in (1, -1)
    )
    return (np.array(ahead) - np.array(behind)) / (2 * STEP)


@pytest.mark.parametrize("program", [*PROGRAMS, *container_programs.TO_FIRST_ORDER], ids=lambda p: p.__name__)
def test_derivatives_are_those_of_differences(program: Callable[[Tensor], Tensor]) -> None:
    slopes = [differences(program, point) for point in POINTS]
    for backend in BACKENDS:
        scripted = flambeau.script(program, backend=backend)
        slope = flambeau.grad(scripted)
        for point, want in zip(POINTS, slopes, strict=True):
            leaf = flambeau.from_numpy(point.copy()).requires_grad_()
            (on_tape,) = grad(scripted(leaf), leaf)
            as_function = slope(flambeau.from_numpy(point))
            np.testing.assert_allclose(on_tape.numpy(), want, rtol=1e-6, atol=1e-7, err_msg=backend)
            np.testing.assert_allclose(as_function.numpy(), want, rtol=1e-6, atol=1e-7, err_msg=backend)
        if backend == "native" and program in PROGRAMS:
            assert_second_order_and_forwards(program, scripted, slope, slopes[0])


def assert_second_order_and_forwards(program: Any, scripted: Any, slope: Any, want: np.ndarray[Any, Any]) -> None:
    """Second derivatives at the first point are differences of the first; `want` is the slope of the program there."""
    x = flambeau.from_numpy(POINTS[0])
    curvature = flambeau.hessian(scripted)(x).numpy()
    np.testing.assert_allclose(curvature, differences(slope, POINTS[0]), rtol=1e-5, atol=1e-6)
    value, tangent = flambeau.jvp(scripted, (x,), (flambeau.ones_like(x),))
    np.testing.assert_allclose(value.numpy(), program(x).numpy(), rtol=1e-12)
    np.testing.assert_allclose(tangent.numpy(), want.sum(), rtol=1e-6)
    np.testing.assert_allclose(flambeau.jacfwd(scripted)(x).numpy(), want, rtol=1e-6, atol=1e-7)


def neighbours(x: Tensor, v: Tensor, w: Tensor) -> Tensor:
    total = (x * v).sum() * 0.1
    m = v * 1.1
    u = m[::2]
    u += w.sum()
    if x.size(0) > 2:
        y = m.clone()
        for i in range(1, m.size(0)):
            y[i] = (m[i - 1] - m[i]) * w[0]
        total = total + (y * v.cos()).sum()
    return total


def test_loops_without_rounds_leave_lists_into_which_nothing_goes() -> None:
    for sizes in ((2, 1), (3, 1), (3, 2)):
        found = []
        for function in (neighbours, flambeau.script(neighbours)):
            draw = np.random.default_rng(4)
            shapes = (sizes, sizes[1:], sizes[:1])
            leaves = [flambeau.from_numpy(draw.normal(size=shape)).requires_grad_() for shape in shapes]
            gradients = grad(function(*leaves), leaves, allow_unused=True)
            found.append([None if g is None else g.tolist() for g in gradients])
        assert [g is None for g in found[0]] == [g is None for g in found[1]]
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(0 if one is None else one, 0 if other is None else other, rtol=1e-12)
