"""What a node does besides computing its results: touch the world, run in order, draw random numbers, raise.

Writes to memory are no effects here; `alias` knows about those. What nothing is known of is taken to do everything.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x):\\n  %y = my::unknown(%x)\\n  %l : Tensor[] = prim::ListConstruct(%x)\\n  return (%l)")
>>> [has_effect(n) for n in graph.nodes()], [may_raise(n) for n in graph.nodes()]
([True, False], [True, False])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from flambeau.ir import constants, kinds
from flambeau.ir.graph import Graph
from flambeau.ir.node import Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.value import Value
from flambeau.schema.opdef import Effect
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    BoolType,
    ClassType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    StringType,
    TensorType,
)

_NEVER_RAISE = frozenset(
    {
        "prim::Constant", "prim::Uninitialized", "prim::ListConstruct", "prim::TupleConstruct", "prim::TupleUnpack",
        "prim::isinstance", "prim::unchecked_cast", "prim::CreateObject", "prim::dtype", "prim::device", "prim::layout",
        "aten::__is__", "aten::__isnot__", "aten::dim", "aten::__not__", "aten::numel", "aten::is_floating_point",
        "aten::is_complex",
    }
)  # fmt: skip
_TOTAL_ON_NUMBERS = frozenset(
    {
        "aten::add", "aten::sub", "aten::mul", "aten::neg", "aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt",
        "aten::ge", "aten::__and__", "aten::__or__", "aten::__xor__", "aten::__not__", "aten::Bool", "prim::max",
        "prim::min", "aten::__derive_index", "aten::len",
    }
)  # fmt: skip
"""Operators that cannot fail on ints, floats, bools and strings."""
_TOTAL_FOR_STEPS = frozenset(
    {"aten::floordiv", "aten::remainder", "aten::div", "aten::__round_to_zero_floordiv", "aten::__range_length"}
)
"""Operators on numbers that fail for no last operand but 0, and perhaps -1."""
_HIDDEN_WRITES: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "aten::batch_norm": (5, (3, 4)),
    "aten::native_batch_norm": (5, (3, 4)),
    "aten::instance_norm": (5, (3, 4)),
}
"""Of operators that move running statistics: which operand says whether they do, and which ones are written."""
_NOTICED = (Effect.ORDERED, Effect.WORLD)
_NUMBERS = (IntType, FloatType, BoolType)
_PLAIN = (*_NUMBERS, StringType, NoneType)


def has_effect(node: Node) -> bool:
    """Whether somebody would notice if the node, or anything nested in it, did not run."""
    return any(own_effect(n) in _NOTICED for n in _deep(node))


def is_random(node: Node) -> bool:
    """Whether the node, or anything nested in it, draws from a generator."""
    return any(own_effect(n) is Effect.RANDOM for n in _deep(node))


def is_pure(node: Node) -> bool:
    """Whether equal operands give equal results, and nothing else happens apart from declared writes."""
    return all(own_effect(n) is Effect.NONE for n in _deep(node))


def writes_memory(node: Node) -> bool:
    """Whether the node, or anything nested in it, writes to memory that existed before."""
    return any(own_writes(n) for n in _deep(node))


def may_raise(node: Node) -> bool:
    """Whether running the node, or anything nested in it, can fail for operands of the right types."""
    return any(own_may_raise(n) for n in _deep(node))


def _deep(node: Node) -> Iterator[Node]:
    """The node and what runs when it runs: nodes in its blocks and in its subgraph."""
    yield node
    for block in node.blocks:
        for inner in block:
            yield from _deep(inner)
    subgraph = node.attributes.get(SUBGRAPH)
    if isinstance(subgraph, Graph) and node.kind not in kinds.OPAQUE:
        for inner in subgraph.block:
            yield from _deep(inner)


def own_effect(node: Node) -> Effect:
    """What the node does besides its results, apart from what is nested in it."""
    kind = node.kind
    if kind in kinds.OPAQUE or kind.startswith("^"):
        return Effect.WORLD
    if kind in kinds.ORDERED:
        return Effect.ORDERED
    if kinds.is_known(kind):
        return Effect.NONE
    definition = node.definition
    return Effect.WORLD if definition is None else definition.effect


def own_writes(node: Node) -> bool:
    """Whether the node writes memory, apart from what is nested in it."""
    if node.kind in kinds.OPAQUE or node.kind == "prim::SetAttr" or node.kind.startswith("^"):
        return True
    if kinds.is_known(node.kind):
        return False
    definition = node.definition
    return definition is None or definition.schema.is_mutable or bool(hidden_writes(node))


def hidden_writes(node: Node) -> list[Value]:
    """Operands that a node writes although its schema does not say so: running statistics, in training."""
    found = _HIDDEN_WRITES.get(node.kind)
    if found is None or len(node.inputs) <= found[0]:
        return []
    is_training = node.input(found[0])
    if constants.is_constant(is_training) and not constants.constant_value(is_training):
        return []
    return [node.input(i) for i in found[1]]



def own_may_raise(node: Node) -> bool:
    """Whether running the node can fail, apart from what is nested in it."""
    kind = node.kind
    if kind in _NEVER_RAISE or kind in kinds.CONTROL:
        return False
    if kind in _TOTAL_ON_NUMBERS and all(isinstance(v.type, _PLAIN) for v in node.inputs):
        return False
    total = _TOTAL.get(kind)
    return not (total is not None and total(node)) and not _is_total_on_floats(node)


def _is_safe_division(node: Node) -> bool:
    """Whether all operands are numbers, the last one a constant that none of these operators refuses."""
    held = constants.constant_value(node.inputs[-1]) if constants.is_constant(node.inputs[-1]) else None
    if not isinstance(held, int | float) or held in (0, -1):
        return False
    return all(isinstance(v.type, _NUMBERS) for v in node.inputs)


def _is_safe_size(node: Node) -> bool:
    """Whether all sizes are asked for, or that of a dimension that there surely is."""
    type_ = node.input().type
    if len(node.inputs) == 1 or not isinstance(type_, TensorType) or type_.rank is None:
        return len(node.inputs) == 1
    dim = constants.constant_value(node.input(1)) if constants.is_constant(node.input(1)) else None
    return isinstance(dim, int) and -type_.rank <= dim < type_.rank


def _is_safe_length(node: Node) -> bool:
    """Whether it is a list's or dict's length, or that of a tensor that surely has dimensions."""
    type_ = node.input().type
    return isinstance(type_, ListType | DictType | SetType) or (isinstance(type_, TensorType) and bool(type_.rank))


def _is_float_of_number(node: Node) -> bool:
    return isinstance(node.input().type, _NUMBERS)


def _is_attribute_of_argument(node: Node) -> bool:
    """Whether the object is a parameter of the graph, whose attributes were looked at before it runs."""
    owner = node.input()
    definition = owner.type.definition if isinstance(owner.type, ClassType) else None
    if definition is None or owner.node is not None or owner.owner_block is not node.graph.block:
        return False
    return node.attributes.get("name") not in getattr(definition.source, "optional", ())


_TOTAL: Mapping[str, Callable[[Node], bool]] = {
    **dict.fromkeys(_TOTAL_FOR_STEPS, _is_safe_division),
    "aten::size": _is_safe_size,
    "prim::GetAttr": _is_attribute_of_argument,
    "aten::len": _is_safe_length,
    "aten::Float": _is_float_of_number,
}
"""When operators cannot fail, by kind."""


def looks_at_no_elements(node: Node) -> bool:
    """Whether the result depends on what its tensors are, not on what is in them: sizes, a dtype, a device."""
    definition = node.definition
    return definition is not None and definition.family == "metadata"


def _is_total_on_floats(node: Node) -> bool:
    """Whether it is a pointwise operator of one float tensor and nothing else: no sizes, no dtypes that may not fit."""
    if len(node.inputs) != 1 or node.kind == "aten::bitwise_not":
        return False
    type_ = node.input().type
    if not isinstance(type_, TensorType) or type_.dtype is None or not type_.dtype.is_floating_point:
        return False
    definition = node.definition
    return definition is not None and definition.family == "pointwise"
