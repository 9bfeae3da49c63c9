"""Plans: everything about a call that follows from the shapes and strides of its inputs, worked out once."""

from __future__ import annotations

import ctypes
import math
import time
import weakref
from functools import partial
from typing import Any

from flambeau.codegen import threads
from flambeau.codegen.call_geometry import Array, Geometry, Output, geometry_of
from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.costs import NANOSECONDS, bytes_moved, estimate_nanoseconds, operation_count
from flambeau.codegen.hoist import hoist
from flambeau.codegen.kernel.nest import Kernel
from flambeau.codegen.kernel.printer import print_kernel
from flambeau.codegen.llvm.abi import block_layout
from flambeau.codegen.llvm.emitted import KernelText, Needs
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.engine import NativeCode, c_imports, engine, memory_imports
from flambeau.codegen.llvm.nest import NativeText, emit_kernel
from flambeau.codegen.llvm.stages import emit_staged, is_staged
from flambeau.codegen.patterns import Call
from flambeau.codegen.planning import PARALLEL_FROM, PREPARED_FROM, choose, split
from flambeau.codegen.prepare import prepare
from flambeau.codegen.products import Tiling, choose_tiling, emit_product, is_product, split_product
from flambeau.codegen.schedule import Schedule, Split
from flambeau.codegen.shapes import Span
from flambeau.codegen.size_classes import Range, classes
from flambeau.codegen.specialize import (
    Specialized,
    resized,
    specialize,
)
from flambeau.util import log, thread_count
from flambeau.util.locks import Lock
from flambeau.util.progress import progress
from flambeau.util.record import dataclass, replace

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
        variant = _variants.get(key)
        if variant is None:
            start = time.perf_counter()
            with progress(f"compiling kernel {kernel.name}"):
                jit = engine()
                native, code = jit.link_kernel(
                    what, SYMBOL, partial(_emit, kernel, schedule, jit.target), partial(_imports, schedule)
                )
            spent = (time.perf_counter() - start) * 1e3
            variant = Variant(kernel, schedule, native, code, _ENTRY(code.addresses[native.symbol]), spent)
            _variants[key] = variant
            if log.level("codegen"):
                log.write("codegen", _log_entry(variant))
        return variant


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


def _log_entry(variant: Variant) -> str:
    text = f"kernel {variant.kernel.name} in {variant.milliseconds:.1f} ms: {variant.schedule.key().strip()}"
    details = (print_kernel(variant.kernel), variant.native.text)[: log.level("codegen") - 1]
    return "\n".join((text, *details))


@dataclass(slots=True)
class _Scheduled:
    """A kernel specialised for a call, and the schedule that was chosen for the least sizes of their classes."""

    special: Specialized
    typical: Specialized
    """The same for the least sizes."""
    schedule: Schedule


def make_plan(kernel: Kernel, spans: tuple[Span, ...], arrays: list[Array], choices: Choices = USUAL) -> Plan:
    """The plan for inputs like ``arrays``; compiles what is missing.

    Raises ``KernelError`` where shapes do not fit, and for the largest of nothing.
    """
    geometry = geometry_of(kernel, spans, arrays)
    if all(0 in o.shape for o in geometry.outputs):
        return Plan(geometry.outputs, [], 0, None)
    ranges = classes(kernel, geometry.sizes, spans)
    scheduled = _scheduled(kernel, geometry, ranges, choices)
    special, schedule = scheduled.special, scheduled.schedule
    variant = compile_variant(special.kernel, schedule)
    count, wanted = threads.threads_for(choices.num_threads), choices.num_threads or thread_count.ANY
    nanoseconds = estimate_nanoseconds(special)
    is_shared, staged = nanoseconds >= PARALLEL_FROM, is_staged(special.kernel, schedule)
    sharing = _sharing(special, schedule, variant, count)
    iterations = 1 if sharing.axis is None else special.sizes[sharing.axis]
    high, step, pieces = (sharing if is_shared else replace(sharing, most_pieces=0)).of(iterations, nanoseconds)
    all_iterations = math.prod(least for least, _ in ranges.values())
    return Plan(
        geometry.outputs,
        _block_words(special, threads.run_address(wanted) if staged and is_shared and count > 1 else 0),
        high, variant, step, pieces, nanoseconds, bytes_moved(special), operation_count(special),
        wanted, _call(kernel, geometry, ranges, scheduled), sharing, staged,
        estimate_nanoseconds(scheduled.typical) / max(all_iterations, 1),
    )  # fmt: skip


def _scheduled(kernel: Kernel, geometry: Geometry, ranges: dict[str, Range], choices: Choices) -> _Scheduled:
    """The specialised kernel of a call with its schedule: a product's tiles, or those of any loop nest."""
    special = specialize(kernel, geometry.sizes, geometry.strides, geometry.loop_order)
    typical = resized(special, {axis: least for axis, (least, _) in ranges.items()})
    target = engine().target
    if is_product(kernel):
        largest = resized(special, {axis: most for axis, (_, most) in ranges.items()})
        tiling = choose_tiling(typical, special, largest, target, threads.threads_for(choices.num_threads))
        if tiling is not None and tiling.form == "blas":
            tiling = replace(tiling, blas_threads=choices.num_threads or thread_count.ANY)
        if tiling is not None:
            return _Scheduled(special, typical, tiling)
    typical = prepare(typical, lambda op: NANOSECONDS.get(op, 0.0) >= PREPARED_FROM)
    special = replace(typical, sizes=special.sizes)
    exact = frozenset(a for a, parts in special.axes.items() if all(ranges[p][0] == ranges[p][1] for p in parts))
    schedule = choose(typical, target, _rows_aligned(geometry.outputs), exact)
    return _Scheduled(special, typical, replace(schedule, fastmath=True) if choices.fastmath else schedule)


def _block_words(special: Specialized, pool: int) -> list[int]:
    """The block of a call without its addresses; ``pool`` runs stages on several threads, 0 where one thread does."""
    layout = block_layout(special.kernel)
    words = [0] * layout.words
    for axis, at in layout.sizes.items():
        words[at] = special.sizes[axis]
    for pair, at in layout.strides.items():
        words[at] = special.strides[pair]
    if pool:
        words[layout.pool] = pool
    return words


def _sharing(special: Specialized, schedule: Schedule, variant: Variant, count: int) -> Split:
    """How the range of a call is shared out among threads."""
    if isinstance(schedule, Tiling):
        return split_product(special, schedule, count)
    return split(special, schedule, variant.native.splits, count)


def _call(kernel: Kernel, geometry: Geometry, ranges: dict[str, Range], scheduled: _Scheduled) -> Call | None:
    """What a plan for all calls of the pattern is made from; none where code depends on more than the pattern."""
    schedule = scheduled.schedule
    if schedule.nontemporal:
        return None
    along = tuple([(p.buffer, p.along) for p in schedule.packs])
    if isinstance(schedule, Tiling):
        if schedule.form == "blas":
            return None
        along = tuple(schedule.sides)
    return Call(
        kernel, geometry.sizes, geometry.strides, ranges, scheduled.special, geometry.output_orders,
        schedule.unit - {p.buffer for p in schedule.packs}, schedule.vector_axis, along + tuple(schedule.dense),
    )  # fmt: skip


def _rows_aligned(outputs: tuple[Output, ...]) -> bool:
    """Whether every row of every output can start on a 64-byte boundary."""
    return all(o.large and (len(o.shape) == 1 or o.memory_shape[-1] * o.dtype.itemsize % 64 == 0) for o in outputs)
