"""Where in a graph another, small graph occurs.

A pattern's nodes must be there with the same kinds and attributes, connected alike; its parameters may be any values. A
result inside the pattern that is no result of it must be used nowhere else, because whoever looks for patterns wants to
replace them. `match::module[name="Conv2d"](%self)` is the read of a submodule of that class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flambeau.ir import constants
from flambeau.ir.constants import CONSTANT, same_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import ClassType
from flambeau.util.names import without_root
from flambeau.util.record import dataclass, field

MODULE = "match::module"
_MANGLED = re.compile(r"\.___torch_mangle_\d+")


@dataclass(frozen=True)
class Match:
    """One place where a pattern occurs."""

    values: dict[Value, Value] = field(default_factory=dict)
    """For each value of the pattern the graph's."""
    nodes: dict[Node, Node] = field(default_factory=dict)
    """For each node of the pattern the graph's."""


def check_pattern(pattern: Graph) -> None:
    """Raise ValueError for a pattern with blocks, or with nodes that its first result does not depend on."""
    if not pattern.returns or pattern.returns[0].defining_node is None:
        raise ValueError("a pattern needs a node, whose result it returns")
    needed: set[Node] = set()
    waiting = [pattern.returns[0].defining_node]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += [v.defining_node for v in node.operands if v.defining_node is not None]
    for node in pattern.nodes():
        if node.nested_blocks:
            raise ValueError(f"a pattern has no blocks, but there is {node.op}")
        if node not in needed:
            raise ValueError(f"the first result of a pattern must depend on all its nodes, but not on {node.op}")


def matches(pattern: Graph, graph: Graph) -> Iterator[Match]:
    """The places where a pattern occurs, in order; none shares a node other than a constant with one before."""
    taken: set[Node] = set()
    last = pattern.returns[0].defining_node
    assert last is not None
    for node in graph.listed_nodes():
        if node.op != last.op and last.op != MODULE:
            continue
        match = Match()
        if _same_node(match, pattern, last, node):
            matched = {n for n in match.nodes.values() if n.op != CONSTANT}
            if not matched & taken:
                taken |= matched
                yield match


def _same_node(match: Match, pattern: Graph, wanted: Node, node: Node) -> bool:
    if wanted in match.nodes:
        return match.nodes[wanted] is node
    if wanted.op == MODULE:
        is_alike = node.op == "prim::GetAttr" and _is_module(wanted.attributes.get("name"), node)
    else:
        is_alike = node.op == wanted.op and _same_attributes(wanted, node)
    if not is_alike or len(wanted.operands) != len(node.operands) or len(wanted.results) != len(node.results):
        return False
    match.nodes[wanted] = node
    if not all(_same_value(match, pattern, a, b) for a, b in zip(wanted.results, node.results, strict=True)):
        return False
    return all(_same_value(match, pattern, a, b) for a, b in zip(wanted.operands, node.operands, strict=True))


def _same_value(match: Match, pattern: Graph, wanted: Value, value: Value) -> bool:
    if wanted in match.values:
        return match.values[wanted] is value
    maker, pattern_maker = value.defining_node, wanted.defining_node
    if pattern_maker is not None:
        if maker is None or wanted.owner_block is not pattern.body:
            return False
        is_free = pattern_maker.op == CONSTANT or wanted in pattern.returns
        if not is_free and len(wanted.uses()) != len(value.uses()):
            return False
        if pattern_maker.results.index(wanted) != maker.results.index(value):
            return False
    match.values[wanted] = value
    return pattern_maker is None or (maker is not None and _same_node(match, pattern, pattern_maker, maker))


def _same_attributes(wanted: Node, node: Node) -> bool:
    if wanted.op == CONSTANT:
        return constants.is_constant(wanted.result()) == constants.is_constant(node.result()) and same_constant(
            wanted.attributes.get("value"), node.attributes.get("value")
        )
    mine, theirs = wanted.attributes, node.attributes
    return mine.keys() == theirs.keys() and all(same_constant(mine[name], theirs[name]) for name in mine)


def _is_module(name: object, node: Node) -> bool:
    type_ = node.result().static_type
    if not isinstance(type_, ClassType):
        return False
    full = _MANGLED.sub("", type_.name)
    return name in (full, without_root(full), full.rpartition(".")[2])
