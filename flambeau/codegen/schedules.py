"""How a kernel runs, by the pattern of its calls: what they have in common is worked out once for all of them."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import Any

from flambeau.codegen import threads, tuned_choices
from flambeau.codegen.alternatives import alternatives
from flambeau.codegen.call_geometry import Geometry, Output
from flambeau.codegen.choices import Choices
from flambeau.codegen.choose_schedule import PREPARED_FROM, choose
from flambeau.codegen.costs import NANOSECONDS, estimate_nanoseconds
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Kernel, axis_groups
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.llvm.object_cache import key_of
from flambeau.codegen.llvm.stages import is_staged
from flambeau.codegen.prepare import prepare
from flambeau.codegen.products import Tiling, choose_tiling, is_product
from flambeau.codegen.schedule import Schedule
from flambeau.codegen.shapes import Span
from flambeau.codegen.size_classes import Range
from flambeau.codegen.specialize import (
    Specialized,
    Strides,
    parallel_group,
    resized,
    specialize,
)
from flambeau.codegen.variants import Variant, compile_variant, variant_text
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util import thread_count
from flambeau.util.record import dataclass, replace

MOST_KEPT = 16
"""Schedules of a kernel that are kept on disk."""


@dataclass(frozen=True, slots=True)
class ScheduledKernel:
    """A kernel specialised for a pattern of calls, and the schedule chosen for the least sizes of their classes: what
    can be kept on disk, as the code is.
    """

    typical: Specialized
    """For the least sizes."""
    schedule: Schedule
    staged: bool
    typical_nanoseconds: float
    """Estimated duration for these sizes, per iteration of all axes."""
    text: str
    """Under which its code is known."""

    @property
    def serves_pattern(self) -> bool:
        """Whether the code depends on nothing but the pattern of a call."""
        return not (isinstance(self.schedule, Tiling) and self.schedule.form == "blas")


KeptSchedules = dict[tuple[Any, ...], ScheduledKernel]
"""Schedules of a kernel by the pattern of calls, from an earlier process and for later ones."""


@dataclass(frozen=True, slots=True)
class _Scheduled:
    """A kernel with its schedule and its code."""

    kept: ScheduledKernel
    variant: Variant

    @property
    def typical(self) -> Specialized:
        return self.kept.typical

    def special(self, geometry: Geometry) -> Specialized:
        """The specialised kernel with the sizes and strides of a call of the pattern."""
        typical = resized(self.typical, geometry.sizes)
        strides = {(name, a): geometry.strides[name, typical.axes[a][-1]] for name, a in typical.strides}
        return replace(typical, strides=strides)


class Schedules:
    """How a kernel runs, by the pattern of its calls: schedules with their code, each for all calls of its pattern."""

    def __init__(
        self, kernel: Kernel, spans: tuple[Span, ...], choices: Choices, most: int, kept: KeptSchedules | None = None
    ) -> None:
        """`kept` has schedules that an earlier process chose, and is given those that are chosen here."""
        self.kernel, self.spans, self.choices = kernel, spans, choices
        self.kept: KeptSchedules = {} if kept is None else kept
        parallel = parallel_group(kernel)
        # Axes of size 1 between two others disappear, and the order of parallel ones depends on the call.
        self._pairs = [
            pair
            for group in axis_groups(kernel)
            for pair in (permutations if group == parallel else combinations)(group, 2)
        ]
        self.cache: SpecialisationCache[tuple[Any, ...], _Scheduled] = SpecialisationCache(
            f"schedules of {kernel.name}", most, describe=lambda pattern: ", ".join(map(_words_of_class, pattern[0]))
        )

    def find(self, geometry: Geometry, ranges: dict[str, Range]) -> _Scheduled:
        """The schedule for a call with its code; compiles what is missing."""
        pattern = self.pattern(geometry, ranges)
        scheduled = self.cache.get(pattern)
        if scheduled is None:
            kept = self.kept.get(pattern) or _scheduled(self.kernel, geometry, ranges, self.choices)
            scheduled = _Scheduled(kept, compile_variant(kept.typical.kernel, kept.schedule, kept.text))
            if kept.serves_pattern:
                if len(self.kept) < MOST_KEPT:
                    self.kept[pattern] = kept
                return self.cache.get_or_make(pattern, lambda cause: scheduled)
        return scheduled

    def pattern(self, geometry: Geometry, ranges: dict[str, Range]) -> tuple[Any, ...]:
        """What code depends on: the classes of sizes, the order of axes in memory, which inputs do not move along an
        axis or lie side by side, which axes go on where others end; and on what it runs.
        """
        strides, sizes = geometry.strides, geometry.sizes
        moves = tuple([
            (strides[b.name, a] != 0) + (strides[b.name, a] == element_type(b.dtype).itemsize)
            for b in self.kernel.inputs
            for a in b.moving_axes
        ])  # fmt: skip
        return (
            tuple(ranges.values()), geometry.loop_order, geometry.output_orders, moves, self._go_on(sizes, strides),
            _rows_aligned(geometry.outputs), threads.threads_for(self.choices.num_threads), engine().identity,
        )  # fmt: skip

    def _go_on(self, sizes: dict[str, int], strides: Strides) -> tuple[bool, ...]:
        """Of each input and pair of axes that loops go through one inside the other, whether they are walked as one."""
        return tuple([
            strides[b.name, outer] == strides[b.name, inner] * sizes[inner]
            for b in self.kernel.inputs
            for outer, inner in self._pairs
            if (b.name, outer) in strides and (b.name, inner) in strides
        ])


def _words_of_class(class_: Range) -> str:
    least, most = class_
    return str(least) if least == most else f"{least} to {most}"


def _scheduled(
    kernel: Kernel, geometry: Geometry, ranges: dict[str, Range], choices: Choices, *, is_tuned: bool = True
) -> ScheduledKernel:
    """The specialised kernel of a call with its schedule: the one that tuning found, or the default."""
    special = specialize(kernel, geometry.sizes, geometry.strides, geometry.loop_order)
    least, most = ({axis: bounds[k] for axis, bounds in ranges.items()} for k in range(2))
    typical = resized(special, least)
    schedule: Schedule | None = None
    if is_product(kernel):
        schedule = _tiling(typical, special, resized(special, most), choices)
    if schedule is None:
        typical = prepare(typical, lambda op: NANOSECONDS.get(op, 0.0) >= PREPARED_FROM)
        exact = frozenset(a for a, parts in special.axes.items() if all(least[p] == most[p] for p in parts))
        schedule = choose(typical, engine().target, _rows_aligned(geometry.outputs), exact)
        # What remembers places remembers those of the longest call.
        narrow = schedule.narrow and math.prod(most.values()) < 2**31
        schedule = replace(schedule, narrow=narrow, fastmath=choices.fastmath or schedule.fastmath)
    text = variant_text(typical.kernel, schedule)
    tuned = tuned_choices.choice(_tuning_key(text, ranges)) if is_tuned else ""
    if tuned:
        largest = resized(special, most)
        count = threads.threads_for(choices.num_threads)
        schedule = alternatives(schedule, typical, special, largest, engine().target, count).get(tuned, schedule)
    return _kept(typical, schedule, least)


def _kept(typical: Specialized, schedule: Schedule, least: dict[str, int]) -> ScheduledKernel:
    nanoseconds = estimate_nanoseconds(typical) / max(math.prod(least.values()), 1)
    text = variant_text(typical.kernel, schedule)
    return ScheduledKernel(typical, schedule, is_staged(typical.kernel, schedule), nanoseconds, text)


def _tuning_key(text: str, ranges: dict[str, Range]) -> str:
    """Under which a choice is kept: of a kernel under its default schedule, for the classes of its sizes."""
    return key_of(text, repr(sorted(ranges.items())))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The schedules of a kernel for calls of a pattern: that which is chosen by itself, and others by name."""

    key: str
    pattern: tuple[Any, ...]
    kernels: dict[str, ScheduledKernel]
    """The default has an empty name."""


