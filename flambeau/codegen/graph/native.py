"""A whole graph as native code that can be called: linked, with the callbacks it needs, and errors made Python's."""

from __future__ import annotations

import ctypes
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.codegen import threads
from flambeau.codegen.choices import FASTMATH, USUAL, Choices
from flambeau.codegen.graph.call_stack import KEPT
from flambeau.codegen.graph.compile import compile_function
from flambeau.codegen.graph.entry import marshalling
from flambeau.codegen.graph.entry.abi import NO_MEMORY_AT, NO_STACK
from flambeau.codegen.graph.entry.python_blocks import free_ring, word
from flambeau.codegen.graph.entry.shown_tensors import shown
from flambeau.codegen.graph.entry.taken_results import take
from flambeau.codegen.graph.exit_points import Call, ExitPoint
from flambeau.codegen.graph.function import SYMBOL, FunctionText
from flambeau.codegen.graph.groups.group_runner import RUN_GROUP, group_runner_address, python_imports
from flambeau.codegen.graph.loops.teams import RUN_ALONE, RUN_PIECES
from flambeau.codegen.graph.module import Prepare
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import Representation, holds_objects
from flambeau.codegen.graph.results import with_names
from flambeau.codegen.graph.routines.library import addresses_of
from flambeau.codegen.graph.runtime import SERVE
from flambeau.codegen.graph.shared_runtime import shared_addresses, sharing
from flambeau.codegen.graph.tensors.tensor_constants import TensorBlocks, TensorConstant
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.layouts import CONTEXT
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.engine import NativeCode, c_imports, engine
from flambeau.ir.graph import Graph, Node
from flambeau.passes.inline import callee_of
from flambeau.util import thread_count
from flambeau.util.cached import cached_property
from flambeau.util.errors import CALLS_TOO_DEEP, InternalError
from flambeau.util.record import dataclass, replace

OUT_OF_MEMORY = "a tensor or a list of the program did not fit into memory"
ExitHandler = Callable[[ExitPoint, Sequence[Any]], Sequence[Any]]
"""Runs the nodes of an exit point in Python on the values of its inputs; gives the values of its outputs."""
_FUNCTION = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class Linkage:
    """What the code of a function is linked with, and how it is called: all that who finds the code needs."""

    cells: tuple[str, ...]
    """The symbols of the chains of launches of fused groups."""
    routines: tuple[str, ...]
    libm: tuple[str, ...]
    tensors: tuple[TensorConstant, ...]
    is_parallel: bool
    results: tuple[Representation, ...]
    record_words: int
    asks: bool = False
    """Whether Python runs nodes for it whenever they are reached."""


