"""Norms of matrices along their columns, which are channels side by side, there and back: some columns at a time.

    there: mean; variance; results
    back:  mean; variance, and sums of gradients, and of gradients times what is off the mean; gradients of the input

Columns lie in lanes, so that nothing is copied to planes, as channels of images have (`channel_norms`). Sums are of a
block of rows first, and of blocks then.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import numpy as np

from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.convolutions.run import TYPES, Code, address
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import NORM
from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.codegen.llvm.engine import engine

FORWARD, BACKWARD = "norm_of_columns", "norm_of_columns_back"
TOGETHER: Final = 4
"""Vectors of a unit."""
BLOCK: Final = 128
"""Rows whose sums are in registers."""
NANOSECONDS: Final = 0.5
"""Of a number, there or back, about."""
Terms = Callable[[Sequence[Value], int], Sequence[Value]]


def forward_text(floats: Floats) -> str:
    """The module whose function `FORWARD(words, low, high)` normalises the columns of a range of units."""
    m = VectorModule(floats)
    f = m.function(f"void {FORWARD}", "ptr words", "i64 low", "i64 high", exported=True)

    def body(c: Columns) -> None:
        mean, (variance,) = c.statistics(("x",), lambda values, off: ())
        scale = c.reciprocal_roots(variance)
        for name, values in (("mean", mean), ("variance", variance), ("scale", scale)):
            c.keep(name, values)
        factor, shift = c.numbers("weight", 1.0), c.numbers("bias", 0.0)

        def result(values: Sequence[Value], v: int) -> Value:
            normal = f.fmul(f.fsub(values[0], mean[v]), scale[v])
            return f.multiply_add(normal, factor[v], shift[v])

        c.write(("x",), result)

    _for_units(f, body)
    return m.builder.text()


def backward_text(floats: Floats) -> str:
    """The module whose function `BACKWARD(words, low, high)` gives gradients by the columns of a range of units: of the
    input, the weight (where `scale` says) and the bias.
    """
    m = VectorModule(floats)
    f = m.function(f"void {BACKWARD}", "ptr words", "i64 low", "i64 high", exported=True)

    def body(c: Columns) -> None:
        mean, (variance, total, product) = c.statistics(
            ("x", "slope"), lambda values, off: (values[1], f.fmul(values[1], off))
        )
        scale = c.reciprocal_roots(variance)
        c.keep("scale", [f.fmul(p, s) for p, s in zip(product, scale, strict=True)])
        c.keep("bias", total)
        weight = c.numbers("weight", 1.0)
        by_mean = [f.fdiv(t, c.count) for t in total]
        by_scale = [f.fmul(f.fmul(f.fdiv(p, c.count), s), s) for p, s in zip(product, scale, strict=True)]
        factor = [f.fmul(s, w) for s, w in zip(scale, weight, strict=True)]

        def result(values: Sequence[Value], v: int) -> Value:
            off = f.fmul(f.fsub(values[0], mean[v]), by_scale[v])
            return f.fmul(f.fsub(f.fsub(values[1], by_mean[v]), off), factor[v])

        c.write(("x", "slope"), result)

    _for_units(f, body)
    return m.builder.text()


def _for_units(f: VectorFunction, body: Callable[[Columns], None]) -> None:
    """The rest of a function of words and a range of units: each, by code without masks where no column is missing."""
    words, low, high = f.parameters
    width = TOGETHER * f.floats.lanes
    with f.loop(f.op("sub", high, low)) as k:
        unit = f.op("add", low, k)
        left = f.op("sub", f.get(words, NORM, "plane"), f.op("mul", unit, width))
        whole, part, done = f.label("whole"), f.label("part"), f.label("unit_done")
        f.branch_if(f.compare("sge", left, width), whole, part)
        for label, missing in ((whole, None), (part, left)):
            f.start(label, falls_through=False)
            body(Columns(f, words, unit, missing))
            f.branch(done)
        f.start(done)
    f.ret()


class Columns:
    """Some columns side by side, as many as `TOGETHER` vectors have lanes, or `left` of them."""

    def __init__(self, f: VectorFunction, words: Value, unit: Value, left: Value | None) -> None:
        self._f, lanes = f, f.floats.lanes
        self.get = f.fields(words, NORM)
        self._rows = self.get["images"]
        self._at = f.bytes_of(f.op("mul", unit, TOGETHER * lanes))
        self._masks = [
            None if left is None else f.mask_below(f.op("sub", left, v * lanes)) for v in range(TOGETHER)
        ]
        self._steps = [v * lanes * f.floats.itemsize for v in range(TOGETHER)]
        self.count = f.splat(f.define(f"sitofp i64 {self._rows} to {f.floats.type}", f.floats.type), lanes)
        self._least = f.splat(f.read(f.field(words, NORM, "eps"), f.floats.type), lanes)

    def statistics(
        self, names: Sequence[str], more: Callable[[Sequence[Value], Value], Sequence[Value]]
    ) -> tuple[list[Value], list[list[Value]]]:
        """The means, the variances, and sums of what `more` makes of the numbers of some arrays, of which the first is
        the input, and of what is off the mean.
        """
        f = self._f
        (totals,) = self._sums(names[:1], lambda values, v: values)
        mean = [f.fdiv(t, self.count) for t in totals]

        def terms(values: Sequence[Value], v: int) -> Sequence[Value]:
            off = f.fsub(values[0], mean[v])
            return (f.fmul(off, off), *more(values, off))

        squares, *others = self._sums(names, terms)
        return mean, [[f.fdiv(s, self.count) for s in squares], *others]

    def reciprocal_roots(self, variance: Sequence[Value]) -> list[Value]:
        """One over the roots of variances."""
        f = self._f
        one = float_constant(1.0, f.floats.type, f.floats.lanes)
        return [f.fdiv(one, f.intrinsic("sqrt", f.fadd(v, self._least))) for v in variance]

    def numbers(self, name: str, otherwise: float) -> list[Value]:
        """The numbers of a vector, if there is one."""
        f = self._f
        base = self.get[name]
        constant = float_constant(otherwise, f.floats.type, f.floats.lanes)
        slot = self._slots(1)
        there, done = f.label("there"), f.label("read")
        for address_ in slot:
            f.put_vector(constant, address_)
        f.branch_if(f.is_null(base), done, there)
        f.start(there)
        for address_, step, mask in zip(slot, self._steps, self._masks, strict=True):
            f.put_vector(f.vector(f.moved(base, self._at, step), mask), address_)
        f.branch(done)
        f.start(done)
        return [f.vector(address_) for address_ in slot]

    def keep(self, name: str, values: Sequence[Value]) -> None:
        """Write numbers to a vector, if there is one."""
        f = self._f
        with f.when(f.negated(f.is_null(self.get[name]))):
            for value, step, mask in zip(values, self._steps, self._masks, strict=True):
                f.put_vector(value, f.moved(self.get[name], self._at, step), mask)

    def write(self, names: Sequence[str], result: Callable[[Sequence[Value], int], Value]) -> None:
        """Fill the results' columns with what `result` makes of the numbers of some arrays."""
        f = self._f
        with f.loop(self._rows) as row:
            to = self._row("y", row)
            for v, values in enumerate(self._values(names, row)):
                f.put_vector(result(values, v), f.moved(to, self._steps[v]), self._masks[v])

    def _sums(self, names: Sequence[str], terms: Terms) -> list[list[Value]]:
        """Sums over rows of what `terms` makes of the numbers of some arrays, each for all vectors."""
        f = self._f
        probe = len(terms([f.zero] * len(names), 0))
        slots = self._slots(probe)
        for address_ in slots:
            f.put_vector(f.zero, address_)
        with f.loop(f.divided_up(self._rows, BLOCK)) as block:
            start = f.op("mul", block, BLOCK)

            def step(k: Value, state: Sequence[Value]) -> list[Value]:
                parts = [terms(values, v) for v, values in enumerate(self._values(names, f.op("add", start, k)))]
                flat = [part[s] for s in range(probe) for part in parts]
                return [f.fadd(a, b) for a, b in zip(state, flat, strict=True)]

            count = f.least_of(f.op("sub", self._rows, start), BLOCK)
            for address_, value in zip(slots, f.fold(count, [f.zero] * len(slots), step), strict=True):
                f.put_vector(f.fadd(f.vector(address_), value), address_)
        totals = [f.vector(address_) for address_ in slots]
        return [totals[s * TOGETHER : (s + 1) * TOGETHER] for s in range(probe)]

    def _slots(self, number: int) -> list[Value]:
        f = self._f
        size = f.floats.lanes * f.floats.itemsize
        slot = f.slot(f"[{number * TOGETHER * f.floats.lanes} x {f.floats.type}]")
        return [f.at(slot, k * size, "i8") for k in range(number * TOGETHER)]

    def _values(self, names: Sequence[str], row: Value) -> list[list[Value]]:
        """The numbers of a row of some arrays, for each vector."""
        f = self._f
        rows = [self._row(name, row) for name in names]
        return [[f.vector(f.moved(r, s), m) for r in rows] for s, m in zip(self._steps, self._masks, strict=True)]

    def _row(self, name: str, row: Value) -> Value:
        f = self._f
        return f.moved(self.get[name], f.op("mul", row, self.get[f"{name}_image"]), self._at)


