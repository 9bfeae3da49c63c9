"""Rows held in registers, and folds over everything with several states a thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.codegen import reference
from flambeau.codegen.cuda import choose_schedule as choices
from flambeau.codegen.cuda import schedule as earlier_choices
from flambeau.codegen.cuda.bound_program import Layout, bind_program
from flambeau.codegen.cuda.emit import emit_module
from flambeau.codegen.cuda.mapped import Barrier, If, MappedKernel, Statement, WriteVector
from flambeau.codegen.cuda.races import SimulationError
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.kernel import Kernel, KernelError, parse_kernel
from flambeau.util.record import replace
from tests.codegen.cuda.cuda_kernels import SOFTMAX, VARIANCE, Array, bound_for, fold, random_inputs
from tests.codegen.cuda.on_host import on_host
from tests.codegen.kernels import random_values, special_values

LAYER_NORM = parse_kernel("""
kernel layer_norm {
  axes r, c
  in x: float32[r, c]
  in w: float32[c]
  in b: float32[c]
  out y: float32[r, c]
  out mean: float32[r]
  for r {
    for c reduce total: float32 = sum {
      %0: float32 = load x[r, c]
      total <- %0
    }
    %1: int64 = extent c
    %2: float32 = cast %1
    %3: float32 = div total, %2
    for c reduce squares: float32 = sum {
      %4: float32 = load x[r, c]
      %5: float32 = sub %4, %3
      %6: float32 = mul %5, %5
      squares <- %6
    }
    %7: float32 = div squares, %2
    %8: float32 = const 1e-05
    %9: float32 = add %7, %8
    %10: float32 = sqrt %9
    for c {
      %11: float32 = load x[r, c]
      %12: float32 = sub %11, %3
      %13: float32 = div %12, %10
      %14: float32 = load w[c]
      %15: float32 = mul %13, %14
      %16: float32 = load b[c]
      %17: float32 = add %15, %16
      store y[r, c], %17
    }
    store mean[r], %3
  }
}
""")


def held(columns: int, width: int = 1, threads: int = 32, **more: Any) -> CudaSchedule:
    """Registers for rows of so many elements."""
    slots = -(-columns // (threads * width))
    team, wide = ("warp", 64) if threads == 32 else ("block", threads), ("x", "y") if width > 1 else ()
    whole = slots * threads * width == columns
    return CudaSchedule(*team, slots=slots, width=width, wide=wide, whole=whole, **more)


@pytest.mark.parametrize("schedule_of", [
    lambda n: held(n), lambda n: held(n, threads=64), lambda n: held(n, 4 if n % 4 == 0 else 1, max_blocks=1)
], ids=["warp", "block", "wide"])  # fmt: skip
@pytest.mark.parametrize("columns", [1, 4, 31, 32, 33, 64, 128, 300])
def test_softmax(schedule_of: Any, columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(5, columns)).astype(np.float32)
    x[0, 0] = -np.inf if columns > 1 else 1.0
    x[1, columns // 2] = np.nan
    axis_is_gone = columns == 1
    bound = bound_for(SOFTMAX, x, schedule=None if axis_is_gone else schedule_of(columns))
    power = np.exp((x - np.fmax.reduce(x, 1, keepdims=True)).astype(np.float64))
    want = power / power.sum(1, keepdims=True)
    np.testing.assert_allclose(simulate(bound, x)[0], want, rtol=1e-6)
    np.testing.assert_allclose(on_host(bound, x)[0], want, rtol=1e-6)


@pytest.mark.parametrize("columns", [2, 37, 64, 512])
def test_layer_norm_reads_each_row_once(columns: int) -> None:
    draw = np.random.default_rng(1)
    x, w, b = (draw.normal(size=s).astype(np.float32) for s in ((9, columns), columns, columns))
    bound = bound_for(LAYER_NORM, x, w, b)
    assert bound.schedule.slots == (0 if columns < 5 else bound.schedule.slots)
    off = x.astype(np.float64) - x.mean(1, dtype=np.float64, keepdims=True)
    want = off / np.sqrt((off * off).mean(1, keepdims=True) + 1e-5) * w + b
    for y, mean in (simulate(bound, x, w, b), on_host(bound, x, w, b)):
        np.testing.assert_allclose(y, want, rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(mean, x.mean(1), atol=1e-6)
    if bound.schedule.slots:
        assert bound.program is not None
        text = emit_module(list(bound.program.kernels))
        loads = [line for line in text.splitlines() if " load " in line and "addrspace(1)" in line]
        assert len(loads) == 3 * bound.schedule.slots


FOLDS = [
    (r, d) for r in ("sum", "prod", "max", "min", "argmax", "argmin") for d in ("float32", "float64", "int64", "int8")
]
FOLDS += [("any", "bool"), ("all", "bool"), ("maxnum", "float32")]


@pytest.mark.parametrize(("reducer", "dtype"), FOLDS)
def test_every_fold_of_hostile_rows(dtype: str, reducer: str) -> None:
    kernel = fold(reducer, dtype, rows=True)
    special = special_values(dtype)
    rows = [np.resize(np.roll(special, k), 45) for k in range(4)] + [np.resize(special[-1:], 45)]
    x = np.stack(rows)
    with np.errstate(all="ignore"):
        x = np.trunc(x % 8).astype(dtype) if reducer == "sum" else x
        (want,) = reference.run(kernel, x)
    for schedule in (held(45), held(45, threads=64), held(45, max_blocks=1, narrow=True)):
        np.testing.assert_array_equal(simulate(bound_for(kernel, x, schedule=schedule), x)[0], want)
    np.testing.assert_array_equal(on_host(bound_for(kernel, x, schedule=held(45)), x)[0], want)


@pytest.mark.parametrize("kind", ["misaligned", "odd rows", "turned", "every other", "transposed"])
def test_views(kind: str) -> None:
    flat = np.arange(8 * 132, dtype=np.float32) % 19
    x = {
        "misaligned": flat[1 : 1 + 7 * 128].reshape(7, 128),
        "odd rows": flat.reshape(8, 132)[:, :126],
        "turned": flat.reshape(8, 132)[::-1, ::-1],
        "every other": flat.reshape(8, 132)[:, ::2],
        "transposed": flat[: 8 * 64].reshape(64, 8).T,
    }[kind]
    kernel = fold("sum", "float32", rows=True)
    bound = bound_for(kernel, x)
    assert bound.schedule.columns if kind == "transposed" else bound.schedule.slots
    for run in (simulate, on_host):
        np.testing.assert_array_equal(run(bound, x)[0], x.sum(1))


def test_rows_of_nothing() -> None:
    x = np.zeros((3, 0), np.float32)
    np.testing.assert_array_equal(simulate(bound_for(fold("sum", "float32", rows=True), x), x)[0], [0, 0, 0])


def test_a_row_alone() -> None:
    """One block holds everything of a short fold over everything, and of several in a row."""
    x = np.random.default_rng(2).normal(size=1000)
    bound = bound_for(VARIANCE, x)
    assert bound.schedule.alone
    assert bound.schedule.slots
    for v, off in (simulate(bound, x), on_host(bound, x)):
        np.testing.assert_allclose(v, x.var(), rtol=1e-13)
        np.testing.assert_allclose(off, x - x.mean(), atol=1e-13)


def test_what_is_chosen() -> None:
    def chosen(kernel: Kernel, *shape: int, item: int = 4, aligned: bool = True) -> CudaSchedule:
        strides = tuple(item * int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
        inputs = [Layout(shape, strides, is_aligned=aligned)]
        return bind_program(kernel, (), inputs).schedule

    many = chosen(SOFTMAX, 16384, 1024)
    assert (many.team, many.slots, many.width, many.whole) == ("warp", 8, 4, True)
    few = chosen(SOFTMAX, 16, 1024)
    assert (few.team, few.threads, few.slots * few.width) == ("block", 128, 8), "more threads where rows are few"
    odd = chosen(SOFTMAX, 16384, 1023)
    assert (odd.slots, odd.width, odd.whole) == (32, 1, False)
    assert chosen(SOFTMAX, 16384, 1024, aligned=False).width == 1
    assert chosen(SOFTMAX, 16384, 4096).threads == 128
    assert chosen(SOFTMAX, 16384, 100_000).slots == 0
    everything = chosen(fold("sum", "float32", rows=False), 10**8)
    assert (everything.width, everything.vectors, everything.max_blocks) == (4, 4, 4 * 132)
    assert "8 slots of 4 whole of x, y" in many.key()


def test_processors_say_how_many_blocks() -> None:
    x = Layout((10**7,), (4,))
    special = bind_program(fold("sum", "float32", rows=False), (), [x]).special
    small = choices.choose_schedule(special, processors=16)
    assert small.max_blocks == 64
    assert "for 16 processors" in small.key()


def test_schedules_that_do_not_fit_are_refused() -> None:
    x = np.zeros((3, 100), np.float32)
    message = r"rows of 100 elements are not what 32 threads hold in 3 slots of 1; write slots=4"
    with pytest.raises(KernelError, match=message):
        bound_for(SOFTMAX, x, schedule=CudaSchedule("warp", 64, slots=3))
    with pytest.raises(KernelError, match="registers hold rows whose loops all run over one axis"):
        bound_for(fold("sum", "float32", rows=False), x[0], schedule=CudaSchedule("thread", 64, slots=3))


# --- folds over everything


@pytest.fixture
def few_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds over everything take a grid from the first element on."""
    monkeypatch.setattr(earlier_choices, "ALONE_UP_TO", 0)


