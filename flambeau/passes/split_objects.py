"""Lists of objects that nobody else ever sees as a list of each attribute, and their objects as places in these.

```
%bs : C[] = prim::ListConstruct()                       %xs : float[] = prim::ListConstruct()
 = prim::Loop(%n, %true)                                 = prim::Loop(%n, %true)
  block0(%i : int):                                        block0(%i : int):
    %c : C = prim::CreateObject()                            %1 : float[] = aten::append(%xs, %x)
     = prim::SetAttr[name="x"](%c, %x)           →           -> (%true)
    %1 : C[] = aten::append(%bs, %c)                     = prim::Loop(%n, %true)
    -> (%true)                                             block0(%i : int):
 = prim::Loop(%n, %true)                                     %2 : float[] = aten::_set_item(%xs, %i, %y)
  block0(%i : int):                                          -> (%true)
    %b : C = aten::__getitem__(%bs, %i)
     = prim::SetAttr[name="x"](%b, %y)
    -> (%true)
```

Such a list is only appended to, asked for its length and for items, so that an item stays in its place. What is put
into it was made just before, in the same block, has all its attributes by then, and is only in the list from then on.
Of items attributes are read and assigned.
"""

from __future__ import annotations

from typing import Final

from flambeau.ir.constants import constant_value, insert_constant, is_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.lower_objects import CREATE, GET, SET
from flambeau.schema.types import BOOL, INT, ClassType, ListType, Type
from flambeau.util.record import dataclass, field

LIST: Final = "prim::ListConstruct"
_APPEND: Final = "aten::append"
_ITEM: Final = "aten::__getitem__"
_ASSIGN: Final = "aten::_set_item"
_LENGTH: Final = "aten::len"


def do(graph: Graph) -> bool:
    """Split every list that can be; whether there was one."""
    split = [_split(node) for node in graph.find_all(LIST) if _class_of(node.result()) is not None]
    return any(split)


@dataclass(slots=True)
class _Uses:
    """What is done with a list of objects."""

    appends: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    lengths: list[Node] = field(default_factory=list)


def _class_of(value: Value) -> ClassType | None:
    type_ = value.static_type
    element = type_.element if isinstance(type_, ListType) else None
    return element if isinstance(element, ClassType) else None


def _split(node: Node) -> bool:
    type_, uses = _class_of(node.result()), _uses_of(node.result())
    types = {} if type_ is None else _attribute_types(type_)
    if uses is None or not types:
        return False
    kept = [(value, node) for value in node.operands] + [(append.operand(1), append) for append in uses.appends]
    if not all(_is_fresh(value, at, types) for value, at in kept):
        return False
    lists = _lists(node, types)
    for append in uses.appends:
        _append_attributes(append, lists, types)
    for item in uses.items:
        _use_places(item, lists, types)
    for length in uses.lengths:
        length.replace_operand(0, next(iter(lists.values())))
    node.erase()
    return True


def _attribute_types(type_: ClassType) -> dict[str, Type]:
    """The types of the attributes; empty where one is an object itself."""
    types = {attribute.name: attribute.type for attribute in type_.definition.attributes}
    return {} if any(isinstance(t, ClassType) for t in types.values()) else types


def _uses_of(value: Value) -> _Uses | None:
    """The uses of a list; None where there are others."""
    uses = _Uses()
    for use in value.uses():
        node = use.user
        if node.op == _APPEND and use.offset == 0 and not node.result().uses():
            uses.appends.append(node)
        elif node.op == _ITEM and use.offset == 0 and all(_is_access(u.user, u.offset) for u in node.result().uses()):
            uses.items.append(node)
        elif node.op == _LENGTH:
            uses.lengths.append(node)
        else:
            return None
    return uses


def _is_access(node: Node, offset: int) -> bool:
    return node.op in (GET, SET) and offset == 0


def _is_fresh(value: Value, at: Node, types: dict[str, Type]) -> bool:
    """Whether an object was made in the block of the node that puts it into the list, has all its attributes by then,
    and is in no other place.
    """
    creator = value.defining_node
    if creator is None or creator.op != CREATE or creator.owner_block is not at.owner_block:
        return False
    others = [use for use in value.uses() if use.user is not at]
    if len(value.uses()) != len(others) + 1 or not all(_is_access(use.user, use.offset) for use in others):
        return False
    if not all(use.user.owner_block is at.owner_block and use.user.is_before(at) for use in others):
        return False
    return types.keys() <= {use.user.attribute("name") for use in others if use.user.op == SET}


def _read(graph: Graph, value: Value, name: str, type_: Type) -> Value:
    return graph.insert(GET, (value,), (type_,), name=name).result()


def _lists(node: Node, types: dict[str, Type]) -> dict[str, Value]:
    """A list of each attribute in the place of one of objects."""
    graph, lists = node.graph, dict[str, Value]()
    with graph.inserting(node), graph.at_range(node.range):
        for name, type_ in types.items():
            values = [_read(graph, value, name, type_) for value in node.operands]
            lists[name] = graph.insert(LIST, values, (ListType(type_),)).result()
    return lists


def _append_attributes(append: Node, lists: dict[str, Value], types: dict[str, Type]) -> None:
    graph = append.graph
    with graph.inserting(append), graph.at_range(append.range):
        for name, owner in lists.items():
            value = _read(graph, append.operand(1), name, types[name])
            graph.insert(_APPEND, (owner, value), (owner.static_type,))
    append.erase()


def _use_places(item: Node, lists: dict[str, Value], types: dict[str, Type]) -> None:
    """Elements of the lists where attributes of an item are read and assigned."""
    graph, first = item.graph, next(iter(lists))
    with graph.inserting(item), graph.at_range(item.range):
        graph.insert(_ITEM, (lists[first], item.operand(1)), (types[first],))  # raises where there is no such item
        index = _from_the_front(graph, lists[first], item.operand(1))
    for access in [use.user for use in item.result().uses()]:
        name = access.attribute("name")
        with graph.inserting(access), graph.at_range(access.range):
            if access.op == GET:
                value = graph.insert(_ITEM, (lists[name], index), (types[name],)).result()
                access.result().replace_uses_with(value)
            else:
                graph.insert(_ASSIGN, (lists[name], index, access.operand(1)), (lists[name].static_type,))
        access.erase()
    item.erase()


def _from_the_front(graph: Graph, items: Value, index: Value) -> Value:
    """The place that an index means, which stays when the list grows; an index of no place stays one."""
    if _is_counter(index) or (is_constant(index) and constant_value(index) >= 0):
        return index
    zero, size = insert_constant(graph, 0), graph.insert(_LENGTH, (items,), (INT,)).result()
    shifted = graph.insert("aten::add", (index, size), (INT,)).result()
    is_behind = graph.insert("aten::lt", (index, zero), (BOOL,)).result()
    is_there = graph.insert("aten::ge", (shifted, zero), (BOOL,)).result()
    both = graph.insert("aten::__and__", (is_behind, is_there), (BOOL,)).result()
    node = graph.insert("prim::If", (both,), (INT,))
    for value in (shifted, index):
        node.add_block().add_return(value)
    return node.result()


def _is_counter(value: Value) -> bool:
    """Whether a value is the number of a loop's iteration."""
    block = value.owner_block
    around = block.owner_node
    is_parameter = value.defining_node is None and around is not None and around.op == "prim::Loop"
    return is_parameter and block.parameters[0] is value
