"""Everything about a call that follows from the shapes and strides of its inputs: kernels, grids, words, outputs."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np

from flambeau.codegen.cuda.choose_schedule import check_schedule, choose_schedule, with_columns
from flambeau.codegen.cuda.mapped import Program
from flambeau.codegen.cuda.mapping import map_kernel
from flambeau.codegen.cuda.schedule import CudaSchedule
from flambeau.codegen.kernel.dtypes import COMPLEX, KernelError, element_type
from flambeau.codegen.kernel.nest import ONE, Buffer, Kernel, scatters
from flambeau.codegen.kernel.seldom import usual
from flambeau.codegen.shapes import Span, broadcast_sizes, check_spans, refuse_empty, refuse_nothing
from flambeau.codegen.specialize import Specialized, Strides, filled_order, output_order, specialize, stride_order
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """An array's shape and strides in bytes; arrays of any library have these."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_aligned: bool = True
    """Whether it begins at a multiple of 16 bytes."""

    @staticmethod
    def of(array: Any) -> Layout:
        """The layout of an array, of NumPy's or a device's."""
        if isinstance(array, np.generic):
            return Layout((), ())
        address = array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr
        return Layout(tuple(array.shape), tuple(array.strides), address % 16 == 0)


@dataclass(frozen=True, slots=True)
class OutputLayout:
    """How one output is allocated: row-major in ``memory_shape``, then its axes permuted."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    memory_shape: tuple[int, ...]
    permutation: tuple[int, ...] | None

    def view(self, memory: Any) -> Any:
        """The output within an array of ``memory_shape``."""
        return memory if self.permutation is None else memory.transpose(self.permutation)


@dataclass(frozen=True, slots=True)
class BoundProgram:
    """A program, and the sizes and strides it runs with."""

    program: Program | None
    """None where no output has elements."""
    schedule: CudaSchedule
    special: Specialized
    outputs: tuple[OutputLayout, ...]

    @property
    def pattern(self) -> Hashable:
        """What its kernels depend on: sizes and strides are given to them."""
        return self.special.kernel, self.schedule

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the specialised kernel's axes."""
        return self.special.sizes


def bind_program(
    kernel: Kernel, spans: tuple[Span, ...], layouts: list[Layout], schedule: CudaSchedule | None = None
) -> BoundProgram:
    """The program for inputs of these layouts; ``schedule`` instead of the chosen one.

    Raises ``KernelError`` where shapes do not fit, for the largest of nothing, for places along an axis of nothing, and
    for complex numbers.
    """
    _refuse_complex(kernel)
    kernel, shapes = usual(kernel), [x.shape for x in layouts]
    sizes = broadcast_sizes(kernel, shapes)
    check_spans(kernel, spans, sizes, shapes)
    strides: Strides = {}
    for buffer, x in zip(kernel.inputs, layouts, strict=True):
        for index, axis in enumerate(buffer.axes):
            if axis != ONE:
                strides[buffer.name, axis] = x.strides[index] if x.shape[index] != 1 else 0
    order = stride_order(kernel, sizes, strides)
    order_of = output_order
    if scatters(kernel):
        refuse_nothing(kernel, sizes)
        order_of = filled_order
    outputs = tuple(_output(b, sizes, strides, order_of(kernel, b, sizes, strides)) for b in kernel.outputs)
    refuse_empty(kernel, sizes)
    is_empty = all(0 in o.shape for o in outputs)
    special = specialize(kernel, sizes, strides, order)
    aligned = frozenset(b.name for b, x in zip(kernel.inputs, layouts, strict=True) if x.is_aligned)
    special = special if schedule is not None and not schedule.columns else with_columns(special)
    chosen = schedule or choose_schedule(special, aligned)
    check_schedule(special, chosen)
    program = None if is_empty else _mapped(special.kernel, chosen, kernel.name)
    return BoundProgram(program, chosen, special, outputs)


def _refuse_complex(kernel: Kernel) -> None:
    if any(b.dtype in COMPLEX for b in kernel.buffers):
        raise KernelError("complex numbers have no device code")


@lru_cache(maxsize=512)
def _mapped(kernel: Kernel, schedule: CudaSchedule, name: str) -> Program:
    """The kernels of a pattern, made once for all sizes."""
    return map_kernel(kernel, schedule, name)


def _output(b: Buffer, sizes: dict[str, int], strides: Strides, order: tuple[str, ...]) -> OutputLayout:
    """Axes in the given order in memory, row-major without one; writes the output's strides into ``strides``."""
    shape = tuple(1 if a == ONE else sizes[a] for a in b.axes)
    dtype = element_type(b.dtype).numpy
    dims = list(range(len(b.axes)))
    if order and all(a in order for a in b.moving_axes):
        dims.sort(key=lambda k: -1 if b.axes[k] == ONE else order.index(b.axes[k]))
    step = dtype.itemsize
    for k in reversed(dims):
        if b.axes[k] != ONE:
            strides[b.name, b.axes[k]] = step
        step *= max(shape[k], 1)
    permutation = tuple(dims.index(k) for k in range(len(dims)))
    is_plain = dims == sorted(dims)
    return OutputLayout(shape, dtype, tuple(shape[k] for k in dims), None if is_plain else permutation)
