"""The steps of a packed batch: which rows each has, from how many sequences go on at each time."""

from __future__ import annotations

from flambeau.codegen.llvm.abi import REFUSED
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.recurrent.words import TABLES


def add_tables(m: ModuleBuilder) -> None:
    """``tables(block)``: the tables of the way through the steps, and of the way back; `words.TABLES`."""
    f = m.function("void tables", "ptr block", exported=True)
    (words,) = f.parameters
    steps, step, rows, batch = (
        f.word_of(words, TABLES.index(name)) for name in ("steps", "size_step", "rows", "batch")
    )
    sizes, ahead, back, flag = (
        f.word_of(words, TABLES.index(name), "ptr") for name in ("sizes", "ahead", "back", "flag")
    )
    refused = f.label("refused")
    loop = f.loop(steps, word(0), batch)
    with loop as k:
        first, most = loop.values
        size = f.load(f.at(sizes, f.op("mul", k, step), "i8"), access=", align 8")
        f.require(f.compare("ule", size, most), refused)  # as a number without sign: below 0 is much
        for table, number in ((ahead, k), (back, f.op("sub", f.op("sub", steps, 1), k))):
            at = f.op("shl", number, 1)
            f.set_word(table, at, first)
            f.set_word(table, f.op("add", at, 1), size)
        loop.carry(f.op("add", first, size), size)
    f.require(f.compare("eq", loop.values[0], rows), refused)
    f.require(f.compare("eq", f.load(sizes), batch), refused)
    f.ret()
    f.start(refused, falls_through=False)
    f.store(flag, REFUSED, "i32")
    f.ret()
