"""Where the elements of a line are that are not zero, as LLVM functions of a module of routines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value
from flambeau.schema.dtype import DType

COUNT: Final = "flambeau_line_count"
"""``(line, bytes from one to the next, count, kind)``: how many elements are not zero."""
COUNT_TYPE: Final = "i64 (ptr, i64, i64, i64)"
PLACES: Final = "flambeau_line_places"
"""The same, then an array of words and how many it has room for: writes their places, as many as there is room for, and
gives how many it wrote."""
PLACES_TYPE: Final = "i64 (ptr, i64, i64, i64, ptr, i64)"
_WIDTHS: Final = (1, 2, 4, 8)


def kind_of(dtype: DType) -> int:
    """The number that stands for elements of a dtype: of a float the sign does not count."""
    return _WIDTHS.index(dtype.itemsize) + len(_WIDTHS) * dtype.is_floating_point


def add_places(m: ModuleBuilder) -> None:
    """Add `COUNT` and `PLACES`."""
    f = m.function(f"i64 {COUNT}", "ptr line", "i64 step", "i64 count", "i64 kind", exported=True)
    _for_each_kind(f, lambda is_some: _count(f, is_some))
    f = m.function(
        f"i64 {PLACES}", "ptr line", "i64 step", "i64 count", "i64 kind", "ptr to", "i64 room", exported=True
    )  # fmt: skip
    _for_each_kind(f, lambda is_some: _write(f, is_some))


IsSome = Callable[[Value], Value]
"""Of the place of an element, 1 if it is not zero, else 0."""


def _for_each_kind(f: FunctionBuilder, body: Callable[[IsSome], None]) -> None:
    """``body``, which returns from the function, once for each kind."""
    line, step, _, kind = f.parameters[:4]
    labels = [f.label("kind") for _ in range(2 * len(_WIDTHS))]
    f.switch(kind, labels[0], dict(enumerate(labels)))
    for number, label in enumerate(labels):
        width, is_float = _WIDTHS[number % len(_WIDTHS)], number >= len(_WIDTHS)

        def is_some(k: Value, width: int = width, is_float: bool = is_float) -> Value:
            bits = f.load(f.at(line, f.op("mul", k, step), "i8"), f"i{8 * width}", ", align 1")
            digits = f.op("shl", bits, 1) if is_float else bits
            return f.convert("zext", f.compare("ne", digits, 0), "i64")

        f.start(label, falls_through=False)
        body(is_some)


def _count(f: FunctionBuilder, is_some: IsSome) -> None:
    loop = f.loop(f.parameters[2], word(0))
    with loop as k:
        loop.carry(f.op("add", loop.values[0], is_some(k)))
    f.ret(loop.values[0])


def _write(f: FunctionBuilder, is_some: IsSome) -> None:
    """Every place is written, until there is no room, and only one that counts is kept: so no branch depends on an
    element."""
    *_, to, room = f.parameters
    loop = f.loop(f.parameters[2], word(0))
    with loop as k:
        at, on = loop.values[0], f.label("on")
        f.branch_if(f.compare("slt", at, room), on, loop.after)
        f.start(on, falls_through=False)
        f.set_word(to, at, k)
        loop.carry(f.op("add", at, is_some(k)))
    f.ret(loop.values[0])