class NativeFunction:
    """Native code of a graph whose inputs look like ``parameters``.

    Raises `CannotCompileError` where there is none.
    """

    def __init__(
        self, graph: Graph, parameters: Sequence[Representation], run_exit_point: ExitHandler,
        inline_cache_of: Callable[[ExitPoint], InlineCache],
        *, choices: Choices = USUAL, prepare: Prepare | None = None,
    ) -> None:  # fmt: skip
        start = time.perf_counter()
        self.graph = graph
        self.prepare = prepare
        self.choices = choices
        self.parameters = tuple(parameters)
        if self.emitted.cost:
            refused = CannotCompileError(self.emitted.cost)
            refused.node = self.emitted.costly
            raise refused
        self._caches = [inline_cache_of(exit_point) for exit_point in self.emitted.groups]
        self._begin(_linkage_of(graph, self.emitted), run_exit_point, start)

    def _begin(self, linkage: Linkage, run_exit_point: ExitHandler, start: float) -> None:
        self.linkage = linkage
        self.run_exit_point = run_exit_point
        self._serve = _server(weakref.ref(self))
        self.tensors = TensorBlocks(linkage.tensors)
        self.code: NativeCode = self._link(self._imports())
        self.function = _FUNCTION(self.code.addresses[SYMBOL])
        self.milliseconds = (time.perf_counter() - start) * 1e3
        self.calls = 0
        self.asked: Counter[int] = Counter()
        """How often Python ran each exit point, by its number."""
        self.asked_seconds = 0.0
        """What Python was asked took so long, while that was timed."""
        self.is_timed = True
        self.takes_objects = any(map(holds_objects, self.parameters))
        self.object_seconds = 0.0, 0.0
        """How long the last call with objects was at copying them, and how long its code ran."""

    @cached_property
    def emitted(self) -> FunctionText:
        """The text, and what was learned while it was written."""
        return self._compiled()

    def _compiled(self) -> FunctionText:
        return compile_function(self.graph, self.parameters, self._target(), prepare=self.prepare)

    def _imports(self) -> dict[str, int]:
        """The addresses of what the code refers to elsewhere, but for functions of other compilers."""
        imports, linkage = python_imports(), self.linkage
        if linkage.cells:
            imports[RUN_GROUP] = group_runner_address()
        imports.update(shared_addresses())
        imports.update(addresses_of(linkage.routines))
        imports[SERVE] = id(self._serve)
        if linkage.is_parallel:
            imports[RUN_PIECES] = threads.run_address(self.choices.num_threads or thread_count.ANY)
            imports[RUN_ALONE] = threads.run_address(1)
        imports.update(c_imports(linkage.libm))
        imports.update(self.tensors.addresses)
        imports.update(zip(linkage.cells, self._cell_addresses(), strict=True))
        return imports

    @property
    def inline_caches(self) -> Sequence[InlineCache]:
        """The launches of the groups that it runs, in the order of the linkage."""
        return self._caches

    def _cell_addresses(self) -> list[int]:
        return [ctypes.addressof(cache.cell) for cache in self._caches]

    def _link(self, imports: dict[str, int]) -> NativeCode:
        imports.update({code.symbol: code.address for code in self.emitted.foreign})
        return engine().link(
            sharing(self.emitted.text), (SYMBOL,), imports, optimise=self.is_optimised, tidies=self.is_tidied,
            is_glue=self.is_glue,
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The LLVM IR that the code was made of; written once more where an earlier process made the code."""
        return self.code.text or sharing(self.emitted.text)

    @property
    def is_optimised(self) -> bool:
        """Whether LLVM's passes run, which is worth their time for loops that compute with numbers and elements."""
        text = self.emitted
        has_loops = self.graph.find("prim::Loop") is not None or text.element_loops > 0
        return self.choices.optimise and (has_loops or bool(text.callees)) and not text.mostly_launches

    @property
    def is_tidied(self) -> bool:
        """Whether a few passes run: in loops that mostly call kernels, or are those of an operator between kernels, all
        of them take longer than they ever save."""
        has_loops = self.graph.find("prim::Loop") is not None or self.emitted.has_short_walks
        return self.choices.optimise and not self.is_optimised and has_loops

    @property
    def is_glue(self) -> bool:
        """Whether instructions are chosen one by one, in a fifth of the time: without loops, what mostly calls kernels
        takes as long either way."""
        return not self.choices.optimise or (self.emitted.mostly_launches and not self.is_tidied)

    def _target(self) -> Target:
        target = engine().target
        return replace(target, user_flags=FASTMATH) if self.choices.fastmath else target

    @property
    def address(self) -> int:
        """Where the function is."""
        return self.code.addresses[SYMBOL]

    def __call__(self, arguments: Sequence[Any], changed: Sequence[int] = ()) -> tuple[Any, ...]:
        """Call it on values that look like the parameters; the results as a tuple.

        What the function does to the lists in the arguments number ``changed`` is done to them; others are copied.
        """
        self.calls += 1
        start = time.thread_time() if self.takes_objects else 0.0
        results = (ctypes.c_int64 * max(1, marshalling.count(self.linkage.results)))()
        record = (ctypes.c_int64 * self.linkage.record_words)()
        context = CONTEXT.pack(record=ctypes.addressof(record))
        address = ctypes.addressof(context)
        CONTEXT.write(address, "previous", address)
        CONTEXT.write(address, "next", address)
        try:
            holder = marshalling.Arguments(arguments, self.parameters, address)
            reps: Sequence[Representation] = ()
            copied = time.thread_time() if self.takes_objects else 0.0
            try:
                code = self.function(address, holder.address, ctypes.addressof(results))
                reps = () if code else self.linkage.results
            finally:
                ran = time.thread_time() if self.takes_objects else 0.0
                taken = take(reps, list(results), holder, changed)
            if self.takes_objects:
                self.object_seconds = time.thread_time() - ran + copied - start, ran - copied
            if code:
                self.fail(code, address, holder.objects.known)
            return taken
        finally:
            free_ring(address)

    def fail(self, code: int, context: int, known: Mapping[int, Any] | None = None) -> None:
        """Raise what stopped the function. `known`: the objects of the call by their blocks."""
        calls = self._calls(context)
        if code == NO_STACK:
            exit_point = _raising(RecursionError(CALLS_TOO_DEEP), calls.pop(0))
        elif code < 0:
            exit_point = _raising(MemoryError(OUT_OF_MEMORY), self._asked_for_memory(code))
        else:
            exit_point = self.emitted.exit_points[code - 1]
        words = CONTEXT.read(context, "record")
        try:
            values = marshalling.read(exit_point.input_reps, words, known, self.emitted.learned)
            self.run_exit_point(_called_by(exit_point, calls), values)
        except BaseException as error:
            forget_values(error)
            raise
        kind = exit_point.nodes[-1].op
        raise InternalError("native code", f"it failed at {kind}, which Python runs without an error")

    def _asked_for_memory(self, code: int) -> Node | None:
        """The node whose allocation failed, where the code tells."""
        index = NO_MEMORY_AT - code
        return self.emitted.allocating[index] if 0 <= index < len(self.emitted.allocating) else None

    def _calls(self, context: int) -> list[Node]:
        """The calls of functions that call themselves through which a failure came, the innermost first."""
        trace = CONTEXT.read(context, "trace") if self.emitted.callees else 0
        count = min(word(trace, 0), KEPT) if trace else 0
        return [self.emitted.exit_points[word(trace, 1 + k)].nodes[0] for k in range(count)]

    def serve(self, context: int, number: int, inputs: int, outputs: int) -> int:
        """Run an exit point for native code; writes the words of its results, and gives 1 where a fused group
        failed.
        """
        exit_point = self.emitted.exit_points[number]
        if exit_point.cell:
            values = marshalling.read_group(exit_point.input_reps, inputs)
            try:
                results = self.run_exit_point(exit_point, values)
            except (ZeroDivisionError, IndexError):
                return 1
            marshalling.write_group(exit_point.output_reps, results, outputs, context)
            return 0
        self.asked[number] += 1
        start = time.thread_time() if self.is_timed else 0.0
        values = marshalling.read(exit_point.input_reps, inputs)
        try:
            results = self.run_exit_point(exit_point, values)
        finally:
            marshalling.write_lists(exit_point.input_reps, values, inputs, exit_point.changed, context)
        tensors = shown(exit_point.input_reps, inputs, values)
        marshalling.write(exit_point.output_reps, results, outputs, context, tensors)
        if self.is_timed:
            self.asked_seconds += time.thread_time() - start
        return 0


def _linkage_of(graph: Graph, text: FunctionText) -> Linkage:
    results = tuple([with_names(r, v.static_type) for r, v in zip(text.results, graph.returns, strict=True)])
    return Linkage(
        tuple([exit_point.cell for exit_point in text.groups]), text.routines, text.libm, text.tensors,
        bool(text.parallel), results, text.record_words, any(point.is_called for point in text.exit_points),
    )  # fmt: skip


def _raising(error: Exception, at: Node | None) -> ExitPoint:
    """An exit point that raises an error as if a node did: a call that found no room on the stack, or no memory."""

    def refuse() -> None:
        raise error

    node = Graph().create("^python_function", (), (), callable=refuse)
    if at is not None:
        node.range, node.call_chain = at.range, at.call_chain
    return ExitPoint(-1, (node,), (), ())


def _called_by(exit_point: ExitPoint, calls: Sequence[Node]) -> ExitPoint:
    """An exit point whose nodes know the calls by which they came to be run."""
    calls_before: tuple[Call, ...] = ()
    for call in calls:
        callee = callee_of(call)
        assert callee is not None
        calls_before = (*call.call_chain, (callee.short_name, call.range), *calls_before)
    return replace(exit_point, call_chain=calls_before, plain=exit_point) if calls_before else exit_point


def _server(reference: weakref.ref[NativeFunction]) -> Callable[[int, int, int, int], int]:
    """What native code calls to have an exit point run; it holds the function weakly, because the function holds it."""

    def serve(context: int, number: int, inputs: int, outputs: int) -> int:
        function = reference()
        assert function is not None
        try:
            return function.serve(context, number, inputs, outputs)
        except BaseException as error:
            forget_values(error)
            raise

    return serve


def forget_values(error: BaseException) -> None:
    """Let the frames that an error came through let go of tensors: the memory that those show may be freed any time."""
    linked: BaseException | None = error
    while linked is not None:
        traceback.clear_frames(linked.__traceback__)
        linked = linked.__cause__ or linked.__context__
