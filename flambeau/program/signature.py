"""The schema that a graph has: its parameters by name and type, with defaults, and its returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau.ir.graph import Graph
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.types import without_refinement


def schema_of(
    name: str, graph: Graph, defaults: Mapping[str, Any] | None = None, keyword_only: frozenset[str] = frozenset()
) -> FunctionSchema:
    """A schema for `graph`; `defaults` and `keyword_only` go by parameter name.

    What a trace knows of its tensors' dtypes and sizes is no part of it: a call with others is one of the same graph.
    The numbering that a graph gives to parameters (`%x.1`) is not part of their names. Raises ValueError for a
    default of a parameter that does not exist.

    >>> from flambeau.schema.types import INT
    >>> graph = Graph()
    >>> _ = graph.add_parameter(INT, "n.1")
    >>> str(schema_of("f", graph, {"n": 3}))
    'f(int n=3) -> ()'
    """
    left = dict(defaults or {})
    arguments = []
    for index, value in enumerate(graph.parameters):
        parameter = _plain(value.name) if value.has_name else f"argument_{index}"
        arguments.append(
            Argument(
                parameter,
                without_refinement(value.static_type),
                default=left.pop(parameter, NO_DEFAULT),
                kwarg_only=parameter in keyword_only,
            )
        )
    if left:
        raise ValueError(f"{name} has no parameter {', '.join(left)}; it has {', '.join(a.name for a in arguments)}")
    returns = tuple(Argument("", without_refinement(value.static_type)) for value in graph.returns)
    return FunctionSchema(name, "", tuple(arguments), returns)


def _plain(name: str) -> str:
    base, dot, digits = name.rpartition(".")
    return base if dot and digits.isdigit() else name