# -- of arrays --------------------------------------------------------------------------------------------------------


_NO_WORDS: Final = bytes(NORM.words * 8)
_IMAGES, _PLANE, _EPS = (NORM.word(name) for name in ("images", "plane", "eps"))
_STEPS: Final = {name: NORM.word(f"{name}_image") for name in ("x", "slope", "y")}
_WORDS: Final = {name: NORM.word(name) for name in (*_STEPS, "weight", "bias", "mean", "variance", "scale")}


@cache
def _code(character: str, symbol: str) -> Code:
    return Code(forward_text if symbol == FORWARD else backward_text, character, symbol)


def are_columns(*matrices: Array) -> bool:
    """Whether there is code for matrices: of one dtype, whose rows lie side by side, on processors that read parts of
    vectors.
    """
    first = matrices[0]
    if first.ndim != 2 or first.dtype.char not in TYPES or not first.size or engine().target.vector_bits <= 128:
        return False
    return all(a.dtype == first.dtype and a.strides[1] == a.itemsize for a in matrices)


def normalise(x: Array, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, Array, Array, Array]:
    """The result, row-major, and each column's mean, variance and reciprocal root, of a matrix that `are_columns`.

    >>> y, mean, variance, root = normalise(np.array([[1.0, 5.0], [3.0, 5.0]]), None, None, 0.0)
    >>> y[:, 0].tolist(), mean.tolist(), variance.tolist()
    ([-1.0, 1.0], [2.0, 5.0], [1.0, 0.0])
    """
    y = np.empty(x.shape, x.dtype)
    mean, variance, scale = (np.empty(x.shape[1], x.dtype) for _ in range(3))
    vectors = {"weight": weight, "bias": bias, "mean": mean, "variance": variance, "scale": scale}
    _run(FORWARD, eps, {"x": x, "y": y}, vectors)
    return y, mean, variance, scale


