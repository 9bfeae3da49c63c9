"""Rows of one text that we, Numba and, where asked for, Python itself run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import peers
from benchmarks.harness import Call, Cost, Goal, Workload

Program = Callable[..., Any]


def beside_numba(
    kind: str, program: Program, name: str, *arguments: Any,
    ours: Callable[..., Call] = peers.flambeau_arrays, expected: Callable[[], Any] | None = None,
    tolerance: float = 1e-8, python: bool = False, left_out: str = "",
) -> Workload:  # fmt: skip
    """A row whose goal is Numba's speed; `left_out` says why Numba has none, else it runs the same text.

    What is `expected`, unless it is said, is what the text gives in Python.
    """
    sources = {"flambeau": partial(ours, program, *arguments)}
    if python:
        sources["python"] = partial(peers.numpy, program, *arguments)
    if not left_out:
        sources["numba"] = partial(peers.numba, program, *arguments)
    return Workload(
        name=name,
        kind=kind,
        peers=sources,
        expected=expected or partial(program, *arguments),
        tolerance=tolerance,
        cost=Cost(flops=1, wide=True),
        goal=Goal() if left_out else Goal(against="numba"),
        left_out={"numba": left_out} if left_out else {},
    )
