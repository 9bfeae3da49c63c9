"""Gradients on the tape: many small operators forward and backward, where the way to the work takes the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Goal, Workload
from benchmarks.peers import Program
from benchmarks.workloads.entries import normal


def _chain(turns: int) -> Callable[[Any], Program]:
    def make(module: Any) -> Program:
        def chain(x: Any, y: Any) -> Any:
            x = x.detach().requires_grad_()
            z = x
            for _ in range(turns):
                z = module.tanh(z * y + x) * 0.5 - y
            return module.autograd.grad(z.sum(), x)[0]

        return chain

    return make


def _chain_in_numpy(turns: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = x.astype(np.float64), y.astype(np.float64)
    z, slope = x, np.ones_like(x)
    for _ in range(turns):
        t = np.tanh(z * y + x)
        z, slope = t * 0.5 - y, 0.5 * (1 - t * t) * (slope * y + 1)
    return slope


def _products(turns: int) -> Callable[[Any], Program]:
    def make(module: Any) -> Program:
        def products(w: Any) -> Any:
            w = w.detach().requires_grad_()
            z = w
            for _ in range(turns):
                z = module.tanh(z @ w)
            return module.autograd.grad(z.sum(), w)[0]

        return products

    return make


def _products_in_numpy(turns: int, w: np.ndarray) -> np.ndarray:
    w = w.astype(np.float64)
    steps = [w]
    for _ in range(turns):
        steps.append(np.tanh(steps[-1] @ w))
    total, back = np.zeros_like(w), np.ones_like(w)
    for before, after in zip(reversed(steps[:-1]), reversed(steps[1:]), strict=True):
        back = back * (1 - after * after)
        total += before.T @ back
        back = back @ w.T
    return total + back


def workloads(small: bool) -> Iterator[Workload]:
    """A thousand operators on 16 floats; five hundred products of 8x8 and as many tanh between them."""
    even = Goal(times=1.0, against="torch")
    turns = 3 if small else 200
    x, y = normal(16), normal(16, seed=1)
    yield Workload(
        name=f"{5 * turns} operators forward and backward, 16 floats",
        kind="gradients",
        peers={
            "flambeau": partial(peers.flambeau_library, _chain(turns), x, y),
            "torch": partial(peers.torch_library, _chain(turns), x, y),
        },
        expected=lambda: _chain_in_numpy(turns, x, y),
        goal=even,
    )
    turns = 3 if small else 500
    w = np.linalg.qr(normal(8, 8))[0].astype(np.float32)
    yield Workload(
        name=f"{turns} products 8x8 and tanh forward and backward",
        kind="gradients",
        peers={
            "flambeau": partial(peers.flambeau_library, _products(turns), w),
            "torch": partial(peers.torch_library, _products(turns), w),
        },
        expected=lambda: _products_in_numpy(turns, w),
        tolerance=1e-2,
        goal=even,
    )
