"""Folds down columns: tiles of neighbouring columns, rows in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.codegen import reference
from flambeau.codegen.cuda.bound_program import BoundProgram, Layout, bind_program
from flambeau.codegen.cuda.mapped import Barrier, Statement
from flambeau.codegen.cuda.races import SimulationError
from flambeau.codegen.cuda.recomputed import recomputed
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.kernel import Kernel, KernelError, parse_kernel
from flambeau.codegen.kernel.nest import Const, Loop, Store
from flambeau.util.record import replace
from tests.codegen.cuda.cuda_kernels import SOFTMAX, Array, bound_for, fold
from tests.codegen.cuda.on_host import on_host
from tests.codegen.kernels import special_values


def columns_fold(reducer: str, dtype: str) -> Kernel:
    """The fold of each column, times two where that is a number, with the row it was found in for argmax."""
    place, position, result = (", at %p", "%p: int64 = position r", "int64") if reducer == "argmax" else ("", "", dtype)
    return parse_kernel(f"""
    kernel down {{
      axes c, r
      in x: {dtype}[r, c]
      out y: {result}[c]
      for c {{
        for r reduce s: {dtype} = {reducer} {{
          {position}
          %0: {dtype} = load x[r, c]
          s <- %0{place.replace(",", "")}
        }}
        store y[c], s
      }}
    }}
    """)


NORMALISE = parse_kernel("""
kernel normalise {
  axes c, r
  in x: float64[r, c]
  in w: float64[c]
  out y: float64[r, c]
  out mean: float64[c]
  for c {
    for r reduce t: float64 = sum {
      %0: float64 = load x[r, c]
      t <- %0
    }
    %1: int64 = extent r
    %2: float64 = cast %1
    %3: float64 = div t, %2
    for r reduce q: float64 = sum {
      %4: float64 = load x[r, c]
      %5: float64 = sub %4, %3
      %6: float64 = mul %5, %5
      q <- %6
    }
    %7: float64 = div q, %2
    %8: float64 = load w[c]
    for r {
      %9: float64 = load x[r, c]
      %10: float64 = sub %9, %3
      %11: float64 = div %10, %7
      %12: float64 = mul %11, %8
      store y[r, c], %12
    }
    store mean[c], %3
  }
}
""")
SCHEDULES = (
    None,
    CudaSchedule("tile", 64, columns=32, vectors=2),
    CudaSchedule("tile", 64, columns=8, vectors=3, pieces=3, narrow=True, wide=("x",)),
    CudaSchedule("tile", 32, columns=32, vectors=1, pieces=5, max_blocks=2),
    CudaSchedule("tile", 64, columns=16, vectors=1, max_blocks=1),
)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (33, 5), (40, 64), (200, 9)])
def test_sums_of_any_size(schedule: CudaSchedule | None, shape: tuple[int, int]) -> None:
    x = (np.arange(shape[0] * shape[1], dtype=np.float32) % 23).reshape(shape)
    kernel = columns_fold("sum", "float32")
    if 1 in shape:
        schedule = None
    bound = bound_for(kernel, x, schedule=schedule)
    np.testing.assert_array_equal(simulate(bound, x)[0], x.sum(0))
    np.testing.assert_array_equal(on_host(bound, x)[0], x.sum(0))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8"])
@pytest.mark.parametrize("reducer", ["sum", "prod", "max", "min", "argmax"])
def test_hostile_values(reducer: str, dtype: str) -> None:
    special = special_values(dtype)
    x = np.stack([np.resize(np.roll(special, k), 37) for k in range(9)], axis=1)
    kernel = columns_fold(reducer, dtype)
    with np.errstate(all="ignore"):
        x = np.trunc(x % 8).astype(dtype) if reducer == "sum" else x
        (want,) = reference.run(kernel, x)
        for schedule in SCHEDULES[1:]:
            got = simulate(bound_for(kernel, x, schedule=schedule), x)[0]
            np.testing.assert_array_equal(got, want)
            if "arg" not in reducer and "float" in dtype and reducer != "prod":
                np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("kind", ["misaligned", "odd rows", "turned", "every other", "empty", "three"])
def test_views(kind: str) -> None:
    flat = np.arange(30 * 132, dtype=np.float32) % 19
    x = {
        "misaligned": flat[1 : 1 + 29 * 64].reshape(29, 64),
        "odd rows": flat.reshape(30, 132)[:, :61],
        "turned": flat.reshape(30, 132)[::-1, :40],
        "every other": flat.reshape(30, 132)[::2, :70],
        "empty": flat[:0].reshape(0, 40),
        "three": flat[: 3 * 40].reshape(3, 40),
    }[kind]
    bound = bound_for(columns_fold("sum", "float32"), x)
    assert bound.schedule.columns
    for run in (simulate, on_host):
        np.testing.assert_array_equal(run(bound, x)[0], x.sum(0))


def test_columns_of_a_stack() -> None:
    kernel = parse_kernel("""
    kernel stack {
      axes b, c, r
      in x: float32[b, r, c]
      out y: float32[b, c]
      for b, c {
        for r reduce s: float32 = sum {
          %0: float32 = load x[b, r, c]
          s <- %0
        }
        store y[b, c], s
      }
    }
    """)
    x = (np.arange(5 * 70 * 13) % 11).astype(np.float32).reshape(5, 70, 13)
    for schedule in SCHEDULES:
        bound = bound_for(kernel, x, schedule=schedule)
        assert bound.schedule.columns
        np.testing.assert_array_equal(simulate(bound, x)[0], x.sum(1))
        np.testing.assert_array_equal(on_host(bound, x)[0], x.sum(1))


@pytest.mark.parametrize("schedule", [None, SCHEDULES[1], SCHEDULES[4]])
def test_several_folds_of_a_column(schedule: CudaSchedule | None) -> None:
    draw = np.random.default_rng(0)
    x, w = draw.normal(size=(50, 37)), draw.normal(size=37)
    bound = bound_for(NORMALISE, x, w, schedule=schedule)
    assert bound.schedule.pieces == 1
    assert bound.program is not None
    shared = [m for m in bound.program.kernels[0].memories if m.space == "shared"]
    assert len(shared) == 1, "one fold uses what the one before has done with"
    for y, mean in (simulate(bound, x, w), on_host(bound, x, w)):
        np.testing.assert_allclose(y, (x - x.mean(0)) / x.var(0) * w, rtol=1e-10)
        np.testing.assert_allclose(mean, x.mean(0), rtol=1e-12, atol=1e-14)


def test_what_is_chosen() -> None:
    def chosen(rows: int, columns: int) -> tuple[int, int, int, int]:
        layout = Layout((rows, columns), (4 * columns, 4))
        schedule = bind_program(columns_fold("sum", "float32"), (), [layout]).schedule
        return schedule.columns, schedule.team_size, schedule.pieces, schedule.vectors

    assert chosen(16384, 1024) == (32, 16, 17, 8)
    assert chosen(256, 1_000_000) == (32, 16, 1, 8), "columns enough"
    assert chosen(4, 1_000_000) == (256, 1, 1, 4), "rows so few that a thread takes them all"
    assert chosen(100_000, 64)[2] > 200
    many = bind_program(NORMALISE, (), [Layout((4096, 256), (2048, 8)), Layout((256,), (8,))]).schedule
    assert (many.columns, many.threads, many.pieces) == (32, 512, 16)
    short = bind_program(NORMALISE, (), [Layout((256, 256), (2048, 8)), Layout((256,), (8,))]).schedule
    assert (short.columns, short.threads, short.pieces) == (8, 512, 1), "narrower tiles where nothing is cut"
    assert (
        "32 columns in 17 pieces, 8 rows at a time"
        in bind_program(columns_fold("sum", "float32"), (), [Layout((16384, 1024), (4096, 4))]).schedule.key()
    )


def test_schedules_that_do_not_fit_are_refused() -> None:
    x = np.zeros((40, 40), np.float32)
    tile = CudaSchedule("tile", 64, columns=32)
    with pytest.raises(KernelError, match="columns are iterations of one loop with loops inside that need no scratch"):
        bound_for(SOFTMAX, x, schedule=tile)
    rows = bind_program(SOFTMAX, (), [Layout((600, 40), (4, 2400))]).special.kernel
    assert not rows.scratch, "columns compute again what rows would keep"
    with pytest.raises(KernelError, match="columns are iterations of one loop"):
        bound_for(fold("sum", "float32", rows=False), x[0], schedule=tile)
    with pytest.raises(KernelError, match="can be cut where nothing else is stored than in their loop"):
        bound_for(_with_a_copy(), x, schedule=replace(tile, pieces=2))
    message = (
        "a tile of 32 columns has a power of two of threads for each, got 96 threads of a tile; write .*threads=512"
    )
    with pytest.raises(KernelError, match=message):
        bound_for(columns_fold("sum", "float32"), x, schedule=replace(tile, threads=96))


def _with_a_copy() -> Kernel:
    """A sum of columns, and beside it a copy of what does not vary along them."""
    kernel = columns_fold("sum", "float32")
    b = replace(kernel.buffers[1], name="z", axes=())
    return replace(
        kernel, buffers=(*kernel.buffers, b), body=(*kernel.body, Const("k", "float32", 1.0), Store("z", "k"))
    )


@pytest.mark.parametrize("schedule", [None, SCHEDULES[1], SCHEDULES[2], SCHEDULES[3]])
@pytest.mark.parametrize("shape", [(50, 37), (33, 70)])
def test_softmax_of_columns(schedule: CudaSchedule | None, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    bound = bound_for(SOFTMAX, x.T, schedule=schedule)
    assert bound.program is not None
    assert not bound.special.kernel.scratch
    assert len(bound.program.kernels) == (3 if bound.schedule.pieces > 1 else 1)
    powers = np.exp(x - x.max(0))
    for (y,) in (simulate(bound, x.T), on_host(bound, x.T)):
        np.testing.assert_allclose(y.T, powers / powers.sum(0), rtol=2e-6)


@pytest.mark.parametrize("schedule", [SCHEDULES[2], SCHEDULES[3]])
def test_several_folds_in_pieces(schedule: CudaSchedule) -> None:
    draw = np.random.default_rng(0)
    x, w = draw.normal(size=(50, 37)), draw.normal(size=37)
    bound = bound_for(NORMALISE, x, w, schedule=replace(schedule, wide=()))
    assert bound.program is not None
    assert len(bound.program.kernels) == 4, "three loops over rows, and what follows"
    for y, mean in (simulate(bound, x, w), on_host(bound, x, w)):
        np.testing.assert_allclose(y, (x - x.mean(0)) / x.var(0) * w, rtol=1e-10)
        np.testing.assert_allclose(mean, x.mean(0), rtol=1e-12, atol=1e-14)


def test_what_is_kept_of_another_loop_is_not_computed_again() -> None:
    assert recomputed(SOFTMAX) is not None
    kernel = replace(SOFTMAX, body=tuple(_in_other_loop(s) for s in SOFTMAX.body))
    assert recomputed(kernel) is None


def _in_other_loop(s: Statement) -> Any:
    """The last loop inside over axes of its own."""
    assert isinstance(s, Loop)
    *first, last = s.body
    assert isinstance(last, Loop)
    return replace(s, body=(*first, replace(last, axes=("c", "d"))))


# --- faults


def _without_barrier(bound: BoundProgram, which: int) -> BoundProgram:
    assert bound.program is not None
    seen = iter(range(100))

    def body(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for s in statements:
            inner: Any = getattr(s, "body", None)
            if not (isinstance(s, Barrier) and next(seen) == which):
                found.append(s if inner is None else replace(s, body=body(inner)))
        return tuple(found)

    first, *others = bound.program.kernels
    kernels = (replace(first, body=body(first.body)), *others)
    return replace(bound, program=replace(bound.program, kernels=kernels))


def _columns(x: Array) -> BoundProgram:
    return bound_for(columns_fold("sum", "float32"), x, schedule=CudaSchedule("tile", 64, columns=16, max_blocks=1))


@pytest.mark.parametrize("which", range(4))
def test_every_barrier_is_needed(which: int) -> None:
    x = np.ones((9, 40), np.float32)
    simulate(_columns(x), x)
    with pytest.raises(SimulationError, match=r"race|nobody wrote"):
        simulate(_without_barrier(_columns(x), which), x)


def test_the_same_bits_every_time() -> None:
    x = np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)
    bound = bound_for(columns_fold("sum", "float32"), x, schedule=SCHEDULES[2])
    first, again = simulate(bound, x)[0], simulate(bound, x)[0]
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, on_host(bound, x)[0])
