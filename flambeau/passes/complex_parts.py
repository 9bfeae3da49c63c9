"""Parts and conjugates of complex tensors as pointwise operators, which kernels know, in the place of views.

```
%2 : ComplexDouble(*) = aten::conj(%z)          %2 : ComplexDouble(*) = aten::conj_physical(%z)
%3 : ComplexDouble(*) = aten::mul(%2, %z)   →   %3 : ComplexDouble(*) = aten::mul(%2, %z)
%4 : Double(*) = aten::real(%3)                 %4 : Double(*) = prims::real(%3)
%5 : Double() = aten::sum(%4, %none)            %5 : Double() = aten::sum(%4, %none)
```

A part is a copy only where a kernel reads it, and where nobody writes to its memory. A conjugate is one always.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis, forget_analyses
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.fusible import COMPLEX, Fusible
from flambeau.schema.types import TensorType
from flambeau.util.record import replace

PARTS: Final = {"aten::real": "prims::real", "aten::imag": "prims::imag"}
"""Views of parts, and what copies these."""
CONJUGATES: Final = ("aten::conj", "aten::_conj")
TURNED: Final = ("aten::mH", "aten::adjoint", "aten::matrix_H")
"""Matrices transposed and conjugated."""
KINDS: Final = (*PARTS, *CONJUGATES, *TURNED)


def do(graph: Graph) -> bool:
    """Replace what is known to be of complex tensors, or of real ones."""
    nodes = [n for n in graph.listed_nodes() if n.op in KINDS and _dtype_is_known(n.operand(0))]
    parts = [n for n in nodes if n.op in PARTS and _is_complex(n.operand(0))]
    fusible, aliases = Fusible(graph), alias_analysis(graph) if parts else None
    changed = [n for n in parts if aliases is not None and _may_be_copied(n, fusible, aliases)]
    for node in changed:
        _replace(graph, node, graph.create(PARTS[node.op], node.operands, [node.result().static_type]))
    for node in nodes:
        if node.op not in PARTS and _is_of_matrices(node) and (_is_complex(node.operand(0)) or node.op in CONJUGATES):
            _conjugate(graph, node)
            changed.append(node)
    if changed:
        forget_analyses(graph)
    return bool(changed)


def _dtype_is_known(value: Value) -> bool:
    type_ = value.static_type
    return isinstance(type_, TensorType) and type_.dtype is not None and type_.rank is not None


def _is_complex(value: Value) -> bool:
    type_ = value.static_type
    return isinstance(type_, TensorType) and type_.dtype in COMPLEX


def _may_be_copied(node: Node, fusible: Fusible, aliases: AliasAnalysis) -> bool:
    """Whether kernels alone read a part, and nobody writes to its memory."""
    users = [use.user for use in node.result().uses()]
    return bool(users) and all(map(fusible.is_fusible, users)) and not aliases.has_writers(node.operand(0))


def _is_of_matrices(node: Node) -> bool:
    """Whether what a node transposes, if it does, has the axes for that."""
    type_ = node.operand(0).static_type
    return node.op in CONJUGATES or (isinstance(type_, TensorType) and (type_.rank or 0) > 1)


def _conjugate(graph: Graph, node: Node) -> None:
    """Put the conjugate of a tensor, or of its transpose, in the place of a node; of a real one itself."""
    source = node.operand(0)
    if not _is_complex(source):
        node.result().replace_uses_with(source)
        node.erase()
        return
    assert isinstance(source.static_type, TensorType)
    if node.op in TURNED:
        assert source.static_type.sizes is not None
        *outer, rows, columns = source.static_type.sizes
        turned = replace(source.static_type, sizes=(*outer, columns, rows), strides=None)
        with graph.inserting(node), graph.at_range(node.range):
            axes = [insert_constant(graph, d) for d in (-2, -1)]
            source = graph.insert("aten::transpose", [source, *axes], [turned]).result()
    _replace(graph, node, graph.create("aten::conj_physical", (source,), [node.result().static_type]))


def _replace(graph: Graph, node: Node, new: Node) -> None:
    new.copy_metadata(node)
    new.insert_before(node)
    old = node.result()
    name = old.name if old.has_name else ""
    old.replace_uses_with(new.result())
    node.erase()
    if name:
        graph.rename(new.result(), name)
