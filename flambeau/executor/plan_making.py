"""From a function and what is known of its arguments to a plan: specialise, optimise, fuse, compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flambeau.codegen import available
from flambeau.codegen.callable_type import missed
from flambeau.executor.compiled_graph import CompiledGraph, Read
from flambeau.executor.devices.calls import HOST_PASSES, DeviceCalls, is_for_device
from flambeau.executor.forks import attach_tasks
from flambeau.executor.joined_tasks import JoinedTasks
from flambeau.executor.kept_kernels import KeptKernels
from flambeau.executor.kept_natives import read_natives, writer_for
from flambeau.executor.lowered_groups import LoweredGroups
from flambeau.executor.options import CUDA_GRAPHS, FUSING, Options
from flambeau.executor.plan import ExecutionPlan
from flambeau.executor.plan_body import FUSION, Body, PlanBody, attach_kernels
from flambeau.executor.plan_graph import Clock, new_graph, prepare_callees
from flambeau.executor.stored import Place, plan_place
from flambeau.executor.strict_fusion import check_strict_fusion
from flambeau.executor.watch import Watch
from flambeau.interpreter.compile import compile_graph
from flambeau.ir.graph import Graph, Node
from flambeau.passes.pipeline import PassRecord
from flambeau.program.function import Function
from flambeau.schema.types import TupleType
from flambeau.specialise import spec as specs
from flambeau.util import log
from flambeau.util.depth import TOO_DEEP, deep_recursion
from flambeau.util.errors import CompileError, InternalError
from flambeau.util.no_collection import no_collection
from flambeau.util.progress import progress
from flambeau.util.record import replace


@no_collection()
def make_plan(
    function: Function,
    arguments: Sequence[Any],
    options: Options,
    cause: str,
    record: Callable[[PassRecord], None] | None = None,
    prepared: Graph | None = None,
) -> ExecutionPlan:
    """A plan for arguments like these; `record` is told of every pass. `prepared`, if there is one, becomes the graph
    of the plan: it has the first passes behind it. Raises CompileError for too deep a program.
    """
    try:
        with deep_recursion():
            spec = specs.spec_of(arguments)
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
    place = plan_place(function, arguments, options) if record is None else None
    plan = _read_plan(function, spec, place, options, cause, clock)
    if plan is not None:
        return plan
    with progress(f"compiling {function.short_name}") as tell:
        graph = None if place is None else place.read()
        lowered: LoweredGroups = {}
        if graph is None:
            graph = new_graph(function, arguments, options, record, prepared, lowered, clock, tell)
            _keep(graph, place)
        else:
            clock.lap("read from the cache")
        check_strict_fusion(graph, is_fused=not options.passes_left_out & FUSING)
        kept = KeptKernels(place)
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
        plan.natives = None if sites else writer_for(place, options.num_threads)
    if sites and options.backend == "native":
        plan.joined = JoinedTasks(function, options, sites)
    if log.level("executor"):
        log.write("executor", _log_line(function, plan))
    return plan


def _keep(graph: Graph, place: Place | None) -> None:
    if place is not None:
        place.keep(graph)


def _may_be_native(options: Options) -> bool:
    return options.backend == "native" and available()


def _let_be_native(plan: ExecutionPlan, function: Function, options: Options, read: Read | None = None) -> None:
    """Have native code for the whole of a plan, to be made or, where there is some, to be `read`."""
    plan.prepare, plan.watch = prepare_callees(options), Watch(function)
    plan.compiled = CompiledGraph(
        function.name, plan.body.graph, options.choices, prepare=plan.prepare, asked=plan.watch.operator, read=read
    )


def _read_plan(
    function: Function, spec: specs.Spec, place: Place | None, options: Options, cause: str, clock: Clock
) -> ExecutionPlan | None:
    """The plan whose native function an earlier process left; None where there is none. Its graph is read later, if
    something asks for it."""
    if place is None or not _may_be_native(options):
        return None
    found = read_natives(place, options.num_threads)
    content = None if found is None else found[0].content()
    if found is None or content is None:
        return None
    place, read = found
    kept = KeptKernels(place)

    def make_body() -> PlanBody:
        graph = place.value_of(content)
        if not isinstance(graph, Graph):
            raise InternalError("the cache on disk", f"the graph of {function.short_name} cannot be read")
        check_strict_fusion(graph, is_fused=not options.passes_left_out & FUSING)
        kernels = attach_kernels(graph, options.choices, {}, kept, read.inline_caches)
        return PlanBody(graph, compile_graph(graph, function.name), kernels)

    clock.lap("read from the cache")
    plan = ExecutionPlan(
        spec, Body(make_body), cause, clock.total(), clock.laps(), choices=options.choices, kept=kept, is_settled=True
    )
    _let_be_native(plan, function, options, read)
    if log.level("executor"):
        log.write("executor", _log_line(function, plan))
    return plan


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
