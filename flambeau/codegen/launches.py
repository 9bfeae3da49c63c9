"""Launches: everything about a call that follows from the shapes and strides of its inputs, worked out once."""

from __future__ import annotations

from typing import Any, Protocol

from flambeau.codegen import threads
from flambeau.codegen.call_geometry import Array, Geometry, Output, geometry_of
from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.choose_schedule import PARALLEL_FROM, split
from flambeau.codegen.costs import bytes_moved, estimate_nanoseconds, operation_count
from flambeau.codegen.kernel.nest import Kernel
from flambeau.codegen.llvm.abi import block_layout
from flambeau.codegen.patterns import Call, Pattern
from flambeau.codegen.products import Tiling, split_product
from flambeau.codegen.schedule import Schedule, Split
from flambeau.codegen.schedules import KeptSchedules, Schedules
from flambeau.codegen.shapes import Span
from flambeau.codegen.size_classes import Range, classes
from flambeau.codegen.specialize import (
    Specialized,
)
from flambeau.codegen.variants import Variant
from flambeau.util import thread_count
from flambeau.util.record import dataclass, replace

RELEASE_FROM = 5000.0
"""Nanoseconds of estimated work from which giving up the GIL pays."""


class Runnable(Protocol):
    """Machine code that a launch runs."""

    @property
    def address(self) -> int:
        """Where the code is."""

    @property
    def entry(self) -> Any:
        """The kernel as a ctypes function of (block, low, high)."""


@dataclass(slots=True, eq=False)
class Launch:
    """All that a call of one shape and stride pattern needs."""

    outputs: tuple[Output, ...]
    words: list[int]
    """The kernel's block, with 0 where addresses go."""
    high: int
    """Size of the outermost axis."""
    variant: Variant | None
    """None where there is nothing to compute, an output without elements, or zeros; and where a routine does."""
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
    """What a launch for all calls of this pattern is made from; None where there is none."""
    split: Split | None = None
    is_staged: bool = False
    typical_nanoseconds: float = 0.0
    """Estimated duration of the call of the pattern that the schedule was chosen for, per iteration of all axes."""
    routine: Runnable | None = None
    """What runs in place of a variant, and keeps what the words point to."""
    pattern: Pattern | None = None
    """Which other calls a routine's launch serves, where words that follow from their sizes are put in."""

    @property
    def runs(self) -> Runnable | None:
        """What is called; None where there is nothing to compute."""
        return self.routine if self.variant is None else self.variant


def make_launch(
    kernel: Kernel, spans: tuple[Span, ...], arrays: list[Array], choices: Choices = USUAL,
    kept: KeptSchedules | None = None,
) -> Launch:  # fmt: skip
    """The launch for inputs like ``arrays``; compiles what is missing.

    Raises ``KernelError`` where shapes do not fit, and for the largest of nothing.
    """
    return launch_by(Schedules(kernel, spans, choices, 1, kept), arrays)


def launch_by(schedules: Schedules, arrays: list[Array]) -> Launch:
    """`make_launch` with the schedules that are known of a kernel."""
    kernel, choices = schedules.kernel, schedules.choices
    geometry = geometry_of(kernel, schedules.spans, arrays)
    if all(0 in o.shape for o in geometry.outputs):
        return Launch(geometry.outputs, [], 0, None)
    ranges = classes(kernel, geometry.sizes, schedules.spans, geometry.loop_order, geometry.strides)
    scheduled = schedules.find(geometry, ranges)
    kept, special, variant = scheduled.kept, scheduled.special(geometry), scheduled.variant
    schedule = kept.schedule
    count, wanted = threads.threads_for(choices.num_threads), choices.num_threads or thread_count.ANY
    nanoseconds = estimate_nanoseconds(special)
    is_shared = nanoseconds >= PARALLEL_FROM
    sharing = _sharing(special, schedule, variant, count)
    iterations = 1 if sharing.axis is None else special.sizes[sharing.axis]
    high, step, pieces = (sharing if is_shared else replace(sharing, most_pieces=0)).of(iterations, nanoseconds)
    return Launch(
        geometry.outputs,
        _block_words(special, threads.run_address(wanted) if kept.staged and is_shared and count > 1 else 0),
        high, variant, step, pieces, nanoseconds, bytes_moved(special), operation_count(special),
        wanted, _call(kernel, geometry, ranges, special, schedule), sharing, kept.staged,
        kept.typical_nanoseconds,
    )  # fmt: skip


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


def _call(
    kernel: Kernel, geometry: Geometry, ranges: dict[str, Range], special: Specialized, schedule: Schedule
) -> Call | None:
    """What a launch for all calls of the pattern is made from; none where code depends on more than the pattern."""
    if schedule.nontemporal:
        return None
    along = tuple([(p.buffer, p.along) for p in schedule.packs])
    if isinstance(schedule, Tiling):
        if schedule.form == "blas":
            return None
        along = tuple(schedule.sides)
    return Call(
        kernel, geometry.sizes, geometry.strides, ranges, special, geometry.output_orders,
        schedule.unit - {p.buffer for p in schedule.packs}, schedule.vector_axis, along + tuple(schedule.dense),
    )  # fmt: skip
