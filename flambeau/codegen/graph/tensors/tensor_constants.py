"""Constant tensors in native code: their memory and a block of their own are symbols that linking resolves.

The code says neither address, so that its text stays the same in every process; sizes and strides are in it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from flambeau.analysis.alias import AliasAnalysis
from flambeau.codegen.graph import memory
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.layouts import FOREVER, LEAF
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Value
from flambeau.tensor.tensor import Tensor
from flambeau.util.record import dataclass

_OUTSIDE = 1 << 20
"""The origin of a block that no argument has."""


@dataclass(frozen=True, slots=True)
class TensorConstant:
    """A tensor that code refers to by two symbols."""

    number: int
    tensor: Tensor

    @property
    def block(self) -> str:
        """The symbol of its block."""
        return f"flambeau_block_{self.number}"

    @property
    def data(self) -> str:
        """The symbol of its first element."""
        return f"flambeau_data_{self.number}"

    def native(self) -> ArrayValue:
        """How code sees it. Raises CannotCompileError for a tensor that native code cannot look at."""
        array = self.tensor._array
        if self.tensor.requires_grad:
            raise CannotCompileError("a constant tensor that needs gradients")
        if not array.flags.aligned or not array.dtype.isnative:
            raise CannotCompileError("a constant tensor that does not lie in memory as others do")
        is_dense = array.flags.c_contiguous and array.size > 0
        rep = Array(self.tensor.dtype, array.ndim, array.ndim if is_dense else 0)
        words = [tuple(map(memory.number, row)) for row in (array.shape, array.strides)]
        block, data = (Register(f"@{name}", "ptr", 1) for name in (self.block, self.data))
        return ArrayValue(rep, block, data, words[0], words[1])


def declarations(constants: Sequence[TensorConstant]) -> str:
    """What a module's text says of them."""
    return "\n".join(f"@{symbol} = external global i8" for one in constants for symbol in (one.block, one.data))


class TensorBlocks:
    """The blocks of some constants, for as long as code refers to them."""

    def __init__(self, constants: Sequence[TensorConstant]) -> None:
        self._kept: list[Any] = []
        self.addresses: dict[str, int] = {}
        """By symbol."""
        for one in constants:
            block = LEAF.pack(references=FOREVER, origin=_OUTSIDE + one.number, object=id(one.tensor))
            self._kept += [block, one.tensor]
            self.addresses[one.block] = ctypes.addressof(block)
            self.addresses[one.data] = one.tensor._array.__array_interface__["data"][0]


def is_tensor_constant(value: Value) -> bool:
    """Whether a value of a graph is a constant tensor."""
    node = value.defining_node
    return node is not None and node.op == CONSTANT and isinstance(node.attributes.get("value"), Tensor)


def refuse_shared(graph: Graph, aliases: AliasAnalysis) -> None:
    """Raise CannotCompileError for a graph that writes to a constant tensor, or may give one back.

    A parameter that is written may show the memory of one: code takes that into account as it does among parameters.
    """
    constants = [n.result() for n in graph.find_all(CONSTANT) if is_tensor_constant(n.result())]
    if any(map(aliases.has_tensor_writers, constants)):
        apart = AliasAnalysis(graph, apart=True)
        for value in constants:
            if apart.has_tensor_writers(value):
                raise CannotCompileError(f"%{value.name} is a constant tensor that something writes to")
    if constants and aliases.may_contain_alias(graph.returns, constants):
        raise CannotCompileError("a result may be a constant tensor")
