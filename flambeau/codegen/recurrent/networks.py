"""Recurrent networks as launches, for groups of plans: layers in both directions, and single steps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.recurrent.cells import CELLS
from flambeau.codegen.recurrent.groups import PER_NANOSECOND, Group, check_layer, group_of
from flambeau.codegen.recurrent.launches import Layer, Layers, Placed, result_of
from flambeau.codegen.routines.call_list import CallList, Word
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.recording import Recordable
from flambeau.codegen.routines.table import Prepare, routines
from flambeau.ir.graph import Graph

# -- whole networks ---------------------------------------------------------------------------------------------------


def _network(kind: str, graph: Graph) -> Prepare:
    group = group_of(kind, graph)
    constants = group.operands.constants
    if constants["train"] and constants["dropout"] > 0 and constants["num_layers"] > 1:
        raise KernelError("dropout between layers")
    return Recordable(partial(_make_packed if "batch_sizes" in group.operands.inputs else _make_padded, group))


def _make_padded(group: Group, arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch for a padded batch: (time, batch, features), or (batch, time, features)."""
    (xs,), hx = group.placed("input", arrays), group.states(arrays, 3)
    is_batch_first, batch = bool(group.operands.constants["batch_first"]), hx[0].array.shape[1]
    if xs.array.ndim != 3:
        raise KernelError("an input of another rank")
    if is_batch_first:
        xs = Placed(xs.array.transposed(1, 0, 2), xs.address)
    if xs.array.shape[1] != batch:
        raise KernelError("states of another batch")
    network, steps = _Network(group, arrays, xs, hx, memory), xs.array.shape[0]
    return network.launch(network.layers.padded_tables(steps, batch), steps, is_batch_first=is_batch_first)


def _make_packed(group: Group, arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch for a packed batch, (rows, features). How many rows each step has only the call knows."""
    (xs,), (sizes,), hx = group.placed("data", arrays), group.placed("batch_sizes", arrays), group.states(arrays, 3)
    steps, batch = sizes.array.size, hx[0].array.shape[1]
    if xs.array.ndim != 2 or sizes.array.ndim != 1 or sizes.array.dtype != np.int64 or steps == 0:
        raise KernelError("a packed batch of another rank, or sizes that are no ints")
    network = _Network(group, arrays, xs, hx, memory)
    return network.launch(network.layers.tables(sizes, xs.array.shape[0], batch), steps, is_batch_first=False)


class _Network:
    """The calls for all layers. Raises `KernelError` for another number of weights than they have."""

    def __init__(
        self, group: Group, arrays: Sequence[Lying], xs: Placed, hx: Sequence[Placed], memory: Memory
    ) -> None:
        constants = group.operands.constants
        self.group, self.xs, self.hx = group, xs, hx
        self.directions, self.count = 2 if constants["bidirectional"] else 1, int(constants["num_layers"])
        self.params, self.weights = group.placed("params", arrays), 4 if constants["has_biases"] else 2
        self.each = self.weights + int(bool(hx[0].array.shape[-1] != hx[-1].array.shape[-1]))
        self.calls = CallList(len(arrays), len(group.wanted), memory)
        self.layers = Layers(self.calls, group.kind, xs.array.dtype)
        directed = self.count * self.directions
        if directed < 1 or len(self.params) != directed * self.each or hx[0].array.shape[0] != directed:
            raise KernelError("another number of weights or states")

    def launch(self, tables: Sequence[Word], steps: int, *, is_batch_first: bool) -> Launch:
        """The launch; `tables` are the steps by direction. With `is_batch_first` the outputs are seen so."""
        layers, wanted, xs, dtype = self.layers, self.group.wanted, self.xs, self.xs.array.dtype
        units, cells = self.hx[0].array.shape[2], self.hx[-1].array.shape[2]
        shape, step = (*xs.array.shape[:-1], self.directions * units), self.directions * units * dtype.itemsize
        states = [layers.result(wanted, 1 + k, h.array.shape) for k, h in enumerate(self.hx)]
        output, sums = layers.result(wanted, 0, shape), 0
        for number in range(self.count):
            layer_output = output if number + 1 == self.count else layers.room(*shape)
            xs = layers.dense_rows(xs)
            for direction in range(self.directions):
                layer = self._layer(number * self.directions + direction, xs, states, is_reversed=direction == 1)
                address = layer_output.address.behind(direction * units * dtype.itemsize)
                layers.run(layer, xs, address, step, tables[direction], steps)
                sums = sums + prod(shape[:-1]) * CELLS[self.group.kind].gates * cells * (xs.array.shape[-1] + units)
            xs = layer_output
        results = [shape, *(h.array.shape for h in self.hx)]
        outputs = [result_of(results[k], dtype, swaps_axes=is_batch_first and k == 0) for k in wanted]
        return self.calls.launch(tuple(outputs), sums / PER_NANOSECOND)

    def _layer(self, at: int, xs: Placed, states: Sequence[Placed], *, is_reversed: bool) -> Layer:
        own = self.params[at * self.each : (at + 1) * self.each]
        weights, projection = (*own[: self.weights], None, None)[:4], next(iter(own[self.weights :]), None)
        starts = [h[at] for h in self.hx]
        check_layer(self.group.kind, xs, starts, weights, projection)
        return Layer(weights, tuple([s[at] for s in states]), tuple(starts), is_reversed, projection)


# -- single steps -----------------------------------------------------------------------------------------------------


def _cell(kind: str, graph: Graph) -> Prepare:
    return Recordable(partial(_make_cell, group_of(kind, graph)))


def _make_cell(group: Group, arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch of one step for arrays like these."""
    (xs,), hx = group.placed("input", arrays), group.states(arrays, 2)
    names = ("w_ih", "w_hh", "b_ih", "b_hh")
    weights = tuple([next(iter(group.placed(name, arrays)), None) for name in names])
    if xs.array.ndim != 2 or hx[0].array.shape[0] != xs.array.shape[0] or (weights[2] is None) != (weights[3] is None):
        raise KernelError("an input of another rank or batch, or one bias")
    check_layer(group.kind, xs, hx, weights)
    calls = CallList(len(arrays), len(group.wanted), memory)
    layers = Layers(calls, group.kind, xs.array.dtype)
    states = [layers.result(group.wanted, k, h.array.shape) for k, h in enumerate(hx)]
    batch, units = hx[0].array.shape
    layer = Layer(weights, tuple(states), tuple(hx), False)
    (table, _), scratch = layers.padded_tables(1, batch), layers.room(batch, units)
    layers.run(layer, layers.dense_rows(xs), scratch.address, units * xs.array.itemsize, table, 1)
    sums = batch * units * CELLS[group.kind].gates * (xs.array.shape[1] + units)
    outputs = [result_of(states[k].array.shape, xs.array.dtype) for k in group.wanted]
    return calls.launch(tuple(outputs), sums / PER_NANOSECOND)


for _kind in CELLS:
    routines(f"aten::{_kind}")(partial(_network, _kind))
    routines(f"aten::{_kind}_cell")(partial(_cell, _kind))
