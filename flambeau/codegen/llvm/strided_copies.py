"""Copies of elements between arrays in memory, as functions of a module: by distances along axes, and by places.

Axes that lie as one in both arrays are gone over as one, so that most copies are a few runs of bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, TRUE, word
from flambeau.codegen.llvm.emitter import Value

MOST_AXES: Final = 8
"""Axes of an array that is copied."""
_RUNS: Final = (1, 2, 4, 8, 16)
"""Bytes that one instruction moves."""
_ANYWHERE: Final = ", align 1"


def add_copies(m: ModuleBuilder) -> None:
    """Add ``copy_axes`` and ``copy_places``."""
    _add_copy_line(m)
    _add_copy_axes(m)
    _add_copy_places(m)


def each_size(f: FunctionBuilder, run: Value, build: Callable[[Callable[[Value, Value], None]], None]) -> None:
    """Build code for each number of bytes that is moved at once: `build` gets what moves them from an address to
    another."""
    labels = {size: f.label(f"run{size}_") for size in _RUNS}
    other, done = f.label("any_run"), f.label("copied")
    f.switch(run, other, labels)
    for size, label in labels.items():
        f.start(label, falls_through=False)
        build(_mover(f, size))
        f.branch(done)
    f.start(other, falls_through=False)
    build(lambda target, source: f.copy(target, source, run))
    f.start(done)


def _mover(f: FunctionBuilder, size: int) -> Callable[[Value, Value], None]:
    def move(target: Value, source: Value) -> None:
        f.store(target, f.load(source, f"i{8 * size}", access=_ANYWHERE), access=_ANYWHERE)

    return move


def _add_copy_line(m: ModuleBuilder) -> None:
    """``copy_line(target, source, n, target_step, source_step, run)``: so many runs of bytes, some way apart."""
    f = m.function(
        "void copy_line", "ptr target", "ptr source", "i64 n", "i64 target_step", "i64 source_step", "i64 run"
    )
    target, source, n, target_step, source_step, run = f.parameters

    def line(move: Callable[[Value, Value], None]) -> None:
        with f.loop(n) as k:
            to, come = f.op("mul", k, target_step), f.op("mul", k, source_step)
            move(f.at(target, to, "i8"), f.at(source, come, "i8"))

    each_size(f, run, line)
    f.ret()


def _add_copy_axes(m: ModuleBuilder) -> None:
    """``copy_axes(target, source, rank, dims, target_steps, source_steps, item)``: elements of so many bytes from where
    one array has them to where another one has."""
    f = m.function(
        "void copy_axes", "ptr target", "ptr source", "i64 rank", "ptr dims", "ptr target_steps", "ptr source_steps",
        "i64 item",
    )  # fmt: skip
    target, source, rank, dims, target_steps, source_steps, item = f.parameters
    axes = [f.slot(f"[{MOST_AXES + 1} x i64]", 8) for _ in range(3)]
    for memory, value in zip(axes, (item, word(1), word(1)), strict=True):  # bytes are the innermost axis
        f.set_word(memory, 0, value)
    top = f.variable(word(0))
    walk = f.loop(rank)
    with walk as k:
        axis = f.op("sub", f.op("sub", rank, 1), k)
        size = f.word_of(dims, axis)
        f.return_if(f.compare("eq", size, 0))
        f.require(f.compare("ne", size, 1), walk.next)
        _take_axis(f, axes, top, size, f.word_of(target_steps, axis), f.word_of(source_steps, axis))
    last = f.load(top)
    run = f.word_of(axes[0], 0)
    with f.when(f.compare("eq", last, 0)):
        f.copy(target, source, run)
        f.ret()
    line = [f.word_of(memory, 1) for memory in axes]
    _over_outer_axes(f, axes, last, lambda to, come: f.call(
        "copy_line", f.at(target, to, "i8"), f.at(source, come, "i8"), *line, run
    ))  # fmt: skip
    f.ret()


def _take_axis(
    f: FunctionBuilder, axes: list[Value], top: Value, size: Value, target_step: Value, source_step: Value
) -> None:
    """Count an axis: as one with the one inside of it where both arrays have them so."""
    at = f.load(top)
    inside, *steps = [f.word_of(memory, at) for memory in axes]
    fits = [
        f.compare("eq", mine, f.op("mul", step, inside))
        for mine, step in zip((target_step, source_step), steps, strict=True)
    ]
    joined, apart, done = f.label("joined"), f.label("apart"), f.label("counted")
    f.branch_if(f.all_of(*fits), joined, apart)
    f.start(joined)
    f.set_word(axes[0], at, f.op("mul", inside, size))
    f.branch(done)
    f.start(apart, falls_through=False)
    following = f.op("add", at, 1)
    f.store(top, following)
    for memory, value in zip(axes, (size, target_step, source_step), strict=True):
        f.set_word(memory, following, value)
    f.start(done)


def _over_outer_axes(
    f: FunctionBuilder, axes: list[Value], last: Value, build: Callable[[Value, Value], object]
) -> None:
    """Build what runs for each place along the axes from the third on, at two distances in bytes."""
    counts = f.slot(f"[{MOST_AXES + 1} x i64]", 8)
    f.clear(counts, MOST_AXES + 1)
    distances = [f.variable(word(0)) for _ in range(2)]
    product = f.loop(f.op("sub", last, 1), word(1))
    with product as k:
        product.carry(f.op("mul", product.values[0], f.word_of(axes[0], f.op("add", k, 2))))
    with f.loop(product.values[0]):
        build(*map(f.load, distances))
        step = f.loop(f.op("sub", last, 1))
        with step as k:
            axis = f.op("add", k, 2)
            size, *steps = [f.word_of(memory, axis) for memory in axes]
            count = f.op("add", f.word_of(counts, axis), 1)
            is_over = f.compare("eq", count, size)
            f.set_word(counts, axis, f.pick(is_over, 0, count))
            for distance, one in zip(distances, steps, strict=True):
                back = f.op("mul", one, f.op("sub", word(1), size))
                f.store(distance, f.op("add", f.load(distance), f.pick(is_over, back, one)))
            f.require(is_over, step.after)


def place_at(f: FunctionBuilder, places: Value, number: Value, step: Value, is_wide: Value) -> Value:
    """A place of a list of places, so many bytes apart: of 64 bits, or of 32."""
    address = f.at(places, f.op("mul", number, step), "i8")
    return f.choose(
        is_wide,
        lambda: f.load(address, "i64", access=_ANYWHERE),
        lambda: f.convert("sext", f.load(address, "i32", access=_ANYWHERE), "i64"),
    )


def _add_copy_places(m: ModuleBuilder) -> None:
    """``copy_places(target, source, size, run, places, count, step, is_wide, wraps)``: of so many runs of bytes those
    at places, in their order; whether all places are there. With ``wraps`` those below zero count from the end."""
    f = m.function(
        "i1 copy_places", "ptr target", "ptr source", "i64 size", "i64 run", "ptr places", "i64 count", "i64 step",
        "i1 is_wide", "i1 wraps",
    )  # fmt: skip
    target, source, size, run, places, count, step, is_wide, wraps = f.parameters
    added = f.pick(wraps, size, 0)

    def pick(move: Callable[[Value, Value], None]) -> None:
        with f.loop(count) as k:
            where = place_at(f, places, k, step, is_wide)
            where = f.op("add", where, f.pick(f.compare("slt", where, 0), added, 0))
            f.return_unless(f.compare("ult", where, size), FALSE)
            move(f.at(target, f.op("mul", k, run), "i8"), f.at(source, f.op("mul", where, run), "i8"))

    each_size(f, run, pick)
    f.ret(TRUE)