@pytest.mark.usefixtures("few_alone")
@pytest.mark.parametrize("reducer", ["sum", "argmax", "min"])
@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 10_000])
def test_folds_over_everything(reducer: str, size: int) -> None:
    x = (random_values("float32", size, 3) % 64).round().astype(np.float32)
    kernel = fold(reducer, "float32", rows=False)
    (want,) = reference.run(kernel, x)
    for given in (x, np.repeat(x, 2)[::2], np.concatenate([x[:1], x])[1:]):
        bound = bound_for(kernel, given)
        np.testing.assert_array_equal(simulate(bound, given)[0], want)
    bound = bound_for(kernel, x, schedule=CudaSchedule(threads=64, max_blocks=3, width=2, vectors=2, wide=("x",)))
    np.testing.assert_array_equal(on_host(bound, x)[0], want)


@pytest.mark.usefixtures("few_alone")
@pytest.mark.parametrize("shape", [(70, 64), (33, 63)])
def test_folds_over_everything_in_rows_that_lie_apart(shape: tuple[int, int]) -> None:
    whole = np.arange(shape[0] * 80, dtype=np.float32).reshape(shape[0], 80) % 7
    x = whole[:, : shape[1]]
    kernel = _sum_of_matrix()
    bound = bound_for(kernel, x)
    assert bound.schedule.width == (4 if shape[1] == 64 else 1)
    for run in (simulate, on_host):
        np.testing.assert_array_equal(run(bound, x)[0], x.sum())


