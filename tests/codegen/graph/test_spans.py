"""Loops whose iterations are run in stretches: guarded neighbours, indexes from the end, rows that are read while
they are written, stores behind conditions. Against Python and the interpreter, to the bit, with errors and what they
leave.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.codegen.graph.loop_programs import agree, bits, native_functions, outcome, outcome_on

RNG = np.random.default_rng(20)
COUNTS = (0, 1, 2, 3, 8, 17, 40, 131)
HOSTILE = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 1.5, -1.5, 1e-310])


def guarded(x: Tensor, out: Tensor) -> None:
    n = x.size(0)
    for i in range(n):
        total = float(x[i])
        if i > 0:
            total += float(x[i - 1])
        if i < n - 1:
            total += float(x[i + 1])
        out[i] = total


def lagged(x: Tensor, lag: int) -> float:
    total = 0.0
    for i in range(x.size(0)):
        if i - lag >= 0:
            total += float(x[i]) * float(x[i - lag])
    return total


def unguarded(x: Tensor, by: int, n: int) -> float:
    total = 0.0
    for i in range(n):
        if float(x[i]) > 0.0:
            total += float(x[i + by])
            x[i] = 0.25
    return total


def backwards(x: Tensor, start: int, n: int) -> float:
    total = 0.0
    for i in range(n):
        if i % 3 != 1:
            total = total * 0.5 + float(x[start - i])
    return total


def test_c20_guarded_neighbours() -> None:
    native = agree(guarded, *((RNG.standard_normal(n), np.zeros(n)) for n in COUNTS))
    assert native_functions(native)
    agree(guarded, *((RNG.standard_normal(n), np.zeros(n - 1)) for n in COUNTS[1:]))


def test_c20_indexes_in_branches_from_the_end_and_out_of_range() -> None:
    x, large = RNG.standard_normal(40), (1 << 63) - 1
    agree(lagged, *((x, lag) for lag in (0, 1, 7, 39, 40, 41, -1, -7)))
    agree(unguarded, *((x, by, n) for by in (0, 1, -1, -3, -40, -41, 39) for n in (0, 1, 20, 39, 40, 41)))
    agree(backwards, *((x, start, n) for start in (0, 5, 39, 40, -1, -40) for n in (0, 3, 40, 45)))
    agree(unguarded, *((x, by, 40) for by in (large, -large - 1, -large)), python=False)
    agree(backwards, *((x, start, 40) for start in (large, -large - 1, -large)), python=False)
    agree(backwards, (x[:0], 0, 1), (x[:0], large, 1), python=False)


def life(grid: Tensor, out: Tensor) -> None:
    h, w = grid.size(0), grid.size(1)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            n = (
                int(grid[i - 1, j - 1]) + int(grid[i - 1, j]) + int(grid[i - 1, j + 1]) + int(grid[i, j - 1])
                + int(grid[i, j + 1]) + int(grid[i + 1, j - 1]) + int(grid[i + 1, j]) + int(grid[i + 1, j + 1])
            )  # fmt: skip
            if n == 3 or (n == 2 and int(grid[i, j]) == 1):
                out[i, j] = 1
            else:
                out[i, j] = 0


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_c20_game_of_life(dtype: str) -> None:
    grids = [RNG.integers(0, 2, (n, n + 3)).astype(dtype) for n in COUNTS]
    agree(life, *((g, np.zeros_like(g)) for g in grids))
    agree(life, (grids[4], np.zeros((4, 5), dtype)))


def shortest(d: Tensor) -> None:
    n = d.size(0)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = float(d[i, k]) + float(d[k, j])
                if through < float(d[i, j]):
                    d[i, j] = through


def shortest_backwards(d: Tensor) -> None:
    n = d.size(0)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = float(d[i, k]) + float(d[k, n - 1 - j])
                if through < float(d[i, n - 1 - j]):
                    d[i, n - 1 - j] = through


def reachable(d: Tensor) -> None:
    n = d.size(0)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if int(d[i, k]) > 0 and int(d[k, j]) > 0 and int(d[i, j]) == 0:
                    d[i, j] = 1


def eliminated(d: Tensor) -> None:
    n = d.size(0)
    for k in range(n):
        for i in range(n):
            if i != k:
                for j in range(n):
                    d[i, j] -= d[k, j] * d[i, k]


@pytest.mark.parametrize("program", [shortest, shortest_backwards, eliminated])
def test_c20_a_row_that_is_read_while_it_is_written(program: Any) -> None:
    """Weights below zero: iteration k changes what later iterations read."""
    grids = [RNG.standard_normal((n, n)) * 0.1 for n in COUNTS[:7]]
    mixed = RNG.choice(HOSTILE, (19, 19))
    agree(program, *((g,) for g in grids), (mixed,), python=program is not eliminated)
    agree(program, *((g.astype(np.float32),) for g in grids), python=False)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_c20_integers_that_are_read_while_they_are_written(dtype: str) -> None:
    agree(reachable, *(((RNG.random((n, n)) < 0.2).astype(dtype),) for n in COUNTS[:7]))


def clipped(x: Tensor, limit: float) -> None:
    for i in range(x.size(0)):
        if float(x[i]) > limit:
            x[i] = limit


def otherwise(x: Tensor, y: Tensor) -> None:
    for i in range(x.size(0)):
        if float(x[i]) <= float(y[i]):
            pass
        else:
            y[i] = 7.0
            x[i] = float(y[i]) - 1.0


def neighbour(x: Tensor, y: Tensor) -> None:
    for i in range(x.size(0) - 1):
        a = float(y[i + 1])
        x[i + 1] = a * 0.5
        if a > 0.0:
            y[i + 1] = -1.0


def flagged(x: Tensor, flags: Tensor) -> None:
    for i in range(x.size(0)):
        if not bool(flags[i]) and float(x[i]) > 0.0:
            flags[i] = True


def test_c20_stores_behind_conditions() -> None:
    values = [RNG.choice(HOSTILE, n) for n in COUNTS]
    for limit in (0.0, -0.0, float("nan"), 1.0):
        agree(clipped, *((v, limit) for v in values), *((v.astype(np.float32), limit) for v in values))
    for program in (otherwise, neighbour):
        agree(program, *((v, v[::-1].copy()) for v in values))
        agree(program, *((v, v[: len(v) - 1].copy()) for v in values[1:]))
    agree(flagged, *((v, RNG.random(len(v)) < 0.5) for v in values))


@pytest.mark.parametrize("program", [guarded, otherwise, neighbour])
def test_c20_arguments_that_share_memory(program: Any) -> None:
    native, plain = flambeau.script(program), flambeau.script(program, backend="interpreter")

    def arguments(first: int, second: int, n: int) -> list[Any]:
        base = flambeau.from_numpy(np.linspace(-3.0, 3.0, 90))
        return [base[first : first + n], base[second : second + n]]

    for first, second in ((0, 0), (0, 1), (1, 0), (0, 3), (9, 0)):
        for n in COUNTS[:7]:
            assert outcome_on(native, arguments(first, second, n)) == outcome_on(plain, arguments(first, second, n))
    column = flambeau.from_numpy(np.linspace(-3.0, 3.0, 90).reshape(9, 10))
    again = flambeau.from_numpy(np.linspace(-3.0, 3.0, 90).reshape(9, 10))
    native(column[:, 1], column[:, 2])
    plain(again[:, 1], again[:, 2])
    assert bits(column) == bits(again)


def test_c20_memory_that_may_not_be_written_is_not() -> None:
    native = flambeau.script(clipped)
    x = np.arange(40.0)
    x.flags.writeable = False
    for _ in range(4):
        native(flambeau.from_numpy(x), 50.0)
    assert outcome(native, (np.arange(40.0), 3.0)) == outcome(clipped, (np.arange(40.0), 3.0))
    with pytest.raises(RuntimeError, match="read"):
        native(flambeau.from_numpy(x), 3.0)


def until(x: Tensor, start: int, n: int, limit: float) -> tuple[int, float]:
    total, k = 0.0, -1
    for i in range(n):
        total += float(x[start + i])
        if total > limit:
            break
        k = i
    return k, total


def first_of_rows(x: Tensor, by: int, rows: Tensor) -> int:
    for i in range(x.size(0)):
        if float(x[i]) * float(rows[i + by, i]) > 4.0:
            return i
        rows[i, i] = 0.5
    return -1


def skipping(x: Tensor, step: int, n: int) -> float:
    total = 0.0
    for i in range(n):
        if float(x[i * step]) < -1.0:
            continue
        total = total * 0.5 + float(x[n - 1 - i])
        if total < -3.0:
            break
    else:
        total += 100.0
    return total


def test_loops_that_break_fail_and_stop_where_python_does() -> None:
    x, large = RNG.standard_normal(40), (1 << 63) - 1
    starts, counts = (0, 7, 39, -1, -40, -41), (0, 1, 33, 40, 41)
    native = agree(until, *((x, s, n, limit) for s in starts for n in counts for limit in (1e9, 1.0)))
    assert native_functions(native)
    assert "goes_on" in native.llvm_ir
    agree(until, *((x, s, 3, 1e9) for s in (large, large - 1, -large - 1)), python=False)
    agree(until, (x[:0], 0, 3, 1.0), (x[:0], large, 2, 1.0), python=False)
    rows = RNG.standard_normal((40, 40))
    agree(first_of_rows, *((x, by, rows.copy()) for by in (0, 1, -1, 39, -40, -41)))
    agree(skipping, *((x, step, n) for step in (0, 1, 2, -1, -2, 39, 1 << 40) for n in (0, 1, 2, 20, 40, 41)))


def rows_between(pointers: Tensor, places: Tensor, values: Tensor, out: Tensor) -> None:
    for i in range(out.size(0)):
        total = 0.0
        for k in range(int(pointers[i]), int(pointers[i + 1])):
            total += float(values[k]) * float(values[int(places[k])])
        out[i] = total


def test_short_loops_run_whole_or_in_stretches() -> None:
    values, places = RNG.standard_normal(30), RNG.integers(-30, 30, 30)
    native = agree(
        rows_between, (np.arange(0, 31, 5), places, values, np.zeros(6)),
        (np.array([0, 0, 3, 3, 30, 30, 30]), places, values, np.zeros(6)),
        (np.array([5, 2, -4, 9, 31, 2, 8]), places, values, np.zeros(6)),
        (np.array([-30, -25, 5, 0, 0, 0, 0]), places, values, np.zeros(6)),
        (np.array([0, 4, 9]), places + 60, values, np.zeros(2)),
    )  # fmt: skip
    assert "whole" in native.llvm_ir
