"""Values in the place of what lies in an object or a container that nobody else ever sees.

```
%y : int = prim::Loop(%n, %true, ...)              %y, %d = prim::Loop(%n, %true, ..., %start)
  block0(%i : int):                                  block0(%i : int, %c):
    %a = a read of the slot           →               (%a is %c)
    an assignment of %b to it                         -> (%true, %b)
```

What is assigned in a branch or a loop becomes a result of it. Who knows the object or container says which nodes read
and assign which slot (`Access`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from flambeau.ir.graph import Block, Node, Value
from flambeau.schema.types import Type
from flambeau.util.record import dataclass

IF: Final = "prim::If"
LOOP: Final = "prim::Loop"
State = dict[Any, Value]
"""The value of each slot."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a node does: it reads a slot, assigns an operand to it, or gives what `make` makes of all slots."""

    slot: Any = None
    assigned: int | None = None
    """Which operand: it may be what is read of another slot, and a value by then."""
    make: Callable[[State], Value] | None = None

    @property
    def is_read(self) -> bool:
        """Whether it reads one slot."""
        return self.assigned is None and self.make is None


def behind(node: Node) -> Iterator[Node]:
    """The nodes of a block behind one."""
    following = node.next
    while following is not None:
        yield following
        following = following.next


def touched(home: Block, accesses: Iterable[Node]) -> set[Node] | None:
    """Nodes, and the branches and loops around them up to a block; None where something else is around one."""
    nodes = set[Node]()
    for access in accesses:
        node = access
        while node not in nodes:
            nodes.add(node)
            block = node.owner_block
            if block is home:
                break
            if block.owner_node is None or block.owner_node.op not in (IF, LOOP):
                return None
            node = block.owner_node
    return nodes


class Scalars:
    """The slots of one object or container as values."""

    def __init__(
        self, accesses: Mapping[Node, Access], touched: set[Node], type_of: Callable[[Any], Type],
        name_of: Callable[[Any], str],
    ) -> None:  # fmt: skip
        self._accesses = accesses
        self._touched = touched
        self._type_of = type_of
        self._name_of = name_of

    def is_assigned_before_use(self, nodes: Iterable[Node], known: set[Any]) -> bool:
        """Whether every slot surely has a value where it is read. Adds to `known` what has one behind `nodes`."""
        for node in nodes:
            if node not in self._touched:
                continue
            access = self._accesses.get(node)
            if access is not None and access.is_read and access.slot not in known:
                return False
            if access is not None and access.assigned is not None:
                known.add(access.slot)
            branches = [set(known) for _ in node.nested_blocks]
            if not all(map(self.is_assigned_before_use, node.nested_blocks, branches)):
                return False
            if node.op == IF:
                known |= set.intersection(*branches)
        return True

    def lower(self, nodes: Iterable[Node], state: State) -> None:
        """Take the reads and assignments away. `state` has the value of each slot, before and behind `nodes`."""
        for node in nodes:
            if node not in self._touched:
                continue
            access = self._accesses.get(node)
            if access is not None:
                _carry_out(node, access, state)
            elif node.op == IF:
                self._branch(node, state)
            else:
                self._loop(node, state)

    def _branch(self, node: Node, state: State) -> None:
        written = self._written(node)
        ends = [dict(state) for _ in node.nested_blocks]
        for block, end in zip(node.nested_blocks, ends, strict=True):
            self.lower(list(block), end)
        for slot in written:
            values = [end.get(slot) for end in ends]
            known = [v for v in values if v is not None]
            if len(known) < len(values):
                state.pop(slot, None)  # nobody reads it before it is assigned again
                continue
            for block, value in zip(node.nested_blocks, known, strict=True):
                block.add_return(value)
            state[slot] = node.add_result(self._type_of(slot), self._name_of(slot))

    def _loop(self, node: Node, state: State) -> None:
        (body,) = node.nested_blocks
        carried = [slot for slot in self._written(node) if slot in state]
        inside = dict(state)
        for slot in carried:
            node.add_operand(state[slot])
            inside[slot] = body.add_parameter(self._type_of(slot), self._name_of(slot))
        self.lower(list(body), inside)
        for slot in carried:
            body.add_return(inside[slot])
            state[slot] = node.add_result(self._type_of(slot), self._name_of(slot))

    def _written(self, node: Node) -> list[Any]:
        """The slots that are assigned somewhere inside, in order."""
        return list(dict.fromkeys(self._assigned(node.nested_blocks)))

    def _assigned(self, blocks: Iterable[Block]) -> Iterator[Any]:
        for block in blocks:
            for node in block:
                if node in self._touched:
                    access = self._accesses.get(node)
                    if access is not None and access.assigned is not None:
                        yield access.slot
                    yield from self._assigned(node.nested_blocks)


def _carry_out(node: Node, access: Access, state: State) -> None:
    """Do with values what a node does with slots, and take it away."""
    if access.assigned is not None:
        state[access.slot] = node.operand(access.assigned)
    elif access.make is None:
        node.result().replace_uses_with(state[access.slot])
    else:
        with node.graph.inserting(node), node.graph.at_range(node.range):
            node.result().replace_uses_with(access.make(state))
    node.erase()
