"""Thread-mapped loop nests in the simulator: against the meaning of the nest, and with faults planted."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import reference
from flambeau.codegen.cuda.bound_program import BoundProgram, Layout, bind_program
from flambeau.codegen.cuda.mapped import Barrier, For, If, Index, Program, Statement, Write
from flambeau.codegen.cuda.printer import print_program
from flambeau.codegen.cuda.races import SimulationError
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.kernel import KernelError, parse_kernel
from flambeau.util.record import replace
from tests.codegen.cuda.cuda_kernels import (
    SCHEDULES,
    SOFTMAX,
    VARIANCE,
    Array,
    add_broadcast,
    bound_for,
    fold,
    pick,
    random_inputs,
)
from tests.codegen.kernel.test_random_kernels import random_kernel
from tests.codegen.kernels import pointwise, random_values, special_values

SIZES = (0, 1, 31, 32, 33, 1000)


@pytest.mark.parametrize("seed", range(16))
def test_random_kernels(seed: int) -> None:
    kernel = random_kernel(seed + 100)
    for turned in (False, True):
        arrays = random_inputs(kernel, {"i": 3, "j": (1, 5, 33, 70)[seed % 4]}, turned=turned)
        with np.errstate(all="ignore"):
            want = reference.run(kernel, *arrays)
        bound = bound_for(kernel, *arrays, schedule=pick(seed))
        for g, w in zip(simulate(bound, *arrays), want, strict=True):
            np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(
    ("reducer", "dtype"), [("sum", "float32"), ("argmax", "float64"), ("min", "int16"), ("any", "bool")]
)
def test_folds_of_any_size(size: int, rows: bool, reducer: str, dtype: str) -> None:
    kernel = fold(reducer, dtype, rows=rows)
    x = random_values(dtype, 3 * size if rows else size, 5).reshape((3, size) if rows else (size,))
    if x.size and reducer == "argmax":
        x[..., size // 2 :] = np.abs(x).max()
    # A sum's terms are small integers, so that every order of them gives the same.
    x = np.trunc(x % 64).astype(dtype) if reducer == "sum" else x
    if not size and reducer in ("argmax", "min"):
        with pytest.raises(KernelError, match="no values to choose from"):
            bound_for(kernel, x)
        return
    (want,) = reference.run(kernel, x)
    for schedule in SCHEDULES[:: 5 if size == 1000 else 2 if size in (31, 32) else 1]:
        np.testing.assert_array_equal(simulate(bound_for(kernel, x, schedule=schedule), x)[0], want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values_in_folds(dtype: str) -> None:
    for reducer in ("max", "min", "argmax", "argmin", "maxnum", "sum", "prod"):
        kernel = fold(reducer, dtype, rows=False)
        for x in (
            special_values(dtype),
            np.array([-0.0, 0.0, np.nan, np.inf], dtype)[:: -1 if reducer == "max" else 1],
        ):
            with np.errstate(all="ignore"):
                (want,) = reference.run(kernel, x)
                bound = bound_for(kernel, x, schedule=CudaSchedule("block", 64, alone=True, max_blocks=1))
                (got,) = simulate(bound, x)
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1), (3, 31), (33, 7)])
def test_broadcasts_strides_and_several_outputs(shape: tuple[int, int]) -> None:
    kernel = add_broadcast()
    x = random_values("float32", shape[0] * shape[1] * 2).reshape(shape[1], shape[0] * 2).T[::2]
    w = random_values("float32", shape[1], 2)[::-1]
    for y in (w, np.array([2.0], np.float32)):
        if y.size == 1 and shape[1] == 0:
            continue
        got = simulate(bound_for(kernel, x, y, np.float64(0.5)), x, y, np.asarray(np.float64(0.5)))
        np.testing.assert_array_equal(got[0], x + y)
        np.testing.assert_array_equal(got[1], x * np.float64(0.5))
        assert got[0].strides == (x + y).strides or 0 in shape or 1 in shape


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("columns", [1, 33, 100])
def test_softmax(schedule: CudaSchedule | None, columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(5, columns)).astype(np.float32)
    x[0, 0] = -np.inf if columns > 1 else 1.0
    (got,) = simulate(bound_for(SOFTMAX, x, schedule=schedule), x)
    power = np.exp((x - x.max(1, keepdims=True)).astype(np.float64))
    np.testing.assert_allclose(got, power / power.sum(1, keepdims=True), rtol=1e-6)


def test_what_is_chosen() -> None:
    """Warps for short rows, blocks for long ones, tiles for columns, one block for a short fold of everything."""

    def chosen(kernel: str, *layouts: tuple[tuple[int, ...], tuple[int, ...]]) -> CudaSchedule:
        nests = {
            "softmax": SOFTMAX,
            "rows": fold("sum", "float32", rows=True),
            "all": fold("sum", "float32", rows=False),
        }
        return bind_program(nests[kernel], (), [Layout(*x) for x in layouts]).schedule

    short, long = chosen("softmax", ((4096, 512), (2048, 4))), chosen("softmax", ((64, 8000), (32000, 4)))
    assert (short.team, short.threads, short.slots) == ("warp", 128, 4)
    assert (long.team, long.threads, long.slots) == ("block", 1024, 2)
    assert not chosen("softmax", ((64, 80000), (320000, 4))).shared_scratch
    assert chosen("rows", ((8192, 512), (4, 32768))).team == "tile"
    assert chosen("rows", ((1 << 20, 1024), (4096, 4))).narrow is False
    assert chosen("all", ((5000,), (4,))).alone
    assert not chosen("all", ((5_000_000,), (4,))).alone


def test_grids_do_not_depend_on_devices() -> None:
    x = np.zeros((300, 40), np.float32)
    bound = bound_for(SOFTMAX, x, schedule=CudaSchedule("warp", 64, shared_scratch=True, max_blocks=100))
    assert bound.program is not None
    assert [k.grid.blocks(bound.sizes) for k in bound.program.kernels] == [100]


# --- faults


def changed(bound: BoundProgram, change: object, number: int = 0) -> BoundProgram:
    """The program with one kernel's statements changed: each goes through ``change``, which gives those instead."""
    assert bound.program is not None
    assert callable(change)

    def body(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for s in statements:
            whole = replace(s, body=body(s.body)) if isinstance(s, For | If) else s
            found += change(whole)
        return tuple(found)

    kernels = list(bound.program.kernels)
    kernels[number] = replace(kernels[number], body=body(kernels[number].body))
    return replace(bound, program=Program(tuple(kernels), bound.program.extra_sizes))


def bound_rows(columns: int = 70) -> tuple[BoundProgram, Array]:
    x = np.ones((3, columns), np.float32)
    return bound_for(SOFTMAX, x, schedule=CudaSchedule("block", 64, shared_scratch=True, max_blocks=2)), x


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_missing_barrier_is_a_race(which: int) -> None:
    bound, x = bound_rows()
    seen = iter(range(100))

    def drop(s: Statement) -> list[Statement]:
        return [] if isinstance(s, Barrier) and next(seen) == which else [s]

    if which == 1:  # each fold has rows of its own, so that the next iteration of the loop is what meets the first's
        bound = changed(bound, lambda s: [] if isinstance(s, Barrier) and next(seen) in (1, 2, 3) else [s])
    else:
        bound = changed(bound, drop)
    with pytest.raises(SimulationError, match=r"race: thread \d+ of block \d (reads|writes) fold\.\d|nobody wrote"):
        simulate(bound, x)


def test_what_is_read_may_not_be_written_before_a_barrier() -> None:
    """The second barrier of a fold keeps the next iteration's partial results from those that are still being read."""
    x = np.ones((3, 70), np.float32)
    bound = bound_for(fold("sum", "float32", rows=True), x, schedule=CudaSchedule("block", 64, max_blocks=1))
    simulate(bound, x)
    seen = iter(range(100))
    broken = changed(bound, lambda s: [] if isinstance(s, Barrier) and next(seen) == 1 else [s])
    message = r"race: thread \d+ of block 0 writes fold\.0 at place \d, which another thread .* no barrier between read"
    with pytest.raises(SimulationError, match=message):
        simulate(broken, x)


def test_two_blocks_that_write_one_place() -> None:
    x = np.ones(200, np.float32)
    bound = bound_for(fold("sum", "float32", rows=False), x, schedule=CudaSchedule("thread", 64, max_blocks=2))

    def all_to_first(s: Statement) -> list[Statement]:
        return [replace(s, at=(0,))] if isinstance(s, Write) and s.memory.startswith("part.") else [s]

    with pytest.raises(SimulationError, match=r"fold_0: race: thread 0 of block 1 writes part\.s .* of another block"):
        simulate(changed(bound, all_to_first), x)


def test_threads_that_write_one_place_at_once() -> None:
    def to_first_column(s: Statement) -> list[Statement]:
        return [replace(s, at=(s.at[0], 0))] if isinstance(s, Write) and s.memory == "y" else [s]

    bound, x = bound_rows()
    with pytest.raises(SimulationError, match="which thread 1 writes at the same time"):
        simulate(changed(bound, to_first_column), x)


def test_one_iteration_too_many_is_out_of_range() -> None:
    bound, x = bound_rows()

    def longer(s: Statement) -> list[Statement]:
        if not isinstance(s, For) or s.step != 64:
            return [s]
        return [Index("%more", "add", (s.stop, 1)), replace(s, stop="%more")]

    message = r"softmax: thread 6 of block 0 is out of range: index 70 of 70, in '%\d+: float32 = load x"
    with pytest.raises(SimulationError, match=message):
        simulate(changed(bound, longer), x)


def test_a_barrier_that_some_threads_miss() -> None:
    bound, x = bound_rows()

    def guarded(s: Statement) -> list[Statement]:
        if not isinstance(s, Barrier):
            return [s]
        return [Index("%few", "lt", ("%0", 40)), If("%few", (s,))]

    message = "thread 40 of block 0 does not reach the barrier where thread 0 waits, in 'barrier'"
    with pytest.raises(SimulationError, match=message):
        simulate(changed(bound, guarded), x)


def test_a_shuffle_that_some_threads_miss() -> None:
    from flambeau.codegen.cuda.mapped import Shuffle

    bound, x = bound_rows()

    def guarded(s: Statement) -> list[Statement]:
        if not isinstance(s, Shuffle) or s.lane != 16:
            return [s]
        return [Index("%few", "lt", ("%0", 40)), If("%few", (s,))]

    with pytest.raises(SimulationError, match="some threads of warp 1 of block 0 do not take part in a shuffle"):
        simulate(changed(bound, guarded), x)


def test_memory_that_nobody_wrote() -> None:
    bound, x = bound_rows()
    bound = changed(bound, lambda s: [] if isinstance(s, Write) and s.memory == "s" else [s])
    with pytest.raises(SimulationError, match="reads s at place 0, which nobody wrote"):
        simulate(bound, x)


def test_an_index_divided_by_zero() -> None:
    def by_zero(s: Statement) -> list[Statement]:
        return [replace(s, args=(s.args[0], 0))] if isinstance(s, Index) and s.op == "rem" else [s]

    bound, x = bound_rows()
    bound = changed(bound, by_zero)
    with pytest.raises(SimulationError, match="thread 0 divides an index by zero, in '%"):
        simulate(bound, x)


def test_a_zero_divisor_is_reported() -> None:
    kernel = pointwise("remainder", ("int64", "int64"))
    x, y = np.array([5, 6]), np.array([3, 0])
    with pytest.raises(ZeroDivisionError, match="ZeroDivisionError"):
        simulate(bound_for(kernel, x, y), x, y)
    np.testing.assert_array_equal(simulate(bound_for(kernel, x, y[:1]), x, y[:1])[0], [2, 0])


# --- scratch that threads share


TWICE = parse_kernel("""
kernel twice {
  axes r, c, d
  in x: float32[r, c]
  out y: float32[r, d]
  scratch s: float32[c]
  for r {
    for c {
      %0: float32 = load x[r, c]
      %1: float32 = mul %0, %0
      store s[c], %1
    }
    for d {
      for c reduce t: float32 = sum {
        %2: float32 = load s[c]
        t <- %2
      }
      %3: int64 = position d
      %4: float32 = cast %3
      %5: float32 = add t, %4
      store y[r, d], %5
    }
  }
}
""")


def test_threads_that_read_what_others_wrote_wait_for_them() -> None:
    from flambeau.codegen.cuda.mapping import map_kernel
    from flambeau.codegen.cuda.simulator import run_program

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for schedule in (
        CudaSchedule("block", 64, shared_scratch=True, max_blocks=1),
        CudaSchedule("warp", 64),
        CudaSchedule("thread", 32),
    ):
        program = map_kernel(TWICE, schedule)
        y = np.zeros((3, 5), np.float32)
        run_program(program, {"r": 3, "c": 4, "d": 5}, {"x": x, "y": y})
        np.testing.assert_array_equal(y, (x * x).sum(1, keepdims=True) + np.arange(5, dtype=np.float32))


def test_scratch_written_outside_loops_is_refused() -> None:
    text = """
kernel k {
  axes i
  in x: float32[]
  out y: float32[i]
  scratch s: float32[]
  %0: float32 = load x[]
  store s[], %0
  for i {
    %1: float32 = load s[]
    store y[i], %1
  }
}
"""
    from flambeau.codegen.cuda.mapping import map_kernel

    with pytest.raises(KernelError, match="scratch buffer s is written outside all loops"):
        map_kernel(parse_kernel(text), CudaSchedule())


# --- text


def test_text() -> None:
    bound = bound_for(pointwise("exp", ("float32",)), np.ones(5, np.float32))
    assert bound.program is not None
    assert (
        print_program(bound.program)
        == """\
mapped exp threads 256 {
  size #a0
  global in x0: float32[#a0]
  global out y: float32[#a0]
  %0 = thread
  %1 = block
  %2 = blocks
  %3 = mul %1, 256
  %4 = add %3, %0
  %5 = mul %2, 256
  for %6 = %4 to #a0 step %5 {
    %7: float32 = load x0[%6]
    %8: float32 = exp %7
    store y[%6], %8
  }
}
"""
    )


def test_results_are_the_same_every_time() -> None:
    x = np.random.default_rng(3).normal(size=2000)
    bound = bound_for(VARIANCE, x, schedule=CudaSchedule("thread", 64, max_blocks=4))
    first, again = simulate(bound, x), simulate(bound, x)
    assert first[0] == again[0]
    np.testing.assert_allclose(first[0], x.var(), rtol=1e-13)
