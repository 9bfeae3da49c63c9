"""Nodes and blocks: the two halves of one recursive structure, hence one file.

A node has an operator (`aten::mul`, `prim::If`), operands, results, attributes and nested blocks. A block has
parameters, a doubly linked list of nodes, and returned values. These are the operands of a pseudo node `prim::Return`,
so that every use is a node's. TorchScript's users see the parameters as results of a pseudo node `prim::Param`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from flambeau.ir.node_order import GAP, give_order
from flambeau.ir.torchscript.block_methods import BlockMethods
from flambeau.ir.torchscript.erased import refusing
from flambeau.ir.torchscript.graph_tools import graph_tools
from flambeau.ir.torchscript.node_attributes import AttributeMethods
from flambeau.ir.torchscript.node_methods import NodeMethods
from flambeau.ir.value import ErasedValue, Use, Value
from flambeau.schema import match
from flambeau.schema.types import TENSOR, Type, without_refinement
from flambeau.util.source import SourceRange

if TYPE_CHECKING:
    from flambeau.ir.graph import Graph
    from flambeau.schema.opdef import OpDef

RETURN = "prim::Return"
PARAMETERS = "prim::Param"


class Node(NodeMethods[Value, "Block"]):
    """One operation. Create with `Graph.create`; it belongs to no block until inserted. `str(node)` is its text."""

    __slots__ = (
        "_blocks", "_definition", "_next", "_operands", "_order", "_owner", "_previous", "_results", "attributes",
        "call_chain", "graph", "is_erased", "op", "range", "scope",
    )  # fmt: skip

    def __init__(self, graph: Graph, op: str) -> None:
        self.graph = graph
        self.op = op
        """Qualified operator name: `aten::add`, `prim::Loop`, `^python_function`."""
        self.attributes: dict[str, Any] = {}
        """What is part of the operation itself: constants, names, types, subgraphs."""
        self.range: SourceRange | None = None
        """The source it came from."""
        self.call_chain: tuple[tuple[str, SourceRange | None], ...] = ()
        """For inlined nodes: the calls on the way here, outermost first, as (function, call site)."""
        self.scope = ""
        """For traced nodes: the path of the module that made it."""
        self.is_erased = False
        """Whether it was removed for good."""
        self._operands: list[Value] = []
        self._results: list[Value] = []
        self._blocks: list[Block] = []
        self._owner: Block | None = None
        self._previous: Node | None = None
        self._next: Node | None = None
        self._order = 0
        self._definition: tuple[object, OpDef | None] | None = None

    # -- operands -----------------------------------------------------------------------------------------------------

    @property
    def operands(self) -> tuple[Value, ...]:
        """The values it computes with."""
        return tuple(self._operands)

    def operand(self, index: int) -> Value:
        """One operand."""
        return self._operands[index]

    def add_operand(self, value: Value) -> None:
        """Append an operand."""
        value._uses[Use(self, len(self._operands))] = None
        self._operands.append(value)

    def replace_operand(self, index: int, value: Value) -> Value:
        """Put another operand at `index`; returns the old one."""
        old = self._operands[index]
        del old._uses[Use(self, index)]
        self._operands[index] = value
        value._uses[Use(self, index)] = None
        return old

    def insert_operand(self, index: int, value: Value) -> None:
        """Insert an operand before `index`."""
        self.set_operands([*self._operands[:index], value, *self._operands[index:]])

    def remove_operand(self, index: int) -> None:
        """Drop one operand; later ones move down."""
        self.set_operands([*self._operands[:index], *self._operands[index + 1 :]])

    def set_operands(self, values: Iterable[Value]) -> None:
        """Replace all operands."""
        new = list(values)
        for index, old in enumerate(self._operands):
            del old._uses[Use(self, index)]
        self._operands = []
        for value in new:
            self.add_operand(value)

    def replace_uses_of(self, old: Value, new: Value) -> None:
        """Let this node use `new` wherever it uses `old`."""
        for index, value in enumerate(self._operands):
            if value is old:
                self.replace_operand(index, new)

    # -- results ------------------------------------------------------------------------------------------------------

    @property
    def results(self) -> tuple[Value, ...]:
        """The values it defines."""
        return tuple(self._results)

    def result(self, index: int | None = None) -> Value:
        """One result; without an index the only one. Raises ValueError if there are more or none."""
        if index is None:
            if len(self._results) != 1:
                raise ValueError(f"{self.op} has {len(self._results)} results, not one")
            index = 0
        return self._results[index]

    def add_result(self, type_: Type = TENSOR, name: str = "") -> Value:
        """Append a result."""
        value = Value(type_, self.graph.new_number(), node=self, index=len(self._results))
        self._results.append(value)
        if name:
            self.graph.rename(value, name)
        return value

    def remove_result(self, index: int) -> None:
        """Drop a result. Raises ValueError if it is used."""
        _refuse_used(self._results[index], f"output {index} of {self.op}")
        _invalidate(self._results.pop(index))
        for i, value in enumerate(self._results):
            value.index = i

    # -- blocks -------------------------------------------------------------------------------------------------------

    @property
    def nested_blocks(self) -> tuple[Block, ...]:
        """The blocks in it: the two branches of an `if`, the body of a loop."""
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
        """The operator overload that the operand types select, or None for structural and unknown operators."""
        operands, results = [v.static_type for v in self._operands], [v.static_type for v in self._results]
        key = (match.registry_version(), operands, results)
        if self._definition is None or self._definition[0] != key:
            version, *types = key
            plain = [tuple(map(without_refinement, t)) for t in types]
            self._definition = (key, match.overload_of_plain(version, self.op, *plain))
        return self._definition[1]

    def attribute(self, name: str) -> Any:
        """One attribute. Raises KeyError naming the node's operator."""
        if name not in self.attributes:
            raise KeyError(f"{self.op} has no attribute '{name}'; it has {sorted(self.attributes)}")
        return self.attributes[name]

    # -- where it is --------------------------------------------------------------------------------------------------

    @property
    def owner_block(self) -> Block:
        """The block that holds it. Raises ValueError while it is in none."""
        if self._owner is None:
            raise ValueError(f"{self.op} is in no block")
        return self._owner

    @property
    def is_inserted(self) -> bool:
        """Whether it is in a block."""
        return self._owner is not None

    @property
    def next(self) -> Node | None:
        """The node after it in its block; None at the end."""
        return self._next if self._next is not None and self._next.op != RETURN else None

    @property
    def previous(self) -> Node | None:
        """The node before it in its block; None at the start."""
        return self._previous

    def insert_before(self, node: Node) -> Node:
        """Put it into the block of `node`, before it."""
        if self._owner is not None:
            raise ValueError(f"{self.op} is in a block already; use move_before")
        node.owner_block._link(self, node)
        return self

    def insert_after(self, node: Node) -> Node:
        """Put it into the block of `node`, after it."""
        following = node._next
        if following is None:
            raise ValueError("nothing follows the return of a block")
        return self.insert_before(following)

    def move_before(self, node: Node) -> None:
        """Move it, from any block, to before `node`."""
        if node is not self:
            self._unlink()
            self.insert_before(node)

    def move_after(self, node: Node) -> None:
        """Move it, from any block, to after `node`."""
        if node is not self:
            self._unlink()
            self.insert_after(node)

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

    def erase(self) -> None:
        """Remove it with all that is nested in it. Raises ValueError, naming the users, if a result is used."""
        for index, value in enumerate(self._results):
            _refuse_used(value, f"output {index} of {self.op}")
        for block in self._blocks:
            block.clear()
        self._blocks = []
        self.set_operands(())
        for value in self._results:
            _invalidate(value)
        if self._owner is not None:
            self._unlink()
        self.is_erased = True
        self.__class__ = ErasedNode

    def copy_metadata(self, other: Node) -> Node:
        """Take source range, call chain and scope of `other`."""
        self.range, self.call_chain, self.scope = other.range, other.call_chain, other.scope
        return self

    def __str__(self) -> str:
        return graph_tools().print_node(self)

    def __repr__(self) -> str:
        results = ", ".join(map(repr, self._results))
        return f"{results} = {self.op}({', '.join('%' + v.name for v in self._operands)})"


