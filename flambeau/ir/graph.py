"""Graphs of nodes, nodes with values and nested blocks, blocks of nodes: one recursive structure, hence one file.

A graph has one top block, the names of its values, and an insertion point for building it. A node has an operator
(`aten::mul`, `prim::If`), operands, results, attributes and nested blocks. A block has parameters, a doubly linked list
of nodes, and returned values. These are the operands of a pseudo node `prim::Return`, so that every use is a node's.
TorchScript's users see the parameters as results of a pseudo node `prim::Param`.

>>> from flambeau.ir.graph import Graph
>>> graph = Graph()
>>> x = graph.add_parameter(name="x")
>>> y = graph.insert("aten::mul", [x, x]).result()
>>> graph.add_return(y)
0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flambeau.ir.insertion_point import InsertionPoint
from flambeau.ir.node_list import NodeList
from flambeau.ir.node_order import GAP
from flambeau.ir.torchscript.block_methods import BlockMethods
from flambeau.ir.torchscript.erased import refusing
from flambeau.ir.torchscript.graph_methods import GraphMethods
from flambeau.ir.torchscript.graph_tools import graph_tools
from flambeau.ir.torchscript.node_attributes import AttributeMethods
from flambeau.ir.torchscript.node_methods import NodeMethods
from flambeau.ir.torchscript.value_methods import ValueMethods
from flambeau.ir.uses import UsedValue, User
from flambeau.ir.value_names import ValueNames
from flambeau.schema import match
from flambeau.schema.opdef import OpDef
from flambeau.schema.registry import is_operator, registrations
from flambeau.schema.types import TENSOR, SimpleType, TensorType, Type, without_refinement
from flambeau.util.source import SourceRange

RETURN = "prim::Return"
PARAMETERS = "prim::Param"
NONE_OPERAND = "cannot pass None in inputs"


class Value(UsedValue["Node"], ValueMethods["Node"]):
    """An SSA value: the result `index` of a node, or the parameter `index` of a block.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> (x,) = graph.parameters
    >>> x.name, str(x.static_type), x.defining_node, len(x.uses())
    ('x', 'Tensor', None, 1)
    """

    __slots__ = ("_name", "block", "defining_node", "index", "number", "static_type")

    def __init__(
        self, static_type: Type, number: int, *, node: Node | None = None, block: Block | None = None, index: int
    ) -> None:
        assert (node is None) != (block is None)
        self.static_type = static_type
        """What is known of it before the program runs; `type()` is the same for TorchScript's users."""
        self.number = number
        self.defining_node = node
        """The node that defines it; None for a parameter of a block."""
        self.block = block
        """The block it is a parameter of; None for the result of a node."""
        self.index = index
        self._name = ""
        self._uses = {}

    @property
    def name(self) -> str:
        """Its name in text: the debug name, or its number."""
        return self._name or str(self.number)

    @property
    def has_name(self) -> bool:
        """Whether someone named it."""
        return bool(self._name)

    @property
    def owner_block(self) -> Block:
        """The block in which it is defined."""
        if self.block is not None:
            return self.block
        assert self.defining_node is not None
        return self.defining_node.owner_block

    def set_name(self, name: str) -> Value:
        """Name it; a value that already has this name moves on to `name.1`, `name.2`, ..."""
        owner: Any = self.block or self.defining_node
        owner.graph.rename(self, name)
        return self

    def set_type(self, static_type: Type) -> Value:
        """Give it another type."""
        before, self.static_type = self.static_type, static_type
        # What is known of a tensor, arrays aside, selects no overload.
        if static_type.__class__ is not TensorType or before.__class__ is not TensorType:
            if self.defining_node is not None:
                self.defining_node._definition = None
            for use in self._uses:
                use.user._definition = None
        return self

    def copy_metadata(self, other: Value) -> Value:
        """Take the type of `other`, and its name if it has one."""
        self.set_type(other.static_type)
        if other.has_name:
            self.set_name(other.name)
        return self

    def __repr__(self) -> str:
        return f"%{self.name} : {self.static_type}"


