"""One direction of one recurrent layer that trains as launches, for groups of plans: the way there, which keeps what
the way back needs, and the way back.

On the way back gradients of the gates of some steps are multiplied together: what they give to the input, and to both
weights, which is added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.recurrent.cells import CELLS
from flambeau.codegen.recurrent.groups import PER_NANOSECOND, Group, check_layer, group_of
from flambeau.codegen.recurrent.launches import Layer, Layers, Placed, result_of
from flambeau.codegen.recurrent.words import BACKWARD, OUTER, PRODUCT, block
from flambeau.codegen.routines.call_list import Address, CallList, Word
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.recording import Recordable
from flambeau.codegen.routines.table import Prepare, operands_of, routines, single_node
from flambeau.ir.graph import Graph
from flambeau.ops.recurrent_arrays import kept_of
from flambeau.util.record import dataclass

TOGETHER_BYTES: Final = 3 << 18
"""Bytes of gradients of gates that are multiplied while they are in the second cache."""
LEAST_ROWS: Final = 96
"""Rows at least from which it pays to go through a gradient of weights."""
STEP_BYTES: Final = 16
"""Of a step of a table."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Some steps, in the order in which they are gone through."""

    table: Word
    count: int
    first_row: int
    rows: int


class LayerOperands:
    """What a layer is given: its input, (time, batch, features) or (rows, features) of a packed batch, the states at
    the start, and its weights. Raises `KernelError` for arrays that do not fit each other.
    """

    def __init__(self, group: Group, arrays: Sequence[Lying]) -> None:
        placed = group.placed("operands", arrays)
        if len(placed) not in (5, 7):
            raise KernelError("another number of operands")
        self.xs, hidden, memory, *weights = placed
        self.has_memory = CELLS[group.kind].has_memory
        self.starts = (hidden, memory) if self.has_memory else (hidden,)
        self.weights: tuple[Placed | None, ...] = (*weights, None, None)[:4]
        self.sizes = next(iter(group.placed("packing", arrays)), None)
        check_layer(group.kind, self.xs, self.starts, self.weights)
        self.batch, self.units = hidden.array.shape
        self.rows = prod(self.xs.array.shape[:-1])
        self.is_reversed = bool(group.operands.constants["reverse"])
        if not self._has_steps() or self.batch * self.units == 0:
            raise KernelError("steps that do not fit, or states without elements")
        self.steps = self.xs.array.shape[0] if self.sizes is None else self.sizes.array.size

    def _has_steps(self) -> bool:
        """Whether the rows of the input are those of steps of the batch, as far as sizes say so."""
        if self.sizes is None:
            return self.xs.array.ndim == 3 and self.xs.array.shape[1] == self.batch
        sizes = self.sizes.array
        return self.xs.array.ndim == 2 and sizes.ndim == 1 and sizes.dtype == np.int64 and sizes.size > 0

    def nanoseconds(self, times: int) -> Any:
        """About how long so many passes over all products take."""
        w_ih = self.weights[0]
        assert w_ih is not None
        width, features = w_ih.array.shape
        return times * self.rows * width * (features + self.units) / PER_NANOSECOND


def _group(prepare: str, graph: Graph) -> Prepare:
    constants = operands_of(graph, single_node(graph)).constants
    if constants.get("kind") not in CELLS or "reverse" not in constants:
        raise KernelError("a kind of cell, or a direction, that only the call knows")
    return Recordable(partial(_MADE[prepare], group_of(constants["kind"], graph)))


