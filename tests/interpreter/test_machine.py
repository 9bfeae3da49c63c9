"""The machine on graphs written by hand: calls, containers, objects, contexts, memory, threads."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import flambeau.ops
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import call, interpret, run
from flambeau.interpreter.reference import evaluate
from flambeau.ir.graph import Graph
from flambeau.ir.parser import parse_ir
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.types import BOOL, FUNCTION, INT, NONE, TENSOR, ListType, OptionalType, Type
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import wrap
from flambeau.util.errors import ExecutionError, InternalError

assert flambeau.ops is not None


def both(text: str, *inputs: Any) -> tuple[Any, ...]:
    """The machine's results, equal to the reference's."""
    graph = parse_ir(text)
    results = interpret(graph, inputs)
    assert repr(evaluate(graph, inputs)) == repr(results)
    return results


def function(name: str, graph: Graph) -> Function:
    return Function(name, graph, schema_of(name, graph))


def constant(graph: Graph, value: Any, type_: Type) -> Any:
    return graph.insert("prim::Constant", (), (type_,), **({} if value is None else {"value": value})).result()


def callee_constant(graph: Graph, callee: Function) -> Any:
    return graph.insert("prim::Constant", (), (FUNCTION,), name=callee.name, function=callee).result()


def test_a_loop_that_swaps_what_it_carries() -> None:
    text = """graph(%n : int, %a : int, %b : int):
  %t : bool = prim::Constant[value=1]()
  %x : int, %y : int = prim::Loop(%n, %t, %a, %b)
    block0(%i : int, %p : int, %q : int):
      -> (%t, %q, %p)
  return (%x, %y)
"""
    assert both(text, 3, 1, 2) == (2, 1)
    assert both(text, 0, 1, 2) == (1, 2)
    assert both(text, -5, 1, 2) == (1, 2)


def test_a_while_loop() -> None:
    text = """graph(%n : int):
  %max : int = prim::Constant[value=9223372036854775807]()
  %one : int = prim::Constant[value=1]()
  %c : bool = aten::gt(%n, %one)
  %x : int = prim::Loop(%max, %c, %n)
    block0(%i : int, %p : int):
      %q : int = aten::sub(%p, %one)
      %d : bool = aten::gt(%q, %one)
      -> (%d, %q)
  return (%x)
"""
    assert both(text, 10) == (1,)
    assert both(text, -3) == (-3,)


def test_containers_are_made_and_taken_apart() -> None:
    text = """graph(%a : int, %b : int):
  %k : str = prim::Constant[value="k"]()
  %l : int[] = prim::ListConstruct(%a, %b)
  %d : Dict(str, int) = prim::DictConstruct(%k, %b)
  %t : (int[], int) = prim::TupleConstruct(%l, %a)
  %u : int[], %v : int = prim::TupleUnpack(%t)
  %x : int, %y : int = prim::ListUnpack(%u)
  %z : int = aten::__getitem__(%d, %k)
  return (%t, %x, %y, %z, %v)
"""
    assert both(text, 3, 4) == (([3, 4], 3), 3, 4, 4, 3)


def test_unpacking_a_list_of_another_length() -> None:
    text = "graph(%l : int[]):\n  %x : int, %y : int = prim::ListUnpack(%l)\n  return (%x, %y)\n"
    with pytest.raises(ExecutionError, match="Expected 2 elements in a list but found 3"):
        interpret(parse_ir(text), [[1, 2, 3]])


def test_isinstance_looks_at_the_value() -> None:
    graph = Graph()
    value = graph.add_parameter(OptionalType(INT), "x")
    node = graph.insert("prim::isinstance", [value], (BOOL,))
    node.attributes["types"] = [NONE]
    graph.add_return(node.result())
    assert interpret(graph, [None]) == evaluate(graph, [None]) == (True,)
    assert interpret(graph, [3]) == evaluate(graph, [3]) == (False,)


def nested_calls(depth: int) -> Function:
    graph = Graph()
    graph.add_return(graph.insert("aten::neg", [graph.add_parameter(INT, "x")], (INT,)).result())
    last = function("f0", graph)
    for number in range(1, depth):
        graph = Graph()
        x = graph.add_parameter(INT, "x")
        graph.add_return(graph.insert("prim::CallFunction", [callee_constant(graph, last), x], (INT,)).result())
        last = function(f"f{number}", graph)
    return last


def test_calls_do_not_use_the_stack_of_python() -> None:
    assert call(nested_calls(20_000), 5) == -5


def counter_class() -> ClassDefinition:
    definition = ClassDefinition("__torch__.Counter")
    definition.add_attribute("n", INT)
    graph = Graph()
    me, step = graph.add_parameter(definition.type, "self"), graph.add_parameter(INT, "step")
    old = graph.insert("prim::GetAttr", [me], (INT,), name="n").result()
    new = graph.insert("aten::add", [old, step], (INT,)).result()
    graph.insert("prim::SetAttr", [me, new], (), name="n")
    graph.add_return(new)
    definition.add_method("bump", function("bump", graph))
    return definition


def test_objects_have_attributes_and_methods() -> None:
    definition = counter_class()
    graph = Graph()
    three = constant(graph, 3, INT)
    made = graph.insert("prim::CreateObject", (), (definition.type,)).result()
    graph.insert("prim::SetAttr", [made, three], (), name="n")
    bumped = graph.insert("prim::CallMethod", [made, three], (INT,), name="bump").result()
    graph.add_return(bumped)
    graph.add_return(made)
    value, instance = interpret(graph, [])
    assert (value, instance.get("n")) == (6, 6)
    assert evaluate(graph, [])[0] == 6


def test_an_attribute_without_value_is_refused() -> None:
    definition = counter_class()
    graph = Graph()
    made = graph.insert("prim::CreateObject", (), (definition.type,)).result()
    graph.add_return(graph.insert("prim::GetAttr", [made], (INT,), name="n").result())
    with pytest.raises(ExecutionError, match=r"attribute 'n' of __torch__\.Counter was used before it was assigned"):
        interpret(graph, [])


class Context:
    """Notes what happens to it."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def __enter__(self) -> Context:
        self.events.append("enter")
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.events.append("exit" if kind is None else f"exit {kind.__name__}")


