"""What became of a plan on devices, for `explain()`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from flambeau.executor.devices.calls import ON_DEVICE, DeviceCalls
from flambeau.executor.devices.groups import DeviceGroup
from flambeau.executor.devices.replays import CALLS_BEFORE, Replays
from flambeau.executor.listing import first_range
from flambeau.executor.report import Compilation, Interpreted, KernelReport
from flambeau.ir.graph import Block, Graph
from flambeau.passes.fuse import GROUP
from flambeau.specialise import spec as specs
from flambeau.specialise.cache import CacheStatistics

_CONSTANTS: Final = ("prim::Constant", "prim::Uninitialized")
KERNEL: Final = "kernels of the device"


def device_compilation(
    spec: specs.Spec,
    cause: str,
    milliseconds: float,
    stages: tuple[tuple[str, float], ...],
    graph: Graph,
    runs: int,
    calls: DeviceCalls,
) -> Compilation:
    """What is reported of a plan that runs on devices."""
    return Compilation(
        spec=specs.describe(spec),
        cause=cause,
        milliseconds=milliseconds,
        stages=stages,
        calls=runs,
        kernels=tuple(map(_report, calls.groups)),
        state=f"on a device: {sum(g.state == 'native' for g in calls.groups)} group(s) as {KERNEL}",
        interpreted=tuple(_between(graph.body, calls)),
        graphs=tuple(_graphs(calls.replays)),
    )


def _graphs(replays: Replays) -> Iterator[str]:
    """What became of calls as CUDA graphs."""
    if replays.captured:
        yield f"CUDA graphs: {replays.captured} captured, {replays.replays} replays"
    elif not replays.reasons:
        yield f"CUDA graphs: a call is captured after {CALLS_BEFORE} like it"
    for reason in replays.reasons:
        yield f"not captured: {reason}"


def device_caches(calls: DeviceCalls) -> Iterator[CacheStatistics]:
    """What the caches of a plan on devices hold."""
    yield calls.replays.kinds_cache.statistics()
    for group in calls.groups:
        yield group.kernels_cache.statistics()
        yield group.launches_cache.statistics()


def _report(group: DeviceGroup) -> KernelReport:
    inner: Graph = group.graph
    return KernelReport(
        name=group.name,
        operators=tuple(n.op for n in inner.nodes() if n.op not in _CONSTANTS),
        state=group.state,
        milliseconds=group.milliseconds,
        calls=group.calls,
        variants=len(group.launches_cache),
        range=first_range(inner),
    )


def _between(block: Block, calls: DeviceCalls) -> Sequence[Interpreted]:
    """What is no kernel of a group: operators that run one by one, and groups that no kernel computes."""
    interpreted: list[Interpreted] = []
    by_node = {id(group.graph): group for group in calls.groups}
    for node in block:
        if node.op in _CONSTANTS:
            continue
        if node.op != GROUP:
            interpreted.append(Interpreted(node.op, ON_DEVICE, node.range))
            for inner in node.nested_blocks:
                interpreted.extend(_between(inner, calls))
            continue
        group = by_node[id(node.attribute("Subgraph"))]
        if group.refusal:
            interpreted += [
                Interpreted(n.op, group.refusal, n.range) for n in group.graph.nodes() if n.op not in _CONSTANTS
            ]
    return interpreted
