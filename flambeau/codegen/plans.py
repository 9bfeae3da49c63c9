"""Plans: everything about a call that follows from the shapes and strides of its inputs, worked out once."""

from __future__ import annotations

import ctypes
import math
import time
import weakref
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen import threads
from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.costs import NANOSECONDS, bytes_moved, estimate_nanoseconds, operation_count
from flambeau.codegen.hoist import hoist
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.kernel.nest import ONE, Buffer, Kernel, scatters
from flambeau.codegen.kernel.printer import print_kernel
from flambeau.codegen.llvm.abi import block_layout
from flambeau.codegen.llvm.emitted import KernelText, Needs
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.engine import NativeCode, c_imports, engine, memory_imports
from flambeau.codegen.llvm.nest import NativeText, emit_kernel
from flambeau.codegen.llvm.plan_sizes import ALIGNED_FROM
from flambeau.codegen.llvm.stages import emit_staged, is_staged
from flambeau.codegen.patterns import Call, memory_order
from flambeau.codegen.planning import PARALLEL_FROM, PREPARED_FROM, choose, split
from flambeau.codegen.prepare import prepare
from flambeau.codegen.products import Tiling, choose_tiling, emit_product, is_product, split_product
from flambeau.codegen.schedule import Schedule, Split
from flambeau.codegen.shapes import Span, broadcast_sizes, check_spans, refuse_empty
from flambeau.codegen.size_classes import classes
from flambeau.codegen.specialize import (
    Strides,
    filled_order,
    output_order,
    parallel_group,
    resized,
    specialize,
    stride_order,
)
from flambeau.util import log, thread_count
from flambeau.util.locks import Lock
from flambeau.util.progress import progress
from flambeau.util.record import dataclass, replace

Array = npt.NDArray[Any]
RELEASE_FROM = 5000.0
"""Nanoseconds of estimated work from which giving up the GIL pays."""

SYMBOL = "flambeau_kernel"
"""Symbol of every kernel; each is linked apart, so that equal kernels have equal text."""
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@dataclass(slots=True, eq=False, weakref_slot=True)
class Variant:
    """Native code for one specialised kernel under one schedule."""

    kernel: Kernel
    schedule: Schedule
    native: KernelText
    code: NativeCode
    entry: Any
    """The kernel as a ctypes function of (block, low, high)."""
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

    def allocate(self) -> Array:
        """Uninitialised memory."""
        memory = empty_aligned(self.memory_shape, self.dtype) if self.large else np.empty(self.memory_shape, self.dtype)
        return memory if self.permutation is None else memory.transpose(self.permutation)


@dataclass(slots=True, eq=False)
class Plan:
    """All that a call of one shape and stride pattern needs."""

    outputs: tuple[Output, ...]
    words: list[int]
    """The kernel's block, with 0 where addresses go."""
    high: int
    """Size of the outermost axis."""
    variant: Variant | None
    """None where there is nothing to compute: an output without elements, or zeros."""
    step: int = 0
    """Iterations of the outermost axis that a thread takes at a time; 0: all by one thread."""
    pieces: int = 1
    nanoseconds: float = 0.0
    """Estimated duration."""
    bytes_moved: int = 0
    """Bytes of all inputs and outputs."""
    operations: int = 0
    """Scalar operations, folds included."""
    threads: int = 1
    """Threads that may share the pieces; `ANY`: as many as are set when it is called."""
    call: Call | None = None
    """What a plan for all calls of this pattern is made from; None where there is none."""
    split: Split | None = None
    is_staged: bool = False
    typical_nanoseconds: float = 0.0
    """Estimated duration of the call of the pattern that the schedule was chosen for, per iteration of all axes."""


_variants: weakref.WeakValueDictionary[str, Variant] = weakref.WeakValueDictionary()
"""Code in use, by kernel text and schedule; it is freed with the last plan that uses it."""
_variants_lock = Lock()


def compile_variant(kernel: Kernel, schedule: Schedule) -> Variant:
    """Native code for ``kernel``, shared by all that have the same text."""
    what = f"{schedule.key()}\n{print_kernel(replace(kernel, name='kernel'))}"
    key = f"{engine().identity}\n{what}"
    with _variants_lock:
        found = _variants.get(key)
        if found is None:
            start = time.perf_counter()
            with progress(f"compiling kernel {kernel.name}"):
                jit = engine()
                native, code = jit.link_kernel(
                    what, SYMBOL, partial(_emit, kernel, schedule, jit.target), partial(_imports, schedule)
                )
            spent = (time.perf_counter() - start) * 1e3
            found = Variant(kernel, schedule, native, code, _ENTRY(code.addresses[native.symbol]), spent)
            _variants[key] = found
            if log.level("codegen"):
                log.write("codegen", _told(found))
        return found


def _imports(schedule: Schedule, needs: Needs) -> dict[str, int]:
    """The addresses of what a kernel's function calls."""
    imports = c_imports(needs.libm)
    if needs.needs_memory:
        imports.update(memory_imports())
    if isinstance(schedule, Tiling):
        imports.update(schedule.imports())
    return imports


def _emit(kernel: Kernel, schedule: Schedule, target: Target) -> NativeText:
    if isinstance(schedule, Tiling):
        return emit_product(kernel, schedule, target, SYMBOL)
    emit = emit_staged if is_staged(kernel, schedule) else emit_kernel
    return emit(hoist(kernel), schedule, target, SYMBOL)


def _told(variant: Variant) -> str:
    text = f"kernel {variant.kernel.name} in {variant.milliseconds:.1f} ms: {variant.schedule.key().strip()}"
    details = (print_kernel(variant.kernel), variant.native.text)[: log.level("codegen") - 1]
    return "\n".join((text, *details))


