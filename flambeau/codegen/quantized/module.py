"""The functions for quantised layers, compiled for this processor and kept on disk."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.llvm.native_text import ATTRIBUTES
from flambeau.codegen.quantized.products import add_multiply, add_quantise

_SIGNATURE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_WRITERS: Final = {"multiply": add_multiply, "quantise": add_quantise}


def lanes() -> int:
    """How many float32 a vector has."""
    return engine().target.vector_bits // 32


def is_at_hand() -> bool:
    """Whether nothing has to be compiled any more."""
    return all(engine().has_written(f"quantized {name}") for name in _WRITERS)


@cache
def function(name: str) -> Callable[[Sequence[int]], None]:
    """`multiply` or `quantise`, called with its words. Raises `NativeError` where it cannot be compiled."""

    def text() -> str:
        m = ModuleBuilder({})
        _WRITERS[name](m, engine().target)
        return m.text() + ATTRIBUTES

    code = engine().link_written(f"quantized {name}", (name,), text, {})
    native = _SIGNATURE(code.addresses[name])

    def run(words: Sequence[int], _owner: object = code) -> None:
        block = array("q", words)
        native(block.buffer_info()[0])

    return run
