"""Other schedules for a kernel than the one that is chosen by itself: what may be faster on some machine.

Each has a name, which says how it differs and nothing about sizes: `lanes/2`, `tiles 6x2 packed`. Tuning measures them
and keeps the name of the fastest.
"""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.products import Tiling, choose_tiling
from flambeau.codegen.schedule import Schedule
from flambeau.codegen.specialize import Specialized
from flambeau.util.record import replace

Tile = tuple[str, int, int]
"""The form of a product, the rows of a tile, and its vectors of columns."""
AHEAD = 8
"""Rows ahead of which memory is asked for, where that is tried."""


def alternatives(
    schedule: Schedule, typical: Specialized, special: Specialized, largest: Specialized, target: Target, threads: int
) -> dict[str, Schedule]:
    """Schedules by name, for calls like `special`, whose sizes are of the classes of `typical` and `largest`."""
    if not isinstance(schedule, Tiling):
        return dict(_loops(schedule, typical, target))
    schedules: dict[str, Schedule] = {}
    for form, rows, vectors in _tiles(schedule, target):
        tiling = choose_tiling(typical, special, largest, target, threads, (form, rows, vectors))
        if tiling is not None and tiling.key() != schedule.key():
            name = "blas" if form == "blas" else f"tiles {rows}x{vectors}{' packed' * (form == 'packed')}"
            schedules[name] = replace(tiling, blas_threads=schedule.blas_threads)
    return schedules


def _tiles(tiling: Tiling, target: Target) -> Iterator[Tile]:
    """Tiles whose sums fit the registers beside the factors."""
    product = tiling.product
    if product is None or product.row is None or tiling.form not in ("tiles", "blas"):
        return
    for rows in (2, 4, 6, 8, 12):
        for vectors in (1, 2, 3, 4):
            if rows * vectors + vectors + 1 <= target.vector_registers and rows * vectors >= 4:
                yield "tiles", rows, vectors
                yield "packed", rows, vectors
    yield "blas", 1, 4


def _loops(schedule: Schedule, typical: Specialized, target: Target) -> Iterator[tuple[str, Schedule]]:
    """Other widths of what is computed at once, and other ways to memory."""
    if schedule.vector_axis is None:
        return
    bits = min(element_type(b.dtype).bits for b in typical.kernel.buffers)
    widest = 4 * target.vector_bits // bits
    usual = schedule.lanes
    for name, lanes in (("lanes/4", usual // 4), ("lanes/2", usual // 2), ("lanes*2", usual * 2)):
        if 2 <= lanes <= widest and not schedule.packs:
            yield name, replace(schedule, lanes=lanes, rest_lanes=0)
    if schedule.nontemporal:
        yield "through caches", replace(schedule, nontemporal=False)
    if schedule.prefetch:
        yield "no prefetch", replace(schedule, prefetch=0)
