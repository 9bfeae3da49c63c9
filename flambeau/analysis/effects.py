"""What a node does besides computing its results: touch the world, run in order, draw random numbers, raise.

Writes to memory are no effects here; `alias` knows about those. What nothing is known of is taken to do everything.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x):\\n  %y = my::unknown(%x)\\n  %l : Tensor[] = prim::ListConstruct(%x)\\n  return (%l)")
>>> [has_effect(n) for n in graph.nodes()], [may_raise(n) for n in graph.nodes()]
([True, False], [True, False])
"""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.ir import constants, kinds
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.schema.opdef import UNKNOWN, Effect, OpDef
from flambeau.schema.traits import Fails
from flambeau.schema.types import BoolType, ClassType, FloatType, IntType, TensorType

_NOTICED = (Effect.ORDERED, Effect.WORLD)


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
    for block in node.nested_blocks:
        for inner in block.own_nodes():
            yield from _deep(inner)
    subgraph = node.attributes.get(SUBGRAPH)
    if isinstance(subgraph, Graph) and node.op not in kinds.OPAQUE:
        for inner in subgraph.body.own_nodes():
            yield from _deep(inner)


def own_effect(node: Node) -> Effect:
    """What the node does besides its results, apart from what is nested in it."""
    kind = node.op
    if kind in kinds.OPAQUE or kind.startswith("^"):
        return Effect.WORLD
    if kind in kinds.ORDERED:
        return Effect.ORDERED
    if kind in kinds.STRUCTURAL:
        return Effect.NONE
    definition = node.definition
    if definition is None:
        return Effect.WORLD
    return Effect.RANDOM if definition.traits.draws_by and may_draw(node, definition) else definition.effect


def may_draw(node: Node, definition: OpDef) -> bool:
    """Whether an operator draws random numbers, unless its operands say that it does not: a dropout outside of
    training.
    """
    operands = [constants.constant_value(v) if constants.is_constant(v) else UNKNOWN for v in node.operands]
    return definition.draws(operands)


def own_writes(node: Node) -> bool:
    """Whether the node writes memory, apart from what is nested in it."""
    if node.op in kinds.OPAQUE or node.op == "prim::SetAttr" or node.op.startswith("^"):
        return True
    if node.op in kinds.STRUCTURAL:
        return False
    definition = node.definition
    return definition is None or definition.schema.is_mutable or bool(hidden_writes(node))


def is_only_read(value: Value) -> bool:
    """Whether nothing changes a list."""
    for use in value.uses():
        definition = use.user.definition
        if definition is not None and definition.schema.is_mutable:
            return False
    return True


def hidden_writes(node: Node) -> list[Value]:
    """Operands that a node writes although its schema does not say so: running statistics, in training."""
    definition = node.definition
    condition = None if definition is None else definition.traits.writes_when
    if definition is None or condition is None:
        return []
    index = definition.schema.index
    flag = node.operand(index[condition.flag])
    if constants.is_constant(flag) and not constants.constant_value(flag):
        return []
    return [node.operand(index[name]) for name in condition.arguments]


def own_may_raise(node: Node) -> bool:
    """Whether running the node can fail, apart from what is nested in it."""
    if node.op in kinds.NEVER_RAISE:
        return False
    if node.op == "prim::GetAttr":
        return not _is_attribute_of_argument(node)
    definition = node.definition
    if definition is None:
        return True
    match definition.traits.fails:
        case Fails.NEVER:
            return False
        case Fails.NOT_ON_REALS:
            return not _are_real_numbers(node)
        case Fails.ON_ZERO:
            return not _is_safe_division(node)
        case Fails.ON_AXIS:
            return not _has_axis(node, definition)
        case Fails.ON_FORM:
            return not _is_filled(node)
    return not _is_total_on_floats(node, definition)


def _are_real_numbers(node: Node) -> bool:
    return all(isinstance(v.static_type, IntType | FloatType | BoolType) for v in node.operands)


def _is_safe_division(node: Node) -> bool:
    """Whether all operands are numbers, the last one a constant that none of these operators refuses."""
    last = constants.constant_value(node.operands[-1]) if constants.is_constant(node.operands[-1]) else None
    return isinstance(last, int | float) and last not in (0, -1) and _are_real_numbers(node)


def _is_filled(node: Node) -> bool:
    """Whether a constant text has no more gaps than there are operands that fill them."""
    form = constants.constant_value(node.operand(0)) if constants.is_constant(node.operand(0)) else None
    return isinstance(form, str) and form.count("{}") < len(node.operands)


def _has_axis(node: Node, definition: OpDef) -> bool:
    """Whether the tensor surely has the axis that is asked about, the first one if no argument says which."""
    type_ = node.operand(0).static_type
    if not isinstance(type_, TensorType) or type_.rank is None:
        return False
    position = definition.schema.index.get("dim")
    if position is None:
        return type_.rank > 0
    dim = constants.constant_value(node.operand(position)) if constants.is_constant(node.operand(position)) else None
    return isinstance(dim, int) and -type_.rank <= dim < type_.rank


def _is_attribute_of_argument(node: Node) -> bool:
    """Whether the object is a parameter of the graph, whose attributes were looked at before it runs."""
    owner = node.operand(0)
    definition = owner.static_type.definition if isinstance(owner.static_type, ClassType) else None
    if definition is None or owner.defining_node is not None or owner.owner_block is not node.graph.body:
        return False
    return node.attributes.get("name") not in getattr(definition.source, "optional", ())


def looks_at_no_elements(node: Node) -> bool:
    """Whether the result depends on what its tensors are, not on what is in them: sizes, a dtype, a device."""
    definition = node.definition
    return definition is not None and definition.family == "metadata"


def _is_total_on_floats(node: Node, definition: OpDef) -> bool:
    """Whether it is a pointwise operator of one float tensor and nothing else: no sizes, no dtypes that may not fit."""
    if definition.family != "pointwise" or len(node.operands) != 1 or node.op == "aten::bitwise_not":
        return False
    type_ = node.operand(0).static_type
    return isinstance(type_, TensorType) and type_.dtype is not None and type_.dtype.is_floating_point