@refusing("value", ValueMethods)
class ErasedValue(Value):
    """What a value becomes when its node is erased: whatever TorchScript's users ask it raises RuntimeError."""

    __slots__ = ()


class Node(User[Value, "Block"], NodeMethods[Value, "Block"]):
    """One operation. Create with `Graph.create`; it belongs to no block until inserted. `str(node)` is its text.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> node = graph.find('aten::neg')
    >>> node.op, [v.name for v in node.operands], node.result().name
    ('aten::neg', ['x'], 'y')
    """

    __slots__ = (
        "_operands", "attributes", "call_chain", "graph", "is_erased", "range", "results", "scope",
    )  # fmt: skip

    def __init__(self, graph: Graph, op: str) -> None:
        self.graph = graph
        self.op = op
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
        self._operands = []
        self.results: tuple[Value, ...] = ()
        """The values it defines."""
        self.nested_blocks = ()
        self._owner = self._previous = self._next = None
        self._order = 0
        self._definition: tuple[int, str, OpDef | None] | None = None

    # -- results ------------------------------------------------------------------------------------------------------

    def result(self, index: int | None = None) -> Value:
        """One result; without an index the only one. Raises ValueError if there are more or none."""
        if index is None:
            if len(self.results) != 1:
                raise ValueError(f"{self.op} has {len(self.results)} results, not one")
            index = 0
        return self.results[index]

    @property
    def is_used(self) -> bool:
        """Whether anything uses one of its results."""
        for value in self.results:  # noqa: SIM110  # asked of every node by many passes: without a generator
            if value._uses:
                return True
        return False

    def add_result(self, type_: Type = TENSOR, name: str = "") -> Value:
        """Append a result."""
        value = Value(type_, self.graph.new_number(), node=self, index=len(self.results))
        self.results = (*self.results, value)
        self._definition = None
        if name:
            self.graph.rename(value, name)
        return value

    def remove_result(self, index: int) -> None:
        """Drop a result. Raises ValueError if it is used."""
        value = self.results[index]
        _refuse_used(value, f"output {index} of {self.op}")
        _invalidate(value)
        self._definition = None
        self.results = tuple([v for v in self.results if v is not value])
        for i, value in enumerate(self.results):
            value.index = i

    # -- blocks -------------------------------------------------------------------------------------------------------

    def add_block(self) -> Block:
        """Append an empty nested block."""
        block = Block(self.graph, self)
        self.nested_blocks = (*self.nested_blocks, block)
        return block

    def remove_block(self, index: int) -> None:
        """Erase a nested block and all in it."""
        block = self.nested_blocks[index]
        self.nested_blocks = tuple([b for b in self.nested_blocks if b is not block])
        block.clear()

    # -- meaning ------------------------------------------------------------------------------------------------------

    @property
    def definition(self) -> OpDef | None:
        """The operator overload that the operand types select, or None for structural and unknown operators."""
        version = registrations.count
        known = self._definition
        if known is None or known[0] != version or known[1] != self.op:
            selected = None
            if is_operator(self.op):
                operands, results = _plain_types(self._operands), _plain_types(self.results)
                selected = match.overload_of_plain(version, self.op, operands, results)
            self._definition = known = (version, self.op, selected)
        return known[2]

    def attribute(self, name: str) -> Any:
        """One attribute. Raises KeyError naming the node's operator."""
        if name not in self.attributes:
            raise KeyError(f"{self.op} has no attribute '{name}'; it has {sorted(self.attributes)}")
        return self.attributes[name]

    # -- end ----------------------------------------------------------------------------------------------------------

    def erase(self) -> None:
        """Remove it with all that is nested in it. Raises ValueError, naming the users, if a result is used."""
        for index, value in enumerate(self.results):
            _refuse_used(value, f"output {index} of {self.op}")
        for block in self.nested_blocks:
            block.clear()
        self.nested_blocks = ()
        if self._operands:
            self.set_operands(())
        for value in self.results:
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
        results = ", ".join(map(repr, self.results))
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
        self._owner, self.results, self._order = block, block.parameters, -(1 << 62)

    def add_result(self, type_: Type = TENSOR, name: str = "") -> Value:
        """Append a parameter."""
        return self.owner_block.add_parameter(type_, name)

    def remove_result(self, index: int) -> None:
        """Drop a parameter. Raises ValueError if it is used."""
        self.owner_block.remove_parameter(index)


