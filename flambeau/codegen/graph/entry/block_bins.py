"""Blocks of compiled graphs: where a call's tensors and lists come from, and where they go.

A loop makes and drops blocks of few sizes. Small ones that a call drops wait in bins, one for each size, for the next
block of that size: the C library takes several times as long. A context has bins where an entry stub gave it some
(``llvm/entry_bins.py``); elsewhere, and for large blocks, all is allocated and freed. What leaves the call as a result
goes to no bin: its memory is Python's from then on.

Memory of megabytes comes from the system page by page, as it is first written, which takes longer than most of what is
done with it. Where the system has large pages, it is asked for those, as NumPy does for its arrays.
"""

from __future__ import annotations

import sys
from typing import Final

from flambeau.codegen.layouts import BIN, BLOCK, BLOCK_PADDING, CONTEXT, LARGEST_BIN_BITS, SMALLEST_BIN_BITS
from flambeau.codegen.llvm.blocks import block_in, put_in_ring
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value

ADVICE: Final[dict[str, str]] = {"advise": "madvise"} if sys.platform == "linux" else {}
"""The function of the system that is told what memory is for, under the name it is called by."""
_FOR_LARGE_PAGES: Final = 14
"""What it is told: this range had better be of large pages."""
_LARGE_PAGE: Final = 1 << 21
_LARGE_FROM: Final = 1 << 22
"""Bytes of blocks from which on they begin with a large page. What lies before it is never touched."""


def add_blocks(m: ModuleBuilder) -> None:
    """``new_block(context, bytes)``: a block in the ring of a context, null without memory; ``drop_block(block)``."""
    f = m.function("ptr fresh_block", "ptr context", "i64 bytes", "ptr bin", attributes="noinline cold")
    context, size, bin_ = f.parameters
    if ADVICE:
        with f.when(f.compare("uge", size, _LARGE_FROM)):
            raw = f.call("allocate", f.op("add", size, _LARGE_PAGE))
            f.return_if(f.is_null(raw), NULL)
            up = f.op("add", f.convert("ptrtoint", raw, "i64"), _LARGE_PAGE - 1)
            start = f.convert("inttoptr", f.op("and", up, -_LARGE_PAGE), "ptr")
            f.call("advise", start, size, _FOR_LARGE_PAGES)
            f.ret(block_in(f, raw, context, bin_, start))
    raw = f.call("allocate", size)
    f.return_if(f.is_null(raw), NULL)
    f.ret(block_in(f, raw, context, bin_))
    _add_new_block(m)
    _add_drop_block(m)


def _add_new_block(m: ModuleBuilder) -> None:
    f = m.function("ptr new_block", "ptr context", "i64 bytes", attributes="noinline")
    context, size = f.parameters
    total, bins = f.op("add", size, BLOCK_PADDING), f.get(context, CONTEXT, "bins")
    is_small = f.compare("ule", size, (1 << LARGEST_BIN_BITS) - BLOCK_PADDING)  # as an unsigned number
    f.require(f.op("and", is_small, f.compare("ne", bins, NULL)), "alone")
    bin_, rounded = _bin(f, bins, total)
    block = f.get(bin_, BIN, "first")
    with f.when(f.is_null(block)):
        f.ret(f.call("fresh_block", context, rounded, bin_))
    f.put(bin_, BIN, first=f.get(block, BLOCK, "next"), room=f.op("add", f.get(bin_, BIN, "room"), 1))
    put_in_ring(f, block, context)
    f.ret(block)
    f.start("alone", falls_through=False)
    f.return_if(f.compare("slt", size, 0), NULL)
    f.ret(f.call("fresh_block", context, total, NULL))


def _bin(f: FunctionBuilder, bins: Value, total: Value) -> tuple[Value, Value]:
    """The bin for blocks of so many bytes, and the bytes that each of its blocks has."""
    last = f.op("sub", total, 1)
    zeros = f.define(f"call i64 @llvm.ctlz.i64(i64 {last}, i1 true)", "i64")
    bits = f.op("sub", f.typed(63, "i64"), zeros)
    shift = f.op("sub", bits, 2)
    quarters = f.op("add", f.op("lshr", last, shift), 1)  # 5, 6, 7 or 8 quarters of the power of two below
    index = f.op("add", f.op("shl", f.op("sub", bits, SMALLEST_BIN_BITS), 2), f.op("sub", quarters, 5))
    return f.at(bins, f.op("mul", index, BIN.words)), f.op("shl", quarters, shift)


def _add_drop_block(m: ModuleBuilder) -> None:
    f = m.function("void drop_block", "ptr block", attributes="noinline")
    (block,) = f.parameters
    previous, following = f.get(block, BLOCK, "previous"), f.get(block, BLOCK, "next")
    f.put(previous, BLOCK, next=following)
    f.put(following, BLOCK, previous=previous)
    bin_ = f.get(block, BLOCK, "bin")
    f.require(f.compare("ne", bin_, NULL), "alone")
    room = f.get(bin_, BIN, "room")
    f.require(f.compare("ne", room, 0), "alone")
    f.put(block, BLOCK, next=f.get(bin_, BIN, "first"))
    f.put(bin_, BIN, first=block, room=f.op("sub", room, 1))
    f.ret()
    f.start("alone", falls_through=False)
    f.call("free", f.get(block, BLOCK, "raw"))
    f.ret()
