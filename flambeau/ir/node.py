"""Nodes and blocks: the two halves of one recursive structure, hence one file.

A node has a kind (`aten::mul`, `prim::If`), operands, results, attributes and blocks. A block has parameters, a doubly
linked list of nodes, and returns. The returns are the operands of a pseudo node `prim::Return`, so that every use is a
node's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from flambeau.ir.value import Use, Value
from flambeau.schema import match
from flambeau.schema.types import TENSOR, Type, without_refinement
from flambeau.util.source import SourceRange

if TYPE_CHECKING:
    from flambeau.ir.graph import Graph
    from flambeau.schema.opdef import OpDef

RETURN = "prim::Return"
_GAP = 1 << 20
_ROOM = 1 << 10
"""Between neighbours, after room was made."""


class Node:
    """One operation. Create with `Graph.create`; it belongs to no block until inserted. `str(node)` is its text."""

    _print: ClassVar[Callable[..., str]]
    """Set by `printer`."""
    __slots__ = (
        "_blocks", "_definition", "_inputs", "_next", "_order", "_outputs", "_owner", "_previous", "attributes",
        "call_chain", "graph", "is_destroyed", "kind", "range", "scope",
    )  # fmt: skip

    def __init__(self, graph: Graph, kind: str) -> None:
        self.graph = graph
        self.kind = kind
        """Qualified operator name: `aten::add`, `prim::Loop`, `^python_function`."""
        self.attributes: dict[str, Any] = {}
        """What is part of the operation itself: constants, names, types, subgraphs."""
        self.range: SourceRange | None = None
        """The source it came from."""
        self.call_chain: tuple[tuple[str, SourceRange | None], ...] = ()
        """For inlined nodes: the calls on the way here, outermost first, as (function, call site)."""
        self.scope = ""
        """For traced nodes: the path of the module that made it."""
        self.is_destroyed = False
        """Whether it was removed for good."""
        self._inputs: list[Value] = []
        self._outputs: list[Value] = []
        self._blocks: list[Block] = []
        self._owner: Block | None = None
        self._previous: Node | None = None
        self._next: Node | None = None
        self._order = 0
        self._definition: tuple[object, OpDef | None] | None = None

    # -- operands -----------------------------------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The operands."""
        return tuple(self._inputs)

    def input(self, index: int = 0) -> Value:
        """One operand."""
        return self._inputs[index]

    def add_input(self, value: Value) -> None:
        """Append an operand."""
        value._uses[Use(self, len(self._inputs))] = None
        self._inputs.append(value)

    def replace_input(self, index: int, value: Value) -> Value:
        """Put another operand at `index`; returns the old one."""
        old = self._inputs[index]
        del old._uses[Use(self, index)]
        self._inputs[index] = value
        value._uses[Use(self, index)] = None
        return old

    def insert_input(self, index: int, value: Value) -> None:
        """Insert an operand before `index`."""
        self.set_inputs([*self._inputs[:index], value, *self._inputs[index:]])

    def remove_input(self, index: int) -> None:
        """Drop one operand; later ones move down."""
        self.set_inputs([*self._inputs[:index], *self._inputs[index + 1 :]])

    def set_inputs(self, values: Iterable[Value]) -> None:
        """Replace all operands."""
        new = list(values)
        for index, old in enumerate(self._inputs):
            del old._uses[Use(self, index)]
        self._inputs = []
        for value in new:
            self.add_input(value)

    def replace_uses_of(self, old: Value, new: Value) -> None:
        """Let this node use `new` wherever it uses `old`."""
        for index, value in enumerate(self._inputs):
            if value is old:
                self.replace_input(index, new)

    # -- results ------------------------------------------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The results."""
        return tuple(self._outputs)

    def output(self, index: int | None = None) -> Value:
        """One result; without an index the only one. Raises ValueError if there are more or none."""
        if index is None:
            if len(self._outputs) != 1:
                raise ValueError(f"{self.kind} has {len(self._outputs)} outputs, not one")
            index = 0
        return self._outputs[index]

    def add_output(self, type_: Type = TENSOR, name: str = "") -> Value:
        """Append a result."""
        value = Value(type_, self.graph.new_unique(), node=self, index=len(self._outputs))
        self._outputs.append(value)
        if name:
            self.graph.rename(value, name)
        return value

    def remove_output(self, index: int) -> None:
        """Drop a result. Raises ValueError if it is used."""
        _refuse_used(self._outputs[index], f"output {index} of {self.kind}")
        self.graph.forget(self._outputs.pop(index))
        for i, value in enumerate(self._outputs):
            value.index = i

    # -- blocks -------------------------------------------------------------------------------------------------------

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The nested blocks."""
        return tuple(self._blocks)

    def add_block(self) -> Block:
        """Append an empty nested block."""
        block = Block(self.graph, self)
        self._blocks.append(block)
        return block

    def remove_block(self, index: int) -> None:
        """Erase a nested block and all in it."""
        self._blocks.pop(index).clear()

    # -- meaning ------------------------------------------------------------------------------------------------------

    @property
    def definition(self) -> OpDef | None:
        """The operator overload that the operand types select, or None for structural and unknown kinds."""
        key = (match.registry_version(), [v.type for v in self._inputs], [v.type for v in self._outputs])
        if self._definition is None or self._definition[0] != key:
            version, *types = key
            plain = [tuple(map(without_refinement, t)) for t in types]
            self._definition = (key, match.overload_of_plain(version, self.kind, *plain))
        return self._definition[1]

    def attribute(self, name: str) -> Any:
        """One attribute. Raises KeyError naming the node's kind."""
        if name not in self.attributes:
            raise KeyError(f"{self.kind} has no attribute '{name}'; it has {sorted(self.attributes)}")
        return self.attributes[name]

    # -- place --------------------------------------------------------------------------------------------------------

    @property
    def owner_block(self) -> Block:
        """The block that holds it. Raises ValueError while it is in none."""
        if self._owner is None:
            raise ValueError(f"{self.kind} is in no block")
        return self._owner

    @property
    def is_inserted(self) -> bool:
        """Whether it is in a block."""
        return self._owner is not None

    @property
    def next(self) -> Node | None:
        """The node after it in its block; None at the end."""
        return self._next if self._next is not None and self._next.kind != RETURN else None

    @property
    def previous(self) -> Node | None:
        """The node before it in its block; None at the start."""
        return self._previous

    def insert_before(self, place: Node) -> Node:
        """Put it into the block of `place`, before it."""
        if self._owner is not None:
            raise ValueError(f"{self.kind} is in a block already; use move_before")
        place.owner_block._link(self, place)
        return self

    def insert_after(self, place: Node) -> Node:
        """Put it into the block of `place`, after it."""
        following = place._next
        if following is None:
            raise ValueError("nothing follows the return of a block")
        return self.insert_before(following)

    def move_before(self, place: Node) -> None:
        """Move it, from any block, to before `place`."""
        if place is not self:
            self._unlink()
            self.insert_before(place)

    def move_after(self, place: Node) -> None:
        """Move it, from any block, to after `place`."""
        if place is not self:
            self._unlink()
            self.insert_after(place)

    def is_before(self, other: Node) -> bool:
        """Whether it comes earlier in program order; a node comes before those nested in it."""
        if self.owner_block is other.owner_block:
            return self._order < other._order
        mine, theirs = self._ancestors(), other._ancestors()
        for (block_a, a), (block_b, b) in zip(mine, theirs, strict=False):
            if block_a is not block_b:
                return block_a.position < block_b.position
            if a is not b:
                return a._order < b._order
        return len(mine) < len(theirs)

    def _ancestors(self) -> list[tuple[Block, Node]]:
        """(block, node in it) on the way from the graph's block down to this node."""
        path: list[tuple[Block, Node]] = []
        node: Node | None = self
        while node is not None:
            path.append((node.owner_block, node))
            node = node.owner_block.owner_node
        return path[::-1]

    def _unlink(self) -> None:
        block = self.owner_block
        if self._previous is None:
            assert self._next is not None
            block._first = self._next
        else:
            self._previous._next = self._next
        assert self._next is not None
        self._next._previous = self._previous
        self._owner = self._previous = self._next = None

    # -- end ----------------------------------------------------------------------------------------------------------

    def destroy(self) -> None:
        """Remove it with all that is nested in it. Raises ValueError, naming the users, if a result is used."""
        for index, value in enumerate(self._outputs):
            _refuse_used(value, f"output {index} of {self.kind}")
        for block in self._blocks:
            block.clear()
        self._blocks = []
        self.set_inputs(())
        for value in self._outputs:
            self.graph.forget(value)
        if self._owner is not None:
            self._unlink()
        self.is_destroyed = True

    def copy_metadata(self, other: Node) -> Node:
        """Take source range, call chain and scope of `other`."""
        self.range, self.call_chain, self.scope = other.range, other.call_chain, other.scope
        return self

    def __str__(self) -> str:
        return Node._print(self)

    def __repr__(self) -> str:
        results = ", ".join(map(repr, self._outputs))
        return f"{results} = {self.kind}({', '.join('%' + v.name for v in self._inputs)})"


