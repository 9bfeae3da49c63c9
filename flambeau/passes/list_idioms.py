"""Simplify what is asked of literal lists and never change.

```
%l : int[] = prim::ListConstruct(%a, %b, %c)       %m : int[] = prim::ListConstruct(%b, %c)
%m : int[] = aten::slice(%l, %1, %none, %1)
%n : int = aten::len(%m)                       →   %n : int = prim::Constant[value=2]()
%x : int, %y : int = prim::ListUnpack(%m)          (%b and %c take the places of %x and %y)
```

Lengths, items, slices with constant bounds, sums and unpackings. With `refine_lengths` also the lengths of other lists
where a condition that was met says them (`refine_from_conditions`).
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import peephole, refine_from_conditions
from flambeau.passes.peephole_containers import item_of_literal, length_of_literal
from flambeau.passes.peephole_outcomes import KEEP, Chain, Literal, Rule
from flambeau.schema.rule_tables import RuleLists
from flambeau.schema.types import ListType

MADE = "prim::ListConstruct"
list_rewrites: Final = RuleLists[Rule]("rewrite of what is asked of lists")
"""Registers what applies to literal lists, beside `peephole_containers`."""
list_rewrites("aten::len")(length_of_literal)
list_rewrites("aten::__getitem__")(item_of_literal)


def do(graph: Graph, refine_lengths: bool = False) -> bool:
    """Simplify until nothing more can be."""
    changed = peephole.do(graph, list_rewrites) | _unpack(graph)
    if refine_lengths:
        changed |= refine_from_conditions.lengths(graph)
    return changed


def _unpack(graph: Graph) -> bool:
    """`prim::ListUnpack` of a literal list: its elements."""
    aliases: AliasAnalysis | None = None
    changed = False
    for node in graph.find_all("prim::ListUnpack"):
        elements = _elements(node.operand(0))
        if elements is None or len(elements) != len(node.results):
            continue
        aliases = aliases or AliasAnalysis(graph)
        if aliases.has_writers(node.operand(0)):
            continue
        for output, element in zip(node.results, elements, strict=True):
            output.replace_uses_with(element)
        node.erase()
        changed = True
    return changed


def _elements(value: Value) -> tuple[Value, ...] | None:
    node = value.defining_node
    return node.operands if node is not None and node.op == MADE and isinstance(value.static_type, ListType) else None


@list_rewrites("aten::slice")
def _sliced(node: Node) -> Any:
    """A slice with constant bounds."""
    elements = _elements(node.operand(0))
    bounds = node.operands[1:]
    if elements is None or len(bounds) != 3 or not all(map(constants.is_constant, bounds)):
        return KEEP
    start, stop, step = map(constants.constant_value, bounds)
    return _new(node, elements[slice(start, stop, step)]) if step else KEEP


@list_rewrites("aten::add")
def _joined(node: Node) -> Any:
    """A sum of two lists."""
    parts = [_elements(v) for v in node.operands[:2]]
    if len(node.operands) != 2 or parts[0] is None or parts[1] is None:
        return KEEP
    joined = _new(node, (*parts[0], *parts[1]))
    return Literal(node.operand(1), joined) if node.operand(1) is not node.operand(0) else joined


def _new(node: Node, elements: tuple[Value, ...]) -> Literal:
    def make() -> Value:
        return node.graph.insert(MADE, elements, [node.result().static_type]).result()

    return Literal(node.operand(0), Chain(make, node))
