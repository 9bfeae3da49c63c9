"""The verifier collects every violation and shows it beside its node."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.ir import Graph, parse_ir
from flambeau.ir.graph import Node
from flambeau.ir.uses import Use
from flambeau.ir.verify import findings, verify
from flambeau.schema.types import BOOL, INT
from flambeau.util.errors import VerifyError


def messages(graph: Graph, **options: bool) -> list[str]:
    return [f.text for f in findings(graph, **options)]


GOOD = """
graph(%x : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %f : Function = prim::Constant[name="f"]()
  %y : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %z : Tensor):
      %c : bool = aten::gt(%i, %1)
      %w : Tensor = prim::If(%c)
        block0():
          %v : Tensor = aten::add(%z, %i, %1)
          -> (%v)
        block1():
          -> (%z)
      -> (%t, %w)
  %l : Tensor[] = prim::ListConstruct(%x, %y)
  %u : Tensor = my::op(%l)
  return (%y)
"""


def test_a_right_graph_has_no_findings() -> None:
    assert messages(parse_ir(GOOD.replace("my::op", "aten::stack").replace("(%l)", "(%l, %1)"))) == []
    verify(parse_ir(GOOD), operators=False)


def test_the_error_shows_each_finding_under_its_node() -> None:
    with pytest.raises(VerifyError) as caught:
        verify(parse_ir(GOOD.replace("aten::add(%z, %i, %1)", "aten::add(%none, %none)")), stage="pass 'dce'")
    text = str(caught.value)
    assert text.startswith("the graph is not valid after pass 'dce': 2 violations\ngraph(%x : Tensor,")
    assert "= aten::add(%none, %none)\n          ^^^ no overload of aten::add takes (NoneType, NoneType)\n" in text
    assert "= my::op(%l)\n  ^^^ unknown operator my::op\n" in text


BAD = [
    ("%c : bool = prim::Constant[value=1]()\n %y = prim::If(%c)\n block0():\n -> (%x)\n block1():\n -> ()\n",
     ["block 1 of prim::If returns 0 values for 1 results"]),
    ("%c : int = prim::Constant[value=1]()\n %y = prim::If(%c)\n block0():\n -> (%c)\n block1():\n -> (%x)\n",
     ["the condition of prim::If is a bool, not int",
      "block 0 of prim::If returns %c of type int for %y of type Tensor"]),
    ("%y = prim::If(%x, %x)\n block0(%a):\n -> (%x)\n block1():\n -> (%x)\n",
     ["prim::If has one operand, not 2", "block 0 of prim::If has parameters"]),
    ("%y = prim::Loop(%x)\n block0(%i : int):\n -> (%i)\n",
     ["prim::Loop takes a trip count and a condition, not 1 operands"]),
    ("%y = prim::Loop(%x, %x, %x)\n block0(%i : int, %z):\n -> (%i, %z)\n",
     ["prim::Loop takes a trip count of type int and a condition of type bool, not Tensor, Tensor",
      "the body of prim::Loop returns first whether to go on, a bool"]),
    ("%n : int = prim::Constant[value=1]()\n %c : bool = prim::Constant[value=1]()\n %y = prim::Loop(%n, %c, %x)\n"
     " block0(%i : int):\n -> (%c, %x)\n",
     ["the body of prim::Loop has 1 parameters, not 2: the counter and what is carried"]),
    ("%y : int = prim::Constant()\n", ["a constant of type int has the attribute 'value'"]),
    ("%y : Function = prim::Constant()\n", ["a function constant has the attribute 'name'"]),
    ('%y : int = prim::Constant[value="a"]()\n', ["a constant of type int holds a str"]),
    ("%y : int = prim::Constant[value=1](%x)\n", ["prim::Constant has no operands, no blocks and one result"]),
    ("%k : int[] = prim::ListConstruct(%x)\n %y = aten::relu(%x)\n", ["%x of type Tensor is put into a list of int"]),
    ("%k : int = prim::ListConstruct(%x)\n %y = aten::relu(%x)\n", ["prim::ListConstruct has one result, a list"]),
    ("%k : (int, int) = prim::TupleConstruct(%x)\n %y = aten::relu(%x)\n", ["a tuple of 2 is made of 1 values"]),
    ("%k : int = prim::TupleConstruct(%x)\n %y = aten::relu(%x)\n", ["prim::TupleConstruct has one result, a tuple"]),
    ("%y : int = prim::TupleUnpack(%x)\n", ["prim::TupleUnpack takes one tuple"]),
    ("%k : (int, int) = prim::TupleConstruct()\n %y : int = prim::TupleUnpack(%k)\n",
     ["a tuple of 2 is made of 0 values", "a tuple of 2 is unpacked into 1 values"]),
    ("%y = prim::GetAttr(%x)\n", ["prim::GetAttr has the attribute 'name'"]),
    ("%n : int = prim::Constant[value=1]()\n %y = aten::relu(%n)\n", ["no overload of aten::relu takes (int)"]),
    ('%y = prim::GetAttr[name="a"](%x, %x)\n', ["prim::GetAttr takes 1 operand, not 2"]),
    ("%y : bool = prim::isinstance[types=[int]]()\n", ["prim::isinstance takes 1 operand, not 0"]),
    ("%y : Dict(Tensor, int) = prim::DictConstruct(%x)\n",
     ["prim::DictConstruct takes keys and values in turn, not 1 operands"]),
    ("%k : Dict(int, str) = prim::DictConstruct(%x, %x)\n %y = aten::relu(%x)\n",
     ["%x of type Tensor is put into a dict with keys of int",
      "%x of type Tensor is put into a dict with values of str"]),
    ("%k : int = prim::DictConstruct()\n %y = aten::relu(%x)\n", ["prim::DictConstruct has one result, a dict"]),
    ("%k : (Tensor, int) = prim::TupleConstruct(%x, %x)\n %y = aten::relu(%x)\n",
     ["%x of type Tensor is put into the place in a tuple of int"]),
    ("%y = aten::wait(%x)\n", ["aten::wait waits for what runs in another task, not for Tensor"]),
    ("%y : int = aten::relu(%x)\n", ["aten::relu returns Tensor, but %y is int"]),
    ("%y, %z = aten::relu(%x)\n", ["aten::relu returns 1 values, not 2"]),
    ("%y = other::thing(%x)\n", ["unknown operator other::thing"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), BAD)
def test_rules_of_nodes(body: str, expected: list[str]) -> None:
    assert messages(parse_ir(f"graph(%x : Tensor):\n  {body}  return (%y)")) == expected


def test_c09_operators_take_as_many_operands_as_they_declare() -> None:
    graph = parse_ir("graph(%x):\n %y = aten::relu(%x)\n return (%y)")
    node = graph.find("aten::relu")
    assert node is not None
    node.set_operands([graph.parameters[0]] * 3)
    assert messages(graph) == ["no overload of aten::relu takes (Tensor, Tensor, Tensor)"]
    with pytest.raises(VerifyError, match="no overload of aten::relu takes"):
        flambeau.jit.create_function_from_graph("f", graph)


def test_subgraphs_fit_their_nodes_and_are_checked_too() -> None:
    graph = parse_ir(
        "graph(%x):\n %y = prim::FusionGroup_0(%x)\n return (%y)\n"
        "with prim::FusionGroup_0 = graph(%a, %b):\n %c = other::thing(%a)\n return (%c, %c)\n"
    )
    assert messages(graph) == [
        "the subgraph takes 2 inputs for 1 operands",
        "the subgraph returns 2 values for 1 results",
        "in its subgraph, other::thing: unknown operator other::thing",
    ]


def relu_graph() -> tuple[Graph, Node, Node]:
    graph = parse_ir("graph(%x):\n  %y = aten::relu(%x)\n  %z = aten::neg(%y)\n  return (%z)")
    first, second = graph.nodes()
    return graph, first, second


def test_values_are_defined_before_they_are_used() -> None:
    graph, first, second = relu_graph()
    second.move_before(first)
    assert messages(graph) == ["operand 0, %y, is not defined before it"]


def test_values_of_a_branch_are_not_seen_outside() -> None:
    graph = parse_ir(
        "graph(%c : bool, %x):\n = prim::If(%c)\n block0():\n %y = aten::relu(%x)\n -> ()\n"
        " block1():\n -> ()\n return ()"
    )
    inner = graph.find("aten::relu")
    assert inner is not None
    graph.add_return(inner.result())
    assert messages(graph) == ["operand 0, %y, is not defined before it"]


def test_use_lists_are_exact() -> None:
    graph, first, second = relu_graph()
    x, y = graph.parameters[0], first.result()
    del y._uses[Use(second, 0)]
    assert messages(graph) == ["operand 0, %y, does not know of this use"]
    graph, first, second = relu_graph()
    x = graph.parameters[0]
    x._uses[Use(second, 0)] = None
    x._uses[Use(graph.create("aten::abs"), 3)] = None
    assert messages(graph) == [
        "%x takes itself for operand 0, which it is not",
        "%x is used by a aten::abs that is not in the graph",
    ]


def test_names_and_owners_are_right() -> None:
    graph, first, second = relu_graph()
    first.result()._name = "x"
    assert "%x is the name of two values" in messages(graph)
    graph, first, second = relu_graph()
    first.result()._name = "fresh"
    assert messages(graph) == ["the graph does not know the name of %fresh"]
    graph, first, second = relu_graph()
    first.graph = Graph()
    first.result().index = 4
    assert messages(graph) == [
        "aten::relu says it belongs to another graph or block",
        "%y says it is defined elsewhere",
    ]
    graph, first, second = relu_graph()
    second._previous = None
    assert messages(graph) == ["aten::neg is wrongly linked to the node before it"]
    graph, first, second = relu_graph()
    graph.body.owner_node = first
    assert "a block says it belongs to another graph or node" in messages(graph)


def test_operators_need_not_be_known_when_told_so() -> None:
    graph = Graph()
    graph.add_return(graph.insert("no::such", [], [INT, BOOL]).result(1))
    assert messages(graph) == ["unknown operator no::such"]
    assert messages(graph, operators=False) == []