class Block(NodeList[Node], BlockMethods[Value, Node]):
    """Parameters, nodes in order, and returned values; the body of a graph, a loop or a branch.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> [node.op for node in graph.body], [v.name for v in graph.body.returns]
    (['aten::neg'], ['y'])
    """

    __slots__ = ("_parameter_node", "graph", "parameters")

    def __init__(self, graph: Graph, owner_node: Node | None = None) -> None:
        self.graph = graph
        self.owner_node = owner_node
        self.parameters: tuple[Value, ...] = ()
        """The values that the block is entered with. Only the block itself puts others here."""
        self._parameter_node: Node | None = None
        self.return_node = Node(graph, RETURN)
        self.return_node._owner = self
        self.return_node._order = GAP
        self._first = self.return_node

    @property
    def returns(self) -> tuple[Value, ...]:
        """The values that the block is left with."""
        return tuple(self.return_node._operands)

    @property
    def parameter_node(self) -> Node:
        """A node outside of the block whose results are the parameters."""
        if self._parameter_node is None:
            self._parameter_node = ParameterNode(self)
        return self._parameter_node

    def add_parameter(self, type_: Type = TENSOR, name: str = "", index: int | None = None) -> Value:
        """Add a parameter, at the end or before `index`."""
        position = len(self.parameters) if index is None else index
        value = Value(type_, self.graph.new_number(), block=self, index=position)
        self._set_parameters((*self.parameters[:position], value, *self.parameters[position:]), position + 1)
        if name:
            self.graph.rename(value, name)
        return value

    def remove_parameter(self, index: int) -> None:
        """Drop a parameter. Raises ValueError if it is used."""
        value = self.parameters[index]
        _refuse_used(value, f"parameter {index} of a block")
        _invalidate(value)
        self._set_parameters(tuple([v for v in self.parameters if v is not value]), index)

    def permute_parameters(self, order: Sequence[int]) -> None:
        """Put the parameters in another order: `order` has their present indices. Raises ValueError if it has not."""
        if sorted(order) != list(range(len(self.parameters))):
            raise ValueError(f"{list(order)} is no order of {len(self.parameters)} parameters")
        self._set_parameters(tuple([self.parameters[index] for index in order]), 0)

    def _set_parameters(self, values: tuple[Value, ...], start: int) -> None:
        """Have other parameters; those before `start` have their indices already."""
        self.parameters = values
        if self._parameter_node is not None:
            self._parameter_node.results = values
        for i in range(start, len(values)):
            values[i].index = i

    def add_return(self, value: Value) -> int:
        """Append a returned value; its index."""
        self.return_node.add_operand(value)
        return len(self.return_node._operands) - 1

    def remove_return(self, index: int) -> None:
        """Drop a returned value."""
        self.return_node.remove_operand(index)

    def clear(self) -> None:
        """Remove returns, nodes and parameters."""
        self.return_node.set_operands(())
        for node in self.own_nodes()[::-1]:
            node.erase()
        for index in reversed(range(len(self.parameters))):
            self.remove_parameter(index)


