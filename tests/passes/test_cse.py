"""Common subexpressions: merged when nobody can tell."""

from __future__ import annotations

import pytest

from flambeau.passes import cse, licm
from tests.passes.before_after import expect, expect_same

HEAD = "graph(%x : Tensor, %n : int, %c : bool):\n %1 : int = prim::Constant[value=1]()\n "


def test_numbers_are_computed_once_also_in_branches() -> None:
    expect(
        cse.do,
        HEAD
        + """%a : int = aten::mul(%n, %n)
        %b : int = aten::mul(%n, %n)
        %d : int = prim::If(%c)
          block0():
            %e : int = aten::mul(%n, %n)
            -> (%e)
          block1():
            -> (%b)
        return (%d, %b)""",
        HEAD
        + """%a : int = aten::mul(%n, %n)
        %d : int = prim::If(%c)
          block0():
            -> (%a)
          block1():
            -> (%a)
        return (%d, %a)""",
    )


def test_hidden_tensors_are_merged() -> None:
    expect(
        cse.do,
        HEAD + "%a : Tensor = aten::relu(%x)\n %b : Tensor = aten::relu(%x)\n"
        " %d : Tensor = aten::add(%a, %b, %1)\n return (%d)",
        HEAD + "%a : Tensor = aten::relu(%x)\n %d : Tensor = aten::add(%a, %a, %1)\n return (%d)",
    )


def test_a_result_that_took_the_place_of_a_returned_one_takes_no_other() -> None:
    expect(
        cse.do,
        HEAD
        + "%a : Tensor = aten::exp(%x)\n %b : Tensor = aten::exp(%x)\n %d : Tensor = aten::exp(%x)\n return (%b, %d)",
        HEAD + "%a : Tensor = aten::exp(%x)\n %d : Tensor = aten::exp(%x)\n return (%a, %d)",
    )


KEPT = [
    "%a : Tensor = aten::relu(%x)\n %b : Tensor = aten::relu(%x)\n return (%a, %b)",
    "%a : Tensor = aten::relu(%x)\n %b : Tensor = aten::relu(%x)\n %d : Tensor = aten::relu_(%b)\n"
    " %e : Tensor = aten::add(%a, %d, %1)\n return (%e)",
    "%a : Tensor = aten::exp(%x)\n %d : Tensor = aten::relu_(%x)\n %b : Tensor = aten::exp(%x)\n"
    " %e : Tensor = aten::add(%a, %b, %1)\n return (%e)",
    "%a : int = aten::mul(%n, %1)\n %b : int = aten::mul(%1, %n)\n return (%a, %b)",
    "%a : int[] = prim::ListConstruct(%n)\n %b : int[] = prim::ListConstruct(%n)\n"
    " %d : int[] = aten::append(%a, %n)\n %e : int = aten::len(%b)\n return (%e)",
    "%p : float = prim::Constant[value=0.5]()\n %a : Tensor = aten::dropout(%x, %p, %c)\n"
    " %b : Tensor = aten::dropout(%x, %p, %c)\n %e : Tensor = aten::add(%a, %b, %1)\n return (%e)",
    "%a : float = prim::Constant[value=0.]()\n %b : float = prim::Constant[value=-0.]()\n return (%a, %b)",
]  # fmt: skip


@pytest.mark.parametrize("body", KEPT)
def test_what_a_program_could_tell_apart_stays(body: str) -> None:
    expect_same(cse.do, HEAD + body)


def test_attributes_are_read_once_unless_one_is_set() -> None:
    reads = '%a : Tensor = prim::GetAttr[name="w"](%m)\n {between} %b : Tensor = prim::GetAttr[name="w"](%m)\n'
    text = (
        "graph(%m : __torch__.M, %x : Tensor):\n "
        + reads
        + " %d : Tensor[] = prim::ListConstruct(%a, %b)\n return (%d)"
    )
    expect(cse.do, text.format(between=""), text.format(between="").replace(reads.split("\n")[1].format(between=""), "")
           .replace("%b)\n return", "%a)\n return"))  # fmt: skip
    expect_same(cse.do, text.format(between=' = prim::SetAttr[name="w"](%m, %x)\n'))


LOOP = """graph(%x : Tensor, %n : int, %k : int, %t : bool):
  %1 : int = prim::Constant[value=3]()
  %true : bool = prim::Constant[value=1]()
  """


