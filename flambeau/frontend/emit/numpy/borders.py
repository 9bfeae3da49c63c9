"""Arrays with borders of their own elements: the indices that each axis is taken at.

np.pad(x, 2, mode="edge")    →    %i = aten::clamp(aten::arange(-2, n + 2), 0, n - 1)    aten::index_select(%x, 0, %i)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.frontend.emit.refusals import raise_when
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema.array_type import array_of
from flambeau.schema.dtype import int64
from flambeau.util.source import SourceRange

EMPTY: Final = "can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
Operator = Callable[..., Value]
"""An operator by its name, on values and constants."""


def with_borders(
    e: Emitter, where: SourceRange, array: Value, pairs: Sequence[Sequence[Value]], mode: str
) -> Value:
    """The array with so many elements more before and behind, for each axis. Raises ValueError for an axis of none."""

    def op(name: str, *operands: Any) -> Value:
        values = [o if isinstance(o, Value) else e.constant(o) for o in operands]
        return call_operator(e, where, f"aten::{name}", values)

    for axis, (before, after) in enumerate(pairs):
        size = op("size", array, axis)
        raise_when(e, op("eq", size, 0), EMPTY.format(axis=axis))
        indices = op("arange", op("neg", before), op("add", size, after))
        indices.set_type(array_of(int64, 1))
        array = op("index_select", array, axis, BORDERS[mode](op, indices, size))
    return array


def _edge(op: Operator, indices: Value, size: Value) -> Value:
    return op("clamp", indices, 0, op("sub", size, 1))


def _wrap(op: Operator, indices: Value, size: Value) -> Value:
    return op("remainder", indices, size)


def _symmetric(op: Operator, indices: Value, size: Value) -> Value:
    """There and back, the ends twice."""
    period = op("mul", size, 2)
    there = op("remainder", indices, period)
    back = op("add", op("neg", there), op("sub", period, 1))
    return op("minimum", there, back)


def _reflect(op: Operator, indices: Value, size: Value) -> Value:
    """There and back, the ends once; of one element, that one."""
    last = op("sub", size, 1)
    period = op("add", op("mul", last, 2), op("eq", last, 0))
    there = op("remainder", indices, period)
    return op("add", op("neg", op("abs", op("sub", there, last))), last)


BORDERS: Final[dict[str, Callable[[Operator, Value, Value], Value]]] = {
    "edge": _edge, "wrap": _wrap, "symmetric": _symmetric, "reflect": _reflect,
}  # fmt: skip
"""The indices that an axis is taken at, of indices that go on at both ends, by the mode."""
