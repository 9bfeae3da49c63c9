"""Gradients of norms of rows: a row at a time, which stays in the first cache for all that is computed of it.

mean; variance, and the sums of the gradient, and of the gradient times what is off the mean; the gradient of the input,
while the row is added to the sums over rows that weight and bias get
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import NamedTuple

from flambeau.codegen.convolutions.channel_norms import Channel
from flambeau.codegen.convolutions.launch_functions import function_of_norm
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import NORM, ROWS, ROWS_AT
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value

SYMBOL = "gradients_of_rows"


def rows_text(floats: Floats) -> str:
    """The module whose function `SYMBOL(block, low, high)` computes the parts of a range, for a launch. A row is to
    `Channel` what a channel with one plane is.
    """
    m = VectorModule(floats)
    f, call, own = function_of_norm(m, SYMBOL, ROWS_AT, ROWS)
    block, low, high = f.parameters
    names = ("x", "slope", "factors", "y", "of_weight", "of_bias")
    at = {name: f.word_of(block, f.get(call, ROWS, name), "ptr") for name in names}
    factors = f.pick(f.is_null(at["factors"]), f.get(call, ROWS, "ones"), at["factors"], "ptr")
    f.put(own, NORM, x=at["x"], slope=at["slope"], factors=factors, y=at["y"])
    each, rows = f.get(call, ROWS, "each"), f.get(call, ROWS, "rows")
    count = f.get(own, NORM, "plane")
    with f.loop(f.op("sub", high, low)) as k:
        part = f.op("add", low, k)
        first, offset = f.op("mul", part, each), f.bytes_of(f.op("mul", part, count))
        sums = [at["of_weight"], at["of_bias"]]
        addresses = [f.pick(f.is_null(base), base, f.moved(base, offset), "ptr") for base in sums]
        for to in addresses:
            _fill(f, count, (), [Filled(to, lambda values: f.zero)])
        with f.loop(f.least_of(each, f.op("sub", rows, first))) as r:
            _row(f, Channel(f, own, f.op("add", first, r)), addresses)
    f.ret()
    return m.builder.text()


class Filled(NamedTuple):
    """A row of a result, which may be missing."""

    to: Value
    make: Callable[[Sequence[Value]], Value]
    """Gives its numbers from those of arrays."""
    adds: bool = False
    """Whether they are added to what is there."""


def _fill(f: VectorFunction, count: Value, bases: Sequence[Value], rows: Sequence[Filled]) -> None:
    """Fill rows in one loop, or each that is there by itself."""
    are_there = [f.negated(f.is_null(row.to)) for row in rows]
    together = reduce(partial(f.op, "and"), are_there)
    with f.when(together):
        _loop(f, count, bases, rows)
    if len(rows) > 1:
        with f.when(f.negated(together)):
            for is_there, row in zip(are_there, rows, strict=True):
                with f.when(is_there):
                    _loop(f, count, bases, [row])


def _loop(f: VectorFunction, count: Value, bases: Sequence[Value], rows: Sequence[Filled]) -> None:
    wide = f.floats.lanes

    def several(here: Value, lanes: int, mask: Value | None) -> None:
        def read(base: Value) -> Value:
            address = f.moved(base, here)
            return f.vector(address, mask) if lanes > 1 else f.splat(f.read(address, f.floats.type), wide)

        values = [read(base) for base in bases]
        new_values = [f.fadd(read(row.to), row.make(values)) if row.adds else row.make(values) for row in rows]
        for row, value in zip(rows, new_values, strict=True):
            if lanes > 1:
                f.put_vector(value, f.moved(row.to, here), mask)
            else:
                f.write(f.first_of(value), f.moved(row.to, here))

    f.span(count).each(several)


def _row(f: VectorFunction, row: Channel, sums: Sequence[Value]) -> None:
    """One row, which is added to the sums of its part for the weight and the bias."""
    lanes = f.floats.lanes
    mean = row.mean()
    centre = f.splat(mean, lanes)

    def terms(values: Sequence[Value]) -> Sequence[Value]:
        scaled, off = f.fmul(values[0], values[1]), f.fsub(values[2], centre)
        return f.fmul(off, off), scaled, f.fmul(scaled, off)

    squares, total, product = row.sums(("slope", "factors", "x"), terms, 3)
    _, scale = row.variance(squares)
    by_scale = f.splat(f.fmul(f.fmul(f.fdiv(product, row.count), scale), scale), lanes)
    by_mean, wide = f.splat(f.fdiv(total, row.count), lanes), f.splat(scale, lanes)
    bases = [row.plane(name, word(0)) for name in ("slope", "factors", "x")]

    def by_input(values: Sequence[Value]) -> Value:
        scaled, off = f.fmul(values[0], values[1]), f.fsub(values[2], centre)
        return f.fmul(f.fsub(f.fsub(scaled, by_mean), f.fmul(off, by_scale)), wide)

    def by_weight(values: Sequence[Value]) -> Value:
        return f.fmul(values[0], f.fmul(f.fsub(values[2], centre), wide))

    _fill(f, row.get["plane"], bases, [
        Filled(f.pick(f.is_null(row.get["y"]), row.get["y"], row.plane("y", word(0)), "ptr"), by_input),
        Filled(sums[0], by_weight, adds=True),
        Filled(sums[1], lambda values: values[0], adds=True),
    ])  # fmt: skip
