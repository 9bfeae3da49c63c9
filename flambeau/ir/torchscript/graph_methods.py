"""Methods of graphs by TorchScript's names: `g.inputs()`, `g.findNode("aten::add")`, `g.insertConstant(3)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Self, TypeVar

from flambeau.ir.torchscript.argument_checks import as_runtime_errors, check_index, check_name, wrong_argument
from flambeau.ir.torchscript.graph_tools import graph_tools
from flambeau.schema.types import TupleType

ValueT = TypeVar("ValueT")
NodeT = TypeVar("NodeT")
BlockT = TypeVar("BlockT")
Text = str


class GraphMethods(Generic[ValueT, NodeT, BlockT]):
    """What TorchScript's users call on a graph."""

    # -- looking ------------------------------------------------------------------------------------------------------

    def inputs(self: Any) -> Iterator[ValueT]:
        """The parameters."""
        return iter(self.body.parameters)

    def outputs(self: Any) -> Iterator[ValueT]:
        """The returned values."""
        return iter(self.body.returns)

    def block(self: Any) -> BlockT:
        """The body."""
        block: BlockT = self.body
        return block

    def param_node(self: Any) -> NodeT:
        """A node that stands for the parameters: they are its results."""
        node: NodeT = self.body.parameter_node
        return node

    def return_node(self: Any) -> NodeT:
        """The node whose operands are the returned values."""
        node: NodeT = self.body.return_node
        return node

    def findNode(self: Any, kind: Text, recurse: bool = True) -> NodeT | None:
        """The first node of a kind, at any depth or, without `recurse`, in the body itself."""
        node: NodeT | None = self.body.findNode(kind, recurse)
        return node

    def findAllNodes(self: Any, kind: Text, recurse: bool = True) -> list[NodeT]:
        """The nodes of a kind, at any depth or, without `recurse`, in the body itself."""
        nodes: list[NodeT] = self.body.findAllNodes(kind, recurse)
        return nodes

    def alias_db(self, isFrozen: bool = False, descend_function_calls: bool = False) -> Any:
        """What may share memory. Calls are taken to do anything: inline them to see through them."""
        return graph_tools().analyse_aliases(self)

    def dump_alias_db(self) -> None:
        """Print what may share memory."""
        self.alias_db().dump()

    def lint(self) -> None:
        """Raises VerifyError for a graph that is broken."""
        graph_tools().verify(self)

    def str(self, print_source_ranges: bool = True) -> Text:
        """Its text, with places in files even where `_hide_source_ranges` leaves them out of `str(graph)`."""
        return graph_tools().print_graph(self, print_source_ranges)

    # -- building -----------------------------------------------------------------------------------------------------

    def addInput(self: Any, name: Text = "") -> ValueT:
        """Append a parameter, a Tensor. Raises RuntimeError for a name that is a number."""
        check_name(name)
        value: ValueT = self.add_parameter(name=name)
        return value

    def registerOutput(self: Any, value: ValueT) -> int:
        """Append a returned value; its index. Raises TypeError for what is no value."""
        if not hasattr(value, "static_type"):
            raise wrong_argument("registerOutput", "a Value", value)
        return int(self.add_return(value))

    def eraseInput(self: Any, index: int) -> None:
        """Drop a parameter. Raises RuntimeError if it is used, or not there."""
        check_index(index, self.body.parameters)
        with as_runtime_errors():
            self.body.remove_parameter(index)

    def eraseOutput(self: Any, index: int) -> None:
        """Drop a returned value. Raises RuntimeError if it is not there."""
        check_index(index, self.body.returns)
        self.body.remove_return(index)

    def createClone(self, node: NodeT, fn: Callable[[ValueT], ValueT]) -> NodeT:
        """A copy in no block; `fn` says which value stands in for each operand."""
        operands: Any = node
        copies = {value: fn(value) for value in operands.operands}
        copy: NodeT = graph_tools().copy_node(node, self, copies)
        return copy

    def appendNode(self: Any, node: NodeT) -> NodeT:
        """Insert a node at the end of the body. Raises RuntimeError if it is in a block already."""
        with as_runtime_errors():
            self.body.append(node)
        return node

    def prependNode(self: Any, node: NodeT) -> NodeT:
        """Insert a node at the start of the body. Raises RuntimeError if it is in a block already."""
        with as_runtime_errors():
            self.body.prepend(node)
        return node

    def insertNode(self: Any, node: NodeT) -> NodeT:
        """Insert a node at the insertion point. Raises RuntimeError if it is in a block already."""
        with as_runtime_errors():
            self.insert_node(node)
        return node

    def insertConstant(self, value: Any) -> ValueT:
        """Insert a constant at the insertion point. Raises TypeError for a value that is none."""
        constant: ValueT = graph_tools().insert_constant(self, value)
        return constant

    def insertGraph(self, body: Self, inputs: Sequence[ValueT]) -> list[ValueT]:
        """Insert copies of the nodes of another graph, its parameters being `inputs`; the values it returns."""
        return graph_tools().insert_graph(self, body, inputs)

    def insertPoint(self: Any) -> NodeT:
        """The node that new ones go before."""
        node: NodeT = self.insertion_point
        return node

    def setInsertPoint(self: Any, target: NodeT | BlockT) -> None:
        """Insert before a node, or at the end of a block, from now on."""
        self.set_insertion_point(target)

    def insert_point_guard(self: Any, target: NodeT | BlockT) -> AbstractContextManager[None]:
        """Insert before a node, or at the end of a block, inside a `with`."""
        guard: AbstractContextManager[None] = self.inserting(target)
        return guard

    def permuteInputs(self: Any, order: Sequence[int]) -> None:
        """Put the parameters in another order: `order` has their present indices. Raises RuntimeError if it has not."""
        with as_runtime_errors():
            self.body.permute_parameters(order)

    def makeMultiOutputIntoTuple(self: Any) -> None:
        """Return one tuple instead of several values."""
        values = self.body.returns
        if len(values) == 1:
            return
        with self.inserting(self.body):
            type_ = TupleType(tuple(v.static_type for v in values))
            result = self.insert("prim::TupleConstruct", values, [type_]).result()
        for _ in values:
            self.body.remove_return(0)
        self.add_return(result)

    def copy(self) -> Self:
        """A copy."""
        graph: Self = graph_tools().copy(self)
        return graph
