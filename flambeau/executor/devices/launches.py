"""One launch of a fused group's kernels for inputs that lie in one way: arguments prepared, addresses filled in.

What a launch passes follows from shapes and strides, but for addresses. So the words that kernels take are written once
and kept; a call writes addresses into them, allocates what it gives, and hands them to the driver.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any

from flambeau.codegen.cuda.bound_program import Layout, OutputLayout
from flambeau.codegen.cuda.emit import parameters, symbol_of
from flambeau.codegen.cuda.mapped import MappedKernel, memory_shape, shared_bytes
from flambeau.codegen.cuda.runtime import CudaKernel, may_fail
from flambeau.codegen.cuda.schedule import ACCESS_BYTES
from flambeau.codegen.cuda.threads import ERROR
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.cuda import capturing, late_errors, library
from flambeau.cuda.devices import device as using
from flambeau.cuda.fresh import NewTensors
from flambeau.executor.devices.found_errors import unnamed_error
from flambeau.schema.device import Device
from flambeau.tensor import layout
from flambeau.tensor.tensor import Tensor
from flambeau.util.array_address import address_of
from flambeau.util.record import dataclass


def _result(output: OutputLayout) -> NewTensors:
    strides: Sequence[int] = layout.contiguous_strides(output.memory_shape)
    if output.permutation is not None:
        strides = [strides[k] for k in output.permutation]
    return NewTensors(output.shape, strides, output.dtype)


@dataclass(slots=True)
class _Call:
    """One kernel of a program, as the driver takes it."""

    function: int
    blocks: int
    threads: int
    shared: int
    words: Any
    """What the kernel is given, eight bytes each."""
    pointers: Any
    """The addresses of the words."""
    pointers_at: int
    """Where these are."""
    addresses: tuple[tuple[int, int], ...]
    """Which words are addresses, and of which array: inputs come first, then results, memory of its own, and the word
    for errors."""


class GroupLaunch:
    """What runs a kernel for inputs that lie in one way on one device."""

    def __init__(self, kernel: CudaKernel, layouts: Sequence[Layout], device: Device) -> None:
        """Raises KernelError for inputs that no kernel takes together, and LoweringError for what has no device code.
        """
        self._kernel, self.device = kernel, device
        with using(device.index):
            self.bound = kernel.bound(tuple(layouts))
            self._module = None if self.bound.program is None else kernel.module(self.bound)
        self._results = [_result(o) for o in self.bound.outputs]
        program = self.bound.program
        self._sizes = {} if program is None else program.all_sizes(self.bound.sizes)
        self._work = [] if program is None else [_work(m, self._sizes) for m in program.work]
        self.may_fail = may_fail(self.bound)
        """Whether kernels may find an error, which the next wait for the device tells."""
        self._idle: list[list[_Call]] = []
        """Words that no call is writing to at the moment."""
        self.dtypes = [element_type(b.dtype).numpy for b in kernel.kernel.inputs]
        """Of the inputs."""
        self._given = sum(prod(x.shape) * d.itemsize for x, d in zip(layouts, self.dtypes, strict=True))

    @property
    def bytes_moved(self) -> int:
        """All inputs and results, each once."""
        return self._given + sum(r.nbytes for r in self._results)

    def writes(self, target: Tensor) -> bool:
        """Whether the single result may be written to memory that there is."""
        [new] = self._results
        array = target._array
        return target.device == self.device and not address_of(array) % ACCESS_BYTES and new.fits(array)

    def __call__(
        self, inputs: Sequence[Tensor], error_of: late_errors.ErrorOfNumber = unnamed_error, into: Tensor | None = None
    ) -> list[Tensor]:
        """The results; `error_of` says which error a kernel's number is. The only result is written to `into` if given.
        Raises MemoryError where there is no memory."""
        cuda = library.cupy().cuda
        if cuda.runtime.getDevice() != self.device.index:
            with using(self.device.index):
                return self(inputs, error_of, into)
        device, stream = self.device, cuda.get_current_stream()
        results = [new(device, stream) for new in self._results] if into is None else [into]
        if self._module is not None:
            if capturing.underway:
                capturing.keep(device.index or 0, self._module)
            work = [new(device, stream) for new in self._work]
            word = late_errors.word(error_of) if self.may_fail else 0
            self._launch([*inputs, *results, *work], word, cuda.driver.launchKernel, stream.ptr)
            if word:
                late_errors.given()
        return results

    def _launch(self, arrays: Sequence[Tensor], word: int, launch: Any, stream: int) -> None:
        try:
            calls = self._idle.pop()
        except IndexError:
            calls = self._prepared()
        addresses = [address_of(t._array) if t._array.size else 0 for t in arrays]
        addresses.append(word)
        for call in calls:
            words = call.words
            for slot, source in call.addresses:
                words[slot] = addresses[source]
            launch(call.function, call.blocks, 1, 1, call.threads, 1, 1, call.shared, stream, call.pointers_at, 0)
        self._idle.append(calls)

    def _prepared(self) -> list[_Call]:
        """Words for every kernel, all but the addresses."""
        assert self.bound.program is not None
        outside = self.bound.special.kernel.inputs + self.bound.special.kernel.outputs
        names = [b.name for b in outside] + [m.name for m in self.bound.program.work]
        indices = {name: k for k, name in enumerate([*names, ERROR])}
        return [self._call(kernel, indices) for kernel in self.bound.program.kernels]

    def _call(self, kernel: MappedKernel, indices: dict[str, int]) -> _Call:
        module: Any = self._module
        axes = {b.name: b.axes for b in self.bound.special.kernel.buffers}
        known = parameters(kernel)
        words = (ctypes.c_uint64 * max(len(known), 1))()
        addresses = []
        for k, p in enumerate(known):
            if p.kind == "pointer":
                addresses.append((k, indices[p.name]))
            elif p.kind == "size":
                words[k] = self._sizes[p.name]
            else:
                words[k] = self.bound.special.strides[p.name, axes[p.name][p.dimension]] & (2**64 - 1)
        start = ctypes.addressof(words)
        pointers = (ctypes.c_uint64 * len(words))(*range(start, start + 8 * len(words), 8))
        return _Call(
            function=module.get_function(symbol_of(kernel)).ptr,
            blocks=kernel.grid.blocks(self.bound.sizes),
            threads=kernel.threads,
            shared=shared_bytes(kernel, self._sizes),
            words=words,
            pointers=pointers,
            pointers_at=ctypes.addressof(pointers),
            addresses=tuple(addresses),
        )


def _work(memory: Any, sizes: dict[str, int]) -> NewTensors:
    shape = memory_shape(memory, sizes)
    return NewTensors(shape, layout.contiguous_strides(shape), element_type(memory.dtype).numpy)
