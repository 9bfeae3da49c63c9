"""Parts of a graph as native functions, where the whole cannot be one (`native_parts` says which).

A program that builds a dict and then iterates over numbers has a native loop in an interpreted function. Native code of
a loop is made when it first runs, of other parts when they have run a few times, for what they then get. A region that
turns out to have no native form is interpreted like the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from flambeau.analysis.alias import AliasAnalysis
from flambeau.codegen.callable_type import MISSED, missed
from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.graph.module import Prepare
from flambeau.executor.compiled_graph import CompiledGraph, StandIn
from flambeau.executor.element_reads import read_elements
from flambeau.executor.native_parts import has_lists, parts_of
from flambeau.executor.short_loops import interpret_few
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.passes.outline import outline
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import NONE, ListType, OptionalType, TupleType, Type
from flambeau.specialise import spec as specs
from flambeau.specialise.cache import SpecialisationCache
from flambeau.specialise.parameters import refine_parameter
from flambeau.tensor.tensor import Tensor

REGION = "prim::NativeRegion"
MAX_SPECS = 8
"""Combinations of dtypes and ranks for which a region keeps native code."""
CALLS_BEFORE_NATIVE = 2
"""Calls of a region without loops that are interpreted: so little is not worth the time of compiling it."""



class Watching(Protocol):
    """What is told of loops that are interpreted (`executor.watch`)."""

    def loop(self, node: Node, region: Region | None = None) -> Callable[[int], None]:
        """What is called with the iterations of a loop when it ends."""

    def operator(self, node: Node, reason: str) -> None:
        """Python has often run a node for native code."""


class Region:
    """What a `prim::NativeRegion` node calls with its inputs; gives one result, or a tuple of several."""

    def __init__(
        self, name: str, graph: Graph, choices: Choices = USUAL, prepare: Prepare | None = None,
        watch: Watching | None = None,
    ) -> None:  # fmt: skip
        """`watch` is told what is interpreted."""
        self._prepare = prepare
        self._watch = watch
        self.name = name
        self.graph = graph
        self.calls = 0
        self._choices = choices
        self._several = len(graph.returns) != 1
        self.natives_cache: SpecialisationCache[specs.Spec, CompiledGraph] = SpecialisationCache(
            f"native code of {name}", MAX_SPECS, describe=specs.describe, compare=specs.compare
        )
        self._code: Code | None = None
        self._is_straight = graph.find("prim::Loop") is None
        self._entry: Callable[..., Any] = missed
        """Takes inputs natively, and gives `MISSED` for others than it knows."""
        aliases = AliasAnalysis(graph)
        lists = [k for k, v in enumerate(graph.parameters) if has_lists(v.static_type)]
        self._lists = [k for k in lists if aliases.has_writers(graph.parameters[k])]
        """Inputs with lists that may be changed: what native code did to its copy is done to the list."""

    @property
    def reason(self) -> str:
        """Why it is interpreted; empty where it is native, or has not run."""
        return next((n.reason for n in self.natives if n.reason), "")

    @property
    def blamed(self) -> Node | None:
        """The node that has no native form, where that is why it is interpreted."""
        return next((n.blamed for n in self.natives if n.reason), None)

    @property
    def natives(self) -> list[CompiledGraph]:
        """Its native code so far."""
        return self.natives_cache.values

    def __call__(self, *inputs: Any) -> Any:
        result = self._entry(*inputs)
        if result is MISSED:
            return self.run(inputs)
        self.calls += 1
        return result

    def run(self, inputs: Sequence[Any], stand_in: StandIn | None = None) -> Any:
        """The result for inputs; `stand_in` gives what is called instead of a native function."""
        self.calls += 1
        is_seldom = self._is_straight and self.calls <= CALLS_BEFORE_NATIVE
        native = None if stand_in is None and is_seldom else self._native_for(inputs)
        results = native(inputs, self._lists, stand_in) if native is not None else None
        if results is None:
            if self._code is None:
                plain = clone_graph(self.graph)
                read_elements(plain)
                self._code = compile_graph(plain, self.name, self._count)
            results = run(self._code, inputs)
        elif self._is_straight and native is not None and native.fast_path is not None:
            self._entry = native.fast_path
        return tuple(results) if self._several else results[0]

    def _count(self, node: Node) -> Callable[[int], None] | None:
        """Tells of iterations that are interpreted because there is no native code."""
        if self._watch is None:
            return None
        ended = self._watch.loop(node, self)
        return lambda iterations: ended(iterations) if self.reason else None

    def _native_for(self, inputs: Sequence[Any]) -> CompiledGraph | None:
        lists = [id(one) for k in self._lists for one in _lists_in(inputs[k], self.graph.parameters[k].static_type)]
        if len(set(lists)) < len(lists) or any(isinstance(x, Tensor) and x.is_wrapped_number for x in inputs):
            return None
        spec = specs.spec_of(inputs)
        native = self.natives_cache.get(spec)
        if native is None:
            native = self.natives_cache.get_or_make(spec, lambda cause: self._specialised(inputs))
        return native

    def _specialised(self, inputs: Sequence[Any]) -> CompiledGraph:
        """Native code, to be, for inputs like these."""
        graph = clone_graph(self.graph)
        for value, argument in zip(graph.parameters, inputs, strict=True):
            if _is_unset(argument, value.static_type):
                _leave_unset(graph, value)
            else:
                refine_parameter(graph, value, argument)
        return CompiledGraph(
            self.name, graph, self._choices, enters=self._is_straight and not self._lists, prepare=self._prepare,
            asked=self._watch.operator if self._watch is not None else None,
        )  # fmt: skip


def _is_unset(value: Any, type_: Type) -> bool:
    """Whether a variable of this type was never set."""
    if isinstance(value, tuple) and isinstance(type_, TupleType):
        return any(map(_is_unset, value, type_.elements))
    return value is None and not is_subtype(NONE, type_)


def _leave_unset(graph: Graph, parameter: Value) -> None:
    """Have a region make for itself what a variable holds that no way to it has set: nothing reads that."""
    unset = graph.body.prepend(graph.create("prim::Uninitialized", types=[parameter.static_type]))
    parameter.replace_uses_with(unset.result())
    parameter.set_type(NONE)


def with_regions(
    graph: Graph, name: str, choices: Choices = USUAL, prepare: Prepare | None = None, watch: Watching | None = None
) -> tuple[list[Region], Code | None]:
    """The native regions of a graph, and code that calls them; no code where there are none."""
    copy = clone_graph(graph)
    groups: list[Node] = []
    _cut(copy.body, lambda region: Region(name, region, choices, prepare, watch), groups)
    short = {loop for group in groups for loop in interpret_few(group, group.attribute("Subgraph"))}
    read_elements(copy)
    regions = [group.attribute("kernel") for group in groups]
    if not regions and (watch is None or copy.find("prim::Loop") is None):
        return regions, None

    def count(node: Node) -> Callable[[int], None] | None:
        return None if watch is None or node in short else watch.loop(node)

    return regions, compile_graph(copy, name, count)


def _cut(block: Block, make: Callable[[Graph], Region], groups: list[Node]) -> None:
    for part in list(parts_of(block)):
        if part.is_native:
            group = outline(part.nodes, REGION)
            group.attributes["kernel"] = make(group.attribute("Subgraph"))
            groups.append(group)
        else:
            for inner in part.nodes[0].nested_blocks:
                _cut(inner, make, groups)


def _has_lists(type_: Type) -> bool:
    return isinstance(type_, ListType) or any(map(_has_lists, type_.contained))


def _lists_in(value: Any, type_: Type) -> Iterator[list[Any]]:
    if isinstance(type_, OptionalType):
        type_ = type_.element
    if isinstance(value, list):
        yield value
    if isinstance(value, list | tuple) and any(map(_has_lists, type_.contained)):
        types = type_.elements if isinstance(type_, TupleType) else type_.contained[:1] * len(value)
        for item, item_type in zip(value, types, strict=True):
            yield from _lists_in(item, item_type)
