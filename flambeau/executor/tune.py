"""Measuring alternatives of a plan's kernels on this machine, and keeping those that are faster.

Each fused group that has run is measured with other tiles, vectors and ways to memory than the usual ones, on arrays of
the sizes and strides of its calls. A winner is kept in the cache on disk under the kernel, its pattern and the classes
of its sizes, so that other calls, plans and processes have it too. What is not faster by more than measurements differ
is not kept. Without a winner the defaults hold; among equals the first in the order of names wins.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flambeau.codegen import available, tuned_choices
from flambeau.codegen.call_geometry import geometry_of
from flambeau.codegen.kernel import KernelError
from flambeau.codegen.launches import Launch, launch_by
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.object_cache import object_cache
from flambeau.codegen.runtime import CompiledKernel, Layout
from flambeau.codegen.schedules import Candidates, Schedules, candidates
from flambeau.codegen.size_classes import classes
from flambeau.executor import gradients, listing
from flambeau.executor.executor import Executor
from flambeau.executor.fused import FusedKernel
from flambeau.executor.plan import make_plan
from flambeau.util.progress_bar import ProgressBar
from flambeau.util.record import dataclass

Array = npt.NDArray[Any]
Measure = Callable[[Sequence[Callable[[], object]]], list[list[float]]]
"""Times some functions alternately: of each, seconds of each round."""
NO_CACHE: Final = (
    "tuning keeps what it finds in the cache on disk, which FLAMBEAU_CACHE turns off or which has no home directory: "
    "set FLAMBEAU_CACHE_DIR to a directory"
)
NOT_NATIVE: Final = (
    "{name} has no native kernels to tune: expected the backend 'native' with llvmlite installed, got {backend!r}"
)
IS_SEEN: Final = (
    "{name} cannot be run for measuring: it writes to its arguments, draws random numbers, prints, asks for a device, "
    "or fails for these arguments; tune the functions that it calls, or call it and see"
)
LEAST_GAIN: Final = 0.05
"""What a winner saves at least, as a part of the default's time."""
SPREADS: Final = 2.0
"""What a winner saves at least, in multiples of how far rounds of one function lie apart."""
ROUNDS: Final = 7
LONG: Final = 2e-4
"""Seconds of a round of one function, at least."""
MOST_BYTES: Final = 1 << 28
"""Of arrays of a call: what is larger is left as it is."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning says of one kernel, for calls of one pattern."""

    group: str
    """The fused group, with its operators."""
    sizes: str
    """Of the inputs that it was measured with."""
    tried: int
    """Alternatives that were measured beside the default."""
    winner: str
    """The name of the alternative that is kept; empty where the default holds."""
    before: float
    """Seconds of the default."""
    after: float
    """Seconds of what holds now."""

    @property
    def gain(self) -> float:
        """How many times as fast it is now."""
        return self.before / self.after if self.after else 1.0


@dataclass(frozen=True, slots=True)
class TuningReport:
    """What `fn.tune` measured; prints as a table."""

    name: str
    kernels: tuple[Tuned, ...]

    @property
    def saved(self) -> float:
        """Seconds that a call of each kernel takes less than before."""
        return sum(k.before - k.after for k in self.kernels)

    def __str__(self) -> str:
        if not self.kernels:
            return f"{self.name}: no kernel has alternatives; what BLAS or a routine computes is left as it is"
        rows = [("group", "inputs", "tried", "default", "now", "gain", "kept")]
        rows += [
            (k.group, k.sizes, str(k.tried), _micro(k.before), _micro(k.after), f"{k.gain:.2f}x", k.winner or "default")
            for k in self.kernels
        ]  # fmt: skip
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        kept = sum(bool(k.winner) for k in self.kernels)
        total = f"{kept} of {len(self.kernels)} kernels have another schedule now: {_micro(self.saved)} less a call"
        return "\n".join([*lines, total])


def tune(executor: Executor, arguments: Sequence[Any], measure: Measure | None = None) -> TuningReport:
    """Measure the kernels of a function's plan for arguments like these, and keep what is faster.

    `measure` times functions, where the clock should not. Raises RuntimeError where nothing can be kept or measured.
    """
    if object_cache() is None:
        raise RuntimeError(NO_CACHE)
    options, plain = executor.options, gradients.Plain(arguments).arguments
    if options.backend != "native" or not available():
        raise RuntimeError(NOT_NATIVE.format(name=executor.name, backend=options.backend))
    plan = make_plan(executor.function, plain, options, "tuning", lambda done: None)
    plan.rehearse(plain)
    if not plan.rehearsals:
        raise RuntimeError(IS_SEEN.format(name=executor.name))
    calls = [*_calls(plan.kernels)]
    bar = ProgressBar(f"tuning {executor.name}", len(calls))
    results: list[Tuned] = []
    choices: dict[str, str] = {}
    seen: set[str] = set()
    try:
        for group, kernel, layouts in calls:
            bar.step(group.name)
            tuned = _tuned(group, kernel, layouts, measure or alternately, seen)
            if tuned is not None:
                key, result = tuned
                choices[key] = result.winner
                results.append(result)
    finally:
        bar.end()
    if choices:
        tuned_choices.keep(choices)
        executor.forget_plans()
    return TuningReport(executor.name, tuple(results))


def _calls(kernels: Sequence[FusedKernel]) -> Iterator[tuple[FusedKernel, CompiledKernel, tuple[Layout, ...]]]:
    """What ran of each kernel: the layouts of inputs."""
    for group in kernels:
        for kernel in group.kernels:
            for layouts, launch in kernel.launches:
                if launch.variant is not None:
                    yield group, kernel, layouts


