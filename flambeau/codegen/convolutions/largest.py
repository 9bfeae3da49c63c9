"""The largest number of every window, and where it is: vectors of windows side by side, one step for each element.

Images are copied as for the sums (`sums`), with the least number around them: each step of a table is a vector of the
copy, and how far its elements lie from their window's first in the image. Of equal numbers the first is taken; of
several nan the last.
"""

from __future__ import annotations

from flambeau.codegen.convolutions.copies import build_copies
from flambeau.codegen.convolutions.launch_functions import launch_function
from flambeau.codegen.convolutions.sums import unit_of
from flambeau.codegen.convolutions.tile import STEP
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import LARGEST, LARGEST_AT, PART, PROBLEM
from flambeau.codegen.layouts import WORD
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value, float_constant, vector_type
from flambeau.codegen.llvm.memory import iota

SYMBOL, OF_LAUNCH = "largest_of_windows", "largest_of_launch"


def largest_text(floats: Floats) -> str:
    """The module whose function `SYMBOL(words, low, high)` goes over the images and channels of a range.

    `w` has the place of the first element inside of each row and column of windows, as ints of 32 bits: rows, then
    columns. `bias` is where places go, one after another as results would lie row-major; null where nobody asks.
    `OF_LAUNCH` is the kernel of launches.
    """
    m = VectorModule(floats)
    build_copies(m, -float("inf"))
    _build_row(m)
    _build_units(m)
    _build_launch(m)
    return m.builder.text()


def _ints(f: VectorFunction, value: Value) -> Value:
    """A word in every lane, as ints of 32 bits."""
    return f.splat(f.define(f"trunc i64 {value} to i32", "i32"), f.floats.lanes)


def _build_row(m: VectorModule) -> None:
    """``largest_row``: one row of windows, whose first has its first element at `index` of the image."""
    f = m.function(
        "void largest_row", "ptr words", "ptr x", "ptr y", "ptr places", "i64 count", "i64 place", "ptr inside",
        "i64 first",
    )  # fmt: skip
    words, x, y, indices, count, index, inside, first = f.parameters
    get = {name: f.get(words, PROBLEM, name) for name in ("parts", "step_columns", "y_column")}
    table, steps = (f.get(get["parts"], PART, name) for name in ("table", "steps"))
    lanes, size, t = m.floats.lanes, m.floats.itemsize, m.floats.type
    lowest = float_constant(-float("inf"), t, lanes)
    numbers = iota(lanes, "i32")
    apart = _ints(f, get["step_columns"])
    with f.loop(f.divided_up(count, lanes)) as v:
        start = f.op("mul", v, lanes)
        left = f.op("sub", count, start)
        here = f.moved(x, f.bytes_of(start))
        columns = f.op("add", _ints(f, start), numbers)
        at = f.op("add", f.op("mul", columns, apart), _ints(f, index))
        firsts = f.read(f.moved(inside, f.op("mul", start, 4)), "i32", lanes, align=4)
        began = f.op("add", firsts, _ints(f, first))

        def step(k: Value, state: list[Value], here: Value = here, at: Value = at) -> list[Value]:
            best, best_at = state
            entry = f.at(table, f.op("mul", k, STEP), "i8")
            from_x, further = (f.read(f.at(entry, n, "i8"), "i32") for n in (0, 4))
            value = f.vector(f.moved(here, f.define(f"sext i32 {from_x} to i64", "i64")))
            is_new = f.op("or", f.fcmp("ogt", value, best), f.fcmp("uno", value, value))
            index = f.op("add", at, f.splat(further, lanes))
            return [f.select(is_new, value, best), f.select(is_new, index, best_at)]

        best, best_at = f.fold(steps, [lowest, began], lambda k, s: step(k, list(s)))
        wide = f.convert("sext", best_at, "i64")
        to, to_places = f.moved(y, f.op("mul", start, get["y_column"])), f.moved(indices, f.op("mul", start, 8))
        whole, part, done = f.label("whole"), f.label("part"), f.label("stored")
        is_whole = f.all_of(f.compare("sge", left, lanes), f.compare("eq", get["y_column"], size))
        f.branch_if(is_whole, whole, part)
        f.start(whole)
        f.put_vector(best, to)
        with f.when(f.negated(f.is_null(indices))):
            f.write(wide, to_places, align=8)
        f.branch(done)
        f.start(part)
        kept = f.slot(vector_type(t, lanes)), f.slot(vector_type("i64", lanes))
        f.write(best, kept[0])
        f.write(wide, kept[1])
        with f.loop(f.least_of(left, lanes)) as k:
            f.write(f.read(f.moved(kept[0], f.bytes_of(k)), t), f.moved(to, f.op("mul", k, get["y_column"])))
            with f.when(f.negated(f.is_null(indices))):
                f.store(f.at(to_places, k), f.word_of(kept[1], k))
        f.start(done)
    f.ret()


