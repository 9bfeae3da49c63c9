"""Linear algebra with products of slices whose bounds change from iteration to iteration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Workload
from benchmarks.programs import matrix_slices as ours
from benchmarks.programs import numba_matrix_loops, numpy_matrix_slices
from benchmarks.workloads.entries import entries


def workloads(small: bool) -> Iterator[Workload]:
    """Triangular solve, LU twice, Cholesky, symm, syrk, syr2k, trmm, covariance, Gram-Schmidt."""
    random = np.random.default_rng(15)

    def square(n: int) -> np.ndarray:
        return random.random((n, n)) + n * np.eye(n)

    for n in (9,) if small else (200, 2000):
        yield _row("triangular_solve", f"triangular solve {n}", np.tril(square(n)), random.random(n))
    for n in (9,) if small else (200, 400):
        half = random.random((n, n))
        yield _row("lu_outer", f"LU by outer products {n}", square(n))
        yield _row("lu_dot", f"LU by dot products {n}", square(n))
        yield _row("cholesky", f"Cholesky {n}", half @ half.T + n * np.eye(n))
        yield _row("covariance", f"covariance {n}", random.random((n, n)))
        yield _row("gram_schmidt", f"Gram-Schmidt {n}", square(n))
    n = 9 if small else 200
    yield _row("symm", f"symm {n}", 1.5, 1.25, square(n), square(n), square(n))
    yield _row("syrk", f"syrk {n}", 1.5, 1.25, square(n), square(n))
    yield _row("syr2k", f"syr2k {n}", 1.5, 1.25, square(n), square(n), square(n))
    yield _row("trmm", f"trmm {n}", 1.5, square(n), square(n))


def _row(name: str, title: str, *arguments: Any) -> Workload:
    """Numba has two forms: loops, and slices like ours, for which it needs SciPy."""
    reference = getattr(numpy_matrix_slices, name)
    found = entries(
        getattr(ours, name), *arguments, numpy=reference, numba=getattr(numba_matrix_loops, name), parallel=False,
        torch_jit=False, torch_compile=False,
    )  # fmt: skip
    found["numba/slices"] = partial(peers.numba, reference, *arguments)
    return Workload(
        name=title, kind="matrix slices", peers=found, expected=lambda: reference(*arguments), tolerance=1e-7
    )
