"""What became of a plan: its native code, what Python runs and why, and what each kernel's work costs."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence

from flambeau.codegen import available
from flambeau.codegen.launches import Launch
from flambeau.codegen.runtime import CompiledKernel
from flambeau.codegen.threads import shared_by
from flambeau.codegen.variants import Variant
from flambeau.executor import limits
from flambeau.executor.advice import SlowPart, Whole, calls_itself, loop_part, recursion_part
from flambeau.executor.compiled_graph import CompiledGraph
from flambeau.executor.devices.explained import device_caches, device_compilation
from flambeau.executor.fused import FusedKernel, kernel_of
from flambeau.executor.listing import first_range, functions, kernel_launches, operators, shown_shapes
from flambeau.executor.native_parts import parts_of
from flambeau.executor.plan import ExecutionPlan, is_worthwhile
from flambeau.executor.plan_body import FUSION
from flambeau.executor.region import Region
from flambeau.executor.report import Compilation, Interpreted, KernelReport, NativeReport, Work
from flambeau.executor.timing import best_seconds
from flambeau.ir.graph import Block, Graph, Node
from flambeau.program.shared import SHARED
from flambeau.specialise import spec as specs
from flambeau.specialise.cache import CacheStatistics
from flambeau.util.record import replace

MEASURED_UP_TO = 1 << 26
"""Bytes that a kernel may move to be measured without being asked for."""
WHOLE = "whole graph"
COPIED = (
    "the machine serves calls like the last ones: to copy what the objects among the arguments refer to takes native "
    "code longer. Instead, loop over such calls in a function of the program: it copies them once"
)
NO_FORM, RUN = "it has no native form", "native code has Python run it"
INSIDE, CALLED = "native inside the function around it", "native, called by the function around it"
SHARED_LIST = "it works on a list or dict shared with Python, of which native code would have a copy"
_CONSTANTS = ("prim::Constant", "prim::Uninitialized")


def compilations_of(plan: ExecutionPlan, measure: bool | None) -> Sequence[Compilation]:
    """What there is to say of a plan, or of what answers in its place while its tasks are short."""
    joined = None if plan.joined is None else plan.joined.executor
    if joined is None:
        return (compilation_of(plan, measure),)
    compilations: Sequence[Compilation] = joined.explain(measure).compilations
    return compilations


def compilation_of(plan: ExecutionPlan, measure: bool | None) -> Compilation:
    """What is reported of a plan. `measure`: whether kernels are timed; None for those that do not move much memory."""
    if plan.on_device is not None:
        return device_compilation(
            plan.spec, plan.cause, plan.milliseconds, plan.stages, plan.graph, plan.calls, plan.on_device
        )
    natives = tuple(_natives(plan))
    interpreted, unusual = tuple(_interpreted(plan)), tuple(_unusual(plan))
    return Compilation(
        spec=specs.describe(plan.spec),
        cause=plan.cause,
        milliseconds=plan.milliseconds,
        stages=plan.stages,
        calls=plan.calls,
        kernels=tuple(_kernels(plan, measure)),
        natives=natives,
        state=_state(plan, natives, interpreted, unusual),
        advice=(*(f"slow: {part} ({part.blamed})" for part in _slow_parts(plan)), *_copied_objects(plan)),
        interpreted=interpreted,
        unusual=unusual,
    )


def caches_of(plan: ExecutionPlan) -> Iterator[CacheStatistics]:
    """What the caches of a plan hold: of its regions, its fused groups, and native code for layouts in memory."""
    if plan.on_device is not None:
        yield from device_caches(plan.on_device)
    graphs = [plan.compiled] if plan.compiled is not None else []
    for region in plan.regions or ():
        yield region.natives_cache.statistics()
        graphs += region.natives
    for kernel in plan.kernels:
        yield kernel.natives_cache.statistics()
    for graph in graphs:
        yield graph.variants_cache.statistics()


def _state(
    plan: ExecutionPlan, natives: tuple[NativeReport, ...], interpreted: tuple[Interpreted, ...],
    unusual: tuple[Interpreted, ...],
) -> str:  # fmt: skip
    if unusual and not interpreted:
        return "native but for sizes, layouts or values that only Python takes"
    if not interpreted:
        return "native from end to end" if is_worthwhile(plan.graph) else "native: nothing to compute"
    if _waits(plan):
        return "not native yet: call it again"
    if any(n.variants for n in natives) or any(k.kernels for k in plan.kernels):
        return "native in parts, interpreted between them"
    return "interpreted"


def _slow_parts(plan: ExecutionPlan) -> Iterator[SlowPart]:
    """What is interpreted although it may take long: loops, and functions that call themselves."""
    compiled = plan.compiled
    if compiled is None or not compiled.reason or plan.regions is None:
        return
    yield from _slow_loops(plan.graph.body, iter(plan.regions), (compiled.reason, compiled.blamed))
    call = calls_itself(plan.graph)
    if call is not None:
        yield recursion_part(call, compiled.reason, compiled.blamed)


def _copied_objects(plan: ExecutionPlan) -> Iterator[str]:
    """What is to be known of calls that do little with many objects."""
    if plan.objects is not None and not plan.objects.is_native:
        yield COPIED


def _slow_loops(
    block: Block, regions: Iterator[Region], whole: Whole, *, is_inside: bool = False
) -> Iterator[SlowPart]:
    """Loops that are interpreted, those in others left aside. Regions stand in the order of their parts."""
    for (node, *_), is_native in parts_of(block):
        if is_native:
            region = next(regions)
            if region.reason and not is_inside and node.op == "prim::Loop":
                yield loop_part(node, region.reason, region.blamed, whole)
            continue
        is_loop = node.op == "prim::Loop"
        if is_loop and not is_inside:
            yield loop_part(node, "", None, whole)
        for inner in node.nested_blocks:
            yield from _slow_loops(inner, regions, whole, is_inside=is_inside or is_loop)


def _waits(plan: ExecutionPlan) -> bool:
    """Whether native code would be made at a later call."""
    if plan.fast_path is not None:
        return not plan.kernels[0].calls
    return plan.compiled is not None and not plan.compiled.reason and not plan.compiled.variants


# -- what is native ---------------------------------------------------------------------------------------------------


def _natives(plan: ExecutionPlan) -> Iterator[NativeReport]:
    if (compiled := plan.compiled) is not None:
        yield _report_of_graph(WHOLE, plan.graph, [compiled], compiled.calls or plan.runs, compiled.reason)
    for number, region in enumerate(plan.regions or ()):
        yield _report_of_graph(f"region_{number}", region.graph, region.natives, region.calls, region.reason)


def _report_of_graph(
    name: str, graph: Graph, all_compiled: list[CompiledGraph], calls: int, reason: str
) -> NativeReport:
    natives = [native for compiled in all_compiled for native in compiled.variants]
    return NativeReport(
        name=name,
        reason=reason,
        milliseconds=sum(n.milliseconds for n in natives),
        calls=calls,
        variants=len(natives),
        from_cache=sum(n.code.is_from_cache for n in natives),
        object_bytes=sum(n.code.object_bytes for n in natives),
        groups=max((len(n.emitted.groups) for n in natives), default=0),
        tight_loops=max((n.emitted.tight_loops for n in natives), default=0),
        parallel=max((n.emitted.parallel for n in natives), default=0),
        lanes=max((len(n.emitted.lanes) for n in natives), default=0),
        range=first_range(graph) if name != WHOLE else None,
    )


# -- what is not ------------------------------------------------------------------------------------------------------


def _interpreted(plan: ExecutionPlan) -> Iterator[Interpreted]:
    """What Python runs in a call; what has a reason of its own first."""
    nodes = list(_without_kernel(plan))
    if plan.fast_path is None and is_worthwhile(plan.graph):
        nodes += _python_of(plan.compiled) if plan.compiled is not None and plan.compiled.variants else _between(plan)
    explained = {(n.kind, n.range) for n in nodes if n.reason}
    with_reasons = [n for n in nodes if n.reason]
    yield from with_reasons
    yield from (
        Interpreted(n.kind, _why(plan), n.range) for n in nodes if not n.reason and (n.kind, n.range) not in explained
    )


def _why(plan: ExecutionPlan) -> str:
    """Why a node is interpreted that may have a native form itself."""
    if not available():
        return "llvmlite is not installed"
    if plan.compiled is None:
        return SHARED_LIST if any(part in SHARED for part in plan.spec) else "the backend is the interpreter"
    if _waits(plan):
        has_loop = plan.compiled.has_loop
        return "not called yet" if has_loop else "a graph without loops becomes native at its third call"
    return "it stands between native parts"


def _without_kernel(plan: ExecutionPlan) -> Iterator[Interpreted]:
    """Fused groups that have no native code, as their operators."""
    for node in plan.graph.find_all(FUSION):
        kernel = kernel_of(node)
        if kernel.state != "native" and (kernel.calls or plan.fast_path is not None):
            reason = kernel.state.removeprefix("interpreted: ")
            for inner in node.attribute("Subgraph").nodes():
                if inner.op not in _CONSTANTS:
                    yield Interpreted(inner.op, reason, inner.range)


def _python_of(compiled: CompiledGraph) -> list[Interpreted]:
    """Nodes that native code has Python run."""
    exit_points = [s for native in compiled.variants for s in native.emitted.exit_points]
    called = {n: s.reason for s in exit_points if s.is_called for n in s.nodes}
    return [
        Interpreted(n.op, f"{NO_FORM} here ({why}): {RUN}" if why else f"{NO_FORM}: {RUN}", n.range)
        for n, why in called.items()
    ]


def _unusual(plan: ExecutionPlan) -> Iterator[Interpreted]:
    """Nodes with a native form that Python nevertheless ran in at least half of the calls, for what it was given."""
    compiled = plan.compiled
    if compiled is None:
        return
    for native in compiled.variants:
        for point in native.emitted.exit_points:
            asked = native.asked[point.number]
            if asked and not point.is_called and 2 * asked >= compiled.calls + native.calls:
                reason = f"{NO_FORM} for sizes, layouts or values such as these: {RUN}, {asked} times so far"
                yield from (Interpreted(node.op, reason, node.range) for node in point.nodes)


def _between(plan: ExecutionPlan) -> list[Interpreted]:
    """Nodes of a graph that is no native function, but for groups with kernels and native regions."""
    interpreted: list[Interpreted] = []
    reason = plan.compiled.reason if plan.compiled is not None else ""
    regions = iter(plan.regions or ())

    def visit(block: Block) -> None:
        for (node, *_), is_native in parts_of(block):
            if plan.regions is not None and is_native:
                region = next(regions)
                if region.reason:
                    interpreted.extend(_all_of(region.graph, region.reason))
                for compiled in region.natives:
                    interpreted.extend(_python_of(compiled))
            elif node.op not in _CONSTANTS:
                if node.op != FUSION:
                    interpreted.append(_named(node, reason))
                for inner in node.nested_blocks:
                    visit(inner)

    visit(plan.graph.body)
    return interpreted


def _all_of(graph: Graph, reason: str) -> list[Interpreted]:
    return [_named(n, reason) for n in graph.listed_nodes() if n.op not in _CONSTANTS]


def _named(node: Node, reason: str) -> Interpreted:
    """A node with the reason that names it and its place; with none where the reason is about another."""
    place_ = f" ({node.range})"
    is_meant = node.op in reason and (place_ in reason or "(" not in reason)
    short_reason = reason.removesuffix(place_).removeprefix(f"{node.op}: ").removeprefix(f"{node.op} has")
    if len(short_reason) < len(reason.removesuffix(place_)) and not short_reason.startswith("it "):
        short_reason = f"it has {short_reason.lstrip()}"
    return Interpreted(node.op, short_reason if is_meant else "", node.range)


# -- kernels ----------------------------------------------------------------------------------------------------------


def _kernels(plan: ExecutionPlan, measure: bool | None) -> Iterator[KernelReport]:
    """What is reported of the groups of a plan, those that are part of a native function named as such."""
    natives = [native for _, native in functions(plan)]
    by_launches = {kernel_of(s.nodes[0]) for native in natives for s in native.emitted.groups if not s.is_embedded}
    compiled = {kernel_of(n) for native in natives for n in native.graph.find_all(FUSION)}
    for kernel in plan.kernels:
        known = kernel_report(kernel, measure)
        if not kernel.kernels and kernel in compiled - by_launches:
            known = replace(known, state=INSIDE)
        elif (known.variants or kernel.routine or kernel.is_read) and known.state == "native" and kernel in by_launches:
            known = replace(known, state=CALLED)
        yield known


def kernel_report(kernel: FusedKernel, measure: bool | None) -> KernelReport:
    """What is reported of a fused group."""
    variants = list(dict.fromkeys(v for k in kernel.kernels for v in k.variants))
    return KernelReport(
        name=kernel.name,
        operators=operators(kernel.graph),
        state=kernel.state,
        milliseconds=kernel.milliseconds + sum(v.milliseconds for v in variants),
        calls=kernel.calls,
        variants=len(variants),
        from_cache=sum(v.code.is_from_cache for v in variants),
        range=first_range(kernel.graph),
        work=_work(kernel.kernels[-1], measure) if kernel.kernels else None,
    )


_measured: weakref.WeakKeyDictionary[Variant, dict[str, float]] = weakref.WeakKeyDictionary()
"""Seconds by shapes, so that looking again costs nothing."""


def _work(kernel: CompiledKernel, measure: bool | None) -> Work | None:
    launches = [(shapes, launch) for shapes, launch in kernel_launches(kernel) if launch.variant is not None]
    if not launches:
        return None
    shapes, launch = launches[-1]
    threads = min(launch.pieces, shared_by(launch.threads)) if launch.step else 1
    if measure is None:
        measure = launch.bytes_moved <= MEASURED_UP_TO
    seconds = _seconds(kernel, launch, shown_shapes(shapes)) if measure else None
    limit, bound = None, ""
    if seconds is not None:
        limit, bound = limits.least_seconds(launch.bytes_moved, launch.operations, threads)
    return Work(
        shapes=shown_shapes(shapes), bytes_moved=launch.bytes_moved, operations=launch.operations,
        estimated_seconds=launch.nanoseconds * 1e-9, threads=threads, seconds=seconds, limit_seconds=limit, bound=bound,
    )  # fmt: skip


def _seconds(kernel: CompiledKernel, launch: Launch, shapes: str) -> float | None:
    assert launch.variant is not None
    by_shapes = _measured.setdefault(launch.variant, {})
    if shapes not in by_shapes:
        seconds = best_seconds(kernel, launch)
        if seconds is None:
            return None
        by_shapes[shapes] = seconds
    return by_shapes[shapes]
