"""The native function of a plan as an earlier process left it: it is called before there is anything else of the plan.

The graph and its kernels are read when something asks for them: an error, a group that meets other sizes, `explain()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.codegen.graph.module import Prepare
from flambeau.executor.compiled_graph import CompiledGraph, density_of
from flambeau.executor.kept_kernels import KeptKernels
from flambeau.executor.kept_natives import ReadNatives, read_natives
from flambeau.executor.options import FUSING, Options
from flambeau.executor.plan_body import Body, PlanBody, attach_kernels
from flambeau.executor.plan_graph import Clock, prepare_callees
from flambeau.executor.stored import CacheEntry
from flambeau.executor.strict_fusion import check_strict_fusion
from flambeau.executor.watch import Watch
from flambeau.interpreter.compile import compile_graph
from flambeau.ir.graph import Graph
from flambeau.program.function import Function
from flambeau.util.errors import InternalError
from flambeau.util.record import replace


class LateBody:
    """The graph and the kernels of a plan whose native code may be called before there is a function that it is of."""

    def __init__(self) -> None:
        self.body: Body | None = None
        """None while it is of no function."""
        self.find_function: Callable[[], None] | None = None
        """Has `ReadPlan.becomes` called, where native code needs the graph before."""

    def graph(self) -> Graph:
        """The graph."""
        if self.body is None and self.find_function is not None:
            self.find_function()
        assert self.body is not None
        return self.body.graph()


class ReadPlan:
    """What lies on disk of one plan. It is of no function yet: `becomes` says of which it is."""

    def __init__(
        self, entry: CacheEntry, content: bytes, read: ReadNatives, options: Options, name: str, clock: Clock
    ) -> None:
        """`entry` and `content` are of the plan's graph; messages call the function `name`."""
        self.entry = entry
        self.options = options
        self._content, self._read = content, read
        self.prepare: Prepare = prepare_callees(options)
        self.late = LateBody()
        self.compiled = CompiledGraph(name, self.late.graph, options.choices, prepare=self.prepare, read=read)
        """The native code."""
        self.clock = clock

    @classmethod
    def of(cls, entry: CacheEntry, options: Options, name: str) -> ReadPlan | None:
        """What lies under the entry of a plan; None where nothing does, or nothing that this process can take up."""
        clock = Clock()
        natives = read_natives(entry, options.num_threads)
        content = None if natives is None else natives[0].content()
        if natives is None or content is None:
            return None
        clock.lap("read from the cache")
        return cls(natives[0], content, natives[1], options, name, clock)

    def serves(self, arguments: Sequence[Any]) -> bool:
        """Whether there is code for tensors that lie in memory like these."""
        density = density_of(self._read.looks.types, arguments)
        return density is not None and self._read.native(density) is not None

    def becomes(self, function: Function, entry: CacheEntry) -> tuple[Body, KeptKernels, Watch]:
        """Say of which function it is, and where in the cache that has its plan: its body, the kernels on disk, and
        what counts for it."""
        entry = replace(self.entry, origin=entry.origin, function=entry.function)
        kept = KeptKernels(entry)

        def make_body() -> PlanBody:
            graph = entry.value_of(self._content)
            if not isinstance(graph, Graph):
                raise InternalError("the cache on disk", f"the graph of {function.short_name} cannot be read")
            check_strict_fusion(graph, is_fused=not self.options.passes_left_out & FUSING)
            kernels = attach_kernels(graph, self.options.choices, {}, kept, self._read.launches)
            return PlanBody(graph, compile_graph(graph, function.name), kernels)

        watch, body = Watch(function), Body(make_body)
        self.late.body, self.late.find_function = body, None
        self.compiled.asked = watch.operator
        return body, kept, watch
