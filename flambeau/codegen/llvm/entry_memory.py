"""Memory for results: arrays as NumPy makes them, and large ones in blocks that are used again.

The C library gives large blocks back to the system, and fresh pages cost more than work. A few blocks are kept. Whoever
has a reference to a result, or to any view of it, has one to the array of bytes under it; a kept block to which nobody
but the keeper refers is free.
"""

from __future__ import annotations

from flambeau.codegen.layouts import OUTPUT, ObjectLayouts
from flambeau.codegen.llvm import c_memory
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import ALIGNED, C_CONTIGUOUS, WRITEABLE
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value

KEPT = 2
"""How many blocks are kept."""
KEPT_FROM, KEPT_TO = c_memory.KEPT, 96 << 20
"""Bytes of blocks that are kept: smaller ones the C library keeps itself, of larger ones too much would lie idle."""


def add_make_array(m: ModuleBuilder) -> None:
    """Add ``make_array(descr, rank, dims, strides, data, flags)``: null, with an exception, if there is no memory."""
    f = m.function("ptr make_array", "ptr descr", "i64 rank", "ptr dims", "ptr strides", "ptr data", "i32 flags")
    descr, rank, dims, strides, data, flags = f.parameters
    f.call("Py_IncRef", descr)
    rank = f.convert("trunc", rank, "i32")
    f.ret(f.call("new_array", m.symbol("ndarray"), descr, rank, dims, strides, data, flags, NULL))


def add_allocation(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add ``allocate(record)``: the array of an output's record; null, with an exception, if there is no memory."""
    add_make_array(m)
    _add_raw(m, layouts)
    f = m.function("ptr allocate", "ptr record")
    descr, rank, dims, strides = (f.get(f.parameters[0], OUTPUT, name) for name in ("descr", "rank", "dims", "strides"))
    with f.when(f.compare("eq", f.get(f.parameters[0], OUTPUT, "large"), 0)):
        f.ret(f.call("make_array", descr, rank, dims, strides, NULL, 0))
    memory = f.call("raw", f.op("add", f.get(f.parameters[0], OUTPUT, "bytes"), 64))
    f.return_if(f.is_null(memory), NULL)
    start = f.op("and", f.op("add", f.get(memory, layouts.array, "data", "i64"), 63), -64)
    flags = C_CONTIGUOUS | ALIGNED | WRITEABLE
    array = f.call("make_array", descr, rank, dims, strides, f.convert("inttoptr", start, "ptr"), flags)
    with f.when(f.is_null(array)):
        f.call("Py_DecRef", memory)
        f.ret(NULL)
    f.call("set_base", array, memory)
    f.ret(array)


def _add_raw(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``raw(size)``: a new reference to an array of at least so many bytes; null, with MemoryError, if none."""
    f = m.function("ptr fresh", "i64 size")
    sizes = f.variable(f.parameters[0])
    f.ret(f.call("make_array", m.symbol("bytes_descr"), 1, sizes, NULL, NULL, 0))
    m.declarations[f"@kept = internal global [{KEPT} x ptr] zeroinitializer"] = None
    f = m.function("ptr raw", "i64 size")
    (size,) = f.parameters
    with f.when(f.compare("uge", f.op("sub", size, KEPT_FROM), KEPT_TO - KEPT_FROM)):
        f.ret(f.call("fresh", size))
    idle_slot = _take_kept(f, layouts, size)
    memory = f.call("fresh", size)
    f.return_if(f.op("or", f.is_null(memory), f.is_null(idle_slot)), memory)
    old = f.load(idle_slot, "ptr")
    f.call("Py_IncRef", memory)
    f.store(idle_slot, memory)
    with f.when(f.compare("ne", old, NULL)):
        f.call("Py_DecRef", old)
    f.ret(memory)


def _take_kept(f: FunctionBuilder, layouts: ObjectLayouts, size: Value) -> Value:
    """Return a kept block that is free and fits; the slot for another one, null if all are in use."""
    loop = f.loop(KEPT, NULL)
    with loop as k:
        (idle_slot,) = loop.values
        slot = f.at(Value("@kept", "ptr", 1), k, "ptr")
        block = f.load(slot, "ptr")
        idle, next_slot = f.label("idle"), f.label("next_slot")
        f.require(f.compare("ne", block, NULL), idle)
        is_free = f.compare("eq", f.get(block, layouts.object, "references"), 1)
        in_use = f.block
        free = f.label("free")
        f.branch_if(is_free, free, next_slot)
        f.start(free)
        have = f.load(f.get(block, layouts.array, "dims"))
        is_close = f.op("and", f.compare("uge", have, size), f.compare("ule", have, f.op("shl", size, 1)))
        with f.when(is_close):
            f.call("Py_IncRef", block)
            f.ret(block)
        f.start(idle)
        f.start(next_slot)
        loop.carry(f.joined_value([(slot, idle), (idle_slot, in_use)]))
    return loop.values[0]
