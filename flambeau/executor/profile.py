"""Time and counts for each line of a program: `fn.profile(*args)`.

What is exact and what is shared out: counts are exact. Times of fused groups, of operators that Python runs, of
allocations and of the two outermost levels of loops are measured, by the processor's cycle counter in native code. The
rest of a loop's time is shared out among the lines in it, by how often they ran and how many instructions they are. The
time of a fused group is shared out among its operators' lines by what they are known to cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.codegen.costs import NANOSECONDS
from flambeau.codegen.graph.counters import Counters, CountingFunction
from flambeau.codegen.graph.exit_points import ExitPoint
from flambeau.codegen.graph.native import NativeFunction
from flambeau.executor import listing
from flambeau.executor.compiled_graph import CompiledGraph, StandIn
from flambeau.executor.devices.profiled import profile_on_device
from flambeau.executor.executor import Executor, single
from flambeau.executor.explain import WHOLE, kernel_report
from flambeau.executor.fused import FusedKernel, kernel_of
from flambeau.executor.ledger import Ledger, Profile, RegionCost, lines_of
from flambeau.executor.limits import least_seconds
from flambeau.executor.plan import ExecutionPlan
from flambeau.executor.plan_body import FUSION
from flambeau.executor.region import Region
from flambeau.interpreter.code import Block, Code, Op, step_by_step
from flambeau.interpreter.machine import run
from flambeau.ir.graph import Graph, Node
from flambeau.util.record import replace

_PRODUCTS = ("matmul", "mm", "bmm", "mv", "linear", "addmm", "addmv", "baddbmm", "dot")
_COMPOSITE = ("softmax", "log_softmax", "layer_norm", "gelu", "silu", "var", "std", "softplus")


def profile(executor: Executor, arguments: Sequence[Any]) -> Profile:
    """Run a function once on all its arguments in schema order, as a call does, and tell what each line took.

    Raises RuntimeError for the reference backend, and what the program raises.
    """
    if executor.options.backend == "reference":
        raise RuntimeError(
            f"the reference evaluator tells no times: profile {executor.function.short_name} with backend='native' "
            "or 'interpreter'"
        )
    ledger = Ledger()
    plan = executor.plan_for(arguments)
    if plan.on_device is not None:
        results, costs = profile_on_device(plan.on_device, arguments, ledger)
        return Profile(executor.function.short_name, ledger.seconds, lines_of(ledger), costs, single(results))
    results = _Profiler(ledger).run(plan, arguments)
    regions = tuple(_region(name, *costs) for name, costs in ledger.regions.items())
    return Profile(executor.function.short_name, ledger.seconds, lines_of(ledger), regions, single(results))


def _region(name: str, calls: int, seconds: float, kernel: FusedKernel | None) -> RegionCost:
    work = kernel_report(kernel, measure=False).work if kernel is not None else None
    if kernel is None or work is None:
        return RegionCost(name, calls, seconds)
    limit = least_seconds(work.bytes_moved, work.operations, work.threads)[0] * calls
    moved, operations = work.bytes_moved * calls, work.operations * calls
    return RegionCost(name, calls, seconds, listing.operators(kernel.graph), moved, operations, limit)


class _Profiler:
    """What notes times and operators during one profiled call."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._counting: dict[int, tuple[str, CountingFunction]] = {}
        """By the identity of the native function, which the counting one keeps alive."""
        self._excess: dict[Node, float] = {}
        """Seconds of native functions' nodes that went into compiling kernels."""

    def run(self, plan: ExecutionPlan, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results of a plan."""
        results = None
        if plan.compiled is not None:
            results = plan.compiled(arguments, (), self._stand_in(WHOLE))
            plan.cut()
        if results is None:
            start = time.perf_counter()
            results = self._interpret(plan, arguments)
            self.ledger.seconds = time.perf_counter() - start - self.ledger.excess
        for name, counting in self._counting.values():
            excess = sum(self._excess.get(n, 0.0) for n in counting.counters.weights)
            if name == WHOLE:
                self.ledger.seconds = counting.seconds - excess
            self.ledger.region(name, counting.calls, counting.seconds - excess)
            self._charge(counting, excess)
        return results

    # -- native code --------------------------------------------------------------------------------------------------

    def _stand_in(self, name: str) -> StandIn:
        def counting(compiled: CompiledGraph, native: NativeFunction) -> NativeFunction:
            known = self._counting.get(id(native))
            if known is None:
                start = time.perf_counter()
                counting_function = CountingFunction(native, self._run_exit_point(native))
                for exit_point in counting_function.emitted.exit_points:
                    if exit_point.is_called:
                        compiled.code_of(exit_point)
                self.ledger.excess += time.perf_counter() - start
                known = self._counting[id(native)] = (name, counting_function)
            return known[1]

        return counting

    def _run_exit_point(self, native: NativeFunction) -> Callable[[ExitPoint, Sequence[Any]], Sequence[Any]]:
        def run_exit_point(exit_point: ExitPoint, values: Sequence[Any]) -> Sequence[Any]:
            if not exit_point.cell:
                return native.run_exit_point(exit_point, values)
            kernel = kernel_of(exit_point.nodes[0])
            start, before = time.perf_counter(), _compiled(kernel)
            results = native.run_exit_point(exit_point, values)
            if _compiled(kernel) != before:
                node, spent = exit_point.nodes[0], time.perf_counter() - start
                self._excess[node] = self._excess.get(node, 0.0) + spent
                self.ledger.excess += spent
                results = native.run_exit_point(exit_point, values)
            return results

        return run_exit_point

    def _charge(self, counting: CountingFunction, excess: float) -> None:
        """Enter what a native function counted; some of its time went into compiling."""
        counters = counting.counters
        total = counters.count(counters.total)
        own = _own_cycles(counters)
        rate = counting.seconds / total if total else 0.0
        shares: dict[Node | None, list[tuple[Node, float]]] = {}
        for node, weight in counters.weights.items():
            hits = _hits(counters, node)
            self.ledger.hit(node.range, hits)
            if node in counters.cycles and node.op != "prim::Loop":
                seconds = max(counters.count(counters.cycles[node]) * rate - self._excess.get(node, 0.0), 0.0)
                self._spread(node, seconds, hits)
                continue
            around = node if node in counters.cycles else counters.around.get(node)
            shares.setdefault(around, []).append((node, weight * max(hits, 1)))
        for around, nodes in shares.items():
            whole = sum(w for _, w in nodes) or 1.0
            seconds = own.get(around, 0.0) * rate if total else (counting.seconds - excess if around is None else 0.0)
            for node, w in nodes:
                self._spread(node, seconds * w / whole, 0)

    def _spread(self, node: Node, seconds: float, calls: int) -> None:
        """Enter the time of a node: of a group, at the lines of its operators."""
        if node.op != FUSION:
            self.ledger.spend(node.range, seconds)
            return
        graph: Graph = node.attribute("Subgraph")
        self._spread_group(graph, seconds)
        for inner in graph.nodes():
            if inner.op != "prim::Constant":
                self.ledger.hit(inner.range, calls)
        if calls:
            self.ledger.region(kernel_of(node).name, calls, seconds, kernel_of(node))

    def _spread_group(self, graph: Graph, seconds: float) -> None:
        costs = [(n.range, _cost(n.op)) for n in graph.nodes() if n.op != "prim::Constant"]
        whole = sum(cost for _, cost in costs) or 1.0
        for source_range, cost in costs:
            self.ledger.spend(source_range, seconds * cost / whole)

    # -- bytecode -----------------------------------------------------------------------------------------------------

    def _interpret(self, plan: ExecutionPlan, arguments: Sequence[Any]) -> tuple[Any, ...]:
        names = {id(region): f"region_{number}" for number, region in enumerate(plan.regions or ())}
        blocks = tuple(self._watched(plan.code, block, names) for block in plan.code.blocks)
        code = replace(plan.code, blocks=blocks, observed=None)
        try:
            return run(code, arguments)
        finally:
            self.ledger.stop()

    def _watched(self, code: Code, block: Block, names: dict[int, str]) -> Block:
        """A block with a mark wherever another line begins."""
        straight: list[Any] = []
        line: Any = None
        for instruction in (*block[0], block[1]):
            op, d, f, a, b, at = instruction
            source_range = code.sites[at].range
            here = source_range.file_line_col()[:2] if source_range is not None else None
            if here is not None and here != line:
                straight.append((Op.DO, 0, self.ledger.mark(source_range), (), 0, at))
                line = here
            straight.append((op, d, self._watched_call(f, names), a, b, at))
        return tuple(straight[:-1]), step_by_step(straight[-1])

    def _watched_call(self, f: Any, names: dict[int, str]) -> Any:
        target = getattr(f, "__wrapped__", f)
        if isinstance(target, Region):
            return self._watched_region(target, names.get(id(target), target.name))
        return self._watched_group(f, target) if isinstance(target, FusedKernel) else f

    def _watched_region(self, region: Region, name: str) -> Callable[..., Any]:
        def call(*inputs: Any) -> Any:
            with self.ledger.elsewhere():
                before = _variants(region)
                result = region.run(inputs, self._stand_in(name))
                self.ledger.excess += sum(v.milliseconds for v in _variants(region) if v not in before) * 1e-3
                return result

        return call

    def _watched_group(self, entry: Callable[..., Any], kernel: FusedKernel) -> Callable[..., Any]:
        def call(*inputs: Any) -> Any:
            with self.ledger.elsewhere():
                before, start = _compiled(kernel), time.perf_counter()
                result = entry(*inputs)
                spent = time.perf_counter() - start
                if _compiled(kernel) != before:
                    self.ledger.excess += spent
                    start = time.perf_counter()
                    result = entry(*inputs)
                    spent = time.perf_counter() - start
                self._spread_group(kernel.graph, spent)
                self.ledger.region(kernel.name, 1, spent, kernel)
            return result

        return call


def _compiled(kernel: FusedKernel) -> int:
    return sum(len(k.launches) + 1 for k in kernel.kernels)


def _variants(region: Region) -> list[NativeFunction]:
    return [native for compiled in region.natives for native in compiled.variants]


def _own_cycles(counters: Counters) -> dict[Node | None, float]:
    """Cycles of the function, and of each timed node, less what timed nodes inside took."""
    own: dict[Node | None, float] = {None: float(counters.count(counters.total))}
    for node, counter in counters.cycles.items():
        own[node] = own.get(node, 0.0) + counters.count(counter)
        around = counters.around.get(node)
        own[around] = own.get(around, 0.0) - counters.count(counter)
    return {node: max(cycles, 0.0) for node, cycles in own.items()}


def _hits(counters: Counters, node: Node) -> int:
    """How often a node ran; of a loop, its iterations."""
    blocks = [node.owner_block] + (list(node.nested_blocks) if node.op == "prim::Loop" else [])
    return max(counters.count(counters.entries[b]) if b in counters.entries else 0 for b in blocks)


def _cost(kind: str) -> float:
    """What an operator of a group is taken to cost, in terms of an addition."""
    name = kind.partition("::")[2].rstrip("_")
    if name in _PRODUCTS:
        return 1000.0
    return 30.0 if name in _COMPOSITE else max(NANOSECONDS.get(name, 0.012) / 0.012, 1.0)


