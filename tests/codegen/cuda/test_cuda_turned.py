"""Inputs that lie across the innermost axis: square tiles in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.codegen import reference
from flambeau.codegen.cuda import schedule as choices
from flambeau.codegen.cuda.bound_program import BoundProgram
from flambeau.codegen.cuda.mapped import Barrier, For, If, Program
from flambeau.codegen.cuda.races import SimulationError
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.kernel import Kernel, parse_kernel
from flambeau.util.record import replace
from tests.codegen.cuda.cuda_kernels import bound_for
from tests.codegen.cuda.on_host import on_host
from tests.codegen.kernels import GATHERED_ROWS

ADDED = """
kernel added {{
  axes b, i, j
  in x: {dtype}[b, i, j]
  in y: {dtype}[b, i, j]
  in w: {dtype}[j]
  out z: {dtype}[b, i, j]
  out t: bool[b, i, j]
  for b, i, j {{
    %0: {dtype} = load x[b, i, j]
    %1: {dtype} = load y[b, i, j]
    %2: {dtype} = load w[j]
    %3: {dtype} = {op} %1, %2
    %4: {dtype} = add %0, %3
    %5: bool = lt %1, %0
    store z[b, i, j], %4
    store t[b, i, j], %5
  }}
}}
"""


@pytest.fixture(autouse=True)
def from_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "WIDE_FROM", 1)


def added(dtype: str, op: str = "mul") -> Kernel:
    return parse_kernel(ADDED.format(dtype=dtype, op=op))


def arrays(dtype: str, batch: int, rows: int, columns: int) -> list[Any]:
    draw = np.random.default_rng(0)
    x = draw.integers(-9, 9, size=(batch, rows, columns)).astype(dtype)
    y = draw.integers(-9, 9, size=(batch, columns, rows)).astype(dtype)
    if dtype.startswith("float"):
        y[0, 0, 0], y[0, -1, -1], x[0, -1, 0] = np.nan, np.inf, -0.0
    return [x, y.transpose(0, 2, 1), draw.integers(1, 9, size=columns).astype(dtype)]


def check(kernel: Kernel, given: list[Any], schedule: CudaSchedule | None = None) -> BoundProgram:
    bound = bound_for(kernel, *given, schedule=schedule)
    assert bound.schedule.turned == ("y",)
    with np.errstate(all="ignore"):
        want = reference.run(kernel, *given)
    for run in (simulate, on_host):
        for g, w in zip(run(bound, *given), want, strict=True):
            np.testing.assert_array_equal(g, w)
    return bound


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_whole_tiles_and_rests(dtype: str) -> None:
    for sizes in ((1, 32, 32), (2, 17, 40)):
        check(added(dtype), arrays(dtype, *sizes))


def test_a_small_grid_goes_on_to_further_tiles() -> None:
    given = arrays("float32", 2, 33, 35)
    chosen = bound_for(added("float32"), *given).schedule
    check(added("float32"), given, replace(chosen, max_blocks=2, narrow=False))


def test_views() -> None:
    x, y, w = arrays("float32", 2, 40, 36)
    check(added("float32"), [x[:, 1:, 1:], y[:, 1:, 1:], w[1:]])


def test_a_zero_divisor_is_reported() -> None:
    x, y, w = arrays("int32", 1, 20, 20)
    w[7] = 0
    kernel = added("int32", "floordiv")
    bound = bound_for(kernel, x, y, w)
    assert bound.schedule.turned == ("y",)
    for run in (simulate, on_host):
        with pytest.raises(ZeroDivisionError):
            run(bound, x, y, w)


def test_what_is_chosen() -> None:
    def turned(x: Any, y: Any, w: Any) -> tuple[str, ...]:
        return bound_for(added("float32"), x, y, w).schedule.turned

    x, y, w = arrays("float32", 1, 40, 36)
    assert turned(x, y, w) == ("y",)
    assert turned(x, np.ascontiguousarray(y), w) == ()
    assert turned(*arrays("float32", 1, 40, 8)) == (), "rows that are short"
    assert turned(x, np.broadcast_to(y[:, :, :1], x.shape), w) == (), "the same along rows"


def test_large_tables_do_not_widen_indices() -> None:
    kernel = parse_kernel(GATHERED_ROWS)
    table = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (1 << 20, 256), (1024, 4))
    assert bound_for(kernel, table, np.zeros(1 << 14, np.int64)).schedule.narrow
    assert not bound_for(kernel, table, np.zeros(1 << 23, np.int64)).schedule.narrow


def without_barriers(bound: BoundProgram) -> BoundProgram:
    def strip(body: tuple[Any, ...]) -> tuple[Any, ...]:
        kept = [replace(s, body=strip(s.body)) if isinstance(s, For | If) else s for s in body]
        return tuple(s for s in kept if not isinstance(s, Barrier))

    assert bound.program is not None
    return replace(bound, program=Program(tuple(replace(k, body=strip(k.body)) for k in bound.program.kernels)))


def test_a_tile_without_its_barriers_is_a_race() -> None:
    given = arrays("float32", 1, 32, 32)
    with pytest.raises(SimulationError, match=r"tile\.0"):
        simulate(without_barriers(bound_for(added("float32"), *given)), *given)
