"""Writes that nobody else sees become new results; others stay writes."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.ir.parser import parse_ir
from flambeau.ir.verify import verify
from flambeau.jit.compilation_unit import create_function_from_graph
from flambeau.passes import remove_mutation
from tests.passes.before_after import expect, expect_same

HEAD = """graph(%x : Float(2, 3), %y : Float(2, 3), %d : Double(2, 3), %u : Float(*, 3), %i : Long(2, 3),
      %n : int, %f : float, %c : bool):
  %1 : int = prim::Constant[value=1]()
  """


def test_a_chain_of_writes_becomes_a_chain_of_results() -> None:
    expect(
        remove_mutation.do,
        HEAD
        + """%a : Float(2, 3) = aten::mul(%x, %y)
        %e : Float(2, 3) = aten::exp(%a)
        %b : Float(2, 3) = aten::add_(%a, %y, %1)
        %g : Float(2, 3) = aten::relu_(%b)
        %h : Float(2, 3) = prim::If(%c)
          block0():
            %k : Float(2, 3) = aten::exp(%a)
            -> (%k)
          block1():
            -> (%e)
        %j : Float(2, 3) = aten::mul_(%a, %f)
        return (%a, %b, %h)""",
        HEAD
        + """%a : Float(2, 3) = aten::mul(%x, %y)
        %e : Float(2, 3) = aten::exp(%a)
        %b : Float(2, 3) = aten::add(%a, %y, %1)
        %g : Float(2, 3) = aten::relu(%b)
        %h : Float(2, 3) = prim::If(%c)
          block0():
            %k : Float(2, 3) = aten::exp(%g)
            -> (%k)
          block1():
            -> (%e)
        %j : Float(2, 3) = aten::mul(%g, %f)
        return (%j, %j, %h)""",
    )


KEPT = [
    "%b : Float(2, 3) = aten::relu_(%x)\n return (%x)",
    "%a : Float(2, 3) = aten::exp(%x)\n %v : Float(3, 2) = aten::t(%a)\n %b : Float(2, 3) = aten::relu_(%a)\n"
    " return (%v)",
    "%a : Float(2, 3) = aten::exp(%x)\n %l : Tensor[] = prim::ListConstruct(%a)\n %b : Float(2, 3) = aten::relu_(%a)\n"
    " return (%l)",
    "%a : Float(2, 3) = aten::exp(%x)\n %b : Float(2, 3) = prim::If(%c)\n block0():\n"
    " %g : Float(2, 3) = aten::relu_(%a)\n -> (%g)\n block1():\n -> (%a)\n return (%b)",
    "%a : Float(2, 3) = aten::exp(%x)\n %b : Float(2, 3) = aten::add_(%a, %u, %1)\n return (%b)",
    "%a : Long(2, 3) = aten::neg(%i)\n %b : Long(2, 3) = aten::mul_(%a, %f)\n return (%b)",
    "%e : Tensor[] = prim::ListConstruct(%x)\n %o : Tensor = aten::cat(%e, %n)\n %a : Tensor = aten::mul(%o, %f)\n"
    " %b : Tensor = aten::mul_(%a, %f)\n return (%b)",
    "%a : Float(2, 3) = aten::exp(%x)\n %w : Float(3, 2) = aten::t_(%a)\n %b : Float(2, 3) = aten::relu_(%a)\n"
    " return (%b)",
    "%a : Float(2, 3) = prim::If(%c)\n block0():\n %g : Float(2, 3) = aten::exp(%x)\n -> (%g)\n block1():\n -> (%y)\n"
    " %b : Float(2, 3) = aten::relu_(%a)\n return (%b)",
]


@pytest.mark.parametrize("body", KEPT)
def test_writes_that_others_may_see_or_that_may_fail_stay(body: str) -> None:
    expect_same(remove_mutation.do, HEAD + body)


def test_what_made_a_tensor_says_its_dtype() -> None:
    text = HEAD + "%a : Tensor = aten::exp(%x)\n %b : Tensor = aten::relu_(%a)\n return (%b)"
    expect(remove_mutation.do, text, text.replace("relu_", "relu"))


def test_doubles_into_floats_keep_the_dtype_of_the_target() -> None:
    text = HEAD + "%a : Float(2, 3) = aten::exp(%x)\n %b : Float(2, 3) = aten::add_(%a, %d, %1)\n return (%b)"
    expect_same(remove_mutation.do, text)


def test_operands_that_the_target_was_made_of_cannot_be_larger() -> None:
    made = (
        HEAD
        + """%a : Float(*, 3) = aten::mul(%u, %f)
        %e : Float(*, 3) = aten::exp(%u)
        %b : Float(*, 3) = aten::{add}(%a, %e, %1)
        return (%b)"""
    )
    expect(remove_mutation.do, made.format(add="add_"), made.format(add="add"))
    expect_same(remove_mutation.do, made.format(add="add_").replace("aten::mul(%u, %f)", "aten::mul(%x, %f)"))
    resized = made.replace("%e : Float", "%w : Float(*, 3) = aten::unsqueeze_(%u, %1)\n        %e : Float")
    expect_same(remove_mutation.do, resized.format(add="add_"))


def test_what_a_list_is_given_after_the_last_write_is_the_last_result() -> None:
    text = HEAD + """%a : Float(2, 3) = aten::exp(%x)
        %z : Float(2, 3) = aten::exp(%y)
        %k : Float(2, 3) = aten::copy_(%z, %a, %c)
        %b : Float(2, 3) = aten::relu_(%a)
        %l : Tensor[] = prim::ListConstruct(%a, %y)
        %o : Tensor = aten::cat(%l, %1)
        %e : Tensor[] = aten::append(%l, %b)
        return (%o, %k)"""
    expect(
        remove_mutation.do, text, text.replace("relu_", "relu").replace("ListConstruct(%a", "ListConstruct(%b")
    )


@pytest.mark.parametrize("where", ["before", "taken out"])
def test_what_a_list_is_given_before_a_write_or_gives_again_stays(where: str) -> None:
    made = "%l : Tensor[] = prim::ListConstruct(%y)\n %e : Tensor[] = aten::append(%l, %a)\n"
    taken = "%g : Tensor = aten::__getitem__(%l, %1)\n" if where == "taken out" else ""
    body = ["%a : Float(2, 3) = aten::exp(%x)\n", made, "%b : Float(2, 3) = aten::relu_(%a)\n"]
    if where == "taken out":
        body[1:] = body[:0:-1]
    expect_same(remove_mutation.do, HEAD + "".join(body) + taken + f"return ({'%g' if taken else '%l'})")


FREE = {
    "y = x.sigmoid()|y.add_(3)|z = -y|y.relu_()|return y, z": 0,
    "y = x + 1|z = y.fill_(2) + y|y.zero_()|return y, z": 0,
    "if b:|    y = x + 5|else:|    y = x + 2|y.add_(4)|return y": 0,
    "z = x|if b:|    y = x + 5|    y.mul_(2)|    z = y|return z, x": 0,
    "if b:|    y = x + 5|else:|    y = x|y.add_(4)|return y": 1,
    "z = x + 1|if b:|    y = x + 5|else:|    y = z|y.add_(4)|return y, z": 1,
    "if b:|    y = x + 5|    z = y|else:|    y, z = x + 2, x|y.add_(4)|return y, z": 1,
    "z = x|if b:|    y = x + 5|    z = y|z.fill_(3)|return z": 1,
    "y = x + 1|l = [y]|y.zero_()|return l": 1,
    "y = x + 1|v = y[0]|y.zero_()|return v": 1,
}
"""Programs, a bar between lines, and the writes that stay."""


@pytest.mark.parametrize("number", range(len(FREE)))
def test_the_pass_by_its_name_takes_more_writes(number: int) -> None:
    body, stay = list(FREE.items())[number]
    source = "def f(x: Tensor, b: bool):" + "".join(f"\n    {line}" for line in body.split("|")) + "\n"
    graph = flambeau.CompilationUnit(source).f.graph
    changed = flambeau._C._jit_pass_remove_mutation(graph)
    verify(graph)
    assert changed is (stay == 0)
    writes = [n.op for n in graph.all_nodes() if n.op.endswith("_")]
    assert len(writes) == stay
    new, old = flambeau.jit.create_function_from_graph("new", graph), flambeau.CompilationUnit(source).f
    for b in (True, False, True):
        for values in ([1.0, -9.0], [5.0, 2.0]):
            mine, other = flambeau.tensor(values), flambeau.tensor(values)
            assert str(new(mine, b)) == str(old(other, b))
            assert flambeau.equal(mine, other)


DRAWN = """graph(%mean : float, %std : float, %size : int[]):
  %none : NoneType = prim::Constant()
  %double : int = prim::Constant[value=7]()
  %x : Tensor = aten::zeros(%size, %double, %none, %none, %none)
  %y : Tensor = aten::normal_(%x, %mean, %std, %none)
  return (%RESULT)"""


@pytest.mark.parametrize("result", ["x", "y"])
def test_normal_numbers_are_drawn_into_a_new_tensor(result: str) -> None:
    graph = parse_ir(DRAWN.replace("RESULT", result))
    before = create_function_from_graph("before", graph)
    assert remove_mutation.do(graph, checks_dtype=False)
    verify(graph)
    assert [n.op for n in graph.body if "normal" in n.op] == ["aten::normal"]
    after = create_function_from_graph("after", graph)
    for arguments in ((0.0, 1.0, [4]), (5.0, 0.5, [2, 3]), (-1.0, 0.0, [0]), (1.0, 2.0, [])):
        flambeau.manual_seed(3)
        wanted = before(*arguments)
        flambeau.manual_seed(3)
        got = after(*arguments)
        assert got.dtype == wanted.dtype == flambeau.float64
        assert got.tolist() == wanted.tolist()
    for function in (before, after):
        with pytest.raises(RuntimeError, match=r"normal expects std >= 0\.0"):
            function(0.0, -1.0, [2])


def test_normal_numbers_stay_in_tensors_that_others_see() -> None:
    write = "  %none : NoneType = prim::Constant()\n  %y = aten::normal_(%x, %m, %m, %none)\n  return (%y)"
    graph = parse_ir("graph(%x, %m : float):\n" + write)
    assert not remove_mutation.do(graph, checks_dtype=False)
