"""Which other calls a launch of attention serves: those of other sizes, of arrays that lie as those it was made for.

So what writes text token by token has one launch, however long what it has read gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.codegen.attention.forms import Form
from flambeau.codegen.attention.words import ARRAYS, CALL, CALL_AT, MOST_BATCH
from flambeau.codegen.convolutions.run import MOST_PIECES, SHARE_FROM
from flambeau.codegen.llvm.entry_patterns import EQUALS, MOST_AXES
from flambeau.codegen.patterns import NEVER, Pattern

Array = np.ndarray[Any, Any]


def pattern_of(
    arrays: Sequence[Array], numbers: Sequence[int], batch: tuple[int, ...], form: Form, nanoseconds: float
) -> Pattern | None:
    """The pattern of a call; None where it needs more axes than a pattern has. `numbers` say which of the arrays are
    queries, keys, values and the mask; `nanoseconds` are those of a score.
    """
    return _Builder(arrays, numbers, batch, form).pattern(nanoseconds)


class _Builder:
    """Goes through the dimensions of all arrays, and gathers what a program says of them."""

    def __init__(self, arrays: Sequence[Array], numbers: Sequence[int], batch: tuple[int, ...], form: Form) -> None:
        self._arrays, self._numbers, self._batch, self._form = arrays, numbers, batch, form
        self._axes: list[tuple[int, int, int, int]] = []
        self._of_name: dict[str, int] = {}
        self._dimensions: list[tuple[int, int, int]] = []
        self._inputs: list[tuple[int, int, int]] = []
        self._conditions: list[tuple[int, ...]] = []

    def pattern(self, nanoseconds: float) -> Pattern | None:
        """What the calls have in common."""
        q, *_, v = (self._arrays[number] for number in self._numbers[:3])
        features, values = q.shape[-1], v.shape[-1]
        classes = {
            "queries": self._form.queries, "keys": (1, NEVER), "features": (features, features),
            "values": (values, values),
        }  # fmt: skip
        last = {"q": ("queries", "features"), "k": ("keys", "features"), "v": ("keys", "values")}
        for name, number in zip(ARRAYS, self._numbers, strict=False):
            a = self._arrays[number]
            names = last.get(name, ("queries", "keys"))
            for dim, axis, steps in zip((a.ndim - 2, a.ndim - 1), names, ("row", "column"), strict=True):
                if name == "mask" and (dim < 0 or a.shape[dim] == 1):
                    if dim >= 0:
                        self._dimensions.append((number, dim, -1))
                    continue
                self._dimension(number, dim, axis, classes[axis])
                if f"{name}_{steps}" in CALL:
                    self._inputs.append((_at(f"{name}_{steps}"), number, dim))
            self._batch_of(name, number)
            if name == "k" or (name in "qv" and not self._form.width):
                if a.strides[-1] != a.itemsize:
                    return None
                self._conditions.append((EQUALS, number, a.ndim - 1, a.itemsize, 0))
        if len(self._axes) > MOST_AXES:
            return None
        return self._assembled(nanoseconds / (features * values))

    def _dimension(self, number: int, dim: int, axis: str, sizes: tuple[int, int]) -> None:
        """A dimension that has the size of an axis."""
        if axis in self._of_name:
            self._dimensions.append((number, dim, self._of_name[axis]))
            return
        self._of_name[axis] = len(self._axes)
        self._axes.append((number, dim, *sizes))

    def _batch_of(self, name: str, number: int) -> None:
        """The dimensions of an array that are those of the batch."""
        a = self._arrays[number]
        for dim in range(a.ndim - 2):
            position = dim + len(self._batch) - (a.ndim - 2)
            size, axis = self._batch[position], MOST_BATCH - len(self._batch) + position
            if a.shape[dim] == 1:
                self._dimensions.append((number, dim, -1))
                continue
            is_shared = a.shape[dim] != size  # a head of keys for several heads of queries, whose numbers stay
            own = f"{name} {axis}" if is_shared else f"batch {axis}"
            grouped = self._are_grouped(position)
            self._dimension(number, dim, own, (a.shape[dim], a.shape[dim]) if grouped else (2, NEVER))
            self._inputs.append((_at(f"{name}_{axis}"), number, dim))

    def _are_grouped(self, position: int) -> bool:
        """Whether an array has other heads than the batch, and not one for all."""
        if position != len(self._batch) - 1:
            return False
        arrays = (self._arrays[number] for number in self._numbers)
        return any(a.ndim > 2 and a.shape[-3] not in (1, self._batch[-1]) for a in arrays)

    def _assembled(self, nanoseconds: float) -> Pattern:
        names, count = self._of_name, len(self._batch)
        batch = {MOST_BATCH - count + k: names.get(f"batch {MOST_BATCH - count + k}", -1) for k in range(count)}
        sizes = [(_at(name), 1, names[name]) for name in ("queries", "keys", "features", "values")]
        moving = {axis: index for axis, index in batch.items() if index >= 0}
        sizes += [(_at(f"size_{axis}"), 1, index) for axis, index in moving.items()]
        rank = count + 2
        dims = (*batch.values(), names["queries"], names["values"])
        size = self._arrays[self._numbers[0]].itemsize
        return Pattern(
            axes=tuple(self._axes),
            dimensions=tuple(self._dimensions),
            conditions=tuple(self._conditions),
            outputs=((rank, size, *dims, *reversed(range(rank))),),
            sizes=(*sizes, (_at("matrices"), len(moving), *moving.values())),
            inputs=tuple(self._inputs),
            results=(),
            nanoseconds=nanoseconds,
            high_at=_at("matrices"),
            cut=(names["queries"], self._form.each) if self._form.each else (-1, 1),
            most_pieces=MOST_PIECES,
            parallel_from=SHARE_FROM,
        )


def _at(name: str) -> int:
    """The word of the block that has a name."""
    return CALL_AT + CALL.word(name)
