"""Failures at run time show the program's own places, through calls and inlined calls."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau.ops
from flambeau.interpreter.machine import call, interpret
from flambeau.ir.graph import Graph
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.types import FUNCTION, INT, NONE, STRING
from flambeau.util.errors import ExecutionError, ScriptError
from flambeau.util.source import Source

assert flambeau.ops is not None
TEXT = "def g(a):\n    return 3 // a\n\ndef f(a):\n    return g(a)\n"
SOURCE = Source(TEXT, "model.py")
DIVISION = SOURCE.range(TEXT.index("3 //"), TEXT.index("3 //") + 6)
CALL = SOURCE.range(TEXT.index("g(a)\n", 30), TEXT.index("g(a)\n", 30) + 4)
EXPECTED = """The following operation failed in the TorchScript interpreter.
Traceback of TorchScript (most recent call last):
  File "model.py", line 5, in f

def f(a):
    return g(a)
           ~~~~ <--- HERE
  File "model.py", line 2, in g
def g(a):
    return 3 // a
           ~~~~~~ <--- HERE

def f(a):
RuntimeError: division by 0"""


def dividing(graph: Graph, a: Any) -> Any:
    three = graph.insert("prim::Constant", (), (INT,), value=3).result()
    with graph.at_range(DIVISION):
        return graph.insert("aten::floordiv", [three, a], (INT,))


def caller() -> Function:
    inner = Graph()
    inner.add_return(dividing(inner, inner.add_parameter(INT, "a")).result())
    g = Function("__torch__.g", inner, schema_of("g", inner))
    graph = Graph()
    a = graph.add_parameter(INT, "a")
    constant = graph.insert("prim::Constant", (), (FUNCTION,), name="g", function=g).result()
    with graph.at_range(CALL):
        graph.add_return(graph.insert("prim::CallFunction", [constant, a], (INT,)).result())
    return Function("__torch__.f", graph, schema_of("f", graph))


def test_frames_of_calls() -> None:
    with pytest.raises(ExecutionError) as caught:
        call(caller(), 0)
    assert str(caught.value) == EXPECTED
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_frames_of_inlined_calls_are_the_same() -> None:
    graph = Graph()
    node = dividing(graph, graph.add_parameter(INT, "a"))
    node.call_chain = (("g", CALL),)
    graph.add_return(node.result())
    with pytest.raises(ExecutionError) as caught:
        call(Function("__torch__.f", graph, schema_of("f", graph)), 0)
    assert str(caught.value) == EXPECTED


@pytest.mark.parametrize(
    ("message", "name", "last"),
    [
        ("too small", "builtins.ValueError", "builtins.ValueError: too small"),
        ("AssertionError: small", None, "RuntimeError: AssertionError: small"),
        ("", "builtins.KeyError", "builtins.KeyError"),
    ],
)
def test_exceptions_of_the_program(message: str, name: str | None, last: str) -> None:
    graph = Graph("f")
    text = graph.insert("prim::Constant", (), (STRING,), value=message).result()
    attributes = {} if name is None else {"value": name}
    kind = graph.insert("prim::Constant", (), (NONE if name is None else STRING,), **attributes).result()
    with graph.at_range(DIVISION):
        graph.insert("prim::RaiseException", [text, kind], ())
    with pytest.raises(ScriptError) as caught:
        interpret(graph, [])
    assert str(caught.value).splitlines()[-1] == last
    assert '  File "model.py", line 2, in f\n' in str(caught.value)
    assert not isinstance(caught.value, RuntimeError)


def test_exceptions_of_python_functions_keep_their_class() -> None:
    def bad() -> None:
        raise ValueError("no")

    graph = Graph("f")
    graph.insert("^bad", (), (), callable=bad)
    with pytest.raises(ExecutionError) as caught:
        interpret(graph, [])
    assert str(caught.value).splitlines()[-1] == "RuntimeError: ValueError: no"


def test_frames_of_a_program_called_from_python_follow() -> None:
    f = caller()
    graph = Graph("outer")
    graph.insert("^again", [graph.add_parameter(INT, "a")], (), callable=lambda a: call(f, a))
    with pytest.raises(ExecutionError) as caught:
        interpret(graph, [0])
    assert [name for name, _ in caught.value.frames] == ["outer", "f", "g"]


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_whoever_runs_a_program_its_failures_read_alike(backend: str) -> None:
    """Native code leaves before an operation that fails; the interpreter repeats it."""

    def divide(n: int, by: int) -> int:
        total = 0
        for k in range(n):
            total += k // by
        return total

    function = flambeau.script(backend=backend)(divide)
    for _ in range(3):
        assert function(4, 1) == 6
    with pytest.raises(ZeroDivisionError) as caught:
        function(4, 0)
    text = str(caught.value)
    assert text.startswith("The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript")
    assert "            total += k // by\n                     ~~~~~~~ <--- HERE\n" in text
    assert text.endswith("RuntimeError: division by 0")
