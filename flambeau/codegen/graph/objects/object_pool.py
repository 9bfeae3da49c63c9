"""Where the objects of a call lie: one after another in pieces of memory, which are blocks of the call.

An object that nobody holds any more leaves its place to the next of its class. What is left when the call ends, circles
of objects too, goes with the pieces. So making an object and letting go of it take a few instructions each, and objects
have no words but a count, the function that takes them apart, and where their place goes:

    @new_object(ptr context, ptr destroy, i64 cell, i64 bytes)      null without memory
    @free_object(ptr object)
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.layouts import BLOCK_DATA, CONTEXT, OBJECT, POOL, WORD
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL

MOST_CLASSES: Final = 64
"""Of the objects that one module makes."""
_PIECE: Final = (1 << 16) - 256
"""Bytes of a piece of memory: small enough to wait in a bin for the next call."""
_OWN: Final = {"new_block": "ptr (ptr, i64)"}


def add_pool(functions: dict[str, str]) -> None:
    """Add these functions to those of a module."""
    if "new_object" in functions:
        return
    m = ModuleBuilder({}, own=dict(_OWN))
    _add_more(m)
    _add_new(m)
    f = m.function("void free_object", "ptr object", attributes="alwaysinline")
    (object_,) = f.parameters
    cell = f.get(object_, OBJECT, "cell")
    f.put(object_, OBJECT, references=f.convert("ptrtoint", f.load(cell, "ptr"), "i64"))
    f.store(cell, object_)
    f.ret()
    functions["new_object"] = m.text()


def _add_new(m: ModuleBuilder) -> None:
    f = m.function("ptr new_object", "ptr context", "ptr destroy", "i64 cell", "i64 bytes")
    context, destroy, cell, size = f.parameters
    pool = f.get(context, CONTEXT, "pool")
    f.require(f.compare("ne", pool, NULL), "more")
    own_cell = f.at(pool, f.op("add", cell, POOL.words))
    free = f.load(own_cell, "ptr")
    with f.when(f.compare("ne", free, NULL)):
        f.store(own_cell, f.convert("inttoptr", f.get(free, OBJECT, "references"), "ptr"))
        f.put(free, OBJECT, references=1)
        f.ret(free)
    next_ = f.get(pool, POOL, "next")
    behind = f.at(next_, size, "i8")
    f.require(f.compare("ule", behind, f.get(pool, POOL, "end")), "more")
    f.put(pool, POOL, next=behind)
    f.put(next_, OBJECT, references=1, destroy=destroy, cell=own_cell)
    f.ret(next_)
    f.start("more", falls_through=False)
    has_room = f.call("more_objects", context, size)
    f.return_unless(has_room, NULL)
    f.ret(f.call("new_object", *f.parameters))


def _add_more(m: ModuleBuilder) -> None:
    """``more_objects(context, bytes)``: another piece of memory, and a pool where there is none."""
    m.own("new_object", "ptr (ptr, ptr, i64, i64)")
    f = m.function("i1 more_objects", "ptr context", "i64 bytes", attributes="noinline cold")
    context, size = f.parameters
    with f.when(f.is_null(f.get(context, CONTEXT, "pool"))):
        words = POOL.words + MOST_CLASSES
        block = f.call("new_block", context, WORD * words)
        f.return_if(f.is_null(block), 0)
        pool = f.at(block, BLOCK_DATA, "i8")
        f.raw(f"call void @llvm.memset.p0.i64(ptr {pool}, i8 0, i64 {WORD * words}, i1 false)")
        f.put(context, CONTEXT, pool=pool)
    most = f.pick(f.compare("ugt", size, _PIECE), size, _PIECE)
    block = f.call("new_block", context, most)
    f.return_if(f.is_null(block), 0)
    first = f.at(block, BLOCK_DATA, "i8")
    f.put(f.get(context, CONTEXT, "pool"), POOL, next=first, end=f.at(first, most, "i8"))
    f.ret(1)
