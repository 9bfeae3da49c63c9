"""Recurrent layers on arrays by native code: packs weights, runs all steps, adds up gradients of weights.

What it computes is said, in NumPy, by `ops.recurrent_arrays`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.llvm.host import ProcessorError
from flambeau.codegen.recurrent import launches, module
from flambeau.codegen.recurrent import networks as networks
from flambeau.codegen.recurrent.cells import CELLS
from flambeau.codegen.recurrent.trained import LEAST_ROWS, TOGETHER_BYTES
from flambeau.codegen.recurrent.words import BACKWARD, FORWARD, OUTER, PACK, PRODUCT, PROJECTION, block
from flambeau.util.array_address import address_of
from flambeau.util.at_hand import does_without
from flambeau.util.inversions import RECURRENT_KERNELS

Array = np.ndarray[Any, Any]
LARGE_PAGES: Final = 1 << 22
"""Bytes from which NumPy asks the system for large pages."""


@RECURRENT_KERNELS.provide
def kernels(kind: str, dtype: np.dtype[Any], elements: int) -> Kernels | None:
    """What runs layers of a kind of cell on arrays of a dtype, whose gates have so many elements; None where there is
    no native code, or a first answer does not wait for it.

    >>> lstm = kernels("lstm", np.dtype(np.float32), 100)
    >>> lstm is None or isinstance(lstm, Kernels)
    True
    """
    if not available() or (does_without(elements) and not module.is_at_hand(kind, dtype.name)):
        return None
    return _kernels(kind, dtype)


@cache
def _kernels(kind: str, dtype: np.dtype[Any]) -> Kernels | None:
    try:
        return Kernels(kind, dtype)
    except (KernelError, ProcessorError):
        return None


def address(a: Array | None) -> int:
    """Where an array lies; 0 for none."""
    return 0 if a is None else address_of(a)


class Packing:
    """Products with packed weights, for arrays of one dtype."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._lanes = module.lanes(dtype.name)
        self._pack, self._product = module.pack(dtype.name), module.product(dtype.name)

    def panels(self, columns: int, folded: int, groups: int) -> Array:
        """Memory for packed weights."""
        vectors = -(-columns // self._lanes)
        memory = np.empty(vectors * folded * groups * self._lanes * self.dtype.itemsize + 64, np.uint8)
        return memory[-address(memory) % 64 :]

    def fill(self, panels: Array, weights: Array, folded: int, groups: int, before: int = 0) -> None:
        """Pack (groups * columns, numbers), behind numbers of the folded axis that were packed before."""
        rows, numbers = weights.shape
        column_step, number_step = weights.strides
        self._pack(
            block(
                PACK, folded=numbers, columns=rows // groups, weights=address(weights), column_step=column_step,
                number_step=number_step, panels=address(panels), panel_step=folded * groups, before=before,
                groups=groups,
            )
        )  # fmt: skip

    def packed(self, weights: Array) -> Array:
        """Panels for products with (columns, numbers)."""
        columns, folded = weights.shape
        panels = self.panels(columns, folded, 1)
        self.fill(panels, weights, folded, 1)
        return panels

    def multiply(self, left: Array, panels: Array, start: Array, result: Array) -> None:
        """result = start + left @ weights.T, by their panels; `start` is a row. Elements of rows are neighbours."""
        self._product(
            block(
                PRODUCT, rows=len(left), folded=left.shape[1], columns=result.shape[1], left=address(left),
                left_step=left.strides[0], panels=address(panels), start=address(start), start_step=0,
                result=address(result), result_step=result.strides[0],
            )
        )  # fmt: skip

    def add_outer(self, left: Array, right: Array, result: Array) -> None:
        """result += left.T @ right, of matrices with the same rows; elements of rows are neighbours."""
        module.outer(self.dtype.name)(
            block(
                OUTER, rows=len(left), left=address(left), left_step=left.strides[0], left_columns=left.shape[1],
                right=address(right), right_step=right.strides[0], columns=right.shape[1], result=address(result),
                result_step=result.strides[0],
            )
        )  # fmt: skip


class Kernels:
    """Layers of one kind of cell."""

    def __init__(self, kind: str, dtype: np.dtype[Any]) -> None:
        self.kind, self.dtype, self.cell = kind, dtype, CELLS[kind]
        self.packing = Packing(dtype)
        self._forward = module.forward(kind, dtype.name)

    def forward(
        self, xs: Array, states: Sequence[Array], weights: Sequence[Array | None], table: Array, keeps: bool,
        projection: Array | None = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        """All rows of all steps: outputs, hidden state and memory at the end; with `keeps`, also gates and the states
        before each step, for the way back.

        `table` has the first row and the number of rows of each step, in the order of the steps; `weights` are those of
        the input and the hidden state, and their biases.
        """
        w_ih, w_hh, b_ih, b_hh = weights
        assert w_ih is not None
        assert w_hh is not None
        rows, shown, cell, packing = len(xs), w_hh.shape[1], self.cell, self.packing
        width, features = w_ih.shape
        units = width // cell.gates
        hidden, memory = (np.array(s, order="C") for s in states)
        start, hidden_bias = self._biases(width, b_ih, b_hh)
        xs, start_step = rowwise(xs), 0
        if launches.multiplies_all_steps_together(len(hidden), rows, width, features):
            products = fresh((rows, width), self.dtype)
            packing.multiply(xs, packing.packed(w_ih), start, products)
            start, features, start_step = products, 0, products.strides[0]
        folded = features + shown
        panels = packing.panels(units, folded, cell.gates)
        if features:
            packing.fill(panels, w_ih, folded, cell.gates)
        packing.fill(panels, w_hh, folded, cell.gates, features)
        output = fresh((rows, shown), self.dtype)
        projected, words = self._projection(projection, len(hidden))
        kept = fresh((rows, cell.kept * units), self.dtype) if keeps else None
        self._forward(
            block(
                FORWARD, steps=len(table), table=address(table), units=units, features=features, input=address(xs),
                input_step=xs.strides[0], start=address(start), start_step=start_step,
                hidden_bias=address(hidden_bias), panels=address(panels), hidden=address(hidden),
                memory=address(memory), output=address(output), output_step=output.strides[0], kept=address(kept),
                shown=shown, **words,
            )
        )  # fmt: skip
        del projected  # which the words point to
        return output, hidden, memory, output[:0] if kept is None else kept

    def step(self, sums: Array, memory: Array) -> tuple[Array, Array]:
        """One step of a cell with a memory, from the sums of its gates, (rows, gates * units): what it shows, and the
        memory after it.
        """
        sums, memory = rowwise(sums), np.array(memory, order="C")
        output, table = fresh(memory.shape, self.dtype), np.array([0, len(memory)], np.int64)
        self._forward(
            block(
                FORWARD, steps=1, table=address(table), units=memory.shape[1], features=0, input=0, input_step=0,
                start=address(sums), start_step=sums.strides[0], hidden_bias=0, panels=0, hidden=0,
                memory=address(memory), output=address(output), output_step=output.strides[0], kept=0, shown=0,
                **dict.fromkeys(PROJECTION, 0),
            )
        )  # fmt: skip
        return output, memory

    def _projection(self, weights: Array | None, batch: int) -> tuple[Any, dict[str, int]]:
        """Words of a projection of hidden states, and what they point to."""
        if weights is None:
            return None, dict.fromkeys(PROJECTION, 0)
        shown, units = weights.shape
        arrays = self.packing.packed(weights), np.zeros(shown, self.dtype), fresh((batch, units), self.dtype)
        code = module.code("product", self.dtype.name)
        words = code.addresses["product"], *map(address, arrays)
        return (code, arrays), dict(zip(PROJECTION, words, strict=True))

    def _biases(self, width: int, b_ih: Array | None, b_hh: Array | None) -> tuple[Array, Array | None]:
        """Where the sums of a row begin, and where the sum begins that is of the hidden state alone."""
        cell, units = self.cell, width // self.cell.gates
        if b_ih is None or b_hh is None:
            start = np.zeros(width, self.dtype)
            return start, start if cell.sums > cell.gates else None
        if cell.sums == cell.gates:
            return b_ih + b_hh, None
        start = np.array(b_ih)
        start[:-units] += b_hh[:-units]
        return start, np.ascontiguousarray(b_hh[-units:])

    def backward(
        self, grads: Sequence[Array], operands: Sequence[Array], kept: Array, table: Array
    ) -> tuple[Array, ...]:  # fmt: skip
        """Gradients of the input, of both states, of both weights and of both biases, from those of the outputs and the
        states at the end; `table` is in the order of the steps of the way there.
        """
        xs, _, _, w_ih, w_hh = operands[:5]
        way = _WayBack(self, rowwise(xs), w_ih, w_hh, kept)
        grad_hidden, grad_memory = (np.array(g, order="C") for g in grads[1:])
        for steps in way.groups(np.ascontiguousarray(table[::-1])):
            way.go(steps, rowwise(grads[0]), grad_hidden, grad_memory)
        return way.grad_xs, grad_hidden, grad_memory, *way.of_weights()


class _WayBack:
    """The way back through a layer, some steps at a time: what they give to the weights is added while it is in the
    caches.
    """

    def __init__(self, kernels: Kernels, xs: Array, w_ih: Array, w_hh: Array, kept: Array) -> None:
        self.kernels, self.xs, self.kept = kernels, xs, kept
        self.cell, self.packing, dtype = kernels.cell, kernels.packing, kernels.dtype
        self.units, self.width = w_hh.shape[1], len(w_hh)
        self._backward = module.backward(kernels.kind, dtype.name)
        self.input_panels, self.panels = self.packing.packed(w_ih.T), self.packing.packed(w_hh.T)
        self.no_bias = np.zeros(w_ih.shape[1], dtype)
        self.grad_xs = fresh(xs.shape, dtype)
        self.grad_bias = np.zeros(self.cell.grads * self.units, dtype)
        # Vectors lie along the gates, of which there are more: gradients of weights come out turned.
        self.grad_w_ih, self.grad_w_hh = (np.zeros((w.shape[1], w.shape[0]), dtype) for w in (w_ih, w_hh))
        self.gates = np.empty((0, self.cell.grads * self.units), dtype)

    def groups(self, table: Array) -> Iterator[Array]:
        """Steps whose gradients of gates together fit into the second cache."""
        most = max(LEAST_ROWS, TOGETHER_BYTES // max(1, self.gates.shape[1] * self.gates.itemsize))
        ends = np.cumsum(table[:, 1])
        first = 0
        while first < len(table):
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + most, "right")))
            yield table[first:last]
            first = last

    def go(self, steps: Array, grad_output: Array, grad_hidden: Array, grad_memory: Array) -> None:
        """Go back through some steps; the gradients of both states are replaced."""
        first, rows = int(steps[:, 0].min()), int(steps[:, 1].sum())
        if len(self.gates) < rows:
            self.gates = np.empty((rows, self.gates.shape[1]), self.gates.dtype)
        here, gates, units, width = slice(first, first + rows), self.gates[:rows], self.units, self.width
        self._backward(
            block(
                BACKWARD, steps=len(steps), table=address(steps), units=units, grad_output=address(grad_output),
                grad_output_step=grad_output.strides[0], grad_hidden=address(grad_hidden),
                grad_memory=address(grad_memory), kept=address(self.kept), grad_gates=address(gates), first_row=first,
                panels=address(self.panels), grad_bias=address(self.grad_bias),
            )
        )  # fmt: skip
        packing, to_input, own = self.packing, gates[:, :width], self.cell.grads * units
        before = self.kept[here, own : own + units]
        packing.multiply(to_input, self.input_panels, self.no_bias, self.grad_xs[here])
        packing.add_outer(self.xs[here], to_input, self.grad_w_ih)
        if own == width:
            packing.add_outer(before, gates, self.grad_w_hh)
        else:
            packing.add_outer(before, gates[:, : width - units], self.grad_w_hh[:, : width - units])
            packing.add_outer(before, gates[:, width:], self.grad_w_hh[:, width - units :])

    def of_weights(self) -> tuple[Array, ...]:
        """Gradients of both weights and both biases."""
        width, units, bias = self.width, self.units, self.grad_bias
        own = bias.copy() if len(bias) == width else np.concatenate([bias[: width - units], bias[width:]])
        weights = (np.ascontiguousarray(turned.T) for turned in (self.grad_w_ih, self.grad_w_hh))
        return *weights, bias[:width].copy(), own


def fresh(shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """Memory for a matrix. NumPy asks for large pages from `LARGE_PAGES` on, which are there many times sooner; what is
    not touched of them takes no memory.
    """
    size = shape[0] * shape[1] * dtype.itemsize
    if not LARGE_PAGES // 4 <= size < LARGE_PAGES:
        return np.empty(shape, dtype)
    return np.empty(LARGE_PAGES, np.uint8)[:size].view(dtype).reshape(shape)


def rowwise(a: Array) -> Array:
    """The matrix itself where elements of rows are neighbours, else a copy in which they are."""
    return a if a.ndim == 2 and (a.strides[1] == a.itemsize or a.shape[1] <= 1) else np.ascontiguousarray(a)
