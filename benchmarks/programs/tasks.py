"""Forked tasks, and a model that several threads call."""

from __future__ import annotations

import flambeau
from benchmarks.programs.loops import collatz
from flambeau import Tensor


def two_tasks(limit: int) -> int:
    first = flambeau.jit.fork(collatz, limit)
    second = flambeau.jit.fork(collatz, limit + 1)
    return flambeau.jit.wait(first) + flambeau.jit.wait(second)


def two_calls(limit: int) -> int:
    first = collatz(limit)
    second = collatz(limit + 1)
    return first + second


def many_tasks(count: int, limit: int) -> int:
    tasks: list[flambeau.jit.Future[int]] = []
    for i in range(count):
        tasks.append(flambeau.jit.fork(collatz, limit + i))
    total = 0
    for task in tasks:
        total += flambeau.jit.wait(task)
    return total


def many_calls(count: int, limit: int) -> int:
    total = 0
    for i in range(count):
        total += collatz(limit + i)
    return total


def increased(n: int) -> int:
    return n + 1


def small_tasks(count: int) -> int:
    total = 0
    for i in range(count):
        total += flambeau.jit.wait(flambeau.jit.fork(increased, i))
    return total


def layers(x: Tensor, first: Tensor, second: Tensor, square: Tensor) -> Tensor:
    hidden = flambeau.relu(flambeau.matmul(x, first))
    mixed = flambeau.matmul(hidden, flambeau.linalg.inv(square))
    return flambeau.matmul(flambeau.relu(mixed), second)