class Graph(ValueNames, InsertionPoint[Node, Block], GraphMethods[Value, Node, Block]):
    """A program or a fused piece of one. `str(graph)` is its text.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> node = graph.insert('aten::relu', (graph.parameters[0],))
    >>> print(graph)
    graph(%x : Tensor):
      %y : Tensor = aten::neg(%x)
      %2 : Tensor = aten::relu(%x)
      return (%y)
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.keeps_errors = False
        """Whether somebody waits for its errors, so that a failing operator stays though nobody uses its result."""
        self.analyses: dict[type, object] | None = None
        """What passes keep of it (`analysis.manager`), by the class of the analysis; None outside of a pipeline."""
        ValueNames.__init__(self)
        self.body = Block(self)
        """The block that runs."""
        InsertionPoint.__init__(self, self.body)

    # -- shape --------------------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> tuple[Value, ...]:
        """The parameters of the body."""
        return self.body.parameters

    @property
    def returns(self) -> tuple[Value, ...]:
        """The values that the body returns."""
        return self.body.returns

    def add_parameter(self, type_: Type = TENSOR, name: str = "", index: int | None = None) -> Value:
        """Add a parameter."""
        return self.body.add_parameter(type_, name, index)

    def add_return(self, value: Value) -> int:
        """Add a returned value; its index."""
        return self.body.add_return(value)

    def nodes(self) -> Iterator[Node]:
        """The nodes of the body, not those nested in them."""
        return iter(self.body)

    def all_nodes(self) -> Iterator[Node]:
        """Every node at every depth, in program order, outer before inner."""
        return self.body.walk()

    def listed_nodes(self) -> list[Node]:
        """The same as the graph is now, for whoever changes it meanwhile, or looks at all of them."""
        return self.body.listed()

    def find_all(self, op: str) -> list[Node]:
        """Every node of an operator, at every depth."""
        return self.body.find_all(op)

    def find(self, op: str) -> Node | None:
        """The first node of an operator, at any depth."""
        nodes = self.body.find_all(op)
        return nodes[0] if nodes else None

    # -- building -----------------------------------------------------------------------------------------------------

    def create(
        self, op: str, operands: Iterable[Value] | int = (), types: Iterable[Type] | int = (TENSOR,), **attributes: Any
    ) -> Node:
        """A node in no block, with the current source range and a result per type; a number of types means Tensors.

        A number in the place of the operands is that of the results, of a node without operands. Raises ValueError for
        None among the operands.
        """
        if isinstance(operands, int):
            operands, types = (), operands
        node = Node(self, op)
        node.attributes.update(attributes)
        node.range, node.scope = self.current_range, self.current_scope
        values = list(operands)
        if None in values:
            raise ValueError(NONE_OPERAND)
        if values:
            node.set_operands(values)
        for type_ in [TENSOR] * types if isinstance(types, int) else types:
            node.add_result(type_)
        return node

    def insert(
        self, op: str, operands: Iterable[Value] = (), types: Iterable[Type] | int = (TENSOR,), **attributes: Any
    ) -> Node:
        """`create`, inserted at the insertion point."""
        return self.create(op, operands, types, **attributes).insert_before(self._insertion_point)

    def __str__(self) -> str:
        return graph_tools().print_graph(self, None)

    __repr__ = __str__

    def _repr_svg_(self) -> str | None:
        """The picture that notebooks show; None without the library that lays it out."""
        return graph_tools().draw(self)

    def _repr_html_(self) -> str:
        """What notebooks show: the picture, where there is the library that lays it out, and the coloured text."""
        return graph_tools().as_html(self)


def _plain_types(values: Iterable[Value]) -> tuple[Type, ...]:
    """The types of values without what is known of tensors."""
    types = [v.static_type for v in values]
    return tuple([t if isinstance(t, SimpleType) else without_refinement(t) for t in types])


def _refuse_used(value: Value, what: str) -> None:
    if value.is_used:
        users = ", ".join(dict.fromkeys(use.user.op for use in value.uses()))
        raise ValueError(f"cannot remove {what}: %{value.name} is used by {users}")


def _invalidate(value: Value) -> None:
    """Take the name from a value that is gone, and let TorchScript's users of it know."""
    graph = value.block.graph if value.defining_node is None else value.defining_node.graph  # type: ignore[union-attr]
    graph.forget(value)
    value.__class__ = ErasedValue
