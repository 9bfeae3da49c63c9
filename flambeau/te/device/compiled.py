"""What `codegen("cuda")` gives: kernels that are launched one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.codegen.cuda.emit import parameters, symbol_of
from flambeau.codegen.cuda.mapped import memory_shape, shared_bytes
from flambeau.codegen.cuda.printer import print_program
from flambeau.codegen.cuda.ptx import programs_ptx
from flambeau.codegen.cuda.runtime import architecture_for
from flambeau.codegen.cuda.simulator import run_program
from flambeau.codegen.cuda.threads import ERROR, raise_error
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.cuda import library
from flambeau.te.arguments import Argument, Bound, HostMemory, Memory, number_of
from flambeau.te.compiled import Compiled
from flambeau.te.device.mapping import map_nest
from flambeau.te.nest import Nest
from flambeau.te.tensors import Tensor
from flambeau.tensor.bridge import ON_DEVICES
from flambeau.tensor.tensor import Tensor as EagerTensor
from flambeau.util.locks import Lock


class DeviceMemory:
    """Arrays on the device: those that are there already as they lie, others copied."""

    def array(self, t: Tensor, value: Any, *, is_written: bool) -> Any:
        """An argument as an array of CuPy."""
        cupy = library.cupy()
        if not hasattr(value, "__cuda_array_interface__"):
            if is_written:
                raise TypeError(f"{t.name} is written: expected an array on the device, got {type(value).__name__}")
            return cupy.asarray(HostMemory().array(t, value, is_written=False))
        array = cupy.asarray(value)
        if array.dtype != np.dtype(t.dtype):
            raise TypeError(f"{t.name} has dtype {t.dtype}, got {array.dtype}: convert it, as x.astype({t.dtype!r})")
        return array

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array for a result."""
        return library.cupy().empty(shape, dtype)

    def result(self, array: Any, arguments: tuple[Any, ...]) -> Any:
        """An array on the device where one was given, a tensor where a tensor was, else an array of NumPy."""
        on_device = [value for value in arguments if hasattr(value, "__cuda_array_interface__")]
        if not on_device:
            return HostMemory().result(array.get(), arguments)
        if any(isinstance(value, EagerTensor) for value in on_device):
            return next(tensor for take in ON_DEVICES if (tensor := take(array)) is not None)
        return array

    def may_overlap(self, a: Any, b: Any) -> bool:
        """Whether two arrays may share memory."""
        return bool(a.size and b.size and a.data.ptr < b.data.ptr + b.nbytes and b.data.ptr < a.data.ptr + a.nbytes)


class CudaCode(Compiled):
    """A nest as kernels of a CUDA device, one for each outermost statement.

    Each has one loop that is bound to blocks, outermost, or none, and loops inside bound to threads. A call takes
    arrays of CuPy, tensors on the device, or arrays on the host, which are copied there; results are on the device if
    an argument was. Raises ScheduleError for what is bound to nothing, RuntimeError where no device can be used.

    >>> import numpy as np
    >>> from flambeau import te
    >>> n = te.var("n")
    >>> x = te.placeholder("x", (n,))
    >>> nest = te.LoopNest(te.compute("y", (n,), lambda i: x[i] * 2))
    >>> outer, inner = nest.split(nest.loops("y")[0], 32)
    >>> nest.bind(outer, "block")
    >>> nest.bind(inner, "thread")
    >>> code = nest.codegen("cuda")
    >>> code.simulate(np.ones(3, np.float32))  # on the host, every access looked at
    array([2., 2., 2.], dtype=float32)
    """

    memory: Memory = DeviceMemory()

    def __init__(self, nest: Nest, args: Sequence[Argument] | None = None) -> None:
        super().__init__(nest, args)
        self._tensors = [*nest.inputs, *nest.outputs]
        self._device = map_nest(nest, self._body, self.arguments.sizes)
        self._modules: dict[str, Any] = {}
        self._lock = Lock()

    @property
    def mapped(self) -> str:
        """What each thread does, as text."""
        return print_program(self._device.program)

    def ptx(self, arch: str = "sm_90") -> str:
        """The PTX for an architecture. Raises ValueError for one that there is not."""
        return programs_ptx([self._device.program], arch, {})

    def simulate(self, *arguments: Any) -> Any:
        """A call on the host, a thread at a time, which looks at every access.

        Raises SimulationError for races, for accesses outside and for reads of what nobody wrote.
        """
        return self._called(arguments, HostMemory(), self._simulated)

    def _simulated(self, bound: Bound) -> None:
        run_program(self._device.program, self._sizes(bound), self._given(bound, np.asarray))

    def _sizes(self, bound: Bound) -> dict[str, int]:
        return {name: number_of(e, bound.numbers) for name, e in self._device.sizes.items()}

    def _given(self, bound: Bound, as_array: Any) -> dict[str, Any]:
        """Memory by name."""
        names = self._device.names
        memory = {names[t.buffer]: bound.arrays[t] for t in self._tensors}
        for v, name in self._device.scalars.items():
            memory[name] = as_array(np.full(1, bound.numbers[v], element_type(v.dtype).numpy))
        return memory

    def _run(self, bound: Bound) -> None:
        cupy, program = library.cupy(), self._device.program
        sizes, memory = self._sizes(bound), self._given(bound, cupy.asarray)
        for own in program.work:
            memory[own.name] = cupy.empty(memory_shape(own, sizes), element_type(own.dtype).numpy)
        may_fail = any(m.role == "flag" for k in program.kernels for m in k.memories)
        if may_fail:
            memory[ERROR] = cupy.zeros(1, np.int32)
        module = self._module(cupy)
        for kernel in program.kernels:
            words: list[Any] = []
            for p in parameters(kernel):
                if p.kind == "pointer":
                    words.append(memory[p.name])
                else:
                    size = sizes[p.name] if p.kind == "size" else memory[p.name].strides[p.dimension]
                    words.append(np.int64(size))
            blocks, shared = kernel.grid.blocks(sizes), shared_bytes(kernel, sizes)
            function = module.get_function(symbol_of(kernel))
            function((blocks,), (kernel.threads,), tuple(words), shared_mem=shared)
        if may_fail:
            raise_error(int(memory[ERROR][0]), "nest")

    def _module(self, cupy: Any) -> Any:
        """The kernels on the device in use, loaded now if they are not."""
        device = cupy.cuda.Device()
        key = f"{device.id} {device.compute_capability}"
        with self._lock:
            if key not in self._modules:
                module = cupy.cuda.Module()
                module.load(self.ptx(architecture_for(device.compute_capability)).encode())
                self._modules[key] = module
            return self._modules[key]
