"""Graphs that may stand for operators, given by users: `_register_decomposition`."""

from __future__ import annotations

from typing import Any

from flambeau.ir.graph import Graph
from flambeau.passes import run_decompositions

NO_OPERATOR = "_register_decomposition takes an overload such as flambeau.ops.aten.square.default, not a {found}"


def _register_decomposition(op: Any, graph: Any) -> None:
    """Let a graph stand for one overload of an operator where `run_decompositions` is run over another graph.

    The overload is `flambeau.ops.aten.square.default` or its full name, `"aten::square"`; the graph is that of a
    function which computes the same. Raises TypeError for what is no operator, KeyError for an unknown one, ValueError
    for a graph with other parameters or results. Compiling is as it was: only who runs that pass sees the graph.

    >>> import flambeau
    >>> unit = flambeau.CompilationUnit("def f(x): return x * x\\ndef g(x): return flambeau.square(x)")
    >>> _register_decomposition(flambeau.ops.aten.square.default, unit.f.graph)
    >>> [n.op for n in flambeau._C.run_pass("run_decompositions", unit.g.graph).nodes()]
    ['aten::mul']
    """
    schema = getattr(op, "_schema", None)
    name = op if isinstance(op, str) else getattr(schema, "full_name", None)
    if not isinstance(name, str):
        raise TypeError(NO_OPERATOR.format(found=type(op).__name__))
    ours = getattr(graph, "ours", graph)
    if not isinstance(ours, Graph):
        raise TypeError(f"a decomposition is a graph, such as fn.graph, not a {type(graph).__name__}")
    run_decompositions.register(name, ours)
