"""What the code of an archive may do besides computing: print on standard output, and what its reader allows by name.

Operators say of themselves whether they reach the world (`Effect.WORLD`). Code that names one is refused before
anything of it runs (`operators`); that no graph calls one, by whatever name, is looked at when the graph is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from flambeau.ir.graph import Graph, Node
from flambeau.ir.walk import subgraphs
from flambeau.passes.inline import callee_of
from flambeau.program import generators, protected
from flambeau.program.function import Function
from flambeau.schema import registry
from flambeau.schema.opdef import Effect
from flambeau.tensor.autocast import autocast
from flambeau.util.errors import ArchiveError, located

REFUSED: Final = (
    "its code reaches outside of its memory, which the code of an archive may not: {places}. If you trust the file, "
    "allow what it calls by name: flambeau.jit.load(path, allow={names})"
)
OF_PYTHON: Final = "the code of an archive may not call Python"
NOT_A_LIST: Final = "allow takes a list of operators' names, such as ['aten::save'], got {got!r}"
_OF_LANGUAGE: Final = (protected.__name__, generators.__name__)
"""The modules with what `^try`, `^generator` and the like call."""
UNKNOWN: Final = "allow names '{name}', and there is no such operator{similar}"


def reaches_world(name: str) -> bool:
    """Whether an operator, by its qualified name without overload, does more than compute and print.

    >>> import flambeau
    >>> reaches_world("aten::save"), reaches_world("aten::add"), reaches_world("prim::Print")
    (True, False, False)
    """
    return any(definition.effect is Effect.WORLD for definition in registry.overloads(name))


class Permissions:
    """The operators that the code of one archive may call although they reach the world."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        """Raises TypeError for what is no list of names, ValueError for a name that no operator has."""
        names = () if isinstance(allow, str) else tuple(allow)
        if isinstance(allow, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(NOT_A_LIST.format(got=allow))
        for name in names:
            if not registry.overloads(name):
                similar = registry.similar(name)
                raise ValueError(UNKNOWN.format(name=name, similar=f": {', '.join(similar)}?" if similar else ""))
        self.allowed = frozenset(names)
        self._checked: set[Function] = set()
        """Functions that something calls which was let through, and they with it."""

    def refuses(self, name: str) -> bool:
        """Whether code may not call this operator."""
        return name not in self.allowed and reaches_world(name)

    def check(self, graph: Graph, title: str) -> None:
        """Raise ArchiveError if the graph, or a function that it surely calls, reaches the world."""
        seen = set(self._checked)
        for node in _nodes(graph, seen):
            if node.op.startswith("^"):
                called: Any = node.attributes.get("callable")
                if called is not autocast and getattr(called, "__module__", "") not in _OF_LANGUAGE:
                    raise ArchiveError(located(f"{title}: {OF_PYTHON}", node.range))
            elif self.refuses(node.op) and node.definition is not None:
                text = REFUSED.format(places=node.op, names=[node.op])
                raise ArchiveError(located(f"{title}: {text}", node.range))
        self._checked = seen


def _nodes(graph: Graph, seen: set[Function]) -> Iterator[Node]:
    """All nodes that run when the graph does, as far as calls say what they call."""
    for part in subgraphs(graph):
        for node in part.all_nodes():
            yield node
            body: Any = getattr(node.attributes.get("callable"), "body", None)
            function = body if isinstance(body, Function) else callee_of(node)
            if function is not None and function not in seen and function.is_compiled:
                seen.add(function)
                yield from _nodes(function.graph, seen)
