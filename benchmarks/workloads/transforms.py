"""Transforms of functions: Jacobians, Hessians, gradients of each example, products with Hessians."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Call, Goal, Workload
from benchmarks.peers import Program
from benchmarks.programs import transforms
from benchmarks.workloads.entries import normal

TWICE = Goal(times=2.0, against="jax")
NO_GOAL = Goal(times=None, against="jax")


def _ours(transform: Callable[[Any], Callable[..., Any]], function: Program, *arguments: Any) -> Call:
    """The transform of the scripted function."""
    import flambeau

    return peers.flambeau_eager(transform(flambeau.script(function)), *arguments)


def _in_torch(transform: Callable[[Any, Any], Callable[..., Any]], function: Program, *arguments: Any) -> Call:
    import torch

    bound = peers.rebound(function, flambeau=torch, Tensor=torch.Tensor)
    return peers.torch_library(lambda module: transform(module.func, bound), *arguments)


def _row(
    name: str, function: Program, make: Callable[[Any, Any], Callable[..., Any]], jax: str, arguments: tuple[Any, ...],
    expected: Callable[[], Any], goal: Goal = NO_GOAL,
) -> Workload:  # fmt: skip
    def of_scripted(scripted: Any) -> Callable[..., Any]:
        import flambeau.func

        return make(flambeau.func, scripted)

    return Workload(
        name=name,
        kind="transforms",
        peers={
            "flambeau": partial(_ours, of_scripted, function, *arguments),
            "torch": partial(_in_torch, make, function, *arguments),
            "jax": partial(peers.jax, jax, *arguments),
        },
        expected=expected,
        tolerance=1e-3,
        goal=goal,
    )


def _jacobian(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    count = len(x)
    base = np.sin(x[1:]) * np.exp(-(x[:-1] ** 2))
    jacobian = np.repeat(base[:, None], count, 1)
    rows = np.arange(count - 1)
    jacobian[rows, rows + 1] += np.cos(x[1:]) * np.exp(-(x[:-1] ** 2)) * x.sum()
    jacobian[rows, rows] -= 2 * x[:-1] * base * x.sum()
    return jacobian


def _hessian(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    rows = np.arange(len(x) - 1)
    hessian = np.zeros((len(x), len(x)))
    hessian[rows, rows] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    hessian[rows + 1, rows + 1] += 200
    hessian[rows, rows + 1] = hessian[rows + 1, rows] = -400 * x[:-1]
    return hessian


def _gradients(w: np.ndarray, b: np.ndarray, v: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    w, b, v, x, y = (a.astype(np.float64) for a in (w, b, v, x, y))
    h = np.tanh(x @ w.T + b)
    error = 2 * (h @ v.T - y)
    back = (error @ v) * (1 - h * h)
    return back[:, :, None] * x[:, None, :], back, error[:, :, None] * h[:, None, :]


def _pendulums(s: np.ndarray, g: np.ndarray) -> np.ndarray:
    s, g = s.astype(np.float64), g.astype(np.float64)

    def slope(s: np.ndarray) -> np.ndarray:
        return np.stack([s[:, 1], -g * np.sin(s[:, 0])], 1)

    for _ in range(100):
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        k4 = slope(s + 0.01 * k3)
        s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return s


def _jacobians_of_pendulums(s: np.ndarray, g: np.ndarray) -> np.ndarray:
    """By differences."""
    s, steps = s.astype(np.float64), np.eye(2) * 1e-5
    return np.stack([(_pendulums(s + e, g) - _pendulums(s - e, g)) / 2e-5 for e in steps], 2)


def workloads(small: bool) -> Iterator[Workload]:
    """A Jacobian and a Hessian by 50 numbers, gradients of 64 examples, a product with the Hessian by 1,000 numbers,
    and the steps of a differential equation for 256 examples, with their Jacobians."""
    count = 5 if small else 50
    x = normal(count) * np.float32(0.5)
    yield _row(
        f"Jacobian of {count - 1} numbers by {count}", transforms.waves, lambda func, f: func.jacrev(f),
        "jacobian_of_waves", (x,), lambda: _jacobian(x), TWICE,
    )  # fmt: skip
    yield _row(
        f"Hessian by {count} numbers", transforms.valley, lambda func, f: func.hessian(f), "hessian_of_valley", (x,),
        lambda: _hessian(x), TWICE,
    )  # fmt: skip
    examples, width = (3, 4) if small else (64, 32)
    layers = (normal(width, 16) * np.float32(0.1), normal(width), normal(8, width, seed=1) * np.float32(0.1))
    data = (normal(examples, 16, seed=2), normal(examples, 8, seed=3))
    yield _row(
        f"gradients of each of {examples} examples, 16 to {width} to 8", transforms.loss,
        lambda func, f: func.vmap(func.grad(f, (0, 1, 2)), (None, None, None, 0, 0)), "gradients_of_examples",
        (*layers, *data), lambda: _gradients(*layers, *data),
    )  # fmt: skip
    count = 3 if small else 256
    states, weights = normal(count, 2), np.abs(normal(count, seed=1)) + np.float32(1)
    yield _row(
        f"100 Runge-Kutta steps of each of {count} examples", transforms.pendulum, lambda func, f: func.vmap(f),
        "pendulums", (states, weights), lambda: _pendulums(states, weights), TWICE,
    )  # fmt: skip
    yield _row(
        f"Jacobians of 100 Runge-Kutta steps of each of {count} examples", transforms.pendulum,
        lambda func, f: func.vmap(func.jacfwd(f)), "jacobians_of_pendulums", (states, weights),
        lambda: _jacobians_of_pendulums(states, weights),
    )  # fmt: skip
    many = 10 if small else 1000
    point, vector = normal(many) * np.float32(0.5), normal(many, seed=1)
    yield _row(
        f"product with the Hessian by {many:,} numbers", transforms.valley,
        lambda func, f: lambda x, v: _product(func, f, x, v), "product_with_hessian", (point, vector),
        lambda: _hessian(point) @ vector,
    )  # fmt: skip


def _product(func: Any, function: Any, x: Any, v: Any) -> Any:
    """The product alone: `torch.func` has it as the tangent of the gradient."""
    return func.hvp(function, (x,), (v,))[1] if "hvp" in vars(func) else func.jvp(func.grad(function), (x,), (v,))[1]
