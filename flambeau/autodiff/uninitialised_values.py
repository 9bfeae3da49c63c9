"""Tensors in the place of values that no way of the program ever looks at, so that their gradients have sizes.

```
%u : Tensor = prim::Uninitialized()     →     %u : Float(*) = aten::zeros([0], dtype=6)
```

An early `return` leaves such values: on the other ways its result is carried along, and so is its gradient.
"""

from __future__ import annotations

from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import INT, NONE, ListType, TensorType

UNINITIALISED = "prim::Uninitialized"


def do(graph: Graph) -> bool:
    """Replace all of them that are tensors, or floats, where values that they meet say of which rank; whether any."""
    changed = False
    for node in graph.find_all(UNINITIALISED):
        type_ = _meeting(node.result(), set())
        if type_ is not None and type_.sizes is not None and type_.dtype is not None:
            _replace(node, type_)
            changed = True
    return changed


def _meeting(value: Value, seen: set[Value]) -> TensorType | None:
    """What is known of the values that come together with one."""
    if value in seen or not isinstance(value.static_type, TensorType):
        return None
    seen.add(value)
    if value.static_type.sizes is not None:
        return value.static_type
    for use in value.uses():
        user, offset = use.user, use.offset
        met: Value | None = None
        if user.op == "prim::Loop" and offset >= 2:
            met = user.nested_blocks[0].parameters[offset - 1]
        elif user.op == "prim::Return" and user.owner_block.owner_node is not None:
            owner = user.owner_block.owner_node
            index = offset - 1 if owner.op == "prim::Loop" else offset
            met = owner.results[index] if index >= 0 else None
        met_type = None if met is None else _meeting(met, seen)
        if met_type is not None:
            return met_type
    return None


def _replace(node: Node, type_: TensorType) -> None:
    with node.graph.inserting(node):
        zeros = empty_of(node.graph, type_)
    node.result().replace_uses_with(zeros)
    node.erase()


def empty_of(graph: Graph, type_: TensorType) -> Value:
    """A small tensor of zeros, at the insertion point, of the dtype and rank that a type says, with its sizes of 1."""
    assert type_.sizes is not None
    assert type_.dtype is not None
    empty = [insert_constant(graph, 1 if size == 1 else 0) for size in type_.sizes]
    sizes = graph.insert("prim::ListConstruct", empty, [ListType(INT)]).result()
    dtype, none = insert_constant(graph, type_.dtype.code), insert_constant(graph, None, NONE)
    zeros = graph.insert("aten::zeros", [sizes, dtype, none, none, none]).result()
    zeros.set_type(without_sizes(type_))
    return zeros


def without_sizes(type_: TensorType) -> TensorType:
    """What such a tensor and one of the type have in common: dtype, rank, sizes of 1 and device."""
    assert type_.sizes is not None
    sizes = tuple([1 if size == 1 else None for size in type_.sizes])
    return TensorType(dtype=type_.dtype, sizes=sizes, device=type_.device)