class Block:
    """Parameters, nodes in order, and returns; the body of a graph, a loop or a branch."""

    __slots__ = ("_first", "_parameters", "graph", "owner_node", "return_node")

    def __init__(self, graph: Graph, owner_node: Node | None = None) -> None:
        self.graph = graph
        self.owner_node = owner_node
        """The node it is nested in; None for a graph's own block."""
        self._parameters: list[Value] = []
        self.return_node = Node(graph, RETURN)
        """The pseudo node whose operands are the block's returns; the last in the list."""
        self.return_node._owner = self
        self.return_node._order = _GAP
        self._first: Node = self.return_node

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The parameters."""
        return tuple(self._parameters)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The returns."""
        return self.return_node.inputs

    @property
    def position(self) -> int:
        """Its index among the blocks of its node."""
        return 0 if self.owner_node is None else self.owner_node._blocks.index(self)

    def add_input(self, type_: Type = TENSOR, name: str = "", index: int | None = None) -> Value:
        """Add a parameter, at the end or before `index`."""
        at = len(self._parameters) if index is None else index
        value = Value(type_, self.graph.new_unique(), block=self, index=at)
        self._parameters.insert(at, value)
        self._renumber_parameters(at + 1)
        if name:
            self.graph.rename(value, name)
        return value

    def remove_input(self, index: int) -> None:
        """Drop a parameter. Raises ValueError if it is used."""
        _refuse_used(self._parameters[index], f"parameter {index} of a block")
        self.graph.forget(self._parameters.pop(index))
        self._renumber_parameters(index)

    def permute_inputs(self, order: Sequence[int]) -> None:
        """Put the parameters in another order: `order` has their present indices. Raises ValueError if it has not."""
        if sorted(order) != list(range(len(self._parameters))):
            raise ValueError(f"{list(order)} is no order of {len(self._parameters)} parameters")
        self._parameters = [self._parameters[index] for index in order]
        self._renumber_parameters(0)

    def _renumber_parameters(self, start: int) -> None:
        for i in range(start, len(self._parameters)):
            self._parameters[i].index = i

    def add_output(self, value: Value) -> int:
        """Append a return; its index."""
        self.return_node.add_input(value)
        return len(self.return_node._inputs) - 1

    def remove_output(self, index: int) -> None:
        """Drop a return."""
        self.return_node.remove_input(index)

    def __iter__(self) -> Iterator[Node]:
        """The nodes in order; the one just yielded may be removed or moved, and others inserted after it."""
        node: Node | None = self._first
        while node is not None and node.kind != RETURN:
            following = node._next
            yield node
            node = node._next if node._owner is self else following
            while node is not None and node._owner is not self:
                node = node._next

    def __reversed__(self) -> Iterator[Node]:
        node = self.return_node._previous
        while node is not None:
            before = node._previous
            yield node
            node = node._previous if node._owner is self else before

    @property
    def first(self) -> Node | None:
        """The first node; None when there is none."""
        return None if self._first.kind == RETURN else self._first

    @property
    def last(self) -> Node | None:
        """The last node before the return; None when there is none."""
        return self.return_node._previous

    def append(self, node: Node) -> Node:
        """Insert a node at the end."""
        return node.insert_before(self.return_node)

    def prepend(self, node: Node) -> Node:
        """Insert a node at the start."""
        return node.insert_before(self._first)

    def is_inside(self, node: Node) -> bool:
        """Whether it is nested, at any depth, in `node`."""
        owner = self.owner_node
        while owner is not None:
            if owner is node:
                return True
            owner = owner.owner_block.owner_node if owner.is_inserted else None
        return False

    def clear(self) -> None:
        """Remove returns, nodes and parameters."""
        self.return_node.set_inputs(())
        for node in list(self)[::-1]:
            node.destroy()
        for index in reversed(range(len(self._parameters))):
            self.remove_input(index)

    def _link(self, node: Node, following: Node) -> None:
        """Put a node that is in no block before one of this block."""
        before = following._previous
        node._owner, node._previous, node._next = self, before, following
        following._previous = node
        if before is None:
            self._first = node
        else:
            before._next = node
        self._place(node)

    def _place(self, node: Node) -> None:
        """Give a just linked node an order number between its neighbours'."""
        assert node._next is not None
        below = node._previous._order if node._previous is not None else node._next._order - 2 * _GAP
        above = node._next._order
        if node._next is self.return_node and node._previous is not None:
            self.return_node._order = above = below + 2 * _GAP
        node._order = (below + above) // 2
        if not below < node._order < above:
            self._spread(node)

    def _spread(self, node: Node) -> None:
        """Make room around a node that found none: give as many neighbours as it takes new order numbers.

        All of them each time would cost the square of the nodes where many are inserted.
        """
        left = right = node
        inside, reach = 1, 8
        while True:
            for _ in range(reach):
                if left._previous is not None:
                    left, inside = left._previous, inside + 1
                if right._next is not None:
                    right, inside = right._next, inside + 1
            low, high = left._order, right._order
            if right is self.return_node:
                step = _GAP
            elif left._previous is None:
                low, step = high - _GAP * inside, _GAP
            else:
                step = (high - low) // inside
            if step >= _ROOM:
                break
            reach *= 2
        current, order = left._next, low
        left._order = low
        while current is not None and current is not right:
            order += step
            current._order = order
            current = current._next
        if right is self.return_node:
            right._order = order + step


def _refuse_used(value: Value, what: str) -> None:
    if value.is_used:
        users = ", ".join(dict.fromkeys(use.user.kind for use in value.uses))
        raise ValueError(f"cannot remove {what}: %{value.name} is used by {users}")
