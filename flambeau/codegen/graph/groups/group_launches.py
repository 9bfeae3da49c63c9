"""How native functions run fused groups: by the launches of kernels, chosen by sizes and strides."""

from __future__ import annotations

from flambeau.codegen.graph.entry.abi import NO_MEMORY
from flambeau.codegen.layouts import BLOCK_DATA, CONTEXT, LAUNCH, OUTPUT, RELEASE_GIL
from flambeau.codegen.llvm.abi import NO_MEMORY as NO_SCRATCH
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry_patterns import FRAME_WORDS
from flambeau.codegen.llvm.launch_inputs import WordInputs
from flambeau.codegen.llvm.launch_search import add_search
from flambeau.codegen.llvm.launch_start import LaunchBlock, add_start
from flambeau.codegen.llvm.recorded_launches import add_recorded

NO_LAUNCH = -4
"""No launch is made for such sizes and strides."""


def add_run_group(m: ModuleBuilder, name: str) -> None:
    """Add ``run_group(context, cell, inputs, n_in, outputs)``: a fused group by the launch for sizes and strides.

    It gives `NO_LAUNCH` where there is none yet. ``inputs`` and ``outputs`` are arrays of addresses: for each input its
    words from ``data`` on (for a number the address of the number), for each output all its words, the size of an
    element in the word before them. It gives 0, 1 where the group failed (a division by zero), `INTERRUPTED` or
    `NO_MEMORY`. The module has ``new_block``, and imports ``save_thread``, ``allocate`` and ``free``.
    """
    add_search(m, WordInputs())
    add_recorded(m, "allocate")
    add_start(m)
    _add_make_outputs(m)
    _add_run_launch(m)
    f = m.function(
        f"i64 {name}", "ptr context", "ptr cell", "ptr inputs", "i64 n_in", "ptr outputs", exported=True
    )  # fmt: skip
    context, cell, inputs, n_in, outputs = f.parameters
    shape_slot, count_slot = f.slot("ptr", 8), f.slot("i64", 8)
    frame = f.slot(f"[{FRAME_WORDS} x i64]", 16)
    launch = f.call("find_launch", cell, inputs, n_in, shape_slot, count_slot, frame)
    with f.when(f.is_null(launch)):
        recorded = f.call("recorded_launch", cell, inputs, n_in)
        f.return_if(f.is_null(recorded), NO_LAUNCH)
        code = f.call("run_launch", context, recorded, inputs, outputs, NULL, word(-1))
        f.call("free", recorded)
        f.ret(code)
    f.ret(f.call("run_launch", context, launch, inputs, outputs, f.load(shape_slot, "ptr"), f.load(count_slot)))


def _add_run_launch(m: ModuleBuilder) -> None:
    """``run_launch(context, launch, inputs, outputs, shape, count)``: what ``run_group`` gives, by a launch."""
    f = m.function(
        "i64 run_launch", "ptr context", "ptr launch", "ptr inputs", "ptr outputs", "ptr shape", "i64 count"
    )  # fmt: skip
    context, launch, inputs, outputs, shape, count = f.parameters
    error = f.slot("i32", 4)
    code = f.call("make_outputs", context, launch, outputs, shape, count)
    f.return_unless(f.compare("eq", code, 0), code)
    block = LaunchBlock(f, launch, count, error)
    block.put_inputs(inputs, lambda words, _record, _number: f.call("data_of", words))
    with f.loop(block.n_out) as k:
        block.put_output(k, f.word_of(f.word_of(outputs, k, "ptr"), 1))
    with f.when(f.compare("ne", f.op("and", f.get(launch, LAUNCH, "flags"), RELEASE_GIL), 0)):
        _give_up_gil(f, context)
    f.call("start", launch, block.address, count)
    failure = f.load(error, "i32")
    f.return_if(f.compare("eq", failure, NO_SCRATCH), NO_MEMORY)
    f.ret(f.convert("zext", f.compare("ne", failure, 0), "i64"))


def _give_up_gil(f: FunctionBuilder, context: Value) -> None:
    """Unless that has been done already."""
    with f.when(f.is_null(f.get(context, CONTEXT, "thread"))):
        f.put(context, CONTEXT, thread=f.call("save_thread"))
        f.declare("declare i64 @llvm.readcyclecounter()")
        f.put(context, CONTEXT, polled=f.define("call i64 @llvm.readcyclecounter()", "i64"))


def _add_make_outputs(m: ModuleBuilder) -> None:
    """``make_outputs(context, launch, outputs, shape, count)``: new blocks for a launch's outputs, and their words."""
    f = m.function("i64 make_outputs", "ptr context", "ptr launch", "ptr outputs", "ptr shape", "i64 count")
    context, launch, outputs, shape, count = f.parameters
    room = f.slot(f"[{OUTPUT.words} x i64]", 8)
    records = f.get(launch, LAUNCH, "outputs")
    with f.loop(f.get(launch, LAUNCH, "n_out")) as k:
        words = f.word_of(outputs, k, "ptr")
        record = f.call("sized", f.at(records, f.op("mul", k, OUTPUT.words)), room, shape, count)
        rank, strides = f.get(record, OUTPUT, "rank"), f.get(record, OUTPUT, "strides")
        block = f.call("new_block", context, f.get(record, OUTPUT, "bytes"))
        f.return_if(f.is_null(block), NO_MEMORY)
        f.set_word(words, 0, block)
        f.set_word(words, 1, f.at(block, BLOCK_DATA, "i8"))
        dims, size = f.at(words, 2), f.op("mul", rank, 8)
        f.copy(dims, f.get(record, OUTPUT, "dims"), size)
        own_strides = f.at(dims, rank)
        copy, done = f.label("copy"), f.label("laid_out")
        f.require(f.is_null(strides), copy)
        _row_major_strides(f, own_strides, dims, rank, f.word_of(words, -1))
        f.branch(done)
        f.start(copy)
        f.copy(own_strides, strides, size)
        f.start(done)
    f.ret(0)


def _row_major_strides(f: FunctionBuilder, strides: Value, dims: Value, rank: Value, itemsize: Value) -> None:
    loop = f.loop(rank, itemsize)
    with loop as k:
        (stride,) = loop.values
        axis = f.op("sub", f.op("sub", rank, 1), k)
        f.set_word(strides, axis, stride)
        size = f.word_of(dims, axis)
        loop.carry(f.op("mul", stride, f.pick(f.compare("eq", size, 0), 1, size)))
