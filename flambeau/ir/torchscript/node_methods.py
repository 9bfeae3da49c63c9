"""Methods of nodes by TorchScript's names: `n.kind()`, `n.inputsAt(0)`, `n.owningBlock()`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from flambeau.ir.torchscript.argument_checks import as_runtime_errors, check_index
from flambeau.ir.torchscript.block_methods import PYTHON_OP, kind_of_op
from flambeau.ir.torchscript.graph_tools import graph_tools
from flambeau.ir.torchscript.node_attributes import AttributeMethods
from flambeau.schema.function import FunctionSchema, parse_schema
from flambeau.schema.match import find_overload

ValueT = TypeVar("ValueT")
BlockT = TypeVar("BlockT")
ONE_INPUT = "Tried to access a single input on node '{kind}' which has {count} inputs; use node.inputs() instead"
ONE_OUTPUT = "Tried to access a single output on node '{kind}' which has {count} outputs; use node.outputs() instead"
NO_ARGUMENT = "Couldn't find an argument called {name}"
NO_PYTHON = "only nodes that call a Python function have one; this is {op}"


class NodeMethods(AttributeMethods, Generic[ValueT, BlockT]):
    """What TorchScript's users call on a node."""

    __slots__ = ()

    def kind(self: Any) -> str:
        """The operator's name, `aten::add`; `prim::PythonOp` for a call of a Python function, whose text is `^name`."""
        return kind_of_op(self.op)

    def pyname(self: Any) -> str:
        """The name of the Python function that it calls. Raises RuntimeError for a node that calls none."""
        if kind_of_op(self.op) != PYTHON_OP:
            raise RuntimeError(NO_PYTHON.format(op=self.op))
        return str(self.op).removeprefix("^")

    def pyobj(self: Any) -> Any:
        """The Python function that it calls. Raises RuntimeError for a node that calls none, or was read from text."""
        if "callable" not in self.attributes:
            raise RuntimeError(NO_PYTHON.format(op=self.op))
        return self.attributes["callable"]

    def scalar_args(self: Any) -> list[Any]:
        """What that function is given besides values of the graph. Raises RuntimeError as `pyobj` does."""
        return list(getattr(self.pyobj(), "scalar_args", ()))

    # -- operands and results -----------------------------------------------------------------------------------------

    def inputs(self: Any) -> Iterator[ValueT]:
        """The operands."""
        return iter(self.operands)

    def outputs(self: Any) -> Iterator[ValueT]:
        """The results."""
        return iter(self.results)

    def inputsSize(self: Any) -> int:
        """How many operands it has."""
        return len(self.operands)

    def outputsSize(self: Any) -> int:
        """How many results it has."""
        return len(self.results)

    def inputsAt(self: Any, index: int) -> ValueT:
        """One operand. Raises RuntimeError where there is none."""
        value: ValueT = _at(self.operands, index)
        return value

    def outputsAt(self: Any, index: int) -> ValueT:
        """One result. Raises RuntimeError where there is none."""
        value: ValueT = _at(self.results, index)
        return value

    def input(self: Any) -> ValueT:
        """The only operand. Raises RuntimeError if there are others or none."""
        value: ValueT = _only(self.operands, ONE_INPUT, self.op)
        return value

    def output(self: Any) -> ValueT:
        """The only result. Raises RuntimeError if there are others or none."""
        value: ValueT = _only(self.results, ONE_OUTPUT, self.op)
        return value

    def namedInput(self: Any, name: str) -> ValueT:
        """The operand for an argument of the schema. Raises RuntimeError where there is none of that name."""
        definition = self.definition
        if definition is None or name not in definition.schema.index:
            raise RuntimeError(NO_ARGUMENT.format(name=name))
        value: ValueT = self.inputsAt(definition.schema.index[name])
        return value

    def addInput(self: Any, value: ValueT) -> ValueT:
        """Append an operand."""
        self.add_operand(value)
        return value

    def replaceInput(self: Any, index: int, value: ValueT) -> ValueT:
        """Put another operand at `index`; the old one comes back. Raises RuntimeError where there is none."""
        check_index(index, self.operands)
        old: ValueT = self.replace_operand(index, value)
        return old

    def replaceInputWith(self: Any, old: ValueT, new: ValueT) -> None:
        """Let it use `new` wherever it uses `old`."""
        self.replace_uses_of(old, new)

    def removeInput(self: Any, index: int) -> None:
        """Drop an operand. Raises RuntimeError where there is none."""
        check_index(index, self.operands)
        self.remove_operand(index)

    def removeAllInputs(self: Any) -> None:
        """Drop all operands."""
        self.set_operands(())

    def addOutput(self: Any) -> ValueT:
        """Append a result, a Tensor."""
        value: ValueT = self.add_result()
        return value

    def eraseOutput(self: Any, index: int) -> None:
        """Drop a result. Raises RuntimeError if it is used, or not there."""
        check_index(index, self.results)
        with as_runtime_errors():
            self.remove_result(index)

    def hasMultipleOutputs(self) -> bool:
        """Whether it has several results."""
        return self.outputsSize() > 1

    def hasUses(self: Any) -> bool:
        """Whether any result is used."""
        return any(v.is_used for v in self.results)

    def replaceAllUsesWith(self: Any, other: Any) -> None:
        """Let the results of another node be used instead."""
        for mine, theirs in zip(self.results, other.results, strict=True):
            mine.replace_uses_with(theirs)

    # -- meaning ------------------------------------------------------------------------------------------------------

    def schema(self: Any) -> str:
        """The overload's declaration; "(no schema)" for what has none."""
        definition = self.definition
        return "(no schema)" if definition is None else str(definition.schema)

    def matches(self: Any, schema: str) -> bool:
        """Whether the operands fit a declaration of the node's operator."""
        wanted = parse_schema(schema)
        overload = find_overload(self.op, [v.static_type for v in self.operands])
        return wanted.name == self.op and overload is not None and _same_arguments(overload.schema, wanted)

    def isNondeterministic(self) -> bool:
        """Whether it draws random numbers."""
        return graph_tools().is_random(self)

    def mustBeNone(self: Any) -> bool:
        """Whether its result is always None."""
        return len(self.results) == 1 and self.op == "prim::Constant" and not self.attributes

    def sourceRange(self: Any) -> str:
        """The lines of the program that it comes from, underlined; empty where they are not known."""
        return "" if self.range is None else str(self.range.highlight())

    def scopeName(self: Any) -> str:
        """The module or named block that it comes from."""
        return str(self.scope)

    def copyMetadata(self: Any, other: Any) -> None:
        """Take the source range and scope of another node."""
        self.copy_metadata(other)

    # -- where it is --------------------------------------------------------------------------------------------------

    def blocks(self: Any) -> Iterator[BlockT]:
        """The blocks in it."""
        return iter(self.nested_blocks)

    def addBlock(self: Any) -> BlockT:
        """Append an empty block."""
        block: BlockT = self.add_block()
        return block

    def owningBlock(self: Any) -> BlockT:
        """The block that it is in."""
        block: BlockT = self.owner_block
        return block

    def prev(self: Any) -> Any:
        """The node before it; None for the first."""
        return self.previous

    def isBefore(self: Any, other: Any) -> bool:
        """Whether it comes earlier in program order."""
        return bool(self.is_before(other))

    def isAfter(self, other: Any) -> bool:
        """Whether it comes later in program order."""
        return bool(other.is_before(self))

    def insertBefore(self: Any, node: Any) -> Any:
        """Insert it, which is in no block, before a node. Raises RuntimeError if it is in one, or the node in none."""
        with as_runtime_errors():
            return self.insert_before(node)

    def insertAfter(self: Any, node: Any) -> Any:
        """Insert it, which is in no block, after a node. Raises RuntimeError if it is in one, or the node in none."""
        with as_runtime_errors():
            return self.insert_after(node)

    def moveBefore(self: Any, node: Any) -> None:
        """Move it to before a node. Raises RuntimeError unless both are in a block."""
        with as_runtime_errors():
            self.move_before(node)

    def moveAfter(self: Any, node: Any) -> None:
        """Move it to after a node. Raises RuntimeError unless both are in a block."""
        with as_runtime_errors():
            self.move_after(node)

    def destroy(self: Any) -> None:
        """Remove it with all that is in it. Raises RuntimeError if a result is used."""
        with as_runtime_errors():
            self.erase()

    def findNode(self, kind: str, recurse: bool = True) -> Any:
        """The first node of a kind in its blocks; None if there is none."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self: Any, kind: str, recurse: bool = True) -> list[Any]:
        """The nodes of a kind in its blocks, at any depth or, without `recurse`, at the first."""
        return [node for block in self.nested_blocks for node in block.findAllNodes(kind, recurse)]


def _at(values: Sequence[Any], index: int) -> Any:
    check_index(index, values)
    return values[index]


def _only(values: Sequence[Any], message: str, kind: str) -> Any:
    if len(values) != 1:
        raise RuntimeError(message.format(kind=kind, count=len(values)))
    return values[0]


def _same_arguments(schema: FunctionSchema, wanted: FunctionSchema) -> bool:
    """Whether a declaration written without overload and defaults is that of an overload."""
    pairs = [(a.name, a.type) for a in schema.arguments]
    return pairs == [(a.name, a.type) for a in wanted.arguments]
