"""Blocks of memory of compiled graphs, as machine code makes them."""

from __future__ import annotations

from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, CONTEXT, WORD
from flambeau.codegen.llvm.builder import FunctionBuilder, Value


def block_in(f: FunctionBuilder, raw: Value, context: Value) -> Value:
    """The block in new memory, put into a context's ring."""
    up = f.op("add", f.convert("ptrtoint", raw, "i64"), BLOCK_DATA + WORD - 1)
    block = f.convert("inttoptr", f.op("and", up, -BLOCK_DATA), "ptr")
    first = f.get(context, CONTEXT, "next")
    f.put(block, BLOCK, raw=raw, references=1, previous=context, next=first, origin=0)
    f.put(first, BLOCK, previous=block)
    f.put(context, CONTEXT, next=block)
    return block
