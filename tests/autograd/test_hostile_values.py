"""Gradients where values are not finite, tiny or huge: what PyTorch gives, by the tape and in compiled functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad

INF, NAN = math.inf, math.nan


def first_logaddexp(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.logaddexp(x, y)


def first_logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.logaddexp2(x, y)


def product_with_log(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.xlogy(x, y)


def product_with_log_of_more(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.special.xlog1py(x, y - 1)


def next_number(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.nextafter(x, y)


def double_power(x: Tensor, y: Tensor) -> Tensor:
    return flambeau.float_power(x, y)


Case = tuple[Callable[[Tensor, Tensor], Tensor], Sequence[float], Sequence[float], Sequence[float], Sequence[float]]
PAIRS: tuple[Case, ...] = (
    (first_logaddexp, [INF, -INF, 1, INF, -INF, 200], [INF, -INF, 1, 0, 0, 0],
     [NAN, NAN, 0.5, 1, 0, 1], [NAN, NAN, 0.5, 0, 1, 0]),
    (first_logaddexp2, [INF, -INF, 1, INF, -INF], [INF, -INF, 1, 0, 0], [NAN, NAN, 0.5, 1, 0], [NAN, NAN, 0.5, 0, 1]),
    (product_with_log, [0, 2, NAN, 0, 0, 3], [NAN, NAN, 1, -1, 0, 1],
     [NAN, NAN, 0, 0, 0, 0], [NAN, NAN, NAN, 0, NAN, 3]),
    (product_with_log_of_more, [0, 2, 0, 0, 3], [NAN, NAN, -1, 0, 1], [NAN, NAN, 0, 0, 0], [NAN, NAN, 0, NAN, 3]),
    (next_number, [1, INF, 0, 1], [1, INF, 0, 2], [0, 0, 0, 1], [0, 0, 0, 0]),
    (double_power, [-1, -1, 2], [1e10, 3, 3], [-1e10, 3, 12], [NAN, NAN, 8 * math.log(2)]),
)  # fmt: skip


@pytest.mark.parametrize(("function", "x", "y", "by_x", "by_y"), PAIRS, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients_of_two(
    function: Callable[[Tensor, Tensor], Tensor], x: Sequence[float], y: Sequence[float], by_x: Any, by_y: Any
) -> None:
    for run in (function, flambeau.script(function)):
        for dtype in (flambeau.float32, flambeau.float64):
            operands = [flambeau.tensor(v, dtype=dtype, requires_grad=True) for v in (x, y)]
            gradients = grad(run(*operands).sum(), operands, allow_unused=True)
            for gradient, expected in zip(gradients, (by_x, by_y), strict=True):
                values = np.zeros(len(x)) if gradient is None else gradient.numpy()
                np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-80)


def test_no_gradient_is_none_before_any_logarithm() -> None:
    x, y = flambeau.tensor([NAN, 1.0, 2.0], requires_grad=True), flambeau.tensor([-1.0, INF, 0.0])
    assert grad(flambeau.xlogy(x, y), x, flambeau.zeros(3))[0].tolist() == [0, 0, 0]


def test_the_second_derivative_of_a_sum_of_powers_is_finite_far_out() -> None:
    x = flambeau.tensor([0.0, 30.0, 800.0], dtype=flambeau.float64, requires_grad=True)
    (slope,) = grad(flambeau.logaddexp(x, 0 * x).sum(), x, create_graph=True)
    (bend,) = grad(slope.sum(), x)
    np.testing.assert_allclose(bend.numpy(), [0.25, math.exp(-30), 0], rtol=0.01)


def bessel(x: Tensor) -> Tensor:
    return flambeau.special.i1(x)


def scaled_bessel(x: Tensor) -> Tensor:
    return flambeau.special.i1e(x)


def wave(x: Tensor) -> Tensor:
    return flambeau.sinc(x)


def mantissa(x: Tensor) -> Tensor:
    return flambeau.frexp(x)[0]


@pytest.mark.parametrize(("function", "expected"), [(bessel, 0.5), (scaled_bessel, 0.5), (wave, 0.0)])
def test_derivatives_at_the_least_number(function: Callable[[Tensor], Tensor], expected: float) -> None:
    for run in (function, flambeau.script(function)):
        for dtype, least in ((flambeau.float32, 1e-45), (flambeau.float64, 5e-324)):
            x = flambeau.tensor([least, -least, 0.0], dtype=dtype, requires_grad=True)
            assert grad(run(x).sum(), x)[0].tolist() == [expected] * 3


def test_a_mantissa_of_no_gradient_has_none() -> None:
    x = flambeau.tensor([1e-45, 3.0], requires_grad=True)
    assert grad(mantissa(x), x, flambeau.zeros(2))[0].tolist() == [0, 0]
    assert grad(mantissa(x), x, flambeau.ones(2))[0].tolist() == [INF, 0.25]


def test_polygamma_is_nan_at_minus_infinity() -> None:
    assert flambeau.polygamma(1, flambeau.tensor([-INF, INF])).tolist()[1] == 0
    assert math.isnan(flambeau.polygamma(1, flambeau.tensor([-INF]))[0].item())
    x = flambeau.tensor([-INF], requires_grad=True)
    assert math.isnan(grad(flambeau.digamma(x).sum(), x)[0].item())


def test_extremes_that_are_nan() -> None:
    values = [1.0, NAN, 3.0]
    for fold in (flambeau.amax, flambeau.amin):
        x = flambeau.tensor(values, requires_grad=True)
        assert grad(fold(x), x)[0].isnan().all()
    x = flambeau.tensor(values, requires_grad=True)
    assert grad(x.max(), x)[0].tolist() == [0, 1, 0]
    x = flambeau.tensor([1.0, 3.0, 3.0], requires_grad=True)
    assert grad(flambeau.amax(x), x)[0].tolist() == [0, 0.5, 0.5]


def test_norms_that_are_nan() -> None:
    for order in (INF, -INF):
        x = flambeau.tensor([1.0, NAN, 3.0], requires_grad=True)
        assert grad(flambeau.linalg.vector_norm(x, order), x)[0].tolist() == [0, 0, 0]
    x = flambeau.tensor([[NAN, 1.0], [3.0, 4.0]], requires_grad=True)
    gradient = grad(flambeau.renorm(x, 2, 0, 1.0).sum(), x)[0]
    assert gradient[0].tolist() == [1, 1]
    np.testing.assert_allclose(gradient[1].numpy(), [0.2 - 7 / 125 * 3, 0.2 - 7 / 125 * 4], rtol=1e-5)


def test_running_sums_of_complex_powers_far_apart() -> None:
    x = np.array([-2000 + 1j, -1000 + 2j, 0.5 - 1j, 700.0 + 0j, 700.0 + 1j])
    result = flambeau.logcumsumexp(flambeau.tensor(x), 0).numpy()
    np.testing.assert_allclose(result[:4], x[:4], rtol=1e-12)
    np.testing.assert_allclose(result[4], 700 + np.log(1 + np.exp(1j)), rtol=1e-12)


def smooth(x: Tensor) -> Tensor:
    return flambeau.nn.functional.gelu(x, approximate="tanh")


def test_a_tangent_that_is_one_has_no_slope_whatever_the_squares_are() -> None:
    for run in (smooth, flambeau.script(smooth)):
        for dtype in (flambeau.float16, flambeau.bfloat16, flambeau.float32, flambeau.float64):
            x = flambeau.tensor([300.0, -300.0, 60000.0, -60000.0, INF, NAN], dtype=dtype, requires_grad=True)
            result = run(x)
            np.testing.assert_array_equal(grad(result.sum(), x)[0].to(flambeau.float64).numpy(), [1, 0, 1, 0, 1, NAN])
            assert result[4].item() == INF
