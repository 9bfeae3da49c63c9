"""Elements as indexes, rows as tuples, recursion: loops over tables and graphs, beside Numba and Python itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Workload
from benchmarks.programs import elements as programs
from benchmarks.workloads.one_text import beside_numba


def workloads(small: bool) -> Iterator[Workload]:
    """Ten programs; each is the same text for all."""
    n = 50 if small else 100_000
    rng = np.random.default_rng(0)
    x, index = rng.standard_normal(n), rng.integers(0, n, n)
    yield _row(programs.gather, f"gather by elements, {n}", x, index)
    yield _row(programs.count, f"counts by elements, {n}", index, n)
    yield _row(programs.edges, f"edges of a graph, {n}", x, rng.integers(0, n, (n, 2)))
    yield _row(programs.greatest, f"max and min of elements, {n}", x)
    side = 8 if small else 200
    walls = (rng.random((side, side)) < 0.3).astype(np.int64)
    walls[0, 0] = 0
    yield _row(programs.reached, f"flood fill by a stack of tuples, {side}x{side}", walls)
    pairs = [(float(a), float(b)) for a, b in rng.standard_normal((n // 10, 2))]
    apart = "it takes a reflected list of tuples apart at every call"
    yield _row(programs.dot, f"list of {n // 10} tuples", pairs, left_out=apart)
    numbers = [int(v) for v in rng.integers(0, 5, n)]
    yield _row(programs.quotients, f"try in a loop, {n}", numbers, left_out="it catches no exception of a class")
    depth = 10 if small else 24
    yield _row(programs.fib, f"fib({depth})", depth)
    yield _row(programs.queens, "queens" if small else "queens 8x8", 4 if small else 8, 0, 0, 0, 0)
    nodes = 31 if small else 4095
    children = np.arange(nodes) * 2 + 1
    left, right = (np.where(children + k < nodes, children + k, -1) for k in (0, 1))
    yield _row(programs.tree, f"recursion over a tree of {nodes}", 0, left, right, rng.standard_normal(nodes))


def _row(program: Callable[..., Any], name: str, *arguments: Any, left_out: str = "") -> Workload:
    return beside_numba(
        "elements", program, name, *arguments, ours=peers.flambeau, python=True, left_out=left_out
    )  # fmt: skip
