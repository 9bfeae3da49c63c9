"""A function that is run a few times to see what comes by, then specialised on that, behind guards.

>>> import flambeau
>>> from flambeau.executor.executor import executor_of
>>> unit = flambeau.CompilationUnit("def f(x: Tensor, y: Tensor): return flambeau.tanh(x * y) + 1")
>>> function = unit.f.script_function
>>> profiled = ProfiledFunction(function, executor_of(function).options, Settings(is_on=True))
>>> x = flambeau.ones(3)
>>> _ = profiled(x, x)
>>> profiled.latest_graph.find("prim::profile").attribute("profiled_type").sizes
(3,)
>>> _ = profiled(x, x)
>>> [node.op for node in profiled.graph.nodes()]
['prim::TypeCheck', 'prim::If']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from flambeau.executor import gradients, latest
from flambeau.executor.differentiable_regions import RegionCall
from flambeau.executor.executor import Executor, single
from flambeau.executor.inlined_graph import cast_graph
from flambeau.executor.options import FOR_NATIVE_CODE, Options
from flambeau.executor.profiling.groups import (
    Guarded,
    as_guarded,
    fallback_of,
    forget_types,
    function_of,
    guard,
    make_groups,
    settle_types,
    values_of,
)
from flambeau.executor.profiling.records import ProfiledRun, profiled_run
from flambeau.executor.profiling.settings import Settings
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.guards import TypeCheck
from flambeau.interpreter.liveness import KERNEL
from flambeau.interpreter.machine import run
from flambeau.interpreter.select import FUNCTION
from flambeau.ir.clone import Copies, clone_graph
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph
from flambeau.ir.printer import SUBGRAPH
from flambeau.ir.verify import verify
from flambeau.passes import create_autodiff_subgraphs, pipeline
from flambeau.program.function import Function
from flambeau.schema.types import TensorType, without_refinement
from flambeau.tensor.dispatch import intercepting, uninterrupted
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.util.locks import Lock
from flambeau.util.no_collection import no_collection
from flambeau.util.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Specialised:
    """A graph whose groups are guarded by what was recorded, and what runs it."""

    graph: Graph
    code: Code
    guards: tuple[TypeCheck, ...]
    groups: tuple[Executor, ...]
    """What runs the groups, with plans and kernels of their own."""
    fallbacks: tuple[ProfiledFunction, ...]
    """What runs where a guard fails, each specialised in its turn; none behind the last level."""


class ProfiledFunction:
    """One function, planned by what comes by. Calls from several threads are independent."""

    def __init__(self, function: Function, options: Options, settings: Settings, level: int = 0) -> None:
        """`level` is how many guards it is behind."""
        self.function = function
        self.source = function.frozen_graph
        """The graph that it relies on."""
        self.options = replace(options, tiered=False)
        self.settings = settings
        self.level = level
        self.calls = 0
        self._left = settings.runs
        self._lock = Lock()
        self._base: Graph | None = None
        self._profiled: ProfiledRun | None = None
        self.specialised: Specialised | None = None
        """None while runs are counted."""

    def __call__(self, *arguments: Any) -> Any:
        """Run it on all arguments in schema order."""
        if self.level == 0:
            latest.note(self)
        way = self._way()
        self.calls += 1
        asks = is_grad_enabled() and any(one is not False for one in gradients.asking(arguments))
        recording: AbstractContextManager[None] = intercepting(gradients.one_by_one) if asks else uninterrupted()
        with recording:
            results = run(way.code, arguments)
        if isinstance(way, ProfiledRun):
            with self._lock:
                self._left -= 1
        return single(results)

    def _way(self) -> ProfiledRun | Specialised:
        """What the next call runs: the graph that records, or from the counted runs on the one with guards."""
        if self.specialised is not None:
            return self.specialised
        with self._lock:
            if self._base is None:
                self._base = _base_graph(self.function, self.options)
            if self._left > 0:
                if self._profiled is None:
                    self._profiled = profiled_run(self._base, self.function.name)
                return self._profiled
            if self.specialised is None:
                self.specialised = self._specialise(self._base)
            return self.specialised

    @no_collection()
    def _specialise(self, base: Graph) -> Specialised:
        copies: Copies = {}
        graph = clone_graph(base, copies)
        guarded: list[Guarded] = []
        if self._profiled is not None:
            originals = {new: old for old, new in copies.items()}
            for value in values_of(graph):
                seen = self._profiled.seen(originals[value]) if value in originals else None
                if isinstance(value.static_type, TensorType):
                    value.set_type(seen or without_refinement(value.static_type))
            guarded = self._differentiable(graph) + self._groups(graph)
        fallbacks, groups = [], []
        for number, one in enumerate(guarded):
            otherwise = fallback_of(one.node, f"{self.function.name}_fallback_{number}")
            fallback = self._fallback(otherwise)
            one.callee.attributes[FUNCTION] = otherwise
            one.fallback.attributes[KERNEL] = _Fallback(fallback)
            if isinstance(fallback, ProfiledFunction):
                fallbacks.append(fallback)
            inner = function_of(one.node.attribute(SUBGRAPH), f"{self.function.name}_group_{number}")
            groups.append(Executor(inner, self.options, is_noted=False))
            one.node.attributes[KERNEL] = RegionCall(groups[-1])
        for node in [n for n in graph.listed_nodes() if n.op == CONSTANT and not n.result().is_used]:
            node.erase()
        if self.options.verify:
            verify(graph, stage="specialisation on what was recorded")
        code = compile_graph(graph, self.function.name)
        return Specialised(graph, code, tuple(one.guard for one in guarded), tuple(groups), tuple(fallbacks))

    def _differentiable(self, graph: Graph) -> list[Guarded]:
        """Put what gradients went through into graphs of their own, each behind a guard on who asks for them."""
        tensors = [v.static_type for v in values_of(graph) if isinstance(v.static_type, TensorType)]
        if not any(type_.requires_grad for type_ in tensors):
            return []
        create_autodiff_subgraphs.do(graph)
        guards = []
        for node in graph.find_all(create_autodiff_subgraphs.GROUP):
            types = [TensorType(requires_grad=v.static_type.requires_grad) for v in _tensors(node.operands)]
            inner = node.attribute(SUBGRAPH)
            forget_types(inner)
            guards.append(guard(node, types))
        return guards

    def _groups(self, graph: Graph) -> list[Guarded]:
        """Put operators on tensors of known types into groups, each behind a guard on these types."""
        kind = self.settings.guard_at(self.level)
        for value in values_of(graph):
            if isinstance(value.static_type, TensorType) and not _is_checked(value):
                value.set_type(as_guarded(value.static_type, kind) or without_refinement(value.static_type))
        nodes = make_groups(graph, self.settings) if kind and self.settings.fuses else []
        types = [[v.static_type for v in _tensors(node.operands)] for node in nodes]
        results = []
        for node in nodes:
            settle_types(node)
            results.append([v.static_type for v in node.results])
        for value in values_of(graph):
            if not _is_checked(value):
                value.set_type(without_refinement(value.static_type))
        guards = []
        for node, asked, result_types in zip(nodes, types, results, strict=True):
            guards.append(guard(node, asked))
            for value, type_ in zip(node.results, result_types, strict=True):
                value.set_type(type_)
        return guards

    def _fallback(self, function: Function) -> Callable[..., Any]:
        """What runs where a guard fails: profiled in its turn while there are levels, planned by arguments behind."""
        if self.settings.guard_at(self.level + 1):
            return ProfiledFunction(function, self.options, self.settings, self.level + 1)
        return Executor(function, self.options, is_noted=False)

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The function's."""
        return self.function.short_name

    @property
    def graph(self) -> Graph:
        """The graph that the next call runs."""
        return self._way().graph

    @property
    def latest_graph(self) -> Graph:
        """The graph that the last call ran."""
        way = self.specialised or self._profiled
        return self.source if way is None else way.graph

    def drop_fast_paths(self) -> None:
        """Nothing: calls come through Python."""

    @property
    def guards(self) -> tuple[TypeCheck, ...]:
        """The guards of the graph, in program order; none while runs are counted."""
        return () if self.specialised is None else self.specialised.guards


class _Fallback:
    """The call of a fallback: the first operand is its constant."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, _constant: Any, *arguments: Any) -> Any:
        with uninterrupted():
            return self.function(*arguments)


def _base_graph(function: Function, options: Options) -> Graph:
    """The function's graph after the passes that need no facts of arguments."""
    graph = clone_graph(cast_graph(function))
    pipeline.optimise(graph, without=options.passes_left_out | FOR_NATIVE_CODE, check=options.verify)
    return graph


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [v for v in values if isinstance(v.static_type, TensorType)]


def _is_checked(value: Any) -> bool:
    """Whether a guard gives a value."""
    return value.defining_node is not None and value.defining_node.op == "prim::RequiresGradCheck"