def _tuned(
    group: FusedKernel, kernel: CompiledKernel, layouts: tuple[Layout, ...], measure: Measure, seen: set[str]
) -> tuple[str, Tuned] | None:
    """The key and the choice; None where nothing can be chosen, or was chosen already for calls of the pattern."""
    arrays = [_array(layout, k) for k, layout in enumerate(layouts)]
    if sum(a.nbytes for a in arrays) > MOST_BYTES:
        return None
    schedules = Schedules(kernel.kernel, kernel.spans, kernel.choices, 1)
    geometry = geometry_of(kernel.kernel, kernel.spans, arrays)
    known = candidates(schedules, geometry, classes(
        kernel.kernel, geometry.sizes, kernel.spans, geometry.loop_order, geometry.strides
    ))
    if known.key in seen or len(known.kernels) == 1:
        return None
    seen.add(known.key)
    launches = _launches(known, kernel, arrays)
    runs = {name: _Run(kernel, launch, arrays) for name, launch in launches.items()}
    expected = runs[""]()
    right = {name: run for name, run in runs.items() if not name or _agree(run(), expected)}
    winner, before, after = _confirmed(right, measure)
    sizes = ", ".join("x".join(map(str, shape)) or "number" for _, shape, _ in layouts)
    operators = ", ".join(listing.operators(group.graph))
    return known.key, Tuned(f"{group.name} ({operators})", sizes, len(right) - 1, winner, before, after)


def _launches(known: Candidates, kernel: CompiledKernel, arrays: list[Array]) -> dict[str, Launch]:
    """The launch of each candidate that there is code for."""
    launches: dict[str, Launch] = {}
    for name, scheduled in known.kernels.items():
        schedules = Schedules(kernel.kernel, kernel.spans, kernel.choices, 1, {known.pattern: scheduled})
        try:
            launches[name] = launch_by(schedules, arrays)
        except (KernelError, NativeError):
            if not name:
                raise
    return launches


class _Run:
    """A call of a kernel by one launch."""

    def __init__(self, kernel: CompiledKernel, launch: Launch, arrays: list[Array]) -> None:
        self._kernel, self._launch, self._arrays = kernel, launch, arrays

    def __call__(self) -> Any:
        return self._kernel.call(self._launch, self._arrays)


def _confirmed(runs: Mapping[str, Callable[[], object]], measure: Measure) -> tuple[str, float, float]:
    """What `chosen` says; a winner is measured once more beside the default alone, and has to win again."""
    choice = chosen(dict(zip(runs, measure([*runs.values()]), strict=True)))
    if not choice[0]:
        return choice
    both = {name: runs[name] for name in ("", choice[0])}
    return chosen(dict(zip(both, measure([*both.values()]), strict=True)))


def chosen(seconds: dict[str, list[float]]) -> tuple[str, float, float]:
    """The name of the winner, and the medians of the default and of the winner; the default's name is empty.

    >>> chosen({"": [1.0, 1.0, 1.0], "tiles 8x3": [0.5, 0.5, 0.5], "blas": [0.5, 0.5, 0.5]})
    ('blas', 1.0, 0.5)
    >>> chosen({"": [1.0, 1.4, 0.9], "lanes/2": [0.9, 0.8, 1.1]})
    ('', 1.0, 1.0)
    """
    default = statistics.median(seconds[""])
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    best = min(sorted(name for name in medians if name), key=medians.__getitem__, default="")
    spread = max(_spread(seconds[""]), _spread(seconds[best]))
    is_faster = default - medians[best] > max(LEAST_GAIN * default, SPREADS * spread)
    return (best, default, medians[best]) if best and is_faster else ("", default, default)


def _spread(times: Sequence[float]) -> float:
    """How far the rounds of one function lie apart: the median distance from their median."""
    middle = statistics.median(times)
    return statistics.median([abs(t - middle) for t in times])


def alternately(functions: Sequence[Callable[[], object]]) -> list[list[float]]:
    """Seconds of a call, of each function in each round; functions alternate, so that what slows a machine down for a
    while slows all of them.
    """
    counts = []
    for function in functions:
        start = time.perf_counter()
        function()
        counts.append(max(1, int(LONG / max(time.perf_counter() - start, 1e-9))))
    taken: list[list[float]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for index, (function, count) in enumerate(zip(functions, counts, strict=True)):
            start = time.perf_counter()
            for _ in range(count):
                function()
            taken[index].append((time.perf_counter() - start) / count)
    return taken


def _agree(result: Any, expected: Any) -> bool:
    """Whether two results are the same but for the order of sums."""
    pairs = zip(*((r if isinstance(r, tuple) else (r,)) for r in (result, expected)), strict=True)
    return all(
        np.allclose(a, b, rtol=1e-4 if a.dtype == np.float32 else 1e-9, atol=1e-5, equal_nan=True) for a, b in pairs
    )


def _array(layout: Layout, number: int) -> Array:
    """An array of sizes and strides, of numbers that are neither large nor all the same."""
    dtype, shape, strides = layout
    reach = sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) + dtype.itemsize if all(shape) else 0
    drawn = np.random.default_rng(number).random(-(-reach // dtype.itemsize) or 1)
    memory = (drawn < 0.5 if dtype == np.bool_ else drawn * 0.9 + 0.1 if dtype.kind == "f" else drawn).astype(dtype)
    start = sum((n - 1) * -s for n, s in zip(shape, strides, strict=True) if s < 0) if all(shape) else 0
    return np.ndarray(shape, dtype, memory.data, start, strides)


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} us"
