"""Compute once what is computed twice.

```
%a : int = aten::mul(%n, %n)               %a : int = aten::mul(%n, %n)
%b : int = aten::mul(%n, %n)         →     %c : int = aten::add(%a, %a)
%c : int = aten::add(%a, %b)
```

Nodes are equal if kind, operands, attributes and result types are; nodes in enclosing blocks count too. Results that
are memory (tensors, lists) are merged only if nobody writes to them or to the operands and not both can be seen
outside, where they must stay two objects. What asks for sizes or dtypes is not disturbed by writes to elements.
"""

from __future__ import annotations

from collections.abc import Hashable

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import looks_at_no_elements, own_effect, own_writes
from flambeau.analysis.shapes import may_resize
from flambeau.ir import kinds
from flambeau.ir.constants import CONSTANT, constant_key
from flambeau.ir.graph import Graph
from flambeau.ir.node import Block, Node
from flambeau.schema.opdef import Effect
from flambeau.schema.types import Type

Known = dict[Hashable, Node]
_NEVER = frozenset({"prim::CreateObject", "prim::Uninitialized", "prim::profile", "prim::Guard"})


def do(graph: Graph) -> bool:
    """Merge equal nodes in every block."""
    return _Merger(graph).block(graph.block, {})


class _Merger:
    def __init__(self, graph: Graph) -> None:
        self._facts = AliasAnalysis(graph)
        self._resizing = [n for n in graph.all_nodes() if may_resize(n)]

    def block(self, block: Block, outer: Known) -> bool:
        known = dict(outer)
        changed = False
        for node in block:
            for inner in node.blocks:
                changed = self.block(inner, known) or changed
            if not _is_candidate(node):
                continue
            earlier = known.setdefault(_key(node), node)
            if earlier is not node and self._may_merge(earlier, node):
                self._facts.note_merge(earlier.outputs, node.outputs)
                for old, new in zip(node.outputs, earlier.outputs, strict=True):
                    old.replace_uses_with(new)
                node.destroy()
                changed = True
        return changed

    def _may_merge(self, earlier: Node, node: Node) -> bool:
        facts = self._facts
        if looks_at_no_elements(node):
            if any(facts.writes_to(n, node.inputs) for n in self._resizing):
                return False
        elif facts.depends_on_writes(node):
            return False
        if _gives_what_it_takes(node):
            return True
        if not any(facts.places(v) for v in node.outputs):
            return True
        return facts.can_merge(earlier.outputs, node.outputs)


def _is_candidate(node: Node) -> bool:
    if node.blocks or node.kind in _NEVER or node.kind in kinds.WITH_SUBGRAPH:
        return False
    return own_effect(node) is Effect.NONE and not own_writes(node)


def _gives_what_it_takes(node: Node) -> bool:
    """Whether the result is no new object: an attribute, or something out of a container."""
    if node.kind in kinds.TAKE or node.kind in ("prim::GetAttr", "prim::unchecked_cast", "aten::__getitem__"):
        return node.kind != "prim::TupleSlice"
    return node.kind == CONSTANT


def _key(node: Node) -> Hashable:
    attributes = tuple((name, _attribute_key(value)) for name, value in sorted(node.attributes.items()))
    return (node.kind, node.inputs, tuple(v.type for v in node.outputs), attributes)


def _attribute_key(value: object) -> Hashable:
    if isinstance(value, Type):
        return value
    if isinstance(value, list) and all(isinstance(v, Type) for v in value):
        return tuple(value)
    if isinstance(value, list | dict):
        return ("object", id(value))
    return constant_key(value)
