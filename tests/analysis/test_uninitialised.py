"""Values that may be nothing are found wherever they go."""

from __future__ import annotations

from flambeau.analysis.uninitialised import may_be_uninitialised
from flambeau.ir import parse_ir


def test_through_branches_loops_and_tuples() -> None:
    graph = parse_ir(
        """graph(%n : int, %c : bool):
      %u : int = prim::Uninitialized()
      %a : int, %b : int = prim::If(%c)
        block0():
          -> (%u, %n)
        block1():
          -> (%n, %n)
      %k : (int, int) = prim::TupleConstruct(%a, %b)
      %d : int, %e : int = prim::TupleUnpack(%k)
      %f : int, %g : int = prim::Loop(%n, %c, %n, %n)
        block0(%i : int, %p : int, %q : int):
          %r : int = aten::add(%q, %n)
          -> (%c, %a, %r)
      return (%e)"""
    )
    assert {v.name for v in may_be_uninitialised(graph)} == {"u", "a", "k", "d", "e", "f", "p"}


def test_nothing_where_all_is_set() -> None:
    assert not may_be_uninitialised(parse_ir("graph(%x):\n %y = aten::relu(%x)\n return (%y)"))


def test_what_a_condition_has_shown_not_to_be_none() -> None:
    graph = parse_ir("graph(%o : int?):\n %n : int = prim::unchecked_cast(%o)\n return (%n)")
    assert {v.name for v in may_be_uninitialised(graph)} == {"n"}
