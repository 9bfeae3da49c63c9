"""Bands of images copied into planes with zeros around them, one plane for each channel and shift."""

from __future__ import annotations

from flambeau.codegen.convolutions.masked_rows import build_masked_rows, functions, number_of
from flambeau.codegen.convolutions.tile import clamped
from flambeau.codegen.convolutions.vectors import VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import PROBLEM
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value, float_constant


def build_copies(m: VectorModule, around: float = 0.0) -> None:
    """``copy_band``: `planes` planes from `first_plane` on of so many images from an address on, for results from a row
    and a column on; `around` is the number that lies around images.
    """
    if m.floats.has_masks:
        build_masked_rows(m, around)
    f = m.function(
        "void copy_band", "ptr words", "ptr source", "ptr target", "i64 images", "i64 row", "i64 column",
        "i64 first_plane", "i64 planes",
    )  # fmt: skip
    words, source, target, images, row, column, first_plane, planes = f.parameters
    get = f.fields(words, PROBLEM)
    image_bytes, row_bytes = f.bytes_of(get["image_size"]), f.bytes_of(get["pitch"])
    with f.loop(get["shift_count"]) as shift:
        two = f.op("mul", shift, 2)
        down, across = (f.word_of(get["shifts"], f.op("add", two, k)) for k in (0, 1))
        start = f.op("add", f.op("mul", column, get["step_columns"]), f.op("sub", across, get["before_columns"]))
        low = f.divided_up(f.most_of(f.op("sub", word(0), start), 0), get["step_columns"])
        low = f.least_of(low, get["pitch"])
        high = f.divided_up(f.most_of(f.op("sub", get["width"], start), 0), get["step_columns"])
        high = f.most_of(f.least_of(high, get["pitch"]), low)
        step = f.op("mul", get["step_columns"], get["x_column"])
        copier = RowCopier(f, step, low, high, get["pitch"], around)
        from_column = f.op("add", f.op("mul", start, get["x_column"]), f.op("mul", low, step))
        number = number_of(f, step, get["pitch"], low, high)
        with f.loop(planes) as plane, f.loop(images) as image:
            first = f.op("add", f.op("mul", shift, get["planes_each"]), plane)
            to = f.moved(target, f.op("mul", first, get["plane_bytes"]), f.op("mul", image, image_bytes))
            from_plane = f.word_of(get["planes"], f.op("add", first_plane, plane))
            near = f.moved(source, from_plane, f.op("mul", image, get["x_image"]), from_column)
            above = f.op("add", f.op("mul", row, get["step_rows"]), f.op("sub", down, get["before_rows"]))
            copied, others = f.label("plane_copied"), f.label("others")
            labels = {k: f.label(name) for k, name in functions().items()} if m.floats.has_masks else {}
            f.switch(number, others, labels)
            for k, label in labels.items():
                f.start(label, falls_through=False)
                f.call(
                    functions()[k], near, to, above, get["step_rows"], get["height"], get["x_row"], get["copy_rows"],
                    row_bytes, low, high, get["pitch"],
                )  # fmt: skip
                f.branch(copied)
            f.start(others, falls_through=False)
            with f.loop(get["copy_rows"]) as r:
                at = f.op("add", above, f.op("mul", r, get["step_rows"]))
                is_inside = f.compare("ult", at, get["height"])
                copier.copy(
                    f.moved(to, f.op("mul", r, row_bytes)), f.moved(near, f.op("mul", at, get["x_row"])), is_inside
                )
            f.branch(copied)
            f.start(copied, falls_through=False)
    f.ret()


