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
from flambeau.codegen.quantized.windows import add_windows

_SIGNATURE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_WRITERS: Final = {"multiply": add_multiply, "quantise": add_quantise, "windows": add_windows}
_IN_BYTES: Final = "_bytes"
"""Behind the names of functions for bytes."""


def lanes() -> int:
    """How many float32 a vector has."""
    return engine().target.vector_bits // 32


def takes_bytes() -> bool:
    """Whether there are functions for bytes."""
    return engine().target.adds_bytes


def is_at_hand() -> bool:
    """Whether nothing has to be compiled any more for products."""
    ending = _IN_BYTES if takes_bytes() else ""
    return all(engine().has_written(f"quantized {name}{ending}") for name in ("multiply", "quantise"))


def has_windows() -> bool:
    """The same for windows of each channel by itself."""
    return engine().has_written("quantized windows")


@cache
def function(name: str, in_bytes: bool) -> Callable[[Sequence[int]], None]:
    """`multiply`, `quantise` or `windows`, called with its words. Raises `NativeError` where it cannot be compiled."""
    symbol = name + (_IN_BYTES if in_bytes else "")

    def text() -> str:
        m = ModuleBuilder({})
        _WRITERS[name](m, symbol, engine().target, in_bytes)
        return m.text() + ATTRIBUTES

    code = engine().link_written(f"quantized {symbol}", (symbol,), text, {})
    native = _SIGNATURE(code.addresses[symbol])

    def run(words: Sequence[int], _owner: object = code) -> None:
        block = array("q", words)
        native(block.buffer_info()[0])

    return run
