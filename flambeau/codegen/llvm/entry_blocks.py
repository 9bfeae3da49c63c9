"""Blocks of compiled graphs that entry stubs make for arguments, and free when a call ends."""

from __future__ import annotations

from flambeau.codegen.layouts import BLOCK, BLOCK_PADDING, CONTEXT, ENTRY_CONTEXT, FOREVER, LEAF, LIST
from flambeau.codegen.llvm.blocks import block_in
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.entry_bins import add_bins

_LEAST_ITEMS = 4
"""Items that a list has room for, at least."""


def add_blocks(m: ModuleBuilder) -> None:
    """Add ``new_block(context, bytes)`` and ``new_list(context, length, words of an item)``: null without memory.

    And ``finish(context)``, which gives back the leaves' references to their arrays, frees all blocks of the ring, and
    gives back the bins that ``start_bins(context)`` gave.
    """
    add_bins(m)
    f = m.function("ptr new_block", "ptr context", "i64 bytes", exported=True)
    context, size = f.parameters
    raw = f.call("PyMem_RawMalloc", f.op("add", size, BLOCK_PADDING))
    f.return_if(f.is_null(raw), NULL)
    f.ret(block_in(f, raw, context))
    f = m.function("ptr new_list", "ptr context", "i64 n", "i64 width", exported=True)
    context, count, width = f.parameters
    room = f.pick(f.compare("sgt", count, _LEAST_ITEMS), count, _LEAST_ITEMS)
    items = f.call("new_block", context, f.op("mul", f.op("mul", width, 8), room))
    f.return_if(f.is_null(items), NULL)
    block = f.call("new_block", context, 0)
    f.return_if(f.is_null(block), NULL)
    f.put(block, LIST, references=FOREVER, length=count, capacity=room, items=items)
    f.ret(block)
    _add_finish(m)


def _add_finish(m: ModuleBuilder) -> None:
    f = m.function("void finish", "ptr context", exported=True)
    (context,) = f.parameters
    leaf_slot = f.variable(f.get(context, ENTRY_CONTEXT, "leaves"))
    f.start("leaves")  # first: those of tensors in lists lie in blocks of the ring
    leaf = f.load(leaf_slot, "ptr")
    with f.when(f.negated(f.is_null(leaf))):
        f.store(leaf_slot, f.get(leaf, LEAF, "chain"))
        f.call("Py_DecRef", f.get(leaf, LEAF, "array"))
        f.branch("leaves")
    block_slot = f.variable(f.get(context, CONTEXT, "next"))
    f.start("ring")
    block = f.load(block_slot, "ptr")
    with f.when(f.compare("ne", block, context)):
        f.store(block_slot, f.get(block, BLOCK, "next"))
        f.call("PyMem_RawFree", f.get(block, BLOCK, "raw"))
        f.branch("ring")
    f.call("end_bins", context)
    f.ret()
