"""Changes of lists that nobody else sees become new lists; others stay changes."""

from __future__ import annotations

import random
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.interpreter.reference import evaluate
from flambeau.ir import Graph, insert_constant, parse_ir
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Value
from flambeau.ir.verify import verify
from flambeau.passes import remove_list_mutation
from flambeau.schema.types import BOOL, INT, ListType, TupleType
from tests.passes.before_after import expect, expect_same

INTS = ListType(INT)
HEAD = """graph(%x : Tensor, %y : Tensor, %n : int, %c : bool):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=9]()
  %l : Tensor[] = prim::ListConstruct(%x)
"""


def test_each_use_sees_the_list_of_its_moment() -> None:
    expect(
        remove_list_mutation.do,
        HEAD
        + """  %k : int = aten::len(%l)
  %a : Tensor[] = aten::append(%l, %y)
  %m : int = aten::len(%l)
  %b : Tensor[] = aten::_set_item(%l, %0, %y)
  %s : Tensor = prim::If(%c)
    block0():
      %p : Tensor = aten::stack(%b, %0)
      -> (%p)
    block1():
      -> (%x)
  %t : (Tensor[], int) = prim::TupleConstruct(%l, %m)
  return (%k, %s, %t)""",
        HEAD
        + """  %k : int = aten::len(%l)
  %a : Tensor[] = prim::ListConstruct(%x, %y)
  %m : int = aten::len(%a)
  %b : Tensor[] = prim::ListConstruct(%y, %y)
  %s : Tensor = prim::If(%c)
    block0():
      %p : Tensor = aten::stack(%b, %0)
      -> (%p)
    block1():
      -> (%x)
  %t : (Tensor[], int) = prim::TupleConstruct(%b, %m)
  return (%k, %s, %t)""",
    )


CHANGES = [
    ("  = aten::insert(%l, %0, %y)", "%y, %x"),
    ("%a : Tensor = aten::pop(%l, %0)", ""),
    ("%a : Tensor[] = aten::append(%l, %y)\n   = aten::reverse(%l)", "%y, %x"),
    ("  = aten::clear(%l)", ""),
]


@pytest.mark.parametrize(("change", "left"), CHANGES)
def test_changes_that_leave_known_elements(change: str, left: str) -> None:
    end = "\n  %z : Tensor[] = aten::slice(%l, %0, %n, %1)\n  return (%z)"
    expect(
        remove_list_mutation.do,
        HEAD + f"  {change}{end}",
        HEAD + f"  %l2 : Tensor[] = prim::ListConstruct({left}){end.replace('%l,', '%l2,')}",
    )


KEPT = [
    "%a : Tensor[] = aten::_set_item(%l, %n, %y)\n  return (%l)",
    "%a : Tensor[] = aten::_set_item(%l, %9, %y)\n  return (%l)",
    "%t : (Tensor[], int) = prim::TupleConstruct(%l, %n)\n  %a : Tensor[] = aten::append(%l, %y)\n  return (%t)",
    "%m : Tensor[][] = prim::ListConstruct(%l)\n  %a : Tensor[] = aten::append(%l, %y)\n  return (%m)",
    "%b : bool = prim::If(%c)\n    block0():\n      %a : Tensor[] = aten::append(%l, %y)\n      -> (%c)\n"
    "    block1():\n      -> (%c)\n  return (%l, %b)",
    "%m : Tensor[] = prim::If(%c)\n    block0():\n      -> (%l)\n    block1():\n"
    "      %o : Tensor[] = prim::ListConstruct(%y)\n      -> (%o)\n"
    "  %a : Tensor[] = aten::append(%l, %y)\n  return (%m)",
]


@pytest.mark.parametrize("body", KEPT)
def test_lists_that_others_see_or_whose_elements_are_not_known_stay(body: str) -> None:
    expect_same(remove_list_mutation.do, HEAD + "  " + body)


@flambeau.script
def collected(x: Tensor) -> Tensor:
    rows: list[Tensor] = []
    for i in range(4):
        rows.append(x * i)
    rows[0] = rows.pop() + 1.0
    return flambeau.stack(rows)


