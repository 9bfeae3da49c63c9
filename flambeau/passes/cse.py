"""Compute once what is computed twice.

```
%a : int = aten::mul(%n, %n)               %a : int = aten::mul(%n, %n)
%b : int = aten::mul(%n, %n)         →     %c : int = aten::add(%a, %a)
%c : int = aten::add(%a, %b)
```

Nodes are equal if kind, operands, attributes and result types are; nodes in enclosing blocks count too. Results that
are memory (tensors, lists) are merged only if nobody writes to them or to the operands and not both can be seen
outside, where they must stay two objects. What asks for sizes or dtypes, and views, are not disturbed by writes to
elements.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations

from flambeau.analysis.effects import looks_at_no_elements, own_effect, own_writes
from flambeau.analysis.manager import alias_analysis
from flambeau.analysis.shapes import may_resize
from flambeau.ir import kinds
from flambeau.ir.constants import CONSTANT, constant_key
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.opdef import Effect
from flambeau.schema.types import Type

Known = dict[Hashable, Node]
_NEVER = frozenset({"prim::CreateObject", "prim::Uninitialized", "prim::profile", "prim::Guard"})


def do(graph: Graph) -> bool:
    """Merge equal nodes in every block."""
    return _Merger(graph).block(graph.body, {})


class _Merger:
    def __init__(self, graph: Graph) -> None:
        self._aliases = alias_analysis(graph)
        self._resizing = [n for n in graph.listed_nodes() if may_resize(n)]

    def block(self, block: Block, outer: Known) -> bool:
        known = dict(outer)
        changed = False
        for node in block.own_nodes():
            for inner in node.nested_blocks:
                changed = self.block(inner, known) or changed
            if not _is_candidate(node):
                continue
            earlier = known.setdefault(_key(node), node)
            if earlier is not node and self._may_merge(earlier, node):
                for old, new in zip(node.results, earlier.results, strict=True):
                    self._aliases.note_merge([new], [old])
                    old.replace_uses_with(new)
                node.erase()
                changed = True
        return changed

    def _may_merge(self, earlier: Node, node: Node) -> bool:
        aliases = self._aliases
        if node.definition is not None and node.definition.is_view:
            both = [*node.operands, *earlier.results, *node.results]
            return not self._may_resize(both) and (_is_private(earlier.result()) or _is_private(node.result()))
        if looks_at_no_elements(node):
            if self._may_resize(node.operands):
                return False
        elif aliases.depends_on_writes(node):
            return False
        if _gives_what_it_takes(node):
            return True
        if not any(aliases.locations(v) for v in node.results):
            return True
        if any(aliases.may_alias(a, b) for a, b in combinations(earlier.results, 2)):
            return aliases.can_merge(earlier.results, node.results)
        return all(aliases.can_merge([a], [b]) for a, b in zip(earlier.results, node.results, strict=True))

    def _may_resize(self, values: Sequence[Value]) -> bool:
        return any(self._aliases.writes_to(n, values) for n in self._resizing)


def _is_private(value: Value) -> bool:
    """Whether the tensor is never handed on as itself: only used by operators, which give others, or nothing used."""
    for user, offset in value.uses():
        definition = user.definition
        if definition is None or offset >= len(definition.schema.arguments):
            return False
        hands_on = definition.schema.arguments[offset].alias is not None and not definition.is_view
        if hands_on and any(v.is_used for v in user.results):
            return False
    return True


def _is_candidate(node: Node) -> bool:
    if node.nested_blocks or node.op in _NEVER or node.op in kinds.WITH_SUBGRAPH:
        return False
    return own_effect(node) is Effect.NONE and not own_writes(node)


def _gives_what_it_takes(node: Node) -> bool:
    """Whether the result is no new object: an attribute, or something out of a container."""
    if node.op in kinds.TAKE or node.op in ("prim::GetAttr", "prim::unchecked_cast", "aten::__getitem__"):
        return node.op != "prim::TupleSlice"
    return node.op == CONSTANT


def _key(node: Node) -> Hashable:
    attributes = tuple((name, _attribute_key(value)) for name, value in sorted(node.attributes.items()))
    return (node.op, node.operands, tuple(v.static_type for v in node.results), attributes)


def _attribute_key(value: object) -> Hashable:
    if isinstance(value, Type):
        return value
    if isinstance(value, list) and all(isinstance(v, Type) for v in value):
        return tuple(value)
    if isinstance(value, list | dict):
        return ("object", id(value))
    return constant_key(value)
