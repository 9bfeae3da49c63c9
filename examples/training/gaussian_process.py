"""A Gaussian process whose length, height and noise Newton's method finds: gradients and Hessians of a likelihood.

The inverse Hessian at the end also says how sure the parameters are.
"""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor


def points(count: int) -> tuple[Tensor, Tensor]:
    """Noisy samples of a function: places and values."""
    flambeau.manual_seed(0)
    x = flambeau.sort(flambeau.rand(count, dtype=flambeau.float64) * 6)[0]
    return x, flambeau.sin(2 * x) + 0.1 * flambeau.randn(count, dtype=flambeau.float64)


def covariance(a: Tensor, b: Tensor, logs: Tensor) -> Tensor:
    """How alike the process is at two lists of places, (n) and (m) to (n, m)."""
    length, height = logs[0].exp(), logs[1].exp()
    return height**2 * flambeau.exp(-0.5 * ((a.unsqueeze(1) - b.unsqueeze(0)) / length) ** 2)


def surprise(logs: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Minus the logarithm of the likelihood of what was seen, by the logarithms of length, height and noise."""
    kernel = covariance(x, x, logs) + logs[2].exp() ** 2 * flambeau.eye(len(x), dtype=x.dtype)
    factor = flambeau.linalg.cholesky(kernel)
    white = flambeau.linalg.solve_triangular(factor, y.unsqueeze(1), upper=False)
    return 0.5 * (white**2).sum() + factor.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)


def train(steps: int = 12, count: int = 40) -> tuple[Tensor, Tensor, list[float]]:
    """The logarithms of length, height and noise, how sure they are, and the surprise in each step."""
    x, y = points(count)
    logs = flambeau.tensor([0.0, 0.0, -1.0], dtype=flambeau.float64)
    value_and_slope = flambeau.func.grad_and_value(surprise)
    curvature = flambeau.func.hessian(surprise)
    losses = []
    for _ in range(steps):
        slope, value = value_and_slope(logs, x, y)
        losses.append(value.item())
        values, vectors = flambeau.linalg.eigh(curvature(logs, x, y))
        step = vectors @ ((vectors.t() @ slope) / values.abs().clamp(min=1e-3))  # down, also where it bends up
        logs = logs - step.clamp(-0.5, 0.5)
    deviations = flambeau.linalg.inv(curvature(logs, x, y)).diagonal().sqrt()
    return logs, deviations, losses


@flambeau.no_grad()
def predict(places: Tensor, logs: Tensor, count: int = 40) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the process at some places, given what was seen."""
    x, y = points(count)
    kernel = covariance(x, x, logs) + logs[2].exp() ** 2 * flambeau.eye(count, dtype=x.dtype)
    across = covariance(places, x, logs)
    weights = flambeau.linalg.solve(kernel, across.t())
    variance = logs[1].exp() ** 2 - (across * weights.t()).sum(1)
    return weights.t() @ y, variance.clamp(min=0).sqrt()


if __name__ == "__main__":
    from examples.training.pictures import draw

    logs, deviations, losses = train()
    for name, log, deviation in zip(("length", "height", "noise"), logs.tolist(), deviations.tolist(), strict=True):
        print(f"{name} {math.exp(log):.3f}, within a factor of {math.exp(deviation):.2f}")
    print(f"surprise {losses[0]:.2f} to {losses[-1]:.2f}")

    def paint(axes: Any) -> None:
        x, y = points(40)
        places = flambeau.linspace(-0.5, 6.5, 200, dtype=flambeau.float64)
        mean, spread = predict(places, logs)
        axes.fill_between(places.numpy(), (mean - 2 * spread).numpy(), (mean + 2 * spread).numpy(), color="#cfd8dc")
        axes.plot(places.numpy(), mean.numpy(), color="#37474f", linewidth=1)
        axes.plot(x.numpy(), y.numpy(), ".", color="#ef6c00", markersize=4)

    draw("gaussian_process", paint)
