"""Bins of small blocks (``graph/block_bins.py``) for calls of compiled graphs: kept from one call to the next.

There is one set of bins for whoever calls next. A call that finds it taken, by another thread or by the call around it,
makes a set of its own; the first that ends leaves its set, others free theirs. All of it happens with the GIL.
"""

from __future__ import annotations

from flambeau.codegen.layouts import BIN, BIN_BYTES, BIN_COUNT, BLOCK, CONTEXT, SMALLEST_BIN_BITS, WORD
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value

_SPARE = "@spare_bins"


def add_bins(m: ModuleBuilder) -> None:
    """Add ``start_bins(context)`` and ``end_bins(context)``, with which a context has bins in between."""
    m.declarations[f"{_SPARE} = internal global ptr null"] = None
    _add_new_bins(m)
    spare = Value(_SPARE, "ptr", 1)
    f = m.function("void start_bins", "ptr context", exported=True)
    (context,) = f.parameters
    known = f.load(spare, "ptr")
    with f.when(f.is_null(known)):
        f.put(context, CONTEXT, bins=f.call("new_bins"))
        f.ret()
    f.store(spare, NULL)
    f.put(context, CONTEXT, bins=known)
    f.ret()
    f = m.function("void end_bins", "ptr context", exported=True)
    bins = f.get(f.parameters[0], CONTEXT, "bins")
    with f.when(f.is_null(f.load(spare, "ptr"))):
        f.store(spare, bins)
        f.ret()
    f.return_if(f.is_null(bins))
    f.call("free_bins", bins)
    f.ret()


def _add_new_bins(m: ModuleBuilder) -> None:
    """Add ``new_bins()``, null without memory, and ``free_bins(bins)``."""
    f = m.function("ptr new_bins", attributes="noinline cold")
    bins = f.call("PyMem_RawMalloc", BIN_COUNT * BIN.words * WORD)
    f.return_if(f.is_null(bins), NULL)
    for number in range(BIN_COUNT):
        power, quarters = divmod(number, 4)
        size = (quarters + 5) << (power + SMALLEST_BIN_BITS - 2)
        f.put(f.at(bins, number * BIN.words), BIN, first=NULL, room=BIN_BYTES // size)
    f.ret(bins)
    f = m.function("void free_bins", "ptr bins", attributes="noinline cold")
    (bins,) = f.parameters
    loop = f.loop(BIN_COUNT)
    with loop as k:
        block_slot = f.variable(f.get(f.at(bins, f.op("mul", k, BIN.words)), BIN, "first"))
        following, done = f.label("following"), f.label("emptied")
        f.branch(following)
        f.start(following)
        block = f.load(block_slot, "ptr")
        f.require(f.compare("ne", block, NULL), done)
        f.store(block_slot, f.get(block, BLOCK, "next"))
        f.call("PyMem_RawFree", f.get(block, BLOCK, "raw"))
        f.branch(following)
        f.start(done, falls_through=False)
    f.call("PyMem_RawFree", bins)
    f.ret()