class RowCopier:
    """Rows of `width` numbers: to `low` the one that lies `around`, to `high` what is `step` bytes apart, then as
    before.

    Up to a vector more may be written behind each row: rows are written in order.
    """

    def __init__(
        self, f: VectorFunction, step: Value, low: Value, high: Value, width: Value, around: float = 0.0
    ) -> None:
        self._f, self._step, self._width = f, step, width
        self._filling = float_constant(around, f.floats.type, f.floats.lanes)
        self._count, self._low, self._high = f.op("sub", high, low), low, high
        self._span = f.span(self._count)
        self._is_plain = f.compare("eq", step, f.floats.itemsize)

    def copy(self, target: Value, source: Value, is_inside: Value) -> None:
        """One row; zeros alone if it lies outside."""
        f = self._f
        low = f.pick(is_inside, self._low, self._width)
        self._zeros(target, word(0), low)
        with f.when(is_inside):
            to = f.moved(target, f.bytes_of(low))
            scattered, plain, copied = f.label("scattered"), f.label("plain"), f.label("copied")
            other = f.label("other") if f.floats.has_masks else scattered
            f.branch_if(self._is_plain, plain, other)
            if f.floats.has_masks:
                f.start(other)
                every_other = f.label("every_other")
                f.branch_if(f.compare("eq", self._step, 2 * f.floats.itemsize), every_other, scattered)
                f.start(every_other)
                self._every_other(to, source)
                f.branch(copied)
            f.start(plain)
            self._span.each(lambda at, lanes, mask: self._several(to, source, at, lanes, mask))
            f.branch(copied)
            f.start(scattered)
            with f.loop(self._count) as k:
                f.write(f.read(f.moved(source, f.op("mul", k, self._step)), f.floats.type), f.moved(to, f.bytes_of(k)))
            f.start(copied)
            self._zeros(target, self._high, self._width)

    def _every_other(self, to: Value, source: Value) -> None:
        """Every other number: two vectors read, of which one is written; none is read behind the last."""
        f, lanes = self._f, self._f.floats.lanes
        with f.loop(f.divided_up(self._count, lanes)) as v:
            done = f.op("mul", v, lanes)
            left = f.op("sub", f.op("mul", f.op("sub", self._count, done), 2), 1)
            here = f.moved(source, f.bytes_of(f.op("mul", done, 2)))
            near = f.vector(here, f.mask_below(left))
            far = f.vector(f.at(here, lanes * f.floats.itemsize, "i8"), f.mask_below(f.op("sub", left, lanes)))
            f.put_vector(f.shuffle(near, far, range(0, 2 * lanes, 2)), f.moved(to, f.bytes_of(done)))

    def _several(self, to: Value, source: Value, at: Value, lanes: int, mask: Value | None) -> None:
        f = self._f
        if lanes == 1:
            f.write(f.read(f.moved(source, at), f.floats.type), f.moved(to, at))
        else:
            # A whole vector is written for a part: zeros, or the next row, come over it.
            f.put_vector(f.vector(f.moved(source, at), mask), f.moved(to, at))

    def _zeros(self, target: Value, start: Value, end: Value) -> None:
        f = self._f
        lanes = f.floats.lanes
        with f.loop(f.divided_up(f.op("sub", end, start), lanes)) as k:
            f.put_vector(self._filling, f.moved(target, f.bytes_of(f.op("add", start, f.op("mul", k, lanes)))))


def build_finish(m: VectorModule, name: str, *, has_residual: bool) -> None:
    """``name``: rows of `count` sums to where results lie, `step` bytes apart, clamped to the last bounds; nan stays
    nan. With a residual its rows, whose numbers lie `residual_step` apart, are added first.
    """
    t, size = m.floats.type, m.floats.itemsize
    f = m.function(
        f"void {name}", "ptr sums", "ptr y", "i64 rows", "i64 count", "i64 pitch", "i64 row", "i64 step", "ptr words",
        "ptr residual", "i64 residual_row", "i64 residual_step",
    )  # fmt: skip
    sums, y, rows, count, pitch, row, step, words, residual, residual_row, residual_step = f.parameters
    bounds = [f.read(f.field(words, PROBLEM, name), t) for name in ("last_least", "last_most")]
    wide = [f.splat(b, m.floats.lanes) for b in bounds]
    span = f.span(count)

    def result(value: Value, beside: Value, lanes: int, mask: Value | None) -> Value:
        if has_residual:
            value = f.fadd(value, f.read(beside, t) if lanes == 1 else f.vector(beside, mask))
        return clamped(f, value, *(bounds if lanes == 1 else wide))

    scattered, plain, done = f.label("scattered"), f.label("plain"), f.label("finished")
    is_plain = f.compare("eq", step, size)
    if has_residual:
        is_plain = f.all_of(is_plain, f.compare("eq", residual_step, size))
    f.branch_if(is_plain, plain, scattered)
    f.start(plain)
    with f.loop(rows) as r:
        source, to = f.moved(sums, f.op("mul", r, pitch)), f.moved(y, f.op("mul", r, row))
        near = f.moved(residual, f.op("mul", r, residual_row))

        def several(at: Value, lanes: int, mask: Value | None) -> None:
            here, beside = f.moved(source, at), f.moved(near, at)
            if lanes == 1:
                f.write(result(f.read(here, t), beside, 1, None), f.moved(to, at))
            else:
                f.put_vector(result(f.vector(here), beside, lanes, mask), f.moved(to, at), mask)

        span.each(several)
    f.branch(done)
    f.start(scattered)
    with f.loop(rows) as r, f.loop(count) as k:
        source, to = f.moved(sums, f.op("mul", r, pitch)), f.moved(y, f.op("mul", r, row))
        near = f.moved(residual, f.op("mul", r, residual_row))
        value = f.read(f.moved(source, f.bytes_of(k)), t)
        value = result(value, f.moved(near, f.op("mul", k, residual_step)), 1, None)
        f.write(value, f.moved(to, f.op("mul", k, step)))
    f.start(done)
    f.ret()


def zero_of(m: VectorModule) -> Value:
    """A single 0."""
    return float_constant(0.0, m.floats.type, 1)
