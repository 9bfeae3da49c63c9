"""The order of keys that only comparisons tell, texts and tuples with texts: a stable merge sort of their places.

Runs of one key, then of two, four and so on are merged, from one half of the memory that is given into the other.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.containers.list_comparisons import sign_of
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ListValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Float
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.schema import dtype as dtypes

WORDS_PER_KEY = 2
_WORD = 8


def merged_order(
    fn: EmittedFunction, keys: ListValue, size: Register, flip: Register, scratch: Register
) -> Callable[[Register], Register]:
    """Of each place in the order, which key comes there; `flip` is -1 where the largest come first, else 0.

    `scratch` has room for `WORDS_PER_KEY` words of each key.
    """
    e = fn.e
    source, target, width = e.slot("ptr", 8), e.slot("ptr", 8), e.slot("i64", 8)
    e.raw(f"store ptr {scratch}, ptr {source}")
    e.raw(f"store ptr {memory.offset_address(e, scratch, size, number(_WORD), _WORD)}, ptr {target}")
    e.raw(f"store i64 1, ptr {width}")

    def place(base: Register, k: Register) -> Register:
        return memory.offset_address(e, base, k, number(_WORD), _WORD)

    def index(k: Register) -> Register:
        return memory.load_element(e, place(e.define(f"load ptr, ptr {source}", "ptr", 1), k), dtypes.int64)

    each(fn, size, lambda k: memory.store_element(e, place(scratch, k), k, dtypes.int64))

    def one_pass(_: Register) -> None:
        half = e.define(f"load i64, ptr {width}", "i64", 1)
        whole = e.binary("shl", half, number(1))
        runs = e.binary("sdiv", e.binary("add", size, e.binary("sub", whole, number(1))), whole)
        to = e.define(f"load ptr, ptr {target}", "ptr", 1)

        def merge(run: Register) -> None:
            start = e.binary("mul", run, whole)
            middle = e.intrinsic("smin", e.binary("add", start, half), size)
            end = e.intrinsic("smin", e.binary("add", start, whole), size)
            _merge(fn, keys, flip, index, (start, middle, end), lambda k: place(to, k))

        each(fn, runs, merge)
        e.raw(f"store ptr {e.define(f'load ptr, ptr {source}', 'ptr', 1)}, ptr {target}")
        e.raw(f"store ptr {to}, ptr {source}")
        e.raw(f"store i64 {whole}, ptr {width}")

    each(fn, _passes(fn, size), one_pass)
    return index


def _passes(fn: EmittedFunction, size: Register) -> Register:
    """How often runs must double to be as long as all keys."""
    e = fn.e
    zeros = e.define(f"call i64 @llvm.ctlz.i64(i64 {e.binary('sub', size, number(1))}, i1 false)", "i64", 1)
    return e.select(e.icmp("sgt", size, number(1)), e.binary("sub", number(64), zeros), number(0))


def _merge(
    fn: EmittedFunction, keys: ListValue, flip: Register, index: Callable[[Register], Register],
    bounds: tuple[Register, Register, Register], target: Callable[[Register], Register],
) -> None:  # fmt: skip
    """Two runs beside each other, as one: the second one's key comes first only if it is less."""
    e, (start, middle, end) = fn.e, bounds
    left, right = e.slot("i64", 8), e.slot("i64", 8)
    e.raw(f"store i64 {start}, ptr {left}")
    e.raw(f"store i64 {middle}, ptr {right}")

    def step(k: Register) -> None:
        i, j = (e.define(f"load i64, ptr {slot}", "i64", 1) for slot in (left, right))
        has_left, has_both, take_left, take_right, taken = (
            e.label(name) for name in ("has_left", "has_both", "left", "right", "taken")
        )
        e.branch_if(e.icmp("slt", i, middle), has_left, take_right)
        e.start(has_left)
        e.branch_if(e.icmp("slt", j, end), has_both, take_left)
        e.start(has_both)
        sign = sign_of(fn, lists.item(fn, keys, index(j)), lists.item(fn, keys, index(i)))
        turned = e.binary("sub", e.binary("xor", sign, flip), flip)
        e.branch_if(e.icmp("slt", turned, number(0)), take_right, take_left)
        for label, slot, at in ((take_left, left, i), (take_right, right, j)):
            e.start(label)
            memory.store_element(e, target(e.binary("add", start, k)), index(at), dtypes.int64)
            e.raw(f"store i64 {e.binary('add', at, number(1))}, ptr {slot}")
            e.branch(taken)
        e.start(taken)

    each(fn, e.binary("sub", end, start), step)


def has_nan(fn: EmittedFunction, keys: ListValue, size: Register) -> Register:
    """Whether a float of one of the keys is nan, which is neither less nor greater."""
    e, slot = fn.e, fn.e.slot("i1", 8)
    e.raw(f"store i1 false, ptr {slot}")

    def look(native: Native) -> None:
        if isinstance(native, TupleValue):
            for item in native.items:
                look(item)
        elif isinstance(native, Scalar) and isinstance(native.rep, Float):
            state = e.define(f"load i1, ptr {slot}", "i1", 1)
            is_nan = e.fcmp("uno", native.register, native.register)
            e.raw(f"store i1 {e.binary('or', state, is_nan)}, ptr {slot}")

    each(fn, size, lambda k: look(lists.item(fn, keys, k)))
    return e.define(f"load i1, ptr {slot}", "i1", 1)
