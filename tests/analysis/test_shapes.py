"""Facts about tensors: never more than what holds when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau.ops  # noqa: F401
from flambeau.analysis import shapes
from flambeau.interpreter.reference import evaluate
from flambeau.ir import Graph, parse_ir
from flambeau.schema.types import TensorType
from flambeau.tensor.tensor import Tensor, wrap

HEAD = """graph(%x : Float(2, 3, device=cpu, requires_grad=0), %r : Float(3), %z : Double(), %n : int, %c : bool,
      %t : Tensor, %y : Float(5, 3, device=cpu, requires_grad=0), %g : Tensor[]):
  %0 : int = prim::Constant[value=0]()
  %false : bool = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %h : float = prim::Constant[value=0.5]()
  %none : NoneType = prim::Constant()
  """

CPU = "requires_grad=0, device=cpu"
RESULTS = [
    ("%a = aten::add(%x, %r, %1)", "Float(2, 3)"),
    ("%a = aten::add(%x, %z, %1)", "Float(2, 3)"),
    ("%a = aten::mul(%x, %h)", "Float(2, 3, requires_grad=0, device=cpu)"),
    ("%a = aten::mul(%x, %n)", "Float(2, 3, requires_grad=0, device=cpu)"),
    ("%a = aten::add(%x, %t, %1)", "Tensor"),
    ("%a = aten::gt(%x, %n)", "Bool(2, 3, requires_grad=0, device=cpu)"),
    ("%b = aten::gt(%x, %n)\n %a = aten::mul(%b, %h)", "Float(2, 3, requires_grad=0, device=cpu)"),
    ("%a = aten::sum(%x, %none)", "Float(requires_grad=0, device=cpu)"),
    (
        "%a = prim::If(%c)\n block0():\n -> (%x)\n block1():\n %b = aten::exp(%x)\n -> (%b)",
        "Float(2, 3, requires_grad=0, device=cpu)",
    ),
    ("%a = prim::If(%c)\n block0():\n -> (%x)\n block1():\n -> (%r)", "FloatTensor"),
    ("%a = prim::If(%c)\n block0():\n -> (%x)\n block1():\n -> (%z)", "Tensor"),
    (
        "%a = prim::Loop(%n, %c, %x)\n block0(%i : int, %p):\n %q = aten::exp(%p)\n -> (%c, %q)",
        "Float(2, 3, requires_grad=0, device=cpu)",
    ),
    ("%a = prim::Loop(%n, %c, %r)\n block0(%i : int, %p):\n %q = aten::add(%x, %p, %1)\n -> (%c, %q)", "FloatTensor"),
    (
        "%k : (Tensor, int) = prim::TupleConstruct(%x, %n)\n %a : Tensor, %i : int = prim::TupleUnpack(%k)",
        "Float(2, 3, requires_grad=0, device=cpu)",
    ),
    ("%w = aten::unsqueeze_(%x, %1)\n %a = aten::exp(%x)", "FloatTensor(requires_grad=0, device=cpu)"),
    ("%w = aten::relu_(%x)\n %a = aten::exp(%x)", "Float(2, 3, requires_grad=0, device=cpu)"),
    ("%w = aten::requires_grad_(%x, %c)\n %a = aten::exp(%x)", "FloatTensor(device=cpu)"),
    ("%w = ^f()(%x)\n %a = aten::exp(%x)", "FloatTensor(requires_grad=0, device=cpu)"),
    ("%a = other::thing(%x)", "Tensor"),
    (
        "%l : int[] = prim::ListConstruct(%n, %1)\n %a = aten::zeros(%l, %none, %none, %none, %none)",
        f"Float(*, 1, {CPU})",
    ),
    ("%a = aten::arange(%n, %none, %none, %none, %none)", f"Long(*, {CPU})"),
    ("%a = aten::arange(%h, %none, %none, %none, %none)", f"Float(*, {CPU})"),
    ("%d : int = prim::dtype(%z)\n %a = aten::tensor(%n, %d, %none, %false)", f"Double({CPU})"),
    ("%l : int[] = prim::ListConstruct(%n, %n)\n %a = aten::tensor(%l, %none, %none, %false)", f"Long(2, {CPU})"),
    ("%a = aten::tensor(%h, %none, %none, %c)", "Float(device=cpu)"),
    ("%l : int[] = aten::size(%x)\n %a = aten::reshape(%t, %l)", "Tensor(2, 3)"),
    (
        "%l : int[] = aten::size(%x)\n %s : int[] = aten::slice(%l, %1, %none, %1)\n %a = aten::expand(%t, %s, %false)",
        "Tensor(3)",
    ),
]
"""A graph's lines, and the type of %a."""

