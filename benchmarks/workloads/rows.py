"""Work along rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Cost, Goal, Workload
from benchmarks.peers import Program
from benchmarks.programs import numba_arrays, numpy_arrays
from benchmarks.programs import rows as ours
from benchmarks.workloads.entries import doubled, entries, normal

AXES = (("all", None), ("axis 0", 0), ("axis 1", 1))


def workloads(small: bool) -> Iterator[Workload]:
    """Wide rows, narrow rows, and rows that are columns in memory."""
    sizes = ((8, 16),) if small else ((4096, 1024), (65536, 64))
    turned = normal(*((16, 8) if small else (1024, 4096))).T
    for x in (*(normal(*size) for size in sizes), turned):
        shape = f"{'of x.T, ' if x is turned else ''}{x.shape[0]}x{x.shape[1]}"
        goal = 1.0 if x is turned else 2.0
        yield _norm("softmax", f"softmax {shape}", x, flops=24, goal=goal)
        yield _norm("log_softmax", f"log-softmax {shape}", x, flops=24, goal=goal)
    for height, width in sizes:
        x = normal(height, width)
        w, b = normal(width, seed=1), normal(width, seed=2)
        shape = f"{height}x{width}"
        yield _norm("layer_norm", f"layer norm {shape}", x, w, b, flops=8, goal=1.0)
        yield _norm("batch_norm", f"batch norm {shape}", x, w, b, flops=8, goal=1.0)
        for kind, flops in (("sum", 1), ("var", 4), ("argmax", 1)):
            for axis_name, axis in AXES:
                yield _fold(kind, f"{kind}, {axis_name}, {shape}", x, axis, flops)
    width = turned.shape[1]
    w, b = normal(width, seed=1), normal(width, seed=2)
    shape = f"{turned.shape[0]}x{width}"
    yield _norm("layer_norm", f"layer norm of x.T, {shape}", turned, w, b, flops=8, goal=1.0)
    yield _fold("sum", f"sum of x.T, axis 0, {shape}", turned, 0, 1)
    yield _fold("sum", f"sum of x.T, axis 1, {shape}", turned, 1, 1)
    yield _fold("var", f"var of x.T, axis 1, {shape}", turned, 1, 4)


def _torch_norm(name: str) -> Callable[[Any], Program] | None:
    if name != "batch_norm":
        return None  # the program is the library's operation already
    return lambda torch: lambda x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, training=True)


def _norm(name: str, title: str, *arrays: np.ndarray, flops: int, goal: float) -> Workload:
    reference = getattr(numpy_arrays, name)
    x = arrays[0]
    return Workload(
        name=title,
        kind="softmax" if "softmax" in name else "rows",
        peers=entries(
            getattr(ours, name), *arrays, numpy=reference, numba=getattr(numba_arrays, name),
            torch_library=_torch_norm(name), jax=name,
        ),
        expected=lambda: reference(*doubled(*arrays)),
        tolerance=1e-3,
        cost=Cost(read=x.nbytes, written=x.nbytes, flops=flops * x.size),
        goal=Goal(times=goal),
    )  # fmt: skip


def _fold(kind: str, title: str, x: np.ndarray, axis: int | None, flops: int) -> Workload:
    of = numpy_arrays.fold(kind, axis)
    name = f"{kind}_{'all' if axis is None else axis}"
    results = 1 if axis is None else x.shape[1 - axis]
    return Workload(
        name=title,
        kind="rows",
        peers=entries(
            getattr(ours, name), x, numpy=of, numba=getattr(numba_arrays, name), parallel=name != "argmax_0", jax=name
        ),
        expected=lambda: of(*doubled(x)),
        tolerance=0.0 if kind == "argmax" else 5e-3,  # NumPy's sum of 65536 floats down a column is off by this much
        cost=Cost(read=x.nbytes, written=results * (8 if kind == "argmax" else 4), flops=flops * x.size),
    )
