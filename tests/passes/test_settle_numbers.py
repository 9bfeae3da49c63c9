"""Numbers that come from tensors of known dtype are ints, floats or bools, not just any number."""

from __future__ import annotations

import pytest

from flambeau.passes import settle_numbers
from tests.passes.before_after import expect, expect_same

BEHIND = "\n  %y : Tensor = aten::mul(%t, %n)\n  return (%y)"


def graph(type_: str, number: str) -> str:
    return f"graph(%x : {type_}, %t : Tensor):\n  {number}{BEHIND}"


@pytest.mark.parametrize("op", ["aten::item", "aten::ScalarImplicit"])
@pytest.mark.parametrize(("dtype", "type_", "cast"), [("Long", "int", "Int"), ("Double", "float", "Float")])
def test_the_dtype_tells(op: str, dtype: str, type_: str, cast: str) -> None:
    of = f"{dtype}(requires_grad=0, device=cpu)"
    before = graph(of, f"%n : Scalar = {op}(%x)")
    expect(settle_numbers.do, before, graph(of, f"%n : {type_} = aten::{cast}(%x)"))


@pytest.mark.parametrize(
    "type_", ["Tensor", "Long(*, requires_grad=0, device=cpu)", "Float(requires_grad=1, device=cpu)"]
)
def test_what_may_have_to_be_refused_stays(type_: str) -> None:
    expect_same(settle_numbers.do, graph(type_, "%n : Scalar = aten::ScalarImplicit(%x)"))