def test_invariant_numbers_leave_loops() -> None:
    expect(
        licm.do,
        LOOP
        + """%y : Tensor = prim::Loop(%n, %t, %x)
          block0(%i : int, %z : Tensor):
            %c : int = aten::mul(%k, %k)
            %d : int = aten::add(%c, %c)
            %w : Tensor = aten::add(%z, %d, %i)
            -> (%t, %w)
        return (%y)""",
        LOOP
        + """%c : int = aten::mul(%k, %k)
        %d : int = aten::add(%c, %c)
        %y : Tensor = prim::Loop(%n, %t, %x)
          block0(%i : int, %z : Tensor):
            %w : Tensor = aten::add(%z, %d, %i)
            -> (%t, %w)
        return (%y)""",
    )


BODY = "prim::Loop({trips}, {start}, %x)\n block0(%i : int, %z : Tensor):\n {body} -> (%t, %w)\n return (%y)"


@pytest.mark.parametrize(
    ("trips", "start", "body", "moves"),
    [
        ("%1", "%true", "%c : int = aten::floordiv(%n, %k)\n %w : Tensor = aten::add(%z, %c, %i)\n", 1),
        ("%n", "%true", "%c : int = aten::floordiv(%n, %k)\n %w : Tensor = aten::add(%z, %c, %i)\n", 0),
        ("%1", "%t", "%c : int = aten::floordiv(%n, %k)\n %w : Tensor = aten::add(%z, %c, %i)\n", 0),
        (
            "%1",
            "%true",
            " = prim::Print(%i)\n %c : int = aten::floordiv(%n, %k)\n %w : Tensor = aten::add(%z, %c, %i)\n",
            0,
        ),
        (
            "%1",
            "%true",
            "%b : Tensor = aten::relu_(%x)\n %c : int = aten::floordiv(%n, %k)\n %w : Tensor = aten::exp(%z)\n",
            0,
        ),
        (
            "%1",
            "%true",
            "%v : Tensor = aten::add(%z, %x, %i)\n %c : int = aten::floordiv(%n, %k)\n"
            " %w : Tensor = aten::add(%v, %c, %i)\n",
            0,
        ),
        ("%1", "%true", "%c : Tensor = aten::exp(%x)\n %w : Tensor = aten::add(%z, %c, %i)\n", 1),
        ("%1", "%true", "%c : Tensor = aten::exp(%x)\n %w : Tensor = aten::add_(%z, %c, %i)\n", 0),
        ("%1", "%true", "%c : Tensor = aten::exp(%x)\n %w : Tensor = aten::relu_(%c)\n", 0),
        ("%1", "%true", "%w : Tensor = aten::exp(%x)\n", 0),
    ],
)
def test_what_may_leave_a_loop(trips: str, start: str, body: str, moves: int) -> None:
    before = LOOP + "%y : Tensor = " + BODY.format(trips=trips, start=start, body=body)
    if not moves:
        expect_same(licm.do, before)
        return
    first, rest = body.split("\n", 1)
    expect(licm.do, before, LOOP + first + "\n %y : Tensor = " + BODY.format(trips=trips, start=start, body=rest))


def test_functions_of_one_float_tensor_leave_any_loop() -> None:
    text = """graph(%x : Float(*), %n : int, %t : bool):
      {above}%y : Tensor = prim::Loop(%n, %t, %x)
        block0(%i : int, %z : Tensor):
          {inside}%w : Tensor = aten::add(%z, %c, %i)
          -> (%t, %w)
      return (%y)"""
    node = "%c : Float(*) = aten::exp(%x)\n "
    expect(licm.do, text.format(above="", inside=node), text.format(above=node, inside=""))
    unknown = node.replace("Float(*)", "Tensor")
    expect_same(licm.do, text.format(above="", inside=unknown).replace("%x : Float(*)", "%x : Tensor"))


SIZES = """graph(%x : Float(*, *), %n : int, %t : bool, %h : float):
      %0 : int = prim::Constant[value=0]()
      {above}%y : Tensor = prim::Loop(%n, %t, %x)
        block0(%i : int, %z : Tensor):
          %w : Tensor = {write}
          {inside}%v : Tensor = aten::mul(%z, %s)
          -> (%t, %v)
      return (%y)"""
ASKED = "%s : int = aten::size(%x, %0)\n "


