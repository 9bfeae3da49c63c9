"""Build constant dicts again where loops look things up in them: native code has tables of its own, and no constants.

```
%t : Dict(str, int) = prim::Constant[value={"a": 1}]      %a : str = prim::Constant[value="a"]
                                                          %1 : int = prim::Constant[value=1]
                                                          %t : Dict(str, int) = prim::DictConstruct(%a, %1)
= prim::Loop(%n, %true)                               →   = prim::Loop(%n, %true)
  block0(%i : int):                                         block0(%i : int):
    %n : int = aten::__getitem__(%t, %k)                      %n : int = aten::__getitem__(%t, %k)
```

A dict that was folded is one that nobody writes to. One is made in each call, so large ones stay as they are.
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import BOOL, FLOAT, INT, STRING, DictType, TupleType, Type

MOST: Final = 128
"""Entries of a dict that is made in each call, at most."""
_PLAIN: Final = (BOOL, INT, FLOAT, STRING)


def do(graph: Graph) -> bool:
    """Build what can be built, before the loops; whether there was any."""
    changed = False
    for node in [n for n in graph.nodes() if n.op == constants.CONSTANT and _may_be_built(n)]:
        users = dict.fromkeys(use.user for use in node.result().uses())
        inside = [user for user in users if user.op.startswith("aten::") and _is_in_loop(user)]
        if inside:
            built = _built(graph, node)
            for user in inside:
                user.set_operands([built if v is node.result() else v for v in user.operands])
            changed = True
    return changed


def _may_be_built(node: Node) -> bool:
    type_ = node.result().static_type
    if not isinstance(type_, DictType) or type_.value not in _PLAIN or not _is_key(type_.key):
        return False
    return 0 < len(node.attribute("value")) <= MOST


def _is_key(type_: Type) -> bool:
    parts = type_.contained if isinstance(type_, TupleType) else (type_,)
    return all(part in _PLAIN for part in parts)


def _is_in_loop(node: Node) -> bool:
    owner = node.owner_block.owner_node
    return owner is not None and (owner.op == "prim::Loop" or _is_in_loop(owner))


def _built(graph: Graph, node: Node) -> Value:
    items: list[Value] = []
    type_ = node.result().static_type
    assert isinstance(type_, DictType)
    with graph.inserting(node):
        for key, value in node.attribute("value").items():
            items += [_key(graph, key, type_.key), insert_constant(graph, value, type_.value)]
        return graph.insert("prim::DictConstruct", items, [type_]).result()


def _key(graph: Graph, key: Any, type_: Type) -> Value:
    if not isinstance(type_, TupleType):
        return insert_constant(graph, key, type_)
    parts = [insert_constant(graph, part, kind) for part, kind in zip(key, type_.contained, strict=True)]
    return graph.insert("prim::TupleConstruct", parts, [type_]).result()
