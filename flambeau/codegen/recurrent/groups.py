"""Groups of one operator of recurrent networks: which inputs of the group its operands are, and whether they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.recurrent.cells import CELLS
from flambeau.codegen.recurrent.launches import Placed
from flambeau.codegen.routines.call_list import Address
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.table import Operands, operands_of, results_wanted, single_node
from flambeau.ir.graph import Graph
from flambeau.ops.recurrent_arrays import PROJECTED, fits
from flambeau.util.record import dataclass

PER_NANOSECOND: Final = 16
"""Multiplications, to estimate how long a call takes."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of one operator of recurrent networks."""

    kind: str
    operands: Operands
    wanted: tuple[int, ...]
    """Which results the group gives, in order."""

    def placed(self, name: str, arrays: Sequence[Lying]) -> list[Placed]:
        """The arrays of an operand, which may be a list of tensors; none where the operator gets None."""
        one = self.operands.inputs.get(name)
        numbers = self.operands.lists.get(name, ()) if one is None else (one,)
        return [Placed(arrays[k], Address(1 + k)) for k in numbers]

    def states(self, arrays: Sequence[Lying], rank: int) -> list[Placed]:
        """The states at the start. Raises `KernelError` for another number of them, or ones of other sizes."""
        hx = self.placed("hx", arrays)
        shapes = [h.array.shape[:-1] if self.kind == PROJECTED else h.array.shape for h in hx]
        are_alike = all(shape == shapes[0] for shape in shapes)
        if len(hx) != 1 + CELLS[self.kind].has_memory or not are_alike or hx[0].array.ndim != rank:
            raise KernelError("another number of states, or states of other sizes")
        if hx[0].array.size == 0:
            raise KernelError("states without elements")
        return hx


def group_of(kind: str, graph: Graph) -> Group:
    """The group that a graph of one node is. Raises `KernelError` for other graphs."""
    return Group(kind, operands_of(graph, single_node(graph)), tuple(results_wanted(graph)))


def check_layer(
    kind: str, xs: Placed, starts: Sequence[Placed], weights: Sequence[Placed | None], projection: Placed | None = None
) -> None:
    """Raise `KernelError` for a layer whose arrays do not fit each other."""
    matrices = [None if w is None else w.array for w in weights]
    if any(w is not None and w.ndim != rank for w, rank in zip(matrices, (2, 2, 1, 1), strict=True)):
        raise KernelError("weights of other ranks")
    by = None if projection is None else projection.array
    if xs.array.size == 0 or not fits(xs.array, [s.array for s in starts], matrices, kind, by):
        raise KernelError("arrays that do not fit each other")
