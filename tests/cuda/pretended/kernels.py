"""CuPy's `Module` and `Function`: PTX is run as the LLVM text that it was made of."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np

from flambeau.codegen.cuda import ptx
from tests.cuda.pretended.arena import arena
from tests.cuda.pretended.blocks import Grid
from tests.cuda.pretended.calls import is_array
from tests.cuda.pretended.engine import engine
from tests.cuda.pretended.errors import CUDADriverError
from tests.cuda.pretended.runtime import is_pinned
from tests.cuda.pretended.streams import new_handle, queue_of

_texts: dict[str, str] = {}
"""LLVM text by the PTX that was made of it."""
_grids: dict[str, Grid] = {}
_functions: dict[int, Function] = {}
MAX_SHARED = 232448
_INTEGERS = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8}


def _bare(text: str) -> str:
    """PTX without comments."""
    return re.sub(r"^\s*//.*$|\s*//[^\n\"]*$", "", text, flags=re.M).strip("\n\0 ")


_to_ptx = ptx.to_ptx


def _watched(text: str, arch: str) -> str:
    made = _to_ptx(text, arch)
    _texts[_bare(made)] = text
    return made


ptx.to_ptx = _watched


class Module:
    """Kernels that were loaded."""

    def __init__(self) -> None:
        self.grid: Grid | None = None
        self.device = -1
        self.ptr = 0

    def load(self, cubin: bytes) -> None:
        """Take PTX that this process has made."""
        if not isinstance(cubin, bytes):
            raise TypeError(f"Argument 'cubin' has incorrect type (expected bytes, got {type(cubin).__name__})")
        key = _bare(cubin.decode())
        if key not in _texts:
            raise CUDADriverError("CUDA_ERROR_INVALID_PTX: this PTX was not made by `to_ptx` in this process")
        if key not in _grids:
            _grids[key] = Grid(_texts[key])
        self.grid, self.device, self.ptr = _grids[key], engine.device, new_handle()

    def get_function(self, name: str) -> Function:
        if self.grid is None or name not in self.grid.kernels:
            raise CUDADriverError("CUDA_ERROR_NOT_FOUND: named symbol not found")
        return Function(self, name)


class Function:
    """A kernel."""

    def __init__(self, module: Module, funcname: str) -> None:
        assert module.grid is not None
        self.module, self.name, self.grid = module, funcname, module.grid
        self.parameters = self.grid.kernels[funcname].parameters
        self.ptr = new_handle()
        _functions[self.ptr] = self

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: Any, shared_mem: int = 0, stream: Any = None,
        enable_cooperative_groups: bool = False,
    ) -> None:  # fmt: skip
        if len(args) != len(self.parameters):
            raise AssertionError(f"{self.name} takes {len(self.parameters)} arguments, got {len(args)}")
        words = [_word(a, kind) for a, kind in zip(args, self.parameters, strict=True)]
        self.launch(grid, block, words, shared_mem, stream)

    def linear_launch(
        self, size: int, args: Any, shared_mem: int = 0, block_max_size: int = 128, stream: Any = None
    ) -> None:
        block = min(block_max_size, size)
        self((-(-size // block),), (block,), args, shared_mem, stream)

    def launch(self, grid: Any, block: Any, words: list[bytes], shared_mem: int, stream: Any) -> None:
        """Give a stream the kernel with these arguments, each the bytes of its value."""
        blocks, threads = ((*map(int, of), 1, 1)[:3] for of in (grid, block))
        if (
            min(blocks) < 1
            or min(threads) < 1
            or threads[0] * threads[1] * threads[2] > 1024
            or shared_mem > MAX_SHARED
        ):
            raise CUDADriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        fixed = self.grid.kernels[self.name].threads
        if fixed is not None and fixed != threads[0] * threads[1] * threads[2]:
            raise CUDADriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        queue = queue_of(stream)
        engine.launches.append((self.name, blocks, threads, shared_mem, queue.pointer))
        engine.submit(queue, lambda: self.grid.launch(self.name, blocks, threads, self._translated(words)))

    def _translated(self, words: list[bytes]) -> list[bytes]:
        """The arguments with addresses that the host can read."""
        found = []
        for word, kind in zip(words, self.parameters, strict=True):
            if kind.startswith("ptr"):
                address = int.from_bytes(word, "little")
                if address and not is_pinned(address):
                    arena.check(address, 1)
                word = arena.on_host(address).to_bytes(8, "little")
            found.append(word)
        return found


def _word(value: Any, kind: str) -> bytes:
    """An argument as CuPy passes it, which must have the size that the kernel reads."""
    size = 8 if kind.startswith("ptr") else _INTEGERS[kind]
    if is_array(value):
        value.check()
        word = value.data.ptr.to_bytes(8, "little")
    elif isinstance(value, int) and not isinstance(value, bool):
        word = int(value).to_bytes(8, "little", signed=value < 0)
    elif isinstance(value, float):
        word = np.float64(value).tobytes()
    elif isinstance(value, bool):
        word = np.bool_(value).tobytes()
    elif isinstance(value, np.generic | ctypes.Structure) or (isinstance(value, np.ndarray) and value.ndim == 0):
        word = bytes(value) if isinstance(value, ctypes.Structure) else value.tobytes()
    elif hasattr(value, "ptr"):
        word = int(value.ptr).to_bytes(8, "little")
    else:
        raise TypeError(f"Unsupported type {type(value)}")
    if len(word) != size:
        raise AssertionError(f"a parameter of type {kind} has {size} bytes, got {len(word)} of {value!r}")
    return word
