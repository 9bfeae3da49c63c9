"""The parts of a tensor that index tensors name, as an LLVM function of a module of routines."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph.routines.copies import COPY, each_place
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, TRUE
from flambeau.codegen.llvm.emitter import Value

PICK = "flambeau_tensor_pick"
"""``(target, source, indexes, places, rest, bytes of an element)``: each part goes to the place of its indexes; false
where an index is outside its axis.

``indexes``: how many there are, then of each its data, the bytes of a number, the size and the stride of the axis it
is about, and the address of its strides. ``places``: the rank of the sizes that the indexes have together, and the
addresses of these and of the target's strides along them. ``rest``: the rank of a part, and the addresses of its sizes,
its strides in the target and those in the source.
"""
PICK_TYPE = "i1 (ptr, ptr, ptr, ptr, ptr, i64)"


def add_pick(m: ModuleBuilder) -> None:
    """Add `PICK`; the module has `COPY`."""
    f = m.function(
        f"i1 {PICK}", "ptr to", "ptr from", "ptr indexes", "ptr places", "ptr rest", "i64 width", exported=True
    )
    to, source, indexes, layout, rest, width = f.parameters
    count, first = f.word_of(indexes, 0), f.at(indexes, 1)
    rank, sizes, to_strides = f.word_of(layout, 0), f.word_of(layout, 1, "ptr"), f.word_of(layout, 2, "ptr")
    part = [f.word_of(rest, 0), *(f.word_of(rest, k, "ptr") for k in (1, 2, 3))]
    is_element = f.compare("eq", part[0], 0)
    done = f.array("i64", f.op("add", rank, 1))
    with f.loop(rank) as k:
        f.return_if(f.compare("eq", f.word_of(sizes, k), 0), TRUE)
        f.set_word(done, k, 0)
    offset = f.variable(0)

    def one(at: Sequence[Value]) -> None:
        f.store(offset, 0, "i64")
        with f.loop(count) as number:
            index = f.at(first, f.op("mul", number, 5))
            size = f.word_of(index, 2)
            position = _number_at(f, index, rank, done)
            position = f.pick(f.compare("slt", position, 0), f.op("add", position, size), position)
            f.return_unless(f.compare("ult", position, size), FALSE)
            f.store(offset, f.op("add", f.load(offset), f.op("mul", position, f.word_of(index, 3))))
        begin = f.at(source, f.load(offset), "i8")
        alone, many, after = f.label("alone"), f.label("many"), f.label("after")
        f.branch_if(is_element, alone, many)
        f.start(alone, falls_through=False)
        f.call("copy_run", at[0], begin, 1, width, width, width)
        f.branch(after)
        f.start(many, falls_through=False)
        f.call(COPY, at[0], begin, part[0], part[1], part[2], part[3], width)
        f.branch(after)
        f.start(after, falls_through=False)

    each_place(f, rank, sizes, done, ((to, to_strides),), one)
    f.ret(TRUE)


def _number_at(f: FunctionBuilder, index: Value, rank: Value, position: Value) -> Value:
    """The number of an index tensor at a position."""
    strides, at = f.word_of(index, 4, "ptr"), f.variable(f.word_of(index, 0, "ptr"))
    with f.loop(rank) as axis:
        step = f.op("mul", f.word_of(position, axis), f.word_of(strides, axis))
        f.store(at, f.at(f.load(at, "ptr"), step, "i8"))
    address = f.load(at, "ptr")
    return f.choose(
        f.compare("eq", f.word_of(index, 1), 8),
        lambda: f.load(address),
        lambda: f.convert("sext", f.load(address, "i32"), "i64"),
    )
