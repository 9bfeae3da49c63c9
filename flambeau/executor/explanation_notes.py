"""What `explain()` notes beside the plans of a function.

Its tasks may run where they are forked, its gradients come from a second run, and functions that it differentiates or
maps go another way than by a graph of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.executor.inlined_graph import inlined_graph
from flambeau.executor.plan import ExecutionPlan
from flambeau.program import fallbacks
from flambeau.program.function import Function

JOINED: Final = "its tasks are short: they run where they are forked, in native code"
AGAIN: Final = "gradients come from a second run, an operator at a time: {reason}"


def notes_of(function: Function, plans: Sequence[ExecutionPlan], reasons: Sequence[str]) -> list[str]:
    """The notes on a function with these plans, whose gradients come from a second run for such reasons."""
    notes = [JOINED for plan in plans if plan.joined is not None and plan.joined.is_on][:1]
    return notes + [AGAIN.format(reason=reason) for reason in reasons] + _fallbacks(function)


def _fallbacks(function: Function) -> list[str]:
    """Why what a function transforms, and what is transformed in there, goes another way; each reason once."""
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
