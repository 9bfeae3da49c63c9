"""Look into dicts whose keys are constants before the graph runs.

```
%d : Dict(str, Tensor) = aten::dict()
 = aten::_set_item(%d, %low, %x)                    %d : Dict(str, Tensor) = prim::DictConstruct(%low, %x)
%c : bool = aten::__contains__(%d, %high)      →    %c : bool = prim::Constant[value=0]()
%y : Tensor = aten::__getitem__(%d, %low)           return (%x)
return (%y)
```

What is then not needed of a dict goes with the passes that follow. A key that is not there is looked for when the
program comes to it, and fails there.
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import constant_propagation, peephole, remove_list_mutation
from flambeau.passes.peephole_outcomes import KEEP, Constant, Literal, Rule, rewrites
from flambeau.passes.remove_list_mutation import DICT, place_of_key, places_of_keys
from flambeau.schema.rule_tables import RuleLists
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import DictType

_rules: Final = RuleLists[Rule]("rewrite of what literal dicts are asked")
"""The rules of `peephole` that are about dicts."""
_EMPTY: Final = "aten::dict"
KINDS: Final = (DICT, _EMPTY)
"""What builds dicts."""


def do(graph: Graph) -> bool:
    """Answer what dicts that the graph builds are asked, as far as their keys are known; whether anything changed."""
    changed = _write_out_empty(graph)
    while graph.find(DICT) is not None:
        is_changed = remove_list_mutation.do(graph)
        if not (peephole.do(graph, _rules) or is_changed):
            break
        changed = True
        constant_propagation.do(graph, values_only=True)
    return changed


def _write_out_empty(graph: Graph) -> bool:
    """Have empty dicts be built as others are."""
    empty = [n for n in graph.find_all(_EMPTY) if not n.operands and isinstance(n.result().static_type, DictType)]
    for node in empty:
        with graph.inserting(node), graph.at_range(node.range):
            new = graph.insert(DICT, (), (node.result().static_type,))
        new.copy_metadata(node)
        node.result().replace_uses_with(new.result())
        node.erase()
    return bool(empty)


def _literal(value: Value) -> tuple[Value, ...] | None:
    """The keys and values of a dict that the graph builds, which is replaced where a key comes twice."""
    literal = value.defining_node
    return literal.operands if literal is not None and literal.op == DICT else None


@rewrites("aten::__contains__")
@_rules("aten::__contains__")
def _contains(node: Node) -> Any:
    """k in {...}"""
    elements = _literal(node.operand(0))
    index = None if elements is None else place_of_key(elements, node.operand(1))
    return KEEP if index is None else Literal(node.operand(0), Constant(index >= 0), is_shallow=True)


@rewrites("aten::__getitem__")
@_rules("aten::__getitem__")
def _item(node: Node) -> Any:
    """{...}[k], where it is there."""
    elements = _literal(node.operand(0))
    index = None if elements is None else place_of_key(elements, node.operand(1))
    if elements is None or index is None or index < 0:
        return KEEP
    item = elements[index]
    is_known = is_subtype(item.static_type, node.result().static_type)
    return Literal(node.operand(0), item, is_shallow=True) if is_known else KEEP


@rewrites("aten::len")
@_rules("aten::len")
def _length(node: Node) -> Any:
    """len({...})"""
    elements = _literal(node.operand(0))
    positions = None if elements is None else places_of_keys(elements)
    return KEEP if positions is None else Literal(node.operand(0), Constant(len(positions)), is_shallow=True)
