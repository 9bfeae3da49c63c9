"""Numbers that come from tensors and go back into them: derivatives of graphs go through them. A program that runs an
operator at a time has Python's numbers, which no gradient goes through; it is refused instead of losing some.

>>> import flambeau
>>> @flambeau.script
... def scaled(x):
...     print(x.sum())
...     return x * float(x[0])
>>> try:
...     scaled(flambeau.ones(2, requires_grad=True))
... except RuntimeError as error:
...     print(str(error).partition(" (line")[0])
scaled() makes a number of a tensor and computes a tensor of it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.analysis.gradients import holds_tensors, is_real
from flambeau.autodiff.activity import relevant
from flambeau.executor import gradients
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.program.function import Function
from flambeau.tensor.levels import Wrapper
from flambeau.tensor.tensor import Tensor
from flambeau.util.kept_on import KeptOn
from flambeau.util.source import SourceRange

LOST: Final = (
    "{name}() makes a number of a tensor and computes a tensor of it ({text}), and it runs an operator at a time: "
    "{reason}. The number is then a Python number, which no derivative goes through. Compute with x[i] in the place of "
    "float(x[i]), or read the number from x.detach() if its derivative is not wanted"
)
EFFECTS: Final = "it draws random numbers, prints, or writes to what was there before"
OPEN: Final = "it asks tensors about their gradients itself"
SHARED: Final = "a result shares memory with an argument, or with another result"
OVERRIDDEN: Final = (
    "an operator in it was replaced, it asks for gradients itself, or it has tensors of a class of their own, or "
    "without data"
)
REFERENCE: Final = "its backend is the reference"
WATCHED: Final = "a transform of the function that calls it, or whoever looks at operators, wants to see each"
AGAIN: Final = "its gradients are batches or have tangents"
_reads: KeptOn[Graph, bool] = KeptOn()


def refuse(function: Function, arguments: Sequence[Any], reason: str) -> None:
    """Raise RuntimeError if derivatives of a function by some arguments go through numbers that come from tensors."""
    node = losing(function, arguments)
    if node is not None:
        where = node.range
        text = node.op if where is None else f"line {where.file_line_col()[1]}: {_line(where)}"
        raise RuntimeError(LOST.format(name=function.short_name, text=text, reason=reason))


def losing(function: Function, arguments: Sequence[Any]) -> Node | None:
    """An operator that makes a number which derivatives of a function by some arguments go through, if there is one."""
    graph = inlined_graph(function)
    if not _reads_numbers(graph):
        return None
    asks = [asked or _follows(value) for asked, value in zip(gradients.asking(arguments), arguments, strict=True)]
    sources = gradients.sources(graph, arguments, asks)
    return _reading(graph, sources) if sources else None


def _line(where: SourceRange) -> str:
    """The line of a program that a range is in."""
    return where.source.line(where.source.line_index(where.start)).strip()


def _reads_numbers(graph: Graph) -> bool:
    known = _reads.get(graph)
    if known is None:
        known = _reads[graph] = any(map(is_reading, graph.listed_nodes()))
    return known


def is_reading(node: Node) -> bool:
    """Whether an operator makes a number with a derivative of a tensor."""
    definition = node.definition
    if definition is None and node.op != "prim::tolist":
        return False
    if (definition is not None and definition.differentiable is False) or not node.results:
        return False
    has_tensor = any(holds_tensors(v.static_type) for v in node.operands)
    return has_tensor and any(is_real(v.static_type) and not holds_tensors(v.static_type) for v in node.results)


def _reading(graph: Graph, sources: Sequence[Value]) -> Node | None:
    """The first operator that makes a number of what depends on `sources` which a tensor among the results, or one that
    was there before, depends on."""
    seen = [v for v in (*graph.returns, *graph.parameters) if holds_tensors(v.static_type)]
    values = relevant(graph, sources, seen)
    for node in graph.all_nodes():
        if is_reading(node) and any(v in values for v in node.operands) and any(v in values for v in node.results):
            return node
    return None


def _follows(value: Any) -> bool:
    """Whether a value is, or holds, a tensor with a tangent."""
    if isinstance(value, Tensor):
        return isinstance(value, Wrapper) and value._wrapped.has_derivative()
    return isinstance(value, list | tuple) and any(map(_follows, value))
