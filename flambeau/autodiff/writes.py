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

from collections.abc import Callable, Iterator
from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir.graph import Node, Value
from flambeau.ir.walk import ancestor_in, is_within
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import ListType, TensorType, without_refinement

CAST: Final = "prim::unchecked_cast"


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
                writers = [w for w in writers if not (_is_apart(root, w) or _is_over(root, w))]
            elif isinstance(value.static_type, ListType):
                writers = [w for w in writers if list_root(w.operand(0)) is list_root(value) or not _is_filling(w)]
                writers = self._writers_of_items(list_root(value), writers)
            self._known[value] = writers
        return self._known[value]

    def _writers_of_items(self, root: Value, writers: list[Node]) -> list[Node]:
        """What of these writes may change a list: of one that only tensors in it are written of, those that change
        one of its items."""
        maker = root.defining_node
        if maker is None or maker.op != "prim::ListConstruct" or not all(map(writes_first, writers)):
            return writers
        return [w for w in writers if any(w in self.writers(item) for item in maker.operands)]

    def has_writers(self, value: Value) -> bool:
        """Whether there are any."""
        return bool(self.writers(value))

    def is_written_in_use(self, value: Value) -> bool:
        """Whether there are any between the uses of what it shows: what comes out of a branch, a loop or a container
        and is used up by then has a gradient of its own, which goes to the tensor that it was as that was then."""
        root = root_of(value)
        return any(not (is_met(root) and _is_used_before(root, writer)) for writer in self.writers(value))

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
    return source_of(value, shows_first)


def source_of(value: Value, hands_on: Callable[[Node], bool]) -> Value:
    """What a value was before nodes that hand their first operand on."""
    node = value.defining_node
    while node is not None and hands_on(node):
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
        return is_within(written.owner_block, root.owner_block)
    return any(is_within(written.owner_block, block) for block in root.defining_node.nested_blocks)


def _is_over(root: Value, writer: Node) -> bool:
    """Whether all that a node writes is written before a tensor comes out of a branch, a loop or a container."""
    maker = root.defining_node or root.owner_block.owner_node
    return is_met(root) and maker is not None and outermost(writer).is_before(outermost(maker))


def _is_used_before(root: Value, writer: Node) -> bool:
    """Whether all that uses a tensor runs before a node writes."""
    ancestor = outermost(writer)
    return all(outermost(user).is_before(ancestor) for user in _users(root))


def _users(value: Value) -> Iterator[Node]:
    """The nodes that use a tensor, or what shows its memory."""
    for use in value.uses():
        yield use.user
        if use.offset == 0 and shows_first(use.user):
            yield from _users(use.user.result())


def outermost(node: Node) -> Node:
    """The node of the outermost block that a node lies in, or is."""
    while node.owner_block.owner_node is not None:
        node = node.owner_block.owner_node
    return node


def list_root(value: Value) -> Value:
    """Where a list is made: what changes it and gives it back left out."""
    return source_of(value, _gives_back)


def is_list_cast(node: Node) -> bool:
    """Whether a node gives a list as it is, seen as one that is no None or no list of others."""
    return node.op == CAST and isinstance(node.operand(0).static_type, ListType)


def _gives_back(node: Node) -> bool:
    """Whether a node gives a list, its first operand, back, as it is or changed."""
    definition = node.definition
    if is_list_cast(node):
        return True
    if definition is None or not definition.schema.is_mutable or len(node.results) != 1:
        return False
    type_ = node.operand(0).static_type
    return isinstance(type_, ListType) and node.result().static_type == type_


def _is_filling(writer: Node) -> bool:
    """Whether a node changes a list that nothing else knows by then: other lists, and later rounds of loops, see it
    only when it is as it stays."""
    if writer.definition is None or not writer.definition.schema.is_mutable:
        return False
    items = list_root(writer.operand(0))
    block, maker = items.owner_block, items.defining_node
    ancestor = ancestor_in(writer, block)
    if maker is None or maker.nested_blocks or ancestor is None or not isinstance(items.static_type, ListType):
        return False
    if maker.op != "prim::ListConstruct":
        return False
    others = [ancestor_in(node, block) for node in _that_hand_on(items)]
    return all(other is not None and ancestor.is_before(other) for other in others)


def _that_hand_on(items: Value) -> Iterator[Node]:
    """The nodes after which something else may know a list."""
    for use in items.uses():
        user = use.user
        if use.offset == 0 and _gives_back(user):
            yield from _that_hand_on(user.result())
        elif use.offset > 0 or (not _gives_new(user) and any(_may_hold(v, items) for v in user.results)):
            yield user


def _gives_new(node: Node) -> bool:
    """Whether the result of an operator is surely none of its operands."""
    return node.definition is not None and all(r.alias is None for r in node.definition.schema.returns)


def _may_hold(value: Value, items: Value) -> bool:
    """Whether a value may be a list, or have it within."""
    wanted = without_refinement(items.static_type)
    return any(without_refinement(part) == wanted or part.kind == "AnyType" for part in value.static_type.walk())
