"""Copies, comparison, walks, patterns and constants of graphs."""

from __future__ import annotations

import enum
import math
from collections import namedtuple
from typing import Any

import pytest

from flambeau.ir import Graph, insert_constant, parse_ir
from flambeau.ir.clone import clone_graph, clone_node, insert_graph, move_nodes
from flambeau.ir.constants import constant_key, constant_value, is_mutable, is_none, same_constant, type_of
from flambeau.ir.equal import first_difference, is_isomorphic
from flambeau.ir.match import find_matches
from flambeau.ir.verify import verify
from flambeau.ir.walk import ancestor_in, is_visible, outer_values, subgraphs
from flambeau.schema.device import Device
from flambeau.schema.types import FLOAT, INT, ListType

NESTED = """\
graph(%x : Tensor,
      %n : int):
  %2 : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %2, %x)
    block0(%i : int, %4 : Tensor):
      %5 : Tensor = aten::add(%4, %x, %n) # m.py:3:4
      %6 : Tensor = prim::FusionGroup_0(%5)
      -> (%2, %6)
  return (%y)
with prim::FusionGroup_0 = graph(%a : Tensor):
  %1 : Tensor = aten::relu(%a)
  return (%1)
"""


def test_a_copy_has_the_same_text_and_shares_nothing() -> None:
    graph = parse_ir(NESTED)
    copy = clone_graph(graph)
    assert str(copy) == NESTED
    verify(copy, operators=False)
    assert is_isomorphic(graph, copy)
    originals = {id(n) for g in subgraphs(graph) for n in g.all_nodes()}
    assert not originals & {id(n) for g in subgraphs(copy) for n in g.all_nodes()}


def test_a_graph_is_inserted_into_another() -> None:
    outer = parse_ir("graph(%x, %n : int):\n  return (%x)")
    (result,) = insert_graph(outer, parse_ir(NESTED), outer.parameters)
    outer.body.return_node.replace_operand(0, result)
    verify(outer, operators=False)
    assert is_isomorphic(outer, parse_ir(NESTED))
    with pytest.raises(ValueError, match="the graph takes 2 inputs but was given 1"):
        insert_graph(outer, parse_ir(NESTED), outer.parameters[:1])


def test_nodes_of_a_block_move_out() -> None:
    graph = parse_ir(NESTED)
    loop = graph.find("prim::Loop")
    assert loop is not None
    body = loop.nested_blocks[0]
    returned = move_nodes(
        body, loop, dict(zip(body.parameters, (graph.parameters[1], graph.parameters[0]), strict=True))
    )
    loop.result().replace_uses_with(returned[1])
    loop.erase()
    verify(graph, operators=False)
    assert [n.op for n in graph.nodes()] == ["prim::Constant", "aten::add", "prim::FusionGroup"]


DIFFERENCES = [
    ("aten::relu(%a)", "aten::relu(%b)", "operand 0 of node 0 of the graph (aten::relu): %a on the left and %b"),
    ("aten::i(%a)", "aten::i()", "operand 0 of node 0 of the graph (aten::i) is missing on the right"),
    ("aten::relu[k=1](%a)", "aten::relu[k=2](%a)", "node 0 of the graph (aten::relu): 'k' is 1 on the left and 2"),
    ("aten::relu[k=1](%a)", "aten::relu(%a)", "node 0 of the graph (aten::relu): only the left has the attribute 'k'"),
    ("aten::relu[k=1.](%a)", "aten::relu[k=1](%a)", "'k' is 1. on the left and 1 on the right"),
    ("aten::relu[t={1}](%a)", "aten::relu[t={2}](%a)", "'t' is {1} on the left and {2} on the right"),
    ("aten::relu[t=[int]](%a)", "aten::relu[t=[str]](%a)", "'t' is [int] on the left and [str] on the right"),
    ("aten::relu(%a)\n %z = aten::neg(%y)", "aten::relu(%a)", "the graph: only the left has aten::neg as node 1"),
    ("aten::i(%a)\n block0():\n -> ()", "aten::i(%a)", "1 blocks on the left and 0 on the right"),
    ("aten::i(%a)\n block0():\n -> (%a)", "aten::i(%a)\n block0():\n -> (%b)", "return 0 of block 0 of node 0"),
    ("aten::i(%a)\n block0(%c):\n -> ()", "aten::i(%a)\n block0():\n -> ()", "parameters of block 0 of node 0"),
]