def candidates(schedules: Schedules, geometry: Geometry, ranges: dict[str, Range]) -> Candidates:
    """What tuning measures for a call. Raises ``KernelError`` as scheduling does."""
    kernel, choices = schedules.kernel, schedules.choices
    default = _scheduled(kernel, geometry, ranges, choices, is_tuned=False)
    special = specialize(kernel, geometry.sizes, geometry.strides, geometry.loop_order)
    least, most = ({axis: bounds[k] for axis, bounds in ranges.items()} for k in range(2))
    others = alternatives(
        default.schedule, default.typical, special, resized(special, most), engine().target,
        threads.threads_for(choices.num_threads),
    )  # fmt: skip
    kernels = {name: _kept(default.typical, schedule, least) for name, schedule in others.items()}
    key = _tuning_key(default.text, ranges)
    return Candidates(key, schedules.pattern(geometry, ranges), {"": default, **kernels})


def _tiling(typical: Specialized, special: Specialized, largest: Specialized, choices: Choices) -> Tiling | None:
    """The tiles of a product; none for one that plain loops serve."""
    tiling = choose_tiling(typical, special, largest, engine().target, threads.threads_for(choices.num_threads))
    if tiling is not None and tiling.form == "blas":
        return replace(tiling, blas_threads=choices.num_threads or thread_count.ANY)
    return tiling


def _rows_aligned(outputs: tuple[Output, ...]) -> bool:
    """Whether every row of every output can start on a 64-byte boundary."""
    return all(o.large and (len(o.shape) == 1 or o.memory_shape[-1] * o.dtype.itemsize % 64 == 0) for o in outputs)
