"""Questions about texts that branches choose are answered in the branches."""

from __future__ import annotations

import enum

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.ir import parse_ir
from flambeau.passes import fold_into_branches
from tests.passes.before_after import expect, expect_same

PARAMETERS = "graph(%a : bool, %b : bool, %other : str):\n  "
ONE = '%one : str = prim::Constant[value="one"]()\n  '
NONE = '%none : str = prim::Constant[value=""]()\n  '
HEAD = PARAMETERS + ONE + NONE


def answered(one: str, none: str) -> str:
    """The head, with the answers for both texts before these."""
    return PARAMETERS + one + ONE + none + NONE


def test_the_answer_is_chosen() -> None:
    before = """%s : str = prim::If(%a)
    block0():
      -> (%one)
    block1():
      -> (%none)
  %is : bool = aten::eq(%s, %none)
  return (%is)"""
    after = """%s : str, %is : bool = prim::If(%a)
    block0():
      -> (%one, %no)
    block1():
      -> (%none, %yes)
  return (%is)"""
    no, yes = (f"%{name} : bool = prim::Constant[value={k}]()\n  " for k, name in enumerate(("no", "yes")))
    expect(fold_into_branches.do, HEAD + before, answered(no, yes) + after)


def test_choices_within_choices_and_from_outside() -> None:
    """The answer comes out of inner branches, and of a value that a later branch only passes on."""
    before = """%s : str = prim::If(%a)
    block0():
      -> (%one)
    block1():
      -> (%none)
  %t : str = prim::If(%b)
    block0():
      -> (%s)
    block1():
      -> (%one)
  %long : int = aten::len(%t)
  return (%long)"""
    after = """%s : str, %n : int = prim::If(%a)
    block0():
      -> (%one, %three)
    block1():
      -> (%none, %zero)
  %t : str, %long : int = prim::If(%b)
    block0():
      -> (%s, %n)
    block1():
      -> (%one, %three)
  return (%long)"""
    three, zero = (f"%{name} : int = prim::Constant[value={k}]()\n  " for k, name in ((3, "three"), (0, "zero")))
    expect(fold_into_branches.do, HEAD + before, answered(three, zero) + after)


KEPT = {
    "a text that is not known": """%s : str = prim::If(%a)
    block0():
      -> (%one)
    block1():
      -> (%other)
  %is : bool = aten::eq(%s, %none)
  return (%is)""",
    "beside one that is not known": """%s : str = prim::If(%a)
    block0():
      -> (%one)
    block1():
      -> (%none)
  %is : bool = aten::eq(%s, %other)
  return (%is)""",
    "a text again": """%s : str = prim::If(%a)
    block0():
      -> (%one)
    block1():
      -> (%none)
  %u : str = aten::upper(%s)
  return (%u)""",
}


@pytest.mark.parametrize("why", KEPT)
def test_what_stays(why: str) -> None:
    expect_same(fold_into_branches.do, HEAD + KEPT[why])


def test_a_long_way_to_the_choice_takes_no_longer_for_each_step() -> None:
    """Both ways of each of 60 branches pass on what the one before chose: there are 2 to the 60 ways to it."""
    steps = ["%s0 : str = prim::If(%a)\n  block0():\n  -> (%one)\n  block1():\n  -> (%none)\n"]
    steps += [
        f"%s{k} : str = prim::If(%b)\n  block0():\n  -> (%s{k - 1})\n  block1():\n  -> (%s{k - 1})\n"
        for k in range(1, 61)
    ]
    graph = parse_ir(HEAD + "".join(steps) + "%is : bool = aten::eq(%s60, %none)\n  return (%is)")
    assert fold_into_branches.do(graph)
    assert not graph.find_all("aten::eq")


class Way(enum.Enum):
    FIRST = 1
    SECOND = 2


def reasoned(x: Tensor, n: int, flag: bool) -> Tensor:
    why = ""
    if n > 3:
        why = "large"
    elif flag:
        why = "flag"
    if not why:
        x = x * 2
    elif why == "flag":
        x = x + 100
    way = Way.FIRST if n > 1 else Way.SECOND
    if way == Way.SECOND:
        x = x - 1
    return x + len(why)


@pytest.mark.skipif(not available(), reason="needs native code")
def test_functions_that_word_reasons_are_native() -> None:
    scripted = flambeau.script(reasoned)
    for n in (0, 2, 4):
        for flag in (True, False):
            assert scripted(flambeau.ones(2), n, flag).tolist() == reasoned(flambeau.ones(2), n, flag).tolist()
    assert "native from end to end" in str(scripted.explain())
