"""Running states: teams that go along an axis, scans over everything in two kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.codegen import reference
from flambeau.codegen.cuda import schedule as choices
from flambeau.codegen.cuda.bound_program import BoundProgram
from flambeau.codegen.cuda.mapped import Barrier, For, If, MappedKernel, Program
from flambeau.codegen.cuda.races import SimulationError
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.kernel import Kernel, parse_kernel
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.util.record import replace
from tests.codegen.cuda.cuda_kernels import bound_for
from tests.codegen.cuda.on_host import on_host

ROWS = """
kernel rows {{
  axes d0, d1
  in x0: {dtype}[d0, d1]
  out y0: {dtype}[d0, d1]
  for d0 {{
    for d1 reduce r0: {dtype} = {reducer} {{
      %0: {dtype} = load x0[d0, d1]
      r0 <- %0
      %1: {dtype} = running r0
      store y0[d0, d1], %1
    }}
  }}
}}
"""
EVERYTHING = parse_kernel("""
kernel everything {
  axes d0
  in x0: float32[d0]
  out y0: float32[d0]
  out z: float32[]
  for d0 reduce r0: float32 = sum {
    %1: float32 = load x0[d0]
    %2: float32 = mul %1, %1
    r0 <- %2
    %3: float32 = running r0
    %4: float32 = add %3, %1
    store y0[d0], %4
  }
  store z[], r0
}
""")
TEAMS = {
    "warp": CudaSchedule("warp", 64),
    "block": CudaSchedule("block", 64, narrow=True),
    "thread": CudaSchedule("thread", 32),
    "chosen": None,
}


def rows(dtype: str, reducer: str) -> Kernel:
    return parse_kernel(ROWS.format(dtype=dtype, reducer=reducer))


def draw(dtype: str, *shape: int) -> Any:
    small = 2 if dtype == "float64" else 5
    return np.random.default_rng(0).integers(-small, small, size=shape).astype(dtype)


def check(kernel: Kernel, x: Any, schedule: CudaSchedule | None = None) -> BoundProgram:
    bound = bound_for(kernel, x, schedule=schedule)
    with np.errstate(all="ignore"):
        want = reference.run(kernel, x)
    for run in (simulate, on_host):
        for g, w in zip(run(bound, x), want, strict=True):
            np.testing.assert_array_equal(g, w)
    return bound


@pytest.mark.parametrize("team", list(TEAMS))
@pytest.mark.parametrize("columns", [1, 31, 130, 300])
def test_sums_of_rows(team: str, columns: int) -> None:
    check(rows("float32", "sum"), draw("float32", 3, columns), TEAMS[team])


@pytest.mark.parametrize(
    ("dtype", "reducer"), [("int32", "prod"), ("int64", "sum"), ("float64", "max"), ("int8", "min")]
)
def test_other_folds(dtype: str, reducer: str) -> None:
    check(rows(dtype, reducer), draw(dtype, 2, 150), TEAMS["block"])


@pytest.mark.parametrize("reducer", ["sum", "max", "prod"])
def test_hostile_values_reach_all_that_follow(reducer: str) -> None:
    x = np.ones((4, 140), np.float32)
    x[0, 7], x[1, 70], x[1, 90], x[2, 0], x[3, 100] = np.nan, np.inf, -np.inf, -0.0, np.nan
    check(rows("float32", reducer), x, TEAMS["block"])


def test_views() -> None:
    kernel = rows("float32", "sum")
    check(kernel, draw("float32", 3, 131)[:, 1:], TEAMS["warp"])
    check(kernel, draw("float32", 70, 3).T, TEAMS["block"])
    check(kernel, draw("float32", 3, 70)[:, ::-1], TEAMS["block"])


@pytest.mark.parametrize("size", [1, 255, 256, 257, 1030])
@pytest.mark.parametrize("blocks", [1, 3])
def test_a_scan_over_everything(monkeypatch: pytest.MonkeyPatch, size: int, blocks: int) -> None:
    monkeypatch.setattr(choices, "ALONE_UP_TO", 0)
    bound = check(EVERYTHING, draw("float32", size), CudaSchedule("thread", 64, max_blocks=blocks))
    assert bound.program is not None
    assert len(bound.program.kernels) == 3, "folds of stretches, their scans, the sum"


def test_one_block_scans_what_is_short() -> None:
    bound = check(EVERYTHING, draw("float32", 300))
    assert bound.program is not None
    assert len(bound.program.kernels) == 1


def test_nothing() -> None:
    bound = bound_for(rows("float32", "sum"), draw("float32", 3, 0))
    assert simulate(bound, draw("float32", 3, 0))[0].shape == (3, 0)


def test_what_a_scan_keeps_is_read_by_other_threads() -> None:
    kernel = parse_kernel("""
    kernel shares {
      axes r, c
      in x: float32[r, c]
      out y: float32[r, c]
      scratch s: float32[c]
      for r {
        for c reduce t: float32 = sum {
          %0: float32 = load x[r, c]
          t <- %0
          %1: float32 = running t
          store s[c], %1
        }
        for c {
          %2: float32 = load s[c]
          %3: float32 = sub %2, t
          store y[r, c], %3
        }
      }
    }
    """)
    for schedule in (None, CudaSchedule("warp", 64), CudaSchedule("block", 64, shared_scratch=True)):
        check(kernel, draw("float32", 3, 130), schedule)


def test_what_is_chosen() -> None:
    def team(*shape: int) -> str:
        return bound_for(rows("float32", "sum"), draw("float32", *shape)).schedule.team

    assert team(1000, 3) == "thread"
    assert team(1000, 100) == "warp"
    assert team(16, 5000) == "block"


def test_a_fold_of_running_states_is_refused() -> None:
    kernel = parse_kernel("""
    kernel twice {
      axes i
      in x: float32[i]
      out y: float32[i]
      out z: float32[]
      for i reduce a: float32 = sum, b: float32 = sum {
        %0: float32 = load x[i]
        a <- %0
        %1: float32 = running a
        b <- %1
        store y[i], %1
      }
      store z[], b
    }
    """)
    x = draw("float32", 90)
    check(kernel, x)
    with pytest.raises(KernelError, match="a running state that another fold meets"):
        bound_for(kernel, x, schedule=CudaSchedule("thread", 64, max_blocks=2))


def without_barriers(bound: BoundProgram) -> BoundProgram:
    def strip(body: tuple[Any, ...]) -> tuple[Any, ...]:
        kept = [replace(s, body=strip(s.body)) if isinstance(s, For | If) else s for s in body]
        return tuple(s for s in kept if not isinstance(s, Barrier))

    def one(kernel: MappedKernel) -> MappedKernel:
        return replace(kernel, body=strip(kernel.body))

    assert bound.program is not None
    return replace(bound, program=Program(tuple(map(one, bound.program.kernels)), bound.program.extra_sizes))


def test_a_scan_without_its_barriers_is_a_race() -> None:
    x = draw("float32", 1, 300)
    bound = bound_for(rows("float32", "sum"), x, schedule=TEAMS["block"])
    with pytest.raises(SimulationError, match="fold"):
        simulate(without_barriers(bound), x)


@pytest.mark.parametrize("columns", [4, 36, 132, 300])
def test_neighbours_in_one_access(columns: int) -> None:
    """Rows that threads hold whole groups of neighbours of are read and written 16 bytes at a time."""
    bound = check(rows("float32", "sum"), draw("float32", 3, columns))
    assert bound.schedule.wide == ("x0", "y0")
    assert check(rows("float32", "sum"), draw("float32", 3, columns + 1)).schedule.wide == ()
    assert check(rows("float32", "sum"), draw("float32", 3, columns + 4)[:, :-4]).schedule.wide == ("x0", "y0")
    assert "x0" not in check(rows("float32", "sum"), draw("float32", 3, columns + 1)[:, 1:]).schedule.wide
    assert check(rows("float64", "sum"), draw("float64", 3, columns)).schedule.wide == ()


@pytest.mark.parametrize("size", [4, 256, 260, 1032])
def test_neighbours_of_everything(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(choices, "ALONE_UP_TO", 0)
    bound = check(EVERYTHING, draw("float32", size))
    assert bound.schedule.wide == ("x0", "y0")
