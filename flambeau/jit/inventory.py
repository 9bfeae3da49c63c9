"""What a compiled module or function consists of: operators by name, parameters and buffers once each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph
from flambeau.ir.printer import SUBGRAPH
from flambeau.jit.function import ScriptFunction
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.nn.module import Module
from flambeau.passes import inline
from flambeau.program.function import Function
from flambeau.tensor.tensor import Tensor

NOT_COMPILED = "export_opnames takes a scripted or traced module or function, not a {kind}; script it first"


def export_opnames(m: RecursiveScriptModule | ScriptFunction) -> list[str]:
    """The operators, with their overloads, that the methods of a module or a function use, in order of name.

    Those of submodules and of functions that are called are among them; those of branches that constants rule out are
    not. Raises TypeError for what is not compiled.

    Args:
        m: a scripted module or function.

    >>> import flambeau
    >>> export_opnames(flambeau.CompilationUnit("def f(x: Tensor): return (x + x).relu()").f)
    ['aten::add.Tensor', 'aten::relu']
    """
    if isinstance(m, ScriptFunction):
        functions = [m.script_function]
    elif isinstance(m, RecursiveScriptModule):
        functions = list(m.script_object.type.definition.methods.values())
    else:
        raise TypeError(NOT_COMPILED.format(kind=type(m).__name__))
    names: set[str] = set()
    done: set[int] = set()
    while functions:
        function = functions.pop()
        if id(function) not in done:
            done.add(id(function))
            for graph in _graphs(_as_it_runs(function.graph)):
                names.update(_operators(graph))
                functions += _called(graph)
    return sorted(names)


def _as_it_runs(graph: Graph) -> Graph:
    """A graph with what it calls in the place of the calls, but for what its constants rule out."""
    copy = clone_graph(graph)
    inline.do(copy, is_folding=True)
    return copy


def _graphs(graph: Graph) -> Iterator[Graph]:
    """A graph and those of its forks."""
    yield graph
    for node in graph.all_nodes():
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph):
            yield from _graphs(inner)


def _operators(graph: Graph) -> Iterator[str]:
    for node in graph.all_nodes():
        definition = node.definition
        if definition is not None and not node.op.startswith("prim::"):
            yield str(definition.schema).partition("(")[0]


def _called(graph: Graph) -> list[Function]:
    """Functions and methods that a graph calls."""
    functions: list[Function] = []
    for node in graph.all_nodes():
        function = node.attributes.get("function")
        if isinstance(function, Function):
            functions.append(function)
        if node.op == "prim::CallMethod":
            methods = getattr(getattr(node.operand(0).static_type, "definition", None), "methods", {})
            method = methods.get(node.attribute("name"))
            functions += [method] if isinstance(method, Function) else []
    return functions


def _unique_state_dict(module: Module, keep_vars: bool = False) -> dict[str, Tensor]:
    """The `state_dict` of a module in which each tensor stands once, under its first name.

    With `keep_vars` the parameters themselves, not their detached values.

    >>> import flambeau
    >>> layer = flambeau.nn.Linear(2, 2)
    >>> sorted(_unique_state_dict(flambeau.nn.Sequential(layer, layer)))
    ['0.bias', '0.weight']
    """
    seen: set[int] = set()
    unique: dict[str, Any] = {}
    for name, value in module.state_dict(keep_vars=True).items():
        if id(value) not in seen:
            seen.add(id(value))
            unique[name] = value if keep_vars else value.detach()
    return unique
