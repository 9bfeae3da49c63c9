"""Whether words still hold what they held: a loop over a table, which is what a call of a method begins with."""

from __future__ import annotations

from flambeau.codegen.layouts import Layout
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import C_INTERFACE
from flambeau.codegen.llvm.emitter import Value

UNCHANGED = "unchanged"
"""The function's name."""


def unchanged_module(list_: Layout) -> ModuleBuilder:
    """A module with ``unchanged``, a function of two tables: triples of a list with these fields, an index and the
    address of an object, and pairs of the address of a word and what it held. 1 where all are as they were, else 0.
    """
    m = ModuleBuilder(C_INTERFACE)
    f = m.function(f"i32 {UNCHANGED}", "ptr triples", "i64 triple_count", "ptr pairs", "i64 pair_count", exported=True)
    triples, triple_count, pairs, pair_count = f.parameters
    with f.loop(triple_count) as k:
        owner, index, expected = _row(f, triples, k, ("ptr", "i64", "i64"))
        f.return_unless(f.compare("ult", index, f.get(owner, list_, "size")), 0)
        f.return_unless(f.compare("eq", f.word_of(f.get(owner, list_, "items"), index), expected), 0)
    with f.loop(pair_count) as k:
        address, expected = _row(f, pairs, k, ("ptr", "i64"))
        f.return_unless(f.compare("eq", f.load(address), expected), 0)
    f.ret(1)
    return m


def _row(f: FunctionBuilder, table: Value, index: Value, kinds: tuple[str, ...]) -> list[Value]:
    """The words of a row of a table."""
    first = f.op("mul", index, len(kinds))
    return [f.word_of(table, f.op("add", first, k), kind) for k, kind in enumerate(kinds)]
