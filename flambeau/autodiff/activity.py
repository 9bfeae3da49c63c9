"""Which values of a graph a gradient goes through: those that depend on what asks, and that a result depends on.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x : Tensor, %y : Tensor):
...   %a : Tensor = aten::mul(%x, %y)
...   %b : Tensor = aten::exp(%y)
...   %c : Tensor = aten::mul(%a, %b)
...   return (%c)''')
>>> sorted(v.name for v in relevant(graph, [graph.parameters[0]], graph.returns))
['a', 'c', 'x']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import own_writes
from flambeau.analysis.gradients import carried, is_real
from flambeau.ir.graph import Graph, Node, Value


def relevant(
    graph: Graph,
    sources: Iterable[Value],
    results: Iterable[Value],
    alias: AliasAnalysis | None = None,
) -> set[Value]:
    """The values that depend on `sources` and that `results` depend on, in ways that have derivatives."""
    nodes = graph.listed_nodes()
    written = values_written(graph, nodes, alias)
    return _dependent(nodes, set(sources), written) & _needed(nodes, set(results), written)


def dependent(graph: Graph, sources: Iterable[Value]) -> set[Value]:
    """The values that depend on `sources` in ways that have derivatives."""
    nodes = graph.listed_nodes()
    return _dependent(nodes, set(sources), values_written(graph, nodes))


def values_written(graph: Graph, nodes: Sequence[Node], alias: AliasAnalysis | None = None) -> dict[Node, list[Value]]:
    """Of each node that writes, the values that it may write to, or to something in them."""
    writers = [n for n in nodes if own_writes(n)]
    if not writers:
        return {}
    aliases = alias or AliasAnalysis(graph, apart=True)
    values = [*graph.parameters]
    for node in nodes:
        values += [*node.results, *(v for block in node.nested_blocks for v in block.parameters)]
    written: dict[Node, list[Value]] = {}
    for value in values:
        if is_real(value.static_type):
            for writer in aliases.writers(value):
                written.setdefault(writer, []).append(value)
    return written


Written = Mapping[Node, Sequence[Value]]


def _dependent(nodes: Sequence[Node], values: set[Value], written: Written) -> set[Value]:
    size = -1
    while size < len(values):
        size = len(values)
        for node in nodes:
            for source, target in _passed(node):
                if source in values:
                    values.add(target)
            if not node.nested_blocks and any(v in values for v in node.operands):
                values.update(carried(node, values))
                values.update(written.get(node, ()))
    return values


def _needed(nodes: Sequence[Node], values: set[Value], written: Written) -> set[Value]:
    size = -1
    while size < len(values):
        size = len(values)
        for node in reversed(nodes):
            for source, target in _passed(node):
                if target in values:
                    values.add(source)
            if node.nested_blocks or not (own_writes(node) or carried(node, node.operands)):
                continue
            if any(v in values for v in (*node.results, *written.get(node, ()))):
                values.update(node.operands)
    return values


def _passed(node: Node) -> Iterable[tuple[Value, Value]]:
    """From which value to which control flow carries one."""
    if node.op == "prim::If":
        for block in node.nested_blocks:
            yield from zip(block.returns, node.results, strict=True)
    elif node.op == "prim::Loop":
        (body,) = node.nested_blocks
        for source in (node.operands[2:], body.returns[1:]):
            yield from zip(source, body.parameters[1:], strict=True)
            yield from zip(source, node.results, strict=True)
