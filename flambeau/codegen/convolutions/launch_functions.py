"""How functions of launches begin: they get a block of words, of which one has the address of what they compute."""

from __future__ import annotations

from flambeau.codegen.convolutions.vectors import VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import CALL, CALL_AT, NORM
from flambeau.codegen.layouts import WORD, Layout
from flambeau.codegen.llvm.emitter import Value


def launch_function(m: VectorModule, symbol: str) -> VectorFunction:
    """``symbol(block, low, high)``: units from `low` to `high`."""
    return m.function(f"void {symbol}", "ptr block", "i64 low", "i64 high", exported=True)


def function_of_call(m: VectorModule, symbol: str) -> tuple[VectorFunction, Value, Value]:
    """The function of a convolution, its `CALL`, and the words of its only slice."""
    f = launch_function(m, symbol)
    call = f.word_of(f.parameters[0], CALL_AT, "ptr")
    return f, call, f.get(call, CALL, "slices", "ptr")


def function_of_norm(m: VectorModule, symbol: str, at: int, layout: Layout) -> tuple[VectorFunction, Value, Value]:
    """The function of a norm, what the word `at` of its block points to, of a layout, and a copy of the `NORM` there,
    for addresses.
    """
    f = launch_function(m, symbol)
    call = f.word_of(f.parameters[0], at, "ptr")
    own = f.slot(f"[{NORM.words} x i64]", 16)
    f.copy(own, f.get(call, layout, "norm"), NORM.words * WORD, align=8)
    return f, call, own
