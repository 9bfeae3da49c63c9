"""Blocks as lists of nodes: doubly linked, so that inserting and moving cost nothing, and ordered over nested blocks.

A list ends with a pseudo node that nobody meets who walks over it. `graph.Node` and `graph.Block` are the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Self, TypeVar

from flambeau.ir.node_order import GAP, spread

NodeT = TypeVar("NodeT", bound="ListedNode[Any]")
BlockT = TypeVar("BlockT", bound="NodeList[Any]")


class ListedNode(Generic[BlockT]):
    """A node, as far as it has a place in a block."""

    __slots__ = ("_next", "_order", "_owner", "_previous", "nested_blocks", "op")

    op: str
    """Qualified operator name: `aten::add`, `prim::Loop`, `^python_function`."""
    nested_blocks: tuple[BlockT, ...]
    """The blocks in it: the two branches of an `if`, the body of a loop. Only the node itself puts others here."""
    _owner: BlockT | None
    _previous: Self | None
    _next: Self | None
    _order: int

    @property
    def owner_block(self) -> BlockT:
        """The block that holds it. Raises ValueError while it is in none."""
        if self._owner is None:
            raise ValueError(f"{self.op} is in no block")
        return self._owner

    @property
    def is_inserted(self) -> bool:
        """Whether it is in a block."""
        return self._owner is not None

    @property
    def next(self) -> Self | None:
        """The node after it in its block; None at the end."""
        following = self._next
        return None if following is None or following is self.owner_block.return_node else following

    @property
    def previous(self) -> Self | None:
        """The node before it in its block; None at the start."""
        return self._previous

    def insert_before(self, node: Self) -> Self:
        """Put it into the block of `node`, before it."""
        if self._owner is not None:
            raise ValueError(f"{self.op} is in a block already; use move_before")
        block = node._owner
        if block is None:
            raise ValueError(f"{node.op} is in no block")
        block._link(self, node)
        return self

    def insert_after(self, node: Self) -> Self:
        """Put it into the block of `node`, after it."""
        following = node._next
        if node._owner is None:
            raise ValueError(f"{node.op} is in no block")
        if following is None:
            raise ValueError("nothing follows the return of a block")
        return self.insert_before(following)

    def move_before(self, node: Self) -> None:
        """Move it, from any block, to before `node`. Raises ValueError unless both are in a block."""
        if node is not self:
            _check_in_blocks(self, node)
            self._unlink()
            self.insert_before(node)

    def move_after(self, node: Self) -> None:
        """Move it, from any block, to after `node`. Raises ValueError unless both are in a block."""
        if node is not self:
            _check_in_blocks(self, node)
            self._unlink()
            self.insert_after(node)

    def is_before(self, other: Self) -> bool:
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

    def _ancestors(self) -> list[tuple[BlockT, Self]]:
        """(block, node in it) on the way from the graph's block down to this node."""
        path: list[tuple[BlockT, Self]] = []
        node: Self | None = self
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