@pytest.mark.parametrize(("divisor", "events"), [(1, ["enter", "exit"]), (0, ["enter", "exit RuntimeError"])])
def test_contexts_are_left_in_any_case(divisor: int, events: list[str]) -> None:
    text = """graph(%c : Any, %a : int, %b : int):
  %e : Any = prim::Enter(%c)
  %q : int = aten::floordiv(%a, %b)
   = prim::Exit(%c)
  return (%q)
"""
    context = Context()
    if divisor:
        assert interpret(parse_ir(text), [context, 6, divisor]) == (6,)
    else:
        with pytest.raises(ExecutionError, match="division by 0"):
            interpret(parse_ir(text), [context, 6, divisor])
    assert context.events == events


def test_what_is_no_context_cannot_be_entered() -> None:
    graph = parse_ir("graph(%c : Any):\n  %e : Any = prim::Enter(%c)\n  return (%c)")
    for runs in (interpret, evaluate):
        with pytest.raises(Exception, match="'Tensor' object does not support the context manager protocol"):
            runs(graph, [flambeau.ones(1)])


def test_keyboard_interrupt_passes_as_it_is() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    graph = Graph()
    graph.insert("^interrupted", (), (), callable=interrupted)
    with pytest.raises(KeyboardInterrupt):
        interpret(graph, [])


def test_memory_goes_when_a_value_was_used_last() -> None:
    alive: list[bool] = []
    seen: list[weakref.ref[Any]] = []

    def note(value: Any) -> None:
        seen.append(weakref.ref(value))

    def look() -> None:
        gc.collect()
        alive.append(seen[0]() is not None)

    graph = Graph()
    x = graph.add_parameter(TENSOR, "x")
    one = constant(graph, 1, INT)
    y = graph.insert("aten::add", [x, x, one]).result()
    graph.insert("^note", [y], (), callable=note)
    graph.insert("^look", (), (), callable=look)
    z = graph.insert("aten::add", [y, x, one]).result()
    graph.insert("^look", (), (), callable=look)
    graph.add_return(z)
    interpret(graph, [wrap(np.ones(3, np.float32))])
    assert alive == [True, False]


def test_a_python_function_has_to_keep_its_word() -> None:
    graph = Graph()
    graph.add_return(graph.insert("^pair", (), (INT,), callable=lambda: (1, 2)).result())
    with pytest.raises(ExecutionError, match="declared to return int but instead got value of type tuple"):
        interpret(graph, [])


def test_a_kernel_in_a_node_runs() -> None:
    graph = Graph()
    x = graph.add_parameter(INT, "x")
    group = graph.insert("prim::FusionGroup", [x], (INT, INT), kernel=lambda v: (v + 1, v * 2))
    for value in group.results:
        graph.add_return(value)
    assert interpret(graph, [5]) == (6, 10)


def test_a_group_without_kernel_runs_its_subgraph() -> None:
    inner = Graph()
    inner.add_return(inner.insert("aten::neg", [inner.add_parameter(INT, "a")], (INT,)).result())
    graph = Graph()
    x = graph.add_parameter(INT, "x")
    graph.add_return(graph.insert("prim::FusionGroup", [x], (INT,), Subgraph=inner).result())
    assert interpret(graph, [5]) == evaluate(graph, [5]) == (-5,)


