"""Moves of a node that take along what must keep its place beside it.

    %a = f(%x)                          %b = g(%x)
    %b = g(%x)    a to behind c   →     %c = h(%b)
    %c = h(%b)                          %a = f(%x)
"""

from __future__ import annotations

from collections.abc import Iterable

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.graph import Node


def move_after(aliases: AliasAnalysis, node: Node, anchor: Node) -> bool:
    """Move a node to right behind another of its block, with what lies between and depends on it, or it on that.

    False, and nothing is moved, where `anchor` itself would have to come along, or is in another block.
    """
    if node.owner_block is not anchor.owner_block or node is anchor:
        return False
    if node.is_before(anchor):
        along = _dependents(aliases, node, _between(node, anchor), anchor)
    else:
        along = _dependencies(aliases, node, _between(anchor, node), None)
    if along is None:
        return False
    for moved in reversed(along):
        moved.move_after(anchor)
    return True


def move_before(aliases: AliasAnalysis, node: Node, anchor: Node) -> bool:
    """Move a node to right before another of its block, as `move_after` does."""
    if node.owner_block is not anchor.owner_block or node is anchor:
        return False
    if node.is_before(anchor):
        along = _dependents(aliases, node, _between(node, anchor), None)
    else:
        along = _dependencies(aliases, node, _between(anchor, node), anchor)
    if along is None:
        return False
    for moved in along:
        moved.move_before(anchor)
    return True


def _between(first: Node, last: Node) -> list[Node]:
    between, current = [], first.next
    while current is not None and current is not last:
        between.append(current)
        current = current.next
    return between


def _dependents(aliases: AliasAnalysis, node: Node, between: Iterable[Node], end: Node | None) -> list[Node] | None:
    """A node and those behind it that must stay behind it; None if `end` is one."""
    along = [node]
    for current in between:
        if not all(aliases.may_exchange(moved, current) for moved in along):
            along.append(current)
    stays = end is None or all(aliases.may_exchange(moved, end) for moved in along)
    return along if stays else None


def _dependencies(aliases: AliasAnalysis, node: Node, between: list[Node], start: Node | None) -> list[Node] | None:
    """A node and those before it that must stay before it, in order; None if `start` is one."""
    along = [node]
    for current in reversed(between):
        if not all(aliases.may_exchange(current, moved) for moved in along):
            along.insert(0, current)
    stays = start is None or all(aliases.may_exchange(start, moved) for moved in along)
    return along if stays else None
