"""Expressions on arrays: what NumPy's users write in one line."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.random_programs.arrays.values import BOOLS, FLOATS, INTS, Value, joined

POINTWISE = (
    "np.abs({0})", "np.sqrt(np.abs({0}))", "np.exp(-np.abs({0}))", "np.floor({0} * 2.5)", "np.sign({0})", "-{0}",
    "np.tanh({0})", "np.square({0})", "np.clip({0}, -1.5, 2.0)", "np.cos({0})", "np.round({0} * 1.7)", "({0}) ** 2",
    "np.log1p(np.abs({0}))", "{0} * 0.5", "1.0 / (1.0 + np.abs({0}))", "np.where({0} > 0, {0}, 0.1 * {0})",
    "np.nan_to_num({0})", "np.hypot({0}, 1.5)", "{0} / 3", "np.minimum({0}, 2)", "np.maximum(0.0, {0})",
)  # fmt: skip
OF_INTS = (
    "{0} + 1", "{0} * 2", "-{0}", "np.abs({0})", "{0} // 3", "{0} % 4", "{0} & 6", "{0} ^ 3", "{0} ** 2", "np.sign({0})",
    "np.minimum({0}, 3)", "np.clip({0}, -2, 2)", "{0} - 5", "({0} << 1)", "({0} >> 1)", "np.where({0} > 0, {0}, -1)",
)  # fmt: skip
PAIRS = ("{0} + {1}", "{0} * {1}", "{0} - {1}", "np.maximum({0}, {1})", "np.minimum({0}, {1})")
FLOAT_PAIRS = (
    "np.where({0} > {1}, {0}, {1} * 2)",
    "{0} / (np.abs({1}) + 1)",
    "np.arctan2({0}, np.abs({1}) + 1)",
    "np.hypot({0}, {1})",
)
INT_PAIRS = ("{0} & {1}", "{0} | {1}", "{0} ^ {1}")
COMPARED = ("{0} > {1}", "{0} <= {1}", "{0} == {1}", "{0} != {1}", "{0} < {1}")
FOLDS = ("{0}.sum({1})", "np.sum({0}, {1})", "{0}.max({1})", "{0}.min({1})", "np.max({0}, {1})")
FLOAT_FOLDS = (
    "{0}.mean({1})",
    "np.mean({0}, {1})",
    "{0}.std({1})",
    "{0}.var({1})",
    "np.median({0}, {1})",
    "np.ptp({0}, {1})",
)
PLACES = ("{0}.argmax({1})", "np.argmin({0}, {1})")
TRUTHS = ("{0}.any({1})", "np.all({0}, {1})", "np.count_nonzero({0}, {1})")
LIBRARY = (
    ("np.gradient(v, 0.5)", ("m",), FLOATS), ("np.interp(w, np.sort(v), v)", ("n",), FLOATS), ("np.convolve(v, w)", ("?",), FLOATS),
    ("np.cov(x)", ("n", "n"), FLOATS), ("np.polyval(w, v)", ("m",), FLOATS), ("np.digitize(w, np.sort(v))", ("n",), INTS),
    ("np.pad({0}, 1)", ("?",), FLOATS), ("np.nansum({0})", (), FLOATS), ("np.nanmax({0})", (), FLOATS), ("np.quantile({0}, 0.25)", (), FLOATS),
    ("np.argwhere(x > 0)[:, 0]", ("?",), INTS), ("np.nonzero(q)[0]", ("?",), INTS), ("np.linalg.det(x.T @ x)", (), FLOATS),
    ("np.linalg.solve(x.T @ x + 10 * np.eye(x.shape[1]), v)", ("m",), FLOATS), ("np.linalg.eigvalsh(x.T @ x)", ("m",), FLOATS),
    ("np.meshgrid(v, w)[0]", ("n", "m"), FLOATS), ("np.histogram(v, bins=3, range=(-4, 4))[0]", ("3",), INTS), ("np.triu(x)", ("n", "m"), FLOATS),
    ("np.tril(q, -1)", ("n", "m"), INTS), ("np.average(x, axis=0)", ("m",), FLOATS), ("np.average(v, weights=np.abs(v) + 1)", (), FLOATS),
    ("np.isclose({0}, 1.0)", ("same",), BOOLS), ("np.allclose(x, y)", (), BOOLS), ("np.array_equal(x, y)", (), BOOLS), ("np.trapezoid(v)", (), FLOATS),
    ("np.cumprod(np.sign(v))", ("m",), FLOATS), ("np.ediff1d(w)", ("n-1",), FLOATS), ("np.logaddexp({0}, 1.0)", ("same",), FLOATS),
    ("np.mod({0}, 2.5)", ("same",), FLOATS), ("np.float_power(np.abs({0}), 0.5)", ("same",), FLOATS), ("np.rint({0})", ("same",), FLOATS),
    ("np.fmax({0}, 0.5)", ("same",), FLOATS), ("np.heaviside({0}, 0.5)", ("same",), FLOATS), ("np.degrees({0})", ("same",), FLOATS),
    ("np.expm1({0} * 0.1)", ("same",), FLOATS), ("np.cbrt({0})", ("same",), FLOATS), ("np.sinc({0})", ("same",), FLOATS), ("np.trunc({0})", ("same",), FLOATS),
    ("np.unique(idx, return_counts=True)[1]", ("?",), INTS), ("np.lexsort((idx, w))", ("n",), INTS), ("np.apply_along_axis(np.sum, 1, x)", ("n",), FLOATS),
    ("np.vander(v, 3)", ("m", "3"), FLOATS), ("np.tensordot(x, y, axes=([0], [0]))", ("m", "m"), FLOATS), ("np.inner(x, y)", ("n", "n"), FLOATS),
    ("np.expand_dims(v, 0)", ("1", "m"), FLOATS), ("np.squeeze(x[:, :1])", ("?",), FLOATS), ("np.moveaxis(x, 0, 1)", ("m", "n"), FLOATS),
    ("np.swapaxes(q, 0, 1)", ("m", "n"), INTS), ("np.broadcast_to(v, x.shape)", ("n", "m"), FLOATS), ("np.atleast_2d(v)", ("1", "m"), FLOATS),
    ("np.delete(v, 0)", ("m-1",), FLOATS), ("np.insert(v, 0, c)", ("m+1",), FLOATS), ("np.append(v, c)", ("m+1",), FLOATS), ("np.rot90(x)", ("m", "n"), FLOATS),
    ("np.fliplr(x)", ("n", "m"), FLOATS), ("np.select([x > 1, x < -1], [x, y], 0.0)", ("n", "m"), FLOATS), ("np.choose(idx % 2, [w, -w])", ("n",), FLOATS),
    ("np.partition(v, 0)[:1]", ("1",), FLOATS), ("np.bincount(idx, weights=w)", ("?",), FLOATS), ("np.nanmean(x, axis=0)", ("m",), FLOATS),
    ("np.corrcoef(w, w * 2)[0, 1]", (), FLOATS), ("np.fft.fft(v).real", ("m",), FLOATS), ("np.abs(np.fft.rfft(v))", ("?",), FLOATS),
    ("(v + 1j * v).imag", ("m",), FLOATS), ("np.angle(v + 1j)", ("m",), FLOATS),
)  # fmt: skip
Choose = Callable[[Sequence[str]], str]


class Expressions:
    """Makes expressions of the values that a program has so far."""

    def __init__(self, draw: random.Random, values: list[Value]) -> None:
        self.draw, self.values = draw, values

    def pick(self, *kinds: str, array: bool | None = True) -> Value:
        """One of the values of some kinds; arrays alone, numbers alone, or any."""
        fitting = [v for v in self.values if (not kinds or v.kind in kinds) and (array is None or v.is_array == array)]
        return self.draw.choice(fitting[-6:] + fitting[:4])

    def expression(self) -> Value:
        """Any of what follows."""
        makers = (
            self.pointwise, self.pair, self.pair, self.fold, self.fold, self.view, self.view, self.compared, self.masked,
            self.made, self.put_together, self.product, self.ordered, self.running, self.converted, self.by_places, self.of_library, self.of_library,
        )  # fmt: skip
        return self.draw.choice(makers)()

    def pointwise(self) -> Value:
        """A function of each element."""
        a = self.pick(FLOATS, INTS)
        forms = OF_INTS if a.kind == INTS else POINTWISE
        return Value(self.draw.choice(forms).format(a.text), a.axes, a.kind)

    def pair(self) -> Value:
        """Of the elements of two, which may be broadcast."""
        for _ in range(20):
            a, b = self.pick(FLOATS, INTS), self.pick(FLOATS, INTS, array=None)
            axes = joined(a.axes, b.axes)
            if axes is None:
                continue
            kind = FLOATS if FLOATS in (a.kind, b.kind) else INTS
            forms = PAIRS + (FLOAT_PAIRS if a.kind == b.kind == FLOATS else ()) + (INT_PAIRS if kind == INTS else ())
            return Value(self.draw.choice(forms).format(a.text, b.text), axes, kind)
        return self.pointwise()

    def compared(self) -> Value:
        """Bools."""
        a = self.pick(FLOATS, INTS)
        alike = [v.text for v in self.values if v.axes == a.axes and v.kind != BOOLS]
        other = self.draw.choice([*alike, "0", "1", "0.5"])
        text = self.draw.choice(COMPARED).format(a.text, other)
        if self.draw.random() < 0.3:
            text = f"({text}) {self.draw.choice('&|^')} ({a.text} != 1)"
        return Value(text, a.axes, BOOLS)

    def fold(self) -> Value:
        """Over one axis, or all."""
        a = self.pick()
        forms = {FLOATS: FOLDS + FLOAT_FOLDS + PLACES, INTS: FOLDS + PLACES, BOOLS: TRUTHS}[a.kind]
        form = self.draw.choice(forms)
        if self.draw.random() < 0.35 or len(a.axes) == 1:
            text, axes = form.format(a.text, "").replace(", )", ")"), ()
        else:
            at = self.draw.randrange(len(a.axes))
            shown = self.draw.choice([at, at - len(a.axes)])
            keeps = form not in PLACES and self.draw.random() < 0.3
            text = form.format(a.text, f"axis={shown}" + (", keepdims=True" if keeps else ""))
            axes = (*a.axes[:at], *(("1",) if keeps else ()), *a.axes[at + 1 :])
        kind = a.kind if form in FOLDS + FLOAT_FOLDS else INTS if "count" in form or form in PLACES else BOOLS
        return Value(text, axes, kind)

    def view(self) -> Value:
        """Part of an array, or its elements in another order."""
        a = self.pick()
        if len(a.axes) == 1:
            text, axes = self.draw.choice([
                ("{0}[::-1]", a.axes), ("{0}[:, None]", (*a.axes, "1")), ("{0}[np.newaxis, :]", ("1", *a.axes)),
                ("{0}[1:]", (a.axes[0] + "-1",)), ("{0}[:-1]", (a.axes[0] + "-1",)), ("{0}[0]", ()), ("{0}[-1]", ()),
                ("{0}[k % len({0})]", ()), ("{0}[::2]", (a.axes[0] + "/2",)),
            ])  # fmt: skip
        elif len(a.axes) == 2:
            text, axes = self.draw.choice([
                ("{0}.T", a.axes[::-1]), ("{0}[0]", a.axes[1:]), ("{0}[:, -1]", a.axes[:1]), ("{0}[::-1]", a.axes),
                ("{0}[:, ::-1]", a.axes), ("{0}[1:]", (a.axes[0] + "-1", a.axes[1])), ("{0}.ravel()", ("*".join(a.axes),)),
                ("{0}[:, 1:]", (a.axes[0], a.axes[1] + "-1")), ("{0}[0, -1]", ()), ("{0}[..., 0]", a.axes[:1]),
                ("{0}.reshape(-1)", ("*".join(a.axes),)), ("{0}[k % {0}.shape[0]]", a.axes[1:]), ("np.flip({0}, 0)", a.axes),
                ("{0}.transpose()", a.axes[::-1]), ("{0}[:, ::2]", (a.axes[0], a.axes[1] + "/2")),
            ])  # fmt: skip
        else:
            text, axes = "{0}[0]", a.axes[1:]
        return Value(text.format(a.text if a.text.isidentifier() else f"({a.text})"), axes, a.kind)

    def masked(self) -> Value:
        """What is chosen by truth."""
        a = self.pick(FLOATS, INTS)
        mask = f"{a.text} {self.draw.choice(('>', '<', '!='))} {self.draw.choice(('0', '1'))}"
        text = self.draw.choice(
            (f"{a.text}[{mask}].sum()", f"np.where({mask}, {a.text}, 0)", f"({mask}).sum()", f"len({a.text}[{mask}])")
        )
        axes = a.axes if "where" in text else ()
        return Value(text, axes, INTS if text.endswith(").sum()") or text.startswith("len") else a.kind)

    def made(self) -> Value:
        """A new array of a size that is known."""
        text, axes, kind = self.draw.choice([
            ("np.zeros(x.shape)", ("n", "m"), FLOATS), ("np.ones(len(w))", ("n",), FLOATS), ("np.arange(x.shape[1])", ("m",), INTS),
            ("np.zeros_like(x)", ("n", "m"), FLOATS), ("np.full(x.shape[0], 1.5)", ("n",), FLOATS), ("np.eye(x.shape[0])", ("n", "n"), FLOATS),
            ("np.linspace(0.0, 1.0, x.shape[1])", ("m",), FLOATS), ("np.arange(x.shape[0], dtype=np.float64)", ("n",), FLOATS),
            ("np.ones((x.shape[0], x.shape[1]), dtype=np.int64)", ("n", "m"), INTS), ("np.ones_like(q)", ("n", "m"), INTS),
            ("np.empty_like(v) * 0 + c", ("m",), FLOATS), ("np.zeros(x.shape[0], dtype=np.int32)", ("n",), INTS),
            ("np.tile(v, 2)", ("2m",), FLOATS), ("np.repeat(w, 2)", ("2n",), FLOATS), ("np.diag(w)", ("n", "n"), FLOATS),
        ])  # fmt: skip
        return Value(text, axes, kind)

    def put_together(self) -> Value:
        """Arrays beside each other."""
        a = self.pick(FLOATS)
        b = next((v for v in reversed(self.values) if v.axes == a.axes and v.kind == FLOATS), a)
        first = a.axes[0]
        forms = [("np.concatenate(({0}, {1}))", (f"2{first}", *a.axes[1:])), ("np.stack(({0}, {1}))", ("2", *a.axes)),
                 ("np.vstack(({0}, {1}))", ("2", *a.axes) if len(a.axes) == 1 else (f"2{first}", *a.axes[1:]))]  # fmt: skip
        if len(a.axes) == 2:
            forms += [
                ("np.hstack(({0}, {1}))", (first, f"2{a.axes[1]}")),
                ("np.concatenate(({0}, {1}), axis=1)", (first, f"2{a.axes[1]}")),
            ]
        else:
            forms += [("np.column_stack(({0}, {1}))", (first, "2"))]
        text, axes = self.draw.choice(forms)
        return Value(text.format(a.text, b.text), axes, FLOATS)

    def product(self) -> Value:
        """Products of vectors and matrices."""
        text, axes, kind = self.draw.choice([
            ("x @ v", ("n",), FLOATS), ("w @ x", ("m",), FLOATS), ("x.T @ y", ("m", "m"), FLOATS), ("np.dot(x, y.T)", ("n", "n"), FLOATS),
            ("np.outer(w, v)", ("n", "m"), FLOATS), ("np.dot(v, v)", (), FLOATS), ("(x * y).sum(axis=1)", ("n",), FLOATS),
            ("np.einsum('ij,ij->i', x, y)", ("n",), FLOATS), ("q @ q.T", ("n", "n"), INTS), ("np.trace(x @ x.T)", (), FLOATS),
            ("np.linalg.norm(x)", (), FLOATS), ("np.linalg.norm(x, axis=1)", ("n",), FLOATS), ("np.kron(w, v)", ("n*m",), FLOATS),
        ])  # fmt: skip
        return Value(text, axes, kind)

    def ordered(self) -> Value:
        """Sorted, or what follows from order."""
        a = self.pick(FLOATS, INTS)
        text, axes, kind = self.draw.choice([
            ("np.sort({0})", a.axes, a.kind), ("np.argsort({0}, kind='stable')", a.axes, INTS), ("np.unique({0})", ("?",), a.kind),
            ("np.sort({0}, axis=0)", a.axes, a.kind), ("np.searchsorted(np.sort(v), {0})", a.axes, INTS), ("np.unique({0}).size", (), INTS),
            ("np.flatnonzero({0})", ("?",), INTS), ("np.percentile({0}, 30)", (), FLOATS), ("np.isin({0}, v)", a.axes, BOOLS),
        ])  # fmt: skip
        return Value(text.format(a.text), axes, kind)

    def running(self) -> Value:
        """Sums and differences along."""
        a = self.pick(FLOATS, INTS)
        last = a.axes[-1]
        text, axes = self.draw.choice([
            ("np.cumsum({0})", ("*".join(a.axes),)), ("{0}.cumsum(axis=0)", a.axes), ("np.diff({0})", (*a.axes[:-1], f"{last}-1")),
            ("np.roll({0}, 1)", a.axes), ("np.roll({0}, -2, axis=0)", a.axes), ("np.maximum.accumulate({0})", a.axes),
        ])  # fmt: skip
        return Value(text.format(a.text), axes, a.kind)

    def converted(self) -> Value:
        """Of another dtype."""
        a = self.pick()
        dtype, kind = self.draw.choice(
            [("np.float32", FLOATS), ("np.float64", FLOATS), ("np.int64", INTS), ("np.int32", INTS), ("float", FLOATS)]
        )
        text = f"np.clip({a.text}, -99, 99)" if a.kind == FLOATS and kind == INTS else f"({a.text})"
        text = f"np.nan_to_num({text})" if a.kind == FLOATS and kind == INTS else text
        return Value(f"{text}.astype({dtype})", a.axes, kind)

    def by_places(self) -> Value:
        """Rows or elements at places."""
        text, axes, kind = self.draw.choice([
            ("x[idx]", ("n", "m"), FLOATS), ("w[idx]", ("n",), FLOATS), ("x[idx, 0]", ("n",), FLOATS), ("np.take(w, idx)", ("n",), FLOATS),
            ("q[idx][:, 0]", ("n",), INTS), ("np.bincount(idx)", ("?",), INTS), ("np.bincount(idx, minlength=len(w))", ("?",), INTS),
            ("x[np.arange(len(w)), idx % x.shape[1]]", ("n",), FLOATS), ("np.take_along_axis(x, idx[:, None] % x.shape[1], axis=1)", ("n", "1"), FLOATS),
            ("x[::-1][idx]", ("n", "m"), FLOATS),
        ])  # fmt: skip
        return Value(text, axes, kind)

    def of_library(self) -> Value:
        """What NumPy has a function for."""
        text, axes, kind = self.draw.choice(LIBRARY)
        a = self.pick(FLOATS)
        return Value(text.format(a.text), a.axes if axes == ("same",) else axes, kind)
