"""Writes through views become new tensors that mean the same; what others see stays."""

from __future__ import annotations

import random

import numpy as np
import pytest

import flambeau
from flambeau import _C, Tensor
from flambeau.analysis import shapes
from flambeau.analysis.effects import own_writes
from flambeau.interpreter.reference import evaluate
from flambeau.ir import Graph, insert_constant, parse_ir
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Value
from flambeau.ir.verify import verify
from flambeau.passes import remove_inplace_ops
from flambeau.schema.types import INT, TENSOR, ListType
from tests.passes.before_after import expect, expect_same

HEAD = """graph(%x : Double(3, 4), %y : Double(4), %c : bool):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %n : bool = prim::Constant[value=0]()
  %a : Double(3, 4) = aten::exp(%x)
"""


def test_a_row_that_is_written_is_put_back() -> None:
    expect(
        remove_inplace_ops.do,
        HEAD
        + """  %r : Double(4) = aten::select(%a, %0, %1)
  %w : Double(4) = aten::mul_(%r, %y)
  %z : Double(3, 4) = aten::neg(%a)
  %s : Double(4) = aten::neg(%r)
  return (%z, %s, %a)""",
        HEAD
        + """  %r : Double(4) = aten::select(%a, %0, %1)
  %w : Double(4) = aten::mul(%r, %y)
  %b : Tensor = aten::select_scatter(%a, %w, %0, %1)
  %z : Double(3, 4) = aten::neg(%b)
  %s : Double(4) = aten::neg(%w)
  return (%z, %s, %b)""",
    )


KEPT = [
    "%w : Tensor = aten::fill_(%x, %1)\n  return (%w)",
    "%r : Tensor = aten::select(%a, %0, %1)\n  %w : Tensor = aten::fill_(%r, %1)\n  return (%a, %r)",
    "%l : Tensor[] = prim::ListConstruct(%a)\n  %w : Tensor = aten::fill_(%a, %1)\n  return (%l)",
    "%l : Tensor[] = aten::unbind(%a, %0)\n  %w : Tensor = aten::fill_(%a, %1)\n  return (%l)",
    "%e : Tensor = aten::unsqueeze(%a, %0)\n  %f : Tensor = aten::expand_as(%e, %e)\n"
    "  %w : Tensor = aten::fill_(%f, %1)\n  return (%a)",
    "%r : Tensor = prim::If(%c)\n    block0():\n      %w : Tensor = aten::fill_(%a, %1)\n      -> (%w)\n"
    "    block1():\n      -> (%x)\n  return (%r)",
    "%w : Tensor = aten::mul_(%a, %u)\n  return (%a)",
    "%t : Tensor = aten::t_(%a)\n  %w : Tensor = aten::fill_(%a, %1)\n  return (%a)",
]


@pytest.mark.parametrize("body", KEPT)
def test_writes_that_others_see_or_that_might_fail_stay(body: str) -> None:
    expect_same(remove_inplace_ops.do, HEAD.replace("%c : bool", "%c : bool, %u : Tensor") + "  " + body)


@flambeau.script
def board(x: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    a = flambeau.zeros_like(x)
    a[0] = x[1]
    v = a.t()
    w = v[1]
    w.fill_(7)
    b = a.view(-1)
    b[2:4] = 5.0
    c = v.exp()
    a[:, 0].zero_()
    d = w + 1 if n > 0 else w - 1
    a.diagonal().copy_(x[0])
    return a, c, d


def test_views_of_views_follow_every_write() -> None:
    graph = clone_graph(board.graph)
    assert _C.run_pass("remove_inplace_ops", graph) is graph
    verify(graph)
    assert not any(map(own_writes, graph.all_nodes()))
    x = flambeau.arange(9.0).reshape(3, 3)
    for n in (0, 1):
        own, other = evaluate(graph, [x, n])[0], board(x, n)
        for a, b in zip(own, other, strict=True):
            assert a.tolist() == b.tolist()
            assert a.stride() == b.stride()


def random_program(seed: int) -> Graph:
    """A new matrix, views of views of it, writes to them, and what is read in between."""
    choice = random.Random(seed)
    graph = parse_ir("graph(%x : Double(3, 4, device=cpu)):\n  %a : Tensor = aten::exp(%x)\n  return ()")
    base = next(graph.nodes()).result()
    views: list[tuple[Value, int]] = [(base, 2)]
    results: list[Value] = []

    def of(number: int | bool | None) -> Value:
        return insert_constant(graph, number)

    def insert(name: str, *operands: Value) -> Value:
        return graph.insert(f"aten::{name}", operands, [TENSOR]).result()

    for _ in range(choice.randrange(4, 12)):
        value, rank = choice.choice(views)
        match choice.randrange(9):
            case 0 if rank:
                place = [of(choice.randrange(-rank, rank)), of(choice.choice([0, -1]))]
                views.append((insert("select", value, *place), rank - 1))
            case 1 if rank:
                bounds = [of(choice.choice(ends)) for ends in ((None, 0, 1, -1), (None, 2, -1), (1, 2))]
                views.append((insert("slice", value, of(choice.randrange(rank)), *bounds), rank))
            case 2 if rank <= 2:
                views.append((insert("t", value), rank))
            case 3 if rank > 1:
                views.append((insert("transpose", value, of(0), of(rank - 1)), rank))
            case 4 if rank < 4:
                views.append((insert("unsqueeze", value, of(choice.randrange(-rank - 1, rank + 1))), rank + 1))
            case 5 if rank > 1:
                views.append((insert("diagonal", value, of(0), of(0), of(1)), rank - 1))
            case 6:
                views.append((insert(choice.choice(["fill_", "mul_"]), value, of(choice.randrange(2, 5))), rank))
            case 7:
                views.append((insert("zero_", value), rank))
            case _:
                results.append(insert("neg", value))
    if choice.random() < 0.3:
        minus_one = graph.insert("prim::ListConstruct", [of(-1)], [ListType(INT)]).result()
        results.append(insert("fill_", insert("view", base, minus_one), of(9)))
        results[-1] = insert("neg", results[-1])
    for value in (*results, choice.choice(views)[0]):
        graph.add_return(value)
    shapes.propagate(graph)
    return graph


def outcome(graph: Graph, x: Tensor) -> object:
    try:
        return [value.tolist() for value in evaluate(graph, [x])]
    except IndexError as error:
        return str(error)


def test_random_views_and_writes_mean_what_they_meant() -> None:
    changed = 0
    x = flambeau.tensor(np.random.default_rng(0).standard_normal((3, 4)))
    for seed in range(300):
        graph = random_program(seed)
        verify(graph)
        after = clone_graph(graph)
        changed += remove_inplace_ops.do(after)
        verify(after)
        assert outcome(after, x) == outcome(graph, x), f"seed {seed}\n{graph}\n{after}"
    assert changed > 150
