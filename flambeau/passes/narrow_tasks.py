"""Give tasks what they read of an object in place of the object.

%f : Future(Tensor) = prim::fork(%self, %x)            %w : Tensor = prim::GetAttr[name="w"](%self)
with graph(%s, %y):                                →   %f : Future(Tensor) = prim::fork(%x, %w)
  %w : Tensor = prim::GetAttr[name="w"](%s) …          with graph(%y, %w): …

Only where nothing is assigned to an attribute: a task may run later than where it is forked. Methods that a task calls
become part of it, and what it does not use at all it is not given.
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.walk import subgraphs
from flambeau.passes import inline
from flambeau.schema.types import NamedType

FORK: Final = "prim::fork"
_READ, _WRITE = "prim::GetAttr", "prim::SetAttr"


def do(graph: Graph) -> bool:
    """Narrow every task, in place, those within tasks first; whether any was."""
    parts = list(subgraphs(graph))[::-1]
    if any(part.find(_WRITE) is not None for part in parts):
        return False
    changed = False
    for part in parts:
        for fork in part.find_all(FORK):
            changed = _narrow(fork) or changed
    return changed


def _narrow(fork: Node) -> bool:
    body: Graph = fork.attribute(SUBGRAPH)
    changed = inline.do(body)
    for index in reversed(range(len(body.parameters))):
        value = body.parameters[index]
        if isinstance(value.static_type, NamedType) and all(u.user.op == _READ for u in value.uses()):
            _read_outside(fork, body, value, index)
        if not value.is_used:
            body.body.remove_parameter(index)
            fork.remove_operand(index)
            changed = True
    return changed


def _read_outside(fork: Node, body: Graph, owner: Value, index: int) -> None:
    """Read the attributes that a task reads of one of its operands where the task is forked."""
    read: dict[str, Value] = {}
    for node in dict.fromkeys(u.user for u in owner.uses()):
        name = node.attribute("name")
        if name not in read:
            type_ = node.result().static_type
            with fork.graph.inserting(fork), fork.graph.at_range(node.range):
                outside = fork.graph.insert(_READ, (fork.operand(index),), (type_,), name=name).result()
            fork.add_operand(outside)
            read[name] = body.add_parameter(type_, name)
        node.result().replace_uses_with(read[name])
        node.erase()
