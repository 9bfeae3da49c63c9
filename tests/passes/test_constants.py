"""Constants: folded, pooled, and control flow that depends on them."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.ir import parse_ir
from flambeau.ir.constants import constant_value, insert_constant
from flambeau.ir.graph import Graph
from flambeau.passes import constant_pooling, constant_propagation, dce, fold_control
from flambeau.tensor.tensor import wrap
from tests.passes.before_after import expect, expect_same


def fold(graph: Graph) -> bool:
    return constant_propagation.do(graph) | dce.do(graph)


@pytest.mark.parametrize(
    ("type_", "call", "operands", "result"),
    [
        ("int", "aten::mul", ("int = 3", "int = 4"), "int = 12"),
        ("int", "aten::add", ("int = 9223372036854775807", "int = 1"), "int = -9223372036854775808"),
        ("float", "aten::div", ("int = 1", "int = 2"), "float = 0.5"),
        ("bool", "aten::lt", ("float = 1.", "float = 2."), "bool = 1"),
        ("str", "aten::add", ('str = "a"', 'str = "b"'), 'str = "ab"'),
        ("(int, str)", "prim::TupleConstruct", ("int = 3", 'str = "b"'), '(int, str) = (3, "b")'),
    ],
)
def test_operators_on_constants_are_run(type_: str, call: str, operands: tuple[str, str], result: str) -> None:
    def constant(name: str, text: str) -> str:
        of, _, value = text.partition(" = ")
        return f" %{name} : {of} = prim::Constant[value={value}]()\n"

    before = "graph():\n" + constant("a", operands[0]) + constant("b", operands[1])
    before += f" %r : {type_} = {call}(%a, %b)\n return (%r)"
    expect(fold, before, "graph():\n" + constant("r", result) + " return (%r)")


CONSTANTS = """graph(%x : Tensor, %n : int):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=9]()
  %f : float = prim::Constant[value=1.]()
  %s : str = prim::Constant[value="a"]()
  """

KEPT = [
    "%r : int = aten::floordiv(%1, %0)\n return (%r, %9, %f, %s)",
    "%l : int[] = prim::ListConstruct(%1)\n %r : int = aten::__getitem__(%l, %9)\n return (%r, %0, %f, %s)",
    " = prim::Print(%s)\n return (%0, %1, %9, %f)",
    "%l : int[] = prim::ListConstruct(%1)\n %m : int[] = aten::append(%l, %9)\n %r : int = aten::len(%l)\n"
    " return (%r, %0, %f, %s)",
    "%l : int[] = prim::ListConstruct(%1, %0)\n return (%l, %9, %f, %s)",
    "%l : int[] = prim::ListConstruct(%9, %9)\n %r : Tensor = aten::ones(%l, %n, %n, %n, %n)\n"
    " return (%r, %0, %1, %f, %s)",
]


@pytest.mark.parametrize("body", KEPT)
def test_what_fails_or_is_memory_seen_outside_is_not_folded(body: str) -> None:
    graph = parse_ir(CONSTANTS + body)
    before = {n.op for n in graph.all_nodes()}
    constant_propagation.do(graph)
    assert {n.op for n in graph.all_nodes()} >= before - {"prim::ListConstruct"}
    if "append" in body or "(%l," in body.rpartition("return")[2]:
        assert graph.find("prim::ListConstruct") is not None


def test_lists_that_nobody_changes_become_constants() -> None:
    expect(
        fold,
        "graph(%x : Tensor):\n %1 : int = prim::Constant[value=2]()\n %l : int[] = prim::ListConstruct(%1, %1)\n"
        " %b : bool = prim::Constant[value=0]()\n %none : NoneType = prim::Constant()\n"
        " %y : Tensor = aten::sum(%x, %l, %b, %none)\n return (%y)",
        "graph(%x : Tensor):\n %l : int[] = prim::Constant[value=[2, 2]]()\n"
        " %b : bool = prim::Constant[value=0]()\n %none : NoneType = prim::Constant()\n"
        " %y : Tensor = aten::sum(%x, %l, %b, %none)\n return (%y)",
    )


def test_tensors_fold_only_while_nobody_outside_gets_them() -> None:
    def graph_with(returned: str) -> Graph:
        graph = parse_ir("graph(%x : Tensor, %1 : int):\n return ()")
        weight = insert_constant(graph, wrap(np.ones(3, np.float32)))
        doubled = graph.insert("aten::exp", [weight]).result()
        product = graph.insert("aten::mul", [graph.parameters[0], doubled]).result()
        graph.add_return({"product": product, "doubled": doubled}[returned])
        return graph

    inside = graph_with("product")
    assert constant_propagation.do(inside)
    factor = inside.find("aten::mul").operand(1)  # type: ignore[union-attr]
    assert np.allclose(np.asarray(constant_value(factor)._array), np.e)
    assert not constant_propagation.do(graph_with("doubled"))


IF = """graph(%x : Tensor, %n : int):
  %c : bool = prim::Constant[value={value}]()
  %y : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::relu(%x)
      -> (%a)
    block1():
      %b : int = aten::floordiv(%n, %n)
      -> (%x)
  return (%y)"""


def test_known_branches_are_taken() -> None:
    expect(fold, IF.format(value=1), "graph(%x : Tensor, %n : int):\n %a : Tensor = aten::relu(%x)\n return (%a)")
    expect(fold, IF.format(value=0), "graph(%x : Tensor, %n : int):\n return (%x)")


def test_a_branch_that_fails_is_not_run_while_compiling() -> None:
    expect(
        fold,
        """graph(%c : bool):
          %1 : int = prim::Constant[value=1]()
          %0 : int = prim::Constant[value=0]()
          %y : int = prim::If(%c)
            block0():
              %b : int = aten::floordiv(%1, %0)
              -> (%b)
            block1():
              %d : int = aten::add(%1, %1)
              -> (%d)
          return (%y)""",
        """graph(%c : bool):
          %1 : int = prim::Constant[value=1]()
          %0 : int = prim::Constant[value=0]()
          %y : int = prim::If(%c)
            block0():
              %b : int = aten::floordiv(%1, %0)
              -> (%b)
            block1():
              %d : int = prim::Constant[value=2]()
              -> (%d)
          return (%y)""",
    )


@pytest.mark.parametrize(("trips", "goes"), [(0, 1), (-3, 1), (5, 0)])
def test_loops_that_do_no_round_give_what_they_got(trips: int, goes: int) -> None:
    expect(
        fold,
        f"""graph(%x : Tensor):
          %n : int = prim::Constant[value={trips}]()
          %c : bool = prim::Constant[value={goes}]()
          %y : Tensor = prim::Loop(%n, %c, %x)
            block0(%i : int, %z : Tensor):
              %w : Tensor = aten::exp(%z)
              -> (%c, %w)
          return (%y)""",
        "graph(%x : Tensor):\n return (%x)",
    )


def test_values_that_no_way_changes_are_not_carried() -> None:
    expect(
        fold_control.do,
        """graph(%x : Tensor, %v : Tensor, %n : int, %c : bool):
          %a : Tensor, %b : int, %d : Tensor = prim::Loop(%n, %c, %x, %n, %v)
            block0(%i : int, %z : Tensor, %k : int, %u : Tensor):
              %w : Tensor = aten::add(%z, %u, %k)
              -> (%c, %w, %k, %v)
          %e : int, %f : Tensor, %g : int = prim::If(%c)
            block0():
              %1 : int = prim::Constant[value=3]()
              -> (%b, %a, %1)
            block1():
              %2 : int = prim::Constant[value=3]()
              -> (%b, %d, %2)
          return (%e, %f, %g)""",
        """graph(%x : Tensor, %v : Tensor, %n : int, %c : bool):
          %a : Tensor = prim::Loop(%n, %c, %x)
            block0(%i : int, %z : Tensor):
              %w : Tensor = aten::add(%z, %v, %n)
              -> (%c, %w)
          %1 : int = prim::Constant[value=3]()
          %f : Tensor = prim::If(%c)
            block0():
              -> (%a)
            block1():
              %2 : int = prim::Constant[value=3]()
              -> (%v)
          return (%n, %f, %1)""",
    )


def test_constants_are_pooled_at_the_top() -> None:
    expect(
        constant_pooling.do,
        """graph(%n : int, %c : bool):
          %1 : int = prim::Constant[value=2]()
          %a : int = aten::mul(%n, %1)
          %2 : int = prim::Constant[value=2]()
          %t : bool = prim::Constant[value=1]()
          %z : float = prim::Constant[value=0.]()
          %m : float = prim::Constant[value=-0.]()
          %b : int = prim::If(%c)
            block0():
              %3 : int = prim::Constant[value=2]()
              %4 : int = prim::Constant[value=1]()
              -> (%3)
            block1():
              -> (%a)
          return (%b, %2, %t, %z, %m)""",
        """graph(%n : int, %c : bool):
          %1 : int = prim::Constant[value=2]()
          %t : bool = prim::Constant[value=1]()
          %z : float = prim::Constant[value=0.]()
          %m : float = prim::Constant[value=-0.]()
          %4 : int = prim::Constant[value=1]()
          %a : int = aten::mul(%n, %1)
          %b : int = prim::If(%c)
            block0():
              -> (%1)
            block1():
              -> (%a)
          return (%b, %1, %t, %z, %m)""",
    )


def test_tensors_and_lists_are_pooled_only_if_they_are_one_object() -> None:
    graph = Graph()
    shared, other = wrap(np.zeros(2)), wrap(np.zeros(2))
    for value in (shared, shared, other, [1], [1]):
        graph.add_return(insert_constant(graph, value))
    assert constant_pooling.do(graph)
    assert len(list(graph.nodes())) == 4
    assert graph.returns[0] is graph.returns[1]


def test_pooling_leaves_a_pooled_graph_alone() -> None:
    expect_same(constant_pooling.do, "graph(%x : Tensor):\n %1 : int = prim::Constant[value=2]()\n"
                " %y : Tensor = aten::mul(%x, %1)\n return (%y)")  # fmt: skip


def test_true_or_false_by_a_condition_is_the_condition() -> None:
    expect(
        fold,
        """graph(%c : bool):
          %t : bool = prim::Constant[value=1]()
          %f : bool = prim::Constant[value=0]()
          %a : bool, %b : bool = prim::If(%c)
            block0():
              -> (%t, %f)
            block1():
              -> (%f, %t)
          return (%a, %b)""",
        """graph(%c : bool):
          %b : bool = aten::__not__(%c)
          return (%c, %b)""",
    )
