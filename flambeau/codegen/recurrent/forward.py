"""All steps of a layer: the product of a step with the panels, and what the cell makes of it, from registers."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Target, Value
from flambeau.codegen.recurrent.cells import Cell
from flambeau.codegen.recurrent.panels import Lanes, PanelBuilder, Part, panel_function
from flambeau.codegen.recurrent.words import FORWARD, PRODUCT, block


def add_forward(m: ModuleBuilder, cell: Cell, dtype: str, target: Target) -> None:
    """``forward(block)``."""
    f = panel_function(m, "forward", dtype, target)
    _Forward(f, cell).emit()


class _Forward:
    def __init__(self, f: PanelBuilder, cell: Cell) -> None:
        self.f, self.cell = f, cell
        self.words = {name: f.word_of(f.parameters[0], k) for k, name in enumerate(FORWARD)}
        self.places = {
            name: f.word_of(f.parameters[0], k, "ptr")
            for k, name in enumerate(FORWARD)
            if name in (
                "table", "input", "start", "hidden_bias", "panels", "hidden", "memory", "output", "kept", "product",
                "cells",
            )
        }  # fmt: skip
        self.units, self.shown = self.words["units"], self.words["shown"]
        self.row_bytes, self.shown_bytes = f.bytes_of(self.units), f.bytes_of(self.shown)
        self.is_projected = f.negated(f.is_null(self.places["product"]))
        self.of_product = f.array("i64", len(PRODUCT))

    def emit(self) -> None:
        """Step after step."""
        f = self.f
        with f.loop(self.words["steps"]) as step:
            entry = f.at(self.places["table"], f.op("shl", step, 1))
            first, rows = f.word_of(entry, 0), f.word_of(entry, 1)
            self._keep_hidden(first, rows)
            self._panels(first, rows)
            with f.when(self.is_projected):
                self._project(first, rows)
            output = self._row("output", "output_step", first)
            with f.loop(rows) as row:
                target = f.offset(self.places["hidden"], f.mul(row, self.shown_bytes))
                f.copy(target, f.offset(output, f.mul(row, self.words["output_step"])), self.shown_bytes)
        f.ret()

    def _project(self, first: Value, rows: Value) -> None:
        """The outputs of a step: what its cells show, times the weights of the projection."""
        f, words = self.f, self.words
        result = f.op("add", words["output"], f.mul(first, words["output_step"]))
        values = block(
            PRODUCT, rows=rows, folded=self.units, columns=self.shown, left=words["cells"], left_step=self.row_bytes,
            panels=words["projection"], start=words["nothing"], start_step=word(0), result=result,
            result_step=words["output_step"],
        )  # fmt: skip
        for k, value in enumerate(values):
            f.set_word(self.of_product, word(k), value)
        f.call_address(self.places["product"], "void (ptr)", self.of_product)

    def _keep_hidden(self, first: Value, rows: Value) -> None:
        """The hidden state before the step."""
        f = self.f
        with f.when(f.negated(f.is_null(self.places["kept"]))), f.loop(rows) as row:
            target = self._kept(f.op("add", first, row), self.cell.grads)
            f.copy(target, f.offset(self.places["hidden"], f.mul(row, self.row_bytes)), self.row_bytes)

    def _kept(self, row: Value, block: int) -> Value:
        """Where a block of what a row keeps lies."""
        f = self.f
        blocks = f.op("add", f.mul(row, self.cell.kept), block)
        return f.offset(self.places["kept"], f.mul(blocks, self.row_bytes))

    def _shown_at(self, here: Value, row: Value) -> Value:
        """Where what the cells of a row of a step show goes: to be projected, or to the outputs."""
        f = self.f
        of_cells = f.offset(self.places["cells"], f.mul(row, self.row_bytes))
        return f.pick(self.is_projected, of_cells, self._row("output", "output_step", here), "ptr")

    def _row(self, name: str, step: str, row: Value) -> Value:
        return self.f.offset(self.places[name], self.f.mul(row, self.words[step]))

    def _panels(self, first: Value, rows: Value) -> None:
        """All units of a step."""
        f, cell = self.f, self.cell
        folded = f.op("add", self.words["features"], self.shown)
        if cell.gates == 1:
            f.by_panels(self.units, folded, self.places["panels"], lambda *at: self._panel(first, rows, *at))
            return
        panel_bytes = f.mul(folded, cell.gates * f.lanes * f.size)
        with f.loop(f.vectors_of(self.units)) as vector:
            self._panel(first, rows, f.offset(self.places["panels"], f.mul(vector, panel_bytes)), vector, 1)

    def _panel(self, first: Value, rows: Value, panel: Value, vector: Value, width: int) -> None:
        """All rows for some vectors of units."""
        f = self.f
        lanes = f.lanes_of(self.units, vector, width)
        column = f.mul(vector, f.lanes * f.size)

        def tile(row: Value, count: int) -> None:
            sums = [self._start(f.op("add", f.op("add", first, row), r), column, lanes) for r in range(count)]
            wide = tuple(range(width))
            parts = [
                Part(
                    self._row("input", "input_step", f.op("add", first, row)), self.words["input_step"],
                    self.words["features"], self.cell.from_input if width == 1 else wide,
                ),
                Part(
                    f.offset(self.places["hidden"], f.mul(row, self.shown_bytes)), self.shown_bytes, self.shown,
                    self.cell.from_hidden if width == 1 else wide,
                ),
            ]  # fmt: skip
            sums = f.add_products(sums, parts, panel)
            f.by_row_of_tile(sums, lambda r, values: self._finish(first, f.op("add", row, r), column, lanes, values))

        f.by_rows(rows, tile)

    def _start(self, row: Value, column: Value, lanes: Lanes) -> list[Value]:
        """Where the sums of a row begin."""
        f, cell = self.f, self.cell
        base = f.offset(self._row("start", "start_step", row), column)
        width = len(lanes.masks)
        if width > 1:
            return f.read_vectors([f.offset(base, v * f.lanes * f.size) for v in range(width)], lanes)
        addresses = [f.offset(base, f.mul(self.row_bytes, gate)) for gate in range(cell.gates)]
        if cell.sums > cell.gates:
            addresses.append(f.offset(self.places["hidden_bias"], column))
        return f.read_vectors(addresses, lanes)

    def _finish(
        self, first: Value, row: Value, column: Value, lanes: Lanes, sums: Sequence[Value]
    ) -> None:  # fmt: skip
        """What the cell makes of a row's sums, for each vector of units."""
        f, width = self.f, len(lanes.masks)
        for v, mask in enumerate(lanes.masks):
            offset = f.op("add", column, v * f.lanes * f.size)
            own = Lanes((mask,), lanes.are_whole)
            self._finish_vector(f.op("add", first, row), row, offset, own, sums[v : v + 1] if width > 1 else sums)

    def _finish_vector(self, here: Value, row: Value, offset: Value, lanes: Lanes, sums: Sequence[Value]) -> None:
        """What the cell makes of the sums of a vector of units: row `here` of all steps, `row` of this one."""
        f, cell = self.f, self.cell
        of_state = f.op("add", f.mul(row, self.row_bytes), offset)
        name = "memory" if cell.has_memory else "hidden"
        is_read = cell.has_memory or cell.gates > 1
        before = f.read_vectors([f.offset(self.places[name], of_state)], lanes)[0] if is_read else None
        memory = before if cell.has_memory else None
        new_state = cell.forward(f, sums, None if cell.has_memory else before, memory)
        written = {f.offset(self._shown_at(here, row), offset): new_state.hidden}
        if new_state.memory is not None:
            written[f.offset(self.places["memory"], of_state)] = new_state.memory
        f.write_vectors([*written.values()], [*written], lanes)
        kept = [*enumerate(new_state.kept)]
        if memory is not None:
            kept.append((cell.grads + 1, memory))
        with f.when(f.negated(f.is_null(self.places["kept"]))):
            addresses = [f.offset(self._kept(here, k), offset) for k, _ in kept]
            f.write_vectors([value for _, value in kept], addresses, lanes)
