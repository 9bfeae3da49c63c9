"""When the values of a block are used for the last time.

A value that comes from outside a branch may end inside it; one that comes from outside a loop's body may not, because
the next iteration needs it again. Nodes that only change a type (`prim::unchecked_cast`) have no value of their own:
what they give is what they take.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flambeau.ir.graph import Block, Node, Value
from flambeau.schema.types import (
    BoolType,
    ComplexType,
    DeviceType,
    EnumType,
    FloatType,
    FunctionType,
    IntType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    Type,
    UnionType,
)
from flambeau.util.record import dataclass, field

CONSTANTS = frozenset({"prim::Constant", "prim::Uninitialized"})
"""Nodes whose value is there from the start."""
SAME_VALUE = frozenset({"prim::unchecked_cast", "prim::unchecked_unwrap_optional", "prim::Guard", "prim::profile"})
"""Nodes whose result is their first operand, unless something watches what they pass on (`KERNEL`)."""
KERNEL = "kernel"
"""The attribute that holds what runs a node: all operands in order, one result or a tuple of several."""
_LIGHT = (
    IntType, FloatType, BoolType, ComplexType, StringType, NoneType, NumberType, DeviceType, EnumType, FunctionType,
)  # fmt: skip


def is_same_value(node: Node) -> bool:
    """Whether a node only changes the type of its operand."""
    return node.op in SAME_VALUE and KERNEL not in node.attributes


def source(value: Value) -> Value:
    """The value that `value` is, behind nodes that only change its type."""
    while value.defining_node is not None and is_same_value(value.defining_node) and value.defining_node.operands:
        value = value.defining_node.operand(0)
    return value


def is_constant(value: Value) -> bool:
    """Whether the value lies in a register from the start."""
    return value.defining_node is not None and value.defining_node.op in CONSTANTS


def is_heavy(type_: Type) -> bool:
    """Whether values of the type hold memory that is worth giving back early."""
    if isinstance(type_, OptionalType | UnionType):
        return any(map(is_heavy, type_.contained))
    return not isinstance(type_, _LIGHT)


Known = dict[Block, dict[Value, None]]
"""What each block uses of the values outside it, where that has been found out."""


def uses(node: Node, known: Known) -> Iterator[Value]:
    """Every value that a node or anything nested in it uses, but for those that come into being inside it."""
    for value in node.operands:
        yield source(value)
    for block in node.nested_blocks:
        yield from outer_uses(block, known)


def outer_uses(block: Block, known: Known) -> dict[Value, None]:
    """The values from outside that a block or anything nested in it uses, in order."""
    used = known.get(block)
    if used is None:
        inside = set(block.parameters)
        used = {}
        for node in block.own_nodes():
            for value in uses(node, known):
                if value not in inside:
                    used[value] = None
            inside.update(node.results)
        used.update((value, None) for value in map(source, block.returns) if value not in inside)
        known[block] = used
    return used


@dataclass(slots=True)
class Ends:
    """What ends where in one block."""

    at_start: list[Value] = field(default_factory=list)
    """Parameters and outer values that the block does not use."""
    at: dict[Node, list[Value]] = field(default_factory=dict)
    """Values whose last use is in this node, or in something nested in it."""
    at_return: list[Value] = field(default_factory=list)
    """Values that the block returns, and does not need for anything later."""


def ends(block: Block, outer: Iterable[Value], known: Known) -> Ends:
    """The ends of a block's own values and of those `outer` ones that nobody needs after it.

    `known` is kept between the calls for the blocks of one graph, which must not change meanwhile.
    """
    ends_of_block = Ends()
    nodes = [n for n in block.own_nodes() if n.op not in CONSTANTS and not is_same_value(n)]
    open_: dict[Value, None] = dict.fromkeys(outer)
    open_.update(dict.fromkeys(block.parameters))
    for node in nodes:
        open_.update(dict.fromkeys(node.results))
    for value in block.returns:
        _end(source(value), open_, ends_of_block.at_return)
    for node in reversed(nodes):
        ended: list[Value] = []
        for value in node.results:
            _end(value, open_, ended)
        for value in uses(node, known):
            _end(value, open_, ended)
        if ended:
            ends_of_block.at[node] = ended
    ends_of_block.at_start = list(open_)
    return ends_of_block


def _end(value: Value, open_: dict[Value, None], ended: list[Value]) -> None:
    if value in open_:
        del open_[value]
        ended.append(value)
