"""Programs with small arrays within loops, as users of NumPy and Numba write them, beside Numba's of the same text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Workload
from benchmarks.programs import array_programs as programs
from benchmarks.workloads.one_text import beside_numba


def workloads(small: bool) -> Iterator[Workload]:
    """Steps of a differential equation, windows that are sorted, small matrices, searches, products in loops."""
    rng = np.random.default_rng(21)
    n = 5 if small else 5_000
    yield _row(programs.lorenz, f"Lorenz, {n} steps", np.ones(3), 0.001, n)
    side = 6 if small else 100
    yield _row(programs.median_filter, f"median of 3x3 windows {side}x{side}", rng.random((side, side)))
    n = 6 if small else 2_000
    yield _row(programs.kalman, f"Kalman filter, {n} steps", rng.random(n), 0.1)
    n = 4 if small else 60
    yield _row(programs.gram_schmidt, f"Gram-Schmidt by rows {n}x200", rng.standard_normal((n, 200)))
    n = 9 if small else 100_000
    yield _row(programs.floored_counts, f"counts of floors {n}", rng.random(n), 64)
    xs = np.sort(rng.random(50))
    yield _row(programs.interpolated, f"interpolation at {n}", rng.random(n), xs, np.sin(xs))
    rows, columns = (4, 5) if small else (60, 80)
    costs, weights = np.exp(-rng.random((rows, columns))), (np.full(n, 1.0 / n) for n in (rows, columns))
    yield _row(programs.sinkhorn, f"transport by Sinkhorn {rows}x{columns}", costs, *weights, 100)
    n = 6 if small else 200
    data = (rng.standard_normal((n, 10)), np.round(rng.random(n)), np.zeros(10))
    yield _row(programs.logistic_regression, f"logistic regression {n}x10", *data, 100)


def _row(program: Callable[..., Any], name: str, *arguments: Any) -> Workload:
    return beside_numba("array programs", program, name, *arguments, tolerance=1e-6)
