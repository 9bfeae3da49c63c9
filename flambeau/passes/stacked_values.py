"""Which values of a loop are stacks of parts, as far as anybody looks: all that is done with them is done to each part
alone, and what is read is a part.

```
block0(%i : int, %y : Float(*, 2)):
  %a : Float(*) = aten::select(%y, %1, %0)
  %b : Float(*) = aten::select(%y, %1, %1)
  %s : Float(*, 2) = aten::stack([%b, %a], %1)
  %z : Float(*, 2) = aten::add(%y, %s, %1)
  -> (%true, %z)
```

`%y`, `%s` and `%z` are stacks of two parts along axis 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.constant_evaluation import known
from flambeau.ir.graph import Node, Value
from flambeau.ir.walk import nodes_within
from flambeau.schema.dtype import bool_
from flambeau.schema.types import TensorType
from flambeau.util.record import dataclass, field

STACK: Final = "aten::stack"
SELECT: Final = "aten::select"
LIST: Final = "prim::ListConstruct"
RETURN: Final = "prim::Return"
MOST_PARTS: Final = 8
MOST_NODES: Final = 256
"""Nodes of what is computed for each part by itself."""


@dataclass(slots=True)
class Stacked:
    """The stacks of a loop: values of one rank, whose parts lie along one axis."""

    axis: int
    count: int
    rank: int
    values: set[Value] = field(default_factory=set)
    carried: set[int] = field(default_factory=set)
    """Which of what the loop carries are such."""
    reads: set[Node] = field(default_factory=set)
    """The nodes that read one part."""


def stacks_of(loop: Node, aliases: AliasAnalysis) -> Stacked | None:
    """The stacks that a loop carries on along one axis, of the first stack of which this holds; None where there are
    none, and where a state is a stack of numbers: what else is stacked there has few elements for each part."""
    nodes = nodes_within(loop)
    if any(node.op == STACK and _rank(node.result()) == 1 for node in nodes):
        return None
    for node in nodes:
        stacked = _begun(node)
        if stacked is not None and _grows(stacked, node.result(), loop) and _is_worth_it(stacked, aliases):
            return stacked
    return None


def parts_listed(stack: Node) -> Sequence[Value]:
    """What a stack puts together; nothing where that is not known."""
    maker = stack.operand(0).defining_node
    return maker.operands if maker is not None and maker.op == LIST else ()


def part_axis(value: Value, stacked: Stacked) -> int:
    """Which axis of an operand of a lower rank lies along the parts; below 0, none."""
    type_ = value.static_type
    assert isinstance(type_, TensorType)
    assert type_.rank is not None
    return stacked.axis - (stacked.rank - type_.rank)


def _begun(node: Node) -> Stacked | None:
    """The description of what a stack of few parts begins."""
    if node.op != STACK:
        return None
    rank, axis, count = _rank(node.result()), known(node.operand(1)), len(parts_listed(node))
    if rank is None or rank < 2 or not isinstance(axis, int) or not 1 < count <= MOST_PARTS:
        return None
    return Stacked(axis=axis % rank, count=count, rank=rank)


def _rank(value: Value) -> int | None:
    type_ = value.static_type
    return type_.rank if isinstance(type_, TensorType) and type_.dtype is not None else None


def _grows(stacked: Stacked, value: Value, loop: Node) -> bool:
    """Take up a value and all that it is made of and goes into; whether all of that is such a stack."""
    waiting = [value]
    inside = set(nodes_within(loop))
    while waiting:
        one = waiting.pop()
        if one in stacked.values:
            continue
        stacked.values.add(one)
        if _rank(one) != stacked.rank or len(stacked.values) > MOST_NODES:
            return False
        makers, users = _makers(stacked, one, loop, inside), _users(stacked, one, loop)
        if makers is None or users is None:
            return False
        waiting += [*makers, *users]
    return True


def _makers(stacked: Stacked, value: Value, loop: Node, inside: set[Node]) -> list[Value] | None:
    """The stacks that a value is made of; None where it is no stack."""
    (body,) = loop.nested_blocks
    if value in body.parameters[1:]:
        index = list(body.parameters).index(value) - 1
        stacked.carried.add(index)
        return [body.returns[index + 1]]
    node = value.defining_node
    if node is None or node not in inside:
        return None
    if node.op == STACK:
        is_alike = known(node.operand(1)) in (stacked.axis, stacked.axis - stacked.rank)
        return [] if is_alike and len(parts_listed(node)) == stacked.count else None
    return _operands(stacked, node)


def _operands(stacked: Stacked, node: Node) -> list[Value] | None:
    """The operands of a pointwise operator that have to be stacks; None for other nodes."""
    definition = node.definition
    if definition is None or definition.family != "pointwise" or definition.schema.is_mutable or len(node.results) != 1:
        return None
    result, stacks = node.result().static_type, []
    assert isinstance(result, TensorType)
    for value in node.operands:
        type_ = value.static_type
        if not isinstance(type_, TensorType):
            continue
        rank = _rank(value)
        if rank is None or type_.sizes is None or type_.dtype not in (result.dtype, bool_):
            return None
        axis = part_axis(value, stacked)
        if axis < 0 or type_.sizes[axis] == 1:
            continue
        if rank != stacked.rank:
            return None
        stacks.append(value)
    return stacks


def _users(stacked: Stacked, value: Value, loop: Node) -> list[Value] | None:
    """The stacks that a value goes into; None where something else is done with it."""
    (body,) = loop.nested_blocks
    users: list[Value] = []
    for use in value.uses():
        node = use.user
        if node.op == SELECT:
            axis, part = known(node.operand(1)), known(node.operand(2))
            is_part = axis in (stacked.axis, stacked.axis - stacked.rank) and isinstance(part, int)
            if not is_part or not -stacked.count <= part < stacked.count:
                return None
            stacked.reads.add(node)
        elif node is body.return_node:
            users += [body.parameters[n] for n, returned in enumerate(body.returns) if n > 0 and returned is value]
        elif node.op == RETURN or node.nested_blocks or len(node.results) != 1:
            return None
        else:
            users.append(node.result())
    return users


def _is_worth_it(stacked: Stacked, aliases: AliasAnalysis) -> bool:
    """Whether a loop carries such stacks, something reads their parts, and nothing writes to them or their parts."""
    if not stacked.carried or not stacked.reads:
        return False
    return not any(aliases.has_writers(value) for value in _looked_at(stacked))


def _looked_at(stacked: Stacked) -> Iterator[Value]:
    for value in stacked.values:
        yield value
        node = value.defining_node
        if node is not None and node.op == STACK:
            yield from parts_listed(node)
