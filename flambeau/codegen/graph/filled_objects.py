"""Whether a new object has all its attributes before anything else may see it, so that none is read unassigned.

%n : Node = prim::CreateObject()
 = prim::SetAttr[name="key"](%n, %k)
 = prim::SetAttr[name="next"](%n, %none)      from here on it is an object like others
"""

from __future__ import annotations

from flambeau.ir.graph import Node, Value
from flambeau.ir.walk import nodes_within, operands_within
from flambeau.schema.types import ClassType, Type

_GET, _SET = "prim::GetAttr", "prim::SetAttr"


def escapes_unfilled(created: Node) -> str:
    """The name of an attribute that may be read before it is assigned; empty where there is none."""
    value = created.result()
    type_ = value.static_type
    assert isinstance(type_, ClassType)
    missing = dict.fromkeys(a.name for a in type_.definition.attributes)
    holds_itself = False
    for node in _behind(created):
        if not missing:
            return ""
        if node.op == _SET and node.operand(0) is value:
            holds_itself = holds_itself or node.operand(1) is value
            missing.pop(node.attribute("name"), None)
        elif value in operands_within(node) and not _only_uses(node, value, missing, holds_itself=holds_itself):
            break
    return next(iter(missing), "")


def _behind(node: Node) -> list[Node]:
    nodes = list(node.owner_block)
    return nodes[nodes.index(node) + 1 :]


def _only_uses(node: Node, value: Value, missing: dict[str, None], *, holds_itself: bool) -> bool:
    """Whether a node, and what is in it, only reads what is assigned, or assigns."""
    for inner in nodes_within(node):
        if value in (v for block in inner.nested_blocks for v in block.returns):
            return False
        if value not in inner.operands:
            continue
        if inner.op == _SET and inner.operand(0) is value and inner.operand(1) is not value:
            continue
        if inner.op != _GET or inner.attribute("name") in missing:
            return False
        if holds_itself and _is_object(inner.result().static_type):
            return False
    return True


def _is_object(type_: Type) -> bool:
    return any(isinstance(t, ClassType) for t in type_.walk())
