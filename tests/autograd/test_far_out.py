"""Derivatives of exponential units where the exponential is small, where it would overflow, and where pieces meet."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad

F: Any = flambeau.nn.functional
ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
UNITS: dict[str, tuple[Callable[[Tensor], Tensor], float, float, float]] = {
    "elu": (F.elu, 1, 1, 1),
    "elu with alpha": (lambda x: F.elu(x, 1.5), 1.5, 1, 1),
    "celu": (lambda x: F.celu(x, 2.0), 2, 1, 0.5),
    "selu": (F.selu, ALPHA, SCALE, 1),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
@pytest.mark.parametrize("name", UNITS)
def test_exponential_units_decay_far_out(name: str, dtype: Any, compiled: bool) -> None:
    unit, alpha, scale, rate = UNITS[name]
    points = [-60.0, -30.0, -1.0, 0.0, 2.0, 200.0, math.inf, -math.inf]
    x = flambeau.tensor(points, dtype=dtype, requires_grad=True)
    run = flambeau.jit.trace(unit, x.detach()) if compiled else unit
    (slope,) = grad(run(x).sum(), x, create_graph=True)
    (bend,) = grad(slope.sum(), x, create_graph=True)
    (third,) = grad(bend.sum(), x)
    steep = alpha * scale * rate
    tolerance = 1e-5 if dtype is flambeau.float32 else 1e-12
    first = [scale if p > 0 else steep * math.exp(rate * p) for p in points]
    assert slope.tolist() == pytest.approx(first, rel=tolerance, abs=0)
    for power, found in ((1, bend), (2, third)):
        expected = [0.0 if p >= 0 else steep * rate**power * math.exp(rate * p) for p in points]
        assert found.tolist() == pytest.approx(expected, rel=tolerance, abs=0)


@pytest.mark.parametrize("name", UNITS)
def test_what_is_no_number_stays_none(name: str) -> None:
    x = flambeau.tensor([math.nan], requires_grad=True)
    (slope,) = grad(UNITS[name][0](x).sum(), x)
    assert math.isnan(slope.item())


def test_softplus_bends_nowhere_beyond_its_threshold() -> None:
    x = flambeau.tensor([math.inf, 200.0, 0.0, -200.0, -math.inf], requires_grad=True)
    (slope,) = grad(F.softplus(x).sum(), x, create_graph=True)
    (bend,) = grad(slope.sum(), x)
    assert slope.tolist() == [1, 1, 0.5, 0, 0]
    assert bend.tolist() == [0, 0, 0.25, 0, 0]


def test_hardswish_is_flat_up_to_its_corner_and_straight_from_the_other() -> None:
    x = flambeau.tensor([-4.0, -3.0, 0.0, 3.0, 4.0], requires_grad=True)
    (slope,) = grad(F.hardswish(x).sum(), x, create_graph=True)
    assert slope.tolist() == [0, 0, 0.5, 1, 1]
    assert grad(slope.sum(), x)[0].tolist() == pytest.approx([0, 0, 1 / 3, 0, 0])