def test_sizes_leave_loops_that_write_elements_but_not_loops_that_resize() -> None:
    write = "aten::fill_(%x, %h)"
    expect(
        licm.do,
        SIZES.format(above="", inside=ASKED, write=write),
        SIZES.format(above=ASKED, inside="", write=write),
    )
    expect_same(licm.do, SIZES.format(above="", inside=ASKED, write="aten::t_(%x)"))


def test_sizes_leave_nested_loops() -> None:
    text = """graph(%x : Float(*, *), %n : int, %t : bool, %h : float):
      %1 : int = prim::Constant[value=1]()
      {above}%y : int = prim::Loop(%n, %t, %n)
        block0(%i : int, %a : int):
          %z : int = prim::Loop(%i, %t, %a)
            block0(%j : int, %b : int):
              %w : Tensor = aten::fill_(%x, %h)
              {inside}%v : int = aten::sub(%b, %k)
              -> (%t, %v)
          -> (%t, %z)
      return (%y)"""
    asked = "%s : int = aten::size(%x, %1)\n %k : int = aten::mul(%s, %s)\n "
    expect(licm.do, text.format(above="", inside=asked), text.format(above=asked, inside=""))


@pytest.mark.parametrize(("write", "merges"), [("aten::fill_(%x, %h)", True), ("aten::t_(%x)", False)])
def test_sizes_are_asked_for_once_unless_they_may_change(write: str, merges: bool) -> None:
    text = """graph(%x : Float(*, *), %h : float):
      %0 : int = prim::Constant[value=0]()
      %a : int = aten::size(%x, %0)
      %w : Tensor = {write}
      {second}return (%a, {result})"""
    before = text.format(write=write, second="%b : int = aten::size(%x, %0)\n ", result="%b")
    expect(cse.do, before, text.format(write=write, second="", result="%a") if merges else before)


def test_what_may_be_nothing_yet_is_not_looked_at_before_a_loop() -> None:
    expect_same(
        licm.do,
        """graph(%n : int, %t : bool):
      %u : int = prim::Uninitialized()
      %a : int = prim::If(%t)
        block0():
          -> (%n)
        block1():
          -> (%u)
      %y : int = prim::Loop(%n, %t, %n)
        block0(%i : int, %z : int):
          %v : int = aten::mul(%a, %a)
          %w : int = aten::add(%z, %v)
          -> (%t, %w)
      return (%y)""",
    )


VIEWS = """graph(%x : Float(*, *), %n : int, %h : float):
      %0 : int = prim::Constant[value=0]()
      %a : Float(*) = aten::select(%x, %0, %n)
      %w : Tensor = {write}
      {second}%q : Tensor = aten::fill_(%a, %h)
      %p : Float(*) = aten::exp({result})
      return ({returned})"""
AGAIN = "%b : Float(*) = aten::select(%x, %0, %n)\n "


def test_views_of_what_is_written_are_one() -> None:
    write = "aten::fill_(%x, %h)"
    expect(
        cse.do,
        VIEWS.format(write=write, second=AGAIN, result="%b", returned="%p"),
        VIEWS.format(write=write, second="", result="%a", returned="%p"),
    )


@pytest.mark.parametrize(
    ("write", "returned"), [("aten::t_(%x)", "%p"), ("aten::unsqueeze_(%a, %0)", "%p"), ("aten::exp(%x)", "%a, %b")]
)
def test_views_stay_two_where_one_is_turned_or_both_are_seen(write: str, returned: str) -> None:
    expect_same(cse.do, VIEWS.format(write=write, second=AGAIN, result="%b", returned=returned))


def test_what_may_be_a_copy_is_made_each_time() -> None:
    expect_same(
        cse.do,
        """graph(%x : Float(*, *), %l : int[], %h : float):
      %a : Tensor = aten::reshape(%x, %l)
      %w : Tensor = aten::fill_(%a, %h)
      %b : Tensor = aten::reshape(%x, %l)
      return (%b)""",
    )


def test_nodes_of_which_different_results_are_seen_are_merged() -> None:
    head = "graph(%x : Tensor, %n : int, %c : bool):\n "
    node = "%{0} : Tensor, %{1} : Tensor = aten::max(%x, %n, %c)\n "
    first = head + node.format("a", "i")
    expect(cse.do, first + node.format("b", "j") + "return (%a, %j)", first + "return (%a, %i)")
    expect_same(cse.do, first + node.format("b", "j") + "return (%a, %b)")
