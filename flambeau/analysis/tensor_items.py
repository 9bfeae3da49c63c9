"""What brackets with tensors mean: where a view and a copy are one, and what is known of the indices that are named.

```
%l = prim::ListConstruct(%i, %none, %j)
%y = python::item(%x, %l)
```
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.called_writes import CALLS, may_write_to_tensors
from flambeau.analysis.manager import alias_analysis
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.dtype import bool_, uint8
from flambeau.schema.types import NoneType, TensorType

ITEM = "python::item"
PART = "python::part"
PLACES = "python::places"
MASKS = (bool_, uint8)


def named(node: Node) -> list[Value | None] | None:
    """The indices by dimension, None where all of one is taken; None where the list is made elsewhere."""
    listed = node.operands[-1].defining_node
    if listed is None or listed.op != "prim::ListConstruct":
        return None
    return [None if isinstance(v.static_type, NoneType) else v for v in listed.operands]


def is_number(index: Value) -> bool | None:
    """Whether an index is an integer tensor without axes; None where that is not known."""
    type_ = index.static_type
    if not isinstance(type_, TensorType):
        return None
    if type_.dtype in MASKS or type_.sizes:
        return False
    return None if type_.dtype is None or type_.sizes is None else True


def are_neighbours(indices: list[Value | None]) -> bool:
    """Whether no dimension that is taken whole lies between indices."""
    at = [k for k, index in enumerate(indices) if index is not None]
    return not at or at[-1] - at[0] == len(at) - 1


def settle(graph: Graph) -> None:
    """Make `aten::index` of items for which nobody can tell a view from a copy: nobody writes to either, or not before
    the item was last looked at. What a function gives back counts as seen only after it.
    """
    items = graph.find_all(ITEM)
    if not items:
        return
    aliases = alias_analysis(graph)
    for node in items:
        indices = named(node)
        if indices is None:
            continue
        plain = are_neighbours(indices) or all(p is None or is_number(p) is False for p in indices)
        if plain and (not _is_written(node.result(), aliases) or _is_read_at_once(node, aliases)):
            with graph.inserting(node):
                copy = graph.insert("aten::index", node.operands, [node.result().static_type])
            copy.range, copy.call_chain = node.range, node.call_chain
            node.result().replace_uses_with(copy.result())
            node.erase()


def _is_written(item: Value, aliases: AliasAnalysis) -> bool:
    """Whether anything may write to what an item is, or is of: calls count by what is called."""
    return any(writer.op not in CALLS or may_write_to_tensors(writer) for writer in aliases.tensor_writers(item))


def _is_plain_neighbour(user: Node, node: Node) -> bool:
    """Whether a node is in the block of another, ends it not, and has no blocks of its own."""
    return user.op != "prim::Return" and user.owner_block is node.owner_block and not user.nested_blocks


def _is_read_at_once(node: Node, aliases: AliasAnalysis) -> bool:
    """Whether an item is only looked at, in the block where it is made, and last before anything that may be it is
    written; by that write at the latest, which puts it elsewhere.
    """
    item = node.result()
    waiting = {use.user for use in item.uses()}
    if not all(_is_plain_neighbour(user, node) for user in waiting):
        return False
    following = node.next
    while waiting and following is not None:
        waiting.discard(following)
        definition = following.definition
        is_store = definition is not None and definition.traits.stores
        stores = is_store and following.operand(0) is not item and not waiting
        if aliases.writes_to(following, item) and not stores:
            return False
        if item in following.operands and not stores and aliases.may_contain_alias(following.results, item):
            return False
        following = following.next
    return not waiting
