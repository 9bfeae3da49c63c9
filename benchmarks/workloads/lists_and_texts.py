"""Programs of plain Python beside Python itself and Numba, where it takes them: one text for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Workload
from benchmarks.programs import lists_and_texts as programs
from benchmarks.workloads.one_text import beside_numba

NO_LISTS = "it takes no list of lists, and no list without copying it"
NO_KEY = "it has no sorted with a key"
NO_TRY = "it catches Exception alone"
WORDS = "the quick brown fox jumps over the lazy dog and runs "
BOARD = "530070000 600195000 098000060 800060003 400803001 700020006 060000280 000419005 000080079"


def workloads(small: bool) -> Iterator[Workload]:
    """Ten programs."""
    rng = np.random.default_rng(2)
    n = 5 if small else 60
    yield _row(programs.pascal, f"Pascal's triangle, {n} rows", n)
    yield _row(programs.primes, f"primes up to {1000 * n} by slices", 1000 * n)
    yield _row(programs.most_words, f"{10 * n} words ranked", WORDS * n, left_out=NO_KEY)
    yield _row(programs.is_balanced, f"brackets of {16 * n}", "(()(()))[]{[()]}" * n)
    yield _row(programs.common_parts, f"parts of a text of {12 * n}", "ACGTTGCAACGT" * n, 4)
    items = rng.integers(0, 1000, 30 * n).tolist()
    yield _row(programs.sort_by_merging, f"{len(items)} numbers merged", items, left_out=NO_LISTS)
    points = [tuple(p) for p in rng.random((30 * n, 2)).tolist()]
    yield _row(programs.hull, f"hull of {len(points)} points", points, left_out=NO_LISTS)
    yield _row(programs.parsed, f"{4 * n} parts read as numbers", "12;-7;x3;400;" * n, left_out=NO_TRY)
    yield _row(programs.longest_collatz, f"longest Collatz below {50 * n}, by a dict", 50 * n)
    board = [[int(digit) for digit in row] for row in BOARD.split()]
    yield _row(programs.solved, "sudoku", board, left_out=NO_LISTS)


def _row(program: Callable[..., Any], name: str, *arguments: Any, left_out: str = "") -> Workload:
    return beside_numba("lists and texts", program, name, *arguments, python=True, left_out=left_out)
