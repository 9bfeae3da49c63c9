"""Recurrent layers as lists of calls: which functions are called for arrays of some sizes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.call_geometry import Output
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM
from flambeau.codegen.recurrent import module
from flambeau.codegen.recurrent.cells import CELLS
from flambeau.codegen.recurrent.words import ARRANGE, FORWARD, PACK, PRODUCT, PROJECTION, TABLES, block
from flambeau.codegen.routines.call_list import FLAG, Address, CallList, Word
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Filling
from flambeau.util.record import dataclass

WORD_BYTES: Final = 8
TOGETHER: Final = 16
"""Rows of a step from which the input is multiplied step by step, while its products are in registers; of fewer, all
steps together."""
SMALL: Final = 1 << 19
"""Multiplications of all inputs up to which a product of all steps by itself takes longer than what it saves."""


def multiplies_all_steps_together(batch: int, rows: int, width: int, features: int) -> bool:
    """Whether the products of the input with its weights are made of all steps before the first one."""
    return batch < TOGETHER and rows * width * features > SMALL


@dataclass(frozen=True, slots=True)
class Placed:
    """An array of a call, and where it begins."""

    array: Lying
    address: Address

    def __getitem__(self, number: int) -> Placed:
        """A part along the first dimension."""
        return Placed(self.array.first(), self.address.behind(number * self.array.strides[0]))


@dataclass(frozen=True, slots=True)
class Layer:
    """One direction of one layer."""

    weights: tuple[Placed | None, ...]
    """Of the input and of the hidden state, and their biases."""
    states: tuple[Placed, ...]
    """Where the last states go."""
    starts: tuple[Placed, ...]
    is_reversed: bool
    projection: Placed | None = None
    """What the hidden state of an LSTM is projected by, if it is."""


class Layers:
    """Makes the calls for layers of one kind of cell over arrays of one dtype."""

    def __init__(self, calls: CallList, kind: str, dtype: np.dtype[Any]) -> None:
        self.calls, self.kind, self.cell, self.dtype = calls, kind, CELLS[kind], dtype
        self.lanes = module.lanes(dtype.name)

    def call(self, name: str, words: Sequence[Word], kind: str = "") -> None:
        """Call a function for the dtype."""
        self.calls.call(module.code(name, self.dtype.name, kind), name, words)

    def room(self, *sizes: Any) -> Placed:
        """Scratch memory for an array."""
        return Placed(self._like(sizes), self.calls.room(prod(sizes) * self.dtype.itemsize))

    def result(self, wanted: Sequence[int], number: int, sizes: tuple[Any, ...]) -> Placed:
        """Where a result of the operator goes: an output if it is wanted, else scratch memory."""
        if number not in wanted:
            return self.room(*sizes)
        return Placed(self._like(sizes), self.calls.output(wanted.index(number)))

    def _like(self, sizes: tuple[Any, ...]) -> Lying:
        """What lies row-major, without elements to look at."""
        return Lying.dense(self.dtype, sizes)

    def arrange(self, source: Placed | None, result: Placed, added: Placed | None = None) -> None:
        """Copy an array, or zeros, with another one added."""
        shape = (1, 1, *result.array.shape)[-3:]
        words: dict[str, Word] = dict(zip(("planes", "rows", "columns"), shape, strict=True))
        for name, one in (("source", source), ("added", added), ("result", result)):
            strides = (0, 0, 0) if one is None else (0, 0, *one.array.strides)[-3:]
            words[name] = 0 if one is None else one.address
            words |= {f"{name}_{axis}": s for axis, s in zip(("plane", "row", "column"), strides, strict=True)}
        self.call("arrange", block(ARRANGE, **words))

    def padded_tables(self, steps: Any, batch: Any) -> tuple[Word, Word]:
        """The tables of both directions of a padded batch."""
        memory = self.calls.memory
        counts = Filling(1, batch, steps, 0, 2)
        ahead = memory.table(np.int64, 2 * steps, [Filling(0, 0, steps, batch, 2), counts])
        back = memory.table(np.int64, 2 * steps, [Filling(0, (steps - 1) * batch, steps, -batch, 2), counts])
        return ahead, back

    def tables(self, sizes: Placed, rows: int, batch: int) -> tuple[Address, Address]:
        """The tables of both directions, from how many rows each step has. Sizes that do not fit fail the launch."""
        steps = sizes.array.shape[0]
        ahead, back = (self.calls.room(2 * steps * WORD_BYTES) for _ in range(2))
        self.call("tables", block(
            TABLES, steps=steps, sizes=sizes.address, size_step=sizes.array.strides[0], rows=rows, batch=batch,
            ahead=ahead, back=back, flag=Address(FLAG),
        ))  # fmt: skip
        return ahead, back

    def dense_rows(self, xs: Placed) -> Placed:
        """(steps, batch, features) or (rows, features) as rows that lie one behind the other."""
        a = xs.array
        if a.is_dense():
            return xs
        dense = self.room(*a.shape)
        self.arrange(xs, dense)
        return dense

    def run(
        self, layer: Layer, xs: Placed, output: Address, output_step: int, table: Word, steps: int, kept: Word = 0
    ) -> None:  # fmt: skip
        """All steps of a layer over rows that lie one behind the other; `kept` is where what its way back needs goes,
        if it goes anywhere.
        """
        w_ih, w_hh, b_ih, b_hh = layer.weights
        assert w_ih is not None
        assert w_hh is not None
        width, features = w_ih.array.shape
        gates, shown = self.cell.gates, w_hh.array.shape[1]
        units, rows, size = width // gates, prod(xs.array.shape[:-1]), self.dtype.itemsize
        batch = layer.states[0].array.shape[0]
        for start, state in zip(layer.starts, layer.states, strict=True):
            self.arrange(start, state)
        sums, hidden_bias = self._biases(width, units, b_ih, b_hh)
        start_step = 0
        input_step = features * size
        if multiplies_all_steps_together(batch, rows, width, features):
            products = self.room(rows, width)
            panels = self.panels(width, features, 1)
            self.pack(panels, w_ih, features, 1, 0)
            self.call("product", block(
                PRODUCT, rows=rows, folded=features, columns=width, left=xs.address, left_step=input_step,
                panels=panels, start=sums, start_step=0, result=products.address, result_step=width * size,
            ))  # fmt: skip
            sums, start_step, features = products.address, width * size, 0
        folded = features + shown
        panels = self.panels(units, folded, gates)
        if features:
            self.pack(panels, w_ih, folded, gates, 0)
        self.pack(panels, w_hh, folded, gates, features)
        memory: Word = layer.states[1].address if self.cell.has_memory else 0
        self.call("forward", block(
            FORWARD, steps=steps, table=table, units=units, features=features, input=xs.address, input_step=input_step,
            start=sums, start_step=start_step, hidden_bias=hidden_bias, panels=panels, hidden=layer.states[0].address,
            memory=memory, output=output, output_step=output_step, kept=kept, shown=shown,
            **self._projection(layer.projection, batch),
        ), self.kind)  # fmt: skip

    def _projection(self, weights: Placed | None, batch: int) -> dict[str, Word]:
        """Words of a projection."""
        if weights is None:
            return dict.fromkeys(PROJECTION, 0)
        shown, units = weights.array.shape
        panels, nothing = self.panels(shown, units, 1), self.room(shown)
        self.pack(panels, weights, units, 1, 0)
        self.arrange(None, nothing)
        function = self.calls.function(module.code("product", self.dtype.name), "product")
        words = function, panels, nothing.address, self.room(batch, units).address
        return dict(zip(PROJECTION, words, strict=True))

    def _biases(self, width: int, units: int, b_ih: Placed | None, b_hh: Placed | None) -> tuple[Address, Word]:
        """Where the sums of a row begin, and where the sum begins that is of the hidden state alone."""
        start, has_own = self.room(width), self.cell.sums > self.cell.gates
        if b_ih is None or b_hh is None:
            self.arrange(None, start)
            return start.address, start.address if has_own else 0
        if not has_own:
            self.arrange(b_ih, start, b_hh)
            return start.address, 0
        shared = width - units
        self.arrange(b_ih, start)
        self.arrange(*(Placed(p.array.sized(shared), p.address) for p in (b_ih, start, b_hh)))
        own = self.room(units)
        step = b_hh.array.strides[0]
        self.arrange(Placed(b_hh.array.sized(units), b_hh.address.behind(shared * step)), own)
        return start.address, own.address

    def panels(self, columns: int, folded: int, groups: int) -> Address:
        """Memory for packed weights."""
        vectors = -(-columns // self.lanes)
        return self.calls.room(vectors * folded * groups * self.lanes * self.dtype.itemsize)

    def pack(self, panels: Address, weights: Placed, folded: int, groups: int, before: int) -> None:
        """Pack (groups * columns, numbers), behind numbers of the folded axis that were packed before."""
        rows, numbers = weights.array.shape
        column_step, number_step = weights.array.strides
        self.call("pack", block(
            PACK, folded=numbers, columns=rows // groups, weights=weights.address, column_step=column_step,
            number_step=number_step, panels=panels, panel_step=folded * groups, before=before, groups=groups,
        ))  # fmt: skip


def result_of(shape: tuple[Any, ...], dtype: np.dtype[Any], *, swaps_axes: bool = False) -> Output:
    """How a result is allocated; with `swaps_axes`, one whose first two dimensions lie the other way round."""
    is_large = prod(shape) * dtype.itemsize >= ALIGNED_FROM
    if swaps_axes:
        return Output((shape[1], shape[0], shape[2]), dtype, (1, 0, 2), shape, is_large)
    return Output(shape, dtype, None, shape, is_large)
