"""Order of the elements of a line, as LLVM functions of a module of routines: whatever the line's length.

Elements become keys, which are compared as ints without a sign: equal elements have equal keys, and nan has one
above all. Lines are sorted by the bytes of their keys, the lowest first, short ones by insertion; equal keys keep
their order. Of the bytes the upper ones come first, as many as tell most of so many keys apart: what is left is done by
insertion, and all over again with every byte where that would take long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.emitter import Value

ORDER: Final = "flambeau_line_order"
"""``(line, bytes from one to the next, count, kind, flip, scratch)``: pairs of a key and a place, in order.

``kind`` is one of `KINDS`; with a ``flip`` of -1 the largest come first, else it is 0. ``scratch`` has room for four
words per element, and holds the pairs.
"""
ORDER_TYPE: Final = "ptr (ptr, i64, i64, i64, i64, ptr)"
FIRST: Final = "flambeau_line_first"
"""The same with how many pairs are wanted as the last argument: those behind them are anything."""
FIRST_TYPE: Final = "ptr (ptr, i64, i64, i64, i64, ptr, i64)"
KINDS: Final = {
    "int8": 0, "int16": 1, "int32": 2, "int64": 3, "uint8": 4, "bool": 4, "float32": 5, "float64": 6,
    "uint16": 7, "uint32": 8, "uint64": 9,
}  # fmt: skip
"""Numbers of the dtypes whose elements have an order."""
NAN: Final = {"float32": (1 << 32) - 1, "float64": -1}
"""The key of nan, where nothing is flipped."""
FEW: Final = 32
"""Elements that are sorted by insertion, and as many that are picked out of others one by one."""
_LOWEST: Final = -(1 << 63)
_SPARE_BITS: Final = 8
"""Bits of a key beside those that so many keys need at least, before the rest is left to insertion."""


def add_order(m: ModuleBuilder) -> None:
    """Add `ORDER` and `FIRST`."""
    _add_insert(m)
    _add_by_bytes(m)
    _add_settle(m)
    f = m.function(
        f"ptr {ORDER}", "ptr line", "i64 step", "i64 count", "i64 kind", "i64 flip", "ptr scratch", exported=True
    )
    *_, count, _, _, scratch = f.parameters
    differing = f.variable(0)

    def put(k: Value, key: Value) -> None:
        pair = f.at(scratch, f.op("shl", k, 1))
        f.set_word(pair, 0, key)
        f.set_word(pair, 1, k)
        bits = f.op("xor", key, f.word_of(scratch, 0))
        f.store(differing, f.op("or", f.load(differing), bits))

    _each_key(f, put)
    with f.when(f.compare("ule", count, FEW)):
        with f.loop(count) as k:
            pair = f.at(scratch, f.op("shl", k, 1))
            f.call("insert_pair", scratch, k, f.word_of(pair, 0), f.word_of(pair, 1))
        f.ret(scratch)
    _sort(f, f.load(differing))
    _add_first(m)


def _sort(f: FunctionBuilder, differing: Value) -> None:
    """Sort the pairs by the upper bytes in which keys differ, then by insertion, and return them."""
    *_, count, _, _, scratch = f.parameters
    second = f.at(scratch, f.op("shl", count, 1))
    f.return_if(f.compare("eq", differing, 0), scratch)
    f.declare("declare i64 @llvm.ctlz.i64(i64, i1)")
    above, absent = (f.define(f"call i64 @llvm.ctlz.i64(i64 {v}, i1 true)", "i64") for v in (differing, count))
    spare = f.op("sub", f.op("add", absent, -1 - _SPARE_BITS), above)
    first = f.op("lshr", f.pick(f.compare("sgt", spare, 0), spare, 0), 3)
    below = f.op("sub", f.op("shl", f.typed(1, "i64"), f.op("shl", first, 3)), 1)
    upper = f.call("sort_by_bytes", scratch, second, count, differing, first)
    f.return_if(f.compare("eq", f.op("and", differing, below), 0), upper)
    f.return_if(f.call("settle_pairs", upper, count, f.op("shl", count, 1)), upper)
    other = f.pick(f.compare("eq", upper, scratch), second, scratch, "ptr")
    f.ret(f.call("sort_by_bytes", upper, other, count, differing, 0))


def _each_key(f: FunctionBuilder, body: Callable[[Value, Value], None]) -> None:
    """``body`` of the place and the key of each element; parameters as of `ORDER`."""
    line, step, count, kind, flip = f.parameters[:5]
    numbers = sorted(set(KINDS.values()))
    labels = {number: f.label("kind") for number in numbers}
    after = f.label("after")
    f.switch(kind, labels[numbers[-1]], {n: labels[n] for n in numbers[:-1]})
    keys = {**{n: _whole(8 << n) for n in range(4)}, 4: _natural(8), 5: _float32, 6: _float64}
    keys |= {7: _natural(16), 8: _natural(32), 9: _natural(64)}
    for number, label in labels.items():
        f.start(label, falls_through=False)
        with f.loop(count) as k:
            key = keys[number](f, f.at(line, f.op("mul", k, step), "i8"))
            body(k, f.op("xor", key, flip))
        f.branch(after)
    f.start(after, falls_through=False)


def _whole(bits: int) -> Callable[[FunctionBuilder, Value], Value]:
    """The key of an int with a sign."""

    def key(f: FunctionBuilder, address: Value) -> Value:
        value = f.load(address, f"i{bits}", ", align 1")
        return f.op("xor", value if bits == 64 else f.convert("sext", value, "i64"), _LOWEST)

    return key


def _natural(bits: int) -> Callable[[FunctionBuilder, Value], Value]:
    """The key of an int without a sign."""

    def key(f: FunctionBuilder, address: Value) -> Value:
        value = f.load(address, f"i{bits}", ", align 1")
        return value if bits == 64 else f.convert("zext", value, "i64")

    return key


def _float32(f: FunctionBuilder, address: Value) -> Value:
    return f.convert("zext", _float(f, address, "float", 32), "i64")


def _float64(f: FunctionBuilder, address: Value) -> Value:
    return _float(f, address, "double", 64)


def _float(f: FunctionBuilder, address: Value, kind: str, bits: int) -> Value:
    """The key of a float: -0.0 becomes 0.0, and of negative ones all bits are turned."""
    value = f.load(address, kind, ", align 1")
    plain = f.define(f"fadd {kind} {value}, 0.0", kind)
    is_nan = f.define(f"fcmp uno {kind} {plain}, {plain}", "i1")
    word = f.define(f"bitcast {kind} {plain} to i{bits}", f"i{bits}")
    turned = f.op("or", f.op("ashr", word, bits - 1), -(1 << (bits - 1)))
    return f.pick(is_nan, -1, f.op("xor", word, turned), f"i{bits}")


def _add_insert(m: ModuleBuilder) -> None:
    """``insert_pair(pairs, count, key, place)``: a pair among so many in order, behind those of the same key."""
    f = m.function("void insert_pair", "ptr pairs", "i64 count", "i64 key", "i64 place")
    pairs, count, key, index = f.parameters
    at = f.variable(count)
    head, test, shift, insert = (f.label(n) for n in ("down", "test", "shift", "found"))
    f.start(head)
    f.branch_if(f.compare("sgt", f.load(at), 0), test, insert)
    f.start(test, falls_through=False)
    here = f.at(pairs, f.op("shl", f.load(at), 1))
    f.branch_if(f.compare("ugt", f.word_of(here, -2), key), shift, insert)
    f.start(shift, falls_through=False)
    f.set_word(here, 0, f.word_of(here, -2))
    f.set_word(here, 1, f.word_of(here, -1))
    f.store(at, f.op("sub", f.load(at), 1))
    f.branch(head)
    f.start(insert, falls_through=False)
    here = f.at(pairs, f.op("shl", f.load(at), 1))
    f.set_word(here, 0, key)
    f.set_word(here, 1, index)
    f.ret()


def _add_settle(m: ModuleBuilder) -> None:
    """``settle_pairs(pairs, count, most)``: whether pairs that nearly are in order could be put so by moving about so
    many; equal keys keep their order.
    """
    f = m.function("i1 settle_pairs", "ptr pairs", "i64 count", "i64 most")
    pairs, count, most = f.parameters
    moved = f.variable(0)
    with f.loop(f.op("sub", count, 1)) as before:
        here = f.at(pairs, f.op("shl", f.op("add", before, 1), 1))
        key = f.word_of(here, 0)
        with f.when(f.compare("ugt", f.word_of(here, -2), key)):
            index, at = f.word_of(here, 1), f.variable(before)
            head, test, down, done = (f.label(n) for n in ("down", "test", "shift", "settled"))
            f.start(head)
            to = f.at(pairs, f.op("shl", f.load(at), 1))
            f.set_word(to, 2, f.word_of(to, 0))
            f.set_word(to, 3, f.word_of(to, 1))
            f.store(moved, f.op("add", f.load(moved), 1))
            f.branch_if(f.compare("sgt", f.load(at), 0), test, down)
            f.start(down, falls_through=False)
            f.store(at, f.op("sub", f.load(at), 1))
            f.branch(done)
            f.start(test, falls_through=False)
            f.store(at, f.op("sub", f.load(at), 1))
            above = f.word_of(f.at(pairs, f.op("shl", f.load(at), 1)), 0)
            f.branch_if(f.compare("ugt", above, key), head, done)
            f.start(done, falls_through=False)
            freed = f.at(pairs, f.op("shl", f.op("add", f.load(at), 1), 1))
            f.set_word(freed, 0, key)
            f.set_word(freed, 1, index)
            f.return_if(f.compare("ugt", f.load(moved), most), 0)
    f.ret(1)


def _add_by_bytes(m: ModuleBuilder) -> None:
    """``sort_by_bytes(pairs, other, count, differing, first)``: the pairs in order of the bytes of their keys from one
    on, there or in other memory of that size; ``differing``: the bits in which keys differ.
    """
    f = m.function("ptr sort_by_bytes", "ptr pairs", "ptr other", "i64 count", "i64 differing", "i64 first")
    pairs, other, count, differing, first = f.parameters
    source, target = f.variable(pairs), f.variable(other)
    counters = f.slot("[256 x i64]", 16)

    def place_of(pair: Value, shift: Value) -> Value:
        return f.at(counters, f.op("and", f.op("lshr", f.word_of(pair, 0), shift), 255))

    with f.loop(f.op("sub", f.typed(8, "i64"), first)) as number:
        shift = f.op("shl", f.op("add", number, first), 3)
        with f.when(f.compare("ne", f.op("and", f.op("lshr", differing, shift), 255), 0)):
            old, new = f.load(source, "ptr"), f.load(target, "ptr")
            f.clear(counters, 256)
            with f.loop(count) as k:
                counter = place_of(f.at(old, f.op("shl", k, 1)), shift)
                f.store(counter, f.op("add", f.load(counter), 1))
            before = f.variable(0)
            with f.loop(256) as digit:
                so_far = f.load(before)
                f.store(before, f.op("add", so_far, f.word_of(counters, digit)))
                f.set_word(counters, digit, so_far)
            with f.loop(count) as k:
                pair = f.at(old, f.op("shl", k, 1))
                counter = place_of(pair, shift)
                at = f.load(counter)
                f.store(counter, f.op("add", at, 1))
                to = f.at(new, f.op("shl", at, 1))
                f.set_word(to, 0, f.word_of(pair, 0))
                f.set_word(to, 1, f.word_of(pair, 1))
            f.store(source, new)
            f.store(target, old)
    f.ret(f.load(source, "ptr"))


def _add_first(m: ModuleBuilder) -> None:
    """Add `FIRST`: few are kept in order while all are looked at, for many all are sorted."""
    f = m.function(
        f"ptr {FIRST}", "ptr line", "i64 step", "i64 count", "i64 kind", "i64 flip", "ptr scratch", "i64 wanted",
        exported=True,
    )  # fmt: skip
    *all_but_wanted, wanted = f.parameters
    scratch = all_but_wanted[-1]
    with f.when(f.compare("ugt", wanted, FEW)):
        f.ret(f.call(ORDER, *all_but_wanted))
    f.return_if(f.compare("eq", wanted, 0), scratch)
    kept, bound = f.variable(0), f.variable(0)
    last = f.op("sub", wanted, 1)

    def look(k: Value, key: Value) -> None:
        has_room = f.compare("slt", f.load(kept), wanted)
        with f.when(f.op("or", has_room, f.compare("ult", key, f.load(bound)))):
            count = f.pick(has_room, f.load(kept), last)
            f.call("insert_pair", scratch, count, key, k)
            f.store(kept, f.op("add", count, 1))
            f.store(bound, f.word_of(scratch, f.op("shl", last, 1)))

    _each_key(f, look)
    f.ret(scratch)
