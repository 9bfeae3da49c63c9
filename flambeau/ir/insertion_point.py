"""Where a graph's next node goes, and the source range that it gets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from flambeau.ir.node_list import ListedNode, NodeList
from flambeau.util.source import SourceRange

NodeT = TypeVar("NodeT", bound=ListedNode[Any])
BlockT = TypeVar("BlockT", bound=NodeList[Any])


class InsertionPoint(Generic[NodeT, BlockT]):
    """A graph, as far as it is being built."""

    def __init__(self, block: BlockT) -> None:
        self._insertion_point: NodeT = block.return_node
        self.current_range: SourceRange | None = None
        """The source range that new nodes get."""
        self.current_scope = ""
        """The scope that new nodes get."""

    def insert_node(self, node: NodeT) -> NodeT:
        """Insert a node at the insertion point."""
        return node.insert_before(self._insertion_point)

    @property
    def insertion_block(self) -> BlockT:
        """The block that new nodes go to."""
        block: BlockT = self._insertion_point.owner_block
        return block

    @property
    def insertion_point(self) -> NodeT:
        """The node that new nodes go before: a block's return node to append."""
        return self._insertion_point

    def set_insertion_point(self, target: NodeT | BlockT) -> None:
        """Insert before a node, or at the end of a block, from now on."""
        self._insertion_point = target.return_node if isinstance(target, NodeList) else target

    @contextmanager
    def inserting(self, target: NodeT | BlockT) -> Iterator[None]:
        """Insert before a node, or at the end of a block, inside a `with`."""
        before = self._insertion_point
        self.set_insertion_point(target)
        try:
            yield
        finally:
            self._insertion_point = before

    @contextmanager
    def at_range(self, source_range: SourceRange | None) -> Iterator[None]:
        """Give nodes created inside a `with` this source range."""
        before, self.current_range = self.current_range, source_range
        try:
            yield
        finally:
            self.current_range = before
