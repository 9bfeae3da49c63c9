"""Values, nodes and blocks as TorchScript's users handle them: `n.kind()`, `n.inputsAt(0).type()`, `v.uses()`.

One file, since each of them leads to the others. Each object stands for one of `flambeau.ir`, which it has as `ours`;
all that stand for one thing are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flambeau.analysis import effects
from flambeau.ir import constants
from flambeau.ir import graph as graphs
from flambeau.ir import node as nodes
from flambeau.ir import value as values
from flambeau.jit.torch_names.attributes import Attributes
from flambeau.jit.torch_names.types import TensorType, Type
from flambeau.schema.function import FunctionSchema, parse_schema
from flambeau.schema.match import find_overload
from flambeau.tensor.tensor import Tensor

INVALIDATED = "this {kind} has been invalidated: it was removed from its graph"
BAD_NAME = "Invalid name: '{name}': a name of a value is no number"
ONE_INPUT = "Tried to access a single input on node '{kind}' which has {count} inputs; use node.inputs() instead"
ONE_OUTPUT = "Tried to access a single output on node '{kind}' which has {count} outputs; use node.outputs() instead"
NO_ARGUMENT = "Couldn't find an argument called {name}"
NO_PLACE = "invalid index {index}: there are {count}"


class View:
    """Stands for an object of the graph."""

    ours: Any

    def __init__(self, ours: Any) -> None:
        self.ours = ours

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self.ours is other.ours

    def __hash__(self) -> int:
        return id(self.ours)


class Value(View):
    """A value: what a node gives, or a parameter of a block."""

    @property
    def _value(self) -> values.Value:
        value: values.Value = self.ours
        node = value.node
        is_gone = node is not None and node.is_destroyed
        held = () if is_gone else node.outputs if node is not None else value.owner_block.inputs
        if not any(v is value for v in held):
            raise RuntimeError(INVALIDATED.format(kind="value"))
        return value

    def type(self) -> Type:
        """Its type."""
        return Type.of(self._value.type)

    def setType(self, type_: Type) -> Value:
        """Give it another type."""
        self._value.set_type(type_.ours)
        return self

    def setTypeAs(self, other: Value) -> Value:
        """Give it the type of another value."""
        return self.setType(other.type())

    def inferTypeFrom(self, value: Tensor) -> None:
        """Give it the type that says all of a tensor."""
        self.setType(TensorType.create_from_tensor(value))

    def debugName(self) -> str:
        """Its name, without the percent sign."""
        return self._value.name

    def setDebugName(self, name: str) -> Value:
        """Name it; who has the name already gets another. Raises RuntimeError for a number."""
        if name.isdigit():
            raise RuntimeError(BAD_NAME.format(name=name))
        self._value.set_name(name)
        return self

    def unique(self) -> int:
        """Its number."""
        return self._value.unique

    def offset(self) -> int:
        """Which of the results of its node, or of the parameters of its block, it is."""
        return self._value.index

    def uses(self) -> list[Use]:
        """Where it is used."""
        return [Use(Node(user), offset) for user, offset in self._value.uses]

    def node(self) -> Node:
        """What defines it; for a parameter, the node that stands for the parameters of its block."""
        value = self._value
        return Node(value.node) if value.node is not None else Parameters(value.owner_block)

    def toIValue(self) -> Any:
        """The value of a constant; None for others."""
        value = self._value
        return constants.constant_value(value) if constants.is_constant(value) else None

    def isCompleteTensor(self) -> bool:
        """Whether dtype, device, sizes and strides are known."""
        return bool(getattr(self._value.type, "is_complete", False))

    def requires_grad(self) -> bool:
        """Whether it may need a gradient."""
        return self.type().requires_grad()

    def requiresGrad(self) -> bool | None:
        """Whether it needs a gradient; None where that is not known."""
        return getattr(self._value.type, "requires_grad", None)

    def copyMetadata(self, other: Value) -> Value:
        """Take the name and type of another value."""
        self._value.copy_metadata(other._value)
        return self

    def replaceAllUsesWith(self, other: Value) -> None:
        """Let every user use `other`."""
        self._value.replace_uses_with(other._value)

    def replaceAllUsesAfterNodeWith(self, node: Node, other: Value) -> None:
        """Let the users behind a node use `other`."""
        place = node._node
        for user, offset in self._value.uses:
            if user is not place and place.is_before(user):
                user.replace_input(offset, other._value)

    def __repr__(self) -> str:
        return f"{self._value.name} defined in ({self.node()})"


class Use:
    """A use: `user` has the value as its input `offset`."""

    def __init__(self, user: Node, offset: int) -> None:
        self.user = user
        self.offset = offset

    def isAfter(self, other: Use) -> bool:
        """Whether it comes later in program order; an outer node comes before those in it."""
        mine, theirs = self.user._node, other.user._node
        return self.offset > other.offset if mine is theirs else theirs.is_before(mine)


class Node(View, Attributes):
    """An operation. Raises RuntimeError, whatever it is asked, once it is removed from its graph."""

    @property
    def _node(self) -> nodes.Node:
        node: nodes.Node = self.ours
        if node.is_destroyed:
            raise RuntimeError(INVALIDATED.format(kind="node"))
        return node

    def _attributes(self) -> dict[str, Any]:
        return self._node.attributes

    def kind(self) -> str:
        """The operator's name, `aten::add`."""
        return self._node.kind

    # -- operands and results -----------------------------------------------------------------------------------------

    def inputs(self) -> Iterator[Value]:
        """The operands."""
        return map(Value, self._node.inputs)

    def outputs(self) -> Iterator[Value]:
        """The results."""
        return map(Value, self._node.outputs)

    def inputsSize(self) -> int:
        """How many operands it has."""
        return len(self._node.inputs)

    def outputsSize(self) -> int:
        """How many results it has."""
        return len(self._node.outputs)

    def inputsAt(self, index: int) -> Value:
        """One operand. Raises RuntimeError where there is none."""
        return Value(_at(self._node.inputs, index))

    def outputsAt(self, index: int) -> Value:
        """One result. Raises RuntimeError where there is none."""
        return Value(_at(self._node.outputs, index))

    def input(self) -> Value:
        """The only operand. Raises RuntimeError if there are others or none."""
        if self.inputsSize() != 1:
            raise RuntimeError(ONE_INPUT.format(kind=self.kind(), count=self.inputsSize()))
        return self.inputsAt(0)

    def output(self) -> Value:
        """The only result. Raises RuntimeError if there are others or none."""
        if self.outputsSize() != 1:
            raise RuntimeError(ONE_OUTPUT.format(kind=self.kind(), count=self.outputsSize()))
        return self.outputsAt(0)

    def namedInput(self, name: str) -> Value:
        """The operand for an argument of the schema. Raises RuntimeError where there is none of that name."""
        definition = self._node.definition
        if definition is None or name not in definition.schema.index:
            raise RuntimeError(NO_ARGUMENT.format(name=name))
        return self.inputsAt(definition.schema.index[name])

    def addInput(self, value: Value) -> Value:
        """Append an operand."""
        self._node.add_input(value._value)
        return value

    def replaceInput(self, index: int, value: Value) -> Value:
        """Put another operand at `index`; the old one comes back."""
        return Value(self._node.replace_input(index, value._value))

    def replaceInputWith(self, old: Value, new: Value) -> None:
        """Let it use `new` wherever it uses `old`."""
        self._node.replace_uses_of(old._value, new._value)

    def removeInput(self, index: int) -> None:
        """Drop an operand."""
        self._node.remove_input(index)

    def removeAllInputs(self) -> None:
        """Drop all operands."""
        self._node.set_inputs(())

    def addOutput(self) -> Value:
        """Append a result, a Tensor."""
        return Value(self._node.add_output())

    def eraseOutput(self, index: int) -> None:
        """Drop a result. Raises RuntimeError if it is used."""
        try:
            self._node.remove_output(index)
        except ValueError as error:
            raise RuntimeError(str(error)) from None

    def hasMultipleOutputs(self) -> bool:
        """Whether it has several results."""
        return self.outputsSize() > 1

    def hasUses(self) -> bool:
        """Whether any result is used."""
        return any(v.is_used for v in self._node.outputs)

    def replaceAllUsesWith(self, other: Node) -> None:
        """Let the results of another node be used instead."""
        for mine, theirs in zip(self._node.outputs, other._node.outputs, strict=True):
            mine.replace_uses_with(theirs)

    # -- meaning ------------------------------------------------------------------------------------------------------

    def schema(self) -> str:
        """The overload's declaration; "(no schema)" for what has none."""
        definition = self._node.definition
        return "(no schema)" if definition is None else str(definition.schema)

    def matches(self, schema: str) -> bool:
        """Whether the operands fit a declaration of the node's kind."""
        wanted = parse_schema(schema)
        found = find_overload(self._node.kind, [v.type for v in self._node.inputs])
        return wanted.name == self._node.kind and found is not None and _same_shape(found.schema, wanted)

    def isNondeterministic(self) -> bool:
        """Whether it draws random numbers."""
        return effects.is_random(self._node)

    def mustBeNone(self) -> bool:
        """Whether its result is always None."""
        node = self._node
        return len(node.outputs) == 1 and constants.is_none(node.output())

    def sourceRange(self) -> str:
        """The lines of the program that it comes from, underlined; empty where they are not known."""
        where = self._node.range
        return "" if where is None else where.highlight()

    def scopeName(self) -> str:
        """The module or named block that it comes from."""
        return self._node.scope

    def copyMetadata(self, other: Node) -> None:
        """Take the source range and scope of another node."""
        self._node.copy_metadata(other._node)

    # -- place --------------------------------------------------------------------------------------------------------

    def blocks(self) -> Iterator[Block]:
        """The blocks in it."""
        return map(Block, self._node.blocks)

    def addBlock(self) -> Block:
        """Append an empty block."""
        return Block(self._node.add_block())

    def owningBlock(self) -> Block:
        """The block that it is in."""
        return Block(self._node.owner_block)

    def prev(self) -> Node | None:
        """The node before it; None for the first."""
        found = self._node.previous
        return None if found is None else Node(found)

    def isBefore(self, other: Node) -> bool:
        """Whether it comes earlier in program order."""
        return self._node.is_before(other._node)

    def isAfter(self, other: Node) -> bool:
        """Whether it comes later in program order."""
        return other.isBefore(self)

    def insertBefore(self, place: Node) -> Node:
        """Insert a node that is in no block."""
        self._node.insert_before(place._node)
        return self

    def insertAfter(self, place: Node) -> Node:
        """Insert a node that is in no block."""
        self._node.insert_after(place._node)
        return self

    def moveBefore(self, place: Node) -> None:
        """Move it."""
        self._node.move_before(place._node)

    def moveAfter(self, place: Node) -> None:
        """Move it."""
        self._node.move_after(place._node)

    def destroy(self) -> None:
        """Remove it with all that is in it. Raises RuntimeError if a result is used."""
        try:
            self._node.destroy()
        except ValueError as error:
            raise RuntimeError(str(error)) from None

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind in its blocks."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """The nodes of a kind in its blocks, at any depth or, without `recurse`, at the first."""
        return [found for block in self.blocks() for found in block.findAllNodes(kind, recurse)]

    def __repr__(self) -> str:
        return str(self._node)


class Parameters(Node):
    """Stands for the parameters of a block, as results of a node `prim::Param`."""

    def __init__(self, block: nodes.Block) -> None:
        node = nodes.Node(block.graph, "prim::Param")
        super().__init__(node)
        self._block = block

    def outputs(self) -> Iterator[Value]:
        """The parameters."""
        return map(Value, self._block.inputs)

    def outputsSize(self) -> int:
        """How many there are."""
        return len(self._block.inputs)

    def outputsAt(self, index: int) -> Value:
        """One of them."""
        return Value(_at(self._block.inputs, index))

    def owningBlock(self) -> Block:
        """The block."""
        return Block(self._block)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameters) and self._block is other._block

    def __hash__(self) -> int:
        return id(self._block)

    def __repr__(self) -> str:
        return f"{', '.join(f'%{v.name} : {v.type}' for v in self._block.inputs)} = prim::Param()\n"


class Block(View):
    """Parameters, nodes and results: the body of a graph, a loop or a branch."""

    ours: nodes.Block

    def inputs(self) -> Iterator[Value]:
        """The parameters."""
        return map(Value, self.ours.inputs)

    def outputs(self) -> Iterator[Value]:
        """The results."""
        return map(Value, self.ours.outputs)

    def nodes(self) -> Iterator[Node]:
        """The nodes, in order."""
        return map(Node, self.ours)

    def paramNode(self) -> Node:
        """Stands for the parameters."""
        return Parameters(self.ours)

    def returnNode(self) -> Node:
        """Has the results as operands."""
        return Node(self.ours.return_node)

    def owningNode(self) -> Node | None:
        """The node that it is in; None for the body of a graph."""
        owner = self.ours.owner_node
        return None if owner is None else Node(owner)

    def registerOutput(self, value: Value) -> int:
        """Append a result; its index."""
        return self.ours.add_output(value._value)

    def addInputToBlock(self, name: str = "") -> Value:
        """Append a parameter, a Tensor."""
        return Value(self.ours.add_input(name=name))

    def addNode(self, kind: str, inputs: list[Value]) -> Node:
        """Append a node with one result, a Tensor."""
        made = self.ours.graph.create(kind, [v._value for v in inputs])
        return Node(self.ours.append(made))

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind, at any depth or, without `recurse`, in this block itself."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """The nodes of a kind."""
        found = graphs.walk(self.ours) if recurse else iter(self.ours)
        return [Node(n) for n in found if n.kind == kind]


def _at(items: tuple[values.Value, ...], index: int) -> values.Value:
    if not 0 <= index < len(items):
        raise RuntimeError(NO_PLACE.format(index=index, count=len(items)))
    return items[index]


def _same_shape(found: FunctionSchema, wanted: FunctionSchema) -> bool:
    """Whether a declaration written without overload and defaults is that of an overload."""
    both = zip(found.arguments, wanted.arguments, strict=False)
    return len(found.arguments) == len(wanted.arguments) and all((f.name, f.type) == (w.name, w.type) for f, w in both)
