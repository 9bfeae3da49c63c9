"""Norms of channels over a batch, there and back: a channel at a time, which stays in the second cache for all passes.

there: mean; variance; results
back:  mean; variance, and the sums of gradients, and of gradients times what is off the mean; gradients of the input
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.convolutions.launch_functions import function_of_norm
from flambeau.codegen.convolutions.vectors import Floats, Span, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import NORM, NORM_BACK, NORM_BACK_AT, NORM_THERE, NORM_THERE_AT
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value, float_constant, vector_type

FORWARD, TRAINING, BACKWARD = "norm_of_channels", "norm_of_channels_there", "norm_of_channels_back"
TOGETHER = 4
"""Vectors whose sums are in registers at the same time, for each sum."""
Terms = Callable[[Sequence[Value]], Sequence[Value]]


def forward_text(floats: Floats) -> str:
    """The module whose function `FORWARD(words, low, high)` normalises the channels of a range."""
    m = VectorModule(floats)
    f = m.function(f"void {FORWARD}", "ptr words", "i64 low", "i64 high", exported=True)
    words, low, high = f.parameters
    with f.loop(f.op("sub", high, low)) as k:
        c = Channel(f, words, f.op("add", low, k))
        mean, variance, scale = c.statistics()
        c.keep("mean", mean)
        c.keep("variance", variance)
        c.keep("scale", scale)
        c.write_normalised(mean, scale)
    f.ret()
    return m.builder.text()


def training_text(floats: Floats) -> str:
    """The module whose function `TRAINING(block, low, high)` does the same for a launch. The variance is the unbiased
    one there, which running statistics move towards.
    """
    m = VectorModule(floats)
    f, call, own = function_of_norm(m, TRAINING, NORM_THERE_AT, NORM_THERE)
    block, low, high = f.parameters
    names = ("x", "y", "weight", "bias", "mean", "variance", "scale")
    f.put(own, NORM, **{name: f.word_of(block, f.get(call, NORM_THERE, name), "ptr") for name in names})
    with f.loop(f.op("sub", high, low)) as k:
        c = Channel(f, own, f.op("add", low, k))
        mean, variance, scale = c.statistics()
        c.keep("mean", mean)
        freedom = f.fsub(c.count, float_constant(1.0, f.floats.type, 1))
        c.keep("variance", f.fdiv(f.fmul(variance, c.count), freedom))
        c.keep("scale", scale)
        with f.when(f.negated(f.is_null(c.get["y"]))):
            c.write_normalised(mean, scale)
    f.ret()
    return m.builder.text()


def backward_text(floats: Floats) -> str:
    """The module whose function `BACKWARD(block, low, high)` gives gradients by the channels of a range, for a launch:
    of the input, the weight and the bias, as far as they are there.
    """
    m = VectorModule(floats)
    f, call, own = function_of_norm(m, BACKWARD, NORM_BACK_AT, NORM_BACK)
    block, low, high = f.parameters
    names = ("x", "y", "slope", "weight", "bias", "scale")
    f.put(own, NORM, **{name: f.word_of(block, f.get(call, NORM_BACK, name), "ptr") for name in names})
    with f.loop(f.op("sub", high, low)) as k:
        c = Channel(f, own, f.op("add", low, k))
        mean = c.mean()
        centre = f.splat(mean, floats.lanes)

        def terms(values: Sequence[Value], centre: Value = centre) -> Sequence[Value]:
            off = f.fsub(values[1], centre)
            return f.fmul(off, off), values[0], f.fmul(values[0], off)

        squares, total, product = c.sums(("slope", "x"), terms, 3)
        _, scale = c.variance(squares)
        c.keep("scale", f.fmul(product, scale))
        c.keep("bias", total)
        with f.when(f.negated(f.is_null(c.get["y"]))):
            by_mean = f.fdiv(total, c.count)
            by_scale = f.fmul(f.fmul(f.fdiv(product, c.count), scale), scale)
            factor = f.fmul(scale, c.number("weight", 1.0))
            wide = [f.splat(v, floats.lanes) for v in (mean, by_mean, by_scale, factor)]

            def result(values: Sequence[Value], wide: Sequence[Value] = wide) -> Value:
                off = f.fmul(f.fsub(values[1], wide[0]), wide[2])
                return f.fmul(f.fsub(f.fsub(values[0], wide[1]), off), wide[3])

            c.write(("slope", "x"), result)
    f.ret()
    return m.builder.text()


class Channel:
    """One channel: planes of numbers side by side, one of each image."""

    def __init__(self, f: VectorFunction, words: Value, number: Value) -> None:
        self._f, self._number = f, number
        self.get = f.fields(words, NORM)
        count = f.op("mul", self.get["images"], self.get["plane"])
        self.count = f.define(f"sitofp i64 {count} to {f.floats.type}", f.floats.type)
        self._least = f.read(f.field(words, NORM, "eps"), f.floats.type)

    def plane(self, name: str, image: Value) -> Value:
        """Where the channel's plane of an image begins in an array."""
        f = self._f
        steps = f.op("mul", self._number, self.get[f"{name}_channel"]), f.op("mul", image, self.get[f"{name}_image"])
        return f.moved(self.get[name], *steps)

    def number(self, name: str, otherwise: float) -> Value:
        """The channel's number in a vector, if there is one."""
        f = self._f
        base = self.get[name]
        constant = float_constant(otherwise, f.floats.type, 1)
        at = f.moved(base, f.bytes_of(self._number))
        return f.choose(f.is_null(base), lambda: constant, lambda: f.read(at, f.floats.type))

    def keep(self, name: str, value: Value) -> None:
        """Write the channel's number to a vector, if there is one."""
        f = self._f
        with f.when(f.negated(f.is_null(self.get[name]))):
            f.write(value, f.moved(self.get[name], f.bytes_of(self._number)))

    def statistics(self) -> tuple[Value, Value, Value]:
        """The mean, the variance and the reciprocal of its root."""
        f = self._f
        mean = self.mean()
        centre = f.splat(mean, f.floats.lanes)

        def square(values: Sequence[Value]) -> Sequence[Value]:
            off = f.fsub(values[0], centre)
            return (f.fmul(off, off),)

        (squares,) = self.sums(("x",), square, 1)
        return mean, *self.variance(squares)

    def mean(self) -> Value:
        """The mean."""
        (total,) = self.sums(("x",), lambda values: values, 1)
        return self._f.fdiv(total, self.count)

    def variance(self, squares: Value) -> tuple[Value, Value]:
        """From the sum of squares of what is off the mean: the variance, and the reciprocal of its root."""
        f = self._f
        variance = f.fdiv(squares, self.count)
        root = f.intrinsic("sqrt", f.fadd(variance, self._least))
        return variance, f.fdiv(float_constant(1.0, f.floats.type, 1), root)

    def write_normalised(self, mean: Value, scale: Value) -> None:
        """Fill the results' channel: off the mean, times the scale, times the weight, plus the bias."""
        f = self._f
        factor, shift = self.number("weight", 1.0), self.number("bias", 0.0)
        wide = [f.splat(v, f.floats.lanes) for v in (mean, scale, factor, shift)]

        def result(values: Sequence[Value]) -> Value:
            normal = f.fmul(f.fsub(values[0], wide[0]), wide[1])
            return f.multiply_add(normal, wide[2], wide[3])

        self.write(("x",), result)

    def sums(self, names: Sequence[str], terms: Terms, number: int) -> list[Value]:
        """So many sums over the channel of what `terms` makes of the numbers of some arrays."""
        f = self._f
        totals = Totals(f, terms, number)
        parts = Parts(f, self.get["plane"])
        with f.loop(self.get["images"]) as image:
            bases = [self.plane(name, image) for name in names]
            totals.add(bases, word(0), parts.whole, TOGETHER)
            totals.add(bases, parts.done, parts.single, 1)
            with f.when(f.compare("sgt", parts.left, 0)):
                totals.add_part(bases, parts)
        return totals.folded()

    def write(self, names: Sequence[str], result: Callable[[Sequence[Value]], Value]) -> None:
        """Fill the results' channel with what `result` makes of the numbers of some arrays."""
        f = self._f
        span = Span(f, self.get["plane"])
        with f.loop(self.get["images"]) as image:
            bases, to = [self.plane(name, image) for name in names], self.plane("y", image)

            def several(
                at: Value, lanes: int, mask: Value | None, bases: Sequence[Value] = bases, to: Value = to
            ) -> None:
                if lanes == 1:
                    values = [f.splat(f.read(f.moved(b, at), f.floats.type), f.floats.lanes) for b in bases]
                    scaled = result(values)
                    f.write(f.first_of(scaled), f.moved(to, at))
                    return
                values = [f.vector(f.moved(b, at), mask) for b in bases]
                f.put_vector(result(values), f.moved(to, at), mask)

            span.each(several)


