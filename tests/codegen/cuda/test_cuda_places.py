"""Loads and stores at places that values say: one thread for each place, in the order of the iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.backends.cuda import sums
from flambeau.codegen import reference
from flambeau.codegen.cuda import loops
from flambeau.codegen.cuda import schedule as choices
from flambeau.codegen.cuda.bound_program import Layout, bind_program
from flambeau.codegen.cuda.emit import emit_module
from flambeau.codegen.cuda.mapped import AtomicAdd, Write
from flambeau.codegen.cuda.printer import print_program
from flambeau.codegen.cuda.ptx import programs_ptx
from flambeau.codegen.cuda.races import SimulationError
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.kernel import Kernel, parse_kernel
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.util.record import replace
from tests.codegen.cuda.cuda_kernels import bound_for
from tests.codegen.cuda.on_host import on_host

ROWS = parse_kernel("""
kernel rows {
  axes d0, d1, g0
  in x0: float32[g0, d1]
  in x1: int64[d0]
  out y0: float32[d0, d1]
  for d0, d1 {
    %0: int64 = load x1[d0]
    %1: int64 = within %0, g0
    %2: float32 = load x0[%1, d1]
    %3: float32 = add %2, %2
    store y0[d0, d1], %3
  }
}
""")
ALONG = parse_kernel("""
kernel along {
  axes d0, d1, g0
  in x0: float32[d0, g0]
  in x1: int64[d0, d1]
  out y0: float32[d0, d1]
  for d0, d1 {
    %0: int64 = load x1[d0, d1]
    %1: int64 = within %0, g0
    %2: float32 = load x0[d0, %1]
    store y0[d0, d1], %2
  }
}
""")
CHANGED_ROWS = """
kernel changed_rows {{
  axes d0, d1, d2
  in x0: {dtype}[d0, d2]
  in x1: int64[d1, d2]
  in x2: {dtype}[d1, d2]
  out y0: {dtype}[d0, d2]
  for d0 {{
    for d2 {{
      %0: {dtype} = load x0[d0, d2]
      store y0[d0, d2], %0
    }}
  }}
  for d1 {{
    for d2 {{
      %1: int64 = load x1[d1, d2]
      %2: {dtype} = load x2[d1, d2]
      %3: int64 = within %1, d0
      store y0[%3, d2], {op}%2
    }}
  }}
}}
"""
CHANGED_ALONG = parse_kernel("""
kernel changed_along {
  axes d0, d1, d2
  in x0: float32[d0, d1]
  in x1: int64[d0, d2]
  in x2: float32[d0, d2]
  out y0: float32[d0, d1]
  for d0 {
    for d1 {
      %0: float32 = load x0[d0, d1]
      store y0[d0, d1], %0
    }
    for d2 {
      %1: int64 = load x1[d0, d2]
      %2: float32 = load x2[d0, d2]
      %3: int64 = within %1, d1
      store y0[d0, %3], %2
    }
  }
}
""")
HOSTILE = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.5], np.float32)


def draw(dtype: str, *shape: int, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, size=shape).astype(bool)
    values = random.integers(-9, 9, size=shape).astype(dtype)
    if dtype.startswith("float"):
        values = np.where(random.random(shape) < 0.3, random.choice(HOSTILE, size=shape), values).astype(dtype)
    return values


def places(size: int, *shape: int) -> Any:
    return np.random.default_rng(1).integers(0, size, size=shape)


def check(kernel: Kernel, given: list[Any], **changed: Any) -> None:
    """The simulator and the device code, run here, give what the loop nest means, bit for bit."""
    chosen = bound_for(kernel, *given).schedule
    bound = bound_for(kernel, *given, schedule=replace(chosen, **changed))
    with np.errstate(all="ignore"):
        (want,) = reference.run(kernel, *given)
    np.testing.assert_array_equal(simulate(bound, *given)[0], want)
    np.testing.assert_array_equal(on_host(bound, *given)[0], want)


@pytest.mark.parametrize("wide_from", [1, 1 << 12])
@pytest.mark.parametrize("columns", [1, 6, 8])
def test_rows_of_a_table(monkeypatch: pytest.MonkeyPatch, wide_from: int, columns: int) -> None:
    monkeypatch.setattr(choices, "WIDE_FROM", wide_from)
    given = [draw("float32", 7, columns), places(7, 9)]
    check(ROWS, given)
    if wide_from == 1 and columns == 8:
        bound = bound_for(ROWS, *given)
        assert bound.program is not None
        assert emit_module(bound.program.kernels).count("load <4 x float>") == 1
        assert emit_module(bound.program.kernels).count("load i64") == 2, "an index for four elements, and for the rest"


def test_places_along_an_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "WIDE_FROM", 1)
    check(ALONG, [draw("float32", 3, 5), places(5, 3, 8)])
    check(ALONG, [draw("float32", 3, 1)[:, ::-1], places(1, 3, 2)])


@pytest.mark.parametrize(
    ("dtype", "op"),
    [
        ("float32", "add"), ("float64", "mul"), ("float32", "maximum"), ("float32", ""), ("int32", "add"),
        ("int8", "minimum"), ("bool", "logical_or"), ("int64", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("residues", [1, 4])
def test_changed_rows(dtype: str, op: str, residues: int) -> None:
    kernel = parse_kernel(CHANGED_ROWS.format(dtype=dtype, op=op and op + " "))
    given = [draw(dtype, 5, 3), places(5, 11, 3), draw(dtype, 11, 3, seed=2)]
    check(kernel, given, residues=residues, threads=32, atomic=False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_additions_in_no_order(dtype: str) -> None:
    """What is exact in any order has the same bits; blocks and threads add to one place at once."""
    kernel = parse_kernel(CHANGED_ROWS.format(dtype=dtype, op="add "))
    given = [np.ones((5, 40), dtype), places(5, 30, 40), np.arange(1200).reshape(30, 40).astype(dtype)]
    schedule = bound_for(kernel, *given).schedule
    assert schedule.atomic
    assert "additions in no order" in schedule.key()
    check(kernel, given)
    bound = bound_for(kernel, *given)
    assert bound.program is not None
    text = emit_module(bound.program.kernels)
    assert text.count("atomicrmw") == 1
    assert "monotonic" in text
    assert ("red.global.add" in (ptx := programs_ptx([bound.program], "sm_90", {}))) or "atom.global.add" in ptx
    assert "= %" not in print_program(bound.program).split("add y0[")[1].splitlines()[0]


def test_additions_can_be_told_to_have_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = parse_kernel(CHANGED_ROWS.format(dtype="float32", op="add "))
    given = [draw("float32", 5, 3), places(5, 11, 3), draw("float32", 11, 3, seed=2)]
    monkeypatch.setattr(sums, "deterministic", True)
    assert not bound_for(kernel, *given).schedule.atomic
    check(kernel, given)


def test_a_plain_store_beside_additions_is_a_race() -> None:
    kernel = parse_kernel(CHANGED_ROWS.format(dtype="float32", op="add "))
    given = [np.ones((5, 4), np.float32), places(5, 300, 4), np.ones((300, 4), np.float32)]
    bound = bound_for(kernel, *given)
    assert bound.program is not None
    changes = bound.program.kernels[1]
    plain = replace(changes, body=tuple(_plain(s) for s in changes.body))
    wrong = replace(bound, program=replace(bound.program, kernels=(bound.program.kernels[0], plain)))
    simulate(bound, *given)
    with pytest.raises(SimulationError, match="race"):
        simulate(wrong, *given)


def _plain(s: Any) -> Any:
    """A statement with stores where additions were."""
    if isinstance(s, AtomicAdd):
        return Write(s.memory, s.at, s.value)
    inner = getattr(s, "body", None)
    return s if inner is None else replace(s, body=tuple(map(_plain, inner)))


@pytest.mark.parametrize("residues", [1, 2, 8])
def test_the_last_of_several_changes_stays(residues: int) -> None:
    check(
        CHANGED_ALONG, [draw("float32", 4, 6), places(6, 4, 21), draw("float32", 4, 21, seed=3)], residues=residues,
        threads=32,
    )  # fmt: skip


def test_no_changes() -> None:
    x = draw("float32", 4, 6)
    check(CHANGED_ALONG, [x, places(6, 4, 0), draw("float32", 4, 0)])


def test_one_column_is_shared_by_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = parse_kernel(CHANGED_ROWS.format(dtype="float32", op="add "))
    given = [draw("float32", 40, 1), places(40, 50, 1), draw("float32", 50, 1)]
    monkeypatch.setattr(sums, "deterministic", True)
    assert bound_for(kernel, *given).schedule.residues == 32
    monkeypatch.setattr(loops, "BUSY", 8)
    assert bound_for(kernel, *given).schedule.residues == 8
    check(kernel, given)


@pytest.mark.parametrize("outside", [-1, 7, 1 << 40])
def test_places_outside_are_reported(outside: int) -> None:
    index = np.array([0, outside, 2])
    for kernel, given in (
        (ROWS, [draw("float32", 7, 4), index]),
        (CHANGED_ALONG, [draw("float32", 1, 7), index[None], draw("float32", 1, 3)]),
    ):
        bound = bound_for(kernel, *given)
        for run in (simulate, on_host):
            with pytest.raises(IndexError, match="index out of range"):
                run(bound, *given)


def test_places_of_nothing_are_refused() -> None:
    with pytest.raises(KernelError, match="a place in an axis of size 0"):
        bind_program(ROWS, (), [Layout((0, 4), (16, 4)), Layout((3,), (8,))])
    with pytest.raises(KernelError, match="places of what has no elements"):
        bound_for(CHANGED_ALONG, draw("float32", 2, 0), places(1, 2, 3), draw("float32", 2, 3))


def test_changes_inside_of_a_fold_are_refused() -> None:
    kernel = parse_kernel("""
    kernel mixed {
      axes i, j
      in x: float32[j]
      in p: int64[i]
      out y: float32[j]
      out z: float32[]
      for j {
        %0: float32 = load x[j]
        store y[j], %0
      }
      for i reduce s: int64 = sum {
        %1: int64 = load p[i]
        s <- %1
        %2: int64 = within %1, j
        %3: float32 = cast %1
        store y[%2], %3
      }
      %4: float32 = cast s
      store z[], %4
    }
    """)
    with pytest.raises(KernelError, match="inside a fold or beside loops"):
        bound_for(kernel, np.ones(3, np.float32), np.zeros(2, np.int64))
