"""Programs as users of JAX write them, beside JAX's, on the same arrays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Call, Goal, Workload
from benchmarks.programs.jax_users import EXAMPLES, Example

TWICE = Goal(times=2.0, against="jax")


def _ours(example: Example, *arguments: Any) -> Call:
    import flambeau

    return peers.flambeau_eager(example.program(flambeau.script), *arguments)


def _in_jax(example: Example, *arguments: Any) -> Call:
    from benchmarks.programs.jax_users import in_jax

    return peers.jax_of(getattr(in_jax, example.program.__name__), *arguments, wide=True)


def _by_operators(example: Example, *arguments: Any) -> Any:
    """The answer an operator at a time, over tapes."""
    call = peers.flambeau_eager(example.program(lambda function: function), *arguments)
    return call()


def workloads(small: bool) -> Iterator[Workload]:
    """Parameters in trees, filters, physics, models: gradients of all, in float64."""
    for example in EXAMPLES:
        arguments = example.arguments(np.random.default_rng(0))
        yield Workload(
            name=example.name,
            kind="jax programs",
            peers={
                "flambeau": partial(_ours, example, *arguments),
                "jax": partial(_in_jax, example, *arguments),
            },
            expected=partial(_by_operators, example, *arguments),
            tolerance=example.tolerance,
            goal=TWICE,
        )
