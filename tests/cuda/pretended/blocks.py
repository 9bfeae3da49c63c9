"""Runs the blocks of a kernel, and says which of their threads go on."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tests.cuda.pretended.host_code import (
    AT_BARRIER,
    AT_WARP,
    CONTEXT,
    DONE,
    REGISTERS,
    RUNNABLE,
    STACK,
    compiled,
    host_text,
)

WARP = 32
_POINTER = ctypes.c_void_p


class Grid:
    """The kernels of one LLVM text."""

    def __init__(self, text: str) -> None:
        changed, kernels = host_text(text)
        self.kernels = {k.name: k for k in kernels}
        self.engine = compiled(changed)
        self.registers = {
            name: ctypes.c_int32.from_address(self.engine.get_global_value_address(name.removeprefix("@")))
            for name in REGISTERS.values()
        }

    def _native(self, name: str, *kinds: Any) -> Any:
        return ctypes.CFUNCTYPE(None, *kinds)(self.engine.get_function_address(name))

    def launch(self, name: str, blocks: tuple[int, ...], threads: tuple[int, ...], words: list[bytes]) -> None:
        """All blocks, one after another."""
        kernel, count = self.kernels[name], threads[0] * threads[1] * threads[2]
        args = ctypes.create_string_buffer(b"".join(w.ljust(8, b"\0") for w in words), max(8 * len(words), 8))
        body = self.engine.get_function_address(f"host.call.{name}")
        for axis, n, b in zip("xyz", threads, blocks, strict=True):
            self.registers[f"@host.ntid.{axis}"].value = n
            self.registers[f"@host.nctaid.{axis}"].value = b
        run = _Together(self, count, body, args) if kernel.meets else self._alone(count, body, args)
        for z in range(blocks[2]):
            for y in range(blocks[1]):
                for x in range(blocks[0]):
                    for axis, value in zip("xyz", (x, y, z), strict=True):
                        self.registers[f"@host.ctaid.{axis}"].value = value
                    run()

    def _alone(self, count: int, body: int, args: Any) -> Any:
        function = self._native("host.alone", _POINTER, _POINTER, ctypes.c_int32)
        return lambda: function(body, ctypes.addressof(args), count)


class _Together:
    """The threads of a block, each with a stack."""

    def __init__(self, grid: Grid, count: int, body: int, args: Any) -> None:
        self.count, self.name = count, body
        self.states, self.words = np.zeros(count, np.int32), np.zeros(count + WARP, np.int32)
        self.contexts = np.empty(count * CONTEXT + 64, np.uint8)
        self.stacks = np.empty(count * STACK + 64, np.uint8)
        self.begin = grid._native("host.begin", *[_POINTER] * 6, ctypes.c_int32)
        self.round = grid._native("host.round", ctypes.c_int32)
        aligned = [-(-a.ctypes.data // 64) * 64 for a in (self.contexts, self.stacks)]
        self.given = [*aligned, self.states.ctypes.data, self.words.ctypes.data, body, ctypes.addressof(args), count]
        self.args = args

    def __call__(self) -> None:
        self.begin(*self.given)
        while True:
            self.round(self.count)
            if not self._release():
                return

    def _release(self) -> bool:
        """Let those go on whose others have come; whether any does. Raises if they wait for ever."""
        states = self.states
        if (states == DONE).all():
            return False
        at_warp = states == AT_WARP
        if at_warp.any():
            for first in range(0, self.count, WARP):
                warp = states[first : first + WARP]
                if (warp == AT_WARP).any():
                    if ((warp != AT_WARP) & (warp != DONE)).any():
                        raise AssertionError("threads of a warp wait at a barrier while others are in a shuffle")
                    warp[warp == AT_WARP] = RUNNABLE
            return True
        states[states == AT_BARRIER] = RUNNABLE
        return True
