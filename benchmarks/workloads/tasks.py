"""Forked tasks beside the same calls in order, and a model that one, two and eight Python threads call at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Call, Cost, Goal, Workload
from benchmarks.programs import numba_loops, tasks
from benchmarks.workloads.entries import doubled, normal

CALLERS = (1, 2, 8)


def workloads(small: bool) -> Iterator[Workload]:
    """Two loops, tasks of one addition, and calls of a model with products and an inverse."""
    limit = 50 if small else 30_000
    yield Workload(
        name=f"two tasks: Collatz {limit}",
        kind="tasks",
        peers={
            "flambeau": partial(peers.flambeau, tasks.two_tasks, limit),
            "flambeau in order": partial(peers.flambeau, tasks.two_calls, limit),
            "numba pool": partial(_pool_of_two, limit),
            "torch.jit": partial(peers.torch_jit, tasks.two_tasks, limit),
        },
        expected=lambda: numba_loops.collatz(limit) + numba_loops.collatz(limit + 1),
        cost=Cost(),
        goal=Goal(times=1.8, against="flambeau in order"),
    )
    for count, each, times in ((10, 100, 0.9), (100, 100, 0.9), (8, 50 if small else 8_000, 1.5)):
        yield Workload(
            name=f"{count} tasks: Collatz {each}",
            kind="tasks",
            peers={
                "flambeau": partial(peers.flambeau, tasks.many_tasks, count, each),
                "flambeau in order": partial(peers.flambeau, tasks.many_calls, count, each),
            },
            expected=partial(tasks.many_calls, count, each),
            cost=Cost(),
            goal=Goal(times=times, against="flambeau in order"),
        )
    count = 10 if small else 1_000
    yield Workload(
        name=f"{count} tasks of one addition",
        kind="tasks",
        peers={
            "flambeau": partial(peers.flambeau, tasks.small_tasks, count),
            "torch.jit": partial(peers.torch_jit, tasks.small_tasks, count),
        },
        expected=lambda: count * (count + 1) // 2,
        cost=Cost(),
        goal=Goal(times=1.0, against="torch.jit"),
    )
    size = 16 if small else 256
    square = normal(size, size, seed=3) + np.float32(size) * np.eye(size, dtype=np.float32)
    given = (normal(32, size), normal(size, size, seed=1), normal(size, 10, seed=2), square)
    for callers in CALLERS:
        yield Workload(
            name=f"layers and inverse of {size}, {callers} Python thread{'s' if callers > 1 else ''}",
            kind="tasks",
            peers={
                "flambeau": partial(_called_by, callers, partial(peers.flambeau, tasks.layers, *given)),
                "numpy": partial(_called_by, callers, partial(peers.numpy, _layers, *given)),
                "torch": partial(_called_by, callers, partial(peers.torch_eager, tasks.layers, *given)),
            },
            expected=partial(_layers, *doubled(*given)),
            tolerance=1e-3,
            cost=Cost(),
            goal=Goal(times=1.0, against="torch"),
        )


def _layers(x: np.ndarray, first: np.ndarray, second: np.ndarray, square: np.ndarray) -> np.ndarray:
    hidden = np.maximum(x @ first, 0)
    return np.asarray(np.maximum(hidden @ np.linalg.inv(square), 0) @ second)


def _pool_of_two(limit: int) -> Call:
    """Numba's loops in two threads of Python's."""
    compiled = peers.numba(numba_loops.collatz, limit, nogil=True).function
    pool = ThreadPoolExecutor(2)

    def run() -> Any:
        return sum(f.result() for f in [pool.submit(compiled, limit), pool.submit(compiled, limit + 1)])

    return Call(run, ())


def _called_by(callers: int, factory: Callable[[], Call], many: int = 8) -> Call:
    """`many` calls in each of so many threads; the time of one."""
    call = factory()
    for _ in range(4):
        call()
    if callers == 1:
        return call
    pool = ThreadPoolExecutor(callers)

    def repeat() -> Any:
        answer = None
        for _ in range(many):
            answer = call()
        return answer

    def run() -> Any:
        answers = [f.result() for f in [pool.submit(repeat) for _ in range(callers)]]
        return answers[0]

    return Call(run, (), many=callers * many)
