"""Short programs as NumPy's and Numba's users write them, beside Numba and Python itself: one text for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Workload
from benchmarks.programs import everyday as programs
from benchmarks.workloads.one_text import beside_numba

NO_QUEUES = "it has no deque"
NO_TRANSFORMS = "it has no np.fft"
NO_TABLES = "it takes no array of two dimensions as an index"
UNKNOWN = "it does not know what a function that calls itself gives, unless its signature is written"


def workloads(small: bool) -> Iterator[Workload]:
    """Sixteen programs."""
    rng = np.random.default_rng(1)
    n = 40 if small else 5000
    graph = np.arange(0, 5 * n + 1, 5), rng.integers(0, n, 5 * n)
    yield _row(programs.breadth_first, f"breadth-first by a deque, {n}", *graph, 0, left_out=NO_QUEUES)
    yield _row(programs.shortest, f"shortest paths by a heap, {n}", *graph, rng.random(5 * n), 0)
    yield _row(programs.page_rank, f"PageRank {n}", *graph, 3 if small else 20)
    items = np.arange(1, 11 if small else 101)
    yield _row(programs.knapsack, f"knapsack of {len(items)}", items % 37 + 1, items * 7 % 53, 60 if small else 1000)
    moves, shows = rng.random((6, 6)), rng.random((6, 5))
    seen = rng.integers(0, 5, 10 if small else 200)
    yield _row(programs.viterbi, f"Viterbi, {len(seen)} steps of 6", seen, np.full(6, 1 / 6), moves, shows)
    draws = 100 if small else 20_000
    yield _row(programs.option_price, f"Monte Carlo, {draws} normal numbers", draws, 100.0, 100.0, 0.05, 0.2)
    yield _row(programs.walks, "random walks", draws // 100, 10 if small else 100)
    image = rng.integers(0, 200, (8, 8) if small else (200, 200)).astype(np.uint8)
    yield _row(programs.equalised, "histogram equalised", image, left_out=NO_TABLES)
    x = rng.standard_normal(16 if small else 512)
    yield _row(programs.transform, f"FFT of {len(x)}, twiddles by np.exp", x)
    whole = x[:16 if small else 256] + 0j
    yield _row(programs.recursive_transform, f"recursive FFT of {len(whole)}", whole, left_out=UNKNOWN)
    yield _row(programs.bits, "bits by v &= v - 1", 100 if small else 100_000)
    weights = np.arange(1, 6 if small else 15)
    yield _row(programs.subsets, f"sums of subsets of {len(weights)}", weights, 30)
    m = rng.random((3, 3)) + 1j * rng.random((3, 3))
    yield _row(programs.matrix_powers, "powers of a complex 3x3 matrix", m, 4 if small else 20)
    sound = rng.random(64 if small else 4096)
    sizes = (16, 8) if small else (256, 128)
    yield _row(programs.spectrogram, f"spectrogram of {len(sound)}", sound, *sizes, left_out=NO_TRANSFORMS)
    keys, values = rng.integers(0, 6, draws // 10), rng.random((draws // 10, 3))
    yield _row(programs.grouped, f"a dict of arrays, {len(keys)} rows", keys, values)
    field = np.where(rng.random((30, 30)) > 0.5, 1, -1)
    yield _row(programs.spins, "spins on a torus, seeded", field, 10 if small else 1000, 2.0, 3)


def _row(program: Callable[..., Any], name: str, *arguments: Any, left_out: str = "") -> Workload:
    return beside_numba("everyday", program, name, *arguments, python=True, left_out=left_out)
