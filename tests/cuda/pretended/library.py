"""The object that stands for the module `cupy`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.cuda.pretended import allocation, driver, errors, kernels, runtime, streams
from tests.cuda.pretended.devices import Device
from tests.cuda.pretended.engine import engine
from tests.cuda.pretended.extras import cupyx
from tests.cuda.pretended.functions import function_named
from tests.cuda.pretended.names import NAMES


class Space:
    """A module of CuPy's: its functions are made when they are first asked for."""

    def __init__(self, name: str = "", **members: Any) -> None:
        self._name = name
        vars(self).update(members)

    def __getattr__(self, name: str) -> Any:
        whole = f"{self._name}.{name}" if self._name else name
        if name.startswith("_"):
            raise AttributeError(name)
        found = function_named(whole)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return [n for n in NAMES if "." not in n] if not self._name else []


_cuda = SimpleNamespace(
    runtime=runtime, driver=driver, Device=Device, Stream=streams.Stream, ExternalStream=streams.ExternalStream,
    Event=streams.Event, Graph=streams.Graph, get_elapsed_time=streams.get_elapsed_time,
    get_current_stream=streams.get_current_stream, get_device_id=lambda: engine.device, is_available=lambda: True,
    BaseMemory=allocation.BaseMemory, Memory=allocation.Memory, UnownedMemory=allocation.UnownedMemory,
    MemoryPointer=allocation.MemoryPointer, MemoryPool=allocation.MemoryPool,
    PythonFunctionAllocator=allocation.PythonFunctionAllocator, alloc=allocation.alloc,
    set_allocator=allocation.set_allocator, get_allocator=allocation.get_allocator,
    using_allocator=allocation.using_allocator, PinnedMemory=allocation.PinnedMemory,
    PinnedMemoryPointer=allocation.PinnedMemoryPointer, alloc_pinned_memory=allocation.alloc_pinned_memory,
    Module=kernels.Module, Function=kernels.Function,
    memory=SimpleNamespace(
        OutOfMemoryError=errors.OutOfMemoryError, Memory=allocation.Memory, BaseMemory=allocation.BaseMemory,
        MemoryPointer=allocation.MemoryPointer, UnownedMemory=allocation.UnownedMemory, alloc=allocation.alloc,
        MemoryPool=allocation.MemoryPool, PythonFunctionAllocator=allocation.PythonFunctionAllocator,
    ),
    stream=SimpleNamespace(get_current_stream=streams.get_current_stream, Stream=streams.Stream),
    function=SimpleNamespace(Module=kernels.Module, Function=kernels.Function),
    pinned_memory=SimpleNamespace(PinnedMemory=allocation.PinnedMemory),
)  # fmt: skip
cupy = Space(
    cuda=_cuda, __version__="14.2.0", __file__=__file__,
    linalg=Space("linalg"), fft=Space("fft"), random=Space("random"),
    lib=SimpleNamespace(stride_tricks=Space("lib.stride_tricks")),
    get_default_memory_pool=lambda: allocation.pool, cupyx=cupyx,
)  # fmt: skip
