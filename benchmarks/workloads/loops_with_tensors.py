"""Loops that go on until their tensors say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Workload
from benchmarks.programs import loops_with_tensors as ours
from benchmarks.programs import numba_loops, numpy_loops
from benchmarks.workloads.entries import doubled, entries, normal


def workloads(small: bool) -> Iterator[Workload]:
    """Power iteration, Newton's method, k-means, the Game of Life."""
    for n in (8,) if small else (32, 256):
        half = np.random.default_rng(n).standard_normal((n, n)) / np.sqrt(n)
        matrix, start = half @ half.T + 10 * np.ones((n, n)) / n, np.ones(n)
        yield _row("power_iteration", f"power iteration {n}x{n}", matrix, start, 1e-9, 100, wide=True)
    n = 20 if small else 10_000
    yield _row("newton", f"Newton, cube roots of {n}", 1.0 + np.arange(n) / n, 1e-9, wide=True)
    n, centres = (40, 3) if small else (10_000, 8)
    angle = 2 * np.pi * np.arange(centres) / centres
    middles = 10 * np.stack((np.cos(angle), np.sin(angle)), 1).astype(np.float32)
    points = np.repeat(middles, -(-n // centres), 0)[:n] + normal(n, 2)
    start = middles + normal(centres, 2, seed=1)
    yield _row("kmeans", f"k-means, {n} points, {centres} centres", points, start, 1e-3)
    n, limit = (10, 20) if small else (256, 100)
    board = np.random.default_rng(3).integers(0, 2, (n, n)).astype(np.int32)
    yield _row("life", f"Game of Life {n}x{n}, {limit} generations", board, limit)


def _row(name: str, title: str, *arguments: Any, wide: bool = False) -> Workload:
    reference = getattr(numpy_loops, name)
    return Workload(
        name=title,
        kind="loops with tensors",
        peers=entries(
            getattr(ours, name), *arguments, numpy=reference, numba=getattr(numba_loops, name),
            parallel=name in numba_loops.PARALLEL, jax=name, jax_wide=wide,
        ),
        expected=lambda: reference(*doubled(*arguments)),
        tolerance=1e-3,
    )  # fmt: skip
