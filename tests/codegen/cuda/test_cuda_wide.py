"""Several iterations of a thread at a time: what is chosen, what it computes, what text it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.codegen.cuda import schedule as choices
from flambeau.codegen.cuda.bound_program import BoundProgram, Layout, bind_program
from flambeau.codegen.cuda.emit import emit_module
from flambeau.codegen.cuda.ptx import programs_ptx
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.kernel import Kernel, parse_kernel
from tests.codegen.cuda.on_host import HostGrid

CHAIN = """
kernel chain {{
  axes i, j
  in x: {dtype}[i, j]
  in w: {dtype}[j]
  in c: {dtype}[i]
  out y: {dtype}[i, j]
  out z: bool[i, j]
  for i, j {{
    %0: {dtype} = load x[i, j]
    %1: {dtype} = load w[j]
    %2: {dtype} = load c[i]
    %3: {dtype} = mul %0, %1
    %4: {dtype} = add %3, %2
    %5: bool = gt %4, %0
    store y[i, j], %4
    store z[i, j], %5
  }}
}}
"""


@pytest.fixture(autouse=True)
def from_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "WIDE_FROM", 1)
    monkeypatch.setattr(choices, "MANY", 64)


def chain(dtype: str) -> Kernel:
    return parse_kernel(CHAIN.format(dtype=dtype))


def arrays(dtype: str, rows: int, columns: int) -> list[Any]:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(rows, columns)).astype(dtype)
    if rows and columns > 2:
        x[0, :3] = [np.nan, np.inf, -0.0]
    return [x, draw.normal(size=columns).astype(dtype), draw.normal(size=rows).astype(dtype)]


def bound_for(kernel: Kernel, given: list[Any]) -> BoundProgram:
    return bind_program(kernel, (), [Layout.of(a) for a in given])


def expected(x: Any, w: Any, c: Any) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):
        y = x * w + c[:, None]
    return y, y > x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "columns"), [(3, 64), (40, 8), (1, 7), (5, 6), (2, 1), (0, 4), (300, 16)])
def test_rows_with_broadcasts(dtype: str, rows: int, columns: int) -> None:
    kernel, given = chain(dtype), arrays(dtype, rows, columns)
    bound = bound_for(kernel, given)
    for got, want in zip(simulate(bound, *given), expected(*given), strict=True):
        np.testing.assert_array_equal(got, want)
    if bound.program is not None:
        for got, want in zip(HostGrid(bound).run(*given), expected(*given), strict=True):
            np.testing.assert_array_equal(got, want)


def test_what_is_chosen() -> None:
    def width(dtype: str, rows: int, columns: int, **changed: Any) -> tuple[int, int, tuple[str, ...]]:
        given = arrays(dtype, rows, columns)
        layouts = [Layout.of(a) for a in given]
        for number, layout in changed.get("layouts", {}).items():
            layouts[number] = layout
        chosen = bind_program(chain(dtype), (), layouts).schedule
        return chosen.width, chosen.vectors, chosen.wide

    assert width("float32", 16, 64) == (4, 2, ("x", "w", "y", "z"))
    assert width("float64", 16, 64) == (2, 4, ("x", "w", "y", "z"))
    assert width("float32", 16, 6)[0] == 2, "rows of six are whole pairs"
    assert width("float32", 16, 7)[0] == 1
    misaligned = Layout((16, 64), (256, 4), is_aligned=False)
    assert width("float32", 16, 64, layouts={0: misaligned})[2] == ("w", "y", "z")
    apart = Layout((16, 64), (260, 4))
    assert width("float32", 16, 64, layouts={0: apart})[2] == ("w", "y", "z"), "rows begin anywhere"


@pytest.mark.parametrize("count", [1, 3, 8, 2047, 2048, 2049, 5000])
@pytest.mark.parametrize("step", [1, 2])
def test_one_row_with_a_rest(count: int, step: int) -> None:
    kernel = parse_kernel("""
    kernel twice {
      axes i
      in x: float32[i]
      out y: float32[i]
      for i {
        %0: float32 = load x[i]
        %1: float32 = add %0, %0
        store y[i], %1
      }
    }
    """)
    x = np.arange(count * step, dtype=np.float32)[::step]
    bound = bound_for(kernel, [x])
    assert bound.schedule.width == (4 if count > 1 else 1)
    np.testing.assert_array_equal(simulate(bound, x)[0], 2 * x)
    np.testing.assert_array_equal(HostGrid(bound).run(x)[0], 2 * x)


def test_the_text() -> None:
    given = arrays("float32", 16, 64)
    bound = bound_for(chain("float32"), given)
    assert bound.program is not None
    text = emit_module(list(bound.program.kernels))
    assert text.count("load <4 x float>") == 2 * 2, "two groups of x and of w"
    assert "store <4 x i8>" in text
    ptx = programs_ptx([bound.program], "sm_90", {})
    assert "ld.global.nc.v4.b32" in ptx or "ld.global.nc.v4.f32" in ptx
    assert "st.global.v4.b32" in ptx or "st.global.v4.f32" in ptx


def test_lengths_in_turn_have_few_programs() -> None:
    kernel = chain("float32")
    patterns = {bound_for(kernel, arrays("float32", 8, n)).pattern for n in range(100, 200)}
    assert len(patterns) == 3, "rows that are whole fours, pairs, and others"
