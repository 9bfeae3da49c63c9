"""What a call costs when there is next to nothing to do."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Goal, Workload
from benchmarks.programs import calls as ours
from benchmarks.programs import numpy_arrays as theirs
from benchmarks.workloads.entries import doubled, entries, normal


def workloads(small: bool) -> Iterator[Workload]:
    """One array, four, and numbers alone; the small ones are the same."""
    x = normal(16)
    yield Workload(
        name="x + 1, 16 floats",
        kind="calls",
        peers=entries(
            ours.add_one, x, numpy=theirs.add_one, numba=theirs.add_one, numexpr=("x + 1", {"x": x}), jax="add_one"
        ),
        expected=lambda: theirs.add_one(*doubled(x)),
        goal=Goal(nanoseconds=100.0),
    )
    four = tuple(normal(16, seed=i) for i in range(4))
    yield Workload(
        name="a + b + c + d, 16 floats",
        kind="calls",
        peers=entries(
            ours.add_four, *four, numpy=theirs.add_four, numba=theirs.add_four,
            numexpr=("a + b + c + d", dict(zip("abcd", four, strict=True))), jax="add_four",
        ),
        expected=lambda: theirs.add_four(*doubled(*four)),
        goal=Goal(nanoseconds=120.0),
    )  # fmt: skip
    numbers = (1.5, 2.5, 3)
    yield Workload(
        name="a * b + n of numbers",
        kind="calls",
        peers=entries(
            ours.scalar, *numbers, numba=theirs.scalar, parallel=False, torch_eager=False, torch_compile=False,
            jax="scalar",
        ),
        expected=lambda: theirs.scalar(*numbers),
        goal=Goal(times=0.67, against="numba"),
    )  # fmt: skip
