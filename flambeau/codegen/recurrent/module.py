"""The functions for one kind of cell and dtype, compiled for this processor and kept on disk."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from functools import cache

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.llvm.nest import ATTRIBUTES
from flambeau.codegen.recurrent.backward import add_backward
from flambeau.codegen.recurrent.cells import CELLS
from flambeau.codegen.recurrent.forward import add_forward
from flambeau.codegen.recurrent.products import add_outer, add_pack, add_product

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Function = Callable[[Sequence[int]], None]
"""Called with its words; other threads run meanwhile."""


def lanes(dtype: str) -> int:
    """How many elements of a dtype, by its name, a vector has."""
    return engine().target.vector_bits // (32 if dtype == "float32" else 64)


@cache
def forward(kind: str, dtype: str) -> Function:
    """All steps of a layer of a kind of cell: `words.FORWARD`. Raises `NativeError` where it cannot be compiled."""
    return _linked("forward", lambda m, target: add_forward(m, CELLS[kind], dtype, target))


@cache
def backward(kind: str, dtype: str) -> Function:
    """The way back through all steps: `words.BACKWARD`. Raises `NativeError` where it cannot be compiled."""
    return _linked("backward", lambda m, target: add_backward(m, CELLS[kind], dtype, target))


@cache
def product(dtype: str) -> Function:
    """A product of rows with panels: `words.PRODUCT`. Raises `NativeError` where it cannot be compiled."""
    return _linked("product", lambda m, target: add_product(m, dtype, target))


@cache
def outer(dtype: str) -> Function:
    """A product of one matrix, transposed, with another: `words.OUTER`. Raises `NativeError` where it cannot be
    compiled.
    """
    return _linked("outer", lambda m, target: add_outer(m, dtype, target))


@cache
def pack(dtype: str) -> Function:
    """Weights to panels: `words.PACK`. Raises `NativeError` where it cannot be compiled."""
    return _linked("pack", lambda m, target: add_pack(m, dtype, target))


def _linked(name: str, write: Callable[[ModuleBuilder, Target], None]) -> Function:
    m = ModuleBuilder({})
    write(m, engine().target)
    code = engine().link(m.text() + ATTRIBUTES, (name,), {})
    function = _SIGNATURE(code.addresses[name])

    def run(words: Sequence[int], _owner: object = code) -> None:
        block = array("q", words)
        function(block.buffer_info()[0])

    return run
