"""Inlining, tuples, unrolling, numbering, outlining."""

from __future__ import annotations

from flambeau.ir import Graph, parse_ir, print_graph
from flambeau.ir.verify import verify
from flambeau.passes import canonicalize, inline, inline_tasks, loop_unrolling, lower_tuples
from flambeau.passes.outline import outline
from flambeau.program.function import Function
from flambeau.schema.function import parse_schema
from flambeau.schema.types import FUNCTION
from flambeau.util.source import SourceRange
from tests.passes.before_after import expect, expect_same


def function(name: str, text: str, schema: str) -> Function:
    return Function(f"__torch__.{name}", parse_ir(text), parse_schema(schema))


def with_call(graph_text: str, callee: Function, place: str = "%f") -> Graph:
    """The graph, with the constant %f being the function."""
    graph = parse_ir(graph_text)
    for node in graph.find_all("prim::Constant"):
        if node.result().static_type == FUNCTION and node.result().name == place[1:]:
            node.attributes["function"] = callee
    return graph


G = """graph(%a : Tensor, %c : bool):
  %r : Tensor = prim::If(%c)
    block0():
      %b : Tensor = aten::relu(%a) # g.py:2:4
      -> (%b)
    block1():
      -> (%a)
  return (%r)"""
CALL = """graph(%x : Tensor, %c : bool):
  %f : Function = prim::Constant[name="g"]()
  %y : Tensor = prim::CallFunction(%f, %x, %c) # h.py:7:8
  %z : Tensor = prim::CallFunction(%f, %y, %c) # h.py:8:8
  return (%z)"""


def test_calls_are_replaced_by_bodies_that_remember_them() -> None:
    graph = with_call(CALL, function("g", G, "g(Tensor a, bool c) -> Tensor"))
    assert inline.do(graph)
    verify(graph)
    assert [n.op for n in graph.nodes()] == ["prim::If", "prim::If"]
    first, second = graph.find_all("aten::relu")
    assert str(first.range) == "g.py:2:4"
    assert first.call_chain == (("g", SourceRange.at("h.py", 7, 8)),)
    assert second.call_chain == (("g", SourceRange.at("h.py", 8, 8)),)
    assert not inline.do(graph)


def test_calls_in_called_functions_are_inlined_and_recursion_stays() -> None:
    inner = function("g", G, "g(Tensor a, bool c) -> Tensor")
    outer = function("h", CALL, "h(Tensor x, bool c) -> Tensor")
    outer.graph = with_call(CALL, inner)
    graph = with_call(CALL.replace('"g"', '"h"'), outer)
    inline.do(graph)
    verify(graph)
    assert [n.op for n in graph.nodes()] == ["prim::If"] * 4
    relu = graph.find_all("aten::relu")[1]
    assert [name for name, _ in relu.call_chain] == ["h", "g"]
    assert len(outer.graph.find_all("prim::CallFunction")) == 2, "the function itself is as it was"
    itself = function("r", CALL, "r(Tensor x, bool c) -> Tensor")
    itself.graph = with_call(CALL, itself)
    graph = with_call(CALL, itself)
    inline.do(graph)
    verify(graph)
    assert len(graph.find_all("prim::CallFunction")) == 2
    verify(itself.graph)


def test_unknown_callees_stay() -> None:
    expect_same(inline.do, CALL)


def test_forked_bodies_are_inlined() -> None:
    graph = parse_ir(
        "graph(%x : Tensor, %c : bool):\n  %y : Future[Tensor] = prim::fork_0(%x, %c)\n  return (%y)\n"
        "with prim::fork_0 = " + CALL
    )
    fork = graph.find("prim::fork")
    assert fork is not None
    body = fork.attribute("Subgraph")
    for node in body.find_all("prim::Constant"):
        node.attributes["function"] = function("g", G, "g(Tensor a, bool c) -> Tensor")
    assert inline.do(graph)
    assert body.find("prim::CallFunction") is None


NESTED_TASKS = """graph(%x : Tensor):
  %f : Future(Tensor) = prim::fork_0(%x)
  %a : Tensor = aten::wait(%f)
  %b : Tensor = aten::wait(%f)
  %c : Tensor = aten::mul(%a, %b)
  return (%c)
with prim::fork_0 = graph(%y : Tensor):
  %g : Future(Tensor) = prim::fork_0(%y)
  %d : Tensor = aten::wait(%g)
  %e : Tensor = aten::neg(%d)
  return (%e)
with prim::fork_0 = graph(%z : Tensor):
  %r : Tensor = aten::relu(%z)
  return (%r)
"""


def test_tasks_are_inlined() -> None:
    expect(
        inline_tasks.do,
        NESTED_TASKS,
        """graph(%x : Tensor):
          %r : Tensor = aten::relu(%x)
          %e : Tensor = aten::neg(%r)
          %c : Tensor = aten::mul(%e, %e)
          return (%c)""",
    )
    expect_same(
        inline_tasks.do,
        """graph(%x : Tensor):
          %f : Future(Tensor) = prim::fork_0(%x)
          %l : Future(Tensor)[] = prim::ListConstruct(%f)
          return (%l)
        with prim::fork_0 = graph(%y : Tensor):
          %e : Tensor = aten::neg(%y)
          return (%e)""",
    )


