"""Attributes of a method's object, read once, and as early as can be: what lies between them can be native in one part.

```
%m : Tensor = prim::GetAttr[name="m"](%self)         %m : Tensor = prim::GetAttr[name="m"](%self)
%a : Tensor = aten::mul_(%m, %two)                   %a : Tensor = aten::mul_(%m, %two)
%k : Tensor = prim::GetAttr[name="m"](%self)    →    %b : Tensor = aten::t(%m)
%b : Tensor = aten::t(%k)
```

Writes to a tensor do not change which tensor an attribute is: assignments do, and calls that nothing is known of.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.effects import own_effect, own_may_raise
from flambeau.ir import kinds
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import nodes_within
from flambeau.schema.opdef import Effect
from flambeau.schema.types import ClassType

READ, WRITE = "prim::GetAttr", "prim::SetAttr"


def read_once(graph: Graph) -> None:
    """Gather the reads of the graph's own block; those of parameters, whose attributes are there, stand in front."""
    reads = _Reads(graph.body.first or graph.body.return_node)
    for node in list(graph.body):
        if node.op == READ:
            reads.read(node)
        elif node.op == WRITE:
            reads.write(node)
        else:
            reads.run(nodes_within(node))


class _Reads:
    """What attributes of objects are, node after node."""

    def __init__(self, front: Node) -> None:
        self._front = front
        self._known: dict[tuple[Value, str], Value] = {}
        self._changed: set[str] = set()
        """Names of what was assigned."""
        self._is_anything_changed = False

    def read(self, node: Node) -> None:
        """A value that is known stands for another; what nothing has assigned is read in front."""
        owner, name, value = node.operand(0), node.attribute("name"), node.result()
        same = self._known.get((owner, name))
        if same is not None and same.static_type == value.static_type:
            value.replace_uses_with(same)
            node.erase()
        elif _has_slots(owner):
            self._known[owner, name] = value
            if self._may_stand_in_front(node, name):
                node.move_before(self._front)

    def _may_stand_in_front(self, node: Node, name: str) -> bool:
        is_as_before = name not in self._changed and not self._is_anything_changed
        return is_as_before and not own_may_raise(node) and node is not self._front

    def write(self, node: Node) -> None:
        """What is read from now on is what was assigned; of other objects, which may be this one, it is not known."""
        owner, name = node.operand(0), node.attribute("name")
        self._forget({name})
        if _has_slots(owner):
            self._known[owner, name] = node.operand(1)

    def run(self, nodes: Sequence[Node]) -> None:
        """Nodes that may assign."""
        self._forget({n.attribute("name") for n in nodes if n.op == WRITE})
        if any(map(_may_assign, nodes)):
            self._known, self._is_anything_changed = {}, True

    def _forget(self, names: set[str]) -> None:
        if names:
            self._changed |= names
            self._known = {key: value for key, value in self._known.items() if key[1] not in names}


def _has_slots(owner: Value) -> bool:
    """Whether an object keeps what is assigned, and no property or method of a Python class has a say in it."""
    type_ = owner.static_type
    return isinstance(type_, ClassType) and not getattr(type_.definition, "has_instances", False)


def _may_assign(node: Node) -> bool:
    """Whether a node may run what assigns attributes."""
    return node.op in kinds.OPAQUE or own_effect(node) is Effect.WORLD
