"""Which writes may change a tensor after it was made: more exactly than the alias analysis, which knows no iterations.

```
%u : Tensor = prim::Loop(%n, %true, %x)
  block0(%i : int, %v : Tensor):
    %w : Tensor = aten::zeros_like(%v, ...)
    %_ : Tensor = aten::copy_(%w, ...)
    -> (%true, %w)
```

What is `%w` in one iteration is `%v` in the next: a write to `%w` never changes what `%v` is meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.graph import Block, Node, Value
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import TensorType


class Writes:
    """The writes of a graph."""

    def __init__(self, alias: AliasAnalysis) -> None:
        self._alias = alias
        self._known: dict[Value, list[Node]] = {}

    def writers(self, value: Value) -> list[Node]:
        """The nodes that may write to a value, or something in it, after it was made."""
        if value not in self._known:
            writers = self._alias.writers(value)
            if isinstance(value.static_type, TensorType):
                root = root_of(value)
                writers = [w for w in writers if not _is_apart(root, w)]
            self._known[value] = writers
        return self._known[value]

    def has_writers(self, value: Value) -> bool:
        """Whether there are any."""
        return bool(self.writers(value))

    def has_items_written(self, value: Value) -> bool:
        """Whether a tensor in a list may be written."""
        return not isinstance(value.static_type, TensorType) and self._alias.has_tensor_writers(value)


def is_view(node: Node) -> bool:
    """Whether the only result of an operator shows memory of its first operand, which stays as it is."""
    definition = node.definition
    if definition is None or len(node.results) != 1 or definition.schema.is_mutable:
        return False
    viewed, returned = definition.schema.arguments[:1], definition.schema.returns[0]
    if not viewed or viewed[0].alias is None or returned.alias is None or definition.traits.may_copy:
        return False
    return isinstance(viewed[0].type, TensorType) and isinstance(returned.type, TensorType)


def writes_first(node: Node) -> bool:
    """Whether an operator writes to its first operand, a tensor, and gives it back."""
    definition = node.definition
    if definition is None or not definition.schema.is_mutable or len(node.results) != 1:
        return False
    first, returned = definition.schema.arguments[0], definition.schema.returns[0].alias
    if first.alias is None or not isinstance(first.type, TensorType):
        return False
    return first.alias.is_write and returned is not None and returned.is_write


def shows_first(node: Node) -> bool:
    """Whether the result of a node is its first operand, or shows its memory."""
    return is_view(node) or writes_first(node)


def root_of(value: Value) -> Value:
    """The tensor whose memory a value shows."""
    node = value.defining_node
    while node is not None and shows_first(node):
        value = node.operand(0)
        node = value.defining_node
    return value


repeating_views: Final = RuleTable[Callable[[Node], bool]]("views that show an element in several places")


@repeating_views("aten::expand", "aten::expand_as", "aten::broadcast_to", "aten::unfold", "aten::as_strided")
def _repeats(node: Node) -> bool:
    return True


def is_repeated(value: Value) -> bool:
    """Whether a view shows an element of its root in several places."""
    node = value.defining_node
    while node is not None and shows_first(node):
        if node.op in repeating_views:
            return True
        node = node.operand(0).defining_node
    return False


def is_met(root: Value) -> bool:
    """Whether a tensor may be one of several that come together, or come out of a container."""
    node = root.defining_node
    if node is None:
        return root.owner_block.owner_node is not None
    if node.nested_blocks or node.definition is None:
        return True
    return any(r.alias is not None for r in node.definition.schema.returns)


def _is_apart(root: Value, writer: Node) -> bool:
    """Whether what a node writes to was surely made by another operator than what is read, or made later."""
    if not writes_first(writer):
        return False
    written = root_of(writer.operand(0))
    if written is root or written.defining_node is None or is_met(written):
        return False
    if not is_met(root):
        return True
    if root.defining_node is None:
        return _is_within(written.owner_block, root.owner_block)
    return any(_is_within(written.owner_block, block) for block in root.defining_node.nested_blocks)


def _is_within(block: Block | None, outer: Block) -> bool:
    while block is not None and block is not outer:
        block = None if block.owner_node is None else block.owner_node.owner_block
    return block is outer
