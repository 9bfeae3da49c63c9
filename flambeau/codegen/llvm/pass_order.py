"""The passes of a kernel over the same rows: which go backwards, and what is asked of memory ahead of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Accumulate, Buffer, Loop, Position, Running, Store, walk
from flambeau.codegen.llvm import memory
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.codegen.schedule import Schedule


class Emitting(Protocol):
    """The emitter of a kernel, as far as it is needed here."""

    e: Emitter
    schedule: Schedule
    main: Loop | None
    strides: dict[tuple[str, str], Value]


def returning(passes: Sequence[Loop]) -> tuple[Loop, ...]:
    """Every second of some passes over the same axis, where the order of iterations is not part of what they mean: it
    may begin where the one before it ended, with what is still in the cache.
    """
    if len({p.axes[:1] for p in passes}) != 1 or not all(map(_has_no_order, passes)):
        return ()
    return tuple(passes[1::2])


def _has_no_order(loop: Loop) -> bool:
    statements = walk((loop,))
    has_positions = any(isinstance(s, Running | Position) or (isinstance(s, Store) and s.at) for s in statements)
    return not has_positions and not any(isinstance(s, Accumulate) and s.position for s in statements)


def ask_for_next_row(emitting: Emitting, buffer: Buffer, base: Value, index: Value) -> None:
    """Ask for the elements of the next row at this place."""
    assert emitting.main is not None
    stride = emitting.strides.get((buffer.name, emitting.main.axes[0]))
    if stride is None:
        return
    element = element_type(buffer.dtype)
    address = emitting.e.define(f"getelementptr {element.memory}, ptr {base}, i64 {index}", "ptr", 1)
    memory.prefetch(emitting.e, address, stride, 1, emitting.schedule.lanes * element.itemsize)


def ask_ahead(emitting: Emitting, loop: Loop, buffer: Buffer, iterations: int, scope: Scope) -> None:
    """Ask for the rows that a fold of columns will come to, so many iterations from here; 0: it need not."""
    if iterations and scope.in_vector and loop.carries and buffer.name in emitting.schedule.unit:
        row = emitting.schedule.lanes * element_type(buffer.dtype).numpy.itemsize
        stride = emitting.strides[buffer.name, loop.axes[0]]
        memory.prefetch(emitting.e, scope.pointers[buffer.name], stride, iterations, row)
