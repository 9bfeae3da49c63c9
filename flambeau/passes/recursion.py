"""Which functions call themselves, directly or through others.

>>> from flambeau.ir.graph import Graph
>>> from flambeau.program.function import Function
>>> from flambeau.schema.function import parse_schema
>>> leaf = Function("leaf", Graph(), parse_schema("leaf() -> ()"))
>>> Recursion(lambda node: None).is_recursive(leaf)
False
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from flambeau.ir.graph import Graph, Node
from flambeau.program.function import Function

SUBGRAPH: Final = "Subgraph"


class Recursion:
    """Answers for functions as they are now; `callee_of` says what a node certainly calls."""

    def __init__(self, callee_of: Callable[[Node], Function | None]) -> None:
        self._callee_of = callee_of
        self._found: dict[Function, bool] = {}
        self._number: dict[Function, int] = {}
        self._lowest: dict[Function, int] = {}
        self._open: list[Function] = []

    def is_recursive(self, function: Function) -> bool:
        """Whether a function may come to be called while it runs."""
        if function not in self._found:
            self._visit(function)
        return self._found[function]

    def _visit(self, first: Function) -> None:
        """Find the circles of calls that can be reached, each complete when its first member is left again."""
        pending: list[tuple[Function, Iterator[Function]]] = [(first, self._entered(first))]
        itself: set[Function] = set()
        while pending:
            function, callees = pending[-1]
            callee = next(callees, None)
            if callee is None:
                pending.pop()
                if pending:
                    caller = pending[-1][0]
                    self._lowest[caller] = min(self._lowest[caller], self._lowest[function])
                self._leave(function, itself)
            elif callee not in self._number:
                pending.append((callee, self._entered(callee)))
            elif callee not in self._found:
                self._lowest[function] = min(self._lowest[function], self._number[callee])
                if callee is function:
                    itself.add(function)

    def _entered(self, function: Function) -> Iterator[Function]:
        self._number[function] = self._lowest[function] = len(self._number)
        self._open.append(function)
        return self._callees(function.graph)

    def _leave(self, function: Function, itself: set[Function]) -> None:
        if self._lowest[function] != self._number[function]:
            return
        start = self._open.index(function)
        circle, self._open = self._open[start:], self._open[:start]
        for member in circle:
            self._found[member] = len(circle) > 1 or member in itself

    def _callees(self, graph: Graph) -> Iterator[Function]:
        for node in graph.listed_nodes():
            inner = node.attributes.get(SUBGRAPH)
            if isinstance(inner, Graph):
                yield from self._callees(inner)
            callee = self._callee_of(node)
            if callee is not None:
                yield callee
