"""How long values that hold blocks are kept, and which views need not hold any.

A value ends after the node of its own block that uses it, or anything that looks into it, for the last time. A view
that is only looked at, never kept, returned or carried, holds nothing: whatever it shows is kept alive instead. So it
is with a list that operators only read, as `x[i, j]` reads its places: its items are kept alive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.alias import WILDCARD
from flambeau.schema.types import ListType, StringType, TensorType

SAME_VALUE = frozenset({"prim::unchecked_cast", "prim::unchecked_unwrap_optional", "prim::Guard", "prim::profile"})
"""Nodes whose result is their first operand."""
_CONTAINERS = frozenset({"prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct"})
_PASSES_ON = frozenset({"prim::Return", "prim::Loop"})


def _is_view(node: Node) -> bool:
    """Whether the result of an operator shows the memory of its first operand, whatever that is."""
    definition = node.definition
    if definition is None or definition.family != "view" or definition.traits.may_copy:
        return False
    return all(isinstance(v.static_type, TensorType) for v in (node.operand(0), *node.results))


def _is_item(node: Node) -> bool:
    """Whether the result of an operator is an item of a list, which keeps it."""
    definition = node.definition
    if definition is None or definition.schema.is_mutable or not node.operands:
        return False
    if not isinstance(node.operand(0).static_type, ListType):
        return False
    alias = definition.schema.returns[0].alias
    return alias is not None and alias.is_wildcard


def _is_part_of_text(node: Node) -> bool:
    """Whether the result of an operator shows code points of its first operand."""
    if not node.operands or not isinstance(node.operand(0).static_type, StringType):
        return False
    if node.op == "aten::slice":
        return is_constant(node.operand(3)) and constant_value(node.operand(3)) == 1
    return node.op == "prim::StringIndex" or node.op == "aten::__getitem__"


def _is_stored(user: Node, offset: int) -> bool:
    """Whether an operand is put into a container or an object."""
    if user.op in _CONTAINERS or user.op == "prim::SetAttr":
        return True
    arguments = user.definition.schema.arguments if user.definition is not None else ()
    alias = arguments[offset].alias if offset < len(arguments) else None
    return alias is not None and alias.after == (WILDCARD,)


def _passed_on(user: Node, offset: int) -> Sequence[Value] | None:
    """What an operand goes on as; None where it leaves the graph."""
    if user.op == "prim::Loop":
        return (user.nested_blocks[0].parameters[offset - 1], user.results[offset - 2])
    if user.op == "prim::Return":
        owner = user.owner_block.owner_node
        if owner is None:
            return None
        if owner.op == "prim::Loop":
            return (user.owner_block.parameters[offset], owner.results[offset - 1]) if offset else ()
        return (owner.results[offset],)
    shows = user.op in SAME_VALUE or _is_view(user)
    return user.results[:1] if shows or (user.definition is not None and user.definition.schema.is_mutable) else ()


def source(value: Value) -> Value:
    """The value that `value` is, behind nodes that only change its type."""
    while value.defining_node is not None and value.defining_node.op in SAME_VALUE and value.defining_node.operands:
        value = value.defining_node.operand(0)
    return value


class Lifetimes:
    """The answers for one graph."""

    def __init__(self, graph: Graph, alias: AliasAnalysis) -> None:
        self._alias = alias
        self._used: dict[Node, tuple[Value, ...]] = {}
        self._shown: dict[Value, Value] = {}
        self._listing = {
            n.result(): n.operands for n in graph.find_all("prim::ListConstruct") if self._is_only_read(n.result())
        }
        for node in graph.listed_nodes():
            if (node.op in SAME_VALUE and node.operands) or self._is_look(node):
                self._shown[node.result(0)] = node.operand(0)

    def is_borrowed(self, value: Value) -> bool:
        """Whether the value holds nothing of its own."""
        return value in self._shown or value in self._listing

    def root(self, value: Value) -> Value:
        """What must be kept alive for the value."""
        while value in self._shown:
            value = self._shown[value]
        return value

    def _is_look(self, node: Node) -> bool:
        if len(node.results) != 1:
            return False
        result = node.result(0)
        definition = node.definition
        if _is_view(node):
            return self._only_looked_at(result)
        if definition is not None and definition.schema.is_mutable and isinstance(result.static_type, TensorType):
            return self._only_looked_at(result)
        if _is_part_of_text(node):
            return self._only_looked_at(result)
        if _is_item(node):
            return self._only_looked_at(result) and not self._alias.is_written(node.operand(0))
        return False

    def _only_looked_at(self, value: Value) -> bool:
        for user, offset in value.uses():
            if user.op in SAME_VALUE:
                if not self._only_looked_at(user.result(0)):
                    return False
            elif user.op in _PASSES_ON or (_is_stored(user, offset) and not self._is_listed(user)):
                return False
        return True

    def _is_listed(self, user: Node) -> bool:
        return user.op == "prim::ListConstruct" and user.result() in self._listing

    def _is_only_read(self, listed: Value) -> bool:
        """Whether nobody changes a list of tensors, and it is only given to operators that look at its items."""
        if not isinstance(listed.static_type, ListType) or self._alias.is_written(listed):
            return False
        for user, offset in listed.uses():
            definition = user.definition
            if definition is None or definition.family == "language" or offset >= len(definition.schema.arguments):
                return False
            if definition.schema.arguments[offset].alias is not None:
                return False
        return True

    def may_leave(self, value: Value) -> bool:
        """Whether the value, or a view of it, may be among the graph's results, or in something else."""
        waiting = [value]
        owner = value.block.owner_node if value.block is not None and value.defining_node is None else None
        if owner is not None and owner.op == "prim::Loop" and value.index:
            waiting.append(owner.results[value.index - 1])
        seen = set(waiting)
        while waiting:
            for user, offset in waiting.pop().uses():
                if _is_stored(user, offset):
                    return True
                following = _passed_on(user, offset)
                if following is None:
                    return True
                waiting.extend(v for v in following if v not in seen)
                seen.update(following)
        return False

    def ends(self, block: Block, own: Iterable[Value]) -> tuple[dict[Node, list[Value]], list[Value]]:
        """Of the values `own` of a block: which end after which node, and which at the block's end."""
        at: dict[Node, list[Value]] = {}
        open_ = dict.fromkeys(own)
        at_return: list[Value] = []

        def close(value: Value, ended: list[Value]) -> None:
            root = self.root(value)
            if root in open_:
                del open_[root]
                ended.append(root)
            for item in self._listing.get(root, ()):
                close(item, ended)

        for value in block.returns:
            close(value, at_return)
        for node in reversed(list(block)):
            ended: list[Value] = []
            for value in self._outer_uses(node):
                close(value, ended)
            for value in node.results:
                close(value, ended)
            if ended:
                at[node] = ended
        at_return.extend(open_)
        return at, at_return

    def _outer_uses(self, node: Node) -> Iterable[Value]:
        """The values that a node, or anything in it, uses and that are made outside of it."""
        if not node.nested_blocks:
            return node.operands
        outer = self._used.get(node)
        if outer is None:
            inside: set[Value] = set()
            used = dict.fromkeys(node.operands)
            for block in node.nested_blocks:
                inside.update(block.parameters)
                for inner in block.own_nodes():
                    inside.update(inner.results)
                    used.update(dict.fromkeys(self._outer_uses(inner)))
                used.update(dict.fromkeys(block.returns))
            outer = self._used[node] = tuple([v for v in used if v not in inside])
        return outer
