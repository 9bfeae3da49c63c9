"""Which routines there are: each says how a group that it computes becomes launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.rule_tables import RuleTable
from flambeau.util.record import dataclass

Array = npt.NDArray[Any]
Prepare = Callable[[Sequence[Array]], Launch]
"""Gives the launch for arrays that lie as these do; raises `KernelError` where the routine does not take them, or where
the operator refuses them, which says so better.
"""
routines: Final = RuleTable[Callable[[Graph], Prepare]]("launches of the routine")
"""By the operator that has the routine: how a group of it, whose graph is given, becomes launches. Raises `KernelError`
for a group that the routine does not take.
"""
A = TypeVar("A")
"""An array, or how one lies."""
LIST: Final = "prim::ListConstruct"
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Routine:
    """Machine code ``(block, low, high)`` of a launch, and what its block's words point to."""

    __slots__ = ("address", "code", "entry", "kept")

    def __init__(self, code: NativeCode, symbol: str, kept: Any = ()) -> None:
        self.code, self.kept = code, kept
        self.address = code.addresses[symbol]
        self.entry: Any = _ENTRY(self.address)


@dataclass(frozen=True, slots=True)
class Operands:
    """What an operator of a group is given, by the names of its schema."""

    inputs: dict[str, int]
    """Of tensors from outside: which inputs of the group they are."""
    constants: dict[str, Any]
    lists: dict[str, tuple[int, ...]]
    """Of lists of tensors from outside: which inputs of the group their items are."""

    def array(self, name: str, arrays: Sequence[A]) -> A | None:
        """A tensor among those of a call; None where the operator is given None."""
        return arrays[self.inputs[name]] if name in self.inputs else None


def operands_of(graph: Graph, node: Node, computed: Value | None = None) -> Operands:
    """The operands of a node of a group, but for what was `computed` in it. Raises `KernelError` for others that are
    neither inputs nor constants.
    """
    assert node.definition is not None
    number = {v: k for k, v in enumerate(graph.parameters)}
    inputs: dict[str, int] = {}
    constants: dict[str, Any] = {}
    lists: dict[str, tuple[int, ...]] = {}
    for argument, value in zip(node.definition.schema.arguments, node.operands, strict=False):
        maker = value.defining_node
        if value in number:
            inputs[argument.name] = number[value]
        elif maker is not None and maker.op == CONSTANT:
            constants[argument.name] = maker.attributes.get("value")
        elif maker is not None and maker.op == LIST and all(v in number for v in maker.operands):
            lists[argument.name] = tuple([number[v] for v in maker.operands])
        elif value is not computed:
            raise KernelError(f"{node.op}: {argument.name} is computed in the group")
    return Operands(inputs, constants, lists)


def single_node(graph: Graph) -> Node:
    """The one node of a group that is neither a constant nor a list. Raises `KernelError` for groups of several."""
    nodes = [n for n in graph.nodes() if n.op not in (CONSTANT, LIST)]
    if len(nodes) != 1:
        raise KernelError("a routine computes one operator")
    return nodes[0]


def results_wanted(graph: Graph) -> list[int]:
    """Which results of its single node a graph gives, in its order."""
    node = single_node(graph)
    return [value.index for value in graph.returns if value.defining_node is node]


def is_native(*arrays: Array | None) -> bool:
    """Whether machine code can read arrays where they lie."""
    return all(a is None or (type(a) is np.ndarray and a.flags.aligned and a.dtype.isnative) for a in arrays)
