"""Replace what a pattern describes by another graph.

```
%y = aten::mul(%x, %x)                      pattern       graph(%a): %b = aten::mul(%a, %a)  return (%b)
%z = aten::relu(%y)           →             replacement   graph(%a): %b = aten::square(%a)   return (%b)
                                            %y = aten::square(%x)
                                            %z = aten::relu(%y)
```

The replacement stands where the last node of the match stood. Whoever gives the two graphs says that they mean the
same; with `keeps_order` a match is left alone if its nodes could not all run at that place, because of what is written
in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.clone import insert_graph
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.match_patterns import Match, check_pattern, matches

Condition = Callable[[Mapping[str, Value]], bool]
"""Whether a match is wanted, given the graph's values by their names in the pattern."""


def do(
    graph: Graph,
    pattern: Graph,
    replacement: Graph,
    *,
    sources: Iterable[tuple[str, str]] = (),
    wanted: Condition | None = None,
    keeps_order: bool = False,
) -> bool:
    """Replace every match. Raises ValueError for a pattern that cannot be looked for, or another number of values.

    `sources` are pairs of a value of the replacement and one of the pattern: the node that makes the first gets the
    place in the source that the other one had.
    """
    check_pattern(pattern)
    for what, a, b in (("parameters", pattern.parameters, replacement.parameters),
                       ("results", pattern.returns, replacement.returns)):  # fmt: skip
        if len(a) != len(b):
            raise ValueError(f"the pattern has {len(a)} {what}, the replacement {len(b)}")
    changed = False
    for match in list(matches(pattern, graph)):
        named = {v.name: value for v, value in match.values.items()}
        if wanted is not None and not wanted(named):
            continue
        nodes = [match.nodes[n] for n in pattern.nodes() if n in match.nodes and n.op != CONSTANT]
        if keeps_order and not _gather(graph, nodes):
            continue
        _replace(graph, pattern, replacement, match, nodes, dict(sources))
        changed = True
    return changed


def _gather(graph: Graph, nodes: list[Node]) -> bool:
    """Move the nodes of a match next to each other, if nothing in between minds."""
    if any(n.owner_block is not nodes[-1].owner_block for n in nodes):
        return False
    nodes = sorted(nodes, key=lambda n: n._order)
    for node, following in zip(nodes[-2::-1], nodes[:0:-1], strict=True):
        if node.next is not following:
            before = following.previous
            assert before is not None
            if not AliasAnalysis(graph).can_move_after(node, before):
                return False
            node.move_before(following)
    return True


def _replace(
    graph: Graph, pattern: Graph, replacement: Graph, match: Match, nodes: list[Node], sources: dict[str, str]
) -> None:
    copies: dict[Value, Value] = {}
    inputs = [match.values[v] for v in pattern.parameters]
    anchor = pattern.returns[0].defining_node
    assert anchor is not None
    last = match.nodes[anchor]
    with graph.inserting(last), graph.at_range(None):
        results = insert_graph(graph, replacement, inputs, copies)
    _take_ranges(match, copies, sources)
    for old_value, result in zip((match.values[v] for v in pattern.returns), results, strict=True):
        if result not in inputs:
            result.set_type(old_value.static_type)
        old_value.replace_uses_with(result)
    for node in reversed(nodes):
        if not any(v.is_used for v in node.results):
            node.erase()


def _take_ranges(match: Match, copies: dict[Value, Value], sources: dict[str, str]) -> None:
    """Let new nodes say that they were written where old ones were: `sources` has for names of the replacement those of
    the pattern.
    """
    by_name = {v.name: v for v in match.values}
    for new, old in sources.items():
        value = next((copies[v] for v in copies if v.has_name and v.name == new), None)
        source = match.values[by_name[old]].defining_node if old in by_name else None
        if value is not None and value.defining_node is not None and source is not None:
            value.defining_node.range = source.range
