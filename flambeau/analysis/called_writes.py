"""Whether a call may write to tensors, seen from the functions that it calls.

```
def area(b):                                    def halve(b):
    return b[0] * b[1]                              b *= 0.5
y = area(x[i])    # writes to no tensor         halve(x[i])    # does
```

A callee that nobody knows (a method of an interface, a Python function, one that is still being compiled) may.
"""

from __future__ import annotations

from typing import Any

from flambeau.analysis.effects import hidden_writes
from flambeau.ir import kinds
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import subgraphs
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import ClassType, DictType, ListType

CALLS = ("prim::CallFunction", "prim::CallMethod")


def may_write_to_tensors(node: Node) -> bool:
    """Whether a call, or anything that it calls, may write to memory of tensors that existed before."""
    return _may_write(node, set())


def _may_write(node: Node, seen: set[int]) -> bool:
    graph = _callee(node)
    if graph is None:
        return True
    if id(graph) in seen:
        return False
    seen.add(id(graph))
    return any(_writes(inner, seen) for part in subgraphs(graph) for inner in part.listed_nodes())


def _writes(node: Node, seen: set[int]) -> bool:
    if node.op in CALLS:
        return _may_write(node, seen)
    if node.op in kinds.OPAQUE or node.op.startswith("^"):
        return True
    if node.op in kinds.STRUCTURAL or node.op == "prim::SetAttr":
        return False
    definition = node.definition
    return definition is None or bool(hidden_writes(node)) or _changes_tensors(node, definition)


def _changes_tensors(node: Node, definition: OpDef) -> bool:
    """Whether an operator writes to anything but lists and dicts."""
    pairs = zip(node.operands, definition.schema.arguments, strict=False)
    written = [value for value, argument in pairs if argument.alias is not None and argument.alias.is_write]
    return definition.schema.is_mutable and not (written and all(map(_is_container_of_its_own, written)))


def _is_container_of_its_own(value: Value) -> bool:
    return isinstance(value.static_type, ListType | DictType)


def _callee(node: Node) -> Graph | None:
    """The graph that a call certainly runs; None where that is not known."""
    owner = node.operand(0) if node.operands else None
    if owner is None:
        return None
    if node.op == "prim::CallFunction":
        function: Any = None if owner.defining_node is None else owner.defining_node.attributes.get("function")
    elif isinstance(owner.static_type, ClassType) and owner.static_type.definition is not None:
        definition = owner.static_type.definition
        function = None if definition.is_open else definition.methods.get(node.attribute("name"))
    else:
        function = None
    graph = function.graph if getattr(function, "is_compiled", False) else None
    return graph if isinstance(graph, Graph) else None
