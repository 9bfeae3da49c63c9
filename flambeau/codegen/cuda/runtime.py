"""Kernels on a GPU that is at hand, through CuPy (`pip install flambeau[cuda]`): arrays of CuPy in, arrays of CuPy out.

Kernels run on CuPy's current stream, in its memory. A program is bound for each pattern of shapes and strides, and its
module loaded once for each device architecture.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from flambeau.codegen.cuda.bound_program import BoundProgram, Layout, bind_program
from flambeau.codegen.cuda.emit import parameters, symbol_of
from flambeau.codegen.cuda.mapped import MappedKernel, memory_shape, shared_bytes
from flambeau.codegen.cuda.ptx import ARCHITECTURES, programs_ptx
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.cuda.threads import ERROR, raise_error
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import Kernel
from flambeau.codegen.shapes import Span
from flambeau.cuda import library
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.locks import Lock

MAX_PROGRAMS = 256


def architecture_for(capability: str) -> str:
    """The latest architecture whose PTX a device of this compute capability ("90") can run."""
    known = [a for a in ARCHITECTURES if a[3:].isdigit() and int(a[3:]) <= int(capability)]
    if not known:
        raise RuntimeError(f"a GPU of compute capability {capability} is too old: kernels need {ARCHITECTURES[0][3:]}")
    return known[-1]


class CudaKernel:
    """A kernel that can be called with one device array (or number) per input; gives an array, or a tuple of several.

    Raises ``KernelError`` for inputs that do not fit, ``LoweringError`` for an operation that has no device code,
    ``ZeroDivisionError`` for an integer division by zero, and ``IndexError`` for an index that lies outside.
    ``cupy`` stands for the library, in tests.
    """

    def __init__(
        self, kernel: Kernel, spans: tuple[Span, ...] = (), *, schedule: CudaSchedule | None = None, cupy: Any = None
    ) -> None:
        self.kernel = kernel
        self.spans = spans
        self._schedule = schedule
        self._library = cupy
        self.programs_cache: SpecialisationCache[tuple[Layout, ...], BoundProgram] = SpecialisationCache(
            f"launches of {kernel.name}", MAX_PROGRAMS, describe=str
        )
        self._modules: dict[tuple[Hashable, str], Any] = {}
        """Loaded modules by the pattern of programs, and device."""
        self._lock = Lock()

    def __call__(self, *inputs: Any) -> Any:
        arrays = self._arrays(inputs)
        bound = self.bound(tuple(map(Layout.of, arrays)))
        cupy = self._cupy()
        outputs = [cupy.empty(o.memory_shape, o.dtype) for o in bound.outputs]
        if bound.program is not None:
            self._run(bound, arrays, outputs)
        views = [o.view(memory) for o, memory in zip(bound.outputs, outputs, strict=True)]
        return views[0] if len(views) == 1 else tuple(views)

    def bound(self, layouts: tuple[Layout, ...]) -> BoundProgram:
        """The program for inputs of these layouts."""
        bound = self.programs_cache.get(layouts)
        if bound is None:
            bound = self.programs_cache.get_or_make(layouts, lambda cause: self._bind(layouts), self._unload)
        return bound

    def _bind(self, layouts: tuple[Layout, ...]) -> BoundProgram:
        return bind_program(self.kernel, self.spans, list(layouts), self._schedule)

    def _unload(self, layouts: tuple[Layout, ...]) -> None:
        """Drop the modules of programs that are no longer kept."""
        with self._lock:
            kept = {bound.pattern for bound in self.programs_cache.values}
            self._modules = {k: m for k, m in self._modules.items() if k[0] in kept}

    def _cupy(self) -> Any:
        return self._library if self._library is not None else library.cupy()

    def _arrays(self, inputs: tuple[Any, ...]) -> list[Any]:
        cupy, buffers = self._cupy(), self.kernel.inputs
        if len(inputs) != len(buffers):
            raise KernelError(f"{self.kernel.name}: expected {len(buffers)} inputs, got {len(inputs)}")
        arrays = []
        for value, buffer in zip(inputs, buffers, strict=True):
            dtype = element_type(buffer.dtype).numpy
            array = value if isinstance(value, cupy.ndarray) else cupy.asarray(value, dtype)
            if array.dtype != dtype:
                raise KernelError(f"{self.kernel.name}: input {buffer.name} has dtype {array.dtype}, expected {dtype}")
            arrays.append(array)
        return arrays

    def _run(self, bound: BoundProgram, arrays: list[Any], outputs: list[Any]) -> None:
        assert bound.program is not None
        cupy, sizes = self._cupy(), bound.program.all_sizes(bound.sizes)
        outside = bound.special.kernel.inputs + bound.special.kernel.outputs
        memory = dict(zip([b.name for b in outside], arrays + outputs, strict=True))
        for own in bound.program.work:
            memory[own.name] = cupy.empty(memory_shape(own, sizes), element_type(own.dtype).numpy)
        fails = may_fail(bound)
        if fails:
            memory[ERROR] = cupy.zeros(1, np.int32)
        module = self.module(bound)
        for kernel in bound.program.kernels:
            shared = shared_bytes(kernel, sizes)
            function = module.get_function(symbol_of(kernel))
            kernel_arguments = arguments(kernel, bound, sizes, memory)
            function((kernel.grid.blocks(bound.sizes),), (kernel.threads,), kernel_arguments, shared_mem=shared)
        if fails:
            raise_error(int(memory[ERROR][0]), self.kernel.name)

    def module(self, bound: BoundProgram) -> Any:
        """The kernels of a program on the device in use, loaded now if they are not."""
        assert bound.program is not None
        cupy = self._cupy()
        device = cupy.cuda.Device()
        key = (bound.pattern, f"{device.id} {device.compute_capability}")
        with self._lock:
            if key not in self._modules:
                text = programs_ptx([bound.program], architecture_for(device.compute_capability), {})
                module = cupy.cuda.Module()
                module.load(text.encode())
                self._modules[key] = module
            return self._modules[key]


def may_fail(bound: BoundProgram) -> bool:
    """Whether a program has kernels that may fail, so that the host waits for them."""
    return bound.program is not None and any(m.role == "flag" for k in bound.program.kernels for m in k.memories)


def arguments(
    kernel: MappedKernel, bound: BoundProgram, sizes: dict[str, int], memory: dict[str, Any]
) -> tuple[Any, ...]:
    """What a launch passes: arrays by name, sizes, strides in bytes."""
    axes = {b.name: b.axes for b in bound.special.kernel.buffers}
    words: list[Any] = []
    for p in parameters(kernel):
        if p.kind == "pointer":
            words.append(memory[p.name])
        elif p.kind == "size":
            words.append(np.int64(sizes[p.name]))
        else:
            words.append(np.int64(bound.special.strides[p.name, axes[p.name][p.dimension]]))
    return tuple(words)
