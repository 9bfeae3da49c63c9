"""Long expressions over one array or two."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Cost, Goal, Workload
from benchmarks.peers import Program
from benchmarks.programs import numba_arrays
from benchmarks.programs import numpy_arrays as theirs
from benchmarks.programs import pointwise as ours
from benchmarks.workloads.entries import doubled, entries, normal

GELU = "0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))"
CHAINS: dict[str, tuple[str, int, str | None]] = {
    "chain": ("20-operator chain", 101, None),
    "sigmoid_chain": ("sigmoid chain", 56, "y / (1 + exp(-x)) + x / ((1 + exp(x)) * (1 + exp(-y)))"),
    "erf_chain": ("erf chain", 46, None),
    "log_chain": ("log chain", 67, "log(x * x + 1) - log1p(exp(-abs(y))) * x"),
    "where_chain": (
        "where chain", 14,
        "where(x > y, where(y > 0, 1, 0.1) * where(abs(x) < 1, 0.5 * x * x, abs(x) - 0.5) - y,"
        " where(x < -y, where(y > 0, 1, 0.1) * where(abs(x) < 1, 0.5 * x * x, abs(x) - 0.5) + y,"
        " where(y > 0, 1, 0.1) * where(abs(x) < 1, 0.5 * x * x, abs(x) - 0.5)))",
    ),
    "clamp_chain": ("clamp chain", 15, None),
}  # fmt: skip
"""Program: the row's name, operations per element (a transcendental one counts as 20), numexpr's form."""


def _torch_gelu(torch: Any) -> Any:
    return lambda x: torch.nn.functional.gelu(x, approximate="tanh")


def _reference(program: Program, *arrays: np.ndarray) -> Any:
    return program(*doubled(*arrays))


def workloads(small: bool) -> Iterator[Workload]:
    """GELU at four sizes, and chains of other operators at a million elements."""
    for power in (3,) if small else (3, 5, 6, 7):
        count = 10**power
        x = normal(count)
        yield Workload(
            name=f"GELU (tanh), 1e{power}",
            kind="pointwise",
            peers=entries(
                ours.gelu, x, numpy=theirs.gelu, numba=theirs.gelu, numexpr=(GELU, {"x": x}),
                torch_library=_torch_gelu, jax="gelu",
            ),
            expected=partial(_reference, theirs.gelu, x),
            cost=Cost(read=x.nbytes, written=x.nbytes, flops=28 * count),
            goal=Goal(times=2.0),
        )  # fmt: skip
    count = 1_000 if small else 1_000_000
    x, y = normal(count), normal(count, seed=1)
    for name, (title, operations, expression) in CHAINS.items():
        reference = getattr(theirs, name)
        erf = name == "erf_chain"
        yield Workload(
            name=f"{title}, {count:.0e}".replace("e+0", "e"),
            kind="pointwise",
            peers=entries(
                getattr(ours, name), x, y,
                numpy=None if erf else reference,
                numba=numba_arrays.erf_chain if erf else reference,
                numexpr=(expression, {"x": x, "y": y}) if expression else None,
                jax=name,
            ),
            expected=partial(_reference, reference, x, y),
            tolerance=1e-3,
            cost=Cost(read=2 * x.nbytes, written=x.nbytes, flops=operations * count),
            goal=Goal(times=2.0),
        )  # fmt: skip
