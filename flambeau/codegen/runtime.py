"""Compiled kernels as Python callables on NumPy arrays.

A call looks up its plan by the arrays' shapes and strides, allocates the outputs, fills a block of words and jumps into
native code without the GIL. The first call of a new pattern specialises the kernel and, where no other kernel has come down to
the same loop nest, compiles it.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen.hoist import hoist
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import ONE, Buffer, Kernel, Loop, walk
from flambeau.codegen.kernel.opset import NO_IDENTITY
from flambeau.codegen.kernel.printer import print_kernel
from flambeau.codegen.llvm.abi import block_layout
from flambeau.codegen.llvm.engine import NativeCode, c_imports, engine, memory_imports
from flambeau.codegen.llvm.nest import NativeText, emit_kernel
from flambeau.codegen.planning import choose
from flambeau.codegen.schedule import Schedule
from flambeau.codegen.shapes import Span, broadcast_sizes, check_spans
from flambeau.codegen.specialize import Strides, specialize, stride_order

Array = npt.NDArray[Any]
ALIGNED_FROM = 1 << 18
"""Outputs of at least this many bytes start on a 64-byte boundary."""
MAX_PLANS = 256
"""Plans a kernel keeps; the oldest goes first."""

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@dataclass(slots=True)
class Variant:
    """Native code for one specialised kernel under one schedule."""

    kernel: Kernel
    schedule: Schedule
    native: NativeText
    code: NativeCode
    entry: Any
    milliseconds: float


@dataclass(slots=True)
class Output:
    """How one output of a plan is allocated."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    permutation: tuple[int, ...] | None
    """Axes of the result in terms of the allocation's, None for row-major."""
    memory_shape: tuple[int, ...]
    large: bool


@dataclass(slots=True)
class Plan:
    """All that a call of one shape and stride pattern needs."""

    outputs: tuple[Output, ...]
    words: list[int]
    """The block, with 0 where addresses go."""
    high: int
    variant: Variant | None
    """None where there is nothing to compute."""
    fills: tuple[Any, ...] = ()


_variants: dict[str, Variant] = {}
_variants_lock = threading.Lock()


def _compiled(kernel: Kernel, schedule: Schedule) -> Variant:
    """Native code for ``kernel``, shared by all that have the same text."""
    key = schedule.key() + "\n" + print_kernel(kernel)
    with _variants_lock:
        found = _variants.get(key)
        if found is None:
            start = time.perf_counter()
            jit = engine()
            native = emit_kernel(hoist(kernel), schedule, jit.target, jit.symbol("kernel"))
            imports = c_imports(native.libm)
            if native.needs_memory:
                imports.update(memory_imports())
            code = jit.link(native.text, (native.symbol,), imports)
            spent = (time.perf_counter() - start) * 1e3
            found = Variant(kernel, schedule, native, code, _ENTRY(code.addresses[native.symbol]), spent)
            _variants[key] = found
        return found


def empty_aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Uninitialised memory that starts on a 64-byte boundary."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + 64, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return raw[start : start + size].view(dtype).reshape(shape)


