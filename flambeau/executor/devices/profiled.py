"""`fn.profile(*args)` on devices: the time of each kernel and operator, by events before and behind it.

Between two events of a stream that has nothing else to do lies what the device did for one instruction, and where that
was less than the host took to give it, the host's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from flambeau.cuda import library
from flambeau.cuda.devices import synchronize
from flambeau.executor.devices.calls import DeviceCalls
from flambeau.executor.devices.groups import DeviceGroup
from flambeau.executor.ledger import Ledger, RegionCost
from flambeau.interpreter.code import Block, Code, step_by_step
from flambeau.interpreter.machine import run
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

COPIED = 1 << 28
"""Bytes that are copied to find out how fast a device copies."""


@dataclass(slots=True)
class _Span:
    """What one instruction gave the device."""

    source_range: SourceRange | None
    name: str
    group: DeviceGroup | None
    first: Any
    last: Any


def profile_on_device(
    calls: DeviceCalls, arguments: Sequence[Any], ledger: Ledger
) -> tuple[tuple[Any, ...], tuple[RegionCost, ...]]:
    """The results of a call, and the costs of its groups and operators; lines go into the ledger."""
    calls.run(arguments)  # kernels are made
    synchronize()
    spans: list[_Span] = []
    blocks = tuple(_watched(calls.code, block, spans) for block in calls.code.blocks)
    start = time.perf_counter()
    results = run(replace(calls.code, blocks=blocks, observed=None), arguments)
    synchronize()
    ledger.seconds = time.perf_counter() - start
    costs: dict[str, list[float]] = {}
    groups: dict[str, DeviceGroup | None] = {}
    for span in spans:
        seconds = library.cupy().cuda.get_elapsed_time(span.first, span.last) * 1e-3
        ledger.hit(span.source_range, 1)
        ledger.spend(span.source_range, seconds)
        costs.setdefault(span.name, []).append(seconds)
        groups[span.name] = span.group
    return results, tuple(_cost(name, times, groups[name]) for name, times in costs.items())


def _watched(code: Code, block: Block, spans: list[_Span]) -> Block:
    straight: list[Any] = []
    for op, d, f, a, b, at in block[0]:
        site = code.sites[at]
        is_work = isinstance(f, DeviceGroup) or (site.definition is not None and callable(f))
        name = f.name if isinstance(f, DeviceGroup) else site.kind
        straight.append((op, d, _timed(f, name, site.range, spans) if is_work else f, a, b, at))
    return tuple(straight), step_by_step(block[1])


def _timed(
    f: Callable[..., Any], name: str, source_range: SourceRange | None, spans: list[_Span]
) -> Callable[..., Any]:
    event = library.cupy().cuda.Event

    def call(*inputs: Any) -> Any:
        first, last = event(), event()
        first.record()
        result = f(*inputs)
        last.record()
        spans.append(_Span(source_range, name, f if isinstance(f, DeviceGroup) else None, first, last))
        return result

    return call


def _cost(name: str, seconds: list[float], group: DeviceGroup | None) -> RegionCost:
    launch = None if group is None else group.newest_launch
    if group is None or launch is None:
        return RegionCost(name, len(seconds), sum(seconds))
    moved = launch.bytes_moved * len(seconds)
    operators = tuple(n.op for n in group.graph.nodes() if n.op != "prim::Constant")
    return RegionCost(name, len(seconds), sum(seconds), operators, moved, 0, moved / copied_per_second())


@cache
def copied_per_second() -> float:
    """Bytes that the device in use reads and writes in a second when it copies."""
    cupy = library.cupy()
    source, target = cupy.cuda.alloc(COPIED), cupy.cuda.alloc(COPIED)
    best = float("inf")
    for _ in range(5):
        first, last = cupy.cuda.Event(), cupy.cuda.Event()
        first.record()
        target.copy_from_device_async(source, COPIED)
        last.record()
        last.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(first, last) * 1e-3)
    return 2 * COPIED / max(best, 1e-9)
