"""One pass at one place in an order, with the reasons why it stands there, and the check that they hold."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from flambeau.ir.graph import Graph
from flambeau.util.record import dataclass

Pass = Callable[[Graph], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One pass at one place in the order."""

    phase: str
    name: str
    run: Pass
    after: tuple[tuple[str, str], ...] = ()
    """Names of passes that must have run before, each with the reason."""
    before: tuple[tuple[str, str], ...] = ()
    """Names of passes that must not have run yet, each with the reason."""
    looks_for: Container[str] | None = None
    """Operators without which a graph gives the pass nothing to do, and it is not entered; None if any graph may."""
    preserves_aliases: bool = False
    """Whether what the alias analysis said before it still holds when it has changed the graph."""


def check_order(steps: Sequence[Step]) -> None:
    """Raise ValueError if a step stands where its constraints forbid."""
    position = {step.name: index for index, step in enumerate(steps)}
    if len(position) != len(steps):
        raise ValueError("two passes have one name")
    for index, step in enumerate(steps):
        for name, reason in step.after:
            if position.get(name, index) >= index:
                raise ValueError(f"pass '{step.name}' must come after '{name}': {reason}")
        for name, reason in step.before:
            if position.get(name, -1) <= index:
                raise ValueError(f"pass '{step.name}' must come before '{name}': {reason}")
