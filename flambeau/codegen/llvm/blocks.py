"""Blocks of memory of compiled graphs, as machine code makes them."""

from __future__ import annotations

from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, CONTEXT, WORD
from flambeau.codegen.llvm.builder import FunctionBuilder
from flambeau.codegen.llvm.checked_emitter import NULL, Operand
from flambeau.codegen.llvm.emitter import Value


def block_in(
    f: FunctionBuilder, raw: Value, context: Value, bin_: Operand = NULL, start: Value | None = None
) -> Value:
    """The block in new memory, or from `start` on in it, put into a context's ring, which goes to a bin in the end."""
    up = f.op("add", f.convert("ptrtoint", raw if start is None else start, "i64"), BLOCK_DATA + WORD - 1)
    block = f.convert("inttoptr", f.op("and", up, -BLOCK_DATA), "ptr")
    f.put(block, BLOCK, raw=raw, bin=bin_)
    put_in_ring(f, block, context)
    return block


def put_in_ring(f: FunctionBuilder, block: Value, context: Value) -> None:
    """Make a block one of a context, with one reference."""
    first = f.get(context, CONTEXT, "next")
    f.put(block, BLOCK, references=1, previous=context, next=first, origin=0)
    f.put(first, BLOCK, previous=block)
    f.put(context, CONTEXT, next=block)