def test_fork_and_wait() -> None:
    text = """graph(%x : int):
  %f : Future(int) = prim::fork_0(%x)
  %y : int = aten::wait(%f)
  return (%y)
with prim::fork_0 = graph(%a : int):
  %b : int = aten::neg(%a)
  return (%b)
"""
    assert both(text, 4) == (-4,)


def test_interceptors_see_tensor_operators() -> None:
    graph = Graph()
    x = graph.add_parameter(TENSOR, "x")
    graph.add_return(graph.insert("aten::relu", [x]).result())
    code = compile_graph(graph)
    seen: list[str] = []

    def note(definition: Any, arguments: Any, proceed: Any) -> Any:
        seen.append(definition.name)
        return proceed(arguments)

    with dispatch.intercepting(note):
        run(code, [wrap(np.ones(2, np.float32))])
    run(code, [wrap(np.ones(2, np.float32))])
    assert seen == ["aten::relu"]


def test_a_loop_warns_once_and_another_run_again() -> None:
    text = """graph(%n : int):
  %t : bool = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %s : str = prim::Constant[value="careful"]()
   = prim::Loop(%n, %t)
    block0(%i : int):
       = aten::warn(%s, %two)
      -> (%t)
   = aten::warn(%s, %two)
  return ()
"""
    code = compile_graph(parse_ir(text))
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(code, [5])
            evaluate(parse_ir(text), [5])
        assert [str(w.message) for w in caught] == ["careful"] * 4


WARNER = """graph():
  %two : int = prim::Constant[value=2]()
  %s : str = prim::Constant[value="old"]()
  %a : str = prim::Constant[value="builtins.DeprecationWarning"]()
  %b : str = prim::Constant[value="nobody.Knows"]()
   = python::warn(%s, %a, %two)
   = python::warn(%s, %b, %two)
   = aten::warn(%s, %two)
  return ()
"""


@pytest.mark.parametrize("runs", [lambda g: run(compile_graph(g), []), lambda g: evaluate(g, [])])
def test_warnings_are_of_their_class(runs: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runs(parse_ir(WARNER))
    assert [w.category for w in caught] == [DeprecationWarning, UserWarning, UserWarning]


def test_one_code_runs_in_many_threads() -> None:
    text = """graph(%n : int):
  %t : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %s : int = prim::Loop(%n, %t, %zero)
    block0(%i : int, %p : int):
      %q : int = aten::add(%p, %i)
      -> (%t, %q)
  return (%s)
"""
    code = compile_graph(parse_ir(text))
    results: dict[int, int] = {}
    threads = [
        threading.Thread(target=lambda n=n: results.__setitem__(n, run(code, [n])[0])) for n in range(1000, 5000, 500)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: n * (n - 1) // 2 for n in range(1000, 5000, 500)}


def test_what_nothing_can_run_is_refused_before_the_run() -> None:
    graph = Graph()
    graph.insert("my::op", [graph.add_parameter(INT, "x")], ())
    with pytest.raises(RuntimeError, match=r"Unknown builtin op: my::op of \(int\)"):
        compile_graph(graph)
    graph = Graph()
    graph.insert("aten::floordiv", [graph.add_parameter(ListType(INT), "x")], ())
    with pytest.raises(RuntimeError, match=r"no overload of aten::floordiv takes \(int\[\]\); there are:"):
        compile_graph(graph)


def test_the_number_of_arguments_is_checked() -> None:
    graph = Graph("f")
    graph.add_parameter(INT, "x")
    with pytest.raises(TypeError, match=r"f\(\) takes 1 arguments but 2 were given"):
        interpret(graph, [1, 2])


def test_the_reference_checks_types() -> None:
    graph = Graph()
    graph.add_return(graph.add_parameter(INT, "x"))
    with pytest.raises(InternalError, match="%x : int from a parameter is a float"):
        evaluate(graph, [1.0])


def test_bytecode_can_be_read() -> None:
    text = """graph(%x : int):
  %one : int = prim::Constant[value=1]()
  %y : int = aten::add(%x, %one)
  %z : int = aten::mul(%y, %y) # m.py:3:4
  return (%z)
"""
    assert str(compile_graph(parse_ir(text), "f")) == (
        "f(r0(%x): int)  # 2 registers\n"
        "  r1 = 1\n"
        "block 0:\n"
        "  ADD       r0 = r0 + r1\n"
        "  CALL2     r0 = aten::mul.int(r0, r0)" + " " * 34 + " # m.py:3:4\n"
        "  RETURN    r0\n"
    )
