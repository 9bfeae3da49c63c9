"""Methods of blocks by TorchScript's names: `b.inputs()`, `b.paramNode()`, `b.owningNode()`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

ValueT = TypeVar("ValueT")
NodeT = TypeVar("NodeT")


PYTHON_OP = "prim::PythonOp"


def kind_of_op(op: str) -> str:
    """What TorchScript calls the kind of a node: calls of Python functions are of one kind, whatever they call.

    >>> kind_of_op("^f"), kind_of_op("aten::add")
    ('prim::PythonOp', 'aten::add')
    """
    return PYTHON_OP if op.startswith("^") else op


class BlockMethods(Generic[ValueT, NodeT]):
    """What TorchScript's users call on a block."""

    __slots__ = ()

    def inputs(self: Any) -> Iterator[ValueT]:
        """The parameters."""
        return iter(self.parameters)

    def outputs(self: Any) -> Iterator[ValueT]:
        """The returned values."""
        return iter(self.returns)

    def nodes(self: Any) -> Iterator[NodeT]:
        """The nodes, in order."""
        return iter(self)

    def paramNode(self: Any) -> NodeT:
        """A node that stands for the parameters: they are its results."""
        node: NodeT = self.parameter_node
        return node

    def returnNode(self: Any) -> NodeT:
        """The node whose operands are the returned values."""
        node: NodeT = self.return_node
        return node

    def owningNode(self: Any) -> NodeT | None:
        """The node that it is in; None for the body of a graph."""
        node: NodeT | None = self.owner_node
        return node

    def registerOutput(self: Any, value: ValueT) -> int:
        """Append a returned value; its index."""
        return int(self.add_return(value))

    def addInputToBlock(self: Any, name: str = "") -> ValueT:
        """Append a parameter, a Tensor."""
        value: ValueT = self.add_parameter(name=name)
        return value

    def addNode(self: Any, kind: str, inputs: list[ValueT]) -> NodeT:
        """Append a node with one result, a Tensor."""
        node: NodeT = self.append(self.graph.create(kind, inputs))
        return node

    def findNode(self, kind: str, recurse: bool = True) -> NodeT | None:
        """The first node of a kind, at any depth or, without `recurse`, in this block itself."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self: Any, kind: str, recurse: bool = True) -> list[NodeT]:
        """The nodes of a kind, at any depth or, without `recurse`, in this block itself."""
        return [node for node in (self.walk() if recurse else self) if kind in (node.op, kind_of_op(node.op))]
