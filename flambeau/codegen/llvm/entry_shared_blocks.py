"""Results whose block becomes the memory of their arrays: it leaves the ring of the call, and lives with its arrays.

The block then has its storage in place of the block before it and null in that of the next. The storage's array begins
where the block's elements do, so that offsets into it are counted from there.
"""

from __future__ import annotations

from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import ALIGNED, C_CONTIGUOUS, WRITEABLE
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value

_OWNED = C_CONTIGUOUS | ALIGNED | WRITEABLE


def add_view(m: ModuleBuilder) -> None:
    """Add ``view(words, rank, descr, base, flags)``: an array of a value's words on the memory of an object."""
    f = m.function("ptr view", "ptr words", "i64 rank", "ptr descr", "ptr base", "i32 flags")
    words, rank, descr, base, flags = f.parameters
    dims = f.at(words, 2)
    array = f.call("make_array", descr, rank, dims, f.at(dims, rank), f.word_of(words, 1, "ptr"), flags)
    f.return_if(f.is_null(array), NULL)
    f.call("Py_IncRef", base)
    f.call("set_base", array, base)
    f.ret(array)


def add_on_block(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add ``on_block(words, rank, descr, itemsize)``: a tensor on a block; null if there is no memory."""
    f = m.function("void free_block", "ptr capsule")
    f.call("PyMem_RawFree", f.call("PyCapsule_GetPointer", f.parameters[0], NULL))
    f.ret()
    _add_extent(m)
    f = m.function("ptr on_block", "ptr words", "i64 rank", "ptr descr", "i64 itemsize")
    words, rank, descr, _ = f.parameters
    block = f.word_of(words, 0, "ptr")
    following, previous = f.get(block, BLOCK, "next"), f.get(block, BLOCK, "previous")
    with f.when(f.is_null(following)):  # a result has made it an array's memory: `previous` is its storage
        f.call("Py_IncRef", previous)
        base = f.get(previous, layouts.storage, "base")
        f.ret(f.call("tensor_of", f.call("view", words, rank, descr, base, _OWNED), previous))
    owner = f.call("PyCapsule_New", f.get(block, BLOCK, "raw"), NULL, m.address("free_block"))
    f.return_if(f.is_null(owner), NULL)
    f.put(previous, BLOCK, next=following)
    f.put(following, BLOCK, previous=previous)
    array, storage = _array_and_storage(f, block, owner)
    f.call("Py_DecRef", owner)
    with f.when(f.op("or", f.is_null(array), f.is_null(storage))):
        f.call("tensor_of", array, storage)
        f.ret(NULL)
    f.put(block, BLOCK, previous=storage, next=NULL)
    f.ret(f.call("tensor_of", array, storage))


def _array_and_storage(f: FunctionBuilder, block: Value, owner: Value) -> tuple[Value, Value]:
    """The array of a value on a block that an object owns, and its storage; null without memory."""
    words, rank, descr, _ = f.parameters
    start = f.at(block, BLOCK_DATA, "i8")
    offset = f.op("sub", f.word_of(words, 1), f.convert("ptrtoint", start, "i64"))
    is_alone = f.compare("eq", f.get(block, BLOCK, "references"), 1)
    whole, part, done = f.label("whole"), f.label("part"), f.label("made")
    f.branch_if(f.op("and", f.compare("eq", offset, 0), is_alone), whole, part)
    f.start(whole)
    array = f.call("view", words, rank, descr, owner, _OWNED)
    storage = f.choose(f.is_null(array), lambda: NULL, lambda: f.call("storage_of", array))
    pairs = [(array, storage, f.block)]
    f.branch(done)
    f.start(part)
    flat = _flat_array(f, start, offset, owner)
    storage = f.call("storage_of", flat)
    array = f.call("view", words, rank, descr, flat, _OWNED)
    f.call("Py_DecRef", flat)
    pairs.append((array, storage, f.block))
    f.start(done)
    return f.joined_value([(a, at) for a, _, at in pairs]), f.joined_value([(s, at) for _, s, at in pairs])


def _flat_array(f: FunctionBuilder, start: Value, offset: Value, owner: Value) -> Value:
    """The elements of a block up to the end of a value in it, as an array of one axis; returns without memory."""
    words, rank, descr, itemsize = f.parameters
    count = f.op("sdiv", f.op("add", offset, f.call("extent", words, rank, itemsize)), itemsize)
    flat = f.call("make_array", descr, 1, f.variable(count), NULL, start, _OWNED)
    with f.when(f.is_null(flat)):
        f.call("Py_DecRef", owner)
        f.ret(NULL)
    f.call("Py_IncRef", owner)
    f.call("set_base", flat, owner)
    return flat


def _add_extent(m: ModuleBuilder) -> None:
    """``extent(words, rank, itemsize)``: bytes from the first element of a value to behind its last."""
    f = m.function("i64 extent", "ptr words", "i64 rank", "i64 itemsize")
    words, rank, itemsize = f.parameters
    dims = f.at(words, 2)
    strides = f.at(dims, rank)
    loop = f.loop(rank, itemsize)
    with loop as k:
        steps = f.op("sub", f.word_of(dims, k), 1)
        f.return_if(f.compare("slt", steps, 0), 0)
        loop.carry(f.op("add", loop.values[0], f.op("mul", steps, f.word_of(strides, k))))
    f.ret(loop.values[0])
