"""How the arrays of a call lie in memory: the sizes of its axes, the strides of its inputs, and the outputs that
follow from both.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen.kernel.dtypes import COMPLEX, KernelError, element_type
from flambeau.codegen.kernel.nest import ONE, Buffer, Kernel, scatters
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM
from flambeau.codegen.patterns import memory_order
from flambeau.codegen.products import is_product
from flambeau.codegen.shapes import Span, broadcast_sizes, check_spans, refuse_empty, refuse_nothing
from flambeau.codegen.specialize import Strides, filled_order, output_order, parallel_group, stride_order
from flambeau.util.record import dataclass

Array = npt.NDArray[Any]


@dataclass(slots=True)
class Output:
    """How one output of a launch is allocated."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    permutation: tuple[int, ...] | None
    """Axes of the result in terms of the allocation's, None for row-major."""
    memory_shape: tuple[int, ...]
    large: bool

    def allocate(self) -> Array:
        """Uninitialised memory."""
        memory = empty_aligned(self.memory_shape, self.dtype) if self.large else np.empty(self.memory_shape, self.dtype)
        return memory if self.permutation is None else memory.transpose(self.permutation)

    def fits(self, array: Array) -> bool:
        """Whether an array lies in memory as an allocated one does."""
        if array.dtype != self.dtype or array.shape != self.shape or not array.flags.aligned:
            return False
        lies_as = array if self.permutation is None else array.transpose(np.argsort(self.permutation))
        return bool(lies_as.flags.c_contiguous and array.flags.writeable)


@dataclass(slots=True)
class Geometry:
    """How the arrays of a call lie in memory: its inputs, and the outputs that follow from them."""

    sizes: dict[str, int]
    strides: Strides
    loop_order: tuple[str, ...]
    """The parallel axes, outermost first."""
    output_orders: tuple[tuple[str, ...], ...]
    """Of each output, its axes as they lie in memory, outermost first."""
    outputs: tuple[Output, ...]


def geometry_of(kernel: Kernel, spans: tuple[Span, ...], arrays: list[Array]) -> Geometry:
    """Sizes, strides and outputs of a call. Raises ``KernelError`` where shapes do not fit."""
    shapes = [a.shape for a in arrays]
    sizes = broadcast_sizes(kernel, shapes)
    check_spans(kernel, spans, sizes, shapes)
    _refuse_large_product(kernel, sizes)
    strides = _input_strides(kernel, arrays)
    loop_order = parallel_group(kernel) if is_product(kernel) else stride_order(kernel, sizes, strides)
    order_of = output_order
    if scatters(kernel):
        refuse_nothing(kernel, sizes)
        order_of = filled_order
    orders = tuple([order_of(kernel, b, sizes, strides) for b in kernel.outputs])
    outputs = tuple(_output(b, sizes, strides, o) for b, o in zip(kernel.outputs, orders, strict=True))
    refuse_empty(kernel, sizes)
    return Geometry(sizes, strides, loop_order, orders, outputs)


MOST_COMPLEX = 1 << 17
"""Products of complex numbers in a product of matrices up to which folds are as quick as the way to BLAS."""


def _refuse_large_product(kernel: Kernel, sizes: dict[str, int]) -> None:
    """Raise ``KernelError`` for a large product of complex matrices, which whoever asks has computed by BLAS."""
    is_complex = any(b.dtype in COMPLEX for b in kernel.inputs)
    if is_complex and math.prod(sizes.values()) > MOST_COMPLEX and is_product(kernel):
        raise KernelError(f"{kernel.name}: a large product of complex matrices is computed by BLAS")


def _input_strides(kernel: Kernel, arrays: list[Array]) -> Strides:
    strides: Strides = {}
    for buffer, a in zip(kernel.inputs, arrays, strict=True):
        for dim, axis in enumerate(buffer.axes):
            if axis != ONE:
                step = a.strides[dim] if a.shape[dim] else a.itemsize  # none of nothing is read for all iterations
                strides[buffer.name, axis] = step if a.shape[dim] != 1 else 0
    return strides


def _output(b: Buffer, sizes: dict[str, int], strides: Strides, order: tuple[str, ...]) -> Output:
    """Allocation in the given order of axes, row-major without one; writes the output's strides into ``strides``."""
    shape = tuple(1 if a == ONE else sizes[a] for a in b.axes)
    dtype = element_type(b.dtype).numpy
    dims = memory_order(b, order)
    memory_shape = tuple(shape[k] for k in dims)
    step = dtype.itemsize
    for k in reversed(dims):
        if b.axes[k] != ONE:
            strides[b.name, b.axes[k]] = step
        step *= max(shape[k], 1)
    inverse = tuple(dims.index(k) for k in range(len(dims)))
    permutation = None if dims == sorted(dims) else inverse
    return Output(shape, dtype, permutation, memory_shape, step >= ALIGNED_FROM)


def empty_aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Uninitialised memory that starts on a 64-byte boundary."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + 64, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return raw[start : start + size].view(dtype).reshape(shape)
