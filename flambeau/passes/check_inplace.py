"""Refuse writes in place that the way back through a graph could not stand.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x : Tensor):
...   %y : Tensor = prim::DifferentiableGraph_0(%x)
...   %z : Tensor = aten::zero_(%y)
...   return (%z)
... with prim::DifferentiableGraph_0 = graph(%x : Tensor):
...   %y : Tensor = aten::exp(%x)
...   return (%y)''')
>>> try:
...     do(graph)
... except RuntimeError as error:
...     print(str(error).splitlines()[0])
aten::zero_ writes to memory of %x, which a prim::DifferentiableGraph takes or gives:
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.graph import Graph, Node
from flambeau.passes.create_autodiff_subgraphs import GROUP
from flambeau.schema.types import TensorType

PYTHON: Final = (
    "inplace {name} not supported in the JIT: a Python function that writes to its arguments has no derivative here"
)
WRITTEN: Final = (
    "{writer} writes to memory of %{name}, which a prim::DifferentiableGraph takes or gives:\n"
    "its way back may need what was there. Write to a copy (x.clone())"
)


def do(graph: Graph) -> bool:
    """Look for such writes; nothing is changed. Raises RuntimeError for the first, at its place in the source."""
    for node in graph.all_nodes():
        if node.op.startswith("^") and node.attributes.get("inplace"):
            raise RuntimeError(_at(node, PYTHON.format(name=node.op[1:])))
    groups = graph.find_all(GROUP)
    aliases = AliasAnalysis(graph) if groups else None
    for group in groups:
        for value in (*group.operands, *group.results):
            writers = [] if aliases is None or not isinstance(value.static_type, TensorType) else aliases.writers(value)
            if writers:
                text = WRITTEN.format(writer=writers[0].op, name=value.name)
                raise RuntimeError(_at(writers[0], text))
    return False


def _at(node: Node, text: str) -> str:
    return text if node.range is None else f"{text}\n{node.range.highlight()}"
