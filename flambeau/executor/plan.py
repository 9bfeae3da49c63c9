"""From a function and what is known of its arguments to something that runs: specialise, optimise, fuse, compile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flambeau.codegen import available
from flambeau.codegen.callable_type import missed
from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.graph.module import Prepare
from flambeau.executor import number_calls, rehearsal
from flambeau.executor.attribute_reads import read_once
from flambeau.executor.compiled_graph import CompiledGraph
from flambeau.executor.devices.calls import HOST_PASSES, DeviceCalls, is_for_device
from flambeau.executor.forks import attach_tasks
from flambeau.executor.fused import FusedKernel, kernel_of
from flambeau.executor.joined_tasks import JoinedTasks
from flambeau.executor.kept_kernels import KeptKernels
from flambeau.executor.kept_natives import NativesWriter, writer_for
from flambeau.executor.lowered_groups import LoweredGroups
from flambeau.executor.object_trial import ObjectTrial, takes_objects
from flambeau.executor.options import CUDA_GRAPHS, FUSING, Options
from flambeau.executor.plan_body import FUSION, Body, attach_kernels, new_kernels
from flambeau.executor.plan_graph import Clock, new_graph, prepare_callees
from flambeau.executor.read_plan import ReadPlan
from flambeau.executor.region import Region, with_regions
from flambeau.executor.split_groups import split_by_types
from flambeau.executor.stored import CacheEntry, plan_entry
from flambeau.executor.strict_fusion import check_strict_fusion
from flambeau.executor.trial import Trial
from flambeau.executor.watch import Watch
from flambeau.interpreter import hot_functions
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node
from flambeau.passes.pipeline import PassRecord
from flambeau.program.function import Function
from flambeau.schema.types import TupleType
from flambeau.specialise import spec as specs
from flambeau.util import blas, log
from flambeau.util.depth import TOO_DEEP, deep_recursion
from flambeau.util.errors import CompileError
from flambeau.util.inversions import PLAN_KEPT
from flambeau.util.locks import Lock
from flambeau.util.no_collection import no_collection
from flambeau.util.progress import progress
from flambeau.util.record import dataclass, field, replace

CALLS_BEFORE_NATIVE = 2
"""Calls for which the machine serves a graph without loops: so little is not worth the time of compiling it."""


@dataclass(slots=True)
class ExecutionPlan:
    """A function made ready for arguments of one spec."""

    spec: specs.Spec
    body: Body
    """The graph, kernels and bytecode."""
    cause: str
    milliseconds: float
    stages: tuple[tuple[str, float], ...]
    fast_path: Callable[..., Any] | None = None
    """For a plan that is one fused group and nothing else: takes the arguments as users give them and gives the result,
    or `MISSED` where they are not exactly what was seen before."""
    compiled: CompiledGraph | None = None
    """The graph as one native function; None where that is not wanted."""
    regions: list[Region] | None = None
    """The parts of the graph that are native functions, where the whole cannot be one; None before that is known."""
    choices: Choices = USUAL
    """What the function asks of native code."""
    prepare: Prepare | None = None
    """Makes functions that the graph calls ready for native code."""
    runs: int = 0
    """Calls that did not take the short way."""
    rehearsals: int = 0
    """Runs that nobody asked for."""

    is_hot: bool = False
    """Whether native code serves from the next call on, however few there were."""
    on_device: DeviceCalls | None = None
    """What runs it for tensors of CUDA devices; None for those of the host."""
    kept: KeptKernels | None = None
    """The kernels of its groups on disk; None where there are no groups."""
    natives: NativesWriter | None = None
    """Keeps native functions on disk; None where they are not, or come from there."""
    watch: Watch | None = None
    """Counts what is interpreted although native code was wanted."""
    joined: JoinedTasks | None = None
    """What answers calls while its tasks are short; None where it forks none."""
    on_numbers: Callable[..., Any] | None = None
    """Takes texts and numbers as users give them, where these are all that there is and the program is interpreted."""
    trial: Trial | None = None
    """What finds out whether native code gains that asks Python; None where it does not ask, or has not run yet."""
    objects: ObjectTrial | None = None
    """What finds out whether native code gains on objects among the arguments; None where there are none."""
    is_settled: bool = False
    """Whether groups will stay as they are, but for what the first call of native code shows."""
    is_settled_again: bool = False
    """Whether that has been looked at."""
    lock: Lock = field(default_factory=Lock)

    @property
    def graph(self) -> Graph:
        """Optimised for the spec."""
        return self.body.graph()

    @property
    def code(self) -> Code:
        """What the machine runs where there is no native code."""
        return self.body().code

    @property
    def kernels(self) -> list[FusedKernel]:
        """Of its groups."""
        return self.body().kernels

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results for arguments of the spec: from native code, or from the machine where there is none."""
        if self.choices.num_threads is not None:
            with blas.at_most(self.choices.num_threads):
                return self._run(arguments)
        return self._run(arguments)

    def compile(self, arguments: Sequence[Any]) -> None:
        """Make the native code that calls with arguments like these run."""
        self.is_hot = True
        if self.compiled is not None:
            if not self.is_settled:
                self._settle()
            self.compiled.variant_for(arguments)
            self.cut()

    def rehearse(self, arguments: Sequence[Any]) -> None:
        """Run it once for its kernels alone, which are compiled for sizes; not where somebody could notice that."""
        if self.on_device is not None or not rehearsal.is_unseen(self.graph, arguments):
            return
        self.rehearsals += 1
        try:
            self.run(rehearsal.copies(arguments))
        except Exception:  # the call that it is made for says what is wrong with its arguments
            self.rehearsals -= 1

    def _run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        if self.on_device is not None:
            return self.on_device(arguments)
        is_judged = self._machine_is_judged
        if self.compiled is not None and self._is_native and not is_judged:
            results = self._natively(self.compiled, arguments)
            if results is not None:
                return results
            self.cut()
        if is_judged:
            hot_functions.translate(self.code)
        start = time.thread_time() if is_judged else 0.0
        results = run(self.code, arguments) if self.joined is None else self.joined.run(self.code, arguments)
        if is_judged:
            self._judge(time.thread_time() - start)
        if self.kept is not None:
            self.kept.write()
        if self.watch is not None:
            self.watch.tell()
        return results

    def _natively(self, compiled: CompiledGraph, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results by native code; None where it does not serve."""
        if not self.is_settled:
            self._settle()
        is_timed = self.trial is None or self.trial.is_on
        asked, start = (compiled.asked_seconds, time.thread_time()) if is_timed else (0.0, 0.0)
        results = compiled.by_entry(arguments) if is_timed and self.trial is not None else None
        if results is not None:
            self.runs -= 1  # the entry counts it
        else:
            results = compiled(arguments)
            if self.objects is not None and results is not None:
                self.objects.native_took(*compiled.object_seconds)
        if results is None:
            return None
        if self.trial is None and compiled.asks:
            self.trial = Trial()
        if is_timed and self.trial is not None:
            self.trial.native_took(compiled.asked_seconds - asked, time.thread_time() - start)
            compiled.is_timed = self.trial.is_on
        self._settle_again()
        self._keep(arguments)
        return results

    def _judge(self, seconds: float) -> None:
        """Note how long the machine took; interpret from now on, where it has turned out to be quicker than native code
        that asks Python.
        """
        if self.objects is not None and not self.objects.is_native:
            self.objects.machine_took(seconds)
        if self.trial is None or not self.trial.tries_machine:
            return
        self.trial.machine_took(seconds)
        if self.compiled is not None:
            self.compiled.is_timed = self.trial.is_on
        if self.trial.is_lost and self.compiled is not None:
            self.compiled.lose()
            self.cut()

    @property
    def _machine_is_judged(self) -> bool:
        """Whether the machine serves the next call although there is native code, and is timed."""
        is_tried = self.trial is not None and self.trial.tries_machine
        return is_tried or (self.objects is not None and not self.objects.is_native)

    @property
    def _is_native(self) -> bool:
        """Whether native code for the whole serves now, if there is any."""
        compiled = self.compiled
        assert compiled is not None
        return self.is_hot or compiled.has_loop or compiled.is_read or self.runs > CALLS_BEFORE_NATIVE

    def _keep(self, arguments: Sequence[Any]) -> None:
        """Keep on disk what is new after a call of native code."""
        if self.kept is not None:
            self.kept.write()
        natives, compiled = self.natives, self.compiled
        if natives is not None and compiled is not None and natives.write(compiled, self.kernels):
            PLAN_KEPT.implementation(natives.entry, arguments, compiled.looks.written)

    def _settle(self) -> None:
        """Cut the groups that turned out to be no one kernel, before there is native code for the whole graph."""
        with self.lock:
            if not self.is_settled:
                self._cut_refused(self.graph)
                self.is_settled = True

    def _settle_again(self) -> None:
        """The same where the first call of native code has shown it. The graph becomes another: calls that are under
        way go on in the code of the one before."""
        known = self.body.known
        if self.is_settled_again or known is None or all(k.refused_types is None for k in known.kernels):
            return
        with self.lock:
            before = self.compiled
            if before is not None and not self.is_settled_again and self._cut_refused(clone_graph(known.graph)):
                self.runs += before.calls
                self.compiled = before.anew(self.graph)
            self.is_settled_again = True

    def _cut_refused(self, graph: Graph) -> bool:
        """Cut groups of a graph, the plan's or a copy, that have met types for which they have no kernel, and have the
        plan run that graph; False where there are none."""
        body = self.body()
        kernels = [kernel_of(n) for n in body.graph.find_all(FUSION)]
        pairs = list(zip(graph.find_all(FUSION), kernels, strict=True))
        if not split_by_types({n: k.refused_types for n, k in pairs if k.refused_types is not None}):
            return False
        new = [n for n in graph.find_all(FUSION) if "kernel" not in n.attributes]
        kept = [k for k in kernels if k.refused_types is None]
        replacements = new_kernels(new, self.choices, {}, None, len(body.kernels))
        self.body = Body.of(graph, compile_graph(graph, body.code.name), kept + replacements)
        if self.natives is not None:
            self.natives.cut()
        return True

    def cut(self) -> None:
        """Make regions where it has turned out that the whole graph has no native form."""
        if self.compiled is not None and self.compiled.reason and not self.compiled.is_refused and self.regions is None:
            if self.watch is not None:
                self.watch.whole = self.compiled.reason, self.compiled.blamed
                self.watch.calls(self.graph, self.compiled.reason, self.compiled.blamed)
            read_once(self.graph)
            self.regions, code = with_regions(self.graph, self.code.name, self.choices, self.prepare, self.watch)
            self.body().code = code or self.code
            if self.joined is None and self.choices.num_threads is None:
                self.on_numbers = number_calls.short_way(self.graph, self._interpret)

    def _interpret(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results of a call that came the short way."""
        self.runs += 1
        results = run(self.code, arguments)
        if self.watch is not None:
            self.watch.tell()
        return results

    @property
    def calls(self) -> int:
        """How often it ran."""
        if self.on_device is not None:
            return self.runs + self.on_device.replays.quick_calls
        if self.fast_path is not None:
            return max(0, self.kernels[0].calls - self.rehearsals)
        return self.runs + (self.compiled.calls if self.compiled is not None else 0)

    @property
    def short_way(self) -> Callable[..., Any] | None:
        """`fast_path`, or the entry of native code for the whole graph; on devices, what replays the last call."""
        if self.on_device is not None:
            return self.on_device.replays.quick if self.on_device.replays.is_quick else None
        if self.joined is not None:
            return self.joined.short_way
        if self.trial is not None and self.trial.is_on:
            return None
        native = self.compiled.fast_path if self.fast_path is None and self.compiled is not None else self.fast_path
        return native or self.on_numbers


@no_collection()
def make_plan(
    function: Function,
    arguments: Sequence[Any],
    options: Options,
    cause: str,
    record: Callable[[PassRecord], None] | None = None,
    prepared: Graph | None = None,
    spec: specs.Spec | None = None,
) -> ExecutionPlan:
    """A plan for arguments like these, whose spec may be known; `record` is told of every pass. `prepared`, if there is
    one, becomes the graph of the plan: it has the first passes behind it. Raises CompileError for too deep a program.
    """
    try:
        with deep_recursion():
            spec = specs.spec_of(arguments) if spec is None else spec
            request = _Request(function, arguments, spec, options, cause, record, prepared)
            return _device_plan(request) if is_for_device(function, spec) else _host_plan(request)
    except RecursionError:
        raise CompileError(TOO_DEEP, _deepest(function.graph).range) from None


def _deepest(graph: Graph) -> Node:
    """A node in the block that most blocks are around."""
    depths = {graph.body: 0}
    deepest = graph.body
    for node in graph.listed_nodes():
        for block in node.nested_blocks:
            depths[block] = depths[node.owner_block] + 1
            deepest = max(deepest, block, key=depths.__getitem__)
    return deepest.first or deepest.owner_node or deepest.return_node


class _Request(NamedTuple):
    """What a plan is asked for, as `make_plan` has it, and its spec."""

    function: Function
    arguments: Sequence[Any]
    spec: specs.Spec
    options: Options
    cause: str
    record: Callable[[PassRecord], None] | None
    prepared: Graph | None


def _host_plan(request: _Request) -> ExecutionPlan:
    """A plan for tensors of the host: as an earlier process left it, or made now."""
    function, arguments, spec, options, cause, record, prepared = request
    clock = Clock()
    entry = plan_entry(function, spec, options) if record is None else None
    plan = _read_plan(function, spec, entry, options, cause)
    if plan is not None:
        return plan
    with progress(f"compiling {function.short_name}") as tell:
        graph = None if entry is None else entry.read()
        lowered: LoweredGroups = {}
        if graph is None:
            graph = new_graph(function, arguments, options, record, prepared, lowered, clock, tell)
            _keep(graph, entry)
        else:
            clock.lap("read from the cache")
        check_strict_fusion(graph, is_fused=not options.passes_left_out & FUSING)
        kept = KeptKernels(entry)
        kernels = attach_kernels(graph, options.choices, lowered, kept)
        sites = attach_tasks(graph, options)
        clock.lap("groups")
        tell("bytecode")
        code = compile_graph(graph, function.name)
        clock.lap("bytecode")
    fast_path = kernels[0].entry(missed) if _is_one_group(graph) else None
    plan = ExecutionPlan(
        spec, Body.of(graph, code, kernels), cause, clock.total(), clock.laps(), fast_path,
        choices=options.choices, kept=kept if kernels else None,
    )  # fmt: skip
    if _may_be_native(options) and fast_path is None and is_worthwhile(graph):
        _let_be_native(plan, function, options)
        plan.natives = None if sites else writer_for(entry, options.num_threads)
    if sites and options.backend == "native":
        plan.joined = JoinedTasks(function, options, sites)
    if log.level("executor"):
        log.write("executor", _log_line(function, plan))
    return plan


def _keep(graph: Graph, entry: CacheEntry | None) -> None:
    if entry is not None:
        entry.keep(graph)


def _may_be_native(options: Options) -> bool:
    return options.backend == "native" and available()


def _let_be_native(plan: ExecutionPlan, function: Function, options: Options) -> None:
    """Have native code for the whole of a plan, to be made when it is called."""
    plan.prepare, plan.watch = prepare_callees(options), Watch(function)
    plan.objects = ObjectTrial() if takes_objects(plan.body.graph()) else None
    plan.compiled = CompiledGraph(
        function.name, plan.body.graph, options.choices, prepare=plan.prepare, asked=plan.watch.operator
    )


def _read_plan(
    function: Function, spec: specs.Spec, entry: CacheEntry | None, options: Options, cause: str
) -> ExecutionPlan | None:
    """The plan whose native function an earlier process left; None where there is none. Its graph is read later, if
    something asks for it."""
    read = None if entry is None or not _may_be_native(options) else ReadPlan.of(entry, options, function.name)
    if entry is None or read is None:
        return None
    plan = plan_of_read(read, function, entry, spec, cause)
    if log.level("executor"):
        log.write("executor", _log_line(function, plan))
    return plan


def plan_of_read(read: ReadPlan, function: Function, entry: CacheEntry, spec: specs.Spec, cause: str) -> ExecutionPlan:
    """The plan of a function whose native function was read."""
    body, kept, watch = read.becomes(function, entry)
    return ExecutionPlan(
        spec, body, cause, read.clock.total(), read.clock.laps(), compiled=read.compiled, choices=read.options.choices,
        prepare=read.prepare, kept=kept, watch=watch, is_settled=True,
    )  # fmt: skip


def _device_plan(request: _Request) -> ExecutionPlan:
    """A plan for tensors of CUDA devices."""
    function, arguments, spec, options, cause, record, prepared = request
    clock = Clock()
    options = replace(options, without=options.without | HOST_PASSES)
    with progress(f"compiling {function.short_name}") as tell:
        graph = new_graph(function, arguments, options, record, prepared, {}, clock, tell, is_on_device=True)
        check_strict_fusion(graph, is_fused=not options.passes_left_out & FUSING)
        attach_tasks(graph, options)
        clock.lap("groups")
        with_graphs = CUDA_GRAPHS not in options.without and options.backend == "native"
        calls = DeviceCalls(graph, function.name, with_graphs=with_graphs)
        clock.lap("bytecode")
    body = Body.of(graph, calls.code, [])
    plan = ExecutionPlan(
        spec, body, cause, clock.total(), clock.laps(), choices=options.choices, on_device=calls
    )
    if log.level("executor"):
        log.write("executor", _log_line(function, plan))
    return plan


def _log_line(function: Function, plan: ExecutionPlan) -> str:
    known = specs.describe(plan.spec)
    groups = "as kept" if plan.body.known is None else f"{len(plan.kernels)} groups"
    text = f"compiled {function.short_name} for ({known}) in {plan.milliseconds:.1f} ms, {groups}: {plan.cause}"
    if log.level("executor") > 1:
        text += "".join(f"\n  {stage} {milliseconds:.2f} ms" for stage, milliseconds in plan.stages)
    return text


_TRIVIAL = frozenset({"prim::Constant", "prim::TupleConstruct", "prim::ListConstruct"})


def is_worthwhile(graph: Graph) -> bool:
    """Whether native code for the whole graph is faster than the machine."""
    return any(n.op not in _TRIVIAL for n in graph.body)


def _is_one_group(graph: Graph) -> bool:
    """Whether it is one fused group of all inputs in order, whose results are its own or a tuple of them."""
    nodes = [n for n in graph.body if n.op != "prim::Constant"]
    if not nodes or nodes[0].op != FUSION or list(nodes[0].operands) != list(graph.parameters):
        return False
    results, group = list(graph.returns), list(nodes[0].results)
    if len(nodes) == 2 and nodes[1].op == "prim::TupleConstruct" and results == list(nodes[1].results):
        plain = isinstance(results[0].static_type, TupleType) and results[0].static_type.name is None
        return plain and len(group) > 1 and list(nodes[1].operands) == group
    return len(nodes) == 1 and len(group) == 1 and results == group