def gradients(slope: Array, x: Array, weight: Array | None, eps: float) -> tuple[Array, Array, Array]:
    """Those of the input, row-major, of the weight and of the bias, from that of the result, of matrices that
    `are_columns`.

    >>> x = np.array([[1.0, 5.0], [3.0, 4.0]])
    >>> [a.round(6).tolist() for a in gradients(np.ones((2, 2)), x, None, 1e-5)]
    [[[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0], [2.0, 2.0]]
    """
    y, by_weight, by_bias = np.empty(x.shape, x.dtype), np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    _run(BACKWARD, eps, {"x": x, "slope": slope, "y": y}, {"weight": weight, "scale": by_weight, "bias": by_bias})
    return y, by_weight, by_bias


def _run(symbol: str, eps: float, matrices: dict[str, Array], vectors: dict[str, Array | None]) -> None:
    x = matrices["x"]
    rows, columns = x.shape
    words = array("q", _NO_WORDS)
    words[_IMAGES], words[_PLANE] = rows, columns
    words[_EPS] = int.from_bytes(struct.pack("<f" if x.itemsize == 4 else "<d", eps), "little", signed=True)
    for name, matrix in matrices.items():
        here, step = _WORDS[name], _STEPS[name]
        words[here], words[step] = address(matrix), matrix.strides[0]
    for name, vector in vectors.items():
        if vector is not None:
            words[_WORDS[name]] = address(vector)
    lanes = engine().target.vector_bits // 8 // x.itemsize
    _code(x.dtype.char, symbol).run(words, -(-columns // (TOGETHER * lanes)), x.size * NANOSECONDS)