def _make_forward(group: Group, arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch of the way there: outputs, last states, and what is kept."""
    operands = LayerOperands(group, arrays)
    calls, wanted, dtype = CallList(len(arrays), len(group.wanted), memory), group.wanted, operands.xs.array.dtype
    layers = Layers(calls, group.kind, dtype)
    shapes = [
        (*operands.xs.array.shape[:-1], operands.units), *[s.array.shape for s in operands.starts],
        *[(0,)] * (1 - operands.has_memory), (operands.rows, kept_of(group.kind) * operands.units),
    ]  # fmt: skip
    output, *states = (layers.result(wanted, k, shape) for k, shape in enumerate(shapes[: 1 + len(operands.starts)]))
    kept: Word = layers.result(wanted, 3, shapes[3]).address if 3 in wanted else 0
    tables = _tables(layers, operands)
    layer = Layer(operands.weights, tuple(states), operands.starts, operands.is_reversed)
    layers.run(
        layer, layers.dense_rows(operands.xs), output.address, operands.units * dtype.itemsize,
        tables[operands.is_reversed], operands.steps, kept,
    )  # fmt: skip
    return calls.launch(tuple([result_of(shapes[k], dtype) for k in wanted]), operands.nanoseconds(1))


def _tables(layers: Layers, operands: LayerOperands) -> tuple[Word, Word]:
    """The tables of the steps ahead and back."""
    if operands.sizes is not None:
        return layers.tables(operands.sizes, operands.rows, operands.batch)
    return layers.padded_tables(operands.steps, operands.batch)


def _make_backward(group: Group, arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch of the way back: gradients of all operands that are wanted."""
    operands = LayerOperands(group, arrays)
    calls, dtype = CallList(len(arrays), len(group.wanted), memory), operands.xs.array.dtype
    back = _WayBack(group, operands, Layers(calls, group.kind, dtype), arrays)
    back.run()
    return calls.launch(tuple([result_of(back.shapes[k], dtype) for k in group.wanted]), operands.nanoseconds(2))


class _WayBack:
    """The calls of the way back. Raises `KernelError` for gradients that do not fit the layer."""

    def __init__(self, group: Group, operands: LayerOperands, layers: Layers, arrays: Sequence[Lying]) -> None:
        self.operands, self.layers, self.cell, self.wanted = operands, layers, CELLS[group.kind], group.wanted
        self.size = layers.dtype.itemsize
        w_ih, w_hh = operands.weights[:2]
        assert w_ih is not None
        assert w_hh is not None
        self.w_ih, self.w_hh = w_ih, w_hh
        self.width, self.features = w_ih.array.shape
        self.blocks = self.cell.grads * operands.units
        """Numbers of a row of gradients of gates."""
        states = [s.array.shape for s in operands.starts]
        widths = [(self.width,)] * 2
        self.shapes = [operands.xs.array.shape, *[*states, (0,)][:2], w_ih.array.shape, w_hh.array.shape, *widths]
        self.grads, (self.kept,) = group.placed("grads", arrays), group.placed("kept", arrays)
        expected = [(*operands.xs.array.shape[:-1], operands.units), *states]
        fits = all(g.array.shape == shape for g, shape in zip(self.grads, expected, strict=False))
        dtypes = {p.array.dtype for p in (*self.grads[: len(expected)], self.kept)}
        if len(self.grads) != 3 or not fits or dtypes != {layers.dtype}:
            raise KernelError("gradients of other sizes")
        if self.kept.array.shape != (operands.rows, self.cell.kept * operands.units):
            raise KernelError("something else was kept")

    def run(self) -> None:
        """All calls."""
        layers, operands = self.layers, self.operands
        kept, outside = layers.dense_rows(self.kept), layers.dense_rows(self.grads[0])
        states = [layers.result(self.wanted, 1 + k, s.array.shape) for k, s in enumerate(operands.starts)]
        for grad, state in zip(self.grads[1:], states, strict=False):
            layers.arrange(grad, state)
        bias = layers.room(self.blocks)
        layers.arrange(None, bias)
        panels = layers.panels(operands.units, self.width, 1)
        layers.pack(panels, _turned(self.w_hh), self.width, 1, 0)
        products = _Products(self)
        gates = layers.room(max(steps.rows for steps in self._steps(0)), self.blocks)
        for steps in self._steps(self._table()):
            layers.call("backward", block(
                BACKWARD, steps=steps.count, table=steps.table, units=operands.units, grad_output=outside.address,
                grad_output_step=operands.units * self.size, grad_hidden=states[0].address,
                grad_memory=states[1].address if self.cell.has_memory else 0, kept=kept.address,
                grad_gates=gates.address, first_row=steps.first_row, panels=panels, grad_bias=bias.address,
            ), layers.kind)  # fmt: skip
            products.add(steps, gates.address, kept.address)
        products.end()
        self._biases(bias)

    def _table(self) -> Word:
        """The table of the way back: steps in the other order than on the way there."""
        return _tables(self.layers, self.operands)[not self.operands.is_reversed]

    def _steps(self, table: Word) -> Iterator[Steps]:
        """Steps whose gradients of gates fit into the second cache together; of a packed batch, whose steps only the
        call knows, all.
        """
        operands = self.operands
        if operands.sizes is not None:
            yield Steps(table, operands.steps, 0, operands.rows)
            return
        rows = max(LEAST_ROWS, TOGETHER_BYTES // (self.blocks * self.size))
        most = max(1, int(rows // operands.batch))
        for start in range(0, operands.steps, most):
            count = min(most, operands.steps - start)
            first = start if operands.is_reversed else operands.steps - start - count
            at = table + start * STEP_BYTES
            yield Steps(at, count, first * operands.batch, count * operands.batch)

    def _biases(self, bias: Placed) -> None:
        """The gradients of both biases: a gate whose two shares are apart has one of each."""
        layers, own = self.layers, self.blocks - self.width
        of_input = Placed(bias.array.sized(self.width), bias.address)
        if 5 in self.wanted:
            layers.arrange(of_input, layers.result(self.wanted, 5, (self.width,)))
        if 6 not in self.wanted:
            return
        result = layers.result(self.wanted, 6, (self.width,))
        layers.arrange(of_input, result)
        if own:
            shared = (self.width - own) * self.size
            share = Placed(bias.array.sized(own), bias.address.behind(self.width * self.size))
            layers.arrange(share, Placed(result.array.sized(own), result.address.behind(shared)))


class _Products:
    """What gradients of gates give to the input and to the weights."""

    def __init__(self, back: _WayBack) -> None:
        self.back, self.layers = back, back.layers
        self._xs = self.layers.dense_rows(back.operands.xs)
        self._to_input = self._input_panels() if 0 in back.wanted else None
        self._weights = [
            _Sum(back, number, columns) if number in back.wanted else None
            for number, columns in ((3, back.features), (4, back.operands.units))
        ]

    def _input_panels(self) -> tuple[Address, Address, Address]:
        """Where sums begin, the panels, and where the gradient of the input goes."""
        back, layers = self.back, self.layers
        nothing = layers.room(back.features)
        layers.arrange(None, nothing)
        panels = layers.panels(back.features, back.width, 1)
        layers.pack(panels, _turned(back.w_ih), back.width, 1, 0)
        return nothing.address, panels, layers.result(back.wanted, 0, back.shapes[0]).address

    def add(self, steps: Steps, gates: Address, kept: Address) -> None:
        """What some steps give."""
        back, size, step = self.back, self.back.size, self.back.blocks * self.back.size
        input_step = back.features * size
        if self._to_input is not None:
            start, panels, result = self._to_input
            self.layers.call("product", block(
                PRODUCT, rows=steps.rows, folded=back.width, columns=back.features, left=gates, left_step=step,
                panels=panels, start=start, start_step=0, result=result.behind(steps.first_row * input_step),
                result_step=input_step,
            ))  # fmt: skip
        of_input, of_hidden = self._weights
        if of_input is not None:
            of_input.add(steps.rows, gates, 0, back.width, self._xs.address.behind(steps.first_row * input_step))
        if of_hidden is None:
            return
        kept_step = back.cell.kept * back.operands.units * size
        before = kept.behind(steps.first_row * kept_step + step)
        own = back.blocks - back.width
        shared = back.width - own
        of_hidden.add(steps.rows, gates, 0, shared, before, kept_step)
        if own:
            of_hidden.add(steps.rows, gates.behind(back.width * size), shared, own, before, kept_step)

    def end(self) -> None:
        """Have the sums as results."""
        for one in self._weights:
            if one is not None:
                one.end()


class _Sum:
    """The gradient of a weight, (gates, columns), as a sum of products.

    Vectors lie along the columns, or, of few columns, along the gates: then it comes out turned.
    """

    def __init__(self, back: _WayBack, number: int, columns: int) -> None:
        self.back, self.layers, self.columns = back, back.layers, columns
        self.result = self.layers.result(back.wanted, number, (back.width, columns))
        lanes = self.layers.lanes
        self.is_turned = columns % lanes != 0 and columns < 4 * lanes
        self.sums = self.layers.room(columns, back.width) if self.is_turned else self.result
        self.layers.arrange(None, self.sums)

    def add(
        self, rows: int, gates: Address, at: int, count: int, others: Address, step: int | None = None
    ) -> None:  # fmt: skip
        """Add the product of some gates, of which the first is number `at`, with as many rows of others; `step` is
        from row to row of them, if they do not lie one behind the other.
        """
        size, gate_step = self.back.size, self.back.blocks * self.back.size
        other_step = self.columns * size if step is None else step
        words = (gates, gate_step, count), (others, other_step, self.columns)
        result, result_step = self.sums.address.behind(at * self.columns * size), self.columns * size
        if self.is_turned:
            words = (words[1], words[0])
            result, result_step = self.sums.address.behind(at * size), self.back.width * size
        (left, left_step, left_columns), (right, right_step, right_columns) = words
        self.layers.call("outer", block(
            OUTER, rows=rows, left=left, left_step=left_step, left_columns=left_columns, right=right,
            right_step=right_step, columns=right_columns, result=result, result_step=result_step,
        ))  # fmt: skip

    def end(self) -> None:
        """Have the sum as the result."""
        if self.is_turned:
            self.layers.arrange(_turned(self.sums), self.result)


def _turned(matrix: Placed) -> Placed:
    """Seen the other way round."""
    return Placed(matrix.array.transposed(1, 0), matrix.address)


_MADE: Final = {"forward": _make_forward, "backward": _make_backward}
routines("flambeau::recurrent_layer")(partial(_group, "forward"))
routines("flambeau::recurrent_layer_backward")(partial(_group, "backward"))
