"""A compiled function: a graph with a signature. How it runs is given to it by the executor."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

from flambeau.ir.frozen import freeze, is_frozen
from flambeau.ir.graph import Graph
from flambeau.ir.verify import verify
from flambeau.program.origin import Provenance
from flambeau.program.written import WrittenProgram
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import Type
from flambeau.util.depth import deep_recursion
from flambeau.util.inversions import GRAPH_CHANGES
from flambeau.util.kept_on import forget
from flambeau.util.weak_sets import members

NOT_ITS_SCHEMA: Final = (
    "the graph of '{name}' was changed: it takes {takes} and gives {gives} values, but the function is {schema}. Make "
    "another one of it: flambeau.jit.create_function_from_graph('{name}', graph)"
)
Runner = Callable[..., Any]
"""Takes all arguments in schema order and returns what the schema returns."""


class Follower(Protocol):
    """Has made something of the graph of a function."""

    def begin_anew(self) -> None:
        """Forget it: the graph became another."""


class Function:
    """A graph, its schema, and what runs it.

    >>> from flambeau.schema.function import parse_schema
    >>> Function("__torch__.f", Graph(), parse_schema("f() -> ()")).short_name
    'f'
    """

    def __init__(self, name: str, graph: Graph | Callable[[], Graph], schema: FunctionSchema, *, doc: str = "") -> None:
        """`graph` may be what makes the graph when something first asks for it."""
        self.name = name
        """The qualified name."""
        self._graph = graph
        self.schema = schema
        self.doc = doc
        self.provenance: Provenance | None = None
        """What tells the function from every other in all processes; None for one that is of this process alone."""
        self.result: Type | None = None
        """The type of the result as callers of the program see it, where the schema says less: arrays are tensors."""
        self.runner: Runner | None = None
        """Given by the executor; None until then."""
        self.as_written: WrittenProgram | None = None
        """What runs the text before there is a graph; None where nothing does."""
        self.bytecode: Any = None
        """What the interpreter made of the graph, kept here by it; None before and after the graph is replaced."""
        self.changes = 0
        """How often its graph, or one that it calls, became another: what was made of an older one is void."""
        self.is_shown = False
        """Whether somebody has the graph who may change it: then it is verified before it runs."""
        self.followers: weakref.WeakSet[Follower] = weakref.WeakSet()
        """Those who made something of the graph, and are told when it becomes another."""
        self._is_relied_on = False

    @property
    def graph(self) -> Graph:
        """As compiled: optimised copies belong to the executor. What is compiled just now may raise CompileError."""
        if not isinstance(self._graph, Graph):
            self._graph = self._graph()
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if isinstance(self._graph, Graph) and is_frozen(self._graph):
            GRAPH_CHANGES.implementation(self._graph)
        self.provenance = None
        self._graph = graph
        self.begin_anew()

    @property
    def frozen_graph(self) -> Graph:
        """The graph for something that will rely on it, and begins anew when it is changed.

        Raises RuntimeError where somebody changed it to one that the schema does not fit, VerifyError for a broken one.
        """
        graph = self.graph
        if not is_frozen(graph):
            if self.is_shown:
                self._check(graph)
            freeze(graph)
        if not self._is_relied_on:
            self._is_relied_on = True
            relied_on.add(self)
        return graph

    def _check(self, graph: Graph) -> None:
        takes, gives = len(graph.parameters), len(graph.returns)
        if (takes, gives) != (len(self.schema.arguments), len(self.schema.returns)):
            raise RuntimeError(
                NOT_ITS_SCHEMA.format(takes=takes, gives=gives, name=self.short_name, schema=self.schema)
            )
        with deep_recursion(), suppress(RecursionError):  # what compiles it says where it is too deep
            verify(graph)

    def begin_anew(self) -> None:
        """Forget what was made of the graph, which is or will be another, and have its followers do so."""
        self.changes += 1
        self.is_shown = True
        self.bytecode = self.as_written = None
        if self.provenance is not None:
            self.provenance.end()
        forget(self)
        for follower in members(self.followers):
            follower.begin_anew()

    @property
    def is_compiled(self) -> bool:
        """Whether the graph is there already."""
        return isinstance(self._graph, Graph)

    @property
    def short_name(self) -> str:
        """The name without its qualification, as tracebacks show it."""
        return self.name.rpartition(".")[2]

    def __call__(self, *arguments: Any) -> Any:
        """Run it on all arguments in schema order. Raises RuntimeError when nothing was given to run it."""
        if self.runner is None:
            raise RuntimeError(f"function '{self.name}' was compiled but nothing was set up to run it")
        return self.runner(*arguments)

    def __repr__(self) -> str:
        return f"<function {self.schema}>"


relied_on: Final[weakref.WeakSet[Function]] = weakref.WeakSet()
"""The functions whose graphs something relies on."""
