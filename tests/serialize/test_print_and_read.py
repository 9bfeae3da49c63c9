"""Printed code, compiled again, is the same program: it prints the same and computes the same."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest

import flambeau.ops
from flambeau.interpreter.reference import evaluate
from flambeau.ir import Graph, parse_ir
from flambeau.ir.equal import first_difference
from flambeau.ir.verify import verify
from flambeau.program.function import Function
from flambeau.program.unit import CompilationUnit
from flambeau.serialize import print_code, print_code_with_constants
from flambeau.serialize.python_print_resolver import read_code
from flambeau.util.errors import CompileError
from tests.frontend.programs import CASES
from tests.frontend.support import compiled

assert flambeau.ops
KEYWORD_ONLY = "calls"
"""The program that calls a function with keyword-only parameters, which printed code gives by position."""


def reached(function: Function, unit: CompilationUnit) -> None:
    """Put the functions and types that a function uses into a unit, under qualified names."""
    for node in function.graph.all_nodes():
        callee = node.attributes.get("function")
        if isinstance(callee, Function):
            if not callee.name.startswith("__torch__."):
                callee.name = f"__torch__.{callee.name}"
            if not unit.is_taken(callee.name):
                unit.define(callee)
                reached(callee, unit)
        for value in node.results:
            for type_ in value.static_type.walk():
                name = getattr(type_, "name", None)
                if isinstance(name, str) and name.startswith("__torch__.") and not unit.is_taken(name):
                    unit.register_type(type_)


def read_back(function: Function) -> tuple[str, Function]:
    """The code of a function and what compiling that code gives."""
    unit = CompilationUnit()
    reached(function, unit)
    for value in function.graph.parameters:
        for type_ in value.static_type.walk():
            name = getattr(type_, "name", None)
            if isinstance(name, str) and name.startswith("__torch__.") and not unit.is_taken(name):
                unit.register_type(type_)
    text, constants = print_code_with_constants(function)
    [again] = read_code(text, list(vars(constants).values()), unit=unit)
    return text, again


def kinds(graph: Graph) -> Counter[str]:
    return Counter(node.op for node in graph.all_nodes() if node.op != "prim::Constant")


def outcome(graph: Graph, arguments: tuple[Any, ...]) -> Any:
    try:
        return evaluate(graph, copy.deepcopy(arguments), check_types=False)[0]
    except Exception as error:
        return f"raised {error}"


@pytest.mark.parametrize(
    ("fn", "calls"), [c for c in CASES if c[0].__name__ != KEYWORD_ONLY], ids=lambda v: getattr(v, "__name__", "")
)
def test_read_code_computes_the_same(fn: Any, calls: list[tuple[Any, ...]]) -> None:
    function = compiled(fn)
    _, again = read_back(function)
    verify(again.graph)
    for arguments in calls:
        given = [*arguments, *(a.default for a in function.schema.arguments[len(arguments) :])]
        assert outcome(again.graph, tuple(given)) == outcome(function.graph, tuple(given))


@pytest.mark.parametrize("fn", [c[0] for c in CASES if c[0].__name__ != KEYWORD_ONLY], ids=lambda fn: fn.__name__)
def test_reading_settles(fn: Any) -> None:
    """Reading may add copies of variables, once.

    The flags of early exits are ordinary variables when they are read, whose order among results is free.
    """
    _, once = read_back(compiled(fn))
    text, twice = read_back(once)
    has_settled = print_code(twice) == text
    find = once.graph.find
    has_flags = find("prim::Uninitialized") or (find("prim::If") and find("prim::Loop"))
    if not has_flags:
        assert has_settled
    else:
        assert kinds(once.graph) == kinds(twice.graph)


def with_own_constants(graph: Graph) -> Graph:
    """Every use of a constant with a constant of its own before it: where constants stand means nothing."""
    for node in [*graph.all_nodes(), *(b.return_node for b in every_block(graph))]:
        for index, value in enumerate(node.operands):
            if value.defining_node is not None and value.defining_node.op == "prim::Constant":
                own = graph.create("prim::Constant", (), (value.static_type,), **value.defining_node.attributes)
                node.replace_operand(index, own.insert_before(node).result())
    for node in list(graph.all_nodes()):
        if node.op == "prim::Constant" and not node.result().is_used:
            node.erase()
    return graph


def every_block(graph: Graph) -> list[Any]:
    return [graph.body, *(b for n in graph.all_nodes() for b in n.nested_blocks)]


GRAPHS = {
    "straight": """
        graph(%x.1 : Tensor, %y.1 : Tensor):
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %a.1 : Tensor = aten::mul(%x.1, %y.1)
          %4 : Tensor = aten::add(%a.1, %y.1, %one)
          %5 : Tensor = aten::add_(%a.1, %4, %two)
          %6 : (Tensor, Tensor) = prim::TupleConstruct(%5, %4)
          return (%6)
    """,
    "branches": """
        graph(%c.1 : bool, %x.1 : int):
          %y : int, %z : int = prim::If(%c.1)
            block0():
              %1 : int = aten::mul(%x.1, %x.1)
              -> (%1, %x.1)
            block1():
              -> (%x.1, %x.1)
          %4 : int = aten::mul(%y, %z)
          return (%4)
    """,
    "loop": """
        graph(%n.1 : int, %x.1 : int):
          %t : bool = prim::Constant[value=1]()
          %x : int = prim::Loop(%n.1, %t, %x.1)
            block0(%i.1 : int, %x.3 : int):
              %x.5 : int = aten::mul(%x.3, %i.1)
              -> (%t, %x.5)
          return (%x)
    """,
    "optionals": """
        graph(%x.1 : int?):
          %n : NoneType = prim::Constant()
          %one : int = prim::Constant[value=1]()
          %1 : bool = aten::__is__(%x.1, %n)
          %y : int = prim::If(%1)
            block0():
              -> (%one)
            block1():
              %x.3 : int = prim::unchecked_cast(%x.1)
              -> (%x.3)
          return (%y)
    """,
    "containers": """
        graph(%x.1 : int, %s.1 : str):
          %1 : int[] = prim::ListConstruct()
          %2 : int[] = aten::append(%1, %x.1)
          %3 : Dict(str, int) = prim::DictConstruct(%s.1, %x.1)
          %4 : int = aten::__getitem__(%3, %s.1)
          %5 : (int[], Dict(str, int), int) = prim::TupleConstruct(%1, %3, %4)
          return (%5)
    """,
    "printing": """
        graph(%x.1 : int):
          %s : str = prim::Constant[value="a\\n\\016'"]()
          %f : float = prim::Constant[value=10000000000.]()
           = prim::Print(%s, %x.1, %f)
          %n : NoneType = prim::Constant()
          return (%n)
    """,
}


@pytest.mark.parametrize("name", GRAPHS)
def test_read_code_is_isomorphic(name: str) -> None:
    graph = parse_ir(GRAPHS[name])
    [again] = read_code(print_code(graph, name="f"))
    assert first_difference(with_own_constants(graph), with_own_constants(again.graph)) is None


def test_constants_come_back() -> None:
    [function] = read_code("def f() -> str:\n  return CONSTANTS.c1\n", [1, "é"])
    text, constants = print_code_with_constants(function)
    assert text == "def f() -> str:\n  return CONSTANTS.c0\n"
    assert constants.c0 == "é"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("CONSTANTS.c1", "there is no constant c1: the code came with 1 constants"),
        ("uninitialized(int, 3)", "uninitialized expected 1 arguments, got 2"),
        ("__torch__.missing(3, )", "cannot call a"),
    ],
)
def test_refusals(expression: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        read_code(f"def f() -> int:\n  return {expression}\n", [3])