@pytest.mark.parametrize(("left", "right", "message"), DIFFERENCES)
def test_differences_are_told(left: str, right: str, message: str) -> None:
    a, b = (parse_ir(f"graph(%a, %b):\n  %y = {body}\n  return (%y)") for body in (left, right))
    found = first_difference(a, b)
    assert found is not None
    assert message in found
    assert first_difference(a, a) is None


def test_types_are_compared_unless_told_otherwise() -> None:
    a, b = parse_ir("graph(%a):\n  return (%a)"), parse_ir("graph(%a : Float(2)):\n  return (%a)")
    assert first_difference(a, b) == (
        "parameters of the graph: %a has type Tensor on the left and Float(2) on the right"
    )
    assert is_isomorphic(a, b, types=False)


def test_subgraphs_are_compared() -> None:
    found = first_difference(parse_ir(NESTED), parse_ir(NESTED.replace("relu", "tanh")))
    assert found is not None
    assert "the subgraph of node 1 of block 0" in found


def test_walks() -> None:
    graph = parse_ir(NESTED)
    add, loop = graph.find("aten::add"), graph.find("prim::Loop")
    assert add is not None
    assert loop is not None
    assert ancestor_in(add, graph.body) is loop
    assert ancestor_in(loop, loop.nested_blocks[0]) is None
    assert is_visible(graph.parameters[0], add)
    assert not is_visible(add.result(), loop)
    assert not is_visible(loop.result(), add)
    assert [v.name for v in outer_values(loop)] == ["x", "n", "2"]


PATTERN = "graph(%a, %b):\n  %m = aten::mm(%a, %b)\n  %r = aten::relu(%m)\n  return (%r)"


def test_patterns_match_wiring_constants_and_uses() -> None:
    graph = parse_ir("""graph(%x, %y):
      %1 = aten::mm(%x, %y)
      %2 = aten::relu(%1)
      %3 = aten::mm(%2, %2)
      %4 = aten::relu(%3)
      %5 = aten::mm(%x, %x)
      %6 = aten::relu(%5)
      return (%4, %5, %6)""")
    pattern = parse_ir(PATTERN)
    found = find_matches(pattern, graph)
    assert [m.anchor.result().name for m in found] == ["2", "4"]
    assert [m.values[pattern.parameters[1]].name for m in found] == ["y", "2"]
    same = parse_ir(PATTERN.replace("(%a, %b):", "(%a):").replace("%b", "%a"))
    assert [m.anchor.result().name for m in find_matches(same, graph)] == ["4"]
    scaled = "graph(%a):\n  %k : float = prim::Constant[value=2.]()\n  %r = aten::mul(%a, %k)\n  return (%r)"
    assert len(find_matches(parse_ir(scaled), parse_ir(scaled))) == 1
    assert not find_matches(parse_ir(scaled), parse_ir(scaled.replace("2.", "3.")))
    with pytest.raises(ValueError, match="a pattern returns one value"):
        find_matches(parse_ir("graph(%a):\n  return (%a)"), graph)


class Col(enum.Enum):
    A = 1


Point = namedtuple("Point", ["x", "y"])

TYPES: list[tuple[Any, str]] = [
    (1, "int"), (True, "bool"), (1.0, "float"), (1j, "complex"), ("a", "str"), (None, "NoneType"),
    (Device("cpu"), "Device"), ([1], "int[]"), ([1, None], "int?[]"), ([], "Tensor[]"),
    ({"a": [1.0]}, "Dict(str, float[])"),
    ((1, "a"), "(int, str)"), (Col.A, "Enum<__torch__.tests.ir.test_structure.Col>"),
    (Point(1, 2.0), "NamedTuple(x : int, y : float)"),
    ([(1, "a")], "(int, str)[]"), ([1, "a"], "Union(int, str)[]"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), TYPES)
def test_constants_of_every_kind_are_inserted(value: Any, text: str) -> None:
    graph = Graph()
    inserted = insert_constant(graph, value)
    graph.add_return(inserted)
    assert str(inserted.static_type) == text
    assert constant_value(inserted) is value
    assert is_none(inserted) == (value is None)
    verify(graph)


