"""Operands of different ranks and sizes that meet in one expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.harness import Cost, Goal, Workload
from benchmarks.programs import broadcasting as ours
from benchmarks.programs import numba_arrays
from benchmarks.programs import numpy_arrays as theirs
from benchmarks.workloads.entries import doubled, entries, normal


def _torch_cdist(torch: Any) -> Any:
    return lambda x: torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist")


def workloads(small: bool) -> Iterator[Workload]:
    """Distances of all pairs, an outer expression, and three dimensions."""
    n = 20 if small else 2000
    x = normal(n, 8)
    yield Workload(
        name=f"pairwise distances {n}x8",
        kind="broadcasting",
        peers=entries(
            ours.pairwise, x, numpy=theirs.pairwise, numba=numba_arrays.pairwise, torch_library=_torch_cdist,
            jax="pairwise",
        ),
        expected=lambda: theirs.pairwise(*doubled(x)),
        cost=Cost(read=x.nbytes, written=4 * n * n, flops=28 * n * n),
        goal=Goal(times=2.0),
    )  # fmt: skip
    a, b = normal(n), normal(n, seed=1)
    yield Workload(
        name=f"outer exp(-|a - b|) {n}x{n}",
        kind="broadcasting",
        peers=entries(
            ours.outer, a, b, numpy=theirs.outer, numba=numba_arrays.outer,
            numexpr=("exp(-abs(x - y))", {"x": a[:, None], "y": b[None, :]}), jax="outer",
        ),
        expected=lambda: theirs.outer(*doubled(a, b)),
        cost=Cost(read=a.nbytes + b.nbytes, written=4 * n * n, flops=23 * n * n),
        goal=Goal(times=2.0),
    )  # fmt: skip
    i, j, k = (3, 5, 8) if small else (64, 128, 256)
    p, q, r = normal(i, k), normal(j, k, seed=1), normal(i, j, seed=2)
    yield Workload(
        name=f"tanh(x * y + z) over {i}x{j}x{k}",
        kind="broadcasting",
        peers=entries(
            ours.three_dimensions, p, q, r, numpy=theirs.three_dimensions, numba=numba_arrays.three_dimensions,
            numexpr=("tanh(x * y + z)", {"x": p[:, None, :], "y": q[None, :, :], "z": r[:, :, None]}),
            jax="three_dimensions",
        ),
        expected=lambda: theirs.three_dimensions(*doubled(p, q, r)),
        cost=Cost(read=p.nbytes + q.nbytes + r.nbytes, written=4 * i * j * k, flops=22 * i * j * k),
        goal=Goal(times=2.0),
    )  # fmt: skip
