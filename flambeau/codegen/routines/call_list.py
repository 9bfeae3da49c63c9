"""Routines that are lists of calls: functions for parts of an operator, called one after the other with words.

A launch of such a routine has no code of its own. A list says which functions are called, and what their words are:
numbers, or places in inputs, outputs and scratch memory, whose addresses only the call knows. So what an operator does
on arrays of some sizes is worked out once, in Python, and done by calls of functions that exist.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from flambeau.codegen.call_geometry import Output
from flambeau.codegen.launches import Launch
from flambeau.codegen.layouts import Layout, words_layout
from flambeau.codegen.llvm.abi import NO_MEMORY
from flambeau.codegen.llvm.builder import IMPORTED, FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.table import Routine
from flambeau.util.record import dataclass

CALLS: Final[Layout] = words_layout("ptr words, i64 count, i64 scratch")
"""A list: its words, how many calls it has, and bytes of scratch memory. Of each call the words are the address of the
function, how many words it takes, and for each word what its place is relative to, and the distance in bytes.
"""
LITERAL, FLAG, SCRATCH = -1, 0, -2
"""What a word may be relative to beside the inputs and outputs, which are counted from 1: nothing, the address of the
flag that says that a call failed, the scratch memory."""
MOST_WORDS: Final = 24
"""How many words a function takes at most."""
ALIGNED: Final = 64
"""Bytes that scratch memory is aligned to."""
SYMBOL: Final = "calls_of_launch"


@dataclass(frozen=True, slots=True)
class Address:
    """Somewhere in an input, an output or scratch memory."""

    base: int
    offset: Any = 0

    def behind(self, count: Any) -> Address:
        """The address some bytes further on."""
        return Address(self.base, self.offset + count)


Word = Any
"""A number, which may be one of a recording or an address in its memory, or an `Address`."""


class CallList:
    """The calls that a launch makes, in order.

    Once a function has set the flag, the rest is not called: the operator itself then runs, and says what is wrong.
    """

    def __init__(self, inputs: int, outputs: int, memory: Memory) -> None:
        """`memory` gets what the launch points to."""
        self._inputs, self._outputs, self.memory = inputs, outputs, memory
        self._words: list[Any] = []
        self._count = 0
        self._scratch: Any = 0

    def input(self, number: int) -> Address:
        """Where an input begins."""
        return Address(1 + number)

    def output(self, number: int) -> Address:
        """Where an output begins."""
        return Address(1 + self._inputs + number)

    def room(self, size: Any) -> Address:
        """So many bytes of scratch memory, which hold anything at first."""
        start = self._scratch
        self._scratch = start + -(-size // ALIGNED) * ALIGNED
        return Address(SCRATCH, start)

    def function(self, code: NativeCode, symbol: str) -> int:
        """The address of a function that others are told of."""
        self.memory.keep(code)
        return code.addresses[symbol]

    def call(self, code: NativeCode, symbol: str, words: Sequence[Word]) -> None:
        """Call the function ``void (ptr words)``."""
        assert len(words) <= MOST_WORDS
        self.memory.keep(code)
        self._words.extend((code.addresses[symbol], len(words)))
        for value in words:
            self._words.extend((value.base, value.offset) if isinstance(value, Address) else (LITERAL, value))
        self._count += 1

    def launch(self, outputs: tuple[Output, ...], nanoseconds: Any) -> Launch:
        """The launch that makes the calls. Its range is one number, the word of the block that has the list."""
        at = 1 + self._inputs + self._outputs
        calls = self.memory.struct(
            CALLS, words=self.memory.words(self._words), count=self._count, scratch=self._scratch
        )
        words = [0] * at + [calls]
        routine = Routine(_code(), SYMBOL, self.memory.kept)
        return Launch(outputs, words, at, None, nanoseconds=nanoseconds, routine=routine)


@cache
def _code() -> NativeCode:
    m = ModuleBuilder({"allocate": "ptr (i64)", "free": "void (ptr)"})
    _add_calls(m)
    names = {"allocate": "PyMem_RawMalloc", "free": "PyMem_RawFree"}
    imports = {
        IMPORTED + name: ctypes.cast(getattr(ctypes.pythonapi, c_name), ctypes.c_void_p).value or 0
        for name, c_name in names.items()
    }
    return engine().link(m.text(), (SYMBOL,), imports)


def _add_calls(m: ModuleBuilder) -> None:
    """``calls_of_launch(block, low, at)``: make the calls of the list whose address is the word `at` of the block."""
    f = m.function(f"void {SYMBOL}", "ptr block", "i64 low", "i64 at", exported=True)
    block, _, at = f.parameters
    calls = f.word_of(block, at, "ptr")
    flag = f.word_of(block, 0, "ptr")
    memory = f.call("allocate", f.op("add", f.get(calls, CALLS, "scratch"), ALIGNED))
    with f.when(f.is_null(memory)):
        f.store(flag, NO_MEMORY, "i32")
        f.ret()
    start = f.define(f"ptrtoint ptr {memory} to i64", "i64")
    scratch = f.op("and", f.op("add", start, ALIGNED - 1), -ALIGNED)
    words = f.array("i64", MOST_WORDS)
    loop = f.loop(f.get(calls, CALLS, "count"), f.get(calls, CALLS, "words", "ptr"))
    with loop:
        (here,) = loop.values
        count = f.word_of(here, 1)
        with f.loop(count) as k:
            pair = f.at(f.at(here, 2), f.op("shl", k, 1))
            f.set_word(words, k, f.op("add", _base(f, block, scratch, f.word_of(pair, 0)), f.word_of(pair, 1)))
        with f.when(f.compare("eq", f.load(flag, "i32"), 0)):
            f.call_address(f.word_of(here, 0, "ptr"), "void (ptr)", words)
        loop.carry(f.at(f.at(here, 2), f.op("shl", count, 1)))
    f.call("free", memory)
    f.ret()


def _base(f: FunctionBuilder, block: Value, scratch: Value, base: Value) -> Value:
    """The address that a word is relative to; 0 for a number."""
    is_array = f.compare("sge", base, 0)
    of_array = f.word_of(block, f.pick(is_array, base, 0))
    other = f.pick(f.compare("eq", base, SCRATCH), scratch, word(0))
    return f.pick(is_array, of_array, other)
