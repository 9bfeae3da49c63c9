"""Lists and dicts among a method's attributes, whose items are parameters, or constants, of functions made for them.

```
graph(%x : Tensor,                                       graph(%x : Tensor, %cache_cpu : Tensor):
      %cache : Dict(str, Tensor)):              →          %key : str = prim::Constant[value="cpu"]()
                                                           %cache = prim::DictConstruct(%key, %cache_cpu)
```

A method may look into such a dict, and put something into it on a way that is seldom taken: a cache. There the function
raises `NeedsObjectError`, and the method is run with its object, from its beginning.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.function import Argument
from flambeau.schema.types import BoolType, DictType, IntType, StringType, TensorType, Type
from flambeau.util.errors import NeedsObjectError

NEEDS_OBJECT: Final = "what is put into a dict of the object must be seen there"
_PLAIN: Final = (StringType, IntType, BoolType)
"""Types of values that are constants of a function."""


def is_lasting_dict(type_: Type) -> bool:
    """Whether the items of such a dict may be known to a function, or given to it."""
    return isinstance(type_, DictType) and isinstance(type_.key, StringType | IntType) and (
        isinstance(type_.value, (*_PLAIN, TensorType))
    )  # fmt: skip


def is_constant_dict(type_: Type) -> bool:
    """Whether such a dict is written into a function, values and all."""
    return isinstance(type_, DictType) and isinstance(type_.value, _PLAIN)


def is_only_looked_into(value: Value) -> bool:
    """Whether nothing is done with a dict but to look for its keys and, perhaps, to put something in."""
    return all(_looks(u.user, u.offset) or _writes(u.user, u.offset) for u in value.uses())


def _looks(node: Node, offset: int) -> bool:
    """Whether a node takes what is in an operand, and leaves it as it is; none of its results is the operand."""
    definition = node.definition
    return definition is not None and definition.schema.arguments[offset].alias is None


def _writes(node: Node, offset: int) -> bool:
    """Whether a node writes to an operand, and gives nothing."""
    definition = node.definition
    alias = None if definition is None else definition.schema.arguments[offset].alias
    return alias is not None and alias.is_write and not node.results


def raise_at_writes(graph: Graph, dicts: Sequence[Value]) -> None:
    """Have a graph raise `NeedsObjectError` where it puts something into dicts that are its parameters."""
    for node in dict.fromkeys(u.user for v in dicts for u in v.uses() if _writes(*u)):
        with graph.inserting(node), graph.at_range(node.range):
            texts = [insert_constant(graph, t) for t in (NEEDS_OBJECT, NeedsObjectError.name)]
            graph.insert("prim::RaiseException", texts, ())
        node.erase()


def may_raise_at_writes(graph: Graph) -> bool:
    """Whether a graph has come out of `raise_at_writes` changed, and still is."""
    return any(_needs_object(n) for n in graph.find_all("prim::RaiseException"))


def _needs_object(node: Node) -> bool:
    creator = node.operand(1).defining_node if len(node.operands) > 1 else None
    return creator is not None and creator.attributes.get("value") == NeedsObjectError.name


def key_of(value: Any, *, is_written_in: bool) -> Hashable:
    """What a function for an attribute of this value is kept under."""
    match value:
        case list():
            return len(value)
        case dict():
            return tuple(value.items()) if is_written_in else tuple(value)
        case float():
            return value.hex() if is_written_in else None  # 0.0 and -0.0 are equal, and nan is not itself
        case _:
            return value if is_written_in else None


def shape_of(value: Any, *, is_written_in: bool) -> Any:
    """What a function has to know of the value: all of it, or how many items a list has, or the keys of a dict."""
    match value:
        case list():
            return (None,) * len(value)
        case dict():
            return dict(value) if is_written_in else dict.fromkeys(value)
        case _:
            return value if is_written_in else None


def items_of(value: Any) -> list[Any]:
    """What stands for an attribute among the arguments."""
    match value:
        case list():
            return value
        case dict():
            return list(value.values())
        case _:
            return [value]


def arguments_of(name: str, type_: Type, value: Any) -> list[Argument]:
    """The parameters that stand for an attribute of this type and value."""
    match value:
        case list():
            return [Argument(f"{name}.{k}", type_.contained[0]) for k in range(len(value))]
        case dict():
            return [Argument(f"{name}.{k}", type_.contained[1]) for k in value]
        case _:
            return [Argument(name, type_)]


def write_in(graph: Graph, index: int, value: Any) -> None:
    """Put a constant, or a dict of constants, in the place of a parameter."""
    parameter = graph.parameters[index]
    with graph.inserting(graph.body.first or graph.body):
        if isinstance(value, dict):
            items = [insert_constant(graph, part) for pair in value.items() for part in pair]
            constant = graph.insert("prim::DictConstruct", items, (parameter.static_type,)).result()
        else:
            attributes = {} if value is None else {"value": value}
            constant = graph.insert("prim::Constant", (), (parameter.static_type,), **attributes).result()
    parameter.replace_uses_with(constant)
    graph.body.remove_parameter(index)


def take_apart(graph: Graph, index: int, shape: Sequence[None] | Mapping[Any, None]) -> None:
    """A list or dict that comes in becomes one that is made, of as many values that come in."""
    parameter = graph.parameters[index]
    name = parameter.name if parameter.has_name else "items"
    keys = [*shape] if isinstance(shape, Mapping) else [*range(len(shape))]
    type_ = parameter.static_type
    parts = [graph.add_parameter(type_.contained[-1], f"{name}_{k}", index + n) for n, k in enumerate(keys)]
    with graph.inserting(graph.body.first or graph.body):
        if isinstance(shape, Mapping):
            items = [v for k, part in zip(keys, parts, strict=True) for v in (insert_constant(graph, k), part)]
            container = graph.insert("prim::DictConstruct", items, (type_,)).result()
        else:
            container = graph.insert("prim::ListConstruct", parts, (type_,)).result()
    parameter.replace_uses_with(container)
    graph.body.remove_parameter(index + len(parts))