def _sum_of_matrix() -> Kernel:
    return parse_kernel("""
    kernel total {
      axes i, j
      in x: float32[i, j]
      out y: float32[]
      for i, j reduce s: float32 = sum {
        %0: float32 = load x[i, j]
        s <- %0
      }
      store y[], s
    }
    """)


@pytest.mark.usefixtures("few_alone")
def test_hostile_values_in_folds_over_everything() -> None:
    for reducer in ("sum", "max", "argmin", "maxnum"):
        kernel = fold(reducer, "float64", rows=False)
        x = np.resize(special_values("float64"), 5000)
        with np.errstate(all="ignore"):
            (want,) = reference.run(kernel, x)
            np.testing.assert_array_equal(simulate(bound_for(kernel, x), x)[0], want)


@pytest.mark.usefixtures("few_alone")
def test_several_folds_and_what_follows() -> None:
    x = np.random.default_rng(4).normal(size=9001)
    bound = bound_for(VARIANCE, x)
    assert bound.schedule.vectors == 4
    v, off = simulate(bound, x)
    np.testing.assert_allclose(v, x.var(), rtol=1e-13)
    np.testing.assert_allclose(off, x - x.mean(), atol=1e-13)
    again = simulate(bound, x)
    assert v == again[0]


# --- rows that registers do not hold