def _build_units(m: VectorModule) -> None:
    f = m.function(f"void {SYMBOL}", "ptr words", "i64 low", "i64 high", exported=True)
    words, low, high = f.parameters
    get = f.fields(words, PROBLEM)
    raw = f.call("allocate", f.op("add", get["copy_bytes"], 64))
    f.leave_without_memory(raw, get["error"])
    all_rows, all_columns = (f.get(get["parts"], PART, name) for name in ("rows", "columns"))
    row_bytes = f.bytes_of(get["pitch"])
    with f.loop(f.op("sub", high, low)) as k:
        unit = unit_of(f, get, f.op("add", low, k))
        own = f.moved(get["x"], f.op("mul", unit.first, get["x_image"]), f.op("mul", unit.group, get["x_group"]))
        f.call("copy_band", words, own, raw, unit.images, unit.row, unit.column, 0, get["plane_count"])
        rows = f.least_of(get["band_rows"], f.op("sub", all_rows, unit.row))
        columns = f.least_of(get["chunk_columns"], f.op("sub", all_columns, unit.column))
        down, across = f.op("sub", word(0), get["before_rows"]), f.op("sub", word(0), get["before_columns"])
        with f.loop(unit.images) as image, f.loop(rows) as r:
            row, number = f.op("add", unit.row, r), f.op("add", unit.first, image)
            x = f.moved(raw, f.op("mul", image, f.bytes_of(get["image_size"])), f.op("mul", r, row_bytes))
            steps = [
                f.op("mul", a, get[b])
                for a, b in ((number, "y_image"), (unit.group, "y_filter"), (row, "y_row"), (unit.column, "y_column"))
            ]
            y = f.moved(get["y"], *steps)
            plane = f.op("add", f.op("mul", number, get["groups"]), unit.group)
            flat = f.op("add", f.op("mul", plane, all_rows), row)
            flat = f.op("add", f.op("mul", flat, all_columns), unit.column)
            there = f.pick(f.is_null(get["bias"]), get["bias"], f.moved(get["bias"], f.op("mul", flat, 8)), "ptr")
            top = f.op("add", f.op("mul", row, get["step_rows"]), down)
            left = f.op("add", f.op("mul", unit.column, get["step_columns"]), across)
            offset = f.op("add", f.op("mul", top, get["width"]), left)
            first = f.read(f.moved(get["w"], f.op("mul", row, 4)), "i32")
            first = f.op("mul", f.define(f"sext i32 {first} to i64", "i64"), get["width"])
            inside = f.moved(get["w"], f.op("mul", f.op("add", all_rows, unit.column), 4))
            f.call("largest_row", words, x, y, there, columns, offset, inside, first)
    f.call("free", raw)
    f.ret()


def _build_launch(m: VectorModule) -> None:
    f = launch_function(m, OF_LAUNCH)
    block, low, high = f.parameters
    call = f.word_of(block, LARGEST_AT, "ptr")
    own = f.slot(f"[{PROBLEM.words} x i64]", 16)
    f.copy(own, f.get(call, LARGEST, "problem"), PROBLEM.words * WORD, align=8)
    x, y, indices = (f.word_of(block, f.get(call, LARGEST, name), "ptr") for name in ("x", "y", "places"))
    inside = f.get(call, LARGEST, "inside")
    f.put(own, PROBLEM, x=x, w=inside, bias=indices, y=y, error=f.word_of(block, 0, "ptr"))
    f.call(SYMBOL, own, low, high)
    f.ret()
