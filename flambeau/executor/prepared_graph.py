"""The graph that a plan is made of, for whoever wants to look at it before: how gradients flow through it, for one.

Finding out what is known of every value is a good part of what the first call of a model costs, so it is done once: the
plan takes over the graph that was looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.executor.inlined_graph import cast_graph
from flambeau.executor.options import Options
from flambeau.ir.graph import Graph
from flambeau.passes import order, pipeline
from flambeau.program.function import Function
from flambeau.specialise.parameters import specialise
from flambeau.specialise.spec import Spec, spec_of
from flambeau.util import log


def is_prepared_apart(options: Options) -> bool:
    """Whether plans may begin with a graph that has the first passes behind it: nobody watches or leaves out one."""
    return not (options.verify or log.level("passes") or not order.PREPARING.isdisjoint(options.passes_left_out))


class PreparedGraph:
    """The graph of a function for the arguments that were looked at last, until a plan takes it."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._waiting: dict[Spec, Graph] = {}

    def look(self, arguments: Sequence[Any]) -> Graph:
        """A graph for arguments like these, not to be changed."""
        graph = specialise(cast_graph(self._function), arguments)
        pipeline.prepare(graph)
        self._waiting = {spec_of(arguments): graph}
        return graph

    def take(self, spec: Spec, options: Options) -> Graph | None:
        """The graph for a spec, now the caller's; None where there is none, or plans begin otherwise."""
        graph = self._waiting.pop(spec, None)  # one thread gets it
        return graph if is_prepared_apart(options) else None
