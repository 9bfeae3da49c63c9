"""Graphs as text. The text parses back to an isomorphic graph (`flambeau.ir.parser`).

```
graph(%x.1 : Tensor,
      %n.1 : int):
  %1 : int = prim::Constant[value=1]() # model.py:12:4
  %2 : Tensor = aten::add(%x.1, %n.1, %1) # model.py:12:8
  return (%2)
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from flambeau.ir.constant_text import attribute_text, type_text
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.kinds import HIDDEN, PYTHON_ARGUMENTS
from flambeau.ir.operands import outs_over_operands
from flambeau.schema.types import FUNCTION
from flambeau.util.depth import deep_recursion

SUBGRAPH = "Subgraph"
"""The attribute that holds the graph of a node such as `prim::fork`."""

_BETWEEN_PARAMETERS = ",\n      "

Note = Callable[[Node], Iterable[str]]
"""Remarks on a node, for instance what a verifier found."""


_ranges_shown: ContextVar[bool] = ContextVar("source ranges in texts of graphs", default=True)


@contextmanager
def hiding_source_ranges(hidden: bool = True) -> Iterator[None]:
    """Within the block, in this thread or task, texts of graphs have no ` # file:line:column`.

    >>> with hiding_source_ranges():
    ...     print(Graph(), end="")
    graph():
      return ()
    """
    token = _ranges_shown.set(not hidden)
    try:
        yield
    finally:
        _ranges_shown.reset(token)


@deep_recursion()
def print_graph(graph: Graph, *, source_ranges: bool | None = None, note: Note | None = None) -> str:
    """The text of a graph and its subgraphs, ending in a newline; a line `^^^ text` per note under its node.

    Source ranges are shown unless `hiding_source_ranges()` or the argument says otherwise.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> print(print_graph(graph), end='')
    graph(%x : Tensor):
      %y : Tensor = aten::neg(%x)
      return (%y)
    """
    shown = _ranges_shown.get() if source_ranges is None else source_ranges
    return "".join(_Printer(shown, note).graph(graph))


@deep_recursion()
def print_node(node: Node, *, source_ranges: bool | None = None) -> str:
    """The text of one node and the blocks in it, ending in a newline; subgraphs are left out.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> print_node(graph.find('aten::neg')).strip()
    '%y : Tensor = aten::neg(%x)'
    """
    shown = _ranges_shown.get() if source_ranges is None else source_ranges
    return "".join(_Printer(shown, None).node(node, 0))


class _Printer:
    """Yields lines; collects the nodes whose subgraphs follow."""

    def __init__(self, source_ranges: bool, note: Note | None) -> None:
        self._source_ranges = source_ranges
        self._note = note
        self._groups: list[Node] = []

    def graph(self, graph: Graph) -> Iterator[str]:
        outer, self._groups = self._groups, []
        yield f"graph({_BETWEEN_PARAMETERS.join(map(typed, graph.parameters))}):\n"
        for node in graph.body:
            yield from self.node(node, 1)
        yield f"  return ({names(graph.returns)})\n"
        yield from self._notes(graph.body.return_node, 1)
        groups, self._groups = self._groups, outer
        for index, node in enumerate(groups):
            yield f"with {node.op}_{index} = "
            yield from self.graph(node.attributes[SUBGRAPH])

    def node(self, node: Node, depth: int) -> Iterator[str]:
        yield from self.line(node, depth)
        yield from self._notes(node, depth)
        for index, block in enumerate(node.nested_blocks):
            yield f"{'  ' * (depth + 1)}block{index}({', '.join(map(typed, block.parameters))}):\n"
            for inner in block:
                yield from self.node(inner, depth + 2)
            yield f"{'  ' * (depth + 2)}-> ({names(block.returns)})\n"
            yield from self._notes(block.return_node, depth + 2)

    def line(self, node: Node, depth: int) -> Iterator[str]:
        yield f"{'  ' * depth}{', '.join(map(typed, node.results))} = {self._kind(node)}({_operands(node)})"
        if node.scope:
            yield f", scope: {node.scope}"
        if self._source_ranges and node.range is not None:
            yield f" # {node.range}"
        yield "\n"

    def _kind(self, node: Node) -> str:
        if node.op.startswith("^"):
            return f"{node.op}{_attributes(node, ())}({node.attributes.get(PYTHON_ARGUMENTS, '')})"
        if isinstance(node.attributes.get(SUBGRAPH), Graph):
            self._groups.append(node)
            shown = node.op != "prim::DifferentiableGraph" and len(node.attributes) > 1
            return f"{node.op}_{len(self._groups) - 1}" + (_attributes(node, (SUBGRAPH,)) if shown else "")
        return node.op + (_attributes(node, ()) if node.attributes else "")

    def _notes(self, node: Node, depth: int) -> Iterator[str]:
        for text in self._note(node) if self._note is not None else ():
            yield f"{'  ' * depth}^^^ {text}\n"


def _attributes(node: Node, left_out: tuple[str, ...]) -> str:
    is_constant = node.op == "prim::Constant" and len(node.results) == 1
    type_ = node.result().static_type if is_constant else None
    if type_ == FUNCTION:
        left_out = (*left_out, "value")
    shown = [
        f"{name}={attribute_text(value, type_ if name == 'value' else None)}"
        for name, value in node.attributes.items()
        if name not in HIDDEN and name not in left_out
    ]
    return f"[{', '.join(shown)}]" if shown or node.op.startswith("^") else ""


def typed(value: Value) -> str:
    """A value where it is defined: `%x : Tensor`."""
    return f"%{value.name} : {type_text(value.static_type)}"


def names(values: Iterable[Value]) -> str:
    """Values where they are used: `%x, %y`."""
    return ", ".join(f"%{v.name}" for v in values)


def _operands(node: Node) -> str:
    named = outs_over_operands(node)
    called = (f"{named[index]}=" if index in named else "" for index in range(len(node.operands)))
    return ", ".join(f"{name}%{v.name}" for name, v in zip(called, node.operands, strict=True))
