"""Loops over unsigned integers and float32s without annotations, beside Numba's of the same text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Workload
from benchmarks.programs import words as programs
from benchmarks.workloads.one_text import beside_numba


def workloads(small: bool) -> Iterator[Workload]:
    """Generators, hashes, checksums, levels of images, a mean."""
    rng = np.random.default_rng(22)
    n = 9 if small else 100_000
    yield _row(programs.xorshift, f"xorshift, {n} words", 88172645463325252, n)
    yield _row(programs.splitmix, f"splitmix, {n} words", rng.integers(0, 2**63, n).astype(np.uint64))
    data = rng.integers(0, 256, n).astype(np.uint8)
    yield _row(programs.fnv, f"FNV of {n} bytes", data)
    yield _row(programs.crc, f"CRC of {n} bytes", data, programs.table_of_crc())
    side = 5 if small else 500
    levels = rng.integers(0, 65536, (side, side)).astype(np.uint16)
    yield _row(programs.counts_of_levels, f"levels of an image {side}x{side}", levels)
    yield _row(programs.above, f"black and white {side}x{side}", (levels & 255).astype(np.uint8), 100)
    yield _row(programs.mean_square, f"mean of squares, {n} float32s", rng.random(n).astype(np.float32))


def _row(program: Callable[..., Any], name: str, *arguments: Any) -> Workload:
    expected = partial(_quietly, program, *arguments)
    return beside_numba("words", program, name, *arguments, expected=expected, tolerance=1e-5)


def _quietly(program: Callable[..., Any], *arguments: Any) -> Any:
    with np.errstate(over="ignore"):
        return program(*arguments)
