"""Graphs that stand for operators, asked for by node and given by declaration.

>>> from flambeau.ir import parse_ir
>>> text = "graph(%x):\\n  %y : Tensor = aten::relu(%x)\\n  return (%y)"
>>> _jit_decomposition_graph_for_node(parse_ir(text).findNode("aten::relu")) is None
True
"""

from __future__ import annotations

from flambeau.ir.graph import Graph, Node
from flambeau.jit._decompositions import _register_decomposition
from flambeau.jit.torch_names.schemas import FunctionSchema
from flambeau.passes import run_decompositions


def _jit_register_decomposition_for_schema(schema: FunctionSchema, graph: Graph) -> None:
    """Let a graph stand for the operator of a declaration. Raises as `_register_decomposition` does."""
    _register_decomposition(schema.ours.full_name, graph)


def _jit_decomposition_graph_for_node(node: Node) -> Graph | None:
    """The graph that stands for the operator of a node; None where there is none."""
    return run_decompositions.graph_for(node)
