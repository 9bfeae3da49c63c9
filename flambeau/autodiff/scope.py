"""Where the way back through a block of a graph is built, and how it gets at the values of the way there.

The way back through a block is a block of its own. What it needs of the other is computed again there, if that is cheap
(pointwise operators, arithmetic, views), or else was put on a stack: a list, to which the way there appends and from
which the way back pops. Such values come first in the block, before a marker, so that each is taken once per run. A
tensor of a branch that is in no loop is a further result of the branch, where other ways give a small one of zeros.
"""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.analysis.effects import own_effect, own_writes
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.autodiff.uninitialised_values import empty_of, without_sizes
from flambeau.autodiff.writes import Writes, outermost
from flambeau.ir.clone import clone_node
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.opdef import Effect
from flambeau.schema.types import BOOL, ListType, TensorType, without_refinement
from flambeau.util.record import dataclass, field


@dataclass(slots=True, eq=False)
class Scope:
    """The way back through one block."""

    block: Block
    """The block of the way there."""
    marker: Node
    """Before it goes what is brought over from there."""
    parent: Scope | None = None
    values: dict[Value, Value] = field(default_factory=dict)
    """What was brought over."""
    gradients: dict[Value, Value] = field(default_factory=dict)
    """The gradients added up so far, as far as they changed in this block."""


