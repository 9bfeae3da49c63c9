"""The way back through all steps of a layer: gradients of the gates row by row, then their product with the weights."""

from __future__ import annotations

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.emitter import Target, Value
from flambeau.codegen.recurrent.cells import Cell
from flambeau.codegen.recurrent.panels import PanelBuilder, Part, flattened, in_rows, panel_function
from flambeau.codegen.recurrent.words import BACKWARD

_ADDRESSES = (
    "table", "grad_output", "grad_hidden", "grad_memory", "kept", "grad_gates", "panels", "grad_bias",
)  # fmt: skip


def add_backward(m: ModuleBuilder, cell: Cell, dtype: str, target: Target) -> None:
    """``backward(block)``."""
    f = panel_function(m, "backward", dtype, target)
    _Backward(f, cell).emit()


class _Backward:
    def __init__(self, f: PanelBuilder, cell: Cell) -> None:
        self.f, self.cell = f, cell
        block = f.parameters[0]
        self.places = {name: f.word_of(block, k, "ptr") for k, name in enumerate(BACKWARD) if name in _ADDRESSES}
        self.words = {name: f.word_of(block, k) for k, name in enumerate(BACKWARD) if name not in _ADDRESSES}
        self.units = self.words["units"]
        self.row_bytes = f.bytes_of(self.units)
        self.gate_bytes = f.mul(self.row_bytes, cell.grads)
        """Of a row of gradients of gates."""

    def emit(self) -> None:
        """Step after step, the last one first."""
        f = self.f
        with f.loop(self.words["steps"]) as step:
            entry = f.at(self.places["table"], f.op("shl", step, 1))
            first, rows = f.word_of(entry, 0), f.word_of(entry, 1)
            whole = f.op("udiv", self.units, f.lanes)
            with f.loop(whole) as vector:
                self._through_cell(first, rows, vector, None)
            with f.when(f.compare("slt", f.mul(whole, f.lanes), self.units)):
                self._through_cell(first, rows, whole, f.mask(self.units, whole))
            self._through_weights(first, rows)
        f.ret()

    def _through_cell(self, first: Value, rows: Value, vector: Value, mask: Value | None) -> None:
        """A vector of units of all rows of a step: all of its lanes, or those of a mask, which takes longer."""
        f, cell = self.f, self.cell
        column = f.mul(vector, f.lanes * f.size)
        loop = f.loop(rows, *[f.zero] * cell.grads)
        with loop as row:
            here = f.op("add", first, row)
            of_state = f.op("add", f.mul(row, self.row_bytes), column)
            of_gates = f.op("add", f.mul(f.op("sub", here, self.words["first_row"]), self.gate_bytes), column)
            of_kept = f.op("add", f.mul(f.mul(here, self.row_bytes), cell.kept), column)
            grad = self._arriving(here, of_state, column, mask)
            *kept, state = (
                f.masked_read(f.offset(self.places["kept"], f.op("add", of_kept, f.mul(self.row_bytes, k))), mask)
                for k in (*range(cell.grads), cell.kept - 1)
            )
            address = f.offset(self.places["grad_memory"], of_state)
            memory = f.masked_read(address, mask) if cell.has_memory else None
            of_cell = cell.backward(f, kept, state, grad, memory)
            for k, value in enumerate(of_cell.gates):
                at = f.op("add", of_gates, f.mul(self.row_bytes, k))
                f.masked_write(value, f.offset(self.places["grad_gates"], at), mask)
            if of_cell.memory is not None:
                f.masked_write(of_cell.memory, address, mask)
            if of_cell.hidden is not None:
                f.masked_write(of_cell.hidden, f.offset(self.places["grad_hidden"], of_state), mask)
            loop.carry(*[f.fadd(a, b) for a, b in zip(loop.values, of_cell.gates, strict=True)])
        for k, total in enumerate(loop.values):
            address = f.offset(self.places["grad_bias"], f.op("add", f.mul(self.row_bytes, k), column))
            f.masked_write(f.fadd(f.masked_read(address, mask), total), address, mask)

    def _arriving(self, here: Value, of_state: Value, column: Value, mask: Value | None) -> Value:
        """The gradient of a step's output: from outside, and from the step behind it."""
        f = self.f
        own = f.masked_read(f.offset(self.places["grad_hidden"], of_state), mask)
        at = f.op("add", f.mul(here, self.words["grad_output_step"]), column)
        outside = f.masked_read(f.offset(self.places["grad_output"], at), mask)
        return f.fadd(own, outside)

    def _through_weights(self, first: Value, rows: Value) -> None:
        """The gradient of the hidden state before the step."""
        f, cell = self.f, self.cell
        folded = f.mul(self.units, cell.gates)

        def panel(weights: Value, vector: Value, width: int) -> None:
            lanes = f.lanes_of(self.units, vector, width)
            column = f.mul(vector, f.lanes * f.size)

            def tile(row: Value, count: int) -> None:
                target = f.offset(self.places["grad_hidden"], f.op("add", f.mul(row, self.row_bytes), column))
                addresses = [
                    f.offset(f.offset(target, f.mul(self.row_bytes, r)), k * f.lanes * f.size)
                    for r in range(count) for k in range(width)
                ]  # fmt: skip
                has_straight = cell.grads > cell.gates
                start = f.read_vectors(addresses, lanes) if has_straight else [f.zero] * len(addresses)
                sums = f.add_products(
                    in_rows(start, width), self._parts(f.op("add", first, row), tuple(range(width))), weights
                )  # fmt: skip
                f.write_vectors(flattened(sums), addresses, lanes)

            f.by_rows(rows, tile)

        f.by_panels(self.units, folded, self.places["panels"], panel)

    def _parts(self, row: Value, sums: tuple[int, ...]) -> list[Part]:
        """The gradients of a row's gates as far as they come from the hidden state; of a gated unit the third is that
        of the input's share, and the fourth that of the state's.
        """
        f, cell = self.f, self.cell
        start = f.offset(self.places["grad_gates"], f.mul(f.op("sub", row, self.words["first_row"]), self.gate_bytes))
        if cell.grads == cell.gates:
            return [Part(start, self.gate_bytes, f.mul(self.units, cell.gates), sums)]
        behind = f.offset(start, f.mul(self.row_bytes, cell.gates))
        both = f.mul(self.units, cell.gates - 1)
        return [Part(start, self.gate_bytes, both, sums), Part(behind, self.gate_bytes, self.units, sums)]
