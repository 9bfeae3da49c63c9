"""What only the message of an exception needs is computed where the exception is raised."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.passes import sink
from tests.passes.before_after import expect, expect_same

HEAD = """graph(%n : int, %m : int, %t : Tensor):
  %form : str = prim::Constant[value="{} or {}"]()
  %class : str = prim::Constant[value="builtins.ValueError"]()
  """
MADE = "%text : str = aten::format(%form, %n, %m)\n  "
ASKED = "%ok : bool = aten::eq(%n, %m)\n  "


def raising(before: str, inside: str = "", after: str = "return (%n)") -> str:
    """A graph that raises %text unless %n is %m."""
    raised = f"{inside} = prim::RaiseException(%text, %class)\n"
    branch = f"= prim::If(%ok)\n block0():\n -> ()\n block1():\n {raised} -> ()\n"
    return HEAD + before + ASKED + branch + "  " + after


def test_texts_are_made_where_they_are_raised() -> None:
    expect(sink.do, raising(MADE), raising("", MADE))


def test_texts_of_texts_follow() -> None:
    inner = "%inner : str = aten::format(%form, %n, %m)\n  "
    outer = "%text : str = aten::add(%inner, %form)\n "
    expect(sink.do, raising(inner + outer), raising("", inner + outer))
    expect(sink.do, raising(inner, outer), raising("", inner + outer))


KEPT = {
    "needed elsewhere": raising(MADE, after="return (%text)"),
    "of what may change": raising("%text : str = aten::format(%form, %n, %t)\n  "),
    "may raise itself": raising("%text : str = aten::format(%form, %n)\n  "),
}


@pytest.mark.parametrize("why", KEPT)
def test_what_stays(why: str) -> None:
    expect_same(sink.do, KEPT[why])


@pytest.mark.skipif(not available(), reason="needs native code")
def test_functions_that_word_what_they_assert_are_native() -> None:
    @flambeau.script
    def checked(x: Tensor, n: int) -> Tensor:
        text = f"expected {n} rows, got {x.size(0)}"
        if x.size(0) != n:
            raise ValueError(text)
        return x * 2 + 1

    for _ in range(3):
        assert checked(flambeau.ones(3), 3).tolist() == [3.0, 3.0, 3.0]
    assert "native from end to end" in str(checked.explain())
    with pytest.raises(ValueError, match="expected 4 rows, got 3"):
        checked(flambeau.ones(3), 4)
