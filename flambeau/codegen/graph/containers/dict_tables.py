"""Hash tables of dicts and sets: functions that find the place of a key among the entries, or make one.

A dict is a list of its entries in the order in which keys came, and a table of places in that list, found by hash and
by looking on from there. Up to `FEW` entries there is no table, and keys are compared one by one; a dict that Python
made has none either before somebody looks for a key. An entry that is taken out stays where it is, marked, until the
list has to grow; those at the end go at once. A place in the table whose entry went stays too: it is passed by, or
leads to the entry that took its place, whose key is then compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from flambeau.codegen.graph.releases import block_words, mangled
from flambeau.codegen.graph.representation import Mapped, llvm_words, word_count
from flambeau.codegen.graph.texts.text_functions import text_function
from flambeau.codegen.layouts import BLOCK_DATA, DICT, LIST, WORD
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE
from flambeau.codegen.llvm.emitter import Value
from flambeau.util.record import dataclass

FEW: Final = 8
"""Entries of a dict without a table; as many have room in a new one."""
ABSENT: Final = -1
"""The place of a key that is not there."""
NO_MEMORY: Final = -2
"""The place of one for which there was no memory."""
_SPREAD: Final = 0x9E3779B97F4A7C15 - (1 << 64)
"""What keys are multiplied with: the golden ratio in 64 bits, which spreads neighbours evenly."""
_ENDLESS: Final = 1 << 62
_ON_TEXTS: Final = ("hash", "equal")
_ON_TEXTS_TYPES: Final = {"text_hash": "i64 (ptr, i64)", "text_equal": "i1 (ptr, i64, ptr, i64)"}
_LEAST_BITS: Final = 4


@dataclass(frozen=True, slots=True)
class TableFunctions:
    """The names of the functions for dicts that look alike."""

    find: str
    """``i64 find(context, dict, key...)``: the index of a key, or `ABSENT`."""
    find_or_add: str
    """``i64 place(context, dict, key...)``: the index of a key, made where there is none, with a value of zeros; or
    `NO_MEMORY`."""
    remove: str
    """``void remove(dict, place)``: take out an entry, to whose value nobody has a reference any more."""
    _grow: str
    _index: str
    _add: str


def table_functions(functions: dict[str, str], rep: Mapped) -> TableFunctions:
    """The functions for dicts that look like this; their text is added to ``functions``."""
    stem = mangled(rep.entry)
    names = TableFunctions(*(f"dict_{what}_{stem}" for what in ("find", "place", "remove", "grow", "index", "add")))
    if names.find not in functions:
        texts = [index for index, _ in block_words(rep.key)]
        for name in _ON_TEXTS if texts else ():
            text_function(functions, name)
        functions[names.find] = _Tables(names, rep, texts).text()
    return names


class _Tables:
    """Writes the functions of one kind of dict."""

    def __init__(self, names: TableFunctions, rep: Mapped, texts: Sequence[int]) -> None:
        """`texts`: which words of a key a text begins with."""
        self.names = names
        self.texts = texts
        self.key_words = llvm_words(rep.key)
        self.width = word_count(rep.entry)
        own = {"new_block": "ptr (ptr, i64)", "drop_block": "void (ptr)", "release": "void (ptr)"}
        own |= {"retain": "void (ptr)", **_ON_TEXTS_TYPES}
        self.m = ModuleBuilder({}, own=own)
        self.keys = [f"{kind} key{k}" for k, kind in enumerate(self.key_words)]
        kinds = ", ".join(("ptr", "ptr", *self.key_words))
        self.m.own(names.find_or_add, f"i64 ({kinds})")
        self.m.own(names._grow, "i1 (ptr, ptr)")
        self.m.own(names._index, "i1 (ptr, ptr)")
        self.m.own(names._add, f"i64 ({', '.join(('ptr', *self.key_words))})")

    def text(self) -> str:
        """The text of all functions for tables with such keys and values."""
        self._find()
        self._find_or_add()
        self._remove()
        self._grow()
        self._index()
        self._add()
        return self.m.text()

    # -- what they have in common -------------------------------------------------------------------------------------

    def _entry(self, f: FunctionBuilder, first: Value, index: Value) -> Value:
        return f.at(first, f.op("mul", index, self.width))

    def _first(self, f: FunctionBuilder, block: Value) -> Value:
        return f.at(f.get(block, LIST, "items"), BLOCK_DATA, "i8")

    def _widened(self, f: FunctionBuilder, keys: Sequence[Value]) -> list[Value]:
        return [f.convert("zext", k, "i64") if k.type == "i1" else k for k in keys]

    def _hash(self, f: FunctionBuilder, keys: Sequence[Value]) -> Value:
        first, *others = self._numbers(f, keys)
        hashed = f.op("mul", first, _SPREAD)
        for key in others:
            turned = f.op("xor", hashed, f.op("lshr", hashed, 29))
            hashed = f.op("mul", f.op("add", turned, key), _SPREAD)
        return hashed

    def _is_key_of(self, f: FunctionBuilder, entry: Value, keys: Sequence[Value]) -> Value:
        conditions = [f.compare("ne", f.load(entry), 0)]
        for k, key in enumerate(keys):
            if k in self.texts:
                own = f.word_of(entry, 2 + k, "ptr"), f.word_of(entry, 3 + k)
                conditions.append(f.call("text_equal", *own, *keys[k + 1 : k + 3]))
            elif not self._is_within_text(k):
                conditions.append(f.compare("eq", f.word_of(entry, 1 + k), key))
        return f.all_of(*conditions)

    def _numbers(self, f: FunctionBuilder, keys: Sequence[Value]) -> list[Value]:
        """The numbers that a hash is made of: words, and of a text the hash of its code points."""
        return [
            f.call("text_hash", *keys[k + 1 : k + 3]) if k in self.texts else key
            for k, key in enumerate(keys) if not self._is_within_text(k)
        ]  # fmt: skip

    def _is_within_text(self, k: int) -> bool:
        """Whether a word of a key is one of a text, but not its first."""
        return k - 1 in self.texts or k - 2 in self.texts

    def _start(self, f: FunctionBuilder, block: Value, hashed: Value) -> tuple[Value, Value]:
        """Where in the table to look first, and the mask of places in it."""
        bits = f.get(block, DICT, "bits")
        mask = f.op("sub", f.op("shl", f.typed(1, "i64"), bits), 1)
        return f.op("lshr", hashed, f.op("sub", f.typed(64, "i64"), bits)), mask

    def _slots(self, f: FunctionBuilder, block: Value) -> Value:
        return f.at(f.get(block, DICT, "table"), BLOCK_DATA, "i8")

    def _look_at_few(self, f: FunctionBuilder, block: Value, keys: Sequence[Value]) -> None:
        """Return the place of a key, found without the table, where it is there."""
        first = self._first(f, block)
        with f.loop(f.get(block, LIST, "length")) as k, f.when(self._is_key_of(f, self._entry(f, first, k), keys)):
            f.ret(k)

    # -- the functions ------------------------------------------------------------------------------------------------

    @contextmanager
    def _probed(self, f: FunctionBuilder, block: Value, keys: Sequence[Value]) -> Iterator[tuple[Value, Value]]:
        """Look for a key in the table and return its index; the body is for where there is none, and returns too.

        It gets the address of the free slot that the key would have, and the mask of slots. Goes to ``few`` where there
        is no table.
        """
        f.require(f.compare("ne", f.get(block, DICT, "table"), NULL), "few")
        first, slots = self._first(f, block), self._slots(f, block)
        start, mask = self._start(f, block, self._hash(f, keys))
        looking = f.loop(_ENDLESS, start)
        with looking:
            (number,) = looking.values
            slot = f.at(slots, number, "i32")
            index = f.load(slot, "i32")
            with f.when(f.compare("slt", index, 0)):
                yield slot, mask
            wide = f.convert("zext", index, "i64")
            with f.when(self._is_key_of(f, self._entry(f, first, wide), keys)):
                f.ret(wide)
            looking.carry(f.op("and", f.op("add", number, 1), mask))

    def _find(self) -> None:
        f = self.m.function(f"i64 {self.names.find}", "ptr context", "ptr dict", *self.keys)
        context, block, *key = f.parameters
        keys = self._widened(f, key)
        with self._probed(f, block, keys):
            f.ret(ABSENT)
        f.ret(ABSENT)
        f.start("few", falls_through=False)
        f.require(f.compare("sgt", f.get(block, LIST, "length"), FEW), "look")
        f.require(f.call(self.names._index, context, block), "look")
        f.ret(f.call(self.names.find, context, block, *key))
        f.start("look", falls_through=False)
        self._look_at_few(f, block, keys)
        f.ret(ABSENT)

    def _find_or_add(self) -> None:
        f = self.m.function(f"i64 {self.names.find_or_add}", "ptr context", "ptr dict", *self.keys)
        context, block, *key = f.parameters
        keys = self._widened(f, key)
        with self._probed(f, block, keys) as (slot, mask):
            filled = f.get(block, DICT, "filled")
            is_roomy = f.compare("slt", f.op("mul", filled, 8), f.op("mul", mask, 5))
            f.require(f.op("and", is_roomy, self._has_room(f, block)), "full")
            added = f.call(self.names._add, block, *key)
            f.store(slot, f.convert("trunc", added, "i32"))
            f.put(block, DICT, filled=f.op("add", filled, 1))
            f.ret(added)
        f.ret(NO_MEMORY)
        f.start("few", falls_through=False)
        with f.when(f.compare("sgt", f.get(block, LIST, "length"), FEW)):
            f.require(f.call(self.names._index, context, block), "none")
            f.ret(f.call(self.names.find_or_add, context, block, *key))
        self._look_at_few(f, block, keys)
        f.require(self._has_room(f, block), "full")
        f.ret(f.call(self.names._add, block, *key))
        f.start("full", falls_through=False)
        f.require(f.call(self.names._grow, context, block), "none")
        f.ret(f.call(self.names.find_or_add, context, block, *key))
        f.start("none", falls_through=False)
        f.ret(NO_MEMORY)

    def _has_room(self, f: FunctionBuilder, block: Value) -> Value:
        return f.compare("slt", f.get(block, LIST, "length"), f.get(block, LIST, "capacity"))

    def _add(self) -> None:
        """``add(dict, key...)``: the place of a new entry behind all others; there is room for it."""
        f = self.m.function(f"i64 {self.names._add}", "ptr dict", *self.keys)
        block, *key = f.parameters
        keys = self._widened(f, key)
        length = f.get(block, LIST, "length")
        entry = self._entry(f, self._first(f, block), length)
        for k, word in enumerate([f.typed(1, "i64"), *keys]):
            f.set_word(entry, k, word)
        for k in self.texts:
            f.call("retain", keys[k])
        for k in range(1 + len(keys), self.width):
            f.set_word(entry, k, 0)
        f.put(block, LIST, length=f.op("add", length, 1))
        f.put(block, DICT, live=f.op("add", f.get(block, DICT, "live"), 1))
        f.ret(length)

    def _remove(self) -> None:
        f = self.m.function(f"void {self.names.remove}", "ptr dict", "i64 place")
        block, index = f.parameters
        first = self._first(f, block)
        entry = self._entry(f, first, index)
        for k in self.texts:
            f.call("release", f.word_of(entry, 1 + k, "ptr"))
            f.set_word(entry, 1 + k, 0)
        for k in (0, *range(1 + len(self.key_words), self.width)):
            f.set_word(entry, k, 0)
        f.put(block, DICT, live=f.op("sub", f.get(block, DICT, "live"), 1))
        shrinking = f.loop(_ENDLESS, f.get(block, LIST, "length"))
        with shrinking:
            (length,) = shrinking.values
            f.return_if(f.compare("eq", length, 0))
            before = f.op("sub", length, 1)
            with f.when(f.compare("ne", f.load(self._entry(f, first, before)), 0)):
                f.ret()
            f.put(block, LIST, length=before)
            shrinking.carry(before)
        f.ret()

    def _grow(self) -> None:
        """``grow(context, dict)``: make room for as many entries as there are, without those taken out, and a table
        where they are many; false where there is no memory.
        """
        f = self.m.function(f"i1 {self.names._grow}", "ptr context", "ptr dict", attributes="noinline cold")
        context, block = f.parameters
        live = f.get(block, DICT, "live")
        twice = f.op("mul", live, 2)
        capacity = f.pick(f.compare("sgt", twice, FEW), twice, FEW)
        items = f.call("new_block", context, f.op("mul", capacity, WORD * self.width))
        f.return_if(f.is_null(items), FALSE)
        old, target = self._first(f, block), f.at(items, BLOCK_DATA, "i8")
        moving = f.loop(f.get(block, LIST, "length"), f.typed(0, "i64"))
        with moving as k:
            (count,) = moving.values
            entry, new = self._entry(f, old, k), self._entry(f, target, count)
            for w in range(self.width):  # what was taken out is written over by the next
                f.set_word(new, w, f.word_of(entry, w))
            moving.carry(f.op("add", count, f.load(entry)))
        f.call("drop_block", f.get(block, LIST, "items"))
        f.call("release", f.get(block, DICT, "table"))
        f.put(block, LIST, length=live, capacity=capacity, items=items)
        f.put(block, DICT, table=NULL)
        f.return_if(f.compare("sle", live, FEW), TRUE)
        f.ret(f.call(self.names._index, context, block))

    def _index(self) -> None:
        """``index(context, dict)``: give a dict without a table one; false where there is no memory."""
        f = self.m.function(f"i1 {self.names._index}", "ptr context", "ptr dict", attributes="noinline cold")
        context, block = f.parameters
        capacity = f.get(block, LIST, "capacity")
        f.return_if(f.compare("sge", capacity, 1 << 30), FALSE)
        last = f.op("sub", f.op("mul", capacity, 2), 1)
        zeros = f.define(f"call i64 @llvm.ctlz.i64(i64 {last}, i1 true)", "i64")
        bits = f.op("sub", f.typed(64, "i64"), zeros)
        bits = f.pick(f.compare("sgt", bits, _LEAST_BITS), bits, _LEAST_BITS)
        size = f.op("shl", f.typed(4, "i64"), bits)
        table = f.call("new_block", context, size)
        f.return_if(f.is_null(table), FALSE)
        slots = f.at(table, BLOCK_DATA, "i8")
        f.raw(f"call void @llvm.memset.p0.i64(ptr {slots}, i8 -1, i64 {size}, i1 false)")
        f.put(block, DICT, table=table, bits=bits, filled=f.get(block, DICT, "live"))
        first = self._first(f, block)
        with f.loop(f.get(block, LIST, "length")) as k:
            entry = self._entry(f, first, k)
            with f.when(f.compare("ne", f.load(entry), 0)):
                kinds = ["ptr" if kind == "ptr" else "i64" for kind in self.key_words]
                keys = [f.word_of(entry, 1 + w, kind) for w, kind in enumerate(kinds)]
                start, mask = self._start(f, block, self._hash(f, keys))
                looking = f.loop(_ENDLESS, start)
                with looking:
                    (slot,) = looking.values
                    with f.when(f.compare("slt", f.load(f.at(slots, slot, "i32"), "i32"), 0)):
                        f.branch(looking.after)
                    looking.carry(f.op("and", f.op("add", slot, 1), mask))
                (slot,) = looking.values
                f.store(f.at(slots, slot, "i32"), f.convert("trunc", k, "i32"))
        f.ret(TRUE)
