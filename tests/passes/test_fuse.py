"""Fusion groups: as large as memory and effects allow, and no larger."""

from __future__ import annotations

import pytest

from flambeau.ir import Graph, parse_ir
from flambeau.ir.verify import verify
from flambeau.passes import fuse
from tests.passes.before_after import expect_same

HEAD = """graph(%x : Float(*, *), %y : Float(*, *), %u : Tensor, %n : int, %c : bool):
  %1 : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %s : str = prim::Constant[value="a"]()
  """


def fused(body: str, head: str = HEAD) -> Graph:
    graph = parse_ir(head + body)
    verify(graph)
    fuse.do(graph)
    verify(graph)
    return graph


def groups(graph: Graph) -> list[list[str]]:
    return [
        [n.op.removeprefix("aten::") for n in group.attribute("Subgraph").nodes() if n.op != "prim::Constant"]
        for group in graph.find_all("prim::FusionGroup")
    ]


def test_chains_and_diamonds_become_one_group() -> None:
    graph = fused("""%a : Float(*, *) = aten::mul(%x, %y)
      %b : Float(*, *) = aten::exp(%a)
      %d : Float(*, *) = aten::relu(%a)
      %e : Float(*, *) = aten::add(%b, %d, %n)
      return (%e)""")
    assert groups(graph) == [["mul", "exp", "relu", "add"]]
    group = graph.find("prim::FusionGroup")
    assert group is not None
    assert [v.name for v in group.operands] == ["x", "y", "n"]
    assert next(group.attribute("Subgraph").nodes()).op == "aten::mul"


def test_reductions_join_with_what_is_before_and_after() -> None:
    graph = fused("""%a : Float(*, *) = aten::mul(%x, %y)
      %b : Float() = aten::sum(%a, %none)
      %d : Float(*, *) = aten::sub(%x, %b, %1)
      return (%d)""")
    assert groups(graph) == [["mul", "sum", "sub"]]


def test_values_used_outside_are_results_of_the_group() -> None:
    graph = fused("""%a : Float(*, *) = aten::mul(%x, %y)
      %b : Float(*, *) = aten::relu(%a)
      %m : Float(*, *) = aten::matmul(%a, %b)
      return (%m)""")
    group = graph.find("prim::FusionGroup")
    assert group is not None
    assert [v.name for v in group.results] == ["a", "b"]


def test_nodes_move_past_others_to_join() -> None:
    graph = fused("""%a : Float(*, *) = aten::mul(%x, %y)
      %k : int = aten::mul(%n, %n)
      %b : Float(*, *) = aten::relu(%a)
      %m : Tensor = aten::matmul(%u, %u)
      %d : Float(*, *) = aten::mul(%b, %k)
      return (%d, %m)""")
    assert groups(graph) == [["mul", "relu", "mul"]]


def test_two_groups_when_something_between_needs_one_and_feeds_the_other() -> None:
    graph = fused("""%a : Float(*, *) = aten::mul(%x, %y)
      %b : Float(*, *) = aten::relu(%a)
      %m : Float(*, *) = aten::matmul(%b, %b)
      %d : Float(*, *) = aten::add(%m, %b, %1)
      %e : Float(*, *) = aten::exp(%d)
      return (%e)""")
    assert groups(graph) == [["mul", "relu"], ["add", "exp"]]


APART: list[tuple[str, list[list[str]]]] = [
    (
        "%a : Float(*, *) = aten::mul(%x, %y)\n %w : Tensor = aten::relu_(%x)\n"
        " %b : Float(*, *) = aten::mul(%a, %x)\n return (%b)",
        [["mul"], ["mul"]],
    ),
    (
        "%a : Float(*, *) = aten::mul(%x, %y)\n %w : Tensor = aten::relu_(%a)\n %b : Float(*, *) = aten::exp(%a)\n"
        " return (%b)",
        [["mul"], ["exp"]],
    ),
    (
        "%a : Float(*, *) = aten::exp(%x)\n %d : Float(*, *) = prim::If(%c)\n block0():\n"
        " %b : Float(*, *) = aten::relu(%a)\n"
        " -> (%b)\n block1():\n -> (%a)\n return (%d)",
        [["exp"], ["relu"]],
    ),
    (
        "%a : Float(*, *) = aten::exp(%x)\n %k : int = aten::neg(%n)\n %d : int[] = prim::ListConstruct(%k)\n"
        " %b : Float(*) = aten::sum(%a, %d, %c, %none)\n return (%b)",
        [["exp"]],
    ),
]


@pytest.mark.parametrize(("body", "expected"), APART)
def test_what_may_not_be_fused_together(body: str, expected: list[list[str]]) -> None:
    assert groups(fused(body)) == expected


ALONE = [
    "%a : ComplexHalf(*) = aten::exp(%x)\n %b : ComplexHalf(*) = aten::exp(%a)\n return (%b)",
    "%a : Float(*, device=meta) = aten::exp(%x)\n %b : Float(*, device=meta) = aten::exp(%a)\n return (%b)",
    "%a : Float(*, requires_grad=1) = aten::exp(%x)\n %b : Float(*, requires_grad=1) = aten::exp(%a)\n return (%b)",
    "%a : Float(*, *) = aten::matmul(%x, %y)\n return (%a)",
]


