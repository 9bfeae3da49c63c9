"""Loops over the elements of arrays that are declared as such, beside Numba's of the same text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Workload
from benchmarks.programs import array_loops as programs
from benchmarks.programs import numpy_loops
from benchmarks.workloads.one_text import beside_numba


def workloads(small: bool) -> Iterator[Workload]:
    """What many write first: sums, products, counts, neighbours, tables, paths."""
    rng = np.random.default_rng(20)
    n = 40 if small else 100_000
    x = rng.standard_normal(n)
    yield _row(programs.prefix_sums, f"prefix sums {n}", x, np.zeros(n), expected=lambda: np.cumsum(x))
    yield _row(
        programs.smooth, f"neighbours behind conditions {n}", x, np.zeros(n),
        expected=lambda: np.convolve(x, np.ones(3), "same"),
    )  # fmt: skip
    for dtype in (np.int64, np.int32, np.uint8):
        data = rng.integers(0, 256, n).astype(dtype)
        counts = np.zeros(256, np.int64 if dtype is np.uint8 else dtype)
        yield _row(
            programs.histogram, f"histogram {n}, {np.dtype(dtype)}", data, counts,
            expected=partial(np.bincount, data, minlength=256),
        )  # fmt: skip
    n = 9 if small else 200
    for dtype in (np.float64, np.float32):
        a, b = (rng.standard_normal((n, n)).astype(dtype) for _ in range(2))
        for program, name in ((programs.matmul, "matmul"), (programs.matmul_by_rows, "matmul by rows")):
            yield _row(
                program, f"{name} {n}, {np.dtype(dtype)}", a, b, np.zeros((n, n), dtype),
                expected=partial(np.matmul, a.astype(np.float64), b.astype(np.float64)),
                tolerance=1e-8 if dtype is np.float64 else 1e-3,
            )  # fmt: skip
    side = 9 if small else 256
    for dtype in (np.int64, np.uint8):
        grid = rng.integers(0, 2, (side, side)).astype(dtype)
        for program, name in ((programs.life, "life"), (programs.life_on_a_torus, "life on a torus")):
            whole = program is programs.life_on_a_torus
            yield _row(
                program, f"{name} {side}, {np.dtype(dtype)}", grid, np.zeros_like(grid),
                expected=partial(_next, grid, whole=whole),
            )  # fmt: skip
    n = 12 if small else 500
    for dtype in (np.int64, np.int32):
        a, b = (rng.integers(0, 4, n).astype(dtype) for _ in range(2))
        yield _row(
            programs.edit_distance, f"edit distance {n}, {np.dtype(dtype)}", a, b, np.zeros((n + 1, n + 1), dtype),
            expected=partial(numpy_loops.levenshtein, a, b),
        )  # fmt: skip
    n = 9 if small else 200
    for dtype in (np.int64, np.int32, np.float64):
        graph = rng.integers(1, 1000, (n, n)).astype(dtype)
        yield _row(
            programs.shortest_paths, f"shortest paths {n}, {np.dtype(dtype)}", graph, np.zeros_like(graph),
            expected=partial(numpy_loops.floyd_warshall, graph),
        )  # fmt: skip


def _next(grid: np.ndarray, *, whole: bool) -> np.ndarray:
    """The next generation; without `whole` the border stays empty."""
    moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    n = sum(np.roll(grid.astype(np.int64), move, (0, 1)) for move in moves)
    alive = ((n == 3) | ((n == 2) & (grid == 1))).astype(np.int64)
    return alive if whole else np.pad(alive[1:-1, 1:-1], 1)


def _row(
    program: Callable[..., Any], name: str, *arguments: Any, expected: Callable[[], Any], tolerance: float = 1e-8
) -> Workload:
    """A row whose programs write to their last argument."""
    return beside_numba("array loops", program, name, *arguments, expected=expected, tolerance=tolerance)
