"""Where the routines are, and how a function that is being emitted calls them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue
from flambeau.codegen.graph.routines import bags, generators, matrices, transforms
from flambeau.codegen.graph.routines.copies import COPY, COPY_TYPE, add_copy
from flambeau.codegen.graph.routines.ordered import FIRST, FIRST_TYPE, ORDER, ORDER_TYPE, add_order
from flambeau.codegen.graph.routines.picked import PICK, PICK_TYPE, add_pick
from flambeau.codegen.graph.routines.places import COUNT, COUNT_TYPE, PLACES, PLACES_TYPE, add_places
from flambeau.codegen.graph.routines.resized import RESIZE, RESIZE_TYPE, add_resize
from flambeau.codegen.llvm.builder import ModuleBuilder, Signature
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.engine import Engine, NativeCode, engine
from flambeau.codegen.numpy_generator import BEGIN, BEGIN_TYPE, END, END_TYPE, draw_addresses
from flambeau.codegen.tensor_draws import FILL, FILL_TYPE, fill_addresses
from flambeau.util.locks import Lock

ROUTINES = {
    COPY: COPY_TYPE, RESIZE: RESIZE_TYPE, PICK: PICK_TYPE, ORDER: ORDER_TYPE, FIRST: FIRST_TYPE, COUNT: COUNT_TYPE,
    PLACES: PLACES_TYPE, **dict.fromkeys(bags.SYMBOLS, bags.SUM_TYPE),
}  # fmt: skip
"""The types of the routines that are compiled, by symbol."""

DRAWING = {BEGIN: BEGIN_TYPE, END: END_TYPE, FILL: FILL_TYPE}
"""Those of Python's: that begin and end drawing from NumPy's generator, and that fill memory from the default one."""

NUMPYS = matrices.TYPES | transforms.TYPES | generators.TYPES
"""Those of NumPy's loops, and of its generators of random numbers."""

_lock = Lock()
_compiled: dict[Engine, NativeCode] = {}


def routine_addresses() -> dict[str, int]:
    """Where our own routines are, by symbol; compiled at the first call. Raises NativeError."""
    jit = engine()
    with _lock:
        code = _compiled.get(jit)
        if code is None:
            code = _compiled[jit] = jit.link_entry(
                "routines", tuple(ROUTINES), lambda: (_text(), ()), lambda names: {}
            )
    return {symbol: code.addresses[symbol] for symbol in ROUTINES}


_HOMES: Final[tuple[tuple[Collection[str], Callable[[], dict[str, int]]], ...]] = (
    (ROUTINES, routine_addresses), (matrices.TYPES, matrices.loop_addresses),
    (transforms.TYPES, transforms.loop_addresses), (generators.TYPES, generators.function_addresses),
    ((BEGIN, END), draw_addresses), ((FILL,), fill_addresses),
)  # fmt: skip
"""Symbols, and what tells where they are: nobody looks for what is not called."""


def addresses_of(symbols: Iterable[str]) -> dict[str, int]:
    """Where the routines are that some code calls; nothing is compiled for code that calls none. Raises NativeError."""
    wanted = tuple(symbols)
    known: dict[str, int] = {}
    for names, find in _HOMES:
        if any(symbol in names for symbol in wanted):
            known |= find()
    return {symbol: known[symbol] for symbol in wanted}


@cache
def _text() -> str:
    m = ModuleBuilder({})
    add_copy(m)
    add_resize(m)
    add_pick(m)
    add_order(m)
    add_places(m)
    bags.add_sums_of_bags(m, engine().target)
    return m.text()


def call_loop(
    fn: EmittedFunction, symbol: str, addresses: Sequence[Register], counts: Sequence[Register],
    steps: Sequence[Register],
) -> None:  # fmt: skip
    """Call a loop of NumPy's over complex numbers: ``counts`` say how often, and the sizes that its signature names;
    ``steps`` are the bytes from one call to the next in each operand and result, then those along each axis of each.
    """
    words = [fn.e.define(f"ptrtoint ptr {a} to i64", "i64", 1) for a in addresses]
    has_data = symbol + transforms.DATA in transforms.loop_addresses()
    data = routine_symbol(fn, symbol + transforms.DATA) if has_data else Register("null", "ptr", 1)
    call_routine(fn, symbol, *[memory.spilled(fn.e, w) for w in (words, counts, steps)], data)


def routine_symbol(fn: EmittedFunction, symbol: str) -> Register:
    """The address that a routine's symbol stands for, as an operand of another."""
    fn.parts.routines[symbol] = None
    fn.e.declare(Signature(NUMPYS[symbol]).declaration(symbol))
    return Register(f"@{symbol}", "ptr", 1)


def call_routine(fn: EmittedFunction, symbol: str, *arguments: Register) -> Register:
    """A call of a routine; what it gives, if that is anything."""
    kind = Signature(ROUTINES.get(symbol) or DRAWING.get(symbol) or NUMPYS[symbol])
    fn.parts.routines[symbol] = None
    fn.e.declare(kind.declaration(symbol))
    listed = ", ".join(f"{t} {a}" for t, a in zip(kind.parameters, arguments, strict=True))
    text = f"call {kind.result} @{symbol}({listed})"
    if kind.result == "void":
        fn.e.raw(text)
        return Register("", "void", 1)
    return fn.e.define(text, kind.result, 1)


def copy_by_routine(fn: EmittedFunction, target: ArrayValue, source: ArrayValue) -> None:
    """Overwrite a tensor with another of its sizes and dtype, apart from it in memory, however the two lie."""
    e = fn.e
    call_routine(
        fn, COPY, target.data, source.data, number(source.rep.rank), memory.spilled(e, source.sizes),
        memory.spilled(e, target.strides), memory.spilled(e, source.strides),
        number(memory.itemsize(source.rep.dtype)),
    )  # fmt: skip