CARRIED = [
    # Two tensors that change places in a loop; sizes that differ go, also in the round after the next.
    (
        "%p, %q = prim::Loop(%n, %c, %x, %y)\n block0(%i : int, %b, %d):\n  -> (%c, %d, %b)\n"
        " %a = aten::add(%p, %q, %1)",
        f"Float(*, 3, {CPU})",
    ),
    # A loop in a loop.
    (
        "%p = prim::Loop(%n, %c, %x)\n block0(%i : int, %b):\n  %q = prim::Loop(%n, %c, %b)\n"
        "   block0(%j : int, %d):\n    %e = aten::t(%d)\n    -> (%c, %e)\n  -> (%c, %q)\n %a = aten::exp(%p)",
        f"Float(*, *, {CPU})",
    ),
    # A way on which there is nothing says nothing.
    (
        "%u = prim::Uninitialized()\n %p = prim::If(%c)\n block0():\n  -> (%x)\n block1():\n  -> (%u)\n"
        " %a = aten::exp(%p)",
        f"Float(2, 3, {CPU})",
    ),
    (
        "%u = prim::Uninitialized()\n %p = prim::Loop(%n, %c, %u)\n block0(%i : int, %b):\n  %d = aten::exp(%x)\n"
        "  -> (%c, %d)\n %a = aten::exp(%p)",
        f"Float(2, 3, {CPU})",
    ),
    # None on one way.
    (
        "%p : Tensor? = prim::If(%c)\n block0():\n  -> (%x)\n block1():\n  -> (%none)\n"
        " %q = prim::unchecked_cast(%p)\n %a = aten::exp(%q)",
        f"Float(2, 3, {CPU})",
    ),
    # Tensors in lists.
    (
        "%l : Tensor[] = prim::ListConstruct()\n = prim::Loop(%n, %c)\n block0(%i : int):\n"
        "  %e = aten::exp(%x)\n  %w : Tensor[] = aten::append(%l, %e)\n  -> (%c)\n %a = aten::__getitem__(%l, %0)",
        f"Float(2, 3, {CPU})",
    ),
    (
        "%l : Tensor[] = prim::ListConstruct(%x)\n %w : Tensor[] = aten::append(%l, %y)\n"
        " %a = aten::__getitem__(%l, %0)",
        f"Float(*, 3, {CPU})",
    ),
    (
        "%l : Tensor[] = prim::ListConstruct(%x)\n = prim::Loop(%n, %c)\n block0(%i : int):\n"
        "  %e = aten::__getitem__(%l, %i)\n  %f = aten::t(%e)\n  %w : Tensor[] = aten::append(%l, %f)\n  -> (%c)\n"
        " %a = aten::stack(%l, %0)",
        f"Float(*, *, *, {CPU})",
    ),
    (
        "%l : Tensor[] = prim::ListConstruct(%x)\n %k = prim::Constant()\n %w = ^f()(%l)\n"
        " %a = aten::__getitem__(%l, %0)",
        "Tensor",
    ),
    ("%w : Tensor[] = aten::append(%g, %x)\n %a = aten::__getitem__(%g, %0)", "Tensor"),
    (
        "%l : Tensor[] = aten::chunk(%x, %n, %1)\n %a, %q = prim::ListUnpack(%l)",
        f"Float(2, *, {CPU})",
    ),
    (
        "%l : Tensor[] = aten::unbind(%x, %0)\n %w : Tensor[] = aten::append(%l, %z)\n %a = aten::__getitem__(%l, %0)",
        "Tensor",
    ),
    (
        "%l : Tensor[] = prim::ListConstruct(%x)\n %e = aten::__getitem__(%l, %0)\n %w = aten::unsqueeze_(%e, %0)\n"
        " %a = aten::stack(%l, %0)",
        f"FloatTensor({CPU})",
    ),
]


@pytest.mark.parametrize(("body", "expected"), RESULTS + CARRIED)
def test_what_is_known(body: str, expected: str) -> None:
    graph = parse_ir(HEAD + body + "\n return (%a)")
    shapes.propagate(graph)
    assert str(graph.returns[0].static_type) == expected
    assert not shapes.propagate(graph), "a second time finds nothing new"


def test_facts_of_an_example_are_forgotten() -> None:
    graph = parse_ir("graph(%x : Tensor):\n %a : Float(2, 3) = aten::exp(%x)\n return (%a)")
    assert shapes.propagate(graph)
    assert graph.returns[0].static_type == TensorType()


RANKS = """graph(%x : Float(*, 3), %c : bool):
  %0 : int = prim::Constant[value=0]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %rank : int = aten::dim(%x)
  %flat : bool = aten::{}(%rank, %2)
  %y : Tensor? = prim::If(%flat)
    block0():
      -> (%none)
    block1():
      -> (%x)
  %gone : bool = aten::__is__(%y, %none)
  %z : Tensor = prim::If(%gone)
    block0():
      %u : Tensor = aten::unsqueeze(%x, %0)
      -> (%u)
    block1():
      -> (%x)
  return (%z)"""


