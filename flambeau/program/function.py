"""A compiled function: a graph with a signature. How it runs is given to it by the executor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ir.graph import Graph
from flambeau.schema.function import FunctionSchema

Runner = Callable[..., Any]
"""Takes all arguments in schema order and returns what the schema returns."""


class Function:
    """A graph, its schema, and what runs it."""

    def __init__(self, name: str, graph: Graph, schema: FunctionSchema, *, doc: str = "") -> None:
        self.name = name
        """The qualified name."""
        self.graph = graph
        """As compiled: optimised copies belong to the executor."""
        self.schema = schema
        self.doc = doc
        self.runner: Runner | None = None
        """Given by the executor; None until then."""

    def __call__(self, *arguments: Any) -> Any:
        """Run it on all arguments in schema order. Raises RuntimeError when nothing was given to run it."""
        if self.runner is None:
            raise RuntimeError(f"function '{self.name}' was compiled but nothing was set up to run it")
        return self.runner(*arguments)

    def __repr__(self) -> str:
        return f"<function {self.schema}>"