def test_constants_of_a_wished_type_and_of_no_type() -> None:
    graph = Graph()
    assert insert_constant(graph, [], ListType(INT)).static_type == ListType(INT)
    with pytest.raises(TypeError, match="a graph cannot hold a object as a constant"):
        type_of(object())
    with pytest.raises(ValueError, match="%x is not a constant"):
        constant_value(graph.add_parameter(FLOAT, "x"))


def test_constants_are_the_same_only_if_nothing_tells_them_apart() -> None:
    values: list[Any] = [
        1, True, 1.0, 1j, "1", None, 0.0, -0.0, math.nan, math.inf, complex(0.0, -0.0), 0j, [1], [True], (1,), (1.0,),
        {"a": 1}, {"a": 1.0}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1},
        Device("cpu"), Device("cpu", 0), Col.A, [], {}, (),
    ]  # fmt: skip
    copies = [float("nan") if v is math.nan else v.copy() if isinstance(v, list | dict) else v for v in values]
    for i, a in enumerate(values):
        for j, b in enumerate(copies):
            assert same_constant(a, b) == (i == j), (a, b)
            assert (constant_key(a) == constant_key(b)) == (i == j), (a, b)
    assert not same_constant(object(), object())
    assert [is_mutable(v) for v in (1, "a", (1, "b"), (1, []), [], None, Col.A)] == [
        False, False, False, True, True, False, False,
    ]  # fmt: skip


def test_nodes_of_an_operator_come_in_program_order_at_every_depth() -> None:
    graph = parse_ir("""graph(%c : bool, %x):
  %a = aten::neg(%x)
  %y = prim::If(%c)
    block0():
      %b = aten::neg(%a)
      %z = prim::If(%c)
        block0():
          %d = aten::neg(%b)
          -> (%d)
        block1():
          -> (%b)
      %e = aten::neg(%z)
      -> (%e)
    block1():
      %f = aten::neg(%x)
      -> (%f)
  %g = aten::neg(%y)
  return (%g)""")
    assert [n.result().name for n in graph.find_all("aten::neg")] == ["a", "b", "d", "e", "f", "g"]
    assert graph.find_all("aten::neg") == [n for n in graph.all_nodes() if n.op == "aten::neg"]
    assert [n.result().name for n in graph.find_all("prim::If")] == ["y", "z"]
    assert graph.find_all("prim::Return") == graph.find_all("prim::Loop") == []


def test_a_copy_is_of_the_overload_that_its_own_operands_select() -> None:
    """What is known of the original holds for a copy whose operands have the same types, and for no other."""
    graph = parse_ir("graph(%x : Tensor, %n : int):\n  %y : Tensor = aten::add(%x, %n, %n)\n  return (%y)")
    node = graph.find("aten::add")
    assert node is not None
    assert node.definition is not None
    assert node.definition.schema.overload == "Scalar"
    x, n = graph.parameters
    same, other = clone_node(node, graph, {}), clone_node(node, graph, {n: x})
    assert same.definition is node.definition
    assert other.definition is not node.definition
    node.op = "aten::sub"
    for one in (node, clone_node(node, graph, {})):
        assert one.definition is not None
        assert one.definition.schema.name == "aten::sub"


def test_the_pseudo_node_of_parameters_follows_them() -> None:
    graph = parse_ir("graph(%x : Tensor, %y : Tensor):\n  return (%x)")
    parameters = graph.body.parameter_node
    first, second = graph.parameters
    graph.body.permute_parameters([1, 0])
    assert parameters.results == graph.parameters == (second, first)
    graph.body.remove_parameter(0)
    third = graph.add_parameter()
    assert parameters.results == graph.parameters == (first, third)
    assert [v.index for v in graph.parameters] == [0, 1]


def test_own_nodes_are_those_of_the_block_as_it_is_now() -> None:
    graph = parse_ir("graph(%c : bool):\n  %y : bool = prim::If(%c)\n    block0():\n      -> (%c)\n"
                     "    block1():\n      %n : bool = aten::__not__(%c)\n      -> (%n)\n  return (%y)")  # fmt: skip
    branch = graph.body.own_nodes()
    assert [n.op for n in branch] == ["prim::If"]
    assert [[n.op for n in block.own_nodes()] for block in branch[0].nested_blocks] == [[], ["aten::__not__"]]
    graph.insert("prim::Print", (), ())
    assert len(branch) == 1