@pytest.mark.parametrize(("compared", "expected"), [("eq", "Float(1, *, 3)"), ("ne", "Float(*, 3)")])
def test_only_ways_that_are_taken_count(compared: str, expected: str) -> None:
    graph = parse_ir(RANKS.format(compared))
    shapes.propagate(graph)
    assert str(graph.returns[0].static_type) == expected


def test_a_way_that_a_later_round_takes_counts() -> None:
    """The first round knows a rank that the second does not: the condition is open from there on."""
    graph = parse_ir("""graph(%x : Float(*, 3), %n : int, %c : bool):
      %0 : int = prim::Constant[value=0]()
      %2 : int = prim::Constant[value=2]()
      %none : NoneType = prim::Constant()
      %y : Tensor = prim::Loop(%n, %c, %x)
        block0(%i : int, %p : Tensor):
          %rank : int = aten::dim(%p)
          %flat : bool = aten::eq(%rank, %2)
          %q : Tensor = prim::If(%flat)
            block0():
              %u : Tensor = aten::unsqueeze(%p, %0)
              -> (%u)
            block1():
              %s : Tensor = aten::sum(%p, %none)
              -> (%s)
          -> (%c, %q)
      return (%y)""")
    shapes.propagate(graph)
    assert str(graph.returns[0].static_type) == "FloatTensor"


def test_operands_that_do_not_fit_leave_sizes_open() -> None:
    graph = parse_ir("graph(%x : Float(2), %y : Float(3)):\n %1 : int = prim::Constant[value=1]()\n"
                     " %a = aten::add(%x, %y, %1)\n return (%a)")  # fmt: skip
    shapes.propagate(graph)
    assert str(graph.returns[0].static_type) == "Float(*)"


def holds(type_: TensorType, value: Tensor) -> bool:
    sizes = type_.sizes
    shape = value._array.shape
    if type_.dtype is not None and type_.dtype is not value.dtype:
        return False
    return sizes is None or (
        len(sizes) == len(shape) and all(s is None or s == k for s, k in zip(sizes, shape, strict=True))
    )


def test_facts_hold_when_programs_run() -> None:
    calls = {
        "aten::add": ["%x, %y, %1", "%x, %n, %1", "%x, %h, %1", "%i, %h, %1"],
        "aten::mul": ["%x, %i", "%i, %b", "%b, %n"],
        "aten::div": ["%i, %i", "%x, %n", "%b, %b"],
        "aten::exp": ["%x", "%i", "%b"],
        "aten::neg": ["%x", "%i"],
        "aten::eq": ["%x, %y", "%i, %n"],
        "aten::sum": ["%x, %none", "%b, %none", "%i, %none"],
        "aten::mean": ["%x, %none"],
        "aten::relu": ["%x", "%i"],
        "aten::matmul": ["%x, %y"],
        "aten::t": ["%x", "%i"],
        "aten::abs": ["%x", "%i"],
        "aten::sigmoid": ["%i", "%x"],
        "aten::argmax": ["%x, %none, %f"],
        "aten::unsqueeze": ["%x, %1"],
        "aten::logical_not": ["%x"],
        "aten::cumsum": ["%i, %1, %none"],
        "aten::softmax": ["%x, %1, %none"],
        "aten::where": ["%b, %x, %y"],
        "aten::floor_divide": ["%i, %n"],
        "aten::pow": ["%i, %n", "%x, %h"],
    }
    given: list[Any] = [
        wrap(np.ones((2, 2), np.float32)),
        wrap(np.ones((2, 2), np.float64)),
        wrap(np.ones((2, 2), np.int32)),
        wrap(np.ones((2, 2), np.bool_)),
        3,
    ]
    for kind, operands in calls.items():
        for text in operands:
            graph: Graph = parse_ir(
                "graph(%x : Float(2, *), %y : Double(*, 2), %i : Int(2, 2), %b : Bool(*, *), %n : int):\n"
                " %1 : int = prim::Constant[value=1]()\n %h : float = prim::Constant[value=0.5]()\n"
                f" %f : bool = prim::Constant[value=0]()\n %none : NoneType = prim::Constant()\n"
                f" %a = {kind}({text})\n return (%a)"
            )
            shapes.propagate(graph)
            type_ = graph.returns[0].static_type
            assert isinstance(type_, TensorType)
            try:
                (result,) = evaluate(graph, given, check_types=False)
            except RuntimeError:
                continue
            assert holds(type_, result), (kind, text, type_, result.dtype, result.shape)
