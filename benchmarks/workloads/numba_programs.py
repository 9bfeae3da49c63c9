"""Programs as users of Numba write them, beside Numba's of the same text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Workload
from benchmarks.programs.numba_users import EXAMPLES
from benchmarks.workloads.one_text import beside_numba


def workloads(small: bool) -> Iterator[Workload]:
    """Searches, images, graphs, sequences, matrices, points, fields, random numbers, words."""
    for example in EXAMPLES:
        arguments = example.arguments(example.small if small else example.size)
        yield beside_numba(
            "numba programs", example.program, example.name, *arguments,
            expected=partial(_wrapping, example.program, *arguments), tolerance=1e-6,
        )  # fmt: skip


def _wrapping(program: Callable[..., Any], *arguments: Any) -> Any:
    """What Python gives, where words wrap without a warning."""
    with np.errstate(over="ignore"):
        return program(*arguments)
