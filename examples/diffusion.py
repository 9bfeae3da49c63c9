"""Warmth that spreads over a plate: a stencil as a loop nest, scheduled step by step.

Each step moves every cell towards the mean of its four neighbours; the border keeps its temperature. Two steps are one
nest: the first is computed in the tile of the second that reads it, so that memory is gone through half as often.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import flambeau
from flambeau import Tensor, te

STEPS_AT_ONCE, ROWS, COLUMNS, LANES = 2, 16, 256, 16


def spread(name: str, before: te.Tensor, rows: te.Var, columns: te.Var) -> te.Tensor:
    """The plate a step later."""

    def cell(i: te.Expr, j: te.Expr) -> te.Expr:
        inside = (i > 0) & (i < rows - 1) & (j > 0) & (j < columns - 1)
        around = before[i - 1, j] + before[i + 1, j] + before[i, j - 1] + before[i, j + 1]
        return te.where(inside, before[i, j] + (around * 0.25 - before[i, j]) * 0.8, before[i, j])

    return te.compute(name, (rows, columns), cell)


def nest(*, is_scheduled: bool = True) -> te.LoopNest:
    """Two steps, as they are defined or as they run fast."""
    rows, columns = te.var("rows"), te.var("columns")
    plate = te.placeholder("plate", (rows, columns), "float32")
    first = spread("first", plate, rows, columns)
    loops = te.LoopNest(spread("second", first, rows, columns))
    if is_scheduled:
        i, j = loops.loops("second")
        i_outer, j_outer, _, j_inner = loops.tile(i, j, ROWS, COLUMNS)
        first_columns = loops.compute_at(first, j_outer)[1]
        for loop in (j_inner, first_columns):
            loops.vectorize(loops.split(loop, LANES)[1])
        loops.parallel(i_outer)
    return loops


@cache
def program(*, is_scheduled: bool = True) -> Callable[[Tensor], Tensor]:
    """The same as machine code."""
    return nest(is_scheduled=is_scheduled).codegen("llvm")


def run(plate: Tensor, steps: int, *, is_scheduled: bool = True) -> Tensor:
    """The plate after some steps, an even number."""
    two_steps = program(is_scheduled=is_scheduled)
    for _ in range(steps // STEPS_AT_ONCE):
        plate = two_steps(plate)
    return plate


def hot_plate(rows: int, columns: int) -> Tensor:
    """A cold plate with a warm left border and a hot disc."""
    y = flambeau.arange(rows).reshape(rows, 1) / rows
    x = flambeau.arange(columns).reshape(1, columns) / columns
    plate = ((y - 0.4) ** 2 + (x - 0.6) ** 2 < 0.04).float()
    plate[:, 0] = 0.7
    return plate


if __name__ == "__main__":
    print(nest())
    start = hot_plate(2048, 4096)
    for way in (False, True):
        program(is_scheduled=way)(start)
        began = time.perf_counter()
        after = run(start, 8, is_scheduled=way)
        spent = (time.perf_counter() - began) * 1e3
        warmth = float(after.double().sum())
        print(f"{'scheduled' if way else 'plain'}: warmth {warmth:.1f} after 8 steps, {spent:.0f} ms")
