"""A compiled function: a graph with a signature. How it runs is given to it by the executor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ir.frozen import freeze
from flambeau.ir.graph import Graph
from flambeau.program.origin import Provenance
from flambeau.program.written import WrittenProgram
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import Type
from flambeau.util.kept_on import forget

Runner = Callable[..., Any]
"""Takes all arguments in schema order and returns what the schema returns."""


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

    @property
    def graph(self) -> Graph:
        """As compiled: optimised copies belong to the executor. What is compiled just now may raise CompileError."""
        if not isinstance(self._graph, Graph):
            self._graph = self._graph()
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        self.provenance = None
        self._graph = graph
        self.bytecode = None
        forget(self)

    @property
    def frozen_graph(self) -> Graph:
        """The graph for something that will rely on it: from now on it can be replaced, but not changed in place."""
        graph = self.graph
        freeze(graph, self.short_name)
        return graph

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
