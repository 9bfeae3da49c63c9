"""What `explain()` says of functions that a program differentiates or maps another way than by a graph of their own."""

from __future__ import annotations

from flambeau.executor.inlined_graph import inlined_graph
from flambeau.program import fallbacks
from flambeau.program.function import Function


def otherwise(function: Function) -> list[str]:
    """Each reason once: of what a function transforms, and of what is transformed in there."""
    notes: dict[str, None] = {}
    waiting, seen = [function], {id(function)}
    while waiting:
        one = waiting.pop()
        notes.update(dict.fromkeys(fallbacks.noted(one)))
        for node in inlined_graph(one).all_nodes():
            inner = node.attributes.get("function")
            if isinstance(inner, Function) and id(inner) not in seen:
                seen.add(id(inner))
                waiting.append(inner)
    return list(notes)
