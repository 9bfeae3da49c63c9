"""Launches that serve any size: what native code needs to see that a call fits one.

Such a launch is for pointwise kernels whose arrays all lie row-major and have one shape, beside numbers and arrays
without axes. Its sizes are taken from the call: it has one word for the number of elements, and its records say no
dimensions (0) but the size of an element in place of the strides.
"""

from __future__ import annotations

from flambeau.codegen.layouts import INPUT, LAUNCH, OUTPUT
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.launch_inputs import input_of

ALIGNED_FROM = 1 << 18
"""Outputs of at least this many bytes start on a 64-byte boundary."""


def add_sizes(m: ModuleBuilder) -> None:
    """Add ``common_size(launch, inputs, n, shape)`` and ``sized(record, room, shape, count)``.

    The first gives the number of elements of inputs that fit such a launch and leaves the address of their dimensions
    in ``shape``; -1 for others. The second gives an output's record with its sizes, for which there is ``room``; the
    record itself where ``shape`` is null.
    """
    _add_common_size(m)
    _add_sized(m)


def _add_common_size(m: ModuleBuilder) -> None:
    f = m.function("i64 common_size", "ptr launch", "ptr inputs", "i64 n", "ptr shape")
    launch, inputs, n, shape = f.parameters
    records = f.get(launch, LAUNCH, "inputs")
    loop = f.loop(n, NULL, word(-1))
    with loop as k:
        known, count = loop.values
        argument, record = input_of(f, inputs, records, k)
        rank = f.get(record, INPUT, "rank")
        is_number = f.is_null(f.get(record, INPUT, "descr"))
        passed, array, following = f.block, f.label("array"), f.label("following")
        f.branch_if(f.op("or", is_number, f.compare("eq", rank, 0)), following, array)
        f.start(array)
        dims = f.call("dims_of", argument)
        wanted = f.pick(f.is_null(known), dims, known, "ptr")
        f.require(f.call("same_numbers", dims, wanted, rank), "no")
        elements = _row_major_size(f, argument, record, dims, rank)
        looked_at = f.block
        f.start(following)
        f_known = f.joined_value([(known, passed), (wanted, looked_at)])
        loop.carry(f_known, f.joined_value([(count, passed), (elements, looked_at)]))
    known, count = loop.values
    f.store(shape, known)
    enough = f.compare("sge", count, f.get(launch, LAUNCH, "least"))
    f.require(f.op("and", enough, f.compare("sle", count, f.get(launch, LAUNCH, "most"))), "no")
    f.ret(count)
    f.start("no", falls_through=False)
    f.store(shape, NULL)
    f.ret(-1)


def _row_major_size(f: FunctionBuilder, argument: Value, record: Value, dims: Value, rank: Value) -> Value:
    """The number of elements of an array; goes to ``no`` where it is not row-major."""
    strides = f.call("strides_of", argument, rank)
    loop = f.loop(rank, f.get(record, INPUT, "strides", "i64"), word(1))
    with loop as k:
        step, product = loop.values
        axis = f.op("sub", f.op("sub", rank, 1), k)
        size = f.word_of(dims, axis)
        f.require(f.compare("eq", f.word_of(strides, axis), step), "no")
        factor = f.pick(f.compare("eq", size, 0), 1, size)
        loop.carry(f.op("mul", step, factor), f.op("mul", product, size))
    return loop.values[1]


def _add_sized(m: ModuleBuilder) -> None:
    f = m.function("ptr sized", "ptr record", "ptr room", "ptr shape", "i64 count")
    record, room, shape, count = f.parameters
    f.return_if(f.is_null(shape), record)
    f.copy(room, record, OUTPUT.words * 8, 8)
    total = f.op("mul", f.get(room, OUTPUT, "bytes"), count)
    large = f.convert("zext", f.compare("sge", total, ALIGNED_FROM), "i64")
    f.put(room, OUTPUT, dims=shape, bytes=total, large=large)
    f.ret(room)
