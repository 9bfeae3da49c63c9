"""Routines of half precision become routines of float32 between conversions; what kernels and devices do stays."""

from __future__ import annotations

import pytest

from flambeau.passes import widen_halves
from tests.passes.before_after import expect, expect_same

HEAD = """graph(%x : Half(*, *, *), %w : Half(*, *, *), %b : Float(*), %q : BFloat16(*, *, *), %u : Tensor):
  %none : NoneType = prim::Constant()
  %false : bool = prim::Constant[value=0]()
  %zero : float = prim::Constant[value=0.]()
  %one : int = prim::Constant[value=1]()
  %ones : int[] = prim::ListConstruct(%one)
  """
WIDE = "prims::convert_element_type"
POOLING, SETTINGS = "aten::max_pool2d_with_indices", "%ones, %ones, %ones, %ones, %false"


def test_a_convolution() -> None:
    expect(
        widen_halves.do,
        HEAD + """%y : Half(*, *, *) = aten::conv1d(%x, %w, %none, %ones, %ones, %ones, %one)
  return (%y)""",
        HEAD + f"""%a : int = prim::Constant[value=6]()
  %1 : Float(*, *, *) = {WIDE}(%x, %a)
  %c : int = prim::Constant[value=6]()
  %2 : Float(*, *, *) = {WIDE}(%w, %c)
  %3 : Float(*, *, *) = aten::conv1d(%1, %2, %none, %ones, %ones, %ones, %one)
  %d : int = prim::Constant[value=5]()
  %y : Half(*, *, *) = {WIDE}(%3, %d)
  return (%y)""",
    )


def test_results_that_are_no_halves_stay() -> None:
    """Of pooling with places, the places are integers."""
    expect(
        widen_halves.do,
        HEAD + f"""%y : BFloat16(*, *, *), %i : Long(*, *, *) = {POOLING}(%q, {SETTINGS})
  return (%y, %i)""",
        HEAD + f"""%a : int = prim::Constant[value=6]()
  %1 : Float(*, *, *) = {WIDE}(%q, %a)
  %2 : Float(*, *, *), %i : Long(*, *, *) = {POOLING}(%1, {SETTINGS})
  %d : int = prim::Constant[value=15]()
  %y : BFloat16(*, *, *) = {WIDE}(%2, %d)
  return (%y, %i)""",
    )


KEPT = {
    "a kernel": "%y : Half(*, *, *) = aten::relu(%x)",
    "two kinds of halves": "%y : Half(*, *, *) = aten::conv1d(%x, %q, %none, %ones, %ones, %ones, %one)",
    "an operand of unknown dtype": "%y : Half(*, *, *) = aten::conv1d(%x, %u, %none, %ones, %ones, %ones, %one)",
    "a result of unknown dtype": "%y : Tensor = aten::conv1d(%x, %w, %none, %ones, %ones, %ones, %one)",
}


@pytest.mark.parametrize("node", KEPT.values(), ids=list(KEPT))
def test_what_stays(node: str) -> None:
    expect_same(widen_halves.do, HEAD + node + "\n  return (%y)")


def test_what_asks_for_gradients_stays() -> None:
    head = HEAD.replace("%x : Half(*, *, *)", "%x : Half(*, *, *, requires_grad=1)")
    expect_same(
        widen_halves.do,
        head + "%y : Half(*, *, *) = aten::conv1d(%x, %w, %none, %ones, %ones, %ones, %one)\n  return (%y)",
    )
