"""Text gives operators as many operands as they take, and says when a result is written over an operand."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.ir import parse_ir
from flambeau.util.errors import ParseError

OVER = "operands; with 3 it would write its result over its operand %x. If that is meant, write out=%x"
REFUSED = [
    ("aten::relu(%x, %x)",
     "aten::relu takes 1 operand; with 2 it would write its result over its operand %x. "
     "If that is meant, write out=%x"),
    ("aten::mm(%x, %x, %x)",
     f"aten::mm takes 2 {OVER}"),
    ("aten::relu(%x, %x, %x)", "aten::relu takes 1 or 2 operands, not 3"),
    ("aten::relu()", "aten::relu takes 1 or 2 operands, not 0"),
    ("aten::add(%x)", "aten::add takes 2, 3 or 4 operands, not 1"),
    ("aten::relu(%x, self=%x)", "aten::relu has no out operand 'self' at place 1"),
    ("my::op(out=%x)", "my::op has no operand called 'out'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_c09_operands_that_no_overload_takes(call: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_ir(f"graph(%x : Tensor):\n  %y : Tensor = {call}\n  return (%y)")
    assert caught.value.message == message
    assert str(caught.value).splitlines()[3:5] == [f"  %y : Tensor = {call}", f"{' ' * 16}{'~' * len(call)} <--- HERE"]


def over_itself(x: Tensor) -> Tensor:
    return flambeau.relu(x, out=x)


def test_c09_a_result_written_over_an_operand_says_so() -> None:
    scripted = flambeau.script(over_itself)
    text = str(scripted.graph)
    assert "aten::relu(%x.1, out=%x.1)" in text
    assert str(parse_ir(text)) == text
    again = flambeau.jit.create_function_from_graph("again", parse_ir(text))
    for run in (scripted, again):
        x = flambeau.tensor([-1.0, 2.0])
        run(x)
        np.testing.assert_array_equal(x.numpy(), [0.0, 2.0])


def test_other_out_tensors_are_operands_like_any() -> None:
    text = "graph(%x : Tensor,\n      %out : Tensor):\n  %y : Tensor = aten::relu(%x, %out)\n  return (%y)\n"
    assert str(parse_ir(text)) == text


def test_any_number_of_operands_where_the_operator_takes_any() -> None:
    text = "graph(%x : str):\n  %y : str = aten::format(%x, %x, %x, %x)\n  return (%y)\n"
    assert str(parse_ir(text)) == text
