"""Whether a new object has all its attributes before anything else may see it, so that none is read unassigned.

%n : Node = prim::CreateObject()
 = prim::SetAttr[name="key"](%n, %k)
 = prim::SetAttr[name="next"](%n, %none)      from here on it is an object like others

An `__init__` that calls itself, for the objects below, is looked into.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ir.graph import Block, Node, Value
from flambeau.ir.walk import nodes_within, operands_within
from flambeau.passes.inline import callee_of
from flambeau.schema.types import ClassType, Type

_GET, _SET = "prim::GetAttr", "prim::SetAttr"


def escapes_unfilled(created: Node) -> str:
    """The name of an attribute that may be read before it is assigned; empty where there is none."""
    type_ = created.result().static_type
    assert isinstance(type_, ClassType)
    nodes = list(created.owner_block)
    missing = dict.fromkeys(a.name for a in type_.definition.attributes)
    _Filling(created.result(), missing).go_through(nodes[nodes.index(created) + 1 :], ())
    return next(iter(missing), "")


class _Filling:
    """A new object on its way: `missing` becomes empty once it has all attributes."""

    def __init__(self, value: Value, missing: dict[str, None]) -> None:
        self._value = value
        self._missing = missing
        self._holds_itself = False

    def go_through(self, nodes: Sequence[Node], callers: tuple[object, ...]) -> bool:
        """Take the attributes that nodes assign off what is missing; False where the object is seen by others before it
        has all.
        """
        value, missing = self._value, self._missing
        for node in nodes:
            if not missing:
                return True
            if node.op == _SET and node.operand(0) is value:
                self._holds_itself = self._holds_itself or node.operand(1) is value
                missing.pop(node.attribute("name"), None)
            elif _is_method_call(node, value):
                if not self._called(node, callers):
                    return False
            elif value in operands_within(node) and not self._only_uses(node):
                return False
        return True

    def _called(self, node: Node, callers: tuple[object, ...]) -> bool:
        """The same of a method of the object that is called."""
        method = callee_of(node)
        if method is None or method in callers or self._holds_itself or _gives(method.graph.body):
            return False
        inner = _Filling(method.graph.parameters[0], self._missing)
        return inner.go_through(list(method.graph.body), (*callers, method))

    def _only_uses(self, node: Node) -> bool:
        """Whether a node, and what is in it, only reads what is assigned, or assigns."""
        for inner in nodes_within(node):
            if any(self._value in block.returns for block in inner.nested_blocks):
                return False
            if self._value not in inner.operands:
                continue
            if inner.op == _SET and inner.operand(0) is self._value and inner.operand(1) is not self._value:
                continue
            if inner.op != _GET or inner.attribute("name") in self._missing:
                return False
            if self._holds_itself and _is_object(inner.result().static_type):
                return False
        return True


def _is_method_call(node: Node, value: Value) -> bool:
    """Whether a node calls a method of an object, which is given to nothing else there."""
    return node.op == "prim::CallMethod" and node.operand(0) is value and value not in node.operands[1:]


def _gives(body: Block) -> bool:
    """Whether a method gives an object, which may be its own."""
    return any(_is_object(v.static_type) for v in body.returns)


def _is_object(type_: Type) -> bool:
    return any(isinstance(t, ClassType) for t in type_.walk())