def empty_aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Uninitialised memory that starts on a 64-byte boundary."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + 64, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def make_plan(kernel: Kernel, spans: tuple[Span, ...], arrays: list[Array], choices: Choices = USUAL) -> Plan:
    """The plan for inputs like ``arrays``; compiles what is missing.

    Raises ``KernelError`` where shapes do not fit, and for the largest of nothing.
    """
    count, wanted = threads.threads_for(choices.num_threads), choices.num_threads or thread_count.ANY
    shapes = [a.shape for a in arrays]
    sizes = broadcast_sizes(kernel, shapes)
    check_spans(kernel, spans, sizes, shapes)
    strides = _input_strides(kernel, arrays)
    order = parallel_group(kernel) if is_product(kernel) else stride_order(kernel, sizes, strides)
    if scatters(kernel):
        _refuse_nothing(kernel, sizes)
        orders = [filled_order(kernel, b, sizes, strides) for b in kernel.outputs]
    else:
        orders = [output_order(kernel, b, sizes, strides) for b in kernel.outputs]
    outputs = tuple(_output(b, sizes, strides, o) for b, o in zip(kernel.outputs, orders, strict=True))
    refuse_empty(kernel, sizes)
    if all(0 in o.shape for o in outputs):
        return Plan(outputs, [], 0, None)
    ranges = classes(kernel, sizes, spans)
    special = specialize(kernel, sizes, strides, order)
    typical = resized(special, {axis: least for axis, (least, _) in ranges.items()})
    tiling = choose_tiling(typical, special, engine().target, count) if is_product(kernel) else None
    if tiling is not None and tiling.form == "blas":
        tiling = replace(tiling, blas_threads=wanted)
    if tiling is None:
        typical = prepare(typical, lambda op: NANOSECONDS.get(op, 0.0) >= PREPARED_FROM)
        special = replace(typical, sizes=special.sizes)
    exact = frozenset(a for a, parts in special.axes.items() if all(ranges[p][0] == ranges[p][1] for p in parts))
    schedule = tiling or choose(typical, engine().target, _rows_aligned(outputs), exact)
    if choices.fastmath and tiling is None:
        schedule = replace(schedule, fastmath=True)
    variant = compile_variant(special.kernel, schedule)
    layout = block_layout(special.kernel)
    words = [0] * layout.words
    for axis, place in layout.sizes.items():
        words[place] = special.sizes[axis]
    for pair, place in layout.strides.items():
        words[place] = special.strides[pair]
    nanoseconds = estimate_nanoseconds(special)
    staged = is_staged(special.kernel, schedule)
    if staged and nanoseconds >= PARALLEL_FROM and count > 1:
        words[layout.pool] = threads.run_address(wanted)
    sharing = (
        split(special, schedule, variant.native.splits, count)
        if tiling is None
        else split_product(special, tiling, count)
    )
    iterations = 1 if sharing.axis is None else special.sizes[sharing.axis]
    is_shared = nanoseconds >= PARALLEL_FROM
    high, step, pieces = (sharing if is_shared else replace(sharing, most_pieces=0)).of(iterations, nanoseconds)
    call = None
    if not schedule.nontemporal and (tiling is None or tiling.form != "blas"):
        along = tuple([(p.buffer, p.along) for p in schedule.packs]) if tiling is None else tuple(tiling.sides)
        along += tuple(schedule.dense)
        unit = schedule.unit - {p.buffer for p in schedule.packs}
        call = Call(kernel, sizes, strides, ranges, special, tuple(orders), unit, schedule.vector_axis, along)
    all_iterations = math.prod(least for least, _ in ranges.values())
    return Plan(
        outputs, words, high, variant, step, pieces, nanoseconds, bytes_moved(special), operation_count(special),
        wanted, call, sharing, staged, estimate_nanoseconds(typical) / max(all_iterations, 1),
    )  # fmt: skip


def _input_strides(kernel: Kernel, arrays: list[Array]) -> Strides:
    strides: Strides = {}
    for buffer, a in zip(kernel.inputs, arrays, strict=True):
        for place, axis in enumerate(buffer.axes):
            if axis != ONE:
                strides[buffer.name, axis] = a.strides[place] if a.shape[place] != 1 else 0
    return strides


def _refuse_nothing(kernel: Kernel, sizes: dict[str, int]) -> None:
    """What has no elements to change may still be told places, which operators look at."""
    if any(sizes[a] == 0 for b in kernel.outputs for a in b.moving_axes):
        raise KernelError(f"{kernel.name}: places of what has no elements")


def _rows_aligned(outputs: tuple[Output, ...]) -> bool:
    """Whether every row of every output can start on a 64-byte boundary."""
    return all(o.large and (len(o.shape) == 1 or o.memory_shape[-1] * o.dtype.itemsize % 64 == 0) for o in outputs)


def _output(b: Buffer, sizes: dict[str, int], strides: Strides, order: tuple[str, ...]) -> Output:
    """Allocation in the given order of axes, row-major without one; writes the output's strides into ``strides``."""
    shape = tuple(1 if a == ONE else sizes[a] for a in b.axes)
    dtype = element_type(b.dtype).numpy
    places = memory_order(b, order)
    memory_shape = tuple(shape[k] for k in places)
    step = dtype.itemsize
    for k in reversed(places):
        if b.axes[k] != ONE:
            strides[b.name, b.axes[k]] = step
        step *= max(shape[k], 1)
    inverse = tuple(places.index(k) for k in range(len(places)))
    permutation = None if places == sorted(places) else inverse
    return Output(shape, dtype, permutation, memory_shape, step >= ALIGNED_FROM)