class NodeList(Generic[NodeT]):
    """A block, as far as it has nodes."""

    __slots__ = ("_first", "owner_node", "return_node")
    owner_node: NodeT | None
    """The node it is nested in; None for a graph's own block."""
    return_node: NodeT
    """The pseudo node whose operands are the block's returns; the last in the list."""
    _first: NodeT

    def __iter__(self) -> Iterator[NodeT]:
        """The nodes in order; the one just yielded may be removed or moved, and others inserted after it."""
        node: NodeT | None = self._first
        end = self.return_node
        while node is not None and node is not end:
            following = node._next
            yield node
            node = node._next if node._owner is self else self._after_removed(following)

    def __reversed__(self) -> Iterator[NodeT]:
        node = self.return_node._previous
        while node is not None:
            before = node._previous
            yield node
            node = node._previous if node._owner is self else before

    @property
    def first(self) -> NodeT | None:
        """The first node; None when there is none."""
        return None if self._first is self.return_node else self._first

    @property
    def last(self) -> NodeT | None:
        """The last node before the return; None when there is none."""
        return self.return_node._previous

    def walk(self) -> Iterator[NodeT]:
        """Every node at every depth, outer before inner; the one just yielded may be removed."""
        # One generator, not one a block: this is what passes do most.
        outer: list[tuple[Any, NodeT, NodeT | None, Iterator[Any]]] = []
        block: Any = self
        node: NodeT | None = self._first
        while block is not None:
            end = block.return_node
            while node is not None and node is not end:
                following = node._next
                yield node
                if node.nested_blocks:
                    inner = iter(node.nested_blocks)
                    outer.append((block, node, following, inner))
                    block = next(inner)
                    node, end = block._first, block.return_node
                else:
                    node = node._next if node._owner is block else block._after_removed(following)
            block = None
            while outer and block is None:
                around, owner, following, inner = outer[-1]
                block = next(inner, None)
                if block is not None:
                    node = block._first
                else:
                    outer.pop()
                    block = around
                    node = owner._next if owner._owner is block else block._after_removed(following)

    def own_nodes(self) -> list[NodeT]:
        """The nodes in order as the block is now, not those nested in them."""
        nodes: list[NodeT] = []
        node, end = self._first, self.return_node
        while node is not end:
            nodes.append(node)
            node = node._next  # type: ignore[assignment]  # only the return has none
        return nodes

    def listed(self) -> list[NodeT]:
        """Every node at every depth as the block is now, outer before inner."""
        nodes: list[NodeT] = []
        starts: list[Any] = [self._first]
        while starts:
            node = starts.pop()
            while node._next is not None:  # nothing follows the return of a block
                nodes.append(node)
                if node.nested_blocks:
                    starts.append(node._next)
                    starts.extend([block._first for block in reversed(node.nested_blocks)])
                    break
                node = node._next
        return nodes

    def find_all(self, op: str) -> list[NodeT]:
        """Every node of an operator at every depth, outer before inner."""
        matches: list[NodeT] = []
        starts: list[Any] = [self._first]
        while starts:
            node = starts.pop()
            while node._next is not None:  # nothing follows the return of a block
                if node.op == op:
                    matches.append(node)
                if node.nested_blocks:
                    starts.append(node._next)
                    starts.extend([block._first for block in reversed(node.nested_blocks)])
                    break
                node = node._next
        return matches

    def _after_removed(self, following: NodeT | None) -> NodeT | None:
        """Where to go on behind a node that is no longer here, and that was before `following`."""
        while following is not None and following._owner is not self:
            following = following._next
        return following

    def append(self, node: NodeT) -> NodeT:
        """Insert a node at the end."""
        return node.insert_before(self.return_node)

    def prepend(self, node: NodeT) -> NodeT:
        """Insert a node at the start."""
        return node.insert_before(self._first)

    def is_inside(self, node: NodeT) -> bool:
        """Whether it is nested, at any depth, in `node`."""
        owner = self.owner_node
        while owner is not None:
            if owner is node:
                return True
            owner = owner.owner_block.owner_node if owner.is_inserted else None
        return False

    @property
    def position(self) -> int:
        """Its index among the blocks of its node."""
        return 0 if self.owner_node is None else self.owner_node.nested_blocks.index(self)

    def _link(self, node: NodeT, following: NodeT) -> None:
        """Put a node that is in no block before one of this block."""
        before = following._previous
        node._owner, node._previous, node._next = self, before, following
        following._previous = node
        if before is None:
            self._first = node
        else:
            before._next = node
        last = self.return_node
        below = before._order if before is not None else following._order - 2 * GAP
        if following is last and before is not None:
            last._order = below + 2 * GAP
        node._order = (below + following._order) // 2
        if not below < node._order < following._order:
            spread(node, last)


def _check_in_blocks(*nodes: ListedNode[Any]) -> None:
    for node in nodes:
        if node._owner is None:
            raise ValueError(f"{node.op} is in no block")
