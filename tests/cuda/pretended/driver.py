"""The driver's functions, as CuPy has them in `cupy.cuda.driver`."""

from __future__ import annotations

import ctypes
from typing import Any

from tests.cuda.pretended.errors import CUDADriverError
from tests.cuda.pretended.kernels import _INTEGERS, Module, _functions
from tests.cuda.pretended.streams import new_handle

_modules: dict[int, Any] = {}


def get_build_version() -> int:
    return 13000


def moduleLoadData(image: bytes) -> int:  # noqa: N802
    module = Module()
    module.load(image)
    handle = new_handle()
    _modules[handle] = module
    return handle


def moduleUnload(module: int) -> None:  # noqa: N802
    del _modules[module]


def moduleGetFunction(module: int, funcname: str) -> int:  # noqa: N802
    return _modules[module].get_function(funcname).ptr  # type: ignore[no-any-return]


def funcSetAttribute(func: int, attribute: int, value: int) -> None:  # noqa: N802
    if func not in _functions:
        raise CUDADriverError("CUDA_ERROR_INVALID_HANDLE: invalid resource handle")


def launchKernel(  # noqa: N802
    f: int, grid_x: int, grid_y: int, grid_z: int, block_x: int, block_y: int, block_z: int, shared: int, stream: int,
    parameters: int, extra: int,
) -> None:  # fmt: skip
    """Launch a kernel with an array of addresses of its arguments."""
    function = _functions.get(f)
    if function is None:
        raise CUDADriverError("CUDA_ERROR_INVALID_HANDLE: invalid resource handle")
    places = (ctypes.c_void_p * len(function.parameters)).from_address(parameters)
    words = [
        ctypes.string_at(place, 8 if kind.startswith("ptr") else _INTEGERS[kind])
        for place, kind in zip(places, function.parameters, strict=True)
    ]
    function.launch((grid_x, grid_y, grid_z), (block_x, block_y, block_z), words, shared, stream)