class Parts:
    """A plane in groups of vectors, single vectors, and what is left over."""

    def __init__(self, f: VectorFunction, plane: Value) -> None:
        lanes = f.floats.lanes
        self.whole = f.op("sdiv", plane, TOGETHER * lanes)
        self.done = f.op("mul", self.whole, TOGETHER * lanes)
        self.single = f.op("sdiv", f.op("sub", plane, self.done), lanes)
        self.last = f.op("add", self.done, f.op("mul", self.single, lanes))
        self.left = f.op("sub", plane, self.last)
        self.mask = f.mask_below(self.left)


class Totals:
    """Sums of vectors, in memory from one part of a channel to the next."""

    def __init__(self, f: VectorFunction, terms: Terms, number: int) -> None:
        self._f, self._terms, self._number = f, terms, number
        self._vector = f.floats.lanes * f.floats.itemsize
        slot = f.slot(f"[{number * TOGETHER * f.floats.lanes} x {f.floats.type}]")
        self._places = [f.at(slot, k * self._vector, "i8") for k in range(number * TOGETHER)]
        for address in self._places:
            f.put_vector(f.zero, address)

    def add(self, bases: Sequence[Value], start: Value, count: Value, vectors: int) -> None:
        """Add so many groups of so many vectors, from a number of the planes on."""
        f, lanes = self._f, self._f.floats.lanes
        addresses = [p for k, p in enumerate(self._places) if k % TOGETHER < vectors]

        def step(k: Value, state: Sequence[Value]) -> list[Value]:
            at = f.bytes_of(f.op("add", start, f.op("mul", k, vectors * lanes)))
            own = [f.moved(base, at) for base in bases]
            parts = [self._terms([f.vector(f.at(o, v * self._vector, "i8")) for o in own]) for v in range(vectors)]
            flat = [parts[v][s] for s in range(self._number) for v in range(vectors)]
            return [f.fadd(a, b) for a, b in zip(state, flat, strict=True)]

        for address, value in zip(addresses, f.fold(count, [f.vector(p) for p in addresses], step), strict=True):
            f.put_vector(value, address)

    def add_part(self, bases: Sequence[Value], parts: Parts) -> None:
        """Add what is left over."""
        f = self._f
        values = [self._part(f.moved(base, f.bytes_of(parts.last)), parts) for base in bases]
        for address, term in zip(self._places[::TOGETHER], self._terms(values), strict=True):
            f.put_vector(f.fadd(f.vector(address), f.select(parts.mask, term, f.zero)), address)

    def _part(self, base: Value, parts: Parts) -> Value:
        """A vector of which some numbers are in memory."""
        f = self._f
        if f.floats.has_masks:
            return f.vector(base, parts.mask)
        slot = f.slot(vector_type(f.floats.type, f.floats.lanes))
        f.put_vector(f.zero, slot)
        with f.loop(parts.left) as k:
            f.write(f.read(f.moved(base, f.bytes_of(k)), f.floats.type), f.moved(slot, f.bytes_of(k)))
        return f.vector(slot)

    def folded(self) -> list[Value]:
        """The sums, as numbers."""
        f, totals = self._f, []
        for s in range(self._number):
            vectors = [f.vector(p) for p in self._places[s * TOGETHER : (s + 1) * TOGETHER]]
            while len(vectors) > 1:
                vectors = [f.fadd(a, b) for a, b in zip(vectors[::2], vectors[1::2], strict=True)]
            totals.append(f.sum_of_lanes(vectors[0]))
        return totals
