"""Elements read and changed where integers say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Cost, Workload
from benchmarks.programs import numba_arrays, numpy_arrays
from benchmarks.programs import places as ours
from benchmarks.workloads.entries import doubled, entries, normal


def _index(count: int, size: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, size, count)


def workloads(small: bool) -> Iterator[Workload]:
    """Rows of a table; sums of the numbers that go to one place, as they are and computed on the way."""
    count, size, width = (50, 20, 8) if small else (100_000, 20_000, 64)
    table, index = normal(size, width), _index(count, size)
    yield Workload(
        name=f"{count} rows of {size}x{width}",
        kind="places",
        peers=entries(
            ours.rows_at, table, index, numpy=numpy_arrays.rows_at, numba=numba_arrays.rows_at, jax="rows_at"
        ),
        expected=lambda: numpy_arrays.rows_at(*doubled(table, index)),
        cost=Cost(read=index.nbytes + 4 * count * width, written=4 * count * width, flops=0),
    )
    count, size = (100, 10) if small else (1_000_000, 10_000)
    x, places, source = normal(size, seed=1), _index(count, size), normal(count, seed=2)
    for name, title, flops in (("added_at", "scatter_add", 1), ("weighted_at", "scatter_add of exp", 22)):
        reference = getattr(numpy_arrays, name)
        yield Workload(
            name=f"{title}, {count} into {size}",
            kind="places",
            peers=entries(
                getattr(ours, name), x, places, source, numpy=reference, numba=getattr(numba_arrays, name),
                parallel=False, jax=name,
            ),
            expected=lambda reference=reference: reference(*doubled(x, places, source)),  # type: ignore[misc]
            tolerance=1e-4,
            cost=Cost(read=x.nbytes + places.nbytes + source.nbytes, written=x.nbytes, flops=flops * count),
        )  # fmt: skip
