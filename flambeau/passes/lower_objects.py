"""Do without objects that nobody else ever sees: their attributes become values.

```
%c : C = prim::CreateObject()
 = prim::SetAttr[name="n"](%c, %k)
%a : int = prim::GetAttr[name="n"](%c)          →     %b : int = aten::add(%k, %one)
%b : int = aten::add(%a, %one)
```

An object qualifies if all that is done with it is reading and assigning attributes, at any depth of branches and loops,
and no attribute may be read before it is assigned. What is assigned in a branch or a loop becomes a result of it.
"""

from __future__ import annotations

from typing import Any

from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.scalar_replacement import Access, Scalars, behind, touched
from flambeau.schema.types import ClassType, Type

CREATE, GET, SET = "prim::CreateObject", "prim::GetAttr", "prim::SetAttr"


def do(graph: Graph) -> bool:
    """Lower every object that can be; one that was held by another can be once that is gone."""
    changed = False
    while True:
        lowered = [_lower(node) for node in graph.listed_nodes() if node.op == CREATE]
        if not any(lowered):
            return changed
        changed = True


def _lower(node: Node) -> bool:
    value = node.result()
    type_ = value.static_type
    accesses = _accesses(value)
    around = None if accesses is None else touched(value.owner_block, accesses)
    if accesses is None or around is None or not isinstance(type_, ClassType):
        return False
    scalars = Scalars(accesses, around, lambda name: _attribute_type(type_, name), str)
    following = list(behind(node))
    if not scalars.is_assigned_before_use(following, set()):
        return False
    scalars.lower(following, {})
    node.erase()
    return True


def _accesses(value: Value) -> dict[Node, Access] | None:
    """The reads and assignments of attributes; None for other uses."""
    accesses: dict[Node, Access] = {}
    for use in value.uses():
        node = use.user
        if node.op not in (GET, SET) or use.offset != 0:
            return None
        accesses[node] = Access(node.attribute("name"), 1 if node.op == SET else None)
    return accesses


def _attribute_type(type_: ClassType, name: Any) -> Type:
    attribute = type_.definition.attribute(name)
    assert attribute is not None
    result: Type = attribute.type
    return result
