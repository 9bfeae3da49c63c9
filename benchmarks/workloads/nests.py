"""Loop nests that are scheduled by hand, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Call, Cost, Goal, Workload
from benchmarks.programs import nests
from benchmarks.workloads.entries import doubled, normal


def workloads(small: bool) -> Iterator[Workload]:
    """A product of matrices, which NumPy leaves to BLAS, and a chain of elementwise operations."""
    size, length = (16, 40) if small else (256, 1_000_000)
    a, b = normal(size, size), normal(size, size, seed=1)
    yield Workload(
        name=f"scheduled product {size}",
        kind="nests",
        peers=_ours_and_numpy(partial(nests.product, size), np.matmul, a, b),
        expected=lambda: np.matmul(*doubled(a, b)),
        tolerance=1e-3,
        cost=Cost(read=a.nbytes + b.nbytes, written=a.nbytes, flops=2 * size**3),
        goal=Goal(times=None),
    )
    arrays = [normal(length, seed=k) for k in range(3)]
    yield Workload(
        name=f"scheduled chain {length}",
        kind="nests",
        peers=_ours_and_numpy(nests.chain, lambda x, a, b: np.tanh(x * a + b), *arrays),
        expected=lambda: (lambda x, a, b: np.tanh(x * a + b))(*doubled(*arrays)),
        cost=Cost(read=3 * arrays[0].nbytes, written=arrays[0].nbytes, flops=22 * length),
        goal=Goal(times=1.0),
    )


def _ours_and_numpy(
    nest: Callable[[], Any], reference: Callable[..., Any], *arrays: np.ndarray
) -> dict[str, Callable[[], Call]]:
    return {"flambeau": lambda: Call(nest(), arrays), "numpy": partial(peers.numpy, reference, *arrays)}
