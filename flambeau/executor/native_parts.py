"""Which parts of a graph are native functions of their own, where the whole cannot be one.

Each outermost loop without strings, dicts and objects in it, and, in graphs that have such values, each stretch of
nodes with some tensor operators and none of these values:

```
%n : int = prim::GetAttr[name="n"](%self)            %n : int = prim::GetAttr[name="n"](%self)
%m : Tensor = prim::GetAttr[name="m"](%self)         %m : Tensor = prim::GetAttr[name="m"](%self)
%k : int = aten::add(%n, %one)                       %k : int = aten::add(%n, %one)
 = prim::SetAttr[name="n"](%self, %k)          →      = prim::SetAttr[name="n"](%self, %k)
%r : Tensor = aten::select(%m, %zero, %k)             = prim::NativeRegion(%m, %k, %x)
%c : Tensor = aten::copy_(%r, %x)
%a : Tensor = aten::mul_(%m, %two)
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from flambeau.analysis.effects import own_effect
from flambeau.ir import kinds
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.walk import ancestor_in, nodes_within, operands_within
from flambeau.passes.inline import callee_of
from flambeau.schema.opdef import Effect
from flambeau.schema.types import (
    BoolType,
    ComplexType,
    DeviceType,
    FloatType,
    FunctionType,
    IntType,
    ListType,
    NoneType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)

LEAST_TENSORS = 3
"""Nodes that give tensors from which on a stretch is worth a native function."""
CONSTANT = "prim::Constant"
_PLAIN = (BoolType, ComplexType, FloatType, IntType, NoneType, TensorType)
_NOT_STRAIGHT = frozenset({"prim::Loop", "prim::GetAttr", "prim::CreateObject", "prim::Uninitialized"})


class Part(NamedTuple):
    """Neighbours in a block, constants between them left aside."""

    nodes: list[Node]
    """One node, where it is not native."""
    is_native: bool


def parts_of(block: Block) -> Iterator[Part]:
    """The nodes of a block but for constants, in order."""
    mixes = _mixes(block.graph)
    stretch: list[Node] = []
    for node in [n for n in block if n.op != CONSTANT]:
        if mixes and _goes_on(node, stretch):
            stretch.append(node)
            continue
        yield from _settled(stretch)
        stretch = [node] if mixes and _goes_on(node, []) else []
        if not stretch:
            yield Part([node], is_region(node))
    yield from _settled(stretch)


def _settled(stretch: list[Node]) -> Iterator[Part]:
    tensors = [n for n in stretch if any(isinstance(v.static_type, TensorType) for v in n.results)]
    results = [v for n in stretch for v in n.results if not _is_plain(v.static_type)]
    stays = all(ancestor_in(u.user, stretch[0].owner_block) in stretch for v in results for u in v.uses())
    if len(tensors) >= LEAST_TENSORS and stays:
        yield Part(stretch, True)
    else:
        yield from (Part([n], is_region(n)) for n in stretch)


def _mixes(graph: Graph) -> bool:
    """Whether a graph has values that keep it from being native, and enters no contexts, which say what operators do.
    """
    nodes = graph.listed_nodes()
    if any(n.op == "prim::Enter" for n in nodes):
        return False
    values = [*graph.parameters, *(v for n in nodes if n.op != CONSTANT for v in n.results)]
    return not all(_is_plain(v.static_type) for v in values)


def _goes_on(node: Node, stretch: list[Node]) -> bool:
    """Whether a node may stand in a stretch behind others. Lists are made within, or they would be copied."""
    inside = nodes_within(node)
    if not all(map(_is_straight, inside)) or not _may_be_native(node, _is_plain_or_device):
        return False
    within = {*stretch, *inside}
    return all(
        v.defining_node in within or not has_lists(v.static_type) or _is_literal(v) for v in operands_within(node)
    )


def has_lists(type_: Type) -> bool:
    """Whether there are lists in a type."""
    return isinstance(type_, ListType) or any(map(has_lists, type_.contained))


def _is_straight(node: Node) -> bool:
    """Whether a node computes, and writes to tensors at most; what words an exception and raises it counts as well."""
    if node.op in ("prim::Return", "prim::RaiseException", CONSTANT) or only_words(node):
        return True
    if node.op in _NOT_STRAIGHT or own_effect(node) is not Effect.NONE:
        return False
    return node.definition is not None or node.op in kinds.STRUCTURAL


def is_region(node: Node) -> bool:
    """Whether a node becomes a native function by itself."""
    return node.op == "prim::Loop" and _may_be_native(node, _is_plain)


def _may_be_native(node: Node, is_plain: Callable[[Type], bool]) -> bool:
    """Whether everything that a node touches has a native form, what only words an exception left aside."""
    for inner in nodes_within(node):
        if inner.op == "prim::RaiseException" or inner.op == "prim::Constant" or only_words(inner):
            continue
        if inner.op.startswith("prim::Call") and callee_of(inner) is None:
            return False
        if not all(is_plain(v.static_type) for v in inner.results):
            return False
        if any(not is_plain(b.static_type) for block in inner.nested_blocks for b in block.parameters):
            return False
    return all(
        is_plain(v.static_type) or _is_literal(v) or isinstance(v.static_type, FunctionType)
        for v in operands_within(node)
    )


def only_words(node: Node) -> bool:
    """Whether what a node gives goes into exceptions, and nowhere else."""
    users = [use.user for v in node.results for use in v.uses()]
    return bool(users) and all(user.op == "prim::RaiseException" or only_words(user) for user in users)


def _is_literal(value: Value) -> bool:
    return value.defining_node is not None and (
        value.defining_node.op == "prim::Constant" or only_words(value.defining_node)
    )


def _is_plain_or_device(type_: Type) -> bool:
    """Of a stretch a device is known, as long as nobody outside asks for it."""
    return isinstance(type_, DeviceType) or _is_plain(type_)


def _is_plain(type_: Type) -> bool:
    if isinstance(type_, OptionalType):
        return _is_plain(type_.element)
    if isinstance(type_, ListType):
        return not isinstance(type_.element, ListType) and _is_plain(type_.element)
    if isinstance(type_, TupleType):
        return all(map(_is_plain, type_.elements))
    return isinstance(type_, _PLAIN)
