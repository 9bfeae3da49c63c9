"""Both sides of `and` and `or` are computed where that is cheap, cannot fail and looks at nothing that is missing."""

from __future__ import annotations

import pytest

from flambeau.passes import short_circuit
from tests.passes.before_after import expect, expect_same

HEAD = """graph(%a : bool, %n : int, %m : int, %x : Float(*), %l : int[], %t : Tensor):
  %yes : bool = prim::Constant[value=1]()
  %no : bool = prim::Constant[value=0]()
  %0 : int = prim::Constant[value=0]()
  %2 : int = prim::Constant[value=2]()
  """


def branch(first: str, second: str, work: str = "%b : bool = aten::lt(%n, %m)") -> str:
    """A branch on %a that gives %first and %second, with work in the way that gives %b."""
    ways = [f" block{i}():\n {work if way == '%b' else ''}\n -> ({way})\n" for i, way in enumerate((first, second))]
    return HEAD + "%r : bool = prim::If(%a)\n" + "".join(ways) + " return (%r)"


LESS = "%b : bool = aten::lt(%n, %m)\n "
MEANINGS = [
    ("%b", "%no", LESS + "%r : bool = aten::__and__(%a, %b)"),
    ("%yes", "%b", LESS + "%r : bool = aten::__or__(%a, %b)"),
    ("%b", "%yes", LESS + "%c : bool = aten::__not__(%a)\n %r : bool = aten::__or__(%c, %b)"),
    ("%no", "%b", LESS + "%c : bool = aten::__not__(%a)\n %r : bool = aten::__and__(%c, %b)"),
]


@pytest.mark.parametrize(("first", "second", "after"), MEANINGS)
def test_logic_of_two_conditions(first: str, second: str, after: str) -> None:
    expect(short_circuit.do, branch(first, second), HEAD + after + "\n return (%r)")


CHEAP = [
    "%s : int = aten::size(%x, %0)\n %b : bool = aten::lt(%n, %s)",
    "%s : int = aten::floordiv(%n, %2)\n %b : bool = aten::lt(%s, %m)",
    "%s : int = aten::len(%l)\n %b : bool = aten::lt(%n, %s)",
]


@pytest.mark.parametrize("work", CHEAP)
def test_what_cannot_fail_is_computed(work: str) -> None:
    after = HEAD + work + "\n %r : bool = aten::__and__(%a, %b)\n return (%r)"
    expect(short_circuit.do, branch("%b", "%no", work), after)


KEPT = [
    "%s : int = aten::floordiv(%n, %m)\n %b : bool = aten::lt(%s, %m)",
    "%s : int = aten::__getitem__(%l, %n)\n %b : bool = aten::lt(%s, %m)",
    "%s : int = aten::size(%t, %0)\n %b : bool = aten::lt(%s, %m)",
    "%s : Tensor = aten::gt(%t, %n)\n %b : bool = aten::Bool(%s)",
    "%b : bool = prim::If(%a)\n block0():\n  %u : bool = aten::lt(%n, %m)\n  -> (%u)\n"
    " block1():\n  %v : bool = aten::lt(%m, %n)\n  -> (%v)",
    "\n".join(f" %s{i} : int = aten::mul({f'%s{i - 1}' if i else '%n'}, %m)" for i in range(9))
    + "\n %b : bool = aten::lt(%s8, %m)",
]


@pytest.mark.parametrize("work", KEPT)
def test_what_may_fail_or_is_much_stays_behind_its_condition(work: str) -> None:
    expect_same(short_circuit.do, branch("%b", "%no", work))


def test_nothing_is_looked_at_that_may_be_missing() -> None:
    expect_same(
        short_circuit.do,
        HEAD + "%u : bool = prim::Uninitialized()\n %p : bool, %q : bool = prim::If(%a)\n"
        "  block0():\n    %b : bool = aten::lt(%n, %m)\n   -> (%b, %yes)\n  block1():\n   -> (%u, %no)\n"
        " %r : bool = prim::If(%q)\n  block0():\n   -> (%p)\n  block1():\n   -> (%no)\n return (%r)",
    )


def test_what_is_not_none_on_one_way_only_is_not_looked_at_on_the_other() -> None:
    expect_same(
        short_circuit.do,
        """graph(%o : int?, %n : int):
      %none : NoneType = prim::Constant()
      %no : bool = prim::Constant[value=0]()
      %a : bool = aten::__isnot__(%o, %none)
      %r : bool = prim::If(%a)
        block0():
          %k : int = prim::unchecked_cast(%o)
          %b : bool = aten::gt(%k, %n)
          -> (%b)
        block1():
          -> (%no)
      return (%r)""",
    )
