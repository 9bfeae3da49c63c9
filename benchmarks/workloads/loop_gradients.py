"""Gradients through loops, three ways each: in a program, by a transform of a scripted function, and on the tape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Call, Goal, Workload
from benchmarks.peers import Program
from benchmarks.programs import loop_gradients as ours
from benchmarks.workloads.entries import normal

TWICE = Goal(times=2.0, against="jax")
Answer = tuple[np.ndarray, np.ndarray]


def _in_a_program(function: Program, *arguments: Any) -> Call:
    """The gradient as a scripted function of its own, as calls of `value_and_grad` in programs are: no tape."""
    import flambeau
    from flambeau.jit.gradients import gradient_function

    return peers.flambeau_eager(gradient_function(flambeau.script(function), with_value=True), *arguments)


def _by_a_transform(function: Program, *arguments: Any) -> Call:
    import flambeau

    return peers.flambeau_eager(flambeau.value_and_grad(flambeau.script(function)), *arguments)


def _on_the_tape(function: Program) -> Program:
    """The value and its gradient, by `backward`."""

    def call(x: Any, *rest: Any) -> Any:
        x = x.detach().requires_grad_()
        value = function(x, *rest)
        value.backward()
        return value, x.grad

    return call


def _scripted_on_the_tape(function: Program, *arguments: Any) -> Call:
    import flambeau

    return peers.flambeau_eager(_on_the_tape(flambeau.script(function)), *arguments)


def _in_torch(function: Program, *arguments: Any) -> Call:
    import torch

    bound = peers.rebound(function, flambeau=torch, Tensor=torch.Tensor)
    return peers.torch_library(lambda module: _on_the_tape(bound), *arguments)


WAYS = {
    "in a program": _in_a_program, "by a transform": _by_a_transform, "on the tape": _scripted_on_the_tape,
}  # fmt: skip


def _rows(
    title: str, function: Program, in_torch: Program, arguments: tuple[Any, ...], expected: Callable[[], Answer]
) -> Iterator[Workload]:
    fixed = tuple(range(1, len(arguments)))
    for way, call in WAYS.items():
        yield Workload(
            name=f"{title}, {way}",
            kind="loop gradients",
            peers={
                "flambeau": partial(call, function, *arguments),
                "torch": partial(_in_torch, in_torch, *arguments),
                "jax": partial(peers.jax, f"gradient_of_{function.__name__}", *arguments, fixed=fixed),
            },
            expected=expected,
            tolerance=2e-3,
            goal=TWICE,
        )


def _settled(x: np.ndarray, n: int) -> Answer:
    x = x.astype(np.float64)
    steps = [x]
    for _ in range(n):
        steps.append(steps[-1] + 0.01 * (x - steps[-1] ** 3))
    back, total = 2 * steps[-1], np.zeros_like(x)
    for y in reversed(steps[:-1]):
        total += 0.01 * back
        back = back * (1 - 0.03 * y * y)
    return (steps[-1] ** 2).sum(), total + back


def _potential(p: np.ndarray) -> Answer:
    p = p.astype(np.float64)
    d = p[:, None] - p[None]
    square = (d * d).sum(-1) + 0.01
    return -np.tril(square**-0.5, -1).sum(), (d * square[..., None] ** -1.5).sum(1)


def _heat(u: np.ndarray, steps: int) -> Answer:
    rows = [u.astype(np.float64)]
    for _ in range(steps):
        row = rows[-1].copy()
        row[1:-1] += 0.1 * (rows[-1][:-2] - 2 * rows[-1][1:-1] + rows[-1][2:]) * rows[-1][1:-1]
        rows.append(row)
    back = 2 * rows[-1]
    for row in reversed(rows[:-1]):
        c, g = row[1:-1], back[1:-1]
        before = back.copy()
        before[1:-1] += g * 0.1 * (row[:-2] - 4 * c + row[2:])
        before[:-2] += g * 0.1 * c
        before[2:] += g * 0.1 * c
        back = before
    return (rows[-1] ** 2).sum(), back


def workloads(small: bool) -> Iterator[Workload]:
    """A `while` over 16 floats, pairs of points, a stencil element by element."""
    n = 5 if small else 1000
    x = normal(16)
    yield from _rows(f"while, {n} iterations, 16 floats", ours.settled, ours.settled, (x, n), lambda: _settled(x, n))
    count = 5 if small else 40
    p = normal(count, 3)
    yield from _rows(
        f"energy of {count} points, pair by pair", ours.potential, ours.potential_of_arrays, (p,),
        lambda: _potential(p),
    )  # fmt: skip
    size, steps = (9, 2) if small else (1000, 50)
    u = 0.1 * normal(size) + np.float32(0.5)
    yield from _rows(
        f"stencil, {steps} steps over {size} elements", ours.heat, ours.heat_of_arrays, (u, steps),
        lambda: _heat(u, steps),
    )  # fmt: skip