def test_lists_that_a_loop_of_known_length_fills_are_written_out() -> None:
    x = flambeau.arange(3.0)
    wanted = [[1.0, 4.0, 7.0], [0.0, 1.0, 2.0], [0.0, 2.0, 4.0]]
    for _ in range(4):
        assert collected(x).tolist() == wanted
    graph = collected.graph_for(x)
    assert graph.find("aten::append") is None
    assert graph.find("aten::pop") is None


def test_the_elements_of_a_list_in_a_list_are_those_of_the_end() -> None:
    @flambeau.script
    def nested(n: int) -> list[list[int]]:
        inner = [n]
        inner.append(2)
        outer = [[1]]
        outer.append(inner)
        return outer

    graph = clone_graph(nested.graph)
    assert remove_list_mutation.do(graph)
    assert evaluate(graph, [5]) == evaluate(nested.graph, [5]) == ([[1], [5, 2]],)


STEPS = ("append", "insert", "set", "pop", "reverse", "clear", "len", "copy", "keep", "branch", "use")


def random_program(seed: int) -> Graph:
    """Lists of ints that are made, changed, looked at, put into others and into branches; all is returned."""
    choice = random.Random(seed)
    graph = Graph()
    n, c = graph.add_parameter(INT), graph.add_parameter(BOOL)
    lists = [graph.insert("prim::ListConstruct", [n] * choice.randrange(4), [INTS]).result() for _ in range(2)]
    results: list[Value] = []

    def index() -> Value:
        return n if choice.random() < 0.1 else insert_constant(graph, choice.randrange(-3, 3))

    def step(own: Value) -> None:
        kind = choice.choice(STEPS)
        match kind:
            case "append":
                graph.insert("aten::append", [own, insert_constant(graph, choice.randrange(9))], [INTS])
            case "insert":
                graph.insert("aten::insert", [own, index(), n], [])
            case "set":
                lists.append(graph.insert("aten::_set_item", [own, index(), n], [INTS]).result())
            case "pop":
                results.append(graph.insert("aten::pop", [own, index()], [INT]).result())
            case "reverse" | "clear":
                graph.insert(f"aten::{kind}", [own], [])
            case "len":
                results.append(graph.insert("aten::len", [own], [INT]).result())
            case "copy":
                lists.append(graph.insert("aten::list", [own], [INTS]).result())
            case "keep" if choice.random() < 0.3:
                results.append(graph.insert("prim::TupleConstruct", [own, n], [TupleType((INTS, INT))]).result())
            case "branch" if choice.random() < 0.3:
                node = graph.insert("prim::If", [c], [INTS])
                for _ in range(2):
                    known = len(lists), len(results)
                    with graph.inserting(node.add_block()):
                        step(own)
                    node.nested_blocks[-1].add_return(choice.choice(lists))
                    del lists[known[0] :], results[known[1] :]
                lists.append(node.result())
            case "use":
                results.append(graph.insert("aten::add", [own, lists[0]], [INTS]).result())

    for _ in range(12):
        step(choice.choice(lists[:2] if choice.random() < 0.7 else lists))
    for value in (*lists[:2], *results):
        graph.add_return(value)
    return graph


def outcome(graph: Graph, *arguments: Any) -> Any:
    try:
        return evaluate(graph, list(arguments))
    except (IndexError, RuntimeError) as error:
        return type(error), str(error)


def test_random_changes_mean_what_they_meant() -> None:
    changed = 0
    for seed in range(400):
        graph = random_program(seed)
        after = clone_graph(graph)
        changed += remove_list_mutation.do(after)
        verify(after)
        for arguments in ((0, True), (-2, False)):
            assert outcome(after, *arguments) == outcome(graph, *arguments), f"seed {seed}\n{graph}\n{after}"
    assert changed > 100


def test_what_was_taken_out_may_go_back_in() -> None:
    graph = parse_ir("""graph(%a : int, %b : int):
      %zero : int = prim::Constant[value=0]()
      %list : int[] = prim::ListConstruct(%a, %b)
      %last : int = aten::pop(%list, %zero)
      %same : int[] = aten::append(%list, %last)
      %again : int = aten::pop(%list, %zero)
      %more : int[] = aten::append(%list, %again)
      return (%list, %last, %again)""")
    assert remove_list_mutation.do(graph)
    verify(graph)
    assert not graph.find_all("aten::pop")
    assert outcome(graph, 1, 2) == ([1, 2], 1, 2)
