"""Which tensors are one object, where the graph tells; which operators make new ones."""

from __future__ import annotations

import pytest

import flambeau.ops  # noqa: F401
from flambeau.ir import parse_ir
from flambeau.passes import settle_identity
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch
from tests.passes.before_after import expect, expect_same

HEAD = "graph(%k : Tensor, %v : Tensor, %c : bool):\n "
BRANCH = """%a : Tensor, %b : Tensor = prim::If(%s)
  block0():
    %t : Tensor = aten::t(%k)
    -> (%t, %t)
  block1():
    %u : Tensor = aten::t(%k)
    %w : Tensor = aten::t(%v)
    -> (%u, %w)
"""
VIEWS = [
    d
    for d in registry.all_definitions()
    if d.family == "view" and not d.schema.is_mutable and not d.traits.may_copy and d.samples is not None
    if d.schema.returns[0].alias is not None
]


@pytest.mark.parametrize("op", ["is", "isnot"])
def test_a_branch_tells_by_its_condition(op: str) -> None:
    head = HEAD + "%s : bool = aten::__is__(%k, %v)\n" + BRANCH
    answer = "return (%s)" if op == "is" else "%r : bool = aten::__not__(%s)\nreturn (%r)"
    expect(settle_identity.do, head + f"%r : bool = aten::__{op}__(%a, %b)\nreturn (%r)", head + answer)


def test_a_branch_within_a_way_gives_its_answer() -> None:
    text = HEAD + """%a : Tensor, %b : Tensor = prim::If(%c)
      block0():
        %s : bool = aten::__is__(%k, %v)
        %d : Tensor, %e : Tensor = prim::If(%s)
          block0():
            %t : Tensor = aten::t(%k)
            -> (%t, %t)
          block1():
            %u : Tensor = aten::t(%k)
            %w : Tensor = aten::t(%v)
            -> (%u, %w)
        -> (%d, %e)
      block1():
        %f : Tensor = aten::t(%k)
        %g : Tensor = aten::t(%k)
        -> (%f, %g)
    """
    graph = parse_ir(text + "%r : bool = aten::__is__(%a, %b)\nreturn (%r)")
    assert settle_identity.do(graph)
    branch = graph.returns[0].defining_node
    assert branch is not None
    assert branch.op == "prim::If"
    inner, constant = [block.returns[2] for block in branch.nested_blocks]
    assert inner.defining_node is not None
    assert inner.defining_node.op == "aten::__is__"
    assert constant.defining_node is not None
    assert constant.defining_node.attribute("value") is False


def test_a_view_is_no_argument() -> None:
    graph = parse_ir(HEAD + "%a : Tensor = aten::t(%k)\n %r : bool = aten::__isnot__(%v, %a)\nreturn (%r)")
    assert settle_identity.do(graph)
    made = graph.returns[0].defining_node
    assert made is not None
    assert made.attribute("value") is True


@pytest.mark.parametrize(
    "work",
    [
        "%r : bool = aten::__is__(%k, %v)",
        "%a : Tensor = aten::real(%k)\n %r : bool = aten::__is__(%k, %a)",
        "%a : Tensor = aten::contiguous(%k, %0)\n %r : bool = aten::__is__(%k, %a)",
    ],
)
def test_arguments_and_what_may_be_its_operand_are_left(work: str) -> None:
    zero = "%0 : int = prim::Constant[value=0]()\n "
    expect_same(settle_identity.do, HEAD + zero + work + "\nreturn (%r)")


@pytest.mark.parametrize("definition", VIEWS, ids=lambda d: d.full_name)
def test_views_make_new_tensors_unless_they_say_otherwise(definition: OpDef) -> None:
    assert definition.samples is not None
    for sample in definition.samples():
        result = dispatch.call(definition.name, *sample.args, **sample.kwargs)
        if result is sample.args[0]:
            assert definition.traits.may_be_operand, definition.full_name
