"""Dead code: what stays because something sees it, and what goes."""

from __future__ import annotations

import pytest

from flambeau.passes import dce
from tests.passes.before_after import expect, expect_same


def test_unused_results_and_what_they_need_go() -> None:
    expect(
        dce.do,
        """graph(%x : Tensor):
          %1 : int = prim::Constant[value=1]()
          %a : Tensor = aten::add(%x, %x, %1)
          %b : Tensor = aten::relu_(%a)
          %l : Tensor[] = prim::ListConstruct(%a)
          return (%x)""",
        "graph(%x : Tensor):\n  return (%x)",
    )


KEPT = [
    '%m : str = prim::Constant[value="a"]()\n = prim::Print(%m)\n return (%x)',
    "%a : Tensor = aten::relu_(%x)\n return (%n)",
    "%a : Tensor = aten::relu(%x)\n %b : Tensor = aten::relu_(%a)\n return (%a)",
    "%a : Tensor = aten::relu(%x)\n %v : Tensor = aten::t(%a)\n %b : Tensor = aten::relu_(%v)\n return (%a)",
    "%e : int[] = prim::ListConstruct(%n)\n %f : int[] = aten::append(%e, %n)\n %g : int = aten::len(%e)\n return (%g)",
    "%a : Tensor = aten::relu(%x)\n %l : Tensor[] = prim::ListConstruct(%a)\n %i : int = prim::Constant[value=0]()\n"
    " %b : Tensor = aten::__getitem__(%l, %i)\n %c : Tensor = aten::relu_(%b)\n return (%a)",
    "%a : Tensor = aten::relu(%x)\n %l : Tensor[] = prim::ListConstruct(%a)\n"
    " %f : Tensor[] = aten::append(%l, %x)\n return (%l)",
    "%f : Future[Tensor] = prim::fork_0(%x)\n return (%n)\nwith prim::fork_0 = graph(%y : Tensor):\n return (%y)\n",
    "%a : Tensor = ^f()(%x)\n return (%n)",
]


@pytest.mark.parametrize("body", KEPT)
def test_what_is_seen_stays(body: str) -> None:
    expect_same(dce.do, f"graph(%x : Tensor, %n : int):\n {body}")


def test_writes_to_memory_that_nobody_looks_at_go() -> None:
    expect(
        dce.do,
        """graph(%x : Tensor):
          %a : Tensor = aten::relu(%x)
          %v : Tensor = aten::t(%a)
          %b : Tensor = aten::relu_(%v)
          %c : Tensor = aten::exp(%x)
          return (%c)""",
        "graph(%x : Tensor):\n  %c : Tensor = aten::exp(%x)\n  return (%c)",
    )


def test_results_of_branches_and_carried_values_go() -> None:
    expect(
        dce.do,
        """graph(%x : Tensor, %c : bool, %n : int):
          %a : Tensor, %b : Tensor = prim::If(%c)
            block0():
              %d : Tensor = aten::relu(%x)
              -> (%d, %x)
            block1():
              -> (%x, %x)
          %e : Tensor, %f : int = prim::Loop(%n, %c, %b, %n)
            block0(%i : int, %g : Tensor, %h : int):
              %j : int = aten::add(%h, %i)
              %k : Tensor = aten::relu(%g)
              -> (%c, %k, %j)
          return (%e)""",
        """graph(%x : Tensor, %c : bool, %n : int):
          %b : Tensor = prim::If(%c)
            block0():
              -> (%x)
            block1():
              -> (%x)
          %e : Tensor = prim::Loop(%n, %c, %b)
            block0(%i : int, %g : Tensor):
              %k : Tensor = aten::relu(%g)
              -> (%c, %k)
          return (%e)""",
    )


def test_a_carried_value_that_decides_stays() -> None:
    expect_same(
        dce.do,
        """graph(%x : Tensor, %c : bool, %n : int):
          %e : Tensor, %f : int = prim::Loop(%n, %c, %x, %n)
            block0(%i : int, %g : Tensor, %h : int):
              %j : int = aten::add(%h, %i)
              %k : bool = aten::gt(%j, %i)
              %l : Tensor = aten::relu(%g)
              -> (%k, %l, %j)
          return (%e)""".replace("%h, %i", "%n, %i")
        .replace(", %f : int", "")
        .replace("%c, %x, %n)", "%c, %x)")
        .replace(", %h : int", "")
        .replace("%l, %j", "%l"),
    )


def test_control_flow_without_live_content_goes_and_with_effects_stays() -> None:
    text = """graph(%x : Tensor, %c : bool):
      = prim::If(%c)
        block0():
          %m : str = prim::Constant[value="no"]()
          %none : NoneType = prim::Constant()
          {effect}
          -> ()
        block1():
          -> ()
      return (%x)"""
    expect(dce.do, text.format(effect=""), "graph(%x : Tensor, %c : bool):\n  return (%x)")
    expect_same(dce.do, text.format(effect=" = prim::RaiseException(%m, %none)"))


def test_draws_stay_so_that_later_draws_are_the_same() -> None:
    expect_same(
        dce.do,
        """graph(%x : Tensor):
          %p : float = prim::Constant[value=0.5]()
          %t : bool = prim::Constant[value=1]()
          %a : Tensor = aten::dropout(%x, %p, %t)
          return (%x)""",
    )


def test_subgraphs_are_cleaned() -> None:
    expect(
        dce.do,
        "graph(%x : Tensor):\n %y : Tensor = prim::FusionGroup_0(%x)\n return (%y)\n"
        "with prim::FusionGroup_0 = graph(%a : Tensor):\n %b : Tensor = aten::exp(%a)\n return (%a)\n",
        "graph(%x : Tensor):\n %y : Tensor = prim::FusionGroup_0(%x)\n return (%y)\n"
        "with prim::FusionGroup_0 = graph(%a : Tensor):\n return (%a)\n",
    )
