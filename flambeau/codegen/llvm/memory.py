"""Loads and stores of kernels: unit-stride vectors, masked ends, gathers, scalars, scratch rows."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Protocol

from flambeau.codegen.kernel.dtypes import COMPLEX, element_type
from flambeau.codegen.kernel.nest import Buffer, Kernel
from flambeau.codegen.llvm import first_lanes, pairs
from flambeau.codegen.llvm.abi import NO_MEMORY
from flambeau.codegen.llvm.emitter import Emitter, Value, int_constant, vector_type
from flambeau.codegen.llvm.first_lanes import First
from flambeau.codegen.schedule import Schedule
from flambeau.util.record import dataclass

CACHE_LINE = 64
"""Bytes that come from memory at once."""

ALLOCATE, FREE = "flambeau_allocate", "flambeau_free"
"""Symbols of the memory functions that a kernel with scratch buffers calls."""


class AccessScope(Protocol):
    """The part of a scope that memory access looks at."""

    pointers: dict[str, Value]
    in_vector: bool
    mask: Value | None
    first: First | None
    offsets: dict[str, Value]
    spread: frozenset[str]


def iota(lanes: int, element: str = "i64") -> Value:
    """0, 1, 2, ..."""
    if lanes == 1:
        return int_constant(0, element, 1)
    return Value("<" + ", ".join(f"{element} {k}" for k in range(lanes)) + ">", element, lanes)


def suffix(element: str, lanes: int) -> str:
    """How intrinsics call a vector type."""
    name = {"float": "f32", "double": "f64"}.get(element, element)
    return f"v{lanes}{name}" if lanes > 1 else name


def _mode(schedule: Schedule, scope: AccessScope, buffer: Buffer) -> str:
    """How a buffer is reached: ``scalar``, ``unit``, ``gather`` or ``lanes`` (scratch with a vector per element)."""
    if not scope.in_vector:
        return "scalar"
    if buffer.name in scope.spread:
        return "gather"
    if schedule.vector_axis in buffer.axes:
        return "unit" if buffer.name in schedule.unit else "gather"
    return "lanes" if buffer.role == "scratch" else "scalar"


@dataclass(frozen=True, slots=True)
class _Access:
    """Where the lanes of a buffer lie here; those of complex numbers are their parts."""

    base: Value
    element: str
    """What a lane is in memory."""
    itemsize: int
    """Bytes of a lane."""
    lanes: int
    pointers: Value | None = None
    """Of lanes that lie anywhere."""
    mask: Value | None = None
    first: First | None = None
    """How many lanes count, where those of the mask are the first ones."""

    @property
    def type(self) -> str:
        return vector_type(self.element, self.lanes)


def _access(e: Emitter, schedule: Schedule, scope: AccessScope, buffer: Buffer, mode: str) -> _Access:
    t, base = element_type(buffer.dtype), scope.pointers[buffer.name]
    lanes = 1 if mode == "scalar" else schedule.lanes
    pointers = _lane_pointers(e, scope, buffer, lanes) if mode == "gather" else None
    mask = scope.mask if mode in ("gather", "unit") else None
    first = scope.first if mode == "unit" else None
    if mask is None and pointers is not None:
        mask = int_constant(1, "i1", lanes)
    if t.kind != "complex":
        return _Access(base, t.memory, t.itemsize, lanes, pointers, mask, first)
    itemsize = t.itemsize // pairs.PARTS
    pointers = None if pointers is None else pairs.addresses_of_parts(e, pointers, itemsize)
    mask = None if mask is None else pairs.mask_of_parts(e, mask)
    first = None if first is None else first.times(e, pairs.PARTS)
    return _Access(base, t.llvm, itemsize, lanes * pairs.PARTS, pointers, mask, first)


def load(e: Emitter, schedule: Schedule, scope: AccessScope, buffer: Buffer) -> Value:
    """The element of ``buffer`` here, in its register type."""
    a = _access(e, schedule, scope, buffer, _mode(schedule, scope, buffer))
    vt, lanes = a.type, a.lanes
    if a.first is not None and first_lanes.are_loaded_by_halves(e.target, a.first, a.element):
        raw = first_lanes.load(e, a.base, a.element, a.itemsize, lanes, a.first)
    elif a.mask is not None:
        ending = suffix(a.element, lanes)
        if a.pointers is None:
            e.declare(f"declare {vt} @llvm.masked.load.{ending}.p0(ptr, i32, <{lanes} x i1>, {vt})")
            head = f"call {vt} @llvm.masked.load.{ending}.p0(ptr {a.base}, i32 {a.itemsize}"
        else:
            e.declare(
                f"declare {vt} @llvm.masked.gather.{ending}.v{lanes}p0(<{lanes} x ptr>, i32, <{lanes} x i1>, {vt})"
            )
            head = f"call {vt} @llvm.masked.gather.{ending}.v{lanes}p0(<{lanes} x ptr> {a.pointers}, i32 {a.itemsize}"
        raw = e.define(f"{head}, {a.mask.full_type} {a.mask}, {vt} zeroinitializer)", a.element, lanes)
    else:
        raw = e.define(f"load {vt}, ptr {a.base}, align {a.itemsize}", a.element, lanes)
    return e.icmp("ne", raw, e.like(raw, 0)) if buffer.dtype == "bool" else raw


def _lane_pointers(e: Emitter, scope: AccessScope, buffer: Buffer, lanes: int) -> Value:
    offsets, base = scope.offsets[buffer.name], scope.pointers[buffer.name]
    return e.define(f"getelementptr i8, ptr {base}, {offsets.full_type} {offsets}", "ptr", lanes)


def store(e: Emitter, schedule: Schedule, scope: AccessScope, buffer: Buffer, value: Value) -> None:
    """Write ``value`` to the element of ``buffer`` here."""
    mode = _mode(schedule, scope, buffer)
    a = _access(e, schedule, scope, buffer, mode)
    vt, lanes = a.type, a.lanes
    value = _in_lanes(e, buffer, value, lanes)
    if a.first is not None and first_lanes.are_stored_by_halves(e.target, a.first):
        first_lanes.store(e, value, a.base, a.itemsize, a.first)
    elif a.mask is not None:
        ending = suffix(a.element, lanes)
        if a.pointers is None:
            e.declare(f"declare void @llvm.masked.store.{ending}.p0({vt}, ptr, i32, <{lanes} x i1>)")
            head = f"call void @llvm.masked.store.{ending}.p0({vt} {value}, ptr {a.base}"
        else:
            e.declare(
                f"declare void @llvm.masked.scatter.{ending}.v{lanes}p0({vt}, <{lanes} x ptr>, i32, <{lanes} x i1>)"
            )
            head = f"call void @llvm.masked.scatter.{ending}.v{lanes}p0({vt} {value}, <{lanes} x ptr> {a.pointers}"
        e.raw(f"{head}, i32 {a.itemsize}, {a.mask.full_type} {a.mask})")
    elif schedule.nontemporal and mode == "unit" and buffer.role == "out":
        e.raw(f"store {vt} {value}, ptr {a.base}, align {min(64, lanes * a.itemsize)}, !nontemporal !0")
    else:
        e.raw(f"store {vt} {value}, ptr {a.base}, align {a.itemsize}")


def _in_lanes(e: Emitter, buffer: Buffer, value: Value, lanes: int) -> Value:
    """A value as it is stored in so many lanes."""
    if buffer.dtype in COMPLEX:
        return pairs.spread(e, value, lanes // pairs.PARTS)
    value = e.splat(value, lanes)
    return e.convert("zext", value, "i8") if buffer.dtype == "bool" else value


def allocate_scratch(
    e: Emitter, kernel: Kernel, schedule: Schedule, sizes: dict[str, Value], strides: dict[tuple[str, str], Value],
    pointers: dict[str, Value],
) -> dict[str, Value]:  # fmt: skip
    """Memory for the scratch buffers, row-major; a vector per element where the vector axis is not among the axes.

    Gives the bytes of each; there is room for as many as rows are computed side by side.
    """
    sizes_of_rows: dict[str, Value] = {}
    for buffer in kernel.scratch:
        wide = schedule.vector_axis is not None and schedule.vector_axis not in buffer.axes
        itemsize = element_type(buffer.dtype).itemsize * (schedule.lanes if wide else 1)
        stride = int_constant(itemsize, "i64", 1)
        for axis in reversed(buffer.moving_axes):
            strides[buffer.name, axis] = stride
            stride = e.binary("mul", stride, sizes[axis])
        padded = e.binary("add", stride, int_constant(CACHE_LINE - 1, "i64", 1))
        sizes_of_rows[buffer.name] = e.binary("and", padded, int_constant(-CACHE_LINE, "i64", 1))
        size = e.binary("mul", sizes_of_rows[buffer.name], int_constant(schedule.jam, "i64", 1))
        pointers["@raw " + buffer.name], pointers[buffer.name] = allocate_aligned(e, size)
    return sizes_of_rows


def allocate_aligned(e: Emitter, size: Value) -> tuple[Value, Value]:
    """Memory as it was allocated, null if there is none (`leave_without_memory`), and its first 64-byte boundary."""
    e.declare(f"declare ptr @{ALLOCATE}(i64)")
    padded = e.binary("add", size, int_constant(CACHE_LINE, "i64", 1))
    raw = e.define(f"call ptr @{ALLOCATE}(i64 {padded})", "ptr", 1)
    address = e.define(f"ptrtoint ptr {raw} to i64", "i64", 1)
    pad = e.binary("and", e.binary("sub", int_constant(0, "i64", 1), address), int_constant(63, "i64", 1))
    return raw, e.define(f"getelementptr i8, ptr {raw}, i64 {pad}", "ptr", 1)


def leave_without_memory(e: Emitter, wanted: Sequence[Value], error: Value, others: Sequence[Value] = ()) -> None:
    """Return from the function where some memory that was wanted is null, with that in the error flag; what there is of
    it, and the others, is freed.
    """
    if not wanted:
        return
    failed, fine = e.label("no_memory"), e.label("allocated")
    missing = [e.define(f"icmp eq ptr {raw}, null", "i1", 1) for raw in wanted]
    e.branch_if(functools.reduce(lambda a, b: e.binary("or", a, b), missing), failed, fine)
    e.start(failed)
    e.raw(f"store i32 {NO_MEMORY}, ptr {error}, align 4")
    for raw in (*wanted, *others):
        free(e, raw)
    e.raw("ret void")
    e.start(fine)


def free(e: Emitter, raw: Value) -> None:
    """Give memory back."""
    e.declare(f"declare void @{FREE}(ptr)")
    e.raw(f"call void @{FREE}(ptr {raw})")


def scratch_of(kernel: Kernel, pointers: dict[str, Value]) -> list[Value]:
    """The memory of the scratch buffers, as it was allocated."""
    return [pointers["@raw " + buffer.name] for buffer in kernel.scratch]


def prefetch(e: Emitter, pointer: Value, stride: Value, iterations: int, size: int) -> None:
    """Ask for the `size` bytes that lie some iterations of an axis ahead of a pointer; beyond the end that does
    nothing.
    """
    e.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    ahead = e.binary("mul", stride, int_constant(iterations, "i64", 1))
    for at in range(0, size, CACHE_LINE):
        offset = e.binary("add", ahead, int_constant(at, "i64", 1))
        address = e.define(f"getelementptr i8, ptr {pointer}, i64 {offset}", "ptr", 1)
        e.raw(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")
