"""Ways whose conditions become simple late, what is None where it was found to be, answers that never differ."""

from __future__ import annotations

import pytest

from flambeau.analysis import shapes
from flambeau.ir import parse_ir
from flambeau.passes import peephole, refine_absence, settle_ways
from tests.passes.before_after import expect, expect_same

HEAD = """graph(%x : Tensor, %y : Tensor, %o : Float(*, *)?, %a : bool, %b : bool, %n : int, %l : int[]):
  %none : NoneType = prim::Constant()
  %yes : bool = prim::Constant[value=1]()
  %no : bool = prim::Constant[value=0]()
  %0 : int = prim::Constant[value=0]()
  """


@pytest.mark.parametrize(
    ("question", "values", "answer"),
    [
        ("any", "%no, %no", "%no"),
        ("any", "%a, %yes, %b", "%yes"),
        ("any", "%no, %a, %no, %a", "%a"),
        ("any", "", "%no"),
        ("all", "%yes, %yes", "%yes"),
        ("all", "%a, %no", "%no"),
        ("all", "%yes, %a", "%a"),
        ("all", "", "%yes"),
    ],
)
def test_one_element_tells_and_the_others_do_not(question: str, values: str, answer: str) -> None:
    made = f"%m : bool[] = prim::ListConstruct({values})\n "
    before = HEAD + made + f"%r : bool = aten::{question}(%m)\n return (%r)"
    graph = parse_ir(before)
    assert peephole.do(graph)
    found = graph.returns[0]
    if answer in ("%yes", "%no"):
        assert found.defining_node is not None
        assert found.defining_node.attribute("value") is (answer == "%yes")
    else:
        assert f"%{found.name}" == answer


def test_several_that_nobody_knows_are_all_looked_at() -> None:
    made = "%m : bool[] = prim::ListConstruct(%a, %no, %b)\n "
    question = "%r : bool = aten::any(%m)\n return (%r)"
    expect(peephole.do, HEAD + made + question, HEAD + made + "%r : bool = aten::__or__(%a, %b)\n return (%r)")


@pytest.mark.parametrize(
    "work",
    [
        "%m : bool[] = prim::ListConstruct(%no, %a)\n %k : bool[] = aten::append(%m, %b)\n %r : bool = aten::any(%m)",
        "%m : int[] = prim::ListConstruct(%0, %n)\n %r : bool = aten::any(%m)",
        "%r : bool = aten::any(%l)",
    ],
)
def test_lists_that_change_and_ints_are_asked(work: str) -> None:
    expect_same(peephole.do, HEAD + work + "\n return (%r)")


def test_no_tensor_is_nested() -> None:
    text = HEAD + "%r : bool = prim::is_nested(%x)\n return (%r)"
    expect(peephole.do, text, HEAD + "%r : bool = prim::Constant[value=0]()\n return (%r)")


def test_tensors_made_apart_are_two() -> None:
    made = "%p : Tensor = aten::relu(%x)\n %q : Tensor = aten::relu(%y)\n "
    for question, answer in (("__is__", 0), ("__isnot__", 1)):
        before = HEAD + made + f"%r : bool = aten::{question}(%p, %q)\n return (%r, %p, %q)"
        after = HEAD + made + f"%r : bool = prim::Constant[value={answer}]()\n return (%r, %p, %q)"
        expect(peephole.do, before, after)


@pytest.mark.parametrize("pair", ["%x, %y", "%x, %v"])
def test_tensors_that_may_be_one_are_asked(pair: str) -> None:
    """Two arguments may be one tensor; a view is another tensor, but shares memory, which is as far as we look."""
    made = "%v : Tensor = aten::contiguous(%x, %0)\n "
    expect_same(peephole.do, HEAD + made + f"%r : bool = aten::__is__({pair})\n return (%r, %v)")


def test_sizes_are_equal_to_themselves() -> None:
    made = "%s : int[] = aten::size(%x)\n "
    before = HEAD + made + "%r : bool = aten::ne(%s, %s)\n return (%r)"
    expect(peephole.do, before, HEAD + made + "%r : bool = prim::Constant[value=0]()\n return (%r)")


BRANCH = """%c : bool = aten::__isnot__(%o, %none)
  %r : Tensor? = prim::If(%c)
    block0():
      %t : Tensor = prim::unchecked_cast(%o)
      %u : Tensor = aten::unsqueeze(%t, %0)
      -> (%u)
    block1():
      -> ({})
  return (%r)"""


def test_none_is_none_where_it_was_found_to_be() -> None:
    none = BRANCH.replace("block1():\n", "block1():\n      %m : NoneType = prim::Constant()\n")
    expect(refine_absence.do, HEAD + BRANCH.format("%o"), HEAD + none.format("%m"))


def test_what_is_known_follows_from_the_other_way() -> None:
    """The result has an axis more than the argument, or is None."""
    graph = parse_ir(HEAD + BRANCH.format("%o"))
    refine_absence.do(graph)
    shapes.propagate(graph)
    assert str(graph.returns[0].static_type) == "Float(1, *, *)?"


@pytest.mark.parametrize("written", ["%none : NoneType", "%none : Tensor?"])
def test_none_says_nothing_of_the_tensor_on_the_other_way(written: str) -> None:
    text = f"""graph(%x : Float(*, *), %a : bool):
      {written} = prim::Constant()
      %r : Tensor? = prim::If(%a)
        block0():
          -> (%none)
        block1():
          -> (%x)
      return (%r)"""
    graph = parse_ir(text)
    shapes.propagate(graph)
    assert str(graph.returns[0].static_type) == "Float(*, *)?"


def test_what_is_settled_late_chooses_the_way() -> None:
    work = """%m : bool[] = prim::ListConstruct(%no, %no)
  %c : bool = aten::any(%m)
  %r : Tensor = prim::If(%c)
    block0():
      %p : Tensor = aten::relu(%x)
      -> (%p)
    block1():
      %q : Tensor[] = prim::ListConstruct(%x, %y)
      %i : Tensor, %j : Tensor = prim::ListUnpack(%q)
      %s : Tensor = aten::mul(%i, %j)
      -> (%s)
  return (%r)"""
    head = HEAD.partition("\n")[0] + "\n"
    expect(settle_ways.do, HEAD + work, head + "%s : Tensor = aten::mul(%x, %y)\n return (%s)")


def test_graphs_without_branches_are_left_alone() -> None:
    work = "%m : bool[] = prim::ListConstruct(%no, %no)\n %c : bool = aten::any(%m)\n return (%c)"
    expect_same(settle_ways.do, HEAD + work)


def test_a_list_that_is_changed_is_unpacked() -> None:
    work = """%q : Tensor[] = prim::ListConstruct(%x, %y)
  %w : Tensor[] = prim::If(%a)
    block0():
      %k : Tensor[] = aten::_set_item(%q, %0, %y)
      -> (%k)
    block1():
      -> (%q)
  %i : Tensor, %j : Tensor = prim::ListUnpack(%q)
  return (%i, %j)"""
    graph = parse_ir(HEAD + work)
    settle_ways.do(graph)
    assert graph.find("prim::ListUnpack") is not None