def test_tuples_are_forwarded_and_dropped() -> None:
    expect(
        lower_tuples.do,
        """graph(%x : Tensor, %n : int):
          %t : (Tensor, int) = prim::TupleConstruct(%x, %n)
          %a : Tensor, %b : int = prim::TupleUnpack(%t)
          %1 : int = prim::Constant[value=-1]()
          %c : int = prim::TupleIndex(%t, %1)
          %d : int = aten::add(%b, %c)
          return (%a, %d)""",
        """graph(%x : Tensor, %n : int):
          %1 : int = prim::Constant[value=-1]()
          %d : int = aten::add(%n, %n)
          return (%x, %d)""",
    )


def test_what_may_be_none_is_forwarded_as_what_it_is() -> None:
    expect(
        lower_tuples.do,
        """graph(%x : Tensor, %n : int):
          %none : NoneType = prim::Constant()
          %t : (Tensor?, Tensor?, Any) = prim::TupleConstruct(%x, %none, %n)
          %a : Tensor?, %b : Tensor?, %c : Any = prim::TupleUnpack(%t)
          return (%a, %b, %c)""",
        """graph(%x : Tensor, %n : int):
          %none : NoneType = prim::Constant()
          %t : (Tensor?, Tensor?, Any) = prim::TupleConstruct(%x, %none, %n)
          %a : Tensor?, %b : Tensor?, %c : Any = prim::TupleUnpack(%t)
          return (%a, %b, %c)""",
    )
    expect(
        lower_tuples.do,
        """graph(%x : Tensor):
          %none : NoneType = prim::Constant()
          %t : (Tensor?, Tensor?) = prim::TupleConstruct(%x, %none)
          %a : Tensor?, %b : Tensor? = prim::TupleUnpack(%t)
          return (%a, %b)""",
        """graph(%x : Tensor):
          %none : NoneType = prim::Constant()
          return (%x, %none)""",
    )


def test_tuples_in_control_flow_are_split() -> None:
    expect(
        lower_tuples.do,
        """graph(%x : Tensor, %n : int, %c : bool):
          %t : (Tensor, int) = prim::TupleConstruct(%x, %n)
          %u : (Tensor, int) = prim::If(%c)
            block0():
              -> (%t)
            block1():
              %v : (Tensor, int) = prim::TupleConstruct(%x, %n)
              -> (%v)
          %w : (Tensor, int) = prim::Loop(%n, %c, %u)
            block0(%i : int, %p : (Tensor, int)):
              %a : Tensor, %b : int = prim::TupleUnpack(%p)
              %d : int = aten::add(%b, %i)
              %q : (Tensor, int) = prim::TupleConstruct(%a, %d)
              -> (%c, %q)
          %e : Tensor, %f : int = prim::TupleUnpack(%w)
          return (%e, %f)""",
        """graph(%x : Tensor, %n : int, %c : bool):
          %u : Tensor, %v : int = prim::If(%c)
            block0():
              -> (%x, %n)
            block1():
              -> (%x, %n)
          %e : Tensor, %f : int = prim::Loop(%n, %c, %u, %v)
            block0(%i : int, %a : Tensor, %b : int):
              %d : int = aten::add(%b, %i)
              -> (%c, %a, %d)
          return (%e, %f)""",
    )


def test_tuples_in_tuples_come_out_of_branches_and_loops_in_parts() -> None:
    expect(
        lower_tuples.do,
        """graph(%x : Tensor, %n : int, %c : bool):
          %t : (Tensor, int) = prim::TupleConstruct(%x, %n)
          %u : (Tensor, (Tensor, int)) = prim::TupleConstruct(%x, %t)
          %v : (Tensor, (Tensor, int)) = prim::If(%c)
            block0():
              -> (%u)
            block1():
              -> (%u)
          %w : (Tensor, (Tensor, int)) = prim::Loop(%n, %c, %v)
            block0(%i : int, %p : (Tensor, (Tensor, int))):
              -> (%c, %p)
          %a : Tensor, %s : (Tensor, int) = prim::TupleUnpack(%w)
          %1 : int = prim::Constant[value=1]()
          %k : int = prim::TupleIndex(%s, %1)
          return (%a, %k)""",
        """graph(%x : Tensor, %n : int, %c : bool):
          %u : Tensor, %v : Tensor, %w : int = prim::If(%c)
            block0():
              -> (%x, %x, %n)
            block1():
              -> (%x, %x, %n)
          %d : Tensor, %e : Tensor, %f : int = prim::Loop(%n, %c, %u, %v, %w)
            block0(%i : int, %a : Tensor, %b : Tensor, %g : int):
              -> (%c, %a, %b, %g)
          %1 : int = prim::Constant[value=1]()
          return (%d, %f)""",
    )