@pytest.mark.parametrize(
    "schedule",
    [
        CudaSchedule("block", 64, vectors=4, wide=("x", "y"), shared_scratch=True),
        CudaSchedule("block", 64, vectors=3, max_blocks=1),
        CudaSchedule("warp", 64, vectors=2, shared_scratch=True, narrow=True),
    ],
)
@pytest.mark.parametrize("columns", [2, 63, 64, 65, 300, 513])
def test_long_rows_several_elements_at_a_time(schedule: CudaSchedule, columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(3, columns)).astype(np.float32)
    x[0, 0], x[1, 1] = -np.inf, np.nan
    bound = bound_for(SOFTMAX, x, schedule=schedule)
    power = np.exp((x - np.fmax.reduce(x, 1, keepdims=True)).astype(np.float64))
    want = power / power.sum(1, keepdims=True)
    np.testing.assert_allclose(simulate(bound, x)[0], want, rtol=1e-6)
    np.testing.assert_allclose(on_host(bound, x)[0], want, rtol=1e-6)
    for reducer in ("argmax", "min"):
        kernel = fold(reducer, "float32", rows=True)
        (best,) = reference.run(kernel, x)
        chosen = replace(schedule, wide=("x",) if schedule.wide else ())
        np.testing.assert_array_equal(simulate(bound_for(kernel, x, schedule=chosen), x)[0], best)


def test_rows_too_long_for_registers_are_read_several_elements_at_a_time() -> None:
    long = bind_program(SOFTMAX, (), [Layout((256, 50257), (201028, 4))]).schedule
    assert (long.slots, long.vectors, long.wide) == (0, 8, ("x", "y"))


# --- faults


def _changed(kernel: MappedKernel, change: Any) -> MappedKernel:
    def body(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for s in statements:
            inner = getattr(s, "body", None)
            found += change(s if inner is None else replace(s, body=body(inner)))
        return tuple(found)

    return replace(kernel, body=body(kernel.body))


def _faulty(x: Array, schedule: CudaSchedule, change: Any) -> Any:
    bound = bound_for(SOFTMAX, x, schedule=schedule)
    assert bound.program is not None
    kernels = tuple(_changed(k, change) for k in bound.program.kernels)
    return replace(bound, program=replace(bound.program, kernels=kernels))


def test_a_last_group_without_its_guard_is_a_race() -> None:
    def unguarded(s: Statement) -> list[Statement]:
        is_guard = isinstance(s, If) and any(isinstance(x, WriteVector) for x in s.body)
        return list(s.body) if is_guard and isinstance(s, If) else [s]

    x = np.ones((2, 36), np.float32)
    simulate(bound_for(SOFTMAX, x, schedule=held(36, 4)), x)
    with pytest.raises(SimulationError, match=r"writes y at place 32, which thread \d+ writes at the same time"):
        simulate(_faulty(x, held(36, 4), unguarded), x)


def test_a_fold_without_its_barriers_is_a_race() -> None:
    x = np.ones((2, 100), np.float32)
    with pytest.raises(SimulationError, match=r"race|nobody wrote"):
        simulate(_faulty(x, held(100, threads=64), lambda s: [] if isinstance(s, Barrier) else [s]), x)


def test_random_inputs_of_other_dtypes() -> None:
    kernel = fold("sum", "float64", rows=True)
    arrays = random_inputs(kernel, {"i": 3, "j": 70}, turned=True)
    (want,) = reference.run(kernel, *arrays)
    np.testing.assert_allclose(simulate(bound_for(kernel, *arrays), *arrays)[0], want, rtol=1e-10)
