"""The strides of a view under new sizes, as an LLVM function of a module of routines."""

from __future__ import annotations

from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, TRUE

RESIZE = "flambeau_tensor_resize"
"""``(rank, sizes, strides, new rank, new sizes, new strides, bytes of an element)``: the strides with which the same
memory shows the same elements in order under new sizes, of which there are as many; false where there are none.
"""
RESIZE_TYPE = "i1 (i64, ptr, ptr, i64, ptr, ptr, i64)"


def add_resize(m: ModuleBuilder) -> None:
    """Add `RESIZE`: as `tensor.layout.view_strides` finds them; a tensor that lies in one piece stays so."""
    f = m.function(
        f"i1 {RESIZE}", "i64 rank", "ptr sizes", "ptr strides", "i64 new_rank", "ptr new_sizes", "ptr new_strides",
        "i64 width", exported=True,
    )  # fmt: skip
    rank, sizes, strides, *_, width = f.parameters
    step, whole, empty = f.variable(width), f.variable(TRUE, "i1"), f.variable(FALSE, "i1")
    with f.loop(rank) as k:
        axis = f.op("sub", f.op("sub", rank, 1), k)
        size, before = f.word_of(sizes, axis), f.load(step)
        fits = f.op("or", f.compare("eq", size, 1), f.compare("eq", f.word_of(strides, axis), before))
        f.store(whole, f.op("and", f.load(whole, "i1"), fits))
        f.store(empty, f.op("or", f.load(empty, "i1"), f.compare("eq", size, 0)))
        f.store(step, f.op("mul", before, size))
    with f.when(f.load(empty, "i1")):
        _keep_empty(f)
    with f.when(f.load(whole, "i1")):
        _fill_dense(f)
        f.ret(TRUE)
    _fill_by_chunks(f)


def _fill_dense(f: FunctionBuilder) -> None:
    """Row-major strides for the new sizes; an axis without elements counts as one element."""
    *_, new_rank, new_sizes, new_strides, width = f.parameters
    step = f.variable(width)
    with f.loop(new_rank) as k:
        axis = f.op("sub", f.op("sub", new_rank, 1), k)
        size, before = f.word_of(new_sizes, axis), f.load(step)
        f.set_word(new_strides, axis, before)
        f.store(step, f.op("mul", before, f.pick(f.compare("eq", size, 0), 1, size)))


def _keep_empty(f: FunctionBuilder) -> None:
    """Without elements: its own strides under its own sizes, else row-major ones."""
    rank, sizes, strides, new_rank, new_sizes, new_strides, _ = f.parameters
    other = f.label("other")
    f.require(f.compare("eq", rank, new_rank), other)
    with f.loop(rank) as k:
        f.require(f.compare("eq", f.word_of(sizes, k), f.word_of(new_sizes, k)), other)
    with f.loop(rank) as k:
        f.set_word(new_strides, k, f.word_of(strides, k))
    f.ret(TRUE)
    f.start(other, falls_through=False)
    _fill_dense(f)
    f.ret(TRUE)


def _fill_by_chunks(f: FunctionBuilder) -> None:
    """Axes that lie in one another make a chunk, which a few of the new axes must fill."""
    rank, sizes, strides, new_rank, new_sizes, new_strides, _ = f.parameters
    left, seen = f.variable(new_rank), f.variable(1)
    """How many new axes have no stride yet; how many elements those of this chunk have."""
    outermost = f.op("sub", rank, 1)
    count, chunk_stride = f.variable(1), f.variable(f.word_of(strides, outermost))
    with f.loop(rank) as k:
        axis = f.op("sub", outermost, k)
        total = f.op("mul", f.load(count), f.word_of(sizes, axis))
        f.store(count, total)
        is_last = f.compare("eq", axis, 0)
        outer = f.pick(is_last, 0, f.op("sub", axis, 1))
        outer_size, outer_stride = f.word_of(sizes, outer), f.word_of(strides, outer)
        step = f.load(chunk_stride)
        parted = f.op(
            "and", f.compare("ne", outer_size, 1), f.compare("ne", outer_stride, f.op("mul", total, step))
        )  # fmt: skip
        with f.when(f.op("or", is_last, parted)):
            ask, take, full = f.label("ask"), f.label("take"), f.label("full")
            f.start(ask)
            number = f.load(left)
            at = f.pick(f.compare("eq", number, 0), 0, f.op("sub", number, 1))
            some = f.compare("ne", number, 0)
            look, test = f.label("look"), f.label("test")
            f.branch_if(some, look, full)
            f.start(look, falls_through=False)
            size, so_far = f.word_of(new_sizes, at), f.load(seen)
            f.branch(test)
            f.start(test, falls_through=False)
            wants = f.op("or", f.compare("slt", so_far, total), f.compare("eq", size, 1))
            f.branch_if(wants, take, full)
            f.start(take, falls_through=False)
            f.set_word(new_strides, at, f.op("mul", so_far, step))
            f.store(seen, f.op("mul", so_far, size))
            f.store(left, at)
            f.branch(ask)
            f.start(full, falls_through=False)
            f.return_unless(f.compare("eq", f.load(seen), total), FALSE)
            f.store(seen, 1, "i64")
            f.store(count, 1, "i64")
            f.store(chunk_stride, outer_stride)
    f.ret(f.compare("eq", f.load(left), 0))