@refusing("node", NodeMethods, AttributeMethods)
class ErasedNode(Node):
    """What a node becomes when it is erased: whatever TorchScript's users ask it raises RuntimeError."""

    __slots__ = ()


class ParameterNode(Node):
    """Stands for the parameters of a block, which are its results. It is before every node and in no list of nodes."""

    __slots__ = ()

    def __init__(self, block: Block) -> None:
        super().__init__(block.graph, PARAMETERS)
        self._owner, self._results, self._order = block, block._parameters, -(1 << 62)

    def add_result(self, type_: Type = TENSOR, name: str = "") -> Value:
        """Append a parameter."""
        return self.owner_block.add_parameter(type_, name)

    def remove_result(self, index: int) -> None:
        """Drop a parameter. Raises ValueError if it is used."""
        self.owner_block.remove_parameter(index)


class Block(BlockMethods[Value, Node]):
    """Parameters, nodes in order, and returned values; the body of a graph, a loop or a branch."""

    __slots__ = ("_first", "_parameter_node", "_parameters", "graph", "owner_node", "return_node")

    def __init__(self, graph: Graph, owner_node: Node | None = None) -> None:
        self.graph = graph
        self.owner_node = owner_node
        """The node it is nested in; None for a graph's own block."""
        self._parameters: list[Value] = []
        self._parameter_node: Node | None = None
        self.return_node = Node(graph, RETURN)
        """The pseudo node whose operands are the block's returns; the last in the list."""
        self.return_node._owner = self
        self.return_node._order = GAP
        self._first: Node = self.return_node

    @property
    def parameters(self) -> tuple[Value, ...]:
        """The values that the block is entered with."""
        return tuple(self._parameters)

    @property
    def returns(self) -> tuple[Value, ...]:
        """The values that the block is left with."""
        return self.return_node.operands

    @property
    def parameter_node(self) -> Node:
        """A node outside of the block whose results are the parameters."""
        if self._parameter_node is None:
            self._parameter_node = ParameterNode(self)
        return self._parameter_node

    @property
    def position(self) -> int:
        """Its index among the blocks of its node."""
        return 0 if self.owner_node is None else self.owner_node._blocks.index(self)

    def add_parameter(self, type_: Type = TENSOR, name: str = "", index: int | None = None) -> Value:
        """Add a parameter, at the end or before `index`."""
        position = len(self._parameters) if index is None else index
        value = Value(type_, self.graph.new_number(), block=self, index=position)
        self._parameters.insert(position, value)
        self._renumber_parameters(position + 1)
        if name:
            self.graph.rename(value, name)
        return value

    def remove_parameter(self, index: int) -> None:
        """Drop a parameter. Raises ValueError if it is used."""
        _refuse_used(self._parameters[index], f"parameter {index} of a block")
        _invalidate(self._parameters.pop(index))
        self._renumber_parameters(index)

    def permute_parameters(self, order: Sequence[int]) -> None:
        """Put the parameters in another order: `order` has their present indices. Raises ValueError if it has not."""
        if sorted(order) != list(range(len(self._parameters))):
            raise ValueError(f"{list(order)} is no order of {len(self._parameters)} parameters")
        self._parameters[:] = [self._parameters[index] for index in order]
        self._renumber_parameters(0)

    def _renumber_parameters(self, start: int) -> None:
        for i in range(start, len(self._parameters)):
            self._parameters[i].index = i

    def add_return(self, value: Value) -> int:
        """Append a returned value; its index."""
        self.return_node.add_operand(value)
        return len(self.return_node._operands) - 1

    def remove_return(self, index: int) -> None:
        """Drop a returned value."""
        self.return_node.remove_operand(index)

    def __iter__(self) -> Iterator[Node]:
        """The nodes in order; the one just yielded may be removed or moved, and others inserted after it."""
        node: Node | None = self._first
        while node is not None and node.op != RETURN:
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
        return None if self._first.op == RETURN else self._first

    @property
    def last(self) -> Node | None:
        """The last node before the return; None when there is none."""
        return self.return_node._previous

    def walk(self) -> Iterator[Node]:
        """Every node at every depth, outer before inner; the one just yielded may be removed."""
        waiting: list[Iterator[Node]] = [iter(self)]
        while waiting:
            for node in waiting[-1]:
                yield node
                if node._blocks:
                    waiting.append(chain.from_iterable(node.nested_blocks))
                    break
            else:
                waiting.pop()

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
        self.return_node.set_operands(())
        for node in list(self)[::-1]:
            node.erase()
        for index in reversed(range(len(self._parameters))):
            self.remove_parameter(index)

    def _link(self, node: Node, following: Node) -> None:
        """Put a node that is in no block before one of this block."""
        before = following._previous
        node._owner, node._previous, node._next = self, before, following
        following._previous = node
        if before is None:
            self._first = node
        else:
            before._next = node
        give_order(node, self.return_node)


def _refuse_used(value: Value, what: str) -> None:
    if value.is_used:
        users = ", ".join(dict.fromkeys(use.user.op for use in value.uses()))
        raise ValueError(f"cannot remove {what}: %{value.name} is used by {users}")


def _invalidate(value: Value) -> None:
    """Take the name from a value that is gone, and let TorchScript's users of it know."""
    graph = value.block.graph if value.defining_node is None else value.defining_node.graph  # type: ignore[union-attr]
    graph.forget(value)
    value.__class__ = ErasedValue
