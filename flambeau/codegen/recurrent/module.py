"""The functions for one kind of cell and dtype, compiled for this processor and kept on disk."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.native_text import ATTRIBUTES
from flambeau.codegen.recurrent.backward import add_backward
from flambeau.codegen.recurrent.cells import CELLS
from flambeau.codegen.recurrent.forward import add_forward
from flambeau.codegen.recurrent.products import add_outer, add_pack, add_product
from flambeau.codegen.recurrent.steps import add_arrange
from flambeau.codegen.recurrent.tables import add_tables

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Function = Callable[[Sequence[int]], None]
"""Called with its words; other threads run meanwhile."""


def lanes(dtype: str) -> int:
    """How many elements of a dtype, by its name, a vector has."""
    return engine().target.vector_bits // (32 if dtype == "float32" else 64)


@cache
def code(name: str, dtype: str, kind: str = "") -> NativeCode:
    """The function of a name, for a dtype and, where it is of a cell, for a kind of cell. Raises `NativeError` where it
    cannot be compiled.
    """

    def text() -> str:
        m = ModuleBuilder({})
        _WRITERS[name](m, kind, dtype, engine().target)
        return m.text() + ATTRIBUTES

    return engine().link_written(_what(name, dtype, kind), (name,), text, {})


def is_at_hand(kind: str, dtype: str) -> bool:
    """Whether what a layer of a kind of cell needs on its way there does not have to be compiled any more."""
    needed = (_what("pack", dtype, ""), _what("product", dtype, ""), _what("forward", dtype, kind))
    return all(map(engine().has_written, needed))


def _what(name: str, dtype: str, kind: str) -> str:
    return f"recurrent {name} {dtype} {kind}"


@cache
def forward(kind: str, dtype: str) -> Function:
    """All steps of a layer of a kind of cell: `words.FORWARD`."""
    return _called("forward", code("forward", dtype, kind))


@cache
def backward(kind: str, dtype: str) -> Function:
    """The way back through all steps: `words.BACKWARD`."""
    return _called("backward", code("backward", dtype, kind))


@cache
def product(dtype: str) -> Function:
    """A product of rows with panels: `words.PRODUCT`."""
    return _called("product", code("product", dtype))


@cache
def outer(dtype: str) -> Function:
    """A product of one matrix, transposed, with another: `words.OUTER`."""
    return _called("outer", code("outer", dtype))


@cache
def pack(dtype: str) -> Function:
    """Weights to panels: `words.PACK`."""
    return _called("pack", code("pack", dtype))


_WRITERS: Final[dict[str, Callable[[ModuleBuilder, str, str, Target], None]]] = {
    "forward": lambda m, kind, dtype, target: add_forward(m, CELLS[kind], dtype, target),
    "backward": lambda m, kind, dtype, target: add_backward(m, CELLS[kind], dtype, target),
    "product": lambda m, _, dtype, target: add_product(m, dtype, target),
    "outer": lambda m, _, dtype, target: add_outer(m, dtype, target),
    "pack": lambda m, _, dtype, target: add_pack(m, dtype, target),
    "arrange": lambda m, _, dtype, target: add_arrange(m, dtype, target),
    "tables": lambda m, _, dtype, target: add_tables(m),
}


def _called(name: str, code: NativeCode) -> Function:
    function = _SIGNATURE(code.addresses[name])

    def run(words: Sequence[int], _owner: object = code) -> None:
        block = array("q", words)
        function(block.buffer_info()[0])

    return run
