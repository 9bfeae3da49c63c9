"""Which of the gradients that a way back gives are there: surely, never, or as the run goes.

```
%g : Float(*) = prim::If(%c)
  block0():
    %a : Float(*) = aten::mul(%grad_0, %w)       there
    -> (%a)
  block1():
    %z : Float(*) = aten::zeros_like(%x)         not there: it comes from no gradient of a result
    -> (%z)
```

A value is there if it was computed of a gradient that is there, numbers and sizes apart. What is written in place is
there once something was added to it; a list that changes has one answer for all of its items (`presence_flags` tells
them apart).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence

from flambeau.analysis.gradients import is_real
from flambeau.autodiff.lists import list_changes
from flambeau.autodiff.writes import root_of, shows_first, writes_first
from flambeau.ir import constants
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.types import ListType

CONSTRUCTS = ("prim::ListConstruct", "prim::TupleConstruct")
UNPACKS = ("prim::ListUnpack", "prim::TupleUnpack")


class Presence(enum.Enum):
    """Whether a gradient is there."""

    NEVER = enum.auto()
    ALWAYS = enum.auto()
    AT_TIMES = enum.auto()


def either(parts: Iterable[Presence]) -> Presence:
    """Of what is computed of several gradients."""
    kinds = set(parts)
    if Presence.ALWAYS in kinds:
        return Presence.ALWAYS
    return Presence.AT_TIMES if Presence.AT_TIMES in kinds else Presence.NEVER


def met(first: Presence, second: Presence) -> Presence:
    """Of what is the one or the other."""
    return first if first is second else Presence.AT_TIMES


Memory = dict[Value, Presence]
"""Of tensors that are written, by root, and of lists that change: whether something was added to them so far."""


class Presences:
    """Of each value of a way back whether it is there; of loops, of the memory that they change as well."""

    def __init__(self, graph: Graph, seeds: Sequence[Value]) -> None:
        """`seeds` are the gradients of results that are there."""
        self._of = dict.fromkeys(seeds, Presence.ALWAYS)
        nodes = graph.listed_nodes()
        self.roots = {root_of(n.operand(0)) for n in nodes if writes_first(n)}
        """The tensors that are written in place."""
        self.lists = {list_root(n.operand(0)) for n in nodes if changes_list(n)}
        """The lists that change."""
        self.before: dict[Node, Memory] = {}
        """Of each loop, the memory where a round begins."""
        self.behind: dict[Node, Memory] = {}
        """Of each loop, the memory where a round ends."""
        self._memory: Memory = {}
        self._block(graph.body)

    def of(self, value: Value) -> Presence:
        """Whether a value is there where it is made; of memory, at the end."""
        return self._memory.get(self.place(value), Presence.NEVER) if self.is_memory(value) else self.made(value)

    def made(self, value: Value) -> Presence:
        """Whether a value is there where it is made."""
        return self._of.get(value, Presence.NEVER)

    def is_memory(self, value: Value) -> bool:
        """Whether a value shows memory that is written, or is a list that changes."""
        return self.place(value) in (self.lists if isinstance(value.static_type, ListType) else self.roots)

    def place(self, value: Value) -> Value:
        """The tensor or list whose memory a value shows."""
        return list_root(value) if isinstance(value.static_type, ListType) else root_of(value)

    def _now(self, value: Value) -> Presence:
        if not is_real(value.static_type):
            return Presence.NEVER
        return self.of(value)

    def _block(self, block: Block) -> None:
        for node in block:
            if node.op == "prim::If":
                self._branch(node)
            elif node.op == "prim::Loop":
                self._loop(node)
            else:
                self._node(node)

    def _set(self, value: Value, presence: Presence) -> None:
        self._of[value] = presence
        if value in self.roots or value in self.lists:
            self._memory[value] = presence

    def _node(self, node: Node) -> None:
        presence = either(map(self._now, node.operands))
        if node.op in UNPACKS and (maker := constructed(node.operand(0), self)) is not None:
            for result, item in zip(node.results, maker.operands, strict=True):
                self._set(result, self._now(item))
        elif changes_list(node) or shows_first(node):
            self._change(node, presence)
        else:
            for result in node.results:
                self._set(result, presence if is_real(result.static_type) else Presence.NEVER)

    def _change(self, node: Node, presence: Presence) -> None:
        """A write, or a view; of a list, what goes in or comes out."""
        target = self.place(node.operand(0))
        if changes_list(node):
            if takes_item(node):
                added = self._now(node.operands[-1])
                before = self._memory.get(target, Presence.NEVER)
                self._memory[target] = met(before, added)
        elif writes_first(node):
            self._memory[target] = presence
        for result in node.results:
            self._of[result] = presence

    def _branch(self, node: Node) -> None:
        start, ends = self._memory, []
        for block in node.nested_blocks:
            self._memory = dict(start)
            self._block(block)
            ends.append((self._memory, list(map(self._now, block.returns))))
        (memory, ones), (other_memory, others) = ends
        self._memory = _joined(memory, other_memory)
        for result, one, other in zip(node.results, ones, others, strict=True):
            self._set(result, met(one, other) if is_real(result.static_type) else Presence.NEVER)

    def _loop(self, node: Node) -> None:
        (body,) = node.nested_blocks
        start = [self._now(v) for v in node.operands[2:]]
        memory, carried = self._memory, start
        while True:
            self.before[node] = memory
            self._memory = dict(memory)
            for value, presence in zip(body.parameters[1:], carried, strict=True):
                self._set(value, presence)
            self._block(body)
            self.behind[node] = self._memory
            ends = [self._now(v) for v in body.returns[1:]]
            around = _joined(memory, self._memory)
            through = [met(one, other) for one, other in zip(carried, ends, strict=True)]
            if (around, through) == (memory, carried):
                break
            memory, carried = around, through
        runs = runs_surely(node)
        self._memory = dict(self.behind[node] if runs else memory)
        self._memory.update((root, self.made(value)) for root, value in filled(node))
        for result, end, through_ in zip(node.results, ends, carried, strict=True):
            self._set(result, end if runs else through_)


def _joined(one: Mapping[Value, Presence], other: Mapping[Value, Presence]) -> Memory:
    return {
        root: met(one.get(root, Presence.NEVER), other.get(root, Presence.NEVER)) for root in {**one, **other}
    }


def changes_list(node: Node) -> bool:
    """Whether a node changes a list of gradients, its first operand."""
    definition = node.definition
    if definition is None or not definition.schema.is_mutable or node.op not in list_changes:
        return False
    return isinstance(node.operand(0).static_type, ListType)


def takes_item(node: Node) -> bool:
    """Whether a node that changes a list puts its last operand there, and gives the list back, or nothing."""
    if not node.results:
        return len(node.operands) > 1
    return node.result().static_type == node.operand(0).static_type


def gives_item(node: Node) -> bool:
    """Whether a node gives an item of a list that changes, its first operand."""
    if node.op not in list_changes or not isinstance(node.operand(0).static_type, ListType):
        return False
    return bool(node.results) and not takes_item(node)


def list_root(value: Value) -> Value:
    """Where a list is made."""
    node = value.defining_node
    while node is not None and changes_list(node) and takes_item(node):
        value = node.operand(0)
        node = value.defining_node
    return value


def constructed(value: Value, presences: Presences) -> Node | None:
    """The node that made a list or tuple of its operands, if it is as it was made."""
    node = value.defining_node
    return node if node is not None and node.op in CONSTRUCTS and not presences.is_memory(value) else None


def runs_surely(loop: Node) -> bool:
    """Whether a loop has at least one round."""
    count, goes_on = loop.operand(0), loop.operand(1)
    is_known = constants.is_constant(count) and constants.is_constant(goes_on)
    return is_known and constants.constant_value(count) > 0 and bool(constants.constant_value(goes_on))


def filled(loop: Node) -> list[tuple[Value, Value]]:
    """The lists of which a loop sets each item once, with what it sets."""
    (body,) = loop.nested_blocks
    length = loop.operand(0).defining_node
    changes = [node for node in body.walk() if changes_list(node)]
    if length is None or length.op != "aten::len" or len(changes) != 1 or changes[0].owner_block is not body:
        return []
    [node], root = changes, list_root(length.operand(0))
    is_each = takes_item(node) and node.operand(1) is body.parameters[0]
    return [(root, node.operands[-1])] if is_each and list_root(node.operand(0)) is root else []