def test_tuples_that_leave_stay_unless_the_signature_may_change() -> None:
    text = """graph(%t : (Tensor, (int, int)), %x : Tensor, %n : int):
      %u : (Tensor, int) = prim::TupleConstruct(%x, %n)
      return (%t, %u)"""
    expect_same(lower_tuples.do, text)
    expect(
        lambda graph: lower_tuples.do(graph, signature=True),
        text,
        "graph(%a : Tensor, %b : int, %c : int, %x : Tensor, %n : int):\n  return (%a, %b, %c, %x, %n)",
    )


LOOP = """graph(%x : Tensor, %m : int):
  %t : bool = prim::Constant[value=1]()
  %k : int = prim::Constant[value={trips}]()
  %1 : int = prim::Constant[value=1]()
  %y : Tensor = prim::Loop({limit}, %t, %x)
    block0(%i : int, %z : Tensor):
      %w : Tensor = aten::add(%z, {counter}, %1)
      -> (%t, %w)
  return (%y)"""


def test_short_loops_are_written_out() -> None:
    head = LOOP.partition("  %y")[0].format(trips=2)
    expect(
        loop_unrolling.do,
        LOOP.format(trips=2, limit="%k", counter="%i"),
        head
        + """%i : int = prim::Constant[value=0]()
          %a : Tensor = aten::add(%x, %i, %1)
          %j : int = prim::Constant[value=1]()
          %b : Tensor = aten::add(%a, %j, %1)
          return (%b)""",
    )
    expect(loop_unrolling.do, LOOP.format(trips=-2, limit="%k", counter="%i"),
           LOOP.partition("  %y")[0].format(trips=-2) + " return (%x)")  # fmt: skip


def test_short_loops_in_short_loops_are_written_out_with_them() -> None:
    text = """graph(%x : Tensor, %n : int):
      %t : bool = prim::Constant[value=1]()
      %k : int = prim::Constant[value=3]()
      %y : Tensor = prim::Loop(%n, %t, %x)
        block0(%h : int, %v : Tensor):
          %u : Tensor = prim::Loop(%k, %t, %v)
            block0(%i : int, %z : Tensor):
              %w : Tensor = prim::Loop(%k, %t, %z)
                block0(%j : int, %a : Tensor):
                  %b : Tensor = aten::add(%a, %i, %j)
                  -> (%t, %b)
              -> (%t, %w)
          -> (%t, %u)
      return (%y)"""
    graph = parse_ir(text)
    assert loop_unrolling.do(graph, partly=False)
    verify(graph)
    (loop,) = graph.find_all("prim::Loop")
    assert len(loop.nested_blocks[0].graph.find_all("aten::add")) == 9


def test_other_loops_do_eight_rounds_at_once_and_then_the_rest() -> None:
    graph = parse_ir(LOOP.format(trips=2, limit="%m", counter="%m"))
    assert loop_unrolling.do(graph)
    verify(graph)
    fast, rest = graph.find_all("prim::Loop")
    assert [n.op for n in fast.nested_blocks[0]] == ["aten::add"] * 8, "an unused counter costs nothing"
    assert len(list(rest.nested_blocks[0])) == 1
    counted = parse_ir(LOOP.format(trips=2, limit="%m", counter="%i"))
    loop_unrolling.do(counted)
    verify(counted)
    assert len(counted.find_all("aten::mul")) == 2


def test_long_and_conditional_loops_stay() -> None:
    expect_same(loop_unrolling.do, LOOP.format(trips=100, limit="%k", counter="%i"))
    text = LOOP.format(trips=2, limit="%k", counter="%i")
    expect_same(
        loop_unrolling.do, text.replace("%t : bool = prim::Constant[value=1]", "%t : bool = prim::Constant[value=0]")
    )


def test_values_are_numbered_in_order() -> None:
    graph = parse_ir(
        "graph(%x.1 : Tensor):\n  %9 : Tensor = aten::relu(%x.1)\n  %4 : Tensor = aten::exp(%9)\n  return (%4)"
    )
    assert canonicalize.do(graph)
    assert str(graph) == (
        "graph(%x.1 : Tensor):\n  %1 : Tensor = aten::relu(%x.1)\n  %2 : Tensor = aten::exp(%1)\n  return (%2)\n"
    )
    assert not canonicalize.do(graph)
    assert canonicalize.do(graph, keep_names=False)
    assert str(graph).startswith("graph(%0 : Tensor):")


def test_outlining_takes_constants_in_and_keeps_order() -> None:
    graph = parse_ir("""graph(%x : Tensor, %n : int):
      %1 : int = prim::Constant[value=1]()
      %a : Tensor = aten::add(%x, %n, %1)
      %b : Tensor = aten::relu(%a)
      %c : Tensor = aten::mul(%a, %b)
      return (%b, %c)""")
    outline(list(graph.nodes())[1:3], "prim::FusionGroup")
    verify(graph)
    assert (
        print_graph(graph)
        == """graph(%x : Tensor,
      %n : int):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor = prim::FusionGroup_0(%x, %n)
  %c : Tensor = aten::mul(%a, %b)
  return (%b, %c)
with prim::FusionGroup_0 = graph(%x : Tensor,
      %n : int):
  %2 : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %n, %2)
  %b : Tensor = aten::relu(%a)
  return (%a, %b)
"""
    )
