"""The graph of a plan: a copy of the function's, specialised, optimised and cut into groups that each have a kernel."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.codegen.graph.module import Prepare
from flambeau.executor.inlined_graph import cast_graph
from flambeau.executor.lowered_groups import LoweredGroups
from flambeau.executor.options import Options
from flambeau.executor.plan_body import attach_kernels
from flambeau.executor.prepared_graph import is_prepared_apart
from flambeau.executor.split_groups import split_groups
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph
from flambeau.passes import order, pipeline
from flambeau.passes.device_steps import for_devices
from flambeau.passes.pipeline import PassRecord
from flambeau.passes.steps import Step
from flambeau.program.function import Function
from flambeau.schema.types import Type
from flambeau.specialise.parameters import specialise
from flambeau.util import log
from flambeau.util.errors import InternalError
from flambeau.util.user_code import warn_user


def new_graph(
    function: Function,
    arguments: Sequence[Any],
    options: Options,
    record: Callable[[PassRecord], None] | None,
    prepared: Graph | None,
    lowered: LoweredGroups,
    clock: Clock,
    tell: Callable[[str], None],
    *,
    is_on_device: bool = False,
) -> Graph:
    """The graph for arguments like these after the passes, in groups of which each has a kernel; those go into
    `lowered`."""

    def specialised() -> Graph:
        return specialise(_start(function, options, record), arguments)

    graph = specialised() if prepared is None else prepared
    clock.lap("specialise")
    tell("passes")
    steps = order.STEPS if prepared is None else order.STEPS_ON_PREPARED
    steps = for_devices(steps) if is_on_device else steps
    graph = _optimised(graph, specialised, options, _watching(function, record), steps)
    clock.lap("passes")
    if options.backend == "native":
        split_groups(graph, lowered)
    return graph


def _start(function: Function, options: Options, record: Callable[[PassRecord], None] | None) -> Graph:
    """What a plan is a copy of: the graph with its calls inlined, unless somebody wants to see that, or not to have it.
    """
    inlined = cast_graph(function)
    return inlined if record is None and is_prepared_apart(options) else function.graph


def _watching(function: Function, record: Callable[[PassRecord], None] | None) -> Callable[[PassRecord], None] | None:
    """`record`, which also logs what each pass did if that is wanted."""
    wanted = log.level("passes")
    if not wanted:
        return record

    def log_and_record(done: PassRecord) -> None:
        if done.changed or wanted > 2:
            text = f"{function.short_name}: {done.name} {'changed' if done.changed else 'left'} the graph"
            text += f" in {done.seconds * 1e3:.2f} ms"
            log.write("passes", f"{text}\n{done.diff}" if done.changed and wanted > 1 else text)
        if record is not None:
            record(done)

    return log_and_record


def prepare_callees(options: Options) -> Prepare:
    """What makes the graphs of functions that call themselves ready to be called from native code."""

    def prepare(function: Function, types: Sequence[Type]) -> Graph:
        def typed() -> Graph:
            graph = clone_graph(function.graph)
            for value, type_ in zip(graph.parameters, types, strict=True):
                value.set_type(type_)
            return graph

        graph = _optimised(typed(), typed, options)
        lowered: LoweredGroups = {}
        split_groups(graph, lowered)
        attach_kernels(graph, options.choices, lowered)
        return graph

    return prepare


def _optimised(
    graph: Graph,
    unchanged: Callable[[], Graph],
    options: Options,
    record: Callable[[PassRecord], None] | None = None,
    steps: Sequence[Step] = order.STEPS,
) -> Graph:
    """The graph after the passes; if one of them fails, which is warned of, what `unchanged` gives."""
    try:
        pipeline.optimise(
            graph,
            without=options.passes_left_out,
            check=options.verify,
            record=record,
            steps=steps,
        )
    except InternalError as error:
        if options.verify:
            raise
        warn_user(f"{error}. The function runs unoptimised; please report this", RuntimeWarning)
        return unchanged()
    return graph


class Clock:
    """Measures the stages of a plan."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._laps: list[tuple[str, float]] = []

    def lap(self, stage: str) -> None:
        """A stage ends."""
        now = time.perf_counter()
        self._laps.append((stage, (now - self._last) * 1e3))
        self._last = now

    def laps(self) -> tuple[tuple[str, float], ...]:
        """The stages so far, with their milliseconds."""
        return tuple(self._laps)

    def total(self) -> float:
        """Milliseconds of all stages."""
        return (self._last - self._start) * 1e3