class Saved:
    """Brings values of the way there to the way back."""

    def __init__(self, graph: Graph, writes: Writes, sizes: SymbolicSizes) -> None:
        self._graph = graph
        self._writes = writes
        self._sizes = sizes
        self._there = {node_block for node in graph.all_nodes() for node_block in node.nested_blocks}
        """The nested blocks of the way there."""
        self._known = set(_values(graph))
        """The values of the way there."""
        self.node: Node | None = None
        """The node that is gone back through."""
        self._snapshots: dict[tuple[Value, Node], Value] = {}
        self._scopes: dict[Block, Scope] = {}
        self.scope: Scope | None = None
        """The innermost one that is being built."""
        self._markers: list[Node] = []

    def enter(self, block: Block) -> Scope:
        """Begin the way back through a block of the way there, at the insertion point."""
        marker = self.mark()
        scope = Scope(block, marker, self.scope)
        self._scopes[block] = self.scope = scope
        return scope

    def mark(self) -> Node:
        """A node at the insertion point that stays there until the end."""
        marker = self._graph.insert(CONSTANT, (), (BOOL,), value=True)
        self._markers.append(marker)
        return marker

    def leave(self) -> None:
        """End the way back through the innermost block."""
        assert self.scope is not None
        del self._scopes[self.scope.block]
        self.scope = self.scope.parent

    def finish(self) -> None:
        """Remove the markers."""
        for marker in self._markers:
            marker.erase()

    def scope_of(self, value: Value) -> Scope | None:
        """The way back through the block that makes a value; None for the outermost block."""
        return self._scopes.get(value.owner_block)

    def use(self, value: Value) -> Value:
        """A value of the way there, for the way back: as it was when the node ran that is gone back through."""
        return self.itself(self._as_it_was(value))

    def itself(self, value: Value) -> Value:
        """A value of the way there: the tensor itself, whatever was written to it since."""
        block = value.owner_block
        if block not in self._there:
            return value
        scope = self._scopes[block]
        brought = scope.values.get(value)
        if brought is None:
            brought = scope.values[value] = self._brought(value, scope)
            self._sizes.set(brought, self._sizes.of(value))
        return brought

    def _as_it_was(self, value: Value) -> Value:
        """A copy that the way there makes of what is written later; the value itself, where nothing is."""
        node = self.node
        if node is None or value not in self._known or not self._writes.has_writers(value):
            return value
        type_ = value.static_type
        if not isinstance(type_, TensorType | ListType) or self._writes.has_items_written(value):
            raise NotDifferentiableError(f"%{value.name} is changed in place")
        if not self._changes_after(value, node):
            return value
        copy = self._snapshots.get((value, node))
        if copy is None:
            following = node.next if value.defining_node is node else node
            with self._graph.inserting(following or node.owner_block.return_node):
                if isinstance(type_, ListType):
                    copy = self._graph.insert("aten::list", [value], [type_]).result()
                else:
                    none = insert_constant(self._graph, None)
                    copy = self._graph.insert("aten::clone", [value, none], [type_]).result()
            self._sizes.set(copy, self._sizes.of(value))
            self._snapshots[value, node] = copy
        return copy

    def _changes_after(self, value: Value, node: Node) -> bool:
        """Whether a tensor may be written after a node ran, or by it."""
        if value.defining_node is node and node.owner_block is self._graph.body:
            writers = [w for w in self._writes.writers(value) if w is not node]
        else:
            writers = self._writes.writers(value)
        ancestor = outermost(node)
        return any(not outermost(w).is_before(ancestor) for w in writers)

    def _brought(self, value: Value, scope: Scope) -> Value:
        node = value.defining_node
        if node is None or not is_cheap(node, self._writes):
            return self._as_result(value) or self._from_stack(value, scope)
        operands = {v: self.itself(v) for v in node.operands}
        copy = clone_node(node, self._graph, operands)
        copy.insert_before(scope.marker)
        for old, new in zip(node.results, copy.results, strict=True):
            new.set_name("")
            scope.values[old] = new
        return scope.values[value]

    def _as_result(self, value: Value) -> Value | None:
        """A tensor of a branch as a result of the branch, and of those around it; None in a loop, and where too little
        is known of the tensor to say what another branch gives.
        """
        type_ = value.static_type
        if not isinstance(type_, TensorType) or type_.dtype is None or type_.sizes is None:
            return None
        branches = list(self._around(value.owner_block))
        if any(block.owner_node is None or block.owner_node.op != "prim::If" for block in branches):
            return None
        known = without_sizes(type_)
        for own in branches:
            node = own.owner_node
            assert node is not None
            for block in node.nested_blocks:
                if block is own:
                    block.add_return(value)
                    continue
                with self._graph.inserting(block):
                    other = empty_of(self._graph, known)
                block.add_return(other)
            value = node.add_result(known)
        return value

    def _around(self, block: Block) -> Iterator[Block]:
        """A block and those around it, but for the body of the graph."""
        while block is not self._graph.body:
            yield block
            assert block.owner_node is not None
            block = block.owner_node.owner_block

    def _from_stack(self, value: Value, scope: Scope) -> Value:
        graph = self._graph
        inner = value.owner_block.owner_node
        assert inner is not None
        whole = outermost(inner)
        type_ = ListType(without_refinement(value.static_type))
        with graph.inserting(whole):
            stack = graph.insert("prim::ListConstruct", (), (type_,)).result()
        following = value.owner_block.first if value.defining_node is None else value.defining_node.next
        if isinstance(value.static_type, ListType):
            following = None  # it is filled by then, and the stack holds lists that stay as they are
        with graph.inserting(following or value.owner_block.return_node):
            graph.insert("aten::append", [stack, value], (type_,))
        with graph.inserting(scope.marker):
            last = insert_constant(graph, -1)
            return graph.insert("aten::pop", [stack, last], (value.static_type,)).result()


def is_cheap(node: Node, writes: Writes) -> bool:
    """Whether a node may run again, and costs less than keeping its result."""
    if node.op == CONSTANT:
        return True
    if node.nested_blocks or own_effect(node) is not Effect.NONE or own_writes(node):
        return False
    if any(writes.has_writers(v) for v in (*node.operands, *node.results)):
        return False
    definition = node.definition
    if definition is None:
        return node.op in ("prim::ListConstruct", "prim::TupleConstruct", "prim::unchecked_cast")
    if definition.family in ("pointwise", "view"):
        return True
    return not any(isinstance(part, TensorType) for v in node.results for part in v.static_type.walk())


def _values(graph: Graph) -> Iterator[Value]:
    yield from graph.parameters
    for node in graph.all_nodes():
        yield from node.results
        for block in node.nested_blocks:
            yield from block.parameters