class CompiledKernel:
    """A kernel that can be called with one array (or number) per input; gives one array, or a tuple of several.

    Raises ``KernelError`` for inputs that do not fit and ``ZeroDivisionError`` for an integer division by zero.
    """

    def __init__(self, kernel: Kernel, spans: tuple[Span, ...] = ()) -> None:
        self.kernel = kernel
        self.spans = spans
        """What the shapes of a call must fulfil beyond broadcasting."""
        self._inputs = kernel.inputs
        self._dtypes = tuple(element_type(b.dtype).numpy for b in kernel.inputs)
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self.variants: list[Variant] = []
        self.calls = 0

    def __call__(self, *inputs: Any) -> Any:
        arrays = self._arrays(inputs)
        key = tuple([(a.shape, a.strides) for a in arrays])
        plan = self._plans.get(key)
        if plan is None:
            plan = self._remember(key, self._plan(arrays))
        outputs = [self._allocate(o) for o in plan.outputs]
        if plan.variant is not None:
            self._run(plan, arrays, outputs)
        else:
            for output, fill in zip(outputs, plan.fills, strict=True):
                if output.size:
                    output.fill(fill)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _run(self, plan: Plan, arrays: list[Array], outputs: list[Array]) -> None:
        assert plan.variant is not None
        words = array("q", plan.words)
        flag = ctypes.c_int32(0)
        words[0] = ctypes.addressof(flag)
        at = 1
        for a in arrays:
            words[at] = a.__array_interface__["data"][0]
            at += 1
        for a in outputs:
            words[at] = a.__array_interface__["data"][0]
            at += 1
        plan.variant.entry(words.buffer_info()[0], 0, plan.high)
        if flag.value:
            raise ZeroDivisionError("ZeroDivisionError")

    def _arrays(self, inputs: tuple[Any, ...]) -> list[Array]:
        if len(inputs) != len(self._inputs):
            raise KernelError(f"{self.kernel.name}: expected {len(self._inputs)} inputs, got {len(inputs)}")
        arrays = []
        for given, dtype, buffer in zip(inputs, self._dtypes, self._inputs, strict=True):
            if type(given) is np.ndarray:
                if given.dtype != dtype:
                    raise KernelError(
                        f"{self.kernel.name}: input {buffer.name} has dtype {given.dtype}, expected {dtype}"
                    )
                arrays.append(given if given.flags.aligned else given.copy())
            else:
                arrays.append(np.asarray(given, dtype=dtype))
        return arrays

    @staticmethod
    def _allocate(o: Output) -> Array:
        memory = empty_aligned(o.memory_shape, o.dtype) if o.large else np.empty(o.memory_shape, o.dtype)
        return memory if o.permutation is None else memory.transpose(o.permutation)

    def _remember(self, key: tuple[Any, ...], plan: Plan) -> Plan:
        if len(self._plans) >= MAX_PLANS:
            self._plans.pop(next(iter(self._plans)), None)
        self._plans[key] = plan
        return plan

    def _plan(self, arrays: list[Array]) -> Plan:
        kernel = self.kernel
        shapes = [a.shape for a in arrays]
        sizes = broadcast_sizes(kernel, shapes)
        check_spans(kernel, self.spans, sizes, shapes)
        strides: Strides = {}
        for buffer, a in zip(kernel.inputs, arrays, strict=True):
            for place, axis in enumerate(reversed(buffer.axes), 1):
                if axis != ONE:
                    moves = place <= a.ndim and a.shape[-place] != 1
                    strides[buffer.name, axis] = a.strides[-place] if moves else 0
        order = stride_order(kernel, sizes, strides)
        outputs = tuple(self._output(b, sizes, strides, order) for b in kernel.outputs)
        empty = [a for a in kernel.axes if sizes[a] == 0]
        self._refuse_empty(sizes, outputs)
        if empty and all(0 in o.shape for o in outputs):
            return Plan(outputs, [], 0, None, tuple(0 for _ in outputs))
        special = specialize(kernel, sizes, strides, order)
        schedule = choose(special, engine().target, self._rows_aligned(special.strides, outputs))
        variant = _compiled(special.kernel, schedule)
        if variant not in self.variants:
            self.variants.append(variant)
        layout = block_layout(special.kernel)
        words = [0] * layout.words
        for axis, place in layout.sizes.items():
            words[place] = special.sizes[axis]
        for pair, place in layout.strides.items():
            words[place] = special.strides[pair]
        first = next((s for s in special.kernel.body if isinstance(s, Loop)), None)
        high = special.sizes[first.axes[0]] if first is not None and first.axes else 1
        return Plan(outputs, words, high, variant)

    def _refuse_empty(self, sizes: dict[str, int], outputs: tuple[Output, ...]) -> None:
        for s in walk(self.kernel.body):
            if isinstance(s, Loop) and any(sizes[a] == 0 for a in s.axes):
                for carry in s.carries:
                    if carry.reducer in NO_IDENTITY and any(0 not in o.shape for o in outputs):
                        raise ValueError(
                            f"{carry.reducer}: no values to choose from and the reduction has no identity"
                        )

    @staticmethod
    def _rows_aligned(strides: Strides, outputs: tuple[Output, ...]) -> bool:
        return all(o.large for o in outputs) and all(
            o.memory_shape[-1] * o.dtype.itemsize % 64 == 0 or len(o.memory_shape) == 1 for o in outputs
        )

    @staticmethod
    def _output(b: Buffer, sizes: dict[str, int], strides: Strides, order: tuple[str, ...]) -> Output:
        """Allocation in the order the parallel axes run; writes the output's strides into ``strides``."""
        shape = tuple(1 if a == ONE else sizes[a] for a in b.axes)
        dtype = element_type(b.dtype).numpy
        places = list(range(len(b.axes)))
        if order and all(a in order for a in b.axes):
            places.sort(key=lambda k: order.index(b.axes[k]))
        memory_shape = tuple(shape[k] for k in places)
        step = dtype.itemsize
        for k in reversed(places):
            if b.axes[k] != ONE:
                strides[b.name, b.axes[k]] = step
            step *= max(shape[k], 1)
        inverse = tuple(places.index(k) for k in range(len(places)))
        permutation = None if places == sorted(places) else inverse
        return Output(shape, dtype, permutation, memory_shape, step >= ALIGNED_FROM)
