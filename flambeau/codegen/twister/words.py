"""The words of a Mersenne twister (Matsumoto and Nishimura, 1998), where NumPy's generator keeps its state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import Operand, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.numpy_generator import PLACE, WORDS

WIDE: Final = 8
"""Words that are computed together."""
_AHEAD: Final = 397
"""How far ahead the word lies that goes into a new one."""
_UPPER, _LOWER, _MATRIX = -0x80000000, 0x7FFFFFFF, 0x9908B0DF - (1 << 32)
TEMPERS: Final = (("lshr", 11, None), ("shl", 7, 0x9D2C5680 - (1 << 32)), ("shl", 15, 0xEFC60000 - (1 << 32)),
                  ("lshr", 18, None))  # fmt: skip
"""How a word of the state becomes a number: shifted, masked, and added without carry."""
Body = Callable[[Value, int], None]


def each(f: FunctionBuilder, count: Operand, lanes: int, body: Body) -> None:
    """Build a loop over `count` elements, `lanes` at a time and what is left one by one: `body(first, lanes)`."""
    total = f.typed(count, "i64")
    vectors = f.op("udiv", total, lanes)
    with f.loop(vectors) as k:
        body(f.op("mul", k, lanes), lanes)
    done = f.op("mul", vectors, lanes)
    with f.loop(f.op("sub", total, done)) as k:
        body(f.op("add", done, k), 1)


@contextmanager
def pieces(f: FunctionBuilder, count: Value, size: int) -> Iterator[tuple[Value, Value]]:
    """What is built inside runs for pieces of `count` elements: the first one's number, and how many there are."""
    with f.loop(f.op("udiv", f.op("add", count, size - 1), size)) as k:
        first = f.op("mul", k, size)
        left = f.op("sub", count, first)
        yield first, f.pick(f.compare("slt", left, size), left, size)


def masked(f: FunctionBuilder, op: str, a: Value, number: int) -> Value:
    """An operation with one number in all lanes."""
    return f.binary(op, a, f.bits_like(a, number))


def add_words(m: ModuleBuilder) -> None:
    """``words(state, out, count)``: the next words of a stream, into memory."""
    _add_refill(m)
    f = m.function("void words", "ptr state", "ptr out", "i64 count")
    state, out, count = f.parameters
    f.return_if(f.compare("sle", count, 0))
    place_word = f.at(state, PLACE, "i32")
    taken = f.convert("zext", f.load(place_word, "i32"), "i64")
    start = f.pick(f.compare("uge", taken, WORDS), 0, taken)
    rounds = f.op("udiv", f.op("add", f.op("add", start, count), WORDS - 1), WORDS)
    loop = f.loop(rounds, out, count)
    with loop:
        target, left = loop.values
        with f.when(f.compare("uge", f.load(place_word, "i32"), WORDS)):
            f.call("refill", state)
            f.store(place_word, f.typed(0, "i32"))
        first_word = f.convert("zext", f.load(place_word, "i32"), "i64")
        rest = f.op("sub", word(WORDS), first_word)
        taken = f.pick(f.compare("ult", rest, left), rest, left)
        source = f.at(state, first_word, "i32")

        def temper(first: Value, lanes: int) -> None:
            value = f.read(f.at(source, first, "i32"), "i32", lanes, align=4)
            for op, shift, mask in TEMPERS:
                shifted = masked(f, op, value, shift)
                value = f.binary("xor", value, shifted if mask is None else masked(f, "and", shifted, mask))
            f.write(value, f.at(target, first, "i32"), align=4)

        each(f, taken, WIDE, temper)
        f.store(place_word, f.convert("trunc", f.op("add", first_word, taken), "i32"))
        loop.carry(f.at(target, taken, "i32"), f.op("sub", left, taken))
    f.ret()


def _add_refill(m: ModuleBuilder) -> None:
    """``refill(state)``: the next round of words, each from itself, its neighbour and one further on."""
    f = m.function("void refill", "ptr state", attributes="noinline")
    (state,) = f.parameters

    def renew(here: Value, following: Value, partner: Value, lanes: int) -> None:
        own, neighbour, other = [f.read(a, "i32", lanes, align=4) for a in (here, following, partner)]
        mixed = f.binary("or", masked(f, "and", own, _UPPER), masked(f, "and", neighbour, _LOWER))
        is_odd = masked(f, "and", neighbour, 1)
        added = masked(f, "and", f.binary("sub", f.bits_like(own, 0), is_odd), _MATRIX)
        f.write(f.binary("xor", f.binary("xor", other, masked(f, "lshr", mixed, 1)), added), here, align=4)

    def renew_some(first: int, count: int, distance: int) -> None:
        def body(k: Value, lanes: int) -> None:
            here = f.at(f.at(state, first, "i32"), k, "i32")
            renew(here, f.at(here, 1, "i32"), f.at(here, distance, "i32"), lanes)

        each(f, count, WIDE, body)

    renew_some(0, WORDS - _AHEAD, _AHEAD)
    renew_some(WORDS - _AHEAD, _AHEAD - 1, _AHEAD - WORDS)
    last = f.at(state, WORDS - 1, "i32")
    renew(last, state, f.at(state, _AHEAD - 1, "i32"), 1)
    f.ret()
