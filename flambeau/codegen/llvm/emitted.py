"""Kernels on disk by what they are emitted from, so that a process that finds the code does not write its text again.

An entry of the cache is found by the kernel, its schedule, the processor and the sources of the emitter; before the
object, it holds a line that says what the object needs to be linked. The text is written when somebody asks to read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from flambeau.codegen.llvm.native_text import NativeText
from flambeau.codegen.llvm.package_sources import package_stamp

ROOM = Path(__file__).parents[1].name
"""The folder of the package whose sources decide what is emitted."""


class Needs(NamedTuple):
    """What is known of a kernel's function without its text."""

    libm: tuple[str, ...]
    needs_memory: bool
    splits: bool
    """Whether the outermost axis may be cut into [low, high) pieces that run independently."""


class KernelText:
    """A kernel's function: what it needs, and its text, which is written when it is asked for."""

    def __init__(self, symbol: str, needs: Needs, emit: Callable[[], str]) -> None:
        self.symbol = symbol
        self.libm, self.needs_memory, self.splits = needs
        self._emit = emit

    @property
    def text(self) -> str:
        """The LLVM text."""
        return self._emit()


def needs_of(native: NativeText) -> Needs:
    """What a function that was just emitted needs."""
    return Needs(native.libm, native.needs_memory, native.splits)


def packed(needs: Needs, content: bytes) -> bytes:
    """An entry: the needs as a line, then the object."""
    return json.dumps(needs).encode() + b"\n" + content


def unpacked(entry: bytes) -> tuple[Needs, bytes] | None:
    """What an entry holds; None for what is none."""
    line, separator, content = entry.partition(b"\n")
    try:
        libm, needs_memory, splits = json.loads(line)
    except (ValueError, TypeError):
        return None
    return (Needs(tuple(libm), needs_memory, splits), content) if separator else None


def emitter_sources() -> str:
    """Tells the sources of the emitter from what they were before they were edited."""
    return package_stamp(ROOM)
