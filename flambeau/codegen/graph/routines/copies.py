"""Copies between tensors whose axes lie anyhow, as LLVM functions of a module of routines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.emitter import Value

COPY = "flambeau_tensor_copy"
"""``(target, source, rank, sizes, strides of the target, strides of the source, bytes of an element)``: every element
to the same place. The two do not overlap.
"""
COPY_TYPE = "void (ptr, ptr, i64, ptr, ptr, ptr, i64)"


def add_copy(m: ModuleBuilder) -> None:
    """Add `COPY`. The axes that both tensors go along evenly are one; the last of what is left is copied at a time."""
    _copy_run(m)
    f = m.function(
        f"void {COPY}", "ptr to", "ptr from", "i64 rank", "ptr sizes", "ptr to_strides", "ptr from_strides",
        "i64 width", exported=True,
    )  # fmt: skip
    to, source, rank, sizes, to_strides, from_strides, width = f.parameters
    counts, tos, froms, done = (f.array("i64", f.op("add", rank, 1)) for _ in range(4))
    last = f.variable(0)
    """The axis that the next one may go on from."""
    f.set_word(counts, 0, 1)
    f.set_word(tos, 0, width)
    f.set_word(froms, 0, width)
    with f.loop(rank) as axis:
        size = f.word_of(sizes, axis)
        f.return_if(f.compare("eq", size, 0))
        with f.when(f.compare("ne", size, 1)):
            to_step, from_step = f.word_of(to_strides, axis), f.word_of(from_strides, axis)
            at = f.load(last)
            count = f.word_of(counts, at)
            goes_on = f.all_of(
                f.compare("eq", f.word_of(tos, at), f.op("mul", size, to_step)),
                f.compare("eq", f.word_of(froms, at), f.op("mul", size, from_step)),
            )
            is_first = f.compare("eq", count, 1)
            joins = f.op("or", goes_on, is_first)
            position = f.pick(joins, at, f.op("add", at, 1))
            f.store(last, position)
            f.set_word(counts, position, f.pick(joins, f.op("mul", count, size), size))
            f.set_word(tos, position, to_step)
            f.set_word(froms, position, from_step)
    inner = f.load(last)
    run, to_step, from_step = f.word_of(counts, inner), f.word_of(tos, inner), f.word_of(froms, inner)
    with f.loop(inner) as axis:
        f.set_word(done, axis, 0)

    def copy_run(at: Sequence[Value]) -> None:
        f.call("copy_run", *at, run, to_step, from_step, width)

    each_place(f, inner, counts, done, ((to, tos), (source, froms)), copy_run)
    f.ret()


def _copy_run(m: ModuleBuilder) -> None:
    """``copy_run(target, source, count, steps of both, bytes)``: the elements of one axis."""
    f = m.function("void copy_run", "ptr to", "ptr from", "i64 count", "i64 to_step", "i64 from_step", "i64 width")
    to, source, count, to_step, from_step, width = f.parameters
    is_run = f.all_of(f.compare("eq", to_step, width), f.compare("eq", from_step, width))
    with f.when(is_run):
        f.copy(to, source, f.op("mul", count, width))
        f.ret()
    labels = {size: f.label("width") for size in (1, 2, 4, 8, 16)}
    f.switch(width, labels[16], {size: label for size, label in labels.items() if size != 16})
    for size, label in labels.items():
        f.start(label, falls_through=False)
        kind = f"i{size * 8}"
        beside, apart = f.label("beside"), f.label("apart")
        f.branch_if(f.compare("eq", to_step, width), beside, apart)
        for way in (beside, apart):
            f.start(way, falls_through=False)
            with f.loop(count) as k:
                value = f.load(f.at(source, f.op("mul", k, from_step), "i8"), kind, ", align 1")
                step = f.typed(size, "i64") if way == beside else to_step
                f.store(f.at(to, f.op("mul", k, step), "i8"), value, access=", align 1")
            f.ret()


def each_place(
    f: FunctionBuilder, rank: Value, sizes: Value, done: Value, moving: Sequence[tuple[Value, Value]],
    body: Callable[[Sequence[Value]], None],
) -> None:  # fmt: skip
    """``body`` of the addresses at every place of these sizes, none of which is 0, row-major. ``moving``: addresses
    with their strides; ``done``: words for the place, all 0.
    """
    slots = [f.variable(address) for address, _ in moving]
    again, onward, carry, turned, stop = (f.label(n) for n in ("place", "onward", "carry", "turned", "stop"))
    axis = f.variable(0)
    f.start(again)
    body([f.load(slot, "ptr") for slot in slots])
    f.store(axis, rank)
    f.start(onward)
    k = f.op("sub", f.load(axis), 1)
    f.store(axis, k)
    f.branch_if(f.compare("slt", k, 0), stop, carry)
    f.start(carry, falls_through=False)
    following = f.op("add", f.word_of(done, k), 1)
    is_over = f.compare("eq", following, f.word_of(sizes, k))
    for slot, (_, strides) in zip(slots, moving, strict=True):
        stride = f.word_of(strides, k)
        back = f.op("sub", stride, f.op("mul", stride, following))
        f.store(slot, f.at(f.load(slot, "ptr"), f.pick(is_over, back, stride), "i8"))
    f.set_word(done, k, f.pick(is_over, 0, following))
    f.branch_if(is_over, onward, turned)
    f.start(turned, falls_through=False)
    f.branch(again)
    f.start(stop, falls_through=False)