@pytest.mark.parametrize("body", ALONE)
def test_what_may_not_be_fused(body: str) -> None:
    graph = fused(body)
    assert groups(graph) == []
    expect_same(fuse.do, HEAD + body)


def test_what_is_not_known_is_looked_at_when_it_runs() -> None:
    body = "%a : Tensor = aten::mul(%x, %u)\n %b : Tensor = aten::exp(%a)\n return (%b)"
    assert groups(fused(body)) == [["mul", "exp"]]


def test_what_may_fail_does_not_pass_what_the_world_sees() -> None:
    body = "%a : Tensor = aten::mul(%x, %u)\n = prim::Print(%s)\n %b : Tensor = aten::mul(%a, %u)\n return (%b)"
    assert groups(fused(body)) == [["mul"], ["mul"]]


def test_nothing_is_fused_that_may_need_gradients() -> None:
    body = "%a : Float(*) = aten::exp(%x)\n %b : Float(*) = aten::exp(%a)\n return (%b)"
    assert groups(fused(body)) == [["exp", "exp"]]
    assert groups(fused(body, HEAD.replace("%y : Float(*, *)", "%y : Float(*, *, requires_grad=1)"))) == []


def test_writes_before_and_after_a_group_stay_outside() -> None:
    graph = fused("""%w : Tensor = aten::relu_(%y)
      %a : Float(*, *) = aten::mul(%x, %y)
      %b : Float(*, *) = aten::exp(%a)
      %z : Tensor = aten::neg_(%y)
      return (%b)""")
    assert [n.op for n in graph.nodes() if n.op != "prim::Constant"] == [
        "aten::relu_",
        "prim::FusionGroup",
        "aten::neg_",
    ]


SIZES = """%e : float = prim::Constant[value=1e-05]()
      %a : Float(*, *) = aten::relu(%x)
      %k : int = aten::size(%a, %1)
      {between}
      %l : int[] = prim::ListConstruct(%k)
      %d : Float(*, *) = aten::layer_norm(%a, %l, %none, %none, %e, %c)
      return ({results})"""


def test_a_normalisation_takes_its_sizes_along() -> None:
    head = HEAD.replace(", %c : bool)", ")") + "%c : bool = prim::Constant[value=1]()\n"
    one = fused(SIZES.format(between="", results="%d"), head)
    assert groups(one) == [["relu", "size", "prim::ListConstruct", "layer_norm"]]
    assert [n.op for n in one.nodes() if n.op != "prim::Constant"] == ["prim::FusionGroup"]
    read = fused(SIZES.format(between="", results="%d, %k"), head)
    assert groups(read) == [["relu", "size", "prim::ListConstruct", "layer_norm"]]
    changed = fused(SIZES.format(between="%r : Tensor = aten::squeeze_(%u)", results="%d"), head)
    assert groups(changed) == [["relu"]]


TWO_FOLDS = HEAD.replace(
    '%s : str = prim::Constant[value="a"]()',
    "%no : bool = prim::Constant[value=0]()\n  %0 : int = prim::Constant[value=0]()\n  "
    "%first : int[] = prim::Constant[value=[0]]()\n  %last : int[] = prim::Constant[value=[-1]]()",
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            """%a : Float(*) = aten::sum(%x, %first, %no, %none)
               %b : Float(*) = aten::sum(%x, %last, %no, %none)
               %d : Float(*) = aten::add(%a, %b, %1)
               return (%d)""",
            [["sum"], ["sum", "add"]],
            id="columns and rows",
        ),
        pytest.param(
            """%a : Float(*) = aten::sum(%x, %last, %no, %none)
               %b : Long() = aten::argmin(%a, %0, %no)
               return (%b)""",
            [["sum"], ["argmin"]],
            id="a fold of folds",
        ),
        pytest.param(
            """%a : Float(*, *) = aten::softmax(%x, %1, %none)
               %b : Float(*) = aten::sum(%a, %last, %no, %none)
               return (%b)""",
            [["softmax", "sum"]],
            id="the same dimension, counted from either end",
        ),
        pytest.param(
            """%a : Float(*) = aten::sum(%x, %last, %no, %none)
               %b : Float(*) = aten::mean(%x, %last, %no, %none)
               %d : Float(*) = aten::add(%a, %b, %1)
               return (%d)""",
            [["sum", "mean", "add"]],
            id="alike",
        ),
    ],
)
def test_a_group_folds_over_one_choice_of_dimensions(body: str, expected: list[list[str]]) -> None:
    assert groups(fused(body, TWO_FOLDS)) == expected


def test_what_nobody_uses_is_no_group() -> None:
    graph = fused("""%a : Float(*, *) = aten::mul(%x, %y)
      %b : Float(*, *) = aten::exp(%a)
      return (%x)""")
    assert groups(graph) == []


def test_the_first_of_two_errors_stays_the_first() -> None:
    """`argmax` of nothing fails, and so may a `select`: a group does not take one past the other."""
    graph = fused("""%a : Float(*, *) = aten::mul(%x, %y)
      %b : Tensor = aten::select(%a, %n, %n)
      %no : bool = prim::Constant[value=0]()
      %d : Long() = aten::argmax(%a, %none, %no)
      return (%b, %d)""")
    assert groups(graph) == [["mul"], ["argmax"]]
